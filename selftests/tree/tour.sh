#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Checks docs/internals/tour.md: every function that a row names is defined in the file of that row;
# every other name with () exists.
#
# It would catch a function that was renamed or moved to another file.

# shellcheck source=selftests/tree/checks.sh
. "$(dirname "$0")/checks.sh"
DOC=$TOP/docs/internals/tour.md

# defined NAME FILE...: the definition of a function begins in column 0, and its line does not
# contain a semicolon. Macros count.
defined()
{
	local name=$1
	shift
	grep -qsE "^([a-zA-Z].*[ *])?$name\([^;]*$|^#define $name\(" "$@"
}

# "FILE NAME" of each row
# shellcheck disable=SC2016
sed -nE 's/^\| `([^`]+)` \| `([a-zA-Z_0-9]+)\(\)` \| .*/\1 \2/p' "$DOC" > "$WORK/steps"
while read -r file name; do
	if [[ ! -e $TOP/$file ]]; then
		echo "$file does not exist"
	elif ! defined "$name" "$TOP/$file"; then
		echo "$name() is not in $file"
	fi
done < "$WORK/steps" > "$WORK/bad"
(($(wc -l < "$WORK/steps") >= 35)) || echo "only $(wc -l < "$WORK/steps") steps" >> "$WORK/bad"
result "every step's function is defined in its file" "$WORK/bad"

grep -c '^| `' "$DOC" | diff - <(wc -l < "$WORK/steps") > "$WORK/bad"
result "every row is a step" "$WORK/bad"

# Names of rdma_ep; those of the kernel and of libraries have other prefixes.
mapfile -t sources < <(find "$TOP/kmod" "$TOP/lib" -name '*.[ch]')
# shellcheck disable=SC2016
grep -oE '`(lep|u?ep)_[a-z_0-9]+(\(\)|\[\])`' "$DOC" | tr -d '`()[]' | sort -u |
	while read -r name; do
		defined "$name" "${sources[@]}" ||
			grep -qE "^[a-z].* $name\[\] = " "${sources[@]}" || echo "$name"
	done > "$WORK/bad"
result "every name exists" "$WORK/bad"

# Both calls are complete, from the first function to the last.
{
	for name in rdma_create_ep uep_create_ep ep_qp_create lep_post_send uep_post_send \
		uep_batch_post uep_ring_add; do
		grep -q " $name\$" "$WORK/steps" || echo "$name is no step"
	done
} > "$WORK/bad"
result "both calls are complete" "$WORK/bad"

finish_checks
