// SPDX-License-Identifier: BSD-2-Clause
/* Names of values. */
#include "core.h"

static const char *lookup(const char *const *names, size_t num, int value)
{
	if (value < 0 || (size_t)value >= num || !names[value])
		return "unknown";
	return names[value];
}

#define NAME_OF(names, value) \
	lookup(names, sizeof(names) / sizeof(names[0]), value)

LEP_EXPORT const char *ibv_node_type_str(enum ibv_node_type node_type)
{
	static const char *const names[] = {
		[IBV_NODE_CA] = "InfiniBand channel adapter",
		[IBV_NODE_SWITCH] = "InfiniBand switch",
		[IBV_NODE_ROUTER] = "InfiniBand router",
		[IBV_NODE_RNIC] = "iWARP NIC",
		[IBV_NODE_USNIC] = "usNIC",
		[IBV_NODE_USNIC_UDP] = "usNIC UDP",
		[IBV_NODE_UNSPECIFIED] = "unspecified",
	};

	return NAME_OF(names, node_type);
}

LEP_EXPORT const char *ibv_port_state_str(enum ibv_port_state port_state)
{
	static const char *const names[] = {
		[IBV_PORT_NOP] = "no state change (NOP)",
		[IBV_PORT_DOWN] = "down",
		[IBV_PORT_INIT] = "init",
		[IBV_PORT_ARMED] = "armed",
		[IBV_PORT_ACTIVE] = "active",
		[IBV_PORT_ACTIVE_DEFER] = "active defer",
	};

	return NAME_OF(names, port_state);
}

LEP_EXPORT const char *ibv_event_type_str(enum ibv_event_type event)
{
	static const char *const names[] = {
		[IBV_EVENT_CQ_ERR] = "CQ error",
		[IBV_EVENT_QP_FATAL] = "local work queue catastrophic error",
		[IBV_EVENT_QP_REQ_ERR] = "invalid request local work queue error",
		[IBV_EVENT_QP_ACCESS_ERR] = "local access violation work queue error",
		[IBV_EVENT_COMM_EST] = "communication established",
		[IBV_EVENT_SQ_DRAINED] = "send queue drained",
		[IBV_EVENT_PATH_MIG] = "path migrated",
		[IBV_EVENT_PATH_MIG_ERR] = "path migration request error",
		[IBV_EVENT_DEVICE_FATAL] = "local catastrophic error",
		[IBV_EVENT_PORT_ACTIVE] = "port active",
		[IBV_EVENT_PORT_ERR] = "port error",
		[IBV_EVENT_LID_CHANGE] = "LID change",
		[IBV_EVENT_PKEY_CHANGE] = "P_Key change",
		[IBV_EVENT_SM_CHANGE] = "SM change",
		[IBV_EVENT_SRQ_ERR] = "SRQ catastrophic error",
		[IBV_EVENT_SRQ_LIMIT_REACHED] = "SRQ limit reached",
		[IBV_EVENT_QP_LAST_WQE_REACHED] = "last WQE reached",
		[IBV_EVENT_CLIENT_REREGISTER] = "client reregistration",
		[IBV_EVENT_GID_CHANGE] = "GID table change",
		[IBV_EVENT_WQ_FATAL] = "WQ fatal",
		[IBV_EVENT_WQ_FATAL + 1] = "Device link speed change",
	};

	return NAME_OF(names, event);
}

LEP_EXPORT const char *ibv_wc_status_str(enum ibv_wc_status status)
{
	static const char *const names[] = {
		[IBV_WC_SUCCESS] = "success",
		[IBV_WC_LOC_LEN_ERR] = "local length error",
		[IBV_WC_LOC_QP_OP_ERR] = "local QP operation error",
		[IBV_WC_LOC_EEC_OP_ERR] = "local EE context operation error",
		[IBV_WC_LOC_PROT_ERR] = "local protection error",
		[IBV_WC_WR_FLUSH_ERR] = "Work Request Flushed Error",
		[IBV_WC_MW_BIND_ERR] = "memory management operation error",
		[IBV_WC_BAD_RESP_ERR] = "bad response error",
		[IBV_WC_LOC_ACCESS_ERR] = "local access error",
		[IBV_WC_REM_INV_REQ_ERR] = "remote invalid request error",
		[IBV_WC_REM_ACCESS_ERR] = "remote access error",
		[IBV_WC_REM_OP_ERR] = "remote operation error",
		[IBV_WC_RETRY_EXC_ERR] = "transport retry counter exceeded",
		[IBV_WC_RNR_RETRY_EXC_ERR] = "RNR retry counter exceeded",
		[IBV_WC_LOC_RDD_VIOL_ERR] = "local RDD violation error",
		[IBV_WC_REM_INV_RD_REQ_ERR] = "remote invalid RD request",
		[IBV_WC_REM_ABORT_ERR] = "aborted error",
		[IBV_WC_INV_EECN_ERR] = "invalid EE context number",
		[IBV_WC_INV_EEC_STATE_ERR] = "invalid EE context state",
		[IBV_WC_FATAL_ERR] = "fatal error",
		[IBV_WC_RESP_TIMEOUT_ERR] = "response timeout error",
		[IBV_WC_GENERAL_ERR] = "general error",
		[IBV_WC_TM_ERR] = "TM error",
		[IBV_WC_TM_RNDV_INCOMPLETE] = "TM software rendezvous",
	};

	return NAME_OF(names, status);
}

static const char *wr_opcode_str(enum ibv_wr_opcode opcode)
{
	static const char *const names[] = {
		[IBV_WR_RDMA_WRITE] = "rdma-write",
		[IBV_WR_RDMA_WRITE_WITH_IMM] = "rdma-write-with-imm",
		[IBV_WR_SEND] = "send",
		[IBV_WR_SEND_WITH_IMM] = "send-with-imm",
		[IBV_WR_RDMA_READ] = "rdma-read",
		[IBV_WR_ATOMIC_CMP_AND_SWP] = "atomic-cmp-and-swp",
		[IBV_WR_ATOMIC_FETCH_AND_ADD] = "atomic-fetch-and-add",
		[IBV_WR_LOCAL_INV] = "local-inv",
		[IBV_WR_BIND_MW] = "bind-mw",
		[IBV_WR_SEND_WITH_INV] = "send-with-inv",
		[IBV_WR_TSO] = "tso",
		[IBV_WR_DRIVER1] = "driver1",
		/* IBV_WR_FLUSH, IBV_WR_ATOMIC_WRITE */
		[14] = "flush",
		[15] = "atomic-write",
	};

	return NAME_OF(names, opcode);
}

/* libibverbs has it in its node for providers, but verbs.h declares it. */
#define WR_OPCODE_VERSION(n, at) \
	LEP_EXPORT __attribute__((alias("wr_opcode_str"))) \
	const char *lep_wr_opcode_str_##n(enum ibv_wr_opcode opcode); \
	__asm__(".symver lep_wr_opcode_str_" #n ", ibv_wr_opcode_str" at "IBVERBS_PRIVATE_" #n)

WR_OPCODE_VERSION(34, "@");
WR_OPCODE_VERSION(57, "@");
WR_OPCODE_VERSION(59, "@");
WR_OPCODE_VERSION(64, "@");
WR_OPCODE_VERSION(65, "@@");

/* rdma_event_str(3). Older versions of rdma_cma.h lack the last ones. */
LEP_EXPORT const char *rdma_event_str(enum rdma_cm_event_type event)
{
#define EVENT(name) [RDMA_CM_EVENT_##name] = "RDMA_CM_EVENT_" #name
	static const char *const names[] = {
		EVENT(ADDR_RESOLVED),
		EVENT(ADDR_ERROR),
		EVENT(ROUTE_RESOLVED),
		EVENT(ROUTE_ERROR),
		EVENT(CONNECT_REQUEST),
		EVENT(CONNECT_RESPONSE),
		EVENT(CONNECT_ERROR),
		EVENT(UNREACHABLE),
		EVENT(REJECTED),
		EVENT(ESTABLISHED),
		EVENT(DISCONNECTED),
		EVENT(DEVICE_REMOVAL),
		EVENT(MULTICAST_JOIN),
		EVENT(MULTICAST_ERROR),
		EVENT(ADDR_CHANGE),
		EVENT(TIMEWAIT_EXIT),
		[RDMA_EP_CM_EVENT_ADDRINFO_RESOLVED] =
			"RDMA_CM_EVENT_ADDRINFO_RESOLVED",
		[RDMA_EP_CM_EVENT_ADDRINFO_ERROR] =
			"RDMA_CM_EVENT_ADDRINFO_ERROR",
		[RDMA_EP_CM_EVENT_USER] = "RDMA_CM_EVENT_USER",
	};

	if ((unsigned int)event >= sizeof(names) / sizeof(names[0]))
		return "UNKNOWN EVENT";
	return names[event];
}

/* Data rates in Mbit/s, and as a multiple of 2.5 Gbit/s where there is one. */
static const struct {
	enum ibv_rate rate;
	int mbps;
	int mult;
} rates[] = {
	{ IBV_RATE_2_5_GBPS, 2500, 1 },
	{ IBV_RATE_5_GBPS, 5000, 2 },
	{ IBV_RATE_10_GBPS, 10000, 4 },
	{ IBV_RATE_20_GBPS, 20000, 8 },
	{ IBV_RATE_30_GBPS, 30000, 12 },
	{ IBV_RATE_40_GBPS, 40000, 16 },
	{ IBV_RATE_60_GBPS, 60000, 24 },
	{ IBV_RATE_80_GBPS, 80000, 32 },
	{ IBV_RATE_120_GBPS, 120000, 48 },
	{ IBV_RATE_14_GBPS, 14062, 0 },
	{ IBV_RATE_56_GBPS, 56250, 0 },
	{ IBV_RATE_112_GBPS, 112500, 0 },
	{ IBV_RATE_168_GBPS, 168750, 0 },
	{ IBV_RATE_25_GBPS, 25781, 0 },
	{ IBV_RATE_100_GBPS, 103125, 0 },
	{ IBV_RATE_200_GBPS, 206250, 0 },
	{ IBV_RATE_300_GBPS, 309375, 0 },
	{ IBV_RATE_28_GBPS, 28125, 11 },
	{ IBV_RATE_50_GBPS, 53125, 20 },
	{ IBV_RATE_400_GBPS, 425000, 160 },
	{ IBV_RATE_600_GBPS, 637500, 240 },
	{ IBV_RATE_800_GBPS, 850000, 320 },
	{ IBV_RATE_1200_GBPS, 1275000, 480 },
};

#define NUM_RATES (sizeof(rates) / sizeof(rates[0]))

LEP_EXPORT int ibv_rate_to_mult(enum ibv_rate rate)
{
	size_t i;

	for (i = 0; i < NUM_RATES; i++)
		if (rates[i].rate == rate && rates[i].mult)
			return rates[i].mult;
	return -1;
}

LEP_EXPORT enum ibv_rate mult_to_ibv_rate(int mult)
{
	size_t i;

	for (i = 0; i < NUM_RATES; i++)
		if (mult && rates[i].mult == mult)
			return rates[i].rate;
	return IBV_RATE_MAX;
}

LEP_EXPORT int ibv_rate_to_mbps(enum ibv_rate rate)
{
	size_t i;

	for (i = 0; i < NUM_RATES; i++)
		if (rates[i].rate == rate)
			return rates[i].mbps;
	return -1;
}

LEP_EXPORT enum ibv_rate mbps_to_ibv_rate(int mbps)
{
	size_t i;

	for (i = 0; i < NUM_RATES; i++)
		if (rates[i].mbps == mbps)
			return rates[i].rate;
	return IBV_RATE_MAX;
}
