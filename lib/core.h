/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * librdma_ep, the lowest layer: sessions, devices, rings, the real libraries.
 *
 * The layers are core.h, objects.h and cm.h, each on those before it. Exported functions
 * check their arguments, pass calls on foreign objects on, and call internal functions
 * (lep_*). An internal function calls an exported one only for a verb on an object that the
 * program has put into an id: the object may belong to another library.
 *
 * Programs read and write the public structures of verbs.h and rdma_cma.h, so the library
 * keeps no second copy of a value. Private structures start with the public one.
 */
#ifndef RDMA_EP_LIB_CORE_H
#define RDMA_EP_LIB_CORE_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <rdma/rdma_ep.h>

/* The headers wrap these in macros; the library defines the functions. */
#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova
#undef ibv_get_device_list

/*
 * Marks memory that the kernel has written through a pointer in a command. valgrind decodes
 * the commands by their numbers, but does not follow such pointers.
 */
#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#define lep_written(ptr, len) \
	((void)VALGRIND_MAKE_MEM_DEFINED_IF_ADDRESSABLE(ptr, len))
#else
#define lep_written(ptr, len) ((void)(ptr), (void)(len))
#endif

#define LEP_EXPORT __attribute__((visibility("default")))

#ifndef AF_IB
#define AF_IB 27
#endif

#define lep_container(ptr, type, member) \
	((type *)((char *)(ptr) - offsetof(type, member)))

static inline int lep_err(int error)
{
	errno = error;
	return -1;
}

/* Frees memory after a failed call. Returns NULL, with the errno of that call. */
static inline void *lep_free_null(void *ptr)
{
	int error = errno;

	free(ptr);
	errno = error;
	return NULL;
}

/* The same with -1. */
static inline int lep_free_err(void *ptr)
{
	lep_free_null(ptr);
	return -1;
}

static inline void *lep_null(int error)
{
	errno = error;
	return NULL;
}

/* ---------------------------------------------------------------- session.c */

/*
 * One open of the device. All objects point to the session that created them: a fork()ed
 * child sets the file descriptor of its parent's session to -1, so that the parent's
 * objects fail with EBADF there.
 */
struct lep_context;

struct lep_session {
	int fd;
	uint32_t max_post_bytes;
	struct rdma_ep_cq_ring *rings;	/* or NULL */
	struct lep_context *defaults;	/* contexts that ids use; lep_devices_lock */
	struct lep_session *next;	/* of all of this process; lep_session_lock */
};

/*
 * True if the session belongs to a parent of this fork()ed process, or has been handed over
 * to another process.
 */
static inline bool lep_inherited(const struct lep_session *session)
{
	return session->fd < 0;
}

extern pthread_mutex_t lep_session_lock;

struct lep_session *lep_session_get(void);
struct lep_session *lep_session_current(void);
void lep_session_forked(void);
struct lep_session *lep_session_adopt(int fd, uint32_t flags);
void lep_session_give_up(struct lep_session *session);
void lep_session_return(struct lep_session *session);
struct lep_session *lep_session_of_fd(int fd);
void lep_session_close(struct lep_session *session);
int lep_obj_destroy(struct lep_session *session, uint32_t type, uint32_t handle,
		    uint32_t *events, uint32_t *comp_events);
void lep_close_fd(int fd);
int lep_read_record(int fd, void *rec, size_t size, void (*cancelled)(void *arg), void *arg);
void lep_unlock(void *mutex);
void lep_wait_acked(pthread_mutex_t *mutex, pthread_cond_t *cond,
		    const uint32_t *acked, uint32_t reported);

/* Executes a command, after filling in its size. */
#define lep_call(session, name, cmd) \
	((cmd)->size = sizeof(*(cmd)), \
	 ioctl((session)->fd, RDMA_EP_IOC_##name, (cmd)))

/* ENODEV for an open device: the device has been removed. */
static inline int lep_query_errno(int error)
{
	return error == ENODEV ? EIO : error;
}

/* ------------------------------------------------------------ device_list.c */

struct lep_device {
	struct ibv_device ibdev;
	/*
	 * libibverbs keeps private members behind the public ones; libraries
	 * that look there (mlx5dv_is_supported() compares the ops pointer) find
	 * zeros.
	 */
	uint64_t verbs_device[16];

	struct lep_device *next;
	uint32_t index;
	uint32_t ib_index;
	__be64 guid;
	int num_comp_vectors;
	int num_ports;

	bool has_xrc;

	/* The limits of a connection's parameters. */
	bool have_limits;
	uint8_t max_responder_resources;
	uint8_t max_initiator_depth;
};

static inline struct lep_device *lep_to_dev(struct ibv_device *device)
{
	return (struct lep_device *)device;
}

extern pthread_mutex_t lep_devices_lock;

int lep_session_get_cm(struct lep_session **session);
int lep_devices_refresh(struct lep_session *session, struct ibv_device ***list);
struct lep_device *lep_device_get(struct lep_session *session, uint32_t index);
struct lep_device *lep_device_removed(uint32_t index);
bool lep_device_ours(struct ibv_device *device);
int lep_device_limits(struct lep_session *session, struct lep_device *dev);
void lep_devices_forked(void);

/* ---------------------------------------------------------------- forward.c */

void *lep_real(const char *name, const char *version);
void *lep_real_cm(const char *name);
void *lep_real_rsocket(const char *name);
bool lep_called_by_real(const void *return_address);

/* True if one of the real libraries has called the function that contains this macro. */
#define lep_real_calls() lep_called_by_real(__builtin_return_address(0))

/* The real function, looked up once; a null pointer if there is none. */
#define lep_real_fn(fn, lookup) ({ \
	static __typeof__(&fn) real_fn; \
	__typeof__(&fn) fn_ = __atomic_load_n(&real_fn, __ATOMIC_RELAXED); \
	if (!fn_) { \
		fn_ = (__typeof__(&fn))(lookup); \
		__atomic_store_n(&real_fn, fn_, __ATOMIC_RELAXED); \
	} \
	fn_; })

/* Calls the function of the real libibverbs. The value is fail if there is none. */
#define lep_forward(fail, version, fn, ...) ({ \
	__typeof__(&fn) to_ = lep_real_fn(fn, lep_real(#fn, version)); \
	to_ ? to_(__VA_ARGS__) : (errno = ENOSYS, (fail)); })

/* The same with librdmacm. */
#define lep_forward_cm(fail, fn, ...) ({ \
	__typeof__(&fn) to_ = lep_real_fn(fn, lep_real_cm(#fn)); \
	to_ ? to_(__VA_ARGS__) : (errno = EINVAL, (fail)); })

/* The same for functions that return void. */
#define lep_forward_void(version, fn, ...) do { \
	__typeof__(&fn) to_ = lep_real_fn(fn, lep_real(#fn, version)); \
	if (to_) \
		to_(__VA_ARGS__); \
} while (0)

#define lep_forward_cm_void(fn, ...) do { \
	__typeof__(&fn) to_ = lep_real_fn(fn, lep_real_cm(#fn)); \
	if (to_) \
		to_(__VA_ARGS__); \
} while (0)

/* ---------------------------------------------------------------- convert.c */

void lep_ah_attr_from_uapi(struct ibv_ah_attr *dst,
			   const struct ib_uverbs_ah_attr *src);
void lep_ah_attr_to_uapi(struct ib_uverbs_ah_attr *dst,
			 const struct ibv_ah_attr *src);
void lep_qp_attr_from_uapi(struct ibv_qp_attr *dst,
			   const struct ib_uverbs_qp_attr *src);
void lep_qp_attr_to_uapi(struct ib_uverbs_qp_attr *dst,
			 const struct ibv_qp_attr *src, int mask);
void lep_path_from_uapi(struct ibv_sa_path_rec *dst,
			const struct rdma_ep_path_rec *src);
socklen_t lep_addr_len(const struct sockaddr *addr);
__be16 lep_addr_port(const struct sockaddr_storage *addr);
int lep_addr_to_uapi(struct __kernel_sockaddr_storage *dst,
		     const struct sockaddr *src, socklen_t len);

#endif
