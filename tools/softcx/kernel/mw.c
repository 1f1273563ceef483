/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory windows: mkeys of one translation that are free at first, and that UMR binds. Checks
 * follow hw/mlx5/mr.c mlx5_ib_alloc_mw() and drivers/infiniband/core/uverbs_cmd.c.
 */
#include "kernel.h"

#include <errno.h>

#include "bsn_cmd.h"
#include "bsn_umr.h"

int mkey_create(struct cx_hca *hca, const struct bsn_mkey_ctx *ctx, uint32_t *index)
{
	const struct bsn_cmd_in head = { .opcode = BSN_CMD_CREATE_MKEY };
	uint8_t in[BSN_CREATE_MKEY_LIST_OFFSET] = { 0 }, out[BSN_CREATED_OUT_SIZE];
	struct bsn_cmd_object made;
	int err;

	bsn_cmd_in_encode(in, &head);
	bsn_mkey_ctx_encode(in + BSN_CREATE_MKEY_CTX_OFFSET, ctx);
	err = cx_command(hca, NULL, in, sizeof(in), out, sizeof(out));
	if (err)
		return err == -EREMOTEIO ? -ENOMEM : err;
	bsn_cmd_object_decode(&made, out + BSN_CMD_OBJECT_OFFSET);
	*index = made.number;
	return 0;
}

int mkey_destroy(struct cx_hca *hca, uint32_t index)
{
	const struct bsn_cmd_in head = { .opcode = BSN_CMD_DESTROY_MKEY };
	const struct bsn_cmd_object mkey = { .number = index };
	uint8_t in[BSN_MEANING_IN_SIZE], out[BSN_CMD_OUT_SIZE];

	bsn_cmd_in_encode(in, &head);
	bsn_cmd_object_encode(in + BSN_CMD_OBJECT_OFFSET, &mkey);
	return cx_command(hca, NULL, in, sizeof(in), out, sizeof(out));
}

/* Each window gets another variant, so that an old key opens none: mlx5_ib_create_mkey() */
static int make_window(struct call *call, struct object *mw, uint8_t type, uint32_t *rkey)
{
	static uint8_t variant;
	const struct bsn_mkey_ctx ctx = {
		.free = 1,
		.umr_en = 1,
		.lr = 1,
		.access_mode_1_0 = BSN_MKEY_MODE_KLM,
		.qpn = BSN_MKEY_QPN_ANY,
		.mkey_7_0 = ++variant,
		.en_rinval = type == IBV_MW_TYPE_2,
		.pd = mw->pd->number,
		.translations_octword_size = 4,
	};
	int err = mkey_create(call->ctx->hca, &ctx, &mw->number);

	*rkey = mw->number << 8 | ctx.mkey_7_0;
	return err;
}

static int alloc_mw(struct call *call)
{
	struct ib_uverbs_alloc_mw_resp resp = { 0 };
	struct ib_uverbs_alloc_mw req;
	struct object *pd, *mw;
	int err = call_in(call, UVERBS_ATTR_CORE_IN, &req, sizeof(req));

	if (err)
		return err;
	if (req.mw_type != IBV_MW_TYPE_1 && req.mw_type != IBV_MW_TYPE_2)
		return -EINVAL;
	pd = object_find(call->ctx, OBJECT_PD, req.pd_handle);
	if (!pd)
		return -EINVAL;
	mw = object_new(call->ctx, OBJECT_MW, mkey_destroy);
	if (!mw)
		return -ENOMEM;
	object_refer(mw, pd, NULL);
	err = make_window(call, mw, req.mw_type, &resp.rkey);
	if (err) {
		object_free(call->ctx, mw);
		return err;
	}
	resp.mw_handle = mw->handle;
	err = call_out(call, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
	if (err)
		object_destroy(call->ctx, mw);
	return err;
}

static int destroy_mw(struct call *call)
{
	return call_destroy(call, UVERBS_ATTR_DESTROY_MW_HANDLE, OBJECT_MW);
}

/* -- tables ------------------------------------------------------------------------------------ */

static const struct attr_spec destroy_mw_specs[] = {
	{ UVERBS_ATTR_DESTROY_MW_HANDLE, ATTR_OBJECT, 0, 0, 0 },
};

/* clang-format off */
const struct method mw_methods[] = {
	{ UVERBS_OBJECT_MW, UVERBS_METHOD_MW_DESTROY, false, false, destroy_mw,
	  "mw_destroy", SPECS(destroy_mw_specs) },
	{ 0 },
};

const struct write_command mw_commands[] = {
	{ IB_USER_VERBS_CMD_ALLOC_MW, sizeof(struct ib_uverbs_alloc_mw),
	  sizeof(struct ib_uverbs_alloc_mw_resp), alloc_mw, "alloc_mw" },
	{ 0 },
};
/* clang-format on */
