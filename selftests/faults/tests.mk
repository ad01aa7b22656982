# SPDX-License-Identifier: GPL-2.0-only
#
# Failing allocations and copies; the end of processes, devices, links and namespaces

vpath %.c faults

ABI_PROGS += abi_fail abi_fail_calls abi_fail_mock

$(addprefix $(O)/,abi_fail abi_fail_calls abi_fail_mock): $(addprefix $(O)/,abi_fail_cases.o abi_fail_more.o \
	abi_util_fail.o)

# The program into which the scripts inject faults
TEST_GEN_FILES += fault_load

$(O)/fault_load: $(addprefix $(O)/,fault_load.o fault_stream.o fault_zoo.o \
		fault_zoo_waits.o fault_zoo_ring.o) $(ABI_OBJS)
	$(CC) $(LDFLAGS) -o $@ $^ -lpthread $(LDLIBS)

TEST_PROGS += $(addprefix faults/,kill.sh remove.sh storm.sh netns.sh network.sh handover.sh)
TEST_FILES += faults/common.sh

TIMEOUT_abi_fail := 1200
TIMEOUT_abi_fail_calls := 1200
TIMEOUT_abi_fail_mock := 1200
TIMEOUT_faults/kill.sh := 800
TIMEOUT_faults/remove.sh := 1200
TIMEOUT_faults/storm.sh := 1200
TIMEOUT_faults/netns.sh := 800
TIMEOUT_faults/network.sh := 1200
TIMEOUT_faults/handover.sh := 3600
