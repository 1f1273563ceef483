/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which slot a peer without one takes. All policies only look at queues: whether the index of a queue,
 * or of a stream, has moved since the last look.
 */
#include "pool.h"

#include "sq.h"

static struct slot *slot_at(const struct bsn_dc_pool *pool, uint16_t number)
{
	return number == NO_SLOT ? NULL : &pool->slots[number];
}

/* -- least recently used -------------------------------------------------------------------------- */

/* A clock, at most twice round: the hand passes once a slot that was used since it last passed. */
static struct slot *find_oldest_any(struct bsn_dc_pool *pool)
{
	for (uint32_t left = 2 * pool->slot_count; left; left--) {
		struct slot *s = pool->hand++;

		if (pool->hand == pool->end)
			pool->hand = pool->slots;
		if (s->peer && is_idle(pool, s) && !take_used(pool, s))
			return s;
	}
	return NULL;
}

BSN_ALWAYS_INLINE struct slot *next_of(const struct bsn_dc_pool *pool, struct slot *s)
{
	return s + 1 == pool->end ? pool->slots : s + 1;
}

enum { LEAST_CROWD = 4 };

/*
 * Where the last round found one slot idle, the others are busy for the most part. Then the one of the last completion
 * that was polled is taken, as often as the pool has slots; after that the clock goes round again.
 */
BSN_ALWAYS_INLINE struct slot *find_last_done(struct bsn_dc_pool *pool)
{
	struct slot *s = &pool->slots[pool->by_qpn[pool->last_done & pool->qpn_mask]];

	pool->crowded--;
	return s->sq->qpn == pool->last_done && is_simply_idle(s, bsn_sq_done(s->sq)) ? s : NULL;
}

/*
 * The same where the pool is simple, once round: it calls nothing, and remembers what the second round would find.
 * @has_free: some may have no peer.
 */
BSN_ALWAYS_INLINE struct slot *find_oldest_simply(struct bsn_dc_pool *pool, bool has_free)
{
	struct slot *s = pool->hand, *idle = NULL, *last = NULL;

	if (!has_free && BSN_UNLIKELY(pool->crowded)) {
		struct slot *done_last = find_last_done(pool);
		if (done_last)
			return done_last;
	}

	do {
		const uint16_t done = bsn_sq_done(s->sq);

		if (is_simply_idle(s, done) && (!has_free || s->peer)) {
			if (!take_simply_used(s, done)) {
				pool->hand = next_of(pool, s);
				return s;
			}
			idle = idle ? idle : s;
			last = s;
		}
		s = next_of(pool, s);
	} while (s != pool->hand);
	if (idle)
		pool->hand = next_of(pool, idle);
	if (!has_free && idle && idle == last && pool->slot_count > LEAST_CROWD)
		pool->crowded = pool->slot_count;
	return idle;
}

static struct slot *find_oldest(struct bsn_dc_pool *pool)
{
	return pool->is_simple ? find_oldest_simply(pool, true) : find_oldest_any(pool);
}

static struct slot *choose_lru(struct bsn_dc_pool *pool, const struct bsn_peer *peer)
{
	struct slot *s = slot_at(pool, pool->free.first);

	(void)peer;
	return s ? s : find_oldest(pool);
}

BSN_ALWAYS_INLINE int take_or_wait(struct bsn_dc_pool *pool, struct bsn_peer *peer, struct slot *s)
{
	return BSN_LIKELY(s) ? take_slot(pool, peer, s) : wait_for_turn(pool, peer);
}

__attribute__((noinline)) int take_chosen(struct bsn_dc_pool *pool, struct bsn_peer *peer)
{
	return take_or_wait(pool, peer, pool->policy->choose(pool, peer));
}

/* It calls nothing but by jumps, so that it saves no register. */
static int take_lru(struct bsn_dc_pool *pool, struct bsn_peer *peer)
{
	struct slot *s;

	if (BSN_UNLIKELY(pool->free.first != NO_SLOT))
		return take_chosen(pool, peer);
	s = find_oldest_simply(pool, false);
	if (BSN_UNLIKELY(!s))
		return wait_for_turn(pool, peer);
	if (BSN_UNLIKELY(s->is_revoked))
		return take_slot(pool, peer, s);
	return swap_slot(pool, peer, s);
}

/* -- SIEVE ---------------------------------------------------------------------------------------- */

/*
 * The hand goes from what was bound first to what was bound last, and then begins again. What it finds
 * used it leaves where it is, so that what is new has to be used before the hand comes to it. (Zhang and
 * others, "SIEVE is simpler than LRU", NSDI 2024.)
 */
BSN_ALWAYS_INLINE struct slot *find_unused(struct bsn_dc_pool *pool, bool is_simple)
{
	for (uint32_t left = 2 * pool->bound.count; left; left--) {
		struct slot *s = &pool->slots[pool->sieve == NO_SLOT ? pool->bound.last : pool->sieve];
		const uint16_t done = is_simple ? bsn_sq_done(s->sq) : 0;

		if (is_simple ? is_simply_idle(s, done) && !take_simply_used(s, done) :
				is_idle(pool, s) && !take_used(pool, s))
			return s;
		pool->sieve = s->before;
	}
	return NULL;
}

static struct slot *choose_sieve(struct bsn_dc_pool *pool, const struct bsn_peer *peer)
{
	struct slot *s = slot_at(pool, pool->free.first);

	(void)peer;
	if (s)
		return s;
	return pool->is_simple ? find_unused(pool, true) : find_unused(pool, false);
}

static int take_sieve(struct bsn_dc_pool *pool, struct bsn_peer *peer)
{
	struct slot *s;

	if (BSN_UNLIKELY(pool->free.first != NO_SLOT))
		return take_chosen(pool, peer);
	s = find_unused(pool, true);
	if (BSN_UNLIKELY(!s))
		return wait_for_turn(pool, peer);
	if (BSN_UNLIKELY(s->is_revoked))
		return take_slot(pool, peer, s);
	slot_is_last_bound(pool, s);
	return swap_slot(pool, peer, s);
}

/* -- as UCX does ---------------------------------------------------------------------------------- */

/* Takes first the slot that was given up last. */
static struct slot *choose_top(struct bsn_dc_pool *pool, const struct bsn_peer *peer)
{
	(void)peer;
	return slot_at(pool, pool->free.first);
}

static int take_top(struct bsn_dc_pool *pool, struct bsn_peer *peer)
{
	struct slot *s = choose_top(pool, peer);

	return BSN_LIKELY(s) ? take_free(pool, peer, s) : wait_for_turn(pool, peer);
}

enum { UCX_QUOTA_BB = 32 };

static bool is_over_quota(struct bsn_dc_pool *pool, struct slot *s)
{
	(void)pool;
	return bsn_sq_outstanding_bb(s->of->sq) >= UCX_QUOTA_BB;
}

/* -- by the peer ---------------------------------------------------------------------------------- */

/* The stream of this number, or where that has failed the next one that works. */
BSN_ALWAYS_INLINE struct slot *idle_or_none(struct bsn_dc_pool *pool, const struct initiator *i, uint32_t number)
{
	struct slot *s = &i->slots[pool->streams == 1 ? 0 : number % pool->streams];

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
BSN_ALWAYS_INLINE struct slot *choose_hashed(struct bsn_dc_pool *pool, const struct bsn_peer *peer)
{
	const uint32_t number = number_of(peer), count = pool->initiators_wanted;
	const struct initiator *i = working(pool, number % count);

	if (!i)
		i = working(pool, 0); /* some have failed, and their spares, too */
	return i ? idle_or_none(pool, i, number / count) : NULL;
}

static int take_hashed(struct bsn_dc_pool *pool, struct bsn_peer *peer)
{
	struct slot *s = choose_hashed(pool, peer);

	if (BSN_UNLIKELY(!s || !s->peer || s->is_revoked))
		return take_or_wait(pool, peer, s);
	return swap_slot(pool, peer, s);
}

/* The streams of one initiator. */
static struct slot *choose_stream(struct bsn_dc_pool *pool, const struct bsn_peer *peer)
{
	const struct initiator *i = working(pool, 0);

	return i ? idle_or_none(pool, i, number_of(peer)) : NULL;
}

/* -- as few as will do ------------------------------------------------------------------------------ */

enum { EPOCH = 16 }; /* misses, of each active slot, after which their number is thought over */

/* One more where a quarter of the misses would have been none, one less where not an eighth would. */
static void think_over(struct bsn_dc_pool *pool)
{
	if (pool->misses < EPOCH * pool->active)
		return;
	if (pool->ghosts * 4 >= pool->misses)
		pool->active++;
	else if (pool->ghosts * 8 < pool->misses && pool->active > 1)
		pool->active--;
	if (pool->active > pool->slot_count)
		pool->active = pool->slot_count;
	pool->misses = pool->ghosts = 0;
}

BSN_ALWAYS_INLINE struct slot *choose_adaptive(struct bsn_dc_pool *pool, const struct bsn_peer *peer)
{
	struct slot *s;

	(void)peer;
	think_over(pool);
	if (!pool->free.count)
		return find_oldest(pool);
	if (pool->bound.count < pool->active)
		return slot_at(pool, pool->free.first);
	s = find_oldest(pool);
	if (s && pool->bound.count > pool->active) { /* one less */
		unbind_slot(pool, s);
		s = find_oldest(pool);
	}
	if (s)
		return s;
	pool->active = pool->bound.count + 1; /* all of them are busy */
	return slot_at(pool, pool->free.first);
}

static int take_adaptive(struct bsn_dc_pool *pool, struct bsn_peer *peer)
{
	return take_or_wait(pool, peer, choose_adaptive(pool, peer));
}

/* -- all of them ---------------------------------------------------------------------------------- */

/* Whether it posted as much as a turn while others wait. */
static bool is_paid_out(struct bsn_dc_pool *pool, struct slot *s)
{
	charge_slot(pool, s);
	return s->credit <= 0;
}

static const struct policy policies[] = {
	[BSN_DC_LRU] = { .name = "lru", .choose = choose_lru, .take = take_lru, .is_over = is_paid_out },
	[BSN_DC_SIEVE] = { .name = "sieve",
			   .choose = choose_sieve,
			   .take = take_sieve,
			   .is_over = is_paid_out,
			   .wants_order = true },
	[BSN_DC_DCS] = { .name = "dcs",
			 .choose = choose_top,
			 .take = take_top,
			 .leaves_when_done = true,
			 .wants_order = true },
	[BSN_DC_DCS_QUOTA] = { .name = "dcs_quota",
			       .choose = choose_top,
			       .take = take_top,
			       .is_over = is_over_quota,
			       .leaves_when_done = true,
			       .wants_order = true },
	[BSN_DC_HASHED] = { .name = "hashed",
			    .choose = choose_hashed,
			    .take = take_hashed,
			    .is_over = is_paid_out,
			    .has_places = true },
	[BSN_DC_STREAMS] = { .name = "streams",
			     .choose = choose_stream,
			     .is_over = is_paid_out,
			     .has_places = true },
	[BSN_DC_ADAPTIVE] = { .name = "adaptive",
			      .choose = choose_adaptive,
			      .take = take_adaptive,
			      .is_over = is_paid_out,
			      .wants_ghosts = true },
};

const struct policy *policy_of(enum bsn_dc_policy policy)
{
	return (unsigned)policy < sizeof(policies) / sizeof(policies[0]) ? &policies[policy] : NULL;
}

const char *bsn_dc_policy_name(enum bsn_dc_policy policy)
{
	const struct policy *known = policy_of(policy);

	return known ? known->name : NULL;
}
