/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef HARNESS_STOCK_H
#define HARNESS_STOCK_H

#include <errno.h>
#include <stdbool.h>
#include <string.h>

/*
 * Does this program (NAME.stock) run on the stock libraries? They crash on some arguments for
 * which an error is documented.
 */
static inline bool is_stock(void)
{
	const char *dot = strrchr(program_invocation_short_name, '.');

	return dot && !strcmp(dot, ".stock");
}

#endif
