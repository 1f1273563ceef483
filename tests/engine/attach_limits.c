/* SPDX-License-Identifier: BSD-2-Clause */
/* What the limits of an attached queue are, and what is refused. */
#include "attach_rig.h"

/* Makes the CQ anew, of so many entries, and the QP on it. */
static void replace_cq(struct app *a, int entries, enum ibv_qp_type type)
{
	assert_int_equal(ibv_destroy_qp(a->qp), 0);
	assert_int_equal(ibv_destroy_cq(a->cq), 0);
	a->cq = ibv_create_cq(a->context, entries, NULL, a->channel, 0);
	assert_non_null(a->cq);
	a->qp = create_qp(a, a->cq, type, false);
}

/* -- limits ------------------------------------------------------------------------------------ */

/* Every entry of the CQ is in use, and the poller gives each back as soon as it goes on. */
static void a_full_queue_never_overruns_its_cq(struct bench *b)
{
	struct app *a = start_attached(b, IBV_QPT_RC, false);
	uint64_t posted = 0, received = 1ull << 32, due[2] = { posted, received };
	struct bsn_event event;

	for (unsigned lap = 0; lap < bench_rounds(b, 300); lap++) {
		struct bsn_completion c[2 * DEPTH];
		while (!post_write(a, 0, 8, posted, NOW))
			posted++;
		for (; !post_recv(a, 512, 64, received); received++)
			peer_post(a, IBV_WR_SEND, 512, 8);
		bench_settle(b);
		const int got = bsn_poll(our_cq(a), c, 1 + (int)lap % (2 * DEPTH));
		assert_true(got > 0);
		for (int i = 0; i < got; i++) {
			assert_int_equal(c[i].status, IBV_WC_SUCCESS);
			assert_int_equal(c[i].id, due[c[i].opcode == BSN_RECV]++);
		}
	}
	assert_true(posted > bench_rounds(b, 1000));
	assert_true((uint32_t)received > bench_rounds(b, 1000));
	assert_int_equal(bsn_device_get_event(a->device, &event), -EAGAIN);
}

/*
 * A CQ that the application made too small overruns. Only the event says so, and then each poll,
 * once the earlier completions were taken.
 */
static void a_cq_that_is_too_small_says_so(struct bench *b)
{
	struct app *a = start_app(b, IBV_QPT_RC, false);
	struct bsn_completion c[2 * DEPTH];
	struct bsn_event event;

	replace_cq(a, 3, IBV_QPT_RC);
	attach(a);
	connect_both(a);
	for (uint64_t id = 0; id < DEPTH; id++)
		ok(post_write(a, 0, 8, id, NOW));
	bench_settle(b);
	ok(bsn_device_get_event(a->device, &event));
	assert_int_equal(event.object, BSN_EVENT_CQ);
	assert_int_equal(event.type, IBV_EVENT_CQ_ERR);
	assert_ptr_equal(event.cq, our_cq(a));
	assert_int_equal(bsn_poll(our_cq(a), c, 2 * DEPTH), a->cq->cqe + 1);
	for (int i = 0; i < 3; i++)
		assert_int_equal(bsn_poll(our_cq(a), c, 2 * DEPTH), -EOVERFLOW);
}

/* Long requests take several blocks; one of them always fits. */
static void the_longest_request_fits(struct bench *b)
{
	struct app *a = start_app(b, IBV_QPT_RC, false);
	struct bsn_sge sge[16];
	struct bsn_wr wr = { .sge = sge,
			     .sge_count = 16,
			     .opcode = BSN_OPCODE_RDMA_WRITE,
			     .remote = peers_bytes(a, 0),
			     .flags = NOW };

	replace_qp(a,
		   (struct ibv_qp_init_attr){ .qp_type = IBV_QPT_RC, .cap = { 1, 0, 16, 0, 200 } });
	attach(a);
	connect_both(a);
	assert_int_equal(bsn_qp_info(a->attached)->recv_depth, 0);
	assert_true(post_recv(a, 0, 8, 1) < 0);
	for (unsigned i = 0; i < 16; i++)
		sge[i] = our_sge(a, 8 * i, 8);
	for (int lap = 0; lap < 10; lap++) {
		ok(bsn_post(bsn_qp_ep(a->attached), &wr));
		expect_done(b, our_cq(a), 0, BSN_OPCODE_RDMA_WRITE);
		assert_same(a, 0, 128);
	}
}

static struct bsn_ep *endpoint_to_itself(struct app *a)
{
	struct bsn_address self;
	struct bsn_ep *ep;

	ok(bsn_qp_address(a->attached, &self));
	ok(bsn_ep_create(a->attached, &self, &(struct bsn_connect_attr){ .qkey = QKEY }, NULL,
			 &ep));
	return ep;
}

/* What libmlx5 grants may need 64 units of 16 B, but a WQE's length field counts only up to 63. */
static void the_limits_tell_what_a_wqe_holds(struct bench *b)
{
	struct app *a = start_app(b, IBV_QPT_UD, false);

	replace_qp(a,
		   (struct ibv_qp_init_attr){ .qp_type = IBV_QPT_UD, .cap = { 1, 1, 1, 1, 956 } });
	attach(a);
	connect_both(a);
	struct bsn_qp_info limits = *bsn_qp_info(a->attached);
	assert_int_equal(limits.max_inline, 60 * 16 - 16 - 48 - 4);
	struct bsn_ep *ep = endpoint_to_itself(a);
	ok(post_recv(a, 1024, 1024, 1));
	assert_int_equal(bsn_send_inline(ep, a->memory, limits.max_inline + 1, 2, BSN_F_RING),
			 -EMSGSIZE);
	ok(bsn_send_inline(ep, a->memory, limits.max_inline, 2, BSN_F_RING));
	expect_done(b, our_cq(a), 1, BSN_RECV);
	assert_memory_equal(a->memory + 1024 + BSN_GRH_SIZE, a->memory, limits.max_inline);
	ok(bsn_ep_destroy(ep));
}

static void the_limits_tell_what_a_wqe_holds_beside_an_address(struct bench *b)
{
	struct app *a = start_app(b, IBV_QPT_RC, false);
	struct ibv_qp_init_attr_ex init = { .send_cq = a->cq,
					    .recv_cq = a->cq,
					    .qp_type = IBV_QPT_RC,
					    .cap = { 1, 1, 1, 1, 988 },
					    .comp_mask = IBV_QP_INIT_ATTR_PD |
							 IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
					    .pd = a->pd,
					    .send_ops_flags = IBV_QP_EX_WITH_SEND };

	assert_int_equal(ibv_destroy_qp(a->qp), 0);
	a->qp = ibv_create_qp_ex(a->context, &init);
	assert_non_null(a->qp);
	attach(a);
	assert_int_equal(bsn_qp_info(a->attached)->max_inline, 60 * 16 - 16 - 16 - 4);
}

/* As many of the longest requests as the limits say, and not one more. */
static void assert_takes_its_depth(struct app *a, uint32_t depth)
{
	const struct bsn_qp_info limits = *bsn_qp_info(a->attached);

	assert_int_equal(limits.send_depth, depth);
	struct bsn_ep *ep = endpoint_to_itself(a);
	for (uint32_t i = 0; i < depth; i++)
		ok(bsn_send_inline(ep, a->memory, limits.max_inline, i, BSN_F_SIGNALED));
	assert_int_equal(bsn_send_inline(ep, a->memory, limits.max_inline, depth, BSN_F_SIGNALED),
			 -EAGAIN);
	ok(bsn_ep_destroy(ep));
}

/* Datagrams take several blocks each, and the application's CQ was made for a number of blocks. */
static void the_limits_tell_the_depth(struct bench *b)
{
	enum { LONGEST_BB = 2 };
	struct app *a = start_attached(b, IBV_QPT_UD, false);

	assert_takes_its_depth(a, b->kind == BENCH_DIRECT ? DEPTH / LONGEST_BB : DEPTH);
}

static void a_cq_with_room_allows_the_whole_depth(struct bench *b)
{
	struct app *a = start_app(b, IBV_QPT_UD, false);
	struct bsn_attach_attr attr = promise(a);
	struct bsn_qp *none;

	attr.send_depth = DEPTH + 1;
	fails(EINVAL, "made for 8", bsn_qp_attach(a->device, a->qp, &attr, &none));
	attr.send_depth = DEPTH;
	ok(bsn_qp_attach(a->device, a->qp, &attr, &a->attached));
	connect_both(a);
	assert_takes_its_depth(a, DEPTH);
}

static void no_more_is_asked_for_than_the_cq_has(struct bench *b)
{
	struct app *a = start_app(b, IBV_QPT_UD, false);
	struct bsn_attach_attr attr = promise(a);
	struct bsn_qp *none;

	if (b->kind == BENCH_DIRECT) {
		replace_cq(a, DEPTH - 1, IBV_QPT_UD);
		attr.send_depth = DEPTH;
		fails(EINVAL, "the CQ has 7 entries",
		      bsn_qp_attach(a->device, a->qp, &attr, &none));
	}
}

/* What an attached QP may need of its CQ is not given to another. */
static void an_attached_qp_takes_its_share_of_the_cq(struct bench *b)
{
	struct app *a = start_attached(b, IBV_QPT_RC, false);
	struct bsn_qp_attr attr = { .cq = our_cq(a), .send_depth = 1, .recv_depth = 1 };
	struct bsn_qp *own;

	ok(bsn_lane_create(a->device, NULL, &attr.lane));
	fails(ENOSPC, "16 are taken", bsn_qp_create(a->device, &attr, &own));
	ok(bsn_lane_destroy(attr.lane));
}

/* -- refusals ---------------------------------------------------------------------------------- */

static void assert_refused(struct app *a, struct ibv_qp *qp, int error, const char *word)
{
	const struct bsn_attach_attr attr = promise(a);
	struct bsn_qp *out = (void *)a;

	fails(error, word, bsn_qp_attach(a->device, qp, &attr, &out));
	assert_ptr_equal(out, a);
}

static void a_qp_that_was_posted_to_is_too_late(struct bench *b)
{
	struct app *a = start_app(b, IBV_QPT_RC, false);

	connect_both(a);
	peer_post(a, IBV_WR_RDMA_WRITE, 0, 8);
	assert_refused(a, a->peer, EBUSY, "before its first post");
	peer_recv(a, 0, 64);
	assert_refused(a, a->peer, EBUSY, "before its first post");
}

/*
 * A completion shows that the CQ was used. Only the direct path reads the CQ itself, so only it
 * refuses.
 */
static void a_cq_that_was_used_is_too_late(struct bench *b)
{
	struct app *a = start_app(b, IBV_QPT_RC, false);
	struct ibv_qp *fresh = create_qp(a, a->peer_cq, IBV_QPT_RC, false);
	struct ibv_wc wc;

	connect_both(a);
	peer_post(a, IBV_WR_RDMA_WRITE, 0, 8);
	if (b->kind == BENCH_DIRECT)
		assert_refused(a, fresh, EBUSY, "polled");
	assert_int_equal(ibv_destroy_qp(fresh), 0);
	fresh = create_qp(a, a->cq, IBV_QPT_RC, false);
	peer_recv(a, 0, 64); /* the CQ of a->qp: unpolled, yet it has a completion */
	struct ibv_sge sge = { (uintptr_t)a->memory, 8, a->mr->lkey };
	struct ibv_send_wr *bad, wr = { .wr_id = 77, .sg_list = &sge, .num_sge = 1 };
	wr.opcode = IBV_WR_SEND;
	wr.send_flags = IBV_SEND_SIGNALED;
	assert_int_equal(ibv_post_send(a->qp, &wr, &bad), 0);
	bench_settle(b);
	if (b->kind == BENCH_DIRECT)
		assert_refused(a, fresh, EBUSY, "completions");
	assert_int_equal(ibv_poll_cq(a->cq, 1, &wc), 1); /* and still has it */
	assert_int_equal(wc.wr_id, 77);
	assert_int_equal(ibv_destroy_qp(fresh), 0);
}

/* A server's CQ outlives its connections. The number of consumed CQEs is kept meanwhile. */
static void a_cq_outlives_its_qps(struct bench *b)
{
	struct app *a = start_attached(b, IBV_QPT_RC, false);

	for (int lap = 0; lap < 5; lap++) {
		write_both_ways(a);
		detach(a);
		reset_to_start(a->qp);
		reset_to_start(a->peer);
		if (lap % 2) {
			assert_int_equal(ibv_destroy_qp(a->qp), 0);
			a->qp = create_qp(a, a->cq, IBV_QPT_RC, false);
		}
		attach(a);
		connect_both(a);
	}
}

/* libibverbs may well give another CQ the same address. */
static void another_cq_is_not_taken_for_it(struct bench *b)
{
	struct app *a = start_attached(b, IBV_QPT_RC, false);

	for (int lap = 0; lap < 5; lap++) {
		write_both_ways(a);
		detach(a);
		reset_to_start(a->peer);
		replace_cq(a, a->cq->cqe, IBV_QPT_RC);
		attach(a);
		connect_both(a);
	}
}

static void two_qps_may_share_a_cq_on_one_path(struct bench *b)
{
	struct app *a = start_attached(b, IBV_QPT_RC, false);
	struct ibv_qp *verbs = create_qp(a, a->cq, IBV_QPT_RC, false);
	const struct bsn_attach_attr other = { .register_is_ours = b->kind != BENCH_DIRECT };
	const struct bsn_attach_attr same = promise(a);
	struct bsn_qp *second;

	if (b->kind == BENCH_DIRECT)
		fails(EMLINK, "same promise", bsn_qp_attach(a->device, verbs, &other, &second));
	ok(bsn_qp_attach(a->device, verbs, &same, &second));
	assert_ptr_equal(bsn_qp_info(second)->cq, our_cq(a));
	write_both_ways(a);
	ok(bsn_qp_destroy(second));
	write_both_ways(a);
	assert_int_equal(ibv_destroy_qp(verbs), 0);
}

static void a_qp_with_an_srq_is_refused(struct bench *b)
{
	struct app *a = start_app(b, IBV_QPT_RC, false);
	struct ibv_srq_init_attr srq = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct ibv_qp_init_attr init = { .send_cq = a->cq,
					 .recv_cq = a->cq,
					 .srq = ibv_create_srq(a->pd, &srq),
					 .qp_type = IBV_QPT_RC,
					 .cap = { .max_send_wr = 1, .max_send_sge = 1 } };
	struct ibv_qp *qp = ibv_create_qp(a->pd, &init);

	assert_non_null(qp);
	assert_refused(a, qp, EOPNOTSUPP, "SRQ");
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_srq(init.srq), 0);
}

static void a_qp_without_a_send_queue_is_refused(struct bench *b)
{
	struct app *a = start_app(b, IBV_QPT_RC, false);
	struct ibv_qp_init_attr init = { .send_cq = a->cq,
					 .recv_cq = a->cq,
					 .qp_type = IBV_QPT_RC,
					 .cap = { .max_recv_wr = 1, .max_recv_sge = 1 } };
	struct ibv_qp *qp = ibv_create_qp(a->pd, &init);

	assert_non_null(qp);
	assert_refused(a, qp, EOPNOTSUPP, "max_send_wr");
	assert_int_equal(ibv_destroy_qp(qp), 0);
}

static void a_qp_is_attached_once_and_to_its_device(struct bench *b)
{
	struct app *a = start_attached(b, IBV_QPT_RC, false);
	struct bsn_qp *out;

	assert_refused(a, a->qp, EBUSY, "already attached");
	fails(EINVAL, "bsn_device_attach", bsn_qp_attach(b->device, a->peer, NULL, &out));
	assert_int_equal(bsn_qp_attach(NULL, a->peer, NULL, &out), -EINVAL);
	assert_int_equal(bsn_qp_attach(a->device, NULL, NULL, &out), -EINVAL);
	assert_int_equal(bsn_qp_attach(a->device, a->peer, NULL, NULL), -EINVAL);
	assert_int_equal(bsn_device_close(a->device), -EBUSY);
	write_both_ways(a);
}

/* The device is on the direct path, the QP is not: nobody promised anything about its register. */
static void without_a_promise_it_runs_on_verbs(struct bench *b)
{
	struct app *a = start_app(b, IBV_QPT_RC, false);

	ok(bsn_qp_attach(a->device, a->qp, &(struct bsn_attach_attr){ .user = a }, &a->attached));
	assert_non_null(dv_sq(bench_sq(a->attached))->path);
	connect_both(a);
	write_both_ways(a);
	messages_of_every_size_get_to_memory(a);
}

/* The files of the application's context stay as it made them: its threads may wait there. */
static void an_attached_context_keeps_its_files(struct bench *b)
{
	struct app *a = start_app(b, IBV_QPT_RC, false);
	struct bsn_event event;

	assert_false(fcntl(a->context->async_fd, F_GETFL) & O_NONBLOCK);
	assert_int_equal(bsn_device_get_event(a->device, &event), -EAGAIN);
	assert_int_equal(bsn_device_info(a->device)->event_fd, a->context->async_fd);
}

#define RXE_QUEUES_ARE_LONGER .rxe_lacks = "soft-RoCE makes queues longer than asked for"

static const struct bench_case cases[] = {
	{ CASE(a_full_queue_never_overruns_its_cq), BARE },
	{ CASE(a_cq_that_is_too_small_says_so), BARE, MODEL },
	{ CASE(the_longest_request_fits), BARE },
	{ CASE(the_limits_tell_what_a_wqe_holds), BARE, MODEL },
	{ CASE(the_limits_tell_what_a_wqe_holds_beside_an_address), BARE, MODEL },
	{ CASE(the_limits_tell_the_depth), BARE, RXE_QUEUES_ARE_LONGER },
	{ CASE(a_cq_with_room_allows_the_whole_depth), BARE, RXE_QUEUES_ARE_LONGER },
	{ CASE(no_more_is_asked_for_than_the_cq_has), BARE },
	{ CASE(an_attached_qp_takes_its_share_of_the_cq), BARE, RXE_QUEUES_ARE_LONGER },
	{ CASE(a_cq_outlives_its_qps), BARE },
	{ CASE(another_cq_is_not_taken_for_it), BARE },
	{ CASE(a_qp_that_was_posted_to_is_too_late), BARE,
	  .rxe_lacks = "only an mlx5 queue tells whether it was posted to" },
	{ CASE(a_cq_that_was_used_is_too_late), BARE },
	{ CASE(two_qps_may_share_a_cq_on_one_path), BARE },
	{ CASE(a_qp_with_an_srq_is_refused), BARE },
	{ CASE(a_qp_without_a_send_queue_is_refused), BARE },
	{ CASE(a_qp_is_attached_once_and_to_its_device), BARE },
	{ CASE(without_a_promise_it_runs_on_verbs), BARE },
	{ CASE(an_attached_context_keeps_its_files), BARE },
};

BENCH_MAIN("attach_limits")
