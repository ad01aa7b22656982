// SPDX-License-Identifier: GPL-2.0-only
/*
 * The protocol of rping(1). A round:
 *
 *	client				server
 *	"my text is here"	->
 *					READs it
 *				<-	"go on"
 *	"my empty buffer is here" ->
 *					WRITEs the text there
 *				<-	"go on"
 *	compares both texts
 *
 * Every message has the form of struct kping_advert; the content of "go on" does not
 * matter.
 */
#include <linux/slab.h>

#include "kping.h"

/**
 * struct rping - state of a connection
 * @text: source of the server's READ (client); its target and source of the WRITE (server)
 * @echo: target of the server's WRITE (client)
 * @expected: text that the server expects to read (server)
 */
struct rping {
	struct kping_buf text;
	struct kping_buf echo;
	char *expected;
};

/* A number, then letters; the first letter depends on the number. */
static void rping_text(char *text, size_t size, unsigned int n)
{
	size_t i = scnprintf(text, size, "rdma-ping-%u: ", n);
	char c = 'A' + n % ('z' - 'A' + 1);

	for (; i < size - 1; i++) {
		text[i] = c;
		c = c == 'z' ? 'A' : c + 1;
	}
	text[size - 1] = '\0';
}

static int rping_prepare(struct kping_conn *conn)
{
	struct rping *rping = kzalloc(sizeof(*rping), GFP_KERNEL);
	size_t size = conn->cmd.size;
	int ret;

	if (!rping)
		return -ENOMEM;
	conn->mode = rping;
	ret = kping_talk_prepare(conn);
	if (ret)
		return ret;
	ret = kping_buf_alloc(conn->qp->pd, &rping->text, size);
	if (ret)
		return ret;
	if (!conn->cmd.server)
		return kping_buf_alloc(conn->qp->pd, &rping->echo, size);
	rping->expected = kvmalloc(size, GFP_KERNEL);
	return rping->expected ? 0 : -ENOMEM;
}

static void rping_release(struct kping_conn *conn)
{
	struct rping *rping = conn->mode;

	kping_talk_release(conn);
	if (!rping)
		return;
	kping_buf_free(&rping->text);
	kping_buf_free(&rping->echo);
	kvfree(rping->expected);
	kfree(rping);
}

static int rping_start(struct kping_conn *conn)
{
	struct rping *rping = conn->mode;

	return kping_buf_register(conn, &rping->text, IB_ACCESS_REMOTE_READ) ?:
		kping_buf_register(conn, &rping->echo, IB_ACCESS_LOCAL_WRITE |
				   IB_ACCESS_REMOTE_WRITE);
}

static bool rping_compare(struct kping_buf *buf, const char *text, size_t size)
{
	bool same;

	kping_buf_to_cpu(buf);
	same = !memcmp(buf->data, text, size);
	kping_buf_to_device(buf);
	return same;
}

static int rping_round(struct kping_conn *conn, unsigned int n)
{
	struct rping *rping = conn->mode;
	int ret;

	kping_buf_to_cpu(&rping->text);
	rping_text(rping->text.data, rping->text.size, n);
	kping_buf_to_device(&rping->text);
	if (conn->cmd.verify)
		kping_poison(&rping->echo);

	ret = kping_say(conn, &rping->text) ?: kping_hear(conn, NULL) ?:
	      kping_say(conn, &rping->echo) ?: kping_hear(conn, NULL);
	if (ret)
		return ret;
	kping_count(conn, &conn->rounds, 1);
	if (!conn->cmd.verify)
		return 0;
	if (!rping_compare(&rping->echo, rping->text.data, rping->text.size))
		return -EBADMSG;
	conn->verified++;
	return 0;
}

static int rping_play(struct kping_conn *conn)
{
	unsigned int n;
	int ret = 0;

	conn->began = ktime_get_ns();
	for (n = 0; n < conn->cmd.count && !ret; n++)
		ret = rping_round(conn, n);
	conn->ended = ktime_get_ns();
	return ret;
}

static int rping_serve_round(struct kping_conn *conn, unsigned int n, struct kping_advert *advert)
{
	struct rping *rping = conn->mode;
	u32 size = be32_to_cpu(advert->size);
	int ret;

	if (!size)
		return -EPROTO;
	ret = kping_rdma(conn, IB_WR_RDMA_READ, &rping->text, advert, size);
	if (ret)
		return ret;
	if (conn->cmd.verify) {
		rping_text(rping->expected, size, n);
		if (!rping_compare(&rping->text, rping->expected, size))
			return -EBADMSG;
		conn->verified++;
	}
	return kping_say(conn, NULL) ?: kping_hear(conn, advert) ?:
	       kping_rdma(conn, IB_WR_RDMA_WRITE, &rping->text, advert, size) ?:
	       kping_say(conn, NULL);
}

static int rping_serve(struct kping_conn *conn)
{
	struct rping *rping = conn->mode;
	struct kping_advert advert;
	unsigned int n;
	int ret;

	ret = kping_buf_register(conn, &rping->text, kping_read_access(conn));
	for (n = 0; !ret; n++) {
		/* A client may disconnect between rounds, but not during a round. */
		ret = kping_hear(conn, &advert);
		if (ret)
			return ret == -ECONNRESET ? 0 : ret;
		ret = rping_serve_round(conn, n, &advert);
		if (!ret)
			kping_count(conn, &conn->rounds, 1);
	}
	return ret;
}

const struct kping_ops kping_rping_ops = {
	.prepare = rping_prepare,
	.start = rping_start,
	.play = rping_play,
	.serve = rping_serve,
	.release = rping_release,
};
