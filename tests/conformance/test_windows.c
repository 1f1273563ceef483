/* SPDX-License-Identifier: BSD-2-Clause */
/* Windows, invalidations and copies, as libmlx5 posts them. */
#include "umr_rig.h"

/* -- windows ----------------------------------------------------------------------------------- */

struct bound {
	struct ibv_mw *mw;
	uint32_t key;
};

static void bind_verbs(const struct bound *bound, const struct umr_window *to)
{
	struct ibv_qp_ex *qp = start_verbs(IBV_SEND_SIGNALED);
	struct ibv_mr mr = { .lkey = to->memory.lkey };
	const struct ibv_mw_bind_info info = { .mr = &mr,
					       .addr = to->memory.addr,
					       .length = to->memory.length,
					       .mw_access_flags = to->access };

	bound->mw->rkey = to->key;
	ibv_wr_bind_mw(qp, bound->mw, to->new_key, &info);
	ok(ibv_wr_complete(qp));
}

static void bind_bunsen(const struct umr_window *to)
{
	struct umr_window window = *to;

	window.qpn = rig.party[BUNSEN].qpn;
	ok(umr_post_bind(bunsen_sq(), &window, BSN_FENCE_INITIATOR_SMALL, 1,
			 BSN_F_SIGNALED | BSN_F_RING));
}

static void invalidate(int who, uint32_t key)
{
	struct ibv_qp_ex *qp;

	if (who == BUNSEN) {
		ok(umr_post_invalidate(bunsen_sq(), key, true, BSN_FENCE_INITIATOR_SMALL, 1,
				       BSN_F_SIGNALED | BSN_F_RING));
		return;
	}
	qp = start_verbs(IBV_SEND_SIGNALED);
	ibv_wr_local_inv(qp, key);
	ok(ibv_wr_complete(qp));
}

/* Where the mask does not select, libmlx5 leaves what the slot's last user had. */
static void put_unselected_aside(uint8_t *ctx, bool is_bound)
{
	struct bsn_mkey_ctx all, selected = { 0 };

	bsn_mkey_ctx_decode(&all, ctx);
	if (is_bound)
		selected = (struct bsn_mkey_ctx){ .a = all.a,
						  .rw = all.rw,
						  .rr = all.rr,
						  .lw = all.lw,
						  .start_addr = all.start_addr,
						  .len = all.len };
	selected.free = all.free;
	selected.qpn = all.qpn;
	selected.mkey_7_0 = all.mkey_7_0;
	bsn_mkey_ctx_encode(ctx, &selected);
}

/* Each side has a window of its own, so its key is not compared, just as the QPN is not. */
static void take_window(int who, uint32_t key, bool is_bound)
{
	struct published *out = &rig.posted[who];

	take(who, 1);
	assert_int_equal(bsn_load_be32(out->wqe[0] + 12), key);
	bsn_store_be32(out->wqe[0] + 12, 0);
	put_unselected_aside(out->wqe[0] + BSN_CTRL_SIZE + BSN_UMR_CTRL_SIZE, is_bound);
	out->has_stores = false; /* they have the same bytes, and the same differences */
}

/* The QPN that a window is bound to is each queue's own. */
static void put_qpn_aside(int who)
{
	uint8_t *at = rig.posted[who].wqe[0] + BSN_CTRL_SIZE + BSN_UMR_CTRL_SIZE + 4;
	const uint32_t dword = bsn_load_be32(at);

	assert_int_equal(dword >> 8, rig.party[who].qpn);
	bsn_store_be32(at, dword & 0xff);
}

static void bind_and_invalidate(struct bound *bound)
{
	static const unsigned kinds[] = { 0, IBV_ACCESS_ZERO_BASED };
	const uint64_t seed = random_u64();
	const unsigned access = ((unsigned)random_u64() & access_all & ~IBV_ACCESS_LOCAL_WRITE) |
				kinds[random_u64() % 2];
	const uint32_t first = (uint32_t)(random_u64() % 4096);
	const uint32_t next = (uint32_t)random_u64() & 0xff;

	for (int who = 0; who < PARTIES; who++) {
		struct umr_window to = {
			.key = bound[who].key,
			.new_key = (bound[who].key & ~0xffu) | next,
			.memory = { rig.bench.memory->addr + first, 4096, rig.mr->lkey },
			.access = access,
			.is_type_2 = true,
		};
		begin(who, seed);
		if (who == BUNSEN)
			bind_bunsen(&to);
		else
			bind_verbs(&bound[who], &to);
		take_window(who, to.key, true);
		put_qpn_aside(who);
		bound[who].key = to.new_key;
	}
	compare();
	for (int who = 0; who < PARTIES; who++) {
		published_start();
		invalidate(who, bound[who].key);
		take_window(who, bound[who].key, false);
	}
	compare();
}

static void windows_at_every_position(void **state)
{
	struct bound bound[PARTIES];

	rig_start();
	rig.mr = ibv_reg_mr(rig.bench.pd, rig.bench.memory->data, MEMORY_BYTES,
			    IBV_ACCESS_MW_BIND | (int)access_all);
	assert_non_null(rig.mr);
	for (int who = 0; who < PARTIES; who++) {
		bound[who].mw = ibv_alloc_mw(rig.bench.pd, IBV_MW_TYPE_2);
		assert_non_null(bound[who].mw);
		bound[who].key = bound[who].mw->rkey;
	}
	for (unsigned round = 0; round < 4 * RING_BB; round++)
		bind_and_invalidate(bound);
	for (int who = 0; who < PARTIES; who++)
		ok(ibv_dealloc_mw(bound[who].mw));
	ok(ibv_dereg_mr(rig.mr));
	rig_stop();
}

/* -- copies ------------------------------------------------------------------------------------ */

static void copy(int who, const struct bsn_sge *to, const struct bsn_sge *from)
{
	struct ibv_qp_ex *qp;

	if (who == BUNSEN) {
		const struct bsn_sge status = { rig.bench.memory->addr, 64,
						rig.bench.memory->lkey };
		ok(bsn_memcpy(rig.party[who].ep, to, from, &status, 1,
			      BSN_F_SIGNALED | BSN_F_RING));
		return;
	}
	qp = start_verbs(IBV_SEND_SIGNALED);
	mlx5dv_wr_memcpy(mlx5dv_qp_ex_from_ibv_qp_ex(qp), to->lkey, to->addr, from->lkey,
			 from->addr, to->length);
	ok(ibv_wr_complete(qp));
}

static void copies_at_every_position(void **state)
{
	rig_start();
	for (unsigned round = 0; round < 2 * RING_BB; round++) {
		const struct bsn_mr *mr = rig.bench.memory;
		const uint32_t bytes = 1 + (uint32_t)(random_u64() % AREA_BYTES);
		const struct bsn_sge from = { mr->addr + SOURCE, bytes, mr->lkey };
		const struct bsn_sge to = { mr->addr + TARGET, bytes, mr->lkey };
		const uint64_t seed = random_u64();
		for (int who = 0; who < PARTIES; who++) {
			struct published *out = &rig.posted[who];
			begin(who, seed);
			copy(who, &to, &from);
			take(who, 1);
			/* Each side has a status address of its own; a copy ignores imm. */
			memset(out->wqe[0] + BSN_CTRL_SIZE - 4, 0, 4 + BSN_MMO_SIZE);
			out->has_stores = false;
		}
		compare();
	}
	rig_stop();
}

UNIT_MAIN(NULL, UNIT(windows_at_every_position), UNIT(copies_at_every_position))
