#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# rdma_server and rdma_client: synchronous endpoints (create_ep, get_request),
# automatic CQs, inline sends.

# shellcheck source=selftests/clients/common.sh
. "$(dirname "$0")/common.sh"

for pair in "${PAIRS[@]}"; do
	begin "rdma_server ${pair%:*}, rdma_client ${pair#*:}"
	for _ in 1 2 3; do
		server "${pair%:*}" rdma_server -p "$PORT"
		client "${pair#*:}" rdma_client -s "$RDMA_ADDR" -p "$PORT"
		try_again || break
	done
	both_succeed
	expect_output client "rdma_client: start" "rdma_client: end 0"
	expect_output server "rdma_server: start" "rdma_server: end 0"
	expect_no_stderr client server
	end
done

finish_tests
