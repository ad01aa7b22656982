#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# docs/security.md names the tests that prove each promise, those of what the fuzzer
# has found, and those of classes of bugs. Do they exist?

dir=$(dirname "$0")
doc=$dir/security.md
[[ -e $doc ]] || doc=$dir/../docs/security.md

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

# look WHAT LEAST FROM TO [COLUMN]: do those tests exist, and are there so many of them?
look()
{
	local what=$1 least=$2 file test pattern begin=$n
	while read -r file test; do
		case $file in
		*.sh)	pattern="^$test\\(\\)" ;;
		*)	pattern="^TEST(_F|_F_TIMEOUT)?\\(([a-z_]+, )?$test\\b" ;;
		esac
		grep -Eq "$pattern" "$dir/$file"
		result $? "$file: $test"
	done < <(named "$3" "$4" "${5:-2}")
	# A table that can not be read has nothing.
	((n - begin >= least))
	result $? "there are $what"
}

# result STATUS WHAT
result()
{
	local not=
	n=$((n + 1))
	(($1 == 0)) || { not="not "; bad=1; }
	echo "${not}ok $n $2"
}

echo TAP version 13
n=0
bad=0
look promises 50 '## Promises' '## Fuzzing'
look "findings of the fuzzer" 7 '### What the fuzzer has found' '## Classes'
look "tests for classes of bugs" 13 '## Classes' '## What is not' 4
echo "1..$n"
exit "$bad"
