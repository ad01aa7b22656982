# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# "make bench": runs the benchmark (selftests/bench) on the stock libraries, on librdma_ep and in
# the kernel, in one guest.
#
# Counted mode is the default: the guest's clock counts instructions. On an emulated machine only
# counts are comparable, and they are the same each time to about a percent; times are not, as the
# guest's processor is a program. Where KVM works, use timed mode.

MODE=${MODE:-counted}		# or timed
BENCH=${BENCH:-}		# which benchmarks; empty: all
BENCH_SCALE=${BENCH_SCALE:-1}	# divisor of all numbers of operations
BENCH_PARTS=${BENCH_PARTS:-}	# bench floor calls tools; empty: all
BENCH_TURNS=${BENCH_TURNS:-}	# runs of each stack
PROFILE=${PROFILE:-}		# 1: where the instructions go, and nothing else

bench_job()
{
	local run=("$GUEST_TESTS/bench/run" -m "$MODE" -o /results/bench
		   -d "$BENCH_SCALE")
	[[ -z $BENCH_TURNS ]] || run+=(-n "$BENCH_TURNS")
	[[ -z $BENCH_PARTS ]] || run+=(-p "$BENCH_PARTS")
	# shellcheck disable=SC2206
	run+=($BENCH)
	[[ -z $PROFILE ]] || echo 'export BENCH_PROFILE=1'
	echo 'setup_rdma && modprobe rdma_ep && modprobe kping || exit 1'
	printf '%q ' exec "${run[@]}"
}

# Sets PLUGIN, built for the plugin interface of this machine's QEMU.
bench_plugin()
{
	local api
	PLUGIN=$SUITE_DIR/profile.so
	HOST_PACKAGES+=(gcc libc6-dev)
	host_packages
	qemu
	for api in 1 2; do
		gcc -O2 -Wall -shared -fPIC -DPLUGIN_API=$api -o "$PLUGIN" \
			"$VM_DIR/profile.c" || die "no plugin for QEMU"
		# QEMU quits at once, as it has no machine to run.
		if echo quit | timeout 20 "${QEMU_SYSTEM[@]}" -M none -nodefaults \
			-display none -monitor stdio -plugin "$PLUGIN,out=/dev/null" \
			>/dev/null 2>&1; then
			return
		fi
	done
	die "this QEMU does not take plugins"
}

cmd_bench()
{
	local rc=0
	PARTS="modules lib bench"
	if [[ -n $PROFILE ]]; then
		MODE=counted
		BENCH_PARTS=bench
		bench_plugin
	fi
	case $MODE in
	counted)
		ACCEL=icount
		GUEST_CPUS=1 ;;
	timed) ;;
	*)	die "MODE must be counted or timed, not '$MODE'" ;;
	esac
	# Memory for ten thousand endpoints
	GUEST_MEM=${BENCH_MEM:-6G}
	prepare
	results_dir
	guest_job "$(bench_job)"
	[[ -z $PROFILE ]] ||
		ACCEL_OPTIONS+=" -plugin $PLUGIN,out=$RESULTS_TMP/profile.out"
	boot_banner
	guest_run "$RESULTS_TMP" >&2 || rc=$?
	show_splats "$RESULTS_TMP" || rc=$((rc ? rc : 1))
	[[ -z $PROFILE || ! -f $RESULTS_TMP/profile.out ]] ||
		mv "$RESULTS_TMP/profile.out" "$RESULTS_TMP/bench/"
	((rc)) || bench_report "$RESULTS_TMP/bench" || rc=$?
	keep_results
	return "$rc"
}

# Prints the table, and writes bench.json.
bench_report()
{
	in_tree "$TREE" "$TOP src" "$1 results" -- \
		python3 /src/selftests/bench/"$([[ -n $PROFILE ]] &&
			echo profile || echo report)".py /results
}
