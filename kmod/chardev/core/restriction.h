/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Restrictions of sessions (restriction.c). A session has a list of them, which only grows at its
 * head, and shares the list with the sessions that are split off it. An act is allowed if all
 * allow it. The checks take no lock: a restriction does not change, but for what is charged, and
 * lives as long as a session that has it.
 */
#ifndef RDMA_EP_RESTRICTION_H
#define RDMA_EP_RESTRICTION_H

#include <linux/atomic.h>
#include <linux/in6.h>
#include <linux/refcount.h>
#include <linux/socket.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_ep.h>

#include "group.h"

struct uep_session;

#define UEP_MAX_GRANTS		64U
#define UEP_MAX_RESTRICTIONS	16U
#define UEP_GRANTS_PER_OBJ	16U

/* An exception */
struct uep_grant {
	enum rdma_ep_grant_type type;	/* of what */
	u32 dev_index;			/* 0: the device with @name */
	char name[IB_DEVICE_NAME_MAX];
	u8 prefix_len;			/* bits of @addr that count */
	u16 first_port;			/* range of ports */
	u16 last_port;
	struct in6_addr addr;		/* of IPv4: mapped */
};

/* What a session may not do */
struct uep_restriction {
	refcount_t ref;			/* sessions, and restrictions above */
	struct uep_restriction *below;	/* the one before it (holds a reference); NULL: none */
	u32 flags;			/* RDMA_EP_RESTRICT_* */
	u64 max[UEP_NR_HELD];		/* limits; those without a flag are UINT64_MAX */
	/* Charged to the sessions that have it. Channels are objects */
	atomic64_t held[UEP_NR_HELD];
	u32 nr;				/* number of @grants */
	struct uep_grant grants[];
};

const struct uep_restriction *uep_restrictions(const struct uep_session *s);
int uep_restriction_objs(const struct uep_restriction *r);
int uep_restriction_publish(struct uep_restriction *r, struct uep_session *s);
void uep_restriction_put(struct uep_restriction *r);
int uep_restrictions_objs(const struct uep_restriction *r);
struct uep_restriction *uep_restrictions_get(struct uep_session *s);
void uep_restrictions_set(struct uep_session *s, struct uep_restriction *r);

bool uep_restrictions_add(struct uep_session *s, const struct uep_want *w, int sign);

int uep_check_dev(struct uep_session *s, struct ib_device *ibdev);
bool uep_dev_granted(struct uep_session *s, struct ib_device *ibdev);
int uep_check_create_id(const struct uep_session *s);
int uep_check_bind(const struct uep_session *s, const struct sockaddr *addr);
int uep_check_local(const struct uep_session *s, const struct sockaddr *addr);
int uep_check_all_local(const struct uep_session *s, const struct sockaddr *addr, bool both);
int uep_check_peer(const struct uep_session *s, const struct sockaddr *addr);
int uep_check_mcast(const struct uep_session *s, const struct sockaddr *addr);
int uep_check_gid(const struct uep_session *s, const union ib_gid *gid);
int uep_check_own_path(const struct uep_session *s);
int uep_check_source_gid(const struct uep_session *s, const union ib_gid *gid);
int uep_check_resolve(const struct uep_session *s, const struct sockaddr *src,
		      const struct sockaddr *dst);

#endif /* RDMA_EP_RESTRICTION_H */
