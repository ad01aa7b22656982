#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# rdma-ep(1): its output about sessions, devices and problems agrees with the actual state.

# shellcheck source=selftests/clients/common.sh
. "$(dirname "$0")/common.sh"

not_on_stock "rdma-ep"

# json EXPRESSION: prints its value, with the JSON on stdin as "j"
json()
{
	python3 -c 'import json, sys
j = json.load(sys.stdin)
print(eval(sys.argv[1]))' "$1"
}

# True if an id of the client is connected.
connected()
{
	rdma-ep status --pid "${pids[client]}" | grep -q '^  id .* connected '
}

children()
{
	pgrep -P "$1" > /dev/null
}

begin "no sessions"
expect "sessions" "$(rdma-ep status --json | json 'len(j["sessions"])')" 0
expect "complete" "$(rdma-ep status --json | json 'j["complete"]')" True
rdma-ep status 2>&1 | grep -q 'no sessions' || problem "text does not say so"
end

# A listener, and a client that stays connected until SIGTERM
begin "sessions, ids, counters"
server ours rping -s -a "$RDMA_ADDR" -p "$PORT" -S 4096
rdma-ep status --json > "$WORK/s.json"
expect "sessions" "$(json 'len(j["sessions"])' < "$WORK/s.json")" 1
expect "pid" "$(json 'j["sessions"][0]["pid"]' < "$WORK/s.json")" "${pids[server]}"
expect "state" "$(json 'j["sessions"][0]["id"][0]["state"]' < "$WORK/s.json")" \
	listening
expect "source" "$(json 'j["sessions"][0]["id"][0]["source"]' < "$WORK/s.json")" \
	"$RDMA_ADDR:$PORT"
start ours client rping -c -a "$RDMA_ADDR" -p "$PORT" -C 100000 -S 4096
wait_for 20 connected ||
	problem "no id of the client gets connected"
rdma-ep status --json --pid "${pids[client]}" > "$WORK/c.json"
s='j["sessions"][0]'
expect "sessions of the client" "$(json 'len(j["sessions"])' < "$WORK/c.json")" 1
expect "destination" "$(json "${s}['id'][0]['destination']" < "$WORK/c.json")" \
	"$RDMA_ADDR:$PORT"
expect "device" "$(json "${s}['id'][0]['device']" < "$WORK/c.json")" "$RDMA_DEV"
expect "qps" "$(json "${s}['qps']" < "$WORK/c.json")" 1
# rping's client registers four buffers, two of them of the size of a message.
expect "mrs" "$(json "${s}['mrs']" < "$WORK/c.json")" 4
json "${s}['pinned_memory_kib'] >= 8 and ${s}['queue_memory_kib'] > 0" < "$WORK/c.json" |
	grep -q True || problem "no pinned or queue memory"
json "${s}['objects'] <= ${s}['user_objects'] <= ${s}['user_objects_max']" < "$WORK/c.json" |
	grep -q True || problem "quota does not add up"
sleep 1
rdma-ep status --json --pid "${pids[client]}" > "$WORK/c2.json"
for key in sends send_bytes receives receive_bytes completions; do
	(($(json "${s}['$key']" < "$WORK/c2.json") >
	  $(json "${s}['$key']" < "$WORK/c.json"))) ||
		no_progress "$key does not grow"
done
rdma-ep status | grep -Eq "^[0-9]+ +${pids[client]} +rping +root" ||
	problem "text has no line of the client"
rdma-ep status | grep -Eq "connected +$RDMA_ADDR:[0-9]+ +$RDMA_ADDR:$PORT +$RDMA_DEV +qp" ||
	problem "text has no line of its id"
timeout 4 rdma-ep status --watch 0.5 > "$WORK/watch"
(($(grep -c '^SESSION.*sends/s' "$WORK/watch") >= 2)) ||
	problem "--watch does not repeat"
awk -v pid="${pids[client]}" '$2 == pid && $8 > 0 { n++ } END { exit !n }' \
	"$WORK/watch" || no_progress "--watch shows no sends for a second"
# A user who may not look into a process does not get its session.
"${NOBODY[@]}" rdma-ep status --json > "$WORK/nobody.json"
expect "of nobody" "$(json 'len(j["sessions"]), j["complete"]' < "$WORK/nobody.json")" \
	"(0, False)"
terminate client
# (rping's server serves one client and then exits.)
finish server
end

begin "an inherited session is listed once"
python3 - <<'END' &
import os, time
os.open("/dev/infiniband/rdma_ep", os.O_RDWR)
os.fork()
time.sleep(30)
END
inherited=$!
wait_for 10 children "$inherited"
expect "sessions" "$(rdma-ep status --json | json 'len(j["sessions"])')" 1
pkill -P "$inherited"
kill "$inherited"
wait "$inherited"
end

# Any user can choose such a name: it must not reach the administrator's terminal, nor make JSON
# invalid. It consists of escape [2J, 0xff, a newline, U+009B, a backslash, and o with two dots.
cat > "$WORK/name.py" <<'END'
import os, resource, sys, time
open("/proc/self/comm", "wb").write(b"\x1b[2J\xff\nx\xc2\x9b\\\xc3\xb6")
from pyverbs.device import Context
from pyverbs.pd import PD
context = Context(name=sys.argv[1])
try:
    pds = [PD(context) for _ in range(int(sys.argv[2]))]
except Exception:
    sys.exit(3)
print("ready", flush=True)
time.sleep(60)
END
NAME='\x1b[2J\xff\x0ax\xc2\x9b\\ö'

named_ready()
{
	grep -q ready "$WORK/named.out" || stopped named
}

# plain FILE: it is UTF-8 without control characters except newlines and tabs
plain()
{
	python3 -c 'import sys
text = open(sys.argv[1], "rb").read().decode()
sys.exit(any(ord(c) < 32 and c not in "\n\t" or 127 <= ord(c) < 160 for c in text))' \
		"$1" || problem "$1 has something else than printable text"
}

begin "names with control characters are escaped"
start ours named python3 "$WORK/name.py" "$RDMA_DEV" 1
wait_for 20 named_ready
running named || problem "the program does not run"
rdma-ep status > "$WORK/text"
plain "$WORK/text"
grep -qF -- "$NAME" "$WORK/text" || problem "text has no '$NAME'"
rdma-ep status --json > "$WORK/n.json"
plain "$WORK/n.json"
expect "command" "$(json 'j["sessions"][0]["command"]' < "$WORK/n.json")" "$NAME"
terminate named
chmod 755 "$WORK"
with_parameter session_max_objects 5 "${NOBODY[@]}" \
	rdma-ep-run python3 "$WORK/name.py" "$RDMA_DEV" 100 > "$WORK/named.out" 2>&1
expect "exit status beyond the limit" "$?" 3
# The text of the log itself, as /dev/kmsg would escape it
python3 - > "$WORK/log" <<'END'
import ctypes, os
buf = ctypes.create_string_buffer(1 << 20)
n = ctypes.CDLL(None).klogctl(3, buf, len(buf))
lines = [line for line in buf.raw[:n].split(b"\n") if b"over its limit" in line]
os.write(1, b"\n".join(lines[-1:]) + b"\n")
END
plain "$WORK/log"
grep -qF -- '\x1b[2J\xff\x0ax\xc2\x9b\x5c\xc3\xb6[' "$WORK/log" ||
	problem "the log has no such name: $(cat -v "$WORK/log")"
rdma-ep doctor --report > "$WORK/report"
plain "$WORK/report"
end

begin "devices"
rdma-ep devices --json > "$WORK/d.json"
expect "device" "$(json 'j[0]["device"]' < "$WORK/d.json")" "$RDMA_DEV"
expect "usable" "$(json 'j[0]["usable"]' < "$WORK/d.json")" True
expect "active" "$(json 'j[0]["ports"][0]["active"]' < "$WORK/d.json")" True
transport=RoCE
[[ $DEVICE != siw ]] || transport=iWARP
expect "transport" "$(json 'j[0]["ports"][0]["transport"]' < "$WORK/d.json")" \
	"$transport"
rdma-ep devices | grep -Eq "^$RDMA_DEV +1 +$transport +active .* yes$" ||
	problem "text has no such line"
end

# doctor CHECK VERDICT [MEND]: the worst verdict of the check is this
doctor()
{
	local want=$2 got
	rdma-ep doctor --json > "$WORK/doctor.json"
	got=$(json "max([c['verdict'] for c in j if c['check'] == '$1'],
		key=['ok', 'warn', 'fail'].index)" < "$WORK/doctor.json")
	expect "$1" "$got" "$want"
	[[ -z ${3:-} ]] ||
		json "[c.get('mend') for c in j if c['check'] == '$1']" \
			< "$WORK/doctor.json" | grep -qF -- "$3" ||
		problem "$1: does not name '$3'"
}

begin "doctor: nothing is wrong"
rdma-ep doctor > "$WORK/doctor" || problem "exit status $?"
# (doctor.sh tests the warning of known issues and its remedy.)
! grep -v '^ok \|^warn  exposed\|^ .*driver=[a-z]* gid=0' "$WORK/doctor" > "$WORK/wrong" ||
	problem "complains: $(< "$WORK/wrong")"
for check in module node abi library device memlock cgroup quota; do
	grep -Eq "^ok +$check " "$WORK/doctor" || problem "no check of $check"
done
end

begin "doctor: the module is not loaded"
rmmod rdma_ep || problem "rmmod failed"
doctor module fail 'modprobe rdma_ep'
rdma-ep doctor > /dev/null && problem "exit status 0"
modprobe rdma_ep || problem "modprobe failed"
end

begin "doctor: the node may not be opened"
old=$(stat -c %a /dev/infiniband/rdma_ep)
chmod 600 /dev/infiniband/rdma_ep
"${NOBODY[@]}" rdma-ep doctor --json > "$WORK/doctor.json" && problem "exit status 0"
expect "node" "$(json '[c["verdict"] for c in j if c["check"] == "node"]' \
	< "$WORK/doctor.json")" "['fail']"
chmod "$old" /dev/infiniband/rdma_ep
end

# (A separate device, as rxe does not recover on Linux 6.1.)
begin "doctor: a link is down, then without an address"
ip link add tool0 type veth peer name tool1
rdma link add tool_rdma type "$DEVICE" netdev tool0
doctor device warn "ip link set tool0 up"
ip link set tool1 up
sysctl -q net.ipv6.conf.tool0.disable_ipv6=1
ip link set tool0 up
wait_for 10 grep -q ACTIVE /sys/class/infiniband/tool_rdma/ports/1/state
doctor device warn "ip addr add ADDRESS/LEN dev tool0"
rdma link delete tool_rdma
ip link delete tool0
end

begin "doctor: no memory may be registered"
(ulimit -l 64; "${NOBODY[@]}" rdma-ep doctor --json) > "$WORK/doctor.json"
expect "memlock" "$(json '[c["verdict"] for c in j if c["check"] == "memlock"]' \
	< "$WORK/doctor.json")" "['warn']"
end

on_tool()
{
	echo "$BASHPID" > /sys/fs/cgroup/tool/cgroup.procs && on_ours "$@"
}

begin "doctor: a limit is near"
mkdir -p /sys/fs/cgroup/tool/child
server tool rping -s -a "$RDMA_ADDR" -p "$PORT"
objects=$(rdma-ep status --json | json 'j["sessions"][0]["objects"]')
doctor quota ok
with_parameter session_max_objects "$objects" doctor quota warn session_max_
with_parameter user_max_objects "$objects" doctor quota warn user_max_
with_parameter rules "/tool objects=$objects" doctor quota warn parameters/rules
terminate server
end

begin "doctor: rdma.max of a parent"
echo +rdma | tee /sys/fs/cgroup/{,tool/}cgroup.subtree_control > /dev/null
in_child()
{
	(echo "$BASHPID" > /sys/fs/cgroup/tool/child/cgroup.procs && rdma-ep doctor) > "$WORK/out"
}
in_child
finds cgroup ok "rdma.max of /tool/child limits nothing" ""
echo "$RDMA_DEV hca_object=0" > /sys/fs/cgroup/tool/rdma.max
in_child
finds cgroup warn "/tool: $RDMA_DEV " "hca_object=max"
echo "$RDMA_DEV hca_object=max" > /sys/fs/cgroup/tool/rdma.max
rmdir /sys/fs/cgroup/tool/child /sys/fs/cgroup/tool || problem "cgroups remain"
end

begin "doctor --report"
rdma-ep doctor --report > "$WORK/report" || problem "exit status $?"
for part in checks devices sessions 'kernel log'; do
	grep -q "^== $part" "$WORK/report" || problem "no part '$part'"
done
grep -q "srcversion $(cat /sys/module/rdma_ep/srcversion)" "$WORK/report" ||
	problem "no srcversion"
printf '# no rules\n/a objects=9\n' > /sys/module/rdma_ep/parameters/rules
rdma-ep doctor --report > "$WORK/report"
(cd /sys/module/rdma_ep/parameters && grep . ./*) | sed 's,^\./,,' > "$WORK/parameters"
grep -qx 'rules:/a objects=9' "$WORK/parameters" || problem "there are no rules"
! grep -vxFf "$WORK/report" "$WORK/parameters" || problem "a parameter is missing"
echo " " > /sys/module/rdma_ep/parameters/rules
end

begin "run"
server ours rping -s -a "$RDMA_ADDR" -p "$PORT"
rdma-ep run rping -c -a "$RDMA_ADDR" -p "$PORT" -C 3 || problem "exit status $?"
rdma-ep run /nonexistent 2> "$WORK/err"
expect "of what is not there" "$?" 127
finish server
end

begin "bad usage"
for args in "" "nothing" "status --nothing" "status --pid" "status --watch=0" \
		"status --watch --json" "devices x" "doctor --json --report" "run"; do
	# shellcheck disable=SC2086
	rdma-ep $args > "$WORK/out" 2> "$WORK/err"
	expect "exit status of '$args'" "$?" 2
	grep -q '^usage: ' "$WORK/err" || problem "'$args': no usage"
done
end

finish_tests
