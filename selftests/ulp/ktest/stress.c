// SPDX-License-Identifier: GPL-2.0-only
/*
 * Many connections at once, and requests for listeners that are created and destroyed.
 */
#include <linux/kthread.h>

#include "tests.h"

#define KT_CLIENTS	4
#define KT_SERVERS	2
/* Limits of a test: number of connections or listeners, and time */
#define KT_STRESS_CONNECTIONS	200
#define KT_STRESS_LISTENERS	200
#define KT_STRESS_MS		8000

/**
 * struct kt_load - state that the threads share
 * @listener: listener
 * @to: address of @listener
 * @stop: clients end
 * @served_all: servers end
 * @tries: number of connections that clients have begun
 * @connected: number of connections that clients have established
 * @served: number of accepted requests
 * @failed: number of unexpected errors
 * @error: the latest such error
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

static int kt_load_client(struct kt_args *args)
{
	struct kt_load *load = args->data;
	struct rdma_ep *ep;
	int ret;

	while (!READ_ONCE(load->stop)) {
		ep = kt_create_active(NULL, &load->to);
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

static int kt_load_server(struct kt_args *args)
{
	struct kt_load *load = args->data;
	struct rdma_ep *ep;
	int ret;

	/* The test then destroys the listener, after which no call may begin. */
	while (!READ_ONCE(load->served_all)) {
		ep = rdma_ep_get_request(load->listener, 100);
		if (ep == ERR_PTR(-ETIMEDOUT))
			continue;
		if (IS_ERR(ep))
			return PTR_ERR(ep);
		ret = rdma_ep_accept(ep, NULL, KT_CALL_MS);
		/* siw may mistake a reply and the end of the stream for a rejection (SIW-27). */
		if (!ret && kt_iwarp())
			kt_wait_for(rdma_ep_status(ep), KT_CALL_MS);
		/* The client may have disconnected already. */
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

static void kt_start(struct kt *t, struct kt_call **calls, int n,
		     int (*fn)(struct kt_args *args), struct kt_load *load)
{
	while (n--)
		calls[n] = kt_call(t, fn, &(struct kt_args) { .data = load });
}

static void kt_expect_ends(struct kt *t, struct kt_call **calls, int n, unsigned int ms)
{
	while (n--)
		kt_expect_call(t, calls[n], ms, 0);
}

static void kt_stress(struct kt *t)
{
	struct kt_load *load = kt_zalloc(t, sizeof(*load));
	struct kt_call *clients[KT_CLIENTS], *servers[KT_SERVERS];

	load->listener = kt_passive(t, NULL);
	kt_expect_eq(t, 0, rdma_ep_local_addr(load->listener, &load->to));
	kt_expect_eq(t, 0, rdma_ep_listen(load->listener, 32));
	kt_start(t, servers, KT_SERVERS, kt_load_server, load);
	kt_start(t, clients, KT_CLIENTS, kt_load_client, load);
	kt_wait_for(atomic_read(&load->connected) >= KT_STRESS_CONNECTIONS, KT_STRESS_MS);
	WRITE_ONCE(load->stop, true);
	kt_expect_ends(t, clients, KT_CLIENTS, 4 * KT_CALL_MS);
	WRITE_ONCE(load->served_all, true);
	kt_expect_ends(t, servers, KT_SERVERS, 2 * KT_CALL_MS);
	kt_destroy(t, load->listener);
	kt_note("%d connections by %d clients, %d served by %d servers",
		atomic_read(&load->connected), KT_CLIENTS, atomic_read(&load->served), KT_SERVERS);
	kt_expect_eq(t, 0, atomic_read(&load->failed));
	kt_expect_eq(t, 0, load->error);
	kt_expect(t, atomic_read(&load->connected) > 2 * KT_CLIENTS);
	kt_expect_eq(t, atomic_read(&load->connected), atomic_read(&load->served));
}

/*
 * Requests arrive while listeners are created and destroyed. No client may hang or wait for a
 * destroyed listener.
 */
static void kt_stress_listener(struct kt *t)
{
	struct kt_load *load = kt_zalloc(t, sizeof(*load));
	struct kt_call *clients[KT_CLIENTS];
	struct rdma_ep *child;
	int taken = 0, rounds = 0;
	ktime_t end;

	/* A port that no client is assigned between two listeners */
	load->to = kt_with_port(kt_addr(), 4799);
	kt_start(t, clients, KT_CLIENTS, kt_load_client, load);
	end = ktime_add_ms(ktime_get(), KT_STRESS_MS);
	while (rounds < KT_STRESS_LISTENERS && ktime_before(ktime_get(), end)) {
		load->listener = kt_passive(t, &(struct kt_setup) { .addr = &load->to });
		kt_expect_eq(t, 0, rdma_ep_listen(load->listener, 4));
		if (++rounds % 2) {
			child = rdma_ep_get_request(load->listener, 100);
			if (!IS_ERR(child)) {
				taken++;
				kt_expect_eq(t, 0, rdma_ep_destroy(child));
			}
		}
		kt_destroy(t, load->listener);
	}
	WRITE_ONCE(load->stop, true);
	kt_expect_ends(t, clients, KT_CLIENTS, 4 * KT_CALL_MS);
	kt_note("%d listeners, %d requests, %d of them taken", rounds,
		atomic_read(&load->tries), taken);
	kt_expect(t, rounds > 3);
	kt_expect(t, taken);
	kt_expect_eq(t, 0, atomic_read(&load->connected));
}

const struct kt_test kt_stress_tests[] = {
	{ "stress", kt_stress, 180 },
	{ "stress_listener", kt_stress_listener, 180 },
	{}
};
