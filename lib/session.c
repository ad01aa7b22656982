// SPDX-License-Identifier: BSD-2-Clause
/*
 * The session: one open file of the device for the whole process. The first call that needs
 * it opens it. A fork()ed child opens its own.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core.h"

/* Guards the creation of current_session, and the list of all sessions. */
pthread_mutex_t lep_session_lock = PTHREAD_MUTEX_INITIALIZER;

static struct lep_session *current_session;
static struct lep_session *sessions;

static void complain(int error)
{
	static bool complained;

	if (complained)
		return;
	complained = true;
	if (error == ENODEV)
		fprintf(stderr, "rdma_ep: %s not found: load the module with \"modprobe rdma_ep\"\n",
			RDMA_EP_DEVICE_NODE);
	else if (error == EACCES)
		fprintf(stderr, "rdma_ep: %s: permission denied: it must be readable and writable for you\n",
			RDMA_EP_DEVICE_NODE);
	else if (error == EPERM)
		fprintf(stderr, "rdma_ep: %s: the module and the library are of different versions\n",
			RDMA_EP_DEVICE_NODE);
}

static int open_errno(int error)
{
	switch (error) {
	case ENOENT:
	case ENOTDIR:
	case ENXIO:
	case ENODEV:
		return ENODEV;	/* as librdmacm without a device */
	case EPERM:
		return EACCES;
	default:
		return error;
	}
}

/* If the mapping fails, the library polls completions by system calls. */
static void map_rings(struct lep_session *session)
{
	void *p = mmap(NULL, RDMA_EP_MAX_RINGS * sizeof(struct rdma_ep_cq_ring),
		       PROT_READ | PROT_WRITE, MAP_SHARED, session->fd, 0);

	session->rings = p == MAP_FAILED ? NULL : p;
}

/* 0 or an errno */
static int check_version(struct lep_session *session)
{
	struct rdma_ep_cmd_query query = {};

	if (lep_call(session, QUERY, &query))
		return errno;
	session->max_post_bytes = query.max_post_bytes;
	return query.abi_version == RDMA_EP_ABI_VERSION ? 0 : EPERM;
}

static struct lep_session *session_open(void)
{
	struct lep_session *session;
	int error;

	session = calloc(1, sizeof(*session));
	if (!session)
		return NULL;

	session->fd = open(RDMA_EP_DEVICE_NODE, O_RDWR | O_CLOEXEC);
	if (session->fd < 0) {
		error = open_errno(errno);
		goto err_free;
	}
	error = check_version(session);
	if (error == ENOTTY)
		error = EPERM;
	if (error) {
		close(session->fd);
		goto err_free;
	}
	map_rings(session);
	return session;

err_free:
	free(session);
	complain(error);
	return lep_null(error);
}

/* The caller holds lep_session_lock. */
static void add_session(struct lep_session *session)
{
	if (!session)
		return;
	session->next = sessions;
	sessions = session;
}

/* The session of this process, or NULL and errno. */
struct lep_session *lep_session_get(void)
{
	struct lep_session *session;
	int state;

	session = __atomic_load_n(&current_session, __ATOMIC_ACQUIRE);
	if (session)
		return session;

	/* open(2) and the message are cancellation points. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	pthread_mutex_lock(&lep_session_lock);
	session = current_session;
	if (!session) {
		session = session_open();
		add_session(session);
		__atomic_store_n(&current_session, session, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&lep_session_lock);
	pthread_setcancelstate(state, NULL);
	return session;
}

/* The session of this process, or NULL and EBADF if it has none yet. */
struct lep_session *lep_session_current(void)
{
	struct lep_session *session = __atomic_load_n(&current_session, __ATOMIC_ACQUIRE);

	return session ? session : lep_null(EBADF);
}

/*
 * A fork()ed child forgets all sessions: it cannot use the parent's objects, as a handle
 * means nothing in another session. It closes the inherited descriptors, so that the sessions
 * end with the parent. The program may have closed them, and opened other files.
 */
void lep_session_forked(void)
{
	struct lep_session *session;

	for (session = sessions; session; session = session->next) {
		if (lep_inherited(session))
			continue;
		if (!check_version(session))
			syscall(SYS_close, session->fd);
		session->fd = -1;
	}
	sessions = NULL;
	__atomic_store_n(&current_session, NULL, __ATOMIC_RELEASE);
}

/* dup3() replaces no descriptor beyond the limit, also if it is open. */
static bool can_replace(int fd)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_NOFILE, &limit) || (rlim_t)fd < limit.rlim_cur;
}

/*
 * Adopt the session of a descriptor, which becomes that of the new owner: the program keeps
 * one number. A process without a session uses this one for all that it creates. On failure
 * the descriptor can be adopted again.
 */
struct lep_session *lep_session_adopt(int fd, uint32_t flags)
{
	struct rdma_ep_cmd_adopt cmd = { .flags = flags };
	struct lep_session *session;
	int error;

	session = calloc(1, sizeof(*session));
	if (!session)
		return NULL;
	session->fd = fd;
	error = check_version(session);
	if (!error && !can_replace(fd))
		error = EMFILE;
	if (!error && lep_call(session, ADOPT, &cmd))
		error = errno;
	if (error) {
		free(session);
		if (error == EPERM)
			complain(error);
		return lep_null(error);
	}
	/* An interrupted dup3() of an open descriptor has not changed it. */
	while (dup3(cmd.fd, fd, O_CLOEXEC) < 0 && (errno == EBUSY || errno == EINTR))
		;
	lep_close_fd(cmd.fd);
	map_rings(session);
	pthread_mutex_lock(&lep_session_lock);
	add_session(session);
	if (!current_session)
		__atomic_store_n(&current_session, session, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&lep_session_lock);
	return session;
}

/* The caller holds lep_session_lock. The descriptor stays open. */
static void forget(struct lep_session *session)
{
	session->fd = -1;
	if (session->rings)
		munmap(session->rings, RDMA_EP_MAX_RINGS * sizeof(struct rdma_ep_cq_ring));
	session->rings = NULL;
	if (current_session == session)
		__atomic_store_n(&current_session, NULL, __ATOMIC_RELEASE);
}

/*
 * Forget a session that the kernel has taken from this process: its objects fail with EBADF.
 * The descriptor stays open.
 */
void lep_session_give_up(struct lep_session *session)
{
	pthread_mutex_lock(&lep_session_lock);
	forget(session);
	pthread_mutex_unlock(&lep_session_lock);
}

/* Undoes lep_session_adopt() of a session that has no objects in this process yet. */
void lep_session_return(struct lep_session *session)
{
	struct rdma_ep_cmd_export cmd = {};
	int error = errno;

	/* The structure stays in the list of sessions. */
	lep_call(session, EXPORT, &cmd);
	lep_session_give_up(session);
	errno = error;
}

/* The session of a descriptor, or NULL and EBADF. The caller holds lep_session_lock. */
struct lep_session *lep_session_of_fd(int fd)
{
	struct lep_session *session = sessions;

	while (session && (lep_inherited(session) || session->fd != fd))
		session = session->next;
	return session ? session : lep_null(EBADF);
}

/*
 * Closes and frees a session to which no structure points. The caller holds lep_session_lock,
 * so that no child inherits the descriptor without finding it in the list.
 */
void lep_session_close(struct lep_session *session)
{
	struct lep_session **next = &sessions;
	int fd = session->fd;

	while (*next != session)
		next = &(*next)->next;
	*next = session->next;
	forget(session);
	lep_close_fd(fd);
	free(session);
}

/* Destroys an object; 0, or -1 and errno. */
int lep_obj_destroy(struct lep_session *session, uint32_t type, uint32_t handle,
		    uint32_t *events, uint32_t *comp_events)
{
	struct rdma_ep_cmd_destroy cmd = { .handle = handle, .type = type };

	if (lep_call(session, DESTROY, &cmd))
		return -1;
	if (events)
		*events = cmd.events_reported;
	if (comp_events)
		*comp_events = cmd.comp_events_reported;
	return 0;
}

/* Closes a file without a cancellation point: a destruction must not stop half-way. */
void lep_close_fd(int fd)
{
	int error = errno;

	if (fd >= 0)
		syscall(SYS_close, fd);
	errno = error;
}

/*
 * Read one record, which the caller has cleared, as a cancellation point. cancelled() runs if the
 * thread is cancelled. glibc before 2.41 may do that although read(2) has succeeded: then the
 * record is not all zero.
 */
int lep_read_record(int fd, void *rec, size_t size, void (*cancelled)(void *arg), void *arg)
{
	ssize_t len;

	pthread_cleanup_push(cancelled, arg);
	len = read(fd, rec, size);
	pthread_cleanup_pop(0);
	if (len == (ssize_t)size)
		return 0;
	return len < 0 ? -1 : lep_err(EIO);
}

void lep_unlock(void *mutex)
{
	pthread_mutex_unlock(mutex);
}

/*
 * Wait until the program has acknowledged all events that the kernel has reported. A thread
 * that is cancelled here leaves the object allocated for the outstanding acknowledgments.
 */
void lep_wait_acked(pthread_mutex_t *mutex, pthread_cond_t *cond,
		    const uint32_t *acked, uint32_t reported)
{
	pthread_mutex_lock(mutex);
	pthread_cleanup_push(lep_unlock, mutex);
	while ((int32_t)(reported - *acked) > 0)
		pthread_cond_wait(cond, mutex);
	pthread_cleanup_pop(1);
}
