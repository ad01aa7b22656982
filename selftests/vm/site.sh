# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# "rig site": documents and manual pages as a static site (docs/site/render). Installs the necessary
# programs on the host; builds and boots nothing.

# Prints the path of a kernel-doc that is a Perl script, as up to Linux 6.12.
kernel_doc()
{
	local doc
	for doc in ${KERNEL_DOC:+"$KERNEL_DOC"} /usr/lib/linux-kbuild-*/scripts/kernel-doc \
		/lib/modules/*/build/scripts/kernel-doc \
		"$CACHE"/*/rootfs-*/usr/lib/linux-kbuild-*/scripts/kernel-doc; do
		! head -n 1 "$doc" 2>/dev/null | grep -q perl || { echo "$doc"; return; }
	done
	return 1
}

cmd_site()
{
	local HOST_PACKAGES=(make mandoc pandoc perl)
	host_packages
	# A tree of the rig has such a kernel-doc.
	kernel_doc > /dev/null || { need_root; rootfs; }
	KERNEL_DOC=$(kernel_doc) || die "no kernel-doc: use SUITE=bookworm"
	export KERNEL_DOC
	step "rendering" "$TOP/docs/site/render" "$TOP/build/site" > /dev/null ||
		die "the site is not complete"
	echo "$TOP/build/site/index.html"
}
