#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The benchmark, with a few runs of each operation: it runs to its end on both stacks, with a result
# for every operation. The speed does not matter. Its connections, streams and the SRQ of many
# connections are not in other tests. (srq_256 needs more memory than the guest has.)

# shellcheck source=selftests/clients/common.sh
. "$(dirname "$0")/common.sh"

BENCH=$(dirname "$0")/../bench/bench
RESULTS=(call_getppid call_poll_empty call_notify call_post_recv create_first
	 create destroy cycle ping_events ping_polling
	 srq_{1,16} rate_1 rate_8 idle_10 idle_destroy
	 {send,write,read}_{64,4096,65536}_{1,16,64})

# The debug kernel's clock ticks every 10 ms, which may be longer than an operation.
NS='[1-9][0-9]*'
((${TEST_SCALE:-1} == 1)) || NS='[0-9]+'

BENCHMARKS=(calls create_first create cycle ping_events ping_polling streams srq_1 srq_16
	    rate_1 rate_8 idle)

bench_case()
{
	local stack=$1 name
	begin "all operations on $stack"
	start "$stack" bench "$BENCH" -a "$RDMA_ADDR" -d 1000 "${BENCHMARKS[@]}"
	finish bench 150
	expect_status bench 0
	# siw loses connections, which the benchmark reports on stderr.
	[[ $DEVICE == siw ]] || expect_no_stderr bench
	for name in "${RESULTS[@]}"; do
		expect_lines bench 1 "^result $name ns=$NS n=[1-9][0-9]*( |$)"
	done
	end
}

for stack in stock ours; do
	[[ -n ${STOCK:-} && $stack == ours ]] || bench_case $stack
done

begin "a benchmark that does not exist"
start stock bench "$BENCH" -a "$RDMA_ADDR" none
finish bench
expect_status bench 2
expect_lines bench 0 .
end

finish_tests
