/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Every command of the ABI with valid arguments, and where in its structure the flags, reserved
 * fields and handles are: for the tests that do the same to all commands.
 */
#ifndef ABI_CMDS_H
#define ABI_CMDS_H

#include "abi.h"

/* Features that not every device has */
enum abi_feature {
	ABI_EVERYWHERE,
	ABI_IB,			/* of InfiniBand and RoCE, not of iWARP */
	ABI_XRC,
	ABI_RESIZE_CQ,
	ABI_REREG_MR,
	ABI_MODERATION,
};

/*
 * Why the session's device lacks the feature, or NULL. A list, not a query of the device: a
 * device that loses a feature fails the tests.
 */
const char *abi_missing(const struct abi *s, enum abi_feature feature);

/*
 * A session that holds one object of each type; on iWARP no address handle and no
 * membership, and an XRC domain only where there are some.
 */
struct abi_world {
	struct abi s;
	int channel;
	int comp_channel;
	int ud_channel;
	__u32 obj[ABI_OBJ_LAST + 1];	/* by enum rdma_ep_obj_type */
	__u32 ud_id;			/* the membership's */
	__u32 qp_num;
	void *page;			/* covered by the MR */
	struct abi_wrs wrs;		/* of the prepared post command */
	__u8 tos;
	int result;			/* of the prepared command */
};

#define ABI_OBJ(_w, _type)	((_w)->obj[RDMA_EP_OBJ_##_type])

/* A QP without id, in RESET, on the world's PD and CQ; an id that is bound to the device */
int abi_world_qp(struct abi_world *w, __u32 type, __u32 *qp, __u32 *num);
int abi_world_id(struct abi_world *w, __u32 *id);
int abi_world_open(struct abi_world *w);
void abi_world_close(struct abi_world *w);

/* The meaning of a field of a structure */
enum abi_kind {
	FIELD_END,
	FIELD_QP,	/* struct rdma_ep_qp_init; arg: QP_LATER */
	FIELD_NUMBER,	/* arg: up to */
	FIELD_DEVICE,	/* number of one */
	FIELD_PORT,	/* number of one */
	FIELD_ACCESS,	/* of a memory region */
	FIELD_BITS,	/* arg: that are known */
	FIELD_HANDLE,	/* arg: object type, 0: any */
	FIELD_OPTIONAL,	/* handle that may be 0; arg: object type */
	FIELD_TYPE,	/* type of an object; the handle is a field before it */
	FIELD_FD,	/* arg: enum abi_fd */
	FIELD_OUT,	/* arg: object type, or 0 */
	FIELD_OUT_QP_NUM,
	FIELD_OUT_FD,	/* arg: enum abi_fd */
	FIELD_KEY,	/* in and out */
	FIELD_ADDR,	/* sockaddr; arg: ADDR_* */
	FIELD_GID,	/* arg: of a group */
	FIELD_QP_NUM,	/* number of a QP */
	FIELD_SENDS,	/* work requests; length and number follow */
	FIELD_RECVS,
	FIELD_MEMORY,	/* address in the memory of work requests */
	FIELD_SAME,	/* the address before */
	FIELD_BUFFER,	/* address of a place for results */
	FIELD_BYTES,	/* arg: how many */
	FIELD_COOKIE,
	FIELD_ZERO,	/* reserved */
	FIELD_UNUSED,	/* must be 0 with the flags of the prepared arguments */
};

enum abi_fd { FD_CHANNEL, FD_COMP, FD_ASYNC, NR_FDS };
/* May be missing; a group */
enum { ADDR_OPTIONAL = 1, ADDR_GROUP };
/* The error of the QP is an errno in the structure. */
enum { QP_LATER = 1 };

/* Objects in a state that a command is for; see fuzz_roles.c. */
enum abi_role {
	ROLE_ANY,
	ROLE_RESOLVED,	/* id that has an address */
	ROLE_READY,	/* id that may connect */
	ROLE_REQUEST,	/* id that may accept or reject */
	ROLE_ACCEPTED,	/* id that has, and waits */
	ROLE_RESPONDED,	/* id that may establish */
	ROLE_UD_ID,	/* id that may join a group */
	ROLE_ATTACHED,	/* QP that is attached to one */
	ROLE_CONNECTED,	/* QP */
	NR_ROLES
};

/* Results of a command after the removal of the device of its objects */
enum { GONE_OK = 1, GONE_ENODEV = 2, GONE_EIO = 4 };

struct abi_field {
	__u16 at;
	__u16 size;
	__u32 kind;
	__u32 arg;
};

/**
 * struct abi_command - a command of the ABI, a row of commands.def
 * @name: for people
 * @cmd: ioctl number
 * @prepare: fills in arguments with which the command succeeds
 * @needs: without this no arguments do so,
 * @says_so: or some, with which it returns -EOPNOTSUPP
 * @flags: valid bits
 * @other_flags: the prepared arguments can have none of them
 * @creates: it makes something that must not stay if it fails
 * @gone: its results for a removed device, GONE_*; 0: GONE_EIO
 * @denied: an errno, in a session without any right and room; 0: none
 * @weight: how often the fuzzer calls it
 * @role: the object of its first handle there, for it to succeed
 * @effect: (this and the rest: when one of its allocations or copies fails) its effect
 *	stays although its structure could not be written back; called again it returns
 *	@again, or 0
 * @again: an errno, not negative
 * @once: it cannot be called again, whatever has failed, and returns @again or 0
 * @fresh: use a new session for each call, as work continues after it, and the CM creates
 *	and destroys address handles of its own
 * @silent: it has no results, so no last copy to user memory
 * @ends: the descriptor of the session is without effect afterwards
 * @not_siw: the reason to leave it out over siw, whose bugs it would meet
 * @zero: must be 0 as well
 * @fields: of its structure
 * @reserved: of @fields, those that must be 0
 * @handles: of @fields, those that name objects
 * @flags2: known bits of a second word of flags,
 * @flags2_at: which is there
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

	/* Made of these. */
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

/* A connection that ends before its server has taken it (SIW-01) */
#define FAIL_SIW_EARLY	"siw's listener does not survive it, nor may the kernel"

extern struct abi_command abi_commands[];
extern const unsigned int abi_num_commands;
/* The fields of a FIELD_QP, up to a FIELD_END */
extern const struct abi_field abi_qp_fields[];

#define for_each_command(_c) \
	for (_c = abi_commands; _c < abi_commands + abi_num_commands; _c++)

/*
 * A function of a world @w and of the arguments @a of a command with that structure, which
 * returns 0 or an errno; and one that fills them in, and cannot fail.
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

/* Any command's structure, with room for a longer one. */
#define ABI_ARG_BYTES	8192

union abi_arg {
	__u32 size;
	__u32 u32[ABI_ARG_BYTES / 4];
	__u8 u8[ABI_ARG_BYTES];
	__aligned_u64 align;
};

/* The row of a command, or NULL. */
const struct abi_command *abi_find_command(unsigned long cmd);
/* Why there are no arguments for it on this device, or NULL. */
const char *abi_left_out(const struct abi *s, const struct abi_command *c);
/*
 * Valid arguments with their size, with which the command returns w->result. -EOPNOTSUPP
 * if abi_left_out() returns a reason, and only then.
 */
int abi_prepare(struct abi_world *w, const struct abi_command *c, union abi_arg *arg);

static inline void abi_arg_flip(union abi_arg *arg, __u32 at, unsigned int bit)
{
	arg->u32[at / 4] ^= 1U << bit;
}

#endif /* ABI_CMDS_H */
