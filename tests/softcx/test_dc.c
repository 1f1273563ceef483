/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Dynamically connected transport by unmodified libmlx5: which objects may be created and in which
 * state, which target an initiator is connected to, and what it hears if a target does not exist.
 */
#include "dc.h"

/* -- tests ------------------------------------------------------------------------------------- */

static void a_dci_connects_to_whom_a_request_names(void **state)
{
	memset(d.memory, 0x5a, BYTES);
	assert_write(0);
	assert_memory_equal(d.memory, d.memory + 1024, BYTES);
	assert_int_equal(count_of(CX_DC_connect), 1);
	assert_write(0);
	assert_int_equal(count_of(CX_DC_connect), 1);
	assert_int_equal(count_of(CX_DC_disconnect), 0);
	assert_write(1);
	assert_write(0);
	assert_int_equal(count_of(CX_DC_connect), 3);
	assert_int_equal(count_of(CX_DC_disconnect), 2);
	assert_int_equal(count_of(CX_DC_reconnect), 0);
}

/* The plan holds the second request back for two seconds of the device's clock. */
static void an_idle_connection_is_made_anew(void **state)
{
	assert_write(0);
	assert_write(0);
	assert_int_equal(count_of(CX_DC_connect), 2);
	assert_int_equal(count_of(CX_DC_reconnect), 1);
	assert_int_equal(count_of(CX_DC_idle_disconnect), 1);
	assert_int_equal(count_of(CX_DC_disconnect), 0);
}

static void a_message_comes_through_the_srq(void **state)
{
	struct ibv_sge sge = { (uintptr_t)d.memory + 2048, BYTES, d.mr->lkey };
	struct ibv_recv_wr *bad, wr = { .wr_id = 77, .sg_list = &sge, .num_sge = 1 };
	struct ibv_wc wc;
	struct ibv_qp_ex *qp;

	assert_int_equal(ibv_post_srq_recv(d.srq, &wr, &bad), 0);
	memset(d.memory, 0xa5, BYTES);
	qp = begin();
	ibv_wr_send(qp);
	end(qp, d.dct[1]->qp_num, KEY);
	wc = loopback_await(d.cq);
	if (wc.opcode != IBV_WC_RECV)
		wc = loopback_await(d.cq);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_RECV);
	assert_int_equal(wc.wr_id, 77);
	assert_int_equal(wc.byte_len, BYTES);
	assert_int_equal(wc.qp_num, d.dct[1]->qp_num);
	assert_memory_equal(d.memory, d.memory + 2048, BYTES);
}

static void who_is_not_there_does_not_answer(void **state)
{
	const uint32_t gone = d.dct[1]->qp_num;

	assert_write(1);
	assert_int_equal(ibv_destroy_qp(d.dct[1]), 0);
	d.dct[1] = NULL;
	assert_failed(write_to(gone, KEY, 1024), IBV_WC_RETRY_EXC_ERR, 0x81);
	assert_failed(write_to(d.dci->qp_num, KEY, 1024), IBV_WC_RETRY_EXC_ERR, 0x81);
	assert_write(0);
}

static void a_wrong_key_is_not_answered(void **state)
{
	assert_failed(write_to(d.dct[0]->qp_num, KEY + 1, 1024), IBV_WC_RETRY_EXC_ERR, 0x81);
	assert_true(count_of(CX_DC_key_violation) > 0);
	assert_int_equal(count_of(CX_DC_connect), 0);
	assert_write(0);
}

/* The initiator goes to error. The target goes on. */
static void a_target_survives_what_it_refuses(void **state)
{
	struct ibv_qp_ex *qp = begin();

	ibv_wr_rdma_write(qp, d.mr->rkey + 0x100, (uintptr_t)d.memory);
	end(qp, d.dct[0]->qp_num, KEY);
	assert_failed(loopback_await(d.cq), IBV_WC_REM_ACCESS_ERR, 0x88);
	expect_no_event();
	assert_write(0);
}

static void a_target_has_no_way_back(void **state)
{
	struct ibv_qp *fresh = create(MLX5DV_DCTYPE_DCT);
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	assert_int_equal(loopback_modify_to(d.dct[0], 0, IBV_QPS_RESET, IBV_QP_STATE), EINVAL);
	assert_int_equal(loopback_modify_to(d.dct[0], 0, IBV_QPS_ERR, IBV_QP_STATE), EINVAL);
	assert_int_equal(loopback_modify_to(d.dct[0], 0, IBV_QPS_RTS, LOOPBACK_RTS_MASK), EINVAL);
	assert_int_equal(loopback_state(d.dct[0]), IBV_QPS_RTR);
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
	struct ibv_qp *fresh = made(create(MLX5DV_DCTYPE_DCI));

	assert_int_equal(loopback_modify_to(fresh, 0, IBV_QPS_ERR, IBV_QP_STATE), EINVAL);
	assert_int_equal(loopback_modify_to(fresh, 0, IBV_QPS_INIT, LOOPBACK_INIT_MASK), EINVAL);
	assert_int_equal(loopback_modify_to(fresh, 0, IBV_QPS_INIT, DCI_INIT), 0);
	assert_int_equal(loopback_modify_to(fresh, 0, IBV_QPS_RTR, LOOPBACK_RTR_MASK), EINVAL);
	assert_int_equal(loopback_modify_to(fresh, 0, IBV_QPS_RTR, DCI_RTR | IBV_QP_AV), 0);
	assert_int_equal(ibv_destroy_qp(fresh), 0);
}

static void what_dc_cannot_be_made_of_is_refused(void **state)
{
	struct ibv_qp_init_attr_ex init = init_of(MLX5DV_DCTYPE_DCT);

	init.srq = NULL;
	not_made(create_with(MLX5DV_DCTYPE_DCT, &init), EINVAL);
	init = init_of(MLX5DV_DCTYPE_DCI);
	init.cap.max_recv_wr = init.cap.max_recv_sge = 1;
	not_made(create_with(MLX5DV_DCTYPE_DCI, &init), EINVAL);
}

static void a_program_reads_the_counts(void **state)
{
	FILE *file;
	char line[64];

	assert_write(1);
	file = made(fopen("/sys/class/infiniband/mlx5_0/dc_connects", "r"));
	assert_non_null(fgets(line, sizeof(line), file));
	assert_string_equal(line, "connect 1\n");
	assert_int_equal(fclose(file), 0);
	file = made(fopen("/sys/class/infiniband/mlx5_0/ports/1/hw_counters/rx_dct_connect", "r"));
	assert_non_null(fgets(line, sizeof(line), file));
	assert_string_equal(line, "1\n");
	assert_int_equal(fclose(file), 0);
}

UNIT_MAIN(NULL, TEST(a_dci_connects_to_whom_a_request_names),
	  PLANNED(an_idle_connection_is_made_anew, "nth=2 delay 2000000"),
	  TEST(a_message_comes_through_the_srq), TEST(who_is_not_there_does_not_answer),
	  TEST(a_wrong_key_is_not_answered), TEST(a_target_survives_what_it_refuses),
	  TEST(a_target_has_no_way_back), TEST(an_initiator_has_no_rights_to_give),
	  TEST(what_dc_cannot_be_made_of_is_refused), TEST(a_program_reads_the_counts))
