/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads what a look needs. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "look.h"

int look_torn(struct look *look, const char *what)
{
	snprintf(look->why, sizeof(look->why), "%s 0x%x: %s", look->ring.name,
		 look->published.queue.number, what);
	look->first = look->end = 0;
	return -EAGAIN;
}

int look_values(struct look *look, const struct look_value *values)
{
	int err = 0;

	for (; values->to && !err; values++)
		err = target_read(look->target, values->address, values->to, values->bytes);
	return err;
}

int look_damaged(struct look *look)
{
	return target_fail(look->target, EPROTO, "the list of queues is damaged");
}

static int make_room(struct look *look, size_t bytes)
{
	if (bytes <= look->room_bytes)
		return 0;
	if (!target_has_room(look->target, bytes))
		return look_damaged(look);
	look->bytes = need(realloc(look->bytes, 2 * bytes));
	look->second = look->bytes + bytes;
	look->room_bytes = bytes;
	return 0;
}

/* Copies slots from @first on into @to, also across the end of the ring. */
static int read_slots(struct look *look, uint32_t first, uint32_t count, uint8_t *to)
{
	const struct bsn_registry_queue *q = &look->published.queue;
	const uint32_t slot = first & (q->count - 1);
	const uint32_t straight = count < q->count - slot ? count : q->count - slot;
	const int err = target_read(look->target, q->ring + (uint64_t)slot * q->stride_bytes, to,
				    (size_t)straight * q->stride_bytes);

	return err || straight == count
		       ? err
		       : target_read(look->target, q->ring, to + (size_t)straight * q->stride_bytes,
				     (size_t)(count - straight) * q->stride_bytes);
}

int look_slots(struct look *look, uint32_t count)
{
	const size_t bytes = (size_t)count * look->published.queue.stride_bytes;
	int err = make_room(look, bytes);

	look->base = look->first;
	if (!err)
		err = read_slots(look, look->first, count, look->bytes);
	if (!err)
		err = read_slots(look, look->first, count, look->second);
	return err;
}

bool look_is_stable(const struct look *look, uint32_t index, uint32_t count)
{
	const size_t stride = look->published.queue.stride_bytes;
	const size_t from = (index - look->base) * stride;

	return !count || !memcmp(look->bytes + from, look->second + from, count * stride);
}

const uint8_t *look_at(const struct look *look, uint32_t index)
{
	return look->bytes + (size_t)(index - look->base) * look->published.queue.stride_bytes;
}
