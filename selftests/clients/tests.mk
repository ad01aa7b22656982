# SPDX-License-Identifier: GPL-2.0-only
#
# Scripts that run programs of other projects, kernel modules and rdma-ep(1)

vpath %.c clients

TEST_PROGS += $(addprefix clients/,rping.sh rdma_server.sh ucmatose.sh \
	rdma_xserver.sh udaddy.sh cmtime.sh pingpong.sh devinfo.sh \
	perftest.sh mckey.sh two_devices.sh rsocket.sh valgrind.sh sigkill.sh \
	no_module.sh alone.sh tool.sh doctor.sh pod.sh pyverbs.sh container.sh oci.sh podman.sh \
	cri.sh accounting.sh metrics.sh messages.sh hello.sh handover.sh fio.sh migration.sh \
	ucx.sh fabric.sh mpi.sh iser.sh rpma.sh kvs.sh 9p.sh kping.sh bench.sh trace.sh \
	bpftrace.sh ktest.sh)
TEST_FILES += $(addprefix clients/,common.sh contained.sh engine.sh pyverbs_cases.py oci.py cri.py \
	kubelet.py accounting.py metrics.py ktest_device.sh)

# contain enters a container. kvs_peer and kping_peer are clients of ulp/kvs and ulp/kping. p9_relay
# connects clients of ulp/9p with a server. mckey_pause.so is preloaded into mckey, other_abi.so into
# rdma-ep. fdstore supervises handover_kept.
TEST_GEN_FILES += contain kvs_peer kping_peer p9_relay mckey_pause.so other_abi.so \
	handover_server handover_client handover_kept fdstore
# Some suites have no librpma.
TEST_GEN_FILES += $(if $(wildcard /usr/include/librpma.h),rpma_peer)

$(O)/contain: $(O)/contain.o
	$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(O)/%.so: %.c | $(O)
	$(COMPILE) $(LDFLAGS) -shared -fPIC -o $@ $< -ldl $(LDLIBS)

$(O)/kvs_peer: $(O)/kvs_peer.o
	$(CC) $(LDFLAGS) -o $@ $^ -lrdmacm -libverbs $(LDLIBS)

$(O)/kping_peer: $(O)/kping_peer.o
	$(CC) $(LDFLAGS) -o $@ $^ -lrdmacm -libverbs $(LDLIBS)

$(O)/p9_relay: $(O)/p9_relay.o
	$(CC) $(LDFLAGS) -o $@ $^ -lrdmacm -libverbs -lpthread $(LDLIBS)

$(O)/handover_client: $(O)/handover_client.o
	$(CC) $(LDFLAGS) -o $@ $^ -lrdmacm -libverbs $(LDLIBS)

# The example of rdma_ep_handover(7)
$(O)/handover_server.o: ../docs/programs/handover.c | $(O)
	$(COMPILE) -c -o $@ $<

$(O)/handover_server: $(O)/handover_server.o
	$(CC) $(LDFLAGS) -o $@ $^ -L../lib -lrdma_ep $(LDLIBS)

$(O)/handover_kept.o: ../docs/programs/handover.c

$(O)/handover_kept: $(O)/handover_kept.o
	$(CC) $(LDFLAGS) -o $@ $^ -L../lib -lrdma_ep $(LDLIBS)

$(O)/fdstore: $(O)/fdstore.o
	$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(O)/rpma_peer: $(O)/rpma_peer.o
	$(CC) $(LDFLAGS) -o $@ $^ -lrpma -libverbs $(LDLIBS)

TIMEOUT_clients/rping.sh := 1200
TIMEOUT_clients/ktest.sh := 3000
TIMEOUT_clients/sigkill.sh := 800
TIMEOUT_clients/handover.sh := 1200
TIMEOUT_clients/rsocket.sh := 800
TIMEOUT_clients/valgrind.sh := 1200
TIMEOUT_clients/pyverbs.sh := 3000
TIMEOUT_clients/container.sh := 2400
TIMEOUT_clients/pod.sh := 900
TIMEOUT_clients/pingpong.sh := 1200
TIMEOUT_clients/perftest.sh := 2400
TIMEOUT_clients/mckey.sh := 800
TIMEOUT_clients/two_devices.sh := 800
TIMEOUT_clients/kvs.sh := 2000
TIMEOUT_clients/9p.sh := 1400
TIMEOUT_clients/migration.sh := 1800
TIMEOUT_clients/ucx.sh := 1200
TIMEOUT_clients/fabric.sh := 1200
TIMEOUT_clients/mpi.sh := 1200
TIMEOUT_clients/iser.sh := 800
TIMEOUT_clients/podman.sh := 800
TIMEOUT_clients/cri.sh := 1800
TIMEOUT_clients/kping.sh := 2400
TIMEOUT_clients/bench.sh := 800
TIMEOUT_clients/tool.sh := 900
