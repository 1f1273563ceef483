/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Receivers that commands create: memory pools of receives (RMP), which are shared receive queues,
 * and DC targets. Source of the fields: mlx5_ifc.h.
 */
#include "firmware.h"

#include "../events.h"
#include "../rq.h"
#include "bsn_db.h"
#include "datasheet.h"

/* -- memory pools of receives ------------------------------------------------------------------ */

enum { RMPC_READY = 1 };

struct rmp {
	struct bsn_rmpc head;
	struct bsn_cmd_wq wq;
};

static const char *check_rmp(const struct rmp *r)
{
	if (r->head.state != RMPC_READY)
		return "an RMP must be created ready";
	if (r->wq.wq_type != BSN_WQ_LINKED && r->wq.wq_type != BSN_WQ_CYCLIC)
		return "striding receives are not modelled";
	if (r->head.basic_cyclic_rcv_wqe)
		return "receives must have a link, even in a cyclic ring";
	if (r->wq.wq_signature || r->wq.cd_slave)
		return "signed WQEs, and queues that wait for others are not modelled";
	if (r->wq.lwm)
		return "an RMP is created without a limit: MODIFY_RMP sets it";
	if (r->wq.page_offset)
		return "a ring in a umem must be aligned to a page";
	if ((UINT64_C(1) << r->wq.log_wq_sz) > CX_MAX_SRQ_WR + 1u)
		return "more receives than log_max_srq_sz";
	if (r->wq.log_wq_stride < 5 || (1u << r->wq.log_wq_stride) > CX_MAX_RQ_DESC_BYTES)
		return "a receive must have 32 bytes to max_wqe_sz_rq";
	return NULL;
}

static enum bsn_command_status fill_srq(struct cx_hca *hca, struct cx_mailbox *box,
					const struct rmp *r, struct cx_srq_attr *attr)
{
	const uint32_t count = 1u << r->wq.log_wq_sz, stride = 1u << r->wq.log_wq_stride;
	const struct cx_place ring = { r->wq.wq_umem_id, 0, (uint64_t)count * stride,
				       CX_RING_ALIGN_BYTES, false };
	const struct cx_place record = { r->wq.dbr_umem_id, r->wq.dbr_addr, BSN_DBR_SIZE,
					 BSN_DBR_SIZE, false };
	enum bsn_command_status status;

	*attr = (struct cx_srq_attr){
		.pdn = r->wq.pd,
		.count = count,
		.stride_bytes = stride,
		.max_sge = stride / BSN_DATA_SIZE - 1,
		.is_cyclic = r->wq.wq_type == BSN_WQ_CYCLIC,
		.ring_umem = r->wq.wq_umem_id,
		.db_umem = r->wq.dbr_umem_id,
	};
	status = cx_find_place(hca, box, &ring, &attr->buf);
	return status ? status : cx_find_place(hca, box, &record, &attr->db);
}

enum bsn_command_status cx_create_rmp(struct cx_hca *hca, struct cx_mailbox *box)
{
	const uint8_t *rmpc = box->in + BSN_CREATE_RMP_CTX_OFFSET;
	enum bsn_command_status status;
	struct cx_srq_attr attr;
	struct rmp r;
	uint32_t srqn;

	bsn_rmpc_decode(&r.head, rmpc);
	bsn_cmd_wq_decode(&r.wq, rmpc + BSN_RMPC_WQ_OFFSET);
	box->why = check_rmp(&r);
	if (box->why)
		return BSN_COMMAND_BAD_PARAMETER;
	if (!cx_pd_find_own(hca, r.wq.pd))
		return cx_refuse_command(box, BSN_COMMAND_BAD_RESOURCE,
					 "no such protection domain");
	status = fill_srq(hca, box, &r, &attr);
	if (status)
		return status;
	if (cx_srq_make(hca, &attr, &srqn))
		return cx_refuse_command(box, BSN_COMMAND_NO_RESOURCES, "no more RMPs");
	cx_answer_made(box, srqn);
	return BSN_COMMAND_OK;
}

enum bsn_command_status cx_query_rmp(struct cx_hca *hca, struct cx_mailbox *box)
{
	const struct cx_srq *srq = cx_srq_find_own(hca, cx_meant(box));
	const struct bsn_rmpc head = { .state = RMPC_READY };
	uint8_t *rmpc = box->out + BSN_CREATE_RMP_CTX_OFFSET;
	struct bsn_cmd_wq wq;

	if (!srq)
		return cx_refuse_command(box, BSN_COMMAND_BAD_RESOURCE, "no such RMP");
	wq = (struct bsn_cmd_wq){
		.wq_type = srq->attr.is_cyclic ? BSN_WQ_CYCLIC : BSN_WQ_LINKED,
		.pd = srq->attr.pdn,
		.lwm = srq->limit,
		.hw_counter = srq->at.taken,
		.log_wq_stride = cx_log2(srq->attr.stride_bytes),
		.log_wq_sz = cx_log2(srq->attr.count),
		.dbr_umem_valid = !!srq->attr.db_umem,
		.wq_umem_valid = !!srq->attr.ring_umem,
		.dbr_umem_id = srq->attr.db_umem,
		.wq_umem_id = srq->attr.ring_umem,
	};
	bsn_rmpc_encode(rmpc, &head);
	bsn_cmd_wq_encode(rmpc + BSN_RMPC_WQ_OFFSET, &wq);
	return BSN_COMMAND_OK;
}

/* mlx5 srq_cmd.c arm_rmp_cmd(), and srq.c mlx5_ib_modify_srq() for the limit. */
static const char *check_rmp_change(const struct cx_mailbox *box, const struct cx_srq *srq,
				    const struct rmp *r)
{
	struct bsn_rmp_select select;

	bsn_rmp_select_decode(&select, box->in + BSN_CMD_OBJECT_OFFSET);
	if (select.rmp_state != RMPC_READY || r->head.state != RMPC_READY)
		return "an RMP cannot leave the state ready";
	if (!select.lwm)
		return "only the limit of an RMP can be changed";
	return r->wq.lwm >= srq->attr.count ? "the limit must be below the number of receives"
					    : NULL;
}

enum bsn_command_status cx_modify_rmp(struct cx_hca *hca, struct cx_mailbox *box)
{
	struct cx_srq *srq = cx_srq_find_own(hca, cx_meant(box));
	const uint8_t *rmpc = box->in + BSN_CREATE_RMP_CTX_OFFSET;
	struct rmp r;

	if (!srq)
		return cx_refuse_command(box, BSN_COMMAND_BAD_RESOURCE, "no such RMP");
	bsn_rmpc_decode(&r.head, rmpc);
	bsn_cmd_wq_decode(&r.wq, rmpc + BSN_RMPC_WQ_OFFSET);
	box->why = check_rmp_change(box, srq, &r);
	if (box->why)
		return BSN_COMMAND_BAD_PARAMETER;
	srq->limit = r.wq.lwm;
	cx_srq_check_limit(hca, srq);
	return BSN_COMMAND_OK;
}

/* -- targets ----------------------------------------------------------------------------------- */

enum { DCT_WORKS = 0, DCT_DRAINED = 1, CS_RES_64_BYTES = 2 };

static const char *check_dctc(const struct cx_config *config, const struct bsn_dctc *c)
{
	struct cx_gid own;

	if (c->offload_type || c->rlky)
		return "offloads and the reserved lkey are not modelled";
	if (c->cs_res && c->cs_res != CS_RES_64_BYTES)
		return "cs_res of a target needs CQEs of 128 bytes";
	if (c->mtu < IBV_MTU_256 || c->mtu > IBV_MTU_4096)
		return "no such MTU";
	if (c->port != CX_PORTS)
		return "no such port";
	if (c->pkey_index >= cx_pkey_table_len(config))
		return "no P_Key is at pkey_index";
	return cx_gid_get(config, c->my_addr_index, &own) ? "no GID is at my_addr_index" : NULL;
}

static const char *check_dct_parts(struct cx_hca *hca, const struct bsn_dctc *c)
{
	const struct cx_srq *srq = cx_srq_find_own(hca, c->srqn_xrqn);
	const struct cx_cq *cq = cx_cq_find_own(hca, c->cqn);

	if (!cx_pd_find_own(hca, c->pd))
		return "no such protection domain";
	if (c->counter_set_id > CX_PORT_COUNTERS)
		return "no such set of counters";
	if (!cq)
		return "no such CQ";
	if (c->cs_res && cq->attr.cqe_size != 128)
		return "cs_res must be the CQEs' size";
	return srq && !srq->attr.xrcdn ? NULL : "no such SRQ, or one of XRC";
}

static struct cx_qp_attr attr_of(const struct bsn_dctc *c)
{
	return (struct cx_qp_attr){
		.type = IBV_QPT_DRIVER,
		.dc = CX_DC_TARGET,
		.dc_key = c->dc_access_key,
		.full_handshake = c->force_full_handshake,
		.pdn = c->pd,
		.send_cqn = c->cqn,
		.recv_cqn = c->cqn,
		.srqn = c->srqn_xrqn,
		.uidx = c->user_index,
		.scatter_to_cqe = c->cs_res,
	};
}

/* It accepts requests at once: it has no transitions. */
static void open_dct(struct cx_hca *hca, uint32_t dctn, const struct bsn_dctc *c)
{
	struct cx_qp *dct = cx_qp_find_own(hca, dctn);
	const struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.qp_access_flags = (c->rre ? IBV_ACCESS_REMOTE_READ : 0) |
				   (c->rwe ? IBV_ACCESS_REMOTE_WRITE : 0) |
				   (c->rae && c->atomic_mode ? IBV_ACCESS_REMOTE_ATOMIC : 0),
		.pkey_index = (uint16_t)c->pkey_index,
		.port_num = (uint8_t)c->port,
		.path_mtu = (enum ibv_mtu)c->mtu,
		.min_rnr_timer = (uint8_t)c->min_rnr_nak,
		.ah_attr = { .is_global = true,
			     .port_num = (uint8_t)c->port,
			     .grh = { .sgid_index = (uint8_t)c->my_addr_index,
				      .hop_limit = (uint8_t)c->hop_limit,
				      .traffic_class = (uint8_t)c->tclass,
				      .flow_label = c->flow_label } },
	};

	cx_qp_change(hca, dct, &attr,
		     IBV_QP_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			     IBV_QP_PATH_MTU | IBV_QP_MIN_RNR_TIMER | IBV_QP_AV);
	dct->run.counter_set = (uint8_t)c->counter_set_id;
}

enum bsn_command_status cx_create_dct(struct cx_hca *hca, struct cx_mailbox *box)
{
	struct cx_qp_attr attr;
	struct bsn_dctc c;
	uint32_t dctn;

	bsn_dctc_decode(&c, box->in + BSN_CREATE_DCT_CTX_OFFSET);
	box->why = check_dctc(&hca->config, &c);
	if (box->why)
		return BSN_COMMAND_BAD_PARAMETER;
	box->why = check_dct_parts(hca, &c);
	if (box->why)
		return BSN_COMMAND_BAD_RESOURCE;
	attr = attr_of(&c);
	if (cx_qp_make(hca, &attr, &dctn))
		return cx_refuse_command(box, BSN_COMMAND_NO_RESOURCES, "no more targets");
	open_dct(hca, dctn, &c);
	cx_answer_made(box, dctn);
	return BSN_COMMAND_OK;
}

static struct cx_qp *find_target(struct cx_hca *hca, struct cx_mailbox *box)
{
	struct cx_qp *dct = cx_qp_find_own(hca, cx_meant(box));

	if (dct && dct->attr.dc == CX_DC_TARGET)
		return dct;
	box->why = "no such target";
	return NULL;
}

enum bsn_command_status cx_query_dct(struct cx_hca *hca, struct cx_mailbox *box)
{
	const struct cx_qp *dct = find_target(hca, box);
	struct bsn_dctc c;

	if (!dct)
		return BSN_COMMAND_BAD_RESOURCE;
	c = (struct bsn_dctc){
		.state = dct->run.is_drained ? DCT_DRAINED : DCT_WORKS,
		.user_index = dct->attr.uidx,
		.cqn = dct->attr.recv_cqn,
		.counter_set_id = dct->run.counter_set,
		.atomic_mode = !!(dct->mod.qp_access_flags & IBV_ACCESS_REMOTE_ATOMIC),
		.rre = !!(dct->mod.qp_access_flags & IBV_ACCESS_REMOTE_READ),
		.rwe = !!(dct->mod.qp_access_flags & IBV_ACCESS_REMOTE_WRITE),
		.rae = !!(dct->mod.qp_access_flags & IBV_ACCESS_REMOTE_ATOMIC),
		.force_full_handshake = dct->attr.full_handshake,
		.cs_res = dct->attr.scatter_to_cqe ? CS_RES_64_BYTES : 0,
		.min_rnr_nak = dct->mod.min_rnr_timer,
		.srqn_xrqn = dct->attr.srqn,
		.pd = dct->attr.pdn,
		.tclass = dct->mod.ah_attr.grh.traffic_class,
		.flow_label = dct->mod.ah_attr.grh.flow_label,
		.dc_access_key = dct->attr.dc_key,
		.mtu = dct->mod.path_mtu,
		.port = dct->mod.port_num,
		.pkey_index = dct->mod.pkey_index,
		.my_addr_index = dct->mod.ah_attr.grh.sgid_index,
		.hop_limit = dct->mod.ah_attr.grh.hop_limit,
		.dc_access_key_violation_count = dct->run.key_violations,
	};
	bsn_dctc_encode(box->out + BSN_CREATE_DCT_CTX_OFFSET, &c);
	return BSN_COMMAND_OK;
}

/*
 * From here on the target does not answer. After the last acknowledgement it is as if it were gone.
 */
enum bsn_command_status cx_drain_dct(struct cx_hca *hca, struct cx_mailbox *box)
{
	struct cx_qp *dct = find_target(hca, box);

	if (!dct)
		return BSN_COMMAND_BAD_RESOURCE;
	if (dct->run.is_drained)
		return cx_refuse_command(box, BSN_COMMAND_BAD_RESOURCE_STATE, "it is drained");
	dct->run.is_drained = true;
	cx_trace(hca, "dc: DCT %#x drained", dct->head.number);
	cx_event_firmware(hca, dct, BSN_EVENT_DCT_DRAINED);
	return BSN_COMMAND_OK;
}

enum bsn_command_status cx_arm_dct(struct cx_hca *hca, struct cx_mailbox *box)
{
	struct cx_qp *dct = find_target(hca, box);

	if (!dct)
		return BSN_COMMAND_BAD_RESOURCE;
	dct->key_armed = true;
	return BSN_COMMAND_OK;
}
