// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fault injection: Documentation/fault-injection of the kernel, "fail-nth".
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "abi_fail.h"

#define DEBUGFS	"/sys/kernel/debug/"

static int nth_fd = -1;

/*
 * Nearly all allocations may sleep, and by default these do not fail. fail_usercopy has no such
 * filters.
 */
static const struct {
	const char *file;
	const char *value;
	const char *usual;
} settings[] = {
	{ DEBUGFS "failslab/ignore-gfp-wait", "N", "Y" },
	{ DEBUGFS "fail_page_alloc/ignore-gfp-wait", "N", "Y" },
	{ DEBUGFS "fail_page_alloc/ignore-gfp-highmem", "N", "Y" },
	{ DEBUGFS "fail_page_alloc/min-order", "0", "1" },
};

#define NR_SETTINGS	(sizeof(settings) / sizeof(settings[0]))

/*
 * Exempts the memory of kmemleak's records, for which it has a reserve. If the kernel has no
 * function of this name, these allocations fail as well, and the calls succeed.
 */
static void spare_kmemleak(void)
{
	unsigned long start = 0, end = ~0UL, addr;
	FILE *f = fopen("/proc/kallsyms", "re");
	char name[128], text[32];

	while (f && fscanf(f, "%lx %*c %127s%*[^\n]", &addr, name) == 2)
		if (!strcmp(name, "__alloc_object"))
			start = addr;
	if (f)
		rewind(f);
	while (f && start && fscanf(f, "%lx %*c %*s%*[^\n]", &addr) == 1)
		if (addr > start && addr < end)
			end = addr;
	if (f)
		fclose(f);
	if (!start)
		return;
	snprintf(text, sizeof(text), "0x%lx", start);
	abi_put(DEBUGFS "failslab/reject-start", text);
	snprintf(text, sizeof(text), "0x%lx", end);
	abi_put(DEBUGFS "failslab/reject-end", text);
	abi_put(DEBUGFS "failslab/stacktrace-depth", "16");
}

int nth_setup(void)
{
	int ret;

	nth_fd = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	if (nth_fd < 0)
		return -ENOENT;
	for (unsigned int i = 0; i < NR_SETTINGS; i++) {
		ret = abi_put(settings[i].file, settings[i].value);
		if (ret) {
			fprintf(stderr, "# %s: %s\n", settings[i].file, strerror(-ret));
			return ret;
		}
	}
	spare_kmemleak();
	return access(DEBUGFS "fail_usercopy", F_OK) ? -ENODEV : 0;
}

void nth_restore(void)
{
	for (unsigned int i = 0; i < NR_SETTINGS; i++)
		abi_put(settings[i].file, settings[i].usual);
	abi_put(DEBUGFS "failslab/stacktrace-depth", "0");
	abi_put(DEBUGFS "failslab/reject-start", "0");
	abi_put(DEBUGFS "failslab/reject-end", "0");
	close(nth_fd);
}

int nth_arm(unsigned int nth)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", nth);

	return pwrite(nth_fd, text, len, 0) == len ? 0 : -errno;
}

/*
 * The counter reads as the number of calls that are left; 0 is an injected failure. Reading and
 * writing it are copies as well, and may fail instead of the call.
 */
bool nth_disarm(void)
{
	char text[16] = {};
	bool hit = pread(nth_fd, text, sizeof(text) - 1, 0) > 0 && !strcmp(text, "0\n");

	while (pwrite(nth_fd, "0", 1, 0) != 1)
		;
	return hit;
}
