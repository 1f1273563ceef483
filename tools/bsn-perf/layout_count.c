/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is counted rather than timed: instructions, under callgrind, and bus requests, under a
 * softcx that sees stores. Each takes another process, which this program runs of itself.
 */
#include "layout.h"

#include <stdlib.h>
#include <string.h>

#include "callgrind.h"
#include "perf.h"
#include "progress.h"

enum { REGIONS = 8, LIST_BYTES = 1024, SAID_BYTES = 1 << 19 };

static void ignore(void *arg)
{
	(void)arg;
}

static void list_rows(const struct layout *layout, char list[LIST_BYTES])
{
	size_t used = 0;

	for (unsigned row = 0; row < LAYOUT_ROW_COUNT; row++)
		if (layout->wanted[row])
			used += (size_t)snprintf(list + used, LIST_BYTES - used, "%s%s",
						 used ? "," : "", layout_rows[row].name);
}

/* false: there is none of that name. */
static bool find(const char *column, const char *name, unsigned *side, unsigned *row)
{
	for (*side = 0; strcmp(column, layout_sides[*side]->name);)
		if (++*side == LAYOUT_SIDES_ALL)
			return false;
	for (*row = 0; strcmp(name, layout_rows[*row].name);)
		if (++*row == LAYOUT_ROW_COUNT)
			return false;
	return true;
}

/* -- instructions ------------------------------------------------------------------------------ */

static int say_one(const struct layout *layout, unsigned side, unsigned row)
{
	const struct layout_meter off = { ignore, ignore, NULL };
	const struct layout_meter on = { callgrind_begin, callgrind_end, NULL };
	const unsigned count = layout_rows[row].count;
	const char *const column = layout_sides[side]->name, *const name = layout_rows[row].name;
	int err = layout_region(layout, side, row, count, &off);

	for (unsigned i = 0; i < REGIONS && !err; i++)
		err = layout_region(layout, side, row, count, &on);
	callgrind_dump(column, name, REGIONS * count);
	for (unsigned i = 0; i < REGIONS && !err; i++)
		err = layout_region(layout, side, row, 0, &on);
	callgrind_dump(column, name, 0);
	return err;
}

int layout_say_instructions(const struct layout *layout)
{
	int err = 0;

	if (!callgrind_is_there())
		return complain("--under-callgrind: this is not callgrind");
	for (unsigned row = 0; row < LAYOUT_ROW_COUNT && !err; row++)
		for (unsigned side = 0; side < LAYOUT_SIDES_ALL && !err; side++)
			if (layout_find_run(layout, side, row))
				err = say_one(layout, side, row);
	return err;
}

/* The dump with operations comes before the one without. */
static void take_dump(void *arg, const struct callgrind_dump *dump)
{
	struct layout *layout = arg;
	unsigned side, row;
	double *each;

	if (!find(dump->column, dump->row, &side, &row))
		return;
	each = &layout->figures[side][row].instructions;
	if (dump->count)
		*each = dump->total / dump->count;
	else
		*each -= dump->total / (REGIONS * layout_rows[row].count);
}

static void take_loops_off(struct layout *layout)
{
	for (unsigned side = 0; side < LAYOUT_SIDES; side++)
		for (unsigned row = 0; row < LAYOUT_ROW_COUNT; row++)
			if (layout->figures[side][row].is_there)
				layout->figures[side][row].instructions -=
					layout->figures[LAYOUT_SIDE_NOTHING][row].instructions;
}

int layout_count_instructions(struct layout *layout)
{
	char rows[LIST_BYTES] = "", said[256];
	const char *const args[] = { "layout",   "--under-callgrind",
				     "--device", layout->rig.info->name,
				     "--op",     rows,
				     NULL };
	int err;

	list_rows(layout, rows);
	show_progress("counting instructions under callgrind");
	err = callgrind_run(layout->rig.info, args, said, sizeof(said), take_dump, layout);
	end_progress();
	take_loops_off(layout);
	layout->has_instructions = !err;
	return err;
}

/* -- the bus ----------------------------------------------------------------------------------- */

/* Rows that ring. */
static bool asks_bus(const struct layout *layout, unsigned side, unsigned row)
{
	return layout_find_run(layout, side, row) && side != LAYOUT_SIDE_MAP &&
	       side != LAYOUT_SIDE_CREATE &&
	       (layout_rows[row].what == LAYOUT_CONFIGURE || layout_sends(&layout_rows[row]));
}

struct bus_reader {
	const char *device;
	struct bus before;
};

static void read_before(void *arg)
{
	struct bus_reader *reader = arg;

	bus_read(reader->device, &reader->before);
}

/* What was asked for until the completion was polled, preparations left out. */
static int say_bus_of(const struct layout *layout, unsigned side, unsigned row)
{
	struct bus_reader reader = { .device = layout->rig.info->name };
	const struct layout_meter meter = { read_before, ignore, &reader };
	const unsigned count = layout_rows[row].count;
	struct bus bus;
	int err = layout_region(layout, side, row, count, &meter);

	if (!err) /* again: nothing happens for the first time now */
		err = layout_region(layout, side, row, count, &meter);
	if (!err && bus_read(reader.device, &bus))
		return complain("softcx does not count any more");
	if (err)
		return err;
	bus_take_off(&bus, &reader.before, count);
	for (unsigned i = 0; i < bus.count; i++)
		printf("%s %s %s %.4f\n", layout_sides[side]->name, layout_rows[row].name,
		       bus.counters[i].name, bus.counters[i].value);
	return 0;
}

int layout_say_bus(const struct layout *layout)
{
	int err = bus_check(layout->rig.info->name, "--under-softcx");

	for (unsigned row = 0; row < LAYOUT_ROW_COUNT && !err; row++)
		for (unsigned side = 0; side < LAYOUT_SIDES && !err; side++)
			if (asks_bus(layout, side, row))
				err = say_bus_of(layout, side, row);
	return err;
}

static void take_counter(struct layout *layout, const char *line)
{
	char column[16], name[32];
	struct bus_counter counter;
	unsigned side, row;
	struct bus *bus;

	if (sscanf(line, "%15s %31s %31s %lf", column, name, counter.name, &counter.value) != 4 ||
	    !find(column, name, &side, &row))
		return;
	bus = &layout->figures[side][row].bus;
	if (bus->count < BUS_COUNTERS_MAX)
		bus->counters[bus->count++] = counter;
}

int layout_count_bus(struct layout *layout)
{
	char rows[LIST_BYTES] = "", *said = malloc(SAID_BYTES), *rest = said, *line;
	const char *const args[] = {
		"layout", "--under-softcx", "--device", layout->rig.info->name, "--op", rows, NULL
	};
	int err;

	if (!said)
		return complain("no memory");
	list_rows(layout, rows);
	err = run_again(args, "SOFTCX_PASSIVE", "0", said, SAID_BYTES);
	while (!err && (line = strsep(&rest, "\n")))
		take_counter(layout, line);
	layout->has_bus = !err;
	free(said);
	return err;
}
