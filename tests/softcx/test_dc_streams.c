/* SPDX-License-Identifier: BSD-2-Clause */
/* Streams of DC initiators, and faults by plan of streams and targets. */
#include "dc.h"

/* -- creation ---------------------------------------------------------------------------------- */

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

#define STREAMS(name) cmocka_unit_test_setup_teardown(name, set_up_streams, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
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
