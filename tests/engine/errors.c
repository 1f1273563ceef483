/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests that fail. Each comes back with the right status and id, outstanding requests come back
 * in the order of posting, and the queue can be used again.
 */
#include "harness.h"
#include "bsn_decode.h"
#include "causes.h"

static int post_write(struct bench *b, uint64_t id, unsigned flags)
{
	return bench_write(b, 0, 64, id, flags);
}

static int post_bad_write(struct bench *b, uint64_t id, unsigned flags)
{
	const struct bsn_remote remote = { b->mem[1]->addr, b->mem[1]->rkey ^ 0x5500 };

	return bsn_write(b->ep[0], SGE(b, 0, 0, 64), &remote, id, flags);
}

static int post_recv(struct bench *b, int end, uint32_t length, uint64_t id)
{
	return bench_recv(b, end, 4096, length, id);
}

/* -- causes ------------------------------------------------------------------------------------ */

/* What a request moves data from and to. */
struct memories {
	struct bsn_sge local;
	struct bsn_remote remote;
};

/*
 * What end 0 posts, and the status that it gets. An error at the responder fails end 1, too. A
 * request would succeed, if the cause did not change something about it.
 */
struct cause {
	enum bsn_wqe_opcode opcode;
	enum ibv_wc_status status;
	enum bsn_syndrome syndrome;
	unsigned vendor_syndrome;
	enum ibv_wc_status far_status; /* of end 1's receive; success: it has none */
	uint32_t local_at, local_bytes, remote_at;
	uint32_t local_key, remote_key, receive_key; /* bits of the keys that are wrong */
	void (*spoil)(struct bench *b, struct memories *m);
};

/*
 * The meaning of syndromes is known from tables and measurements of others. The model has to agree
 * with them; a real device's syndromes are only printed.
 */
static struct bsn_completion expect_cause(struct bench *b, const struct cause *cause)
{
	struct bsn_completion c;

	if (b->is_model || b->is_rxe) {
		c = expect_status(b, b->cq[0], 77, cause->opcode, cause->status);
		if (b->is_model)
			assert_int_equal(c.vendor_syndrome, cause->vendor_syndrome);
		return c;
	}
	c = bench_next(b, b->cq[0]);
	assert_int_equal(c.id, 77);
	assert_int_equal(c.opcode, cause->opcode);
	assert_int_not_equal(c.status, IBV_WC_SUCCESS);
	print_message("syndromes: %s: %#x %#x, expected %#x %#x\n", b->test->name,
		      (unsigned)c.syndrome, (unsigned)c.vendor_syndrome, (unsigned)cause->syndrome,
		      cause->vendor_syndrome);
	return c;
}

/* The text has the sentence and the likeliest cause of the table that wqe-dump also uses. */
static void assert_says_what_wqe_dump_does(const char *text, const struct bsn_completion *c)
{
	struct code code = bsn_cause_of_vendor(c->vendor_syndrome);

	if (!c->vendor_syndrome || !code.is_known)
		code = bsn_cause_of_syndrome(c->syndrome);
	enum topic topic = bsn_cause_at(code.topic, SIDE_OF_REQUESTER);
	const char *likeliest = topic == TOPIC_REMOTE_KEY ? NULL : bsn_cause_note(topic, c->opcode);
	likeliest = likeliest ? likeliest : bsn_cause_likeliest(topic);
	if (!strstr(text, bsn_cause_meaning(topic)) || (likeliest && !strstr(text, likeliest)))
		fail_msg("%s: \"%s\"", likeliest, text);
}

static void fails_so(struct bench *b)
{
	const struct cause *cause = b->test->of;
	struct memories m = {
		bench_sge(b, 0, cause->local_at, cause->local_bytes ? cause->local_bytes : 64),
		bench_remote(b, 1, cause->remote_at),
	};
	struct bsn_sge into = bench_sge(b, 1, 4096, 100);
	struct bsn_wr wr = { .id = 77,
			     .sge = &m.local,
			     .sge_count = 1,
			     .flags = BSN_F_RING,
			     .opcode = cause->opcode,
			     .swap_add = 1 };

	m.local.lkey ^= cause->local_key;
	m.remote.rkey ^= cause->remote_key;
	into.lkey ^= cause->receive_key;
	if (cause->spoil)
		cause->spoil(b, &m);
	wr.remote = m.remote;
	if (b->is_rxe && cause->opcode == BSN_OPCODE_ATOMIC_FA) { /* looks before it posts */
		assert_int_equal(bsn_post(b->ep[0], &wr), -EINVAL);
		assert_int_equal(bench_outstanding(b, 0).sends, 0);
		return;
	}
	if (cause->far_status)
		ok(bsn_recv(b->rq[1], &into, 88));
	ok(bsn_post(b->ep[0], &wr));
	struct bsn_completion c = expect_cause(b, cause);
	assert_int_equal(c.qpn, bsn_qp_info(b->qp[0])->number);
	assert_int_equal(c.syndrome, c.status == cause->status ? cause->syndrome
							       : bsn_syndrome_of_status(c.status));
	assert_ptr_equal(c.user, &b->qp[0]);
	struct bsn_qp_error error = bench_error(b, 0);
	assert_int_equal(error.state, IBV_QPS_ERR);
	assert_true(error.has_failed);
	assert_memory_equal(&error.first, &c, sizeof(c));
	assert_says_what_wqe_dump_does(error.text, &c);
	if (cause->far_status)
		expect_status(b, b->cq[1], 88, BSN_RECV, cause->far_status);
	assert_int_equal(bench_outstanding(b, 0).sends, 0);
}

static struct bsn_mr *register_of(struct bench *b, int end, struct bsn_mr_attr attr)
{
	return bench_mr(b, bench_at(b, end, 8192), 4096, &attr);
}

static void read_only(struct bench *b, struct memories *m)
{
	m->local =
		bsn_sge_of(register_of(b, 0, (struct bsn_mr_attr){ .is_read_only = true }), 0, 64);
}

static void local_elsewhere(struct bench *b, struct memories *m)
{
	m->local = bsn_sge_of(register_of(b, 0, (struct bsn_mr_attr){ .pd = bench_pd(b) }), 0, 64);
}

static void remote_elsewhere(struct bench *b, struct memories *m)
{
	m->remote = bsn_remote_of(register_of(b, 1, (struct bsn_mr_attr){ .pd = bench_pd(b) }), 0);
}

static void taken_back(struct bench *b, struct memories *m)
{
	struct bsn_mr *mr;

	ok(bsn_mr_register(b->device, bench_at(b, 1, 8192), 4096, NULL, &mr));
	m->remote = bsn_remote_of(mr, 0);
	ok(bsn_mr_deregister(mr));
}

static void not_writable(struct bench *b, struct memories *m)
{
	const struct bsn_mr_attr attr = { .access = IBV_ACCESS_REMOTE_READ };

	m->remote = bsn_remote_of(register_of(b, 1, attr), 0);
}

static void not_readable(struct bench *b, struct memories *m)
{
	struct ibv_qp_attr attr = { .qp_access_flags = IBV_ACCESS_REMOTE_WRITE };

	(void)m;
	ok(-ibv_modify_qp(bsn_qp_info(b->qp[1])->verbs, &attr, IBV_QP_ACCESS_FLAGS));
}

static void peer_gone(struct bench *b, struct memories *m)
{
	(void)m;
	ok(bsn_qp_reset(b->qp[1]));
}

/* -- what comes back --------------------------------------------------------------------------- */

/* All requests after a failed one come back, whether or not a completion was asked for. */
static void what_follows_is_flushed_in_order(struct bench *b)
{
	for (uint64_t id = 0; id < 3; id++)
		ok(post_recv(b, 0, 64, 100 + id));
	ok(post_write(b, 0, 0));
	ok(post_write(b, 1, BSN_F_SIGNALED));
	ok(post_write(b, 2, 0));
	ok(post_bad_write(b, 3, 0));
	for (uint64_t id = 4; id < 9; id++)
		ok(post_write(b, id, id % 2 ? BSN_F_SIGNALED : 0));
	ok(bsn_ring(b->ep[0]));
	expect_done(b, b->cq[0], 1, BSN_OPCODE_RDMA_WRITE);
	expect_status(b, b->cq[0], 3, BSN_OPCODE_RDMA_WRITE, IBV_WC_REM_ACCESS_ERR);
	for (unsigned sends = 4, recvs = 100; sends < 9 || recvs < 103;) {
		const struct bsn_completion c = bench_next(b, b->cq[0]);
		assert_int_equal(c.status, IBV_WC_WR_FLUSH_ERR);
		assert_int_equal(c.syndrome, BSN_SYNDROME_FLUSHED);
		assert_int_equal(c.opcode, c.id < 100 ? (int)BSN_OPCODE_RDMA_WRITE : (int)BSN_RECV);
		assert_int_equal(c.id, c.id < 100 ? sends++ : recvs++);
	}
	expect_nothing(b, b->cq[0]);
	assert_int_equal(bench_outstanding(b, 0).sends, 0);
	assert_int_equal(bench_outstanding(b, 0).recvs, 0);
}

/*
 * Even a queue whose unsignaled work reports only the first error gives everything back. Polling
 * does so, except for requests after the last CQE.
 */
static void silent_work_comes_back_too(struct bench *b)
{
	struct bsn_completion c;

	ok(post_bad_write(b, 0, 0));
	ok(post_write(b, 1, 0));
	ok(post_write(b, 2, BSN_F_SIGNALED));
	ok(post_write(b, 3, BSN_F_RING));
	expect_status(b, b->cq[0], 0, BSN_OPCODE_RDMA_WRITE, IBV_WC_REM_ACCESS_ERR);
	expect_status(b, b->cq[0], 1, BSN_OPCODE_RDMA_WRITE, IBV_WC_WR_FLUSH_ERR);
	expect_status(b, b->cq[0], 2, BSN_OPCODE_RDMA_WRITE, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(bench_reap(b, b->cq[0], &c, 1) + bsn_qp_give_back(b->qp[0], &c, 1), 1);
	assert_int_equal(c.id, 3);
	assert_int_equal(c.status, IBV_WC_WR_FLUSH_ERR);
	expect_nothing(b, b->cq[0]);
	assert_int_equal(bsn_qp_give_back(b->qp[0], &c, 1), 0);
	assert_int_equal(bench_outstanding(b, 0).sends, 0);
}

static void work_posted_in_error_is_flushed(struct bench *b)
{
	ok(bsn_qp_fail(b->qp[0]));
	assert_int_equal(bench_error(b, 0).state, IBV_QPS_ERR);
	ok(post_write(b, 1, NOW));
	expect_status(b, b->cq[0], 1, BSN_OPCODE_RDMA_WRITE, IBV_WC_WR_FLUSH_ERR);
	ok(post_recv(b, 0, 64, 2));
	expect_status(b, b->cq[0], 2, BSN_RECV, IBV_WC_WR_FLUSH_ERR);
}

static void drain(struct bench *b, int end)
{
	struct bsn_completion c;
	int got = 1;

	while (got == 1 && (bench_outstanding(b, end).sends || bench_outstanding(b, end).recvs))
		got = bench_reap(b, b->cq[end], &c, 1); /* 0: what was left is not shown */
	assert_int_equal(bench_outstanding(b, end).sends + bench_outstanding(b, end).recvs, 0);
}

static void fail_brings_everything_back(struct bench *b)
{
	for (uint64_t id = 0; id < 4; id++)
		ok(post_recv(b, 0, 64, 100 + id));
	ok(post_write(b, 0, BSN_F_RING));
	ok(post_write(b, 1, 0));
	ok(post_write(b, 2, BSN_F_SIGNALED));
	assert_int_equal(bench_outstanding(b, 0).sends, 3);
	assert_int_equal(bench_outstanding(b, 0).recvs, 4);
	ok(bsn_qp_fail(b->qp[0]));
	for (unsigned sends = 0, recvs = 100; sends < 3 || recvs < 104;) {
		const struct bsn_completion c = bench_next(b, b->cq[0]);
		assert_int_equal(c.status, IBV_WC_WR_FLUSH_ERR);
		if (!sends && c.id == 1)
			sends = 1; /* the first one was done before the QP failed */
		assert_int_equal(c.id, c.id < 100 ? sends++ : recvs++);
	}
	expect_nothing(b, b->cq[0]);
	assert_int_equal(bench_outstanding(b, 0).sends, 0);
	assert_int_equal(bench_outstanding(b, 0).recvs, 0);
}

/*
 * The queue is full of appended requests, so even the library's marker has no room until they are
 * rung.
 */
static void what_fills_a_queue_unrung_comes_back(struct bench *b)
{
	const struct bsn_qp_info limits = *bsn_qp_info(b->qp[0]);

	for (uint64_t id = 0; id < limits.short_sends; id++)
		ok(post_write(b, id, BSN_F_SIGNALED));
	assert_int_equal(post_write(b, limits.short_sends, 0), -EAGAIN);
	ok(bsn_qp_fail(b->qp[0]));
	for (uint64_t id = 0; id < limits.short_sends; id++)
		expect_status(b, b->cq[0], id, BSN_OPCODE_RDMA_WRITE, IBV_WC_WR_FLUSH_ERR);
	drain(b, 0);
}

static void reset_both(struct bench *b)
{
	bench_reset(b);
	/*
	 * Our own are ready for receives again; an attached one is the application's to bring up.
	 */
	assert_int_equal(bench_error(b, 0).state, b->app.qp[0] ? IBV_QPS_RESET : IBV_QPS_INIT);
}

/*
 * Silent requests succeeded before the QP went to error. So nothing is left to be flushed, and yet
 * the drain ends.
 */
static void silent_successes_hold_up_no_drain(struct bench *b)
{
	struct bsn_completion c;

	for (unsigned count = 1; count <= 3; count++) {
		for (uint64_t id = 0; id < count; id++)
			ok(post_write(b, id, BSN_F_RING));
		bench_settle(b);
		assert_int_equal(bench_outstanding(b, 0).sends, count);
		ok(bsn_qp_fail(b->qp[0]));
		assert_int_equal(bench_reap(b, b->cq[0], &c, 1), 0);
		assert_int_equal(bench_outstanding(b, 0).sends, 0);
		reset_both(b);
		bench_connect(b);
	}
}

/* -- bringing it back -------------------------------------------------------------------------- */

static void assert_works(struct bench *b, uint64_t id)
{
	memset(bench_at(b, 1, 0), 0, 64);
	ok(post_write(b, id, NOW));
	expect_done(b, b->cq[0], id, BSN_OPCODE_RDMA_WRITE);
	assert_memory_equal(bench_at(b, 1, 0), bench_at(b, 0, 0), 64);
	ok(post_recv(b, 1, 64, id + 1));
	ok(bsn_send_inline(b->ep[0], "again", 5, id + 2, NOW));
	expect_done(b, b->cq[0], id + 2, BSN_OPCODE_SEND);
	expect_done(b, b->cq[1], id + 1, BSN_RECV);
}

static void a_failed_qp_can_be_brought_back(struct bench *b)
{
	for (unsigned lap = 0; lap < 5; lap++) {
		ok(post_bad_write(b, 1, 0));
		ok(post_write(b, 2, BSN_F_RING));
		ok(post_recv(b, 0, 64, 3));
		bench_settle(b);
		ok(bsn_qp_fail(b->qp[0]));
		ok(bsn_qp_fail(b->qp[1]));
		drain(b, 0);
		drain(b, 1);
		reset_both(b);
		assert_false(bench_error(b, 0).has_failed);
		bench_connect(b);
		for (unsigned i = 0; i < 3 * BENCH_DEPTH; i++)
			assert_works(b, 1000 * lap + i);
	}
}

/* A reset drops everything that was not rung, not polled or not consumed. */
static void reset_forgets_what_was_outstanding(struct bench *b)
{
	for (unsigned lap = 0; lap < 5; lap++) {
		ok(post_write(b, 1, NOW));
		ok(post_write(b, 2, NOW));
		ok(post_recv(b, 0, 64, 3));
		bench_settle(b);
		ok(post_write(b, 4, NOW));
		ok(post_write(b, 5, BSN_F_SIGNALED));
		reset_both(b);
		assert_int_equal(bench_outstanding(b, 0).sends, 0);
		assert_int_equal(bench_outstanding(b, 0).recvs, 0);
		expect_nothing(b, b->cq[0]);
		bench_connect(b);
		assert_works(b, 10);
	}
}

/* Two QPs on a CQ: destroying one leaves the other's completions alone. */
static void a_destroyed_qp_takes_only_its_own_along(struct bench *b)
{
	struct bsn_qp_attr attr = b->test->qp;
	struct bsn_qp *other;

	attr.cq = b->cq[0];
	attr.send_depth = attr.recv_depth = 4;
	ok(bsn_qp_create(b->device, &attr, &other));
	bench_join(other, other);
	for (uint64_t id = 0; id < 3; id++) {
		ok(post_write(b, id, NOW));
		ok(bsn_write(bsn_qp_ep(other), SGE(b, 0, 0, 8), REMOTE(b, 1, 0), 50 + id, NOW));
		bench_settle(b);
	}
	ok(bsn_write(bsn_qp_ep(other), SGE(b, 0, 0, 8), &(struct bsn_remote){ 0, 0 }, 60, 0));
	ok(bsn_qp_destroy(other));
	for (uint64_t id = 0; id < 3; id++)
		expect_done(b, b->cq[0], id, BSN_OPCODE_RDMA_WRITE);
	expect_nothing(b, b->cq[0]);
	assert_works(b, 10);
}

/*
 * soft-RoCE, Linux 6.1: a list whose key leads to no memory of this domain is a bad request
 * (drivers/infiniband/sw/rxe/rxe_req.c); a receive that cannot take the message, whether for its
 * length or for its key, is a malformed one (rxe_resp.c).
 */
#define RXE_FINDS_NO_KEY .rxe_says = { { IBV_WC_LOC_PROT_ERR, IBV_WC_LOC_QP_OP_ERR } }
#define RXE_CANNOT_COPY                                                                            \
	.rxe_says = { { IBV_WC_REM_INV_REQ_ERR, IBV_WC_REM_OP_ERR },                               \
		      { IBV_WC_LOC_LEN_ERR, IBV_WC_LOC_QP_OP_ERR } }

#define NO_RETRY .connect = { .rnr_retry = BSN_NO_RETRY, .retry_count = BSN_NO_RETRY, .timeout = 8 }

#define FAILS(case_name, operation, ...) FAILS_AS(case_name, operation, __VA_ARGS__)
#define FAILS_AS(case_name, operation, name_, vendor, status_, ...)                                \
	.name = #case_name, .run = fails_so, .of = &(const struct cause)                           \
	{                                                                                          \
		.opcode = BSN_OPCODE_##operation, .syndrome = BSN_SYNDROME_##name_,                \
		.vendor_syndrome = BSN_VENDOR_##vendor, .status = IBV_WC_##status_, __VA_ARGS__    \
	}

#define OTHER_DOMAIN LOCAL_PROTECTION, TPT_GATHER + BSN_TPT_PD, LOC_PROT_ERR
#define NOT_READ     LOCAL_PROTECTION, TPT_GATHER + BSN_TPT_RIGHTS, LOC_PROT_ERR
#define NOT_WRITTEN  LOCAL_PROTECTION, TPT_DATA + BSN_TPT_RIGHTS, LOC_PROT_ERR
#define ACCESS       REMOTE_ACCESS, REMOTE_ACCESS_NAK, REM_ACCESS_ERR
#define INVALID      REMOTE_INVALID_REQUEST, INVALID_REQUEST_NAK, REM_INV_REQ_ERR
#define OPERATION    REMOTE_OPERATION, REMOTE_OPERATION_NAK, REM_OP_ERR
#define NO_RECEIVE   RNR_RETRY_EXCEEDED, RNR_EXCEEDED, RNR_RETRY_EXC_ERR
#define NO_ANSWER    RETRY_EXCEEDED, TIMEOUT_EXCEEDED, RETRY_EXC_ERR

static const struct bench_case cases[] = {
	{ FAILS(a_local_key_that_is_none, RDMA_WRITE, OTHER_DOMAIN, .local_key = 0x5500),
	  RXE_FINDS_NO_KEY },
	{ FAILS(local_memory_out_of_range, SEND, NOT_READ, .local_at = BENCH_BYTES - 63) },
	/* The memory is of the device's own domain, where attached QPs are not. */
	{ FAILS(local_memory_that_may_not_be_written, RDMA_READ, NOT_WRITTEN, .spoil = read_only),
	  OWN },
	{ FAILS(local_memory_of_another_domain, RDMA_WRITE, OTHER_DOMAIN, .spoil = local_elsewhere),
	  RXE_FINDS_NO_KEY },
	{ FAILS(remote_memory_of_another_domain, RDMA_WRITE, ACCESS, .spoil = remote_elsewhere) },
	{ FAILS(a_remote_key_that_is_none, RDMA_READ, ACCESS, .remote_key = 0x5500) },
	{ FAILS(a_remote_key_that_was_taken_back, RDMA_WRITE, ACCESS, .spoil = taken_back), OWN },
	{ FAILS(remote_memory_out_of_range, RDMA_WRITE, ACCESS, .remote_at = BENCH_BYTES - 63) },
	{ FAILS(remote_memory_without_the_right, RDMA_WRITE, ACCESS, .spoil = not_writable), OWN },
	{ FAILS(a_peer_qp_without_the_right, RDMA_READ, INVALID, .spoil = not_readable) },
	{ FAILS(an_atomic_that_is_not_aligned, ATOMIC_FA, INVALID, .remote_at = 4) },
	{ FAILS(a_message_longer_than_its_receive, SEND, INVALID, .local_bytes = 101,
		.far_status = IBV_WC_LOC_LEN_ERR),
	  RXE_CANNOT_COPY },
	{ FAILS(a_receive_into_memory_that_is_none, SEND, OPERATION, .receive_key = 0x5500,
		.far_status = IBV_WC_LOC_PROT_ERR),
	  RXE_FINDS_NO_KEY },
	{ FAILS(a_peer_that_has_no_receive, SEND, NO_RECEIVE, .local_bytes = 64), NO_RETRY },
	{ FAILS(a_peer_that_is_gone, RDMA_WRITE, NO_ANSWER, .spoil = peer_gone), NO_RETRY },
	{ CASE(what_follows_is_flushed_in_order), .qp.signal_every = 2 },
	{ CASE(silent_work_comes_back_too), .qp = { .ce_on_first_error = true, .signal_every = -1 },
	  OWN },
	{ CASE(work_posted_in_error_is_flushed),
	  .rxe_lacks =
		  "soft-RoCE flushes what is posted in error only when something else happens" },
	{ CASE(fail_brings_everything_back) },
	{ CASE(what_fills_a_queue_unrung_comes_back) },
	{ CASE(silent_successes_hold_up_no_drain) },
	{ CASE(a_failed_qp_can_be_brought_back) },
	{ CASE(reset_forgets_what_was_outstanding) },
	{ CASE(a_destroyed_qp_takes_only_its_own_along), OWN },
};

BENCH_MAIN("errors")
