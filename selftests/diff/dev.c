// SPDX-License-Identifier: GPL-2.0-only
/* Devices, contexts, and queries of their attributes. */
#include <arpa/inet.h>
#include <fcntl.h>

#include "diff.h"

void diff_topic_dev(void)
{
	struct ibv_context *context, **contexts;
	struct ibv_device **list, **again;
	struct ibv_device fake = {};
	struct ibv_pd *pd;
	int num = -1;

	list = N(ibv_get_device_list(&num), "plain");
	diff_value("devices", "%d, terminated %d", num, !list[num]);
	N(again = ibv_get_device_list(NULL), "number NULL");
	diff_value("same devices", "%d", again && again[0] == list[0]);
	diff_value("device", "name %s node %d transport %d path %d",
		   list[0]->name, list[0]->node_type, list[0]->transport_type,
		   !strncmp(list[0]->ibdev_path, "/sys/class/infiniband/", 22));
	V(ibv_free_device_list(again), "plain");
	V(ibv_free_device_list(NULL), "NULL");

	N(ibv_get_device_name(list[0]), "plain");
	N(ibv_get_device_name(NULL), "NULL");
	I(!ibv_get_device_guid(list[0]), "plain, zero");
	I(ibv_get_device_guid(NULL), "NULL");
	I(ibv_get_device_index(list[0]) >= 0, "plain");
	I(ibv_get_device_index(NULL), "NULL");

	N(ibv_open_device(NULL), "NULL");
	N(ibv_open_device(&fake), "a device of nobody");
	context = N(ibv_open_device(list[0]), "plain");
	NEED(context);
	diff_value("context", "async_fd %d close on exec %d vectors %d device %d",
		   context->async_fd >= 0, !!(fcntl(context->async_fd, F_GETFD) & FD_CLOEXEC),
		   context->num_comp_vectors > 0, context->device == list[0]);
	V(ibv_free_device_list(list), "a device is open");
	pd = diff_pd(context);
	E(ibv_close_device(NULL), "NULL");
	P(ibv_dealloc_pd(pd), "before its context");
	E(ibv_close_device(context), "plain");
	context = diff_open();
	pd = diff_pd(context);
	E(ibv_close_device(context), "with a PD");

	N(ibv_import_device(-1), "fd -1");
	N(ibv_import_device(0), "fd 0");
	N(ibv_import_device(open("/dev/null", O_RDWR)), "/dev/null");

	num = -1;
	contexts = N(rdma_get_devices(&num), "plain");
	diff_value("rdma_get_devices", "%d, terminated %d", num, !contexts[num]);
	V(rdma_free_devices(contexts), "plain");
	contexts = N(rdma_get_devices(NULL), "number NULL");
	rdma_free_devices(contexts);
	V(rdma_free_devices(NULL), "NULL");
}

static void query_device(struct ibv_context *context)
{
	struct ibv_query_device_ex_input input = {};
	struct ibv_device_attr_ex ex;
	struct ibv_device_attr attr;
	int bit;

	P(ibv_query_device(NULL, &attr), "context NULL");
	P(ibv_query_device(context, NULL), "attr NULL");
	P(ibv_query_device(context, &attr), "plain");
	diff_value("device", "mr %llx qp %d wr %d sge %d %d cq %d cqe %d mr %d pd %d",
		   (unsigned long long)attr.max_mr_size, attr.max_qp,
		   attr.max_qp_wr, attr.max_sge, attr.max_sge_rd, attr.max_cq,
		   attr.max_cqe, attr.max_mr, attr.max_pd);
	diff_value("device 2", "rd %d %d %d %d %d atomic %d ee %d rdd %d mw %d",
		   attr.max_qp_rd_atom, attr.max_ee_rd_atom,
		   attr.max_res_rd_atom, attr.max_qp_init_rd_atom,
		   attr.max_ee_init_rd_atom, attr.atomic_cap, attr.max_ee,
		   attr.max_rdd, attr.max_mw);
	diff_value("device 3", "mcast %d %d %d ah %d srq %d %d %d pkeys %d delay %d ports %d",
		   attr.max_mcast_grp, attr.max_mcast_qp_attach,
		   attr.max_total_mcast_qp_attach, attr.max_ah, attr.max_srq,
		   attr.max_srq_wr, attr.max_srq_sge, attr.max_pkeys,
		   attr.local_ca_ack_delay, attr.phys_port_cnt);
	diff_value("device 4", "fw '%s' vendor %x part %x hw %x pages %llx",
		   attr.fw_ver, attr.vendor_id, attr.vendor_part_id,
		   attr.hw_ver, (unsigned long long)attr.page_size_cap);
	diff_value("device flags", "%x", attr.device_cap_flags);

	P(ibv_query_device_ex(NULL, NULL, &ex), "context NULL");
	P(ibv_query_device_ex(context, NULL, NULL), "attr NULL");
	P(ibv_query_device_ex(context, NULL, &ex), "plain");
	diff_value("ex", "mask %x odp %llx tso %x rss %x rate %x ports %d raw %x tm %x cq %d xrc_odp %x",
		   ex.comp_mask, (unsigned long long)ex.odp_caps.general_caps,
		   ex.tso_caps.max_tso, ex.rss_caps.rx_hash_function,
		   ex.packet_pacing_caps.qp_rate_limit_max, ex.phys_port_cnt_ex, ex.raw_packet_caps,
		   ex.tm_caps.flags, ex.cq_mod_caps.max_cq_count, ex.xrc_odp_caps);
	diff_value("ex 2", "clock %llu timestamps %llx dm %llu wq %u flags %llx",
		   (unsigned long long)ex.hca_core_clock,
		   (unsigned long long)ex.completion_timestamp_mask,
		   (unsigned long long)ex.max_dm_size, ex.max_wq_type_rq,
		   (unsigned long long)ex.device_cap_flags_ex);
	P(ibv_query_device_ex(context, &input, &ex), "input empty");
	for (bit = 0; bit < 32; bit += 31) {
		input.comp_mask = 1U << bit;
		P(ibv_query_device_ex(context, &input, &ex), "input's comp_mask bit %d", bit);
	}
	P(ibv_query_rt_values_ex(context, &(struct ibv_values_ex) {
			.comp_mask = IBV_VALUES_MASK_RAW_CLOCK }), "raw clock");
	P(ibv_query_rt_values_ex(context, &(struct ibv_values_ex) {
			.comp_mask = ~0U }), "comp_mask -1");
}

static void query_port(struct ibv_context *context)
{
	static const int ports[] = { 0, 1, 2, 255 };
	struct ibv_port_attr attr;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ports); i++)
		P(ibv_query_port(context, ports[i], &attr), "port %d", ports[i]);
	P(ibv_query_port(NULL, 1, &attr), "context NULL");
	P(ibv_query_port(context, 1, NULL), "attr NULL");
	P((ibv_query_port)(context, 1, (void *)&attr), "the function itself");
	P((ibv_query_port)(context, 2, (void *)&attr), "the function itself, port 2");
	NEED(!ibv_query_port(context, 1, &attr));
	diff_value("port", "state %d mtu %d %d gids %d pkeys %d caps %x %x msg %x",
		   attr.state, attr.max_mtu, attr.active_mtu, attr.gid_tbl_len,
		   attr.pkey_tbl_len, attr.port_cap_flags, attr.port_cap_flags2, attr.max_msg_sz);
	diff_value("port 2", "lid %d sm %d lmc %d vl %d sl %d timeout %d init %d width %d speed %d phys %d link %d flags %x",
		   attr.lid, attr.sm_lid, attr.lmc, attr.max_vl_num,
		   attr.sm_sl, attr.subnet_timeout, attr.init_type_reply,
		   attr.active_width, attr.active_speed, attr.phys_state,
		   attr.link_layer, attr.flags);
}

static void query_gids(struct ibv_context *context)
{
	static const int indices[] = { 0, 1, 15, 1023, 1024, 65536, -1, 0x7fffffff };
	static const int ports[] = { 0, 2, 255 };
	struct ibv_gid_entry entries[64], entry;
	union ibv_gid gid;
	__be16 pkey;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(indices); i++) {
		memset(&gid, 0xff, sizeof(gid));
		if (!I(ibv_query_gid(context, 1, indices[i], &gid), "index %d", indices[i]))
			diff_value("gid", "%02x%02x..%02x%02x", gid.raw[0], gid.raw[1], gid.raw[10],
				   gid.raw[11]);
		if (!P(ibv_query_gid_ex(context, 1, indices[i], &entry, 0), "index %d", indices[i]))
			diff_value("entry", "%d port %d type %d ifindex %d",
				   entry.gid_index, entry.port_num,
				   entry.gid_type, !!entry.ndev_ifindex);
		I(ibv_query_pkey(context, 1, indices[i], &pkey), "index %d", indices[i]);
	}
	for (i = 0; i < ARRAY_SIZE(ports); i++) {
		I(ibv_query_gid(context, ports[i], 0, &gid), "port %d", ports[i]);
		P(ibv_query_gid_ex(context, ports[i], 0, &entry, 0), "port %d", ports[i]);
		I(ibv_query_pkey(context, ports[i], 0, &pkey), "port %d", ports[i]);
		I(ibv_get_pkey_index(context, ports[i], htons(0xffff)), "port %d", ports[i]);
	}
	I(ibv_query_gid(NULL, 1, 0, &gid), "context NULL");
	I(ibv_query_gid(context, 1, 0, NULL), "gid NULL");
	P(ibv_query_gid_ex(NULL, 1, 0, &entry, 0), "context NULL");
	P(ibv_query_gid_ex(context, 1, 0, NULL, 0), "entry NULL");
	P(ibv_query_gid_ex(context, 1, 0, &entry, 1), "flags 1");
	P(ibv_query_gid_ex(context, 1, 0, &entry, ~0U), "flags -1");
	P(_ibv_query_gid_ex(context, 1, 0, &entry, 0, 0), "entry_size 0");
	P(_ibv_query_gid_ex(context, 1, 0, &entry, 0, 8), "entry_size 8");
	P(_ibv_query_gid_ex(context, 1, 0, entries, 0, sizeof(entries)), "entry_size large");
	I(ibv_query_pkey(NULL, 1, 0, &pkey), "context NULL");
	I(ibv_query_pkey(context, 1, 0, NULL), "pkey NULL");
	I(ibv_query_pkey(context, 1, 0, &pkey), "plain");
	diff_value("pkey", "%x", ntohs(pkey));
	I(ibv_get_pkey_index(context, 1, htons(0xffff)), "default");
	I(ibv_get_pkey_index(context, 1, htons(0x1234)), "unknown");
	I(ibv_get_pkey_index(NULL, 1, htons(0xffff)), "context NULL");

	I(ibv_query_gid_table(context, entries, 64, 0), "plain");
	I(ibv_query_gid_table(context, entries, 1, 0), "one entry");
	I(ibv_query_gid_table(context, entries, 0, 0), "no entry");
	I(ibv_query_gid_table(context, NULL, 64, 0), "entries NULL");
	I(ibv_query_gid_table(context, NULL, 0, 0), "entries NULL, 0");
	I(ibv_query_gid_table(NULL, entries, 64, 0), "context NULL");
	I(ibv_query_gid_table(context, entries, 64, 1), "flags 1");
	I(_ibv_query_gid_table(context, entries, 64, 0, 0), "entry_size 0");
	I(_ibv_query_gid_table(context, entries, 64, 0, 8), "entry_size 8");
	I(_ibv_query_gid_table(context, entries, 4, 0, 256), "entry_size 256");
}

void diff_topic_dev_query(void)
{
	struct ibv_context *context = diff_open();

	query_device(context);
	query_port(context);
	query_gids(context);
}
