#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# perftest: every operation, transport and way to connect, and the options that change the calls of
# the library. These are not all combinations, but each is tested on librdma_ep. Those that the peer
# can distinguish, connections of rdma_cm, are also tested with a stock peer.
#
#	-R	QPs of rdma_cm
#	-z	rdma_cm only to exchange addresses, the QPs moved by the program
#	-x	addresses over TCP
#
# (perftest itself refuses UC with -R, and write_bw with -e.)

# shellcheck source=selftests/clients/common.sh
. "$(dirname "$0")/common.sh"

CASES=(
	"send_bw -R"
	"send_lat -R -e"
	"send_bw -R -c UD -s 1024 -q 4"
	"write_bw -R -q 4 -b"
	"read_lat -R"
	"atomic_lat -R"

	"send_bw -z --use-srq -q 4"
	"send_lat -z -c UD -a"
	"write_bw -z -c UC -q 4"
	"write_lat -z -s 64 -I 64"
	"read_bw -z -e"
	"atomic_bw -z -q 4 -e"

	"send_bw -x -s 64 -I 64"
	"send_lat -x -c UC -e"
	"send_bw -x -c UD -s 512 -b --use-srq"
	"write_lat -x -c UC"
	"write_bw -x -a -n 5"
	"read_bw -x -q 4 -b"
	"atomic_bw -x -b"
)
if [[ $DEVICE == siw ]]; then
	skip "perftest -z, -x, UC, UD and atomics" \
		"iWARP has RC QPs only, which rdma_cm connects"
	CASES=("send_bw -R" "send_lat -R -e" "write_bw -R -q 4 -b"
		"write_lat -R -s 64 -I 64" "read_lat -R" "read_bw -R -e")
fi
GID_INDEX=$(gid_index)
# of each size; perftest accepts no less than 5
ITERS=20

# perftest_case PAIR PROGRAM MODE ARGS...
perftest_case()
{
	local pair=$1 name sizes=1 listen=server program
	begin "ib_${*:2}, server ${pair%:*}, client ${pair#*:}"
	program=(ib_"$2" -F -d "$RDMA_DEV" "${@:4}")
	[[ " $* " == *" -n "* ]] || program+=(-n "$ITERS")
	case $3 in
	-R)	program+=(-R) ;;
	-z)	program+=(-z -x "$GID_INDEX") ;;
	-x)	program+=(-x "$GID_INDEX")
		listen=tcp_server ;;
	esac
	# From 2 bytes to 8 MiB, or the MTU of UD
	case " $* " in
	*" -c UD"*" -a "*)	sizes=10 ;;
	*" -a "*)		sizes=23 ;;
	esac
	for _ in 1 2 3; do
		"$listen" "${pair%:*}" "${program[@]}" -p "$PORT"
		client "${pair#*:}" "${program[@]}" -p "$PORT" "$RDMA_ADDR"
		too_slow || break
	done
	finish server
	for name in client server; do
		expect_status "$name" 0
		! grep -Eiq 'fail|could|unable|error|not support' \
			"$WORK/$name.err" "$WORK/$name.out" ||
			problem "$name: complains"
	done
	# size, iterations, figures ("inf" if perftest cannot determine the emulated CPU's clock,
	# which it also warns about)
	expect_lines client $sizes '^ [0-9]+ +[0-9]+ +([0-9.]+|inf) '
	end
}

# True if perftest posts receives that end beyond its region. rdma_ep refuses these; the stock stack
# fails only for a message of that length.
posts_too_far()
{
	[[ $1 == *ours* && $2 == *"-c UD"*"--use-srq"* ]] &&
		ib_send_bw --version | grep -Eq '^Version: 6\.(1[0-9]|2[0-9])'
}

for pair in "${PAIRS[@]}"; do
	for case in "${CASES[@]}"; do
		# With -z and -x, the peer receives the same addresses and packets.
		[[ $pair == "${pair%:*}:${pair%:*}" || $case == *" -R"* ]] ||
			continue
		if posts_too_far "$pair" "$case"; then
			skip "ib_$case, $pair" "it posts receives that end behind its region"
			continue
		fi
		# shellcheck disable=SC2086
		perftest_case "$pair" $case
	done
done

finish_tests
