# SPDX-License-Identifier: GPL-2.0-only
#
# Communication ids, connections, endpoints, events, multicast.

vpath %.c abi/cm

ABI_PROGS += abi_id abi_route abi_cm abi_request abi_channel_end abi_ep abi_destroy_ep abi_event \
	abi_await abi_mcast abi_attach abi_mcast_race
