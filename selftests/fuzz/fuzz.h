/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The fuzzer: its random numbers, the objects that its commands have created, and the functions of
 * its files.
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
#define FUZZ_MEM	(256 * 1024)	/* bytes of @mem and @out */

/**
 * struct fuzz_session - a session and results of its commands, shared by its threads
 * @s: session
 * @handles: handles that commands have returned, by type of object
 * @roles: handles of objects in a certain state
 * @qp_nums: numbers of QPs
 * @fds: descriptors, by enum abi_fd
 * @keys: local and remote keys
 * @mem: memory for SGEs and regions
 * @out: memory for lists of work requests, and for results
 * @readonly: read-only page
 * @rings: address of the rings' mapping, which may be missing for a while
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

/* The place in a round: call @nr of a thread */
struct fuzz_step {
	uint64_t seed;
	int thread;
	int nr;
};

/* A round that tests repeat, and the reason */
struct fuzz_known {
	uint64_t seed;
	const char *why;	/* NULL: end of the list */
};

/**
 * struct fuzz_device - the device under test
 * @corpus: rounds with which each test begins
 * @begin: called before each round; returns 0 or -errno
 * @furnish: adds objects to a new session, besides a connection
 * @disturb: called repeatedly during the round
 * @end: called after each round; returns an error message, or NULL
 *
 * All members may be NULL. @furnish runs in the round's process, the others run as root.
 */
struct fuzz_device {
	const struct fuzz_known *corpus;
	int (*begin)(void);
	int (*furnish)(struct fuzz_session *fs);
	void (*disturb)(struct fuzz_random *r);
	const char *(*end)(void);
};

int fuzz_main(int argc, char **argv, const struct fuzz_device *dev);
/* Fills in a structure of the command; returns an ioctl number. */
unsigned long fuzz_fill(struct fuzz_session *fs, struct fuzz_random *r,
			const struct abi_command *c, uint8_t *arg);
/* Log of calls and results, in the file $FUZZ_LOG */
void fuzz_log_open(void);
void __attribute__((format(printf, 2, 3)))
fuzz_log(const struct fuzz_step *at, const char *format, ...);
void fuzz_log_call(const struct fuzz_step *at, const char *name,
		   unsigned long cmd, const uint8_t *arg, uint32_t size);
/* Maps the rings; writes into, maps or unmaps them. */
uint8_t *fuzz_map_rings(int fd);
void fuzz_ring(struct fuzz_session *fs, struct fuzz_random *r);
/* Coverage, on a kernel with KCOV */
void fuzz_cover_start(void);
int fuzz_cover_open(void);
unsigned long *fuzz_cover_thread(int fd);
void fuzz_cover_begin(unsigned long *cover);
void fuzz_cover_end(unsigned long *cover);
void fuzz_cover_report(void);
/* Brings an object into this state; returns false on failure. */
bool fuzz_prepare(struct fuzz_session *fs, struct fuzz_random *r, enum abi_role role);
void fuzz_no_wait(struct fuzz_random *r, int fd);
/* Stores the handles, files, numbers and keys that a successful command has returned. */
void fuzz_learn(struct fuzz_session *fs, struct fuzz_random *r,
		const struct abi_command *c, const uint8_t *arg);

#endif /* FUZZ_H */
