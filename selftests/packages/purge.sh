#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# A purge leaves no file that did not exist before the packages, except files of other packages:
# kernel.sh has installed a second kernel.

# shellcheck source=selftests/packages/common.sh
. "$(dirname "$0")/common.sh"
other=$(</rig/kver.other)
pretend_kernel "$(</rig/kver)"

check "the packages are purged" show apt_get purge "${PACKAGES[@]}"
check "dpkg has nothing of them" [ -z "$(dpkg-query -W "${PACKAGES[@]}" 2>/dev/null)" ]

nothing_left()
{
	local left
	# Files of depmod, update-initramfs, the other kernel's maintainer scripts, DKMS' key, and
	# the directory of mount(8), which install.sh uses
	left=$(comm -13 /rig/files.before <(all_files) |
		grep -vE -e "^/usr/lib/modules/${other//+/[+]}/modules\\." \
			-e '^/(boot/)?(initrd\.img|vmlinuz|config-)' \
			-e '^/run/(reboot-required|mount$)' \
			-e '^/var/lib/(initramfs-tools|dkms/mok|shim-signed)' |
		grep -vxFf <(sed 's,^/\(lib\|bin\|sbin\)/,/usr/&,; s,//,/,' \
			/var/lib/dpkg/info/*.list))
	[[ -z $left ]] || { echo "$left"; return 1; }
}
check "and neither has the file system" nothing_left
# DKMS removes the directory "updates" when it is empty, even if it did not create it.
nothing_lost()
{
	local lost
	lost=$(comm -23 /rig/files.before <(all_files) |
		grep -v '^/usr/lib/modules/[^/]*/updates$')
	[[ -z $lost ]] || { echo "$lost"; return 1; }
}
check "and has all that it had before" nothing_lost
finish_checks
