/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note OR BSD-2-Clause */
/*
 * rdma_ep: kernel-owned RDMA endpoints for user space.
 */
#ifndef _UAPI_RDMA_RDMA_EP_H
#define _UAPI_RDMA_RDMA_EP_H

#include <linux/ioctl.h>
#include <linux/socket.h>
#include <linux/types.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>

/**
 * DOC: General ioctl format
 *
 * One open of /dev/infiniband/rdma_ep is a *session*. A u32 handle names each
 * object that is created through a session, and means nothing in any other
 * session. Closing the last reference to the session destroys everything in it.
 * Event channels, completion channels and asynchronous event queues are file
 * descriptors of their own (O_CLOEXEC, pollable, read(2) by record; SIGIO for the latest
 * one with O_ASYNC). They may outlive the session, and then read as -EIO.
 *
 * Each command takes a pointer to a structure whose first field is its size.
 * The size must equal the one that is encoded in the command number. Structures
 * grow at the end. If the caller's structure is shorter than the kernel's, the
 * kernel takes the missing fields as zero. If it is longer, the additional bytes
 * must be zero. The kernel writes all output fields, with zeros where it has no
 * value.
 *
 * These errnos mean the same for every command:
 *
 *  - ENOTTY: unknown command
 *  - EINVAL: size differs from the command number or is too short, a reserved
 *    field or an unknown flag bit is set, or an argument is out of range
 *  - E2BIG: the structure is longer than the kernel's, and the additional bytes
 *    are not zero
 *  - EFAULT: a user pointer is bad. If the structure itself cannot be written
 *    back, the kernel undoes everything that the command has created
 *  - ENOENT: no object of that type has this handle in this session
 *  - ENOMEM: out of kernel memory
 *  - EIO: the RDMA device of the object has been removed. Destroying such an
 *    object succeeds
 *  - ENODEV: a loopback address has bound the id to a device of another network
 *    namespace. Such an id can only be destroyed
 *  - EDQUOT: a limit of the session or the user on objects or queue memory is
 *    reached (see &struct rdma_ep_cmd_query for the limits), or of the cgroups in
 *    which the session was opened (the module's parameter "rules")
 *  - EACCES: the device that the command names, that its id is bound to, or that
 *    its id would listen on is closed to the calling task (the same parameter), or
 *    to the session; or an address is (&struct rdma_ep_cmd_restrict)
 *  - EPERM: the session may not create ids (&struct rdma_ep_cmd_restrict)
 *  - EAGAIN: the RDMA controller of the task's cgroup refused the object
 *  - EBADF: the session has another owner, or none, see
 *    &struct rdma_ep_cmd_export
 *
 * A signal interrupts a command that waits for events, addresses or another owner; the
 * command then has had no effect. The exceptions are RDMA_EP_AWAIT, see &struct
 * rdma_ep_await, and RDMA_EP_IOC_EXPORT and RDMA_EP_IOC_ADOPT, after which the session may
 * have no owner: they can be repeated. Commands that wait for other commands on the same
 * object are only interrupted if the signal kills the task.
 *
 * Until version 1.0 of the module the ABI may change together with the library.
 */

#define RDMA_EP_ABI_VERSION	9
#define RDMA_EP_DEVICE_NODE	"/dev/infiniband/rdma_ep"
#define RDMA_EP_IOC_TYPE	0xEB
#define RDMA_EP_MAX_PRIVATE_DATA 256

enum rdma_ep_cmd {
	RDMA_EP_CMD_QUERY = 0x00,
	RDMA_EP_CMD_QUERY_DEVICES,
	RDMA_EP_CMD_OPEN_DEVICE,
	RDMA_EP_CMD_QUERY_DEVICE,
	RDMA_EP_CMD_QUERY_PORT,
	RDMA_EP_CMD_QUERY_GID,
	RDMA_EP_CMD_QUERY_PKEY,
	RDMA_EP_CMD_DESTROY,
	RDMA_EP_CMD_QUERY_GID_TABLE,

	RDMA_EP_CMD_CREATE_CHANNEL = 0x10,
	RDMA_EP_CMD_CREATE_ID,
	RDMA_EP_CMD_CREATE_EP,
	RDMA_EP_CMD_BIND_ADDR,
	RDMA_EP_CMD_RESOLVE_ADDR,
	RDMA_EP_CMD_RESOLVE_ROUTE,
	RDMA_EP_CMD_LISTEN,
	RDMA_EP_CMD_CONNECT,
	RDMA_EP_CMD_ACCEPT,
	RDMA_EP_CMD_REJECT,
	RDMA_EP_CMD_DISCONNECT,
	RDMA_EP_CMD_ESTABLISH,
	RDMA_EP_CMD_QUERY_ID,
	RDMA_EP_CMD_SET_OPTION,
	RDMA_EP_CMD_MIGRATE_ID,
	RDMA_EP_CMD_INIT_QP_ATTR,
	RDMA_EP_CMD_GET_REQUEST,
	RDMA_EP_CMD_JOIN_MULTICAST,
	RDMA_EP_CMD_NOTIFY,
	RDMA_EP_CMD_WRITE_EVENT,
	RDMA_EP_CMD_DESTROY_EP,

	RDMA_EP_CMD_ALLOC_PD = 0x30,
	RDMA_EP_CMD_REG_MR,
	RDMA_EP_CMD_CREATE_AH,
	RDMA_EP_CMD_OPEN_XRCD,
	RDMA_EP_CMD_REREG_MR,

	RDMA_EP_CMD_CREATE_COMP_CHANNEL = 0x38,
	RDMA_EP_CMD_CREATE_CQ,
	RDMA_EP_CMD_RESIZE_CQ,
	RDMA_EP_CMD_POLL_CQ,
	RDMA_EP_CMD_NOTIFY_CQ,
	RDMA_EP_CMD_MODIFY_CQ,

	RDMA_EP_CMD_CREATE_SRQ = 0x40,
	RDMA_EP_CMD_MODIFY_SRQ,
	RDMA_EP_CMD_QUERY_SRQ,

	RDMA_EP_CMD_CREATE_QP = 0x48,
	RDMA_EP_CMD_MODIFY_QP,
	RDMA_EP_CMD_QUERY_QP,
	RDMA_EP_CMD_POST_SEND,
	RDMA_EP_CMD_POST_RECV,
	RDMA_EP_CMD_POST_SRQ_RECV,
	RDMA_EP_CMD_ATTACH_MCAST,
	RDMA_EP_CMD_DETACH_MCAST,
	RDMA_EP_CMD_OPEN_QP,

	RDMA_EP_CMD_LIST_OBJS = 0x60,
	RDMA_EP_CMD_SET_OBJ,
	RDMA_EP_CMD_OPEN_QUEUE,
	RDMA_EP_CMD_EXPORT,
	RDMA_EP_CMD_ADOPT,
	RDMA_EP_CMD_SPLIT_ID,
	RDMA_EP_CMD_RESTRICT,
};

/*
 * The number carries the size, and the module checks both: it reads a structure from user
 * memory once, without a separate read of its size.
 */
#define RDMA_EP_IOC(cmd, type) \
	_IOWR(RDMA_EP_IOC_TYPE, RDMA_EP_CMD_##cmd, struct type)

/* ------------------------------------------------------------------ */
/* Session and devices                                                */
/* ------------------------------------------------------------------ */

/**
 * struct rdma_ep_cmd_query - ioctl(RDMA_EP_IOC_QUERY)
 * @size: sizeof(struct rdma_ep_cmd_query)
 * @flags: must be 0
 * @abi_version: out: RDMA_EP_ABI_VERSION of the module
 * @caps: out: 0
 * @max_objects: out: most objects that this session may hold
 * @max_user_objects: out: most objects that all sessions of this user may hold
 * @max_queue_bytes: out: most bytes of work and completion queues, and of ids, that this
 *	session may hold
 * @max_user_queue_bytes: out: the same for all sessions of this user
 * @max_wr: out: most work requests of one send, receive or shared receive queue
 * @max_cqe: out: most entries of one completion queue
 * @max_post_bytes: out: longest buffer that one post command takes, unless it has
 *	RDMA_EP_POST_ALL
 * @max_backlog: out: most connection requests that may wait on one listening id
 *
 * Fails only with the errnos of every command.
 */
struct rdma_ep_cmd_query {
	__u32 size;
	__u32 flags;
	__u32 abi_version;
	__u32 caps;
	__u32 max_objects;
	__u32 max_user_objects;
	__aligned_u64 max_queue_bytes;
	__aligned_u64 max_user_queue_bytes;
	__u32 max_wr;
	__u32 max_cqe;
	__u32 max_post_bytes;
	__u32 max_backlog;
};

#define RDMA_EP_IOC_QUERY RDMA_EP_IOC(QUERY, rdma_ep_cmd_query)

/**
 * enum rdma_ep_device_flags - &struct rdma_ep_device_info.flags
 * @RDMA_EP_DEVICE_USER_MR: this device's driver can register user memory
 * @RDMA_EP_DEVICE_XRC: the device has XRC domains
 */
enum rdma_ep_device_flags {
	RDMA_EP_DEVICE_USER_MR = 1 << 0,
	RDMA_EP_DEVICE_XRC = 1 << 1,
};

/**
 * struct rdma_ep_device_info - one entry of RDMA_EP_IOC_QUERY_DEVICES
 * @dev_index: names the device in other commands; positive, and not reused
 *	while the module is loaded
 * @flags: RDMA_EP_DEVICE_* bits
 * @node_guid: node GUID in network byte order
 * @node_type: enum rdma_node_type of the kernel: 1 CA (InfiniBand, RoCE),
 *	4 RNIC (iWARP)
 * @phys_port_cnt: number of ports, numbered from 1
 * @num_comp_vectors: completion vectors, at least 1
 * @ib_index: index of the device in rdma netlink
 * @driver_id: enum rdma_driver_id
 * @reserved: 0
 * @name: zero-terminated name, as in /sys/class/infiniband
 */
struct rdma_ep_device_info {
	__u32 dev_index;
	__u32 flags;
	__be64 node_guid;
	__u32 node_type;
	__u32 phys_port_cnt;
	__u32 num_comp_vectors;
	__u32 ib_index;
	__u32 driver_id;
	__u32 reserved;
	__u8 name[64];
};

/**
 * struct rdma_ep_cmd_query_devices - ioctl(RDMA_EP_IOC_QUERY_DEVICES)
 * @size: sizeof(struct rdma_ep_cmd_query_devices)
 * @flags: must be 0
 * @devices: user pointer to an array of struct rdma_ep_device_info
 * @max: in: number of entries that fit into @devices (0: only count)
 * @num: out: number of devices that the caller's network namespace may use;
 *	min(@max, @num) entries have been written
 */
struct rdma_ep_cmd_query_devices {
	__u32 size;
	__u32 flags;
	__aligned_u64 devices;
	__u32 max;
	__u32 num;
};

#define RDMA_EP_IOC_QUERY_DEVICES \
	RDMA_EP_IOC(QUERY_DEVICES, rdma_ep_cmd_query_devices)

/**
 * enum rdma_ep_open_flags - &struct rdma_ep_cmd_open_device.flags
 * @RDMA_EP_OPEN_DEFAULT: open the context that ids of this session use
 */
enum rdma_ep_open_flags {
	RDMA_EP_OPEN_DEFAULT = 1 << 0,
};

/**
 * struct rdma_ep_cmd_open_device - ioctl(RDMA_EP_IOC_OPEN_DEVICE)
 * @size: sizeof(struct rdma_ep_cmd_open_device)
 * @flags: RDMA_EP_OPEN_DEFAULT or 0
 * @dev_index: in: device
 * @ctx: out: handle of the context
 * @async_fd: out: asynchronous event queue of the context, see
 *	&struct rdma_ep_async_event
 * @pd: out: with RDMA_EP_OPEN_DEFAULT the handle of the default PD, else 0
 *
 * A context groups the same objects as that of ibv_open_device(3): PDs, CQs and
 * the objects in them. Their asynchronous events arrive on its queue.
 *
 * There is one default context per session and device, with one default PD
 * (rdma_create_qp(3): "One default protection domain is allocated per RDMA
 * device"). Opening it again returns the same handles and a new @async_fd on
 * the same queue. RDMA_EP_IOC_DESTROY cannot destroy it (EBUSY).
 *
 *  - ENODEV: no such device, or not in the caller's network namespace
 *  - EMFILE: the process has too many open files
 *  - ENFILE: the system has too many open files
 */
struct rdma_ep_cmd_open_device {
	__u32 size;
	__u32 flags;
	__u32 dev_index;
	__u32 ctx;
	__s32 async_fd;
	__u32 pd;
};

#define RDMA_EP_IOC_OPEN_DEVICE RDMA_EP_IOC(OPEN_DEVICE, rdma_ep_cmd_open_device)

/**
 * struct rdma_ep_cmd_query_device - ioctl(RDMA_EP_IOC_QUERY_DEVICE)
 * @size: sizeof(struct rdma_ep_cmd_query_device)
 * @flags: must be 0
 * @dev_index: in: device
 * @num_comp_vectors: out: completion vectors
 * @attr: out: device attributes as ibv_query_device(3) documents them. Limits are
 *	those of this module, at most the device's. Limits and capability bits
 *	of features that the module does not offer are 0. GUIDs are in network
 *	byte order
 * @device_cap_flags_ex: out: all 64 capability bits, without those that the module
 *	does not offer
 * @hca_core_clock: out: 0, as no command reads the clock
 * @timestamp_mask: out: 0 if unsupported
 *
 *  - ENODEV: no such device, or not in the caller's network namespace
 */
struct rdma_ep_cmd_query_device {
	__u32 size;
	__u32 flags;
	__u32 dev_index;
	__u32 num_comp_vectors;
	struct ib_uverbs_query_device_resp attr;
	__aligned_u64 device_cap_flags_ex;
	__aligned_u64 hca_core_clock;
	__aligned_u64 timestamp_mask;
};

#define RDMA_EP_IOC_QUERY_DEVICE RDMA_EP_IOC(QUERY_DEVICE, rdma_ep_cmd_query_device)

/**
 * struct rdma_ep_cmd_query_port - ioctl(RDMA_EP_IOC_QUERY_PORT)
 * @size: sizeof(struct rdma_ep_cmd_query_port)
 * @flags: must be 0
 * @dev_index: in: device
 * @port_num: in: port, from 1
 * @attr: out: port attributes as ibv_query_port(3) documents them; flags holds
 *	IBV_QPF_GRH_REQUIRED where addresses need a GRH
 * @port_cap_flags2: out: second capability mask
 * @netdev_index: out: ifindex of the port's network device, 0 if none or not in
 *	the caller's network namespace
 *
 *  - ENODEV: no such device, or not in the caller's network namespace
 *  - EINVAL: no such port
 */
struct rdma_ep_cmd_query_port {
	__u32 size;
	__u32 flags;
	__u32 dev_index;
	__u32 port_num;
	struct ib_uverbs_query_port_resp attr;
	__u32 port_cap_flags2;
	__u32 netdev_index;
};

#define RDMA_EP_IOC_QUERY_PORT RDMA_EP_IOC(QUERY_PORT, rdma_ep_cmd_query_port)

/**
 * struct rdma_ep_cmd_query_gid - ioctl(RDMA_EP_IOC_QUERY_GID)
 * @size: sizeof(struct rdma_ep_cmd_query_gid)
 * @flags: must be 0
 * @dev_index: in: device
 * @port_num: in: port, from 1
 * @gid_index: in: index into the port's GID table
 * @gid_type: out: 0 IB, 1 RoCE v1, 2 RoCE v2 (enum ibv_gid_type)
 * @ndev_ifindex: out: network device of the GID, 0 if none in the caller's network
 *	namespace
 * @reserved: must be 0
 * @gid: out: the GID
 *
 *  - ENODEV: no such device, or not in the caller's network namespace
 *  - EINVAL: no such port or index
 *  - ENODATA: the entry is empty
 */
struct rdma_ep_cmd_query_gid {
	__u32 size;
	__u32 flags;
	__u32 dev_index;
	__u32 port_num;
	__u32 gid_index;
	__u32 gid_type;
	__u32 ndev_ifindex;
	__u32 reserved;
	__u8 gid[16];
};

#define RDMA_EP_IOC_QUERY_GID RDMA_EP_IOC(QUERY_GID, rdma_ep_cmd_query_gid)

/**
 * struct rdma_ep_cmd_query_gid_table - ioctl(RDMA_EP_IOC_QUERY_GID_TABLE)
 * @size: sizeof(struct rdma_ep_cmd_query_gid_table)
 * @flags: must be 0
 * @entries: user pointer to an array of struct ib_uverbs_gid_entry, which is
 *	laid out as &struct ibv_gid_entry
 * @dev_index: in: device
 * @max: in: number of entries that fit into @entries
 * @num: out: number of entries written
 * @reserved: must be 0
 *
 * Writes the entries of all ports that are not empty.
 *
 *  - ENODEV: no such device, or not in the caller's network namespace
 *  - EINVAL: there are more than @max entries; none has been written
 */
struct rdma_ep_cmd_query_gid_table {
	__u32 size;
	__u32 flags;
	__aligned_u64 entries;
	__u32 dev_index;
	__u32 max;
	__u32 num;
	__u32 reserved;
};

#define RDMA_EP_IOC_QUERY_GID_TABLE \
	RDMA_EP_IOC(QUERY_GID_TABLE, rdma_ep_cmd_query_gid_table)

/**
 * struct rdma_ep_cmd_query_pkey - ioctl(RDMA_EP_IOC_QUERY_PKEY)
 * @size: sizeof(struct rdma_ep_cmd_query_pkey)
 * @flags: must be 0
 * @dev_index: in: device
 * @port_num: in: port, from 1
 * @pkey_index: in: index into the port's P_Key table
 * @pkey: out: P_Key in host byte order
 *
 *  - ENODEV: no such device, or not in the caller's network namespace
 *  - EINVAL: no such port or index
 */
struct rdma_ep_cmd_query_pkey {
	__u32 size;
	__u32 flags;
	__u32 dev_index;
	__u32 port_num;
	__u32 pkey_index;
	__u32 pkey;
};

#define RDMA_EP_IOC_QUERY_PKEY RDMA_EP_IOC(QUERY_PKEY, rdma_ep_cmd_query_pkey)

/**
 * enum rdma_ep_obj_type - the type of the object that a handle names
 * @RDMA_EP_OBJ_CTX: context
 * @RDMA_EP_OBJ_ID: communication id
 * @RDMA_EP_OBJ_PD: protection domain
 * @RDMA_EP_OBJ_MR: memory region
 * @RDMA_EP_OBJ_AH: address handle
 * @RDMA_EP_OBJ_CQ: completion queue
 * @RDMA_EP_OBJ_SRQ: shared receive queue
 * @RDMA_EP_OBJ_QP: queue pair
 * @RDMA_EP_OBJ_MCAST: membership of an id in a multicast group
 * @RDMA_EP_OBJ_XRCD: XRC domain
 */
enum rdma_ep_obj_type {
	RDMA_EP_OBJ_CTX = 1,
	RDMA_EP_OBJ_ID,
	RDMA_EP_OBJ_PD,
	RDMA_EP_OBJ_MR,
	RDMA_EP_OBJ_AH,
	RDMA_EP_OBJ_CQ,
	RDMA_EP_OBJ_SRQ,
	RDMA_EP_OBJ_QP,
	RDMA_EP_OBJ_MCAST,
	RDMA_EP_OBJ_XRCD,
};

/**
 * enum rdma_ep_destroy_flags - &struct rdma_ep_cmd_destroy.flags
 * @RDMA_EP_DESTROY_DETACH: detach the QP from multicast groups first
 * @RDMA_EP_DESTROY_CONTENTS: destroy the objects in the context first
 */
enum rdma_ep_destroy_flags {
	RDMA_EP_DESTROY_DETACH = 1 << 0,
	RDMA_EP_DESTROY_CONTENTS = 1 << 1,
};

/**
 * struct rdma_ep_cmd_destroy - ioctl(RDMA_EP_IOC_DESTROY)
 * @size: sizeof(struct rdma_ep_cmd_destroy)
 * @flags: RDMA_EP_DESTROY_DETACH for a QP, RDMA_EP_DESTROY_CONTENTS for a
 *	context, or 0
 * @handle: in: the object
 * @type: in: its type (enum rdma_ep_obj_type)
 * @events_reported: out: number of read events of this object: CM events of an id
 *	or a membership, asynchronous events of a CQ, QP or SRQ
 * @comp_events_reported: out: number of read completion events of a CQ
 *
 * The kernel discards unread events, and rejects unread connection requests of a
 * listening id. The library waits until the program has acknowledged as many
 * events as are reported here (rdma_destroy_id(3), ibv_get_cq_event(3)).
 *
 * An id and its QP can be destroyed in either order. If several tasks destroy the
 * same handle, one of them succeeds. Destroying a membership leaves the group
 * (rdma_leave_multicast(3)), and detaches the id's QP, also one that the program has
 * attached itself. An id that is destroyed leaves all its groups, but its QP stays
 * attached to them as long as the memberships exist.
 *
 * An XRC domain, and a QP that is shared in one, exist until the last session that
 * has opened them destroys its handle.
 *
 *  - EBUSY: another object uses this one (a context with PDs, CQs or XRC domains,
 *    a PD with MRs, AHs, SRQs or QPs, an XRC domain with SRQs or QPs of this
 *    session, a CQ with QPs or XRC SRQs, an SRQ with QPs). Or it is the default
 *    context or its PD, or a QP that is attached to a multicast group. With
 *    RDMA_EP_DESTROY_CONTENTS: a QP in another context uses a CQ or SRQ of this
 *    one, or another task is creating an object in it; the other objects have
 *    been destroyed
 *  - EINVAL: @type is unknown, or @flags do not suit it
 */
struct rdma_ep_cmd_destroy {
	__u32 size;
	__u32 flags;
	__u32 handle;
	__u32 type;
	__u32 events_reported;
	__u32 comp_events_reported;
};

#define RDMA_EP_IOC_DESTROY RDMA_EP_IOC(DESTROY, rdma_ep_cmd_destroy)

/* ------------------------------------------------------------------ */
/* Records read from the file descriptors                             */
/* ------------------------------------------------------------------ */

/**
 * struct rdma_ep_path_rec - a path, as &struct ibv_sa_path_rec holds it
 * @dgid: destination GID
 * @sgid: source GID
 * @dlid: destination LID
 * @slid: source LID
 * @flow_label: flow label
 * @pkey: P_Key
 * @raw_traffic: boolean
 * @reversible: boolean
 * @hop_limit: hop limit
 * @traffic_class: traffic class
 * @numb_path: number of paths
 * @sl: service level
 * @mtu_selector: enum ibv_sa_selector
 * @mtu: enum ibv_mtu
 * @rate_selector: enum ibv_sa_selector
 * @rate: enum ibv_rate
 * @packet_life_time_selector: enum ibv_sa_selector
 * @packet_life_time: 4.096 us times two to this power
 * @preference: preference
 * @reserved: 0
 */
struct rdma_ep_path_rec {
	__u8 dgid[16];
	__u8 sgid[16];
	__be16 dlid;
	__be16 slid;
	__be32 flow_label;
	__be16 pkey;
	__u8 raw_traffic;
	__u8 reversible;
	__u8 hop_limit;
	__u8 traffic_class;
	__u8 numb_path;
	__u8 sl;
	__u8 mtu_selector;
	__u8 mtu;
	__u8 rate_selector;
	__u8 rate;
	__u8 packet_life_time_selector;
	__u8 packet_life_time;
	__u8 preference;
	__u8 reserved[5];
};

/**
 * struct rdma_ep_id_info - device, addresses and paths of an id
 * @node_guid: node GUID of the device in network byte order, 0 if not bound
 * @dev_index: device, 0 if the id is not bound to one
 * @port_num: port, 0 if not bound to a device
 * @pkey: P_Key in network byte order, 0 on Ethernet or if not bound to a device
 * @num_paths: valid entries of @path
 * @sgid: source GID, zero if not bound to a device
 * @dgid: destination GID, zero before it is resolved
 * @path: path records; none on iWARP
 * @src: local address; family 0 if none
 * @dst: peer address; family 0 if none
 */
struct rdma_ep_id_info {
	__be64 node_guid;
	__u32 dev_index;
	__u8 port_num;
	__u8 num_paths;
	__be16 pkey;
	__u8 sgid[16];
	__u8 dgid[16];
	struct rdma_ep_path_rec path[2];
	struct __kernel_sockaddr_storage src;
	struct __kernel_sockaddr_storage dst;
};

/**
 * struct rdma_ep_conn_param - parameters of a connected endpoint
 * @qp_num: connect and accept: number of a QP of this session that is not the
 *	id's own (see &struct rdma_ep_cmd_connect); event: the peer's QP number
 * @private_data: private data
 * @private_data_len: bytes of private data; events report the length of the CM
 *	message's field, padded with zeros
 * @srq: event: the peer's QP uses an SRQ; ignored from the user
 * @responder_resources: RDMA READs and atomics that the receiver of this
 *	structure should accept from the peer; at most the device's
 *	max_qp_rd_atom
 * @initiator_depth: RDMA READs and atomics that the receiver of this structure may
 *	issue; at most the device's max_qp_init_rd_atom
 * @flow_control: 1 if hardware flow control is available
 * @retry_count: number of retries; more than 7 means 7
 * @rnr_retry_count: number of retries after receiver-not-ready; more than 7 means
 *	7, and 7 means without a limit
 * @reserved: 0
 */
struct rdma_ep_conn_param {
	__u32 qp_num;
	__u8 private_data[RDMA_EP_MAX_PRIVATE_DATA];
	__u8 private_data_len;
	__u8 srq;
	__u8 responder_resources;
	__u8 initiator_depth;
	__u8 flow_control;
	__u8 retry_count;
	__u8 rnr_retry_count;
	__u8 reserved[5];
};

/**
 * struct rdma_ep_ud_param - parameters of an unconnected endpoint (events only)
 * @qp_num: QP number to send to
 * @qkey: Q_Key to use
 * @ah_attr: address vector to use
 * @private_data: private data
 * @private_data_len: bytes of private data
 * @reserved: 0
 * @mcast_uid: MULTICAST_JOIN and MULTICAST_ERROR: cookie of the membership
 */
struct rdma_ep_ud_param {
	__u32 qp_num;
	__u32 qkey;
	struct ib_uverbs_ah_attr ah_attr;
	__u8 private_data[RDMA_EP_MAX_PRIVATE_DATA];
	__u8 private_data_len;
	__u8 reserved[7];
	__aligned_u64 mcast_uid;
};

/**
 * enum rdma_ep_event_flags - &struct rdma_ep_channel_event.flags
 * @RDMA_EP_EVENT_UD: param.ud is valid, not param.conn
 * @RDMA_EP_EVENT_INFO: info is valid
 * @RDMA_EP_EVENT_ARG: param.arg is valid, nothing else of param is
 */
enum rdma_ep_event_flags {
	RDMA_EP_EVENT_UD = 1 << 0,
	RDMA_EP_EVENT_INFO = 1 << 1,
	RDMA_EP_EVENT_ARG = 1 << 2,
};

/*
 * Events that the kernel does not generate, see &struct rdma_ep_cmd_write_event. The
 * numbers are those of enum rdma_cm_event_type in newer versions of rdma_cma.h.
 */
#define RDMA_EP_CM_EVENT_ADDRINFO_RESOLVED	16
#define RDMA_EP_CM_EVENT_ADDRINFO_ERROR		17
#define RDMA_EP_CM_EVENT_USER			18

/**
 * struct rdma_ep_channel_event - record read from an event channel
 * @uid: cookie of the event's id; for a connection request, of the listening id
 * @id: handle of that id
 * @child: connection request: handle of the new id, created in the same channel
 * @event: enum rdma_cm_event_type
 * @status: 0, or a negative errno or CM reason as in rdma_get_cm_event(3)
 * @flags: RDMA_EP_EVENT_* bits
 * @reserved: 0
 * @param: private data and connection parameters
 * @info: state of the id (of @child for a connection request) at the time of an
 *	ADDR_RESOLVED, ROUTE_RESOLVED or CONNECT_REQUEST event
 *
 * read(2) returns as many whole records as are waiting and fit into the buffer.
 * It blocks while there is none unless O_NONBLOCK is set. Each record that it
 * returns adds one to the id's events_reported (for a connection request, to the
 * listening id's).
 *
 * If the id has a QP of its own (created with its id field set), the kernel moves
 * that QP through its states. When the ESTABLISHED event arrives, the QP is ready
 * to send. When the MULTICAST_JOIN event has been read, the QP that the id had then
 * is attached to the group, unless the id only sends. Without a QP of its own, the
 * peer's answer arrives as CONNECT_RESPONSE, and the user completes the connection
 * (RDMA_EP_IOC_ESTABLISH).
 *
 * The kernel discards events of a new id before RDMA_EP_IOC_ACCEPT, as rdma_ucm
 * does.
 *
 *  - EINVAL: the buffer is shorter than one record
 *  - EAGAIN: O_NONBLOCK is set, and there is no event
 *  - EIO: the session has been closed
 */
struct rdma_ep_channel_event {
	__aligned_u64 uid;
	__u32 id;
	__u32 child;
	__u32 event;
	__s32 status;
	__u32 flags;
	__u32 reserved;
	union {
		struct rdma_ep_conn_param conn;
		struct rdma_ep_ud_param ud;
		__aligned_u64 arg;
	} param;
	struct rdma_ep_id_info info;
};

/**
 * struct rdma_ep_comp_event - record read from a completion channel
 * @uid: cookie of the CQ
 *
 * read(2) works as for &struct rdma_ep_channel_event. There is one record for every
 * notification that fired, and one for each CQ whose device has been removed.
 */
struct rdma_ep_comp_event {
	__aligned_u64 uid;
};

/**
 * struct rdma_ep_async_event - record read from an asynchronous event queue
 * @uid: cookie of the CQ, QP or SRQ, or the port number for port events
 * @event: enum ibv_event_type
 * @reserved: 0
 *
 * read(2) works as for &struct rdma_ep_channel_event. Unread events of the same type on
 * the same object are reported once.
 */
struct rdma_ep_async_event {
	__aligned_u64 uid;
	__u32 event;
	__u32 reserved;
};

/* ------------------------------------------------------------------ */
/* Verbs objects                                                      */
/* ------------------------------------------------------------------ */

/**
 * struct rdma_ep_cmd_alloc_pd - ioctl(RDMA_EP_IOC_ALLOC_PD)
 * @size: sizeof(struct rdma_ep_cmd_alloc_pd)
 * @flags: must be 0
 * @ctx: in: context
 * @pd: out: handle
 */
struct rdma_ep_cmd_alloc_pd {
	__u32 size;
	__u32 flags;
	__u32 ctx;
	__u32 pd;
};

#define RDMA_EP_IOC_ALLOC_PD RDMA_EP_IOC(ALLOC_PD, rdma_ep_cmd_alloc_pd)

/**
 * struct rdma_ep_cmd_reg_mr - ioctl(RDMA_EP_IOC_REG_MR)
 * @size: sizeof(struct rdma_ep_cmd_reg_mr)
 * @flags: must be 0
 * @addr: in: start of the memory
 * @length: in: bytes
 * @iova: in: address that work requests use for @addr; must have the same offset
 *	within a page, and equal @addr on devices that support no other address
 * @pd: in: protection domain
 * @access: in: IBV_ACCESS_* bits; optional ones (IBV_ACCESS_OPTIONAL_RANGE)
 *	that the device lacks are ignored
 * @mr: out: handle
 * @lkey: out: local key
 * @rkey: out: remote key
 * @reserved: must be 0
 *
 * The kernel pins the memory and charges it to the caller against RLIMIT_MEMLOCK.
 *
 *  - EINVAL: @length is 0, the range overflows, @access is unknown, or it has
 *    remote write or atomics without local write
 *  - EOPNOTSUPP: the device's driver cannot register user memory for the kernel, or
 *    the module does not offer an access mode
 *  - ENOMEM: RLIMIT_MEMLOCK is reached, or the user's limit (parameter
 *    user_max_pinned_mb); on rxe of Linux 6.12 and later, @length is more than
 *    1 GiB
 *  - EPERM: RLIMIT_MEMLOCK is 0, and the task lacks CAP_IPC_LOCK
 *  - EFAULT: the range is not mapped, or not writable
 */
struct rdma_ep_cmd_reg_mr {
	__u32 size;
	__u32 flags;
	__aligned_u64 addr;
	__aligned_u64 length;
	__aligned_u64 iova;
	__u32 pd;
	__u32 access;
	__u32 mr;
	__u32 lkey;
	__u32 rkey;
	__u32 reserved;
};

#define RDMA_EP_IOC_REG_MR RDMA_EP_IOC(REG_MR, rdma_ep_cmd_reg_mr)

/**
 * enum rdma_ep_rereg_flags - &struct rdma_ep_cmd_rereg_mr.flags
 * @RDMA_EP_REREG_TRANSLATION: change the memory: addr, length, iova
 * @RDMA_EP_REREG_ACCESS: change the access: access
 */
enum rdma_ep_rereg_flags {
	RDMA_EP_REREG_TRANSLATION = 1 << 0,
	RDMA_EP_REREG_ACCESS = 1 << 2,
};

/**
 * struct rdma_ep_cmd_rereg_mr - ioctl(RDMA_EP_IOC_REREG_MR)
 * @size: sizeof(struct rdma_ep_cmd_rereg_mr)
 * @flags: RDMA_EP_REREG_* bits, at least one: the changes; fields that belong to
 *	no bit of @flags are ignored
 * @addr: in: start of the memory, as in &struct rdma_ep_cmd_reg_mr
 * @length: in: bytes, as in &struct rdma_ep_cmd_reg_mr
 * @iova: in: address that work requests use, as in &struct rdma_ep_cmd_reg_mr
 * @mr: in: region
 * @access: in: as in &struct rdma_ep_cmd_reg_mr
 * @lkey: out: local key
 * @rkey: out: remote key
 *
 * The driver changes the region. Most drivers keep its keys; the others replace it
 * by another region under the same handle.
 *
 *  - EINVAL: @flags is 0, or as with RDMA_EP_IOC_REG_MR
 *  - ENOMEM: as with RDMA_EP_IOC_REG_MR
 *  - EPERM: as with RDMA_EP_IOC_REG_MR
 *  - EFAULT: as with RDMA_EP_IOC_REG_MR
 *  - EACCES: the memory was registered to be read only
 *  - EOPNOTSUPP: the device's driver cannot change regions, or not in this way (siw,
 *    and rxe of Linux 6.1: not at all; rxe of later kernels: not the memory); or
 *    the module does not offer an access mode
 *
 * After any other error of the driver, the region may be unusable. It can be
 * destroyed.
 */
struct rdma_ep_cmd_rereg_mr {
	__u32 size;
	__u32 flags;
	__aligned_u64 addr;
	__aligned_u64 length;
	__aligned_u64 iova;
	__u32 mr;
	__u32 access;
	__u32 lkey;
	__u32 rkey;
};

#define RDMA_EP_IOC_REREG_MR RDMA_EP_IOC(REREG_MR, rdma_ep_cmd_rereg_mr)

/**
 * struct rdma_ep_cmd_create_ah - ioctl(RDMA_EP_IOC_CREATE_AH)
 * @size: sizeof(struct rdma_ep_cmd_create_ah)
 * @flags: must be 0
 * @pd: in: protection domain
 * @ah: out: handle
 * @attr: in: address vector, see ibv_create_ah(3)
 *
 * On RoCE the command resolves the destination's link address, and may wait for the
 * neighbour. Errors of the address resolution are returned as they are.
 *
 *  - EINVAL: no such port or GID index, or no GRH where one is needed
 *  - ENODATA: the GID entry is empty, or it belongs neither to the network namespace
 *    of the caller nor to the one that the context was opened in
 *  - EHOSTUNREACH: there is no route to the destination
 *  - ETIMEDOUT: the neighbour does not answer
 */
struct rdma_ep_cmd_create_ah {
	__u32 size;
	__u32 flags;
	__u32 pd;
	__u32 ah;
	struct ib_uverbs_ah_attr attr;
};

#define RDMA_EP_IOC_CREATE_AH RDMA_EP_IOC(CREATE_AH, rdma_ep_cmd_create_ah)

/**
 * enum rdma_ep_xrcd_flags - &struct rdma_ep_cmd_open_xrcd.flags
 * @RDMA_EP_XRCD_CREATE: create the XRC domain if there is none (O_CREAT)
 * @RDMA_EP_XRCD_EXCLUSIVE: fail if the XRC domain exists (O_EXCL)
 */
enum rdma_ep_xrcd_flags {
	RDMA_EP_XRCD_CREATE = 1 << 0,
	RDMA_EP_XRCD_EXCLUSIVE = 1 << 1,
};

/**
 * struct rdma_ep_cmd_open_xrcd - ioctl(RDMA_EP_IOC_OPEN_XRCD)
 * @size: sizeof(struct rdma_ep_cmd_open_xrcd)
 * @flags: RDMA_EP_XRCD_* bits; ignored if @fd is -1
 * @ctx: in: context
 * @fd: in: file that names the domain, or -1 for a new domain that cannot be
 *	opened again
 * @xrcd: out: handle
 * @reserved: must be 0
 *
 * Sessions of one user that open a domain of one device by the same file (the same
 * inode) share that domain: see ibv_open_xrcd(3). @fd may be closed afterwards.
 * Users do not share domains, even if they can open the same file: a user of a
 * shared domain could take over the connections of its QPs. So a task of another user
 * than the session's, as one that has adopted it, names no file. The file's mount stays
 * in use until the domain is closed.
 *
 *  - EBADF: @fd is not an open file
 *  - EACCES: @fd is not -1, and the caller's effective user is not the session's
 *  - EAGAIN: the domain does not exist, and RDMA_EP_XRCD_CREATE is not set
 *  - EINVAL: the domain exists, and RDMA_EP_XRCD_EXCLUSIVE is set
 *  - EOPNOTSUPP: the device has no XRC
 */
struct rdma_ep_cmd_open_xrcd {
	__u32 size;
	__u32 flags;
	__u32 ctx;
	__s32 fd;
	__u32 xrcd;
	__u32 reserved;
};

#define RDMA_EP_IOC_OPEN_XRCD RDMA_EP_IOC(OPEN_XRCD, rdma_ep_cmd_open_xrcd)

/**
 * struct rdma_ep_cmd_create_fd - ioctl(RDMA_EP_IOC_CREATE_CHANNEL),
 *	ioctl(RDMA_EP_IOC_CREATE_COMP_CHANNEL)
 * @size: sizeof(struct rdma_ep_cmd_create_fd)
 * @flags: must be 0
 * @fd: out: the channel, O_CLOEXEC
 * @reserved: must be 0
 *
 * Closing the last descriptor of an event channel destroys the ids that report to it,
 * as RDMA_EP_IOC_DESTROY does: it frees their handles, disconnects their connections
 * and rejects their requests. QPs and SRQs stay. close(2) returns after that.
 *
 *  - EMFILE: the process has too many open files
 *  - ENFILE: the system has too many open files
 */
struct rdma_ep_cmd_create_fd {
	__u32 size;
	__u32 flags;
	__s32 fd;
	__u32 reserved;
};

#define RDMA_EP_IOC_CREATE_CHANNEL \
	RDMA_EP_IOC(CREATE_CHANNEL, rdma_ep_cmd_create_fd)
#define RDMA_EP_IOC_CREATE_COMP_CHANNEL \
	RDMA_EP_IOC(CREATE_COMP_CHANNEL, rdma_ep_cmd_create_fd)

/**
 * enum rdma_ep_cq_flags - &struct rdma_ep_cmd_create_cq.flags
 * @RDMA_EP_CQ_RING: deliver completions through a &struct rdma_ep_cq_ring
 */
enum rdma_ep_cq_flags {
	RDMA_EP_CQ_RING = 1 << 0,
};

/**
 * struct rdma_ep_cmd_create_cq - ioctl(RDMA_EP_IOC_CREATE_CQ)
 * @size: sizeof(struct rdma_ep_cmd_create_cq)
 * @flags: RDMA_EP_CQ_RING or 0
 * @uid: in: cookie, reported by completion and asynchronous events
 * @ctx: in: context
 * @channel_fd: in: completion channel, or -1
 * @cqe: in: entries wanted, at least 1; out: entries granted, not less
 * @comp_vector: in: completion vector, below the device's num_comp_vectors
 * @cq: out: handle
 * @ring: out: index of the ring, or RDMA_EP_NO_RING
 *
 *  - EINVAL: @cqe or @comp_vector is out of range
 *  - EBADF: @channel_fd is not a completion channel of this session
 */
struct rdma_ep_cmd_create_cq {
	__u32 size;
	__u32 flags;
	__aligned_u64 uid;
	__u32 ctx;
	__s32 channel_fd;
	__u32 cqe;
	__u32 comp_vector;
	__u32 cq;
	__u32 ring;
};

#define RDMA_EP_IOC_CREATE_CQ RDMA_EP_IOC(CREATE_CQ, rdma_ep_cmd_create_cq)

/**
 * struct rdma_ep_cmd_resize_cq - ioctl(RDMA_EP_IOC_RESIZE_CQ)
 * @size: sizeof(struct rdma_ep_cmd_resize_cq)
 * @flags: must be 0
 * @cq: in: CQ
 * @cqe: in: entries wanted; out: entries granted
 * @taken: in: completions that the caller has polled, but counts as in the CQ
 * @reserved: must be 0
 *
 *  - EINVAL: @cqe is less than the number of completions in the CQ (on the device,
 *    in the kernel, unread in the ring, and @taken), or more than allowed
 *  - EOPNOTSUPP: the device cannot resize CQs, or its driver cannot for the kernel
 */
struct rdma_ep_cmd_resize_cq {
	__u32 size;
	__u32 flags;
	__u32 cq;
	__u32 cqe;
	__u32 taken;
	__u32 reserved;
};

#define RDMA_EP_IOC_RESIZE_CQ RDMA_EP_IOC(RESIZE_CQ, rdma_ep_cmd_resize_cq)

/**
 * struct rdma_ep_wc - a work completion, laid out as &struct ibv_wc
 * @wr_id: the user's wr_id
 * @status: enum ibv_wc_status
 * @opcode: enum ibv_wc_opcode
 * @vendor_err: vendor error
 * @byte_len: bytes transferred
 * @imm_data: immediate data in network byte order, or the invalidated rkey
 * @qp_num: local QP number
 * @src_qp: remote QP number (UD)
 * @wc_flags: enum ibv_wc_flags
 * @pkey_index: P_Key index
 * @slid: source LID
 * @sl: service level
 * @dlid_path_bits: destination path bits
 * @reserved: 0
 */
struct rdma_ep_wc {
	__aligned_u64 wr_id;
	__u32 status;
	__u32 opcode;
	__u32 vendor_err;
	__u32 byte_len;
	__u32 imm_data;
	__u32 qp_num;
	__u32 src_qp;
	__u32 wc_flags;
	__u16 pkey_index;
	__u16 slid;
	__u8 sl;
	__u8 dlid_path_bits;
	__u8 reserved[2];
};

/** RDMA_EP_RING_ENTRIES - completions, or receives, that fit into a ring */
#define RDMA_EP_RING_ENTRIES	32
/** RDMA_EP_MAX_RINGS - rings of a session; later CQs and SRQs have none */
#define RDMA_EP_MAX_RINGS	32768
/** RDMA_EP_NO_RING - the index if a CQ or SRQ has no ring */
#define RDMA_EP_NO_RING		0xffffffff

/**
 * struct rdma_ep_cq_ring - completions of a CQ, in memory shared with the user
 * @head: number of completions that the kernel has put into @wc, modulo 2^32
 * @pending: not 0: RDMA_EP_IOC_POLL_CQ may find more completions. 0: @wc has all
 *	completions, and the device driver notifies the kernel of the next one,
 *	which sets @pending to 1
 * @reserved: 0
 * @tail: number of completions that the user has taken, modulo 2^32; written by
 *	the user
 * @armed: not 0: the next completion generates an event. The user sets it, and the
 *	kernel clears it. It is effective only if the user, after setting it and
 *	a full barrier, reads @pending as 0; else RDMA_EP_IOC_NOTIFY_CQ is
 *	needed, too
 * @unused: reserved for the user
 * @wc: the ring; completion number n is in place n % RDMA_EP_RING_ENTRIES
 * @padding: 0
 *
 * The rings of a session are an array. mmap(2) of the session's file descriptor, at
 * offset 0 and shared, maps it; the descriptor must be open for reading and writing.
 * Ring number n is at n * sizeof(struct rdma_ep_cq_ring). Touching a ring that no CQ or
 * SRQ has had raises SIGBUS. A child does not inherit the mapping. The session exists as
 * long as the mapping does.
 *
 * The user reads @head with acquire semantics before the entries, and writes @tail
 * with release semantics. Other values in the fields of the user affect only the
 * user's own completions.
 */
struct rdma_ep_cq_ring {
	__u32 head;
	__u32 pending;
	__u32 reserved[14];
	__u32 tail;
	__u32 armed;
	__u32 unused[14];
	struct rdma_ep_wc wc[RDMA_EP_RING_ENTRIES];
	__u8 padding[384];
};

/**
 * struct rdma_ep_cmd_poll_cq - ioctl(RDMA_EP_IOC_POLL_CQ)
 * @size: sizeof(struct rdma_ep_cmd_poll_cq)
 * @flags: must be 0
 * @wcs: in: user pointer to an array of struct rdma_ep_wc
 * @cq: in: CQ
 * @max: in: entries that fit into @wcs
 * @num: out: completions written
 * @reserved: must be 0
 *
 * Never waits. If the CQ has a ring, the completions are put there, and @wcs and
 * @max must be 0.
 *
 *  - EFAULT: @wcs or the structure itself cannot be written. The next call returns
 *    the completions that were taken from the CQ
 *  - ENOMEM: no memory for completions, which stay in the CQ
 */
struct rdma_ep_cmd_poll_cq {
	__u32 size;
	__u32 flags;
	__aligned_u64 wcs;
	__u32 cq;
	__u32 max;
	__u32 num;
	__u32 reserved;
};

#define RDMA_EP_IOC_POLL_CQ RDMA_EP_IOC(POLL_CQ, rdma_ep_cmd_poll_cq)

/**
 * enum rdma_ep_notify_flags - &struct rdma_ep_cmd_notify_cq.flags
 * @RDMA_EP_NOTIFY_SOLICITED: only solicited completions and errors notify
 */
enum rdma_ep_notify_flags {
	RDMA_EP_NOTIFY_SOLICITED = 1 << 0,
};

/**
 * struct rdma_ep_cmd_notify_cq - ioctl(RDMA_EP_IOC_NOTIFY_CQ)
 * @size: sizeof(struct rdma_ep_cmd_notify_cq)
 * @flags: RDMA_EP_NOTIFY_SOLICITED or 0
 * @cq: in: CQ
 * @reserved: must be 0
 *
 * The next completion that is added to the CQ puts one event on its channel; with
 * RDMA_EP_NOTIFY_SOLICITED the next one that is solicited, or that is an error. With rxe an
 * earlier request without the flag remains valid; with siw, the request replaces it. If
 * the CQ has more completions than entries or is the largest of the device, or the device
 * has no room for another QP for a moment, the event may be for any completion.
 */
struct rdma_ep_cmd_notify_cq {
	__u32 size;
	__u32 flags;
	__u32 cq;
	__u32 reserved;
};

#define RDMA_EP_IOC_NOTIFY_CQ RDMA_EP_IOC(NOTIFY_CQ, rdma_ep_cmd_notify_cq)

/**
 * struct rdma_ep_cmd_modify_cq - ioctl(RDMA_EP_IOC_MODIFY_CQ)
 * @size: sizeof(struct rdma_ep_cmd_modify_cq)
 * @flags: must be 0
 * @cq: in: CQ
 * @cq_count: in: number of completions that trigger an event
 * @cq_period: in: microseconds after which an event is triggered
 * @reserved: must be 0
 *
 * Moderates completion events, see ibv_modify_cq(3).
 *
 *  - EINVAL: a value is over 65535
 *  - EOPNOTSUPP: the device cannot moderate events
 */
struct rdma_ep_cmd_modify_cq {
	__u32 size;
	__u32 flags;
	__u32 cq;
	__u32 cq_count;
	__u32 cq_period;
	__u32 reserved;
};

#define RDMA_EP_IOC_MODIFY_CQ RDMA_EP_IOC(MODIFY_CQ, rdma_ep_cmd_modify_cq)

/**
 * enum rdma_ep_create_srq_flags - &struct rdma_ep_cmd_create_srq.flags
 * @RDMA_EP_RECV_RING: take receives from a &struct rdma_ep_recv_ring, too
 */
enum rdma_ep_create_srq_flags {
	RDMA_EP_RECV_RING = 1 << 0,
};

/**
 * struct rdma_ep_cmd_create_srq - ioctl(RDMA_EP_IOC_CREATE_SRQ)
 * @size: sizeof(struct rdma_ep_cmd_create_srq)
 * @flags: RDMA_EP_RECV_RING or 0
 * @uid: in: cookie, reported by asynchronous events
 * @id: in: id to associate the SRQ with, or 0
 * @pd: in: protection domain; 0 with @id: the default PD of the id's device
 * @max_wr: in: work requests wanted, at least 1; out: granted
 * @max_sge: in: scatter entries for each; out: granted
 * @srq_limit: in: limit to arm, 0 for none
 * @srq: out: handle
 * @srq_type: in: 0 (basic) or 1 (XRC)
 * @xrcd: in: XRC: domain; else must be 0
 * @cq: in: XRC: CQ that its receives complete to; else must be 0
 * @srq_num: out: XRC: number that senders name it by, else 0
 * @ring: out: index of the ring, or RDMA_EP_NO_RING: it was not wanted, all rings of the
 *	session are in use, the SRQ is an XRC SRQ, or the driver does not suit
 * @reserved: must be 0
 *
 * With @id the rules are those of rdma_create_srq(3): the id must be bound to
 * the device of @pd and have no SRQ yet.
 *
 * An XRC SRQ receives for all target QPs of its domain, in any session. In its
 * completions qp_num is 0 if the QP has been destroyed before the poll.
 *
 *  - EINVAL: an attribute is out of range, neither @id nor @pd is given, the id is
 *    not bound to a device or already has an SRQ, or @pd, @xrcd or @cq is another
 *    device's
 *  - EOPNOTSUPP: the device has no SRQs for kernel consumers, or no XRC
 */
struct rdma_ep_cmd_create_srq {
	__u32 size;
	__u32 flags;
	__aligned_u64 uid;
	__u32 id;
	__u32 pd;
	__u32 max_wr;
	__u32 max_sge;
	__u32 srq_limit;
	__u32 srq;
	__u32 srq_type;
	__u32 xrcd;
	__u32 cq;
	__u32 srq_num;
	__u32 ring;
	__u32 reserved;
};

#define RDMA_EP_IOC_CREATE_SRQ RDMA_EP_IOC(CREATE_SRQ, rdma_ep_cmd_create_srq)

/**
 * enum rdma_ep_srq_flags - &struct rdma_ep_cmd_srq_attr.flags
 * @RDMA_EP_SRQ_MAX_WR: change the size of the SRQ
 * @RDMA_EP_SRQ_LIMIT: arm the limit event
 */
enum rdma_ep_srq_flags {
	RDMA_EP_SRQ_MAX_WR = 1 << 0,
	RDMA_EP_SRQ_LIMIT = 1 << 1,
};

/**
 * struct rdma_ep_cmd_srq_attr - ioctl(RDMA_EP_IOC_MODIFY_SRQ),
 *	ioctl(RDMA_EP_IOC_QUERY_SRQ)
 * @size: sizeof(struct rdma_ep_cmd_srq_attr)
 * @flags: modify: RDMA_EP_SRQ_* bits, the changes; query: must be 0
 * @srq: in: SRQ
 * @max_wr: work requests
 * @max_sge: scatter entries of each (query only)
 * @srq_limit: limit, see ibv_modify_srq(3)
 *
 *  - EINVAL: a value is out of range
 *  - EOPNOTSUPP: the device cannot resize SRQs
 */
struct rdma_ep_cmd_srq_attr {
	__u32 size;
	__u32 flags;
	__u32 srq;
	__u32 max_wr;
	__u32 max_sge;
	__u32 srq_limit;
};

#define RDMA_EP_IOC_MODIFY_SRQ RDMA_EP_IOC(MODIFY_SRQ, rdma_ep_cmd_srq_attr)
#define RDMA_EP_IOC_QUERY_SRQ RDMA_EP_IOC(QUERY_SRQ, rdma_ep_cmd_srq_attr)

/**
 * struct rdma_ep_auto_cq - a CQ created together with a QP
 * @uid: in: cookie of the CQ
 * @cq: in: an existing CQ, or 0 to create one with a completion channel of its
 *	own; out: handle
 * @channel_fd: out: completion channel of a created CQ, else -1
 * @cqe: out: entries of a created CQ, else 0
 * @ring: in: RDMA_EP_CQ_RING or 0, for a created CQ; out: as in
 *	&struct rdma_ep_cmd_create_cq
 *
 * No CQ is created for a queue without entries: @cq is 0 and @channel_fd is -1 on
 * return. With an SRQ, a receive queue without entries gets a CQ with the SRQ's number.
 */
struct rdma_ep_auto_cq {
	__aligned_u64 uid;
	__u32 cq;
	__s32 channel_fd;
	__u32 cqe;
	__u32 ring;
};

/**
 * enum rdma_ep_qp_flags - &struct rdma_ep_qp_init.flags
 * @RDMA_EP_QP_SQ_SIG_ALL: every send work request completes with a CQE
 */
enum rdma_ep_qp_flags {
	RDMA_EP_QP_SQ_SIG_ALL = 1 << 0,
};

/**
 * struct rdma_ep_qp_init - attributes of a new QP
 * @uid: in: cookie, reported by asynchronous events
 * @flags: in: RDMA_EP_QP_* bits
 * @pd: in: protection domain; 0 with an id: the default PD of the id's device.
 *	out: the PD in use. IBV_QPT_XRC_RECV: the XRC domain instead
 * @srq: in: shared receive queue, or 0; with an id that has an SRQ, 0 takes it.
 *	Types other than IBV_QPT_RC and IBV_QPT_UD have none (EINVAL), except
 *	that it is ignored for IBV_QPT_XRC_RECV
 * @qp_type: in: IBV_QPT_RC (2), IBV_QPT_UC (3), IBV_QPT_UD (4), IBV_QPT_XRC_SEND (9)
 *	or IBV_QPT_XRC_RECV (10)
 * @max_send_wr: in: send work requests wanted; out: granted
 * @max_recv_wr: in: receive work requests wanted; out: granted
 * @max_send_sge: in: gather entries of a send wanted; out: granted
 * @max_recv_sge: in: scatter entries of a receive wanted; out: granted
 * @max_inline_data: in: bytes of inline data wanted; out: granted
 * @qp: out: handle
 * @qp_num: out: QP number
 * @state: out: enum ibv_qp_state after creation
 * @send_cq: in, out: CQ of the send queue
 * @recv_cq: in, out: CQ of the receive queue
 */
struct rdma_ep_qp_init {
	__aligned_u64 uid;
	__u32 flags;
	__u32 pd;
	__u32 srq;
	__u32 qp_type;
	__u32 max_send_wr;
	__u32 max_recv_wr;
	__u32 max_send_sge;
	__u32 max_recv_sge;
	__u32 max_inline_data;
	__u32 qp;
	__u32 qp_num;
	__u32 state;
	struct rdma_ep_auto_cq send_cq;
	struct rdma_ep_auto_cq recv_cq;
};

/**
 * struct rdma_ep_cmd_create_qp - ioctl(RDMA_EP_IOC_CREATE_QP)
 * @size: sizeof(struct rdma_ep_cmd_create_qp)
 * @flags: must be 0
 * @id: in: id to associate the QP with, or 0
 * @reserved: must be 0
 * @init: in, out: attributes
 *
 * Without @id the QP is in the RESET state and the user drives it
 * (ibv_create_qp(3)); @init must name a PD (EINVAL), and a CQ for each direction
 * (ENOENT).
 *
 * With @id the rules are those of rdma_create_qp(3). The id must be bound to the
 * device of the PD and have no QP yet. The kernel creates the CQs that are not
 * given. A connected QP is then in the state INIT, in which receives can be posted;
 * an unconnected one is in RTS, in which sends can be posted, too. From then on the
 * kernel moves the QP with the connection.
 *
 * An IBV_QPT_XRC_SEND QP has no receive queue. An IBV_QPT_XRC_RECV QP (a *target*)
 * has no queues: its CQs and capabilities are ignored, and 0 on return.
 *
 *  - EINVAL: an attribute is out of range, objects are of different devices, the id
 *    is not bound or already has a QP, or only one of id and QP is for XRC
 *  - EPERM: the Q_Key of an id of the port space IPOIB has its high bit set, which needs
 *    CAP_NET_RAW
 *  - EADDRNOTAVAIL: an id of the port space IPOIB: the broadcast group, which has the
 *    Q_Key, is not joined on the port
 *  - ENODEV: an id of the port space IPOIB on a device without ports of InfiniBand
 *  - EOPNOTSUPP: the device or the kernel does not offer this type of QP
 */
struct rdma_ep_cmd_create_qp {
	__u32 size;
	__u32 flags;
	__u32 id;
	__u32 reserved;
	struct rdma_ep_qp_init init;
};

#define RDMA_EP_IOC_CREATE_QP RDMA_EP_IOC(CREATE_QP, rdma_ep_cmd_create_qp)

/**
 * struct rdma_ep_cmd_open_qp - ioctl(RDMA_EP_IOC_OPEN_QP)
 * @size: sizeof(struct rdma_ep_cmd_open_qp)
 * @flags: must be 0
 * @uid: in: cookie, reported by asynchronous events
 * @xrcd: in: XRC domain
 * @qp_num: in: number of a target QP in it
 * @qp: out: handle
 * @state: out: enum ibv_qp_state
 *
 * Opens a QP that this or another session has created in the domain, see
 * ibv_open_qp(3). The QP exists until its last opener has destroyed it. Every opener
 * receives its events and can modify it.
 *
 *  - EACCES: a file names the domain, and the caller's effective user is not the session's
 *  - EINVAL: no target QP in the domain has this number
 */
struct rdma_ep_cmd_open_qp {
	__u32 size;
	__u32 flags;
	__aligned_u64 uid;
	__u32 xrcd;
	__u32 qp_num;
	__u32 qp;
	__u32 state;
};

#define RDMA_EP_IOC_OPEN_QP RDMA_EP_IOC(OPEN_QP, rdma_ep_cmd_open_qp)

/**
 * struct rdma_ep_cmd_modify_qp - ioctl(RDMA_EP_IOC_MODIFY_QP)
 * @size: sizeof(struct rdma_ep_cmd_modify_qp)
 * @flags: must be 0
 * @qp: in: QP
 * @reserved: must be 0
 * @attr: in: attributes; qp_attr_mask holds IBV_QP_* bits, see ibv_modify_qp(3)
 *
 * On rxe a max_dest_rd_atomic of 0 becomes 1, as rxe uses an entry for a peer's FLUSH
 * in any case.
 *
 *  - EINVAL: the transition or an attribute is not allowed; on rxe also if
 *    cur_qp_state differs from the QP's state
 *  - ENODATA: as for RDMA_EP_IOC_CREATE_AH
 *  - EHOSTUNREACH: as for RDMA_EP_IOC_CREATE_AH, whose resolution the command does for the
 *    address vector
 *  - ETIMEDOUT: as for RDMA_EP_IOC_CREATE_AH
 *  - EPERM: a Q_Key with its high bit set needs CAP_NET_RAW
 *  - EOPNOTSUPP: on rxe, max_dest_rd_atomic in another transition than to RTR
 *  - EBUSY: on rxe of Linux 6.12 and later, the QP has been reset after connections
 *    to sixteen other QPs, and QPs with all those numbers still exist on the
 *    device. On iWARP, a connection is being established with the QP. Only a
 *    transition to ERR succeeds then, and takes effect when that has ended
 */
struct rdma_ep_cmd_modify_qp {
	__u32 size;
	__u32 flags;
	__u32 qp;
	__u32 reserved;
	struct ib_uverbs_qp_attr attr;
};

#define RDMA_EP_IOC_MODIFY_QP RDMA_EP_IOC(MODIFY_QP, rdma_ep_cmd_modify_qp)

/**
 * struct rdma_ep_cmd_query_qp - ioctl(RDMA_EP_IOC_QUERY_QP)
 * @size: sizeof(struct rdma_ep_cmd_query_qp)
 * @flags: must be 0
 * @qp: in: QP
 * @attr_mask: in: IBV_QP_* bits wanted (a hint, as in ibv_query_qp(3))
 * @attr: out: attributes, with the granted capabilities
 * @qp_type: out: type
 * @sq_sig_all: out: 1 if every send completes with a CQE
 */
struct rdma_ep_cmd_query_qp {
	__u32 size;
	__u32 flags;
	__u32 qp;
	__u32 attr_mask;
	struct ib_uverbs_qp_attr attr;
	__u32 qp_type;
	__u32 sq_sig_all;
};

#define RDMA_EP_IOC_QUERY_QP RDMA_EP_IOC(QUERY_QP, rdma_ep_cmd_query_qp)

/**
 * struct rdma_ep_cmd_qp_mcast - ioctl(RDMA_EP_IOC_ATTACH_MCAST),
 *	ioctl(RDMA_EP_IOC_DETACH_MCAST)
 * @size: sizeof(struct rdma_ep_cmd_qp_mcast)
 * @flags: must be 0
 * @qp: in: UD QP
 * @lid: in: LID of the group, 0 on Ethernet
 * @gid: in: GID of the group
 *
 * The QP receives the messages that are sent to the group, see ibv_attach_mcast(3).
 * Attaching again to the same group changes nothing.
 *
 *  - EINVAL: the QP is not a UD QP, @gid is not a multicast GID, or @lid is invalid;
 *    DETACH: the QP is not attached to this group
 *  - ENOMEM: too many groups
 *  - EOPNOTSUPP: the device has no multicast
 */
struct rdma_ep_cmd_qp_mcast {
	__u32 size;
	__u32 flags;
	__u32 qp;
	__u32 lid;
	__u8 gid[16];
};

#define RDMA_EP_IOC_ATTACH_MCAST RDMA_EP_IOC(ATTACH_MCAST, rdma_ep_cmd_qp_mcast)
#define RDMA_EP_IOC_DETACH_MCAST RDMA_EP_IOC(DETACH_MCAST, rdma_ep_cmd_qp_mcast)

/* ------------------------------------------------------------------ */
/* Data path                                                          */
/* ------------------------------------------------------------------ */

/**
 * struct rdma_ep_sge - scatter/gather entry, laid out as &struct ibv_sge
 * @addr: address within the memory region (its iova)
 * @length: bytes; an entry of length 0 is ignored
 * @lkey: local key of a memory region of this session, in the QP's PD
 */
struct rdma_ep_sge {
	__aligned_u64 addr;
	__u32 length;
	__u32 lkey;
};

/**
 * struct rdma_ep_send_wr - a send work request
 * @wr_id: returned in the completion
 * @opcode: enum ibv_wr_opcode
 * @send_flags: IBV_SEND_FENCE, SIGNALED, SOLICITED, INLINE (not of READs and
 *	atomics). siw: neither a READ with FENCE nor SEND_WITH_INV with INLINE
 * @num_sge: number of struct rdma_ep_sge that follow; 0 with IBV_SEND_INLINE
 * @inline_len: IBV_SEND_INLINE: bytes of data that follow, padded to a multiple
 *	of 8; else 0
 * @imm_data: immediate data in network byte order, or the rkey to invalidate
 * @rkey: RDMA and atomics: remote key
 * @remote_addr: RDMA and atomics: remote address
 * @compare_add: atomics: see ibv_post_send(3)
 * @swap: atomics: see ibv_post_send(3)
 * @ah: UD: handle of an address handle in the QP's PD
 * @remote_qpn: UD: destination QP
 * @remote_qkey: UD: Q_Key
 * @reserved: must be 0
 */
struct rdma_ep_send_wr {
	__aligned_u64 wr_id;
	__u32 opcode;
	__u32 send_flags;
	__u32 num_sge;
	__u32 inline_len;
	__u32 imm_data;
	__u32 rkey;
	__aligned_u64 remote_addr;
	__aligned_u64 compare_add;
	__aligned_u64 swap;
	__u32 ah;
	__u32 remote_qpn;
	__u32 remote_qkey;
	__u32 reserved;
};

/**
 * struct rdma_ep_recv_wr - a receive work request
 * @wr_id: returned in the completion
 * @num_sge: number of struct rdma_ep_sge that follow
 * @reserved: must be 0
 */
struct rdma_ep_recv_wr {
	__aligned_u64 wr_id;
	__u32 num_sge;
	__u32 reserved;
};

/** RDMA_EP_RING_SGES - scatter entries of a receive in a ring */
#define RDMA_EP_RING_SGES	2

/**
 * struct rdma_ep_ring_recv - a receive work request in a ring
 * @wr: as for RDMA_EP_IOC_POST_SRQ_RECV, with RDMA_EP_RING_SGES entries at most
 * @sge: its scatter entries
 */
struct rdma_ep_ring_recv {
	struct rdma_ep_recv_wr wr;
	struct rdma_ep_sge sge[RDMA_EP_RING_SGES];
};

/**
 * struct rdma_ep_recv_ring - receives of an SRQ, in memory shared with the user
 * @head: number of receives that the kernel has taken from @recv, modulo 2^32
 * @kick: not 0: a receive in @recv may stay there until RDMA_EP_IOC_POST_SRQ_RECV. 0: the
 *	kernel takes what is in @recv before the device can run out of receives
 * @limit: the last value to which the user may increment @tail while @kick is 0
 * @max_sge: scatter entries that a receive of the SRQ may have
 * @reserved: 0
 * @tail: number of receives that the user has put into @recv, modulo 2^32; written by the
 *	user
 * @unused: reserved for the user
 * @recv: the ring; receive number n is in place n % RDMA_EP_RING_ENTRIES
 * @padding: 0
 *
 * It is one of the session's rings (&struct rdma_ep_cq_ring) and has the same size. A user
 * who reads @kick as 0, with acquire semantics, and then finds @tail below @limit (their
 * difference is negative, as a signed number of 32 bits) can post a receive without a system
 * call: the user writes it to @recv, writes @tail with release semantics, and then, after a
 * full barrier, reads @kick again. If that is not 0 then,
 * RDMA_EP_IOC_POST_SRQ_RECV is needed, with @num 0 or with more receives: it takes what is in
 * the ring first, also if it cannot copy the others (EFAULT, E2BIG, ENOMEM).
 *
 * The kernel copies each receive once, and checks the copy as RDMA_EP_IOC_POST_SRQ_RECV
 * does. There is no errno for it any more, so a receive that may not be posted, or a @tail
 * beyond the ring, is an error of the SRQ: IBV_EVENT_SRQ_ERR is raised, this receive and
 * those behind it are lost, and all later posts to the SRQ fail with EINVAL. Receives that
 * are on the queue stay there. Regions are checked when the kernel takes the receive: it does
 * before it deregisters or changes a region of the PD.
 *
 * @kick is 0 only if the SRQ has a QP, all CQs that its receives complete to have rings, have
 * been polled until they were empty, and serve no other SRQ with a ring, and if the queue
 * holds at least as many receives as the SRQ has QPs, and the SRQ's limit besides.
 */
struct rdma_ep_recv_ring {
	__u32 head;
	__u32 kick;
	__u32 limit;
	__u32 max_sge;
	__u32 reserved[12];
	__u32 tail;
	__u32 unused[15];
	struct rdma_ep_ring_recv recv[RDMA_EP_RING_ENTRIES];
	__u8 padding[384];
};

/**
 * enum rdma_ep_post_flags - &struct rdma_ep_cmd_post.flags
 * @RDMA_EP_POST_ALL: post the whole list, or nothing of it
 */
enum rdma_ep_post_flags {
	RDMA_EP_POST_ALL = 1 << 0,
};

/**
 * struct rdma_ep_cmd_post - ioctl(RDMA_EP_IOC_POST_SEND),
 *	ioctl(RDMA_EP_IOC_POST_RECV), ioctl(RDMA_EP_IOC_POST_SRQ_RECV)
 * @size: sizeof(struct rdma_ep_cmd_post)
 * @flags: RDMA_EP_IOC_POST_SEND: RDMA_EP_POST_ALL or 0; else must be 0
 * @wrs: in: user pointer to @num records, each a struct rdma_ep_send_wr or
 *	struct rdma_ep_recv_wr followed by its entries or inline data
 * @wrs_len: in: bytes at @wrs, at most rdma_ep_cmd_query.max_post_bytes without
 *	RDMA_EP_POST_ALL
 * @handle: in: the QP or SRQ
 * @num: in: number of work requests, at least 1; of an SRQ with a ring also 0, and @wrs_len is
 *	0 then, too: to take what is in the ring
 * @posted: out: work requests that have been posted, counted from the first;
 *	written on failure, too
 *
 * The kernel copies the records once, checks them, and posts them in order. On
 * failure the first @posted records are on the queue, and the next one has caused
 * the error. Bytes behind the last record are ignored.
 *
 * With RDMA_EP_POST_ALL the kernel checks all records, and the room in the queue for
 * all of them, before it posts the first one. It copies max_post_bytes at a time: a
 * longer list is copied once for the checks and again to be posted, and each copy is
 * checked. Nevertheless a list can be posted in part: if another task changes a longer
 * list, posts to the same QP or deregisters a memory region meanwhile, or if the oldest
 * requests in the queue are unsignalled, as the kernel cannot detect whether these have
 * completed. @posted is valid in each case.
 *
 * On siw a list of sends longer than 128 KiB is posted in pieces while another QP of the
 * device sends little. The call waits for each piece but the last one, and for as long
 * again, at most 2 ms (the module's parameter pace_wait_us); a signal that kills ends the
 * wait.
 *
 *  - EINVAL: a record does not fit into @wrs_len; an opcode, flag or number of
 *    entries is not allowed for this QP; an entry is not wholly within a memory
 *    region of the QP's PD, or the region lacks the access; the message is longer
 *    than the port allows; inline data is longer than granted; the QP's state does
 *    not allow the request (a send before RTS, a receive in RESET); an AH is not of
 *    the QP's PD. On siw also: a message or a receive is longer than 2^31 - 1
 *    bytes; a READ of at most 32 bytes crosses a page of the peer's memory, as siw
 *    answers it with wrong data. An SRQ: a receive in its ring was refused
 *    (&struct rdma_ep_recv_ring)
 *  - ENOTCONN: siw: the QP is not connected, or its state is changing
 *  - EOPNOTSUPP: a request of an IBV_QPT_XRC_SEND QP names an SRQ of the peer (SEND*,
 *    RDMA_WRITE_WITH_IMM); the kernel's work requests have no field for it
 *  - EPERM: a Q_Key with its high bit set needs CAP_NET_RAW
 *  - ENOMEM: the queue is full
 *  - E2BIG: @wrs_len is over the limit, without RDMA_EP_POST_ALL
 */
struct rdma_ep_cmd_post {
	__u32 size;
	__u32 flags;
	__aligned_u64 wrs;
	__u32 wrs_len;
	__u32 handle;
	__u32 num;
	__u32 posted;
};

#define RDMA_EP_IOC_POST_SEND RDMA_EP_IOC(POST_SEND, rdma_ep_cmd_post)
#define RDMA_EP_IOC_POST_RECV RDMA_EP_IOC(POST_RECV, rdma_ep_cmd_post)
#define RDMA_EP_IOC_POST_SRQ_RECV RDMA_EP_IOC(POST_SRQ_RECV, rdma_ep_cmd_post)

/* ------------------------------------------------------------------ */
/* Communication ids                                                  */
/* ------------------------------------------------------------------ */

/**
 * enum rdma_ep_await_flags - flag of each command with a &struct rdma_ep_await
 * @RDMA_EP_AWAIT: wait for the next event, and return it with the command
 */
enum rdma_ep_await_flags {
	RDMA_EP_AWAIT = 1 << 3,
};

/**
 * enum rdma_ep_await_state - &struct rdma_ep_await.state
 * @RDMA_EP_AWAIT_DONE: the command has been executed
 * @RDMA_EP_AWAIT_EVENT: the event has been taken as well
 */
enum rdma_ep_await_state {
	RDMA_EP_AWAIT_DONE = 1,
	RDMA_EP_AWAIT_EVENT = 2,
};

/**
 * struct rdma_ep_await - the event that a command waits for
 * @event: in: user pointer to a &struct rdma_ep_channel_event
 * @channel_fd: in: event channel
 * @state: in: 0; RDMA_EP_AWAIT_DONE: do not execute the command, only wait.
 *	out: RDMA_EP_AWAIT_*
 *
 * Without RDMA_EP_AWAIT in the command's flags, all fields must be 0. With that bit
 * the command, after it has succeeded, continues like read(2) of @channel_fd. It
 * takes the channel's next event, of any id and type, and waits for it if there is
 * none. The event counts as read. The session exists as long as the command waits,
 * even if its file descriptor is closed. Destroying the id does not end the wait.
 *
 * If there is no event and @channel_fd is O_NONBLOCK, or if @channel_fd is no event
 * channel of this session, the command succeeds with @state RDMA_EP_AWAIT_DONE. The
 * caller continues with read(2), which returns the error.
 *
 * If a signal ends the wait, @state is RDMA_EP_AWAIT_DONE, too: the command has been
 * executed, and no event has been taken. With SA_RESTART the kernel restarts the
 * command, which then only waits. Otherwise it fails with EINTR.
 *
 *  - EFAULT: the event, or the structure itself, cannot be written. The command has
 *    been executed, and the event stays the next one of the channel
 *  - EINVAL: @state is neither 0 nor RDMA_EP_AWAIT_DONE
 */
struct rdma_ep_await {
	__aligned_u64 event;
	__s32 channel_fd;
	__u32 state;
};

/**
 * enum rdma_ep_id_flags - &struct rdma_ep_cmd_create_id.flags
 * @RDMA_EP_ID_PRIVATE_CHANNEL: create an event channel for the id
 */
enum rdma_ep_id_flags {
	RDMA_EP_ID_PRIVATE_CHANNEL = 1 << 0,
};

/**
 * struct rdma_ep_cmd_create_id - ioctl(RDMA_EP_IOC_CREATE_ID)
 * @size: sizeof(struct rdma_ep_cmd_create_id)
 * @flags: RDMA_EP_ID_PRIVATE_CHANNEL or 0
 * @uid: in: cookie, reported by events
 * @channel_fd: in: event channel; out with RDMA_EP_ID_PRIVATE_CHANNEL: the
 *	created channel
 * @ps: in: port space: 0x0002 IPOIB, 0x0106 TCP, 0x0111 UDP, 0x013f IB
 * @qp_type: in: enum ibv_qp_type of the connections in the port space IB. The other
 *	port spaces have a type of their own: TCP RC, UDP and IPOIB UD
 * @id: out: handle
 *
 * The id belongs to the network namespace of the caller.
 *
 *  - EINVAL: @ps or @qp_type is unknown
 *  - EBADF: @channel_fd is not an event channel of this session
 *  - EMFILE: the process has too many open files
 *  - ENFILE: the system has too many open files
 */
struct rdma_ep_cmd_create_id {
	__u32 size;
	__u32 flags;
	__aligned_u64 uid;
	__s32 channel_fd;
	__u32 ps;
	__u32 qp_type;
	__u32 id;
};

#define RDMA_EP_IOC_CREATE_ID RDMA_EP_IOC(CREATE_ID, rdma_ep_cmd_create_id)

/**
 * enum rdma_ep_ep_flags - &struct rdma_ep_cmd_create_ep.flags
 * @RDMA_EP_EP_PASSIVE: bind to src instead of resolving dst
 * @RDMA_EP_EP_CREATE_QP: create a QP on the id (not with EP_PASSIVE)
 */
enum rdma_ep_ep_flags {
	RDMA_EP_EP_PASSIVE = 1 << 1,
	RDMA_EP_EP_CREATE_QP = 1 << 2,
};

/**
 * struct rdma_ep_cmd_create_ep - ioctl(RDMA_EP_IOC_CREATE_EP)
 * @size: sizeof(struct rdma_ep_cmd_create_ep)
 * @flags: RDMA_EP_ID_PRIVATE_CHANNEL, RDMA_EP_EP_*
 * @uid: as in &struct rdma_ep_cmd_create_id
 * @channel_fd: as in &struct rdma_ep_cmd_create_id
 * @ps: as in &struct rdma_ep_cmd_create_id
 * @qp_type: as in &struct rdma_ep_cmd_create_id
 * @id: out: handle
 * @addr_timeout_ms: in: time limit for address resolution
 * @route_timeout_ms: in: time limit for route resolution
 * @src: in: source address; family 0 if none
 * @dst: in: destination address; family 0 with RDMA_EP_EP_PASSIVE
 * @qp: in, out: the QP with RDMA_EP_EP_CREATE_QP, as in
 *	&struct rdma_ep_cmd_create_qp with an id; else must be 0
 * @info: out: device, addresses and paths of the id
 *
 * Executes rdma_create_ep(3) in one call. With RDMA_EP_EP_PASSIVE it creates an id and
 * binds it. Otherwise it creates an id, resolves address and route, for which it
 * waits, and creates the QP with its CQs. After a failure or a signal no object is
 * left.
 *
 * The errnos are those of RDMA_EP_IOC_CREATE_ID, RDMA_EP_IOC_BIND_ADDR,
 * RDMA_EP_IOC_RESOLVE_ADDR, RDMA_EP_IOC_RESOLVE_ROUTE and RDMA_EP_IOC_CREATE_QP, and
 * the status of the events that these lead to:
 *
 *  - ENODEV: no RDMA device reaches the destination
 *  - ETIMEDOUT: the resolution did not end within its time limit
 *  - EHOSTUNREACH: there is no route to the destination host
 *  - ENETUNREACH: there is no route to the destination network
 */
struct rdma_ep_cmd_create_ep {
	__u32 size;
	__u32 flags;
	__aligned_u64 uid;
	__s32 channel_fd;
	__u32 ps;
	__u32 qp_type;
	__u32 id;
	__u32 addr_timeout_ms;
	__u32 route_timeout_ms;
	struct __kernel_sockaddr_storage src;
	struct __kernel_sockaddr_storage dst;
	struct rdma_ep_qp_init qp;
	struct rdma_ep_id_info info;
};

#define RDMA_EP_IOC_CREATE_EP RDMA_EP_IOC(CREATE_EP, rdma_ep_cmd_create_ep)

/**
 * struct rdma_ep_cmd_bind_addr - ioctl(RDMA_EP_IOC_BIND_ADDR)
 * @size: sizeof(struct rdma_ep_cmd_bind_addr)
 * @flags: must be 0
 * @id: in: id
 * @reserved: must be 0
 * @addr: in: address; port 0 takes a free one
 * @info: out: device and address of the id, with the port in use
 *
 *  - EINVAL: the id is already bound, or the address is malformed
 *  - EAFNOSUPPORT: the address family is not supported
 *  - EADDRINUSE: another id is bound to the address and port
 *  - EADDRNOTAVAIL: the id's network namespace does not have the address, an id that
 *    is bound to any address has the port, or no port is free
 *  - ENODEV: no RDMA device has the address
 *  - EACCES: a privileged port needs CAP_NET_BIND_SERVICE
 */
struct rdma_ep_cmd_bind_addr {
	__u32 size;
	__u32 flags;
	__u32 id;
	__u32 reserved;
	struct __kernel_sockaddr_storage addr;
	struct rdma_ep_id_info info;
};

#define RDMA_EP_IOC_BIND_ADDR RDMA_EP_IOC(BIND_ADDR, rdma_ep_cmd_bind_addr)

/**
 * struct rdma_ep_cmd_resolve_addr - ioctl(RDMA_EP_IOC_RESOLVE_ADDR)
 * @size: sizeof(struct rdma_ep_cmd_resolve_addr)
 * @flags: RDMA_EP_AWAIT or 0
 * @id: in: id
 * @timeout_ms: in: time limit
 * @src: in: source address to bind to; family 0 if none
 * @dst: in: destination
 * @await: in, out: the event to wait for
 *
 * Leads to an ADDR_RESOLVED or ADDR_ERROR event. The errnos are those of
 * RDMA_EP_IOC_BIND_ADDR, and:
 *
 *  - EINVAL: the id's state does not allow it, an address is malformed, or the id has
 *    an IPv6 address and is a member of a multicast group
 *  - EHOSTUNREACH: there is no route to the destination host. No event follows
 *  - ENETUNREACH: there is no route to the destination network. No event follows
 */
struct rdma_ep_cmd_resolve_addr {
	__u32 size;
	__u32 flags;
	__u32 id;
	__u32 timeout_ms;
	struct __kernel_sockaddr_storage src;
	struct __kernel_sockaddr_storage dst;
	struct rdma_ep_await await;
};

#define RDMA_EP_IOC_RESOLVE_ADDR RDMA_EP_IOC(RESOLVE_ADDR, rdma_ep_cmd_resolve_addr)

/**
 * struct rdma_ep_cmd_id - commands that take an id and one number
 * @size: sizeof(struct rdma_ep_cmd_id)
 * @flags: RESOLVE_ROUTE, DISCONNECT: RDMA_EP_AWAIT or 0; else must be 0
 * @id: in: id
 * @arg: in: RESOLVE_ROUTE: time limit in ms. LISTEN: backlog; 0 or more than
 *	allowed takes rdma_ep_cmd_query.max_backlog. NOTIFY: enum ibv_event_type.
 *	DISCONNECT, ESTABLISH: must be 0. out: DISCONNECT: state of the id's own QP
 *	(enum ibv_qp_state); 0 if it has none, or if a signal has restarted the wait
 * @await: in, out: the event to wait for
 *
 * RDMA_EP_IOC_RESOLVE_ROUTE leads to ROUTE_RESOLVED or ROUTE_ERROR.
 *
 * RDMA_EP_IOC_LISTEN accepts connection requests. An id that is not bound is bound
 * to any address first. Requests beyond the backlog are dropped, and the peer sends
 * them again.
 *
 * RDMA_EP_IOC_DISCONNECT moves the id's QP to the error state, which flushes its work
 * requests (on iWARP devices except siw: to SQD), and then notifies the peer. If the
 * wait for an event fails, @arg is not written.
 *
 * RDMA_EP_IOC_ESTABLISH completes a connection after CONNECT_RESPONSE on an id
 * without a QP of its own.
 *
 * RDMA_EP_IOC_NOTIFY notifies the CM of an asynchronous event of the id's QP
 * (rdma_notify(3)): communication established (4), before the peer's last message
 * has arrived. Leads to the ESTABLISHED event.
 *
 *  - EINVAL: the id's state does not allow it; NOTIFY: another event
 *  - EISCONN: NOTIFY: the connection is already established
 *  - EADDRINUSE: LISTEN: another id listens on the address; on siw also: a TCP socket does
 *  - EDQUOT: LISTEN: the backlog exceeds the limits on queue memory (iWARP devices)
 *  - ENODEV: RESOLVE_ROUTE: the device needs a GID (RoCE), and the id has none, as
 *    its address is a loopback or an AF_IB one
 *  - EAGAIN: RESOLVE_ROUTE on InfiniBand: no subnet manager has configured the port
 */
struct rdma_ep_cmd_id {
	__u32 size;
	__u32 flags;
	__u32 id;
	__u32 arg;
	struct rdma_ep_await await;
};

#define RDMA_EP_IOC_RESOLVE_ROUTE RDMA_EP_IOC(RESOLVE_ROUTE, rdma_ep_cmd_id)
#define RDMA_EP_IOC_LISTEN RDMA_EP_IOC(LISTEN, rdma_ep_cmd_id)
#define RDMA_EP_IOC_DISCONNECT RDMA_EP_IOC(DISCONNECT, rdma_ep_cmd_id)
#define RDMA_EP_IOC_ESTABLISH RDMA_EP_IOC(ESTABLISH, rdma_ep_cmd_id)
#define RDMA_EP_IOC_NOTIFY RDMA_EP_IOC(NOTIFY, rdma_ep_cmd_id)

/**
 * struct rdma_ep_cmd_connect - ioctl(RDMA_EP_IOC_CONNECT), ioctl(RDMA_EP_IOC_ACCEPT)
 * @size: sizeof(struct rdma_ep_cmd_connect)
 * @flags: RDMA_EP_AWAIT or 0
 * @uid: in: ACCEPT: cookie that events of this id report from now on. CONNECT:
 *	must be 0
 * @id: in: id
 * @ece_vendor_id: in: enhanced connection establishment data, or 0. ACCEPT ignores it:
 *	the answer has the vendor of the request
 * @ece_options: in: the same; the answer's own
 * @qkey: in: Q_Key, used for AF_IB addresses only; 0 for the default
 * @conn: in: parameters
 * @await: in, out: the event to wait for
 *
 * The message to the peer carries the QP number and SRQ flag of the id's own QP. If
 * the id has no QP, conn.qp_num must be the number of a QP of this session on the id's
 * device. ACCEPT moves the id's own QP to RTS before it answers. If that fails, the QP
 * is in the error state, and the request may still be rejected, or accepted with
 * another QP. Over iWARP a QP has one connection in its life.
 *
 *  - EINVAL: the id's state does not allow it; responder_resources or initiator_depth
 *    is over the device's limits; the private data is too long; there is no such QP
 *    or, over iWARP, it has had a connection; ACCEPT: the peer's request has a
 *    packet size that does not exist
 *  - ECONNREFUSED: CONNECT on siw: the peer refuses the TCP connection, for which the
 *    command waits. Other errors of this connection are returned as they are, and no
 *    event follows
 *  - EHOSTUNREACH: CONNECT on siw: the TCP connection does not reach the peer
 *  - ETIMEDOUT: CONNECT on siw: the peer does not answer the TCP connection
 *  - ECONNRESET: ACCEPT on siw: the peer has ended the TCP connection
 */
struct rdma_ep_cmd_connect {
	__u32 size;
	__u32 flags;
	__aligned_u64 uid;
	__u32 id;
	__u32 ece_vendor_id;
	__u32 ece_options;
	__u32 qkey;
	struct rdma_ep_conn_param conn;
	struct rdma_ep_await await;
};

#define RDMA_EP_IOC_CONNECT RDMA_EP_IOC(CONNECT, rdma_ep_cmd_connect)
#define RDMA_EP_IOC_ACCEPT RDMA_EP_IOC(ACCEPT, rdma_ep_cmd_connect)

/**
 * struct rdma_ep_cmd_reject - ioctl(RDMA_EP_IOC_REJECT)
 * @size: sizeof(struct rdma_ep_cmd_reject)
 * @flags: must be 0
 * @id: in: id of a connection request, or an id that waits for
 *	RDMA_EP_IOC_ESTABLISH after its peer has accepted
 * @reason: in: 0 or 28 (consumer defined), or 35 (vendor option not supported)
 * @private_data_len: in: bytes of @private_data
 * @reserved: must be 0
 * @private_data: in: private data
 *
 *  - EINVAL: the id's state does not allow it, @reason is another one, or the private
 *    data is too long
 *  - ECONNRESET: on siw, the peer has ended the TCP connection
 */
struct rdma_ep_cmd_reject {
	__u32 size;
	__u32 flags;
	__u32 id;
	__u32 reason;
	__u32 private_data_len;
	__u32 reserved;
	__u8 private_data[RDMA_EP_MAX_PRIVATE_DATA];
};

#define RDMA_EP_IOC_REJECT RDMA_EP_IOC(REJECT, rdma_ep_cmd_reject)

/**
 * struct rdma_ep_cmd_query_id - ioctl(RDMA_EP_IOC_QUERY_ID)
 * @size: sizeof(struct rdma_ep_cmd_query_id)
 * @flags: must be 0
 * @id: in: id
 * @events_reported: out: number of read events of the id
 * @ece_vendor_id: out: enhanced connection establishment data of the peer
 * @ece_options: out: the same
 * @info: out: device, addresses and paths of the id
 */
struct rdma_ep_cmd_query_id {
	__u32 size;
	__u32 flags;
	__u32 id;
	__u32 events_reported;
	__u32 ece_vendor_id;
	__u32 ece_options;
	struct rdma_ep_id_info info;
};

#define RDMA_EP_IOC_QUERY_ID RDMA_EP_IOC(QUERY_ID, rdma_ep_cmd_query_id)

/**
 * struct rdma_ep_cmd_set_option - ioctl(RDMA_EP_IOC_SET_OPTION)
 * @size: sizeof(struct rdma_ep_cmd_set_option)
 * @flags: must be 0
 * @id: in: id
 * @level: in: RDMA_OPTION_ID (0) or RDMA_OPTION_IB (1)
 * @optname: in: see rdma_set_option(3)
 * @optlen: in: bytes at @optval
 * @optval: in: user pointer to the value
 *
 * A connection by a path whose packet life time is more than 20 (4.3 s) uses 20.
 *
 *  - ENOSYS: unknown level or option
 *  - EINVAL: the length or the value is wrong (an acknowledge timeout has five bits),
 *    the id's state does not allow it, or a path begins at another GID than the id's
 *  - ENODEV: a path: as for RDMA_EP_IOC_RESOLVE_ROUTE
 *  - EOPNOTSUPP: a path on a port of Omni-Path
 */
struct rdma_ep_cmd_set_option {
	__u32 size;
	__u32 flags;
	__u32 id;
	__u32 level;
	__u32 optname;
	__u32 optlen;
	__aligned_u64 optval;
};

#define RDMA_EP_IOC_SET_OPTION RDMA_EP_IOC(SET_OPTION, rdma_ep_cmd_set_option)

/**
 * struct rdma_ep_cmd_migrate_id - ioctl(RDMA_EP_IOC_MIGRATE_ID)
 * @size: sizeof(struct rdma_ep_cmd_migrate_id)
 * @flags: RDMA_EP_ID_PRIVATE_CHANNEL or 0
 * @id: in: id
 * @channel_fd: in: new channel; out with RDMA_EP_ID_PRIVATE_CHANNEL: the created
 *	channel
 * @events_reported: out: number of read events of the id so far
 * @reserved: must be 0
 *
 * Unread events of the id move to the new channel in one step. After the command has
 * returned, no event of the id arrives on the old channel (rdma_migrate_id(3)).
 *
 *  - EBADF: @channel_fd is not an event channel of this session
 *  - EMFILE: the process has too many open files
 *  - ENFILE: the system has too many open files
 */
struct rdma_ep_cmd_migrate_id {
	__u32 size;
	__u32 flags;
	__u32 id;
	__s32 channel_fd;
	__u32 events_reported;
	__u32 reserved;
};

#define RDMA_EP_IOC_MIGRATE_ID RDMA_EP_IOC(MIGRATE_ID, rdma_ep_cmd_migrate_id)

/**
 * struct rdma_ep_cmd_init_qp_attr - ioctl(RDMA_EP_IOC_INIT_QP_ATTR)
 * @size: sizeof(struct rdma_ep_cmd_init_qp_attr)
 * @flags: must be 0
 * @id: in: id, bound to a device
 * @qp_state: in: new state of the QP, at most ERR
 * @attr: out: attributes and mask for ibv_modify_qp(3) to that state
 *
 * As long as the CM has no connection for the id, the attributes are those for INIT,
 * for any @qp_state.
 *
 *  - EINVAL: the id is not bound to a device, @qp_state is over ERR, or the state of
 *    the connection does not have this transition
 *  - EADDRNOTAVAIL: as for RDMA_EP_IOC_CREATE_QP
 *  - ENODEV: as for RDMA_EP_IOC_CREATE_QP
 */
struct rdma_ep_cmd_init_qp_attr {
	__u32 size;
	__u32 flags;
	__u32 id;
	__u32 qp_state;
	struct ib_uverbs_qp_attr attr;
};

#define RDMA_EP_IOC_INIT_QP_ATTR RDMA_EP_IOC(INIT_QP_ATTR, rdma_ep_cmd_init_qp_attr)

/**
 * struct rdma_ep_cmd_get_request - ioctl(RDMA_EP_IOC_GET_REQUEST)
 * @size: sizeof(struct rdma_ep_cmd_get_request)
 * @flags: RDMA_EP_ID_PRIVATE_CHANNEL, RDMA_EP_EP_CREATE_QP, RDMA_EP_AWAIT
 * @id: in: listening id
 * @channel_fd: out: with RDMA_EP_ID_PRIVATE_CHANNEL the new id's own channel,
 *	else -1
 * @qp_errno: out: 0, or the positive errno of RDMA_EP_IOC_CREATE_QP that kept the
 *	QP from being created; the new id exists nevertheless
 * @await_fd: in: with RDMA_EP_AWAIT the channel of @id, else must be 0
 * @qp: in, out: with RDMA_EP_EP_CREATE_QP the QP to create on the new id, else
 *	must be 0
 * @event: out: the event, in the format of read(2)
 *
 * Takes the next event from the channel of @id. If it is a connection request, the
 * command moves the new id to a channel of its own and creates a QP on it, as
 * rdma_get_request(3) does. It returns other events unchanged.
 *
 * With RDMA_EP_AWAIT it waits for an event like read(2) of @await_fd. No event is lost
 * if the command fails or is interrupted (EINTR).
 *
 *  - EAGAIN: there is no event, and RDMA_EP_AWAIT is not set, @await_fd is O_NONBLOCK,
 *    or @await_fd is no event channel of this session
 *  - EMFILE: the process has too many open files
 *  - ENFILE: the system has too many open files
 */
struct rdma_ep_cmd_get_request {
	__u32 size;
	__u32 flags;
	__u32 id;
	__s32 channel_fd;
	__u32 qp_errno;
	__s32 await_fd;
	struct rdma_ep_qp_init qp;
	struct rdma_ep_channel_event event;
};

#define RDMA_EP_IOC_GET_REQUEST RDMA_EP_IOC(GET_REQUEST, rdma_ep_cmd_get_request)

/**
 * enum rdma_ep_join_flags - &struct rdma_ep_cmd_join_multicast.flags
 * @RDMA_EP_JOIN_SEND_ONLY: only send to the group, never receive from it
 */
enum rdma_ep_join_flags {
	RDMA_EP_JOIN_SEND_ONLY = 1 << 0,
};

/**
 * struct rdma_ep_cmd_join_multicast - ioctl(RDMA_EP_IOC_JOIN_MULTICAST)
 * @size: sizeof(struct rdma_ep_cmd_join_multicast)
 * @flags: RDMA_EP_JOIN_SEND_ONLY or 0
 * @uid: in: cookie, reported by the events as param.ud.mcast_uid
 * @id: in: id, bound to a device, whose qp_type is UD
 * @mcast: out: handle of the membership; destroying it leaves the group
 * @addr: in: address of the group
 *
 * Leads to a MULTICAST_JOIN or MULTICAST_ERROR event, see rdma_join_multicast(3).
 *
 * IPv6 groups on RoCE v2 fail with 524 (ENOTSUPP of the kernel).
 *
 *  - EINVAL: the id's state or type does not allow it, or the address is malformed
 *  - EAFNOSUPPORT: the address family is not supported
 *  - ENODEV: the id's network device has been removed
 *  - EADDRNOTAVAIL: on InfiniBand: the broadcast group of IPoIB is not joined on the port
 *  - ENOMEM: the id is in 1024 groups
 *  - ENOSYS: the device has no multicast
 */
struct rdma_ep_cmd_join_multicast {
	__u32 size;
	__u32 flags;
	__aligned_u64 uid;
	__u32 id;
	__u32 mcast;
	struct __kernel_sockaddr_storage addr;
};

#define RDMA_EP_IOC_JOIN_MULTICAST \
	RDMA_EP_IOC(JOIN_MULTICAST, rdma_ep_cmd_join_multicast)

/**
 * struct rdma_ep_cmd_write_event - ioctl(RDMA_EP_IOC_WRITE_EVENT)
 * @size: sizeof(struct rdma_ep_cmd_write_event)
 * @flags: must be 0
 * @id: in: id
 * @event: in: RDMA_EP_CM_EVENT_ADDRINFO_RESOLVED, RDMA_EP_CM_EVENT_ADDRINFO_ERROR
 *	or RDMA_EP_CM_EVENT_USER
 * @status: in: status of the event
 * @reserved: must be 0
 * @arg: in: param.arg of the event
 *
 * Puts an event of the caller's into the id's channel (rdma_write_cm_event(3)).
 * The event counts as an object until it is read or its id is destroyed.
 *
 *  - EINVAL: @event is another one, or the id is a connection request that has not
 *    been accepted
 *  - ENOBUFS: too many unread events of the session, the user, or the id (4096)
 */
struct rdma_ep_cmd_write_event {
	__u32 size;
	__u32 flags;
	__u32 id;
	__u32 event;
	__s32 status;
	__u32 reserved;
	__aligned_u64 arg;
};

#define RDMA_EP_IOC_WRITE_EVENT RDMA_EP_IOC(WRITE_EVENT, rdma_ep_cmd_write_event)

/**
 * struct rdma_ep_destroy_cq - a CQ that is destroyed with an endpoint
 * @cq: in: CQ, or 0; out: 0 if it has been destroyed
 * @channel_fd: in: its completion channel, to be closed, or -1; out: -1 if it has been
 *	closed
 * @events: in: number of acknowledged asynchronous events of the CQ; out: number of
 *	read ones
 * @comp_events: the same for its completion events
 */
struct rdma_ep_destroy_cq {
	__u32 cq;
	__s32 channel_fd;
	__u32 events;
	__u32 comp_events;
};

/**
 * struct rdma_ep_cmd_destroy_ep - ioctl(RDMA_EP_IOC_DESTROY_EP)
 * @size: sizeof(struct rdma_ep_cmd_destroy_ep)
 * @flags: must be 0
 * @id: in: id; out: 0
 * @channel_fd: in: its event channel, to be closed, or -1; out: -1 if it has been
 *	closed
 * @events: in: number of acknowledged events of the id; out: number of read ones
 * @qp: in: QP, or 0; out: 0 if it has been destroyed
 * @qp_events: out: number of read asynchronous events of the QP
 * @srq: in: SRQ, or 0; out: 0 if it has been destroyed
 * @srq_events: out: number of read asynchronous events of the SRQ
 * @reserved: must be 0
 * @recv_cq: in, out: a CQ
 * @send_cq: in, out: another CQ
 *
 * Executes rdma_destroy_ep(3) in one call. It destroys, in this order, the QP, the
 * SRQ, the CQs and the id, each as RDMA_EP_IOC_DESTROY does. It detaches the QP from
 * its multicast groups first, and closes the channels in the caller's file table.
 *
 * If the command fails with another errno than EFAULT, it has had no effect. Otherwise
 * the id has been destroyed. Objects that were not destroyed stay in the structure:
 * another object uses them (EBUSY of RDMA_EP_IOC_DESTROY), or another task has
 * destroyed them meanwhile. A channel is closed if its object has been destroyed and
 * all read events of that object are acknowledged. Otherwise it stays open, and the
 * user closes it after the acknowledgments.
 *
 * No other thread may close one of the descriptors meanwhile: as with close(2), the
 * descriptor might name another file then.
 *
 *  - EBADF: a descriptor is neither -1 nor the channel of the id, or of the CQ
 *  - EFAULT: the structure cannot be written; the objects have been destroyed
 */
struct rdma_ep_cmd_destroy_ep {
	__u32 size;
	__u32 flags;
	__u32 id;
	__s32 channel_fd;
	__u32 events;
	__u32 qp;
	__u32 qp_events;
	__u32 srq;
	__u32 srq_events;
	__u32 reserved;
	struct rdma_ep_destroy_cq recv_cq;
	struct rdma_ep_destroy_cq send_cq;
};

#define RDMA_EP_IOC_DESTROY_EP RDMA_EP_IOC(DESTROY_EP, rdma_ep_cmd_destroy_ep)

/* ------------------------------------------------------------------ */
/* Hand-over of a session to another process                          */
/* ------------------------------------------------------------------ */

/** RDMA_EP_NOTE_BYTES - bytes of an object's note */
#define RDMA_EP_NOTE_BYTES 64

/**
 * enum rdma_ep_obj_flags - &struct rdma_ep_obj_info.flags
 * @RDMA_EP_OBJ_DEFAULT: context: it is the session's default one; PD: that context's
 * @RDMA_EP_OBJ_REMOVED: the device has been removed
 * @RDMA_EP_OBJ_PRIVATE: id: its channel was created with RDMA_EP_ID_PRIVATE_CHANNEL
 * @RDMA_EP_OBJ_LISTENING: id: it listens
 * @RDMA_EP_OBJ_REQUEST: id: a connection request that has not been accepted
 */
enum rdma_ep_obj_flags {
	RDMA_EP_OBJ_DEFAULT = 1 << 0,
	RDMA_EP_OBJ_REMOVED = 1 << 1,
	RDMA_EP_OBJ_PRIVATE = 1 << 2,
	RDMA_EP_OBJ_LISTENING = 1 << 3,
	RDMA_EP_OBJ_REQUEST = 1 << 4,
};

/**
 * struct rdma_ep_obj_info - one entry of RDMA_EP_IOC_LIST_OBJS
 * @handle: object
 * @type: its type (enum rdma_ep_obj_type)
 * @uid: the library's cookie, with which events name the object; 0: none, or lost when
 *	the session was adopted
 * @cookie: the program's, 0 unless it has been set (RDMA_EP_IOC_SET_OBJ)
 * @flags: RDMA_EP_OBJ_* bits
 * @dev_index: device, 0 if none
 * @ctx: context of a PD, CQ, XRC domain, QP
 * @pd: PD of an MR, AH, SRQ or QP
 * @send_cq: CQ of a QP
 * @recv_cq: CQ of a QP; XRC SRQ: its CQ
 * @srq: SRQ of a QP, or of an id
 * @xrcd: XRC domain of an SRQ or a target QP
 * @qp: QP of an id: the one that was created with it
 * @id: id of a membership; 0 if it has been destroyed
 * @channel: number of the channel of an id (unless it is a request that has not been read)
 *	or CQ; 0: none. Objects with the same number have the same channel
 * @number: number of a QP or XRC SRQ
 * @subtype: qp_type of a QP or an id (IBV_QPT_*); of an id on a removed device 0
 * @ps: port space of an id; on a removed device 0
 * @cqe: entries of a CQ
 * @ring: ring of a CQ or SRQ, or RDMA_EP_NO_RING
 * @lkey: local key of an MR
 * @rkey: remote key of an MR
 * @access: IBV_ACCESS_* bits of an MR
 * @reserved: 0
 * @addr: MR: where the memory was in the process that registered it
 * @iova: MR: address that work requests use for @addr
 * @length: MR: bytes
 * @note: the library's, zeros unless it has been set
 *
 * A handle is 0 if the object has none of the kind.
 */
struct rdma_ep_obj_info {
	__u32 handle;
	__u32 type;
	__aligned_u64 uid;
	__aligned_u64 cookie;
	__u32 flags;
	__u32 dev_index;
	__u32 ctx;
	__u32 pd;
	__u32 send_cq;
	__u32 recv_cq;
	__u32 srq;
	__u32 xrcd;
	__u32 qp;
	__u32 id;
	__u32 channel;
	__u32 number;
	__u32 subtype;
	__u32 ps;
	__u32 cqe;
	__u32 ring;
	__u32 lkey;
	__u32 rkey;
	__u32 access;
	__u32 reserved;
	__aligned_u64 addr;
	__aligned_u64 iova;
	__aligned_u64 length;
	__u8 note[RDMA_EP_NOTE_BYTES];
};

/**
 * struct rdma_ep_cmd_list_objs - ioctl(RDMA_EP_IOC_LIST_OBJS)
 * @size: sizeof(struct rdma_ep_cmd_list_objs)
 * @flags: must be 0
 * @objs: user pointer to an array of struct rdma_ep_obj_info
 * @max: in: entries that fit into @objs; one call writes at most 256
 * @num: out: entries that have been written
 * @cursor: in: 0, or @cursor of the call before; out: where the next call continues, 0
 *	at the end
 * @reserved: must be 0
 *
 * Lists the session's objects in the order of their handles. An object that another
 * task creates or destroys meanwhile may be missing.
 *
 *  - EINVAL: @max is 0
 */
struct rdma_ep_cmd_list_objs {
	__u32 size;
	__u32 flags;
	__aligned_u64 objs;
	__u32 max;
	__u32 num;
	__u32 cursor;
	__u32 reserved;
};

#define RDMA_EP_IOC_LIST_OBJS RDMA_EP_IOC(LIST_OBJS, rdma_ep_cmd_list_objs)

/**
 * enum rdma_ep_set_flags - &struct rdma_ep_cmd_set_obj.flags
 * @RDMA_EP_SET_UID: set the library's cookie
 * @RDMA_EP_SET_COOKIE: set the program's cookie
 * @RDMA_EP_SET_NOTE: set the library's note
 */
enum rdma_ep_set_flags {
	RDMA_EP_SET_UID = 1 << 0,
	RDMA_EP_SET_COOKIE = 1 << 1,
	RDMA_EP_SET_NOTE = 1 << 2,
};

/**
 * struct rdma_ep_cmd_set_obj - ioctl(RDMA_EP_IOC_SET_OBJ)
 * @size: sizeof(struct rdma_ep_cmd_set_obj)
 * @flags: RDMA_EP_SET_* bits
 * @handle: in: object
 * @type: in: its type (enum rdma_ep_obj_type)
 * @uid: in: cookie of unread and later events
 * @cookie: in: cookie of the program
 * @note: in: note of the library
 *
 * Cookie and note have no meaning for the kernel. They stay when the session is adopted.
 *
 *  - EINVAL: @flags is 0, @type is unknown, or with RDMA_EP_SET_UID not an id, CQ, SRQ,
 *    QP or membership; a value is not 0 without its flag
 */
struct rdma_ep_cmd_set_obj {
	__u32 size;
	__u32 flags;
	__u32 handle;
	__u32 type;
	__aligned_u64 uid;
	__aligned_u64 cookie;
	__u8 note[RDMA_EP_NOTE_BYTES];
};

#define RDMA_EP_IOC_SET_OBJ RDMA_EP_IOC(SET_OBJ, rdma_ep_cmd_set_obj)

/**
 * struct rdma_ep_cmd_open_queue - ioctl(RDMA_EP_IOC_OPEN_QUEUE)
 * @size: sizeof(struct rdma_ep_cmd_open_queue)
 * @flags: must be 0
 * @handle: in: object
 * @type: in: its type: RDMA_EP_OBJ_ID for the event channel of an id, RDMA_EP_OBJ_CQ for the
 *	completion channel of a CQ, RDMA_EP_OBJ_CTX for the asynchronous events of a context
 * @fd: out: a further descriptor of it
 * @reserved: must be 0
 *
 * The ids of an event channel are destroyed when its last descriptor is closed that the
 * session's owner has created.
 *
 *  - EINVAL: @type is another one
 *  - ENODATA: the CQ has no completion channel, or the id no event channel yet
 *  - EMFILE: the process has too many open files
 *  - ENFILE: the system has too many open files
 */
struct rdma_ep_cmd_open_queue {
	__u32 size;
	__u32 flags;
	__u32 handle;
	__u32 type;
	__s32 fd;
	__u32 reserved;
};

#define RDMA_EP_IOC_OPEN_QUEUE RDMA_EP_IOC(OPEN_QUEUE, rdma_ep_cmd_open_queue)

/**
 * enum rdma_ep_export_flags - flags of RDMA_EP_IOC_EXPORT and RDMA_EP_IOC_ADOPT
 * @RDMA_EP_KEEP: closing an event channel destroys no ids, as long as this owner has
 *	the session
 * @RDMA_EP_EXPORT_FD: RDMA_EP_IOC_EXPORT only: return another descriptor of the session
 */
enum rdma_ep_export_flags {
	RDMA_EP_KEEP = 1 << 0,
	RDMA_EP_EXPORT_FD = 1 << 1,
};

/**
 * struct rdma_ep_cmd_export - ioctl(RDMA_EP_IOC_EXPORT)
 * @size: sizeof(struct rdma_ep_cmd_export)
 * @flags: RDMA_EP_KEEP and RDMA_EP_EXPORT_FD, or 0
 * @fd: out: with RDMA_EP_EXPORT_FD a descriptor, else -1
 * @reserved: must be 0
 *
 * A session has one owner: the opener, or the latest to have adopted it. Descriptors that
 * an owner has created, of the session and of its channels, belong to that owner, whichever
 * process has them.
 *
 * With RDMA_EP_KEEP the owner keeps the session, and its event channels may be closed, by
 * the end of the process for example: a task that holds a copy of the session's descriptor
 * may adopt the session afterwards, with all ids.
 *
 * Without it, the session has no owner from now on, until a task adopts it. All commands on
 * the owner's descriptor of the session but RDMA_EP_IOC_QUERY, RDMA_EP_IOC_EXPORT,
 * RDMA_EP_IOC_ADOPT and RDMA_EP_IOC_RESTRICT fail with EBADF, and so does read(2) of its
 * channels' descriptors. Tasks that wait there return. Closing these descriptors has no effect
 * on objects. Closing the last copy of the session's descriptor, and the last mapping, still
 * ends the session. The objects, peers, unread events and completions are not affected. The
 * command waits until commands under way have returned, for 5 s at most.
 *
 * The descriptor of open(2) is one of the device node: a process that has it opens a new
 * session by /proc/self/fd, without the restrictions of this one, also if it cannot reach the
 * node itself. The descriptors of RDMA_EP_EXPORT_FD, RDMA_EP_IOC_ADOPT and
 * RDMA_EP_IOC_SPLIT_ID cannot be opened again (ENXIO). They are for other processes. @fd is
 * the same owner's, and the session lasts as long as either descriptor.
 *
 * The command may be repeated.
 *
 *  - EBADF: another owner has adopted the session; or with RDMA_EP_KEEP, it has no owner
 *  - EBUSY: without RDMA_EP_KEEP: another task is adopting the session, or is giving it up
 *  - ETIMEDOUT: a command under way has not returned within 5 s, as it waits for the device or
 *    for memory of its process. The session has no owner: the command can be repeated
 *  - EMFILE: the process has too many open files
 *  - ENFILE: the system has too many open files
 */
struct rdma_ep_cmd_export {
	__u32 size;
	__u32 flags;
	__s32 fd;
	__u32 reserved;
};

#define RDMA_EP_IOC_EXPORT RDMA_EP_IOC(EXPORT, rdma_ep_cmd_export)

/**
 * struct rdma_ep_cmd_adopt - ioctl(RDMA_EP_IOC_ADOPT)
 * @size: sizeof(struct rdma_ep_cmd_adopt)
 * @flags: RDMA_EP_KEEP, as for RDMA_EP_IOC_EXPORT, or 0
 * @fd: out: the new owner's descriptor of the session
 * @reserved: must be 0
 *
 * Makes the caller the session's owner. The previous owner loses the session as with
 * RDMA_EP_IOC_EXPORT, if it still has it. Its descriptor of the session is without any
 * effect from then on (EBADF for all commands), also for a later adoption. Mappings of its
 * rings stay, but have lost their connection with the session.
 *
 * Handles, keys and queues are the same. Unread completions are in the rings, which the
 * caller maps with @fd. Each ring has @pending, or @kick, set. The uid of each object is 0 and its
 * counts of read events are too, so a caller sets the uid (RDMA_EP_IOC_SET_OBJ) before it
 * reads events.
 *
 * The session is charged to the user who opened it, with all that is created later.
 * Memory stays charged to the process that registered it. Capabilities, RLIMIT_MEMLOCK,
 * cgroups and network namespaces are those of the caller of a command, as always.
 *
 * After EBUSY, EMFILE, ENFILE and EDQUOT the command has had no effect. After another error
 * the session may have no owner: the command can be repeated.
 *
 *  - EBADF: another owner has adopted the session
 *  - EDQUOT: 64 adopters' descriptors of the session are open; other limits do not matter
 *  - EBUSY: another task is adopting the session, or is giving it up
 *  - ETIMEDOUT: a command of the previous owner has not returned within 5 s, as it waits for the
 *    device or for memory of its process. The session has no owner: the command can be repeated
 *  - EMFILE: the process has too many open files
 *  - ENFILE: the system has too many open files
 */
struct rdma_ep_cmd_adopt {
	__u32 size;
	__u32 flags;
	__s32 fd;
	__u32 reserved;
};

#define RDMA_EP_IOC_ADOPT RDMA_EP_IOC(ADOPT, rdma_ep_cmd_adopt)

/**
 * struct rdma_ep_cmd_split_id - ioctl(RDMA_EP_IOC_SPLIT_ID)
 * @size: sizeof(struct rdma_ep_cmd_split_id)
 * @flags: must be 0
 * @id: in: id of a connection request that has been read, and neither accepted nor
 *	rejected
 * @fd: out: descriptor of a new session, with the id alone
 * @busy: out: EBUSY: handle of a QP or SRQ that the id has, or 0: another command uses the id
 * @busy_type: out: EBUSY: type of this object (RDMA_EP_OBJ_*), or 0
 *
 * Moves a connection request into a session of its own, so that another process can
 * adopt and accept it, and nothing else. Its handle there is another one
 * (RDMA_EP_IOC_LIST_OBJS). It has an event channel of its own (RDMA_EP_IOC_OPEN_QUEUE). Cookie
 * and note move with it; its uid does not. The peer notices nothing.
 *
 * The new session is charged to the caller's user, as if the caller had opened the
 * device. It has the restrictions of this one (RDMA_EP_IOC_RESTRICT).
 *
 * If the command fails, the id is as before. Results are written after EBUSY, too (@fd is -1).
 *
 *  - EINVAL: the id is no such request
 *  - EBUSY: the id has a QP or SRQ, which stay in this session, or another command uses it
 *  - ENOENT: also while another command destroys or moves the id
 *  - EMFILE: the process has too many open files
 *  - ENFILE: the system has too many open files
 */
struct rdma_ep_cmd_split_id {
	__u32 size;
	__u32 flags;
	__u32 id;
	__s32 fd;
	__u32 busy;
	__u32 busy_type;
};

#define RDMA_EP_IOC_SPLIT_ID RDMA_EP_IOC(SPLIT_ID, rdma_ep_cmd_split_id)

/**
 * enum rdma_ep_restrict_flags - &struct rdma_ep_cmd_restrict.flags: rights to be taken away
 * @RDMA_EP_RESTRICT_IDS: creating ids, and beginning to listen (EPERM)
 * @RDMA_EP_RESTRICT_DEVICES: devices without a grant: they are not listed, opened or queried,
 *	ids do not act on them, accept no requests that came through them before, and listening
 *	ids get no new ones (EACCES)
 * @RDMA_EP_RESTRICT_BIND: local addresses and ports without a grant (EACCES)
 * @RDMA_EP_RESTRICT_CONNECT: addresses and ports of peers without a grant (EACCES)
 * @RDMA_EP_RESTRICT_OBJECTS: more than @max_objects objects and channels (EDQUOT)
 * @RDMA_EP_RESTRICT_QUEUES: more than @max_queue_bytes of queue memory (EDQUOT)
 * @RDMA_EP_RESTRICT_PINNED: more than @max_pinned_bytes of registered memory (ENOMEM)
 */
enum rdma_ep_restrict_flags {
	RDMA_EP_RESTRICT_IDS = 1 << 0,
	RDMA_EP_RESTRICT_DEVICES = 1 << 1,
	RDMA_EP_RESTRICT_BIND = 1 << 2,
	RDMA_EP_RESTRICT_CONNECT = 1 << 3,
	RDMA_EP_RESTRICT_OBJECTS = 1 << 4,
	RDMA_EP_RESTRICT_QUEUES = 1 << 5,
	RDMA_EP_RESTRICT_PINNED = 1 << 6,
};

/**
 * enum rdma_ep_grant_type - &struct rdma_ep_grant.type
 * @RDMA_EP_GRANT_DEVICE: a device
 * @RDMA_EP_GRANT_BIND: local addresses and ports
 * @RDMA_EP_GRANT_CONNECT: addresses and ports of peers
 */
enum rdma_ep_grant_type {
	RDMA_EP_GRANT_DEVICE = 1,
	RDMA_EP_GRANT_BIND,
	RDMA_EP_GRANT_CONNECT,
};

/**
 * struct rdma_ep_grant - an exception of a restriction
 * @type: RDMA_EP_GRANT_*
 * @dev_index: DEVICE: the device, or 0 if @name names it
 * @family: BIND, CONNECT: AF_INET or AF_INET6
 * @prefix_len: BIND, CONNECT: number of leading bits of @addr that count
 * @first_port: BIND, CONNECT: first of a range of ports
 * @last_port: BIND, CONNECT: last of them
 * @reserved: must be 0
 * @addr: BIND, CONNECT: address in network byte order, of IPv4 the first 4 bytes; zeros
 *	behind the prefix
 * @name: DEVICE: zero-terminated name, as in /sys/class/infiniband, of a device that may be
 *	added later; or zeros
 *
 * Members of other types must be 0.
 */
struct rdma_ep_grant {
	__u32 type;
	__u32 dev_index;
	__u32 family;
	__u32 prefix_len;
	__u16 first_port;
	__u16 last_port;
	__u32 reserved;
	__u8 addr[16];
	__u8 name[64];
};

/**
 * struct rdma_ep_cmd_restrict - ioctl(RDMA_EP_IOC_RESTRICT)
 * @size: sizeof(struct rdma_ep_cmd_restrict)
 * @flags: RDMA_EP_RESTRICT_* bits: the rights to be taken away
 * @grants: in: user pointer to an array of struct rdma_ep_grant
 * @num_grants: in: number of @grants, at most 64
 * @reserved: must be 0
 * @max_objects: in: with RDMA_EP_RESTRICT_OBJECTS, else 0
 * @max_queue_bytes: in: with RDMA_EP_RESTRICT_QUEUES, else 0
 * @max_pinned_bytes: in: with RDMA_EP_RESTRICT_PINNED, else 0
 *
 * Takes rights away from the session, and from all sessions that are split off it later
 * (RDMA_EP_IOC_SPLIT_ID; one that is under way may come without it). No task, and no adopter,
 * can return them. Each call adds a restriction; an act is allowed if all of them allow it. The
 * command also works on a session without an owner. A task with the node, or with a descriptor
 * of it, can open another session: see RDMA_EP_EXPORT_FD.
 *
 * Objects that exist stay usable as they are: connections, address handles, contexts with
 * their PDs and queues. But an id acts again only on addresses and devices that are allowed.
 *
 * A grant of local addresses is for RDMA_EP_IOC_BIND_ADDR and for the source of
 * RDMA_EP_IOC_RESOLVE_ADDR and RDMA_EP_IOC_CREATE_EP. An id also has to have a granted local
 * address when it listens, resolves a route, connects or joins a group. Port 0 stands for
 * ports that the kernel chooses, or that the id had before, so a range for clients begins
 * with 0. An unspecified address needs a grant that contains it, and the one of IPv6 also one
 * for the one of IPv4, as it listens on both. RDMA_EP_IOC_LISTEN on a loopback address also
 * needs the grants of the unspecified one, at which rdma_cm listens then, except over iWARP; and
 * on one of IPv4 with RDMA_OPTION_ID_AFONLY set to 0 those of both families, with the port that
 * the id has. The source of an address handle or vector needs a grant with any ports.
 *
 * A grant of peers is for the destination of RDMA_EP_IOC_RESOLVE_ADDR,
 * RDMA_EP_IOC_RESOLVE_ROUTE, RDMA_EP_IOC_CONNECT and RDMA_EP_IOC_CREATE_EP; requests of peers
 * are not affected. Address handles (RDMA_EP_IOC_CREATE_AH), the address vectors of QPs
 * (RDMA_EP_IOC_MODIFY_QP) and multicast groups (RDMA_EP_IOC_JOIN_MULTICAST,
 * RDMA_EP_IOC_ATTACH_MCAST) reach all that is at an address, and need a grant of ports 0 to
 * 65535 for it. InfiniBand's address handles and vectors name no IP address: they are refused,
 * and so is RDMA_OPTION_IB_PATH everywhere, with a restriction of either kind, and
 * RDMA_EP_IOC_CONNECT of an id that has such a path.
 *
 * A mapped address (::ffff:192.0.2.1) is one of IPv4. AF_IB addresses have no grant.
 *
 * Limits count the objects and channels, and the memory, of the session and of those that are
 * split off it afterwards, together. Existing ones count, and may exceed the limits. Descriptors
 * of owners do not count.
 *
 * A restriction counts as an object of the user, and one more for each 16 grants, for each
 * session that has it.
 *
 *  - EINVAL: @flags is 0; a limit or a grant without its flag; a grant with an unknown type,
 *    with neither or both of @dev_index and @name, with another family, with a prefix that is
 *    too long or with bits behind it, with a mapped address, or with ports out of order; a
 *    name that is not terminated, or not printable
 *  - E2BIG: more than 64 grants, or more than 16 restrictions of the session
 *  - EBADF: another owner has adopted the session
 */
struct rdma_ep_cmd_restrict {
	__u32 size;
	__u32 flags;
	__aligned_u64 grants;
	__u32 num_grants;
	__u32 reserved;
	__aligned_u64 max_objects;
	__aligned_u64 max_queue_bytes;
	__aligned_u64 max_pinned_bytes;
};

#define RDMA_EP_IOC_RESTRICT RDMA_EP_IOC(RESTRICT, rdma_ep_cmd_restrict)

#endif /* _UAPI_RDMA_RDMA_EP_H */
