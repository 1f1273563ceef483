/* SPDX-License-Identifier: BSD-2-Clause */
/* Queues that a program makes by commands, and drives by hand: two ends that talk. */
#ifndef TEST_SOFTCX_QUEUES_H
#define TEST_SOFTCX_QUEUES_H

#include "loopback.h"

#include <infiniband/mlx5dv.h>

#include "../wqe/encode.h"
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

static struct queues {
	struct mlx5dv_devx_uar *uar;
	struct end ends[ENDS];
} q;

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

static inline void put_head(uint8_t *in, uint32_t opcode, uint32_t number)
{
	ENCODE(cmd_in, in, .opcode = opcode);
	ENCODE(cmd_object, in + BSN_CMD_OBJECT_OFFSET, .number = number);
}

static inline uint32_t status_of(const uint8_t *out)
{
	struct bsn_cmd_out head;

	bsn_cmd_out_decode(&head, out);
	return head.status;
}

static inline uint32_t number_of(const uint8_t *out)
{
	struct bsn_cmd_object object;

	bsn_cmd_object_decode(&object, out + BSN_CMD_OBJECT_OFFSET);
	return object.number;
}

static inline uint32_t pdn_of(struct ibv_pd *pd)
{
	struct mlx5dv_pd out = { 0 };
	struct mlx5dv_obj obj = { .pd = { .in = pd, .out = &out } };

	assert_int_equal(mlx5dv_init_obj(&obj, MLX5DV_OBJ_PD), 0);
	return out.pdn;
}

/* A command of an object that says no more than its number. */
static inline int query_object(struct mlx5dv_devx_obj *obj, uint32_t opcode, uint32_t number,
			       uint8_t *out, size_t size)
{
	uint8_t in[BSN_MEANING_IN_SIZE] = { 0 };

	put_head(in, opcode, number);
	return mlx5dv_devx_obj_query(obj, in, sizeof(in), out, size);
}

static inline int modify_object(struct mlx5dv_devx_obj *obj, uint32_t opcode, uint32_t number,
				uint8_t *out)
{
	uint8_t in[BSN_MEANING_IN_SIZE] = { 0 };

	put_head(in, opcode, number);
	return mlx5dv_devx_obj_modify(obj, in, sizeof(in), out, BSN_MODIFY_QP_OUT_SIZE);
}

/* Each field that is wrong has its status: `make` is refused the request after its change. */
#define REFUSED(wanted, make, request, change)                                                     \
	do {                                                                                       \
		__typeof__(request) r = request;                                                   \
		uint8_t out[BSN_CREATED_OUT_SIZE];                                                 \
		change;                                                                            \
		assert_null(make(&r, out));                                                        \
		assert_int_equal(errno, EREMOTEIO);                                                \
		assert_int_equal(status_of(out), BSN_COMMAND_##wanted);                            \
	} while (0)

/* -- making ------------------------------------------------------------------------------------ */

static inline struct cq_request cq_request(unsigned end)
{
	uint32_t eqn;

	assert_int_equal(mlx5dv_devx_query_eqn(lo.ctx, 0, &eqn), 0);
	return (struct cq_request){
		.ctx = { .log_cq_size = CQE_LOG2,
			 .uar_page = q.uar->page_id,
			 .c_eqn_or_apu_element = eqn,
			 .dbr_umem_id = q.ends[end].umem->umem_id,
			 .dbr_addr = CQ_RECORD_AT },
		.ring = { .umem_id = q.ends[end].umem->umem_id, .umem_offset = CQ_AT },
	};
}

static inline struct qp_request qp_request(unsigned end)
{
	return (struct qp_request){
		.shape = { .pd = pdn_of(lo.pd),
			   .pm_state = 3,
			   .log_rq_size = RQ_LOG2,
			   .log_sq_size = SQ_LOG2,
			   .uar_page = q.uar->page_id,
			   .user_index = 0x1230 + end },
		.work = { .cqn_snd = q.ends[end].cqn,
			  .cqn_rcv = q.ends[end].cqn,
			  .dbr_addr = QP_RECORD_AT },
		.record = { .dbr_umem_id = q.ends[end].umem->umem_id },
		.ring = { .umem_id = q.ends[end].umem->umem_id, .umem_offset = RING_AT },
	};
}

static inline struct mlx5dv_devx_obj *create(const uint8_t *in, size_t size, uint8_t *out)
{
	errno = 0;
	return mlx5dv_devx_obj_create(lo.ctx, in, size, out, BSN_CREATED_OUT_SIZE);
}

static inline struct mlx5dv_devx_obj *create_cq(const struct cq_request *r, uint8_t *out)
{
	uint8_t in[BSN_CREATE_CQ_IN_SIZE] = { 0 };

	put_head(in, BSN_CMD_CREATE_CQ, 0);
	bsn_cqc_encode(in + BSN_CREATE_CQ_CTX_OFFSET, &r->ctx);
	bsn_cmd_ring_encode(in + BSN_CREATE_CQ_RING_OFFSET, &r->ring);
	return create(in, sizeof(in), out);
}

static inline struct mlx5dv_devx_obj *create_qp(const struct qp_request *r, uint8_t *out)
{
	uint8_t in[BSN_CREATE_QP_IN_SIZE] = { 0 }, *qpc = in + BSN_CREATE_QP_CTX_OFFSET;

	put_head(in, BSN_CMD_CREATE_QP, 0);
	bsn_qpc_shape_encode(qpc, &r->shape);
	bsn_qpc_work_encode(qpc + BSN_QPC_WORK_OFFSET, &r->work);
	bsn_qpc_record_encode(qpc + BSN_QPC_RECORD_OFFSET, &r->record);
	bsn_cmd_ring_encode(in + BSN_CREATE_QP_RING_OFFSET, &r->ring);
	return create(in, sizeof(in), out);
}

static inline void make_end(unsigned i)
{
	uint8_t out[BSN_CREATED_OUT_SIZE] = { 0 };
	struct end *end = &q.ends[i];
	struct cq_request cq;
	struct qp_request qp;

	memset(end->memory, 0, sizeof(end->memory));
	memset(end->memory + CQ_AT, 0xff, PAGE); /* opcode 0xf: never written */
	end->umem = made(mlx5dv_devx_umem_reg(lo.ctx, end->memory, sizeof(end->memory),
					      IBV_ACCESS_LOCAL_WRITE));
	cq = cq_request(i);
	end->cq = made(create_cq(&cq, out));
	end->cqn = number_of(out);
	qp = qp_request(i);
	end->qp = made(create_qp(&qp, out));
	end->qpn = number_of(out);
}

static inline int set_up_on(void **state, enum cx_link link, const char *fault_plan)
{
	struct cx_config config = loopback_config(link, true);

	config.fault_plan = fault_plan;
	loopback_set_up_config(state, &config);
	memset(&q, 0, sizeof(q));
	q.uar = made(mlx5dv_devx_alloc_uar(lo.ctx, MLX5DV_UAR_ALLOC_TYPE_NC));
	for (unsigned i = 0; i < ENDS; i++)
		make_end(i);
	return 0;
}

static inline int set_up(void **state)
{
	return set_up_on(state, (enum cx_link)given(state), NULL);
}

static inline int tear_down(void **state)
{
	for (unsigned i = 0; i < ENDS; i++) {
		assert_int_equal(mlx5dv_devx_obj_destroy(q.ends[i].qp), 0);
		assert_int_equal(mlx5dv_devx_obj_destroy(q.ends[i].cq), 0);
		assert_int_equal(mlx5dv_devx_umem_dereg(q.ends[i].umem), 0);
	}
	mlx5dv_devx_free_uar(q.uar);
	return loopback_tear_down(state);
}

/* -- moving ------------------------------------------------------------------------------------ */

static inline struct move move_of(unsigned end, uint32_t opcode)
{
	return (struct move){
		.opcode = opcode,
		.qpn = q.ends[end].qpn,
		.shape = { .mtu = IBV_MTU_1024,
			   .log_msg_max = CX_MAX_MSG_LOG2,
			   .remote_qpn = q.ends[!end].qpn },
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
static inline int move(struct mlx5dv_devx_obj *obj, const struct move *m, uint32_t *status)
{
	uint8_t in[CMD_BYTES] = { 0 }, out[BSN_MODIFY_QP_OUT_SIZE] = { 0 };
	uint8_t *qpc = in + BSN_CREATE_QP_CTX_OFFSET;
	int err;

	put_head(in, m->opcode, m->qpn);
	ENCODE(cmd_options, in + BSN_MODIFY_QP_OPTIONS_OFFSET, .opt_param_mask = m->options);
	bsn_qpc_shape_encode(qpc, &m->shape);
	bsn_ads_encode(qpc + BSN_QPC_ADS_OFFSET, &m->path);
	bsn_qpc_work_encode(qpc + BSN_QPC_WORK_OFFSET, &m->work);
	err = mlx5dv_devx_obj_modify(obj, in, sizeof(in), out, sizeof(out));
	*status = status_of(out);
	return err;
}

static inline void must_move(unsigned end, const struct move *m)
{
	uint32_t status;

	assert_int_equal(move(q.ends[end].qp, m, &status), 0);
	assert_int_equal(status, BSN_COMMAND_OK);
}

static inline void must_refuse(unsigned end, const struct move *m, uint32_t wanted)
{
	uint32_t status;

	assert_int_equal(move(q.ends[end].qp, m, &status), EREMOTEIO);
	assert_int_equal(status, wanted);
}

static inline void simply_move(unsigned end, uint32_t opcode)
{
	const struct move m = move_of(end, opcode);

	must_move(end, &m);
}

static inline void connect_ends(void)
{
	for (unsigned end = 0; end < ENDS; end++) {
		simply_move(end, BSN_CMD_RST2INIT_QP);
		simply_move(end, BSN_CMD_INIT2RTR_QP);
	}
	for (unsigned end = 0; end < ENDS; end++)
		simply_move(end, BSN_CMD_RTR2RTS_QP);
}

static inline struct bsn_qpc_shape query(unsigned end, struct bsn_ads *path,
					 struct bsn_qpc_work *work)
{
	uint8_t out[BSN_QUERY_QP_OUT_SIZE], *qpc = out + BSN_CREATE_QP_CTX_OFFSET;
	struct bsn_qpc_shape shape;

	assert_int_equal(
		query_object(q.ends[end].qp, BSN_CMD_QUERY_QP, q.ends[end].qpn, out, sizeof(out)),
		0);
	bsn_qpc_shape_decode(&shape, qpc);
	bsn_ads_decode(path, qpc + BSN_QPC_ADS_OFFSET);
	bsn_qpc_work_decode(work, qpc + BSN_QPC_WORK_OFFSET);
	return shape;
}

static inline uint32_t state_of(unsigned end)
{
	struct bsn_qpc_work work;
	struct bsn_ads path;

	return query(end, &path, &work).state;
}

/* -- driving ----------------------------------------------------------------------------------- */

static inline struct bsn_data data_of(unsigned offset, uint32_t bytes)
{
	return (struct bsn_data){ .byte_count = bytes,
				  .lkey = lo.mr->lkey,
				  .addr = (uintptr_t)lo.memory + offset };
}

/* Encodes the control segment of the next request, and returns where the rest of it begins. */
static inline uint8_t *begin_request(unsigned i, enum bsn_wqe_opcode opcode, unsigned ds,
				     uint32_t imm)
{
	struct end *end = &q.ends[i];
	uint8_t *slot = end->memory + RING_AT + (BSN_DATA_SIZE << RQ_LOG2) +
			(size_t)(end->sq_index % (1 << SQ_LOG2)) * BSN_BB_SIZE;

	ENCODE(ctrl, slot, .opcode = opcode, .wqe_index = end->sq_index & 0xffff, .qpn = end->qpn,
	       .ds = ds, .ce = BSN_CE_ALWAYS, .imm = imm);
	return slot + BSN_CTRL_SIZE;
}

static inline void publish(unsigned i)
{
	struct end *end = &q.ends[i];

	ENCODE(dbr_wq, end->memory + QP_RECORD_AT + BSN_DBR_SEND_OFFSET,
	       .index = ++end->sq_index & 0xffff);
	softcx_step(0);
}

/* SEND with an immediate, or a WRITE to the memory's second half. */
static inline void post(unsigned i, enum bsn_wqe_opcode opcode, uint32_t bytes)
{
	const bool writes = opcode == BSN_OPCODE_RDMA_WRITE;
	const struct bsn_data data = data_of(0, bytes);
	uint8_t *at = begin_request(i, opcode, writes ? 3 : 2, writes ? 0 : 0x5eed);

	if (writes)
		ENCODE(raddr, at, .raddr = (uintptr_t)lo.memory + 2048, .rkey = lo.mr->rkey);
	bsn_data_encode(at + (writes ? BSN_RADDR_SIZE : 0), &data);
	publish(i);
}

static inline void post_recv(unsigned i, unsigned offset)
{
	struct end *end = &q.ends[i];
	const struct bsn_data data = data_of(offset, 256);
	const size_t at = end->rq_index % (1 << RQ_LOG2) * BSN_DATA_SIZE;

	bsn_data_encode(end->memory + RING_AT + at, &data);
	ENCODE(dbr_wq, end->memory + QP_RECORD_AT + BSN_DBR_RECV_OFFSET, .index = ++end->rq_index);
}

/* Returns the next CQE of an end, which must be there. */
static inline const uint8_t *next_cqe(unsigned i)
{
	struct end *end = &q.ends[i];
	const uint32_t at = end->cq_index % (1 << CQE_LOG2);
	const uint8_t *cqe = end->memory + CQ_AT + (size_t)at * BSN_CQE_SIZE;
	struct bsn_cqe_tail tail;

	bsn_cqe_tail_decode(&tail, cqe + BSN_CQE_SIZE - BSN_CQE_TAIL_SIZE);
	assert_int_equal(tail.owner, end->cq_index >> CQE_LOG2 & 1);
	ENCODE(dbr_cq_ci, end->memory + CQ_RECORD_AT + BSN_DBR_CQ_CI_OFFSET,
	       .ci = end->cq_index + 1);
	end->cq_index++;
	return cqe;
}

static inline void expect_sent(unsigned end)
{
	struct bsn_cqe_req cqe;

	bsn_cqe_req_decode(&cqe, next_cqe(end));
	assert_int_equal(cqe.opcode, BSN_CQE_REQ);
	assert_int_equal(cqe.qpn, q.ends[end].qpn);
	assert_int_equal(cqe.srqn_uidx, 0x1230 + end);
}

static inline void expect_failed(unsigned end, enum bsn_syndrome syndrome)
{
	struct bsn_cqe_err cqe;

	bsn_cqe_err_decode(&cqe, next_cqe(end));
	assert_int_equal(cqe.opcode, BSN_CQE_REQ_ERR);
	assert_int_equal(cqe.syndrome, syndrome);
}

#define TEST(f)      GIVEN(f, CX_LINK_IB, set_up, tear_down)
#define TEST_ROCE(f) GIVEN(f, CX_LINK_ROCE, set_up, tear_down)

#endif
