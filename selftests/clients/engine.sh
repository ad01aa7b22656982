# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Shared by the tests of container engines: an image, and the checks of a container's restrictions.
# Tests include it after common.sh.

NODE=/dev/infiniband/rdma_ep
# shellcheck disable=SC2034 # of the tests
LIBRARY=$(ldconfig -p | awk '$1 == "librdma_ep.so.1" { print $NF; exit }')
HERE=$(cd "$(dirname "$0")" && pwd)
CDI_SPEC=$HERE/../src/packaging/cdi/rdma_ep.json
[[ -e $CDI_SPEC ]] || CDI_SPEC=$HERE/../../packaging/cdi/rdma_ep.json

# make_image ROOT PROGRAM...: programs of the distribution with their libraries, of a stock RDMA
# stack, without files of rdma_ep
make_image()
{
	local root=$1 program
	mkdir -p "$root"/{dev,etc,proc,run,sys,tmp,usr/{bin,sbin,lib,lib64}} &&
	ln -s usr/bin usr/lib usr/lib64 "$root/" &&
	echo "user:x:1000:1000::/:/bin/false" > "$root/etc/passwd" || return 1
	for program in "${@:2}"; do
		# shellcheck disable=SC2046
		cp -L --parents "$program" $(ldd "$program" | grep -o '/[^ ]*') "$root/" ||
			return 1
	done
	cp -L --parents /usr/lib/x86_64-linux-gnu/libgcc_s.so.1 "$root/" &&
	[[ -z $(find "$root" -name '*rdma_ep*') ]]
}

# Sets RECEIVER and SENDER, fio's programs that transfer 1 MiB, for the port of the test. Each
# registers less than 256 KiB, as each buffer counts as a page.
# shellcheck disable=SC2034 # of the tests
fio_commands()
{
	local fio=(/usr/bin/fio --ioengine=rdma --bs=1k --size=1m --thread "--port=$PORT")
	RECEIVER=("${fio[@]}" --name=receiver --rw=read --iodepth=16)
	SENDER=("${fio[@]}" --name=sender --hostname="$RDMA_ADDR" --verb=write --rw=write
		--iodepth=8 --iodepth_batch_complete=1)
}

FIO_WRITES='WRITE: .*io=1024Ki?B .*'	# in the output of SENDER

# expect_contained NAME PID UID MEMLOCK: a running container has one node beyond the usual ones, no
# capability, no new privileges, a filter of system calls, a read-only root
expect_contained()
{
	local proc=/proc/$2 n
	n=$(cd "$proc/root/dev" && find . ! -type d ! -type l ! -path './pts/*' | sort | tr '\n' ' ')
	[[ $n == "./full ./infiniband/rdma_ep ./null ./random ./tty ./urandom ./zero " ]] ||
		problem "$1: has the nodes $n"
	grep -q "^Uid:	$3	$3	$3	$3\$" "$proc/status" ||
		problem "$1: is another user: $(grep ^Uid: "$proc/status")"
	for n in CapEff CapPrm CapBnd CapAmb; do
		grep -q "^$n:	0*\$" "$proc/status" || problem "$1: has capabilities, $n"
	done
	grep -q '^NoNewPrivs:	1$' "$proc/status" || problem "$1: can get privileges"
	grep -q '^Seccomp:	2$' "$proc/status" || problem "$1: no filter of system calls"
	grep -Eq "^Max locked memory +$4 " "$proc/limits" ||
		problem "$1: has another RLIMIT_MEMLOCK: $(grep locked "$proc/limits")"
	grep -q ' / / ro[, ]' "$proc/mountinfo" || problem "$1: can write to its root"
	[[ $(readlink "$proc/fd/"*) == *"$NODE"* ]] || problem "$1: has not opened $NODE"
}
