#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The messages in "When it does not work" of README.md: the cause in the table produces the message
# of the table, and the remedy in the table removes it.
#
# It would catch a reworded message, a cause with another consequence, a remedy that does not help.

# shellcheck source=selftests/clients/common.sh
. "$(dirname "$0")/common.sh"

HERE=$(cd "$(dirname "$0")/.." && pwd)
README=$HERE/src/README.md
[[ -e $README ]] || README=$HERE/../README.md
NODE=/dev/infiniband/rdma_ep

not_on_stock "messages"

# An unprivileged user with 16 KiB of RLIMIT_MEMLOCK (root may exceed all limits)
on_user()
{
	ulimit -l 16
	exec setpriv --reuid 1000 --regid 1000 --clear-groups rdma-ep-run "$@"
}

on_plain()
{
	exec rdma-ep-run "$@"
}

# `said MESSAGE FILE`: the file and a row of the table contain it
said()
{
	grep -qF -- "$1" "$2" || problem "'$1' is not said, but: $(tail -n 3 "$2")"
	sed -n '/^## When it does not work/,/^## /p' "$README" | grep '^| ' |
		grep -qF -- "$1" || problem "'$1' is not in README.md"
}

# A client that must fail
refused()
{
	client "$1" rping -c -v -a "${2:-$RDMA_ADDR}" -p "$PORT" -C 1 -S "${3:-64}"
	[[ ${statuses[client]} != 0 ]] || problem "it succeeds"
	cat "$WORK/client.out" "$WORK/client.err" > "$WORK/said"
}

# The same client with a server, after the remedy
mended()
{
	server ours rping -s -a "$RDMA_ADDR" -p "$PORT" -C 1
	client "$1" rping -c -v -a "$RDMA_ADDR" -p "$PORT" -C 1
	finish server
	expect_status client 0
}

begin "a missing module is named"
rmmod rdma_ep
refused plain
said "rdma_ep: $NODE not found: load the module with \"modprobe rdma_ep\"" "$WORK/said"
modprobe rdma_ep
mended plain
end

begin "insmod without the modules below fails"
rmmod rdma_ep
modprobe -r rdma_ucm
modprobe -r rdma_cm 2> "$WORK/used" ||
	problem "rdma_cm is used by $(ls /sys/module/rdma_cm/holders): $(<"$WORK/used")"
! insmod "$(modinfo -n rdma_ep)" 2> "$WORK/said" || problem "it is loaded"
said "could not insert module" "$WORK/said"
said "Unknown symbol in module" "$WORK/said"
modprobe -a rdma_ep rdma_ucm || problem "modprobe does not load it either"
mended ours
end

begin "a node without permission is named"
chmod 600 "$NODE"
refused user
said "rdma_ep: $NODE: permission denied: it must be readable and writable for you" \
	"$WORK/said"
chmod 666 "$NODE"
mended user
end

begin "a missing device is named"
rdma link delete "$RDMA_DEV"
refused plain
said "No RDMA devices were detected" "$WORK/said"
add_device || problem "cannot make $RDMA_DEV"
baseline=$(held)
mended plain
end

if [[ $DEVICE == siw ]]; then
	skip "a port without a listener refuses" "rping does not end where rdma_connect(3) says so itself"
else
	begin "a port without a listener refuses"
	refused plain
	said "RDMA_CM_EVENT_REJECTED, error 8" "$WORK/said"
	end
fi

begin "an address without a device is named"
# (Without ARP, no neighbour is resolved.)
ip link add nowhere type veth peer name nowhere1 && ip link set nowhere1 up
ip addr add 10.44.0.1/24 dev nowhere
ip link set nowhere arp off up || problem "cannot make an interface"
refused plain 10.44.0.2
said "RDMA_CM_EVENT_ADDR_ERROR, error -19" "$WORK/said"
ip link delete nowhere
end

begin "an exceeded RLIMIT_MEMLOCK is named"
refused user "$RDMA_ADDR" 60000
said "reg_mr failed" "$WORK/said"
expect_status client 12
end

begin "an exceeded quota of the module is named"
dmesg > "$WORK/before"
with_parameter session_max_objects 2 refused user
said "error -122" "$WORK/said"
dmesg | diff "$WORK/before" - > "$WORK/log"
said "over its limit session_max_objects" "$WORK/log"
mended user
end

begin "rmmod of a module in use is refused"
server ours rping -s -a "$RDMA_ADDR" -p "$PORT" -C 1
! rmmod rdma_ep 2> "$WORK/said" || problem "it is unloaded"
said "Module rdma_ep is in use" "$WORK/said"
rdma-ep status | grep -Eq "^[0-9]+ +${pids[server]} +rping " ||
	problem "rdma-ep status does not show who uses it"
terminate server
end

begin "a missing library is named"
mkdir "$WORK/bin" && cp "$(command -v rdma-ep-run)" "$WORK/bin/"
sed -i 's|^installed_libdir=.*|installed_libdir=/nowhere|' "$WORK/bin/rdma-ep-run"
! "$WORK/bin/rdma-ep-run" true > "$WORK/said" 2>&1 || problem "it runs something"
said "rdma-ep-run: librdma_ep.so.1 not found in" "$WORK/said"
end
finish_tests
