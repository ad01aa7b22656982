#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The last test on a debug kernel: is lockdep still on, and has memory leaked since
# instruments.sh? The objects that kmemleak has found are written to /results/kmemleak,
# which the host judges like the kernel's log.

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

# kmemleak reports objects that are at least 5 seconds old and unreferenced in two scans.
scan()
{
	sleep 6
	echo scan > $LEAKS && sleep 1 && echo scan > $LEAKS
}

# A report of lockdep or KASAN turns lockdep off. The host accepts known reports of drivers, and
# any other report fails the run.
if grep -q 'debug_locks: *1' /proc/lockdep_stats; then
	result 0 "lockdep is still on"
elif dmesg | grep -qE 'WARNING:|BUG:'; then
	result 0 "lockdep is still on # SKIP a report of the kernel, see there, has ended it"
else
	result 1 "lockdep is still on"
fi
# An object that only the module's memory references is unreferenced after rmmod. So one scan,
# which reads all memory in use, finds these objects as well.
rmmod rdma_ep
result $? "rmmod rdma_ep"
rdma link delete "$RDMA_DEV" && modprobe -r "${DEVICE/rxe/rdma_rxe}"
result $? "rmmod of the device's driver"
if grep -qw kmemleak=off /proc/cmdline; then
	result 0 "scanned # SKIP kmemleak is off in this cell"
else
	scan && cat $LEAKS > /results/kmemleak
	result $? "scanned, $(grep -c '^unreferenced object' /results/kmemleak) unreferenced objects, for the host to judge"
fi

modprobe "${DEVICE/rxe/rdma_rxe}" &&
	rdma link add "$RDMA_DEV" type "$DEVICE" netdev "$RDMA_NETDEV" &&
	modprobe rdma_ep
result $? "loaded again"
echo "1..$tests"
((failures == 0))
