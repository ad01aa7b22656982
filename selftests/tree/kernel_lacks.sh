#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests kmod/kernel-lacks: it reports exactly the symbols, options and headers that a kernel lacks.
# The kernel is the running one, from whose files each test removes something.

# shellcheck source=selftests/tree/checks.sh
. "$(dirname "$0")/checks.sh"
LACKS=$TOP/kmod/kernel-lacks
VERSION=${KVER:-$(uname -r)}
KDIR=/lib/modules/$VERSION/build

MODULE=$(find "/lib/modules/$VERSION/updates" -name rdma_ep.ko | head -n 1)
if ! [[ -e $KDIR/Module.symvers && $MODULE ]]; then
	skip kernel_lacks "no headers of this kernel, or no module for it"
	finish_checks
fi

# lacks KDIR: prints the output, then "status" with the exit status
lacks()
{
	"$LACKS" "$1" "$MODULE" 2>&1
	echo "status $?"
}

# expect NAME "LINE"...: the output in $WORK/out has each of the lines
expect()
{
	local name=$1 line
	: > "$WORK/bad"
	for line in "${@:2}"; do
		grep -qF -e "$line" "$WORK/out" || {
			echo "no '$line' in:"
			cat "$WORK/out"
		} >> "$WORK/bad"
	done
	result "$name" "$WORK/bad"
}

lacks "$KDIR" > "$WORK/out"
echo "status 0" | diff - "$WORK/out" > "$WORK/bad"
result "complete_kernel_has_no_message" "$WORK/bad"

# A copy of the kernel's files that the tests change
mkdir -p "$WORK/kdir/include/config"
touch "$WORK/kdir/Makefile"
cp "$KDIR/include/config/auto.conf" "$KDIR/include/config/kernel.release" \
	"$WORK/kdir/include/config/"
grep -vw rdma_resolve_addr "$KDIR/Module.symvers" > "$WORK/kdir/Module.symvers"
lacks "$WORK/kdir" > "$WORK/out"
expect "missing_symbol_is_named" "does not export what is needed:" \
	"  rdma_resolve_addr" "status 1"
grep -c '^rdma_ep:   ' "$WORK/out" | grep -vx 1 > "$WORK/bad"
result "only_the_missing_symbol_is_named" "$WORK/bad"

mkdir "$WORK/kdir/include/linux"
echo 'extern void mutex_lock(struct mutex *lock);' > "$WORK/kdir/include/linux/mutex.h"
lacks "$WORK/kdir" > "$WORK/out"
expect "missing_header_is_named" "has no linux/cleanup.h" "status 1"
rm "$WORK/kdir/include/linux/mutex.h"

grep -w rdma_resolve_addr "$KDIR/Module.symvers" > "$WORK/extra"
"$LACKS" "$WORK/kdir" "$MODULE" "$WORK/extra" > "$WORK/out" 2>&1
echo "status $?" >> "$WORK/out"
echo "status 0" | diff - "$WORK/out" > "$WORK/bad"
result "symbol_of_another_stack_is_not_missing" "$WORK/bad"

cp "$KDIR/Module.symvers" "$WORK/kdir/"
sed -i '/^CONFIG_INFINIBAND_ADDR_TRANS=/d' "$WORK/kdir/include/config/auto.conf"
lacks "$WORK/kdir" > "$WORK/out"
expect "missing_option_is_named" "without CONFIG_INFINIBAND_ADDR_TRANS" "status 1"

echo 5.15.0-1-amd64 > "$WORK/kdir/include/config/kernel.release"
lacks "$WORK/kdir" > "$WORK/out"
expect "old_kernel_is_too_old" "5.15.0-1-amd64 is too old" "status 1"

lacks "$WORK/nothing" > "$WORK/out"
expect "missing_headers_are_named" "no headers of the kernel in $WORK/nothing" "status 1"

finish_checks
