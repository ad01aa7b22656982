#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Checks the order of the layers of kmod and lib, computed from the symbols that their built objects
# define and use. Functions and variables count alike. A table of functions is a use by the file
# that defines the table.
#
#   layers.sh [TREE [PART...]]       check the objects in TREE (this tree); PART: kmod, lib
#   layers.sh uses [TREE [PART...]]  print every arrow: "FILE > FILE: SYMBOLS"
#   layers.sh selftest               check that the check fails where it must
#
# It fails on a file without a layer, on an arrow against the order, on a circle of files, on the
# use of an exported function of lib within lib, and on the name of a driver outside of
# kmod/drivers.

# "LAYER FILES": the layer of each file. The first pattern that matches counts. Trace
# objects are leaves.
LAYERS='
main          kmod/chardev/main
dispatch      kmod/chardev/dispatch
session       kmod/chardev/session
session       kmod/chardev/fdinfo
session       kmod/chardev/handover
session       kmod/chardev/list
session       kmod/chardev/metrics
session       kmod/chardev/restrict
cm            kmod/chardev/cm/*
verbs         kmod/chardev/verbs/*
core          kmod/chardev/core/*
chardev-trace kmod/chardev/trace
ulp           kmod/ulp/*
drivers       kmod/drivers/*
engine-trace  kmod/engine/trace
engine        kmod/engine/*
lib-core      lib/convert
lib-core      lib/device_list
lib-core      lib/forward
lib-core      lib/rsocket
lib-core      lib/session
lib-core      lib/strings
lib-cm        lib/addrinfo
lib-cm        lib/cm_*
lib-cm        lib/ep
lib-cm        lib/external_qp
lib-cm        lib/fork
lib-cm        lib/handover_*
lib-cm        lib/mcast
lib-cm        lib/mcast_list
lib-objects   lib/*
'

# A layer may use itself and each layer to the right of it in one of these rows. The drivers
# register their operations with the engine, which uses drivers only through these.
ORDER='
main dispatch session cm verbs core chardev-trace
main dispatch session cm verbs core engine engine-trace
main ulp engine engine-trace
main drivers engine engine-trace
lib-cm lib-objects lib-core
'

# "FROM TO SYMBOL": the exported functions of lib that its files may use; otherwise they use
# internal functions, lep_*. A verb on an object that the program has put into an id is the exported
# one, as the object may belong to another library. The table of verbs of a context has two exported
# functions.
EXPORTED='
lib-cm lib-objects ibv_*
lib-objects lib-objects ibv_query_*
'

# Names of drivers, in Linux 6.1 to 7.2. Only kmod/drivers may contain them.
DRIVERS='bng_re|bnxt_re|cxgb4|efa|erdma|hfi1|hns|i40iw|ionic|irdma|mana|mlx4|mlx5|mthca|'
DRIVERS+='ocrdma|pvrdma|qedr|qib|rxe|siw|usnic'

# files TREE PART: the source files, without their suffix.
files()
{
	(cd "$1" && find "$2" -name '*.c' ! -name '*.mod.c' | sed 's/\.c$//' | sort)
}

# symbols TREE FILE...: "FILE SYMBOL TYPE ..." of each object
symbols()
{
	local tree=$1
	shift
	(cd "$tree" && nm -g -P -A "${@/%/.o}") | sed 's/\.o: / /'
}

# arrows TREE FILE...: "FILE FILE SYMBOL" for each symbol of another file that a file uses. A trace
# event has three symbols, of which one counts.
arrows()
{
	symbols "$@" | awk '
		$2 ~ /^__SC[KT]__/ { next }
		$3 ~ /^[Uwv]$/ { uses[$1 " " $2] = 1; next }
		{ file[$2] = $1 }
		END {
			for (use in uses) {
				split(use, part, " ")
				if (part[2] in file && file[part[2]] != part[1])
					print part[1], file[part[2]], part[2]
			}
		}' | sort
}

# judge FILE...: reads the arrows between the files, prints those that are not allowed
judge()
{
	awk -v layers="$LAYERS" -v order="$ORDER" -v exported="$EXPORTED" -v files="$*" '
	# Converts a shell pattern with "*" to a regular expression.
	function pattern(glob) {
		gsub(/\./, "\\.", glob)
		gsub(/\*/, ".*", glob)
		return "^" glob "$"
	}
	function rows(text, list,    n) {
		sub(/^\n+/, "", text)
		sub(/\n+$/, "", text)
		return split(text, list, /\n+/)
	}
	function allowed(from, to, symbol,    n, i, row, part) {
		n = rows(exported, row)
		for (i = 1; i <= n; i++) {
			split(row[i], part, " ")
			if (part[1] == from && part[2] == to &&
			    symbol ~ pattern(part[3]))
				return 1
		}
		return 0
	}
	function print_circle(i,    j, k, n, names) {
		for (j = 1; j <= num; j++) {
			if (!(reach[i, j] && reach[j, i]))
				continue
			done[j] = 1
			names = names " " name[j]
			n++
		}
		print "circle of " n " files:" names
		for (j = 1; j <= num; j++)
			for (k = 1; k <= num; k++)
				if ((j, k) in use && reach[i, j] && reach[j, i] &&
				    reach[i, k] && reach[k, i])
					print "\t" name[j] " > " name[k] ":" use[j, k]
		circles++
	}
	BEGIN {
		num_layers = rows(layers, layer)
		n = rows(order, row)
		for (i = 1; i <= n; i++) {
			m = split(row[i], part, " ")
			for (j = 1; j <= m; j++)
				for (k = j; k <= m; k++)
					may[part[j], part[k]] = 1
		}
		num = split(files, name, " ")
		for (i = 1; i <= num; i++) {
			number[name[i]] = i
			for (j = 1; j <= num_layers && of[i] == ""; j++) {
				split(layer[j], part, " ")
				if (name[i] ~ pattern(part[2]))
					of[i] = part[1]
			}
			if (of[i] == "")
				print "no layer: " name[i]
		}
	}
	{
		from = number[$1]
		to = number[$2]
		if ($1 ~ /^lib\// && $3 !~ /^lep_/ &&
		    !allowed(of[from], of[to], $3))
			print "exported function: " $1 " > " $2 ": " $3
		use[from, to] = use[from, to] " " $3
		reach[from, to] = 1
		if (of[from] != "" && of[to] != "" && !((of[from], of[to]) in may))
			against[from, to] = against[from, to] " " $3
	}
	END {
		for (i = 1; i <= num; i++)
			for (j = 1; j <= num; j++)
				if ((i, j) in against)
					print "against the order (" of[i] " > " of[j] "): " \
						name[i] " > " name[j] ":" against[i, j]
		for (k = 1; k <= num; k++)
			for (i = 1; i <= num; i++)
				if (reach[i, k])
					for (j = 1; j <= num; j++)
						if (reach[k, j])
							reach[i, j] = 1
		for (i = 1; i <= num; i++)
			if (reach[i, i] && !done[i])
				print_circle(i)
		print "circles: " circles + 0
	}'
}

# A name counts between characters that are not letters, in upper or lower case.
driver_names()
{
	(cd "$1" && grep -rniE --include='*.[ch]' --exclude-dir=drivers \
		"(^|[^a-z])($DRIVERS)([^a-z]|$)" kmod) |
		sed 's/^/name of a driver: /'
}

# check TREE PART: prints the errors, then the counts. Fails if there are errors.
check()
{
	local list file missing=0
	mapfile -t list < <(files "$1" "$2")
	for file in "${list[@]}"; do
		[[ -e $1/$file.o ]] || { echo "not built: $file"; missing=1; }
	done
	((!missing && ${#list[@]})) || return
	{
		arrows "$1" "${list[@]}" | judge "${list[@]}"
		[[ $2 != kmod ]] || driver_names "$1"
	} | awk -v part="$2" -v files="${#list[@]}" '
		/^circles: / { circles = $2; next }
		{ print; bad++ }
		END {
			printf "%s: %d files, circles: %d\n", part, files, circles
			exit bad > 0
		}'
}

# uses TREE PART: every arrow
uses()
{
	local list
	mapfile -t list < <(files "$1" "$2")
	arrows "$1" "${list[@]}" | awk '
		$1 " > " $2 ":" != pair {
			if (NR > 1)
				print line
			line = pair = $1 " > " $2 ":"
		}
		{ line = line " " $3 }
		END { if (NR) print line }'
}

# ---- the check of the check

# source_file TREE FILE TEXT: a file of a made-up tree
source_file()
{
	mkdir -p "$1/${2%/*}"
	echo "$3" > "$1/$2.c"
	cc -c -o "$1/$2.o" "$1/$2.c" || exit 1
}

# expect STATUS PATTERN [PART]: the result of check for a part of the made-up tree
expect()
{
	local output status=0
	output=$(check "$work/tree" "${3:-kmod}") || status=$?
	if ((status != $1)) || ! grep -qE -- "$2" <<<"$output"; then
		printf 'expected status %s and "%s", got %s:\n%s\n' \
			"$1" "$2" "$status" "$output"
		failed=1
	fi
}

selftest()
{
	local work failed=0
	work=$(mktemp -d) || exit 1
	# shellcheck disable=SC2064
	trap "rm -rf '$work'" EXIT
	mkdir -p "$work/tree/kmod"
	expect 1 '^$'
	source_file "$work/tree" kmod/engine/id 'int ep_id; int ep_id_get(void) { return 0; }'
	source_file "$work/tree" kmod/engine/conn \
		'extern int ep_id_get(void); int ep_conn(void) { return ep_id_get(); }'
	source_file "$work/tree" kmod/chardev/cm/id \
		'extern int ep_conn(void); int uep_id(void) { return ep_conn(); }'
	source_file "$work/tree" kmod/chardev/dispatch \
		'extern int uep_id(void); int (*const uep_table[])(void) = { uep_id };'
	expect 0 '^kmod: 4 files, circles: 0$'
	# Between two files of a layer, by a function and a variable
	source_file "$work/tree" kmod/engine/id \
		'extern int ep_more; int ep_conn(void); int ep_id_get(void) { return ep_conn() + ep_more; }'
	source_file "$work/tree" kmod/engine/more \
		'extern int ep_conn(void); int ep_more; int ep_f(void) { return ep_conn(); }'
	expect 1 '^circle of 3 files: kmod/engine/conn kmod/engine/id kmod/engine/more$'
	expect 1 '^	kmod/engine/id > kmod/engine/more: ep_more$'
	expect 1 '^	kmod/engine/conn > kmod/engine/id: ep_id_get$'
	expect 1 '^kmod: 5 files, circles: 1$'
	rm "$work"/tree/kmod/engine/more.*
	# Upwards, by a table
	source_file "$work/tree" kmod/engine/id \
		'extern int uep_low(void); int (*const ep_ops[])(void) = { uep_low };
		int ep_id_get(void) { return 0; }'
	source_file "$work/tree" kmod/chardev/core/low 'int uep_low(void) { return 0; }'
	expect 1 '^against the order \(engine > core\): kmod/engine/id > kmod/chardev/core/low: uep_low$'
	# The drivers use the engine, not the other way round
	rm "$work"/tree/kmod/chardev/core/low.*
	source_file "$work/tree" kmod/engine/id \
		'static int (*ops)(void); void ep_register(int (*f)(void)) { ops = f; }
		int ep_id_get(void) { return ops(); }'
	source_file "$work/tree" kmod/drivers/rxe \
		'extern void ep_register(int (*)(void)); int ep_quirk; static int f(void) { return 0; }
		void ep_rxe_init(void) { ep_register(f); }'
	expect 0 '^kmod: 5 files, circles: 0$'
	source_file "$work/tree" kmod/engine/id \
		'extern int ep_quirk; int ep_id_get(void) { return ep_quirk; }
		void ep_register(int (*f)(void)) { }'
	expect 1 '^against the order \(engine > drivers\): .*: ep_quirk$'
	source_file "$work/tree" kmod/engine/id \
		'int ep_id_get(void) { return 0; } void ep_register(int (*f)(void)) { }'
	# A file of no layer
	source_file "$work/tree" kmod/chardev/stray 'int uep_stray;'
	expect 1 '^no layer: kmod/chardev/stray$'
	rm "$work"/tree/kmod/chardev/stray.*
	# Names of drivers
	source_file "$work/tree" kmod/engine/conn '/* as RXE_MAX and rxe3; a_siwb, management */'
	expect 1 '^name of a driver: kmod/engine/conn.c:1:'
	source_file "$work/tree" kmod/engine/conn \
		'/* axes, siwb, management */ int ep_conn(void) { return 0; }'
	expect 0 '^kmod: 5 files, circles: 0$'
	# Exported functions of the library
	source_file "$work/tree" lib/cq \
		'int ibv_cq(void) { return 0; } int lep_cq(void) { return 0; }'
	source_file "$work/tree" lib/cm_id \
		'extern int ibv_cq(void), lep_cq(void); int lep_id(void) { return ibv_cq() + lep_cq(); }'
	expect 0 '^lib: 2 files, circles: 0$' lib
	source_file "$work/tree" lib/qp 'extern int ibv_cq(void); int lep_qp(void) { return ibv_cq(); }'
	expect 1 '^exported function: lib/qp > lib/cq: ibv_cq$' lib
	# An object that is missing
	rm "$work/tree/kmod/engine/conn.o"
	expect 1 '^not built: kmod/engine/conn$'
	return "$failed"
}

mode=check
case ${1:-} in
selftest)
	selftest
	exit
	;;
uses)
	mode=uses
	shift
	;;
esac
tree=${1:-$(dirname "$0")/../..}
shift
(($#)) || set -- kmod lib
failed=0
for part; do
	"$mode" "$tree" "$part" || failed=1
done
exit "$failed"
