#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# docs/security/tests.md names the tests of each guarantee of model.md, of the fuzzer's findings,
# and of classes of bugs. Checks that they exist, that a cell of "make check" runs each test of a
# guarantee, and that each suite and device has a cell. Checks that the tables of known-issues.md,
# its pages, and the IDs in code and tests agree.

# shellcheck source=selftests/tree/checks.sh
. "$(dirname "$0")/checks.sh"
security=$TOP/docs/security
doc=$security/tests.md
dir=$TOP/selftests
cells=$dir/vm/cells
known=$dir/vm/known-reports
kmod=$TOP/kmod

# holds STATUS WHAT
holds()
{
	(($1 == 0)) && : > "$WORK/bad" || echo "no" > "$WORK/bad"
	result "$2" "$WORK/bad"
}

# named FROM TO COLUMN: "FILE TEST" lines, from the tables between these headings
named()
{
	sed -n "/^$1/,/^$2/p" "$doc" | grep '^| ' |
		awk -F '|' -v column="$3" '{ print $(column + 1) }' | tr ';' '\n' |
		awk -F '[:,]' '/^ *`[^`]+\.(c|sh)`/ {
			gsub(/[` ]/, "", $1)
			for (i = 2; i <= NF; i++) {
				gsub(/ /, "", $i)
				print $1, $i
			}
		}'
}

# defined: "FILE TEST" lines, of all tests in C and all functions of scripts
defined()
{
	(cd "$dir" && find abi faults fuzz lib -name '*.c' -exec sed -nE \
		's/^TEST(_F|_F_TIMEOUT)?\(([a-z_]+, )?([a-z0-9_]+).*/\3/p; T; F' {} + |
		paste -d ' ' - - | awk '{ sub(/.*\//, "", $2); print $2, $1 }'
	grep -HoE '^[a-z0-9_]+\(\)' faults/*.sh clients/*.sh | tr -d '()' | tr ':' ' ')
}

# look WHAT LEAST FROM TO [COLUMN]: checks that these tests exist, and that there are at least LEAST
look()
{
	local what=$1 least=$2 file test begin=$tests
	while read -r file test; do
		[[ ${exists["$file $test"]:-} ]]
		holds $? "$file: $test"
	done < <(named "$3" "$4" "${5:-2}")
	# This fails if the table cannot be parsed.
	((tests - begin >= least))
	holds $? "there are $what"
}

# in_a_cell TEST: true if a cell of "make check" runs TEST
in_a_cell()
{
	local suite device kernel cpus pattern pairs
	while read -r suite device kernel cpus pattern pairs; do
		# shellcheck disable=SC2053
		[[ $suite == [a-z]* && $1 == $pattern ]] && return
	done < "$cells"
	return 1
}

look_at_cells()
{
	local file suite device
	while read -r file; do
		in_a_cell "${file%.c}"
		holds $? "a cell runs $file"
	done < <(named '## Guarantees' '## What the' 2 | cut -d ' ' -f 1 | sort -u)
	for suite in bookworm trixie sid; do
		for device in rxe siw; do
			grep -Pq "^${suite}\t${device}\t-\t" "$cells"
			holds $? "there is a cell of $suite and $device"
		done
	done
}

# Each guarantee has one row of tests, and each row has a guarantee.
look_at_guarantees()
{
	local n_guarantees
	sed -n 's/^- \*\*\([A-Z][0-9]*\)\*\* .*/\1/p' "$security/model.md" | sort > "$WORK/model"
	sed -n 's/^| \([A-Z][0-9]*\) | `.*/\1/p' "$doc" | sort > "$WORK/tests"
	diff "$WORK/model" "$WORK/tests" | sed 's/^/# /'
	holds "${PIPESTATUS[0]}" "each guarantee has its tests"
	n_guarantees=$(wc -l < "$WORK/model")
	((n_guarantees >= 50)) && [[ -z $(uniq -d "$WORK/model") ]]
	holds $? "there are guarantees, each once"
}

# row PAGE: the row of known-issues.md that belongs to the page of an issue
row()
{
	awk '
		NR == 1 {
			id = $2
			sub(/:$/, "", id)
			sub(/^# [^ ]+ /, "")
			row = "| [" id "](issues/" id ".md) | " $0
		}
		/^- (Severity|Trigger|Kernels|Evidence|Stock stack|Mitigation): / {
			sub(/^- [^:]*: /, "")
			row = row " | " $0
			fields++
		}
		/^## / { sections = sections substr($0, 4) ";" }
		END {
			if (fields != 6)
				print FILENAME ": " fields " fields"
			if (sections !~ /^Affected code;How to trigger;What happens;A fix;(In rdma_ep;)?$/)
				print FILENAME ": sections " sections
			print row " |"
		}' "$1"
}

look_at_issues()
{
	local page
	local id='(SIW|RXE|IWCM|IBCM|CMA|CORE|CGROUP|EP)-[0-9][0-9]'
	for page in "$security"/issues/*.md; do
		row "$page"
	done | sort > "$WORK/pages"
	grep '^| \[' "$security/known-issues.md" | sort | diff - "$WORK/pages" | sed 's/^/# /'
	holds "${PIPESTATUS[2]}" "the tables of known issues are those of their pages"
	(($(wc -l < "$WORK/pages") >= 50))
	holds $? "there are known issues"
	grep -vE '\| (crash|disclosure|DoS|leak) \|.*\| (seen|KASAN|by reading) \|' "$WORK/pages" |
		sed 's/^/# /'
	holds "$((!PIPESTATUS[0]))" "each has a severity and evidence"

	{
		grep -ohE "\b$id\b" "$known" "$security"/*.md
		grep -rohE --include="*.[ch]" --include="*.sh" "\b$id\b" "$kmod" "$dir"
	} | sort -u > "$WORK/cited"
	for page in "$security"/issues/*.md; do
		basename "$page" .md
	done | sort | comm -13 - "$WORK/cited" | sed 's/^/# no page of /' > "$WORK/bad"
	cat "$WORK/bad"
	[[ ! -s $WORK/bad ]]
	holds $? "each ID that is cited has a page"
	(($(grep -rohE "\b$id\b" "$kmod" | sort -u | wc -l) >= 10))
	holds $? "code cites the issues that it works around"
	awk -F '\t' '!/^(#|$)/ && $3 !~ /^(no report|[A-Z]+-[0-9]+): / { print "# " $1; bad = 1 }
		END { exit bad }' "$known"
	holds $? "each known report cites an issue"

	# The functions and tests that pages name in the section about rdma_ep
	for page in "$security"/issues/*.md; do
		sed -n '/^## In rdma_ep/,$p' "$page" | tr '\n' ' '
		echo
	done > "$WORK/here"
	# shellcheck disable=SC2016
	grep -oE '`u?ep_[a-z_]+\(\)`' "$WORK/here" | tr -d '`()' | sort -u |
		while read -r page; do
			grep -rqE "^[a-z].*\b$page\(" "$kmod" || echo "# no function $page()"
		done > "$WORK/bad"
	# shellcheck disable=SC2016
	grep -oE '`[a-z_/]+\.(c|sh)` \([a-z_, ]+\)' "$WORK/here" | tr -d '`(),' |
		while read -r page; do
			for test in ${page#* }; do
				[[ ${exists["${page%% *} $test"]:-} ]] || echo "# no test ${page%% *} $test"
			done
		done >> "$WORK/bad"
	cat "$WORK/bad"
	[[ ! -s $WORK/bad ]]
	holds $? "functions and tests that pages name exist"
}

declare -A exists
while read -r line; do
	exists[$line]=1
done < <(defined)
look guarantees 50 '## Guarantees' '## What the'
look "findings of the fuzzer" 7 '## What the fuzzer has found' '## Classes'
look "tests for classes of bugs" 13 '## Classes' '## Nothing' 4
look_at_guarantees
look_at_issues
look_at_cells
finish_checks
