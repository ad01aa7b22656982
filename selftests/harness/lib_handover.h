/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For the tests of rdma_ep_handover(7): descriptors that pass between processes, and clients of a
 * server that changes its process.
 */
#ifndef RDMA_EP_LIB_HANDOVER_H
#define RDMA_EP_LIB_HANDOVER_H

#include <stdatomic.h>
#include <sys/types.h>

#include <rdma/rdma_ep_handover.h>

#include "fds.h"
#include "lib_util.h"

#define LIB_CLIENTS	3
#define LIB_SERVER_PORT	7480

#define lib_set_cookie(_id, _cookie) rdma_ep_set_cookie(RDMA_EP_OBJ_ID, _id, _cookie)
/* The id with this cookie, or NULL */
struct rdma_cm_id *lib_find_id(struct rdma_ep_adopted *all, uint64_t cookie);
/* The length of a list that ends with NULL */
size_t lib_count(void *list);

/*
 * Connections that the servers have accepted. A client sends when all are: siw overlooks a
 * message that comes while it accepts (SIW-25).
 */
extern atomic_int *lib_accepted;
int lib_map_accepted(void);

/* Each client has one message at a time, in a slot of the memory by its cookie. */
int lib_post_slot(struct rdma_cm_id *id, struct ibv_mr *mr, char *mem, uintptr_t slot);
/* Answers n messages of the ids, of which some may be NULL: sends each back. */
int lib_serve(struct rdma_cm_id **ids, struct ibv_mr *mr, char *mem, int n);
/* Client n sends messages, and compares the answers. */
int lib_client(int n, int rounds);
/* Executes the function in a process that ends with its result, or after WAIT_MS. */
pid_t lib_fork(int (*fn)(int, int), int a, int b);

#endif
