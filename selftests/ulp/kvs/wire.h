/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The wire protocol between a kvs server and its clients. Programs include this
 * file, too (clients/kvs_peer.c).
 *
 * A client connects (port space TCP) and sends requests, one message each. The
 * server answers each with one message. A client may have KVS_CREDITS requests
 * unanswered, and has as many receives posted; requests beyond that are lost.
 */
#ifndef KVS_WIRE_H
#define KVS_WIRE_H

#include <linux/types.h>

#define KVS_VERSION	1
#define KVS_CREDITS	4	/* unanswered requests of a client */

#define KVS_MSG_MAX	1024
#define KVS_KEY_MAX	64
#define KVS_VALUE_MAX	(KVS_MSG_MAX - KVS_KEY_MAX - sizeof(struct kvs_msg))

enum kvs_op {
	KVS_GET		= 1,
	KVS_PUT		= 2,
	KVS_DELETE	= 3,
};

enum kvs_status {
	KVS_OK		= 0,
	KVS_MALFORMED	= 1,	/* wrong lengths or version */
	KVS_BAD_OP	= 2,
	KVS_NOT_FOUND	= 3,
	KVS_FULL	= 4,	/* the server has no room for the value */
};

/**
 * struct kvs_msg - request and reply
 * @version: %KVS_VERSION
 * @op: operation; the same in the reply
 * @status: status of the reply; 0 in a request
 * @key_len: 1 to %KVS_KEY_MAX; 0 in a reply
 * @value_len: up to %KVS_VALUE_MAX: length of the value of a put, or of the reply to a get
 * @tag: chosen by the client, returned in the reply
 * @data: key and value, without padding
 */
struct kvs_msg {
	__u8 version;
	__u8 op;
	__u8 status;
	__u8 key_len;
	__be16 value_len;
	__be16 tag;
	__u8 data[];
};

#endif /* KVS_WIRE_H */
