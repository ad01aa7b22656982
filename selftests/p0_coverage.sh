#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Has every function that programs need first (p0_functions.txt) a test of its
# own? Tests say so themselves, in a comment in front of TEST():
#
#	/* P0: rdma_connect, rdma_accept */
#
# p0_coverage.sh [DIRECTORY OF THE SOURCES]

dir=${1:-$(dirname "$0")}
list=$dir/p0_functions.txt
total=$(grep -c . "$list")

# Only tags that a test follows count, and only if it calls the function.
tagged=$(awk '
	FNR == 1 { tags = "" }
	/^\/\* P0: .*\*\/$/ {
		tags = $0
		gsub(/^\/\* P0: | *\*\/$/, "", tags)
		next
	}
	tags != "" && /^TEST(_F)?\(/ {
		n = split(tags, t, / *, */)
		for (i = 1; i <= n; i++)
			print t[i], FILENAME
	}
	{ tags = "" }' "$dir"/cm_*.c "$dir"/verbs_*.c | sort -u)

echo "TAP version 13"
echo "1..$total"
n=0
missing=0
while read -r fn; do
	n=$((n + 1))
	files=$(awk -v fn="$fn" '$1 == fn { print $2 }' <<< "$tagged")
	reason="no test is tagged with it"
	ok=
	for f in $files; do
		# Not in the comment: in the code, or in that of the helpers
		if grep -v '/\* P0:' "$f" "$dir/lib_util.c" |
			grep -Eq "[^a-z_]$fn( ?\(|\))"; then
			ok=1
		else
			reason="$(basename "$f") does not call it"
		fi
	done
	if [[ $ok ]]; then
		echo "ok $n $fn"
	else
		echo "# $fn: $reason"
		echo "not ok $n $fn"
		missing=$((missing + 1))
	fi
done < "$list"
echo "# of $total functions $missing have no test of their own"
exit $((missing > 0))
