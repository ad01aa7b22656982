# SPDX-License-Identifier: GPL-2.0-only
#
# Converts the TAP output of one test to one "verdict<TAB>test<TAB>text" line for each result, with
# the verdict pass, fail or skip. Errors of the test program itself (no plan, plan not met, silent
# death, skip without a reason) are additional "fail" lines.
#
# Variables: test (its name), rc (exit status, empty if it did not end), limit (its time limit in
# seconds).

function result(verdict, text)
{
	printf "%s\t%s\t%s\n", verdict, test, text
	count[verdict]++
}

# Returns the text after "# SKIP", or "".
function skip_reason(line)
{
	if (!match(line, /# *[Ss][Kk][Ii][Pp]/))
		return ""
	line = substr(line, RSTART + RLENGTH)
	gsub(/^[ \t:-]+|[ \t]+$/, "", line)
	return line
}

function skipped(text, reason)
{
	if (reason == "")
		result("fail", text " (skipped without a reason)")
	else
		result("skip", text == "" ? reason : text ": " reason)
}

{ sub(/\r$/, "") }

/^1\.\.[0-9]+/ {
	plans++
	plan = substr($1, 4) + 0
	if (plan == 0 && /# *[Ss][Kk][Ii][Pp]/)
		plan_skip = 1
}

/# *[Ss][Kk][Ii][Pp]/ { last_reason = skip_reason($0) }

/^(not )?ok( |$)/ {
	n++
	text = $0
	sub(/^(not )?ok *[0-9]* *-? */, "", text)
	if ($1 == "ok" && text ~ /# *[Ss][Kk][Ii][Pp]/) {
		reason = skip_reason(text)
		sub(/ *# *[Ss][Kk][Ii][Pp].*/, "", text)
		skipped(text, reason)
	} else {
		result($1 == "ok" ? "pass" : "fail", text)
	}
}

/^Bail out!/ { result("fail", $0) }

END {
	if (rc == "") {
		result("fail", "did not end: the guest died or hung")
		exit
	}
	if (rc == 124 || rc == 137) {
		result("fail", "ran into its time limit of " limit " s")
		exit
	}
	if (n == 0 && !count["fail"] && (rc == 4 || (rc == 0 && plan_skip)))
		skipped("", last_reason)
	else if (rc != 0 && rc != 4 && !count["fail"])
		result("fail", "exit status " rc " without a failed result")
	else if (rc == 4 && count["pass"])
		result("fail", "exit status 4 (skip) though it had results")
	else if (n == 0 && !count["fail"])
		result("fail", "no TAP result")
	if (n && plans != 1)
		result("fail", plans ? "more than one plan" : "no TAP plan (1..N)")
	else if (n && plan != n)
		result("fail", "plan was 1.." plan ", but " n " results")
}
