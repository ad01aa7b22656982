#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The differential run: diff_calls makes the same calls on the stock libraries and
# on rdma_ep, and prints every answer. Each difference must be in diff/expected with
# a reason, and each line there must still be a difference. A second test checks that
# diff_calls calls every function, except those in diff/not_called.

dir=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=selftests/clients/common.sh
. "$dir/clients/common.sh"

if [[ -n ${STOCK:-} ]]; then
	echo "1..0 # SKIP compares rdma_ep with the stock libraries"
	exit 4
elif [[ $DEVICE != rxe ]]; then
	echo "1..0 # SKIP the list of differences is about rxe"
	exit 4
fi
# The answers of the stock libraries and the kernel depend on their versions. The
# list is for one version, which is enough to justify the differences of rdma_ep.
if ! ldconfig -p | awk '$1 == "librdmacm.so.1" { print $NF; exit }' |
		xargs readlink -f | grep -q '\.44\.[0-9]*$'; then
	echo "1..0 # SKIP the list of differences is about rdma-core 44"
	exit 4
fi

LIMIT=300	# seconds for one run; it takes 30, emulated

# run STACK: put its answers into $WORK/STACK
run()
{
	start "$1" "$1" "$dir/diff_calls"
	finish "$1" "$LIMIT"
	expect_status "$1" 0
	mv "$WORK/$1.out" "$WORK/$1"
}

# Prints the functions that the installed libraries export and the inline ones of the
# headers, without rsockets, which rdma_ep leaves to librdmacm, and without private
# functions of providers.
functions()
{
	local lib
	for lib in librdmacm libibverbs; do
		readelf --dyn-syms --wide "$(ldd "$dir/diff_calls" |
			awk -v lib="$lib" 'index($1, lib) { print $3 }')"
	done | awk '$7 != "UND" && $4 == "FUNC" && $8 ~ /@@/ &&
		$8 !~ /PRIVATE|^r[a-ce-z]/ { sub(/@.*/, "", $8); print $8 }'
	awk '/static inline/ { sub(/.*static inline/, ""); def = ""; in_def = 1 }
	     in_def { def = def " " $0 }
	     in_def && /\(/ { sub(/\(.*/, "", def); sub(/.*[ *]/, "", def)
			      print def; in_def = 0 }' \
		/usr/include/infiniband/verbs.h \
		/usr/include/rdma/rdma_{cma,verbs}.h
}

begin "both runs end, and leave nothing in the kernel"
run stock
run ours
end

awk -v first=$((tests + 1)) -f "$dir/diff/compare.awk" \
	"$dir/diff/expected" "$WORK/stock" "$WORK/ours" > "$WORK/tap"
cat "$WORK/tap"
tests=$((tests + $(grep -Ec '^(not )?ok' "$WORK/tap")))
failures=$((failures + $(grep -c '^not ok' "$WORK/tap")))

begin "every function is called"
while read -r text; do
	problem "$text"
done < <(functions | sort -u | awk -F ' [|] ' '
	FILENAME ~ /not_called$/ {
		if (/^[^#]/)
			excused[$1] = 1
		next
	}
	FILENAME != "-" {
		if ($1 !~ / = / && split($1, part, ": ") > 2)
			called[part[2]] = 1
		next
	}
	{ exists[$1] = 1 }
	$1 in excused && $1 in called { print $1 " is called after all" }
	!($1 in excused) && !($1 in called) { print $1 " is not called" }
	END {
		for (name in excused)
			if (!(name in exists))
				print name " does not exist"
	}' "$dir/diff/not_called" "$WORK/stock" "$WORK/ours" -)
end

echo "1..$tests"
((failures == 0))
exit
