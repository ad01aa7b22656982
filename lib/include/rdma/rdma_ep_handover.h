/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * librdma_ep: connections, listeners and all other objects of a process, handed over to
 * another process as a file descriptor. See rdma_ep_handover(7).
 */
#ifndef RDMA_EP_HANDOVER_H
#define RDMA_EP_HANDOVER_H

#include <stdint.h>

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_ep.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct rdma_ep_region - a memory region of an adopted session
 * @mr: the region; addr is where the memory was in the process that registered it. The
 *	program sets it to where it has mapped the same memory
 * @iova: address that work requests use for the start of the region
 * @access: IBV_ACCESS_* bits
 * @cookie: see rdma_ep_set_cookie()
 */
struct rdma_ep_region {
	struct ibv_mr *mr;
	uint64_t iova;
	int access;
	uint64_t cookie;
};

/**
 * struct rdma_ep_adopted - all objects of an adopted session
 *
 * Each list ends with NULL. rdma_ep_free_adopted() frees the lists, not the objects. The
 * context members of ids, CQs, SRQs and QPs are their cookies (rdma_ep_set_cookie()).
 */
struct rdma_ep_adopted {
	struct ibv_context **contexts;
	struct ibv_pd **pds;
	struct ibv_comp_channel **comp_channels;
	struct ibv_cq **cqs;
	struct ibv_srq **srqs;
	struct ibv_qp **qps;
	struct ibv_ah **ahs;
	struct ibv_xrcd **xrcds;
	struct rdma_event_channel **channels;
	struct rdma_cm_id **ids;
	struct rdma_ep_region *regions;
	int num_regions;
};

/**
 * struct rdma_ep_restriction - rights that a session loses
 * @flags: RDMA_EP_RESTRICT_* bits: the rights
 * @num_grants: number of @grants
 * @grants: exceptions
 * @max_objects: with RDMA_EP_RESTRICT_OBJECTS, else 0
 * @max_queue_bytes: with RDMA_EP_RESTRICT_QUEUES, else 0
 * @max_pinned_bytes: with RDMA_EP_RESTRICT_PINNED, else 0
 */
struct rdma_ep_restriction {
	uint32_t flags;
	uint32_t num_grants;
	const struct rdma_ep_grant *grants;
	uint64_t max_objects;
	uint64_t max_queue_bytes;
	uint64_t max_pinned_bytes;
};

int rdma_ep_export(struct rdma_cm_id *id);
int rdma_ep_keep(struct rdma_cm_id *id);
int rdma_ep_split(struct rdma_cm_id *id);
int rdma_ep_restrict(int fd, const struct rdma_ep_restriction *restriction);
struct rdma_ep_adopted *rdma_ep_adopt(int fd, int flags);
int rdma_ep_close(int fd);
void rdma_ep_free_adopted(struct rdma_ep_adopted *adopted);
int rdma_ep_set_cookie(enum rdma_ep_obj_type type, void *object, uint64_t cookie);
int rdma_ep_get_cookie(enum rdma_ep_obj_type type, void *object, uint64_t *cookie);

#ifdef __cplusplus
}
#endif

#endif
