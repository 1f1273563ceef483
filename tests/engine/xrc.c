/* SPDX-License-Identifier: BSD-2-Clause */
/* XRC: domains, SRQs that requests name, targets, initiators and their endpoints. */
#include "harness.h"
#include "bsn_decode.h"
#include "bsn_xrc.h"

enum { RECVS = 8, INTO = 4096, LENGTH = 200, SRQS = 2, LONGEST_INLINE = 400 };

/*
 * An initiator, its target, and two SRQs in a domain that was opened twice, as two processes would.
 */
struct xrc {
	FILE *file;
	struct bsn_xrcd *xrcd[SRQS];
	struct bsn_cq *cq;         /* of the initiator */
	struct bsn_cq *into[SRQS];
	struct bsn_rq *srq[SRQS];
	struct bsn_xrc_target *target;
	struct bsn_qp *qp;
	struct bsn_ep *ep[SRQS];
	int sender[SRQS], receiver[SRQS];
};

static void connect(struct bsn_qp *qp, struct bsn_xrc_target *target)
{
	struct bsn_address address;

	ok(bsn_xrc_target_address(target, &address));
	ok(bsn_qp_connect(qp, &address, NULL));
	ok(bsn_qp_address(qp, &address));
	ok(bsn_xrc_target_connect(target, &address, NULL));
}

static void make_srq(struct bench *b, struct xrc *x, int i)
{
	ok(bsn_srq_create(b->device,
			  &(struct bsn_srq_attr){ .recv_depth = RECVS,
						  .user = &x->receiver[i],
						  .xrcd = x->xrcd[i],
						  .cq = x->into[i] },
			  &x->srq[i]));
}

static void make_receivers(struct bench *b, struct xrc *x)
{
	x->file = tmpfile();
	assert_non_null(x->file);
	for (int i = 0; i < SRQS; i++) {
		ok(bsn_xrcd_open(b->device, fileno(x->file), &x->xrcd[i]));
		ok(bsn_cq_create(b->device, &(struct bsn_cq_attr){ .entries = 64 }, &x->into[i]));
		make_srq(b, x, i);
	}
	ok(bsn_xrc_target_create(x->xrcd[0], &x->target));
}

static void unmake_receivers(struct xrc *x)
{
	ok(bsn_xrc_target_destroy(x->target));
	for (int i = 0; i < SRQS; i++) {
		ok(bsn_srq_destroy(x->srq[i]));
		ok(bsn_cq_destroy(x->into[i]));
		ok(bsn_xrcd_close(x->xrcd[i]));
	}
	fclose(x->file);
}

static int unmake(struct xrc *x)
{
	for (int i = 0; i < SRQS; i++)
		ok(bsn_ep_destroy(x->ep[i]));
	ok(bsn_qp_destroy(x->qp));
	unmake_receivers(x);
	ok(bsn_cq_destroy(x->cq));
	free(x);
	return 0;
}

static struct xrc *make(struct bench *b)
{
	struct xrc *x = calloc(1, sizeof(*x));
	struct bsn_qp_attr initiator = { .type = BSN_QP_XRC,
					 .max_inline = LONGEST_INLINE,
					 .max_send_sge = 4 };

	assert_non_null(x);
	make_receivers(b, x);
	ok(bsn_cq_create(b->device, &(struct bsn_cq_attr){ .entries = 1024 }, &x->cq));
	initiator.cq = x->cq;
	ok(bsn_qp_create(b->device, &initiator, &x->qp));
	connect(x->qp, x->target);
	for (int i = 0; i < SRQS; i++)
		ok(bsn_xrc_ep_create(x->qp, bsn_srq_number(x->srq[i]), &x->sender[i], &x->ep[i]));
	undo_later(b, unmake, x);
	return x;
}

static void post_recv(struct bench *b, struct xrc *x, int to, uint64_t id)
{
	ok(bsn_recv(x->srq[to], SGE(b, 1, INTO, 1024), id));
}

static struct bsn_completion expect_received(struct bench *b, struct xrc *x, int at, uint64_t id,
					     unsigned opcode)
{
	const struct bsn_completion c = expect_done(b, x->into[at], id, opcode);

	assert_int_equal(c.byte_len, LENGTH);
	assert_int_equal(c.qpn, bsn_xrc_target_number(x->target));
	assert_ptr_equal(c.user, &x->receiver[at]);
	assert_memory_equal(bench_at(b, 1, INTO), bench_at(b, 0, 0), LENGTH);
	return c;
}

static void expect_sent(struct bench *b, struct xrc *x, int to, uint64_t id, unsigned opcode)
{
	const struct bsn_completion c = expect_done(b, x->cq, id, opcode);

	assert_ptr_equal(c.user, &x->sender[to]);
	assert_int_equal(c.qpn, bsn_qp_info(x->qp)->number);
}

/* -- what works -------------------------------------------------------------------------------- */

static void messages_go_to_the_srq_they_name(struct bench *b)
{
	struct xrc *x = make(b);

	for (uint64_t id = 0; id < 40 * RECVS; id++) {
		const int to = id % 3 == 1;
		memset(bench_at(b, 1, INTO), 0, LENGTH);
		post_recv(b, x, to, 1000 + id);
		if (id % 2)
			ok(bsn_send(x->ep[to], SGE(b, 0, 0, LENGTH), id, NOW));
		else
			ok(bsn_send_inline(x->ep[to], bench_at(b, 0, 0), LENGTH, id, NOW));
		expect_sent(b, x, to, id, BSN_OPCODE_SEND);
		expect_received(b, x, to, 1000 + id, BSN_RECV);
	}
}

static void every_operation_of_rc(struct bench *b)
{
	const struct bsn_sge local = bench_sge(b, 0, 0, LENGTH);
	const struct bsn_remote to = bench_remote(b, 1, INTO);
	uint64_t *const counter = (uint64_t *)(void *)bench_at(b, 1, INTO);
	struct xrc *x = make(b);

	ok(bsn_write(x->ep[0], &local, &to, 1, NOW));
	expect_sent(b, x, 0, 1, BSN_OPCODE_RDMA_WRITE);
	assert_memory_equal(bench_at(b, 1, INTO), bench_at(b, 0, 0), LENGTH);
	memset(bench_at(b, 1, INTO), 0x5a, LENGTH);
	ok(bsn_read(x->ep[1], SGE(b, 0, INTO, LENGTH), &to, 2, NOW));
	expect_sent(b, x, 1, 2, BSN_OPCODE_RDMA_READ);
	assert_memory_equal(bench_at(b, 0, INTO), bench_at(b, 1, INTO), LENGTH);
	*counter = 40;
	ok(bsn_fetch_add(x->ep[0], SGE(b, 0, INTO + 1024, 8), &to, 2, 3, NOW));
	expect_sent(b, x, 0, 3, BSN_OPCODE_ATOMIC_FA);
	assert_int_equal(*counter, 42);
	ok(bsn_cmp_swap(x->ep[1], SGE(b, 0, INTO + 1024, 8), &to, 42, 7, 4, NOW));
	expect_sent(b, x, 1, 4, BSN_OPCODE_ATOMIC_CS);
	assert_int_equal(*counter, 7);
	post_recv(b, x, 1, 100);
	ok(bsn_write_imm(x->ep[1], &local, &to, 0xcafe, 5, NOW));
	expect_sent(b, x, 1, 5, BSN_OPCODE_RDMA_WRITE_IMM);
	assert_int_equal(expect_received(b, x, 1, 100, BSN_RECV_RDMA_WITH_IMM).imm, 0xcafe);
	post_recv(b, x, 0, 101);
	ok(bsn_send_imm(x->ep[0], &local, 0xbeef, 6, NOW));
	expect_sent(b, x, 0, 6, BSN_OPCODE_SEND_IMM);
	assert_int_equal(expect_received(b, x, 0, 101, BSN_RECV).imm, 0xbeef);
}

/* A SEND and a WRITE by a QP that the application made, on either path. */
static void an_initiator_is_attached(struct bench *b)
{
	struct ibv_pd *pd = ibv_alloc_pd(bench_info(b)->verbs);
	struct ibv_mr *mr = ibv_reg_mr(pd, bench_at(b, 0, 0), LENGTH, IBV_ACCESS_LOCAL_WRITE);
	struct bsn_sge own = bench_sge(b, 0, 0, LENGTH);
	struct ibv_cq *cq;
	struct ibv_qp *verbs;
	struct bsn_ep *ep;
	struct bsn_qp *qp;
	struct xrc x;

	own.lkey = mr->lkey;
	for (int ours = 0; ours < 2; ours++) {
		cq = ibv_create_cq(pd->context, 64, NULL, NULL, 0);
		verbs = ibv_create_qp(pd,
				      &(struct ibv_qp_init_attr){
					      .qp_type = IBV_QPT_XRC_SEND,
					      .send_cq = cq,
					      .recv_cq = cq,
					      .cap = { .max_send_wr = 16, .max_send_sge = 1 } });
		assert_non_null(verbs);
		make_receivers(b, &x);
		ok(bsn_qp_attach(b->device, verbs,
				 &(struct bsn_attach_attr){ .register_is_ours = ours }, &qp));
		connect(qp, x.target);
		ok(bsn_xrc_ep_create(qp, bsn_srq_number(x.srq[1]), &x, &ep));
		post_recv(b, &x, 1, 9);
		ok(bsn_send(ep, &own, 1, NOW));
		assert_ptr_equal(expect_done(b, bsn_qp_info(qp)->cq, 1, BSN_OPCODE_SEND).user, &x);
		expect_received(b, &x, 1, 9, BSN_RECV);
		ok(bsn_write(ep, &own, REMOTE(b, 1, INTO), 2, NOW));
		expect_done(b, bsn_qp_info(qp)->cq, 2, BSN_OPCODE_RDMA_WRITE);
		ok(bsn_ep_destroy(ep));
		ok(bsn_qp_destroy(qp));
		unmake_receivers(&x);
		assert_int_equal(ibv_destroy_qp(verbs), 0);
		assert_int_equal(ibv_destroy_cq(cq), 0);
	}
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
}

/* -- what fails -------------------------------------------------------------------------------- */

/* Both ends are in error then; with a new target the initiator is as before. */
static void a_number_of_no_srq_fails_at_its_sender(struct bench *b)
{
	const struct bsn_sge local = bench_sge(b, 0, 0, LENGTH);
	struct bsn_ep *nowhere;
	struct xrc *x = make(b);

	ok(bsn_xrc_ep_create(x->qp, 0xabcdef, NULL, &nowhere));
	ok(bsn_send(nowhere, &local, 1, BSN_F_SIGNALED));
	ok(bsn_send(x->ep[1], &local, 2, NOW));
	expect_status(b, x->cq, 1, BSN_OPCODE_SEND, IBV_WC_REM_INV_REQ_ERR);
	expect_status(b, x->cq, 2, BSN_OPCODE_SEND, IBV_WC_WR_FLUSH_ERR);
	ok(bsn_ep_destroy(nowhere));
	ok(bsn_qp_reset(x->qp));
	ok(bsn_xrc_target_destroy(x->target));
	ok(bsn_xrc_target_create(x->xrcd[1], &x->target));
	connect(x->qp, x->target);
	post_recv(b, x, 1, 100);
	ok(bsn_send(x->ep[1], &local, 3, NOW));
	expect_sent(b, x, 1, 3, BSN_OPCODE_SEND);
	expect_received(b, x, 1, 100, BSN_RECV);
}

/*
 * Completions of a destroyed SRQ are dropped; above all, the next SRQ of the number does not get
 * them.
 */
static void an_srq_leaves_nothing_to_the_next(struct bench *b)
{
	struct xrc *x = make(b);

	post_recv(b, x, 0, 77);
	ok(bsn_send(x->ep[0], SGE(b, 0, 0, LENGTH), 1, NOW));
	expect_sent(b, x, 0, 1, BSN_OPCODE_SEND);
	ok(bsn_ep_destroy(x->ep[0]));
	ok(bsn_srq_destroy(x->srq[0]));
	make_srq(b, x, 0);
	expect_nothing(b, x->into[0]);
	ok(bsn_xrc_ep_create(x->qp, bsn_srq_number(x->srq[0]), &x->sender[0], &x->ep[0]));
	post_recv(b, x, 0, 78);
	ok(bsn_send(x->ep[0], SGE(b, 0, 0, LENGTH), 2, NOW));
	expect_sent(b, x, 0, 2, BSN_OPCODE_SEND);
	expect_received(b, x, 0, 78, BSN_RECV);
}

static void what_cannot_be_is_refused(struct bench *b)
{
	const struct bsn_sge local = bench_sge(b, 0, 0, LENGTH);
	struct bsn_device *other = bench_device(b);
	struct bsn_xrcd *foreign;
	struct bsn_address address;
	struct bsn_qp_attr qp = { .type = BSN_QP_XRC };
	struct bsn_srq_attr srq = { .recv_depth = RECVS };
	struct bsn_rq *none;
	struct bsn_qp *no_qp;
	struct bsn_ep *ep;
	struct xrc *x = make(b);

	ok(bsn_xrcd_open(other, -1, &foreign));
	srq.xrcd = foreign;
	srq.cq = x->cq;
	fails(EINVAL, "another device", bsn_srq_create(b->device, &srq, &none));
	srq.xrcd = x->xrcd[0];
	srq.cq = NULL;
	fails(EINVAL, "CQ of its own", bsn_srq_create(b->device, &srq, &none));
	srq.cq = x->into[0];
	fails(EBUSY, "already", bsn_srq_create(b->device, &srq, &none));
	srq.xrcd = NULL;
	fails(EINVAL, "XRC", bsn_srq_create(b->device, &srq, &none));
	qp.cq = x->cq;
	qp.recv_depth = 1;
	fails(EINVAL, "receives nothing", bsn_qp_create(b->device, &qp, &no_qp));
	qp = (struct bsn_qp_attr){ .type = BSN_QP_RC, .cq = x->cq, .srq = x->srq[0] };
	fails(EINVAL, "XRC", bsn_qp_create(b->device, &qp, &no_qp));
	fails(EINVAL, "bsn_srq_number()", bsn_xrc_ep_create(x->qp, 0, NULL, &ep));
	fails(EINVAL, "bsn_srq_number()", bsn_xrc_ep_create(x->qp, 1u << 24, NULL, &ep));
	ok(bsn_xrc_target_address(x->target, &address));
	fails(EINVAL, "bsn_xrc_ep_create()", bsn_ep_create(x->qp, &address, NULL, NULL, &ep));
	fails(EPROTO, "initiator", bsn_xrc_target_connect(x->target, &address, NULL));
	fails(EINVAL, "bsn_xrc_ep_create()", bsn_send(bsn_qp_ep(x->qp), &local, 1, NOW));
	fails(EBADF, "open file", bsn_xrcd_open(b->device, 9999, &foreign));
	fails(EBUSY, "destroy them first", bsn_xrcd_close(x->xrcd[0]));
	fails(EBUSY, "CQ", bsn_cq_destroy(x->into[0]));
	fails(EINVAL, "device", bsn_xrcd_open(NULL, -1, &foreign));
	ok(bsn_xrcd_close(foreign));
}

#define XRC BARE, OWN, .rxe_lacks = "XRC"

static const struct bench_case cases[] = {
	{ CASE(messages_go_to_the_srq_they_name), XRC },
	{ CASE(every_operation_of_rc), XRC },
	{ CASE(an_initiator_is_attached), XRC },
	{ CASE(a_number_of_no_srq_fails_at_its_sender), XRC },
	{ CASE(an_srq_leaves_nothing_to_the_next), XRC },
	{ CASE(what_cannot_be_is_refused), XRC },
};

BENCH_MAIN("xrc")
