#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests rdma-ep metrics: its format, its values under a certain load, its permissions, the file and
# the reply for a scraper, the names in the dashboard, and its cost with 10,000 ids.
#
# It would catch text that a scraper refuses; counters that decrease or miss traffic, refusals or
# programs that have exited; a refusal with two reasons; values of other users in a container; a
# dashboard with names of missing metrics; a scrape whose cost grows faster than the number of
# objects.

# shellcheck source=selftests/clients/common.sh
. "$(dirname "$0")/common.sh"

HERE=$(cd "$(dirname "$0")" && pwd)
PREFIX=$(dirname "$(dirname "$(command -v rdma-ep)")")
DASHBOARD=$PREFIX/share/rdma-ep/grafana.json
SOCKET=$PREFIX/lib/systemd/system/rdma-ep-metrics.socket
DOC=$HERE/../src/docs/admin/metrics.md
[[ -e $DOC ]] || DOC=$HERE/../../docs/admin/metrics.md
CG=/sys/fs/cgroup/metrics
IDS=10000

not_on_stock "metrics"

# value NAME LABELS: prints the sum of the samples with this name that have all labels (a pattern)
value()
{
	awk -v name="$1" -v labels="$2" '
		index($0, name "{") == 1 && $0 ~ labels { sum += $2 }
		END { printf "%d\n", sum }' "$WORK/metrics"
}

scrape()
{
	rdma-ep metrics > "$WORK/metrics" || problem "it fails"
}

# In the cgroup, as a user
on_pod()
{
	echo "$BASHPID" > "$CG/cgroup.procs" &&
	exec setpriv --reuid 1000 --regid 1000 --clear-groups rdma-ep-run "$@" < /dev/null
}

chmod 755 "$WORK"
[[ -e /sys/fs/cgroup/cgroup.procs ]] ||
	mount -t cgroup2 none /sys/fs/cgroup
mkdir -p "$CG"
trap 'rmdir "$CG"; rm -rf "$WORK"' EXIT

MINE="cgroup=\"/metrics\",uid=\"1000\""

begin "values of a client and a server"
server pod rping -s -a "$RDMA_ADDR" -p "$PORT" -C 10 -S 4096
client pod rping -c -v -a "$RDMA_ADDR" -p "$PORT" -C 10 -S 4096
finish server
scrape
python3 "$HERE/metrics.py" "$WORK/metrics" "$DASHBOARD" || problem "the format"
# In each of ten rounds two messages of 16 bytes each way, a READ and a WRITE of 4096
expect "established" "$(value rdma_ep_connections_total "$MINE,event=\"established\"")" 2
(($(value rdma_ep_connections_total "$MINE,event=\"disconnected\"") >= 1)) ||
	problem "no connection has ended"
expect "messages in" "$(value rdma_ep_messages_total "$MINE,direction=\"in\"")" 40
expect "bytes in" "$(value rdma_ep_traffic_bytes_total "$MINE,direction=\"in\"")" 640
expect "READs" "$(value rdma_ep_messages_total "$MINE,direction=\"read\"")" 10
expect "bytes of READs" "$(value rdma_ep_traffic_bytes_total "$MINE,direction=\"read\"")" 40960
expect "messages out" "$(value rdma_ep_messages_total "$MINE,direction=\"out\"")" 50
expect "bytes out" "$(value rdma_ep_traffic_bytes_total "$MINE,direction=\"out\"")" 41600
# A new cgroup of the same name, as of a restarted unit
rmdir "$CG" && mkdir "$CG"
server pod rping -s -a "$RDMA_ADDR" -p "$PORT" -C 10 -S 4096
client pod rping -c -v -a "$RDMA_ADDR" -p "$PORT" -C 10 -S 4096
finish server
scrape
python3 "$HERE/metrics.py" "$WORK/metrics" "$DASHBOARD" || problem "the format"
expect "messages in, of both" "$(value rdma_ep_messages_total "$MINE,direction=\"in\"")" 80
grep -q "rdma_ep_messages_total{device=\"$RDMA_DEV\",cgroup" "$WORK/metrics" ||
	problem "no label has the device"
expect "sessions" "$(value rdma_ep_sessions "$MINE")" 0
expect "objects" "$(value rdma_ep_objects "$MINE")" 0
end

# A program that holds ids and then prints "ready": ids.py IDS [OBJECTS], with a restriction to
# OBJECTS
cat > "$WORK/ids.py" <<'END'
import ctypes, os, struct, sys
cm = ctypes.CDLL("librdma_ep.so.1", use_errno=True)
cm.rdma_create_event_channel.restype = ctypes.c_void_p
channel = ctypes.c_void_p(cm.rdma_create_event_channel())
if len(sys.argv) > 2:
    objects = 1 << 4            # RDMA_EP_RESTRICT_OBJECTS
    restriction = struct.pack("IIPQQQ", objects, 0, 0, int(sys.argv[2]), 0, 0)
    for fd in os.listdir("/proc/self/fd"):
        if os.path.realpath("/proc/self/fd/" + fd) == "/dev/infiniband/rdma_ep":
            cm.rdma_ep_restrict(int(fd), restriction)
ids = [ctypes.c_void_p() for _ in range(int(sys.argv[1]))]
for n, i in enumerate(ids):
    if cm.rdma_create_id(channel, ctypes.byref(i), None, 0x106):
        sys.exit(f"{n}: errno {ctypes.get_errno()}")
print("ready", flush=True)
sys.stdin.readline()
END

on_held()
{
	echo "$BASHPID" > "$CG/cgroup.procs" &&
	exec setpriv --reuid 1000 --regid 1000 --clear-groups rdma-ep-run "$@" < "$WORK/fifo"
}

ready_or_gone()
{
	grep -q ready "$WORK/$1.out" || stopped "$1"
}

# Prints the mean CPU time of five scrapes, in milliseconds.
cost()
{
	local times
	TIMEFORMAT="%U %S"
	times=$({ time for _ in 1 2 3 4 5; do rdma-ep metrics > /dev/null; done; } 2>&1)
	awk '{ printf "%d\n", ($1 + $2) * 1000 / 5 }' <<< "$times"
}

# Prints the kernel's part of it, the mean of 50, in microseconds.
kernel_cost()
{
	python3 -c 'import time
before = time.process_time_ns()
for _ in range(50):
    open("/proc/rdma_ep", "rb").read()
print((time.process_time_ns() - before) // 50000)'
}

begin "$IDS ids, and their cost"
quota=$(< /sys/module/rdma_ep/parameters/user_max_queue_mb)
session=$(< /sys/module/rdma_ep/parameters/session_max_queue_mb)
echo 1024 | tee /sys/module/rdma_ep/parameters/{user,session}_max_queue_mb > /dev/null
mkfifo "$WORK/fifo"
start held ids python3 "$WORK/ids.py" "$IDS"
exec 9> "$WORK/fifo"
wait_for 120 ready_or_gone ids
scrape
expect "ids" "$(value rdma_ep_ids "$MINE")" "$IDS"
(($(value rdma_ep_charged_objects "$MINE") >= IDS)) || problem "they are not charged"
(($(value rdma_ep_queue_bytes "$MINE") >= IDS * 4096)) || problem "their memory is not charged"
with=$(cost) kernel_with=$(kernel_cost)
exec 9>&-
finish ids
expect_status ids 0
echo "$quota" > /sys/module/rdma_ep/parameters/user_max_queue_mb
echo "$session" > /sys/module/rdma_ep/parameters/session_max_queue_mb
without=$(cost) kernel_without=$(kernel_cost)
echo "# a scrape: $with ms of CPU with $IDS ids, $without ms without"
echo "# /proc/rdma_ep: $kernel_with us with $IDS ids, $kernel_without us without"
# An emulated CPU is about 30 times slower than a real one.
((with > 0 && with - without < 500 * ${TEST_SCALE:-1})) || problem "that is too much"
scrape
expect "ids" "$(value rdma_ep_ids "$MINE")" 0
(($(value rdma_ep_messages_total "$MINE,direction=\"in\"") == 80)) ||
	problem "a counter has changed"
end

# A program that registers memory, and prints the error
cat > "$WORK/reg.py" <<'END'
import ctypes, errno, mmap, sys
v = ctypes.CDLL("librdma_ep.so.1", use_errno=True)
pointer = ctypes.c_void_p
for name in "get_device_list", "open_device", "alloc_pd", "reg_mr":
    getattr(v, "ibv_" + name).restype = pointer
v.ibv_get_device_list.restype = ctypes.POINTER(pointer)
v.ibv_reg_mr.argtypes = pointer, pointer, ctypes.c_size_t, ctypes.c_int
size = int(sys.argv[1])
memory = ctypes.c_char.from_buffer(mmap.mmap(-1, size))
context = v.ibv_open_device(pointer(v.ibv_get_device_list(None)[0]))
pd = v.ibv_alloc_pd(pointer(context))
mr = pd and v.ibv_reg_mr(pd, ctypes.addressof(memory), size, 1)
print("registered" if mr else errno.errorcode[ctypes.get_errno()])
END

# A program that listens at an address, and prints "ready" or the error
cat > "$WORK/listen.py" <<'END'
import ctypes, errno, socket, struct, sys
cm = ctypes.CDLL("librdma_ep.so.1", use_errno=True)
cm.rdma_create_event_channel.restype = ctypes.c_void_p
channel = ctypes.c_void_p(cm.rdma_create_event_channel())
listener = ctypes.c_void_p()
cm.rdma_create_id(channel, ctypes.byref(listener), None, 0x106)
address = struct.pack("=H", socket.AF_INET) + struct.pack("!H", int(sys.argv[2]))
address += socket.inet_aton(sys.argv[1]) + bytes(8)
if cm.rdma_bind_addr(listener, address) or cm.rdma_listen(listener, 1):
    sys.exit(errno.errorcode[ctypes.get_errno()])
print("ready", flush=True)
sys.stdin.readline()
END

# refusal_case REASON MEMLOCK OUTPUT COMMAND...: one command is refused, for one reason. MEMLOCK is
# in KiB.
refusal_case()
{
	local reason=$1 before one
	scrape
	before=$(value rdma_ep_refusals_total "$MINE")
	one=$(value rdma_ep_refusals_total "$MINE,reason=\"$reason\"")
	(ulimit -l "$2" && on_pod "${@:4}") > "$WORK/refused.out" 2> "$WORK/refused.err"
	grep -q -- "$3" "$WORK"/refused.{out,err} ||
		problem "$reason: no '$3' but $(cat "$WORK"/refused.{out,err})"
	scrape
	expect "$reason" "$(value rdma_ep_refusals_total "$MINE,reason=\"$reason\"")" $((one + 1))
	expect "refusals with that of $reason" "$(value rdma_ep_refusals_total "$MINE")" \
		$((before + 1))
}

begin "refusals by reason"
RULES=/sys/module/rdma_ep/parameters/rules
IDS_PY=(python3 "$WORK/ids.py")
LISTEN=(python3 "$WORK/listen.py")
REG=(python3 "$WORK/reg.py")
# The first id is an object and memory beyond both limits.
echo "/metrics objects=2 queue=4K" > "$RULES"
refusal_case cgroup_objects 64 "errno 122" "${IDS_PY[@]}" 10
echo "/metrics queue=4K" > "$RULES"
refusal_case cgroup_queue 64 "errno 122" "${IDS_PY[@]}" 10
echo "/metrics pinned=64K" > "$RULES"
refusal_case cgroup_pinned 1024 ENOMEM "${REG[@]}" 131072
echo "/metrics pinned=64K memlock=quota" > "$RULES"
refusal_case cgroup_pinned 0 ENOMEM "${REG[@]}" 131072
echo " " > "$RULES"
refusal_case memlock 64 ENOMEM "${REG[@]}" 131072
# siw of Linux 6.1 compares with the limit itself (SIW-26).
no_memlock=EPERM
[[ $DEVICE != siw || $(uname -r) != 6.1.* ]] || no_memlock=ENOMEM
refusal_case memlock 0 "$no_memlock" "${REG[@]}" 4096
with_parameter user_max_pinned_mb 1 \
	refusal_case user_max_pinned_mb 4096 ENOMEM "${REG[@]}" 2097152
# A refusal that two limits explain counts once.
with_parameter session_max_objects 0 with_parameter user_max_objects 2 \
	refusal_case session_max_objects 64 "errno 122" "${IDS_PY[@]}" 10
with_parameter user_max_objects 2 \
	refusal_case user_max_objects 64 "errno 122" "${IDS_PY[@]}" 10
with_parameter session_max_queue_mb 0 \
	refusal_case session_max_queue_mb 64 "errno 122" "${IDS_PY[@]}" 10
with_parameter user_max_queue_mb 0 \
	refusal_case user_max_queue_mb 64 "errno 122" "${IDS_PY[@]}" 10
refusal_case restriction 64 "errno 122" "${IDS_PY[@]}" 10 2
refusal_case access 64 EACCES "${LISTEN[@]}" "$RDMA_ADDR" 80
refusal_case other 64 EADDRNOTAVAIL "${LISTEN[@]}" 192.0.2.1 0
echo +rdma > /sys/fs/cgroup/cgroup.subtree_control || problem "no rdma controller"
echo "$RDMA_DEV hca_object=0" > "$CG/rdma.max"
refusal_case rdma_max 64 EAGAIN "${REG[@]}" 4096
# A limit that outlives its cgroup breaks the device's list in Linux 6.1 (accounting.sh).
echo "$RDMA_DEV hca_object=max" > "$CG/rdma.max"
end

refuse_request()
{
	client stock rping -c -v -a "$RDMA_ADDR" -p "$PORT" -C 1
}

begin "a request that a full queue of events refuses"
start held listener "${LISTEN[@]}" "$RDMA_ADDR" "$PORT"
exec 9> "$WORK/fifo"
wait_for 30 ready_or_gone listener
scrape
events=$(value rdma_ep_refusals_total "$MINE,reason=\"events\"")
with_parameter user_max_events 0 refuse_request
expect_error client RDMA_CM_EVENT_REJECTED
scrape
expect "events" "$(value rdma_ep_refusals_total "$MINE,reason=\"events\"")" $((events + 1))
exec 9>&-
finish listener
expect_status listener 0
end

# Prints the cgroups of the metrics as a scraper reads them.
cgroups()
{
	python3 - "$WORK/metrics" <<-'END'
	import re, sys
	text = open(sys.argv[1], encoding='utf-8').read()
	for value in sorted(set(re.findall(r'cgroup="((?:[^"\\\n]|\\.)*)"', text))):
	    value = re.sub(r'\\(.)', lambda m: '\n' if m[1] == 'n' else m[1], value)
	    sys.stdout.buffer.write(value.encode() + b'\n')
	END
}

# systemd's names have backslashes. Those of users may have controls, which must not get out, and
# which must not make two names one.
begin "names of cgroups"
names=('a\x2db' 'a"b' $'a\001b' 'a\x01b' $'a\302\205b' a�b)
for name in "${names[@]}"; do
	mkdir "$CG/$name"
	(echo "$BASHPID" > "$CG/$name/cgroup.procs" && : <> /dev/infiniband/rdma_ep) ||
		problem "no session in $name"
	rmdir "$CG/$name"
done
scrape
python3 "$HERE/metrics.py" "$WORK/metrics" || problem "the format"
cgroups > "$WORK/cgroups"
for name in 'a\x2db' 'a"b' 'a�x01b' 'a\x01b' 'a�xc2�x85b' 'a�xef�xbf�xbdb'; do
	grep -qxF "/metrics/$name" "$WORK/cgroups" ||
		problem "no $name: $(grep /metrics/ "$WORK/cgroups" | tr '\n' ' ')"
done
! LC_ALL=C grep -q $'[\001-\011\013-\037]' "$WORK/metrics" || problem "controls get out"
end

begin "only with CAP_PERFMON"
"${NOBODY[@]}" rdma-ep metrics > "$WORK/out" 2> "$WORK/err" && problem "nobody reads them"
grep -q CAP_PERFMON "$WORK/err" || problem "the reason is not named"
setpriv --bounding-set=-all --inh-caps=-all rdma-ep metrics > "$WORK/out" 2> "$WORK/err" &&
	problem "root without capabilities reads them"
[[ ! -s $WORK/out ]] || problem "there is output"
setpriv --bounding-set=-all,+perfmon --inh-caps=-all rdma-ep metrics > "$WORK/out" ||
	problem "CAP_PERFMON is not enough"
end

begin "for a scraper"
rdma-ep metrics --textfile "$WORK/rdma_ep.prom" || problem "--textfile fails"
expect "mode" "$(stat -c %a "$WORK/rdma_ep.prom")" 644
expect "files" "$(find "$WORK" -name 'rdma_ep.prom*' | wc -l)" 1
grep -q '^# TYPE rdma_ep_messages_total counter$' "$WORK/rdma_ep.prom" ||
	problem "the type of a counter"
! grep -q '^# \(UNIT\|EOF\)' "$WORK/rdma_ep.prom" || problem "it is not the older format"
printf 'GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n' | rdma-ep metrics --http > "$WORK/answer"
sed '1,/^\r$/d' "$WORK/answer" > "$WORK/body"
head -n 1 "$WORK/answer" | grep -q '^HTTP/1.1 200 OK' || problem "no answer"
grep -q '^Content-Type: application/openmetrics-text; version=1.0.0' "$WORK/answer" ||
	problem "the type of the answer"
expect "length" "$(tr -d '\r' < "$WORK/answer" | sed -n 's/^Content-Length: //p')" \
	"$(stat -c %s "$WORK/body")"
python3 "$HERE/metrics.py" "$WORK/body" || problem "the format of the answer"
printf 'GET / HTTP/1.1\r\n\r\n' | rdma-ep metrics --http | grep -q '^HTTP/1.1 404' ||
	problem "another page"
# systemd counts connections beyond MaxConnections against this limit, which ends in a failed unit.
grep -qx 'TriggerLimitIntervalSec=0' "$SOCKET" || problem "200 connections close the socket"
end

SYSTEMD=/usr/lib/systemd/systemd
export XDG_RUNTIME_DIR=$WORK/run

# A manager of services as each user has one, in the cgroup of this test
on_systemd()
{
	mkdir -p /run/systemd/system
	echo "$BASHPID" > "$CG/cgroup.procs"
	exec "$@"
}

systemctl()
{
	command systemctl --user "$@"
}

restart_socket()
{
	# quote restart
	systemctl restart rdma-ep-metrics.socket
	# end quote
}

on_tcp()
{
	[[ -n $(ss -Htln "sport = :9879") ]]
}

begin "another socket by the drop-in of the page"
if [[ -x $SYSTEMD ]]; then
	units=$XDG_RUNTIME_DIR/systemd/user
	mkdir -p "$units/rdma-ep-metrics.socket.d"
	cp "$(dirname "$SOCKET")"/rdma-ep-metrics* "$units/"
	printf '[Unit]\nDefaultDependencies=no\n' > "$units/rdma-ep-metrics.socket.d/test.conf"
	start systemd manager "$SYSTEMD" --user --unit=rdma-ep-metrics.socket
	wait_for 20 on_tcp || problem "no TCP socket"
	# shellcheck disable=SC2016
	sed -n '/^\[Socket\]/,/^```/{/^```/!p}' "$DOC" > "$units/rdma-ep-metrics.socket.d/override.conf"
	grep -q ListenStream=/run/rdma-ep-metrics "$units/rdma-ep-metrics.socket.d/override.conf" ||
		problem "the page has no drop-in"
	systemctl daemon-reload || problem "no reload"
	[[ ! -S /run/rdma-ep-metrics ]] || problem "a reload is enough"
	restart_socket || problem "no restart"
	expect "the unix socket" "$(stat -c '%F %a %G' /run/rdma-ep-metrics)" "socket 660 adm"
	! on_tcp || problem "the TCP socket is still there"
	systemctl stop rdma-ep-metrics.socket
	kill -TERM "${pids[manager]}"
	finish manager
	rm -f /run/rdma-ep-metrics
	find "$CG" -mindepth 1 -depth -type d -exec rmdir {} +
	end
else
	skip "$case_name" "no systemd in the guest"
fi

finish_tests
