// SPDX-License-Identifier: BSD-2-Clause
/*
 * The real libraries underneath: libibverbs for calls on objects that are not
 * ours, and librdmacm as a caller that must not get our objects.
 */
#include <dlfcn.h>

#include "internal.h"

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
 * rsockets live inside librdmacm. Their calls of rdma_* end here when this
 * library is preloaded, but they go on to look behind the rdma_cm_id for the
 * private members of librdmacm's own.
 */
bool ep_called_by_librdmacm(const void *return_address)
{
	static const void *last_other;
	const char *name;
	Dl_info info;

	if (return_address == __atomic_load_n(&last_other, __ATOMIC_RELAXED))
		return false;
	if (dladdr(return_address, &info) && info.dli_fname) {
		name = strrchr(info.dli_fname, '/');
		name = name ? name + 1 : info.dli_fname;
		if (!strncmp(name, "librdmacm.so", strlen("librdmacm.so")))
			return true;
	}
	__atomic_store_n(&last_other, return_address, __ATOMIC_RELAXED);
	return false;
}
