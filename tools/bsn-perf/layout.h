/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What `bsn-perf layout` compares: rows are operations on layouts (layout_rows.c), columns are ways
 * to have them done. Each column has queue pairs of its own, connected to themselves, on the same
 * device and the same memory. A measured region is one call of a run function; preparations, and
 * what is left afterwards, are outside of it.
 */
#ifndef LAYOUT_H
#define LAYOUT_H

#include <stdbool.h>
#include <stdio.h>

#include "bsn.h"
#include "bsn_mkey.h"
#include "bus.h"

enum {
	LAYOUT_PARTS_MAX = 48,
	LAYOUT_REGION_MAX = 16, /* operations of a region */
	LAYOUT_ROUNDS = 16,     /* of interleaved parts */
	LAYOUT_BLOCK = 8,
	LAYOUT_PAGE = 4096,
	LAYOUT_MATRIX = 1024, /* rows, and columns */
	LAYOUT_COLUMN_BYTES = LAYOUT_MATRIX * LAYOUT_BLOCK,
	LAYOUT_COLUMN = 3, /* which is sent */
	/* Memory: the matrix, where the column goes to, and where it is packed. */
	LAYOUT_TARGET_AT = LAYOUT_MATRIX * LAYOUT_COLUMN_BYTES,
	LAYOUT_PACK_AT = LAYOUT_TARGET_AT + LAYOUT_COLUMN_BYTES,
	LAYOUT_MEMORY = LAYOUT_PACK_AT + LAYOUT_COLUMN_BYTES,
};

enum layout_what {
	LAYOUT_CONFIGURE,  /* an mkey */
	LAYOUT_HIT,        /* a layout that has its mkey is mapped */
	LAYOUT_HIT_HANDLE, /* an mkey that was kept: only whether it is ready */
	LAYOUT_UNMAP,
	LAYOUT_SEND_NEW,   /* a column of the matrix, by an mkey configured for it */
	LAYOUT_SEND_KNOWN, /* configured before */
	LAYOUT_SEND_PACKED,
	LAYOUT_SEND_SGES, /* by requests of as many SGEs as the queue takes */
	LAYOUT_SEND_ROWS, /* by a request a row */
};

/* How the parts lie. */
enum layout_order {
	LAYOUT_ASCENDING,
	LAYOUT_SHUFFLED,
	LAYOUT_TWO_KEYS, /* of two memory keys in turn */
};

struct layout_row {
	const char *name;
	enum layout_what what;
	unsigned parts; /* of each layout; 0: a column of the matrix */
	bool is_interleaved;
	bool is_pages; /* each part is one, and mkeys are of such */
	enum layout_order order;
	unsigned count; /* operations of a region */
};

enum { LAYOUT_ROW_COUNT = 27 };
extern const struct layout_row layout_rows[LAYOUT_ROW_COUNT];

struct layout_rig {
	struct bsn_device *device;
	const struct bsn_device_info *info;
	uint8_t *memory; /* LAYOUT_MEMORY bytes, registered by each column for itself */
	unsigned max_sge;
	bool has_pages; /* the device has mkeys of them */
};

/* The parts of the @which-th layout of a row, over memory of these lkeys. */
void layout_make_parts(const struct layout_rig *rig, const struct layout_row *row, unsigned which,
		       const uint32_t lkeys[2], struct bsn_part parts[LAYOUT_PARTS_MAX]);
unsigned layout_part_count(const struct layout_row *row);
unsigned layout_round_count(const struct layout_row *row);

/* Packs the column by hand. */
void layout_pack(const struct layout_rig *rig);

static inline bool layout_sends(const struct layout_row *row)
{
	return row->what >= LAYOUT_SEND_NEW;
}

/* @count operations, measured. */
typedef int layout_run(void *state, unsigned count);

struct layout_side {
	const char *name;
	const struct layout_side *shares; /* the column whose state it uses; NULL: its own */
	/* Return: 0, or PERF_FAILED; or 0 with *why_not: the device has no such column. */
	int (*open)(const struct layout_rig *rig, void **state, const char **why_not);
	void (*close)(void *state);
	layout_run *(*run_of)(const struct layout_row *row); /* NULL: it has not the row */
	/* Not measured. 0, or what failed: -errno, or a completion's status. */
	int (*prepare)(void *state, const struct layout_row *row);
	int (*finish)(void *state, const struct layout_row *row, unsigned count);
};

extern const struct layout_side layout_bunsen, layout_create, layout_bunsen_map, layout_mlx5;

/* The columns of the report, in its order; the last one is the loop alone, and not reported. */
enum {
	LAYOUT_SIDE_BUNSEN,
	LAYOUT_SIDE_CREATE,
	LAYOUT_SIDE_MAP,
	LAYOUT_SIDE_MLX5,
	LAYOUT_SIDES,
	LAYOUT_SIDE_NOTHING = LAYOUT_SIDES,
	LAYOUT_SIDES_ALL
};
extern const struct layout_side *const layout_sides[LAYOUT_SIDES_ALL];

/* -- results ----------------------------------------------------------------------------------- */

/* A negative figure was not measured. */
struct layout_figures {
	bool is_there;
	double ns, ns_p10, instructions;
	struct bus bus; /* of each operation; without counters: not counted */
};

struct layout {
	struct layout_rig rig;
	void *states[LAYOUT_SIDES_ALL];
	const char *why_not[LAYOUT_SIDES];
	bool wanted[LAYOUT_ROW_COUNT];
	unsigned rounds;
	bool has_instructions, has_bus;
	struct layout_figures figures[LAYOUT_SIDES_ALL][LAYOUT_ROW_COUNT];
};

/* The run function of a row by a column, or NULL: not wanted, or there is none. */
layout_run *layout_find_run(const struct layout *layout, unsigned side, unsigned row);

/* Around the measured call. */
struct layout_meter {
	void (*begin)(void *arg);
	void (*end)(void *arg);
	void *arg;
};

/* One region; @count 0: nothing but the call. 0, or PERF_FAILED after a complaint. */
int layout_region(const struct layout *layout, unsigned side, unsigned row, unsigned count,
		  const struct layout_meter *meter);

/*
 * Counts instructions under callgrind, and bus requests (layout_count.c): in a child of its own
 * each.
 */
int layout_count_instructions(struct layout *layout);
int layout_count_bus(struct layout *layout);
/* In the child. */
int layout_say_instructions(const struct layout *layout);
int layout_say_bus(const struct layout *layout);

/* layout_report.c */
void layout_print_text(FILE *to, const struct layout *layout);
void layout_print_json(FILE *to, const struct layout *layout);

#endif
