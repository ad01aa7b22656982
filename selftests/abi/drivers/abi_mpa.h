/* SPDX-License-Identifier: GPL-2.0-only */
/* The setup of iWARP connections over TCP: MPA, RFC 5044 and 6581 */
#ifndef ABI_MPA_H
#define ABI_MPA_H

#include <linux/types.h>

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

#endif /* ABI_MPA_H */
