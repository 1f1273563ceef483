/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The segments of any request, put into the ring from front to back; each word is stored once. Each
 * function returns where the next segment goes. Private to dv/.
 */
#ifndef DV_SEGMENTS_H
#define DV_SEGMENTS_H

#include "bsn_ops.h"
#include "bsn_post_block.h"
#include "messages.h"
#include "whole.h"

BSN_ALWAYS_INLINE struct bsn_be64 word_at(const uint8_t *wqe)
{
	struct bsn_be64 word;

	memcpy(&word, wqe, sizeof(word));
	return word;
}

/*
 * Loads 16 bytes as two words: they were stored as words, and a wider load would wait until both
 * stores left the store buffer.
 */
BSN_ALWAYS_INLINE bsn_v2 two_words_at(const uint8_t *wqe)
{
	return (bsn_v2){ word_at(wqe).raw, word_at(wqe + 8).raw };
}

BSN_ALWAYS_INLINE unsigned opcode_of(uint32_t what)
{
	return what & 0xff;
}

BSN_ALWAYS_INLINE unsigned count_of(uint32_t what)
{
	return what >> BSN_WHAT_COUNT_SHIFT;
}

/* The peer of an endpoint, whose queue has many peers. */
BSN_ALWAYS_INLINE const struct bsn_peer *to_peer(const struct bsn_ep *ep)
{
	return (const struct bsn_peer *)(const void *)ep;
}

/* The same for any queue; NULL: it has one peer. */
BSN_ALWAYS_INLINE const struct bsn_peer *peer_of(const struct bsn_ep *ep)
{
	return dv_sq(ep->sq)->has_peers ? to_peer(ep) : NULL;
}

BSN_ALWAYS_INLINE unsigned prefix_ds_of(const struct bsn_peer *peer)
{
	return peer ? peer->prefix_ds : 0;
}

/* bsn_has_remote() for any operation; that one is for inline code, which knows three. */
BSN_ALWAYS_INLINE unsigned has_remote(uint32_t what)
{
	return BSN_OPS_WITH_RADDR >> (what & 63) & 1;
}

/* DS before the data: control segment, address vector, remote address. */
BSN_ALWAYS_INLINE unsigned head_ds(const struct bsn_peer *peer, uint32_t what)
{
	return 1 + prefix_ds_of(peer) + has_remote(what);
}

BSN_ALWAYS_INLINE uint8_t *put_word(uint8_t *at, struct bsn_be64 word)
{
	bsn_store_wqe(at, word);
	return at + sizeof(word);
}

BSN_ALWAYS_INLINE uint8_t *put_copy(uint8_t *at, const void *src)
{
	bsn_store_wqe_v2(at, bsn_v2_load(src));
	return at + BSN_DS_SIZE;
}

/* Sets bits in a word that is in the WQE already. */
static inline void or_word(uint8_t *at, uint64_t bits)
{
	struct bsn_be64 word = word_at(at);

	word.raw |= bsn_to_be64(bits).raw;
	bsn_store_wqe(at, word);
}

/*
 * Puts control segment and prefix of a request of @ds DS. The prefix is the number of the peer's
 * SRQ, or its address vector, a compact one or one of three DS.
 */
BSN_ALWAYS_INLINE uint8_t *put_control(uint8_t *at, const struct bsn_sq *sq,
				       const struct bsn_peer *peer, uint32_t what, unsigned ds,
				       uint32_t imm)
{
	struct bsn_be64 word1 = bsn_ctrl_word1(sq, what, imm);

	if (peer)
		word1.raw |= peer->ctrl_bits;
	at = put_word(put_word(at, bsn_ctrl_word0(sq, opcode_of(what), ds)), word1);
	if (!peer)
		return at;
	at = put_copy(at, &peer->head);
	if (peer->prefix_ds == 1)
		return at;
	return put_copy(put_copy(at, peer->more), (const uint8_t *)peer->more + BSN_DS_SIZE);
}

/* Puts the remote address, if the operation has one. */
BSN_ALWAYS_INLINE uint8_t *put_remote(uint8_t *at, uint32_t what, const struct bsn_remote *remote)
{
	if (!has_remote(what))
		return at;
	return put_word(put_word(at, bsn_remote_word(remote, 0)), bsn_remote_word(remote, 1));
}

/* Puts all segments before the data. */
BSN_ALWAYS_INLINE uint8_t *put_head(uint8_t *at, const struct bsn_sq *sq,
				    const struct bsn_peer *peer, uint32_t what, unsigned ds,
				    const struct bsn_remote *remote, uint32_t imm)
{
	return put_remote(put_control(at, sq, peer, what, ds, imm), what, remote);
}

/*
 * Puts the header and @n bytes of data, at least one. Data longer than a DS are stored from their
 * end: first the last 16 bytes (of 13 to 15 bytes the last 8), then whole DS, which the copy to the
 * device loads as they were stored.
 */
BSN_ALWAYS_INLINE void put_inline(uint8_t *at, const uint8_t *src, uint32_t n)
{
	uint8_t *const to = at + BSN_INLINE_HDR_SIZE;
	const ptrdiff_t last = (ptrdiff_t)n - BSN_DS_SIZE;
	const uint64_t head = bsn_inline_head(n);
	uint64_t first, rest;

	if (n <= BSN_DS_INLINE_MAX) {
		bsn_load_few(src, n, &first, &rest);
		bsn_store_wqe(at, (struct bsn_be64){ head | first << 32 });
		bsn_store_wqe(at + 8, (struct bsn_be64){ rest });
		return;
	}
	if (last < 0) /* the last bytes reach back into the first DS */
		bsn_store_wqe(to + n - 8, (struct bsn_be64){ bsn_load_part(src + n - 8, 8) });
	else
		bsn_store_wqe_v2(to + last, bsn_v2_load(src + last));
	bsn_store_wqe(at, (struct bsn_be64){ head | bsn_load_part(src, 4) << 32 });
	bsn_store_wqe(at + 8, (struct bsn_be64){ bsn_load_part(src + 4, 8) });
	for (size_t i = (n - BSN_DS_INLINE_MAX - 1) & -BSN_DS_SIZE; i; i -= BSN_DS_SIZE)
		bsn_store_wqe_v2(at + i, bsn_v2_load(src + i - BSN_INLINE_HDR_SIZE));
}

/*
 * Puts the segments of an atomic. Its result has 8 B, whatever the SGE says, as in libmlx5's
 * set_data_ptr_seg_atomic().
 */
BSN_ALWAYS_INLINE uint8_t *put_atomic(uint8_t *at, const struct bsn_sge *result,
				      const uint64_t operand[2])
{
	const struct bsn_atomic_cs operands = { .swap = operand[0], .compare = operand[1] };
	const struct bsn_sge eight_bytes = { result->addr, 8, result->lkey };

	at = put_word(at, bsn_to_be64(bsn_atomic_cs_word(&operands, 0)));
	at = put_word(at, bsn_to_be64(bsn_atomic_cs_word(&operands, 1)));
	return bsn_put_sge(at, &eight_bytes);
}

/* Keeps the id, and for one of many peers its user pointer, where the poller looks for them. */
BSN_ALWAYS_INLINE void keep_id(struct bsn_sq *sq, uint8_t *wqe, const struct bsn_peer *peer,
			       unsigned ds, uint64_t id)
{
	if (peer) {
		bsn_peer_ids(sq, wqe)[0] = id;
		bsn_peer_ids(sq, wqe)[1] = (uintptr_t)peer->user;
	} else {
		bsn_keep_id(sq, wqe, ds, id);
	}
}

#endif
