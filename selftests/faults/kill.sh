#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# SIGKILL at random moments, and attempts to unload the module, under a process with all kinds of
# objects, waits and traffic.

# shellcheck source=selftests/clients/common.sh
. "$(dirname "$0")/../clients/common.sh"
# shellcheck source=selftests/faults/common.sh
. "$(dirname "$0")/common.sh"

killed()
{
	load zoo zoo "$SEED" "${ZOO[@]}"
	ready_or_early zoo 2 1500
	((round % 2 == 0)) || refused rdma_ep
	kill -KILL "${pids[zoo]}"
	ended zoo "SIGKILL until the parent knows" 137
	! one_in 2 || refused rdma_ep
}

killed_and_unloaded()
{
	load zoo zoo "$SEED" "${ZOO[@]}"
	ready_or_early zoo 2 700
	kill -KILL "${pids[zoo]}"
	unload_after_kill rdma_ep
	ended zoo "SIGKILL until the parent knows" 137
	[[ $(held) == "$baseline" ]] || problem "round $round: more is held"
	modprobe rdma_ep
}

fault "SIGKILL at random moments, rmmod rdma_ep refused" killed

# (A bystander would hold the module.)
begin "SIGKILL and rmmod rdma_ep at once"
rounds killed_and_unloaded
end
finish_tests
