// SPDX-License-Identifier: GPL-2.0-only
/* Queries of sessions and devices, contexts, and limits of objects. */
#include <sys/sysinfo.h>

#include "abi_test.h"

static const __u32 no_device[] = { 0, 0x7fffffff, 0x80000000, 0xffffffff };

FIXTURE(query) {
	struct abi s;
};

FIXTURE_SETUP(query)
{
	OK(abi_open(&self->s));
}

TEARDOWN_CLOSES(query)

TEST_F(query, session)
{
	struct rdma_ep_cmd_query q;

	memset(&q, 0xff, sizeof(q));
	q.flags = 0;
	OK(ABI(self->s.fd, QUERY, &q));
	EXPECT_EQ(sizeof(q), q.size);
	EXPECT_EQ(RDMA_EP_ABI_VERSION, q.abi_version);
	EXPECT_EQ(0, q.caps);
	EXPECT_LT(0, q.max_objects);
	EXPECT_LE(q.max_objects, q.max_user_objects);
	EXPECT_LT(0, q.max_queue_bytes);
	EXPECT_LE(q.max_queue_bytes, q.max_user_queue_bytes);
	EXPECT_LT(0, q.max_wr);
	EXPECT_LE(q.max_wr, q.max_cqe);
	EXPECT_LE(sizeof(struct rdma_ep_send_wr), q.max_post_bytes);
	EXPECT_LT(0, q.max_backlog);
}

TEST_F(query, devices)
{
	struct rdma_ep_device_info devs[17], *mine = NULL;
	struct rdma_ep_cmd_query_devices q = {};
	char path[128], guid[32] = "";
	__u32 num, i;
	FILE *f;

	OK(ABI(self->s.fd, QUERY_DEVICES, &q));
	num = q.num;
	ASSERT_LE(1, num);

	/* A call that only counts does not use the pointer. */
	q.devices = 1;
	EXPECT_EQ(0, ABI(self->s.fd, QUERY_DEVICES, &q));
	EXPECT_EQ(num, q.num);
	q.max = 1;
	EXPECT_EQ(-EFAULT, ABI(self->s.fd, QUERY_DEVICES, &q));

	memset(devs, 0xff, sizeof(devs));
	q.devices = (uintptr_t)devs;
	q.max = 16;
	OK(ABI(self->s.fd, QUERY_DEVICES, &q));
	EXPECT_EQ(num, q.num);
	for (i = 0; i < num && i < 16; i++) {
		EXPECT_LT(0, (__s32)devs[i].dev_index);
		EXPECT_EQ(0, devs[i].flags & ~RDMA_EP_DEVICE_USER_MR);
		EXPECT_LE(1, devs[i].phys_port_cnt);
		EXPECT_LE(1, devs[i].num_comp_vectors);
		EXPECT_EQ(0, devs[i].reserved);
		EXPECT_NE(NULL, memchr(devs[i].name, 0, 64));
		if (devs[i].dev_index == self->s.dev)
			mine = &devs[i];
	}
	/* Nothing is written behind the last device. */
	EXPECT_EQ(~0U, devs[i].dev_index);
	ASSERT_NE(NULL, mine);
	EXPECT_TRUE(mine->flags & RDMA_EP_DEVICE_USER_MR);

	snprintf(path, sizeof(path), "/sys/class/infiniband/%.64s/node_guid", mine->name);
	f = ASSERT_PTR(fopen(path, "r"));
	EXPECT_EQ(1, fscanf(f, "%31s", guid));
	fclose(f);
	snprintf(path, sizeof(path), "%04x:%04x:%04x:%04x", (__u16)(be64toh(mine->node_guid) >> 48),
		 (__u16)(be64toh(mine->node_guid) >> 32), (__u16)(be64toh(mine->node_guid) >> 16),
		 (__u16)be64toh(mine->node_guid));
	EXPECT_STREQ(guid, path);

	/* Less room than devices, or exactly as much */
	memset(devs, 0xff, sizeof(devs));
	q.max = 1;
	OK(ABI(self->s.fd, QUERY_DEVICES, &q));
	EXPECT_EQ(num, q.num);
	EXPECT_NE(~0U, devs[0].dev_index);
	EXPECT_EQ(~0U, devs[1].dev_index);
}

TEST_F(query, open_default_twice)
{
	struct rdma_ep_cmd_open_device o = { .flags = RDMA_EP_OPEN_DEFAULT,
		.dev_index = self->s.dev };

	OK(ABI(self->s.fd, OPEN_DEVICE, &o));
	EXPECT_EQ(self->s.ctx, o.ctx);
	EXPECT_EQ(self->s.pd, o.pd);
	EXPECT_NE(0, o.pd);
	EXPECT_NE(self->s.async_fd, o.async_fd);
	EXPECT_EQ(FD_CLOEXEC, fcntl(o.async_fd, F_GETFD));
	EXPECT_EQ(FD_CLOEXEC, fcntl(self->s.async_fd, F_GETFD));
	EXPECT_EQ(-EBUSY, ABI_DESTROY(&self->s, CTX, o.ctx));
	EXPECT_EQ(-EBUSY, ABI_DESTROY(&self->s, PD, o.pd));
}

TEST_F(query, open_another_context)
{
	__u32 ctx[2], pd;
	int fd[2];

	for (int i = 0; i < 2; i++) {
		struct rdma_ep_cmd_open_device o = { .dev_index = self->s.dev };

		OK(ABI(self->s.fd, OPEN_DEVICE, &o));
		EXPECT_EQ(0, o.pd);
		EXPECT_NE(0, o.ctx);
		ctx[i] = o.ctx;
		fd[i] = o.async_fd;
	}
	EXPECT_NE(ctx[0], ctx[1]);
	EXPECT_NE(ctx[0], self->s.ctx);
	OK(abi_alloc_pd(&self->s, ctx[0], &pd));
	EXPECT_EQ(-EBUSY, ABI_DESTROY(&self->s, CTX, ctx[0]));
	EXPECT_EQ(0, ABI_DESTROY(&self->s, PD, pd));
	EXPECT_EQ(0, ABI_DESTROY(&self->s, CTX, ctx[0]));
	EXPECT_EQ(-ENOENT, abi_alloc_pd(&self->s, ctx[0], &pd));
	EXPECT_EQ(0, ABI_DESTROY(&self->s, CTX, ctx[1]));
	close(fd[0]);
	close(fd[1]);
}

TEST_F(query, no_such_device)
{
	struct rdma_ep_cmd_open_device open = {};
	struct rdma_ep_cmd_query_device device = {};
	struct rdma_ep_cmd_query_port port = { .port_num = 1 };
	struct rdma_ep_cmd_query_gid gid = { .port_num = 1 };
	struct rdma_ep_cmd_query_gid_table table = {};
	struct rdma_ep_cmd_query_pkey pkey = { .port_num = 1 };
	int s = self->s.fd, fds = abi_count_fds();

	for (size_t i = 0; i < ARRAY_SIZE(no_device); i++) {
		EXPECT_EQ(-ENODEV, ABI_WITH(s, OPEN_DEVICE, open, dev_index, no_device[i]));
		EXPECT_EQ(-ENODEV, ABI_WITH(s, QUERY_DEVICE, device, dev_index, no_device[i]));
		EXPECT_EQ(-ENODEV, ABI_WITH(s, QUERY_PORT, port, dev_index, no_device[i]));
		EXPECT_EQ(-ENODEV, ABI_WITH(s, QUERY_GID, gid, dev_index, no_device[i]));
		EXPECT_EQ(-ENODEV, ABI_WITH(s, QUERY_GID_TABLE, table, dev_index, no_device[i]));
		EXPECT_EQ(-ENODEV, ABI_WITH(s, QUERY_PKEY, pkey, dev_index, no_device[i]));
		EXPECT_EQ(fds, abi_count_fds());
	}
}

TEST_F(query, device)
{
	struct rdma_ep_cmd_query_device d = { .dev_index = self->s.dev };
	struct rdma_ep_cmd_query q = {};
	struct sysinfo info;

	OK(ABI(self->s.fd, QUERY, &q));
	OK(ABI(self->s.fd, QUERY_DEVICE, &d));
	EXPECT_LE(1, d.num_comp_vectors);
	EXPECT_LE(1, d.attr.phys_port_cnt);
	EXPECT_LT(0, d.attr.max_qp);
	EXPECT_LT(0, d.attr.max_mr_size);
	/* Of more, siw would allocate page tables before it finds no memory. */
	OK(sysinfo(&info));
	if (self->s.iwarp)
		EXPECT_EQ((__u64)info.totalram * info.mem_unit, d.attr.max_mr_size);
	EXPECT_LT(0, d.attr.max_sge);
	EXPECT_NE(0, d.attr.node_guid);
	EXPECT_EQ(d.attr.device_cap_flags, (__u32)d.device_cap_flags_ex);
	/* Limits are those of the module. */
	EXPECT_LT(0, d.attr.max_qp_wr);
	EXPECT_LE(d.attr.max_qp_wr, q.max_wr);
	EXPECT_LT(0, d.attr.max_cqe);
	EXPECT_LE(d.attr.max_cqe, q.max_cqe);
	EXPECT_LE(d.attr.max_srq_wr, q.max_wr);
	/* The limits of SRQs are all zero or all nonzero. */
	EXPECT_EQ(!d.attr.max_srq, !d.attr.max_srq_wr);
	EXPECT_EQ(!d.attr.max_srq, !d.attr.max_srq_sge);
}

/* Uses one capability, with a QP in RTS and an SRQ. -ENOSYS: there is no use of it here. */
static int ask_for(struct abi *s, const struct rdma_ep_cmd_query_device *d,
		   __u32 bit, __u32 qp, __u32 srq)
{
	struct rdma_ep_cmd_srq_attr a = { .srq = srq, .flags = RDMA_EP_SRQ_MAX_WR, .max_wr = 16 };
	struct rdma_ep_cmd_query_port p = { .dev_index = s->dev, .port_num = 1 };
	struct rdma_ep_cmd_modify_qp m = { .qp = qp };

	switch (bit) {
	case 1:		/* BAD_PKEY_CNTR, BAD_QKEY_CNTR: counters of a port */
	case 2:
		return ABI(s->fd, QUERY_PORT, &p);
	case 4:		/* AUTO_PATH_MIG */
		m.attr.qp_attr_mask = QP_PATH_MIG_STATE;
		break;
	case 7:		/* CURR_QP_STATE_MOD */
		m.attr.qp_attr_mask = QP_STATE | QP_CUR_STATE;
		m.attr.qp_state = QPS_RTS;
		m.attr.cur_qp_state = QPS_RTS;
		break;
	case 11:	/* SYS_IMAGE_GUID */
		return d->attr.sys_image_guid ? 0 : -ENODATA;
	case 13:	/* SRQ_RESIZE */
		return ABI(s->fd, MODIFY_SRQ, &a);
	case 5:		/* CHANGE_PHY_PORT: needs two ports */
	case 6:		/* UD_AV_PORT_ENFORCE: tested by abi_verbs */
	case 10:	/* PORT_ACTIVE_EVENT: tested by abi_mock */
	case 12:	/* RC_RNR_NAK_GEN: tested by abi_states */
		return 0;
	default:
		return -ENOSYS;
	}
	return ABI(s->fd, MODIFY_QP, &m);
}

TEST_F(query, told_capabilities_are_granted)
{
	struct rdma_ep_cmd_query_device d = { .dev_index = self->s.dev };
	struct rdma_ep_cmd_create_qp qp;
	__u32 cq, srq;

	OK(ABI(self->s.fd, QUERY_DEVICE, &d));
	OK(abi_create_cq(&self->s, -1, 8, 0, &cq));
	OK(abi_create_qp(&self->s, QPT_RC, cq, 0, &qp));
	OK(abi_create_srq(&self->s, self->s.pd, 8, 0, &srq));
	if (!self->s.iwarp) {
		OK(abi_qp_init(&self->s, qp.init.qp, QPT_RC, 0));
		OK(abi_qp_rts(&self->s, qp.init.qp, QPT_RC, qp.init.qp_num));
	}
	for (__u32 bit = 0; bit < 64; bit++) {
		if (!(d.device_cap_flags_ex & 1ULL << bit))
			continue;
		LOGGED(EXPECT_EQ(0, ask_for(&self->s, &d, bit, qp.init.qp, srq)),
		       "capability %u", bit);
	}
	/* No command reads the clock. */
	EXPECT_EQ(0, d.hca_core_clock);
	EXPECT_EQ(0, d.timestamp_mask);
}

TEST_F(query, port)
{
	struct rdma_ep_cmd_query_device d = { .dev_index = self->s.dev };
	struct rdma_ep_cmd_query_port p = { .dev_index = self->s.dev, .port_num = 1 };
	char name[IF_NAMESIZE];

	OK(ABI(self->s.fd, QUERY_DEVICE, &d));
	OK(ABI(self->s.fd, QUERY_PORT, &p));
	EXPECT_EQ(4, p.attr.state);		/* IBV_PORT_ACTIVE */
	EXPECT_EQ(2, p.attr.link_layer);	/* IBV_LINK_LAYER_ETHERNET */
	EXPECT_LT(0, p.attr.gid_tbl_len);
	EXPECT_LT(0, p.attr.max_msg_sz);
	EXPECT_LE(1, p.attr.active_mtu);
	EXPECT_LE(p.attr.active_mtu, p.attr.max_mtu);
	EXPECT_NE(NULL, if_indextoname(p.netdev_index, name));
	if (!self->s.iwarp) {
		EXPECT_LT(0, p.attr.pkey_tbl_len);
		/* IBV_QPF_GRH_REQUIRED */
		EXPECT_EQ(1, p.attr.flags & 1);
	}

	const __u32 bad[] = { 0, d.attr.phys_port_cnt + 1, 257, ~0U };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		EXPECT_EQ(-EINVAL, ABI_WITH(self->s.fd, QUERY_PORT, p, port_num, bad[i]));
}

TEST_F(query, gid)
{
	struct rdma_ep_cmd_query_port p = { .dev_index = self->s.dev, .port_num = 1 };
	struct rdma_ep_cmd_query_gid good = {
		.dev_index = self->s.dev, .port_num = 1, .gid_index = self->s.gid_index,
	}, g = good;
	const __u8 zero[16] = {};
	int ret, fd = self->s.fd, empty = 0;

	OK(ABI(fd, QUERY_PORT, &p));
	OK(ABI(fd, QUERY_GID, &g));
	if (!self->s.iwarp) {
		EXPECT_EQ(0, memcmp(g.gid, self->s.gid, 16));
		EXPECT_EQ(2, g.gid_type);
		EXPECT_EQ(p.netdev_index, g.ndev_ifindex);
	}
	for (__u32 i = 0; i < p.attr.gid_tbl_len && i < 64; i++) {
		g = good;
		g.gid_index = i;
		ret = ABI(fd, QUERY_GID, &g);
		if (ret == -ENODATA) {
			empty++;
			continue;
		}
		ASSERT_EQ(0, ret);
		EXPECT_NE(0, memcmp(g.gid, zero, 16));
		EXPECT_LE(g.gid_type, 2);
	}
	if (!self->s.iwarp)
		EXPECT_LT(0, empty);

	EXPECT_EQ(-EINVAL, ABI_WITH(fd, QUERY_GID, good, gid_index, p.attr.gid_tbl_len));
	EXPECT_EQ(-EINVAL, ABI_WITH(fd, QUERY_GID, good, gid_index, ~0U));
	EXPECT_EQ(-EINVAL, ABI_WITH(fd, QUERY_GID, good, gid_index, 0x80000000));
	EXPECT_EQ(-EINVAL, ABI_WITH(fd, QUERY_GID, good, port_num, 0));
	EXPECT_EQ(-EINVAL, ABI_WITH(fd, QUERY_GID, good, port_num, ~0U));
}

/* Counts the entries that QUERY_GID has for all ports, and compares them with the table. */
static __u32 count_gids(struct __test_metadata *_metadata, const struct abi *s, __u32 ports,
			const struct ib_uverbs_gid_entry *e, __u32 num)
{
	__u32 n = 0;

	for (__u32 port = 1; port <= ports; port++) {
		struct rdma_ep_cmd_query_port p = { .dev_index = s->dev, .port_num = port };
		struct rdma_ep_cmd_query_gid g = { .dev_index = s->dev, .port_num = port };

		OK(ABI(s->fd, QUERY_PORT, &p));
		for (; g.gid_index < p.attr.gid_tbl_len; g.gid_index++) {
			if (ABI(s->fd, QUERY_GID, &g))
				continue;
			ASSERT_GT(num, n);
			EXPECT_EQ(0, memcmp(e[n].gid, g.gid, 16));
			EXPECT_EQ(g.gid_index, e[n].gid_index);
			EXPECT_EQ(port, e[n].port_num);
			EXPECT_EQ(g.gid_type, e[n].gid_type);
			EXPECT_EQ(g.ndev_ifindex, e[n].netdev_ifindex);
			n++;
		}
	}
	return n;
}

/* QUERY_GID_TABLE returns all entries of QUERY_GID with one command. */
TEST_F(query, gid_table)
{
	enum { MAX = 64 };
	struct rdma_ep_cmd_query_device d = { .dev_index = self->s.dev };
	struct rdma_ep_cmd_query_gid_table t = { .dev_index = self->s.dev, .max = MAX };
	struct ib_uverbs_gid_entry *e;
	int fd = self->s.fd;
	char *page;
	__u32 num;

	page = abi_map(8192);
	munmap(page + 4096, 4096);
	e = (void *)page;
	t.entries = (uintptr_t)e;
	memset(page, 0xaa, 4096);
	OK(ABI(fd, QUERY_GID_TABLE, &t));
	num = t.num;
	ASSERT_LT(self->s.iwarp ? 0 : 1, num);
	ASSERT_GE(MAX, num);
	OK(ABI(fd, QUERY_DEVICE, &d));
	EXPECT_EQ(num, count_gids(_metadata, &self->s, d.attr.phys_port_cnt, e, num));
	for (size_t at = num * sizeof(*e); at < 4096; at++)
		EXPECT_EQ((char)0xaa, page[at]);

	/* Just enough room, and less */
	t.max = num;
	t.entries = (uintptr_t)page + 4096 - num * sizeof(*e);
	EXPECT_EQ(0, ABI(fd, QUERY_GID_TABLE, &t));
	EXPECT_EQ(num, t.num);
	memset(page, 0xaa, 4096);
	for (__u32 max = 0; max < num; max++)
		EXPECT_EQ(-EINVAL, ABI_WITH(fd, QUERY_GID_TABLE, t, max, max));
	for (size_t at = 0; at < 4096; at++)
		EXPECT_EQ((char)0xaa, page[at]);
	t.max = ~0U;
	EXPECT_EQ(-EFAULT, ABI_WITH(fd, QUERY_GID_TABLE, t, entries, t.entries + 8));
	EXPECT_EQ(-EFAULT, ABI_WITH(fd, QUERY_GID_TABLE, t, entries, 0));
	EXPECT_EQ(-EFAULT, ABI_WITH(fd, QUERY_GID_TABLE, t, entries, 0xffff888000000000ULL));
	munmap(page, 4096);
}

TEST_F(query, pkey)
{
	struct rdma_ep_cmd_query_port p = { .dev_index = self->s.dev, .port_num = 1 };
	struct rdma_ep_cmd_query_pkey k = {
		.dev_index = self->s.dev, .port_num = 1, .pkey = 0x77777777,
	};
	int fd = self->s.fd;

	SKIP_IF(self->s.iwarp, "iWARP has no P_Keys");
	OK(ABI(fd, QUERY_PORT, &p));
	OK(ABI(fd, QUERY_PKEY, &k));
	EXPECT_EQ(0xffff, k.pkey);
	EXPECT_EQ(-EINVAL, ABI_WITH(fd, QUERY_PKEY, k, pkey_index, p.attr.pkey_tbl_len));
	EXPECT_EQ(-EINVAL, ABI_WITH(fd, QUERY_PKEY, k, pkey_index, 0x10000));
	EXPECT_EQ(-EINVAL, ABI_WITH(fd, QUERY_PKEY, k, pkey_index, ~0U));
	EXPECT_EQ(-EINVAL, ABI_WITH(fd, QUERY_PKEY, k, port_num, 0));
	EXPECT_EQ(-EINVAL, ABI_WITH(fd, QUERY_PKEY, k, port_num, 256 + 1));
}

/* The state of an id in fdinfo, "" if fdinfo does not have the id */
static const char *id_state(const struct abi *s, __u32 id)
{
	FILE *f = abi_fdinfo_open(s->fd);
	static char state[32];
	unsigned int handle;
	char line[256];

	if (!f)
		return "";
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "id: %u %*s %31s", &handle, state) == 2 && handle == id)
			break;
		else
			state[0] = 0;
	fclose(f);
	return state;
}

TEST_F(query, state_of_an_id)
{
	struct abi *s = &self->s;
	int channel = abi_channel(s);
	struct sockaddr_in sin = s->addr;
	struct abi_pair p = {};
	__u32 id;

	ASSERT_LE(0, channel);
	OK(abi_tcp_id(s, channel, 0, &id));
	EXPECT_STREQ("idle", id_state(s, id));
	OK(abi_bind(s, id, &sin));
	EXPECT_STREQ("bound", id_state(s, id));
	OK(abi_resolve_addr(s, id, &sin, ABI_WAIT_MS));
	OK(abi_event(channel, EV_ADDR_RESOLVED, NULL));
	EXPECT_STREQ("resolved", id_state(s, id));
	OK(ABI_DESTROY(s, ID, id));
	EXPECT_STREQ("", id_state(s, id));

	OK(abi_pair_open(s, &p));
	EXPECT_STREQ("listening", id_state(s, p.listener));
	EXPECT_STREQ("connected", id_state(s, p.end[0].id));
	EXPECT_STREQ("connected", id_state(s, p.end[1].id));
	OK(ABI_ID_CMD(s, DISCONNECT, p.end[0].id, 0));
	OK(abi_event(p.end[1].channel, EV_DISCONNECTED, NULL));
	EXPECT_STREQ("disconnected", id_state(s, p.end[1].id));
}

/* Without free descriptors commands fail and create nothing. Afterwards they succeed. */
TEST_F(query, no_more_files)
{
	struct rdma_ep_cmd_open_device o = { .dev_index = self->s.dev };
	struct rdma_ep_cmd_create_fd f = {};
	struct rdma_ep_cmd_create_id c = {
		.flags = RDMA_EP_ID_PRIVATE_CHANNEL, .ps = RDMA_PS_TCP, .qp_type = QPT_RC,
	};
	struct abi_objects before;

	abi_close(&self->s);
	OK(abi_idle());
	OK(abi_open(&self->s));
	o.dev_index = self->s.dev;
	OK(abi_objects(&before));
	WITH_RLIMIT(RLIMIT_NOFILE, 0, {
		EXPECT_EQ(-EMFILE, ABI(self->s.fd, OPEN_DEVICE, &o));
		EXPECT_EQ(-EMFILE, ABI(self->s.fd, CREATE_CHANNEL, &f));
		EXPECT_EQ(-EMFILE, ABI(self->s.fd, CREATE_COMP_CHANNEL, &f));
		EXPECT_EQ(-EMFILE, ABI(self->s.fd, CREATE_ID, &c));
	});
	EXPECT_EQ(0, abi_objects_wait(&before));
	EXPECT_EQ(0, ABI(self->s.fd, OPEN_DEVICE, &o));
	EXPECT_EQ(0, ABI(self->s.fd, CREATE_CHANNEL, &f));
	EXPECT_EQ(0, ABI(self->s.fd, CREATE_COMP_CHANNEL, &f));
	EXPECT_EQ(0, ABI(self->s.fd, CREATE_ID, &c));
	EXPECT_EQ(FD_CLOEXEC, fcntl(f.fd, F_GETFD));
	EXPECT_EQ(FD_CLOEXEC, fcntl(c.channel_fd, F_GETFD));
}

FIXTURE(quota) {
	int old;
};

FIXTURE_SETUP(quota)
{
	self->old = test_param("session_max_objects", 12);
	ASSERT_LT(0, self->old);
}

FIXTURE_TEARDOWN(quota)
{
	test_param("session_max_objects", self->old);
}

/* Allocates PDs up to the quota. Returns how many, or an errno other than the quota's. */
static int fill_with_pds(const struct abi *s)
{
	int ret, n = 0;
	__u32 pd;

	do {
		ret = abi_alloc_pd(s, s->ctx, &pd);
	} while (!ret && ++n < 16);
	return !ret || ret == -EDQUOT ? n : ret;
}

/* In a child, which drops its privileges before it opens the session. */
static int fill_session(void *arg)
{
	struct rdma_ep_cmd_query q = {};
	struct abi s, other;
	__u32 pd, extra;

	CHECK(1, !abi_become_nobody() && !abi_open(&s));
	CHECK(2, !ABI(s.fd, QUERY, &q) && q.max_objects == 12);
	/* The limit includes the default context and its PD. */
	CHECK(3, !abi_alloc_pd(&s, s.ctx, &pd) && fill_with_pds(&s) == 9);
	CHECK(4, abi_create_cq(&s, -1, 16, 0, &extra) == -EDQUOT);
	/* Another session has its own limit. */
	CHECK(5, !abi_open(&other) && !abi_alloc_pd(&other, other.ctx, &extra));
	/* Destroyed objects do not count any more. */
	CHECK(6, !ABI_DESTROY(&s, PD, pd) && fill_with_pds(&s) == 1);
	return 0;
}

/* The same with memberships. A refused one must not remain. */
static int fill_with_memberships(void *arg)
{
	__u32 id, mc[16], extra;
	struct abi s;
	int channel, ret, n = 0;

	CHECK(1, !abi_become_nobody() && !abi_open(&s));
	if (s.iwarp)
		return 0;
	channel = abi_channel(&s);
	CHECK(2, !abi_ud_id(&s, channel, 0, &id));
	do {
		ret = abi_join(&s, id, n, n, &mc[n]);
	} while (!ret && ++n < 16);
	CHECK(3, ret == -EDQUOT);
	CHECK(4, n == 9);
	while (n--)
		CHECK(5, !abi_event(channel, EV_MULTICAST_JOIN, NULL));
	CHECK(6, abi_quiet(channel));
	CHECK(7, !ABI_DESTROY(&s, MCAST, mc[3]) && !abi_join(&s, id, 20, 0, &mc[3]));
	CHECK(8, abi_join(&s, id, 21, 0, &extra) == -EDQUOT);
	/* Memberships outlive their id. */
	CHECK(9, !ABI_DESTROY(&s, ID, id) && !ABI_DESTROY(&s, MCAST, mc[0]));
	CHECK(10, !abi_alloc_pd(&s, s.ctx, &extra));
	return 0;
}

/* User events count until they have been read or their id is destroyed. */
static int fill_with_events(void *arg)
{
	struct abi s;
	int channel, ret, n = 0;
	__u32 id;

	CHECK(1, !abi_become_nobody() && !abi_open(&s));
	channel = abi_channel(&s);
	CHECK(2, !abi_tcp_id(&s, channel, 0, &id));
	do {
		ret = abi_user_event(&s, id, 0);
	} while (!ret && ++n < 16);
	CHECK(3, ret == -EDQUOT);
	CHECK(4, n == 9);
	CHECK(5, !abi_event(channel, RDMA_EP_CM_EVENT_USER, NULL) && fill_with_pds(&s) == 1);
	CHECK(6, !ABI_DESTROY(&s, ID, id) && fill_with_pds(&s) == 9);
	return 0;
}

TEST_F(quota, objects)
{
	EXPECT_EQ(0, abi_child(fill_session, NULL));
}

TEST_F(quota, memberships)
{
	EXPECT_EQ(0, abi_child(fill_with_memberships, NULL));
}

TEST_F(quota, events)
{
	EXPECT_EQ(0, abi_child(fill_with_events, NULL));
}

TEST_HARNESS_MAIN
