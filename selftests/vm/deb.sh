# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# "rig deb": Debian packages of this checkout, built with the suite's tools in layers over its tree.
# The layers are kept:
#
#	archive		apt's lists, and the packages that tests install later
#	tools		tools that build and check packages
#	lint		tools of "rig lint" beyond the tree (lint.sh)

DEB_TOOLS=(build-essential debhelper dh-dkms dpkg-dev fakeroot lintian pkgconf rpm
	   libibverbs-dev librdmacm-dev)
# Tools of lint.sh that the guest's root does not need
LINT_TOOLS=(codespell coccinelle clang-format)

# layer_make DIR COMMAND...: makes a layer over $TREE_BELOW with deb-in-tree
layer_make()
{
	local dir=$1 log=$1.log tmp=$1.new.$$ rc=0
	shift
	[[ ! -d $dir ]] || return 0	# another rig was faster
	mkdir -p "$tmp"/{upper,overlay}
	TREE_LAYER=$tmp in_tree "$TREE" "$TOP src" -- \
		bash /src/selftests/vm/deb-in-tree "$@" >"$log" 2>&1 </dev/null ||
		rc=$?
	if ((rc)); then
		tail -n 30 "$log" >&2
		rm -rf --one-file-system "$tmp"
	else
		mv "$tmp" "$dir"
	fi
	return "$rc"
}

# layer_path NAME ARGS...: prints the directory of a layer
layer_path()
{
	echo "$SUITE_DIR/$1-$({
		echo "$TREE $TREE_ID ${TREE_BELOW:-} $*"
		cat "$VM_DIR/deb-in-tree"
	} | sha256sum | cut -c1-12)"
}

# layer NAME ARGS...: makes a layer if necessary, and sets LAYER, its upper directory
layer()
{
	local dir
	dir=$(layer_path "$@")
	[[ -d $dir ]] ||
		step "$1 of Debian $SUITE" \
			with_lock "$SUITE_DIR/$1.lock" layer_make "$dir" "$@" ||
			die "cannot prepare $1, log: $dir.log"
	LAYER=$dir/upper
}

# Sets DEB_ARCHIVE and DEB_BELOW: the layers for installations, and those for builds.
deb_layers()
{
	layer archive
	DEB_ARCHIVE=$LAYER
	TREE_BELOW=$DEB_ARCHIVE layer tools "${DEB_TOOLS[@]}"
	DEB_BELOW=$LAYER:$DEB_ARCHIVE
}

# with_tools SRC OUT COMMAND...: runs it in the tree, in a layer that is removed afterwards
with_tools()
{
	local src=$1 out=$2 work rc=0
	shift 2
	work=$(mktemp -d "$SUITE_DIR/work-XXXXXX") || return 1
	mkdir "$work"/{upper,overlay}
	TREE_BELOW=$DEB_BELOW TREE_LAYER=$work in_tree "$TREE" \
		"$src src" "$out results" -- "$@" || rc=$?
	rm -rf --one-file-system "$work"
	return "$rc"
}

# deb_build SRC OUT: makes the packages in OUT, after it has removed the old ones
deb_build()
{
	local src=$1 out=$2
	rm -rf "$out"
	mkdir -p "$out" || return 1
	with_tools "$src" "$out" bash /src/selftests/vm/deb-in-tree build \
		>"$out.log" 2>&1 </dev/null || {
		tail -n 30 "$out.log" >&2
		return 1
	}
}

cmd_deb()
{
	local src=$SUITE_DIR/deb-src.$$ out=$TOP/build/deb/$SUITE rc=0
	need_root
	host_packages
	rootfs
	deb_layers
	# shellcheck disable=SC2064
	trap "rm -rf '$src' '$src.files'" EXIT
	source_sync "$src" || die "no source"
	step "building packages for Debian $SUITE" deb_build "$src" "$out" ||
		die "no packages, log: $out.log"
	ls "$out"/*.deb
}
