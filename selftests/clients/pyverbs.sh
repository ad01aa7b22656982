#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# rdma-core's own tests (pyverbs), case by case: a case that passes on the stock stack must pass on
# rdma_ep, and a case that the stock stack refuses is refused. The tests are those in Debian's
# documentation of rdma-core, not copies.

# shellcheck source=selftests/clients/common.sh
. "$(dirname "$0")/common.sh"

SOURCE=/usr/share/doc/rdma-core/tests
# With rdma-core 44 and Linux 6.1, 96 cases pass on the stock stack, 10 of them of test_rdmacm;
# newer versions have more. With much fewer, the comparison would prove little.
LEAST_PASSING=90
RDMACM_CASES=10

# refused_because CASE: prints why rdma_ep refuses a case that passes on stock
refused_because()
{
	case $1 in
	test_mr.MWTest.* | *_bind_mw)
		echo "the kernel has no memory windows for its consumers" ;;
	test_odp.*)
		echo "the kernel has no page faults for its consumers' regions" ;;
	*_atomic_write | *_flush | *_flush_type_violate)
		echo "there is no ATOMIC WRITE and no FLUSH" ;;
	esac
}

# True if the stock stack skips a case for lack of something outside of the device and the library.
needs_more()
{
	[[ $1 == *"huge pages"* || $1 == *"/dev/dri/"* ]]
}

unpack()
{
	cp -r "$SOURCE" "$WORK/tests" && gunzip "$WORK"/tests/*.gz
}

# All except those for one vendor's devices (mlx5, efa) and for GPUs (cuda)
modules()
{
	local file
	for file in "$WORK"/tests/test_*.py; do
		file=${file##*/}
		[[ $file == test_@(mlx5|efa|cuda)* ]] || echo "${file%.py}"
	done
}

# run_tests STACK NAME...: of modules or cases
run_tests()
{
	start "$1" "$1" python3 "$(dirname "$0")/pyverbs_cases.py" \
		"$WORK" "$WORK/$1.cases" "$RDMA_DEV" "$RDMA_NETDEV" "${@:2}"
	finish "$1" 600
	expect_status "$1" 0
}

# This case resizes a CQ to fewer entries than it has sends under way. If they complete afterwards,
# they exceed the CQ, and the case misses one: 5 of 72 runs on the stock stack do, with Linux 6.12
# and four busy tasks.
RACE=test_cq.CQTest.test_resize_cq

# Runs it up to three times more.
repeat_race()
{
	local i
	for ((i = 0; i < 3; i++)); do
		[[ ${verdict_of[$RACE]:-} == fail ]] || return 0
		echo "# again: $RACE: ${reason_of[$RACE]}"
		run_tests ours "$RACE"
		read_ours
	done
}

read_ours()
{
	local word name reason
	while IFS=$'\t' read -r word name reason; do
		verdict_of[$name]=$word
		reason_of[$name]=$reason
	done < "$WORK/ours.cases"
}

# count WORD REGEX: prints the number of stock cases with that verdict and a matching name
count()
{
	cut -f1,2 "$WORK/stock.cases" | grep -Ec "^$1	$2"
}

# result VERDICT NAME [COMMENT...]: prints a TAP line
result()
{
	local verdict=$1 name=$2
	shift 2
	tests=$((tests + 1))
	[[ $verdict == ok ]] || failures=$((failures + 1))
	echo "$verdict $tests $name" "$@"
}

# output_of CASE: prints its output on rdma_ep
output_of()
{
	awk -v begin="--- $1" '$0 == begin { on = 1; next }
		on && /^--- / { exit }
		on' "$WORK/ours.out" | tail -n 12 | cut -c1-150 | sed 's/^/#   /'
}

# compare NAME STOCK REASON OURS REASON
compare()
{
	local name=$1 stock=$2 stock_reason=$3 ours=$4 reason=$5 why=
	case $stock:$ours in
	ok:ok | skip:ok)
		result ok "$name"
		return ;;
	skip:skip)
		if needs_more "$stock_reason"; then
			result ok "$name" "# SKIP $stock_reason"
		else
			result ok "$name is refused as on stock ($reason)"
		fi
		return ;;
	ok:skip)
		why=$(refused_because "$name")
		[[ -z $why ]] || why="is refused: $why ($reason)" ;;
	fail:ok | fail:skip | fail:fail)
		# The case may fail, but must end.
		[[ $reason == SIG* || $reason == "did not end"* ]] ||
			why="# SKIP fails on stock: $stock_reason" ;;
	esac
	if [[ $why ]]; then
		result ok "$name" "$why"
	else
		result "not ok" "$name"
		echo "# stock: $stock $stock_reason"
		echo "# rdma_ep: $ours $reason"
		output_of "$name"
	fi
}

if [[ $DEVICE != rxe ]]; then
	skip "rdma-core's tests" "what to expect is known for rxe"
	finish_tests
fi

begin "rdma-core's tests on the stock stack"
unpack || problem "cannot unpack $SOURCE"
mapfile -t MODULES < <(modules)
run_tests stock "${MODULES[@]}"
# Check that the cases have run: rdma-core 44 skips all of test_rdmacm on a software device.
n=$(count ok test_rdmacm)
((n >= RDMACM_CASES)) || problem "$n cases of test_rdmacm pass, expected $RDMACM_CASES and more"
n=$(count ok '')
((n >= LEAST_PASSING)) || problem "$n cases pass, expected $LEAST_PASSING and more"
echo "# $n cases pass on the stock stack, $(count ok test_rdmacm) of test_rdmacm"
end

if [[ -z ${STOCK:-} ]]; then
	declare -A verdict_of reason_of
	begin "rdma-core's tests on rdma_ep"
	run_tests ours "${MODULES[@]}"
	read_ours
	repeat_race
	while IFS=$'\t' read -r word name reason; do
		compare "$name" "$word" "$reason" \
			"${verdict_of[$name]:-missing}" "${reason_of[$name]:-}"
	done < "$WORK/stock.cases"
	end
fi

finish_tests
