#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Compiles and runs the first program of README.md with the commands of the page.
#
# It would catch a program that does not compile with the installed library or does not run, and
# commands that differ from those of the page (docs.sh compares).

# shellcheck source=selftests/clients/common.sh
. "$(dirname "$0")/common.sh"

HERE=$(cd "$(dirname "$0")/.." && pwd)
SOURCE=$HERE/src/docs/programs/hello.c
[[ -e $SOURCE ]] || SOURCE=$HERE/../docs/programs/hello.c

not_on_stock "the first program" "stock run, there is no library"

compile()
{
	# quote compile
	cc hello.c -o hello -lrdma_ep                   # with rdma_ep and nothing else,
	cc hello.c -o hello.rdma -lrdmacm -libverbs     # or as for any RDMA stack
	# end quote
}

on_linked()
{
	exec "$@"
}

# run_case SERVER CLIENT PROGRAM
run_case()
{
	begin "${3##*/}, $2, with rdma_server, $1"
	PORT=7471	# default of rdma_server
	server "$1" rdma_server
	client "$2" "$3" "$RDMA_ADDR"
	both_succeed
	expect_output client "answer: success, 16 bytes"
	expect_no_stderr client
	end
}

begin "hello.c compiles without a warning"
cp "$SOURCE" "$WORK/hello.c"
cd "$WORK" || exit 1
compile 2> "$WORK/cc.err" || problem "it does not compile"
[[ ! -s $WORK/cc.err ]] || problem "$(<"$WORK/cc.err")"
! ldd "$WORK/hello" | grep -E 'librdmacm|libibverbs' ||
	problem "it is linked with a stock library"
end

run_case ours linked "$WORK/hello"
run_case stock linked "$WORK/hello"
run_case ours ours "$WORK/hello.rdma"
if [[ $(uname -r) == *-debug ]]; then
	skip "hello.rdma, stock, with rdma_server, ours" \
		"rxe is so slow here that the stock stack destroys the QP before it has answered"
else
	run_case ours stock "$WORK/hello.rdma"
fi

begin "client without a server prints the reason"
client linked "$WORK/hello" "$RDMA_ADDR"
expect_status client 1
grep -qxF "rdma_connect: Connection refused" "$WORK/client.err" ||
	problem "no message about rdma_connect()"
end
finish_tests
