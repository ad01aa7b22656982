# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# The cache: trees, kernels, stages. The name of each has a hash of its sources. A checkout with
# other packages or another kernel configuration makes other entries, and the old ones stay for
# checkouts that may still use them. "rig clean" removes all that this checkout does not use.

# cache_used: prints the paths in the cache that this checkout uses. Those that depend on a tree
# need that tree.
cache_used()
{
	local SUITE SUITE_DIR TREE TREE_ID KERNEL
	while read -r SUITE; do
		SUITE_DIR=$CACHE/$SUITE
		TREE=$SUITE_DIR/rootfs-$(rootfs_key)
		printf '%s\n' "$TREE" "$TREE.img"
		[[ -d $TREE ]] || continue
		tree_id
		KERNEL='' extras_paths
		[[ -z $EXTRAS ]] || echo "$EXTRAS"
		siw_paths
		echo "$SIW"
		for KERNEL in '' $(awk -v s="$SUITE" '$1 == s && $3 ~ /[a-z]/ { print $3 }' \
				"$VM_DIR/cells.all" | sort -u); do
			kernel_paths
			echo "$KERNEL_ROOT"
			initramfs_paths
			echo "$INITRAMFS"
			build_paths
			echo "$BUILD_DIR"
		done
	done < <(cut -s -f 1 "$VM_DIR/cells.all" | sort -u)
}

# cache_made: prints the paths with a hash in their name
cache_made()
{
	find "$CACHE" -mindepth 2 -maxdepth 2 \( -name 'rootfs-*' -o -name 'siw-*' -o \
		-name 'kernel-*' -o -name 'build-*' -o -name 'stage-*' -o \
		-name 'extras-*' -o -name 'initramfs-*' \) ! -name '*.lock' ! -name '*.log' ! -name '*.files' \
		! -name '*.new.*' ! -name '*.work.*' 2>/dev/null | sort
}

cache_unused()
{
	comm -23 <(cache_made | grep -v '/stage-') <(cache_used | sort -u)
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
	# A build makes a stage again in a minute or two.
	mapfile -t unused < <(cache_unused; cache_made | grep '/stage-')
	((${#unused[@]})) || { say "nothing to remove"; return; }
	for path in "${unused[@]}"; do
		say "removing $(cache_size "$path") $path"
		rm -rf --one-file-system "$path" "$path.log" "$path.files"
	done
	cache_kept
}
