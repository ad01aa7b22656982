#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The kernel API's tests (selftests/ulp/ktest), which run in the kernel: one after
# another, their KTAP passed on, with what the kernel holds compared after each.
#
#   ktest.sh [PATTERN]	those whose name matches the shell pattern

# shellcheck source=selftests/clients/common.sh
. "$(dirname "$0")/common.sh"

KTEST=/sys/kernel/debug/rdma_ep_ktest
HELPER=$(cd "$(dirname "$0")" && pwd)/ktest_device.sh

if [[ -n ${STOCK:-} ]]; then
	echo "1..0 # SKIP tests of rdma_ep's kernel API"
	exit 4
fi

load()
{
	modprobe rdma_ep && modprobe rdma_ep_ktest addr="$RDMA_ADDR" \
		addr6="$RDMA_ADDR6" kind="$DEVICE" helper="$HELPER"
}

unload()
{
	rmmod rdma_ep_ktest && rmmod rdma_ep
}

# The module's verdict on the last test, without number.
verdict()
{
	sed -nE 's/^(not ok|ok) [0-9]+ /\1 /p' "$KTEST/results"
}

notes()
{
	grep '^#' "$KTEST/results"
}

# Exactly one warning since the test began, between its announcement and the end of
# that, and it names the caller.
expect_warning()
{
	local log
	log=$(dmesg | tac | sed '/ktest: begin/q' | tac |
		sed -n '/rig: splats expected/,/rig: splats over/p')
	(($(grep -c 'WARNING: ' <<< "$log") == 1)) ||
		problem "not one warning, but $(grep -c 'WARNING: ' <<< "$log")"
	grep -q 'rdma_ep: called by [a-z_]*+[^ ]* \[rdma_ep_ktest\]' <<< "$log" ||
		problem "no warning that names the caller"
	if grep -Eq 'BUG:|Oops|KASAN' <<< "$log"; then
		problem "not only a warning"
	fi
}

# run_test NAME
run_test()
{
	local name=$1 result
	echo "ktest: begin $name" > /dev/kmsg
	begin "$name"
	# It warns once a load.
	if [[ $name == context_* ]]; then
		unload
		load || problem "cannot reload"
	fi
	echo "$name" > "$KTEST/run" || problem "cannot be run"
	result=$(verdict)
	notes
	case $result in
	"ok $name # SKIP "*)
		skip "$name" "${result#* # SKIP }"
		return ;;
	"ok $name")
		[[ $name != context_* ]] || expect_warning ;;
	*)
		problem "in the kernel: ${result:-no result}" ;;
	esac
	end
}

unloaded_baseline=$baseline
load || { echo "Bail out! cannot load rdma_ep_ktest"; exit 1; }
baseline=$(held)

# Lockdep reports once and is off then: only on request, on the debug kernel
while read -r -u 3 name; do
	[[ $name != lockdep_* || ${1:-} == lockdep_* ]] || continue
	# shellcheck disable=SC2053
	[[ $name != ${1:-*} ]] || run_test "$name"
done 3< <(cat "$KTEST/list")

begin "rmmod rdma_ep is refused while a consumer is loaded"
rmmod rdma_ep 2>/dev/null && problem "it is gone"
[[ -d /sys/module/rdma_ep ]] || problem "it is gone"
end

rmmod rdma_ep_ktest
baseline=$unloaded_baseline
finish_tests
