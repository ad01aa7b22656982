#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# rdma-ep doctor prints the known issues of a driver that crash the kernel or disclose memory and
# that rdma_ep does not prevent. Its table has to be that of docs/security/known-issues.md.
#
# issues.sh update: rewrite the table

# shellcheck source=selftests/tree/checks.sh
. "$(dirname "$0")/checks.sh"
TABLE=$TOP/tools/issues.h

table()
{
	echo "/* SPDX-License-Identifier: BSD-2-Clause */"
	echo "/* From docs/security/known-issues.md: written by selftests/tree/issues.sh update */"
	awk -F ' [|] ' '
		/^\| \[(SIW|RXE)-[0-9]+\]/ && ($3 == "crash" || $3 == "disclosure") &&
		$8 !~ /^prevented by rdma_ep:/ {
			split($1, part, /[][]/)
			driver = part[2]
			sub(/-.*/, "", driver)
			printf "{ RDMA_DRIVER_%s, \"%s\", \"%s\", \"%s\" },\n", driver, part[2], $3, $5
		}' "$TOP/docs/security/known-issues.md"
}

if [[ ${1:-} == update ]]; then
	table > "$TABLE"
	exit
fi
diff <(table) "$TABLE" > "$WORK/bad"
result "tools/issues.h is the table of known issues (issues.sh update)" "$WORK/bad"
(($(table | wc -l) >= 10)) || echo "it has $(table | wc -l) lines" > "$WORK/few"
result "the table of open issues is not empty" "$WORK/few"
finish_checks
