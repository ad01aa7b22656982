# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Chooses QEMU. Before 8.1, a QEMU that emulates several CPUs may execute translated code that
# another CPU has changed meanwhile. The kernel changes its code, with breakpoints, whenever a trace
# event or a static branch is switched: a guest then dies of a breakpoint that is no longer in its
# memory, or hits it forever. If the machine's release has nothing newer, its backports have: these
# are unpacked into the cache, without a change to the machine.

QEMU_SOUND=8.1
QEMU_BACKPORTS=(qemu-system-x86 qemu-system-common qemu-system-data seabios)

# qemu_is_sound PROGRAM
qemu_is_sound()
{
	local version
	version=$("$1" --version 2>/dev/null | sed -n '1s/.* version \([0-9.]*\).*/\1/p')
	[[ $version ]] && dpkg --compare-versions "$version" ge "$QEMU_SOUND"
}

# qemu_unpack TREE: unpacks the packages of the machine's backports. The machine's own QEMU has the
# libraries that they need.
qemu_unpack()
{
	local tree=$1 work=$1.new codename
	# shellcheck disable=SC1091
	codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
	[[ ! -d $tree ]] || return 0
	rm -rf --one-file-system "$work"
	mkdir -p "$work"/{lists,cache,debs}/partial "$work/tree" &&
	SUITE=$codename-backports rootfs_sources | grep -E ' [a-z]+-backports main$' |
		sort -u > "$work/sources.list" &&
	(
		cd "$work/debs" || exit 1
		apt=(apt_quiet -o APT::Sandbox::User=root
		     -o "Dir::Etc::SourceList=$work/sources.list"
		     -o Dir::Etc::SourceParts=/dev/null
		     -o "Dir::State::Lists=$work/lists"
		     -o "Dir::Cache=$work/cache")
		"${apt[@]}" update &&
		"${apt[@]}" download "${QEMU_BACKPORTS[@]/%//$codename-backports}"
	) &&
	for deb in "$work"/debs/*.deb; do
		dpkg -x "$deb" "$work/tree" || return 1
	done &&
	mv "$work/tree" "$tree" &&
	rm -rf --one-file-system "$work"
}

# Sets QEMU_SYSTEM: the program, and the path of its firmware.
qemu()
{
	local tree=$CACHE/qemu-backports
	QEMU_SYSTEM=(qemu-system-x86_64)
	! qemu_is_sound "${QEMU_SYSTEM[0]}" || return 0
	[[ -d $tree ]] ||
		step "QEMU of the backports" with_lock "$tree.lock" qemu_unpack "$tree"
	if qemu_is_sound "$tree/usr/bin/qemu-system-x86_64"; then
		QEMU_SYSTEM=("$tree/usr/bin/qemu-system-x86_64"
			     -L "$tree/usr/share/qemu" -L "$tree/usr/share/seabios")
	else
		say "no QEMU $QEMU_SOUND: a guest may hang or die where its kernel changes code"
	fi
}
