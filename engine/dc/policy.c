/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which slot a peer without one takes. All policies only look at queues: whether the index of a queue,
 * or of a stream, has moved since the last look.
 */
#include "pool.h"

#include "sq.h"

/* NULL: none. */
static struct slot *first_free(const struct bsn_dc_pool *pool)
{
	return pool->free_count ? slot_after(pool, free_end(pool)) : NULL;
}

/* -- the least used of the next ones --------------------------------------------------------------- */

/*
 * A miss looks at the next three places, and takes the idle slot that was used least; if none is idle, at a
 * few more. What the others were used is forgotten, but by the clock that it was more than once: then one use
 * still counts when the hand comes round again. So a miss costs the same however many slots were used.
 */
enum { LOOKS = 3 };

BSN_ALWAYS_INLINE struct initiator *next_in_clock(struct bsn_dc_pool *pool)
{
	struct initiator *i = pool->clock[pool->hand++];

	if (pool->hand == pool->clock_count)
		pool->hand = 0;
	return i;
}

/* Without streams. A use is a block, since nothing is outstanding: the last request that was polled is the last. */
static struct slot *find_by_clock(struct bsn_dc_pool *pool)
{
	struct initiator *best = NULL;
	uint32_t least = UINT32_MAX;

	for (uint32_t k = 0; k < LOOKS || (!best && k < MOST_LOOKS); k++) {
		struct initiator *i = next_in_clock(pool);
		const uint16_t done = bsn_sq_done(i->sq), uses = (uint16_t)(done - i->seen_pi);

		if (i->slots->has_turn || !bsn_sq_is_done(i->sq, done))
			continue;
		if (!uses)
			return i->slots;
		i->seen_pi = (uint16_t)(done - (uses > 1));
		if (uses < least) {
			best = i;
			least = uses;
		}
	}
	return best ? best->slots : NULL;
}

static uint16_t take_uses(const struct bsn_dc_pool *pool, struct slot *s)
{
	struct initiator *i = s->of;
	uint16_t uses;

	if (pool->streams > 1) {
		read_streams(pool, i);
		uses = s->uses;
		s->uses = 0;
	} else {
		uses = (uint16_t)(bsn_sq_done(i->sq) - i->seen_pi);
		i->seen_pi = (uint16_t)(i->seen_pi + uses);
	}
	return uses;
}

/*
 * SIEVE: from what was bound first to what was bound last, and round again. What is found used stays where it
 * is, so that what is new has to be used before the hand comes to it. (Zhang and others, "SIEVE is simpler
 * than LRU", NSDI 2024.)
 */
static struct slot *find_in_order(struct bsn_dc_pool *pool)
{
	uint32_t least = UINT32_MAX;
	struct slot *best = NULL;

	for (uint32_t k = 0; k < LOOKS || (!best && k < MOST_LOOKS); k++) {
		struct slot *s = pool->sieve;
		uint32_t uses;

		pool->sieve = slot_before(pool, s);
		if (!is_idle(pool, s))
			continue;
		uses = take_uses(pool, s);
		if (!uses)
			return s;
		if (uses < least) {
			best = s;
			least = uses;
		}
	}
	return best;
}

/* -- the same of initiators with streams ----------------------------------------------------------- */

/*
 * A clock of initiators. Which of their streams were used is seen of one request alone at each look, the one
 * that was polled last.
 */
static void look_at_initiator(struct initiator *i)
{
	const uint16_t done = bsn_sq_done(i->sq);

	if ((int16_t)(done - i->seen_pi) > 0) {
		const uint64_t bit = 1ull << bsn_sq_posted_at(i->sq, done).stream % MOST_DC_STREAMS;

		i->often |= i->used & bit;
		i->used |= bit;
		i->seen_pi = done;
	}
}

static uint64_t idle_streams(const struct bsn_dc_pool *pool, struct initiator *i)
{
	uint64_t idle = 0;
	uint32_t outstanding;

	if (!pool->turns && bsn_sq_is_done(i->sq, bsn_sq_done(i->sq)))
		return i->bound;
	read_streams(pool, i);
	outstanding = bsn_sq_outstanding_bb(i->sq);
	for (uint32_t k = 0; k < pool->streams; k++) {
		const struct slot *s = &i->slots[k];

		if (!s->has_turn && (uint16_t)(i->sq->pi - s->end_pi) >= outstanding)
			idle |= 1ull << k;
	}
	return idle & i->bound;
}

/* Those of its streams that were not used: first those after the one that was taken last. None: from now on none was. */
static uint64_t unused_streams(struct initiator *i, uint64_t of)
{
	const uint64_t unused = of & ~i->used, ahead = unused & ~i->passed;

	if (!unused) {
		i->used = i->often;
		i->often = i->passed = 0;
	}
	return ahead ? ahead : unused;
}

static struct slot *take_stream(struct initiator *i, uint64_t bits)
{
	i->passed = bits ^ (bits - 1);
	return &i->slots[__builtin_ctzll(bits)];
}

/* Of the next few initiators that have idle streams. */
static struct slot *find_stream(struct bsn_dc_pool *pool)
{
	struct initiator *best = NULL;
	uint64_t best_idle = 0;

	for (uint32_t k = 0; k < LOOKS || (!best && k < MOST_LOOKS); k++) {
		struct initiator *i = next_in_clock(pool);
		const uint64_t idle = idle_streams(pool, i);
		uint64_t unused;

		look_at_initiator(i);
		if (!idle)
			continue;
		unused = unused_streams(i, idle);
		if (unused)
			return take_stream(i, unused);
		best = i;
		best_idle = idle;
	}
	return best ? take_stream(best, best_idle) : NULL;
}

/* -- least recently used, and SIEVE ---------------------------------------------------------------- */

/* A slot that is bound, and idle. */
BSN_ALWAYS_INLINE struct slot *find_idle(struct bsn_dc_pool *pool)
{
	struct slot *s = pool->listens ? idle_heard(pool) : NULL;

	if (!s && pool->bound_count)
		s = pool->find(pool);
	return s || pool->listens || bound_places(pool) <= MOST_LOOKS ? s : idle_begin(pool);
}

static struct slot *choose_idle(struct bsn_dc_pool *pool, const struct bsn_peer *peer)
{
	struct slot *s = first_free(pool);

	(void)peer;
	return s ? s : find_idle(pool);
}

/* -- as UCX does ---------------------------------------------------------------------------------- */

/* Takes first the slot that was given up last. */
static struct slot *choose_top(struct bsn_dc_pool *pool, const struct bsn_peer *peer)
{
	(void)peer;
	return first_free(pool);
}

enum { UCX_QUOTA_BB = 32 };

static bool is_over_quota(struct bsn_dc_pool *pool, struct slot *s)
{
	(void)pool;
	return bsn_sq_outstanding_bb(s->of->sq) >= UCX_QUOTA_BB;
}

/* -- by the peer ---------------------------------------------------------------------------------- */

/* The stream of this number, or where that has failed the next one that works. */
static struct slot *idle_or_none(struct bsn_dc_pool *pool, const struct initiator *i, uint32_t number)
{
	struct slot *s = &i->slots[number % pool->streams];

	for (uint32_t k = 1; s->is_out && k < pool->streams; k++)
		s = &i->slots[(number + k) % pool->streams];
	return is_idle(pool, s) ? s : NULL;
}

/* Of those that work, the one at that place. */
static struct initiator *working(struct bsn_dc_pool *pool, uint32_t place)
{
	uint32_t count = 0;

	if (!pool->counters.failures) /* then the first ones work, and the spares are after them */
		return &pool->initiators[place];
	for (uint32_t k = 0; k < pool->count; k++) {
		struct initiator *i = &pool->initiators[k];

		if (!i->has_failed && !i->is_spare && count++ == place)
			return i;
	}
	return NULL;
}

/* One after the other: numbers of peers are dense, so each slot has as many of them. */
static struct slot *choose_hashed(struct bsn_dc_pool *pool, const struct bsn_peer *peer)
{
	const uint32_t number = number_of(peer), count = pool->initiators_wanted;
	const struct initiator *i = working(pool, number % count);

	if (!i)
		i = working(pool, 0); /* some have failed, and their spares, too */
	return i ? idle_or_none(pool, i, number / count) : NULL;
}

/* The streams of one initiator. */
static struct slot *choose_stream(struct bsn_dc_pool *pool, const struct bsn_peer *peer)
{
	const struct initiator *i = working(pool, 0);

	return i ? idle_or_none(pool, i, number_of(peer)) : NULL;
}

/* -- as few as will do ------------------------------------------------------------------------------ */

/* One more where an eighth of the misses would have been none with all slots, one less where not a sixteenth would. */
static void think_over(struct bsn_dc_pool *pool)
{
	if (pool->misses < pool->epoch)
		return;
	if (pool->ghosts * 8 >= pool->misses)
		pool->active += 1 + pool->active / 8;
	else if (pool->ghosts * 16 < pool->misses && pool->active > 1)
		pool->active--;
	if (pool->active > pool->slot_count)
		pool->active = pool->slot_count;
	pool->epoch = EPOCH * pool->active;
	pool->misses = pool->ghosts = 0;
}

static struct slot *choose_adaptive(struct bsn_dc_pool *pool, const struct bsn_peer *peer)
{
	struct slot *s;

	(void)peer;
	think_over(pool);
	if (pool->free_count && pool->bound_count < pool->active)
		return first_free(pool);
	s = find_idle(pool);
	if (s && pool->bound_count > pool->active) { /* one less */
		unbind_slot(pool, s);
		s = find_idle(pool);
	}
	if (s)
		return s;
	pool->active = pool->bound_count + 1; /* all of them are busy */
	return first_free(pool);
}

/* -- all of them ---------------------------------------------------------------------------------- */

/* Whether it posted as much as a turn while others wait. */
static bool is_paid_out(struct bsn_dc_pool *pool, struct slot *s)
{
	charge_slot(pool, s);
	return s->credit <= 0;
}

static const struct policy policies[] = {
	[BSN_DC_LRU] = { .name = "lru",
			 .choose = choose_idle,
			 .is_over = is_paid_out },
	[BSN_DC_SIEVE] = { .name = "sieve",
			   .choose = choose_idle,
			   .is_over = is_paid_out,
			   .wants_order = true },
	[BSN_DC_DCS] = { .name = "dcs",
			 .choose = choose_top,
			 .leaves_when_done = true,
			 .wants_order = true },
	[BSN_DC_DCS_QUOTA] = { .name = "dcs_quota",
			       .choose = choose_top,
			       .is_over = is_over_quota,
			       .leaves_when_done = true,
			       .wants_order = true },
	[BSN_DC_HASHED] = { .name = "hashed",
			    .choose = choose_hashed,
			    .is_over = is_paid_out,
			    .has_places = true },
	[BSN_DC_STREAMS] = { .name = "streams",
			     .choose = choose_stream,
			     .is_over = is_paid_out,
			     .has_places = true },
	[BSN_DC_ADAPTIVE] = { .name = "adaptive",
			      .choose = choose_adaptive,
			      .is_over = is_paid_out,
			      .wants_ghosts = true },
};

const struct policy *policy_of(enum bsn_dc_policy policy)
{
	return (unsigned)policy < sizeof(policies) / sizeof(policies[0]) ? &policies[policy] : NULL;
}

find_bound *find_of(const struct policy *policy, uint32_t streams)
{
	if (policy->wants_order)
		return find_in_order;
	return streams > 1 ? find_stream : find_by_clock;
}

const char *bsn_dc_policy_name(enum bsn_dc_policy policy)
{
	const struct policy *known = policy_of(policy);

	return known ? known->name : NULL;
}
