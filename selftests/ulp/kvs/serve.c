// SPDX-License-Identifier: GPL-2.0-only
/*
 * Executes requests. A request is the peer's data, so all of it is checked before
 * use.
 */
#include <linux/string.h>

#include "kvs.h"

static bool well_formed(const struct kvs_msg *msg, size_t len)
{
	size_t value_len;

	if (len < sizeof(*msg) || msg->version != KVS_VERSION)
		return false;
	value_len = be16_to_cpu(msg->value_len);
	return msg->key_len && msg->key_len <= KVS_KEY_MAX &&
	       value_len <= KVS_VALUE_MAX &&
	       len == sizeof(*msg) + msg->key_len + value_len;
}

static enum kvs_status status_of(ssize_t ret)
{
	if (ret >= 0)
		return KVS_OK;
	return ret == -ENOENT ? KVS_NOT_FOUND : KVS_FULL;
}

/* A get stores the value in @msg and its length in @value_len. */
static enum kvs_status execute(struct kvs_msg *msg, size_t *value_len)
{
	u8 *value = msg->data + msg->key_len;
	ssize_t ret;

	switch (msg->op) {
	case KVS_GET:
		ret = kvs_store_get(msg->data, msg->key_len, msg->data);
		if (ret > 0)
			*value_len = ret;
		return status_of(ret);
	case KVS_PUT:
		return status_of(kvs_store_put(msg->data, msg->key_len, value,
					       be16_to_cpu(msg->value_len)));
	case KVS_DELETE:
		return status_of(kvs_store_delete(msg->data, msg->key_len));
	default:
		return KVS_BAD_OP;
	}
}

/*
 * Executes the request of @len bytes in @msg, a buffer of KVS_MSG_MAX bytes, and
 * replaces it by the reply. Returns the reply's length.
 */
size_t kvs_serve(struct kvs_msg *msg, size_t len)
{
	size_t value_len = 0;

	if (len < sizeof(*msg))
		memset(msg, 0, sizeof(*msg));
	msg->status = well_formed(msg, len) ? execute(msg, &value_len) :
					      KVS_MALFORMED;
	msg->version = KVS_VERSION;
	msg->key_len = 0;
	msg->value_len = cpu_to_be16(value_len);
	return sizeof(*msg) + value_len;
}
