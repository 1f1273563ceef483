/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds idle slots where few are, in as few steps however many slots there are. The pool
 * listens to completions then: a slot becomes idle by one of its initiator's. Its queues tell,
 * so that what was heard is only a hint where to look.
 *
 * Some become idle by what is not heard: completions that the program does not see, requests
 * that were taken back, posts that took a slot and were refused. Who polls without a break
 * finds those by the clock, a few slots at a time. Who sleeps has polled in vain before that:
 * such a poll forgets what was heard, and looks at all.
 */
#include "pool.h"

#include "sq.h"

void idle_forget(struct bsn_dc_pool *pool)
{
	while (pool->heard_count)
		pool->initiators[pool->heard[--pool->heard_count]].is_heard = false;
	pool->listens = false;
}

/* Where half of them may have idle slots, whoever looks finds one soon. */
void idle_hear(struct bsn_dc_pool *pool, struct initiator *i)
{
	if (i->is_heard || !pool->listens)
		return;
	i->is_heard = true;
	pool->heard[pool->heard_count++] = (uint16_t)(i - pool->initiators);
	if (pool->heard_count > pool->clock_count / 2)
		idle_forget(pool);
}

/* One that is bound; of its streams rather one that was not used. NULL: none is idle. */
static struct slot *idle_of(const struct bsn_dc_pool *pool, struct initiator *i)
{
	struct slot *any = NULL;

	for (uint32_t k = 0; k < pool->streams; k++) {
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
 * The last one changes places with each in turn: the queue of one may be full of what its other
 * streams post.
 */
static void pass_on(struct bsn_dc_pool *pool)
{
	uint16_t *const last = &pool->heard[pool->heard_count - 1];
	uint16_t *const other = &pool->heard[pool->heard_turn++ % pool->heard_count];
	const uint16_t which = *last;

	*last = *other;
	*other = which;
}

struct slot *idle_heard(struct bsn_dc_pool *pool)
{
	while (pool->heard_count) {
		struct initiator *i = &pool->initiators[pool->heard[pool->heard_count - 1]];
		struct slot *s = idle_of(pool, i);

		if (s) {
			pass_on(pool);
			return s;
		}
		i->is_heard = false;
		pool->heard_count--;
	}
	return NULL;
}

/* Looks at all, from the clock's hand on. */
struct slot *idle_begin(struct bsn_dc_pool *pool)
{
	const uint32_t first =
		pool->clock_count ? (uint32_t)(pool->clock[pool->hand] - pool->initiators) : 0;
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
	if (pool->heard_count > pool->clock_count / 4)
		idle_forget(pool);
	return found;
}
