// SPDX-License-Identifier: BSD-2-Clause
/*
 * The devices. Each gets an ibv_device of our own, the same one as long as the
 * process lives, whether or not ib_uverbs knows the device; and one context and
 * PD that all ids on it share.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "internal.h"

pthread_mutex_t lep_devices_lock = PTHREAD_MUTEX_INITIALIZER;

/*
 * Grows at the head and never shrinks: a device that is gone may still be in
 * use, and indices are not used again.
 */
static struct lep_device *devices;

static struct lep_device *find_device(uint32_t index)
{
	struct lep_device *dev;

	dev = __atomic_load_n(&devices, __ATOMIC_ACQUIRE);
	while (dev && dev->index != index)
		dev = dev->next;
	return dev;
}

static enum ibv_transport_type transport_of(uint32_t node_type)
{
	switch (node_type) {
	case IBV_NODE_CA:
	case IBV_NODE_SWITCH:
	case IBV_NODE_ROUTER:
		return IBV_TRANSPORT_IB;
	case IBV_NODE_RNIC:
		return IBV_TRANSPORT_IWARP;
	default:
		return IBV_TRANSPORT_UNKNOWN;
	}
}

static void set_strings(struct ibv_device *ibdev,
			const struct rdma_ep_device *info)
{
	_Static_assert(sizeof(info->name) == sizeof(ibdev->name), "device name");
	memcpy(ibdev->name, info->name, sizeof(ibdev->name));
	ibdev->name[sizeof(ibdev->name) - 1] = 0;

	/*
	 * Programs look for the node in /dev/infiniband and for the device
	 * below the paths (docs/design.md). One node stands for all devices.
	 */
	snprintf(ibdev->dev_name, sizeof(ibdev->dev_name), "rdma_ep");
	snprintf(ibdev->dev_path, sizeof(ibdev->dev_path),
		 "/sys/class/infiniband/%s", ibdev->name);
	snprintf(ibdev->ibdev_path, sizeof(ibdev->ibdev_path),
		 "/sys/class/infiniband/%s", ibdev->name);
}

static struct lep_device *add_device(const struct rdma_ep_device *info)
{
	struct lep_device *dev;

	dev = find_device(info->dev_index);
	if (dev) {
		/* rdma dev set NAME name NEW */
		if (memcmp(dev->ibdev.name, info->name, sizeof(info->name)))
			set_strings(&dev->ibdev, info);
		return dev;
	}

	dev = calloc(1, sizeof(*dev));
	if (!dev)
		return NULL;
	dev->ibdev.node_type = info->node_type;
	dev->ibdev.transport_type = transport_of(info->node_type);
	set_strings(&dev->ibdev, info);
	dev->index = info->dev_index;
	dev->ib_index = info->ib_index;
	dev->guid = info->node_guid;
	dev->num_comp_vectors = info->num_comp_vectors;
	dev->num_ports = info->phys_port_cnt;
	dev->has_xrc = info->flags & RDMA_EP_DEVICE_XRC;
	dev->next = devices;
	__atomic_store_n(&devices, dev, __ATOMIC_RELEASE);
	return dev;
}

/*
 * Ask the kernel which devices there are. Returns their number or -1 and errno;
 * the caller frees *indices (which may be NULL if it does not want them).
 */
int lep_devices_refresh(struct lep_session *session, uint32_t **indices)
{
	struct rdma_ep_query_devices cmd = {};
	struct rdma_ep_device *info = NULL, *more;
	uint32_t *list = NULL;
	int i, error;

	cmd.max = 8;
	do {
		more = realloc(info, cmd.max * sizeof(*info));
		if (!more)
			goto err;
		info = more;
		cmd.devices = (uintptr_t)info;
		if (lep_call(session, QUERY_DEVICES, &cmd))
			goto err;
		lep_written(info, (cmd.num < cmd.max ? cmd.num : cmd.max) *
				 sizeof(*info));
		if (cmd.num <= cmd.max)
			break;
		cmd.max = cmd.num;
		cmd.num = 0;
	} while (1);

	list = malloc((cmd.num + 1) * sizeof(*list));
	if (!list)
		goto err;

	pthread_mutex_lock(&lep_devices_lock);
	for (i = 0; i < (int)cmd.num; i++) {
		list[i] = info[i].dev_index;
		if (!add_device(&info[i])) {
			pthread_mutex_unlock(&lep_devices_lock);
			goto err;
		}
	}
	pthread_mutex_unlock(&lep_devices_lock);

	free(info);
	if (indices)
		*indices = list;
	else
		free(list);
	return cmd.num;

err:
	error = errno;
	free(list);
	free(info);
	return lep_err(error);
}

/* A device by its index, or NULL and errno. */
struct lep_device *lep_device_get(struct lep_session *session, uint32_t index)
{
	struct lep_device *dev;

	dev = find_device(index);
	if (!dev) {
		if (lep_devices_refresh(session, NULL) < 0)
			return NULL;
		dev = find_device(index);
	}
	return dev ? dev : lep_null(ENODEV);
}

bool lep_device_ours(struct ibv_device *device)
{
	struct lep_device *dev;

	dev = __atomic_load_n(&devices, __ATOMIC_ACQUIRE);
	while (dev && &dev->ibdev != device)
		dev = dev->next;
	return dev;
}

/*
 * The context and the PD that all ids on the device share. They are made once
 * and stay: programs use them after their last id is gone.
 */
int lep_device_default(struct lep_session *session, struct lep_device *dev,
		       struct ibv_context **context, struct ibv_pd **pd)
{
	uint32_t handle;
	int ret = -1;

	pthread_mutex_lock(&lep_devices_lock);
	if (!dev->ctx || dev->ctx->session != session) {
		struct ibv_pd *new_pd = calloc(1, sizeof(*new_pd));
		struct ibv_context *new_context;

		if (!new_pd)
			goto out;
		new_context = lep_context_open(session, dev,
					       RDMA_EP_OPEN_DEFAULT, &handle);
		if (!new_context) {
			free(new_pd);
			goto out;
		}
		new_pd->context = new_context;
		new_pd->handle = handle;
		dev->pd = new_pd;
		dev->xrcd = NULL;
		dev->ctx = lep_to_ctx(new_context);
	}
	*context = &dev->ctx->verbs.context;
	*pd = dev->pd;
	ret = 0;
out:
	pthread_mutex_unlock(&lep_devices_lock);
	return ret;
}

/* The XRC domain that all ids on the context's device share, made when needed. */
struct ibv_xrcd *lep_device_xrcd(struct ibv_context *context)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
	};
	struct lep_device *dev = lep_to_dev(context->device);
	struct ibv_xrcd *xrcd;

	if (!dev->has_xrc)
		return lep_null(EOPNOTSUPP);
	pthread_mutex_lock(&lep_devices_lock);
	/* Is it of the session that has the context? */
	if (!dev->xrcd || dev->xrcd->context != context)
		dev->xrcd = lep_open_xrcd(context, &attr);
	xrcd = dev->xrcd;
	pthread_mutex_unlock(&lep_devices_lock);
	return xrcd;
}

static uint8_t max_u8(uint32_t value)
{
	return value < UINT8_MAX ? value : UINT8_MAX;
}

/* What connections may ask for; in a CM message that is a number of 8 bits. */
int lep_device_limits(struct lep_session *session, struct lep_device *dev)
{
	struct rdma_ep_query_device cmd = { .dev_index = dev->index };

	if (__atomic_load_n(&dev->have_limits, __ATOMIC_ACQUIRE))
		return 0;
	if (lep_call(session, QUERY_DEVICE, &cmd))
		return lep_err(lep_query_errno(errno));
	dev->max_responder_resources = max_u8(cmd.attr.max_qp_rd_atom);
	dev->max_initiator_depth = max_u8(cmd.attr.max_qp_init_rd_atom);
	__atomic_store_n(&dev->have_limits, true, __ATOMIC_RELEASE);
	return 0;
}

/* In a fork()ed child: contexts and PDs are the parent's. */
void lep_devices_forked(void)
{
	struct lep_device *dev;

	for (dev = devices; dev; dev = dev->next) {
		dev->ctx = NULL;
		dev->pd = NULL;
		dev->xrcd = NULL;
	}
}

/* ibv_get_device_list(3): without the module, as without ib_uverbs, ENOSYS. */
LEP_EXPORT struct ibv_device **ibv_get_device_list(int *num_devices)
{
	struct lep_session *session;
	struct ibv_device **list = NULL;
	uint32_t *indices;
	int i, num = 0;

	if (lep_real_calls())
		return lep_forward(NULL, "IBVERBS_1.1", ibv_get_device_list,
				   num_devices);
	if (num_devices)
		*num_devices = 0;
	session = lep_session_get();
	if (!session)
		return lep_null(errno == ENODEV ? ENOSYS : errno);
	num = lep_devices_refresh(session, &indices);
	if (num < 0)
		return NULL;
	list = calloc(num + 1, sizeof(*list));
	if (list) {
		for (i = 0; i < num; i++)
			list[i] = &find_device(indices[i])->ibdev;
		if (num_devices)
			*num_devices = num;
	}
	free(indices);
	return list;
}

/* ibv_free_device_list(3). The devices stay. */
LEP_EXPORT void ibv_free_device_list(struct ibv_device **list)
{
	static __typeof__(&ibv_free_device_list) real;

	if (!list)
		return;
	if (!list[0] || lep_device_ours(list[0])) {
		free(list);
		return;
	}
	if (!real)
		real = (__typeof__(real))lep_real("ibv_free_device_list",
						  "IBVERBS_1.1");
	if (real)
		real(list);
}

LEP_EXPORT const char *ibv_get_device_name(struct ibv_device *device)
{
	return device ? device->name : lep_null(EINVAL);
}

LEP_EXPORT __be64 ibv_get_device_guid(struct ibv_device *device)
{
	if (!device)
		return 0;
	if (!lep_device_ours(device))
		return lep_forward(0, "IBVERBS_1.1", ibv_get_device_guid, device);
	return lep_to_dev(device)->guid;
}

/* In no header that is installed, but ibv_devinfo uses it. Without the newline. */
LEP_EXPORT int ibv_read_sysfs_file(const char *dir, const char *file, char *buf,
				   size_t size);
int ibv_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size)
{
	char path[PATH_MAX];
	ssize_t len;
	int fd;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", dir, file) >= sizeof(path))
		return -1;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	len = read(fd, buf, size);
	close(fd);
	if (len <= 0)
		return len;
	if (buf[len - 1] == '\n')
		len--;
	if ((size_t)len == size)
		return -1;
	buf[len] = '\0';
	return len;
}

LEP_EXPORT int ibv_get_device_index(struct ibv_device *device)
{
	if (!device)
		return -1;
	if (!lep_device_ours(device))
		return lep_forward(-1, "IBVERBS_1.9", ibv_get_device_index,
				   device);
	return lep_to_dev(device)->ib_index;
}

/* rdma_get_devices(3): the contexts that ids have in id->verbs. */
LEP_EXPORT struct ibv_context **rdma_get_devices(int *num_devices)
{
	struct lep_session *session;
	struct ibv_context **list;
	struct lep_device *dev;
	struct ibv_pd *pd;
	uint32_t *indices;
	int i, num, opened = 0;

	if (num_devices)
		*num_devices = 0;
	if (lep_session_get_cm(&session))
		return NULL;
	num = lep_devices_refresh(session, &indices);
	if (num < 0)
		return NULL;
	list = calloc(num + 1, sizeof(*list));
	if (list) {
		for (i = 0; i < num; i++) {
			dev = find_device(indices[i]);
			/* One that can not be opened has just been removed. */
			if (!lep_device_default(session, dev, &list[opened], &pd))
				opened++;
		}
		if (num_devices)
			*num_devices = opened;
	}
	free(indices);
	return list;
}

LEP_EXPORT void rdma_free_devices(struct ibv_context **list)
{
	free(list);
}
