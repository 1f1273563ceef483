/* SPDX-License-Identifier: BSD-2-Clause */
#include "tell.h"

#include <stdarg.h>
#include <stdio.h>

#include "../explain/explain.h"

/* -- an error CQE and the WQE that failed, in whichever order they are found ------------------- */

#define INDICES     65536 /* of WQEs: 16 bits */
#define REMEMBERED  65536 /* WQEs, and as many errors: the most that a send queue can hold */
#define CHAIN_LIMIT 64    /* entries with the same index that are looked at */

/* A record, in the chain of those with the same number. */
struct entry {
	uint32_t qpn;
	uint32_t count; /* slots of its ring, or 0 */
	uint16_t index;
	unsigned long line;
	const char *file;
	uint32_t next; /* older one, plus 1; 0: none */
};

/* The last records, found by a number of 16 bits. */
struct table {
	struct entry entries[REMEMBERED];
	uint32_t heads[INDICES]; /* newest one, plus 1 */
	uint32_t used;           /* entries ever; the oldest are overwritten */
};

static struct table wqes;    /* by index */
static struct table slots;   /* WQEs in rings, by slot */
static struct table errors;  /* by index */
static uint32_t ring_counts; /* bits that are set: numbers of slots that rings have */

static void remember(struct table *table, uint16_t key, const struct entry *entry)
{
	const uint32_t place = table->used++ % REMEMBERED;

	table->entries[place] = *entry;
	table->entries[place].next = table->heads[key];
	table->heads[key] = place + 1;
}

/* The newest entry of a queue; `index`: of its WQE, or -1 for any. */
static const struct entry *find(const struct table *table, uint16_t key, uint32_t qpn, int index)
{
	uint32_t at = table->heads[key];

	for (unsigned i = 0; at && i < CHAIN_LIMIT; i++) {
		const struct entry *entry = &table->entries[at - 1];

		if (entry->qpn == qpn && (index < 0 || entry->index == index))
			return entry;
		at = entry->next;
	}
	return NULL;
}

static const struct entry *find_slot(const struct record *error)
{
	for (uint32_t counts = ring_counts; counts; counts &= counts - 1) {
		const uint32_t count = counts & -counts;
		const struct entry *entry = find(&slots, (uint16_t)(error->wqe_index.value % count),
						 error->qpn.value, -1);

		if (entry && entry->count == count)
			return entry;
	}
	return NULL;
}

static void set_partner(struct record *record, const struct entry *partner)
{
	if (!partner)
		return;
	record->partner_file = partner->file;
	record->partner_line = partner->line;
	record->partner_index = KNOWN(partner->index);
}

static void tie_error(struct record *record, const struct entry *entry)
{
	const struct entry *wqe =
		find(&wqes, entry->index, record->qpn.value, (int)record->wqe_index.value);

	set_partner(record, wqe ? wqe : find_slot(record));
	remember(&errors, entry->index, entry);
}

static void tie_wqe(struct record *record, struct entry *entry)
{
	const uint32_t count = record->ring ? record->ring->count : 0;

	set_partner(record, find(&errors, entry->index, record->qpn.value, entry->index));
	remember(&wqes, entry->index, entry);
	if (!count || count & (count - 1) || count > INDICES / 2)
		return;
	entry->count = count;
	ring_counts |= count;
	remember(&slots, (uint16_t)record->slot, entry);
}

/*
 * Fills in a record's partner if the partner was found before, and remembers the record.
 *
 * A CQE names the WQE by its index. If the ring was overwritten since, or dumped before, the
 * partner is the WQE in that slot, and partner_index differs from the CQE's.
 */
static void tie_record(struct record *record)
{
	struct entry entry = { .qpn = record->qpn.value,
			       .index = (uint16_t)record->wqe_index.value,
			       .line = record->line,
			       .file = record->file };

	if (!record->qpn.is_known || !record->wqe_index.is_known)
		return;
	if (record->wqe)
		tie_wqe(record, &entry);
	else if (record->cqe && record->kind == RECORD_ERROR_CQE && record->side == SIDE_REQUESTER)
		tie_error(record, &entry);
}

/* -- records ----------------------------------------------------------------------------------- */

void tell_record(struct tell *tell, struct record *record)
{
	record->file = tell->file;
	if (!record->source)
		record->source = tell->source;
	explain_record(record);
	tie_record(record);
	tell->count++;
	tell->sink->record(record);
}

void tell_unread(struct tell *tell, unsigned long line, const char *format, ...)
{
	char why[256];
	va_list args;

	va_start(args, format);
	vsnprintf(why, sizeof(why), format, args);
	va_end(args);
	tell->unread++;
	tell->sink->unread(tell->file, line, why);
}
