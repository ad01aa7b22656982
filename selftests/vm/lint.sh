# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# "rig lint": the checkers in the suite's versions, inside its tree and a layer over it. They print
# nothing on success.

# lint_in_tree CHECKER FILE...
lint_in_tree()
{
	TREE_BELOW=$LAYER TREE_LAYER=$LINT_WORK in_tree "$TREE" \
		"${KERNEL_BINDS[@]}" "$LINT_SRC src" -- \
		bash /src/selftests/vm/lint-in-tree "$KVER" "$@"
}

# Manual pages. Ignore mandoc's messages about pages of other packages, which need not be installed,
# about sections that not every system has (3ep), and about .Os of other systems. Skip pages that
# only refer to another one.
lint_pages()
{
	local page said
	make -s -C "$LINT_SRC/lib" man || return
	said=$(cd "$LINT_SRC" &&
		grep -L '^\.so ' lib/man/*.[1-8] tools/*.[1-8] lib/man/out/*.[1-8]* |
		while read -r page; do
			mandoc -T lint "$page" 2>&1
		done | grep -vE 'referenced manual not found|outdated mandoc.db|operating system explicitly specified|unknown manual section: Dt \.\.\. 3ep')
	[[ -z $said ]] || { echo "$said"; return 1; }
}

# lint_tree SCRIPT [TREE]: prints its failures and skips, and returns its status
lint_tree()
{
	local rc=0 said
	said=$("${2:-$LINT_SRC}/selftests/tree/$1") || rc=$?
	grep '^ok .*# SKIP' <<< "$said"
	((!rc)) || grep -v '^ok ' <<< "$said"
	return "$rc"
}

cmd_lint()
{
	local failed=0 kernel trace programs library shell text
	need_root
	host_packages mandoc
	rootfs
	kernel
	layer lint "${LINT_TOOLS[@]}"
	LINT_SRC=$(mktemp -d) || exit 1
	LINT_WORK=$(mktemp -d "$SUITE_DIR/work-XXXXXX") || exit 1
	# shellcheck disable=SC2064
	trap "rm -rf --one-file-system '$LINT_SRC' '$LINT_SRC.files' '$LINT_WORK'" EXIT
	mkdir "$LINT_WORK"/{upper,overlay}
	source_sync "$LINT_SRC" || exit 1

	mapfile -t kernel < <(cd "$LINT_SRC" &&
		find kmod uapi selftests/ulp selftests/mock selftests/vm/provoke \
			-name '*.[ch]' ! -name trace.h 2>/dev/null | sort)
	mapfile -t trace < <(cd "$LINT_SRC" && find kmod -name trace.h)
	mapfile -t programs < <(cd "$LINT_SRC" &&
		find . -path ./kmod -prune -o -path ./uapi -prune \
			-o -path ./selftests/ulp -prune \
			-o -path ./selftests/mock -prune \
			-o -path ./selftests/vm/provoke -prune \
			-o -name '*.[ch]' -print | sort)
	mapfile -t shell < <(cd "$LINT_SRC" &&
		{ grep -rlE '^#!/bin/(ba)?sh' .; find . -name '*.sh'; } | sort -u)
	mapfile -t library < <(cd "$LINT_SRC" &&
		find lib -name '*.[ch]' 2>/dev/null | sort)
	# Everything except measurements, which contain names of other projects
	mapfile -t text < <(cd "$LINT_SRC" &&
		find . -type f ! -path './docs/performance/*' | sort)
	((!${#kernel[@]})) ||
		step "checkpatch --strict, kernel (${#kernel[@]} files)" \
			lint_in_tree checkpatch-kernel "${kernel[@]}" || failed=1
	((!${#trace[@]})) ||
		step "checkpatch --strict, trace headers (${#trace[@]} files)" \
			lint_in_tree checkpatch-trace "${trace[@]}" || failed=1
	((!${#programs[@]})) ||
		step "checkpatch --strict, programs (${#programs[@]} files)" \
			lint_in_tree checkpatch-programs "${programs[@]}" || failed=1
	[[ ! -f $LINT_SRC/Kbuild ]] ||
		step "sparse and W=1" lint_in_tree sparse || failed=1
	[[ ! -f $LINT_SRC/Kbuild ]] ||
		step "layers" lint_in_tree layers || failed=1
	((!${#kernel[@]})) ||
		step "coccinelle (${#kernel[@]} files)" \
			lint_in_tree coccinelle "${kernel[@]}" || failed=1
	((!${#library[@]})) ||
		step "clang-format (${#library[@]} files)" \
			lint_in_tree clang-format "${library[@]}" || failed=1
	((!${#shell[@]})) ||
		step "shellcheck (${#shell[@]} files)" \
			lint_in_tree shellcheck "${shell[@]}" || failed=1
	if [[ -d $LINT_SRC/lib/man ]]; then
		step "manual pages" lint_pages || failed=1
		step "prototypes in manual pages" lint_in_tree synopses || failed=1
	fi
	# With the history of this checkout
	step "words" lint_tree words.sh "$TOP" || failed=1
	step "CONTRIBUTING.md" lint_tree contributing.sh || failed=1
	step "tour.md" lint_tree tour.sh || failed=1
	step "codespell (${#text[@]} files)" \
		lint_in_tree codespell "${text[@]}" || failed=1
	return "$failed"
}
