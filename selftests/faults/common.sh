# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Repeated faults on processes with objects in all states (fault_load.c). Tests include it after
# clients/common.sh.
#
#	FAULT_SECONDS	duration of a case (at least one round; default 4)
#	FAULT_SEED	of the random choices; the seed of a round depends on this, its
#			number and that of the case
#	FAULT_ROUND	number of the first round: to repeat one
#	FAULT_EARLY	siw: if set, end connections early, too (see faults_of)
#
# For hours: rig exec 'setup_rdma; modprobe rdma_ep; FAULT_SECONDS=3600
# /usr/lib/rdma_ep/selftests/faults/kill.sh', with GUEST_TIMEOUT to match.
#
# Checks after each round: the fault took no longer than twice the bound (ten seconds, twenty over
# iWARP, where iw_cm waits ten for an answer that does not come; TEST_SCALE times as much on a slow
# kernel; twice, as guests share CPUs), the process ended as expected, and the kernel holds the same
# objects, pinned pages and module references as before. Meanwhile a bystander, with its own
# connection that the faults do not affect, sends and checks data and makes new connections.

LOAD=$(dirname "${BASH_SOURCE[0]}")/../fault_load

FAULT_SECONDS=${FAULT_SECONDS:-4}
FAULT_SEED=${FAULT_SEED:-$((RANDOM * 32768 + RANDOM + 1))}
FAULT_ROUND=${FAULT_ROUND:-1}

# The longest time in ms in which a bystander may receive nothing: under emulation, the faults and
# other guests keep the two CPUs busy.
QUIET_BOUND=$((20000 * ${TEST_SCALE:-1}))

# faults_of KIND: sets the states of "zoo" (empty: all), whether it may end before it is ready, and
# the bound. siw's listener does not survive connections that end before it has accepted them, and
# may crash the kernel (SIW-01).
faults_of()
{
	BOUND=10 ZOO=() EARLY=1
	[[ $1 == siw ]] || return 0
	BOUND=20
	[[ ! ${FAULT_EARLY:-} ]] || return 0
	ZOO=(event request comp async resolve await ring idle_ring pending posted
		stream srq pages unread verbs objects) EARLY=
}
faults_of "$DEVICE"

echo "# FAULT_SEED=$FAULT_SEED FAULT_SECONDS=$FAULT_SECONDS FAULT_ROUND=$FAULT_ROUND"

# ---- time

now_ms()
{
	local t=$EPOCHREALTIME
	echo $((${t/[^0-9]/} / 1000))
}

declare -A worst

# took WHAT MS SECONDS: it must have taken no more than twice SECONDS
took()
{
	((${worst[$1]:--1} >= $2)) || worst[$1]=$2
	(($2 <= 2 * $3 * 1000 * ${TEST_SCALE:-1})) ||
		problem "round $round: $1 took $2 ms, not $3 s"
}

# timed WHAT SECONDS COMMAND...
timed()
{
	local what=$1 limit=$2 start rc=0
	shift 2
	start=$(now_ms)
	"$@" || rc=$?
	took "$what" $(($(now_ms) - start)) "$limit"
	return "$rc"
}

# pause MS: for a random time of at most MS
pause()
{
	local ms=$((RANDOM % $1))
	nap "$((ms / 1000)).$(printf '%03d' $((ms % 1000)))"
}

# one_in N
one_in()
{
	((RANDOM % $1 == 0))
}

# ---- rounds

another_round()
{
	((!${#problems[@]})) || return 1
	((round < FAULT_ROUND || SECONDS < rounds_end)) || return 1
	round=$((round + 1))
	# (The factors are primes. The case is part of the seed, so that cases differ.)
	RANDOM=$(((FAULT_SEED + round * 7919 + tests * 104729) % 32749 + 1))
	SEED=$((RANDOM * 32768 + RANDOM + 1))
}

# rounds COMMAND...: repeats it; after each round, the kernel holds only the objects of the baseline
rounds()
{
	local what
	round=$((FAULT_ROUND - 1))
	rounds_end=$((SECONDS + FAULT_SECONDS))
	worst=()
	while another_round; do
		"$@"
		timed "until nothing is held" "$BOUND" expect_clean
	done
	echo "# $case_name: $((round - FAULT_ROUND + 1)) rounds"
	for what in "${!worst[@]}"; do
		echo "#   $what: at most ${worst[$what]} ms"
	done
}

# ---- processes

# load NAME MODE ARGS...
load()
{
	local name=$1
	shift
	unset "statuses[$name]"
	start stock "$name" "$LOAD" "$@"
}

says()
{
	grep -q "^$2" "$WORK/$1.out"
}

ready_or_gone()
{
	says "$1" ready || stopped "$1"
}

wait_ready()
{
	wait_for 60 ready_or_gone "$1"
	says "$1" ready ||
		no_progress "round ${round:-0}: $1 is not ready: $(tail -n 3 "$WORK/$1.out" "$WORK/$1.err" | tr '\n' ' ')"
}

# ready_or_early NAME ONE_IN PAUSE-MS: returns before it is ready, once in ONE_IN times, or at a
# random time after that
ready_or_early()
{
	if [[ $EARLY ]] && one_in "$2"; then
		pause "$3"
		return
	fi
	wait_ready "$1"
	[[ $EARLY ]] || nap 0.5
	pause 300
}

# ended NAME WHAT STATUS...: it exits in time, with one of these
ended()
{
	local name=$1 what=$2 status
	shift 2
	timed "$what" "$BOUND" finish "$name" $((BOUND * 2))
	for status; do
		[[ ${statuses[$name]} != "$status" ]] || return 0
	done
	problem "round ${round:-0}: $name: status ${statuses[$name]}, not $*:" \
		"$(tail -n 3 "$WORK/$name.out" "$WORK/$name.err" | tr '\n' ' ')"
}

# bystander_begin [DEVICE]: starts it; its objects become part of the baseline
bystander_begin()
{
	outer=$baseline
	RDMA_DEV=${1:-$RDMA_DEV} load bystander stream "$FAULT_SEED" 2000
	wait_ready bystander
	baseline=$(held)
	kill -USR1 "${pids[bystander]}"
}

bystander_end()
{
	local n gap connections
	stopped bystander || kill -TERM "${pids[bystander]}"
	finish bystander 60
	expect_status bystander 0
	read -r _ n _ gap _ connections < <(grep '^messages' "$WORK/bystander.out") ||
		problem "the bystander says nothing"
	((${n:-0} > 0)) || problem "the bystander has got nothing through"
	((${connections:-0} > 0)) || problem "the bystander has made no new connection"
	((${gap:-0} <= QUIET_BOUND)) ||
		problem "the bystander was held up for $gap ms"
	echo "# bystander: ${n:-0} messages checked, ${connections:-0} new connections, at most ${gap:-0} ms without either"
	baseline=$outer
}

# fault NAME COMMAND...: a case of such rounds, with a bystander
fault()
{
	begin "$1"
	shift
	bystander_begin
	rounds "$@"
	bystander_end
	end
}

# ---- modules that are in use

# refused MODULE: rmmod fails at once while the module is in use
refused()
{
	! timed "a refused rmmod" 2 rmmod "$1" 2>"$WORK/rmmod" ||
		problem "round $round: $1 was unloaded while it was in use"
	grep -q 'in use' "$WORK/rmmod" ||
		problem "round $round: rmmod says: $(<"$WORK/rmmod")"
}

# unload MODULE UNTIL: retries rmmod until then, while the last references are dropped
unload()
{
	until rmmod "$1" 2>"$WORK/rmmod"; do
		grep -q 'in use' "$WORK/rmmod" || return 1
		((SECONDS < $2)) || return 1
	done
}

# unload_after_kill MODULE
unload_after_kill()
{
	timed "rmmod after SIGKILL" "$BOUND" unload "$1" $((SECONDS + 2 * BOUND)) ||
		problem "round $round: rmmod: $(<"$WORK/rmmod")"
}

# ---- devices under fault

FAULT_DEV=epfault
FAULT_NETDEV=epf0

# Prints an address as in ip(8) and sysfs.
gid_of()
{
	local byte
	IFS=. read -ra byte <<< "$1"
	printf 'ffff:%02x%02x:%02x%02x' "${byte[@]}"
}

has_gid_of()
{
	grep -q "$(gid_of "$2")" "/sys/class/infiniband/$1/ports/1/gids/"* \
		2>/dev/null
}

# add_link KIND DEV NETDEV ADDR [NETNS COMMAND...]: returns when the device is usable
add_link()
{
	local kind=$1 dev=$2 netdev=$3 addr=$4
	shift 4
	"$@" rdma link add "$dev" type "$kind" netdev "$netdev" || return 1
	[[ $kind != rxe ]] || wait_for 20 has_gid_of "$dev" "$addr"
}

# plug [KIND]
plug()
{
	ip link add $FAULT_NETDEV type veth peer name epf1 &&
	ip link set epf1 up && ip link set $FAULT_NETDEV up &&
	ip addr add 10.92.0.1/24 dev $FAULT_NETDEV &&
	add_link "${1:-$DEVICE}" $FAULT_DEV $FAULT_NETDEV 10.92.0.1
}

unplugged()
{
	[[ ! -e /sys/class/infiniband/${1:-$FAULT_DEV} ]]
}

driver_of()
{
	echo "${1/#rxe/rdma_rxe}"
}
