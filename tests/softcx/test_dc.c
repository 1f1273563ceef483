/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Dynamically connected transport by unmodified libmlx5: which objects may be created and in which
 * state, which target an initiator is connected to, and what it hears if a target does not exist.
 */
#include "loopback.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>

#include <infiniband/mlx5dv.h>

#include "nic/dc.h"

enum { TARGETS = 2, KEY = 0x1234, BYTES = 64, RECVS = 8, STREAMS_LOG2 = 1, ERRORED_LOG2 = 1 };

struct dc {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_mr *mr;
	struct ibv_ah *ah;
	struct ibv_qp *dct[TARGETS], *dci;
	uint8_t memory[4096] __attribute__((aligned(4096)));
};

/* -- creation ---------------------------------------------------------------------------------- */

static struct ibv_qp *create_with(struct dc *d, enum mlx5dv_dc_type type,
				  struct ibv_qp_init_attr_ex *init)
{
	struct mlx5dv_qp_init_attr dv = {
		.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_DC,
		.dc_init_attr = { .dc_type = type, .dct_access_key = KEY },
	};

	return mlx5dv_create_qp(d->ctx, init, &dv);
}

static struct ibv_qp *create_streams(struct dc *d, struct ibv_qp_init_attr_ex *init,
				     uint8_t streams, uint8_t errored)
{
	struct mlx5dv_qp_init_attr dv = {
		.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_DC | MLX5DV_QP_INIT_ATTR_MASK_DCI_STREAMS,
		.dc_init_attr = { .dc_type = MLX5DV_DCTYPE_DCI,
				  .dci_streams = { .log_num_concurent = streams,
						   .log_num_errored = errored } },
	};

	return mlx5dv_create_qp(d->ctx, init, &dv);
}

static struct ibv_qp_init_attr_ex init_of(struct dc *d, enum mlx5dv_dc_type type)
{
	struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_DRIVER,
		.send_cq = d->cq,
		.recv_cq = d->cq,
		.pd = d->pd,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
	};

	if (type == MLX5DV_DCTYPE_DCT) {
		init.srq = d->srq;
		return init;
	}
	init.cap = (struct ibv_qp_cap){ .max_send_wr = 16, .max_send_sge = 1 };
	init.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	init.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_SEND;
	return init;
}

static struct ibv_qp *create(struct dc *d, enum mlx5dv_dc_type type)
{
	struct ibv_qp_init_attr_ex init = init_of(d, type);

	return create_with(d, type, &init);
}

enum {
	DCT_RTR = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_MIN_RNR_TIMER,
	DCI_INIT = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT,
	DCI_RTR = IBV_QP_STATE | IBV_QP_PATH_MTU,
};

static void open_target(struct ibv_qp *dct)
{
	assert_int_equal(loopback_modify_to(dct, 0, IBV_QPS_INIT, LOOPBACK_INIT_MASK), 0);
	assert_int_equal(dct->qp_num, 0);
	assert_int_equal(loopback_modify_to(dct, 0, IBV_QPS_RTR, DCT_RTR), 0);
	assert_int_not_equal(dct->qp_num, 0);
}

static void open_initiator(struct ibv_qp *dci)
{
	assert_int_equal(loopback_modify_to(dci, 0, IBV_QPS_INIT, DCI_INIT), 0);
	assert_int_equal(loopback_modify_to(dci, 0, IBV_QPS_RTR, DCI_RTR), 0);
	assert_int_equal(loopback_modify_to(dci, 0, IBV_QPS_RTS, LOOPBACK_RTS_MASK), 0);
}

static void set_up_plan(void **state, const char *plan)
{
	struct cx_config config = loopback_config(CX_LINK_IB, true);
	struct ibv_srq_init_attr srq = { .attr = { .max_wr = RECVS, .max_sge = 1 } };
	struct ibv_ah_attr ah = { .dlid = 1, .port_num = 1 };
	struct dc *d = aligned_alloc(4096, sizeof(*d));

	assert_non_null(d);
	memset(d, 0, sizeof(*d));
	config.fault_plan = plan;
	assert_int_equal(softcx_start(&config), 0);
	d->ctx = loopback_open_device();
	d->pd = ibv_alloc_pd(d->ctx);
	d->cq = ibv_create_cq(d->ctx, 64, NULL, NULL, 0);
	d->srq = ibv_create_srq(d->pd, &srq);
	d->mr = ibv_reg_mr(d->pd, d->memory, sizeof(d->memory),
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	d->ah = ibv_create_ah(d->pd, &ah);
	for (unsigned i = 0; i < TARGETS; i++) {
		d->dct[i] = create(d, MLX5DV_DCTYPE_DCT);
		assert_non_null(d->dct[i]);
		open_target(d->dct[i]);
	}
	d->dci = create(d, MLX5DV_DCTYPE_DCI);
	assert_non_null(d->dci);
	open_initiator(d->dci);
	*state = d;
}

static int set_up(void **state)
{
	set_up_plan(state, NULL);
	return 0;
}

static void set_up_streams_plan(void **state, const char *plan)
{
	struct ibv_qp_init_attr_ex init;
	struct dc *d;

	set_up_plan(state, plan);
	d = *state;
	assert_int_equal(ibv_destroy_qp(d->dci), 0);
	init = init_of(d, MLX5DV_DCTYPE_DCI);
	d->dci = create_streams(d, &init, STREAMS_LOG2, ERRORED_LOG2);
	assert_non_null(d->dci);
	open_initiator(d->dci);
}

static int set_up_streams(void **state)
{
	set_up_streams_plan(state, NULL);
	return 0;
}

static int set_up_stream_faults(void **state)
{
	set_up_streams_plan(state, "stream=5 nth=2 fail 0x15 0x81");
	return 0;
}

/* Targets have the first numbers of a fabric. */
static int set_up_faults(void **state)
{
	set_up_plan(state, "dct=0x10001 fail 0x13 0x88; stream=0 nth=2 cnak");
	return 0;
}

static int set_up_narrow(void **state)
{
	set_up_plan(state, "dc-connections 1");
	return 0;
}

static int set_up_slow(void **state)
{
	set_up_plan(state, "nth=2 delay 2000000");
	return 0;
}

static int tear_down(void **state)
{
	struct dc *d = *state;

	assert_int_equal(cx_lint_count(softcx_hca()), 0);
	for (unsigned i = 0; i < TARGETS; i++)
		if (d->dct[i])
			assert_int_equal(ibv_destroy_qp(d->dct[i]), 0);
	assert_int_equal(ibv_destroy_qp(d->dci), 0);
	assert_int_equal(ibv_destroy_ah(d->ah), 0);
	assert_int_equal(ibv_dereg_mr(d->mr), 0);
	assert_int_equal(ibv_destroy_srq(d->srq), 0);
	assert_int_equal(ibv_destroy_cq(d->cq), 0);
	assert_int_equal(ibv_dealloc_pd(d->pd), 0);
	assert_int_equal(ibv_close_device(d->ctx), 0);
	assert_int_equal(softcx_stop(), 0);
	free(d);
	return 0;
}

/* -- requests ---------------------------------------------------------------------------------- */

static uint64_t count_of(enum cx_dc_kind kind)
{
	struct cx_dc_counts counts;

	cx_dc_read(softcx_hca(), &counts);
	return counts.kinds[kind];
}

static struct ibv_qp_ex *begin(struct dc *d)
{
	struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(d->dci);

	ibv_wr_start(qp);
	qp->wr_flags = IBV_SEND_SIGNALED;
	return qp;
}

static void end(struct dc *d, struct ibv_qp_ex *qp, uint32_t dctn, uint64_t key)
{
	mlx5dv_wr_set_dc_addr(mlx5dv_qp_ex_from_ibv_qp_ex(qp), d->ah, dctn, key);
	ibv_wr_set_sge(qp, d->mr->lkey, (uintptr_t)d->memory, BYTES);
	assert_int_equal(ibv_wr_complete(qp), 0);
}

static struct ibv_wc await(struct dc *d)
{
	struct ibv_wc wc = { 0 };

	for (unsigned i = 0; i < 100; i++) {
		softcx_step(0);
		if (ibv_poll_cq(d->cq, 1, &wc) == 1)
			return wc;
	}
	fail_msg("nothing completed");
	return wc;
}

static struct ibv_wc write_to(struct dc *d, uint32_t dctn, uint64_t key, size_t to)
{
	struct ibv_qp_ex *qp = begin(d);

	ibv_wr_rdma_write(qp, d->mr->rkey, (uintptr_t)d->memory + to);
	end(d, qp, dctn, key);
	return await(d);
}

static void assert_write(struct dc *d, unsigned target)
{
	assert_int_equal(write_to(d, d->dct[target]->qp_num, KEY, 1024).status, IBV_WC_SUCCESS);
}

static void assert_failed(struct dc *d, struct ibv_wc wc, enum ibv_wc_status status,
			  uint32_t vendor)
{
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;

	assert_int_equal(wc.status, status);
	assert_int_equal(wc.vendor_err, vendor);
	assert_int_equal(ibv_query_qp(d->dci, &attr, IBV_QP_STATE, &init), 0);
	assert_int_equal(attr.qp_state, IBV_QPS_ERR);
	assert_int_equal(loopback_modify_to(d->dci, 0, IBV_QPS_RESET, IBV_QP_STATE), 0);
	open_initiator(d->dci);
}

/* -- tests ------------------------------------------------------------------------------------- */

static void a_dci_connects_to_whom_a_request_names(void **state)
{
	struct dc *d = *state;

	memset(d->memory, 0x5a, BYTES);
	assert_write(d, 0);
	assert_memory_equal(d->memory, d->memory + 1024, BYTES);
	assert_int_equal(count_of(CX_DC_connect), 1);
	assert_write(d, 0);
	assert_int_equal(count_of(CX_DC_connect), 1);
	assert_int_equal(count_of(CX_DC_disconnect), 0);
	assert_write(d, 1);
	assert_write(d, 0);
	assert_int_equal(count_of(CX_DC_connect), 3);
	assert_int_equal(count_of(CX_DC_disconnect), 2);
	assert_int_equal(count_of(CX_DC_reconnect), 0);
}

/* The plan holds the second request back for two seconds of the device's clock. */
static void an_idle_connection_is_made_anew(void **state)
{
	struct dc *d = *state;

	assert_write(d, 0);
	assert_write(d, 0);
	assert_int_equal(count_of(CX_DC_connect), 2);
	assert_int_equal(count_of(CX_DC_reconnect), 1);
	assert_int_equal(count_of(CX_DC_idle_disconnect), 1);
	assert_int_equal(count_of(CX_DC_disconnect), 0);
}

static void a_message_comes_through_the_srq(void **state)
{
	struct dc *d = *state;
	struct ibv_sge sge = { (uintptr_t)d->memory + 2048, BYTES, d->mr->lkey };
	struct ibv_recv_wr *bad, wr = { .wr_id = 77, .sg_list = &sge, .num_sge = 1 };
	struct ibv_wc wc;
	struct ibv_qp_ex *qp;

	assert_int_equal(ibv_post_srq_recv(d->srq, &wr, &bad), 0);
	memset(d->memory, 0xa5, BYTES);
	qp = begin(d);
	ibv_wr_send(qp);
	end(d, qp, d->dct[1]->qp_num, KEY);
	wc = await(d);
	if (wc.opcode != IBV_WC_RECV)
		wc = await(d);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_RECV);
	assert_int_equal(wc.wr_id, 77);
	assert_int_equal(wc.byte_len, BYTES);
	assert_int_equal(wc.qp_num, d->dct[1]->qp_num);
	assert_memory_equal(d->memory, d->memory + 2048, BYTES);
}

static void who_is_not_there_does_not_answer(void **state)
{
	struct dc *d = *state;
	const uint32_t gone = d->dct[1]->qp_num;

	assert_write(d, 1);
	assert_int_equal(ibv_destroy_qp(d->dct[1]), 0);
	d->dct[1] = NULL;
	assert_failed(d, write_to(d, gone, KEY, 1024), IBV_WC_RETRY_EXC_ERR, 0x81);
	assert_failed(d, write_to(d, d->dci->qp_num, KEY, 1024), IBV_WC_RETRY_EXC_ERR, 0x81);
	assert_write(d, 0);
}

static void a_wrong_key_is_not_answered(void **state)
{
	struct dc *d = *state;

	assert_failed(d, write_to(d, d->dct[0]->qp_num, KEY + 1, 1024), IBV_WC_RETRY_EXC_ERR, 0x81);
	assert_true(count_of(CX_DC_key_violation) > 0);
	assert_int_equal(count_of(CX_DC_connect), 0);
	assert_write(d, 0);
}

/* The kernel hands on no event of a target: mlx5 qpc.c dct_allowed_event_types(). */
static void expect_no_event(struct dc *d)
{
	struct pollfd ready = { .fd = d->ctx->async_fd, .events = POLLIN };

	assert_int_equal(poll(&ready, 1, 0), 0);
}

/* The initiator goes to error. The target goes on. */
static void a_target_survives_what_it_refuses(void **state)
{
	struct dc *d = *state;
	struct ibv_qp_ex *qp = begin(d);

	ibv_wr_rdma_write(qp, d->mr->rkey + 0x100, (uintptr_t)d->memory);
	end(d, qp, d->dct[0]->qp_num, KEY);
	assert_failed(d, await(d), IBV_WC_REM_ACCESS_ERR, 0x88);
	expect_no_event(d);
	assert_write(d, 0);
}

static void a_target_has_no_way_back(void **state)
{
	struct dc *d = *state;
	struct ibv_qp *fresh = create(d, MLX5DV_DCTYPE_DCT);
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	assert_int_equal(loopback_modify_to(d->dct[0], 0, IBV_QPS_RESET, IBV_QP_STATE), EINVAL);
	assert_int_equal(loopback_modify_to(d->dct[0], 0, IBV_QPS_ERR, IBV_QP_STATE), EINVAL);
	assert_int_equal(loopback_modify_to(d->dct[0], 0, IBV_QPS_RTS, LOOPBACK_RTS_MASK), EINVAL);
	assert_int_equal(ibv_query_qp(d->dct[0], &attr, IBV_QP_STATE, &init), 0);
	assert_int_equal(attr.qp_state, IBV_QPS_RTR);
	assert_non_null(fresh);
	assert_int_not_equal(ibv_query_qp(fresh, &attr, IBV_QP_STATE, &init), 0);
	/* To INIT it needs rights, to RTR all of three attributes. */
	assert_int_equal(loopback_modify_to(fresh, 0, IBV_QPS_INIT, DCI_INIT), EINVAL);
	assert_int_equal(loopback_modify_to(fresh, 0, IBV_QPS_INIT, LOOPBACK_INIT_MASK), 0);
	assert_int_equal(loopback_modify_to(fresh, 0, IBV_QPS_RTR, DCI_RTR), EINVAL);
	assert_int_equal(ibv_destroy_qp(fresh), 0);
}

static void an_initiator_has_no_rights_to_give(void **state)
{
	struct dc *d = *state;
	struct ibv_qp *fresh = create(d, MLX5DV_DCTYPE_DCI);

	assert_non_null(fresh);
	assert_int_equal(loopback_modify_to(fresh, 0, IBV_QPS_ERR, IBV_QP_STATE), EINVAL);
	assert_int_equal(loopback_modify_to(fresh, 0, IBV_QPS_INIT, LOOPBACK_INIT_MASK), EINVAL);
	assert_int_equal(loopback_modify_to(fresh, 0, IBV_QPS_INIT, DCI_INIT), 0);
	assert_int_equal(loopback_modify_to(fresh, 0, IBV_QPS_RTR, LOOPBACK_RTR_MASK), EINVAL);
	assert_int_equal(loopback_modify_to(fresh, 0, IBV_QPS_RTR, DCI_RTR | IBV_QP_AV), 0);
	assert_int_equal(ibv_destroy_qp(fresh), 0);
}

static void what_dc_cannot_be_made_of_is_refused(void **state)
{
	struct dc *d = *state;
	struct ibv_qp_init_attr_ex init = init_of(d, MLX5DV_DCTYPE_DCT);

	init.srq = NULL;
	assert_null(create_with(d, MLX5DV_DCTYPE_DCT, &init));
	assert_int_equal(errno, EINVAL);
	init = init_of(d, MLX5DV_DCTYPE_DCI);
	init.cap.max_recv_wr = init.cap.max_recv_sge = 1;
	assert_null(create_with(d, MLX5DV_DCTYPE_DCI, &init));
	assert_int_equal(errno, EINVAL);
}

static void a_program_reads_the_counts(void **state)
{
	struct dc *d = *state;
	FILE *file;
	char line[64];

	assert_write(d, 1);
	file = fopen("/sys/class/infiniband/mlx5_0/dc_connects", "r");
	assert_non_null(file);
	assert_non_null(fgets(line, sizeof(line), file));
	assert_string_equal(line, "connect 1\n");
	assert_int_equal(fclose(file), 0);
	file = fopen("/sys/class/infiniband/mlx5_0/ports/1/hw_counters/rx_dct_connect", "r");
	assert_non_null(file);
	assert_non_null(fgets(line, sizeof(line), file));
	assert_string_equal(line, "1\n");
	assert_int_equal(fclose(file), 0);
}

/* -- streams ----------------------------------------------------------------------------------- */

static struct ibv_wc write_by_stream(struct dc *d, uint16_t stream, unsigned target, uint32_t rkey)
{
	struct ibv_qp_ex *qp = begin(d);

	ibv_wr_rdma_write(qp, rkey, (uintptr_t)d->memory + 1024);
	mlx5dv_wr_set_dc_addr_stream(mlx5dv_qp_ex_from_ibv_qp_ex(qp), d->ah, d->dct[target]->qp_num,
				     KEY, stream);
	ibv_wr_set_sge(qp, d->mr->lkey, (uintptr_t)d->memory, BYTES);
	assert_int_equal(ibv_wr_complete(qp), 0);
	return await(d);
}

static void assert_stream_write(struct dc *d, uint16_t stream, unsigned target)
{
	assert_int_equal(write_by_stream(d, stream, target, d->mr->rkey).status, IBV_WC_SUCCESS);
}

/* The target refuses the key. */
static void fail_stream(struct dc *d, uint16_t stream)
{
	const struct ibv_wc wc = write_by_stream(d, stream, 0, d->mr->rkey + 0x100);

	assert_int_equal(wc.status, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(wc.vendor_err, 0x88);
	expect_no_event(d);
}

static enum ibv_qp_state state_of(struct dc *d)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	assert_int_equal(ibv_query_qp(d->dci, &attr, IBV_QP_STATE, &init), 0);
	return attr.qp_state;
}

/* Their names are any number of 16 bits. */
static void each_stream_keeps_its_connection(void **state)
{
	struct dc *d = *state;

	for (unsigned i = 0; i < 3; i++) {
		assert_stream_write(d, 0xfffe, 0);
		assert_stream_write(d, 2, 1);
	}
	assert_int_equal(count_of(CX_DC_connect), 2);
	assert_int_equal(count_of(CX_DC_disconnect), 0);
	/* A third name replaces the one that was used least recently. */
	assert_stream_write(d, 7, 1);
	assert_int_equal(count_of(CX_DC_disconnect), 1);
	assert_stream_write(d, 2, 1);
	assert_int_equal(count_of(CX_DC_connect), 3);
	assert_stream_write(d, 0xfffe, 0);
	assert_int_equal(count_of(CX_DC_connect), 4);
}

static void a_stream_fails_alone(void **state)
{
	struct dc *d = *state;

	fail_stream(d, 5);
	assert_int_equal(state_of(d), IBV_QPS_RTS);
	assert_stream_write(d, 6, 0);
	assert_int_equal(write_by_stream(d, 5, 0, d->mr->rkey).status, IBV_WC_WR_FLUSH_ERR);
	assert_int_not_equal(mlx5dv_dci_stream_id_reset(d->dci, 6), 0);
	assert_int_equal(mlx5dv_dci_stream_id_reset(d->dci, 5), 0);
	assert_int_not_equal(mlx5dv_dci_stream_id_reset(d->dci, 5), 0);
	assert_stream_write(d, 5, 0);
}

static void too_many_streams_in_error_fail_the_queue(void **state)
{
	struct dc *d = *state;

	fail_stream(d, 1);
	assert_int_equal(state_of(d), IBV_QPS_RTS);
	fail_stream(d, 1 << 15);
	assert_int_equal(state_of(d), IBV_QPS_ERR);
	assert_int_equal(loopback_modify_to(d->dci, 0, IBV_QPS_RESET, IBV_QP_STATE), 0);
	open_initiator(d->dci);
	assert_stream_write(d, 1, 0);
	assert_stream_write(d, 1 << 15, 1);
}

static struct mlx5dv_dci_streams_caps stream_caps(struct ibv_context *ctx)
{
	struct mlx5dv_context caps = { .comp_mask = MLX5DV_CONTEXT_MASK_DCI_STREAMS };

	assert_int_equal(mlx5dv_query_device(ctx, &caps), 0);
	return caps.dci_streams_caps;
}

static void what_streams_there_can_be(void **state)
{
	struct dc *d = *state;
	const struct mlx5dv_dci_streams_caps caps = stream_caps(d->ctx);
	struct ibv_qp_init_attr_ex init = init_of(d, MLX5DV_DCTYPE_DCI);
	struct ibv_qp *most;

	assert_int_equal(caps.max_log_num_concurent, CX_DC_STREAMS_LOG2);
	assert_int_equal(caps.max_log_num_errored, CX_DC_ERRORED_LOG2);
	assert_null(create_streams(d, &init, CX_DC_STREAMS_LOG2 + 1, 0));
	assert_null(create_streams(d, &init, 0, CX_DC_ERRORED_LOG2 + 1));
	most = create_streams(d, &init, CX_DC_STREAMS_LOG2, CX_DC_ERRORED_LOG2);
	assert_non_null(most);
	assert_int_equal(ibv_destroy_qp(most), 0);
}

static void an_older_card_has_no_streams(void **state)
{
	struct cx_config config = loopback_config(CX_LINK_IB, true);
	struct mlx5dv_dci_streams_caps caps;
	struct ibv_context *ctx;

	(void)state;
	config.generation = CX_GEN_CX5;
	assert_int_equal(softcx_start(&config), 0);
	ctx = loopback_open_device();
	caps = stream_caps(ctx);
	assert_int_equal(caps.max_log_num_concurent, 0);
	assert_int_equal(caps.max_log_num_errored, 0);
	assert_int_equal(ibv_close_device(ctx), 0);
	assert_int_equal(softcx_stop(), 0);
}

/* -- faults ------------------------------------------------------------------------------------ */

static void a_plan_names_a_stream(void **state)
{
	struct dc *d = *state;

	assert_stream_write(d, 5, 0);
	assert_stream_write(d, 6, 0);
	assert_int_equal(write_by_stream(d, 5, 0, d->mr->rkey).status, IBV_WC_RETRY_EXC_ERR);
	assert_stream_write(d, 6, 0);
	assert_int_equal(mlx5dv_dci_stream_id_reset(d->dci, 5), 0);
	assert_stream_write(d, 5, 0);
}

static void a_plan_names_a_target(void **state)
{
	struct dc *d = *state;

	assert_int_equal(d->dct[1]->qp_num, 0x10001);
	assert_write(d, 0);
	assert_int_equal(count_of(CX_DC_cnak), 0);
	assert_write(d, 0);
	assert_int_equal(count_of(CX_DC_cnak), 1);
	assert_failed(d, write_to(d, d->dct[1]->qp_num, KEY, 1024), IBV_WC_REM_ACCESS_ERR, 0x88);
	assert_write(d, 0);
}

/* The second initiator tries again until the first one's connection is gone. */
static void targets_without_room_send_initiators_away(void **state)
{
	struct dc *d = *state;
	struct ibv_qp *first = d->dci;
	struct ibv_qp_ex *qp;
	struct ibv_wc wc;

	assert_write(d, 0);
	assert_write(d, 1); /* over its own connection */
	d->dci = create(d, MLX5DV_DCTYPE_DCI);
	open_initiator(d->dci);
	qp = begin(d);
	ibv_wr_rdma_write(qp, d->mr->rkey, (uintptr_t)d->memory + 1024);
	end(d, qp, d->dct[0]->qp_num, KEY);
	for (unsigned i = 0; i < 50; i++)
		softcx_step(0);
	assert_int_equal(ibv_poll_cq(d->cq, 1, &wc), 0);
	assert_true(count_of(CX_DC_cnak) > 10);
	assert_int_equal(ibv_destroy_qp(first), 0);
	assert_int_equal(await(d).status, IBV_WC_SUCCESS);
}

#define TEST(name)    cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define STREAMS(name) cmocka_unit_test_setup_teardown(name, set_up_streams, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_dci_connects_to_whom_a_request_names),
		cmocka_unit_test_setup_teardown(an_idle_connection_is_made_anew, set_up_slow,
						tear_down),
		TEST(a_message_comes_through_the_srq),
		TEST(who_is_not_there_does_not_answer),
		TEST(a_wrong_key_is_not_answered),
		TEST(a_target_survives_what_it_refuses),
		TEST(a_target_has_no_way_back),
		TEST(an_initiator_has_no_rights_to_give),
		TEST(what_dc_cannot_be_made_of_is_refused),
		TEST(a_program_reads_the_counts),
		STREAMS(each_stream_keeps_its_connection),
		STREAMS(a_stream_fails_alone),
		STREAMS(too_many_streams_in_error_fail_the_queue),
		STREAMS(what_streams_there_can_be),
		cmocka_unit_test(an_older_card_has_no_streams),
		cmocka_unit_test_setup_teardown(a_plan_names_a_stream, set_up_stream_faults,
						tear_down),
		cmocka_unit_test_setup_teardown(a_plan_names_a_target, set_up_faults, tear_down),
		cmocka_unit_test_setup_teardown(targets_without_room_send_initiators_away,
						set_up_narrow, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
