// SPDX-License-Identifier: GPL-2.0-only
/*
 * The fuzzer's knowledge of the ABI: every command, field by field.
 */
#include "fuzz.h"

#define F(type, member, _kind, ...) {					\
	.offset = offsetof(struct type, member),			\
	.size = sizeof(((struct type *)0)->member),			\
	.kind = FUZZ_##_kind,						\
	.arg = 0 __VA_OPT__(+) __VA_ARGS__,				\
}

#define CMD_FOR(_role, _name, _weight, _flags, ...) {			\
	.name = #_name,							\
	.cmd = RDMA_EP_IOC_##_name,					\
	.weight = _weight,						\
	.flags = _flags,						\
	.role = FUZZ_##_role,						\
	.fields = { __VA_ARGS__ },					\
}

#define CMD(_name, _weight, _flags, ...)				\
	CMD_FOR(ANY, _name, _weight, _flags, __VA_ARGS__)

/* The QP of CREATE_QP, CREATE_EP and GET_REQUEST */
const struct fuzz_field fuzz_qp_fields[] = {
	F(rdma_ep_qp_init, uid, COOKIE),
	F(rdma_ep_qp_init, flags, BITS, RDMA_EP_QP_SQ_SIG_ALL),
	F(rdma_ep_qp_init, pd, HANDLE, RDMA_EP_OBJ_PD),
	F(rdma_ep_qp_init, srq, HANDLE, RDMA_EP_OBJ_SRQ),
	F(rdma_ep_qp_init, qp_type, NUMBER, 4),
	F(rdma_ep_qp_init, max_send_wr, NUMBER, 64),
	F(rdma_ep_qp_init, max_recv_wr, NUMBER, 64),
	F(rdma_ep_qp_init, max_send_sge, NUMBER, 4),
	F(rdma_ep_qp_init, max_recv_sge, NUMBER, 4),
	F(rdma_ep_qp_init, max_inline_data, NUMBER, 128),
	F(rdma_ep_qp_init, send_cq.uid, COOKIE),
	F(rdma_ep_qp_init, send_cq.cq, HANDLE, RDMA_EP_OBJ_CQ),
	F(rdma_ep_qp_init, send_cq.ring, NUMBER, 1),
	F(rdma_ep_qp_init, recv_cq.uid, COOKIE),
	F(rdma_ep_qp_init, recv_cq.cq, HANDLE, RDMA_EP_OBJ_CQ),
	F(rdma_ep_qp_init, recv_cq.ring, NUMBER, 1),
	F(rdma_ep_qp_init, qp, OUT, RDMA_EP_OBJ_QP),
	F(rdma_ep_qp_init, qp_num, OUT_QP_NUM),
	F(rdma_ep_qp_init, send_cq.channel_fd, OUT_FD, FUZZ_COMP),
	F(rdma_ep_qp_init, recv_cq.channel_fd, OUT_FD, FUZZ_COMP),
	{ .kind = FUZZ_END },
};

#define ID_CMD(role, name, weight, max)					\
	CMD_FOR(role, name, weight, 0,					\
	    F(rdma_ep_id_cmd, id, HANDLE, RDMA_EP_OBJ_ID),		\
	    F(rdma_ep_id_cmd, arg, NUMBER, max))

#define ID_AWAIT(role, name, weight, max)				\
	CMD_FOR(role, name, weight, RDMA_EP_AWAIT,			\
	    F(rdma_ep_id_cmd, id, HANDLE, RDMA_EP_OBJ_ID),		\
	    F(rdma_ep_id_cmd, arg, NUMBER, max),			\
	    F(rdma_ep_id_cmd, await.event, BUFFER),			\
	    F(rdma_ep_id_cmd, await.channel_fd, FD, FUZZ_CHANNEL),	\
	    F(rdma_ep_id_cmd, await.state, BITS, RDMA_EP_AWAIT_DONE))

#define CONN(role, name, weight, handle_kind)				\
	CMD_FOR(role, name, weight, RDMA_EP_AWAIT,			\
	    F(rdma_ep_connect, uid, NUMBER, handle_kind),		\
	    F(rdma_ep_connect, id, HANDLE, RDMA_EP_OBJ_ID),		\
	    F(rdma_ep_connect, ece_vendor_id, NUMBER, 0),		\
	    F(rdma_ep_connect, conn.qp_num, QP_NUM),			\
	    F(rdma_ep_connect, conn.private_data, BYTES, 256),		\
	    F(rdma_ep_connect, conn.private_data_len, NUMBER, 200),	\
	    F(rdma_ep_connect, conn.srq, NUMBER, 1),			\
	    F(rdma_ep_connect, conn.responder_resources, NUMBER, 4),	\
	    F(rdma_ep_connect, conn.initiator_depth, NUMBER, 4),	\
	    F(rdma_ep_connect, conn.retry_count, NUMBER, 7),		\
	    F(rdma_ep_connect, conn.rnr_retry_count, NUMBER, 7),	\
	    F(rdma_ep_connect, await.event, BUFFER),			\
	    F(rdma_ep_connect, await.channel_fd, FD, FUZZ_CHANNEL),	\
	    F(rdma_ep_connect, await.state, BITS, RDMA_EP_AWAIT_DONE))

#define POST(role, name, weight, list, type, known)			\
	CMD_FOR(role, name, weight, known,				\
	    F(rdma_ep_post, wrs, list),					\
	    F(rdma_ep_post, handle, HANDLE, type))

#define MCAST(name, weight)						\
	CMD_FOR(ATTACHED, name, weight, 0,				\
	    F(rdma_ep_qp_mcast, qp, HANDLE, RDMA_EP_OBJ_QP),		\
	    F(rdma_ep_qp_mcast, lid, NUMBER, 0),			\
	    F(rdma_ep_qp_mcast, gid, GID, true))

#define PORT(name, type, index)						\
	CMD(name, 1, 0,							\
	    F(type, dev_index, DEVICE),					\
	    F(type, port_num, PORT),					\
	    F(type, index, NUMBER, 1))

/* Attributes of MODIFY_QP */
#define QP_ATTR(member, kind, ...)					\
	F(rdma_ep_modify_qp, attr.member, kind __VA_OPT__(,) __VA_ARGS__)

const struct fuzz_cmd fuzz_cmds[] = {
	CMD(QUERY, 1, 0),
	CMD(QUERY_DEVICES, 1, 0,
	    F(rdma_ep_query_devices, devices, BUFFER),
	    F(rdma_ep_query_devices, max, NUMBER, 4)),
	CMD(OPEN_DEVICE, 2, RDMA_EP_OPEN_DEFAULT,
	    F(rdma_ep_open_device, dev_index, DEVICE),
	    F(rdma_ep_open_device, ctx, OUT, RDMA_EP_OBJ_CTX),
	    F(rdma_ep_open_device, pd, OUT, RDMA_EP_OBJ_PD),
	    F(rdma_ep_open_device, async_fd, OUT_FD, FUZZ_ASYNC)),
	CMD(QUERY_DEVICE, 1, 0,
	    F(rdma_ep_query_device, dev_index, DEVICE)),
	CMD(QUERY_PORT, 1, 0,
	    F(rdma_ep_query_port, dev_index, DEVICE),
	    F(rdma_ep_query_port, port_num, PORT)),
	PORT(QUERY_GID, rdma_ep_query_gid, gid_index),
	PORT(QUERY_PKEY, rdma_ep_query_pkey, pkey_index),
	CMD(QUERY_GID_TABLE, 1, 0,
	    F(rdma_ep_query_gid_table, entries, BUFFER),
	    F(rdma_ep_query_gid_table, dev_index, DEVICE),
	    F(rdma_ep_query_gid_table, max, NUMBER, 64),
	    F(rdma_ep_query_gid_table, reserved, ZERO)),
	CMD(DESTROY, 12, RDMA_EP_DESTROY_DETACH | RDMA_EP_DESTROY_CONTENTS,
	    F(rdma_ep_destroy, handle, HANDLE),
	    F(rdma_ep_destroy, type, TYPE)),

	CMD(CREATE_CHANNEL, 2, 0,
	    F(rdma_ep_create_fd, fd, OUT_FD, FUZZ_CHANNEL),
	    F(rdma_ep_create_fd, reserved, ZERO)),
	CMD(CREATE_ID, 6, RDMA_EP_ID_PRIVATE_CHANNEL,
	    F(rdma_ep_create_id, uid, COOKIE),
	    F(rdma_ep_create_id, channel_fd, FD, FUZZ_CHANNEL),
	    F(rdma_ep_create_id, ps, NUMBER, 0x160),
	    F(rdma_ep_create_id, qp_type, NUMBER, 4),
	    F(rdma_ep_create_id, id, OUT, RDMA_EP_OBJ_ID),
	    F(rdma_ep_create_id, channel_fd, OUT_FD, FUZZ_CHANNEL)),
	CMD(CREATE_EP, 8, RDMA_EP_ID_PRIVATE_CHANNEL | RDMA_EP_EP_PASSIVE |
	    RDMA_EP_EP_CREATE_QP,
	    F(rdma_ep_create_ep, uid, COOKIE),
	    F(rdma_ep_create_ep, channel_fd, FD, FUZZ_CHANNEL),
	    F(rdma_ep_create_ep, ps, NUMBER, 0x160),
	    F(rdma_ep_create_ep, qp_type, NUMBER, 4),
	    F(rdma_ep_create_ep, addr_timeout_ms, NUMBER, 200),
	    F(rdma_ep_create_ep, route_timeout_ms, NUMBER, 200),
	    F(rdma_ep_create_ep, src, ADDR, FUZZ_ADDR_OPTIONAL),
	    F(rdma_ep_create_ep, dst, ADDR, FUZZ_ADDR_OPTIONAL),
	    F(rdma_ep_create_ep, qp, QP),
	    F(rdma_ep_create_ep, id, OUT, RDMA_EP_OBJ_ID),
	    F(rdma_ep_create_ep, channel_fd, OUT_FD, FUZZ_CHANNEL)),
	CMD(BIND_ADDR, 5, 0,
	    F(rdma_ep_bind_addr, id, HANDLE, RDMA_EP_OBJ_ID),
	    F(rdma_ep_bind_addr, reserved, ZERO),
	    F(rdma_ep_bind_addr, addr, ADDR)),
	CMD(RESOLVE_ADDR, 6, RDMA_EP_AWAIT,
	    F(rdma_ep_resolve_addr, id, HANDLE, RDMA_EP_OBJ_ID),
	    F(rdma_ep_resolve_addr, timeout_ms, NUMBER, 200),
	    F(rdma_ep_resolve_addr, src, ADDR, FUZZ_ADDR_OPTIONAL),
	    F(rdma_ep_resolve_addr, dst, ADDR),
	    F(rdma_ep_resolve_addr, await.event, BUFFER),
	    F(rdma_ep_resolve_addr, await.channel_fd, FD, FUZZ_CHANNEL),
	    F(rdma_ep_resolve_addr, await.state, BITS, RDMA_EP_AWAIT_DONE)),
	ID_AWAIT(RESOLVED, RESOLVE_ROUTE, 6, 200),
	ID_CMD(ANY, LISTEN, 5, 8),
	CONN(READY, CONNECT, 8, 0),
	CONN(REQUEST, ACCEPT, 8, 100),
	CMD_FOR(REQUEST, REJECT, 3, 0,
	    F(rdma_ep_reject, id, HANDLE, RDMA_EP_OBJ_ID),
	    F(rdma_ep_reject, reason, NUMBER, 40),
	    F(rdma_ep_reject, private_data_len, NUMBER, 200),
	    F(rdma_ep_reject, reserved, ZERO),
	    F(rdma_ep_reject, private_data, BYTES, 256)),
	ID_AWAIT(ANY, DISCONNECT, 3, 0),
	ID_CMD(RESPONDED, ESTABLISH, 4, 0),
	CMD(QUERY_ID, 2, 0,
	    F(rdma_ep_query_id, id, HANDLE, RDMA_EP_OBJ_ID)),
	CMD(SET_OPTION, 3, 0,
	    F(rdma_ep_set_option, id, HANDLE, RDMA_EP_OBJ_ID),
	    F(rdma_ep_set_option, level, NUMBER, 2),
	    F(rdma_ep_set_option, optname, NUMBER, 4),
	    F(rdma_ep_set_option, optlen, NUMBER, 80),
	    F(rdma_ep_set_option, optval, MEMORY)),
	CMD(MIGRATE_ID, 3, RDMA_EP_ID_PRIVATE_CHANNEL,
	    F(rdma_ep_migrate_id, id, HANDLE, RDMA_EP_OBJ_ID),
	    F(rdma_ep_migrate_id, channel_fd, FD, FUZZ_CHANNEL),
	    F(rdma_ep_migrate_id, reserved, ZERO),
	    F(rdma_ep_migrate_id, channel_fd, OUT_FD, FUZZ_CHANNEL)),
	CMD(INIT_QP_ATTR, 2, 0,
	    F(rdma_ep_init_qp_attr, id, HANDLE, RDMA_EP_OBJ_ID),
	    F(rdma_ep_init_qp_attr, qp_state, NUMBER, 6)),
	CMD(GET_REQUEST, 8, RDMA_EP_ID_PRIVATE_CHANNEL | RDMA_EP_EP_CREATE_QP |
	    RDMA_EP_AWAIT,
	    F(rdma_ep_get_request, id, HANDLE, RDMA_EP_OBJ_ID),
	    F(rdma_ep_get_request, channel_fd, FD, FUZZ_CHANNEL),
	    F(rdma_ep_get_request, await_fd, FD, FUZZ_CHANNEL),
	    F(rdma_ep_get_request, qp, QP),
	    F(rdma_ep_get_request, event.child, OUT, RDMA_EP_OBJ_ID),
	    F(rdma_ep_get_request, channel_fd, OUT_FD, FUZZ_CHANNEL)),
	CMD_FOR(UD_ID, JOIN_MULTICAST, 3, RDMA_EP_JOIN_SEND_ONLY,
	    F(rdma_ep_join_multicast, uid, COOKIE),
	    F(rdma_ep_join_multicast, id, HANDLE, RDMA_EP_OBJ_ID),
	    F(rdma_ep_join_multicast, addr, ADDR, FUZZ_ADDR_GROUP),
	    F(rdma_ep_join_multicast, mcast, OUT, RDMA_EP_OBJ_MCAST)),
	ID_CMD(ACCEPTED, NOTIFY, 4, 10),
	CMD(WRITE_EVENT, 3, 0,
	    F(rdma_ep_write_event, id, HANDLE, RDMA_EP_OBJ_ID),
	    F(rdma_ep_write_event, event, NUMBER, 20),
	    F(rdma_ep_write_event, reserved, ZERO),
	    F(rdma_ep_write_event, arg, COOKIE)),
	CMD(DESTROY_EP, 6, 0,
	    F(rdma_ep_destroy_ep, id, HANDLE, RDMA_EP_OBJ_ID),
	    F(rdma_ep_destroy_ep, channel_fd, FD, FUZZ_CHANNEL),
	    F(rdma_ep_destroy_ep, events, NUMBER, 4),
	    F(rdma_ep_destroy_ep, qp, HANDLE, RDMA_EP_OBJ_QP),
	    F(rdma_ep_destroy_ep, srq, HANDLE, RDMA_EP_OBJ_SRQ),
	    F(rdma_ep_destroy_ep, reserved, ZERO),
	    F(rdma_ep_destroy_ep, recv_cq.cq, HANDLE, RDMA_EP_OBJ_CQ),
	    F(rdma_ep_destroy_ep, recv_cq.channel_fd, FD, FUZZ_COMP),
	    F(rdma_ep_destroy_ep, recv_cq.comp_events, NUMBER, 1),
	    F(rdma_ep_destroy_ep, send_cq.cq, HANDLE, RDMA_EP_OBJ_CQ),
	    F(rdma_ep_destroy_ep, send_cq.channel_fd, FD, FUZZ_COMP)),

	CMD(ALLOC_PD, 3, 0,
	    F(rdma_ep_alloc_pd, ctx, HANDLE, RDMA_EP_OBJ_CTX),
	    F(rdma_ep_alloc_pd, pd, OUT, RDMA_EP_OBJ_PD)),
	CMD(REG_MR, 6, 0,
	    F(rdma_ep_reg_mr, addr, MEMORY),
	    F(rdma_ep_reg_mr, length, NUMBER, 65536),
	    F(rdma_ep_reg_mr, iova, SAME),
	    F(rdma_ep_reg_mr, pd, HANDLE, RDMA_EP_OBJ_PD),
	    F(rdma_ep_reg_mr, access, ACCESS),
	    F(rdma_ep_reg_mr, reserved, ZERO),
	    F(rdma_ep_reg_mr, mr, OUT, RDMA_EP_OBJ_MR),
	    F(rdma_ep_reg_mr, lkey, KEY),
	    F(rdma_ep_reg_mr, rkey, KEY)),
	CMD(REREG_MR, 2, RDMA_EP_REREG_TRANSLATION | RDMA_EP_REREG_ACCESS,
	    F(rdma_ep_rereg_mr, addr, MEMORY),
	    F(rdma_ep_rereg_mr, length, NUMBER, 65536),
	    F(rdma_ep_rereg_mr, iova, SAME),
	    F(rdma_ep_rereg_mr, mr, HANDLE, RDMA_EP_OBJ_MR),
	    F(rdma_ep_rereg_mr, access, ACCESS),
	    F(rdma_ep_rereg_mr, lkey, KEY),
	    F(rdma_ep_rereg_mr, rkey, KEY)),
	CMD(CREATE_AH, 2, 0,
	    F(rdma_ep_create_ah, pd, HANDLE, RDMA_EP_OBJ_PD),
	    F(rdma_ep_create_ah, attr.grh.dgid, GID),
	    F(rdma_ep_create_ah, attr.grh.sgid_index, NUMBER, 3),
	    F(rdma_ep_create_ah, attr.is_global, NUMBER, 1),
	    F(rdma_ep_create_ah, attr.port_num, PORT),
	    F(rdma_ep_create_ah, ah, OUT, RDMA_EP_OBJ_AH)),
	CMD(OPEN_XRCD, 1, RDMA_EP_XRCD_CREATE | RDMA_EP_XRCD_EXCLUSIVE,
	    F(rdma_ep_open_xrcd, ctx, HANDLE, RDMA_EP_OBJ_CTX),
	    F(rdma_ep_open_xrcd, fd, FD, FUZZ_CHANNEL),
	    F(rdma_ep_open_xrcd, reserved, ZERO),
	    F(rdma_ep_open_xrcd, xrcd, OUT, RDMA_EP_OBJ_XRCD)),
	CMD(CREATE_COMP_CHANNEL, 2, 0,
	    F(rdma_ep_create_fd, fd, OUT_FD, FUZZ_COMP),
	    F(rdma_ep_create_fd, reserved, ZERO)),
	CMD(CREATE_CQ, 5, RDMA_EP_CQ_RING,
	    F(rdma_ep_create_cq, uid, COOKIE),
	    F(rdma_ep_create_cq, ctx, HANDLE, RDMA_EP_OBJ_CTX),
	    F(rdma_ep_create_cq, channel_fd, FD, FUZZ_COMP),
	    F(rdma_ep_create_cq, cqe, NUMBER, 64),
	    F(rdma_ep_create_cq, comp_vector, NUMBER, 1),
	    F(rdma_ep_create_cq, cq, OUT, RDMA_EP_OBJ_CQ)),
	CMD(RESIZE_CQ, 2, 0,
	    F(rdma_ep_resize_cq, cq, HANDLE, RDMA_EP_OBJ_CQ),
	    F(rdma_ep_resize_cq, cqe, NUMBER, 200)),
	CMD(POLL_CQ, 10, 0,
	    F(rdma_ep_poll_cq, wcs, BUFFER),
	    F(rdma_ep_poll_cq, cq, HANDLE, RDMA_EP_OBJ_CQ),
	    F(rdma_ep_poll_cq, max, NUMBER, 32),
	    F(rdma_ep_poll_cq, reserved, ZERO)),
	CMD(NOTIFY_CQ, 4, RDMA_EP_NOTIFY_SOLICITED,
	    F(rdma_ep_notify_cq, cq, HANDLE, RDMA_EP_OBJ_CQ),
	    F(rdma_ep_notify_cq, reserved, ZERO)),
	CMD(MODIFY_CQ, 1, 0,
	    F(rdma_ep_modify_cq, cq, HANDLE, RDMA_EP_OBJ_CQ),
	    F(rdma_ep_modify_cq, cq_count, NUMBER, 100),
	    F(rdma_ep_modify_cq, cq_period, NUMBER, 100),
	    F(rdma_ep_modify_cq, reserved, ZERO)),
	CMD(CREATE_SRQ, 3, 0,
	    F(rdma_ep_create_srq, uid, COOKIE),
	    F(rdma_ep_create_srq, id, HANDLE, RDMA_EP_OBJ_ID),
	    F(rdma_ep_create_srq, pd, HANDLE, RDMA_EP_OBJ_PD),
	    F(rdma_ep_create_srq, max_wr, NUMBER, 64),
	    F(rdma_ep_create_srq, max_sge, NUMBER, 4),
	    F(rdma_ep_create_srq, srq_limit, NUMBER, 4),
	    F(rdma_ep_create_srq, srq, OUT, RDMA_EP_OBJ_SRQ)),
	CMD(MODIFY_SRQ, 2, RDMA_EP_SRQ_MAX_WR | RDMA_EP_SRQ_LIMIT,
	    F(rdma_ep_srq_attr, srq, HANDLE, RDMA_EP_OBJ_SRQ),
	    F(rdma_ep_srq_attr, max_wr, NUMBER, 100),
	    F(rdma_ep_srq_attr, srq_limit, NUMBER, 64)),
	CMD(QUERY_SRQ, 1, 0,
	    F(rdma_ep_srq_attr, srq, HANDLE, RDMA_EP_OBJ_SRQ)),
	CMD(CREATE_QP, 6, 0,
	    F(rdma_ep_create_qp, id, HANDLE, RDMA_EP_OBJ_ID),
	    F(rdma_ep_create_qp, reserved, ZERO),
	    F(rdma_ep_create_qp, init, QP)),
	CMD(MODIFY_QP, 8, 0,
	    F(rdma_ep_modify_qp, qp, HANDLE, RDMA_EP_OBJ_QP),
	    F(rdma_ep_modify_qp, reserved, ZERO),
	    QP_ATTR(qp_attr_mask, BITS, 0x3fffff),
	    QP_ATTR(qp_state, NUMBER, 6),
	    QP_ATTR(cur_qp_state, NUMBER, 6),
	    QP_ATTR(path_mtu, NUMBER, 5),
	    QP_ATTR(path_mig_state, NUMBER, 3),
	    QP_ATTR(qkey, NUMBER, 100),
	    QP_ATTR(rq_psn, NUMBER, 0xffffff),
	    QP_ATTR(sq_psn, NUMBER, 0xffffff),
	    QP_ATTR(dest_qp_num, NUMBER, 40),
	    QP_ATTR(qp_access_flags, NUMBER, 127),
	    QP_ATTR(ah_attr.grh.dgid, GID),
	    QP_ATTR(ah_attr.grh.flow_label, NUMBER, 0xfffff),
	    QP_ATTR(ah_attr.grh.sgid_index, NUMBER, 3),
	    QP_ATTR(ah_attr.grh.hop_limit, NUMBER, 255),
	    QP_ATTR(ah_attr.grh.traffic_class, NUMBER, 255),
	    QP_ATTR(ah_attr.dlid, NUMBER, 0xffff),
	    QP_ATTR(ah_attr.sl, NUMBER, 15),
	    QP_ATTR(ah_attr.src_path_bits, NUMBER, 127),
	    QP_ATTR(ah_attr.static_rate, NUMBER, 20),
	    QP_ATTR(ah_attr.is_global, NUMBER, 1),
	    QP_ATTR(ah_attr.port_num, PORT),
	    QP_ATTR(alt_ah_attr.grh.dgid, GID),
	    QP_ATTR(alt_ah_attr.grh.flow_label, NUMBER, 0xfffff),
	    QP_ATTR(alt_ah_attr.grh.sgid_index, NUMBER, 3),
	    QP_ATTR(alt_ah_attr.grh.hop_limit, NUMBER, 255),
	    QP_ATTR(alt_ah_attr.grh.traffic_class, NUMBER, 255),
	    QP_ATTR(alt_ah_attr.dlid, NUMBER, 0xffff),
	    QP_ATTR(alt_ah_attr.sl, NUMBER, 15),
	    QP_ATTR(alt_ah_attr.src_path_bits, NUMBER, 127),
	    QP_ATTR(alt_ah_attr.static_rate, NUMBER, 20),
	    QP_ATTR(alt_ah_attr.is_global, NUMBER, 1),
	    QP_ATTR(alt_ah_attr.port_num, PORT),
	    QP_ATTR(max_send_wr, NUMBER, 100),
	    QP_ATTR(max_recv_wr, NUMBER, 100),
	    QP_ATTR(max_send_sge, NUMBER, 8),
	    QP_ATTR(max_recv_sge, NUMBER, 8),
	    QP_ATTR(max_inline_data, NUMBER, 100),
	    QP_ATTR(pkey_index, NUMBER, 2),
	    QP_ATTR(alt_pkey_index, NUMBER, 2),
	    QP_ATTR(en_sqd_async_notify, NUMBER, 1),
	    QP_ATTR(max_rd_atomic, NUMBER, 4),
	    QP_ATTR(max_dest_rd_atomic, NUMBER, 4),
	    QP_ATTR(min_rnr_timer, NUMBER, 31),
	    QP_ATTR(port_num, PORT),
	    QP_ATTR(timeout, NUMBER, 14),
	    QP_ATTR(retry_cnt, NUMBER, 7),
	    QP_ATTR(rnr_retry, NUMBER, 7),
	    QP_ATTR(alt_port_num, NUMBER, 2),
	    QP_ATTR(alt_timeout, NUMBER, 31)),
	CMD(QUERY_QP, 2, 0,
	    F(rdma_ep_query_qp, qp, HANDLE, RDMA_EP_OBJ_QP),
	    F(rdma_ep_query_qp, attr_mask, NUMBER, 0x1fffff)),
	POST(CONNECTED, POST_SEND, 20, SENDS, RDMA_EP_OBJ_QP, RDMA_EP_POST_ALL),
	POST(CONNECTED, POST_RECV, 10, RECVS, RDMA_EP_OBJ_QP, 0),
	POST(ANY, POST_SRQ_RECV, 5, RECVS, RDMA_EP_OBJ_SRQ, 0),
	MCAST(ATTACH_MCAST, 3),
	MCAST(DETACH_MCAST, 3),
	CMD(OPEN_QP, 1, 0,
	    F(rdma_ep_open_qp, uid, COOKIE),
	    F(rdma_ep_open_qp, xrcd, HANDLE, RDMA_EP_OBJ_XRCD),
	    F(rdma_ep_open_qp, qp_num, QP_NUM),
	    F(rdma_ep_open_qp, qp, OUT, RDMA_EP_OBJ_QP)),
};

const int fuzz_nr_cmds = sizeof(fuzz_cmds) / sizeof(fuzz_cmds[0]);
