/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests that change an mkey, and the request after each, at every position of the ring: Bunsen's
 * bytes equal libmlx5's.
 */
#include "umr_rig.h"

struct layout {
	uint16_t count;
	uint32_t rounds; /* 0: a list */
	uint32_t stride; /* 0: all have their own */
};

/*
 * How libmlx5 is asked: by mlx5dv_wr_mr_list() or _interleaved(), or by mlx5dv_wr_mkey_configure()
 * and setters, in either order, one of them, or none.
 */
enum way { BY_ONE_CALL, ACCESS_FIRST, LAYOUT_FIRST, LAYOUT_ALONE, ACCESS_ALONE, NO_SETTER, WAYS };

static bool sets_access(enum way way)
{
	return way != LAYOUT_ALONE && way != NO_SETTER;
}

static bool sets_layout(enum way way)
{
	return way != ACCESS_ALONE && way != NO_SETTER;
}

/* -- what is posted ---------------------------------------------------------------------------- */

/* Only the first part is used; the others have keys of nobody's, so that strides may be any. */
static void make_parts(const struct layout *layout, struct bsn_part *parts)
{
	for (uint32_t i = 0; i < layout->count; i++) {
		const uint32_t bytes = 1 + (uint32_t)(random_u64() % 40);
		parts[i] =
			(struct bsn_part){ .addr = rig.bench.memory->addr + i * 64,
					   .bytes = bytes,
					   .stride = layout->stride ? layout->stride
								    : bytes + random_u64() % 100,
					   .lkey = i ? NO_KEY + (i << 8) : rig.bench.memory->lkey };
	}
}

static void call_once(struct mlx5dv_qp_ex *qp, const struct layout *layout, struct ibv_sge *sge,
		      struct mlx5dv_mr_interleaved *blocks, unsigned access)
{
	if (layout->rounds)
		mlx5dv_wr_mr_interleaved(qp, rig.mkey, access, layout->rounds, layout->count,
					 blocks);
	else
		mlx5dv_wr_mr_list(qp, rig.mkey, access, layout->count, sge);
}

static void call_setters(struct mlx5dv_qp_ex *qp, const struct layout *layout,
			 const struct ibv_sge *sge, const struct mlx5dv_mr_interleaved *blocks,
			 unsigned access, enum way way)
{
	struct mlx5dv_mkey_conf_attr attr = { 0 };

	mlx5dv_wr_mkey_configure(qp, rig.mkey, (uint8_t)(sets_access(way) + sets_layout(way)),
				 &attr);
	if (sets_access(way) && way != LAYOUT_FIRST)
		mlx5dv_wr_set_mkey_access_flags(qp, access);
	if (sets_layout(way) && layout->rounds)
		mlx5dv_wr_set_mkey_layout_interleaved(qp, layout->rounds, layout->count, blocks);
	else if (sets_layout(way))
		mlx5dv_wr_set_mkey_layout_list(qp, layout->count, sge);
	if (way == LAYOUT_FIRST)
		mlx5dv_wr_set_mkey_access_flags(qp, access);
}

static void post_verbs(const struct layout *layout, const struct bsn_part *parts, unsigned access,
		       enum way way)
{
	struct ibv_qp_ex *qp = start_verbs(IBV_SEND_INLINE | IBV_SEND_SIGNALED);
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
	if (way == BY_ONE_CALL)
		call_once(mlx5, layout, sge, blocks, access);
	else
		call_setters(mlx5, layout, sge, blocks, access, way);
	ok(ibv_wr_complete(qp));
}

static struct umr_kind kind_of(unsigned access, enum way way)
{
	const uint64_t rights =
		BSN_MKEY_BIT(LW) | BSN_MKEY_BIT(RR) | BSN_MKEY_BIT(RW) | BSN_MKEY_BIT(A);
	struct umr_kind kind =
		umr_kind_of(sets_access(way) ? access : 0, true, BSN_FENCE_INITIATOR_SMALL);

	if (!sets_access(way))
		kind.mask &= ~rights;
	if (!sets_layout(way))
		kind.mask &= ~BSN_MKEY_BIT(LEN);
	return kind;
}

static void post_bunsen(const struct layout *layout, const struct bsn_part *parts, unsigned access,
			enum way way)
{
	const struct bsn_layout_attr attr = { .parts = parts,
					      .part_count = layout->count,
					      .rounds = layout->rounds };
	const struct umr_kind kind = kind_of(access, way);
	struct umr umr = { .kind = &kind, .key = rig.mkey->lkey, .new_key = rig.mkey->lkey };
	struct bsn_layout *made;

	ok(bsn_layout_create(rig.pool, &attr, &made));
	if (sets_layout(way)) {
		umr.length = made->map.length;
		umr.translations = made->translations;
		umr.count = made->translation_count;
	}
	ok(umr_post(bunsen_sq(), &umr, 1, BSN_F_SIGNALED | BSN_F_RING));
	ok(bsn_layout_destroy(made));
}

/* Posts a request that waits for the UMR: a WRITE through the mkey. */
static void post_use(int who)
{
	party_post(&rig.party[who], (struct bsn_wr){
					    .id = 2,
					    .opcode = BSN_OPCODE_RDMA_WRITE,
					    .flags = BSN_F_SIGNALED,
					    .sge = &(struct bsn_sge){ 0, 1, rig.mkey->lkey },
					    .sge_count = 1,
					    .remote = bsn_remote_of(rig.bench.memory, TARGET),
				    });
}

/* -- every position ---------------------------------------------------------------------------- */

/* Posts the UMR on both sides, and compares what they published. */
static void post_both(const struct layout *layout, const struct bsn_part *parts, enum way way)
{
	const unsigned access = (unsigned)random_u64() & access_all;
	const uint64_t seed = random_u64();

	for (int who = 0; who < PARTIES; who++) {
		begin(who, seed);
		if (who == BUNSEN)
			post_bunsen(layout, parts, access, way);
		else
			post_verbs(layout, parts, access, way);
		take(who, 1);
	}
}

/* Posts the UMR, and then the first use of the mkey, which has to wait for it. */
static void one_round(const struct layout *layout, enum way way)
{
	struct bsn_part parts[MOST];

	make_parts(layout, parts);
	post_both(layout, parts, way);
	compare();
	for (int who = 0; who < PARTIES; who++) {
		published_start();
		post_use(who);
		take(who, 2);
	}
	compare();
}

static void layouts_of_every_length(void **state)
{
	rig_start();
	for (uint16_t count = 1; count <= MOST; count++)
		for (uint32_t rounds = 0; rounds <= 3; rounds += 3)
			for (unsigned i = 0; i < 4 * WAYS; i++) {
				const struct layout layout = { count, rounds,
							       i % 2 ? 0 : MOST * 64 };
				one_round(&layout, (enum way)(i / 4));
			}
	rig_stop();
}

static void layouts_at_every_position(void **state)
{
	static const struct layout layouts[] = { { 1, 0, 0 },   { 4, 0, 0 },  { 5, 7, 0 },
						 { 5, 7, 400 }, { 32, 0, 0 }, { 31, 2, 0 } };
	rig_start();
	for (unsigned i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
		bool seen[WAYS][RING_BB] = { { false } };
		unsigned left = WAYS * RING_BB;
		for (unsigned round = 0; left && round < 64 * WAYS * RING_BB; round++) {
			const enum way way = round ? random_u64() % WAYS : BY_ONE_CALL;
			const unsigned at = rig.party[BUNSEN].pi % RING_BB;
			left -= !seen[way][at];
			seen[way][at] = true;
			one_round(&layouts[i], way);
		}
		assert_int_equal(left, 0);
	}
	rig_stop();
}

/* -- where libmlx5 is wrong -------------------------------------------------------------------- */

/* Returns the length that the mkey gets, and clears it, so that it is not compared. */
static uint64_t take_length(struct published *out)
{
	uint8_t *const at = out->wqe[0] + BSN_CTRL_SIZE + BSN_UMR_CTRL_SIZE;
	struct bsn_mkey_ctx ctx;
	uint64_t length;

	bsn_mkey_ctx_decode(&ctx, at);
	length = ctx.len;
	ctx.len = 0;
	bsn_mkey_ctx_encode(at, &ctx);
	out->has_stores = false;
	return length;
}

/* libmlx5 44 adds the lengths of a list as int (qp.c umr_sg_list_create()). */
static void long_lists_have_their_length(void **state)
{
	rig_start();
	for (uint16_t count = 1; rig.bench.is_model && count <= 8; count++) {
		const struct layout layout = { .count = count };
		const uint64_t sum = (uint64_t)count << 30;
		struct bsn_part parts[MOST];
		uint64_t theirs;

		make_parts(&layout, parts);
		for (uint32_t i = 0; i < count; i++) {
			parts[i].bytes = 1ull << 30;
			parts[i].lkey = NO_KEY + (i << 8);
		}
		post_both(&layout, parts, (enum way)(count % (LAYOUT_ALONE + 1)));
		assert_int_equal(take_length(&rig.posted[BUNSEN]), sum);
		theirs = take_length(&rig.posted[LIBMLX5]);
		assert_true(theirs == sum || theirs == (uint64_t)(int32_t)(uint32_t)sum);
		compare();
	}
	rig_stop();
}

/* The stride of the first entry. */
static uint32_t stride_of(const struct published *p)
{
	struct bsn_repeat_entry entry;

	bsn_repeat_entry_decode(&entry, p->wqe[0] + UMR_HEAD_DS * BSN_DS_SIZE + BSN_REPEAT_SIZE);
	return entry.stride;
}

static void post_column(struct bsn_mkey_pool *pool, struct bsn_mkey *mkey,
			const struct bsn_part *part, uint32_t rounds)
{
	const struct bsn_layout_attr attr = { .parts = part, .part_count = 1, .rounds = rounds };
	struct bsn_layout *column;

	ok(bsn_layout_create(pool, &attr, &column));
	published_start();
	post_verbs(&(struct layout){ 1, rounds, 0 }, part, 0, ACCESS_FIRST);
	take(LIBMLX5, 1);
	published_start();
	ok(bsn_mkey_configure(rig.party[BUNSEN].ep, mkey, column, 1, BSN_F_SIGNALED | BSN_F_RING));
	take(BUNSEN, 1);
	ok(bsn_layout_destroy(column));
}

/* libmlx5 44 cuts it to 16 bits (qp.c umr_strided_seg_create()). Bunsen lists all blocks. */
static void long_strides_are_not_cut(void **state)
{
	enum { ROUNDS = 8, BYTES = 8 };
	struct bsn_mkey_pool *pool;
	struct bsn_mkey *mkey;
	struct bsn_mr *memory;
	struct bsn_ctrl ctrl;

	rig_start();
	ok(bsn_buf_alloc(rig.bench.device, 1 << 20, NULL, &memory));
	ok(bsn_mkey_pool_create(rig.bench.device, NULL, &pool));
	ok(bsn_mkey_take(pool, &mkey));
	for (uint32_t stride = 0xfff8; stride <= 0x10008; stride += 8) {
		const struct bsn_part part = {
			.addr = memory->addr, .bytes = BYTES, .stride = stride, .lkey = memory->lkey
		};
		post_column(pool, mkey, &part, ROUNDS);
		assert_int_equal(stride_of(&rig.posted[LIBMLX5]), stride & 0xffff);
		bsn_ctrl_decode(&ctrl, rig.posted[BUNSEN].wqe[0]);
		if (stride <= BSN_REPEAT_MAX_STRIDE)
			assert_int_equal(stride_of(&rig.posted[BUNSEN]), stride);
		else
			assert_int_equal(ctrl.ds, UMR_HEAD_DS + ROUNDS);
		assert_int_equal(take_length(&rig.posted[BUNSEN]), BYTES * ROUNDS);
	}
	ok(bsn_mkey_give(mkey));
	ok(bsn_mkey_pool_destroy(pool));
	ok(bsn_buf_free(memory));
	rig_stop();
}

enum { SHORT_DEPTH = 12, SHORT_SGE = 16, SHORT_LIST = 17 };

/* Blocks of a queue of libmlx5 for mlx5dv_wr_mkey_configure() alone; @depth: requests. */
static uint32_t blocks_of_libmlx5(uint32_t *depth)
{
	struct ibv_cq *cq = ibv_create_cq(rig.bench.verbs, 16, NULL, NULL, 0);
	struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_RC,
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = SHORT_DEPTH, .max_send_sge = SHORT_SGE },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = rig.bench.pd,
		.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE,
	};
	struct mlx5dv_qp_init_attr mlx5 = {
		.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS,
		.send_ops_flags = MLX5DV_QP_EX_WITH_MKEY_CONFIGURE,
	};
	struct ibv_qp *qp = mlx5dv_create_qp(rig.bench.verbs, &init, &mlx5);
	struct mlx5dv_qp map = { 0 };
	struct mlx5dv_obj obj = { .qp = { .in = qp, .out = &map } };

	assert_non_null(cq);
	assert_non_null(qp);
	ok(mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP));
	*depth = init.cap.max_send_wr;
	ok(ibv_destroy_qp(qp));
	ok(ibv_destroy_cq(cq));
	return map.sq.wqe_cnt;
}

/* Posts as many as the queue takes, until each is done; returns their blocks. */
static uint32_t fill(struct bsn_mkey *mkey, struct bsn_layout *list)
{
	struct bsn_ep *ep = rig.party[BUNSEN].ep;
	uint32_t posted = 0, blocks;
	int err;

	while (!(err = bsn_mkey_configure(ep, mkey, list, posted, BSN_F_SIGNALED)))
		posted++;
	assert_int_equal(err, -EAGAIN);
	blocks = bsn_sq_outstanding_bb(ep->sq);
	ok(bsn_ring(ep));
	for (uint32_t i = 0; i < posted; i++)
		assert_int_equal(party_success(&rig.party[BUNSEN], 0).id, i);
	return blocks;
}

/*
 * libmlx5 44 does not count the UMR's segments where a queue is made for MKEY_CONFIGURE alone
 * (verbs.c _sq_overhead()): as many requests as it promises have more blocks than its ring, and
 * overwrite each other. Bunsen's queue counts blocks, and is full before.
 */
static void configurations_do_not_overrun_the_ring(void **state)
{
	const uint32_t bb = bsn_bb_of_ds(UMR_HEAD_DS + umr_padded(SHORT_LIST));
	struct bsn_part parts[SHORT_LIST];
	const struct bsn_layout_attr attr = { .parts = parts, .part_count = SHORT_LIST };
	struct bsn_layout *list;
	struct bsn_mkey *mkey;
	uint32_t blocks, depth, capacity;

	rig_start();
	make_parts(&(struct layout){ .count = SHORT_LIST }, parts);
	blocks = blocks_of_libmlx5(&depth);
	print_message("# libmlx5 promises %u configurations of %u blocks in a ring of %u\n", depth,
		      bb, blocks);
	ok(bsn_mkey_take(rig.pool, &mkey));
	ok(bsn_layout_create(rig.pool, &attr, &list));
	capacity = dv_sq(rig.party[BUNSEN].ep->sq)->capacity_bb;
	assert_in_range(fill(mkey, list), capacity + 1 - bb, capacity);
	ok(bsn_mkey_give(mkey));
	ok(bsn_layout_destroy(list));
	rig_stop();
}

UNIT_MAIN(NULL, UNIT(layouts_of_every_length), UNIT(layouts_at_every_position),
	  UNIT(long_lists_have_their_length), UNIT(long_strides_are_not_cut),
	  UNIT(configurations_do_not_overrun_the_ring))
