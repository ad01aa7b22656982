# SPDX-License-Identifier: GPL-2.0-only
#
# The fuzzer calls all commands with mostly plausible values.

vpath %.c fuzz

ABI_PROGS += abi_fuzz abi_mock_fuzz

$(O)/abi_fuzz $(O)/abi_mock_fuzz: $(addprefix $(O)/,fuzz_run.o fuzz_fill.o \
	fuzz_roles.o fuzz_ring.o fuzz_cov.o fuzz_log.o)

TIMEOUT_abi_fuzz := 600
TIMEOUT_abi_mock_fuzz := 600
