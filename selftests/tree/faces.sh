#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Checks that the character device and the API for kernel consumers share one engine: kernel
# consumers use rdma_cm only through it, and it depends on neither of them. "faces.sh print" prints
# a table of the engine's functions and their callers.

# shellcheck source=selftests/tree/checks.sh
. "$(dirname "$0")/checks.sh"
kmod=$TOP/kmod

# The functions of the engine, in the order of its header
engine()
{
	grep -v '^ \*' "$kmod/engine/engine.h" |
		grep -oE '\bep_[a-z_]+\(' | tr -d '(' | awk '!seen[$0]++'
}

# callers FILE...: "FUNCTION CALLER" for each place that names one of them.
callers()
{
	awk '
		NR == FNR { engine[$1]; next }
		/^[a-z].*\(/ && !/;$/ {
			match($0, /[a-z0-9_]+\(/)
			name = substr($0, RSTART, RLENGTH - 1)
		}
		/^(static )?const struct [a-z_]+ [a-z_]+ = / {
			name = $(NF - 2)
		}
		/^[ \t]*(\/?\*|$)/ || /^[a-z].*\(/ { next }
		{
			n = split($0, word, /[^a-z0-9_]+/)
			for (i = 1; i <= n; i++)
				if (word[i] in engine)
					print word[i], name
		}' <(engine) "$@" | sort -u
}

table()
{
	echo '| engine | character device | kernel consumers |'
	echo '|---|---|---|'
	awk -v OFS=' | ' '
		FILENAME ~ /chardev$/ { user[$1] = user[$1] ", " $2; next }
		FILENAME ~ /ulp$/ { kernel[$1] = kernel[$1] ", " $2; next }
		{
			print "| " $1, substr(user[$1], 3),
			      substr(kernel[$1], 3) " |"
		}' "$WORK/chardev" "$WORK/ulp" <(engine) | sed 's/  */ /g'
}

callers "$kmod"/chardev/*.c "$kmod"/chardev/*/*.c > "$WORK/chardev"
callers "$kmod"/ulp/*.c > "$WORK/ulp"
table > "$WORK/table"
if [[ $1 == print ]]; then
	cat "$WORK/table"
	exit
fi

# Without any call, the script has failed to parse the sources.
grep -qE '^\| ep_[a-z_]+ \| uep_[^|]* \| [a-z]' "$WORK/table" || echo "no calls" > "$WORK/bad"
: >> "$WORK/bad"
result "both call the engine" "$WORK/bad"
# Only the engine creates, connects and destroys ids.
grep -nE '\brdma_(create_(user_|kernel_)?id|connect(_ece)?|accept(_ece)?|listen|disconnect|destroy_id|reject|init_qp_attr|resolve_(addr|route))\(' \
	"$kmod"/ulp/*.c | grep -v ':[ \t]*/*\*' > "$WORK/direct"
result "kernel consumers get to rdma_cm only through the engine" \
	"$WORK/direct"
{
	grep -nE '\b(__user|copy_(to|from)_user|uep_)' "$kmod"/engine/*.[ch] \
		"$kmod"/ulp/*.[ch]
	grep -nE '#include.*(chardev|ulp)' "$kmod"/engine/*.[ch]
} > "$WORK/above"
result "the engine uses neither face nor user space" "$WORK/above"
finish_checks
