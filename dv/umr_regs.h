/* SPDX-License-Identifier: BSD-2-Clause */
/* WQEs in registers, for UMRs alone, until these are built like all others. Private to dv/. */
#ifndef DV_UMR_REGS_H
#define DV_UMR_REGS_H

#include "publish.h"
#include "sq.h"

#if defined(__SSE4_1__)
#include <smmintrin.h>
#elif defined(__x86_64__)
#include <emmintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

/*
 * More often than not; and hardly more often. gcc chooses registers for what is likely, at the cost of all else: so where
 * these are scarce, and the other way is common, too, it is not told that it is rare.
 */
#if defined(__clang__) || __GNUC__ < 9
#define BSN_OFTEN(x)  BSN_LIKELY(x)
#define BSN_EVENLY(x) BSN_LIKELY(x)
#else
#define BSN_OFTEN(x)  __builtin_expect_with_probability(!!(x), 1, 0.7)
#define BSN_EVENLY(x) __builtin_expect_with_probability(!!(x), 1, 0.55)
#endif

/*
 * From here on gcc knows nothing of the value of an integer variable or a pointer. It is only a hint:
 * clang 14 forgets it where it duplicates the code after it.
 */
#ifdef __clang__
#define BSN_HIDE(x) ((void)(x))
#else
#define BSN_HIDE(x) __asm__("" : "+r"(x))
#endif

/* The same of a vector. */
#ifdef __x86_64__
#define BSN_VECTOR_REGISTER "x"
#else
#define BSN_VECTOR_REGISTER "w"
#endif
#ifdef __clang__
#define BSN_HIDE_V2(v) ((void)(v))
#define BSN_KEEP_IN_VECTOR(x) ((void)(x))
#define BSN_AFTER(x, y)       ((void)(x))
#define BSN_AFTER_V2(x, v)    ((void)(x))
#else
#define BSN_HIDE_V2(v) __asm__("" : "+" BSN_VECTOR_REGISTER(v))
#define BSN_KEEP_IN_VECTOR(x) __asm__("" : "+" BSN_VECTOR_REGISTER(x))
/* The same of @x, not before @y, or the vector @v, is there: so no register is kept for @x until then, too. */
#define BSN_AFTER(x, y)    __asm__("" : "+r"(x) : "r"(y))
#define BSN_AFTER_V2(x, v) __asm__("" : "+r"(x) : BSN_VECTOR_REGISTER(v))
#endif

/*
 * As BSN_HIDE(), and the variable is in the register of a third or fourth parameter: functions that post have it there, and
 * call others with the same parameters, so that it need not be moved. A shift takes its number of bits there, too.
 */
#if defined(__x86_64__) && !defined(__clang__)
#define BSN_KEEP_IN_THIRD(x)  __asm__("" : "+d"(x))
#define BSN_KEEP_IN_FOURTH(x) __asm__("" : "+c"(x))
#else
#define BSN_KEEP_IN_THIRD(x)  BSN_HIDE(x)
#define BSN_KEEP_IN_FOURTH(x) BSN_HIDE(x)
#endif

/* A variable gets whatever a register has, any or that of a parameter: it is one that nobody reads. */
#define BSN_ANY(x)        __asm__("" : "=r"(x))
#define BSN_ANY_VECTOR(v) __asm__("" : "=" BSN_VECTOR_REGISTER(v))
#if defined(__x86_64__)
#define BSN_ANY_SECOND(x) __asm__("" : "=S"(x))
#define BSN_ANY_THIRD(x)  __asm__("" : "=d"(x))
#define BSN_ANY_FOURTH(x) __asm__("" : "=c"(x))
#else
#define BSN_ANY_SECOND(x) BSN_ANY(x)
#define BSN_ANY_THIRD(x)  BSN_ANY(x)
#define BSN_ANY_FOURTH(x) BSN_ANY(x)
#endif

/* The compiler knows nothing of a variable in memory, and loads it anew. */
#define BSN_FORGET(x) __asm__("" : "+m"(x))


/*
 * Whether blocks of so many @bytes are free, in one piece, of which the last one may be at @limit: they are, most often;
 * or more often than not; or hardly more often.
 */
#define BSN_FITS(name, likely)                                                                     \
	BSN_ALWAYS_INLINE bool name(const struct bsn_sq *sq, const uint8_t *limit, size_t bytes)   \
	{                                                                                          \
		if (__builtin_constant_p(bytes) && bytes == BSN_BB_SIZE)                           \
			return likely(sq->slot <= limit);                                          \
		if (__builtin_constant_p(bytes) && bytes == 2 * BSN_BB_SIZE)                       \
			return likely(sq->slot < limit);                                           \
		return likely(sq->slot + (bytes - BSN_BB_SIZE) <= limit);                          \
	}
BSN_FITS(bsn_fits, BSN_LIKELY)
BSN_FITS(bsn_fits_often, BSN_OFTEN)
BSN_FITS(bsn_fits_evenly, BSN_EVENLY)
#undef BSN_FITS


/* -- changes in memory ---------------------------------------------------------------------------- */

/* Adds in memory: gcc 12 would go on with what it has loaded, in two instructions. */
BSN_ALWAYS_INLINE void bsn_move_on(uint8_t **at, size_t bytes)
{
#if defined(__x86_64__)
	__asm__("addq %1, %0" : "+m"(*at) : "er"(bytes) : "cc");
#else
	*at += bytes;
#endif
}

/* The same of counters, of which gcc 12 would make one vector. */
BSN_ALWAYS_INLINE void bsn_count(uint64_t *counter, uint64_t more)
{
#if defined(__x86_64__)
	__asm__("addq %1, %0" : "+m"(*counter) : "er"(more) : "cc");
#else
	*counter += more;
#endif
}

/* The same of bits. */
BSN_ALWAYS_INLINE void bsn_set_bits(uint8_t *at, uint8_t bits)
{
#if defined(__x86_64__)
	__asm__("orb %1, %0" : "+m"(*at) : "iq"(bits) : "cc");
#else
	*at |= bits;
#endif
}

/* -- one DS of 16 bytes in registers ------------------------------------------------------------- */

/*
 * A DS is a vector, or two words where it is made of words. The compiler knows which, and computes only
 * that form. It is stored to the ring and to the device in the same form, so neither has to be
 * converted.
 */
struct bsn_ds {
	bsn_v2 v;
	struct bsn_be64 w0, w1;
	bool is_vector;
};

BSN_ALWAYS_INLINE struct bsn_ds bsn_ds_of_words(struct bsn_be64 w0, struct bsn_be64 w1)
{
	const struct bsn_ds ds = { { 0, 0 }, w0, w1, false };

	return ds;
}

BSN_ALWAYS_INLINE struct bsn_ds bsn_ds_of_vector(bsn_v2 v)
{
	const struct bsn_ds ds = { v, { 0 }, { 0 }, true };

	return ds;
}

BSN_ALWAYS_INLINE struct bsn_ds bsn_ds_load(const void *src)
{
	return bsn_ds_of_vector(bsn_v2_load(src));
}

BSN_ALWAYS_INLINE bsn_v2 bsn_vector_of(struct bsn_ds ds)
{
#ifdef __SSE4_1__
	if (!ds.is_vector && __builtin_constant_p(ds.w1.raw)) /* gcc 12 would load it into a register first */
		return (bsn_v2){ ds.w0.raw, 0 } | (bsn_v2){ 0, ds.w1.raw };
#endif
	return ds.is_vector ? ds.v : (bsn_v2){ ds.w0.raw, ds.w1.raw };
}

/* As a vector, where other registers are scarce: each that has to be saved costs two instructions. */
BSN_ALWAYS_INLINE struct bsn_ds bsn_ds_in(struct bsn_ds ds, bool a_vector)
{
	return a_vector ? bsn_ds_of_vector(bsn_vector_of(ds)) : ds;
}

BSN_ALWAYS_INLINE struct bsn_be64 bsn_word_of(struct bsn_ds ds)
{
	return ds.is_vector ? (struct bsn_be64){ ds.v[0] } : ds.w0;
}

BSN_ALWAYS_INLINE void bsn_store_ds(uint8_t *dst, struct bsn_ds ds)
{
	if (ds.is_vector) {
		bsn_store_wqe_v2(dst, ds.v);
	} else {
		bsn_store_wqe(dst, ds.w0);
		bsn_store_wqe(dst + 8, ds.w1);
	}
}

/*
 * As a vector, when it was stored to @at. Before x86-64-v2, a word that is loaded again goes into the upper half by one
 * instruction, and one in a register by two.
 */
BSN_ALWAYS_INLINE bsn_v2 bsn_vector_stored(struct bsn_ds ds, const uint8_t *at)
{
#if defined(__x86_64__) && !defined(__SSE4_1__)
	bsn_v2 v = { ds.w0.raw, 0 };

	if (ds.is_vector || __builtin_constant_p(ds.w1.raw))
		return bsn_vector_of(ds);
	__asm__("movhps %1, %0" : "+x"(v) : "m"(*(const uint64_t *)(const void *)(at + 8)));
	return v;
#else
	(void)at;
	return bsn_vector_of(ds);
#endif
}

BSN_ALWAYS_INLINE void bsn_store_mmio_ds(uint8_t *reg, struct bsn_ds ds)
{
	if (ds.is_vector) {
		bsn_store_mmio_v2(reg, ds.v);
	} else {
		bsn_store_mmio(reg, ds.w0);
		bsn_store_mmio(reg + 8, ds.w1);
	}
}

/*
 * Where one instruction reorders the bytes of a vector (x86-64-v2, arm64), an address or a data
 * pointer is a vector. The byte order of a pattern is that of the DS: which byte of the vector goes
 * there.
 *
 * A vector is put together from the fields, each by a load of its own: one load of the whole structure
 * would be an instruction or two less, and wait for 5 ns and more where the fields were just stored.
 */
#if defined(__SSE4_1__) || defined(__aarch64__)
#define BSN_HAS_SHUFFLE 1

typedef uint8_t bsn_pattern __attribute__((vector_size(16)));

/* length, lkey, addr; and addr, rkey, 0 */
#if defined(__SSE4_1__)
BSN_ALWAYS_INLINE bsn_v2 bsn_vector_of_sge(const struct bsn_sge *sge)
{
	const __m128i low =
		_mm_insert_epi32(_mm_cvtsi32_si128((int)sge->length), (int)sge->lkey, 1);

	return (bsn_v2)_mm_insert_epi64(low, (long long)sge->addr, 1);
}

BSN_ALWAYS_INLINE bsn_v2 bsn_vector_of_remote(const struct bsn_remote *remote)
{
	const __m128i low = _mm_cvtsi64_si128((long long)remote->addr);

	return (bsn_v2)_mm_insert_epi32(low, (int)remote->rkey, 2);
}
#else
BSN_ALWAYS_INLINE bsn_v2 bsn_vector_of_sge(const struct bsn_sge *sge)
{
	const uint32x2_t low = vset_lane_u32(sge->lkey, vdup_n_u32(sge->length), 1);

	return (bsn_v2)vcombine_u64(vreinterpret_u64_u32(low), vcreate_u64(sge->addr));
}

BSN_ALWAYS_INLINE bsn_v2 bsn_vector_of_remote(const struct bsn_remote *remote)
{
	return (bsn_v2){ remote->addr, remote->rkey };
}
#endif

#define BSN_FROM_32(at) (at) + 3, (at) + 2, (at) + 1, (at)
#define BSN_FROM_64(at) BSN_FROM_32((at) + 4), BSN_FROM_32(at)
#define BSN_FROM_NONE   0xff, 0xff, 0xff, 0xff

BSN_ALWAYS_INLINE struct bsn_ds bsn_shuffle(bsn_v2 v, bsn_pattern pattern)
{
#if defined(__x86_64__)
	return bsn_ds_of_vector((bsn_v2)_mm_shuffle_epi8((__m128i)v, (__m128i)pattern));
#else
	return bsn_ds_of_vector((bsn_v2)vqtbl1q_u8((uint8x16_t)v, (uint8x16_t)pattern));
#endif
}
#else
#define BSN_HAS_SHUFFLE 0
#endif

/* -- begin: the control segment ------------------------------------------------------------------ */

BSN_ALWAYS_INLINE struct bsn_be64 bsn_ctrl0(const struct bsn_sq *sq, unsigned opcode, size_t ds)
{
	const struct bsn_ctrl what = { .opcode = opcode };

	/* A sum, which the compiler joins with the sum that @ds is made of. */
	return bsn_to_be64((bsn_ctrl_word(&what, 0) + ds) | sq->ctrl_next);
}

/* Whether the compiler knows that a request is appended, not rung. */
BSN_ALWAYS_INLINE bool bsn_is_appended(uint32_t flags)
{
	return __builtin_constant_p(flags & BSN_F_RING) && !(flags & BSN_F_RING);
}


/*
 * Word 1: stream, fence, ce and solicited in its high half, the immediate in the low one. Where it is the library's turn
 * to signal, bsn_end() has it changed. @has_peer: it is completed by bsn_add_peer(), and @ce_quiet is what has to change
 * in ce of a signaled request.
 */
BSN_ALWAYS_INLINE struct bsn_be64 bsn_ctrl1(const struct bsn_sq *sq, bool has_peer, uint32_t flags, uint32_t imm)
{
	const uint32_t bits = (flags & (has_peer ? BSN_F_CTRL & ~(uint32_t)BSN_F_SIGNALED : BSN_F_CTRL)) >> 8;
	uint32_t raw = bsn_byte_to_be32(bits).raw;

	if (__builtin_constant_p(flags))
		return bsn_byte_pair_to_be64(flags & BSN_F_SIGNALED ? bits : bits | sq->ce_quiet, imm);
	if (!(flags & BSN_F_SIGNALED)) /* this form costs others an instruction more, and those less */
		raw |= bsn_byte_to_be32(sq->ce_quiet).raw;
	return bsn_join_raw_to_be64(raw, bsn_to_be32(imm).raw);
}



/* -- put: the segments ---------------------------------------------------------------------------- */


/* A data pointer. */
BSN_ALWAYS_INLINE struct bsn_ds bsn_ds_data(const struct bsn_sge *sge)
{
#if BSN_HAS_SHUFFLE
	return bsn_shuffle(bsn_vector_of_sge(sge),
			   (bsn_pattern){ BSN_FROM_32(0), BSN_FROM_32(4), BSN_FROM_64(8) });
#else
	const struct bsn_data data = { .byte_count = sge->length,
				       .lkey = sge->lkey,
				       .addr = sge->addr };

	return bsn_ds_of_words(bsn_to_be64(bsn_data_word(&data, 0)),
			       bsn_to_be64(bsn_data_word(&data, 1)));
#endif
}

/* The same of a length that bsn_are_plain() has looked at: the compiler does not clear its bit 31 again. */
BSN_ALWAYS_INLINE struct bsn_ds bsn_ds_plain(const struct bsn_sge *sge)
{
	if ((int32_t)sge->length < 0)
		__builtin_unreachable();
	return bsn_ds_data(sge);
}




/* The remote address. */
BSN_ALWAYS_INLINE struct bsn_ds bsn_ds_raddr(const struct bsn_remote *remote)
{
#if BSN_HAS_SHUFFLE
	return bsn_shuffle(bsn_vector_of_remote(remote),
			   (bsn_pattern){ BSN_FROM_64(0), BSN_FROM_32(8), BSN_FROM_NONE });
#else
	const struct bsn_raddr raddr = { .raddr = remote->addr, .rkey = remote->rkey };

	return bsn_ds_of_words(bsn_to_be64(bsn_raddr_word(&raddr, 0)),
			       bsn_pair_to_be64(bsn_raddr_word(&raddr, 1)));
#endif
}


/* -- end: book-keeping and publication -------------------------------------------------------------- */



/* So many @bytes in whole blocks. */
BSN_ALWAYS_INLINE size_t bsn_whole_blocks(size_t bytes)
{
	return (bytes + BSN_BB_SIZE - 1) & ~(size_t)(BSN_BB_SIZE - 1);
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

/* Ends a WQE of which @known DS are in registers and the rest is in the ring; its slot was taken, its id kept. */
BSN_ALWAYS_INLINE int bsn_end(struct bsn_sq *sq, uint8_t *wqe, const struct bsn_regs *r, unsigned known,
			      size_t bytes, uint32_t flags)
{
	for (unsigned i = 0; i < known; i++)
		bsn_store_ds(wqe + BSN_DS_SIZE * i, r->ds[i]);
	bsn_sq_advance(sq, bytes);
	if (!(flags & BSN_F_SIGNALED) && --sq->quiet == 0)
		return bsn_sq_end_turn(sq, bytes, flags);
	return flags & BSN_F_RING ? publish(sq, wqe, bytes) : bsn_sq_append(sq, wqe);
}

/* -- as of sq.h -- */

/* The fence that is owed, as it lies in the control segment; a request's own is as good. */
static inline struct bsn_be64 bsn_sq_owed_fence(const struct bsn_sq *sq, uint32_t flags)
{
	const struct bsn_ctrl owed = {
		.fence = flags & BSN_F_FENCE ? BSN_FENCE_NONE : sq->next_fence,
	};

	if (owed.fence > BSN_FENCE_SMALL_AND_FENCE)
		__builtin_unreachable(); /* else it would be masked */
	return bsn_byte_pair_to_be64((uint32_t)(bsn_ctrl_word(&owed, 1) >> 32), 0);
}

/* Returns where the next one begins. */
BSN_ALWAYS_INLINE uint8_t *put_ds(uint8_t *at, struct bsn_ds ds)
{
	bsn_store_ds(at, ds);
	return at + BSN_DS_SIZE;
}

#endif
