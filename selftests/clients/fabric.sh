#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# libfabric's fi_pingpong over its verbs provider: connected endpoints (msg), reliable messages of
# rxm on top of them, datagrams, and reliable messages of rxd on top of these. Each end compares the
# received bytes.
#
# It would catch receives, shared receive queues and completions that behave differently from the
# stock stack for a library between the program and libibverbs.

# shellcheck source=selftests/clients/common.sh
. "$(dirname "$0")/common.sh"

ITERS=20
# rxm makes one CQ for the requests of this number of peers. The default, 1024, needs more entries
# than an rxe CQ can have.
export FI_UNIVERSE_SIZE=8 FI_VERBS_IFACE=$RDMA_NETDEV

# pingpong_args PROVIDER TYPE: sets ARGS, and SIZE in the format of the program's output
pingpong_args()
{
	SIZE=4k ARGS=(-p "$1" -e "$2" -I "$ITERS" -c)
	[[ $2 != rdm ]] || ARGS+=(-m tagged)
	case $1:$2 in
	verbs:dgram)	# one packet
		SIZE=512
		ARGS+=(-S 512 -d "$RDMA_DEV-dgram") ;;
	*rxd:*)	ARGS+=(-S 4096 -d "$RDMA_DEV-dgram") ;;
	*)	ARGS+=(-S 4096 -d "$RDMA_DEV") ;;
	esac
}

libfabric_crashes()
{
	dmesg | grep -c 'fi_pingpong.* segfault .* in libfabric'
}

# pingpong SERVER CLIENT: runs two programs on these stacks, with ARGS. Repeats a run in which
# libfabric crashes: rxm of libfabric 2 uses a connection that it has closed, on any stack.
pingpong()
{
	local run crashes
	# The server opens the device when a client connects.
	listens_on=tcp
	for ((run = 0; run < 3; run++)); do
		crashes=$(libfabric_crashes)
		new_port
		start "$1" server fi_pingpong "${ARGS[@]}" -B "$PORT"
		wait_for 20 listening_or_gone server
		client "$2" fi_pingpong "${ARGS[@]}" -P "$PORT" "$RDMA_ADDR"
		finish server
		[[ $(libfabric_crashes) != "$crashes" ]] || break
	done
}

# reports NAME: true if its output has one result (bytes, iterations, ...)
reports()
{
	(($(grep -Ec "^$SIZE +$ITERS +" "$WORK/$1.out") == 1))
}

# fabric_case PAIR PROVIDER TYPE
fabric_case()
{
	local pair=$1 name
	pingpong_args "$2" "$3"
	begin "fi_pingpong $2 $3, server ${pair%:*}, client ${pair#*:}"
	pingpong "${pair%:*}" "${pair#*:}"
	for name in client server; do
		reports "$name" || problem "$name: no result"
	done
	expect_status client 0
	expect_status server "$SERVER_STATUS"
	end
}

# works_on_stock PROVIDER TYPE: otherwise the case is skipped. Sets SERVER_STATUS: the server of
# some versions exits with an error after it has printed its result.
works_on_stock()
{
	pingpong_args "$1" "$2"
	begin "fi_pingpong $1 $2 on the stock libraries"
	pingpong stock stock
	SERVER_STATUS=${statuses[server]}
	if [[ ${statuses[client]} == 0 ]] && ((SERVER_STATUS < 128)) &&
			reports server && reports client; then
		return 0
	fi
	skip "fi_pingpong $1 $2" \
		"fails on the stock libraries, too: $(tail -q -n 1 "$WORK"/{server,client}.err | head -n 1)"
	return 1
}

CASES=("verbs msg" "verbs;ofi_rxm rdm")
if [[ $DEVICE == siw ]]; then
	skip "fi_pingpong verbs dgram and rxd" "iWARP has no datagrams"
else
	CASES+=("verbs dgram" "verbs;ofi_rxd rdm")
fi
for kind in "${CASES[@]}"; do
	read -r provider type <<< "$kind"
	works_on_stock "$provider" "$type" || continue
	for pair in "${PAIRS[@]}"; do
		fabric_case "$pair" "$provider" "$type"
	done
done

finish_tests
