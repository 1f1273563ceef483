/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A queue whose owner moves on between any two reads of a look: before each read, by any number of
 * entries, and with an entry half written.
 */
#ifndef TESTS_TOOLS_LOOK_RIG_H
#define TESTS_TOOLS_LOOK_RIG_H

#include <stdlib.h>
#include <string.h>

#include "../unit.h"
#include "../wqe/encode.h"
#include "wqe-dump/live/look.h"

enum {
	COUNT = 32, /* slots: more than two of the longest WQEs */
	MOVES = 3 * COUNT,
	READS = 48, /* more than two attempts take */
	NEVER = 1 << 30,
	QPN = 0x1234,
	LAG = 2, /* CQEs between two stores of the consumer record */
	BYTES = BSN_BB_SIZE,
	LINK = 32, /* a WQE of a shared receive queue */
	SLOTS = COUNT * BYTES / LINK,
	USED = SLOTS - 7,
	RECVS = COUNT * BYTES / BSN_DATA_SIZE,
	LAP = 1 << 16, /* what 16 bits count */
};

/* The owner's side. */
static struct {
	uint8_t ring[COUNT][BYTES] __attribute__((aligned(64)));
	uint8_t record[4];
	uint32_t producer, start, done; /* as it knows them; show() publishes: */
	uint32_t lap;
	bool is_lazy; /* it stores the lap as late as it may */
	uint16_t low_producer, low_start, low_done;
	/* The first and the last free slot of a shared receive queue. */
	uint32_t next_slot;
	uint16_t last_slot;
	uint64_t next;
	uint8_t phase;
	bool is_posted[USED]; /* of a shared receive queue */
	void (*move)(void);
} owner;

/* When the owner moves. */
static struct {
	unsigned at_read, moves; /* before that read, by so many entries */
	bool halves; /* and writes half of one more, the rest of it @delay reads later */
	unsigned delay, reads;
	void (*write_half)(bool is_second);
	uint32_t leap; /* each move is one of so many entries; 0: of one */
} plan;

/* Publishes the counters for the reader. */
static inline void show(void)
{
	owner.low_producer = (uint16_t)owner.producer;
	owner.low_start = (uint16_t)owner.start;
	owner.low_done = (uint16_t)owner.done;
}

static inline int read_memory(struct target *target, uint64_t address, void *to, size_t bytes)
{
	target->spent = 0; /* as if each read were the first one of a look */
	if (plan.reads == plan.at_read) {
		for (unsigned i = 0; i < plan.moves; i++)
			owner.move();
		if (plan.halves && plan.write_half)
			plan.write_half(false);
	}
	if (plan.reads == plan.at_read + plan.delay && plan.halves && plan.write_half)
		plan.write_half(true);
	plan.reads++;
	show();
	memcpy(to, (const void *)(uintptr_t)address, bytes);
	return 0;
}

static struct target target = { .name = "test", .is_live = true, .read = read_memory };

static inline uint64_t address(const volatile void *pointer)
{
	return (uintptr_t)pointer;
}

static inline void begin(struct look *look, enum bsn_registry_kind kind, uint32_t stride)
{
	memset(&owner, 0, sizeof(owner));
	*look = (struct look){ .target = &target };
	look->published.queue =
		(struct bsn_registry_queue){ .kind = kind,
					     .number = QPN,
					     .ring = address(owner.ring),
					     .record = address(owner.record),
					     .count = COUNT * BYTES / stride,
					     .stride_bytes = stride,
					     .producer = address(&owner.low_producer),
					     .consumer = address(&owner.low_done),
					     .start = address(&owner.low_start),
					     .lap = address(&owner.lap) };
}

static inline void set_record(uint32_t index)
{
	ENCODE(dbr_wq, owner.record, .index = index & UINT16_MAX);
}

/* Each of the owner's moves that the tables below have. */
static inline void each_disturbance(void (*check)(void))
{
	for (unsigned at_read = 0; at_read < READS; at_read++)
		for (unsigned moves = 0; moves <= MOVES; moves++)
			for (unsigned halves = 0; halves < 2; halves++) {
				plan.at_read = at_read;
				plan.moves = moves;
				plan.halves = halves;
				check();
			}
}

/* One move by about as many entries as 16 bits count. */
static inline void each_leap(uint32_t round, void (*check)(void))
{
	plan.moves = 1;
	plan.halves = false;
	for (plan.leap = LAP - round; plan.leap <= LAP + round; plan.leap++)
		for (unsigned at_read = 0; at_read < READS; at_read++) {
			plan.at_read = at_read;
			check();
		}
	plan.leap = 0;
}

/* Ends the disturbance; nothing is left half written. */
static inline void be_still(void)
{
	if (plan.halves && plan.write_half && plan.reads > plan.at_read &&
	    plan.reads <= plan.at_read + plan.delay)
		plan.write_half(true);
	plan.halves = false;
	plan.at_read = NEVER;
	plan.reads = 0;
}

#endif
