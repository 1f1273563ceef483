/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A policy chooses the slot of a peer that has none, and binds nothing.
 *
 * A post to a bound peer (a hit) does not tell the pool. A policy sees it in the send queue, whose
 * index has moved since the last look.
 */
#include "pool.h"

#include "sq.h"

/* -- the least used of the next ones ----------------------------------------------------------- */

/*
 * A miss looks at the next three initiators of the clock, and takes the idle one that was used
 * least. If none of them is idle, it looks at a few more. So the cost of a miss does not depend on
 * the number of initiators.
 *
 * A look clears the initiator's count of uses; of several uses it leaves one, so the initiator
 * survives one more round of the hand.
 */
enum { LOOKS = 3 };

/* Finds a slot if none of the next initiators is idle. If there are few, all were looked at. */
static struct slot *find_later(struct bsn_dc_pool *pool)
{
	return pool->listens || pool->attr.initiators <= MOST_LOOKS ? NULL : idle_begin(pool);
}

/*
 * The next initiator to which peers are bound. There is one: no slot is free, and not all are out.
 */
BSN_ALWAYS_INLINE struct initiator *next_in_clock(struct bsn_dc_pool *pool)
{
	struct initiator *const end = pool->initiators + pool->count, *i;

	do {
		i = pool->hand;
		pool->hand = i + 1 < end ? i + 1 : pool->initiators;
	} while (BSN_UNLIKELY(!i->bound));
	return i;
}

/*
 * For initiators without streams. The last request in an idle queue is the one polled last, so the
 * blocks from @seen_pi to that request are its uses.
 */
static struct slot *find_by_clock(struct bsn_dc_pool *pool)
{
	struct initiator *best = NULL;
	uint32_t least = UINT32_MAX;

	for (uint32_t k = 0; k < LOOKS || (!best && k < MOST_LOOKS); k++) {
		struct initiator *i = next_in_clock(pool);
		const struct bsn_sq *sq = i->sq;
		const uint16_t done = bsn_sq_done(sq), uses = (uint16_t)(done - i->seen_pi);

		if (!bsn_sq_is_done(sq, done) || i->slots->state == SLOT_TURN)
			continue;
		if (!uses)
			return i->slots;
		i->seen_pi = (uint16_t)(done - (uses > 1));
		if (uses < least) {
			best = i;
			least = uses;
		}
	}
	return best ? best->slots : find_later(pool);
}

/* -- the same for initiators with streams ------------------------------------------------------ */

/*
 * Notes that one stream was used: that of the request polled last. Reading all requests would make
 * a miss slower with each hit before it.
 */
static void note_use(struct initiator *i)
{
	const uint16_t done = bsn_sq_done(i->sq);

	if ((int16_t)(done - i->seen_pi) > 0) {
		i->used |= 1ull << bsn_sq_posted_at(i->sq, done).stream % MOST_DC_STREAMS;
		i->seen_pi = done;
	}
}

static __attribute__((noinline)) uint64_t look_at_streams(const struct bsn_dc_pool *pool,
							  struct initiator *i)
{
	const uint32_t outstanding = bsn_sq_outstanding_bb(i->sq);
	uint64_t idle = 0;

	read_streams(i);
	for (uint32_t k = 0; k < pool->attr.streams; k++) {
		const struct slot *s = &i->slots[k];

		if (s->state != SLOT_TURN && (uint16_t)(i->sq->pi - s->end_pi) >= outstanding)
			idle |= 1ull << k;
	}
	return idle & i->bound;
}

static uint64_t idle_streams(const struct bsn_dc_pool *pool, struct initiator *i)
{
	return pool->in_state[SLOT_TURN] || !bsn_sq_is_done(i->sq, bsn_sq_done(i->sq))
		       ? look_at_streams(pool, i)
		       : i->bound;
}

static struct slot *first_of(const struct initiator *i, uint64_t streams)
{
	return &i->slots[__builtin_ctzll(streams)];
}

/*
 * Takes the first idle and unused stream of the next initiators. If all idle streams of an
 * initiator were used, it clears those marks.
 */
static struct slot *find_stream(struct bsn_dc_pool *pool)
{
	struct slot *best = NULL;

	for (uint32_t k = 0; k < LOOKS || (!best && k < MOST_LOOKS); k++) {
		struct initiator *i = next_in_clock(pool);
		const uint64_t idle = idle_streams(pool, i);

		note_use(i);
		if (idle & ~i->used)
			return first_of(i, idle & ~i->used);
		if (!idle)
			continue;
		i->used = 0;
		best = first_of(i, idle);
	}
	return best ? best : find_later(pool);
}

/* -- least recently used ----------------------------------------------------------------------- */

static struct slot *choose_idle(struct bsn_dc_pool *pool)
{
	const uint32_t free_count = pool->in_state[SLOT_FREE];
	struct slot *s;

	if (free_count)
		return &pool->slots[pool->free[free_count - 1]];
	if (pool->in_state[SLOT_OUT] == pool->slot_count)
		return NULL;
	s = BSN_UNLIKELY(pool->listens) ? idle_heard(pool) : NULL;
	if (s)
		return s;
	return pool->attr.streams > 1 ? find_stream(pool) : find_by_clock(pool);
}

/* -- by the peer ------------------------------------------------------------------------------- */

/* The stream of this number, or if it failed the next that works; NULL: that one is not idle. */
static struct slot *idle_or_none(struct bsn_dc_pool *pool, const struct initiator *i,
				 uint32_t number)
{
	struct slot *s = &i->slots[number % pool->attr.streams];

	for (uint32_t k = 1; s->state == SLOT_OUT && k < pool->attr.streams; k++)
		s = &i->slots[(number + k) % pool->attr.streams];
	return is_idle(pool, s) ? s : NULL;
}

/* The initiator at this place among those that work. NULL: there are fewer. */
static struct initiator *working(struct bsn_dc_pool *pool, uint32_t place)
{
	uint32_t count = 0;

	if (!pool->counters.failures) /* all work, spares come last */
		return &pool->initiators[place];
	for (uint32_t k = 0; k < pool->count; k++) {
		struct initiator *i = &pool->initiators[k];

		if (!i->has_failed && !i->is_spare && count++ == place)
			return i;
	}
	return NULL;
}

/* Peers' numbers have no gaps, so the peers are spread evenly over the slots. */
static struct slot *choose_hashed(struct bsn_dc_pool *pool, const struct peer *peer)
{
	const uint32_t number = number_of(peer), count = pool->attr.initiators;
	const struct initiator *i = working(pool, number % count);

	if (!i)
		i = working(pool, 0); /* more failed than there are spares */
	return i ? idle_or_none(pool, i, number / count) : NULL;
}

struct slot *choose_slot(struct bsn_dc_pool *pool, const struct peer *peer)
{
	if (BSN_UNLIKELY(pool->attr.policy == BSN_DC_HASHED))
		return choose_hashed(pool, peer);
	return choose_idle(pool);
}

/* -- for a peer that may have one -------------------------------------------------------------- */

/*
 * Finds a slot for a peer that has one. It may leave a slot that is out when nothing of it is
 * outstanding there.
 */
static __attribute__((noinline)) struct slot *check_slot(struct bsn_dc_pool *pool,
							 const struct peer *peer, struct slot *s)
{
	if (is_idle(pool, s))
		return s;
	if (s->state != SLOT_OUT || holds(pool, s) || !is_done(pool, s))
		return NULL;
	forget_slot(s); /* another stream failed the initiator, not this peer */
	return choose_slot(pool, peer);
}

struct slot *find_slot(struct bsn_dc_pool *pool, const struct peer *peer)
{
	struct slot *s = peer->slot;

	return BSN_UNLIKELY(s) ? check_slot(pool, peer, s) : choose_slot(pool, peer);
}
