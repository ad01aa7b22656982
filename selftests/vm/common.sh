# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Shared by every host-side part of the rig: settings, messages, locks. Sourced, never run. All
# settings come from the environment, so that "make check SUITE=trixie" and "SUITE=trixie
# selftests/vm/rig check" are the same.

set -u -o pipefail
# Users other than root use trees and stages, in builds and in guests.
umask 022

VM_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
TOP=$(cd "$VM_DIR/../.." && pwd)

KERNEL=${KERNEL:-}			# debug, kcsan: one built with NAME.config
KERNEL_BUILD=${KERNEL_BUILD:-}		# no: skip the cells of a kernel that is not built
DEBUG_SCALE=4				# a debug kernel's TEST_SCALE
if [[ -n $KERNEL ]]; then
	# sid has the newest source. A debug kernel is slow, and needs much memory.
	SUITE=${SUITE:-sid}
	GUEST_MEM=${GUEST_MEM:-4G}
	GUEST_TIMEOUT=${GUEST_TIMEOUT:-28800}
	TEST_SCALE=${TEST_SCALE:-$DEBUG_SCALE}
	# The results of the stock libraries are the same on every kernel.
	PAIRS=${PAIRS:-ours:ours}
fi
SUITE=${SUITE:-bookworm}		# Debian suite whose kernel is booted
DEVICE=${DEVICE:-rxe}			# software RDMA device: rxe or siw
CACHE=${CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/rdma_ep}
GUEST_MEM=${GUEST_MEM:-2G}
GUEST_CPUS=${GUEST_CPUS:-2}
GUEST_TIMEOUT=${GUEST_TIMEOUT:-9000}	# seconds until a guest counts as hung
BOOT_SECONDS=${BOOT_SECONDS:-300}	# or until it is booted once more
HANG_SECONDS=${HANG_SECONDS:-300}	# ... or after a test's time limit
DEADLINE=${DEADLINE:-}			# seconds since 1970; no test begins later
LATE_SECONDS=${LATE_SECONDS:-600}	# ... and no build or repetition lasts longer after it
GUEST_APPEND=${GUEST_APPEND:-}		# more kernel command line
TEST_SCALE=${TEST_SCALE:-1}		# all time limits of tests, times this
ACCEL=${ACCEL:-}			# tcg or kvm; empty: probe
PARTS=${PARTS:-modules lib selftests}	# what "build" builds
PAIRS=${PAIRS:-}			# SERVER:CLIENT stacks of client runs
STOCK=${STOCK:-}			# 1: no module, no library, stock only
[[ -z $STOCK ]] || PARTS=scripts

# The suite's part of the cache
SUITE_DIR=$CACHE/$SUITE

# Paths inside the guest and the build chroot
GUEST_KSELFTEST=/usr/src/kselftest/tools/testing/selftests
GUEST_TESTS=/usr/lib/rdma_ep/selftests

export LC_ALL=C

# Progress goes to stderr: stdout belongs to results.
say()
{
	printf '[%4ds] %s\n' "$SECONDS" "$*" >&2
}

die()
{
	printf 'rig: %s\n' "$*" >&2
	exit 1
}

# step WHAT COMMAND...: announces WHAT, runs the command, prints how long it took
step()
{
	local what=$1 start=$SECONDS rc=0
	shift
	say "$what ..."
	"$@" || rc=$?
	if ((rc)); then
		say "$what: FAILED (status $rc) after $((SECONDS - start)) s"
	else
		say "$what: done in $((SECONDS - start)) s"
	fi
	return "$rc"
}

# assignments NAMES...: shell text that gives these variables their values anywhere
assignments()
{
	declare -p "$@" | sed 's/^declare -[^ ]*/declare -g/'
}

# with_lock FILE COMMAND...: runs the command in one rig at a time, of several on a machine
with_lock()
{
	local file=$1
	shift
	mkdir -p "$(dirname "$file")"
	(
		if ! flock -n 9; then
			say "waiting for another rig (${file##*/})"
			flock 9
		fi
		# Children must not inherit the lock: a guest left behind would hold it forever.
		"$@" 9>&-
	) 9>"$file"
}

need_root()
{
	((EUID == 0)) || die "must be root (chroot, mounts and apt are needed)"
}
