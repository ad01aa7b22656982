#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Without the module, programs print one line that names the missing node and the remedy.

# shellcheck source=selftests/clients/common.sh
. "$(dirname "$0")/common.sh"

not_on_stock "without the module"

# no_module_case PROGRAM ARGS...
no_module_case()
{
	local n
	begin "rdma-ep-run $1 without the module"
	rmmod rdma_ep || problem "rmmod failed"
	start ours client "$@"
	finish client 20
	modprobe rdma_ep || problem "modprobe failed"
	((statuses[client] != 0)) || problem "exit status 0"
	((statuses[client] < 128)) || problem "died of a signal"
	n=$(grep -c '/dev/infiniband/rdma_ep' "$WORK/client.err")
	((n == 1)) || problem "$n lines name the device node, not 1"
	grep '/dev/infiniband/rdma_ep' "$WORK/client.err" |
		grep -q 'modprobe rdma_ep' ||
		problem "the line does not name 'modprobe rdma_ep'"
	end
}

no_module_case rping -c -a "$RDMA_ADDR" -C 1
no_module_case rdma_client -s "$RDMA_ADDR"
no_module_case ucmatose -s "$RDMA_ADDR"

finish_tests
