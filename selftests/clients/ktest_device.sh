# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# ktest_device.sh KIND COMMAND: a helper of the kernel tests. The kernel runs it as a usermode
# helper, so its only state is the devices that it makes.
#
#   add		a second device of that kind, ktdev, on a netdev with 10.77.0.1
#   add-mock	the same, of the mock device
#   fail OP ERRNO TIMES AFTER	TIMES calls of the mock device's operation fail, after AFTER calls
#   stall OP CALLS	the next CALLS calls of that operation wait; 0: those that wait continue
#   event TYPE qp NUMBER	the mock device raises that event
#   del		remove the device
#   del-netdev	remove the netdev, and so the device
#   plain	a netdev with 10.78.0.1, without a device
#   netns	a network namespace, ktest
#   netns-siw	the same with a siw device and 10.79.0.1
#   clean	remove all of these that are left

kind=$1
MOCK=/sys/kernel/debug/rdma_ep_mock

# until_true SECONDS COMMAND...
until_true()
{
	local end=$((SECONDS + $1))
	shift
	until "$@"; do
		((SECONDS < end)) || return 1
		sleep 0.1
	done
}

netdev()
{
	ip -batch - <<- END
		link add ktv0 type veth peer name ktv1
		link set ktv1 up
		link set ktv0 up
		addr add $1/24 dev ktv0
	END
}

has_gid()
{
	local i gid
	for ((i = 0; i < 16; i++)); do
		# ::ffff:10.77.0.1
		{ read -r gid < "/sys/class/infiniband/ktdev/ports/1/gids/$i"; } 2>/dev/null &&
			[[ $gid == *:ffff:0a4d:0001 ]] && return
	done
	return 1
}

gone()
{
	[[ ! -e /sys/class/infiniband/ktdev && ! -e /sys/class/net/ktv0 ]] &&
		{ [[ ! $netns ]] || ! rdma link | grep -q ktns; }
}

case $2 in
add)
	netdev 10.77.0.1 &&
	rdma link add ktdev type "$kind" netdev ktv0 || exit 1
	[[ $kind != rxe ]] || until_true 20 has_gid ;;
add-mock)
	modprobe -q rdma_ep_mock &&
	netdev 10.77.0.1 &&
	echo "ktdev ktv0" > $MOCK/new &&
	until_true 20 has_gid ;;
fail)
	echo "$4 $5 $6" > "$MOCK/ktdev/fail/$3" ;;
stall)
	echo "$4" > "$MOCK/ktdev/stall/$3" ;;
event)
	echo "$3 $4 $5" > "$MOCK/ktdev/event" ;;
del)
	rdma link del ktdev ;;
del-netdev)
	ip link del ktv0 &&
	until_true 30 gone ;;
plain)
	netdev 10.78.0.1 ;;
netns)
	ip netns add ktest ;;
netns-siw)
	modprobe -q siw &&
	ip netns add ktest &&
	ip link add ktv0 netns ktest type veth peer name ktv1 netns ktest &&
	ip -n ktest link set lo up &&
	ip -n ktest link set ktv1 up &&
	ip -n ktest link set ktv0 up &&
	ip -n ktest addr add 10.79.0.1/24 dev ktv0 &&
	ip netns exec ktest rdma link add ktns type siw netdev ktv0 ;;
clean)
	[[ ! -e $MOCK/ktdev ]] || echo ktdev > $MOCK/del
	[[ ! -e $MOCK ]] || rmmod rdma_ep_mock
	[[ ! -e /sys/class/infiniband/ktdev ]] || rdma link del ktdev
	[[ ! -e /sys/class/net/ktv0 ]] || ip link del ktv0
	netns=
	[[ ! -e /run/netns/ktest ]] || { netns=ktest && ip netns del ktest; }
	until_true 20 gone ;;
*)
	echo "no such command: $2" >&2
	exit 2 ;;
esac
