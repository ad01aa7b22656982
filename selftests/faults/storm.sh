#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Too much of everything: connections, events that nobody reads, completions that
# nobody takes, messages that nobody has room for.

# shellcheck source=selftests/clients/common.sh
. "$(dirname "$0")/../clients/common.sh"
# shellcheck source=selftests/faults/common.sh
. "$(dirname "$0")/common.sh"

LIMITS=/sys/module/rdma_ep/parameters
CONNECTIONS=${FAULT_CONNECTIONS:-$((1000 / ${TEST_SCALE:-1}))}

# over NAME MODE ARGS...: to its end, within a minute, with 0
over()
{
	local name=$1
	shift
	load "$name" "$@"
	timed "$name" 120 finish "$name" 240
	expect_status "$name" 0
	tail -n 1 "$WORK/$name.out" | sed 's/^/# /'
	[[ ${statuses[$name]} == 0 ]] ||
		problem "round $round: $(tail -n 3 "$WORK/$name.out" | tr '\n' ' ')"
}

many_connections()
{
	begin "$CONNECTIONS connections, opened and dropped"
	bystander_begin
	round=1
	worst=()
	over storm storm "$FAULT_SEED" "$CONNECTIONS"
	timed "until nothing is held" "$BOUND" expect_clean
	rounds_report
	bystander_end
	end
}

full_channels()
{
	begin "full event channels"
	bystander_begin
	old=$(<$LIMITS/session_max_objects)
	rounds_begin
	while another_round; do
		echo $((60 + RANDOM % 200)) > $LIMITS/session_max_objects
		over flood flood "$SEED"
		timed "until nothing is held" "$BOUND" expect_clean
	done
	echo "$old" > $LIMITS/session_max_objects
	rounds_report
	bystander_end
	end
}

overrun_queues()
{
	begin "overrun completion queues"
	bystander_begin
	rounds_begin
	while another_round; do
		over overrun overrun "$SEED"
		timed "until nothing is held" "$BOUND" expect_clean
	done
	rounds_report
	bystander_end
	end
}

exhausted_queues()
{
	begin "exhausted shared receive queues"
	bystander_begin
	rounds_begin
	while another_round; do
		over exhaust exhaust "$SEED" $((20 + RANDOM % 40))
		timed "until nothing is held" "$BOUND" expect_clean
	done
	rounds_report
	bystander_end
	end
}

many_connections
full_channels
overrun_queues
exhausted_queues
finish_tests
