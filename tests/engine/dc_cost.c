/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a post to a peer of a pool costs, beside that of an RC QP: more.py counts the instructions of each
 * function here. A hit: the peer has its initiator; a miss: another one has, and all are bound.
 */
#include <stdio.h>
#include <stdlib.h>

#include "dc/pool.h"

enum { TIMES = 64, RING = 256, INITIATORS = 8, FEW = 100, MANY = 20000, PAGE = 4096 };

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

/* X(name, post): a shape each; what of it the compiler knows is as in a program. */
#define RUNG (BSN_F_SIGNALED | BSN_F_RING)
#define SHAPES(X)                                                                                  \
	X(write, bsn_write(ep, sge, to, id, RUNG))                                               \
	X(write_quiet, bsn_write(ep, sge, to, id, 0))                                            \
	X(write_hidden, bsn_write(ep, sge, to, id, hidden))                                      \
	X(write_sge2, bsn_write_sgl(ep, sge, 2, to, id, RUNG))                                   \
	X(write_sge4, bsn_write_sgl(ep, sge, 4, to, id, RUNG))                                   \
	X(write_inline, bsn_write_inline(ep, data, 8, to, id, RUNG))                              \
	X(write_inline12, bsn_write_inline(ep, data, 12, to, id, RUNG))                           \
	X(write_inline28, bsn_write_inline(ep, data, 28, to, id, RUNG))                           \
	X(write_inline64, bsn_write_inline(ep, data, 64, to, id, RUNG))                           \
	X(write_imm, bsn_write_imm(ep, sge, to, 7, id, RUNG))                                    \
	X(write_prepared, bsn_post_prepared(ep, prepared, id, RUNG))                               \
	X(read, bsn_read(ep, sge, to, id, RUNG))                                                 \
	X(read_sge2, bsn_read_sgl(ep, sge, 2, to, id, RUNG))                                     \
	X(send, bsn_send(ep, sge, id, RUNG))                                                      \
	X(send_inline, bsn_send_inline(ep, data, 8, id, RUNG))                                     \
	X(send_imm, bsn_send_imm(ep, sge, 7, id, RUNG))                                           \
	X(fetch_add, bsn_fetch_add(ep, sge, to, 1, id, RUNG))                                    \
	X(cmp_swap, bsn_cmp_swap(ep, sge, to, 1, 2, id, RUNG))
#define POSTS(name, post)                                                                          \
	NAMED(rc_##name, post)                                                                     \
	NAMED(compact_##name, post)                                                                \
	NAMED(grh_##name, post)

static struct bsn_remote target = { 0x1000, 3 };
static const struct bsn_sge sges[4] = {
	{ 0x2000, 8, 1 }, { 0x3000, 8, 1 }, { 0x4000, 8, 1 }, { 0x5000, 8, 1 }
};
static volatile unsigned hidden = RUNG;
static const uint8_t data[64];
static struct bsn_prepared of_rc, of_dc;
static const struct bsn_prepared *prepared;
static uint8_t page[PAGE] __attribute__((aligned(PAGE)));
static struct bsn_lane lane = { .toggle = 256, .blueflame_bytes = 256 };

SHAPES(POSTS)
#define BY(name) NAMED(name, bsn_write(ep, sge, to, id, RUNG))
BY(other)
BY(compact_of_many)
BY(miss_of_few)
BY(miss_of_many)
BY(miss_sieve)
BY(miss_of_128)
BY(miss_sieve_of_128)
BY(miss_dcs)
BY(miss_dcs_quota)
BY(miss_hashed)
BY(miss_adaptive)
BY(miss_streams)
BY(gated)
NAMED(gated_read, bsn_read(ep, sge, to, id, RUNG))
/* A shape each, as in SHAPES(). */
NAMED(miss_read, bsn_read(ep, sge, to, id, RUNG))
NAMED(miss_send, bsn_send(ep, sge, id, RUNG))
NAMED(miss_sge2, bsn_write_sgl(ep, sge, 2, to, id, RUNG))
NAMED(miss_sge4, bsn_write_sgl(ep, sge, 4, to, id, RUNG))
NAMED(miss_inline, bsn_write_inline(ep, data, 8, to, id, RUNG))
NAMED(miss_inline64, bsn_write_inline(ep, data, 64, to, id, RUNG))
NAMED(miss_send_inline, bsn_send_inline(ep, data, 8, id, RUNG))
NAMED(miss_fetch_add, bsn_fetch_add(ep, sge, to, 1, id, RUNG))
NAMED(miss_prepared, bsn_post_prepared(ep, prepared, id, RUNG))

static void must(bool is_fine)
{
	if (!is_fine) {
		fprintf(stderr, "%s\n", bsn_error_text());
		exit(1);
	}
}

static struct bsn_sq *make_sq(enum bsn_transport transport)
{
	static struct bsn_be32 records[2048];
	static unsigned made;
	const struct bsn_sq_init init = { .ring = aligned_alloc(PAGE, RING * BSN_BB_SIZE),
					  .record = &records[made++],
					  .lane = &lane,
					  .count_bb = RING,
					  .capacity_bb = RING,
					  .max_sge = 4,
					  .max_ds = 16,
					  .max_inline = 64,
					  .has_atomics = true,
					  .qpn = 77,
					  .transport = transport,
					  .store = BSN_STORE_8,
					  .signal_every = -1,
					  .has_peers = transport == BSN_TRANSPORT_DC };
	struct bsn_sq *sq;

	must(init.ring != NULL);
	memset(init.ring, 0, RING * BSN_BB_SIZE);
	sq = bsn_sq_alloc(&init);
	must(sq != NULL);
	return sq;
}

static struct bsn_dc_pool *make_pool(struct bsn_dc_pool_attr attr)
{
	struct bsn_dc_pool *pool;

	if (!attr.initiators)
		attr.initiators = INITIATORS;
	pool = pool_new(&attr);

	must(pool != NULL);
	for (uint32_t k = 0; k < pool->count; k++)
		pool->initiators[k].sq = make_sq(BSN_TRANSPORT_DC);
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

/* All that was posted is done. */
static void finish(struct bsn_sq *sq)
{
	while (bsn_sq_outstanding_bb(sq)) {
		struct bsn_ctrl ctrl;
		bsn_ctrl_decode(&ctrl, sq->ring + (sq->retired & sq->bb_mask) * (size_t)BSN_BB_SIZE);
		sq->route.done = sq->retired;
		must(ctrl.ds != 0);
	}
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
	struct bsn_sq *sq = make_sq(BSN_TRANSPORT_RC);

	prepared = prepare(&sq->ep, &of_rc);
	for (unsigned k = 0; k < TIMES; k++)
		must(!counted(&sq->ep, sges, &target, k));
}

/* To each initiator's peer in turn. */
static void hit_in(post *counted, bool has_grh, unsigned peers, struct bsn_dc_pool_attr attr)
{
	struct bsn_dc_pool *pool = make_pool(attr);
	struct bsn_ep *eps[INITIATORS];

	for (unsigned p = 0; p < peers; p++)
		eps[p % INITIATORS] = make_peer(pool, has_grh);
	for (unsigned p = 0; p < INITIATORS; p++)
		must(!bsn_write(eps[p], sges, &target, 0, BSN_F_SIGNALED | BSN_F_RING));
	prepared = prepare(eps[0], &of_dc);
	for (unsigned k = 0; k < TIMES; k++)
		must(!counted(eps[k % INITIATORS], sges, &target, k));
}

static void hit(post *counted, bool has_grh, unsigned peers)
{
	hit_in(counted, has_grh, peers, (struct bsn_dc_pool_attr){ .policy = BSN_DC_LRU });
}

/* As a poll does. */
static void finish_all(struct bsn_dc_pool *pool)
{
	struct bsn_completion c[1];

	for (unsigned i = 0; i < pool->count; i++)
		finish(pool->initiators[i].sq);
	must(!take_turns(pool, c, 1, true));
}

/* Here and there among them. */
static struct bsn_ep *at(struct bsn_ep **eps, uint64_t k, unsigned peers)
{
	return eps[k * 7919 % peers];
}

/* A peer that was not there before, each time; half of the initiators were used since. */
static void miss_in(post *counted, unsigned peers, struct bsn_dc_pool_attr attr)
{
	struct bsn_dc_pool *pool = make_pool(attr);
	const unsigned slots = pool->initiators_wanted * pool->streams;
	struct bsn_ep **eps = calloc(peers, sizeof(*eps));

	must(eps != NULL);
	for (unsigned p = 0; p < peers; p++)
		eps[p] = make_peer(pool, false);
	for (unsigned k = 0; k < TIMES + slots; k++) {
		must(!(k < slots ? other(at(eps, k, peers), sges, &target, k)
				      : counted(at(eps, k, peers), sges, &target, k)));
		finish_all(pool);
		if (k % 2 && k > 4)
			must(!other(at(eps, k - 4, peers), sges, &target, k));
		finish_all(pool);
	}
}

static void miss(post *counted, enum bsn_dc_policy policy, unsigned peers)
{
	miss_in(counted, peers, (struct bsn_dc_pool_attr){ .policy = policy });
}

/* More kinds of pools, and of requests. */
static void miss_more(void)
{
	miss_in(miss_of_128, MANY, (struct bsn_dc_pool_attr){ .policy = BSN_DC_LRU, .initiators = 128 });
	miss_in(miss_sieve_of_128, MANY, (struct bsn_dc_pool_attr){ .policy = BSN_DC_SIEVE, .initiators = 128 });
	miss(miss_dcs, BSN_DC_DCS, MANY);
	miss(miss_dcs_quota, BSN_DC_DCS_QUOTA, MANY);
	miss(miss_hashed, BSN_DC_HASHED, MANY);
	miss(miss_adaptive, BSN_DC_ADAPTIVE, MANY);
	miss_in(miss_streams, MANY, (struct bsn_dc_pool_attr){ .policy = BSN_DC_LRU, .streams = 4 });
	miss(miss_read, BSN_DC_LRU, MANY);
	miss(miss_send, BSN_DC_LRU, MANY);
	miss(miss_sge2, BSN_DC_LRU, MANY);
	miss(miss_sge4, BSN_DC_LRU, MANY);
	miss(miss_inline, BSN_DC_LRU, MANY);
	miss(miss_inline64, BSN_DC_LRU, MANY);
	miss(miss_send_inline, BSN_DC_LRU, MANY);
	miss(miss_fetch_add, BSN_DC_LRU, MANY);
	miss(miss_prepared, BSN_DC_LRU, MANY);
	hit_in(gated, false, FEW, (struct bsn_dc_pool_attr){ .max_reads = 128 });
	hit_in(gated_read, false, FEW, (struct bsn_dc_pool_attr){ .max_reads = 128 });
}

int main(void)
{
	lane.reg = page + 2048;
#define COUNT(name, post)                                                                          \
	post_rc(rc_##name);                                                                        \
	hit(compact_##name, false, FEW);                                                           \
	hit(grh_##name, true, FEW);
	SHAPES(COUNT)
	hit(compact_of_many, false, MANY);
	miss(miss_sieve, BSN_DC_SIEVE, FEW);
	miss(miss_of_few, BSN_DC_LRU, FEW);
	miss(miss_of_many, BSN_DC_LRU, MANY);
	miss_more();
	return 0;
}
