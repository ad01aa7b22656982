# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Functions for all scripts in the guest: the network, the software RDMA device on it, and the
# kernel's RDMA objects. Sourced.

# The device and its addresses, for tests and scripts
DEVICE=${DEVICE:-rxe}
export RDMA_DEV=${DEVICE}0 RDMA_NETDEV=veth0
export RDMA_ADDR=10.42.0.1 RDMA_ADDR6=fd42::1

# wait_for SECONDS COMMAND...: waits until the command succeeds, at most three times the SECONDS of
# an idle machine, as several guests share a CPU, and more on a slow kernel
wait_for()
{
	local end=$((SECONDS + 3 * $1 * ${TEST_SCALE:-1})) pause=1
	shift
	until "$@"; do
		((SECONDS < end)) || return 1
		nap "0.$pause"
		((pause >= 5)) || ((++pause))
	done
}

# nap SECONDS: sleep(1) without a process, which would cost an emulated guest 50 ms of a CPU
nap()
{
	[[ ${NAP_FD:-} ]] || exec {NAP_FD}<> <(:)
	read -rt "$1" -u "$NAP_FD" || :
}

# One end of a veth pair has the addresses: both software devices work on it, independent of the
# rest of the guest's network.
setup_network()
{
	modprobe veth &&
	ip link add veth0 type veth peer name veth1 &&
	ip link set veth1 up &&
	ip link set veth0 up &&
	ip addr add "$RDMA_ADDR/24" dev veth0 &&
	ip -6 addr add "$RDMA_ADDR6/64" dev veth0 nodad
}

has_gid()
{
	# ::ffff:10.42.0.1
	cat "/sys/class/infiniband/$RDMA_DEV/ports/1/gids/"* 2>/dev/null |
		grep -q 'ffff:0a2a:0001'
}

# add_device [rxe|siw]: adds the device only; programs can use it only through rdma_ep. (rxe loads
# ib_uverbs, whose code for registered memory it uses.)
add_device()
{
	local kind=${1:-$DEVICE}
	case $kind in
	rxe)
		# On 6.1 rxe requests crc32 from the crypto API by name.
		modprobe -q crc32_generic
		modprobe rdma_rxe || return 1 ;;
	siw)
		modprobe siw || return 1 ;;
	*)
		echo "no such device kind: $kind" >&2
		return 1 ;;
	esac
	rdma link add "$RDMA_DEV" type "$kind" netdev "$RDMA_NETDEV" || return 1
	[[ $kind != rxe ]] || wait_for 20 has_gid || {
		echo "$RDMA_DEV: no GID for $RDMA_ADDR" >&2
		return 1
	}
}

# setup_device [rxe|siw]: adds the device, and loads the modules of the stock libraries
setup_device()
{
	modprobe -a ib_uverbs rdma_ucm && add_device "$@"
}

# The usual beginning of a job
setup_rdma()
{
	setup_network && setup_device "$@"
}

# Prints the number of RDMA objects of each kind in the kernel. These are numbers, because they
# include the core's own objects (the GSI QP, its CQ and PD), which stay. The output is without the
# device's index, which changes when a test creates the device again.
rdma_objects()
{
	local line
	while read -r line; do
		echo "${line#*: }"
	done < <(rdma resource show)
}

# Prints the number of pinned pages of the whole system.
pinned_pages()
{
	awk '$1 == "nr_foll_pin_acquired" { n += $2 }
		$1 == "nr_foll_pin_released" { n -= $2 }
		END { printf "%d\n", n }' /proc/vmstat
}

module_refs()
{
	local refs=0
	[[ ! -r /sys/module/rdma_ep/refcnt ]] || refs=$(</sys/module/rdma_ep/refcnt)
	echo "$refs"
}
