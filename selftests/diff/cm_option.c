// SPDX-License-Identifier: GPL-2.0-only
/* rdma_set_option(3): each option with each length, in each state. */
#include "diff.h"

static const struct {
	int level, name, len;
	const char *text;
} options[] = {
	{ RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, 1, "TOS" },
	{ RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, 4, "REUSEADDR" },
	{ RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, 4, "AFONLY" },
	{ RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, 1, "ACK_TIMEOUT" },
};

#define NUM (ARRAY_SIZE(options))

static void lengths(struct rdma_cm_id *id)
{
	static const size_t lens[] = { 0, 1, 2, 4, 8, 256 };
	char value[256] = { 1 };
	size_t o, l;

	for (o = 0; o < NUM; o++)
		for (l = 0; l < ARRAY_SIZE(lens); l++)
			E(rdma_set_option(id, options[o].level, options[o].name, value, lens[l]),
			  "%s, length %zu", options[o].text, lens[l]);
	for (o = 0; o < NUM; o++)
		E(rdma_set_option(id, options[o].level, options[o].name, NULL,
				  options[o].len), "%s, NULL", options[o].text);
}

static void unknown(struct rdma_cm_id *id)
{
	static const int levels[] = { -1, 2, 0x7fffffff };
	static const int names[] = { -1, 4, 5, 0x7fffffff };
	int value = 1;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(levels); i++)
		E(rdma_set_option(id, levels[i], 0, &value, 1), "level %d", levels[i]);
	for (i = 0; i < ARRAY_SIZE(names); i++)
		E(rdma_set_option(id, RDMA_OPTION_ID, names[i], &value, 4),
		  "ID, option %d", names[i]);
	for (i = 0; i < ARRAY_SIZE(names); i++)
		E(rdma_set_option(id, RDMA_OPTION_IB, names[i], &value, 4),
		  "IB, option %d", names[i]);
	E(rdma_set_option(id, RDMA_OPTION_IB, 0, &value, 4), "IB, option 0");
	E(rdma_set_option(NULL, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &value, 1), "id NULL");
	E(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &value,
			  (size_t)1 << 32 | 1), "length beyond 32 bits");
	E(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &value,
			  0x100000), "length of a megabyte");
}

static void all(struct rdma_cm_id *id, const char *state)
{
	char value[4] = { 1 };
	size_t o;

	for (o = 0; o < NUM; o++)
		E(rdma_set_option(id, options[o].level, options[o].name, value, options[o].len),
		  "%s, %s", options[o].text, state);
}

static void paths(void)
{
	struct ibv_path_data path[3] = {};
	struct sockaddr_in sin = lib_addr(7471);
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;

	NEED(channel = rdma_create_event_channel());
	NEED(!rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	path[0].flags = IBV_PATH_FLAG_GMP | IBV_PATH_FLAG_PRIMARY |
			IBV_PATH_FLAG_BIDIRECTIONAL;
	E(rdma_set_option(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, path,
			  sizeof(path[0])), "path, unbound");
	NEED(!rdma_resolve_addr(id, NULL, SA(&sin), 2000));
	diff_value("path", "%s", diff_event(channel));
	E(rdma_set_option(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, path, 0), "path, length 0");
	E(rdma_set_option(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, path, 7), "path, length 7");
	path[0].flags = 0;
	E(rdma_set_option(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, path,
			  sizeof(path[0])), "path without flags");
	path[0].flags = IBV_PATH_FLAG_GMP | IBV_PATH_FLAG_PRIMARY;
	E(rdma_set_option(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, path,
			  sizeof(path[0])), "path, one way");
	path[0].flags |= IBV_PATH_FLAG_BIDIRECTIONAL;
	path[0].path.reversible_numpath = 0x80;
	E(rdma_set_option(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, path,
			  sizeof(path[0])), "path that does not fit");
	diff_value("path readable", "%d", lib_readable(channel->fd, 100));
	rdma_destroy_id(id);
	rdma_destroy_event_channel(channel);
}

void diff_topic_cm_option(void)
{
	struct rdma_cm_id *id, *other;
	struct sockaddr_in sin;
	struct pair p = {};
	char value[4] = { 1 };

	id = diff_id(RDMA_PS_TCP);
	lengths(id);
	rdma_destroy_id(id);

	id = diff_id(RDMA_PS_TCP);
	unknown(id);
	all(id, "idle");
	sin = lib_addr(0);
	NEED(!rdma_bind_addr(id, SA(&sin)));
	all(id, "bound");
	NEED(!rdma_listen(id, 1));
	all(id, "listening");
	value[0] = 0;
	E(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, value,
			  4), "REUSEADDR off, listening");
	rdma_destroy_id(id);

	id = diff_id(RDMA_PS_UDP);
	all(id, "UDP");
	rdma_destroy_id(id);

	value[0] = 1;
	id = diff_id(RDMA_PS_TCP);
	other = diff_id(RDMA_PS_TCP);
	NEED(!rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, value, 4));
	NEED(!rdma_bind_addr(id, SA(&sin)));
	sin.sin_port = rdma_get_src_port(id);
	E(rdma_bind_addr(other, SA(&sin)), "one side has REUSEADDR");
	rdma_destroy_id(other);
	other = diff_id(RDMA_PS_TCP);
	NEED(!rdma_set_option(other, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, value, 4));
	E(rdma_bind_addr(other, SA(&sin)), "both have REUSEADDR");
	E(rdma_listen(id, 1), "first with REUSEADDR");
	E(rdma_listen(other, 1), "second with REUSEADDR");
	rdma_destroy_id(other);
	rdma_destroy_id(id);

	NEED(!pair_up(&p));
	all(p.a, "connected");
	all(p.p, "connected, passive");
	pair_down(&p);
	paths();
}
