/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libmlx5's way with layouts: mlx5dv_wr_mr_list(), mlx5dv_wr_mr_interleaved(), ibv_wr_*. It checks
 * and remembers nothing.
 */
#include "layouts.h"

#include <errno.h>
#include <infiniband/mlx5dv.h>
#include <stdlib.h>

#include "verbs.h"
#include "../stepper.h"

enum {
	ENTRIES = 52,
	ACCESS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE |
		 IBV_ACCESS_REMOTE_ATOMIC,
};

struct state {
	uint8_t *memory;
	struct verbs_queue v;
	struct ibv_mr *second; /* the same memory as that of @v */
	struct mlx5dv_mkey *mkey;
	uint16_t part_count;
	uint32_t rounds;
	struct ibv_sge list[LAYOUT_PARTS_MAX];
	struct mlx5dv_mr_interleaved blocks[LAYOUT_PARTS_MAX];
};

COST_INLINE void post_mkey(struct state *s, bool is_list, unsigned flags)
{
	struct mlx5dv_qp_ex *mlx5 = mlx5dv_qp_ex_from_ibv_qp_ex(s->v.qp_ex);

	s->v.qp_ex->wr_flags = IBV_SEND_INLINE | flags;
	if (is_list)
		mlx5dv_wr_mr_list(mlx5, s->mkey, ACCESS, s->part_count, s->list);
	else
		mlx5dv_wr_mr_interleaved(mlx5, s->mkey, ACCESS, s->rounds, s->part_count,
					 s->blocks);
}

COST_INLINE void configure_list(struct state *s)
{
	post_mkey(s, true, IBV_SEND_SIGNALED);
}

COST_INLINE void configure_rounds(struct state *s)
{
	post_mkey(s, false, IBV_SEND_SIGNALED);
}

COST_INLINE void send_known(struct state *s)
{
	struct ibv_qp_ex *qp = s->v.qp_ex;

	qp->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(qp, s->v.mr->rkey, (uintptr_t)s->memory + LAYOUT_TARGET_AT);
	ibv_wr_set_sge(qp, s->mkey->lkey, 0, LAYOUT_COLUMN_BYTES);
}

COST_INLINE void send_new(struct state *s)
{
	post_mkey(s, false, 0);
	send_known(s);
}

COST_INLINE int run_each(void *queue, unsigned count, void (*one)(struct state *s))
{
	struct state *s = queue;
	struct ibv_qp_ex *qp = s->v.qp_ex;
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

#define OPERATIONS(X)                                                                              \
	X(CONFIGURE, configure_list) X(SEND_NEW, send_new) X(SEND_KNOWN, send_known)
OPERATIONS(COST_RUN_ONE)
COST_RUN_ONE(CONFIGURE, configure_rounds)

static cost_run *run_of(const struct cost_row *row)
{
	static cost_run *const runs[COST_WHATS] = { OPERATIONS(COST_RUN_ONE_ENTRY) };
	cost_run *const run = runs[row->shape.what];

	return row->shape.form == COST_INTERLEAVED && run == run_configure_list
		       ? run_configure_rounds
		       : run;
}

/* -- before and after -------------------------------------------------------------------------- */

static int drain(struct state *s, unsigned count)
{
	step();
	return verbs_drain(&s->v, count);
}

static int prepare(void *queue, const struct cost_shape *shape, unsigned count)
{
	struct state *s = queue;
	const uint32_t lkeys[2] = { s->v.mr->lkey, s->second->lkey };
	struct bsn_part parts[LAYOUT_PARTS_MAX];
	int bad;

	(void)count;
	layout_clear_target(s->memory);
	s->part_count = (uint16_t)layout_make_parts(s->memory, shape, 0, lkeys, parts);
	s->rounds = layout_rounds_of(shape);
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
	return bad ? bad : drain(s, 1);
}

static int settle(void *queue, const struct cost_shape *shape, unsigned count)
{
	struct state *s = queue;
	const int bad = drain(s, count);

	return bad || !count || shape->queues != COST_MATRIX ? bad : layout_check_target(s->memory);
}

/* -- making it --------------------------------------------------------------------------------- */

static void close_state(void *queue)
{
	struct state *s = queue;

	if (s->mkey)
		mlx5dv_destroy_mkey(s->mkey);
	if (s->second)
		ibv_dereg_mr(s->second);
	verbs_close(&s->v);
	free(s->memory);
}

static int make(void *queue, const struct cost_rig *rig, enum cost_queues kind,
		const char **why_not)
{
	struct mlx5dv_mkey_init_attr mkey = {
		.create_flags = MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT,
		.max_entries = ENTRIES,
	};
	struct cost_rig own = *rig;
	struct state *s = queue;
	int err;

	own.memory = s->memory = layout_make_memory();
	own.memory_bytes = LAYOUT_MEMORY;
	if (!s->memory)
		return -ENOMEM;
	*why_not = "libmlx5 makes no mkeys here";
	err = verbs_open(&s->v, &own, kind, true);
	if (err)
		return err;
	mkey.pd = s->v.pd;
	s->second = ibv_reg_mr(s->v.pd, s->memory, LAYOUT_MEMORY, ACCESS);
	s->mkey = s->second ? mlx5dv_create_mkey(&mkey) : NULL;
	return s->mkey ? 0 : -errno;
}

const struct cost_column cost_layout_mlx5 = {
	.name = "ibv_wr",
	.size = sizeof(struct state),
	.make = make,
	.close = close_state,
	.run_of = run_of,
	.prepare = prepare,
	.settle = settle,
};
