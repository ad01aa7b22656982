#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# cmtime: many connections made and ended, step by step, all at the same time;
# the server handles requests and disconnects in threads of their own.

# shellcheck source=selftests/clients/common.sh
. "$(dirname "$0")/common.sh"

STEPS=("create id" "bind addr" "resolve addr" "resolve route" "create qp"
	connect disconnect destroy)

for pair in "${PAIRS[@]}"; do
	begin "cmtime -c 50, server ${pair%:*}, client ${pair#*:}"
	server "${pair%:*}" cmtime -b "$RDMA_ADDR" -p "$PORT" -c 50
	client "${pair#*:}" cmtime -b "$RDMA_ADDR" -s "$RDMA_ADDR" -p "$PORT" -c 50
	expect_status client 0
	# Failures of single connections are only in the output.
	expect_lines client 0 'event:|ERROR|fail'
	for step in "${STEPS[@]}"; do
		# total and longest in ms, shortest and average in us; it says
		# 999999999 if no connection got there
		expect_lines client 1 "^$step *:( +[0-9]{1,8}\.[0-9]{2}){4}$"
	done
	terminate server
	expect_lines server 0 'fail'
	expect_no_stderr client
	expect_no_stderr server
	end
done

finish_tests
