/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queues that a program makes by commands, and drives by hand. They carry data as verbs' queues do,
 * and each wrong command has its status.
 */
#include "loopback.h"

#include <errno.h>
#include <fcntl.h>

#include <infiniband/mlx5dv.h>

#include "bsn_cmd.h"
#include "bsn_cqe.h"
#include "bsn_db.h"
#include "bsn_syndrome.h"
#include "datasheet.h"

enum { PAGE = 4096, CQE_LOG2 = 5, RQ_LOG2 = 2, SQ_LOG2 = 3, CMD_BYTES = 272, ENDS = 2 };

/* One end: a CQ, and a queue pair on it. Rings and records are in one umem. */
struct end {
	uint8_t memory[3 * PAGE] __attribute__((aligned(PAGE))); /* CQEs, rings, records */
	struct mlx5dv_devx_umem *umem;
	struct mlx5dv_devx_obj *cq, *qp;
	uint32_t cqn, qpn;
	uint32_t sq_index, rq_index, cq_index;
};

enum { CQ_AT = 0, RING_AT = PAGE, CQ_RECORD_AT = 2 * PAGE, QP_RECORD_AT = 2 * PAGE + 64 };

struct queues {
	struct loopback *l;
	struct mlx5dv_devx_uar *uar;
	struct end ends[ENDS];
};

/* The fields of CREATE_CQ and CREATE_QP; a test changes some. */
struct cq_request {
	struct bsn_cqc ctx;
	struct bsn_cmd_ring ring;
};

struct qp_request {
	struct bsn_qpc_shape shape;
	struct bsn_qpc_work work;
	struct bsn_qpc_record record;
	struct bsn_cmd_ring ring;
};

struct move {
	uint32_t opcode, qpn, options;
	struct bsn_qpc_shape shape;
	struct bsn_ads path;
	struct bsn_qpc_work work;
};

static void put_head(uint8_t *in, uint32_t opcode, uint32_t number)
{
	const struct bsn_cmd_object object = { .number = number };
	const struct bsn_cmd_in head = { .opcode = opcode };

	bsn_cmd_in_encode(in, &head);
	bsn_cmd_object_encode(in + BSN_CMD_OBJECT_OFFSET, &object);
}

static uint32_t status_of(const uint8_t *out)
{
	struct bsn_cmd_out head;

	bsn_cmd_out_decode(&head, out);
	return head.status;
}

static uint32_t number_of(const uint8_t *out)
{
	struct bsn_cmd_object object;

	bsn_cmd_object_decode(&object, out + BSN_CMD_OBJECT_OFFSET);
	return object.number;
}

static uint32_t pdn_of(struct ibv_pd *pd)
{
	struct mlx5dv_pd out = { 0 };
	struct mlx5dv_obj obj = { .pd = { .in = pd, .out = &out } };

	assert_int_equal(mlx5dv_init_obj(&obj, MLX5DV_OBJ_PD), 0);
	return out.pdn;
}

/* -- making ------------------------------------------------------------------------------------ */

static struct cq_request cq_request(const struct queues *q, unsigned end)
{
	uint32_t eqn;

	assert_int_equal(mlx5dv_devx_query_eqn(q->l->ctx, 0, &eqn), 0);
	return (struct cq_request){
		.ctx = { .log_cq_size = CQE_LOG2,
			 .uar_page = q->uar->page_id,
			 .c_eqn_or_apu_element = eqn,
			 .dbr_umem_id = q->ends[end].umem->umem_id,
			 .dbr_addr = CQ_RECORD_AT },
		.ring = { .umem_id = q->ends[end].umem->umem_id, .umem_offset = CQ_AT },
	};
}

static struct qp_request qp_request(const struct queues *q, unsigned end)
{
	return (struct qp_request){
		.shape = { .pd = pdn_of(q->l->pd),
			   .pm_state = 3,
			   .log_rq_size = RQ_LOG2,
			   .log_sq_size = SQ_LOG2,
			   .uar_page = q->uar->page_id,
			   .user_index = 0x1230 + end },
		.work = { .cqn_snd = q->ends[end].cqn,
			  .cqn_rcv = q->ends[end].cqn,
			  .dbr_addr = QP_RECORD_AT },
		.record = { .dbr_umem_id = q->ends[end].umem->umem_id },
		.ring = { .umem_id = q->ends[end].umem->umem_id, .umem_offset = RING_AT },
	};
}

static struct mlx5dv_devx_obj *create(struct queues *q, const uint8_t *in, size_t size,
				      uint8_t *out)
{
	errno = 0;
	return mlx5dv_devx_obj_create(q->l->ctx, in, size, out, BSN_CREATED_OUT_SIZE);
}

static struct mlx5dv_devx_obj *create_cq(struct queues *q, const struct cq_request *r, uint8_t *out)
{
	uint8_t in[BSN_CREATE_CQ_IN_SIZE] = { 0 };

	put_head(in, BSN_CMD_CREATE_CQ, 0);
	bsn_cqc_encode(in + BSN_CREATE_CQ_CTX_OFFSET, &r->ctx);
	bsn_cmd_ring_encode(in + BSN_CREATE_CQ_RING_OFFSET, &r->ring);
	return create(q, in, sizeof(in), out);
}

static struct mlx5dv_devx_obj *create_qp(struct queues *q, const struct qp_request *r, uint8_t *out)
{
	uint8_t in[BSN_CREATE_QP_IN_SIZE] = { 0 }, *qpc = in + BSN_CREATE_QP_CTX_OFFSET;

	put_head(in, BSN_CMD_CREATE_QP, 0);
	bsn_qpc_shape_encode(qpc, &r->shape);
	bsn_qpc_work_encode(qpc + BSN_QPC_WORK_OFFSET, &r->work);
	bsn_qpc_record_encode(qpc + BSN_QPC_RECORD_OFFSET, &r->record);
	bsn_cmd_ring_encode(in + BSN_CREATE_QP_RING_OFFSET, &r->ring);
	return create(q, in, sizeof(in), out);
}

static void make_end(struct queues *q, unsigned i)
{
	uint8_t out[BSN_CREATED_OUT_SIZE] = { 0 };
	struct end *end = &q->ends[i];
	struct cq_request cq;
	struct qp_request qp;

	memset(end->memory, 0, sizeof(end->memory));
	memset(end->memory + CQ_AT, 0xff, PAGE); /* opcode 0xf: never written */
	end->umem = mlx5dv_devx_umem_reg(q->l->ctx, end->memory, sizeof(end->memory),
					 IBV_ACCESS_LOCAL_WRITE);
	assert_non_null(end->umem);
	cq = cq_request(q, i);
	end->cq = create_cq(q, &cq, out);
	assert_non_null(end->cq);
	end->cqn = number_of(out);
	qp = qp_request(q, i);
	end->qp = create_qp(q, &qp, out);
	assert_non_null(end->qp);
	end->qpn = number_of(out);
}

static int set_up_on(void **state, enum cx_link link)
{
	const struct cx_config config = loopback_config(link, true);
	struct queues *q = aligned_alloc(PAGE, sizeof(*q));
	void *l;

	assert_non_null(q);
	memset(q, 0, sizeof(*q));
	if (link == CX_LINK_IB) {
		loopback_set_up(&l);
		q->l = l;
	} else {
		q->l = aligned_alloc(PAGE, sizeof(*q->l));
		assert_non_null(q->l);
		memset(q->l, 0, sizeof(*q->l));
		assert_int_equal(softcx_start(&config), 0);
		q->l->ctx = loopback_open_device();
		q->l->pd = ibv_alloc_pd(q->l->ctx);
		q->l->mr = ibv_reg_mr(q->l->pd, q->l->memory, sizeof(q->l->memory),
				      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
		assert_non_null(q->l->mr);
	}
	q->uar = mlx5dv_devx_alloc_uar(q->l->ctx, MLX5DV_UAR_ALLOC_TYPE_NC);
	assert_non_null(q->uar);
	for (unsigned i = 0; i < ENDS; i++)
		make_end(q, i);
	*state = q;
	return 0;
}

static int set_up(void **state)
{
	return set_up_on(state, CX_LINK_IB);
}

static int set_up_roce(void **state)
{
	return set_up_on(state, CX_LINK_ROCE);
}

static void destroy_ends(struct queues *q)
{
	for (unsigned i = 0; i < ENDS; i++) {
		assert_int_equal(mlx5dv_devx_obj_destroy(q->ends[i].qp), 0);
		assert_int_equal(mlx5dv_devx_obj_destroy(q->ends[i].cq), 0);
		assert_int_equal(mlx5dv_devx_umem_dereg(q->ends[i].umem), 0);
	}
	mlx5dv_devx_free_uar(q->uar);
}

static int tear_down(void **state)
{
	struct queues *q = *state;
	void *l = q->l;

	destroy_ends(q);
	free(q);
	return loopback_tear_down(&l);
}

static int tear_down_roce(void **state)
{
	struct queues *q = *state;

	destroy_ends(q);
	assert_int_equal(ibv_dereg_mr(q->l->mr), 0);
	assert_int_equal(ibv_dealloc_pd(q->l->pd), 0);
	assert_int_equal(ibv_close_device(q->l->ctx), 0);
	assert_int_equal(softcx_stop(), 0);
	free(q->l);
	free(q);
	return 0;
}

/* -- moving ------------------------------------------------------------------------------------ */

static struct move move_of(const struct queues *q, unsigned end, uint32_t opcode)
{
	return (struct move){
		.opcode = opcode,
		.qpn = q->ends[end].qpn,
		.shape = { .mtu = IBV_MTU_1024,
			   .log_msg_max = CX_MAX_MSG_LOG2,
			   .remote_qpn = q->ends[!end].qpn },
		.path = { .vhca_port_num = 1, .rlid = CX_LID, .ack_timeout = 14 },
		.work = { .rre = 1,
			  .rwe = 1,
			  .retry_count = 7,
			  .rnr_retry = 7,
			  .min_rnr_nak = 12,
			  .next_send_psn = 0x100 + end,
			  .next_rcv_psn = 0x100 + !end },
	};
}

/* The error of the call, and the status of the firmware. */
static int move(struct mlx5dv_devx_obj *obj, const struct move *m, uint32_t *status)
{
	uint8_t in[CMD_BYTES] = { 0 }, out[BSN_MODIFY_QP_OUT_SIZE] = { 0 };
	const struct bsn_cmd_options options = { .opt_param_mask = m->options };
	uint8_t *qpc = in + BSN_CREATE_QP_CTX_OFFSET;
	int err;

	put_head(in, m->opcode, m->qpn);
	bsn_cmd_options_encode(in + BSN_MODIFY_QP_OPTIONS_OFFSET, &options);
	bsn_qpc_shape_encode(qpc, &m->shape);
	bsn_ads_encode(qpc + BSN_QPC_ADS_OFFSET, &m->path);
	bsn_qpc_work_encode(qpc + BSN_QPC_WORK_OFFSET, &m->work);
	err = mlx5dv_devx_obj_modify(obj, in, sizeof(in), out, sizeof(out));
	*status = status_of(out);
	return err;
}

static void must_move(struct queues *q, unsigned end, const struct move *m)
{
	uint32_t status;

	assert_int_equal(move(q->ends[end].qp, m, &status), 0);
	assert_int_equal(status, BSN_COMMAND_OK);
}

static void must_refuse(struct queues *q, unsigned end, const struct move *m, uint32_t wanted)
{
	uint32_t status;

	assert_int_equal(move(q->ends[end].qp, m, &status), EREMOTEIO);
	assert_int_equal(status, wanted);
}

static void simply_move(struct queues *q, unsigned end, uint32_t opcode)
{
	const struct move m = move_of(q, end, opcode);

	must_move(q, end, &m);
}

static void connect_ends(struct queues *q)
{
	for (unsigned end = 0; end < ENDS; end++) {
		simply_move(q, end, BSN_CMD_RST2INIT_QP);
		simply_move(q, end, BSN_CMD_INIT2RTR_QP);
	}
	for (unsigned end = 0; end < ENDS; end++)
		simply_move(q, end, BSN_CMD_RTR2RTS_QP);
}

static struct bsn_qpc_shape query(struct queues *q, unsigned end, struct bsn_ads *path,
				  struct bsn_qpc_work *work)
{
	uint8_t in[BSN_MEANING_IN_SIZE] = { 0 }, out[BSN_QUERY_QP_OUT_SIZE];
	const uint8_t *qpc = out + BSN_CREATE_QP_CTX_OFFSET;
	struct bsn_qpc_shape shape;

	put_head(in, BSN_CMD_QUERY_QP, q->ends[end].qpn);
	assert_int_equal(mlx5dv_devx_obj_query(q->ends[end].qp, in, sizeof(in), out, sizeof(out)),
			 0);
	bsn_qpc_shape_decode(&shape, qpc);
	bsn_ads_decode(path, qpc + BSN_QPC_ADS_OFFSET);
	bsn_qpc_work_decode(work, qpc + BSN_QPC_WORK_OFFSET);
	return shape;
}

static uint32_t state_of(struct queues *q, unsigned end)
{
	struct bsn_qpc_work work;
	struct bsn_ads path;

	return query(q, end, &path, &work).state;
}

/* -- driving ----------------------------------------------------------------------------------- */

static struct bsn_data data_of(const struct queues *q, unsigned offset, uint32_t bytes)
{
	return (struct bsn_data){ .byte_count = bytes,
				  .lkey = q->l->mr->lkey,
				  .addr = (uintptr_t)q->l->memory + offset };
}

/* SEND with an immediate, or a WRITE to the memory's second half. */
static void post(struct queues *q, unsigned i, enum bsn_wqe_opcode opcode, uint32_t bytes)
{
	struct end *end = &q->ends[i];
	const bool writes = opcode == BSN_OPCODE_RDMA_WRITE;
	const struct bsn_ctrl ctrl = {
		.opcode = opcode,
		.wqe_index = end->sq_index & 0xffff,
		.qpn = end->qpn,
		.ds = writes ? 3 : 2,
		.ce = BSN_CE_ALWAYS,
		.imm = writes ? 0 : 0x5eed,
	};
	const struct bsn_raddr raddr = { .raddr = (uintptr_t)q->l->memory + 2048,
					 .rkey = q->l->mr->rkey };
	const struct bsn_data data = data_of(q, 0, bytes);
	const struct bsn_dbr_wq record = { .index = (end->sq_index + 1) & 0xffff };
	uint8_t *slot = end->memory + RING_AT + (BSN_DATA_SIZE << RQ_LOG2) +
			(size_t)(end->sq_index % (1 << SQ_LOG2)) * BSN_BB_SIZE;

	bsn_ctrl_encode(slot, &ctrl);
	if (writes)
		bsn_raddr_encode(slot + BSN_CTRL_SIZE, &raddr);
	bsn_data_encode(slot + BSN_CTRL_SIZE + (writes ? BSN_RADDR_SIZE : 0), &data);
	bsn_dbr_wq_encode(end->memory + QP_RECORD_AT + BSN_DBR_SEND_OFFSET, &record);
	end->sq_index++;
	softcx_step(0);
}

static void post_recv(struct queues *q, unsigned i, unsigned offset)
{
	struct end *end = &q->ends[i];
	const struct bsn_data data = data_of(q, offset, 256);
	const struct bsn_dbr_wq record = { .index = end->rq_index + 1 };

	bsn_data_encode(end->memory + RING_AT +
				(size_t)(end->rq_index % (1 << RQ_LOG2)) * BSN_DATA_SIZE,
			&data);
	bsn_dbr_wq_encode(end->memory + QP_RECORD_AT + BSN_DBR_RECV_OFFSET, &record);
	end->rq_index++;
}

/* Returns the next CQE of an end, which must be there. */
static const uint8_t *next_cqe(struct queues *q, unsigned i)
{
	struct end *end = &q->ends[i];
	const uint32_t at = end->cq_index % (1 << CQE_LOG2);
	const uint8_t *cqe = end->memory + CQ_AT + (size_t)at * BSN_CQE_SIZE;
	const struct bsn_dbr_cq_ci record = { .ci = end->cq_index + 1 };
	struct bsn_cqe_tail tail;

	bsn_cqe_tail_decode(&tail, cqe + BSN_CQE_SIZE - BSN_CQE_TAIL_SIZE);
	assert_int_equal(tail.owner, end->cq_index >> CQE_LOG2 & 1);
	bsn_dbr_cq_ci_encode(end->memory + CQ_RECORD_AT + BSN_DBR_CQ_CI_OFFSET, &record);
	end->cq_index++;
	return cqe;
}

static void expect_sent(struct queues *q, unsigned end)
{
	struct bsn_cqe_req cqe;

	bsn_cqe_req_decode(&cqe, next_cqe(q, end));
	assert_int_equal(cqe.opcode, BSN_CQE_REQ);
	assert_int_equal(cqe.qpn, q->ends[end].qpn);
	assert_int_equal(cqe.srqn_uidx, 0x1230 + end);
}

static void expect_failed(struct queues *q, unsigned end, enum bsn_syndrome syndrome)
{
	struct bsn_cqe_err cqe;

	bsn_cqe_err_decode(&cqe, next_cqe(q, end));
	assert_int_equal(cqe.opcode, BSN_CQE_REQ_ERR);
	assert_int_equal(cqe.syndrome, syndrome);
}

/* -- what works -------------------------------------------------------------------------------- */

static void they_carry_data_around_their_rings(void **state)
{
	enum { LAPS = 3 };
	const uint64_t findings = cx_lint_count(softcx_hca());
	struct queues *q = *state;
	struct bsn_cqe_resp got;

	connect_ends(q);
	for (unsigned n = 0; n < LAPS << CQE_LOG2; n++) {
		const unsigned from = n & 1;

		memset(q->l->memory, (int)n + 1, 64);
		post(q, from, BSN_OPCODE_RDMA_WRITE, 64);
		expect_sent(q, from);
		assert_memory_equal(q->l->memory + 2048, q->l->memory, 64);
		post_recv(q, !from, 1024);
		post(q, from, BSN_OPCODE_SEND_IMM, 48);
		expect_sent(q, from);
		bsn_cqe_resp_decode(&got, next_cqe(q, !from));
		assert_int_equal(got.opcode, BSN_CQE_RESP_SEND_IMM);
		assert_int_equal(got.byte_count, 48);
		assert_memory_equal(q->l->memory + 1024, q->l->memory, 48);
	}
	assert_int_equal(cx_lint_count(softcx_hca()), findings);
}

/* A queue of verbs and one of commands, on the two CQs. */
static void they_talk_to_queues_of_verbs(void **state)
{
	struct queues *q = *state;
	struct move m = move_of(q, 0, BSN_CMD_INIT2RTR_QP);
	struct ibv_wc wc;

	m.shape.remote_qpn = q->l->qp->qp_num;
	m.work.next_rcv_psn = 0;
	simply_move(q, 0, BSN_CMD_RST2INIT_QP);
	must_move(q, 0, &m);
	simply_move(q, 0, BSN_CMD_RTR2RTS_QP);
	assert_int_equal(loopback_modify(q->l->qp, IBV_QPS_RESET, IBV_QP_STATE), 0);
	assert_int_equal(loopback_modify(q->l->qp, IBV_QPS_INIT, LOOPBACK_INIT_MASK), 0);
	assert_int_equal(
		loopback_modify_to(q->l->qp, q->ends[0].qpn, IBV_QPS_RTR, LOOPBACK_RTR_MASK), 0);
	assert_int_equal(loopback_modify(q->l->qp, IBV_QPS_RTS, LOOPBACK_RTS_MASK), 0);
	memset(q->l->memory, 0x3d, 64);
	post(q, 0, BSN_OPCODE_RDMA_WRITE, 64);
	expect_sent(q, 0);
	assert_memory_equal(q->l->memory + 2048, q->l->memory, 64);
	memset(q->l->memory, 0x4e, 64);
	loopback_post_write(q->l);
	softcx_step(0);
	assert_int_equal(ibv_poll_cq(q->l->cq, 1, &wc), 1);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_memory_equal(q->l->memory + 2048, q->l->memory, 64);
}

static void they_tell_what_they_are(void **state)
{
	struct queues *q = *state;
	struct bsn_qpc_shape shape;
	struct bsn_qpc_work work;
	struct bsn_ads path;

	assert_int_equal(state_of(q, 0), BSN_QPC_RST);
	connect_ends(q);
	shape = query(q, 0, &path, &work);
	assert_int_equal(shape.state, BSN_QPC_RTS);
	assert_int_equal(shape.pd, pdn_of(q->l->pd));
	assert_int_equal(shape.mtu, IBV_MTU_1024);
	assert_int_equal(shape.log_rq_size, RQ_LOG2);
	assert_int_equal(shape.log_sq_size, SQ_LOG2);
	assert_int_equal(shape.user_index, 0x1230);
	assert_int_equal(shape.remote_qpn, q->ends[1].qpn);
	assert_int_equal(path.rlid, CX_LID);
	assert_int_equal(path.vhca_port_num, 1);
	assert_int_equal(path.ack_timeout, 14);
	assert_int_equal(work.cqn_rcv, q->ends[0].cqn);
	assert_int_equal(work.retry_count, 7);
	assert_int_equal(work.next_send_psn, 0x100);
	assert_int_equal(work.rre && work.rwe && !work.rae, 1);
	simply_move(q, 0, BSN_CMD_2ERR_QP);
	assert_int_equal(state_of(q, 0), BSN_QPC_ERR);
	simply_move(q, 0, BSN_CMD_2RST_QP);
	assert_int_equal(state_of(q, 0), BSN_QPC_RST);
}

static void rights_change_on_the_way(void **state)
{
	struct queues *q = *state;
	struct move m = move_of(q, 1, BSN_CMD_INIT2RTR_QP);
	struct bsn_qpc_work work;
	struct bsn_ads path;

	simply_move(q, 1, BSN_CMD_RST2INIT_QP);
	m.options = BSN_QP_OPTION_RWE | BSN_QP_OPTION_RAE;
	m.work.rre = m.work.rwe = 0; /* the first is not named */
	m.work.rae = m.work.atomic_mode = 1;
	must_move(q, 1, &m);
	simply_move(q, 0, BSN_CMD_RST2INIT_QP);
	simply_move(q, 0, BSN_CMD_INIT2RTR_QP);
	simply_move(q, 0, BSN_CMD_RTR2RTS_QP);
	query(q, 1, &path, &work);
	assert_int_equal(work.rre && !work.rwe && work.rae, 1);
	post(q, 0, BSN_OPCODE_RDMA_WRITE, 64);
	expect_failed(q, 0, BSN_SYNDROME_REMOTE_INVALID_REQUEST);
}

static void no_message_is_longer_than_said(void **state)
{
	struct queues *q = *state;
	struct move m = move_of(q, 0, BSN_CMD_INIT2RTR_QP);

	simply_move(q, 0, BSN_CMD_RST2INIT_QP);
	simply_move(q, 1, BSN_CMD_RST2INIT_QP);
	simply_move(q, 1, BSN_CMD_INIT2RTR_QP);
	m.shape.log_msg_max = 6;
	must_move(q, 0, &m);
	simply_move(q, 0, BSN_CMD_RTR2RTS_QP);
	post(q, 0, BSN_OPCODE_RDMA_WRITE, 64);
	expect_sent(q, 0);
	post(q, 0, BSN_OPCODE_RDMA_WRITE, 65);
	expect_failed(q, 0, BSN_SYNDROME_LOCAL_LENGTH);
}

/* -- what is refused --------------------------------------------------------------------------- */

static void each_transition_has_its_state(void **state)
{
	static const uint32_t order[] = { BSN_CMD_RST2INIT_QP, BSN_CMD_INIT2RTR_QP,
					  BSN_CMD_RTR2RTS_QP };
	struct queues *q = *state;

	for (unsigned done = 0; done <= 3; done++) {
		for (unsigned next = 0; next < 3; next++) {
			const struct move m = move_of(q, 0, order[next]);

			if (next != done)
				must_refuse(q, 0, &m, BSN_COMMAND_BAD_QP_STATE);
		}
		assert_int_equal(state_of(q, 0), done);
		if (done < 3)
			simply_move(q, 0, order[done]);
	}
}

#define BAD_MOVE(opcode, change)                                                                   \
	do {                                                                                       \
		struct move m = move_of(q, 0, opcode);                                             \
		change;                                                                            \
		must_refuse(q, 0, &m, BSN_COMMAND_BAD_PARAMETER);                                  \
	} while (0)

static void each_bad_transition_has_its_status(void **state)
{
	struct queues *q = *state;

	BAD_MOVE(BSN_CMD_RST2INIT_QP, m.path.vhca_port_num = 2);
	BAD_MOVE(BSN_CMD_RST2INIT_QP, m.path.vhca_port_num = 0);
	BAD_MOVE(BSN_CMD_RST2INIT_QP, m.path.pkey_index = 128);
	BAD_MOVE(BSN_CMD_RST2INIT_QP, m.options = BSN_QP_OPTION_RRE);
	simply_move(q, 0, BSN_CMD_RST2INIT_QP);
	BAD_MOVE(BSN_CMD_INIT2RTR_QP, m.shape.mtu = 0);
	BAD_MOVE(BSN_CMD_INIT2RTR_QP, m.shape.mtu = 6);
	BAD_MOVE(BSN_CMD_INIT2RTR_QP, m.shape.log_msg_max = CX_MAX_MSG_LOG2 + 1);
	BAD_MOVE(BSN_CMD_INIT2RTR_QP, m.work.log_rra_max = 5);
	BAD_MOVE(BSN_CMD_INIT2RTR_QP, m.path.vhca_port_num = 2);
	BAD_MOVE(BSN_CMD_INIT2RTR_QP, (m.path.grh = 1, m.path.src_addr_index = 1));
	BAD_MOVE(BSN_CMD_INIT2RTR_QP, m.options = BSN_QP_OPTION_RNR_TIMEOUT);
	simply_move(q, 0, BSN_CMD_INIT2RTR_QP);
	BAD_MOVE(BSN_CMD_RTR2RTS_QP, m.work.log_sra_max = 5);
	BAD_MOVE(BSN_CMD_RTR2RTS_QP, m.options = BSN_QP_OPTION_PKEY_INDEX);
	assert_int_equal(state_of(q, 0), BSN_QPC_RTR);
	simply_move(q, 0, BSN_CMD_RTR2RTS_QP);
	/* ports are not bonded */
	BAD_MOVE(BSN_CMD_RTS2RTS_QP,
		 (m.options = BSN_QP_OPTION_LAG_TX_AFFINITY, m.shape.lag_tx_port_affinity = 1));
}

#define BAD_CQ(wanted, change)                                                                     \
	do {                                                                                       \
		struct cq_request r = cq_request(q, 0);                                            \
		uint8_t out[BSN_CREATED_OUT_SIZE];                                                 \
		change;                                                                            \
		assert_null(create_cq(q, &r, out));                                                \
		assert_int_equal(errno, EREMOTEIO);                                                \
		assert_int_equal(status_of(out), BSN_COMMAND_##wanted);                            \
	} while (0)

static void each_bad_cq_has_its_status(void **state)
{
	struct queues *q = *state;
	struct mlx5dv_devx_umem *readable =
		mlx5dv_devx_umem_reg(q->l->ctx, q->ends[0].memory, PAGE, 0);

	assert_non_null(readable);
	BAD_CQ(BAD_PARAMETER, r.ctx.cqe_sz = 2);
	BAD_CQ(BAD_PARAMETER, r.ctx.cc = 1);
	BAD_CQ(BAD_PARAMETER, r.ctx.cqe_compression_layout = 1);
	BAD_CQ(BAD_PARAMETER, r.ctx.page_offset = 1);
	BAD_CQ(BAD_PARAMETER, r.ctx.log_cq_size = 23);
	BAD_CQ(BAD_PARAMETER, r.ctx.c_eqn_or_apu_element = CX_FIRST_EQN - 1);
	BAD_CQ(BAD_PARAMETER, r.ctx.c_eqn_or_apu_element = CX_FIRST_EQN + CX_COMP_VECTORS);
	BAD_CQ(BAD_PARAMETER, r.ctx.dbr_addr = CQ_RECORD_AT + 4);
	BAD_CQ(BAD_PARAMETER, r.ctx.dbr_addr = sizeof(q->ends[0].memory));
	BAD_CQ(BAD_PARAMETER, r.ring.umem_offset = 64);
	BAD_CQ(BAD_PARAMETER, r.ctx.log_cq_size = 8); /* 16 KB of 12 */
	BAD_CQ(BAD_PARAMETER, r.ring.umem_id = readable->umem_id);
	BAD_CQ(BAD_RESOURCE, r.ring.umem_id ^= 1 << 20);
	BAD_CQ(BAD_RESOURCE, r.ctx.dbr_umem_id = 0);
	BAD_CQ(BAD_RESOURCE, r.ctx.uar_page += 100);
	assert_int_equal(mlx5dv_devx_umem_dereg(readable), 0);
}

#define BAD_QP(wanted, change)                                                                     \
	do {                                                                                       \
		struct qp_request r = qp_request(q, 0);                                            \
		uint8_t out[BSN_CREATED_OUT_SIZE];                                                 \
		change;                                                                            \
		assert_null(create_qp(q, &r, out));                                                \
		assert_int_equal(errno, EREMOTEIO);                                                \
		assert_int_equal(status_of(out), BSN_COMMAND_##wanted);                            \
	} while (0)

static void each_bad_qp_has_its_status(void **state)
{
	struct queues *q = *state;

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
	struct queues *q = *state;
	const struct move m = move_of(q, 0, BSN_CMD_RST2INIT_QP);
	uint8_t in[BSN_MEANING_IN_SIZE] = { 0 }, out[BSN_QUERY_QP_OUT_SIZE];
	uint32_t status;

	assert_int_equal(move(q->ends[1].qp, &m, &status), EINVAL);
	assert_int_equal(move(q->ends[0].cq, &m, &status), EINVAL);
	put_head(in, BSN_CMD_QUERY_QP, q->ends[0].qpn);
	assert_int_equal(mlx5dv_devx_obj_modify(q->ends[0].qp, in, sizeof(in), out, sizeof(out)),
			 EINVAL);
	put_head(in, BSN_CMD_2RST_QP, q->ends[0].qpn);
	assert_int_equal(mlx5dv_devx_obj_query(q->ends[0].qp, in, sizeof(in), out, sizeof(out)),
			 EINVAL);
	assert_int_equal(state_of(q, 0), BSN_QPC_RST);
}

static void what_a_queue_stands_on_stays(void **state)
{
	uint8_t in[BSN_MEANING_IN_SIZE] = { 0 }, out[BSN_CREATED_OUT_SIZE];
	struct queues *q = *state;
	struct qp_request r = qp_request(q, 0);
	struct mlx5dv_devx_obj *pd, *qp;
	struct mlx5dv_devx_umem *umem[2]; /* of the ring, and of the record */

	for (unsigned i = 0; i < 2; i++) {
		umem[i] = mlx5dv_devx_umem_reg(q->l->ctx, q->ends[0].memory, PAGE, 0);
		assert_non_null(umem[i]);
	}
	put_head(in, BSN_CMD_ALLOC_PD, 0);
	pd = create(q, in, sizeof(in), out);
	assert_non_null(pd);
	r.shape.pd = number_of(out);
	r.ring = (struct bsn_cmd_ring){ .umem_id = umem[0]->umem_id };
	r.record.dbr_umem_id = umem[1]->umem_id;
	r.work.dbr_addr = 0;
	qp = create_qp(q, &r, out);
	assert_non_null(qp);
	assert_int_equal(mlx5dv_devx_obj_destroy(pd), EBUSY);
	assert_int_equal(mlx5dv_devx_obj_destroy(q->ends[0].cq), EBUSY);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(mlx5dv_devx_umem_dereg(umem[i]), EBUSY);
	assert_int_equal(mlx5dv_devx_obj_destroy(qp), 0);
	assert_int_equal(mlx5dv_devx_obj_destroy(pd), 0);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(mlx5dv_devx_umem_dereg(umem[i]), 0);
	assert_int_equal(mlx5dv_devx_umem_dereg(q->ends[0].umem), EBUSY);
}

/* A CQ that is older than its queue pair has the lower handle. */
static void a_context_that_closes_takes_them_along(void **state)
{
	struct queues *q = *state;
	struct ibv_context *other = loopback_open_device();
	struct mlx5dv_devx_uar *uar = mlx5dv_devx_alloc_uar(other, MLX5DV_UAR_ALLOC_TYPE_NC);
	uint8_t in[BSN_CREATE_QP_IN_SIZE] = { 0 }, out[BSN_CREATED_OUT_SIZE];
	struct cq_request cq = cq_request(q, 0);
	struct qp_request qp = qp_request(q, 0);
	struct loopback there = { .ctx = other };
	struct queues borrowed = { .l = &there, .uar = uar };
	struct mlx5dv_devx_umem *umem;
	void *of_libmlx5[4]; /* objects that libmlx5 keeps, which outlive all of them */
	uint32_t pdn, cqn, qpn;

	umem = mlx5dv_devx_umem_reg(other, q->ends[0].memory, sizeof(q->ends[0].memory),
				    IBV_ACCESS_LOCAL_WRITE);
	assert_non_null(umem);
	cq.ring.umem_id = qp.ring.umem_id = umem->umem_id;
	cq.ctx.dbr_umem_id = qp.record.dbr_umem_id = umem->umem_id;
	put_head(in, BSN_CMD_ALLOC_PD, 0);
	of_libmlx5[0] = create(&borrowed, in, BSN_MEANING_IN_SIZE, out);
	pdn = number_of(out);
	cq.ctx.uar_page = qp.shape.uar_page = uar->page_id;
	of_libmlx5[1] = create_cq(&borrowed, &cq, out);
	cqn = number_of(out);
	qp.shape.pd = pdn;
	qp.work.cqn_snd = qp.work.cqn_rcv = cqn;
	of_libmlx5[2] = create_qp(&borrowed, &qp, out);
	of_libmlx5[3] = umem;
	qpn = number_of(out);
	assert_int_equal(ibv_close_device(other), 0);
	for (unsigned i = 0; i < 4; i++) {
		assert_non_null(of_libmlx5[i]);
		free(of_libmlx5[i]);
	}
	assert_int_equal(cx_qp_destroy(softcx_hca(), qpn), -EINVAL);
	assert_int_equal(cx_cq_destroy(softcx_hca(), cqn), -EINVAL);
	assert_int_equal(cx_pd_destroy(softcx_hca(), pdn), -EINVAL);
}

/* -- dynamically connected transport ------------------------------------------------------------ */

enum { RMP_LOG2 = 2, RMP_STRIDE_LOG2 = 5, KEY = 0x77, SQ_AT = 0, RMP_AT = PAGE, STREAMS_LOG2 = 1 };
enum { RECORDS_AT = 2 * PAGE, RMP_RECORD_AT = RECORDS_AT + 64, STREAM = 0x8001 };

/* An RMP and a target on end 1's CQ, an initiator on end 0's. */
struct dc {
	struct queues *q;
	uint8_t memory[3 * PAGE] __attribute__((aligned(PAGE)));
	struct mlx5dv_devx_umem *umem, *rmp_umem;
	struct mlx5dv_devx_obj *rmp, *dct, *dci;
	uint32_t rmpn, dctn, dcin;
	uint32_t posted, received;
};

struct rmp_request {
	struct bsn_rmpc head;
	struct bsn_cmd_wq wq;
};

static struct rmp_request rmp_request(const struct dc *d)
{
	return (struct rmp_request){
		.head = { .state = 1 },
		.wq = { .wq_type = BSN_WQ_CYCLIC,
			.pd = pdn_of(d->q->l->pd),
			.log_wq_stride = RMP_STRIDE_LOG2,
			.log_wq_sz = RMP_LOG2,
			.dbr_umem_id = d->umem->umem_id,
			.dbr_addr = RMP_RECORD_AT,
			.wq_umem_id = d->rmp_umem->umem_id },
	};
}

static struct mlx5dv_devx_obj *create_rmp(struct dc *d, const struct rmp_request *r, uint8_t *out)
{
	uint8_t in[BSN_CREATE_RMP_IN_SIZE] = { 0 }, *rmpc = in + BSN_CREATE_RMP_CTX_OFFSET;

	put_head(in, BSN_CMD_CREATE_RMP, 0);
	bsn_rmpc_encode(rmpc, &r->head);
	bsn_cmd_wq_encode(rmpc + BSN_RMPC_WQ_OFFSET, &r->wq);
	return create(d->q, in, sizeof(in), out);
}

static struct bsn_dctc dct_request(const struct dc *d)
{
	return (struct bsn_dctc){
		.user_index = 0x4321,
		.cqn = d->q->ends[1].cqn,
		.rre = 1,
		.rwe = 1,
		.force_full_handshake = 1,
		.min_rnr_nak = 12,
		.srqn_xrqn = d->rmpn,
		.pd = pdn_of(d->q->l->pd),
		.dc_access_key = KEY,
		.mtu = IBV_MTU_1024,
		.port = 1,
	};
}

static struct mlx5dv_devx_obj *create_dct(struct dc *d, const struct bsn_dctc *c, uint8_t *out)
{
	uint8_t in[BSN_CREATE_DCT_IN_SIZE] = { 0 };

	put_head(in, BSN_CMD_CREATE_DCT, 0);
	bsn_dctc_encode(in + BSN_CREATE_DCT_CTX_OFFSET, c);
	return create(d->q, in, sizeof(in), out);
}

static struct qp_request dci_request(const struct dc *d)
{
	struct qp_request r = qp_request(d->q, 0);

	r.shape.st = BSN_QPC_ST_DCI;
	r.work.log_num_dci_stream_channels = STREAMS_LOG2;
	r.work.log_num_dci_errored_streams = STREAMS_LOG2;
	r.work.dbr_addr = RECORDS_AT;
	r.record.dbr_umem_id = r.ring.umem_id = d->umem->umem_id;
	r.ring.umem_offset = SQ_AT;
	return r;
}

static struct dc *make_dc(struct queues *q)
{
	struct dc *d = aligned_alloc(PAGE, sizeof(*d));
	uint8_t out[BSN_CREATED_OUT_SIZE] = { 0 };
	struct qp_request dci;
	struct bsn_dctc dct;
	struct rmp_request rmp;

	assert_non_null(d);
	memset(d, 0, sizeof(*d));
	d->q = q;
	d->umem = mlx5dv_devx_umem_reg(q->l->ctx, d->memory, sizeof(d->memory), 0);
	d->rmp_umem = mlx5dv_devx_umem_reg(q->l->ctx, d->memory + RMP_AT, PAGE, 0);
	assert_non_null(d->umem);
	assert_non_null(d->rmp_umem);
	rmp = rmp_request(d);
	d->rmp = create_rmp(d, &rmp, out);
	assert_non_null(d->rmp);
	d->rmpn = number_of(out);
	dct = dct_request(d);
	d->dct = create_dct(d, &dct, out);
	assert_non_null(d->dct);
	d->dctn = number_of(out);
	dci = dci_request(d);
	d->dci = create_qp(q, &dci, out);
	assert_non_null(d->dci);
	d->dcin = number_of(out);
	return d;
}

static void free_dc(struct dc *d)
{
	if (d->dct)
		assert_int_equal(mlx5dv_devx_obj_destroy(d->dct), 0);
	assert_int_equal(mlx5dv_devx_obj_destroy(d->dci), 0);
	assert_int_equal(mlx5dv_devx_obj_destroy(d->rmp), 0);
	assert_int_equal(mlx5dv_devx_umem_dereg(d->rmp_umem), 0);
	assert_int_equal(mlx5dv_devx_umem_dereg(d->umem), 0);
	free(d);
}

/* Opens the DCI as UCX does: with no port, no address and no other end. */
static void open_dci(struct dc *d)
{
	static const uint32_t order[] = { BSN_CMD_RST2INIT_QP, BSN_CMD_INIT2RTR_QP,
					  BSN_CMD_RTR2RTS_QP };
	uint32_t status;

	for (unsigned i = 0; i < 3; i++) {
		struct move m = move_of(d->q, 0, order[i]);

		m.qpn = d->dcin;
		m.shape.remote_qpn = 0;
		m.path.rlid = 0;
		m.path.vhca_port_num = !i;
		m.work.retry_count = 1;
		if (order[i] == BSN_CMD_INIT2RTR_QP)
			m.options = BSN_QP_OPTION_RAE;
		assert_int_equal(move(d->dci, &m, &status), 0);
	}
	d->posted = 0;
	memset(d->memory + RECORDS_AT, 0, 8);
}

static void post_dc(struct dc *d, uint64_t key, uint16_t stream)
{
	const struct bsn_ctrl ctrl = {
		.opcode = BSN_OPCODE_SEND,
		.wqe_index = d->posted & 0xffff,
		.qpn = d->dcin,
		.ds = 5,
		.ce = BSN_CE_ALWAYS,
		.dci_stream = stream,
	};
	const struct bsn_av_dc_grh to = {
		.dc_key = key, .ext = 1, .dqpn = d->dctn, .rlid = CX_LID
	};
	const struct bsn_data data = data_of(d->q, 0, 48);
	const struct bsn_dbr_wq record = { .index = (d->posted + 2) & 0xffff };
	uint8_t *slot = d->memory + SQ_AT + (size_t)(d->posted % (1 << SQ_LOG2)) * BSN_BB_SIZE;

	bsn_ctrl_encode(slot, &ctrl);
	bsn_av_dc_grh_encode(slot + BSN_CTRL_SIZE, &to);
	bsn_data_encode(slot + BSN_BB_SIZE, &data);
	bsn_dbr_wq_encode(d->memory + RECORDS_AT + BSN_DBR_SEND_OFFSET, &record);
	d->posted += 2;
	for (unsigned i = 0; i < 8; i++)
		softcx_step(0);
}

/* The link of the WQE is wrong, but is not looked at. */
static void post_to_rmp(struct dc *d, unsigned offset)
{
	uint8_t *slot =
		d->memory + RMP_AT + ((size_t)(d->received % (1 << RMP_LOG2)) << RMP_STRIDE_LOG2);
	const struct bsn_srq_next next = { .next_wqe_index = d->received % (1 << RMP_LOG2) };
	const struct bsn_dbr_wq record = { .index = d->received + 1 };
	const struct bsn_data data = data_of(d->q, offset, 64);

	bsn_srq_next_encode(slot, &next);
	bsn_data_encode(slot + BSN_SRQ_NEXT_SIZE, &data);
	bsn_dbr_wq_encode(d->memory + RMP_RECORD_AT + BSN_DBR_RECV_OFFSET, &record);
	d->received++;
}

static void expect_dc_sent(struct dc *d)
{
	struct bsn_cqe_req cqe;

	bsn_cqe_req_decode(&cqe, next_cqe(d->q, 0));
	assert_int_equal(cqe.opcode, BSN_CQE_REQ);
	assert_int_equal(cqe.qpn, d->dcin);
}

static void expect_received(struct dc *d)
{
	struct bsn_cqe_resp got;

	bsn_cqe_resp_decode(&got, next_cqe(d->q, 1));
	assert_int_equal(got.opcode, BSN_CQE_RESP_SEND);
	assert_int_equal(got.byte_count, 48);
	assert_int_equal(got.srqn_uidx, 0x4321);
}

static struct bsn_dctc query_dct(struct dc *d)
{
	uint8_t in[BSN_MEANING_IN_SIZE] = { 0 }, out[BSN_QUERY_DCT_OUT_SIZE];
	struct bsn_dctc c;

	put_head(in, BSN_CMD_QUERY_DCT, d->dctn);
	assert_int_equal(mlx5dv_devx_obj_query(d->dct, in, sizeof(in), out, sizeof(out)), 0);
	bsn_dctc_decode(&c, out + BSN_CREATE_DCT_CTX_OFFSET);
	return c;
}

static void a_target_and_an_initiator_of_commands(void **state)
{
	struct queues *q = *state;
	struct dc *d = make_dc(q);

	open_dci(d);
	for (unsigned n = 0, to = 1024; n < 3 << RMP_LOG2; n++, to ^= 256) {
		memset(q->l->memory, (int)n + 1, 48);
		post_to_rmp(d, to);
		post_dc(d, KEY, STREAM);
		expect_dc_sent(d);
		expect_received(d);
		assert_memory_equal(q->l->memory + to, q->l->memory, 48);
	}
	free_dc(d);
}

static int reset_stream(struct dc *d, uint16_t stream)
{
	const struct bsn_qpc_ext ext = {
		.opt_param_mask_95_32 = BSN_QP_EXT_OPTION_DCI_STREAM_CHANNEL_ID,
		.dci_stream_channel_id = stream,
	};
	const struct bsn_cmd_object meant = { .qpc_ext = 1, .number = d->dcin };
	uint8_t in[BSN_MODIFY_QP_EXT_IN_SIZE] = { 0 }, out[BSN_MODIFY_QP_OUT_SIZE];

	put_head(in, BSN_CMD_RTS2RTS_QP, d->dcin);
	bsn_cmd_object_encode(in + BSN_CMD_OBJECT_OFFSET, &meant);
	bsn_qpc_ext_encode(in + BSN_MODIFY_QP_EXT_OFFSET, &ext);
	return mlx5dv_devx_obj_modify(d->dci, in, sizeof(in), out, sizeof(out));
}

static void a_wrong_key_is_counted(void **state)
{
	struct dc *d = make_dc(*state);

	open_dci(d);
	post_dc(d, KEY + 1, STREAM);
	expect_failed(d->q, 0, BSN_SYNDROME_RETRY_EXCEEDED);
	assert_true(query_dct(d).dc_access_key_violation_count > 1); /* retries count, too */
	assert_int_equal(reset_stream(d, STREAM + 1), EREMOTEIO);
	assert_int_equal(reset_stream(d, STREAM), 0);
	post_to_rmp(d, 1024);
	post_dc(d, KEY, STREAM);
	expect_dc_sent(d);
	expect_received(d);
	free_dc(d);
}

static void who_is_drained_answers_no_more(void **state)
{
	uint8_t in[BSN_MEANING_IN_SIZE] = { 0 }, out[BSN_CREATED_OUT_SIZE];
	struct dc *d = make_dc(*state);
	struct bsn_dctc c;

	open_dci(d);
	put_head(in, BSN_CMD_DRAIN_DCT, d->dctn);
	assert_int_equal(mlx5dv_devx_obj_modify(d->dct, in, sizeof(in), out, sizeof(out)), 0);
	assert_int_equal(mlx5dv_devx_obj_modify(d->dct, in, sizeof(in), out, sizeof(out)),
			 EREMOTEIO);
	assert_int_equal(status_of(out), BSN_COMMAND_BAD_RESOURCE_STATE);
	post_to_rmp(d, 1024);
	post_dc(d, KEY, STREAM);
	expect_failed(d->q, 0, BSN_SYNDROME_RETRY_EXCEEDED);
	c = query_dct(d);
	assert_int_equal(c.state, 1);
	assert_int_equal(c.srqn_xrqn, d->rmpn);
	assert_int_equal(c.dc_access_key, KEY);
	assert_int_equal(c.rre && c.rwe && !c.rae && c.force_full_handshake, 1);
	assert_int_equal(mlx5dv_devx_obj_destroy(d->rmp), EBUSY);
	assert_int_equal(mlx5dv_devx_umem_dereg(d->rmp_umem), EBUSY);
	assert_int_equal(mlx5dv_devx_obj_destroy(d->dct), 0);
	d->dct = NULL;
	free_dc(d);
}

#define BAD(type, make, request, wanted, change)                                                   \
	do {                                                                                       \
		struct type r = request(d);                                                        \
		uint8_t out[BSN_CREATED_OUT_SIZE];                                                 \
		change;                                                                            \
		assert_null(make(d, &r, out));                                                     \
		assert_int_equal(errno, EREMOTEIO);                                                \
		assert_int_equal(status_of(out), BSN_COMMAND_##wanted);                            \
	} while (0)

static struct mlx5dv_devx_obj *create_dci(struct dc *d, const struct qp_request *r, uint8_t *out)
{
	return create_qp(d->q, r, out);
}

static void each_bad_end_of_dc_has_its_status(void **state)
{
	struct dc *d = make_dc(*state);

	BAD(rmp_request, create_rmp, rmp_request, BAD_PARAMETER, r.head.state = 0);
	BAD(rmp_request, create_rmp, rmp_request, BAD_PARAMETER, r.head.basic_cyclic_rcv_wqe = 1);
	BAD(rmp_request, create_rmp, rmp_request, BAD_PARAMETER,
	    r.wq.wq_type = BSN_WQ_CYCLIC_STRIDING);
	BAD(rmp_request, create_rmp, rmp_request, BAD_PARAMETER, r.wq.page_offset = 1);
	BAD(rmp_request, create_rmp, rmp_request, BAD_PARAMETER, r.wq.log_wq_stride = 4);
	BAD(rmp_request, create_rmp, rmp_request, BAD_PARAMETER,
	    r.wq.log_wq_sz = 8); /* 8 KB of 4 */
	BAD(rmp_request, create_rmp, rmp_request, BAD_RESOURCE, r.wq.pd ^= 1);
	BAD(rmp_request, create_rmp, rmp_request, BAD_RESOURCE, r.wq.wq_umem_id = 0);
	BAD(bsn_dctc, create_dct, dct_request, BAD_PARAMETER, r.mtu = 0);
	BAD(bsn_dctc, create_dct, dct_request, BAD_PARAMETER, r.port = 2);
	BAD(bsn_dctc, create_dct, dct_request, BAD_PARAMETER, r.my_addr_index = 1);
	BAD(bsn_dctc, create_dct, dct_request, BAD_PARAMETER, r.offload_type = 1);
	BAD(bsn_dctc, create_dct, dct_request, BAD_PARAMETER, r.cs_res = 1);
	BAD(bsn_dctc, create_dct, dct_request, BAD_RESOURCE,
	    r.cs_res = 2); /* the CQEs have 64 bytes */
	BAD(bsn_dctc, create_dct, dct_request, BAD_RESOURCE, r.srqn_xrqn = 0);
	BAD(bsn_dctc, create_dct, dct_request, BAD_RESOURCE, r.cqn ^= 1 << 20);
	BAD(bsn_dctc, create_dct, dct_request, BAD_RESOURCE, r.pd ^= 1);
	BAD(qp_request, create_dci, dci_request, BAD_PARAMETER,
	    r.work.log_num_dci_stream_channels = 6);
	BAD(qp_request, create_dci, dci_request, BAD_PARAMETER,
	    r.work.log_num_dci_errored_streams = 5);
	BAD(qp_request, create_dci, dci_request, BAD_PARAMETER, r.shape.rdma_wr_disabled = 1);
	BAD(qp_request, create_dci, dci_request, BAD_PARAMETER,
	    r.shape.st = 0); /* an RC queue with streams */
	free_dc(d);
}

/* -- events ------------------------------------------------------------------------------------- */

static struct mlx5dv_devx_event_channel *open_channel(struct queues *q)
{
	struct mlx5dv_devx_event_channel *channel = mlx5dv_devx_create_event_channel(
		q->l->ctx, MLX5DV_DEVX_CREATE_EVENT_CHANNEL_FLAGS_OMIT_EV_DATA);
	int flags;

	assert_non_null(channel);
	flags = fcntl(channel->fd, F_GETFL);
	assert_int_equal(fcntl(channel->fd, F_SETFL, flags | O_NONBLOCK), 0);
	return channel;
}

static void subscribe(struct mlx5dv_devx_event_channel *channel, struct mlx5dv_devx_obj *obj,
		      uint16_t number, uint64_t cookie)
{
	assert_int_equal(
		mlx5dv_devx_subscribe_devx_event(channel, obj, sizeof(number), &number, cookie), 0);
}

/* Returns 0 if there is none. */
static uint64_t next_cookie(struct mlx5dv_devx_event_channel *channel)
{
	struct mlx5dv_devx_async_event_hdr event = { 0 };
	const ssize_t got = mlx5dv_devx_get_event(channel, &event, sizeof(event));

	if (got < 0)
		assert_int_equal(errno, EAGAIN);
	else
		assert_int_equal(got, sizeof(event));
	return event.cookie;
}

static void a_target_tells_of_itself(void **state)
{
	uint8_t in[BSN_MEANING_IN_SIZE] = { 0 }, out[BSN_CREATED_OUT_SIZE];
	struct queues *q = *state;
	struct dc *d = make_dc(q);
	struct mlx5dv_devx_event_channel *channel = open_channel(q);

	subscribe(channel, d->dct, BSN_EVENT_DCT_KEY_VIOLATION, 77);
	subscribe(channel, d->dct, BSN_EVENT_DCT_DRAINED, 78);
	open_dci(d);
	post_dc(d, KEY + 1, STREAM); /* nobody asked for it yet */
	expect_failed(q, 0, BSN_SYNDROME_RETRY_EXCEEDED);
	assert_int_equal(next_cookie(channel), 0);
	put_head(in, BSN_CMD_ARM_DCT, d->dctn);
	assert_int_equal(mlx5dv_devx_obj_modify(d->dct, in, sizeof(in), out, sizeof(out)), 0);
	post_dc(d, KEY + 1, STREAM + 1);
	assert_int_equal(next_cookie(channel), 77);
	assert_int_equal(next_cookie(channel), 0); /* once */
	put_head(in, BSN_CMD_DRAIN_DCT, d->dctn);
	assert_int_equal(mlx5dv_devx_obj_modify(d->dct, in, sizeof(in), out, sizeof(out)), 0);
	assert_int_equal(next_cookie(channel), 78);
	free_dc(d);
	mlx5dv_devx_destroy_event_channel(channel);
}

static void a_queue_pair_tells_of_itself(void **state)
{
	struct queues *q = *state;
	struct mlx5dv_devx_event_channel *channel = open_channel(q);
	const uint16_t numbers[] = { BSN_EVENT_WQ_ACCESS_ERROR, BSN_EVENT_WQ_CATAS_ERROR };
	uint16_t one = BSN_EVENT_COMM_EST;

	assert_int_equal(mlx5dv_devx_subscribe_devx_event(channel, q->ends[1].qp, sizeof(numbers),
							  (uint16_t *)(uintptr_t)numbers, 5),
			 0);
	subscribe(channel, q->ends[0].qp, BSN_EVENT_WQ_ACCESS_ERROR, 6);
	for (unsigned i = 2; i < CX_SUBSCRIPTIONS; i++)
		subscribe(channel, q->ends[1].qp, one, 7);
	assert_int_equal(
		mlx5dv_devx_subscribe_devx_event(channel, q->ends[1].qp, sizeof(one), &one, 7),
		ENOSPC);
	assert_int_equal(
		mlx5dv_devx_subscribe_devx_event(channel, q->ends[1].cq, sizeof(one), &one, 7),
		EOPNOTSUPP);
	connect_ends(q);
	q->l->mr->rkey += 0x100; /* a key of no region */
	post(q, 0, BSN_OPCODE_RDMA_WRITE, 64);
	q->l->mr->rkey -= 0x100;
	expect_failed(q, 0, BSN_SYNDROME_REMOTE_ACCESS);
	assert_int_equal(next_cookie(channel), 5);
	assert_int_equal(next_cookie(channel), 0);
	mlx5dv_devx_destroy_event_channel(channel);
}

/* -- changing a CQ ------------------------------------------------------------------------------ */

static int modify_cq(struct queues *q, uint32_t select, const struct bsn_cqc *c)
{
	const struct bsn_cmd_select what = { .modify_field_select = select };
	uint8_t in[BSN_CREATE_CQ_IN_SIZE] = { 0 }, out[BSN_CREATED_OUT_SIZE];

	put_head(in, BSN_CMD_MODIFY_CQ, q->ends[0].cqn);
	bsn_cmd_select_encode(in + BSN_MODIFY_CQ_SELECT_OFFSET, &what);
	bsn_cqc_encode(in + BSN_CREATE_CQ_CTX_OFFSET, c);
	return mlx5dv_devx_obj_modify(q->ends[0].cq, in, sizeof(in), out, sizeof(out));
}

static struct bsn_cqc query_cq(struct queues *q)
{
	uint8_t in[BSN_MEANING_IN_SIZE] = { 0 }, out[BSN_QUERY_CQ_OUT_SIZE];
	struct bsn_cqc c;

	put_head(in, BSN_CMD_QUERY_CQ, q->ends[0].cqn);
	assert_int_equal(mlx5dv_devx_obj_query(q->ends[0].cq, in, sizeof(in), out, sizeof(out)), 0);
	bsn_cqc_decode(&c, out + BSN_CREATE_CQ_CTX_OFFSET);
	return c;
}

static void a_cq_changes_what_is_named(void **state)
{
	const struct bsn_cqc wish = { .cq_period = 17, .cq_max_count = 9, .oi = 1 };
	struct queues *q = *state;
	struct bsn_cqc c;

	assert_int_equal(modify_cq(q, BSN_CQ_CHANGE_PERIOD, &wish), 0);
	c = query_cq(q);
	assert_int_equal(c.log_cq_size, CQE_LOG2);
	assert_int_equal(c.cq_period, 17);
	assert_int_equal(c.cq_max_count, 0);
	assert_int_equal(modify_cq(q, BSN_CQ_CHANGE_COUNT | BSN_CQ_CHANGE_OVERRUN, &wish), 0);
	c = query_cq(q);
	assert_int_equal(c.cq_max_count, 9);
	assert_int_equal(c.oi, 1);
	assert_int_equal(c.producer_counter, 0);
	assert_int_equal(modify_cq(q, 1 << 3, &wish), EREMOTEIO);
	connect_ends(q);
	post(q, 0, BSN_OPCODE_RDMA_WRITE, 64);
	assert_int_equal(query_cq(q).producer_counter, 1);
}

/* -- the port ---------------------------------------------------------------------------------- */

static int query_port(struct queues *q, uint32_t port, uint8_t *out)
{
	const struct bsn_cmd_vport asked = { .port_num = port };
	uint8_t in[BSN_MEANING_IN_SIZE] = { 0 };

	put_head(in, BSN_CMD_QUERY_HCA_VPORT_CONTEXT, 0);
	bsn_cmd_vport_encode(in + BSN_CMD_OBJECT_OFFSET, &asked);
	return mlx5dv_devx_general_cmd(q->l->ctx, in, sizeof(in), out, BSN_QUERY_VPORT_OUT_SIZE);
}

static void the_port_tells_its_address(void **state)
{
	uint8_t out[BSN_QUERY_VPORT_OUT_SIZE];
	const uint8_t *context = out + BSN_QUERY_VPORT_CTX_OFFSET;
	struct bsn_vport_address address;
	struct bsn_vport_state port;

	assert_int_equal(query_port(*state, 0, out), 0);
	bsn_vport_state_decode(&port, context);
	bsn_vport_address_decode(&address, context + BSN_VPORT_ADDRESS_OFFSET);
	assert_int_equal(port.port_state, IBV_PORT_ACTIVE);
	assert_int_equal(port.port_guid, cx_node_guid(cx_config(softcx_hca())));
	assert_int_equal(address.lid, CX_LID);
	assert_int_equal(query_port(*state, 2, out), EREMOTEIO);
	assert_int_equal(status_of(out), BSN_COMMAND_BAD_PARAMETER);
}

/* On RoCE a program resolves the other end's address itself. */
static void a_wrong_mac_leads_nowhere(void **state)
{
	struct queues *q = *state;
	const uint64_t findings = cx_lint_count(softcx_hca());
	uint8_t mac[6], out[BSN_QUERY_VPORT_OUT_SIZE];
	union ibv_gid gid;

	assert_int_equal(query_port(q, 0, out), EREMOTEIO); /* of InfiniBand */
	assert_int_equal(status_of(out), BSN_COMMAND_BAD_OPERATION);
	cx_port_mac(cx_config(softcx_hca()), mac);
	assert_int_equal(ibv_query_gid(q->l->ctx, 1, 1, &gid), 0);
	for (unsigned end = 0; end < ENDS; end++) {
		struct move m = move_of(q, end, BSN_CMD_INIT2RTR_QP);

		m.path.src_addr_index = 1;
		m.path.rgid_hi = bsn_load_be64(gid.raw);
		m.path.rgid_lo = bsn_load_be64(gid.raw + 8);
		m.path.rmac_47_32 = (uint32_t)mac[0] << 8 | mac[1];
		m.path.rmac_31_0 = bsn_load_be32(mac + 2) + end; /* wrong from end 1 to end 0 */
		simply_move(q, end, BSN_CMD_RST2INIT_QP);
		must_move(q, end, &m);
	}
	for (unsigned end = 0; end < ENDS; end++)
		simply_move(q, end, BSN_CMD_RTR2RTS_QP);
	assert_int_equal(cx_lint_count(softcx_hca()), findings + 1);
	post(q, 0, BSN_OPCODE_RDMA_WRITE, 64);
	expect_sent(q, 0);
	post(q, 1, BSN_OPCODE_RDMA_WRITE, 64);
	for (unsigned n = 0; n < 100; n++)
		softcx_step(0);
	expect_failed(q, 1, BSN_SYNDROME_RETRY_EXCEEDED);
}

#define TEST(f)      cmocka_unit_test_setup_teardown(f, set_up, tear_down)
#define TEST_ROCE(f) cmocka_unit_test_setup_teardown(f, set_up_roce, tear_down_roce)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(they_carry_data_around_their_rings),
		TEST(they_talk_to_queues_of_verbs),
		TEST(they_tell_what_they_are),
		TEST(rights_change_on_the_way),
		TEST(no_message_is_longer_than_said),
		TEST(each_transition_has_its_state),
		TEST(each_bad_transition_has_its_status),
		TEST(each_bad_cq_has_its_status),
		TEST(each_bad_qp_has_its_status),
		TEST(a_command_means_the_object_of_its_handle),
		TEST(what_a_queue_stands_on_stays),
		TEST(a_context_that_closes_takes_them_along),
		TEST(a_target_and_an_initiator_of_commands),
		TEST(a_wrong_key_is_counted),
		TEST(who_is_drained_answers_no_more),
		TEST(each_bad_end_of_dc_has_its_status),
		TEST(a_target_tells_of_itself),
		TEST(a_queue_pair_tells_of_itself),
		TEST(a_cq_changes_what_is_named),
		TEST(the_port_tells_its_address),
		TEST_ROCE(a_wrong_mac_leads_nowhere),
	};

	return cmocka_run_group_tests_name("softcx DevX queues", tests, NULL, NULL);
}
