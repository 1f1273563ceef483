/* SPDX-License-Identifier: BSD-2-Clause */
#include "dc_bursts.h"

#include <stdio.h>
#include <string.h>

#include "stepper.h"

enum { WARM_UP = DC_PEERS, EMPTY_PAIRS = 1000, SPINS = 1000 };

const char *const dc_part_names[DC_PARTS] = { "miss", "hit", "poll" };
static const char *const way_names[DC_WAYS] = { "sge", "inline" };
const struct dc_side *const dc_sides[DC_SIDES] = { &dc_side_bunsen, &dc_side_ucx };

/* What is counted now. */
struct count {
	const struct dc_side *side;
	const struct dc_meter *meter;
	enum dc_way way;
	enum dc_part part;
	bool is_on;
	unsigned marks;
};

static void mark(struct count *c, enum dc_part part)
{
	if (!c->is_on || c->part != part)
		return;
	c->marks++;
	c->meter->mark();
}

/* Until all of a burst has come back. */
static bool poll(struct count *c)
{
	unsigned ended = 0;

	for (unsigned spins = 0; ended < DC_BURST && spins < SPINS; spins++) {
		let_device_work();
		mark(c, DC_PART_POLL);
		ended += c->side->poll();
		mark(c, DC_PART_POLL);
	}
	return ended == DC_BURST;
}

static bool play_burst(struct count *c, unsigned peer)
{
	bool is_fine = true;

	for (int k = 0; k < DC_BURST && is_fine; k++) {
		const enum dc_part part = k ? DC_PART_HIT : DC_PART_MISS;

		mark(c, part);
		is_fine = c->side->put(peer, c->way);
		mark(c, part);
	}
	return is_fine && poll(c);
}

static bool count_part(struct count *c)
{
	bool is_fine = true;
	char row[32];

	c->marks = 0;
	for (unsigned n = 0; n < WARM_UP + DC_BURSTS && is_fine; n++) {
		c->is_on = n >= WARM_UP;
		is_fine = play_burst(c, n % DC_PEERS);
	}
	snprintf(row, sizeof(row), "%s-%s", way_names[c->way], dc_part_names[c->part]);
	c->meter->dump(row, c->marks / 2);
	return is_fine;
}

/* What pairs of marks count by themselves. */
static void count_nothing(struct count *c)
{
	c->is_on = true;
	for (int i = 0; i < 2 * EMPTY_PAIRS; i++)
		mark(c, c->part);
	c->meter->dump("empty", EMPTY_PAIRS);
}

const char *dc_bursts_play(const struct dc_side *side, const char *device,
			   const struct dc_plan *plan)
{
	struct count c = { .side = side, .meter = plan->meter };
	const char *why_not = side->open(device, plan);
	bool is_fine = true;

	if (why_not)
		return why_not;
	c.meter->begin();
	count_nothing(&c);
	for (int way = 0; way < DC_WAYS; way++) {
		for (int part = 0; part < DC_PARTS && is_fine; part++) {
			c.way = (enum dc_way)way;
			c.part = (enum dc_part)part;
			is_fine = count_part(&c);
		}
	}
	c.meter->end();
	return is_fine ? NULL : "a burst does not end";
}

/* -- reading the dumps ------------------------------------------------------------------------- */

static unsigned requests_of(enum dc_part part)
{
	return DC_BURSTS * (part == DC_PART_MISS  ? 1
			    : part == DC_PART_HIT ? DC_BURST - 1
						  : DC_BURST);
}

void dc_bursts_take(void *arg, const struct callgrind_dump *dump)
{
	struct dc_bursts *bursts = arg;
	char name[32];

	if (strcmp(dump->column, "dc"))
		return;
	if (!strcmp(dump->row, "empty"))
		bursts->empty = dump->total / dump->count;
	for (int way = 0; way < DC_WAYS; way++) {
		for (int part = 0; part < DC_PARTS; part++) {
			snprintf(name, sizeof(name), "%s-%s", way_names[way], dc_part_names[part]);
			if (!strcmp(dump->row, name))
				bursts->instructions[way][part] = (dump->total - bursts->empty * dump->count) /
								  requests_of((enum dc_part)part);
		}
	}
}
