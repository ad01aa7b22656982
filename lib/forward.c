// SPDX-License-Identifier: BSD-2-Clause
/*
 * The real libraries. Exported functions pass them calls on foreign objects, and calls that
 * they make themselves: if this library is preloaded, it receives the rdma_* and ibv_*
 * calls of rsockets, which are in librdmacm.
 */
#include <dlfcn.h>

#include "core.h"

/*
 * Under "rdma-ep-run --alone" this library has the names of the real ones, and dlopen() and
 * dladdr() find it under these names.
 */
static bool is_ours(const void *address)
{
	static const char here;
	Dl_info us, it;

	return dladdr(&here, &us) && dladdr(address, &it) &&
	       us.dli_fbase == it.dli_fbase;
}

static void *not_ours(void *function)
{
	return is_ours(function) ? NULL : function;
}

/* Loaded once and never closed, as lep_real_fn() keeps pointers to its functions. */
static void *libibverbs;

static void load_libibverbs(void)
{
	libibverbs = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL);
}

/* A function of the real libibverbs, or NULL. */
void *lep_real(const char *name, const char *version)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, load_libibverbs);
	return libibverbs ? not_ours(dlvsym(libibverbs, name, version)) : NULL;
}

static void *librdmacm_function(const char *name, int mode)
{
	void *librdmacm = dlopen("librdmacm.so.1", RTLD_NOW | mode);

	return librdmacm ? not_ours(dlsym(librdmacm, name)) : NULL;
}

/*
 * A function of the real librdmacm, or NULL. The lookup does not load librdmacm: a process
 * without it has no ids of it.
 */
void *lep_real_cm(const char *name)
{
	return librdmacm_function(name, RTLD_NOLOAD);
}

/*
 * The same for functions that need no object of librdmacm. This lookup loads it: the linker
 * may have dropped it from a program that is linked with both libraries, as this library
 * has the function as well.
 */
void *lep_real_rsocket(const char *name)
{
	return librdmacm_function(name, RTLD_LOCAL);
}

static bool is_library(const char *path, const char *name)
{
	const char *base = strrchr(path, '/');

	return !strncmp(base ? base + 1 : path, name, strlen(name));
}

/*
 * A process has few callers. Those outside of the real libraries are cached: dladdr()
 * takes the dynamic linker's lock, which is held forever in a child if another thread of
 * the parent held it at the fork().
 */
#define CALLERS 61

bool lep_called_by_real(const void *return_address)
{
	static const void *others[CALLERS];
	const void **other = &others[(uintptr_t)return_address % CALLERS];
	Dl_info info;

	if (__atomic_load_n(other, __ATOMIC_RELAXED) == return_address)
		return false;
	if (dladdr(return_address, &info) && info.dli_fname &&
	    (is_library(info.dli_fname, "librdmacm.so") ||
	     is_library(info.dli_fname, "libibverbs.so")) &&
	    !is_ours(return_address))
		return true;
	__atomic_store_n(other, return_address, __ATOMIC_RELAXED);
	return false;
}
