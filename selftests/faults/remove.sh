#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Removal of the device under a process with all kinds of objects, waits and traffic: by its name,
# with its network device, with its driver. All waits end with an error, and a SIGKILL or exit of
# the process at the same moment does no harm.

# shellcheck source=selftests/clients/common.sh
. "$(dirname "$0")/../clients/common.sh"
# shellcheck source=selftests/faults/common.sh
. "$(dirname "$0")/common.sh"

trap 'ip link del "$FAULT_NETDEV" 2>/dev/null; rm -rf "$WORK"' EXIT

gone()
{
	wait_for $((2 * BOUND)) unplugged ||
		problem "round $round: $FAULT_DEV does not go"
}

by_name()
{
	rdma link delete "$FAULT_DEV" || problem "round $round: link delete"
	gone
}

with_netdev()
{
	ip link del "$FAULT_NETDEV" || problem "round $round: ip link del"
	gone
}

with_driver()
{
	rmmod "$(driver_of "$DEVICE")" || problem "round $round: rmmod"
	gone
}

# has_opened PID: true if the process has opened the device, to create objects
has_opened()
{
	find "/proc/$1/fd" -lname '*/rdma_ep' 2>/dev/null | grep -q .
}

# one_removal HOW
one_removal()
{
	local statuses_allowed=(0) delay=0.0$((RANDOM % 50 + 10))
	RDMA_DEV=$FAULT_DEV load zoo zoo "$SEED" "${ZOO[@]}"
	wait_for 20 has_opened "${pids[zoo]}"
	# Possibly while objects are created
	ready_or_early zoo 4 300
	if one_in 3; then
		# In either order
		(sleep "$delay"; kill -KILL "${pids[zoo]}" 2>/dev/null) &
		statuses_allowed+=(137)
	elif one_in 3; then
		(sleep "$delay"; kill -TERM "${pids[zoo]}" 2>/dev/null) &
		statuses_allowed+=(143)
	fi
	timed "removal" "$BOUND" "$1"
	ended zoo "the end of the process after it" "${statuses_allowed[@]}"
}

# siw cannot be unloaded under QPs (ep_qp_module()), but as soon as they are destroyed.
one_refusal()
{
	RDMA_DEV=$FAULT_DEV load zoo zoo "$SEED" "${ZOO[@]}"
	wait_ready zoo
	pause 300
	refused "$(driver_of "$DEVICE")"
	kill -KILL "${pids[zoo]}"
	unload_after_kill "$(driver_of "$DEVICE")"
	ended zoo "SIGKILL until the parent knows" 137
	gone
}

unplug_rest()
{
	ip link del "$FAULT_NETDEV" 2>/dev/null
	unplugged || rdma link delete "$FAULT_DEV"
}

# removed HOW: removes only the device
removed()
{
	plug || problem "round $round: no device"
	one_removal "$1"
	unplug_rest
}

link_deleted()
{
	fault "rdma link delete, everything alive" removed by_name
}

netdev_deleted()
{
	local name="ip link del, everything alive"
	# Without the route a MAD fails. If ib_mad posts it again after that, rxe of 6.1 never
	# completes it (RXE-12), and rdma_destroy_id() waits forever.
	if [[ $DEVICE == rxe && $(uname -r) == 6.1.* ]]; then
		skip "$name" "rxe of Linux 6.1 loses MADs when the route goes"
		return
	fi
	fault "$name" removed with_netdev
}

# All devices of the driver are removed, including the one under test, so the bystander has one of
# the other driver.
other=siw
[[ $DEVICE != siw ]] || other=rxe
other_device()
{
	modprobe -q "$(driver_of "$other")" &&
	ip link add epo0 type veth peer name epo1 &&
	ip link set epo1 up && ip link set epo0 up &&
	ip addr add 10.93.0.1/24 dev epo0 &&
	add_link "$other" epother epo0 10.93.0.1
}

unloaded()
{
	plug || problem "round $round: no device"
	if [[ $DEVICE == siw ]]; then
		one_refusal
	else
		one_removal with_driver
	fi
	unplugged "$RDMA_DEV" || problem "round $round: $RDMA_DEV stays"
	unplug_rest
	add_device || problem "round $round: $RDMA_DEV does not come back"
}

# SIW-22
driver_unloaded()
{
	local name
	name="rmmod $(driver_of "$DEVICE"), everything alive"
	# With lockdep, QPs of newer versions of rxe hold the module, and each device has a QP (see
	# rxe_reclassify_send_socket()).
	if [[ $DEVICE == rxe && $(<"/sys/module/rdma_rxe/refcnt") != 0 && -e /proc/lockdep_stats ]]
	then
		skip "$name" "rxe is in use by its devices alone: this kernel has lockdep"
		return
	fi
	begin "$name"
	if other_device; then
		driver_baseline=$baseline
		baseline=$(held)
		bystander_begin epother
		rounds unloaded
		bystander_end
		rdma link delete epother
		ip link del epo0
		modprobe -r "$(driver_of "$other")" 2>/dev/null
		baseline=$driver_baseline
	else
		problem "no device of $other for a bystander"
	fi
	end
}

link_deleted
netdev_deleted
driver_unloaded
finish_tests
