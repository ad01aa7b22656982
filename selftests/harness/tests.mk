# SPDX-License-Identifier: GPL-2.0-only
#
# Objects that all programs of a kind share.

vpath %.c harness

ABI_OBJS := $(addprefix $(O)/,abi_util.o abi_util_cm.o abi_util_wr.o abi_util_mock.o \
	abi_util_proc.o abi_util_handover.o abi_util_stall.o abi_world.o abi_cmds.o param.o \
	fds.o)
LIB_OBJS := $(O)/lib_util.o $(O)/lib_util_cm.o $(O)/param.o $(O)/fds.o
