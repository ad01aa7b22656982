// SPDX-License-Identifier: BSD-2-Clause
/*
 * rdma-ep doctor: checks all requirements of a program. Each line has a verdict and, for a
 * problem, the remedy.
 */
#include <dlfcn.h>
#include <errno.h>
#include <grp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "tool.h"

#define OFED "/usr/src/ofa_kernel"
#define LINK_RXE "rdma link add rxe0 type rxe netdev NETDEV"
#define LINK_IN_NETNS "ip netns exec NAME rdma link add siw1 type siw netdev NETDEV"

static const char * const verdicts[] = { "ok", "warn", "fail" };

static bool json;
static int failed;

void say(const char *check, enum verdict v, const char *mend, const char *fmt, ...)
{
	char raw[512], text[ESCAPED(sizeof(raw))], how[ESCAPED(320)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(raw, sizeof(raw), fmt, ap);
	va_end(ap);
	escape(text, raw, strlen(raw));
	escape(how, mend ? mend : "", mend ? strnlen(mend, 320) : 0);
	failed += v == FAIL;
	if (json) {
		json_open(NULL, '{');
		json_string("check", check);
		json_string("verdict", verdicts[v]);
		json_string("text", text);
		if (mend)
			json_string("mend", how);
		json_close('}');
		return;
	}
	printf("%-4s  %-8s %s\n", verdicts[v], check, text);
	if (mend)
		printf("      %8s -> %s\n", "", how);
}

const char *line_of(const char *path)
{
	static char line[256];
	FILE *f = fopen(path, "re");

	line[0] = 0;
	if (f) {
		if (!fgets(line, sizeof(line), f))
			line[0] = 0;
		fclose(f);
	}
	line[strcspn(line, "\n")] = 0;
	return line;
}

const char *on_host(void)
{
	struct utsname u;
	char path[128];

	uname(&u);
	snprintf(path, sizeof(path), "/lib/modules/%s", u.release);
	return access(path, F_OK) ? "on the host: " : "";
}

/* A driver that is not there has ENODEV or ENXIO for its node, which a container keeps. */
static bool no_driver(int error)
{
	return error == ENODEV || error == ENXIO;
}

/* Does modinfo find the module? Not every path has modinfo, so its absence counts as yes. */
static bool module_exists(void)
{
	int status = system("modinfo rdma_ep >/dev/null 2>&1");

	return !status || (WIFEXITED(status) && WEXITSTATUS(status) == 127);
}

/*
 * @fd: of the node, or -1; @error: that of opening it. Without /sys the node shows whether the
 * module is loaded. False: it is not
 */
static bool check_module(int fd, int error)
{
	bool sys = !access("/sys/module", F_OK);
	struct utsname u;
	char mend[128];

	uname(&u);
	if (sys ? !access("/sys/module/rdma_ep", F_OK) : fd >= 0) {
		say("module", OK, NULL, "rdma_ep is loaded (Linux %s)",
		    u.release);
		return true;
	}
	if (!sys && !no_driver(error))
		return true;
	snprintf(mend, sizeof(mend), "%smodprobe rdma_ep", on_host());
	if (*on_host() || module_exists())
		say("module", FAIL, mend, "rdma_ep is not loaded%s",
		    sys ? "" : ", or has been loaded anew since the container began");
	else
		say("module", FAIL,
		    "dkms autoinstall (with the package rdma-ep-dkms), or: make modules && make install-modules",
		    "there is no module rdma_ep for Linux %s", u.release);
	return false;
}

/*
 * The RDMA stack of a card's vendor (MLNX_OFED, DOCA-OFED) replaces the kernel's own. A
 * module fits only one of them.
 */
static void check_stack(void)
{
	bool loaded = !access("/sys/module/mlx_compat", F_OK);
	bool fits = !access("/sys/module/rdma_ep", F_OK);
	bool installed = !access(OFED, F_OK);

	if (access("/sys/module", F_OK))
		return;
	if (loaded && !fits)
		say("stack", WARN,
		    installed ? "build rdma_ep anew, it finds " OFED
				": make modules && make install-modules" :
				"install the headers of that stack (" OFED "), and build rdma_ep anew",
		    "MLNX_OFED or DOCA's RDMA stack is loaded: the module must be built for it");
	else if (!loaded && installed && !fits)
		say("stack", WARN,
		    "/etc/init.d/openibd restart; or build for the kernel's own: make modules OFED= && make install-modules",
		    OFED " is installed, but the kernel's own RDMA stack is loaded: the module is built for the other");
	else
		say("stack", OK, NULL, "the RDMA stack is %s",
		    loaded ? "that of MLNX_OFED or DOCA, and rdma_ep fits" :
			     "the kernel's own");
}

/* Writes a remedy for the error of opening the node, or returns NULL. */
static const char *mend_node(char *mend, size_t size, int error, const struct stat *st,
			     const char *group)
{
	if (no_driver(error) && !access("/sys/module/rdma_ep", F_OK))
		snprintf(mend, size,
			 "restart the container: its node is from before the module was loaded anew");
	else if (no_driver(error))
		snprintf(mend, size,
			 "load the module on the host (modprobe rdma_ep), and restart the container if this stays");
	else if (error == EACCES && st->st_gid && (st->st_mode & 0060) == 0060)
		snprintf(mend, size,
			 "adduser USER %s, and log in again; in a container: --group-add %u, supplementalGroups",
			 group, st->st_gid);
	else if (error == EPERM)
		snprintf(mend, size,
			 "let the container's device cgroup have it (--device " NODE ")");
	else if (error == EACCES)
		snprintf(mend, size, "%schmod 666 " NODE ", or a udev rule (see rdma_ep(4))",
			 on_host());
	else if (error == EDQUOT)
		snprintf(mend, size,
			 "%srdma-ep status; cat " RULES ": objects= of the cgroup, or user_max_objects beside it, limits sessions",
			 on_host());
	else
		return NULL;
	return mend;
}

/* @fd: of the node, or -1; @error: that of opening it */
static void check_node(int fd, int error)
{
	char mend[256], group[64];
	struct stat st;
	struct group *gr;

	if (stat(NODE, &st)) {
		say("node", FAIL, "modprobe rdma_ep; in a container: pass the device " NODE " on",
		    NODE ": %s", strerror(errno));
		return;
	}
	if (fd >= 0) {
		say("node", OK, NULL, NODE " can be opened");
		return;
	}
	gr = getgrgid(st.st_gid);
	snprintf(group, sizeof(group), "%u", st.st_gid);
	if (gr)
		snprintf(group, sizeof(group), "%s", gr->gr_name);
	say("node", FAIL, mend_node(mend, sizeof(mend), error, &st, group),
	    NODE ": %s (mode %04o, group %s)", strerror(error), st.st_mode & 07777, group);
}

static void check_abi(int fd)
{
	struct rdma_ep_cmd_query q = { .size = sizeof(q) };

	if (ioctl(fd, RDMA_EP_IOC_QUERY, &q))
		say("abi", FAIL, "install module and library of one version",
		    "the module does not answer: %s", strerror(errno));
	else if (q.abi_version != RDMA_EP_ABI_VERSION)
		say("abi", FAIL, "install module and library of one version",
		    "the module has ABI %u, this program %u", q.abi_version,
		    RDMA_EP_ABI_VERSION);
	else
		say("abi", OK, NULL, "ABI %u", q.abi_version);
}

/* The library itself compares its version with the module's. */
static void check_library(void)
{
	void *lib = dlopen("librdma_ep.so.1", RTLD_LAZY | RTLD_LOCAL);
	void **(*get_devices)(int *num);
	int num;

	if (!lib) {
		say("library", WARN,
		    "ldconfig, or install the package librdma-ep1; rdma-ep-run finds one that is next to it",
		    "%s", dlerror());
		return;
	}
	*(void **)&get_devices = dlsym(lib, "ibv_get_device_list");
	errno = 0;
	if (get_devices && !get_devices(&num) && errno == EPERM)
		say("library", FAIL,
		    "install module and library of one version; modprobe -r rdma_ep && modprobe rdma_ep",
		    "librdma_ep.so.1 and the module are of different versions");
	else
		say("library", OK, NULL, "librdma_ep.so.1 can be loaded");
}

/*
 * A program on the stock libraries finds a device only if they have a provider for its driver
 * and ABI; rdma_ep needs none. (Their functions, not those of librdma_ep.)
 */
static void check_provider(const struct rdma_ep_device_info *devs, int num)
{
	void *lib = access("/sys/class/infiniband_verbs", F_OK) ? NULL :
		    dlopen("libibverbs.so.1", RTLD_LAZY | RTLD_LOCAL);
	const char *(*get_name)(void *device);
	void **(*get_list)(int *num);
	void **list;
	int i, found;

	if (!lib)
		return;
	*(void **)&get_list = dlsym(lib, "ibv_get_device_list");
	*(void **)&get_name = dlsym(lib, "ibv_get_device_name");
	list = get_list && get_name ? get_list(&found) : NULL;
	for (i = 0; list && i < num; i++) {
		const char *name = (const char *)devs[i].name;
		int j = 0;

		while (j < found && strcmp(get_name(list[j]), name))
			j++;
		if (j == found)
			say("provider", WARN,
			    "run programs by rdma-ep-run, which needs no provider; or install the ibverbs-providers of this kernel's ABI",
			    "libibverbs has no provider for %s: programs on the stock libraries do not find it",
			    name);
	}
}

/* Their devices stay where they have been created. */
static bool is_software(const struct rdma_ep_device_info *dev)
{
	return dev->driver_id == RDMA_DRIVER_RXE || dev->driver_id == RDMA_DRIVER_SIW;
}

static void check_port(const struct rdma_ep_device_info *dev, const struct port *port)
{
	const char *name = (const char *)dev->name;
	char mend[160];

	if (!port->netdev && port->ethernet) {
		snprintf(mend, sizeof(mend), "%s%s", on_host(),
			 is_software(dev) ? LINK_IN_NETNS :
			 "ip link add NEW link NETDEV netns PID type macvlan, and an address for it");
		say("device", WARN, mend,
		    "%s port %d: its network device is in another network namespace",
		    name, port->number);
	} else if (!port->active) {
		snprintf(mend, sizeof(mend), "ip link set %s up",
			 *port->name ? port->name : "NETDEV");
		say("device", WARN, mend, "%s port %d is down", name,
		    port->number);
	} else if (*port->name && !port->address) {
		snprintf(mend, sizeof(mend), "ip addr add ADDRESS/LEN dev %s",
			 port->name);
		say("device", WARN, mend, "%s port %d (%s) has no IP address",
		    name, port->number, port->name);
	} else {
		say("device", OK, NULL, "%s port %d is active%s%s", name,
		    port->number, *port->name ? " on " : "", port->name);
	}
}

/* No device can be used; @num: number of those that the module lists */
static void check_absence(int num)
{
	enum netns_mode mode = rdma_netns_mode();
	char mend[320];

	if (!num && rdma_netns_devices() > 0) {
		snprintf(mend, sizeof(mend), "%scat " RULES ": a rule has to allow the device for this user or cgroup; drivers: see README",
			 on_host());
		say("device", FAIL, mend,
		    "the module's rules close all RDMA devices here, or it has no use for their drivers");
	} else if (!num && mode != NETNS_SHARED) {
		snprintf(mend, sizeof(mend),
			 "%srdma dev set DEVICE netns NAME; for rxe and siw, in shared mode (options ib_core netns_mode=1, at boot): "
			 LINK_IN_NETNS "; on the host's own network: " LINK_RXE, on_host());
		say("device", FAIL, mend, "no RDMA device in this network namespace%s",
		    mode == NETNS_EXCLUSIVE ? ", in exclusive mode" : "");
	} else {
		snprintf(mend, sizeof(mend),
			 "%s" LINK_RXE " (software), or load the driver of the card",
			 on_host());
		say("device", FAIL, mend, "no RDMA device that can be used");
	}
}

static void check_devices(int fd)
{
	struct rdma_ep_device_info devs[MAX_DEVICES];
	int num = devices_get(fd, devs, MAX_DEVICES), i, usable = 0;
	struct port port;
	unsigned int j;

	if (num < 0) {
		say("device", FAIL, NULL, "devices cannot be listed: %s", strerror(errno));
		return;
	}
	for (i = 0; i < num; i++) {
		const char *name = (const char *)devs[i].name;

		if (!(devs[i].flags & RDMA_EP_DEVICE_USER_MR)) {
			say("device", WARN, NULL, "%s cannot be used, %s", name,
			    device_refused(&devs[i]));
			continue;
		}
		usable++;
		for (j = 1; j <= devs[i].phys_port_cnt; j++)
			if (port_get(fd, &devs[i], j, &port))
				check_port(&devs[i], &port);
	}
	if (num > 0)
		check_provider(devs, num);
	if (usable)
		return;
	check_absence(num);
}

/* @host, @port: NULL, or to be checked as well */
static void check_all(const char *host, const char *port)
{
	int fd = node_open(), error = errno;

	if (json)
		json_open(NULL, '[');
	check_stack();
	if (!check_module(fd, error) && access(NODE, F_OK))
		goto out;
	check_node(fd, error);
	check_library();
	if (fd >= 0) {
		check_abi(fd);
		check_devices(fd);
		check_exposed(fd);
		if (host)
			check_reach(fd, host);
		if (port)
			check_listen(port);
	}
	check_memlock(fd);
	if (fd >= 0)
		close(fd);
	check_cgroup();
	check_quota();
out:
	if (json)
		json_close(']');
}

/* Information for a bug report. */
static void report(const char *host, const char *port)
{
	struct utsname u;

	uname(&u);
	printf("== %s %s %s\n", u.sysname, u.release, u.machine);
	printf("== module: version %s",
	       line_of("/sys/module/rdma_ep/version"));
	printf(", srcversion %s", line_of("/sys/module/rdma_ep/srcversion"));
	printf(", taint %s\n", line_of("/sys/module/rdma_ep/taint"));
	printf("== parameters\n");
	fflush(stdout);
	show_output("exec 2>&1; cd " PARAMETERS " && grep . *");
	printf("== checks\n");
	check_all(host, port);
	fflush(stdout);
	printf("== devices\n");
	fflush(stdout);
	show_output("rdma link 2>&1; rdma system 2>&1; ip -brief addr 2>&1");
	printf("== sessions\n");
	fflush(stdout);
	cmd_status(1, (char *[]){ "status", NULL });
	printf("== kernel log\n");
	fflush(stdout);
	show_output("dmesg 2>&1 | grep -aEi 'rdma|rxe|siw|infiniband|mlx|BUG|WARNING' | tail -n 60");
}

int cmd_doctor(int argc, char **argv)
{
	const char *host = NULL, *port = NULL;
	bool reporting = false;

	(void)argc;
	for (argv++; *argv;) {
		if (option(&argv, "--json", NULL)) {
			json = true;
		} else if (option(&argv, "--report", NULL)) {
			reporting = true;
		} else if (option(&argv, "--listen", &port)) {
			if (!port)
				port = *argv ? *argv++ : "";
			if (atoi(port) <= 0 || atoi(port) > 65535)
				usage("doctor: --listen: which port?");
		} else if (**argv == '-' || host) {
			usage("doctor: no such option");
		} else {
			host = *argv++;
		}
	}
	if (json && reporting)
		usage("doctor: --report is text");
	if (reporting)
		report(host, port);
	else
		check_all(host, port);
	return failed ? 1 : 0;
}
