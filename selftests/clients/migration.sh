#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# QEMU's RDMA migration: a machine with a pattern in its memory migrates to another process.

# shellcheck source=selftests/clients/common.sh
. "$(dirname "$0")/common.sh"

PROGRAM_LIMIT=240
PATTERN_AT=0x200000
PATTERN_BYTES=$((2 << 20))

# machine NAME STACK ARGS...: starts a stopped machine with a monitor in $WORK/NAME.monitor
machine()
{
	start "$2" "$1" qemu-system-x86_64 -accel tcg -machine pc -cpu qemu64 -m 16 \
		-nodefaults -display none -S \
		-monitor "unix:$WORK/$1.monitor,server=on,wait=off" "${@:3}"
	wait_for "$PROGRAM_LIMIT" has_monitor "$1" || problem "$1 has no monitor"
}

has_monitor()
{
	[[ -S $WORK/$1.monitor ]] || stopped "$1"
}

# monitor NAME COMMAND: prints the reply
monitor()
{
	python3 - "$WORK/$1.monitor" "$2" <<'END'
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.settimeout(60)
s.connect(sys.argv[1])
def answer():
    text = b""
    while not text.endswith(b"(qemu) "):
        got = s.recv(4096)
        if not got:
            break
        text += got
    return text
answer()
s.sendall(sys.argv[2].encode() + b"\n")
sys.stdout.write(answer().decode(errors="replace"))
END
}

migrated()
{
	monitor source "info migrate" > "$WORK/migrate"
	grep -Eiq 'status:[[:space:]]*(completed|failed)' "$WORK/migrate" || stopped source
}

python3 -c "
import sys
sys.stdout.buffer.write(b''.join(i.to_bytes(8, 'little') for i in range($PATTERN_BYTES // 8)))" \
	> "$WORK/pattern"

# begin_migration DESTINATION-STACK SOURCE-STACK: starts a migration and waits for its end
begin_migration()
{
	begin "QEMU migrates, destination $1, source $2"
	machine destination "$1" -incoming "rdma:$RDMA_ADDR:$PORT"
	wait_for 60 listening_or_gone destination
	listening || problem "the destination does not listen"
	machine source "$2" -device "loader,file=$WORK/pattern,addr=$PATTERN_AT,force-raw=on"
	monitor source "migrate -d rdma:$RDMA_ADDR:$PORT" > "$WORK/migrate.begin"
	wait_for "$PROGRAM_LIMIT" migrated
}

# The destination sends first, so siw may fail the connection (SIW-28).
overtaken()
{
	[[ $DEVICE == siw ]] && grep -q "connecting to destination" "$WORK/source.err"
}

quit()
{
	monitor "$1" quit > /dev/null
	finish "$1"
}

for pair in "${PAIRS[@]}"; do
	for ((run = 0; run < 5; run++)); do
		begin_migration "${pair%:*}" "${pair#*:}"
		overtaken || break
		quit source
		finish destination
	done
	grep -Eiq 'status:[[:space:]]*completed' "$WORK/migrate" ||
		problem "not completed: $(tail -n 5 "$WORK/migrate.begin" "$WORK/migrate" | tr '\n' '~')"
	monitor destination "pmemsave $PATTERN_AT $PATTERN_BYTES \"$WORK/memory\"" > /dev/null
	cmp "$WORK/pattern" "$WORK/memory" || problem "the memory is not the same"
	rm -f "$WORK/memory"
	for name in source destination; do
		quit "$name"
		expect_status "$name" 0
	done
	end
done

finish_tests
