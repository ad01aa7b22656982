# SPDX-License-Identifier: GPL-2.0-only
#
# Tests of the library's contracts. Each program is linked twice: with librdma_ep, and as
# NAME.stock with -lrdmacm -libverbs, which shows that its expectations are right.

vpath %.c lib

LIB_PROGS := $(addprefix cm_,id option event sigio conn sync qp ep addrinfo mcast mcast_qp \
	rsocket threads fork cancel wait pace) \
	$(addprefix verbs_,mr cq cq_ex srq qp qp_ex post wr wr_long rdma rereg refuse \
		foreign) srq_ep
# Tests of seven manual pages, sentence by sentence: ../docs/programs/pages.md
LIB_PROGS += $(addprefix page_,rdma_create_id rdma_create_ep rdma_create_qp \
	rdma_create_srq ibv_create_cq ibv_create_srq_ex ibv_post_srq_recv)
STOCK_PROGS := $(addsuffix .stock,$(LIB_PROGS))
# Tests of functions that the stock libraries of the oldest suite lack.
LIB_PROGS += cm_newer verbs_newer
# A test of memory that only this library shares with the kernel.
LIB_PROGS += verbs_srq_ring
# Tests of functions that only this library has.
HANDOVER_PROGS := cm_handover cm_handover_server cm_adopt
LIB_PROGS += $(HANDOVER_PROGS)
# Tests on the mock device, for which the stock libraries have no driver.
MOCK_PROGS := verbs_xrc page_xrc
LIB_PROGS += $(MOCK_PROGS)
# These programs open the library with dlopen(3).
DLOPEN_PROGS := lib_dlopen lib_dlopen.stock

# Linked with a library of their own. Both are compiled with ASAN_FLAGS.
ASAN_PROGS := cm_event.asan cm_qp.asan cm_mcast_qp.asan verbs_post.asan
ASAN_LIB := $(O)/asan/lib/librdma_ep.so.1
ASAN_FLAGS := -fsanitize=address,undefined -fno-sanitize-recover=all

# Further libraries of one test.
$(O)/cm_rsocket: override LDLIBS += -lrdmacm -ldl

$(LIB_PROGS:%=$(O)/%): $(O)/%: $(O)/%.o $(LIB_OBJS)
	$(CC) $(LDFLAGS) -o $@ $^ -L../lib -lrdma_ep -lpthread $(LDLIBS)

$(MOCK_PROGS:%=$(O)/%): $(O)/lib_mock.o
$(HANDOVER_PROGS:%=$(O)/%): $(O)/lib_handover.o
$(O)/cm_adopt: $(O)/other_abi.o $(O)/lib_mock.o

$(STOCK_PROGS:%=$(O)/%): $(O)/%.stock: $(O)/%.o $(LIB_OBJS)
	$(CC) $(LDFLAGS) -o $@ $^ -lrdmacm -libverbs -lpthread $(LDLIBS)

$(DLOPEN_PROGS:%=$(O)/%): $(O)/lib_dlopen.o
	$(CC) $(LDFLAGS) -o $@ $^ -lpthread -ldl $(LDLIBS)

$(O)/%.asan.o: %.c | $(O)
	$(COMPILE) $(ASAN_FLAGS) -c -o $@ $<

$(ASAN_LIB): $(wildcard ../lib/*.[ch] ../lib/*.map ../lib/include/rdma/*.h ../uapi/rdma/*.h)
	rm -rf $(O)/asan
	mkdir -p $(@D)
	ln -s $(abspath ../uapi) $(O)/asan/uapi
	cp -r ../lib/include ../lib/Makefile $(wildcard ../lib/*.[ch] ../lib/*.map) $(@D)
	$(MAKE) -C $(@D) CFLAGS="-O1 -g $(ASAN_FLAGS)" $(@F)

$(ASAN_PROGS:%=$(O)/%): $(O)/%.asan: $(O)/%.asan.o $(LIB_OBJS:.o=.asan.o) $(ASAN_LIB)
	$(CC) $(LDFLAGS) $(ASAN_FLAGS) -Wl,-rpath,'$$ORIGIN/asan' -o $@ $^ \
		-lpthread $(LDLIBS)
