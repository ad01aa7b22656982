/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Every command of the ABI with valid arguments, and where in its structure
 * the flags, reserved fields and handles are: for the tests that do the same
 * to all commands.
 */
#ifndef ABI_CMDS_H
#define ABI_CMDS_H

#include "abi.h"

/* What not every device can do */
enum abi_feature {
	ABI_EVERYWHERE,
	ABI_IB,			/* what InfiniBand has and iWARP has not */
	ABI_XRC,
	ABI_RESIZE_CQ,
	ABI_REREG_MR,
	ABI_MODERATION,
};

/*
 * Why the session's device can not do it, or NULL. By what is known of the devices, not
 * by asking them: one that does not do what it did has to be noticed.
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
	void *page;			/* what the MR covers */
	struct abi_wrs wrs;		/* of the prepared post command */
	__u8 tos;
	int result;			/* of the prepared command */
};

int abi_world_open(struct abi_world *w);
void abi_world_close(struct abi_world *w);

struct abi_command {
	const char *name;
	unsigned long cmd;
	/* Fills in arguments with which the command succeeds. */
	int (*prepare)(struct abi_world *w, void *arg);
	/* Without this it does not, */
	enum abi_feature needs;
	/* but there are arguments, with which it returns -EOPNOTSUPP. */
	bool says_so;
	/* Known bits of flags, and of a second word of flags. */
	__u32 flags;
	__u32 flags2;
	__u16 flags2_at;
	/* The command makes something that must not stay if it fails. */
	bool creates;
	struct {
		__u16 at;
		__u16 len;
	} reserved[4];
	struct {
		__u16 at;
		__u8 type;
		bool optional;		/* 0 is not an error */
	} handles[5];
};

extern const struct abi_command abi_commands[];
extern const unsigned int abi_num_commands;

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
 * if abi_left_out() says why, and for no other reason.
 */
int abi_prepare(struct abi_world *w, const struct abi_command *c,
		union abi_arg *arg);

static inline void abi_arg_flip(union abi_arg *arg, __u32 at, unsigned int bit)
{
	arg->u32[at / 4] ^= 1U << bit;
}

#endif /* ABI_CMDS_H */
