# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Judge a run from what it left in its results directory: every TAP line of
# every test, what tests left behind, the kernel's log. The last lines printed are
# a table, of one row, and "N passed, N failed, N skipped".

# splats RESULTS: "test<TAB>line number<TAB>line" for each; on stderr those that
# are known, with the reason in place of the line
splats()
{
	awk -v patterns="$VM_DIR/splat-patterns" \
		-v known="$VM_DIR/known-reports" -f "$VM_DIR/splats.awk" \
		"$1/console.log"
}

# leaks RESULTS: one line for each object that kmemleak found, with what allocated
# it; known ones as splats() does
leaks()
{
	[[ ! -f $1/kmemleak ]] || awk '
		/^unreferenced object/ { if (n++) print ""; printf "%s", $0; next }
		/^ *(\[<[0-9a-f]*>\] )?[a-zA-Z_][a-zA-Z0-9_.]*\+0x/ {
			sub(/^ *(\[<[0-9a-f]*>\] )?/, ""); sub(/\+0x.*/, "")
			printf " < %s", $0
		}
		END { if (n) print "" }' "$1/kmemleak" |
	awk -F '\t+' -v known="$VM_DIR/known-reports" '
		BEGIN {
			while ((getline line < known) > 0)
				if (split(line, f) == 3 &&
				    f[1] == "unreferenced object")
					reason[f[2]] = f[3]
		}
		{
			for (r in reason)
				if ($0 ~ r) {
					printf "kmemleak\t%d\t%s\n", NR, \
						reason[r] > "/dev/stderr"
					next
				}
			print
		}'
}

# show_splats RESULTS: the log around each splat, and what kmemleak said, on
# stderr; fails if any.
show_splats()
{
	local results=$1 test line text found=0
	if [[ -n $(leaks "$results" 2>/dev/null) ]]; then
		found=1
		{
			echo "--- kmemleak:"
			head -n 300 "$results/kmemleak"
			echo "---"
		} >&2
	fi
	while IFS=$'\t' read -r test line text; do
		found=1
		{
			echo "--- kernel log (${test/#-/outside of tests}), line $line: $text"
			sed -n "$((line > 4 ? line - 4 : 1)),$((line + 70))p" \
				"$results/console.log"
			echo "---"
		} >&2
	done < <(splats "$results" 2>/dev/null)
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
		if grep -qxFs "$name" "$results/not-begun"; then
			printf 'skip\t%s\tno time left to begin it\n' "$name"
			continue
		fi
		if [[ ! -f $file.out ]]; then
			printf 'fail\t%s\tnot run\n' "$name"
			continue
		fi
		awk -v test="$name" -v rc="$rc" -v limit="$limit" \
			-f "$VM_DIR/tap.awk" "$file.out"
		[[ ! -s $file.after ]] ||
			sed "s|^|fail\t$name\tleft behind: |" "$file.after"
	done < "$results/tests"
	: > "$results/known"
	splats "$results" 2>>"$results/known" | awk -F '\t' \
		'{ printf "fail\t%s\tkernel: %s\n", $1 == "-" ? "kernel" : $1, $3 }'
	leaks "$results" 2>>"$results/known" | sed 's/^/fail\tkmemleak\t/'
}

# matrix_table ROWS FAILURES: the table, what failed, as a log's last lines are what is
# read of it first, and the sums. Fails if a cell failed.
matrix_table()
{
	awk -F '\t' '
	BEGIN {
		format = "%-10s %-24s %-6s %7s %7s %7s %6s %7s\n"
		printf "\n" format, "suite", "kernel", "device", "passed",
			"failed", "skipped", "flaky", "seconds"
	}
	FILENAME == ARGV[2] {
		printf "%s%s\n", FNR == 1 ? "\n" : "", $0
		next
	}
	{
		printf format, $1, $2, $3, $4, $5, $6, $7, $8
		passed += $4
		failed += $5
		skipped += $6
		bad += $5 > 0 || ($4 == 0 && $2 != "-")
	}
	END {
		printf "\n%d passed, %d failed, %d skipped\n", passed, failed,
			skipped
		exit !passed || bad > 0
	}' "$1" "$2"
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
	[[ ! -f $results/left-out ]] ||
		awk -F '\t' '{ print "left out: " $1 ": " $2 }' "$results/left-out"
	awk -F '\t' '{ n[$3]++ }
		END { for (r in n) print "known kernel report, " n[r] " times: " r }' \
		"$results/known"
	awk -F '\t' '$1 == "skip" { print "skipped: " $2 ": " $3 }' "$verdicts"
	awk -F '\t' '$1 == "fail" { print "FAILED: " $2 ": " $3 }' "$verdicts"

	passed=$(grep -c '^pass' "$verdicts")
	failed=$(grep -c '^fail' "$verdicts")
	skipped=$(grep -c '^skip' "$verdicts")
	printf '%s\t%s\t%s\t%d\t%d\t%d\t0\t%d\n' "$SUITE" "$KVER" "$DEVICE" \
		"$passed" "$failed" "$skipped" "$SECONDS" > "$results/row"
	if [[ $IN_MATRIX ]]; then	# which makes one table of all
		echo "$passed passed, $failed failed, $skipped skipped"
	else
		matrix_table "$results/row" /dev/null
	fi
	# Nothing run is not a success.
	((failed == 0 && passed > 0))
}
