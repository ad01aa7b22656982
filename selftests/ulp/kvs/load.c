// SPDX-License-Identifier: GPL-2.0-only
/*
 * Many clients at once. Each puts, gets and deletes keys of its own, and verifies
 * the replies.
 */
#include <linux/kthread.h>
#include <linux/slab.h>

#include "kvs.h"

struct worker {
	struct kvs_load *load;
	struct task_struct *task;
	struct completion done;
	unsigned int index;
	int ret;
	u8 value[KVS_VALUE_MAX];
	u8 reply[KVS_VALUE_MAX];
};

/* A value that depends on the client and on @i */
static size_t make_value(struct worker *w, unsigned int i)
{
	size_t len = (w->index * 31 + i * 97) % KVS_VALUE_MAX + 1;

	memset(w->value, w->index + i, len);
	snprintf(w->value, len, "%u:%u", w->index, i);
	return len;
}

/* In turn: put, get the value, delete, get -ENOENT */
static int one_request(struct worker *w, struct kvs_client *client, unsigned int i)
{
	size_t want = make_value(w, i / 4);
	char key[32];
	ssize_t ret;

	snprintf(key, sizeof(key), "load:%u:%u", w->index, i / 4 % 8);
	switch (i % 4) {
	case 0:
		ret = kvs_call(client, KVS_PUT, key, w->value, want, NULL);
		return ret > 0 ? -EPROTO : ret;
	case 1:
		ret = kvs_call(client, KVS_GET, key, NULL, 0, w->reply);
		if (ret < 0)
			return ret;
		return ret == want && !memcmp(w->reply, w->value, want) ?
		       0 : -EBADMSG;
	case 2:
		ret = kvs_call(client, KVS_DELETE, key, NULL, 0, NULL);
		return ret > 0 ? -EPROTO : ret;
	default:
		ret = kvs_call(client, KVS_GET, key, NULL, 0, w->reply);
		return ret == -ENOENT ? 0 : -EBADMSG;
	}
}

static int work(struct worker *w)
{
	struct kvs_load *load = w->load;
	struct kvs_client *client;
	unsigned int i;
	int ret = 0;

	client = kvs_connect(load->net, (struct sockaddr *)&load->addr);
	if (atomic_inc_return(&load->tried) == load->clients)
		wake_up_all(&load->all_tried);
	if (IS_ERR(client))
		return PTR_ERR(client);
	atomic_inc(&load->connected);
	wait_event_idle(load->all_tried,
			atomic_read(&load->tried) == load->clients ||
			kthread_should_stop());
	for (i = 0; i < load->requests && !ret; i++) {
		ret = kthread_should_stop() ? -EINTR :
		      one_request(w, client, i);
		if (!ret)
			atomic_inc(&load->replies);
	}
	kvs_close(client);
	return ret;
}

static int worker_fn(void *data)
{
	struct worker *w = data;

	w->ret = work(w);
	complete(&w->done);
	/* kvs_load_run() stops this task later. */
	while (!kthread_should_stop()) {
		set_current_state(TASK_IDLE);
		if (!kthread_should_stop())
			schedule();
		__set_current_state(TASK_RUNNING);
	}
	return 0;
}

static int start(struct kvs_load *load, struct worker *w, unsigned int index)
{
	w->load = load;
	w->index = index;
	init_completion(&w->done);
	w->task = kthread_run(worker_fn, w, "kvs_load/%u", index);
	return PTR_ERR_OR_ZERO(w->task);
}

/* Returns the error of the first client that failed; -EINTR when killed */
int kvs_load_run(struct kvs_load *load)
{
	struct worker *workers;
	unsigned int i, started;
	int ret = 0;

	init_waitqueue_head(&load->all_tried);
	workers = kvcalloc(load->clients, sizeof(*workers), GFP_KERNEL);
	if (!workers)
		return -ENOMEM;
	for (started = 0; started < load->clients && !ret; started++)
		ret = start(load, &workers[started], started);
	if (ret)
		started--;
	for (i = 0; i < started && !ret; i++)
		if (wait_for_completion_killable(&workers[i].done))
			ret = -EINTR;
	for (i = 0; i < started; i++) {
		kthread_stop(workers[i].task);
		ret = ret ?: workers[i].ret;
	}
	kvfree(workers);
	return ret;
}
