#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Plain words: counts habits of style that make comments and documents hard to read, and
# checks the subjects of commits. More than LIMIT of one habit in 10,000 words fail.
#
#	who		"who ..." without a noun before it, as a subject or an object
#	what		"what ..." as the subject of a sentence or a clause
#	nobody		nobody, everybody, somebody, anybody, whoever
#	speak		say, tell, ask, know, believe, mind: code does not
#	can not		"cannot" is the word
#	gone		is gone, goes away, goes on: removed, freed, destroyed, exits, continues
#	of		"Of ..." before the subject
#	that there is	"a ring that there is not": a ring that does not exist
#	verbless	a sentence without a verb, or with one in a subordinate clause only
#
# words.sh			check, with a result for each area and the subjects
# words.sh --count [TREE]	print the counts, check nothing
# words.sh --show CLASS [HABIT]	print each sentence that counts
# words.sh --self-test		show that the check sees what it is for

CLASSES=(kmod uapi lib tools selftests build documents manual)
LIMIT=2
# Subjects of later commits are "area: imperative object".
BASE=653c26980b046e1dc163d52574c5e77daa3e6a3d

HABITS=(who what nobody speak "can not" gone of "that there is" verbless)

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=selftests/tree/checks.sh
. "$here/checks.sh"

# files CLASS: of the current directory. selftests/vm/debug.config and kernel-in-tree are left
# out: a debug kernel is built anew after each change of them, also of a comment.
files()
{
	case $1 in
	documents)
		find README.md CONTRIBUTING.md CHANGELOG.md docs -name '*.md'
		find tools debian -type f \( -name '*.1' -o -name control -o -name README.source \) ;;
	build)
		find Makefile Kbuild dkms.conf .ci packaging docs/site docs/programs -type f \
			! -name '*.json' ! -name '*.html' ! -name '*.md' ;;
	manual)
		find lib/man -maxdepth 1 -name '*.[1-8]*'
		find lib/man/pages -name '*.txt' ;;
	*)
		find "$1" -type f \( -name '*.[ch]' -o -name '*.sh' -o -name '*.bt' -o -name '*.map' \
			-o -name Makefile -o -name Kbuild -o -name '*.awk' -o -name '*.def' \
			-o -name '*.pl' -o -name '*.mk' -o -path '*/vm/cells*' \
			-o -path '*/vm/kernels' -o -path '*/vm/debug.tests' \
			-o -path '*/vm/deb-in-tree' \) ! -path '*/man/out/*' ! -name 'words.*'
		# Scripts without a suffix
		find "$1" -type f ! -name '*.*' ! -path '*/man/out/*' \
			! -path '*/vm/kernel-in-tree' -perm -100 \
			-exec grep -lE '^#!/bin/(ba)?sh' {} + ;;
	esac | sort
}

# look CLASS: its words and hits, in $WORK/CLASS
look()
{
	local kind=comments
	case $1 in documents | manual) kind=documents ;; esac
	files "$1" | xargs perl "$here/words.pl" "$kind" > "$WORK/$1"
}

# counted CLASS HABIT: how many, and how many in 10,000 words
counted()
{
	awk -F '\t' -v habit="$2" '
		$1 == "WORDS" { words += $2 }
		$1 == habit { n++ }
		END { printf "%d %.1f\n", n, words ? n * 10000 / words : 0 }' "$WORK/$1"
}

table()
{
	local class habit words n rate
	printf '%-10s %7s' "" words
	printf ' %13s' "${HABITS[@]}"
	echo
	for class in "${CLASSES[@]}"; do
		words=$(awk '$1 == "WORDS" { n += $2 } END { print n + 0 }' "$WORK/$class")
		printf '%-10s %7d' "$class" "$words"
		for habit in "${HABITS[@]}"; do
			read -r n rate < <(counted "$class" "$habit")
			printf ' %13s' "$n ($rate)"
		done
		echo
	done
	echo "(in brackets: in 10,000 words; at most $LIMIT)"
}

# bad_words CLASS: the habits of which there are too many, and the sentences
bad_words()
{
	local habit n rate
	for habit in "${HABITS[@]}"; do
		read -r n rate < <(counted "$1" "$habit")
		# One is not a habit, however few words there are.
		awk -v n="$n" -v rate="$rate" -v limit="$LIMIT" \
			'BEGIN { exit !(n > 1 && rate > limit) }' || continue
		echo "$1: \"$habit\": $n times, $rate in 10,000 words, at most $LIMIT:"
		awk -F '\t' -v habit="$habit" '$1 == habit { print "    " $2 }' "$WORK/$1"
	done
}

# Reads subjects, prints those that are none.
bad_subjects()
{
	grep -vE '^[a-zA-Z][A-Za-z0-9_./*-]*(, [a-zA-Z][A-Za-z0-9_./*-]*)*: [a-z]+ [^ ]' |
		grep -vE '^(Revert "|Merge )'
}

# The first word of an object is a verb, in the imperative, and one that a component can do.
odd_verbs()
{
	grep -E '^[^:]*: (let|say|tell|know|mind|believe|ask|[a-z]*[a-rt-z]ing|[a-z]+ed|[a-z]*[^s]s)( |$)' |
		grep -vE '^[^:]*: (bring|string|feed|need|shed|seed|embed|speed|bus|bias|focus|canvas)( |$)'
}

# commits: prints the subjects of the commits after BASE that break a rule. Writes the reason to
# $WORK/skipped if it does not see all of them: without a .git the source was unpacked, and has no
# history; that of a shallow clone begins later; a source may be part of another history.
commits()
{
	# Git refuses the checkout of another user.
	local range=$BASE..HEAD git=(git -c safe.directory='*' -C "$TOP")
	rm -f "$WORK/skipped"
	if [[ ! -e $TOP/.git ]]; then
		echo "there is no .git" > "$WORK/skipped"
		return
	fi
	if ! "${git[@]}" rev-parse --verify HEAD > "$WORK/head" 2>&1; then
		echo "git does not read the history: $(<"$WORK/head")"
		return
	fi
	if ! "${git[@]}" rev-parse -q --verify "$BASE^{commit}" > /dev/null 2>&1; then
		if [[ $("${git[@]}" rev-parse --is-shallow-repository) != true ]]; then
			echo "the history does not have $BASE" > "$WORK/skipped"
			return
		fi
		range=HEAD
		echo "only $("${git[@]}" rev-list --count HEAD), the clone is shallow" > "$WORK/skipped"
	fi
	"${git[@]}" log --no-merges --format=%s "$range" > "$WORK/subjects" || echo "git log failed"
	bad_subjects < "$WORK/subjects"
	odd_verbs < "$WORK/subjects"
}

# expect WHAT COMMAND...: for the self test
expect()
{
	local what=$1
	shift
	"$@" && return
	echo "$what"
	SELF_TEST_FAILED=1
}

# expect_commits PATTERN SKIP_PATTERN WHAT: the result of commits() in $TOP; empty: nothing
expect_commits()
{
	local said skipped
	said=$(commits)
	skipped=$(cat "$WORK/skipped" 2>/dev/null)
	# shellcheck disable=SC2053
	expect "$3: \"$said\", skipped: \"$skipped\"" [ "$(
		[[ $said == $1 && $skipped == $2 ]] && echo yes)" = yes ]
}

# Histories of every kind
self_test_commits()
{
	local TOP=$WORK/history BASE git
	git=(git -c user.name=a -c user.email=a@b -c commit.gpgsign=false -C "$TOP")
	mkdir "$TOP"
	expect_commits '' '*no .git' "without a history"
	mkdir "$TOP/.git"
	git() { echo "git: command not found" >&2; return 127; }
	expect_commits 'git does not read*not found' '' "without git"
	unset -f git
	rmdir "$TOP/.git"
	# An unpacked source is checked on machines without git, too.
	command -v git > /dev/null || return
	"${git[@]}" init -q
	"${git[@]}" commit -q --allow-empty -m 'Old subject'
	BASE=$("${git[@]}" rev-parse HEAD)
	"${git[@]}" commit -q --allow-empty -m 'lib: pass it'
	expect_commits '' '' "good subjects"
	"${git[@]}" commit -q --allow-empty -m 'lib: passed it'
	expect_commits 'lib: passed it' '' "a bad subject"
	git clone -q --depth 1 "file://$TOP" "$WORK/shallow"
	TOP=$WORK/shallow expect_commits 'lib: passed it' 'only 1, *shallow' "a shallow clone"
	BASE=${BASE//[0-9]/0}
	expect_commits '' 'the history does not have *' "another history"
	rm -rf "$TOP" "$WORK/shallow"
}

self_test()
{
	local habit n bad=$WORK/bad.c good=$WORK/good.c
	SELF_TEST_FAILED=0
	cat > "$bad" <<-'END'
	/* Who posts has to wait. */
	int who = nobody; /* code: "tell" */
	/*
	 * What is left is dropped. Nobody waits. The driver tells the core. It can not
	 * fail. Not with a lock of the peer. The core is called. The object is gone. Of
	 * the objects one stays. It is a lock that there is not.
	 */
	END
	cat > "$good" <<-'END'
	/* The caller, who posts, has to wait. */
	const char *said = "nobody told it what /* can not */ be";
	/*
	 * The remaining entries are dropped, which shows what happened. `tell` is a name.
	 * For a peer that exits, the driver drops the entry. After CQs that have not been
	 * freed the list ends. The call goes to the core, whatever the state.
	 */
	END
	perl "$here/words.pl" comments "$bad" > "$WORK/self"
	for habit in "${HABITS[@]}"; do
		read -r n _ < <(counted self "$habit")
		expect "$n times \"$habit\" instead of once" [ "$n" = 1 ]
	done
	perl "$here/words.pl" comments "$good" > "$WORK/self"
	expect "a habit in good words: $(grep -v ^WORDS "$WORK/self")" \
		[ "$(grep -vc ^WORDS "$WORK/self")" = 0 ]
	sed -n 's/^ \* //p; s/^\/\* \(.*\) \*\/$/\n\1\n/p' "$bad" > "$WORK/bad.md"
	# shellcheck disable=SC2016
	printf '# Who?\n\n```\nnobody\n```\n\n| what is | nobody |\n|---|---|\n' >> "$WORK/bad.md"
	perl "$here/words.pl" documents "$WORK/bad.md" > "$WORK/self"
	read -r n _ < <(counted self nobody)
	expect "$n times \"nobody\" in a document instead of twice" [ "$n" = 2 ]
	LIMIT=100000
	expect "a limit that is not reached is" [ -z "$(bad_words self)" ]
	LIMIT=2
	cat "$WORK/self" "$WORK/self" > "$WORK/self.2"
	mv "$WORK/self.2" "$WORK/self"
	expect "too many are not seen" [ -n "$(bad_words self)" ]
	expect "a good subject is refused" [ -z "$(
		printf '%s\n' 'chardev/core: move the command transaction into cmd.c' \
			'kmod, docs: address a review' 'lib: pass it' > "$WORK/s"
		bad_subjects < "$WORK/s"; odd_verbs < "$WORK/s")" ]
	for habit in 'Move it' 'lib: Moved it' 'lib: moved it' 'lib: moves it' 'lib: moving it' \
		'lib: tell of it' 'lib:move it' 'lib: move'; do
		echo "$habit" > "$WORK/s"
		expect "\"$habit\" is a subject" \
			[ -n "$(bad_subjects < "$WORK/s"; odd_verbs < "$WORK/s")" ]
	done
	self_test_commits
	return "$SELF_TEST_FAILED"
}

case ${1:-} in
--self-test)
	self_test
	exit ;;
--count)
	cd "${2:-$TOP}" || exit 1
	for class in "${CLASSES[@]}"; do
		look "$class" || exit 1
	done
	table
	exit ;;
--show)
	cd "$TOP" && look "$2" || exit 1
	awk -F '\t' -v habit="${3:-}" '$1 != "WORDS" && (habit == "" || $1 == habit)' "$WORK/$2"
	exit ;;
"") ;;
*)
	sed -n '/^# words.sh/s/^# //p' "$0" >&2
	exit 2 ;;
esac

self_test > "$WORK/bad"
result "the check sees what it is for" "$WORK/bad"
cd "$TOP" || exit 1
for class in "${CLASSES[@]}"; do
	{ look "$class" || echo "no words"; bad_words "$class"; } > "$WORK/bad"
	result "words: $class" "$WORK/bad"
done
commits > "$WORK/bad"
result "commit subjects" "$WORK/bad"
[[ ! -e $WORK/skipped ]] || skip "all commit subjects" "$(<"$WORK/skipped")"

finish_checks
