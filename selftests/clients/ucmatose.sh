#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# ucmatose: 16 connections at once on one event channel, 100 messages of 4096
# bytes each way on each; -m moves every id to another event channel first.

# shellcheck source=selftests/clients/common.sh
. "$(dirname "$0")/common.sh"

# ucmatose_case PAIR ARGS...
ucmatose_case()
{
	local pair=$1 migrating=()
	shift
	[[ " $* " != *" -m "* ]] || migrating=("migrating to new event channel")
	begin "ucmatose $*, server ${pair%:*}, client ${pair#*:}"
	for _ in 1 2 3; do
		server "${pair%:*}" ucmatose -b "$RDMA_ADDR" -p "$PORT" "$@"
		client "${pair#*:}" ucmatose -s "$RDMA_ADDR" -p "$PORT" "$@"
		try_again || break
	done
	both_succeed
	expect_output client "cmatose: starting client" "cmatose: connecting" \
		"receiving data transfers" "sending replies" \
		"data transfers complete" "${migrating[@]}" \
		"test complete" "return status 0"
	expect_output server "cmatose: starting server" \
		"initiating data transfers" "completing sends" \
		"receiving data transfers" "data transfers complete" \
		"${migrating[@]}" "cmatose: disconnecting" "disconnected" \
		"test complete" "return status 0"
	expect_no_stderr client server
	end
}

# It fails on the stock libraries, too.
if [[ $DEVICE == siw ]]; then
	skip "ucmatose on the stock stack" "libsiw makes no CQ of 100 entries"
	PAIRS=(ours:ours)
	[[ -z ${STOCK:-} ]] || PAIRS=()
fi

for pair in "${PAIRS[@]}"; do
	ucmatose_case "$pair" -c 16 -C 100 -S 4096
	ucmatose_case "$pair" -c 16 -C 100 -S 4096 -m
done

finish_tests
