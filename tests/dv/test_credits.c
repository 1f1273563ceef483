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
					assert_true(visible_bb(f->sq) <= capacity - used);
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

/* -- taken back -------------------------------------------------------------------------------- */

/* Appended requests are taken back at each place of the ring; what is posted next is whole. */
static void cancel_at(uint32_t pi, uint32_t rung, uint32_t appended, uint32_t blocks,
		      int signal_every)
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
				for (uint32_t appended = 0; rung + appended * blocks <= 16;
				     appended++) {
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

/* -- what was counted -------------------------------------------------------------------------- */

/* Each block and each doorbell is counted once, whatever call posts them. */
static void blocks_and_doorbells_are_counted(void **state)
{
	(void)state;
	for (enum bsn_store s = BSN_STORE_8; s < BSN_STORE_COUNT; s++)
		for (int locked = 0; locked < 2; locked++) {
			const struct fake_attr attr = { .store = s,
							.locked = locked,
							.count_bb = 64 };
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
			assert_int_equal(dv_sq(f->sq)->count_doorbells, rings ? 5 : 0);
			for (int i = 0; i < 5; i++)
				assert_int_equal(post_blocks(f, 1, 0, 0), 0);
			assert_int_equal(bsn_sq_count_blueflame(f->sq), rings ? 0 : 3 + 4 + 2);
			assert_int_equal(bsn_ring(&f->sq->ep), 0);
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
		cmocka_unit_test(blocks_and_doorbells_are_counted),
		cmocka_unit_test(poster_and_poller_are_two_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
