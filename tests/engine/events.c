/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completion channels, asynchronous events, and objects that cannot be destroyed while they are in
 * use.
 */
#include "harness.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

static void post_write(struct bench *b, uint64_t id, unsigned flags)
{
	ok(bench_write(b, 0, 64, id, flags | BSN_F_RING));
}

static void post_send(struct bench *b, uint64_t id, unsigned flags)
{
	const struct bsn_sge local = bench_sge(b, 0, 0, 64), into = bench_sge(b, 1, 0, 64);

	ok(bsn_recv(b->rq[1], &into, id));
	ok(bsn_send(b->ep[0], &local, id, flags | BSN_F_RING));
}

/* -- completion channels ----------------------------------------------------------------------- */

static void do_not_block(struct bench *b)
{
	const int fd = bsn_channel_fd(b->channel);

	assert_int_equal(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK), 0);
}

static void assert_no_event(struct bench *b)
{
	struct bsn_cq *cq = NULL;

	bench_settle(b);
	assert_int_equal(bsn_channel_get(b->channel, &cq), -EAGAIN);
	assert_null(cq);
}

static void assert_event(struct bench *b, struct bsn_cq *wanted)
{
	struct bsn_cq *cq = NULL;

	bench_settle(b);
	ok(bsn_channel_get(b->channel, &cq));
	assert_ptr_equal(cq, wanted);
}

static void one_request_one_event(struct bench *b)
{
	do_not_block(b);
	post_write(b, 1, BSN_F_SIGNALED);
	assert_no_event(b);
	expect_done(b, b->cq[0], 1, BSN_OPCODE_RDMA_WRITE);
	for (uint64_t id = 0; id < bench_rounds(b, 100); id++) {
		ok(bsn_cq_request(b->cq[0], false));
		expect_nothing(b, b->cq[0]);
		assert_no_event(b);
		post_write(b, id, BSN_F_SIGNALED);
		post_write(b, id + 1000, BSN_F_SIGNALED);
		assert_event(b, b->cq[0]);
		assert_no_event(b);
		expect_done(b, b->cq[0], id, BSN_OPCODE_RDMA_WRITE);
		expect_done(b, b->cq[0], id + 1000, BSN_OPCODE_RDMA_WRITE);
	}
}

/* What came before the request is found by the poll that follows it. */
static void nothing_is_lost_between_poll_and_request(struct bench *b)
{
	do_not_block(b);
	for (uint64_t id = 0; id < bench_rounds(b, 50); id++) {
		expect_nothing(b, b->cq[0]);
		post_write(b, id, BSN_F_SIGNALED);
		bench_settle(b);
		ok(bsn_cq_request(b->cq[0], false));
		expect_done(b, b->cq[0], id, BSN_OPCODE_RDMA_WRITE);
		expect_nothing(b, b->cq[0]);
		post_write(b, id + 1000, BSN_F_SIGNALED);
		assert_event(b, b->cq[0]);
		expect_done(b, b->cq[0], id + 1000, BSN_OPCODE_RDMA_WRITE);
	}
}

static void solicited_only(struct bench *b)
{
	do_not_block(b);
	ok(bsn_cq_request(b->cq[1], true));
	post_send(b, 1, 0);
	assert_no_event(b);
	post_send(b, 2, BSN_F_SOLICITED);
	assert_event(b, b->cq[1]);
	expect_done(b, b->cq[1], 1, BSN_RECV);
	expect_done(b, b->cq[1], 2, BSN_RECV);
}

static int count_ready(int fd)
{
	struct epoll_event ready;

	return epoll_wait(fd, &ready, 1, 0);
}

/* For solicited messages only, whether the file is reported while it is readable, or once. */
static void wake_an_epoll(struct bench *b, uint32_t how)
{
	struct epoll_event wanted = { .events = EPOLLIN | how };
	const int fd = epoll_create1(0);

	assert_true(fd >= 0);
	ok(epoll_ctl(fd, EPOLL_CTL_ADD, bsn_channel_fd(b->channel), &wanted));
	for (uint64_t id = 0; id < bench_rounds(b, 20); id++) {
		ok(bsn_cq_request(b->cq[1], true));
		post_send(b, id, 0);
		bench_settle(b);
		assert_int_equal(count_ready(fd), 0);
		post_send(b, id + 100, BSN_F_SOLICITED);
		bench_settle(b);
		assert_int_equal(count_ready(fd), 1);
		assert_event(b, b->cq[1]);
		assert_int_equal(count_ready(fd), 0);
		expect_done(b, b->cq[1], id, BSN_RECV);
		expect_done(b, b->cq[1], id + 100, BSN_RECV);
		expect_nothing(b, b->cq[0]); /* makes room for sends */
	}
	close(fd);
}

static void an_epoll_wakes_for_a_channel(struct bench *b)
{
	do_not_block(b);
	wake_an_epoll(b, 0);
	wake_an_epoll(b, EPOLLET);
}

static void failures_are_events_too(struct bench *b)
{
	do_not_block(b);
	ok(bsn_cq_request(b->cq[0], true));
	ok(bsn_send(b->ep[0], &(struct bsn_sge){ 0, 64, 0x5500 }, 1, BSN_F_RING));
	assert_event(b, b->cq[0]);
	expect_status(b, b->cq[0], 1, BSN_OPCODE_SEND, IBV_WC_LOC_PROT_ERR);
}

static void a_channel_says_which_cq(struct bench *b)
{
	do_not_block(b);
	for (uint64_t id = 0; id < 10; id++) {
		ok(bsn_cq_request(b->cq[0], false));
		ok(bsn_cq_request(b->cq[1], false));
		post_send(b, id, id % 2 ? BSN_F_SIGNALED : 0);
		assert_event(b, b->cq[1]);
		if (id % 2)
			assert_event(b, b->cq[0]);
		expect_done(b, b->cq[1], id, BSN_RECV);
		if (id % 2)
			expect_done(b, b->cq[0], id, BSN_OPCODE_SEND);
	}
}

static void unread_events_hinder_no_destruction(struct bench *b)
{
	ok(bsn_cq_request(b->cq[0], false));
	post_write(b, 1, BSN_F_SIGNALED);
	bench_settle(b);
}

static void without_a_channel_there_is_nothing_to_ask(struct bench *b)
{
	assert_int_equal(bsn_cq_request(b->cq[0], false), -EINVAL);
}

/* -- asynchronous events ----------------------------------------------------------------------- */

static void assert_told(struct bench *b, enum ibv_event_type type, enum bsn_event_object object,
			struct bsn_event *event)
{
	bench_settle(b);
	ok(bsn_device_get_event(b->device, event));
	assert_int_equal(event->type, type);
	assert_int_equal(event->object, object);
}

static void a_peer_s_misdeed_is_told(struct bench *b)
{
	struct bsn_event event;

	assert_int_equal(bsn_device_get_event(b->device, &event), -EAGAIN);
	ok(bsn_write(b->ep[0], SGE(b, 0, 0, 64), &(struct bsn_remote){ 0, 0x5500 }, 1, BSN_F_RING));
	expect_status(b, b->cq[0], 1, BSN_OPCODE_RDMA_WRITE, IBV_WC_REM_ACCESS_ERR);
	assert_told(b, IBV_EVENT_QP_ACCESS_ERR, BSN_EVENT_QP, &event);
	assert_ptr_equal(event.qp, b->qp[1]);
	assert_int_equal(bsn_device_get_event(b->device, &event), -EAGAIN);
}

static void a_port_goes_down(struct bench *b)
{
	struct bsn_event event;

	post_write(b, 1, BSN_F_SIGNALED);
	assert_told(b, IBV_EVENT_PORT_ERR, BSN_EVENT_PORT, &event);
	assert_int_equal(event.port, bench_info(b)->port);
}

/* Only a reader of events learns of the overrun. Then the next poll says so, and each later one. */
static void an_overrun_is_an_error_of_poll(struct bench *b)
{
	struct bsn_event event;
	struct bsn_completion c;

	post_write(b, 1, BSN_F_SIGNALED);
	expect_done(b, b->cq[0], 1, BSN_OPCODE_RDMA_WRITE);
	post_write(b, 2, BSN_F_SIGNALED);
	assert_told(b, IBV_EVENT_CQ_ERR, BSN_EVENT_CQ, &event);
	assert_ptr_equal(event.cq, b->cq[0]);
	for (int i = 0; i < 3; i++)
		fails(EOVERFLOW, "the CQ overran", bsn_poll(b->cq[0], &c, 1));
	assert_int_equal(bsn_poll(b->cq[1], &c, 1), 0);
}

static void a_device_that_vanishes_ends_the_wait(struct bench *b)
{
	struct bsn_event event;
	struct bsn_completion c;

	post_write(b, 1, BSN_F_SIGNALED);
	bench_settle(b);
	post_write(b, 2, BSN_F_SIGNALED);
	assert_told(b, IBV_EVENT_DEVICE_FATAL, BSN_EVENT_DEVICE, &event);
	expect_done(b, b->cq[0], 1, BSN_OPCODE_RDMA_WRITE); /* it came before the overrun */
	fails(EIO, "the device is gone", bsn_poll(b->cq[0], &c, 1));
	assert_int_equal(bsn_poll(b->cq[1], &c, 1), -EIO);
}

/* -- destruction ------------------------------------------------------------------------------- */

static void what_is_used_is_not_destroyed(struct bench *b)
{
	struct bsn_mr_attr in_domain = { 0 };
	struct bsn_mr *mr;

	assert_int_equal(bsn_device_close(b->device), -EBUSY);
	assert_int_equal(bsn_cq_destroy(b->cq[0]), -EBUSY);
	assert_int_equal(bsn_channel_destroy(b->channel), -EBUSY);
	ok(bsn_pd_create(b->device, &in_domain.pd));
	ok(bsn_mr_register(b->device, bench_at(b, 0, 0), 64, &in_domain, &mr));
	assert_int_equal(bsn_pd_destroy(in_domain.pd), -EBUSY);
	ok(bsn_mr_deregister(mr));
	ok(bsn_pd_destroy(in_domain.pd));
	post_write(b, 1, BSN_F_SIGNALED);
	expect_done(b, b->cq[0], 1, BSN_OPCODE_RDMA_WRITE);
}

static void a_lane_outlives_its_queues(struct bench *b)
{
	struct bsn_cq_attr cq_attr = { .entries = 64 };
	struct bsn_qp_attr qp_attr = { .send_depth = 8, .recv_depth = 8 };
	struct bsn_qp *qp;

	ok(bsn_lane_create(b->device, NULL, &cq_attr.lane));
	ok(bsn_cq_create(b->device, &cq_attr, &qp_attr.cq));
	ok(bsn_qp_create(b->device, &qp_attr, &qp));
	assert_int_equal(bsn_lane_destroy(cq_attr.lane), -EBUSY);
	ok(bsn_qp_destroy(qp));
	assert_int_equal(bsn_lane_destroy(cq_attr.lane), -EBUSY);
	ok(bsn_cq_destroy(qp_attr.cq));
	ok(bsn_lane_destroy(cq_attr.lane));
}

static void a_cq_takes_no_more_than_it_has_room_for(struct bench *b)
{
	struct bsn_qp_attr attr = { .send_depth = 8, .recv_depth = 8 };
	struct bsn_qp *first, *second = NULL;

	attr.cq = new_cq(b, .entries = 20);
	ok(bsn_qp_create(b->device, &attr, &first));
	assert_int_equal(bsn_qp_create(b->device, &attr, &second), -ENOSPC);
	assert_null(second);
	assert_true(strlen(bsn_error_text()) > 0);
	attr.send_depth = attr.recv_depth = 2;
	ok(bsn_qp_create(b->device, &attr, &second));
	attr.send_depth = attr.recv_depth = 1;
	assert_int_equal(bsn_qp_create(b->device, &attr, &second), -ENOSPC);
	ok(bsn_qp_destroy(first));
	ok(bsn_qp_create(b->device, &attr, &first));
	ok(bsn_qp_destroy(first));
	ok(bsn_qp_destroy(second));
}

static void nothing_is_made_of_nothing(struct bench *b)
{
	struct bsn_address garbage;
	struct bsn_outstanding outstanding;
	struct bsn_event event;
	struct bsn_cq *cq;
	struct bsn_qp *qp;
	struct bsn_rq *srq;

	assert_int_equal(bsn_cq_create(NULL, NULL, &cq), -EINVAL);
	assert_int_equal(bsn_cq_create(b->device, NULL, NULL), -EINVAL);
	assert_int_equal(bsn_qp_create(b->device, NULL, &qp), -EINVAL);
	assert_int_equal(bsn_qp_create(b->device, &(struct bsn_qp_attr){ 0 }, &qp), -EINVAL);
	assert_int_equal(bsn_srq_create(NULL, NULL, &srq), -EINVAL);
	assert_int_equal(bsn_qp_fail(NULL), -EINVAL);
	assert_int_equal(bsn_qp_reset(NULL), -EINVAL);
	assert_int_equal(bsn_qp_outstanding(NULL, &outstanding), -EINVAL);
	assert_int_equal(bsn_device_get_event(NULL, &event), -EINVAL);
	assert_int_equal(bsn_cq_request(NULL, false), -EINVAL);
	ok(bsn_qp_destroy(NULL));
	ok(bsn_cq_destroy(NULL));
	ok(bsn_srq_destroy(NULL));
	ok(bsn_ep_destroy(NULL));
	ok(bsn_lane_destroy(NULL));
	ok(bsn_channel_destroy(NULL));
	memset(&garbage, 0x5a, sizeof(garbage));
	assert_int_equal(bsn_qp_connect(b->qp[0], NULL, NULL), -EINVAL);
	assert_int_equal(bsn_qp_connect(b->qp[0], &garbage, NULL), -EPROTO);
}

#define FAULT(plan)  .fault_plan = plan, MODEL
#define WITH_CHANNEL .has_channel = true

static const struct bench_case cases[] = {
	{ CASE(one_request_one_event), WITH_CHANNEL },
	{ CASE(nothing_is_lost_between_poll_and_request), WITH_CHANNEL },
	{ CASE(solicited_only), WITH_CHANNEL },
	{ CASE(an_epoll_wakes_for_a_channel), WITH_CHANNEL },
	{ CASE(failures_are_events_too), WITH_CHANNEL,
	  .rxe_lacks = "soft-RoCE does not take a failure for solicited" },
	{ CASE(a_channel_says_which_cq), WITH_CHANNEL },
	{ CASE(unread_events_hinder_no_destruction), WITH_CHANNEL },
	{ CASE(without_a_channel_there_is_nothing_to_ask) },
	{ CASE(a_peer_s_misdeed_is_told),
	  .rxe_lacks = "soft-RoCE raises no event for a peer's bad key" },
	{ CASE(a_port_goes_down), FAULT("port-down") },
	{ CASE(an_overrun_is_an_error_of_poll), FAULT("nth=2 cq-overrun") },
	{ CASE(a_device_that_vanishes_ends_the_wait), FAULT("nth=2 remove-device") },
	{ CASE(what_is_used_is_not_destroyed), WITH_CHANNEL },
	{ CASE(a_lane_outlives_its_queues) },
	{ CASE(a_cq_takes_no_more_than_it_has_room_for) },
	{ CASE(nothing_is_made_of_nothing) },
};

BENCH_MAIN("events")
