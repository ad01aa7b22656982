# SPDX-License-Identifier: GPL-2.0-only
#
# These programs and scripts measure, and do not test.

BENCH_PROGS := $(O)/bench/bench $(O)/bench/bench.linked
BENCH_OBJS := $(patsubst %.c,$(O)/%.o,$(wildcard bench/*.c))

# Optimized for measurements, and built without the headers of the kernel and of the tests
$(O)/bench/%.o: bench/%.c
	mkdir -p $(@D)
	$(COMPILE) -O2 -c -o $@ $<

$(O)/bench/bench: $(BENCH_OBJS)
	$(CC) $(LDFLAGS) -o $@ $^ -lrdmacm -libverbs -lpthread $(LDLIBS)

# Linked with our library only
$(O)/bench/bench.linked: $(BENCH_OBJS)
	$(CC) $(LDFLAGS) -o $@ $^ -L../lib -lrdma_ep -lpthread $(LDLIBS)

# Installs only the benchmark: it is quick to build, and sufficient for measurements.
install-bench: $(BENCH_PROGS)
	mkdir -p $(D)/bench
	install -m 755 $^ bench/run $(D)/bench/
	install -m 644 $(wildcard bench/*.sh bench/*.py) $(D)/bench/

.PHONY: install-bench
