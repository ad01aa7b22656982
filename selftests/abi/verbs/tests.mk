# SPDX-License-Identifier: GPL-2.0-only
#
# Tests of verbs objects, posting and completions.

vpath %.c abi/verbs

ABI_PROGS += abi_verbs abi_post abi_srq abi_states abi_flush abi_again abi_traffic abi_xrc abi_xrc_use
