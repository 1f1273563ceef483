/* SPDX-License-Identifier: BSD-2-Clause */
#include "look.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RETRY_BYTES (32u << 20) /* no further attempt after so many were read */

/* Limits of queues by kind, since the target's memory may be damaged. */
static const struct kind {
	const char *name;
	int (*look)(struct look *look, bool goes_on);
	/* A CQ's index has 24 bits, one of which tells its rounds apart; other counters have 16. */
	uint32_t least_bytes, most_bytes, most_slots;
} kinds[] = {
	[BSN_REGISTRY_SEND] = { "send queue", look_at_send, BSN_BB_SIZE, BSN_BB_SIZE, 1u << 15 },
	[BSN_REGISTRY_RECV] = { "receive queue", look_at_recv, BSN_DATA_SIZE,
				2 * BSN_RECV_MAX_DATA * BSN_DATA_SIZE, 1u << 15 },
	[BSN_REGISTRY_SHARED_RECV] = { "shared receive queue", look_at_shared, BSN_DATA_SIZE,
				       2 * BSN_RECV_MAX_DATA * BSN_DATA_SIZE, 1u << 15 },
	[BSN_REGISTRY_COMPLETION] = { "completion queue", look_at_completions, BSN_CQE_SIZE,
				      2 * BSN_CQE_SIZE, 1u << 23 },
};

static bool is_power_within(uint32_t value, uint32_t least, uint32_t most)
{
	return value >= least && value <= most && !(value & (value - 1));
}

/* Checks sizes and kinds, by which memory is allocated and read, and names the ring. */
static int check_queue(struct look *look)
{
	const struct bsn_registry_queue *q = &look->published.queue;
	const struct kind *kind = kinds;

	if (q->kind > BSN_REGISTRY_COMPLETION || q->transport > BSN_TRANSPORT_IPOIB ||
	    q->number > BSN_QPN_MAX)
		return look_damaged(look);
	kind += q->kind;
	look->ring = (struct ring){ .name = kind->name,
				    .qpn = KNOWN(q->number),
				    .count = q->count,
				    .stride_bytes = q->stride_bytes };
	if (q->ring && (!is_power_within(q->stride_bytes, kind->least_bytes, kind->most_bytes) ||
			!is_power_within(q->count, 1, kind->most_slots) || q->used > q->count))
		return look_damaged(look);
	return 0;
}

/* Keeps which slots are free, by which the next look finds what was posted since. */
static void remember_free(struct look *look)
{
	const uint32_t count = look->published.queue.count;

	if (look->published.queue.kind != BSN_REGISTRY_SHARED_RECV)
		return;
	if (!look->is_free) {
		look->is_free = need(malloc(2 * (size_t)count * sizeof(*look->is_free)));
		look->was_free = look->is_free + count;
		memset(look->is_free, true, count * sizeof(*look->is_free));
	}
	memcpy(look->was_free, look->is_free, count * sizeof(*look->is_free));
}

int look_take(struct look *look, bool goes_on)
{
	const struct bsn_registry_queue *q = &look->published.queue;
	const uint64_t spent = look->target->spent;
	int patience = look->target->is_live ? LOOK_PATIENCE : 1;
	int err = check_queue(look);

	look->first = look->end = 0;
	if (!err && !q->ring && q->kind == BSN_REGISTRY_SEND)
		snprintf(look->why, sizeof(look->why),
			 "QP 0x%x is on the verbs path: its rings are the provider's: there is "
			 "nothing to show",
			 q->number);
	if (err || !q->ring)
		return err;
	remember_free(look);
	do {
		look->first = look->end = look->missed = 0;
		look->why[0] = '\0';
		err = kinds[q->kind].look(look, goes_on);
	} while (err == -EAGAIN && --patience && look->target->spent - spent < RETRY_BYTES);
	if (err == -EAGAIN && look->end != look->first)
		err = 0; /* the entries that could be read */
	if (!err) {
		look->has_last = true;
		look->last_end = look->end;
	}
	return err;
}

void look_rest(struct look *look)
{
	free(look->bytes);
	look->bytes = NULL;
	look->room_bytes = 0;
}

void look_free(struct look *look)
{
	look_rest(look);
	free(look->is_free);
}
