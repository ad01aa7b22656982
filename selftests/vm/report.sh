# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Judges a run from the files in its cell's directory (cell.sh): every TAP line of every test,
# leftovers of tests, the kernel's log of each guest.

TOO_LATE='no time left to begin it'

# splats RESULTS: prints "test<TAB>line number<TAB>line" for each; known ones go to stderr, with the
# reason in place of the line
splats()
{
	awk -v patterns="$VM_DIR/splat-patterns" \
		-v known="$VM_DIR/known-reports" -f "$VM_DIR/splats.awk" \
		"$1/console.log"
}

# leaks RESULTS: prints one line for each object that kmemleak found, with its allocating functions;
# known ones go to stderr, as in splats()
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

# show_splats RESULTS: prints the log around each splat, and kmemleak's report, to stderr. Fails if
# there are any.
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

# test_verdicts DIR NAME LIMIT: prints those of one run of a test, from its directory in the queue
test_verdicts()
{
	local rc=
	[[ ! -f $1/rc ]] || read -r rc _ < "$1/rc"
	# The output is missing if the guest died at once.
	touch "$1/out"
	awk -v test="$2" -v rc="$rc" -v limit="$3" -f "$VM_DIR/tap.awk" "$1/out"
	[[ ! -s $1/after ]] || sed "s|^|fail\t$2\tleft behind: |" "$1/after"
}

# verdicts DIR: prints "verdict<TAB>test<TAB>text" for each result of the whole cell
verdicts()
{
	local name limit dir guest run
	while read -r name limit; do
		dir=$1/queue/${name//\//_} run=
		# Tests that judge a guest have run once in each.
		for dir in "$dir" "$dir".[0-9]*; do
			[[ -f $dir/name ]] || continue
			run=1
			test_verdicts "$dir" "$name" "$limit"
		done
		[[ $run ]] || if [[ -e $1/queue/late ]]; then
			printf 'skip\t%s\t%s\n' "$name" "$TOO_LATE"
		else
			printf 'fail\t%s\tnot run\n' "$name"
		fi
	done < "$1/tests"
	: > "$1/known"
	for guest in "$1"/guests/*/; do
		splats "$guest" 2>>"$1/known" | awk -F '\t' \
			'{ printf "fail\t%s\tkernel: %s\n", $1 == "-" ? "kernel" : $1, $3 }'
		leaks "$guest" 2>>"$1/known" | sed 's/^/fail\tkmemleak\t/'
		[[ $(cat "$guest/status" 2>/dev/null) == 0 ]] ||
			printf 'fail\tguest\tguest %s ended with status %s\n' \
				"$(basename "$guest")" "$(cat "$guest/status" 2>/dev/null || echo none)"
	done
}

# matrix_table ROWS FAILURES: prints the table, the failures, and the sums. The failures are at the
# end, as readers begin there. Fails if a cell failed, or no cell with guests passed.
matrix_table()
{
	awk -F '\t' '
	BEGIN {
		format = "%-10s %-24s %-6s %6s %7s %7s %7s %6s %7s %8s %7s\n"
		printf "\n" format, "suite", "kernel", "device", "tests", "passed",
			"failed", "skipped", "flaky", "guests", "seconds", "cpu"
	}
	FILENAME == ARGV[2] {
		printf "%s%s\n", FNR == 1 ? "\n" : "", $0
		next
	}
	{
		printf format, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11
		passed += $5
		failed += $6
		skipped += $7
		flaky += $8
		bad += $6 > 0 || ($5 == 0 && $2 != "-")
		guests += $3 != "host"
		ran += $3 != "host" && $5 > 0
	}
	END {
		if (guests && !ran && !failed) {
			print "\nFAILED: no test passed in a guest"
			failed++
			bad++
		}
		if (flaky)
			printf "\n%d flaky: failed, then passed in a fresh guest\n", flaky
		printf "\n%d passed, %d failed, %d skipped\n", passed, failed,
			skipped
		exit !passed || bad > 0
	}' "$1" "$2"
}

# report_row DIR [flaky]: writes the cell's line of the table: suite, kernel ("-" if the cell was
# skipped), device, tests, passed, failed, skipped, flaky, guests, their seconds and CPU seconds. With
# "flaky", the failures of DIR count as passed.
report_row()
{
	local n
	n=$(find "$1/guests" -mindepth 1 -maxdepth 1 -type d ! -name host | wc -l)
	cat "$1"/guests/*/used 2>/dev/null | awk -v OFS='\t' -v flaky="${2:-}" \
		-v suite="$SUITE" -v kernel="$KVER" -v device="$DEVICE" -v guests="$n" \
		-v verdicts="$1/verdicts" '
		{ seconds += $1; cpu += $2 }
		END {
			while ((getline line < verdicts) > 0) {
				split(line, field, "\t")
				count[field[1]]++
				if (!(field[2] in seen))
					tests++
				seen[field[2]] = 1
			}
			if (flaky) {
				flakes = count["fail"]
				count["pass"] += flakes
				count["fail"] = 0
			}
			print suite, count["pass"] + count["fail"] ? kernel : "-", device, tests,
				count["pass"] + 0, count["fail"] + 0, count["skip"] + 0, flakes + 0,
				guests, int(seconds), int(cpu)
		}' > "$1/row"
}

# report_times DIRS...: prints the tests that took longest, with the CPU time of their guests
# meanwhile, and writes all tests to the run's file "times"
report_times()
{
	local dir
	for dir; do
		cat "$dir"/guests/*/times 2>/dev/null |
			sed "s|^|$(basename "$dir")\t|"
	done | sort -t $'\t' -k 3,3nr > "$RUN/times"
	printf '\nThe slowest of %d: seconds, CPU seconds of the guest, cell, test\n' \
		"$(wc -l < "$RUN/times")"
	head -n 30 "$RUN/times" |
		awk -F '\t' '{ printf "%8.1f %8.1f  %-20s %s\n", $3, $4, $1, $2 }'
}

# report DIR: writes DIR/verdicts and DIR/row, and prints the report of the cell. Fails if a test
# failed or none ran.
report()
{
	local verdicts=$1/verdicts name dir guest
	verdicts "$1" > "$verdicts"
	# A cell whose tests had no time is skipped; another one without any pass fails.
	grep -qE '^(pass|fail)' "$verdicts" || grep -q "$TOO_LATE\$" "$verdicts" ||
		printf 'fail\tcell\tno test passed\n' >> "$verdicts"
	while read -r name; do
		for dir in "$1/queue/${name//\//_}" "$1/queue/${name//\//_}".[0-9]*; do
			[[ -f $dir/out ]] || continue
			echo "--- output of $name:"
			cat "$dir/out"
			echo "---"
		done
	done < <(awk -F '\t' '$1 == "fail" && !n[$2]++ { print $2 }' "$verdicts")
	for guest in "$1"/guests/*/; do
		show_splats "$guest" 2>&1
	done
	[[ ! -f $1/left-out ]] ||
		awk -F '\t' '{ print "left out: " $1 ": " $2 }' "$1/left-out"
	awk -F '\t' '{ n[$3]++ }
		END { for (r in n) print "known kernel report, " n[r] " times: " r }' \
		"$1/known"
	awk -F '\t' '$1 == "skip" { print "skipped: " $2 ": " $3 }' "$verdicts"
	awk -F '\t' '$1 == "fail" { print "FAILED: " $2 ": " $3 }' "$verdicts"
	for guest in "$1"/guests/*/; do
		[[ ! -e $guest/booted-twice ]] ||
			echo "flaky: guest $(basename "$guest") did not come to its job, and was booted again"
	done
	report_row "$1"
	grep -q '^pass' "$verdicts" && ! grep -q '^fail' "$verdicts"
}
