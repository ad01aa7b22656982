/* SPDX-License-Identifier: BSD-2-Clause */
/* librdma_ep: the library's notes, which the kernel keeps for the next owner of a session. */
#ifndef RDMA_EP_LIB_HANDOVER_H
#define RDMA_EP_LIB_HANDOVER_H

#include <rdma/rdma_ep_handover.h>

#include "cm.h"

/* The note of an id. A handle is 0 if there is no such object. */
struct lep_id_note {
	uint32_t recv_cq;	/* id.recv_cq, which rdma_destroy_qp() destroys */
	uint32_t send_cq;
	uint32_t pd;
	uint8_t responder_resources;
	uint8_t initiator_depth;
	uint8_t has_attr;	/* those of a passive endpoint: the rest */
	uint8_t sq_sig_all;
	uint32_t attr_send_cq;
	uint32_t attr_recv_cq;
	uint32_t attr_srq;
	uint32_t qp_type;
	struct ibv_qp_cap cap;
	uint8_t recv_channel_apart;	/* the channel of id.recv_cq is the program's */
	uint8_t send_channel_apart;
};

/* The note of a membership */
struct lep_mcast_note {
	uint32_t send_only;
	uint32_t lid;
	uint8_t addr[48];	/* the longest address has them */
};

union lep_note {
	uint8_t bytes[RDMA_EP_NOTE_BYTES];
	struct {
		uint8_t extended;
		uint8_t single_threaded;
	} cq;
	struct {
		uint64_t ops;	/* the QP has ibv_wr_*() functions for these */
	} qp;
	struct lep_id_note id;
	struct lep_mcast_note mcast;
};

_Static_assert(sizeof(union lep_note) == RDMA_EP_NOTE_BYTES, "note");

/* All objects of a session, by their handles */
struct lep_objs {
	struct rdma_ep_obj_info *info;
	void **made;		/* structures of the objects, or NULL */
	size_t num;
};

int lep_objs_list(struct lep_session *session, struct lep_objs *objs);
void lep_objs_free(struct lep_objs *objs);

#endif
