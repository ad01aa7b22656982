// SPDX-License-Identifier: GPL-2.0-only
/*
 * The ioctl format of every command: sizes, flags, reserved fields, pointers.
 */
#include "abi_test.h"
#include "abi_cmds.h"
#include "abi_mock.h"

/* The same command with a structure of another size. */
static unsigned long resized(unsigned long cmd, __u32 size)
{
	return (cmd & ~((unsigned long)_IOC_SIZEMASK << _IOC_SIZESHIFT)) |
	       (unsigned long)size << _IOC_SIZESHIFT;
}

/* 32-bit callers have the same structures. (Those of commands: abi_cmds.c) */
#define MULTIPLE_OF_8(_type) \
	static_assert(sizeof(struct rdma_ep_##_type) % 8 == 0, #_type)
MULTIPLE_OF_8(device_info);
MULTIPLE_OF_8(id_info);
MULTIPLE_OF_8(conn_param);
MULTIPLE_OF_8(ud_param);
MULTIPLE_OF_8(channel_event);
MULTIPLE_OF_8(comp_event);
MULTIPLE_OF_8(async_event);
MULTIPLE_OF_8(wc);
MULTIPLE_OF_8(auto_cq);
MULTIPLE_OF_8(qp_init);
MULTIPLE_OF_8(sge);
MULTIPLE_OF_8(send_wr);
MULTIPLE_OF_8(recv_wr);
MULTIPLE_OF_8(await);
MULTIPLE_OF_8(destroy_cq);

/* Records have these sizes in 32-bit programs, too. */
static_assert(sizeof(struct rdma_ep_sge) == 16, "sge");
static_assert(sizeof(struct rdma_ep_wc) == 48, "wc");
static_assert(sizeof(struct rdma_ep_send_wr) == 72, "send_wr");
static_assert(sizeof(struct rdma_ep_recv_wr) == 16, "recv_wr");
static_assert(sizeof(struct rdma_ep_path_rec) == 60, "path_rec");
static_assert(sizeof(struct rdma_ep_conn_param) == 272, "conn_param");
static_assert(sizeof(struct rdma_ep_ud_param) == 312, "ud_param");
static_assert(sizeof(struct ib_uverbs_gid_entry) == 32, "gid_entry");
static_assert(sizeof(struct ib_uverbs_qp_attr) == 144, "qp_attr");

/* Maps one page, with a hole behind it. */
static void *page_before_hole(int prot)
{
	char *p = abi_map(8192);

	if (p == MAP_FAILED)
		return NULL;
	munmap(p + 4096, 4096);
	mprotect(p, 4096, prot);
	return p;
}

/* A command by write(2) would have the credentials of any program that is tricked into writing. */
TEST(no_write)
{
	union abi_arg a = { .size = sizeof(struct rdma_ep_cmd_query) };
	int fd = abi_open_node();

	ASSERT_LE(0, fd);
	EXPECT_ERRNO(EINVAL, write(fd, &a, sizeof(a)));
	EXPECT_ERRNO(EINVAL, read(fd, &a, sizeof(a)));
	close(fd);
}

TEST(unknown_command)
{
	union abi_arg a = { .size = 24 };
	bool known[256] = {};
	int fd = abi_open_node();

	ASSERT_LE(0, fd);
	for (unsigned int i = 0; i < abi_num_commands; i++)
		known[_IOC_NR(abi_commands[i].cmd)] = true;
	for (unsigned int nr = 0; nr < 256; nr++) {
		if (known[nr])
			continue;
		LOGGED(EXPECT_EQ(-ENOTTY, abi_raw(fd, _IOWR(RDMA_EP_IOC_TYPE, nr, __u64[3]), &a)),
		       "command 0x%x", nr);
	}
	/* Known numbers with another direction */
	EXPECT_EQ(-ENOTTY, abi_raw(fd, _IOW(RDMA_EP_IOC_TYPE, 0, struct rdma_ep_cmd_query), &a));
	EXPECT_EQ(-ENOTTY, abi_raw(fd, _IOR(RDMA_EP_IOC_TYPE, 0, struct rdma_ep_cmd_query), &a));
	/* Another magic; a terminal's command; none at all */
	EXPECT_EQ(-ENOTTY, abi_raw(fd, _IOWR(RDMA_EP_IOC_TYPE - 1, 0, struct rdma_ep_cmd_query),
				   &a));
	EXPECT_EQ(-ENOTTY, abi_raw(fd, 0x5401, &a));
	EXPECT_EQ(-ENOTTY, abi_raw(fd, 0, &a));
	EXPECT_EQ(-ENOTTY, abi_raw(fd, ~0U, &a));
}

/* Files that commands create are not sessions. */
TEST(commands_on_channels)
{
	struct rdma_ep_cmd_query q = {};
	struct abi_world w;

	OK(abi_world_open(&w));
	EXPECT_EQ(-ENOTTY, ABI(w.channel, QUERY, &q));
	EXPECT_EQ(-ENOTTY, ABI(w.comp_channel, QUERY, &q));
	EXPECT_EQ(-ENOTTY, ABI(w.s.async_fd, QUERY, &q));
}

/*
 * These tests change valid arguments of every command. The mock device has the commands that the
 * device under test lacks.
 */
FIXTURE(format) {
	struct abi_world w;
	union abi_arg valid;
	union abi_arg arg;
};

FIXTURE_VARIANT(format) {
	bool mock;
};

FIXTURE_VARIANT_ADD(format, device) { .mock = false };
FIXTURE_VARIANT_ADD(format, mock) { .mock = true };

FIXTURE_SETUP(format)
{
	if (variant->mock) {
		OK(mock_load());
		OK(mock_new(""));
	}
	OK(abi_world_open(&self->w));
}

FIXTURE_TEARDOWN(format)
{
	abi_world_close(&self->w);
	if (variant->mock)
		mock_unload();
}

/*
 * The next command that can be prepared on this device, or NULL; self->valid is
 * prepared, and self->arg a copy of it.
 */
static const struct abi_command *next(struct __test_metadata *_metadata,
				      struct _test_data_format *self, const struct abi_command *c)
{
	int ret;

	for (c = c ? c + 1 : abi_commands; c < abi_commands + abi_num_commands; c++) {
		ret = abi_prepare(&self->w, c, &self->valid);
		if (ret == -EOPNOTSUPP)
			continue;
		LOGGED(ASSERT_EQ(0, ret), "cannot prepare %s", c->name);
		self->arg = self->valid;
		return c;
	}
	return NULL;
}

static void reset(struct _test_data_format *self)
{
	self->arg = self->valid;
}

static void expect_cmd(struct __test_metadata *_metadata, long expected,
		       const struct abi_command *c, long seen, const char *fmt, ...)
{
	char what[128];
	va_list args;

	va_start(args, fmt);
	vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	LOGGED(EXPECT_EQ(expected, seen), "%s: %s", c->name, what);
}

#define EXPECT_CMD(...) expect_cmd(_metadata, __VA_ARGS__)

TEST_F(format, size_field_disagrees)
{
	const struct abi_command *c = NULL;

	while ((c = next(_metadata, self, c))) {
		__u32 size = _IOC_SIZE(c->cmd);
		__u32 bad[] = { 0, 4, 8, size - 8, size - 4, size - 1,
				size + 1, size + 8, 0x80000000 | size,
				0xffffffff };
		size_t i;

		for (i = 0; i < ARRAY_SIZE(bad); i++) {
			if (bad[i] == size)
				continue;
			reset(self);
			self->arg.size = bad[i];
			EXPECT_CMD(-EINVAL, c, abi_raw(self->w.s.fd, c->cmd, &self->arg),
				   "size %u", bad[i]);
		}
	}
}

/* Structures were never shorter than in the first version. */
TEST_F(format, too_short)
{
	const struct abi_command *c = NULL;

	while ((c = next(_metadata, self, c))) {
		__u32 size = _IOC_SIZE(c->cmd);
		__u32 bad[] = { 0, 1, 3, 4, 7, size - 8, size - 1 };
		size_t i;

		for (i = 0; i < ARRAY_SIZE(bad); i++) {
			reset(self);
			self->arg.size = bad[i];
			EXPECT_CMD(-EINVAL, c, abi_raw(self->w.s.fd,
						       resized(c->cmd, bad[i]), &self->arg),
				   "size %u", bad[i]);
		}
	}
}

TEST_F(format, longer_with_rest_set)
{
	const __u32 more[] = { 1, 8, 4096 };
	const struct abi_command *c = NULL;

	while ((c = next(_metadata, self, c))) {
		for (size_t i = 0; i < ARRAY_SIZE(more); i++) {
			__u32 size = _IOC_SIZE(c->cmd) + more[i];

			reset(self);
			self->arg.size = size;
			self->arg.u8[size - 1] = 1;
			EXPECT_CMD(-E2BIG, c, abi_raw(self->w.s.fd, resized(c->cmd, size),
						      &self->arg), "size %u", size);
		}
	}
}

TEST_F(format, longer_with_zeros)
{
	const struct abi_command *c = NULL;

	while ((c = next(_metadata, self, c))) {
		__u32 i, size = _IOC_SIZE(c->cmd) + 4096;
		__u8 *bytes = self->arg.u8;

		self->arg.size = size;
		EXPECT_CMD(self->w.result, c, abi_raw(self->w.s.fd, resized(c->cmd, size),
						      &self->arg), "size %u", size);
		for (i = _IOC_SIZE(c->cmd); i < size && !bytes[i]; i++)
			;
		EXPECT_CMD(size, c, i, "byte %u written", i);
	}
}

TEST_F(format, unknown_flags)
{
	const struct abi_command *c = NULL;

	while ((c = next(_metadata, self, c))) {
		for (unsigned int bit = 0; bit < 32; bit++) {
			if (!c->other_flags && c->flags & (1U << bit))
				continue;
			reset(self);
			abi_arg_flip(&self->arg, 4, bit);
			EXPECT_CMD(-EINVAL, c, abi_raw(self->w.s.fd, c->cmd, &self->arg),
				   "flag bit %u", bit);
		}
		for (unsigned int bit = 0; c->flags2_at && bit < 32; bit++) {
			if (c->flags2 & (1U << bit))
				continue;
			reset(self);
			abi_arg_flip(&self->arg, c->flags2_at, bit);
			EXPECT_CMD(-EINVAL, c, abi_raw(self->w.s.fd, c->cmd, &self->arg),
				   "second flag bit %u", bit);
		}
		/* The valid arguments succeed. */
		EXPECT_CMD(self->w.result, c, abi_raw(self->w.s.fd, c->cmd, &self->valid), "valid");
	}
}

TEST_F(format, reserved_fields)
{
	const struct abi_command *c = NULL;

	while ((c = next(_metadata, self, c))) {
		for (size_t i = 0; i < ARRAY_SIZE(c->reserved); i++) {
			for (size_t j = 0; j < c->reserved[i].len; j++) {
				size_t at = c->reserved[i].at + j;

				reset(self);
				self->arg.u8[at] = 0x80;
				EXPECT_CMD(-EINVAL, c, abi_raw(self->w.s.fd, c->cmd, &self->arg),
					   "reserved byte %zu", at);
			}
		}
		/* The valid arguments succeed. */
		if (c->reserved[0].len)
			EXPECT_CMD(self->w.result, c, abi_raw(self->w.s.fd, c->cmd, &self->valid),
				   "valid");
	}
}

TEST_F(format, bad_pointers)
{
	char *page = page_before_hole(PROT_READ | PROT_WRITE);
	const struct abi_command *c = NULL;

	ASSERT_NE(NULL, page);
	while ((c = next(_metadata, self, c))) {
		void *bad[] = {
			NULL, page + 4096, (void *)-4096L, (void *)-1L,
			(void *)0xffff888000000000UL,
		};
		size_t i;

		for (i = 0; i < ARRAY_SIZE(bad); i++)
			EXPECT_CMD(-EFAULT, c, abi_raw(self->w.s.fd, c->cmd, bad[i]),
				   "pointer %p", bad[i]);
		/* All but the last 8 bytes */
		memcpy(page + 4096 - (_IOC_SIZE(c->cmd) - 8), &self->valid, _IOC_SIZE(c->cmd) - 8);
		EXPECT_CMD(-EFAULT, c, abi_raw(self->w.s.fd, c->cmd,
					       page + 4096 - (_IOC_SIZE(c->cmd) - 8)), "cut off");
	}
}

/* An object that cannot be reported is destroyed. */
TEST_F(format, read_only_structure)
{
	union abi_arg *args = calloc(abi_num_commands, sizeof(*args)), *arg;
	char *page = abi_map(4096);
	struct abi_objects before;
	const struct abi_command *c = NULL;
	int fds;

	ASSERT_NE(NULL, args);
	ASSERT_NE(MAP_FAILED, page);
	abi_world_close(&self->w);
	/* abi_idle() would count the mock device's own objects: begin with a new device. */
	if (variant->mock) {
		OK(mock_del());
		OK(mock_new(""));
	} else {
		OK(abi_idle());
	}
	OK(abi_world_open(&self->w));
	while ((c = next(_metadata, self, c)))
		args[c - abi_commands] = self->valid;
	/* Idle CQs of the preparation expire before the count. */
	usleep(500000);
	SKIP_IF(abi_objects(&before), "no rdma(8)");
	fds = abi_count_fds();
	for_each_command(c) {
		arg = &args[c - abi_commands];
		if (!c->creates || !arg->size)
			continue;
		ASSERT_LE(_IOC_SIZE(c->cmd), 4096);
		mprotect(page, 4096, PROT_READ | PROT_WRITE);
		memcpy(page, arg, _IOC_SIZE(c->cmd));
		mprotect(page, 4096, PROT_READ);
		EXPECT_CMD(-EFAULT, c, abi_raw(self->w.s.fd, c->cmd, page), "read-only");
		EXPECT_CMD(fds, c, abi_count_fds(), "file left open");
	}
	EXPECT_EQ(0, abi_objects_wait(&before));
	/* The valid arguments succeed. */
	for_each_command(c) {
		arg = &args[c - abi_commands];
		if (c->creates && arg->size)
			EXPECT_CMD(0, c, abi_raw(self->w.s.fd, c->cmd, arg), "valid");
	}
}

#ifdef __x86_64__
/* ioctl(2) as a 32-bit program calls it */
static int ioctl32(int fd, __u32 cmd, void *arg)
{
	long ret = 54;

	asm volatile("int $0x80" : "+a" (ret) : "b" ((long)fd), "c" ((long)cmd), "d" (arg)
		     : "memory", "r8", "r9", "r10", "r11");
	return ret;
}

TEST_F(format, compat)
{
	void *low = mmap(NULL, ABI_ARG_BYTES, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	const struct abi_command *c = NULL;
	struct rdma_ep_cmd_query q = { .size = sizeof(q) };

	ASSERT_NE(MAP_FAILED, low);
	memcpy(low, &q, sizeof(q));
	SKIP_IF(ioctl32(self->w.s.fd, RDMA_EP_IOC_QUERY, low) == -ENOSYS, "no 32-bit system calls");
	while ((c = next(_metadata, self, c))) {
		memcpy(low, &self->valid, ABI_ARG_BYTES);
		EXPECT_CMD(self->w.result, c, ioctl32(self->w.s.fd, c->cmd, low), "32-bit");
	}
}
#endif

TEST_HARNESS_MAIN
