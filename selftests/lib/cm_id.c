// SPDX-License-Identifier: GPL-2.0-only
/*
 * Channels and ids: binding, resolving, listening, devices. The tests of rdma_create_id(3) are
 * in page_rdma_create_id.c.
 */
#include "lib_test.h"

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

/* P0: rdma_create_event_channel, rdma_destroy_event_channel */
TEST(event_channel)
{
	struct rdma_event_channel *ch, *other;
	int fd;

	ch = ASSERT_PTR(rdma_create_event_channel());
	other = ASSERT_PTR(rdma_create_event_channel());
	EXPECT_NE(ch->fd, other->fd);
	EXPECT_EQ(FD_CLOEXEC, fcntl(ch->fd, F_GETFD));
	EXPECT_EQ(0, fcntl(ch->fd, F_GETFL) & O_NONBLOCK);
	EXPECT_TRUE(lib_quiet(ch->fd));
	fd = ch->fd;
	rdma_destroy_event_channel(ch);
	EXPECT_FALSE(is_open(fd));
	EXPECT_TRUE(is_open(other->fd));
	rdma_destroy_event_channel(other);
	if (!is_stock())
		rdma_destroy_event_channel(NULL);
}

FIXTURE(id) {
	struct rdma_event_channel *ch;
	struct rdma_cm_id *id, *other;
	struct sockaddr_in sin;
};

FIXTURE_SETUP(id)
{
	self->sin = lib_addr(0);
	self->ch = ASSERT_PTR(rdma_create_event_channel());
	ASSERT_EQ(0, rdma_create_id(self->ch, &self->id, NULL, RDMA_PS_TCP));
	ASSERT_EQ(0, rdma_create_id(self->ch, &self->other, NULL, RDMA_PS_TCP));
}

FIXTURE_TEARDOWN(id)
{
	EXPECT_EQ(0, rdma_destroy_id(self->id));
	EXPECT_EQ(0, rdma_destroy_id(self->other));
	rdma_destroy_event_channel(self->ch);
}

/* P0: rdma_bind_addr */
TEST_F(id, bind_to_an_address)
{
	struct rdma_addr *addr = &self->id->route.addr;
	struct sockaddr_in *src = &addr->src_sin;

	ASSERT_EQ(0, rdma_bind_addr(self->id, SA(&self->sin)));
	EXPECT_EQ(AF_INET, src->sin_family);
	EXPECT_EQ(self->sin.sin_addr.s_addr, src->sin_addr.s_addr);
	EXPECT_NE(0, src->sin_port);
	EXPECT_EQ(src->sin_port, rdma_get_src_port(self->id));
	EXPECT_EQ(0, rdma_get_dst_port(self->id));
	EXPECT_EQ((void *)src, (void *)rdma_get_local_addr(self->id));
	ASSERT_TRUE(self->id->verbs && self->id->pd);
	EXPECT_EQ(self->id->verbs, self->id->pd->context);
	EXPECT_EQ(1, self->id->port_num);
	if (!lib_iwarp(self->id->verbs)) {
		/* ::ffff:a.b.c.d */
		EXPECT_EQ(0, memcmp(addr->addr.ibaddr.sgid.raw + 12, &self->sin.sin_addr, 4));
	}
	EXPECT_TRUE(lib_quiet(self->ch->fd));
}

TEST_F(id, bind_wildcard)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };

	ASSERT_EQ(0, rdma_bind_addr(self->id, SA(&sin)));
	EXPECT_EQ(AF_INET, self->id->route.addr.src_sin.sin_family);
	EXPECT_EQ(0, self->id->route.addr.src_sin.sin_addr.s_addr);
	EXPECT_NE(0, rdma_get_src_port(self->id));
	EXPECT_TRUE(!self->id->verbs && !self->id->pd);
	EXPECT_EQ(0, self->id->port_num);

	/* A requested port */
	sin.sin_port = rdma_get_src_port(self->id);
	EXPECT_EQ(0, rdma_destroy_id(self->id));
	ASSERT_EQ(0, rdma_create_id(self->ch, &self->id, NULL, RDMA_PS_TCP));
	ASSERT_EQ(0, rdma_bind_addr(self->id, SA(&sin)));
	EXPECT_EQ(sin.sin_port, rdma_get_src_port(self->id));
}

TEST_F(id, bind_ipv6)
{
	struct sockaddr_in6 sin6;

	if (!lib_addr6(&sin6))
		SKIP(return, "RDMA_ADDR6 is not set");
	ASSERT_EQ(0, rdma_bind_addr(self->id, SA(&sin6)));
	EXPECT_EQ(AF_INET6, self->id->route.addr.src_sin6.sin6_family);
	EXPECT_EQ(0, memcmp(&sin6.sin6_addr, &self->id->route.addr.src_sin6.sin6_addr, 16));
	EXPECT_NE(0, rdma_get_src_port(self->id));
	EXPECT_TRUE(self->id->verbs != NULL);
}

TEST_F(id, bind_errors)
{
	struct sockaddr_in sin = self->sin;
	struct sockaddr_un sun = { .sun_family = AF_UNIX };

	EXPECT_FAILS(EINVAL, rdma_bind_addr(self->id, SA(&sun)));
	/* No interface has this address. */
	sin.sin_addr.s_addr = htonl(0xc0000201);
	errno = 0;
	EXPECT_EQ(-1, rdma_bind_addr(self->id, SA(&sin)));
	EXPECT_TRUE(errno == ENODEV || errno == EADDRNOTAVAIL);
	/* The failures have not changed the id. */
	ASSERT_EQ(0, rdma_bind_addr(self->id, SA(&self->sin)));
	EXPECT_FAILS(EINVAL, rdma_bind_addr(self->id, SA(&self->sin)));

	sin = self->sin;
	sin.sin_port = rdma_get_src_port(self->id);
	EXPECT_FAILS(EADDRINUSE, rdma_bind_addr(self->other, SA(&sin)));
	EXPECT_TRUE(!self->other->verbs);
	if (is_stock())	/* stock crashes */
		return;
	EXPECT_FAILS(EINVAL, rdma_bind_addr(NULL, NULL));
	EXPECT_FAILS(EINVAL, rdma_listen(NULL, 0));
}

/* An address of an interface without an RDMA device */
TEST_F(id, bind_to_loopback)
{
	struct sockaddr_in sin = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};

	if (!rdma_bind_addr(self->id, SA(&sin))) {
		EXPECT_TRUE(!self->id->verbs);
	} else {
		EXPECT_TRUE(errno == ENODEV || errno == EADDRNOTAVAIL);
	}
}

/* P0: rdma_get_devices, rdma_free_devices */
TEST_F(id, devices)
{
	struct ibv_context **list, **again;
	bool found = false;
	struct ibv_pd *pd;
	int num = -1, i;

	ASSERT_EQ(0, rdma_bind_addr(self->id, SA(&self->sin)));
	list = ASSERT_PTR(rdma_get_devices(&num));
	again = ASSERT_PTR(rdma_get_devices(NULL));
	EXPECT_NE(list, again);
	ASSERT_LE(1, num);
	for (i = 0; list[i]; i++) {
		EXPECT_EQ(list[i], again[i]);
		EXPECT_TRUE(list[i]->device->name[0] != 0);
		found |= list[i] == self->id->verbs;
	}
	EXPECT_EQ(num, i);
	EXPECT_TRUE(found);
	rdma_free_devices(list);
	rdma_free_devices(again);

	/* rdma_free_devices() does not close the contexts. */
	pd = ibv_alloc_pd(self->id->verbs);
	EXPECT_TRUE(pd != NULL);
	EXPECT_EQ(0, ibv_dealloc_pd(pd));
}

/* UCX skips a device unless it may read and write the device's node in /dev/infiniband. */
TEST(devices_have_nodes_and_paths)
{
	struct ibv_device **list;
	char path[sizeof("/dev/infiniband/") + IBV_SYSFS_NAME_MAX];
	struct stat st, dev;
	int num = 0, i;

	list = ASSERT_PTR(ibv_get_device_list(&num));
	ASSERT_LE(1, num);
	for (i = 0; i < num; i++) {
		snprintf(path, sizeof(path), "/dev/infiniband/%s", list[i]->dev_name);
		ASSERT_EQ(0, stat(path, &st));
		EXPECT_TRUE(S_ISCHR(st.st_mode));
		EXPECT_EQ(0, access(path, R_OK | W_OK));
		/* A container may have no sysfs. */
		if (access("/sys/class", F_OK))
			continue;
		ASSERT_EQ(0, stat(list[i]->dev_path, &st));
		EXPECT_TRUE(S_ISDIR(st.st_mode));
		/* DPDK and others search the directory of the device. */
		ASSERT_EQ(0, stat(list[i]->ibdev_path, &st));
		snprintf(path, sizeof(path), "/sys/class/infiniband/%s",
			 ibv_get_device_name(list[i]));
		ASSERT_EQ(0, stat(path, &dev));
		EXPECT_EQ(dev.st_ino, st.st_ino);
	}
	ibv_free_device_list(list);
}

/* P0: rdma_resolve_addr, rdma_resolve_route */
TEST_F(id, resolve)
{
	struct rdma_cm_id *id = self->id;
	struct rdma_cm_event *event;
	struct sockaddr_in sin = self->sin;

	sin.sin_port = htons(7471);
	ASSERT_EQ(0, rdma_resolve_addr(id, NULL, SA(&sin), 2000));
	/* The destination is set before the event. */
	EXPECT_EQ(sin.sin_addr.s_addr, id->route.addr.dst_sin.sin_addr.s_addr);
	EXPECT_EQ(htons(7471), rdma_get_dst_port(id));
	EXPECT_EQ((void *)&id->route.addr.dst_addr, (void *)rdma_get_peer_addr(id));

	event = ASSERT_PTR(lib_get_event(self->ch, RDMA_CM_EVENT_ADDR_RESOLVED));
	EXPECT_EQ(id, event->id);
	EXPECT_EQ(0, event->status);
	EXPECT_TRUE(!event->listen_id);
	EXPECT_TRUE(!id->event);	/* only for synchronous ids */
	EXPECT_EQ(0, rdma_ack_cm_event(event));
	ASSERT_TRUE(id->verbs && id->pd);
	EXPECT_EQ(1, id->port_num);
	EXPECT_EQ(self->sin.sin_addr.s_addr, id->route.addr.src_sin.sin_addr.s_addr);
	EXPECT_NE(0, rdma_get_src_port(id));
	EXPECT_EQ(0, id->route.num_paths);

	ASSERT_EQ(0, rdma_resolve_route(id, 2000));
	event = ASSERT_PTR(lib_get_event(self->ch, RDMA_CM_EVENT_ROUTE_RESOLVED));
	EXPECT_EQ(id, event->id);
	EXPECT_EQ(0, event->status);
	EXPECT_EQ(0, rdma_ack_cm_event(event));
	if (lib_iwarp(id->verbs))
		return;
	ASSERT_EQ(1, id->route.num_paths);
	ASSERT_TRUE(id->route.path_rec != NULL);
	EXPECT_EQ(0, memcmp(&id->route.path_rec->sgid, &id->route.addr.addr.ibaddr.sgid, 16));
	EXPECT_EQ(0, memcmp(&id->route.path_rec->dgid, &id->route.addr.addr.ibaddr.dgid, 16));
}

TEST_F(id, resolve_with_source)
{
	struct sockaddr_in src = self->sin, dst = self->sin;

	dst.sin_port = htons(7471);
	src.sin_port = htons(27471);
	ASSERT_EQ(0, rdma_resolve_addr(self->id, SA(&src), SA(&dst), 2000));
	ASSERT_EQ(0, lib_event(self->ch, RDMA_CM_EVENT_ADDR_RESOLVED));
	EXPECT_EQ(htons(27471), rdma_get_src_port(self->id));
	EXPECT_EQ(src.sin_addr.s_addr, self->id->route.addr.src_sin.sin_addr.s_addr);
}

TEST_F(id, resolve_misuse)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	struct sockaddr_in sin = self->sin;

	EXPECT_FAILS(EINVAL, rdma_resolve_addr(self->id, NULL, SA(&sun), 100));
	if (!is_stock()) {	/* stock crashes without a device */
		EXPECT_FAILS(EINVAL, rdma_resolve_route(self->id, 100));
		EXPECT_FAILS(EINVAL, rdma_disconnect(self->id));
		EXPECT_FAILS(EINVAL, rdma_resolve_addr(self->id, NULL, NULL, 100));
	}
	ASSERT_EQ(0, rdma_bind_addr(self->id, SA(&self->sin)));
	EXPECT_FAILS(EINVAL, rdma_resolve_route(self->id, 100));
	sin.sin_port = htons(7471);
	ASSERT_EQ(0, rdma_resolve_addr(self->id, NULL, SA(&sin), 2000));
	ASSERT_EQ(0, lib_event(self->ch, RDMA_CM_EVENT_ADDR_RESOLVED));
	EXPECT_FAILS(EINVAL, rdma_resolve_addr(self->id, NULL, SA(&sin), 2000));
	ASSERT_EQ(0, rdma_resolve_route(self->id, 2000));
	ASSERT_EQ(0, lib_event(self->ch, RDMA_CM_EVENT_ROUTE_RESOLVED));
	EXPECT_FAILS(EINVAL, rdma_resolve_route(self->id, 2000));
	EXPECT_FAILS(EINVAL, rdma_listen(self->id, 1));
}

/* No host has this address. */
TEST_F(id, resolve_fails)
{
	struct sockaddr_in sin = self->sin;
	struct rdma_cm_event *event;
	struct rdma_cm_id *sync;

	sin.sin_addr.s_addr = htonl(ntohl(sin.sin_addr.s_addr) + 98);
	ASSERT_EQ(0, rdma_resolve_addr(self->id, NULL, SA(&sin), 500));
	event = ASSERT_PTR(lib_get_event(self->ch, RDMA_CM_EVENT_ADDR_ERROR));
	EXPECT_EQ(self->id, event->id);
	EXPECT_TRUE(event->status == -ETIMEDOUT || event->status == -EHOSTUNREACH);
	EXPECT_EQ(0, rdma_ack_cm_event(event));
	EXPECT_TRUE(!self->id->verbs);

	ASSERT_EQ(0, rdma_create_id(NULL, &sync, NULL, RDMA_PS_TCP));
	errno = 0;
	EXPECT_EQ(-1, rdma_resolve_addr(sync, NULL, SA(&sin), 500));
	EXPECT_TRUE(errno == ETIMEDOUT || errno == EHOSTUNREACH);
	ASSERT_TRUE(sync->event != NULL);
	EXPECT_EQ(RDMA_CM_EVENT_ADDR_ERROR, sync->event->event);
	EXPECT_EQ(0, rdma_destroy_id(sync));
}

/* P0: rdma_listen */
TEST_F(id, listen)
{
	struct sockaddr_in sin = self->sin;

	ASSERT_EQ(0, rdma_bind_addr(self->id, SA(&sin)));
	ASSERT_EQ(0, rdma_listen(self->id, 0));
	EXPECT_FAILS(EINVAL, rdma_listen(self->id, 0));
	EXPECT_FAILS(EINVAL, rdma_bind_addr(self->id, SA(&sin)));
	EXPECT_TRUE(lib_quiet(self->ch->fd));

	/* Any backlog is accepted. */
	ASSERT_EQ(0, rdma_bind_addr(self->other, SA(&sin)));
	EXPECT_EQ(0, rdma_listen(self->other, -1));
	EXPECT_EQ(0, rdma_destroy_id(self->other));
	ASSERT_EQ(0, rdma_create_id(self->ch, &self->other, NULL, RDMA_PS_TCP));
	ASSERT_EQ(0, rdma_bind_addr(self->other, SA(&sin)));
	EXPECT_EQ(0, rdma_listen(self->other, 1 << 30));
}

TEST_F(id, listen_binds)
{
	ASSERT_EQ(0, rdma_listen(self->id, 4));
	EXPECT_NE(0, rdma_get_src_port(self->id));
	EXPECT_EQ(AF_INET, self->id->route.addr.src_addr.sa_family);
	EXPECT_EQ(0, self->id->route.addr.src_sin.sin_addr.s_addr);
	EXPECT_TRUE(!self->id->verbs);
}

/* The removal of the last device makes rdma_get_devices() fail. */
TEST(no_device_is_left)
{
	struct ibv_context **list;
	struct rdma_cm_id *id;
	int n = 0, error;

	if (is_stock())
		SKIP(return, "the removal of a device waits for the end of this program");
	if (system("rdma dev show > /dev/null 2>&1"))
		SKIP(return, "no program that removes devices, as in a container");
	list = ASSERT_PTR(rdma_get_devices(&n));
	EXPECT_LT(0, n);
	EXPECT_EQ(NULL, list[n]);
	rdma_free_devices(list);
	ASSERT_EQ(0, system("rdma link del $RDMA_DEV"));
	n = -1;
	errno = 0;
	list = rdma_get_devices(&n);
	error = errno;
	ASSERT_EQ(0, system("rdma link add $RDMA_DEV type ${RDMA_DEV%0} netdev $RDMA_NETDEV"));
	EXPECT_EQ(NULL, list);
	EXPECT_EQ(ENODEV, error);
	EXPECT_EQ(0, n);

	/* A new device is found. (Its GIDs appear a little later.) */
	for (n = 0; n < 100 && !(id = lib_bound_id(NULL, RDMA_PS_TCP)); n++)
		usleep(50000);
	ASSERT_NE(NULL, id);
	EXPECT_EQ(0, rdma_destroy_id(id));
}

TEST_HARNESS_MAIN
