#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Checks "make check" as a whole, in a made-up checkout, whose cells begin with the function $BEGIN.

# shellcheck source=selftests/tree/checks.sh
. "$(dirname "$0")/checks.sh"
unset KERNEL DEADLINE LATE_SECONDS GUEST_TIMEOUT TEST_SCALE

vm=$WORK/checkout/selftests/vm
mkdir -p "$WORK/checkout/selftests/tree"
cp -r "$TOP/selftests/vm" "$vm"
# The last part that the rig reads
cat >> "$vm/deb.sh" <<'END'
need_root() { :; }
host_packages() { :; }
cache_kept() { :; }
accel() { :; }
CHECKOUT_TESTS=(words.sh rig.sh)
cell_begin() { "${BEGIN:-begin_skip}" "$1"; }
begin_skip() { cell_skip "$1" "no guest here"; }
begin_pass() { printf 'sid\t6\trxe\t1\t3\t0\t0\t0\n' > "$1/row"; }

# A package cannot be installed.
begin_no_package()
{
	echo " ucx-utils : Depends: libucx0 but it is not installable"
	echo "E: Unable to correct problems"
	die "no root file system"
}

# One cell is built without end.
begin_stuck()
{
	[[ $1 != *siw* ]] || sleep 1000
	begin_pass "$1"
}

# One cell has no place for its row.
begin_no_row()
{
	[[ $1 != *siw* ]] || { ln -s /no/such/row "$1/row"; return; }
	begin_pass "$1"
}

# With $FORGET, "wait -n" does not find processes.
wait()
{
	[[ ${FORGET:-} && $1 == -n ]] || { builtin wait "$@"; return; }
	builtin wait "${@:4}"
	printf -v "$3" ''
	return 127
}

# A cell with a test, whose guests have no place for their directories
begin_no_guests()
{
	KVER=6 EXTRAS='' INITRAMFS='' KERNEL_ROOT='' STAGE='' TREE='' VMLINUZ=''
	cell_settings "$1"
	echo "one 5" | tee "$1/tests" > "$1/queue/tests"
	rm -r "$1/guests"
	touch "$1/guests"
}
END
echo 'echo "ok 1 a"; echo "1..1"' > "$WORK/checkout/selftests/tree/rig.sh"

# make_check NAME WORDS PATTERN STATUS [ASSIGNMENT...]: the output of "make check" if words.sh prints
# WORDS matches the pattern
make_check()
{
	local status=0
	echo "$2" > "$WORK/words"
	echo "cat '$WORK/words'" > "$WORK/checkout/selftests/tree/words.sh"
	env -u SUITE -u DEVICE -u KERNEL -u TESTS -u CELLS -u MATRIX -u RESULTS -u MATRIX_SECONDS \
		CACHE="$WORK/cache" "${@:5}" timeout 200 "$vm/rig" matrix > "$WORK/said" 2>&1 || status=$?
	{
		[[ $status == "$4" ]] || echo "status $status"
		grep -qE "$3" "$WORK/said" || echo "no line \"$3\""
	} > "$WORK/bad"
	[[ ! -s $WORK/bad ]] || cat "$WORK/said" >> "$WORK/bad"
	result "make check: $1" "$WORK/bad"
}

cells=$(grep -cvE '^(#|$)' "$TOP/selftests/vm/cells")
passes=$'ok 1 b\nok 2 c # SKIP d\n1..2'
make_check "all pass" "$passes" "^$((2 + 3 * cells)) passed, 0 failed, 1 skipped\$" 0 BEGIN=begin_pass
make_check "the checks of the checkout pass, and no guest runs" "$passes" \
	"^2 passed, 1 failed, $((cells + 1)) skipped\$" 1
make_check "a check of the checkout fails" $'ok 1 b\nnot ok 2 c\n1..2' \
	'^checkout/host: FAILED: words.sh: c$' 1 BEGIN=begin_pass
make_check "some cells only" 'not ok 1 b' '^6 passed, 0 failed, 0 skipped$' 0 CELLS='trixie/*' \
	BEGIN=begin_pass
make_check "the guests of a cell cannot begin" "" '^trixie/rxe.*: FAILED: one: not run$' 1 \
	CELLS='trixie/rxe' BEGIN=begin_no_guests
make_check "bash has noted the end of processes" "$passes" "^$((2 + 3 * cells)) passed, 0 failed" 0 \
	BEGIN=begin_pass FORGET=1
make_check "a cell has no row" "" '^trixie/siw.*: FAILED: the cell has no result$' 1 \
	CELLS='trixie/*' BEGIN=begin_no_row
make_check "the results cannot be kept" "$passes" "^$((2 + 3 * cells)) passed, 0 failed" 0 \
	BEGIN=begin_pass RESULTS="$WORK/words/results"
make_check "the reason why a cell cannot begin" "" \
	'^trixie/rxe.*: FAILED: ucx-utils : Depends: libucx0 but it is not installable$' 1 \
	CELLS='trixie/rxe' BEGIN=begin_no_package
# The builds end in two seconds, and the deadline is later.
make_check "a build does not end" "" '^trixie/siw.*: FAILED: still building' 1 \
	CELLS='trixie/*' BEGIN=begin_stuck MATRIX_SECONDS=60 LATE_SECONDS=-58

finish_checks
