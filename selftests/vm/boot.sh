# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Boots one guest that runs one job. The results directory is the whole interface: the rig writes
# "job" (a bash script) to it; the guest and the rig write "status", "console.log" (the kernel's),
# "live.log" (the job's output), and the files that the job creates in /results. Guests that share a
# list of tests also mount its directory as /queue.

QUEUE=''

guest_command_line()
{
	local args=(
		console=ttyS0 loglevel=7 log_buf_len=4M
		printk.devkmsg=on		# our markers, not rate limited
		# An oops must end the run, not hang it. (-no-reboot turns the reboot into the end
		# of QEMU.)
		oops=panic panic=-1
		# Under emulation everything takes 10 to 20 times as long: raise the watchdogs'
		# limits rather than ignore their reports.
		watchdog_thresh=60 rcupdate.rcu_cpu_stall_timeout=120
		mitigations=off no5lvl no_timer_check random.trust_cpu=on
	)
	# KASAN prints the first report of every test, not only the first of all.
	[[ -z $KERNEL ]] || args+=(kasan_multi_shot)
	[[ -z $QUEUE ]] || args+=(rig.queue)
	echo "${args[*]} $GUEST_APPEND"
}

# Sets QEMU.
guest_qemu()
{
	local results=$1
	# Sockets, not cores: without ACPI the guest counts its CPUs in the firmware's MP
	# table, which has one of each socket.
	# shellcheck disable=SC2206
	QEMU=(
		"${QEMU_SYSTEM[@]}" $ACCEL_OPTIONS -smp "$GUEST_CPUS,sockets=$GUEST_CPUS"
		-m "$GUEST_MEM" -nodefaults -display none -no-reboot
		-kernel "$VMLINUZ" -initrd "$INITRAMFS"
		-append "$(guest_command_line)"
		-virtfs "local,path=$results,mount_tag=results,security_model=none,multidevs=remap"
		-serial "file:$results/console.log"
	)
	# Over 9p the execution of a program takes twice as long. (The debug kernel has neither the
	# driver for disks nor ext4; a stage that changes has no image.)
	if [[ -z $KERNEL && -f $STAGE.img ]]; then
		QEMU+=(-drive "file=$TREE.img,format=raw,if=virtio,readonly=on"
		       -drive "file=$STAGE.img,format=raw,if=virtio,readonly=on")
		[[ -z ${EXTRAS:-} ]] ||
			QEMU+=(-drive "file=$EXTRAS,format=raw,if=virtio,readonly=on")
	else
		QEMU+=(
			-virtfs "local,path=$TREE,mount_tag=tree,security_model=none,readonly=on,multidevs=remap"
			-virtfs "local,path=$STAGE,mount_tag=stage,security_model=none,readonly=on,multidevs=remap")
	fi
	# A slow kernel takes minutes to interpret ACPI's byte code.
	[[ -z $KERNEL ]] || QEMU+=(-machine "pc,acpi=off")
	[[ -z $QUEUE ]] || QEMU+=(
		-virtfs "local,path=$QUEUE,mount_tag=queue,security_model=none,multidevs=remap")
}

# Prints the job's output until the guest ends.
guest_follow()
{
	tail -n +1 -s 0.3 -F --pid="$2" "$1/live.log" 2>/dev/null
}

# guest_cpu PID: prints the CPU time of the process, in hundredths of a second
guest_cpu()
{
	local stat
	{ stat=$(<"/proc/$1/stat"); } 2>/dev/null || return
	# shellcheck disable=SC2086
	set -- ${stat##*) }
	echo $((${12} + ${13}))
}

# guest_times RESULTS PID: writes a line "NAME<TAB>SECONDS<TAB>CPU SECONDS" to the file "times" for
# each test that has ended; the CPU time is that of the whole guest
guest_times()
{
	local what name begin=0 cpu=0 end used
	tail -n +1 -s 0.3 -F --pid="$2" "$1/console.log" 2>/dev/null |
	sed -un 's/.*rig: \(begin\|end\) test \([^ \r]*\).*/\1 \2/p' |
	while read -r what name; do
		end=${EPOCHREALTIME/./}
		used=$(guest_cpu "$2")
		if [[ $what == end && $used ]]; then
			awk -v name="$name" -v us=$((end - begin)) -v cs=$((used - cpu)) \
				'BEGIN { printf "%s\t%.1f\t%.1f\n", name, us / 1e6, cs / 1e2 }'
		fi
		begin=$end cpu=$used
	done > "$1/times"
}

# guest_test_limit RESULTS: prints the time limit of the running test in seconds, or nothing if it
# has none
guest_test_limit()
{
	tac "$1/console.log" |
		sed -n '/rig: begin test /{s/.*test \([^ \r]*\).*/\1/p;q}' |
		awk 'NR == FNR { name = $1; next } $1 == name { print $2 }' - "$QUEUE/tests"
}

# guest_test_hangs RESULTS: true if a test has not ended HANG_SECONDS after its limit: timeout(1) in
# the guest has failed to end it
guest_test_hangs()
{
	local limit
	limit=$(guest_test_limit "$1")
	# The job prints a line for every test that has ended.
	[[ $limit ]] && ((EPOCHSECONDS - $(stat -c %Y "$1/live.log") > limit + HANG_SECONDS)) &&
		say "the guest HANGS: a test has not ended $HANG_SECONDS s" \
			"after its limit of $limit s" >&2
}

# guest_watch RESULTS PID: fails as soon as the guest is to be ended: it has not started its job
# (once in some thousand boots under emulation Linux 7.2 hangs in its HPET driver), or has not begun
# or ended a test, or has not ended itself. Lets no test begin after DEADLINE. Writes the guest's
# seconds and CPU seconds so far to the file "used".
guest_watch()
{
	local start=$SECONDS cpu seconds booted='' begun='' limit=$((BOOT_SECONDS * TEST_SCALE))
	while sleep 2 && cpu=$(guest_cpu "$2"); do
		seconds=$((SECONDS - start))
		echo "$seconds $((cpu / 100))" > "$1/used"
		if ((seconds > GUEST_TIMEOUT)); then
			say "the guest HUNG: killed after $GUEST_TIMEOUT s." >&2
			return 1
		fi
		[[ -z $DEADLINE || ! -f $QUEUE/tests ]] || ((EPOCHSECONDS < DEADLINE)) ||
			touch "$QUEUE/late"
		[[ $booted ]] || ! grep -qs 'rig: begin job' "$1/console.log" || booted=$seconds
		if [[ ! $booted ]]; then
			((seconds > BOOT_SECONDS)) || continue
			say "the guest has not booted in $BOOT_SECONDS s:" \
				"$(tail -n 1 "$1/console.log")" >&2
			return 1
		fi
		[[ -f $QUEUE/tests ]] || continue
		[[ $begun ]] || ! grep -qs 'rig: begin test' "$1/console.log" || begun=1
		if [[ ! $begun ]] && ((seconds - booted > limit)); then
			say "the guest HANGS: its first test has not begun in $limit s:" \
				"$(tail -n 1 "$1/console.log")" >&2
			return 1
		fi
		! guest_test_hangs "$1" || return 1
	done
}

# guest_once RESULTS: boots the guest once, and returns QEMU's status
guest_once()
{
	local results=$1 pid helpers=() rc=0
	rm -f "$results"/{status,console.log,live.log,not-booted,ended,times,used}
	: > "$results/live.log"

	# pdeathsig: a rig that is killed must not leave a guest behind.
	setpriv --pdeathsig TERM "${QEMU[@]}" -serial "file:$results/live.log" </dev/null >&2 &
	pid=$!
	# shellcheck disable=SC2064
	trap "kill $pid 2>/dev/null" EXIT
	guest_follow "$results" "$pid" &
	helpers+=($!)
	guest_times "$results" "$pid" &
	helpers+=($!)
	(guest_watch "$results" "$pid" || { touch "$results/ended"; kill "$pid"; }) &
	helpers+=($!)
	wait "$pid" || rc=$?
	wait "${helpers[@]}"
	trap - EXIT
	grep -qs 'rig: begin job' "$results/console.log" || {
		say "the guest has not come to its job: QEMU ended with status $rc" >&2
		touch "$results/not-booted"
	}
	return "$rc"
}

# guest_run RESULTS: boots, runs RESULTS/job, waits. Returns the job's status, or prints why the
# guest did not report one and returns 125.
guest_run()
{
	local results=$1 rc=0
	guest_qemu "$results"
	guest_once "$results" || rc=$?
	# The job has not run: boot once more.
	if [[ -e $results/not-booted ]]; then
		touch "$results/booted-twice"
		rc=0
		guest_once "$results" || rc=$?
	fi

	[[ ! -s $results/status ]] || return "$(<"$results/status")"
	{
		if [[ -e $results/ended ]]; then
			:	# guest_watch() has printed why
		elif ((rc)); then
			say "QEMU FAILED (status $rc)."
		else
			say "the guest DIED: no exit status."
		fi
		echo "--- end of the guest's kernel log:"
		tail -n 60 "$results/console.log"
		echo "---"
	} >&2
	return 125
}

# guest_run() with a terminal for the job
guest_interactive()
{
	local results=$1
	guest_qemu "$results"
	"${QEMU[@]}" -chardev stdio,id=tty,signal=off -serial chardev:tty
	return 0
}
