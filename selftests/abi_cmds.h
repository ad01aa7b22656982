/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Every command of the ABI with valid arguments, and where in its structure
 * the flags, reserved fields and handles are: for the tests that do the same
 * to all commands.
 */
#ifndef ABI_CMDS_H
#define ABI_CMDS_H

#include "abi.h"

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
	bool xrc;			/* the device has it */
};

int abi_world_open(struct abi_world *w);
void abi_world_close(struct abi_world *w);

struct abi_command {
	const char *name;
	unsigned long cmd;
	/*
	 * Fills in arguments with which the command succeeds. -EOPNOTSUPP if
	 * it can not on this device; unless there is none among the usual ones
	 * on which it can: then w->result is what it returns.
	 */
	int (*prepare)(struct abi_world *w, void *arg);
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

/* Valid arguments with their size; see abi_command.prepare. */
int abi_prepare(struct abi_world *w, const struct abi_command *c,
		union abi_arg *arg);

static inline void abi_arg_flip(union abi_arg *arg, __u32 at, unsigned int bit)
{
	arg->u32[at / 4] ^= 1U << bit;
}

#endif /* ABI_CMDS_H */
