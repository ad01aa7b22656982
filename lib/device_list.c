// SPDX-License-Identifier: BSD-2-Clause
/*
 * The list of devices. Each device has one ibv_device of this library for the life of the
 * process, even if ib_uverbs has the device as well.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "core.h"

pthread_mutex_t lep_devices_lock = PTHREAD_MUTEX_INITIALIZER;

/*
 * The list grows at its head and never shrinks: a removed device may still be in use, and
 * the kernel does not reuse an index.
 */
static struct lep_device *devices;

/* True once the kernel has listed a device in this process. */
static bool had_device;

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
			const struct rdma_ep_device_info *info)
{
	_Static_assert(sizeof(info->name) == sizeof(ibdev->name), "device name");
	memcpy(ibdev->name, info->name, sizeof(ibdev->name));
	ibdev->name[sizeof(ibdev->name) - 1] = 0;

	/*
	 * Programs look for the node in /dev/infiniband and for the device
	 * below the paths (docs/internals/design.md). One node stands for all devices.
	 */
	snprintf(ibdev->dev_name, sizeof(ibdev->dev_name), "rdma_ep");
	snprintf(ibdev->dev_path, sizeof(ibdev->dev_path),
		 "/sys/class/infiniband/%s", ibdev->name);
	snprintf(ibdev->ibdev_path, sizeof(ibdev->ibdev_path),
		 "/sys/class/infiniband/%s", ibdev->name);
}

static void fill_device(struct lep_device *dev, const struct rdma_ep_device_info *info)
{
	dev->ibdev.node_type = info->node_type;
	dev->ibdev.transport_type = transport_of(info->node_type);
	set_strings(&dev->ibdev, info);
	dev->ib_index = info->ib_index;
	dev->guid = info->node_guid;
	dev->num_comp_vectors = info->num_comp_vectors;
	dev->num_ports = info->phys_port_cnt;
	dev->has_xrc = info->flags & RDMA_EP_DEVICE_XRC;
}

static struct lep_device *add_device(const struct rdma_ep_device_info *info)
{
	struct lep_device *dev;

	dev = find_device(info->dev_index);
	/* One of lep_device_removed(), which another session may see */
	if (dev && !dev->num_ports)
		fill_device(dev, info);
	if (dev) {
		/* rdma dev set NAME name NEW */
		if (memcmp(dev->ibdev.name, info->name, sizeof(info->name)))
			set_strings(&dev->ibdev, info);
		return dev;
	}

	dev = calloc(1, sizeof(*dev));
	if (!dev)
		return NULL;
	fill_device(dev, info);
	dev->index = info->dev_index;
	dev->next = devices;
	__atomic_store_n(&devices, dev, __ATOMIC_RELEASE);
	return dev;
}

/*
 * Query the kernel's devices and add those that are new. Returns their number, or -1 and
 * errno. The caller frees *out, a list that ends with NULL; out may be NULL.
 */
int lep_devices_refresh(struct lep_session *session, struct ibv_device ***out)
{
	struct rdma_ep_cmd_query_devices cmd = { .max = 8 };
	struct rdma_ep_device_info *info = NULL, *more;
	struct ibv_device **list = NULL;
	struct lep_device *dev;
	uint32_t i;
	int error;

	for (;;) {
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
	}

	list = calloc(cmd.num + 1, sizeof(*list));
	if (!list)
		goto err;
	pthread_mutex_lock(&lep_devices_lock);
	for (i = 0; i < cmd.num; i++) {
		dev = add_device(&info[i]);
		if (!dev) {
			pthread_mutex_unlock(&lep_devices_lock);
			goto err;
		}
		list[i] = &dev->ibdev;
	}
	pthread_mutex_unlock(&lep_devices_lock);

	free(info);
	if (out)
		*out = list;
	else
		free(list);
	return cmd.num;

err:
	error = errno;
	free(list);
	free(info);
	return lep_err(error);
}

/*
 * The session for a function of rdma_cma.h. These functions fail with ENODEV until the
 * kernel has had an RDMA device.
 */
int lep_session_get_cm(struct lep_session **out)
{
	struct lep_session *session;
	int num;

	session = lep_session_get();
	if (!session)
		return -1;
	if (!__atomic_load_n(&had_device, __ATOMIC_RELAXED)) {
		/* The refresh also lists the device that the first id is bound to. */
		num = lep_devices_refresh(session, NULL);
		if (num < 0)
			return -1;
		if (!num)
			return lep_err(ENODEV);
		__atomic_store_n(&had_device, true, __ATOMIC_RELAXED);
	}
	if (out)
		*out = session;
	return 0;
}

/* Finds a device by its index. NULL and errno if there is none. */
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

/* A device that has been removed, or that this process may not see, for its objects. */
struct lep_device *lep_device_removed(uint32_t index)
{
	const struct rdma_ep_device_info info = {
		.dev_index = index,
		.num_comp_vectors = 1,
	};
	struct lep_device *dev;

	pthread_mutex_lock(&lep_devices_lock);
	dev = find_device(index);
	if (!dev)
		dev = add_device(&info);
	pthread_mutex_unlock(&lep_devices_lock);
	return dev;
}

bool lep_device_ours(struct ibv_device *device)
{
	struct lep_device *dev;

	dev = __atomic_load_n(&devices, __ATOMIC_ACQUIRE);
	while (dev && &dev->ibdev != device)
		dev = dev->next;
	return dev;
}

static uint8_t max_u8(uint32_t value)
{
	return value < UINT8_MAX ? value : UINT8_MAX;
}

/* The limits of a connection's parameters; a CM message has 8 bits for each. */
int lep_device_limits(struct lep_session *session, struct lep_device *dev)
{
	struct rdma_ep_cmd_query_device cmd = { .dev_index = dev->index };

	if (__atomic_load_n(&dev->have_limits, __ATOMIC_ACQUIRE))
		return 0;
	if (lep_call(session, QUERY_DEVICE, &cmd))
		return lep_err(lep_query_errno(errno));
	dev->max_responder_resources = max_u8(cmd.attr.max_qp_rd_atom);
	dev->max_initiator_depth = max_u8(cmd.attr.max_qp_init_rd_atom);
	__atomic_store_n(&dev->have_limits, true, __ATOMIC_RELEASE);
	return 0;
}

/* A fork()ed child may be in another network namespace later. */
void lep_devices_forked(void)
{
	had_device = false;
}

/* ibv_get_device_list(3): ENOSYS without the module, as in libibverbs without ib_uverbs. */
LEP_EXPORT struct ibv_device **ibv_get_device_list(int *num_devices)
{
	struct lep_session *session;
	struct ibv_device **list;
	int num;

	if (lep_real_calls())
		return lep_forward(NULL, "IBVERBS_1.1", ibv_get_device_list,
				   num_devices);
	if (num_devices)
		*num_devices = 0;
	session = lep_session_get();
	if (!session)
		return lep_null(errno == ENODEV ? ENOSYS : errno);
	num = lep_devices_refresh(session, &list);
	if (num < 0)
		return NULL;
	if (num_devices)
		*num_devices = num;
	return list;
}

/* ibv_free_device_list(3): the devices stay. */
LEP_EXPORT void ibv_free_device_list(struct ibv_device **list)
{
	if (list && list[0] && !lep_device_ours(list[0])) {
		lep_forward_void("IBVERBS_1.1", ibv_free_device_list, list);
		return;
	}
	free(list);
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

/* ibv_devinfo calls this function, which no installed header declares. Strips the newline. */
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
