// SPDX-License-Identifier: GPL-2.0-only
/* The device node, and the life of the module. */
#include <linux/miscdevice.h>
#include <linux/module.h>

#include "../include/rdma_ep.h"
#include "../ulp/ulp.h"
#include "chardev.h"
#include "verbs/verbs.h"

static int uep_open(struct inode *inode, struct file *file)
{
	struct uep_owner *owner = uep_session_open();

	if (IS_ERR(owner))
		return PTR_ERR(owner);
	file->private_data = owner;
	return stream_open(inode, file);
}

static int uep_release(struct inode *inode, struct file *file)
{
	uep_session_close(file->private_data);
	return 0;
}

static const struct file_operations uep_fops = {
	.owner = THIS_MODULE,
	.open = uep_open,
	.release = uep_release,
	.unlocked_ioctl = uep_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = uep_mmap,
	.show_fdinfo = uep_show_fdinfo,
};

static struct miscdevice uep_misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "rdma_ep",
	.nodename = "infiniband/rdma_ep",
	.mode = 0666,
	.fops = &uep_fops,
};

static int __init uep_module_init(void)
{
	int ret;

	uep_quota_init();
	ret = ep_drivers_init();
	if (ret)
		return ret;
	ret = uep_group_init();
	if (ret)
		goto err_drivers;
	ret = ep_id_init_engine();
	if (ret)
		goto err_drivers;
	ret = ulp_init();
	if (ret)
		goto err_engine;
	ret = uep_session_init();
	if (ret)
		goto err_ulp;
	ret = uep_post_init();
	if (ret)
		goto err_session;
	ret = ep_dev_init();
	if (ret)
		goto err_post;
	ret = uep_metrics_init();
	if (ret)
		goto err_dev;
	ret = misc_register(&uep_misc);
	if (ret)
		goto err_metrics;
	return 0;

err_metrics:
	uep_metrics_cleanup();
err_dev:
	ep_dev_cleanup();
err_post:
	uep_post_cleanup();
err_session:
	uep_session_cleanup();
err_ulp:
	ulp_cleanup();
err_engine:
	ep_id_cleanup_engine();
err_drivers:
	ep_drivers_exit();
	return ret;
}

/*
 * No file is open any more, but uep_session_release_work() may run: wait for it before the
 * devices are released.
 */
static void __exit uep_module_exit(void)
{
	misc_deregister(&uep_misc);
	uep_metrics_cleanup();
	uep_session_cleanup();
	ep_dev_cleanup();
	ulp_cleanup();
	ep_id_cleanup_engine();
	ep_drivers_exit();
	uep_post_cleanup();
	uep_wq_cleanup();
	uep_accounts_cleanup();
}

module_init(uep_module_init);
module_exit(uep_module_exit);

MODULE_DESCRIPTION("RDMA endpoints owned by the kernel");
MODULE_AUTHOR("The rdma_ep developers");
MODULE_LICENSE("GPL");
MODULE_VERSION(RDMA_EP_VERSION);
