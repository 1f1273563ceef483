/* SPDX-License-Identifier: BSD-2-Clause */
#include "posts.h"

static int post_atomic(struct bsn_ep *ep, const struct bsn_wr *wr)
{
	if (wr->opcode == BSN_OPCODE_ATOMIC_FA)
		return bsn_fetch_add(ep, wr->sge, &wr->remote, wr->swap_add, wr->id, wr->flags);
	return bsn_cmp_swap(ep, wr->sge, &wr->remote, wr->compare, wr->swap_add, wr->id, wr->flags);
}

/* The flags are known to the compiler where the caller's are a constant. */
BSN_ALWAYS_INLINE int post_one(struct bsn_ep *ep, const struct bsn_wr *wr, unsigned flags)
{
	switch (wr->opcode) {
	case BSN_OPCODE_SEND:
		return bsn_send(ep, wr->sge, wr->id, flags);
	case BSN_OPCODE_SEND_IMM:
		return bsn_send_imm(ep, wr->sge, wr->imm, wr->id, flags);
	case BSN_OPCODE_SEND_INVAL:
		return bsn_send_inval(ep, wr->sge, wr->imm, wr->id, flags);
	case BSN_OPCODE_RDMA_WRITE:
		return bsn_write(ep, wr->sge, &wr->remote, wr->id, flags);
	case BSN_OPCODE_RDMA_WRITE_IMM:
		return bsn_write_imm(ep, wr->sge, &wr->remote, wr->imm, wr->id, flags);
	case BSN_OPCODE_RDMA_READ:
		return bsn_read(ep, wr->sge, &wr->remote, wr->id, flags);
	default:
		return POST_HAS_NO_WAY;
	}
}

BSN_ALWAYS_INLINE int post_inline(struct bsn_ep *ep, const struct bsn_wr *wr, unsigned flags)
{
	const void *data = (const void *)(uintptr_t)wr->sge->addr;
	const uint32_t length = wr->sge->length;

	switch (wr->opcode) {
	case BSN_OPCODE_SEND:
		return bsn_send_inline(ep, data, length, wr->id, flags);
	case BSN_OPCODE_SEND_IMM:
		return bsn_send_imm_inline(ep, data, length, wr->imm, wr->id, flags);
	case BSN_OPCODE_RDMA_WRITE:
		return bsn_write_inline(ep, data, length, &wr->remote, wr->id, flags);
	case BSN_OPCODE_RDMA_WRITE_IMM:
		return bsn_write_imm_inline(ep, data, length, &wr->remote, wr->imm, wr->id, flags);
	default:
		return POST_HAS_NO_WAY;
	}
}

BSN_ALWAYS_INLINE int post_list(struct bsn_ep *ep, const struct bsn_wr *wr, unsigned count)
{
	switch (wr->opcode) {
	case BSN_OPCODE_SEND:
		return bsn_send_sgl(ep, wr->sge, count, wr->id, wr->flags);
	case BSN_OPCODE_RDMA_WRITE:
		return bsn_write_sgl(ep, wr->sge, count, &wr->remote, wr->id, wr->flags);
	case BSN_OPCODE_RDMA_READ:
		return bsn_read_sgl(ep, wr->sge, count, &wr->remote, wr->id, wr->flags);
	default:
		return POST_HAS_NO_WAY;
	}
}

static int post_call(struct bsn_ep *ep, const struct bsn_wr *wr)
{
	const unsigned often = BSN_F_SIGNALED | BSN_F_RING;

	if (wr->opcode == BSN_OPCODE_ATOMIC_FA || wr->opcode == BSN_OPCODE_ATOMIC_CS)
		return wr->sge_count == 1 ? post_atomic(ep, wr) : POST_HAS_NO_WAY;
	switch (wr->sge_count) {
	case 1:
		if (wr->flags == often)
			return post_one(ep, wr, often);
		if (wr->flags == (often | BSN_F_INLINE))
			return post_inline(ep, wr, often);
		if (wr->flags & BSN_F_INLINE && !(wr->id & 1)) /* the flag says the same */
			return post_inline(ep, wr, wr->flags & ~(unsigned)BSN_F_INLINE);
		return post_one(ep, wr, wr->flags);
	case 2:
		return post_list(ep, wr, 2);
	case 3:
		return post_list(ep, wr, 3);
	case 4:
		return post_list(ep, wr, 4);
	default:
		return post_list(ep, wr, wr->sge_count);
	}
}

static int post_prepared(struct bsn_ep *ep, const struct bsn_wr *wr)
{
	struct bsn_prepared p;
	const int err = bsn_prepare(ep, wr, &p);

	if (err == -EMSGSIZE)
		return POST_HAS_NO_WAY;
	return err ? err : bsn_post_prepared(ep, &p, wr->id, wr->flags & ~(unsigned)BSN_F_INLINE);
}

int post_request(struct bsn_ep *ep, const struct bsn_wr *wr, enum post_way way)
{
	switch (way) {
	case POST_CALL:
		return post_call(ep, wr);
	case POST_PREPARED:
		return post_prepared(ep, wr);
	default:
		return bsn_post(ep, wr);
	}
}
