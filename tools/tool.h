/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rdma-ep: shows the programs that use the module rdma_ep, the devices, and problems.
 */
#ifndef RDMA_EP_TOOL_H
#define RDMA_EP_TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <rdma/rdma_ep.h>

#define NODE	"/dev/infiniband/rdma_ep"
#define PARAMETERS	"/sys/module/rdma_ep/parameters"
#define RULES	PARAMETERS "/rules"

int cmd_run(int argc, char **argv);
int cmd_status(int argc, char **argv);
int cmd_devices(int argc, char **argv);
int cmd_metrics(int argc, char **argv);
int cmd_doctor(int argc, char **argv);

/* main.c */
/* Exits with 2. */
_Noreturn void usage(const char *why);
/*
 * Takes the next argument if it is the option, and returns true then. "--name=VALUE"
 * sets the value, "--name" sets it to NULL.
 */
bool option(char ***argv, const char *name, const char **value);

/* doctor.c */
enum verdict { OK, WARN, FAIL };

/* @mend: command or advice, or NULL */
__attribute__((format(printf, 4, 5)))
void say(const char *check, enum verdict v, const char *mend, const char *fmt, ...);
/*
 * The beginning of a remedy that a container cannot apply: "on the host: " where the kernel's
 * modules are not installed, as in an image, else "".
 */
const char *on_host(void);
/* Returns the first line of a file until the next call, or "". */
const char *line_of(const char *path);

/* netns.c: answers of the RDMA netlink, which needs neither rights nor /sys */
enum netns_mode { NETNS_UNKNOWN, NETNS_EXCLUSIVE, NETNS_SHARED };

enum netns_mode rdma_netns_mode(void);
/* Returns the number of devices in the network namespace, with those that rules close, or -1. */
int rdma_netns_devices(void);

/* exposed.c, limits.c, reach.c: checks of doctor. @fd: of the node, or -1 in check_memlock() */
void check_exposed(int fd);
void check_memlock(int fd);
void check_cgroup(void);
void check_quota(void);
void check_reach(int fd, const char *name);
void check_listen(const char *port);

/* escape.c */
/* Room for a text of that length, escaped. */
#define ESCAPED(_len)	(6 * (size_t)(_len) + 1)

void escape(char *out, const char *text, size_t len);
/* For the value of a label in OpenMetrics */
void escape_label(char *out, const char *text, size_t len);
void show_output(const char *command);

/* json.c: each call prints one value, with its comma and indentation. */
void json_open(const char *key, char bracket);
void json_close(char bracket);
void json_string(const char *key, const char *value);
void json_number(const char *key, long long value);
void json_bool(const char *key, bool value);

/* devices.c */
#define MAX_DEVICES	64

/* rdma_ep_device_info.node_type */
enum { NODE_IWARP = 4 };

struct port {
	int number;
	bool active;
	bool ethernet;
	unsigned int netdev;	/* ifindex, or that of the first GID's (a macvlan); 0: none here */
	char name[32];		/* of the network device */
	bool netdev_up;
	bool address;		/* the network device has an IP address */
	int gids;
};

/* Returns a file of the module, or -1 and errno. */
int node_open(void);
/* Returns the number of devices, or -1 and errno. */
int devices_get(int fd, struct rdma_ep_device_info *devs, int max);
/* Returns the reason why programs cannot use the device. */
const char *device_refused(const struct rdma_ep_device_info *dev);
bool port_get(int fd, const struct rdma_ep_device_info *dev, int number,
	      struct port *port);

/* sessions.c */
struct pair {
	char *key;
	char *value;
};

struct id_line {
	char handle[16], ps[8], state[16], src[64], dst[64], dev[64], qp[16];
};

struct session {
	unsigned long number;
	int pid;
	int fd;
	char comm[ESCAPED(32)];	/* escaped */
	struct pair *pairs;
	int nr_pairs;
	struct id_line *ids;
	int nr_ids;
	char **restrictions;
	int nr_restrictions;
};

/*
 * Lists the sessions of all processes that the caller may inspect, each session once.
 * *hidden is true if there are other processes. @pid selects one process, unless it is 0.
 */
int sessions_get(int pid, struct session **sessions, bool *hidden);
void sessions_free(struct session *sessions, int num);
const struct session *session_find(const struct session *list, int num, unsigned long number);
const char *session_value(const struct session *s, const char *key);
long long session_number(const struct session *s, const char *key);

#endif /* RDMA_EP_TOOL_H */
