# SPDX-License-Identifier: GPL-2.0-only
#
# rdma_ep: the module, the library, and their tests. "make help" lists the targets. Kbuild lists the
# objects of the module.

KVER ?= $(or $(KERNELRELEASE),$(shell uname -r))
KDIR ?= /lib/modules/$(KVER)/build
# The headers of MLNX_OFED or DOCA-OFED for this kernel, if they are installed; OFED=
# for the kernel's own RDMA stack all the same.
OFED ?= $(firstword $(wildcard /usr/src/ofa_kernel/$(shell uname -m)/$(KVER) \
	$(if $(wildcard /usr/src/ofa_kernel/$(shell uname -m)),,/usr/src/ofa_kernel/default)))
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
DESTDIR ?=

SYMBOLS := $(OFED:%=%/Module.symvers) $(KBUILD_EXTRA_SYMBOLS)
INCDIR := $(DESTDIR)$(PREFIX)/include
# udev and modules-load read these directories, whatever PREFIX is.
CONFDIR := $(DESTDIR)/usr/lib
MODDIR := $(DESTDIR)/lib/modules/$(KVER)/updates
# Other modules are built against these files.
DEVDIR := $(DESTDIR)/lib/modules/$(KVER)/rdma_ep
RIG := selftests/vm/rig

# The rig has a default for each variable that is not given.
export SUITE DEVICE KERNEL CACHE TESTS CELLS MATRIX MATRIX_SECONDS JOBS PAIRS \
	MODE BENCH BENCH_SCALE BENCH_PARTS BENCH_TURNS PROFILE

all: modules lib tools

# After a failure kernel-lacks reports what the kernel lacks.
modules:
	@kmod/kernel-lacks $(KDIR) none
	$(MAKE) -C $(KDIR) M=$(CURDIR) OFED=$(OFED) KBUILD_EXTRA_SYMBOLS="$(SYMBOLS)" modules || { \
		kmod/kernel-lacks $(KDIR) rdma_ep.o $(SYMBOLS); exit 1; }

lib tools:
	$(MAKE) -C $@ all

install: install-modules install-lib

install-modules:
	install -d $(MODDIR)
	install -m 644 rdma_ep.ko $(MODDIR)/rdma_ep.ko
	install -d $(DEVDIR)/include
	install -m 644 $(wildcard kmod/include/*.h) $(DEVDIR)/include/
	install -m 644 Module.symvers $(DEVDIR)/Module.symvers
	$(if $(DESTDIR),,depmod $(KVER))

# The library and its programs, the uapi header and the kernel API. The makes in lib and tools run
# one after the other.
install-lib: lib tools
	$(MAKE) -C lib install DESTDIR=$(DESTDIR) PREFIX=$(PREFIX) LIBDIR=$(LIBDIR)
	$(MAKE) -C tools install DESTDIR=$(DESTDIR) PREFIX=$(PREFIX)
	install -d $(INCDIR)/rdma $(INCDIR)/rdma_ep/kernel
	install -m 644 uapi/rdma/rdma_ep.h lib/include/rdma/rdma_ep_handover.h $(INCDIR)/rdma/
	set -e; $(foreach h,$(wildcard kmod/include/*.h),\
		install -m 644 $(h) $(INCDIR)/rdma_ep/kernel/;)
	$(if $(DESTDIR),,ldconfig)

# Access to the device, and loading the module at boot: docs/admin/install.md.
install-config:
	install -d $(CONFDIR)/udev/rules.d $(CONFDIR)/modules-load.d
	install -m 644 packaging/60-rdma_ep.rules $(CONFDIR)/udev/rules.d/
	install -m 644 packaging/modules-load.conf $(CONFDIR)/modules-load.d/rdma_ep.conf

# DEVDIR stays for a module of DKMS.
uninstall:
	rm -f $(MODDIR)/rdma_ep.ko $(INCDIR)/rdma/rdma_ep.h \
		$(INCDIR)/rdma/rdma_ep_handover.h
	rm -rf $(INCDIR)/rdma_ep
	[ -n "$$(find $(MODDIR) $(MODDIR)/../extra -name 'rdma_ep.ko*' 2>/dev/null)" ] || \
		rm -rf $(DEVDIR)
	$(MAKE) -C lib uninstall DESTDIR=$(DESTDIR) PREFIX=$(PREFIX) LIBDIR=$(LIBDIR)
	$(MAKE) -C tools uninstall DESTDIR=$(DESTDIR) PREFIX=$(PREFIX)
	$(if $(DESTDIR),,depmod $(KVER))
	$(if $(DESTDIR),,ldconfig)

# Packages have these files, too.
uninstall-config:
	rm -f $(CONFDIR)/udev/rules.d/60-rdma_ep.rules $(CONFDIR)/modules-load.d/rdma_ep.conf

# The tests that depend on the kernel or device in each cell, or one cell in full
check:
	@$(if $(SUITE)$(DEVICE)$(KERNEL)$(TESTS),$(RIG) check,KERNEL_BUILD=$(or $(KERNEL_BUILD),no) $(RIG) matrix)

# The cells of that kernel; or all tests on one device, or some
check-debug:
	@$(if $(DEVICE)$(TESTS),KERNEL=debug $(RIG) check,MATRIX=$(dir $(RIG))cells.all CELLS='*/debug*' $(RIG) matrix)

check-matrix: $(if $(CELLS)$(MATRIX),,check-kernels)
	@MATRIX=$${MATRIX:-$(dir $(RIG))cells.all} $(RIG) matrix

# Builds for each of Debian's kernels, and boots those of this architecture.
check-kernels:
	@$(dir $(RIG))build-kernels.sh

# Packages are installed, upgraded and removed; with SUITE, those of one suite.
check-packages:
	@set -e; for suite in $(or $(SUITE),bookworm trixie sid); do \
		SUITE=$$suite $(RIG) packages; done

bench demo shell lint deb site:
	@$(RIG) $@

dist:
	@packaging/dist build

# Writes results of "make bench" to docs/performance/results.md. FROM=DIRECTORIES; without it, the
# tables and plots are rendered again.
FROM ?=
bench-report:
	PYTHONDONTWRITEBYTECODE=1 python3 selftests/bench/docs.py docs $(FROM)

# Renews the quotes in documents from the sources.
docs:
	selftests/tree/docs.sh update

clean:
	[ ! -d $(KDIR) ] || $(MAKE) -C $(KDIR) M=$(CURDIR) clean
	[ ! -d $(KDIR) ] || $(MAKE) -C selftests/ulp clean KVER=$(KVER) KDIR=$(KDIR)
	[ ! -d $(KDIR) ] || $(MAKE) -C selftests/mock clean KVER=$(KVER) KDIR=$(KDIR)
	$(MAKE) -C lib clean
	$(MAKE) -C tools clean
	$(MAKE) -C selftests clean

help:
	@echo 'On this machine (needs the headers of its kernel, gcc, libibverbs-dev, librdmacm-dev):'
	@echo '  make [all]        the module rdma_ep.ko, lib/librdma_ep.so.1 and tools/rdma-ep'
	@echo '  make modules      only the module'
	@echo '  make lib          only the library'
	@echo '  make install      module, library, rdma-ep, rdma-ep-run, headers'
	@echo '  make uninstall    remove them'
	@echo '  make install-config  udev rule, loading at boot; uninstall-config removes them'
	@echo '  make dist         a source tarball, in build/'
	@echo '  make docs         renew quotes in documents'
	@echo '  make site         documents and manual pages to look at in a browser, in build/site'
	@echo '  make clean        remove what was built here'
	@echo
	@echo 'In a QEMU guest (Debian, root; installs the packages that it needs):'
	@echo '  make demo         build, boot, run RDMA programs over rdma_ep, show what happened'
	@echo '  make check        the tests, on all kernels and devices, and a table ($(RIG:rig=cells));'
	@echo '                    with SUITE, DEVICE, KERNEL or TESTS: all tests on one of them, its row'
	@echo '  make check-debug  on a kernel with KASAN, lockdep, kmemleak, ... (built once)'
	@echo '  make check-matrix all tests on every kernel and device; CELLS="SUITE/DEVICE" for some'
	@echo '  make deb          Debian packages for SUITE, in build/deb/SUITE'
	@echo '  make check-packages  they are installed, used, upgraded, purged; SUITE'
	@echo '  make bench        what operations cost, beside the stock libraries; SUITE, DEVICE'
	@echo '  make bench-report FROM=DIRECTORIES    ... into docs/performance'
	@echo '  make shell        a shell in the guest'
	@echo '  make lint         checkpatch, sparse, W=1, coccinelle, clang-format, layers, shellcheck, codespell, man pages, words'
	@echo '  $(RIG) help   what else the rig can do'
	@echo
	@echo 'Variables:'
	@echo '  KVER=$(KVER)'
	@echo '  KDIR=$(KDIR)'
	@echo '  OFED=$(OFED)  headers of MLNX_OFED or DOCA-OFED; empty: the kernel has them'
	@echo '  PREFIX=$(PREFIX)  LIBDIR=$(LIBDIR)  DESTDIR=$(DESTDIR)'
	@echo '  SUITE=bookworm  Debian suite whose kernel the guest boots: bookworm, trixie, sid'
	@echo '  DEVICE=rxe      its software RDMA device: rxe or siw'
	@echo '  TESTS=*         pattern of the names of tests'
	@echo '  KERNEL=debug    for check, demo and shell: the kernel of check-debug (SUITE=sid)'

.PHONY: check-kernels all modules lib tools install install-modules install-lib install-config \
	uninstall uninstall-config \
	bench bench-report check check-debug check-matrix check-packages deb demo dist \
	shell lint docs site clean help
