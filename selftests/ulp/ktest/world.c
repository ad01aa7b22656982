// SPDX-License-Identifier: GPL-2.0-only
/*
 * Addresses, shell commands, the second device, other namespaces.
 */
#include <linux/fs.h>
#include <linux/kmod.h>
#include <linux/proc_ns.h>
#include <linux/slab.h>

#include "world.h"

char *kt_addr_text = "10.42.0.1";
module_param_named(addr, kt_addr_text, charp, 0444);
MODULE_PARM_DESC(addr, "IPv4 address of the device");

static char *addr6 = "fd42::1";
module_param(addr6, charp, 0444);
MODULE_PARM_DESC(addr6, "IPv6 address of the device");

char *kt_helper_script = "/usr/lib/rdma_ep/selftests/clients/ktest_device.sh";
module_param_named(helper, kt_helper_script, charp, 0444);
MODULE_PARM_DESC(helper, "script that makes and removes devices");

char *kt_kind = "rxe";
module_param_named(kind, kt_kind, charp, 0444);
MODULE_PARM_DESC(kind, "kind of the second device");

static struct sockaddr_storage kt_addr4_sa, kt_addr6_sa;

const struct sockaddr_storage *kt_addr(void)
{
	return &kt_addr4_sa;
}

const struct sockaddr_storage *kt_addr6(void)
{
	return &kt_addr6_sa;
}

/* Returns AF_UNSPEC if @text is no address. */
struct sockaddr_storage kt_sa(const char *text, u16 port)
{
	struct sockaddr_storage sa = {};
	char buf[8];

	snprintf(buf, sizeof(buf), "%u", port);
	if (inet_pton_with_scope(&init_net, AF_UNSPEC, text, buf, &sa))
		sa.ss_family = AF_UNSPEC;
	return sa;
}

struct sockaddr_storage kt_with_port(const struct sockaddr_storage *base, u16 port)
{
	struct sockaddr_storage sa = *base;

	if (sa.ss_family == AF_INET6)
		((struct sockaddr_in6 *)&sa)->sin6_port = htons(port);
	else
		((struct sockaddr_in *)&sa)->sin_port = htons(port);
	return sa;
}

u16 kt_port(const struct sockaddr_storage *sa)
{
	if (sa->ss_family == AF_INET6)
		return ntohs(((const struct sockaddr_in6 *)sa)->sin6_port);
	return ntohs(((const struct sockaddr_in *)sa)->sin_port);
}

/* Compares addresses and ports. */
bool kt_same_addr(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	if (a->ss_family != b->ss_family || kt_port(a) != kt_port(b))
		return false;
	if (a->ss_family == AF_INET6)
		return ipv6_addr_equal(&((struct sockaddr_in6 *)a)->sin6_addr,
				       &((struct sockaddr_in6 *)b)->sin6_addr);
	return ((struct sockaddr_in *)a)->sin_addr.s_addr ==
	       ((struct sockaddr_in *)b)->sin_addr.s_addr;
}

int kt_world_init(void)
{
	kt_addr4_sa = kt_sa(kt_addr_text, 0);
	kt_addr6_sa = kt_sa(addr6, 0);
	return kt_addr4_sa.ss_family == AF_INET && kt_addr6_sa.ss_family == AF_INET6 ? 0 : -EINVAL;
}

/* ---- commands */

static int kt_exec(char **argv)
{
	static char *envp[3] = {
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME=/", NULL
	};
	int ret;

	ret = call_usermodehelper(argv[0], argv, envp, UMH_WAIT_PROC | UMH_KILLABLE);
	return ret > 0 ? ret >> 8 ?: 128 + (ret & 127) : ret;
}

int kt_shell(const char *fmt, ...)
{
	char *argv[4] = { "/bin/sh", "-c" };
	va_list args;
	int ret;

	va_start(args, fmt);
	argv[2] = kvasprintf(GFP_KERNEL, fmt, args);
	va_end(args);
	if (!argv[2])
		return -ENOMEM;
	ret = kt_exec(argv);
	kfree(argv[2]);
	return ret;
}

/* ---- the second device */

static void kt_clean(struct kt *t, void *arg)
{
	kt_expect_eq(t, 0, kt_helper("clean"));
}

void kt_second_device(struct kt *t)
{
	kt_defer(t, KT_REST, kt_clean, kt_clean);
	kt_assert_eq(t, 0, kt_helper("add"));
}

void kt_mock_device(struct kt *t)
{
	kt_defer(t, KT_REST, kt_clean, kt_clean);
	kt_assert_eq(t, 0, kt_helper("add-mock"));
}

static int kt_call_helper(struct kt_args *args)
{
	return kt_helper("%s", (const char *)args->data);
}

struct kt_call *kt_remove(struct kt *t, const char *how)
{
	return kt_call_in(t, KT_REST, kt_call_helper, &(struct kt_args) { .data = (void *)how });
}

static void kt_put_netns(struct kt *t, void *net)
{
	put_net(net);
}

struct net *kt_get_netns(struct kt *t, const char *name)
{
	char *path = kasprintf(GFP_KERNEL, "/run/netns/%s", name);
	struct ns_common *ns;
	struct file *file;
	struct net *net;

	kt_assert(t, path);
	file = filp_open(path, O_RDONLY, 0);
	kfree(path);
	kt_assert_ok(t, file);
	ns = get_proc_ns(file_inode(file));
	net = get_net(container_of(ns, struct net, ns));
	fput(file);
	kt_defer(t, KT_REST, kt_put_netns, net);
	return net;
}
