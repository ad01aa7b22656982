// SPDX-License-Identifier: BSD-2-Clause
/*
 * fork(2). The library holds its locks during a fork, so that a child does not inherit a
 * lock that another thread of the parent holds. The child forgets the session, and the
 * contexts and PDs that belong to it.
 */
#include "cm.h"

static void before_fork(void)
{
	pthread_mutex_lock(&lep_session_lock);
	pthread_mutex_lock(&lep_devices_lock);
	pthread_mutex_lock(&lep_qp_owner_lock);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&lep_qp_owner_lock);
	pthread_mutex_unlock(&lep_devices_lock);
	pthread_mutex_unlock(&lep_session_lock);
}

static void after_fork_in_child(void)
{
	lep_session_forked();
	lep_devices_forked();
	after_fork();
}

/* A constructor, as pthread_once(3) at each use would cost every program a system call. */
static void __attribute__((constructor)) register_fork_handlers(void)
{
	pthread_atfork(before_fork, after_fork, after_fork_in_child);
}

/*
 * Every kernel that the module supports copies pinned pages for the child, so a program has
 * nothing to prepare.
 */
LEP_EXPORT int ibv_fork_init(void)
{
	return 0;
}

LEP_EXPORT enum ibv_fork_status ibv_is_fork_initialized(void)
{
	return IBV_FORK_UNNEEDED;
}
