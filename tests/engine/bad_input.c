/* SPDX-License-Identifier: BSD-2-Clause */
/* What the library refuses: NULL, addresses, sizes, what does not belong together. */
#include "bad_input_rig.h"

/* -- NULL -------------------------------------------------------------------------------------- */

static void nothing_given(struct bench *b)
{
	struct bsn_device *d = b->device;
	struct bsn_qp_attr no_cq = { 0 };
	uint8_t byte;

	REFUSED(EINVAL, "no place", bsn_device, ((void)out, bsn_device_open(NULL, NULL, NULL)));
	REFUSED(EINVAL, "no context", bsn_device, bsn_device_attach(NULL, NULL, out));
	REFUSED(EINVAL, "no device", bsn_lane, bsn_lane_create(NULL, NULL, out));
	REFUSED(EINVAL, "no device", bsn_pd, bsn_pd_create(NULL, out));
	REFUSED(EINVAL, "no device", bsn_mr, bsn_mr_register(NULL, &byte, 1, NULL, out));
	REFUSED(EINVAL, "no memory", bsn_mr, bsn_mr_register(d, NULL, 1, NULL, out));
	REFUSED(EINVAL, "no memory", bsn_mr, bsn_mr_register(d, &byte, 0, NULL, out));
	REFUSED(EINVAL, "no device", bsn_mr, bsn_buf_alloc(NULL, 1, NULL, out));
	REFUSED(EINVAL, "no length", bsn_mr, bsn_buf_alloc(d, 0, NULL, out));
	REFUSED(EINVAL, "no length", bsn_mr, bsn_buf_alloc(d, SIZE_MAX, NULL, out));
	REFUSED(EINVAL, "no device", bsn_channel, bsn_channel_create(NULL, out));
	REFUSED(EINVAL, "no device", bsn_cq, bsn_cq_create(NULL, NULL, out));
	REFUSED(EINVAL, "no device", bsn_rq, bsn_srq_create(NULL, NULL, out));
	REFUSED(EINVAL, "no device", bsn_qp, bsn_qp_create(NULL, &no_cq, out));
	REFUSED(EINVAL, "no attributes", bsn_qp, bsn_qp_create(d, NULL, out));
	REFUSED(EINVAL, "needs a CQ", bsn_qp, bsn_qp_create(d, &no_cq, out));
	REFUSED(EINVAL, "no device", bsn_qp, bsn_qp_attach(NULL, NULL, NULL, out));
	REFUSED(EINVAL, "no channel", bsn_cq, bsn_channel_get(NULL, out));
}

static void no_place_given(struct bench *b)
{
	struct bsn_device *d = b->device;
	uint8_t byte;

	fails(EINVAL, "no place", bsn_lane_create(d, NULL, NULL));
	fails(EINVAL, "no place", bsn_pd_create(d, NULL));
	fails(EINVAL, "no place", bsn_mr_register(d, &byte, 1, NULL, NULL));
	fails(EINVAL, "no place", bsn_buf_alloc(d, 1, NULL, NULL));
	fails(EINVAL, "no place", bsn_channel_create(d, NULL));
	fails(EINVAL, "no place", bsn_cq_create(d, NULL, NULL));
	fails(EINVAL, "no place", bsn_srq_create(d, NULL, NULL));
	fails(EINVAL, "no place", bsn_qp_create(d, &b->test->qp, NULL));
	fails(EINVAL, "no place", bsn_device_get_event(d, NULL));
	fails(EINVAL, "no place", bsn_qp_address(b->qp[0], NULL));
	fails(EINVAL, "no place", bsn_qp_counters(b->qp[0], NULL));
	fails(EINVAL, "no place", bsn_qp_error(b->qp[0], NULL));
	fails(EINVAL, "no place", bsn_qp_outstanding(b->qp[0], NULL));
}

static void no_layout_given(struct bench *b)
{
	const struct bsn_part part = { bench_sge(b, 0, 0, 1).addr, 1, 0, b->mem[0]->lkey, 0 };
	const struct bsn_layout_attr attr = { .parts = &part, .part_count = 1 },
				     without_parts = { .part_count = 1 };
	struct bsn_ep *ep = bsn_qp_ep(b->qp[0]);
	const struct bsn_map *map;
	struct bsn_layout *layout;
	struct bsn_mkey_pool *pool;

	ok(bsn_mkey_pool_create(b->device, NULL, &pool));
	fails(EINVAL, "no pool", bsn_layout_create(NULL, &attr, &layout));
	fails(EINVAL, "no place", bsn_layout_create(pool, &attr, NULL));
	fails(EINVAL, "no layout", bsn_layout_create(pool, NULL, &layout));
	fails(EINVAL, "parts", bsn_layout_create(pool, &without_parts, &layout));
	ok(bsn_layout_create(pool, &attr, &layout));
	fails(EINVAL, "no layout", bsn_layout_map(NULL, ep, 0, &map));
	fails(EINVAL, "no endpoint", bsn_layout_map(layout, NULL, 0, &map));
	fails(EINVAL, "no place", bsn_layout_map(layout, ep, 0, NULL));
	fails(EINVAL, "unknown flags", bsn_layout_map(layout, ep, 2, &map));
	fails(EINVAL, "no layout, or no mkey", bsn_mkey_configure(ep, NULL, layout, 0, 0));
	bsn_layout_unmap(NULL);
	ok(bsn_layout_destroy(NULL));
	ok(bsn_layout_destroy(layout));
	ok(bsn_mkey_pool_destroy(pool));
}

static void no_object_given(struct bench *b)
{
	struct bsn_connect_attr connect = { 0 };
	struct bsn_address address;
	struct bsn_counters counters;
	struct bsn_qp_error error;
	struct bsn_outstanding outstanding;
	struct bsn_completion c = { 0 };
	struct bsn_event event;

	fails(EINVAL, "no device", bsn_device_get_event(NULL, &event));
	fails(EINVAL, "no CQ", bsn_cq_request(NULL, false));
	fails(EINVAL, "no CQ", bsn_cq_event_taken(NULL));
	fails(EINVAL, "no CQ", bsn_cq_hand_over(NULL));
	fails(EINVAL, "no SRQ", bsn_srq_set_limit(NULL, 1));
	fails(EINVAL, "no QP", bsn_qp_address(NULL, &address));
	fails(EINVAL, "no QP", bsn_qp_connect(NULL, &address, &connect));
	fails(EINVAL, "no peer", bsn_qp_connect(b->qp[0], NULL, &connect));
	fails(EINVAL, "no QP", bsn_qp_counters(NULL, &counters));
	fails(EINVAL, "no QP", bsn_qp_error(NULL, &error));
	fails(EINVAL, "no QP", bsn_qp_outstanding(NULL, &outstanding));
	fails(EINVAL, "no QP", bsn_qp_fail(NULL));
	fails(EINVAL, "no QP", bsn_qp_reset(NULL));
	fails(EINVAL, "no QP", bsn_qp_hand_over(NULL));
	REFUSED(EINVAL, "no QP", bsn_ep, bsn_ep_create(NULL, &address, NULL, NULL, out));
	REFUSED(EINVAL, "no peer", bsn_ep, bsn_ep_create(b->qp[0], NULL, NULL, NULL, out));
	REFUSED(EINVAL, "UD QP", bsn_ep, bsn_ep_create_reply(NULL, &c, &c, NULL, NULL, out));
	fails(EINVAL, "own", bsn_ep_destroy(b->ep[0]));
	assert_null(bsn_device_info(NULL));
	assert_int_equal(bsn_channel_fd(NULL), -EINVAL);
	assert_null(bsn_qp_info(NULL));
	assert_null(bsn_qp_ep(NULL));
	assert_null(bsn_qp_rq(NULL));
}

static void nothing_is_destroyed_in_silence(struct bench *b)
{
	(void)b;
	ok(bsn_device_close(NULL));
	ok(bsn_lane_destroy(NULL));
	ok(bsn_pd_destroy(NULL));
	ok(bsn_mr_deregister(NULL));
	ok(bsn_buf_free(NULL));
	ok(bsn_channel_destroy(NULL));
	ok(bsn_cq_destroy(NULL));
	ok(bsn_srq_destroy(NULL));
	ok(bsn_qp_destroy(NULL));
	ok(bsn_ep_destroy(NULL));
}

/* -- addresses --------------------------------------------------------------------------------- */

/* Offsets in an address. If one changes, peers of other versions read the address wrongly. */
enum {
	AT_VERSION = 3,
	AT_QPN = 4,
	AT_LID = 16,
	AT_TYPE = 18,
	AT_LINK = 19,
	AT_MTU = 20,
	AT_GID = 24
};

static void assert_no_address(struct bench *b, size_t at, uint8_t value, const char *word)
{
	struct bsn_address address;

	ok(bsn_qp_address(b->qp[1], &address));
	address.bytes[at] = value;
	fails(EPROTO, word, bsn_qp_connect(b->qp[0], &address, NULL));
}

static void addresses(struct bench *b)
{
	struct bsn_address address;

	for (size_t i = 0; i < sizeof(address.bytes); i++)
		address.bytes[i] = (uint8_t)(i * 37);
	fails(EPROTO, "not the address", bsn_qp_connect(b->qp[0], &address, NULL));
	memset(&address, 0, sizeof(address));
	fails(EPROTO, "not the address", bsn_qp_connect(b->qp[0], &address, NULL));
	assert_no_address(b, AT_VERSION, 2, "version 2");
	assert_no_address(b, AT_QPN, 1, "QPN");
	assert_no_address(b, AT_TYPE, BSN_QP_UC, "UC, this one is RC");
	assert_no_address(b, AT_TYPE, 77, "unknown type");
	assert_no_address(b, AT_LINK, IBV_LINK_LAYER_ETHERNET, "Ethernet");
	assert_no_address(b, AT_MTU, 0, "MTU");
	assert_no_address(b, AT_MTU, 6, "MTU");
	assert_no_address(b, AT_GID, 0xfd, "another InfiniBand subnet");
	bench_connect(b); /* as if nothing had been */
}

/* Queues of one port still reach each other. */
static void a_port_that_is_down(struct bench *b)
{
	const struct bsn_sge local = bench_sge(b, 0, 0, 64);
	const struct bsn_remote remote = bench_remote(b, 1, 0);
	struct bsn_address elsewhere;

	ok(bsn_qp_address(b->qp[1], &elsewhere));
	elsewhere.bytes[AT_LID] ^= 1;
	ok(bsn_write(b->ep[0], &local, &remote, 1, BSN_F_RING)); /* the fault comes with it */
	bench_settle(b);
	bench_reset(b);
	fails(ENETDOWN, "port 1 of mlx5_0 is down", bsn_qp_connect(b->qp[0], &elsewhere, NULL));
	bench_connect(b);
}

static void connection_attributes(struct bench *b)
{
#define BAD(word, ...)                                                                             \
	fails(EINVAL, word,                                                                        \
	      bsn_qp_connect(b->qp[0], &peer, &(struct bsn_connect_attr){ __VA_ARGS__ }))
	struct bsn_address peer;

	ok(bsn_qp_address(b->qp[1], &peer));
	BAD("256, 512", .mtu = 1000);
	BAD("gid_index", .gid_index = -1);
	BAD("gid_index", .gid_index = 10000);
	BAD("sl", .sl = 16);
	BAD("timeout", .timeout = 32);
	BAD("retry_count", .retry_count = 8);
	BAD("rnr_retry", .rnr_retry = 8);
	BAD("min_rnr_timer", .min_rnr_timer = 32);
	BAD("max_rd_atomic", .max_rd_atomic = 255);
	BAD("max_dest_rd_atomic", .max_dest_rd_atomic = 255);
	bench_connect(b);
	fails(EINVAL, "bsn_qp_reset", bsn_qp_connect(b->qp[0], &peer, NULL));
#undef BAD
}

static void endpoint_attributes(struct bench *b)
{
	const struct bsn_connect_attr steep = { .sl = 16 }, elsewhere = { .gid_index = 10000 };
	struct bsn_address peer;

	ok(bsn_qp_address(b->qp[1], &peer));
	REFUSED(EINVAL, "sl", bsn_ep, bsn_ep_create(b->qp[0], &peer, &steep, NULL, out));
	REFUSED(EINVAL, "gid_index", bsn_ep, bsn_ep_create(b->qp[0], &peer, &elsewhere, NULL, out));
	peer.bytes[AT_TYPE] = BSN_QP_RC;
	REFUSED(EPROTO, "RC, this one is UD", bsn_ep,
		bsn_ep_create(b->qp[0], &peer, NULL, NULL, out));
}

/* -- sizes ------------------------------------------------------------------------------------- */

static void sizes_of_queue_pairs(struct bench *b)
{
#define BAD(word, ...)                                                                             \
	REFUSED(EINVAL, word, bsn_qp,                                                              \
		bsn_qp_create(b->device, &(struct bsn_qp_attr){ .cq = cq, __VA_ARGS__ }, out))
	const struct bsn_device_info *info = bench_info(b);
	struct bsn_cq *cq;
	char sges[64];

	snprintf(sges, sizeof(sges), "max_send_sge 100: the device takes %u", info->max_sge);
	ok(bsn_cq_create(b->device, NULL, &cq));
	BAD("enum bsn_qp_type", .type = 7);
	BAD("send_depth ", .send_depth = info->max_send_wr + 1);
	BAD("recv_depth ", .recv_depth = info->max_send_wr + 1);
	BAD(sges, .max_send_sge = 100);
	BAD("max_recv_sge ", .max_recv_sge = info->max_sge + 1);
	BAD("room for 924", .max_inline = 925);
	BAD("room for 892", .max_inline = 893, .type = BSN_QP_UD);
	BAD("not an SRQ", .srq = b->rq[0]);
	ok(bsn_cq_destroy(cq));
#undef BAD
}

static void sizes_of_completion_queues(struct bench *b)
{
	struct bsn_cq_attr attr = { .cqe_size = 32 };
	struct bsn_srq_attr srq = { .recv_depth = 1u << 30 };

	REFUSED(EINVAL, "64 or 128", bsn_cq, bsn_cq_create(b->device, &attr, out));
	attr = (struct bsn_cq_attr){ .entries = bench_info(b)->max_cqe + 1 };
	REFUSED(EINVAL, "the device takes", bsn_cq, bsn_cq_create(b->device, &attr, out));
	REFUSED(EINVAL, "the device takes", bsn_rq, bsn_srq_create(b->device, &srq, out));
	srq = (struct bsn_srq_attr){ .max_recv_sge = 1000 };
	REFUSED(EINVAL, "the device takes", bsn_rq, bsn_srq_create(b->device, &srq, out));
}

/* The size that the text names is large enough. */
static void a_cq_that_is_too_small(struct bench *b)
{
	struct bsn_cq_attr cq_attr = { .entries = 8 };
	struct bsn_qp_attr attr = { .send_depth = 20, .recv_depth = 13, .max_send_sge = 4 };
	unsigned size = 0;
	struct bsn_qp *qp;

	ok(bsn_cq_create(b->device, &cq_attr, &attr.cq));
	while (bsn_qp_create(b->device, &attr, &qp) == -ENOSPC) {
		const char *with = strstr(bsn_error_text(), "create it with ");
		assert_non_null(with);
		assert_int_equal(sscanf(with, "create it with %u", &cq_attr.entries), 1);
		assert_true(cq_attr.entries > size);
		size = cq_attr.entries;
		ok(bsn_cq_destroy(attr.cq));
		ok(bsn_cq_create(b->device, &cq_attr, &attr.cq));
	}
	assert_true(size >= 33);
	ok(bsn_qp_destroy(qp));
	ok(bsn_cq_destroy(attr.cq));
}

/* -- what belongs together --------------------------------------------------------------------- */

static void objects_of_another_device(struct bench *b)
{
	const struct foreign f = open_foreign(b);
	const struct bsn_mr_attr mr = { .pd = f.pd };
	const struct bsn_srq_attr srq = { .pd = f.pd };
	const struct bsn_cq_attr lane = { .lane = f.lane }, channel = { .channel = f.channel };

	REFUSED(EINVAL, "domain", bsn_mr,
		bsn_mr_register(b->device, bench_at(b, 0, 0), 64, &mr, out));
	REFUSED(EINVAL, "domain", bsn_mr, bsn_buf_alloc(b->device, 64, &mr, out));
	REFUSED(EINVAL, "domain", bsn_rq, bsn_srq_create(b->device, &srq, out));
	REFUSED(EINVAL, "lane", bsn_cq, bsn_cq_create(b->device, &lane, out));
	REFUSED(EINVAL, "channel", bsn_cq, bsn_cq_create(b->device, &channel, out));
#define BAD(word, ...)                                                                             \
	REFUSED(EINVAL, word " is of another device", bsn_qp,                                      \
		bsn_qp_create(b->device, &(struct bsn_qp_attr){ __VA_ARGS__ }, out))
	BAD("CQ", .cq = f.cq);
	BAD("CQ", .cq = b->cq[0], .recv_cq = f.cq);
	BAD("lane", .cq = b->cq[0], .lane = f.lane);
	BAD("domain", .cq = b->cq[0], .pd = f.pd);
	BAD("SRQ", .cq = b->cq[0], .srq = f.srq);
#undef BAD
}

static void send_one(struct bench *b, struct bsn_ep *ep, struct bsn_qp *to)
{
	const struct bsn_sge from = bench_sge(b, 0, 0, 64), into = bench_sge(b, 1, 0, 200);

	ok(bsn_recv(bsn_qp_rq(to), &into, 7));
	ok(bsn_send(ep, &from, 8, NOW));
	expect_done(b, bsn_qp_info(to)->cq, 7, BSN_RECV);
}

/* Each pair of an object and one that it uses. An object whose destruction was refused works on. */
static void what_is_used_stays(struct bench *b)
{
	struct bsn_qp_attr attr = { .type = BSN_QP_UD, .send_depth = 8 };
	struct bsn_srq_attr srq = { 0 };
	struct bsn_cq_attr cq = { .entries = 1024 };
	struct bsn_mr_attr mr = { 0 };
	struct bsn_mr *memory[2];
	struct bsn_address address;
	struct bsn_qp *qp;
	struct bsn_ep *ep;

	mr.pd = bench_pd(b);
	srq.pd = attr.pd = mr.pd;
	ok(bsn_lane_create(b->device, NULL, &cq.lane));
	ok(bsn_channel_create(b->device, &cq.channel));
	ok(bsn_cq_create(b->device, &cq, &attr.cq));
	ok(bsn_srq_create(b->device, &srq, &attr.srq));
	ok(bsn_qp_create(b->device, &attr, &qp));
	ok(bsn_qp_connect(qp, NULL, NULL));
	ok(bsn_qp_address(qp, &address));
	ok(bsn_ep_create(qp, &address, NULL, NULL, &ep));
	for (int end = 0; end < 2; end++) {
		memory[end] = b->mem[end];
		ok(bsn_buf_alloc(b->device, BENCH_BYTES, &mr, &b->mem[end]));
	}
	fails(EBUSY, "endpoints", bsn_qp_destroy(qp));
	fails(EBUSY, "QPs", bsn_cq_destroy(attr.cq));
	fails(EBUSY, "QPs", bsn_srq_destroy(attr.srq));
	fails(EBUSY, "protection domain", bsn_pd_destroy(mr.pd));
	fails(EBUSY, "lane", bsn_lane_destroy(cq.lane));
	fails(EBUSY, "channel", bsn_channel_destroy(cq.channel));
	fails(EBUSY, "1 SRQ(s), 1 QP(s)", bsn_device_close(b->device));
	send_one(b, ep, qp);
	ok(bsn_ep_destroy(ep));
	ok(bsn_qp_destroy(qp));
	fails(EBUSY, "protection domain", bsn_pd_destroy(mr.pd)); /* the SRQ and memory */
	ok(bsn_srq_destroy(attr.srq));
	fails(EBUSY, "channel", bsn_channel_destroy(cq.channel)); /* the CQ */
	fails(EBUSY, "lane", bsn_lane_destroy(cq.lane));
	ok(bsn_cq_destroy(attr.cq));
	ok(bsn_channel_destroy(cq.channel));
	ok(bsn_lane_destroy(cq.lane));
	fails(EBUSY, "protection domain", bsn_pd_destroy(mr.pd)); /* memory */
	for (int end = 0; end < 2; end++) {
		ok(bsn_buf_free(b->mem[end]));
		b->mem[end] = memory[end];
	}
}

#define IDLE .stays_idle = true, OWN

static const struct bench_case cases[] = {
	{ CASE(nothing_given), OWN },
	{ CASE(no_place_given), OWN },
	{ CASE(no_object_given), OWN },
	{ CASE(no_layout_given), OWN },
	{ CASE(nothing_is_destroyed_in_silence), BARE },
	{ CASE(addresses), IDLE, MODEL },
	{ CASE(a_port_that_is_down), OWN, MODEL, .fault_plan = "nth=1 port-down" },
	{ CASE(connection_attributes), IDLE },
	{ CASE(endpoint_attributes), OWN, .qp.type = BSN_QP_UD },
	{ CASE(sizes_of_queue_pairs), OWN },
	{ CASE(sizes_of_completion_queues), BARE },
	{ CASE(a_cq_that_is_too_small), BARE },
	{ CASE(objects_of_another_device), OWN },
	{ CASE(what_is_used_stays), BARE },
};

BENCH_MAIN("bad_input")
