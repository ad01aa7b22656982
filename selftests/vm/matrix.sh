# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# "rig check" for one cell, a kernel and a device, after the other, and a table of
# what came of it. Which cells: see the file "cells".

MATRIX=${MATRIX:-$VM_DIR/cells}
CELLS=${CELLS:-*}		# of these only those whose name matches
MATRIX_SECONDS=${MATRIX_SECONDS:-}	# begin no cell after so many; empty: no limit

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

# cell_rig SUITE DEVICE KERNEL COMMAND...
cell_rig()
{
	SUITE=$1 DEVICE=$2 KERNEL=${3#-} "${@:4}"
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
# depends on luck or on the machine's load looks so.
matrix_doubtful()
{
	awk -F '\t' '
		$1 != "fail" { next }
		$2 ~ /^(guest|kernel|kmemleak)$/ || $3 ~ /^(kernel|left behind):/ ||
		$3 == "not run" { bad = 1 }
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
		TESTS=$4 PAIRS=$5 RESULTS=$6-again \
			cell_rig "$1" "$2" "$3" "$VM_DIR/rig" check && return
	done
	return 1
}

# matrix_cell SUITE DEVICE KERNEL PATTERN PAIRS: the cell's report, what failed once
# more in the file "failures", and a line of the table on file descriptor 3
matrix_cell()
{
	local name start=$SECONDS results report counts=() doubtful again flaky=0
	name=$(cell_name "$@")
	results=$CACHE/matrix/${name//\//-}
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
	printf '%s\t%s\t%s\t%d\t%d\t%d\t%d\t%d\n' "$1" "$(matrix_kernel "$results")" \
		"$2" "${counts[@]}" "$flaky" $((SECONDS - start)) >&3
}

# matrix_late SUITE DEVICE KERNEL: one for which no time is left; told as a skip
matrix_late()
{
	echo "skipped: $(cell_name "$@"): not begun after $SECONDS s (MATRIX_SECONDS=$MATRIX_SECONDS)"
	printf '%s\t-\t%s\t0\t0\t1\t0\t0\n' "$1" "$2" >&3
}

# The table, what failed, as a log's last lines are what is read of it first, and the
# sums as "rig check" prints them. Fails if a cell failed.
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

cmd_matrix()
{
	local cells table=$CACHE/matrix/table failures=$CACHE/matrix/failures prepare
	local suite device kernel pattern pairs
	need_root
	mkdir -p "$CACHE/matrix" || exit 1
	cells=$(matrix_cells)
	[[ $cells ]] || die "no cell in $MATRIX matches '$CELLS'"
	: > "$failures"
	host_packages
	matrix_prepare "$(sed 1d <<< "$cells")" &
	prepare=$!
	# shellcheck disable=SC2064
	trap "kill $prepare 2>/dev/null" EXIT
	while read -r suite device kernel pattern pairs; do
		if [[ $MATRIX_SECONDS ]] && ((SECONDS > MATRIX_SECONDS)); then
			matrix_late "$suite" "$device" "$kernel"
			continue
		fi
		say "cell $(cell_name "$suite" "$device" "$kernel"): $pattern $pairs"
		matrix_cell "$suite" "$device" "$kernel" "$pattern" "$pairs" \
			</dev/null
	done <<< "$cells" 3> "$table"
	matrix_table "$table" "$failures"
}
