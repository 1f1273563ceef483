/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A look at one queue while its owner uses it: which entries there are, and their bytes. The order
 * of copying shows which entries may have changed meanwhile; those are left out.
 */
#ifndef WQE_DUMP_LOOK_H
#define WQE_DUMP_LOOK_H

#include "published.h"
#include "../record.h"

/** struct look - kept from look to look; zero at first except for @target and @published */
struct look {
	struct target *target;
	struct published published;
	struct ring ring;

	/* The entries: cumulative indices from @first up to @end; of an SRQ slots. */
	uint32_t first, end;
	uint32_t done_end; /* those before are done, or polled */
	uint32_t rung_end; /* those from here on are appended, and not published yet */
	uint8_t *bytes;    /* of @first and the next ones, in one piece */
	bool *is_free;     /* SRQ: for each slot, now; and at the last look */
	bool *was_free;
	uint32_t missed; /* slots that were used and reused since the last look */
	char why[160];   /* what could not be read: a sentence without a full stop, or "" */

	/* private */
	uint8_t *again;
	size_t room_bytes;
	bool has_last;
	uint32_t last_end; /* where the last look ended, if has_last */
};

/**
 * look_take() - reads the entries of the queue
 * @goes_on: reads only entries that came since the last look, even if they are done by now
 *
 * Return: 0, with @why if the end could not be read; -EAGAIN with @why if nothing could be read,
 * since the queue moves too fast; or as target_read() with its why.
 */
int look_take(struct look *look, bool goes_on);

/** look_at() - the bytes of an entry */
const uint8_t *look_at(const struct look *look, uint32_t index);

/** look_rest() - frees the bytes of the entries; what the next look needs stays */
void look_rest(struct look *look);

void look_free(struct look *look);

#endif
