/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The end of a WQE: its id is kept, the indices move on, and it is published. A WQE that is in registers goes from the
 * same ones into the ring and into the BlueFlame buffer; the rest of it is copied from the ring.
 */
#ifndef BSN_PUBLISH_H
#define BSN_PUBLISH_H

#include "bsn_segments.h"

BSN_HEADER_BEGIN

/* -- end: book-keeping and publication -------------------------------------------------------------- */

/*
 * Keeps the id where the poller will look for it; bsn_sq.h says where that is. @length and @near are of
 * any unit; they are compared here, so that no register keeps the result.
 */
BSN_ALWAYS_INLINE void bsn_keep_id(struct bsn_sq *sq, uint8_t *wqe, size_t length, size_t near,
				   uint64_t id)
{
	if (near && length <= near)
		*(uint64_t *)(void *)(wqe + BSN_NEAR_ID_AT) = id;
	else
		*bsn_id_of(sq, wqe) = id;
}

/* The same on a queue with many peers. */
BSN_ALWAYS_INLINE void bsn_keep_peer_id(struct bsn_sq *sq, const uint8_t *wqe,
					const struct bsn_peer *peer, uint64_t id)
{
	uint64_t *kept = bsn_peer_ids(sq, wqe);

	kept[0] = id;
	kept[1] = (uintptr_t)peer->user;
}

/* So many @bytes in whole blocks. */
BSN_ALWAYS_INLINE size_t bsn_whole_blocks(size_t bytes)
{
	return (bytes + BSN_BB_SIZE - 1) & ~(size_t)(BSN_BB_SIZE - 1);
}

/* Moves the index on by blocks of so many @bytes, inside the next control segment, in one addition. */
BSN_ALWAYS_INLINE void bsn_sq_advance(struct bsn_sq *sq, size_t bytes)
{
	const struct bsn_ctrl one = { .wqe_index = 1 };
	const uint64_t sum = bsn_ctrl_word(&one, 0) / BSN_BB_SIZE * bytes;

#if defined(__x86_64__)
	__asm__("addq %1, %0" : "+m"(sq->ctrl_next) : "er"(sum) : "cc");
#else
	sq->ctrl_next += sum;
#endif
}

/* This WQE is the last one: a turn to signal changes it, and bsn_ring() publishes it. */
BSN_ALWAYS_INLINE void bsn_set_last(struct bsn_sq *sq, const uint8_t *wqe)
{
	sq->last = (uint32_t)(uintptr_t)wqe;
}

/* A WQE is not published at once. */
BSN_ALWAYS_INLINE void bsn_sq_append(struct bsn_sq *sq, const uint8_t *wqe)
{
	bsn_set_last(sq, wqe);
	bsn_set_bits(&sq->publish, BSN_PUBLISH_APPENDED);
}

/*
 * A WQE, or its beginning, in registers: control segment, the peer's prefix, and more. The rest is in
 * the ring already.
 */
#define BSN_REGS_MAX 14 /* of WRITEs of 140 B inline to a peer; those of four SGEs have 9 */

struct bsn_regs {
	struct bsn_ds ds[BSN_REGS_MAX];
	bool moves_later; /* bsn_end() moves the slot on, which was not done before; the compiler knows */
	bool keeps_later; /* bsn_end() keeps @kept; the compiler knows, too */
	bool halves_later; /* and then may store @half over the first half of word 1 */
	uint32_t half;
	bsn_v2 kept;      /* the id, and the peer's user pointer */
};

/*
 * For each of them, without a loop: clang 14 may keep an array in memory that it saw indexed by a
 * variable.
 */
#define BSN_EACH_REG(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13)

/*
 * Takes blocks of so many @bytes, which are free and begin at @wqe, or returns where they begin. The sum comes first:
 * later its operands would have to be copied.
 */
BSN_ALWAYS_INLINE void bsn_sq_take_at(struct bsn_sq *sq, uint8_t *wqe, struct bsn_regs *r, size_t bytes)
{
	sq->slot = wqe + bytes;
	r->moves_later = false;
	r->keeps_later = false;
}

BSN_ALWAYS_INLINE uint8_t *bsn_sq_take(struct bsn_sq *sq, struct bsn_regs *r, size_t bytes)
{
	uint8_t *const wqe = sq->slot;

	bsn_sq_take_at(sq, wqe, r, bytes);
	return wqe;
}

/* The same of @bytes that the compiler knows. Where one or two blocks end was not looked at before. */
BSN_ALWAYS_INLINE uint8_t *bsn_sq_take_known(struct bsn_sq *sq, struct bsn_regs *r, size_t bytes)
{
	if (bytes > 2 * BSN_BB_SIZE)
		return bsn_sq_take(sq, r, bytes);
	r->moves_later = true;
	r->keeps_later = false;
	return sq->slot;
}

/*
 * What bsn_keep_peer_id() would keep of a WQE is put together now, so that it takes one register, and kept by bsn_end(),
 * after all stores to the WQE.
 */
BSN_ALWAYS_INLINE void bsn_keep_peer_id_later(struct bsn_regs *r, const struct bsn_peer *peer,
					      uint64_t id)
{
	r->kept = (bsn_v2){ id, (uintptr_t)peer->user };
	BSN_HIDE_V2(r->kept);
	r->keeps_later = true;
	r->halves_later = false;
}

/*
 * How the rest of a WQE was stored into the ring. It is loaded in the same way, so that the stores are
 * forwarded.
 */
enum bsn_rest {
	BSN_REST_NONE,
	BSN_REST_WORDS,
	BSN_REST_VECTORS,
	BSN_REST_ONE,    /* a vector, with which the WQE ends */
	BSN_REST_INLINE, /* vectors; BSN_PUBLISH_LONG tells if they are too many for BlueFlame */
	BSN_REST_SGES = BSN_HAS_SHUFFLE ? BSN_REST_VECTORS : BSN_REST_WORDS,
};

BSN_ALWAYS_INLINE struct bsn_ds bsn_rest_ds(enum bsn_rest rest, const uint8_t *src)
{
	struct bsn_be64 w0, w1;

	if (rest != BSN_REST_WORDS)
		return bsn_ds_load(src);
	memcpy(&w0, src, sizeof(w0));
	memcpy(&w1, src + 8, sizeof(w1));
	return bsn_ds_of_words(w0, w1);
}

/* Whether a WQE is all in vectors, from DS @first on: then the stores of 8 x 8 B and of 4 x 16 B are the same. */
BSN_ALWAYS_INLINE bool bsn_are_vectors(const struct bsn_regs *r, unsigned first, unsigned known,
				       enum bsn_rest rest)
{
	bool are = first < known && rest != BSN_REST_WORDS;

#define BSN_AND_REG(i)                                                                             \
	if ((i) >= first && (i) < known)                                                           \
		are = are && r->ds[i].is_vector;
	BSN_EACH_REG(BSN_AND_REG)
#undef BSN_AND_REG
	return are;
}

/* Copies a DS of the rest to the device. */
BSN_ALWAYS_INLINE void bsn_copy_rest(uint8_t *reg, const uint8_t *src, enum bsn_rest rest, bool by_16)
{
	bsn_store_mmio_ds(reg, bsn_ds_in(bsn_rest_ds(rest, src), by_16));
}

/* The @bytes of @wqe, whole blocks, of which @known DS are in registers, into a BlueFlame buffer. */
BSN_ALWAYS_INLINE void bsn_copy(uint8_t *reg, const uint8_t *wqe, size_t bytes,
				const struct bsn_regs *r, unsigned known, enum bsn_rest rest,
				bool by_16)
{
	const size_t left = known * BSN_DS_SIZE, known_bytes = bsn_bytes_of_ds(known);
	const bool is_one = rest == BSN_REST_ONE;
	/* What goes to the device after a WQE that ends inside a block. It does not read that: any vector will do. */
	const bool has_prefix = known > 1 && r->ds[1].is_vector; /* then a register for @wqe would cost more than it saves */
	bsn_v2 filler = has_prefix ? r->ds[1].v : (bsn_v2){ 0, 0 };

#define BSN_COPY_REG(i)                                                                            \
	if ((i) < known && by_16) {                                                                \
		filler = has_prefix ? bsn_vector_of(r->ds[i])                                      \
				    : bsn_vector_stored(r->ds[i], wqe + BSN_DS_SIZE * (i));        \
		bsn_store_mmio_v2(reg + BSN_DS_SIZE * (i), filler);                                \
	} else if ((i) < known) {                                                                  \
		bsn_store_mmio_ds(reg + BSN_DS_SIZE * (i), r->ds[i]);                              \
	}
	BSN_EACH_REG(BSN_COPY_REG)
#undef BSN_COPY_REG
	/*
	 * What is left of the last known block, and then others. There are few loops: in a function with more than 100, those
	 * of inlined code and unrolled ones too, gcc 12 keeps less in registers (ira-max-loops-num).
	 */
	if (is_one)
		bsn_copy_rest(reg + left, wqe + left, rest, by_16);
	if (is_one || rest == BSN_REST_NONE) {
		BSN_UNROLL for (size_t i = left + is_one * BSN_DS_SIZE; i < bsn_bytes_of_ds(known + is_one); i += BSN_DS_SIZE)
			bsn_store_mmio_v2(reg + i, filler);
		return;
	}
#define BSN_COPY_LEFT(i)                                                                           \
	if (left + BSN_DS_SIZE * (i) < known_bytes)                                                \
		bsn_copy_rest(reg + left + BSN_DS_SIZE * (i), wqe + left + BSN_DS_SIZE * (i), rest, by_16);
	BSN_COPY_LEFT(0)
	BSN_COPY_LEFT(1)
	BSN_COPY_LEFT(2)
#undef BSN_COPY_LEFT
	BSN_UNROLL_UNTIL for (size_t i = known_bytes; i < BSN_BF_BUFFER_BYTES; i += BSN_BB_SIZE) {
		if (i >= bytes)
			break;
		bsn_copy_rest(reg + i, wqe + i, rest, by_16);
		bsn_copy_rest(reg + i + 16, wqe + i + 16, rest, by_16);
		bsn_copy_rest(reg + i + 32, wqe + i + 32, rest, by_16);
		bsn_copy_rest(reg + i + 48, wqe + i + 48, rest, by_16);
	}
}

/* Publishes by the 8-byte doorbell, on a register of the lane's own. */
BSN_ALWAYS_INLINE int bsn_publish_doorbell(struct bsn_sq *sq, struct bsn_be64 head, size_t bytes)
{
	struct bsn_lane *const lane = bsn_sq_open_register(sq);
	uint8_t *const reg = lane->reg;

	bsn_store_mmio(reg, head);
	bsn_sq_close_register(lane, reg);
	bsn_count(&sq->count_rung, bytes);
	bsn_count(&sq->count_doorbells, 1);
	return 0;
}

/* Loaded again, so that @sq need not be where the first parameter of a call is, and an endpoint is already. */
BSN_ALWAYS_INLINE struct bsn_sq *bsn_sq_again(const struct bsn_sq *sq)
{
	return *(struct bsn_sq *const volatile *)&sq->ep.sq;
}

/* Publishes by other ways than BlueFlame by 8 B stores on a register of the lane's own. */
BSN_ALWAYS_INLINE int bsn_publish_otherwise(struct bsn_sq *sq, const uint8_t *wqe, size_t bytes,
					    const struct bsn_regs *r, unsigned known,
					    enum bsn_rest rest)
{
	struct bsn_lane *lane;
	uint8_t *reg, how;

	/* Loaded again, so that no register is kept for these rare cases. */
	BSN_FORGET(sq->publish);
	if (!bsn_are_vectors(r, 0, known, rest) && sq->publish == BSN_PUBLISH_16 &&
	    (rest == BSN_REST_INLINE || bytes <= BSN_BF_BUFFER_BYTES)) {
		lane = bsn_sq_open_register(sq);
		reg = lane->reg;
		bsn_copy(reg, wqe, bytes, r, known, rest, true);
		bsn_sq_close_register(lane, reg);
		return 0;
	}
	BSN_FORGET(sq->publish);
	how = sq->publish;
	if (how <= BSN_PUBLISH_DOORBELL)
		return bsn_publish_doorbell(sq, bsn_word_of(r->ds[0]), bytes);
	if (rest == BSN_REST_INLINE && how & BSN_PUBLISH_LONG) {
		sq->publish = how & (uint8_t)~BSN_PUBLISH_LONG;
		if (sq->publish <= BSN_PUBLISH_DOORBELL)
			return bsn_publish_doorbell(sq, bsn_word_of(r->ds[0]), bytes);
	}
	if (rest != BSN_REST_NONE || bytes > BSN_BB_SIZE) {
		/* Where it can be, @wqe is put together again, so that no register is kept for it. */
		sq->last = (uint32_t)(uintptr_t)(r->keeps_later ? sq->slot - bytes : wqe);
		/* Where the rest is in the ring this would cost the common way a move. */
		const int err = bsn_sq_ring(rest == BSN_REST_NONE ? bsn_sq_again(sq) : sq);
		if (err > 0)
			__builtin_unreachable(); /* else it could be taken for BSN_NOT_PLAIN or BSN_NO_ROOM */
		return err;
	}
	bsn_sq_publish_bb(bsn_sq_again(sq), bsn_vector_of(r->ds[0]),
			  known > 1 ? bsn_vector_of(r->ds[1]) : (bsn_v2){ 0, 0 },
			  known > 2 ? bsn_vector_of(r->ds[2]) : (bsn_v2){ 0, 0 },
			  known > 3 ? bsn_vector_of(r->ds[3]) : (bsn_v2){ 0, 0 });
	return 0;
}

/* Publishes a WQE that was not merely appended; the queue's index is after it. */
BSN_ALWAYS_INLINE int bsn_publish(struct bsn_sq *sq, const uint8_t *wqe, size_t bytes,
				  const struct bsn_regs *r, unsigned known, enum bsn_rest rest)
{
	const enum bsn_publish most =
		bsn_are_vectors(r, 0, known, rest) ? BSN_PUBLISH_16 : BSN_PUBLISH_8;

	struct bsn_lane *lane;
	uint8_t *reg;

	if (BSN_UNLIKELY(sq->publish > most ||
			 (rest != BSN_REST_INLINE && bytes > BSN_BF_BUFFER_BYTES)))
		return bsn_publish_otherwise(sq, wqe, bytes, r, known, rest);
	lane = bsn_sq_open_register(sq);
	reg = lane->reg;
	bsn_copy(reg, wqe, bytes, r, known, rest, false);
	bsn_sq_close_register(lane, reg);
	return 0;
}

/* Counts a request that is not signaled: whether it is the library's turn to signal one. */
BSN_ALWAYS_INLINE bool bsn_is_turn(struct bsn_sq *sq, uint32_t flags)
{
	return BSN_UNLIKELY(!(flags & BSN_F_SIGNALED) && --sq->quiet == 0);
}

/*
 * What comes last of such a request, of so many @bytes before the slot, in the place of what all others end with. It is
 * a jump, and takes nothing that a register would be kept for.
 */
BSN_ALWAYS_INLINE int bsn_end_turn(struct bsn_sq *sq, size_t bytes, uint32_t flags)
{
	const int err = flags & BSN_F_RING ? bsn_sq_publish_turn(bsn_sq_again(sq), bytes)
					   : bsn_sq_append_turn(bsn_sq_again(sq), bytes);

	if (err > 0)
		__builtin_unreachable(); /* as in bsn_publish_otherwise() */
	return err;
}

/*
 * Ends a WQE of which @known DS are in registers and the @rest is in the ring; its slot was taken.
 * It has BSN_NEAR_DS at the most where @length, of units of the caller's choice, is not more than @near. The
 * id of a queue with one peer is kept here, that of @peer, too; with @is_kept and without @peer it was before.
 */
BSN_ALWAYS_INLINE int bsn_end(struct bsn_sq *sq, uint8_t *wqe, const struct bsn_peer *peer,
			      bool is_kept, struct bsn_regs *r, unsigned known,
			      enum bsn_rest rest, size_t length, size_t near, size_t bytes,
			      uint64_t id, uint32_t flags)
{
	const bool is_last = r->keeps_later && bsn_is_appended(flags); /* asked once: later the compiler may know more */

	/* But those that are appended, which are stored once. A choice of two values would keep both in memory by clang 14. */
	if (!bsn_is_appended(flags) && bsn_are_vectors(r, 1, known, rest) &&
	    (rest != BSN_REST_NONE || __builtin_constant_p(r->ds[0].w1.raw)))
		r->ds[0] = bsn_ds_of_vector(bsn_vector_of(r->ds[0]));
	if (r->moves_later) /* after all loads that the WQE is made of; so many bytes are a constant */
		bsn_move_on(&sq->slot, bytes);
#define BSN_STORE_REG(i)                                                                           \
	if ((i) < known)                                                                           \
		bsn_store_ds(wqe + BSN_DS_SIZE * (i), r->ds[i]);
	BSN_EACH_REG(BSN_STORE_REG)
#undef BSN_STORE_REG
	if (r->keeps_later && r->halves_later)
		bsn_store_last4(wqe + 8, (const uint8_t *)&r->half);
	if (is_last)
		bsn_set_last(sq, wqe); /* before what is kept is found: then nobody needs the address any more */
	if (r->keeps_later)
		*(bsn_v2_aliased *)(void *)bsn_peer_ids(sq, wqe) = r->kept;
	else if (is_kept && peer)
		bsn_keep_peer_id(sq, wqe, peer, id);
	if (!is_kept)
		bsn_keep_id(sq, wqe, length, near, id);
	bsn_sq_advance(sq, bytes);
	if (!__builtin_constant_p(flags))
		BSN_HIDE(flags); /* else a bit of them would be kept since bsn_ctrl1() */
	if (bsn_is_turn(sq, flags))
		return bsn_end_turn(sq, bytes, flags);
	if (flags & BSN_F_RING)
		return bsn_publish(sq, wqe, bytes, r, known, rest);
	if (is_last)
		bsn_set_bits(&sq->publish, BSN_PUBLISH_APPENDED);
	else
		bsn_sq_append(sq, wqe);
	return 0;
}

BSN_HEADER_END

#endif
