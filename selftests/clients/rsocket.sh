#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# rsockets are part of librdmacm and stay on the stock stack, with and without rdma-ep-run. Output
# and exit status of programs are the same.

# shellcheck source=selftests/clients/common.sh
. "$(dirname "$0")/common.sh"

# Each side without rdma-ep-run ("stock"), or with it ("run")
[[ -n ${STOCK:-} ]] || PAIRS=(run:run run:stock stock:run)

# start_side SIDE NAME PROGRAM ARGS...
start_side()
{
	local side=$1 name=$2
	shift 2
	[[ $side == stock ]] || set -- rdma-ep-run "$@"
	start stock "$name" "$@"
}

# expect_side NAME SIDE: it is on the stock stack; librdma_ep is loaded with SIDE "run" only
expect_side()
{
	local maps
	expect_stack "$1" stock
	maps=$(grep -c 'librdma_ep' "/proc/${pids[$1]}/maps")
	case $2 in
	run)	((maps > 0)) ;;
	*)	((maps == 0)) ;;
	esac || problem "$1 ($2): $maps mappings of librdma_ep"
}

bound_or_gone()
{
	[[ -n $(ss -Hltun "sport = :$PORT") ]] || stopped server
}

# rserver SIDE PROGRAM ARGS...: udpong and a forking rstream begin with an ordinary socket, and open
# RDMA devices only when a client connects
rserver()
{
	start_side "$1" server "${@:2}"
	if [[ $2 == udpong || " $* " == *" -T f "* ]]; then
		wait_for 20 bound_or_gone
		running server || problem "the server has ended"
	else
		wait_for 20 listening_or_gone server
		running server || problem "the server has ended"
		expect_side server "$1"
	fi
}

rclient()
{
	start_side "$1" client "${@:2}"
	finish client
}

# A line of results: name, bytes, transfers, (iterations,) total, seconds, rates
result='^custom( +[0-9]+[kmg]?){3,4} +[0-9.]+s +[0-9.]+ +[0-9.]+$'

# stream_case PAIR PROGRAM ARGS...
stream_case()
{
	local pair=$1 program=$2
	shift 2
	begin "$program $*, server ${pair%:*}, client ${pair#*:}"
	rserver "${pair%:*}" "$program" -b "$RDMA_ADDR" -p "$PORT" "$@"
	rclient "${pair#*:}" "$program" -s "$RDMA_ADDR" -p "$PORT" "$@"
	both_succeed
	expect_lines client 1 "$result"
	expect_no_stderr client server
	end
}

# The forking server: rsockets move to the child process.
fork_case()
{
	local pair=$1
	begin "rstream -T f, server ${pair%:*}, client ${pair#*:}"
	rserver "${pair%:*}" rstream -b "$RDMA_ADDR" -p "$PORT" -I 2 -C 5 -S 512 -T f
	rclient "${pair#*:}" rstream -s "$RDMA_ADDR" -p "$PORT" -I 2 -C 5 -S 512 -T f
	both_succeed
	expect_lines client 1 "$result"
	end
}

# The server runs until it is killed; the copy must equal the original.
rcopy_case()
{
	local pair=$1
	begin "rcopy, server ${pair%:*}, client ${pair#*:}"
	head -c 300001 /dev/urandom > "$WORK/sent"
	rserver "${pair%:*}" rcopy -p "$PORT"
	rclient "${pair#*:}" rcopy "$WORK/sent" "$RDMA_ADDR:$WORK/got" -p "$PORT"
	expect_status client 0
	cmp -s "$WORK/sent" "$WORK/got" ||
		problem "the copy differs from the original"
	kill -TERM "${pids[server]}"
	finish server 20
	expect_status server 143
	rm -f "$WORK/sent" "$WORK/got"
	end
}

# Datagrams. On RoCE librdmacm cannot connect them: it makes address handles without a GRH. So the
# results must be the same as without rdma_ep. (This server also runs until it is killed.)
udpong_case()
{
	local pair=$1 side
	begin "udpong, server ${pair%:*}, client ${pair#*:}"
	for side in stock:stock "$pair"; do
		new_port
		rserver "${side%:*}" udpong -b "$RDMA_ADDR" -p "$PORT"
		rclient "${side#*:}" udpong -s "$RDMA_ADDR" -p "$PORT" \
			-C 20 -S 512 -T e
		kill -TERM "${pids[server]}"
		finish server 20
		echo "client ${statuses[client]} server ${statuses[server]}" \
			"$(grep -Ec "$result" "$WORK/client.out") results" \
			"$(<"$WORK/client.err")" > "$WORK/outcome-$side"
	done
	diff "$WORK/outcome-stock:stock" "$WORK/outcome-$pair" > "$WORK/diff" ||
		problem "$(tr '\n' ' ' < "$WORK/diff")"
	sed 's/^/# /' "$WORK/outcome-$pair"
	end
}

# rstream -T r resolves with rdma_getaddrinfo(), which is that of rdma_ep: the client uses both
# stacks.
both_case()
{
	local pair=$1
	begin "rstream -T n, client with -T r, server ${pair%:*}, client ${pair#*:}"
	rserver "${pair%:*}" rstream -b "$RDMA_ADDR" -p "$PORT" -I 2 -C 10 -S 4096 -T n
	rclient "${pair#*:}" rstream -s "$RDMA_ADDR" -p "$PORT" -I 2 -C 10 -S 4096 -T n -T r
	both_succeed
	expect_lines client 1 "$result"
	end
}

# hidden_case NODE...: with these nodes only. Without the device nodes of the stock stack, rsockets
# print the same messages as without rdma_ep.
hidden_case()
{
	local side node
	begin "rstream where /dev/infiniband has only: $*"
	mkdir "$WORK/dev"
	for node; do
		cp -a "/dev/infiniband/$node" "$WORK/dev/"
	done
	for side in stock run; do
		set -- rstream -s "$RDMA_ADDR" -p "$PORT" -C 1 -S 64
		[[ $side == stock ]] || set -- rdma-ep-run "$@"
		# shellcheck disable=SC2016
		start stock $side unshare --mount sh -c \
			'mount --bind "$0" /dev/infiniband && exec "$@"' \
			"$WORK/dev" "$@"
	done
	finish stock
	finish run
	rm -r "${WORK:?}/dev"
	expect_status run "${statuses[stock]}"
	((statuses[run] && (statuses[run] < 128 || statuses[run] == 255))) ||
		problem "exit status ${statuses[run]}"
	[[ -s $WORK/stock.err ]] || problem "no message"
	cat "$WORK/stock.err" "$WORK/stock.out" |
		diff - <(cat "$WORK/run.err" "$WORK/run.out") > "$WORK/diff" ||
		problem "the messages differ: $(tr '\n' ' ' < "$WORK/diff")"
	sed 's/^/# /' "$WORK/run.err"
	end
}

for pair in "${PAIRS[@]}"; do
	stream_case "$pair" rstream -I 2 -C 10 -S 4096 -T v
	rcopy_case "$pair"
done
# From here on, both sides make the same calls.
stream_case "${PAIRS[0]}" riostream -I 2 -C 10 -S 4096 -T v
fork_case "${PAIRS[0]}"
udpong_case "${PAIRS[0]}"
both_case "${PAIRS[0]}"
if [[ -z ${STOCK:-} ]]; then
	hidden_case rdma_ep
	hidden_case rdma_ep rdma_cm
fi

finish_tests
