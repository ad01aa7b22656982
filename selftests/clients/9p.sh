#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests ulp/9p, a transport of 9P on kernel endpoints: mounts the files of diod through p9_relay,
# with this transport and with the kernel's trans=rdma, compares files, kills servers, and removes
# the device.
#
# It would catch messages that the other transport cannot read, requests that wait forever after the
# connection ends or their tasks are killed, and a device whose removal waits for a mount.

# shellcheck source=selftests/clients/common.sh
. "$(dirname "$0")/common.sh"

RELAY=$(cd "$(dirname "$0")/.." && pwd)/p9_relay
TREE=$(dirname "$RELAY")/clients
DIOD=$(PATH=$PATH:/usr/sbin type -p diod)

if [[ -n ${STOCK:-} || ! $DIOD ]] || ! modprobe 9p 2>/dev/null; then
	skip "9P" "no diod, or no 9P in this kernel"
	finish_tests
fi
modprobe 9pnet_rdma_ep 2>"$WORK/modprobe" || {
	begin "modprobe 9pnet_rdma_ep"
	problem "$(<"$WORK/modprobe")"
	end
	finish_tests
}
# With the reference of the module
baseline=$(held)

# The siw of 6.1 applies the limit to root, too; the relay's buffers exceed it.
ulimit -l unlimited

FILES=$WORK/files MNT=$WORK/mnt
mkdir -p "$FILES" "$MNT/ours" "$MNT/other"
trap 'umount -l "$MNT"/* 2>/dev/null; rm -rf "$WORK"; rmmod 9pnet_rdma_ep 2>/dev/null' EXIT

TCP_PORT=5641
serving()
{
	ss -Htln "sport = :$TCP_PORT" | grep -q . || stopped files
}

# serve [hold]: starts a 9P server and its relay to RDMA
serve()
{
	start stock files "$DIOD" -f -n -L stderr -S -U root -e "$FILES" -l 127.0.0.1:$TCP_PORT
	wait_for 30 serving || problem "diod: $(<"$WORK/files.err")"
	relay "$@"
}

# relay [hold]
relay()
{
	# (An earlier relay of this case has written the same.)
	rm -f "$WORK/server.out"
	start stock server "$RELAY" "$RDMA_ADDR" "$PORT" $TCP_PORT "$@"
	wait_for 30 test -s "$WORK/server.out" || problem "no relay"
}

killed()
{
	# (A relay exits when its device is removed.)
	kill -KILL "${pids[$1]}" 2>/dev/null
	finish "$1" 15
}

served()
{
	killed server
	killed files
}

# mount_by TRANSPORT DIR [OPTIONS]
mount_by()
{
	start stock mount mount -t 9p \
		-o "trans=$1,port=$PORT,version=9p2000.L,aname=$FILES,uname=root$3" \
		"$RDMA_ADDR" "$MNT/$2"
	# A client sends first, so siw may overlook its message (SIW-25).
	finish mount 60
	expect_status mount 0
}

unmount()
{
	start stock umount umount "$MNT/$1"
	finish umount 30
	expect_status umount 0
}

sums()
{
	(cd "$1" && find . -type f -print0 | sort -z | xargs -0 sha256sum)
}

for msize in 8192 131072 1048576; do
	begin "a tree is copied and compared, messages of $msize bytes"
	serve
	mount_by rdma_ep ours ,msize=$msize
	timeout 200 cp -r "$TREE" "$MNT/ours/tree" || problem "cp"
	head -c 1000000 /dev/urandom > "$MNT/ours/tree/long"
	unmount ours
	mount_by rdma_ep ours ,msize=$msize
	sums "$MNT/ours/tree" > "$WORK/read"
	sums "$FILES/tree" > "$WORK/there"
	cmp "$WORK/read" "$WORK/there" || problem "the files differ"
	(($(wc -l < "$WORK/there") > 20)) || problem "$(wc -l < "$WORK/there") files"
	rm -rf "$MNT/ours/tree"
	unmount ours
	served
	end
done

begin "one server, mounted by trans=rdma_ep and trans=rdma"
serve
mount_by rdma_ep ours
mount_by rdma other
head -c 300000 /dev/urandom > "$MNT/ours/a"
head -c 300000 /dev/urandom > "$MNT/other/b"
sync -f "$MNT/ours" "$MNT/other"
for name in a b; do
	cmp "$MNT/ours/$name" "$FILES/$name" || problem "ours: $name"
	cmp "$MNT/other/$name" "$FILES/$name" || problem "other: $name"
done
unmount other
unmount ours
served
end

begin "two mounts at the same time"
serve
mount_by rdma_ep ours
mount_by rdma_ep other
for dir in ours other; do
	(for i in {1..30}; do
		echo "$dir $i" > "$MNT/$dir/$dir$i" && grep -q "$dir $i" "$MNT/$dir/$dir$i" ||
			exit 1
	done) &
	jobs_of+=($!)
done
for job in "${jobs_of[@]}"; do
	wait "$job" || problem "a file is not as it was written"
done
unmount ours
unmount other
served
end

begin "fio writes and verifies"
serve
mount_by rdma_ep ours
timeout 200 fio --eta=never --name=job --directory="$MNT/ours" --size=4m --bs=32k --rw=randrw \
	--verify=crc32c --numjobs=2 --output="$WORK/fio" || problem "fio: $(<"$WORK/fio")"
unmount ours
served
end

# The tasks of the load end with an error, and none waits.
load()
{
	rm -f "$FILES/load"
	start stock load bash -c "while dd if=/dev/zero of='$MNT/ours/load' bs=64k count=20 \
		conv=fsync 2>/dev/null; do :; done"
	nap 2
	{ wait_for 20 test -s "$FILES/load" && running load; } || problem "no load"
}

# Messages of this size have 4 receives.
begin "readers of all requests are killed, and the mount works"
serve hold
mount_by rdma_ep ours ,msize=1048576
echo held > "$FILES/held"
for i in {1..6}; do
	start stock reader"$i" cat "$MNT/ours/held"
done
nap 2
for i in {1..6}; do
	running reader"$i" || problem "reader $i does not wait"
	kill -KILL "${pids[reader"$i"]}"
done
for i in {1..6}; do
	finish reader"$i" 15
	expect_status reader"$i" 137
done
start stock rm rm "$MNT/ours/held"
finish rm 15
expect_status rm 0
unmount ours
served
end

begin "the server is killed under load"
serve
mount_by rdma_ep ours
load
killed server
finish load 20
expect_status load 0
unmount ours
relay
mount_by rdma_ep ours
unmount ours
served
end

begin "the device is removed under load"
serve
mount_by rdma_ep ours
load
start stock removal rdma link del "$RDMA_DEV"
# ib_uverbs waits until the relay has closed the device. If ib_uverbs was loaded after rdma_cm, it
# waits before rdma_cm sends the event that ends the relay.
wait_for 5 stopped removal
served
finish removal 30
expect_status removal 0
[[ ! -e /sys/class/infiniband/$RDMA_DEV ]] || problem "the device stays"
finish load 20
expect_status load 0
unmount ours
add_device || problem "no new device"
end

begin "unmounted under load"
serve
mount_by rdma_ep ours
load
umount -l "$MNT/ours" || problem "umount -l"
kill -TERM "${pids[load]}"
finish load 20
served
end

begin "no server listens"
new_port
! timeout 60 mount -t 9p -o "trans=rdma_ep,port=$PORT" "$RDMA_ADDR" "$MNT/ours" \
	2>"$WORK/mount" || problem "it is mounted"
end

# The stock transport uses rdma_cm, which other scripts unload.
modprobe -rq 9pnet_rdma
rmmod 9pnet_rdma_ep
baseline=${baseline/module-references */module-references 0}
finish_tests
