#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The installation of another kernel of the suite: hooks of Debian's packages build the module for
# it as well.

# shellcheck source=selftests/packages/common.sh
. "$(dirname "$0")/common.sh"
kver=$(</rig/kver)
other=$(</rig/kver.other)
version=$(/src/packaging/version)
pretend_kernel "$kver"

check "no module for $other before" [ ! -e "/lib/modules/$other" ]
# The rig makes its own initramfs.
export INITRD=No
check "kernel $other and its headers are installed" \
	show apt_get install "linux-image-$other" "linux-headers-$other"
check "a module for $other" module "$other"
check "of this version" [ "$(module_version "$other")" = "$version" ]
check "Module.symvers for $other" test -s "/lib/modules/$other/rdma_ep/Module.symvers"
check "the module for $kver is still there" module "$kver"
check "DKMS has both" show dkms status -m rdma_ep
finish_checks
