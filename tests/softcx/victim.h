/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A key that a peer's SEND may invalidate, made only by the control path: an mkey over nothing, in
 * use and with en_rinval. No SEND can invalidate a region's key, neither on a ConnectX nor on the
 * model.
 */
#ifndef TEST_SOFTCX_VICTIM_H
#define TEST_SOFTCX_VICTIM_H

#include <infiniband/mlx5dv.h>

#include "../unit.h"
#include "../wqe/encode.h"
#include "bsn_cmd.h"
#include "bsn_umr.h"

struct victim {
	struct mlx5dv_devx_obj *mkey;
	uint32_t rkey;
};

static inline void victim_make(struct victim *v, struct ibv_pd *pd)
{
	uint8_t in[BSN_CREATE_MKEY_LIST_OFFSET] = { 0 }, out[BSN_CREATED_OUT_SIZE] = { 0 };
	struct mlx5dv_pd domain = { 0 };
	struct mlx5dv_obj obj = { .pd = { .in = pd, .out = &domain } };
	struct bsn_mkey_ctx ctx = { .umr_en = 1,
				    .en_rinval = 1,
				    .lr = 1,
				    .access_mode_1_0 = BSN_MKEY_MODE_KLM,
				    .qpn = BSN_MKEY_QPN_ANY,
				    .translations_octword_size = 4 };
	struct bsn_cmd_object made;

	assert_int_equal(mlx5dv_init_obj(&obj, MLX5DV_OBJ_PD), 0);
	ctx.pd = domain.pdn;
	ENCODE(cmd_in, in, .opcode = BSN_CMD_CREATE_MKEY);
	bsn_mkey_ctx_encode(in + BSN_CREATE_MKEY_CTX_OFFSET, &ctx);
	v->mkey = mlx5dv_devx_obj_create(pd->context, in, sizeof(in), out, sizeof(out));
	assert_non_null(v->mkey);
	bsn_cmd_object_decode(&made, out + BSN_CMD_OBJECT_OFFSET);
	v->rkey = made.number << 8;
}

static inline void victim_free(struct victim *v)
{
	if (v->mkey)
		assert_int_equal(mlx5dv_devx_obj_destroy(v->mkey), 0);
	v->mkey = NULL;
}

#endif
