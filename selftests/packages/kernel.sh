#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The upgrade to another kernel of the suite, as Debian does it: the module is
# built for that one as well, by nothing but its packages' hooks.

# shellcheck source=selftests/packages/common.sh
. "$(dirname "$0")/common.sh"
kver=$(</rig/kver)
other=$(</rig/kver.other)
version=$(/src/packaging/version)
pretend_kernel "$kver"

check "no module for $other before" [ ! -e "/lib/modules/$other" ]
# (The rig makes its own initramfs.)
export INITRD=No
check "kernel $other and its headers are installed" \
	show apt_get install "linux-image-$other" "linux-headers-$other"
check "a module for $other" module "$other"
check "of this version" [ "$(module_version "$other")" = "$version" ]
check "Module.symvers for $other" test -s "/lib/modules/$other/rdma_ep/Module.symvers"
check "the module for $kver is still there" module "$kver"
check "DKMS has both" show dkms status -m rdma_ep
finish_checks
