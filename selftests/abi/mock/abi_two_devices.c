// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two devices in one session: that under test and the mock device. A driver treats each object
 * that it gets as its own, so commands must refuse objects of different devices.
 */
#include "abi_test.h"
#include "abi_mock.h"

#define RC	QPT_RC

/* Parts of a QP; a mask selects those of the mock device. */
enum { PD = 1, SEND_CQ = 2, RECV_CQ = 4, SRQ = 8, ALL = 15 };

FIXTURE(two) {
	struct abi s[2];		/* both of one session; the mock device's last */
	__u32 cq[2], srq[2];
	__u32 id[2];			/* bound, without a QP */
	struct abi_objects before;
	int fds;
};

/* Opens the mock device in the session of @s. */
static int open_mock(struct abi *mock, const struct abi *s)
{
	int ret = mock_new("") ?: abi_open(mock);

	abi_close(mock);
	if (ret)
		return ret;
	mock->fd = s->fd;
	ret = abi_open_default(mock);
	/* The sessions that mock_new() and abi_open() opened on it end some time later. */
	return ret ?: ABI_UNTIL(mock_read_key("count", "pd") == 1) ? 0 : -ETIMEDOUT;
}

FIXTURE_SETUP(two)
{
	struct sockaddr_in sin;
	int channel;

	self->s[0].fd = -1;
	OK(mock_load());
	OK(abi_idle());
	OK(abi_open(&self->s[0]));
	ASSERT_FALSE(self->s[0].mock);
	OK(open_mock(&self->s[1], &self->s[0]));
	channel = abi_channel(&self->s[0]);
	for (int i = 0; i < 2; i++) {
		struct abi *s = &self->s[i];

		OK(abi_create_cq(s, -1, 64, 0, &self->cq[i]));
		OK(abi_create_srq(s, s->pd, 16, 0, &self->srq[i]));
		OK(abi_create_id(s, channel, RDMA_PS_TCP, RC, i, &self->id[i]));
		sin = s->addr;
		OK(abi_bind(s, self->id[i], &sin));
	}
	OK(abi_objects(&self->before));
	self->fds = abi_count_fds();
}

FIXTURE_TEARDOWN(two)
{
	abi_close(&self->s[0]);
	close(self->s[1].async_fd);
	mock_unload();
}

static bool made_nothing(struct _test_data_two *self)
{
	return !abi_objects_wait(&self->before) && abi_count_fds() == self->fds;
}

/* @mock: mask of the parts that are the mock device's */
static void parts(const struct _test_data_two *self, unsigned int mock, bool srq,
		  struct rdma_ep_cmd_create_qp *c)
{
	abi_qp_attr(c, RC, self->s[!!(mock & PD)].pd,
		    self->cq[!!(mock & SEND_CQ)], self->cq[!!(mock & RECV_CQ)]);
	if (srq)
		c->init.srq = self->srq[!!(mock & SRQ)];
}

/* CREATE_QP refuses all mixtures; @of: device of the id, -1: none */
static void mix(struct __test_metadata *_metadata, const struct _test_data_two *self, int of)
{
	struct rdma_ep_cmd_create_qp c;
	unsigned int all;

	for (unsigned int srq = 0; srq < 2; srq++) {
		all = srq ? ALL : ALL - SRQ;
		for (unsigned int mock = 0; mock <= all; mock++) {
			if ((mock == 0 && of != 1) || (mock == all && of != 0))
				continue;
			parts(self, mock, srq, &c);
			c.id = of < 0 ? 0 : self->id[of];
			LOGGED(EXPECT_EQ(-EINVAL, ABI(self->s[0].fd, CREATE_QP, &c)),
			       "0x%x of 0x%x, id of %d", mock, all, of);
		}
	}
}

TEST_F(two, qp_with_cq_of_other_device_refused)
{
	struct rdma_ep_cmd_create_qp c;

	mix(_metadata, self, -1);
	EXPECT_TRUE(made_nothing(self));
	for (int i = 0; i < 2; i++) {
		parts(self, i * ALL, true, &c);
		EXPECT_EQ(0, ABI(self->s[0].fd, CREATE_QP, &c));
	}
}

/* Objects of an id must be of its device, even if all parts are of one device. */
TEST_F(two, qp_of_other_device_for_id_refused)
{
	struct rdma_ep_cmd_create_srq srq[2];
	struct rdma_ep_cmd_create_qp c;

	for (int i = 0; i < 2; i++) {
		mix(_metadata, self, i);
		srq[i] = (struct rdma_ep_cmd_create_srq) {
			.id = self->id[i], .pd = self->s[!i].pd, .max_wr = 16, .max_sge = 1,
		};
		EXPECT_EQ(-EINVAL, ABI(self->s[i].fd, CREATE_SRQ, &srq[i]));
	}
	EXPECT_TRUE(made_nothing(self));
	for (int i = 0; i < 2; i++) {
		srq[i].pd = self->s[i].pd;
		EXPECT_EQ(0, ABI(self->s[i].fd, CREATE_SRQ, &srq[i]));
		parts(self, i * ALL, true, &c);
		c.id = self->id[i];
		EXPECT_EQ(0, ABI(self->s[i].fd, CREATE_QP, &c));
	}
}

/* An endpoint at the address of device @of. */
static int create_ep(const struct _test_data_two *self, int of, unsigned int mock)
{
	struct rdma_ep_cmd_create_ep a;
	struct rdma_ep_cmd_create_qp c;

	abi_own_ep(&self->s[of], 7471, &a);
	parts(self, mock, true, &c);
	a.qp = c.init;
	return ABI(self->s[of].fd, CREATE_EP, &a);
}

TEST_F(two, ep_with_parts_of_other_device_refused)
{
	static const unsigned int others[] = { PD, SEND_CQ, RECV_CQ, SRQ, ALL };

	for (int i = 0; i < 2; i++) {
		for (size_t n = 0; n < ARRAY_SIZE(others); n++)
			LOGGED(EXPECT_EQ(-EINVAL, create_ep(self, i, (i * ALL) ^ others[n])),
			       "device %d, 0x%x of the other", i, others[n]);
	}
	EXPECT_TRUE(made_nothing(self));
	for (int i = 0; i < 2; i++)
		EXPECT_EQ(0, create_ep(self, i, i * ALL));
}

/* Creates a QP in state INIT whose number is not @not. */
static int new_qp(const struct abi *s, __u32 not, __u32 *num)
{
	struct rdma_ep_cmd_create_qp c;
	int ret;

	do {
		ret = abi_id_qp(s, 0, &c) ?: abi_qp_init(s, c.init.qp, RC, 0);
		*num = c.init.qp_num;
	} while (!ret && *num == not);
	return ret;
}

/* A peer looks for a QP number on the id's device, so the QP must be of that device. */
TEST_F(two, qp_number_of_other_device_refused)
{
	__u32 listener, client, own, other;
	struct rdma_ep_channel_event ev;
	struct sockaddr_in sin;
	int channel[2];

	for (int i = 0; i < 2; i++) {
		const struct abi *s = &self->s[i];

		channel[0] = abi_channel(s);
		channel[1] = abi_channel(s);
		OK(new_qp(s, 0, &own));
		OK(new_qp(&self->s[!i], own, &other));
		OK(abi_tcp_listen(s, channel[1], 0, 0, &listener, &sin));
		OK(abi_tcp_client(s, channel[0], &sin, 0, &client));
		EXPECT_EQ(-EINVAL, abi_connect(s, client, other));
		EXPECT_TRUE(abi_quiet(channel[1]));
		OK(abi_connect(s, client, own));
		OK(abi_event(channel[1], EV_CONNECT_REQUEST, &ev));
		EXPECT_EQ(-EINVAL, abi_accept(s, ev.child, 0, other));
		EXPECT_TRUE(abi_quiet(channel[0]));
		OK(new_qp(s, other, &own));
		EXPECT_EQ(0, abi_accept(s, ev.child, 0, own));
	}
}

/* An idle CQ is reused for its own device only. */
TEST_F(two, reused_cq_keeps_its_device)
{
	int calls = mock_calls("create_cq");
	__u32 cq;

	OK(abi_create_cq(&self->s[0], -1, 32, 0, &cq));
	OK(ABI_DESTROY(&self->s[0], CQ, cq));
	OK(abi_create_cq(&self->s[1], -1, 32, 0, &cq));
	EXPECT_EQ(calls + 1, mock_calls("create_cq"));
}

TEST_HARNESS_MAIN
