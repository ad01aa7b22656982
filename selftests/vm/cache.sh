# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# The cache: trees, kernels, stages, layers. The name of each has a hash of its sources. A checkout
# with other packages or another kernel configuration makes other entries, and the old ones stay for
# checkouts that may still use them. "rig clean" removes all that this checkout does not use. Locks
# stay: another rig may hold them.

# The first words of the names with a hash, in the directories of the suites
CACHE_KINDS=(rootfs siw kernel build stage extras initramfs lint archive tools)

# cache_used: prints the paths in the cache that this checkout uses. Those that depend on a tree
# need that tree.
cache_used()
{
	local SUITE SUITE_DIR TREE TREE_ID TREE_BELOW KERNEL
	while read -r SUITE; do
		SUITE_DIR=$CACHE/$SUITE
		TREE=$SUITE_DIR/rootfs-$(rootfs_key)
		echo "$TREE"
		[[ -d $TREE ]] || continue
		tree_id
		KERNEL='' extras_paths
		[[ -z $EXTRAS ]] || echo "$EXTRAS"
		siw_paths
		echo "$SIW"
		TREE_BELOW=''
		layer_path lint "${LINT_TOOLS[@]}"
		layer_path archive
		TREE_BELOW=$(layer_path archive)/upper
		layer_path tools "${DEB_TOOLS[@]}"
		for KERNEL in '' $(basename -s .config "$VM_DIR/"*.config); do
			kernel_paths
			echo "$KERNEL_ROOT"
			initramfs_paths
			echo "$INITRAMFS"
			build_paths
			echo "$BUILD_DIR"
		done
	done < <(cut -s -f 1 "$VM_DIR/cells.all" | sort -u)
	CACHE=$CACHE "$VM_DIR/build-kernels.sh" --paths
}

# cache_made: prints the paths of the kinds above, and those of build-kernels.sh
cache_made()
{
	local kind names=(-path "$CACHE/kernels/*")
	for kind in "${CACHE_KINDS[@]}"; do
		names+=(-o -name "$kind-*")
	done
	find "$CACHE" -mindepth 2 -maxdepth 2 ! -name '*.lock' \( "${names[@]}" \) 2>/dev/null | sort
}

# cache_killed PATH: true if the rig that was to complete and rename PATH has ended. A name without
# its PID is of an earlier version of the rig: a day is enough for it.
cache_killed()
{
	if [[ $1 =~ \.(new|work)\.([0-9]+)(\.|$) ]]; then
		! kill -0 "${BASH_REMATCH[2]}" 2>/dev/null
	else
		[[ $(find "$1" -maxdepth 0 -mmin +1440 2>/dev/null) ]]
	fi
}

# cache_unused [stages]: prints the paths that "rig clean" removes; without "stages", those that
# this checkout does not make again
cache_unused()
{
	local path entry suffixes='(\.(img|log|files|building|imports|results|src))*$'
	declare -A used=()
	while read -r entry; do
		used[$entry]=1
	done < <(cache_used | sed -E "s/$suffixes//")
	while read -r path && read -r entry; do
		if [[ ${path##*/} =~ \.(new|work)(\.|$) ]]; then
			! cache_killed "$path" || echo "$path"
		elif [[ ${path##*/} == stage-* ]]; then
			# A build makes a stage again in a minute or two.
			[[ ${1:-} != stages ]] || echo "$path"
		else
			[[ ${used[$entry]:-} ]] || echo "$path"
		fi
	done < <(cache_made | sed -E "p; s/$suffixes//")
	# Work of rigs that were killed
	find "$CACHE" -mindepth 2 -maxdepth 2 -mmin +1440 \
		\( -name 'results-*' -o -name 'work-*' -o -name 'deb-src.*' \) 2>/dev/null
}

# cache_size PATHS...
cache_size()
{
	(($#)) || { echo 0; return; }
	du -shc -- "$@" 2>/dev/null | awk 'END { print $1 }'
}

# Prints the size of the cache, and of the part that this checkout does not use.
cache_kept()
{
	local unused
	mapfile -t unused < <(cache_unused)
	echo "cache: $(cache_size "$CACHE") kept, $(cache_size "${unused[@]}")" \
		"of it not used by this checkout (selftests/vm/rig clean)"
}

cmd_clean()
{
	local path unused
	need_root
	host_packages
	mapfile -t unused < <(cache_unused stages)
	((${#unused[@]})) || { say "nothing to remove"; return; }
	for path in "${unused[@]}"; do
		say "removing $(cache_size "$path") $path"
		rm -rf --one-file-system "$path"
	done
	cache_kept
}
