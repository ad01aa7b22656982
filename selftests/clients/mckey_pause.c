// SPDX-License-Identifier: GPL-2.0-only
/*
 * Preloaded into mckey, which posts its messages, prints that they are complete, and at once
 * destroys the address handle and the QP. From Linux 6.12 on rxe may not have sent the messages by
 * then, and drops them, on any stack: the pause gives it time.
 */
#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

#define PAUSE_US	500000

int puts(const char *text)
{
	int (*next)(const char *text);

	*(void **)&next = dlsym(RTLD_NEXT, "puts");
	if (!strcmp(text, "data transfers complete"))
		usleep(PAUSE_US);
	return next(text);
}
