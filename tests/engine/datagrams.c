/* SPDX-License-Identifier: BSD-2-Clause */
/* UD: endpoints, where a message came from, and the way back. */
#include "harness.h"
#include "refuse.h"

enum { INTO = 1024, LENGTH = 200 };

static void post_recv(struct bench *b, int end, uint64_t id)
{
	ok(bsn_recv(b->rq[end], SGE(b, end, INTO, BSN_GRH_SIZE + LENGTH), id));
}

/* Expects a message of end @from; it is after the place of the GRH. */
static struct bsn_completion expect_message(struct bench *b, int from, uint64_t id, uint32_t length)
{
	const struct bsn_completion c = expect_done(b, b->cq[!from], id, BSN_RECV);

	assert_int_equal(c.byte_len, BSN_GRH_SIZE + length);
	assert_int_equal(c.src_qpn, bsn_qp_info(b->qp[from])->number);
	assert_int_equal(c.qpn, bsn_qp_info(b->qp[!from])->number);
	assert_int_equal(!!(c.flags & BSN_C_GRH), !strcmp(bench_info(b)->link_layer, "Ethernet"));
	assert_memory_equal(bench_at(b, !from, INTO + BSN_GRH_SIZE), bench_at(b, from, 0), length);
	return c;
}

static void a_message_says_where_it_came_from(struct bench *b)
{
	post_recv(b, 1, 1);
	ok(bsn_send(b->ep[0], SGE(b, 0, 0, LENGTH), 2, NOW));
	assert_ptr_equal(expect_done(b, b->cq[0], 2, BSN_OPCODE_SEND).user, &b->ep[0]);
	assert_ptr_equal(expect_message(b, 0, 1, LENGTH).user, &b->qp[1]);
	post_recv(b, 1, 3);
	ok(bsn_send_imm(b->ep[0], SGE(b, 0, 0, LENGTH), 0xcafe, 4, NOW));
	expect_done(b, b->cq[0], 4, BSN_OPCODE_SEND_IMM);
	struct bsn_completion c = expect_message(b, 0, 3, LENGTH);
	assert_true(c.flags & BSN_C_IMM);
	assert_int_equal(c.imm, 0xcafe);
}

static void inline_data_of_every_length(struct bench *b)
{
	for (uint32_t length = 0; length <= b->test->qp.max_inline; length++) {
		post_recv(b, 1, length);
		ok(bsn_send_inline(b->ep[0], bench_at(b, 0, 0), length, length, NOW));
		expect_done(b, b->cq[0], length, BSN_OPCODE_SEND);
		expect_message(b, 0, length, length);
	}
}

/* The reply needs nothing but the completion and the GRH. */
static void an_endpoint_comes_from_a_message(struct bench *b)
{
	struct bsn_ep *back;
	char mine;

	post_recv(b, 1, 1);
	ok(bsn_send(b->ep[0], SGE(b, 0, 0, LENGTH), 2, BSN_F_RING));
	struct bsn_completion c = expect_message(b, 0, 1, LENGTH);
	ok(bsn_ep_create_reply(b->qp[1], &c, bench_at(b, 1, INTO), NULL, &mine, &back));
	post_recv(b, 0, 3);
	memcpy(bench_at(b, 1, 0), "reply", 5);
	ok(bsn_send_inline(back, "reply", 5, 4, NOW));
	c = expect_done(b, b->cq[1], 4, BSN_OPCODE_SEND);
	assert_ptr_equal(c.user, &mine);
	expect_message(b, 1, 3, 5);
	assert_int_equal(bsn_qp_destroy(b->qp[1]), -EBUSY);
	ok(bsn_ep_destroy(back));
	c.status = IBV_WC_WR_FLUSH_ERR;
	assert_int_equal(bsn_ep_create_reply(b->qp[1], &c, bench_at(b, 1, INTO), NULL, NULL, &back),
			 -EINVAL);
}

static void refused_for_want_of_a_peer(int err)
{
	assert_int_equal(err, -EINVAL);
	assert_non_null(bsn_refusal);
	assert_non_null(strstr(bsn_error_text(), "bsn_ep_create"));
	bsn_refusal = NULL;
}

/* Posting without an endpoint is a natural mistake. Inline code does not check for one. */
static void the_queue_pair_itself_is_no_endpoint(struct bench *b)
{
	const struct bsn_sge local[2] = { bench_sge(b, 0, 0, 8), bench_sge(b, 0, 8, 8) };
	const struct bsn_wr wr = { .opcode = BSN_OPCODE_SEND, .sge = local, .sge_count = 1 };
	const struct bsn_remote to = bench_remote(b, 1, 0);
	struct bsn_ep *const ep = bsn_qp_ep(b->qp[0]);
	const struct bsn_masked_fa masked = { .add = 1 };
	struct bsn_prepared prepared = { .body_ds = 1 };
	volatile unsigned two = 2, bytes = 8;

	refused_for_want_of_a_peer(bsn_send(ep, local, 0, BSN_F_RING));
	refused_for_want_of_a_peer(bsn_send_sgl(ep, local, 2, 0, BSN_F_RING));
	refused_for_want_of_a_peer(bsn_send_sgl(ep, local, two, 0, 0));
	refused_for_want_of_a_peer(bsn_write(ep, local, &to, 0, BSN_F_RING));
	for (bytes = 0; bytes <= 300; bytes++)
		refused_for_want_of_a_peer(
			bsn_send_inline(ep, bench_at(b, 0, 0), bytes, 0, BSN_F_RING));
	refused_for_want_of_a_peer(bsn_write_inline(ep, local, 16, &to, 0, 0));
	refused_for_want_of_a_peer(bsn_fetch_add(ep, local, &to, 1, 0, 0));
	refused_for_want_of_a_peer(bsn_masked_fetch_add(ep, local, &to, &masked, 8, 0, 0));
	refused_for_want_of_a_peer(bsn_memcpy(ep, local, local + 1, local, 0, 0));
	refused_for_want_of_a_peer(bsn_post(ep, &wr));
	refused_for_want_of_a_peer(bsn_prepare(ep, &wr, &prepared));
	refused_for_want_of_a_peer(bsn_post_prepared(ep, &prepared, 0, BSN_F_RING));
	assert_int_equal(bsn_ep_destroy(ep), -EINVAL);
	refused_for_want_of_a_peer(bsn_ring(ep));
	refused_for_want_of_a_peer(bsn_cancel(ep));
	assert_int_equal(bsn_room(ep), 0);
}

/* Each request comes back with the user pointer of its own endpoint. */
static void endpoints_share_a_queue(struct bench *b)
{
	struct bsn_address peer;
	struct bsn_ep *ep[3];
	int user[3];

	ok(bsn_qp_address(b->qp[1], &peer));
	for (int i = 0; i < 3; i++)
		ok(bsn_ep_create(b->qp[0], &peer, NULL, &user[i], &ep[i]));
	for (uint64_t id = 0; id < 6; id++) {
		post_recv(b, 1, id);
		ok(bsn_send(ep[id % 3], SGE(b, 0, 0, 16), id, BSN_F_SIGNALED));
	}
	ok(bsn_ring(b->ep[0]));
	for (uint64_t id = 0; id < 6; id++) {
		assert_ptr_equal(expect_done(b, b->cq[0], id, BSN_OPCODE_SEND).user, &user[id % 3]);
		expect_message(b, 0, id, 16);
	}
	for (int i = 0; i < 3; i++)
		ok(bsn_ep_destroy(ep[i]));
}

static void a_failed_request_has_its_endpoint_s_user(struct bench *b)
{
	struct bsn_sge local = bench_sge(b, 0, 0, 16);

	local.lkey ^= 0x5500;
	ok(bsn_send(b->ep[0], &local, 1, BSN_F_RING));
	struct bsn_completion c =
		expect_status(b, b->cq[0], 1, BSN_OPCODE_SEND, IBV_WC_LOC_PROT_ERR);
	assert_ptr_equal(c.user, &b->ep[0]);
	ok(bsn_qp_fail(b->qp[0]));
	ok(bsn_send(b->ep[0], &local, 2, BSN_F_RING));
	c = expect_status(b, b->cq[0], 2, BSN_OPCODE_SEND, IBV_WC_WR_FLUSH_ERR);
	assert_ptr_equal(c.user, &b->ep[0]);
}

/* A queue of datagrams is full at some point and is polled empty again, like any other. */
static void a_full_queue_refuses_until_polled(struct bench *b)
{
	uint64_t id;

	for (unsigned lap = 0; lap < 5; lap++) {
		int err = 0;
		uint64_t reaped = 0;
		for (id = 0; !err; id++)
			err = bsn_send(b->ep[0], SGE(b, 0, 0, 16), id, NOW);
		assert_int_equal(err, -EAGAIN);
		assert_true(id - 1 >= bsn_qp_info(b->qp[0])->send_depth);
		while (reaped < id - 1) {
			assert_int_equal(bench_next(b, b->cq[0]).id, reaped++);
		}
	}
}

static void what_datagrams_lack_is_refused(struct bench *b)
{
	const struct bsn_sge local = bench_sge(b, 0, 0, 8);
	const struct bsn_remote remote = bench_remote(b, 1, 0);

	assert_int_equal(bsn_write(b->ep[0], &local, &remote, 1, BSN_F_RING), -EOPNOTSUPP);
	assert_int_equal(bsn_read(b->ep[0], &local, &remote, 1, BSN_F_RING), -EOPNOTSUPP);
	assert_int_equal(bsn_fetch_add(b->ep[0], &local, &remote, 1, 1, BSN_F_RING), -EOPNOTSUPP);
	assert_int_equal(bsn_send_inval(b->ep[0], &local, 1, 1, BSN_F_RING), -EOPNOTSUPP);
	expect_nothing(b, b->cq[0]);
}

#define UD .qp = { .type = BSN_QP_UD, .max_inline = 100, .send_depth = 16 }

#define ON_BOTH_LINKS(function)                                                                    \
	{ CASE(function), UD },                                                                    \
	{                                                                                          \
		CASE_OF(function, "RoCE"), UD, ROCE, MODEL                                         \
	}

static const struct bench_case cases[] = {
	ON_BOTH_LINKS(a_message_says_where_it_came_from),
	ON_BOTH_LINKS(inline_data_of_every_length),
	ON_BOTH_LINKS(an_endpoint_comes_from_a_message),
	{ CASE(the_queue_pair_itself_is_no_endpoint), UD },
	{ CASE(endpoints_share_a_queue), UD },
	{ CASE(a_failed_request_has_its_endpoint_s_user), UD,
	  /* Linux 6.1, drivers/infiniband/sw/rxe/rxe_req.c: of a key that leads nowhere */
	  .rxe_says = { { IBV_WC_LOC_PROT_ERR, IBV_WC_LOC_QP_OP_ERR } } },
	{ CASE(a_full_queue_refuses_until_polled), UD },
	{ CASE(what_datagrams_lack_is_refused), UD },
};

BENCH_MAIN("datagrams")
