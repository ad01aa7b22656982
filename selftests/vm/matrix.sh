# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# "rig check" for one cell, a suite and a device, after the other, and a table of
# what came of it. Which cells: see the file "cells".

MATRIX=${MATRIX:-$VM_DIR/cells}
CELLS=${CELLS:-*}		# of these only those that match: SUITE/DEVICE

# "SUITE DEVICE PATTERN" a line
matrix_cells()
{
	local suite device pattern
	while read -r suite device pattern; do
		# shellcheck disable=SC2053
		[[ -z $suite || $suite == \#* || $suite/$device != $CELLS ]] ||
			echo "$suite $device ${TESTS:-${pattern:-*}}"
	done < "$MATRIX"
}

# What a cell's results say of the kernel.
matrix_kernel()
{
	local KVER='?'
	# shellcheck disable=SC1091
	[[ ! -f $1/env ]] || . "$1/env"
	echo "$KVER"
}

# matrix_cell SUITE DEVICE PATTERN: the cell's report, and a line of the table on
# file descriptor 3
matrix_cell()
{
	local results=$CACHE/matrix/$1-$2 start=$SECONDS report counts
	rm -rf --one-file-system "$results"
	report=$(SUITE=$1 DEVICE=$2 TESTS=$3 RESULTS=$results "$VM_DIR/rig" check)
	counts=$(tail -n 1 <<< "$report")
	if [[ $counts =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+)\ skipped$ ]]; then
		report=$(sed '$d' <<< "$report")
		counts=$(printf '%s\t%s\t%s' "${BASH_REMATCH[@]:1}")
	else
		# A cell that has not come to its end
		report+=$'\n'"FAILED: $1 $2: no counts"
		counts=$'0\t1\t0'
	fi
	[[ -z $report ]] || printf '%s\n' "$report" | sed "s|^|$1 $2: |"
	printf '%s\t%s\t%s\t%s\t%d\n' "$1" "$(matrix_kernel "$results")" "$2" \
		"$counts" $((SECONDS - start)) >&3
}

# The table, and the sums as "rig check" prints them. Fails if a cell failed.
matrix_table()
{
	awk -F '\t' '
	BEGIN {
		format = "%-10s %-24s %-6s %7s %7s %7s %7s\n"
		printf "\n" format, "suite", "kernel", "device", "passed",
			"failed", "skipped", "seconds"
	}
	{
		printf format, $1, $2, $3, $4, $5, $6, $7
		passed += $4
		failed += $5
		skipped += $6
		bad += $5 > 0 || $4 == 0
	}
	END {
		printf "\n%d passed, %d failed, %d skipped\n", passed, failed,
			skipped
		exit !NR || bad > 0
	}' "$1"
}

cmd_matrix()
{
	local cells table=$CACHE/matrix/table suite device pattern
	need_root
	mkdir -p "$CACHE/matrix" || exit 1
	cells=$(matrix_cells)
	[[ $cells ]] || die "no cell in $MATRIX matches '$CELLS'"
	while read -r suite device pattern; do
		say "cell $suite $device: $pattern"
		matrix_cell "$suite" "$device" "$pattern" </dev/null
	done <<< "$cells" 3> "$table"
	matrix_table "$table"
}
