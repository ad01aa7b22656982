// SPDX-License-Identifier: GPL-2.0-only
/*
 * The fuzzer (fuzz_run.c) on the device under test.
 */
#include "fuzz.h"

/*
 * Rounds that went wrong once, and what it was; each test begins with them. (A change
 * of the fuzzer gives a seed another meaning: what a round has found gets a test of
 * its own, too, and its name is here.)
 */
static const struct fuzz_known corpus[] = {
	{ 1, "reaches ESTABLISH, REJECT, NOTIFY and DETACH_MCAST soon" },
	{ 0 }
};

static const char *impossible(const struct fuzz_cmd *c, const struct abi *s)
{
	switch (c->cmd) {
	case RDMA_EP_IOC_MODIFY_CQ:
		return "no software device moderates events";
	case RDMA_EP_IOC_OPEN_XRCD:
	case RDMA_EP_IOC_OPEN_QP:
		return "no software device has XRC";
	case RDMA_EP_IOC_RESIZE_CQ:
		return s->iwarp ? "siw does not resize" : fuzz_no_resize();
	case RDMA_EP_IOC_CREATE_AH:
	case RDMA_EP_IOC_QUERY_PKEY:
	case RDMA_EP_IOC_JOIN_MULTICAST:
	case RDMA_EP_IOC_ATTACH_MCAST:
	case RDMA_EP_IOC_DETACH_MCAST:
	case RDMA_EP_IOC_ESTABLISH:
	case RDMA_EP_IOC_NOTIFY:
		return s->iwarp ? "iWARP has none of this" : NULL;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static const struct fuzz_device device = {
		.corpus = corpus,
		.impossible = impossible,
	};

	return fuzz_main(argc, argv, &device);
}
