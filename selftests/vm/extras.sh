# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Guests have packages beyond the tree of their suite, in a layer between the tree and the stage. A
# package for a single test belongs here, so that the trees of other suites stay as they are.

# a 9P server
EXTRAS_bookworm=(diod)
EXTRAS_sid=(diod)
EXTRAS_trixie=(
	# container engines, and the tools with which they start containers
	podman crun conmon netavark uidmap catatonit containerd runc
	# a client of the CRI (Debian has no crictl)
	python3-grpcio python3-protobuf
	diod
)

# extras_make DIR PACKAGE...
extras_make()
{
	local dir=$1 log=$1.log tmp=$1.new.$$ rc=0
	shift
	[[ ! -f $dir.img ]] || return 0	# another rig was faster
	# Remove leftovers of interrupted rigs: the lock excludes other rigs.
	rm -rf --one-file-system "$SUITE_DIR"/extras-*.new.*
	mkdir -p "$tmp"/{upper,overlay}
	# shellcheck disable=SC2016
	TREE_LAYER=$tmp in_tree "$TREE" -- sh -ec '
		export DEBIAN_FRONTEND=noninteractive
		apt-get -q -o Acquire::Languages=none update
		apt-get -q -y --no-install-recommends install "$@"
		apt-get clean
		rm -rf /var/lib/apt/lists/*' extras "$@" >"$log" 2>&1 </dev/null &&
	rm -f "$tmp"/upper/etc/{resolv.conf,hosts} &&
	image_of "$tmp/upper" "$dir.img" || rc=$?
	((!rc)) || tail -n 30 "$log" >&2
	rm -rf --one-file-system "$tmp"
	return "$rc"
}

# Sets EXTRAS, the image. It is empty for suites without extra packages and for kernels without a
# driver for disks.
extras_paths()
{
	local -n packages=EXTRAS_${SUITE//[^a-z0-9]/_}
	EXTRAS=''
	[[ -z $KERNEL && ${packages[*]:-} ]] || return 0
	EXTRAS=$SUITE_DIR/extras-$({
		echo "$TREE $TREE_ID ${packages[*]}"
		declare -f extras_make
	} | sha256sum | cut -c1-12).img
}

# Sets EXTRAS, and makes the image if necessary.
extras()
{
	local -n packages=EXTRAS_${SUITE//[^a-z0-9]/_}
	extras_paths
	[[ -z $EXTRAS || -f $EXTRAS ]] ||
		step "extra packages of Debian $SUITE" with_lock "$SUITE_DIR/extras.lock" \
			extras_make "${EXTRAS%.img}" "${packages[@]}" ||
		die "no extra packages, log: ${EXTRAS%.img}.log"
}
