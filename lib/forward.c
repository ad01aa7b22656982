// SPDX-License-Identifier: BSD-2-Clause
/*
 * The real libraries underneath. Calls on objects that are not ours go to them,
 * and so do the calls that they make themselves: rsockets live in librdmacm, and
 * its calls of rdma_* and ibv_* end here when this library is preloaded.
 */
#include <dlfcn.h>

#include "internal.h"

/* Loaded once, for good: the functions that were found are remembered. */
static void *libibverbs;

static void load_libibverbs(void)
{
	libibverbs = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL);
}

/* A function of the real libibverbs, or NULL. */
void *ep_real(const char *name, const char *version)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, load_libibverbs);
	return libibverbs ? dlvsym(libibverbs, name, version) : NULL;
}

/*
 * A function of the real librdmacm, or NULL. If it is not in this process then
 * nobody can have got an id from it, and it is not loaded for that.
 */
void *ep_real_cm(const char *name)
{
	void *librdmacm;

	librdmacm = dlopen("librdmacm.so.1", RTLD_NOW | RTLD_NOLOAD);
	return librdmacm ? dlsym(librdmacm, name) : NULL;
}

static bool is_library(const char *path, const char *name)
{
	const char *base = strrchr(path, '/');

	return !strncmp(base ? base + 1 : path, name, strlen(name));
}

/*
 * The callers of a process are few, and are remembered if they are not the real
 * libraries: dladdr() takes the dynamic linker's lock, which a fork()ed child
 * may find taken for ever.
 */
#define CALLERS 61

bool ep_called_by_real(const void *return_address)
{
	static const void *others[CALLERS];
	const void **other = &others[(uintptr_t)return_address % CALLERS];
	Dl_info info;

	if (__atomic_load_n(other, __ATOMIC_RELAXED) == return_address)
		return false;
	if (dladdr(return_address, &info) && info.dli_fname &&
	    (is_library(info.dli_fname, "librdmacm.so") ||
	     is_library(info.dli_fname, "libibverbs.so")))
		return true;
	__atomic_store_n(other, return_address, __ATOMIC_RELAXED);
	return false;
}
