// SPDX-License-Identifier: GPL-2.0-only
/*
 * The files in debugfs, which mock.h documents.
 */
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "mock.h"

/* The order is that of enum mock_op. */
static const char * const mock_op_names[] = {
	"alloc_pd", "dealloc_pd", "create_ah", "destroy_ah", "create_cq",
	"resize_cq", "modify_cq", "destroy_cq", "poll_cq", "req_notify_cq",
	"create_srq", "modify_srq", "query_srq", "destroy_srq",
	"post_srq_recv", "create_qp", "modify_qp", "query_qp", "destroy_qp",
	"post_send", "post_recv", "attach_mcast", "detach_mcast",
	"reg_user_mr", "rereg_user_mr", "dereg_mr", "alloc_xrcd", "dealloc_xrcd", "query_port",
	"query_pkey",
};

static_assert(ARRAY_SIZE(mock_op_names) == MOCK_NR_OPS);

static const char * const mock_context_names[] = { "irq", "post", "locked", "work" };

static const char * const mock_caps_names[] = { "exact", "more", "unwritten", "silent" };

/* The kinds that have numbers come first. */
static const char * const mock_kind_names[] = { "qp", "cq", "srq", "pd", "mr", "ah", "xrcd" };

static struct dentry *mock_root;

/* Returns 0 or the errno of this call; m->lock is held. */
static int mock_gate_result(struct mock_gate *gate)
{
	if (!gate->err)
		return 0;
	if (gate->after > 0) {
		gate->after--;
		return 0;
	}
	if (!gate->times)
		return 0;
	if (gate->times > 0)
		gate->times--;
	return -gate->err;
}

/* Counts a call that cannot wait, and returns its result; m->lock is held. */
int mock_gate_locked(struct mock_dev *m, enum mock_op op)
{
	m->gates[op].calls++;
	return mock_gate_result(&m->gates[op]);
}

int mock_gate(struct ib_device *ibdev, enum mock_op op, bool may_sleep)
{
	struct mock_dev *m = to_mock(ibdev);
	struct mock_gate *gate = &m->gates[op];
	unsigned long flags;
	bool stall;
	int ret;

	spin_lock_irqsave(&m->lock, flags);
	gate->calls++;
	stall = gate->stall && may_sleep;
	if (stall) {
		gate->stall--;
		gate->waiting++;
		spin_unlock_irqrestore(&m->lock, flags);
		wait_event(m->idle, !READ_ONCE(gate->held));
		spin_lock_irqsave(&m->lock, flags);
		gate->waiting--;
	}
	ret = mock_gate_result(gate);
	spin_unlock_irqrestore(&m->lock, flags);
	return ret;
}

static ssize_t mock_line(char *line, size_t size, const char __user *buf, size_t len)
{
	if (len >= size)
		return -EINVAL;
	if (copy_from_user(line, buf, len))
		return -EFAULT;
	line[len] = 0;
	return 0;
}

static struct mock_dev *mock_of(struct file *file)
{
	struct seq_file *seq = file->private_data;

	return seq->private;
}

static int mock_nothing_show(struct seq_file *seq, void *v)
{
	return 0;
}

static int mock_fail_show(struct seq_file *seq, void *v)
{
	struct mock_gate *gate = seq->private;

	seq_printf(seq, "%u\n", READ_ONCE(gate->calls));
	return 0;
}

static ssize_t mock_fail_write(struct file *file, const char __user *buf, size_t len, loff_t *pos)
{
	struct seq_file *seq = file->private_data;
	struct mock_gate *gate = seq->private;
	int err, times = -1, after = 0;
	char line[32];
	ssize_t ret;

	ret = mock_line(line, sizeof(line), buf, len);
	if (ret)
		return ret;
	if (sscanf(line, "%d %d %d", &err, &times, &after) < 1 || err < 0)
		return -EINVAL;
	spin_lock_irq(&gate->dev->lock);
	gate->err = err;
	gate->times = times;
	gate->after = after;
	spin_unlock_irq(&gate->dev->lock);
	return len;
}

static int mock_stall_show(struct seq_file *seq, void *v)
{
	struct mock_gate *gate = seq->private;

	seq_printf(seq, "%d\n", READ_ONCE(gate->waiting));
	return 0;
}

static int mock_item_show(struct seq_file *seq, void *v)
{
	seq_printf(seq, "%d\n", mock_item_runs());
	return 0;
}

static ssize_t mock_stall_write(struct file *file, const char __user *buf, size_t len, loff_t *pos)
{
	struct seq_file *seq = file->private_data;
	struct mock_gate *gate = seq->private;
	unsigned int calls;
	int ret;

	ret = kstrtouint_from_user(buf, len, 0, &calls);
	if (ret)
		return ret;
	spin_lock_irq(&gate->dev->lock);
	gate->stall = calls;
	WRITE_ONCE(gate->held, calls);
	spin_unlock_irq(&gate->dev->lock);
	wake_up_all(&gate->dev->idle);
	return len;
}

static ssize_t mock_choose(u32 *choice, const char * const *names, size_t nr,
			   const char __user *buf, size_t len)
{
	char line[32];
	ssize_t ret;

	ret = mock_line(line, sizeof(line), buf, len);
	if (ret)
		return ret;
	ret = __sysfs_match_string(names, nr, line);
	if (ret < 0)
		return ret;
	WRITE_ONCE(*choice, ret);
	return len;
}

static ssize_t mock_context_write(struct file *file, const char __user *buf,
				  size_t len, loff_t *pos)
{
	return mock_choose(&mock_of(file)->context, mock_context_names,
			   ARRAY_SIZE(mock_context_names), buf, len);
}

static ssize_t mock_caps_write(struct file *file, const char __user *buf, size_t len, loff_t *pos)
{
	return mock_choose(&mock_of(file)->caps, mock_caps_names,
			   ARRAY_SIZE(mock_caps_names), buf, len);
}

static int mock_last_show(struct seq_file *seq, void *v)
{
	struct mock_dev *m = seq->private;
	int i;

	spin_lock_irq(&m->lock);
	for (i = 0; i < MOCK_PD; i++)
		seq_printf(seq, "%s %u\n", mock_kind_names[i], m->last[i]);
	spin_unlock_irq(&m->lock);
	return 0;
}

static int mock_count_show(struct seq_file *seq, void *v)
{
	struct mock_dev *m = seq->private;
	int i;

	spin_lock_irq(&m->lock);
	for (i = 0; i < MOCK_NR_KINDS; i++)
		seq_printf(seq, "%s %d\n", mock_kind_names[i], m->count[i] - m->base[i]);
	spin_unlock_irq(&m->lock);
	return 0;
}

/* The core calls all handlers for an event of the device or of a port. */
static void mock_event_dispatch(struct mock_dev *m, u32 type, u32 port)
{
	struct ib_event event = { .device = &m->ibdev, .event = type, .element.port_num = port };

	ib_dispatch_event(&event);
}

static int mock_event_raise(struct mock_dev *m, u32 type, const char *kind, u32 num)
{
	struct mock_obj *obj;
	unsigned long flags;
	int i;

	i = match_string(mock_kind_names, MOCK_PD, kind);
	if (i < 0)
		return i;
	spin_lock_irqsave(&m->lock, flags);
	obj = xa_load(&m->objs[i], num);
	if (obj)
		mock_raise(m, obj, type);
	mock_unlock(m, flags);
	return obj ? 0 : -ENOENT;
}

static ssize_t mock_event_write(struct file *file, const char __user *buf, size_t len, loff_t *pos)
{
	struct mock_dev *m = mock_of(file);
	char line[64], kind[16];
	u32 type, num;
	ssize_t ret;

	ret = mock_line(line, sizeof(line), buf, len);
	if (ret)
		return ret;
	if (sscanf(line, "%u %15s %u", &type, kind, &num) != 3)
		return -EINVAL;
	if (!strcmp(kind, "device") || !strcmp(kind, "port"))
		mock_event_dispatch(m, type, num);
	else
		ret = mock_event_raise(m, type, kind, num);
	return ret ?: len;
}

static ssize_t mock_new_write(struct file *file, const char __user *buf, size_t len, loff_t *pos)
{
	char line[256], *rest, *name, *netdev;
	ssize_t ret;

	ret = mock_line(line, sizeof(line), buf, len);
	if (ret)
		return ret;
	rest = strim(line);
	name = strsep(&rest, " ");
	netdev = strsep(&rest, " ");
	if (!netdev)
		return -EINVAL;
	return mock_create(name, netdev, rest) ?: len;
}

static ssize_t mock_del_write(struct file *file, const char __user *buf, size_t len, loff_t *pos)
{
	char line[64];
	ssize_t ret;

	ret = mock_line(line, sizeof(line), buf, len);
	return ret ?: mock_remove(strim(line)) ?: len;
}

/* The file's private data is the function that stores the number. */
static ssize_t mock_number_write(struct file *file, const char __user *buf, size_t len, loff_t *pos)
{
	struct seq_file *seq = file->private_data;
	int (*set)(unsigned int number) = seq->private;
	unsigned int number;
	int ret;

	ret = kstrtouint_from_user(buf, len, 0, &number);
	return ret ?: set(number) ?: len;
}

#define MOCK_FILE(name, show_name, write_fn)				\
static int mock_##name##_open(struct inode *inode, struct file *file)	\
{									\
	return single_open(file, mock_##show_name##_show,		\
			   inode->i_private);				\
}									\
static const struct file_operations mock_##name##_fops = {		\
	.owner = THIS_MODULE,						\
	.open = mock_##name##_open,					\
	.read = seq_read,						\
	.write = write_fn,						\
	.llseek = seq_lseek,						\
	.release = single_release,					\
}

MOCK_FILE(fail, fail, mock_fail_write);
MOCK_FILE(stall, stall, mock_stall_write);
MOCK_FILE(context, nothing, mock_context_write);
MOCK_FILE(caps, nothing, mock_caps_write);
MOCK_FILE(last, last, NULL);
MOCK_FILE(count, count, NULL);
MOCK_FILE(event, nothing, mock_event_write);
MOCK_FILE(new, nothing, mock_new_write);
MOCK_FILE(del, nothing, mock_del_write);
MOCK_FILE(number, nothing, mock_number_write);
MOCK_FILE(item, item, mock_number_write);

void mock_control_add(struct mock_dev *m, const char *name)
{
	struct dentry *fail, *stall;
	int i;

	m->dir = debugfs_create_dir(name, mock_root);
	debugfs_create_file("context", 0200, m->dir, m, &mock_context_fops);
	debugfs_create_file("caps", 0200, m->dir, m, &mock_caps_fops);
	debugfs_create_file("last", 0400, m->dir, m, &mock_last_fops);
	debugfs_create_file("count", 0400, m->dir, m, &mock_count_fops);
	debugfs_create_file("event", 0200, m->dir, m, &mock_event_fops);
	fail = debugfs_create_dir("fail", m->dir);
	stall = debugfs_create_dir("stall", m->dir);
	for (i = 0; i < MOCK_NR_OPS; i++) {
		m->gates[i].dev = m;
		debugfs_create_file(mock_op_names[i], 0600, fail, &m->gates[i], &mock_fail_fops);
		debugfs_create_file(mock_op_names[i], 0600, stall, &m->gates[i], &mock_stall_fops);
	}
}

void mock_control_init(void)
{
	mock_root = debugfs_create_dir(KBUILD_MODNAME, NULL);
	debugfs_create_file("new", 0200, mock_root, NULL, &mock_new_fops);
	debugfs_create_file("del", 0200, mock_root, NULL, &mock_del_fops);
	debugfs_create_file("put_gid_ms", 0200, mock_root, mock_put_gid_delay, &mock_number_fops);
	debugfs_create_file("cm_ms", 0200, mock_root, mock_cm_delay, &mock_number_fops);
	debugfs_create_file("ud_qkey", 0200, mock_root, mock_cm_ud_qkey, &mock_number_fops);
	debugfs_create_file("work_ms", 0600, mock_root, mock_item_delay, &mock_item_fops);
	debugfs_create_file("post_ms", 0200, mock_root, mock_post_delay, &mock_number_fops);
	debugfs_create_file("after_ms", 0200, mock_root, mock_after_delay, &mock_number_fops);
}

void mock_control_cleanup(void)
{
	debugfs_remove_recursive(mock_root);
	mock_put_gid_delay(0);
	mock_cm_delay(0);
	mock_cm_ud_qkey(0);
	mock_item_delay(0);
}
