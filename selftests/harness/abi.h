/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by the tests of the raw ioctl ABI. No function uses the test harness: they return 0
 * (or a count, or a descriptor) or a negative errno, and print unexpected results on stderr.
 */
#ifndef ABI_H
#define ABI_H

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/rdma_user_cm.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The ABI has no implicit padding: the compiler checks it. */
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wpadded"
#include <rdma/rdma_ep.h>
#pragma GCC diagnostic pop

/* The longest wait for an expected event in an emulated guest */
#define ABI_WAIT_MS	(30000 * TEST_SCALE)
/* The wait for an event that must not happen */
#define ABI_QUIET_MS	150

/* enum rdma_cm_event_type */
enum abi_cm_event {
	EV_ADDR_RESOLVED,
	EV_ADDR_ERROR,
	EV_ROUTE_RESOLVED,
	EV_ROUTE_ERROR,
	EV_CONNECT_REQUEST,
	EV_CONNECT_RESPONSE,
	EV_CONNECT_ERROR,
	EV_UNREACHABLE,
	EV_REJECTED,
	EV_ESTABLISHED,
	EV_DISCONNECTED,
	EV_DEVICE_REMOVAL,
	EV_MULTICAST_JOIN,
	EV_MULTICAST_ERROR,
	EV_TIMEWAIT_EXIT = 15,
};

/* The last of enum rdma_ep_obj_type. */
#define ABI_OBJ_LAST	RDMA_EP_OBJ_XRCD

/* enum ibv_qp_type */
enum {
	QPT_RC = IB_UVERBS_QPT_RC,
	QPT_UC = IB_UVERBS_QPT_UC,
	QPT_UD = IB_UVERBS_QPT_UD,
	QPT_XRC_INI = IB_UVERBS_QPT_XRC_INI,
	QPT_XRC_TGT = IB_UVERBS_QPT_XRC_TGT,
};

/* enum ibv_qp_state */
enum { QPS_RESET, QPS_INIT, QPS_RTR, QPS_RTS, QPS_SQD, QPS_SQE, QPS_ERR };

/* enum ibv_qp_attr_mask */
enum {
	QP_STATE = 1 << 0,
	QP_CUR_STATE = 1 << 1,
	QP_ACCESS_FLAGS = 1 << 3,
	QP_PKEY_INDEX = 1 << 4,
	QP_PORT = 1 << 5,
	QP_QKEY = 1 << 6,
	QP_AV = 1 << 7,
	QP_PATH_MTU = 1 << 8,
	QP_TIMEOUT = 1 << 9,
	QP_RETRY_CNT = 1 << 10,
	QP_RNR_RETRY = 1 << 11,
	QP_RQ_PSN = 1 << 12,
	QP_MAX_QP_RD_ATOMIC = 1 << 13,
	QP_ALT_PATH = 1 << 14,
	QP_MIN_RNR_TIMER = 1 << 15,
	QP_SQ_PSN = 1 << 16,
	QP_MAX_DEST_RD_ATOMIC = 1 << 17,
	QP_PATH_MIG_STATE = 1 << 18,
	QP_DEST_QPN = 1 << 20,
};

/* enum ibv_wr_opcode */
enum {
	WR_RDMA_WRITE,
	WR_RDMA_WRITE_WITH_IMM,
	WR_SEND,
	WR_SEND_WITH_IMM,
	WR_RDMA_READ,
	WR_CMP_AND_SWP,
	WR_FETCH_AND_ADD,
	WR_SEND_WITH_INV = 9,
};

/* enum ibv_send_flags */
enum {
	SEND_FENCE = 1 << 0,
	SEND_SIGNALED = 1 << 1,
	SEND_SOLICITED = 1 << 2,
	SEND_INLINE = 1 << 3,
};

/* enum ibv_wc_status, _opcode, _flags */
enum {
	WC_SUCCESS,
	WC_LOC_QP_OP_ERR = 2,
	WC_WR_FLUSH_ERR = 5,
	WC_RNR_RETRY_EXC_ERR = 13,
	WC_GENERAL_ERR = 21,
};

enum {
	WC_OP_SEND,
	WC_OP_RDMA_WRITE,
	WC_OP_RDMA_READ,
	WC_OP_COMP_SWAP,
	WC_OP_FETCH_ADD,
	WC_OP_RECV = 128,
	WC_OP_RECV_RDMA_WITH_IMM,
};

enum { WC_GRH = 1 << 0, WC_WITH_IMM = 1 << 1 };

/* enum ibv_event_type */
enum {
	EVENT_CQ_ERR,
	EVENT_COMM_EST = 4,
	EVENT_PATH_MIG = 6,
	EVENT_DEVICE_FATAL = 8,
	EVENT_SRQ_LIMIT_REACHED = 15,
};

/* enum ib_uverbs_access_flags, shorter */
enum {
	AC_LOCAL_WRITE = IB_UVERBS_ACCESS_LOCAL_WRITE,
	AC_REMOTE_WRITE = IB_UVERBS_ACCESS_REMOTE_WRITE,
	AC_REMOTE_READ = IB_UVERBS_ACCESS_REMOTE_READ,
	AC_REMOTE_ATOMIC = IB_UVERBS_ACCESS_REMOTE_ATOMIC,
	AC_ALL = AC_LOCAL_WRITE | AC_REMOTE_WRITE | AC_REMOTE_READ |
		 AC_REMOTE_ATOMIC,
};

/* A UD QP receives a GRH before the message. */
#define GRH_BYTES	40

/* A session with the default context of the device under test */
struct abi {
	int fd;
	int async_fd;
	__u32 dev;
	__u32 ctx;
	__u32 pd;
	__u32 netdev;
	__u32 gid_index;	/* RoCE: GID of addr */
	bool iwarp;
	bool mock;
	__u8 gid[16];
	struct sockaddr_in addr;
};

/*
 * Calls the command with its own structure, whose size the macro fills in. Calls with another
 * size or pointer use abi_raw().
 */
#define ABI(_fd, _cmd, _arg) ({						\
	__auto_type __arg = (_arg);					\
									\
	static_assert(sizeof(*__arg) == _IOC_SIZE(RDMA_EP_IOC_##_cmd),	\
		      "structure of another command");			\
	abi_ioctl(_fd, RDMA_EP_IOC_##_cmd, __arg);			\
})

/* Calls the command with a copy of the structure in which one member has another value. */
#define ABI_WITH(_fd, _cmd, _good, _member, _value) ({			\
	__auto_type __copy = (_good);					\
									\
	__copy._member = (_value);					\
	ABI(_fd, _cmd, &__copy);					\
})

int abi_ioctl(int fd, unsigned long cmd, void *arg);
int abi_raw(int fd, unsigned long cmd, void *arg);

int abi_open_node(void);
int abi_open(struct abi *s);
int abi_open_default(struct abi *s);
int abi_device_info(const struct abi *s, struct rdma_ep_device_info *info);
/* abi_open() of a new device: waits until it has GIDs. */
int abi_open_wait(struct abi *s);
void abi_close(struct abi *s);

#define ABI_DESTROY(_s, _type, _handle) \
	abi_destroy(_s, RDMA_EP_OBJ_##_type, _handle)
int abi_destroy(const struct abi *s, __u32 type, __u32 handle);
int abi_destroy_flags(const struct abi *s, __u32 type, __u32 handle, __u32 flags);
#define ABI_DESTROY_COUNT(_s, _type, _handle) \
	abi_destroy_count(_s, RDMA_EP_OBJ_##_type, _handle)
/* Returns the number of the object's events (CQ: completion events) that were read, or -errno. */
int abi_destroy_count(const struct abi *s, __u32 type, __u32 handle);

/* Verbs objects */
int abi_ctx(const struct abi *s, __u32 *ctx, int *async_fd);
int abi_alloc_pd(const struct abi *s, __u32 ctx, __u32 *pd);
/* Allocates PDs, at most 1000: @n is their number. Returns the errno of the last call. */
int abi_exhaust_pds(const struct abi *s, int *n);
int abi_reg_mr(const struct abi *s, __u32 pd, void *addr, size_t length,
	       __u32 access, struct rdma_ep_cmd_reg_mr *mr);
int abi_comp_channel(const struct abi *s);
int abi_create_cq(const struct abi *s, int channel, __u32 cqe, __u64 uid, __u32 *cq);
int abi_create_ring_cq(const struct abi *s, int channel, __u32 cqe, __u64 uid,
		       __u32 *cq, __u32 *ring);
int abi_notify_cq(const struct abi *s, __u32 cq, __u32 flags);
int abi_create_srq(const struct abi *s, __u32 pd, __u32 max_wr, __u64 uid, __u32 *srq);
/* @file: descriptor, or -1. -EOPNOTSUPP on all devices but the mock one */
int abi_open_xrcd(const struct abi *s, int file, __u32 flags, __u32 *xrcd);
void abi_qp_attr(struct rdma_ep_cmd_create_qp *qp, __u32 type, __u32 pd, __u32 send_cq,
		 __u32 recv_cq);
/* Attributes of a QP for which the command creates PD and CQs */
void abi_auto_qp(struct rdma_ep_qp_init *init);
/* A QP on the default PD, with one CQ for both queues. @id: the QP's id, or 0 */
int abi_create_qp(const struct abi *s, __u32 type, __u32 cq, __u32 id,
		  struct rdma_ep_cmd_create_qp *qp);
/* Fills in CREATE_EP: connects to a port of our own address, creates a QP and its two CQs. */
void abi_own_ep(const struct abi *s, __u16 port, struct rdma_ep_cmd_create_ep *e);
/* Fills in DESTROY_EP with all parts of an endpoint. */
void abi_ep_parts(const struct rdma_ep_cmd_create_ep *e, struct rdma_ep_cmd_destroy_ep *d);
/* Stores our own address with this port in any address field. */
void abi_own_addr(const struct abi *s, __u16 port, void *addr);
void abi_self_ah(const struct abi *s, struct ib_uverbs_ah_attr *attr);
int abi_create_ah(const struct abi *s, __u32 pd, __u32 *ah);

/* Attributes of RC QPs for RTR (the peer is on this port) and for RTS */
void abi_rtr_attr(const struct abi *s, __u32 dest, struct ib_uverbs_qp_attr *attr);
void abi_rts_attr(struct ib_uverbs_qp_attr *attr);
int abi_modify_qp(const struct abi *s, __u32 qp, const struct ib_uverbs_qp_attr *attr);
int abi_query_qp(const struct abi *s, __u32 qp, __u32 mask, struct ib_uverbs_qp_attr *attr);
int abi_state_of(const struct abi *s, __u32 qp);

/* Transitions of a QP. abi_qp_rts() addresses this port. */
int abi_qp_state(const struct abi *s, __u32 qp, __u32 state);
int abi_qp_init(const struct abi *s, __u32 qp, __u32 type, __u32 qkey);
int abi_qp_rts(const struct abi *s, __u32 qp, __u32 type, __u32 dest);
int abi_qp_connect(const struct abi *s, __u32 type, const struct rdma_ep_qp_init *a,
		   const struct rdma_ep_qp_init *b);

/* Communication ids */
/* An IPv6 address of the device that is not link local; -ENOENT if it has none */
int abi_addr6(const struct abi *s, struct sockaddr_in6 *sin6);
int abi_channel(const struct abi *s);
int abi_create_id(const struct abi *s, int channel, __u32 ps, __u32 type, __u64 uid, __u32 *id);
#define abi_tcp_id(_s, _channel, _uid, _id) \
	abi_create_id(_s, _channel, RDMA_PS_TCP, QPT_RC, _uid, _id)
#define abi_tcp_listen(_s, _channel, ...) \
	abi_listen(_s, _channel, RDMA_PS_TCP, __VA_ARGS__)
#define abi_tcp_client(_s, _channel, ...) \
	abi_client(_s, _channel, RDMA_PS_TCP, __VA_ARGS__)
int abi_bind(const struct abi *s, __u32 id, struct sockaddr_in *sin);
/* Binds to an address of any family, at most as long as struct sockaddr_ib. */
#define ABI_AF_IB	27
#define ABI_AF_IB_BYTES	48
int abi_bind_to(const struct abi *s, __u32 id, const void *addr);
/* @src: NULL for none */
int abi_resolve_from(const struct abi *s, __u32 id, const void *src, const void *dst,
		     __u32 timeout_ms);
#define abi_resolve_addr(_s, _id, _dst, _timeout_ms) \
	abi_resolve_from(_s, _id, NULL, _dst, _timeout_ms)
int abi_id_cmd(const struct abi *s, unsigned long cmd, __u32 id, __u32 arg);
int abi_listen(const struct abi *s, int channel, __u32 ps, __u32 backlog,
	       __u64 uid, __u32 *id, struct sockaddr_in *sin);
/* Resolves and takes the event. */
int abi_resolve(const struct abi *s, int channel, __u32 id, const struct sockaddr_in *dst);
int abi_resolve_route(const struct abi *s, int channel, __u32 id);
int abi_client(const struct abi *s, int channel, __u32 ps,
	       const struct sockaddr_in *dst, __u64 uid, __u32 *id);
/* An RC QP with its own CQ. @id: the QP's id, or 0 */
int abi_id_qp(const struct abi *s, __u32 id, struct rdma_ep_cmd_create_qp *qp);
int abi_connect(const struct abi *s, __u32 id, __u32 qp_num);
/* abi_connect() with a number of READs at a time, in both directions */
int abi_connect_reads(const struct abi *s, __u32 id, __u32 qp_num, __u8 reads);
int abi_accept(const struct abi *s, __u32 id, __u64 uid, __u32 qp_num);

/* Moves the id and its unread events to a channel. */
int abi_migrate(const struct abi *s, __u32 id, int channel);
int abi_user_event(const struct abi *s, __u32 id, __u64 arg);
/* Returns the number of the id's events that were read, or a negative errno. */
int abi_events_reported(const struct abi *s, __u32 id);

/* Handover of sessions: these return a descriptor or a negative errno. */
int abi_export(const struct abi *s, __u32 flags);
int abi_adopt(int fd);
int abi_split_id(const struct abi *s, __u32 id);
int abi_open_queue(int fd, __u32 type, __u32 handle);
/* Lists all objects, @step with each call; returns their number. */
#define ABI_LIST_MAX	256
int abi_list_objs(int fd, __u32 step, struct rdma_ep_obj_info *info);
int abi_count_objs(int fd);

/* An unconnected id that is bound to our address and device */
int abi_ud_id(const struct abi *s, int channel, __u64 uid, __u32 *id);
/* The group 230.1.x.x, and its GID on RoCE */
void abi_group(struct sockaddr_in *sin, __u16 number);
void abi_group_gid(__u8 gid[16], __u16 number);
int abi_join(const struct abi *s, __u32 id, __u16 group, __u64 uid, __u32 *mcast);
int abi_attach(const struct abi *s, __u32 qp, __u16 group);
int abi_detach(const struct abi *s, __u32 qp, __u16 group);

#define ABI_ID_CMD(_s, _cmd, _id, _arg) \
	abi_id_cmd(_s, RDMA_EP_IOC_##_cmd, _id, _arg)

/* Reads one record of @len bytes. Returns 0, -ETIMEDOUT, or the errno of read(2). */
int abi_read(int fd, void *record, size_t len, int timeout_ms);
/* Takes the next event, which must be of this type. @ev: its copy, or NULL */
int abi_event(int channel, enum abi_cm_event event, struct rdma_ep_channel_event *ev);
/* Waits until the file is readable or has failed. */
bool abi_ready(int fd, int timeout_ms);
/* The file stays unreadable for ABI_QUIET_MS. */
static inline bool abi_quiet(int fd)
{
	return !abi_ready(fd, ABI_QUIET_MS);
}

struct abi_end {
	int channel;
	__u32 id;
	__u32 cq[2];			/* send, receive */
	__u32 ring[2];			/* rings of the CQs */
	struct rdma_ep_qp_init qp;
};

/* An established connection: [0] client, [1] server */
struct abi_pair {
	__u32 listener;
	struct abi_end end[2];
	/* Set by the caller, for both QPs; 0: the defaults */
	__u32 max_wr;
	__u32 max_sge;
	__u32 pd[2];
	__u32 srq;			/* for the server's QP */
	bool sig_all;
	bool rings;
	bool no_reads;			/* no READs in either direction */
	int comp;			/* channel of all CQs; 0: none */
};

int abi_pair_open(const struct abi *s, struct abi_pair *p);
/* abi_pair_open() with a session for each end */
int abi_pair_between(const struct abi *client, const struct abi *server, struct abi_pair *p);

/* On one CPU two threads never run at the same time. */
static inline bool abi_one_cpu(void)
{
	return sysconf(_SC_NPROCESSORS_ONLN) == 1;
}

/* Work requests */
struct abi_wrs {
	__u32 len;
	__u32 num;
	__u32 *num_sge;			/* of the last record */
	__aligned_u64 buf[32768 / 8];
};

static inline void abi_wrs_init(struct abi_wrs *w)
{
	w->len = 0;
	w->num = 0;
}

struct rdma_ep_send_wr *abi_send_wr(struct abi_wrs *w, __u32 opcode, __u32 flags, __u64 wr_id);
struct rdma_ep_recv_wr *abi_recv_wr(struct abi_wrs *w, __u64 wr_id);
/* The same, as the first request of an empty list */
#define abi_wrs_send(_w, ...) (abi_wrs_init(_w), abi_send_wr(_w, __VA_ARGS__))
#define abi_wrs_recv(_w, ...) (abi_wrs_init(_w), abi_recv_wr(_w, __VA_ARGS__))
void abi_sge(struct abi_wrs *w, __u64 addr, __u32 length, __u32 lkey);
/* An SGE in a region of this side; the remote address and rkey of a request */
void abi_mr_sge(struct abi_wrs *w, const struct rdma_ep_cmd_reg_mr *mr, __u64 offset, __u32 length);
void abi_remote(struct rdma_ep_send_wr *wr, const struct rdma_ep_cmd_reg_mr *mr, __u64 offset);
void abi_inline(struct abi_wrs *w, struct rdma_ep_send_wr *wr, const void *data, __u32 len);

/* Ranges that are not completely inside the @len bytes at @base */
struct abi_range {
	__u64 addr;
	__u32 len;
};

#define ABI_BAD_RANGES	21
void abi_bad_ranges(__u64 base, __u32 len, struct abi_range *bad);

/* A list of @num empty requests, numbered from @first */
void abi_recv_wrs(struct abi_wrs *w, __u32 num, __u64 first);
void abi_send_wrs(struct abi_wrs *w, __u32 num, __u32 flags, __u64 first);

/* An empty request */
#define abi_post_empty_recv(_s, _qp, _wr_id) \
	abi_recv_one(_s, _qp, _wr_id, 0, 0, 0)
#define abi_post_empty_send(_s, _qp, _flags, _wr_id) \
	abi_send_one(_s, _qp, _flags, _wr_id, 0, 0, 0)
/* A request with one SGE. @_addr: address or pointer, @_len: 0 for no SGE */
#define abi_post_recv(_s, _qp, _wr_id, _addr, _len, _lkey) \
	abi_recv_one(_s, _qp, _wr_id, (uintptr_t)(_addr), _len, _lkey)
#define abi_post_send(_s, _qp, _flags, _wr_id, _addr, _len, _lkey) \
	abi_send_one(_s, _qp, _flags, _wr_id, (uintptr_t)(_addr), _len, _lkey)
int abi_recv_one(const struct abi *s, __u32 qp, __u64 wr_id, __u64 addr, __u32 len, __u32 lkey);
int abi_send_one(const struct abi *s, __u32 qp, __u32 flags, __u64 wr_id, __u64 addr,
		 __u32 len, __u32 lkey);

#define ABI_POST(_s, _cmd, _handle, _w, _posted) \
	abi_post(_s, RDMA_EP_IOC_POST_##_cmd, _handle, _w, _posted)
int abi_post(const struct abi *s, unsigned long cmd, __u32 handle,
	     const struct abi_wrs *w, __u32 *posted);
/* Posts all sends or none (RDMA_EP_POST_ALL). */
int abi_send_all(const struct abi *s, __u32 qp, const struct abi_wrs *w, __u32 *posted);

/* Returns the number of completions that it has taken. */
int abi_poll(const struct abi *s, __u32 cq, struct rdma_ep_wc *wcs, __u32 max);
/* Polls until it has taken @num completions, or ABI_WAIT_MS have passed. */
int abi_wait(const struct abi *s, __u32 cq, struct rdma_ep_wc *wcs, __u32 num);

/* The mapping of all rings of a session, or NULL */
#define ABI_RINGS_BYTES	(RDMA_EP_MAX_RINGS * sizeof(struct rdma_ep_cq_ring))
struct rdma_ep_cq_ring *abi_rings(const struct abi *s);
/*
 * Takes completions as the library does: POLL_CQ is called only if the ring requests it. Returns
 * their number.
 */
int abi_ring_poll(const struct abi *s, __u32 cq, struct rdma_ep_cq_ring *ring,
		  struct rdma_ep_wc *wcs, __u32 max);

/* The objects of all RDMA users, as "rdma resource show" counts them */
struct abi_objects {
	int pd, cq, qp, cm_id, mr, ctx, srq;
};

int abi_objects(struct abi_objects *o);
/* Waits for these counts: the kernel destroys a session's objects after close() has returned. */
int abi_objects_wait(const struct abi_objects *want);
/*
 * Waits until the objects of earlier tests have been destroyed. Tests that compare counts call
 * it before they open a session.
 */
int abi_idle(void);

/* The fdinfo of a file; the number of this key in that of a session, or -1 */
FILE *abi_fdinfo_open(int fd);
long abi_fdinfo(const struct abi *s, const char *key);

/* The sum of a key over all lines of /proc/rdma_ep (readable by root), or -1 */
long abi_accounts(const char *key);

/* The charges of a session and its user, from fdinfo; memory in KiB */
struct abi_charges {
	long objects, queues, user_objects, user_queues, user_pinned;
};

/* Returns 0, or -ENOENT if fdinfo lacks one of them. */
int abi_charges(const struct abi *s, struct abi_charges *c);
/*
 * Waits for these charges: an idle CQ is charged for a tenth of a second. Returns 0 or
 * -ETIMEDOUT.
 */
int abi_charges_wait(const struct abi *s, const struct abi_charges *want);

int abi_put(const char *file, const char *text);
/* system(3) with a formatted command */
int abi_system(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Adds one end of a veth pair, with this address. */
int abi_add_netdev(const char *name, const char *addr);
void abi_del_netdev(const char *name);
/* Runs the function in a child; returns its exit status, or 128 if a signal killed it. */
int abi_child(int (*fn)(void *arg), void *arg);
/* If the condition is false: prints it and returns this exit status of a child. */
#define CHECK(_nr, _cond)						\
	do {								\
		if (!(_cond)) {						\
			fputs("# not so: " #_cond "\n", stderr);	\
			return _nr;					\
		}							\
	} while (0)

int abi_send_fd(int socket, int fd);
int abi_recv_fd(int socket);

int abi_count_fds(void);
/* Moves to the first CPU; @keep: as SCHED_FIFO, so that no other task nor kworker runs there. */
int abi_keep_cpu(bool keep);

/* Gives up root, or one capability, permanently. */
int abi_become(uid_t uid);
int abi_drop_cap(int cap);
static inline int abi_become_nobody(void)
{
	return abi_become(65534);
}

/* Raises SIGALRM after @ms milliseconds and each 200 after that; no SA_RESTART. 0: stops it */
void abi_alarm(int ms);
long abi_now_ms(void);
/* Waits for the data: over iWARP a WRITE arrives shortly after its completion. */
bool abi_arrived(const void *at, const void *data, size_t len);
/* Reproducible random numbers */
__u64 abi_random(void);
void abi_fill(void *buf, size_t len);
/* Private memory, and memory shared with children. Both call abort() if mmap() fails. */
void *abi_map(size_t len);
void *abi_map_shared(size_t len);

/* A page on which accesses wait */
#define ABI_STALL_BYTES	4096
struct abi_stall {
	int fd;
	__u8 *page;
	bool reads;
};

/* False if the kernel does not let writes wait. */
bool abi_can_stall(void);
/* Makes writes to the page wait, which contains @data; with @reads any access, to an empty page */
int abi_stall_begin(struct abi_stall *st, const void *data, size_t len, bool reads);
/* Returns when an access waits. */
int abi_stall_wait(struct abi_stall *st);
/* Lets the access continue, a read with @data. */
void abi_stall_end(struct abi_stall *st, const void *data);
/* Forks a child whose command waits while it writes its results. Returns the child, or -errno. */
int abi_stall_child(int fd, unsigned long cmd, const void *arg);

struct abi_call {
	int fd;
	unsigned long cmd;
	void *arg;
	pthread_t thread;
	int ret;
	volatile bool done;
};

#define ABI_CALL(_call, _s, _cmd, _arg) ({				\
	__auto_type __arg = (_arg);					\
									\
	__arg->size = _IOC_SIZE(RDMA_EP_IOC_##_cmd);			\
	abi_call(_call, (_s)->fd, RDMA_EP_IOC_##_cmd, __arg);		\
})
/* Starts the call. The caller sets the size in the structure. */
int abi_call(struct abi_call *c, int fd, unsigned long cmd, void *arg);
bool abi_call_blocked(const struct abi_call *c);
/* Joins the thread if the call returns within ABI_WAIT_MS. */
bool abi_call_returned(struct abi_call *c);

/* Waits up to ABI_WAIT_MS for the condition; returns whether it is true. */
#define ABI_UNTIL(_cond) ({						\
	long __end = abi_now_ms() + ABI_WAIT_MS;			\
	bool __true;							\
									\
	while (!(__true = (_cond)) && abi_now_ms() < __end)		\
		usleep(1000);						\
	__true;								\
})

#endif /* ABI_H */
