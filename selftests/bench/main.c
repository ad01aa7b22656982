// SPDX-License-Identifier: GPL-2.0-only
/*
 * bench [-a ADDRESS] [-d DIVISOR] [NAME...] runs all benchmarks or those named. Each result is a
 * line on stdout, "result NAME KEY=VALUE...": ns per operation, n operations, and p50, p99 and
 * p999 in ns if single operations were timed. It prints "none NAME" if the connections of a
 * benchmark failed in all TRIES attempts.
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "bench.h"

#define TRIES		5
#define SECONDS_LIMIT	600	/* of one benchmark, which takes far less */
#define STATUS_AGAIN	3

/* The buffer of stdout, for all results of a benchmark */
static char output[1 << 16];

struct benchmark {
	const char *name;
	void (*run)(void);
	unsigned int more;	/* runs besides the first; results.py takes the median */
};

static const struct benchmark benchmarks[] = {
	{ "calls", bench_calls },
	{ "create_first", bench_create_first },
	/* Linux purges its freed mappings after each 32 MiB of them, in one of three runs. */
	{ "create", bench_create, .more = 8 },
	{ "cycle", bench_cycle },
	{ "ping_events", bench_ping_events },
	{ "ping_polling", bench_ping_polling },
	{ "ping_beside", bench_ping_beside },
	{ "streams", bench_streams },
	{ "srq_1", bench_srq_1 },
	{ "srq_16", bench_srq_16 },
	{ "srq_256", bench_srq_256 },
	{ "rate_1", bench_rate_1 },
	{ "rate_8", bench_rate_8 },
	{ "share", bench_share },
	{ "idle", bench_idle },
};

/* For strace(1): these have no results, and run only if they are named. */
static const struct benchmark traced[] = { { "start", bench_start }, { "lives", bench_lives } };

struct bench_options bench_options = { .scale = 1 };

void bench_fail(const char *what)
{
	fprintf(stderr, "bench: %s: %s\n", what, strerror(errno));
	exit(1);
}

static unsigned int measured;	/* pairs of bench_begin() and bench_end() */

/* Exits without the buffered results; profile.py skips @measured phases. */
static void __attribute__((noreturn)) give_up(void)
{
	dprintf(STDOUT_FILENO, "again %u\n", measured);
	_exit(STATUS_AGAIN);
}

void bench_again(const char *what)
{
	fprintf(stderr, "bench: %s: %s, again\n", what, strerror(errno));
	give_up();
}

static void too_long(int signal)
{
	static const char text[] = "bench: stalled, again\n";

	if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
		_exit(1);
	give_up();
}

uint64_t bench_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

unsigned int bench_times(unsigned int n, unsigned int min)
{
	n /= bench_options.scale;
	return n > min ? n : min;
}

/* nopl with a displacement that no other code has: see vm/profile.c */
static void mark_begin(void)
{
#ifdef __x86_64__
	asm volatile(".byte 0x0f, 0x1f, 0x80, 0x01, 0x40, 0x9c, 0xbe" ::: "memory");
#endif
}

static void mark_end(void)
{
#ifdef __x86_64__
	asm volatile(".byte 0x0f, 0x1f, 0x80, 0x02, 0x40, 0x9c, 0xbe" ::: "memory");
#endif
}

uint64_t bench_begin(void)
{
	uint64_t now = bench_now();

	mark_begin();
	return now;
}

uint64_t bench_end(uint64_t begin)
{
	mark_end();
	measured++;
	return bench_now() - begin;
}

void bench_trace(const char *what)
{
	access(what, F_OK);
}

void bench_result(const char *name, uint64_t ns, uint64_t n)
{
	printf("result %s ns=%llu n=%llu\n", name,
	       (unsigned long long)((ns + n / 2) / n), (unsigned long long)n);
}

static int compare_ns(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a;
	uint64_t y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

void bench_results(const char *name, uint64_t *ns, size_t n)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < n; i++)
		sum += ns[i];
	qsort(ns, n, sizeof(*ns), compare_ns);
	printf("result %s ns=%llu n=%zu p50=%llu p99=%llu p999=%llu\n", name,
	       (unsigned long long)(sum / n), n, (unsigned long long)ns[n / 2],
	       (unsigned long long)ns[n * 99 / 100], (unsigned long long)ns[n * 999 / 1000]);
}

void bench_value(const char *name, const char *unit, double value)
{
	printf("result %s %s=%.3f\n", name, unit, value);
}

void bench_sum(const char *name, uint64_t ns, uint64_t n)
{
	printf("sum %s ns=%llu n=%llu\n", name,
	       (unsigned long long)((ns + n / 2) / n), (unsigned long long)n);
}

static const struct benchmark *find(const struct benchmark *list, size_t n, const char *name)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (!strcmp(list[i].name, name))
			return &list[i];
	return NULL;
}

/* Saves the mappings of this process for profile.py. */
static void save_maps(void)
{
	const char *path = getenv("BENCH_MAPS");
	FILE *from, *to;
	char line[400];

	if (!path)
		return;
	from = fopen("/proc/self/maps", "r");
	to = fopen(path, "w");
	if (!from || !to)
		bench_fail(path);
	while (fgets(line, sizeof(line), from))
		fputs(line, to);
	fclose(from);
	fclose(to);
}

/* Runs a benchmark in a child, so that its remains do not speed up the next one. */
static int run_once(const struct benchmark *benchmark)
{
	pid_t pid = fork();
	int status;

	if (pid < 0)
		bench_fail("fork");
	if (!pid) {
		signal(SIGALRM, too_long);
		alarm(SECONDS_LIMIT);
		benchmark->run();
		save_maps();
		/* Prints the buffered results. */
		exit(0);
	}
	if (waitpid(pid, &status, 0) != pid)
		bench_fail("waitpid");
	if (WIFEXITED(status) && WEXITSTATUS(status) == STATUS_AGAIN)
		return STATUS_AGAIN;
	if (status) {
		fprintf(stderr, "bench: %s ended with status %#x\n", benchmark->name, status);
		return 1;
	}
	return 0;
}

static int run_with_tries(const struct benchmark *benchmark)
{
	int i, ret = STATUS_AGAIN;

	for (i = 0; i < TRIES && ret == STATUS_AGAIN; i++)
		ret = run_once(benchmark);
	return ret;
}

static int run(const struct benchmark *benchmark)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; i <= benchmark->more && !ret; i++)
		ret = run_with_tries(benchmark);
	/* The benchmark does not work on this stack; continue with the others. */
	if (ret == STATUS_AGAIN) {
		printf("none %s\n", benchmark->name);
		fflush(stdout);
		ret = 0;
	}
	return ret;
}

int main(int argc, char **argv)
{
	size_t i;
	int c;

	setvbuf(stdout, output, _IOFBF, sizeof(output));
	bench_options.addr = getenv("RDMA_ADDR");
	while ((c = getopt(argc, argv, "a:d:")) != -1) {
		switch (c) {
		case 'a':
			bench_options.addr = optarg;
			break;
		case 'd':
			bench_options.scale = atoi(optarg);
			break;
		default:
			return 2;
		}
	}
	if (!bench_options.addr || !bench_options.scale) {
		fprintf(stderr, "usage: bench -a ADDRESS [-d DIVISOR] [NAME...]\n");
		return 2;
	}
	argv += optind;
	for (i = 0; !*argv && i < ARRAY_SIZE(benchmarks); i++)
		if (run(&benchmarks[i]))
			return 1;
	for (; *argv; argv++) {
		const struct benchmark *one;

		one = find(traced, ARRAY_SIZE(traced), *argv);
		if (one) {
			one->run();
			continue;
		}
		one = find(benchmarks, ARRAY_SIZE(benchmarks), *argv);
		if (!one) {
			fprintf(stderr, "bench: no benchmark %s\n", *argv);
			return 2;
		}
		if (run(one))
			return 1;
	}
	return 0;
}
