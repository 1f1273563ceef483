/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A look at a queue while its owner uses it: the entries and their bytes. The order of copying
 * shows which entries may have changed meanwhile; these are left out.
 */
#ifndef WQE_DUMP_LOOK_H
#define WQE_DUMP_LOOK_H

#include "target.h"
#include "../record.h"

/** struct look - kept between looks; zero at first except for @target and @published */
struct look {
	struct target *target;
	struct published published;
	struct ring ring;

	/* The entries: cumulative indices from @first to before @end; of an SRQ slots. */
	uint32_t first, end;
	uint32_t done_end; /* entries before it are done, or polled */
	uint32_t rung_end; /* entries from here on are appended, not published */
	uint8_t *bytes;    /* of @first and the next ones, in one piece */
	bool *is_free;     /* SRQ: for each slot, now; and at the last look */
	bool *was_free;
	uint32_t missed; /* slots that were used and reused since the last look */
	char why[160];   /* why it could not be read: a sentence without a full stop; or "" */

	/* Of the caller */
	bool was_told_of;  /* the user was told that it is on the verbs path, or what was wrong */
	bool has_failed;   /* its first failure was reported */
	struct look *next; /* in the order of the list */

	/* private */
	uint32_t base;  /* the entry that is first in @bytes */
	uint8_t *second; /* a second copy: an entry whose copies differ was being written */
	size_t room_bytes;
	bool has_last;
	uint32_t last_end; /* where the last look ended, if has_last */
};

/**
 * look_take() - reads the entries, or if it @goes_on those that came since the last look
 *
 * Return: 0, with @why if the end could not be read, or the QP is on the verbs path; -EAGAIN with
 * @why if nothing could be read, since the queue moves too fast; or as target_read() with its why.
 */
int look_take(struct look *look, bool goes_on);

/** look_at() - the bytes of an entry */
const uint8_t *look_at(const struct look *look, uint32_t index);

/** look_rest() - frees the bytes of the entries; what the next look needs stays */
void look_rest(struct look *look);

void look_free(struct look *look);

/* -- for the kinds of queues ------------------------------------------------------------------- */

#define LOOK_PATIENCE 64 /* attempts */

/* A value in the target's memory, for look_values() */
struct look_value {
	uint64_t address;
	void *to;
	size_t bytes;
};
#define LOOK_VALUE(address, to) { address, &(to), sizeof(to) }

/** look_values() - reads values in order; the last one has no place to go */
int look_values(struct look *look, const struct look_value *values);
#define LOOK_VALUES(look, ...)                                                                     \
	look_values(look, (const struct look_value[]){ __VA_ARGS__, { 0, NULL, 0 } })

/** look_slots() - copies so many slots from @first on, twice */
int look_slots(struct look *look, uint32_t count);

/** look_is_stable() - whether nobody was writing these entries */
bool look_is_stable(const struct look *look, uint32_t index, uint32_t count);

/** look_damaged() - says that the list of queues was damaged: -EPROTO */
int look_damaged(struct look *look);

/** look_torn() - discards what was read; says why if this was the last attempt */
int look_torn(struct look *look, const char *what);

static inline int look_too_fast(struct look *look)
{
	return look_torn(look, "it moves faster than it can be read");
}

/* Compares counters that run modulo 2^32 and are less than 2^31 apart. */
static inline bool is_before(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) < 0;
}

/* Widens a 16-bit counter to 32 bits, if it is at or less than 2^16 before @index. */
static inline uint32_t widen_back(uint32_t index, uint32_t low)
{
	return index - (uint16_t)(index - low);
}

/* The same for a counter that is at or after @index. */
static inline uint32_t widen_on(uint32_t index, uint32_t low)
{
	return index + (uint16_t)(low - index);
}

/* What a doorbell record says. */
static inline uint32_t record_index(const uint8_t bytes[BSN_DBR_WQ_SIZE])
{
	struct bsn_dbr_wq record;

	bsn_dbr_wq_decode(&record, bytes);
	return record.index;
}

/* A look at a queue of each kind. -EAGAIN with @why: try again. */
int look_at_send(struct look *look, bool goes_on);
int look_at_recv(struct look *look, bool goes_on);
int look_at_shared(struct look *look, bool goes_on);
int look_at_completions(struct look *look, bool goes_on);

#endif
