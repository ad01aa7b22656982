// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sets parameters of the module.
 */
#include <stdio.h>

#include "param.h"

int test_param(const char *name, int value)
{
	char path[128];
	int old = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/module/rdma_ep/parameters/%s", name);
	f = fopen(path, "r+e");
	if (!f)
		return -1;
	if (fscanf(f, "%d", &old) != 1)
		old = -1;
	rewind(f);
	fprintf(f, "%d\n", value);
	return fclose(f) ? -1 : old;
}
