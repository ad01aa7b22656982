/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Server and clients for the tests of rdma_ep_handover(7), in which the server's connections move
 * to another process.
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
 * The number of accepted connections. Clients send after the last has been accepted, as siw
 * overlooks a message that arrives during accept (SIW-25).
 */
extern atomic_int *lib_accepted;
int lib_map_accepted(void);

/* Posts the receive of a client, which sends one message at a time, in a slot of the memory. */
int lib_post_slot(struct rdma_cm_id *id, struct ibv_mr *mr, char *mem, uintptr_t slot);
/* Receives n messages on the ids (some may be NULL) and sends each back. */
int lib_serve(struct rdma_cm_id **ids, struct ibv_mr *mr, char *mem, int n);
/* Client n sends messages and compares the answers. */
int lib_client(int n, int rounds);
/* Calls the function in a child, which exits 0 or 1, or is killed after WAIT_MS. */
pid_t lib_fork(int (*fn)(int, int), int a, int b);

#endif
