#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Two devices: a listener with connections on both, and a device in each of two network namespaces
# that only their netdevs connect.

# shellcheck source=selftests/clients/common.sh
. "$(dirname "$0")/common.sh"

PINGS=30
LONG=1000	# pings, so many that a client can be stopped meanwhile

# Devices are added and removed between cases, and with them the kernel's own objects.
new_baseline()
{
	baseline=$(held)
}

# (iWARP has no GID of an IP address.)
is_usable()
{
	local port=/sys/class/infiniband/$1/ports/1
	if [[ $DEVICE == siw ]]; then
		grep -q ACTIVE "$port/state"
	else
		grep -q 'ffff:0a2b:0001' "$port/gids"/* && grep -q '^fd43:' "$port/gids"/*
	fi 2>/dev/null
}

# ---- one listener

# The second device has its own pair of netdevs: in one namespace devices do not reach each other,
# so both ends of a connection are on the same device.
second_device()
{
	ip link add veth2 type veth peer name veth3 &&
	ip link set veth3 up &&
	ip link set veth2 up &&
	ip addr add 10.43.0.1/24 dev veth2 &&
	ip -6 addr add fd43::1/64 dev veth2 nodad &&
	rdma link add second type "$DEVICE" netdev veth2 &&
	wait_for 20 is_usable second
}

remove_second_device()
{
	rdma link del second
	ip link del veth2
}

pinging()
{
	grep -q '^ping data' "$WORK/$1.out" || stopped_or_stuck "$1"
}

# connected_on DEVICE: it has the QPs of both sides. (siw of Linux 6.1 reports no state.)
connected_on()
{
	local n state=RTS
	[[ $DEVICE != siw || $(uname -r) != 6.1.* ]] || state=
	n=$(rdma resource show qp link "$1" | grep -c "type RC state $state")
	((n == 2)) || problem "$n connected QPs on $1, not 2"
}

# wildcard_case PAIR WILDCARD ADDRESS-ON-FIRST ADDRESS-ON-SECOND
wildcard_case()
{
	local pair=$1 addr=$2 clients=(first second) name i
	local to=("$3" "$4")
	begin "rping -a $addr, clients on two devices, server ${pair%:*}, clients ${pair#*:}"
	server "${pair%:*}" rping -s -P -a "$addr" -p "$PORT" -S 4096 -v
	# (Each client is stopped in mid-run, as in rping.sh.)
	for i in 0 1; do
		name=${clients[i]}
		start "${pair#*:}" "$name" rping -c -a "${to[i]}" -p "$PORT" \
			-C $LONG -S 4096 -v -V
		wait_for 30 pinging "$name" || no_progress "$name: no pings"
		kill -STOP "${pids[$name]}"
	done
	connected_on "$RDMA_DEV"
	connected_on second
	for name in "${clients[@]}"; do
		kill -CONT "${pids[$name]}"
	done
	for name in "${clients[@]}"; do
		finish "$name"
		expect_status "$name" 0
		expect_lines "$name" $LONG '^ping data: rdma-ping-[0-9]+: '
	done
	terminate server
	end
}

second_device || { echo "no second device"; exit 1; }
new_baseline
for pair in "${PAIRS[@]}"; do
	wildcard_case "$pair" 0.0.0.0 "$RDMA_ADDR" 10.43.0.1
	wildcard_case "$pair" :: "$RDMA_ADDR6" fd43::1
done
remove_second_device

# ---- two namespaces

# siw only: rxe's sockets are in the initial namespace. (Up to Linux 6.18.)
two_namespaces()
{
	local side
	for side in 1 2; do
		ip netns add side$side || return 1
	done
	ip link add ns1 netns side1 type veth peer name ns2 netns side2 ||
		return 1
	for side in 1 2; do
		ip -n side$side link set lo up &&
		ip -n side$side addr add 10.44.0.$side/24 dev ns$side &&
		ip -n side$side -6 addr add fd44::$side/64 dev ns$side nodad &&
		ip -n side$side link set ns$side up &&
		ip netns exec side$side rdma link add siw_ns$side type siw \
			netdev ns$side || return 1
	done
}

no_siw()
{
	! rdma link | grep -q siw_ns
}

# The end of a namespace removes its netdev, and so the device.
remove_namespaces()
{
	ip netns del side1
	ip netns del side2
	wait_for 20 no_siw || echo "# devices of the namespaces are left"
}

# namespaces_case PAIR ADDRESS
namespaces_case()
{
	local pair=$1 addr=$2
	begin "rping to $addr in another network namespace, server ${pair%:*}, client ${pair#*:}"
	server "${pair%:*}" ip netns exec side2 \
		rping -s -a "$addr" -p "$PORT" -C $PINGS -v
	client "${pair#*:}" ip netns exec side1 \
		rping -c -a "$addr" -p "$PORT" -C $PINGS -v -V
	both_succeed
	expect_lines client $PINGS '^ping data: rdma-ping-[0-9]+: '
	expect_lines server $PINGS '^server ping data: rdma-ping-[0-9]+: '
	end
}

if modprobe -q siw; then
	two_namespaces || { echo "no devices in namespaces"; exit 1; }
	new_baseline
	for pair in "${PAIRS[@]}"; do
		namespaces_case "$pair" 10.44.0.2
		namespaces_case "$pair" fd44::2
	done
	remove_namespaces
else
	skip "two network namespaces" "no siw for this kernel"
fi

# ---- devices that belong to another namespace

# hidden_case STACK
hidden_case()
{
	local stack=$1
	begin "devices of another network namespace are hidden, $stack"
	start "$stack" devices ip netns exec side1 ibv_devices
	finish devices
	expect_status devices 0
	expect_lines devices 0 "$RDMA_DEV"
	client "$stack" ip netns exec side1 rping -c -v -a "$RDMA_ADDR" -C 1
	expect_status client 19		# ENODEV
	expect_error client "No RDMA devices"
	end
}

# Possible only without other namespaces, which the kernel removes asynchronously.
netns_mode()
{
	rdma system set netns "$1" 2>/dev/null
}

wait_for 20 netns_mode exclusive || { echo "no exclusive mode"; exit 1; }
ip netns add side1
new_baseline
[[ -n ${STOCK:-} ]] || hidden_case ours
hidden_case stock
ip netns del side1
wait_for 20 netns_mode shared || echo "# still in exclusive mode"

new_baseline
finish_tests
