# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# A cell: the tests of one suite, kernel and device, run by one guest or by several at a
# time. Its directory is all that its parts share:
#
#	env		the settings, for the guests as well
#	host		the files that were built for it
#	tests		"NAME SECONDS" a line, the longest first
#	queue/		mounted in every guest. The guest that makes queue/NAME (each / a
#			_) runs that test, and leaves there: name, out, rc, after
#	queue/late	no test begins once it exists
#	guests/N/	the results directory of a guest (boot.sh), and "times"
#	verdicts, report, row
#
# "rig cell-begin DIR", "rig cell-guest DIR N" and "rig cell-end DIR" are processes of
# their own, which schedule.sh starts.

# settings of a cell that its later parts take from its directory
CELL_ENV=(DEVICE GUEST_APPEND GUEST_CPUS KERNEL KVER PAIRS STOCK SUITE TEST_SCALE)
CELL_HOST=(EXTRAS GUEST_MEM INITRAMFS KERNEL_ROOT STAGE TREE VMLINUZ)

# cell_name SUITE DEVICE KERNEL[:OPTION] [CPUS]: guests with another number of CPUs than two
# make another cell
cell_name()
{
	local kernel=${3#-} cpus=${4:-2}
	((cpus != 2)) || cpus=
	echo "$1/$2${kernel:+/${kernel/:/\/}}${cpus:+/$cpus}"
}

# cell_tests PATTERN: the tests whose names match, with their folders if the pattern has
# any, from the stage's list
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

# cell_kernel_tests DIR: apply $KERNEL.tests to the chosen tests. A test that is not for
# this kernel runs if its name is asked for.
cell_kernel_tests()
{
	awk -v all="$([[ $TESTS != '*' ]] || echo 1)" -v out="$1/left-out" '
		NR == FNR && /^[^#]/ {
			name = $1; limit[name] = $2
			sub(/^[^ \t]+[ \t]+[^ \t]+[ \t]*/, "")
			why[name] = $0
		}
		NR == FNR { next }
		limit[$1] == "-" && all { print $1 "\t" why[$1] > out; next }
		limit[$1] > 0 { $2 = limit[$1] }
		{ print }' "$VM_DIR/$KERNEL.tests" "$1/tests" > "$1/tests.new" &&
	{
		echo "debug/instruments.sh 600"
		cat "$1/tests.new"
		echo "debug/leaks.sh 1800"
	} > "$1/tests" && rm "$1/tests.new"
}

# cell_settings DIR: "env" and "host"
cell_settings()
{
	mkdir -p "$1/queue" "$1/guests" &&
	chmod 755 "$1" &&
	assignments "${CELL_ENV[@]}" > "$1/env" &&
	echo "TESTS_DIR=$GUEST_TESTS" >> "$1/env" &&
	assignments "${CELL_HOST[@]}" > "$1/host"
}

# cell_skip DIR WHY: a cell that does not run is a skip in the table
cell_skip()
{
	local cell
	read -ra cell < "$1/cell"
	echo "skipped: $2" > "$1/report"
	printf '%s\t-\t%s\t0\t0\t0\t1\t0\t0\t0\t0\n' "${cell[0]}" "${cell[1]}" > "$1/row"
}

# Build, and choose the tests. A cell that has a row already has nothing to run.
cmd_cell_begin()
{
	rootfs
	kernel_paths
	if [[ $KERNEL_BUILD == no && ! -d $KERNEL_ROOT ]]; then
		cell_skip "$1" "there is no $KERNEL kernel on this machine: make check-debug builds it"
		return
	fi
	prepare
	cell_settings "$1" || exit 1
	cell_tests "$TESTS" > "$1/tests"
	[[ -s $1/tests ]] || die "no test matches '$TESTS'"
	[[ -z $KERNEL ]] || cell_kernel_tests "$1" || exit 1
	cp "$1/tests" "$1/queue/tests"
}

# cell_load DIR: the settings of cell_begin
cell_load()
{
	# shellcheck disable=SC1091
	. "$1/env" && . "$1/host"
}

# cell_guest DIR N: boot a guest that runs tests of the queue until there is none
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
	local rc=0 name
	cell_load "$1" || exit 1
	name=$(cell_name "$SUITE" "$DEVICE" "$KERNEL${GUEST_APPEND:+:$GUEST_APPEND}" "$GUEST_CPUS")
	accel
	# (Not a pipe: this process is QEMU's parent, which does not outlive it.)
	cell_guest "$1" "$2" > >(exec sed -u "s|^|$name.$2 |" >&2) 2>&1 || rc=$?
	echo "$rc" > "$1/guests/$2/rc"
}

# cell_doubtful DIR: the tests that failed, if these are few and the kernel had nothing to
# say, nothing was left behind, and the guests came to their ends: a test that depends on
# luck or on the machine's load looks so. Tests that race for a foreign object are never
# doubtful: one success in three is a failure there.
cell_doubtful()
{
	awk -F '\t' '
		$1 != "fail" { next }
		$2 ~ /^(guest|kernel|kmemleak)$/ || $3 ~ /^(kernel|left behind):/ ||
		$3 == "not run" || $2 ~ /^abi_(attack|changed|gone|half|handles|keys|mcast_race|mock_removal|passed|ring|states|two_devices|unpriv|xrc_use)$/ { bad = 1 }
		!seen[$2]++ { names = names $2 "\n"; n++ }
		END { if (n && n <= 2 && !bad) printf "%s", names }' "$1/verdicts"
}

# cell_again DIR NAMES: the doubtful tests in a fresh guest, or in two. Fails if they pass
# in neither.
cell_again()
{
	local turn dir
	for turn in 1 2; do
		dir=$1/again-$turn
		cell_settings "$dir" || return 1
		awk 'NR == FNR { doubtful[$1]; next } $1 in doubtful' - "$1/tests" \
			<<< "$2" > "$dir/tests"
		cp "$dir/tests" "$dir/queue/tests"
		echo "again, in a fresh guest ($turn):"
		DEADLINE='' cell_guest "$dir" 1 >&2
		report "$dir" && return
	done
	return 1
}

# The cell's report; its tests that are doubtful run once more.
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
