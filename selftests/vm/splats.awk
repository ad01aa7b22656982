# SPDX-License-Identifier: GPL-2.0-only
#
# Reads the guest's kernel log, and prints "test<TAB>line number<TAB>line" for the first splat of
# each test ("-" outside of any test). A report of the list of known ones goes to stderr instead,
# with its reason in place of the line.
#
# A test that provokes a warning announces it, and checks for it itself: between the lines "rig:
# splats expected" and "rig: splats over" of the log warnings are no splats. Worse reports are.
#
# Variables: patterns (a file of regular expressions), known (a file of "first line<TAB>another line
# of the report<TAB>reason" lines, the first two regular expressions).

BEGIN {
	while ((getline line < patterns) > 0)
		if (line != "")
			re = re (re == "" ? "" : "|") line
	while ((getline line < known) > 0) {
		if (line ~ /^#|^$/)
			continue
		split(line, field, /\t+/)
		first[++entries] = field[1]
		other[entries] = field[2]
		reason[entries] = field[3]
	}
	test = "-"
}

function splat()
{
	if (!(test in seen)) {
		seen[test] = 1
		printf "%s\t%d\t%s\n", test, start, begin
	}
	candidate = 0
}

# True for the last line of a report, which depends on the kind of report.
function ends(line)
{
	if (begin ~ /KASAN/)
		return line ~ /====================/
	if (begin ~ /WARNING: (CPU|.* at )/)
		return line ~ /---\[ end trace/
	return line ~ /<\/TASK>|---\[ end trace/
}

{ sub(/\r$/, "") }

# Within a report that may be a known one. A report without an end is not.
candidate {
	if ($0 ~ other[candidate])
		found = 1
	if (ends($0)) {
		if (found) {
			printf "%s\t%d\t%s\n", test, start,
				reason[candidate] > "/dev/stderr"
			candidate = 0
		} else {
			splat()
		}
		next
	}
	if ($0 !~ /rig: (begin|end) test/ && NR < start + 1000)
		next
	splat()
}

/rig: begin test / { test = $NF; expected = 0 }
/rig: end test / { test = "-"; expected = 0 }
/rig: splats expected/ { expected = 1 }
/rig: splats over/ { expected = 0 }

# Warnings of lockdep have no "at", and count.
expected && /WARNING: (.* )?at |Call Trace:/ { next }

$0 ~ re && !candidate {
	start = NR
	begin = $0
	found = 0
	for (candidate = entries; candidate; candidate--)
		if ($0 ~ first[candidate])
			break
	if (!candidate)
		splat()
}

END {
	if (candidate)
		splat()
}
