// SPDX-License-Identifier: GPL-2.0-only
/*
 * RESTRICT. A restriction is for good: the last act of the command publishes it, and no command
 * removes it. An act that has been checked before may be under way still.
 */
#include <linux/ctype.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <net/ipv6.h>

#include "chardev.h"

/* By enum uep_held */
static const u32 uep_limit_flags[UEP_NR_HELD] = {
	RDMA_EP_RESTRICT_OBJECTS, RDMA_EP_RESTRICT_QUEUES, RDMA_EP_RESTRICT_PINNED,
};

static_assert(sizeof_field(struct rdma_ep_grant, name) == IB_DEVICE_NAME_MAX);

static bool uep_name_ok(const u8 *name)
{
	size_t i, len = strnlen(name, IB_DEVICE_NAME_MAX);

	for (i = 0; i < len; i++)
		if (!isascii(name[i]) || !isgraph(name[i]))
			return false;
	return len < IB_DEVICE_NAME_MAX &&
	       !memchr_inv(name + len, 0, IB_DEVICE_NAME_MAX - len);
}

static int uep_grant_dev(struct uep_grant *g, const struct rdma_ep_grant *u)
{
	if (!u->dev_index == !u->name[0] || !uep_name_ok(u->name) || u->family || u->prefix_len ||
	    u->first_port || u->last_port || memchr_inv(u->addr, 0, sizeof(u->addr)))
		return -EINVAL;
	g->dev_index = u->dev_index;
	memcpy(g->name, u->name, sizeof(g->name));
	return 0;
}

static int uep_grant_addr(struct uep_grant *g, const struct rdma_ep_grant *u)
{
	struct in6_addr prefix;
	__be32 v4;

	if (u->dev_index || memchr_inv(u->name, 0, sizeof(u->name)) ||
	    u->first_port > u->last_port)
		return -EINVAL;
	memcpy(&g->addr, u->addr, sizeof(g->addr));
	if (u->family == AF_INET) {
		if (u->prefix_len > 32 || memchr_inv(u->addr + 4, 0, sizeof(u->addr) - 4))
			return -EINVAL;
		memcpy(&v4, u->addr, sizeof(v4));
		ipv6_addr_set_v4mapped(v4, &g->addr);
		g->prefix_len = u->prefix_len + 96;
	} else if (u->family == AF_INET6) {
		if (u->prefix_len > 128 || ipv6_addr_v4mapped(&g->addr))
			return -EINVAL;
		g->prefix_len = u->prefix_len;
	} else {
		return -EINVAL;
	}
	ipv6_addr_prefix(&prefix, &g->addr, g->prefix_len);
	if (!ipv6_addr_equal(&prefix, &g->addr))
		return -EINVAL;
	g->first_port = u->first_port;
	g->last_port = u->last_port;
	return 0;
}

static int uep_grant_init(struct uep_grant *g, const struct rdma_ep_grant *u, u32 flags)
{
	if (u->reserved)
		return -EINVAL;
	g->type = u->type;
	switch (u->type) {
	case RDMA_EP_GRANT_DEVICE:
		return flags & RDMA_EP_RESTRICT_DEVICES ? uep_grant_dev(g, u) : -EINVAL;
	case RDMA_EP_GRANT_BIND:
		return flags & RDMA_EP_RESTRICT_BIND ? uep_grant_addr(g, u) : -EINVAL;
	case RDMA_EP_GRANT_CONNECT:
		return flags & RDMA_EP_RESTRICT_CONNECT ? uep_grant_addr(g, u) : -EINVAL;
	default:
		return -EINVAL;
	}
}

static int uep_restriction_init(struct uep_restriction *r, const struct rdma_ep_cmd_restrict *arg)
{
	const u64 max[UEP_NR_HELD] = {
		arg->max_objects, arg->max_queue_bytes, arg->max_pinned_bytes,
	};
	struct rdma_ep_grant __user *ugrants = u64_to_user_ptr(arg->grants);
	struct rdma_ep_grant u;
	int i, ret;

	refcount_set(&r->ref, 1);
	r->flags = arg->flags;
	for (i = 0; i < UEP_NR_HELD; i++) {
		r->max[i] = r->flags & uep_limit_flags[i] ? max[i] : U64_MAX;
		if (max[i] && !(r->flags & uep_limit_flags[i]))
			return -EINVAL;
	}
	for (; r->nr < arg->num_grants; r->nr++) {
		if (copy_from_user(&u, ugrants + r->nr, sizeof(u)))
			return -EFAULT;
		ret = uep_grant_init(&r->grants[r->nr], &u, r->flags);
		if (ret)
			return ret;
	}
	return 0;
}

/*
 * -EBADF: another owner has adopted the session, while the command waited for the user's memory.
 * -E2BIG: the session has too many.
 */
static int uep_restrict_owned(struct uep_owner *owner, struct uep_session *s,
			      struct uep_restriction *r)
{
	int ret;

	spin_lock(&owner->lock);
	ret = owner->session == s ? uep_restriction_publish(r, s) : -EBADF;
	spin_unlock(&owner->lock);
	return ret;
}

int uep_restrict(struct uep_cmd *cmd)
{
	struct rdma_ep_cmd_restrict *arg = cmd->arg;
	struct uep_restriction *r;
	int ret;

	if (!arg->flags || arg->reserved)
		return -EINVAL;
	if (arg->num_grants > UEP_MAX_GRANTS)
		return -E2BIG;
	r = kzalloc(struct_size(r, grants, arg->num_grants), GFP_KERNEL_ACCOUNT);
	if (!r)
		return -ENOMEM;
	ret = uep_restriction_init(r, arg);
	if (ret)
		goto err_free;
	ret = uep_charge_files(cmd->s, uep_restriction_objs(r));
	if (ret)
		goto err_free;
	ret = uep_restrict_owned(uep_cmd_owner(cmd), cmd->s, r);
	if (!ret)
		return 0;
	uep_uncharge_files(cmd->s, uep_restriction_objs(r));
err_free:
	kfree(r);
	return ret;
}

/* @to is new. -EDQUOT */
int uep_restrictions_inherit(struct uep_session *to, struct uep_session *from)
{
	struct uep_restriction *r = uep_restrictions_get(from);
	int ret = uep_charge_files(to, uep_restrictions_objs(r));

	if (ret)
		uep_restriction_put(r);
	else
		uep_restrictions_set(to, r);
	return ret;
}

static void uep_show_grant(struct seq_file *m, const struct uep_grant *g)
{
	if (g->type == RDMA_EP_GRANT_DEVICE) {
		if (g->dev_index)
			seq_printf(m, " #%u", g->dev_index);
		else
			seq_printf(m, " %s", g->name);
	} else if (ipv6_addr_v4mapped(&g->addr)) {
		seq_printf(m, " %pI4/%u %u-%u", &g->addr.s6_addr32[3], g->prefix_len - 96,
			   g->first_port, g->last_port);
	} else {
		seq_printf(m, " %pI6c/%u %u-%u", &g->addr, g->prefix_len, g->first_port,
			   g->last_port);
	}
}

static void uep_show_right(struct seq_file *m, const struct uep_restriction *r, u32 nr,
			   const char *right, enum rdma_ep_grant_type type)
{
	const struct uep_grant *g;
	bool any = false;

	for (g = r->grants; g < r->grants + r->nr; g++) {
		if (g->type != type)
			continue;
		any = true;
		seq_printf(m, "restriction:\t%u %s", nr, right);
		uep_show_grant(m, g);
		seq_putc(m, '\n');
	}
	if (!any)
		seq_printf(m, "restriction:\t%u %s none\n", nr, right);
}

static void uep_restriction_show(struct seq_file *m, const struct uep_restriction *r, u32 nr)
{
	static const char * const limits[UEP_NR_HELD] = {
		"objects", "queue-memory", "pinned-memory",
	};
	unsigned int i, shift;

	if (r->flags & RDMA_EP_RESTRICT_IDS)
		seq_printf(m, "restriction:\t%u ids none\n", nr);
	if (r->flags & RDMA_EP_RESTRICT_DEVICES)
		uep_show_right(m, r, nr, "devices", RDMA_EP_GRANT_DEVICE);
	if (r->flags & RDMA_EP_RESTRICT_BIND)
		uep_show_right(m, r, nr, "bind", RDMA_EP_GRANT_BIND);
	if (r->flags & RDMA_EP_RESTRICT_CONNECT)
		uep_show_right(m, r, nr, "connect", RDMA_EP_GRANT_CONNECT);
	for (i = 0; i < UEP_NR_HELD; i++) {
		if (!(r->flags & uep_limit_flags[i]))
			continue;
		shift = i == UEP_OBJS ? 0 : 10;
		seq_printf(m, "restriction:\t%u %s %llu of %llu%s\n", nr, limits[i],
			   (u64)atomic64_read(&r->held[i]) >> shift, r->max[i] >> shift,
			   shift ? " KiB" : "");
	}
}

/* The latest one first. A line for each grant, and "none" for a right without one */
void uep_restrictions_show(struct seq_file *m, struct uep_session *s)
{
	const struct uep_restriction *r, *latest = uep_restrictions(s);
	u32 nr = 0;

	for (r = latest; r; r = r->below)
		nr++;
	for (r = latest; r; r = r->below)
		uep_restriction_show(m, r, nr--);
}
