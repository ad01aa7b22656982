#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# ibv_*_pingpong: verbs without rdma_cm. The programs exchange addresses over TCP and move the QPs
# themselves: RC, UC, UD, and RC with an SRQ, polling and sleeping on completion events. -c compares
# the received data.

# shellcheck source=selftests/clients/common.sh
. "$(dirname "$0")/common.sh"

not_on_iwarp "ibv_*_pingpong" "iWARP's QPs are connected by rdma_cm only"

ITERS=50
GID_INDEX=$(gid_index)

# pingpong_case PAIR PROGRAM ARGS...
pingpong_case()
{
	local pair=$1 what=${*:2} name
	local program=(ibv_"$2" -d "$RDMA_DEV" -g "$GID_INDEX" -n "$ITERS" -c
		"${@:3}")
	begin "ibv_$what, server ${pair%:*}, client ${pair#*:}"
	tcp_server "${pair%:*}" "${program[@]}" -p "$PORT"
	client "${pair#*:}" "${program[@]}" -p "$PORT" "$RDMA_ADDR"
	finish server
	for name in client server; do
		expect_status "$name" 0
		expect_lines "$name" 1 "^$ITERS iters in "
		expect_lines "$name" 0 "invalid data"
		expect_no_stderr "$name"
	done
	end
}

for pair in "${PAIRS[@]}"; do
	for type in rc uc ud srq; do
		pingpong_case "$pair" ${type}_pingpong
		pingpong_case "$pair" ${type}_pingpong -e
	done
	# The QP of ibv_create_qp_ex(), sends of ibv_wr_start() and so on
	pingpong_case "$pair" rc_pingpong -N
done

finish_tests
