#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# docs/security.md names the tests that prove each promise. Do they exist?

dir=$(dirname "$0")
doc=$dir/security.md
[[ -e $doc ]] || doc=$dir/../docs/security.md

# "FILE TEST" of the table, one a line
named()
{
	sed -n '/^## Promises/,/^## Classes/p' "$doc" | grep '^| ' |
		awk -F '|' '{ print $3 }' | tr ';' '\n' |
		awk -F '[:,]' '/`/ {
			gsub(/[` ]/, "", $1)
			for (i = 2; i <= NF; i++) {
				gsub(/ /, "", $i)
				print $1, $i
			}
		}'
}

echo TAP version 13
n=0
bad=0
while read -r file test; do
	n=$((n + 1))
	case $file in
	*.sh)	pattern="^$test\\(\\)" ;;
	*)	pattern="^TEST(_F|_F_TIMEOUT)?\\(([a-z_]+, )?$test\\b" ;;
	esac
	if grep -Eq "$pattern" "$dir/$file"; then
		echo "ok $n $file: $test"
	else
		echo "not ok $n $file: $test"
		bad=1
	fi
done < <(named)
# A table that can not be read has no promises.
n=$((n + 1))
if ((n > 50)); then echo "ok $n there are promises"; else
	echo "not ok $n there are promises"
	bad=1
fi
echo "1..$n"
exit "$bad"
