// SPDX-License-Identifier: BSD-2-Clause
/* rdma-ep status */
#include <ctype.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tool.h"

/* Growing counters: --watch shows their rate for a second. */
static const char * const counters[] = { "sends", "receives", "completions" };

#define NR_COUNTERS	((int)(sizeof(counters) / sizeof(counters[0])))

static const char *user_name(const struct session *s)
{
	const char *uid = session_value(s, "user");
	struct passwd *pw = getpwuid(strtoul(uid, NULL, 10));

	return pw ? pw->pw_name : uid;
}

/* "3 of 5 KiB": one number or two, depending on the key. */
static void json_pair(const struct pair *p)
{
	char key[64], *end;
	const char *unit;
	long long n;
	size_t i;

	n = strtoll(p->value, &end, 10);
	if (end == p->value) {
		json_string(p->key, p->value);
		return;
	}
	unit = strstr(end, "KiB") ? "_kib" : "";
	snprintf(key, sizeof(key), "%s%s", p->key, unit);
	for (i = 0; key[i]; i++)
		if (key[i] == '-')
			key[i] = '_';
	json_number(key, n);
	if (!strncmp(end, " of ", 4)) {
		strncat(key, "_max", sizeof(key) - strlen(key) - 1);
		json_number(key, strtoll(end + 4, NULL, 10));
	}
}

static void json_word(const char *key, const char *word)
{
	if (strcmp(word, "-"))
		json_string(key, word);
}

static void show_json(const struct session *list, int num, bool hidden)
{
	const struct session *s;
	const struct id_line *id;
	int i;

	json_open(NULL, '{');
	json_bool("complete", !hidden);
	json_open("sessions", '[');
	for (s = list; s < list + num; s++) {
		json_open(NULL, '{');
		json_number("session", (long long)s->number);
		json_number("pid", s->pid);
		json_number("fd", s->fd);
		json_string("command", s->comm);
		for (i = 0; i < s->nr_pairs; i++)
			json_pair(&s->pairs[i]);
		json_open("id", '[');
		for (id = s->ids; id < s->ids + s->nr_ids; id++) {
			json_open(NULL, '{');
			json_number("handle", atoll(id->handle));
			json_word("port_space", id->ps);
			json_string("state", id->state);
			json_word("source", id->src);
			json_word("destination", id->dst);
			json_word("device", id->dev);
			if (strcmp(id->qp, "-"))
				json_number("qp_num", atoll(id->qp));
			json_close('}');
		}
		json_close(']');
		json_open("restriction", '[');
		for (i = 0; i < s->nr_restrictions; i++)
			json_string(NULL, s->restrictions[i]);
		json_close(']');
		json_close('}');
	}
	json_close(']');
	json_close('}');
}

/* The digits at the beginning */
static void number(const char *value, char *buf, size_t size)
{
	size_t len = strcspn(value, " ");

	snprintf(buf, size, "%.*s", (int)len, value);
}

/* @before: the same, @seconds ago; NULL: show sums */
static void show_text(const struct session *list, int num,
		      const struct session *before, int num_before,
		      double seconds)
{
	const struct session *s, *old;
	const struct id_line *id;
	char obj[24], queue[24], pinned[24];
	int i;

	printf("%-8s %-7s %-15s %-10s %8s %11s %11s", "SESSION", "PID",
	       "COMMAND", "USER", "OBJECTS", "QUEUES/KiB", "PINNED/KiB");
	for (i = 0; i < NR_COUNTERS; i++)
		printf(" %10s%s", counters[i], before ? "/s" : "");
	printf("\n");
	for (s = list; s < list + num; s++) {
		number(session_value(s, "objects"), obj, sizeof(obj));
		number(session_value(s, "queue-memory"), queue, sizeof(queue));
		number(session_value(s, "pinned-memory"), pinned,
		       sizeof(pinned));
		printf("%-8lu %-7d %-15s %-10s %8s %11s %11s", s->number,
		       s->pid, s->comm, user_name(s), obj, queue, pinned);
		old = before ? session_find(before, num_before, s->number) : NULL;
		for (i = 0; i < NR_COUNTERS; i++) {
			long long n = session_number(s, counters[i]);

			if (before)
				printf(" %12.0f",
				       old ? (n - session_number(old, counters[i])) /
				       seconds : 0.0);
			else
				printf(" %10lld", n);
		}
		printf("\n");
		for (i = 0; i < s->nr_restrictions; i++)
			printf("  restriction %s\n", s->restrictions[i]);
		for (id = s->ids; id < s->ids + s->nr_ids; id++)
			printf("  id %-4s %-5s %-12s %-26s %-26s %-8s %s%s\n",
			       id->handle, id->ps, id->state, id->src, id->dst,
			       id->dev, *id->qp == '-' ? "" : "qp ",
			       *id->qp == '-' ? "" : id->qp);
	}
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void note(int num, bool hidden)
{
	if (!num)
		fprintf(stderr, "no sessions%s\n",
			hidden ? " that you may see" : "");
	else if (hidden)
		fprintf(stderr, "(only of processes that you may look into)\n");
}

static void watch(int pid, double seconds)
{
	struct session *list, *before = NULL;
	int num, num_before = 0;
	double time, last = 0;
	bool hidden;

	for (;;) {
		num = sessions_get(pid, &list, &hidden);
		time = now();
		if (isatty(STDOUT_FILENO))
			printf("\033[H\033[2J");
		show_text(list, num, before, num_before, time - last);
		fflush(stdout);
		sessions_free(before, num_before);
		before = list;
		num_before = num;
		last = time;
		usleep((useconds_t)(seconds * 1e6));
	}
}

int cmd_status(int argc, char **argv)
{
	bool json = false, watching = false, hidden;
	struct session *list;
	const char *value;
	double seconds = 1;
	int pid = 0, num;

	(void)argc;
	for (argv++; *argv;) {
		if (option(&argv, "--json", NULL)) {
			json = true;
		} else if (option(&argv, "--pid", &value)) {
			if (!value)
				value = *argv ? *argv++ : "";
			pid = atoi(value);
			if (pid <= 0)
				usage("status: --pid: which?");
		} else if (option(&argv, "--watch", &value)) {
			watching = true;
			if (!value && *argv && isdigit((unsigned char)**argv))
				value = *argv++;
			if (value)
				seconds = atof(value);
			if (seconds < 0.1 || seconds > 3600)
				usage("status: --watch: 0.1 to 3600 seconds");
		} else {
			usage("status: no such option");
		}
	}
	if (watching && json)
		usage("status: --json shows one moment");
	if (watching)
		watch(pid, seconds);
	num = sessions_get(pid, &list, &hidden);
	if (json) {
		show_json(list, num, hidden);
	} else {
		if (num)
			show_text(list, num, NULL, 0, 1);
		note(num, hidden);
	}
	sessions_free(list, num);
	return 0;
}
