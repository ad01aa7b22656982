#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# rdma-ep doctor in a pod: user 1000 without capabilities, in a PID namespace of its own, an image
# with neither modules nor groups, one device node, 64 KiB of RLIMIT_MEMLOCK, with /proc and a
# read-only /sys and without both. See contain.c.
#
# The ten reports of docs/admin/reports.md: doctor has to name each of them there as well, with a
# remedy that helps there. (doctor.sh has them on the host.) It would catch a check that needs more
# than the node, that takes the pod for the host, or that has a remedy for another problem.

# shellcheck source=selftests/clients/common.sh
. "$(dirname "$0")/common.sh"
# shellcheck source=selftests/clients/contained.sh
. "$(dirname "$0")/contained.sh"

RULES=/sys/module/rdma_ep/parameters/rules

not_on_stock "rdma-ep doctor"

# ---- stacks (see common.sh)

OPTIONS=()		# of contain
POD_ENV=()		# the environment

# on_pod ARGS...: of rdma-ep doctor
on_pod()
{
	exec env -i "${POD_ENV[@]}" "$TESTS/contain" -p -m "$MEMLOCK" "${OPTIONS[@]}" \
		"$WORK/image" "$CONTAINER_UID" /usr/bin/rdma-ep doctor "$@"
}

# A program next to the pod
on_c1()
{
	exec env -i LD_PRELOAD=librdma_ep.so.1 "$TESTS/contain" -n /run/netns/c1 -m "$MEMLOCK" \
		"$WORK/image" "$CONTAINER_UID" "/usr/bin/$1" "${@:2}"
}

# ---- cases

# With /proc and /sys in the network of the first container, without them, and in the host's network
C1=(-s -n /run/netns/c1)
BARE=(-n /run/netns/c1)
HOST=(-s)

# pod_finds CHECK VERDICT TEXT MEND
pod_finds()
{
	finds "$@" "$WORK/client.out"
}

# siw of Linux 6.1 compares with RLIMIT_MEMLOCK itself.
siw_compares()
{
	[[ $(uname -r) == 6.1.* ]]
}

# siw2 is in the network namespace of the other container.
pod_case()
{
	local OPTIONS=("${C1[@]}")
	begin "it works; 3: RLIMIT_MEMLOCK"
	client pod
	expect_status client 0
	pod_finds module ok "rdma_ep is loaded" ""
	pod_finds node ok "$NODE can be opened" ""
	pod_finds device ok "siw1 port 1 is active on siwnet1" ""
	pod_finds device warn "siw2 port 1: its network device is in another network namespace" \
		"on the host: ip netns exec NAME rdma link add siw1 type siw netdev NETDEV"
	if siw_compares; then
		pod_finds memlock warn \
			"at most $MEMLOCK KiB of memory can be registered (ulimit -l) on siw, also by root and with a rule (SIW-26)" \
			"LimitMEMLOCK="
	else
		pod_finds memlock warn "at most $MEMLOCK KiB of memory can be registered (ulimit -l)" \
			"a rule memlock=quota"
		echo "/ memlock=quota pinned=1G" > "$RULES"
		client pod
		pod_finds memlock ok "a rule of the module replaces RLIMIT_MEMLOCK" ""
		echo " " > "$RULES"
	fi
	end

	begin "a device with known issues, for all users"
	client pod
	pod_finds exposed warn "any user may use siw1" \
		"on the host: (cat $RULES; echo driver=siw gid=0 cgroup=/user.slice) > "
	# Group 0 outside of /user.slice, as in many containers
	echo "driver=siw gid=0" > "$RULES"
	"$TESTS/contain" -n /run/netns/c1 -s "$WORK/image" 0 /usr/bin/rdma-ep doctor \
		> "$WORK/doctor" 2>&1
	finds exposed warn "any user may use siw1" "" "$WORK/doctor"
	echo " " > "$RULES"
	mend=$(sed -n 's/^ .* -> on the host: \((cat .*\)/\1/p' "$WORK/client.out" | head -n 1)
	bash -c "$mend" || problem "the remedy fails: $mend"
	"$TESTS/contain" -n /run/netns/c1 "$WORK/image" 0 /usr/bin/rdma-ep devices \
		> "$WORK/devices" 2>&1
	! grep -q siw1 "$WORK/devices" || problem "it is still there for group 0: $(<"$WORK/devices")"
	echo " " > "$RULES"
	"$TESTS/contain" -n /run/netns/c1 "$WORK/image" 0 /usr/bin/rdma-ep devices \
		> "$WORK/devices" 2>&1
	grep -q siw1 "$WORK/devices" || problem "group 0 has no device: $(<"$WORK/devices")"
	end

	OPTIONS=("${BARE[@]}")
	begin "without /proc and /sys: it works, without lines about either"
	client pod
	expect_status client 0
	expect_lines client 0 '^fail|^[a-z]+ +(stack|cgroup|quota) '
	pod_finds module ok "rdma_ep is loaded" ""
	pod_finds node ok "$NODE can be opened" ""
	pod_finds abi ok "ABI" ""
	pod_finds library ok "librdma_ep.so.1 can be loaded" ""
	pod_finds device ok "siw1 port 1 is active on siwnet1" ""
	pod_finds exposed warn "any user may use siw1 (unless the module's rules close it)" \
		"on the host: (cat $RULES"
	if siw_compares; then
		pod_finds memlock warn "(SIW-26)" ""
	else
		pod_finds memlock warn "unless a rule of the module replaces the limit" ""
	fi
	end
}

pod_address_case()
{
	local OPTIONS=("${C1[@]}")
	begin "1: a device, but no address"
	ip netns exec c1 sysctl -q net.ipv6.conf.siwnet1.disable_ipv6=1
	ip -n c1 addr del 10.43.0.1/24 dev siwnet1
	client pod
	expect_status client 0
	pod_finds device warn "siw1 port 1 (siwnet1) has no IP address" \
		"ip addr add ADDRESS/LEN dev siwnet1"
	ip -n c1 addr add 10.43.0.1/24 dev siwnet1
	client pod
	pod_finds device ok "siw1 port 1 is active on siwnet1" ""
	end
}

pod_node_case()
{
	local OPTIONS=("${C1[@]}") node=$WORK/image$NODE
	begin "2: the node is not allowed"
	chmod 600 "$node"
	client pod
	expect_status client 1
	pod_finds node fail "$NODE: Permission denied (mode 0600, group 0)" \
		"on the host: chmod 666 $NODE"
	chgrp 5000 "$node"
	chmod 660 "$node"
	client pod
	pod_finds node fail "$NODE: Permission denied (mode 0660, group 5000)" "--group-add 5000"
	rm "$node"
	client pod
	expect_status client 1
	pod_finds node fail "$NODE: No such file or directory" "pass the device $NODE on"
	OPTIONS=("${BARE[@]}")
	client pod
	expect_status client 1
	pod_finds node fail "$NODE: No such file or directory" "pass the device $NODE on"
	expect_lines client 0 '^[a-z]+ +module '
	cp -a "$NODE" "$node"
	end
}

pod_version_case()
{
	local OPTIONS=("${C1[@]}") POD_ENV=(LD_PRELOAD=/other_abi.so OTHER_ABI=librdma_ep)
	begin "5: another version of the library"
	client pod
	expect_status client 1
	pod_finds library fail "librdma_ep.so.1 and the module are of different versions" \
		"install module and library of one version"
	POD_ENV=(LD_PRELOAD=/other_abi.so OTHER_ABI=rdma-ep)
	client pod
	expect_status client 1
	pod_finds abi fail "the module has ABI" "install module and library of one version"
	end
}

pod_route_case()
{
	local OPTIONS=("${C1[@]}")
	begin "7: no route"
	client pod 203.0.113.1
	expect_status client 1
	pod_finds route fail "no route to 203.0.113.1" "ip route add 203.0.113.1 dev NETDEV"
	ip -n c1 link add doc0 type dummy
	ip -n c1 link set doc0 up
	ip -n c1 addr add 203.0.113.2/24 dev doc0
	client pod 203.0.113.1
	expect_status client 1
	pod_finds route fail "the route to 203.0.113.1 uses doc0, which has no RDMA device" \
		"ip route add 203.0.113.1 dev NETDEV"
	ip -n c1 link del doc0
	client pod 10.43.0.2
	expect_status client 0
	pod_finds route ok "the route to 10.43.0.2 uses siwnet1" ""
	end
}

pod_port_case()
{
	local OPTIONS=("${C1[@]}")
	begin "9: the port is taken"
	server c1 rping -s -a 10.43.0.1 -p "$PORT"
	client pod --listen "$PORT"
	expect_status client 1
	pod_finds port fail "port $PORT: Address already in use" "rdma-ep status | grep :$PORT"
	terminate server
	client pod --listen "$PORT"
	expect_status client 0
	pod_finds port ok "port $PORT is free" ""
	client pod --listen 81
	pod_finds port fail "port 81: Permission denied" "CAP_NET_BIND_SERVICE"
	end
}

# A container keeps its node while the module is removed and loaded anew.
pod_module_case()
{
	local OPTIONS node=$WORK/image$NODE
	begin "10: the module is not loaded"
	rmmod rdma_ep || problem "rmmod failed"
	OPTIONS=("${C1[@]}")
	client pod
	expect_status client 1
	pod_finds module fail "rdma_ep is not loaded" "on the host: modprobe rdma_ep"
	pod_finds node fail "$NODE: No such device" "load the module on the host (modprobe rdma_ep)"
	OPTIONS=("${BARE[@]}")
	client pod
	expect_status client 1
	pod_finds module fail "rdma_ep is not loaded" "on the host: modprobe rdma_ep"
	pod_finds node fail "$NODE: No such device" "load the module on the host (modprobe rdma_ep)"
	modprobe rdma_ep || problem "modprobe failed"
	OPTIONS=("${C1[@]}")
	rm "$node"
	# A number that no driver has
	mknod -m 666 "$node" c 10 200000
	client pod
	expect_status client 1
	pod_finds module ok "rdma_ep is loaded" ""
	pod_finds node fail "$NODE: No such device" "restart the container"
	rm "$node"
	cp -a "$NODE" "$node"
	client pod
	expect_status client 0
	end
}

pod_no_device_case()
{
	local OPTIONS=("${HOST[@]}")
	begin "the machine has no device"
	client pod
	expect_status client 1
	pod_finds device fail "no RDMA device that can be used" \
		"on the host: rdma link add rxe0 type rxe netdev NETDEV"
	OPTIONS=()
	client pod
	expect_status client 1
	pod_finds device fail "no RDMA device that can be used" \
		"on the host: rdma link add rxe0 type rxe netdev NETDEV"
	wait_for 20 rdma system set netns exclusive || problem "no exclusive mode"
	rdma-ep doctor > "$WORK/out" && problem "exit status 0"
	finds device fail "no RDMA device in this network namespace, in exclusive mode" \
		"; on the host's own network: rdma link add rxe0 type rxe netdev NETDEV"
	wait_for 20 rdma system set netns shared || problem "still in exclusive mode"
	end
}

pod_rules_case()
{
	local OPTIONS=("${HOST[@]}")
	begin "a rule closes the devices"
	echo "driver=$DEVICE gid=0" > "$RULES"
	client pod
	expect_status client 1
	pod_finds device fail "the module's rules close all RDMA devices here, or it has no use for their drivers" \
		"on the host: cat $RULES"
	echo " " > "$RULES"
	end
}

# The kernel changes the mode only while no other network namespace exists.
pod_exclusive_case()
{
	local OPTIONS options
	begin "4: exclusive mode"
	wait_for 20 rdma system set netns exclusive || problem "no exclusive mode"
	ip netns add c4
	for options in "-s -n /run/netns/c4" "-n /run/netns/c4"; do
		read -ra OPTIONS <<< "$options"
		client pod
		expect_status client 1
		pod_finds device fail "no RDMA device in this network namespace, in exclusive mode" \
			"on the host: rdma dev set DEVICE netns NAME; for rxe and siw, in shared mode"
	done
	ip netns del c4
	wait_for 20 rdma system set netns shared || problem "still in exclusive mode"
	end
}

# (iWARP finds the MTU of the path.)
pod_mtu_case()
{
	local OPTIONS=("${HOST[@]}")
	begin "8: MTU"
	ip route add 10.42.0.77/32 dev "$RDMA_NETDEV" mtu 600
	client pod 10.42.0.77
	if [[ $DEVICE == siw ]]; then
		pod_finds mtu ok "takes packets of 600 bytes" ""
	else
		expect_status client 1
		pod_finds mtu fail "takes packets of 600 bytes, RDMA sends 1024" \
			"ip link set $RDMA_NETDEV mtu 600"
	fi
	ip route del 10.42.0.77/32
	client pod 10.42.0.77
	pod_finds mtu ok "takes packets of 1500 bytes" ""
	end
}

# The image has libibverbs without a provider.
pod_provider_case()
{
	local OPTIONS=("${HOST[@]}")
	begin "6: the stock library has no provider"
	client pod
	expect_status client 0
	pod_finds provider warn "libibverbs has no provider for $RDMA_DEV" "run programs by rdma-ep-run"
	end
}

# ---- the tests

begin "a pod is set up, ib_uverbs and rdma_ucm unloaded"
chmod 755 "$WORK"
{ make_image rping && cp "$TESTS/other_abi.so" "$WORK/image/"; } || problem "cannot make $WORK/image"
unload_stock || problem "cannot unload: $(lsmod | grep -E '^ib_uverbs|^rdma_ucm')"
make_networks || problem "cannot make the network namespaces"
baseline=$(held)
end

pod_case
pod_address_case
pod_node_case
pod_version_case
pod_route_case
pod_port_case
pod_module_case

begin "the network namespaces are removed"
remove_networks || problem "cannot remove them"
baseline=$(held)
end

pod_no_device_case

begin "the host has a device"
add_device || problem "cannot make $RDMA_DEV"
baseline=$(held)
end

pod_rules_case
pod_exclusive_case
pod_mtu_case
modprobe ib_uverbs
pod_provider_case
finish_tests
