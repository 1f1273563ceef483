/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * UMR WQEs: control segment, UMR control segment, mkey context, and the translations, inline or in
 * memory that a pointer names. wqe/bsn_umr.h has the segments and their sources.
 */
#include "umr.h"

#include <infiniband/verbs.h>

#include "bsn_build.h"
#include "bsn_umr.h"
#include "init.h"
#include "sq.h"

/* -- translations --------------------------------------------------------------------------------- */

BSN_ALWAYS_INLINE uint8_t *put_ds(uint8_t *at, struct bsn_ds ds)
{
	bsn_store_ds(at, ds);
	return at + BSN_DS_SIZE;
}

BSN_ALWAYS_INLINE void put_zeros(uint8_t *at, unsigned ds)
{
	BSN_UNROLL for (unsigned i = 0; i < ds; i++)
		bsn_store_wqe_v2(at + i * BSN_DS_SIZE, (bsn_v2){ 0, 0 });
}

/* A KLM has the fields of a data pointer, but its length has 32 bits. */
BSN_ALWAYS_INLINE struct bsn_ds klm_of(uint64_t addr, uint32_t bytes, uint32_t lkey)
{
	const struct bsn_klm klm = { .byte_count = bytes, .mkey = lkey, .va = addr };

	return bsn_ds_of_words(bsn_to_be64(bsn_klm_word(&klm, 0)),
			       bsn_to_be64(bsn_klm_word(&klm, 1)));
}

/*
 * A part's translations. Where bytes of a vector can be reordered, address and length are one load: parts
 * were checked before, so that their stores are over.
 */
#if defined(__SSE4_1__)
BSN_ALWAYS_INLINE __m128i load_part(const struct bsn_part *part)
{
	return _mm_loadu_si128((const __m128i *)(const void *)part);
}

BSN_ALWAYS_INLINE struct bsn_ds klm_of_part(const struct bsn_part *part)
{
	const __m128i v = _mm_insert_epi32(load_part(part), (int)part->lkey, 3);

	return bsn_shuffle((bsn_v2)v,
			   (bsn_pattern){ BSN_FROM_32(8), BSN_FROM_32(12), BSN_FROM_64(0) });
}

BSN_ALWAYS_INLINE struct bsn_ds entry_of(const struct bsn_part *part)
{
	__m128i v = _mm_insert_epi16(load_part(part), (short)part->stride, 5);

	v = _mm_insert_epi32(v, (int)part->lkey, 3);
	return bsn_shuffle((bsn_v2)v,
			   (bsn_pattern){ BSN_FROM_32(8), BSN_FROM_32(12), BSN_FROM_64(0) });
}
#else
BSN_ALWAYS_INLINE struct bsn_ds klm_of_part(const struct bsn_part *part)
{
	return klm_of(part->addr, (uint32_t)part->bytes, part->lkey);
}

BSN_ALWAYS_INLINE struct bsn_ds entry_of(const struct bsn_part *part)
{
	const struct bsn_repeat_entry entry = { .stride = (uint16_t)part->stride,
						.byte_count = (uint16_t)part->bytes,
						.mkey = part->lkey,
						.va = part->addr };

	return bsn_ds_of_words(bsn_to_be64(bsn_repeat_entry_word(&entry, 0)),
			       bsn_to_be64(bsn_repeat_entry_word(&entry, 1)));
}
#endif

BSN_ALWAYS_INLINE struct bsn_ds page_of(const struct bsn_part *part)
{
	return klm_of(part->addr, 0, part->lkey);
}

BSN_ALWAYS_INLINE struct bsn_ds repeat_of(const struct umr *umr)
{
	const struct bsn_repeat repeat = { .byte_count = (uint32_t)(umr->length / umr->rounds),
					   .op = BSN_REPEAT_OP,
					   .repeat_count = umr->rounds,
					   .num_entries = umr->part_count };

	return bsn_ds_of_words(bsn_to_be64(bsn_repeat_word(&repeat, 0)),
			       bsn_to_be64(bsn_repeat_word(&repeat, 1)));
}

/* A translation a part, four a turn. */
BSN_ALWAYS_INLINE uint8_t *put_each(uint8_t *at, const struct bsn_part *part, uint32_t count,
				    struct bsn_ds (*of)(const struct bsn_part *))
{
	for (; count >= 4; count -= 4) {
		BSN_UNROLL for (unsigned i = 0; i < 4; i++)
			bsn_store_ds(at + i * BSN_DS_SIZE, of(&part[i]));
		at += 4 * BSN_DS_SIZE;
		part += 4;
	}
	for (; count; count--)
		at = put_ds(at, of(part++));
	return at;
}

BSN_ALWAYS_INLINE uint8_t *put_parts(uint8_t *at, const struct umr *umr)
{
	if (umr->form == UMR_REPEAT)
		return put_each(put_ds(at, repeat_of(umr)), umr->parts, umr->part_count, entry_of);
	if (BSN_UNLIKELY(umr->has_pages))
		return put_each(at, umr->parts, umr->part_count, page_of);
	return put_each(at, umr->parts, umr->part_count, klm_of_part);
}

uint8_t *umr_write_klm(uint8_t *at, uint64_t addr, uint32_t bytes, uint32_t lkey)
{
	return put_ds(at, klm_of(addr, bytes, lkey));
}

uint8_t *umr_write_parts(uint8_t *at, const struct umr *umr)
{
	return put_parts(at, umr);
}

/* @padded: as many as the device counts; those that there are overwrite the zeros. */
static uint8_t *put_translations(uint8_t *at, const struct umr *umr, uint32_t padded)
{
	if (BSN_UNLIKELY(umr->form == UMR_POINTER))
		return put_ds(at, klm_of(umr->table.addr, padded * BSN_XLT_SIZE, umr->table.lkey));
	if (padded > umr_translations(umr))
		put_zeros(at + (padded - UMR_ALIGN) * BSN_DS_SIZE, UMR_ALIGN);
	put_parts(at, umr);
	return at + padded * BSN_DS_SIZE;
}

/* -- the head --------------------------------------------------------------------------------------- */

#define ACCESS_BITS (BSN_MKEY_BIT(LW) | BSN_MKEY_BIT(RR) | BSN_MKEY_BIT(RW))

static struct bsn_mkey_ctx access_ctx(unsigned access)
{
	return (struct bsn_mkey_ctx){
		.a = !!(access & IBV_ACCESS_REMOTE_ATOMIC),
		.rw = !!(access & IBV_ACCESS_REMOTE_WRITE),
		.rr = !!(access & IBV_ACCESS_REMOTE_READ),
		.lw = !!(access & IBV_ACCESS_LOCAL_WRITE),
	};
}

struct umr_rights umr_rights_of(unsigned access, bool has_atomics)
{
	const struct bsn_umr_ctrl ctrl = {
		.mkey_mask = BSN_MKEY_BIT(FREE) | BSN_MKEY_BIT(KEY) | BSN_MKEY_BIT(LEN) |
			     ACCESS_BITS | (has_atomics ? BSN_MKEY_BIT(A) : 0),
	};
	struct bsn_mkey_ctx ctx = access_ctx(access);

	ctx.qpn = BSN_MKEY_ANY_QP;
	return (struct umr_rights){ bsn_to_be64(bsn_umr_ctrl_word(&ctrl, 1)),
				    bsn_to_be64(bsn_mkey_ctx_word(&ctx, 0)) };
}

/* What stands before the translations, but for the control segment: DS 1 to UMR_HEAD_DS - 1. */
BSN_ALWAYS_INLINE void make_head(struct bsn_regs *r, const struct bsn_umr_ctrl *ctrl,
				 struct bsn_be64 mask, struct bsn_be64 mkey, uint64_t length)
{
	const struct bsn_mkey_ctx ctx = { .len = length };
	const struct bsn_be64 zero = { 0 };

	BSN_UNROLL for (unsigned i = 2; i < UMR_HEAD_DS; i++) r->ds[i] =
		bsn_ds_of_vector((bsn_v2){ 0, 0 });
	r->ds[1] = bsn_ds_of_words(bsn_to_be64(bsn_umr_ctrl_word(ctrl, 0)), mask);
	if (ctrl->has_offset)
		r->ds[2] = bsn_ds_of_words(bsn_to_be64(bsn_umr_ctrl_word(ctrl, 2)), zero);
	r->ds[4] = bsn_ds_of_words(mkey, zero);
	r->ds[5] = bsn_ds_of_words(zero, bsn_to_be64(bsn_mkey_ctx_word(&ctx, 3)));
}

/* All translations, or from @first on as many as there are. */
BSN_ALWAYS_INLINE void make_umr_head(struct bsn_regs *r, const struct umr *umr, uint32_t padded,
				     bool is_part)
{
	const struct bsn_umr_ctrl ctrl = {
		.is_inline = umr->form != UMR_POINTER,
		.has_offset = is_part,
		.klm_octowords = padded,
		.offset_or_bsf = is_part ? umr->first & 0xffff : 0,
		.offset_47_16 = is_part ? umr->first >> 16 : 0,
	};
	const struct bsn_umr_ctrl length = { .mkey_mask = BSN_MKEY_BIT(LEN) };
	const struct bsn_mkey_ctx key = { .mkey_7_0 = umr->key & 0xff };
	struct bsn_be64 mask = umr->rights.mask, mkey = umr->rights.word;

	if (is_part)
		mask.raw &= ~bsn_to_be64(bsn_umr_ctrl_word(&length, 1)).raw;
	mkey.raw |= bsn_to_be64(bsn_mkey_ctx_word(&key, 0)).raw;
	make_head(r, &ctrl, mask, mkey, umr->length);
}

/* The head of a WQE that is built the cold way: behind the control segment. */
BSN_ALWAYS_INLINE uint8_t *put_head(uint8_t *at, const struct bsn_regs *r)
{
	BSN_UNROLL for (unsigned i = 1; i < UMR_HEAD_DS; i++) at = put_ds(at, r->ds[i]);
	return at;
}

static uint8_t *put_umr(uint8_t *at, const void *arg)
{
	const struct umr *umr = arg;
	const uint32_t padded = umr_padded(umr_translations(umr));
	struct bsn_regs r;

	make_umr_head(&r, umr, padded, umr->is_part);
	return put_translations(put_head(at, &r), umr, padded);
}

/* -- posting ------------------------------------------------------------------------------------------ */

/* What uses the mkey next, on this queue, waits until it is what it says. */
static int post_and_owe(struct bsn_sq *sq, const struct bsn_sq_body *body, enum bsn_fence fence,
			uint64_t id)
{
	const int err = bsn_sq_post_body(sq, body, id);

	if (!err && fence != BSN_FENCE_NONE)
		bsn_sq_owe_fence(sq, fence);
	return err;
}

static __attribute__((noinline)) int post_cold(struct bsn_sq *sq, const struct umr *umr,
					       uint64_t id, uint32_t flags)
{
	const struct bsn_sq_body body = { .what = BSN_WHAT(BSN_OPCODE_UMR, flags, 0),
					  .imm = umr->key,
					  .ds = umr_ds(umr),
					  .put = put_umr,
					  .arg = umr };

	return post_and_owe(sq, &body, umr->fence, id);
}

/* Whether @bb blocks can be built at the slot, as far as the poster knows; the cold way knows more. */
BSN_ALWAYS_INLINE bool fits_here(const struct bsn_sq *sq, unsigned bb)
{
	return !sq->closed && !sq->path && !sq->has_peers &&
	       sq->slot + (size_t)bb * BSN_BB_SIZE <= sq->ring_end &&
	       (uint16_t)(sq->pi - sq->retired) + bb <= sq->capacity_bb;
}

/* The fence that the queue owes, as it lies in the control segment. */
BSN_ALWAYS_INLINE struct bsn_be64 fence_bits(const struct bsn_sq *sq, uint32_t flags)
{
	const struct bsn_ctrl owed = {
		.fence = flags & BSN_F_FENCE ? BSN_FENCE_NONE : sq->next_fence,
	};

	return bsn_to_be64(bsn_ctrl_word(&owed, 1));
}

/*
 * UMRs follow UMRs, each of which owes a fence: the inline code sees no room then, but here there is. It
 * stays so: the next request pays the fence.
 */
int umr_post(struct bsn_sq *sq, const struct umr *umr, uint64_t id, uint32_t flags)
{
	const uint32_t padded = umr_padded(umr_translations(umr));
	const unsigned ds = UMR_HEAD_DS + (umr->form == UMR_POINTER ? 1 : padded);
	const unsigned bb = bsn_bb_of_ds(ds);
	uint8_t *const wqe = sq->slot;
	struct bsn_be64 ctrl1;
	struct bsn_regs r;

	if (!fits_here(sq, bb) || umr->fence == BSN_FENCE_NONE || umr->is_part ||
	    flags & ~BSN_F_PLAIN)
		return post_cold(sq, umr, id, flags);
	BSN_CHECK_OWNER(sq);
	put_translations(wqe + UMR_HEAD_DS * BSN_DS_SIZE, umr, padded);
	make_umr_head(&r, umr, padded, false);
	ctrl1 = bsn_ctrl1(sq, flags, umr->key);
	ctrl1.raw |= fence_bits(sq, flags).raw;
	r.ds[0] = bsn_ds_of_words(bsn_ctrl0(sq, sq->pi, BSN_OPCODE_UMR, ds), ctrl1);
	sq->next_fence = (uint8_t)umr->fence;
	sq->limit = NULL;
	sq->wide_pi = bsn_sq_wide_pi(sq) + bb;
	return bsn_end(sq, wqe, wqe + (size_t)bb * BSN_BB_SIZE, NULL, false, &r, UMR_HEAD_DS,
		       BSN_REST_SGES, ds, bb, id, flags);
}

/* -- invalidations and windows ------------------------------------------------------------------------ */

static uint8_t *put_umr_ctrl(uint8_t *at, const struct bsn_umr_ctrl *ctrl)
{
	for (unsigned word = 0; word < BSN_UMR_CTRL_SIZE / 8; word += 2)
		at = put_ds(at, bsn_ds_of_words(bsn_to_be64(bsn_umr_ctrl_word(ctrl, word)),
						bsn_to_be64(bsn_umr_ctrl_word(ctrl, word + 1))));
	return at;
}

static uint8_t *put_mkey_ctx(uint8_t *at, const struct bsn_mkey_ctx *ctx)
{
	for (unsigned word = 0; word < BSN_MKEY_CTX_SIZE / 8; word += 2)
		at = put_ds(at, bsn_ds_of_words(bsn_to_be64(bsn_mkey_ctx_word(ctx, word)),
						bsn_to_be64(bsn_mkey_ctx_word(ctx, word + 1))));
	return at;
}

/* A window of type 2 has to be bound to this queue; what else a key may be, does not. */
static uint8_t *put_invalidation(uint8_t *at, const void *arg)
{
	const bool is_window = *(const bool *)arg;
	const struct bsn_mkey_ctx ctx = { .free = 1, .qpn = BSN_MKEY_ANY_QP };
	const struct bsn_umr_ctrl ctrl = {
		.is_inline = 1,
		.has_offset = is_window,
		.check_qpn = is_window,
		.mkey_mask = BSN_MKEY_BIT(FREE) |
			     (is_window ? BSN_MKEY_BIT(KEY) | BSN_MKEY_BIT(QPN) : 0),
	};

	return put_mkey_ctx(put_umr_ctrl(at, &ctrl), &ctx);
}

int umr_post_invalidate(struct bsn_sq *sq, uint32_t key, bool is_window, enum bsn_fence fence,
			uint64_t id, uint32_t flags)
{
	const struct bsn_sq_body body = { .what = BSN_WHAT(BSN_OPCODE_UMR, flags, 0),
					  .imm = key,
					  .ds = UMR_HEAD_DS,
					  .put = put_invalidation,
					  .arg = &is_window };

	return post_and_owe(sq, &body, fence, id);
}

static uint8_t *put_binding(uint8_t *at, const void *arg)
{
	const struct umr_window *window = arg;
	const struct bsn_umr_ctrl ctrl = {
		.is_inline = 1,
		.has_offset = 1,
		.check = window->is_type_2 ? BSN_UMR_CHECK_BIT_5 : BSN_UMR_CHECK_NONE,
		.klm_octowords = UMR_ALIGN,
		.mkey_mask = BSN_MKEY_BIT(FREE) | BSN_MKEY_BIT(KEY) | BSN_MKEY_BIT(LEN) |
			     BSN_MKEY_BIT(START_ADDR) | ACCESS_BITS | BSN_MKEY_BIT(A) |
			     (window->is_type_2 ? BSN_MKEY_BIT(QPN) : 0),
	};
	struct bsn_mkey_ctx ctx = access_ctx(window->access);

	ctx.qpn = window->is_type_2 ? window->qpn : BSN_MKEY_ANY_QP;
	ctx.mkey_7_0 = window->new_key & 0xff;
	ctx.start_addr = window->access & IBV_ACCESS_ZERO_BASED ? 0 : window->memory.addr;
	ctx.len = window->memory.length;
	at = put_mkey_ctx(put_umr_ctrl(at, &ctrl), &ctx);
	at = put_ds(at, klm_of(window->memory.addr, window->memory.length, window->memory.lkey));
	put_zeros(at, UMR_ALIGN - 1);
	return at + (UMR_ALIGN - 1) * BSN_DS_SIZE;
}

int umr_post_bind(struct bsn_sq *sq, const struct umr_window *window, enum bsn_fence fence,
		  uint64_t id, uint32_t flags)
{
	const struct bsn_sq_body body = { .what = BSN_WHAT(BSN_OPCODE_UMR, flags, 0),
					  .imm = window->key,
					  .ds = UMR_HEAD_DS + UMR_ALIGN,
					  .put = put_binding,
					  .arg = window };

	return post_and_owe(sq, &body, fence, id);
}
