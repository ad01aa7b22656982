/* SPDX-License-Identifier: BSD-2-Clause */
/* librdma_ep, the upper layer: ids, event channels, events, endpoints. */
#ifndef RDMA_EP_LIB_CM_H
#define RDMA_EP_LIB_CM_H

#include "objects.h"

/* --------------------------------------------------------------- addrinfo.c */

/* Older versions of rdma_cma.h lack these. */
#ifndef RAI_SA
#define RAI_SA 0x00000010
#define RAI_DNS 0x00000020
#endif

int lep_addrinfo_get(const char *node, const char *service,
		     const struct rdma_addrinfo *hints,
		     struct rdma_addrinfo **out);
void lep_addrinfo_free(struct rdma_addrinfo *res);

/* ----------------------------------------------------------------- cm_obj.c */

struct lep_mcast;

/* A program may construct a channel itself. Such a channel has no tag. */
struct lep_channel {
	struct rdma_event_channel channel;
	const void *tag;
	struct lep_session *session;
};

struct lep_id {
	struct rdma_cm_id id;
	const void *tag;		/* see lep_foreign_id() */
	struct lep_session *session;
	uint32_t handle;
	bool sync;			/* id.channel is private */
	bool has_device;

	/* The count of acknowledged events. */
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	uint32_t acked;

	/* The result of rdma_resolve_addrinfo() until it is queried; mutex. */
	bool resolving;
	struct rdma_addrinfo *resolved;

	/* Its memberships in multicast groups; mutex. */
	struct lep_mcast *mcasts;

	/* The QP that rdma_create_qp() created. */
	struct lep_qp_owner owner;
	/* The address of that QP, also after ibv_destroy_qp(): id.qp may still have it. */
	const struct ibv_qp *made_qp;
	/* The PD that the QP brought into id.pd, which leaves with it. */
	const struct ibv_pd *made_pd;
	/* The library has reported a CONNECT_ERROR that the kernel did not report. */
	bool failed;

	/* Values of the connection request. */
	uint8_t responder_resources;
	uint8_t initiator_depth;

	struct ibv_ece local_ece;
	struct ibv_qp_init_attr *saved_attr;	/* of a passive endpoint */
	void *connect;				/* ai_connect of rdma_create_ep() */
	size_t connect_len;
	struct ibv_sa_path_rec path[2];
};

struct lep_event {
	struct rdma_cm_event event;
	struct lep_id *charged;	/* the id that counts the acknowledgment, or NULL */
	struct lep_mcast *mcast;	/* the membership that counts it, too, or NULL */
	uint8_t private_data[RDMA_EP_MAX_PRIVATE_DATA];
};

static inline struct lep_id *lep_to_id(struct rdma_cm_id *id)
{
	return (struct lep_id *)id;
}

extern const char lep_id_tag[];

/*
 * True for an id of the real librdmacm, such as those of rsockets. Exported functions pass
 * calls on it to librdmacm. In librdmacm a pointer with another value follows the public
 * members.
 */
static inline bool lep_foreign_id(struct rdma_cm_id *id)
{
	return id && lep_to_id(id)->tag != lep_id_tag;
}

struct rdma_event_channel *lep_channel_alloc(struct lep_session *session);
bool lep_channel_inherited(const struct rdma_event_channel *channel);
void lep_channel_destroy(struct rdma_event_channel *channel);
struct lep_id *lep_id_alloc(struct lep_session *session, void *context, int ps,
			    enum ibv_qp_type qp_type);
struct lep_id *lep_id_alloc_sync(struct lep_session *session, void *context, int ps,
				 enum ibv_qp_type qp_type);
void lep_id_free(struct lep_id *id);
int lep_id_set_info(struct lep_id *id, const struct rdma_ep_id_info *info);
int lep_id_query(struct lep_id *id, struct rdma_ep_cmd_query_id *cmd);
int lep_id_init_qp_attr(struct lep_id *id, struct ibv_qp_attr *attr, int *mask);
void lep_id_drop_addrinfo(struct lep_id *id);
struct lep_event *lep_event_alloc(void);
void lep_event_ack(struct lep_event *event);
void lep_id_count_ack(struct lep_id *id, struct lep_mcast *mcast);
void lep_id_drop_event(struct lep_id *id);

/* ------------------------------------------------------------- external_qp.c */

/*
 * The external QP of an id, or NULL: a QP that the program has put into id.qp, and that
 * rdma_create_qp() did not create for this id. It may belong to another library. The kernel
 * does not associate it with the id, so the library moves it through its states.
 */
static inline struct ibv_qp *lep_id_external_qp(struct lep_id *id)
{
	return id->id.qp == id->made_qp ? NULL : id->id.qp;
}

int lep_external_qp_connect(struct lep_id *id, struct ibv_qp *qp,
			    const struct rdma_ep_conn_param *limit);
int lep_external_qp_set_state(struct ibv_qp *qp, enum ibv_qp_state state);

/* -------------------------------------------------------------- mcast_list.c */

/*
 * An id's membership in a group. The address of the structure is the cookie. join() puts it
 * on the list before its first event can be read, and sets the handle after the ioctl.
 * lep_mcast_take() waits for the handle, and takes the membership off the list, so that
 * only one thread leaves the group.
 */
struct lep_mcast {
	struct lep_mcast *next;		/* id->mutex */
	uint32_t handle;		/* id->mutex */
	uint32_t acked;			/* id->mutex */
	void *context;
	bool send_only;
	struct sockaddr_storage addr;
	bool joined;			/* gid and lid are set; not for a sender */
	struct ibv_qp *attached;	/* an external QP, or NULL */
	union ibv_gid gid;
	uint16_t lid;
};

void lep_mcast_add(struct lep_id *id, struct lep_mcast *mcast);
void lep_mcast_remove(struct lep_id *id, struct lep_mcast *mcast);
void lep_mcast_set_handle(struct lep_id *id, struct lep_mcast *mcast,
			  uint32_t handle);
struct lep_mcast *lep_mcast_take(struct lep_id *id, const struct sockaddr *addr,
				 socklen_t len);
void lep_mcast_detach_external(struct lep_id *id, const struct lep_mcast *mcast);
int lep_mcast_leave(struct lep_id *id, struct lep_mcast *mcast,
		    uint32_t *events);
void lep_mcast_leave_all(struct lep_id *id);
void lep_mcast_free_all(struct lep_id *id);
int lep_mcast_event(struct lep_id *id, struct lep_mcast *mcast,
		    struct rdma_cm_event *event);

/* ---------------------------------------------------------------- cm_life.c */

int lep_id_create(struct rdma_event_channel *channel, void *context, int ps,
		  enum ibv_qp_type qp_type, struct lep_id **out);
void lep_id_release(struct lep_id *id, uint32_t events);
int lep_id_destroy(struct lep_id *id);
int lep_id_migrate(struct lep_id *id, struct rdma_event_channel *channel);

/* ---------------------------------------------------------------- cm_event.c */

bool lep_event_fill(struct lep_event *event, const struct rdma_ep_channel_event *record,
		    struct lep_id *child, struct rdma_event_channel *channel);
int lep_channel_get_event(struct rdma_event_channel *channel,
			  struct rdma_cm_event **event);
int lep_event_status(const struct rdma_cm_event *event);
int lep_id_await_event(struct lep_id *id);
int lep_id_write_event(struct lep_id *id, uint32_t event, int status,
		       uint64_t arg);
int lep_ioctl_cancelable(int fd, unsigned long request, void *cmd,
			 void (*cancelled)(void *arg), void *arg);

/* A call on a synchronous id that waits in its ioctl for the next event. */
struct lep_await {
	struct lep_id *id;
	struct rdma_ep_await *await;	/* in the command */
	struct lep_event *event;	/* to be filled from rec */
	struct rdma_ep_channel_event rec;
	int error;			/* of the wait, or 0 */
};

void lep_await_init(struct lep_await *wait, struct lep_id *id, uint32_t *flags,
		    struct rdma_ep_await *await);
int lep_await_ioctl(struct lep_await *wait, unsigned long request, void *cmd);
int lep_await_finish(struct lep_await *wait);

/*
 * Executes a command like lep_call(). If the id is synchronous and the command succeeds,
 * the same ioctl waits for the event that lep_await_finish() processes.
 */
#define lep_call_await(id, name, cmd, wait) \
	((cmd)->size = sizeof(*(cmd)), \
	 lep_await_init(wait, id, &(cmd)->flags, &(cmd)->await), \
	 lep_await_ioctl(wait, RDMA_EP_IOC_##name, (cmd)))

/* ---------------------------------------------- cm_id.c, cm_conn.c, cm_qp.c */

int lep_id_set_option(struct lep_id *id, int level, int optname, void *optval,
		      size_t optlen);
int lep_id_resolve_addr(struct lep_id *id, const struct sockaddr *src,
			socklen_t src_len, const struct sockaddr *dst,
			socklen_t dst_len, int timeout_ms);
int lep_id_create_qp(struct lep_id *id, struct ibv_pd *pd,
		     struct ibv_qp_init_attr *attr,
		     struct ibv_qp_init_attr_ex *ex);
void lep_id_finish_qp(struct lep_id *id, struct lep_qp_build *build,
		      const struct rdma_ep_qp_init *init, struct ibv_pd *pd,
		      struct ibv_qp_init_attr *attr);
void lep_id_destroy_qp(struct lep_id *id);
void lep_id_destroy_srq(struct lep_id *id);

#endif
