/* SPDX-License-Identifier: BSD-2-Clause */
/* Queues of the dynamically connected transport, made by commands. */
#ifndef TESTS_SOFTCX_DC_QUEUES_H
#define TESTS_SOFTCX_DC_QUEUES_H

#include "queues.h"

enum { RMP_LOG2 = 2, RMP_STRIDE_LOG2 = 5, KEY = 0x77, SQ_AT = 0, RMP_AT = PAGE, STREAMS_LOG2 = 1 };
enum { RECORDS_AT = 2 * PAGE, RMP_RECORD_AT = RECORDS_AT + 64, STREAM = 0x8001 };

/* An RMP and a target on end 1's CQ, an initiator on end 0's. */
static struct dc {
	uint8_t memory[3 * PAGE] __attribute__((aligned(PAGE)));
	struct mlx5dv_devx_umem *umem, *rmp_umem;
	struct mlx5dv_devx_obj *rmp, *dct, *dci;
	uint32_t rmpn, dctn, dcin;
	uint32_t posted, received;
} d;

struct rmp_request {
	struct bsn_rmpc head;
	struct bsn_cmd_wq wq;
};

static inline struct rmp_request rmp_request(void)
{
	return (struct rmp_request){
		.head = { .state = 1 },
		.wq = { .wq_type = BSN_WQ_CYCLIC,
			.pd = pdn_of(lo.pd),
			.log_wq_stride = RMP_STRIDE_LOG2,
			.log_wq_sz = RMP_LOG2,
			.dbr_umem_id = d.umem->umem_id,
			.dbr_addr = RMP_RECORD_AT,
			.wq_umem_id = d.rmp_umem->umem_id },
	};
}

static inline struct mlx5dv_devx_obj *create_rmp(const struct rmp_request *r, uint8_t *out)
{
	uint8_t in[BSN_CREATE_RMP_IN_SIZE] = { 0 }, *rmpc = in + BSN_CREATE_RMP_CTX_OFFSET;

	put_head(in, BSN_CMD_CREATE_RMP, 0);
	bsn_rmpc_encode(rmpc, &r->head);
	bsn_cmd_wq_encode(rmpc + BSN_RMPC_WQ_OFFSET, &r->wq);
	return create(in, sizeof(in), out);
}

static inline struct bsn_dctc dct_request(void)
{
	return (struct bsn_dctc){
		.user_index = 0x4321,
		.cqn = q.ends[1].cqn,
		.rre = 1,
		.rwe = 1,
		.force_full_handshake = 1,
		.min_rnr_nak = 12,
		.srqn_xrqn = d.rmpn,
		.pd = pdn_of(lo.pd),
		.dc_access_key = KEY,
		.mtu = IBV_MTU_1024,
		.port = 1,
	};
}

static inline struct mlx5dv_devx_obj *create_dct(const struct bsn_dctc *c, uint8_t *out)
{
	uint8_t in[BSN_CREATE_DCT_IN_SIZE] = { 0 };

	put_head(in, BSN_CMD_CREATE_DCT, 0);
	bsn_dctc_encode(in + BSN_CREATE_DCT_CTX_OFFSET, c);
	return create(in, sizeof(in), out);
}

static inline struct qp_request dci_request(void)
{
	struct qp_request r = qp_request(0);

	r.shape.st = BSN_QPC_ST_DCI;
	r.work.log_num_dci_stream_channels = STREAMS_LOG2;
	r.work.log_num_dci_errored_streams = STREAMS_LOG2;
	r.work.dbr_addr = RECORDS_AT;
	r.record.dbr_umem_id = r.ring.umem_id = d.umem->umem_id;
	r.ring.umem_offset = SQ_AT;
	return r;
}

/* The case names a plan of faults, or NULL. */
static inline int set_up_dc(void **state)
{
	uint8_t out[BSN_CREATED_OUT_SIZE] = { 0 };
	struct qp_request dci;
	struct bsn_dctc dct;
	struct rmp_request rmp;

	set_up_on(state, CX_LINK_IB, *state);
	memset(&d, 0, sizeof(d));
	d.umem = made(mlx5dv_devx_umem_reg(lo.ctx, d.memory, sizeof(d.memory), 0));
	d.rmp_umem = made(mlx5dv_devx_umem_reg(lo.ctx, d.memory + RMP_AT, PAGE, 0));
	rmp = rmp_request();
	d.rmp = made(create_rmp(&rmp, out));
	d.rmpn = number_of(out);
	dct = dct_request();
	d.dct = made(create_dct(&dct, out));
	d.dctn = number_of(out);
	dci = dci_request();
	d.dci = made(create_qp(&dci, out));
	d.dcin = number_of(out);
	return 0;
}

static inline int tear_down_dc(void **state)
{
	if (d.dct)
		assert_int_equal(mlx5dv_devx_obj_destroy(d.dct), 0);
	assert_int_equal(mlx5dv_devx_obj_destroy(d.dci), 0);
	assert_int_equal(mlx5dv_devx_obj_destroy(d.rmp), 0);
	assert_int_equal(mlx5dv_devx_umem_dereg(d.rmp_umem), 0);
	assert_int_equal(mlx5dv_devx_umem_dereg(d.umem), 0);
	return tear_down(state);
}

/* Opens the DCI as UCX does: with no port, no address and no other end. */
static inline void open_dci(void)
{
	static const uint32_t order[] = { BSN_CMD_RST2INIT_QP, BSN_CMD_INIT2RTR_QP,
					  BSN_CMD_RTR2RTS_QP };
	uint32_t status;

	for (unsigned i = 0; i < 3; i++) {
		struct move m = move_of(0, order[i]);
		m.qpn = d.dcin;
		m.shape.remote_qpn = 0;
		m.path.rlid = 0;
		m.path.vhca_port_num = !i;
		m.work.retry_count = 1;
		if (order[i] == BSN_CMD_INIT2RTR_QP)
			m.options = BSN_QP_OPTION_RAE;
		assert_int_equal(move(d.dci, &m, &status), 0);
	}
	d.posted = 0;
	memset(d.memory + RECORDS_AT, 0, 8);
}

/* Encodes the first block of the initiator's next request, and returns where the second begins. */
static inline uint8_t *begin_dc(uint32_t opcode, unsigned ds, uint64_t key, uint16_t stream)
{
	uint8_t *slot = d.memory + SQ_AT + (size_t)(d.posted % (1 << SQ_LOG2)) * BSN_BB_SIZE;

	ENCODE(ctrl, slot, .opcode = opcode, .wqe_index = d.posted & 0xffff, .qpn = d.dcin,
	       .ds = ds, .ce = BSN_CE_ALWAYS, .dci_stream = stream);
	ENCODE(av_dc_grh, slot + BSN_CTRL_SIZE, .dc_key = key, .ext = 1, .dqpn = d.dctn,
	       .rlid = CX_LID);
	return slot + BSN_BB_SIZE;
}

static inline void publish_dc(void)
{
	ENCODE(dbr_wq, d.memory + RECORDS_AT + BSN_DBR_SEND_OFFSET,
	       .index = (d.posted += 2) & 0xffff);
	for (unsigned i = 0; i < 8; i++)
		softcx_step(0);
}

static inline void post_dc(uint64_t key, uint16_t stream)
{
	const struct bsn_data data = data_of(0, 48);

	bsn_data_encode(begin_dc(BSN_OPCODE_SEND, 5, key, stream), &data);
	publish_dc();
}

/* The link of the WQE is wrong, but is not looked at. */
static inline void post_to_rmp(unsigned offset)
{
	uint8_t *slot =
		d.memory + RMP_AT + ((size_t)(d.received % (1 << RMP_LOG2)) << RMP_STRIDE_LOG2);
	const struct bsn_data data = data_of(offset, 64);

	ENCODE(srq_next, slot, .next_wqe_index = d.received % (1 << RMP_LOG2));
	bsn_data_encode(slot + BSN_SRQ_NEXT_SIZE, &data);
	ENCODE(dbr_wq, d.memory + RMP_RECORD_AT + BSN_DBR_RECV_OFFSET, .index = d.received + 1);
	d.received++;
}

static inline void expect_dc_sent(void)
{
	struct bsn_cqe_req cqe;

	bsn_cqe_req_decode(&cqe, next_cqe(0));
	assert_int_equal(cqe.opcode, BSN_CQE_REQ);
	assert_int_equal(cqe.qpn, d.dcin);
}

static inline void expect_received(void)
{
	struct bsn_cqe_resp got;

	bsn_cqe_resp_decode(&got, next_cqe(1));
	assert_int_equal(got.opcode, BSN_CQE_RESP_SEND);
	assert_int_equal(got.byte_count, 48);
	assert_int_equal(got.srqn_uidx, 0x4321);
}

static inline struct bsn_dctc query_dct(void)
{
	uint8_t out[BSN_QUERY_DCT_OUT_SIZE];
	struct bsn_dctc c;

	assert_int_equal(query_object(d.dct, BSN_CMD_QUERY_DCT, d.dctn, out, sizeof(out)), 0);
	bsn_dctc_decode(&c, out + BSN_CREATE_DCT_CTX_OFFSET);
	return c;
}

static inline int change_dct(uint32_t opcode)
{
	uint8_t out[BSN_MODIFY_QP_OUT_SIZE];

	return modify_object(d.dct, opcode, d.dctn, out);
}

static inline int modify_rmp(unsigned limit, unsigned state, bool names_limit)
{
	uint8_t in[BSN_CREATE_RMP_IN_SIZE] = { 0 }, out[BSN_CREATED_OUT_SIZE];
	uint8_t *rmpc = in + BSN_CREATE_RMP_CTX_OFFSET;

	put_head(in, BSN_CMD_MODIFY_RMP, 0);
	ENCODE(rmp_select, in + BSN_CMD_OBJECT_OFFSET, .rmp_state = state, .rmpn = d.rmpn,
	       .lwm = names_limit);
	ENCODE(rmpc, rmpc, .state = 1);
	ENCODE(cmd_wq, rmpc + BSN_RMPC_WQ_OFFSET, .lwm = limit);
	return mlx5dv_devx_obj_modify(d.rmp, in, sizeof(in), out, sizeof(out));
}

static inline unsigned limit_of(void)
{
	uint8_t out[BSN_QUERY_RMP_OUT_SIZE];
	struct bsn_cmd_wq wq;

	assert_int_equal(query_object(d.rmp, BSN_CMD_QUERY_RMP, d.rmpn, out, sizeof(out)), 0);
	bsn_cmd_wq_decode(&wq, out + BSN_CREATE_RMP_CTX_OFFSET + BSN_RMPC_WQ_OFFSET);
	return wq.lwm;
}

#define TEST_DC(f) GIVEN(f, NULL, set_up_dc, tear_down_dc)

#endif
