/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * UMR WQEs: control segment, UMR control segment, mkey context, and the translations, inline or in
 * memory that a pointer names. wqe/bsn_umr.h describes the segments and cites their sources.
 */
#include "umr.h"

#include <infiniband/verbs.h>

#include "init.h"
#include "place.h"

/* -- segments ---------------------------------------------------------------------------------- */

BSN_ALWAYS_INLINE uint8_t *put_umr_ctrl(uint8_t *at, const struct bsn_umr_ctrl *ctrl)
{
	BSN_UNROLL
	for (unsigned i = 0; i < BSN_UMR_CTRL_SIZE / 8; i++)
		at = put_word(at, bsn_to_be64(bsn_umr_ctrl_word(ctrl, i)));
	return at;
}

/* @first: bits of the first word that @ctx does not have. */
BSN_ALWAYS_INLINE uint8_t *put_mkey_ctx(uint8_t *at, uint64_t first, const struct bsn_mkey_ctx *ctx)
{
	at = put_word(at, bsn_to_be64(bsn_mkey_ctx_word(ctx, 0) | first));
	BSN_UNROLL
	for (unsigned i = 1; i < BSN_MKEY_CTX_SIZE / 8; i++)
		at = put_word(at, bsn_to_be64(bsn_mkey_ctx_word(ctx, i)));
	return at;
}

/* Puts a translation, or a pointer to translations, which has the same fields. */
BSN_ALWAYS_INLINE uint8_t *put_klm(uint8_t *at, uint64_t addr, uint32_t bytes, uint32_t lkey)
{
	const struct bsn_klm klm = { .byte_count = bytes, .mkey = lkey, .va = addr };

	at = put_word(at, bsn_to_be64(bsn_klm_word(&klm, 0)));
	return put_word(at, bsn_to_be64(bsn_klm_word(&klm, 1)));
}

/* @count: a multiple of UMR_ALIGN */
BSN_ALWAYS_INLINE uint8_t *put_translations(uint8_t *at, const uint8_t *from, uint32_t count)
{
	for (uint32_t i = 0; i < count; i += UMR_ALIGN) {
		BSN_UNROLL
		for (unsigned k = 0; k < UMR_ALIGN; k++)
			bsn_store_wqe_v2(at + k * BSN_XLT_SIZE,
					 bsn_v2_load(from + k * BSN_XLT_SIZE));
		at += UMR_ALIGN * BSN_XLT_SIZE;
		from += UMR_ALIGN * BSN_XLT_SIZE;
	}
	return at;
}

/* -- posting ----------------------------------------------------------------------------------- */

/*
 * Posts a UMR of @ds DS, of which @put puts the segments; the next request of this queue waits by
 * @fence until the mkey of @key is changed.
 */
static int post_umr(struct bsn_sq *sq, uint32_t key, unsigned ds,
		    uint8_t *(*put)(uint8_t *at, const void *arg), const void *arg,
		    enum bsn_fence fence, uint64_t id, uint32_t flags)
{
	const struct bsn_sq_body body = { .ds = ds, .put = put, .arg = arg };
	const int err =
		bsn_ep_post_body(&sq->ep, BSN_WHAT(BSN_OPCODE_UMR, flags, 0), key, &body, id);

	if (!err && fence != BSN_FENCE_NONE)
		bsn_sq_owe_fence(sq, fence);
	return err;
}

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

struct umr_kind umr_kind_of(unsigned access, bool has_atomics, enum bsn_fence fence)
{
	struct bsn_mkey_ctx ctx = access_ctx(access);

	ctx.qpn = BSN_MKEY_ANY_QP;
	return (struct umr_kind){
		.mask = BSN_MKEY_BIT(FREE) | BSN_MKEY_BIT(KEY) | BSN_MKEY_BIT(LEN) | ACCESS_BITS |
			(has_atomics ? BSN_MKEY_BIT(A) : 0),
		.ctx = bsn_mkey_ctx_word(&ctx, 0),
		.fence = fence,
	};
}

BSN_ALWAYS_INLINE uint8_t *put_umr(uint8_t *at, const struct umr *umr, bool is_inline)
{
	const bool is_whole = is_inline || !umr->first;
	const struct bsn_umr_ctrl ctrl = {
		.is_inline = is_inline,
		.has_offset = !is_whole,
		.klm_octowords = umr->count,
		.mkey_mask = umr->kind->mask & ~(is_whole ? 0 : BSN_MKEY_BIT(LEN)),
		.offset_or_bsf = is_whole ? 0 : umr->first & 0xffff,
		.offset_47_16 = is_whole ? 0 : umr->first >> 16,
	};
	const struct bsn_mkey_ctx ctx = { .mkey_7_0 = umr->new_key & 0xff, .len = umr->length };

	at = put_mkey_ctx(put_umr_ctrl(at, &ctrl), umr->kind->ctx, &ctx);
	if (is_inline)
		return put_translations(at, umr->translations, umr->count);
	return put_klm(at, (uintptr_t)umr->translations, umr->count * BSN_XLT_SIZE,
		       umr->table_lkey);
}

static uint8_t *put_any(uint8_t *at, const void *arg)
{
	const struct umr *umr = arg;

	return put_umr(at, umr, !umr->table_lkey);
}

int umr_post(struct bsn_sq *sq, const struct umr *umr, uint64_t id, uint32_t flags)
{
	const struct place p = { sq, NULL, sq->slot, umr_ds(umr) };
	const enum bsn_fence fence = umr->kind->fence;
	uint8_t *at;
	int err;

	if (!has_room(&p) ||
	    BSN_UNLIKELY(umr->table_lkey || fence == BSN_FENCE_NONE || flags & ~BSN_F_PLAIN))
		return post_umr(sq, umr->key, umr_ds(umr), put_any, umr, fence, id, flags);
	at = put_control(p.wqe, sq, NULL, BSN_WHAT(BSN_OPCODE_UMR, flags, 0), p.ds, umr->key);
	put_umr(at, umr, true);
	err = end_post(&p, id, flags);
	bsn_sq_owe_fence(sq, fence);
	return err;
}

/* A window of type 2 has to be bound to this queue, which the device checks. */
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

	return put_mkey_ctx(put_umr_ctrl(at, &ctrl), 0, &ctx);
}

int umr_post_invalidate(struct bsn_sq *sq, uint32_t key, bool is_window, enum bsn_fence fence,
			uint64_t id, uint32_t flags)
{
	return post_umr(sq, key, UMR_HEAD_DS, put_invalidation, &is_window, fence, id, flags);
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
	at = put_mkey_ctx(put_umr_ctrl(at, &ctrl), 0, &ctx);
	at = put_klm(at, window->memory.addr, window->memory.length, window->memory.lkey);
	for (unsigned i = 1; i < UMR_ALIGN; i++)
		at = put_klm(at, 0, 0, 0);
	return at;
}

int umr_post_bind(struct bsn_sq *sq, const struct umr_window *window, enum bsn_fence fence,
		  uint64_t id, uint32_t flags)
{
	return post_umr(sq, window->key, UMR_HEAD_DS + UMR_ALIGN, put_binding, window, fence, id,
			flags);
}
