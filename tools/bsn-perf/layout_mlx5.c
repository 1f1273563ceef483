/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libmlx5's column of `bsn-perf layout`: mlx5dv_wr_mr_list(), mlx5dv_wr_mr_interleaved(), ibv_wr_*.
 */
#include "layout.h"

#include <errno.h>
#include <infiniband/mlx5dv.h>
#include <stdlib.h>
#include <string.h>

#include "cost.h"
#include "perf.h"
#include "plain_qp.h"
#include "stepper.h"

enum {
	DEPTH = 64,
	LONG_DEPTH = 64,
	ENTRIES = 52,
	INLINE = 828, /* bytes: all that libmlx5 grants on RC, where 52 entries have 4 more */
	ACCESS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE |
		 IBV_ACCESS_REMOTE_ATOMIC,
};

struct state {
	const struct layout_rig *rig;
	struct plain_qp one, rows, many;
	struct ibv_mr *second; /* the same memory as that of @one */
	struct mlx5dv_mkey *mkey;
	uint16_t part_count;
	uint32_t rounds;
	struct ibv_sge list[LAYOUT_PARTS_MAX];
	struct mlx5dv_mr_interleaved blocks[LAYOUT_PARTS_MAX];
	struct ibv_sge sges[LAYOUT_MATRIX];
};

/* -- what is measured ------------------------------------------------------------------------- */

static int run_list(void *arg, unsigned count)
{
	struct state *s = arg;
	struct ibv_qp_ex *qp = s->one.qp_ex;
	struct mlx5dv_qp_ex *mlx5 = mlx5dv_qp_ex_from_ibv_qp_ex(qp);
	int bad = 0;

	for (unsigned i = 0; i < count; i++) {
		COST_FORGET();
		ibv_wr_start(qp);
		qp->wr_id = i;
		qp->wr_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED;
		mlx5dv_wr_mr_list(mlx5, s->mkey, ACCESS, s->part_count, s->list);
		bad |= ibv_wr_complete(qp);
	}
	return bad;
}

static void post_interleaved(struct state *s)
{
	struct ibv_qp_ex *qp = s->one.qp_ex;

	qp->wr_flags |= IBV_SEND_INLINE;
	mlx5dv_wr_mr_interleaved(mlx5dv_qp_ex_from_ibv_qp_ex(qp), s->mkey, ACCESS, s->rounds,
				 s->part_count, s->blocks);
}

static int run_interleaved(void *arg, unsigned count)
{
	struct state *s = arg;
	struct ibv_qp_ex *qp = s->one.qp_ex;
	int bad = 0;

	for (unsigned i = 0; i < count; i++) {
		COST_FORGET();
		ibv_wr_start(qp);
		qp->wr_id = i;
		qp->wr_flags = IBV_SEND_SIGNALED;
		post_interleaved(s);
		bad |= ibv_wr_complete(qp);
	}
	return bad;
}

/* -- a column of the matrix ------------------------------------------------------------------- */

static uint64_t target_addr(const struct state *s, unsigned row)
{
	return (uintptr_t)s->rig->memory + LAYOUT_TARGET_AT + row * LAYOUT_BLOCK;
}

static uint64_t row_addr(const struct state *s, unsigned row)
{
	return (uintptr_t)s->rig->memory + LAYOUT_COLUMN * LAYOUT_BLOCK +
	       (uint64_t)row * LAYOUT_COLUMN_BYTES;
}

static void post_write(struct state *s, uint32_t lkey, uint64_t addr)
{
	struct ibv_qp_ex *qp = s->one.qp_ex;

	qp->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(qp, s->one.mr->rkey, target_addr(s, 0));
	ibv_wr_set_sge(qp, lkey, addr, LAYOUT_COLUMN_BYTES);
}

static int send_new(void *arg, unsigned count)
{
	struct state *s = arg;
	int bad = 0;

	while (count--) {
		ibv_wr_start(s->one.qp_ex);
		s->one.qp_ex->wr_flags = 0;
		post_interleaved(s);
		post_write(s, s->mkey->lkey, 0);
		bad |= ibv_wr_complete(s->one.qp_ex);
	}
	return bad;
}

static int send_known(void *arg, unsigned count)
{
	struct state *s = arg;
	int bad = 0;

	while (count--) {
		ibv_wr_start(s->one.qp_ex);
		post_write(s, s->mkey->lkey, 0);
		bad |= ibv_wr_complete(s->one.qp_ex);
	}
	return bad;
}

static int send_packed(void *arg, unsigned count)
{
	struct state *s = arg;
	int bad = 0;

	while (count--) {
		layout_pack(s->rig);
		ibv_wr_start(s->one.qp_ex);
		post_write(s, s->one.mr->lkey, (uintptr_t)s->rig->memory + LAYOUT_PACK_AT);
		bad |= ibv_wr_complete(s->one.qp_ex);
	}
	return bad;
}

static int send_sges(void *arg, unsigned count)
{
	struct state *s = arg;
	struct ibv_qp_ex *qp = s->many.qp_ex;
	const unsigned most = s->rig->max_sge;
	int bad = 0;

	while (count--) {
		for (unsigned i = 0; i < LAYOUT_MATRIX; i++)
			s->sges[i] =
				(struct ibv_sge){ row_addr(s, i), LAYOUT_BLOCK, s->one.mr->lkey };
		ibv_wr_start(qp);
		for (unsigned i = 0; i < LAYOUT_MATRIX; i += most) {
			const unsigned left = LAYOUT_MATRIX - i;
			qp->wr_flags = left > most ? 0 : IBV_SEND_SIGNALED;
			ibv_wr_rdma_write(qp, s->one.mr->rkey, target_addr(s, i));
			ibv_wr_set_sge_list(qp, left < most ? left : most, &s->sges[i]);
		}
		bad |= ibv_wr_complete(qp);
	}
	return bad;
}

static int send_rows(void *arg, unsigned count)
{
	struct state *s = arg;
	struct ibv_qp_ex *qp = s->rows.qp_ex;
	int bad = 0;

	while (count--) {
		ibv_wr_start(qp);
		for (unsigned i = 0; i < LAYOUT_MATRIX; i++) {
			qp->wr_flags = i + 1 < LAYOUT_MATRIX ? 0 : IBV_SEND_SIGNALED;
			ibv_wr_rdma_write(qp, s->one.mr->rkey, target_addr(s, i));
			ibv_wr_set_sge(qp, s->one.mr->lkey, row_addr(s, i), LAYOUT_BLOCK);
		}
		bad |= ibv_wr_complete(qp);
	}
	return bad;
}

/* It remembers no layouts. */
static layout_run *run_of(const struct layout_row *row)
{
	switch (row->what) {
	case LAYOUT_CONFIGURE:
		return row->is_interleaved ? run_interleaved : run_list;
	case LAYOUT_SEND_NEW:
		return send_new;
	case LAYOUT_SEND_KNOWN:
		return send_known;
	case LAYOUT_SEND_PACKED:
		return send_packed;
	case LAYOUT_SEND_SGES:
		return send_sges;
	case LAYOUT_SEND_ROWS:
		return send_rows;
	default:
		return NULL;
	}
}

/* -- what is not measured --------------------------------------------------------------------- */

static int drain(struct state *s, unsigned count)
{
	unsigned patience = COST_PATIENCE;
	struct ibv_wc wc;

	step();
	while (count) {
		const int n = ibv_poll_cq(s->one.cq, 1, &wc);
		if (n < 0 || (n && wc.status))
			return n < 0 ? -EIO : (int)wc.status;
		if (!n && !--patience)
			return -ETIMEDOUT;
		count -= (unsigned)n;
	}
	return 0;
}

static int prepare(void *arg, const struct layout_row *row)
{
	struct state *s = arg;
	const uint32_t lkeys[2] = { s->one.mr->lkey, s->second->lkey };
	struct bsn_part parts[LAYOUT_PARTS_MAX];
	int bad;

	s->part_count = (uint16_t)layout_part_count(row);
	s->rounds = layout_round_count(row);
	layout_make_parts(s->rig, row, 0, lkeys, parts);
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
	if (row->what != LAYOUT_SEND_KNOWN)
		return 0;
	bad = run_interleaved(s, 1);
	return bad ? bad : drain(s, 1);
}

static int finish(void *arg, const struct layout_row *row, unsigned count)
{
	(void)row;
	return drain(arg, count);
}

/* -- making it -------------------------------------------------------------------------------- */

static void close_state(void *arg)
{
	struct state *s = arg;

	if (s->mkey)
		mlx5dv_destroy_mkey(s->mkey);
	if (s->second)
		ibv_dereg_mr(s->second);
	plain_qp_destroy(&s->many);
	plain_qp_destroy(&s->rows);
	plain_qp_destroy(&s->one);
	free(s);
}

static int make_queue(struct state *s, uint32_t depth, uint32_t sges, bool has_mkeys,
		      const struct plain_qp *shared, struct plain_qp *queue)
{
	const struct plain_qp_attr attr = { .depth = depth,
					    .max_send_sge = sges,
					    .max_recv_sge = 1,
					    .max_inline = has_mkeys ? INLINE : 0,
					    .is_extended = true,
					    .has_mkeys = has_mkeys,
					    .has_own_register = true,
					    .cq_entries = LAYOUT_MATRIX,
					    .shared = shared };
	const int err = plain_qp_create(s->rig->device, &attr, shared ? NULL : s->rig->memory,
					shared ? 0 : LAYOUT_MEMORY, queue);

	return err ? err : plain_qp_loop(queue);
}

static int make_mkey(struct state *s)
{
	struct mlx5dv_mkey_init_attr attr = {
		.pd = s->one.pd,
		.create_flags = MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT,
		.max_entries = ENTRIES,
	};

	s->second = ibv_reg_mr(s->one.pd, s->rig->memory, LAYOUT_MEMORY, ACCESS);
	s->mkey = s->second ? mlx5dv_create_mkey(&attr) : NULL;
	return s->mkey ? 0 : -errno;
}

static int open_state(const struct layout_rig *rig, void **state, const char **why_not)
{
	struct state *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return complain("no memory");
	*state = s;
	s->rig = rig;
	err = make_queue(s, DEPTH, 1, true, NULL, &s->one);
	if (!err)
		err = make_queue(s, LAYOUT_MATRIX, 1, false, &s->one, &s->rows);
	if (!err)
		err = make_queue(s, LONG_DEPTH, rig->max_sge, false, &s->one, &s->many);
	if (!err)
		err = make_mkey(s);
	if (!err)
		return 0;
	close_state(s);
	*state = NULL;
	*why_not = strerror(-err);
	return 0;
}

const struct layout_side layout_mlx5 = {
	.name = "libmlx5",
	.open = open_state,
	.close = close_state,
	.run_of = run_of,
	.prepare = prepare,
	.finish = finish,
};
