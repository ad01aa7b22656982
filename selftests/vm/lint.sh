# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# "rig lint": the checkers, with the suite's versions of them, inside its tree.
# Silence is success.

# lint_in_tree CHECKER FILE...
lint_in_tree()
{
	in_tree "$TREE" "${KERNEL_BINDS[@]}" "$LINT_SRC src" -- \
		bash /src/selftests/vm/lint-in-tree "$KVER" "$@"
}

cmd_lint()
{
	local failed=0 kernel programs shell
	need_root
	host_packages
	rootfs
	kernel
	LINT_SRC=$(mktemp -d) || exit 1
	# shellcheck disable=SC2064
	trap "rm -rf '$LINT_SRC' '$LINT_SRC.files'" EXIT
	source_sync "$LINT_SRC" || exit 1

	mapfile -t kernel < <(cd "$LINT_SRC" &&
		find kmod uapi selftests/ulp selftests/mock selftests/vm/provoke \
			-name '*.[ch]' 2>/dev/null | sort)
	mapfile -t programs < <(cd "$LINT_SRC" &&
		find . -path ./kmod -prune -o -path ./uapi -prune \
			-o -path ./selftests/ulp -prune \
			-o -path ./selftests/mock -prune \
			-o -path ./selftests/vm/provoke -prune \
			-o -name '*.[ch]' -print | sort)
	mapfile -t shell < <(cd "$LINT_SRC" &&
		{ grep -rlE '^#!/bin/(ba)?sh' .; find . -name '*.sh'; } | sort -u)
	((!${#kernel[@]})) ||
		step "checkpatch --strict, kernel (${#kernel[@]} files)" \
			lint_in_tree checkpatch-kernel "${kernel[@]}" || failed=1
	((!${#programs[@]})) ||
		step "checkpatch --strict, programs (${#programs[@]} files)" \
			lint_in_tree checkpatch-programs "${programs[@]}" || failed=1
	[[ ! -f $LINT_SRC/Kbuild ]] ||
		step "sparse and W=1" lint_in_tree sparse || failed=1
	((!${#shell[@]})) ||
		step "shellcheck (${#shell[@]} files)" \
			lint_in_tree shellcheck "${shell[@]}" || failed=1
	return "$failed"
}
