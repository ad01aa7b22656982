#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Programs in containers: a root directory with the programs, the shared libraries that they are
# linked with, librdma_ep.so.1 and one device node; an unprivileged user with a small
# RLIMIT_MEMLOCK; no /proc, no /sys. See contain.c.
#
# The first cases use two software iWARP devices, each in a container's own network namespace, with
# neither ib_uverbs nor rdma_ucm in the kernel (but on 6.12 siw needs ib_uverbs). The next cases use
# rxe, which works only in the host's network namespace and needs ib_uverbs.

# shellcheck source=selftests/clients/common.sh
. "$(dirname "$0")/common.sh"

# shellcheck source=selftests/clients/contained.sh
. "$(dirname "$0")/contained.sh"

OPTIONS=()		# more of them for contain

# ---- contents of the containers

# Makes a root with programs linked with librdma_ep. It leaves out those that test the stock
# libraries next to it, read /proc, make a mock device, or set a module parameter.
make_linked()
{
	local root=$WORK/linked
	mapfile -t LINKED < <(grep -Eo '^(cm|verbs|srq)_[a-z0-9_]+ ' \
		"$TESTS/kselftest-list.txt" | tr -d ' ' |
		grep -Evx 'cm_adopt|cm_rsocket|cm_pace|verbs_foreign|verbs_mr|verbs_xrc')
	make_root "$root" && copy_in "$root" "${LINKED[@]/#/$TESTS/}" &&
	[[ -z $(find "$root" -name 'libibverbs*' -o -name 'librdmacm*') ]]
}

# ---- stacks (see common.sh)

# contained OPTIONS... -- PROGRAM ARGS...
contained()
{
	local options=("${OPTIONS[@]}" -m "$MEMLOCK")
	while [[ $1 != -- ]]; do
		options+=("$1")
		shift
	done
	exec env -i LD_PRELOAD=librdma_ep.so.1 "$TESTS/contain" "${options[@]}" \
		"$WORK/image" "$CONTAINER_UID" "/usr/bin/$2" "${@:3}"
}

on_c1()
{
	contained -n /run/netns/c1 -- "$@"
}

on_c2()
{
	contained -n /run/netns/c2 -- "$@"
}

# With the host's network
on_c3()
{
	contained -- "$@"
}

# The same in a user namespace
on_rootless()
{
	contained -u -- "$@"
}

on_linked()
{
	exec env -i RDMA_ADDR="$RDMA_ADDR" RDMA_ADDR6="$RDMA_ADDR6" \
		"$TESTS/contain" -m "$MEMLOCK" "$WORK/linked" \
		"$CONTAINER_UID" "$TESTS/$1"
}

# Checks that a running program is contained.
expect_contained()
{
	local proc=/proc/${pids[$1]} mounts=1 n
	[[ ${OPTIONS[*]} != -s ]] || mounts=3
	n=$(wc -l < "$proc/mountinfo")
	((n == mounts)) || problem "$1: sees $n mounts, not $mounts"
	n=$(cd "$proc/root" && find dev ! -type d)
	[[ $n == dev/infiniband/rdma_ep ]] || problem "$1: has the nodes $n"
	grep -q "^Uid:	$CONTAINER_UID	$CONTAINER_UID	" "$proc/status" ||
		problem "$1: is another user"
	grep -q '^CapEff:	0*$' "$proc/status" || problem "$1: has capabilities"
	grep -Eq "^Max locked memory +$((MEMLOCK * 1024)) " "$proc/limits" ||
		problem "$1: has another RLIMIT_MEMLOCK"
}

contained_server()
{
	server "$@"
	[[ $1 == stock ]] || expect_contained server
}

# ---- cases: SERVER CLIENT ADDR, which are stacks and the server's address

rping_case()
{
	begin "rping, server $1, client $2"
	contained_server "$1" rping -s -a "$3" -p "$PORT" -C 20 -v
	client "$2" rping -c -a "$3" -p "$PORT" -C 20 -v -V
	both_succeed
	expect_lines client 20 '^ping data: rdma-ping-[0-9]+: '
	end
}

# The server listens on the wildcard address.
rdma_server_case()
{
	begin "rdma_server $1, rdma_client $2"
	contained_server "$1" rdma_server -p "$PORT"
	client "$2" rdma_client -s "$3" -p "$PORT"
	both_succeed
	expect_output client "rdma_client: start" "rdma_client: end 0"
	end
}

ucmatose_case()
{
	begin "ucmatose, server $1, client $2"
	for _ in 1 2 3; do
		contained_server "$1" ucmatose -p "$PORT" -c 4 -C 10 -S 1024
		client "$2" ucmatose -s "$3" -p "$PORT" -c 4 -C 10 -S 1024
		try_again || break
	done
	both_succeed
	expect_output client "return status 0"
	end
}

udaddy_case()
{
	local PORT
	begin "udaddy, server $1, client $2"
	PORT=7174	# it has no option for that
	contained_server "$1" udaddy -c 4 -C 10 -S 1024
	client "$2" udaddy -s "$3" -c 4 -C 10 -S 1024
	both_succeed
	expect_output client "return status 0"
	end
}

# perftest registers more than 64 KiB, and its libpci exits without /proc and /sys.
send_bw_case()
{
	local MEMLOCK=1024 OPTIONS=(-s) args
	begin "ib_send_bw -R, server $1, client $2"
	for _ in 1 2 3; do
		args=(ib_send_bw -R -F -n 100 -s 16384 -p "$PORT")
		contained_server "$1" "${args[@]}" -d "$4"
		client "$2" "${args[@]}" -d "$5" "$3"
		too_slow || break
	done
	both_succeed
	expect_lines client 1 '^ *16384 +100 '
	end
}

# devinfo_case STACK DEVICE...
devinfo_case()
{
	local stack=$1 dev
	shift
	begin "ibv_devinfo and ibv_devices, $stack"
	client "$stack" ibv_devinfo
	expect_status client 0
	expect_lines client $# 'PORT_ACTIVE'
	for dev; do
		expect_lines client 1 "^hca_id:	$dev\$"
	done
	client "$stack" ibv_devices
	expect_status client 0
	for dev; do
		expect_lines client 1 "^ +$dev +	"
	done
	end
}

# A registration beyond the limit fails with a message and without a crash. (The client fails before
# it connects, so it needs no server.)
memlock_case()
{
	begin "$MEMLOCK KiB of RLIMIT_MEMLOCK are the limit, $1"
	client "$1" rping -c -v -a "$2" -p "$PORT" -C 1 -S 65535
	expect_status client 12	# ENOMEM
	expect_error client "reg_mr failed"
	end
}

# A program that is linked with librdma_ep, and neither with librdmacm nor libibverbs
linked_case()
{
	begin "$1, linked with librdma_ep"
	client linked "$1"
	expect_status client 0
	expect_lines client 0 '^not ok'
	grep -q '^ok' "$WORK/client.out" || problem "no test has run"
	end
}

# ---- the tests

not_on_stock "containers"

begin "containers are set up, ib_uverbs and rdma_ucm unloaded"
chmod 755 "$WORK"
make_image rping rdma_server rdma_client ucmatose udaddy ibv_devices ibv_devinfo ib_send_bw ||
	problem "cannot make $WORK/image"
make_linked || problem "cannot make $WORK/linked"
unload_stock || problem "cannot unload: $(lsmod | grep -E '^ib_uverbs|^rdma_ucm')"
make_networks || problem "cannot make the network namespaces"
baseline=$(held)
end

rping_case c1 c2 10.43.0.1
rping_case c2 c1 10.43.0.2
rdma_server_case c1 c2 10.43.0.1
rdma_server_case c2 c1 10.43.0.2
ucmatose_case c1 c2 10.43.0.1
send_bw_case c1 c2 10.43.0.1 siw1 siw2
devinfo_case c1 siw1 siw2
memlock_case c1 10.43.0.1

begin "ib_uverbs and rdma_ucm are still not loaded"
no_stock_modules || problem "they are loaded"
remove_networks || problem "cannot remove the network namespaces"
add_device || problem "cannot make $RDMA_DEV"
baseline=$(held)
end

rping_case c3 c3 "$RDMA_ADDR"
rping_case rootless rootless "$RDMA_ADDR"
rdma_server_case c3 c3 "$RDMA_ADDR"
[[ $DEVICE != rxe ]] || udaddy_case c3 c3 "$RDMA_ADDR"
send_bw_case c3 c3 "$RDMA_ADDR" "$RDMA_DEV" "$RDMA_DEV"
devinfo_case c3 "$RDMA_DEV"
memlock_case c3 "$RDMA_ADDR"
for program in "${LINKED[@]}"; do
	linked_case "$program"
done

# A peer on the host, on the stock stack
modprobe -a ib_uverbs rdma_ucm
rping_case c3 stock "$RDMA_ADDR"
rping_case stock c3 "$RDMA_ADDR"
finish_tests
