/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds idle slots where few are, in as few steps however many slots there are. The pool listens to
 * completions then, since a slot becomes idle by a completion of its initiator. What it heard is
 * only a hint where to look: the send queue tells.
 *
 * Some slots become idle unheard: by completions that the program does not see, by requests that
 * were taken back, by posts that took a slot and were refused. A program that polls without a break
 * finds those by the clock, a few at a time. A program that sleeps has polled in vain before that:
 * such a poll forgets what was heard, so that the next miss looks at all.
 */
#include "pool.h"

#include "sq.h"

void idle_forget(struct bsn_dc_pool *pool)
{
	while (pool->heard_count)
		pool->initiators[pool->heard[--pool->heard_count]].is_heard = false;
	pool->listens = false;
}

/* Where half of the initiators may have idle slots, the clock finds one soon. */
void idle_hear(struct bsn_dc_pool *pool, struct initiator *i)
{
	if (i->is_heard || !pool->listens)
		return;
	i->is_heard = true;
	pool->heard[pool->heard_count++] = (uint16_t)(i - pool->initiators);
	if (pool->heard_count > pool->attr.initiators / 2)
		idle_forget(pool);
}

/* A slot of it that is bound and idle, rather one that was not used. NULL: there is none. */
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

/*
 * The last one heard changes places with each of them in turn, since an initiator's queue may be
 * full of what its other streams post.
 */
struct slot *idle_heard(struct bsn_dc_pool *pool)
{
	while (pool->heard_count) {
		const uint16_t last = pool->heard[pool->heard_count - 1];
		struct slot *s = idle_of(pool, &pool->initiators[last]);

		if (s) {
			uint16_t *other = &pool->heard[pool->heard_turn++ % pool->heard_count];

			pool->heard[pool->heard_count - 1] = *other;
			*other = last;
			return s;
		}
		pool->initiators[last].is_heard = false;
		pool->heard_count--;
	}
	return NULL;
}

/* Begins at the clock's hand. */
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
