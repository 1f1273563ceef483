/* SPDX-License-Identifier: BSD-2-Clause */
/* The bench of the model's tests. */
#include "unit.h"
#include "rig.h"

#include <signal.h>

#include "bsn_cmd.h"
#include "datasheet.h"

struct cx_config rig_config(void)
{
	return (struct cx_config){ .generation = CX_GEN_CX6,
				   .link = CX_LINK_IB,
				   .passive = true,
				   .private_fabric = true };
}

uint32_t rig_mr_create(struct rig *rig, uint32_t pd, uint64_t length, int access)
{
	const struct cx_mr_attr attr = { .va = (uintptr_t)rig->buf,
					 .iova = (uintptr_t)rig->buf,
					 .length = length,
					 .pdn = pd,
					 .access = access };
	uint32_t key;

	assert_int_equal(cx_mr_create(rig->hca, &attr, &key), 0);
	return key;
}

void rig_cq_create(struct rig *rig, struct rig_cq *cq, uint32_t cqe_size)
{
	const struct cx_cq_attr attr = { .buf = (uintptr_t)cq->buf,
					 .db = (uintptr_t)cq->db,
					 .entries = RIG_CQES,
					 .cqe_size = cqe_size };

	memset(cq, 0, sizeof(*cq));
	cq->cqe_size = cqe_size;
	for (unsigned i = 0; i < RIG_CQES; i++)
		ENCODE(cqe_tail, cq->buf + (i + 1) * cqe_size - BSN_CQE_TAIL_SIZE,
		       .opcode = BSN_CQE_INVALID);
	assert_int_equal(cx_cq_create(rig->hca, &attr, &cq->number), 0);
}

void rig_qp_create(struct rig *rig, struct rig_qp *qp)
{
	struct cx_qp_attr attr = rig->attr;

	memset(qp, 0, sizeof(*qp));
	attr.buf = (uintptr_t)qp->ring;
	attr.db = (uintptr_t)qp->db;
	attr.uidx = 0x700 + (uint32_t)(qp - rig->qp);
	assert_int_equal(cx_qp_create(rig->hca, &attr, &qp->number), 0);
}

void rig_qp_modify(struct rig *rig, const struct rig_qp *qp, struct ibv_qp_attr attr, int mask)
{
	assert_int_equal(cx_qp_modify(rig->hca, qp->number, &attr, mask), 0);
}

void rig_qp_connect(struct rig *rig, struct rig_qp *qp, uint32_t dest_qpn)
{
	struct ibv_qp_attr attr = rig->mod;
	int init =
		IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS | IBV_QP_QKEY;
	int connect = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		      IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	int start = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
		    IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;

	attr.dest_qp_num = dest_qpn;
	attr.qp_state = IBV_QPS_INIT;
	rig_qp_modify(rig, qp, attr, init);
	attr.qp_state = IBV_QPS_RTR;
	rig_qp_modify(rig, qp, attr, connect);
	attr.qp_state = IBV_QPS_RTS;
	rig_qp_modify(rig, qp, attr, start);
}

void rig_qp_destroy(struct rig *rig, struct rig_qp *qp)
{
	assert_int_equal(cx_qp_destroy(rig->hca, qp->number), 0);
	qp->number = 0;
}

void rig_qp_move(struct rig *rig, const struct rig_qp *qp, enum ibv_qp_state state)
{
	rig_qp_modify(rig, qp, (struct ibv_qp_attr){ .qp_state = state }, IBV_QP_STATE);
}

enum ibv_qp_state rig_qp_state(struct rig *rig, const struct rig_qp *qp)
{
	struct ibv_qp_attr attr;

	assert_int_equal(cx_qp_query(rig->hca, qp->number, &attr), 0);
	return attr.qp_state;
}

void rig_open(struct rig *rig, const struct cx_config *config)
{
	memset(rig, 0, sizeof(*rig));
	assert_int_equal(cx_open(config, &rig->hca), 0);
	assert_int_equal(cx_pd_create(rig->hca, &rig->pd), 0);
	rig->key = rig_mr_create(rig, rig->pd, sizeof(rig->buf), RIG_ACCESS);
	rig_cq_create(rig, &rig->cq[0], BSN_CQE_SIZE);
	rig_cq_create(rig, &rig->cq[1], BSN_CQE_SIZE);
	rig->attr = (struct cx_qp_attr){ .type = IBV_QPT_RC,
					 .pdn = rig->pd,
					 .send_cqn = rig->cq[0].number,
					 .recv_cqn = rig->cq[1].number,
					 .rq_count = RIG_RQ,
					 .rq_stride_bytes = RIG_RQ_STRIDE,
					 .sq_count_bb = RIG_SQ_BB };
	rig->mod = (struct ibv_qp_attr){ .qp_access_flags = RIG_ACCESS,
					 .port_num = 1,
					 .qkey = 0x1234,
					 .path_mtu = IBV_MTU_4096,
					 .ah_attr = { .dlid = CX_LID, .port_num = 1 },
					 .max_dest_rd_atomic = 1,
					 .max_rd_atomic = 1,
					 .min_rnr_timer = 1,
					 .timeout = 14,
					 .retry_cnt = 2,
					 .rnr_retry = 2 };
}

void rig_pair(struct rig *rig)
{
	for (unsigned i = 0; i < 2; i++)
		rig_qp_create(rig, &rig->qp[i]);
	for (unsigned i = 0; i < 2; i++)
		rig_qp_connect(rig, &rig->qp[i], rig->qp[!i].number);
}

void rig_setup(struct rig *rig, enum ibv_qp_type type)
{
	const struct cx_config config = rig_config();

	rig_open(rig, &config);
	rig->attr.type = type;
	rig_pair(rig);
}

void rig_teardown(struct rig *rig)
{
	cx_close(rig->hca);
	rig->hca = NULL;
}

void rig_srq_create(struct rig *rig, struct rig_srq *srq, struct cx_srq_attr attr)
{
	memset(srq, 0, sizeof(*srq));
	attr.pdn = rig->pd;
	attr.buf = (uintptr_t)srq->ring;
	attr.db = (uintptr_t)srq->db;
	attr.stride_bytes = RIG_SRQ_STRIDE;
	assert_int_equal(cx_srq_create(rig->hca, &attr, &srq->number), 0);
}

void rig_srq_post(struct rig *rig, struct rig_srq *srq, unsigned index, unsigned next, void *to,
		  uint32_t len)
{
	uint8_t *wqe = srq->ring + (size_t)index * RIG_SRQ_STRIDE;

	ENCODE(srq_next, wqe, .next_wqe_index = next);
	ENCODE(data, wqe + BSN_SRQ_NEXT_SIZE, .byte_count = len, .lkey = rig->key,
	       .addr = (uintptr_t)to);
	ENCODE(dbr_wq, (uint8_t *)srq->db, .index = ++srq->posted);
}

uint32_t rig_mkey_create(struct rig *rig, const struct bsn_mkey_ctx *ctx,
			 const struct bsn_klm *pieces, unsigned count)
{
	uint8_t in[BSN_CREATE_MKEY_LIST_OFFSET + 16 * BSN_XLT_SIZE] = { 0 };
	uint8_t out[BSN_CREATED_OUT_SIZE];
	struct bsn_mkey_ctx whole = *ctx;
	struct bsn_cmd_object made;

	whole.qpn = BSN_MKEY_QPN_ANY;
	whole.translations_octword_size = (count + 3) / 4 * 4;
	ENCODE(cmd_in, in, .opcode = BSN_CMD_CREATE_MKEY);
	bsn_mkey_ctx_encode(in + BSN_CREATE_MKEY_CTX_OFFSET, &whole);
	ENCODE(create_mkey_xlt, in + BSN_CREATE_MKEY_XLT_OFFSET, .octwords = count);
	for (unsigned i = 0; i < count; i++)
		bsn_klm_encode(in + BSN_CREATE_MKEY_LIST_OFFSET + i * BSN_KLM_SIZE, &pieces[i]);
	assert_int_equal(cx_command(rig->hca, NULL, in, sizeof(in), out, sizeof(out)), 0);
	bsn_cmd_object_decode(&made, out + BSN_CMD_OBJECT_OFFSET);
	return made.number << 8 | ctx->mkey_7_0;
}

/* -- WQEs -------------------------------------------------------------------------------------- */

void rig_begin(struct rig_wqe *wqe, uint32_t opcode, uint32_t ce)
{
	memset(wqe, 0, sizeof(*wqe));
	wqe->ctrl = (struct bsn_ctrl){ .opcode = opcode, .ce = ce };
	wqe->len = BSN_CTRL_SIZE;
}

void rig_raddr(struct rig_wqe *wqe, const void *addr, uint32_t rkey)
{
	ENCODE(raddr, wqe->bytes + wqe->len, .raddr = (uintptr_t)addr, .rkey = rkey);
	wqe->len += BSN_RADDR_SIZE;
}

void rig_data(struct rig_wqe *wqe, const void *addr, uint32_t len, uint32_t lkey)
{
	ENCODE(data, wqe->bytes + wqe->len, .byte_count = len, .lkey = lkey,
	       .addr = (uintptr_t)addr);
	wqe->len += BSN_DATA_SIZE;
}

void rig_inline(struct rig_wqe *wqe, const void *data, uint32_t len)
{
	ENCODE(inline_hdr, wqe->bytes + wqe->len, .is_inline = 1, .byte_count = len);
	memcpy(wqe->bytes + wqe->len + BSN_INLINE_HDR_SIZE, data, len);
	wqe->len += (BSN_INLINE_HDR_SIZE + len + BSN_DS_SIZE - 1) / BSN_DS_SIZE * BSN_DS_SIZE;
}

void rig_ud(struct rig_wqe *wqe, uint32_t qpn, uint32_t qkey)
{
	ENCODE(av_ud, wqe->bytes + wqe->len, .qkey = qkey, .dqpn = qpn, .rlid = CX_LID);
	wqe->len += BSN_AV_UD_SIZE;
}

void rig_post(struct rig_qp *qp, struct rig_wqe *wqe)
{
	uint8_t *sq = qp->ring + (qp->number ? RIG_RQ * RIG_RQ_STRIDE : 0);
	struct bsn_dbr_wq record;

	wqe->ctrl.wqe_index = qp->pi;
	wqe->ctrl.qpn = qp->number;
	wqe->ctrl.ds = (uint32_t)(wqe->len / BSN_DS_SIZE);
	bsn_ctrl_encode(wqe->bytes, &wqe->ctrl);
	for (size_t i = 0; i < wqe->len; i++)
		sq[((size_t)qp->pi * BSN_BB_SIZE + i) % (RIG_SQ_BB * BSN_BB_SIZE)] = wqe->bytes[i];
	qp->pi = (uint16_t)(qp->pi + (wqe->len + BSN_BB_SIZE - 1) / BSN_BB_SIZE);
	record.index = qp->pi;
	bsn_dbr_wq_encode((uint8_t *)qp->db + BSN_DBR_SEND_OFFSET, &record);
}

void rig_begin_write(const struct rig *rig, struct rig_wqe *wqe, const void *to, const void *from,
		     uint32_t len, uint32_t ce)
{
	rig_begin(wqe, BSN_OPCODE_RDMA_WRITE, ce);
	rig_raddr(wqe, to, rig->key);
	rig_data(wqe, from, len, rig->key);
}

void rig_post_one(struct rig_qp *qp, uint32_t opcode, const void *remote, uint32_t rkey,
		  const void *local, uint32_t len, uint32_t lkey)
{
	struct rig_wqe wqe;

	rig_begin(&wqe, opcode, BSN_CE_ALWAYS);
	if (opcode != BSN_OPCODE_SEND)
		rig_raddr(&wqe, remote, rkey);
	rig_data(&wqe, local, len, lkey);
	rig_post(qp, &wqe);
}

void rig_post_write(struct rig *rig, struct rig_qp *qp, const void *to, const void *from,
		    uint32_t len, uint32_t ce)
{
	struct rig_wqe wqe;

	rig_begin_write(rig, &wqe, to, from, len, ce);
	rig_post(qp, &wqe);
}

void rig_post_send(struct rig *rig, struct rig_qp *qp, const void *from, uint32_t len, uint32_t ce)
{
	struct rig_wqe wqe;

	rig_begin(&wqe, BSN_OPCODE_SEND, ce);
	rig_data(&wqe, from, len, rig->key);
	rig_post(qp, &wqe);
}

void rig_post_recv(struct rig *rig, struct rig_qp *qp, void *to, uint32_t len)
{
	uint8_t *wqe = qp->ring + qp->rq_pi % RIG_RQ * RIG_RQ_STRIDE;
	struct bsn_dbr_wq record;

	ENCODE(data, wqe, .byte_count = len, .lkey = rig->key, .addr = (uintptr_t)to);
	ENCODE(data, wqe + BSN_DATA_SIZE, .lkey = BSN_LKEY_TERMINATOR);
	record.index = ++qp->rq_pi;
	bsn_dbr_wq_encode((uint8_t *)qp->db + BSN_DBR_RECV_OFFSET, &record);
}

void rig_handle_fault(int sig)
{
	cx_memory_fault(&(siginfo_t){ .si_signo = sig });
	signal(sig, SIG_DFL);
}

void rig_run(struct rig *rig)
{
	for (unsigned i = 0; i < 100; i++)
		cx_step(rig->hca, 0);
}

/* -- CQEs -------------------------------------------------------------------------------------- */

bool rig_poll(struct rig_cq *cq, struct bsn_cqe *cqe)
{
	const uint8_t *at = cq->buf + cq->ci % RIG_CQES * cq->cqe_size;
	struct bsn_cqe own;

	cqe = cqe ? cqe : &own;
	assert_int_equal(bsn_cqe_decode(at, cq->cqe_size, cqe, NULL), 0);
	if (cqe->tail.opcode == BSN_CQE_INVALID || cqe->tail.owner != !!(cq->ci & RIG_CQES))
		return false;
	cq->ci++;
	rig_consume(cq);
	return true;
}

struct bsn_cqe rig_next(struct rig_cq *cq)
{
	struct bsn_cqe cqe;

	assert_true(rig_poll(cq, &cqe));
	return cqe;
}

void rig_expect_error(struct rig_cq *cq, uint8_t opcode, uint16_t index, uint8_t syndrome,
		      uint8_t vendor)
{
	const struct bsn_cqe cqe = rig_next(cq);

	assert_int_equal(cqe.tail.opcode, opcode);
	assert_int_equal(cqe.as.err.syndrome, syndrome);
	assert_int_equal(cqe.as.err.vendor_syndrome, vendor);
	assert_int_equal(cqe.tail.wqe_counter, index);
}

void rig_consume(struct rig_cq *cq)
{
	ENCODE(dbr_cq_ci, (uint8_t *)cq->db + BSN_DBR_CQ_CI_OFFSET, .ci = cq->ci & 0xffffff);
}
