/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared receive queues: any of several QPs consumes receives, in any order. */
#include "harness.h"

enum { QPS = 3, ROOM = 256, AT_ONCE = 8 };

static int post_recv(struct bench *b, uint64_t id)
{
	return bsn_recv(b->srq, SGE(b, 1, id * ROOM % BENCH_BYTES, ROOM), id);
}

static void post_many(struct bench *b, uint64_t first)
{
	struct bsn_sge into[AT_ONCE];
	uint64_t ids[AT_ONCE];

	for (uint64_t i = 0; i < AT_ONCE; i++) {
		ids[i] = first + i;
		into[i] = bench_sge(b, 1, ids[i] * ROOM % BENCH_BYTES, ROOM);
	}
	assert_int_equal(bsn_recv_many(b->srq, into, ids, AT_ONCE), AT_ONCE);
}

/* Pairs of QPs beside the bench's own; the second of each receives from the SRQ. */
struct pairs {
	struct bsn_qp *qp[QPS][2];
	int user[QPS];
};

static void make_pairs(struct bench *b, struct pairs *p)
{
	for (int i = 0; i < QPS; i++) {
		for (int end = 0; end < 2; end++) {
			const struct bsn_qp_attr attr = { .cq = b->cq[end],
							  .srq = b->srq,
							  .send_depth = 8,
							  .user = &p->user[i] };
			ok(bsn_qp_create(b->device, &attr, &p->qp[i][end]));
		}
		bench_join(p->qp[i][0], p->qp[i][1]);
	}
}

static void destroy_pairs(struct pairs *p)
{
	for (int i = 0; i < QPS; i++)
		for (int end = 0; end < 2; end++)
			ok(bsn_qp_destroy(p->qp[i][end]));
}

static void several_qps_take_from_one_queue(struct bench *b)
{
	struct pairs p;
	uint64_t posted = 0;

	make_pairs(b, &p);
	for (uint64_t n = 0; n < 200; n++) {
		while (posted < n + 5)
			ok(post_recv(b, posted++));
		ok(bsn_send_inline(bsn_qp_ep(p.qp[n % QPS][0]), &n, sizeof(n), n, NOW));
		struct bsn_completion c = expect_done(b, b->cq[0], n, BSN_OPCODE_SEND);
		assert_ptr_equal(c.user, &p.user[n % QPS]);
		c = expect_done(b, b->cq[1], n, BSN_RECV);
		assert_ptr_equal(c.user, &p.user[n % QPS]);
		assert_int_equal(c.qpn, bsn_qp_info(p.qp[n % QPS][1])->number);
		assert_memory_equal(bench_at(b, 1, n * ROOM % BENCH_BYTES), &n, sizeof(n));
	}
	destroy_pairs(&p);
}

/* A UD QP that sends to another, which receives from the SRQ. */
struct datagrams {
	struct bsn_qp *qp[2];
	struct bsn_ep *ep;
	int user;
};

static void make_datagrams(struct bench *b, struct datagrams *d)
{
	struct bsn_address address;

	for (int end = 0; end < 2; end++) {
		const struct bsn_qp_attr attr = { .type = BSN_QP_UD,
						  .cq = b->cq[end],
						  .srq = end ? b->srq : NULL,
						  .send_depth = 8,
						  .recv_depth = end ? 0 : 8,
						  .user = &d->user };
		ok(bsn_qp_create(b->device, &attr, &d->qp[end]));
		ok(bsn_qp_connect(d->qp[end], NULL, NULL));
	}
	ok(bsn_qp_address(d->qp[1], &address));
	ok(bsn_ep_create(d->qp[0], &address, NULL, NULL, &d->ep));
}

static void destroy_datagrams(struct datagrams *d)
{
	ok(bsn_ep_destroy(d->ep));
	for (int end = 0; end < 2; end++)
		ok(bsn_qp_destroy(d->qp[end]));
}

static void expect_datagram(struct bench *b, const struct datagrams *d, uint64_t n)
{
	const struct bsn_completion c = expect_done(b, b->cq[1], n, BSN_RECV);

	assert_ptr_equal(c.user, &d->user);
	assert_int_equal(c.qpn, bsn_qp_info(d->qp[1])->number);
	assert_int_equal(c.src_qpn, bsn_qp_info(d->qp[0])->number);
	assert_int_equal(c.byte_len, BSN_GRH_SIZE + sizeof(n));
	assert_memory_equal(bench_at(b, 1, n * ROOM % BENCH_BYTES + BSN_GRH_SIZE), &n, sizeof(n));
}

/*
 * Datagrams of a UD QP, and messages of RC QPs, with receives posted one at a time and many at
 * once.
 */
static void connected_qps_and_datagrams_take_from_one_queue(struct bench *b)
{
	struct datagrams d;
	struct pairs p;

	make_pairs(b, &p);
	make_datagrams(b, &d);
	for (uint64_t n = 0; n < 400; n++) {
		const bool is_datagram = n * 7 % 5 < 2;
		struct bsn_ep *ep = is_datagram ? d.ep : bsn_qp_ep(p.qp[n % QPS][0]);
		if (n % 16 == 0)
			post_many(b, n);
		else if (n % 16 >= AT_ONCE)
			ok(post_recv(b, n));
		memcpy(bench_at(b, 0, 0), &n, sizeof(n));
		ok(bsn_send(ep, SGE(b, 0, 0, sizeof(uint64_t)), n, NOW));
		expect_done(b, b->cq[0], n, BSN_OPCODE_SEND);
		if (is_datagram) {
			expect_datagram(b, &d, n);
		} else {
			expect_done(b, b->cq[1], n, BSN_RECV);
			assert_memory_equal(bench_at(b, 1, n * ROOM % BENCH_BYTES), &n, sizeof(n));
		}
	}
	destroy_datagrams(&d);
	destroy_pairs(&p);
}

static uint64_t fill(struct bench *b)
{
	uint64_t id = 0;
	int err;

	while (!(err = post_recv(b, id)))
		id++;
	assert_int_equal(err, -EAGAIN);
	return id;
}

static void a_full_queue_refuses_until_consumed(struct bench *b)
{
	const uint64_t depth = fill(b);

	assert_true(depth >= BENCH_DEPTH);
	for (uint64_t n = 0; n < 5 * depth; n++) {
		ok(bsn_send_inline(b->ep[0], &n, sizeof(n), n, NOW));
		expect_done(b, b->cq[0], n, BSN_OPCODE_SEND);
		assert_int_equal(post_recv(b, 0), -EAGAIN);
		expect_done(b, b->cq[1], n, BSN_RECV);
		ok(post_recv(b, depth + n));
		assert_int_equal(post_recv(b, 0), -EAGAIN);
	}
}

/* To the device a byte count of 0 means 2^31, so it must never see one. */
static void empty_pieces_are_left_out(struct bench *b)
{
	const struct bsn_sge into[3] = { bench_sge(b, 1, 0, 0), bench_sge(b, 1, 64, 100),
					 bench_sge(b, 1, 32, 0) };

	memset(bench_at(b, 1, 0), 0, ROOM);
	ok(bsn_recv_sgl(b->srq, into, 3, 1));
	ok(bsn_send_inline(b->ep[0], "x", 1, 2, BSN_F_RING));
	expect_done(b, b->cq[1], 1, BSN_RECV);
	assert_int_equal(*bench_at(b, 1, 0), 0);
	assert_int_equal(*bench_at(b, 1, 64), 'x');
}

static void a_list_too_long_is_refused(struct bench *b)
{
	const struct bsn_sge two[2] = { bench_sge(b, 1, 0, 8), bench_sge(b, 1, 8, 8) };

	assert_ptr_equal(bsn_qp_rq(b->qp[1]), b->srq); /* as bsn_recv(3) says */
	assert_int_equal(bsn_recv_sgl(b->srq, two, 2, 1), -EMSGSIZE);
	assert_string_equal(bsn_error_text(), "2 SGEs: the queue was made for 1 (max_recv_sge)");
}

/* Receives that a QP took and nobody polled are dropped with the QP; the SRQ's room comes back. */
static void a_qp_that_goes_leaves_no_hole(struct bench *b)
{
	const uint64_t depth = fill(b);
	uint64_t n, id = depth;

	for (unsigned lap = 0; lap < bench_rounds(b, 4 * (unsigned)depth); lap++) {
		struct bsn_completion c;
		struct pairs p;
		make_pairs(b, &p);
		for (int i = 0; i < QPS; i++) {
			ok(bsn_send_inline(bsn_qp_ep(p.qp[i][0]), "x", 1, 0, BSN_F_RING));
			bench_settle(b);
		}
		if (lap % 2)
			ok(bsn_qp_reset(p.qp[0][1]));
		destroy_pairs(&p);
		assert_int_equal(bsn_poll(b->cq[1], &c, 1), 0);
		for (n = 0; n < QPS; n++)
			ok(post_recv(b, id++));
		assert_int_equal(post_recv(b, 0), -EAGAIN);
	}
}

/* When a QP is destroyed, the other QPs' completions in the CQ can still be polled. */
static void a_qp_that_goes_leaves_others_alone(struct bench *b)
{
	struct pairs p;

	for (uint64_t id = 0; id < 10; id++)
		ok(post_recv(b, id));
	make_pairs(b, &p);
	for (uint64_t n = 0; n < 2 * QPS; n++) {
		ok(bsn_send_inline(bsn_qp_ep(p.qp[n % QPS][0]), &n, sizeof(n), n, NOW));
		bench_settle(b);
	}
	ok(bsn_qp_destroy(p.qp[1][1]));
	for (uint64_t n = 0; n < 2 * QPS; n++)
		if (n % QPS != 1)
			expect_done(b, b->cq[1], n, BSN_RECV);
	expect_nothing(b, b->cq[1]);
	p.qp[1][1] = NULL;
	destroy_pairs(&p);
	expect_nothing(b, b->cq[0]);
}

static void consume(struct bench *b, uint64_t first, uint64_t end)
{
	for (uint64_t n = first; n < end; n++) {
		ok(bsn_send_inline(b->ep[0], &n, sizeof(n), n, BSN_F_RING));
		expect_done(b, b->cq[1], n, BSN_RECV);
	}
}

static void expect_no_event(struct bench *b)
{
	struct bsn_event event;

	assert_int_equal(bsn_device_get_event(b->device, &event), -EAGAIN);
}

/* The limit raises one event, until it is set again. */
static void a_limit_raises_an_event(struct bench *b)
{
	struct bsn_event event;
	uint64_t posted = 0;

	for (unsigned round = 0; round < 3; round++) {
		const uint64_t first = posted - (round ? 1 : 0);
		while (posted < first + 4)
			ok(post_recv(b, posted++));
		expect_no_event(b);
		ok(bsn_srq_set_limit(b->srq, 3));
		consume(b, first, first + 1);
		expect_no_event(b);
		consume(b, first + 1, first + 2);
		ok(bsn_device_get_event(b->device, &event));
		assert_int_equal(event.type, IBV_EVENT_SRQ_LIMIT_REACHED);
		assert_int_equal(event.object, BSN_EVENT_SRQ);
		assert_ptr_equal(event.srq, b->srq);
		assert_string_equal(event.name, "SRQ limit reached");
		consume(b, first + 2, first + 3);
		expect_no_event(b);
	}
}

static void a_limit_above_the_size_is_refused(struct bench *b)
{
	struct bsn_rq *srq = new_srq(b, .recv_depth = 4);

	fails(EINVAL, "above the 4 receives", bsn_srq_set_limit(srq, 5));
	ok(bsn_srq_set_limit(srq, 4));
	ok(bsn_srq_set_limit(srq, 0));
}

/*
 * The sender is told that no receive was there, and sends again: nothing is lost, nothing comes
 * twice.
 */
static void an_empty_queue_loses_nothing(struct bench *b)
{
	enum { MESSAGES = 5 };

	ok(post_recv(b, 0));
	for (uint64_t n = 0; n < MESSAGES; n++)
		ok(bsn_send_inline(b->ep[0], &n, sizeof(n), n, NOW));
	for (uint64_t n = 0; n < MESSAGES; n++) {
		expect_done(b, b->cq[1], n, BSN_RECV);
		assert_memory_equal(bench_at(b, 1, n * ROOM), &n, sizeof(n));
		expect_done(b, b->cq[0], n, BSN_OPCODE_SEND);
		expect_nothing(b, b->cq[1]);
		expect_nothing(b, b->cq[0]);
		ok(post_recv(b, n + 1));
	}
}

/*
 * A sender that may not try again is told so at once. Its message took no receive: the next one is
 * another QP's.
 */
static void an_empty_queue_fails_who_may_not_retry(struct bench *b)
{
	const uint64_t lost = 1, next = 2;
	struct pairs p;

	make_pairs(b, &p);
	ok(post_recv(b, 0));
	for (uint64_t n = 0; n <= lost; n++)
		ok(bsn_send_inline(b->ep[0], &n, sizeof(n), n, NOW));
	expect_done(b, b->cq[0], 0, BSN_OPCODE_SEND);
	expect_done(b, b->cq[1], 0, BSN_RECV);
	expect_status(b, b->cq[0], lost, BSN_OPCODE_SEND, IBV_WC_RNR_RETRY_EXC_ERR);
	expect_nothing(b, b->cq[1]);
	ok(post_recv(b, next));
	expect_nothing(b, b->cq[1]);
	ok(bsn_send_inline(bsn_qp_ep(p.qp[0][0]), &next, sizeof(next), next, NOW));
	expect_done(b, b->cq[0], next, BSN_OPCODE_SEND);
	expect_done(b, b->cq[1], next, BSN_RECV);
	assert_memory_equal(bench_at(b, 1, next * ROOM), &next, sizeof(next));
	destroy_pairs(&p);
}

/* -- of several CQs ---------------------------------------------------------------------------- */

/*
 * Receives of one SRQ complete in two CQs, and the CQ with the later ones is polled first. So WQEs
 * come back in another order than they were posted in. They are posted again, many at once.
 */
static void several_cqs_give_back_in_any_order(struct bench *b)
{
	struct bsn_qp *qp[2][2];
	struct bsn_cq *cq[2];

	for (int i = 0; i < 2; i++) {
		for (int end = 0; end < 2; end++)
			qp[i][end] = new_qp(b, .cq = b->cq[0], .recv_cq = cq[i] = bench_cq(b, NULL),
					    .srq = b->srq, .send_depth = 8);
		bench_join(qp[i][0], qp[i][1]);
	}
	for (uint64_t first = 0; first < 60 * AT_ONCE; first += AT_ONCE) {
		uint32_t of_second = (uint32_t)(first / AT_ONCE * 37) % 256; /* a bit each */
		post_many(b, first);
		for (uint64_t n = first; n < first + AT_ONCE; n++) {
			const bool is_second = of_second >> (n - first) & 1;
			ok(bsn_send_inline(bsn_qp_ep(qp[is_second][0]), &n, sizeof(n), n, NOW));
			expect_done(b, b->cq[0], n, BSN_OPCODE_SEND);
		}
		for (int i = 1; i >= 0; i--)
			for (uint64_t n = first; n < first + AT_ONCE; n++)
				if ((int)(of_second >> (n - first) & 1) == i) {
					expect_done(b, cq[i], n, BSN_RECV);
					assert_memory_equal(
						bench_at(b, 1, n * ROOM % BENCH_BYTES), &n,
						sizeof(n));
				}
	}
}

static void it_outlives_its_qps_only(struct bench *b)
{
	assert_int_equal(bsn_srq_destroy(b->srq), -EBUSY);
	ok(post_recv(b, 1));
	ok(bsn_send_inline(b->ep[0], "x", 1, 2, BSN_F_RING));
	expect_done(b, b->cq[1], 1, BSN_RECV);
}

/*
 * With two CQs, two pollers may give WQEs back. The queue must know so before the second one does.
 */
static void a_second_cq_makes_it_shared(struct bench *b)
{
	struct bsn_qp *qp[3];
	struct bsn_rq *srq = bench_srq(b, NULL);

	for (int i = 0; i < 3; i++) {
		const struct bsn_qp_attr attr = {
			.cq = b->cq[0], .recv_cq = b->cq[i / 2], .srq = srq, .send_depth = 8
		};
		ok(bsn_qp_create(b->device, &attr, &qp[i]));
		assert_int_equal(dv_rq(srq)->has_many_pollers, i == 2);
	}
	for (int i = 0; i < 3; i++)
		ok(bsn_qp_destroy(qp[i]));
}

/*
 * The device consumes receives in another order than they were posted in. Each completion names its
 * receive. Free WQEs are posted again, many at once.
 */
static void receives_that_overtake_keep_their_ids(struct bench *b)
{
	bool overtook = false;

	post_many(b, 0);
	for (uint64_t first = 0; first < 60 * AT_ONCE; first += AT_ONCE) {
		uint32_t seen = 0; /* a bit each */
		for (uint64_t n = first; n < first + AT_ONCE; n++) {
			ok(bsn_send_inline(b->ep[0], &n, sizeof(n), n, NOW));
			expect_done(b, b->cq[0], n, BSN_OPCODE_SEND);
			struct bsn_completion c = bench_next(b, b->cq[1]);
			assert_int_equal(c.status, IBV_WC_SUCCESS);
			assert_true(c.id - first < AT_ONCE && !(seen >> (c.id - first) & 1));
			assert_memory_equal(bench_at(b, 1, c.id * ROOM % BENCH_BYTES), &n,
					    sizeof(n));
			seen |= 1u << (c.id - first);
			overtook |= c.id != n;
		}
		post_many(b, first + AT_ONCE);
	}
	assert_true(overtook);
}

/* A page fault asks for pages. The library posts the receive again, and the sender sends again. */
static void page_faults_are_not_seen(struct bench *b)
{
	const struct bsn_srq_attr attr = { .recv_depth = 5, .is_on_demand = true };
	struct bsn_rq *srq, *bench_srq = b->srq;
	struct pairs p;

	ok(bsn_srq_create(b->device, &attr, &srq));
	b->srq = srq;
	make_pairs(b, &p);
	for (uint64_t n = 0; n < 5; n++)
		ok(post_recv(b, n));
	for (uint64_t n = 0; n < 60; n++) {
		ok(bsn_send_inline(bsn_qp_ep(p.qp[n % QPS][0]), &n, sizeof(n), n, NOW));
		struct bsn_completion c = bench_next(b, b->cq[1]);
		assert_int_equal(c.status, IBV_WC_SUCCESS);
		assert_int_equal(c.byte_len, sizeof(n));
		assert_memory_equal(bench_at(b, 1, c.id * ROOM % BENCH_BYTES), &n, sizeof(n));
		expect_done(b, b->cq[0], n, BSN_OPCODE_SEND);
		ok(post_recv(b, c.id));
		assert_int_equal(post_recv(b, 0), -EAGAIN);
	}
	expect_nothing(b, b->cq[1]);
	destroy_pairs(&p);
	ok(bsn_srq_destroy(srq));
	b->srq = bench_srq;
}

#define SRQ .has_srq = true, .cq_entries = 2048

static const struct bench_case cases[] = {
	{ CASE(several_qps_take_from_one_queue), SRQ },
	{ CASE(connected_qps_and_datagrams_take_from_one_queue), SRQ },
	{ CASE(a_full_queue_refuses_until_consumed), SRQ },
	{ CASE(a_list_too_long_is_refused), SRQ },
	{ CASE(empty_pieces_are_left_out), SRQ, .qp.max_recv_sge = 3 },
	{ CASE(a_qp_that_goes_leaves_no_hole), SRQ },
	{ CASE(a_qp_that_goes_leaves_others_alone), SRQ },
	{ CASE(a_limit_raises_an_event), SRQ },
	{ CASE(a_limit_above_the_size_is_refused), SRQ },
	{ CASE(an_empty_queue_loses_nothing), SRQ },
	{ CASE(an_empty_queue_fails_who_may_not_retry), SRQ,
	  .connect = { .rnr_retry = BSN_NO_RETRY } },
	{ CASE(several_cqs_give_back_in_any_order), SRQ },
	{ CASE(it_outlives_its_qps_only), SRQ },
	{ CASE(a_second_cq_makes_it_shared), SRQ },
	{ CASE(receives_that_overtake_keep_their_ids), SRQ, MODEL,
	  .fault_plan = "opcode=RECV every=3 overtake" },
	{ CASE(page_faults_are_not_seen), SRQ, MODEL,
	  .fault_plan = "opcode=RECV every=2 fail 0x22 0x93" },
};

BENCH_MAIN("shared")
