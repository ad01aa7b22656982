# SPDX-License-Identifier: GPL-2.0-only
#
# Sessions, objects, commands, queue files, rings; the removal of devices.

vpath %.c abi/core

ABI_PROGS += abi_session abi_query abi_handles abi_half abi_gone abi_channel abi_ring abi_ring_map \
	abi_unplug abi_handover abi_handover_kill abi_list abi_split

TIMEOUT_abi_unplug := 600
