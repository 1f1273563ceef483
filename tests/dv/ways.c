/* SPDX-License-Identifier: BSD-2-Clause */
/* The ways to post a request: each function that can, by what its compiler knows. */
#include "requests.h"

int post_long(struct bsn_ep *ep, const struct bsn_wr *wr)
{
	return bsn_post(ep, wr);
}

int post_short_inline(struct bsn_ep *ep, const struct bsn_wr *wr, unsigned flags)
{
	const void *data = (const void *)(uintptr_t)wr->sge->addr;
	const uint32_t length = wr->sge->length;

	switch (wr->opcode) {
	case BSN_OPCODE_RDMA_WRITE:
		return bsn_write_inline(ep, data, length, &wr->remote, wr->id, flags);
	case BSN_OPCODE_RDMA_WRITE_IMM:
		return bsn_write_imm_inline(ep, data, length, &wr->remote, wr->imm, wr->id, flags);
	case BSN_OPCODE_SEND:
		return bsn_send_inline(ep, data, length, wr->id, flags);
	case BSN_OPCODE_SEND_IMM:
		return bsn_send_imm_inline(ep, data, length, wr->imm, wr->id, flags);
	default:
		return NOT_THIS_WAY;
	}
}

/* A list whose length the compiler knows, or does not. */
#define POST_LIST(count)                                                                           \
	(wr->opcode == BSN_OPCODE_RDMA_WRITE ?                                                     \
		 bsn_write_sgl(ep, wr->sge, count, &wr->remote, wr->id, wr->flags) :               \
	 wr->opcode == BSN_OPCODE_RDMA_READ ?                                                      \
		 bsn_read_sgl(ep, wr->sge, count, &wr->remote, wr->id, wr->flags) :                \
	 wr->opcode == BSN_OPCODE_SEND ? bsn_send_sgl(ep, wr->sge, count, wr->id, wr->flags) :     \
					 NOT_THIS_WAY)

static int post_list(struct bsn_ep *ep, const struct bsn_wr *wr)
{
	switch (wr->sge_count) {
	case 0:
		return POST_LIST(0);
	case 1:
		return POST_LIST(1);
	case 2:
		return POST_LIST(2);
	case 3:
		return POST_LIST(3);
	case 4:
		return POST_LIST(4);
	default:
		return POST_LIST(5 + (wr->sge_count - 5));
	}
}

static int post_list_of_any_length(struct bsn_ep *ep, const struct bsn_wr *wr)
{
	volatile unsigned count = wr->sge_count;

	return POST_LIST(count);
}

/* The function of the operation's own name; with BSN_F_INLINE, too. */
static int post_by_name(struct bsn_ep *ep, const struct bsn_wr *wr)
{
	const struct bsn_sge *sge = wr->sge;
	const struct bsn_remote *r = &wr->remote;
	const unsigned flags = wr->flags;

	if (wr->sge_count != 1)
		return NOT_THIS_WAY;
	switch (wr->opcode) {
	case BSN_OPCODE_RDMA_WRITE:
		return bsn_write(ep, sge, r, wr->id, flags);
	case BSN_OPCODE_RDMA_WRITE_IMM:
		return bsn_write_imm(ep, sge, r, wr->imm, wr->id, flags);
	case BSN_OPCODE_RDMA_READ:
		return bsn_read(ep, sge, r, wr->id, flags);
	case BSN_OPCODE_SEND:
		return bsn_send(ep, sge, wr->id, flags);
	case BSN_OPCODE_SEND_IMM:
		return bsn_send_imm(ep, sge, wr->imm, wr->id, flags);
	case BSN_OPCODE_SEND_INVAL:
		return bsn_send_inval(ep, sge, wr->imm, wr->id, flags);
	case BSN_OPCODE_ATOMIC_FA:
		return bsn_fetch_add(ep, sge, r, wr->swap_add, wr->id, flags);
	case BSN_OPCODE_ATOMIC_CS:
		return bsn_cmp_swap(ep, sge, r, wr->compare, wr->swap_add, wr->id, flags);
	default:
		return NOT_THIS_WAY;
	}
}

/* As above, but inline data by the function that takes no SGE. */
int post_short(struct bsn_ep *ep, const struct bsn_wr *wr)
{
	if (wr->sge_count == 1 && wr->flags & BSN_F_INLINE)
		return post_short_inline(ep, wr, wr->flags & ~(unsigned)BSN_F_INLINE);
	return post_by_name(ep, wr);
}

/* A request of which the compiler knows flags, SGEs, and bytes of inline data. */
#define KNOWN_INLINE(length)                                                                       \
	case length:                                                                               \
		return wr->opcode == BSN_OPCODE_RDMA_WRITE ?                                       \
			       bsn_write_inline(ep, data, length, &wr->remote, wr->id, flags) :    \
		       wr->opcode == BSN_OPCODE_RDMA_WRITE_IMM ?                                   \
			       bsn_write_imm_inline(ep, data, length, &wr->remote, wr->imm,        \
						    wr->id, flags) :                               \
		       wr->opcode == BSN_OPCODE_SEND ?                                             \
			       bsn_send_inline(ep, data, length, wr->id, flags) :                  \
			       NOT_THIS_WAY;

BSN_ALWAYS_INLINE int post_known_inline(struct bsn_ep *ep, const struct bsn_wr *wr, unsigned flags)
{
	const void *data = (const void *)(uintptr_t)wr->sge->addr;

	if (wr->sge_count != 1)
		return NOT_THIS_WAY;
	switch (wr->sge->length) {
		KNOWN_INLINE(7) KNOWN_INLINE(8) KNOWN_INLINE(12) KNOWN_INLINE(13) KNOWN_INLINE(15)
		KNOWN_INLINE(16) KNOWN_INLINE(28) KNOWN_INLINE(29) KNOWN_INLINE(44) KNOWN_INLINE(45)
		KNOWN_INLINE(60) KNOWN_INLINE(61) KNOWN_INLINE(76) KNOWN_INLINE(77)
	}
	return NOT_THIS_WAY;
}

BSN_ALWAYS_INLINE int post_known_of(struct bsn_ep *ep, const struct bsn_wr *wr, unsigned flags)
{
	const struct bsn_remote *r = &wr->remote;

	if (wr->flags & BSN_F_INLINE)
		return post_known_inline(ep, wr, flags);
	if (wr->sge_count < 1 || wr->sge_count > 4)
		return NOT_THIS_WAY;
#define KNOWN_LIST(count)                                                                          \
	(wr->opcode == BSN_OPCODE_RDMA_WRITE ?                                                     \
		 bsn_write_sgl(ep, wr->sge, count, r, wr->id, flags) :                             \
	 wr->opcode == BSN_OPCODE_RDMA_READ ? bsn_read_sgl(ep, wr->sge, count, r, wr->id, flags) : \
	 wr->opcode == BSN_OPCODE_SEND      ? bsn_send_sgl(ep, wr->sge, count, wr->id, flags) :    \
					      NOT_THIS_WAY)
	if (wr->sge_count > 1)
		return wr->sge_count == 2   ? KNOWN_LIST(2)
		       : wr->sge_count == 3 ? KNOWN_LIST(3)
					    : KNOWN_LIST(4);
	switch (wr->opcode) {
	case BSN_OPCODE_RDMA_WRITE_IMM:
		return bsn_write_imm(ep, wr->sge, r, wr->imm, wr->id, flags);
	case BSN_OPCODE_SEND_IMM: return bsn_send_imm(ep, wr->sge, wr->imm, wr->id, flags);
	case BSN_OPCODE_SEND_INVAL: return bsn_send_inval(ep, wr->sge, wr->imm, wr->id, flags);
	case BSN_OPCODE_ATOMIC_FA:
		return bsn_fetch_add(ep, wr->sge, r, wr->swap_add, wr->id, flags);
	case BSN_OPCODE_ATOMIC_CS:
		return bsn_cmp_swap(ep, wr->sge, r, wr->compare, wr->swap_add, wr->id, flags);
	default: return KNOWN_LIST(1);
	}
}

int post_known(struct bsn_ep *ep, const struct bsn_wr *wr)
{
	switch (wr->flags & ~(unsigned)BSN_F_INLINE) {
	case 0: return post_known_of(ep, wr, 0);
	case BSN_F_SIGNALED: return post_known_of(ep, wr, BSN_F_SIGNALED);
	case BSN_F_RING: return post_known_of(ep, wr, BSN_F_RING);
	case BSN_F_RING | BSN_F_SIGNALED: return post_known_of(ep, wr, BSN_F_RING | BSN_F_SIGNALED);
	default: return NOT_THIS_WAY;
	}
}

static int prepare(struct bsn_ep *ep, const struct bsn_wr *wr, struct bsn_prepared *p)
{
	const int err = bsn_prepare(ep, wr, p);

	if (err != -EMSGSIZE)
		assert_int_equal(err, 0);
	trace_start(); /* its stores are not into the ring */
	return err;
}

int post_prepared(struct bsn_ep *ep, const struct bsn_wr *wr)
{
	struct bsn_prepared p;

	return prepare(ep, wr, &p) ? NOT_THIS_WAY : bsn_post_prepared(ep, &p, wr->id, wr->flags);
}

int post_prepared_long(struct bsn_ep *ep, const struct bsn_wr *wr)
{
	struct bsn_prepared p;

	return prepare(ep, wr, &p) ? NOT_THIS_WAY : bsn_sq_post_prepared(ep, &p, wr->id, wr->flags);
}

const struct way ways[WAYS] = {
	{ "bsn_post", post_long, 0 },
	{ "its own function", post_short, 0 },
	{ "its own function, BSN_F_INLINE", post_by_name, 0 },
	{ "a list", post_list, 0 },
	{ "a list of any length", post_list_of_any_length, 0 },
	{ "known to the compiler", post_known, 0 },
	{ "prepared", post_prepared, BSN_NEAR_ID_AT },
	{ "prepared, the long way", post_prepared_long, 0 },
};
