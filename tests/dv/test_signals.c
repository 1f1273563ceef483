/* SPDX-License-Identifier: BSD-2-Clause */
/* What the library signals by itself, what fences and detours take, and what a slot costs. */
#include <malloc.h>

#include "credits.h"

/* -- the library's own signals ----------------------------------------------------------------- */

/* Posts WQEs, one in five of @blocks and the others of @longest, until the queue is stuck. */
static void post_unsignaled(uint32_t depth, uint32_t longest, uint32_t blocks, int wish,
			    uint32_t odd)
{
	const uint32_t capacity = depth * longest;
	OWNED struct fake *f = FAKE(.count_bb = 64, .capacity_bb = capacity, .max_ds = 4 * longest,
				    .signal_every = -1);
	unsigned done = 0, full = 0;
	uint16_t scanned = 0;

	dv_sq(f->sq)->signal_every = f->sq->quiet = bsn_sq_signal_every(capacity, longest, wish);
	while (done < 60 && full < 3) {
		if (!post_blocks(f, done % 5 == odd ? blocks : longest, 0, BSN_F_RING)) {
			done++;
			full = 0;
			continue;
		}
		full++;
		for (; scanned != f->sq->pi; scanned++)
			if (is_hidden(f, scanned))
				fake_done(f, scanned, 0);
		assert_int_equal(bsn_poll(f->cq, out, 8), 0);
	}
	assert_int_equal(done, 60);
}

/* Of any depth, length of WQEs and wished signal_every; no completion is shown. */
static void unsignaled_work_is_never_stuck(void **state)
{
	static const int wishes[] = { 0, 1, 2, 3, 7, 64, 1000 };

	for (uint32_t depth = 1; depth <= 16; depth++)
		for (uint32_t longest = 1; longest <= 4; longest++)
			for (uint32_t blocks = 1; blocks <= longest; blocks++)
				for (unsigned i = 0; i < 7 * 5; i++)
					post_unsignaled(depth, longest, blocks, wishes[i / 5],
							i % 5);
}

static void who_signals_needs_no_help(void **state)
{
	OWNED struct fake *f = FAKE(.signal_every = 4, .max_ds = 4);

	for (uint32_t i = 0; i < 3000; i++) {
		const uint32_t index = f->sq->pi;
		const bool signaled = i % 3 == 2;

		ok(post_blocks(f, 1, i, signaled ? BSN_F_SIGNALED : 0));
		assert_int_equal(ctrl_at(f, index).ce, signaled ? BSN_CE_ALWAYS : BSN_CE_ON_ERROR);
		if (!signaled)
			continue;
		fake_done(f, index, 0);
		assert_int_equal(bsn_poll(f->cq, out, 8), 1);
	}
	assert_int_equal(dv_sq(f->sq)->route.has_hidden, 0);
}

/* A request that the library signaled fails: the user gets the error, and the own id. */
static void an_error_is_never_hidden(void **state)
{
	OWNED struct fake *f = FAKE(.signal_every = 1);

	ok(post_blocks(f, 1, 77, 0));
	assert_true(is_hidden(f, 0));
	fake_err(f, .opcode = BSN_CQE_REQ_ERR, .syndrome = BSN_SYNDROME_REMOTE_ACCESS);
	poll_one(f, 8, 77);
	assert_false(is_hidden(f, 0));
}

static void unsignaled_work_says_what_it_was_made_to(void **state)
{
	for (int ce = BSN_CE_ON_ERROR; ce <= BSN_CE_ON_FIRST_ERROR; ce++) {
		OWNED struct fake *f = FAKE(.ce_quiet = (enum bsn_ce)ce);
		for (uint32_t blocks = 1; blocks <= 4; blocks++) {
			const uint32_t index = f->sq->pi;
			ok(post_blocks(f, blocks, 0, 0));
			assert_int_equal(ctrl_at(f, index).ce, ce);
		}
		ok(post_blocks(f, 1, 0, BSN_F_SIGNALED));
		assert_int_equal(ctrl_at(f, 10).ce, BSN_CE_ALWAYS);
	}
}

/* -- fences, detours, prepared requests -------------------------------------------------------- */

/* An owed fence goes into the next WQE, whatever call posts it, and only once. */
static void a_fence_owed_is_paid_once(void **state)
{
	OWNED struct fake *f = fake_create(NULL);
	const struct bsn_wr wr = write_of(many, 1, 0);
	struct bsn_prepared p;

	ok(post_blocks(f, 1, 0, 0)); /* fills `many` */
	ok(bsn_prepare(&f->ep, &wr, &p));
	for (unsigned way = 0; way < 4; way++)
		for (int asked = 0; asked < 2; asked++) {
			const unsigned flags = asked ? BSN_F_FENCE : 0;
			fake_seek(f, 3 * way);
			bsn_sq_owe_fence(f->sq, BSN_FENCE_INITIATOR_SMALL);
			ok(way < 2    ? post_blocks(f, 1 + way, 0, flags)
			   : way == 2 ? bsn_post_prepared(&f->ep, &p, 0, flags)
				      : bsn_send_inline(&f->ep, "x", 1, 0, flags));
			assert_int_equal(ctrl_at(f, 3 * way).fence,
					 asked ? BSN_FENCE_SMALL_AND_FENCE
					       : BSN_FENCE_INITIATOR_SMALL);
			const uint32_t next = f->sq->pi;
			assert_true(visible_bb(f->sq) > 0);
			ok(post_blocks(f, 1, 0, 0));
			assert_int_equal(ctrl_at(f, next).fence, BSN_FENCE_NONE);
		}
}

/* Whatever counts the room while a fence is owed: a WQE across the ring's end pays it, too. */
static void a_fence_owed_is_paid_across_the_end(void **state)
{
	static const char data[64];

	for (int counted = 0; counted < 2; counted++) {
		OWNED struct fake *f = fake_create(NULL);
		fake_seek(f, 15);
		bsn_sq_owe_fence(f->sq, BSN_FENCE_INITIATOR_SMALL);
		if (counted)
			bsn_sq_refill(f->sq);
		ok(bsn_send_inline(&f->ep, data, sizeof(data), 0, 0));
		assert_int_equal(ctrl_at(f, 15).fence, BSN_FENCE_INITIATOR_SMALL);
	}
}

/* Also where the index comes to 2^16. */
static void a_ring_goes_round_at_each_index(void **state)
{
	for (uint32_t start = UINT16_MAX - 8; start < UINT16_MAX + 2; start++) {
		OWNED struct fake *f = fake_create(NULL);
		fake_seek(f, (uint16_t)start);
		for (uint32_t index = start; index < start + 16; index++) {
			ok(post_blocks(f, 1, index, 0));
			assert_int_equal(ctrl_at(f, index).wqe_index, (uint16_t)index);
			assert_int_equal(ctrl_at(f, index).opmod, 0);
		}
		assert_int_equal(visible_bb(f->sq), 0);
		assert_int_equal(post_blocks(f, 1, 0, 0), -EAGAIN);
	}
}

/* A prepared request may be posted to any endpoint, over and over. */
static void a_prepared_request_belongs_to_no_queue(void **state)
{
	OWNED struct fake *f = fake_create(NULL), *g = fake_create(NULL);
	struct bsn_wr wr = write_of(many, 1, 0);
	struct bsn_prepared p, copy;

	wr.opcode = BSN_OPCODE_RDMA_WRITE_IMM;
	wr.imm = 0x1234;
	g->sq->ctrl_next = bsn_ctrl_word(&(struct bsn_ctrl){ .qpn = 0x42 }, 0);
	ok(bsn_prepare(&f->ep, &wr, &p));
	copy = p;
	for (uint32_t i = 0; i < 100; i++) {
		struct fake *who = i % 3 ? f : g;
		const uint32_t index = who->sq->pi;

		ok(bsn_post_prepared(&who->ep, &p, i, BSN_F_SIGNALED));
		assert_int_equal(ctrl_at(who, index).qpn, who == f ? FAKE_QPN : 0x42);
		assert_int_equal(ctrl_at(who, index).wqe_index, index);
		assert_int_equal(ctrl_at(who, index).imm, 0x1234);
		fake_done(who, index, 0);
		poll_one(who, 8, i);
	}
	assert_memory_equal(&p, &copy, sizeof(p));
}

/* After a reset the queue is as new. */
static void a_cleared_queue_is_new(void **state)
{
	const struct fake_attr attr = { .signal_every = 2 };
	OWNED struct fake *f = fake_create(&attr), *fresh = fake_create(&attr);

	for (uint32_t i = 0; i < 14; i++)
		ok(post_blocks(f, 1, i, i % 2 ? BSN_F_RING : 0));
	fake_done(f, 3, 0);
	bsn_poll(f->cq, out, 8);
	bsn_sq_owe_fence(f->sq, BSN_FENCE_INITIATOR_SMALL);
	memset(f->record, 0, sizeof(f->record)); /* as libmlx5 does */
	bsn_sq_clear(f->sq);
	assert_int_equal(f->sq->pi, 0);
	assert_ptr_equal(f->sq->slot, f->sq_ring);
	assert_int_equal(f->sq->limit - f->sq_ring, fresh->sq->limit - fresh->sq_ring);
	assert_int_equal(dv_sq(f->sq)->route.hot.done, dv_sq(fresh->sq)->route.hot.done);
	assert_int_equal(dv_sq(f->sq)->route.hot.near_ds, dv_sq(fresh->sq)->route.hot.near_ds);
	assert_int_equal(dv_sq(f->sq)->route.has_hidden, 0);
	assert_int_equal(f->sq->publish, fresh->sq->publish);
	assert_int_equal(f->sq->quiet, fresh->sq->quiet);
	assert_int_equal(dv_sq(f->sq)->next_fence, 0);
	assert_int_equal(bsn_sq_count_blueflame(f->sq), 0);
	assert_memory_equal(dv_sq(f->sq)->hidden, dv_sq(fresh->sq)->hidden, 16);
	assert_int_equal(bsn_sq_outstanding_bb(f->sq), 0);
}

/* -- what a slot costs, and whose it is -------------------------------------------------------- */

/* Bytes allocated for a queue of @count blocks; 0 under ASan, which does not tell. */
static size_t bytes_of_queue(enum bsn_transport transport, bool has_peers, uint32_t count)
{
	struct bsn_be32 record[2];
	struct dv_lane lane = { .blueflame_bytes = 0 };
	const struct bsn_sq_init init = { .record = record,
					  .lane = &lane.hot,
					  .count_bb = count,
					  .capacity_bb = count,
					  .max_ds = 4,
					  .transport = transport,
					  .has_peers = has_peers,
					  .store = BSN_STORE_8 };
	const size_t before = mallinfo2().uordblks;
	struct bsn_sq *sq = bsn_sq_alloc(&init);
	const size_t bytes = mallinfo2().uordblks - before;

	assert_non_null(sq);
	bsn_sq_free(sq);
	return bytes;
}

/* A slot keeps id and whether it is hidden; with many peers also a user pointer. */
static void a_slot_has_nine_bytes_or_seventeen(void **state)
{
	enum { FEW = 64, MANY = 4096, NOISE = 4096 }; /* of malloc's caches */

	for (int t = BSN_TRANSPORT_RC; t <= BSN_TRANSPORT_DC; t++)
		for (int peers = 0; peers < 2; peers++)
			assert_true(bytes_of_queue((enum bsn_transport)t, peers, MANY) -
					    bytes_of_queue((enum bsn_transport)t, peers, FEW) <=
				    (peers ? 17 : 9) * (MANY - FEW) + NOISE);
}

static void *who_sent(struct fake *f, uint32_t index, uint64_t id)
{
	fake_done(f, index, BSN_OPCODE_SEND);
	poll_one(f, 1, id);
	return out[0].user;
}

#define WAYS_TO_SEND 7

/* Posts in several ways: one block and several, little inline data and much. */
static void send_by(struct bsn_peer *peer, unsigned way, uint64_t id)
{
	const unsigned flags = BSN_F_SIGNALED | BSN_F_RING;
	struct bsn_wr wr = write_of(many, 14, flags), few;
	struct bsn_prepared p;
	char data[64] = "by the long way";

	wr.id = id;
	wr.opcode = BSN_OPCODE_SEND;
	few = wr;
	few.sge_count = 1;
	ok(way == 0   ? bsn_send(&peer->ep, many, id, flags)
	   : way == 1 ? bsn_send_sgl(&peer->ep, many, 2, id, flags)
	   : way == 2 ? bsn_send_inline(&peer->ep, data, 3, id, flags)
	   : way == 3 ? bsn_send_inline(&peer->ep, data, 64, id, flags)
	   : way == 4 ? bsn_post(&peer->ep, &wr)
	   : way == 5 ? bsn_send_imm(&peer->ep, many, 7, id, flags)
		      : bsn_prepare(&peer->ep, &few, &p) ||
				bsn_post_prepared(&peer->ep, &p, id, flags));
}

/* Each request comes back with the user pointer of its own peer, wherever its id was kept. */
static void a_request_has_its_peers_user(void **state)
{
	enum { MANY = 100 };
	static const uint8_t more[32] __attribute__((aligned(16)));
	OWNED struct fake *f = FAKE(.transport = BSN_TRANSPORT_UD, .has_peers = true, .max_ds = 20,
				    .signal_every = 1);
	struct bsn_peer peers[MANY];
	int user[MANY];

	for (unsigned i = 0; i < 14; i++)
		many[i] = (struct bsn_sge){ 0x1000, 8, 1 };
	for (unsigned i = 0; i < MANY; i++)
		peers[i] = (struct bsn_peer){ .ep = { f->sq },
					      .user = &user[i],
					      .more = more,
					      .ctrl_bits = 0,
					      .prefix_ds = i % 2 ? 3 : 1 };
	for (uint64_t i = 0; i < 50 * MANY; i++) {
		const unsigned a = i % MANY, b = i * 7 % MANY;
		const uint16_t first = f->sq->pi;
		uint16_t second;

		send_by(&peers[a], i % WAYS_TO_SEND, i);
		second = f->sq->pi;
		send_by(&peers[b], i / WAYS_TO_SEND % WAYS_TO_SEND, ~i);
		assert_ptr_equal(who_sent(f, first, i), &user[a]);
		assert_ptr_equal(who_sent(f, second, ~i), &user[b]);
	}
}

/* With one peer it is the queue's, whether or not hidden completions come between. */
static void a_request_has_its_queues_user(void **state)
{
	for (int every = -1; every < 2; every++) {
		OWNED struct fake *f = FAKE(.signal_every = every);
		dv_sq(f->sq)->route.hot.user = &f->lane;
		for (uint64_t i = 0; i < 1000; i++) {
			const uint32_t index = f->sq->pi;
			ok(post_blocks(f, i % 4 + 1, i, BSN_F_SIGNALED));
			assert_ptr_equal(who_sent(f, index, i), &f->lane);
			if (every < 0)
				continue;
			ok(post_blocks(f, 1, i, 0)); /* may be hidden */
			if (!is_hidden(f, (uint16_t)(f->sq->pi - 1)))
				continue;
			fake_done(f, (uint16_t)(f->sq->pi - 1), 0);
			assert_int_equal(bsn_poll(f->cq, out, i % 2 ? 1 : 8), 0);
		}
	}
}

UNIT_MAIN(NULL, UNIT(unsignaled_work_is_never_stuck), UNIT(who_signals_needs_no_help),
	  UNIT(an_error_is_never_hidden), UNIT(unsignaled_work_says_what_it_was_made_to),
	  UNIT(a_fence_owed_is_paid_once), UNIT(a_fence_owed_is_paid_across_the_end),
	  UNIT(a_ring_goes_round_at_each_index), UNIT(a_prepared_request_belongs_to_no_queue),
	  UNIT(a_cleared_queue_is_new), UNIT(a_slot_has_nine_bytes_or_seventeen),
	  UNIT(a_request_has_its_peers_user), UNIT(a_request_has_its_queues_user))
