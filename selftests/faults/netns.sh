#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Deletion of the network namespace of a process, or of its device.

# shellcheck source=selftests/clients/common.sh
. "$(dirname "$0")/../clients/common.sh"
# shellcheck source=selftests/faults/common.sh
. "$(dirname "$0")/common.sh"

NS=epfault
NS_ADDR=10.94.0.1
# The deletion of a namespace waits for that of other namespaces, and for RCU.
NS_BOUND=$((BOUND + 20))

trap 'ip netns del "$NS" 2>/dev/null; rm -rf "$WORK"' EXIT

# inhabit KIND: creates the namespace with a device in it
inhabit()
{
	ip netns add $NS &&
	ip link add epn0 netns $NS type veth peer name epn1 netns $NS &&
	ip -n $NS link set lo up && ip -n $NS link set epn1 up &&
	ip -n $NS link set epn0 up &&
	ip -n $NS addr add $NS_ADDR/24 dev epn0 &&
	add_link "$1" $FAULT_DEV epn0 $NS_ADDR ip netns exec $NS
}

# Up to Linux 6.18, rxe receives only in the initial namespace.
rxe_listens()
{
	[[ -n $(ip netns exec $NS ss -Huln 'sport = :4791') ]]
}

namespace_gone()
{
	wait_for $((2 * NS_BOUND)) unplugged ||
		problem "round $round: $FAULT_DEV does not go"
}

# in_namespace MODE ARGS...
in_namespace()
{
	unset "statuses[zoo]"
	RDMA_DEV=$FAULT_DEV start stock zoo ip netns exec "$NS" "$LOAD" "$@"
}

kind=$DEVICE
if [[ $kind == rxe ]]; then
	inhabit rxe && rxe_listens || kind=siw
	ip netns del "$NS"
	wait_for 30 unplugged || echo "# $FAULT_DEV is left"
fi
modprobe -q "$(driver_of "$kind")" || {
	skip "network namespaces" "rxe can not do without the first one here, and there is no siw"
	finish_tests
}
faults_of "$kind"
echo "# devices of $kind"
baseline=$(held)

# Ids belong to a namespace, and keep it. Its name is deleted first; the rest follows after the
# process is killed.
processes_in_namespace()
{
	inhabit "$kind" || problem "round $round: no device"
	in_namespace zoo "$SEED" "${ZOO[@]}"
	ready_or_early zoo 2 1000
	if one_in 2; then
		timed "ip netns del" 5 ip netns del "$NS"
		pause 300
		kill -KILL "${pids[zoo]}"
	else
		kill -KILL "${pids[zoo]}"
		timed "ip netns del" 5 ip netns del "$NS"
	fi
	ended zoo "SIGKILL until the parent knows" 137
	timed "the end of the namespace" "$NS_BOUND" namespace_gone
}

# The process has opened the device, but runs in another namespace and has no ids.
device_in_namespace()
{
	inhabit "$kind" || problem "round $round: no device"
	in_namespace leave "$SEED"
	wait_ready zoo
	pause 200
	ip netns del "$NS"
	timed "the end of the namespace" "$NS_BOUND" namespace_gone
	ended zoo "the end of the process after it" 0
	says zoo gone || problem "round $round: the process was not told"
}

fault "ip netns del with processes in it, which are killed" processes_in_namespace
fault "ip netns del with a device in it that is in use from outside" device_in_namespace
[[ $kind == "$DEVICE" ]] || modprobe -r "$(driver_of "$kind")" 2>/dev/null
finish_tests
