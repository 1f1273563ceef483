/* SPDX-License-Identifier: BSD-2-Clause */
/* Features of XRC, of DC, and of CQs with something of their own. */
#include "features_tries.h"

/* -- more of receiving ------------------------------------------------------------------------- */

static void connect_xrc(struct bsn_qp *qp, struct bsn_xrc_target *target)
{
	struct bsn_address address;

	ok(bsn_xrc_target_address(target, &address));
	ok(bsn_qp_connect(qp, &address, NULL));
	ok(bsn_qp_address(qp, &address));
	ok(bsn_xrc_target_connect(target, &address, NULL));
}

static void send_by_xrc(struct bench *b, struct bsn_qp *qp, struct bsn_cq *cq, struct bsn_rq *srq,
			struct bsn_cq *into)
{
	struct bsn_ep *ep;

	ok(bsn_xrc_ep_create(qp, bsn_srq_number(srq), NULL, &ep));
	post_recv(b, srq, 1);
	ok(bsn_send(ep, SGE(b, 0, 0, LENGTH), 2, NOW));
	expect_done(b, cq, 2, BSN_OPCODE_SEND);
	expect_done(b, into, 1, BSN_RECV);
	assert_arrived(b, 0);
	ok(bsn_ep_destroy(ep));
}

const char *try_xrc(struct bench *b)
{
	struct bsn_cq *cq = bench_cq(b, NULL), *into = bench_cq(b, NULL);
	struct bsn_xrc_target *target;
	struct bsn_xrcd *xrcd;

	if (bsn_xrcd_open(b->device, -1, &xrcd) == -EOPNOTSUPP)
		return bsn_error_text();
	undo_later(b, bsn_xrcd_close, xrcd);
	struct bsn_rq *srq = new_srq(b, .xrcd = xrcd, .cq = into);
	ok(bsn_xrc_target_create(xrcd, &target));
	undo_later(b, bsn_xrc_target_destroy, target);
	struct bsn_qp *qp = new_qp(b, .type = BSN_QP_XRC, .cq = cq);
	connect_xrc(qp, target);
	send_by_xrc(b, qp, cq, srq, into);
	return NULL;
}

/* -- dynamically connected transport ----------------------------------------------------------- */

struct dc {
	struct bsn_cq *into;
	struct bsn_rq *srq;
	struct bsn_dct *dct[2];
	struct bsn_dc_pool *pool;
	struct bsn_ep *ep[2];
};

static void make_targets(struct bench *b, struct dc *d, bool has_full_handshake)
{
	struct bsn_dct_attr attr = { .access_key = 77, .full_handshake = has_full_handshake };
	struct bsn_address address;

	attr.cq = d->into = bench_cq(b, NULL);
	attr.srq = d->srq = bench_srq(b, NULL);
	for (int i = 0; i < 2; i++) {
		ok(bsn_dct_create(b->device, &attr, &d->dct[i]));
		undo_later(b, bsn_dct_destroy, d->dct[i]);
		ok(bsn_dct_address(d->dct[i], &address));
		ok(bsn_dc_peer_create(d->pool, &address, NULL, d, &d->ep[i]));
	}
}

/* The next completion of the pool, of which targets on plain verbs have a part. */
static unsigned next_opcode(struct bench *b, struct dc *d)
{
	struct bsn_completion c;
	int got = 0;

	for (unsigned tries = 50; tries && !got; tries--) {
		bench_settle(b);
		for (int i = 0; i < 2; i++)
			assert_true(bsn_dct_accept(d->dct[i]) >= 0);
		got = bsn_poll(bsn_dc_pool_cq(d->pool), &c, 1);
	}
	assert_int_equal(got, 1);
	assert_int_equal(c.status, IBV_WC_SUCCESS);
	assert_ptr_equal(c.user, d);
	return c.opcode;
}

/* A peer that waits is told of its turn. */
static void send_to_peer(struct bench *b, struct dc *d, int peer)
{
	int err = bsn_send(d->ep[peer], SGE(b, 0, 0, LENGTH), 2, NOW);

	if (err == -EAGAIN) {
		assert_int_equal(next_opcode(b, d), BSN_DC_READY);
		err = bsn_send(d->ep[peer], SGE(b, 0, 0, LENGTH), 2, NOW);
	}
	ok(err);
	assert_int_equal(next_opcode(b, d), BSN_OPCODE_SEND);
}

/* Two peers take turns on one initiator. */
static const char *try_dc(struct bench *b, const struct bsn_dc_pool_attr *attr)
{
	struct dc d = { 0 };
	const char *why = refusal(bsn_dc_pool_create(b->device, attr, &d.pool));

	if (why)
		return why;
	make_targets(b, &d, attr->full_handshake);
	for (uint64_t id = 1; id < 5; id++) {
		post_recv(b, d.srq, id);
		send_to_peer(b, &d, id % 2);
		assert_int_equal(expect_done(b, d.into, id, BSN_RECV).byte_len, LENGTH);
		assert_arrived(b, 0);
	}
	for (int i = 0; i < 2; i++)
		ok(bsn_dc_peer_destroy(d.ep[i]));
	ok(bsn_dc_pool_destroy(d.pool));
	return NULL;
}

const char *try_dc_pool(struct bench *b)
{
	return try_dc(b, &(struct bsn_dc_pool_attr){ .initiators = 1, .connect.retry_count = 6 });
}

const char *try_dc_streams(struct bench *b)
{
	return try_dc(b, &(struct bsn_dc_pool_attr){ .initiators = 1, .streams = 2 });
}

const char *try_full_handshake(struct bench *b)
{
	return try_dc(b, &(struct bsn_dc_pool_attr){ .initiators = 1, .full_handshake = true });
}

/* -- more completions -------------------------------------------------------------------------- */

/* A WRITE that completes on such a CQ, with the time if it has a clock. */
static const char *try_cq(struct bench *b, const struct bsn_cq_attr *attr)
{
	struct bsn_cq *cq;
	const char *why = refusal(bsn_cq_create(b->device, attr, &cq));

	if (why)
		return why;
	undo_later(b, bsn_cq_destroy, cq);
	post_write(b, bsn_qp_ep(make_loop(b, &(struct bsn_qp_attr){ .cq = cq })), 1, NOW);
	const struct bsn_completion c = expect_done(b, cq, 1, BSN_OPCODE_RDMA_WRITE);
	assert_true(c.timestamp || !attr->timestamps);
	return NULL;
}

const char *try_ticks(struct bench *b)
{
	return try_cq(b, &(struct bsn_cq_attr){ .timestamps = BSN_TIMESTAMPS_RAW });
}

const char *try_real_time(struct bench *b)
{
	return try_cq(b, &(struct bsn_cq_attr){ .timestamps = BSN_TIMESTAMPS_REAL_TIME });
}

/* soft-RoCE sends to a group by the host's network, which would have to join the group. */
const char *try_multicast(struct bench *b)
{
	const bool is_roce = !strcmp(bench_info(b)->link_layer, "Ethernet");
	struct bsn_mcast_group group = { .gid = { 0xff, 0x0e, [15] = 1 }, .lid = 0xc001 };
	struct bsn_ep *ep;

	if (is_roce)
		group = (struct bsn_mcast_group){
			.gid = { [10] = 0xff, [11] = 0xff, [12] = 239, [15] = 1 }
		};
	ok(bsn_mcast_attach(b->qp[1], &group));
	ok(bsn_ep_create_mcast(b->qp[0], &group, NULL, NULL, &ep));
	if (!b->is_rxe) {
		post_recv(b, b->rq[1], 1);
		ok(bsn_send(ep, SGE(b, 0, 0, LENGTH), 2, NOW));
		expect_message(b, BSN_OPCODE_SEND);
	}
	ok(bsn_ep_destroy(ep));
	ok(bsn_mcast_detach(b->qp[1], &group));
	return NULL;
}

const char *try_messages(struct bench *b)
{
	struct bsn_msg_inbox *inbox[2];
	struct bsn_msg_address ring;
	struct bsn_msg_line *line[2];
	struct bsn_msg msg;
	int got = 0;

	for (int end = 0; end < 2; end++) {
		ok(bsn_msg_inbox_create(b->device, NULL, &inbox[end]));
		ok(bsn_msg_line_create(inbox[end], b->qp[end], NULL, &line[end]));
	}
	ok(bsn_msg_line_address(line[1], &ring));
	ok(bsn_msg_line_connect(line[0], &ring));
	ok(bsn_msg_send(line[0], "hello", 5, BSN_F_RING));
	for (unsigned tries = 50; tries && !got; tries--) {
		bench_settle(b);
		got = bsn_msg_poll(inbox[1], &msg);
	}
	assert_int_equal(got, 1);
	assert_memory_equal(msg.data, "hello", 5);
	for (int end = 0; end < 2; end++) {
		ok(bsn_msg_line_destroy(line[end]));
		ok(bsn_msg_inbox_destroy(inbox[end]));
	}
	return NULL;
}

const char *try_ignored_overruns(struct bench *b)
{
	return try_cq(b, &(struct bsn_cq_attr){ .ignores_overrun = true });
}

const char *try_compression(struct bench *b)
{
	return try_cq(b, &(struct bsn_cq_attr){ .compression = BSN_CQES_BY_HASH });
}

const char *try_resize(struct bench *b)
{
	return refusal(bsn_cq_resize(bench_cq(b, NULL), 1000));
}
