// SPDX-License-Identifier: GPL-2.0-only
/*
 * Functions without commands to the kernel: names, rates, conversions of structures.
 * Fork support comes last, as it changes the process.
 */
#include <rdma/ib_user_sa.h>
#include <rdma/ib_user_verbs.h>

#include "diff.h"

/* Exported functions that no installed header declares */
void ibv_copy_ah_attr_from_kern(struct ibv_ah_attr *dst, struct ib_uverbs_ah_attr *src);
void ibv_copy_qp_attr_from_kern(struct ibv_qp_attr *dst, struct ib_uverbs_qp_attr *src);
void ibv_copy_path_rec_from_kern(struct ibv_sa_path_rec *dst, struct ib_user_path_rec *src);
void ibv_copy_path_rec_to_kern(struct ib_user_path_rec *dst, struct ibv_sa_path_rec *src);
const char *ibv_get_sysfs_path(void);
int ibv_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size);
int ibv_dontfork_range(void *base, size_t size);
int ibv_dofork_range(void *base, size_t size);

static void str(const char *text, const char *what)
{
	diff_value(what, "%s", text ?: "NULL");
}

static void names(void)
{
	int i;

	for (i = -1; i < 10; i++) {
		str(N(ibv_node_type_str(i), "%d", i), "text");
		str(N(ibv_port_state_str(i), "%d", i), "text");
	}
	for (i = -1; i < 23; i++) {
		str(N(ibv_event_type_str(i), "%d", i), "text");
		str(N(rdma_event_str(i), "%d", i), "text");
	}
	for (i = -1; i < 26; i++)
		str(N(ibv_wc_status_str(i), "%d", i), "text");
	str(N(ibv_wc_status_str(0x7fffffff), "INT_MAX"), "text");
}

static void rates(void)
{
	static const int mbps[] = { 0, -1, 1, 2500, 2501, 5000, 10000, 14062,
				    25781, 28125, 53125, 56250, 103125, 206250,
				    425000, 637500, 850000, 1275000,
				    0x7fffffff };
	size_t m;
	int i;

	for (i = -1; i < 28; i++) {
		I(ibv_rate_to_mult(i), "%d", i);
		I(ibv_rate_to_mbps(i), "%d", i);
	}
	for (i = -1; i < 50; i += i < 8 ? 1 : 4)
		I(mult_to_ibv_rate(i), "%d", i);
	for (m = 0; m < ARRAY_SIZE(mbps); m++)
		I(mbps_to_ibv_rate(mbps[m]), "%d", mbps[m]);
}

static void marshal(void)
{
	struct ib_uverbs_qp_attr kern_qp = { .qp_state = 3, .dest_qp_num = 7, .timeout = 9 };
	struct ib_user_path_rec kern_path = { .mtu = 3, .hop_limit = 5 };
	struct ib_uverbs_ah_attr kern_ah = { .sl = 3, .port_num = 1, .is_global = 1 };
	struct ibv_sa_path_rec path = {};
	struct ibv_qp_attr qp = {};
	struct ibv_ah_attr ah = {};

	V(ibv_copy_qp_attr_from_kern(&qp, &kern_qp), "plain");
	diff_value("qp", "%d %d %d", qp.qp_state, qp.dest_qp_num, qp.timeout);
	V(ibv_copy_ah_attr_from_kern(&ah, &kern_ah), "plain");
	diff_value("ah", "%d %d %d", ah.sl, ah.port_num, ah.is_global);
	V(ibv_copy_path_rec_from_kern(&path, &kern_path), "plain");
	diff_value("path", "%d %d", path.mtu, path.hop_limit);
	V(ibv_copy_path_rec_to_kern(&kern_path, &path), "plain");
	diff_value("back", "%d %d", kern_path.mtu, kern_path.hop_limit);
}

void diff_topic_pure(void)
{
	static char page[8192] __attribute__((aligned(4096)));
	static const int types[] = { 0, IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_DRIVER, 31 };
	char text[64] = "";
	size_t i;

	names();
	rates();
	marshal();
	for (i = 0; i < ARRAY_SIZE(types); i++)
		I(ibv_is_qpt_supported(1 << IBV_QPT_RC, types[i]), "type %d", types[i]);
	I(ibv_flow_label_to_udp_sport(0), "0");
	I(ibv_flow_label_to_udp_sport(0x12345), "0x12345");
	I(ibv_flow_label_to_udp_sport(0xffffffff), "-1");
	I(ibv_inc_rkey(0x1ff), "0x1ff");
	I(ibv_inc_rkey(0x100), "0x100");
	I(verbs_get_ctx(diff_open()) != NULL, "plain");

	str(N(ibv_get_sysfs_path(), "plain"), "path");
	I(ibv_read_sysfs_file("/sys/class/infiniband/rxe0", "node_type", text,
			      sizeof(text)) > 0, "node_type");
	diff_value("node_type", "%.2s", text);
	I(ibv_read_sysfs_file("/sys/class", "nothing", text, sizeof(text)), "no such file");
	I(ibv_read_sysfs_file("/sys/class/infiniband/rxe0", "node_type", text, 0), "size 0");

	I(ibv_is_fork_initialized(), "before ibv_fork_init");
	P(ibv_fork_init(), "plain");
	P(ibv_fork_init(), "again");
	I(ibv_is_fork_initialized(), "after ibv_fork_init");
	I(ibv_dontfork_range(page, 4096), "plain");
	I(ibv_dofork_range(page, 4096), "plain");
	I(ibv_dontfork_range(NULL, 0), "nothing");
}
