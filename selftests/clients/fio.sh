#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# fio's rdma engine: RDMA writes and reads and sends over rdma_cm, with asynchronous ids
# and completion events, many requests at a time.
#
# It would catch ids with another order of events than on the stock stack, and requests that are
# lost when queues are full.

# shellcheck source=selftests/clients/common.sh
. "$(dirname "$0")/common.sh"

# fio_case PAIR VERB
fio_case()
{
	local pair=$1 verb=$2 name
	local args=(--ioengine=rdma --bs=64k --size=1m --thread)
	begin "fio, verb $verb, server ${pair%:*}, client ${pair#*:}"
	for _ in 1 2 3; do
		server "${pair%:*}" fio --name=receiver "${args[@]}" --port="$PORT" --rw=read \
			--iodepth=16
		client "${pair#*:}" fio --name=sender "${args[@]}" --port="$PORT" \
			--hostname="$RDMA_ADDR" --verb="$verb" --rw=write --iodepth=8 \
			--iodepth_batch_complete=1
		try_again || break
	done
	finish server
	for name in client server; do
		expect_status "$name" 0
	done
	expect_lines client 1 '^sender: .*err= 0'
	# All 16 blocks
	expect_lines client 1 'WRITE: .*io=1024Ki?B .*'
	end
}

for pair in "${PAIRS[@]}"; do
	for verb in write read send; do
		fio_case "$pair" $verb
	done
done

finish_tests
