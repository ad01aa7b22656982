// SPDX-License-Identifier: BSD-2-Clause
/*
 * Giving a session away, or ending it: rdma_ep_export(3), rdma_ep_keep(3), rdma_ep_close(3), and
 * cookies.
 *
 * The library keeps no list of its objects. The kernel has one, in which uid is the address
 * of each structure.
 */

#include "handover.h"

#define LIST_STEP 64

/* Lists the objects of a session. 0, or -1 and errno. */
int lep_objs_list(struct lep_session *session, struct lep_objs *objs)
{
	struct rdma_ep_cmd_list_objs cmd = { .max = LIST_STEP };
	struct rdma_ep_obj_info *info;
	size_t size = 0;

	memset(objs, 0, sizeof(*objs));
	do {
		if (objs->num + LIST_STEP > size) {
			size = 2 * size + LIST_STEP;
			info = realloc(objs->info, size * sizeof(*info));
			if (!info)
				goto err;
			objs->info = info;
		}
		cmd.objs = (uintptr_t)&objs->info[objs->num];
		if (lep_call(session, LIST_OBJS, &cmd))
			goto err;
		lep_written(&objs->info[objs->num], cmd.num * sizeof(*info));
		objs->num += cmd.num;
	} while (cmd.cursor);
	objs->made = calloc(objs->num + 1, sizeof(*objs->made));
	if (objs->made)
		return 0;
err:
	lep_objs_free(objs);
	return -1;
}

void lep_objs_free(struct lep_objs *objs)
{
	int error = errno;

	free(objs->info);
	free(objs->made);
	memset(objs, 0, sizeof(*objs));
	errno = error;
}

static int set_note(struct lep_session *session, const struct rdma_ep_obj_info *info,
		    const union lep_note *note)
{
	struct rdma_ep_cmd_set_obj cmd = {
		.flags = RDMA_EP_SET_NOTE,
		.handle = info->handle,
		.type = info->type,
	};

	if (!memcmp(note, info->note, sizeof(*note)))
		return 0;
	memcpy(cmd.note, note, sizeof(*note));
	return lep_call(session, SET_OBJ, &cmd);
}

static uint32_t cq_handle(const struct ibv_cq *cq)
{
	return cq && lep_ours(cq->context) ? cq->handle : 0;
}

static void note_attr(struct lep_id_note *note, const struct ibv_qp_init_attr *attr)
{
	note->has_attr = true;
	note->sq_sig_all = attr->sq_sig_all;
	note->attr_send_cq = cq_handle(attr->send_cq);
	note->attr_recv_cq = cq_handle(attr->recv_cq);
	note->attr_srq = attr->srq && lep_ours(attr->srq->context) ? attr->srq->handle : 0;
	note->qp_type = attr->qp_type;
	note->cap = attr->cap;
}

static void note_id(struct lep_id_note *note, const struct lep_id *id)
{
	note->recv_cq = cq_handle(id->id.recv_cq);
	note->send_cq = cq_handle(id->id.send_cq);
	note->recv_channel_apart = note->recv_cq &&
				   id->id.recv_cq_channel != id->id.recv_cq->channel;
	note->send_channel_apart = note->send_cq &&
				   id->id.send_cq_channel != id->id.send_cq->channel;
	note->pd = id->id.pd && lep_ours(id->id.pd->context) ? id->id.pd->handle : 0;
	note->responder_resources = id->responder_resources;
	note->initiator_depth = id->initiator_depth;
	if (id->saved_attr)
		note_attr(note, id->saved_attr);
}

static void note_mcast(struct lep_mcast_note *note, const struct lep_mcast *mcast)
{
	note->send_only = mcast->send_only;
	note->lid = mcast->lid;
	memcpy(note->addr, &mcast->addr, sizeof(note->addr));
}

/* Writes the note of an object. EBUSY if a call on the object is half-way. */
static int note_obj(struct lep_session *session, const struct rdma_ep_obj_info *info)
{
	void *obj = (void *)(uintptr_t)info->uid;
	union lep_note note = {};

	if (!obj)
		return 0;
	switch (info->type) {
	case RDMA_EP_OBJ_CQ:
		if (!lep_cq_can_unread(obj))
			return lep_err(EBUSY);
		note.cq.extended = ((struct lep_cq *)obj)->batch != NULL;
		if (note.cq.extended)
			note.cq.single_threaded = lep_cq_batch_single_threaded(obj);
		break;
	case RDMA_EP_OBJ_QP:
		if (lep_wr_list_started(obj))
			return lep_err(EBUSY);
		note.qp.ops = lep_wr_list_ops(obj);
		break;
	case RDMA_EP_OBJ_ID:
		note_id(&note.id, obj);
		break;
	case RDMA_EP_OBJ_MCAST:
		note_mcast(&note.mcast, obj);
		break;
	default:
		return 0;
	}
	return set_note(session, info, &note);
}

static int note_all(struct lep_session *session, const struct lep_objs *objs)
{
	size_t i;

	for (i = 0; i < objs->num; i++)
		if (note_obj(session, &objs->info[i]))
			return -1;
	return 0;
}

/* The session of an id, or that of the process. NULL and errno. */
static struct lep_session *session_of(struct rdma_cm_id *id,
				      struct lep_session *(*of_process)(void))
{
	struct lep_session *session;

	if (lep_foreign_id(id))
		return lep_null(EINVAL);
	session = id ? lep_to_id(id)->session : of_process();
	return session && lep_inherited(session) ? lep_null(EBADF) : session;
}

/* rdma_ep_export(3) */
LEP_EXPORT int rdma_ep_export(struct rdma_cm_id *id)
{
	struct lep_session *session = session_of(id, lep_session_current);
	struct rdma_ep_cmd_export cmd = { .flags = RDMA_EP_EXPORT_FD };
	struct lep_objs objs;
	int fd, ret;
	size_t i;

	if (!session || lep_objs_list(session, &objs))
		return -1;
	ret = note_all(session, &objs);
	while (!ret && lep_call(session, EXPORT, &cmd)) {
		/* ETIMEDOUT: another thread's call takes long. */
		if (errno != EINTR && errno != ETIMEDOUT)
			ret = -1;
	}
	for (i = 0; !ret && i < objs.num; i++)
		if (objs.info[i].type == RDMA_EP_OBJ_CQ && objs.info[i].uid)
			lep_cq_unread((void *)(uintptr_t)objs.info[i].uid);
	lep_objs_free(&objs);
	if (ret)
		return -1;
	fd = session->fd;
	lep_session_give_up(session);
	lep_close_fd(fd);
	return cmd.fd;
}

/* rdma_ep_keep(3) */
LEP_EXPORT int rdma_ep_keep(struct rdma_cm_id *id)
{
	struct lep_session *session = session_of(id, lep_session_get);
	struct rdma_ep_cmd_export cmd = { .flags = RDMA_EP_KEEP | RDMA_EP_EXPORT_FD };
	struct lep_objs objs;
	int ret;

	if (!session || lep_objs_list(session, &objs))
		return -1;
	ret = note_all(session, &objs);
	lep_objs_free(&objs);
	if (ret || lep_call(session, EXPORT, &cmd))
		return -1;
	return cmd.fd;
}

/* 0, or -1 and EBUSY if the program still has an object of the session */
static int check_unused(struct lep_session *session)
{
	struct lep_objs objs;
	bool unused = true;
	size_t i;

	if (lep_objs_list(session, &objs))
		return -1;
	for (i = 0; i < objs.num; i++)
		unused &= lep_device_shares(session, &objs.info[i]);
	lep_objs_free(&objs);
	return unused ? 0 : lep_err(EBUSY);
}

/* rdma_ep_close(3) */
LEP_EXPORT int rdma_ep_close(int fd)
{
	struct lep_session *session;
	int ret = -1;

	pthread_mutex_lock(&lep_session_lock);
	session = lep_session_of_fd(fd);
	if (session)
		ret = check_unused(session);
	if (!ret) {
		lep_device_free_defaults(session);
		lep_session_close(session);
	}
	pthread_mutex_unlock(&lep_session_lock);
	return ret;
}

/* rdma_ep_split(3) */
LEP_EXPORT int rdma_ep_split(struct rdma_cm_id *id)
{
	struct rdma_ep_cmd_split_id cmd = {};
	struct rdma_ep_obj_info info = { .type = RDMA_EP_OBJ_ID };
	union lep_note note = {};
	struct lep_id *ours;

	if (!id || lep_foreign_id(id))
		return lep_err(EINVAL);
	ours = lep_to_id(id);
	note_id(&note.id, ours);
	/* Its PD is this session's. */
	note.id.pd = 0;
	info.handle = ours->handle;
	cmd.id = ours->handle;
	if (set_note(ours->session, &info, &note) ||
	    lep_call(ours->session, SPLIT_ID, &cmd))
		return -1;
	/* The kernel has reported no event of it: the request is the listener's. */
	lep_id_release(ours, 0);
	return cmd.fd;
}

/* rdma_ep_restrict(3) */
LEP_EXPORT int rdma_ep_restrict(int fd, const struct rdma_ep_restriction *restriction)
{
	struct rdma_ep_cmd_restrict cmd = { .size = sizeof(cmd) };

	if (!restriction)
		return lep_err(EINVAL);
	cmd.flags = restriction->flags;
	cmd.grants = (uintptr_t)restriction->grants;
	cmd.num_grants = restriction->num_grants;
	cmd.max_objects = restriction->max_objects;
	cmd.max_queue_bytes = restriction->max_queue_bytes;
	cmd.max_pinned_bytes = restriction->max_pinned_bytes;
	return ioctl(fd, RDMA_EP_IOC_RESTRICT, &cmd);
}

static struct ibv_context *context_of(enum rdma_ep_obj_type type, void *object)
{
	switch (type) {
	case RDMA_EP_OBJ_CTX:
		return object;
	case RDMA_EP_OBJ_PD:
		return ((struct ibv_pd *)object)->context;
	case RDMA_EP_OBJ_MR:
		return ((struct ibv_mr *)object)->context;
	case RDMA_EP_OBJ_AH:
		return ((struct ibv_ah *)object)->context;
	case RDMA_EP_OBJ_CQ:
		return ((struct ibv_cq *)object)->context;
	case RDMA_EP_OBJ_SRQ:
		return ((struct ibv_srq *)object)->context;
	case RDMA_EP_OBJ_QP:
		return ((struct ibv_qp *)object)->context;
	case RDMA_EP_OBJ_XRCD:
		return ((struct ibv_xrcd *)object)->context;
	default:
		return NULL;
	}
}

static uint32_t handle_of(enum rdma_ep_obj_type type, void *object)
{
	switch (type) {
	case RDMA_EP_OBJ_CTX:
		return lep_to_ctx(object)->handle;
	case RDMA_EP_OBJ_PD:
		return ((struct ibv_pd *)object)->handle;
	case RDMA_EP_OBJ_MR:
		return ((struct ibv_mr *)object)->handle;
	case RDMA_EP_OBJ_AH:
		return ((struct ibv_ah *)object)->handle;
	case RDMA_EP_OBJ_CQ:
		return ((struct ibv_cq *)object)->handle;
	case RDMA_EP_OBJ_SRQ:
		return ((struct ibv_srq *)object)->handle;
	case RDMA_EP_OBJ_QP:
		return ((struct ibv_qp *)object)->handle;
	default:
		return lep_xrcd_handle(object);
	}
}

/* The session and handle of an object. NULL and errno if it is another library's. */
static struct lep_session *find_object(enum rdma_ep_obj_type type, void *object,
				       uint32_t *handle)
{
	struct ibv_context *context;

	if (!object)
		return lep_null(EINVAL);
	if (type == RDMA_EP_OBJ_ID) {
		if (lep_foreign_id(object))
			return lep_null(EINVAL);
		*handle = lep_to_id(object)->handle;
		return lep_to_id(object)->session;
	}
	context = context_of(type, object);
	if (!lep_ours(context))
		return lep_null(EINVAL);
	*handle = handle_of(type, object);
	return lep_to_ctx(context)->session;
}

/* rdma_ep_set_cookie(3) */
LEP_EXPORT int rdma_ep_set_cookie(enum rdma_ep_obj_type type, void *object,
				  uint64_t cookie)
{
	struct rdma_ep_cmd_set_obj cmd = {
		.flags = RDMA_EP_SET_COOKIE,
		.type = type,
		.cookie = cookie,
	};
	struct lep_session *session = find_object(type, object, &cmd.handle);

	return session && !lep_call(session, SET_OBJ, &cmd) ? 0 : -1;
}

/* rdma_ep_get_cookie(3) */
LEP_EXPORT int rdma_ep_get_cookie(enum rdma_ep_obj_type type, void *object,
				  uint64_t *cookie)
{
	struct rdma_ep_obj_info info = {};
	struct rdma_ep_cmd_list_objs cmd = {
		.objs = (uintptr_t)&info,
		.max = 1,
	};
	struct lep_session *session;
	uint32_t handle;

	if (!cookie)
		return lep_err(EINVAL);
	session = find_object(type, object, &handle);
	if (!session)
		return -1;
	cmd.cursor = handle - 1;
	if (lep_call(session, LIST_OBJS, &cmd))
		return -1;
	lep_written(&info, sizeof(info));
	if (!cmd.num || info.handle != handle || info.type != (uint32_t)type)
		return lep_err(ENOENT);
	*cookie = info.cookie;
	return 0;
}
