/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RDMA_EP_TEST_FDS_H
#define RDMA_EP_TEST_FDS_H

/* Passes @n files, at most two, to another process. Returns 0 or a negative errno. */
int test_send_fds(int socket, const int *fds, int n);
int test_recv_fds(int socket, int *fds, int n);

#endif
