/* SPDX-License-Identifier: BSD-2-Clause */
/* Features of completions, of failures and of queues. */
#include "features_tries.h"

/* -- completions ------------------------------------------------------------------------------- */

/* Posts several times the queue's depth without asking for a completion. */
const char *try_unsignaled(struct bench *b)
{
	for (uint64_t id = 0; id < 4 * BENCH_DEPTH; id++) {
		const int err = bsn_write(b->ep[0], SGE(b, 0, 0, LENGTH), REMOTE(b, 1, INTO), id,
					  BSN_F_RING);
		if (!err)
			continue;
		assert_int_equal(err, -EAGAIN);
		expect_nothing(b, b->cq[0]); /* no completion, but there is room again */
		ok(bsn_write(b->ep[0], SGE(b, 0, 0, LENGTH), REMOTE(b, 1, INTO), id, BSN_F_RING));
	}
	bench_settle(b);
	assert_arrived(b, 0);
	return NULL;
}

const char *try_signal_all(struct bench *b)
{
	post_write(b, b->ep[0], 1, BSN_F_RING);
	expect_done(b, b->cq[0], 1, BSN_OPCODE_RDMA_WRITE);
	return NULL;
}

/* A QP beside the bench's, connected to itself. */
struct bsn_qp *make_loop(struct bench *b, const struct bsn_qp_attr *attr)
{
	struct bsn_qp *qp = bench_qp(b, attr);

	bench_join(qp, qp);
	return qp;
}

const char *try_two_cqs(struct bench *b)
{
	const struct bsn_qp_attr attr = {
		.cq = b->cq[0], .recv_cq = b->cq[1], .send_depth = 4, .recv_depth = 4
	};
	struct bsn_qp *qp = make_loop(b, &attr);

	post_recv(b, bsn_qp_rq(qp), 1);
	ok(bsn_send(bsn_qp_ep(qp), SGE(b, 0, 0, LENGTH), 2, NOW));
	expect_message(b, BSN_OPCODE_SEND);
	return NULL;
}

/* Makes a missing event a failure instead of an endless wait. */
static void do_not_block(struct bench *b)
{
	const int fd = bsn_channel_fd(b->channel);

	assert_int_equal(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK), 0);
}

const char *try_channel(struct bench *b)
{
	struct bsn_cq *cq = NULL;

	do_not_block(b);
	ok(bsn_cq_request(b->cq[0], false));
	post_write(b, b->ep[0], 1, NOW);
	bench_settle(b);
	ok(bsn_channel_get(b->channel, &cq));
	assert_ptr_equal(cq, b->cq[0]);
	expect_done(b, b->cq[0], 1, BSN_OPCODE_RDMA_WRITE);
	return NULL;
}

/* The first message raises no event, so the one event is the second's. */
const char *try_solicited(struct bench *b)
{
	const struct bsn_sge local = bench_sge(b, 0, 0, LENGTH);
	struct bsn_cq *cq = NULL;

	do_not_block(b);
	ok(bsn_cq_request(b->cq[1], true));
	for (uint64_t id = 0; id < 2; id++) {
		post_recv(b, b->rq[1], id);
		ok(bsn_send(b->ep[0], &local, id, BSN_F_RING | (id ? BSN_F_SOLICITED : 0)));
	}
	bench_settle(b);
	ok(bsn_channel_get(b->channel, &cq));
	assert_ptr_equal(cq, b->cq[1]);
	for (uint64_t id = 0; id < 2; id++)
		expect_done(b, b->cq[1], id, BSN_RECV);
	return NULL;
}

const char *try_moderation(struct bench *b)
{
	return refusal(bsn_cq_moderate(b->cq[0], 16, 100));
}

const char *try_wait(struct bench *b)
{
	const struct bsn_wait_attr brief = { .timeout_ns = 2000000, .busy_ns = 1 };
	struct bsn_completion c;
	struct loop l = bench_loop(b, (struct bsn_cq_attr){ 0 });

	assert_int_equal(bsn_wait(l.cq, &c, 1, &brief), 0);
	ok(loop_post(&l, 1));
	bench_settle(b);
	assert_int_equal(bsn_wait(l.cq, &c, 1, &brief), 1);
	return NULL;
}

const char *try_async_events(struct bench *b)
{
	struct bsn_event event;

	post_recv(b, b->srq, 0);
	post_recv(b, b->srq, 0);
	ok(bsn_srq_set_limit(b->srq, 2));
	assert_int_equal(bsn_device_get_event(b->device, &event), -EAGAIN);
	post_recv(b, b->srq, 1);
	ok(bsn_send_inline(b->ep[0], "x", 1, 1, BSN_F_RING));
	ok(bsn_send_inline(b->ep[0], "x", 1, 2, BSN_F_RING));
	expect_done(b, b->cq[1], 0, BSN_RECV);
	expect_done(b, b->cq[1], 0, BSN_RECV);
	ok(bsn_device_get_event(b->device, &event));
	assert_int_equal(event.type, IBV_EVENT_SRQ_LIMIT_REACHED);
	assert_ptr_equal(event.srq, b->srq);
	return NULL;
}

/* -- failures ---------------------------------------------------------------------------------- */

static void post_bad_write(struct bench *b, uint64_t id)
{
	struct bsn_remote remote = bench_remote(b, 1, INTO);

	remote.rkey ^= 0x5500;
	ok(bsn_write(b->ep[0], SGE(b, 0, 0, LENGTH), &remote, id, BSN_F_RING));
}

const char *try_cause(struct bench *b)
{
	struct bsn_qp_error error;

	post_bad_write(b, 1);
	expect_status(b, b->cq[0], 1, BSN_OPCODE_RDMA_WRITE, IBV_WC_REM_ACCESS_ERR);
	ok(bsn_qp_error(b->qp[0], &error));
	assert_true(error.has_failed);
	assert_int_equal(error.first.syndrome, BSN_SYNDROME_REMOTE_ACCESS);
	return NULL;
}

const char *try_vendor_syndrome(struct bench *b)
{
	post_bad_write(b, 1);
	struct bsn_completion c =
		expect_status(b, b->cq[0], 1, BSN_OPCODE_RDMA_WRITE, IBV_WC_REM_ACCESS_ERR);
	return c.vendor_syndrome ? NULL : "the device has none";
}

/* Each request comes back: unsignaled ones, receives, and those that were never rung. */
const char *try_drain(struct bench *b)
{
	struct bsn_completion c;

	for (uint64_t id = 0; id < 4; id++)
		post_write(b, b->ep[0], id, 0);
	post_recv(b, b->rq[0], 4);
	ok(bsn_qp_fail(b->qp[0]));
	for (unsigned seen = 0; seen != 0x1f; seen |= 1u << c.id) {
		c = bench_next(b, b->cq[0]);
		assert_int_equal(c.status, IBV_WC_WR_FLUSH_ERR);
	}
	expect_nothing(b, b->cq[0]); /* what the library posted to end the drain is not shown */
	assert_int_equal(bench_outstanding(b, 0).sends + bench_outstanding(b, 0).recvs, 0);
	return NULL;
}

const char *try_reset(struct bench *b)
{
	for (int round = 0; round < 2; round++) {
		post_bad_write(b, 1);
		expect_status(b, b->cq[0], 1, BSN_OPCODE_RDMA_WRITE, IBV_WC_REM_ACCESS_ERR);
		bench_start_again(b);
	}
	return try_write(b);
}

/* -- whose queues, whose registers ------------------------------------------------------------- */

struct applications {
	struct ibv_cq *cq;
	struct ibv_qp *qp;
};

static struct applications make_applications(struct bench *b)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 }
	};
	struct applications made;

	made.cq = ibv_create_cq(bench_info(b)->verbs, 63, NULL, NULL, 0);
	assert_non_null(made.cq);
	init.send_cq = init.recv_cq = made.cq;
	made.qp = ibv_create_qp(bsn_qp_info(b->qp[0])->verbs->pd, &init);
	assert_non_null(made.qp);
	return made;
}

const char *try_attach(struct bench *b)
{
	const struct bsn_attach_attr attr = { .register_is_ours = true };
	const struct applications app = make_applications(b);
	struct bsn_qp *qp;

	ok(bsn_qp_attach(b->device, app.qp, &attr, &qp));
	bench_join(qp, qp);
	post_write(b, bsn_qp_ep(qp), 1, NOW);
	expect_done(b, bsn_qp_info(qp)->cq, 1, BSN_OPCODE_RDMA_WRITE);
	assert_arrived(b, 0);
	ok(bsn_qp_destroy(qp));
	ok(-ibv_destroy_qp(app.qp));
	ok(-ibv_destroy_cq(app.cq));
	return NULL;
}

const char *try_lane(struct bench *b)
{
	struct bsn_qp_attr attr = { .cq = b->cq[0], .send_depth = 4, .recv_depth = 4 };

	ok(bsn_lane_create(b->device, NULL, &attr.lane));
	undo_later(b, bsn_lane_destroy, attr.lane);
	struct bsn_qp *qp = make_loop(b, &attr);
	post_write(b, bsn_qp_ep(qp), 1, NOW);
	expect_done(b, b->cq[0], 1, BSN_OPCODE_RDMA_WRITE);
	assert_arrived(b, 0);
	return attr.lane->reg && !dv_lane(attr.lane)->lock
		       ? NULL
		       : "the provider has registers and locks of its own";
}

/* Opens the device with a store, posts a request, and returns the counters of doorbells. */
static struct bsn_counters count_doorbells(struct bench *b, enum bsn_store store)
{
	const struct bsn_device_info *info = bench_info(b);
	const struct bsn_device_attr device_attr = { .path = info->path, .store = store };
	struct bsn_qp_attr attr = { .send_depth = 4, .recv_depth = 4 };
	struct bsn_counters counters;
	struct bsn_device *device;
	struct bsn_qp *qp;

	ok(bsn_device_open(info->name, &device_attr, &device));
	ok(bsn_cq_create(device, NULL, &attr.cq));
	ok(bsn_qp_create(device, &attr, &qp));
	bench_join(qp, qp);
	ok(bsn_write_inline(bsn_qp_ep(qp), NULL, 0, &(struct bsn_remote){ 0, 0 }, 1, NOW));
	expect_done(b, attr.cq, 1, BSN_OPCODE_RDMA_WRITE);
	ok(bsn_qp_counters(qp, &counters));
	ok(bsn_qp_destroy(qp));
	ok(bsn_cq_destroy(attr.cq));
	ok(bsn_device_close(device));
	return counters;
}

const char *try_stores(struct bench *b)
{
	const bool is_direct = bench_info(b)->path == BSN_PATH_DIRECT;

	for (enum bsn_store store = BSN_STORE_AUTO + 1; store < BSN_STORE_COUNT; store++) {
		const bool by_blueflame = is_direct && store != BSN_STORE_DOORBELL;
		if (!bsn_store_supported(store))
			continue;
		const struct bsn_counters counters = count_doorbells(b, store);
		assert_int_equal(counters.blueflame, by_blueflame);
		assert_int_equal(counters.doorbells, !by_blueflame);
	}
	return is_direct ? NULL : "the provider rings";
}
