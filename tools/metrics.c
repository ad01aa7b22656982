// SPDX-License-Identifier: BSD-2-Clause
/*
 * rdma-ep metrics: the accounts of the module (/proc/rdma_ep) as OpenMetrics, or in the older
 * text format of Prometheus.
 */
#include <errno.h>
#include <limits.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tool.h"

#define ACCOUNTS	"/proc/rdma_ep"
#define PARAMETERS	"/sys/module/rdma_ep/parameters"
#define MAX_SAMPLES	14
#define MAX_KEYS	48
#define BLANKS		"\n "

enum type { GAUGE, COUNTER };

/* A sample of each line that has the key, with another label than those of the line */
struct sample {
	const char *key;
	const char *value;	/* of the label; NULL: the key */
};

struct family {
	const char *name;	/* of a counter: without _total */
	enum type type;
	const char *unit;
	const char *help;
	bool device;		/* of lines of devices, not of accounts */
	const char *label;
	struct sample samples[MAX_SAMPLES];
};

static const struct family families[] = {
	{ "rdma_ep_sessions", GAUGE, NULL, "Open sessions.", false, NULL,
	  { { "sessions", NULL } } },
	{ "rdma_ep_ids", GAUGE, NULL, "Communication ids.", false, NULL, { { "ids", NULL } } },
	{ "rdma_ep_charged_objects", GAUGE, NULL,
	  "Objects that count against the limits of sessions.", false, NULL,
	  { { "objects", NULL } } },
	{ "rdma_ep_queue_bytes", GAUGE, "bytes", "Queue memory that counts against limits.",
	  false, NULL, { { "queue-bytes", NULL } } },
	{ "rdma_ep_unread_events", GAUGE, NULL, "CM events that have not been read.", false, NULL,
	  { { "unread-events", NULL } } },
	{ "rdma_ep_refusals", COUNTER, NULL, "Refused commands and lost events, by reason.", false,
	  "reason",
	  { { "session_max_objects", NULL }, { "session_max_queue_mb", NULL },
	    { "user_max_objects", NULL }, { "user_max_queue_mb", NULL },
	    { "user_max_pinned_mb", NULL }, { "cgroup_objects", NULL }, { "cgroup_queue", NULL },
	    { "cgroup_pinned", NULL }, { "events", NULL }, { "memlock", NULL },
	    { "rdma_max", NULL }, { "access", NULL }, { "restriction", NULL },
	    { "other", NULL } } },
	{ "rdma_ep_objects", GAUGE, NULL, "Objects of a device, by type.", true, "type",
	  { { "contexts", "context" }, { "pds", "pd" }, { "mrs", "mr" }, { "ahs", "ah" },
	    { "cqs", "cq" }, { "srqs", "srq" }, { "qps", "qp" }, { "xrcds", "xrcd" } } },
	{ "rdma_ep_pinned_bytes", GAUGE, "bytes", "Registered memory.", true, NULL,
	  { { "pinned-bytes", NULL } } },
	{ "rdma_ep_messages", COUNTER, NULL,
	  "Messages: sends and RDMA writes (out), receives (in), RDMA reads of this side (read).",
	  true, "direction", { { "sent", "out" }, { "received", "in" }, { "read", NULL } } },
	{ "rdma_ep_traffic_bytes", COUNTER, "bytes", "Bytes of these messages.", true, "direction",
	  { { "sent-bytes", "out" }, { "received-bytes", "in" }, { "read-bytes", "read" } } },
	{ "rdma_ep_completions", COUNTER, NULL, "Completions that have been polled.", true, NULL,
	  { { "completions", NULL } } },
	{ "rdma_ep_connections", COUNTER, NULL, "Connections, by what became of them.", true,
	  "event",
	  { { "established", NULL }, { "disconnected", NULL },
	    { "connect-failed", "failed" } } },
};

#define NR_FAMILIES	((int)(sizeof(families) / sizeof(families[0])))

/* A line of the module: of an account, or of a device of the account before it */
struct line {
	bool device;
	char *labels;		/* "{...", without the end */
	unsigned long long values[MAX_KEYS];
};

/* The keys of lines, which all have the same */
struct keys {
	char *names[MAX_KEYS];
	int num;
};

static bool openmetrics;
static struct line *lines;
static int nr_lines;
static struct keys keys[2];	/* of accounts, of devices */
static void *labels;		/* of all lines, for tsearch() */

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "rdma-ep: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void *no_null(void *memory)
{
	if (!memory)
		die("metrics");
	return memory;
}

/* seq_escape() writes \NNN. */
static void unescape(char *text)
{
	char *out = text;

	while (*text) {
		if (*text == '\\' && strspn(text + 1, "01234567") >= 3) {
			*out++ = (char)((text[1] - '0') << 6 | (text[2] - '0') << 3 |
					(text[3] - '0'));
			text += 4;
		} else {
			*out++ = *text++;
		}
	}
	*out = 0;
}

static char *label_value(const char *raw)
{
	char *shown = no_null(malloc(ESCAPED(strlen(raw))));

	escape_label(shown, raw, strlen(raw));
	return shown;
}

static int compare_labels(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* Splits "account KEY VALUE ...": sets the values, and returns the first three as labels. */
static void read_line(char *text, char **account)
{
	char *word = strtok(text, BLANKS), *uid = NULL, *cgroup = NULL, *name = NULL;
	struct line *l;
	struct keys *k;
	int n = 0;

	if (!word)
		return;
	if (!(nr_lines & (nr_lines - 1)))
		lines = no_null(realloc(lines, (nr_lines ? 2 * (size_t)nr_lines : 1) *
					sizeof(*lines)));
	l = &lines[nr_lines];
	memset(l, 0, sizeof(*l));
	l->device = !strcmp(word, "device");
	if (!l->device && strcmp(word, "account"))
		return;
	k = &keys[l->device];
	while ((word = strtok(NULL, BLANKS))) {
		char *value = strtok(NULL, BLANKS);

		if (!value || n == MAX_KEYS)
			break;
		if (!strcmp(word, "uid")) {
			uid = value;
		} else if (!strcmp(word, "cgroup")) {
			cgroup = value;
		} else if (!strcmp(word, "name")) {
			name = value;
		} else {
			if (n == k->num)
				k->names[k->num++] = no_null(strdup(word));
			l->values[n++] = strtoull(value, NULL, 10);
		}
	}
	if (l->device) {
		if (!name || !*account)
			return;
		unescape(name);
		name = label_value(name);
		if (asprintf(&l->labels, "{device=\"%s\",%s", name, *account) < 0)
			die("metrics");
		free(name);
	} else {
		if (!uid || !cgroup)
			return;
		unescape(cgroup);
		cgroup = label_value(cgroup);
		if (asprintf(account, "cgroup=\"%s\",uid=\"%s\"", cgroup, uid) < 0 ||
		    asprintf(&l->labels, "{%s", *account) < 0)
			die("metrics");
		free(cgroup);
	}
	/* An account that was begun anew between two read()s is there twice: the first counts. */
	if (*(char **)no_null(tsearch(l->labels, &labels, compare_labels)) == l->labels)
		nr_lines++;
	else
		free(l->labels);
}

static void read_accounts(void)
{
	char *text = NULL, *account = NULL;
	FILE *f = fopen(ACCOUNTS, "re");
	size_t size = 0;

	if (!f && errno == EPERM) {
		fprintf(stderr, "rdma-ep: " ACCOUNTS ": CAP_PERFMON is missing: be root, or setcap\n");
		exit(1);
	}
	if (!f)
		die(ACCOUNTS);
	while (getline(&text, &size, f) > 0)
		read_line(text, &account);
	if (ferror(f))
		die(ACCOUNTS);
	fclose(f);
	free(text);
}

static int key_index(const struct family *f, const char *key)
{
	const struct keys *k = &keys[f->device];
	int i;

	for (i = 0; i < k->num; i++)
		if (!strcmp(k->names[i], key))
			return i;
	return -1;
}

static void print_head(FILE *to, const char *name, const char *type, bool counter,
		       const char *unit, const char *help)
{
	const char *suffix = counter && !openmetrics ? "_total" : "";

	fprintf(to, "# TYPE %s%s %s\n", name, suffix, type);
	if (unit && openmetrics)
		fprintf(to, "# UNIT %s %s\n", name, unit);
	fprintf(to, "# HELP %s%s %s\n", name, suffix, help);
}

static void print_family(FILE *to, const struct family *f)
{
	bool counter = f->type == COUNTER;
	const struct sample *s;
	const struct line *l;
	int i;

	print_head(to, f->name, counter ? "counter" : "gauge", counter, f->unit, f->help);
	for (s = f->samples; s < f->samples + MAX_SAMPLES && s->key; s++) {
		i = key_index(f, s->key);
		for (l = lines; i >= 0 && l < lines + nr_lines; l++) {
			if (l->device != f->device)
				continue;
			fprintf(to, "%s%s%s", f->name, counter ? "_total" : "", l->labels);
			if (f->label)
				fprintf(to, ",%s=\"%s\"", f->label,
					s->value ? s->value : s->key);
			fprintf(to, "} %llu\n", l->values[i]);
		}
	}
}

/* Limits for users and sessions, in the units of the module's parameters */
static void print_limits(FILE *to)
{
	static const char * const limits[] = {
		"session_max_objects", "user_max_objects", "session_max_queue_mb",
		"user_max_queue_mb", "user_max_pinned_mb", "user_max_events",
	};
	char path[128], text[32];
	size_t i;
	FILE *f;

	print_head(to, "rdma_ep_limit", "gauge", false, NULL,
		   "Limits: parameters of the module, in their units.");
	for (i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		snprintf(path, sizeof(path), PARAMETERS "/%s", limits[i]);
		f = fopen(path, "re");
		if (!f)
			continue;
		if (fgets(text, sizeof(text), f))
			fprintf(to, "rdma_ep_limit{limit=\"%s\"} %llu\n", limits[i],
				strtoull(text, NULL, 10));
		fclose(f);
	}
}

static void print_all(FILE *to)
{
	int i;

	for (i = 0; i < NR_FAMILIES; i++)
		print_family(to, &families[i]);
	print_limits(to);
	if (openmetrics)
		fputs("# EOF\n", to);
}

/* A scraper sees the whole file, the old or the new one. */
static void write_file(const char *path)
{
	char tmp[PATH_MAX];
	FILE *f;

	if (snprintf(tmp, sizeof(tmp), "%s.%d", path, (int)getpid()) >= (int)sizeof(tmp)) {
		errno = ENAMETOOLONG;
		die(path);
	}
	f = fopen(tmp, "wxe");
	if (!f)
		die(tmp);
	print_all(f);
	if (fchmod(fileno(f), 0644) || fclose(f) || rename(tmp, path)) {
		int err = errno;

		unlink(tmp);
		errno = err;
		die(path);
	}
}

/* Answers one request on stdin, of a socket-activated service. Other pages do not exist. */
static void serve(void)
{
	char line[4096], *body = NULL;
	size_t size = 0;
	bool found;
	FILE *f;

	alarm(10);
	if (!fgets(line, sizeof(line), stdin))
		return;
	found = !strncmp(line, "GET /metrics ", 13);
	while (fgets(line, sizeof(line), stdin) && strcmp(line, "\r\n") && strcmp(line, "\n"))
		;
	if (!found) {
		printf("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
		return;
	}
	openmetrics = true;
	read_accounts();
	f = no_null(open_memstream(&body, &size));
	print_all(f);
	if (fclose(f))
		die("metrics");
	printf("HTTP/1.1 200 OK\r\n"
	       "Content-Type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n"
	       "Content-Length: %zu\r\nConnection: close\r\n\r\n", size);
	fwrite(body, 1, size, stdout);
	free(body);
}

int cmd_metrics(int argc, char **argv)
{
	const char *file = NULL, *value;
	bool http = false;

	(void)argc;
	for (argv++; *argv;) {
		if (option(&argv, "--http", NULL)) {
			http = true;
		} else if (option(&argv, "--textfile", &value)) {
			file = value ? value : *argv ? *argv++ : NULL;
			if (!file)
				usage("metrics: --textfile: which?");
		} else {
			usage("metrics: no such option");
		}
	}
	if (http && file)
		usage("metrics: --http or --textfile");
	if (http) {
		serve();
	} else if (file) {
		read_accounts();
		write_file(file);
	} else {
		openmetrics = true;
		read_accounts();
		print_all(stdout);
	}
	if (fflush(stdout) || ferror(stdout))
		die("stdout");
	return 0;
}
