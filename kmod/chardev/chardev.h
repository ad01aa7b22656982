/* SPDX-License-Identifier: GPL-2.0-only */
/* The character device above its objects: commands, sessions, /proc. */
#ifndef RDMA_EP_CHARDEV_H
#define RDMA_EP_CHARDEV_H

#include "core/core.h"

struct uep_ctx;

/* dispatch.c */
long uep_ioctl(struct file *file, unsigned int nr, unsigned long arg);

/* session.c */
struct uep_ctx *uep_obj_ctx(struct uep_obj *obj);
struct uep_obj *uep_next_obj(struct uep_session *s, unsigned long *handle,
			     enum rdma_ep_obj_type type, const struct uep_ctx *ctx);

/*
 * Walks the objects that uep_next_obj() finds. The body may sleep, and other tasks may create and
 * destroy objects. It puts the object before it leaves the loop.
 */
#define uep_for_each_obj(_obj, _s, _handle, _type, _ctx)				\
	for (_handle = 0; (_obj = uep_next_obj(_s, &(_handle), _type, _ctx));		\
	     uep_obj_put(_obj))

uep_cmd_fn uep_destroy;
struct uep_owner *uep_session_open(void);
void uep_session_close(struct uep_owner *owner);

/* handover.c */
uep_cmd_fn uep_set_obj, uep_open_queue, uep_export, uep_adopt, uep_split_id;

/* restrict.c */
uep_cmd_fn uep_restrict;
int uep_restrictions_inherit(struct uep_session *to, struct uep_session *from);
void uep_restrictions_show(struct seq_file *m, struct uep_session *s);

/* list.c */
uep_cmd_fn uep_list_objs;

/* metrics.c */
int uep_metrics_init(void);
void uep_metrics_cleanup(void);

/* fdinfo.c */
extern const char * const uep_obj_names[UEP_NR_OBJ_TYPES];
void uep_show_fdinfo(struct seq_file *m, struct file *file);

#endif /* RDMA_EP_CHARDEV_H */
