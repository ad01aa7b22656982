// SPDX-License-Identifier: BSD-2-Clause
/*
 * rsockets: calls are passed to librdmacm (see docs/internals/design.md). The functions are defined
 * for programs that are linked with librdmacm, name one of them, and run without it:
 * Debian's rping names rpoll(). Without librdmacm there are no rsockets.
 */
#include <poll.h>
#include <stdarg.h>
#include <sys/epoll.h>
#include <rdma/rsocket.h>

#include "core.h"

/* librdmacm is built so, too. */
_Static_assert(sizeof(off_t) == 8, "off_t");

#define RSOCKET(type, fn, params, ...) \
LEP_EXPORT type fn params; \
type fn params \
{ \
	__typeof__(&fn) to = lep_real_fn(fn, lep_real_rsocket(#fn)); \
\
	return to ? to(__VA_ARGS__) : (errno = ENOSYS, (type)-1); \
}

RSOCKET(int, rsocket, (int domain, int type, int protocol), domain, type, protocol)
RSOCKET(int, rbind, (int fd, const struct sockaddr *addr, socklen_t len), fd, addr, len)
RSOCKET(int, rlisten, (int fd, int backlog), fd, backlog)
RSOCKET(int, raccept, (int fd, struct sockaddr *addr, socklen_t *len), fd, addr, len)
RSOCKET(int, rconnect, (int fd, const struct sockaddr *addr, socklen_t len), fd, addr, len)
RSOCKET(int, rshutdown, (int fd, int how), fd, how)
RSOCKET(int, rclose, (int fd), fd)

RSOCKET(ssize_t, rrecv, (int fd, void *buf, size_t len, int flags), fd, buf, len, flags)
RSOCKET(ssize_t, rrecvfrom, (int fd, void *buf, size_t len, int flags,
			     struct sockaddr *from, socklen_t *fromlen),
	fd, buf, len, flags, from, fromlen)
RSOCKET(ssize_t, rrecvmsg, (int fd, struct msghdr *msg, int flags), fd, msg, flags)
RSOCKET(ssize_t, rsend, (int fd, const void *buf, size_t len, int flags),
	fd, buf, len, flags)
RSOCKET(ssize_t, rsendto, (int fd, const void *buf, size_t len, int flags,
			   const struct sockaddr *to_addr, socklen_t addrlen),
	fd, buf, len, flags, to_addr, addrlen)
RSOCKET(ssize_t, rsendmsg, (int fd, const struct msghdr *msg, int flags), fd, msg, flags)
RSOCKET(ssize_t, rread, (int fd, void *buf, size_t len), fd, buf, len)
RSOCKET(ssize_t, rreadv, (int fd, const struct iovec *iov, int n), fd, iov, n)
RSOCKET(ssize_t, rwrite, (int fd, const void *buf, size_t len), fd, buf, len)
RSOCKET(ssize_t, rwritev, (int fd, const struct iovec *iov, int n), fd, iov, n)

RSOCKET(int, rpoll, (struct pollfd *fds, nfds_t n, int timeout), fds, n, timeout)
RSOCKET(int, rselect, (int n, fd_set *readfds, fd_set *writefds, fd_set *exceptfds,
		       struct timeval *timeout),
	n, readfds, writefds, exceptfds, timeout)

/* Headers before rdma-core 65 lack these. */
RSOCKET(int, repoll_create, (int flags), flags)
RSOCKET(int, repoll_ctl, (int epfd, int op, int fd, struct epoll_event *event),
	epfd, op, fd, event)
RSOCKET(int, repoll_wait, (int epfd, struct epoll_event *events, int maxevents, int timeout),
	epfd, events, maxevents, timeout)

RSOCKET(int, rgetpeername, (int fd, struct sockaddr *addr, socklen_t *len), fd, addr, len)
RSOCKET(int, rgetsockname, (int fd, struct sockaddr *addr, socklen_t *len), fd, addr, len)
RSOCKET(int, rsetsockopt, (int fd, int level, int name, const void *value, socklen_t len),
	fd, level, name, value, len)
RSOCKET(int, rgetsockopt, (int fd, int level, int name, void *value, socklen_t *len),
	fd, level, name, value, len)

RSOCKET(off_t, riomap, (int fd, void *buf, size_t len, int prot, int flags, off_t offset),
	fd, buf, len, prot, flags, offset)
RSOCKET(int, riounmap, (int fd, void *buf, size_t len), fd, buf, len)
RSOCKET(size_t, riowrite, (int fd, const void *buf, size_t count, off_t offset, int flags),
	fd, buf, count, offset, flags)

/* The third argument is a long, an int or missing. A long can hold all of them. */
LEP_EXPORT int rfcntl(int fd, int cmd, ...)
{
	__typeof__(&rfcntl) to = lep_real_fn(rfcntl, lep_real_rsocket("rfcntl"));
	va_list args;
	long arg;

	va_start(args, cmd);
	arg = va_arg(args, long);
	va_end(args);
	return to ? to(fd, cmd, arg) : (errno = ENOSYS, -1);
}
