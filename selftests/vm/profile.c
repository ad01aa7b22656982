// SPDX-License-Identifier: GPL-2.0-only
/*
 * A plugin of QEMU, which counts how often the guest executes each block of code between the
 * marks in selftests/bench (bench_begin(), bench_end()). It neither disturbs the guest nor
 * samples: the numbers are exact.
 *
 * -plugin profile.so,out=FILE: FILE gets a block for each pair of marks,
 *
 *	phase N
 *	ADDRESS INSTRUCTIONS
 *
 * with the addresses of translated blocks (hexadecimal), and the number of instructions
 * executed in them, for profile.py, which maps addresses to functions.
 *
 * Debian has no header for plugins. All versions of QEMU from 4.2 on have the declarations
 * below, except where noted; the rig probes for the version to declare. There is one virtual
 * CPU in one thread, so no locks are needed.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef PLUGIN_API
#define PLUGIN_API	1
#endif

typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;

struct qemu_info {
	const char *target_name;
	struct {
		int min;
		int cur;
	} version;
};

typedef void (*tb_trans_cb)(qemu_plugin_id_t id, struct qemu_plugin_tb *tb);
typedef void (*exec_cb)(unsigned int vcpu, void *data);

enum { NO_REGISTERS };

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, tb_trans_cb cb);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb, exec_cb cb,
					  int flags, void *data);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
					    exec_cb cb, int flags, void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb,
						 size_t i);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
/* Returns the bytes up to version 2, copies them in later versions. */
uintptr_t qemu_plugin_insn_data(const struct qemu_plugin_insn *insn, void *to,
				size_t n);

__attribute__((visibility("default"))) int qemu_plugin_version = PLUGIN_API;

/* nopl 0xbe9c400N(%rax): see selftests/bench/main.c */
#define MARK_SIZE	7
static const uint8_t mark_code[MARK_SIZE] = { 0x0f, 0x1f, 0x80, 0, 0x40, 0x9c, 0xbe };

enum { MARK_BEGIN = 1, MARK_END };

/**
 * struct block - translated code
 * @next: in the list of all
 * @address: virtual
 * @insns: instructions in it
 * @times: executed since the mark
 */
struct block {
	struct block *next;
	uint64_t address;
	uint64_t insns;
	uint64_t times;
};

#define BUCKETS	(1 << 16)

static struct block *blocks[BUCKETS];
static unsigned int phases;
static bool on;
static bool copies_data;
static FILE *out;

/* QEMU translates code repeatedly: use one block for each address and length. */
static struct block *find_block(uint64_t address, uint64_t insns)
{
	struct block **bucket = &blocks[(address ^ address >> 16) % BUCKETS];
	struct block *block;

	for (block = *bucket; block; block = block->next)
		if (block->address == address && block->insns == insns)
			return block;
	block = calloc(1, sizeof(*block));
	if (!block)
		abort();
	block->address = address;
	block->insns = insns;
	block->next = *bucket;
	*bucket = block;
	return block;
}

static void executed(unsigned int vcpu, void *data)
{
	struct block *block = data;

	block->times += on;
}

static void begin(unsigned int vcpu, void *data)
{
	struct block *block;
	int i;

	for (i = 0; i < BUCKETS; i++)
		for (block = blocks[i]; block; block = block->next)
			block->times = 0;
	on = true;
}

static void end(unsigned int vcpu, void *data)
{
	struct block *block;
	int i;

	on = false;
	fprintf(out, "phase %u\n", phases++);
	for (i = 0; i < BUCKETS; i++)
		for (block = blocks[i]; block; block = block->next)
			if (block->times)
				fprintf(out, "%" PRIx64 " %" PRIu64 "\n",
					block->address,
					block->times * block->insns);
	fflush(out);
}

/* Returns 0 if it is not a mark. */
static int which_mark(const struct qemu_plugin_insn *insn)
{
	uint8_t bytes[16], which;

	if (qemu_plugin_insn_size(insn) != MARK_SIZE)
		return 0;
	if (copies_data)
		qemu_plugin_insn_data(insn, bytes, MARK_SIZE);
	else
		memcpy(bytes, (void *)qemu_plugin_insn_data(insn, NULL, 0),
		       MARK_SIZE);
	which = bytes[3];
	bytes[3] = 0;
	return memcmp(bytes, mark_code, MARK_SIZE) ? 0 : which;
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	size_t n = qemu_plugin_tb_n_insns(tb), i;
	struct qemu_plugin_insn *insn;

	qemu_plugin_register_vcpu_tb_exec_cb(tb, executed, NO_REGISTERS,
			find_block(qemu_plugin_tb_vaddr(tb), n));
	for (i = 0; i < n; i++) {
		insn = qemu_plugin_tb_get_insn(tb, i);
		switch (which_mark(insn)) {
		case MARK_BEGIN:
			qemu_plugin_register_vcpu_insn_exec_cb(insn, begin,
							       NO_REGISTERS, NULL);
			break;
		case MARK_END:
			qemu_plugin_register_vcpu_insn_exec_cb(insn, end,
							       NO_REGISTERS, NULL);
			break;
		}
	}
}

__attribute__((visibility("default")))
int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info,
			int argc, char **argv)
{
	if (argc != 1 || strncmp(argv[0], "out=", 4))
		return -1;
	out = fopen(argv[0] + 4, "w");
	if (!out)
		return -1;
	copies_data = info->version.cur >= 3;
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	return 0;
}
