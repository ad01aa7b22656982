#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# A server (docs/programs/handover.c) becomes its next instance again and again, by exec, under
# clients that are linked with the stock libraries, and check each answer.
#
# It would catch: a connection that ends with an instance, messages that are lost or come twice
# between two instances, a listener that is gone, memory or objects that a hand-over leaves
# behind.

# shellcheck source=selftests/clients/common.sh
. "$(dirname "$0")/common.sh"

BIN=$(cd "$(dirname "$0")/.." && pwd)
CONNECTIONS=20
RESTARTS=5

not_on_stock "a server that hands itself over" "stock run, the stock stack has no such thing"

on_linked()
{
	exec "$@"
}

connected()
{
	grep -qx connected "$WORK/$1.out" || stopped "$1"
}

instances()
{
	[[ $(grep -cx serving "$WORK/server.out") == "$1" ]] || stopped server
}

# The next instance, in the same process
restart()
{
	kill -HUP "${pids[server]}"
	wait_for 60 instances "$1"
	running server || problem "the server ended: $(<"$WORK/server.err")"
}

# The session's line of fdinfo
session()
{
	cat "/proc/${pids[server]}/fdinfo/"* 2>/dev/null | sed -n "s/^$1:\t//p"
}

# client NAME CONNECTIONS
stock_client()
{
	start stock "$1" "$BIN/handover_client" "$RDMA_ADDR" "$PORT" "$2"
	wait_for 120 connected "$1"
}

# It compares answers until it receives the signal, and takes the last ones.
end_client()
{
	running "$1" || problem "$1 ended before"
	kill -TERM "${pids[$1]}"
	finish "$1"
	expect_status "$1" 0
	expect_no_stderr "$1"
	expect_lines "$1" 1 '^[0-9]+ messages, at most [0-9]+ ms$'
	echo "# $(tail -n 1 "$WORK/$1.out")"
}

begin "$CONNECTIONS stock clients, $RESTARTS restarts"
server linked "$BIN/handover_server" "$RDMA_ADDR" "$PORT"
stock_client client "$CONNECTIONS"
before="$(session session) $(session objects)"
for ((i = 1; i <= RESTARTS; i++)); do
	restart $((i + 1))
	nap 0.5
done
after="$(session session) $(session objects)"
[[ $after == "$before" ]] || problem "session and objects were $before, and are $after"
end_client client
# The listener has stayed.
stock_client late 2
restart $((RESTARTS + 2))
nap 0.5
end_client late
terminate server
end

finish_tests
