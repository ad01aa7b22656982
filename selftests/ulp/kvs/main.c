// SPDX-License-Identifier: GPL-2.0-only
/*
 * Module and debugfs. The parameter "listen", with "port", starts a server. In
 * /sys/kernel/debug/kvs:
 *
 *	server	read: the server's numbers of clients and receives
 *	client	an open file is a connection. write(2) takes the lines "connect ADDR
 *		PORT", "put KEY VALUE", "get KEY", "delete KEY" and returns their
 *		errors; read(2) returns the value of the latest "get"
 *	load	write "ADDR PORT CLIENTS REQUESTS": runs that many clients in threads
 *		and returns when they have ended; read: the results
 */
#include <linux/debugfs.h>
#include <linux/inet.h>
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "kvs.h"

#define LOAD_CLIENTS_MAX	256
#define LOAD_REQUESTS_MAX	1000000
#define LINE_MAX		(16 + KVS_KEY_MAX + KVS_VALUE_MAX)

static char *listen = "";
module_param(listen, charp, 0444);
MODULE_PARM_DESC(listen, "address of the server (none: no server)");

static char *port = "7174";
module_param(port, charp, 0444);
MODULE_PARM_DESC(port, "port of the server");

static struct kvs_server server;
static struct dentry *dir;

static struct net *caller_net(void)
{
	return current->nsproxy->net_ns;
}

/* ---- server */

static int server_show(struct seq_file *s, void *unused)
{
	unsigned int i, clients = 0;

	for (i = 0; i < KVS_CLIENTS; i++)
		clients += !!READ_ONCE(server.conns[i].ep);
	seq_printf(s, "listening %d\n", !!READ_ONCE(server.listener));
	seq_printf(s, "clients %u of %u\n", clients, KVS_CLIENTS);
	seq_printf(s, "receives %u of %u\n", kvs_slots_posted(), KVS_SLOTS);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(server);

/* ---- client */

struct session {
	struct mutex lock;	/* one command at a time */
	struct kvs_client *client;
	size_t len;
	char value[KVS_VALUE_MAX + 1];
};

static int client_open(struct inode *inode, struct file *file)
{
	struct session *s = kvzalloc(sizeof(*s), GFP_KERNEL);

	if (!s)
		return -ENOMEM;
	mutex_init(&s->lock);
	file->private_data = s;
	return stream_open(inode, file);
}

static int client_release(struct inode *inode, struct file *file)
{
	struct session *s = file->private_data;

	if (s->client)
		kvs_close(s->client);
	kvfree(s);
	return 0;
}

static int session_connect(struct session *s, const char *addr, const char *service)
{
	struct sockaddr_storage ss;
	struct kvs_client *client;
	int ret;

	if (s->client)
		return -EISCONN;
	ret = inet_pton_with_scope(caller_net(), AF_UNSPEC, addr, service, &ss);
	if (ret)
		return ret;
	client = kvs_connect(caller_net(), (struct sockaddr *)&ss);
	if (IS_ERR(client))
		return PTR_ERR(client);
	s->client = client;
	return 0;
}

static int session_get(struct session *s, const char *key)
{
	ssize_t ret;

	ret = kvs_call(s->client, KVS_GET, key, NULL, 0, s->value);
	if (ret < 0)
		return ret;
	s->value[ret] = '\n';
	s->len = ret + 1;
	return 0;
}

static int command(struct session *s, char *line)
{
	char *cmd = strsep(&line, " "), *key = strsep(&line, " ");

	s->len = 0;
	if (!key)
		return -EINVAL;
	if (!strcmp(cmd, "connect"))
		return line ? session_connect(s, key, line) : -EINVAL;
	if (!s->client)
		return -ENOTCONN;
	if (!strcmp(cmd, "get") && !line)
		return session_get(s, key);
	if (!strcmp(cmd, "put") && line)
		return kvs_call(s->client, KVS_PUT, key, line, strlen(line), NULL);
	if (!strcmp(cmd, "delete") && !line)
		return kvs_call(s->client, KVS_DELETE, key, NULL, 0, NULL);
	return -EINVAL;
}

static ssize_t client_write(struct file *file, const char __user *buf, size_t len, loff_t *pos)
{
	struct session *s = file->private_data;
	char *line;
	int ret;

	if (len > LINE_MAX)
		return -EMSGSIZE;
	line = memdup_user_nul(buf, len);
	if (IS_ERR(line))
		return PTR_ERR(line);
	strim(line);
	ret = mutex_lock_killable(&s->lock);
	if (!ret) {
		ret = command(s, line);
		mutex_unlock(&s->lock);
	}
	kfree(line);
	return ret < 0 ? ret : len;
}

static ssize_t client_read(struct file *file, char __user *buf, size_t len, loff_t *pos)
{
	struct session *s = file->private_data;
	ssize_t ret;

	if (mutex_lock_killable(&s->lock))
		return -ERESTARTSYS;
	ret = min(len, s->len);
	if (copy_to_user(buf, s->value, ret)) {
		ret = -EFAULT;
	} else {
		s->len -= ret;
		memmove(s->value, s->value + ret, s->len);
	}
	mutex_unlock(&s->lock);
	return ret;
}

static const struct file_operations client_fops = {
	.owner = THIS_MODULE,
	.open = client_open,
	.release = client_release,
	.read = client_read,
	.write = client_write,
};

/* ---- load */

static DEFINE_MUTEX(load_lock);
static struct kvs_load last_load;
static int last_load_ret;

static int load_show(struct seq_file *s, void *unused)
{
	if (mutex_lock_killable(&load_lock))
		return -ERESTARTSYS;
	seq_printf(s, "clients %u of %u\n", atomic_read(&last_load.connected), last_load.clients);
	seq_printf(s, "replies %u of %u\n", atomic_read(&last_load.replies),
		   last_load.clients * last_load.requests);
	seq_printf(s, "error %d\n", last_load_ret);
	mutex_unlock(&load_lock);
	return 0;
}

static int load_parse(struct kvs_load *load, char *line)
{
	char *addr = strsep(&line, " "), *service = strsep(&line, " ");

	if (!line || sscanf(line, "%u %u", &load->clients, &load->requests) != 2)
		return -EINVAL;
	if (load->clients > LOAD_CLIENTS_MAX || load->requests > LOAD_REQUESTS_MAX)
		return -ERANGE;
	load->net = caller_net();
	return inet_pton_with_scope(load->net, AF_UNSPEC, addr, service, &load->addr);
}

static ssize_t load_write(struct file *file, const char __user *buf, size_t len, loff_t *pos)
{
	struct kvs_load load = {};
	char *line;
	int ret;

	if (len > LINE_MAX)
		return -EMSGSIZE;
	line = memdup_user_nul(buf, len);
	if (IS_ERR(line))
		return PTR_ERR(line);
	ret = load_parse(&load, strim(line));
	kfree(line);
	if (ret)
		return ret;
	if (mutex_lock_killable(&load_lock))
		return -ERESTARTSYS;
	last_load = load;
	last_load_ret = kvs_load_run(&last_load);
	ret = last_load_ret;
	mutex_unlock(&load_lock);
	return ret ?: len;
}

static int load_open(struct inode *inode, struct file *file)
{
	return single_open(file, load_show, NULL);
}

static const struct file_operations load_fops = {
	.owner = THIS_MODULE,
	.open = load_open,
	.release = single_release,
	.read = seq_read,
	.llseek = seq_lseek,
	.write = load_write,
};

/* ---- module */

static int start_server(void)
{
	struct sockaddr_storage addr;
	int ret;

	if (!*listen)
		return 0;
	ret = inet_pton_with_scope(caller_net(), AF_UNSPEC, listen, port, &addr);
	if (ret)
		return ret;
	return kvs_server_start(&server, caller_net(), (struct sockaddr *)&addr);
}

static int __init kvs_init(void)
{
	int ret;

	ret = start_server();
	if (ret)
		return ret;
	dir = debugfs_create_dir("kvs", NULL);
	debugfs_create_file("server", 0400, dir, &server, &server_fops);
	debugfs_create_file("client", 0600, dir, NULL, &client_fops);
	debugfs_create_file("load", 0600, dir, NULL, &load_fops);
	return 0;
}
module_init(kvs_init);

static void __exit kvs_exit(void)
{
	debugfs_remove(dir);
	if (*listen)
		kvs_server_stop(&server);
	kvs_store_clear();
}
module_exit(kvs_exit);

MODULE_DESCRIPTION("Key-value store on rdma_ep");
MODULE_LICENSE("GPL");
