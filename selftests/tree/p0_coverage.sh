#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Checks that every function that programs need first (p0_functions.txt) has its own test. A comment
# before TEST() names the functions of the test:
#
#	/* P0: rdma_connect, rdma_accept */
#
# p0_coverage.sh [DIRECTORY OF THE TESTS]

# shellcheck source=selftests/tree/checks.sh
. "$(dirname "$0")/checks.sh"
dir=${1:-$TOP/selftests}

# A single awk, as the guest is slow. A tag counts if a test follows it and if the file of the test,
# or the helpers, call the function.
awk '
	FILENAME ~ /p0_functions.txt$/ {
		if ($1 != "")
			want[++total] = $1
		next
	}
	FNR == 1 { tags = "" }
	/^\/\* P0: .*\*\/$/ {
		tags = $0
		gsub(/^\/\* P0: | *\*\/$/, "", tags)
		next
	}
	tags != "" && /^TEST(_F)?\(/ {
		n = split(tags, t, / *, */)
		for (i = 1; i <= n; i++)
			tagged[t[i]] = tagged[t[i]] " " FILENAME
	}
	{
		tags = ""
		# "name(" is a call, "name)" passes the function on.
		line = $0
		while (match(line, /[A-Za-z_][A-Za-z0-9_]*[()]/)) {
			called[FILENAME, substr(line, RSTART, RLENGTH - 1)] = 1
			line = substr(line, RSTART + RLENGTH)
		}
	}
	END {
		print "TAP version 13"
		print "1.." total
		for (n = 1; n <= total; n++) {
			fn = want[n]
			num = split(tagged[fn], file, " ")
			ok = 0
			for (i = 1; i <= num; i++)
				if (called[file[i], fn] || called[helpers, fn])
					ok = 1
			if (!ok) {
				print "# " fn ": " (num ? \
					"not called where it is tagged" : \
					"no test is tagged with it")
				missing++
			}
			print (ok ? "ok " : "not ok ") n " " fn
		}
		print "# of " total " functions " missing + 0 \
			" have no test of their own"
		exit total == 0 || missing > 0
	}' helpers="$dir/harness/lib_util.c" "$dir/tree/p0_functions.txt" \
	"$dir/harness/lib_util.c" "$dir"/lib/{cm,verbs,page}_*.c
