// SPDX-License-Identifier: BSD-2-Clause
/*
 * Text of other users (names of processes, of network devices, of cgroups) on a terminal
 * and in JSON: bytes that are no printable UTF-8 are shown as \xNN, a backslash as two.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool.h"

/*
 * Characters that must not reach a terminal: controls (also those from U+0080 on), line
 * and paragraph separators, directions of writing.
 */
static bool moves(unsigned int c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x61c ||
	       (c >= 0x200e && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
	       (c >= 0x2066 && c <= 0x2069);
}

/* The length of the first character, or 0 if it has to be escaped. */
static size_t character(const char *text, size_t len)
{
	static const unsigned int first[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *s = (const unsigned char *)text;
	unsigned int c;
	size_t n, i;

	n = s[0] < 0x80 ? 1 : s[0] < 0xc0 ? 0 : s[0] < 0xe0 ? 2 :
	    s[0] < 0xf0 ? 3 : s[0] < 0xf8 ? 4 : 0;
	if (!n || n > len)
		return 0;
	c = n == 1 ? s[0] : s[0] & (0x7f >> n);
	for (i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	if (c < first[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return 0;
	return moves(c) ? 0 : n;
}

/* @mark: of escaped bytes; @special: characters after a backslash. out: ESCAPED(len) bytes */
static void escape_by(char *out, const char *text, size_t len, const char *mark,
		      const char *special)
{
	size_t n;

	while (len) {
		n = character(text, len);
		if (n > 1 && !strncmp(text, mark, n))
			n = 0;
		if (!n)
			out += sprintf(out, "%sx%02x", mark, (unsigned char)*text);
		else if (strchr(special, *text))
			*out++ = '\\';
		out = (char *)memcpy(out, text, n) + n;
		n = n ? n : 1;
		text += n;
		len -= n;
	}
	*out = 0;
}

void escape(char *out, const char *text, size_t len)
{
	escape_by(out, text, len, "\\", "\\");
}

/*
 * A reader removes the backslashes, and has the text itself, which may have "\xNN" as names of
 * systemd's units do. Another mark, U+FFFD, keeps two texts apart.
 */
void escape_label(char *out, const char *text, size_t len)
{
	escape_by(out, text, len, "\xef\xbf\xbd", "\\\"");
}

/* The output of a command, each line escaped. */
void show_output(const char *command)
{
	char *line = NULL, *text;
	FILE *f = popen(command, "re");
	size_t size = 0;
	ssize_t len;

	while (f && (len = getline(&line, &size, f)) > 0) {
		len -= line[len - 1] == '\n';
		text = malloc(ESCAPED(len));
		if (!text)
			break;
		escape(text, line, len);
		puts(text);
		free(text);
	}
	free(line);
	if (f)
		pclose(f);
}
