# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# KVM or TCG: /dev/kvm may exist and still hang a guest in its boot firmware, so the rig tests
# whether KVM boots the kernel. The result is kept for this machine and QEMU.

KVM_PROBE_LIMIT=20

accel_options()
{
	case $1 in
	kvm) echo "-accel kvm -cpu host" ;;
	tcg) echo "-accel tcg,thread=multi -cpu max" ;;
	# The guest's clock counts instructions, each a nanosecond.
	icount) echo "-accel tcg,thread=single -icount shift=0,sleep=off -cpu max" ;;
	*) die "ACCEL must be kvm, tcg or icount, not '$1'" ;;
	esac
}

kvm_boots()
{
	local out
	# shellcheck disable=SC2046
	out=$(timeout -s KILL "$KVM_PROBE_LIMIT" \
		"${QEMU_SYSTEM[@]}" $(accel_options kvm) -smp 1 -m 512M \
		-nodefaults -nographic -no-reboot -serial stdio \
		-kernel "$VMLINUZ" -initrd "$INITRAMFS" \
		-append "console=ttyS0 quiet panic=-1 rig.probe" \
		2>&1 </dev/null)
	[[ $out == *"rig: alive"* ]]
}

accel_probe()
{
	local verdict=$1
	[[ ! -f $verdict ]] || return 0
	if kvm_boots; then
		say "KVM boots the guest"
		echo kvm > "$verdict"
	else
		say "KVM does not boot the guest: emulating (TCG)"
		echo tcg > "$verdict"
	fi
}

# Sets ACCEL and ACCEL_OPTIONS.
accel()
{
	local verdict
	qemu
	if [[ -z $ACCEL ]] && ! [[ -r /dev/kvm && -w /dev/kvm ]]; then
		ACCEL=tcg
	fi
	if [[ -z $ACCEL ]]; then
		verdict=$CACHE/accel-$({
			cat /etc/machine-id /proc/sys/kernel/osrelease
			grep -m1 'model name' /proc/cpuinfo
			"${QEMU_SYSTEM[@]}" --version
		} 2>/dev/null | sha256sum | cut -c1-12)
		[[ -f $verdict ]] ||
			step "does KVM boot the guest? (at most $KVM_PROBE_LIMIT s)" \
				with_lock "$CACHE/accel.lock" accel_probe "$verdict"
		ACCEL=$(<"$verdict")
	fi
	ACCEL_OPTIONS=$(accel_options "$ACCEL") || exit 1
}
