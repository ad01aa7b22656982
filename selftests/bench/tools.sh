# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Runs the usual tools for measurements on both stacks: cmtime of rdma-core, and perftest. Part
# of run.
#
# On one CPU the scheduler gives each of two polling processes some milliseconds in turn. So with
# MODE=counted they wait for events.

TOOLS_PORT=7300
TOOLS_OUT=/tmp/bench-tools

# Does an RDMA id or a TCP socket listen on the port?
tools_listening()
{
	rdma resource show cm_id 2>/dev/null | grep -q "LISTEN .*:$TOOLS_PORT\b" ||
		ss -Hltn "sport = :$TOOLS_PORT" 2>/dev/null | grep -q .
}

# tools_both STACK SERVER... -- CLIENT...: writes the client's output to $TOOLS_OUT.client
tools_both()
{
	local stack=$1 server=() pid i
	shift
	while [[ $1 != -- ]]; do
		server+=("$1")
		shift
	done
	shift
	# exec, so that kill ends the server itself: a polling process would take half of one CPU.
	(exec ${LAUNCHER[$stack]} "${server[@]}") > $TOOLS_OUT.server 2>&1 &
	pid=$!
	for ((i = 0; i < 200; i++)); do
		! tools_listening || break
		sleep 0.1
	done
	# A connection may need retries for seconds: perftest connects twice, and the second time
	# does not wait until its peer listens. Idle seconds are short where time is counted.
	on "$stack" timeout 40 "$@" > $TOOLS_OUT.client 2>&1
	# The server may wait for another client, or for its failed client.
	sleep 0.5
	kill "$pid" 2>/dev/null
	wait "$pid" 2>/dev/null
	cp $TOOLS_OUT.client "$OUT/tool.$stack.$TOOLS_PORT"
}

# tools_row STACK NAME VALUE UNIT: adds a line to the results
tools_row()
{
	[[ $3 =~ ^[0-9.]+$ ]] || {
		tail -n 20 $TOOLS_OUT.client $TOOLS_OUT.server >&2
		echo "run: $2 on $1: no result" >&2
		echo "none $2" >> "$OUT/tools.$1"
		return
	}
	echo "tool $2 $4=$3" >> "$OUT/tools.$1"
}

# Newer versions print "step  us/conn ...", older ones "step : ... us/conn". The first table is
# sufficient: after it newer versions use numbers of QPs that do not exist, which rdma_ep and
# perhaps the device refuse.
tools_cmtime()
{
	local stack=$1 args=(cmtime -b "$RDMA_ADDR" -c 50 -p "$TOOLS_PORT")
	local listen=() connect=(-s "$RDMA_ADDR") step
	if cmtime -h 2>&1 | grep -q -e '-C controller'; then
		listen=(-L -C "$RDMA_ADDR")
		connect=(-C "$RDMA_ADDR")
	fi
	tools_both "$stack" "${args[@]}" "${listen[@]}" -- "${args[@]}" "${connect[@]}"
	for step in "create qp" connect disconnect; do
		tools_row "$stack" "cmtime_${step// /_}" "$(awk -v step="$step" '
			index($0, step " ") == 1 && / : / { print $NF; exit }
			index($0, step " ") == 1 || index($0, "full " step) == 1 ||
			index($0, "cm " step " ") == 1 {
				sub(/^[a-z ]+/, ""); print $1; exit
			}' $TOOLS_OUT.client)" us
	done
}

# tools_perftest STACK NAME SIZE COUNT COLUMN: runs ib_NAME; the result is in this column of the
# last line
tools_perftest()
{
	local stack=$1 name=$2 size=$3 count=$4 column=$5 value unit=us
	local args=("ib_$name" -R -F -d "$TOOLS_DEV" -p "$TOOLS_PORT" -s "$size" -n "$count")
	# WRITEs have no events at the target.
	[[ $MODE == timed || $name == write_* ]] || args+=(-e)
	tools_both "$stack" "${args[@]}" -- "${args[@]}" "$RDMA_ADDR"
	value=$(awk -v size="$size" -v column="$column" '
		$1 == size && NF >= 4 {
			value = $column
			# million messages a second
			print column == 5 ? 1 / value : value
		}' $TOOLS_OUT.client)
	tools_row "$stack" "perftest_${name}_$size" "$value" "$unit"
	TOOLS_PORT=$((TOOLS_PORT + 1))
}

part_tools()
{
	local stack program
	for program in cmtime ib_send_lat rdma; do
		command -v "$program" >/dev/null || die "no $program (rdmacm-utils, perftest, iproute2)"
	done
	TOOLS_DEV=$(device | cut -d' ' -f1)
	rm -f "$OUT"/tools.{stock,ours}
	for stack in stock ours; do
		TOOLS_PORT=$((TOOLS_PORT + 1))
		tools_cmtime "$stack"
		TOOLS_PORT=$((TOOLS_PORT + 1))
		tools_perftest "$stack" send_lat 64 500 6
		tools_perftest "$stack" send_bw 64 1000 5
		tools_perftest "$stack" send_bw 65536 100 5
		tools_perftest "$stack" write_bw 65536 100 5
	done
}
