// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fuzzes the ioctl commands, whose structures it has in tables. Each round is a process with a
 * seed: it opens sessions, its threads call commands with mostly plausible values, and it exits or
 * is killed in the middle. No object of it may remain, and a connection must work after the
 * last round.
 *
 *	NAME				a test, for FUZZ_SECONDS (15), or up to twelve
 *					times that until each command has succeeded
 *	NAME SECONDS [SEED]		this long, by hand
 *	NAME 0 SEED			the round of this seed only
 *
 * The seed of each round is printed before it begins, so that the log of a crashed guest
 * contains it. In the environment:
 *
 *	FUZZ_ROUNDS=N	this number of rounds, independent of the time; "NAME 0 SEED" continues
 *			with the seeds after this one
 *	FUZZ_THREADS=1	rounds of one thread, which are not killed: a seed repeats the same
 *			calls (apart from the timing of peers and the CM)
 *	FUZZ_LOG=FILE	log of each call, its arguments and its result, see fuzz_log.c
 *
 * docs/security/fuzzing.md describes runs of several hours.
 */
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "abi_cmds.h"
#include "fuzz.h"

#define ROUND_OPS	400	/* commands of a thread */
#define ROUND_ROLES	6	/* preparations of a thread, which are slow */
/* Time limit of a round */
#define ROUND_SECONDS	(60 * TEST_SCALE)
/* Additional limit for closing its sessions: drivers and the CM may wait for a peer. */
#define CLOSE_SECONDS	(20 * TEST_SCALE)
#define THREADS		4
#define SESSIONS	2
#define PATIENCE	12	/* factor of the time until each command has succeeded */
#define NUDGE_AFTER	3	/* calls of nudge() for a thread without progress */
/* Consecutive checks of settle() that find no unaccepted connection */
#define SETTLED		3
#define MAX_ARG		4096

/* Calls and successes by command, in all rounds */
struct stats {
	uint32_t calls[64];
	uint32_t good[64];
	bool furnished;		/* the round's sessions are open */
};

static struct stats *stats;
static const struct fuzz_device *device;

struct task {
	pthread_t thread;
	struct fuzz_session *fs;
	struct fuzz_step at;
	int seen;		/* at.nr at the last nudge() */
	int waits;		/* calls of nudge() since it changed */
	uint64_t seed;		/* of the thread's random numbers */
	struct fuzz_random random;
	int cover;
};

static uint8_t *map(size_t len, int prot)
{
	uint8_t *p = mmap(NULL, len + 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	/* The page behind it stays inaccessible. */
	if (p == MAP_FAILED || mprotect(p, len, prot))
		abort();
	return p;
}

static int pick(struct fuzz_random *r)
{
	uint32_t i, n, sum = 0;

	for (i = 0; i < abi_num_commands; i++)
		sum += abi_commands[i].weight;
	n = fuzz_below(r, sum);
	for (i = 0; n >= abi_commands[i].weight; i++)
		n -= abi_commands[i].weight;
	return i;
}

/*
 * Restarts the random numbers for a step: the result of a call influences how many of them its
 * step takes.
 */
static void draw_again(struct task *t, int nr)
{
	/* splitmix64 */
	uint64_t x = t->seed + (nr + 1) * 0x9e3779b97f4a7c15ULL;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	t->random.state = (x ^ x >> 31) | 1;
}

/* Does a TCP connection of the namespace wait for its handshake or accept? */
static bool unaccepted(const char *sockets)
{
	FILE *f = fopen(sockets, "re");
	unsigned int state, queued;
	bool found = false;
	char line[256];

	/* The round may have reached its limit of files. */
	if (!f)
		return true;
	while (!found && fgets(line, sizeof(line), f))
		if (sscanf(line, "%*d: %*s %*s %x %*x:%x", &state, &queued) == 2)
			found = state == TCP_SYN_RECV || (state == TCP_LISTEN && queued);
	fclose(f);
	return found;
}

/*
 * siw does not survive connections that end before its worker has accepted them (SIW-01). So a
 * round over iWARP has one thread, is not killed, and waits here after each connection. The wait
 * has a limit, as siw never accepts connections for which it has no memory.
 */
static void settle(void)
{
	long end = abi_now_ms() + 2000 * TEST_SCALE;
	int quiet = 0;

	while (quiet < SETTLED && abi_now_ms() < end) {
		quiet = unaccepted("/proc/net/tcp") || unaccepted("/proc/net/tcp6") ? 0 : quiet + 1;
		usleep(3000);
	}
}

/* Reads or closes a file, discards or protects a page of memory. */
static void something_else(struct task *t)
{
	struct fuzz_session *fs = t->fs;
	struct fuzz_random *r = &t->random;
	uint32_t kind = fuzz_below(r, NR_FDS);
	uint32_t slot = fuzz_below(r, FUZZ_POOL);
	struct rdma_ep_channel_event ev;
	int fd = fs->fds[kind][slot];
	uint32_t page_nr = fuzz_below(r, FUZZ_MEM / 4096);
	uint8_t *page = fs->mem + page_nr * 4096;
	uint32_t what = fuzz_below(r, 12);
	ssize_t len;

	fuzz_log(&t->at, "%s, page %u, file %d", what == 0 ? "drop" : what == 1 ? "read-only" :
		 what == 2 ? "writable" : what == 3 ? "close" : "read", page_nr, fd);
	switch (what) {
	case 0:
		madvise(page, 4096, MADV_DONTNEED);
		break;
	case 1:
		mprotect(page, 4096, PROT_READ);
		break;
	case 2:
		mprotect(page, 4096, PROT_READ | PROT_WRITE);
		break;
	case 3:
		fs->fds[kind][slot] = -1;
		if (fd > 2)
			close(fd);
		break;
	default:
		if (fd <= 2)
			break;
		/* Another thread may take the event, or replace the file, before read(). */
		fcntl(fd, F_SETFL, O_NONBLOCK);
		if (!abi_ready(fd, 0))
			break;
		len = read(fd, &ev, fuzz_chance(r, 90) ? sizeof(ev) : fuzz_below(r, sizeof(ev)));
		fuzz_log(&t->at, "= %zd", len);
		if (len != sizeof(ev))
			break;
		if (ev.event == EV_CONNECT_REQUEST)
			fs->handles[RDMA_EP_OBJ_ID][fuzz_below(r, FUZZ_POOL)] = ev.child;
	}
}

static void *fuzz_thread(void *p)
{
	struct task *t = p;
	/* The structure ends at the end of the accessible memory. */
	uint8_t *page = map(MAX_ARG, PROT_READ | PROT_WRITE), *arg;
	const struct abi_command *c;
	unsigned long *cover = fuzz_cover_thread(t->cover);
	unsigned long cmd;
	int i, ret, roles = 0;
	bool good;

	for (int nr = 0; nr < ROUND_OPS; nr++) {
		draw_again(t, nr);
		__atomic_store_n(&t->at.nr, nr, __ATOMIC_RELAXED);
		if (fuzz_chance(&t->random, 15)) {
			something_else(t);
			continue;
		}
		if (fuzz_chance(&t->random, 10))
			fuzz_ring(t->fs, &t->random);
		i = pick(&t->random);
		c = &abi_commands[i];
		/* A failed preparation counts three times: it is slow, and likely to fail again. */
		if (c->role && fuzz_chance(&t->random, 20) && roles++ < ROUND_ROLES) {
			fuzz_log(&t->at, "prepare for %s", c->name);
			good = fuzz_prepare(t->fs, &t->random, c->role);
			if (t->fs->s.iwarp)
				settle();
			fuzz_log(&t->at, "= %s", good ? "done" : "in vain");
			roles += good ? 0 : 2;
			/* The preparation has taken an unknown number of random values. */
			draw_again(t, ROUND_OPS + nr);
		}
		arg = page + MAX_ARG - _IOC_SIZE(c->cmd);
		cmd = fuzz_fill(t->fs, &t->random, c, arg);
		__atomic_add_fetch(&stats->calls[i], 1, __ATOMIC_RELAXED);
		fuzz_log_call(&t->at, c->name, cmd, arg, _IOC_SIZE(c->cmd));
		fuzz_cover_begin(cover);
		ret = ioctl(t->fs->s.fd, cmd, arg);
		fuzz_cover_end(cover);
		fuzz_log(&t->at, "= %d", ret ? -errno : 0);
		if (c->cmd == RDMA_EP_IOC_CONNECT && t->fs->s.iwarp)
			settle();
		if (ret)
			continue;
		__atomic_add_fetch(&stats->good[i], 1, __ATOMIC_RELAXED);
		fuzz_learn(t->fs, &t->random, c, arg);
	}
	munmap(page, MAX_ARG + 4096);
	return NULL;
}

/* Gives a new session a connection and a memory region. */
static int furnish(struct fuzz_session *fs, bool rings)
{
	struct abi_pair pair = { .max_wr = 64, .rings = rings };
	struct rdma_ep_cmd_reg_mr mr;
	int ret;

	ret = abi_pair_open(&fs->s, &pair) ?:
	      abi_reg_mr(&fs->s, fs->s.pd, fs->mem, FUZZ_MEM / 4, AC_ALL, &mr);
	if (ret)
		return ret;
	fs->handles[RDMA_EP_OBJ_ID][7] = pair.listener;
	fs->handles[RDMA_EP_OBJ_MR][0] = mr.mr;
	for (int i = 0; i < FUZZ_POOL; i++)
		fs->keys[i] = i & 1 ? mr.rkey : mr.lkey;
	for (int i = 0; i < 2; i++) {
		fs->handles[RDMA_EP_OBJ_ID][i] = pair.end[i].id;
		fs->handles[RDMA_EP_OBJ_QP][i] = pair.end[i].qp.qp;
		fs->roles[ROLE_CONNECTED][i] = pair.end[i].qp.qp;
		fs->qp_nums[i] = pair.end[i].qp.qp_num;
		fs->handles[RDMA_EP_OBJ_CQ][2 * i] = pair.end[i].cq[0];
		fs->handles[RDMA_EP_OBJ_CQ][2 * i + 1] = pair.end[i].cq[1];
		fs->fds[FD_CHANNEL][i] = pair.end[i].channel;
	}
	return device->furnish ? device->furnish(fs) : 0;
}

static int open_session(struct fuzz_session *fs, bool rings)
{
	int ret;

	for (uint32_t kind = 0; kind < NR_FDS; kind++)
		for (uint32_t i = 0; i < FUZZ_POOL; i++)
			fs->fds[kind][i] = -1;
	ret = abi_open(&fs->s);
	if (ret)
		return ret;
	fs->mem = map(FUZZ_MEM, PROT_READ | PROT_WRITE);
	fs->out = map(FUZZ_MEM, PROT_READ | PROT_WRITE);
	fs->readonly = map(4096, PROT_READ);
	for (uint32_t i = 0; i < 4; i++) {
		fs->handles[RDMA_EP_OBJ_CTX][i] = fs->s.ctx;
		fs->handles[RDMA_EP_OBJ_PD][i] = fs->s.pd;
		for (uint32_t kind = 0; kind < FD_ASYNC; kind++)
			fs->fds[kind][i] = kind == FD_CHANNEL ?
				abi_channel(&fs->s) : abi_comp_channel(&fs->s);
	}
	fs->rings = fuzz_map_rings(fs->s.fd);
	return fs->rings ? furnish(fs, rings) : -ENOMEM;
}

/*
 * Interrupts a task that has begun no step for some time. An interrupt of others would end
 * connections over siw early, see settle().
 */
static void nudge(struct task *t)
{
	int nr = __atomic_load_n(&t->at.nr, __ATOMIC_RELAXED);

	t->waits = nr == t->seen ? t->waits + 1 : 0;
	t->seen = nr;
	if (t->waits >= NUDGE_AFTER)
		pthread_kill(t->thread, SIGALRM);
}

/* Joins the threads. run_round() kills the round if nudge() does not end one. */
static void join(struct task *tasks, int nr)
{
	struct timespec t;

	for (int i = 0; i < nr; i++)
		for (;;) {
			clock_gettime(CLOCK_REALTIME, &t);
			t.tv_sec += TEST_SCALE;
			if (!pthread_timedjoin_np(tasks[i].thread, NULL, &t))
				break;
			for (int j = i; j < nr; j++)
				nudge(&tasks[j]);
		}
}

static long number(const char *name, long otherwise)
{
	const char *env = getenv(name);

	return env ? atol(env) : otherwise;
}

static void fuzz_round(uint64_t seed)
{
	static struct fuzz_session sessions[SESSIONS];
	struct fuzz_random r = { .state = seed * 2 + 1 };
	struct rlimit files = { 400, 400 };
	struct task tasks[THREADS] = { 0 };
	int i, nr = fuzz_chance(&r, 50) ? 1 : THREADS;

	nr = number("FUZZ_THREADS", nr);
	if (nr < 1 || nr > THREADS)
		_exit(4);

	setrlimit(RLIMIT_NOFILE, &files);
	/* Install the handler of SIGALRM only, for nudge(). */
	abi_alarm(0);
	for (i = 0; i < nr; i++)
		tasks[i].cover = fuzz_cover_open();
	/* Most rounds run without root's rights. */
	if (fuzz_chance(&r, 80) && abi_become_nobody())
		_exit(2);
	for (i = 0; i < SESSIONS; i++)
		if (open_session(&sessions[i], fuzz_chance(&r, 50)))
			_exit(3);
	/* In some rounds tasks use the handles and keys of session 1 on session 0. */
	sessions[1].s.fd = fuzz_chance(&r, 10) ? sessions[0].s.fd : sessions[1].s.fd;
	if (sessions[0].s.iwarp)
		nr = 1;
	stats->furnished = true;
	for (i = 0; i < nr; i++) {
		tasks[i].fs = &sessions[i % SESSIONS];
		tasks[i].at = (struct fuzz_step){ .seed = seed, .thread = i };
		tasks[i].seed = fuzz_next(&r);
		if (pthread_create(&tasks[i].thread, NULL, fuzz_thread, &tasks[i]))
			_exit(5);
	}
	if (nr > 1 && fuzz_chance(&r, 40)) {
		usleep(fuzz_below(&r, 400000));
		kill(getpid(), SIGKILL);
	}
	join(tasks, nr);
	_exit(0);
}

static int device_begin(void)
{
	return device->begin ? device->begin() : 0;
}

static const char *device_end(void)
{
	return device->end ? device->end() : NULL;
}

static const char *run_round(uint64_t seed)
{
	static char why[80];
	struct fuzz_random r = { .state = seed * 2 + 1 };
	long begin = abi_now_ms();
	long end = begin + (ROUND_SECONDS + CLOSE_SECONDS) * 1000;
	int status;
	pid_t pid;

	printf("# seed %llu\n", (unsigned long long)seed);
	fflush(stdout);
	stats->furnished = false;
	pid = fork();
	if (!pid)
		fuzz_round(seed);
	while (waitpid(pid, &status, WNOHANG) == 0) {
		if (abi_now_ms() > end) {
			kill(pid, SIGKILL);
			return "a round does not end";
		}
		if (device->disturb && stats->furnished)
			device->disturb(&r);
		usleep(2000);
	}
	if (abi_now_ms() - begin > 5000)
		printf("# that took %ld ms\n", abi_now_ms() - begin);
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		return NULL;
	if (!WIFSIGNALED(status) && !WEXITSTATUS(status))
		return NULL;
	snprintf(why, sizeof(why), "a round ends with wait status %#x", status);
	return why;
}

static const char *sane(struct abi *s)
{
	static struct abi_pair pair;
	int ret;

	memset(&pair, 0, sizeof(pair));
	ret = device_begin() ?: abi_open(s) ?: abi_pair_open(s, &pair);
	abi_close(s);
	device_end();
	return ret ? "no connection can be made any more" : NULL;
}

static const char *impossible(const struct abi_command *c, const struct abi *s)
{
	return abi_missing(s, c->needs);
}

/* The number of commands that could succeed, but never did */
static int nr_never(const struct abi *s)
{
	int never = 0;

	for (int i = 0; i < abi_num_commands; i++)
		never += !stats->good[i] && !impossible(&abi_commands[i], s);
	return never;
}

static void print_stats(const struct abi *s)
{
	const char *why;

	for (int i = 0; i < abi_num_commands; i++) {
		why = impossible(&abi_commands[i], s);
		printf("# %-20s %7u calls, %6u succeeded%s%s\n",
		       abi_commands[i].name, stats->calls[i], stats->good[i],
		       why ? ": " : "", why ?: "");
	}
}

static void result(int nr, const char *name, const char *failure)
{
	printf("%s %d %s\n", failure ? "not ok" : "ok", nr, name);
	if (failure)
		printf("# %s\n", failure);
	fflush(stdout);
}

/* @left: the message about remaining objects, or NULL */
static const char *whole_round(uint64_t seed, const struct abi_objects *before, const char **left)
{
	const char *failure;

	if (device_begin())
		return "there is no device";
	failure = run_round(seed);
	*left = device_end();
	if (!failure && !*left && before && abi_objects_wait(before))
		*left = "objects are left";
	return failure;
}

int fuzz_main(int argc, char **argv, const struct fuzz_device *dev)
{
	long seconds = argc > 1 ? atol(argv[1]) : number("FUZZ_SECONDS", 15 * TEST_SCALE);
	long wanted = number("FUZZ_ROUNDS", 0);
	/* A test always begins with the same seed. */
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : argc > 1 ? time(NULL) : 1000;
	const char *failure = NULL, *left = NULL, *broken;
	/* On a slow guest some commands succeed late. */
	long patience = argc > 1 ? 1 : PATIENCE, end, late, now;
	const struct fuzz_known *known = argc > 2 ? NULL : dev->corpus;
	struct abi_objects before;
	bool counted;
	int rounds = 0, never;
	struct abi s;

	device = dev;
	stats = mmap(NULL, sizeof(*stats), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	counted = !abi_objects(&before);
	/* nr_never() and print_stats() need the properties of the device. */
	if (device_begin() || abi_open(&s)) {
		printf("Bail out! no session\n");
		return 1;
	}
	abi_close(&s);
	device_end();
	fuzz_cover_start();
	fuzz_log_open();
	printf("TAP version 13\n1..4\n");
	end = abi_now_ms() + seconds * 1000;
	late = end + (patience - 1) * seconds * 1000;
	do {
		if (known && known->why)
			printf("# again: %s\n", known->why);
		failure = whole_round(known && known->why ? known++->seed : seed++,
				      counted ? &before : NULL, &left);
		rounds++;
		now = abi_now_ms();
	} while (!failure && !left && (wanted ? rounds < wanted :
				       now < end || (now < late && nr_never(&s))));
	printf("# %d rounds in %ld ms\n", rounds, abi_now_ms() - end + seconds * 1000);
	fuzz_cover_report();
	broken = sane(&s);
	print_stats(&s);
	/* A fixed number of rounds may be too few for all commands. */
	never = seconds && !wanted ? nr_never(&s) : 0;

	result(1, "rounds end", failure);
	result(2, "nothing is left", left);
	result(3, "every command succeeds at times", never ? "some never do" : NULL);
	result(4, "connections can be made afterwards", broken);
	return failure || left || broken || never;
}
