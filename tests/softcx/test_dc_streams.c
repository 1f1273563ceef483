/* SPDX-License-Identifier: BSD-2-Clause */
/* Streams of DC initiators, and faults by plan of streams and targets. */
#include "dc.h"

/* -- creation ---------------------------------------------------------------------------------- */

static struct ibv_qp *create_streams(struct ibv_qp_init_attr_ex *init, uint8_t streams,
				     uint8_t errored)
{
	struct mlx5dv_qp_init_attr dv = {
		.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_DC | MLX5DV_QP_INIT_ATTR_MASK_DCI_STREAMS,
		.dc_init_attr = { .dc_type = MLX5DV_DCTYPE_DCI,
				  .dci_streams = { .log_num_concurent = streams,
						   .log_num_errored = errored } },
	};

	return mlx5dv_create_qp(d.ctx, init, &dv);
}

static int set_up_streams(void **state)
{
	struct ibv_qp_init_attr_ex init;

	set_up(state);
	assert_int_equal(ibv_destroy_qp(d.dci), 0);
	init = init_of(MLX5DV_DCTYPE_DCI);
	d.dci = made(create_streams(&init, STREAMS_LOG2, ERRORED_LOG2));
	open_initiator(d.dci);
	return 0;
}

/* -- streams ----------------------------------------------------------------------------------- */

static struct ibv_wc write_by_stream(uint16_t stream, unsigned target, uint32_t rkey)
{
	struct ibv_qp_ex *qp = begin();

	ibv_wr_rdma_write(qp, rkey, (uintptr_t)d.memory + 1024);
	mlx5dv_wr_set_dc_addr_stream(mlx5dv_qp_ex_from_ibv_qp_ex(qp), d.ah, d.dct[target]->qp_num,
				     KEY, stream);
	ibv_wr_set_sge(qp, d.mr->lkey, (uintptr_t)d.memory, BYTES);
	assert_int_equal(ibv_wr_complete(qp), 0);
	return loopback_await(d.cq);
}

static void assert_stream_write(uint16_t stream, unsigned target)
{
	assert_int_equal(write_by_stream(stream, target, d.mr->rkey).status, IBV_WC_SUCCESS);
}

/* The target refuses the key. */
static void fail_stream(uint16_t stream)
{
	const struct ibv_wc wc = write_by_stream(stream, 0, d.mr->rkey + 0x100);

	assert_int_equal(wc.status, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(wc.vendor_err, 0x88);
	expect_no_event();
}

/* Their names are any number of 16 bits. */
static void each_stream_keeps_its_connection(void **state)
{
	for (unsigned i = 0; i < 3; i++) {
		assert_stream_write(0xfffe, 0);
		assert_stream_write(2, 1);
	}
	assert_int_equal(count_of(CX_DC_connect), 2);
	assert_int_equal(count_of(CX_DC_disconnect), 0);
	/* A third name replaces the one that was used least recently. */
	assert_stream_write(7, 1);
	assert_int_equal(count_of(CX_DC_disconnect), 1);
	assert_stream_write(2, 1);
	assert_int_equal(count_of(CX_DC_connect), 3);
	assert_stream_write(0xfffe, 0);
	assert_int_equal(count_of(CX_DC_connect), 4);
}

static void a_stream_fails_alone(void **state)
{
	struct ibv_wc flushed;

	fail_stream(5);
	assert_int_equal(loopback_state(d.dci), IBV_QPS_RTS);
	assert_stream_write(6, 0);
	flushed = write_by_stream(5, 0, d.mr->rkey);
	assert_int_equal(flushed.status, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(flushed.vendor_err, 0xf9);
	assert_int_not_equal(mlx5dv_dci_stream_id_reset(d.dci, 6), 0);
	assert_int_equal(mlx5dv_dci_stream_id_reset(d.dci, 5), 0);
	assert_int_not_equal(mlx5dv_dci_stream_id_reset(d.dci, 5), 0);
	assert_stream_write(5, 0);
}

static void too_many_streams_in_error_fail_the_queue(void **state)
{
	fail_stream(1);
	assert_int_equal(loopback_state(d.dci), IBV_QPS_RTS);
	fail_stream(1 << 15);
	assert_int_equal(loopback_state(d.dci), IBV_QPS_ERR);
	assert_int_equal(loopback_modify_to(d.dci, 0, IBV_QPS_RESET, IBV_QP_STATE), 0);
	open_initiator(d.dci);
	assert_stream_write(1, 0);
	assert_stream_write(1 << 15, 1);
}

static struct mlx5dv_dci_streams_caps stream_caps(struct ibv_context *ctx)
{
	struct mlx5dv_context caps = { .comp_mask = MLX5DV_CONTEXT_MASK_DCI_STREAMS };

	assert_int_equal(mlx5dv_query_device(ctx, &caps), 0);
	return caps.dci_streams_caps;
}

static void what_streams_there_can_be(void **state)
{
	const struct mlx5dv_dci_streams_caps caps = stream_caps(d.ctx);
	struct ibv_qp_init_attr_ex init = init_of(MLX5DV_DCTYPE_DCI);
	struct ibv_qp *most;

	assert_int_equal(caps.max_log_num_concurent, CX_DC_STREAMS_LOG2);
	assert_int_equal(caps.max_log_num_errored, CX_DC_ERRORED_LOG2);
	assert_null(create_streams(&init, CX_DC_STREAMS_LOG2 + 1, 0));
	assert_null(create_streams(&init, 0, CX_DC_ERRORED_LOG2 + 1));
	most = made(create_streams(&init, CX_DC_STREAMS_LOG2, CX_DC_ERRORED_LOG2));
	assert_int_equal(ibv_destroy_qp(most), 0);
}

static void an_older_card_has_no_streams(void **state)
{
	struct cx_config config = loopback_config(CX_LINK_IB, true);
	struct mlx5dv_dci_streams_caps caps;
	struct ibv_context *ctx;

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
	assert_stream_write(5, 0);
	assert_stream_write(6, 0);
	assert_int_equal(write_by_stream(5, 0, d.mr->rkey).status, IBV_WC_RETRY_EXC_ERR);
	assert_stream_write(6, 0);
	assert_int_equal(mlx5dv_dci_stream_id_reset(d.dci, 5), 0);
	assert_stream_write(5, 0);
}

static void a_plan_names_a_target(void **state)
{
	assert_int_equal(d.dct[1]->qp_num, 0x10001);
	assert_write(0);
	assert_int_equal(count_of(CX_DC_cnak), 0);
	assert_write(0);
	assert_int_equal(count_of(CX_DC_cnak), 1);
	assert_failed(write_to(d.dct[1]->qp_num, KEY, 1024), IBV_WC_REM_ACCESS_ERR, 0x88);
	assert_write(0);
}

/* The second initiator tries again until the first one's connection is gone. */
static void targets_without_room_send_initiators_away(void **state)
{
	struct ibv_qp *first = d.dci;
	struct ibv_qp_ex *qp;
	struct ibv_wc wc;

	assert_write(0);
	assert_write(1); /* over its own connection */
	d.dci = create(MLX5DV_DCTYPE_DCI);
	open_initiator(d.dci);
	qp = begin();
	ibv_wr_rdma_write(qp, d.mr->rkey, (uintptr_t)d.memory + 1024);
	end(qp, d.dct[0]->qp_num, KEY);
	for (unsigned i = 0; i < 50; i++)
		softcx_step(0);
	assert_int_equal(ibv_poll_cq(d.cq, 1, &wc), 0);
	assert_true(count_of(CX_DC_cnak) > 10);
	assert_int_equal(ibv_destroy_qp(first), 0);
	assert_int_equal(loopback_await(d.cq).status, IBV_WC_SUCCESS);
}

#define PLANNED_STREAMS(f, plan) GIVEN(f, plan, set_up_streams, tear_down)
#define STREAMS(f)               PLANNED_STREAMS(f, NULL)

/* Targets have the first numbers of a fabric. */
UNIT_MAIN(NULL, STREAMS(each_stream_keeps_its_connection), STREAMS(a_stream_fails_alone),
	  STREAMS(too_many_streams_in_error_fail_the_queue), STREAMS(what_streams_there_can_be),
	  UNIT(an_older_card_has_no_streams),
	  PLANNED_STREAMS(a_plan_names_a_stream, "stream=5 nth=2 fail 0x15 0x81"),
	  PLANNED(a_plan_names_a_target, "dct=0x10001 fail 0x13 0x88; stream=0 nth=2 cnak"),
	  PLANNED(targets_without_room_send_initiators_away, "dc-connections 1"))
