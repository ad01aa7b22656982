#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Do the pages say what the sources say? Their quotes, the manual of the kernel API that
# is made of kernel-doc comments, the counted lines. What is wrong with a page is
# mostly put right by "make docs".
#
# docs.sh update KERNEL_DOC: put it right.

# shellcheck source=selftests/tree/checks.sh
. "$(dirname "$0")/checks.sh"
SCRIPTS=$TOP/selftests/tree/docs
PAGE=$TOP/docs/ulp.md
MANUAL=$TOP/docs/ulp-api.md
# Others with quotes.
PAGES=("$TOP/README.md" "$TOP/docs/accounting.md")

# The page with its quotes and the rows of our ULPs as they should be.
page()
{
	local dir rows=()
	for dir in "$TOP"/selftests/ulp/*/; do
		rows+=("$(basename "$dir") $(perl "$SCRIPTS/conn-lines.pl" \
			"$dir"*.c 2>/dev/null)") || return 1
	done
	perl "$SCRIPTS/quote.pl" "$TOP" < "$PAGE" |
		awk -v rows="$(printf '%s\n' "${rows[@]}")" '
		BEGIN {
			n = split(rows, line, "\n")
			for (i = 1; i <= n; i++) {
				split(line[i], f, " ")
				count[f[1]] = " | " f[2] " | " f[3] " | " f[4] " |"
			}
		}
		/^<!-- lines -->$/ { table = 1 }
		/^## / { table = 0 }
		table && /^\| / && $2 in count {
			match($0, /^\| [^|]*[^| ]/)
			$0 = substr($0, 1, RLENGTH) count[$2]
		}
		{ print }'
}

# quoted PAGE: it with its quotes as they should be
quoted()
{
	perl "$SCRIPTS/quote.pl" "$TOP" < "$1"
}

manual()
{
	bash "$SCRIPTS/render-manual" "$1" "$TOP"
}

if [[ ${1:-} == update ]]; then
	set -e -o pipefail
	page > "$WORK/page"
	manual "$2" > "$WORK/manual"
	for page in "${PAGES[@]}"; do
		quoted "$page" > "$WORK/quoted"
		cat "$WORK/quoted" > "$page"
	done
	cat "$WORK/page" > "$PAGE"
	cat "$WORK/manual" > "$MANUAL"
	exit
fi

# ---- the test

{ page | diff "$PAGE" - || [[ ${PIPESTATUS[0]} == 0 ]]; } > "$WORK/bad" 2>&1
result "quotes and counts are those of the sources" "$WORK/bad"

for page in "${PAGES[@]}"; do
	{ quoted "$page" | diff "$page" - || [[ ${PIPESTATUS[0]} == 0 ]]; } \
		> "$WORK/bad" 2>&1
	grep -q '^<!-- .*/.* -->$' "$page" || echo "no quotes" >> "$WORK/bad"
	result "quotes of ${page##*/}" "$WORK/bad"
done

for page in CONTRIBUTING.md README.md; do
	grep -oE '[`(](selftests|kmod|lib|docs|uapi|tools|packaging)/[A-Za-z0-9_./*-]+' \
			"$TOP/$page" | sed "s/^.//; /NAME/d" | sort -u |
		while read -r path; do
			compgen -G "$TOP/$path" > /dev/null || echo "$path does not exist"
		done
done > "$WORK/bad"
result "paths that CONTRIBUTING.md and README.md name exist" "$WORK/bad"

# Each has what deals with connections in one place.
for conn in "$TOP"/selftests/ulp/*/conn.c; do
	ulp=$(basename "$(dirname "$conn")")
	grep -q "^| $ulp " "$PAGE" || echo "$ulp is not in the table"
done > "$WORK/bad"
result "every ULP is in the table" "$WORK/bad"

cat "$TOP"/kmod/ulp/*.c |
	sed -n 's/^EXPORT_SYMBOL[_A-Z]*(_*\(.*\));$/\1/p' | sort > "$WORK/exported"
sed -n 's/^### .\([a-z_]*\)().$/\1/p' "$MANUAL" | sort |
	diff "$WORK/exported" - > "$WORK/bad"
[[ -s $WORK/exported ]] || echo "no symbols" >> "$WORK/bad"
result "every exported symbol is in the manual, and nothing else" "$WORK/bad"

kernel_doc=/lib/modules/$(uname -r)/build/scripts/kernel-doc
if [[ ! -e $kernel_doc ]]; then
	tests=$((tests + 1))
	echo "ok $tests the manual # SKIP no kernel-doc in this kernel's headers"
else
	{
		manual "$kernel_doc" > "$WORK/manual" || echo "kernel-doc complains"
		diff "$MANUAL" "$WORK/manual"
	} > "$WORK/bad" 2>&1
	result "the manual is that of the sources, kernel-doc has no complaints" \
		"$WORK/bad"
fi

finish_checks
