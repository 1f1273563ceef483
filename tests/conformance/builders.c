/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ways of posting: both interfaces of libmlx5, and Bunsen's. Those of Bunsen that do not take
 * every request leave the others to bsn_post().
 */
#include <infiniband/mlx5dv.h>

#include "party.h"

/* -- libmlx5 ----------------------------------------------------------------------------------- */

static const uint8_t verbs_opcode[] = {
	[BSN_OPCODE_SEND] = IBV_WR_SEND,
	[BSN_OPCODE_SEND_IMM] = IBV_WR_SEND_WITH_IMM,
	[BSN_OPCODE_SEND_INVAL] = IBV_WR_SEND_WITH_INV,
	[BSN_OPCODE_RDMA_WRITE] = IBV_WR_RDMA_WRITE,
	[BSN_OPCODE_RDMA_WRITE_IMM] = IBV_WR_RDMA_WRITE_WITH_IMM,
	[BSN_OPCODE_RDMA_READ] = IBV_WR_RDMA_READ,
	[BSN_OPCODE_ATOMIC_CS] = IBV_WR_ATOMIC_CMP_AND_SWP,
	[BSN_OPCODE_ATOMIC_FA] = IBV_WR_ATOMIC_FETCH_AND_ADD,
};

static unsigned verbs_flags(uint32_t flags)
{
	return (flags & BSN_F_SIGNALED ? IBV_SEND_SIGNALED : 0u) |
	       (flags & BSN_F_SOLICITED ? IBV_SEND_SOLICITED : 0u) |
	       (flags & BSN_F_FENCE ? IBV_SEND_FENCE : 0u) |
	       (flags & BSN_F_INLINE ? IBV_SEND_INLINE : 0u);
}

static void fill_verbs(const struct party *p, const struct bsn_wr *wr, struct ibv_send_wr *verbs)
{
	*verbs = (struct ibv_send_wr){
		.wr_id = wr->id,
		.sg_list = (struct ibv_sge *)(uintptr_t)wr->sge,
		.num_sge = (int)wr->sge_count,
		.opcode = verbs_opcode[wr->opcode],
		.send_flags = verbs_flags(wr->flags),
	};
	if (wr->opcode == BSN_OPCODE_SEND_INVAL)
		verbs->invalidate_rkey = wr->imm;
	else
		verbs->imm_data = htobe32(wr->imm);
	if (p->bench->type == BSN_QP_UD) {
		verbs->wr.ud.ah = p->ah;
		verbs->wr.ud.remote_qpn = p->to->qpn;
		verbs->wr.ud.remote_qkey = 0x11111111;
	} else if (is_atomic(wr->opcode)) {
		verbs->wr.atomic.remote_addr = wr->remote.addr;
		verbs->wr.atomic.rkey = wr->remote.rkey;
		verbs->wr.atomic.compare_add =
			wr->opcode == BSN_OPCODE_ATOMIC_CS ? wr->compare : wr->swap_add;
		verbs->wr.atomic.swap = wr->swap_add;
	} else {
		verbs->wr.rdma.remote_addr = wr->remote.addr;
		verbs->wr.rdma.rkey = wr->remote.rkey;
	}
}

static int post_send(struct party *p, const struct request *r, unsigned n)
{
	struct ibv_send_wr *bad, wr[DEPTH];

	for (unsigned i = 0; i < n; i++) {
		fill_verbs(p, &r[i].wr, &wr[i]);
		wr[i].next = i + 1 < n ? &wr[i + 1] : NULL;
	}
	return -ibv_post_send(p->verbs, wr, &bad);
}

static void start_wr(struct ibv_qp_ex *qp, const struct bsn_wr *wr)
{
	const uint32_t rkey = wr->remote.rkey;
	const uint64_t addr = wr->remote.addr;

	if (wr->opcode == BSN_OPCODE_SEND)
		ibv_wr_send(qp);
	else if (wr->opcode == BSN_OPCODE_SEND_IMM)
		ibv_wr_send_imm(qp, htobe32(wr->imm));
	else if (wr->opcode == BSN_OPCODE_SEND_INVAL)
		ibv_wr_send_inv(qp, wr->imm);
	else if (wr->opcode == BSN_OPCODE_RDMA_WRITE)
		ibv_wr_rdma_write(qp, rkey, addr);
	else if (wr->opcode == BSN_OPCODE_RDMA_WRITE_IMM)
		ibv_wr_rdma_write_imm(qp, rkey, addr, htobe32(wr->imm));
	else if (wr->opcode == BSN_OPCODE_RDMA_READ)
		ibv_wr_rdma_read(qp, rkey, addr);
	else if (wr->opcode == BSN_OPCODE_ATOMIC_CS)
		ibv_wr_atomic_cmp_swp(qp, rkey, addr, wr->compare, wr->swap_add);
	else
		ibv_wr_atomic_fetch_add(qp, rkey, addr, wr->swap_add);
}

static void set_wr_data(struct ibv_qp_ex *qp, const struct bsn_wr *wr)
{
	struct ibv_data_buf buf[MAX_SGE];

	for (unsigned i = 0; i < wr->sge_count; i++)
		buf[i] = (struct ibv_data_buf){ (void *)(uintptr_t)wr->sge[i].addr,
						wr->sge[i].length };
	if ((wr->flags & BSN_F_INLINE) && wr->sge_count == 1)
		ibv_wr_set_inline_data(qp, buf[0].addr, buf[0].length);
	else if (wr->flags & BSN_F_INLINE)
		ibv_wr_set_inline_data_list(qp, wr->sge_count, buf);
	else if (wr->sge_count == 1)
		ibv_wr_set_sge(qp, wr->sge->lkey, wr->sge->addr, wr->sge->length);
	else
		ibv_wr_set_sge_list(qp, wr->sge_count, (struct ibv_sge *)(uintptr_t)wr->sge);
}

static void set_target(struct mlx5dv_qp_ex *qp, const struct party *p)
{
	if (p->stream)
		mlx5dv_wr_set_dc_addr_stream(qp, p->ah, p->to->qpn, DC_KEY, p->stream);
	else
		mlx5dv_wr_set_dc_addr(qp, p->ah, p->to->qpn, DC_KEY);
}

static int post_wr(struct party *p, const struct request *r, unsigned n)
{
	struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(p->verbs);

	ibv_wr_start(qp);
	for (unsigned i = 0; i < n; i++) {
		qp->wr_id = r[i].wr.id;
		qp->wr_flags = verbs_flags(r[i].wr.flags) & ~(unsigned)IBV_SEND_INLINE;
		start_wr(qp, &r[i].wr);
		if (p->bench->type == BSN_QP_UD)
			ibv_wr_set_ud_addr(qp, p->ah, p->to->qpn, 0x11111111);
		if (p->bench->type == BSN_QP_DC)
			set_target(mlx5dv_qp_ex_from_ibv_qp_ex(qp), p);
		if (p->bench->type == BSN_QP_XRC)
			ibv_wr_set_xrc_srqn(qp, p->to->qpn);
		set_wr_data(qp, &r[i].wr);
	}
	return -ibv_wr_complete(qp);
}

/* -- Bunsen ------------------------------------------------------------------------------------ */

typedef int post_one(struct party *p, const struct request *r, unsigned flags);

/* Posts each request by a call of its own; the last call rings. */
static int post_each(struct party *p, const struct request *r, unsigned n, post_one *post)
{
	int err = 0;

	for (unsigned i = 0; i < n && !err; i++)
		err = post(p, &r[i], r[i].wr.flags | (i + 1 == n ? BSN_F_RING : 0u));
	return err;
}

static int any(struct party *p, const struct request *r, unsigned flags)
{
	struct bsn_wr wr = r->wr;

	wr.flags = flags;
	return bsn_post(p->ep, &wr);
}

static int post_any(struct party *p, const struct request *r, unsigned n)
{
	return post_each(p, r, n, any);
}

static int inline_call(struct party *p, const struct request *r, unsigned flags)
{
	const struct bsn_wr *wr = &r->wr;
	const void *data = (const void *)(uintptr_t)wr->sge->addr;
	const unsigned rest = flags & ~(unsigned)BSN_F_INLINE;

	if (wr->opcode == BSN_OPCODE_RDMA_WRITE)
		return bsn_write_inline(p->ep, data, wr->sge->length, &wr->remote, wr->id, rest);
	if (wr->opcode == BSN_OPCODE_SEND)
		return bsn_send_inline(p->ep, data, wr->sge->length, wr->id, rest);
	return any(p, r, flags);
}

/* Posts by the function that is named after the operation. */
static int call(struct party *p, const struct request *r, unsigned flags)
{
	const struct bsn_wr *wr = &r->wr;
	const struct bsn_remote *to = &wr->remote;

	if (wr->sge_count != 1)
		return any(p, r, flags);
	if (flags & BSN_F_INLINE)
		return inline_call(p, r, flags);
	switch (wr->opcode) {
	case BSN_OPCODE_SEND:
		return bsn_send(p->ep, wr->sge, wr->id, flags);
	case BSN_OPCODE_SEND_IMM:
		return bsn_send_imm(p->ep, wr->sge, wr->imm, wr->id, flags);
	case BSN_OPCODE_SEND_INVAL:
		return bsn_send_inval(p->ep, wr->sge, wr->imm, wr->id, flags);
	case BSN_OPCODE_RDMA_WRITE:
		return bsn_write(p->ep, wr->sge, to, wr->id, flags);
	case BSN_OPCODE_RDMA_WRITE_IMM:
		return bsn_write_imm(p->ep, wr->sge, to, wr->imm, wr->id, flags);
	case BSN_OPCODE_RDMA_READ:
		return bsn_read(p->ep, wr->sge, to, wr->id, flags);
	case BSN_OPCODE_ATOMIC_CS:
		return bsn_cmp_swap(p->ep, wr->sge, to, wr->compare, wr->swap_add, wr->id, flags);
	default:
		assert_int_equal(wr->opcode, BSN_OPCODE_ATOMIC_FA);
		return bsn_fetch_add(p->ep, wr->sge, to, wr->swap_add, wr->id, flags);
	}
}

static int post_call(struct party *p, const struct request *r, unsigned n)
{
	return post_each(p, r, n, call);
}

/* Whether a request's body fits into one block: see bsn_prepare(). */
static bool fits_block(const struct request *r)
{
	const struct bsn_wqe_op *op = bsn_wqe_op_find(r->wr.opcode);
	unsigned bytes = BSN_CTRL_SIZE + (op->has_raddr ? BSN_RADDR_SIZE : 0) +
			 (op->has_atomic ? BSN_ATOMIC_CS_SIZE : 0);

	if ((r->wr.flags & BSN_F_INLINE) && r->bytes)
		bytes += BSN_INLINE_HDR_SIZE + r->bytes;
	for (unsigned i = 0; i < r->wr.sge_count && !(r->wr.flags & BSN_F_INLINE); i++)
		bytes += r->sge[i].length ? BSN_DATA_SIZE : 0;
	return bytes <= BSN_BB_SIZE && r->wr.sge_count <= BSN_PREPARED_SGE;
}

static int prepared(struct party *p, const struct request *r, unsigned flags)
{
	struct bsn_prepared prep;
	int err;

	if (!fits_block(r))
		return any(p, r, flags);
	err = bsn_prepare(p->ep, &r->wr, &prep);
	return err ? err
		   : bsn_post_prepared(p->ep, &prep, r->wr.id, flags & ~(unsigned)BSN_F_INLINE);
}

static int post_prepared(struct party *p, const struct request *r, unsigned n)
{
	return post_each(p, r, n, prepared);
}

/* Appends the requests, and publishes them by bsn_ring(). */
static int post_and_ring(struct party *p, const struct request *r, unsigned n)
{
	int err = 0;

	for (unsigned i = 0; i < n && !err; i++)
		err = call(p, &r[i], r[i].wr.flags);
	return err ? err : bsn_ring(p->ep);
}

const struct builder builders[] = {
	{ .name = "ibv_post_send", .post = post_send },
	{ .name = "ibv_wr_*", .has_send_ops = true, .post = post_wr },
	{ .name = "bsn_post", .is_bunsen = true, .post = post_any },
	{ .name = "bsn_write and its like", .is_bunsen = true, .post = post_call },
	{ "bsn_post_prepared", .is_bunsen = true, .has_wide_stores = true, .post = post_prepared },
	{ .name = "bsn_ring", .is_bunsen = true, .post = post_and_ring },
};
const unsigned builder_count = sizeof(builders) / sizeof(builders[0]);
