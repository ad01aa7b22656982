#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Trace events: those of connections, posts and refusals agree with the operations of programs;
# the kernel records none while they are disabled. The kernel's own events show no activity of an idle
# connection. Then the reports that rdma-ep-trace(1) makes of them.

# shellcheck source=selftests/clients/common.sh
. "$(dirname "$0")/common.sh"

PINGS=10

not_on_stock "trace events"

# A separate instance has only the events of each case.
TRACING=/sys/kernel/tracing/instances/trace.sh
mkdir "$TRACING" || exit 1
trap 'tracing 0; rmdir "$TRACING"; rm -rf "$WORK"' EXIT

tracing()
{
	echo "$1" > "$TRACING/events/enable"
}

# on [EVENT...]: traces only these events (default: all) from here on
on()
{
	local event
	tracing 0
	echo > "$TRACING/trace"
	for event; do
		echo 1 > "$TRACING/events/rdma_ep/rdma_ep_$event/enable" ||
			problem "cannot enable $event"
	done
	(($#)) || echo 1 > "$TRACING/events/rdma_ep/enable" ||
		problem "cannot enable events"
}

# Ends tracing. $WORK/trace has "EVENT FIELD=VALUE..." lines.
off()
{
	tracing 0
	sed -n 's/.*: rdma_ep_\([a-z_]*\): /\1 /p' "$TRACING/trace" > "$WORK/trace"
	[[ ! -s $WORK/trace ]] ||
		! grep -q 'LOST' "$TRACING/trace" || problem "events were lost"
}

# field NAME LINE
field()
{
	grep -oE "(^| )$1=[^ ]*" <<< "$2" | cut -d= -f2
}

# fields NAME [REGEX...]: prints its values in the lines that match all expressions
fields()
{
	local name=$1 lines regex
	shift
	lines=$(< "$WORK/trace")
	for regex; do
		lines=$(grep -E -- "$regex" <<< "$lines")
	done
	grep -oE " $name=[^ ]*" <<< "$lines" | cut -d= -f2
}

sum()
{
	awk '{ n += $1 } END { print n + 0 }'
}

# expect_event REGEX: at least once
expect_event()
{
	grep -Eq -- "$1" "$WORK/trace" || problem "no event '$1'"
}

# Prints the steps of an id. (The order of a step and the CM event that it causes is not defined.)
steps()
{
	grep " session=$1 id=$2 " "$WORK/trace" | grep -v '^cm_event' |
		cut -d ' ' -f 1 | tr '\n' ' '
}

cm_events()
{
	grep "^cm_event session=$1 id=$2 " "$WORK/trace" |
		grep -o 'event=[A-Z_]*' | cut -d= -f2 | tr '\n' ' '
}

# find_id REGEX: sets session and id to those of the last line that matches
find_id()
{
	local line
	line=$(grep -E -- "$1" "$WORK/trace" | tail -n 1)
	session=$(field session "$line")
	id=$(field id "$line")
	[[ $id ]] || problem "no event '$1'"
}

on_nobody()
{
	exec "${NOBODY[@]}" prlimit --memlock="${MEMLOCK:-8388608}" rdma-ep-run "$@"
}

# refused_client STACK: it must fail
refused_client()
{
	start "$1" client rping -c -a "$RDMA_ADDR" -p "$PORT" -C 1
	finish client
	[[ ${statuses[client]} != 0 ]] || problem "rping is not refused"
}

EVENTS="accept bind_addr cm_event connect disconnect establish id_create id_destroy
listen over_limit poll post refuse reject resolve_addr resolve_route session_adopt
session_close session_export session_open wc_error"

begin "all events are listed"
for event in $EVENTS; do
	[[ -e $TRACING/events/rdma_ep/rdma_ep_$event/enable ]] ||
		problem "no event $event"
done
expect "number of events" \
	"$(find "$TRACING/events/rdma_ep" -mindepth 1 -type d | wc -l)" \
	"$(wc -w <<< "$EVENTS")"
# A pointer would disclose kernel addresses.
grep -lE '%p[^I]|%px|\*' "$TRACING"/events/rdma_ep/*/format > "$WORK/pointers"
[[ ! -s $WORK/pointers ]] || problem "pointers: $(< "$WORK/pointers")"
# A user who is not root must not see the operations of others.
"${NOBODY[@]}" cat "$TRACING/trace" > /dev/null 2>&1 && problem "anybody can read them"
end

begin "disabled events are not traced"
off
echo > "$TRACING/trace"
ping_pair $PINGS 1000
off
expect "lines" "$(wc -l < "$WORK/trace")" 0
on listen
ping_pair $PINGS 1000
off
expect "events when one is on" "$(cut -d ' ' -f 1 "$WORK/trace")" listen
end

begin "the life of connections"
on
ping_pair $PINGS 1000
off
# The client binds to an address that the kernel chooses.
find_id "^connect .* dst=$RDMA_ADDR:$PORT "
client="$session $id"
src=$(fields src "^connect session=$session id=$id " | tail -n 1)
expect "client's address" "${src%:*}" "$RDMA_ADDR"
qp=$(fields qp "^connect session=$session id=$id ")
((qp > 0)) || problem "the client connects with QP '$qp'"
expect "client's steps" "$(steps "$session" "$id")" \
	"id_create resolve_addr resolve_route connect disconnect id_destroy "
[[ $(cm_events "$session" "$id") == \
   "ADDR_RESOLVED ROUTE_RESOLVED ESTABLISHED "?("DISCONNECTED ") ]] ||
	problem "client's events: $(cm_events "$session" "$id")"
# The listener
find_id "^listen .* src=$RDMA_ADDR:$PORT "
expect "listener's steps" "$(steps "$session" "$id")" \
	"id_create bind_addr listen id_destroy "
expect "listener's events" "$(cm_events "$session" "$id")" "CONNECT_REQUEST "
expect "the request comes from" \
	"$(fields dst "^cm_event session=$session id=$id ")" "$src"
listener="$session $id"
# The id of the request
find_id "^accept .* src=$RDMA_ADDR:$PORT dst=$src "
expect "request's session" "$session" "${listener% *}"
expect "request's steps" "$(steps "$session" "$id")" \
	"id_create accept disconnect id_destroy "
expect "request's events" "$(cm_events "$session" "$id")" \
	"ESTABLISHED DISCONNECTED "
expect "ids" "$(grep -c '^id_create ' "$WORK/trace")" 3
# (rdma-ep-run opens a session to check the module.)
expect "sessions that are closed" "$(fields session '^session_close ' | sort)" \
	"$(fields session '^session_open ' | sort)"
expect "errors" "$(fields ret | grep -v '^[0-9]' | sort -u | tr '\n' ' ')" ""
expect "devices" "$(fields dev '^(connect|accept|listen|cm_event) ' | sort -u)" \
	"$RDMA_DEV"
# rping: each side sends its buffer to the other before and after; the server reads the client's
# buffer, and writes to the other one.
c="session=${client% *} "
s="session=${listener% *} "
for post in "$c SEND $((2 * PINGS)) $((32 * PINGS))" \
	    "$c RECV $((2 * PINGS + 1)) $((16 * (2 * PINGS + 1)))" \
	    "$s SEND $((2 * PINGS)) $((32 * PINGS))" \
	    "$s RDMA_READ $PINGS $((1000 * PINGS))" \
	    "$s RDMA_WRITE $PINGS $((1000 * PINGS))"; do
	read -r who op num bytes <<< "$post"
	expect "$op of $who" "$(fields posted "^post $who " " opcode=$op " | sum)" \
		"$num"
	expect "bytes of $op of $who" \
		"$(fields bytes "^post $who " " opcode=$op " | sum)" "$bytes"
done
expect "QP that the client posts to" "$(fields qp "^post $c" | sort -u)" "$qp"
# Sends and receives complete; the client may not poll flushed ones.
polled=$(fields num "^poll $c" | sum)
((polled >= 4 * PINGS && polled <= 4 * PINGS + 1)) ||
	problem "the client gets $polled completions"
expect "completions with errors other than those" \
	"$(grep '^wc_error ' "$WORK/trace" | grep -vc ' status=WR_FLUSH_ERR ')" 0
end

# A list of requests is one event, and events distinguish an SRQ from a QP.
begin "batches"
on post
"$(dirname "$0")/../abi_post" > "$WORK/abi_post.out" || problem "abi_post fails"
"$(dirname "$0")/../verbs_srq" > "$WORK/verbs_srq.out" || problem "verbs_srq fails"
off
fields num | grep -qvx 1 || problem "no post of more than one"
grep '^post ' "$WORK/trace" | grep -Eq ' qp=0 srq=[1-9][0-9]* opcode=RECV ' ||
	problem "no post to an SRQ"
bad=$(awk '/^post/ { split($6, n, "="); split($7, p, "="); split($NF, r, "=")
	if (r[2] == 0 && n[2] != p[2]) print }' "$WORK/trace")
[[ -z $bad ]] || problem "posted less than asked for, without an error: $bad"
end

# IB: the peer's CM has no such service. iWARP: TCP reports it at once, and a thread of rping then
# waits forever.
begin "a refused connection is traced"
on
start ours client rping -c -a "$RDMA_ADDR" -p "$PORT" -C 1
if [[ $DEVICE == siw ]]; then
	wait_for 20 grep -q ' cmd=CONNECT ' "$TRACING/trace"
else
	finish client
fi
off
find_id "^connect .* dst=$RDMA_ADDR:$PORT "
if [[ $DEVICE == siw ]]; then
	expect_event "^connect session=$session id=$id .* ret=-111$"
	expect_event "^refuse session=$session cmd=CONNECT stage=command ret=-111$"
else
	expect_event "^cm_event session=$session id=$id event=REJECTED status=8 "
fi
end

begin "refused: too much registered memory"
server ours rping -s -a "$RDMA_ADDR" -p "$PORT"
on
MEMLOCK=4096 refused_client nobody
off
expect_event '^refuse session=[0-9]+ cmd=REG_MR stage=command ret=-12$'
expect "limits of ours" "$(grep -c '^over_limit ' "$WORK/trace")" 0
terminate server
end

begin "refused: a quota"
server ours rping -s -a "$RDMA_ADDR" -p "$PORT"
on
with_parameter session_max_objects 1 refused_client nobody
off
expect_event '^over_limit session=[0-9]+ limit=session_max_objects wanted=2 max=1$'
expect_event '^refuse session=[0-9]+ cmd=[A-Z_]+ stage=command ret=-122$'
terminate server
end

request_is_refused()
{
	grep -q ' event=CONNECT_REQUEST .* ret=-12$' "$TRACING/trace"
}

refused_request()
{
	start ours client rping -c -a "$RDMA_ADDR" -p "$PORT" -C 1
	wait_for 20 request_is_refused
	off
}

# The quota of a listener that cannot have another id. IB: the client repeats the request.
begin "refused: a connection request"
server nobody rping -s -a "$RDMA_ADDR" -p "$PORT"
on
with_parameter session_max_objects 1 refused_request
expect_event "^cm_event .* event=CONNECT_REQUEST status=0 src=$RDMA_ADDR:$PORT .* ret=-12\$"
expect_event '^over_limit .* limit=session_max_objects '
expect "new ids of the listener" \
	"$(grep -c "^id_create .* src=$RDMA_ADDR:$PORT" "$WORK/trace")" 0
finish client
if [[ $DEVICE == siw ]]; then
	terminate server
else
	expect_status client 0
	finish server
fi
end

begin "refused: what a command is given, and where it writes to"
on refuse
python3 - <<'END' || problem "the kernel does not refuse that"
import ctypes, errno, fcntl, os, struct

fd = os.open("/dev/infiniband/rdma_ep", os.O_RDWR)

def ioc(nr, size):
    return 3 << 30 | size << 16 | 0xeb << 8 | nr

def refused(why, *args):
    try:
        fcntl.ioctl(fd, *args)
    except OSError as e:
        return e.errno == why
    return False

query, size = 0, 56
# An unknown flag, an unknown command, and a request of other files, as in isatty()
assert refused(errno.EINVAL, ioc(query, size), struct.pack("II48x", size, 1 << 31))
assert refused(errno.ENOTTY, ioc(0xff, size), bytes(size))
assert refused(errno.ENOTTY, 0x5401, bytes(64))
# Memory that is readable but not writable
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
page = libc.mmap(None, ctypes.c_size_t(4096), 3, 0x22, -1, ctypes.c_long(0))
ctypes.memmove(page, struct.pack("II48x", size, 0), size)
assert libc.mprotect(ctypes.c_void_p(page), ctypes.c_size_t(4096), 1) == 0
assert libc.ioctl(fd, ctypes.c_ulong(ioc(query, size)), ctypes.c_void_p(page)) == -1
assert ctypes.get_errno() == errno.EFAULT
END
off
sed -i 's/session=[0-9]*/session=N/' "$WORK/trace"
expect "refusals" "$(< "$WORK/trace")" \
"refuse session=N cmd=QUERY stage=arguments ret=-22
refuse session=N cmd=QUERY stage=results ret=-14"
end

# ---- idle connections

# The kernel's events of activity: of the module's functions, and of the threads that "filter" names
ACTIVITY="workqueue/workqueue_execute_start timer/timer_expire_entry timer/hrtimer_expire_entry
sched/sched_wakeup"

# activity EVENT: prints those of the module and of the threads
activity()
{
	grep -E " $1: (.*function[= ][^ ]+ \[rdma_ep\]|comm=)" "$TRACING/trace"
}

# True if each thread of the program waits
asleep()
{
	! cut -d ' ' -f 3 "/proc/${pids[$1]}/task/"*/stat | grep -qv S
}

# idle_pair NAME STOPPED: the program waits for a message of the other one, which is stopped
idle_pair()
{
	local event filter threads args=(-a "$RDMA_ADDR" -p "$PORT" -S 1000)
	server ours rping -s "${args[@]}"
	start ours client rping -c -v "${args[@]}"
	wait_for 20 grep -q 'ping data' "$WORK/client.out" || problem "no ping"
	kill -STOP "${pids[$2]}"
	# Acknowledgements may follow the last message.
	nap 1
	wait_for 20 asleep "$1" || problem "the threads do not wait"
	threads=("/proc/${pids[$1]}/task/"*)
	filter=$(printf ' || pid == %s' "${threads[@]##*/}")
	echo "${filter# || }" > "$TRACING/events/sched/sched_wakeup/filter" ||
		problem "no filter '$filter'"
	echo > "$TRACING/trace"
	for event in $ACTIVITY; do
		echo 1 > "$TRACING/events/$event/enable" || problem "cannot enable $event"
	done
	nap 2
	activity '[a-z_]+' > "$WORK/activity"
	[[ ! -s $WORK/activity ]] || problem "while it is idle: $(head -n 1 "$WORK/activity")"
	# The same events show that it goes on.
	kill -CONT "${pids[$2]}"
	wait_for 20 activity sched_wakeup > /dev/null || problem "the threads do not wake"
	kill -KILL "${pids[client]}"
	finish client
	finish server
	activity workqueue_execute_start > /dev/null || problem "the connection ends without work"
	tracing 0
}

begin "an idle server wakes no thread"
idle_pair server client
end

begin "an idle client wakes no thread"
idle_pair client server
end

# ---- rdma-ep-trace

none_left()
{
	expect "instances left" \
		"$(find /sys/kernel/tracing/instances -name 'rdma-ep.*' | wc -l)" 0
}

begin "rdma-ep-trace cm"
server ours rping -s -a "$RDMA_ADDR" -p "$PORT" -C $PINGS
rdma-ep-trace cm rdma-ep-run rping -c -a "$RDMA_ADDR" -p "$PORT" -C $PINGS \
	> "$WORK/cm" || problem "exit status $?"
finish server
number='[0-9]+\.[0-9]+'
grep -Eq "^[0-9]+ +[0-9]+ connect +$RDMA_ADDR:[0-9]+ +$RDMA_ADDR:$PORT +[A-Z a-z]+ +$number +$number +$number +rping-[0-9]+$" "$WORK/cm" ||
	problem "no line of the client: $(tail -n 3 "$WORK/cm")"
none_left
end

begin "rdma-ep-trace posts"
server ours rping -s -a "$RDMA_ADDR" -p "$PORT" -C $PINGS -S 1000
rdma-ep-trace posts rdma-ep-run rping -c -a "$RDMA_ADDR" -p "$PORT" -C $PINGS -S 1000 \
	> "$WORK/posts" || problem "exit status $?"
finish server
# (The server was started earlier, and the trace may lack its name.)
grep -Eq "^[0-9]+ +RDMA_READ +$PINGS +$PINGS +$((1000 * PINGS)) +0 +$PINGS +(rping|<...>)-" \
	"$WORK/posts" || problem "no line of READs: $(grep READ "$WORK/posts")"
end

begin "rdma-ep-trace refusals"
rdma-ep-trace refusals timeout $((20 * ${TEST_SCALE:-1})) rdma-ep-run \
	rping -c -a "$RDMA_ADDR" -p "$PORT" -C 1 > "$WORK/refusals" 2> "$WORK/client.err"
expect "exit status, the command's" "$(($? != 0))" 1
want="connection to $RDMA_ADDR:$PORT: REJECTED 8"
[[ $DEVICE != siw ]] || want="CONNECT: ECONNREFUSED in command"
grep -qF "$want" "$WORK/refusals" || problem "no '$want': $(< "$WORK/refusals")"
end

# rdma-ep-trace waits for its own mark in the trace.
begin "rdma-ep-trace works while marks are off"
echo nomarkers > /sys/kernel/tracing/trace_options
timeout $((20 * ${TEST_SCALE:-1})) rdma-ep-trace cm true > "$WORK/cm" ||
	problem "exit status $?"
echo markers > /sys/kernel/tracing/trace_options
end

# traced REPORT LINE...: prints the report of these lines
traced()
{
	local report=$1
	shift
	printf '%s\n' "$@" | rdma-ep-trace -f - "$report" 2> "$WORK/lost"
}

begin "rdma-ep-trace shows unusual events"
post="rdma_ep_post: session=3 qp=1 srq=0 opcode=RDMA_READ num=1 posted=1"
traced posts "       a-1 [000] d..1.  1.000001: $post bytes=1234567890 ret=0" \
	     "       a-1 [000]  1.000002: $post bytes=1234567890 ret=0" \
	     "CPU:1 [LOST 7 EVENTS]" "CPU:0 [5 EVENTS DROPPED]" \
	     "       a-1     (-------) [000] .....  1.000003: $post bytes=1234567890 ret=0" \
	> "$WORK/posts"
grep -Eq "^3 +RDMA_READ +3 +3 +3703703670 +0 .* a-1$" "$WORK/posts" ||
	problem "more than 2 GiB: $(< "$WORK/posts")"
expect "what is said of lost events" "$(< "$WORK/lost")" \
	"rdma-ep-trace: 12 events were lost"
# Names that look like other fields
traced refusals \
	"    rdma_ep_a: b-77 [000] ..... 1.000001: rdma_ep_session_open: session=3 pid=77 comm=x session=4" \
	"    rdma_ep_a: b-77 [000] ..... 1.000002: rdma_ep_refuse: session=3 cmd=REG_MR stage=command ret=-14" \
	> "$WORK/refusals"
expect "the refusal of such a program" "$(head -n 1 "$WORK/refusals")" \
	"1.000002 x session=4-77: REG_MR: EFAULT in command"
# A name that looks like the line of lost events
traced posts "CPU:0 [9 EVENTS-77 [000] ..... 1.000001: $post bytes=1 ret=0" > "$WORK/posts"
grep -Eq '^3 +RDMA_READ +1 ' "$WORK/posts" || problem "no event: $(< "$WORK/posts")"
expect "lost events of that program" "$(< "$WORK/lost")" ""
# Names that contain control sequences of a terminal
named="evil$(printf '\033[2J\\\303\266\233')-77 [000] ..... 1.000002: rdma_ep_refuse:"
traced refusals "$named session=5 cmd=REG_MR stage=command ret=-14" \
	> "$WORK/refusals"
expect "the refusal of a program with such a name" "$(head -n 1 "$WORK/refusals")" \
	'1.000002 evil\x1b[2J\x5c\xc3\xb6\x9b-77: REG_MR: EFAULT in command'
traced raw "$named session=5" > "$WORK/raw"
expect "its event" "$(< "$WORK/raw")" \
	'evil\x1b[2J\x5c\xc3\xb6\x9b-77 [000] ..... 1.000002: rdma_ep_refuse: session=5'
# A command that fails ends no connection.
id="session=3 id=1"
at="dev=rxe0 src=10.0.0.1:1 dst=10.0.0.1:2"
traced cm "a-1 [000] ..... 1.000: rdma_ep_id_create: $id $at ret=0" \
	  "a-1 [000] ..... 1.100: rdma_ep_accept: $id $at qp=1 ret=0" \
	  "a-1 [000] ..... 1.200: rdma_ep_cm_event: $id event=ESTABLISHED status=0 $at ret=0" \
	  "a-1 [000] ..... 1.300: rdma_ep_reject: $id $at qp=0 ret=-22" \
	  "a-1 [000] ..... 1.400: rdma_ep_disconnect: $id $at qp=0 ret=-22" \
	  "a-1 [000] ..... 3.200: rdma_ep_cm_event: $id event=DISCONNECTED status=0 $at ret=0" \
	  "a-1 [000] ..... 3.300: rdma_ep_id_destroy: $id $at ret=0" > "$WORK/cm"
grep -Eq "^3 +1 accept .* DISCONNECTED +- +100.000 +2000.000 +a-1$" "$WORK/cm" ||
	problem "a reject that fails: $(tail -n 1 "$WORK/cm")"
end

begin "rdma-ep-trace ends with its terminal"
rdma-ep-trace raw > /dev/null 2>&1 &
tracer=$!
tracer_is_on()
{
	[[ $(cat /sys/kernel/tracing/instances/rdma-ep.*/events/rdma_ep/enable \
		2> /dev/null) == 1 ]]
}
wait_for 20 tracer_is_on || problem "it does not begin to trace"
kill -HUP "$tracer"
wait "$tracer" || problem "exit status $?"
none_left
end

begin "rdma-ep-trace raw ends by SIGTERM; usage"
rdma-ep-trace raw > "$WORK/raw" 2> /dev/null &
tracer=$!
wait_for 20 tracer_is_on || problem "it does not begin to trace"
ping_pair $PINGS 1000
kill -TERM "$tracer"
wait "$tracer" || problem "exit status $?"
grep -q ' rdma_ep_session_close: session=' "$WORK/raw" || problem "no events"
rdma-ep-trace > /dev/null 2>&1
expect "exit status of bad usage" "$?" 2
rdma-ep-trace -f "$WORK/raw" cm | grep -q ' accept .*rping-' ||
	problem "does not understand its own output"
end

finish_tests
