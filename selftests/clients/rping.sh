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
	finish client
	finish server
	expect_status client 0
	expect_status server 0
	expect_lines client "$pings" '^ping data: rdma-ping-[0-9]+: '
	expect_lines server "$pings" '^server ping data: rdma-ping-[0-9]+: '
	end
}

pinging()
{
	grep -q '^ping data' "$WORK/$1.out" || stopped_or_stuck "$1"
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
		finish "$i"
		expect_status "$i" 0
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
