# SPDX-License-Identifier: GPL-2.0-only
#
# The differential run compares the answers of both stacks.

TEST_GEN_FILES += diff_calls
TEST_PROGS += diff/diff.sh
TEST_FILES += $(addprefix diff/,compare.awk expected not_called)

# -Wclobbered is off because a call that crashes ends with siglongjmp(), see diff.h.
$(O)/diff/%.o: diff/%.c
	mkdir -p $(@D)
	$(COMPILE) -Wno-clobbered -Wno-nonnull -c -o $@ $<

$(O)/diff_calls: $(patsubst %.c,$(O)/%.o,$(wildcard diff/*.c)) $(LIB_OBJS)
	$(CC) $(LDFLAGS) -o $@ $^ -lrdmacm -libverbs -lpthread $(LDLIBS)

TIMEOUT_diff.sh := 1400
