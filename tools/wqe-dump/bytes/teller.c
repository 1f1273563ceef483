/* SPDX-License-Identifier: BSD-2-Clause */
#include "raw.h"

unsigned long teller_line(const struct teller *teller, size_t offset)
{
	const struct raw *raw = teller->raw;
	size_t low = 0, high = raw->place_count;

	if (!raw->places || !high)
		return 0;
	while (high - low > 1) {
		const size_t middle = (low + high) / 2;

		if (raw->places[middle].offset <= offset)
			low = middle;
		else
			high = middle;
	}
	return raw->places[low].line;
}

void teller_refuse(struct teller *teller, size_t offset, const struct bsn_bad *bad)
{
	if (teller->unread_end != offset || !offset)
		tell_unread(teller->tell, teller_line(teller, offset), "byte %zu: %s%s%s: %s",
			    offset + bad->offset, bad->segment, bad->field ? "." : "",
			    bad->field ? bad->field : "", bad->why);
	teller->unread_end = offset + teller->ring.stride_bytes;
}

struct record *teller_read(struct teller *teller, size_t offset, const void *bytes, size_t size)
{
	static struct record record;
	struct bsn_bad bad;

	record = (struct record){ .line = teller_line(teller, offset),
				  .transport = teller->transport,
				  .transport_is_guess = teller->transport_is_guess };
	if (teller->is_ring) {
		record.ring = &teller->ring;
		record.slot = (uint32_t)(offset / teller->ring.stride_bytes);
	}
	if (!record_decode(&record, teller->raw->kind, bytes, size, &bad))
		return &record;
	teller_refuse(teller, offset, &bad);
	return NULL;
}

void teller_rest(const struct teller *teller, size_t at, const char *what, size_t size)
{
	const size_t rest = teller->raw->size - at;

	if (rest && !is_zero(teller->raw->bytes + at, rest))
		tell_unread(teller->tell, teller_line(teller, at),
			    "%zu bytes at the end, and a %s has %zu", rest, what, size);
}

bool teller_is_ring(uint32_t count)
{
	return count >= 4 && !(count & (count - 1));
}
