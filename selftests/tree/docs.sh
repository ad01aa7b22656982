#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Checks that pages agree with the sources: their quotes, the counted lines, and the kernel-doc
# comments of the kernel API, from which "make site" makes a manual. "make docs" corrects most
# differences.
#
# docs.sh update: correct the quotes and counts.

# shellcheck source=selftests/tree/checks.sh
. "$(dirname "$0")/checks.sh"
SCRIPTS=$TOP/selftests/tree/docs
PAGE=$TOP/docs/kernel/ulp.md
# Other pages with quotes
PAGES=("$TOP/README.md" "$TOP/docs/admin/accounting.md" "$TOP/docs/admin/containers.md"
	"$TOP/docs/admin/handover.md" "$TOP/docs/admin/metrics.md")

# Prints the page with the current quotes and the rows of the example ULPs.
page()
{
	local dir rows=()
	for dir in "$TOP"/selftests/ulp/*/; do
		rows+=("$(basename "$dir") $(perl "$SCRIPTS/conn-lines.pl" \
			"$dir"*.c 2>/dev/null)") || return 1
	done
	perl "$SCRIPTS/quote.pl" "$TOP" < "$PAGE" |
		awk -v rows="$(printf '%s\n' "${rows[@]}")" '
		BEGIN {
			n = split(rows, line, "\n")
			for (i = 1; i <= n; i++) {
				split(line[i], f, " ")
				count[f[1]] = " | " f[2] " | " f[3] " | " f[4] " |"
			}
		}
		/^<!-- lines -->$/ { table = 1 }
		/^## / { table = 0 }
		table && /^\| / && $2 in count {
			match($0, /^\| [^|]*[^| ]/)
			$0 = substr($0, 1, RLENGTH) count[$2]
		}
		{ print }'
}

# quoted PAGE: prints the page with the current quotes
quoted()
{
	perl "$SCRIPTS/quote.pl" "$TOP" < "$1"
}

manual()
{
	bash "$SCRIPTS/render-manual" "$1" "$TOP"
}

if [[ ${1:-} == update ]]; then
	set -e -o pipefail
	page > "$WORK/page"
	for page in "${PAGES[@]}"; do
		quoted "$page" > "$WORK/quoted"
		cat "$WORK/quoted" > "$page"
	done
	cat "$WORK/page" > "$PAGE"
	exit
fi

# ---- the test

{ page | diff "$PAGE" - || [[ ${PIPESTATUS[0]} == 0 ]]; } > "$WORK/bad" 2>&1
result "quotes and counts are those of the sources" "$WORK/bad"

for page in "${PAGES[@]}"; do
	{ quoted "$page" | diff "$page" - || [[ ${PIPESTATUS[0]} == 0 ]]; } \
		> "$WORK/bad" 2>&1
	grep -q '^<!-- .*/.* -->$' "$page" || echo "no quotes" >> "$WORK/bad"
	result "quotes of ${page##*/}" "$WORK/bad"
done

# Each ULP handles its connections in one file, conn.c.
for conn in "$TOP"/selftests/ulp/*/conn.c; do
	ulp=$(basename "$(dirname "$conn")")
	grep -q "^| $ulp " "$PAGE" || echo "$ulp is not in the table"
done > "$WORK/bad"
result "every ULP is in the table" "$WORK/bad"

cat "$TOP"/kmod/ulp/*.c |
	sed -n 's/^EXPORT_SYMBOL[_A-Z]*(_*\(.*\));$/\1/p' | sort > "$WORK/exported"
sed -nE '/^\/\*\*$/{n;s/^ \* (rdma_ep_[a-z_]*)\(?\)? - .*/\1/p}' "$TOP"/kmod/ulp/*.c \
	"$TOP"/kmod/include/*.h | sort |
	diff "$WORK/exported" - > "$WORK/bad"
[[ -s $WORK/exported ]] || echo "no symbols" >> "$WORK/bad"
result "every exported symbol has a kernel-doc comment, and nothing else" "$WORK/bad"

kernel_doc=/lib/modules/$(uname -r)/build/scripts/kernel-doc
if [[ ! -e $kernel_doc ]]; then
	tests=$((tests + 1))
	echo "ok $tests the manual # SKIP this kernel's headers have no kernel-doc"
else
	{
		manual "$kernel_doc" > "$WORK/manual" || echo "kernel-doc complains"
		sed -n 's/^### .\([a-z_]*\)().$/\1/p' "$WORK/manual" | sort |
			diff "$WORK/exported" -
	} > "$WORK/bad" 2>&1
	result "the manual has every exported symbol, kernel-doc has no complaints" \
		"$WORK/bad"
fi

# The page of programs: its scripts exist, and each example that does not run has a reason.
awk -F ' *[|] *' -v scripts="$(cd "$TOP/selftests/clients" && echo *.sh)" '
	BEGIN { n = split(scripts, s, " "); while (n) there[s[n--]] = 1 }
	/^- \*[^*]+\*:/ { split($0, s, "*"); reason[s[2]] = 1 }
	/^\| [^|]+ \| `[a-z_]+\.sh` \|/ {
		gsub(/`/, "", $3)
		if (!there[$3])
			print "no selftests/clients/" $3
		programs++
	}
	/^\| `[0-9]/ {
		examples++
		if (NF != 6)
			print $2 " has no result of three pairs"
		for (i = 3; i <= 5; i++)
			if ($i != "runs")
				why[$2 ": " $i] = $i
	}
	END {
		if (!programs || !examples)
			print "no tables"
		for (i in why) {
			split(why[i], s, ": ")
			if (!reason[s[2]])
				print i " has no reason"
		}
	}' "$TOP/docs/programs/clients.md" > "$WORK/bad"
result "programs have scripts, examples without a script a reason" "$WORK/bad"

# matches PATTERN PATH: as the module does, by name and with as many names
matches()
{
	local i patterns names
	IFS=/ read -ra patterns <<< "$1"
	IFS=/ read -ra names <<< "$2"
	[[ ${#patterns[@]} == "${#names[@]}" ]] || return 1
	for i in "${!names[@]}"; do
		# shellcheck disable=SC2053
		[[ ${names[i]} == ${patterns[i]} ]] || return 1
	done
}

# times PATH: the number of the page's rules for that cgroup
times()
{
	local pattern n=0
	for pattern in "${patterns[@]}"; do
		! matches "$pattern" "$1" || n=$((n + 1))
	done
	echo "$n"
}

# The pages' rules for pods are for those of each class of service, as the kubelet nests them, and
# for nothing above or below.
pod_rules()
{
	local top=$1 slice=$2 patterns pod
	mapfile -t patterns < <(grep -oE "$top/[^ \`\";]*pod[^ \`\";]*" "$3" | grep -F '*' | sort -u)
	for pod in "${@:4}"; do
		[[ $(times "$pod") == 1 ]] || echo "$3: $(times "$pod") rules for $pod"
		[[ $(times "$pod/CONTAINER$slice") == 0 ]] || echo "$3: a rule for a container of $pod"
		[[ $(times "${pod%/*}") == 0 ]] || echo "$3: a rule for ${pod%/*}"
	done
}

{
	slices=(/kubepods.slice/kubepods{,-burstable.slice/kubepods-burstable,-besteffort.slice/kubepods-besteffort}-podUID.slice)
	pod_rules /kubepods.slice .scope "$TOP/docs/admin/accounting.md" "${slices[@]}"
	pod_rules /kubepods.slice .scope "$TOP/docs/admin/containers.md" "${slices[@]}"
	pod_rules /kubepods "" "$TOP/docs/admin/containers.md" /kubepods{,/burstable,/besteffort}/podUID
} > "$WORK/bad"
result "rules for pods are for each class of service" "$WORK/bad"

# generic-device-plugin accepts such names only, and the resource is DOMAIN/NAME.
{
	plugin=$TOP/packaging/kubernetes/device-plugin.json
	name=$(sed -nE 's/.*\\"name\\": \\"([^\\]*)\\".*/\1/p' "$plugin")
	domain=$(sed -nE 's/.*"--domain", "([^"]*)".*/\1/p' "$plugin")
	[[ $name =~ ^[a-z0-9][-a-z0-9]*[a-z0-9]$ ]] || echo "device-plugin.json: bad name '$name'"
	grep -qF "\"$domain/$name\": \"1\"" "$TOP/packaging/kubernetes/pod.json" ||
		echo "pod.json has no $domain/$name"
} > "$WORK/bad"
result "the pod asks for the resource of the device plugin" "$WORK/bad"

finish_checks
