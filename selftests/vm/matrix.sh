# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# "rig check" for one cell, a kernel and a device, after the other, a few at a time,
# and a table of what came of it. Which cells: see the file "cells".

MATRIX=${MATRIX:-$VM_DIR/cells}
CELLS=${CELLS:-*}		# of these only those whose name matches
MATRIX_SECONDS=${MATRIX_SECONDS:-}	# begin no test after so many; empty: no limit
# Cells at a time. A guest has two CPUs, of which it needs one.
JOBS=${JOBS:-$(nproc)}

# cell_name SUITE DEVICE KERNEL
cell_name()
{
	local kernel=${3#-}
	echo "$1/$2${kernel:+/$kernel}"
}

# "SUITE DEVICE KERNEL PATTERN PAIRS" a line
matrix_cells()
{
	local suite device kernel pattern pairs
	while read -r suite device kernel pattern pairs; do
		[[ $suite && $suite != \#* ]] || continue
		# shellcheck disable=SC2053
		[[ $(cell_name "$suite" "$device" "$kernel") != $CELLS ]] ||
			echo "$suite $device $kernel ${TESTS:-${pattern:-*}} $pairs"
	done < "$MATRIX"
}

# cell_rig SUITE DEVICE KERNEL COMMAND...: does not outlive who waits for it
cell_rig()
{
	IN_MATRIX=1 SUITE=$1 DEVICE=$2 KERNEL=${3#-} \
		setpriv --pdeathsig TERM "${@:4}"
}

# matrix_prepare CELLS: build what the later ones need, of which a kernel takes
# longest, at the lowest priority, while guests run.
matrix_prepare()
{
	local suite device kernel pattern
	while read -r suite device kernel pattern; do
		[[ -z $suite ]] || cell_rig "$suite" "$device" "$kernel" \
			nice -n 19 "$VM_DIR/rig" build </dev/null
	done <<< "$1" > "$CACHE/matrix/prepare.log" 2>&1
}

# What a cell's results say of the kernel.
matrix_kernel()
{
	local KVER='?'
	# shellcheck disable=SC1091
	[[ ! -f $1/env ]] || . "$1/env"
	echo "$KVER"
}

# matrix_doubtful RESULTS: the tests that failed, if these are few and the kernel had
# nothing to say, nothing was left behind, and the guest came to its end: a test that
# depends on luck or on the machine's load looks so. But not those that race for what is
# not theirs: to win once is once too often.
matrix_doubtful()
{
	awk -F '\t' '
		$1 != "fail" { next }
		$2 ~ /^(guest|kernel|kmemleak)$/ || $3 ~ /^(kernel|left behind):/ ||
		$3 == "not run" || $2 ~ /^abi_(attack|changed|gone|half|handles|keys|mcast_race|mock_removal|passed|ring|states|two_devices|unpriv|xrc_use)$/ { bad = 1 }
		!seen[$2]++ { names = names (n++ ? "|" : "") $2 }
		END { if (n && n <= 2 && !bad) print "@(" names ")" }' "$1/verdicts"
}

# matrix_again SUITE DEVICE KERNEL TESTS PAIRS RESULTS: in a fresh guest, or in two; what
# passes in neither fails
matrix_again()
{
	local turn
	for turn in 1 2; do
		echo "again, in a fresh guest ($turn):"
		rm -rf --one-file-system "$6-again"
		DEADLINE='' TESTS=$4 PAIRS=$5 RESULTS=$6-again \
			cell_rig "$1" "$2" "$3" "$VM_DIR/rig" check && return
	done
	return 1
}

# matrix_row SUITE KERNEL DEVICE PASSED FAILED SKIPPED FLAKY SECONDS: a line of the table
matrix_row()
{
	local IFS=$'\t'
	echo "$*"
}

# matrix_cell RESULTS SUITE DEVICE KERNEL PATTERN PAIRS: the cell's report, what failed
# once more in the file "failures", and a line of the table in RESULTS.row
matrix_cell()
{
	local name results=$1 start=$SECONDS report counts=() doubtful again flaky=0
	shift
	name=$(cell_name "$@")
	rm -rf --one-file-system "$results"
	report=$(TESTS=$4 PAIRS=${5:-$PAIRS} RESULTS=$results \
		cell_rig "$1" "$2" "$3" "$VM_DIR/rig" check)
	if [[ $(tail -n 1 <<< "$report") =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+)\ skipped$ ]]; then
		report=$(sed '$d' <<< "$report")
		counts=("${BASH_REMATCH[@]:1}")
		doubtful=$(matrix_doubtful "$results")
		# Whatever passes then is still told, and has a column of its own.
		if [[ $doubtful ]] &&
		   again=$(matrix_again "${@:1:3}" "$doubtful" "${5:-$PAIRS}" "$results"); then
			flaky=${counts[1]}
			counts[0]=$((counts[0] + flaky)) counts[1]=0
			report=$(printf '%s\n' "$report" |
				sed 's/^FAILED: /flaky: failed, then passed: /')
		else
			report+=${again:+$'\n'$again}
		fi
	else
		# A cell that has not come to its end
		report+=$'\n'"FAILED: $name: no counts"
		counts=(0 1 0)
	fi
	if [[ $report ]]; then
		report=$(printf '%s\n' "$report" | sed "s|^|$name: |")
		printf '%s\n' "$report"
		grep -E '^[^ ]+: (FAILED: |flaky: |# .*\.c:[0-9]+:)' <<< "$report" |
			head -n 20 >> "$CACHE/matrix/failures"
	fi
	matrix_row "$1" "$(matrix_kernel "$results")" "$2" "${counts[@]}" "$flaky" \
		$((SECONDS - start)) > "$results.row"
}

# matrix_late RESULTS SUITE DEVICE KERNEL: as matrix_cell(), one for which no time is
# left; told as a skip
matrix_late()
{
	echo "skipped: $(cell_name "${@:2}"): no time left to begin it"
	matrix_row "$2" - "$3" 0 0 1 0 0 > "$1.row"
}

# matrix_reap RUNNING: wait until one of the cells has ended, tell what came of it.
# RUNNING: an array of their results' directories by process
matrix_reap()
{
	local -n cells=$1
	local pid
	wait -n -p pid "${!cells[@]}"
	cat "${cells[$pid]}.report"
	unset "cells[$pid]"
}

cmd_matrix()
{
	local cells failures=$CACHE/matrix/failures prepare results rows=()
	local suite device kernel pattern pairs
	local -A running=()
	need_root
	mkdir -p "$CACHE/matrix" || exit 1
	cells=$(matrix_cells)
	[[ $cells ]] || die "no cell in $MATRIX matches '$CELLS'"
	: > "$failures"
	[[ -z $MATRIX_SECONDS ]] ||
		export DEADLINE=$((EPOCHSECONDS - SECONDS + MATRIX_SECONDS))
	host_packages
	matrix_prepare "$(sed "1,${JOBS}d" <<< "$cells")" &
	prepare=$!
	# shellcheck disable=SC2064,SC2154
	trap "kill $prepare \${!running[@]} 2>/dev/null" EXIT
	while read -r suite device kernel pattern pairs; do
		((${#running[@]} < JOBS)) || matrix_reap running
		results=$CACHE/matrix/$(cell_name "$suite" "$device" "$kernel" | tr / -)
		rows+=("$results.row")
		if [[ $DEADLINE ]] && ((EPOCHSECONDS > DEADLINE)); then
			matrix_late "$results" "$suite" "$device" "$kernel"
			continue
		fi
		say "cell $(cell_name "$suite" "$device" "$kernel"): $pattern $pairs"
		# Unless it comes to its end
		matrix_row "$suite" '?' "$device" 0 1 0 0 0 > "$results.row"
		matrix_cell "$results" "$suite" "$device" "$kernel" "$pattern" \
			"$pairs" > "$results.report" </dev/null &
		running[$!]=$results
	done <<< "$cells"
	while ((${#running[@]})); do
		matrix_reap running
	done
	matrix_table <(cat "${rows[@]}") "$failures"
}
