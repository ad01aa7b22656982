#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# cmtime: many connections at the same time, created and destroyed step by step; the server handles
# requests and disconnects in separate threads.

# shellcheck source=selftests/clients/common.sh
. "$(dirname "$0")/common.sh"

CONNECTIONS=50
STEPS=("create id" "bind addr" "resolve addr" "resolve route" "create qp")

# rdma-core 44
cmtime_case()
{
	local pair=$1 step args=(cmtime -b "$RDMA_ADDR" -c "$CONNECTIONS")
	begin "cmtime -c $CONNECTIONS, server ${pair%:*}, client ${pair#*:}"
	server "${pair%:*}" "${args[@]}" -p "$PORT"
	client "${pair#*:}" "${args[@]}" -p "$PORT" -s "$RDMA_ADDR"
	expect_status client 0
	# Failures of single connections are only in the output.
	expect_lines client 0 'event:|ERROR|fail'
	for step in "${STEPS[@]}" connect disconnect destroy; do
		# total and longest in ms, shortest and average in us; 999999999 if no connection
		# reached the step
		expect_lines client 1 "^$step *:( +[0-9]{1,8}\.[0-9]{2}){4}$"
	done
	terminate server
	expect_lines server 0 'fail'
	expect_no_stderr client server
	end
}

# Newer versions: the two sides synchronize over TCP, and after the first connections the client
# connects again, with numbers of QPs that do not exist. rdma_ep refuses these numbers, as they must
# be those of the program's own QPs.
newer_case()
{
	local pair=$1 step tables=1 args=(cmtime -b "$RDMA_ADDR" -c "$CONNECTIONS")
	local listen=() connect=(-s "$RDMA_ADDR")
	if grep -q -e '-C controller' <<< "$usage"; then
		listen=(-L -C "$RDMA_ADDR")
		connect=(-C "$RDMA_ADDR")
	fi
	begin "cmtime -c $CONNECTIONS, server ${pair%:*}, client ${pair#*:}"
	tcp_server "${pair%:*}" "${args[@]}" -p "$PORT" "${listen[@]}"
	client "${pair#*:}" "${args[@]}" -p "$PORT" "${connect[@]}"
	if [[ $pair == *:stock ]]; then
		tables=2
		both_succeed
		expect_no_stderr client
	else
		kill -TERM "${pids[server]}"
		finish server 20
		expect_status client 1
		expect_error client "rdma_connect: Invalid argument"
	fi
	expect_lines client 0 'event:|Unhandled'
	expect_lines client 1 "^qp_conn +$CONNECTIONS$"
	for step in "${STEPS[@]}" disconnect; do
		expect_lines client $tables "^$step( +[0-9]+){6}$"
	done
	end
}

usage=$(cmtime -h 2>&1)
if [[ $DEVICE == siw && $usage == *"-m mimic"* && $usage != *"-C controller"* ]]; then
	skip "cmtime" "this version listens on its port with TCP, too, which siw needs for itself"
	finish_tests
fi
for pair in "${PAIRS[@]}"; do
	if ! grep -q -e '-m mimic' <<< "$usage"; then
		cmtime_case "$pair"
	elif [[ $pair == ours:stock ]]; then
		skip "cmtime, server ours, client stock" \
			"it goes on with QPs that do not exist, which the server refuses"
	else
		newer_case "$pair"
	fi
done

finish_tests
