/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dv/ built with BSN_ORDER_TRACE: stores and barriers report themselves. The events of a call
 * become a word, a letter each, which is compared with what dv/ORDERING.md asks for.
 */
#ifndef TESTS_DV_TRACE_H
#define TESTS_DV_TRACE_H

#include "fake.h"

enum {
	TRACE_EVENTS = 4096,
	TRACE_MIXED = 0, /* stores of 8 B, or of 16 B where they come from a vector register */
};

struct trace_event {
	unsigned kind; /* enum bsn_order_kind, or a lock's */
	const uint8_t *addr;
	unsigned bytes;
};

extern struct trace_event trace_events[TRACE_EVENTS];
extern unsigned trace_count;
extern void (*trace_on_event)(unsigned kind); /* NULL: nothing more happens at an event */

void trace_start(void);

/*
 * What happened since then: W stores into a ring, R into a record, M into a register; barriers d
 * (to_device), f (from_device), s (wc_start), x (wc_flush); ( and ) a lock. Neighbours of one kind
 * are one letter where @folded says so.
 */
const char *trace_word(const char *folded);

/* The MMIO stores: whole, ascending, without a gap, of @each bytes, into @reg. */
void trace_assert_stores(const uint8_t *reg, unsigned total, unsigned each);

/* A store of an index alone. */
void trace_assert_index(const struct trace_event *event, const struct bsn_be32 *record);

/*
 * What was posted from block @pi on is published by O1, O2 and O3.
 * @blueflame: bytes that are copied, of @each at a time; 0: the doorbell of 8 bytes
 */
void trace_assert_published(const struct fake *f, uint32_t pi, unsigned blueflame, unsigned each);

unsigned trace_bytes_at_a_time(enum bsn_store store);

#endif
