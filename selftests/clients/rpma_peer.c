// SPDX-License-Identifier: GPL-2.0-only
/*
 * A client and a server of librpma, for one connection:
 *
 *	rpma_peer server ADDR PORT	registers memory, checks the data that the client writes
 *	rpma_peer client ADDR PORT	WRITE, FLUSH, ATOMIC WRITE, FLUSH, READ
 *	rpma_peer offers ADDR		prints which of them the device offers
 *
 * librpma uses FLUSH and ATOMIC WRITE of the device if it has them, otherwise RDMA READ and an
 * inline RDMA WRITE.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <librpma.h>

#define SIZE		65536
#define CHUNK		4096
#define DEPTH		32
#define WORD_AT		64

/* Bits of device_cap_flags_ex; older headers have no names for them. */
#define CAP_FLUSH	(1ULL << 38 | 1ULL << 39)
#define CAP_ATOMIC_WRITE (1ULL << 40)

static const char word[8] = "at once";
static unsigned char *memory;
static struct rpma_mr_local *mr;
static struct rpma_peer *peer;
static struct rpma_conn *conn;

static void must(int ret, const char *what)
{
	if (!ret)
		return;
	fprintf(stderr, "%s: %s\n", what, ret < 0 ? rpma_err_2str(ret) : "not as expected");
	exit(1);
}

static void fill(unsigned char *at)
{
	int i;

	for (i = 0; i < SIZE; i++)
		at[i] = i * 7 + i / 256;
}

static int differs(const unsigned char *at)
{
	static unsigned char want[SIZE];

	fill(want);
	memcpy(want + WORD_AT, word, sizeof(word));
	return !!memcmp(at, want, SIZE);
}

static void print_offers(const char *addr)
{
	struct ibv_device_attr_ex attr = {};
	struct ibv_context *ctx;

	must(rpma_utils_get_ibv_context(addr, RPMA_UTIL_IBV_CONTEXT_LOCAL, &ctx),
	     "rpma_utils_get_ibv_context");
	must(ibv_query_device_ex(ctx, NULL, &attr), "ibv_query_device_ex");
	printf("%s%s\n", (attr.device_cap_flags_ex & CAP_FLUSH) == CAP_FLUSH ? "flush " : "",
	       attr.device_cap_flags_ex & CAP_ATOMIC_WRITE ? "atomic-write" : "");
}

static void open_peer(const char *addr, enum rpma_util_ibv_context_type type)
{
	struct ibv_context *ctx;

	must(rpma_utils_get_ibv_context(addr, type, &ctx), "rpma_utils_get_ibv_context");
	must(rpma_peer_new(ctx, &peer), "rpma_peer_new");
}

static void register_memory(size_t size, int usage)
{
	must(posix_memalign((void **)&memory, 4096, size), "posix_memalign");
	memset(memory, 0, size);
	must(rpma_mr_reg(peer, memory, size, usage, &mr), "rpma_mr_reg");
}

static void expect_event(enum rpma_conn_event want)
{
	enum rpma_conn_event event;

	must(rpma_conn_next_event(conn, &event), "rpma_conn_next_event");
	if (event == want)
		return;
	fprintf(stderr, "%s, not %s\n", rpma_utils_conn_event_2str(event),
		rpma_utils_conn_event_2str(want));
	exit(1);
}

static void close_all(void)
{
	must(rpma_conn_delete(&conn), "rpma_conn_delete");
	must(rpma_mr_dereg(&mr), "rpma_mr_dereg");
	must(rpma_peer_delete(&peer), "rpma_peer_delete");
	free(memory);
}

static void serve(const char *addr, const char *port)
{
	struct rpma_conn_private_data data;
	struct rpma_conn_req *req;
	struct rpma_ep *ep;
	unsigned char desc[64] = {};
	size_t len;

	open_peer(addr, RPMA_UTIL_IBV_CONTEXT_LOCAL);
	register_memory(SIZE, RPMA_MR_USAGE_WRITE_DST | RPMA_MR_USAGE_READ_SRC |
			      RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY);
	must(rpma_mr_get_descriptor_size(mr, &len), "rpma_mr_get_descriptor_size");
	must(len >= sizeof(desc), "the descriptor's size");
	desc[0] = len;
	must(rpma_mr_get_descriptor(mr, desc + 1), "rpma_mr_get_descriptor");
	must(rpma_ep_listen(peer, addr, port, &ep), "rpma_ep_listen");
	must(rpma_ep_next_conn_req(ep, NULL, &req), "rpma_ep_next_conn_req");
	data.ptr = desc;
	data.len = sizeof(desc);
	must(rpma_conn_req_connect(&req, &data, &conn), "rpma_conn_req_connect");
	expect_event(RPMA_CONN_ESTABLISHED);
	expect_event(RPMA_CONN_CLOSED);
	must(rpma_conn_disconnect(conn), "rpma_conn_disconnect");
	must(differs(memory), "the memory");
	must(rpma_ep_shutdown(&ep), "rpma_ep_shutdown");
	close_all();
}

/* The next completion is that of the signalled request @id: no earlier request has failed. */
static void complete(struct rpma_cq *cq, uintptr_t id, const char *what)
{
	struct ibv_wc wc;

	must(rpma_cq_wait(cq), "rpma_cq_wait");
	must(rpma_cq_get_wc(cq, 1, &wc, NULL), "rpma_cq_get_wc");
	if (!wc.status && wc.wr_id == id)
		return;
	fprintf(stderr, "%s: %s, request %lu\n", what, ibv_wc_status_str(wc.status),
		(unsigned long)wc.wr_id);
	exit(1);
}

static void run_requests(struct rpma_mr_remote *remote)
{
	struct rpma_cq *cq;
	int i;

	must(rpma_conn_get_cq(conn, &cq), "rpma_conn_get_cq");
	fill(memory);
	for (i = 0; i < SIZE; i += CHUNK)
		must(rpma_write(conn, remote, i, mr, i, CHUNK, RPMA_F_COMPLETION_ON_ERROR, NULL),
		     "rpma_write");
	must(rpma_flush(conn, remote, 0, SIZE, RPMA_FLUSH_TYPE_VISIBILITY,
			RPMA_F_COMPLETION_ALWAYS, (void *)1), "rpma_flush");
	complete(cq, 1, "rpma_write and rpma_flush");
	must(rpma_atomic_write(conn, remote, WORD_AT, word, RPMA_F_COMPLETION_ON_ERROR, NULL),
	     "rpma_atomic_write");
	must(rpma_flush(conn, remote, WORD_AT, sizeof(word), RPMA_FLUSH_TYPE_VISIBILITY,
			RPMA_F_COMPLETION_ALWAYS, (void *)2), "rpma_flush");
	complete(cq, 2, "rpma_atomic_write and rpma_flush");
	must(rpma_read(conn, mr, SIZE, remote, 0, SIZE, RPMA_F_COMPLETION_ALWAYS, (void *)3),
	     "rpma_read");
	complete(cq, 3, "rpma_read");
	must(differs(memory + SIZE), "what was read");
}

static void request(const char *addr, const char *port)
{
	struct rpma_conn_private_data data;
	struct rpma_mr_remote *remote;
	struct rpma_conn_cfg *cfg;
	struct rpma_conn_req *req;
	unsigned char *desc;

	open_peer(addr, RPMA_UTIL_IBV_CONTEXT_REMOTE);
	register_memory(2 * SIZE, RPMA_MR_USAGE_WRITE_SRC | RPMA_MR_USAGE_READ_DST);
	must(rpma_conn_cfg_new(&cfg), "rpma_conn_cfg_new");
	must(rpma_conn_cfg_set_sq_size(cfg, DEPTH), "rpma_conn_cfg_set_sq_size");
	must(rpma_conn_cfg_set_cq_size(cfg, DEPTH), "rpma_conn_cfg_set_cq_size");
	must(rpma_conn_req_new(peer, addr, port, cfg, &req), "rpma_conn_req_new");
	must(rpma_conn_req_connect(&req, NULL, &conn), "rpma_conn_req_connect");
	must(rpma_conn_cfg_delete(&cfg), "rpma_conn_cfg_delete");
	expect_event(RPMA_CONN_ESTABLISHED);
	must(rpma_conn_get_private_data(conn, &data), "rpma_conn_get_private_data");
	/* InfiniBand's CM pads it. */
	desc = data.ptr;
	must(data.len < 1 || data.len <= desc[0], "the private data's length");
	must(rpma_mr_remote_from_descriptor(desc + 1, desc[0], &remote),
	     "rpma_mr_remote_from_descriptor");
	run_requests(remote);
	must(rpma_mr_remote_delete(&remote), "rpma_mr_remote_delete");
	must(rpma_conn_disconnect(conn), "rpma_conn_disconnect");
	expect_event(RPMA_CONN_CLOSED);
	close_all();
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "server")) {
		serve(argv[2], argv[3]);
	} else if (argc == 4 && !strcmp(argv[1], "client")) {
		request(argv[2], argv[3]);
	} else if (argc == 3 && !strcmp(argv[1], "offers")) {
		print_offers(argv[2]);
		return 0;
	} else {
		fprintf(stderr, "usage: see the source\n");
		return 2;
	}
	puts("done");
	return 0;
}
