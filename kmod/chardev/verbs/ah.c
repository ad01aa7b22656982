// SPDX-License-Identifier: GPL-2.0-only
/* Address handles. */
#include "verbs.h"

static void uep_ah_destroy_hw(struct ep_res *res)
{
	struct uep_ah *ah = container_of(res, struct uep_ah, res);

	rdma_destroy_ah(xchg(&ah->ibah, NULL), RDMA_DESTROY_AH_SLEEPABLE);
}

/* For a post: keeps the hardware object until uep_ah_put(), when the driver has read it. */
struct uep_ah *uep_ah_get(struct uep_session *s, u32 handle)
{
	struct uep_ah *ah = uep_obj_lookup(s, handle, RDMA_EP_OBJ_AH);

	if (!ah || refcount_inc_not_zero(&ah->live))
		return ah;
	uep_obj_put(&ah->obj);
	return NULL;
}

/* obj.users of the PD counts until here, which may be after the handle has been destroyed. */
static void uep_ah_destroy(struct uep_obj *obj, struct rdma_ep_cmd_destroy *out)
{
	struct uep_ah *ah = container_of(obj, struct uep_ah, obj);

	if (!refcount_dec_and_test(&ah->live))
		return;
	ep_res_destroy(&ah->res);
	uep_obj_del_user(&ah->pd->obj);
}

void uep_ah_put(struct uep_ah *ah)
{
	uep_ah_destroy(&ah->obj, NULL);
	uep_obj_put(&ah->obj);
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

static int uep_ah_create_hw(struct uep_ah *ah, const struct ib_uverbs_ah_attr *uattr)
{
	struct rdma_ah_attr attr = {};
	int ret;

	ret = uep_ah_attr_from_user(ah->pd->ctx, &attr, uattr) ?:
	      ep_res_init(&ah->res, ah->obj.dev, EP_RES_AH, &uep_obj_res_ops, uep_ah_destroy_hw);
	if (ret)
		goto out;
	/* The variant for users resolves the destination's link address. */
	ah->ibah = rdma_create_user_ah(ah->pd->pd.ibpd, &attr, NULL);
	if (IS_ERR(ah->ibah))
		ret = ep_res_abort(&ah->res, ah->ibah);
	else
		ep_res_add(&ah->res);
out:
	rdma_destroy_ah_attr(&attr);
	return ret;
}

/* Called inside ep_dev_enter(). */
static struct uep_ah *uep_ah_create(struct uep_pd *pd, const struct ib_uverbs_ah_attr *uattr)
{
	struct uep_ah *ah = uep_obj_alloc_in(&pd->obj, &uep_ah_type, sizeof(*ah), 0);

	if (IS_ERR(ah))
		return ah;
	refcount_set(&ah->live, 1);
	uep_obj_add_user(&pd->obj);
	ah->pd = pd;
	ah->res.owner = ah;
	return uep_obj_created(&ah->obj, uep_ah_create_hw(ah, uattr));
}

int uep_create_ah(struct uep_cmd *cmd)
{
	struct rdma_ep_cmd_create_ah *arg = cmd->arg;
	struct uep_pd *pd;
	int srcu, ret;

	pd = uep_obj_enter(cmd->s, arg->pd, RDMA_EP_OBJ_PD, &srcu);
	if (IS_ERR(pd))
		return PTR_ERR(pd);
	ret = uep_cmd_add_obj(cmd, uep_ah_create(pd, &arg->attr), &arg->ah);
	return uep_obj_exit(&pd->obj, srcu, ret);
}
