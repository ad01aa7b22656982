# SPDX-License-Identifier: GPL-2.0-only
#
# Documents, symbols, manual pages and tests held against the sources.

TEST_PROGS += $(addprefix tree/,p0_coverage.sh symbols.sh faces.sh promises.sh pages.sh \
	docs.sh manpages.sh kernel_lacks.sh contributing.sh tour.sh)
TEST_FILES += tree/checks.sh

# What they, and some of clients/, look at: $(D)/src has it below the same paths.
SOURCES = $(shell cd .. && find README.md CONTRIBUTING.md CHANGELOG.md Makefile docs kmod lib uapi tools packaging/cdi selftests \
	\( -path docs/performance -o -path lib/man/out -o -path selftests/$(O) \) -prune -o \
	-type f \( -name '*.[ch]' -o -name '*.md' -o -name '*.sh' -o -name '*.pl' \
	-o -name '*.py' -o -name '*.awk' -o -name '*.txt' -o -name '*.map' -o -name '*.in' \
	-o -name '*.json' -o -name '*.[0-9]*' -o -name Kbuild -o -name kernel-lacks \
	-o -name render-manual -o -name cells -o -name known-reports -o -name rig \
	-o -name Makefile -o -name '*.def' -o -name '*.mk' -o -path selftests/diff/expected \) \
	! -name '*.mod.c' ! -name '*.so*' -print)
