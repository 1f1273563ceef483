/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * UMR WQEs: control segment, UMR control segment, mkey context, and the translations, inline or in
 * memory that a pointer names. wqe/bsn_umr.h has the segments and their sources.
 */
#include "umr_plain.h"

#include <infiniband/verbs.h>

#include "bsn_umr.h"
#include "init.h"
#include "sq.h"

/* -- translations --------------------------------------------------------------------------------- */

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

BSN_ALWAYS_INLINE __m128i load_with_key(const struct bsn_part *part)
{
	return _mm_insert_epi32(load_part(part), (int)part->lkey, 3);
}

BSN_ALWAYS_INLINE struct bsn_ds klm_of_part(const struct bsn_part *part)
{
	return bsn_shuffle((bsn_v2)load_with_key(part),
			   (bsn_pattern){ BSN_FROM_32(8), BSN_FROM_32(12), BSN_FROM_64(0) });
}

BSN_ALWAYS_INLINE struct bsn_ds page_of(const struct bsn_part *part)
{
	return bsn_shuffle((bsn_v2)load_with_key(part),
			   (bsn_pattern){ BSN_FROM_NONE, BSN_FROM_32(12), BSN_FROM_64(0) });
}

BSN_ALWAYS_INLINE struct bsn_ds entry_of(const struct bsn_part *part)
{
	__m128i v = _mm_insert_epi16(load_part(part), (short)part->stride, 5);

	v = _mm_insert_epi32(v, (int)part->lkey, 3);
	return bsn_shuffle((bsn_v2)v,
			   (bsn_pattern){ BSN_FROM_32(8), BSN_FROM_32(12), BSN_FROM_64(0) });
}
#else
/* The length comes in above the key, where the part has a reserved 0. */
BSN_ALWAYS_INLINE struct bsn_ds klm_of_part(const struct bsn_part *part)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return bsn_ds_of_words(bsn_to_be64(umr_key_of(part) | part->bytes << 32),
			       bsn_to_be64(part->addr));
#else
	return klm_of(part->addr, (uint32_t)part->bytes, part->lkey);
#endif
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

BSN_ALWAYS_INLINE struct bsn_ds page_of(const struct bsn_part *part)
{
	return klm_of(part->addr, 0, part->lkey);
}
#endif

BSN_ALWAYS_INLINE struct bsn_ds repeat_of(const struct umr *umr)
{
	return umr_repeat((uint32_t)(umr->length / umr->rounds), umr->rounds, umr->part_count);
}

/* A translation a part, eight a turn. */
BSN_ALWAYS_INLINE uint8_t *put_each(uint8_t *at, const struct bsn_part *part, uint32_t count,
				    struct bsn_ds (*of)(const struct bsn_part *))
{
	const struct bsn_part *const end = part + count;

	for (const struct bsn_part *const eights = part + (count & ~7u); part != eights;
	     part += 8) {
		BSN_UNROLL for (unsigned i = 0; i < 8; i++)
			bsn_store_ds(at + i * BSN_DS_SIZE, of(&part[i]));
		at += 8 * BSN_DS_SIZE;
	}
	for (; part != end; part++)
		at = put_ds(at, of(part));
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

/* -- plain parts ------------------------------------------------------------------------------------ */

/*
 * What is known of the parts so far.
 * @last: where the last one ends
 * @apart: and-ed from less than 0, how far each begins after the last byte of the one before
 * @lengths: or-ed, less one each
 * @bytes: the sum of the same
 */
struct pass {
	uint64_t last, apart, lengths, bytes;
};

/* Far less than what would make sums of UMR_INLINE_MAX parts wrap. */
#define FAR_APART (1ull << 48)

BSN_ALWAYS_INLINE bool is_alike(const struct bsn_part *part, uint64_t key, uint64_t stride,
				bool has_rounds)
{
	return BSN_LIKELY(umr_key_of(part) == key && (!has_rounds || part->stride == stride));
}

BSN_ALWAYS_INLINE bool pass_one(struct pass *pass, uint8_t *at, const struct bsn_part *part,
				uint64_t key, uint64_t stride, struct bsn_be64 common,
				bool has_rounds)
{
	const uint64_t addr = part->addr, bytes = part->bytes;

	if (!is_alike(part, key, stride, has_rounds))
		return false;
	pass->apart &= pass->last - addr;
	pass->lengths |= bytes - 1;
	pass->bytes += bytes;
	pass->last = addr + bytes - 1;
	bsn_store_ds(at, umr_translation(part, common));
	return true;
}

#if BSN_HAS_SHUFFLE
/* Many parts: groups of four, two a vector. */
BSN_ALWAYS_INLINE bool pass_fours(struct pass *pass, uint8_t *at, const struct bsn_part *part,
				  uint32_t count, uint64_t key, uint64_t stride,
				  struct bsn_be64 common, bool has_rounds)
{
	bsn_v2 apart = { -1ull, -1ull }, lengths = { 0, 0 }, bytes = { 0, 0 };
	bsn_v2 last = { 0, pass->last };

	for (const struct bsn_part *const end = part + count; part != end; part += 4) {
		BSN_UNROLL for (unsigned i = 0; i < 4; i += 2)
		{
			const struct bsn_part *const two = part + i;
			const bsn_v2 addr = { two[0].addr, two[1].addr };
			bsn_v2 ends = (bsn_v2){ two[0].bytes, two[1].bytes } - 1;
			if (!is_alike(&two[0], key, stride, has_rounds) ||
			    !is_alike(&two[1], key, stride, has_rounds))
				return false;
			lengths |= ends;
			bytes += ends;
			ends += addr;
			apart &= (bsn_v2){ last[1], ends[0] } - addr;
			last = ends;
			bsn_store_ds(at + i * BSN_DS_SIZE, umr_translation(&two[0], common));
			bsn_store_ds(at + (i + 1) * BSN_DS_SIZE, umr_translation(&two[1], common));
		}
		at += 4 * BSN_DS_SIZE;
	}
	*pass = (struct pass){ last[1], apart[0] & apart[1], lengths[0] | lengths[1],
			       bytes[0] + bytes[1] + count };
	return true;
}
#endif

/* Puts the translations. Returns the bytes of one round; 0: the parts are not plain. */
BSN_ALWAYS_INLINE uint64_t put_plain(uint8_t *at, const struct bsn_part *part, uint32_t count,
				     const struct umr_memory *memory, uint32_t rounds,
				     bool has_rounds)
{
	const uint64_t key = memory->key, stride = part->stride, first = part->addr;
	const struct bsn_be64 common = umr_common_bits(has_rounds ? stride : 0, (uint32_t)key);
	struct pass pass = { .last = memory->first - 1, .apart = -1ull };

#if BSN_HAS_SHUFFLE
	if (count >= 8) {
		const uint32_t fours = count & ~3u;
		if (!pass_fours(&pass, at, part, fours, key, stride, common, has_rounds))
			return 0;
		at += (size_t)fours * BSN_DS_SIZE;
		part += fours;
		count -= fours;
	}
#endif
	for (; count >= 2; count -= 2, part += 2, at += 2 * BSN_DS_SIZE)
		if (!pass_one(&pass, at, part, key, stride, common, has_rounds) ||
		    !pass_one(&pass, at + BSN_DS_SIZE, part + 1, key, stride, common, has_rounds))
			return 0;
	if (count && !pass_one(&pass, at, part, key, stride, common, has_rounds))
		return 0;
	if (BSN_UNLIKELY(pass.apart < -FAR_APART || pass.lengths >= BSN_KLM_MAX_BYTES))
		return 0;
	if (has_rounds) {
		if (BSN_UNLIKELY(stride > BSN_REPEAT_MAX_STRIDE || pass.last - first >= stride))
			return 0;
		pass.last += (uint64_t)(rounds - 1) * stride;
	}
	return BSN_LIKELY(pass.last <= memory->last) ? pass.bytes : 0;
}

uint64_t umr_put_list(uint8_t *at, const struct bsn_part *part, uint32_t count,
		      const struct umr_memory *memory)
{
	return put_plain(at, part, count, memory, 1, false);
}

uint64_t umr_put_entries(uint8_t *at, const struct bsn_part *part, uint32_t count,
			 const struct umr_memory *memory, uint32_t rounds)
{
	return put_plain(at, part, count, memory, rounds, true);
}

void umr_copy_list(uint8_t *at, const struct bsn_part *part, uint32_t count)
{
	put_each(at, part, count, klm_of_part);
}

void umr_copy_entries(uint8_t *at, const struct bsn_part *part, uint32_t count)
{
	put_each(at, part, count, entry_of);
}

void umr_copy_pages(uint8_t *at, const struct bsn_part *part, uint32_t count)
{
	put_each(at, part, count, page_of);
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

struct umr_target umr_target_of(uint32_t key, unsigned access, bool has_atomics,
				enum bsn_fence fence)
{
	const struct bsn_umr_ctrl umr_ctrl = {
		.mkey_mask = BSN_MKEY_BIT(FREE) | BSN_MKEY_BIT(KEY) | BSN_MKEY_BIT(LEN) |
			     ACCESS_BITS | (has_atomics ? BSN_MKEY_BIT(A) : 0),
	};
	struct bsn_mkey_ctx ctx = access_ctx(access);

	ctx.qpn = BSN_MKEY_ANY_QP;
	ctx.mkey_7_0 = key & 0xff;
	return (struct umr_target){ .imm = umr_imm_of(key),
				    .mask = bsn_to_be64(bsn_umr_ctrl_word(&umr_ctrl, 1)),
				    .word = bsn_to_be64(bsn_mkey_ctx_word(&ctx, 0)),
				    .key = key,
				    .next_key = key,
				    .fence = fence };
}

/* Where only some translations are written, from @first on: their place, and the length stays. */
static void make_part(struct bsn_regs *r, const struct umr *umr, uint32_t padded)
{
	const struct bsn_umr_ctrl ctrl = {
		.is_inline = umr->form != UMR_POINTER,
		.has_offset = 1,
		.klm_octowords = padded,
		.offset_or_bsf = umr->first & 0xffff,
		.offset_47_16 = umr->first >> 16,
	};
	const struct bsn_umr_ctrl length = { .mkey_mask = BSN_MKEY_BIT(LEN) };
	struct bsn_be64 mask = umr->target.mask;

	mask.raw &= ~bsn_to_be64(bsn_umr_ctrl_word(&length, 1)).raw;
	r->ds[1] = bsn_ds_of_words(bsn_to_be64(bsn_umr_ctrl_word(&ctrl, 0)), mask);
	r->ds[2] =
		bsn_ds_of_words(bsn_to_be64(bsn_umr_ctrl_word(&ctrl, 2)), (struct bsn_be64){ 0 });
}

/* Puts the head of a WQE that is built the cold way, after the control segment. */
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

	umr_make_head(&r, &umr->target, umr->length, umr->form != UMR_POINTER, padded);
	if (umr->is_part)
		make_part(&r, umr, padded);
	return put_translations(put_head(at, &r), umr, padded);
}

/* -- posting ------------------------------------------------------------------------------------------ */

/* The next request of this queue that uses the mkey waits until the UMR is done. */
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
					  .imm = umr->target.key,
					  .ds = umr_ds(umr),
					  .put = put_umr,
					  .arg = umr };

	return post_and_owe(sq, &body, umr->target.fence, id);
}

/* A UMR whose translations were put elsewhere. */
struct put {
	const struct umr_target *target;
	const struct umr_plain *umr;
	const uint8_t *translations;
};

static uint8_t *put_put(uint8_t *at, const void *arg)
{
	const struct put *put = arg;
	const size_t bytes = (size_t)put->umr->padded * BSN_DS_SIZE;
	struct bsn_regs r;

	umr_make_head(&r, put->target, put->umr->length, true, put->umr->padded);
	at = put_head(at, &r);
	for (size_t i = 0; i < bytes; i += UMR_ALIGN * BSN_DS_SIZE)
		BSN_UNROLL for (size_t j = i; j < i + UMR_ALIGN * BSN_DS_SIZE; j += BSN_DS_SIZE)
			bsn_store_wqe_v2(at + j, bsn_v2_load(put->translations + j));
	return at + bytes;
}

int umr_post_put(struct bsn_sq *sq, const struct umr_target *target, const struct umr_plain *umr,
		 const uint8_t *translations, uint64_t id, uint32_t flags)
{
	const struct put put = { target, umr, translations };
	const struct bsn_sq_body body = { .what = BSN_WHAT(BSN_OPCODE_UMR, flags, 0),
					  .imm = target->key,
					  .ds = UMR_HEAD_DS + umr->padded,
					  .put = put_put,
					  .arg = &put };

	return post_and_owe(sq, &body, target->fence, id);
}

bool umr_find_room(struct bsn_sq *sq, unsigned ds)
{
	const size_t bytes = bsn_bytes_of_ds(ds);

	if (bsn_fits(sq, umr_room(sq), bytes))
		return true;
	if (sq->slot != sq->ring_end && sq->slot + bytes > sq->ring_end)
		return false; /* it has to wrap, whatever room there is */
	if (!sq->closed && !sq->path)
		bsn_sq_show_room(sq);
	return bsn_fits(sq, umr_room(sq), bytes);
}

int umr_post(struct bsn_sq *sq, const struct umr *umr, uint64_t id, uint32_t flags)
{
	const uint32_t padded = umr_padded(umr_translations(umr));
	const unsigned ds = umr_ds(umr);

	if (!umr_find_room(sq, ds) || umr->is_part || umr->target.fence == BSN_FENCE_NONE ||
	    flags & ~BSN_F_PLAIN)
		return post_cold(sq, umr, id, flags);
	put_translations(sq->slot + UMR_HEAD_DS * BSN_DS_SIZE, umr, padded);
	umr_keep_id(sq, id);
	return umr_end(sq, &umr->target, umr->length, umr->form != UMR_POINTER, padded,
		       BSN_REST_SGES, ds, bsn_bytes_of_ds(ds), flags);
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

/* A window of type 2 has to be bound to this queue; other keys do not. */
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
