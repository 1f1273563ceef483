/* SPDX-License-Identifier: BSD-2-Clause */
/* Credits, batches, rings that wrap, requests without completions. */
#include "engine.h" /* before cmocka, which has a fail() of its own */
#include "harness.h"

#include <pthread.h>
#include <sched.h>

enum { DEPTH = 8, LENGTH = 16 };

/* Writes of LENGTH bytes, the n-th from and to its own place. */
static int post_write(struct bench *b, uint32_t n, unsigned flags)
{
	return bench_write(b, (size_t)n * LENGTH % BENCH_BYTES, LENGTH, n, flags);
}

static void assert_written(struct bench *b, uint32_t first, uint32_t count)
{
	for (uint32_t n = first; n < first + count; n++) {
		const size_t offset = (size_t)n * LENGTH % BENCH_BYTES;
		assert_memory_equal(bench_at(b, 1, offset), bench_at(b, 0, offset), LENGTH);
	}
}

/* Of requests that take one block. */
static uint32_t send_depth(struct bench *b)
{
	return bsn_qp_info(b->qp[0])->short_sends;
}

/* -- publishing -------------------------------------------------------------------------------- */

static void nothing_happens_before_the_ring(struct bench *b)
{
	for (uint32_t n = 0; n < DEPTH; n++)
		ok(post_write(b, n, BSN_F_SIGNALED));
	assert_int_equal(bench_outstanding(b, 0).sends, DEPTH);
	expect_nothing(b, b->cq[0]);
	assert_int_equal(*bench_at(b, 1, 0), 0);
	ok(bsn_ring(b->ep[0]));
	for (uint32_t n = 0; n < DEPTH; n++)
		expect_done(b, b->cq[0], n, BSN_OPCODE_RDMA_WRITE);
	assert_written(b, 0, DEPTH);
	assert_int_equal(bench_outstanding(b, 0).sends, 0);
	ok(bsn_ring(b->ep[0]));
	expect_nothing(b, b->cq[0]);
}

static void a_ringing_post_publishes_what_was_before(struct bench *b)
{
	ok(post_write(b, 0, BSN_F_SIGNALED));
	ok(post_write(b, 1, BSN_F_SIGNALED));
	ok(post_write(b, 2, NOW));
	for (uint32_t n = 0; n < 3; n++)
		expect_done(b, b->cq[0], n, BSN_OPCODE_RDMA_WRITE);
	assert_written(b, 0, 3);
}

/* Requests of one to three blocks, so that they end and begin everywhere in the ring. */
static void rings_come_round(struct bench *b)
{
	const uint32_t rounds = 40 * send_depth(b);
	uint8_t *far = bench_at(b, 1, 0);

	for (uint32_t n = 0; n < rounds; n++) {
		const uint32_t length = n * 13 % 150;
		memset(far, 0, 256);
		ok(bsn_write_inline(b->ep[0], bench_at(b, 0, n), length, REMOTE(b, 1, 0), n, NOW));
		expect_done(b, b->cq[0], n, BSN_OPCODE_RDMA_WRITE);
		assert_memory_equal(far, bench_at(b, 0, n), length);
		assert_int_equal(far[length], 0);
	}
}

static void batches_come_round(struct bench *b)
{
	uint32_t next = 0, reaped = 0;

	for (uint32_t batch = 1; next < 400; batch = batch % DEPTH + 1) {
		for (uint32_t i = 0; i < batch; i++)
			ok(post_write(b, next++, BSN_F_SIGNALED));
		ok(bsn_ring(b->ep[0]));
		while (reaped < next)
			expect_done(b, b->cq[0], reaped++, BSN_OPCODE_RDMA_WRITE);
	}
	assert_written(b, 0, next);
}

/* -- credits ----------------------------------------------------------------------------------- */

static void a_full_queue_refuses_until_polled(struct bench *b)
{
	const uint32_t depth = send_depth(b);
	struct bsn_counters counters;

	for (uint32_t n = 0; n < depth; n++)
		ok(post_write(b, n, NOW));
	assert_int_equal(post_write(b, depth, NOW), -EAGAIN);
	bench_settle(b);
	assert_int_equal(post_write(b, depth, NOW), -EAGAIN);
	ok(bsn_qp_counters(b->qp[0], &counters));
	assert_int_equal(counters.send_full, 2);
	expect_done(b, b->cq[0], 0, BSN_OPCODE_RDMA_WRITE);
	ok(post_write(b, depth, NOW));
	assert_int_equal(post_write(b, depth + 1, NOW), -EAGAIN);
	for (uint32_t n = 1; n <= depth; n++)
		expect_done(b, b->cq[0], n, BSN_OPCODE_RDMA_WRITE);
	assert_written(b, 0, depth + 1);
	expect_nothing(b, b->cq[0]);
}

static void appended_work_counts_as_outstanding(struct bench *b)
{
	const uint32_t depth = send_depth(b);

	for (uint32_t n = 0; n < depth; n++)
		ok(post_write(b, n, BSN_F_SIGNALED));
	assert_int_equal(post_write(b, depth, BSN_F_SIGNALED), -EAGAIN);
	assert_int_equal(bench_outstanding(b, 0).sends, depth);
	ok(bsn_ring(b->ep[0]));
	for (uint32_t n = 0; n < depth; n++)
		expect_done(b, b->cq[0], n, BSN_OPCODE_RDMA_WRITE);
}

/*
 * Otherwise a user who appends until the queue is full, and then asks to ring, would wait for ever.
 */
static void a_full_queue_asked_to_ring_rings(struct bench *b)
{
	const uint32_t depth = send_depth(b);

	for (uint32_t n = 0; n < depth; n++)
		ok(post_write(b, n, BSN_F_SIGNALED));
	assert_int_equal(post_write(b, depth, BSN_F_SIGNALED), -EAGAIN);
	expect_nothing(b, b->cq[0]);
	assert_int_equal(post_write(b, depth, NOW), -EAGAIN);
	for (uint32_t n = 0; n < depth; n++)
		expect_done(b, b->cq[0], n, BSN_OPCODE_RDMA_WRITE);
	expect_nothing(b, b->cq[0]);
}

static void a_signaled_request_retires_those_before(struct bench *b)
{
	const uint32_t depth = send_depth(b);

	for (uint32_t lap = 0; lap < 5; lap++) {
		const uint32_t last = lap * depth + depth - 1;
		for (uint32_t n = lap * depth; n < last; n++)
			ok(post_write(b, n, 0));
		ok(post_write(b, last, NOW));
		assert_int_equal(post_write(b, last + 1, 0), -EAGAIN);
		expect_done(b, b->cq[0], last, BSN_OPCODE_RDMA_WRITE);
		expect_nothing(b, b->cq[0]);
		assert_int_equal(bench_outstanding(b, 0).sends, 0);
	}
	assert_written(b, 0, 5 * depth);
}

/* The library signals by itself, and its completions give credits but never show. */
static void nobody_need_ever_signal(struct bench *b)
{
	struct bsn_completion c[4];
	uint32_t n = 0, refused = 0;

	while (n < 300) {
		const int err = post_write(b, n, BSN_F_RING);
		assert_int_equal(bsn_poll(b->cq[0], c, 4), 0);
		if (err == -EAGAIN) {
			assert_true(++refused < 1000);
			bench_settle(b);
			continue;
		}
		ok(err);
		n++;
	}
	expect_nothing(b, b->cq[0]);
	assert_true(refused > 0 || !b->is_model); /* a real device works all the while */
	assert_true(bench_outstanding(b, 0).sends < send_depth(b));
	assert_written(b, 0, n);
}

static void the_library_never_signals_where_it_must_not(struct bench *b)
{
	const uint32_t depth = send_depth(b);

	for (uint32_t n = 0; n < depth; n++)
		ok(post_write(b, n, BSN_F_RING));
	expect_nothing(b, b->cq[0]);
	assert_int_equal(post_write(b, depth, BSN_F_RING), -EAGAIN);
	assert_int_equal(bench_outstanding(b, 0).sends, depth);
	assert_written(b, 0, depth);
}

static void all_may_be_signaled(struct bench *b)
{
	ok(post_write(b, 1, 0));
	ok(post_write(b, 2, BSN_F_SIGNALED));
	ok(post_write(b, 3, BSN_F_RING));
	for (uint64_t id = 1; id <= 3; id++)
		expect_done(b, b->cq[0], id, BSN_OPCODE_RDMA_WRITE);
}

/* So many requests that the library would signal one of them; its own signals are not shown. */
static void all_of_a_full_queue_may_be_signaled(struct bench *b)
{
	const uint32_t depth = send_depth(b);

	for (uint32_t n = 0; n < depth; n++)
		ok(post_write(b, n, 0));
	ok(bsn_ring(b->ep[0]));
	for (uint32_t n = 0; n < depth; n++)
		expect_done(b, b->cq[0], n, BSN_OPCODE_RDMA_WRITE);
}

/* -- receives ---------------------------------------------------------------------------------- */

static void receives_have_credits_too(struct bench *b)
{
	const struct bsn_sge into = bench_sge(b, 1, 0, 64), from = bench_sge(b, 0, 0, 8);
	const struct bsn_qp_info limits = *bsn_qp_info(b->qp[1]);
	struct bsn_outstanding outstanding;
	uint32_t id;

	for (id = 0; id < limits.recv_depth; id++)
		ok(bsn_recv(b->rq[1], &into, id));
	assert_int_equal(bsn_recv(b->rq[1], &into, id), -EAGAIN);
	ok(bsn_qp_outstanding(b->qp[1], &outstanding));
	assert_int_equal(outstanding.recvs, limits.recv_depth);
	for (uint32_t n = 0; n < 5 * limits.recv_depth; n++) {
		ok(bsn_send(b->ep[0], &from, n, NOW));
		expect_done(b, b->cq[0], n, BSN_OPCODE_SEND);
		assert_int_equal(bsn_recv(b->rq[1], &into, id), -EAGAIN);
		expect_done(b, b->cq[1], n, BSN_RECV);
		ok(bsn_recv(b->rq[1], &into, id++));
	}
}

/* -- polling ----------------------------------------------------------------------------------- */

/*
 * A completion names its QP as ibv_wc.qp_num does, for requests and receives, polled alone or with
 * others.
 */
static void a_completion_says_whose_it_is(struct bench *b)
{
	enum { EACH = 3 };
	const struct bsn_sge from = bench_sge(b, 0, 0, 8), into = bench_sge(b, 1, 0, 8);

	for (int helping = 1; helping <= EACH; helping += EACH - 1) {
		for (uint64_t id = 0; id < EACH; id++) {
			ok(bsn_recv(b->rq[1], &into, id));
			ok(bsn_send(b->ep[0], &from, id, NOW));
		}
		for (int end = 0; end < 2; end++)
			for (int got = 0; got < EACH; got += helping) {
				struct bsn_completion c[EACH];
				memset(c, 0xa5, sizeof(c));
				assert_int_equal(bench_reap(b, b->cq[end], c, helping), helping);
				for (int i = 0; i < helping; i++)
					assert_int_equal(c[i].qpn, bsn_qp_info(b->qp[end])->number);
			}
	}
}

static void completions_come_in_helpings_of_any_size(struct bench *b)
{
	struct bsn_completion c[64];
	uint32_t next = 0, reaped = 0;

	for (int helping = 1; helping <= 64; helping = helping * 2 + 1) {
		for (uint32_t i = 0; i < 64; i++)
			ok(post_write(b, next++, BSN_F_SIGNALED));
		ok(bsn_ring(b->ep[0]));
		bench_settle(b);
		while (reaped < next) {
			const int count = bench_reap(b, b->cq[0], c, helping);
			assert_true(count > 0 && count <= helping);
			for (int i = 0; i < count; i++)
				assert_int_equal(c[i].id, reaped++);
		}
		assert_int_equal(bsn_poll(b->cq[0], c, 64), 0);
	}
	assert_int_equal(bsn_poll(b->cq[0], c, 0), 0);
}

static void directions_mix_on_one_cq(struct bench *b)
{
	const struct bsn_sge into = bench_sge(b, 0, 32768, 64), from = bench_sge(b, 1, 0, 8);
	struct bsn_completion c[16];
	unsigned sends = 0, recvs = 0;

	for (uint32_t n = 0; n < DEPTH; n++) {
		ok(bsn_recv(b->rq[0], &into, 100 + n));
		ok(bsn_send(b->ep[1], &from, n, BSN_F_RING));
		ok(post_write(b, n, NOW));
	}
	assert_int_equal(bench_reap(b, b->cq[0], c, 16), 2 * DEPTH);
	for (unsigned i = 0; i < 2 * DEPTH; i++) {
		if (c[i].opcode == BSN_RECV)
			assert_int_equal(c[i].id, 100 + recvs++);
		else
			assert_int_equal(c[i].id, sends++);
	}
	assert_int_equal(sends, DEPTH);
	assert_int_equal(recvs, DEPTH);
}

/* -- threads ----------------------------------------------------------------------------------- */

enum { MANY = 2000 };

static void *post_many(void *arg)
{
	struct bench *b = arg;

	for (uint32_t n = 0; n < MANY;) {
		const int err = post_write(b, n, n % 3 ? NOW : 0);
		if (err && err != -EAGAIN)
			return (void *)(intptr_t)err;
		if (!err)
			n++;
		else
			sched_yield();
	}
	return (void *)(intptr_t)bsn_ring(b->ep[0]);
}

/* Credits go from the poller to the poster; everything else belongs to one of the two. */
static void poster_and_poller_are_two_threads(struct bench *b)
{
	struct bsn_completion c[4];
	uint32_t next = 1;
	pthread_t poster;
	void *result;

	assert_int_equal(pthread_create(&poster, NULL, post_many, b), 0);
	while (next < MANY) {
		const int count = bench_reap(b, b->cq[0], c, 4);
		assert_true(count >= 0);
		if (!count)
			sched_yield();
		for (int i = 0; i < count; i++) {
			assert_int_equal(c[i].status, IBV_WC_SUCCESS);
			assert_int_equal(c[i].id, next);
			next += next % 3 == 2 ? 2 : 1; /* every third one is silent */
		}
	}
	assert_int_equal(pthread_join(poster, &result), 0);
	assert_ptr_equal(result, NULL);
	expect_nothing(b, b->cq[0]);
	assert_written(b, 0, MANY);
}

/* -- taken back -------------------------------------------------------------------------------- */

static void what_was_appended_may_be_taken_back(struct bench *b)
{
	for (uint32_t n = 0; n < 20; n += 4) {
		for (uint32_t i = 0; i < 3; i++)
			ok(post_write(b, n + i, BSN_F_SIGNALED));
		ok(bsn_cancel(b->ep[0]));
		assert_int_equal(bench_outstanding(b, 0).sends, 0);
		ok(bsn_ring(b->ep[0]));
		ok(post_write(b, n + 3, NOW));
		expect_done(b, b->cq[0], n + 3, BSN_OPCODE_RDMA_WRITE);
		expect_nothing(b, b->cq[0]);
		assert_written(b, n + 3, 1);
		assert_int_equal(*bench_at(b, 1, n * LENGTH), 0);
	}
}

/* -- several queues ---------------------------------------------------------------------------- */

/* Both ends write to each other. */
static void append_at_both_ends(struct bench *b, uint32_t id)
{
	for (int end = 0; end < 2; end++) {
		const struct bsn_sge local = bench_sge(b, end, (size_t)end * LENGTH, LENGTH);
		const struct bsn_remote remote = bench_remote(b, !end, (size_t)end * LENGTH);
		ok(bsn_write(b->ep[end], &local, &remote, id, 0));
		ok(bsn_write(b->ep[end], &local, &remote, id + 1, BSN_F_SIGNALED));
	}
}

static void queues_are_rung_together(struct bench *b)
{
	struct bsn_ep *const both[] = { b->ep[0], b->ep[1], b->ep[0] };
	struct bsn_ep *const none[] = { b->ep[0], NULL };

	ok(bsn_ring_many(both, 0));
	ok(bsn_ring_many(both, 3));
	for (uint32_t i = 0; i < 20; i += 2) {
		append_at_both_ends(b, i);
		if (!(i & 2)) {
			fails(EINVAL, "no queue was rung", bsn_ring_many(none, 2));
			expect_nothing(b, b->cq[0]);
		}
		ok(bsn_ring_many(both, i & 4 ? 2 : 3));
		for (int end = 0; end < 2; end++) {
			expect_done(b, b->cq[end], i + 1, BSN_OPCODE_RDMA_WRITE);
			expect_nothing(b, b->cq[end]);
		}
	}
}

/* -- several pollers --------------------------------------------------------------------------- */

enum { POLLERS = 3, BATCH = 32, POLLED = 40 * BATCH };

struct pollers {
	struct bsn_cq *cq;
	uint32_t got, is_over, is_wrong;
	uint8_t seen[POLLED];
};

static void *poll_with_others(void *arg)
{
	struct pollers *p = arg;
	struct bsn_completion c[3];

	while (!__atomic_load_n(&p->is_over, __ATOMIC_ACQUIRE)) {
		const int got = bsn_poll(p->cq, c, 3);
		for (int i = 0; i < got; i++)
			if (c[i].status || c[i].id >= POLLED ||
			    __atomic_exchange_n(&p->seen[c[i].id], 1, __ATOMIC_RELAXED))
				__atomic_store_n(&p->is_wrong, 1, __ATOMIC_RELAXED);
		if (got > 0)
			__atomic_fetch_add(&p->got, (uint32_t)got, __ATOMIC_RELEASE);
		else if (got < 0)
			__atomic_store_n(&p->is_wrong, 1, __ATOMIC_RELAXED);
		if (got <= 0)
			sched_yield();
	}
	return NULL;
}

/* Replaces the CQ's own poll, and notes whether another thread is in it, too. */
static const struct bsn_cq_path *own_poll;
static uint32_t is_polling, is_overlapping;

static int poll_slowly(struct bsn_cq *cq, struct bsn_completion *c, int n)
{
	if (__atomic_exchange_n(&is_polling, 1, __ATOMIC_RELAXED))
		__atomic_store_n(&is_overlapping, 1, __ATOMIC_RELAXED);
	sched_yield();
	int got = own_poll ? own_poll->poll(cq, c, n) : bsn_poll(cq, c, n);
	__atomic_store_n(&is_polling, 0, __ATOMIC_RELAXED);
	return got;
}

/* Every completion comes once, whichever thread polls; meanwhile a QP is destroyed. */
static void several_threads_poll_one_cq(struct bench *b)
{
	static const struct bsn_cq_path slow = { .poll = poll_slowly };
	struct pollers p = { .cq = NULL };
	pthread_t threads[POLLERS];
	struct bsn_qp *qp[2];

	p.cq = new_cq(b, .entries = 64, .is_shared = true);
	own_poll = cq_of(p.cq)->ring_path;
	cq_of(p.cq)->ring_path = &slow;
	for (int i = 0; i < POLLERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, poll_with_others, &p), 0);
	for (uint32_t n = 0; n < POLLED && !p.is_wrong;) {
		const uint32_t end = n + 20 * BATCH;
		for (int i = 0; i < 2; i++) {
			const struct bsn_qp_attr attr = { .cq = i ? b->cq[1] : p.cq,
							  .send_depth = BATCH,
							  .recv_depth = 1 };
			ok(bsn_qp_create(b->device, &attr, &qp[i]));
		}
		bench_join(qp[0], qp[1]);
		while (n < end) {
			const struct bsn_sge local = bench_sge(b, 0, 0, LENGTH);
			const struct bsn_remote remote = bench_remote(b, 1, 0);
			for (uint32_t i = 0; i < BATCH; i++, n++)
				ok(bsn_write(bsn_qp_ep(qp[0]), &local, &remote, n, BSN_F_SIGNALED));
			ok(bsn_ring(bsn_qp_ep(qp[0])));
			bench_settle(b);
			while (__atomic_load_n(&p.got, __ATOMIC_ACQUIRE) < n &&
			       !__atomic_load_n(&p.is_wrong, __ATOMIC_ACQUIRE))
				sched_yield();
		}
		for (int i = 0; i < 2; i++)
			ok(bsn_qp_destroy(qp[i]));
	}
	__atomic_store_n(&p.is_over, 1, __ATOMIC_RELEASE);
	for (int i = 0; i < POLLERS; i++)
		pthread_join(threads[i], NULL);
	assert_false(p.is_wrong || is_overlapping);
	assert_int_equal(p.got, POLLED);
}

/* What queues left behind when they were reset is more than a poll may pass over at once. */
static void one_completion_is_found_behind_many_stale(struct bench *b)
{
	struct bsn_completion c[16];

	for (int round = 0; round < 2; round++) {
		for (uint64_t id = 0; !post_write(b, id, NOW); id++)
			;
		bench_settle(b);
		bench_start_again(b);
	}
	ok(post_write(b, 77, NOW));
	bench_settle(b);
	assert_int_equal(bsn_poll(b->cq[0], c, 16), 1);
	assert_int_equal(c->id, 77);
}

#define EIGHT .qp = { .send_depth = DEPTH, .recv_depth = DEPTH }

/* Attached queues never signal by themselves: such cases are OWN. */
static const struct bench_case cases[] = {
	{ CASE(one_completion_is_found_behind_many_stale),
	  .qp = { .send_depth = 1000, .recv_depth = 4 }, .cq_entries = 1024, OWN },
	{ CASE(nothing_happens_before_the_ring), EIGHT },
	{ CASE(queues_are_rung_together), EIGHT },
	{ CASE(a_ringing_post_publishes_what_was_before) },
	{ CASE(rings_come_round), .qp = { .send_depth = 7, .max_inline = 150 } },
	{ CASE(batches_come_round), EIGHT },
	{ CASE(a_full_queue_refuses_until_polled), .qp = { .send_depth = 13, .signal_every = -1 } },
	{ CASE(appended_work_counts_as_outstanding), EIGHT },
	{ CASE(a_full_queue_asked_to_ring_rings), EIGHT },
	{ CASE(a_signaled_request_retires_those_before),
	  .qp = { .send_depth = 9, .signal_every = -1 } },
	{ CASE(nobody_need_ever_signal), OWN, EIGHT },
	{ CASE_OF(nobody_need_ever_signal, "depth 1"), OWN, .qp.send_depth = 1 },
	{ CASE_OF(nobody_need_ever_signal, "depth 5"), OWN,
	  .qp = { .send_depth = 5, .signal_every = 5 } },
	{ CASE(the_library_never_signals_where_it_must_not),
	  .qp = { .send_depth = DEPTH, .signal_every = -1 } },
	{ CASE(all_may_be_signaled), .qp.signal_all = true },
	{ CASE(all_of_a_full_queue_may_be_signaled), .qp.signal_all = true },
	{ CASE(receives_have_credits_too), .qp = { .send_depth = DEPTH, .recv_depth = 6 } },
	{ CASE(a_completion_says_whose_it_is) },
	{ CASE(completions_come_in_helpings_of_any_size), .qp.send_depth = 64 },
	{ CASE(poster_and_poller_are_two_threads), EIGHT },
	{ CASE(directions_mix_on_one_cq), EIGHT },
	{ CASE(what_was_appended_may_be_taken_back), EIGHT },
	{ CASE(several_threads_poll_one_cq), OWN, .cq_entries = 256, MODEL },
};

BENCH_MAIN("queues")
