/* SPDX-License-Identifier: BSD-2-Clause */
/* Windows, invalidations and copies, as libmlx5 posts them. */
#include "umr_rig.h"

/* -- windows ----------------------------------------------------------------------------------- */

struct bound {
	struct ibv_mw *mw;
	uint32_t key;
};

static void bind_verbs(struct rig *rig, const struct bound *bound, const struct umr_window *to)
{
	struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(rig->party[LIBMLX5].verbs);
	struct ibv_mr mr = { .lkey = to->memory.lkey };
	const struct ibv_mw_bind_info info = { .mr = &mr,
					       .addr = to->memory.addr,
					       .length = to->memory.length,
					       .mw_access_flags = to->access };

	bound->mw->rkey = to->key;
	ibv_wr_start(qp);
	qp->wr_id = 1;
	qp->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_bind_mw(qp, bound->mw, to->new_key, &info);
	assert_int_equal(ibv_wr_complete(qp), 0);
}

static void bind_bunsen(struct rig *rig, const struct umr_window *to)
{
	struct umr_window window = *to;

	window.qpn = rig->party[BUNSEN].qpn;
	assert_int_equal(umr_post_bind(bsn_qp_ep(rig->party[BUNSEN].qp)->sq, &window,
				       BSN_FENCE_INITIATOR_SMALL, 1, BSN_F_SIGNALED | BSN_F_RING),
			 0);
}

static void invalidate(struct rig *rig, int who, uint32_t key)
{
	struct ibv_qp_ex *qp;

	if (who == BUNSEN) {
		assert_int_equal(umr_post_invalidate(bsn_qp_ep(rig->party[who].qp)->sq, key, true,
						     BSN_FENCE_INITIATOR_SMALL, 1,
						     BSN_F_SIGNALED | BSN_F_RING),
				 0);
		return;
	}
	qp = ibv_qp_to_qp_ex(rig->party[who].verbs);
	ibv_wr_start(qp);
	qp->wr_id = 1;
	qp->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_local_inv(qp, key);
	assert_int_equal(ibv_wr_complete(qp), 0);
}

/*
 * What the mask does not select is ignored, and libmlx5 leaves there whatever the slot's last user
 * had.
 */
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
static void take_window(struct rig *rig, int who, uint32_t key, bool is_bound,
			struct published *out)
{
	published_take(&rig->party[who], 1, out);
	assert_int_equal(bsn_load_be32(out->wqe[0] + 12), key);
	bsn_store_be32(out->wqe[0] + 12, 0);
	put_unselected_aside(out->wqe[0] + BSN_CTRL_SIZE + BSN_UMR_CTRL_SIZE, is_bound);
	out->has_stores = false; /* they have the same bytes, and the same differences */
	reap(rig, who, 1);
}

/* The QPN that a window is bound to is each queue's own. */
static void put_qpn_aside(struct rig *rig, int who, struct published *out)
{
	uint8_t *at = out->wqe[0] + BSN_CTRL_SIZE + BSN_UMR_CTRL_SIZE + 4;
	const uint32_t dword = bsn_load_be32(at);

	assert_int_equal(dword >> 8, rig->party[who].qpn);
	bsn_store_be32(at, dword & 0xff);
}

static void bind_and_invalidate(struct rig *rig, struct bound *bound)
{
	static const unsigned kinds[] = { 0, IBV_ACCESS_ZERO_BASED };
	const uint64_t seed = random_u64();
	const unsigned access = ((unsigned)random_u64() & access_all & ~IBV_ACCESS_LOCAL_WRITE) |
				kinds[random_u64() % 2];
	const uint32_t first = (uint32_t)(random_u64() % 4096),
		       next = (uint32_t)random_u64() & 0xff;

	for (int who = 0; who < PARTIES; who++) {
		struct published *out = who == BUNSEN ? &rig->got : &rig->want;
		struct umr_window to = {
			.key = bound[who].key,
			.new_key = (bound[who].key & ~0xffu) | next,
			.memory = { rig->bench.memory->addr + first, 4096, rig->mr->lkey },
			.access = access,
			.is_type_2 = true,
		};
		party_poison(&rig->party[who], seed + (uint64_t)who);
		published_start();
		if (who == BUNSEN)
			bind_bunsen(rig, &to);
		else
			bind_verbs(rig, &bound[who], &to);
		take_window(rig, who, to.key, true, out);
		put_qpn_aside(rig, who, out);
		bound[who].key = to.new_key;
	}
	compare(rig);
	for (int who = 0; who < PARTIES; who++) {
		published_start();
		invalidate(rig, who, bound[who].key);
		take_window(rig, who, bound[who].key, false,
			    who == BUNSEN ? &rig->got : &rig->want);
	}
	compare(rig);
}

static void windows_at_every_position(void **state)
{
	static struct rig rig;
	struct bound bound[PARTIES];

	(void)state;
	rig_start(&rig);
	rig.mr = ibv_reg_mr(rig.bench.pd, (void *)(uintptr_t)rig.bench.memory->addr, MEMORY_BYTES,
			    IBV_ACCESS_MW_BIND | (int)access_all);
	assert_non_null(rig.mr);
	for (int who = 0; who < PARTIES; who++) {
		bound[who].mw = ibv_alloc_mw(rig.bench.pd, IBV_MW_TYPE_2);
		assert_non_null(bound[who].mw);
		bound[who].key = bound[who].mw->rkey;
	}
	for (unsigned round = 0; round < 4 * RING_BB; round++)
		bind_and_invalidate(&rig, bound);
	for (int who = 0; who < PARTIES; who++)
		assert_int_equal(ibv_dealloc_mw(bound[who].mw), 0);
	assert_int_equal(ibv_dereg_mr(rig.mr), 0);
	rig_stop(&rig);
}

/* -- copies ------------------------------------------------------------------------------------ */

static void copy(struct rig *rig, int who, const struct bsn_sge *to, const struct bsn_sge *from)
{
	struct ibv_qp_ex *qp;

	if (who == BUNSEN) {
		const struct bsn_sge status = { rig->bench.memory->addr, 64,
						rig->bench.memory->lkey };
		assert_int_equal(bsn_memcpy(rig->party[who].ep, to, from, &status, 1,
					    BSN_F_SIGNALED | BSN_F_RING),
				 0);
		return;
	}
	qp = ibv_qp_to_qp_ex(rig->party[who].verbs);
	ibv_wr_start(qp);
	qp->wr_id = 1;
	qp->wr_flags = IBV_SEND_SIGNALED;
	mlx5dv_wr_memcpy(mlx5dv_qp_ex_from_ibv_qp_ex(qp), to->lkey, to->addr, from->lkey,
			 from->addr, to->length);
	assert_int_equal(ibv_wr_complete(qp), 0);
}

static void copies_at_every_position(void **state)
{
	static struct rig rig;

	(void)state;
	rig_start(&rig);
	for (unsigned round = 0; round < 2 * RING_BB; round++) {
		const struct bsn_mr *mr = rig.bench.memory;
		const uint32_t bytes = 1 + (uint32_t)(random_u64() % AREA_BYTES);
		const struct bsn_sge from = { mr->addr + SOURCE, bytes, mr->lkey };
		const struct bsn_sge to = { mr->addr + TARGET, bytes, mr->lkey };
		const uint64_t seed = random_u64();
		for (int who = 0; who < PARTIES; who++) {
			struct published *out = who == BUNSEN ? &rig.got : &rig.want;
			party_poison(&rig.party[who], seed + (uint64_t)who);
			published_start();
			copy(&rig, who, &to, &from);
			published_take(&rig.party[who], 1, out);
			/*
			 * The address where the NIC leaves its status differs between the sides; a
			 * copy ignores imm.
			 */
			memset(out->wqe[0] + BSN_CTRL_SIZE - 4, 0, 4 + BSN_MMO_SIZE);
			out->has_stores = false;
			reap(&rig, who, 1);
		}
		compare(&rig);
	}
	rig_stop(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(windows_at_every_position),
		cmocka_unit_test(copies_at_every_position),
	};

	random_start();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
