// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writes a line before and after each call of the fuzzer to the file $FUZZ_LOG. With /dev/kmsg
 * they are on the console: the last one names the call that has crashed the guest. It contains the
 * non-zero words of the structure and their offsets, so that the call can be repeated alone.
 */
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "fuzz.h"

#define LINE_LEN	960	/* within the limit of a write to /dev/kmsg */
#define LOG_FD		1000	/* so that other descriptors are the same with and without a log */

static int log_fd = -1;

/* Called before the first round, by root */
void fuzz_log_open(void)
{
	const char *name = getenv("FUZZ_LOG");
	int fd;

	if (!name)
		return;
	fd = open(name, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	log_fd = fcntl(fd, F_DUPFD_CLOEXEC, LOG_FD);
	if (log_fd < 0) {
		printf("Bail out! FUZZ_LOG=%s: %s\n", name, strerror(errno));
		exit(1);
	}
	close(fd);
}

void fuzz_log(const struct fuzz_step *at, const char *format, ...)
{
	char line[LINE_LEN];
	va_list args;
	int len;

	if (log_fd < 0)
		return;
	len = snprintf(line, sizeof(line), "fuzz %llu.%d.%d: ",
		       (unsigned long long)at->seed, at->thread, at->nr);
	va_start(args, format);
	len += vsnprintf(line + len, sizeof(line) - len, format, args);
	va_end(args);
	if (len > (int)sizeof(line) - 1)
		len = sizeof(line) - 1;
	line[len++] = '\n';
	/* One write(), as other threads write, too */
	if (write(log_fd, line, len) != len)
		abort();
}

void fuzz_log_call(const struct fuzz_step *at, const char *name,
		   unsigned long cmd, const uint8_t *arg, uint32_t size)
{
	char words[LINE_LEN];
	uint32_t word;
	int len = 0;

	if (log_fd < 0)
		return;
	words[0] = 0;
	for (uint32_t i = 0; i + 4 <= size && len < (int)sizeof(words) - 20; i += 4) {
		memcpy(&word, arg + i, sizeof(word));
		if (word)
			len += sprintf(words + len, " %u:%x", i, word);
	}
	fuzz_log(at, "%s %#lx%s", name, cmd, words);
}
