# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# For the scripts of "rig packages", in the tree and in the guest. Sourced.

NAME=$(basename "$0" .sh)
PACKAGES=(librdma-ep1 librdma-ep-dev rdma-ep-dkms rdma-ep-utils)
TESTS_RUN=0 TESTS_FAILED=0
export DEBIAN_FRONTEND=noninteractive

# show COMMAND...: what a user types, and what he sees. For the transcript, which the
# rig makes of the results.
show()
{
	local text=$*
	text=${text/#apt_get/apt-get -y}
	echo "#> ${text#as_user }"
	"$@" 2>&1 | sed 's/^/#| /'
	return "${PIPESTATUS[0]}"
}

# check WHAT COMMAND...: a test; what the command says is shown if it fails
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

# The kernel for which maintainers' scripts build is the one that runs, and here
# that is the host's: uname tells them which one they would see.
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

# Packages of the suite are already in the layer "archive". (--no-download would fail
# for our own.)
apt_get()
{
	apt-get -q -y --no-install-recommends "$@"
}

apt_install()
{
	apt_get install "$@"
}

# install_debs DIRECTORY: our packages of there
install_debs()
{
	local p debs=()
	cd "/results/$1" || return
	for p in "${PACKAGES[@]}"; do
		debs+=("$(echo "./${p}"_*.deb)")
	done
	show apt_get install "${debs[@]}"
}

# module KERNEL: the file that DKMS has put there for it
module()
{
	find "/lib/modules/$1/updates/dkms" -name 'rdma_ep.ko*' 2>/dev/null | grep .
}

# module_version KERNEL
module_version()
{
	modinfo -k "$1" -F version rdma_ep
}

# All files but what apt, dpkg, dkms and ld.so keep about packages that were there.
all_files()
{
	find / -xdev \( -path /proc -o -path /tmp -o -path /src -o -path /results \
		-o -path /rig \
		-o -path /var/lib/dpkg -o -path /var/cache -o -path /var/log \
		-o -path /var/lib/apt \) -prune -o -print | sort
}
