#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Runs the tests of the kernel API (selftests/ulp/ktest), which run in the kernel, one after
# another, passes on their KTAP, and compares the kernel's objects after groups of them.
#
#   ktest.sh [PATTERN]	tests whose name matches the shell pattern

# shellcheck source=selftests/clients/common.sh
. "$(dirname "$0")/common.sh"

KTEST=/sys/kernel/debug/rdma_ep_ktest
GROUP=16	# tests until the kernel's objects are compared; PATTERN finds the test of a group
HELPER=$(cd "$(dirname "$0")" && pwd)/ktest_device.sh

if [[ -n ${STOCK:-} ]]; then
	echo "1..0 # SKIP tests of rdma_ep's kernel API"
	exit 4
fi

# load [ADDR]
load()
{
	modprobe rdma_ep_ktest addr="${1:-$RDMA_ADDR}" addr6="$RDMA_ADDR6" kind="$DEVICE" \
		helper="$HELPER"
}

unload()
{
	rmmod rdma_ep_ktest rdma_ep
}

# Runs a test, without a process, as processes are expensive in a guest. Sets result to its verdict
# without the number.
run()
{
	local line
	result=
	echo "ktest: begin $1" > /dev/kmsg
	echo "$1" > "$KTEST/run" || return
	while IFS= read -r line; do
		if [[ $line == "#"* ]]; then
			echo "$line"
		elif [[ $line =~ ^(ok|not\ ok)\ [0-9]+\ (.*) ]]; then
			result="${BASH_REMATCH[1]} ${BASH_REMATCH[2]}"
		fi
	done < "$KTEST/results"
}

# The kernel warns once per load: the first test after a load has exactly one warning, between the
# announcement and its end, which names the caller. The next tests have none.
expect_warning()
{
	local log n
	log=$(dmesg | awk '/ktest: begin/ { text = ""; on = 0 }
		/rig: splats expected/ { on = 1 }
		on { text = text $0 "\n" }
		/rig: splats over/ { on = 0 }
		END { printf "%s", text }')
	n=$(grep -c 'WARNING: ' <<< "$log")
	((n == warnings)) || problem "$n warnings, not $warnings"
	((!warnings)) || [[ $log =~ rdma_ep:\ called\ by\ [a-z_]*\+[^\ ]*\ \[rdma_ep_ktest\] ]] ||
		problem "no warning that names the caller"
	[[ ! $log =~ BUG:|Oops|KASAN ]] || problem "not only a warning"
	warnings=0
}

# Number of warnings of the next context_* test; empty before the first one
warnings=

# Each endpoint holds a reference to rdma_ep, and so does rdma_ep_ktest.
no_endpoints()
{
	local refs
	read -r refs < /sys/module/rdma_ep/refcnt
	((refs == 1))
}

# Endpoints that are left would call functions of the unloaded rdma_ep_ktest.
no_endpoints_or_bail()
{
	! no_endpoints || return 0
	printf '# %s\n' "${problems[@]}"
	echo "Bail out! rdma_ep_ktest cannot be unloaded"
	exit 1
}

# Tests since the last comparison of objects
group=()

# Compares the kernel's objects, which takes longer than most tests.
compare()
{
	((${#group[@]})) || return 0
	begin "nothing is left of ${group[0]}${group[1]:+ to ${group[-1]}}"
	end
	group=()
}

# run_test NAME
run_test()
{
	local name=$1
	if [[ $name == context_* && ! $warnings ]]; then
		unload && load || echo "# cannot reload"
		warnings=1
	fi
	problems=()
	run "$name" || problems=("cannot be run")
	group+=("$name")
	case $result in
	"ok $name # SKIP "*)
		skip "$name" "${result#* # SKIP }"
		return ;;
	"ok $name")
		[[ $name != context_* ]] || expect_warning ;;
	*)
		problem "in the kernel: ${result:-no result}" ;;
	esac
	wait_for "$CLEAN_LIMIT" no_endpoints || problem "it leaves endpoints"
	tests=$((tests + 1))
	if ((${#problems[@]})); then
		failures=$((failures + 1))
		echo "not ok $tests $name"
		no_endpoints_or_bail
		printf '# %s\n' "${problems[@]}"
	else
		echo "ok $tests $name"
	fi
	((${#group[@]} < GROUP)) || compare
}

unloaded_baseline=$baseline
load || { echo "Bail out! cannot load rdma_ep_ktest"; exit 1; }
baseline=$(held)

# Lockdep is off after its first report: run these on request only, on the debug kernel
while read -r -u 3 name; do
	[[ $name != lockdep_* || ${1:-} == lockdep_* ]] || continue
	# shellcheck disable=SC2053
	[[ $name != ${1:-*} ]] || run_test "$name"
done 3< <(cat "$KTEST/list")
compare

# The mock device calls handlers in interrupts. Tests that make devices or need IPv6 are left out.
begin "mock device: the tests of connections and their ends"
rmmod rdma_ep_ktest
bash "$HELPER" "$DEVICE" add-mock || problem "no mock device"
load 10.77.0.1 || problem "cannot load rdma_ep_ktest"
while read -r -u 3 name; do
	# shellcheck disable=SC2053
	[[ $name == ${1:-*} ]] || continue
	run "$name" || problem "$name: cannot be run"
	[[ $result == "ok $name" ]] || problem "$name: ${result:-no result}"
	wait_for "$CLEAN_LIMIT" no_endpoints || problem "$name leaves endpoints"
	no_endpoints_or_bail
done 3< <(grep -E '^((end|abort|callback|connect|flushed)_|option_cqs|drain|send_slots)' \
	"$KTEST/list" | grep -Ev 'removal|ipv6')
rmmod rdma_ep_ktest
bash "$HELPER" "$DEVICE" clean || problem "the mock device stays"
load || problem "cannot load rdma_ep_ktest"
end

begin "rmmod rdma_ep is refused while a consumer is loaded"
rmmod rdma_ep 2>/dev/null && problem "it is gone"
[[ -d /sys/module/rdma_ep ]] || problem "it is gone"
end

rmmod rdma_ep_ktest
baseline=$unloaded_baseline
finish_tests
