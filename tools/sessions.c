// SPDX-License-Identifier: BSD-2-Clause
/* Sessions: open files of the device, by /proc/PID/fdinfo. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool.h"

static void *grow(void *array, int num, size_t size)
{
	/* The size doubles at each power of two. */
	if (num & (num - 1))
		return array;
	array = realloc(array, (num ? 2 * (size_t)num : 1) * size);
	if (!array) {
		perror("rdma-ep");
		exit(1);
	}
	return array;
}

static void add_pair(struct session *s, const char *key, const char *value)
{
	struct pair *p;

	s->pairs = grow(s->pairs, s->nr_pairs, sizeof(*p));
	p = &s->pairs[s->nr_pairs++];
	p->key = strdup(key);
	p->value = strdup(value);
}

static void add_id(struct session *s, const char *value)
{
	struct id_line *id;

	s->ids = grow(s->ids, s->nr_ids, sizeof(*id));
	id = &s->ids[s->nr_ids];
	if (sscanf(value, "%15s %7s %15s %63s %63s %63s %15s", id->handle,
		   id->ps, id->state, id->src, id->dst, id->dev, id->qp) == 7)
		s->nr_ids++;
}

static void add_restriction(struct session *s, const char *value)
{
	s->restrictions = grow(s->restrictions, s->nr_restrictions, sizeof(*s->restrictions));
	s->restrictions[s->nr_restrictions++] = strdup(value);
}

static void free_session(struct session *s)
{
	int i;

	for (i = 0; i < s->nr_pairs; i++) {
		free(s->pairs[i].key);
		free(s->pairs[i].value);
	}
	free(s->pairs);
	free(s->ids);
	for (i = 0; i < s->nr_restrictions; i++)
		free(s->restrictions[i]);
	free(s->restrictions);
}

void sessions_free(struct session *sessions, int num)
{
	int i;

	for (i = 0; i < num; i++)
		free_session(&sessions[i]);
	free(sessions);
}

const char *session_value(const struct session *s, const char *key)
{
	int i;

	for (i = 0; i < s->nr_pairs; i++)
		if (!strcmp(s->pairs[i].key, key))
			return s->pairs[i].value;
	return "-";
}

long long session_number(const struct session *s, const char *key)
{
	return strtoll(session_value(s, key), NULL, 10);
}

static bool read_session(struct session *s, int pid, int fd)
{
	char path[64], comm[32], *line = NULL, *value;
	size_t size = 0;
	FILE *f;

	memset(s, 0, sizeof(*s));
	s->pid = pid;
	s->fd = fd;
	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	f = fopen(path, "re");
	if (f) {
		size_t len = fread(comm, 1, sizeof(comm), f);

		/* Other newlines belong to the name. */
		len -= len && comm[len - 1] == '\n';
		escape(s->comm, comm, len);
		fclose(f);
	}
	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", pid, fd);
	f = fopen(path, "re");
	if (!f)
		return false;
	while (getline(&line, &size, f) > 0) {
		line[strcspn(line, "\n")] = 0;
		value = strchr(line, ':');
		if (!value)
			continue;
		*value++ = 0;
		value += strspn(value, " \t");
		if (!strcmp(line, "session"))
			s->number = strtoul(value, NULL, 10);
		else if (!strcmp(line, "id"))
			add_id(s, value);
		else if (!strcmp(line, "restriction"))
			add_restriction(s, value);
		else if (strcmp(line, "pos") && strcmp(line, "flags") &&
			 strcmp(line, "mnt_id") && strcmp(line, "ino"))
			add_pair(s, line, value);
	}
	free(line);
	fclose(f);
	if (s->number)
		return true;
	free_session(s);
	return false;
}

/* True for an open file of the device. */
static bool is_node(int pid, const char *fd)
{
	char path[300], target[256];
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/%d/fd/%s", pid, fd);
	len = readlink(path, target, sizeof(target) - 1);
	if (len <= 0)
		return false;
	target[len] = 0;
	/* A container may have the device in another directory. An adopted session has no path. */
	return strstr(target, "/rdma_ep") || strstr(target, "[rdma_ep]");
}

static int compare(const void *a, const void *b)
{
	const struct session *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

const struct session *session_find(const struct session *list, int num, unsigned long number)
{
	int i;

	for (i = 0; i < num; i++)
		if (list[i].number == number)
			return &list[i];
	return NULL;
}

/* Returns false if the caller has no permission. */
static bool look_into(int pid, struct session **list, int *num)
{
	struct session s;
	struct dirent *e;
	char path[64];
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	d = opendir(path);
	if (!d)
		return errno != EACCES;
	while ((e = readdir(d))) {
		if (!isdigit((unsigned char)e->d_name[0]) ||
		    !is_node(pid, e->d_name) ||
		    !read_session(&s, pid, atoi(e->d_name)))
			continue;
		/* The process has inherited or received this session. */
		if (session_find(*list, *num, s.number)) {
			free_session(&s);
			continue;
		}
		*list = grow(*list, *num, sizeof(s));
		(*list)[(*num)++] = s;
	}
	closedir(d);
	return true;
}

int sessions_get(int pid, struct session **sessions, bool *hidden)
{
	struct dirent *e;
	int num = 0;
	DIR *d;

	*sessions = NULL;
	*hidden = false;
	if (pid) {
		*hidden = !look_into(pid, sessions, &num);
		return num;
	}
	d = opendir("/proc");
	if (!d)
		return 0;
	while ((e = readdir(d)))
		if (isdigit((unsigned char)e->d_name[0]) &&
		    !look_into(atoi(e->d_name), sessions, &num))
			*hidden = true;
	closedir(d);
	if (num)
		qsort(*sessions, num, sizeof(**sessions), compare);
	return num;
}
