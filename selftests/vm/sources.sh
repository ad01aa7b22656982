# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# The list of source files and a copy of them to build in: the work tree with uncommitted changes,
# without build products.

# Prints NUL-terminated paths below $TOP. Without git (a release tarball, a bare machine), these are
# all files except obvious build products.
source_files()
{
	if [[ -e $TOP/.git ]] && git -C "$TOP" rev-parse --git-dir &>/dev/null; then
		git -C "$TOP" ls-files -z --cached --others --exclude-standard
	else
		cd "$TOP" && find . \( -name .git -o -path ./build \) -prune -o -type f \
			! -name '*.o' ! -name '*.ko' ! -name '*.so' ! -name '*.so.*' ! -name '*.a' \
			! -name '*.cmd' ! -name '*.mod' ! -name '*.mod.c' \
			! -name '.*.d' ! -path ./lib/librdma_ep.pc ! -path ./tools/rdma-ep \
			! -name Module.symvers ! -name modules.order \
			-printf '%P\0'
	fi | sort -zu |
	while IFS= read -r -d '' f; do
		# A deleted file is in the index until the commit.
		[[ ! -f $TOP/$f ]] || printf '%s\0' "$f"
	done
}

source_hash()
{
	(cd "$TOP" && source_files | xargs -0 sh -c '
		sha256sum -- "$@"; stat -c "%A %n" -- "$@"' sh) |
		sha256sum | cut -c1-16
}

# source_sync DIR: makes the source files of DIR equal to those of $TOP. It writes only files that
# differ, so that make rebuilds only these. Times do not count: switching branches makes files
# older.
source_sync()
{
	local dir=$1 f
	declare -A want=()
	mkdir -p "$dir"
	while IFS= read -r -d '' f; do
		want[$f]=1
		if ! cmp -s "$TOP/$f" "$dir/$f"; then
			mkdir -p "$dir/$(dirname "$f")" &&
			cp "$TOP/$f" "$dir/$f" || return 1
		fi
		if [[ -x $TOP/$f ]]; then
			[[ -x $dir/$f ]] || chmod +x "$dir/$f"
		else
			[[ ! -x $dir/$f ]] || chmod -x "$dir/$f"
		fi
	done < <(source_files)
	# Remove files that the source no longer has.
	if [[ -f $dir.files ]]; then
		while IFS= read -r -d '' f; do
			[[ -n ${want[$f]:-} ]] || rm -f "$dir/$f"
		done < "$dir.files"
	fi
	printf '%s\0' "${!want[@]}" > "$dir.files"
}
