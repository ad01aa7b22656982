# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# "rig check" and "rig matrix": run cells (cell.sh), one or all of a list, and print a table of
# their results. Two cells are built at a time. Guests wait more than they compute, so the number of
# guests exceeds the number of CPUs. A free place goes to the first cell of the list that has had no
# guest yet. Once all have had one, it goes to the cell with most time left per guest: large cells
# get more than one.

MATRIX=${MATRIX:-$VM_DIR/cells}
CELLS=${CELLS:-*}		# the cells of the list whose names match
MATRIX_SECONDS=${MATRIX_SECONDS:-}	# begin no test after so many; empty: no limit
JOBS=${JOBS:-$((($(nproc) * 3 + 1) / 2))}		# guests at a time
BUILDS=2
# One more guest for a cell costs a boot, and is worth it for as many seconds of time limits. A
# debug kernel has longer limits, and its boots take longer still, with a scan for leaks.
WORTH_A_GUEST=2000
WORTH_A_DEBUG_GUEST=8000
GUESTS_LOST=3			# guests that fail, after which a cell ends

# Prints "SUITE DEVICE KERNEL[:OPTION] CPUS PATTERN PAIRS" lines.
matrix_cells()
{
	local suite device kernel cpus pattern pairs
	while read -r suite device kernel cpus pattern pairs; do
		[[ $suite && $suite != \#* ]] || continue
		# shellcheck disable=SC2053
		[[ $(cell_name "$suite" "$device" "$kernel") != $CELLS ]] ||
			echo "$suite $device $kernel $cpus ${TESTS:-${pattern:-*}} $pairs"
	done < "$MATRIX"
}

# ---- one cell of the run; DIR is its directory

# cell_left DIR: prints the sum of the time limits of the tests that no guest has begun
cell_left()
{
	local name limit left=0
	while read -r name limit; do
		[[ $name == debug/* || -d $1/queue/${name//\//_} ]] ||
			((left += limit))
	done < "$1/tests"
	echo "$left"
}

# cell_over DIR: true if no more guest is to begin
cell_over()
{
	[[ -e $1/queue/late ]] || ((${LOST[$1]:-0} >= GUESTS_LOST)) ||
		(($(cell_left "$1") == 0))
}

# ---- the run. JOB_DIR and JOB_KIND have the process as their key. GUESTS (the number that run),
# NEXT (the number of the last one), LOST (the number that have failed) and STATE (new, building,
# built, ending, ended) have the directory.
declare -A JOB_DIR=() JOB_KIND=() GUESTS=() NEXT=() LOST=() STATE=()
ORDER=()
TIMER=''			# a process that ends when no build is to last longer

# job KIND DIR COMMAND...: starts the command in a process group, which ends with this process
job()
{
	local kind=$1 dir=$2
	shift 2
	# shellcheck disable=SC2094
	setsid setpriv --pdeathsig TERM "$@" </dev/null &
	JOB_DIR[$!]=$dir
	JOB_KIND[$!]=$kind
}

jobs_of()
{
	local kind n=0
	for kind in "${JOB_KIND[@]}"; do
		[[ $kind != "$1" ]] || ((++n))
	done
	echo "$n"
}

# Begin cells, in the order of the list.
schedule_begin()
{
	local dir suite device kernel cpus pattern pairs option
	for dir in "${ORDER[@]}"; do
		(($(jobs_of begin) < BUILDS)) || return
		[[ ${STATE[$dir]} == new ]] || continue
		STATE[$dir]=building
		read -r suite device kernel cpus pattern pairs < "$dir/cell"
		option=$GUEST_APPEND
		[[ $kernel != *:* ]] || option+=${option:+ }${kernel#*:} kernel=${kernel%%:*}
		SUITE=$suite DEVICE=$device KERNEL=${kernel#-} GUEST_CPUS=$cpus TESTS=$pattern \
			PAIRS=${pairs:-$PAIRS} GUEST_APPEND=$option job begin "$dir" \
			"$VM_DIR/rig" cell-begin "$dir"
	done
}

# schedule_place: prints the directory of the cell that gets the next guest, if any
schedule_place()
{
	local dir best='' most=0 left n worth
	for dir in "${ORDER[@]}"; do
		[[ ${STATE[$dir]} == built && ! ${NEXT[$dir]:-} ]] || continue
		cell_over "$dir" || { echo "$dir"; return; }
	done
	[[ " ${STATE[*]} " != *" "@(new|building)" "* ]] || return
	for dir in "${ORDER[@]}"; do
		[[ ${STATE[$dir]} == built ]] || continue
		! cell_over "$dir" || continue
		left=$(cell_left "$dir") n=${GUESTS[$dir]:-0}
		((left /= n + 1))
		worth=$WORTH_A_GUEST
		[[ ${dir##*/} != *-debug* ]] || worth=$WORTH_A_DEBUG_GUEST
		((n == 0 || left >= worth)) || continue
		((left < most)) || best=$dir most=$left
	done
	[[ ! $best ]] || echo "$best"
}

schedule_guests()
{
	local dir
	while (($(jobs_of guest) + $(jobs_of end) < JOBS)); do
		dir=$(schedule_place)
		[[ $dir ]] || return
		GUESTS[$dir]=$((${GUESTS[$dir]:-0} + 1))
		NEXT[$dir]=$((${NEXT[$dir]:-0} + 1))
		job guest "$dir" "$VM_DIR/rig" cell-guest "$dir" "${NEXT[$dir]}"
	done
}

schedule_ends()
{
	local dir
	for dir in "${ORDER[@]}"; do
		[[ ${STATE[$dir]} == built && ${GUESTS[$dir]:-0} == 0 ]] || continue
		cell_over "$dir" || continue
		STATE[$dir]=ending
		job end "$dir" "$VM_DIR/rig" cell-end "$dir"
	done
}

# schedule_failed DIR WHY: the cell has no results; the table counts a failure
schedule_failed()
{
	local cell
	read -ra cell < "$1/cell"
	{
		echo "FAILED: $2"
		# The last errors of the rig, apt-get and compilers
		grep -E '^(rig|E): |^ [^ ]+ : |error: ' "$1/begin" 2>/dev/null | tail -n 6 |
			sed 's/^ */FAILED: /'
	} > "$1/report"
	printf '%s\t?\t%s\t0\t0\t1\t0\t0\t0\t0\t0\n' "${cell[0]}" "${cell[1]}" > "$1/row"
}

# A cell that has not begun by the deadline is reported as a skip.
schedule_late()
{
	local dir
	[[ $DEADLINE ]] && ((EPOCHSECONDS > DEADLINE)) || return 0
	for dir in "${ORDER[@]}"; do
		[[ ${STATE[$dir]} == @(new|built) && ! ${NEXT[$dir]:-} ]] || continue
		STATE[$dir]=ended
		cell_skip "$dir" "$TOO_LATE"
		schedule_tell "$dir"
	done
}

# schedule_tell DIR: prints a cell's report, and appends its failures to the file "failures"
schedule_tell()
{
	local name cell lines
	read -ra cell < "$1/cell"
	name=$(cell_name "${cell[@]:0:4}")
	[[ ! -s $1/report ]] || sed "s|^|$name: |" "$1/report"
	for lines in 'FAILED: |flaky: ' '# .*\.c:[0-9]+:'; do
		sed -nE "s!^($lines)!$name: &!p" "$1/report"
	done | head -n 20 >> "$RUN/failures"
}

# Begins the checks of the checkout: a cell that only ends.
schedule_checkout()
{
	local dir=$RUN/checkout
	mkdir "$dir" && echo "checkout host -" > "$dir/cell" || exit 1
	ORDER=("$dir" "${ORDER[@]}")
	STATE[$dir]=ending
	job end "$dir" "$VM_DIR/rig" cell-checkout "$dir"
}

# Ends the builds that last too long after the deadline.
schedule_stuck()
{
	local pid dir
	for pid in "${!JOB_DIR[@]}"; do
		[[ ${JOB_KIND[$pid]} == begin ]] || continue
		dir=${JOB_DIR[$pid]}
		unset "JOB_DIR[$pid]" "JOB_KIND[$pid]"
		kill -- "-$pid"
		STATE[$dir]=ended
		schedule_failed "$dir" "still building $LATE_SECONDS s after the deadline"
		schedule_tell "$dir"
	done
}

# Waits until a process has ended, and updates the state of its cell.
schedule_wait()
{
	local pid='' ended rc=0 dir kind
	for ended in ${TIMER:+"$TIMER"} "${!JOB_DIR[@]}"; do
		kill -0 "$ended" 2>/dev/null || break
	done
	# "wait -n" does not find a process whose end bash has noted with that of another one.
	if kill -0 "$ended" 2>/dev/null; then
		wait -n -p pid ${TIMER:+"$TIMER"} "${!JOB_DIR[@]}" || rc=$?
	fi
	if [[ ! ${pid:-} ]]; then
		pid=$ended rc=0
		wait "$pid" || rc=$?
	fi
	if [[ $pid == "$TIMER" ]]; then
		TIMER=''
		schedule_stuck
		return
	fi
	dir=${JOB_DIR[$pid]} kind=${JOB_KIND[$pid]}
	unset "JOB_DIR[$pid]" "JOB_KIND[$pid]"
	case $kind in
	begin)	STATE[$dir]=built
		((!rc)) || schedule_failed "$dir" "the cell does not begin: the build failed"
		[[ ! -s $dir/row ]] || {
			STATE[$dir]=ended
			schedule_tell "$dir"
		} ;;
	guest)	((--GUESTS[$dir])) || :
		((!rc)) || LOST[$dir]=$((${LOST[$dir]:-0} + 1)) ;;
	end)	STATE[$dir]=ended
		[[ -s $dir/row ]] || schedule_failed "$dir" "the cell has no result"
		schedule_tell "$dir" ;;
	esac
}

# Ends all jobs, if this process ends.
schedule_kill()
{
	local groups=("${!JOB_DIR[@]}")
	((!${#groups[@]})) || kill -- "${groups[@]/#/-}" 2>/dev/null
}

schedule()
{
	[[ -z $MATRIX_SECONDS ]] || {
		export DEADLINE=$((EPOCHSECONDS - SECONDS + MATRIX_SECONDS))
		setpriv --pdeathsig TERM sleep $((DEADLINE + LATE_SECONDS - EPOCHSECONDS)) \
			</dev/null &>/dev/null &
		TIMER=$!
	}
	trap schedule_kill EXIT
	while :; do
		schedule_late
		schedule_begin
		schedule_guests
		schedule_ends
		((${#JOB_DIR[@]})) || break
		schedule_wait
	done
	trap - EXIT
}

# cpu_ticks: prints the ticks of the machine's CPUs, idle and in total
cpu_ticks()
{
	awk '/^cpu / {
		for (i = 2; i <= 9; i++) all += $i
		print $5 + $6, all
	}' /proc/stat
}

# run_cells CELLS KEEP [checkout]: runs CELLS, lines of matrix_cells(), and the checks of the
# checkout, and keeps the results as KEEP
run_cells()
{
	local line dir before after table packages=() rc=0
	need_root
	mkdir -p "$CACHE/runs" || exit 1
	find "$CACHE/runs" -mindepth 1 -maxdepth 1 -mmin +1440 \
		-exec rm -rf --one-file-system {} +
	RUN=$(mktemp -d "$CACHE/runs/XXXXXX") && chmod 755 "$RUN" || exit 1
	: > "$RUN/failures"
	while read -r line; do
		# shellcheck disable=SC2086
		dir=$RUN/$(set -f; set -- $line; cell_name "$1" "$2" "$3" "$4" | tr / -)
		mkdir -p "$dir" && echo "$line" > "$dir/cell" || exit 1
		ORDER+=("$dir")
		STATE[$dir]=new
	done <<< "$1"
	# The checks of the checkout read its history.
	[[ ! ${3:-} || ! -e $TOP/.git ]] || packages=(git)
	host_packages "${packages[@]}"
	before=$(cpu_ticks)
	[[ ! ${3:-} ]] || schedule_checkout
	schedule
	after=$(cpu_ticks)
	report_times "${ORDER[@]}"
	# shellcheck disable=SC2086
	set -- $before $after "$2"
	printf '%d seconds, %d guests at a time, CPU idle %d %%\n' "$SECONDS" "$JOBS" \
		$((100 * ($3 - $1) / ($4 - $2 + 1)))
	cache_kept
	table=$(matrix_table <(cat "${ORDER[@]/%//row}") "$RUN/failures") || rc=$?
	for dir in "${ORDER[@]}"; do
		[[ -s $dir/row ]] || rc=1
	done
	echo "$table" > "$RUN/table"
	with_lock "$CACHE/runs.lock" keep_run "$5" || say "cannot keep the results, which are in $RUN"
	# Another run may have replaced the results by now.
	echo "$table"
	return "$rc"
}

keep_run()
{
	mkdir -p "$(dirname "$1")" &&
	rm -rf --one-file-system "$1" &&
	mv -T "$RUN" "$1" &&
	say "results and logs: $1"
}

cmd_matrix()
{
	local cells
	cells=$(matrix_cells)
	[[ $cells ]] || die "no cell in $MATRIX matches '$CELLS'"
	# A selection of cells is not about the checkout.
	run_cells "$cells" "${RESULTS:-$CACHE/matrix}" "$([[ $CELLS != '*' || ${TESTS:-} ]] || echo checkout)"
}

cmd_check()
{
	run_cells "$SUITE $DEVICE ${KERNEL:--} $GUEST_CPUS ${1:-${TESTS:-*}}" "${RESULTS:-$SUITE_DIR/last}"
}
