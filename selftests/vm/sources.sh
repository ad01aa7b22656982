# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# The list of source files and a copy of them to build in: the work tree with uncommitted changes,
# without build products. Builds of such a copy.

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

# Warnings that are not about the sources: make's own, and kbuild's about the tools of the tree
KNOWN_WARNINGS='^make(\[[0-9]+\])?: |^warning: .* differs from the one used to build the kernel'

# build_warnings LOG: prints the warnings of compilers, linkers and modpost. Status 1 without any
build_warnings()
{
	grep -E '(warning|WARNING):' "$1" | grep -vE "$KNOWN_WARNINGS"
}

# source_build DIR LOG COMMAND...: runs a build of a copy of the source in DIR. It fails with a
# warning, too. As make would neither compile that file again nor repeat the warning, the copy is
# removed then, and if an earlier build was killed, or was made when the clock was ahead: make would
# take its objects for newer than a source that is changed now.
source_build()
{
	local dir=$1 log=$2 rc=0
	shift 2
	[[ ! -e $dir.building && -z $(find "$dir" -newermt now -print -quit 2>/dev/null) ]] ||
		rm -rf --one-file-system "$dir"
	: > "$log" && : > "$dir.building" &&
	source_sync "$dir" || return 1
	"$@" > "$log" 2>&1 </dev/null || rc=$?
	if build_warnings "$log" >/dev/null; then
		rm -rf --one-file-system "$dir"
		((rc)) || rc=1
	fi
	rm "$dir.building"
	return "$rc"
}
