/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * UMRs of what most layouts are, by AVX2 or NEON: parts in the order of memory, of one key or of two in turn, pages,
 * and, by AVX2, what was committed. One function a kind looks at everything, puts the translations, and goes over into the
 * one that posts, so that none saves a register. What does not pass is for mkey_configure_known(), or for
 * mkey_configure_committed().
 */
#include "mkey.h"
#include "umr_ordered.h"

#if UMR_HAS_ORDERED

#if defined(__x86_64__)
#define QUICK __attribute__((target("avx2"), noinline)) static
#define HAS_QUICK __builtin_cpu_supports("avx2")
#define AS_LOOKED_AT(layout) (layout)
#else
#define QUICK __attribute__((noinline)) static
#define HAS_QUICK true
/* There are registers for all of it. */
#define AS_LOOKED_AT(layout)                                                                       \
	(&(const struct bsn_layout){ .parts = (layout)->parts,                                     \
				     .part_count = (layout)->part_count,                           \
				     .rounds = (layout)->rounds })
#endif

/* A UMR whose translations are in the ring, and that is too long for BlueFlame. */
QUICK int post_long(struct bsn_sq *sq, struct mkey_object *slot, uint64_t length, uint64_t id,
		    unsigned flags, uint32_t padded)
{
	struct bsn_be64 head;
	const uint8_t *wqe;

	if (flags & BSN_F_FENCE || padded > UMR_INLINE_MAX)
		__builtin_unreachable();
	slot->pub.length = length;
	wqe = umr_put_head(sq, &slot->target, length, padded, id, flags, &head);
	mkey_note_post(slot, sq, 0);
	return umr_publish_long(sq, wqe, head, padded, flags);
}

/* One that is not. */
BSN_ALWAYS_INLINE int post_short(struct bsn_sq *sq, struct mkey_object *slot, uint64_t length,
				 uint64_t id, unsigned flags, uint32_t padded)
{
	if (BSN_REST_SGES == BSN_REST_VECTORS)
		return mkey_post_put(sq, slot, length, id, flags, padded);
	return mkey_post_put_wide(sq, slot, length, id, flags, padded);
}

BSN_ALWAYS_INLINE int post(struct bsn_sq *sq, struct mkey_object *slot, uint64_t length,
			   uint64_t id, unsigned flags, uint32_t padded)
{
	return umr_bytes(padded) > BSN_BF_BUFFER_BYTES
		       ? post_long(sq, slot, length, id, flags, padded)
		       : post_short(sq, slot, length, id, flags, padded);
}

/* Whether the parts of a kind are in memory that is known, and by the keys of it. */
BSN_ALWAYS_INLINE bool is_of_memory(const struct bsn_mkey_pool *pool, const struct bsn_part *parts,
				    struct umr_kind kind)
{
	if (!mkey_is_of_last_memory(pool, parts))
		return false;
	return !kind.has_turns || /* of one key all parts have to be apart */
	       (umr_key_of(&parts[1]) == pool->memory[1].key &&
		umr_key_of(&parts[1]) != umr_key_of(&parts[0]));
}

/* Puts the translations of all eights, and goes on to what comes after them. */
#if defined(__x86_64__)
/* ThreadSanitizer's calls may come anywhere, and change it. */
#ifdef BSN_THREADS_ARE_WATCHED
#define UMR_IN(name)
#else
#define UMR_IN(name) __asm__(name)
#endif

UMR_WIDE void pass_eights(struct umr_ordered *pass, uint8_t **at, const struct bsn_part **part,
			  const struct bsn_layout *layout, struct umr_kind kind)
{
	/* No parameter is in these, so that none has to move. */
	register const struct bsn_part *from UMR_IN("r10");
	register uint8_t *to UMR_IN("r11");
	size_t bytes = (size_t)umr_eights_of(layout->part_count, kind) * BSN_DS_SIZE;

	BSN_HIDE(bytes);
	*at += bytes;
	*part = (const void *)((const char *)*part + bytes * (sizeof(**part) / BSN_DS_SIZE));
	to = *at;
	from = *part;
	__asm__ volatile("" : "+r"(to), "+r"(from) : : "memory");
	umr_pass_eights(pass, to, from, layout->part_count, kind);
}
#else
UMR_WIDE void pass_eights(struct umr_ordered *pass, uint8_t **at, const struct bsn_part **part,
			  const struct bsn_layout *layout, struct umr_kind kind)
{
	umr_pass_all_eights(pass, at, part, layout->part_count, kind);
}
#endif

UMR_WIDE int configure(struct bsn_ep *ep, struct mkey_object *slot, const struct bsn_layout *given,
		       uint64_t id, unsigned flags, struct umr_kind kind)
{
	const struct bsn_layout *const layout = AS_LOOKED_AT(given);
	struct bsn_sq *const sq = ep->sq;
	const bool has_rounds = kind.has_rounds;
	const struct bsn_part *part;
	struct umr_ordered pass;
	uint32_t padded;
	uint8_t *at;
	uint64_t bytes;

	if (BSN_UNLIKELY(sq->route.has_failed || !is_of_memory(slot->pool, layout->parts, kind)))
		goto otherwise;
	UMR_LOAD_AGAIN();
	if (BSN_UNLIKELY(!umr_may_put(sq, layout->part_count + has_rounds, flags)))
		return mkey_configure_elsewhere(&sq->ep, slot, given, id, flags);
	UMR_LOAD_AGAIN();
	if (kind.are_eights ? has_rounds : (layout->part_count + has_rounds) % UMR_ALIGN)
		umr_put_padding(umr_end_of(sq, umr_padded(layout->part_count + has_rounds)));
	at = umr_begin(sq) + has_rounds * BSN_DS_SIZE;
	part = layout->parts;
	pass = umr_begin_ordered(part, slot->pool->wanted, (uint32_t)slot->pool->attr.page_bytes,
				 kind);
	if (!kind.are_few) {
		pass_eights(&pass, &at, &part, layout, kind);
		UMR_LOAD_AGAIN();
	}
	if (kind.are_few || (!kind.are_eights && layout->part_count % 8))
		umr_pass_rest(&pass, at, part, layout->part_count, kind);
	if (BSN_UNLIKELY(!umr_end_ordered(&pass, layout->parts, layout->part_count,
					  slot->pool->wanted, layout->rounds, kind))) {
		slot->pool->configure = mkey_configure_known;
		goto otherwise;
	}
	UMR_LOAD_AGAIN();
	bytes = kind.has_pages ? layout->part_count * slot->pool->attr.page_bytes
			       : umr_bytes_of(&pass, layout->part_count, kind);
	if (has_rounds) {
		bsn_store_ds(umr_begin(sq),
			     umr_repeat((uint32_t)bytes, layout->rounds, layout->part_count));
		bytes *= layout->rounds;
	}
	padded = kind.are_eights && !has_rounds ? layout->part_count
						: umr_padded(layout->part_count + has_rounds);
	if (kind.are_many)
		return post_long(sq, slot, bytes, id, flags, padded);
	return kind.are_few && !has_rounds ? post_short(sq, slot, bytes, id, flags, padded)
					   : post(sq, slot, bytes, id, flags, padded);
otherwise:
	return mkey_configure_known(&sq->ep, slot, given, id, flags);
}

/* Whether so many parts may be looked at like this. */
BSN_ALWAYS_INLINE bool has_parts(const struct bsn_mkey_pool *pool, const struct bsn_layout *layout)
{
	return BSN_LIKELY(layout->part_count - UMR_ORDERED_FROM < pool->max_quick_parts) &&
	       BSN_LIKELY(layout->parts != NULL);
}

/* The same of eights, which are more than a few. */
BSN_ALWAYS_INLINE bool has_eights(const struct bsn_mkey_pool *pool, const struct bsn_layout *layout)
{
	return BSN_LIKELY(layout->part_count - (UMR_FEW + 1) < pool->max_many_parts) &&
	       BSN_LIKELY(layout->part_count % 8 == 0) && BSN_LIKELY(layout->parts != NULL);
}

static mkey_configure_function configure_list;

/* What is tried first where the last one was like that: of eights, which are more than a few, and of one round. */
QUICK int configure_eights(struct bsn_ep *ep, struct mkey_object *slot,
			   const struct bsn_layout *layout, uint64_t id, unsigned flags)
{
	if (!has_eights(slot->pool, layout) || BSN_UNLIKELY(layout->rounds > 1))
		return configure_list(ep, slot, layout, id, flags);
	return configure(ep, slot, layout, id, flags,
			 (struct umr_kind){ .are_many = true, .are_eights = true });
}

/* The same of several rounds. */
QUICK int configure_eight_entries(struct bsn_ep *ep, struct mkey_object *slot,
				  const struct bsn_layout *layout, uint64_t id, unsigned flags)
{
	if (!has_eights(slot->pool, layout) || BSN_UNLIKELY(layout->rounds <= 1))
		return configure_list(ep, slot, layout, id, flags);
	return configure(
		ep, slot, layout, id, flags,
		(struct umr_kind){ .are_many = true, .are_eights = true, .has_rounds = true });
}

QUICK int configure_many(struct bsn_ep *ep, struct mkey_object *slot,
			 const struct bsn_layout *layout, uint64_t id, unsigned flags)
{
	return configure(ep, slot, layout, id, flags, (struct umr_kind){ .are_many = true });
}

QUICK int configure_entries(struct bsn_ep *ep, struct mkey_object *slot,
			    const struct bsn_layout *layout, uint64_t id, unsigned flags)
{
	return configure(ep, slot, layout, id, flags,
			 (struct umr_kind){ .are_many = true, .has_rounds = true });
}

QUICK int configure_few_entries(struct bsn_ep *ep, struct mkey_object *slot,
				const struct bsn_layout *layout, uint64_t id, unsigned flags)
{
	return configure(ep, slot, layout, id, flags,
			 (struct umr_kind){ .has_rounds = true, .are_few = true });
}

QUICK int configure_few(struct bsn_ep *ep, struct mkey_object *slot,
			const struct bsn_layout *layout, uint64_t id, unsigned flags)
{
	return layout->rounds > 1 ? configure_few_entries(ep, slot, layout, id, flags)
				  : configure(ep, slot, layout, id, flags,
					      (struct umr_kind){ .are_few = true });
}

QUICK int configure_list(struct bsn_ep *ep, struct mkey_object *slot,
			 const struct bsn_layout *layout, uint64_t id, unsigned flags)
{
	if (!has_parts(slot->pool, layout))
		return mkey_configure_known(ep, slot, layout, id, flags);
	if (layout->part_count <= UMR_FEW)
		return configure_few(ep, slot, layout, id, flags);
	if (layout->part_count % 8)
		return layout->rounds > 1 ? configure_entries(ep, slot, layout, id, flags)
					  : configure_many(ep, slot, layout, id, flags);
	slot->pool->configure = layout->rounds > 1 ? configure_eight_entries : configure_eights;
	return slot->pool->configure(ep, slot, layout, id, flags);
}

/* A list of two keys; an odd number of parts is for others. */
QUICK int configure_turns(struct bsn_ep *ep, struct mkey_object *slot,
			  const struct bsn_layout *layout, uint64_t id, unsigned flags)
{
	if (!has_parts(slot->pool, layout) || layout->part_count % 2 || layout->rounds > 1)
		return mkey_configure_known(ep, slot, layout, id, flags);
	return configure(ep, slot, layout, id, flags, (struct umr_kind){ .has_turns = true });
}

QUICK int configure_few_pages(struct bsn_ep *ep, struct mkey_object *slot,
			      const struct bsn_layout *layout, uint64_t id, unsigned flags)
{
	return configure(ep, slot, layout, id, flags,
			 (struct umr_kind){ .are_few = true, .has_pages = true });
}

QUICK int configure_page_list(struct bsn_ep *ep, struct mkey_object *slot,
			      const struct bsn_layout *layout, uint64_t id, unsigned flags)
{
	if (!has_parts(slot->pool, layout) || layout->rounds > 1)
		return mkey_configure_known(ep, slot, layout, id, flags);
	return layout->part_count <= UMR_FEW
		       ? configure_few_pages(ep, slot, layout, id, flags)
		       : configure(ep, slot, layout, id, flags,
				   (struct umr_kind){ .are_many = true, .has_pages = true });
}

#if defined(__x86_64__)

/* -- what was committed ------------------------------------------------------------------------------ */

/* What the translations of the parts are. */
enum kind { UNIFORM, PAGES, LIST };

UMR_WIDE int copy(struct bsn_ep *ep, struct mkey_object *slot, const struct bsn_layout *layout,
		  uint64_t id, unsigned flags, enum kind kind)
{
	const struct bsn_commit *const commit = &layout->commit;
	uint8_t *at;

	if (BSN_UNLIKELY(!umr_may_put(ep->sq, commit->padded, flags)))
		return mkey_configure_elsewhere(ep, slot, layout, id, flags);
	UMR_LOAD_AGAIN();
	if (commit->padded != (kind == UNIFORM ? umr_committed(layout) : layout->part_count))
		umr_put_padding(umr_end_of(ep->sq, commit->padded));
	UMR_LOAD_AGAIN();
	at = umr_begin(ep->sq);
	if (kind == UNIFORM && layout->rounds > 1) {
		bsn_store_ds(at,
			     umr_repeat(commit->round_bytes, layout->rounds, layout->part_count));
		at += BSN_DS_SIZE;
	}
	if (kind == LIST)
		umr_copy_list_wide(at, layout->parts, layout->part_count);
	else
		umr_copy_wide(at, layout->parts, layout->part_count,
			      (struct bsn_be64){ commit->common }, kind == PAGES);
	UMR_LOAD_AGAIN();
	return post(ep->sq, slot, commit->length, id, flags, commit->padded);
}

QUICK int configure_pages(struct bsn_ep *ep, struct mkey_object *slot,
			  const struct bsn_layout *layout, uint64_t id, unsigned flags)
{
	return copy(ep, slot, layout, id, flags, PAGES);
}

/* Of several keys. */
QUICK int configure_parts(struct bsn_ep *ep, struct mkey_object *slot,
			  const struct bsn_layout *layout, uint64_t id, unsigned flags)
{
	if (layout->rounds > 1 || !layout->commit.round_bytes)
		return mkey_configure_committed(ep, slot, layout, id, flags);
	return copy(ep, slot, layout, id, flags, LIST);
}

QUICK int configure_uniform(struct bsn_ep *ep, struct mkey_object *slot,
			    const struct bsn_layout *layout, uint64_t id, unsigned flags)
{
	if (BSN_UNLIKELY(!layout->commit.common))
		return configure_parts(ep, slot, layout, id, flags);
	return layout->commit.round_bytes ? copy(ep, slot, layout, id, flags, UNIFORM)
					  : configure_pages(ep, slot, layout, id, flags);
}

#endif

/* -- the choice -------------------------------------------------------------------------------------- */

mkey_configure_function *mkey_choose_configure(const struct bsn_mkey_pool *pool, bool has_turns)
{
	if (!HAS_QUICK || pool->attr.page_bytes > 1u << UMR_SPAN_LOG2)
		return mkey_configure_known;
	if (pool->attr.page_bytes)
		return has_turns ? mkey_configure_known : configure_page_list;
	return has_turns ? configure_turns : configure_list;
}

#else

mkey_configure_function *mkey_choose_configure(const struct bsn_mkey_pool *pool, bool has_turns)
{
	(void)pool, (void)has_turns;
	return mkey_configure_known;
}

#endif

mkey_configure_function *mkey_choose_committed(void)
{
#if defined(__x86_64__)
	return __builtin_cpu_supports("avx2") ? configure_uniform : mkey_configure_committed;
#else
	return mkey_configure_committed;
#endif
}
