/* SPDX-License-Identifier: BSD-2-Clause */
/* The ways to post a request: each function that can, by what its compiler knows. */
#include "requests.h"

int post_long(struct bsn_ep *ep, const struct bsn_wr *wr)
{
	return bsn_post(ep, wr);
}

/* What callers of the next three give as constants, the compiler knows. */

BSN_ALWAYS_INLINE int post_bytes(struct bsn_ep *ep, const struct bsn_wr *wr, uint32_t length,
				 unsigned flags)
{
	const void *data = (const void *)(uintptr_t)wr->sge->addr;

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

BSN_ALWAYS_INLINE int post_sges(struct bsn_ep *ep, const struct bsn_wr *wr, unsigned count,
				unsigned flags)
{
	switch (wr->opcode) {
	case BSN_OPCODE_RDMA_WRITE:
		return bsn_write_sgl(ep, wr->sge, count, &wr->remote, wr->id, flags);
	case BSN_OPCODE_RDMA_READ:
		return bsn_read_sgl(ep, wr->sge, count, &wr->remote, wr->id, flags);
	case BSN_OPCODE_SEND:
		return bsn_send_sgl(ep, wr->sge, count, wr->id, flags);
	default:
		return NOT_THIS_WAY;
	}
}

BSN_ALWAYS_INLINE int post_sge(struct bsn_ep *ep, const struct bsn_wr *wr, unsigned flags)
{
	const struct bsn_sge *sge = wr->sge;
	const struct bsn_remote *r = &wr->remote;

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

int post_short_inline(struct bsn_ep *ep, const struct bsn_wr *wr, unsigned flags)
{
	return post_bytes(ep, wr, wr->sge->length, flags);
}

static int post_list_of_any_length(struct bsn_ep *ep, const struct bsn_wr *wr)
{
	volatile unsigned count = wr->sge_count;

	return post_sges(ep, wr, count, wr->flags);
}

/* A list whose length the compiler knows. */
static int post_list(struct bsn_ep *ep, const struct bsn_wr *wr)
{
	const unsigned n = wr->sge_count, flags = wr->flags;

	return n == 0   ? post_sges(ep, wr, 0, flags)
	       : n == 1 ? post_sges(ep, wr, 1, flags)
	       : n == 2 ? post_sges(ep, wr, 2, flags)
	       : n == 3 ? post_sges(ep, wr, 3, flags)
	       : n == 4 ? post_sges(ep, wr, 4, flags)
			: post_sges(ep, wr, 5 + (n - 5), flags);
}

/* The function of the operation's own name; with BSN_F_INLINE, too. */
static int post_by_name(struct bsn_ep *ep, const struct bsn_wr *wr)
{
	return wr->sge_count == 1 ? post_sge(ep, wr, wr->flags) : NOT_THIS_WAY;
}

/* As above, but inline data by the function that takes no SGE. */
int post_short(struct bsn_ep *ep, const struct bsn_wr *wr)
{
	if (wr->sge_count == 1 && wr->flags & BSN_F_INLINE)
		return post_short_inline(ep, wr, wr->flags & ~(unsigned)BSN_F_INLINE);
	return post_by_name(ep, wr);
}

/* A request of which the compiler knows flags, SGEs, and bytes of inline data. */
BSN_ALWAYS_INLINE int post_known_of(struct bsn_ep *ep, const struct bsn_wr *wr, unsigned flags)
{
#define KNOWN(length)                                                                              \
	case length:                                                                               \
		return post_bytes(ep, wr, length, flags);
	if (wr->flags & BSN_F_INLINE && wr->sge_count == 1)
		switch (wr->sge->length) {
			KNOWN(7)
			KNOWN(8)
			KNOWN(12)
			KNOWN(13) KNOWN(15) KNOWN(16) KNOWN(28) KNOWN(29) KNOWN(44) KNOWN(45)
				KNOWN(60) KNOWN(61) KNOWN(76) KNOWN(77)
		}
	if (wr->flags & BSN_F_INLINE)
		return NOT_THIS_WAY;
	return wr->sge_count == 1   ? post_sge(ep, wr, flags)
	       : wr->sge_count == 2 ? post_sges(ep, wr, 2, flags)
	       : wr->sge_count == 3 ? post_sges(ep, wr, 3, flags)
	       : wr->sge_count == 4 ? post_sges(ep, wr, 4, flags)
				    : NOT_THIS_WAY;
}

int post_known(struct bsn_ep *ep, const struct bsn_wr *wr)
{
	const unsigned flags = wr->flags & ~(unsigned)BSN_F_INLINE;
	const unsigned both = BSN_F_SIGNALED | BSN_F_RING;

	return flags == 0                ? post_known_of(ep, wr, 0)
	       : flags == BSN_F_SIGNALED ? post_known_of(ep, wr, BSN_F_SIGNALED)
	       : flags == BSN_F_RING     ? post_known_of(ep, wr, BSN_F_RING)
	       : flags == both           ? post_known_of(ep, wr, both)
					 : NOT_THIS_WAY;
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
