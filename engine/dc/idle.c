/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds idle slots when few slots are idle, in a number of steps that does not grow with the slots.
 * The pool then listens to completions, since a slot becomes idle when its initiator's request
 * completes. What it heard is a hint where to look; only the send queue is sure.
 *
 * Some slots become idle unheard: by hidden completions, by cancelled requests, by posts that took
 * a slot and were refused. If a program polls without sleeping, the policy's clock finds those, a
 * few at a time. A program sleeps only after a poll that found nothing; that poll forgets what was
 * heard, so the next miss looks at all slots.
 */
#include "pool.h"

#include "sq.h"

void idle_forget(struct bsn_dc_pool *pool)
{
	while (pool->heard_count)
		pool->initiators[pool->heard[--pool->heard_count]].is_heard = false;
	pool->listens = false;
}

/*
 * Notes an initiator that may have an idle slot. It stops listening when half of them may: the
 * clock then finds one soon.
 */
void idle_hear(struct bsn_dc_pool *pool, struct initiator *i)
{
	if (i->is_heard || !pool->listens)
		return;
	i->is_heard = true;
	pool->heard[pool->heard_count++] = (uint16_t)(i - pool->initiators);
	if (pool->heard_count > pool->attr.initiators / 2)
		idle_forget(pool);
}

/*
 * A bound and idle slot of the initiator, if possible one that was not used. NULL: there is none.
 */
static struct slot *idle_of(const struct bsn_dc_pool *pool, struct initiator *i)
{
	struct slot *any = NULL;

	for (uint32_t k = 0; k < pool->attr.streams; k++) {
		struct slot *s = &i->slots[k];

		if (!s->peer || !is_idle(pool, s))
			continue;
		if (!(i->used & stream_bit(s)))
			return s;
		any = s;
	}
	return any;
}

/* Takes them in turn, since an initiator's queue may stay full of requests of its other streams. */
struct slot *idle_heard(struct bsn_dc_pool *pool)
{
	while (pool->heard_count) {
		uint16_t *at = &pool->heard[pool->heard_turn++ % pool->heard_count];
		struct initiator *i = &pool->initiators[*at];
		struct slot *s = idle_of(pool, i);

		if (s)
			return s;
		i->is_heard = false;
		*at = pool->heard[--pool->heard_count];
	}
	return NULL;
}

/* Looks at all, from the clock's hand on. */
struct slot *idle_begin(struct bsn_dc_pool *pool)
{
	const uint32_t first = (uint32_t)(pool->hand - pool->initiators);
	struct slot *found = NULL;

	pool->listens = true;
	pool_wake(pool);
	for (uint32_t k = 0; k < pool->count; k++) {
		struct initiator *i = &pool->initiators[(first + k) % pool->count];
		struct slot *s = idle_of(pool, i);

		if (s)
			idle_hear(pool, i);
		found = found ? found : s;
	}
	if (pool->heard_count > pool->attr.initiators / 4)
		idle_forget(pool);
	return found;
}
