# SPDX-License-Identifier: GPL-2.0-only
#
# A program and scripts to measure with: no tests.

BENCH_PROGS := $(O)/bench/bench $(O)/bench/bench.linked
BENCH_OBJS := $(patsubst %.c,$(O)/%.o,$(wildcard bench/*.c))

# Measured, not only run. Built without the kernel's headers and the tests'.
$(O)/bench/%.o: bench/%.c
	mkdir -p $(@D)
	$(COMPILE) -O2 -c -o $@ $<

$(O)/bench/bench: $(BENCH_OBJS)
	$(CC) $(LDFLAGS) -o $@ $^ -lrdmacm -libverbs -lpthread $(LDLIBS)

# With our library and no other.
$(O)/bench/bench.linked: $(BENCH_OBJS)
	$(CC) $(LDFLAGS) -o $@ $^ -L../lib -lrdma_ep -lpthread $(LDLIBS)

# Also by itself: quick to build, and all that a machine needs to be measured.
install-bench: $(BENCH_PROGS)
	mkdir -p $(D)/bench
	install -m 755 $^ bench/run $(D)/bench/
	install -m 644 $(wildcard bench/*.sh bench/*.py) $(D)/bench/

.PHONY: install-bench
