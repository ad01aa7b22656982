// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counts the places of the module's code that the fuzzer's calls reach, on a kernel with KCOV.
 * docs/security/fuzzing.md explains why coverage does not guide the fuzzer. The rig counts all
 * places when it has built the module (cover_places() in vm/build.sh), in a file beside this
 * program.
 */
#include <fcntl.h>
#include <linux/kcov.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"

#define KCOV		"/sys/kernel/debug/kcov"
#define COVER_WORDS	(64 << 10)	/* of one call */
#define COVER_BYTES	(4 << 20)	/* maximum size of the code */
#define PLACES		"kcov-places"
#define LAST_FUNCTION	2048		/* maximum length of the last function */

/* A byte for each place that a round has reached; the range of the code */
static uint8_t *seen;
static unsigned long text, text_end;

static void find_text(void)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	char type, line[256], module[64];
	unsigned long at;

	text = ~0UL;
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx %c %*s [%63[^]]", &at, &type,
			   module) != 3 || strcmp(module, "rdma_ep") || (type | 0x20) != 't')
			continue;
		if (at < text)
			text = at;
		if (at + LAST_FUNCTION > text_end)
			text_end = at + LAST_FUNCTION;
	}
	if (f)
		fclose(f);
}

/* Called before the first round, by root */
void fuzz_cover_start(void)
{
	if (access(KCOV, R_OK))
		return;
	find_text();
	if (!text || text >= text_end || text_end - text > COVER_BYTES)
		return;
	seen = mmap(NULL, COVER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (seen == MAP_FAILED)
		seen = NULL;
}

/* A KCOV file for a new thread, or -1 without coverage */
int fuzz_cover_open(void)
{
	int fd;

	if (!seen)
		return -1;
	fd = open(KCOV, O_RDWR | O_CLOEXEC);
	if (fd >= 0 && ioctl(fd, KCOV_INIT_TRACE, COVER_WORDS)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Called in the thread; returns the parameter of the next two functions. */
unsigned long *fuzz_cover_thread(int fd)
{
	unsigned long *cover;

	if (fd < 0)
		return NULL;
	cover = mmap(NULL, COVER_WORDS * sizeof(*cover), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (cover == MAP_FAILED || ioctl(fd, KCOV_ENABLE, KCOV_TRACE_PC))
		return NULL;
	return cover;
}

void fuzz_cover_begin(unsigned long *cover)
{
	if (cover)
		__atomic_store_n(cover, 0, __ATOMIC_RELAXED);
}

void fuzz_cover_end(unsigned long *cover)
{
	unsigned long n, at;

	if (!cover)
		return;
	n = __atomic_load_n(cover, __ATOMIC_RELAXED);
	for (unsigned long i = 1; i <= n; i++) {
		at = cover[i] - text;
		if (at < text_end - text)
			seen[at] = 1;
	}
}

/* The number of all places in the module, or 0 without the rig's file */
static unsigned long nr_places(void)
{
	char path[4096], *name;
	unsigned long n = 0;
	ssize_t len;
	FILE *f;

	len = readlink("/proc/self/exe", path, sizeof(path) - sizeof(PLACES));
	if (len <= 0)
		return 0;
	path[len] = 0;
	name = strrchr(path, '/');
	memcpy(name ? name + 1 : path, PLACES, sizeof(PLACES));
	f = fopen(path, "re");
	if (!f)
		return 0;
	if (fscanf(f, "%lu", &n) != 1)
		n = 0;
	fclose(f);
	return n;
}

void fuzz_cover_report(void)
{
	unsigned long all = nr_places(), i, n = 0;

	if (!seen)
		return;
	for (i = 0; i < text_end - text; i++)
		n += seen[i];
	if (all)
		printf("# %lu of %lu places in the module's code were come by: %lu %%\n",
		       n, all, 100 * n / all);
	else
		printf("# %lu places in the module's code were come by (of ? in all)\n", n);
}
