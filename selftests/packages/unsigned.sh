#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# In a guest in lockdown, as after a Secure Boot: the kernel refuses modules without a signature of
# a key that it trusts. The messages are those that docs/admin/install.md quotes.

# shellcheck source=selftests/packages/common.sh
. "$(dirname "$0")/common.sh"

# refused MESSAGE IN_THE_LOG
refused()
{
	local said
	dmesg -C
	if said=$(modprobe rdma_ep 2>&1); then
		echo "it was loaded"
		return 1
	fi
	echo "$said"
	dmesg
	grep -F "$1" <<< "$said" && dmesg | grep -F "$2"
}

mount -t securityfs securityfs /sys/kernel/security 2>/dev/null
check "the kernel is in lockdown" grep -F '[integrity]' /sys/kernel/security/lockdown
check "modules that it needs are signed" modprobe rdma_cm
check "lockdown" refused \
	"modprobe: ERROR: could not insert 'rdma_ep': Operation not permitted" \
	"Lockdown: modprobe: unsigned module loading is restricted"
check "only signed modules" eval 'echo Y > /sys/module/module/parameters/sig_enforce'
check "key" refused \
	"modprobe: ERROR: could not insert 'rdma_ep': Key was rejected by service" \
	"is rejected"
finish_checks
