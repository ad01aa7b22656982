// SPDX-License-Identifier: GPL-2.0-only
/* Restrictions of sessions: their lists, charges and checks. */
#include <linux/in.h>
#include <net/ipv6.h>

#include "core.h"

/* The latest one, or NULL */
const struct uep_restriction *uep_restrictions(const struct uep_session *s)
{
	/* uep_restriction_publish() has filled it in. */
	return smp_load_acquire(&s->restriction);
}

/* The objects that its memory counts as, for each session that has it */
int uep_restriction_objs(const struct uep_restriction *r)
{
	return 1 + r->nr / UEP_GRANTS_PER_OBJ;
}

/* Adds a restriction, which counts all that the session holds. -E2BIG: there are too many. */
int uep_restriction_publish(struct uep_restriction *r, struct uep_session *s)
{
	int i, ret = -E2BIG;

	spin_lock(&s->held_lock);
	if (s->nr_restrictions == UEP_MAX_RESTRICTIONS)
		goto out;
	ret = 0;
	s->nr_restrictions++;
	for (i = 0; i < UEP_NR_HELD; i++)
		atomic64_set(&r->held[i], atomic64_read(&s->held[i]));
	atomic64_add(s->nr_channels, &r->held[UEP_OBJS]);
	r->below = s->restriction;
	/* uep_restrictions() takes no lock. */
	smp_store_release(&s->restriction, r);
out:
	spin_unlock(&s->held_lock);
	return ret;
}

/* NULL: nothing to be put. */
void uep_restriction_put(struct uep_restriction *r)
{
	struct uep_restriction *below;

	for (; r && refcount_dec_and_test(&r->ref); r = below) {
		below = r->below;
		kfree(r);
	}
}

/* As uep_restriction_objs(), with all restrictions below */
int uep_restrictions_objs(const struct uep_restriction *r)
{
	int nr = 0;

	for (; r; r = r->below)
		nr += uep_restriction_objs(r);
	return nr;
}

/* The latest one with a reference, or NULL */
struct uep_restriction *uep_restrictions_get(struct uep_session *s)
{
	struct uep_restriction *r;

	spin_lock(&s->held_lock);
	r = s->restriction;
	if (r)
		refcount_inc(&r->ref);
	spin_unlock(&s->held_lock);
	return r;
}

/* The session is new: it holds nothing, and no other task has found it. Takes the reference. */
void uep_restrictions_set(struct uep_session *s, struct uep_restriction *r)
{
	s->restriction = r;
	for (; r; r = r->below)
		s->nr_restrictions++;
}

/*
 * Charges the session, with the restrictions that it has. @sign: 1, or -1 to undo it. Returns
 * whether all that counts now is within the limits of the restrictions
 */
bool uep_restrictions_add(struct uep_session *s, const struct uep_want *w, int sign)
{
	struct uep_restriction *r;
	bool fits = true;
	u64 nr;
	int i;

	spin_lock(&s->held_lock);
	if (w->of_channel)
		s->nr_channels += sign * w->nr[UEP_OBJS];
	for (i = 0; i < UEP_NR_HELD; i++) {
		if (!w->nr[i])
			continue;
		nr = sign * w->nr[i];
		if (!w->of_channel)
			atomic64_add(nr, &s->held[i]);
		for (r = s->restriction; r; r = r->below)
			fits &= atomic64_add_return(nr, &r->held[i]) <= r->max[i];
	}
	spin_unlock(&s->held_lock);
	return fits;
}

static bool uep_restriction_grants_dev(const struct uep_restriction *r,
				       const struct ib_device *ibdev, u32 index)
{
	const struct uep_grant *g;

	for (g = r->grants; g < r->grants + r->nr; g++)
		if (g->type == RDMA_EP_GRANT_DEVICE &&
		    (g->dev_index ? g->dev_index == index : !strcmp(g->name, ibdev->name)))
			return true;
	return false;
}

/* May the session use the device, whatever the task? Process context */
bool uep_dev_granted(struct uep_session *s, struct ib_device *ibdev)
{
	const struct uep_restriction *r = uep_restrictions(s);
	struct ep_dev *dev;
	u32 index = 0;

	if (!r)
		return true;
	dev = ep_dev_of(ibdev);
	if (dev) {
		index = dev->index;
		ep_dev_put(dev);
	}
	for (; r; r = r->below)
		if ((r->flags & RDMA_EP_RESTRICT_DEVICES) &&
		    !uep_restriction_grants_dev(r, ibdev, index))
			return false;
	return true;
}

/* May the current task use the device in the session? -EACCES, -ENOMEM. Process context */
int uep_check_dev(struct uep_session *s, struct ib_device *ibdev)
{
	return uep_dev_granted(s, ibdev) ? uep_dev_check_access(ibdev) : -EACCES;
}

/* May the session create ids? -EPERM */
int uep_check_create_id(const struct uep_session *s)
{
	const struct uep_restriction *r;

	for (r = uep_restrictions(s); r; r = r->below)
		if (r->flags & RDMA_EP_RESTRICT_IDS)
			return -EPERM;
	return 0;
}

/* The unspecified address of IPv4, mapped */
static const struct in6_addr uep_any_v4 = {
	.s6_addr = { [10] = 0xff, [11] = 0xff },
};

/* An address as grants have it, with a range of ports. Not @is_ip: no grant names it. */
struct uep_addr_range {
	struct in6_addr addr;
	bool is_ip;
	u16 first_port;
	u16 last_port;
};

static bool uep_restriction_grants(const struct uep_restriction *r, enum rdma_ep_grant_type type,
				   const struct uep_addr_range *a)
{
	bool v4 = ipv6_addr_v4mapped(&a->addr);
	const struct uep_grant *g;

	if (!a->is_ip)
		return false;
	for (g = r->grants; g < r->grants + r->nr; g++)
		if (g->type == type && ipv6_addr_v4mapped(&g->addr) == v4 &&
		    ipv6_prefix_equal(&g->addr, &a->addr, g->prefix_len) &&
		    g->first_port <= a->first_port && a->last_port <= g->last_port)
			return true;
	return false;
}

static int uep_check_range(const struct uep_session *s, enum rdma_ep_grant_type type,
			   const struct uep_addr_range *a)
{
	u32 flag = type == RDMA_EP_GRANT_BIND ? RDMA_EP_RESTRICT_BIND : RDMA_EP_RESTRICT_CONNECT;
	const struct uep_restriction *r;

	for (r = uep_restrictions(s); r; r = r->below)
		if ((r->flags & flag) && !uep_restriction_grants(r, type, a))
			return -EACCES;
	return 0;
}

/* The address of an unbound id is the unspecified one. */
static struct uep_addr_range uep_sockaddr_range(const struct sockaddr *addr)
{
	const struct sockaddr_in6 *sin6 = (const void *)addr;
	const struct sockaddr_in *sin = (const void *)addr;
	struct uep_addr_range a = { .is_ip = true };

	switch (addr->sa_family) {
	case AF_UNSPEC:
		a.addr = uep_any_v4;
		break;
	case AF_INET:
		ipv6_addr_set_v4mapped(sin->sin_addr.s_addr, &a.addr);
		a.first_port = ntohs(sin->sin_port);
		break;
	case AF_INET6:
		a.addr = sin6->sin6_addr;
		a.first_port = ntohs(sin6->sin6_port);
		break;
	default:
		a.is_ip = false;
	}
	a.last_port = a.first_port;
	return a;
}

/* @gid: of RoCE, where it is an IP address; NULL: another address, which has no grant */
static struct uep_addr_range uep_gid_range(const union ib_gid *gid, u16 first_port, u16 last_port)
{
	struct uep_addr_range a = {
		.is_ip = gid,
		.first_port = first_port,
		.last_port = last_port,
	};

	if (gid)
		memcpy(&a.addr, gid->raw, sizeof(a.addr));
	return a;
}

/* The unspecified address of IPv6 may be that of IPv4 as well. */
static int uep_check_bind_range(const struct uep_session *s, struct uep_addr_range *a)
{
	int ret = uep_check_range(s, RDMA_EP_GRANT_BIND, a);

	if (ret || !ipv6_addr_any(&a->addr))
		return ret;
	a->addr = uep_any_v4;
	ret = uep_check_range(s, RDMA_EP_GRANT_BIND, a);
	a->addr = in6addr_any;
	return ret;
}

/* May the session bind an id to the address? -EACCES */
int uep_check_bind(const struct uep_session *s, const struct sockaddr *addr)
{
	struct uep_addr_range a = uep_sockaddr_range(addr);

	return uep_check_bind_range(s, &a);
}

/* May an id with this local address act? The kernel may have chosen the port. -EACCES */
int uep_check_local(const struct uep_session *s, const struct sockaddr *addr)
{
	struct uep_addr_range a = uep_sockaddr_range(addr);

	if (!uep_check_bind_range(s, &a))
		return 0;
	a.first_port = 0;
	a.last_port = 0;
	return uep_check_bind_range(s, &a);
}

/*
 * May an id, which may act with this local address, listen at all addresses? Except over iWARP,
 * rdma_cm does so for an unspecified and for a loopback address. @both: at those of IPv6 even if
 * @addr is one of IPv4. -EACCES
 */
int uep_check_all_local(const struct uep_session *s, const struct sockaddr *addr, bool both)
{
	struct uep_addr_range a = uep_sockaddr_range(addr);
	struct in6_addr own = a.addr;

	a.addr = both || addr->sa_family == AF_INET6 ? in6addr_any : uep_any_v4;
	return ipv6_addr_equal(&a.addr, &own) ? 0 : uep_check_bind_range(s, &a);
}

/* May an id resolve, or connect to, the address? -EACCES */
int uep_check_peer(const struct uep_session *s, const struct sockaddr *addr)
{
	struct uep_addr_range a = uep_sockaddr_range(addr);

	return uep_check_range(s, RDMA_EP_GRANT_CONNECT, &a);
}

/* May an id join the group? The port has no meaning. -EACCES */
int uep_check_mcast(const struct uep_session *s, const struct sockaddr *addr)
{
	struct uep_addr_range a = uep_sockaddr_range(addr);

	a.first_port = 0;
	a.last_port = U16_MAX;
	return uep_check_range(s, RDMA_EP_GRANT_CONNECT, &a);
}

/* May the session reach all that is at the address? -EACCES */
int uep_check_gid(const struct uep_session *s, const union ib_gid *gid)
{
	struct uep_addr_range a = uep_gid_range(gid, 0, U16_MAX);

	return uep_check_range(s, RDMA_EP_GRANT_CONNECT, &a);
}

/* May it send from the address? That takes no port, so any grant of it will do. -EACCES */
int uep_check_source_gid(const struct uep_session *s, const union ib_gid *gid)
{
	/* No port at all: this range is within each one. */
	struct uep_addr_range a = uep_gid_range(gid, U16_MAX, 0);

	return uep_check_range(s, RDMA_EP_GRANT_BIND, &a);
}

/* May messages follow a path of the user's, from wherever, to wherever? -EACCES */
int uep_check_own_path(const struct uep_session *s)
{
	return uep_check_source_gid(s, NULL) ?: uep_check_gid(s, NULL);
}

/* Neither address nor port: the kernel chooses both, as without a source. */
static bool uep_source_is_open(const struct sockaddr *src)
{
	struct uep_addr_range a;

	if (!src)
		return true;
	a = uep_sockaddr_range(src);
	return a.is_ip && !a.first_port &&
	       (ipv6_addr_any(&a.addr) || ipv6_addr_equal(&a.addr, &uep_any_v4));
}

/* May an id resolve the address? @src: NULL if the kernel chooses it. -EACCES */
int uep_check_resolve(const struct uep_session *s, const struct sockaddr *src,
		      const struct sockaddr *dst)
{
	return (uep_source_is_open(src) ? 0 : uep_check_bind(s, src)) ?: uep_check_peer(s, dst);
}
