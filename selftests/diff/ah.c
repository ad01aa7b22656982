// SPDX-License-Identifier: GPL-2.0-only
/* Address handles; attaching QPs to multicast groups. */
#include <arpa/inet.h>
#include <netinet/ip.h>

#include "diff.h"

static void create(struct ibv_context *context, struct ibv_pd *pd)
{
	const struct ibv_ah_attr good = diff_path(context);
	struct ibv_ah_attr attr = good;
	struct ibv_ah *ah, *stale;

#define TRY(_what, _set) do { \
	attr = good; \
	_set; \
	ah = N(ibv_create_ah(pd, &attr), "%s", _what); \
	if (ah) \
		ibv_destroy_ah(ah); \
} while (0)

	TRY("plain", (void)0);
	TRY("port 0", attr.port_num = 0);
	TRY("port 2", attr.port_num = 2);
	TRY("port 255", attr.port_num = 255);
	TRY("no GRH", attr.is_global = 0);
	TRY("is_global 2", attr.is_global = 2);
	TRY("sgid_index 200", attr.grh.sgid_index = 200);
	TRY("sgid_index 255", attr.grh.sgid_index = 255);
	TRY("dgid 0", memset(&attr.grh.dgid, 0, 16));
	TRY("dgid multicast", attr.grh.dgid.raw[0] = 0xff);
	TRY("dgid of nobody", attr.grh.dgid.raw[15] = 99);
	TRY("dgid IPv6", inet_pton(AF_INET6, "fd42::1", &attr.grh.dgid));
	TRY("sl 255", attr.sl = 255);
	TRY("dlid 65535", attr.dlid = 65535);
	TRY("static_rate 255", attr.static_rate = 255);
	TRY("hop_limit 0", attr.grh.hop_limit = 0);
	TRY("flow_label -1", attr.grh.flow_label = -1);
	TRY("src_path_bits 255", attr.src_path_bits = 255);
#undef TRY
	N(ibv_create_ah(NULL, &attr), "PD NULL");
	N(ibv_create_ah(pd, NULL), "attr NULL");
	attr = good;
	NEED(ah = ibv_create_ah(pd, &attr));
	stale = diff_copy(ah);
	P(ibv_destroy_ah(NULL), "NULL");
	P(ibv_destroy_ah(ah), "plain");
	P(ibv_destroy_ah(stale), "stale AH");
}

static void put_ipv4(struct ibv_grh *grh, const char *from, const char *to)
{
	struct iphdr *ip = (void *)((char *)grh + 20);
	const uint16_t *p = (void *)ip;
	uint32_t sum = 0;
	int i;

	memset(grh, 0, sizeof(*grh));
	ip->version = 4;
	ip->ihl = 5;
	ip->ttl = 64;
	ip->protocol = 17;
	ip->tot_len = htons(100);
	inet_pton(AF_INET, from, &ip->saddr);
	inet_pton(AF_INET, to, &ip->daddr);
	for (i = 0; i < 10; i++)
		sum += p[i];
	sum = (sum & 0xffff) + (sum >> 16);
	ip->check = ~(sum + (sum >> 16));
}

static void from_wc(struct ibv_context *context, struct ibv_pd *pd)
{
	const char *ip = getenv("RDMA_ADDR") ?: "10.42.0.1";
	struct ibv_wc wc = { .wc_flags = IBV_WC_GRH };
	struct ibv_ah_attr attr = {};
	struct ibv_grh grh = {};
	struct ibv_ah *ah;

#define TRY(_what, _port) do { \
	memset(&attr, 0, sizeof(attr)); \
	if (!E(ibv_init_ah_from_wc(context, _port, &wc, &grh, &attr), "%s", \
	       _what)) \
		diff_value("attr", "global %d port %d hop %d tc %d dgid %02x%02x lid %d sl %d", \
			   attr.is_global, attr.port_num, attr.grh.hop_limit, \
			   attr.grh.traffic_class, attr.grh.dgid.raw[10], \
			   attr.grh.dgid.raw[15], attr.dlid, attr.sl); \
	ah = N(ibv_create_ah_from_wc(pd, &wc, &grh, _port), "%s", _what); \
	if (ah) \
		ibv_destroy_ah(ah); \
} while (0)

	put_ipv4(&grh, "10.42.0.9", ip);
	TRY("IPv4", 1);
	TRY("IPv4, port 2", 2);
	put_ipv4(&grh, "10.42.0.9", "10.42.0.77");
	TRY("IPv4, to nobody", 1);
	put_ipv4(&grh, "10.42.0.9", "230.1.1.1");
	TRY("IPv4, to a group", 1);
	memset(&grh, 0, sizeof(grh));
	TRY("all zero", 1);
	grh.version_tclass_flow = htonl(6 << 28 | 5 << 20);
	grh.next_hdr = 17;
	grh.hop_limit = 9;
	inet_pton(AF_INET6, "fd42::9", &grh.sgid);
	inet_pton(AF_INET6, "fd42::1", &grh.dgid);
	TRY("IPv6", 1);
	grh.next_hdr = 0x1b;
	TRY("GRH", 1);
	grh.next_hdr = 99;
	TRY("IPv6, next header 99", 1);
	wc.wc_flags = 0;
	wc.slid = 7;
	wc.sl = 3;
	TRY("no GRH", 1);
#undef TRY
	wc.wc_flags = IBV_WC_GRH;
	E(ibv_init_ah_from_wc(context, 1, &wc, NULL, &attr), "GRH NULL");
	E(ibv_init_ah_from_wc(context, 1, NULL, &grh, &attr), "wc NULL");
	E(ibv_init_ah_from_wc(context, 1, &wc, &grh, NULL), "attr NULL");
	E(ibv_init_ah_from_wc(NULL, 1, &wc, &grh, &attr), "context NULL");
	N(ibv_create_ah_from_wc(NULL, &wc, &grh, 1), "PD NULL");
}

static void resolve_l2(struct ibv_context *context)
{
	struct ibv_ah_attr attr = diff_path(context);
	uint16_t vid = 0;
	uint8_t mac[6];

	I(ibv_resolve_eth_l2_from_gid(context, &attr, mac, &vid), "own GID");
	attr.port_num = 2;
	I(ibv_resolve_eth_l2_from_gid(context, &attr, mac, &vid), "port 2");
	I(ibv_resolve_eth_l2_from_gid(context, NULL, mac, &vid), "attr NULL");
	I(ibv_resolve_eth_l2_from_gid(NULL, &attr, mac, &vid), "context NULL");
}

void diff_topic_ah(void)
{
	struct ibv_context *context = diff_open();
	struct ibv_pd *pd = diff_pd(context);

	create(context, pd);
	from_wc(context, pd);
	resolve_l2(context);
}

void diff_topic_mcast(void)
{
	struct ibv_context *context = diff_open();
	struct ibv_pd *pd = diff_pd(context);
	struct ibv_cq *cq = diff_cq(context, 16);
	struct ibv_qp *ud = diff_qp(pd, cq, IBV_QPT_UD);
	struct ibv_qp *rc = diff_qp(pd, cq, IBV_QPT_RC);
	union ibv_gid mgid = {}, other, unicast;
	struct ibv_qp *stale;

	/* 230.1.1.1 */
	inet_pton(AF_INET6, "ff0e::ffff:e601:0101", &mgid);
	inet_pton(AF_INET6, "ff0e::ffff:e601:0102", &other);
	inet_pton(AF_INET6, "fd42::1", &unicast);
	P(ibv_attach_mcast(NULL, &mgid, 0), "qp NULL");
	P(ibv_attach_mcast(ud, NULL, 0), "gid NULL");
	P(ibv_attach_mcast(rc, &mgid, 0), "RC");
	P(ibv_attach_mcast(ud, &unicast, 0), "no group's GID");
	P(ibv_attach_mcast(ud, &mgid, 0), "UD, in RESET");
	P(ibv_attach_mcast(ud, &mgid, 0), "again");
	P(ibv_attach_mcast(ud, &other, 0xc000), "with an MLID");
	P(ibv_destroy_qp(ud), "attached");
	P(ibv_detach_mcast(NULL, &mgid, 0), "qp NULL");
	P(ibv_detach_mcast(ud, NULL, 0), "gid NULL");
	P(ibv_detach_mcast(rc, &mgid, 0), "RC");
	P(ibv_detach_mcast(ud, &unicast, 0), "no group's GID");
	P(ibv_detach_mcast(ud, &mgid, 1), "other LID");
	P(ibv_detach_mcast(ud, &mgid, 0), "plain");
	P(ibv_detach_mcast(ud, &mgid, 0), "again");
	P(ibv_detach_mcast(ud, &other, 0xc000), "with an MLID");
	P(ibv_detach_mcast(ud, &other, 0), "never attached with it");
	P(ibv_destroy_qp(ud), "detached");
	diff_move(rc, IBV_QPS_INIT, 0);
	stale = diff_copy(rc);
	ibv_destroy_qp(rc);
	P(ibv_attach_mcast(stale, &mgid, 0), "stale QP");
	P(ibv_detach_mcast(stale, &mgid, 0), "stale QP");
}
