/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A policy chooses the slot of a peer that has none, and binds nothing.
 *
 * A post to a bound peer (a hit) does not tell the pool. A policy sees it in the send queue, whose
 * index has moved since the last look.
 */
#include "pool.h"

#include "sq.h"

/* -- the clock --------------------------------------------------------------------------------- */

/*
 * A hand goes round the initiators. A miss looks at the next three, and takes the first idle slot
 * that was not used since the hand was there last; if there is none, the first idle one of these
 * initiators, whose marks are cleared. If none of them is idle, it looks at a few more. So the cost
 * of a miss does not depend on the number of initiators.
 */
enum { LOOKS = 3 };

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
 * Notes that one slot was used: that of the request polled last. Reading all requests would make
 * a miss slower with each hit before it.
 */
BSN_ALWAYS_INLINE void note_use(const struct bsn_dc_pool *pool, struct initiator *i, uint16_t done)
{
	if ((int16_t)(done - i->seen_pi) <= 0)
		return;
	i->used |= pool->attr.streams == 1
			   ? 1
			   : 1ull << bsn_sq_posted_at(i->sq, done).stream % MOST_DC_STREAMS;
	i->seen_pi = done;
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

/* The bound and idle slots of an initiator, a bit each. */
BSN_ALWAYS_INLINE uint64_t idle_slots(const struct bsn_dc_pool *pool, struct initiator *i,
				      uint16_t done)
{
	const bool is_empty = bsn_sq_is_done(i->sq, done);

	if (is_empty && !pool->in_state[SLOT_TURN])
		return i->bound;
	if (pool->attr.streams == 1)
		return is_empty && i->slots->state != SLOT_TURN;
	return look_at_streams(pool, i);
}

static struct slot *first_of(const struct initiator *i, uint64_t slots)
{
	return &i->slots[__builtin_ctzll(slots)];
}

static struct slot *find_by_clock(struct bsn_dc_pool *pool)
{
	struct slot *found = NULL;

	for (uint32_t k = 0; k < LOOKS || (!found && k < MOST_LOOKS); k++) {
		struct initiator *i = next_in_clock(pool);
		const uint16_t done = bsn_sq_done(i->sq);
		const uint64_t idle = idle_slots(pool, i, done);

		note_use(pool, i, done);
		if (idle & ~i->used)
			return first_of(i, idle & ~i->used);
		if (!idle)
			continue;
		i->used = 0;
		if (!found)
			found = first_of(i, idle);
	}
	if (found || pool->listens || pool->attr.initiators <= MOST_LOOKS)
		return found;
	return idle_begin(pool);
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
	return find_by_clock(pool);
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
