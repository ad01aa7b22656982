#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Multicast: mckey (rdma_cm joins the group and attaches the id's QP; with -o the member only sends)
# and perftest -g (the program attaches its QP).

# shellcheck source=selftests/clients/common.sh
. "$(dirname "$0")/common.sh"

not_on_iwarp "multicast" "iWARP has none"

MESSAGES=10
PAUSE=$(cd "$(dirname "$0")/.." && pwd)/mckey_pause.so
[[ -e $PAUSE ]] || PAUSE=	# (not built for stock runs)

# The receiver has joined, attached its QP and posted receives. (It writes line by line.)
receiving()
{
	grep -q '^receiving' "$WORK/server.out" || stopped server
}

# mckey_case PAIR -m GROUP [SENDER'S ARGS...]
mckey_case()
{
	local pair=$1 receiver sender
	begin "mckey ${*:2}, receiver ${pair%:*}, sender ${pair#*:}"
	receiver=(mckey -b "$RDMA_ADDR" "$2" "$3" -C "$MESSAGES" -S 1000)
	sender=("${receiver[@]}" -s "${@:4}")
	start "${pair%:*}" server stdbuf -oL "${receiver[@]}"
	wait_for 20 receiving || problem "the receiver does not receive"
	expect_stack server "${pair%:*}"
	LD_PRELOAD=$PAUSE client "${pair#*:}" "${sender[@]}"
	both_succeed
	expect_output client "mckey: starting client" "mckey: joining" \
		"initiating data transfers" "data transfers complete" \
		"test complete" "return status 0"
	expect_output server "mckey: starting server" "mckey: joining" \
		"receiving data transfers" "data transfers complete" \
		"test complete" "return status 0"
	expect_lines client 1 '^mckey: joined dgid: [0-9a-f:.]+ mlid 0x'
	expect_no_stderr client server
	end
}

# The kernel does not support RoCE v2 multicast to IPv6 groups.
refused_case()
{
	local stack=$1
	shift
	begin "mckey $* is refused, $stack"
	start "$stack" client mckey "$@"
	finish client 20
	expect_status client 255
	expect_output client "mckey: joining" "return status -1"
	# ENOTSUPP, for which user space has no name
	expect_error client "failure joining: Unknown error 524"
	end
}

# perftest only attaches its QP and does not join, so a real network needs a member of the group.
# (Packets to perftest's own group would not leave the host.)
member_of()
{
	exec python3 -c '
import socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP,
	     socket.inet_aton(sys.argv[1]) + socket.inet_aton(sys.argv[2]))
time.sleep(1000)' "$1" "$RDMA_ADDR"
}

is_member()
{
	ip maddr show dev "$RDMA_NETDEV" | grep -q "inet *$1$"
}

# perftest_case PAIR PROGRAM
perftest_case()
{
	local pair=$1 name mgid=0:0:0:0:0:0:0:0:0:0:255:255:230:1:1:5
	local program=(ib_"$2" -F -d "$RDMA_DEV" -x "$GID_INDEX" -c UD -g
		-M "$mgid" -n 20 -s 512)
	begin "ib_$2 -c UD -g, server ${pair%:*}, client ${pair#*:}"
	tcp_server "${pair%:*}" "${program[@]}" -p "$PORT"
	client "${pair#*:}" "${program[@]}" -p "$PORT" "$RDMA_ADDR"
	finish server
	for name in client server; do
		expect_status "$name" 0
		expect_lines "$name" 1 '^ 512 +20 +([0-9.]+|inf) '
	done
	end
}

GID_INDEX=$(gid_index)
member_of 230.1.1.5 & member=$!
wait_for 20 is_member 230.1.1.5 || echo "# not a member of the group"

for pair in "${PAIRS[@]}"; do
	mckey_case "$pair" -m 230.1.1.1
	mckey_case "$pair" -m 230.1.1.2 -o
	perftest_case "$pair" send_bw
	perftest_case "$pair" send_lat
done
for stack in $(printf '%s\n' "${PAIRS[@]%:*}" | sort -u); do
	refused_case "$stack" -b "$RDMA_ADDR6" -m ff0e::42
	refused_case "$stack" -b "$RDMA_ADDR" -M ff0e::42
done

kill "$member"
wait "$member" 2>/dev/null
finish_tests
