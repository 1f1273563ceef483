/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How many free blocks a queue has, what gives them back, and what the library signals by itself.
 */
#include <errno.h>
#include <malloc.h>
#include <sched.h>

#include "../wqe/random.h"
#include "fake.h"
#include "sq.h"

static const struct bsn_remote remote = { 0x1000, 2 };
static struct bsn_sge many[14];
static struct bsn_completion out[64];

/* Posts a WRITE of this many blocks, by the short way if there is one. */
static int post_blocks(struct fake *f, uint32_t blocks, uint64_t id, unsigned flags)
{
	const struct bsn_wr wr = { .id = id,
				   .sge = many,
				   .sge_count = blocks == 1 ? 1 : 4 * blocks - 2,
				   .flags = flags,
				   .remote = remote,
				   .opcode = BSN_OPCODE_RDMA_WRITE };

	for (uint32_t i = 0; i < 14; i++)
		many[i] = (struct bsn_sge){ 0x1000, 8, 1 };
	if (blocks == 1)
		return bsn_write(&f->ep, many, &remote, id, flags);
	return bsn_post(&f->ep, &wr);
}

static uint32_t ce_at(const struct fake *f, uint32_t index)
{
	struct bsn_ctrl ctrl;

	bsn_ctrl_decode(&ctrl, f->sq_ring + (index & f->sq->bb_mask) * BSN_BB_SIZE);
	return ctrl.ce;
}

static bool is_hidden(const struct fake *f, uint32_t index)
{
	return f->sq->hidden[index & f->sq->bb_mask] == BSN_HIDDEN_SUCCESS;
}

/* -- full, and free again --------------------------------------------------------------------------- */

static uint32_t ring_for(uint32_t capacity)
{
	uint32_t count = 2;

	while (count < capacity)
		count *= 2;
	return count;
}

/* Every capacity, filled by WQEs of every length: exact, and all of it comes back by one CQE. */
static void a_queue_takes_what_it_has(void **state)
{
	(void)state;
	for (uint32_t capacity = 1; capacity <= 64; capacity++)
		for (uint32_t blocks = 1; blocks <= 4; blocks++) {
			const struct fake_attr attr = { .count_bb = ring_for(capacity),
							.capacity_bb = capacity };
			struct fake *f = fake_create(&attr);

			for (uint32_t round = 0; round < 100; round++) {
				uint32_t used = 0, last = 0;

				for (; used + blocks <= capacity; used += blocks) {
					last = f->sq->pi;
					assert_int_equal(bsn_sq_outstanding_bb(f->sq), used);
					assert_true(bsn_sq_visible_bb(f->sq) <= capacity - used);
					assert_int_equal(post_blocks(f, blocks, last, 0), 0);
				}
				assert_int_equal(post_blocks(f, blocks, 0, 0), -EAGAIN);
				if (!used)
					break;
				assert_int_equal(bsn_ring(&f->sq->ep), 0);
				fake_done(f, last, 0);
				assert_int_equal(bsn_poll(f->cq, out, 8), 1);
				assert_int_equal(out[0].id, last);
			}
			fake_destroy(f);
		}
}

/* A CQE of a request that is not outstanding frees nothing; outstanding requests stay whole. */
static void a_cqe_of_nothing_outstanding_makes_no_room(void **state)
{
	const struct fake_attr attr = { .count_bb = 16, .capacity_bb = 8 };

	(void)state;
	for (uint32_t pi = 0; pi < 16; pi++)
		for (uint32_t index = 0; index < 16; index++) {
			struct fake *f = fake_create(&attr);

			fake_seek(f, pi);
			for (uint32_t i = 0; i < 8; i++)
				assert_int_equal(post_blocks(f, 1, i, BSN_F_RING), 0);
			fake_done(f, pi + 8 + index % 8, BSN_OPCODE_RDMA_WRITE);
			assert_int_equal(bsn_poll(f->cq, out, 8), 1);
			assert_int_equal(post_blocks(f, 1, 0, BSN_F_RING), -EAGAIN);
			assert_int_equal(bsn_sq_outstanding_bb(f->sq), 8);
			fake_done(f, pi + index % 8, BSN_OPCODE_RDMA_WRITE);
			assert_int_equal(bsn_poll(f->cq, out, 8), 1);
			assert_int_equal(bsn_sq_outstanding_bb(f->sq), 7 - index % 8);
			fake_destroy(f);
		}
}

static void a_receive_that_nobody_posted_makes_no_room(void **state)
{
	const struct bsn_sge sge = { 0x1000, 8, 1 };
	struct fake *f = fake_create(&(struct fake_attr){ .recv_count = 8 });

	(void)state;
	for (uint32_t i = 0; i < 8; i++)
		assert_int_equal(bsn_recv(f->rq, &sge, i), 0);
	for (uint32_t i = 0; i < 9; i++)
		fake_cqe_resp(f, (struct bsn_cqe_resp){ .qpn = FAKE_QPN,
							.opcode = BSN_CQE_RESP_SEND,
							.wqe_counter = i % 8 });
	assert_int_equal(bsn_poll(f->cq, out, 16), 9);
	assert_int_equal(bsn_recv(f->rq, &sge, 0), -EAGAIN);
	fake_destroy(f);
}

/* -- taken back -------------------------------------------------------------------------------------- */

/* Appended requests of these lengths are taken back, at each place of the ring; what comes after is whole. */
static void cancel_at(uint32_t pi, uint32_t rung, uint32_t appended, uint32_t blocks, int signal_every)
{
	const struct fake_attr attr = { .count_bb = 16, .signal_every = signal_every };
	struct fake *f = fake_create(&attr);
	uint16_t next;

	fake_seek(f, pi);
	for (uint32_t i = 0; i < rung; i++)
		assert_int_equal(post_blocks(f, 1, i, BSN_F_SIGNALED | BSN_F_RING), 0);
	next = f->sq->pi;
	for (uint32_t i = 0; i < appended; i++)
		assert_int_equal(post_blocks(f, blocks, 90 + i, i % 2 ? BSN_F_SIGNALED : 0), 0);
	assert_int_equal(bsn_cancel(&f->sq->ep), 0);
	assert_int_equal(bsn_sq_outstanding_bb(f->sq), rung);
	assert_int_equal(bsn_ring(&f->sq->ep), 0);
	assert_int_equal(fake_send_record(f), next);
	for (uint32_t i = rung; i < 16; i++)
		assert_int_equal(post_blocks(f, 1, i, BSN_F_SIGNALED), 0);
	assert_int_equal(post_blocks(f, 1, 0, BSN_F_SIGNALED), -EAGAIN);
	assert_int_equal(bsn_ring(&f->sq->ep), 0);
	assert_int_equal(fake_send_record(f), (uint16_t)(pi + 16));
	for (uint32_t i = 0; i < 16; i++)
		fake_done(f, pi + i, BSN_OPCODE_RDMA_WRITE);
	assert_int_equal(bsn_poll(f->cq, out, 32), 16);
	for (uint32_t i = 0; i < 16; i++)
		assert_int_equal(out[i].id, i);
	assert_int_equal(bsn_sq_wide_pi(f->sq), pi + 16);
	fake_destroy(f);
}

static void what_was_appended_may_be_taken_back(void **state)
{
	(void)state;
	for (uint32_t pi = 0; pi < 18; pi++)
		for (uint32_t rung = 0; rung < 8; rung++)
			for (uint32_t blocks = 1; blocks <= 3; blocks++)
				for (uint32_t appended = 0; rung + appended * blocks <= 16; appended++) {
					cancel_at(pi, rung, appended, blocks, 0);
					cancel_at(pi, rung, appended, blocks, 2);
				}
	cancel_at(65530, 3, 6, 2, 1);
}

/*
 * If a request with an owed fence is taken back, the fence is owed again. A UMR cannot be taken
 * back.
 */
static void a_fence_is_owed_again(void **state)
{
	struct fake *f = fake_create(NULL);
	struct bsn_ctrl ctrl;

	(void)state;
	assert_int_equal(post_blocks(f, 1, 0, BSN_F_RING), 0);
	bsn_sq_owe_fence(f->sq, BSN_FENCE_INITIATOR_SMALL);
	for (int round = 0; round < 2; round++) {
		assert_int_equal(post_blocks(f, 1, 1, 0), 0);
		assert_int_equal(post_blocks(f, 1, 2, 0), 0);
		assert_int_equal(bsn_cancel(&f->sq->ep), 0);
	}
	assert_int_equal(post_blocks(f, 1, 3, 0), 0);
	bsn_ctrl_decode(&ctrl, f->sq_ring + BSN_BB_SIZE);
	assert_int_equal(ctrl.fence, BSN_FENCE_INITIATOR_SMALL);
	ctrl.opcode = BSN_OPCODE_UMR;
	bsn_ctrl_encode(f->sq_ring + BSN_BB_SIZE, &ctrl);
	assert_int_equal(bsn_cancel(&f->sq->ep), -EBUSY);
	assert_int_equal(bsn_sq_outstanding_bb(f->sq), 2);
	fake_destroy(f);
	assert_int_equal(bsn_cancel(NULL), -EINVAL);
}

/*
 * WQEs of all lengths follow each other in every order, so that each wraps at each place; every id
 * comes back.
 */
static void a_queue_of_every_depth_goes_round(void **state)
{
	(void)state;
	for (uint32_t depth = 2; depth <= 64; depth++)
		for (uint32_t longest = 1; longest <= 4 && longest <= depth; longest++) {
			const struct fake_attr attr = { .count_bb = ring_for(depth),
							.capacity_bb = depth,
							.cqe_count = 128 };
			struct fake *f = fake_create(&attr);
			uint32_t id = 0, step = 0;

			while (id < 500) {
				uint16_t index[64];
				uint32_t n = 0, used = 0;
				int got = 0;

				while (true) {
					const uint32_t blocks = step++ % longest + 1;
					index[n % 64] = f->sq->pi;
					if (used + blocks > depth)
						break;
					used += blocks;
					assert_int_equal(post_blocks(f, blocks, id + n++,
								     BSN_F_SIGNALED | BSN_F_RING),
							 0);
					assert_int_equal(fake_send_record(f), f->sq->pi);
				}
				assert_int_equal(bsn_sq_outstanding_bb(f->sq), used);
				for (uint32_t i = 0; i < n; i++)
					fake_done(f, index[i], BSN_OPCODE_RDMA_WRITE);
				while (got < (int)n) {
					const int more = bsn_poll(f->cq, out, 7);
					assert_true(more > 0);
					for (int i = 0; i < more; i++, got++)
						assert_int_equal(out[i].id, id + (uint32_t)got);
				}
				assert_int_equal(bsn_sq_outstanding_bb(f->sq), 0);
				id += n;
				step += id % 3;
			}
			fake_destroy(f);
		}
}

/*
 * The CQE of a request in the middle gives back its own blocks and all before it, but none after
 * it.
 */
static void a_cqe_retires_all_before_it(void **state)
{
	struct fake *f = fake_create(NULL);

	(void)state;
	for (uint32_t round = 0; round < 1000; round++) {
		const uint32_t start = f->sq->pi;

		for (uint32_t i = 0; i < 4; i++)
			assert_int_equal(post_blocks(f, i + 1, i, BSN_F_SIGNALED), 0);
		assert_int_equal(bsn_sq_outstanding_bb(f->sq), 10);
		fake_done(f, start + 1, 0); /* the second: 1 + 2 blocks */
		assert_int_equal(bsn_poll(f->cq, out, 8), 1);
		assert_int_equal(out[0].id, 1);
		assert_int_equal(bsn_sq_outstanding_bb(f->sq), 7);
		fake_done(f, start + 6, 0);
		assert_int_equal(bsn_poll(f->cq, out, 8), 1);
		assert_int_equal(bsn_sq_outstanding_bb(f->sq), 0);
	}
	fake_destroy(f);
}

/* -- a long run --------------------------------------------------------------------------------------- */

/* What was posted and not completed, as the device sees it. */
struct posted {
	uint32_t index, blocks;
	uint64_t id;
	bool signaled;
};

struct model {
	struct fake *f;
	struct posted fifo[64];
	unsigned first, count;
	uint32_t used_bb, posted_bb;
	uint64_t next_id;
};

static void model_post(struct model *m)
{
	const uint32_t blocks = (uint32_t)(random_u64() % 4) + 1;
	const bool signaled = random_u64() % 4 == 0;
	const uint32_t index = m->f->sq->pi;
	const int err =
		post_blocks(m->f, blocks, m->next_id,
			    (signaled ? BSN_F_SIGNALED : 0) | (random_u64() % 3 ? BSN_F_RING : 0));

	if (m->used_bb + blocks > m->f->sq->capacity_bb) {
		assert_int_equal(err, -EAGAIN);
		assert_int_equal(m->f->sq->pi, index);
		return;
	}
	assert_int_equal(err, 0);
	m->fifo[(m->first + m->count++) % 64] =
		(struct posted){ (uint16_t)index, blocks, m->next_id++,
				 ce_at(m->f, index) == BSN_CE_ALWAYS };
	if (signaled)
		assert_int_equal(ce_at(m->f, index), BSN_CE_ALWAYS);
	m->used_bb += blocks;
	m->posted_bb += blocks;
}

/* The oldest WQE with a CQE completes; ids tell whether it is the user's. */
static void model_complete(struct model *m, bool users_only)
{
	uint32_t bb = 0;

	bsn_ring(&m->f->sq->ep);
	for (unsigned i = 0; i < m->count; i++) {
		const struct posted *p = &m->fifo[(m->first + i) % 64];
		const bool hidden = is_hidden(m->f, p->index);

		bb += p->blocks;
		if (!p->signaled)
			continue;
		assert_false(hidden && users_only);
		fake_done(m->f, p->index, BSN_OPCODE_RDMA_WRITE);
		assert_int_equal(bsn_poll(m->f->cq, out, 4), !hidden);
		if (!hidden)
			assert_int_equal(out[0].id, p->id);
		m->used_bb -= bb;
		m->first += i + 1;
		m->count -= i + 1;
		return;
	}
}

static void run_long(uint32_t capacity, int signal_every)
{
	const struct fake_attr attr = { .count_bb = 32,
					.capacity_bb = capacity,
					.signal_every = signal_every };
	struct model m = { .f = fake_create(&attr) };

	while (m.next_id < 220000) {
		const uint64_t before = m.next_id;

		for (unsigned i = (unsigned)(random_u64() % 12); i > 0; i--)
			model_post(&m);
		assert_int_equal(bsn_sq_outstanding_bb(m.f->sq), m.used_bb);
		model_complete(&m, signal_every < 0);
		if (signal_every < 0 && m.next_id == before && m.count)
			fake_seek(m.f, m.f->sq->pi), m.count = 0,
						     m.used_bb = 0; /* all unsignaled */
	}
	assert_true(m.posted_bb > 3 * 65536);
	fake_destroy(m.f);
}

static void indices_wrap_in_a_long_run(void **state)
{
	(void)state;
	random_start();
	run_long(32, -1);
	run_long(32, 1);
	run_long(32, 4);
	run_long(29, 1);
	run_long(17, 1);
}

/* -- the library's own signals ----------------------------------------------------------------------- */

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

						f->sq->signal_every = f->sq->quiet =
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
	assert_int_equal(f->sq->route.has_hidden, 0);
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

/* -- fences, detours, prepared requests -------------------------------------------------------------- */

static uint32_t fence_at(const struct fake *f, uint32_t index)
{
	struct bsn_ctrl ctrl;

	bsn_ctrl_decode(&ctrl, f->sq_ring + (index & f->sq->bb_mask) * BSN_BB_SIZE);
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
			assert_true(bsn_sq_visible_bb(f->sq) > 0);
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
			bsn_ctrl_decode(&ctrl, f->sq->ring + (index & 15) * BSN_BB_SIZE);
			assert_int_equal(ctrl.wqe_index, (uint16_t)index);
			assert_int_equal(ctrl.opmod, 0);
		}
		assert_int_equal(bsn_sq_visible_bb(f->sq), 0);
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
	assert_int_equal(f->sq->route.done, fresh->sq->route.done);
	assert_int_equal(f->sq->route.near_ds, fresh->sq->route.near_ds);
	assert_int_equal(f->sq->route.has_hidden, 0);
	assert_int_equal(f->sq->publish, fresh->sq->publish);
	assert_int_equal(f->sq->quiet, fresh->sq->quiet);
	assert_int_equal(f->sq->next_fence, 0);
	assert_int_equal(bsn_sq_count_blueflame(f->sq), 0);
	assert_memory_equal(f->sq->hidden, fresh->sq->hidden, 16);
	assert_int_equal(bsn_sq_outstanding_bb(f->sq), 0);
	fake_destroy(f);
	fake_destroy(fresh);
}

/* -- what a slot costs, and whose it is ---------------------------------------------------------------- */

/*
 * Bytes that the library allocates for a queue of @count blocks; 0 under ASan, which does not tell.
 */
static size_t bytes_of_queue(enum bsn_transport transport, bool has_peers, uint32_t count)
{
	struct bsn_be32 record[2];
	struct bsn_lane lane = { .reg = NULL };
	const struct bsn_sq_init init = { .record = record,
					  .lane = &lane,
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

		f->sq->route.user = &f->lane;
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

/* -- what was counted --------------------------------------------------------------------------------- */

/* Each block and each doorbell is counted once, whatever call posts them. */
static void blocks_and_doorbells_are_counted(void **state)
{
	(void)state;
	for (enum bsn_store s = BSN_STORE_8; s < BSN_STORE_COUNT; s++)
		for (int locked = 0; locked < 2; locked++) {
			const struct fake_attr attr = { .store = s, .locked = locked, .count_bb = 64 };
			const bool rings = s == BSN_STORE_DOORBELL;
			struct fake *f;

			if (!bsn_store_supported(s))
				continue;
			f = fake_create(&attr);
			for (int i = 0; i < 3; i++)
				assert_int_equal(post_blocks(f, 1, 0, BSN_F_RING), 0);
			assert_int_equal(post_blocks(f, 4, 0, BSN_F_RING), 0);
			assert_int_equal(bsn_write_sgl(&f->ep, many, 3, &remote, 0, BSN_F_RING), 0);
			assert_int_equal(bsn_sq_count_blueflame(f->sq), rings ? 0 : 3 + 4 + 2);
			assert_int_equal(f->sq->count_doorbells, rings ? 5 : 0);
			for (int i = 0; i < 5; i++)
				assert_int_equal(post_blocks(f, 1, 0, 0), 0);
			assert_int_equal(bsn_sq_count_blueflame(f->sq), rings ? 0 : 3 + 4 + 2);
			assert_int_equal(bsn_ring(&f->sq->ep), 0);
			assert_int_equal(bsn_sq_count_blueflame(f->sq), rings ? 0 : 3 + 4 + 2);
			assert_int_equal(f->sq->count_doorbells, rings ? 6 : 1);
			fake_destroy(f);
		}
}

/* -- two threads --------------------------------------------------------------------------------------- */

#define POSTS 100000u

/*
 * One thread posts; the other is device and poller. Only `posted` synchronises the second thread
 * with the first; the way back is the queue's own. If that is too weak, TSan sees it, and on a
 * machine that reorders, ids are wrong.
 */
struct pair {
	struct fake *f;
	uint32_t index[POSTS]; /* of each WQE; its id is its place here */
	bool signaled[POSTS];
	uint32_t posted; /* atomic */
	uint32_t over;   /* atomic: nobody polls any more */
	uint32_t hidden_seen;
};

static const char *poll_posts(struct pair *p)
{
	struct bsn_completion c[4];
	uint32_t seen = 0, expected = 0;

	while (seen < POSTS) {
		const uint32_t posted = __atomic_load_n(&p->posted, __ATOMIC_ACQUIRE);

		if (posted == seen) {
			sched_yield();
			continue;
		}
		for (; seen < posted; seen++) {
			int n;

			if (!p->signaled[seen] && !is_hidden(p->f, p->index[seen]))
				continue;
			fake_done(p->f, p->index[seen], 0);
			n = bsn_poll(p->f->cq, c, 4);
			if (n != p->signaled[seen] || (n && c[0].id != seen))
				return "a wrong completion";
			p->hidden_seen += !n;
			expected += (unsigned)n;
		}
	}
	return expected ? NULL : "no completion at all";
}

static void *poll_all(void *arg)
{
	struct pair *p = arg;
	const char *complaint = poll_posts(p);

	__atomic_store_n(&p->over, 1, __ATOMIC_RELAXED);
	return (void *)(uintptr_t)complaint;
}

static void post_all(struct pair *p)
{
	for (uint32_t i = 0; i < POSTS; i++) {
		const bool signaled = random_u64() % 16 == 0;

		p->index[i] = p->f->sq->pi;
		p->signaled[i] = signaled;
		while (post_blocks(p->f, i % 7 ? 1 : 3, i, signaled ? BSN_F_SIGNALED : 0) ==
		       -EAGAIN)
			sched_yield();
		__atomic_store_n(&p->posted, i + 1, __ATOMIC_RELEASE);
	}
}

static void poster_and_poller_are_two_threads(void **state)
{
	const struct fake_attr attr = { .count_bb = 64, .signal_every = 8, .spare = 16 };
	struct pair *p = calloc(1, sizeof(*p));
	void *complaint = NULL;
	pthread_t poller;

	(void)state;
	random_start();
	assert_non_null(p);
	p->f = fake_create(&attr);
	assert_int_equal(pthread_create(&poller, NULL, poll_all, p), 0);
	post_all(p);
	pthread_join(poller, &complaint);
	if (complaint)
		fail_msg("%s", (const char *)complaint);
	assert_true(p->hidden_seen > 0);
	fake_destroy(p->f);
	free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_queue_takes_what_it_has),
		cmocka_unit_test(a_queue_of_every_depth_goes_round),
		cmocka_unit_test(a_cqe_of_nothing_outstanding_makes_no_room),
		cmocka_unit_test(a_receive_that_nobody_posted_makes_no_room),
		cmocka_unit_test(what_was_appended_may_be_taken_back),
		cmocka_unit_test(a_fence_is_owed_again),
		cmocka_unit_test(a_cqe_retires_all_before_it),
		cmocka_unit_test(indices_wrap_in_a_long_run),
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
		cmocka_unit_test(blocks_and_doorbells_are_counted),
		cmocka_unit_test(poster_and_poller_are_two_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
