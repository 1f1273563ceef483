/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What changes an mkey from a send queue, and what comes after it, at every position of the ring: Bunsen's
 * bytes are libmlx5's.
 */
#include <infiniband/mlx5dv.h>

#include "compare.h"
#include "umr_plain.h"
#include "../wqe/random.h"

enum { PARTIES = 2, LIBMLX5 = 0, BUNSEN = 1, ENTRIES = 52, MOST = 48 };

struct rig {
	struct bench bench;
	struct party party[PARTIES], peer[PARTIES];
	struct mlx5dv_mkey *mkey;
	struct ibv_mr *mr; /* what windows are bound to */
	struct published want, got;
	unsigned plain_count; /* of the quick way */
};

struct layout {
	uint32_t count, rounds; /* rounds 0: a list */
	uint32_t stride;        /* 0: all have their own */
};

static void rig_start(struct rig *rig)
{
	struct mlx5dv_mkey_init_attr attr = { .create_flags = MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT,
					      .max_entries = ENTRIES };

	bench_open(&rig->bench, CX_LINK_IB, BSN_QP_RC, BSN_STORE_8);
	rig->bench.has_mkeys = true;
	attr.pd = rig->bench.pd;
	rig->mkey = mlx5dv_create_mkey(&attr);
	if (!rig->mkey) {
		print_message("left out: no mkeys: %s\n", strerror(errno));
		bench_close(&rig->bench);
		skip();
	}
	for (int i = 0; i < PARTIES; i++) {
		const struct builder *builder = builders;
		while (builder->is_bunsen != (i == BUNSEN))
			builder++;
		memset(&rig->party[i], 0, sizeof(rig->party[i]));
		memset(&rig->peer[i], 0, sizeof(rig->peer[i]));
		party_create(&rig->bench, &rig->party[i], builder);
		party_create(&rig->bench, &rig->peer[i], builder);
		party_connect(&rig->party[i], &rig->peer[i]);
	}
}

static void rig_stop(struct rig *rig)
{
	for (int i = 0; i < PARTIES; i++) {
		party_destroy(&rig->party[i]);
		party_destroy(&rig->peer[i]);
	}
	assert_int_equal(mlx5dv_destroy_mkey(rig->mkey), 0);
	bench_close(&rig->bench);
}

/* -- what is posted --------------------------------------------------------------------------------- */

static const unsigned access_all = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
				   IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;

static void make_parts(const struct rig *rig, const struct layout *layout, struct bsn_part *parts)
{
	for (uint32_t i = 0; i < layout->count; i++) {
		const uint32_t bytes = 1 + (uint32_t)(random_u64() % 40);
		parts[i] = (struct bsn_part){ .addr = rig->bench.memory->addr + i * 64,
					      .bytes = bytes,
					      .stride = layout->stride ? layout->stride
								       : bytes + random_u64() % 100,
					      .lkey = rig->bench.memory->lkey };
	}
}

static void post_verbs(struct rig *rig, const struct layout *layout, const struct bsn_part *parts,
		       unsigned access)
{
	struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(rig->party[LIBMLX5].verbs);
	struct mlx5dv_qp_ex *mlx5 = mlx5dv_qp_ex_from_ibv_qp_ex(qp);
	struct mlx5dv_mr_interleaved blocks[MOST];
	struct ibv_sge sge[MOST];

	for (uint32_t i = 0; i < layout->count; i++) {
		sge[i] = (struct ibv_sge){ parts[i].addr, (uint32_t)parts[i].bytes, parts[i].lkey };
		blocks[i] = (struct mlx5dv_mr_interleaved){
			.addr = parts[i].addr,
			.bytes_count = (uint32_t)parts[i].bytes,
			.bytes_skip = (uint32_t)(parts[i].stride - parts[i].bytes),
			.lkey = parts[i].lkey,
		};
	}
	ibv_wr_start(qp);
	qp->wr_id = 1;
	qp->wr_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED;
	if (layout->rounds)
		mlx5dv_wr_mr_interleaved(mlx5, rig->mkey, access, layout->rounds,
					 (uint16_t)layout->count, blocks);
	else
		mlx5dv_wr_mr_list(mlx5, rig->mkey, access, (uint16_t)layout->count, sge);
	assert_int_equal(ibv_wr_complete(qp), 0);
}

static void post_bunsen(struct rig *rig, const struct layout *layout, const struct bsn_part *parts,
			unsigned access)
{
	struct bsn_sq *sq = bsn_qp_sq(rig->party[BUNSEN].qp);
	struct bsn_layout plain_layout = { .parts = parts,
						 .part_count = layout->count,
						 .rounds = layout->rounds };
	const struct umr_memory all = { 0, UINT64_MAX, parts->lkey };
	struct umr_plain plain;
	struct umr umr = { .target = umr_target_of(rig->mkey->lkey, access, true,
						   BSN_FENCE_INITIATOR_SMALL),
			   .form = layout->rounds ? UMR_REPEAT : UMR_LIST,
			   .parts = parts,
			   .part_count = layout->count,
			   .rounds = layout->rounds ? layout->rounds : 1 };

	for (uint32_t i = 0; i < layout->count; i++)
		umr.length += parts[i].bytes * umr.rounds;
	plain_layout.commit = (struct bsn_commit){
		.length = umr.length,
		.common = umr_find_common(&plain_layout).raw,
		.round_bytes = (uint32_t)(umr.length / umr.rounds),
		.padded = umr_padded(umr_translations(&umr)),
	};
	const unsigned way = random_u64() % 3;
	if ((way == 1 &&
	     umr_put_plain(&plain, sq, &plain_layout, &all, BSN_F_SIGNALED | BSN_F_RING)) ||
	    (way == 2 &&
	     umr_put_committed(&plain, sq, &plain_layout, BSN_F_SIGNALED | BSN_F_RING))) {
		rig->plain_count++;
		assert_int_equal(umr_end_plain(&plain, sq, &umr.target,
					       umr_after(sq, UMR_HEAD_DS + plain.padded), 1,
					       BSN_F_SIGNALED | BSN_F_RING),
				 0);
		return;
	}
	assert_int_equal(umr_post(sq, &umr, 1, BSN_F_SIGNALED | BSN_F_RING), 0);
}

/* What waits for the UMR: a write by way of the mkey. */
static void post_use(struct rig *rig, int who)
{
	struct request r = { .wr = { .id = 2,
				     .opcode = BSN_OPCODE_RDMA_WRITE,
				     .flags = BSN_F_SIGNALED,
				     .sge_count = 1,
				     .remote = { rig->bench.memory->addr + TARGET,
						 rig->bench.memory->rkey } } };

	r.sge[0] = (struct bsn_sge){ 0, 1, rig->mkey->lkey };
	r.wr.sge = r.sge;
	assert_int_equal(rig->party[who].builder->post(&rig->party[who], &r, 1), 0);
}

static void reap(struct rig *rig, int who, uint64_t id)
{
	struct seen seen;

	assert_true(party_await(&rig->party[who], 0, &seen));
	assert_int_equal(seen.status, 0);
	assert_int_equal(seen.id, id);
}

static void compare(struct rig *rig)
{
	assert_int_equal(published_check(&rig->got), 0);
	assert_int_equal(published_compare(&rig->want, &rig->got, true), 0);
}

/* -- every position --------------------------------------------------------------------------------- */

/* The UMR, and then its first use, which has to wait for it. */
static void one_round(struct rig *rig, const struct layout *layout)
{
	const unsigned access = (unsigned)random_u64() & access_all;
	struct bsn_part parts[MOST];
	const uint64_t seed = random_u64();

	make_parts(rig, layout, parts);
	for (int who = 0; who < PARTIES; who++) {
		struct published *out = who == BUNSEN ? &rig->got : &rig->want;
		party_poison(&rig->party[who], seed + (uint64_t)who);
		published_start();
		if (who == BUNSEN)
			post_bunsen(rig, layout, parts, access);
		else
			post_verbs(rig, layout, parts, access);
		published_take(&rig->party[who], 1, out);
		reap(rig, who, 1);
	}
	compare(rig);
	for (int who = 0; who < PARTIES; who++) {
		published_start();
		post_use(rig, who);
		published_take(&rig->party[who], 1, who == BUNSEN ? &rig->got : &rig->want);
		reap(rig, who, 2);
	}
	compare(rig);
}

static void layouts_of_every_length(void **state)
{
	static struct rig rig;

	(void)state;
	rig_start(&rig);
	for (uint32_t count = 1; count <= MOST; count++) {
		for (uint32_t rounds = 0; rounds <= 3; rounds += 3) {
			for (unsigned i = 0; i < 8; i++) {
				const struct layout layout = { count, rounds,
							       i % 2 ? 0 : MOST * 64 };
				one_round(&rig, &layout);
			}
		}
	}
	assert_true(rig.plain_count > MOST);
	rig_stop(&rig);
}

static void layouts_at_every_position(void **state)
{
	static const struct layout layouts[] = { { 1, 0, 0 },   { 4, 0, 0 },  { 5, 7, 0 },
						 { 5, 7, 400 }, { 32, 0, 0 }, { 31, 2, 0 } };
	static struct rig rig;

	(void)state;
	rig_start(&rig);
	for (unsigned i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
		bool seen[RING_BB] = { false };
		unsigned left = RING_BB;
		for (unsigned round = 0; left && round < 64 * RING_BB; round++) {
			const unsigned at = rig.party[BUNSEN].pi % RING_BB;
			left -= !seen[at];
			seen[at] = true;
			if (round % 2)
				for (int who = 0; who < PARTIES; who++) {
					published_start();
					post_use(&rig, who);
					published_take(&rig.party[who], 1, &rig.got);
					reap(&rig, who, 2);
				}
			one_round(&rig, &layouts[i]);
		}
		assert_int_equal(left, 0);
	}
	rig_stop(&rig);
}

/* -- windows ------------------------------------------------------------------------------------------ */

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
	assert_int_equal(umr_post_bind(bsn_qp_sq(rig->party[BUNSEN].qp), &window,
				       BSN_FENCE_INITIATOR_SMALL, 1, BSN_F_SIGNALED | BSN_F_RING),
			 0);
}

static void invalidate(struct rig *rig, int who, uint32_t key)
{
	struct ibv_qp_ex *qp;

	if (who == BUNSEN) {
		assert_int_equal(umr_post_invalidate(bsn_qp_sq(rig->party[who].qp), key, true,
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

/* What the mask does not select is ignored, and libmlx5 leaves there whatever the slot's last user had. */
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

/* Each side has a window of its own: its key is put aside, as the QPN is. */
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

/* -- copies ------------------------------------------------------------------------------------------- */

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
			/* Where the NIC leaves its status is each side's own; a copy ignores imm. */
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
		cmocka_unit_test(layouts_of_every_length),
		cmocka_unit_test(layouts_at_every_position),
		cmocka_unit_test(windows_at_every_position),
		cmocka_unit_test(copies_at_every_position),
	};

	random_start();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
