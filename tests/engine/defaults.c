/* SPDX-License-Identifier: BSD-2-Clause */
/* With all defaults, objects fit each other, on any register that the device has left. */
#include "harness.h"
#include "provider.h"

enum { LANES_MAX = 16384 };

static const enum bsn_qp_type types[] = { BSN_QP_RC, BSN_QP_UC, BSN_QP_UD };

static struct bsn_qp *make_qp(struct bsn_device *device, enum bsn_qp_type type, struct bsn_cq *cq,
			      struct bsn_rq *srq)
{
	struct bsn_qp *qp;

	ok(bsn_qp_create(device, &(struct bsn_qp_attr){ .type = type, .cq = cq, .srq = srq }, &qp));
	return qp;
}

/* Two QPs on a CQ, of each type, with and without an SRQ, all with default sizes. */
static void two_qps_fit_a_cq(struct bench *b)
{
	for (int pair = 0; pair < 9; pair++)
		for (int shares = 0; shares < 2; shares++) {
			struct bsn_qp_attr attr = { .cq = bench_cq(b, NULL),
						    .srq = shares ? bench_srq(b, NULL) : NULL };
			attr.type = types[pair / 3];
			bench_qp(b, &attr);
			attr.type = types[pair % 3];
			bench_qp(b, &attr);
		}
}

/* The SRQ takes as many receives as the CQ was charged for, and all that were asked for. */
static void an_srq_takes_what_its_cq_was_charged_for(struct bench *b)
{
	for (uint32_t depth = 1; depth < 20; depth++) {
		struct bsn_qp_attr qp = { .send_depth = 4 };
		struct bsn_qp * not ;
		qp.srq = new_srq(b, .recv_depth = depth);
		qp.cq = new_cq(b, .entries = depth + 4);
		bench_qp(b, &qp);
		qp.send_depth = 1;
		assert_int_equal(bsn_qp_create(b->device, &qp, &not ), -ENOSPC);
		for (uint32_t i = 0; i < depth; i++)
			ok(bsn_recv(qp.srq, SGE(b, 0, 0, 8), i));
		assert_int_equal(bsn_recv(qp.srq, SGE(b, 0, 0, 8), depth), -EAGAIN);
	}
}

/* -- registers --------------------------------------------------------------------------------- */

static void note_shortage(void *arg, const char *text)
{
	*(bool *)arg |= strstr(text, "no register") != NULL;
}

static void write_to_itself(struct bench *b, struct bsn_cq *cq, struct bsn_qp *qp,
			    struct bsn_mr *mem)
{
	char *const bytes = mem->data;
	const struct bsn_remote to = { mem->addr + 64, mem->rkey };

	memcpy(bytes, "itself", 6);
	memset(bytes + 64, 0, 6);
	ok(bsn_write(bsn_qp_ep(qp), &(struct bsn_sge){ mem->addr, 6, mem->lkey }, &to, 1, NOW));
	expect_done(b, cq, 1, BSN_OPCODE_RDMA_WRITE);
	assert_memory_equal(bytes, bytes + 64, 6);
}

static struct bsn_qp *make_connected(struct bsn_device *device, struct bsn_cq *cq)
{
	struct bsn_qp *qp = make_qp(device, BSN_QP_RC, cq, NULL);

	bench_join(qp, qp);
	return qp;
}

/* libmlx5 gives each of these QPs a register, and keeps the registers for later QPs. */
static void take_registers(struct bsn_device *device)
{
	struct ibv_context *context = bsn_device_info(device)->verbs;
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_cq *cq = ibv_create_cq(context, 16, NULL, NULL, 0);
	struct ibv_qp_init_attr init = {
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC, .cap = { 1, 1, 1, 1, 0 }
	};
	struct ibv_qp *qp[4];

	for (int i = 0; i < 4; i++) {
		qp[i] = ibv_create_qp(pd, &init);
		assert_non_null(qp[i]);
	}
	for (int i = 0; i < 4; i++)
		assert_int_equal(ibv_destroy_qp(qp[i]), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
}

/*
 * When registers are used up, libmlx5 gives each new QP another one of those that it has. QPs still
 * come and go on a lane, and those that stay keep working.
 */
static void qps_come_and_go_without_registers(struct bench *b)
{
	enum { QPS = 2, LAPS = 12 };
	static struct bsn_lane *lanes[LANES_MAX];
	bool is_short = false;
	const struct bsn_device_attr attr = { .path = BSN_PATH_DIRECT,
					      .log = note_shortage,
					      .log_arg = &is_short };
	struct bsn_qp *qp[QPS] = { NULL };
	struct bsn_device *device;
	struct bsn_mr *mem;
	struct bsn_cq *cq;
	int count = 0;

	if (b->kind != BENCH_DIRECT)
		return;
	ok(bsn_device_open("mlx5_0", &attr, &device));
	take_registers(device);
	while (!is_short && count < LANES_MAX)
		ok(bsn_lane_create(device, NULL, &lanes[count++]));
	assert_true(is_short);
	ok(bsn_buf_alloc(device, 4096, NULL, &mem));
	ok(bsn_cq_create(device, NULL, &cq));
	for (int lap = 0; lap < LAPS; lap++) {
		ok(bsn_qp_destroy(qp[lap % QPS]));
		qp[lap % QPS] = make_connected(device, cq);
		for (int i = 0; i < QPS && qp[i]; i++)
			write_to_itself(b, cq, qp[i], mem);
	}
	for (int i = 0; i < QPS; i++) { /* other QPs of the register would tear a BlueFlame copy */
		struct bsn_counters counters;
		ok(bsn_qp_counters(qp[i], &counters));
		assert_int_equal(counters.blueflame, 0);
		assert_true(counters.doorbells > 0);
	}
	for (int i = 0; i < QPS; i++)
		ok(bsn_qp_destroy(qp[i]));
	ok(bsn_cq_destroy(cq));
	ok(bsn_buf_free(mem));
	while (count)
		ok(bsn_lane_destroy(lanes[--count]));
	ok(bsn_device_close(device));
}

/* -- sizes ------------------------------------------------------------------------------------- */

static void the_greatest_depth_can_be_created(struct bench *b)
{
	const uint32_t most = bench_info(b)->max_send_wr;
	struct bsn_qp *qp;
	struct bsn_cq *cq = new_cq(b, .entries = 2 * most);

	for (enum bsn_qp_type type = BSN_QP_RC; type <= BSN_QP_UC; type++) {
		const struct bsn_qp_attr attr = { .type = type, .cq = cq, .send_depth = most };
		ok(bsn_qp_create(b->device, &attr, &qp));
		assert_int_equal(bsn_qp_info(qp)->send_depth, most);
		ok(bsn_qp_destroy(qp));
	}
}

/* The ring need not have room for libmlx5's own longest requests. */
static void a_send_ring_has_room_for_its_depth(struct bench *b)
{
	enum { DEPTH = 256 };
	static const struct {
		struct bsn_qp_attr attr;
		uint32_t blocks;
	} shapes[] = {
		{ { .type = BSN_QP_RC }, DEPTH },
		{ { .type = BSN_QP_UC }, DEPTH },
		{ { .type = BSN_QP_UD }, 2 * DEPTH },
		{ { .type = BSN_QP_RC, .max_send_sge = 4 }, 2 * DEPTH },
		{ { .type = BSN_QP_RC, .max_inline = 92 }, 2 * DEPTH },
		{ { .type = BSN_QP_RC, .max_inline = 93 }, 4 * DEPTH },
	};

	if (b->kind != BENCH_DIRECT)
		return;
	struct bsn_cq *cq = new_cq(b, .entries = 8 * DEPTH);
	for (size_t i = 0; i < COUNT(shapes); i++) {
		struct bsn_qp_attr attr = shapes[i].attr;
		struct provider_qp map;
		struct bsn_qp *qp;
		attr.cq = cq;
		attr.send_depth = DEPTH;
		ok(bsn_qp_create(b->device, &attr, &qp));
		assert_int_equal(provider_qp_map(bsn_qp_info(qp)->verbs, &map), 0);
		assert_int_equal(map.sq_count_bb, shapes[i].blocks);
		ok(bsn_qp_destroy(qp));
	}
}

static void a_small_cq_says_in_one_round_what_is_needed(struct bench *b)
{
	struct bsn_qp *qp;
	struct bsn_cq *cq = new_cq(b, .entries = 64);

	fails(ENOSPC, "create it with 256",
	      bsn_qp_create(b->device, &(struct bsn_qp_attr){ .cq = cq }, &qp));
}

static const struct bench_case cases[] = {
	{ CASE(the_greatest_depth_can_be_created), BARE, MODEL },
	{ CASE(a_send_ring_has_room_for_its_depth), BARE },
	{ CASE(a_small_cq_says_in_one_round_what_is_needed), BARE },
	{ CASE(two_qps_fit_a_cq), BARE },
	{ CASE(an_srq_takes_what_its_cq_was_charged_for), BARE },
	{ CASE(qps_come_and_go_without_registers), BARE, MODEL },
};

BENCH_MAIN("defaults")
