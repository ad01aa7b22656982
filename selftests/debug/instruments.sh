#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The first test on a debug kernel: checks that all instruments exist and are on.
# ("KERNEL=debug rig selftest" shows that each detects errors.) Then it clears kmemleak,
# so that leaks.sh finds only leaks of the tests.

D=/sys/kernel/debug
tests=0
failures=0

# check WHAT COMMAND...
check()
{
	local what=$1 not=
	shift
	"$@" >/dev/null 2>&1 || { not="not "; failures=$((failures + 1)); }
	echo "${not}ok $((++tests)) $what"
}

symbol()
{
	grep -q " $1\$" /proc/kallsyms
}

# module_calls MODULE FUNCTION: does the module call this function of an instrument?
module_calls()
{
	nm -u "$(modinfo -n "$1")" | grep -q " $2"
}

# On a single CPU only preemption makes tasks concurrent.
cpus()
{
	(($(nproc) == GUEST_CPUS))
}

lockdep()
{
	grep -q 'debug_locks: *1' /proc/lockdep_stats
}

# The next allocation of the subshell fails, and with it open(2).
fail_nth()
{
	! (echo 1 > /proc/self/fail-nth && : < /dev/infiniband/rdma_ep) &&
		: < /dev/infiniband/rdma_ep
}

check "as many CPUs as the guest was given" cpus
if [[ $KERNEL == kcsan ]]; then
	check "KCSAN is on" grep -q 'enabled: 1' $D/kcsan
	check "KCSAN in rdma_ep" module_calls rdma_ep __tsan_read8
else
	check "KASAN in the kernel" symbol __asan_report_load8_noabort
	check "KASAN in rdma_ep" module_calls rdma_ep __asan_report_load8_noabort
	check "KASAN in the device's driver" \
		module_calls "${DEVICE/rxe/rdma_rxe}" __asan_report_load8_noabort
fi
check "lockdep, and no report turned it off" lockdep
check "sleeping in atomic context is reported" symbol __might_resched
check "UBSAN in rdma_ep" module_calls rdma_ep __ubsan_handle
check "debug objects" test -r $D/debug_objects/stats
check "KCOV" test -w $D/kcov
check "KCOV in rdma_ep" module_calls rdma_ep __sanitizer_cov_trace_pc
for fault in failslab fail_page_alloc fail_usercopy fail_function; do
	check "fault injection: $fault" test -d "$D/$fault"
done
check "fault injection: fail-nth" fail_nth
if grep -qw kmemleak=off /proc/cmdline; then
	echo "ok $((++tests)) kmemleak # SKIP off in this cell: everything takes half the time"
else
	check "kmemleak, cleared" sh -c "echo clear > $D/kmemleak"
fi
echo "1..$tests"
((failures == 0))
