/* SPDX-License-Identifier: BSD-2-Clause */
/* The attributes of a connection get to the QP; each has a sensible default. */
#include "harness.h"

static struct ibv_qp_attr query(struct bench *b, int end)
{
	const int mask = IBV_QP_STATE | IBV_QP_PATH_MTU | IBV_QP_AV | IBV_QP_TIMEOUT |
			 IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MIN_RNR_TIMER |
			 IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_QKEY;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	assert_int_equal(ibv_query_qp(bsn_qp_info(b->qp[end])->verbs, &attr, mask, &init), 0);
	assert_int_equal(attr.qp_state, IBV_QPS_RTS);
	return attr;
}

static bool is_ethernet(struct bench *b)
{
	return !strcmp(bench_info(b)->link_layer, "Ethernet");
}

static void everything_by_default(struct bench *b)
{
	const struct bsn_device_info *info = bench_info(b);
	const unsigned rd_atomic = info->max_rd_atomic < 16 ? info->max_rd_atomic : 16;

	for (int end = 0; end < 2; end++) {
		const struct ibv_qp_attr attr = query(b, end);
		assert_int_equal(128u << attr.path_mtu, info->active_mtu);
		assert_int_equal(attr.timeout, 14);
		assert_int_equal(attr.retry_cnt, 7);
		assert_int_equal(attr.rnr_retry, 7);
		assert_int_equal(attr.min_rnr_timer, 12);
		assert_int_equal(attr.max_rd_atomic, rd_atomic);
		assert_int_equal(attr.max_dest_rd_atomic, rd_atomic);
		if (!is_ethernet(b))
			continue;
		assert_int_equal(attr.ah_attr.is_global, 1);
		assert_int_equal(attr.ah_attr.grh.sgid_index, info->gid_index);
		assert_int_equal(attr.ah_attr.grh.hop_limit, 64);
		assert_memory_equal(attr.ah_attr.grh.dgid.raw, info->gid, sizeof(info->gid));
	}
}

static void everything_as_asked(struct bench *b)
{
	for (int end = 0; end < 2; end++) {
		const struct ibv_qp_attr attr = query(b, end);
		assert_int_equal(attr.path_mtu, IBV_MTU_512);
		assert_int_equal(attr.timeout, 9);
		assert_int_equal(attr.retry_cnt, 3);
		assert_int_equal(attr.rnr_retry, 0);
		assert_int_equal(attr.min_rnr_timer, 20);
		assert_int_equal(attr.max_rd_atomic, 2);
		assert_int_equal(attr.max_dest_rd_atomic, 4);
		if (!b->is_rxe) /* rxe does not keep it: Linux 6.1, rxe_av.c, rxe_av_to_attr() */
			assert_int_equal(attr.ah_attr.sl, 3);
		if (!is_ethernet(b))
			continue;
		assert_int_equal(attr.ah_attr.grh.traffic_class, 0x68);
		/*
		 * The kernel takes the hop limit of the route: Linux 6.1, core/verbs.c,
		 * ib_resolve_unicast_gid_dmac().
		 */
		if (!b->is_rxe)
			assert_int_equal(attr.ah_attr.grh.hop_limit, 5);
	}
}

/* The device once more, with that GID, and a QP on it. */
struct of_gid {
	struct bsn_device *device;
	struct bsn_qp_attr attr;
	struct bsn_qp *qp;
	struct bsn_address address;
};

static struct of_gid open_with_gid(struct bench *b, int index)
{
	const struct bsn_device_info *usual = bench_info(b);
	const struct bsn_device_attr attr = { .path = usual->path,
					      .gid_index = index,
					      .has_gid_index = true };
	struct of_gid g = { .attr.type = BSN_QP_RC };

	ok(bsn_device_open(usual->name, &attr, &g.device));
	ok(bsn_cq_create(g.device, NULL, &g.attr.cq));
	ok(bsn_qp_create(g.device, &g.attr, &g.qp));
	ok(bsn_qp_address(g.qp, &g.address));
	return g;
}

static void close_of_gid(struct of_gid *g)
{
	ok(bsn_qp_destroy(g->qp));
	ok(bsn_cq_destroy(g->attr.cq));
	ok(bsn_device_close(g->device));
}

/*
 * A GID index is that of bsn_device_info() and of the kernel. 0 is an index, too, if the caller
 * gives it.
 */
static void a_gid_index_is_an_index(struct bench *b)
{
	const int usual = bench_info(b)->gid_index;
	const struct {
		struct bsn_connect_attr attr;
		int index;
	} asked[] = {
		{ { .gid_index = usual }, usual },
		{ { .gid_index = 1 }, 1 },
		{ { .has_gid_index = true }, 0 },
		{ { 0 }, usual },
	};

	assert_int_not_equal(usual, 0);
	assert_int_not_equal(usual, 1);
	for (size_t i = 0; i < COUNT(asked); i++) {
		struct of_gid peer = open_with_gid(b, asked[i].index);
		ok(bsn_qp_reset(b->qp[0]));
		ok(bsn_qp_connect(b->qp[0], &peer.address, &asked[i].attr));
		assert_int_equal(query(b, 0).ah_attr.grh.sgid_index, asked[i].index);
		close_of_gid(&peer);
	}
}

/* No request could go there, and the text says why. */
static void gids_of_two_families_are_refused(struct bench *b)
{
	struct of_gid peer = open_with_gid(b, 1);

	ok(bsn_qp_reset(b->qp[0]));
	fails(EINVAL, "one end's GID of IPv4, and the other's of IPv6",
	      bsn_qp_connect(b->qp[0], &peer.address, NULL));
	close_of_gid(&peer);
}

static void so_are_those_of_an_endpoint(struct bench *b)
{
	struct bsn_qp_attr attr = { .type = BSN_QP_UD };
	struct of_gid peer = open_with_gid(b, 1);
	struct bsn_address address;
	struct bsn_qp *far;
	struct bsn_ep *ep;

	attr.cq = peer.attr.cq;
	ok(bsn_qp_create(peer.device, &attr, &far));
	ok(bsn_qp_address(far, &address));
	fails(EINVAL, "one end's GID of IPv4, and the other's of IPv6",
	      bsn_ep_create(b->qp[0], &address, NULL, NULL, &ep));
	ok(bsn_qp_destroy(far));
	close_of_gid(&peer);
}

/* If the device was opened with a GID index, its addresses have it, too. */
static void a_device_s_gid_is_that_of_its_addresses(struct bench *b)
{
	const struct bsn_device_info *usual = bench_info(b);

	for (int index = 0; index < usual->gid_index; index++) {
		const struct bsn_connect_attr same = { .gid_index = index, .has_gid_index = true };
		struct of_gid g = open_with_gid(b, index);
		union ibv_gid gid;
		assert_int_equal(bsn_device_info(g.device)->gid_index, index);
		assert_int_equal(ibv_query_gid(usual->verbs, usual->port, index, &gid), 0);
		assert_memory_equal(bsn_device_info(g.device)->gid, gid.raw, sizeof(gid.raw));
		ok(bsn_qp_reset(b->qp[0]));
		ok(bsn_qp_connect(b->qp[0], &g.address, &same));
		assert_memory_equal(query(b, 0).ah_attr.grh.dgid.raw, gid.raw, sizeof(gid.raw));
		ok(bsn_qp_connect(g.qp, &g.address, NULL));
		close_of_gid(&g);
	}
}

static int post_recv(struct bench *b, int end, uint64_t id)
{
	return bsn_recv(b->rq[end], SGE(b, end, 0, 64 + BSN_GRH_SIZE), id);
}

static int post_send(struct bench *b, int end, uint64_t id)
{
	return bsn_send_inline(b->ep[end], "early", 5, id, NOW);
}

/* A peer may send as soon as it is connected, so receives are posted before. */
static void receives_wait_for_their_peer(struct bench *b)
{
	for (int end = 0; end < 2; end++) {
		if (!b->app.qp[end]) /* an attached one's state is the application's */
			assert_int_equal(bench_error(b, end).state, IBV_QPS_INIT);
		ok(bsn_qp_init(b->qp[end]));
		assert_int_equal(bench_error(b, end).state, IBV_QPS_INIT);
	}
	for (uint64_t id = 0; id < BENCH_DEPTH; id++)
		ok(post_recv(b, 1, id));
	assert_int_equal(post_recv(b, 1, BENCH_DEPTH), -EAGAIN);
	bench_connect(b);
	assert_int_equal(bsn_qp_init(b->qp[0]), -EINVAL);
	for (uint64_t id = 0; id < BENCH_DEPTH; id++) {
		ok(post_send(b, 0, id));
		expect_done(b, b->cq[0], id, BSN_OPCODE_SEND);
		expect_done(b, b->cq[1], id, BSN_RECV);
	}
}

/* Both ends can receive before either sends. An end that only receives needs no more steps. */
static void a_connection_in_steps(struct bench *b)
{
	struct bsn_address address[2];

	for (int end = 0; end < 2; end++) {
		ok(bsn_qp_address(b->qp[end], &address[end]));
		ok(bsn_qp_init(b->qp[end]));
	}
	ok(post_recv(b, 1, 1));
	assert_true(bsn_qp_ready_to_send(b->qp[0], NULL) < 0); /* not before the other half */
	for (int end = 0; end < 2; end++) {
		ok(bsn_qp_ready_to_receive(b->qp[end], &address[!end], NULL));
		assert_int_equal(bench_error(b, end).state, IBV_QPS_RTR);
	}
	ok(bsn_qp_ready_to_send(b->qp[0], NULL));
	assert_int_equal(bench_error(b, 0).state, IBV_QPS_RTS);
	ok(post_send(b, 0, 2));
	expect_done(b, b->cq[0], 2, BSN_OPCODE_SEND);
	expect_done(b, b->cq[1], 1, BSN_RECV);
	ok(bsn_qp_ready_to_send(b->qp[1], NULL));
	ok(post_recv(b, 0, 3));
	ok(post_send(b, 1, 4));
	expect_done(b, b->cq[1], 4, BSN_OPCODE_SEND);
	expect_done(b, b->cq[0], 3, BSN_RECV);
}

/*
 * Sends are refused before and during the connection and after a reset. Nothing is written to the
 * ring that would run later.
 */
static void sends_wait_for_the_connection(struct bench *b)
{
	struct bsn_outstanding left;
	struct bsn_address peer;

	if (b->app.qp[0])
		return; /* an attached QP's state is the application's */
	ok(bsn_qp_address(b->qp[1], &peer));
	assert_int_equal(post_send(b, 0, 1), -ENOTCONN);
	ok(bsn_qp_ready_to_receive(b->qp[0], &peer, NULL));
	assert_int_equal(post_send(b, 0, 1), -ENOTCONN);
	ok(bsn_qp_reset(b->qp[0]));
	bench_connect(b);
	ok(post_recv(b, 1, 2));
	ok(post_send(b, 0, 3));
	expect_done(b, b->cq[0], 3, BSN_OPCODE_SEND);
	expect_done(b, b->cq[1], 2, BSN_RECV);
	ok(bsn_qp_reset(b->qp[0]));
	assert_int_equal(post_send(b, 0, 4), -ENOTCONN);
	ok(bsn_qp_outstanding(b->qp[0], &left));
	assert_int_equal(left.sends, 0);
}

#define ASKED                                                                                      \
	.connect = { .mtu = 512,                                                                   \
		     .sl = 3,                                                                      \
		     .traffic_class = 0x68,                                                        \
		     .hop_limit = 5,                                                               \
		     .timeout = 9,                                                                 \
		     .retry_count = 3,                                                             \
		     .rnr_retry = BSN_NO_RETRY,                                                    \
		     .min_rnr_timer = 20,                                                          \
		     .max_rd_atomic = 2,                                                           \
		     .max_dest_rd_atomic = 4 }

static const struct bench_case cases[] = {
	{ CASE(everything_by_default) },
	{ CASE_OF(everything_by_default, "RoCE"), ROCE, MODEL },
	{ CASE(everything_as_asked), ASKED },
	{ CASE_OF(everything_as_asked, "RoCE"), ASKED, ROCE, MODEL },
	{ CASE(a_gid_index_is_an_index), ROCE, MODEL },
	{ CASE(a_device_s_gid_is_that_of_its_addresses), ROCE, MODEL },
	{ CASE(gids_of_two_families_are_refused), ROCE, MODEL },
	{ CASE(so_are_those_of_an_endpoint), ROCE, MODEL, .qp.type = BSN_QP_UD },
	{ CASE(receives_wait_for_their_peer), .stays_idle = true },
	{ CASE_OF(receives_wait_for_their_peer, "datagrams"), .stays_idle = true,
	  .qp.type = BSN_QP_UD },
	{ CASE(a_connection_in_steps), .stays_idle = true },
	{ CASE(sends_wait_for_the_connection), .stays_idle = true, OWN },
};

BENCH_MAIN("connections")
