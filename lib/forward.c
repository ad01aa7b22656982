// SPDX-License-Identifier: BSD-2-Clause
/*
 * The real libraries underneath. Calls on objects that are not ours go to them,
 * and so do the calls that they make themselves: rsockets live in librdmacm, and
 * its calls of rdma_* and ibv_* end here when this library is preloaded.
 */
#include <dlfcn.h>

#include "internal.h"

/*
 * Where ours is in the place of theirs ("rdma-ep-run --alone") it has their names, and
 * is what they find.
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

/* Loaded once, for good: the functions that were found are remembered. */
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
 * A function of the real librdmacm, or NULL. If it is not in this process then
 * nobody can have got an id from it, and it is not loaded for that.
 */
void *lep_real_cm(const char *name)
{
	return librdmacm_function(name, RTLD_NOLOAD);
}

/*
 * The same of a function that makes something of nothing. A program that is linked with
 * both libraries may have been left with ours, which has the function's name.
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
 * The callers of a process are few, and are remembered if they are not the real
 * libraries: dladdr() takes the dynamic linker's lock, which a fork()ed child
 * may find taken for ever.
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
