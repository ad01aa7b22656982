# SPDX-License-Identifier: GPL-2.0-only
#
# Documents, symbols, manual pages and tests held against the sources.

TEST_PROGS += $(addprefix tree/,p0_coverage.sh symbols.sh faces.sh promises.sh pages.sh \
	docs.sh issues.sh manpages.sh kernel_lacks.sh contributing.sh tour.sh)
TEST_FILES += tree/checks.sh

# What they, and some of clients/, look at: $(D)/src has it below the same paths.
SOURCES = $(shell cd .. && find README.md CONTRIBUTING.md CHANGELOG.md Makefile Kbuild docs kmod lib uapi tools \
	packaging selftests \( -path docs/performance -o -path lib/man/out \
	-o -path selftests/$(O) -o -name '.*' \) -prune -o -type f ! -name '*.o' \
	! -name '*.ko' ! -name '*.so' ! -name '*.so.*' ! -name '*.a' ! -name '*.mod' ! -name '*.mod.c' \
	! -name '*.symvers' ! -name modules.order ! -name librdma_ep.pc \
	! -path tools/rdma-ep -print)
