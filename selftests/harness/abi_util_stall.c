// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pages on which userfaultfd(2) stops commands.
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "abi.h"

int abi_stall_begin(struct abi_stall *st, const void *data, size_t len, bool reads)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = {
		.mode = reads ? UFFDIO_REGISTER_MODE_MISSING : UFFDIO_REGISTER_MODE_WP,
	};
	struct uffdio_writeprotect wp = { .mode = UFFDIO_WRITEPROTECT_MODE_WP };

	st->reads = reads;
	st->fd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	if (st->fd < 0)
		return -errno;
	st->page = abi_map(ABI_STALL_BYTES);
	if (!reads)
		memcpy(st->page, data, len);
	reg.range.start = (uintptr_t)st->page;
	reg.range.len = ABI_STALL_BYTES;
	wp.range = reg.range;
	if (ioctl(st->fd, UFFDIO_API, &api) || ioctl(st->fd, UFFDIO_REGISTER, &reg) ||
	    (!reads && ioctl(st->fd, UFFDIO_WRITEPROTECT, &wp)))
		return -errno;
	return 0;
}

int abi_stall_wait(struct abi_stall *st)
{
	struct pollfd p = { .fd = st->fd, .events = POLLIN };
	struct uffd_msg msg;

	if (poll(&p, 1, ABI_WAIT_MS) != 1)
		return -ETIMEDOUT;
	return read(st->fd, &msg, sizeof(msg)) == sizeof(msg) ? 0 : -EPROTO;
}

void abi_stall_end(struct abi_stall *st, const void *data)
{
	struct uffdio_writeprotect wp = { .range = { (uintptr_t)st->page, ABI_STALL_BYTES } };
	struct uffdio_copy copy = {
		.dst = (uintptr_t)st->page, .src = (uintptr_t)data, .len = ABI_STALL_BYTES,
	};

	if (st->reads)
		ioctl(st->fd, UFFDIO_COPY, &copy);
	else
		ioctl(st->fd, UFFDIO_WRITEPROTECT, &wp);
	close(st->fd);
}

bool abi_can_stall(void)
{
	struct abi_stall st;

	if (abi_stall_begin(&st, "", 1, false))
		return false;
	close(st.fd);
	return true;
}

static void stalled_child(int ready, int fd, unsigned long cmd, const void *arg)
{
	struct abi_stall st;
	struct abi_call c;

	if (!abi_stall_begin(&st, arg, _IOC_SIZE(cmd), false) && !abi_call(&c, fd, cmd, st.page) &&
	    !abi_stall_wait(&st) && write(ready, "x", 1) == 1)
		pause();
	_exit(1);
}

int abi_stall_child(int fd, unsigned long cmd, const void *arg)
{
	int ready[2], ret = -EPROTO;
	pid_t pid;
	char byte;

	if (pipe(ready))
		return -errno;
	pid = fork();
	if (!pid)
		stalled_child(ready[1], fd, cmd, arg);
	close(ready[1]);
	if (pid > 0 && read(ready[0], &byte, 1) == 1)
		ret = pid;
	close(ready[0]);
	return ret;
}
