#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# rping: RDMA READ, WRITE and SEND between two programs; asynchronous ids,
# event channel in a thread, own CQ and completion channel.

# shellcheck source=selftests/clients/common.sh
. "$(dirname "$0")/common.sh"

PINGS=100

# rping_case NAME PAIR ADDRESS PINGS ARGS...
rping_case()
{
	local name=$1 pair=$2 addr=$3 pings=$4
	shift 4
	begin "$name, server ${pair%:*}, client ${pair#*:}"
	server "${pair%:*}" rping -s -a "$addr" -p "$PORT" -C "$pings" -v "$@"
	# -V: the client compares the data that comes back.
	start "${pair#*:}" client rping -c -a "$addr" -p "$PORT" -C "$pings" -v -V "$@"
	finish_rping client
	finish_rping server
	expect_client_ended client
	expect_status server 0
	expect_lines client "$pings" '^ping data: rdma-ping-[0-9]+: '
	expect_lines server "$pings" '^server ping data: rdma-ping-[0-9]+: '
	end
}

pinging()
{
	grep -q '^ping data' "$WORK/$1.out" || stopped_or_stuck "$1"
}

# rping's thread may wait for another event after main() has destroyed the channel. It then ends the
# program with its own status before main() returns.
expect_client_ended()
{
	if [[ ${statuses[$1]:-} != 255 ]] ||
	   ! grep -q '^rdma_get_cm_event: Bad file descriptor' "$WORK/$1.err"; then
		expect_status "$1" 0
	fi
}

# rdma-core's version; the name of the library's file ends with it
rdma_core_version()
{
	local file
	file=$(readlink -f "$(ldconfig -p | awk '$1 == "librdmacm.so.1" { print $NF; exit }')")
	[[ $file =~ \.so\.1\.[0-9]+\.([0-9]+) ]] && echo "${BASH_REMATCH[1]}"
}
RDMA_CORE=$(rdma_core_version)

# From rdma-core 59 on, poll(2) announces an event to rping's thread, rdma_destroy_id(3) in main()
# drops the event, the thread waits forever for another one, and main() waits for the thread, on any
# stack. (The thread for completions, which starts before the pings, has ended by then.)
waits_for_dropped_event()
{
	local dir=/proc/${pids[$1]}/task tasks
	tasks=("$dir"/*)
	((${RDMA_CORE:-0} >= 59 && ${#tasks[@]} == 2)) && grep -q 'ping data' "$WORK/$1.out" &&
		grep -qs futex "$dir/${pids[$1]}/stack" &&
		grep -qsE '\<(uep_queue_read(_all)?|ucma_get_event)\+' "${tasks[@]/%//stack}"
}

ended_or_waits()
{
	stopped_or_stuck "$1" ||
		{ waits_for_dropped_event "$1" && nap 2 && waits_for_dropped_event "$1"; }
}

# finish_rping NAME: finish() for rping
finish_rping()
{
	wait_for "$PROGRAM_LIMIT" ended_or_waits "$1"
	if stopped_or_stuck "$1" || ! waits_for_dropped_event "$1"; then
		finish "$1"
		return
	fi
	echo "# $1 waits for an event that its rdma_destroy_id() has dropped"
	kill -KILL "${pids[$1]}"
	wait "${pids[$1]}" 2>/dev/null
	statuses[$1]=0
}

# One server with many clients connected at once. rping -P stores one connect request at a time (its
# listening_cb->child_cm_id), and loses clients that connect faster than it starts threads. So each
# client is stopped once it is connected, before the next one starts; then all continue. Lines of
# 4096 bytes leave stdio's buffer at once.
persistent_case()
{
	local pair=$1 i clients=(client1 client2 client3 client4)
	begin "rping -P, ${#clients[@]} clients at once, server ${pair%:*}, clients ${pair#*:}"
	server "${pair%:*}" rping -s -P -a "$RDMA_ADDR" -p "$PORT" -v -S 4096
	for i in "${clients[@]}"; do
		start "${pair#*:}" "$i" rping -c -a "$RDMA_ADDR" -p "$PORT" \
			-C $((3 * PINGS)) -v -V -S 4096
		wait_for 30 pinging "$i" || no_progress "$i: no pings"
		expect_stack "$i" "${pair#*:}"
		kill -STOP "${pids[$i]}"
	done
	for i in "${clients[@]}"; do
		kill -CONT "${pids[$i]}"
	done
	for i in "${clients[@]}"; do
		finish_rping "$i"
		expect_client_ended "$i"
		expect_lines "$i" $((3 * PINGS)) '^ping data: rdma-ping-[0-9]+: '
	done
	terminate server
	end
}

[[ $DEVICE != siw ]] ||
	skip "rping -q (own QP)" "it establishes the connection itself, iWARP does"

for pair in "${PAIRS[@]}"; do
	# rping refuses 65536 (its buffer size) although its message allows it: 65535 is the largest
	# size.
	for size in 64 4096 65535; do
		rping_case "rping -S $size" "$pair" "$RDMA_ADDR" $PINGS -S $size
	done
	[[ $DEVICE == siw ]] || rping_case "rping -q (own QP)" "$pair" "$RDMA_ADDR" $PINGS -q
	persistent_case "$pair"
done

# IPv6 uses the same engine, but other code on the way to it.
for pair in "${PAIRS[@]}"; do
	rping_case "rping over IPv6" "$pair" "$RDMA_ADDR6" 10
done

finish_tests
