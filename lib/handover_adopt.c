// SPDX-License-Identifier: BSD-2-Clause
/*
 * Taking a session: rdma_ep_adopt(3) makes the structures of all of its objects, of each type
 * after those that it points to.
 */
#include <unistd.h>

#include "handover.h"

struct adoption {
	struct lep_session *session;
	struct lep_objs objs;
	/* By object: the id that destroys it, or NULL */
	const struct lep_id **owners;
	struct rdma_ep_adopted *out;
	/* Channels by their numbers in the kernel */
	struct ibv_comp_channel **comp;
	uint32_t *comp_number;
	struct rdma_event_channel **channel;
	uint32_t *channel_number;
	size_t num_comp;
	size_t num_channels;
};

/* Finds an object by its handle. Returns whether it is of the type */
static bool find(const struct adoption *a, uint32_t type, uint32_t handle, size_t *found)
{
	size_t low = 0, high = a->objs.num, mid;

	while (handle && low < high) {
		mid = low + (high - low) / 2;
		*found = mid;
		if (a->objs.info[mid].handle == handle)
			return a->objs.info[mid].type == type;
		if (a->objs.info[mid].handle < handle)
			low = mid + 1;
		else
			high = mid;
	}
	return false;
}

/* The structure of a handle, or NULL */
static void *made(const struct adoption *a, uint32_t type, uint32_t handle)
{
	size_t i;

	return find(a, type, handle, &i) ? a->objs.made[i] : NULL;
}

/*
 * Finds like made(), for an id that destroys the object with its QP. NULL also if another id does:
 * the giver chooses the names in notes.
 */
static void *made_for(struct adoption *a, const struct lep_id *id, uint32_t type, uint32_t handle)
{
	size_t i;

	if (!find(a, type, handle, &i) || (a->owners[i] && a->owners[i] != id))
		return NULL;
	a->owners[i] = id;
	return a->objs.made[i];
}

/* Finds like made() an object that no id destroys. */
static void *made_apart(const struct adoption *a, uint32_t type, uint32_t handle)
{
	size_t i;

	return find(a, type, handle, &i) && !a->owners[i] ? a->objs.made[i] : NULL;
}

static int open_queue(struct adoption *a, const struct rdma_ep_obj_info *info)
{
	struct rdma_ep_cmd_open_queue cmd = { .handle = info->handle, .type = info->type };

	return lep_call(a->session, OPEN_QUEUE, &cmd) ? -1 : cmd.fd;
}

static int set_uid(struct adoption *a, const struct rdma_ep_obj_info *info, void *obj)
{
	struct rdma_ep_cmd_set_obj cmd = {
		.flags = RDMA_EP_SET_UID,
		.handle = info->handle,
		.type = info->type,
		.uid = (uintptr_t)obj,
	};

	return lep_call(a->session, SET_OBJ, &cmd);
}

static const union lep_note *note_of(const struct rdma_ep_obj_info *info)
{
	return (const union lep_note *)info->note;
}

static void *make_ctx(struct adoption *a, const struct rdma_ep_obj_info *info)
{
	struct lep_device *dev = lep_device_get(a->session, info->dev_index);
	struct ibv_context *context;

	if (!dev)
		dev = lep_device_removed(info->dev_index);
	context = dev ? lep_context_make(a->session, dev, info->handle,
					 info->flags & RDMA_EP_OBJ_DEFAULT) : NULL;
	if (!context)
		return NULL;
	context->async_fd = open_queue(a, info);
	if (context->async_fd >= 0)
		return context;
	return lep_free_null(lep_to_ctx(context));
}

static void *make_pd(struct adoption *a, const struct rdma_ep_obj_info *info)
{
	struct ibv_pd *pd = calloc(1, sizeof(*pd));

	if (!pd)
		return NULL;
	pd->context = made(a, RDMA_EP_OBJ_CTX, info->ctx);
	pd->handle = info->handle;
	if (info->flags & RDMA_EP_OBJ_DEFAULT)
		lep_context_add_default(lep_to_ctx(pd->context), pd);
	return pd;
}

static struct ibv_comp_channel *make_comp_channel(struct adoption *a,
						  const struct rdma_ep_obj_info *info,
						  struct ibv_context *context)
{
	struct ibv_comp_channel *channel;
	size_t i;

	for (i = 0; i < a->num_comp; i++)
		if (a->comp_number[i] == info->channel)
			return a->comp[i];
	channel = calloc(1, sizeof(*channel));
	if (!channel)
		return NULL;
	channel->context = context;
	channel->fd = open_queue(a, info);
	if (channel->fd < 0)
		return lep_free_null(channel);
	a->comp_number[a->num_comp] = info->channel;
	a->comp[a->num_comp++] = channel;
	return channel;
}

static void *make_cq(struct adoption *a, const struct rdma_ep_obj_info *info)
{
	struct ibv_context *context = made(a, RDMA_EP_OBJ_CTX, info->ctx);
	const union lep_note *note = note_of(info);
	struct ibv_comp_channel *channel = NULL;
	struct lep_cq_batch *batch = NULL;
	struct ibv_cq *cq;

	/* Its completions are in the ring alone. */
	if (info->ring != RDMA_EP_NO_RING && !a->session->rings)
		return lep_null(ENOMEM);
	if (info->channel) {
		channel = make_comp_channel(a, info, context);
		if (!channel)
			return NULL;
	}
	cq = lep_cq_alloc();
	if (!cq)
		return NULL;
	if (note->cq.extended) {
		batch = lep_cq_batch_alloc(note->cq.single_threaded);
		if (!batch)
			goto err;
		lep_cq_batch_attach(lep_to_cq(cq), batch);
	}
	if (set_uid(a, info, cq))
		goto err;
	lep_cq_fill(cq, context, channel, (void *)(uintptr_t)info->cookie, info->handle,
		    info->cqe, info->ring);
	return cq;

err:
	lep_cq_free(cq);
	return NULL;
}

static void *make_xrcd(struct adoption *a, const struct rdma_ep_obj_info *info)
{
	struct lep_xrcd *xrcd = calloc(1, sizeof(*xrcd));

	if (!xrcd)
		return NULL;
	xrcd->xrcd.context = made(a, RDMA_EP_OBJ_CTX, info->ctx);
	xrcd->handle = info->handle;
	return xrcd;
}

static void *make_srq(struct adoption *a, const struct rdma_ep_obj_info *info)
{
	struct ibv_pd *pd = made(a, RDMA_EP_OBJ_PD, info->pd);
	struct lep_srq *srq = lep_srq_alloc();

	if (!srq)
		return NULL;
	srq->xrc = info->xrcd;
	srq->num = info->number;
	lep_srq_fill(srq, pd->context, pd, (void *)(uintptr_t)info->cookie, info->handle,
		     info->ring);
	if (!set_uid(a, info, srq))
		return srq;
	lep_srq_free(srq);
	return NULL;
}

/* Queries state and limits, which a removed device does not have. */
static void query_qp(struct adoption *a, struct lep_qp *qp, struct ibv_qp_cap *cap)
{
	struct rdma_ep_cmd_query_qp cmd = {
		.qp = qp->qp.handle,
		.attr_mask = IBV_QP_STATE | IBV_QP_CAP,
	};

	qp->qp.state = IBV_QPS_ERR;
	if (lep_call(a->session, QUERY_QP, &cmd))
		return;
	qp->qp.state = cmd.attr.qp_state;
	cap->max_send_wr = cmd.attr.max_send_wr;
	cap->max_send_sge = cmd.attr.max_send_sge;
	cap->max_inline_data = cmd.attr.max_inline_data;
}

static void *make_qp(struct adoption *a, const struct rdma_ep_obj_info *info)
{
	const union lep_note *note = note_of(info);
	struct ibv_qp_cap cap = {};
	struct lep_qp *qp = lep_qp_alloc();

	if (!qp)
		return NULL;
	if (note->qp.ops && lep_wr_list_create(qp, note->qp.ops))
		goto err;
	if (set_uid(a, info, qp))
		goto err;
	qp->qp.context = made(a, RDMA_EP_OBJ_CTX, info->ctx);
	qp->qp.qp_context = (void *)(uintptr_t)info->cookie;
	qp->qp.pd = made(a, RDMA_EP_OBJ_PD, info->pd);
	qp->qp.send_cq = made(a, RDMA_EP_OBJ_CQ, info->send_cq);
	qp->qp.recv_cq = made(a, RDMA_EP_OBJ_CQ, info->recv_cq);
	qp->qp.srq = made(a, RDMA_EP_OBJ_SRQ, info->srq);
	qp->qp.handle = info->handle;
	qp->qp.qp_num = info->number;
	qp->qp.qp_type = info->subtype;
	query_qp(a, qp, &cap);
	qp->max_inline_data = cap.max_inline_data;
	if (qp->wr)
		lep_wr_list_set_limits(qp, &cap);
	return qp;

err:
	lep_qp_free(qp);
	return NULL;
}

static void *make_mr(struct adoption *a, const struct rdma_ep_obj_info *info)
{
	struct rdma_ep_region *region = &a->out->regions[a->out->num_regions];
	struct ibv_mr *mr = calloc(1, sizeof(*mr));

	if (!mr)
		return NULL;
	mr->pd = made(a, RDMA_EP_OBJ_PD, info->pd);
	mr->context = mr->pd->context;
	mr->addr = (void *)(uintptr_t)info->addr;
	mr->length = info->length;
	mr->handle = info->handle;
	mr->lkey = info->lkey;
	mr->rkey = info->rkey;
	region->mr = mr;
	region->iova = info->iova;
	region->access = info->access;
	region->cookie = info->cookie;
	a->out->num_regions++;
	return mr;
}

static void *make_ah(struct adoption *a, const struct rdma_ep_obj_info *info)
{
	struct ibv_ah *ah = calloc(1, sizeof(*ah));

	if (!ah)
		return NULL;
	ah->pd = made(a, RDMA_EP_OBJ_PD, info->pd);
	ah->context = ah->pd->context;
	ah->handle = info->handle;
	return ah;
}

/* The id's channel: its own, or one that other ids have, too. None yet: 0 */
static int find_channel(struct adoption *a, const struct rdma_ep_obj_info *info,
			struct lep_id *id)
{
	struct rdma_event_channel *channel;
	size_t i;

	if (!info->channel)
		return 0;
	for (i = 0; !id->sync && i < a->num_channels; i++) {
		if (a->channel_number[i] == info->channel) {
			id->id.channel = a->channel[i];
			return 0;
		}
	}
	channel = id->sync ? id->id.channel : lep_channel_alloc(a->session);
	if (!channel)
		return -1;
	channel->fd = open_queue(a, info);
	if (channel->fd < 0)
		return id->sync ? -1 : lep_free_err(channel);
	id->id.channel = channel;
	if (id->sync)
		return 0;
	a->channel_number[a->num_channels] = info->channel;
	a->channel[a->num_channels++] = channel;
	return 0;
}

/* The attributes of a passive endpoint, which uses them as long as it exists */
static int restore_attr(struct adoption *a, struct lep_id *id, const struct lep_id_note *note)
{
	struct ibv_qp_init_attr *attr = calloc(1, sizeof(*attr));

	if (!attr)
		return -1;
	attr->send_cq = made_apart(a, RDMA_EP_OBJ_CQ, note->attr_send_cq);
	attr->recv_cq = made_apart(a, RDMA_EP_OBJ_CQ, note->attr_recv_cq);
	attr->srq = made_apart(a, RDMA_EP_OBJ_SRQ, note->attr_srq);
	attr->cap = note->cap;
	attr->qp_type = note->qp_type;
	attr->sq_sig_all = note->sq_sig_all;
	id->saved_attr = attr;
	return 0;
}

/* The members of an id that point to other objects */
static void link_id(struct adoption *a, struct lep_id *id, const struct rdma_ep_obj_info *info)
{
	const struct lep_id_note *note = &note_of(info)->id;
	struct ibv_pd *pd = made(a, RDMA_EP_OBJ_PD, note->pd);
	struct lep_qp *qp = made(a, RDMA_EP_OBJ_QP, info->qp);

	if (qp && qp->qp.pd)
		pd = qp->qp.pd;
	if (pd)
		id->id.pd = pd;
	id->id.srq = made_for(a, id, RDMA_EP_OBJ_SRQ, info->srq);
	id->id.recv_cq = made_for(a, id, RDMA_EP_OBJ_CQ, note->recv_cq);
	id->id.send_cq = made_for(a, id, RDMA_EP_OBJ_CQ, note->send_cq);
	/* rdma_get_recv_comp() and rdma_get_send_comp() rely on the context. */
	if (id->id.recv_cq) {
		if (!note->recv_channel_apart)
			id->id.recv_cq_channel = id->id.recv_cq->channel;
		id->id.recv_cq->cq_context = &id->id;
	}
	if (id->id.send_cq) {
		if (!note->send_channel_apart)
			id->id.send_cq_channel = id->id.send_cq->channel;
		id->id.send_cq->cq_context = &id->id;
	}
	if (!qp)
		return;
	lep_qp_set_owner(qp, &id->owner);
	id->id.qp = &qp->qp;
	id->made_qp = &qp->qp;
	id->made_pd = pd;
}

/* Addresses and device. The adopter may have to open the default context of the device. */
static int set_info(struct adoption *a, const struct rdma_ep_obj_info *info, struct lep_id *id)
{
	struct rdma_ep_cmd_query_id query;
	int error;

	if (info->flags & RDMA_EP_OBJ_REMOVED)
		return 0;
	/* EIO: the device has just been removed. */
	if (lep_id_query(id, &query))
		return errno == EIO ? 0 : -1;
	/* A device that the kernel does not list for this session: opening it fails. */
	if (query.info.dev_index && !lep_device_get(a->session, query.info.dev_index) &&
	    !lep_device_removed(query.info.dev_index))
		return -1;
	if (!lep_id_set_info(id, &query.info))
		return 0;
	error = errno;
	return lep_id_query(id, &query) && errno == EIO ? 0 : lep_err(error);
}

static void *make_id(struct adoption *a, const struct rdma_ep_obj_info *info)
{
	const struct lep_id_note *note = &note_of(info)->id;
	void *context = (void *)(uintptr_t)info->cookie;
	struct lep_id *id;

	id = info->flags & RDMA_EP_OBJ_PRIVATE ?
		lep_id_alloc_sync(a->session, context, info->ps, info->subtype) :
		lep_id_alloc(a->session, context, info->ps, info->subtype);
	if (!id)
		return NULL;
	id->handle = info->handle;
	id->responder_resources = note->responder_resources;
	id->initiator_depth = note->initiator_depth;
	if (set_info(a, info, id) || find_channel(a, info, id) || set_uid(a, info, id)) {
		lep_id_free(id);
		return NULL;
	}
	link_id(a, id, info);
	return id;
}

static void *make_mcast(struct adoption *a, const struct rdma_ep_obj_info *info)
{
	const struct lep_mcast_note *note = &note_of(info)->mcast;
	struct lep_id *id = made(a, RDMA_EP_OBJ_ID, info->id);
	struct lep_mcast *mcast = calloc(1, sizeof(*mcast));

	if (!mcast)
		return NULL;
	mcast->handle = info->handle;
	mcast->context = (void *)(uintptr_t)info->cookie;
	mcast->send_only = note->send_only;
	mcast->lid = note->lid;
	memcpy(&mcast->addr, note->addr, sizeof(note->addr));
	if (set_uid(a, info, mcast))
		return lep_free_null(mcast);
	if (id)
		lep_mcast_add(id, mcast);
	return mcast;
}

/* In the order in which structures point to each other */
static const struct {
	uint32_t type;
	void *(*make)(struct adoption *a, const struct rdma_ep_obj_info *info);
	size_t list;		/* in struct rdma_ep_adopted; 0: regions, or none */
} kinds[] = {
	{ RDMA_EP_OBJ_CTX, make_ctx, offsetof(struct rdma_ep_adopted, contexts) },
	{ RDMA_EP_OBJ_PD, make_pd, offsetof(struct rdma_ep_adopted, pds) },
	{ RDMA_EP_OBJ_CQ, make_cq, offsetof(struct rdma_ep_adopted, cqs) },
	{ RDMA_EP_OBJ_XRCD, make_xrcd, offsetof(struct rdma_ep_adopted, xrcds) },
	{ RDMA_EP_OBJ_SRQ, make_srq, offsetof(struct rdma_ep_adopted, srqs) },
	{ RDMA_EP_OBJ_QP, make_qp, offsetof(struct rdma_ep_adopted, qps) },
	{ RDMA_EP_OBJ_MR, make_mr, 0 },
	{ RDMA_EP_OBJ_AH, make_ah, offsetof(struct rdma_ep_adopted, ahs) },
	{ RDMA_EP_OBJ_ID, make_id, offsetof(struct rdma_ep_adopted, ids) },
	{ RDMA_EP_OBJ_MCAST, make_mcast, 0 },
};

#define NR_KINDS (sizeof(kinds) / sizeof(kinds[0]))

static int make_kind(struct adoption *a, unsigned int kind)
{
	size_t list = kinds[kind].list, i, n = 0;
	void **out = calloc(a->objs.num + 1, sizeof(*out));

	if (!out)
		return -1;
	for (i = 0; i < a->objs.num; i++) {
		if (a->objs.info[i].type != kinds[kind].type)
			continue;
		a->objs.made[i] = kinds[kind].make(a, &a->objs.info[i]);
		if (!a->objs.made[i])
			return lep_free_err(out);
		out[n++] = a->objs.made[i];
	}
	if (kinds[kind].type == RDMA_EP_OBJ_MR || kinds[kind].type == RDMA_EP_OBJ_MCAST)
		free(out);
	else
		*(void ***)((char *)a->out + list) = out;
	return 0;
}

/* Called after all ids, which may destroy CQs and SRQs. */
static int restore_attrs(struct adoption *a)
{
	const struct lep_id_note *note;
	size_t i;

	for (i = 0; i < a->objs.num; i++) {
		note = &note_of(&a->objs.info[i])->id;
		if (a->objs.info[i].type == RDMA_EP_OBJ_ID && note->has_attr &&
		    restore_attr(a, a->objs.made[i], note))
			return -1;
	}
	return 0;
}

static int alloc_lists(struct adoption *a)
{
	size_t num = a->objs.num + 1;

	a->owners = calloc(num, sizeof(*a->owners));
	a->comp = calloc(num, sizeof(*a->comp));
	a->comp_number = calloc(num, sizeof(*a->comp_number));
	a->channel = calloc(num, sizeof(*a->channel));
	a->channel_number = calloc(num, sizeof(*a->channel_number));
	a->out->regions = calloc(num, sizeof(*a->out->regions));
	return a->owners && a->comp && a->comp_number && a->channel && a->channel_number &&
	       a->out->regions ? 0 : -1;
}

static int make_all(struct adoption *a)
{
	unsigned int i;

	if (lep_objs_list(a->session, &a->objs) || alloc_lists(a))
		return -1;
	for (i = 0; i < NR_KINDS; i++)
		if (make_kind(a, i))
			return -1;
	return restore_attrs(a);
}

/*
 * After a failure: closes the descriptors that have been made. The structures leak, as they
 * point to each other, and nothing shows how far each one is.
 */
static void close_all(struct adoption *a)
{
	size_t i;

	for (i = 0; i < a->num_comp; i++)
		lep_close_fd(a->comp[i]->fd);
	for (i = 0; i < a->num_channels; i++)
		lep_close_fd(a->channel[i]->fd);
	for (i = 0; i < a->objs.num; i++) {
		struct ibv_context *context = a->objs.made[i];
		struct lep_id *id = a->objs.made[i];

		if (!a->objs.made[i])
			continue;
		if (a->objs.info[i].type == RDMA_EP_OBJ_CTX)
			lep_close_fd(context->async_fd);
		else if (a->objs.info[i].type == RDMA_EP_OBJ_ID && id->sync)
			lep_close_fd(id->id.channel->fd);
	}
}

/* rdma_ep_adopt(3) */
LEP_EXPORT struct rdma_ep_adopted *rdma_ep_adopt(int fd, int flags)
{
	struct adoption a = {};

	if (flags & ~RDMA_EP_KEEP)
		return lep_null(EINVAL);
	a.out = calloc(1, sizeof(*a.out));
	if (!a.out)
		return NULL;
	a.session = lep_session_adopt(fd, flags);
	if (!a.session)
		return lep_free_null(a.out);
	if (!make_all(&a)) {
		a.out->comp_channels = a.comp;
		a.out->channels = a.channel;
	} else {
		/* Before the descriptors are closed: ids end with their channels. */
		lep_session_return(a.session);
		close_all(&a);
		rdma_ep_free_adopted(a.out);
		lep_free_null(a.comp);
		lep_free_null(a.channel);
		a.out = NULL;
	}
	lep_objs_free(&a.objs);
	lep_free_null(a.owners);
	lep_free_null(a.comp_number);
	lep_free_null(a.channel_number);
	return a.out;
}

/* rdma_ep_free_adopted(3) */
LEP_EXPORT void rdma_ep_free_adopted(struct rdma_ep_adopted *adopted)
{
	int error = errno;

	if (!adopted)
		return;
	free(adopted->contexts);
	free(adopted->pds);
	free(adopted->comp_channels);
	free(adopted->cqs);
	free(adopted->srqs);
	free(adopted->qps);
	free(adopted->ahs);
	free(adopted->xrcds);
	free(adopted->channels);
	free(adopted->ids);
	free(adopted->regions);
	free(adopted);
	errno = error;
}
