/* SPDX-License-Identifier: BSD-2-Clause */
/* What the library signals by itself, what fences and detours take, and what a slot costs. */
#include <malloc.h>

#include "credits.h"

/* -- the library's own signals ----------------------------------------------------------------- */

/*
 * A user who never signals is never stuck, whatever the depth, the length of the WQEs and the
 * wished signal_every are; and no completion is shown.
 */
static void unsignaled_work_is_never_stuck(void **state)
{
	static const int wishes[] = { 0, 1, 2, 3, 7, 64, 1000 };

	(void)state;
	for (uint32_t depth = 1; depth <= 16; depth++)
		for (uint32_t longest = 1; longest <= 4; longest++)
			for (uint32_t blocks = 1; blocks <= longest; blocks++)
				for (unsigned w = 0; w < 7; w++)
					for (uint32_t odd = 0; odd < 5; odd++) {
						const uint32_t capacity = depth * longest;
						const int every = wishes[w];
						struct fake_attr attr = { .count_bb = 64,
									  .capacity_bb = capacity,
									  .max_ds = 4 * longest,
									  .signal_every = -1 };
						struct fake *f = fake_create(&attr);
						unsigned done = 0, full = 0;
						uint16_t scanned = 0;

						dv_sq(f->sq)->signal_every = f->sq->quiet =
							bsn_sq_signal_every(capacity, longest,
									    every);
						while (done < 60 && full < 3) {
							const uint32_t n =
								done % 5 == odd ? blocks : longest;
							const int err =
								post_blocks(f, n, 0, BSN_F_RING);

							if (!err) {
								done++;
								full = 0;
								continue;
							}
							full++;
							for (; scanned != f->sq->pi; scanned++)
								if (is_hidden(f, scanned))
									fake_done(f, scanned, 0);
							assert_int_equal(bsn_poll(f->cq, out, 8),
									 0);
						}
						assert_int_equal(done, 60);
						fake_destroy(f);
					}
}

static void who_signals_needs_no_help(void **state)
{
	const struct fake_attr attr = { .signal_every = 4, .max_ds = 4 };
	struct fake *f = fake_create(&attr);

	(void)state;
	for (uint32_t i = 0; i < 3000; i++) {
		const uint32_t index = f->sq->pi;
		const bool signaled = i % 3 == 2;

		assert_int_equal(post_blocks(f, 1, i, signaled ? BSN_F_SIGNALED : 0), 0);
		assert_int_equal(ce_at(f, index), signaled ? BSN_CE_ALWAYS : BSN_CE_ON_ERROR);
		if (!signaled)
			continue;
		fake_done(f, index, 0);
		assert_int_equal(bsn_poll(f->cq, out, 8), 1);
	}
	assert_int_equal(dv_sq(f->sq)->route.has_hidden, 0);
	fake_destroy(f);
}

/*
 * If a request that the library signaled fails, the error is shown to the user, with the user's id.
 */
static void an_error_is_never_hidden(void **state)
{
	const struct fake_attr attr = { .signal_every = 1 };
	struct fake *f = fake_create(&attr);

	(void)state;
	assert_int_equal(post_blocks(f, 1, 77, 0), 0);
	assert_true(is_hidden(f, 0));
	fake_cqe_err(f, (struct bsn_cqe_err){ .qpn = FAKE_QPN,
					      .opcode = BSN_CQE_REQ_ERR,
					      .syndrome = BSN_SYNDROME_REMOTE_ACCESS });
	assert_int_equal(bsn_poll(f->cq, out, 8), 1);
	assert_int_equal(out[0].id, 77);
	assert_false(is_hidden(f, 0));
	fake_destroy(f);
}

static void unsignaled_work_says_what_it_was_made_to(void **state)
{
	(void)state;
	for (int ce = BSN_CE_ON_ERROR; ce <= BSN_CE_ON_FIRST_ERROR; ce++) {
		const struct fake_attr attr = { .ce_quiet = (enum bsn_ce)ce };
		struct fake *f = fake_create(&attr);

		for (uint32_t blocks = 1; blocks <= 4; blocks++) {
			const uint32_t index = f->sq->pi;
			assert_int_equal(post_blocks(f, blocks, 0, 0), 0);
			assert_int_equal(ce_at(f, index), ce);
		}
		assert_int_equal(post_blocks(f, 1, 0, BSN_F_SIGNALED), 0);
		assert_int_equal(ce_at(f, 10), BSN_CE_ALWAYS);
		fake_destroy(f);
	}
}

/* -- fences, detours, prepared requests -------------------------------------------------------- */

static uint32_t fence_at(const struct fake *f, uint32_t index)
{
	struct bsn_ctrl ctrl;

	bsn_ctrl_decode(&ctrl, f->sq_ring + (index & dv_sq(f->sq)->bb_mask) * BSN_BB_SIZE);
	return ctrl.fence;
}

/*
 * An owed fence goes into the next WQE, whatever it is and whatever call posts it, and only once.
 */
static void a_fence_owed_is_paid_once(void **state)
{
	struct fake *f = fake_create(NULL);
	const struct bsn_wr wr = {
		.sge = many, .sge_count = 1, .remote = remote, .opcode = BSN_OPCODE_RDMA_WRITE
	};
	struct bsn_prepared p;

	(void)state;
	assert_int_equal(post_blocks(f, 1, 0, 0), 0); /* fills `many` */
	assert_int_equal(bsn_prepare(&f->ep, &wr, &p), 0);
	for (unsigned way = 0; way < 4; way++)
		for (int asked = 0; asked < 2; asked++) {
			const unsigned flags = asked ? BSN_F_FENCE : 0;

			fake_seek(f, 3 * way);
			bsn_sq_owe_fence(f->sq, BSN_FENCE_INITIATOR_SMALL);
			if (way == 0)
				assert_int_equal(post_blocks(f, 1, 0, flags), 0);
			else if (way == 1)
				assert_int_equal(post_blocks(f, 2, 0, flags), 0);
			else if (way == 2)
				assert_int_equal(bsn_post_prepared(&f->ep, &p, 0, flags), 0);
			else
				assert_int_equal(bsn_send_inline(&f->ep, "x", 1, 0, flags), 0);
			assert_int_equal(fence_at(f, 3 * way), asked ? BSN_FENCE_SMALL_AND_FENCE
								     : BSN_FENCE_INITIATOR_SMALL);
			const uint32_t next = f->sq->pi;
			assert_true(visible_bb(f->sq) > 0);
			assert_int_equal(post_blocks(f, 1, 0, 0), 0);
			assert_int_equal(fence_at(f, next), BSN_FENCE_NONE);
		}
	fake_destroy(f);
}

/* Whatever counts the room while a fence is owed: a WQE across the ring's end pays it, too. */
static void a_fence_owed_is_paid_across_the_end(void **state)
{
	static const char data[64];

	(void)state;
	for (int counted = 0; counted < 2; counted++) {
		struct fake *f = fake_create(NULL);
		fake_seek(f, 15);
		bsn_sq_owe_fence(f->sq, BSN_FENCE_INITIATOR_SMALL);
		if (counted)
			bsn_sq_refill(f->sq);
		assert_int_equal(bsn_send_inline(&f->ep, data, sizeof(data), 0, 0), 0);
		assert_int_equal(fence_at(f, 15), BSN_FENCE_INITIATOR_SMALL);
		fake_destroy(f);
	}
}

/* Also where the index comes to 2^16. */
static void a_ring_goes_round_at_each_index(void **state)
{
	(void)state;
	for (uint32_t start = UINT16_MAX - 8; start < UINT16_MAX + 2; start++) {
		struct fake *f = fake_create(NULL);
		fake_seek(f, (uint16_t)start);
		for (uint32_t index = start; index < start + 16; index++) {
			struct bsn_ctrl ctrl;
			assert_int_equal(post_blocks(f, 1, index, 0), 0);
			bsn_ctrl_decode(&ctrl, dv_sq(f->sq)->ring + (index & 15) * BSN_BB_SIZE);
			assert_int_equal(ctrl.wqe_index, (uint16_t)index);
			assert_int_equal(ctrl.opmod, 0);
		}
		assert_int_equal(visible_bb(f->sq), 0);
		assert_int_equal(post_blocks(f, 1, 0, 0), -EAGAIN);
		fake_destroy(f);
	}
}

/* A prepared request may be posted to any endpoint, over and over. */
static void a_prepared_request_belongs_to_no_queue(void **state)
{
	struct fake *f = fake_create(NULL), *g = fake_create(NULL);
	const struct bsn_wr wr = { .sge = many,
				   .sge_count = 1,
				   .remote = remote,
				   .opcode = BSN_OPCODE_RDMA_WRITE_IMM,
				   .imm = 0x1234 };
	const struct bsn_ctrl base = { .qpn = 0x42 };
	struct bsn_prepared p, copy;

	(void)state;
	g->sq->ctrl_next = bsn_ctrl_word(&base, 0);
	assert_int_equal(bsn_prepare(&f->ep, &wr, &p), 0);
	copy = p;
	for (uint32_t i = 0; i < 100; i++) {
		struct fake *who = i % 3 ? f : g;
		const uint32_t index = who->sq->pi;
		struct bsn_ctrl ctrl;

		assert_int_equal(bsn_post_prepared(&who->ep, &p, i, BSN_F_SIGNALED), 0);
		bsn_ctrl_decode(&ctrl, who->sq_ring + (index & 15) * BSN_BB_SIZE);
		assert_int_equal(ctrl.qpn, who == f ? FAKE_QPN : 0x42);
		assert_int_equal(ctrl.wqe_index, index);
		assert_int_equal(ctrl.imm, 0x1234);
		fake_done(who, index, 0);
		assert_int_equal(bsn_poll(who->cq, out, 8), 1);
		assert_int_equal(out[0].id, i);
	}
	assert_memory_equal(&p, &copy, sizeof(p));
	fake_destroy(f);
	fake_destroy(g);
}

/* After a reset the queue is as new. */
static void a_cleared_queue_is_new(void **state)
{
	const struct fake_attr attr = { .signal_every = 2 };
	struct fake *f = fake_create(&attr), *fresh = fake_create(&attr);

	(void)state;
	for (uint32_t i = 0; i < 14; i++)
		assert_int_equal(post_blocks(f, 1, i, i % 2 ? BSN_F_RING : 0), 0);
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
	fake_destroy(f);
	fake_destroy(fresh);
}

/* -- what a slot costs, and whose it is -------------------------------------------------------- */

/*
 * Bytes that the library allocates for a queue of @count blocks; 0 under ASan, which does not tell.
 */
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

/*
 * A slot keeps the id, and whether the completion is hidden; with many peers also a user pointer.
 */
static void a_slot_has_nine_bytes_or_seventeen(void **state)
{
	enum { FEW = 64, MANY = 4096, NOISE = 4096 }; /* of malloc's caches */

	(void)state;
	for (int t = BSN_TRANSPORT_RC; t <= BSN_TRANSPORT_DC; t++)
		for (int peers = 0; peers < 2; peers++)
			assert_true(bytes_of_queue((enum bsn_transport)t, peers, MANY) -
					    bytes_of_queue((enum bsn_transport)t, peers, FEW) <=
				    (peers ? 17 : 9) * (MANY - FEW) + NOISE);
}

static void *who_sent(struct fake *f, uint32_t index, uint64_t id)
{
	fake_done(f, index, BSN_OPCODE_SEND);
	assert_int_equal(bsn_poll(f->cq, out, 1), 1);
	assert_int_equal(out[0].id, id);
	return out[0].user;
}

#define WAYS_TO_SEND 7

/* Posts in several ways: one block and several, little inline data and much. */
static void send_by(struct bsn_peer *peer, unsigned way, uint64_t id)
{
	const unsigned flags = BSN_F_SIGNALED | BSN_F_RING;
	const struct bsn_wr wr = { .id = id,
				   .sge = many,
				   .sge_count = 14,
				   .flags = flags,
				   .opcode = BSN_OPCODE_SEND };
	struct bsn_wr few = wr;
	struct bsn_prepared p;
	char data[64] = "by the long way";

	few.sge_count = 1;
	switch (way) {
	case 0:
		assert_int_equal(bsn_send(&peer->ep, many, id, flags), 0);
		break;
	case 1:
		assert_int_equal(bsn_send_sgl(&peer->ep, many, 2, id, flags), 0);
		break;
	case 2:
		assert_int_equal(bsn_send_inline(&peer->ep, data, 3, id, flags), 0);
		break;
	case 3:
		assert_int_equal(bsn_send_inline(&peer->ep, data, 64, id, flags), 0);
		break;
	case 4:
		assert_int_equal(bsn_post(&peer->ep, &wr), 0);
		break;
	case 5:
		assert_int_equal(bsn_send_imm(&peer->ep, many, 7, id, flags), 0);
		break;
	default:
		assert_int_equal(bsn_prepare(&peer->ep, &few, &p), 0);
		assert_int_equal(bsn_post_prepared(&peer->ep, &p, id, flags), 0);
	}
}

/* Each request comes back with the user pointer of its own peer, wherever its id was kept. */
static void a_request_has_its_peers_user(void **state)
{
	enum { MANY = 100 };
	const struct fake_attr attr = {
		.transport = BSN_TRANSPORT_UD, .has_peers = true, .max_ds = 20, .signal_every = 1
	};
	static const uint8_t more[32] __attribute__((aligned(16)));
	struct fake *f = fake_create(&attr);
	struct bsn_peer peers[MANY];
	int user[MANY];

	(void)state;
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
	fake_destroy(f);
}

/*
 * On a queue with one peer, each request comes back with the queue's user pointer, whether or not
 * hidden completions come between.
 */
static void a_request_has_its_queues_user(void **state)
{
	(void)state;
	for (int every = -1; every < 2; every++) {
		const struct fake_attr attr = { .signal_every = every };
		struct fake *f = fake_create(&attr);

		dv_sq(f->sq)->route.hot.user = &f->lane;
		for (uint64_t i = 0; i < 1000; i++) {
			const uint32_t index = f->sq->pi;

			assert_int_equal(post_blocks(f, i % 4 + 1, i, BSN_F_SIGNALED), 0);
			assert_ptr_equal(who_sent(f, index, i), &f->lane);
			if (every < 0)
				continue;
			assert_int_equal(post_blocks(f, 1, i, 0), 0); /* may be hidden */
			if (!is_hidden(f, (uint16_t)(f->sq->pi - 1)))
				continue;
			fake_done(f, (uint16_t)(f->sq->pi - 1), 0);
			assert_int_equal(bsn_poll(f->cq, out, i % 2 ? 1 : 8), 0);
		}
		fake_destroy(f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unsignaled_work_is_never_stuck),
		cmocka_unit_test(who_signals_needs_no_help),
		cmocka_unit_test(an_error_is_never_hidden),
		cmocka_unit_test(unsignaled_work_says_what_it_was_made_to),
		cmocka_unit_test(a_fence_owed_is_paid_once),
		cmocka_unit_test(a_fence_owed_is_paid_across_the_end),
		cmocka_unit_test(a_ring_goes_round_at_each_index),
		cmocka_unit_test(a_prepared_request_belongs_to_no_queue),
		cmocka_unit_test(a_cleared_queue_is_new),
		cmocka_unit_test(a_slot_has_nine_bytes_or_seventeen),
		cmocka_unit_test(a_request_has_its_peers_user),
		cmocka_unit_test(a_request_has_its_queues_user),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
