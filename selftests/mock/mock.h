/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * rdma_ep_mock: an RDMA device (RoCE v1, port 1) whose behaviour tests choose.
 *
 * ib_post_send() executes a send at once: it copies to the destination QP, which is on the same
 * device. So every connection is to the device itself, and the CM's messages return to it, too.
 * A post does not check keys and addresses, but refuses an SGE of zero bytes.
 *
 * Control is in debugfs, below rdma_ep_mock/. The files in this folder concern all devices:
 *
 *  new		write "NAME NETDEV [KEY=VALUE]...": create a device. Keys: the limits
 *		of struct ib_device_attr (max_qp_wr=8), driver (enum
 *		rdma_driver_id), srq, xrc (0: not supported), ib_port (1: the
 *		device has an InfiniBand port 2, for which QPs can be modified)
 *  del		write "NAME": remove the device
 *  put_gid_ms	write "MS": rdma_put_gid_attr() sleeps this long, in one task at a
 *		time; 0: off
 *  cm_ms	write "MS": rdma_cm finds no route before it cancels a query for one,
 *		or 20 seconds have passed; the cancellation takes MS; 0: off
 *  ud_qkey	write "QKEY": rdma_cm sets this Q_Key in QPs of unconnected ids, as it
 *		does with that of IPoIB's broadcast group; 0: off
 *  work_ms	write "MS": ep_id_work() of rdma_ep sleeps this long, in one task at a
 *		time; 0: off. Read: 1 while it does, and until ep_id_work() returns
 *  post_ms	write "MS": a post to a QP takes this long in the driver, or until 0 is
 *		written; NAME/stall/post_send and post_recv contain the number
 *		of such posts
 *  after_ms	write "MS": a softirq after a send takes this long; a sender that holds
 *		a lock with softirqs off runs it after the unlock
 *  NAME/context	context of completion and event handlers: "post": inside
 *		ib_post_*, without a lock; "locked": the same with a spinlock
 *		held and interrupts off; "irq": hard interrupt (default);
 *		"work": process context
 *  NAME/caps	granted sizes of queues: "exact"; "more": twice the size;
 *		"unwritten": the same, but only a query returns it; "silent":
 *		the same, but no operation returns it
 *  NAME/event	write "TYPE qp|cq|srq|port|device NUMBER": raise an
 *		asynchronous event (enum ib_event_type)
 *  NAME/last	read: numbers of the last created QP, CQ and SRQ
 *  NAME/count	read: number of objects of each kind, without the core's own
 *		(GSI QP, its CQ and PD)
 *  NAME/fail/OP	write "ERRNO [TIMES [AFTER]]": the operation fails TIMES times
 *		(default -1: always), after AFTER successes; 0: off. Read: number
 *		of calls
 *  NAME/stall/OP	write "CALLS": the next CALLS calls wait until 0 is written.
 *		Read: number of waiting calls. Operations of the data path
 *		cannot wait
 *
 * Locks: mock_dev.lock protects queues, states and objects, in any context. A destruction removes
 * the object from its table, and then takes the lock, after which no other task uses the object.
 */
#ifndef RDMA_EP_MOCK_H
#define RDMA_EP_MOCK_H

#include <linux/interrupt.h>
#include <linux/irq_work.h>
#include <linux/kprobes.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>

#define MOCK_MAX_SGE	8
#define MOCK_MAX_INLINE	128
/* The reserved lkey: an SGE with it contains a kernel address. */
#define MOCK_LOCAL_LKEY	0x1d00

/* Operations that can fail and stall; control.c has their names. */
enum mock_op {
	MOCK_OP_alloc_pd,
	MOCK_OP_dealloc_pd,
	MOCK_OP_create_ah,
	MOCK_OP_destroy_ah,
	MOCK_OP_create_cq,
	MOCK_OP_resize_cq,
	MOCK_OP_modify_cq,
	MOCK_OP_destroy_cq,
	MOCK_OP_poll_cq,
	MOCK_OP_req_notify_cq,
	MOCK_OP_create_srq,
	MOCK_OP_modify_srq,
	MOCK_OP_query_srq,
	MOCK_OP_destroy_srq,
	MOCK_OP_post_srq_recv,
	MOCK_OP_create_qp,
	MOCK_OP_modify_qp,
	MOCK_OP_query_qp,
	MOCK_OP_destroy_qp,
	MOCK_OP_post_send,
	MOCK_OP_post_recv,
	MOCK_OP_attach_mcast,
	MOCK_OP_detach_mcast,
	MOCK_OP_reg_user_mr,
	MOCK_OP_rereg_user_mr,
	MOCK_OP_dereg_mr,
	MOCK_OP_alloc_xrcd,
	MOCK_OP_dealloc_xrcd,
	MOCK_OP_query_port,
	MOCK_OP_query_pkey,
	MOCK_NR_OPS
};

/**
 * struct mock_gate - failures and waits of an operation
 * @dev: device
 * @calls: number of calls so far
 * @err: errno of the failures, or 0
 * @times: number of remaining failures, -1: no limit
 * @after: number of calls before the first failure
 * @stall: number of further calls that must wait
 * @held: waiting calls stay waiting
 * @waiting: number of waiting calls
 */
struct mock_gate {
	struct mock_dev *dev;
	unsigned int calls;
	int err;
	int times;
	int after;
	unsigned int stall;
	bool held;
	int waiting;
};

enum mock_context {
	MOCK_CONTEXT_IRQ,
	MOCK_CONTEXT_POST,
	MOCK_CONTEXT_LOCKED,
	MOCK_CONTEXT_WORK,
};

enum mock_caps {
	MOCK_CAPS_EXACT,
	MOCK_CAPS_MORE,
	MOCK_CAPS_UNWRITTEN,
	MOCK_CAPS_SILENT,
};

enum mock_kind {
	MOCK_QP,
	MOCK_CQ,
	MOCK_SRQ,
	MOCK_PD,
	MOCK_MR,
	MOCK_AH,
	MOCK_XRCD,
	MOCK_NR_KINDS
};

/**
 * struct mock_dev - a device
 * @ibdev: the core's
 * @entry: in the list of devices
 * @ndev: network device (holds a reference)
 * @attr: limits
 * @dir: directory of its files
 * @context: enum mock_context
 * @caps: enum mock_caps
 * @lock: protects the members below
 * @objs: QPs, CQs and SRQs by number
 * @next: start of the search for a free number
 * @last: last allocated numbers
 * @count: numbers of objects
 * @base: numbers of the core's own objects
 * @mrs: memory regions by key
 * @next_key: start of the search for a free key
 * @raised: objects with pending handlers
 * @irq_work: calls the handlers
 * @work: the same
 * @after: softirq after a send (after_ms)
 * @idle: woken when handlers have returned, and when a gate changes
 * @gates: operations
 */
struct mock_dev {
	struct ib_device ibdev;
	struct list_head entry;
	struct net_device *ndev;
	struct ib_device_attr attr;
	struct dentry *dir;
	u32 context;
	u32 caps;
	spinlock_t lock;		/* queues, states, objects, gates */
	struct xarray objs[MOCK_PD];
	u32 next[MOCK_PD];
	u32 last[MOCK_PD];
	int count[MOCK_NR_KINDS];
	int base[MOCK_NR_KINDS];
	struct xarray mrs;
	u32 next_key;
	struct list_head raised;
	struct irq_work irq_work;
	struct work_struct work;
	struct tasklet_struct after;
	wait_queue_head_t idle;
	struct mock_gate gates[MOCK_NR_OPS];
};

/**
 * struct mock_obj - common part of QPs, CQs and SRQs
 * @kind: MOCK_QP, MOCK_CQ or MOCK_SRQ
 * @num: number
 * @entry: in mock_dev.raised while @events or @comp is set
 * @events: bit mask of pending events
 * @comp: CQ: the completion handler is pending
 * @calls: handlers that are running
 */
struct mock_obj {
	enum mock_kind kind;
	u32 num;
	struct list_head entry;
	u32 events;
	bool comp;
	int calls;
};

struct mock_pd {
	struct ib_pd ibpd;
};

struct mock_xrcd {
	struct ib_xrcd ibxrcd;
};

/**
 * struct mock_ah - address
 * @ibah: the core's
 * @sgid: source
 * @dgid: destination
 * @here: the destination is on this device
 */
struct mock_ah {
	struct ib_ah ibah;
	union ib_gid sgid;
	union ib_gid dgid;
	bool here;
};

/**
 * struct mock_mr - memory region over user memory
 * @ibmr: the core's
 * @mm: address space that is charged
 * @pages: pinned pages
 * @nr_pages: their number
 * @map: kernel address of the first page
 * @start: kernel address of the first byte
 * @writable: the pages are pinned for writing
 * @access: IB_ACCESS_*
 */
struct mock_mr {
	struct ib_mr ibmr;
	struct mm_struct *mm;
	struct page **pages;
	unsigned long nr_pages;
	void *map;
	u8 *start;
	bool writable;
	int access;
};

/**
 * struct mock_wqe - a work request
 * @id: wr_id of its completion
 * @opcode: send: enum ib_wr_opcode
 * @flags: send: enum ib_send_flags
 * @num_sge: entries of @sge
 * @sge: entries
 * @imm: immediate data, or rkey
 * @raddr: remote address
 * @rkey: remote key
 * @compare: atomic: operand
 * @swap: atomic: operand
 * @qpn: UD: destination
 * @qkey: UD
 * @sgid: UD: source
 * @dgid: UD: destination
 * @lost: UD: the destination is not on this device
 * @data: inline data
 */
struct mock_wqe {
	u64 id;
	enum ib_wr_opcode opcode;
	int flags;
	int num_sge;
	struct ib_sge sge[MOCK_MAX_SGE];
	__be32 imm;
	u64 raddr;
	u32 rkey;
	u64 compare;
	u64 swap;
	u32 qpn;
	u32 qkey;
	union ib_gid sgid;
	union ib_gid dgid;
	bool lost;
	u8 data[MOCK_MAX_INLINE];
};

struct mock_wq {
	struct mock_wqe *ring;
	u32 size;
	u32 head;
	u32 used;
};

struct mock_cq {
	struct ib_cq ibcq;
	struct mock_obj obj;
	struct ib_wc *ring;
	u32 size;
	u32 head;
	u32 used;
	enum ib_cq_notify_flags notify;
};

struct mock_srq {
	struct ib_srq ibsrq;
	struct mock_obj obj;
	struct ib_pd *pd;
	struct ib_xrcd *xrcd;
	struct mock_wq rq;
	u32 max_wr;
	u32 max_sge;
	u32 limit;
};

/**
 * struct mock_qp - queue pair
 * @ibqp: the core's
 * @obj: number and events
 * @pd: protection domain, NULL for an XRC target
 * @srq: shared receive queue
 * @xrcd: XRC target: domain
 * @sq: sends
 * @rq: receives
 * @cap: result of queries
 * @type: type
 * @state: state
 * @sig_all: all sends generate a completion
 * @running: mock_run() executes its sends
 * @last_wqe: IB_EVENT_QP_LAST_WQE_REACHED has been raised
 * @attr: attributes that modify_qp has set
 */
struct mock_qp {
	struct ib_qp ibqp;
	struct mock_obj obj;
	struct ib_pd *pd;
	struct mock_srq *srq;
	struct ib_xrcd *xrcd;
	struct mock_wq sq;
	struct mock_wq rq;
	struct ib_qp_cap cap;
	enum ib_qp_type type;
	enum ib_qp_state state;
	bool sig_all;
	bool running;
	bool last_wqe;
	struct ib_qp_attr attr;
};

static inline struct mock_dev *to_mock(struct ib_device *ibdev)
{
	return container_of(ibdev, struct mock_dev, ibdev);
}

static inline struct mock_cq *to_mock_cq(struct ib_cq *ibcq)
{
	return container_of(ibcq, struct mock_cq, ibcq);
}

static inline struct mock_qp *to_mock_qp(struct ib_qp *ibqp)
{
	return container_of(ibqp, struct mock_qp, ibqp);
}

static inline struct mock_srq *to_mock_srq(struct ib_srq *ibsrq)
{
	return ibsrq ? container_of(ibsrq, struct mock_srq, ibsrq) : NULL;
}

/* main.c */
extern const struct ib_device_ops mock_ops;
int mock_create(const char *name, const char *netdev, char *options);
int mock_remove(const char *name);

/* control.c */
int mock_gate_locked(struct mock_dev *m, enum mock_op op);
int mock_gate(struct ib_device *ibdev, enum mock_op op, bool may_sleep);
void mock_control_add(struct mock_dev *m, const char *name);
void mock_control_init(void);
void mock_control_cleanup(void);

/* A function of another module, of which one call at a time runs @function instead (replace.c) */
struct mock_replacement {
	const char *symbol;
	void *function;			/* calls mock_replaced() at its end */
	unsigned int ms;		/* 0: off (set with lock) */
	struct task_struct *task;	/* in function */
	struct mutex lock;
	struct kprobe probe;		/* initialised before each registration (lock) */
};

#define MOCK_REPLACEMENT(_name, _symbol, _function) {			\
	.symbol = _symbol,						\
	.function = _function,						\
	.lock = __MUTEX_INITIALIZER(_name.lock),			\
}

static inline void mock_replaced(struct mock_replacement *r)
{
	WRITE_ONCE(r->task, NULL);
}

int mock_replace(struct mock_replacement *r, unsigned int ms);

/* gid.c */
int mock_put_gid_delay(unsigned int ms);

/* cm.c */
int mock_cm_delay(unsigned int ms);
int mock_cm_ud_qkey(unsigned int qkey);

/* item.c */
bool mock_item_runs(void);
int mock_item_delay(unsigned int ms);

/* slow.c */
int mock_post_delay(unsigned int ms);
int mock_after_delay(unsigned int ms);
void mock_post_slowly(struct mock_dev *m, enum mock_op op);
void mock_after_post(struct mock_dev *m);
void mock_after(struct tasklet_struct *after);

#define MOCK_GATE(ibdev, op)		mock_gate(ibdev, MOCK_OP_##op, true)
#define MOCK_GATE_ATOMIC(ibdev, op)	mock_gate(ibdev, MOCK_OP_##op, false)

/* queue.c: objects with numbers, their handlers, completion queues */
int mock_count_add(struct mock_dev *m, enum mock_kind kind, int max);
void mock_count_sub(struct mock_dev *m, enum mock_kind kind);
int mock_obj_add(struct mock_dev *m, struct mock_obj *obj, enum mock_kind kind, u32 num);
void mock_obj_del(struct mock_dev *m, struct mock_obj *obj);
void mock_raise(struct mock_dev *m, struct mock_obj *obj, enum ib_event_type event);
void mock_dispatch(struct mock_dev *m);
void mock_irq_work(struct irq_work *work);
void mock_work(struct work_struct *work);
void mock_unlock(struct mock_dev *m, unsigned long flags) __releases(&m->lock);
u32 mock_depth(struct mock_dev *m, u32 wanted);
u32 mock_granted(struct mock_dev *m, u32 wanted);
u32 mock_queried(struct mock_dev *m, u32 wanted);
int mock_wq_init(struct mock_wq *wq, u32 size);
void mock_cq_add(struct mock_cq *cq, const struct ib_wc *wc, bool solicited);
#ifdef HAVE_CREATE_CQ_ATTRS
int mock_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		   struct uverbs_attr_bundle *attrs);
#else
int mock_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr, struct ib_udata *udata);
#endif
#ifdef HAVE_RESIZE_USER_CQ
#define MOCK_CQE_TYPE unsigned int
#else
#define MOCK_CQE_TYPE int
#endif
int mock_resize_cq(struct ib_cq *ibcq, MOCK_CQE_TYPE cqe, struct ib_udata *udata);
int mock_modify_cq(struct ib_cq *ibcq, u16 count, u16 period);
int mock_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata);
int mock_poll_cq(struct ib_cq *ibcq, int num, struct ib_wc *wc);
int mock_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags);
int mock_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init, struct ib_udata *udata);
int mock_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
		    enum ib_srq_attr_mask mask, struct ib_udata *udata);
int mock_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr);
int mock_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata);

/* verbs.c: PDs, AHs, XRC domains, QPs */
int mock_alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata);
int mock_dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata);
int mock_create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *init, struct ib_udata *udata);
int mock_destroy_ah(struct ib_ah *ibah, u32 flags);
int mock_alloc_xrcd(struct ib_xrcd *ibxrcd, struct ib_udata *udata);
int mock_dealloc_xrcd(struct ib_xrcd *ibxrcd, struct ib_udata *udata);
int mock_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init, struct ib_udata *udata);
int mock_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask, struct ib_udata *udata);
int mock_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		  struct ib_qp_init_attr *init);
int mock_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata);
int mock_attach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid);
int mock_detach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid);

/* mr.c */
struct ib_mr *mock_get_dma_mr(struct ib_pd *ibpd, int access);
#ifdef HAVE_REG_MR_DMAH
struct ib_mr *mock_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length,
			       u64 iova, int access, struct ib_dmah *dmah, struct ib_udata *udata);
#else
struct ib_mr *mock_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length,
			       u64 iova, int access, struct ib_udata *udata);
#endif
struct ib_mr *mock_rereg_user_mr(struct ib_mr *ibmr, int flags, u64 start,
				 u64 length, u64 iova, int access,
				 struct ib_pd *ibpd, struct ib_udata *udata);
int mock_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata);
u8 *mock_local(struct mock_dev *m, struct ib_pd *pd, const struct ib_sge *sge, bool write);
u8 *mock_remote(struct mock_dev *m, struct ib_pd *pd, u32 rkey, u64 addr, u64 length, int access);

/* data.c */
int mock_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr, const struct ib_send_wr **bad);
int mock_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr, const struct ib_recv_wr **bad);
int mock_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
		       const struct ib_recv_wr **bad);
void mock_flush(struct mock_qp *qp);
void mock_run_senders(struct mock_dev *m, struct mock_qp *qp, struct mock_srq *srq);

#endif /* RDMA_EP_MOCK_H */
