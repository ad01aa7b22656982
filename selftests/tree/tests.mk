# SPDX-License-Identifier: GPL-2.0-only
#
# Tests that compare documents, symbols, manual pages and tests with the sources

TEST_PROGS += $(addprefix tree/,p0_coverage.sh symbols.sh faces.sh promises.sh pages.sh \
	docs.sh issues.sh manpages.sh kernel_lacks.sh contributing.sh tour.sh)
TEST_FILES += tree/checks.sh

# The files that these tests, and some of clients/, read: at the same paths below $(D)/src
SOURCES = $(shell cd .. && find README.md CONTRIBUTING.md CHANGELOG.md Makefile Kbuild docs kmod lib uapi tools \
	packaging selftests \( -path docs/performance -o -path lib/man/out \
	-o -path selftests/$(O) -o -name '.*' \) -prune -o -type f ! -name '*.o' \
	! -name '*.ko' ! -name '*.so' ! -name '*.so.*' ! -name '*.a' ! -name '*.mod' ! -name '*.mod.c' \
	! -name '*.symvers' ! -name modules.order ! -name librdma_ep.pc \
	! -path tools/rdma-ep -print)
