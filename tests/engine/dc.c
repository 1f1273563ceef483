/* SPDX-License-Identifier: BSD-2-Clause */
/* Dynamically connected transport: targets, initiators, and their endpoints. */
#include "harness.h"

#include "bsn_dc.h"
#include "bsn_decode.h"

enum { KEY = 0x1234567, RECVS = 8, INTO = 4096, LENGTH = 200, TARGETS = 2, LONGEST_INLINE = 400 };

/* A DCI, and two targets of this process. */
struct dc {
	struct bsn_cq *cq;   /* of the initiator */
	struct bsn_cq *into; /* of the targets */
	struct bsn_rq *srq;
	struct bsn_dct *dct[TARGETS];
	struct bsn_qp *dci;
	struct bsn_ep *ep[TARGETS];
	int user[TARGETS];
};

static struct bsn_dct *new_target(struct bench *b, struct dc *d)
{
	const struct bsn_dct_attr attr = {
		.cq = d->into, .srq = d->srq, .access_key = KEY, .user = d
	};
	struct bsn_dct *dct;

	ok(bsn_dct_create(b->device, &attr, &dct));
	return dct;
}

static int unmake(struct dc *d)
{
	for (int i = 0; i < TARGETS; i++) {
		ok(bsn_ep_destroy(d->ep[i]));
		ok(bsn_dct_destroy(d->dct[i]));
	}
	free(d);
	return 0;
}

static struct dc *make(struct bench *b)
{
	struct dc *d = calloc(1, sizeof(*d));
	struct bsn_qp_attr initiator = { .type = BSN_QP_DC,
					 .max_inline = LONGEST_INLINE,
					 .max_send_sge = 4 };
	struct bsn_address address;

	assert_non_null(d);
	d->cq = initiator.cq = bench_cq(b, &(struct bsn_cq_attr){ .entries = 1024 });
	d->into = bench_cq(b, &(struct bsn_cq_attr){ .entries = 64 });
	d->srq = bench_srq(b, &(struct bsn_srq_attr){ .recv_depth = RECVS });
	d->dci = bench_qp(b, &initiator);
	ok(bsn_qp_connect(d->dci, NULL, NULL));
	undo_later(b, unmake, d);
	for (int i = 0; i < TARGETS; i++) {
		d->dct[i] = new_target(b, d);
		ok(bsn_dct_address(d->dct[i], &address));
		ok(bsn_ep_create(d->dci, &address, NULL, &d->user[i], &d->ep[i]));
	}
	return d;
}

static void post_recv(struct bench *b, struct dc *d, uint64_t id)
{
	ok(bsn_recv(d->srq, SGE(b, 1, INTO, 1024), id));
}

static void expect_at_target(struct bench *b, struct dc *d, int target, uint64_t id,
			     uint32_t length)
{
	const struct bsn_completion c = expect_done(b, d->into, id, BSN_RECV);

	assert_int_equal(c.byte_len, length);
	assert_int_equal(c.qpn, bsn_dct_number(d->dct[target]));
	assert_ptr_equal(c.user, d);
	assert_memory_equal(bench_at(b, 1, INTO), bench_at(b, 0, 0), length);
}

/* A completion of a request to @target. */
static void expect_sent(struct bench *b, struct dc *d, int target, uint64_t id, unsigned opcode)
{
	const struct bsn_completion c = expect_done(b, d->cq, id, opcode);

	assert_ptr_equal(c.user, &d->user[target]);
	assert_int_equal(c.qpn, bsn_qp_info(d->dci)->number);
}

static void messages_go_to_the_peer_they_are_posted_to(struct bench *b)
{
	struct dc *d = make(b);

	for (uint64_t id = 0; id < 3 * RECVS; id++) {
		const int target = id % 3 == 1;
		post_recv(b, d, 100 + id);
		ok(bsn_send(d->ep[target], SGE(b, 0, 0, LENGTH), id, NOW));
		expect_sent(b, d, target, id, BSN_OPCODE_SEND);
		expect_at_target(b, d, target, 100 + id, LENGTH);
	}
}

static void every_operation_of_rc(struct bench *b)
{
	const struct bsn_sge local = bench_sge(b, 0, 0, LENGTH);
	const struct bsn_remote to = bench_remote(b, 1, INTO);
	uint64_t *const counter = (uint64_t *)(void *)bench_at(b, 1, INTO);
	struct dc *d = make(b);

	ok(bsn_write(d->ep[0], &local, &to, 1, NOW));
	expect_sent(b, d, 0, 1, BSN_OPCODE_RDMA_WRITE);
	assert_memory_equal(bench_at(b, 1, INTO), bench_at(b, 0, 0), LENGTH);
	memset(bench_at(b, 1, INTO), 0x5a, LENGTH);
	ok(bsn_read(d->ep[1], SGE(b, 0, INTO, LENGTH), &to, 2, NOW));
	expect_sent(b, d, 1, 2, BSN_OPCODE_RDMA_READ);
	assert_memory_equal(bench_at(b, 0, INTO), bench_at(b, 1, INTO), LENGTH);
	*counter = 40;
	ok(bsn_fetch_add(d->ep[0], SGE(b, 0, INTO + 1024, 8), &to, 2, 3, NOW));
	expect_sent(b, d, 0, 3, BSN_OPCODE_ATOMIC_FA);
	assert_int_equal(*counter, 42);
	ok(bsn_cmp_swap(d->ep[1], SGE(b, 0, INTO + 1024, 8), &to, 42, 7, 4, NOW));
	expect_sent(b, d, 1, 4, BSN_OPCODE_ATOMIC_CS);
	assert_int_equal(*counter, 7);
	post_recv(b, d, 100);
	ok(bsn_write_imm(d->ep[1], &local, &to, 0xcafe, 5, NOW));
	expect_sent(b, d, 1, 5, BSN_OPCODE_RDMA_WRITE_IMM);
	struct bsn_completion c = expect_done(b, d->into, 100, BSN_RECV_RDMA_WITH_IMM);
	assert_int_equal(c.imm, 0xcafe);
	post_recv(b, d, 101);
	ok(bsn_send_imm(d->ep[0], &local, 0xbeef, 6, NOW));
	expect_sent(b, d, 0, 6, BSN_OPCODE_SEND_IMM);
	c = expect_done(b, d->into, 101, BSN_RECV);
	assert_int_equal(c.imm, 0xbeef);
}

/* A ring of them goes round, whose WQEs have one block and two. */
static void masked_atomics_and_copies(struct bench *b)
{
	const struct bsn_sge into = bench_sge(b, 1, INTO, LENGTH);
	const struct bsn_sge word = bench_sge(b, 0, INTO + 1024, 8);
	const struct bsn_sge status = bench_sge(b, 0, INTO + 2048, 64);
	const struct bsn_masked_fa fa = { .add = 9, .field_boundary = 8 };
	const struct bsn_masked_cs cs = {
		.swap = 0x70, .swap_mask = 0xf0, .compare = 1, .compare_mask = 0xf
	};
	uint64_t *const counter = (uint64_t *)(void *)bench_at(b, 1, INTO);
	struct dc *d = make(b);

	for (uint64_t id = 0; id < 300; id += 3) {
		const int target = id % 2;

		*counter = 8;
		ok(bsn_masked_fetch_add(d->ep[target], &word, REMOTE(b, 1, INTO), &fa, 8, id, NOW));
		expect_sent(b, d, target, id, BSN_OPCODE_ATOMIC_MASKED_FA);
		assert_int_equal(*counter, 1);
		ok(bsn_masked_cmp_swap(d->ep[!target], &word, REMOTE(b, 1, INTO), &cs,
				       id % 4 ? 8 : 4, id + 1, NOW));
		expect_sent(b, d, !target, id + 1, BSN_OPCODE_ATOMIC_MASKED_CS);
		assert_int_equal(*counter, 0x71);
		ok(bsn_memcpy(d->ep[target], &into, SGE(b, 0, 0, LENGTH), &status, id + 2, NOW));
		expect_sent(b, d, target, id + 2, BSN_OPCODE_MMO);
		assert_memory_equal(bench_at(b, 1, INTO), bench_at(b, 0, 0), LENGTH);
	}
}

static void inline_data_of_every_length(struct bench *b)
{
	const struct bsn_remote to = bench_remote(b, 1, INTO);
	struct dc *d = make(b);

	for (uint32_t length = 0; length <= LONGEST_INLINE; length++) {
		const int target = length & 1;
		post_recv(b, d, length);
		ok(bsn_send_inline(d->ep[target], bench_at(b, 0, 0), length, length, NOW));
		expect_sent(b, d, target, length, BSN_OPCODE_SEND);
		expect_at_target(b, d, target, length, length);
		memset(bench_at(b, 1, INTO), 0, LONGEST_INLINE);
		ok(bsn_write_inline(d->ep[target], bench_at(b, 0, 0), length, &to, length, NOW));
		expect_sent(b, d, target, length, BSN_OPCODE_RDMA_WRITE);
		assert_memory_equal(bench_at(b, 1, INTO), bench_at(b, 0, 0), length);
	}
}

static void a_prepared_request_goes_to_any_peer(struct bench *b)
{
	const struct bsn_wr wr = { .opcode = BSN_OPCODE_RDMA_WRITE,
				   .sge = SGE(b, 0, 0, LENGTH),
				   .sge_count = 1,
				   .remote = bench_remote(b, 1, INTO) };
	struct bsn_prepared prepared;
	struct dc *d = make(b);

	ok(bsn_prepare(d->ep[0], &wr, &prepared));
	for (uint64_t id = 0; id < 4; id++) {
		memset(bench_at(b, 1, INTO), 0, LENGTH);
		ok(bsn_post_prepared(d->ep[id & 1], &prepared, id, NOW));
		expect_sent(b, d, (int)(id & 1), id, BSN_OPCODE_RDMA_WRITE);
		assert_memory_equal(bench_at(b, 1, INTO), bench_at(b, 0, 0), LENGTH);
	}
}

/* Round the ring, requests of several lengths, unsignaled in between. */
static void a_ring_goes_round(struct bench *b)
{
	const struct bsn_remote to = bench_remote(b, 1, INTO);
	struct bsn_sge local[4];
	struct dc *d = make(b);

	for (int i = 0; i < 4; i++)
		local[i] = bench_sge(b, 0, (size_t)i * 16, 16);
	for (uint64_t id = 0; id < 1000; id++) {
		const int target = id % 5 == 0;
		memset(bench_at(b, 1, INTO), 0, 64);
		ok(bsn_write_sgl(d->ep[!target], local, 1 + id % 4, &to, id, 0));
		ok(bsn_write_sgl(d->ep[target], local, 1 + (id + 1) % 4, &to, id, NOW));
		expect_sent(b, d, target, id, BSN_OPCODE_RDMA_WRITE);
		assert_memory_equal(bench_at(b, 1, INTO), bench_at(b, 0, 0), 16 * (1 + id % 4));
	}
}

/* What the device is asked to do fits one block where the vector is compact. */
static void a_vector_is_as_short_as_it_can_be(struct bench *b)
{
	const bool is_ib = b->test->link == CX_LINK_IB;
	struct bsn_wqe wqe;
	struct bsn_bad bad;
	struct dc *d = make(b);

	post_recv(b, d, 1);
	ok(bsn_send(d->ep[0], SGE(b, 0, 0, 8), 2, NOW));
	expect_sent(b, d, 0, 2, BSN_OPCODE_SEND);
	assert_int_equal(bsn_wqe_decode(dv_sq(bench_sq(d->dci))->ring, 2 * BSN_BB_SIZE,
					BSN_TRANSPORT_DC, &wqe, &bad),
			 0);
	assert_int_equal(wqe.to.dc.ext, !is_ib);
	assert_int_equal(wqe.to.dc.dc_key, KEY);
	assert_int_equal(wqe.to.dc.dqpn, bsn_dct_number(d->dct[0]));
	assert_int_equal(wqe.size_bytes, is_ib ? 48 : 80);
}

static void a_target_that_went_fails_the_request(struct bench *b)
{
	const struct bsn_remote to = bench_remote(b, 1, INTO);
	const struct bsn_sge local = bench_sge(b, 0, 0, 8);
	struct dc *d = make(b);
	struct bsn_dct *dct = new_target(b, d);
	struct bsn_address address;
	struct bsn_ep *gone;

	ok(bsn_dct_address(dct, &address));
	ok(bsn_ep_create(d->dci, &address, NULL, &gone, &gone));
	ok(bsn_dct_destroy(dct));
	ok(bsn_write(gone, &local, &to, 1, NOW));
	struct bsn_completion c =
		expect_status(b, d->cq, 1, BSN_OPCODE_RDMA_WRITE, IBV_WC_RETRY_EXC_ERR);
	assert_int_equal(c.syndrome, 0x15);
	assert_int_equal(c.vendor_syndrome, 0x81);
	assert_ptr_equal(c.user, &gone);
	ok(bsn_write(d->ep[0], &local, &to, 2, NOW));
	expect_status(b, d->cq, 2, BSN_OPCODE_RDMA_WRITE, IBV_WC_WR_FLUSH_ERR);
	ok(bsn_qp_reset(d->dci));
	ok(bsn_qp_connect(d->dci, NULL, NULL));
	ok(bsn_write(d->ep[0], &local, &to, 3, NOW));
	expect_sent(b, d, 0, 3, BSN_OPCODE_RDMA_WRITE);
	ok(bsn_ep_destroy(gone));
}

static void what_does_not_fit_is_refused(struct bench *b)
{
	struct dc *d = make(b);
	const struct bsn_qp_attr dci = { .type = BSN_QP_DC, .cq = d->cq, .recv_depth = 4 },
				 rc = { .type = BSN_QP_RC, .cq = d->cq };
	struct bsn_dct_attr attr = { .cq = d->into };
	struct bsn_qp *const of_rc = bench_qp(b, &rc);
	struct bsn_address address, rcs;
	struct bsn_dct *dct = NULL;
	struct bsn_ep *ep = NULL;
	struct bsn_qp *qp = NULL;

	fails(EINVAL, "receives nothing", bsn_qp_create(b->device, &dci, &qp));
	fails(EINVAL, "bsn_dct_address", bsn_qp_address(d->dci, &address));
	fails(EINVAL, "SRQ", bsn_dct_create(b->device, &attr, &dct));
	attr = (struct bsn_dct_attr){ .srq = d->srq };
	fails(EINVAL, "CQ", bsn_dct_create(b->device, &attr, &dct));
	attr = (struct bsn_dct_attr){ .cq = d->into, .srq = d->srq, .connect.mtu = 1000 };
	fails(EINVAL, "1000", bsn_dct_create(b->device, &attr, &dct));
	attr.connect.mtu = 0;
	assert_int_equal(bsn_srq_destroy(d->srq), -EBUSY);
	assert_int_equal(bsn_cq_destroy(d->into), -EBUSY);
	assert_int_equal(bsn_qp_destroy(d->dci), -EBUSY);
	assert_int_equal(bsn_device_close(b->device), -EBUSY);
	ok(bsn_qp_address(of_rc, &rcs));
	fails(EPROTO, "DC", bsn_ep_create(d->dci, &rcs, NULL, NULL, &ep));
	ok(bsn_dct_address(d->dct[0], &address));
	fails(EPROTO, "DC", bsn_qp_connect(of_rc, &address, NULL));
	address.bytes[0] ^= 1;
	fails(EPROTO, "address", bsn_ep_create(d->dci, &address, NULL, NULL, &ep));
	address.bytes[0] ^= 1;
	address.bytes[3] ^= 0x40;
	fails(EPROTO, "version", bsn_ep_create(d->dci, &address, NULL, NULL, &ep));
	assert_int_equal(bsn_dct_create(b->device, &attr, NULL), -EINVAL);
	assert_int_equal(bsn_dct_address(NULL, &address), -EINVAL);
	assert_int_equal(bsn_dct_number(NULL), 0);
	ok(bsn_dct_destroy(NULL));
}

static void plain_verbs_have_none(struct bench *b)
{
	const struct bsn_qp_attr qp = { .type = BSN_QP_DC, .cq = bench_cq(b, NULL) };
	const struct bsn_device_info *info = bench_info(b);
	struct bsn_qp *dci;
	unsigned found = 0;

	fails(EOPNOTSUPP, "no DC", bsn_qp_create(b->device, &qp, &dci));
	for (unsigned i = 0; i < info->feature_count; i++)
		found += !strcmp(info->features[i].name, "dc") && info->features[i].why_not;
	assert_int_equal(found, 1);
}

#define ON_DIRECT BARE, DIRECT, OWN

static const struct bench_case cases[] = {
	AND_ON_ROCE(messages_go_to_the_peer_they_are_posted_to, ON_DIRECT),
	AND_ON_ROCE(every_operation_of_rc, ON_DIRECT),
	AND_ON_ROCE(masked_atomics_and_copies, ON_DIRECT),
	AND_ON_ROCE(inline_data_of_every_length, ON_DIRECT),
	{ CASE(a_prepared_request_goes_to_any_peer), ON_DIRECT },
	AND_ON_ROCE(a_ring_goes_round, ON_DIRECT),
	AND_ON_ROCE(a_vector_is_as_short_as_it_can_be, ON_DIRECT, MODEL),
	{ CASE(a_target_that_went_fails_the_request), ON_DIRECT },
	{ CASE(what_does_not_fit_is_refused), ON_DIRECT },
	{ CASE(plain_verbs_have_none), BARE, VERBS, OWN },
};

BENCH_MAIN("dc")
