# SPDX-License-Identifier: GPL-2.0-only
#
# The guest's kernel log -> "test<TAB>line number<TAB>line" for the first splat
# of each test ("-" is the time outside of any test).
#
# A test that provokes a warning announces it, and looks for it itself: no warning
# is a splat between the lines "rig: splats expected" and "rig: splats over" in the
# log. Anything worse is.
#
# Variable: patterns (file of regular expressions, one a line).

BEGIN {
	while ((getline line < patterns) > 0)
		if (line != "")
			re = re (re == "" ? "" : "|") line
	test = "-"
}

{ sub(/\r$/, "") }

/rig: begin test / { test = $NF; expected = 0 }
/rig: end test / { test = "-"; expected = 0 }
/rig: splats expected/ { expected = 1 }
/rig: splats over/ { expected = 0 }

expected && /WARNING:|Call Trace:/ { next }

$0 ~ re && !(test in seen) {
	seen[test] = 1
	printf "%s\t%d\t%s\n", test, NR, $0
}
