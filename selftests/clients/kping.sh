#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# kping: endpoints of the kernel, connected with each other and with rping. Tests all modes with
# verification of all data, early ends of runs, and that no object is left.

if [[ -z ${STOCK:-} ]]; then
	modprobe kping || exit 1
fi
# shellcheck source=selftests/clients/common.sh
. "$(dirname "$0")/common.sh"
trap 'rm -rf "$WORK"; rmmod kping 2>/dev/null' EXIT

KPING=/sys/kernel/debug/kping
PEER=$(cd "$(dirname "$0")/.." && pwd)/kping_peer
ROUNDS=30
FOREVER=1000000000
MANY=64			# connections of an SRQ

EINTR=-4
EIO=-5
ENODEV=-19
EPROTO=-71
EADDRINUSE=-98
ECONNRESET=-104
ENOBUFS=-105
ECONNREFUSED=-111

not_on_stock "kping"

# ---- runs

# A run as a process: it prints the result, and SIGTERM stops it.
kping()
{
	exec 3<>"$KPING/run" || exit
	echo "$*" >&3 || exit
	trap 'echo stop >&3' TERM
	cat <&3 &
	wait
	wait
}

# kserver ARGS...
kserver()
{
	start stock server kping server addr="$RDMA_ADDR" port="$PORT" "$@"
	wait_for 30 listening_or_gone server
	listening || problem "the server does not listen on port $PORT"
}

kclient()
{
	start stock client kping client addr="$RDMA_ADDR" port="$PORT" "$@"
}

# expect_run NAME KEY=VALUE...: the result has all of these
expect_run()
{
	local name=$1 word result
	result=" $(<"$WORK/$name.out") "
	shift
	for word; do
		[[ $result == *" $word "* ]] || problem "$name: no $word"
	done
}

# expect_broken NAME [STATUS|...]: the transport or the CM reports a broken connection, or the
# status is one of these
expect_broken()
{
	grep -Eq " status=($EIO|$ECONNRESET${2:+|$2}) " "$WORK/$1.out" ||
		problem "$1: not the status of a broken connection"
}

# rejected_case SERVER-ARGS CLIENT-ARGS: siw may report a reset (SIW-27)
rejected_case()
{
	run_both "$1" "$2" "status=$EPROTO" state=done
	grep -Eq " status=($ECONNREFUSED$([[ $DEVICE != siw ]] || echo "|$ECONNRESET")) " \
		"$WORK/client.out" || problem "client: not rejected"
}

# The rate of messages; on the debug kernel it may be below one a second
RATE='[1-9][0-9]*'
((${TEST_SCALE:-1} == 1)) || RATE='[0-9]+'

# expect_figures NAME: the result has its speed
expect_figures()
{
	grep -Eq " ns=[1-9][0-9]* ns_per_round=[1-9][0-9]* messages_per_s=$RATE mb_per_s=[0-9]+\.[0-9]{3}$" \
		"$WORK/$1.out" || problem "$1: no figures"
	sed -E 's/^.*mode=/# mode=/; s/ state.*(size=)/ \1/' "$WORK/$1.out"
}

# run_both SERVER-ARGS CLIENT-ARGS SERVER-RESULT CLIENT-RESULT
run_both()
{
	# shellcheck disable=SC2086
	{
		kserver $1
		kclient $2
		finish client
		finish server
		expect_run server $3
		expect_run client $4
	}
}

# both_case NAME SERVER-ARGS CLIENT-ARGS SERVER-RESULT CLIENT-RESULT: siw fails the server's last send
# if the client closes the connection meanwhile (SIW-30)
both_case()
{
	local status=0
	begin "$1"
	run_both "$2" "$3" "$4" "status=0 $5"
	[[ $DEVICE != siw ]] || ! grep -q " status=$EIO " "$WORK/server.out" || status=$EIO
	expect_run server status=$status
	expect_figures client
	end
}

# ---- kernel and kernel

for size in 64 4096 65536; do
	both_case "rping, $size bytes" \
		"mode=rping size=$size verify" "mode=rping size=$size count=$ROUNDS verify" \
		"rounds=$ROUNDS verified=$ROUNDS" "rounds=$ROUNDS verified=$ROUNDS"
done

# The largest size
both_case "rping, 1 MiB" "mode=rping size=1048576 verify" \
	"mode=rping size=1048576 count=3 verify" \
	"rounds=3 verified=3" "rounds=3 verified=3"

for poll in workqueue softirq direct unbound; do
	both_case "rping, completions by $poll" \
		"mode=rping verify poll=$poll" "mode=rping count=$ROUNDS verify poll=$poll" \
		"rounds=$ROUNDS verified=$ROUNDS" "rounds=$ROUNDS verified=$ROUNDS poll=$poll"
	both_case "ping-pong, completions by $poll" \
		"mode=pingpong poll=$poll" "mode=pingpong count=$ROUNDS verify poll=$poll" \
		"rounds=$ROUNDS" "rounds=$ROUNDS verified=$ROUNDS poll=$poll"
	both_case "stream, completions by $poll" \
		"mode=stream poll=$poll" "mode=stream count=$ROUNDS verify poll=$poll" \
		"rounds=$ROUNDS verified=$ROUNDS" "rounds=$ROUNDS poll=$poll"
done

for size in 1 4096 65536; do
	both_case "ping-pong, $size bytes" \
		"mode=pingpong size=$size" "mode=pingpong count=$ROUNDS size=$size verify" \
		"rounds=$ROUNDS" "rounds=$ROUNDS verified=$ROUNDS"
	both_case "stream of SENDs, $size bytes" "mode=stream size=$size" \
		"mode=stream count=$ROUNDS size=$size verify" \
		"rounds=$ROUNDS verified=$ROUNDS" "rounds=$ROUNDS"
	for op in write read; do
		both_case "stream of ${op^^}s, $size bytes" "mode=stream size=$size" \
			"mode=stream op=$op count=$ROUNDS size=$size verify" \
			"conns=1" "rounds=$ROUNDS verified=$ROUNDS"
	done
done

# The last batch is not full.
for op in send write read; do
	for batch in 1 16; do
		both_case "stream at full speed, op=$op, batches of $batch" \
			"mode=stream" "mode=stream op=$op count=1003 batch=$batch" \
			"conns=1" "rounds=1003 op=$op batch=$batch"
	done
done

# srq_case NAME CONNECTIONS SERVER-ARGS
srq_case()
{
	both_case "$1" "mode=srq conns=$2 $3" \
		"mode=srq conns=$2 count=$ROUNDS verify" \
		"conns=$2 rounds=$((ROUNDS * $2))" \
		"conns=$2 rounds=$((ROUNDS * $2)) verified=$((ROUNDS * $2))"
}

srq_case "one connection and an SRQ" 1 ""
srq_case "$MANY connections and one SRQ" $MANY ""
srq_case "$MANY connections and one SRQ, completions by softirq" $MANY \
	"poll=softirq"

# Several runs of clients that connect and disconnect
begin "one SRQ, $MANY connections of 4 clients"
kserver mode=srq conns=$MANY
for i in 1 2 3 4; do
	start stock client$i kping client addr="$RDMA_ADDR" port="$PORT" \
		mode=srq conns=$((MANY / 4)) count=$ROUNDS verify
done
for i in 1 2 3 4; do
	finish client$i
	expect_run client$i status=0 verified=$((ROUNDS * MANY / 4))
done
finish server
expect_run server status=0 conns=$MANY rounds=$((ROUNDS * MANY))
end

begin "a server of three clients, one after another"
kserver mode=pingpong conns=3
for i in 1 2 3; do
	kclient mode=pingpong count=$ROUNDS verify
	finish client
	expect_run client status=0 verified=$ROUNDS
done
finish server
expect_run server status=0 conns=3 rounds=$((3 * ROUNDS))
end

begin "unconnected endpoints are created and destroyed"
kclient mode=create count=$ROUNDS
finish client
expect_run client status=0 rounds=$ROUNDS
grep -Eq ' ns_per_round=[1-9][0-9]* messages_per_s=0 ' "$WORK/client.out" ||
	problem "no figures"
end

# The client counts one connection less than the server.
begin "connections without messages"
run_both "mode=cycle conns=$((ROUNDS + 1))" "mode=cycle count=$ROUNDS" \
	"status=0 conns=$((ROUNDS + 1))" "status=0 rounds=$ROUNDS"
end

begin "four servers and four clients at the same time"
port=$PORT
for i in 0 1 2 3; do
	PORT=$((port + i))
	start stock server$i kping server addr="$RDMA_ADDR" port=$PORT \
		mode=rping verify
	wait_for 30 listening_or_gone server$i
done
for i in 0 1 2 3; do
	start stock client$i kping client addr="$RDMA_ADDR" \
		port=$((port + i)) mode=rping verify count=$ROUNDS
done
for i in 0 1 2 3; do
	finish client$i
	finish server$i
	expect_run client$i status=0 verified=$ROUNDS
	expect_run server$i status=0 verified=$ROUNDS
done
NEXT_PORT=$((port + 4))
end

begin "IPv6"
RDMA_ADDR=$RDMA_ADDR6 run_both "mode=rping verify" "mode=rping verify count=$ROUNDS" \
	"status=0 verified=$ROUNDS" "status=0 verified=$ROUNDS"
end

# ---- kernel and rping

for stack in stock ours; do
	for size in 64 4096 65535; do
		begin "rping -S $size, server rping on $stack, client kping"
		server $stack rping -s -a "$RDMA_ADDR" -p "$PORT" -v -S $size
		kclient mode=rping size=$size count=$ROUNDS verify
		finish client
		finish server
		expect_status server 0
		expect_lines server $ROUNDS '^server ping data: rdma-ping-[0-9]+: '
		expect_run client status=0 rounds=$ROUNDS verified=$ROUNDS
		end

		begin "rping -S $size, server kping, client rping on $stack"
		kserver mode=rping size=$size verify
		client $stack rping -c -a "$RDMA_ADDR" -p "$PORT" -v -V \
			-S $size -C $ROUNDS
		finish server
		expect_status client 0
		expect_lines client $ROUNDS '^ping data: rdma-ping-[0-9]+: '
		expect_run server status=0 rounds=$ROUNDS verified=$ROUNDS
		end
	done
done

pings_flow()
{
	(($(grep -c 'ping data: ' "$WORK/$1.out") >= 5)) || stopped "$1"
}

begin "SIGKILL of an rping client in mid-run, server kping"
kserver mode=rping size=4096
start stock client rping -c -a "$RDMA_ADDR" -p "$PORT" -v -S 4096 -C $FOREVER
wait_for 30 pings_flow client
kill -KILL "${pids[client]}"
finish client
finish server
# Between two rounds, the status is 0.
expect_broken server 0
end

begin "SIGKILL of an rping server in mid-run, client kping"
server stock rping -s -a "$RDMA_ADDR" -p "$PORT" -v -S 4096
kclient mode=rping size=4096 count=$FOREVER
wait_for 30 pings_flow server
kill -KILL "${pids[server]}"
finish server
finish client
expect_broken client
end

# ---- invalid uses

# bad_case COMMAND...
bad_case()
{
	begin "refused: $*"
	start stock client kping "$@"
	finish client
	expect_lines client 0 .
	grep -Eq 'write error: (Invalid argument|Numerical result out of range)' \
		"$WORK/client.err" || problem "it is not refused"
	end
}

bad_case sender
bad_case client
bad_case client addr=nowhere
bad_case client addr="$RDMA_ADDR" count=0
bad_case client addr="$RDMA_ADDR" size=1048577
bad_case client addr="$RDMA_ADDR" mode=none
bad_case client addr="$RDMA_ADDR" sice=64
bad_case client addr="$RDMA_ADDR" mode=stream depth=16 batch=9
bad_case server mode=srq conns=4 poll=direct
bad_case server mode=create

begin "a port without a listener refuses"
kclient mode=rping
finish client
expect_run client status=$ECONNREFUSED
end

begin "two servers with the same port"
kserver mode=rping
start stock other kping server addr="$RDMA_ADDR" port="$PORT" mode=rping
finish other
expect_run other status=$EADDRINUSE
kill -TERM "${pids[server]}"
finish server
end

begin "a client with other parameters is rejected"
rejected_case mode=pingpong mode=stream
end

begin "a client's messages are too long for the server"
rejected_case "mode=pingpong size=64" "mode=pingpong size=65"
end

# rping's server ignores kping's private data, and has receives of 16 bytes.
begin "a ping-pong with an rping server"
server stock rping -s -a "$RDMA_ADDR" -p "$PORT"
kclient mode=pingpong verify
finish server
finish client
expect_broken client
end

# The client may wait for a completion that does not come.
deaf_client_ends()
{
	kill -KILL "${pids[client]}" 2>/dev/null
	finish client
}

# The server's send queue fills up without an overflow, and can be drained. (siw ends the connection
# at the first message without a receive.)
for poll in workqueue direct; do
	begin "a client of a stream without receives, completions by $poll"
	kserver mode=stream poll=$poll
	start stock client "$PEER" "$RDMA_ADDR" "$PORT" stream 1000
	finish server 30
	deaf_client_ends
	if [[ $DEVICE == siw ]]; then
		expect_broken server "0|$ENOBUFS"
	else
		expect_run server status=$ENOBUFS
	fi
	end
done

begin "a client of an SRQ without receives"
kserver mode=srq conns=16
start stock client "$PEER" "$RDMA_ADDR" "$PORT" srq 1000
nap 3
kill -TERM "${pids[server]}"
finish server 20
deaf_client_ends
expect_run server status=$EINTR conns=1
end

# ---- early ends

begin "a server is stopped while it waits for a client"
kserver mode=rping
kill -TERM "${pids[server]}"
finish server 10
expect_run server status=$EINTR
end

# connections QPS: true if kping has at least this number of QPs
connections()
{
	(($(rdma resource show qp | grep -Fc 'comm [kping]') >= $1))
}

# in_the_middle QPS: waits until they exist, and for another second
in_the_middle()
{
	wait_for 30 connections "$1" || problem "not $1 QPs"
	sleep 1
}

# expect_rounds NAME: at least one round before the end
expect_rounds()
{
	grep -q ' rounds=[1-9]' "$WORK/$1.out" || problem "$1: no rounds"
}

# stop_case NAME SERVER-ARGS CLIENT-ARGS QPS
stop_case()
{
	begin "$1"
	# shellcheck disable=SC2086
	{
		kserver $2
		kclient $3 count=$FOREVER
	}
	in_the_middle "$4"
	sleep 2
	kill -TERM "${pids[client]}"
	finish client 10
	finish server 20
	expect_run client status=$EINTR
	expect_rounds client
	# The client may have been closed before the server's last message.
	expect_broken server 0
	end
}

for poll in workqueue softirq direct; do
	stop_case "a client is stopped in the middle, completions by $poll" \
		"mode=pingpong poll=$poll" "mode=pingpong poll=$poll" 2
done
for op in send write read; do
	stop_case "a client is stopped in a stream, op=$op" \
		"mode=stream" "mode=stream op=$op batch=16" 2
done
stop_case "a client with many connections is stopped" \
	"mode=srq conns=$MANY" "mode=srq conns=$MANY" $((2 * MANY))

begin "a server is stopped in the middle"
kserver mode=srq conns=$MANY
kclient mode=srq conns=$MANY count=$FOREVER
in_the_middle $((2 * MANY))
kill -TERM "${pids[server]}"
finish server 20
finish client 20
expect_run server status=$EINTR
expect_broken client
end

# ---- removal of the device

no_device()
{
	[[ ! -d /sys/class/infiniband/$RDMA_DEV ]]
}

# removal_case NAME SERVER-ARGS CLIENT-ARGS QPS: rdma link del waits for kping
removal_case()
{
	begin "device removed: $1"
	# shellcheck disable=SC2086
	{
		kserver $2
		[[ -z $3 ]] || kclient $3 count=$FOREVER
	}
	in_the_middle "$4"
	timeout 30 rdma link del "$RDMA_DEV" || problem "rdma link del: $?"
	no_device || problem "the device is still there"
	finish server 10
	if [[ -z $3 ]]; then
		expect_run server status=$ENODEV
	else
		finish client 10
		expect_rounds client
		# The first side to receive the event disconnects from the other.
		expect_broken client $ENODEV
		expect_broken server "0|$ENODEV"
		grep -q " status=$ENODEV " "$WORK"/{client,server}.out ||
			problem "nobody has heard of the removal"
	fi
	add_device || problem "no device again"
	end
}

removal_case "a server waits for a client" "mode=pingpong" "" 0
removal_case "rping" "mode=rping" "mode=rping" 2
removal_case "ping-pong" "mode=pingpong" "mode=pingpong" 2
removal_case "ping-pong, completions by direct" "mode=pingpong poll=direct" \
	"mode=pingpong poll=direct" 2
removal_case "stream" "mode=stream" "mode=stream batch=16" 2
removal_case "$MANY connections and one SRQ" "mode=srq conns=$MANY" \
	"mode=srq conns=$MANY" $((2 * MANY))

# ---- unloading

# Only an open file of kping holds a reference to it, a run does not.
begin "rmmod kping with runs in all states"
for mode in rping pingpong srq; do
	echo "server addr=$RDMA_ADDR port=$PORT mode=$mode conns=8" > $KPING/run
	wait_for 30 listening || problem "the server does not listen"
	echo "client addr=$RDMA_ADDR port=$PORT mode=$mode count=$FOREVER" \
		> $KPING/run
	new_port
done
echo "server addr=$RDMA_ADDR port=$PORT mode=stream" > $KPING/run
wait_for 30 listening || problem "the server does not listen"
in_the_middle 6
n=$(grep -c 'state=running' $KPING/results)
((n == 7)) || problem "$n runs, not 7"
timeout 30 rmmod kping 2>"$WORK/rmmod" || problem "rmmod: $? $(<"$WORK/rmmod")"
[[ ! -d $KPING ]] || problem "$KPING is still there"
# Without kping's reference
baseline=${baseline/module-references */module-references 0}
end

finish_tests
