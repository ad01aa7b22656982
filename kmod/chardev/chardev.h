/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The character device above its objects: commands, sessions, /proc.
 */
#ifndef RDMA_EP_CHARDEV_H
#define RDMA_EP_CHARDEV_H

#include "core/core.h"

/* dispatch.c */
long uep_ioctl(struct file *file, unsigned int nr, unsigned long arg);

/* session.c */
int uep_destroy(struct uep_cmd *cmd);
struct uep_session *uep_session_create(void);
void uep_session_release(struct uep_session *s);

/* metrics.c */
int uep_metrics_init(void);
void uep_metrics_cleanup(void);

/* fdinfo.c */
void uep_show_fdinfo(struct seq_file *m, struct file *file);

#endif /* RDMA_EP_CHARDEV_H */
