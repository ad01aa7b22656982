#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# SIGKILL at random moments, and attempts to unload the module, while a process
# holds, waits for and sends whatever it can.

# shellcheck source=selftests/clients/common.sh
. "$(dirname "$0")/../clients/common.sh"
# shellcheck source=selftests/faults/common.sh
. "$(dirname "$0")/common.sh"

# The module stays as long as anybody has it open, and says so at once.
try_rmmod()
{
	! timed "a refused rmmod" 2 rmmod rdma_ep 2>"$WORK/rmmod" ||
		problem "round $round: rdma_ep was unloaded while it was in use"
	grep -q 'in use' "$WORK/rmmod" ||
		problem "round $round: rmmod says: $(<"$WORK/rmmod")"
}

killed()
{
	begin "SIGKILL at random moments, rmmod rdma_ep refused"
	bystander_begin
	rounds_begin
	while another_round; do
		load zoo zoo "$SEED"
		if one_in 2; then
			wait_ready zoo
			pause 300
		else
			pause 1500
		fi
		! one_in 2 || try_rmmod
		kill -KILL "${pids[zoo]}"
		ended zoo "SIGKILL until the parent knows" 137
		! one_in 2 || try_rmmod
		timed "SIGKILL until nothing is held" "$BOUND" expect_clean
	done
	rounds_report
	bystander_end
	end
}

# The last reference is being given up when it is tried.
unload()
{
	until rmmod rdma_ep 2>"$WORK/rmmod"; do
		grep -q 'in use' "$WORK/rmmod" || return 1
		((SECONDS < $1)) || return 1
	done
}

killed_and_unloaded()
{
	begin "SIGKILL, and rmmod rdma_ep in the same moment"
	rounds_begin
	while another_round; do
		load zoo zoo "$SEED"
		! one_in 2 || wait_ready zoo
		pause 700
		kill -KILL "${pids[zoo]}"
		timed "rmmod after SIGKILL" "$BOUND" unload $((SECONDS + 2 * BOUND)) ||
			problem "round $round: rmmod: $(<"$WORK/rmmod")"
		ended zoo "SIGKILL until the parent knows" 137
		[[ $(held) == "$baseline" ]] || problem "round $round: more is held"
		modprobe rdma_ep
	done
	rounds_report
	end
}

killed
killed_and_unloaded
finish_tests
