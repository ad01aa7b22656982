#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# ibv_devices and ibv_devinfo print the same about the device on rdma_ep as on the stock libraries,
# line by line; ibv_asyncwatch reports that a port is down and up again.

# shellcheck source=selftests/clients/common.sh
. "$(dirname "$0")/common.sh"

# Limits of rdma_ep below those of the device: the memory of queues is charged to the user, and
# there are no memory windows. Regions of the size that rxe (from 6.5 on) and siw report are refused.
OWN_LIMITS='max_qp_wr|max_srq_wr|max_mw|max_mr_size'
# (rxe has the same limits. siw takes no messages of the length that it reports.)
[[ $DEVICE != siw ]] || OWN_LIMITS+='|max_cqe|max_msg_sz'
ODP_CAP='^\s+(ODP_SUPPORT|SUPPORT_)'
# rdma_ep is a kernel consumer, and cannot offer these capabilities.
NOT_GIVEN='^\s+(MEM_WINDOW.*|MEM_MGT_EXTENSIONS|.*FLUSH.*|.*ATOMIC_WRITE.*|Unknown flags: .*)$'

# same_case STATUS PROGRAM ARGS...
same_case()
{
	local status=$1 name
	shift
	begin "$*: the same as stock"
	for name in stock ours; do
		start "$name" "$name" "$@"
		finish "$name"
		expect_status "$name" "$status"
		# Newer versions of rxe page on demand, rdma_ep does not.
		[[ $name == stock ]] || expect_lines "$name" 0 "$ODP_CAP|$NOT_GIVEN"
		sed -Ei "s/^(\t+($OWN_LIMITS):\t+)(0x)?[0-9a-f]+$/\1(limit)/
			s/^(\tdevice_cap_flags(_ex)?:\t+)0x[0-9a-fA-F]+$/\1(bits of the names)/
			/^\t+NO SUPPORT$/d; /$ODP_CAP/d; /$NOT_GIVEN/d" "$WORK/$name.out"
	done
	cmp -s "$WORK/stock.out" "$WORK/ours.out" ||
		problem "stdout: $(diff "$WORK/stock.out" "$WORK/ours.out" | tr '\n' ' ')"
	cmp -s "$WORK/stock.err" "$WORK/ours.err" ||
		problem "stderr: $(diff "$WORK/stock.err" "$WORK/ours.err" | tr '\n' ' ')"
	end
}

# Checks that there is output to compare, about the right device.
stock_case()
{
	begin "ibv_devices and ibv_devinfo name the device on stock"
	start stock devices ibv_devices
	finish devices
	expect_lines devices 1 "^ +$RDMA_DEV +	[0-9a-f]{16}$"
	start stock devinfo ibv_devinfo -v
	finish devinfo
	expect_lines devinfo 1 "^hca_id:	$RDMA_DEV$"
	# (iWARP makes its GID from the MAC address.)
	[[ $DEVICE == siw ]] ||
		expect_lines devinfo 1 "GID\[.*::ffff:$RDMA_ADDR"
	expect_lines devinfo 1 "max_qp_wr:"
	end
}

# The peer of RDMA_NETDEV
PEER_NETDEV=veth1

watching()
{
	grep -q 'async event FD' "$WORK/watch.out" || stopped watch
}

saw()
{
	grep -q "event_type $1 .*, port 1$" "$WORK/watch.out" || stopped watch
}

asyncwatch_case()
{
	local stack=$1
	begin "ibv_asyncwatch sees the port go down and up, $stack"
	start "$stack" watch ibv_asyncwatch -d "$RDMA_DEV"
	wait_for 20 watching || problem "it does not watch"
	ip link set "$PEER_NETDEV" down
	wait_for 20 saw IBV_EVENT_PORT_ERR || problem "no port error"
	ip link set "$PEER_NETDEV" up
	wait_for 20 saw IBV_EVENT_PORT_ACTIVE || problem "port not active again"
	terminate watch
	expect_output watch "  event_type IBV_EVENT_PORT_ERR (10), port 1" \
		"  event_type IBV_EVENT_PORT_ACTIVE (9), port 1"
	expect_no_stderr watch
	end
}

stock_case
if [[ -z ${STOCK:-} ]]; then
	same_case 0 ibv_devices
	same_case 0 ibv_devinfo -l
	same_case 0 ibv_devinfo
	same_case 0 ibv_devinfo -v
	same_case 0 ibv_devinfo -v -d "$RDMA_DEV" -i 1
	same_case 255 ibv_devinfo -d none
fi
# siw does not look at the carrier itself: ib_core of newer kernels does.
if [[ $DEVICE == siw ]] && ! grep -qw ib_dispatch_port_state_event /proc/kallsyms; then
	skip "ibv_asyncwatch sees the port go down and up" \
		"neither siw nor this ib_core looks at the carrier"
else
	[[ -n ${STOCK:-} ]] || asyncwatch_case ours
	asyncwatch_case stock
fi

finish_tests
