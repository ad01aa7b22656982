# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Run a command inside the suite's tree without writing to it: in a private mount namespace that
# ends with the command. A rig that is killed takes the command and its children with it.

# image_of TREE IMAGE: makes a file system that a guest mounts in place of TREE
image_of()
{
	local tree=$1 image=$2 kib
	kib=$(du -sk "$tree" | cut -f 1)
	mke2fs -q -t ext4 -O ^has_journal,^metadata_csum -m 0 -i 8192 -d "$tree" \
		"$image.new.$$" "$((kib + kib / 4 + 16384))k" >&2 &&
	mv "$image.new.$$" "$image"
}

# in_tree TREE "SOURCE TARGET"... -- COMMAND...: each SOURCE is mounted (writable) on TARGET, an
# existing directory of the tree. TREE_LAYER: a directory for an overlay to which the command writes
# its changes of the tree. TREE_BELOW: the upper directory of an earlier layer, mounted read-only
# between the two. The command has the proxies of the environment, for apt-get. Compilers run under
# ccache: an object that any checkout has built for the same kernel is not built again.
in_tree()
{
	local tree=$1 binds=()
	shift
	while [[ $1 != -- ]]; do
		binds+=("$1")
		shift
	done
	shift
	mkdir -p "$CACHE/ccache"
	binds+=("$CACHE/ccache var/cache/ccache")
	# shellcheck disable=SC2016
	TREE_LAYER=${TREE_LAYER:-} TREE_BELOW=${TREE_BELOW:-} \
		setpriv --pdeathsig KILL unshare --mount --propagation private \
		--pid --fork --kill-child bash -c '
		set -e
		tree=$1 n=$2
		shift 2
		if [[ -n ${TREE_LAYER:-} ]]; then
			mount -t overlay -o "lowerdir=${TREE_BELOW:+$TREE_BELOW:}$tree,upperdir=$TREE_LAYER/upper,workdir=$TREE_LAYER/overlay" \
				overlay "$tree"
			cp /etc/resolv.conf /etc/hosts "$tree/etc/"
		else
			mount --bind "$tree" "$tree"
			mount -o remount,ro,bind "$tree"
		fi
		for ((; n; n--)); do
			mount --bind "${1%% *}" "$tree/${1#* }"
			shift
		done
		mount -t proc proc "$tree/proc"
		mount -t tmpfs tmpfs "$tree/tmp"
		exec env -i PATH=/usr/lib/ccache:/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp LC_ALL=C \
			CCACHE_DIR=/var/cache/ccache CCACHE_MAXSIZE=6G \
			${http_proxy:+http_proxy="$http_proxy"} \
			${https_proxy:+https_proxy="$https_proxy"} \
			${no_proxy:+no_proxy="$no_proxy"} \
			${MAKEFLAGS_TREE:+MAKEFLAGS="$MAKEFLAGS_TREE"} \
			chroot "$tree" "$@"
	' in_tree "$tree" "${#binds[@]}" "${binds[@]}" "$@"
}
