// SPDX-License-Identifier: GPL-2.0-only
/*
 * Address handles.
 */
#include "verbs.h"

static void uep_ah_destroy_hw(struct ep_res *res)
{
	struct uep_ah *ah = container_of(res, struct uep_ah, res);
	struct ib_ah *ibah = ah->ibah;

	ah->ibah = NULL;
	rdma_destroy_ah(ibah, RDMA_DESTROY_AH_SLEEPABLE);
}

/* For a post, so that the hardware object stays until the driver has seen it. */
struct uep_ah *uep_ah_get(struct uep_session *s, u32 handle)
{
	struct uep_ah *ah = uep_obj_lookup(s, handle, RDMA_EP_OBJ_AH);

	if (!ah || refcount_inc_not_zero(&ah->live))
		return ah;
	uep_obj_put(&ah->obj);
	return NULL;
}

static void uep_ah_drop(struct uep_ah *ah)
{
	if (!refcount_dec_and_test(&ah->live))
		return;
	ep_res_destroy(&ah->res);
	uep_obj_del_user(&ah->pd->obj);
}

void uep_ah_put(struct uep_ah *ah)
{
	uep_ah_drop(ah);
	uep_obj_put(&ah->obj);
}

static void uep_ah_destroy(struct uep_obj *obj, struct rdma_ep_destroy *out)
{
	uep_ah_drop(container_of(obj, struct uep_ah, obj));
}

static void uep_ah_free(struct uep_obj *obj)
{
	ep_res_fini(&container_of(obj, struct uep_ah, obj)->res);
}

static const struct uep_obj_type uep_ah_type = {
	.type = RDMA_EP_OBJ_AH,
	.destroy = uep_ah_destroy,
	.free = uep_ah_free,
};

/* Called inside ep_dev_enter(). */
static int uep_ah_create_hw(struct uep_ah *ah, const struct ib_uverbs_ah_attr *uattr)
{
	struct rdma_ah_attr attr = {};
	int ret;

	ret = uep_ah_attr_from_user(ah->pd->ctx, &attr, uattr);
	if (ret)
		goto out;
	ret = ep_res_init(&ah->res, ah->obj.dev, EP_RES_AH, &uep_obj_res_ops, uep_ah_destroy_hw);
	if (ret)
		goto out;
	/* The variant for users resolves the destination's link address. */
	ah->ibah = rdma_create_user_ah(ah->pd->pd.ibpd, &attr, NULL);
	if (IS_ERR(ah->ibah)) {
		ret = PTR_ERR(ah->ibah);
		ep_res_uncharge(&ah->res);
		goto out;
	}
	ep_res_add(&ah->res);
out:
	rdma_destroy_ah_attr(&attr);
	return ret;
}

int uep_create_ah(struct uep_cmd *cmd)
{
	struct rdma_ep_create_ah *arg = cmd->arg;
	struct uep_pd *pd;
	struct uep_ah *ah;
	int srcu, ret;

	pd = uep_obj_enter(cmd->s, arg->pd, RDMA_EP_OBJ_PD, &srcu);
	if (IS_ERR(pd))
		return PTR_ERR(pd);
	ah = uep_obj_alloc_in(&pd->obj, &uep_ah_type, sizeof(*ah), 0);
	if (IS_ERR(ah)) {
		ret = PTR_ERR(ah);
		goto out;
	}
	refcount_set(&ah->live, 1);
	/* Until uep_ah_drop(), which may come after the handle has been destroyed. */
	uep_obj_add_user(&pd->obj);
	ah->pd = pd;
	ah->res.owner = ah;
	ret = uep_ah_create_hw(ah, &arg->attr);
	if (ret)
		uep_obj_discard(&ah->obj);
	else
		ret = uep_cmd_add_obj(cmd, ah, &arg->ah);
out:
	return uep_obj_exit(&pd->obj, srcu, ret);
}
