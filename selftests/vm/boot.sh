# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Boot one guest that runs one job. The results directory is the whole
# interface: "job" (a bash script) goes in; "status", "console.log" (the
# kernel's), "live.log" (the job's output) and whatever the job writes to
# /results come out.

guest_command_line()
{
	local args=(
		console=ttyS0 loglevel=7 log_buf_len=4M
		printk.devkmsg=on		# our markers, not rate limited
		# An oops must end the run, not hang it. (-no-reboot turns the
		# reboot into the end of QEMU.)
		oops=panic panic=-1
		# Under emulation everything takes 10 to 20 times as long:
		# raise the watchdogs' limits rather than ignore their reports.
		watchdog_thresh=60 rcupdate.rcu_cpu_stall_timeout=120
		mitigations=off no5lvl no_timer_check random.trust_cpu=on
	)
	# The first report of every test, not the first of all.
	[[ -z $KERNEL ]] || args+=(kasan_multi_shot)
	echo "${args[*]} $GUEST_APPEND"
}

# Fills QEMU.
guest_qemu()
{
	local results=$1
	# shellcheck disable=SC2206
	QEMU=(
		qemu-system-x86_64 $ACCEL_OPTIONS -smp "$GUEST_CPUS"
		-m "$GUEST_MEM" -nodefaults -display none -no-reboot
		-kernel "$VMLINUZ" -initrd "$INITRAMFS"
		-append "$(guest_command_line)"
		-virtfs "local,path=$TREE,mount_tag=tree,security_model=none,readonly=on,multidevs=remap"
		-virtfs "local,path=$STAGE,mount_tag=stage,security_model=none,readonly=on,multidevs=remap"
		-virtfs "local,path=$results,mount_tag=results,security_model=none,multidevs=remap"
		-serial "file:$results/console.log"
	)
	# ACPI's byte code, interpreted by a slow kernel, takes minutes.
	[[ -z $KERNEL ]] || QEMU+=(-machine "pc,acpi=off")
}

# The job's output as it comes, until the guest is gone.
guest_follow()
{
	tail -n +1 -s 0.3 -F --pid="$2" "$1/live.log" 2>/dev/null
}

# guest_watch_boot RESULTS PID: ends a guest that does not come to its job. (Seen
# once in some thousand boots, under emulation: Linux 7.2 in its HPET driver.)
guest_watch_boot()
{
	local end=$((SECONDS + BOOT_SECONDS))
	until grep -q 'rig: begin job' "$1/console.log" 2>/dev/null; do
		sleep 1
		kill -0 "$2" 2>/dev/null || return
		if ((SECONDS > end)); then
			say "the guest has not booted in $BOOT_SECONDS s:" \
				"$(tail -n 1 "$1/console.log")" >&2
			touch "$1/not-booted"
			kill "$2"
			return
		fi
	done
}

# guest_once RESULTS: QEMU's status
guest_once()
{
	local results=$1 pid tailer watcher rc=0
	rm -f "$results"/{status,console.log,live.log,not-booted}
	: > "$results/live.log"

	# pdeathsig: a rig that is killed must not leave a guest behind.
	setpriv --pdeathsig TERM \
		timeout -k 5 "$GUEST_TIMEOUT" "${QEMU[@]}" \
		-serial "file:$results/live.log" </dev/null >&2 &
	pid=$!
	# shellcheck disable=SC2064
	trap "kill $pid 2>/dev/null" EXIT
	guest_follow "$results" "$pid" &
	tailer=$!
	guest_watch_boot "$results" "$pid" &
	watcher=$!
	wait "$pid" || rc=$?
	wait "$tailer" "$watcher"
	trap - EXIT
	return "$rc"
}

# guest_run RESULTS: boot, run RESULTS/job, wait. Returns the job's status, or
# 125 when the guest did not report one (the reason is told).
guest_run()
{
	local results=$1 rc=0
	guest_qemu "$results"
	guest_once "$results" || rc=$?
	# Nothing of ours has run.
	if [[ -e $results/not-booted ]]; then
		rc=0
		guest_once "$results" || rc=$?
	fi

	[[ ! -s $results/status ]] || return "$(<"$results/status")"
	{
		case $rc in
		124 | 137)
			say "the guest HUNG: killed after $GUEST_TIMEOUT s." ;;
		0)	say "the guest DIED: no exit status." ;;
		*)	say "QEMU FAILED (status $rc)." ;;
		esac
		echo "--- end of the guest's kernel log:"
		tail -n 60 "$results/console.log"
		echo "---"
	} >&2
	return 125
}

# guest_slipped RESULTS: where the kernel's log says, if it does, that the guest died of
# a breakpoint that was not there. (The byte before the marked one is not cc.) While the
# kernel changes its own code there are breakpoints for a moment, and QEMU before 8.1,
# emulating, seldom runs one from what it has translated, after they are gone.
guest_slipped()
{
	awk '/int3: 0000/ { code = 1; gone = 0 }
		code && / Code: / { code = 0; gone = $0 !~ / cc </ }
		gone && /---\[ end trace/ { print NR; exit }' "$1/console.log"
}

# guest_tests RESULTS: guest_run() of the tests. Those that a guest which slipped has
# not ended run in another one; of its log, what came before its panic is kept.
guest_tests()
{
	local results=$1 log=$1/console.log rc=0 boot line
	: > "$results/earlier.log"
	for boot in 1 2 3; do
		rc=0
		guest_run "$results" || rc=$?
		line=$(guest_slipped "$results")
		if [[ -z $line ]] || ((boot == 3)); then
			break
		fi
		say "QEMU ran a breakpoint that was not there: once more from that test"
		head -n "$line" "$log" | sed '/int3: 0000/s/\r*$/ (gone)/' \
			>> "$results/earlier.log"
	done
	cat "$log" >> "$results/earlier.log"
	mv "$results/earlier.log" "$log"
	return "$rc"
}

# guest_run() with a terminal: the job talks to the user.
guest_interactive()
{
	local results=$1
	guest_qemu "$results"
	"${QEMU[@]}" -chardev stdio,id=tty,signal=off -serial chardev:tty
	return 0
}
