#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Checks the verdicts of clients/common.sh that depend on a driver: data that siw leaves unread excuses
# only a case that reports no progress (SIW-25).

# shellcheck source=selftests/tree/checks.sh
. "$(dirname "$0")/checks.sh"

cat > "$WORK/lib.sh" <<'END'
wait_for() { :; }
rdma() { :; }
END

# excused RESULT COMMANDS: the result of a case with unread data
excused()
{
	STOCK=1 GUEST_LIB="$WORK/lib.sh" bash -c '
		. "$1" 2> /dev/null
		siw_unread() { echo "40 bytes"; }
		begin name
		eval "$2"
		end' bash "$TOP/selftests/clients/common.sh" "$2" > "$WORK/case" 2>&1
	[[ $(head -n 1 "$WORK/case") == "$1" ]] || { echo "with $2:"; cat "$WORK/case"; }
}

skipped='ok 1 name # SKIP siw does not read what came early: 40 bytes'
{
	excused "$skipped" 'no_progress stuck'
	excused "$skipped" 'no_progress stuck; problem later'
	excused 'not ok 1 name' 'problem data'
} > "$WORK/bad"
result "unread data excuses a program that does not end only" "$WORK/bad"

finish_checks
