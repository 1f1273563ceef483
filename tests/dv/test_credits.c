/* SPDX-License-Identifier: BSD-2-Clause */
/* How many blocks a queue has free, who gives them back, and what the library signals by itself. */
#include <errno.h>
#include <malloc.h>
#include <sched.h>

#include "../wqe/random.h"
#include "fake.h"
#include "users.h"

static const struct bsn_remote remote = { 0x1000, 2 };
static struct bsn_sge many[14];
static struct bsn_completion out[64];

/* A WRITE of so many blocks, by the short way where there is one. */
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
	return f->sq->marks[index & f->sq->poller_mask] & BSN_MARK_HIDDEN;
}

/* -- full, and free again --------------------------------------------------------------------------- */

/* Every capacity, filled by WQEs of every length: exact, and all of it comes back by one CQE. */
static void a_queue_takes_what_it_has(void **state)
{
	(void)state;
	for (uint32_t capacity = 1; capacity <= 16; capacity++)
		for (uint32_t blocks = 1; blocks <= 4; blocks++) {
			const struct fake_attr attr = { .capacity_bb = capacity };
			struct fake *f = fake_create(&attr);

			for (uint32_t round = 0; round < 100; round++) {
				uint32_t used = 0, last = 0;

				for (; used + blocks <= capacity; used += blocks) {
					last = f->sq->pi;
					assert_int_equal(bsn_sq_outstanding_bb(f->sq), used);
					assert_int_equal(post_blocks(f, blocks, last, 0), 0);
				}
				assert_int_equal(post_blocks(f, blocks, 0, 0), -EAGAIN);
				if (!used)
					break;
				fake_done(f, last, 0);
				assert_int_equal(bsn_poll(f->cq, out, 8), 1);
				assert_int_equal(out[0].id, last);
			}
			fake_destroy(f);
		}
}

/* A CQE of one in the middle gives back all before it, and its own blocks, and none behind it. */
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
	uint32_t used_bb;
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
}

/* The oldest WQE with a CQE completes; ids tell whether it is the user's. */
static void model_complete(struct model *m, bool users_only)
{
	uint32_t bb = 0;

	bsn_ring(m->f->sq);
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
	assert_true(m.f->sq->pi > 3 * 65536);
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
 * Whoever never signals is never stuck, whatever the depth, the length of the WQEs and the wish; and
 * no completion comes out of it.
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
						uint32_t scanned = 0;

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
	assert_int_equal(f->sq->has_hidden, 0);
	fake_destroy(f);
}

/* An error of what the library signaled is the user's all the same, with his id. */
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

/* What is owed is paid by the next WQE, whatever it is and by whatever way, and only once. */
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
			f->sq->next_fence = BSN_FENCE_INITIATOR_SMALL;
			f->sq->limit = f->sq->pi;
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
			assert_int_not_equal(f->sq->limit, next);
			assert_int_equal(post_blocks(f, 1, 0, 0), 0);
			assert_int_equal(fence_at(f, next), BSN_FENCE_NONE);
		}
	fake_destroy(f);
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
	g->sq->ctrl_base = bsn_ctrl_word(&base, 0);
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

/* An endpoint without a queue, or whose queue is behind a detour. */
static void a_detour_leads_to_the_queue(void **state)
{
	struct fake *f = fake_create(NULL);
	struct bsn_ep ep = { .sq = &bsn_sq_detour, .bound = f->sq };
	const struct bsn_sge sge = { 0x1000, 8, 1 };

	(void)state;
	for (uint32_t i = 0; i < 15; i++)
		assert_int_equal(bsn_write(&ep, &sge, &remote, i, BSN_F_SIGNALED | BSN_F_RING), 0);
	assert_int_equal(f->sq->pi, 15);
	assert_int_equal(bsn_fetch_add(&ep, &sge, &remote, 1, 15, 0), 0);
	assert_int_equal(bsn_write_inline(&ep, "x", 1, &remote, 0, 0), -EAGAIN);
	assert_int_equal(f->sq->count_full, 1);
	ep.bound = NULL;
	assert_int_equal(bsn_write(&ep, &sge, &remote, 0, 0), -EINVAL);
	assert_int_equal(bsn_write_inline(&ep, "x", 1, &remote, 0, 0), -EINVAL);
	assert_int_equal(bsn_cmp_swap(&ep, &sge, &remote, 1, 2, 0, 0), -EINVAL);
	fake_destroy(f);
}

/* After a reset everything is as on the first day. */
static void a_cleared_queue_is_new(void **state)
{
	const struct fake_attr attr = { .signal_every = 2 };
	struct fake *f = fake_create(&attr), *fresh = fake_create(&attr);

	(void)state;
	for (uint32_t i = 0; i < 14; i++)
		assert_int_equal(post_blocks(f, 1, i, i % 2 ? BSN_F_RING : 0), 0);
	fake_done(f, 3, 0);
	bsn_poll(f->cq, out, 8);
	f->sq->next_fence = BSN_FENCE_INITIATOR_SMALL;
	memset(f->record, 0, sizeof(f->record)); /* as libmlx5 does */
	bsn_sq_clear(f->sq);
	assert_int_equal(f->sq->pi, 0);
	assert_int_equal(f->sq->limit, fresh->sq->limit);
	assert_int_equal(f->sq->done, fresh->sq->done);
	assert_int_equal(f->sq->ring_slow, fresh->sq->ring_slow);
	assert_int_equal(f->sq->quiet, fresh->sq->quiet);
	assert_int_equal(f->sq->next_fence, 0);
	assert_int_equal(bsn_sq_count_blueflame(f->sq), 0);
	assert_memory_equal(f->sq->marks, fresh->sq->marks, 16 * sizeof(*f->sq->marks));
	assert_int_equal(bsn_sq_outstanding_bb(f->sq), 0);
	fake_destroy(f);
	fake_destroy(fresh);
}

/* -- what a slot costs, and whose it is ---------------------------------------------------------------- */

/* Of whatever the library allocates for a queue of @count blocks; 0 under ASan, which does not tell. */
static size_t bytes_of_queue(enum bsn_transport transport, uint32_t count)
{
	struct bsn_be32 record[2];
	struct bsn_lane lane = { .reg = NULL };
	const struct bsn_sq_init init = { .record = record,
					  .lane = &lane,
					  .count_bb = count,
					  .capacity_bb = count,
					  .max_ds = 4,
					  .transport = transport,
					  .store = BSN_STORE_8 };
	const size_t before = mallinfo2().uordblks;
	struct bsn_sq *sq = bsn_sq_alloc(&init);
	const size_t bytes = mallinfo2().uordblks - before;

	assert_non_null(sq);
	bsn_sq_free(sq);
	return bytes;
}

static void a_slot_has_twelve_bytes_on_every_transport(void **state)
{
	enum { FEW = 64, MANY = 8192, NOISE = 4096 }; /* of malloc's caches */

	(void)state;
	for (int t = BSN_TRANSPORT_RC; t <= BSN_TRANSPORT_DC; t++)
		assert_true(bytes_of_queue(t, MANY) - bytes_of_queue(t, FEW) <=
			    12 * (MANY - FEW) + NOISE);
}

static void send_by(struct fake *f, uint32_t number, uint64_t id)
{
	struct bsn_ep ep = { .sq = f->sq, .bound = f->sq, .number = number };

	assert_int_equal(bsn_send_inline(&ep, "by the long way", 15, id, BSN_F_SIGNALED), 0);
	assert_int_equal(f->sq->marks[(f->sq->pi - 1) & f->sq->bb_mask], number);
}

static void *who_sent(struct fake *f, uint32_t index)
{
	fake_done(f, index, BSN_OPCODE_SEND);
	assert_int_equal(bsn_poll(f->cq, out, 1), 1);
	return out[0].user;
}

/* Numbers are used again, tables grow under outstanding requests, and each knows whose it is. */
static void a_request_has_its_endpoints_user(void **state)
{
	enum { MANY = 1000 };
	const struct fake_attr attr = { .transport = BSN_TRANSPORT_UD, .signal_every = 1 };
	struct fake *f = fake_create(&attr);
	uint32_t number[MANY], again;
	int user[MANY], other;

	(void)state;
	for (uint32_t i = 0; i < MANY; i++) {
		const uint32_t index = f->sq->pi;
		assert_int_equal(bsn_sq_add_user(f->sq, &user[i], &number[i]), 0);
		send_by(f, number[i], i);
		send_by(f, number[i / 2], i);
		assert_ptr_equal(who_sent(f, index), &user[i]);
		assert_ptr_equal(who_sent(f, index + 1), &user[i / 2]);
	}
	for (uint32_t i = 0; i < MANY; i += 3)
		bsn_sq_drop_user(f->sq, number[i]);
	for (uint32_t i = 0; i < MANY; i += 3) {
		assert_int_equal(bsn_sq_add_user(f->sq, &other, &again), 0);
		assert_int_equal(again % 3, 0);
		assert_true(again < MANY);
	}
	for (uint32_t i = 0; i < MANY; i++) {
		const uint32_t index = f->sq->pi;
		send_by(f, number[i], i);
		assert_ptr_equal(who_sent(f, index), i % 3 ? &user[i] : &other);
	}
	fake_destroy(f);
}

/* -- what was counted --------------------------------------------------------------------------------- */

static void copies_and_doorbells_are_counted(void **state)
{
	(void)state;
	for (int locked = 0; locked < 2; locked++) {
		const struct fake_attr attr = { .locked = locked, .count_bb = 64 };
		struct fake *f = fake_create(&attr);

		for (int i = 0; i < 3; i++)
			assert_int_equal(post_blocks(f, 1, 0, BSN_F_RING), 0);
		assert_int_equal(post_blocks(f, 4, 0, BSN_F_RING), 0);
		for (int i = 0; i < 5; i++)
			assert_int_equal(post_blocks(f, 1, 0, 0), 0);
		assert_int_equal(bsn_sq_count_blueflame(f->sq), 4 + 5); /* not yet told apart */
		assert_int_equal(bsn_ring(f->sq), 0);
		assert_int_equal(bsn_sq_count_blueflame(f->sq), 4);
		assert_int_equal(f->sq->count_doorbells, 1);
		fake_destroy(f);
	}
}

/* -- two threads --------------------------------------------------------------------------------------- */

#define POSTS 100000u

/*
 * One thread posts; the other is device and poller. The way from the first to the second is `posted`
 * alone, the way back is the queue's own: where it is too weak, TSan sees it, and on a machine that
 * reorders ids go astray.
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
	assert_true(p->f->sq->pi > 65536);
	fake_destroy(p->f);
	free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_queue_takes_what_it_has),
		cmocka_unit_test(a_cqe_retires_all_before_it),
		cmocka_unit_test(indices_wrap_in_a_long_run),
		cmocka_unit_test(unsignaled_work_is_never_stuck),
		cmocka_unit_test(who_signals_needs_no_help),
		cmocka_unit_test(an_error_is_never_hidden),
		cmocka_unit_test(unsignaled_work_says_what_it_was_made_to),
		cmocka_unit_test(a_fence_owed_is_paid_once),
		cmocka_unit_test(a_prepared_request_belongs_to_no_queue),
		cmocka_unit_test(a_detour_leads_to_the_queue),
		cmocka_unit_test(a_cleared_queue_is_new),
		cmocka_unit_test(a_slot_has_twelve_bytes_on_every_transport),
		cmocka_unit_test(a_request_has_its_endpoints_user),
		cmocka_unit_test(copies_and_doorbells_are_counted),
		cmocka_unit_test(poster_and_poller_are_two_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
