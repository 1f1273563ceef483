/* SPDX-License-Identifier: BSD-2-Clause */
/* Queues of the dynamically connected transport, made by commands. */
#ifndef TESTS_SOFTCX_DC_QUEUES_H
#define TESTS_SOFTCX_DC_QUEUES_H

#include "queues.h"

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

static inline struct rmp_request rmp_request(const struct dc *d)
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

static inline struct mlx5dv_devx_obj *create_rmp(struct dc *d, const struct rmp_request *r,
						 uint8_t *out)
{
	uint8_t in[BSN_CREATE_RMP_IN_SIZE] = { 0 }, *rmpc = in + BSN_CREATE_RMP_CTX_OFFSET;

	put_head(in, BSN_CMD_CREATE_RMP, 0);
	bsn_rmpc_encode(rmpc, &r->head);
	bsn_cmd_wq_encode(rmpc + BSN_RMPC_WQ_OFFSET, &r->wq);
	return create(d->q, in, sizeof(in), out);
}

static inline struct bsn_dctc dct_request(const struct dc *d)
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

static inline struct mlx5dv_devx_obj *create_dct(struct dc *d, const struct bsn_dctc *c,
						 uint8_t *out)
{
	uint8_t in[BSN_CREATE_DCT_IN_SIZE] = { 0 };

	put_head(in, BSN_CMD_CREATE_DCT, 0);
	bsn_dctc_encode(in + BSN_CREATE_DCT_CTX_OFFSET, c);
	return create(d->q, in, sizeof(in), out);
}

static inline struct qp_request dci_request(const struct dc *d)
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

static inline struct dc *make_dc(struct queues *q)
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

static inline void free_dc(struct dc *d)
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
static inline void open_dci(struct dc *d)
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

static inline void post_dc(struct dc *d, uint64_t key, uint16_t stream)
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
static inline void post_to_rmp(struct dc *d, unsigned offset)
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

static inline void expect_dc_sent(struct dc *d)
{
	struct bsn_cqe_req cqe;

	bsn_cqe_req_decode(&cqe, next_cqe(d->q, 0));
	assert_int_equal(cqe.opcode, BSN_CQE_REQ);
	assert_int_equal(cqe.qpn, d->dcin);
}

static inline void expect_received(struct dc *d)
{
	struct bsn_cqe_resp got;

	bsn_cqe_resp_decode(&got, next_cqe(d->q, 1));
	assert_int_equal(got.opcode, BSN_CQE_RESP_SEND);
	assert_int_equal(got.byte_count, 48);
	assert_int_equal(got.srqn_uidx, 0x4321);
}

static inline struct bsn_dctc query_dct(struct dc *d)
{
	uint8_t in[BSN_MEANING_IN_SIZE] = { 0 }, out[BSN_QUERY_DCT_OUT_SIZE];
	struct bsn_dctc c;

	put_head(in, BSN_CMD_QUERY_DCT, d->dctn);
	assert_int_equal(mlx5dv_devx_obj_query(d->dct, in, sizeof(in), out, sizeof(out)), 0);
	bsn_dctc_decode(&c, out + BSN_CREATE_DCT_CTX_OFFSET);
	return c;
}

static inline int change_dct(struct dc *d, uint32_t opcode)
{
	uint8_t in[BSN_MEANING_IN_SIZE] = { 0 }, out[BSN_CREATED_OUT_SIZE];

	put_head(in, opcode, d->dctn);
	return mlx5dv_devx_obj_modify(d->dct, in, sizeof(in), out, sizeof(out));
}

static inline int modify_rmp(struct dc *d, unsigned limit, unsigned state, bool names_limit)
{
	const struct bsn_rmp_select select = { .rmp_state = state, .rmpn = d->rmpn,
					       .lwm = names_limit };
	const struct bsn_rmpc head = { .state = 1 };
	const struct bsn_cmd_wq wq = { .lwm = limit };
	uint8_t in[BSN_CREATE_RMP_IN_SIZE] = { 0 }, out[BSN_CREATED_OUT_SIZE];
	uint8_t *rmpc = in + BSN_CREATE_RMP_CTX_OFFSET;

	put_head(in, BSN_CMD_MODIFY_RMP, 0);
	bsn_rmp_select_encode(in + BSN_CMD_OBJECT_OFFSET, &select);
	bsn_rmpc_encode(rmpc, &head);
	bsn_cmd_wq_encode(rmpc + BSN_RMPC_WQ_OFFSET, &wq);
	return mlx5dv_devx_obj_modify(d->rmp, in, sizeof(in), out, sizeof(out));
}

static inline unsigned limit_of(struct dc *d)
{
	uint8_t in[BSN_MEANING_IN_SIZE] = { 0 }, out[BSN_QUERY_RMP_OUT_SIZE];
	struct bsn_cmd_wq wq;

	put_head(in, BSN_CMD_QUERY_RMP, d->rmpn);
	assert_int_equal(mlx5dv_devx_obj_query(d->rmp, in, sizeof(in), out, sizeof(out)), 0);
	bsn_cmd_wq_decode(&wq, out + BSN_CREATE_RMP_CTX_OFFSET + BSN_RMPC_WQ_OFFSET);
	return wq.lwm;
}

#endif
