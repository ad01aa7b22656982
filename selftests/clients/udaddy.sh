#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# udaddy: UD over rdma_cm. The client receives QP number and Q_Key of the server and sends to them;
# the server replies to the source in the completion (ibv_create_ah_from_wc).

# shellcheck source=selftests/clients/common.sh
. "$(dirname "$0")/common.sh"

not_on_iwarp "udaddy" "iWARP has no datagrams"

# udaddy_case NAME PAIR ADDRESS ARGS...
udaddy_case()
{
	local name=$1 pair=$2 addr=$3
	shift 3
	begin "udaddy $name, server ${pair%:*}, client ${pair#*:}"
	PORT=7174	# it has no option for that
	server "${pair%:*}" udaddy -b "$addr" "$@"
	client "${pair#*:}" udaddy -s "$addr" "$@"
	both_succeed
	expect_output client "udaddy: starting client" "udaddy: connecting" \
		"initiating data transfers" "receiving data transfers" \
		"data transfers complete" "test complete" "return status 0"
	expect_output server "udaddy: starting server" \
		"receiving data transfers" "sending replies" \
		"data transfers complete" "test complete" "return status 0"
	expect_no_stderr client server
	end
}

for pair in "${PAIRS[@]}"; do
	udaddy_case "IPv4" "$pair" "$RDMA_ADDR" -c 4 -C 20 -S 1000 -t 8
	udaddy_case "IPv6" "$pair" "$RDMA_ADDR6" -c 2
done

finish_tests
