/* SPDX-License-Identifier: BSD-2-Clause */
/* Receive queues, the cold way: long lists of SGEs, shared receive queues, plain verbs. */
#include "bsn_rq.h"

#include <pthread.h>
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "init.h"
#include "refuse.h"

BSN_ALWAYS_INLINE uint64_t load_8(const void *src)
{
	return bsn_load_part(src, 8);
}

/* Empty SGEs are skipped, since a byte count of 0 means 2^31; a short list is terminated. */
BSN_ALWAYS_INLINE void put_list(const struct bsn_rq *rq, uint8_t *dst, const struct bsn_sge *sge,
				unsigned count)
{
	unsigned used = 0;

	for (unsigned i = 0; i < count; i++)
		if (sge[i].length)
			bsn_rq_put_list(dst + BSN_DATA_SIZE * used++, &sge[i], 1);
	bsn_rq_end_list(rq, dst, used);
}

int bsn_rq_refuse_long(void)
{
	return refuse(EMSGSIZE, "more SGEs than the queue was made for (max_recv_sge)");
}

static int check_list(const struct bsn_rq *rq, const struct bsn_sge *sge, unsigned count)
{
	if (count > rq->max_sge)
		return bsn_rq_refuse_long();
	for (unsigned i = 0; i < count; i++)
		if (sge[i].length > BSN_DATA_MAX_BYTES)
			return refuse(EMSGSIZE, "an SGE has less than 2 GiB");
	return 0;
}

static int refuse_full(struct bsn_rq *rq)
{
	rq->count_full++;
	return refuse(EAGAIN, "the receive queue is full: poll its CQ");
}

/* -- several at once -------------------------------------------------------------------------------- */

/* Returns how many were posted, or why the first was not. */
static int post_one_by_one(struct bsn_rq *rq, const struct bsn_sge *sge, const uint64_t *ids,
			   unsigned count)
{
	int err = 0;
	unsigned i;

	for (i = 0; i < count && !err; i++)
		err = bsn_rq_post(rq, &sge[i], 1, ids[i]);
	return err ? i > 1 ? (int)i - 1 : err : (int)i;
}

/* One that is not plain, or finds no room, is judged by itself. */
int bsn_rq_post_rest(struct bsn_rq *rq, const struct bsn_sge *sge, const uint64_t *ids, unsigned count,
		     unsigned put)
{
	int got = 0;

	while (put < count) {
		got = rq->path->post_some(rq, sge + put, ids + put, count - put);
		if (!got)
			got = post_one_by_one(rq, &sge[put], &ids[put], 1);
		if (got < 0)
			break;
		put += (unsigned)got;
	}
	return put ? (int)put : got;
}

int bsn_rq_post_all(struct bsn_rq *rq, const struct bsn_sge *sge, const uint64_t *ids, unsigned count)
{
	return bsn_rq_post_rest(rq, sge, ids, count, 0);
}

int bsn_rq_post_many(struct bsn_rq *rq, const struct bsn_sge *sge, const uint64_t *ids, unsigned count)
{
	return BSN_LIKELY(rq) ? rq->path->post_many(rq, sge, ids, count) : refuse(EINVAL, "no receive queue");
}

/* -- a shared receive queue that its pollers post to --------------------------------------------- */

/* With the lock held: the free WQE whose turn it is; NULL: those that are left have to rest. */
static uint16_t *take_locked(struct bsn_rq *rq)
{
	if (rq->tail - rq->lock->taken <= rq->lock->resting)
		return NULL;
	return &rq->free[rq->lock->taken & rq->mask];
}

static int post_locked(struct bsn_rq *rq, const struct bsn_sge *sge, unsigned count, uint64_t id)
{
	uint16_t next, *take;
	uint8_t *list;

	pthread_spin_lock(&rq->lock->lock);
	take = take_locked(rq);
	list = take ? bsn_srq_begin(rq, take, &next, id) : NULL;
	if (list) {
		put_list(rq, list, sge, count);
		bsn_srq_end(rq, take, next);
		rq->lock->taken++;
	}
	pthread_spin_unlock(&rq->lock->lock);
	return list ? 0 : refuse_full(rq);
}

static void add_free(struct bsn_rq *rq, uint32_t slot)
{
	const uint32_t tail = __atomic_fetch_add(&rq->tail, 1, __ATOMIC_ACQ_REL);

	__atomic_store_n(&rq->free[tail & rq->poller_mask], (uint16_t)slot, __ATOMIC_RELEASE); /* O6 */
}

void bsn_srq_give_back_shared(struct bsn_rq *rq, uint32_t slot)
{
	if (rq->lock)
		pthread_spin_lock(&rq->lock->lock);
	add_free(rq, slot);
	if (rq->lock)
		pthread_spin_unlock(&rq->lock->lock);
}

/* It was just given back, so there is one to take. */
bool bsn_srq_repost(struct bsn_rq *rq, uint32_t wqe_index)
{
	const uint32_t slot = wqe_index & rq->poller_mask;
	const uint8_t *from = rq->ring + (size_t)slot * rq->stride + BSN_SRQ_NEXT_SIZE;
	uint16_t next, *take;
	uint8_t *list;

	if (!rq->lock)
		return false;
	pthread_spin_lock(&rq->lock->lock);
	add_free(rq, slot);
	take = take_locked(rq);
	list = bsn_srq_begin(rq, take, &next, rq->ids[slot]);
	for (unsigned i = 0; i < rq->max_sge; i++)
		bsn_store_wqe_v2(list + i * BSN_DATA_SIZE, bsn_v2_load(from + i * BSN_DATA_SIZE));
	bsn_srq_end(rq, take, next);
	rq->lock->taken++;
	pthread_spin_unlock(&rq->lock->lock);
	return true;
}

/* The ring of free WQEs comes round: the entry after the last looks like one that is not filled yet. */
static void go_round(struct bsn_rq *rq)
{
	if (rq->take == rq->free + rq->mask + 1)
		rq->take = rq->free;
}

static int post_srq(struct bsn_rq *rq, const struct bsn_sge *sge, unsigned count, uint64_t id)
{
	uint16_t next;
	uint8_t *list;

	if (!rq->take)
		return post_locked(rq, sge, count, id);
	go_round(rq);
	list = bsn_srq_begin(rq, rq->take, &next, id);
	if (!list)
		return refuse_full(rq);
	put_list(rq, list, sge, count);
	bsn_srq_end(rq, rq->take++, next);
	return 0;
}

/* No number here yet: this is the end of the ring of free WQEs, or there is really none. */
static uint16_t *next_free(struct bsn_rq *rq, uint16_t *take)
{
	if (take == rq->free + rq->mask + 1)
		take = rq->free;
	return __atomic_load_n(take, __ATOMIC_ACQUIRE) == BSN_SRQ_NO_SLOT ? NULL : take; /* O6 */
}

/*
 * The WQEs of an SRQ, one after the other as the free ones come; the chain is published as one. The link
 * of each names what comes after it.
 */
static __attribute__((noinline)) int post_srq_links(struct bsn_rq *rq, const struct bsn_sge *sge, const uint64_t *ids,
			  unsigned count)
{
	const size_t stride = rq->stride;
	uint8_t *const ring = rq->ring;
	uint64_t *const all_ids = rq->ids;
	const bool ends = rq->max_sge > 1;
	uint16_t *take = rq->take;
	size_t slot = rq->srq_next;
	unsigned i;

	for (i = 0; i < count && bsn_are_plain(&sge[i], 1); i++, take++) {
		uint16_t next = __atomic_load_n(take, __ATOMIC_ACQUIRE); /* O6 */
		uint8_t *const wqe = ring + slot * stride;

		if (BSN_UNLIKELY(next == BSN_SRQ_NO_SLOT)) {
			uint16_t *const again = next_free(rq, take);
			if (!again)
				break;
			take = again;
			next = *take;
		}
		*take = BSN_SRQ_NO_SLOT;
		bsn_store_wqe(wqe, bsn_pair_to_be64(bsn_srq_next_word(
					   &(struct bsn_srq_next){ .next_wqe_index = next }, 0)));
		bsn_put_sge(wqe + BSN_SRQ_NEXT_SIZE, &sge[i]);
		if (ends)
			bsn_rq_end_list(rq, wqe + BSN_SRQ_NEXT_SIZE, 1);
		all_ids[slot] = ids[i];
		slot = next;
	}
	rq->take = take;
	if (i)
		bsn_srq_end_many(rq, i, (uint16_t)slot);
	return (int)i;
}

enum { RUN = 4, RUN_STRIDE = BSN_SRQ_NEXT_SIZE + BSN_DATA_SIZE };

#define EACH 0x0001000100010001u /* of four numbers */

/* Where a run goes, and where it comes from. */
struct run {
	uint64_t wanted; /* the numbers that follow each other, 16 bits each */
	uint64_t mask;   /* of those: the ring's last WQE is followed by the first */
	uint8_t *take, *wqe, *id_at;
	const struct bsn_sge *sge;
	const uint64_t *ids;
};

BSN_ALWAYS_INLINE struct run first_run(const struct bsn_rq *rq, const struct bsn_sge *sge, const uint64_t *ids)
{
	return (struct run){
		.wanted = (rq->srq_next * EACH + 0x0004000300020001) & rq->mask * EACH,
		.mask = rq->mask * EACH,
		.take = (uint8_t *)rq->take,
		.wqe = rq->slot + (size_t)rq->srq_next * RUN_STRIDE,
		.id_at = (uint8_t *)&rq->id_at[rq->srq_next],
		.sge = sge,
		.ids = ids,
	};
}

/* What was loaded at once was stored before what comes now. */
BSN_ALWAYS_INLINE void from_pollers(void)
{
#ifndef BSN_THREADS_ARE_WATCHED /* it knows no fences; and nothing is loaded so, see HAS_RUNS */
	__atomic_thread_fence(__ATOMIC_ACQUIRE); /* O6 */
#endif
}

/* Takes four free WQEs whose numbers follow each other; false: the next ones do not, or a list is not plain. */
BSN_ALWAYS_INLINE bool take_run(const struct run *r)
{
	const uint64_t all_taken = UINT64_MAX; /* BSN_SRQ_NO_SLOT */

	if (BSN_UNLIKELY(load_8(r->take) != r->wanted) || !bsn_are_plain(&r->sge[0], 1) ||
	    !bsn_are_plain(&r->sge[1], 1) || !bsn_are_plain(&r->sge[2], 1) || !bsn_are_plain(&r->sge[3], 1))
		return false;
	from_pollers();
	memcpy(r->take, &all_taken, sizeof(all_taken));
	return true;
}

/* Keeps the ids, and goes on. */
BSN_ALWAYS_INLINE void end_run(struct run *r)
{
	*(bsn_v2_unaligned *)(void *)r->id_at = bsn_v2_load(r->ids);
	*(bsn_v2_unaligned *)(void *)(r->id_at + BSN_DS_SIZE) = bsn_v2_load(r->ids + 2);
	r->wanted = (r->wanted + RUN * EACH) & r->mask;
	r->take += sizeof(r->wanted);
	r->wqe += RUN * RUN_STRIDE;
	r->id_at += RUN * sizeof(*r->ids);
	r->sge += RUN;
	r->ids += RUN;
}

/* The links to four WQEs whose numbers, one after the other, are the 16 bits each of @numbers. */
static inline void put_links(uint8_t *wqe, uint64_t numbers)
{
	BSN_UNROLL for (unsigned i = 0; i < RUN; i++) {
		const struct bsn_srq_next link = { .next_wqe_index = (uint16_t)(numbers >> 16 * i) };
		bsn_store_wqe(wqe + i * RUN_STRIDE, bsn_pair_to_be64(bsn_srq_next_word(&link, 0)));
	}
}

/*
 * Of an SRQ whose lists are one SGE: posts runs of free WQEs whose numbers follow each other, as they do
 * where messages complete in the order in which they came; up to the ring's end. bsn_srq_end_many()
 * publishes them. Returns how many.
 */
static __attribute__((noinline)) unsigned put_runs(struct bsn_rq *rq, const struct bsn_sge *sge,
						   const uint64_t *ids, unsigned count)
{
	const unsigned to_end = rq->mask + 1 - rq->srq_next;
	struct run r = first_run(rq, sge, ids);
	unsigned left;

	if (count > to_end)
		count = to_end;
	for (left = count; left >= RUN && take_run(&r); left -= RUN) {
		put_links(r.wqe, r.wanted);
		BSN_UNROLL for (unsigned i = 0; i < RUN; i++)
			bsn_put_sge(r.wqe + i * RUN_STRIDE + BSN_SRQ_NEXT_SIZE, &r.sge[i]);
		end_run(&r);
	}
	rq->take = (uint16_t *)(void *)r.take;
	return count - left;
}

#ifdef BSN_THREADS_ARE_WATCHED
#define HAS_RUNS false /* what others store one by one is loaded at once */
#else
#define HAS_RUNS true
#endif

/* Whether put_runs() can be tried: not on a queue that its pollers post to, too. */
static bool has_runs(const struct bsn_rq *rq)
{
	return HAS_RUNS && rq->take && rq->max_sge == 1;
}

/* Posts one by one only until free WQEs follow each other again. It is called until all are posted. */
static int post_srq_some(struct bsn_rq *rq, const struct bsn_sge *sge, const uint64_t *ids,
			 unsigned count)
{
	unsigned put = 0;

	if (!rq->take)
		return post_one_by_one(rq, sge, ids, count);
	if (!has_runs(rq))
		return post_srq_links(rq, sge, ids, count);
	go_round(rq);
	if (count >= RUN)
		put = put_runs(rq, sge, ids, count);
	if (!put)
		return post_srq_links(rq, sge, ids, count < RUN ? count : RUN);
	bsn_srq_end_many(rq, put, (uint16_t)((rq->srq_next + put) & rq->mask));
	return (int)put;
}

static int post_srq1(struct bsn_rq *rq, const struct bsn_sge *sge, uint64_t id)
{
	return post_srq(rq, sge, 1, id);
}

static int post_srq_plain(struct bsn_rq *rq, const struct bsn_sge *sge, unsigned count, uint64_t id)
{
	return count > rq->max_sge ? bsn_rq_refuse_long() : post_srq(rq, sge, count, id);
}

static const struct bsn_rq_path srq_path = { .post1 = post_srq1,
					     .post_plain = post_srq_plain,
					     .post = post_srq,
					     .post_some = post_srq_some,
					     .post_many = bsn_rq_post_all };

/* -- a shared receive queue whose lists are one SGE, by vectors ---------------------------------------- */

enum { EIGHT = 8 };

/* Where the next eight go, and where they come from. */
struct eights {
	const struct bsn_sge *sge;
	const uint64_t *ids;
	uint8_t *wqe;
	uint64_t *id_at;
	uint16_t *take;
	bsn_v2 wanted; /* the numbers of WQEs that follow each other */
};

typedef uint16_t eight_numbers __attribute__((vector_size(16)));

BSN_ALWAYS_INLINE struct eights first_eight(const struct bsn_rq *rq, const struct bsn_sge *sge, const uint64_t *ids)
{
	const uint16_t slot = rq->srq_next;

	return (struct eights){
		.sge = sge,
		.ids = ids,
		.wqe = rq->slot + (size_t)slot * RUN_STRIDE,
		.id_at = rq->id_at + slot,
		.take = rq->take,
		.wanted = (bsn_v2)(slot + (eight_numbers){ 1, 2, 3, 4, 5, 6, 7, 8 }),
	};
}

BSN_ALWAYS_INLINE void next_eight(struct eights *e)
{
	e->sge += EIGHT;
	e->ids += EIGHT;
	e->wqe += EIGHT * RUN_STRIDE;
	e->id_at += EIGHT;
	e->take += EIGHT;
	e->wanted = (bsn_v2)((eight_numbers)e->wanted + EIGHT);
}

/* The first eight bytes of a link, out of number @i of eight: 0, 0, and the number big-endian. */
#define LINK_OF(i) (0xffffffff0000ffff | (2 * (i) + 1) << 16 | (2ull * (i)) << 24)

/*
 * A way to post, by put_eight_@way(), which puts eight unless a list is not plain, and by are_same_@way():
 * put_eights_@way() is as put_runs(), but publishes. After it, the next eight are not in a row, as where the
 * ring ends; those after them may be.
 */
#define DEFINE_WAY(way, target)                                                                    \
	target BSN_ALWAYS_INLINE unsigned put_eights_##way(struct bsn_rq *rq, const struct bsn_sge *sge, \
							   const uint64_t *ids, unsigned count)    \
	{                                                                                          \
		const struct bsn_sge *const last = sge + count - EIGHT; /* where the last eight begin */ \
		struct eights e = first_eight(rq, sge, ids);                                       \
		unsigned put;                                                                      \
                                                                                                   \
		while (BSN_LIKELY(e.sge <= last)) {                                                \
			const bsn_v2 numbers = bsn_v2_load(e.take);                                \
                                                                                                   \
			if (!are_same_##way(numbers, e.wanted) || !put_eight_##way(&e, numbers))   \
				break;                                                             \
			next_eight(&e);                                                            \
		}                                                                                  \
		rq->take = e.take;                                                                 \
		put = (unsigned)(e.sge - sge);                                                     \
		bsn_srq_end_many(rq, put, (uint16_t)(rq->srq_next + put));                         \
		return put;                                                                        \
	}                                                                                          \
                                                                                                   \
	target static int post_some_##way(struct bsn_rq *rq, const struct bsn_sge *sge, const uint64_t *ids, \
					  unsigned count)                                          \
	{                                                                                          \
		const int put = post_srq_links(rq, sge, ids, count < EIGHT ? count : EIGHT);       \
                                                                                                   \
		return put < EIGHT ? put                                                           \
				   : put + (int)put_eights_##way(rq, sge + EIGHT, ids + EIGHT, count - EIGHT); \
	}                                                                                          \
                                                                                                   \
	target static int post_##way(struct bsn_rq *rq, const struct bsn_sge *sge, const uint64_t *ids, \
				     unsigned count)                                               \
	{                                                                                          \
		const unsigned put = put_eights_##way(rq, sge, ids, count);                        \
                                                                                                   \
		return BSN_LIKELY(put == count) ? (int)put : bsn_rq_post_rest(rq, sge, ids, count, put); \
	}
#define PATH_OF(way)                                                                               \
	{                                                                                          \
		.post1 = post_srq1, .post_plain = post_srq_plain, .post = post_srq,                \
		.post_some = post_some_##way, .post_many = post_##way                              \
	}

/* -- by 16 B -- */

#if defined(__x86_64__)
#define BY_16 __attribute__((target("sse4.1")))

/* A function would have to make a number of what is a flag. */
#define are_same_16(a, b) _mm_testz_si128((__m128i)((a) ^ (b)), (__m128i)((a) ^ (b)))

BY_16 BSN_ALWAYS_INLINE bsn_v2 shuffle(bsn_v2 v, bsn_v2 pattern)
{
	return (bsn_v2)_mm_shuffle_epi8((__m128i)v, (__m128i)pattern);
}

BY_16 BSN_ALWAYS_INLINE bsn_v2 least_of(bsn_v2 a, bsn_v2 b)
{
	return (bsn_v2)_mm_min_epi32((__m128i)a, (__m128i)b);
}

#define LENGTH_OF(sge) _mm_extract_epi32((__m128i)(sge), 2)

#else
#define BY_16

BSN_ALWAYS_INLINE bool are_same_16(bsn_v2 a, bsn_v2 b)
{
	const bsn_v2 v = a ^ b;

	return !(v[0] | v[1]);
}

BSN_ALWAYS_INLINE bsn_v2 shuffle(bsn_v2 v, bsn_v2 pattern)
{
	return (bsn_v2)vqtbl1q_u8((uint8x16_t)v, (uint8x16_t)pattern);
}

BSN_ALWAYS_INLINE bsn_v2 least_of(bsn_v2 a, bsn_v2 b)
{
	return (bsn_v2)vminq_s32((int32x4_t)a, (int32x4_t)b);
}

#define LENGTH_OF(sge) vgetq_lane_s32((int32x4_t)(sge), 2)

#endif

#define LIST_ORDER { 0x0c0d0e0f08090a0b, 0x0001020304050607 } /* length, lkey, address */

BY_16 BSN_ALWAYS_INLINE bool put_eight_16(const struct eights *e, bsn_v2 numbers)
{
	const bsn_v2 order = LIST_ORDER;
	bsn_v2 from[EIGHT], least, links;

	BSN_UNROLL for (unsigned i = 0; i < EIGHT; i++) {
		from[i] = bsn_v2_load(&e->sge[i]);
		least = i ? least_of(least, from[i]) : from[i];
	}
	if (BSN_UNLIKELY(LENGTH_OF(least) <= 0)) /* bsn_are_plain() */
		return false;
	from_pollers();
	*(bsn_v2_unaligned *)(void *)e->take = ~(bsn_v2){ 0, 0 }; /* BSN_SRQ_NO_SLOT */
	BSN_UNROLL for (unsigned i = 0; i < EIGHT; i++) {
		uint8_t *const wqe = e->wqe + i * RUN_STRIDE;

		if (i % 2 == 0)
			links = shuffle(numbers, (bsn_v2){ LINK_OF(i), LINK_OF(i + 1) });
		bsn_store_wqe(wqe, (struct bsn_be64){ links[i % 2] });
		bsn_store_wqe_v2(wqe + BSN_SRQ_NEXT_SIZE, shuffle(from[i], order));
	}
	BSN_UNROLL for (unsigned i = 0; i < EIGHT; i += 2)
		*(bsn_v2_unaligned *)(void *)&e->id_at[i] = bsn_v2_load(&e->ids[i]);
	return true;
}

DEFINE_WAY(16, BY_16)
static const struct bsn_rq_path by_16_path = PATH_OF(16);

/* -- by 32 B -- */

#if defined(__x86_64__)

#define BY_32 __attribute__((target("avx2")))

#define are_same_32 are_same_16

/* All of the lists of eight passed bsn_are_plain(). @from: two SGEs each. */
BY_32 BSN_ALWAYS_INLINE bool are_eight_plain(const __m256i *from)
{
	const __m256i pairs = _mm256_min_epi32(_mm256_min_epi32(from[0], from[1]),
					       _mm256_min_epi32(from[2], from[3]));
	const __m128i least = _mm_min_epi32(_mm256_castsi256_si128(pairs), _mm256_extracti128_si256(pairs, 1));

	return BSN_LIKELY(LENGTH_OF(least) > 0);
}

/* Two WQEs whose links are numbers 2 * @pair and the next of @numbers, and whose lists are @from. */
#define PUT_PAIR(wqe, numbers, from, pair)                                                         \
	do {                                                                                       \
		const __m256i links = _mm256_shuffle_epi8(                                         \
			numbers, _mm256_setr_epi64x((long long)LINK_OF(2 * (pair)), -1,            \
						    (long long)LINK_OF(2 * (pair) + 1), -1));      \
		const __m256i lists = _mm256_shuffle_epi8(from, _mm256_broadcastsi128_si256(order)); \
		_mm256_storeu_si256((void *)((wqe) + 2 * (pair) * RUN_STRIDE),                     \
				    _mm256_permute2x128_si256(links, lists, 0x20));                \
		_mm256_storeu_si256((void *)((wqe) + (2 * (pair) + 1) * RUN_STRIDE),               \
				    _mm256_permute2x128_si256(links, lists, 0x31));                \
	} while (0)

BY_32 BSN_ALWAYS_INLINE bool put_eight_32(const struct eights *e, bsn_v2 numbers)
{
	const __m128i order = (__m128i)(bsn_v2)LIST_ORDER;
	const __m256i both = _mm256_broadcastsi128_si256((__m128i)numbers);
	const __m256i *const ids = (const void *)e->ids;
	__m256i from[EIGHT / 2];

	BSN_UNROLL for (unsigned i = 0; i < EIGHT / 2; i++)
		from[i] = _mm256_loadu_si256((const void *)&e->sge[2 * i]);
	if (!are_eight_plain(from))
		return false;
	from_pollers();
	_mm_storeu_si128((void *)e->take, _mm_set1_epi32(-1)); /* BSN_SRQ_NO_SLOT */
	PUT_PAIR(e->wqe, both, from[0], 0);
	PUT_PAIR(e->wqe, both, from[1], 1);
	PUT_PAIR(e->wqe, both, from[2], 2);
	PUT_PAIR(e->wqe, both, from[3], 3);
	BSN_UNROLL for (unsigned i = 0; i < 2; i++)
		_mm256_storeu_si256((void *)&e->id_at[4 * i], _mm256_loadu_si256(&ids[i]));
	return true;
}

DEFINE_WAY(32, BY_32)
static const struct bsn_rq_path by_32_path = PATH_OF(32);

#define HAS_16 __builtin_cpu_supports("sse4.1")
#define HAS_32 __builtin_cpu_supports("avx2")
#else
#define HAS_16 true
#define HAS_32 false
#define by_32_path by_16_path
#endif

enum bsn_srq_way bsn_srq_widest = BSN_SRQ_BY_32;

const struct bsn_rq_path *bsn_srq_path_of(const struct bsn_rq *rq)
{
	if (has_runs(rq) && bsn_srq_widest >= BSN_SRQ_BY_32 && HAS_32)
		return &by_32_path;
	if (has_runs(rq) && bsn_srq_widest >= BSN_SRQ_BY_16 && HAS_16)
		return &by_16_path;
	return &srq_path;
}

/* -- a QP's own ---------------------------------------------------------------------------------- */

/* Looks at what was given back; returns how many WQEs have room in one piece. */
static size_t show_room(struct bsn_rq *rq)
{
	const uint32_t tail = __atomic_load_n(&rq->tail, __ATOMIC_ACQUIRE); /* O6 */
	const uint16_t outstanding = (uint16_t)(rq->head - (uint16_t)tail);
	const uint64_t *const ids_end = rq->ids + rq->mask + 1;
	size_t room;

	if (BSN_UNLIKELY(outstanding > rq->capacity)) /* more was given back than posted */
		return 0;
	room = rq->capacity - outstanding;
	if (rq->id_at == ids_end) {
		rq->id_at = rq->ids;
		if (!bsn_rq_is_lone(rq))
			rq->slot = rq->ring;
	}
	if (room > (size_t)(ids_end - rq->id_at))
		room = (size_t)(ids_end - rq->id_at);
	if (bsn_rq_is_lone(rq))
		rq->lone_limit = rq->id_at + room;
	else
		rq->limit = rq->slot + (room << rq->stride_log2);
	return room;
}

static size_t room_of(struct bsn_rq *rq)
{
	if (bsn_rq_is_lone(rq) && rq->id_at < rq->lone_limit)
		return (size_t)(rq->lone_limit - rq->id_at);
	if (!bsn_rq_is_lone(rq) && rq->slot < rq->limit)
		return (size_t)(rq->limit - rq->slot) >> rq->stride_log2;
	return show_room(rq);
}

static int post_rq(struct bsn_rq *rq, const struct bsn_sge *sge, unsigned count, uint64_t id)
{
	const bool is_lone = bsn_rq_is_lone(rq);

	if (!room_of(rq))
		return refuse_full(rq);
	put_list(rq, is_lone ? bsn_rq_lone_wqe(rq, rq->id_at) : rq->slot, sge, count);
	bsn_rq_end(rq, rq->id_at, id, is_lone);
	return 0;
}

static unsigned put_ended(struct bsn_rq *rq, const struct bsn_sge *sge, const uint64_t *ids,
			  unsigned count)
{
	unsigned i;

	for (i = 0; i < count && bsn_are_plain(&sge[i], 1); i++) {
		bsn_rq_put_list(rq->slot, &sge[i], 1);
		bsn_rq_end_list(rq, rq->slot, 1);
		*rq->id_at++ = ids[i];
		rq->slot += rq->stride;
	}
	return i;
}

/* As many as there is room for in one piece. */
static int post_rq_some(struct bsn_rq *rq, const struct bsn_sge *sge, const uint64_t *ids,
			unsigned count)
{
	const size_t room = room_of(rq);

	if (!room)
		return 0;
	if (count > room)
		count = (unsigned)room;
	count = bsn_rq_is_lone(rq) ? bsn_rq_put_many(rq, sge, ids, count)
				   : put_ended(rq, sge, ids, count);
	if (count)
		bsn_rq_publish_many(rq, count);
	return (int)count;
}

/* Short of room, mostly at the ring's end. */
static int post_rq1(struct bsn_rq *rq, const struct bsn_sge *sge, uint64_t id)
{
	return post_rq(rq, sge, 1, id);
}

static int post_rq_plain(struct bsn_rq *rq, const struct bsn_sge *sge, unsigned count, uint64_t id)
{
	return count > rq->max_sge ? bsn_rq_refuse_long() : post_rq(rq, sge, count, id);
}

const struct bsn_rq_path bsn_rq_own_path = { .post1 = post_rq1,
					     .post_plain = post_rq_plain,
					     .post = post_rq,
					     .post_some = post_rq_some,
					     .post_many = bsn_rq_post_all };

int bsn_rq_post(struct bsn_rq *rq, const struct bsn_sge *sge, unsigned sge_count, uint64_t id)
{
	int err;

	if (!rq)
		return refuse(EINVAL, "no receive queue");
	err = check_list(rq, sge, sge_count);
	return err ? err : rq->path->post(rq, sge, sge_count, id);
}
