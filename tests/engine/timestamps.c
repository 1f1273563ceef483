/* SPDX-License-Identifier: BSD-2-Clause */
/* Timestamps of completions: ticks, nanoseconds, and those of the real-time clock. */
#include "engine.h" /* before cmocka, which has a fail() of its own */
#include "harness.h"

#include <time.h>

#include "bsn_cqe.h"

enum { LENGTH = 64, ROUNDS = 200, BATCH = 8, INTO = 8192 };

/* Two QPs, connected, whose CQs have stamps. */
struct pair {
	struct bsn_cq *cq[2];
	struct bsn_qp *qp[2];
};

static struct pair make_of(struct bench *b, struct bsn_cq_attr cq, struct bsn_qp_attr qp)
{
	struct pair p;

	cq.entries = 64;
	qp.send_depth = qp.recv_depth = BATCH;
	for (int i = 0; i < 2; i++) {
		qp.cq = p.cq[i] = bench_cq(b, &cq);
		p.qp[i] = bench_qp(b, &qp);
	}
	bench_join(p.qp[0], p.qp[1]);
	return p;
}

static struct pair make(struct bench *b, enum bsn_timestamps kind)
{
	return make_of(b, (struct bsn_cq_attr){ .timestamps = kind },
		       (struct bsn_qp_attr){ .type = BSN_QP_RC });
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/*
 * The timestamp in the CQE that was polled last, on the direct path; libmlx5's read_completion_ts()
 * gives the same.
 */
static uint64_t stamp_in_ring(struct bsn_cq *cq)
{
	const struct bsn_cq *ring = cq_of(cq)->ring;
	const uint8_t *next = ring->next == dv_cq(ring)->ring ? dv_cq(ring)->ring_end : ring->next;
	struct bsn_cqe_req cqe;

	bsn_cqe_req_decode(&cqe, next - ring->stride);
	return cqe.timestamp;
}

/* Several rounds of the ring, one completion at a time: each is later than the one before. */
static void ticks_are_those_of_the_cqe(struct bench *b)
{
	struct bsn_completion c;
	uint64_t last = 0;
	const struct pair p = make(b, BSN_TIMESTAMPS_RAW);

	for (uint64_t id = 0; id < ROUNDS; id++) {
		ok(bsn_recv(bsn_qp_rq(p.qp[1]), SGE(b, 1, INTO, LENGTH), id));
		ok(bsn_send(bsn_qp_ep(p.qp[0]), SGE(b, 0, 0, LENGTH), id, NOW));
		c = expect_done(b, p.cq[1], id, BSN_RECV);
		assert_int_equal(c.byte_len, LENGTH);
		assert_true(c.timestamp > last);
		if (b->kind == BENCH_DIRECT)
			assert_int_equal(c.timestamp, stamp_in_ring(p.cq[1]));
		last = c.timestamp;
		c = expect_done(b, p.cq[0], id, BSN_OPCODE_SEND);
		assert_true(c.timestamp >= last);
		if (b->kind == BENCH_DIRECT)
			assert_int_equal(c.timestamp, stamp_in_ring(p.cq[0]));
	}
}

static void a_poll_of_many_stamps_each(struct bench *b)
{
	struct bsn_completion c[BATCH];
	uint64_t last = 0;
	const struct pair p = make_of(
		b, (struct bsn_cq_attr){ .timestamps = BSN_TIMESTAMPS_RAW, .is_shared = true },
		(struct bsn_qp_attr){ .type = BSN_QP_RC });

	for (uint64_t round = 0; round < ROUNDS; round++) {
		for (uint64_t id = 0; id < BATCH; id++)
			ok(bsn_write(bsn_qp_ep(p.qp[0]), SGE(b, 0, 0, LENGTH), REMOTE(b, 1, INTO),
				     id, BSN_F_SIGNALED | (id == BATCH - 1 ? BSN_F_RING : 0u)));
		assert_int_equal(bench_reap(b, p.cq[0], c, BATCH), BATCH);
		for (uint64_t id = 0; id < BATCH; id++) {
			assert_int_equal(c[id].id, id);
			assert_true(c[id].timestamp >= last && c[id].timestamp);
			last = c[id].timestamp;
		}
	}
	assert_int_equal(bsn_poll(p.cq[0], c, BATCH), 0);
}

/* Bytes that came in a CQE stay until the next poll, however many were asked for. */
static void data_in_cqes_stay(struct bench *b)
{
	const struct bsn_sge local = bench_sge(b, 0, 0, 16), into = bench_sge(b, 1, INTO, LENGTH);
	struct bsn_completion c[BATCH];
	const struct pair p = make_of(b, (struct bsn_cq_attr){ .timestamps = BSN_TIMESTAMPS_RAW },
				      (struct bsn_qp_attr){ .max_inline_recv = 32 });

	for (uint64_t id = 0; id < BATCH; id++) {
		ok(bsn_recv(bsn_qp_rq(p.qp[1]), &into, id));
		ok(bsn_send(bsn_qp_ep(p.qp[0]), &local, id, NOW));
	}
	bench_settle(b);
	for (uint64_t id = 0; id < BATCH; id++) {
		assert_int_equal(bsn_poll(p.cq[1], c, BATCH), 1); /* the poll ends after it */
		assert_true(c->flags & BSN_C_IN_CQE);
		assert_memory_equal(c->data, bench_at(b, 0, 0), 16);
		assert_true(c->timestamp);
	}
}

/*
 * Ticks and nanoseconds are of the same clock: what is later in ticks is later in time, by as many
 * nanoseconds as the clock page says.
 */
static void nanoseconds_are_of_the_clock_page(struct bench *b)
{
	struct bsn_completion sent, received;
	const struct pair p = make(b, BSN_TIMESTAMPS_NS);

	ok(bsn_recv(bsn_qp_rq(p.qp[1]), SGE(b, 1, INTO, LENGTH), 1));
	ok(bsn_send(bsn_qp_ep(p.qp[0]), SGE(b, 0, 0, LENGTH), 2, NOW));
	received = expect_done(b, p.cq[1], 1, BSN_RECV);
	sent = expect_done(b, p.cq[0], 2, BSN_OPCODE_SEND);
	assert_true(sent.timestamp >= received.timestamp);
	assert_true(sent.timestamp - received.timestamp < 1000000000);
	if (b->kind == BENCH_DIRECT)
		assert_int_equal(sent.timestamp,
				 provider_ns_of_ticks(b->device->context, stamp_in_ring(p.cq[0])));
}

static void real_time_is_that_of_the_day(struct bench *b)
{
	const uint64_t before = now_ns();
	const struct pair p = make(b, BSN_TIMESTAMPS_REAL_TIME);

	ok(bsn_recv(bsn_qp_rq(p.qp[1]), SGE(b, 1, INTO, LENGTH), 1));
	ok(bsn_send(bsn_qp_ep(p.qp[0]), SGE(b, 0, 0, LENGTH), 2, NOW));
	struct bsn_completion c = expect_done(b, p.cq[1], 1, BSN_RECV);
	assert_true(c.timestamp >= before && c.timestamp <= now_ns());
	c = expect_done(b, p.cq[0], 2, BSN_OPCODE_SEND);
	assert_true(c.timestamp >= before && c.timestamp <= now_ns());
}

/* The CQE of an error has syndromes where others have a timestamp. */
static void a_failure_has_none(struct bench *b)
{
	const struct bsn_remote nowhere = { 0x1000, 0x7654321 };
	const struct pair p = make(b, BSN_TIMESTAMPS_RAW);

	ok(bsn_write(bsn_qp_ep(p.qp[0]), SGE(b, 0, 0, LENGTH), &nowhere, 1, NOW));
	struct bsn_completion c =
		expect_status(b, p.cq[0], 1, BSN_OPCODE_RDMA_WRITE, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(c.timestamp, 0);
}

static void an_unknown_clock_is_refused(struct bench *b)
{
	struct bsn_cq_attr attr = { .timestamps = (enum bsn_timestamps)17 };
	struct bsn_cq *cq;

	fails(EINVAL, "bsn_timestamps", bsn_cq_create(b->device, &attr, &cq));
}

static uint64_t time_of(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* The model counts nanoseconds of this machine's clock. */
static void the_devices_clock_is_read(struct bench *b)
{
	enum { SLACK_NS = 50 * 1000 * 1000 }; /* for changes of the system's clock meanwhile */
	uint64_t before, ticks = 0, ns = 0;

	for (unsigned i = 0; i < 20; i++) {
		before = time_of(CLOCK_MONOTONIC);
		ok(bsn_device_clock(b->device, BSN_TIMESTAMPS_RAW, &ticks));
		assert_in_range(ticks, before, time_of(CLOCK_MONOTONIC));
		before = time_of(CLOCK_REALTIME);
		ok(bsn_device_clock(b->device, BSN_TIMESTAMPS_NS, &ns));
		assert_in_range(ns, before - SLACK_NS, time_of(CLOCK_REALTIME) + SLACK_NS);
	}
}

static void a_clock_that_cannot_be_read_is_refused(struct bench *b)
{
	uint64_t now = 7;

	assert_int_equal(bsn_device_clock(NULL, BSN_TIMESTAMPS_RAW, &now), -EINVAL);
	assert_int_equal(bsn_device_clock(b->device, BSN_TIMESTAMPS_RAW, NULL), -EINVAL);
	assert_int_equal(bsn_device_clock(b->device, BSN_TIMESTAMPS_NONE, &now), -EINVAL);
	fails(EOPNOTSUPP, "real-time clock",
	      bsn_device_clock(b->device, BSN_TIMESTAMPS_REAL_TIME, &now));
	if (b->is_model) { /* a passive model has no clock page */
		fails(EOPNOTSUPP, "its driver shows none",
		      bsn_device_clock(b->device, BSN_TIMESTAMPS_RAW, &now));
	}
	assert_int_equal(now, 7);
}

#define STAMPS BARE, OWN, .rxe_lacks = "timestamps"

static const struct bench_case cases[] = {
	{ CASE(ticks_are_those_of_the_cqe), STAMPS },
	{ CASE(a_poll_of_many_stamps_each), STAMPS },
	{ CASE(data_in_cqes_stay), STAMPS, DIRECT },
	{ CASE(nanoseconds_are_of_the_clock_page), STAMPS },
	{ CASE(real_time_is_that_of_the_day), STAMPS, MODEL },
	{ CASE(a_failure_has_none), STAMPS },
	{ CASE(the_devices_clock_is_read), STAMPS, MODEL, .is_active = true },
	{ CASE(a_clock_that_cannot_be_read_is_refused), STAMPS },
	{ CASE(an_unknown_clock_is_refused), STAMPS },
};

BENCH_MAIN("timestamps")
