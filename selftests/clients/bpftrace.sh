#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The scripts for bpftrace: the suite's bpftrace accepts them, and their output agrees with the
# operations of the traced programs.

# shellcheck source=selftests/clients/common.sh
. "$(dirname "$0")/common.sh"

PINGS=10
SCRIPTS=$(dirname "$(command -v rdma-ep-trace)")/../share/rdma-ep

not_on_stock "scripts for bpftrace"

# bpftrace looks up the types of a tracepoint's arguments there.
if [[ ! -e /sys/kernel/btf/vmlinux ]]; then
	skip "scripts for bpftrace" "the kernel has no BTF"
	finish_tests
fi

# bpftrace runs this script once all probes are attached, and ends with it.
cat > "$WORK/traced" <<END
touch "$WORK/attached"
while [ ! -e "$WORK/enough" ]; do sleep 0.1; done
END

attached_or_gone()
{
	[[ -e $WORK/attached ]] || stopped bpftrace
}

# on SCRIPT: starts tracing
on()
{
	rm -f "$WORK/attached" "$WORK/enough"
	start stock bpftrace bpftrace -c "/bin/sh $WORK/traced" "$SCRIPTS/$1.bt"
	# bpftrace loads and runs a compiler.
	wait_for 60 attached_or_gone
	[[ -e $WORK/attached ]] || problem "$1.bt is not attached"
}

# Ends tracing. The output is in $WORK/bpftrace.out.
off()
{
	touch "$WORK/enough"
	finish bpftrace
	expect_status bpftrace 0
}

# histograms MAP: prints a line for each key, with the start and the count of each range
histograms()
{
	awk -v map="@$1" '
		/^@/ { inside = index($0, map "[") == 1 || index($0, map ":") == 1 }
		/^@/ && inside { keys++ }
		/^[[(]/ && inside {
			gsub(/[][(),]/, " ")
			sub(/\|.*/, "")
			h[keys] = h[keys] " " $1 ":" $NF
		}
		END { for (k = 1; k <= keys; k++) print substr(h[k], 2) }' \
		"$WORK/bpftrace.out" | sort
}

# count MAP: prints the sum of all counts of its histograms
count()
{
	histograms "$1" | grep -o ':[0-9]*' | awk -F : '{ n += $2 } END { print n + 0 }'
}

begin "rdma-ep-cm.bt"
on rdma-ep-cm
ping_pair $PINGS 64
off
line='^[0-9]+ +[0-9]+ +[0-9]+ +[0-9]+ +'
me="$RDMA_ADDR:[0-9]+" it="$RDMA_ADDR:$PORT"
expect_lines bpftrace 1 "${line}connect qp [1-9][0-9]* $me -> $it\$"
expect_lines bpftrace 1 "${line}accept qp [1-9][0-9]* $it -> $me\$"
expect_lines bpftrace 2 "${line}established after [0-9]+ us\$"
# The event reaches only a side that has not destroyed its id yet.
expect_lines bpftrace "$(grep -c 'event 10' "$WORK/bpftrace.out")" \
	"${line}event 10, status 0\$"
grep -q 'event 10' "$WORK/bpftrace.out" || problem "nobody is disconnected"
expect_lines bpftrace 2 "${line}destroyed, was up for [0-9]+ ms\$"
expect "times to connect" "$(count connect_us)" 2
expect "times of connections" "$(count up_ms)" 2
expect_lines bpftrace 2 '^@'
end

# Each side of rping sends and receives two messages of 16 bytes per ping, and posts one more
# receive; the server also reads and writes 64 bytes (-S). See trace.sh.
begin "rdma-ep-posts.bt"
on rdma-ep-posts
ping_pair $PINGS 64
off
small=$((4 * PINGS + 1)) large=$((2 * PINGS))
expect "work requests of each post, of the client and of the server" \
	"$(histograms requests)" "1:$small"$'\n'"1:$((small + large))"
expect "bytes of each post" "$(histograms bytes)" \
	"16:$small"$'\n'"16:$small 32:0 64:$large"
# Some polls find several completions. All requests complete, except possibly the last receives.
least=$(histograms completions | tr ' ' '\n' |
	awk -F : '{ n += $1 * $2 } END { print n + 0 }')
((least <= 10 * PINGS + 2 && 2 * least >= 10 * PINGS)) ||
	problem "at least $least completions"
expect_lines bpftrace 2 '^@requests\[[0-9]+, [0-9]+\]'
expect_lines bpftrace 0 '^@failed'
# Flushed receives: 5 is IB_WC_WR_FLUSH_ERR. (rping does not poll all of them.)
expect_lines bpftrace 0 '^@wc_errors\[[0-9]+, [0-9]+, ([0-46-9]|..)\]'
end

on_nobody()
{
	exec "${NOBODY[@]}" rdma-ep-run "$@"
}

# The client's name has an escape sequence.
begin "rdma-ep-refusals.bt"
ODD=$WORK/$'\e[2Jping'
ln -s "$(command -v rping)" "$ODD" && chmod 755 "$WORK"
server ours rping -s -a "$RDMA_ADDR" -p "$PORT"
on rdma-ep-refusals
with_parameter session_max_objects 1 client nobody "$ODD" -c -a "$RDMA_ADDR" -p "$PORT" -C 1
off
[[ ${statuses[client]} != 0 ]] || problem "rping is not refused"
expect_lines bpftrace 1 \
	'^session [0-9]+: limit session_max_objects: 2 wanted, of 1$'
expect_lines bpftrace 1 \
	'^process [0-9]+ session [0-9]+: OPEN_DEVICE: errno 122 in command$'
expect_lines bpftrace 1 '^@refused\[[0-9]+, OPEN_DEVICE, 122\]: 1$'
! LC_ALL=C grep -q $'[^\t -~]' "$WORK/bpftrace.out" || problem "the output has control characters"
terminate server
end

finish_tests
