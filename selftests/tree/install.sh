#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Checks that an installation by the Makefiles fails with each of its files.

# shellcheck source=selftests/tree/checks.sh
. "$(dirname "$0")/checks.sh"

# Stubs of the programs that install. They fail on the file $FAIL_ON, and otherwise do nothing, as
# nothing is built here. Directories are real.
mkdir "$WORK/stubs"
for program in install ln chmod; do
	cat > "$WORK/stubs/$program" <<-END
		#!/bin/bash
		for word; do
			[[ \$word != *"\$FAIL_ON" ]] || exit 1
		done
		[[ "$program \$1" != "install -d" ]] || exec $(command -v install) "\$@"
	END
	chmod +x "$WORK/stubs/$program"
done

# stubbed FILE MAKE_ARGUMENTS...: true if the installation succeeds when that of FILE fails
stubbed()
{
	local fail=$1
	shift
	rm -rf "$WORK/installed"
	FAIL_ON=$fail PATH=$WORK/stubs:$PATH MAKEFLAGS='' make "$@" \
		DESTDIR="$WORK/installed" PREFIX=/usr/local > "$WORK/make.log" 2>&1
}

# installs NAME FILE MAKE_ARGUMENTS...: FILE is the first of several that one line installs
installs()
{
	local name=$1 file=$2
	shift 2
	{
		stubbed '/no file' "$@" || { echo "it fails without a reason"; cat "$WORK/make.log"; }
		! stubbed "$file" "$@" || echo "it succeeds without $file"
	} > "$WORK/bad"
	result "$name fails with each file" "$WORK/bad"
}

# The top Makefile installs all headers of a directory: a made-up one with two.
mkdir -p "$WORK/tree/kmod/include"
cp "$TOP/Makefile" "$WORK/tree/"
touch "$WORK"/tree/kmod/include/{one,two}.h
# MAKE=:, -o all: build nothing
installs "make install-lib" /one.h -C "$WORK/tree" install-lib MAKE=:
installs "the installation of lib" /rdma_ep/librdmacm.so.1 -C "$TOP/lib" install -o all
installs "the installation of tools" /rdma-ep-metrics.socket -C "$TOP/tools" install -o all
script=$(make -s -C "$TOP/selftests" list TEST_GEN_PROGS= | sed -n 's,^\(clients/[^ ]*\) .*,\1,p' | head -n 1)
installs "the installation of test scripts" "$script" -C "$TOP/selftests" install-scripts
installs "the installation of files of tests" /one.file -C "$TOP/selftests" install-scripts \
	TEST_FILES='clients/one.file clients/other.file'

finish_checks
