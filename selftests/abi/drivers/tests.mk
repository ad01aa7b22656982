# SPDX-License-Identifier: GPL-2.0-only
#
# Bugs of single drivers, and the module's protection against them.

vpath %.c abi/drivers

ABI_PROGS += abi_rxe abi_rxe_regions abi_rxe_attack abi_siw abi_siw_calls
