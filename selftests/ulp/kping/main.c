// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files in debugfs. A thread executes each command that is written to kping/run;
 * reading from the same open file waits for its end and returns the result. "stop"
 * ends it early. It continues after the file is closed. kping/results lists the
 * results of all commands.
 *
 *	exec 3<>/sys/kernel/debug/kping/run
 *	echo "client addr=10.42.0.1 mode=rping size=4096 count=100 verify" >&3
 *	cat <&3
 */
#include <linux/debugfs.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <linux/sched/task.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "kping.h"

#define KPING_MAX_COMMAND	1024
#define KPING_MAX_RESULT	512
#define KPING_KEEP		64	/* finished runs in kping/results */

/**
 * struct kping_file - an open file
 * @run: latest run of this file, or NULL
 * @pos: position in the result
 */
struct kping_file {
	struct kping_run *run;
	loff_t pos;
};

static LIST_HEAD(kping_runs);
static DEFINE_MUTEX(kping_lock);	/* kping_runs, struct kping_file */
static unsigned int kping_nr_runs;
static struct dentry *kping_dir;

static void kping_run_release(struct kref *ref)
{
	struct kping_run *run = container_of(ref, struct kping_run, ref);

	put_net(run->net);
	kfree(run);
}

static void kping_run_put(struct kping_run *run)
{
	kref_put(&run->ref, kping_run_release);
}

static int kping_thread(void *arg)
{
	struct kping_run *run = arg;

	run->status = run->cmd.server ? kping_server(run) : kping_client(run);
	complete_all(&run->done);
	return 0;
}

/* Stops the thread and waits for its end, unless an earlier call has taken the thread. */
static void kping_run_stop(struct kping_run *run)
{
	struct task_struct *task = xchg(&run->task, NULL);

	if (!task)
		return;
	kthread_stop(task);
	put_task_struct(task);
	/* A thread that is stopped before it runs never calls kping_thread(). */
	complete_all(&run->done);
}

static void kping_run_remove(struct kping_run *run)
{
	kping_run_stop(run);
	kping_run_put(run);
}

static struct kping_run *kping_run_create(char *command)
{
	struct kping_run *run = kzalloc(sizeof(*run), GFP_KERNEL);
	int ret;

	if (!run)
		return ERR_PTR(-ENOMEM);
	kref_init(&run->ref);
	init_completion(&run->done);
	run->status = -EINTR;
	run->net = get_net(current->nsproxy->net_ns);
	ret = kping_parse(&run->cmd, run->net, command);
	if (ret) {
		kping_run_put(run);
		return ERR_PTR(ret);
	}
	return run;
}

/* Takes the oldest of the finished runs off the list, if there are too many. */
static struct kping_run *kping_take_surplus(void)
{
	struct kping_run *run, *oldest = NULL;
	unsigned int n = 0;

	list_for_each_entry_reverse(run, &kping_runs, entry) {
		if (!completion_done(&run->done))
			continue;
		oldest = run;
		n++;
	}
	if (n <= KPING_KEEP)
		return NULL;
	list_del(&oldest->entry);
	return oldest;
}

/* The list has the run's first reference, the file the second. */
static struct kping_run *kping_run_start(char *command)
{
	struct kping_run *run, *surplus;
	struct task_struct *task;

	run = kping_run_create(command);
	if (IS_ERR(run))
		return run;
	run->id = ++kping_nr_runs;
	task = kthread_create(kping_thread, run, "kping/%u", run->id);
	if (IS_ERR(task)) {
		kping_run_put(run);
		return ERR_CAST(task);
	}
	run->task = get_task_struct(task);
	kref_get(&run->ref);
	list_add_tail(&run->entry, &kping_runs);
	surplus = kping_take_surplus();
	wake_up_process(task);
	if (surplus)
		kping_run_remove(surplus);
	return run;
}

static int kping_command(struct kping_file *kfile, char *command)
{
	struct kping_run *run = kfile->run;

	if (!strcmp(strim(command), "stop")) {
		if (!run)
			return -ESRCH;
		kping_run_stop(run);
		return 0;
	}
	if (run && !completion_done(&run->done))
		return -EBUSY;
	run = kping_run_start(command);
	if (IS_ERR(run))
		return PTR_ERR(run);
	if (kfile->run)
		kping_run_put(kfile->run);
	kfile->run = run;
	kfile->pos = 0;
	return 0;
}

static ssize_t kping_write(struct file *file, const char __user *user, size_t size, loff_t *pos)
{
	char *command;
	int ret;

	if (size > KPING_MAX_COMMAND)
		return -E2BIG;
	command = memdup_user_nul(user, size);
	if (IS_ERR(command))
		return PTR_ERR(command);
	mutex_lock(&kping_lock);
	ret = kping_command(file->private_data, command);
	mutex_unlock(&kping_lock);
	kfree(command);
	return ret ?: size;
}

static struct kping_run *kping_file_run(struct kping_file *kfile)
{
	struct kping_run *run;

	mutex_lock(&kping_lock);
	run = kfile->run;
	if (run)
		kref_get(&run->ref);
	mutex_unlock(&kping_lock);
	return run;
}

static ssize_t kping_read(struct file *file, char __user *user, size_t size, loff_t *pos)
{
	struct kping_file *kfile = file->private_data;
	struct kping_run *run = kping_file_run(kfile);
	char *text;
	ssize_t ret;

	if (!run)
		return 0;
	ret = wait_for_completion_interruptible(&run->done);
	if (ret)
		goto out;
	ret = -ENOMEM;
	text = kmalloc(KPING_MAX_RESULT, GFP_KERNEL);
	if (!text)
		goto out;
	ret = kping_print(run, text, KPING_MAX_RESULT);
	ret = simple_read_from_buffer(user, size, &kfile->pos, text, ret);
	kfree(text);
out:
	kping_run_put(run);
	return ret;
}

/* A stream: write() does not wait for a read() of the same file that sleeps. */
static int kping_open(struct inode *inode, struct file *file)
{
	struct kping_file *kfile = kzalloc(sizeof(*kfile), GFP_KERNEL);

	if (!kfile)
		return -ENOMEM;
	file->private_data = kfile;
	return stream_open(inode, file);
}

static int kping_release(struct inode *inode, struct file *file)
{
	struct kping_file *kfile = file->private_data;

	if (kfile->run)
		kping_run_put(kfile->run);
	kfree(kfile);
	return 0;
}

static const struct file_operations kping_run_fops = {
	.owner = THIS_MODULE,
	.open = kping_open,
	.read = kping_read,
	.write = kping_write,
	.release = kping_release,
};

static int kping_results_show(struct seq_file *seq, void *unused)
{
	struct kping_run *run;
	char *text = kmalloc(KPING_MAX_RESULT, GFP_KERNEL);

	if (!text)
		return -ENOMEM;
	mutex_lock(&kping_lock);
	list_for_each_entry(run, &kping_runs, entry) {
		kping_print(run, text, KPING_MAX_RESULT);
		seq_puts(seq, text);
	}
	mutex_unlock(&kping_lock);
	kfree(text);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(kping_results);

static int __init kping_init(void)
{
	kping_dir = debugfs_create_dir("kping", NULL);
	debugfs_create_file("run", 0600, kping_dir, NULL, &kping_run_fops);
	debugfs_create_file("results", 0400, kping_dir, NULL, &kping_results_fops);
	return 0;
}

static void __exit kping_exit(void)
{
	struct kping_run *run, *next;

	debugfs_remove(kping_dir);
	list_for_each_entry_safe(run, next, &kping_runs, entry)
		kping_run_remove(run);
}

module_init(kping_init);
module_exit(kping_exit);

MODULE_DESCRIPTION("RDMA ping-pong and bandwidth over rdma_ep");
MODULE_LICENSE("GPL");
