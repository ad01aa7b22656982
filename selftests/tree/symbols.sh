#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Checks the table of all functions (docs/programs/symbols.md) against the symbols and sources of
# librdma_ep, and against the stock libraries and headers of this machine. Programs run with a
# library only if each symbol has the version of the stock library.

# shellcheck source=selftests/tree/checks.sh
. "$(dirname "$0")/checks.sh"
docs=$TOP/docs/programs
lib=$TOP/lib
include=${INCLUDE:-/usr/include}

# symbols LIBRARY [all]: "NAME VERSION" of the exported functions: only the default versions (@@),
# or all
symbols()
{
	readelf --dyn-syms -W "$1" | awk -v all="$2" '
		$4 ~ /FUNC/ && $7 != "UND" && split($8, s, /@+/) == 2 &&
		s[2] ~ /^(IBVERBS|RDMACM|RDMA_EP)_/ && (all || $8 ~ /@@/) {
			print s[1], s[2]
		}' | sort -u
}

# Prints the path of the library that the dynamic linker would load.
library()
{
	ldconfig -p 2>/dev/null | awk -v name="$1" '$1 == name { print $NF; exit }'
}

# ---- the table: "NAME VERSION STATUS...", one version a line

awk -F ' *[|] *' '
	$3 ~ /^(RDMACM|IBVERBS|RDMA_EP)_/ {
		n = split($3, v, " ")
		base = v[1]
		sub(/[0-9]+$/, "", base)
		print $2, v[1], $4
		for (i = 2; i <= n; i++)
			print $2, base v[i], $4
	}' "$docs/symbols.md" | sort > "$WORK/table"
grep -v ' real lib' "$WORK/table" | cut -d' ' -f1,2 > "$WORK/ours"
grep ' real lib' "$WORK/table" | cut -d' ' -f1,2 > "$WORK/real"
cut -d' ' -f1,2 "$WORK/table" > "$WORK/known"

awk -F ' *[|] *' '
	/^## / { inline = /^## Inline/ }
	inline && NF == 5 && $2 ~ /^_*[a-z]/ && $2 != "function" {
		print $2, $3, $4
	}' "$docs/symbols.md" | sort > "$WORK/inline"

{
	for f in table inline real; do
		[[ -s $WORK/$f ]] || echo "there is nothing in it ($f)"
	done
	awk '!/ (works|EOPNOTSUPP: .+|forwarded: .+|real lib(rdmacm|ibverbs)[:].+)$/' \
		"$WORK/table" "$WORK/inline"
	cut -d' ' -f1 "$WORK/inline" | uniq -d
	uniq -d "$WORK/known"
} > "$WORK/bad"
result "the table is valid, each function has one row" "$WORK/bad"

# ---- librdma_ep

ours=$(library librdma_ep.so.1)
ours=${ours:-$(readlink -e "$lib/librdma_ep.so.1")}
if [[ -n $ours ]]; then
	symbols "$ours" all > "$WORK/exported"
	diff "$WORK/ours" "$WORK/exported" |
		sed -n 's/^< /not exported: /p; s/^> /not in the table: /p' \
		> "$WORK/bad"
	result "librdma_ep exports what the table says, with these versions" \
		"$WORK/bad"
else
	skip "librdma_ep exports what the table says" "it is not installed"
fi

# ---- the stock libraries

for name in librdmacm.so.1 libibverbs.so.1; do
	stock=$(library $name)
	[[ -n $stock ]] || { skip "the functions of $name" "not installed"; continue; }
	symbols "$stock" | grep -v IBVERBS_PRIVATE_ > "$WORK/stock"
	[[ -s $WORK/stock ]] || echo "no symbols in $stock" >> "$WORK/stock"
	sort "$WORK/stock" | comm -13 "$WORK/known" - > "$WORK/bad"
	result "the functions of $name are in the table, with their versions" \
		"$WORK/bad"
done

# The name of the private node depends on the version of rdma-core; librdma_ep has several.
if [[ -n ${stock:-} ]]; then
	symbols "$stock" | grep '^ibv_query_gid_type ' |
		comm -13 "$WORK/known" - > "$WORK/bad"
	result "ibv_query_gid_type has this suite's private version" "$WORK/bad"
fi

# ---- the headers' inline functions

awk '
	/^static inline/ { def = 1; text = "" }
	def { text = text " " $0 }
	def && /\(/ {
		match(text, /[a-z_0-9]+ *\(/)
		name = substr(text, RSTART, RLENGTH - 1)
		sub(/ *$/, "", name)
		if (name !~ /^(__attribute__)$/)
			print name
		def = 0
	}' "$include/infiniband/verbs.h" "$include/rdma/rdma_cma.h" \
	"$include/rdma/rdma_verbs.h" | sort -u > "$WORK/headers"
cut -d' ' -f1 "$WORK/inline" | sort -u | comm -13 - "$WORK/headers" > "$WORK/bad"
[[ -s $WORK/headers ]] || echo "no headers" > "$WORK/bad"
result "the headers' inline functions are in the table" "$WORK/bad"

# ---- the sources

if [[ ! -e $lib/context.c ]]; then
	echo "# no sources in $lib"
	exit 1
fi

# Functions that always end with EOPNOTSUPP on objects of librdma_ep: the exported ones, and in
# $WORK/statics the static ones, to which objects point
awk '
	function name_of(line) {
		match(line, /[a-z_0-9]+\(/)
		return substr(line, RSTART, RLENGTH - 1)
	}
	/^UNSUPPORTED\(/ {
		sub(/^UNSUPPORTED\([^,]*, */, "")
		macro = $0
		sub(/,.*/, "", macro)
	}
	macro != "" && /EOPNOTSUPP/ { print macro; macro = "" }
	/^UNIMPORT\(/ {
		sub(/^UNIMPORT\(/, "")
		sub(/,.*/, "")
		print
	}
	/^(LEP_EXPORT|static) .*[a-z]/ {
		exported = sub(/^LEP_EXPORT/, "")
		text = $0
		if (text !~ /\(/) {
			getline more
			text = text more
		}
		fn = name_of(text)
		last = ""
	}
	/^}/ {
		if (fn != "" && (last ~ /EOPNOTSUPP/ ||
				 before ~ /errno = EOPNOTSUPP/)) {
			if (exported)
				print fn
			else
				print fn > statics
		}
		fn = ""
	}
	{ before = last; last = $0 }' statics="$WORK/statics" "$lib"/*.c |
	sort -u > "$WORK/code"
touch "$WORK/statics"
awk '$3 == "EOPNOTSUPP:" { print $1 }' "$WORK/table" | sort -u |
	diff - "$WORK/code" |
	sed -n 's/^< /fails only in the table: /p; s/^> /fails always: /p' \
	> "$WORK/bad"
result "the listed functions, and no others, fail with EOPNOTSUPP" \
	"$WORK/bad"

# An inline function works if the member or function that it calls through is set. The reverse holds
# for contexts only: objects may point to functions that fail. (A single awk, as the guest is slow.)
awk -v statics="$WORK/statics" -v table="$WORK/table" '
	FILENAME == statics { fails[$1] = 1; next }
	FILENAME == table { if ($3 == "works") works[$1] = 1; next }
	FILENAME ~ /\.c$/ {
		line = $0
		while (match(line, /(->|\.)[a-z_]+ = [^;]*/)) {
			member = substr(line, RSTART, RLENGTH)
			line = substr(line, RSTART + RLENGTH)
			sub(/^(->|\.)/, "", member)
			value = member
			sub(/ = .*/, "", member)
			sub(/.* = /, "", value)
			if (!(member in fails))
				object[member] = 1
			if ($0 ~ /^\t(ops|verbs)->/ && value !~ /^no_/)
				context[member] = 1
		}
		next
	}
	{
		through = $2
		member = through
		sub(/.*\./, "", member)
		if (through == "-")
			set = 1
		else if (through ~ /^(ops|verbs)\./)
			set = member in context
		else if (through ~ /\./)
			set = $3 == "works" && member in object
		else
			set = through in works
		if ($3 == "works" && !set)
			print $1 ": nothing sets " through
		else if ($3 != "works" && set)
			print $1 ": " through " is set, is it?"
	}' "$WORK/statics" "$WORK/table" "$lib"/*.c "$WORK/inline" > "$WORK/bad"
result "inline functions work or fail as listed" "$WORK/bad"

finish_checks
