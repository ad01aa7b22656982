# SPDX-License-Identifier: GPL-2.0-only
#
# Tests of rights, limits and namespaces, and attacks on them.

vpath %.c abi/security

ABI_PROGS += abi_attack abi_changed abi_keys abi_iwarp abi_passed abi_unpriv abi_cgroup abi_group abi_rules \
	abi_netns abi_recv_ring abi_recv_ring_attack abi_restrict abi_restrict_gid
