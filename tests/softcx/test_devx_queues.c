/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queues that a program makes by commands, and drives by hand. They carry data as verbs' queues do,
 * and each wrong command has its status.
 */
#include "dc_queues.h"

/* -- what works -------------------------------------------------------------------------------- */

static void they_carry_data_around_their_rings(void **state)
{
	enum { LAPS = 3 };
	const uint64_t findings = cx_lint_count(softcx_hca());
	struct bsn_cqe_resp got;

	connect_ends();
	for (unsigned n = 0; n < LAPS << CQE_LOG2; n++) {
		const unsigned from = n & 1;
		memset(lo.memory, (int)n + 1, 64);
		post(from, BSN_OPCODE_RDMA_WRITE, 64);
		expect_sent(from);
		assert_memory_equal(lo.memory + 2048, lo.memory, 64);
		post_recv(!from, 1024);
		post(from, BSN_OPCODE_SEND_IMM, 48);
		expect_sent(from);
		bsn_cqe_resp_decode(&got, next_cqe(!from));
		assert_int_equal(got.opcode, BSN_CQE_RESP_SEND_IMM);
		assert_int_equal(got.byte_count, 48);
		assert_memory_equal(lo.memory + 1024, lo.memory, 48);
	}
	assert_int_equal(cx_lint_count(softcx_hca()), findings);
}

/* A queue of verbs and one of commands, on the two CQs. */
static void they_talk_to_queues_of_verbs(void **state)
{
	struct move receive = move_of(0, BSN_CMD_INIT2RTR_QP);
	struct move send = move_of(0, BSN_CMD_RTR2RTS_QP);
	struct ibv_wc wc;

	receive.shape.remote_qpn = lo.qp->qp_num;
	receive.work.next_rcv_psn = 0;
	send.work.next_send_psn = 0;
	simply_move(0, BSN_CMD_RST2INIT_QP);
	must_move(0, &receive);
	must_move(0, &send);
	assert_int_equal(loopback_modify(lo.qp, IBV_QPS_RESET, IBV_QP_STATE), 0);
	assert_int_equal(loopback_modify(lo.qp, IBV_QPS_INIT, LOOPBACK_INIT_MASK), 0);
	assert_int_equal(loopback_modify_to(lo.qp, q.ends[0].qpn, IBV_QPS_RTR, LOOPBACK_RTR_MASK),
			 0);
	assert_int_equal(loopback_modify(lo.qp, IBV_QPS_RTS, LOOPBACK_RTS_MASK), 0);
	memset(lo.memory, 0x3d, 64);
	post(0, BSN_OPCODE_RDMA_WRITE, 64);
	expect_sent(0);
	assert_memory_equal(lo.memory + 2048, lo.memory, 64);
	memset(lo.memory, 0x4e, 64);
	loopback_post_write();
	softcx_step(0);
	assert_int_equal(ibv_poll_cq(lo.cq, 1, &wc), 1);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_memory_equal(lo.memory + 2048, lo.memory, 64);
}

static void they_tell_what_they_are(void **state)
{
	struct bsn_qpc_shape shape;
	struct bsn_qpc_work work;
	struct bsn_ads path;

	assert_int_equal(state_of(0), BSN_QPC_RST);
	connect_ends();
	shape = query(0, &path, &work);
	assert_int_equal(shape.state, BSN_QPC_RTS);
	assert_int_equal(shape.pd, pdn_of(lo.pd));
	assert_int_equal(shape.mtu, IBV_MTU_1024);
	assert_int_equal(shape.log_rq_size, RQ_LOG2);
	assert_int_equal(shape.log_sq_size, SQ_LOG2);
	assert_int_equal(shape.user_index, 0x1230);
	assert_int_equal(shape.remote_qpn, q.ends[1].qpn);
	assert_int_equal(path.rlid, CX_LID);
	assert_int_equal(path.vhca_port_num, 1);
	assert_int_equal(path.ack_timeout, 14);
	assert_int_equal(work.cqn_rcv, q.ends[0].cqn);
	assert_int_equal(work.retry_count, 7);
	assert_int_equal(work.next_send_psn, 0x100);
	assert_int_equal(work.rre && work.rwe && !work.rae, 1);
	simply_move(0, BSN_CMD_2ERR_QP);
	assert_int_equal(state_of(0), BSN_QPC_ERR);
	simply_move(0, BSN_CMD_2RST_QP);
	assert_int_equal(state_of(0), BSN_QPC_RST);
}

static void rights_change_on_the_way(void **state)
{
	struct move m = move_of(1, BSN_CMD_INIT2RTR_QP);
	struct bsn_qpc_work work;
	struct bsn_ads path;

	simply_move(1, BSN_CMD_RST2INIT_QP);
	m.options = BSN_QP_OPTION_RWE | BSN_QP_OPTION_RAE;
	m.work.rre = m.work.rwe = 0; /* the first is not named */
	m.work.rae = m.work.atomic_mode = 1;
	must_move(1, &m);
	simply_move(0, BSN_CMD_RST2INIT_QP);
	simply_move(0, BSN_CMD_INIT2RTR_QP);
	simply_move(0, BSN_CMD_RTR2RTS_QP);
	query(1, &path, &work);
	assert_int_equal(work.rre && !work.rwe && work.rae, 1);
	post(0, BSN_OPCODE_RDMA_WRITE, 64);
	expect_failed(0, BSN_SYNDROME_REMOTE_INVALID_REQUEST);
}

static void no_message_is_longer_than_said(void **state)
{
	struct move m = move_of(0, BSN_CMD_INIT2RTR_QP);

	simply_move(0, BSN_CMD_RST2INIT_QP);
	simply_move(1, BSN_CMD_RST2INIT_QP);
	simply_move(1, BSN_CMD_INIT2RTR_QP);
	m.shape.log_msg_max = 6;
	must_move(0, &m);
	simply_move(0, BSN_CMD_RTR2RTS_QP);
	post(0, BSN_OPCODE_RDMA_WRITE, 64);
	expect_sent(0);
	post(0, BSN_OPCODE_RDMA_WRITE, 65);
	expect_failed(0, BSN_SYNDROME_LOCAL_LENGTH);
}

/* -- what is refused --------------------------------------------------------------------------- */

static void each_transition_has_its_state(void **state)
{
	static const uint32_t order[] = { BSN_CMD_RST2INIT_QP, BSN_CMD_INIT2RTR_QP,
					  BSN_CMD_RTR2RTS_QP };

	for (unsigned done = 0; done <= 3; done++) {
		for (unsigned next = 0; next < 3; next++) {
			const struct move m = move_of(0, order[next]);
			if (next != done)
				must_refuse(0, &m, BSN_COMMAND_BAD_QP_STATE);
		}
		assert_int_equal(state_of(0), done);
		if (done < 3)
			simply_move(0, order[done]);
	}
}

#define BAD_MOVE(opcode, change)                                                                   \
	do {                                                                                       \
		struct move m = move_of(0, opcode);                                                \
		change;                                                                            \
		must_refuse(0, &m, BSN_COMMAND_BAD_PARAMETER);                                     \
	} while (0)

static void each_bad_transition_has_its_status(void **state)
{
	BAD_MOVE(BSN_CMD_RST2INIT_QP, m.path.vhca_port_num = 2);
	BAD_MOVE(BSN_CMD_RST2INIT_QP, m.path.vhca_port_num = 0);
	BAD_MOVE(BSN_CMD_RST2INIT_QP, m.path.pkey_index = 128);
	BAD_MOVE(BSN_CMD_RST2INIT_QP, m.options = BSN_QP_OPTION_RRE);
	simply_move(0, BSN_CMD_RST2INIT_QP);
	BAD_MOVE(BSN_CMD_INIT2RTR_QP, m.shape.mtu = 0);
	BAD_MOVE(BSN_CMD_INIT2RTR_QP, m.shape.mtu = 6);
	BAD_MOVE(BSN_CMD_INIT2RTR_QP, m.shape.log_msg_max = CX_MAX_MSG_LOG2 + 1);
	BAD_MOVE(BSN_CMD_INIT2RTR_QP, m.work.log_rra_max = 5);
	BAD_MOVE(BSN_CMD_INIT2RTR_QP, m.path.vhca_port_num = 2);
	BAD_MOVE(BSN_CMD_INIT2RTR_QP, (m.path.grh = 1, m.path.src_addr_index = 1));
	BAD_MOVE(BSN_CMD_INIT2RTR_QP, m.options = BSN_QP_OPTION_RNR_TIMEOUT);
	simply_move(0, BSN_CMD_INIT2RTR_QP);
	BAD_MOVE(BSN_CMD_RTR2RTS_QP, m.work.log_sra_max = 5);
	BAD_MOVE(BSN_CMD_RTR2RTS_QP, m.options = BSN_QP_OPTION_PKEY_INDEX);
	assert_int_equal(state_of(0), BSN_QPC_RTR);
	simply_move(0, BSN_CMD_RTR2RTS_QP);
	/* ports are not bonded */
	BAD_MOVE(BSN_CMD_RTS2RTS_QP,
		 (m.options = BSN_QP_OPTION_LAG_TX_AFFINITY, m.shape.lag_tx_port_affinity = 1));
}

#define BAD_CQ(wanted, change) REFUSED(wanted, create_cq, cq_request(0), change)

static void each_bad_cq_has_its_status(void **state)
{
	struct mlx5dv_devx_umem *readable =
		made(mlx5dv_devx_umem_reg(lo.ctx, q.ends[0].memory, PAGE, 0));

	BAD_CQ(BAD_PARAMETER, r.ctx.cqe_sz = 2);
	BAD_CQ(BAD_PARAMETER, r.ctx.cc = 1);
	BAD_CQ(BAD_PARAMETER, r.ctx.cqe_compression_layout = 1);
	BAD_CQ(BAD_PARAMETER, r.ctx.page_offset = 1);
	BAD_CQ(BAD_PARAMETER, r.ctx.log_cq_size = 23);
	BAD_CQ(BAD_PARAMETER, r.ctx.c_eqn_or_apu_element = CX_FIRST_EQN - 1);
	BAD_CQ(BAD_PARAMETER, r.ctx.c_eqn_or_apu_element = CX_FIRST_EQN + CX_COMP_VECTORS);
	BAD_CQ(BAD_PARAMETER, r.ctx.dbr_addr = CQ_RECORD_AT + 4);
	BAD_CQ(BAD_PARAMETER, r.ctx.dbr_addr = sizeof(q.ends[0].memory));
	BAD_CQ(BAD_PARAMETER, r.ring.umem_offset = 64);
	BAD_CQ(BAD_PARAMETER, r.ctx.log_cq_size = 8); /* 16 KB of 12 */
	BAD_CQ(BAD_PARAMETER, r.ring.umem_id = readable->umem_id);
	BAD_CQ(BAD_RESOURCE, r.ring.umem_id ^= 1 << 20);
	BAD_CQ(BAD_RESOURCE, r.ctx.dbr_umem_id = 0);
	BAD_CQ(BAD_RESOURCE, r.ctx.uar_page += 100);
	assert_int_equal(mlx5dv_devx_umem_dereg(readable), 0);
}

#define BAD_QP(wanted, change) REFUSED(wanted, create_qp, qp_request(0), change)

static void each_bad_qp_has_its_status(void **state)
{
	BAD_QP(BAD_PARAMETER, r.shape.st = 2);
	BAD_QP(BAD_PARAMETER, r.shape.wq_signature = 1);
	BAD_QP(BAD_PARAMETER, r.shape.ts_format = 2);
	BAD_QP(BAD_PARAMETER, r.shape.rlky = 1);
	BAD_QP(BAD_PARAMETER, r.work.page_offset = 1);
	BAD_QP(BAD_PARAMETER, r.work.cd_master = 1);
	BAD_QP(BAD_PARAMETER, r.work.rq_type = 2);
	BAD_QP(BAD_PARAMETER, r.record.cs_res = 2); /* the CQEs have 64 bytes */
	BAD_QP(BAD_PARAMETER, r.record.cs_req = 0x22);
	BAD_QP(BAD_PARAMETER, r.ring.umem_offset = 8);
	BAD_QP(BAD_PARAMETER, r.shape.log_sq_size = 8);
	BAD_QP(BAD_PARAMETER, r.work.dbr_addr = QP_RECORD_AT + 4);
	BAD_QP(BAD_RESOURCE, r.shape.pd ^= 1);
	BAD_QP(BAD_RESOURCE, r.work.cqn_snd ^= 1 << 20);
	BAD_QP(BAD_RESOURCE, r.work.cqn_rcv = 0);
	BAD_QP(BAD_RESOURCE, (r.work.rq_type = 1, r.work.srqn_rmpn_xrqn = 5));
	BAD_QP(BAD_RESOURCE, r.shape.uar_page += 100);
	BAD_QP(BAD_RESOURCE, r.ring.umem_id = 0);
	BAD_QP(BAD_RESOURCE, r.record.dbr_umem_id = 0);
}

/* The kernel checks that a command names the object of its handle. */
static void a_command_means_the_object_of_its_handle(void **state)
{
	const struct move m = move_of(0, BSN_CMD_RST2INIT_QP);
	const struct end *end = &q.ends[0];
	uint8_t out[BSN_QUERY_QP_OUT_SIZE];
	uint32_t status;

	assert_int_equal(move(q.ends[1].qp, &m, &status), EINVAL);
	assert_int_equal(move(end->cq, &m, &status), EINVAL);
	assert_int_equal(modify_object(end->qp, BSN_CMD_QUERY_QP, end->qpn, out), EINVAL);
	assert_int_equal(query_object(end->qp, BSN_CMD_2RST_QP, end->qpn, out, sizeof(out)),
			 EINVAL);
	assert_int_equal(state_of(0), BSN_QPC_RST);
}

static void what_a_queue_stands_on_stays(void **state)
{
	uint8_t in[BSN_MEANING_IN_SIZE] = { 0 }, out[BSN_CREATED_OUT_SIZE];
	struct qp_request r = qp_request(0);
	struct mlx5dv_devx_obj *pd, *qp;
	struct mlx5dv_devx_umem *umem[2]; /* of the ring, and of the record */

	for (unsigned i = 0; i < 2; i++)
		umem[i] = made(mlx5dv_devx_umem_reg(lo.ctx, q.ends[0].memory, PAGE, 0));
	put_head(in, BSN_CMD_ALLOC_PD, 0);
	pd = made(create(in, sizeof(in), out));
	r.shape.pd = number_of(out);
	r.ring = (struct bsn_cmd_ring){ .umem_id = umem[0]->umem_id };
	r.record.dbr_umem_id = umem[1]->umem_id;
	r.work.dbr_addr = 0;
	qp = made(create_qp(&r, out));
	assert_int_equal(mlx5dv_devx_obj_destroy(pd), EBUSY);
	assert_int_equal(mlx5dv_devx_obj_destroy(q.ends[0].cq), EBUSY);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(mlx5dv_devx_umem_dereg(umem[i]), EBUSY);
	assert_int_equal(mlx5dv_devx_obj_destroy(qp), 0);
	assert_int_equal(mlx5dv_devx_obj_destroy(pd), 0);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(mlx5dv_devx_umem_dereg(umem[i]), 0);
	assert_int_equal(mlx5dv_devx_umem_dereg(q.ends[0].umem), EBUSY);
}

/* A CQ that is older than its queue pair has the lower handle. */
static void a_context_that_closes_takes_them_along(void **state)
{
	uint8_t in[BSN_MEANING_IN_SIZE] = { 0 }, out[BSN_CREATED_OUT_SIZE];
	struct cq_request cq = cq_request(0);
	struct qp_request qp = qp_request(0);
	struct ibv_context *own = lo.ctx;
	void *of_libmlx5[4]; /* objects that libmlx5 keeps, which outlive all of them */
	struct mlx5dv_devx_umem *umem;
	uint32_t cqn, qpn;

	lo.ctx = loopback_open_device();
	of_libmlx5[0] = umem = made(mlx5dv_devx_umem_reg(
		lo.ctx, q.ends[0].memory, sizeof(q.ends[0].memory), IBV_ACCESS_LOCAL_WRITE));
	cq.ring.umem_id = qp.ring.umem_id = umem->umem_id;
	cq.ctx.dbr_umem_id = qp.record.dbr_umem_id = umem->umem_id;
	cq.ctx.uar_page = qp.shape.uar_page =
		mlx5dv_devx_alloc_uar(lo.ctx, MLX5DV_UAR_ALLOC_TYPE_NC)->page_id;
	put_head(in, BSN_CMD_ALLOC_PD, 0);
	of_libmlx5[1] = made(create(in, sizeof(in), out));
	qp.shape.pd = number_of(out);
	of_libmlx5[2] = made(create_cq(&cq, out));
	qp.work.cqn_snd = qp.work.cqn_rcv = cqn = number_of(out);
	of_libmlx5[3] = made(create_qp(&qp, out));
	qpn = number_of(out);
	assert_int_equal(ibv_close_device(lo.ctx), 0);
	lo.ctx = own;
	for (unsigned i = 0; i < 4; i++)
		free(of_libmlx5[i]);
	assert_int_equal(cx_qp_destroy(softcx_hca(), qpn), -EINVAL);
	assert_int_equal(cx_cq_destroy(softcx_hca(), cqn), -EINVAL);
	assert_int_equal(cx_pd_destroy(softcx_hca(), qp.shape.pd), -EINVAL);
}

/* -- dynamically connected transport ----------------------------------------------------------- */

static void a_target_and_an_initiator_of_commands(void **state)
{
	open_dci();
	for (unsigned n = 0, to = 1024; n < 3 << RMP_LOG2; n++, to ^= 256) {
		memset(lo.memory, (int)n + 1, 48);
		post_to_rmp(to);
		post_dc(KEY, STREAM);
		expect_dc_sent();
		expect_received();
		assert_memory_equal(lo.memory + to, lo.memory, 48);
	}
}

/* As the kernel's lists do: what commands made is the firmware's. */
static void lists_of_resources_leave_them_out(void **state)
{
	static const enum cx_resource_kind kinds[] = { CX_RESOURCE_CQ, CX_RESOURCE_QP,
						       CX_RESOURCE_SRQ };

	for (unsigned i = 0; i < COUNT_OF(kinds); i++)
		assert_int_equal(cx_resource_count(softcx_hca(), kinds[i]),
				 kinds[i] != CX_RESOURCE_SRQ); /* the loopback's */
}

static int reset_stream(uint16_t stream)
{
	uint8_t in[BSN_MODIFY_QP_EXT_IN_SIZE] = { 0 }, out[BSN_MODIFY_QP_OUT_SIZE];

	put_head(in, BSN_CMD_RTS2RTS_QP, d.dcin);
	ENCODE(cmd_object, in + BSN_CMD_OBJECT_OFFSET, .qpc_ext = 1, .number = d.dcin);
	ENCODE(qpc_ext, in + BSN_MODIFY_QP_EXT_OFFSET,
	       .opt_param_mask_95_32 = BSN_QP_EXT_OPTION_DCI_STREAM_CHANNEL_ID,
	       .dci_stream_channel_id = stream);
	return mlx5dv_devx_obj_modify(d.dci, in, sizeof(in), out, sizeof(out));
}

static void a_wrong_key_is_counted(void **state)
{
	open_dci();
	post_dc(KEY + 1, STREAM);
	expect_failed(0, BSN_SYNDROME_RETRY_EXCEEDED);
	assert_true(query_dct().dc_access_key_violation_count > 1); /* retries count, too */
	assert_int_equal(reset_stream(STREAM + 1), EREMOTEIO);
	assert_int_equal(reset_stream(STREAM), 0);
	post_to_rmp(1024);
	post_dc(KEY, STREAM);
	expect_dc_sent();
	expect_received();
}

static void who_is_drained_answers_no_more(void **state)
{
	uint8_t out[BSN_MODIFY_QP_OUT_SIZE];
	struct bsn_dctc c;

	open_dci();
	assert_int_equal(change_dct(BSN_CMD_DRAIN_DCT), 0);
	assert_int_equal(modify_object(d.dct, BSN_CMD_DRAIN_DCT, d.dctn, out), EREMOTEIO);
	assert_int_equal(status_of(out), BSN_COMMAND_BAD_RESOURCE_STATE);
	post_to_rmp(1024);
	post_dc(KEY, STREAM);
	expect_failed(0, BSN_SYNDROME_RETRY_EXCEEDED);
	c = query_dct();
	assert_int_equal(c.state, 1);
	assert_int_equal(c.srqn_xrqn, d.rmpn);
	assert_int_equal(c.dc_access_key, KEY);
	assert_int_equal(c.rre && c.rwe && !c.rae && c.force_full_handshake, 1);
	assert_int_equal(mlx5dv_devx_obj_destroy(d.rmp), EBUSY);
	assert_int_equal(mlx5dv_devx_umem_dereg(d.rmp_umem), EBUSY);
	assert_int_equal(mlx5dv_devx_obj_destroy(d.dct), 0);
	d.dct = NULL;
}

#define BAD_RMP(wanted, change) REFUSED(wanted, create_rmp, rmp_request(), change)
#define BAD_DCT(wanted, change) REFUSED(wanted, create_dct, dct_request(), change)
#define BAD_DCI(wanted, change) REFUSED(wanted, create_qp, dci_request(), change)

static void each_bad_end_of_dc_has_its_status(void **state)
{
	BAD_RMP(BAD_PARAMETER, r.head.state = 0);
	BAD_RMP(BAD_PARAMETER, r.head.basic_cyclic_rcv_wqe = 1);
	BAD_RMP(BAD_PARAMETER, r.wq.wq_type = BSN_WQ_CYCLIC_STRIDING);
	BAD_RMP(BAD_PARAMETER, r.wq.page_offset = 1);
	BAD_RMP(BAD_PARAMETER, r.wq.log_wq_stride = 4);
	BAD_RMP(BAD_PARAMETER, r.wq.log_wq_sz = 8); /* 8 KB of 4 */
	BAD_RMP(BAD_RESOURCE, r.wq.pd ^= 1);
	BAD_RMP(BAD_RESOURCE, r.wq.wq_umem_id = 0);
	BAD_DCT(BAD_PARAMETER, r.mtu = 0);
	BAD_DCT(BAD_PARAMETER, r.port = 2);
	BAD_DCT(BAD_PARAMETER, r.my_addr_index = 1);
	BAD_DCT(BAD_PARAMETER, r.offload_type = 1);
	BAD_DCT(BAD_PARAMETER, r.cs_res = 1);
	BAD_DCT(BAD_RESOURCE, r.cs_res = 2); /* the CQEs have 64 bytes */
	BAD_DCT(BAD_RESOURCE, r.srqn_xrqn = 0);
	BAD_DCT(BAD_RESOURCE, r.cqn ^= 1 << 20);
	BAD_DCT(BAD_RESOURCE, r.pd ^= 1);
	BAD_DCI(BAD_PARAMETER, r.work.log_num_dci_stream_channels = 6);
	BAD_DCI(BAD_PARAMETER, r.work.log_num_dci_errored_streams = 5);
	BAD_DCI(BAD_PARAMETER, r.shape.rdma_wr_disabled = 1);
	BAD_DCI(BAD_PARAMETER, r.shape.st = 0); /* an RC queue with streams */
}

/* -- changing a CQ ----------------------------------------------------------------------------- */

static int modify_cq(uint32_t select, const struct bsn_cqc *c)
{
	uint8_t in[BSN_CREATE_CQ_IN_SIZE] = { 0 }, out[BSN_CREATED_OUT_SIZE];

	put_head(in, BSN_CMD_MODIFY_CQ, q.ends[0].cqn);
	ENCODE(cmd_select, in + BSN_MODIFY_CQ_SELECT_OFFSET, .modify_field_select = select);
	bsn_cqc_encode(in + BSN_CREATE_CQ_CTX_OFFSET, c);
	return mlx5dv_devx_obj_modify(q.ends[0].cq, in, sizeof(in), out, sizeof(out));
}

static struct bsn_cqc query_cq(void)
{
	uint8_t out[BSN_QUERY_CQ_OUT_SIZE];
	struct bsn_cqc c;

	assert_int_equal(
		query_object(q.ends[0].cq, BSN_CMD_QUERY_CQ, q.ends[0].cqn, out, sizeof(out)), 0);
	bsn_cqc_decode(&c, out + BSN_CREATE_CQ_CTX_OFFSET);
	return c;
}

static void a_cq_changes_what_is_named(void **state)
{
	const struct bsn_cqc wish = { .cq_period = 17, .cq_max_count = 9, .oi = 1 };
	struct bsn_cqc c;

	assert_int_equal(modify_cq(BSN_CQ_CHANGE_PERIOD, &wish), 0);
	c = query_cq();
	assert_int_equal(c.log_cq_size, CQE_LOG2);
	assert_int_equal(c.cq_period, 17);
	assert_int_equal(c.cq_max_count, 0);
	assert_int_equal(modify_cq(BSN_CQ_CHANGE_COUNT | BSN_CQ_CHANGE_OVERRUN, &wish), 0);
	c = query_cq();
	assert_int_equal(c.cq_max_count, 9);
	assert_int_equal(c.oi, 1);
	assert_int_equal(c.producer_counter, 0);
	assert_int_equal(modify_cq(1 << 3, &wish), EREMOTEIO);
	connect_ends();
	post(0, BSN_OPCODE_RDMA_WRITE, 64);
	assert_int_equal(query_cq().producer_counter, 1);
}

UNIT_MAIN(NULL, TEST(they_carry_data_around_their_rings), TEST(they_talk_to_queues_of_verbs),
	  TEST(they_tell_what_they_are), TEST(rights_change_on_the_way),
	  TEST(no_message_is_longer_than_said), TEST(each_transition_has_its_state),
	  TEST(each_bad_transition_has_its_status), TEST(each_bad_cq_has_its_status),
	  TEST(each_bad_qp_has_its_status), TEST(a_command_means_the_object_of_its_handle),
	  TEST(what_a_queue_stands_on_stays), TEST(a_context_that_closes_takes_them_along),
	  TEST_DC(a_target_and_an_initiator_of_commands),
	  TEST_DC(lists_of_resources_leave_them_out), TEST_DC(a_wrong_key_is_counted),
	  TEST_DC(who_is_drained_answers_no_more), TEST_DC(each_bad_end_of_dc_has_its_status),
	  TEST(a_cq_changes_what_is_named))
