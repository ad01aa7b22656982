#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Installation: DKMS builds the module for the running kernel, and programs and other modules can be
# built.

# shellcheck source=selftests/packages/common.sh
. "$(dirname "$0")/common.sh"
kver=$(</rig/kver)
version=$(/src/packaging/version)
pretend_kernel "$kver"

# Without the dependencies, files.before is the state that purge.sh has to restore.
check "what the packages need is installed" \
	apt_install dkms systemd udev kmod
all_files > /rig/files.before

check "the packages are installed" install_debs debs
check "a module for $kver" module "$kver"
check "of this version" [ "$(module_version "$kver")" = "$version" ]
dkms_status()
{
	show dkms status -m rdma_ep
	dkms status -m rdma_ep | grep -F "/$version, $kver, " | grep installed
}
check "DKMS knows it" dkms_status

# Unknown keys are warnings, so systemd-analyze must not print anything about these units. (It
# leaves a file in /run, which purge.sh would find.)
verify()
{
	unshare --mount sh -c \
		'mount -t tmpfs tmpfs /run && exec systemd-analyze verify --man=no "$@"' verify "$@"
}
# The socket's unit is read without and with the drop-in of docs/admin/metrics.md.
units()
{
	local text dir=/tmp/units
	text=$(verify /usr/lib/systemd/system/rdma-ep-* 2>&1) || text+=" fails"
	mkdir -p "$dir/rdma-ep-metrics.socket.d" &&
	cp /usr/lib/systemd/system/rdma-ep-metrics* "$dir/" &&
	cp /src/packaging/metrics/unix-socket.conf "$dir/rdma-ep-metrics.socket.d/" || return 1
	text+=$'\n'$(SYSTEMD_UNIT_PATH=$dir: verify "$dir/rdma-ep-metrics.socket" 2>&1) || text+=" fails"
	echo "$text"
	! grep -qE 'rdma-ep| fails$' <<< "$text"
}
check "systemd reads the units" units

# Builds a module as its author would.
other_module()
{
	cp -r /src /tmp/src &&
	make -C /tmp/src/selftests/ulp KVER="$kver" kping &&
	modinfo -F depends /tmp/src/selftests/ulp/kping/kping.ko | grep rdma_ep
}
check "Module.symvers" test -s "/lib/modules/$kver/rdma_ep/Module.symvers"
check "other modules are built against it" other_module

# The packages have files of the same names as "make install-config", and DKMS those of the module.
# (This tree is without documents.)
uninstall()
{
	dpkg -V "${PACKAGES[@]}" > /tmp/before
	make -C /tmp/src uninstall KVER="$kver" && dpkg -V "${PACKAGES[@]}" > /tmp/after
	diff /tmp/before /tmp/after && [[ -s /lib/modules/$kver/rdma_ep/Module.symvers ]]
}
check "make uninstall leaves them alone" uninstall

program()
{
	printf '%s\n' '#include <rdma/rdma_cma.h>' '#include <rdma/rdma_ep.h>' \
		'int main(void) { return !rdma_create_event_channel(); }' \
		> /tmp/program.c &&
	cd /tmp &&
	show cc -o program program.c -lrdma_ep &&
	readelf -d /tmp/program | grep 'NEEDED.*librdma_ep.so.1' &&
	! readelf -d /tmp/program | grep -E 'NEEDED.*(rdmacm|ibverbs)'
}
check "programs are linked with the library" program
finish_checks
