// SPDX-License-Identifier: GPL-2.0-only
/*
 * Addresses, events, completions and threads for the tests of the library.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib_util.h"

void lib_say(const char *file, int line, const char *fmt, ...)
{
	int error = errno;
	va_list ap;

	fprintf(stderr, "# %s:%d: ", file, line);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	errno = error;
}

/* Does an RDMA device have this address? */
static bool has_device(struct sockaddr *addr)
{
	struct rdma_cm_id *id;
	bool found;

	if (rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP))
		return false;
	found = !rdma_bind_addr(id, addr) && id->verbs;
	rdma_destroy_id(id);
	return found;
}

static bool find_addr(struct sockaddr_in *sin)
{
	struct ifaddrs *list, *i;
	bool found = false;

	if (getifaddrs(&list))
		return false;
	for (i = list; i && !found; i = i->ifa_next) {
		if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET ||
		    i->ifa_flags & IFF_LOOPBACK || !has_device(i->ifa_addr))
			continue;
		memcpy(sin, i->ifa_addr, sizeof(*sin));
		found = true;
	}
	freeifaddrs(list);
	return found;
}

struct sockaddr_in lib_addr(uint16_t port)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };
	const char *env = getenv("RDMA_ADDR");

	if (env ? inet_pton(AF_INET, env, &sin.sin_addr) != 1 : !find_addr(&sin))
		lib_say(__FILE__, __LINE__, "no address of an RDMA device");
	sin.sin_port = htons(port);
	return sin;
}

bool lib_addr6(struct sockaddr_in6 *sin6)
{
	const char *env = getenv("RDMA_ADDR6");

	memset(sin6, 0, sizeof(*sin6));
	sin6->sin6_family = AF_INET6;
	return env && inet_pton(AF_INET6, env, &sin6->sin6_addr) == 1;
}

/* Takes the context from an id, as all ids of a device share it. */
struct ibv_context *lib_context(void)
{
	struct sockaddr_in sin = lib_addr(0);
	struct ibv_context **list, *found = NULL;
	struct rdma_cm_id *id;

	if (rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP)) {
		lib_say(__FILE__, __LINE__, "rdma_create_id: %s", strerror(errno));
		return NULL;
	}
	list = rdma_get_devices(NULL);
	if (list && !rdma_bind_addr(id, SA(&sin))) {
		for (int i = 0; list[i]; i++)
			if (list[i] == id->verbs)
				found = list[i];
	}
	rdma_free_devices(list);
	rdma_destroy_id(id);
	if (!found)
		lib_say(__FILE__, __LINE__, "no RDMA device");
	return found;
}

bool lib_iwarp(struct ibv_context *context)
{
	return context->device->transport_type == IBV_TRANSPORT_IWARP;
}

struct rdma_cm_id *lib_bound_id(struct rdma_event_channel *channel, enum rdma_port_space ps)
{
	struct sockaddr_in sin = lib_addr(0);
	struct rdma_cm_id *id;

	if (rdma_create_id(channel, &id, NULL, ps)) {
		lib_say(__FILE__, __LINE__, "rdma_create_id: %s", strerror(errno));
		return NULL;
	}
	if (!rdma_bind_addr(id, SA(&sin)))
		return id;
	lib_say(__FILE__, __LINE__, "rdma_bind_addr: %s", strerror(errno));
	rdma_destroy_id(id);
	return NULL;
}

struct ibv_ah *lib_own_ah(struct rdma_cm_id *id)
{
	struct ibv_ah_attr attr = {
		.is_global = 1,
		.port_num = id->port_num,
		.grh = { .dgid = id->route.addr.addr.ibaddr.sgid, .hop_limit = 1 },
	};
	union ibv_gid gid;

	for (int i = 0; !ibv_query_gid(id->verbs, id->port_num, i, &gid); i++) {
		if (memcmp(&gid, &attr.grh.dgid, sizeof(gid)))
			continue;
		attr.grh.sgid_index = i;
		return ibv_create_ah(id->pd, &attr);
	}
	lib_say(__FILE__, __LINE__, "no such GID");
	return NULL;
}

void *lib_symbol(const char *name)
{
	void *symbol = dlsym(RTLD_DEFAULT, name);

	if (!symbol)
		lib_say(__FILE__, __LINE__, "there is no %s", name);
	return symbol;
}

int lib_missing(const char *const *names)
{
	int missing = 0;

	for (; *names; names++)
		missing += !lib_symbol(*names);
	return missing;
}

bool lib_readable(int fd, int ms)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	return poll(&pfd, 1, ms) == 1 && pfd.revents & POLLIN;
}

struct rdma_cm_event *lib_get_event(struct rdma_event_channel *channel,
				    enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;

	if (!lib_readable(channel->fd, WAIT_MS)) {
		lib_say(__FILE__, __LINE__, "no %s", rdma_event_str(type));
		return NULL;
	}
	if (rdma_get_cm_event(channel, &event)) {
		lib_say(__FILE__, __LINE__, "rdma_get_cm_event: %s", strerror(errno));
		return NULL;
	}
	if (event->event == type)
		return event;
	lib_say(__FILE__, __LINE__, "%s (status %d) instead of %s",
		rdma_event_str(event->event), event->status, rdma_event_str(type));
	rdma_ack_cm_event(event);
	return NULL;
}

int lib_event(struct rdma_event_channel *channel, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event = lib_get_event(channel, type);

	return event ? rdma_ack_cm_event(event) : -1;
}

static long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

int lib_wait_wc(struct ibv_cq *cq, struct ibv_wc *wc, int n)
{
	long end = now_ms() + WAIT_MS;
	int got = 0, ret;

	while (got < n) {
		ret = ibv_poll_cq(cq, n - got, wc + got);
		if (ret < 0) {
			lib_say(__FILE__, __LINE__, "ibv_poll_cq: %d", ret);
			return -1;
		}
		got += ret;
		if (ret)
			continue;
		if (now_ms() > end) {
			lib_say(__FILE__, __LINE__, "%d of %d completions", got, n);
			return -1;
		}
		usleep(1000);
	}
	return 0;
}

struct ibv_wc lib_next_wc(struct ibv_cq *cq)
{
	struct ibv_wc wc = { .status = IBV_WC_GENERAL_ERR };

	lib_wait_wc(cq, &wc, 1);
	return wc;
}

bool lib_arrived(const void *at, const void *data, size_t len)
{
	long end = now_ms() + WAIT_MS;

	while (memcmp(at, data, len)) {
		if (now_ms() > end)
			return false;
		usleep(1000);
	}
	return true;
}

bool lib_no_wc(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	usleep(QUIET_MS * 1000);
	return ibv_poll_cq(cq, 1, &wc) == 0;
}

struct ibv_cq *lib_cq_event_context(struct ibv_comp_channel *channel, void **context)
{
	struct ibv_cq *cq;

	if (!lib_readable(channel->fd, WAIT_MS)) {
		lib_say(__FILE__, __LINE__, "no event of a CQ");
		return NULL;
	}
	if (ibv_get_cq_event(channel, &cq, context))
		return NULL;
	ibv_ack_cq_events(cq, 1);
	return cq;
}

struct ibv_cq *lib_cq_event(struct ibv_comp_channel *channel)
{
	void *context;

	return lib_cq_event_context(channel, &context);
}

int lib_send(struct rdma_cm_id *id, const void *msg, size_t len)
{
	struct ibv_wc wc;

	DO(rdma_post_send(id, NULL, (void *)msg, len, NULL, IBV_SEND_INLINE));
	wc = lib_next_wc(id->qp->send_cq);
	if (!wc.status)
		return 0;
	lib_say(__FILE__, __LINE__, "%s", ibv_wc_status_str(wc.status));
	return -1;
}

enum ibv_qp_state lib_qp_state(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	if (ibv_query_qp(qp, &attr, IBV_QP_STATE, &init))
		return IBV_QPS_UNKNOWN;
	return attr.qp_state;
}

enum ibv_qp_state lib_qp_state_as(struct ibv_qp *qp, enum ibv_qp_state expected)
{
	enum ibv_qp_state state = lib_qp_state(qp);
	bool iwarp = lib_iwarp(qp->context);
	long end = now_ms() + WAIT_MS;

	if (iwarp && is_stock() && expected == IBV_QPS_RTS)
		return state == IBV_QPS_RESET ? expected : state;
	/* rxe completes a failed request before it changes the state. */
	while (expected != IBV_QPS_RTS && state == IBV_QPS_RTS && now_ms() < end) {
		usleep(1000);
		state = lib_qp_state(qp);
	}
	return iwarp && expected != IBV_QPS_RTS && state != IBV_QPS_RTS ? expected : state;
}

struct ibv_qp_init_attr lib_qp_attr(void)
{
	return (struct ibv_qp_init_attr) {
		.cap = {
			.max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 2, .max_recv_sge = 2,
			.max_inline_data = 16,
		},
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};
}

struct ibv_qp_init_attr lib_qp_attr_on(struct ibv_cq *cq)
{
	struct ibv_qp_init_attr attr = lib_qp_attr();

	attr.send_cq = cq;
	attr.recv_cq = cq;
	return attr;
}

static void *run(void *arg)
{
	struct lib_thread *t = arg;
	void *ret = t->fn(t->arg);

	__atomic_store_n(&t->done, true, __ATOMIC_RELEASE);
	return ret;
}

int lib_start(struct lib_thread *t, void *(*fn)(void *arg), void *arg)
{
	t->fn = fn;
	t->arg = arg;
	t->done = false;
	return pthread_create(&t->thread, NULL, run, t) ? -1 : 0;
}

bool lib_still_blocked(struct lib_thread *t)
{
	usleep(3 * QUIET_MS * 1000);
	return !__atomic_load_n(&t->done, __ATOMIC_ACQUIRE);
}

int lib_join(struct lib_thread *t, void **ret)
{
	struct timespec ts;
	int error;

	clock_gettime(CLOCK_REALTIME, &ts);
	ts.tv_sec += WAIT_MS / 1000;
	error = pthread_timedjoin_np(t->thread, ret, &ts);
	if (!error)
		return 0;
	lib_say(__FILE__, __LINE__, "a thread does not end: %s", strerror(error));
	return -1;
}
