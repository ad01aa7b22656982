# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# "rig site": documents and manual pages as a static site (docs/site/render), with what
# that needs on the host; nothing is built or booted.

cmd_site()
{
	local HOST_PACKAGES=(make mandoc pandoc perl)
	host_packages
	step "rendering" "$TOP/docs/site/render" "$TOP/build/site" > /dev/null ||
		die "the site is not complete"
	echo "$TOP/build/site/index.html"
}
