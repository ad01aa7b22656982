#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# SIGKILL at any time: the kernel must free all objects of the program, and the other side must
# detect the end.

# shellcheck source=selftests/clients/common.sh
. "$(dirname "$0")/common.sh"

FOREVER=1000000

# The peer of a killed program should exit when the connection breaks; if its own logic does not do
# so, it must exit on SIGTERM.
finish_peer()
{
	local name=$1
	if ! wait_for 5 stopped "$name"; then
		echo "# $name does not end by itself, SIGTERM"
		kill -TERM "${pids[$name]}"
	fi
	finish "$name" 15
}

pings_flow()
{
	(($(grep -c '^ping data: ' "$WORK/$1.out") >= 5))
}

# kill_case VICTIM PAIR [SERVER ARGS...]
kill_case()
{
	local victim=$1 pair=$2 peer=client size=4096
	shift 2
	[[ $victim == server ]] || peer=server
	begin "SIGKILL of the $victim in mid-run${*:+ ($*)}, server ${pair%:*}, client ${pair#*:}"
	# (Lines of 4096 bytes also leave stdio's buffer at once.)
	server "${pair%:*}" rping -s -a "$RDMA_ADDR" -p "$PORT" -v -S $size "$@"
	start "${pair#*:}" client rping -c -a "$RDMA_ADDR" -p "$PORT" -v \
		-S $size -C $FOREVER
	wait_for 30 pings_flow client || no_progress "no pings before the kill"
	expect_stack client "${pair#*:}"
	kill -KILL "${pids[$victim]}"
	finish "$victim" 15
	expect_status "$victim" 137
	if [[ $peer == server && " $* " == *" -P "* ]]; then
		# The server continues for its other clients.
		client "${pair#*:}" rping -c -a "$RDMA_ADDR" -p "$PORT" -v \
			-S $size -C 3
		expect_status client 0
		kill -TERM "${pids[server]}"
		finish server 15
	else
		finish_peer "$peer"
	fi
	end
}

# A program in a blocking call that only an event would end
blocked_case()
{
	local what=$1 stack=$2
	shift 2
	begin "SIGKILL of $what, $stack"
	server "$stack" "$@" -p "$PORT"
	kill -KILL "${pids[server]}"
	finish server 15
	expect_status server 137
	end
}

# The killed side is on rdma_ep, or on stock in a stock run.
ours=ours
[[ -z ${STOCK:-} ]] || ours=stock

for other in $(printf '%s\n' "$ours" stock | sort -u); do
	kill_case client "$other:$ours"
	kill_case server "$ours:$other"
	kill_case client "$other:$ours" -P
	kill_case server "$ours:$other" -P
done
blocked_case "rdma_server in rdma_get_request" "$ours" rdma_server
blocked_case "rping in rdma_get_cm_event" "$ours" \
	rping -s -a "$RDMA_ADDR"

finish_tests
