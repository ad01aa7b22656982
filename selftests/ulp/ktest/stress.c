// SPDX-License-Identifier: GPL-2.0-only
/*
 * Many at once.
 */
#include <linux/kthread.h>

#include "tests.h"

#define KT_CLIENTS	4
#define KT_SERVERS	2
#define KT_STRESS_MS	8000

/**
 * struct kt_load - what the threads share
 * @listener: listener
 * @to: its address
 * @stop: clients come to an end
 * @served_all: servers do
 * @tries: connections that clients have begun
 * @connected: of them established
 * @served: requests accepted
 * @failed: what should have worked and has not
 * @error: the last such error
 */
struct kt_load {
	struct rdma_ep *listener;
	struct sockaddr_storage to;
	bool stop;
	bool served_all;
	atomic_t tries;
	atomic_t connected;
	atomic_t served;
	atomic_t failed;
	int error;
};

static void kt_load_failed(struct kt_load *load, int error)
{
	load->error = error;
	atomic_inc(&load->failed);
}

static int kt_load_client(void *arg)
{
	struct kt_load *load = arg;
	struct kt_setup setup = {};
	struct rdma_ep *ep;
	int ret;

	while (!READ_ONCE(load->stop)) {
		ep = kt_active_to(&setup, &load->to);
		if (IS_ERR(ep)) {
			kt_load_failed(load, PTR_ERR(ep));
			break;
		}
		atomic_inc(&load->tries);
		ret = rdma_ep_connect(ep, NULL, 3 * KT_CALL_MS);
		if (!ret) {
			atomic_inc(&load->connected);
			ret = rdma_ep_disconnect(ep, KT_CALL_MS);
		}
		if (ret)
			kt_load_failed(load, ret);
		rdma_ep_destroy(ep);
	}
	return 0;
}

static int kt_load_server(void *arg)
{
	struct kt_load *load = arg;
	struct rdma_ep *ep;
	int ret;

	/* The listener is there until they have ended: a call must not begin later. */
	while (!READ_ONCE(load->served_all)) {
		ep = rdma_ep_get_request(load->listener, 100);
		if (ep == ERR_PTR(-ETIMEDOUT))
			continue;
		if (IS_ERR(ep))
			return PTR_ERR(ep);
		ret = rdma_ep_accept(ep, NULL, KT_CALL_MS);
		/* The client may be the faster one. */
		if (!ret || ret == -ECONNRESET) {
			atomic_inc(&load->served);
			ret = rdma_ep_disconnect(ep, KT_CALL_MS);
		}
		if (ret)
			kt_load_failed(load, ret);
		rdma_ep_destroy(ep);
	}
	return 0;
}

static int kt_start(struct kt_call *calls, int n, int (*fn)(void *), void *arg)
{
	int i;

	for (i = 0; i < n; i++)
		if (kt_call_start(&calls[i], fn, arg))
			break;
	return i;
}

static void kt_stress(struct kt *t)
{
	struct kt_call clients[KT_CLIENTS], servers[KT_SERVERS];
	struct kt_setup setup = {};
	struct kt_load load = {};
	int nc, ns, i;

	load.listener = kt_passive(&setup);
	if (!kt_expect_ok(t, load.listener))
		return;
	kt_expect_eq(t, 0, rdma_ep_local_addr(load.listener, &load.to));
	kt_expect_eq(t, 0, rdma_ep_listen(load.listener, 32));
	ns = kt_start(servers, KT_SERVERS, kt_load_server, &load);
	nc = kt_start(clients, KT_CLIENTS, kt_load_client, &load);
	schedule_timeout_idle(msecs_to_jiffies(KT_STRESS_MS));
	WRITE_ONCE(load.stop, true);
	for (i = 0; i < nc; i++)
		kt_expect_call(t, &clients[i], 4 * KT_CALL_MS, 0);
	WRITE_ONCE(load.served_all, true);
	for (i = 0; i < ns; i++)
		kt_expect_call(t, &servers[i], 2 * KT_CALL_MS, 0);
	kt_destroy(t, load.listener);
	kt_note(t, "%d connections by %d clients, %d served by %d servers",
		atomic_read(&load.connected), nc, atomic_read(&load.served), ns);
	kt_expect_eq(t, 0, atomic_read(&load.failed));
	kt_expect_eq(t, 0, load.error);
	kt_expect(t, atomic_read(&load.connected) > 2 * KT_CLIENTS);
	kt_expect_eq(t, atomic_read(&load.connected), atomic_read(&load.served));
}

/*
 * Requests arrive while the listener comes and goes. Clients connect or not; nothing
 * may hang, and none may wait for what is gone.
 */
static void kt_stress_listener(struct kt *t)
{
	struct kt_call clients[KT_CLIENTS];
	struct kt_setup setup = {};
	struct kt_load load = {};
	struct rdma_ep *child;
	int nc, i, taken = 0, rounds = 0;
	ktime_t end;

	/* Not a port that a client might be given between two listeners. */
	load.to = kt_with_port(kt_addr(), 4799);
	setup.addr = &load.to;
	nc = kt_start(clients, KT_CLIENTS, kt_load_client, &load);
	end = ktime_add_ms(ktime_get(), KT_STRESS_MS);
	while (ktime_before(ktime_get(), end)) {
		load.listener = kt_passive(&setup);
		if (!kt_expect_ok(t, load.listener))
			break;
		kt_expect_eq(t, 0, rdma_ep_listen(load.listener, 4));
		/* With requests taken, unread, and on their way. */
		if (++rounds % 2) {
			child = rdma_ep_get_request(load.listener, 100);
			if (!IS_ERR(child)) {
				taken++;
				kt_destroy(t, child);
			}
		}
		kt_destroy(t, load.listener);
	}
	WRITE_ONCE(load.stop, true);
	for (i = 0; i < nc; i++)
		kt_expect_call(t, &clients[i], 4 * KT_CALL_MS, 0);
	kt_note(t, "%d listeners, %d requests, %d of them taken", rounds,
		atomic_read(&load.tries), taken);
	kt_expect(t, rounds > 3);
	kt_expect(t, taken);
	kt_expect_eq(t, 0, atomic_read(&load.connected));
}

const struct kt_test kt_stress_tests[] = {
	{ "stress", kt_stress, 180 },
	{ "stress_listener", kt_stress_listener, 180 },
	{}
};
