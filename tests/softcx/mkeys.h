/* SPDX-License-Identifier: BSD-2-Clause */
/* A queue pair that makes, configures, uses and invalidates memory keys, by libmlx5. */
#ifndef TESTS_SOFTCX_MKEYS_H
#define TESTS_SOFTCX_MKEYS_H

#include "loopback.h"

#include <infiniband/mlx5dv.h>

#include "../wqe/encode.h"
#include "bsn_umr.h"
#include "bsn_wqe.h"
#include "datasheet.h"
#include "nic/hca.h"

enum {
	LAYOUT_BYTES = 1 << 16, /* what layouts are made of */
	PLAIN_BYTES = 1 << 14,  /* what is copied from and to, after it */
	BYTES = LAYOUT_BYTES + PLAIN_BYTES,
	MOST_ENTRIES = 24,
	MOST_LENGTH = 4096,
	ROOM = 512,
	LEVELS = CX_MAX_INDIRECTION + 1,
	ACCESS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
};

static struct bench {
	struct ibv_qp *qp;
	struct ibv_qp_ex *ex;
	struct mlx5dv_qp_ex *dv;
	struct ibv_mr *mr;
	struct mlx5dv_mkey *mkey[LEVELS];
	uint8_t *memory, *plain;
	uint8_t vendor; /* of the last failure */
} b;

static inline struct ibv_qp *create_qp(void)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = lo.cq,
		.recv_cq = lo.cq,
		.cap = { .max_send_wr = 16,
			 .max_recv_wr = 16,
			 .max_send_sge = 4,
			 .max_recv_sge = 4,
			 .max_inline_data = 512 },
		.qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = lo.pd,
		.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_READ |
				  IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_INV |
				  IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW |
				  IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD,
	};
	struct mlx5dv_qp_init_attr dv = {
		.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS |
			     MLX5DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS,
		.create_flags = MLX5DV_QP_CREATE_DISABLE_SCATTER_TO_CQE,
		.send_ops_flags = MLX5DV_QP_EX_WITH_MR_LIST | MLX5DV_QP_EX_WITH_MR_INTERLEAVED |
				  MLX5DV_QP_EX_WITH_MKEY_CONFIGURE | MLX5DV_QP_EX_WITH_RAW_WQE |
				  MLX5DV_QP_EX_WITH_MEMCPY,
	};
	struct ibv_qp *qp = made(mlx5dv_create_qp(lo.ctx, &attr, &dv));

	loopback_connect(qp);
	return qp;
}

/* What follows is posted on this queue pair. */
static inline void use(struct ibv_qp *qp)
{
	b.qp = qp;
	b.ex = ibv_qp_to_qp_ex(qp);
	b.dv = mlx5dv_qp_ex_from_ibv_qp_ex(b.ex);
}

static inline struct mlx5dv_mkey *create_mkey(struct ibv_pd *pd, uint32_t flags)
{
	struct mlx5dv_mkey_init_attr attr = {
		.pd = pd,
		.create_flags = MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT | flags,
		.max_entries = ROOM,
	};
	struct mlx5dv_mkey *mkey = made(mlx5dv_create_mkey(&attr));

	return mkey;
}

static inline int set_up_config(void **state, const struct cx_config *config)
{
	loopback_set_up_config(state, config);
	use(create_qp());
	b.memory = made(aligned_alloc(4096, BYTES));
	for (unsigned i = 0; i < BYTES; i++)
		b.memory[i] = (uint8_t)(i * 31 + i / 256);
	b.plain = b.memory + LAYOUT_BYTES;
	b.mr = made(ibv_reg_mr(lo.pd, b.memory, BYTES, ACCESS | IBV_ACCESS_MW_BIND));
	for (unsigned i = 0; i < LEVELS; i++)
		b.mkey[i] = create_mkey(lo.pd, 0);
	return 0;
}

static inline int set_up(void **state)
{
	const struct cx_config config = loopback_config(CX_LINK_IB, true);

	return set_up_config(state, &config);
}

static inline int tear_down(void **state)
{
	for (unsigned i = 0; i < LEVELS; i++)
		assert_int_equal(mlx5dv_destroy_mkey(b.mkey[i]), 0);
	assert_int_equal(ibv_destroy_qp(b.qp), 0);
	assert_int_equal(ibv_dereg_mr(b.mr), 0);
	free(b.memory);
	return loopback_tear_down(state);
}

static inline void revive(void)
{
	assert_int_equal(loopback_modify(b.qp, IBV_QPS_RESET, IBV_QP_STATE), 0);
	loopback_connect(b.qp);
}

static inline void begin(unsigned flags)
{
	ibv_wr_start(b.ex);
	b.ex->wr_id = 1;
	b.ex->wr_flags = IBV_SEND_SIGNALED | flags;
}

static inline enum ibv_wc_status reap(void)
{
	struct ibv_wc wc;

	softcx_step(0);
	assert_int_equal(ibv_poll_cq(lo.cq, 1, &wc), 1);
	b.vendor = (uint8_t)wc.vendor_err;
	return wc.status;
}

static inline enum ibv_wc_status finish(void)
{
	assert_int_equal(ibv_wr_complete(b.ex), 0);
	return reap();
}

static inline enum ibv_wc_status set_list(struct mlx5dv_mkey *mkey, uint32_t access,
					  const struct ibv_sge *sges, unsigned count)
{
	begin(IBV_SEND_INLINE);
	mlx5dv_wr_mr_list(b.dv, mkey, access, (uint16_t)count, (struct ibv_sge *)sges);
	return finish();
}

static inline enum ibv_wc_status write_to(uint32_t lkey, uint64_t from, uint32_t rkey, uint64_t to,
					  uint32_t length)
{
	begin(0);
	ibv_wr_rdma_write(b.ex, rkey, to);
	ibv_wr_set_sge(b.ex, lkey, from, length);
	return finish();
}

static inline enum ibv_wc_status read_from(uint32_t rkey, uint64_t from, uint32_t lkey, uint64_t to,
					   uint32_t length)
{
	begin(0);
	ibv_wr_rdma_read(b.ex, rkey, from);
	ibv_wr_set_sge(b.ex, lkey, to, length);
	return finish();
}

static inline uint64_t at(size_t offset)
{
	return (uintptr_t)b.memory + offset;
}

static inline uint64_t plain_at(void)
{
	return (uintptr_t)b.plain;
}

static inline void must_write(uint32_t lkey, uint64_t from, uint32_t rkey, uint64_t to,
			      uint32_t length)
{
	assert_int_equal(write_to(lkey, from, rkey, to, length), IBV_WC_SUCCESS);
}

/* One entry of 64 bytes. */
static inline void must_cover(struct mlx5dv_mkey *mkey, uint32_t access, uint32_t lkey,
			      uint64_t addr)
{
	assert_int_equal(set_list(mkey, access, &(struct ibv_sge){ addr, 64, lkey }, 1),
			 IBV_WC_SUCCESS);
}

/* A UMR by hand, whose translations are elsewhere: `count` from number `first` on. */
static inline void post_pointer(const void *translations, uint32_t bytes, uint32_t first,
				uint32_t count, uint64_t length, uint32_t ce)
{
	uint8_t wqe[3 * BSN_BB_SIZE] = { 0 };

	ENCODE(ctrl, wqe, .opcode = BSN_OPCODE_UMR, .ds = 9, .ce = ce, .qpn = b.qp->qp_num,
	       .imm = b.mkey[0]->lkey);
	ENCODE(umr_ctrl, wqe + 16, .klm_octowords = count, .has_offset = 1, .offset_or_bsf = first,
	       .mkey_mask = BSN_MKEY_BIT(LEN) | BSN_MKEY_BIT(FREE) | BSN_MKEY_BIT(LW) |
			    BSN_MKEY_BIT(RR) | BSN_MKEY_BIT(RW));
	ENCODE(mkey_ctx, wqe + 64, .lw = 1, .rr = 1, .rw = 1, .len = length);
	ENCODE(klm, wqe + 128, bytes, b.mr->lkey, (uintptr_t)translations);
	mlx5dv_wr_raw_wqe(b.dv, wqe);
}

static inline enum ibv_wc_status set_by_pointer(const void *translations, uint32_t bytes,
						uint32_t first, uint32_t count, uint64_t length)
{
	begin(0);
	post_pointer(translations, bytes, first, count, length, BSN_CE_ALWAYS);
	return finish();
}

static inline void expect_remote(uint32_t rkey, uint64_t to, uint32_t length)
{
	assert_int_equal(write_to(b.mr->lkey, plain_at(), rkey, to, length), IBV_WC_REM_ACCESS_ERR);
	revive();
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

#endif
