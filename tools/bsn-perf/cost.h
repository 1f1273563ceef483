/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What `bsn-perf cost` compares: rows are operations, columns are ways to have them done. Each
 * column has queues of its own, an RC pair that is connected to itself, on the same device and the
 * same memory.
 *
 * A measured region is one call of a run function: so many operations and nothing else, the same
 * loop in each column. All requests are signaled. What must be there before (receives, completions)
 * and what is left behind is dealt with outside of it, in cost.c, by the same functions.
 */
#ifndef COST_H
#define COST_H

#include <errno.h>
#include <stdio.h>

#include "bsn.h"

/* X(name, batch): operations come in groups of `batch`. */
#define COST_OPS(X)                                                                                \
	X(write_sge, 1)                                                                            \
	X(write_inline, 1)                                                                         \
	X(write_prepared, 1)                                                                       \
	X(write_batch16_sge, 16)                                                                   \
	X(write_batch16_inline, 16)                                                                \
	X(read, 1)                                                                                 \
	X(send, 1)                                                                                 \
	X(poll_1, 1)                                                                               \
	X(poll_16, 16)                                                                             \
	X(poll_empty, 1)                                                                           \
	X(post_recv, 1)

#define COST_ENUM_OP(name, batch) COST_##name,
enum cost_op { COST_OPS(COST_ENUM_OP) COST_OP_COUNT };
#undef COST_ENUM_OP

enum {
	COST_BYTES = 8,   /* of every message */
	COST_BATCH = 16,  /* of the batch rows */
	COST_DEPTH = 256, /* of every queue */
	COST_WARM = 32,   /* operations before the measured ones, at once */
	COST_COUNT = 192, /* operations of a measured region; with the warm ones they fit a queue */
	COST_MEMORY = 4096,
	/* Empty polls until a completion is given up. */
	COST_PATIENCE = 100 * 1000 * 1000,
};

/* What a run function returns beside 0, -errno, and enum ibv_wc_status of a failed completion. */
#define COST_LATE (-EINPROGRESS) /* completions came while they were polled: no figure */

/* The memory of a column, as its posts see it: read anew at each post. */
struct cost_target {
	struct bsn_sge local;
	struct bsn_remote remote;
	struct bsn_sge recv;
	const void *data; /* of inline posts */
	uint32_t data_bytes;
};

struct cost_rig {
	struct bsn_device *device;
	uint8_t *memory; /* COST_MEMORY bytes, registered by each column for itself */
};

struct cost_column {
	const char *name;
	/* Return: 0, or -errno; *why_not then says why this device has no such column, if it has none. */
	int (*open)(const struct cost_rig *rig, void **queue, const char **why_not);
	void (*close)(void *queue);
	int (*run[COST_OP_COUNT])(void *queue, unsigned count); /* NULL: has no meaning here */
	int (*post_recv)(void *queue, unsigned count);
	int (*drain)(void *queue, unsigned count);      /* send completions, which will come */
	int (*drain_recv)(void *queue, unsigned count); /* receive completions likewise */
};

extern const struct cost_column cost_bunsen, cost_ibv_wr, cost_ibv, cost_floor;
extern const struct cost_column cost_nothing; /* the loops alone; no column of the report */

/* Layout of the memory. */
enum { COST_LOCAL_AT = 0, COST_REMOTE_AT = 1024, COST_RECV_AT = 2048 };

static inline struct cost_target cost_target_of(const struct cost_rig *rig, uint32_t lkey,
						uint32_t rkey)
{
	return (struct cost_target){
		.local = { (uintptr_t)rig->memory + COST_LOCAL_AT, COST_BYTES, lkey },
		.remote = { (uintptr_t)rig->memory + COST_REMOTE_AT, rkey },
		.recv = { (uintptr_t)rig->memory + COST_RECV_AT, COST_BYTES, lkey },
		.data = rig->memory + COST_LOCAL_AT,
		.data_bytes = COST_BYTES,
	};
}

/* Makes the compiler forget what it knows of memory, so that no operation leans on the one before. */
#define COST_FORGET() __asm__ volatile("" ::: "memory")
/* The same, and the number of the operation is needed: the id, where a column has none. */
#define COST_FORGET_BUT(i) __asm__ volatile("" ::"r"(i) : "memory")

/*
 * The loops of all columns, once. In the operation that a loop is given, `q` is the queue, a struct
 * COLUMN_queue; `h` is what a program has at hand in its loop, a struct COLUMN_hot; `i` is the
 * operation's number. Results are or-ed.
 */
#define COST_RUN(column, name, ...)                                                                \
	static int run_##name(void *queue, unsigned count)                                         \
	{                                                                                          \
		struct column##_queue *const q = queue;                                            \
		const struct column##_hot h = column##_hot_of(q);                                  \
		int bad = 0;                                                                       \
		(void)h;                                                                           \
		__VA_ARGS__                                                                        \
		return bad;                                                                        \
	}

/* One at a time. */
#define COST_EACH(column, name, post)                                                              \
	COST_RUN(                                                                                  \
		column, name, for (unsigned i = 0; i < count; i++) {                               \
			COST_FORGET();                                                             \
			bad |= (post);                                                             \
		})

/* COST_BATCH of them, between what is done once for all. */
#define COST_BATCHES(column, name, begin, post, end)                                               \
	COST_RUN(                                                                                  \
		column, name, for (unsigned done = 0; done < count; done += COST_BATCH) {          \
			begin;                                                                     \
			for (unsigned i = 0; i < COST_BATCH; i++) {                                \
				COST_FORGET();                                                     \
				post;                                                              \
			}                                                                          \
			bad |= (end);                                                              \
		})

/*
 * Completions, @batch at a time, whose statuses are looked at, each. @poll puts them into `c` and
 * gives their number; where they are fewer, @drain waits for the rest.
 */
#define COST_POLLS(column, name, type, batch, poll, drain)                                         \
	COST_RUN(                                                                                  \
		column, name, type c[batch] = { { 0 } }; for (; count; count -= (batch)) {         \
			const int n = (poll);                                                      \
			if (n != (batch))                                                          \
				return n < 0 ? -EIO : cost_late(drain(q, count - (unsigned)n));    \
			for (int i = 0; i < (batch); i++)                                          \
				bad |= (int)c[i].status;                                           \
		})

/* There is nothing to be found. */
#define COST_POLLS_EMPTY(column, name, type, poll)                                                 \
	COST_RUN(                                                                                  \
		column, name, type c[1] = { { 0 } }; for (; count; count--) {                      \
			if (poll)                                                                  \
				return -EBUSY;                                                     \
		})

/* What became of completions that were not there in time. */
static inline int cost_late(int bad)
{
	return bad ? bad : COST_LATE;
}

/* -- results ------------------------------------------------------------------------------------ */

enum { COST_COLUMNS = 4 };

extern const struct cost_column *const cost_columns[COST_COLUMNS];
extern const char *const cost_op_names[COST_OP_COUNT];

/* A negative figure was not measured, or has no meaning. */
struct cost_figures {
	double ns, ns_min, instructions;
};

struct cost_results {
	const struct bsn_device_info *device;
	char counted_store
		[16]; /* the store that ran while instructions were counted; "": none did */
	unsigned rounds;
	bool wanted[COST_OP_COUNT];
	const char *why_not[COST_COLUMNS]; /* a column that was left out as a whole */
	struct cost_figures figures[COST_COLUMNS][COST_OP_COUNT];
};

/* report.c */
void cost_print_text(FILE *to, const struct cost_results *results);
void cost_print_json(FILE *to, const struct cost_results *results);

/* -- counting instructions (instructions.c) ------------------------------------------------------ */

/* Runs this program under callgrind, and fills in the instructions. 0, or PERF_FAILED. */
int count_instructions(struct cost_results *results);

/* In the child: what is measured begins, ends. */
bool callgrind_is_there(void);
void callgrind_begin(void);
void callgrind_end(const char *column, const char *op, unsigned count);

#endif
