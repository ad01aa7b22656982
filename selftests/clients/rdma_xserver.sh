#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# rdma_xserver and rdma_xclient with RC (-c r): as rdma_server, but the server creates its own SRQ
# and posts to it for types of connections that require it.

# shellcheck source=selftests/clients/common.sh
. "$(dirname "$0")/common.sh"

for pair in "${PAIRS[@]}"; do
	begin "rdma_xserver -c r ${pair%:*}, rdma_xclient -c r ${pair#*:}"
	for _ in 1 2 3; do
		server "${pair%:*}" rdma_xserver -p "$PORT" -c r
		client "${pair#*:}" rdma_xclient -s "$RDMA_ADDR" -p "$PORT" -c r
		try_again || break
	done
	both_succeed
	expect_output client "rdma_xclient: start" "rdma_xclient: end 0"
	expect_output server "rdma_xserver: start" "rdma_xserver: end 0"
	expect_no_stderr client server
	end
done

finish_tests
