# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# A cell: the tests of one suite, kernel and device, run by one guest or several guests at a
# time. Its parts share only its directory:
#
#	env		the settings, for the guests as well
#	host		the files that were built for it
#	tests		"NAME SECONDS" lines, the longest first
#	queue/		mounted in every guest. The guest that makes queue/NAME (each / a
#			_) runs that test, and writes there: name, out, rc, after
#	queue/late	no test begins once it exists
#	begin		the messages of "rig cell-begin"
#	guests/N/	the results directory of a guest (boot.sh), and "times"
#	verdicts, report, row
#
# "rig cell-begin DIR", "rig cell-guest DIR N" and "rig cell-end DIR" are separate processes, which
# schedule.sh starts. "rig cell-checkout DIR" is all of a cell without a guest.

# settings of a cell that its later parts read from its directory
CELL_ENV=(DEVICE GUEST_APPEND GUEST_CPUS KERNEL KVER PAIRS STOCK SUITE TEST_SCALE)
CELL_HOST=(EXTRAS GUEST_MEM GUEST_TIMEOUT INITRAMFS KERNEL_ROOT STAGE TREE VMLINUZ)

# cell_name SUITE DEVICE KERNEL[:OPTION] [CPUS]: a cell whose guests do not have two CPUs has the
# number in its name
cell_name()
{
	local kernel=${3#-} cpus=${4:-2}
	((cpus != 2)) || cpus=
	echo "$1/$2${kernel:+/${kernel/:/\/}}${cpus:+/$cpus}"
}

# cell_tests PATTERN: prints the tests of the stage's list whose names match, with their folders if
# the pattern has a folder
cell_tests()
{
	local name limit list=$STAGE$GUEST_TESTS/kselftest-list.txt
	[[ -f $list ]] || die "no list of tests in the stage ($list)"
	while read -r name limit; do
		# shellcheck disable=SC2053
		[[ $name == $1 || ($1 != */* && ${name##*/} == $1) ]] &&
			echo "$name $((limit * TEST_SCALE))"
	done < "$list" | sort -s -k 2,2nr
}

# cell_kernel_tests DIR: applies $KERNEL.tests to the chosen tests. A test that is not for this
# kernel runs only if TESTS is its name.
cell_kernel_tests()
{
	local name limit pattern seconds why
	{
		echo "debug/instruments.sh 600"
		while read -r name limit; do
			while read -r pattern seconds why; do
				# shellcheck disable=SC2053
				[[ $name == $pattern ]] || continue
				if [[ $seconds != - ]]; then
					limit=$seconds
				elif [[ ${name##*/} != "${TESTS##*/}" ]]; then
					printf '%s\t%s\n' "$name" "$why" >> "$1/left-out"
					continue 2
				fi
			done < "$VM_DIR/$KERNEL.tests"
			echo "$name $limit"
		done < "$1/tests"
		echo "debug/leaks.sh 1800"
	} > "$1/tests.new" && mv "$1/tests.new" "$1/tests"
}

# cell_settings DIR: writes "env" and "host"
cell_settings()
{
	mkdir -p "$1/queue" "$1/guests" &&
	chmod 755 "$1" &&
	assignments "${CELL_ENV[@]}" > "$1/env" &&
	echo "TESTS_DIR=$GUEST_TESTS" >> "$1/env" &&
	assignments "${CELL_HOST[@]}" > "$1/host"
}

# cell_skip DIR WHY: the cell does not run; the table counts a skip
cell_skip()
{
	local cell
	read -ra cell < "$1/cell"
	echo "skipped: $2" > "$1/report"
	printf '%s\t-\t%s\t0\t0\t0\t1\t0\t0\t0\t0\n' "${cell[0]}" "${cell[1]}" > "$1/row"
}

# Builds, and chooses the tests. A cell that already has a row has nothing to run.
cell_begin()
{
	local missing="there is no $KERNEL kernel on this machine: make check-debug builds it"
	# The full name of a kernel needs the tree.
	if [[ $KERNEL && $KERNEL_BUILD == no ]] &&
			! compgen -G "$SUITE_DIR/kernel-$KERNEL-*" >/dev/null; then
		cell_skip "$1" "$missing"
		return
	fi
	rootfs
	kernel_paths
	if [[ $KERNEL_BUILD == no && ! -d $KERNEL_ROOT ]]; then
		cell_skip "$1" "$missing"
		return
	fi
	prepare
	cell_settings "$1" || exit 1
	cell_tests "$TESTS" > "$1/tests"
	[[ -s $1/tests ]] || die "no test matches '$TESTS'"
	[[ -z $KERNEL ]] || cell_kernel_tests "$1" || exit 1
	cp "$1/tests" "$1/queue/tests"
}

# The messages are also in the file "begin".
cmd_cell_begin()
{
	cell_begin "$1" 2>&1 | tee "$1/begin" >&2
}

# cell_load DIR: reads the settings of cell_settings()
cell_load()
{
	# shellcheck disable=SC1091
	. "$1/env" && . "$1/host"
}

# cell_guest DIR N: boots a guest that runs tests of the queue until none is left
cell_guest()
{
	local results=$1/guests/$2
	mkdir -p "$results" &&
	{ cat "$1/env"; echo "GUEST=$2"; } > "$results/env" || exit 1
	RESULTS_TMP=$results QUEUE=$1/queue
	guest_job 'exec bash /rig/guest/run-tests'
	boot_banner
	guest_run "$results"
}

cmd_cell_guest()
{
	local name
	# report() counts a directory without a status as a lost guest.
	mkdir -p "$1/guests/$2" && cell_load "$1" || exit 1
	name=$(cell_name "$SUITE" "$DEVICE" "$KERNEL${GUEST_APPEND:+:$GUEST_APPEND}" "$GUEST_CPUS")
	accel
	# Not a pipe: this process must be the parent of QEMU, which ends with its parent.
	cell_guest "$1" "$2" > >(exec sed -u "s|^|$name.$2 |" >&2) 2>&1
}

# cell_doubtful DIR: prints the tests that failed, if they are at most two, no kernel log has a
# report, nothing was left behind, and all guests ended: such a test may depend on chance or on the
# machine's load. A test that races for an object of another process is never doubtful, as one
# failure in three runs is a failure.
cell_doubtful()
{
	awk -F '\t' '
		$1 != "fail" { next }
		$2 ~ /^(cell|guest|kernel|kmemleak)$/ || $3 ~ /^(kernel|left behind):/ ||
		$3 == "not run" || $2 ~ /^abi_(attack|changed|gone|half|handles|keys|mcast_race|mock_removal|passed|ring|states|two_devices|unpriv|xrc_use)$/ { bad = 1 }
		!seen[$2]++ { names = names $2 "\n"; n++ }
		END { if (n && n <= 2 && !bad) printf "%s", names }' "$1/verdicts"
}

# cell_again DIR NAMES: runs the doubtful tests in a fresh guest, at most twice. Fails if they fail
# both times, or once with a failure that is not doubtful, or if their limits exceed the time left.
cell_again()
{
	local turn dir seconds
	for turn in 1 2; do
		dir=$1/again-$turn
		cell_settings "$dir" || return 1
		awk 'NR == FNR { doubtful[$1]; next } $1 in doubtful' - "$1/tests" \
			<<< "$2" > "$dir/tests"
		cp "$dir/tests" "$dir/queue/tests"
		seconds=$(awk '{ n += $2 } END { print n }' "$dir/tests")
		[[ -z $DEADLINE ]] || ((EPOCHSECONDS + seconds <= DEADLINE + LATE_SECONDS)) || {
			echo "no time left for a repetition"
			return 1
		}
		echo "again, in a fresh guest ($turn):"
		DEADLINE='' cell_guest "$dir" 1 >&2
		report "$dir" && return
		# A report of the kernel or a lost guest does not depend on chance.
		[[ $(cell_doubtful "$dir") ]] || return 1
	done
	return 1
}

# Checks of the checkout itself: its history, the rig, installations. They run on this machine, in
# place of a guest. The other checks of selftests/tree are tests of the cells.
CHECKOUT_TESTS=(words.sh rig.sh matrix.sh install.sh clients.sh)

cmd_cell_checkout()
{
	local name dir out rc guest=$1/guests/host TIMEFORMAT='%R %U %S'
	SUITE=checkout DEVICE=host KVER=-
	mkdir -p "$guest" && : > "$guest/console.log" && echo 0 > "$guest/status" || exit 1
	for name in "${CHECKOUT_TESTS[@]}"; do
		dir=$1/queue/$name
		mkdir -p "$dir" && echo "$name" > "$dir/name" || exit 1
		echo "$name 600" >> "$1/tests"
		rc=0
		{ time timeout 600 bash "$TOP/selftests/tree/$name" > "$dir/out" 2>&1 </dev/null; } \
			2> "$dir/time" || rc=$?
		echo "$rc" > "$dir/rc"
		awk -v name="$name" -v OFS='\t' '{ print name, $1, $2 + $3 }' "$dir/time" >> "$guest/times"
	done
	awk -F '\t' '{ s += $2; cpu += $3 } END { print int(s), int(cpu) }' "$guest/times" > "$guest/used"
	report "$1" > "$1/report"
}

# Writes the cell's report, after another run of its doubtful tests.
cmd_cell_end()
{
	local text doubtful again rc=0
	cell_load "$1" || exit 1
	text=$(report "$1") || rc=$?
	doubtful=$(cell_doubtful "$1")
	if [[ $doubtful ]]; then
		accel
		if again=$(cell_again "$1" "$doubtful"); then
			rc=0
			text=$(printf '%s\n' "$text" |
				sed 's/^FAILED: /flaky: failed, then passed: /')
			report_row "$1" flaky
		else
			text+=$'\n'$again
		fi
	fi
	printf '%s' "${text:+$text$'\n'}" > "$1/report"
	return "$rc"
}
