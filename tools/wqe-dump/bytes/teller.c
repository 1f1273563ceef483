/* SPDX-License-Identifier: BSD-2-Clause */
#include "teller.h"

#include "judge.h"

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

void teller_begin(const struct teller *teller, size_t offset, struct record *record)
{
	*record = (struct record){ .line = teller_line(teller, offset) };
	if (teller->is_ring) {
		record->ring = &teller->ring;
		record->slot = (uint32_t)(offset / teller->ring.stride_bytes);
	}
}

void teller_refuse(struct teller *teller, size_t offset, const struct bsn_bad *bad)
{
	if (teller->unread_end != offset || !offset)
		tell_unread(teller->tell, teller_line(teller, offset), "byte %zu: %s%s%s: %s",
			    offset + bad->offset, bad->segment, bad->field ? "." : "",
			    bad->field ? bad->field : "", bad->why);
	teller->unread_end = offset + teller->ring.stride_bytes;
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
