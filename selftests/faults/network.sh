#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# A network that loses, duplicates and reorders packets, or stops temporarily or permanently.
#
# Two devices, one at each end of a veth pair, in one namespace (rxe supports no other until Linux
# 6.19): with policy routing the kernel sends to its own addresses over the wire.

# shellcheck source=selftests/clients/common.sh
. "$(dirname "$0")/../clients/common.sh"
# shellcheck source=selftests/faults/common.sh
. "$(dirname "$0")/common.sh"

ENDS=(epw0 epw1)
ADDRS=(10.95.0.1 10.95.0.2)
DEVS=(epwire0 epwire1)
MESSAGES=${FAULT_MESSAGES:-400}

# Time in which a transport detects that the peer does not answer. rxe retries once (RETRIES), and
# waits each time as long as the CM has configured: 2.1 s on 6.1, a quarter of that on later
# kernels. siw relies on TCP, which would retry for a quarter of an hour: here it has 3
# retransmissions, and takes 3 s or a little more.
GIVE_UP=15
RETRIES=1
TCP_RETRIES=3

tcp_retries2=$(sysctl -n net.ipv4.tcp_retries2)
trap 'cut_wire 2>/dev/null; sysctl -qw net.ipv4.tcp_retries2="$tcp_retries2"
	rm -rf "$WORK"' EXIT

# An end loses its routes when it is set down.
routes_of()
{
	ip route replace "${ADDRS[1 - $1]}/32" dev "${ENDS[$1]}" \
		src "${ADDRS[$1]}" table $((100 + $1))
}

wire()
{
	local i
	ip link add "${ENDS[0]}" type veth peer name "${ENDS[1]}" || return 1
	# The table of local addresses comes after those of this script.
	ip rule add pref 200 lookup local && ip rule del pref 0 || return 1
	for i in 0 1; do
		sysctl -qw "net.ipv4.conf.${ENDS[i]}.accept_local=1" \
			"net.ipv4.conf.${ENDS[i]}.rp_filter=0" \
			"net.ipv4.conf.${ENDS[i]}.arp_ignore=1" &&
		ip addr add "${ADDRS[i]}/32" dev "${ENDS[i]}" &&
		ip link set "${ENDS[i]}" up || return 1
		# Packets of this host, and lookups with this output interface
		ip rule add pref $((100 + i)) iif lo from "${ADDRS[i]}" \
			to "${ADDRS[1 - i]}" lookup $((100 + i)) &&
		ip rule add pref $((110 + i)) oif "${ENDS[i]}" \
			lookup $((100 + i)) || return 1
	done
	for i in 0 1; do
		routes_of $i &&
		add_link "$DEVICE" "${DEVS[i]}" "${ENDS[i]}" "${ADDRS[i]}" ||
			return 1
	done
	ping -q -c 3 -i 0.2 -W 2 -I "${ADDRS[0]}" "${ADDRS[1]}" > "$WORK/ping" || {
		sed 's/^/# /' "$WORK/ping"
		return 1
	}
}

cut_wire()
{
	local i
	ip link del "${ENDS[0]}"
	for i in 0 1; do
		ip rule del pref $((100 + i))
		ip rule del pref $((110 + i))
	done
	ip rule add pref 0 lookup local
	ip rule del pref 200
}

wire_gone()
{
	unplugged "${DEVS[0]}" && unplugged "${DEVS[1]}"
}

# sender COUNT [RETRIES]: sends messages from end 0 to end 1 and back
sender()
{
	new_port
	RDMA_DEV=${DEVS[1]} load serve serve "$PORT"
	wait_ready serve
	RDMA_DEV=${DEVS[0]} load send send "${ADDRS[1]}" "$PORT" "$SEED" "$@"
}

# netem ARGS...: in both directions. (While one qdisc replaces another, packets are refused, which
# rxe of 6.12 takes for the end of the network. So cases that change the loss under traffic install
# netem before.)
netem()
{
	local i
	for i in 0 1; do
		tc qdisc replace dev "${ENDS[i]}" root netem limit 10000 "$@" ||
			problem "no netem $*"
	done
}

good_network()
{
	local i
	for i in 0 1; do
		tc qdisc del dev "${ENDS[i]}" root 2>/dev/null
	done
}

# Number of packets that both ends have sent, and number of those that netem has dropped
packets()
{
	cat "/sys/class/net/${ENDS[0]}/statistics/tx_packets" \
		"/sys/class/net/${ENDS[1]}/statistics/tx_packets" |
		awk '{ n += $1 } END { print n }'
}

dropped()
{
	tc -s qdisc show | awk '/^qdisc/ { netem = $2 == "netem" }
		netem && /dropped/ { gsub(",", ""); n += $7 }
		END { print n + 0 }'
}

modprobe -q sch_netem || { echo "no sch_netem"; exit 1; }
wire || { echo "no wire"; exit 1; }
baseline=$(held)

bad_network()
{
	local loss=$((RANDOM % 30 + 1)) before
	netem delay 1ms 1ms reorder $((75 + RANDOM % 20))% 50% \
		duplicate 1% loss "$((loss / 10)).$((loss % 10))%"
	before=$(packets)
	sender "$MESSAGES"
	timed "$MESSAGES messages" 120 finish send 240
	ended serve "the server after the client" 0
	expect_status send 0
	(($(packets) - before > 2 * MESSAGES)) ||
		problem "round $round: it was not over the wire"
	lost=$((lost + $(dropped)))
	good_network
}

# The longest time without a message
longest_gap()
{
	awk '/^messages/ { print $6 }' "$WORK/send.out"
}

# Loses all packets for a time that is shorter than the retries of either transport.
silence()
{
	local quiet=$((RANDOM % 1000 + 500))
	netem
	sender 0
	wait_ready send
	pause 300
	netem loss 100%
	sleep "$((quiet / 1000)).$(printf '%03d' $((quiet % 1000)))"
	netem
	pause 500
	kill -TERM "${pids[send]}"
	timed "the rest, after the silence" 60 finish send 120
	ended serve "the server after the client" 0
	expect_status send 0
	(($(longest_gap) + 0 >= quiet / 2)) ||
		problem "round $round: it was not over the wire"
	good_network
}

# After a link was down, rxe of 6.1 makes no new connections over it, nor do the stock libraries.
new_wire()
{
	cut_wire
	wait_for 30 wire_gone && wire && return
	problem "round $round: no new wire"
}

# siw ends its connections when the link is set down, and reports it to both sides (2). rxe of 6.1
# retries; later versions fail to send without a carrier.
link_stays_down()
{
	local side=$((RANDOM % 2))
	sender 0
	wait_ready send
	ip link set "${ENDS[side]}" down
	pause 500
	kill -KILL "${pids[send]}" 2>/dev/null
	ended send "SIGKILL until the parent knows" 137 2
	kill -TERM "${pids[serve]}" 2>/dev/null
	ended serve "SIGTERM until the parent knows" 0
	timed "until nothing is held" "$BOUND" expect_clean
	new_wire
}

# True if each thread of the process is asleep and a signal can wake it.
interruptible()
{
	local task state
	for task in "/proc/${pids[$1]}/task/"*; do
		read -r _ _ state _ 2>/dev/null < "$task/stat" &&
			[[ $state == S ]] || return 1
	done
}

silent_wire()
{
	netem loss 100%
}

# The link of the server: the sender still has a route.
link_down()
{
	ip link set "${ENDS[1]}" down
}

# peer_vanishes VANISH COME_BACK: no process is killed, and no side disconnects. The transport has
# to detect the failure and report it to the sender. Waits for other events do not end, and can be
# interrupted.
peer_vanishes()
{
	sysctl -qw net.ipv4.tcp_retries2="$TCP_RETRIES"
	RDMA_DEV=${DEVS[0]} load waits zoo "$SEED" event request comp async
	wait_ready waits
	[[ $1 != silent_wire ]] || netem
	sender 0 "$RETRIES"
	wait_ready send
	pause 500
	! stopped send || problem "round $round: the sender ended before"
	"$1"
	timed "until the sender is told" "$GIVE_UP" finish send $((2 * GIVE_UP))
	expect_status send 2
	# (IB_WC_RETRY_EXC_ERR.) Without a carrier rxe fails at once, but not on 6.1, and siw ends
	# the connection.
	[[ $DEVICE == siw || $1 == link_down ]] || says send "broken: 2 (12)" ||
		problem "round $round: it is not for want of an answer: $(tail -n 1 "$WORK/send.out")"
	wait_for 5 interruptible waits ||
		problem "round $round: not all waits can be interrupted: $(stack_of "${pids[waits]}")"
	says waits gone && problem "round $round: the device is gone"
	kill -TERM "${pids[waits]}"
	ended waits "SIGTERM to who waits" 0
	# The server would have detected it as well if it had sent a message.
	kill -TERM "${pids[serve]}" 2>/dev/null
	ended serve "SIGTERM until the parent knows" 0
	timed "until nothing is held" "$BOUND" expect_clean
	"$2"
	((${#problems[@]})) || {
		sender 50 "$RETRIES"
		timed "50 messages over the wire, again" 60 finish send 120
		ended serve "the server after the client" 0
		expect_status send 0
	}
	sysctl -qw net.ipv4.tcp_retries2="$tcp_retries2"
}

begin "packets lost, doubled, reordered and delayed"
bystander_begin
lost=0
rounds bad_network
echo "#   $lost packets lost"
((lost)) || problem "no packet was lost"
bystander_end
end
fault "a network that is silent for a while" silence
fault "a link that stays down" link_stays_down
fault "a peer that vanishes: silent_wire" peer_vanishes silent_wire good_network
fault "a peer that vanishes: link_down" peer_vanishes link_down new_wire
cut_wire
wait_for 30 wire_gone || echo "# the wire's devices are left"
sleep 1
baseline=$(held)
finish_tests
