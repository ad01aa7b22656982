#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# A server (docs/programs/handover.c) passes its session to a new instance repeatedly, under clients
# that are linked with the stock libraries and check each answer. It does so by exec, as a service
# whose supervisor keeps the descriptors by systemd's protocol (fdstore.c), and, if the guest has
# systemd, as a service of systemd.
#
# The same server with workers: each connection passes to its own process.
#
# It would catch a connection or a listener that ends with an instance, messages that are lost or
# duplicated between two instances, and memory or objects that a hand-over leaves behind.

# shellcheck source=selftests/clients/common.sh
. "$(dirname "$0")/common.sh"

BIN=$(cd "$(dirname "$0")/.." && pwd)
CONNECTIONS=${CONNECTIONS:-100}
# Processes that share them: siw's stock library has 36 endpoints in a process (SIW-29).
CLIENTS=(client1 client2 client3 client4)
RESTARTS=${RESTARTS:-5}
WORKERS=4

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

by_signal()
{
	kill -HUP "${pids[server]}"
}

# restart NUMBER COMMAND...: the command starts the next instance, with this number
restart()
{
	"${@:2}" || problem "no restart"
	# However many messages there are
	wait_for 10 instances "$1" || problem "instance $1 does not begin"
	running server || problem "the server ended: $(<"$WORK/server.err")"
}

# gaps NUMBER: whether each client has written so many lines
gaps()
{
	local name
	for name in "${CLIENTS[@]}"; do
		(($(grep -c '^gap' "$WORK/$name.out") >= $1)) || stopped "$name" || return
	done
}

# Prints "P50 MAX" in ms, of the longest times between two answers of each connection of all clients
# since the last call.
gap()
{
	local name before
	before=$(grep -c '^gap' "$WORK/${CLIENTS[0]}.out")
	for name in "${CLIENTS[@]}"; do
		kill -USR1 "${pids[$name]}"
	done
	wait_for 60 gaps $((before + 1))
	for name in "${CLIENTS[@]}"; do
		sed -n 's/^gap //p' "$WORK/$name.out" | tail -n 1
	done | tr ' ' '\n' | sort -n | awk '{ ms[NR] = $1 } END { print ms[int((NR + 1) / 2)], ms[NR] }'
}

# session KEY: its value in the fdinfo of the session
session()
{
	cat "/proc/${pids[server]}/fdinfo/"* 2>/dev/null | sed -n "s/^$1:\t//p"
}

# stock_clients CONNECTIONS NAME...: starts processes with so many connections each
stock_clients()
{
	local name
	for name in "${@:2}"; do
		start stock "$name" "$BIN/handover_client" "$RDMA_ADDR" "$PORT" "$1"
	done
	for name in "${@:2}"; do
		wait_for 120 connected "$name"
	done
}

# The client compares answers until SIGTERM, and then receives the last ones.
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

# restarts TITLE COMMAND...: under clients, and under one that connects later
restarts()
{
	local before after i name
	stock_clients $((CONNECTIONS / ${#CLIENTS[@]})) "${CLIENTS[@]}"
	before="$(session session) $(session objects)"
	gap >/dev/null
	nap 1
	echo "# $1, $CONNECTIONS clients: without a restart gap p50, max: $(gap) ms"
	for ((i = 1; i <= RESTARTS; i++)); do
		restart $((i + 1)) "${@:2}"
		echo "# $1, $CONNECTIONS clients: restart $i: gap p50, max: $(gap) ms"
	done
	after="$(session session) $(session objects)"
	[[ $after == "$before" ]] || problem "session and objects were $before, and are $after"
	for name in "${CLIENTS[@]}"; do
		end_client "$name"
	done
	# The listener has survived.
	stock_clients 2 late
	restart $((RESTARTS + 2)) "${@:2}"
	nap 0.5
	end_client late
}

begin "$CONNECTIONS stock clients, $RESTARTS restarts by exec"
server linked "$BIN/handover_server" "$RDMA_ADDR" "$PORT"
restarts exec by_signal
terminate server
end

begin "$CONNECTIONS stock clients, $RESTARTS restarts by a supervisor"
start linked server "$BIN/fdstore" "$BIN/handover_kept" "$RDMA_ADDR" "$PORT"
wait_for 60 instances 1
restarts supervisor by_signal
kill -TERM "${pids[server]}"
finish server
expect_status server 0
end

workers()
{
	pgrep -P "${pids[server]}"
}

# Workers with a connection
busy()
{
	local pid
	for pid in $(workers); do
		! grep -qs '^session:' "/proc/$pid/fdinfo/"* || echo "$pid"
	done
}

busy_workers()
{
	[[ $(busy | wc -l) == "$1" ]] || stopped server
}

begin "$WORKERS workers, each and their parent restarted, one killed"
server linked "$BIN/handover_server" "$RDMA_ADDR" "$PORT" "$WORKERS"
stock_clients 1 victim
victim=$(busy)
stock_clients "$WORKERS" client
wait_for 20 busy_workers $((WORKERS + 1))
# The parent and each worker with a connection restart. (The others restart once they have one.)
# shellcheck disable=SC2046
kill -HUP "${pids[server]}" $(workers)
wait_for 60 instances $((1 + 1 + WORKERS + 1))
running victim || problem "the restart has ended a connection"
kill -KILL "$victim"
wait_for 20 busy_workers "$WORKERS"
# (The client would wait for its answer.)
kill -KILL "${pids[victim]}"
finish victim
stock_clients 2 late
end_client late
end_client client
wait_for 20 busy_workers 0
[[ $(workers | wc -l) == "$WORKERS" ]] || problem "$(workers | wc -l) workers"
terminate server
end

SYSTEMD=/usr/lib/systemd/systemd
export XDG_RUNTIME_DIR=$WORK/run

# A manager of services in its own cgroup, as each user has one
on_systemd()
{
	mkdir -p /run/systemd/system /sys/fs/cgroup/handover
	echo "$BASHPID" > /sys/fs/cgroup/handover/cgroup.procs
	exec "$@"
}

write_unit()
{
	mkdir -p "$XDG_RUNTIME_DIR/systemd/user"
	cat > "$XDG_RUNTIME_DIR/systemd/user/handover.service" <<-END
	[Unit]
	DefaultDependencies=no
	StartLimitIntervalSec=0
	[Service]
	Type=notify
	ExecStart=$BIN/handover_kept $RDMA_ADDR $PORT
	FileDescriptorStoreMax=8
	StandardOutput=append:$WORK/server.out
	StandardError=append:$WORK/server.err
	END
}

by_systemd()
{
	systemctl --user restart handover
}

begin "$CONNECTIONS stock clients, $RESTARTS restarts by systemd"
if [[ -x $SYSTEMD ]]; then
	write_unit
	start systemd server "$SYSTEMD" --user --unit=handover.service
	wait_for 60 instances 1
	restarts systemd by_systemd
	systemctl --user stop handover
	kill -TERM "${pids[server]}"
	finish server
	end
else
	skip "$case_name" "no systemd in the guest"
fi

finish_tests
