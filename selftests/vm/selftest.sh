# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Tests that the rig sees failures: runs tests with every kind of failure in a real guest, and
# compares the verdicts. Needs no module.

# fake NAME SECONDS: adds a test; stdin is its script
fake()
{
	mkdir -p "$(dirname "$CELL/queue/fakes/$1")"
	{
		echo '#!/bin/bash'
		cat
	} > "$CELL/queue/fakes/$1"
	chmod +x "$CELL/queue/fakes/$1"
	echo "$1 $2" >> "$CELL/tests"
}

fakes()
{
	fake good 20 <<-'END'
		echo 1..2; echo ok 1 one; echo "ok 2 two # SKIP no such thing"
	END
	fake skipped 20 <<-'END'
		echo "1..0 # SKIP nothing here"; exit 4
	END
	fake skip_without_reason 20 <<-'END'
		echo 1..1; echo "ok 1 x # SKIP"
	END
	fake notok 20 <<-'END'
		echo 1..2; echo ok 1 one; echo not ok 2 two; exit 1
	END
	fake crash 20 <<-'END'
		echo 1..2; echo ok 1 one; kill -SEGV $$
	END
	fake silent 20 <<-'END'
		exit 0
	END
	fake bad_status 20 <<-'END'
		echo 1..1; echo ok 1 one; exit 3
	END
	fake bad_plan 20 <<-'END'
		echo 1..3; echo ok 1 one; echo "# ok 2 not a result"; echo ok 3 three
	END
	fake no_plan 20 <<-'END'
		echo ok 1 one
	END
	fake timeout 3 <<-'END'
		echo 1..1; sleep 60; echo ok 1 late
	END
	fake announced 20 <<-'END'
		printf '%s\n' "rig: splats expected" "WARNING: CPU: 0 at wanted.c:1" \
			"WARNING: at wanted+0x1, CPU#0" \
			"Call Trace:" "rig: splats over" |
			while read -r line; do echo "$line" > /dev/kmsg; done
		echo 1..1; echo ok 1 one
	END
	fake announced_worse 20 <<-'END'
		echo "rig: splats expected" > /dev/kmsg
		echo "BUG: not wanted" > /dev/kmsg
		echo 1..1; echo ok 1 one
	END
	fake announced_before 20 <<-'END'
		echo "rig: splats expected" > /dev/kmsg
		echo "rig: splats over" > /dev/kmsg
		echo "WARNING: after it was over" > /dev/kmsg
		echo 1..1; echo ok 1 one
		echo "rig: splats expected" > /dev/kmsg
	END
	fake splat 20 <<-'END'
		echo "WARNING: CPU: 0 PID: 1 at fake.c:1" > /dev/kmsg
		echo 1..1; echo ok 1 one
	END
	fake leftover 20 <<-'END'
		sleep 1000 & echo 1..1; echo ok 1 one
	END
	fake time_over 20 <<-'END'
		touch /queue/late
		echo 1..1; echo ok 1 one
	END
	fake too_late 20 <<-'END'
		echo 1..1; echo ok 1 one
	END
	# Tests in "debug" begin nevertheless.
	fake debug/time_again 20 <<-'END'
		echo 1..1; echo ok 1 one
	END
	fake debug/panic 20 <<-'END'
		echo 1..1; echo ok 1 one; echo c > /proc/sysrq-trigger; sleep 10
	END
}

# Prints the expected verdicts, as "verdict<TAB>test<TAB>text".
fake_verdicts()
{
	sed 's/|/\t/g' <<-'END'
		pass|good|one
		skip|good|two: no such thing
		skip|skipped|nothing here
		fail|skip_without_reason|x (skipped without a reason)
		pass|notok|one
		fail|notok|two
		pass|crash|one
		fail|crash|exit status 139 without a failed result
		fail|crash|plan was 1..2, but 1 results
		fail|silent|no TAP result
		pass|bad_status|one
		fail|bad_status|exit status 3 without a failed result
		pass|bad_plan|one
		pass|bad_plan|three
		fail|bad_plan|plan was 1..3, but 2 results
		pass|no_plan|one
		fail|no_plan|no TAP plan (1..N)
		fail|timeout|ran into its time limit of 3 s
		pass|announced|one
		pass|announced_worse|one
		pass|announced_before|one
		pass|splat|one
		pass|leftover|one
		fail|leftover|left behind: processes left: SLEEP
		pass|time_over|one
		skip|too_late|no time left to begin it
		pass|debug/time_again|one
		pass|debug/panic|one
		fail|debug/panic|did not end: the guest died or hung
		fail|announced_worse|kernel: BUG: not wanted
		fail|announced_before|kernel: WARNING: after it was over
		fail|splat|kernel: WARNING: CPU: 0 PID: 1 at fake.c:1
		fail|debug/panic|kernel: Kernel panic
	END
}

# selftest_job STATUS WHAT JOB: runs a job in its own guest, which must end with STATUS
selftest_job()
{
	local want=$1 rc=0
	results_dir
	guest_job "$3"
	guest_run "$RESULTS_TMP" >/dev/null || rc=$?
	show_splats "$RESULTS_TMP" 2>/dev/null || rc=$((rc ? rc : 1))
	rm -rf "$RESULTS_TMP"
	if ((rc == want)); then
		say "as it should be: $2"
	else
		say "WRONG: $2: status $rc, not $want"
		return 1
	fi
}

# A debug kernel must report every mistake that it is for. The order matters: lockdep is off after
# its first report, and after one of KASAN.
mistakes()
{
	cat <<-'END'
		sleep_in_atomic|BUG: sleeping function called from invalid context
		free_timer|ODEBUG: free active
		shift|UBSAN: shift-out-of-bounds
		lock_order|WARNING: possible circular locking dependency
	END
	[[ $KERNEL != kcsan ]] || echo "race|BUG: KCSAN: data-race in "
	[[ $KERNEL == kcsan ]] || cat <<-'END'
		use_after_free|BUG: KASAN: slab-use-after-free
		out_of_bounds|BUG: KASAN: slab-out-of-bounds
	END
}

# The job makes each mistake; the last one is a leak, for kmemleak.
mistakes_job()
{
	echo 'echo clear > /sys/kernel/debug/kmemleak'
	mistakes | cut -d'|' -f1 | while read -r name; do
		echo "echo 'rig: begin test $name' > /dev/kmsg"
		echo "insmod \"\$(modinfo -n provoke)\" what=$name"
		echo "echo 'rig: end test $name' > /dev/kmsg"
	done
	cat <<-'END'
		insmod "$(modinfo -n provoke)" what=leak
		sleep 6
		for i in 1 2; do echo scan > /sys/kernel/debug/kmemleak; done
		cat /sys/kernel/debug/kmemleak > /results/kmemleak
		true
	END
}

selftest_mistakes()
{
	local name text failed=0
	results_dir
	guest_job "$(mistakes_job)"
	guest_run "$RESULTS_TMP" >/dev/null || failed=1
	while IFS='|' read -r name text; do
		if splats "$RESULTS_TMP" 2>/dev/null |
				grep -q "^$name	.*$text"; then
			say "as it should be: $name is reported"
		else
			say "WRONG: no report of $name"
			failed=1
		fi
	done < <(mistakes)
	if [[ $KERNEL == kcsan ]]; then
		:	# without kmemleak
	elif leaks "$RESULTS_TMP" | grep -q provoke; then
		say "as it should be: the leak is reported"
	else
		say "WRONG: no report of a leak"
		failed=1
	fi
	keep_results
	return "$failed"
}

# selftest_row: true if the table has one row, for this cell, with the counts of its last line
selftest_row()
{
	local table=$CELL/table
	matrix_table "$CELL/row" /dev/null > "$table"
	diff <(tail -n 1 "$table" | awk '{ print $1, $3, $5 }') \
		<(awk -v suite="$SUITE" -v kernel="$KVER" -v device="$DEVICE" '
			table && NF == 11 && $1 == suite && $2 == kernel &&
			$3 == device { print $5, $6, $7 }
			$1 == "suite" { table = 1 }' "$table") >&2
}

# selftest_late VERDICT WHAT: true if the cell's report has this verdict
selftest_late()
{
	report "$CELL" >/dev/null
	if grep -qxF "$1" "$CELL/verdicts"; then
		say "as it should be: $2"
	else
		say "WRONG: not so: $2"
		return 1
	fi
}

cmd_selftest()
{
	local failed=0
	STOCK=1 PARTS="scripts${KERNEL:+ provoke}"
	prepare
	[[ -z $KERNEL ]] || selftest_mistakes || failed=1

	CELL=$(mktemp -d "$SUITE_DIR/results-XXXXXX") && cell_settings "$CELL" || exit 1
	fakes
	cp "$CELL/tests" "$CELL/queue/tests"
	echo "TESTS_DIR=/queue/fakes" >> "$CELL/env"
	(cell_guest "$CELL" 1 >&2)
	report "$CELL" > "$CELL/report" &&
		{ say "WRONG: the report is a success"; failed=1; }
	# Leave out the guest's death, times and PIDs.
	if ! diff <(fake_verdicts) \
		<(sed -E -e '/\tguest\t/d' -e 's/\[ *[0-9.]+\] //' \
			-e 's/left: .*/left: SLEEP/' -e 's/(Kernel panic).*/\1/' \
			-e '/panic\tkernel/s/kernel: .*/kernel: Kernel panic/' \
			"$CELL/verdicts") >&2; then
		say "WRONG: verdicts (<: what they should be)"
		failed=1
	else
		say "as it should be: verdicts"
	fi
	if selftest_row; then
		say "as it should be: the table has a row with these counts"
	else
		say "WRONG: the table and the last line (<)"
		failed=1
	fi
	# The guest died before it began a test: a failure, until another guest runs the test.
	rm "$CELL/queue/late"
	selftest_late "fail	too_late	not run" "what has not begun fails" || failed=1
	(cell_guest "$CELL" 2 >&2)
	selftest_late "pass	too_late	one" "another guest goes on" || failed=1
	RESULTS_TMP=$CELL
	keep_results

	selftest_job 0 "a job that succeeds" 'true' || failed=1
	selftest_job 7 "a job with exit status 7" 'exit 7' || failed=1
	selftest_job 1 "a splat in the kernel log" \
		'echo "BUG: fake" > /dev/kmsg' || failed=1
	GUEST_TIMEOUT=30 \
	selftest_job 125 "a guest that never powers off" \
		'sleep 1000' || failed=1
	QUEUE=$(mktemp -d "$SUITE_DIR/results-XXXXXX")
	echo x 5 > "$QUEUE/tests"
	HANG_SECONDS=5 \
	selftest_job 125 "a guest whose test does not end" \
		'echo "rig: begin test x" > /dev/kmsg
		sleep 1000' || failed=1
	rm -r "$QUEUE"
	QUEUE=''
	BOOT_SECONDS=1 \
	selftest_job 125 "a guest that does not boot" 'true' || failed=1
	((failed)) || say "the rig sees what it should see"
	return "$failed"
}
