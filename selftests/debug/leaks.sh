#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The last test on a debug kernel: did lockdep watch until now, and has memory
# been lost since instruments.sh? What kmemleak found goes to /results/kmemleak,
# which the host judges as it does the kernel's log.

LEAKS=/sys/kernel/debug/kmemleak
tests=0
failures=0

# result STATUS WHAT
result()
{
	local not=
	(($1 == 0)) || { not="not "; failures=$((failures + 1)); }
	echo "${not}ok $((++tests)) $2"
}

# kmemleak only speaks of what is at least 5 seconds old, and takes what it sees
# for the first time for a coincidence.
scan()
{
	sleep 6
	echo scan > $LEAKS && sleep 1 && echo scan > $LEAKS
}

# lockdep ends with its first report, and with KASAN's: the host knows those of the drivers,
# and any other fails the run.
if grep -q 'debug_locks: *1' /proc/lockdep_stats; then
	result 0 "lockdep is still on"
elif dmesg | grep -qE 'WARNING:|BUG:'; then
	result 0 "lockdep is still on # SKIP a report of the kernel, see there, has ended it"
else
	result 1 "lockdep is still on"
fi
scan
result $? "scanned with everything loaded"
# What is only known to the module is lost without it.
rmmod rdma_ep
result $? "rmmod rdma_ep"
rdma link delete "$RDMA_DEV" && modprobe -r "${DEVICE/rxe/rdma_rxe}"
result $? "rmmod of the device's driver"
scan
result $? "scanned without them"
cat $LEAKS > /results/kmemleak
result $? "$(grep -c '^unreferenced object' /results/kmemleak) unreferenced objects, for the host to judge"

modprobe "${DEVICE/rxe/rdma_rxe}" &&
	rdma link add "$RDMA_DEV" type "$DEVICE" netdev "$RDMA_NETDEV" &&
	modprobe rdma_ep
result $? "loaded again"
echo "1..$tests"
((failures == 0))
