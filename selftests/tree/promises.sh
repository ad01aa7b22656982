#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# docs/security.md names the tests that prove each promise, those of what the fuzzer
# has found, and those of classes of bugs. Do they exist? Does "make check" run each test
# of a promise in a cell, and something on each suite and device?

# shellcheck source=selftests/tree/checks.sh
. "$(dirname "$0")/checks.sh"
doc=$TOP/docs/security.md
dir=$TOP/selftests
cells=$dir/vm/cells

# holds STATUS WHAT
holds()
{
	(($1 == 0)) && : > "$WORK/bad" || echo "no" > "$WORK/bad"
	result "$2" "$WORK/bad"
}

# named FROM TO COLUMN: "FILE TEST" of the tables between these headings, one a line
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

# defined: "FILE TEST" of the tests and functions that there are, one a line
defined()
{
	(cd "$dir" && find abi faults fuzz lib -name '*.c' -exec sed -nE \
		's/^TEST(_F|_F_TIMEOUT)?\(([a-z_]+, )?([a-z0-9_]+).*/\3/p; T; F' {} + |
		paste -d ' ' - - | awk '{ sub(/.*\//, "", $2); print $2, $1 }'
	grep -HoE '^[a-z0-9_]+\(\)' faults/*.sh clients/*.sh | tr -d '()' | tr ':' ' ')
}

# look WHAT LEAST FROM TO [COLUMN]: do those tests exist, and are there so many of them?
look()
{
	local what=$1 least=$2 file test begin=$tests
	while read -r file test; do
		[[ ${exists["$file $test"]:-} ]]
		holds $? "$file: $test"
	done < <(named "$3" "$4" "${5:-2}")
	# A table that can not be read has nothing.
	((tests - begin >= least))
	holds $? "there are $what"
}

# in_a_cell TEST: does a cell of "make check" run it?
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
	done < <(named '## Promises' '## Fuzzing' 2 | cut -d ' ' -f 1 | sort -u)
	for suite in bookworm trixie sid; do
		for device in rxe siw; do
			grep -Pq "^${suite}\t${device}\t-\t" "$cells"
			holds $? "there is a cell of $suite and $device"
		done
	done
}

declare -A exists
while read -r line; do
	exists[$line]=1
done < <(defined)
look promises 50 '## Promises' '## Fuzzing'
look "findings of the fuzzer" 7 '### What the fuzzer has found' '## Classes'
look "tests for classes of bugs" 13 '## Classes' '## What is not' 4
look_at_cells
finish_checks
