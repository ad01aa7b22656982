# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Measures the floor: kping (selftests/ulp/kping), a consumer in the kernel, does the same work
# over the functions that rdma_ep exports. The floor of an operation is that of the best context
# for completion handlers. Part of run.

KPING=/sys/kernel/debug/kping/run
# Without "direct": its client sleeps while there is no completion, and the counted clock
# advances meanwhile.
FLOOR_POLLS="softirq workqueue unbound"
FLOOR_PORT=7180

# kping COMMAND...: prints the result
kping()
{
	local fd
	exec {fd}<>"$KPING" && echo "$*" >&"$fd" && cat <&"$fd"
	exec {fd}>&-
}

# measured NAME POLL SERVER-ARGS -- CLIENT-ARGS...: adds a line to $OUT/floor.all
measured()
{
	local name=$1 poll=$2 server=$3 result server_pid
	shift 4
	FLOOR_PORT=$((FLOOR_PORT + 1))
	if [[ $server != none ]]; then
		# shellcheck disable=SC2086
		kping server addr="$RDMA_ADDR" port=$FLOOR_PORT poll="$poll" $server \
			> /dev/null &
		server_pid=$!
	fi
	# Retry after ECONNREFUSED (-111): the server may not listen yet.
	for _ in {1..50}; do
		result=$(kping client addr="$RDMA_ADDR" port=$FLOOR_PORT \
			poll="$poll" "$@")
		[[ $result == *" status=-111 "* ]] || break
		sleep 0.1
	done
	[[ $result == *" status=0 "* ]] || die "kping: $result"
	[[ -z ${server_pid:-} ]] || wait "$server_pid"
	sed -E "s/.* rounds=([0-9]+) .* ns_per_round=([0-9]+) .*/result $name ns=\2 n=\1 poll=$poll/" \
		<<< "$result" >> "$OUT/floor.all"
}

# times N [LEAST]: N / DIVISOR, at least LEAST
times()
{
	local least=${2:-20}
	echo $(($1 / DIVISOR > least ? $1 / DIVISOR : least))
}

floor_streams()
{
	local poll=$1 op size batch messages
	for op in send write read; do
		for size in 64 4096 65536; do
			case $size in
			# The same numbers as in bench, as short streams are cheaper
			64) messages=2560 ;;
			4096) messages=640 ;;
			65536) messages=128 ;;
			esac
			for batch in 1 16 64; do
				# kping needs room for two lists.
				measured "${op}_${size}_$batch" "$poll" \
					"mode=stream depth=128 size=$size" -- \
					mode=stream op="$op" depth=$((2 * batch)) \
					size=$size batch=$batch \
					count="$(times "$messages" "$batch")"
			done
		done
	done
}

part_floor()
{
	local poll n
	[[ -w $KPING ]] || die "no $KPING: modprobe kping"
	: > "$OUT/floor.all"
	for poll in $FLOOR_POLLS; do
		n=$(times 100)
		# kping adds 8 entries: queues of the same size as in bench
		measured create_destroy "$poll" none -- mode=create depth=248 count="$n"
		measured cycle "$poll" "mode=cycle depth=248 conns=$((n + 1))" -- \
			mode=cycle depth=248 count="$n"
		n=$(times 2000)
		measured ping_events "$poll" "mode=pingpong" -- mode=pingpong count="$n"
		floor_streams "$poll"
	done
	# Keep the best result of each operation.
	sort -t= -k2,2n "$OUT/floor.all" | awk '!seen[$2]++' > "$OUT/floor"
	# These floors are also those of ping_polling and rate_1.
	sed -n 's/ ping_events / ping_polling /p; s/ cycle / rate_1 /p' "$OUT/floor" \
		> "$OUT/floor.same"
	cat "$OUT/floor.same" >> "$OUT/floor"
	rm "$OUT/floor.same"
}
