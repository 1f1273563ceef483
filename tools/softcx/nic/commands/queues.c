/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queues that commands create: CREATE_CQ and CREATE_QP, with rings and doorbell records in umems.
 * They are in the same tables as those of the driver. Source of the fields: mlx5_ifc.h. A field
 * that needs what is not modelled is refused.
 */
#include "firmware.h"

#include "bsn_cqe.h"
#include "bsn_db.h"
#include "datasheet.h"

enum { RQ_STRIDE_UNIT = 16 };
/* qp.h MLX5_NON_ZERO_RQ, MLX5_SRQ_RQ, MLX5_ZERO_LEN_RQ */
enum { RQ_OWN = 0, RQ_SRQ = 1, RQ_NONE = 3 };

enum bsn_command_status cx_find_place(struct cx_hca *hca, struct cx_mailbox *box,
				      const struct cx_place *place, uint64_t *va)
{
	const struct cx_umem *umem = cx_umem_find_own(hca, place->umem);

	if (!umem)
		return cx_refuse_command(box, BSN_COMMAND_BAD_RESOURCE, "no such umem");
	if (place->offset > umem->length || place->bytes > umem->length - place->offset)
		return cx_refuse_command(box, BSN_COMMAND_BAD_PARAMETER, "the umem is too short");
	*va = umem->va + place->offset;
	if (*va % place->align)
		return cx_refuse_command(box, BSN_COMMAND_BAD_PARAMETER,
					 "a ring must be aligned to a page, a record to 8 bytes");
	if (place->is_written && !umem->is_writable)
		return cx_refuse_command(box, BSN_COMMAND_BAD_PARAMETER,
					 "the device may not write to the umem of the CQEs");
	return BSN_COMMAND_OK;
}

static struct bsn_cmd_ring ring_of(const struct cx_mailbox *box, size_t offset)
{
	struct bsn_cmd_ring ring;

	bsn_cmd_ring_decode(&ring, box->in + offset);
	return ring;
}

static bool has_uar(const struct cx_mailbox *box, uint32_t page)
{
	return box->by && box->by->has_uar(box->by->context, page);
}

/* -- completion queues ------------------------------------------------------------------------- */

static const char *check_cqc(const struct bsn_cqc *c)
{
	if (c->cqe_sz > 1)
		return "CQEs of 64 bytes, 128 apart, are not modelled";
	if (c->cc)
		return "a CQ of one entry is not modelled";
	if (c->cqe_compression_layout)
		return "compressed CQEs of the enhanced layout are not modelled";
	if (c->page_offset)
		return "a ring in a umem must be aligned to a page";
	if ((UINT64_C(1) << c->log_cq_size) > CX_MAX_CQE + 1u)
		return "more CQEs than log_max_cq_sz";
	if (c->c_eqn_or_apu_element - CX_FIRST_EQN >= CX_COMP_VECTORS)
		return "no such event queue";
	return NULL;
}

static enum bsn_command_status fill_cq(struct cx_hca *hca, struct cx_mailbox *box,
				       const struct bsn_cqc *c, struct cx_cq_attr *attr)
{
	const struct bsn_cmd_ring ring = ring_of(box, BSN_CREATE_CQ_RING_OFFSET);
	enum bsn_command_status status;
	struct cx_place place;

	*attr = (struct cx_cq_attr){
		.entries = 1u << c->log_cq_size,
		.cqe_size = c->cqe_sz ? BSN_CQE128_SIZE : BSN_CQE_SIZE,
		.ignore_overrun = c->oi,
		.compresses = c->cqe_comp_en,
		.mini_format = (uint8_t)c->mini_cqe_res_format,
		.ring_umem = ring.umem_id,
		.db_umem = c->dbr_umem_id,
	};
	place = (struct cx_place){ ring.umem_id, ring.umem_offset,
				   (uint64_t)attr->entries * attr->cqe_size, CX_RING_ALIGN_BYTES,
				   true };
	status = cx_find_place(hca, box, &place, &attr->buf);
	if (status)
		return status;
	place = (struct cx_place){ c->dbr_umem_id, c->dbr_addr, BSN_DBR_SIZE, BSN_DBR_SIZE, false };
	return cx_find_place(hca, box, &place, &attr->db);
}

static void moderate(struct cx_hca *hca, uint32_t cqn, const struct bsn_cqc *c)
{
	struct cx_cq *cq = cx_cq_find_own(hca, cqn);

	cq->moderate_count = (uint16_t)c->cq_max_count;
	cq->moderate_us = (uint16_t)c->cq_period;
}

enum bsn_command_status cx_create_cq(struct cx_hca *hca, struct cx_mailbox *box)
{
	enum bsn_command_status status;
	struct cx_cq_attr attr;
	struct bsn_cqc c;
	uint32_t cqn;

	bsn_cqc_decode(&c, box->in + BSN_CREATE_CQ_CTX_OFFSET);
	box->why = check_cqc(&c);
	if (box->why)
		return BSN_COMMAND_BAD_PARAMETER;
	if (!has_uar(box, c.uar_page))
		return cx_refuse_command(box, BSN_COMMAND_BAD_RESOURCE, "no such UAR page");
	status = fill_cq(hca, box, &c, &attr);
	if (status)
		return status;
	if (cx_cq_make(hca, &attr, &cqn))
		return cx_refuse_command(box, BSN_COMMAND_NO_RESOURCES, "no more CQs");
	moderate(hca, cqn, &c);
	cx_answer_made(box, cqn);
	return BSN_COMMAND_OK;
}

enum bsn_command_status cx_modify_cq(struct cx_hca *hca, struct cx_mailbox *box)
{
	struct cx_cq *cq = cx_cq_find_own(hca, cx_meant(box));
	struct bsn_cmd_select select;
	struct bsn_cqc c;

	if (!cq)
		return cx_refuse_command(box, BSN_COMMAND_BAD_RESOURCE, "no such CQ");
	if (box->head.op_mod)
		return cx_refuse_command(box, BSN_COMMAND_BAD_PARAMETER,
					 "commands here do not resize a CQ");
	bsn_cmd_select_decode(&select, box->in + BSN_MODIFY_CQ_SELECT_OFFSET);
	if (select.modify_field_select &
	    ~(uint32_t)(BSN_CQ_CHANGE_PERIOD | BSN_CQ_CHANGE_COUNT | BSN_CQ_CHANGE_OVERRUN))
		return cx_refuse_command(box, BSN_COMMAND_BAD_PARAMETER,
					 "modify_field_select has a field that cannot be changed");
	bsn_cqc_decode(&c, box->in + BSN_CREATE_CQ_CTX_OFFSET);
	if (select.modify_field_select & BSN_CQ_CHANGE_PERIOD)
		cq->moderate_us = (uint16_t)c.cq_period;
	if (select.modify_field_select & BSN_CQ_CHANGE_COUNT)
		cq->moderate_count = (uint16_t)c.cq_max_count;
	if (select.modify_field_select & BSN_CQ_CHANGE_OVERRUN)
		cq->attr.ignore_overrun = c.oi;
	return BSN_COMMAND_OK;
}

/* mlx5_ifc.h cqc.status, cqc.st */
enum { CQ_WORKS = 0, CQ_OVERRUN = 9, CQ_ARMED_SOLICITED = 6, CQ_ARMED = 9, CQ_FIRED = 10 };

static uint32_t arm_state_of(const struct cx_cq *cq)
{
	return cq->arm == CX_ARM_ANY         ? CQ_ARMED
	       : cq->arm == CX_ARM_SOLICITED ? CQ_ARMED_SOLICITED
	       : cq->fired_sn >= 0           ? CQ_FIRED
					     : 0;
}

enum bsn_command_status cx_query_cq(struct cx_hca *hca, struct cx_mailbox *box)
{
	const struct cx_cq *cq = cx_cq_find_own(hca, cx_meant(box));
	struct bsn_cqc c;

	if (!cq)
		return cx_refuse_command(box, BSN_COMMAND_BAD_RESOURCE, "no such CQ");
	c = (struct bsn_cqc){
		.status = cq->failed ? CQ_OVERRUN : CQ_WORKS,
		.dbr_umem_valid = !!cq->attr.db_umem,
		.cqe_sz = cq->attr.cqe_size == BSN_CQE128_SIZE,
		.oi = cq->attr.ignore_overrun,
		.cqe_comp_en = cq->attr.compresses,
		.mini_cqe_res_format = cq->attr.mini_format,
		.st = arm_state_of(cq),
		.dbr_umem_id = cq->attr.db_umem,
		.log_cq_size = (uint32_t)__builtin_ctz(cq->attr.entries),
		.cq_period = cq->moderate_us,
		.cq_max_count = cq->moderate_count,
		.producer_counter = cq->producer & 0xffffff,
	};
	bsn_cqc_encode(box->out + BSN_CREATE_CQ_CTX_OFFSET, &c);
	return BSN_COMMAND_OK;
}

/* -- queue pairs ------------------------------------------------------------------------------- */

struct context {
	struct bsn_qpc_shape shape;
	struct bsn_qpc_work work;
	struct bsn_qpc_record record;
};

/* A DCI has streams if it asks for several, or if several may fail. */
static bool has_streams(const struct context *c)
{
	return c->work.log_num_dci_stream_channels || c->work.log_num_dci_errored_streams;
}

static const char *check_qpc(const struct context *c)
{
	if (c->shape.st != BSN_QPC_ST_RC && c->shape.st != BSN_QPC_ST_DCI)
		return "commands create only RC queue pairs and DC initiators";
	if (c->shape.st != BSN_QPC_ST_DCI && (c->shape.full_handshake || has_streams(c)))
		return "only DC initiators have streams and handshakes";
	if (c->shape.rdma_wr_disabled)
		return "DC initiators without RDMA WRITEs are not modelled";
	if (c->work.log_num_dci_stream_channels > CX_DC_STREAMS_LOG2)
		return "more streams than log_max_dci_stream_channels";
	if (c->shape.wq_signature || c->shape.offload_type || c->shape.rlky)
		return "signed WQEs, offloads and the reserved lkey are not modelled";
	if (c->shape.ts_format > 1)
		return "the clock is free-running, not real-time";
	if (c->work.page_offset)
		return "rings in a umem must be aligned to a page";
	if (c->work.cd_master || c->work.cd_slave_send || c->work.cd_slave_receive)
		return "queues that wait for others are not modelled";
	if (c->work.rq_type != RQ_OWN && c->work.rq_type != RQ_SRQ && c->work.rq_type != RQ_NONE)
		return "unknown type of receive queue";
	return NULL;
}

static bool has_srq(struct cx_hca *hca, uint32_t number)
{
	const struct cx_srq *srq = cx_srq_find_own(hca, number);

	return srq && !srq->attr.xrcdn;
}

static const char *check_parts(struct cx_hca *hca, const struct cx_mailbox *box,
			       const struct context *c)
{
	if (!cx_pd_find_own(hca, c->shape.pd))
		return "no such protection domain";
	if (!cx_cq_find_own(hca, c->work.cqn_snd) || !cx_cq_find_own(hca, c->work.cqn_rcv))
		return "no such CQ";
	if (c->work.rq_type == RQ_SRQ && !has_srq(hca, c->work.srqn_rmpn_xrqn))
		return "no such SRQ, or one of XRC";
	if (!has_uar(box, c->shape.uar_page))
		return "no such UAR page";
	return NULL;
}

/* Data may come in CQEs if the field has the CQ's size: 32 bytes of 64, 64 of 128. */
static const char *check_scatter(struct cx_hca *hca, const struct context *c)
{
	const uint32_t requester =
		cx_cq_find_own(hca, c->work.cqn_snd)->attr.cqe_size == BSN_CQE128_SIZE ? 0x22
										       : 0x11;
	const uint32_t responder =
		cx_cq_find_own(hca, c->work.cqn_rcv)->attr.cqe_size == BSN_CQE128_SIZE ? 2 : 1;

	if ((c->record.cs_req && c->record.cs_req != requester) ||
	    (c->record.cs_res && c->record.cs_res != responder))
		return "cs_req and cs_res must be the CQEs' size";
	return NULL;
}

static enum bsn_command_status fill_qp(struct cx_hca *hca, struct cx_mailbox *box,
				       const struct context *c, struct cx_qp_attr *attr)
{
	const struct bsn_cmd_ring ring = ring_of(box, BSN_CREATE_QP_RING_OFFSET);
	enum bsn_command_status status;
	struct cx_place place;

	*attr = (struct cx_qp_attr){
		.type = IBV_QPT_RC,
		.pdn = c->shape.pd,
		.send_cqn = c->work.cqn_snd,
		.recv_cqn = c->work.cqn_rcv,
		.srqn = c->work.rq_type == RQ_SRQ ? c->work.srqn_rmpn_xrqn : 0,
		.uidx = c->shape.user_index,
		.uar_page = c->shape.uar_page,
		.scatter_to_cqe = c->record.cs_res,
		.scatter_to_cqe_requester = c->record.cs_req,
		.ring_umem = ring.umem_id,
		.db_umem = c->record.dbr_umem_id,
	};
	if (c->shape.st == BSN_QPC_ST_DCI) { /* it has no receive queue, whatever the field says */
		attr->type = IBV_QPT_DRIVER;
		attr->dc = CX_DC_INITIATOR;
		attr->full_handshake = c->shape.full_handshake;
		attr->has_streams = has_streams(c);
		attr->log_streams = (uint8_t)c->work.log_num_dci_stream_channels;
		attr->log_errored_streams = (uint8_t)c->work.log_num_dci_errored_streams;
		attr->srqn = 0;
	} else if (c->work.rq_type == RQ_OWN) {
		attr->rq_count = 1u << c->shape.log_rq_size;
		attr->rq_stride_bytes = RQ_STRIDE_UNIT << c->shape.log_rq_stride;
	}
	if (!c->shape.no_sq)
		attr->sq_count_bb = 1u << c->shape.log_sq_size;
	place = (struct cx_place){ ring.umem_id, ring.umem_offset,
				   (uint64_t)attr->rq_count * attr->rq_stride_bytes +
					   (uint64_t)attr->sq_count_bb * BSN_BB_SIZE,
				   CX_RING_ALIGN_BYTES, false };
	status = cx_find_place(hca, box, &place, &attr->buf);
	if (status)
		return status;
	place = (struct cx_place){ c->record.dbr_umem_id, c->work.dbr_addr, BSN_DBR_SIZE,
				   BSN_DBR_SIZE, false };
	return cx_find_place(hca, box, &place, &attr->db);
}

enum bsn_command_status cx_create_qp(struct cx_hca *hca, struct cx_mailbox *box)
{
	const uint8_t *qpc = box->in + BSN_CREATE_QP_CTX_OFFSET;
	enum bsn_command_status status;
	struct cx_qp_attr attr;
	struct context c;
	uint32_t qpn;

	bsn_qpc_shape_decode(&c.shape, qpc);
	bsn_qpc_work_decode(&c.work, qpc + BSN_QPC_WORK_OFFSET);
	bsn_qpc_record_decode(&c.record, qpc + BSN_QPC_RECORD_OFFSET);
	box->why = check_qpc(&c);
	if (!box->why && has_streams(&c) && !cx_has_dci_streams(&hca->config))
		box->why = "this device has no streams";
	if (!box->why && c.work.log_num_dci_errored_streams > cx_dci_errored_log2(&hca->config))
		box->why = "more streams than log_max_dci_errored_streams";
	if (box->why)
		return BSN_COMMAND_BAD_PARAMETER;
	box->why = check_parts(hca, box, &c);
	if (box->why)
		return BSN_COMMAND_BAD_RESOURCE;
	box->why = check_scatter(hca, &c);
	if (box->why)
		return BSN_COMMAND_BAD_PARAMETER;
	status = fill_qp(hca, box, &c, &attr);
	if (status)
		return status;
	if (cx_qp_make(hca, &attr, &qpn))
		return cx_refuse_command(box, BSN_COMMAND_NO_RESOURCES, "no more queue pairs");
	cx_answer_made(box, qpn);
	return BSN_COMMAND_OK;
}
