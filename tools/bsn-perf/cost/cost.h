/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What `bsn-perf cost` compares: rows are operations (rows.h), columns are ways to have them
 * done. Each column has queues of its own, connected to themselves, on the same device and the same
 * memory.
 *
 * A measured region is one call of a run function: so many operations and nothing else, the same
 * loop in each column. All requests are signaled. region.c prepares what must be there before
 * (receives, completions), and removes what is left, outside of it.
 */
#ifndef COST_H
#define COST_H

#include <errno.h>
#include <stdio.h>

#include "../perf.h"
#include "rows.h"

#define COST_INLINE static inline __attribute__((always_inline))

enum {
	COST_SGE_BYTES = 8,   /* of every SGE */
	COST_DATA_BYTES = 32, /* of a message whose data are read */
	COST_BATCH_MAX = 16,
	COST_SGES_MAX = 4,
	COST_MANY_DEPTH = 16, /* of each, by default */
	COST_DEPTH = 256,     /* of every queue, by default */
	COST_DEPTH_MIN = COST_BATCH_MAX,
	COST_DEPTH_MAX = 4096,
	/* Empty polls until a completion is given up. */
	COST_PATIENCE = 100 * 1000 * 1000,
};

/* What a run function returns beside 0, -errno, and enum ibv_wc_status of a failed completion. */
#define COST_LATE (-EINPROGRESS) /* completions came while they were polled: no figure */

/* Layout of the memory. */
enum { COST_LOCAL_AT = 0, COST_REMOTE_AT = 1024, COST_RECV_AT = 2048, COST_RECV_BYTES = 1024,
       COST_MEMORY = 4096 };

/* The memory of a column, as its posts see it: read anew at each post. */
struct cost_target {
	struct bsn_sge local[COST_SGES_MAX];
	struct bsn_remote remote;
	struct bsn_sge recv[2];
	const void *data;                          /* of inline posts */
	struct bsn_sge many_recvs[COST_BATCH_MAX]; /* the first of @recv, of each of a batch */
	uint64_t ids[COST_BATCH_MAX];
};

struct cost_rig {
	struct bsn_device *device;
	struct bsn_device *verbs; /* the same one, opened for plain verbs; NULL: @device is */
	uint8_t *memory;          /* registered by each column for itself */
	size_t memory_bytes;
	uint32_t depth;           /* of every queue; of many QPs COST_MANY_DEPTH, unless @qps */
	unsigned qps;             /* that were asked for; 0: none, and the kind says how many */
	/* Of the column that is made: */
	bool is_other;
	const char *why_not;
};

/* @count operations, measured. */
typedef int cost_run(void *queue, unsigned count);

/* One way to have operations done, of the queues of a subject. */
struct cost_column {
	size_t size; /* of a queue, which is zeroed before @make, and closed if that fails */
	bool is_other; /* than the first column that has this @make */
	/*
	 * NULL: the queues are those of COST_COLUMN_BUNSEN. @rig: its own copy. Return: 0, or
	 * -errno; rig->why_not then says why this device has no such column.
	 */
	int (*make)(void *queue, struct cost_rig *rig, enum cost_queues kind);
	void (*close)(void *queue); /* but for its own memory */
	cost_run *(*run_of)(const struct cost_row *row); /* NULL: the row has no meaning here */
	/* Before and after a region of the row; NULL: nothing. */
	int (*prepare)(void *queue, const struct cost_shape *shape, unsigned count);
	int (*settle)(void *queue, const struct cost_shape *shape, unsigned count);
	/* Of queue pairs, whose prepare and settle are those of region.c: */
	/* Makes the queue ready for a region of the row. */
	int (*set_up)(void *queue, const struct cost_shape *shape);
	/* Not measured: @count requests or receives; completions, which will come, of either. */
	int (*post)(void *queue, enum cost_what what, unsigned count);
	int (*drain)(void *queue, bool of_recvs, unsigned count);
};

/* The columns of the report, in its order; and the loops alone, which are taken off them. */
enum {
	COST_COLUMN_BUNSEN, COST_COLUMN_SYMBOL, COST_COLUMN_BSN_POST, COST_COLUMN_VERBS,
	COST_COLUMN_IBV_WR, COST_COLUMN_IBV,
	COST_COLUMNS,
	COST_COLUMN_NOTHING = COST_COLUMNS,
	COST_ALL_COLUMNS
};

extern const char *const cost_column_names[COST_ALL_COLUMNS]; /* also of the JSON report */
extern const struct cost_column cost_bunsen, cost_symbol, cost_bsn_post, cost_verbs, cost_ibv_wr,
	cost_ibv, cost_layout_bunsen, cost_layout_mlx5, cost_memory_bunsen, cost_memory_ibv;

/* What a column is for such queues; NULL: it has none. */
const struct cost_column *cost_column_of(unsigned column, enum cost_queues queues);

/* The column that has made its queues. */
static inline unsigned cost_owner_of(unsigned column, enum cost_queues queues)
{
	return cost_column_of(column, queues)->make ? column : COST_COLUMN_BUNSEN;
}

/* -- what columns are made of ------------------------------------------------------------------ */

/* How many QPs such a queue has, and how deep each is. */
static inline unsigned cost_qps_of(const struct cost_rig *rig, enum cost_queues kind)
{
	const unsigned usual = cost_kinds[kind].qps;

	if (rig->qps && (!usual || kind == COST_MANY))
		return rig->qps;
	return usual ? usual : 1;
}

static inline uint32_t cost_depth_of(const struct cost_rig *rig, enum cost_queues kind)
{
	const bool takes_turns = cost_kinds[kind].qps > 1 || cost_qps_of(rig, kind) > 1;

	if (cost_kinds[kind].depth)
		return cost_kinds[kind].depth;
	return takes_turns && !rig->qps ? COST_MANY_DEPTH : rig->depth;
}

static inline uint32_t cost_message_bytes(const struct cost_shape *shape)
{
	return shape->what == COST_POLL_RECV_DATA ? COST_DATA_BYTES : COST_SGE_BYTES;
}

/* COST_DATA_BYTES, wherever they lie. */
COST_INLINE void cost_read_data(const void *data)
{
	uint64_t word[COST_DATA_BYTES / 8];

	memcpy(word, data, sizeof(word));
	__asm__ volatile("" ::"r"(word[0]), "r"(word[1]), "r"(word[2]), "r"(word[3]));
}

/*
 * A run function of each code, from the column's own run_shape(queue, count, shape), which the
 * compiler specialises; and the table of them.
 */
#define COST_RUN(name, ...)                                                                        \
	static int run_##name(void *queue, unsigned count)                                         \
	{                                                                                          \
		return run_shape(queue, count, (struct cost_shape)COST_SHAPE(__VA_ARGS__));        \
	}
#define COST_RUN_ENTRY(name, ...) [COST_CODE_##name] = run_##name,

/* The same of what is no operation of a queue pair, from each(queue, count, one). */
#define COST_RUN_EACH(each, one)                                                                   \
	static int run_##one(void *queue, unsigned count)                                          \
	{                                                                                          \
		return each(queue, count, one);                                                    \
	}
#define COST_RUN_ONE(what, one)       COST_RUN_EACH(run_each, one)
#define COST_RUN_ONE_ENTRY(what, one) [COST_##what] = run_##one,

/* Makes the compiler forget what it knows of memory: no operation profits from the one before. */
#define COST_FORGET() __asm__ volatile("" ::: "memory")
/* The same, and the number of the operation is needed: the id, where a column has none. */
#define COST_FORGET_BUT(i) __asm__ volatile("" ::"r"(i) : "memory")
/* Makes the compiler forget the value of a variable. */
#define COST_HIDE(variable) __asm__("" : "+r"(variable))

/*
 * The loops of all columns, once. In a loop's arguments, `i` is the operation's number, and
 * results are or-ed into `bad`. Posts, with what is done before and after each batch:
 */
#define COST_POSTS(count, batch, begin, post, end)                                                 \
	for (unsigned first = 0; first < (count); first += (batch)) {                              \
		begin;                                                                             \
		for (unsigned i = first; i < first + (batch); i++) {                               \
			COST_FORGET();                                                             \
			post;                                                                      \
		}                                                                                  \
		end;                                                                               \
	}

/*
 * Completions, @batch at a time, whose statuses are looked at, each. @poll puts them into @c and
 * gives their number; where they are fewer, @drain, of @of_recvs, waits for the rest. @read: the
 * data of one, `i`.
 */
#define COST_POLLS(count, batch, c, poll, read, drain, of_recvs)                                   \
	for (unsigned left = (count); left; left -= (batch)) {                                     \
		const int n = (poll);                                                              \
		if (n != (int)(batch))                                                             \
			return n < 0 ? -EIO                                                        \
				     : cost_late(drain(queue, of_recvs, left - (unsigned)n));      \
		for (unsigned i = 0; i < (batch); i++) {                                           \
			bad |= (int)(c)[i].status;                                                 \
			read;                                                                      \
		}                                                                                  \
	}

#define COST_POLLS_NONE(count, poll)                                                               \
	for (unsigned left = (count); left; left--) {                                              \
		if (poll)                                                                          \
			return -EBUSY;                                                             \
	}

COST_INLINE unsigned cost_turn(unsigned *turn, unsigned count)
{
	const unsigned now = *turn;

	*turn = now + 1 == count ? 0 : now + 1;
	return now;
}

/*
 * The rest of what was to come, by a patient loop. @poll_one: how many it found, 0 or 1, and its
 * status. Return: 0; a status; -ETIMEDOUT or another -errno.
 */
static inline int cost_drain(int (*poll_one)(void *cq, int *status), void *cq, unsigned count)
{
	for (unsigned patience = COST_PATIENCE; count; patience--) {
		int status = 0;
		const int n = patience ? poll_one(cq, &status) : -ETIMEDOUT;

		if (n < 0 || status)
			return n < 0 ? n : status;
		count -= (unsigned)n;
	}
	return 0;
}

/* What to return where completions were not there in time. */
static inline int cost_late(int bad)
{
	return bad ? bad : COST_LATE;
}

/* -- a run ------------------------------------------------------------------------------------- */

enum { COST_REASON_BYTES = 160 };

/*
 * All of a run: what was opened, and what came out.
 * @queues: NULL: there are none; @why_not then says why; ""
 * @has_td: libibverbs' queues are on a thread domain
 * @counted_store: the store that ran while instructions were counted; "": none
 * @told: of each row, what JSON has of it: its name, and of each column its figures (ns,
 *	instructions, a counter of softcx's)
 */
struct cost {
	struct cost_rig rig;
	const struct bsn_device_info *device;
	bool has_td;
	char counted_store[16];
	unsigned rounds;
	bool has_column[COST_COLUMNS];
	struct cost_row rows[COST_ROWS_MAX];
	unsigned row_count;
	void *queues[COST_ALL_COLUMNS][COST_QUEUES_COUNT];
	char why_not[COST_COLUMNS][COST_QUEUES_COUNT][COST_REASON_BYTES];
	struct json_object *told[COST_ROWS_MAX];
};

void cost_add_figure(struct cost *cost, unsigned c, unsigned r, const char *name, double value);

/* report.c. @report: JSON, or NULL: as text */
void cost_tell_head(FILE *to, struct json_object *report, const struct cost *cost);
void cost_print_tables(FILE *to, const struct cost *cost);
struct json_object *cost_json_rows(const struct cost *cost);

/* -- one region (region.c) --------------------------------------------------------------------- */

/*
 * How many operations a region has.
 * @warm, @count: of hot ones, those that go before, and those that are measured
 * @warm_of_one: where a single batch is measured, those that go before
 * @fill, @laps: so many that the queues are full; so many such regions are a lap of the rings of
 * all QPs, or two
 */
struct cost_counts {
	unsigned warm, count, warm_of_one, fill, laps;
};

struct cost_counts cost_counts_of(const struct cost_rig *rig, const struct cost_row *row);

struct cost_case {
	struct cost *cost;
	unsigned c, r;
	const struct cost_row *row;
	const struct cost_column *column;
	void *queue;
	struct cost_counts counts;
};

/*
 * A row by each column that is wanted and has it, and by the loops alone; until one fails. By the
 * second order, columns that share their queues are apart: neither finds them in the cache.
 */
enum cost_order_of_columns { COST_ONE_BY_ONE = 1, COST_EACH_THIRD = 3 };
int cost_each_column(struct cost *cost, unsigned r, enum cost_order_of_columns order, void *arg,
		     int (*one)(const struct cost_case *of, void *arg));

int cost_each(struct cost *cost, void *arg, int (*one)(const struct cost_case *of, void *arg));

/*
 * What is called right before and after the measured call; NULL: nothing.
 * @is_late: set where completions came too late, and the result is void; NULL: that is a failure
 */
struct cost_meter {
	void (*begin)(void *arg);
	void (*end)(void *arg);
	void *arg;
	bool *is_late;
};

/*
 * @warm and then @count operations, the latter under the meter, with all that belongs before and
 * after. Return: 0, or PERF_FAILED after a complaint.
 */
int cost_region(const struct cost_case *of, unsigned warm, unsigned count,
		const struct cost_meter *meter);

/* -- measuring: 0, or PERF_FAILED after a complaint -------------------------------------------- */

/* What the rows' requests ask the bus for (bus.c); the times of all rows (time.c). */
int cost_count_bus(struct cost *cost);
int cost_time_all(struct cost *cost, bool wants_cold);

/*
 * Runs this program under callgrind, and counts instructions, or lines of code, or both (count.c).
 * In the child: counts all rows.
 */
int cost_count(struct cost *cost, bool instructions, bool lines);
int cost_count_in_child(struct cost *cost, bool instructions, bool lines);

#endif
