// SPDX-License-Identifier: BSD-2-Clause
/* rdma-ep(1) */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool.h"

static const struct {
	const char *name;
	int (*fn)(int argc, char **argv);
	const char *what;
} commands[] = {
	{ "run", cmd_run, "PROGRAM [ARGS...]: run an RDMA program on rdma_ep" },
	{ "status", cmd_status, "sessions, their ids, what they hold and have done" },
	{ "devices", cmd_devices, "RDMA devices that can be used" },
	{ "metrics", cmd_metrics, "counters and gauges for Prometheus, as OpenMetrics" },
	{ "doctor", cmd_doctor, "what is in the way, and what mends it" },
};

#define NR_COMMANDS	((int)(sizeof(commands) / sizeof(commands[0])))

static void print_usage(FILE *to)
{
	int i;

	fprintf(to, "usage: rdma-ep COMMAND [ARGS...]\n");
	for (i = 0; i < NR_COMMANDS; i++)
		fprintf(to, "  %-8s %s\n", commands[i].name, commands[i].what);
	fprintf(to, "options:\n"
		"  status   [--json] [--pid PID] [--watch [SECONDS]]\n"
		"  devices  [--json]\n"
		"  metrics  [--textfile FILE | --http]\n"
		"  doctor   [--json] [--report] [--listen PORT] [HOST]\n"
		"See rdma-ep(1).\n");
}

void usage(const char *why)
{
	fprintf(stderr, "rdma-ep: %s\n", why);
	print_usage(stderr);
	exit(2);
}

bool option(char ***argv, const char *name, const char **value)
{
	size_t len = strlen(name);
	char *arg = **argv;

	if (strncmp(arg, name, len) || (arg[len] && arg[len] != '='))
		return false;
	if (arg[len] == '=') {
		if (!value)
			usage("there is no value to give here");
		*value = arg + len + 1;
	} else if (value) {
		*value = NULL;
	}
	(*argv)++;
	return true;
}

/* Executes the script, which is next to this program. */
int cmd_run(int argc, char **argv)
{
	char path[PATH_MAX], *slash;
	ssize_t len;

	if (argc < 2)
		usage("run: which program?");
	argv[0] = "rdma-ep-run";
	len = readlink("/proc/self/exe", path, sizeof(path) - 32);
	if (len > 0) {
		path[len] = 0;
		slash = strrchr(path, '/');
		strcpy(slash ? slash + 1 : path, "rdma-ep-run");
		execv(path, argv);
	}
	execvp("rdma-ep-run", argv);
	fprintf(stderr, "rdma-ep: rdma-ep-run: %s\n", strerror(errno));
	return errno == ENOENT ? 127 : 126;
}

int main(int argc, char **argv)
{
	int i;

	if (argc < 2)
		usage("which command?");
	if (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help") ||
	    !strcmp(argv[1], "help")) {
		print_usage(stdout);
		return 0;
	}
	for (i = 0; i < NR_COMMANDS; i++)
		if (!strcmp(argv[1], commands[i].name))
			return commands[i].fn(argc - 1, argv + 1);
	usage("no such command");
}
