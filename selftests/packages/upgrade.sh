#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The upgrade to another version: its module replaces the old one for the running kernel and the
# newest one, and no file of the old version is left.

# shellcheck source=selftests/packages/common.sh
. "$(dirname "$0")/common.sh"
kver=$(</rig/kver)
other=$(</rig/kver.other)
version=$(/src/packaging/version)
next=999.1
pretend_kernel "$kver"

check "the next version is installed" install_debs next
newest=$(printf '%s\n' "$kver" "$other" | sort -V | tail -n 1)
for kernel in "$kver" "$newest"; do
	check "the next module for $kernel" module "$kernel"
	check "of the next version" [ "$(module_version "$kernel")" = "$next" ]
	check "Module.symvers for $kernel" \
		test -s "/lib/modules/$kernel/rdma_ep/Module.symvers"
	check "the header of the next version for $kernel" \
		grep "\"$next\"" "/lib/modules/$kernel/rdma_ep/include/rdma_ep.h"
done
check "no source of $version" [ ! -e "/usr/src/rdma_ep-$version" ]
check "DKMS has no $version" [ ! -e "/var/lib/dkms/rdma_ep/$version" ]
check "the library of the next version" [ "$(
	dpkg-query -f '${Version}' -W librdma-ep1)" = "$next" ]
finish_checks
