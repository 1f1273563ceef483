/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Layouts as rows of `bsn-perf cost`: they are checked, mapped, and mkeys configured by them; and a
 * column of a matrix is sent by each way that there is. By Bunsen, and by libmlx5's
 * mlx5dv_wr_mr_list(), mlx5dv_wr_mr_interleaved() and ibv_wr_*, which check and remember nothing.
 */
#include <infiniband/mlx5dv.h>
#include <stdlib.h>
#include <string.h>

#include "bsn_mkey.h"
#include "bunsen.h"

enum {
	LAYOUT_PARTS_MAX = 48,
	LAYOUT_ROUNDS = 16, /* of interleaved parts */
	LAYOUT_BLOCK = 8,
	LAYOUT_PAGE = 4096,
	LAYOUT_COLUMN_BYTES = COST_MATRIX_ROWS * LAYOUT_BLOCK,
	LAYOUT_COLUMN = 3, /* which is sent */
	/* Memory: the matrix, where the column goes to, and where it is packed. */
	LAYOUT_TARGET_AT = COST_MATRIX_ROWS * LAYOUT_COLUMN_BYTES,
	LAYOUT_PACK_AT = LAYOUT_TARGET_AT + LAYOUT_COLUMN_BYTES,
	LAYOUT_MEMORY = LAYOUT_PACK_AT + LAYOUT_COLUMN_BYTES,
	FLAGS = BSN_F_SIGNALED | BSN_F_RING,
	PART_ROOM = 64, /* of each part, but for what interleaved ones have further on */
	LAYOUT_ROOM = LAYOUT_PARTS_MAX * PART_ROOM,
	PART_BYTES = 40,
	MLX5_DEPTH = 64,
	MLX5_INLINE = 828, /* bytes: all that libmlx5 grants on RC, where 52 entries have 4 more */
	MLX5_ENTRIES = 52, /* of its mkey */
	ACCESS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE |
		 IBV_ACCESS_REMOTE_ATOMIC,
};

/* -- the layouts ------------------------------------------------------------------------------- */

static bool is_matrix(const struct cost_shape *shape)
{
	return shape->queues == COST_MATRIX || shape->queues == COST_MATRIX_WIDE;
}

/* The @which-th layout of a shape, over memory of these lkeys. @parts: what it has */
static struct bsn_layout_attr layout_of(uint8_t *memory, const struct cost_shape *shape,
					unsigned which, const uint32_t lkeys[2],
					struct bsn_part parts[LAYOUT_PARTS_MAX])
{
	const uint64_t base = (uintptr_t)memory;
	const bool is_pages = shape->form == COST_PAGES;

	if (is_matrix(shape)) {
		parts[0] = (struct bsn_part){ .addr = base + LAYOUT_COLUMN * LAYOUT_BLOCK,
					      .bytes = LAYOUT_BLOCK,
					      .stride = LAYOUT_COLUMN_BYTES,
					      .lkey = lkeys[0] };
		return (struct bsn_layout_attr){ parts, 1, COST_MATRIX_ROWS };
	}
	for (unsigned i = 0; i < shape->n; i++) {
		const unsigned place = shape->order == COST_SHUFFLED ? i * 7 % shape->n : i;

		parts[i] = (struct bsn_part){
			.addr = base + (is_pages ? (which + 2 * i) * LAYOUT_PAGE
						 : which * LAYOUT_ROOM + place * PART_ROOM),
			.bytes = is_pages ? LAYOUT_PAGE : PART_BYTES,
			.stride = LAYOUT_ROOM,
			.lkey = lkeys[shape->order == COST_TWO_KEYS && i % 2],
		};
	}
	return (struct bsn_layout_attr){ parts, shape->n,
					 shape->form == COST_INTERLEAVED ? LAYOUT_ROUNDS : 1 };
}

static uint64_t *words_at(const uint8_t *memory, size_t at)
{
	return (uint64_t *)(uintptr_t)(memory + at);
}

static uint64_t cell(const uint8_t *memory, size_t row)
{
	return *words_at(memory, row * LAYOUT_COLUMN_BYTES + LAYOUT_COLUMN * LAYOUT_BLOCK);
}

/* LAYOUT_MEMORY bytes, filled; NULL: no memory. */
static uint8_t *make_memory(void)
{
	uint8_t *memory = aligned_alloc(LAYOUT_PAGE, LAYOUT_MEMORY);

	for (size_t i = 0; memory && i < LAYOUT_MEMORY / sizeof(uint64_t); i++)
		words_at(memory, 0)[i] = i;
	return memory;
}

/* Before a column is sent, and after: -EBADMSG it did not arrive. */
static void clear_target(uint8_t *memory)
{
	memset(memory + LAYOUT_TARGET_AT, 0, LAYOUT_COLUMN_BYTES);
}

static int check_target(const uint8_t *memory)
{
	for (size_t row = 0; row < COST_MATRIX_ROWS; row++)
		if (words_at(memory, LAYOUT_TARGET_AT)[row] != cell(memory, row))
			return -EBADMSG;
	return 0;
}

/* -- Bunsen: what is measured ------------------------------------------------------------------ */

/* Two sets of layouts: of the first each has an mkey when those of the second are mapped. */
enum { SET = COST_LAYOUTS_MOST, LAYOUTS = 2 * SET };

struct state {
	uint8_t *memory;
	struct bsn_mr *second;        /* the same memory as that of @q */
	struct bsn_mkey_pool *pool;   /* an mkey for each layout */
	struct bsn_mkey_pool *narrow; /* for one set, so that those of the other have none yet */
	struct bsn_mkey *mkey;
	unsigned at, max_sge;         /* the layout that is next; of a request */
	struct bsn_layout_attr attr[LAYOUTS];
	struct bsn_part parts[LAYOUTS][LAYOUT_PARTS_MAX];
	struct bsn_layout *layouts[LAYOUTS];
	const struct bsn_map *maps[LAYOUTS];
	struct bsn_sge sges[COST_MATRIX_ROWS];
	struct bunsen_queue q;
};

static int configure(struct state *s, unsigned i)
{
	return bsn_mkey_configure(s->q.ep, s->mkey, s->layouts[0], i, FLAGS);
}

static int check_one(struct state *s, unsigned i)
{
	return bsn_layout_create(s->pool, &s->attr[i], &s->layouts[i]);
}

static int map_new(struct state *s, unsigned i)
{
	return bsn_layout_map(s->layouts[i], s->q.ep, BSN_MAP_KEY, &s->maps[i]);
}

COST_INLINE int map_known(struct state *s, unsigned i)
{
	return bsn_layout_map(s->layouts[i], s->q.ep, 0, &s->maps[i]);
}

static int unmap(struct state *s, unsigned i)
{
	bsn_layout_unmap(s->maps[i]);
	s->maps[i] = NULL;
	return 0;
}

COST_INLINE struct bsn_remote remote_of(const struct state *s, uint64_t offset)
{
	return bsn_remote_of(s->q.mr, LAYOUT_TARGET_AT + offset);
}

COST_INLINE struct bsn_sge cell_of(const struct state *s, unsigned row)
{
	return bsn_sge_of(s->q.mr,
			  LAYOUT_COLUMN * LAYOUT_BLOCK + (uint64_t)row * LAYOUT_COLUMN_BYTES,
			  LAYOUT_BLOCK);
}

COST_INLINE int write_column(const struct state *s, struct bsn_sge sge)
{
	const struct bsn_remote remote = remote_of(s, 0);

	return bsn_write(s->q.ep, &sge, &remote, 0, FLAGS);
}

static int send_new(struct state *s, unsigned i)
{
	const int bad = bsn_mkey_configure(s->q.ep, s->mkey, s->layouts[0], i, 0);

	return bad | write_column(s, (struct bsn_sge){ .length = LAYOUT_COLUMN_BYTES,
						       .lkey = s->mkey->lkey });
}

static int send_known(struct state *s, unsigned i)
{
	const int bad = map_known(s, i);

	return bad ? bad : write_column(s, *s->maps[i]->sge);
}

static int send_packed(struct state *s, unsigned i)
{
	(void)i;
	for (unsigned row = 0; row < COST_MATRIX_ROWS; row++)
		words_at(s->memory, LAYOUT_PACK_AT)[row] = cell(s->memory, row);
	return write_column(s, bsn_sge_of(s->q.mr, LAYOUT_PACK_AT, LAYOUT_COLUMN_BYTES));
}

static int send_sges(struct state *s, unsigned unused)
{
	const unsigned most = s->max_sge;
	int bad = 0;

	(void)unused;
	for (unsigned i = 0; i < COST_MATRIX_ROWS; i++)
		s->sges[i] = cell_of(s, i);
	for (unsigned i = 0; i < COST_MATRIX_ROWS; i += most) {
		const unsigned left = COST_MATRIX_ROWS - i;
		const struct bsn_remote remote = remote_of(s, i * LAYOUT_BLOCK);
		bad |= bsn_write_sgl(s->q.ep, &s->sges[i], left < most ? left : most, &remote,
				     i, left > most ? 0 : FLAGS);
	}
	return bad;
}

static int send_rows(struct state *s, unsigned unused)
{
	int bad = 0;

	(void)unused;
	for (unsigned i = 0; i < COST_MATRIX_ROWS; i++) {
		const struct bsn_sge sge = cell_of(s, i);
		const struct bsn_remote remote = remote_of(s, i * LAYOUT_BLOCK);
		bad |= bsn_write(s->q.ep, &sge, &remote, i, i + 1 < COST_MATRIX_ROWS ? 0 : FLAGS);
	}
	return bad;
}

COST_INLINE int run_each(void *queue, unsigned count, int (*one)(struct state *s, unsigned i))
{
	struct state *const s = queue;
	const unsigned from = s->at;
	int bad = 0;

	s->at += count;
	for (unsigned i = from; i < from + count; i++) {
		COST_FORGET();
		bad |= one(s, i);
	}
	return bad;
}

#define OPERATIONS(X)                                                                              \
	X(CONFIGURE, configure) X(CHECK, check_one) X(MAP_NEW, map_new) X(MAP_KNOWN, map_known)    \
	X(UNMAP, unmap) X(SEND_NEW, send_new) X(SEND_KNOWN, send_known)                            \
	X(SEND_PACKED, send_packed) X(SEND_SGES, send_sges) X(SEND_ROWS, send_rows)
OPERATIONS(COST_RUN_ONE)

static cost_run *run_of(const struct cost_row *row)
{
	static cost_run *const runs[COST_WHATS] = { OPERATIONS(COST_RUN_ONE_ENTRY) };

	return runs[row->shape.what];
}

/* -- Bunsen: before and after ------------------------------------------------------------------ */

static int drain(struct state *s, unsigned count)
{
	step();
	return bunsen_drain(&s->q, false, count);
}

static int flush(struct state *s)
{
	const struct bsn_remote remote = remote_of(s, 0);
	const struct bsn_sge sge = cell_of(s, 0);
	const int err = bsn_write(s->q.ep, &sge, &remote, 0, FLAGS);

	return err ? err : drain(s, 1);
}

static void unmap_all(struct state *s)
{
	for (unsigned i = 0; i < LAYOUTS; i++)
		if (s->maps[i])
			unmap(s, i);
}

static void describe(struct state *s, const struct cost_shape *shape)
{
	const uint32_t lkeys[2] = { s->q.mr->lkey, s->second->lkey };

	for (unsigned i = 0; i < LAYOUTS; i++) {
		bsn_layout_destroy(s->layouts[i]);
		s->layouts[i] = NULL;
		s->attr[i] = layout_of(s->memory, shape, i, lkeys, s->parts[i]);
	}
}

/* Maps so many of the first layouts, and waits until their mkeys are ready. */
static int map_some(struct state *s, cost_run *run, unsigned count)
{
	int bad;

	s->at = 0;
	bad = run(s, count);
	return bad ? bad : flush(s);
}

static int prepare(void *queue, const struct cost_shape *shape, unsigned count)
{
	struct state *const s = queue;
	struct bsn_mkey_pool *pool = shape->what == COST_MAP_NEW ? s->narrow : s->pool;
	int bad = 0;

	describe(s, shape);
	clear_target(s->memory);
	for (unsigned i = 0; i < LAYOUTS && !bad && shape->what != COST_CHECK; i++)
		bad = bsn_layout_create(pool, &s->attr[i], &s->layouts[i]);
	if (!bad && shape->what == COST_MAP_NEW) { /* all mkeys are others' */
		bad = map_some(s, run_map_new, SET);
		unmap_all(s);
	} else if (!bad && (shape->what == COST_MAP_KNOWN || shape->what == COST_SEND_KNOWN)) {
		for (int i = 0; i < 2 && !bad; i++) { /* twice: then each is known to be ready */
			bad = map_some(s, run_map_known, count);
			unmap_all(s);
		}
	} else if (!bad && shape->what == COST_UNMAP) {
		bad = map_some(s, run_map_known, count);
	} else if (!bad && shape->what != COST_CHECK) { /* it spans none of the layouts that went */
		bad = bsn_mkey_configure(s->q.ep, s->mkey, s->layouts[1], 0, 0);
		bad = bad ? bad : flush(s);
	}
	s->at = shape->what == COST_MAP_NEW ? SET : 0;
	return bad;
}

static int settle(void *queue, const struct cost_shape *shape, unsigned count)
{
	struct state *const s = queue;
	int bad = shape->what == COST_MAP_NEW                         ? flush(s)
		  : shape->what == COST_CONFIGURE || is_matrix(shape) ? drain(s, count)
								      : 0;

	unmap_all(s);
	if (!bad && count && is_matrix(shape))
		bad = check_target(s->memory);
	return bad;
}

/* -- Bunsen: making it ------------------------------------------------------------------------- */

static int make_pools(struct state *s, struct bsn_device *device, bool is_paged)
{
	const struct bsn_mkey_pool_attr wide = { .count = 2 * LAYOUTS };
	const struct bsn_mkey_pool_attr narrow = { .count = SET };
	const struct bsn_mkey_pool_attr pages = { .count = 1, .page_bytes = LAYOUT_PAGE };
	int err = bsn_mkey_pool_create(device, is_paged ? &pages : &wide, &s->pool);

	if (err || (err = bsn_mkey_pool_create(device, &narrow, &s->narrow)))
		return err;
	return bsn_mkey_take(s->pool, &s->mkey);
}

static int make(void *queue, struct cost_rig *rig, enum cost_queues kind)
{
	struct state *s = queue;
	int err;

	rig->memory = s->memory = make_memory();
	rig->memory_bytes = LAYOUT_MEMORY;
	if (!s->memory)
		return -ENOMEM;
	if ((err = make_pools(s, rig->device, kind == COST_PAGED)) ||
	    (err = bunsen_open(&s->q, rig, kind)))
		return err;
	s->max_sge = bsn_qp_info(s->q.qps[0])->max_send_sge;
	return bsn_mr_register(rig->device, s->memory, LAYOUT_MEMORY, NULL, &s->second);
}

static void close_state(void *queue)
{
	struct state *const s = queue;

	for (unsigned i = 0; i < LAYOUTS; i++)
		bsn_layout_destroy(s->layouts[i]);
	if (s->mkey)
		bsn_mkey_give(s->mkey);
	bsn_mkey_pool_destroy(s->narrow);
	bsn_mkey_pool_destroy(s->pool);
	bsn_mr_deregister(s->second);
	bunsen_close(&s->q);
	free(s->memory);
}

const struct cost_column cost_layout_bunsen = {
	.size = sizeof(struct state),
	.make = make, .close = close_state, .run_of = run_of,
	.prepare = prepare, .settle = settle,
};

/* -- libmlx5 ----------------------------------------------------------------------------------- */

struct mkeys {
	uint8_t *memory;
	struct verbs_queue v;
	struct ibv_qp_ex *qp_ex; /* as that of @v, but for mkeys, too */
	struct bsn_mr *second; /* the same memory as that of @v */
	struct mlx5dv_mkey *mkey;
	uint16_t part_count;
	uint32_t rounds;
	struct ibv_sge list[LAYOUT_PARTS_MAX];
	struct mlx5dv_mr_interleaved blocks[LAYOUT_PARTS_MAX];
};

COST_INLINE void post_mkey(struct mkeys *s, bool is_list, unsigned flags)
{
	struct mlx5dv_qp_ex *mlx5 = mlx5dv_qp_ex_from_ibv_qp_ex(s->qp_ex);

	s->qp_ex->wr_flags = IBV_SEND_INLINE | flags;
	if (is_list)
		mlx5dv_wr_mr_list(mlx5, s->mkey, ACCESS, s->part_count, s->list);
	else
		mlx5dv_wr_mr_interleaved(mlx5, s->mkey, ACCESS, s->rounds, s->part_count,
					 s->blocks);
}

COST_INLINE void configure_list(struct mkeys *s)
{
	post_mkey(s, true, IBV_SEND_SIGNALED);
}

COST_INLINE void configure_rounds(struct mkeys *s)
{
	post_mkey(s, false, IBV_SEND_SIGNALED);
}

COST_INLINE void mlx5_send_known(struct mkeys *s)
{
	struct ibv_qp_ex *qp = s->qp_ex;

	qp->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(qp, s->v.made.mr->rkey, (uintptr_t)s->memory + LAYOUT_TARGET_AT);
	ibv_wr_set_sge(qp, s->mkey->lkey, 0, LAYOUT_COLUMN_BYTES);
}

COST_INLINE void mlx5_send_new(struct mkeys *s)
{
	post_mkey(s, false, 0);
	mlx5_send_known(s);
}

COST_INLINE int mlx5_run_each(void *queue, unsigned count, void (*one)(struct mkeys *s))
{
	struct mkeys *s = queue;
	struct ibv_qp_ex *qp = s->qp_ex;
	int bad = 0;

	for (unsigned i = 0; i < count; i++) {
		COST_FORGET();
		ibv_wr_start(qp);
		qp->wr_id = i;
		one(s);
		bad |= ibv_wr_complete(qp);
	}
	return bad;
}

COST_RUN_EACH(mlx5_run_each, configure_list)
COST_RUN_EACH(mlx5_run_each, configure_rounds)
COST_RUN_EACH(mlx5_run_each, mlx5_send_new)
COST_RUN_EACH(mlx5_run_each, mlx5_send_known)

static cost_run *mlx5_run_of(const struct cost_row *row)
{
	const bool is_list = row->shape.form != COST_INTERLEAVED;

	return row->shape.what == COST_CONFIGURE
		       ? (is_list ? run_configure_list : run_configure_rounds)
	       : row->shape.what == COST_SEND_NEW   ? run_mlx5_send_new
	       : row->shape.what == COST_SEND_KNOWN ? run_mlx5_send_known
						    : NULL;
}

static int mlx5_prepare(void *queue, const struct cost_shape *shape, unsigned count)
{
	struct mkeys *s = queue;
	const uint32_t lkeys[2] = { s->v.made.mr->lkey, s->second->lkey };
	struct bsn_part parts[LAYOUT_PARTS_MAX];
	const struct bsn_layout_attr layout = layout_of(s->memory, shape, 0, lkeys, parts);
	int bad;

	(void)count;
	clear_target(s->memory);
	s->part_count = (uint16_t)layout.part_count;
	s->rounds = layout.rounds;
	for (unsigned i = 0; i < s->part_count; i++) {
		s->list[i] =
			(struct ibv_sge){ parts[i].addr, (uint32_t)parts[i].bytes, parts[i].lkey };
		s->blocks[i] = (struct mlx5dv_mr_interleaved){
			.addr = parts[i].addr,
			.bytes_count = (uint32_t)parts[i].bytes,
			.bytes_skip = (uint32_t)(parts[i].stride - parts[i].bytes),
			.lkey = parts[i].lkey,
		};
	}
	if (shape->what != COST_SEND_KNOWN)
		return 0;
	bad = run_configure_rounds(s, 1);
	step();
	return bad ? bad : verbs_drain(&s->v, false, 1);
}

static int mlx5_settle(void *queue, const struct cost_shape *shape, unsigned count)
{
	struct mkeys *s = queue;
	int bad;

	step();
	bad = verbs_drain(&s->v, false, count);
	return bad || !count || !is_matrix(shape) ? bad : check_target(s->memory);
}

static void mlx5_close(void *queue)
{
	struct mkeys *s = queue;

	if (s->mkey)
		mlx5dv_destroy_mkey(s->mkey);
	if (s->qp_ex)
		ibv_destroy_qp(&s->qp_ex->qp_base);
	bsn_mr_deregister(s->second);
	verbs_close(&s->v);
	free(s->memory);
}

/* Of libmlx5, for mkeys, too; Bunsen is attached to it while it connects it. */
static int make_qp_of_mkeys(struct mkeys *s, struct bsn_device *plain)
{
	struct ibv_qp_init_attr_ex init = {
		.send_cq = s->v.qp->send_cq,
		.recv_cq = s->v.qp->recv_cq,
		.cap = { .max_send_wr = MLX5_DEPTH, .max_recv_wr = 1, .max_send_sge = 1,
			 .max_recv_sge = 1, .max_inline_data = MLX5_INLINE },
		.qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = s->v.qp->pd,
		.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE,
	};
	struct mlx5dv_qp_init_attr mlx5 = {
		.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS,
		.send_ops_flags = MLX5DV_QP_EX_WITH_MR_LIST | MLX5DV_QP_EX_WITH_MR_INTERLEAVED,
	};
	struct ibv_qp *qp = mlx5dv_create_qp(s->v.qp->context, &init, &mlx5);
	struct bsn_qp *attached;
	int err;

	if (!qp)
		return -errno;
	s->qp_ex = ibv_qp_to_qp_ex(qp);
	err = bsn_qp_attach(plain, qp, NULL, &attached);
	if (err)
		return err;
	err = bunsen_connect(attached, BSN_QP_RC);
	bsn_qp_destroy(attached);
	return err;
}

static int mlx5_make(void *queue, struct cost_rig *rig, enum cost_queues kind)
{
	struct mlx5dv_mkey_init_attr mkey = {
		.create_flags = MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT,
		.max_entries = MLX5_ENTRIES,
	};
	struct mkeys *s = queue;
	int err;

	rig->memory = s->memory = make_memory();
	rig->memory_bytes = LAYOUT_MEMORY;
	if (!s->memory)
		return -ENOMEM;
	rig->why_not = "libmlx5 makes no mkeys here";
	if ((err = verbs_open(&s->v, rig, kind)) || (err = make_qp_of_mkeys(s, rig->device)) ||
	    (err = bsn_mr_register(rig->device, s->memory, LAYOUT_MEMORY, NULL, &s->second)))
		return err;
	mkey.pd = s->v.qp->pd;
	s->mkey = mlx5dv_create_mkey(&mkey);
	return s->mkey ? 0 : -errno;
}

const struct cost_column cost_layout_mlx5 = {
	.size = sizeof(struct mkeys),
	.make = mlx5_make, .close = mlx5_close, .run_of = mlx5_run_of,
	.prepare = mlx5_prepare, .settle = mlx5_settle,
};
