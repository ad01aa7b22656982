# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034
#
# Roots of containers for contain.c, and two network namespaces with a software iWARP device each, on
# a kernel without ib_uverbs and rdma_ucm. Sourced by tests, after common.sh.

TESTS=$(cd "$(dirname "$0")/.." && pwd)
NODE=/dev/infiniband/rdma_ep
CONTAINER_UID=1000
MEMLOCK=64		# KiB

# ---- contents of the containers

# copy_in ROOT PROGRAM...: copies the programs, and the shared libraries of the first one
copy_in()
{
	local root=$1
	shift
	# shellcheck disable=SC2046
	cp -L --parents "$@" $(ldd "$1" | grep -o '/[^ ]*') "$root/"
}

# make_root ROOT: makes a root with the node, the library in a standard directory of the dynamic
# linker, and the library that glibc loads when a thread ends
make_root()
{
	local root=$1 dir=$1/lib/x86_64-linux-gnu library
	library=$(ldconfig -p | awk '$1 == "librdma_ep.so.1" { print $NF; exit }')
	mkdir -p "$root"/{dev/infiniband,proc,sys} "$dir" &&
	cp -a "$NODE" "$root/dev/infiniband/" &&
	cp -L "$library" "$dir/librdma_ep.so.1" &&
	cp -L /lib/x86_64-linux-gnu/libgcc_s.so.1 "$dir/" &&
	chmod 755 "$root"
}

# make_image PROGRAM...: makes a root with the distribution's programs, which are linked with librdmacm
# and libibverbs, and without a driver of libibverbs.
make_image()
{
	local root=$WORK/image program
	make_root "$root" || return 1
	for program; do
		copy_in "$root" "/usr/bin/$program" || return 1
	done
	[[ -z $(find "$root" -path '*libibverbs/*' -o -name '*-rdmav*') ]] &&
	cp "$(type -p rdma-ep)" "$root/usr/bin/"
}

# ---- the host

# The driver may have loaded ib_uverbs, as on 6.12, which has functions for user memory.
no_stock_modules()
{
	! lsmod | grep -E '^(ib_uverbs|rdma_ucm) ' | grep -v '^ib_uverbs .* siw$'
}

unload_stock()
{
	local driver=$DEVICE
	[[ $driver != rxe ]] || driver=rdma_rxe
	# (siw as well, if an earlier test has loaded it)
	rdma link delete "$RDMA_DEV" && modprobe -r "$driver" && modprobe -rq siw &&
	modprobe -r rdma_ucm && modprobe -r ib_uverbs && no_stock_modules
}

siw_active()
{
	(($(ip netns exec c1 rdma link | grep -c '^link siw.* state ACTIVE') == 2))
}

# Two network namespaces, joined by a cable, each with an RDMA device. The interfaces are created in
# the host's namespace, so that their indices differ: siw compares only these, and would refuse a
# listener on all addresses.
make_networks()
{
	local i
	modprobe siw && ip netns add c1 && ip netns add c2 &&
	ip link add siwnet1 type veth peer name siwnet2 || return 1
	for i in 1 2; do
		ip link set "siwnet$i" netns "c$i" &&
		ip -n "c$i" link set lo up &&
		ip -n "c$i" link set siwnet$i up &&
		ip -n "c$i" addr add 10.43.0.$i/24 dev siwnet$i || return 1
	done
	for i in 1 2; do
		ip netns exec "c$i" \
			rdma link add siw$i type siw netdev siwnet$i || return 1
	done
	wait_for 10 siw_active
}

remove_networks()
{
	rdma link delete siw1 && rdma link delete siw2 &&
	ip netns delete c1 && ip netns delete c2 && modprobe -r siw
}
