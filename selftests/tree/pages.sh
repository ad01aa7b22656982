#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# docs/programs/pages.md lists every sentence of the manual pages that the library implements, with
# its tests. Checks that every sentence is there, and that every test of page_*.c has one.

here=$(dirname "$0")
# shellcheck source=selftests/tree/checks.sh
. "$here/checks.sh"
doc=$TOP/docs/programs/pages.md
PAGES="ibv_create_cq ibv_create_srq_ex ibv_post_srq_recv rdma_create_ep rdma_create_id
rdma_create_qp rdma_create_srq"

# "PAGE NUMBER TEST" lines, with "-" for a sentence without tests; errors in $WORK/rows
awk -F '|' -v bad="$WORK/rows" '
	function complain(text) { print FILENAME ":" FNR ": " text > bad }
	function finish() {
		if (page != "" && last != want)
			complain(page " has " last + 0 " sentences instead of " want)
	}
	BEGIN { printf "" > bad }
	/^## / {
		finish()
		if (!match($0, /^## [a-z_]+\(3\), [0-9]+ sentences$/))
			complain("not the heading of a page: " $0)
		split($0, word, /[ (,]+/)
		page = word[2]
		want = word[4]
		last = 0
	}
	/^\| S[0-9]/ {
		id = $2
		gsub(/ /, "", id)
		if (id != sprintf("S%02d", ++last))
			complain(page " " id " instead of S" last)
		if (NF != 6 || $3 !~ /[a-z]/)
			complain(page " " id " is no row of four cells with a sentence")
		tests = $4
		if (tests ~ /^ none: [a-z]/) {
			print page, id, "-"
			next
		}
		if (tests !~ /^ `[a-zA-Z0-9_]+`(, `[a-zA-Z0-9_]+`)* $/)
			complain(page " " id " has neither tests nor a reason: " tests)
		gsub(/[`,]/, "", tests)
		n = split(tests, test, " ")
		for (i = 1; i <= n; i++) {
			print page, id, test[i]
			if (index(test[i], page "_" id "_") != 1)
				complain(page " " id " has a test of another sentence: " test[i])
		}
	}
	END { finish() }' "$doc" > "$WORK/table"
result "every sentence has a row, and tests of its own or a reason" "$WORK/rows"

cut -d ' ' -f 1 "$WORK/table" | sort -u |
	diff <(tr ' ' '\n' <<< "$PAGES" | sort) - > "$WORK/bad"
result "all pages exist" "$WORK/bad"

sed -En 's/^TEST(_F)?\(([a-z]+, )?([a-zA-Z0-9_]+)\)$/\3/p' "$TOP"/selftests/lib/page_*.c |
	sort > "$WORK/tests"
sed -n 's/.* //; /^-$/!p' "$WORK/table" | sort | diff - "$WORK/tests" > "$WORK/bad"
result "its tests are those of page_*.c, each once" "$WORK/bad"

grep -Ev '^[a-z_]+_S[0-9][0-9]_[a-z0-9_]+$' "$WORK/tests" > "$WORK/bad"
result "their names have page, sentence, and what is expected" "$WORK/bad"

# Each program runs on both libraries, except XRC: only the mock device has it.
list=$here/kselftest-list.txt
if [[ -e $list ]]; then
	cat "$list"
else
	make -s --no-print-directory -C "$TOP/selftests" list
fi | awk '{ print $1 }' > "$WORK/list"
for program in $PAGES xrc; do
	for kind in "" .stock; do
		[[ $program$kind == xrc.stock ]] ||
			grep -qx "page_$program$kind" "$WORK/list" ||
			echo "page_$program$kind is not run"
	done
done > "$WORK/bad"
result "all are run, on ours and on stock" "$WORK/bad"

finish_checks
