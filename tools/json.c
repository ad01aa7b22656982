// SPDX-License-Identifier: BSD-2-Clause
/* JSON on stdout. */
#include <stdio.h>

#include "tool.h"

static int depth;
static bool more;

/* Text of other users has been escaped: see escape.c. */
static void string(const char *s)
{
	putchar('"');
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			putchar('\\');
		putchar(*s);
	}
	putchar('"');
}

/* The comma, the indentation and the key before a value. */
static void next(const char *key)
{
	if (depth)
		printf("%s\n%*s", more ? "," : "", 2 * depth, "");
	if (key) {
		string(key);
		printf(": ");
	}
	more = true;
}

void json_open(const char *key, char bracket)
{
	next(key);
	putchar(bracket);
	depth++;
	more = false;
}

void json_close(char bracket)
{
	depth--;
	if (more)
		printf("\n%*s", 2 * depth, "");
	putchar(bracket);
	more = true;
	if (!depth) {
		putchar('\n');
		more = false;
		fflush(stdout);
	}
}

void json_string(const char *key, const char *value)
{
	next(key);
	string(value);
}

void json_number(const char *key, long long value)
{
	next(key);
	printf("%lld", value);
}

void json_bool(const char *key, bool value)
{
	next(key);
	printf("%s", value ? "true" : "false");
}
