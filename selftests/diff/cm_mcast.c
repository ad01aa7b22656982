// SPDX-License-Identifier: GPL-2.0-only
/* Multicast groups of ids. */
#include <arpa/inet.h>
#include <netinet/in.h>

#include "diff.h"

static struct rdma_cm_id *make(struct rdma_event_channel *channel,
			       enum rdma_port_space ps, bool bind, bool qp)
{
	struct sockaddr_in sin = lib_addr(0);
	struct rdma_cm_id *id;

	NEED(!rdma_create_id(channel, &id, NULL, ps));
	if (bind)
		NEED(!rdma_bind_addr(id, SA(&sin)));
	if (qp)
		NEED(!pair_qp(id));
	return id;
}

static void join_event(struct rdma_event_channel *channel, const char *what, void *context)
{
	struct rdma_cm_event *event;

	if (!lib_readable(channel->fd, 3000)) {
		diff_value(what, "no event");
		return;
	}
	NEED(!rdma_get_cm_event(channel, &event));
	diff_value(what, "%s %d: context %d global %d qpn %x qkey %x mgid %02x%02x sgid_index %d port %d",
		   rdma_event_str(event->event), event->status,
		   event->param.ud.private_data == context, event->param.ud.ah_attr.is_global,
		   event->param.ud.qp_num, event->param.ud.qkey,
		   event->param.ud.ah_attr.grh.dgid.raw[0], event->param.ud.ah_attr.grh.dgid.raw[1],
		   event->param.ud.ah_attr.grh.sgid_index > 0, event->param.ud.ah_attr.port_num);
	rdma_ack_cm_event(event);
}

void diff_topic_cm_mcast(void)
{
	struct sockaddr_in group = { .sin_family = AF_INET }, other, uni;
	struct sockaddr_in6 six = { .sin6_family = AF_INET6 };
	struct rdma_cm_join_mc_attr_ex attr = {};
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	uint32_t mask;
	int flags;

	group.sin_addr.s_addr = htonl(0xe6010101);	/* 230.1.1.1 */
	other = group;
	other.sin_addr.s_addr = htonl(0xe6010102);
	uni = lib_addr(0);
	inet_pton(AF_INET6, "ff02::1234", &six.sin6_addr);
	NEED(channel = rdma_create_event_channel());

	E(rdma_join_multicast(NULL, SA(&group), NULL), "id NULL");
	E(rdma_join_multicast_ex(NULL, &attr, NULL), "id NULL");
	E(rdma_leave_multicast(NULL, SA(&group)), "id NULL");

	id = make(channel, RDMA_PS_UDP, false, false);
	E(rdma_join_multicast(id, SA(&group), NULL), "unbound");
	E(rdma_leave_multicast(id, SA(&group)), "unbound");
	diff_drop(id);

	id = make(channel, RDMA_PS_UDP, true, false);
	E(rdma_join_multicast(id, NULL, NULL), "address NULL");
	E(rdma_join_multicast_ex(id, NULL, NULL), "attr NULL");
	E(rdma_leave_multicast(id, NULL), "address NULL");
	E(rdma_leave_multicast(id, SA(&group)), "never joined");
	E(rdma_join_multicast(id, SA(&group), &id), "no QP");
	join_event(channel, "no QP", &id);
	E(rdma_join_multicast(id, SA(&group), &id), "the same group again");
	join_event(channel, "the same group again", &id);
	E(rdma_leave_multicast(id, SA(&other)), "another group");
	E(rdma_leave_multicast(id, SA(&group)), "no QP");
	E(rdma_leave_multicast(id, SA(&group)), "joined twice");
	E(rdma_leave_multicast(id, SA(&group)), "left");
	diff_drop(id);

	id = make(channel, RDMA_PS_UDP, true, true);
	E(rdma_join_multicast(id, SA(&group), NULL), "with a QP");
	join_event(channel, "with a QP", NULL);
	if (!P(ibv_destroy_qp(id->qp), "attached"))
		id->qp = NULL;
	E(rdma_leave_multicast(id, SA(&group)), "with a QP");
	E(rdma_join_multicast(id, SA(&uni), NULL), "no group's address");
	diff_value("no group's address", "%s",
		   lib_readable(channel->fd, 500) ? diff_event(channel) : "-");
	if (!E(rdma_join_multicast(id, SA(&six), NULL), "IPv6 group"))
		join_event(channel, "IPv6 group", NULL);
	group.sin_family = AF_UNIX;
	E(rdma_join_multicast(id, SA(&group), NULL), "AF_UNIX");
	group.sin_family = AF_INET;
	diff_drop(id);

	id = make(channel, RDMA_PS_UDP, true, true);
	attr.addr = SA(&group);
	for (mask = 0; mask < 9; mask++) {
		attr.comp_mask = mask;
		attr.join_flags = RDMA_MC_JOIN_FLAG_FULLMEMBER;
		if (!E(rdma_join_multicast_ex(id, &attr, &id), "comp_mask %x", mask)) {
			join_event(channel, "ex", &id);
			rdma_leave_multicast(id, SA(&group));
		}
	}
	attr.comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS |
			 RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS;
	attr.addr = NULL;
	E(rdma_join_multicast_ex(id, &attr, NULL), "address NULL");
	attr.addr = SA(&group);
	for (flags = 0; flags < 5; flags++) {
		attr.join_flags = flags;
		if (!E(rdma_join_multicast_ex(id, &attr, &id), "flags %d", flags)) {
			join_event(channel, flags ? "sendonly" : "fullmember", &id);
			E(rdma_leave_multicast(id, SA(&group)), "flags %d", flags);
		}
	}
	diff_drop(id);

	id = make(channel, RDMA_PS_TCP, true, true);
	E(rdma_join_multicast(id, SA(&group), NULL), "RC");
	diff_value("RC", "%s", lib_readable(channel->fd, 300) ? diff_event(channel) : "-");
	diff_drop(id);
	id = diff_id(RDMA_PS_UDP);
	uni.sin_port = 0;
	NEED(!rdma_bind_addr(id, SA(&uni)));
	E(rdma_join_multicast(id, SA(&group), NULL), "synchronous");
	diff_value("synchronous", "%s", id->event ? rdma_event_str(id->event->event) : "-");
	diff_hangs(2000);
	E(rdma_leave_multicast(id, SA(&group)), "synchronous, event not acknowledged");
}
