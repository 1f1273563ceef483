/* SPDX-License-Identifier: BSD-2-Clause */
/* Targets and an initiator of the dynamically connected transport, by unmodified libmlx5. */
#ifndef TESTS_SOFTCX_DC_H
#define TESTS_SOFTCX_DC_H

#include "loopback.h"

#include <poll.h>

#include <infiniband/mlx5dv.h>

#include "nic/dc.h"

enum { TARGETS = 2, KEY = 0x1234, BYTES = 64, RECVS = 8, STREAMS_LOG2 = 1, ERRORED_LOG2 = 1 };

static struct dc {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_mr *mr;
	struct ibv_ah *ah;
	struct ibv_qp *dct[TARGETS], *dci;
	uint8_t memory[4096] __attribute__((aligned(4096)));
} d;

static inline struct ibv_qp *create_with(enum mlx5dv_dc_type type, struct ibv_qp_init_attr_ex *init)
{
	struct mlx5dv_qp_init_attr dv = {
		.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_DC,
		.dc_init_attr = { .dc_type = type, .dct_access_key = KEY },
	};

	return mlx5dv_create_qp(d.ctx, init, &dv);
}

static inline struct ibv_qp_init_attr_ex init_of(enum mlx5dv_dc_type type)
{
	struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_DRIVER,
		.send_cq = d.cq,
		.recv_cq = d.cq,
		.pd = d.pd,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
	};

	if (type == MLX5DV_DCTYPE_DCT) {
		init.srq = d.srq;
		return init;
	}
	init.cap = (struct ibv_qp_cap){ .max_send_wr = 16, .max_send_sge = 1 };
	init.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	init.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_SEND;
	return init;
}

static inline struct ibv_qp *create(enum mlx5dv_dc_type type)
{
	struct ibv_qp_init_attr_ex init = init_of(type);

	return create_with(type, &init);
}

enum {
	DCT_RTR = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_MIN_RNR_TIMER,
	DCI_INIT = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT,
	DCI_RTR = IBV_QP_STATE | IBV_QP_PATH_MTU,
};

static inline void open_target(struct ibv_qp *dct)
{
	assert_int_equal(loopback_modify_to(dct, 0, IBV_QPS_INIT, LOOPBACK_INIT_MASK), 0);
	assert_int_equal(dct->qp_num, 0);
	assert_int_equal(loopback_modify_to(dct, 0, IBV_QPS_RTR, DCT_RTR), 0);
	assert_int_not_equal(dct->qp_num, 0);
}

static inline void open_initiator(struct ibv_qp *dci)
{
	assert_int_equal(loopback_modify_to(dci, 0, IBV_QPS_INIT, DCI_INIT), 0);
	assert_int_equal(loopback_modify_to(dci, 0, IBV_QPS_RTR, DCI_RTR), 0);
	assert_int_equal(loopback_modify_to(dci, 0, IBV_QPS_RTS, LOOPBACK_RTS_MASK), 0);
}

/* The case names a plan of faults, or NULL. */
static inline int set_up(void **state)
{
	struct cx_config config = loopback_config(CX_LINK_IB, true);
	struct ibv_srq_init_attr srq = { .attr = { .max_wr = RECVS, .max_sge = 1 } };

	memset(&d, 0, sizeof(d));
	config.fault_plan = *state;
	assert_int_equal(softcx_start(&config), 0);
	d.ctx = loopback_open_device();
	d.pd = ibv_alloc_pd(d.ctx);
	d.cq = ibv_create_cq(d.ctx, 64, NULL, NULL, 0);
	d.srq = ibv_create_srq(d.pd, &srq);
	d.mr = ibv_reg_mr(d.pd, d.memory, sizeof(d.memory),
			  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	d.ah = ibv_create_ah(d.pd, &(struct ibv_ah_attr){ .dlid = 1, .port_num = 1 });
	for (unsigned i = 0; i < TARGETS; i++) {
		d.dct[i] = made(create(MLX5DV_DCTYPE_DCT));
		open_target(d.dct[i]);
	}
	d.dci = made(create(MLX5DV_DCTYPE_DCI));
	open_initiator(d.dci);
	return 0;
}

static inline int tear_down(void **state)
{
	assert_int_equal(cx_lint_count(softcx_hca()), 0);
	for (unsigned i = 0; i < TARGETS; i++)
		if (d.dct[i])
			assert_int_equal(ibv_destroy_qp(d.dct[i]), 0);
	assert_int_equal(ibv_destroy_qp(d.dci), 0);
	assert_int_equal(ibv_destroy_ah(d.ah), 0);
	assert_int_equal(ibv_dereg_mr(d.mr), 0);
	assert_int_equal(ibv_destroy_srq(d.srq), 0);
	assert_int_equal(ibv_destroy_cq(d.cq), 0);
	assert_int_equal(ibv_dealloc_pd(d.pd), 0);
	assert_int_equal(ibv_close_device(d.ctx), 0);
	assert_int_equal(softcx_stop(), 0);
	return 0;
}

static inline uint64_t count_of(enum cx_dc_kind kind)
{
	struct cx_dc_counts counts;

	cx_dc_read(softcx_hca(), &counts);
	return counts.kinds[kind];
}

static inline struct ibv_qp_ex *begin(void)
{
	struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(d.dci);

	ibv_wr_start(qp);
	qp->wr_flags = IBV_SEND_SIGNALED;
	return qp;
}

static inline void end(struct ibv_qp_ex *qp, uint32_t dctn, uint64_t key)
{
	mlx5dv_wr_set_dc_addr(mlx5dv_qp_ex_from_ibv_qp_ex(qp), d.ah, dctn, key);
	ibv_wr_set_sge(qp, d.mr->lkey, (uintptr_t)d.memory, BYTES);
	assert_int_equal(ibv_wr_complete(qp), 0);
}

static inline struct ibv_wc write_to(uint32_t dctn, uint64_t key, size_t to)
{
	struct ibv_qp_ex *qp = begin();

	ibv_wr_rdma_write(qp, d.mr->rkey, (uintptr_t)d.memory + to);
	end(qp, dctn, key);
	return loopback_await(d.cq);
}

static inline void assert_write(unsigned target)
{
	assert_int_equal(write_to(d.dct[target]->qp_num, KEY, 1024).status, IBV_WC_SUCCESS);
}

static inline void assert_failed(struct ibv_wc wc, enum ibv_wc_status status, uint32_t vendor)
{
	assert_int_equal(wc.status, status);
	assert_int_equal(wc.vendor_err, vendor);
	assert_int_equal(loopback_state(d.dci), IBV_QPS_ERR);
	assert_int_equal(loopback_modify_to(d.dci, 0, IBV_QPS_RESET, IBV_QP_STATE), 0);
	open_initiator(d.dci);
}

/* The kernel hands on no event of a target: mlx5 qpc.c dct_allowed_event_types(). */
static inline void expect_no_event(void)
{
	assert_int_equal(poll(&(struct pollfd){ .fd = d.ctx->async_fd, .events = POLLIN }, 1, 0),
			 0);
}

#define PLANNED(f, plan) GIVEN(f, plan, set_up, tear_down)
#define TEST(f)          PLANNED(f, NULL)

#endif
