# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Runs of unmodified librdmacm programs in pairs, each side either on the stock libraries ("stock")
# or on rdma_ep ("ours", or any NAME with a function on_NAME of the test that executes the program).
# A case checks exit status, output, and the objects left in the kernel. Tests include it.
#
# A case is
#
#	begin "what it is"
#	server STACK PROGRAM ARGS...		(returns when it listens)
#	client STACK PROGRAM ARGS...		(returns when it ended)
#	...					(expectations)
#	end					(prints the TAP line)
#
# "problem" notes an unexpected result, which is printed with the case.

# shellcheck source=selftests/vm/guest/lib.sh
. "${GUEST_LIB:-/rig/guest/lib.sh}"

# SERVER:CLIENT
read -ra PAIRS <<< "${PAIRS:-ours:ours ours:stock stock:ours}"
[[ -z ${STOCK:-} ]] || PAIRS=(stock:stock)

PROGRAM_LIMIT=60	# seconds for one program; it takes 1 to 3, emulated
CLEAN_LIMIT=30		# until the kernel has freed all objects
UNREAD_LIMIT=5		# until siw has read the data in its sockets

WORK=$(mktemp -d)
NEXT_PORT=$((20000 + RANDOM % 12000))	# below those that the kernel chooses

tests=0
failures=0

trap 'rm -rf "$WORK"' EXIT

# Sets PORT, a new one for every case, so that runs cannot collide.
new_port()
{
	PORT=$((NEXT_PORT++))
}

problem()
{
	problems+=("$*")
}

# no_progress TEXT: a problem that data which siw leaves unread explains (SIW-25). With such data the
# case is skipped, whatever other problems it has
no_progress()
{
	[[ $unread ]] || unread=$(siw_unread)
	problem "$@"
}

# Prints data that siw does not read. siw_accept() replies to the peer before it watches its socket:
# data that arrives in between stays unread until more arrives. If the peer waits for an answer,
# both wait forever, on any stack (SIW-25). (Sockets without a process belong to siw.)
unread_bytes()
{
	local ns
	for ns in "" $(ip netns list | cut -d ' ' -f 1); do
		# shellcheck disable=SC2086
		${ns:+ip netns exec $ns} ss -Htnp state established
	done | awk '$1 > 0 && !/users:/ { print $1 " bytes at " $3 }'
}

siw_unread()
{
	local bytes
	[[ -d /sys/module/siw ]] && bytes=$(unread_bytes) && [[ $bytes ]] ||
		return 1
	nap 1
	[[ $(unread_bytes) != "$bytes" ]] || echo "${bytes//$'\n'/, }"
}

# True if data stays unread for UNREAD_LIMIT: a program that waits for it waits forever, so do not
# wait for its whole limit, which is minutes on a slow kernel. (Checks once a second.)
stuck_unread()
{
	local bytes
	[[ -d /sys/module/siw ]] || return 1
	((SECONDS > unread_looked)) || return 1
	unread_looked=$SECONDS
	bytes=$(unread_bytes)
	if [[ -z $bytes || $bytes != "$unread_before" ]]; then
		unread_before=$bytes
		unread_since=$SECONDS
		return 1
	fi
	((SECONDS - unread_since >= UNREAD_LIMIT * ${TEST_SCALE:-1}))
}

# Prints the index of RDMA_ADDR in the device's GID table, for programs without rdma_cm.
gid_index()
{
	local gid
	gid=$(grep -l 'ffff:0a2a:0001' \
		"/sys/class/infiniband/$RDMA_DEV/ports/1/gids/"* | head -n 1)
	echo "${gid##*/}"
}

# ---- processes

# A program on rdma_ep has no other RDMA device file: it cannot fall back to the stock stack
# unnoticed, and would need no other one in a container. (Called only in the background, as the
# subshell executes the program.)
on_ours()
{
	local dir
	dir=$(mktemp -d "$WORK/dev.XXXXXX") && chmod 755 "$dir"
	[[ ! -e /dev/infiniband/rdma_ep ]] ||
		cp -a /dev/infiniband/rdma_ep "$dir/"
	# shellcheck disable=SC2016
	exec unshare --mount sh -c \
		'mount --bind "$0" /dev/infiniband && exec rdma-ep-run "$@"' \
		"$dir" "$@"
}

# start STACK NAME PROGRAM ARGS...: in the background, PID in pids[NAME], output in $WORK/NAME.out
# and .err. Without timeout(1), as tests kill the process, which must be the program.
declare -A pids
start()
{
	local stack=$1 name=$2
	shift 2
	local command=("$@")
	[[ $stack == stock ]] || command=("on_$stack" "$@")
	# Create it here, as a test may look at the output before the new process opens it.
	: > "$WORK/$name.out"
	unset "statuses[$name]"
	"${command[@]}" >"$WORK/$name.out" 2>"$WORK/$name.err" </dev/null &
	pids[$name]=$!
	commands[$name]="[$stack] $*"
}

# (A zombie is not running.)
running()
{
	local state
	read -r _ _ state _ 2>/dev/null < "/proc/${pids[$1]}/stat" &&
		[[ $state != Z ]]
}

stopped()
{
	! running "$1"
}

stopped_or_stuck()
{
	stopped "$1" || stuck_unread
}

# rdma-core's version; the name of the library's file ends with it
rdma_core_version()
{
	local file
	file=$(readlink -f "$(ldconfig -p | awk '$1 == "librdmacm.so.1" { print $NF; exit }')")
	[[ $file =~ \.so\.1\.[0-9]+\.([0-9]+) ]] && echo "${BASH_REMATCH[1]}"
}
RDMA_CORE=$(rdma_core_version)

# True if the end of an rping client waits for ever, as it can on any stack: from rdma-core 59 on,
# poll(2) announces an event to its thread, rdma_destroy_id(3) in main() drops the event, the thread
# waits for another one, and main() for the thread. The same two threads wait before the first ping,
# so only a client with -v is recognized. (The thread for completions has ended by then.)
waits_for_dropped_event()
{
	local dir=/proc/${pids[$1]}/task tasks
	[[ ${commands[$1]} == *" rping "* ]] && ((${RDMA_CORE:-0} >= 59)) || return 1
	tasks=("$dir"/*)
	((${#tasks[@]} == 2)) && grep -q 'ping data' "$WORK/$1.out" &&
		grep -qs futex "$dir/${pids[$1]}/stack" &&
		grep -qsE '\<(uep_queue_read(_all)?|ucma_get_event)\+' "${tasks[@]/%//stack}"
}

# True if rping's thread waited for another event after main() had destroyed the channel: it then
# ends the program with its own status before main() returns, on any stack.
lost_channel()
{
	[[ ${commands[$1]} == *" rping "* && ${statuses[$1]} == 255 ]] &&
		grep -q '^rdma_get_cm_event: Bad file descriptor' "$WORK/$1.err"
}

# True if ucmatose waits for the end of its other connections after one has failed, and its server
# for their messages, for ever on any stack. siw fails a connection if a message of the server comes
# with the reply (SIW-28).
waits_after_failure()
{
	[[ -d /sys/module/siw && ${commands[$1]} == *" ucmatose "* ]] &&
		grep -qs uep_queue_read "/proc/${pids[$1]}/stack" &&
		grep -qsE '^id:.[0-9]+ tcp failed ' "/proc/${pids[$1]}/fdinfo/"*
}

sent_packets()
{
	cat "/sys/class/infiniband/$RDMA_DEV/ports/1/hw_counters/sent_pkts"
}

# True if rxe repeats a message for ever: its receiver, on the stock stack, has ended the QP before
# rxe has acknowledged the message (RXE-20).
waits_for_ack()
{
	local sent
	local -A peer_of=([client]=server [server]=client)
	[[ -d /sys/module/rdma_rxe && ${commands[${peer_of[$1]:-$1}]:-} == "[stock] rdma_"* ]] &&
		stopped "${peer_of[$1]}" && nap 1 && running "$1" && sent=$(sent_packets) || return 1
	nap 5
	running "$1" && (($(sent_packets) > sent))
}

# True if fio's sender waits after its last message has failed, on any stack: the receiver has it, and
# closes the connection, which siw reports as a failure of the message (SIW-30).
waits_after_last_message()
{
	[[ -d /sys/module/siw && ${commands[$1]} == *" fio --name=sender "* ]] &&
		stopped server &&
		grep -q '^fio: cq completion status 2(local QP operation error)' "$WORK/$1.err"
}

# known_hang NAME: true if it waits for ever for a known reason, which it sets in "hang"
known_hang()
{
	if waits_after_failure "$1"; then
		hang=SIW-28
	elif waits_after_last_message "$1"; then
		hang=SIW-30
	elif waits_for_ack "$1"; then
		hang=RXE-20
	elif waits_for_dropped_event "$1" && nap 2 && waits_for_dropped_event "$1"; then
		hang=rping
	else
		return 1
	fi
}

# After a client: ends both for another try after a known hang.
# "for _ in 1 2 3; do ... try_again || break"
try_again()
{
	[[ ${statuses[client]} != *-* ]] || kill -KILL "${pids[server]}" 2>/dev/null
	finish server
	[[ "${statuses[client]} ${statuses[server]}" =~ [A-Z]+-[0-9]+ ]] || return 1
	echo "# ${BASH_REMATCH[0]}: another try"
	new_port
}

stopped_or_waits()
{
	stopped_or_stuck "$1" || known_hang "$1"
}

# finish NAME [SECONDS]: waits for it, once; status in statuses[NAME]: of rping 0 after a race of its
# own, or the known issue for which it waits for ever. Any other program that does not end is a
# problem. Both are killed.
declare -A statuses commands
finish()
{
	local name=$1 limit=${2:-$PROGRAM_LIMIT}
	[[ -z ${statuses[$name]:-} ]] || return 0
	hang=
	wait_for "$limit" stopped_or_waits "$name"
	if [[ $hang ]]; then
		echo "# $name waits for ever: $hang"
		kill -KILL "${pids[$name]}"
		wait "${pids[$name]}" 2>/dev/null
		statuses[$name]=${hang/rping/0}
		return
	fi
	if ! stopped "$name"; then
		no_progress "$name does not end:" \
			"$(stack_of "${pids[$name]}")"
		# SIGTERM ends kping's run; SIGKILL of its process would leave the run behind.
		kill -TERM "${pids[$name]}"
		wait_for 5 stopped "$name" || kill -KILL "${pids[$name]}"
		# No signal ends a task that waits for a device or a server, and "wait" has no limit.
		wait_for 5 stopped "$name" || { statuses[$name]=waits; return; }
	fi
	wait "${pids[$name]}" 2>/dev/null
	statuses[$name]=$?
	! lost_channel "$name" || statuses[$name]=0
}

# stack_of PID: prints where the threads of a process wait in the kernel, and the states of its ids
stack_of()
{
	{
		cat "/proc/$1/task/"*/stack
		grep -hE '^(id|unread-events):' "/proc/$1/fdinfo/"*
	} 2>/dev/null | tr -s '\t\n' ' '
}

# True if $PORT has a listener, of the CM or, for programs that exchange addresses over a socket, of
# TCP.
listening()
{
	local listener="state LISTEN [^"$'\n'"]*src-addr [^ "$'\n'"]*:$PORT([[:space:]]|\$)"
	if [[ $listens_on == tcp ]]; then
		[[ -n $(ss -Htln "sport = :$PORT") ]]
	else
		[[ $(rdma resource show cm_id) =~ $listener ]]
	fi
}

listening_or_gone()
{
	listening || stopped "$1"
}

# server STACK PROGRAM ARGS... (listening on $PORT)
server()
{
	start "$1" server "${@:2}"
	wait_for 20 listening_or_gone server
	listening || problem "the server does not listen on port $PORT"
	expect_stack server "$1"
}

tcp_server()
{
	listens_on=tcp
	server "$@"
}

# For servers that end only by a signal
terminate()
{
	running "$1" || problem "$1 ended by itself"
	kill -TERM "${pids[$1]}"
	finish "$1" 20
	expect_status "$1" 143
}

# client STACK PROGRAM ARGS...
client()
{
	start "$1" client "${@:2}"
	finish client
}

# perftest -R connects twice, and the second time the client does not wait until the server listens:
# on any stack, the client is refused if the server is too slow. Repeat it with a new server then:
# "for _ in 1 2 3; do ... too_slow || break".
too_slow()
{
	grep -Eq 'CM_EVENT_(REJECTED; error: 8|UNREACHABLE; error: 1)\>|Connection refused' \
		"$WORK/client.err" || return 1
	echo "# the server was too slow"
	kill -KILL "${pids[server]}"
	finish server
	new_port
}

# Prefix of a command that must not have the capabilities that lift limits
# shellcheck disable=SC2034
NOBODY=(setpriv --reuid 65534 --regid 65534 --clear-groups)

# with_parameter NAME VALUE COMMAND...: runs the command with this value of a module parameter
with_parameter()
{
	local file=/sys/module/rdma_ep/parameters/$1 old ret
	old=$(<"$file")
	echo "$2" > "$file"
	"${@:3}"
	ret=$?
	echo "$old" > "$file"
	return $ret
}

# ---- expectations

# expect_stack NAME STACK: a running program is on this stack
expect_stack()
{
	local files
	files=$(readlink "/proc/${pids[$1]}/fd/"*)
	case $2 in
	stock)	[[ $files == */dev/infiniband/@(rdma_cm|uverbs)* &&
		   $files != */dev/infiniband/rdma_ep* ]] ;;
	*)	[[ $files == */dev/infiniband/rdma_ep* &&
		   $files != */dev/infiniband/rdma_cm* &&
		   $files != */dev/infiniband/uverbs* ]] ;;
	esac || problem "$1 is not on the $2 stack, it has open:" \
		"$(echo "$files" | grep infiniband | tr '\n' ' ')"
}

# expect WHAT GOT WANTED
expect()
{
	[[ $2 == "$3" ]] || problem "$1: '$2', not '$3'"
}

expect_status()
{
	local name=$1 status=$2
	[[ ${statuses[$name]:-none} == "$status" ]] ||
		problem "$name: exit status ${statuses[$name]:-none}, not $status"
}

# ping_pair COUNT BYTES: a server and a client, which must succeed
ping_pair()
{
	local args=(-a "$RDMA_ADDR" -p "$PORT" -C "$1" -S "$2")
	server ours rping -s "${args[@]}"
	client ours rping -c -v "${args[@]}"
	both_succeed
}

# expect_lines NAME COUNT REGEX
expect_lines()
{
	local n
	n=$(grep -Ec -- "$3" "$WORK/$1.out")
	((n == $2)) || problem "$1: $n lines match '$3', not $2"
}

# expect_error NAME TEXT
expect_error()
{
	grep -qF -- "$2" "$WORK/$1.err" || problem "$1: does not say '$2'"
}

# expect_output NAME LINE...: the output has these lines in this order, possibly with others between
expect_output()
{
	local name=$1 line want at=0 n
	shift
	for want; do
		n=0
		while IFS= read -r line; do
			((++n > at)) || continue
			[[ $line != "$want" ]] || { at=$n; continue 2; }
		done < "$WORK/$name.out"
		problem "$name: no line '$want' (in its place) in the output"
		return
	done
}

# expect_no_stderr NAME...
expect_no_stderr()
{
	local name
	for name; do
		[[ ! -s $WORK/$name.err ]] || problem "$name: wrote to stderr"
	done
}

# finds CHECK VERDICT TEXT MEND [FILE]: doctor's output in the file ($WORK/out) has a line of the
# check with the verdict and the text, followed by a line with the remedy (empty: without)
finds()
{
	local file=${5:-$WORK/out}
	awk -v check="$1" -v verdict="$2" -v text="$3" -v mend="$4" '
		found && mend != "" { good = index($0, mend) && /^ .* -> /; exit }
		$1 == verdict && $2 == check && index($0, text) { found = 1; good = mend == "" }
		END { exit !good }' "$file" ||
		problem "no '$1 $2 $3 -> $4': $(grep -A 1 " $1 " "$file" | tr '\n' ' ')"
}

# After the client: both must exit with 0
both_succeed()
{
	finish server
	expect_status client 0
	expect_status server 0
}

# ---- objects in the kernel

held()
{
	# The counters are per CPU and folded lazily: force it.
	echo 1 > /proc/sys/vm/stat_refresh
	rdma_objects | sort
	echo "pinned-pages $(pinned_pages)"
	echo "module-references $(module_refs)"
}

is_clean()
{
	[[ $(held) == "$baseline" ]]
}

expect_clean()
{
	wait_for "$CLEAN_LIMIT" is_clean ||
		problem "kernel holds more than before (<) the case:" \
			"$(diff <(echo "$baseline") <(held) | grep '^[<>]' | tr '\n' ' ')"
}

# ---- cases and TAP

begin()
{
	case_name=$1
	problems=()
	unread='' unread_before='' unread_since=0 unread_looked=0
	pids=() statuses=() commands=()
	listens_on=rdma_cm
	new_port
	rm -f "$WORK"/*.out "$WORK"/*.err
}

end()
{
	local name p excused=()
	for name in "${!pids[@]}"; do
		# A program with a status has exited.
		[[ -z ${statuses[$name]:-} ]] || continue
		running "$name" && kill -KILL "${pids[$name]}"
		wait "${pids[$name]}" 2>/dev/null
	done
	if [[ $unread ]]; then
		excused=("${problems[@]}")
		problems=()
	fi
	expect_clean
	if [[ $unread ]] && ((!${#problems[@]})); then
		skip "$case_name" "siw does not read what came early: $unread"
		printf '# %s\n' "${excused[@]}"
		return
	fi
	problems+=("${excused[@]}")
	tests=$((tests + 1))
	if ((!${#problems[@]})); then
		echo "ok $tests $case_name"
		return
	fi
	failures=$((failures + 1))
	echo "not ok $tests $case_name"
	for p in "${problems[@]}"; do
		echo "# $p"
	done
	for name in "${!pids[@]}"; do
		echo "# $name: ${commands[$name]}"
		for p in out err; do
			[[ ! -f $WORK/$name.$p ]] ||
				tail -n 12 "$WORK/$name.$p" | cut -c1-100 |
				sed "s/^/#   $p: /"
		done
	done
	rdma resource show cm_id | sed 's/^/#   cm_id: /'
	rdma resource show qp | sed 's/^/#   qp: /'
}

skip()
{
	tests=$((tests + 1))
	echo "ok $tests $1 # SKIP $2"
}

# For tests of features that iWARP or the stock libraries lack: skips all of the test.
not_on_iwarp()
{
	[[ $DEVICE == siw ]] || return 0
	skip "$1" "$2"
	finish_tests
}

not_on_stock()
{
	[[ -n ${STOCK:-} ]] || return 0
	skip "$1" "${2:-stock run, there is no module}"
	finish_tests
}

# Ends the script. The module must be unloadable and loadable again.
finish_tests()
{
	if [[ -z ${STOCK:-} ]]; then
		begin "rmmod rdma_ep, insmod again"
		rmmod rdma_ep 2>"$WORK/rmmod" || problem "$(<"$WORK/rmmod")"
		[[ ! -e /dev/infiniband/rdma_ep ]] ||
			problem "/dev/infiniband/rdma_ep is still there"
		insmod "$(modinfo -n rdma_ep)" 2>"$WORK/rmmod" ||
			problem "$(<"$WORK/rmmod")"
		[[ -c /dev/infiniband/rdma_ep ]] ||
			problem "no /dev/infiniband/rdma_ep"
		end
	fi
	echo "1..$tests"
	((failures == 0))
	exit
}

baseline=$(held)
