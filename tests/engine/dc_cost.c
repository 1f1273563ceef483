/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a post to a peer of a pool costs, beside that of an RC QP: more.py counts the instructions of each
 * function here. A hit: the peer has its initiator; a miss: another one has, and all are bound. A gated one:
 * READs have a limit.
 */
#include <stdio.h>
#include <stdlib.h>

#include "dc/pool.h"

enum { QPN = 77, TIMES = 64, RING = 1024, LONGEST_DATA = 512, INITIATORS = 8, LONGEST = 2, FEW = 100, MANY = 20000, PAGE = 4096, MOST_READS = 4 };

/* The compiler knows of a request what it knows in a program: not where the memory is. */
typedef int post(struct bsn_ep *ep, const struct bsn_sge *sge, const struct bsn_remote *to, uint64_t id);

/* By these names valgrind finds them. */
#define COUNTED __attribute__((noinline, visibility("default")))
#define NAMED(name, ...)                                                                           \
	post name;                                                                                 \
	COUNTED int name(struct bsn_ep *ep, const struct bsn_sge *sge, const struct bsn_remote *to, \
			 uint64_t id)                                                              \
	{                                                                                          \
		(void)sge, (void)to;                                                               \
		return __VA_ARGS__;                                                                \
	}

/*
 * X(name, post): a shape each; what of it the compiler knows is as in a program. It knows neither flags that are hidden nor
 * counts and lengths that @two is part of.
 */
#define RUNG (BSN_F_SIGNALED | BSN_F_RING)
#define WR                                                                                         \
	(struct bsn_wr){ .opcode = BSN_OPCODE_RDMA_WRITE, .remote = *to, .sge = sge, .sge_count = 1, \
			 .id = id, .flags = RUNG }
#define SHAPES(X)                                                                                  \
	X(write, bsn_write(ep, sge, to, id, RUNG))                                                 \
	X(write_quiet, bsn_write(ep, sge, to, id, 0))                                              \
	X(write_hidden, bsn_write(ep, sge, to, id, hidden))                                        \
	X(write_sge2, bsn_write_sgl(ep, sge, 2, to, id, RUNG))                                     \
	X(write_sge2_quiet, bsn_write_sgl(ep, sge, 2, to, id, 0))                                  \
	X(write_sge2_hidden, bsn_write_sgl(ep, sge, 2, to, id, hidden))                            \
	X(write_sge3, bsn_write_sgl(ep, sge, 3, to, id, RUNG))                                     \
	X(write_sge4, bsn_write_sgl(ep, sge, 4, to, id, RUNG))                                     \
	X(write_sge_n2, bsn_write_sgl(ep, sge, two, to, id, RUNG))                                 \
	X(write_sge_n4, bsn_write_sgl(ep, sge, 2 * two, to, id, RUNG))                             \
	X(write_inline, bsn_write_inline(ep, data, 8, to, id, RUNG))                               \
	X(write_inline_quiet, bsn_write_inline(ep, data, 8, to, id, 0))                            \
	X(write_inline_hidden, bsn_write_inline(ep, data, 8, to, id, hidden))                      \
	X(write_inline12, bsn_write_inline(ep, data, 12, to, id, RUNG))                            \
	X(write_inline13, bsn_write_inline(ep, data, 13, to, id, RUNG))                            \
	X(write_inline28, bsn_write_inline(ep, data, 28, to, id, RUNG))                            \
	X(write_inline32, bsn_write_inline(ep, data, 32, to, id, RUNG))                            \
	X(write_inline44, bsn_write_inline(ep, data, 44, to, id, RUNG))                            \
	X(write_inline64, bsn_write_inline(ep, data, 64, to, id, RUNG))                            \
	X(write_inline64_quiet, bsn_write_inline(ep, data, 64, to, id, 0))                         \
	X(write_inline_n8, bsn_write_inline(ep, data, 4 * two, to, id, RUNG))                      \
	X(write_inline_n28, bsn_write_inline(ep, data, 14 * two, to, id, RUNG))                    \
	X(write_inline_n64, bsn_write_inline(ep, data, 32 * two, to, id, RUNG))                    \
	X(write_imm, bsn_write_imm(ep, sge, to, 7, id, RUNG))                                      \
	X(write_imm_quiet, bsn_write_imm(ep, sge, to, 7, id, 0))                                   \
	X(write_prepared, bsn_post_prepared(ep, prepared, id, RUNG))                               \
	X(prepared_quiet, bsn_post_prepared(ep, prepared, id, 0))                                  \
	X(prepared_hidden, bsn_post_prepared(ep, prepared, id, hidden))                            \
	X(wr, bsn_post(ep, &WR))                                                                   \
	X(read, bsn_read(ep, sge, to, id, RUNG))                                                   \
	X(read_quiet, bsn_read(ep, sge, to, id, 0))                                                \
	X(read_sge2, bsn_read_sgl(ep, sge, 2, to, id, RUNG))                                       \
	X(read_sge4, bsn_read_sgl(ep, sge, 4, to, id, RUNG))                                       \
	X(send, bsn_send(ep, sge, id, RUNG))                                                       \
	X(send_quiet, bsn_send(ep, sge, id, 0))                                                    \
	X(send_hidden, bsn_send(ep, sge, id, hidden))                                              \
	X(send_sge2, bsn_send_sgl(ep, sge, 2, id, RUNG))                                           \
	X(send_sge4, bsn_send_sgl(ep, sge, 4, id, RUNG))                                           \
	X(send_inline, bsn_send_inline(ep, data, 8, id, RUNG))                                     \
	X(send_inline_quiet, bsn_send_inline(ep, data, 8, id, 0))                                  \
	X(send_inline12, bsn_send_inline(ep, data, 12, id, RUNG))                                  \
	X(send_inline28, bsn_send_inline(ep, data, 28, id, RUNG))                                  \
	X(send_inline44, bsn_send_inline(ep, data, 44, id, RUNG))                                  \
	X(send_inline64, bsn_send_inline(ep, data, 64, id, RUNG))                                  \
	X(send_inline_n28, bsn_send_inline(ep, data, 14 * two, id, RUNG))                          \
	X(send_inline_n64, bsn_send_inline(ep, data, 32 * two, id, RUNG))                          \
	X(send_imm, bsn_send_imm(ep, sge, 7, id, RUNG))                                            \
	X(fetch_add, bsn_fetch_add(ep, sge, to, 1, id, RUNG))                                      \
	X(atomic_quiet, bsn_fetch_add(ep, sge, to, 1, id, 0))                                      \
	X(cmp_swap, bsn_cmp_swap(ep, sge, to, 1, 2, id, RUNG))                                     \
	X(write_imm_n, bsn_write_imm(ep, sge, to, two, id, RUNG))                                  \
	X(write_imm_hidden, bsn_write_imm(ep, sge, to, two, id, hidden))                           \
	X(write_imm_inline_n8, bsn_write_imm_inline(ep, data, 4 * two, to, two, id, RUNG))         \
	X(send_imm_quiet, bsn_send_imm(ep, sge, 7, id, 0))                                         \
	X(send_imm_n, bsn_send_imm(ep, sge, two, id, RUNG))                                        \
	X(send_imm_inline_n8, bsn_send_imm_inline(ep, data, 4 * two, two, id, RUNG))               \
	X(send_sge3, bsn_send_sgl(ep, sge, 3, id, RUNG))                                           \
	X(read_sge3, bsn_read_sgl(ep, sge, 3, to, id, RUNG))                                       \
	X(write_sge_n2_hidden, bsn_write_sgl(ep, sge, two, to, id, hidden))                        \
	X(write_inline_n2, bsn_write_inline(ep, data, 1 * two, to, id, RUNG))                      \
	X(write_inline_n12, bsn_write_inline(ep, data, 6 * two, to, id, RUNG))                     \
	X(write_inline_n16, bsn_write_inline(ep, data, 8 * two, to, id, RUNG))                     \
	X(write_inline_n32, bsn_write_inline(ep, data, 16 * two, to, id, RUNG))                    \
	X(write_inline_n44, bsn_write_inline(ep, data, 22 * two, to, id, RUNG))                    \
	X(write_inline_n48, bsn_write_inline(ep, data, 24 * two, to, id, RUNG))                    \
	X(write_inline_n8_quiet, bsn_write_inline(ep, data, 4 * two, to, id, 0))                   \
	X(write_inline_n28_quiet, bsn_write_inline(ep, data, 14 * two, to, id, 0))                 \
	X(write_inline_n64_quiet, bsn_write_inline(ep, data, 32 * two, to, id, 0))                 \
	X(write_inline_n64_hidden, bsn_write_inline(ep, data, 32 * two, to, id, hidden))           \
	X(send_inline_n4, bsn_send_inline(ep, data, 2 * two, id, RUNG))                            \
	X(send_inline_n8, bsn_send_inline(ep, data, 4 * two, id, RUNG))                            \
	X(send_inline_n44, bsn_send_inline(ep, data, 22 * two, id, RUNG))                          \
	X(send_inline_n64_quiet, bsn_send_inline(ep, data, 32 * two, id, 0))
/* Of more than two blocks. */
#define LONG_SHAPES(X)                                                                             \
	X(write_inline128, bsn_write_inline(ep, data, 128, to, id, RUNG))                          \
	X(write_inline_n128, bsn_write_inline(ep, data, 64 * two, to, id, RUNG))                   \
	X(write_inline_n140, bsn_write_inline(ep, data, 70 * two, to, id, RUNG))                   \
	X(write_inline_n192, bsn_write_inline(ep, data, 96 * two, to, id, RUNG))                   \
	X(write_inline_n256, bsn_write_inline(ep, data, 128 * two, to, id, RUNG))                  \
	X(write_inline_n512, bsn_write_inline(ep, data, 256 * two, to, id, RUNG))                  \
	X(send_inline_n128, bsn_send_inline(ep, data, 64 * two, id, RUNG))                         \
	X(send_inline_n192, bsn_send_inline(ep, data, 96 * two, id, RUNG))                         \
	X(send_inline_n256, bsn_send_inline(ep, data, 128 * two, id, RUNG))
#define POSTS(name, post)                                                                          \
	NAMED(rc_##name, post)                                                                     \
	NAMED(compact_##name, post)                                                                \
	NAMED(grh_##name, post)                                                                    \
	NAMED(gated_##name, post)                                                                  \
	NAMED(short_##name, post)                                                                  \
	NAMED(miss_##name, post)

static struct bsn_remote target = { 0x1000, 3 };
static const struct bsn_sge sges[4] = {
	{ 0x2000, 8, 1 }, { 0x3000, 8, 1 }, { 0x4000, 8, 1 }, { 0x5000, 8, 1 }
};
static volatile unsigned hidden = RUNG, two = 2;
static uint8_t data[LONGEST_DATA]; /* main() writes them: the compiler does not know these either */
static struct bsn_prepared of_rc, of_dc;
static const struct bsn_prepared *prepared;
static uint8_t page[PAGE] __attribute__((aligned(PAGE)));
static struct bsn_lane lane = { .toggle = 256, .blueflame_bytes = 256 };

SHAPES(POSTS)
LONG_SHAPES(POSTS)
#define WRITES(name) NAMED(name, bsn_write(ep, sge, to, id, RUNG))
WRITES(other)
WRITES(compact_of_many)

/* What was posted since the last miss: to a peer that has a slot, every second time; to each; to all but one, undone. */
enum between { SOME, ALL, BUSY };

/* X(name, peers, between, what the pool has besides) */
#define POOLS(X)                                                                                   \
	X(miss_many, MANY, SOME, .policy = BSN_DC_LRU)                                             \
	X(miss_sieve, FEW, SOME, .policy = BSN_DC_SIEVE)                                           \
	X(miss_sieve_many, MANY, SOME, .policy = BSN_DC_SIEVE)                                     \
	X(miss_dcs, FEW, SOME, .policy = BSN_DC_DCS)                                               \
	X(miss_dcs_quota, FEW, SOME, .policy = BSN_DC_DCS_QUOTA)                                   \
	X(miss_hashed, FEW, SOME, .policy = BSN_DC_HASHED)                                         \
	X(miss_adaptive, FEW, SOME, .policy = BSN_DC_ADAPTIVE)                                     \
	X(miss_of_streams, FEW, SOME, .policy = BSN_DC_STREAMS, .streams = 8)                      \
	X(miss_lru_streams, MANY, SOME, .policy = BSN_DC_LRU, .streams = 8)                        \
	X(miss_lru_of_2_streams, FEW, SOME, .policy = BSN_DC_LRU, .streams = 2)                    \
	X(miss_lru_of_4_streams, MANY, SOME, .policy = BSN_DC_LRU, .streams = 4)                   \
	X(miss_lru_streams_after_all, MANY, ALL, .policy = BSN_DC_LRU, .streams = 8)               \
	X(miss_sieve_streams, MANY, SOME, .policy = BSN_DC_SIEVE, .streams = 8)                    \
	X(miss_dcs_streams, MANY, SOME, .policy = BSN_DC_DCS, .streams = 8)                        \
	X(miss_hashed_streams, MANY, SOME, .policy = BSN_DC_HASHED, .streams = 8)                  \
	X(miss_adaptive_streams, MANY, SOME, .policy = BSN_DC_ADAPTIVE, .streams = 8)              \
	X(miss_gated, FEW, SOME, .max_reads = MOST_READS)                                          \
	X(miss_gated_sieve, FEW, SOME, .policy = BSN_DC_SIEVE, .max_reads = MOST_READS)            \
	X(miss_gated_after_all, FEW, ALL, .max_reads = MOST_READS)                                 \
	X(miss_of_32, MANY, SOME, .initiators = 32)                                                \
	X(miss_sieve_of_32, MANY, SOME, .policy = BSN_DC_SIEVE, .initiators = 32)                  \
	X(miss_after_all, FEW, ALL, .policy = BSN_DC_LRU)                                          \
	X(miss_sieve_after_all, FEW, ALL, .policy = BSN_DC_SIEVE)                                  \
	X(miss_adaptive_after_all, FEW, ALL, .policy = BSN_DC_ADAPTIVE)                            \
	X(miss_of_32_after_all, MANY, ALL, .initiators = 32)                                       \
	X(miss_of_64, MANY, SOME, .initiators = 64)                                                \
	X(miss_of_64_after_all, MANY, ALL, .initiators = 64)                                       \
	X(miss_sieve_of_32_busy, MANY, BUSY, .policy = BSN_DC_SIEVE, .initiators = 32)             \
	X(miss_of_32_busy, MANY, BUSY, .initiators = 32)
#define WRITES_OF_POOL(name, ...) WRITES(name)
POOLS(WRITES_OF_POOL)

static void must(bool is_fine)
{
	if (!is_fine) {
		fprintf(stderr, "%s\n", bsn_error_text());
		exit(1);
	}
}

static struct bsn_sq *make_sq(enum bsn_transport transport, uint32_t qpn, uint32_t capacity_bb)
{
	const struct bsn_sq_init init = { .ring = aligned_alloc(PAGE, RING * BSN_BB_SIZE),
					  .record = calloc(1, sizeof(struct bsn_be32)),
					  .lane = &lane,
					  .count_bb = RING,
					  .capacity_bb = capacity_bb,
					  .max_sge = 4,
					  .max_ds = 16,
					  .max_inline = LONGEST_DATA,
					  .has_atomics = true,
					  .qpn = qpn,
					  .transport = transport,
					  .store = BSN_STORE_8,
					  .signal_every = -1,
					  .has_peers = transport == BSN_TRANSPORT_DC };
	struct bsn_sq *sq;

	must(init.ring != NULL && init.record != NULL);
	memset(init.ring, 0, RING * BSN_BB_SIZE);
	sq = bsn_sq_alloc(&init);
	must(sq != NULL);
	return sq;
}

/* @attr: of a send_depth, as many blocks may be outstanding. */
static struct bsn_dc_pool *make_pool(const struct bsn_dc_pool_attr *attr)
{
	const uint32_t capacity_bb = attr->send_depth ? attr->send_depth : RING;
	struct bsn_dc_pool *pool = pool_new(attr);

	must(pool != NULL);
	for (uint32_t k = 0; k < pool->count; k++)
		pool->initiators[k].sq = make_sq(BSN_TRANSPORT_DC, QPN + k, capacity_bb);
	must(!pool_begin(pool));
	return pool;
}

static struct bsn_ep *make_peer(struct bsn_dc_pool *pool, bool has_grh)
{
	static const uint8_t more[BSN_AV_DC_GRH_SIZE - BSN_DS_SIZE] __attribute__((aligned(16)));
	struct bsn_peer *peer = peer_new(pool);

	must(peer != NULL);
	peer->prefix_ds = has_grh ? 3 : 1;
	peer->more = more;
	return &peer->ep;
}

/* All that was posted is done, as a poll leaves it: the queue has not looked yet. */
static void finish(struct bsn_sq *sq)
{
	uint16_t last = sq->pi;

	for (uint16_t at = sq->retired; at != sq->pi;) {
		struct bsn_ctrl ctrl;
		bsn_ctrl_decode(&ctrl, sq->ring + (at & sq->bb_mask) * (size_t)BSN_BB_SIZE);
		must(ctrl.ds != 0);
		last = at;
		at = (uint16_t)(at + bsn_bb_of_ds(ctrl.ds));
	}
	if (last != sq->pi)
		sq->route.done = last;
}

/* The same, as a poll of the pool leaves it. */
static void finish_one(struct bsn_dc_pool *pool, struct bsn_sq *sq)
{
	finish(sq);
	pool_heard(pool, &(struct bsn_completion){ .qpn = sq->qpn }, 1);
}

static void finish_all(struct bsn_dc_pool *pool)
{
	for (unsigned i = 0; i < pool->count; i++)
		finish(pool->initiators[i].sq);
	must(!take_turns(pool, NULL, 0, true));
}

static const struct bsn_prepared *prepare(struct bsn_ep *ep, struct bsn_prepared *p)
{
	const struct bsn_wr wr = {
		.opcode = BSN_OPCODE_RDMA_WRITE, .remote = target, .sge = sges, .sge_count = 1
	};

	must(!bsn_prepare(ep, &wr, p));
	return p;
}

static void post_rc(post *counted)
{
	struct bsn_sq *sq = make_sq(BSN_TRANSPORT_RC, QPN, RING);

	prepared = prepare(&sq->ep, &of_rc);
	for (unsigned k = 0; k < TIMES; k++)
		must(!counted(&sq->ep, sges, &target, k));
}

/* To each initiator's peer in turn. @attr: what else the pool has; then all is done before the next turn. */
static void hit(post *counted, bool has_grh, unsigned peers, const struct bsn_dc_pool_attr *attr)
{
	struct bsn_dc_pool *pool = make_pool(attr);
	struct bsn_ep *eps[INITIATORS];

	for (unsigned p = 0; p < peers; p++)
		eps[p % INITIATORS] = make_peer(pool, has_grh);
	for (unsigned p = 0; p < INITIATORS; p++)
		must(!bsn_write(eps[p], sges, &target, 0, BSN_F_SIGNALED | BSN_F_RING));
	prepared = prepare(eps[0], &of_dc);
	for (unsigned k = 0; k < TIMES; k++) {
		if ((attr->max_reads || attr->send_depth) && k % INITIATORS == 0)
			finish_all(pool);
		must(!counted(eps[k % INITIATORS], sges, &target, k));
	}
}

/* Here and there among them. */
static struct bsn_ep *at(struct bsn_ep **eps, uint64_t k, unsigned peers)
{
	return eps[k * 7919 % peers];
}

static void post_to_bound(struct bsn_dc_pool *pool, unsigned k)
{
	for (uint32_t n = 0; n < pool->slot_count; n++)
		if (pool->slots[n].peer && is_done(pool, &pool->slots[n]))
			must(!other(&pool->slots[n].peer->ep, sges, &target, k));
}

static void post_between(struct bsn_dc_pool *pool, enum between between, struct bsn_ep *before, unsigned k)
{
	if (between == SOME && k % 2)
		must(!other(before, sges, &target, k));
	if (between != SOME)
		post_to_bound(pool, k);
	if (between == BUSY)
		finish_one(pool, pool->initiators[k * 5 % pool->initiators_wanted].sq);
	else
		finish_all(pool);
}

/* A peer that was not there before, each time. */
static void miss(post *counted, unsigned peers, enum between between, const struct bsn_dc_pool_attr *attr)
{
	struct bsn_dc_pool *pool = make_pool(attr);
	const unsigned first = 3 * pool->initiators_wanted * (attr->policy == BSN_DC_STREAMS ? 1 : pool->streams);
	struct bsn_ep **eps = calloc(peers, sizeof(*eps));

	must(eps != NULL);
	for (unsigned p = 0; p < peers; p++)
		eps[p] = make_peer(pool, false);
	prepared = prepare(eps[0], &of_dc);
	for (unsigned k = 0; k < first + TIMES; k++) {
		const uint64_t bindings = pool->counters.bindings + pool->swaps;

		must(!(k < first ? other : counted)(at(eps, k, peers), sges, &target, k));
		must(k < first || pool->counters.bindings + pool->swaps == bindings + 1);
		finish_all(pool);
		if (k > 4)
			post_between(pool, between, at(eps, k - 4, peers), k);
	}
	free(eps);
}

int main(int argc, char **argv)
{
	const struct bsn_dc_pool_attr plain = { .initiators = INITIATORS };
	const struct bsn_dc_pool_attr gated = { .initiators = INITIATORS, .max_reads = MOST_READS };
	const struct bsn_dc_pool_attr one_at_a_time = { .initiators = INITIATORS, .send_depth = LONGEST };

	lane.reg = page + 2048;
	(void)argv;
	memset(data, argc, sizeof(data));
#define COUNT(name, post)                                                                          \
	post_rc(rc_##name);                                                                        \
	hit(compact_##name, false, FEW, &plain);                                                   \
	hit(grh_##name, true, FEW, &plain);                                                        \
	hit(gated_##name, false, FEW, &gated);                                                     \
	miss(miss_##name, FEW, SOME, &plain);
#define COUNT_SHORT(name, post)                                                                    \
	COUNT(name, post)                                                                          \
	hit(short_##name, false, FEW, &one_at_a_time);
	SHAPES(COUNT_SHORT)
	LONG_SHAPES(COUNT)
	hit(compact_of_many, false, MANY, &plain);
#define COUNT_POOL(name, peers, between, ...)                                                      \
	miss(name, peers, between, &(struct bsn_dc_pool_attr){ __VA_ARGS__ });
	POOLS(COUNT_POOL)
	return 0;
}
