# SPDX-License-Identifier: GPL-2.0-only
#
# The guest's kernel log -> "test<TAB>line number<TAB>line" for the first splat
# of each test ("-" is the time outside of any test). A report that is known to
# be another's is passed over, and goes to stderr, with the reason in place of
# the line.
#
# A test that provokes a warning announces it, and looks for it itself: no warning
# is a splat between the lines "rig: splats expected" and "rig: splats over" in the
# log. Anything worse is.
#
# Variables: patterns (file of regular expressions, one a line), known (file of
# "first line<TAB>another line of the report<TAB>reason", the first two regular
# expressions).

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

# The last line of a report, which depends on who reports.
function ends(line)
{
	if (begin ~ /KASAN/)
		return line ~ /====================/
	if (begin ~ /WARNING: (CPU|.* at )/)
		return line ~ /---\[ end trace/
	return line ~ /<\/TASK>|---\[ end trace/
}

{ sub(/\r$/, "") }

# Within a report that may be known; it is not if it has no end.
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

# (lockdep's are not "at" a line.)
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
