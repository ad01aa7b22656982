# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Functions for the scripts of "rig packages", in the tree and in the guest. Sourced.

NAME=$(basename "$0" .sh)
PACKAGES=(librdma-ep1 librdma-ep-dev rdma-ep-dkms rdma-ep-utils)
TESTS_RUN=0 TESTS_FAILED=0
export DEBIAN_FRONTEND=noninteractive

# show COMMAND...: run a command and print it with its output as "#>" and "#|" lines, of which the
# rig makes the transcript
show()
{
	local text=$*
	text=${text/#apt_get/apt-get -y}
	echo "#> ${text#as_user }"
	"$@" 2>&1 | sed 's/^/#| /'
	return "${PIPESTATUS[0]}"
}

# check NAME COMMAND...: a test. Prints the output of a failed command, otherwise "#>" and "#|"
# lines.
check()
{
	local what=$1 text
	shift
	TESTS_RUN=$((TESTS_RUN + 1))
	if text=$("$@" 2>&1); then
		echo "ok $TESTS_RUN $NAME: $what"
		grep '^#[>|]' <<< "$text"
		return 0
	fi
	echo "not ok $TESTS_RUN $NAME: $what"
	echo "$text" | tail -n 60 | sed 's/^/# /'
	TESTS_FAILED=$((TESTS_FAILED + 1))
	return 1
}

# The last line of a script.
finish_checks()
{
	echo "1..$TESTS_RUN"
	((!TESTS_FAILED))
	exit
}

# pretend_kernel KERNEL: the maintainer scripts build for the kernel of `uname -r`, which here is
# that of the host. A uname in front of PATH prints KERNEL.
pretend_kernel()
{
	mkdir -p /tmp/bin
	cat > /tmp/bin/uname <<-END
	#!/bin/sh
	case \$1 in
	-r) echo $1 ;;
	*) exec /usr/bin/uname "\$@" ;;
	esac
	END
	chmod +x /tmp/bin/uname
	PATH=/tmp/bin:$PATH
}

# The layer "archive" already has the packages of the suite. (--no-download would fail for the
# packages of rdma_ep.)
apt_get()
{
	apt-get -q -y --no-install-recommends "$@"
}

apt_install()
{
	apt_get install "$@"
}

# install_debs DIRECTORY: the packages of rdma_ep in /results/DIRECTORY
install_debs()
{
	local p debs=()
	cd "/results/$1" || return
	for p in "${PACKAGES[@]}"; do
		debs+=("$(echo "./${p}"_*.deb)")
	done
	show apt_get install "${debs[@]}"
}

# module KERNEL: prints the path of the module that DKMS installed for KERNEL
module()
{
	find "/lib/modules/$1/updates/dkms" -name 'rdma_ep.ko*' 2>/dev/null | grep .
}

# module_version KERNEL
module_version()
{
	modinfo -k "$1" -F version rdma_ep
}

# All files but those of the rig, the records of apt and dpkg, caches and logs
all_files()
{
	find / -xdev \( -path /proc -o -path /tmp -o -path /src -o -path /results \
		-o -path /rig \
		-o -path /var/lib/dpkg -o -path /var/cache -o -path /var/log \
		-o -path /var/lib/apt \) -prune -o -print | sort
}
