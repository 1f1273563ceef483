/* SPDX-License-Identifier: BSD-2-Clause */
/* How many free blocks a queue has, and what gives them back. */
#include <sched.h>

#include "../wqe/random.h"
#include "credits.h"

/* -- full, and free again ---------------------------------------------------------------------- */

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
	for (uint32_t capacity = 1; capacity <= 64; capacity++)
		for (uint32_t blocks = 1; blocks <= 4; blocks++) {
			OWNED struct fake *f =
				FAKE(.count_bb = ring_for(capacity), .capacity_bb = capacity);

			for (uint32_t round = 0; round < 100; round++) {
				uint32_t used = 0, last = 0;
				for (; used + blocks <= capacity; used += blocks) {
					last = f->sq->pi;
					assert_int_equal(bsn_sq_outstanding_bb(f->sq), used);
					assert_true(visible_bb(f->sq) <= capacity - used);
					ok(post_blocks(f, blocks, last, 0));
				}
				assert_int_equal(post_blocks(f, blocks, 0, 0), -EAGAIN);
				if (!used)
					break;
				ok(bsn_ring(&f->sq->ep));
				fake_done(f, last, 0);
				poll_one(f, 8, last);
			}
		}
}

/* A CQE of a request that is not outstanding frees nothing; outstanding requests stay whole. */
static void a_cqe_of_nothing_outstanding_makes_no_room(void **state)
{
	for (uint32_t pi = 0; pi < 16; pi++)
		for (uint32_t index = 0; index < 16; index++) {
			OWNED struct fake *f = FAKE(.count_bb = 16, .capacity_bb = 8);
			fake_seek(f, pi);
			for (uint32_t i = 0; i < 8; i++)
				ok(post_blocks(f, 1, i, BSN_F_RING));
			fake_done(f, pi + 8 + index % 8, BSN_OPCODE_RDMA_WRITE);
			assert_int_equal(bsn_poll(f->cq, out, 8), 1);
			assert_int_equal(post_blocks(f, 1, 0, BSN_F_RING), -EAGAIN);
			assert_int_equal(bsn_sq_outstanding_bb(f->sq), 8);
			fake_done(f, pi + index % 8, BSN_OPCODE_RDMA_WRITE);
			assert_int_equal(bsn_poll(f->cq, out, 8), 1);
			assert_int_equal(bsn_sq_outstanding_bb(f->sq), 7 - index % 8);
		}
}

static void a_receive_that_nobody_posted_makes_no_room(void **state)
{
	const struct bsn_sge sge = { 0x1000, 8, 1 };
	OWNED struct fake *f = FAKE(.recv_count = 8);

	for (uint32_t i = 0; i < 8; i++)
		ok(bsn_recv(f->rq, &sge, i));
	for (uint32_t i = 0; i < 9; i++)
		fake_resp(f, .opcode = BSN_CQE_RESP_SEND, .wqe_counter = i % 8);
	assert_int_equal(bsn_poll(f->cq, out, 16), 9);
	assert_int_equal(bsn_recv(f->rq, &sge, 0), -EAGAIN);
}

/* -- taken back -------------------------------------------------------------------------------- */

/* Appended requests are taken back at each place of the ring; what is posted next is whole. */
static void cancel_at(uint32_t pi, uint32_t rung, uint32_t appended, uint32_t blocks,
		      int signal_every)
{
	OWNED struct fake *f = FAKE(.count_bb = 16, .signal_every = signal_every);
	uint16_t next;

	fake_seek(f, pi);
	for (uint32_t i = 0; i < rung; i++)
		ok(post_blocks(f, 1, i, BSN_F_SIGNALED | BSN_F_RING));
	next = f->sq->pi;
	for (uint32_t i = 0; i < appended; i++)
		ok(post_blocks(f, blocks, 90 + i, i % 2 ? BSN_F_SIGNALED : 0));
	ok(bsn_cancel(&f->sq->ep));
	assert_int_equal(bsn_sq_outstanding_bb(f->sq), rung);
	ok(bsn_ring(&f->sq->ep));
	assert_int_equal(fake_send_record(f), next);
	for (uint32_t i = rung; i < 16; i++)
		ok(post_blocks(f, 1, i, BSN_F_SIGNALED));
	assert_int_equal(post_blocks(f, 1, 0, BSN_F_SIGNALED), -EAGAIN);
	ok(bsn_ring(&f->sq->ep));
	assert_int_equal(fake_send_record(f), (uint16_t)(pi + 16));
	for (uint32_t i = 0; i < 16; i++)
		fake_done(f, pi + i, BSN_OPCODE_RDMA_WRITE);
	poll_several(f, 32, 0, 16);
	assert_int_equal(bsn_sq_wide_pi(f->sq), pi + 16);
}

static void what_was_appended_may_be_taken_back(void **state)
{
	for (uint32_t pi = 0; pi < 18; pi++)
		for (uint32_t rung = 0; rung < 8; rung++)
			for (uint32_t blocks = 1; blocks <= 3; blocks++)
				for (uint32_t appended = 0; rung + appended * blocks <= 16;
				     appended++) {
					cancel_at(pi, rung, appended, blocks, 0);
					cancel_at(pi, rung, appended, blocks, 2);
				}
	cancel_at(65530, 3, 6, 2, 1);
}

/* A request that is taken back owes its fence again. A UMR cannot be taken back. */
static void a_fence_is_owed_again(void **state)
{
	OWNED struct fake *f = fake_create(NULL);
	struct bsn_ctrl ctrl;

	ok(post_blocks(f, 1, 0, BSN_F_RING));
	bsn_sq_owe_fence(f->sq, BSN_FENCE_INITIATOR_SMALL);
	for (int round = 0; round < 2; round++) {
		ok(post_blocks(f, 1, 1, 0));
		ok(post_blocks(f, 1, 2, 0));
		ok(bsn_cancel(&f->sq->ep));
	}
	ok(post_blocks(f, 1, 3, 0));
	ctrl = ctrl_at(f, 1);
	assert_int_equal(ctrl.fence, BSN_FENCE_INITIATOR_SMALL);
	ctrl.opcode = BSN_OPCODE_UMR;
	bsn_ctrl_encode(f->sq_ring + BSN_BB_SIZE, &ctrl);
	assert_int_equal(bsn_cancel(&f->sq->ep), -EBUSY);
	assert_int_equal(bsn_sq_outstanding_bb(f->sq), 2);
	assert_int_equal(bsn_cancel(NULL), -EINVAL);
}

/* WQEs of all lengths follow each other in every order, and wrap everywhere. */
static void a_queue_of_every_depth_goes_round(void **state)
{
	for (uint32_t depth = 2; depth <= 64; depth++)
		for (uint32_t longest = 1; longest <= 4 && longest <= depth; longest++) {
			OWNED struct fake *f = FAKE(.count_bb = ring_for(depth),
						    .capacity_bb = depth, .cqe_count = 128);
			uint32_t id = 0, step = 0;

			while (id < 500) {
				uint16_t index[64];
				uint32_t n = 0, used = 0;

				while (true) {
					const uint32_t blocks = step++ % longest + 1;
					index[n % 64] = f->sq->pi;
					if (used + blocks > depth)
						break;
					used += blocks;
					ok(post_blocks(f, blocks, id + n++,
						       BSN_F_SIGNALED | BSN_F_RING));
					assert_int_equal(fake_send_record(f), f->sq->pi);
				}
				assert_int_equal(bsn_sq_outstanding_bb(f->sq), used);
				for (uint32_t i = 0; i < n; i++)
					fake_done(f, index[i], BSN_OPCODE_RDMA_WRITE);
				poll_several(f, 7, id, n);
				assert_int_equal(bsn_sq_outstanding_bb(f->sq), 0);
				id += n;
				step += id % 3;
			}
		}
}

/* A CQE gives back its request's blocks and all before them, but none after them. */
static void a_cqe_retires_all_before_it(void **state)
{
	OWNED struct fake *f = fake_create(NULL);

	for (uint32_t round = 0; round < 1000; round++) {
		const uint32_t start = f->sq->pi;
		for (uint32_t i = 0; i < 4; i++)
			ok(post_blocks(f, i + 1, i, BSN_F_SIGNALED));
		assert_int_equal(bsn_sq_outstanding_bb(f->sq), 10);
		fake_done(f, start + 1, 0); /* the second: 1 + 2 blocks */
		poll_one(f, 8, 1);
		assert_int_equal(bsn_sq_outstanding_bb(f->sq), 7);
		fake_done(f, start + 6, 0);
		assert_int_equal(bsn_poll(f->cq, out, 8), 1);
		assert_int_equal(bsn_sq_outstanding_bb(f->sq), 0);
	}
}

/* -- a long run -------------------------------------------------------------------------------- */

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

	if (m->used_bb + blocks > dv_sq(m->f->sq)->capacity_bb) {
		assert_int_equal(err, -EAGAIN);
		assert_int_equal(m->f->sq->pi, index);
		return;
	}
	assert_int_equal(err, 0);
	m->fifo[(m->first + m->count++) % 64] =
		(struct posted){ (uint16_t)index, blocks, m->next_id++,
				 ctrl_at(m->f, index).ce == BSN_CE_ALWAYS };
	if (signaled)
		assert_int_equal(ctrl_at(m->f, index).ce, BSN_CE_ALWAYS);
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
	struct model m = { .f = FAKE(.count_bb = 32, .capacity_bb = capacity,
				     .signal_every = signal_every) };

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
	random_start();
	run_long(32, -1);
	run_long(32, 1);
	run_long(32, 4);
	run_long(29, 1);
	run_long(17, 1);
}

/* -- what was counted -------------------------------------------------------------------------- */

/* Each block and each doorbell is counted once, whatever call posts them. */
static void blocks_and_doorbells_are_counted(void **state)
{
	for (enum bsn_store s = BSN_STORE_8; s < BSN_STORE_COUNT; s++)
		for (int locked = 0; locked < 2; locked++) {
			const bool rings = s == BSN_STORE_DOORBELL;
			struct fake *f;

			if (!bsn_store_supported(s))
				continue;
			f = FAKE(.store = s, .locked = locked, .count_bb = 64);
			for (int i = 0; i < 3; i++)
				ok(post_blocks(f, 1, 0, BSN_F_RING));
			ok(post_blocks(f, 4, 0, BSN_F_RING));
			ok(bsn_write_sgl(&f->ep, many, 3, &remote, 0, BSN_F_RING));
			assert_int_equal(bsn_sq_count_blueflame(f->sq), rings ? 0 : 3 + 4 + 2);
			assert_int_equal(dv_sq(f->sq)->count_doorbells, rings ? 5 : 0);
			for (int i = 0; i < 5; i++)
				ok(post_blocks(f, 1, 0, 0));
			assert_int_equal(bsn_sq_count_blueflame(f->sq), rings ? 0 : 3 + 4 + 2);
			ok(bsn_ring(&f->sq->ep));
			assert_int_equal(bsn_sq_count_blueflame(f->sq), rings ? 0 : 3 + 4 + 2);
			assert_int_equal(dv_sq(f->sq)->count_doorbells, rings ? 6 : 1);
			fake_destroy(f);
		}
}

/* -- two threads ------------------------------------------------------------------------------- */

#define POSTS 100000u

/*
 * One thread posts; the other is device and poller. Only `posted` synchronises the second thread
 * with the first; the way back is the queue's own. If that is too weak, TSan sees it, and on a
 * machine that reorders, ids are wrong.
 */
static struct {
	struct fake *f;
	uint32_t index[POSTS]; /* of each WQE; its id is its place here */
	bool signaled[POSTS];
	uint32_t posted; /* atomic */
	uint32_t hidden_seen;
} p;

/* Returns what is wrong, or NULL. */
static void *poll_posts(void *arg)
{
	struct bsn_completion c[4];
	uint32_t seen = 0, expected = 0;

	while (seen < POSTS) {
		const uint32_t posted = __atomic_load_n(&p.posted, __ATOMIC_ACQUIRE);
		if (posted == seen)
			sched_yield();
		for (; seen < posted; seen++) {
			int n;
			if (!p.signaled[seen] && !is_hidden(p.f, p.index[seen]))
				continue;
			fake_done(p.f, p.index[seen], 0);
			n = bsn_poll(p.f->cq, c, 4);
			if (n != p.signaled[seen] || (n && c[0].id != seen))
				return (char *)"a wrong completion";
			p.hidden_seen += !n;
			expected += (unsigned)n;
		}
	}
	return expected ? NULL : (char *)"no completion at all";
}

static void post_all(void)
{
	for (uint32_t i = 0; i < POSTS; i++) {
		const unsigned flags = random_u64() % 16 ? 0 : BSN_F_SIGNALED;
		p.index[i] = p.f->sq->pi;
		p.signaled[i] = flags;
		while (post_blocks(p.f, i % 7 ? 1 : 3, i, flags) == -EAGAIN)
			sched_yield();
		__atomic_store_n(&p.posted, i + 1, __ATOMIC_RELEASE);
	}
}

static void poster_and_poller_are_two_threads(void **state)
{
	void *complaint = NULL;
	pthread_t poller;

	random_start();
	p.f = FAKE(.count_bb = 64, .signal_every = 8, .spare = 16);
	ok(pthread_create(&poller, NULL, poll_posts, NULL));
	post_all();
	pthread_join(poller, &complaint);
	if (complaint)
		fail_msg("%s", (const char *)complaint);
	assert_true(p.hidden_seen > 0);
	fake_destroy(p.f);
}

UNIT_MAIN(NULL, UNIT(a_queue_takes_what_it_has), UNIT(a_queue_of_every_depth_goes_round),
	  UNIT(a_cqe_of_nothing_outstanding_makes_no_room),
	  UNIT(a_receive_that_nobody_posted_makes_no_room),
	  UNIT(what_was_appended_may_be_taken_back), UNIT(a_fence_is_owed_again),
	  UNIT(a_cqe_retires_all_before_it), UNIT(indices_wrap_in_a_long_run),
	  UNIT(blocks_and_doorbells_are_counted), UNIT(poster_and_poller_are_two_threads))
