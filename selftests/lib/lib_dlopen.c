// SPDX-License-Identifier: GPL-2.0-only
/*
 * A plug-in's use of the library: dlopen(RTLD_LOCAL), calls, dlclose(), repeatedly and in
 * threads. The program is not linked with the library. lib_dlopen.stock opens librdmacm.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <netinet/in.h>
#include <arpa/inet.h>

#include <rdma/rdma_cma.h>

#include "kselftest_harness.h"
#include "stock.h"

static int open_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = -3;		/* ".", ".." and the descriptor of dir */

	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

/* Opens, calls and closes the library. Returns the step that failed, or NULL. */
static const char *use(void)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };
	__typeof__(&rdma_create_id) create;
	__typeof__(&rdma_bind_addr) bind;
	__typeof__(&rdma_destroy_id) destroy;
	struct rdma_cm_id *id;
	void *handle;

	handle = dlopen(is_stock() ? "librdmacm.so.1" : "librdma_ep.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		return dlerror();
	create = (__typeof__(create))dlsym(handle, "rdma_create_id");
	bind = (__typeof__(bind))dlsym(handle, "rdma_bind_addr");
	destroy = (__typeof__(destroy))dlsym(handle, "rdma_destroy_id");
	if (!create || !bind || !destroy)
		return "dlsym";
	inet_pton(AF_INET, getenv("RDMA_ADDR") ?: "10.42.0.1", &sin.sin_addr);
	if (create(NULL, &id, NULL, RDMA_PS_TCP))
		return "rdma_create_id";
	if (bind(id, (struct sockaddr *)&sin))
		return "rdma_bind_addr";
	if (!id->verbs)
		return "id->verbs";
	if (destroy(id))
		return "rdma_destroy_id";
	return dlclose(handle) ? dlerror() : NULL;
}

/* fork() after dlclose() runs the library's handlers. The child opens the library again. */
static int use_in_child(void)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		alarm(20);
		_exit(!!use());
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

TEST(again_and_again)
{
	int i, files;

	ASSERT_STREQ("", use() ?: "");
	files = open_files();
	for (i = 0; i < 10; i++) {
		ASSERT_STREQ("", use() ?: "");
		ASSERT_EQ(0, use_in_child());
	}
	/* librdmacm leaves files open. */
	if (!is_stock())
		EXPECT_EQ(files, open_files());
}

static void *use_in_thread(void *arg)
{
	const char *failed = NULL;
	int i;

	for (i = 0; i < 5 && !failed; i++)
		failed = use();
	return (void *)failed;
}

TEST(in_threads)
{
	pthread_t t[3];
	void *failed;
	int i;

	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, pthread_create(&t[i], NULL, use_in_thread, NULL));
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, pthread_join(t[i], &failed));
		EXPECT_EQ(NULL, failed);
	}
	EXPECT_EQ(0, use_in_child());
}

TEST_HARNESS_MAIN
