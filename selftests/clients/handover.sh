#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# A server (docs/programs/handover.c) becomes its next instance again and again under clients that
# are linked with the stock libraries, and check each answer: by exec, and as a service whose
# supervisor keeps the descriptors by systemd's protocol (fdstore.c).
#
# It would catch: a connection that ends with an instance, messages that are lost or come twice
# between two instances, a listener that is gone, memory or objects that a hand-over leaves
# behind.

# shellcheck source=selftests/clients/common.sh
. "$(dirname "$0")/common.sh"

BIN=$(cd "$(dirname "$0")/.." && pwd)
CONNECTIONS=100
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

# The next instance
restart()
{
	kill -HUP "${pids[server]}"
	wait_for 60 instances "$1"
	running server || problem "the server ended: $(<"$WORK/server.err")"
}

gaps()
{
	(($(grep -c '^gap' "$WORK/client.out") > $1)) || stopped client
}

# "P50 MAX": of the longest times in ms between two answers that each connection of the client
# has had since the last time.
gap()
{
	local before
	before=$(grep -c '^gap' "$WORK/client.out")
	kill -USR1 "${pids[client]}"
	wait_for 60 gaps "$before"
	sed -n 's/^gap //p' "$WORK/client.out" | tail -n 1
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

# restarts TITLE: under clients, and with one that comes later
restarts()
{
	local before after i
	stock_client client "$CONNECTIONS"
	before="$(session session) $(session objects)"
	gap >/dev/null
	nap 1
	echo "# $1, $CONNECTIONS clients: without a restart gap p50, max: $(gap) ms"
	for ((i = 1; i <= RESTARTS; i++)); do
		restart $((i + 1))
		echo "# $1, $CONNECTIONS clients: restart $i: gap p50, max: $(gap) ms"
	done
	after="$(session session) $(session objects)"
	[[ $after == "$before" ]] || problem "session and objects were $before, and are $after"
	end_client client
	# The listener has stayed.
	stock_client late 2
	restart $((RESTARTS + 2))
	nap 0.5
	end_client late
}

begin "$CONNECTIONS stock clients, $RESTARTS restarts by exec"
server linked "$BIN/handover_server" "$RDMA_ADDR" "$PORT"
restarts exec
terminate server
end

begin "$CONNECTIONS stock clients, $RESTARTS restarts by a supervisor"
start linked server "$BIN/fdstore" "$BIN/handover_kept" "$RDMA_ADDR" "$PORT"
wait_for 60 instances 1
restarts supervisor
kill -TERM "${pids[server]}"
finish server
expect_status server 0
end

finish_tests
