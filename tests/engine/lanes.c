/* SPDX-License-Identifier: BSD-2-Clause */
/* Lanes: QPs that share a register share its toggle, and the way it is rung. */
#include "harness.h"

enum { QPS = 2, LANES_MAX = 16384 };

/* QPs of one thread domain, made by libibverbs. */
struct domain {
	struct ibv_td *td;
	struct ibv_pd *pd, *parent;
	struct ibv_cq *cq;
	struct ibv_qp *qp[QPS];
	struct bsn_qp *attached[QPS];
	struct bsn_mr *mem;
};

static struct ibv_qp *make_verbs_qp(struct ibv_pd *pd, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC, .cap = { 8, 8, 1, 1, 0 }
	};
	struct ibv_qp *qp = ibv_create_qp(pd, &init);

	assert_non_null(qp);
	return qp;
}

static struct domain make_domain(struct bench *b)
{
	const struct bsn_attach_attr promise = { .register_is_ours = true };
	struct ibv_context *context = bench_info(b)->verbs;
	struct ibv_td_init_attr td = { 0 };
	struct ibv_parent_domain_init_attr parent = { 0 };
	struct domain d = { .td = ibv_alloc_td(context, &td), .pd = ibv_alloc_pd(context) };

	parent.td = d.td;
	parent.pd = d.pd;
	d.parent = ibv_alloc_parent_domain(context, &parent);
	d.cq = ibv_create_cq(context, 64, NULL, NULL, 0);
	assert_non_null(d.parent);
	assert_non_null(d.cq);
	for (int i = 0; i < QPS; i++) {
		d.qp[i] = make_verbs_qp(d.parent, d.cq);
		ok(bsn_qp_attach(b->device, d.qp[i], &promise, &d.attached[i]));
		bench_join(d.attached[i], d.attached[i]);
	}
	return d;
}

static void free_domain(struct domain *d)
{
	for (int i = 0; i < QPS; i++) {
		ok(bsn_qp_destroy(d->attached[i]));
		assert_int_equal(ibv_destroy_qp(d->qp[i]), 0);
	}
	assert_int_equal(ibv_destroy_cq(d->cq), 0);
	assert_int_equal(ibv_dealloc_pd(d->parent), 0);
	assert_int_equal(ibv_dealloc_pd(d->pd), 0);
	assert_int_equal(ibv_dealloc_td(d->td), 0);
}

/* Each post takes the buffer that the post before did not take, whichever QP that was. */
static void qps_of_a_thread_domain_toggle_together(struct bench *b)
{
	uint8_t *buffer, *last = NULL;

	if (b->kind != BENCH_DIRECT)
		return;
	struct domain d = make_domain(b);
	for (int i = 0; i < 8; i++) {
		struct bsn_qp *qp = d.attached[i % QPS];
		buffer = bench_sq(qp)->lane->reg;
		assert_ptr_not_equal(buffer, last);
		last = buffer;
		ok(bsn_write_inline(bsn_qp_ep(qp), "", 0, &(struct bsn_remote){ 0, 0 }, 0, NOW));
	}
	free_domain(&d);
}

static void a_lane_goes_with_the_last_of_its_register(struct bench *b)
{
	if (b->kind != BENCH_DIRECT)
		return;
	struct domain d = make_domain(b);
	const struct bsn_lane *shared = bench_sq(d.attached[0])->lane;
	assert_ptr_equal(shared, bench_sq(d.attached[1])->lane);
	ok(bsn_qp_destroy(d.attached[0]));
	d.attached[0] = NULL;
	assert_ptr_equal(shared, bench_sq(d.attached[1])->lane);
	ok(bsn_write_inline(bsn_qp_ep(d.attached[1]), "", 0, &(struct bsn_remote){ 0, 0 }, 0, NOW));
	free_domain(&d);
}

/* -- libmlx5's own switches -------------------------------------------------------------------- */

static struct bsn_counters count_a_post(struct bench *b, const char *variable, const char *value)
{
	const struct bsn_device_attr attr = { .path = BSN_PATH_DIRECT, .store = BSN_STORE_8 };
	struct bsn_counters counters;
	struct bsn_device *device;
	struct bsn_cq *cq;
	struct bsn_qp *qp;

	assert_int_equal(setenv(variable, value, 1), 0);
	ok(bsn_device_open(bench_info(b)->name, &attr, &device));
	assert_int_equal(unsetenv(variable), 0);
	ok(bsn_cq_create(device, NULL, &cq));
	ok(bsn_qp_create(device, &(struct bsn_qp_attr){ .cq = cq }, &qp));
	bench_join(qp, qp);
	ok(bsn_write_inline(bsn_qp_ep(qp), "", 0, &(struct bsn_remote){ 0, 0 }, 7, NOW));
	expect_done(b, cq, 7, BSN_OPCODE_RDMA_WRITE);
	ok(bsn_qp_counters(qp, &counters));
	ok(bsn_qp_destroy(qp));
	ok(bsn_cq_destroy(cq));
	ok(bsn_device_close(device));
	return counters;
}

static void libmlx5_s_switches_are_obeyed(struct bench *b)
{
	static const struct {
		const char *variable, *value;
		unsigned blueflame;
	} switches[] = {
		{ "MLX5_SHUT_UP_BF", "1", 0 },
		{ "MLX5_SHUT_UP_BF", "0", 1 },
		{ "MLX5_POST_SEND_PREFER_BF", "0", 0 },
		{ "MLX5_POST_SEND_PREFER_BF", "1", 1 },
	};

	for (size_t i = 0; b->kind == BENCH_DIRECT && i < COUNT(switches); i++) {
		const struct bsn_counters counters =
			count_a_post(b, switches[i].variable, switches[i].value);
		assert_int_equal(counters.blueflame, switches[i].blueflame);
		assert_int_equal(counters.doorbells, !switches[i].blueflame);
	}
}

/* -- two posters ------------------------------------------------------------------------------- */

struct poster {
	struct bench *bench;
	struct bsn_qp *qp;
};

/* Posts so many that the queue looks for room again and again. */
static void *post_and_poll(void *arg)
{
	const struct poster *p = arg;

	for (uint64_t i = 0; i < 40; i++) {
		ok(bsn_write_inline(bsn_qp_ep(p->qp), "", 0, &(struct bsn_remote){ 0, 0 }, i, NOW));
		expect_done(p->bench, bsn_qp_info(p->qp)->cq, i, BSN_OPCODE_RDMA_WRITE);
	}
	return NULL;
}

/* The two post one after the other, so that nothing tears here. */
static uint32_t count_two_posters(struct bench *b, bool is_handed_over, bool is_shared)
{
	const struct bsn_lane_attr lane_attr = { .is_shared = is_shared };
	struct bsn_qp_attr attr = { .send_depth = 8 };
	struct bsn_counters counters;
	struct poster posters[QPS];

	ok(bsn_lane_create(b->device, &lane_attr, &attr.lane));
	undo_later(b, bsn_lane_destroy, attr.lane);
	attr.cq = bench_cq(b, NULL);
	for (int i = 0; i < QPS; i++) {
		posters[i].bench = b;
		posters[i].qp = bench_qp(b, &attr);
		bench_join(posters[i].qp, posters[i].qp);
	}
	post_and_poll(&posters[0]);
	for (int i = 0; is_handed_over && i < QPS; i++)
		ok(bsn_qp_hand_over(posters[i].qp));
	bench_threads(post_and_poll, &posters[1], 1, 0);
	ok(bsn_qp_counters(posters[0].qp, &counters));
	return counters.lane_posters;
}

static void two_posters_are_counted(struct bench *b)
{
	assert_int_equal(count_two_posters(b, false, false), b->kind == BENCH_DIRECT);
	assert_int_equal(count_two_posters(b, true, false), 0);
	assert_int_equal(count_two_posters(b, true, true), 0);
}

/* -- no register left -------------------------------------------------------------------------- */

/* Only sends take a register. */
static void a_cq_of_receives_takes_no_lane(struct bench *b)
{
	struct bsn_qp_attr attr = { .type = BSN_QP_RC, .send_depth = 8, .recv_depth = 8 };

	attr.cq = bench_cq(b, NULL);
	attr.recv_cq = bench_cq(b, NULL);
	assert_int_equal(bsn_device_close(b->device), -EBUSY);
	assert_null(strstr(bsn_error_text(), "lane"));
	bench_qp(b, &attr);
	fails(EBUSY, "1 lane(s)", bsn_device_close(b->device));
}

/*
 * On an application's context, the remaining registers may be shared with QPs that libmlx5 posts
 * to, under a lock that is not ours.
 */
static void an_application_s_context_gives_no_shared_lane(struct bench *b)
{
	static struct bsn_lane *lanes[LANES_MAX];
	const struct bsn_device_attr attr = { .path = BSN_PATH_DIRECT };
	struct bsn_device *device;
	int count = 0, err = 0;

	if (b->kind != BENCH_DIRECT)
		return;
	ok(bsn_device_attach(bench_info(b)->verbs, &attr, &device));
	while (!err && count < LANES_MAX)
		err = bsn_lane_create(device, NULL, &lanes[count++]);
	fails(ENOSPC, "no register", err);
	count--;
	while (count)
		ok(bsn_lane_destroy(lanes[--count]));
	ok(bsn_device_close(device));
}

/*
 * On a context of our own a lane may have a register that other lanes have, too: it has a lock, and
 * rings by doorbells.
 */
static void a_register_of_several_lanes_is_rung_under_a_lock(struct bench *b)
{
	static struct bsn_lane *lanes[LANES_MAX];
	struct bsn_qp_attr attr = { .send_depth = 1, .recv_depth = 1 };
	struct bsn_counters counters;
	struct bsn_qp *qp[2];
	int count = 0;

	if (b->kind != BENCH_DIRECT)
		return;
	do
		ok(bsn_lane_create(b->device, NULL, &lanes[count]));
	while (!dv_lane(lanes[count++])->lock && count < LANES_MAX - 1);
	ok(bsn_lane_create(b->device, NULL, &lanes[count++]));
	ok(bsn_cq_create(b->device, NULL, &attr.cq));
	for (int i = 0; i < 2; i++) {
		attr.lane = lanes[count - 2 + i];
		assert_non_null(dv_lane(attr.lane)->lock);
		ok(bsn_qp_create(b->device, &attr, &qp[i]));
		bench_join(qp[i], qp[i]);
		ok(bsn_write_inline(bsn_qp_ep(qp[i]), "", 0, &(struct bsn_remote){ 0, 0 }, 7, NOW));
		expect_done(b, attr.cq, 7, BSN_OPCODE_RDMA_WRITE);
		ok(bsn_qp_counters(qp[i], &counters));
		assert_int_equal(counters.doorbells, 1);
		assert_int_equal(counters.blueflame, 0);
	}
	for (int i = 0; i < 2; i++)
		ok(bsn_qp_destroy(qp[i]));
	ok(bsn_cq_destroy(attr.cq));
	while (count)
		ok(bsn_lane_destroy(lanes[--count]));
}

static const struct bench_case cases[] = {
	{ CASE(qps_of_a_thread_domain_toggle_together), BARE, MODEL },
	{ CASE(a_lane_goes_with_the_last_of_its_register), BARE, MODEL },
	{ CASE(libmlx5_s_switches_are_obeyed), BARE, MODEL },
	{ CASE(two_posters_are_counted), BARE, MODEL },
	{ CASE(a_cq_of_receives_takes_no_lane), BARE },
	{ CASE(an_application_s_context_gives_no_shared_lane), BARE, MODEL },
	{ CASE(a_register_of_several_lanes_is_rung_under_a_lock), BARE, MODEL },
};

BENCH_MAIN("lanes")
