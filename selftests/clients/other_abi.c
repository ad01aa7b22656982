// SPDX-License-Identifier: GPL-2.0-only
/*
 * Preloaded by doctor.sh, and linked with cm_adopt: the module reports another ABI version to
 * the object file whose name contains $OTHER_ABI.
 */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <rdma/rdma_ep.h>

int ioctl(int fd, unsigned long request, ...)
{
	const char *name = getenv("OTHER_ABI");
	struct rdma_ep_cmd_query *query;
	Dl_info caller;
	va_list args;
	long ret;

	va_start(args, request);
	query = va_arg(args, void *);
	va_end(args);
	ret = syscall(SYS_ioctl, fd, request, query);
	if (!ret && request == RDMA_EP_IOC_QUERY && name &&
	    dladdr(__builtin_return_address(0), &caller) && strstr(caller.dli_fname, name))
		query->abi_version++;
	return ret;
}
