// SPDX-License-Identifier: GPL-2.0-only
/*
 * Control of the mock device for the raw ioctl tests.
 */
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "abi_mock.h"

#define ROOT	"/sys/kernel/debug/rdma_ep_mock"

static const struct {
	const char *name, *netdev, *addr;
} mocks[] = {
	{ MOCK_NAME, MOCK_NETDEV, "10.92.17.1/24" },
	{ MOCK_NAME2, MOCK_NETDEV2, "10.92.18.1/24" },
};

static int selected;
static bool has_second;

int mock_load(void)
{
	if (system("modprobe -a veth rdma_ep_mock 2>/dev/null")) {
		fprintf(stderr, "# no mock device: modprobe rdma_ep_mock\n");
		return -ENOENT;
	}
	return abi_add_netdev(MOCK_NETDEV, mocks[0].addr) ? -ENODEV : 0;
}

void mock_select(int nr)
{
	selected = nr;
	setenv("RDMA_DEV", mocks[nr].name, 1);
}

static int put_number(const char *path, __u32 number)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", number);
	return abi_put(path, text);
}

int mock_put_gid_ms(int ms)
{
	return put_number(ROOT "/put_gid_ms", ms);
}

int mock_cm_ms(int ms)
{
	return put_number(ROOT "/cm_ms", ms);
}

int mock_ud_qkey(__u32 qkey)
{
	return put_number(ROOT "/ud_qkey", qkey);
}

int mock_work_ms(int ms)
{
	return put_number(ROOT "/work_ms", ms);
}

bool mock_work_runs(void)
{
	FILE *f = fopen(ROOT "/work_ms", "re");
	int n = 0;

	if (f && fscanf(f, "%d", &n) != 1)
		n = 0;
	if (f)
		fclose(f);
	return n;
}

int mock_post_ms(int ms)
{
	return put_number(ROOT "/post_ms", ms);
}

int mock_after_ms(int ms)
{
	return put_number(ROOT "/after_ms", ms);
}

void mock_unload(void)
{
	mock_post_ms(0);
	mock_after_ms(0);
	mock_put_gid_ms(0);
	mock_cm_ms(0);
	mock_ud_qkey(0);
	mock_work_ms(0);
	for (int i = has_second; i >= 0; i--) {
		mock_select(i);
		mock_del();
		abi_del_netdev(mocks[i].netdev);
	}
	has_second = false;
}

int mock_new(const char *options)
{
	char line[256];
	struct abi s;
	int ret;

	unsetenv("RDMA_EP_TEST_ADDR");
	mock_select(selected);
	if (selected && abi_add_netdev(mocks[selected].netdev, mocks[selected].addr))
		return -ENODEV;
	has_second |= selected;
	snprintf(line, sizeof(line), "%s %s %s", mocks[selected].name, mocks[selected].netdev,
		 options);
	ret = abi_put(ROOT "/new", line) ?: abi_open_wait(&s);
	abi_close(&s);
	return ret;
}

int mock_del(void)
{
	return abi_put(ROOT "/del", mocks[selected].name);
}

int mock_write(const char *file, const char *fmt, ...)
{
	char path[128], text[64];
	va_list args;

	snprintf(path, sizeof(path), ROOT "/%s/%s", mocks[selected].name, file);
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return abi_put(path, text);
}

int mock_fail(const char *op, int err, int times, int after)
{
	char file[64];

	snprintf(file, sizeof(file), "fail/%s", op);
	return mock_write(file, "%d %d %d", err, times, after);
}

int mock_stall(const char *op, int calls)
{
	char file[64];

	snprintf(file, sizeof(file), "stall/%s", op);
	return mock_write(file, "%d", calls);
}

static FILE *mock_file(const char *file)
{
	char path[128];

	snprintf(path, sizeof(path), ROOT "/%s/%s", mocks[selected].name, file);
	return fopen(path, "re");
}

int mock_read(const char *file)
{
	FILE *f = mock_file(file);
	int n = -ENOENT;

	if (!f)
		return -errno;
	if (fscanf(f, "%d", &n) != 1)
		n = -EPROTO;
	fclose(f);
	return n;
}

int mock_read_key(const char *file, const char *key)
{
	FILE *f = mock_file(file);
	int n, ret = -ENOENT;
	char word[16];

	if (!f)
		return -errno;
	while (fscanf(f, "%15s %d", word, &n) == 2)
		if (!strcmp(word, key))
			ret = n;
	fclose(f);
	return ret;
}

int mock_count(struct mock_count *c)
{
	FILE *f = mock_file("count");
	int n;

	if (!f)
		return -errno;
	n = fscanf(f, "qp %d cq %d srq %d pd %d mr %d ah %d xrcd %d", &c->qp,
		   &c->cq, &c->srq, &c->pd, &c->mr, &c->ah, &c->xrcd);
	fclose(f);
	return n == 7 ? 0 : -EPROTO;
}

int mock_open(const char *file)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), ROOT "/%s/%s", mocks[selected].name, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int mock_calls(const char *op)
{
	char file[64];

	snprintf(file, sizeof(file), "fail/%s", op);
	return mock_read(file);
}

int mock_wait_stalled(const char *op, int calls)
{
	char file[64];

	snprintf(file, sizeof(file), "stall/%s", op);
	return ABI_UNTIL(mock_read(file) == calls) ? 0 : -ETIMEDOUT;
}
