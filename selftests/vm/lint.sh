# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# "rig lint": the checkers, with the suite's versions of them, inside its tree.
# Silence is success.

# Runs inside the tree: $1 the checker, the rest its files.
lint_in_tree()
{
	in_tree "$TREE" "$LINT_SRC src" -- bash -c '
		cd /src || exit 1
		checker=$1
		KVER=$2
		shift 2
		case $checker in
		checkpatch)
			# FILE_PATH_CHANGES etc. speak about patches to a kernel
			# tree, not about files of an out-of-tree module.
			perl /usr/src/kselftest/scripts/checkpatch.pl --no-tree \
				--strict --terse --quiet --show-types \
				--ignore FILE_PATH_CHANGES -f "$@" ;;
		sparse)
			# C=2: all files, whether make would compile them or not.
			# What the kernel'"'"'s own headers cause is not ours.
			make -j2 -C "/lib/modules/$KVER/build" M=/src clean >/dev/null
			make -j2 -C "/lib/modules/$KVER/build" M=/src W=1 C=2 \
				CF="-D__CHECK_ENDIAN__" modules > /tmp/out 2>&1
			status=$?
			((!status)) || cat /tmp/out
			! grep -E "^/src/[^:]+:.*(warning|error):" -A3 /tmp/out &&
			exit "$status" ;;
		shellcheck)
			# 2034, 2153, 2317: files that are sourced in parts.
			shellcheck -x -P /src -e SC2034,SC2153,SC2317 "$@" ;;
		esac
	' lint "$1" "$KVER" "${@:2}"
}

cmd_lint()
{
	local failed=0 c shell
	need_root
	host_packages
	rootfs
	LINT_SRC=$(mktemp -d) || exit 1
	# shellcheck disable=SC2064
	trap "rm -rf '$LINT_SRC' '$LINT_SRC.files'" EXIT
	source_sync "$LINT_SRC" || exit 1

	mapfile -t c < <(cd "$LINT_SRC" && find . -name '*.[ch]' | sort)
	mapfile -t shell < <(cd "$LINT_SRC" && grep -rlE '^#!/bin/(ba)?sh' . | sort)
	((!${#c[@]})) ||
		step "checkpatch --strict (${#c[@]} files)" \
			lint_in_tree checkpatch "${c[@]}" || failed=1
	[[ ! -f $LINT_SRC/Kbuild ]] ||
		step "sparse and W=1" lint_in_tree sparse || failed=1
	((!${#shell[@]})) ||
		step "shellcheck (${#shell[@]} files)" \
			lint_in_tree shellcheck "${shell[@]}" || failed=1
	return "$failed"
}
