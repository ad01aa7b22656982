# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Functions for tests that compare files of the tree with each other. A test writes the differences
# to a file in $WORK. Sourced.

# The sources; in the guest they are in the directory src
TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if [[ -d $TOP/src ]]; then TOP=$TOP/src; else TOP=$(cd "$TOP/../.." && pwd); fi
# "make check" starts the tests, too.
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES

WORK=$(mktemp -d) || exit 1
trap 'rm -rf "$WORK"' EXIT
tests=0
failures=0

# result NAME FILE: a test, which fails if FILE is not empty, and prints it
result()
{
	tests=$((tests + 1))
	if [[ ! -s $2 ]]; then
		echo "ok $tests $1"
		return
	fi
	failures=$((failures + 1))
	echo "not ok $tests $1"
	head -n 40 "$2" | sed 's/^/# /'
}

# skip NAME REASON
skip()
{
	tests=$((tests + 1))
	echo "ok $tests $1 # SKIP $2"
}

# The last line of a test.
finish_checks()
{
	echo "1..$tests"
	((failures == 0))
	exit
}
