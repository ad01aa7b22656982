// SPDX-License-Identifier: GPL-2.0-only
/* The transaction of a command: all of its changes are committed, or all are undone. */
#include <linux/anon_inodes.h>
#include <linux/file.h>

#include "core.h"

void uep_cmd_add_step(struct uep_cmd *cmd, void (*end)(struct uep_cmd_step *step, bool commit),
		      void *obj, void *arg)
{
	cmd->steps[cmd->nr_steps++] = (struct uep_cmd_step) { end, obj, arg };
}

static void uep_cmd_end_obj(struct uep_cmd_step *step, bool commit)
{
	struct uep_obj *obj = step->obj;

	if (!commit)
		uep_obj_discard(obj);
	else if (obj->type->publish)
		obj->type->publish(obj);
	else
		uep_obj_publish(obj);
}

/*
 * Publishes or discards the object with the command. @obj: begins with a struct uep_obj, or
 * ERR_PTR. @handle: where to write its handle, or NULL. On failure it has been discarded.
 */
int uep_cmd_add_obj(struct uep_cmd *cmd, void *obj, u32 *handle)
{
	struct uep_obj *o = obj;
	int ret;

	if (IS_ERR(obj))
		return PTR_ERR(obj);
	ret = uep_obj_reserve(o);
	if (ret) {
		uep_obj_discard(o);
		return ret;
	}
	uep_cmd_add_step(cmd, uep_cmd_end_obj, o, NULL);
	if (handle)
		*handle = o->handle;
	return 0;
}

static void uep_cmd_end_file(struct uep_cmd_step *step, bool commit)
{
	int fd = (long)step->arg;

	if (commit) {
		fd_install(fd, step->obj);
	} else {
		put_unused_fd(fd);
		fput(step->obj);
	}
}

/*
 * Creates a file that is installed with the command. Returns its descriptor. On failure
 * @priv has not been released.
 */
int uep_cmd_add_file(struct uep_cmd *cmd, const char *name,
		     const struct file_operations *fops, void *priv, int flags)
{
	struct file *file;
	int fd;

	fd = get_unused_fd_flags(O_CLOEXEC);
	if (fd < 0)
		return fd;
	file = anon_inode_getfile(name, fops, priv, flags);
	if (IS_ERR(file)) {
		put_unused_fd(fd);
		return PTR_ERR(file);
	}
	uep_cmd_add_step(cmd, uep_cmd_end_file, file, (void *)(long)fd);
	return fd;
}

/* The latest step first. */
void uep_cmd_commit(struct uep_cmd *cmd)
{
	struct uep_cmd_step *step = &cmd->steps[cmd->nr_steps];

	while (step-- > cmd->steps)
		step->end(step, true);
}

/* Undoes all but the first @nr_steps, the latest first. */
void uep_cmd_rollback(struct uep_cmd *cmd, int nr_steps)
{
	struct uep_cmd_step *step;

	while (cmd->nr_steps > nr_steps) {
		step = &cmd->steps[--cmd->nr_steps];
		step->end(step, false);
	}
}
