// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attributes of a QP that a driver must not see. The core does not check them, as it trusts
 * kernel consumers, and drivers use a port number as an index. rdma_ep refuses them before it
 * calls the driver, and the QP keeps its attributes.
 */
#include "abi_test.h"
#include "abi_mock.h"

/* Ports of the device */
enum { PORT_ROCE = 1, PORT_IB };

static const __u8 no_ports[] = { 0, 3, 4, 127, 128, 255 };

FIXTURE(modify) {
	struct abi s;
	__u32 qp;
};

FIXTURE_SETUP(modify)
{
	struct rdma_ep_cmd_create_qp c;
	__u32 cq;

	self->s.fd = -1;
	OK(mock_load());
	OK(mock_new("ib_port=1"));
	OK(abi_open(&self->s));
	OK(abi_create_cq(&self->s, -1, 16, 0, &cq));
	OK(abi_create_qp(&self->s, QPT_RC, cq, 0, &c));
	self->qp = c.init.qp;
}

FIXTURE_TEARDOWN(modify)
{
	abi_close(&self->s);
	mock_unload();
}

/* MODIFY_QP returns @want; it calls the driver only if that is 0. */
static void expect_modify(struct __test_metadata *_metadata, FIXTURE_DATA(modify) * self, int want,
			  const struct ib_uverbs_qp_attr *attr, const char *what, __u32 value)
{
	int calls = mock_calls("modify_qp");

	ASSERT_LE(0, calls);
	LOGGED(EXPECT_EQ(want, abi_modify_qp(&self->s, self->qp, attr)), "%s 0x%x", what, value);
	LOGGED(EXPECT_EQ(calls + !want, mock_calls("modify_qp")), "%s 0x%x", what, value);
}

#define EXPECT_MODIFY(_want, _attr, _what, _value) \
	expect_modify(_metadata, self, _want, _attr, _what, _value)

static void init_attr(struct ib_uverbs_qp_attr *a, __u8 port)
{
	*a = (struct ib_uverbs_qp_attr) {
		.qp_attr_mask = QP_STATE | QP_PKEY_INDEX | QP_PORT | QP_ACCESS_FLAGS,
		.qp_state = QPS_INIT, .port_num = port,
	};
}

/* The device's own address on RoCE, any address on InfiniBand */
static void ah_attr(const struct abi *s, struct ib_uverbs_ah_attr *ah, __u8 port)
{
	abi_self_ah(s, ah);
	ah->port_num = port;
	if (port != PORT_ROCE) {
		ah->is_global = 0;
		ah->dlid = 1;
	}
}

static void rtr_attr(const struct abi *s, struct ib_uverbs_qp_attr *a, __u8 port)
{
	abi_rtr_attr(s, 0, a);
	ah_attr(s, &a->ah_attr, port);
}

/* From any state */
static int to_init(const struct abi *s, __u32 qp, __u8 port)
{
	struct ib_uverbs_qp_attr a;

	init_attr(&a, port);
	return abi_qp_state(s, qp, QPS_RESET) ?: abi_modify_qp(s, qp, &a);
}

/* Flags of regions without a meaning for QPs are ignored. */
TEST_F(modify, unknown_access_refused)
{
	struct ib_uverbs_qp_attr a = { .qp_attr_mask = QP_ACCESS_FLAGS };
	/* IB_ACCESS_FLUSH_*, which not all kernels have */
	const __u32 flush = 3 << 8;
	/* MW_BIND, ZERO_BASED, ON_DEMAND, HUGETLB */
	const __u32 ignored = 0xf << 4 | IB_UVERBS_ACCESS_OPTIONAL_RANGE;
	struct ib_uverbs_qp_attr now;
	__u32 flag;

	OK(to_init(&self->s, self->qp, PORT_ROCE));
	a.qp_access_flags = AC_ALL;
	EXPECT_MODIFY(0, &a, "access", AC_ALL);
	for (__u32 bit = 0; bit < 32; bit++) {
		flag = 1U << bit;
		if (flag & (AC_ALL | flush | ignored))
			continue;
		a.qp_access_flags = flag;
		EXPECT_MODIFY(-EINVAL, &a, "access", flag);
		a.qp_access_flags = flag | AC_LOCAL_WRITE;
		EXPECT_MODIFY(-EINVAL, &a, "access", a.qp_access_flags);
	}
	OK(abi_query_qp(&self->s, self->qp, QP_ACCESS_FLAGS, &now));
	EXPECT_EQ(AC_ALL, now.qp_access_flags);
	for (__u32 bit = 0; bit < 32; bit++) {
		flag = 1U << bit;
		if (!(flag & (AC_ALL | flush | ignored)))
			continue;
		a.qp_access_flags = flag;
		EXPECT_MODIFY(0, &a, "access", flag);
		OK(abi_query_qp(&self->s, self->qp, QP_ACCESS_FLAGS, &now));
		EXPECT_EQ(flag & ~ignored, now.qp_access_flags | (flag & flush));
	}
}

/* rxe divides the length of messages by the MTU. abi_route.c tests that of a CM path. */
TEST_F(modify, bad_mtu_refused)
{
	static const __u32 bad[] = { 0, 6, 7, 15, 0x83, 255, 256, 0x103, 0x10003, 0x80000003, ~0U };
	struct ib_uverbs_qp_attr a, now;

	OK(to_init(&self->s, self->qp, PORT_ROCE));
	rtr_attr(&self->s, &a, PORT_ROCE);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		a.path_mtu = bad[i];
		EXPECT_MODIFY(-EINVAL, &a, "MTU", bad[i]);
	}
	for (a.path_mtu = 1; a.path_mtu <= 5; a.path_mtu++) {
		EXPECT_MODIFY(0, &a, "MTU", a.path_mtu);
		OK(abi_query_qp(&self->s, self->qp, QP_PATH_MTU, &now));
		EXPECT_EQ(a.path_mtu, now.path_mtu);
		OK(to_init(&self->s, self->qp, PORT_ROCE));
	}
}

/* The core would mask PSNs as well, but log each. */
TEST_F(modify, psn_masked)
{
	int log = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct ib_uverbs_qp_attr a;
	char line[1024];
	ssize_t len;

	ASSERT_LE(0, log);
	ASSERT_LE(0, lseek(log, 0, SEEK_END));
	OK(to_init(&self->s, self->qp, PORT_ROCE));
	rtr_attr(&self->s, &a, PORT_ROCE);
	a.rq_psn = 0xff000001;
	EXPECT_MODIFY(0, &a, "PSN", a.rq_psn);
	abi_rts_attr(&a);
	a.sq_psn = ~0U;
	EXPECT_MODIFY(0, &a, "PSN", a.sq_psn);
	while ((len = read(log, line, sizeof(line) - 1)) > 0) {
		line[len] = 0;
		LOGGED(EXPECT_EQ(NULL, strstr(line, "_psn overflow")), "%s", line);
	}
	close(log);
}

/* The port of a QP, and the port of its address */
TEST_F(modify, port_mismatch_refused)
{
	struct ib_uverbs_qp_attr a;

	init_attr(&a, 0);
	for (size_t i = 0; i < ARRAY_SIZE(no_ports); i++) {
		a.port_num = no_ports[i];
		EXPECT_MODIFY(-EINVAL, &a, "port", no_ports[i]);
	}
	for (__u8 port = PORT_ROCE; port <= PORT_IB; port++) {
		OK(to_init(&self->s, self->qp, port));
		for (size_t i = 0; i < ARRAY_SIZE(no_ports); i++) {
			rtr_attr(&self->s, &a, no_ports[i]);
			EXPECT_MODIFY(-EINVAL, &a, "address of port", no_ports[i]);
		}
		/* A valid port, but not that of the QP */
		rtr_attr(&self->s, &a, PORT_ROCE + PORT_IB - port);
		EXPECT_MODIFY(-EINVAL, &a, "address of port", a.ah_attr.port_num);
		rtr_attr(&self->s, &a, port);
		EXPECT_MODIFY(0, &a, "address of port", port);
	}
}

/* A drained QP may move to another port, together with its address. */
TEST_F(modify, drained_qp_moves_with_address)
{
	struct ib_uverbs_qp_attr a = {}, now;

	OK(to_init(&self->s, self->qp, PORT_ROCE));
	OK(abi_qp_rts(&self->s, self->qp, QPT_RC, 2));
	OK(abi_qp_state(&self->s, self->qp, QPS_SQD));
	a.qp_attr_mask = QP_PORT | QP_AV;
	a.port_num = PORT_ROCE;
	ah_attr(&self->s, &a.ah_attr, PORT_IB);
	EXPECT_MODIFY(-EINVAL, &a, "not to port", PORT_ROCE);
	a.port_num = PORT_IB;
	ah_attr(&self->s, &a.ah_attr, PORT_ROCE);
	EXPECT_MODIFY(-EINVAL, &a, "not to port", PORT_IB);
	a.qp_attr_mask = QP_AV;
	for (size_t i = 0; i < ARRAY_SIZE(no_ports); i++) {
		ah_attr(&self->s, &a.ah_attr, no_ports[i]);
		EXPECT_MODIFY(-EINVAL, &a, "address of port", no_ports[i]);
	}
	OK(abi_query_qp(&self->s, self->qp, QP_PORT, &now));
	EXPECT_EQ(PORT_ROCE, now.port_num);
	/* The address changes the port, also without QP_PORT. */
	ah_attr(&self->s, &a.ah_attr, PORT_IB);
	EXPECT_MODIFY(0, &a, "address of port", PORT_IB);
	OK(abi_query_qp(&self->s, self->qp, QP_PORT, &now));
	EXPECT_EQ(PORT_IB, now.port_num);
}

/* The core allows alternate paths on InfiniBand only; drivers do not check their port. */
TEST_F(modify, alternate_path_port_checked)
{
	struct ib_uverbs_qp_attr a;

	OK(to_init(&self->s, self->qp, PORT_IB));
	rtr_attr(&self->s, &a, PORT_IB);
	a.qp_attr_mask |= QP_ALT_PATH;
	ah_attr(&self->s, &a.alt_ah_attr, PORT_IB);
	a.alt_port_num = PORT_ROCE;
	EXPECT_MODIFY(-EINVAL, &a, "alternate port", PORT_ROCE);
	for (size_t i = 0; i < ARRAY_SIZE(no_ports); i++) {
		a.alt_port_num = no_ports[i];
		ah_attr(&self->s, &a.alt_ah_attr, PORT_IB);
		EXPECT_MODIFY(-EINVAL, &a, "alternate port", no_ports[i]);
		ah_attr(&self->s, &a.alt_ah_attr, no_ports[i]);
		EXPECT_MODIFY(-EINVAL, &a, "alternate path", no_ports[i]);
		a.alt_port_num = PORT_IB;
		EXPECT_MODIFY(-EINVAL, &a, "alternate address", no_ports[i]);
	}
	ah_attr(&self->s, &a.alt_ah_attr, PORT_IB);
	EXPECT_MODIFY(0, &a, "alternate path", PORT_IB);
	/* Not on RoCE */
	OK(to_init(&self->s, self->qp, PORT_ROCE));
	rtr_attr(&self->s, &a, PORT_ROCE);
	a.qp_attr_mask |= QP_ALT_PATH;
	ah_attr(&self->s, &a.alt_ah_attr, PORT_ROCE);
	a.alt_port_num = PORT_ROCE;
	EXPECT_MODIFY(-EINVAL, &a, "alternate path", PORT_ROCE);
}

/* A driver may queue what it cannot send or receive yet. */
TEST_F(modify, posts_before_their_state_refused)
{
	struct ib_uverbs_qp_attr a;
	struct abi *s = &self->s;

	EXPECT_EQ(-EINVAL, abi_post_empty_recv(s, self->qp, 1));
	EXPECT_EQ(-EINVAL, abi_post_empty_send(s, self->qp, 0, 2));
	OK(to_init(s, self->qp, PORT_ROCE));
	EXPECT_EQ(0, abi_post_empty_recv(s, self->qp, 1));
	EXPECT_EQ(-EINVAL, abi_post_empty_send(s, self->qp, 0, 2));
	rtr_attr(s, &a, PORT_ROCE);
	OK(abi_modify_qp(s, self->qp, &a));
	EXPECT_EQ(-EINVAL, abi_post_empty_send(s, self->qp, 0, 2));
	EXPECT_EQ(0, mock_calls("post_send"));
}

TEST_HARNESS_MAIN
