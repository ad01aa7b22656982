#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# UCX: ucx_info prints the same as on the stock libraries, and ucx_perftest runs over the transports
# (uct) and over UCX's protocols on top of them (ucp).
#
# It would catch a device that UCX does not use because of its names and paths (ibv_device), and
# capabilities that are reported but do not work.

# shellcheck source=selftests/clients/common.sh
. "$(dirname "$0")/common.sh"

# (uct_ib_device_is_supported())
not_on_iwarp "UCX" "UCX uses no iWARP device"

ITERS=20
# UCX decides from a completion's service level, as mlx5 sets it, whether a datagram came over IPv4.
# It drops those of rxe unless this check of addresses is off.
export UCX_UD_VERBS_ETH_DGID_CHECK=n

# Debian's UCX of some suites is built without InfiniBand.
if ! compgen -G "/usr/lib/*/ucx/libuct_ib.so*" > /dev/null &&
		command -v ucx_info > /dev/null; then
	skip "UCX" "this suite's package has no transport for InfiniBand"
	finish_tests
fi

# info STACK: prints the memory domains and transports of all devices
info()
{
	start "$1" "info-$1" ucx_info -d
	finish "info-$1"
	expect_status "info-$1" 0
}

if [[ -z ${STOCK:-} ]]; then
	begin "ucx_info -d prints the same as on the stock libraries"
	info stock
	info ours
	grep -q "Device: $RDMA_DEV:1" "$WORK/info-stock.out" ||
		problem "the stock libraries offer no $RDMA_DEV to it"
	diff "$WORK/info-stock.out" "$WORK/info-ours.out" > "$WORK/diff" ||
		problem "that differs: $(head -n 20 "$WORK/diff" | tr '\n' '~')"
	end
fi

# perftest_case PAIR ARGS...
perftest_case()
{
	local pair=$1 name
	# A ucx_perftest that is built with MPI (trixie, sid) takes itself for a rank of a job,
	# unless its standard input is a terminal (UCX, src/tools/perf/perftest.c).
	# shellcheck disable=SC2016
	local program=(sh -c 'exec ucx_perftest "$@" < /dev/console' ucx_perftest)
	begin "ucx_perftest ${UCX_TLS:+$UCX_TLS }${*:2}, server ${pair%:*}, client ${pair#*:}"
	program+=(-n "$ITERS" -w 2 -f "${@:2}" -p "$PORT")
	# The server opens the device when a client connects.
	listens_on=tcp
	start "${pair%:*}" server "${program[@]}"
	wait_for 20 listening_or_gone server
	client "${pair#*:}" "${program[@]}" "$RDMA_ADDR"
	finish server
	for name in client server; do
		expect_status "$name" 0
	done
	grep -Eq "(^|[^0-9])$ITERS +[0-9.]+ " "$WORK/client.out" ||
		problem "the client has no result"
	end
}

for pair in "${PAIRS[@]}"; do
	perftest_case "$pair" -d "$RDMA_DEV:1" -x rc_verbs -t am_lat -s 64
	perftest_case "$pair" -d "$RDMA_DEV:1" -x rc_verbs -t put_bw -D zcopy -s 4096
	perftest_case "$pair" -d "$RDMA_DEV:1" -x rc_verbs -t get -D zcopy -s 4096
	perftest_case "$pair" -d "$RDMA_DEV:1" -x ud_verbs -t am_lat -s 64
	# (rc needs ud as well, for the connection.)
	for tls in rc ud; do
		export UCX_TLS=$tls UCX_NET_DEVICES=$RDMA_DEV:1
		perftest_case "$pair" -t tag_lat -s 100000
		unset UCX_TLS UCX_NET_DEVICES
	done
done

finish_tests
