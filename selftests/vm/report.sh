# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Judge a run from what it left in its results directory: every TAP line of
# every test, what tests left behind, the kernel's log. The last line printed
# is "N passed, N failed, N skipped".

# splats RESULTS: "test<TAB>line number<TAB>line" for each
splats()
{
	awk -v patterns="$VM_DIR/splat-patterns" -f "$VM_DIR/splats.awk" \
		"$1/console.log"
}

# show_splats RESULTS: the log around each splat, on stderr; fails if any.
show_splats()
{
	local results=$1 test line text found=0
	while IFS=$'\t' read -r test line text; do
		found=1
		{
			echo "--- kernel log (${test/#-/outside of tests}), line $line: $text"
			sed -n "$((line > 4 ? line - 4 : 1)),$((line + 70))p" \
				"$results/console.log"
			echo "---"
		} >&2
	done < <(splats "$results")
	return "$found"
}

# Verdict lines of the whole run.
verdicts()
{
	local results=$1 name limit file rc
	while read -r name limit; do
		file=$results/${name//\//_}
		rc=
		[[ ! -f $file.rc ]] || read -r rc _ < "$file.rc"
		if [[ ! -f $file.out ]]; then
			printf 'fail\t%s\tnot run\n' "$name"
			continue
		fi
		awk -v test="$name" -v rc="$rc" -v limit="$limit" \
			-f "$VM_DIR/tap.awk" "$file.out"
		[[ ! -s $file.after ]] ||
			sed "s|^|fail\t$name\tleft behind: |" "$file.after"
	done < "$results/tests"
	splats "$results" | awk -F '\t' \
		'{ printf "fail\t%s\tkernel: %s\n", $1 == "-" ? "kernel" : $1, $3 }'
}

# report RESULTS GUEST_STATUS
report()
{
	local results=$1 status=$2 verdicts=$1/verdicts name passed failed skipped
	verdicts "$results" > "$verdicts"
	((status == 0)) ||
		printf 'fail\tguest\tthe test run ended with status %d\n' \
			"$status" >> "$verdicts"

	while read -r name; do
		[[ -f $results/${name//\//_}.out ]] || continue
		echo "--- output of $name:"
		cat "$results/${name//\//_}.out"
		echo "---"
	done < <(awk -F '\t' '$1 == "fail" && !n[$2]++ { print $2 }' "$verdicts")
	show_splats "$results" 2>&1
	awk -F '\t' '$1 == "skip" { print "skipped: " $2 ": " $3 }' "$verdicts"
	awk -F '\t' '$1 == "fail" { print "FAILED: " $2 ": " $3 }' "$verdicts"

	passed=$(grep -c '^pass' "$verdicts")
	failed=$(grep -c '^fail' "$verdicts")
	skipped=$(grep -c '^skip' "$verdicts")
	echo "$passed passed, $failed failed, $skipped skipped"
	# Nothing run is not a success.
	((failed == 0 && passed > 0))
}
