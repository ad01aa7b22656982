#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# librpma: a WRITE, a FLUSH, an ATOMIC WRITE and a READ. librpma uses the operations of the device
# if it offers them (rxe of Linux 6.3 and newer), and emulates them otherwise.
#
# It would catch capabilities that are reported but do not work, regions without the requested
# access, and missing completion events.

# shellcheck source=selftests/clients/common.sh
. "$(dirname "$0")/common.sh"

PEER=$(cd "$(dirname "$0")/.." && pwd)/rpma_peer

if [[ ! -x $PEER ]]; then
	why="Debian $SUITE has no librpma"
	[[ -z ${STOCK:-} ]] || why="its program is not built for stock runs"
	skip "librpma" "$why"
	finish_tests
fi

# offers STACK: prints which of FLUSH and ATOMIC WRITE the device offers
offers()
{
	start "$1" "offers-$1" "$PEER" offers "$RDMA_ADDR"
	finish "offers-$1"
	expect_status "offers-$1" 0
	cat "$WORK/offers-$1.out"
}

begin "librpma gets only the capabilities that work"
offers stock > "$WORK/stock"
offers ours > "$WORK/ours"
[[ ! $(<"$WORK/ours") ]] || problem "it is offered $(<"$WORK/ours")"
stock=$(<"$WORK/stock")
echo "# the stock libraries offer: ${stock:-neither}"
end

# exchange SERVER CLIENT
exchange()
{
	server "$1" "$PEER" server "$RDMA_ADDR" "$PORT"
	client "$2" "$PEER" client "$RDMA_ADDR" "$PORT"
	finish server
}

# (librpma 1.3 creates extended QPs, which siw's library does not support.)
begin "librpma on the stock libraries"
exchange stock stock
on_stock=$([[ ${statuses[server]}:${statuses[client]} != 0:0 ]] ||
	echo yes)
error=$(tail -q -n 1 "$WORK"/{client,server}.err | head -n 1)

for pair in "${PAIRS[@]}"; do
	name="librpma, server ${pair%:*}, client ${pair#*:}"
	if [[ ! $on_stock && $pair == *stock* ]]; then
		skip "$name" "fails on the stock libraries, too: $error"
		continue
	fi
	# librpma registers memory by the capabilities of its own device: it may then refuse a
	# peer's real FLUSH, as between an older kernel and a newer one.
	if [[ $pair == *:stock && $pair != stock:* && $stock == *flush* ]]; then
		skip "$name" "librpma wants FLUSH on both ends or on neither"
		continue
	fi
	begin "$name"
	exchange "${pair%:*}" "${pair#*:}"
	for name in client server; do
		expect_status "$name" 0
		expect_lines "$name" 1 '^done$'
	done
	end
done

finish_tests
