/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The fuzzer: what a command's structure consists of, and what is known of the
 * objects that there are.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "abi_cmds.h"

#define FUZZ_POOL	8
#define FUZZ_ROLE_POOL	2
#define FUZZ_MEM	(256 * 1024)	/* what work requests use */

/**
 * struct fuzz_session - a session and what came out of it, shared by its threads
 * @s: session
 * @handles: that were good once, by type; type 0 is any
 * @roles: handles of objects in a certain state
 * @qp_nums: numbers of QPs
 * @fds: the same for files
 * @keys: local and remote keys
 * @mem: memory for work requests
 * @out: memory for results
 * @readonly: page that can not be written
 * @rings: where the rings are mapped, most of the time
 */
struct fuzz_session {
	struct abi s;
	volatile uint32_t handles[ABI_OBJ_LAST + 1][FUZZ_POOL];
	volatile uint32_t roles[NR_ROLES][FUZZ_ROLE_POOL];
	volatile uint32_t qp_nums[FUZZ_POOL];
	volatile int fds[NR_FDS][FUZZ_POOL];
	volatile uint32_t keys[FUZZ_POOL];
	uint8_t *mem;
	uint8_t *out;
	uint8_t *readonly;
	uint8_t *rings;
};

/* A stream of random numbers that begins with a seed. */
struct fuzz_random {
	uint64_t state;
};

static inline uint64_t fuzz_next(struct fuzz_random *r)
{
	/* xorshift64* */
	r->state ^= r->state >> 12;
	r->state ^= r->state << 25;
	r->state ^= r->state >> 27;
	return r->state * 0x2545f4914f6cdd1dULL;
}

/* 0 .. n - 1 */
static inline uint32_t fuzz_below(struct fuzz_random *r, uint32_t n)
{
	return (fuzz_next(r) >> 33) % n;
}

static inline bool fuzz_chance(struct fuzz_random *r, uint32_t percent)
{
	return fuzz_below(r, 100) < percent;
}

/* Where in a round: one of a thread's calls */
struct fuzz_step {
	uint64_t seed;
	int thread;
	int nr;
};

/* A round that went wrong once, and what it was */
struct fuzz_known {
	uint64_t seed;
	const char *why;	/* NULL: no more of them */
};

/**
 * struct fuzz_device - what is fuzzed
 * @corpus: rounds that each test begins with
 * @begin: before each round, by root: 0 or -errno. This and all below may be NULL
 * @furnish: in the round: what a session begins with, besides a connection
 * @disturb: called all the time while the round goes on, by root
 * @end: after each round, by root: what is wrong, or NULL
 */
struct fuzz_device {
	const struct fuzz_known *corpus;
	int (*begin)(void);
	int (*furnish)(struct fuzz_session *fs);
	void (*disturb)(struct fuzz_random *r);
	const char *(*end)(void);
};

/* The program, see fuzz_run.c. */
int fuzz_main(int argc, char **argv, const struct fuzz_device *dev);
/* Fills in a structure of the command; returns the ioctl number to use. */
unsigned long fuzz_fill(struct fuzz_session *fs, struct fuzz_random *r,
			const struct abi_command *c, uint8_t *arg);
/* Calls and their results, in the file FUZZ_LOG if there is one. */
void fuzz_log_open(void);
void __attribute__((format(printf, 2, 3)))
fuzz_log(const struct fuzz_step *at, const char *format, ...);
void fuzz_log_call(const struct fuzz_step *at, const char *name,
		   unsigned long cmd, const uint8_t *arg, uint32_t size);
/* Rings: where they will be; and something that a user does to that memory. */
uint8_t *fuzz_map_rings(int fd);
void fuzz_ring(struct fuzz_session *fs, struct fuzz_random *r);
/* Coverage, where the kernel can tell. */
void fuzz_cover_start(void);
int fuzz_cover_open(void);
unsigned long *fuzz_cover_thread(int fd);
void fuzz_cover_begin(unsigned long *cover);
void fuzz_cover_end(unsigned long *cover);
void fuzz_cover_report(void);
/* Brings something into that state: false if that was in vain. */
bool fuzz_prepare(struct fuzz_session *fs, struct fuzz_random *r, enum abi_role role);
/* Most files that are read from are O_NONBLOCK. */
void fuzz_no_wait(struct fuzz_random *r, int fd);
/* Remembers what a successful command has made. */
void fuzz_learn(struct fuzz_session *fs, struct fuzz_random *r,
		const struct abi_command *c, const uint8_t *arg);

#endif /* FUZZ_H */
