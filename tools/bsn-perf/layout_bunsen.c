/* SPDX-License-Identifier: BSD-2-Clause */
/* Bunsen's columns of `bsn-perf layout`: mkeys by hand, and layouts that are mapped. */
#include "layout.h"

#include <stdlib.h>

#include "cost.h"
#include "perf.h"
#include "stepper.h"

enum {
	DEPTH = 512,
	LONG_DEPTH = 64,
	FLAGS = BSN_F_SIGNALED | BSN_F_RING,
	MKEYS = 4 * LAYOUT_REGION_MAX,
};

/* The queue pairs: of one SGE a request, and of as many as the device takes. */
struct queue {
	struct bsn_qp *qp;
	struct bsn_ep *ep;
};

struct state {
	const struct layout_rig *rig;
	struct bsn_mr *mr[2]; /* the same memory */
	struct bsn_cq *cq;
	struct queue one, rows, many;
	struct bsn_mkey_pool *pool; /* an mkey for each layout */
	struct bsn_mkey_pool
		*small_pool; /* for one region's, so that each next layout has none yet */
	struct bsn_mkey_pool *page_pool; /* NULL: the device has none */
	struct bsn_mkey *mkey, *page_mkey;
	unsigned turn; /* which of two sets of layouts is mapped for the first time */
	struct bsn_layout_attr attr[2 * LAYOUT_REGION_MAX];
	struct bsn_part parts[2 * LAYOUT_REGION_MAX][LAYOUT_PARTS_MAX];
	struct bsn_layout *layouts[2 * LAYOUT_REGION_MAX]; /* NULL: there is none */
	const struct bsn_map *maps[LAYOUT_REGION_MAX];
	struct bsn_sge sges[LAYOUT_MATRIX];
};

/* -- what is measured -------------------------------------------------------------------------- */

static int run_configure(void *arg, unsigned count)
{
	struct state *s = arg;
	int bad = 0;

	for (unsigned i = 0; i < count; i++) {
		COST_FORGET();
		bad |= bsn_mkey_configure(s->one.ep, s->mkey, s->layouts[0], i, FLAGS);
	}
	return bad;
}

static int run_configure_pages(void *arg, unsigned count)
{
	struct state *s = arg;
	int bad = 0;

	for (unsigned i = 0; i < count; i++) {
		COST_FORGET();
		bad |= bsn_mkey_configure(s->one.ep, s->page_mkey, s->layouts[0], i, FLAGS);
	}
	return bad;
}

static int run_create(void *arg, unsigned count)
{
	struct state *s = arg;
	int bad = 0;

	for (unsigned i = 0; i < count; i++) {
		COST_FORGET();
		bad |= bsn_layout_create(s->pool, &s->attr[i], &s->layouts[i]);
	}
	return bad;
}

static int run_map_new(void *arg, unsigned count)
{
	struct state *s = arg;
	struct bsn_layout *const *layouts = s->layouts + s->turn;
	int bad = 0;

	for (unsigned i = 0; i < count; i++) {
		COST_FORGET();
		bad |= bsn_layout_map(layouts[i], s->one.ep, BSN_MAP_KEY, &s->maps[i]);
	}
	return bad;
}

static int run_map(void *arg, unsigned count)
{
	struct state *s = arg;
	int bad = 0;

	for (unsigned i = 0; i < count; i++) {
		COST_FORGET();
		bad |= bsn_layout_map(s->layouts[i], s->one.ep, 0, &s->maps[i]);
	}
	return bad;
}

static int run_look_at_handle(void *arg, unsigned count)
{
	struct state *s = arg;
	int bad = 0;

	for (unsigned i = 0; i < count; i++) {
		COST_FORGET();
		bad |= bsn_mkey_state(s->mkey) ^ BSN_MKEY_READY;
	}
	return bad;
}

static int run_unmap(void *arg, unsigned count)
{
	struct state *s = arg;

	for (unsigned i = 0; i < count; i++) {
		COST_FORGET();
		bsn_layout_unmap(s->maps[i]);
	}
	return 0;
}

/* -- a column of the matrix -------------------------------------------------------------------- */

static struct bsn_remote remote_of(const struct state *s, uint64_t offset)
{
	return (struct bsn_remote){ s->mr[0]->addr + LAYOUT_TARGET_AT + offset, s->mr[0]->rkey };
}

static uint64_t row_addr(const struct state *s, unsigned row)
{
	return s->mr[0]->addr + LAYOUT_COLUMN * LAYOUT_BLOCK + (uint64_t)row * LAYOUT_COLUMN_BYTES;
}

static int send_new(void *arg, unsigned count)
{
	struct state *s = arg;
	const struct bsn_sge sge = { .length = LAYOUT_COLUMN_BYTES, .lkey = s->mkey->lkey };
	const struct bsn_remote remote = remote_of(s, 0);
	int bad = 0;

	while (count--) {
		bad |= bsn_mkey_configure(s->one.ep, s->mkey, s->layouts[0], 0, 0);
		bad |= bsn_write(s->one.ep, &sge, &remote, 1, FLAGS);
	}
	return bad;
}

static int send_known(void *arg, unsigned count)
{
	struct state *s = arg;
	const struct bsn_remote remote = remote_of(s, 0);
	int bad = 0;

	while (count--) {
		bad |= bsn_layout_map(s->layouts[0], s->one.ep, 0, &s->maps[0]);
		bad |= bsn_write(s->one.ep, s->maps[0]->sge, &remote, 0, FLAGS);
	}
	return bad;
}

static int send_packed(void *arg, unsigned count)
{
	struct state *s = arg;
	const struct bsn_sge sge = { s->mr[0]->addr + LAYOUT_PACK_AT, LAYOUT_COLUMN_BYTES,
				     s->mr[0]->lkey };
	const struct bsn_remote remote = remote_of(s, 0);
	int bad = 0;

	while (count--) {
		layout_pack(s->rig);
		bad |= bsn_write(s->one.ep, &sge, &remote, 1, FLAGS);
	}
	return bad;
}

static int send_sges(void *arg, unsigned count)
{
	struct state *s = arg;
	const unsigned most = s->rig->max_sge;
	int bad = 0;

	while (count--) {
		for (unsigned i = 0; i < LAYOUT_MATRIX; i++)
			s->sges[i] =
				(struct bsn_sge){ row_addr(s, i), LAYOUT_BLOCK, s->mr[0]->lkey };
		for (unsigned i = 0; i < LAYOUT_MATRIX; i += most) {
			const unsigned left = LAYOUT_MATRIX - i;
			const struct bsn_remote remote = remote_of(s, i * LAYOUT_BLOCK);
			bad |= bsn_write_sgl(s->many.ep, &s->sges[i], left < most ? left : most,
					     &remote, i, left > most ? 0 : FLAGS);
		}
	}
	return bad;
}

static int send_rows(void *arg, unsigned count)
{
	struct state *s = arg;
	int bad = 0;

	while (count--) {
		for (unsigned i = 0; i < LAYOUT_MATRIX; i++) {
			const struct bsn_sge sge = { row_addr(s, i), LAYOUT_BLOCK, s->mr[0]->lkey };
			const struct bsn_remote remote = remote_of(s, i * LAYOUT_BLOCK);
			bad |= bsn_write(s->rows.ep, &sge, &remote, i,
					 i + 1 < LAYOUT_MATRIX ? 0 : FLAGS);
		}
	}
	return bad;
}

static layout_run *run_of(const struct layout_row *row)
{
	static layout_run *const runs[] = {
		[LAYOUT_CONFIGURE] = run_configure,
		[LAYOUT_HIT] = run_map,
		[LAYOUT_HIT_HANDLE] = run_look_at_handle,
		[LAYOUT_UNMAP] = run_unmap,
		[LAYOUT_SEND_NEW] = send_new,
		[LAYOUT_SEND_KNOWN] = send_known,
		[LAYOUT_SEND_PACKED] = send_packed,
		[LAYOUT_SEND_SGES] = send_sges,
		[LAYOUT_SEND_ROWS] = send_rows,
	};

	return row->is_pages ? run_configure_pages : runs[row->what];
}

static layout_run *run_of_create(const struct layout_row *row)
{
	return row->what == LAYOUT_CONFIGURE && !row->is_pages ? run_create : NULL;
}

static layout_run *run_of_map(const struct layout_row *row)
{
	return row->what == LAYOUT_CONFIGURE && !row->is_pages ? run_map_new : NULL;
}

/* -- what is not measured ---------------------------------------------------------------------- */

static int drain(struct state *s, unsigned count)
{
	unsigned patience = COST_PATIENCE;
	struct bsn_completion c;

	step();
	while (count) {
		const int n = bsn_poll(s->cq, &c, 1);
		if (n < 0 || (n && c.status))
			return n < 0 ? n : (int)c.status;
		if (!n && !--patience)
			return -ETIMEDOUT;
		count -= (unsigned)n;
	}
	return 0;
}

/* All that was posted to the first queue is done. */
static int settle(struct state *s)
{
	const struct bsn_sge sge = { s->mr[0]->addr, LAYOUT_BLOCK, s->mr[0]->lkey };
	const struct bsn_remote remote = remote_of(s, 0);
	const int err = bsn_write(s->one.ep, &sge, &remote, 0, FLAGS);

	return err ? err : drain(s, 1);
}

static void unmap(struct state *s, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		bsn_layout_unmap(s->maps[i]);
}

static void destroy_layouts(struct state *s)
{
	for (unsigned i = 0; i < 2 * LAYOUT_REGION_MAX; i++) {
		bsn_layout_destroy(s->layouts[i]);
		s->layouts[i] = NULL;
	}
}

static void describe(struct state *s, const struct layout_row *row)
{
	const uint32_t lkeys[2] = { s->mr[0]->lkey, s->mr[1]->lkey };

	for (unsigned i = 0; i < 2 * LAYOUT_REGION_MAX; i++) {
		layout_make_parts(s->rig, row, i, lkeys, s->parts[i]);
		s->attr[i] = (struct bsn_layout_attr){ .parts = s->parts[i],
						       .part_count = layout_part_count(row),
						       .rounds = layout_round_count(row) };
	}
}

static int make_layouts(struct state *s, const struct layout_row *row, struct bsn_mkey_pool *pool)
{
	int bad = 0;

	destroy_layouts(s);
	describe(s, row);
	for (unsigned i = 0; i < 2 * LAYOUT_REGION_MAX && !bad; i++)
		bad = bsn_layout_create(pool, &s->attr[i], &s->layouts[i]);
	return bad;
}

static int prepare(void *arg, const struct layout_row *row)
{
	struct state *s = arg;
	int bad = make_layouts(s, row, row->is_pages ? s->page_pool : s->pool);

	if (bad)
		return bad;
	switch (row->what) {
	case LAYOUT_HIT:
	case LAYOUT_SEND_KNOWN: /* each has its mkey */
		bad = run_map(s, row->count);
		if (!bad)
			bad = settle(s);
		if (!bad)
			unmap(s, row->count);
		if (!bad) /* once more, so that each is known to be ready */
			bad = run_map(s, row->count);
		if (!bad)
			unmap(s, row->count);
		return bad;
	case LAYOUT_UNMAP:
		bad = run_map(s, row->count);
		return bad ? bad : settle(s);
	case LAYOUT_HIT_HANDLE:
		bad = bsn_mkey_configure(s->one.ep, s->mkey, s->layouts[0], 0, 0);
		return bad ? bad : settle(s);
	case LAYOUT_CONFIGURE:
	case LAYOUT_SEND_NEW: /* what the mkey spans so far is none of the layouts that went */
		bad = bsn_mkey_configure(s->one.ep, row->is_pages ? s->page_mkey : s->mkey,
					 s->layouts[1], 0, 0);
		return bad ? bad : settle(s);
	default:
		return 0;
	}
}

static int prepare_create(void *arg, const struct layout_row *row)
{
	struct state *s = arg;

	destroy_layouts(s);
	describe(s, row);
	return 0;
}

static int prepare_map(void *arg, const struct layout_row *row)
{
	struct state *s = arg;
	int bad = make_layouts(s, row, s->small_pool);

	s->turn = 0;
	if (!bad) /* all mkeys are others' */
		bad = run_map_new(s, row->count);
	if (!bad)
		bad = settle(s);
	if (!bad)
		unmap(s, row->count);
	s->turn = LAYOUT_REGION_MAX;
	return bad;
}

static int finish(void *arg, const struct layout_row *row, unsigned count)
{
	struct state *s = arg;
	int bad = 0;

	if (row->what == LAYOUT_UNMAP) /* those that were not unmapped */
		for (unsigned i = count; i < row->count; i++)
			bsn_layout_unmap(s->maps[i]);
	else if (row->what == LAYOUT_CONFIGURE || layout_sends(row))
		bad = drain(s, count);
	if (row->what == LAYOUT_HIT || row->what == LAYOUT_SEND_KNOWN)
		unmap(s, count);
	return bad;
}

static int finish_nothing(void *arg, const struct layout_row *row, unsigned count)
{
	(void)arg;
	(void)row;
	(void)count;
	return 0;
}

static int finish_map(void *arg, const struct layout_row *row, unsigned count)
{
	struct state *s = arg;
	const int bad = settle(s);

	(void)row;
	unmap(s, count);
	return bad;
}

/* -- making it --------------------------------------------------------------------------------- */

static int make_queue(struct state *s, uint32_t depth, uint32_t sges, struct queue *queue)
{
	const struct bsn_qp_attr attr = {
		.cq = s->cq, .send_depth = depth, .recv_depth = 1, .max_send_sge = sges
	};
	struct bsn_address self;
	int err = bsn_qp_create(s->rig->device, &attr, &queue->qp);

	if (!err)
		err = bsn_qp_address(queue->qp, &self);
	if (!err)
		err = bsn_qp_connect(queue->qp, &self, NULL);
	if (!err)
		queue->ep = bsn_qp_ep(queue->qp);
	return err;
}

static int make_memory(struct state *s)
{
	int err = 0;

	for (unsigned i = 0; i < 2 && !err; i++)
		err = bsn_mr_register(s->rig->device, s->rig->memory, LAYOUT_MEMORY, NULL,
				      &s->mr[i]);
	return err;
}

static int make_pools(struct state *s)
{
	const struct bsn_mkey_pool_attr many = { .count = MKEYS + 8 };
	const struct bsn_mkey_pool_attr few = { .count = LAYOUT_REGION_MAX };
	int err = bsn_mkey_pool_create(s->rig->device, &many, &s->pool);

	if (!err)
		err = bsn_mkey_pool_create(s->rig->device, &few, &s->small_pool);
	if (!err)
		err = bsn_mkey_take(s->pool, &s->mkey);
	return err;
}

static int make_page_pool(struct state *s)
{
	const struct bsn_mkey_pool_attr pages = { .count = 1, .page_bytes = LAYOUT_PAGE };
	const int err = bsn_mkey_pool_create(s->rig->device, &pages, &s->page_pool);

	return err ? err : bsn_mkey_take(s->page_pool, &s->page_mkey);
}

static void close_state(void *arg)
{
	struct state *s = arg;

	destroy_layouts(s);
	if (s->mkey)
		bsn_mkey_give(s->mkey);
	if (s->page_mkey)
		bsn_mkey_give(s->page_mkey);
	bsn_qp_destroy(s->many.qp);
	bsn_qp_destroy(s->rows.qp);
	bsn_qp_destroy(s->one.qp);
	bsn_mkey_pool_destroy(s->page_pool);
	bsn_mkey_pool_destroy(s->small_pool);
	bsn_mkey_pool_destroy(s->pool);
	bsn_cq_destroy(s->cq);
	bsn_mr_deregister(s->mr[1]);
	bsn_mr_deregister(s->mr[0]);
	free(s);
}

static int open_state(const struct layout_rig *rig, void **state, const char **why_not)
{
	struct state *s = calloc(1, sizeof(*s));
	int err;

	(void)why_not;
	if (!s)
		return complain("no memory");
	s->rig = rig;
	err = bsn_cq_create(rig->device, &(struct bsn_cq_attr){ .entries = 4 * LAYOUT_MATRIX },
			    &s->cq);
	if (!err)
		err = make_queue(s, DEPTH, 1, &s->one);
	if (!err)
		err = make_queue(s, LAYOUT_MATRIX, 1, &s->rows);
	if (!err)
		err = make_queue(s, LONG_DEPTH, rig->max_sge, &s->many);
	if (!err)
		err = make_memory(s);
	if (!err)
		err = make_pools(s);
	if (!err && rig->has_pages)
		err = make_page_pool(s);
	*state = s;
	return err ? complain_of("layouts", err) : 0;
}

const struct layout_side layout_bunsen = {
	.name = "bunsen",
	.open = open_state,
	.close = close_state,
	.run_of = run_of,
	.prepare = prepare,
	.finish = finish,
};

const struct layout_side layout_create = {
	.name = "create",
	.shares = &layout_bunsen,
	.run_of = run_of_create,
	.prepare = prepare_create,
	.finish = finish_nothing,
};

const struct layout_side layout_bunsen_map = {
	.name = "bunsen_map",
	.shares = &layout_bunsen,
	.run_of = run_of_map,
	.prepare = prepare_map,
	.finish = finish_map,
};
