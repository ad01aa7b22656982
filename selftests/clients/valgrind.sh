#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Programs on rdma_ep under valgrind: no invalid access, no use of undefined values, no memory lost.
# (A leak of the program itself would count as well; these have none.)

# shellcheck source=selftests/clients/common.sh
. "$(dirname "$0")/common.sh"

PROGRAM_LIMIT=240	# 20 times slower again

not_on_stock "valgrind" "stock run, it is about rdma_ep's library"

# under_valgrind NAME PROGRAM ARGS...: sets command; the report goes to a file
under_valgrind()
{
	local name=$1
	shift
	command=(valgrind --quiet --vgdb=no --leak-check=full
		--show-leak-kinds=definite --errors-for-leak-kinds=definite
		--error-exitcode=99 --log-file="$WORK/$name.valgrind.%p" "$@")
}

expect_no_report()
{
	local f
	for f in "$WORK/$1.valgrind".*; do
		[[ -e $f ]] || problem "$1 did not run under valgrind"
		[[ ! -s $f ]] || {
			problem "valgrind reports"
			head -n 60 "$f" | sed 's/^/# /'
		}
	done
}

# client_case NAME SERVER ARGS... -- CLIENT ARGS...: both under valgrind. (A server that sends first
# and is faster than its client ends the connection on siw: SIW-28.)
client_case()
{
	local name=$1 server=() command
	shift
	begin "$name under valgrind"
	while [[ $1 != -- ]]; do
		server+=("${1/PORT/$PORT}")
		shift
	done
	shift
	under_valgrind server "${server[@]}"
	start ours server "${command[@]}"
	wait_for 60 listening_or_gone server
	under_valgrind client "${@/PORT/$PORT}"
	start ours client "${command[@]}"
	finish client
	both_succeed
	expect_no_report client
	expect_no_report server
	rm -f "$WORK"/*.valgrind.*
	end
}

# Runs the contract tests; each test of a program is a process.
test_case()
{
	local command
	begin "$1 under valgrind"
	under_valgrind client "$(dirname "$0")/../$1"
	start stock client "${command[@]}"
	finish client
	expect_status client 0
	expect_no_report client
	rm -f "$WORK"/*.valgrind.*
	end
}

client_case rping rping -s -a "$RDMA_ADDR" -p PORT -C 3 -v -- \
	rping -c -a "$RDMA_ADDR" -p PORT -C 3 -v -V
client_case "rdma_server, rdma_client" rdma_server -p PORT -- \
	rdma_client -s "$RDMA_ADDR" -p PORT
client_case ucmatose ucmatose -b "$RDMA_ADDR" -p PORT -c 2 -C 1 -S 100 -- \
	ucmatose -s "$RDMA_ADDR" -p PORT -c 2 -C 1 -S 100
test_case verbs_srq

finish_tests
