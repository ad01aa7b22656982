// SPDX-License-Identifier: GPL-2.0-only
/*
 * Commands and results as text:
 *
 *	client|server [addr=ADDRESS] [port=PORT] [verify] [KEY=VALUE]...
 *
 *	mode	rping, pingpong, srq, stream, create, cycle
 *	op	send, write, read (stream; the client decides)
 *	poll	workqueue, softirq, unbound, direct: context of completion handlers
 *	and the numbers in struct kping_cmd
 *
 * A result is one line of key=value. Times are the client's, without connecting.
 */
#include <linux/inet.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/parser.h>
#include <linux/string.h>

#include "kping.h"

static const char * const kping_modes[] = {
	[KPING_RPING] = "rping",
	[KPING_PINGPONG] = "pingpong",
	[KPING_SRQ] = "srq",
	[KPING_STREAM] = "stream",
	[KPING_CREATE] = "create",
	[KPING_CYCLE] = "cycle",
};

static const char * const kping_ops[] = {
	[KPING_SEND] = "send",
	[KPING_WRITE] = "write",
	[KPING_READ] = "read",
};

static const char * const kping_polls[] = {
	[IB_POLL_SOFTIRQ] = "softirq",
	[IB_POLL_WORKQUEUE] = "workqueue",
	[IB_POLL_UNBOUND_WORKQUEUE] = "unbound",
	[IB_POLL_DIRECT] = "direct",
};

/**
 * struct kping_number - a numeric parameter
 * @name: key
 * @offset: offset of the u32 in struct kping_cmd
 * @min: smallest value
 * @max: largest value
 */
struct kping_number {
	const char *name;
	size_t offset;
	u32 min;
	u32 max;
};

#define KPING_NUMBER(name, min, max) \
	{ #name, offsetof(struct kping_cmd, name), min, max }

static const struct kping_number kping_numbers[] = {
	KPING_NUMBER(count, 1, INT_MAX),
	KPING_NUMBER(size, 1, KPING_MAX_SIZE),
	KPING_NUMBER(batch, 1, 1024),
	KPING_NUMBER(depth, 2, 4096),
	KPING_NUMBER(conns, 0, 4096),
	KPING_NUMBER(timeout, 1, INT_MAX),
};

static int kping_parse_number(struct kping_cmd *cmd, const char *key, const char *value)
{
	const struct kping_number *number;
	u32 n;
	int i, ret;

	for (i = 0; i < ARRAY_SIZE(kping_numbers); i++) {
		number = &kping_numbers[i];
		if (strcmp(key, number->name))
			continue;
		ret = kstrtou32(value, 0, &n);
		if (ret)
			return ret;
		if (n < number->min || n > number->max)
			return -ERANGE;
		*(u32 *)((void *)cmd + number->offset) = n;
		return 0;
	}
	return -EINVAL;
}

static int kping_parse_pair(struct kping_cmd *cmd, const char *key, const char *value)
{
	int ret;

	if (!strcmp(key, "mode")) {
		ret = match_string(kping_modes, ARRAY_SIZE(kping_modes), value);
		cmd->mode = ret;
	} else if (!strcmp(key, "op")) {
		ret = match_string(kping_ops, ARRAY_SIZE(kping_ops), value);
		cmd->op = ret;
	} else if (!strcmp(key, "poll")) {
		ret = match_string(kping_polls, ARRAY_SIZE(kping_polls), value);
		cmd->poll = ret;
	} else {
		ret = kping_parse_number(cmd, key, value);
	}
	return ret < 0 ? ret : 0;
}

static int kping_check_cmd(const struct kping_cmd *cmd)
{
	if (cmd->batch > cmd->depth / 2)
		return -EINVAL;
	if (!cmd->server && !cmd->conns)
		return -EINVAL;
	if (cmd->server && cmd->mode == KPING_CREATE)
		return -EINVAL;
	/* The text of rping contains a number. */
	if (cmd->mode == KPING_RPING && cmd->size < 32)
		return -EINVAL;
	/* A server without an SRQ serves one connection at a time, but a client opens all first. */
	if (!cmd->server && cmd->mode != KPING_SRQ && cmd->conns > 1)
		return -EINVAL;
	/*
	 * The size of the SRQ depends on the number of connections. The server's thread
	 * waits for connections, so it cannot poll.
	 */
	if (cmd->server && cmd->mode == KPING_SRQ && (!cmd->conns || cmd->poll == IB_POLL_DIRECT))
		return -EINVAL;
	return 0;
}

int kping_parse(struct kping_cmd *cmd, struct net *net, char *text)
{
	const char *addr = NULL, *port = "7174";
	char *word, *value;
	int ret = 0;

	*cmd = (struct kping_cmd) {
		.poll = IB_POLL_WORKQUEUE,
		.count = 100,
		.size = 64,
		.batch = 1,
		.depth = 64,
		.conns = 1,
		.timeout = 5000,
	};
	text = strim(text);
	word = strsep(&text, " ");
	if (strcmp(word, "client") && strcmp(word, "server"))
		return -EINVAL;
	cmd->server = !strcmp(word, "server");

	while (!ret && (word = strsep(&text, " "))) {
		value = word;
		strsep(&value, "=");
		if (!*word)
			continue;
		if (!value && !strcmp(word, "verify"))
			cmd->verify = true;
		else if (!value)
			ret = -EINVAL;
		else if (!strcmp(word, "addr"))
			addr = value;
		else if (!strcmp(word, "port"))
			port = value;
		else
			ret = kping_parse_pair(cmd, word, value);
	}
	if (!addr && !cmd->server)
		return -EINVAL;
	return ret ?: inet_pton_with_scope(net, AF_UNSPEC, addr ?: "0.0.0.0", port, &cmd->addr) ?:
	       kping_check_cmd(cmd);
}

static u64 kping_messages(const struct kping_run *run)
{
	switch (run->cmd.mode) {
	case KPING_CREATE:
	case KPING_CYCLE:
		return 0;
	case KPING_STREAM:
		return run->result.rounds;
	default:
		return 2 * run->result.rounds;
	}
}

static int kping_print_figures(const struct kping_run *run, char *text, size_t size)
{
	const struct kping_result *result = &run->result;
	u64 messages = kping_messages(run);
	u64 us = max_t(u64, div_u64(result->ns, NSEC_PER_USEC), 1);
	u64 kb = div64_u64(messages * run->cmd.size * 1000, us);
	u32 rest;

	kb = div_u64_rem(kb, 1000, &rest);
	return scnprintf(text, size,
			 " ns=%llu ns_per_round=%llu messages_per_s=%llu mb_per_s=%llu.%03u",
			 result->ns, div64_u64(result->ns, result->rounds),
			 div64_u64(messages * USEC_PER_SEC, us), kb, rest);
}

int kping_print(const struct kping_run *run, char *text, size_t size)
{
	const struct kping_cmd *cmd = &run->cmd;
	const struct kping_result *result = &run->result;
	int n;

	n = scnprintf(text, size, "run=%u role=%s mode=%s", run->id,
		      cmd->server ? "server" : "client",
		      kping_modes[cmd->mode]);
	if (!completion_done((struct completion *)&run->done))
		return n + scnprintf(text + n, size - n, " state=running\n");
	if (cmd->mode == KPING_STREAM && !cmd->server)
		n += scnprintf(text + n, size - n, " op=%s batch=%u",
			       kping_ops[cmd->op], cmd->batch);
	n += scnprintf(text + n, size - n,
		       " state=done status=%d device=%s poll=%s size=%u conns=%u rounds=%llu verified=%llu",
		       run->status, result->device[0] ? result->device : "none",
		       kping_polls[cmd->poll], cmd->size, result->conns,
		       result->rounds, result->verified);
	if (result->ns && result->rounds)
		n += kping_print_figures(run, text + n, size - n);
	return n + scnprintf(text + n, size - n, "\n");
}
