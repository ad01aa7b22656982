// SPDX-License-Identifier: GPL-2.0-only
/*
 * Removal of a device that rdma_cm and ib_core still use. Probes of the mock module delay the
 * functions that race with it.
 */
#include "abi_test.h"
#include "abi_cmds.h"
#include "abi_mock.h"

FIXTURE(removal) {
	struct abi_world w;
};

FIXTURE_SETUP(removal)
{
	self->w.s.fd = -1;
	OK(mock_load());
	OK(mock_new(""));
}

FIXTURE_TEARDOWN(removal)
{
	abi_close(&self->w.s);
	mock_unload();
}

/*
 * rdma_cm drops its reference to the device before that to the GID, which is delayed here. A
 * failure shows only as a message of ib_core in the kernel's log. (CMA-04)
 */
TEST_F_TIMEOUT(removal, removal_keeps_gid_table, 60)
{
	for (int round = 0; round < 3; round++) {
		OK(abi_world_open(&self->w));
		OK(mock_put_gid_ms(300 * TEST_SCALE));
		EXPECT_EQ(0, mock_del());
		OK(mock_put_gid_ms(0));
		abi_world_close(&self->w);
		OK(mock_new(""));
	}
}

#define ROUTES	12

struct routes {
	struct abi s;
	int channel;
	__u32 ids[ROUTES];
};

static int routes_begin(struct routes *r)
{
	int ret;

	ret = abi_open(&r->s);
	r->channel = ret ? -1 : abi_channel(&r->s);
	if (r->channel < 0)
		return ret ?: r->channel;
	for (int i = 0; i < ROUTES; i++) {
		ret = abi_tcp_id(&r->s, r->channel, i, &r->ids[i]) ?:
		      abi_resolve(&r->s, r->channel, r->ids[i], &r->s.addr);
		if (ret)
			return ret;
	}
	ret = mock_cm_ms(20 * TEST_SCALE);
	for (int i = 0; i < ROUTES && !ret; i++)
		ret = ABI_ID_CMD(&r->s, RESOLVE_ROUTE, r->ids[i], 5000);
	return ret;
}

/* Begins with the id that the removal reaches last. */
static void *routes_destroy_thread(void *data)
{
	struct routes *r = data;

	for (int i = ROUTES; i-- > 0;)
		ABI_DESTROY(&r->s, ID, r->ids[i]);
	return NULL;
}

static void *routes_close_thread(void *data)
{
	struct routes *r = data;

	abi_close(&r->s);
	return NULL;
}

/*
 * rdma_cm reports the removal before it cancels the route query of the id, for which it needs
 * the id's device. Meanwhile the id is destroyed: by the removal, by its user, or with the
 * session. (CMA-05)
 */
TEST_F_TIMEOUT(removal, removal_while_resolving_route, 120)
{
	static void *(* const users[])(void *data) = {
		NULL, routes_destroy_thread, routes_close_thread,
	};
	struct rdma_ep_channel_event ev;
	int removed, resolved;
	struct routes r;
	pthread_t user;
	int ret;

	for (size_t i = 0; i < ARRAY_SIZE(users); i++) {
		ret = routes_begin(&r);
		SKIP_IF(ret == -ENOENT, "rdma_cm has no such functions here");
		ASSERT_EQ(0, ret);
		if (users[i])
			OK(pthread_create(&user, NULL, users[i], &r));
		EXPECT_EQ(0, mock_del());
		if (users[i])
			pthread_join(user, NULL);
		OK(mock_cm_ms(0));

		removed = 0;
		resolved = 0;
		while (!abi_read(r.channel, &ev, sizeof(ev), 0)) {
			removed += ev.event == EV_DEVICE_REMOVAL;
			resolved += ev.event == EV_ROUTE_RESOLVED;
		}
		if (!users[i]) {
			EXPECT_EQ(ROUTES, removed);
			EXPECT_GT(ROUTES, resolved);
		}
		abi_close(&r.s);
		close(r.channel);
		OK(mock_new(""));
	}
}

#define CONTEXTS	10000
#define EVENTS		1000

static int change_port(void)
{
	int ret = 0;

	for (int i = 0; i < EVENTS && !ret; i++)
		ret = mock_write("event", "%u port 1", i & 1 ? EVENT_PORT_ACTIVE : EVENT_PORT_ERR);
	return ret;
}

/*
 * A port changes all the time while users have many contexts. The events of a kind are one as long
 * as they have not been reported, so a removal does not wait for all of them, nor does the event of
 * another device.
 */
TEST_F_TIMEOUT(removal, removal_while_port_changes, 200)
{
	struct rdma_ep_async_event ev;
	struct abi other;
	__u32 ctx;
	int fd;

	OK(abi_world_open(&self->w));
	for (int i = 0; i < CONTEXTS; i++) {
		OK(abi_ctx(&self->w.s, &ctx, &fd));
		close(fd);
	}
	mock_select(1);
	OK(mock_new(""));
	OK(abi_open(&other));
	mock_select(0);
	OK(change_port());
	mock_select(1);
	EXPECT_WITHIN(2000 * TEST_SCALE,
		      EXPECT_EQ(0, mock_write("event", "%u port 1", EVENT_LID_CHANGE));
		      EXPECT_ASYNC(other.async_fd, EVENT_LID_CHANGE, 1));
	mock_select(0);
	OK(change_port());
	EXPECT_WITHIN(3000 * TEST_SCALE, EXPECT_EQ(0, mock_del()));
	do {
		OK(abi_read(self->w.s.async_fd, &ev, sizeof(ev), ABI_WAIT_MS));
	} while (ev.event != EVENT_DEVICE_FATAL);
	abi_close(&other);
}

TEST_F(removal, netdev_removal_removes_device)
{
	struct rdma_ep_async_event ev;
	long start = abi_now_ms();
	__u32 pd;

	OK(abi_world_open(&self->w));
	OK(system("ip link del " MOCK_NETDEV));
	EXPECT_GT(10000 * TEST_SCALE, abi_now_ms() - start);
	do {
		OK(abi_read(self->w.s.async_fd, &ev, sizeof(ev), ABI_WAIT_MS));
	} while (ev.event != EVENT_DEVICE_FATAL);
	EXPECT_EQ(-EIO, abi_alloc_pd(&self->w.s, self->w.s.ctx, &pd));
}

TEST_HARNESS_MAIN
