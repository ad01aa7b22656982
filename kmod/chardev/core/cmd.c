// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a command makes and takes: all of it, or nothing.
 */
#include <linux/anon_inodes.h>
#include <linux/file.h>

#include "core.h"

/*
 * From here on the command's end decides: step->ops->commit() or ->abort() is called, the
 * latest step first.
 */
void uep_cmd_add_step(struct uep_cmd *cmd, const struct uep_cmd_step_ops *ops, void *obj, void *arg)
{
	cmd->steps[cmd->nr_steps++] = (struct uep_cmd_step) { ops, obj, arg };
}

static void uep_cmd_publish_obj(struct uep_cmd_step *step)
{
	struct uep_obj *obj = step->obj;

	if (obj->type->publish)
		obj->type->publish(obj);
	else
		uep_obj_publish(obj);
}

static void uep_cmd_discard_obj(struct uep_cmd_step *step)
{
	uep_obj_discard(step->obj);
}

static const struct uep_cmd_step_ops uep_cmd_obj_ops = {
	.commit = uep_cmd_publish_obj,
	.abort = uep_cmd_discard_obj,
};

/*
 * From here on the object is published or discarded with the command. @obj: begins with a
 * struct uep_obj, or ERR_PTR. @handle: where its handle is written, or NULL
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
	uep_cmd_add_step(cmd, &uep_cmd_obj_ops, o, NULL);
	if (handle)
		*handle = o->handle;
	return 0;
}

static void uep_cmd_install_file(struct uep_cmd_step *step)
{
	fd_install((long)step->arg, step->obj);
}

static void uep_cmd_drop_file(struct uep_cmd_step *step)
{
	put_unused_fd((long)step->arg);
	fput(step->obj);
}

static const struct uep_cmd_step_ops uep_cmd_file_ops = {
	.commit = uep_cmd_install_file,
	.abort = uep_cmd_drop_file,
};

/*
 * Makes a file that appears in the caller's table if the command succeeds.
 * Returns its number. On failure @priv has not been released.
 */
int uep_cmd_add_file(struct uep_cmd *cmd, const char *name,
		     const struct file_operations *fops, void *priv)
{
	struct file *file;
	int fd;

	fd = get_unused_fd_flags(O_CLOEXEC);
	if (fd < 0)
		return fd;
	file = anon_inode_getfile(name, fops, priv, O_RDONLY);
	if (IS_ERR(file)) {
		put_unused_fd(fd);
		return PTR_ERR(file);
	}
	uep_cmd_add_step(cmd, &uep_cmd_file_ops, file, (void *)(long)fd);
	return fd;
}

void uep_cmd_commit(struct uep_cmd *cmd)
{
	struct uep_cmd_step *step = &cmd->steps[cmd->nr_steps];

	while (step-- > cmd->steps)
		step->ops->commit(step);
}

/* Undoes all but the first steps of the command. */
void uep_cmd_rollback(struct uep_cmd *cmd, int nr_steps)
{
	struct uep_cmd_step *step;

	while (cmd->nr_steps > nr_steps) {
		step = &cmd->steps[--cmd->nr_steps];
		step->ops->abort(step);
	}
}
