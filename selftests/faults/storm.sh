#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Overload: many connections, events that are not read, completions that are not polled, messages
# without receives.

# shellcheck source=selftests/clients/common.sh
. "$(dirname "$0")/../clients/common.sh"
# shellcheck source=selftests/faults/common.sh
. "$(dirname "$0")/common.sh"

LIMITS=/sys/module/rdma_ep/parameters
CONNECTIONS=${FAULT_CONNECTIONS:-$((1000 / ${TEST_SCALE:-1}))}

# over NAME MODE ARGS...: runs it to its end, which must be within 120 s with status 0
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
	over storm storm "$FAULT_SEED" "$CONNECTIONS"
}

full_channels()
{
	local old
	old=$(<"$LIMITS"/session_max_objects)
	echo $((60 + RANDOM % 200)) > "$LIMITS"/session_max_objects
	over flood flood "$SEED"
	echo "$old" > "$LIMITS"/session_max_objects
}

overrun_queues()
{
	over overrun overrun "$SEED"
}

exhausted_queues()
{
	over exhaust exhaust "$SEED" $((20 + RANDOM % 40))
}

FAULT_SECONDS=0 fault "$CONNECTIONS connections, opened and dropped" many_connections
fault "full event channels" full_channels
fault "overrun completion queues" overrun_queues
fault "exhausted shared receive queues" exhausted_queues
finish_tests
