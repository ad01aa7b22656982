#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# libiscsi over iSER with the kernel's target, whose end is a kernel consumer: the client registers
# memory for the peer's READs and WRITEs, and has its own event loop.
#
# It would catch keys that the kernel's end cannot use, and completions that a program which polls
# its completion channel does not receive.

# shellcheck source=selftests/clients/common.sh
. "$(dirname "$0")/common.sh"

TARGET=/sys/kernel/config/target
IQN=iqn.2026-01.org.example:disk

target_up()
{
	local group=$TARGET/iscsi/$IQN/tpgt_1 disk=$TARGET/core/rd_mcp_0/disk
	mountpoint -q /sys/kernel/config || mount -t configfs none /sys/kernel/config
	mkdir -p "$TARGET/iscsi" "$disk" && echo rd_pages=1024 > "$disk/control" &&
	echo 1 > "$disk/enable" &&
	mkdir -p "$group/np/$RDMA_ADDR:$PORT" "$group/lun/lun_0" &&
	echo 1 > "$group/np/$RDMA_ADDR:$PORT/iser" &&
	ln -s "$disk" "$group/lun/lun_0/disk" &&
	echo 0 > "$group/attrib/authentication" &&
	echo 30 > "$group/attrib/login_timeout" &&
	echo 1 > "$group/attrib/generate_node_acls" &&
	echo 0 > "$group/attrib/demo_mode_write_protect" &&
	echo 1 > "$group/enable"
}

target_down()
{
	local group=$TARGET/iscsi/$IQN/tpgt_1 disk=$TARGET/core/rd_mcp_0/disk
	[[ ! -d $group ]] || echo 0 > "$group/enable"
	rm -f "$group/lun/lun_0/disk"
	rmdir "$group/lun/lun_0" "$group/np/$RDMA_ADDR:$PORT" "$group" "${group%/*}" \
		"$TARGET/iscsi" "$disk" "${disk%/*}" 2>/dev/null
	# The target uses rdma_cm, which other scripts unload.
	modprobe -r ib_isert
	# The CQs of the target's end belong to the device (ib_cq_pool), and exist as long as it
	# does.
	rdma link del "$RDMA_DEV" && add_device
	rm -rf "$WORK"
}

[[ $DEVICE != siw ]] || {
	skip "iSER" "the target listens on the port with TCP, which siw needs for itself"
	finish_tests
}
modprobe -a configfs target_core_mod iscsi_target_mod ib_isert || {
	skip "iSER" "this kernel has no target for it"
	finish_tests
}
new_port
PORT_OF_TARGET=$PORT
trap 'PORT=$PORT_OF_TARGET; target_down' EXIT
target_up 2>"$WORK/target" || {
	begin "the kernel's target"
	problem "it does not begin: $(<"$WORK/target")"
	end
	finish_tests
}
URL=iser://$RDMA_ADDR:$PORT_OF_TARGET/$IQN/0
# The first connection creates the CQs of the target's end.
iscsi-inq "$URL" > /dev/null
nap 2
baseline=$(held)

# The kernel's end does not use a stack of programs: only the client's stack differs.
mapfile -t STACKS < <(printf '%s\n' "${PAIRS[@]#*:}" | sort -u)

# run NAME STACK PROGRAM ARGS...
run()
{
	start "$2" "$1" "${@:3}"
	finish "$1"
}

for stack in "${STACKS[@]}"; do
	begin "iscsi-inq, iscsi-readcapacity16 and iscsi-perf, client $stack"
	run inquiry "$stack" iscsi-inq "$URL"
	expect_lines inquiry 1 '^Vendor:LIO-ORG'
	run capacity "$stack" iscsi-readcapacity16 "$URL"
	expect_lines capacity 1 'Total size:4194304'
	# Reads, 16 at a time, of 4 KiB
	run perf "$stack" iscsi-perf -m 16 -b 8 -t 2 "$URL"
	for name in inquiry capacity perf; do
		expect_status $name 0
	done
	end
done

# suite STACK: runs a test that writes and compares
suite()
{
	begin "iscsi-test-cu, client $1"
	run suite "$1" iscsi-test-cu --dataloss --test ALL.CompareAndWrite.Simple "$URL"
}

suite_passes()
{
	[[ ${statuses[suite]} == 0 ]] &&
		grep -Eq 'tests +1 +1 +1 +0 +0' "$WORK/suite.out"
}

suite stock
if suite_passes; then
	for stack in "${STACKS[@]}"; do
		suite "$stack"
		suite_passes || problem "it does not pass"
		end
	done
else
	skip "iscsi-test-cu" "fails on the stock libraries, too: $(tail -n 1 "$WORK/suite.err")"
fi

finish_tests
