/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A session takes as many slots as it has CQEs: the title is in the first, arrays of eight mini CQEs are in
 * the slots 1, 8, 16, … of them (bsn_decode.h). Each array is copied before what it becomes is written over
 * it. wqe/expand.c says what a CQE is made of; here it is only bytes of a title and bytes of a mini
 * CQE.
 *
 * Plain receives become completions at once, eight by eight; what is left of the session is a session then.
 * Everything else becomes whole CQEs in the ring, which are polled like others.
 */
#include "compressed.h"

#include <pthread.h>

#include "minis.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

enum { MOVES = 3, FORMATS = BSN_MINI_CSUM_STRIDX + 1, EIGHT = BSN_MINI_BASIC_MOST };

/* So many bytes of a mini CQE, up to four, from @from to @to of the CQE. */
struct move {
	size_t from, to, bytes;
};

struct recipe {
	struct bsn_mini_map map; /* of what minis have: without the counter */
	uint8_t step[BSN_CQE_SIZE]; /* added, byte by byte, from one CQE to the next */
	struct move move[MOVES]; /* of the first all four bytes */
	unsigned moves;
	bool has_low; /* minis have bytes of the first half */
	size_t counter_low, counter_high; /* where they are; 0: the map does not count */
	size_t length_from, counter_from; /* of minis; the latter only where the map does not count */
};

/* The rest of a session. */
struct session {
	uint8_t base[BSN_CQE_SIZE]; /* the next CQE without what its mini has */
	uint8_t minis[BSN_CQE_SIZE]; /* the array */
	uint8_t *at;       /* the slot of the next one */
	size_t stride;
	size_t to_end;     /* slots to the end of the ring */
	size_t left;
	uint8_t *ring;
	uint16_t counter;
};

static struct recipe recipes[FORMATS][2];

/* -- by four bytes at a time ------------------------------------------------------------------------ */

/*
 * @from: where they are in the mini; @base has zeros there. Four bytes are stored, as they are read, since a
 * load waits for stores that are narrower.
 */
BSN_ALWAYS_INLINE void move_bytes(size_t to, size_t bytes, const uint8_t *from, const uint8_t *base, uint8_t *cqe)
{
	uint32_t word = 0, rest;

	memcpy(&word, from, bytes);
	if (bytes < sizeof(word)) {
		memcpy(&rest, base + to, sizeof(rest));
		word |= rest;
	}
	memcpy(cqe + to, &word, sizeof(word));
}

#define PLAIN_STEP(i)                                                                              \
	*(bsn_v2_unaligned *)(void *)cqe = a;                                                      \
	*(bsn_v2_unaligned *)(void *)(cqe + 16) = b;                                               \
	*(bsn_v2_unaligned *)(void *)(cqe + 32) = c;                                               \
	*(bsn_v2_unaligned *)(void *)(cqe + 48) = d;                                               \
	move_bytes(first, 4, from[0] + (i) * BSN_MINI_SIZE, s->base, cqe);                         \
	move_bytes(second, second_bytes, from[1] + (i) * BSN_MINI_SIZE, s->base, cqe);             \
	if (counts) {                                                                              \
		bsn_store_be32(cqe + BSN_CQE_TAIL_OFFSET, tail);                                   \
		tail += 1u << 16;                                                                  \
	} else {                                                                                   \
		move_bytes(third, 2, from[2] + (i) * BSN_MINI_SIZE, s->base, cqe);                 \
	}                                                                                          \
	cqe += s->stride;

/*
 * Every way has two forms. With an @array, @count is a multiple of 8: the minis of the first eight are there,
 * those of the next where the first of them will be. Without, they are at @mini.
 */
BSN_ALWAYS_INLINE void expand_by_moves(const struct recipe *r, const struct session *s, size_t count,
				       const uint8_t *mini, const uint8_t *array, size_t second_bytes,
				       bool counts)
{
	const bsn_v2 a = bsn_v2_load(s->base), b = bsn_v2_load(s->base + 16),
		     c = bsn_v2_load(s->base + 32), d = bsn_v2_load(s->base + 48);
	const size_t first = r->move[0].to, second = r->move[1].to, third = r->move[2].to;
	uint8_t copy[BSN_CQE_SIZE];
	uint32_t tail = bsn_load_be32(s->base + BSN_CQE_TAIL_OFFSET);
	const uint8_t *const at = array ? copy : mini;
	const uint8_t *from[MOVES] = { at + r->move[0].from, at + r->move[1].from, at + r->move[2].from };
	uint8_t *cqe = s->at;

	/* Otherwise the compiler keeps a pointer for each CQE of eight, in memory. */
	BSN_HIDE(from[0]);
	BSN_HIDE(from[1]);
	BSN_HIDE(from[2]);
	if (!array) {
		for (size_t i = 0; i < count; i++) {
			PLAIN_STEP(i)
		}
		return;
	}
	for (; count; count -= EIGHT, array = cqe) {
		memcpy(copy, array, sizeof(copy));
		PLAIN_STEP(0) PLAIN_STEP(1) PLAIN_STEP(2) PLAIN_STEP(3)
		PLAIN_STEP(4) PLAIN_STEP(5) PLAIN_STEP(6) PLAIN_STEP(7)
	}
}

BSN_ALWAYS_INLINE void expand_plain(const struct recipe *r, const struct session *s, size_t count,
				    const uint8_t *mini, const uint8_t *array)
{
	if (r->move[1].bytes == 1)
		expand_by_moves(r, s, count, mini, array, 1, false);
	else if (r->moves == MOVES)
		expand_by_moves(r, s, count, mini, array, 2, false);
	else if (r->move[1].bytes == 2)
		expand_by_moves(r, s, count, mini, array, 2, true);
	else
		expand_by_moves(r, s, count, mini, array, 4, true);
}

/* -- by vectors -------------------------------------------------------------------------------------- */

#if defined(__x86_64__)

/* One CQE, the bytes of whose mini are in both lanes of @from: where @to_low and @to_high say. */
#define AVX2_STEP(i, from, to_low, to_high)                                                        \
	_mm256_storeu_si256((void *)(cqe + (i) * stride),                                          \
			    has_low ? _mm256_or_si256(low, _mm256_shuffle_epi8(from, to_low)) : low); \
	_mm256_storeu_si256((void *)(cqe + (i) * stride + 32),                                     \
			    _mm256_or_si256(high, _mm256_shuffle_epi8(from, to_high)));            \
	if (counts)                                                                                \
		high = _mm256_add_epi8(high, step);

/* Two, whose minis are in both lanes of @both. */
#define AVX2_PAIR(i, both)                                                                         \
	AVX2_STEP(i, both, to_low, to_high)                                                        \
	AVX2_STEP((i) + 1, both, second_to_low, second_to_high)

BSN_ALWAYS_INLINE long long bsn_mini_word(const uint8_t *mini, size_t i)
{
	long long word;

	memcpy(&word, mini + i * BSN_MINI_SIZE, sizeof(word));
	return word;
}

/* In both lanes. */
__attribute__((target("avx2"), always_inline)) static inline __m256i two_minis(const uint8_t *at)
{
	return _mm256_broadcastsi128_si256(_mm_loadu_si128((const void *)at));
}

#define AVX2_VECTORS                                                                               \
	const __m256i low = _mm256_loadu_si256((const void *)s->base),                             \
		      to_low = _mm256_loadu_si256((const void *)r->map.from),                      \
		      to_high = _mm256_loadu_si256((const void *)(r->map.from + 32)),              \
		      one_mini = _mm256_set1_epi8(BSN_MINI_SIZE), /* no byte stays none */        \
		      second_to_low = _mm256_add_epi8(to_low, one_mini),                           \
		      second_to_high = _mm256_add_epi8(to_high, one_mini),                         \
		      step = _mm256_loadu_si256((const void *)(r->step + 32));                     \
	__m256i high = _mm256_loadu_si256((const void *)(s->base + 32));                           \
	uint8_t *cqe = s->at;

__attribute__((target("avx2"), always_inline)) static inline void
expand_by_avx2(const struct recipe *r, const struct session *s, size_t count, const uint8_t *mini,
	       const uint8_t *array, size_t stride, bool has_low, bool counts)
{
	AVX2_VECTORS

	if (!array) {
		for (size_t i = 0; i < count; i++) {
			const __m256i from = _mm256_set1_epi64x(bsn_mini_word(mini, i));
			AVX2_STEP(i, from, to_low, to_high)
		}
		return;
	}
	for (; count; count -= EIGHT, array = cqe) {
		const __m256i a = two_minis(array), b = two_minis(array + 16), c = two_minis(array + 32),
			      d = two_minis(array + 48);

		AVX2_PAIR(0, a)
		AVX2_PAIR(2, b)
		AVX2_PAIR(4, c)
		AVX2_PAIR(6, d)
		cqe += EIGHT * stride;
	}
}

__attribute__((target("avx2"), always_inline)) static inline void
expand_avx2(const struct recipe *r, const struct session *s, size_t count, const uint8_t *mini,
	    const uint8_t *array)
{
	if (BSN_UNLIKELY(s->stride != BSN_CQE_SIZE))
		expand_by_avx2(r, s, count, mini, array, BSN_CQE128_SIZE, true, true);
	else if (r->counter_low)
		expand_by_avx2(r, s, count, mini, array, BSN_CQE_SIZE, true, true);
	else if (r->has_low)
		expand_by_avx2(r, s, count, mini, array, BSN_CQE_SIZE, true, false);
	else
		expand_by_avx2(r, s, count, mini, array, BSN_CQE_SIZE, false, false);
}

#elif defined(__aarch64__)

BSN_ALWAYS_INLINE void expand_neon(const struct recipe *r, const struct session *s, size_t count,
				   const uint8_t *mini, const uint8_t *array)
{
	const uint8x16x4_t to = vld1q_u8_x4(r->map.from);
	const uint8x16_t step = vld1q_u8(r->step + 48);
	uint8x16x4_t base = vld1q_u8_x4(s->base);
	uint8_t copy[BSN_CQE_SIZE], *cqe = s->at;

	do {
		const size_t here = array ? EIGHT : count;

		if (array)
			mini = memcpy(copy, array, sizeof(copy));
		for (size_t i = 0; i < here; i++, cqe += s->stride) {
			const uint8x16_t from =
				vcombine_u8(vld1_u8(mini + i * BSN_MINI_SIZE), vcreate_u8(0));

			for (int j = 0; j < 4; j++)
				vst1q_u8(cqe + 16 * j, vorrq_u8(base.val[j], vqtbl1q_u8(from, to.val[j])));
			base.val[3] = vaddq_u8(base.val[3], step);
		}
		array = cqe;
		count -= here;
	} while (count);
}

#endif

/* -- a session ---------------------------------------------------------------------------------------- */

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Of so many CQEs nothing but the lower byte of the counter changes, and they do not pass the ring's end. */
BSN_ALWAYS_INLINE size_t count_alike(const struct session *s, size_t wanted)
{
	return least(least(wanted, s->to_end), 0x100u - (s->counter & 0xff));
}

BSN_ALWAYS_INLINE void move_on(const struct recipe *r, struct session *s, size_t count)
{
	s->left -= count;
	s->at += count * s->stride;
	s->to_end -= count;
	s->counter = (uint16_t)(s->counter + count);
	if (r->counter_low) {
		s->base[r->counter_low] = (uint8_t)s->counter;
		s->base[r->counter_high] = (uint8_t)(s->counter >> 8);
	}
	if (BSN_UNLIKELY(!s->to_end)) {
		s->at = s->ring;
		s->to_end = SIZE_MAX;
		s->base[BSN_CQE_OP_OWN_OFFSET] ^= 1;
	}
}

/* Where the first array is: in the second slot. The others are where the first CQE that they have will be. */
static const uint8_t *second_slot(const struct session *s)
{
	return s->to_end > 1 ? s->at + s->stride : s->ring;
}

/* Whole arrays as far as they go; then one in parts, since the ring or the counter's byte ends in it. */
#define DEFINE_EXPAND(name, expand)                                                                \
	static void name(const struct recipe *r, struct session *s)                                \
	{                                                                                          \
		const uint8_t *array = second_slot(s);                                             \
                                                                                                   \
		do {                                                                               \
			const uint8_t *mini = s->minis;                                            \
			size_t count = count_alike(s, s->left) / EIGHT * EIGHT, here = 0;          \
                                                                                                   \
			if (BSN_LIKELY(count)) {                                                   \
				expand(r, s, count, NULL, array);                                  \
				if (BSN_LIKELY(count == s->left))                                  \
					return;                                                    \
				move_on(r, s, count);                                              \
			} else {                                                                   \
				here = least(s->left, EIGHT);                                      \
				memcpy(s->minis, array, BSN_CQE_SIZE);                             \
			}                                                                          \
			for (; here; here -= count, mini += count * BSN_MINI_SIZE) {               \
				count = count_alike(s, here);                                      \
				expand(r, s, count, mini, NULL);                                   \
				move_on(r, s, count);                                              \
			}                                                                          \
			array = s->at;                                                             \
		} while (s->left);                                                                 \
	}

DEFINE_EXPAND(plain_session, expand_plain)
#if defined(__x86_64__)
__attribute__((target("avx2"))) DEFINE_EXPAND(avx2_session, expand_avx2)
#elif defined(__aarch64__)
DEFINE_EXPAND(neon_session, expand_neon)
#endif

/* -- which way ---------------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	void (*expand)(const struct recipe *r, struct session *s); /* NULL: not of this architecture */
} expanders[BSN_EXPANDERS] = {
	[BSN_EXPAND_PLAIN] = { "plain", plain_session },
#if defined(__x86_64__)
	[BSN_EXPAND_AVX2] = { "avx2", avx2_session },
	[BSN_EXPAND_NEON] = { "neon", NULL },
#elif defined(__aarch64__)
	[BSN_EXPAND_AVX2] = { "avx2", NULL },
	[BSN_EXPAND_NEON] = { "neon", neon_session },
#endif
};

static enum bsn_expander usual; /* of CQs that were not told */

static bool has(enum bsn_expander how)
{
#if defined(__x86_64__)
	if (how == BSN_EXPAND_AVX2 && !__builtin_cpu_supports("avx2"))
		return false;
#endif
	return how < BSN_EXPANDERS && expanders[how].expand;
}

static bool choose(enum bsn_expander how)
{
	if (!has(how))
		return false;
	usual = how;
	return true;
}

/* Four bytes at @to begin with some of a mini's, one after the other. */
static bool find_move(const struct bsn_mini_map *map, size_t to, struct move *move)
{
	*move = (struct move){ .from = map->from[to], .to = to };
	while (move->bytes < 4 && map->from[to + move->bytes] < BSN_MINI_SIZE)
		move->bytes++;
	return move->bytes;
}

/* The counter is no byte of a mini: it goes up by itself, or the minis say it. */
static void find_counter(struct recipe *r)
{
	for (size_t at = 0; at < BSN_CQE_SIZE; at++) {
		if (r->map.from[at] == BSN_MINI_COUNTER_LOW)
			r->counter_low = at;
		if (r->map.from[at] == BSN_MINI_COUNTER_HIGH)
			r->counter_high = at;
		if (r->map.from[at] >= BSN_MINI_SIZE)
			r->map.from[at] = BSN_MINI_NO_BYTE;
	}
	if (!r->counter_low)
		return;
	r->map.keep[r->counter_low] = r->map.keep[r->counter_high] = 0xff; /* the title has the first */
	r->step[r->counter_low] = 1;
}

static void make_recipe(struct recipe *r, enum bsn_mini_format format, bool is_request)
{
	bsn_mini_map_init(&r->map, format, is_request);
	find_counter(r);
	for (size_t to = 0; to < BSN_CQE_SIZE && r->moves < MOVES; to += 4)
		r->moves += find_move(&r->map, to, &r->move[r->moves]);
	r->has_low = r->move[0].to < BSN_CQE_SIZE / 2; /* they are in order here */
	if (r->move[0].bytes < 4) { /* the length is a whole one in every format */
		const struct move part = r->move[0];

		r->move[0] = r->move[1];
		r->move[1] = part;
	}
	r->length_from = r->map.from[BSN_CQE_BYTE_COUNT_OFFSET];
	r->counter_from = r->map.from[BSN_CQE_TAIL_OFFSET];
}

static void begin(void)
{
	for (int format = 0; format < FORMATS; format++)
		for (int is_request = 0; is_request < 2; is_request++)
			make_recipe(&recipes[format][is_request], (enum bsn_mini_format)format, is_request);
	if (!choose(BSN_EXPAND_AVX2) && !choose(BSN_EXPAND_NEON))
		choose(BSN_EXPAND_PLAIN);
}

static pthread_once_t begun = PTHREAD_ONCE_INIT;

bool bsn_expand_by(enum bsn_expander how)
{
	pthread_once(&begun, begin);
	return choose(how);
}

/* In bsn_cq.mini_format: the format, and above it the way, each plus 1; no way: the usual one. */
enum { WAY_SHIFT = 4, FORMAT_MASK = (1 << WAY_SHIFT) - 1 };

void bsn_cq_set_compression(struct bsn_cq *cq, enum bsn_mini_format format)
{
	pthread_once(&begun, begin);
	cq->mini_format = (uint8_t)(format + 1);
}

bool bsn_cq_expand_by(struct bsn_cq *cq, const char *name)
{
	for (int how = 0; how < BSN_EXPANDERS; how++) {
		if (!expanders[how].name || strcmp(name, expanders[how].name) || !has((enum bsn_expander)how))
			continue;
		cq->mini_format = (uint8_t)((cq->mini_format & FORMAT_MASK) | (how + 1) << WAY_SHIFT);
		return true;
	}
	return false;
}

/* What bsn_cqe_block_begin() accepts of the basic layout. */
static bool is_title(const struct bsn_cqe_resp *resp)
{
	return resp->opcode <= BSN_CQE_RESP_SEND_INV && resp->format == BSN_CQE_COMPRESSED;
}

int bsn_cq_expand(struct bsn_cq *cq, const uint8_t *title, uint8_t phase)
{
	const unsigned format = cq->mini_format & FORMAT_MASK, way = cq->mini_format >> WAY_SHIFT;
	struct bsn_cqe_resp resp;
	struct session s;
	const struct recipe *r;

	bsn_cqe_resp_decode(&resp, title);
	if (!cq->mini_format || !is_title(&resp) || !resp.byte_count || resp.byte_count > cq->cqe_count)
		return -EPROTO;
	r = &recipes[format - 1][resp.opcode == BSN_CQE_REQ];
	s.at = (uint8_t *)(uintptr_t)title;
	s.stride = cq->stride;
	s.ring = (uint8_t *)(uintptr_t)cq->ring;
	s.to_end = (size_t)(cq->ring_end - title) / BSN_CQE_SIZE >> (s.stride / BSN_CQE128_SIZE);
	s.left = resp.byte_count;
	s.counter = (uint16_t)resp.wqe_counter;
	BSN_HIDE(r);
	BSN_UNROLL for (size_t i = 0; i < BSN_CQE_SIZE; i += sizeof(bsn_v2))
		*(bsn_v2_unaligned *)(void *)(s.base + i) = bsn_v2_load(title + i) & bsn_v2_load(r->map.keep + i);
	s.base[BSN_CQE_OP_OWN_OFFSET] =
		(uint8_t)((title[BSN_CQE_OP_OWN_OFFSET] & ~(BSN_RECV_KIND_FORMAT | 1u)) | phase);
	expanders[way ? way - 1 : usual].expand(r, &s);
	return 0;
}

/* -- receives at once ---------------------------------------------------------------------------------- */

/* What the completions of a session have in common, and where the rest is. */
struct taker {
	uint64_t status, who; /* status and flags, above the length; who and the immediate */
	void *user;
	const uint64_t *ids;
	uint32_t mask;
	uint32_t counter; /* of the next one, where minis do not say */
	size_t length_from, counter_from;
	uint8_t own; /* op_own of a slot that is done with */
};

BSN_ALWAYS_INLINE void take_one(const struct taker *t, const uint8_t *mini, uint32_t counter,
				struct bsn_completion *c)
{
	const uint64_t length = bsn_load_be32(mini + t->length_from) | t->status;
	const uint64_t who = t->who;

	memcpy((uint8_t *)c + offsetof(struct bsn_completion, byte_len), &length, sizeof(length));
	memcpy((uint8_t *)c + offsetof(struct bsn_completion, who), &who, sizeof(who));
	c->id = t->ids[counter & t->mask];
	c->user = t->user;
}

/* So many slots from @slot are done with: the next lap finds the owner bit of this one there. */
BSN_ALWAYS_INLINE void leave_slots(const struct taker *t, uint8_t *slot, size_t count, size_t stride)
{
	BSN_UNROLL_UNTIL for (size_t i = 0; i < count; i++)
		slot[i * stride + BSN_CQE_OP_OWN_OFFSET] = t->own;
}

/* Up to eight, whose array is there; the slots of the session's eight are not written before all are read. */
BSN_ALWAYS_INLINE void take_eight(const struct taker *t, const uint8_t *array, size_t count, bool counts,
				  struct bsn_completion *c)
{
	BSN_UNROLL_UNTIL for (uint32_t i = 0; i < count; i++) {
		const uint8_t *const mini = array + i * BSN_MINI_SIZE;
		uint16_t said;

		memcpy(&said, mini + (counts ? 0 : t->counter_from), sizeof(said));
		take_one(t, mini, counts ? t->counter + i : (uint32_t)bsn_wide_be16(said), &c[i]);
	}
}

BSN_ALWAYS_INLINE void copy_cqe(uint8_t *to, const uint8_t *from)
{
	BSN_UNROLL for (size_t i = 0; i < BSN_CQE_SIZE; i += sizeof(bsn_v2))
		*(bsn_v2_unaligned *)(void *)(to + i) = bsn_v2_load(from + i);
}

/* How many: all that are left; or whole eights, so that two or more are left. All are in one chunk. */
static size_t count_taken(const struct bsn_cq *cq, const uint8_t *title, size_t left, size_t wanted)
{
	const size_t room = (size_t)(cq->chunk_end - title) / cq->stride;
	const size_t most = least(wanted, room);
	size_t count;

	if (left <= most)
		return left;
	count = most / EIGHT * EIGHT;
	return count && left - count == 1 ? count - EIGHT : count;
}

/* What is left begins at @slot: its title goes there, and the array that was there to the slot after it. */
BSN_ALWAYS_INLINE void begin_again(const struct bsn_cq *cq, uint8_t *slot, const struct bsn_cqe_block *block,
				   uint32_t left, uint8_t own, uint16_t counter)
{
	uint8_t *const next = slot + cq->stride;

	copy_cqe(next == cq->ring_end ? (uint8_t *)(uintptr_t)cq->ring : next, slot);
	copy_cqe(slot, block->title);
	slot[BSN_CQE_OP_OWN_OFFSET] = (uint8_t)((own & ~1u) | cq->phase);
	slot[BSN_CQE_TAIL_OFFSET] = (uint8_t)(counter >> 8);
	slot[BSN_CQE_TAIL_OFFSET + 1] = (uint8_t)counter;
	bsn_store_be32(slot + BSN_CQE_BYTE_COUNT_OFFSET, left);
}

BSN_ALWAYS_INLINE void make_taker(struct taker *t, const struct bsn_route *route, const struct recipe *r,
		       const struct bsn_cqe_block *block, uint8_t kind)
{
	struct bsn_completion all = { 0 };

	bsn_cq_put_recv_who(bsn_cq_key(bsn_cq_who(block->title)), &all);
	bsn_cq_put_recv(block->title, kind, &all);
	all.byte_len = 0;
	memcpy(&t->status, (uint8_t *)&all + offsetof(struct bsn_completion, byte_len), sizeof(t->status));
	memcpy(&t->who, (uint8_t *)&all + offsetof(struct bsn_completion, who), sizeof(t->who));
	t->user = route->user;
	t->ids = route->rq->ids;
	t->mask = route->rq->mask;
	t->counter = block->next_counter;
	t->length_from = r->length_from;
	t->counter_from = r->counter_from;
	t->own = block->title[BSN_CQE_OP_OWN_OFFSET];
}

/* @t: a copy, so that the compiler keeps it in registers. */
BSN_ALWAYS_INLINE void take_all(struct taker t, const struct bsn_cq *cq, const uint8_t *title, size_t count,
				size_t stride, bool counts, struct bsn_completion *c)
{
	uint8_t *slot = (uint8_t *)(uintptr_t)title;
	const uint8_t *array = title + stride == cq->ring_end ? cq->ring : title + stride;

	for (; BSN_LIKELY(count >= EIGHT); count -= EIGHT, array = slot, c += EIGHT) {
		take_eight(&t, array, EIGHT, counts, c);
		leave_slots(&t, slot, EIGHT, stride);
		slot += EIGHT * stride;
		t.counter += EIGHT;
	}
	take_eight(&t, array, count, counts, c);
	leave_slots(&t, slot, count, stride);
}

int bsn_cq_take_session(struct bsn_cq *cq, const struct bsn_route *route, const uint8_t **next,
			struct bsn_completion *c, int n)
{
	const unsigned format = cq->mini_format & FORMAT_MASK;
	struct bsn_cqe_block block = { .format = (enum bsn_mini_format)(format - 1) };
	const uint8_t *const title = *next, own = title[BSN_CQE_OP_OWN_OFFSET];
	const struct recipe *r;
	struct taker t;
	size_t count;

	if (!format || bsn_cqe_block_begin(&block, title, NULL) || block.is_request || !block.left ||
	    block.left > cq->cqe_count)
		return 0;
	count = count_taken(cq, title, block.left, (size_t)n);
	if (!count)
		return 0;
	r = &recipes[block.format][false];
	make_taker(&t, route, r, &block, block.title[BSN_CQE_OP_OWN_OFFSET] ^ cq->phase);
	if (!r->counter_low)
		take_all(t, cq, title, count, cq->stride, false, c);
	else if (cq->stride == BSN_CQE_SIZE)
		take_all(t, cq, title, count, BSN_CQE_SIZE, true, c);
	else
		take_all(t, cq, title, count, cq->stride, true, c);
	__atomic_store_n(&route->rq->tail, route->rq->tail + (uint32_t)count, __ATOMIC_RELEASE); /* O6 */
	*next = title + count * cq->stride;
	if (*next == cq->chunk_end)
		*next = bsn_cq_next_chunk(cq, *next);
	if (count < block.left)
		begin_again(cq, (uint8_t *)(uintptr_t)*next, &block, block.left - (uint32_t)count, own,
			    (uint16_t)(t.counter + count));
	return (int)count;
}
