#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Checks CONTRIBUTING.md against the tree: its paths, functions and make targets exist, its patterns
# of tests match, its quoted lines are in the sources, and the worked example names every file that
# its command prints. The paths in other documents exist as well.
#
# It would catch a file that was moved or renamed, or a new table of commands.

# shellcheck source=selftests/tree/checks.sh
. "$(dirname "$0")/checks.sh"
DOC=$TOP/CONTRIBUTING.md
SECTION='## A new command, end to end'

# The section with the worked example.
example()
{
	awk -v heading="$SECTION" '$0 == heading { on = 1; next } /^## / { on = 0 } on' "$DOC"
}

# The code spans of the page, one per line, and the lines of code blocks
spans()
{
	awk '/^ *```/ { block = !block; next } block { print; next } { text = text " " $0 }
		END {
			n = split(text, part, "`")
			for (i = 2; i <= n; i += 2)
				print part[i]
		}' "$DOC"
	# Links
	grep -oE '\]\([^)#]+' "$DOC" | sed 's/^](//' | grep -v '^[a-z]*:'
}
spans > "$WORK/spans"

# The guest has a list of all files instead of the tree.
if [[ -e $TOP/FILES ]]; then
	cp "$TOP/FILES" "$WORK/all"
else
	(cd "$TOP" && find . -type f ! -path './.git/*' ! -path './build/*' | sed 's,^\./,,') > "$WORK/all"
fi

# exists PATH, which may be a pattern
exists()
{
	compgen -G "$TOP/$1" > /dev/null || compgen -G "$TOP/selftests/$1" > /dev/null ||
		grep -qE "^(selftests/)?${1//\*/[^/]*}(/|\$)" "$WORK/all" ||
		# A name by itself
		{ [[ $1 != */* ]] && grep -qE "/${1//\*/[^/]*}\$" "$WORK/all"; }
}

# ---- paths: DIRECTORY/FILE, and FILE.c and the like

grep -E '^[A-Za-z0-9_./*-]+$' "$WORK/spans" |
	grep -E '^(kmod|uapi|lib|tools|selftests|docs|debian|packaging)/|^[a-z_*]+/$|\.(c|h|sh|md|map|def)$' |
	grep -v '^/' | sort -u > "$WORK/paths"
while read -r path; do
	exists "${path%/}" || echo "$path does not exist"
done < "$WORK/paths" > "$WORK/bad"
(($(wc -l < "$WORK/paths") >= 30)) || echo "only $(wc -l < "$WORK/paths") paths" >> "$WORK/bad"
result "all paths exist" "$WORK/bad"

# shellcheck disable=SC2016
(cd "$TOP" && find README.md CHANGELOG.md docs -name '*.md' ! -name pages.md -exec \
	grep -HoE '`(kmod|uapi|lib|tools|selftests|docs|debian|packaging)/[A-Za-z0-9_./*-]+`' {} +) |
	tr -d '`' | sort -u > "$WORK/paths"
while IFS=: read -r doc path; do
	# The site's page of the kernel API is generated.
	[[ $path == *.html ]] || exists "${path%/}" || echo "$doc: $path does not exist"
done < "$WORK/paths" > "$WORK/bad"
(($(wc -l < "$WORK/paths") >= 60)) || echo "only $(wc -l < "$WORK/paths") paths" >> "$WORK/bad"
result "paths in documents exist" "$WORK/bad"

# ---- functions and macros

grep -oE '^[a-zA-Z_]+\(\)$|^[a-z_]+\[\]$' "$WORK/spans" | tr -d '()[]' | sort -u > "$WORK/names"
while read -r name; do
	grep -rqE --include='*.[ch]' "(^[a-zA-Z].*[ *]|^#define |^} )$name(\(|\[|$)|^([A-Z_]+\()?${name}[(,]|#define $name\b" \
		"$TOP/kmod" "$TOP/lib" "$TOP/uapi" "$TOP/selftests" || echo "$name is not defined"
done < "$WORK/names" > "$WORK/bad"
(($(wc -l < "$WORK/names") >= 15)) || echo "only $(wc -l < "$WORK/names") names" >> "$WORK/bad"
result "all functions and tables exist" "$WORK/bad"

# ---- commands

{
	grep -ohE '\bmake [a-z][a-z-]*' "$WORK/spans" | cut -d ' ' -f 2 | sort -u > "$WORK/targets"
	while read -r target; do
		grep -qE "^([a-z -]* )?$target( [a-z -]*)?:" "$TOP/Makefile" ||
			echo "make $target: no such target"
	done < "$WORK/targets"
	grep -oE 'selftests/vm/rig [a-z-]+' "$WORK/spans" | cut -d ' ' -f 2 | sort -u |
		tee "$WORK/commands" |
		while read -r command; do
			[[ $command == help ]] || grep -qE "^  $command( |\$)" "$TOP/selftests/vm/rig" ||
				echo "rig $command: no such command"
		done
	grep -oE '\bSUITE=[a-z]+' "$WORK/spans" | sort -u | grep -v '=forky$' |
		while IFS='=' read -r _ suite; do
			grep -q "^$suite	" "$TOP/selftests/vm/cells" || echo "no cell of $suite"
		done
	(($(wc -l < "$WORK/targets") >= 8 && $(wc -l < "$WORK/commands") >= 4)) ||
		echo "too few commands"
} > "$WORK/bad"
result "all commands exist" "$WORK/bad"

list=$(dirname "$0")/kselftest-list.txt
[[ -e $list ]] || { make -s --no-print-directory -C "$TOP/selftests" list > "$WORK/list"; list=$WORK/list; }
shopt -s extglob
grep -oE "TESTS='?[^' ]+" "$WORK/spans" | sed "s/^TESTS='\?//" | sort -u > "$WORK/patterns"
while read -r pattern; do
	while read -r name _; do
		# shellcheck disable=SC2053
		[[ $name != $pattern ]] || continue 2
	done < "$list"
	echo "TESTS=$pattern matches no test"
done < "$WORK/patterns" > "$WORK/bad"
(($(wc -l < "$WORK/patterns") >= 4)) || echo "too few patterns" >> "$WORK/bad"
result "patterns match tests" "$WORK/bad"

# ---- the worked example

# Each block after "<!-- lines of FILE -->" has consecutive lines of that file.
perl -e '
	my $top = shift;
	my ($file, $want, $n) = (undef, "", 0);
	while (my $line = <STDIN>) {
		if ($line =~ /^\s*<!-- lines of (\S+) -->$/) {
			$file = $1;
			my ($indent) = <STDIN> =~ /^(\s*)```/;
			$want = "";
			while (($line = <STDIN>) !~ /^\s*```/) {
				$line =~ s/^$indent//;
				$want .= $line;
			}
			open(my $in, "<", "$top/$file") or print("$file does not exist\n"), next;
			local $/;
			print "$file does not have:\n$want" if index(<$in>, $want) < 0;
			$n++;
		}
	}
	print "only $n quotes\n" if $n < 3;
' "$TOP" < "$DOC" > "$WORK/bad"
result "quoted lines are those of the sources" "$WORK/bad"

# The example's command lists the files; `grep -r` also works without git.
command=$(example | sed -n 's/^git grep //p')
pattern=$(sed -n "s/.*'\(.*\)'.*/\1/p" <<< "$command")
read -ra folders <<< "${command##* -- }"
if [[ -z $pattern ]]; then
	echo "no command" > "$WORK/bad"
else
	(cd "$TOP" && grep -rlE --exclude='*.o' --exclude='*.so*' -I "$pattern" "${folders[@]}") |
		grep -vE '^(lib/man/out|selftests/asan)/' | sort > "$WORK/files"
	example > "$WORK/example"
	while read -r path; do
		grep -qF -- "$path" "$WORK/example" || echo "the example does not name $path"
	done < "$WORK/files" > "$WORK/bad"
	(($(wc -l < "$WORK/files") >= 6)) || echo "only $(wc -l < "$WORK/files") files" >> "$WORK/bad"
fi
result "the worked example names every file of its command" "$WORK/bad"

finish_checks
