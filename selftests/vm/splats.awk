# SPDX-License-Identifier: GPL-2.0-only
#
# The guest's kernel log -> "test<TAB>line number<TAB>line" for the first splat
# of each test ("-" is the time outside of any test).
#
# Variable: patterns (file of regular expressions, one a line).

BEGIN {
	while ((getline line < patterns) > 0)
		if (line != "")
			re = re (re == "" ? "" : "|") line
	test = "-"
}

{ sub(/\r$/, "") }

/rig: begin test / { test = $NF }
/rig: end test / { test = "-" }

$0 ~ re && !(test in seen) {
	seen[test] = 1
	printf "%s\t%d\t%s\n", test, NR, $0
}
