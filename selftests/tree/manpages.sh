#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Checks that the manual pages are complete and agree with their sources: the functions of the
# library with docs/programs/symbols.md and librdma_ep.map, their differences from the stock library
# with the results of diff.sh, rdma_ep(4) with the header of the ABI and the module. ("make lint"
# checks their form.)

# shellcheck source=selftests/tree/checks.sh
. "$(dirname "$0")/checks.sh"
MAN=$TOP/lib/man
EXPECTED=$TOP/selftests/diff/expected

# ---- they are made

mkdir "$WORK/out"
{
	awk -f "$MAN/text.awk" -f "$MAN/pages.awk" -v dir="$WORK/out" \
		"$MAN"/pages/*.txt || echo "pages.awk: $?"
	awk -f "$MAN/text.awk" -f "$MAN/ioctls.awk" -v OUT="$WORK/rdma_ep.4" \
		-v header="$TOP/uapi/rdma/rdma_ep.h" "$MAN/rdma_ep.4.in" ||
		echo "ioctls.awk: $?"
} > "$WORK/bad" 2>&1
result "the pages are generated" "$WORK/bad"

# ---- the functions

# "PAGE FUNCTION" lines, and "PAGE SECTION TEXT..." lines
sed -n 's/^=page //p' "$MAN"/pages/*.txt |
	awk '{ for (i = 1; i <= NF; i++) print $1, $i }' | sort > "$WORK/pages"
awk '
	function flush() { if (section != "") print page, section, text; text = "" }
	/^#/ { next }
	/^=page / { flush(); page = $2; section = ""; next }
	/^=(what|head|stock) / { flush(); section = ""; next }
	/^=/ { flush(); section = substr($1, 2); $1 = "" }
	{ text = text " " $0 }
	END { flush() }' "$MAN"/pages/*.txt > "$WORK/sections"
cut -d' ' -f2 "$WORK/pages" | sort > "$WORK/functions"

# The table's functions that work, fail with EOPNOTSUPP or are forwarded. Programs do not call __*
# and verbs_*, which only headers use.
awk -F ' *[|] *' '
	NF >= 5 && $2 ~ /^_*[a-z]/ && $2 !~ /^(__|verbs_)/ &&
	$4 ~ /^(works|EOPNOTSUPP|forwarded)/ { print $2, $4 }' "$TOP/docs/programs/symbols.md" |
	sort > "$WORK/table"
cut -d' ' -f1 "$WORK/table" | sort -u > "$WORK/known"
sed -n 's/^\t\t\([a-z_0-9]*\);$/\1/p' "$TOP/lib/librdma_ep.map" | sort -u \
	> "$WORK/map"
{
	[[ -s $WORK/table && -s $WORK/map && -s $WORK/functions ]] || echo "nothing"
	uniq -d "$WORK/functions" | sed 's/$/ has two pages/'
	comm -13 "$WORK/functions" "$WORK/known" | sed 's/$/: no page (symbols.md)/'
	comm -13 "$WORK/functions" "$WORK/map" | sed 's/$/: no page (map)/'
	comm -23 "$WORK/functions" "$WORK/known" | sed 's/$/: no such function/'
} > "$WORK/bad"
result "every function has a page, and every page a function" "$WORK/bad"

awk -v pages="$WORK/pages" '
	FILENAME == pages { wanted[$1, $2] = 1; next }
	{ has[$1, $2] = 1; all[$1] = 1 }
	$2 == "synopsis" {
		page = $1
		n = split($0, p, /;/)
		for (i = 1; i < n; i++) {
			sub(/\(.*/, "", p[i])
			sub(/.*[ *]/, "", p[i])
			if (!((page, p[i]) in wanted))
				print page ": what is " p[i] "?"
			delete wanted[page, p[i]]
		}
	}
	END {
		for (w in wanted) {
			split(w, f, SUBSEP)
			print f[1] ": no synopsis of " f[2]
		}
		n = split("synopsis description returns differences see", s, " ")
		for (page in all)
			for (i = 1; i <= n; i++)
				if (!((page, s[i]) in has))
					print page ": no " s[i]
	}' "$WORK/pages" "$WORK/sections" > "$WORK/bad"
result "every page has its sections, and all prototypes" "$WORK/bad"

# References to pages of section 3ep, in the sources and in checked-in pages
{
	sed -n 's/^=see //p' "$MAN"/pages/*.txt | tr ' ' '\n'
	grep -oh '[a-z_0-9]*(3ep)' "$MAN"/pages/*.txt | sed 's/(3ep)//'
	sed -n 's/^\.Xr \([a-z_0-9]*\) 3ep.*/\1/p' "$MAN"/*.[0-9]* "$TOP"/tools/*.1
} | sort -u | comm -23 - "$WORK/functions" > "$WORK/bad"
result "references to section 3ep exist" "$WORK/bad"

# "FUNCTION ANSWER" of each measured difference, for the stock library
awk -F ' *[|] *' '
	NF == 4 && split($1, f, /: /) >= 2 { print f[2], $2 }' "$EXPECTED" |
	sort -u > "$WORK/measured"
awk -v pages="$WORK/pages" -v table="$WORK/table" -v measured="$WORK/measured" '
	FILENAME == pages { page[$2] = $1; next }
	FILENAME == table { if (/ EOPNOTSUPP/) refused[page[$1]] = $1; next }
	FILENAME == measured {
		if (!($1 in page))
			next
		differs[page[$1]] = $1
		if ($2 == "SIGSEGV")
			crashes[page[$1]] = $1
		next
	}
	$2 == "differences" {
		lines++
		none = $3 == "None." && NF == 3
		if (none && $1 in differs)
			print $1 ": " differs[$1] " differs (diff/expected)"
		if ($1 in refused && !/fails? with EOPNOTSUPP/)
			print $1 ": " refused[$1] " fails with EOPNOTSUPP (symbols.md)"
		if (!($1 in refused) && /always fails? with/)
			print $1 ": nothing of it fails always (symbols.md)"
		if (/!null/ && !($1 in crashes))
			print $1 ": the stock library does not crash (diff/expected)"
		if ($1 in crashes && !/!null|crash|NULL|do(es)? nothing/)
			print $1 ": the stock " crashes[$1] " crashes (diff/expected)"
	}
	END { if (!lines) print "no differences at all" }
	' "$WORK/pages" "$WORK/table" "$WORK/measured" "$WORK/sections" > "$WORK/bad"
result "the listed differences are the measured ones" "$WORK/bad"

# ---- the device

# has WORD: prints WORD if rdma_ep(4) does not contain it
has()
{
	grep -qE "(^|[^a-zA-Z_0-9-])$1($|[^a-zA-Z_0-9-])" "$WORK/rdma_ep.4" ||
		echo "$1 is not in rdma_ep(4)"
}

sed -n 's/^\tRDMA_EP_CMD_\([A-Z_]*\).*/\1/p' "$TOP/uapi/rdma/rdma_ep.h" \
	> "$WORK/commands"
{
	[[ -s $WORK/commands ]] || echo "no commands"
	while read -r command; do
		grep -qE "^\.It .*Dv RDMA_EP_IOC_$command( |$)" "$WORK/rdma_ep.4" ||
			echo "RDMA_EP_IOC_$command has no entry"
	done < "$WORK/commands"
	grep -oE 'RDMA_EP_[A-Z_]+' "$TOP/uapi/rdma/rdma_ep.h" | sort -u > "$WORK/defined"
	# RDMA_EP_IOC_ABC, but not the prefix of RDMA_EP_CAP_*
	grep -oE 'RDMA_EP_[A-Z_]+' "$WORK/rdma_ep.4" | grep -v '_$' | sort -u |
		comm -23 - "$WORK/defined" | sed 's/$/ is not in the header/'
} > "$WORK/bad"
result "rdma_ep(4) has all commands, and only these" "$WORK/bad"

{
	grep -qr '^module_param(' "$TOP/kmod" || echo "no parameters"
	sed -n 's/^module_param(\([a-z_]*\), *[a-z]*, .*/\1/p' "$TOP"/kmod/chardev/core/quota.c |
		while read -r name; do
			default=$(sed -n "s/^static unsigned int $name = \([0-9]*\);/\1/p" \
				"$TOP"/kmod/chardev/core/quota.c)
			# The page describes a computed default in words.
			grep -qE "^\.It Va $name Pq ${default:-([0-9]+, or )?[^0-9]+}\$" "$WORK/rdma_ep.4" ||
				echo "parameter $name ($default) is not in rdma_ep(4)"
		done
	{
		grep -oh '"[a-z-]*:\\t' "$TOP"/kmod/chardev/{fdinfo,core/quota}.c |
			sed 's/^"//; s/:.*//'
		sed -n 's/^\t\[RDMA_EP_OBJ_[A-Z]*\] = "\(.*\)",/\1/p' \
			"$TOP/kmod/chardev/fdinfo.c"
	} | sort -u > "$WORK/keys"
	[[ $(wc -l < "$WORK/keys") -gt 10 ]] || echo "no keys of fdinfo"
	while read -r key; do
		has "$key"
	done < "$WORK/keys"
} > "$WORK/bad"
result "parameters and fdinfo are in rdma_ep(4)" "$WORK/bad"

finish_checks
