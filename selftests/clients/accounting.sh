#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Checks which user and cgroup are charged for the objects of a program: the worked example of
# docs/admin/accounting.md, which quotes the commands of this script, and whose output is compared
# with the actual one.
#
# It would catch objects, pinned pages, queues or kernel memory that are not charged, charged twice,
# or charged after they are freed; limits without effect; a page with other output.

# shellcheck source=selftests/clients/common.sh
. "$(dirname "$0")/common.sh"

HERE=$(cd "$(dirname "$0")" && pwd)
DOC=$HERE/../src/docs/admin/accounting.md
[[ -e $DOC ]] || DOC=$HERE/../../docs/admin/accounting.md
CG=/sys/fs/cgroup/demo
QUOTA=/sys/module/rdma_ep/parameters/session_max_queue_mb
PROGRAM=$HERE/accounting.py

not_on_stock "accounting"

make_cgroup()
{
	# quote cgroup
	echo "+rdma +memory" > /sys/fs/cgroup/cgroup.subtree_control
	mkdir /sys/fs/cgroup/demo
	echo "$RDMA_DEV hca_object=4" > /sys/fs/cgroup/demo/rdma.max
	echo 256M > /sys/fs/cgroup/demo/memory.max
	# end quote
}

remove_cgroup()
{
	# quote remove
	echo "$RDMA_DEV hca_object=max" > /sys/fs/cgroup/demo/rdma.max
	rmdir /sys/fs/cgroup/demo
	# end quote
}

look()
{
	# quote look
	cat /sys/fs/cgroup/demo/rdma.current
	grep -E '^(anon|kernel) ' /sys/fs/cgroup/demo/memory.stat
	grep -E '^Vm(Lck|Pin)' "/proc/$PID/status"
	grep -hE '^(objects|queue-memory|pds|mrs|cqs|pinned-memory)' "/proc/$PID/fdinfo/"*
	# end quote
}

# ---- stacks (see common.sh)

# The files of the terminal do not count: the program reads from a FIFO.
on_demo()
{
	echo "$BASHPID" > "$CG/cgroup.procs" &&
	exec rdma-ep-run "$@" < "$WORK/fifo"
}

# A privileged user is not subject to RLIMIT_MEMLOCK and the quotas.
on_user()
{
	ulimit -l "$MEMLOCK"
	exec setpriv --reuid 1000 --regid 1000 --clear-groups \
		rdma-ep-run "$@" < /dev/null
}

# ---- checks

ready_or_gone()
{
	grep -q ready "$WORK/$1.out" || stopped "$1"
}

# hold NAME CQS [ENTRIES]: sets PID; the program waits until fd 9 is closed
hold()
{
	rm -f "$WORK/fifo"
	mkfifo "$WORK/fifo"
	start demo "$1" python3 "$PROGRAM" "$RDMA_DEV" "$2" "${3:-32767}" &&
	exec 9>"$WORK/fifo"
	wait_for 60 ready_or_gone "$1"
	PID=${pids[$1]}
}

release()
{
	exec 9>&-
	finish "$1"
}

# stat_of NAME: prints the value in memory.stat, in bytes
stat_of()
{
	awk -v name="$1" '$1 == name { print $2 }' "$CG/memory.stat"
}

uncharged()
{
	! grep -q 'hca_object=[1-9]' "$CG/rdma.current"
}

# shown LINE: the output and the page have it. (The page has the device's name rxe0.)
shown()
{
	grep -qxF -- "$1" "$WORK/look" || problem "no line '$1' comes out"
	grep -qxF -- "${1/$RDMA_DEV/rxe0}" "$DOC" || problem "no line '$1' on the page"
}

# refused NAME STATUS TEXT: the program fails with TEXT, which the page has as well
refused()
{
	finish "$1"
	expect_status "$1" 1
	expect_error "$1" "$2"
	grep -qF -- "$2" "$DOC" || problem "'$2' is not on the page"
}

# The quota on the page; the default depends on the size of memory.
quota=$(<"$QUOTA")
echo 512 > "$QUOTA"
trap 'echo "$quota" > "$QUOTA"; rm -rf "$WORK"' EXIT

begin "memory and objects are charged while they are held"
make_cgroup || problem "cannot make the cgroup"
PID=$$ look > /dev/null 2>&1
hold program 1
look | sed "s, *$,," > "$WORK/look"
cat "$WORK/look"
shown "$RDMA_DEV hca_handle=0 hca_object=3"
shown "VmLck:	       0 kB"
shown "VmPin:	    8192 kB"
shown "objects:	4 of 65536"
shown "pds:	1"
shown "mrs:	1"
shown "cqs:	1"
shown "pinned-memory:	8192 KiB"
shown "$(grep '^queue-memory:' "$WORK/look")"
(($(grep -o '^queue-memory:	[0-9]*' "$WORK/look" | cut -f 2) >= 32768 * 64 / 1024)) ||
	problem "the queue is smaller than its entries"
(($(stat_of anon) > 8 << 20)) || problem "the buffer is not in anon"
(($(stat_of anon) < 40 << 20)) || problem "too much is in anon"
kernel=$(stat_of kernel)
release program
expect_status program 0
wait_for 10 uncharged || problem "still charged: $(<"$CG/rdma.current")"
end

begin "a CQ is charged as an object"
hold program 2
grep -q "^$RDMA_DEV .*hca_object=4 " "$CG/rdma.current" ||
	problem "charged is $(<"$CG/rdma.current")"
release program
expect_status program 0
end

# A CQ needs more than a KiB of structures of rdma_ep. (Some 2000 KiB are the pages of its ring and
# the kernel's structures of the process.)
begin "many small CQs are charged as kernel memory"
echo "$RDMA_DEV hca_object=max" > "$CG/rdma.max"
hold program 1000 1
more=$((($(stat_of kernel) - kernel) / 1024))
echo "# 999 CQs more: $more KiB"
((more > 2600)) || problem "they are $more KiB"
release program
expect_status program 0
echo "$RDMA_DEV hca_object=4" > "$CG/rdma.max"
end

begin "rdma.max"
hold program 3
release program
refused program "Errno: 11, Resource temporarily unavailable"
wait_for 10 uncharged || problem "still charged: $(<"$CG/rdma.current")"
end

begin "RLIMIT_MEMLOCK"
MEMLOCK=1024
start user program python3 "$PROGRAM" "$RDMA_DEV" 1 32767
refused program "Errno: 12, Cannot allocate memory"
end

begin "quota of the module"
echo 1 > "$QUOTA"
MEMLOCK=16384
start user program python3 "$PROGRAM" "$RDMA_DEV" 1 32767
refused program "Errno: 122, Disk quota exceeded"
echo 512 > "$QUOTA"
end

begin "all rules are removed by the command of the page"
RULES=/sys/module/rdma_ep/parameters/rules
removal="echo > $RULES"
grep -qF "\`$removal\`" "$DOC" || problem "it is not on the page"
echo "/demo objects=5; driver=$DEVICE gid=0" > "$RULES"
cat /dev/null > "$RULES"
expect "rules after cat of an empty file" "$(<"$RULES")" "/demo objects=5; driver=$DEVICE gid=0"
bash -c "$removal" || problem "it fails"
expect "rules" "$(<"$RULES")" ""
end

# A cgroup that is removed with a limit in rdma.max and without charges leaves an entry in the
# device's list. The kernel follows the entry when it removes the device (6.1: list_del corruption
# in free_cg_rpool_locked()).
begin "all charges end with the session"
remove_cgroup || problem "the cgroup is in use"
end
finish_tests
