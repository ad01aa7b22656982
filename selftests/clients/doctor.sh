#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The ten most frequent reports of RDMA users: rdma-ep doctor names each problem and its remedy
# (docs/admin/reports.md has the table). It also names devices that known issues make dangerous for
# all users.
#
# Fails when doctor misses a problem, reports one that does not exist, or prints a remedy that
# does not help.

# shellcheck source=selftests/clients/common.sh
. "$(dirname "$0")/common.sh"

HERE=$(cd "$(dirname "$0")" && pwd)
SHIM=$(dirname "$HERE")/other_abi.so
RULES=/sys/module/rdma_ep/parameters/rules
SOURCE=$HERE/../src
[[ -e $SOURCE ]] || SOURCE=$HERE/../..
DOC=$SOURCE/docs/admin/reports.md

not_on_stock "rdma-ep doctor"

# on_page TEXT: a table of the page has it
on_page()
{
	grep -qF -- "$1" "$DOC" || problem "'$1' is not on the page"
}

doctor()
{
	rdma-ep doctor "$@" > "$WORK/out" 2> "$WORK/err"
	status=$?
}

begin "1: a device, but no address"
ip link add doc0 type veth peer name doc1
rdma link add doc_rdma type "$DEVICE" netdev doc0
ip link set doc1 up
sysctl -q net.ipv6.conf.doc0.disable_ipv6=1
ip link set doc0 up
wait_for 10 grep -q ACTIVE /sys/class/infiniband/doc_rdma/ports/1/state
doctor
finds device warn "doc_rdma port 1 (doc0) has no IP address" "ip addr add ADDRESS/LEN dev doc0"
on_page "has no IP address"
ip addr add 10.43.0.1/24 dev doc0
doctor
finds device ok "doc_rdma port 1 is active on doc0" ""
rdma link delete doc_rdma
ip link delete doc0
end

begin "2: the node is not allowed"
old=$(stat -c %a /dev/infiniband/rdma_ep)
chmod 600 /dev/infiniband/rdma_ep
"${NOBODY[@]}" rdma-ep doctor > "$WORK/out" && problem "exit status 0"
finds node fail "Permission denied (mode 0600" "chmod 666 /dev/infiniband/rdma_ep"
on_page "Permission denied (mode 0600"
chmod "$old" /dev/infiniband/rdma_ep
"${NOBODY[@]}" rdma-ep doctor > "$WORK/out" || problem "exit status $?"
finds node ok "can be opened" ""
end

begin "2: the node is at a limit"
[[ -e /sys/fs/cgroup/cgroup.procs ]] || mount -t cgroup2 none /sys/fs/cgroup
mkdir /sys/fs/cgroup/doctor
echo "/doctor objects=1" > "$RULES"
(
	echo "$BASHPID" > /sys/fs/cgroup/doctor/cgroup.procs
	# The session that is allowed
	exec 8<> /dev/infiniband/rdma_ep && exec rdma-ep doctor
) > "$WORK/out" && problem "exit status 0"
finds node fail "/dev/infiniband/rdma_ep: Disk quota exceeded" \
	"rdma-ep status; cat $RULES: objects= of the cgroup"
! grep -q chmod "$WORK/out" || problem "it offers chmod"
on_page "Disk quota exceeded"
echo " " > "$RULES"
rmdir /sys/fs/cgroup/doctor
end

# siw of Linux 6.1 compares with the limit itself.
driver_compares()
{
	[[ $DEVICE == siw && $(uname -r) == 6.1.* ]]
}

# limited KIB: doctor's output has the limit, with the remedies that help
limited()
{
	local text="at most $1 KiB of memory can be registered (ulimit -l)"
	if driver_compares; then
		finds memlock warn "$text on siw, also by root and with a rule (SIW-26)" "LimitMEMLOCK="
		! grep -q 'a rule memlock=quota' "$WORK/out" || problem "it offers a rule"
	else
		finds memlock warn "$text" "a rule memlock=quota"
	fi
}

begin "3: RLIMIT_MEMLOCK"
(ulimit -l 64; "${NOBODY[@]}" rdma-ep doctor) > "$WORK/out"
limited 64
on_page "of memory can be registered"
echo "/ memlock=quota pinned=1G" > "$RULES"
(ulimit -l 64; "${NOBODY[@]}" rdma-ep doctor) > "$WORK/out"
if driver_compares; then
	limited 64
else
	finds memlock ok "a rule of the module replaces RLIMIT_MEMLOCK: registered are 0 of 1048576 KiB" ""
fi
(ulimit -l unlimited; "${NOBODY[@]}" rdma-ep doctor) > "$WORK/out"
finds memlock ok "a rule of the module replaces RLIMIT_MEMLOCK: registered are 0 of 1048576 KiB" ""
echo " " > "$RULES"
end

# Root of a default container has no CAP_IPC_LOCK, root of a rootless one only in its user namespace.
begin "3: RLIMIT_MEMLOCK of root"
(ulimit -l 64; rdma-ep doctor) > "$WORK/out"
if driver_compares; then
	limited 64
else
	finds memlock ok "registered memory is not limited" ""
fi
(ulimit -l 64; setpriv --bounding-set=-ipc_lock --inh-caps=-ipc_lock rdma-ep doctor) > "$WORK/out"
limited 64
(ulimit -l 64; unshare --user --map-root-user rdma-ep doctor) > "$WORK/out"
limited 64
(ulimit -l 0; setpriv --bounding-set=-ipc_lock --inh-caps=-ipc_lock rdma-ep doctor) > "$WORK/out"
limited 0
(ulimit -l unlimited; "${NOBODY[@]}" rdma-ep doctor) > "$WORK/out"
finds memlock ok "registered memory is not limited" ""
end

netns_mode()
{
	rdma system set netns "$1"
}

begin "4: exclusive mode"
wait_for 20 netns_mode exclusive || problem "no exclusive mode"
ip netns add doctor
ip netns exec doctor rdma-ep doctor > "$WORK/out" && problem "exit status 0"
finds device fail "no RDMA device in this network namespace" "rdma dev set DEVICE netns NAME"
on_page "no RDMA device in this network namespace"
on_page "rdma dev set DEVICE netns NAME"
ip netns exec doctor "${NOBODY[@]}" rdma-ep doctor > "$WORK/out"
finds device fail "no RDMA device in this network namespace" "rdma dev set DEVICE netns NAME"
# The reasons for the words about rxe and siw, and about the time of boot
! rdma dev set "$RDMA_DEV" netns doctor 2> /dev/null || problem "a software device has moved"
! netns_mode shared 2> /dev/null || problem "the mode changes at any time"
finds device fail "no RDMA device in this network namespace" "in shared mode (options ib_core netns_mode=1, at boot): ip netns exec NAME"
modinfo -p ib_core | grep -q '^netns_mode:.*default=1 (shared)' || problem "no such option"
ip netns del doctor
wait_for 20 netns_mode shared || problem "still in exclusive mode"
end

active_in_netns()
{
	ip netns exec doctor rdma-ep doctor "${@:2}" > "$WORK/out"
	grep -q "^ok .* is active on $1" "$WORK/out"
}

begin "4: the network device is in another namespace"
ip netns add doctor
ip link add doc0 netns doctor type veth peer name doc1
ip link set doc1 up
ip -n doctor link set doc0 up
ip -n doctor addr add 10.43.0.1/24 dev doc0
ip netns exec doctor rdma-ep doctor > "$WORK/out"
finds device warn "$RDMA_DEV port 1: its network device is in another network namespace" \
	"ip netns exec NAME rdma link add siw1 type siw netdev NETDEV"
on_page "its network device is in another network namespace"
mend=$(sed -n 's/^ .* -> \(ip netns exec .*\)/\1/p' "$WORK/out" | head -n 1)
mend=${mend/NAME/doctor}
modprobe siw
bash -c "${mend/NETDEV/doc0}" || problem "the remedy fails: $mend"
wait_for 10 active_in_netns doc0
finds device ok "siw1 port 1 is active on doc0" ""
rdma link delete siw1
[[ $DEVICE == siw ]] || modprobe -r siw
ip netns del doctor
end

vlan_has_route()
{
	doctor 10.98.8.2
	grep -q "^ok *route .* uses doc0" "$WORK/out"
}

# rxe receives from a VLAN of its interface, and not from a macvlan.
begin "7: a VLAN has the route, or a macvlan"
if [[ $DEVICE == siw ]]; then
	skip "$case_name" "a device has the addresses of one interface"
else
	ip netns add doctor
	ip link add doc1 link "$RDMA_NETDEV" netns doctor type macvlan mode bridge
	ip -n doctor addr add 10.98.7.1/24 dev doc1
	ip -n doctor link set doc1 up
	ip link add doc0 link "$RDMA_NETDEV" type vlan id 7
	ip addr add 10.98.8.1/24 dev doc0
	ip link set doc0 up
	# Work items of ib_core add the addresses to the device's GID table, in this order.
	wait_for 10 vlan_has_route
	finds device ok "$RDMA_DEV port 1 is active on $RDMA_NETDEV" ""
	finds route ok "the route to 10.98.8.2 uses doc0" ""
	ip netns exec doctor rdma-ep doctor 10.98.7.2 > "$WORK/out"
	finds device warn "$RDMA_DEV port 1: its network device is in another network namespace" ""
	finds route fail "the route to 10.98.7.2 uses doc1, which has no RDMA device" ""
	ip link del doc0
	ip netns del doctor
	end
fi

begin "5: another version of the library"
LD_PRELOAD=$SHIM OTHER_ABI=librdma_ep doctor
finds library fail "librdma_ep.so.1 and the module are of different versions" \
	"install module and library of one version"
on_page "are of different versions"
expect "exit status" "$status" 1
LD_PRELOAD=$SHIM OTHER_ABI=rdma-ep doctor
finds abi fail "the module has ABI" "install module and library of one version"
doctor
finds library ok "librdma_ep.so.1 can be loaded" ""
end

begin "6: the stock library has no provider"
# shellcheck disable=SC2016
unshare --mount sh -c 'mount -t tmpfs none /etc/libibverbs.d && exec rdma-ep doctor' \
	> "$WORK/out" 2> "$WORK/err"
finds provider warn "libibverbs has no provider for $RDMA_DEV" "run programs by rdma-ep-run"
on_page "libibverbs has no provider"
doctor
! grep -q ' provider ' "$WORK/out" || problem "a provider is missing"
end

begin "7: no route"
doctor 203.0.113.1
finds route fail "no route to 203.0.113.1" "ip route add 203.0.113.1 dev NETDEV"
on_page "no route to"
ip link add doc0 type dummy
ip link set doc0 up
ip addr add 203.0.113.2/24 dev doc0
doctor 203.0.113.1
finds route fail "uses doc0, which has no RDMA device" "rdma link add rxe0 type rxe netdev doc0"
on_page "which has no RDMA device"
ip link del doc0
# The network device of IPoIB belongs to no port.
modprobe tun
python3 - <<'END'
import fcntl, struct
TUNSETIFF, TUNSETPERSIST, TUNSETLINK = 0x400454ca, 0x400454cb, 0x400454cd
IFF_TUN_NO_PI, ARPHRD_INFINIBAND = 0x1001, 32
with open("/dev/net/tun", "r+b", buffering=0) as tun:
    fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH22x", b"doc_ib", IFF_TUN_NO_PI))
    fcntl.ioctl(tun, TUNSETLINK, ARPHRD_INFINIBAND)
    fcntl.ioctl(tun, TUNSETPERSIST, 1)
END
ip link set doc_ib up
ip addr add 203.0.113.2/24 dev doc_ib
doctor 203.0.113.1
finds route ok "the route to 203.0.113.1 uses doc_ib" ""
finds mtu ok "takes packets of 1500 bytes" ""
ip link del doc_ib
doctor "$RDMA_ADDR"
finds route ok "the route to $RDMA_ADDR uses $RDMA_NETDEV" ""
doctor 10.42.0.99
finds route ok "the route to 10.42.0.99 uses $RDMA_NETDEV" ""
doctor nothing.invalid
finds route fail "nothing.invalid: " "use an address"
end

begin "8: MTU"
ip route add 10.42.0.77/32 dev "$RDMA_NETDEV" mtu 600
doctor 10.42.0.77
if [[ $DEVICE == siw ]]; then
	finds mtu ok "takes packets of 600 bytes" ""
else
	finds mtu fail "takes packets of 600 bytes, RDMA sends 1024" \
		"ip link set $RDMA_NETDEV mtu 600"
fi
on_page "takes packets of"
ip route del 10.42.0.77/32
doctor 10.42.0.77
finds mtu ok "takes packets of 1500 bytes" ""
end

begin "9: the port is taken"
server ours rping -s -a "$RDMA_ADDR" -p "$PORT"
doctor --listen "$PORT"
finds port fail "port $PORT: Address already in use" "rdma-ep status | grep :$PORT"
on_page "Address already in use"
terminate server
doctor --listen "$PORT"
finds port ok "port $PORT is free" ""
"${NOBODY[@]}" rdma-ep doctor --listen 81 > "$WORK/out"
finds port fail "port 81: Permission denied" "CAP_NET_BIND_SERVICE"
end

begin "10: the module is not loaded"
rmmod rdma_ep || problem "rmmod failed"
doctor
expect "exit status" "$status" 1
finds module fail "rdma_ep is not loaded" "modprobe rdma_ep"
on_page "rdma_ep is not loaded"
# A user's path may be without modinfo.
PATH=/nowhere "$(type -p rdma-ep)" doctor > "$WORK/out"
finds module fail "rdma_ep is not loaded" "modprobe rdma_ep"
modprobe rdma_ep || problem "modprobe failed"
doctor
finds module ok "rdma_ep is loaded" ""
end

# Prints the issues of the table that doctor has to name for the driver and the kernel. Kernels
# missing in the table count as its last one.
known()
{
	awk -F '"' -v driver="_${DEVICE^^}," -v kernel="$(uname -r | cut -d . -f -2)" '
		index($1, driver) {
			n = split($6, kernels, ", ")
			wanted = kernel == "6.1" || kernel == "6.12" ? kernel : "7.2"
			for (i = 1; i <= n; i++)
				if (kernels[i] == wanted)
					print $2 " (" $4 ")"
		}' "$SOURCE/tools/issues.h"
}

begin "a device with known issues, for all users"
chmod 666 /dev/infiniband/rdma_ep
doctor
id=RXE-05
[[ $DEVICE != siw ]] || id=SIW-01
finds exposed warn "$id (crash)" "driver=$DEVICE gid=0"
sed -n "s/^warn *exposed .* $RDMA_DEV, .* known issues: //p" "$WORK/out" |
	sed 's/, /\n/g' > "$WORK/named"
diff <(known) "$WORK/named" > "$WORK/diff" || problem "it names other issues: $(<"$WORK/diff")"
! grep -qE 'RXE-1[7-9]|SIW-19' "$WORK/out" || problem "it names an issue that is prevented"
mend=$(sed -n 's/^ .* -> \((cat .*\)/\1/p' "$WORK/out")
bash -c "$mend" || problem "the remedy fails: $mend"
doctor
finds exposed ok "$RDMA_DEV is not for all users (the module's rules)" ""
"${NOBODY[@]}" rdma-ep devices 2> /dev/null | grep -q "$RDMA_DEV" &&
	problem "it is still there for others"
# A comment ends with its line, not at a ";".
echo "# /user.slice pinned=8G; driver=$DEVICE gid=0" > "$RULES"
"${NOBODY[@]}" rdma-ep devices 2> /dev/null | grep -q "$RDMA_DEV" ||
	problem "the comment is in force"
doctor
finds exposed warn "any user may use $RDMA_DEV" "driver=$DEVICE gid=0"
echo "/user.slice pinned=8G; driver=$DEVICE gid=0 cgroup=/ # closed" > "$RULES"
doctor
finds exposed ok "$RDMA_DEV is not for all users (the module's rules)" ""
"${NOBODY[@]}" rdma-ep doctor > "$WORK/out" && problem "exit status 0 without a device"
finds device fail "the module's rules close all RDMA devices here, or it has no use for their drivers" "cat $RULES"
echo " " > "$RULES"
chmod 660 /dev/infiniband/rdma_ep
doctor
finds exposed ok "is not for all users" ""
chmod "$old" /dev/infiniband/rdma_ep
end

finish_tests
