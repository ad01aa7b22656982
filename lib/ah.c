// SPDX-License-Identifier: BSD-2-Clause
/* Address handles. */
#include <arpa/inet.h>
#include <endian.h>

#include "objects.h"

static struct ibv_ah *create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct rdma_ep_cmd_create_ah cmd = { .pd = pd->handle };
	struct ibv_ah *ah;

	ah = calloc(1, sizeof(*ah));
	if (!ah)
		return NULL;
	lep_ah_attr_to_uapi(&cmd.attr, attr);
	if (lep_ctx_call(pd->context, CREATE_AH, &cmd))
		return lep_free_null(ah);
	ah->context = pd->context;
	ah->pd = pd;
	ah->handle = cmd.ah;
	return ah;
}

/* ibv_create_ah(3) */
LEP_EXPORT struct ibv_ah *ibv_create_ah(struct ibv_pd *pd,
					struct ibv_ah_attr *attr)
{
	if (!pd || !attr)
		return lep_null(EINVAL);
	if (!lep_ours(pd->context))
		return lep_forward(NULL, "IBVERBS_1.1", ibv_create_ah, pd, attr);
	return create_ah(pd, attr);
}

/* ibv_destroy_ah(3) */
LEP_EXPORT int ibv_destroy_ah(struct ibv_ah *ah)
{
	if (!ah)
		return EINVAL;
	if (!lep_ours(ah->context))
		return lep_forward(ENOSYS, "IBVERBS_1.1", ibv_destroy_ah, ah);
	return lep_obj_destroy_free(ah->context, RDMA_EP_OBJ_AH, ah->handle, ah);
}

/* The index of a GID of that type, or -1 and errno. */
static int find_gid(struct ibv_context *context, uint8_t port_num,
		    const uint8_t *gid, bool roce_v2)
{
	struct rdma_ep_cmd_query_gid entry;
	struct ibv_port_attr attr;
	int i, ret;

	ret = lep_query_port(context, port_num, &attr, sizeof(attr));
	if (ret)
		return lep_err(ret);
	for (i = 0; i < attr.gid_tbl_len && i <= UINT8_MAX; i++) {
		ret = lep_gid_query(context, port_num, i, &entry);
		if (!ret && !memcmp(entry.gid, gid, sizeof(entry.gid)) &&
		    (entry.gid_type == IBV_GID_TYPE_ROCE_V2) == roce_v2)
			return i;
		if (ret && ret != ENODATA)
			return lep_err(ret);
	}
	return lep_err(EINVAL);
}

static bool checksum_ok(const uint8_t *ip)
{
	uint32_t sum = 0;
	int i;

	for (i = 0; i < 20; i += 2)
		sum += ip[i] << 8 | ip[i + 1];
	sum = (sum >> 16) + (sum & 0xffff);
	sum = (sum >> 16) + (sum & 0xffff);
	return sum == 0xffff;
}

/*
 * The 40 bytes before a datagram hold the GRH or IPv6 header, or, right-aligned behind
 * undefined bytes, an IPv4 header. If they can be read as both, the IPv4 header's checksum
 * decides. (rxe does not always fill in the checksum.) Returns the version, or -1 and
 * errno.
 */
static int ip_version(const uint8_t *header)
{
	const uint8_t *ip = header + 20;

	if (header[0] >> 4 == 6)
		return ip[0] == 0x45 && checksum_ok(ip) ? 4 : 6;
	return ip[0] >> 4 == 4 ? 4 : lep_err(EPROTONOSUPPORT);
}

static int from_ipv4(struct ibv_context *context, uint8_t port_num,
		     const uint8_t *ip, struct ibv_ah_attr *attr)
{
	uint8_t gid[16] = { [10] = 0xff, [11] = 0xff };
	int index;

	memcpy(gid + 12, ip + 16, 4);	/* destination: this port */
	if ((gid[12] & 0xf0) == 0xe0)
		return lep_err(EINVAL);	/* sent to a multicast group */
	index = find_gid(context, port_num, gid, true);
	if (index < 0)
		return -1;
	memcpy(gid + 12, ip + 12, 4);	/* source */
	memcpy(attr->grh.dgid.raw, gid, sizeof(gid));
	attr->grh.sgid_index = index;
	attr->grh.traffic_class = ip[1];
	attr->grh.hop_limit = ip[8];
	return 0;
}

static int from_grh(struct ibv_context *context, uint8_t port_num,
		    const struct ibv_grh *grh, struct ibv_ah_attr *attr)
{
	const uint8_t next_hdr_ib = 0x1b;
	int index;

	if (grh->dgid.raw[0] == 0xff)
		return lep_err(EINVAL);
	if (grh->next_hdr != IPPROTO_UDP && grh->next_hdr != next_hdr_ib)
		return lep_err(EPROTONOSUPPORT);
	index = find_gid(context, port_num, grh->dgid.raw,
			 grh->next_hdr == IPPROTO_UDP);
	if (index < 0)
		return -1;
	attr->grh.dgid = grh->sgid;
	attr->grh.sgid_index = index;
	attr->grh.traffic_class = be32toh(grh->version_tclass_flow) >> 20;
	attr->grh.hop_limit = grh->hop_limit;
	return 0;
}

static int init_from_wc(struct ibv_context *context, uint8_t port_num,
			struct ibv_wc *wc, struct ibv_grh *grh,
			struct ibv_ah_attr *attr)
{
	const uint8_t *header = (const uint8_t *)grh;

	memset(attr, 0, sizeof(*attr));
	attr->dlid = wc->slid;
	attr->sl = wc->sl;
	attr->src_path_bits = wc->dlid_path_bits;
	attr->port_num = port_num;
	if (!(wc->wc_flags & IBV_WC_GRH))
		return 0;

	attr->is_global = 1;
	switch (ip_version(header)) {
	case 4:
		return from_ipv4(context, port_num, header + 20, attr);
	case 6:
		attr->grh.flow_label =
			be32toh(grh->version_tclass_flow) & 0xfffff;
		return from_grh(context, port_num, grh, attr);
	default:
		return -1;
	}
}

/* ibv_init_ah_from_wc(3) */
LEP_EXPORT int ibv_init_ah_from_wc(struct ibv_context *context, uint8_t port_num,
				   struct ibv_wc *wc, struct ibv_grh *grh,
				   struct ibv_ah_attr *attr)
{
	if (!context || !wc || !attr ||
	    (wc->wc_flags & IBV_WC_GRH && !grh))
		return lep_err(EINVAL);
	if (!lep_ours(context))
		return lep_forward(-1, "IBVERBS_1.1", ibv_init_ah_from_wc,
				   context, port_num, wc, grh, attr);
	return init_from_wc(context, port_num, wc, grh, attr);
}

/* ibv_create_ah_from_wc(3) */
LEP_EXPORT struct ibv_ah *ibv_create_ah_from_wc(struct ibv_pd *pd,
						struct ibv_wc *wc,
						struct ibv_grh *grh,
						uint8_t port_num)
{
	struct ibv_ah_attr attr;

	if (!pd)
		return lep_null(EINVAL);
	if (!lep_ours(pd->context))
		return lep_forward(NULL, "IBVERBS_1.1", ibv_create_ah_from_wc,
				   pd, wc, grh, port_num);
	if (!wc || (wc->wc_flags & IBV_WC_GRH && !grh))
		return lep_null(EINVAL);
	if (init_from_wc(pd->context, port_num, wc, grh, &attr))
		return NULL;
	return create_ah(pd, &attr);
}
