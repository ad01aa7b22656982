// SPDX-License-Identifier: GPL-2.0-only
/* The inline functions of rdma_verbs.h, on a connection. */
#include "diff.h"

static char buf[4096];

void diff_topic_cm_inline(void)
{
	struct ibv_sge sge = { .addr = (uintptr_t)buf, .length = 64 };
	struct ibv_mr *msgs, *rd, *wr;
	struct rdma_cm_id *unbound;
	struct eps e = eps_with_qps();
	struct ibv_wc wc;

	unbound = diff_id(RDMA_PS_TCP);
	N(rdma_reg_msgs(unbound, buf, 64), "unbound");
	N(rdma_reg_msgs(NULL, buf, 64), "id NULL");
	E(rdma_post_send(unbound, NULL, buf, 64, NULL, 0), "unbound");
	E(rdma_post_recv(unbound, NULL, buf, 64, NULL), "unbound, mr NULL");
	E(rdma_get_send_comp(unbound, &wc), "unbound");
	E(rdma_get_recv_comp(unbound, &wc), "unbound");
	rdma_destroy_id(unbound);
	E(rdma_seterrno(EBUSY), "EBUSY");
	E(rdma_seterrno(0), "0");
	E(rdma_seterrno(-1), "-1");

	NEED(!eps_up(&e));
	msgs = N(rdma_reg_msgs(e.a, buf, sizeof(buf)), "plain");
	N(rdma_reg_msgs(e.a, buf, 0), "length 0");
	N(rdma_reg_msgs(e.a, NULL, 64), "address NULL");
	rd = N(rdma_reg_read(e.p, buf, sizeof(buf)), "plain");
	wr = N(rdma_reg_write(e.p, buf, sizeof(buf)), "plain");
	NEED(msgs && rd && wr);

	E(rdma_post_recv(e.p, NULL, buf, 64, NULL), "mr NULL");
	E(rdma_post_recv(e.p, NULL, buf - 1, 64, rd), "before the region");
	E(rdma_post_recv(e.p, NULL, buf, sizeof(buf) + 1, rd), "beyond the region");
	E(rdma_post_recv(e.p, (void *)1, buf, 64, rd), "plain");
	sge.lkey = rd->lkey;
	E(rdma_post_recvv(e.p, (void *)2, &sge, 1), "plain");
	E(rdma_post_recvv(e.p, (void *)2, &sge, 3), "too many SGEs");
	E(rdma_post_recvv(e.p, (void *)2, &sge, -1), "-1 SGEs");
	E(rdma_post_recvv(e.p, (void *)3, NULL, 0), "no SGEs");

	E(rdma_post_send(e.a, (void *)4, buf, 16, NULL, IBV_SEND_INLINE), "inline");
	I(rdma_get_send_comp(e.a, &wc), "inline");
	diff_value("sent inline", "id %d status %d opcode %d", (int)wc.wr_id, wc.status, wc.opcode);
	I(rdma_get_recv_comp(e.p, &wc), "inline");
	diff_value("received", "id %d status %d opcode %d len %u",
		   (int)wc.wr_id, wc.status, wc.opcode, wc.byte_len);
	E(rdma_post_send(e.a, (void *)4, buf, 1 << 20, NULL, IBV_SEND_INLINE), "inline, too long");
	sge.lkey = msgs->lkey;
	E(rdma_post_sendv(e.a, (void *)5, &sge, 1, 0), "plain");
	I(rdma_get_recv_comp(e.p, &wc), "plain");
	I(rdma_get_send_comp(e.a, &wc), "plain");
	E(rdma_post_sendv(e.a, (void *)5, &sge, 3, 0), "too many SGEs");
	E(rdma_post_sendv(e.a, (void *)5, &sge, -1, 0), "-1 SGEs");
	E(rdma_post_write(e.a, (void *)6, buf, 64, msgs, 0,
			  (uintptr_t)buf + 64, wr->rkey), "plain");
	I(rdma_get_send_comp(e.a, &wc), "write");
	diff_value("write", "id %d status %d opcode %d", (int)wc.wr_id, wc.status, wc.opcode);
	E(rdma_post_writev(e.a, (void *)6, &sge, 1, IBV_SEND_FENCE,
			   (uintptr_t)buf + 64, wr->rkey), "fence");
	I(rdma_get_send_comp(e.a, &wc), "writev");
	E(rdma_post_read(e.a, (void *)7, buf, 64, msgs, 0, (uintptr_t)buf + 64, rd->rkey), "plain");
	I(rdma_get_send_comp(e.a, &wc), "read");
	diff_value("read", "id %d status %d opcode %d", (int)wc.wr_id, wc.status, wc.opcode);
	E(rdma_post_readv(e.a, (void *)7, &sge, 1, 0, (uintptr_t)buf + 64, rd->rkey), "plain");
	I(rdma_get_send_comp(e.a, &wc), "readv");
	E(rdma_post_ud_send(e.a, NULL, buf, 16, NULL, IBV_SEND_INLINE, NULL, 1),
	  "on an RC QP, AH NULL");
	I(rdma_get_send_comp(e.a, &wc), "ud_send");
	E(rdma_dereg_mr(NULL), "NULL");

	diff_hangs(500);
	E(rdma_disconnect(e.a), "synchronous");
	diff_hangs(300);
	I(rdma_get_send_comp(e.a, &wc), "disconnected, nothing posted: blocks");
	I(rdma_get_recv_comp(e.p, &wc), "disconnected");
	diff_value("flushed", "id %d status %d", (int)wc.wr_id, wc.status);
	E(rdma_dereg_mr(msgs), "plain");
	E(rdma_dereg_mr(rd), "plain 2");
	E(rdma_dereg_mr(wr), "plain 3");
	/* These come last, as a crash may leave the QPs locked. */
	E(rdma_post_recvv(e.p, (void *)2, NULL, 1), "SGEs NULL");
	E(rdma_post_sendv(e.a, (void *)5, NULL, 1, 0), "SGEs NULL");
}
