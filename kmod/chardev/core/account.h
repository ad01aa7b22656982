/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Accounts: sums over the sessions of a user in a cgroup, for the administrator
 * (/proc/rdma_ep). They outlive their sessions for a while, so that a reader who comes by
 * periodically misses nothing.
 */
#ifndef RDMA_EP_ACCOUNT_H
#define RDMA_EP_ACCOUNT_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/uidgid.h>
#include <rdma/ib_verbs.h>

#include <rdma/rdma_ep.h>

#define UEP_NR_OBJ_TYPES	(RDMA_EP_OBJ_XRCD + 1)

struct ep_dev;
struct uep_group;
struct uep_session;

/* Reasons of refusals */
enum uep_refusal {
	/* The limits of quota.c, by its table */
	UEP_REFUSED_SESSION_OBJECTS,
	UEP_REFUSED_SESSION_QUEUE,
	UEP_REFUSED_USER_OBJECTS,
	UEP_REFUSED_USER_QUEUE,
	UEP_REFUSED_USER_PINNED,
	/* Those of cgroups, by enum uep_held */
	UEP_REFUSED_CGROUP_OBJECTS,
	UEP_REFUSED_CGROUP_QUEUE,
	UEP_REFUSED_CGROUP_PINNED,
	UEP_REFUSED_EVENTS,		/* an event is lost */
	UEP_REFUSED_MEMLOCK,		/* RLIMIT_MEMLOCK, or no memory */
	UEP_REFUSED_RDMA_MAX,		/* the rdma controller */
	UEP_REFUSED_ACCESS,		/* a closed device, a privileged port or Q_Key, a right */
	UEP_REFUSED_RESTRICTION,	/* a limit of one */
	UEP_REFUSED_OTHER,		/* any other errno of a command */
	UEP_NR_REFUSALS,
};

extern const char * const uep_refusals[UEP_NR_REFUSALS];

/* Work requests or messages, and their bytes */
struct uep_traffic {
	u64 posted;
	u64 bytes;
};

/* The sum of several queues */
struct uep_past {
	atomic64_t posted;
	atomic64_t bytes;
};

/* Counters of a device in an account */
enum uep_count {
	UEP_SENT,
	UEP_SENT_BYTES,
	UEP_RECEIVED,
	UEP_RECEIVED_BYTES,
	UEP_READ,
	UEP_READ_BYTES,
	UEP_COMPLETIONS,
	UEP_ESTABLISHED,
	UEP_DISCONNECTED,
	UEP_CONNECT_FAILED,
	UEP_NR_COUNTS,
};

/* What an account has done on a device */
struct uep_account_dev {
	/* In uep_account.devs (RCU; added with the lock of accounts) */
	struct list_head entry;
	char name[IB_DEVICE_NAME_MAX];	/* of the device, or of several in turn */
	/* ib_device.index of the latest of them, or none: connections count here (as @entry) */
	u32 index;
	atomic64_t past[UEP_NR_COUNTS];	/* of destroyed objects, and of connections */
	/*
	 * Largest values that have been read: objects between their table and @past are in
	 * neither (lock of accounts, as the following)
	 */
	u64 shown[UEP_NR_COUNTS];
	u64 sum[UEP_NR_COUNTS];		/* @past, and the objects of open sessions */
	u32 objs[UEP_NR_OBJ_TYPES];	/* by type */
	u64 pinned;			/* pages */
};

/* A user in a cgroup */
struct uep_account {
	struct hlist_node node;		/* in the table of accounts */
	struct list_head idle;		/* in the list of accounts without a session */
	u32 number;			/* its place in the order of reading */
	kuid_t uid;
	u32 hash;			/* of @uid and @path */
	struct list_head sessions;	/* open ones (lock of accounts) */
	struct list_head devs;		/* devices, until the account is freed */
	atomic64_t refused[UEP_NR_REFUSALS]; /* commands, by reason */
	char path[];			/* of the cgroup */
};

int uep_account_open(struct uep_session *s);
void uep_account_close(struct uep_session *s);
struct uep_account_dev *uep_account_dev(struct uep_account *a, const struct ep_dev *dev);
void uep_account_count(struct uep_account *a, const struct ib_device *ibdev, enum uep_count count);
struct uep_account *uep_accounts_lock(u32 from);
struct uep_account *uep_accounts_next(const struct uep_account *a);
void uep_accounts_unlock(void);
void uep_accounts_cleanup(void);

#endif /* RDMA_EP_ACCOUNT_H */
