// SPDX-License-Identifier: GPL-2.0-only
/*
 * The steps of a client and of a server: connect or accept, transfer data, close.
 */
#include <linux/kthread.h>

#include "kping.h"

static void kping_close_all(struct list_head *conns)
{
	struct kping_conn *conn, *next;

	list_for_each_entry_safe(conn, next, conns, entry)
		kping_close(conn);
}

static int kping_play_all(struct list_head *conns, struct kping_result *result)
{
	u64 began = U64_MAX, ended = 0;
	struct kping_conn *conn;
	int ret = 0;

	list_for_each_entry(conn, conns, entry)
		ret = ret ?: conn->ops->start(conn);
	list_for_each_entry(conn, conns, entry)
		ret = ret ?: conn->ops->play(conn);
	list_for_each_entry(conn, conns, entry) {
		began = min(began, conn->began);
		ended = max(ended, conn->ended);
	}
	if (!ret)
		result->ns = ended - began;
	return ret;
}

static bool kping_has_no_messages(const struct kping_cmd *cmd)
{
	return cmd->mode == KPING_CREATE || cmd->mode == KPING_CYCLE;
}

int kping_client(struct kping_run *run)
{
	struct kping_conn *conn;
	LIST_HEAD(conns);
	int ret = 0;

	if (kping_has_no_messages(&run->cmd))
		return kping_cycles(run);
	while (run->result.conns < run->cmd.conns) {
		conn = kping_connect(run);
		if (IS_ERR(conn)) {
			ret = PTR_ERR(conn);
			break;
		}
		list_add_tail(&conn->entry, &conns);
		run->result.conns++;
	}
	if (!ret)
		ret = kping_play_all(&conns, &run->result);
	kping_close_all(&conns);
	return ret;
}

/* A connection that fails does not end the server; the first error is the run's status. */
static void kping_serve(struct kping_conn *conn, int *first_error)
{
	int ret = conn->ops->serve(conn);

	if (ret && !*first_error)
		*first_error = ret;
	list_del(&conn->entry);
	kping_close(conn);
}

/*
 * Serves and closes connections; without @wait, only those that have ended. With an SRQ,
 * completion handlers serve the others meanwhile.
 */
static void kping_serve_all(struct list_head *conns, bool wait, int *first_error)
{
	struct kping_conn *conn, *next;

	list_for_each_entry_safe(conn, next, conns, entry)
		if (wait || READ_ONCE(conn->error))
			kping_serve(conn, first_error);
}

int kping_server(struct kping_run *run)
{
	const struct kping_cmd *cmd = &run->cmd;
	bool many = cmd->mode == KPING_SRQ;
	struct rdma_ep *listener, *request;
	struct kping_conn *conn;
	LIST_HEAD(conns);
	int ret = 0, first_error = 0;

	listener = kping_listen(run);
	if (IS_ERR(listener))
		return PTR_ERR(listener);

	while (!cmd->conns || run->result.conns < cmd->conns) {
		request = rdma_ep_get_request(listener, RDMA_EP_FOREVER);
		if (IS_ERR(request)) {
			ret = PTR_ERR(request);
			break;
		}
		run->result.conns++;
		conn = kping_accept(run, request);
		if (IS_ERR(conn)) {
			first_error = first_error ?: PTR_ERR(conn);
			continue;
		}
		list_add_tail(&conn->entry, &conns);
		kping_serve_all(&conns, !many, &first_error);
	}
	kping_serve_all(&conns, true, &first_error);
	kping_unlisten(run, listener);
	return ret ?: first_error;
}
