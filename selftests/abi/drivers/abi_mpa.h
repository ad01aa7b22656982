/* SPDX-License-Identifier: GPL-2.0-only */
/* The setup of iWARP connections over TCP: MPA, RFC 5044 and 6581 */
#ifndef ABI_MPA_H
#define ABI_MPA_H

#include "abi_test.h"

#define MPA_REQUEST	"MPA ID Req Frame"
#define MPA_REPLY	"MPA ID Rep Frame"

/* mpa_frame.bits */
#define MPA_REJECT	0x2000
#define MPA_ENHANCED	0x1000
#define MPA_REVISION_2	2

#define MPA_PEER_TO_PEER 0x8000		/* in ird: the requester sends the first message */
#define MPA_RTR_WRITE	0x8000		/* in ord: that message is a WRITE */

/* @len: of the data that follows */
struct mpa_frame {
	char key[16];
	__be16 bits, len;
};

struct mpa_request {
	struct mpa_frame frame;
	__be16 ird, ord;
};

/* A listener that does not answer, as its queue is full */
struct mpa_full {
	struct sockaddr_in sin;
	int tcp, clients[2];
};

static inline int mpa_fill(const struct sockaddr_in *sin, struct mpa_full *f)
{
	socklen_t len = sizeof(f->sin);

	f->sin = *sin;
	f->tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(f->tcp, (struct sockaddr *)&f->sin, len) ||
	    getsockname(f->tcp, (struct sockaddr *)&f->sin, &len) || listen(f->tcp, 0))
		return -errno;
	for (int i = 0; i < 2; i++) {
		f->clients[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		connect(f->clients[i], (struct sockaddr *)&f->sin, len);
	}
	usleep(100000);
	return 0;
}

/* Closing the listener resets the clients that wait for it. */
static inline void mpa_unfill(struct mpa_full *f)
{
	close(f->tcp);
	for (int i = 0; i < 2; i++)
		close(f->clients[i]);
}

#endif /* ABI_MPA_H */
