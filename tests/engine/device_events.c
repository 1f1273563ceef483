/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Asynchronous events are records that name the object by Bunsen's pointer. Their file descriptor
 * is readable exactly as long as an event waits.
 */
#include "harness.h"

#include <poll.h>

static bool is_readable(const struct bench *b)
{
	return poll(&(struct pollfd){ .fd = bench_info(b)->event_fd, .events = POLLIN }, 1, 0) == 1;
}

static void assert_silent(struct bench *b)
{
	struct bsn_event event, untouched;

	memset(&event, 0x55, sizeof(event));
	untouched = event;
	assert_false(is_readable(b));
	assert_int_equal(bsn_device_get_event(b->device, &event), -EAGAIN);
	assert_memory_equal(&event, &untouched, sizeof(event));
}

/* The next event is this one, and is about these and nothing else. */
static void assert_told(struct bench *b, struct bsn_event wanted)
{
	struct bsn_event event;

	memset(&event, 0x55, sizeof(event));
	bench_settle(b);
	assert_true(is_readable(b));
	ok(bsn_device_get_event(b->device, &event));
	assert_int_equal(event.type, wanted.type);
	assert_int_equal(event.object, wanted.object);
	assert_int_equal(event.port, wanted.port);
	assert_ptr_equal(event.cq, wanted.cq);
	assert_ptr_equal(event.qp, wanted.qp);
	assert_ptr_equal(event.srq, wanted.srq);
}

#define told(b, kind, what, ...)                                                                   \
	assert_told(b, (struct bsn_event){ .object = BSN_EVENT_##kind,                             \
					   .type = IBV_EVENT_##what,                               \
					   __VA_ARGS__ })

static void post_write(struct bench *b, uint64_t id)
{
	ok(bench_write(b, 0, 64, id, NOW));
}

static void a_port_goes_down_and_comes_up(struct bench *b)
{
	const uint8_t port = bench_info(b)->port;

	assert_silent(b);
	post_write(b, 1);
	told(b, PORT, PORT_ERR, .port = port);
	told(b, PORT, PORT_ACTIVE, .port = port);
	assert_silent(b);
}

/* First the CQ, then the QP whose work it cannot take any more. */
static void a_cq_that_overruns_and_its_qp(struct bench *b)
{
	assert_silent(b);
	post_write(b, 1);
	told(b, CQ, CQ_ERR, .cq = b->cq[0]);
	told(b, QP, QP_FATAL, .qp = b->qp[0]);
	assert_silent(b);
}

static void an_srq_that_runs_low(struct bench *b)
{
	const struct bsn_sge from = bench_sge(b, 0, 0, 64), into = bench_sge(b, 1, 0, 64);

	for (uint64_t id = 0; id < 3; id++)
		ok(bsn_recv(b->srq, &into, id));
	ok(bsn_srq_set_limit(b->srq, 3));
	assert_silent(b);
	ok(bsn_send(b->ep[0], &from, 1, BSN_F_RING));
	told(b, SRQ, SRQ_LIMIT_REACHED, .srq = b->srq);
	ok(bsn_send(b->ep[0], &from, 1, BSN_F_RING)); /* once only */
	bench_settle(b);
	assert_silent(b);
	ok(bsn_qp_fail(b->qp[1])); /* a failed QP takes no more of the SRQ's receives */
	if (!b->is_rxe)            /* which never says so */
		told(b, QP, QP_LAST_WQE_REACHED, .qp = b->qp[1]);
	assert_silent(b);
}

static void a_device_that_is_gone(struct bench *b)
{
	assert_silent(b);
	post_write(b, 1);
	told(b, DEVICE, DEVICE_FATAL);
}

/* An object that the application made and did not attach has no name here. */
static void an_object_of_somebody_elses(struct bench *b)
{
	struct ibv_pd *pd = bsn_qp_info(b->qp[0])->verbs->pd;
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_srq_attr limit = { .srq_limit = 2 };
	struct ibv_srq *srq = ibv_create_srq(pd, &init);

	assert_non_null(srq);
	assert_int_equal(ibv_modify_srq(srq, &limit, IBV_SRQ_LIMIT), 0);
	told(b, SRQ, SRQ_LIMIT_REACHED, .srq = NULL); /* there were fewer from the start */
	assert_int_equal(ibv_destroy_srq(srq), 0);
	assert_silent(b);
}

#define FAULT(plan) .fault_plan = plan, MODEL

static const struct bench_case cases[] = {
	{ CASE(a_port_goes_down_and_comes_up), FAULT("nth=1 port-down; nth=1 port-up") },
	{ CASE(a_cq_that_overruns_and_its_qp), FAULT("nth=1 cq-overrun") },
	{ CASE(an_srq_that_runs_low), .has_srq = true },
	{ CASE(a_device_that_is_gone), FAULT("nth=1 remove-device") },
	{ CASE(an_object_of_somebody_elses), OWN,
	  .rxe_lacks = "soft-RoCE looks at a limit only when a receive is taken" },
};

BENCH_MAIN("device_events")
