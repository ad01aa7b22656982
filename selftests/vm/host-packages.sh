# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# The host's tools. A bare Debian machine has none of them; a machine with all of them is not
# changed (no apt-get update on every run). Arguments: packages that only one command of the rig
# needs.

HOST_PACKAGES=(qemu-system-x86 mmdebstrap busybox-static cpio kmod zstd
	       xz-utils iproute2 util-linux procps e2fsprogs make)

missing_packages()
{
	local p
	for p in "${HOST_PACKAGES[@]}" "$@"; do
		# dpkg-query expands the format's ${...}.
		# shellcheck disable=SC2016
		[[ $(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null) == installed ]] ||
			echo "$p"
	done
}

apt_quiet()
{
	DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 \
		-o DPkg::Lock::Timeout=600 "$@" </dev/null >&2
}

# apt-get waits for dpkg's lock, but not for that of the lists, which another update holds.
apt_update()
{
	for _ in {1..30}; do
		! apt_quiet update || return 0
		sleep 10
	done
	return 1
}

install_packages()
{
	apt_update &&
	apt_quiet install -y --no-install-recommends "$@"
}

host_packages()
{
	local missing
	mapfile -t missing < <(missing_packages "$@")
	((${#missing[@]})) || return 0
	step "installing ${missing[*]}" install_packages "${missing[@]}" ||
		die "cannot install ${missing[*]}"
}
