/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Every command of the ABI with valid arguments, and the flags, reserved fields and handles in its
 * structure, for tests of all commands.
 */
#ifndef ABI_CMDS_H
#define ABI_CMDS_H

#include "abi.h"

/* Features that some devices lack */
enum abi_feature {
	ABI_EVERYWHERE,
	ABI_IB,			/* InfiniBand and RoCE have it, iWARP does not */
	ABI_XRC,
	ABI_RESIZE_CQ,
	ABI_REREG_MR,
	ABI_MODERATION,
	ABI_DEFERRED,		/* most requests complete after the post has returned */
};

/*
 * Why the session's device lacks the feature, or NULL. It is a fixed list, so a device that loses
 * a feature fails the tests.
 */
const char *abi_missing(const struct abi *s, enum abi_feature feature);

/*
 * A session that holds one object of each type that the device supports: iWARP has no AHs and
 * no groups, only the mock device has XRC domains.
 */
struct abi_world {
	struct abi s;
	int channel;
	int comp_channel;
	int ud_channel;
	__u32 obj[ABI_OBJ_LAST + 1];	/* by enum rdma_ep_obj_type */
	__u32 ud_id;			/* id that has joined the group */
	__u32 qp_num;
	void *page;			/* memory of the MR */
	struct abi_wrs wrs;		/* of the prepared post command */
	__u8 tos;
	int result;			/* of the prepared command */
};

#define ABI_OBJ(_w, _type)	((_w)->obj[RDMA_EP_OBJ_##_type])

/* A QP in RESET without an id, on the world's PD and CQ; an id that is bound to the device */
int abi_world_qp(struct abi_world *w, __u32 type, __u32 *qp, __u32 *num);
int abi_world_id(struct abi_world *w, __u32 *id);
int abi_world_open(struct abi_world *w);
void abi_world_close(struct abi_world *w);

/* The meaning of a field of a structure */
enum abi_kind {
	FIELD_END,
	FIELD_QP,	/* struct rdma_ep_qp_init; arg: 0 or QP_LATER */
	FIELD_NUMBER,	/* arg: maximum */
	FIELD_DEVICE,
	FIELD_PORT,
	FIELD_ACCESS,	/* rights of a memory region */
	FIELD_BITS,	/* arg: valid bits */
	FIELD_HANDLE,	/* arg: object type, 0: any */
	FIELD_OPTIONAL,	/* handle that may be 0; arg: object type */
	FIELD_TYPE,	/* type of the object whose handle is in an earlier field */
	FIELD_FD,	/* arg: enum abi_fd */
	FIELD_OUT,	/* arg: object type, or 0 */
	FIELD_OUT_QP_NUM,
	FIELD_OUT_FD,	/* arg: enum abi_fd */
	FIELD_KEY,	/* in and out */
	FIELD_ADDR,	/* sockaddr; arg: ADDR_* */
	FIELD_GID,	/* arg: true for the GID of a group */
	FIELD_QP_NUM,
	FIELD_SENDS,	/* work requests; length and number follow */
	FIELD_RECVS,
	FIELD_MEMORY,	/* address in the memory of work requests */
	FIELD_SAME,	/* the same address as two fields before */
	FIELD_BUFFER,	/* address of a buffer for results */
	FIELD_BYTES,	/* arg: their number */
	FIELD_COOKIE,
	FIELD_ZERO,	/* reserved */
	FIELD_UNUSED,	/* must be 0 with the flags of the prepared arguments */
};

enum abi_fd { FD_CHANNEL, FD_COMP, FD_ASYNC, NR_FDS };
/* The address may be missing; the address of a group */
enum { ADDR_OPTIONAL = 1, ADDR_GROUP };
/* The command succeeds if the QP fails, whose errno is in the structure. */
enum { QP_LATER = 1 };

/* States of objects that commands require; see fuzz_roles.c. */
enum abi_role {
	ROLE_ANY,
	ROLE_RESOLVED,	/* id with a resolved address */
	ROLE_READY,	/* id that may connect */
	ROLE_REQUEST,	/* id that may accept or reject */
	ROLE_ACCEPTED,	/* id that has accepted and waits for the peer */
	ROLE_RESPONDED,	/* id that may call ESTABLISH */
	ROLE_UD_ID,	/* id that may join a group */
	ROLE_ATTACHED,	/* QP that is attached to a group */
	ROLE_CONNECTED,	/* connected QP */
	NR_ROLES
};

/* Results of a command for objects of a removed device */
enum { GONE_OK = 1, GONE_ENODEV = 2, GONE_EIO = 4 };

struct abi_field {
	__u16 at;
	__u16 size;
	__u32 kind;
	__u32 arg;
};

/**
 * struct abi_command - a command of the ABI, a row of commands.def
 * @name: name in messages
 * @cmd: ioctl number
 * @prepare: fills in arguments with which the command succeeds
 * @needs: feature without which the command fails
 * @says_so: the command returns -EOPNOTSUPP without @needs; otherwise it is left out
 * @flags: valid bits
 * @other_flags: the prepared arguments are invalid with any of @flags
 * @creates: the command creates an object or file, which must not remain if it fails
 * @gone: results for a removed device, GONE_*; 0: GONE_EIO
 * @denied: errno in a session without any rights and with quotas of 0; 0: succeeds
 * @weight: how often the fuzzer calls it
 * @role: state of the first handle's object in which the command succeeds
 * @effect: (from here on: if an allocation or copy fails) the effect remains if the structure
 *	cannot be written back; the next call returns @again or 0
 * @again: errno, positive
 * @once: after any failure the next call returns @again or 0
 * @fresh: each call needs a new session, as work continues after the call, and the CM creates
 *	and destroys AHs
 * @silent: the command has no results, so it does not end with a copy to user memory
 * @ends: the session's descriptor is invalid afterwards
 * @not_siw: reason to leave it out over siw, whose bugs it would trigger
 * @zero: one more field that must be 0
 * @fields: the fields of its structure
 * @reserved: fields that must be 0 (made from @fields, as @handles)
 * @handles: fields that name objects
 * @flags2: valid bits of a second word of flags
 * @flags2_at: offset of that word
 */
struct abi_command {
	const char *name;
	unsigned long cmd;
	int (*prepare)(struct abi_world *w, void *arg);
	enum abi_feature needs;
	bool says_so;
	__u32 flags;
	bool other_flags;
	bool creates;
	unsigned int gone;
	int denied;
	unsigned int weight;
	enum abi_role role;
	bool effect;
	int again;
	bool once;
	bool fresh;
	bool silent;
	bool ends;
	const char *not_siw;
	struct abi_field zero;
	struct abi_field fields[64];

	/* Made from @fields by make_commands() */
	struct {
		__u16 at;
		__u16 len;
	} reserved[4];
	struct {
		__u16 at;
		__u8 type;
		bool optional;		/* 0 is not an error */
	} handles[5];
	__u32 flags2;
	__u16 flags2_at;
};

/* A connection that ends before its server has accepted it (SIW-01) */
#define FAIL_SIW_EARLY	"siw's listener does not survive it, nor may the kernel"

extern struct abi_command abi_commands[];
extern const unsigned int abi_num_commands;
/* The fields of a FIELD_QP, terminated by a FIELD_END */
extern const struct abi_field abi_qp_fields[];

#define for_each_command(_c) \
	for (_c = abi_commands; _c < abi_commands + abi_num_commands; _c++)

/*
 * Defines a prepare function with the parameters @w (world) and @a (the command's structure):
 * ABI_FN() returns 0 or an errno, ABI_FILL() cannot fail.
 */
#define ABI_FN(_fn, _type)						\
	static int args_##_fn(struct abi_world *w, struct rdma_ep_cmd_##_type *a); \
	static int _fn(struct abi_world *w, void *arg)			\
	{								\
		return args_##_fn(w, arg);				\
	}								\
	static int args_##_fn(struct abi_world *w, struct rdma_ep_cmd_##_type *a)
#define ABI_FILL(_fn, _type)						\
	static void args_##_fn(struct abi_world *w, struct rdma_ep_cmd_##_type *a); \
	static int _fn(struct abi_world *w, void *arg)			\
	{								\
		args_##_fn(w, arg);					\
		return 0;						\
	}								\
	static void args_##_fn(struct abi_world *w, struct rdma_ep_cmd_##_type *a)

/* The structure of any command, with room for a longer one */
#define ABI_ARG_BYTES	8192

union abi_arg {
	__u32 size;
	__u32 u32[ABI_ARG_BYTES / 4];
	__u8 u8[ABI_ARG_BYTES];
	__aligned_u64 align;
};

const struct abi_command *abi_find_command(unsigned long cmd);
/* Why the command is left out on this device, or NULL */
const char *abi_left_out(const struct abi *s, const struct abi_command *c);
/*
 * Fills in valid arguments, with which the command returns w->result. Returns -EOPNOTSUPP only if
 * abi_left_out() returns a reason.
 */
int abi_prepare(struct abi_world *w, const struct abi_command *c, union abi_arg *arg);

static inline void abi_arg_flip(union abi_arg *arg, __u32 at, unsigned int bit)
{
	arg->u32[at / 4] ^= 1U << bit;
}

#endif /* ABI_CMDS_H */
