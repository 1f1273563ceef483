/* SPDX-License-Identifier: BSD-2-Clause */
/* UD multicast: every member gets what is sent to its group, and nobody else does. */
#include "harness.h"
#include "bsn_mcast.h"

enum { INTO = 1024, LENGTH = 200, GROUP_LID = 0xc123 };

static bool is_roce(const struct bench *b)
{
	return !strcmp(bench_info(b)->link_layer, "Ethernet");
}

/* The model's port has an IPv4 address on RoCE. */
static struct bsn_mcast_group group_of(const struct bench *b, unsigned number)
{
	struct bsn_mcast_group of_ib = { .gid = { 0xff, 0x0e }, .lid = GROUP_LID };
	struct bsn_mcast_group of_ipv4 = {
		.gid = { [10] = 0xff, [11] = 0xff, [12] = 239, [13] = 1 }
	};
	struct bsn_mcast_group group = is_roce(b) ? of_ipv4 : of_ib;

	group.gid[15] = (uint8_t)number;
	return group;
}

static void post_recv(struct bench *b, int end, uint64_t id)
{
	memset(bench_at(b, end, INTO), 0, BSN_GRH_SIZE + LENGTH);
	ok(bsn_recv(b->rq[end], SGE(b, end, INTO, BSN_GRH_SIZE + LENGTH), id));
}

/* The GRH names the group. */
static void expect_message(struct bench *b, int end, uint64_t id,
			   const struct bsn_mcast_group *group)
{
	const struct bsn_completion c = expect_done(b, b->cq[end], id, BSN_RECV);

	assert_int_equal(c.byte_len, BSN_GRH_SIZE + LENGTH);
	assert_int_equal(c.flags & BSN_C_GRH, BSN_C_GRH);
	assert_int_equal(c.src_qpn, bsn_qp_info(b->qp[0])->number);
	if (is_roce(b))
		assert_memory_equal(bench_at(b, end, INTO + BSN_GRH_SIZE - 4), group->gid + 12, 4);
	else
		assert_memory_equal(bench_at(b, end, INTO + 24), group->gid, sizeof(group->gid));
	assert_memory_equal(bench_at(b, end, INTO + BSN_GRH_SIZE), bench_at(b, 0, 0), LENGTH);
}

static void send_to(struct bench *b, struct bsn_ep *ep, uint64_t id)
{
	ok(bsn_send(ep, SGE(b, 0, 0, LENGTH), id, NOW));
	assert_ptr_equal(expect_done(b, b->cq[0], id, BSN_OPCODE_SEND).user, b);
}

static struct bsn_ep *make_ep(struct bench *b, const struct bsn_mcast_group *group,
			      const struct bsn_connect_attr *attr)
{
	struct bsn_ep *ep;

	ok(bsn_ep_create_mcast(b->qp[0], group, attr, b, &ep));
	undo_later(b, bsn_ep_destroy, ep);
	return ep;
}

static void members_get_what_is_sent(struct bench *b)
{
	const struct bsn_mcast_group group = group_of(b, 1), other = group_of(b, 2);
	struct bsn_ep *ep = make_ep(b, &group, NULL);

	ok(bsn_mcast_attach(b->qp[1], &group));
	ok(bsn_mcast_attach(b->qp[1], &group)); /* a second attach changes nothing */
	ok(bsn_mcast_attach(b->qp[1], &other));
	post_recv(b, 0, 10);
	post_recv(b, 1, 11);
	send_to(b, ep, 1);
	expect_message(b, 1, 11, &group);
	expect_nothing(b, b->cq[0]);

	/* The sender, too, once it is a member; its completion is not always the first. */
	if (b->is_model) {
		struct bsn_completion c[2];
		ok(bsn_mcast_attach(b->qp[0], &group));
		post_recv(b, 1, 12);
		ok(bsn_send(ep, SGE(b, 0, 0, LENGTH), 2, NOW));
		expect_message(b, 1, 12, &group);
		assert_int_equal(bench_reap(b, b->cq[0], c, 1), 1);
		assert_int_equal(bench_reap(b, b->cq[0], c + 1, 1), 1);
		unsigned received = c[1].opcode == BSN_RECV;
		assert_int_equal(c[received].opcode, BSN_RECV);
		assert_int_equal(c[received].id, 10);
		assert_int_equal(c[!received].id, 2);
		ok(bsn_mcast_detach(b->qp[0], &group));
	}

	ok(bsn_mcast_detach(b->qp[1], &group));
	post_recv(b, 1, 13);
	send_to(b, ep, 3);
	expect_nothing(b, b->cq[1]); /* it is only in the other group */
	ok(bsn_mcast_detach(b->qp[1], &other));
}

/* A member without a receive loses the message; nobody is told. */
static void a_member_without_a_receive_loses_it(struct bench *b)
{
	const struct bsn_mcast_group group = group_of(b, 3);
	struct bsn_ep *ep = make_ep(b, &group, NULL);

	ok(bsn_mcast_attach(b->qp[1], &group));
	send_to(b, ep, 1);
	expect_nothing(b, b->cq[1]);
	post_recv(b, 1, 11);
	send_to(b, ep, 2);
	expect_message(b, 1, 11, &group);
	ok(bsn_mcast_detach(b->qp[1], &group));
}

static void another_qkey_is_not_heard(struct bench *b)
{
	const struct bsn_mcast_group group = group_of(b, 4);
	struct bsn_ep *ep = make_ep(b, &group, &(struct bsn_connect_attr){ .qkey = 0x1234 });

	ok(bsn_mcast_attach(b->qp[1], &group));
	post_recv(b, 1, 11);
	send_to(b, ep, 1);
	expect_nothing(b, b->cq[1]);
	ok(bsn_mcast_detach(b->qp[1], &group));
}

static void what_is_no_group_is_refused(struct bench *b)
{
	struct bsn_mcast_group group = group_of(b, 5), none = group, low = group;
	struct bsn_ep *ep = NULL;

	none.gid[0] = 0xfe;
	low.lid = 0xbfff;
	fails(EINVAL, "no QP", bsn_mcast_attach(NULL, &group));
	fails(EINVAL, "0xff", bsn_mcast_attach(b->qp[0], &none));
	fails(EINVAL, "0xff", bsn_ep_create_mcast(b->qp[0], &none, NULL, NULL, &ep));
	if (!is_roce(b))
		fails(EINVAL, "0xbfff", bsn_mcast_attach(b->qp[0], &low));
	fails(EINVAL, "cannot detach", bsn_mcast_detach(b->qp[0], &group));
	assert_null(ep);
}

static void a_member_is_not_destroyed(struct bench *b)
{
	const struct bsn_mcast_group group = group_of(b, 6);
	struct bsn_qp *qp =
		new_qp(b, .type = BSN_QP_UD, .cq = b->cq[0], .send_depth = 4, .recv_depth = 4);

	ok(bsn_mcast_attach(qp, &group));
	fails(EBUSY, "bsn_mcast_detach()", bsn_qp_destroy(qp));
	ok(bsn_mcast_detach(qp, &group));
}

/* A group takes as many members as the device says; when one leaves, another one fits. */
static void a_group_takes_so_many_members(struct bench *b)
{
	const struct bsn_mcast_group group = group_of(b, 8);
	const struct bsn_qp_attr attr = { .type = BSN_QP_UD, .send_depth = 1, .recv_depth = 1 };
	struct bsn_qp_attr on_own = attr;
	struct ibv_device_attr limits;
	struct bsn_qp *qps[256];

	assert_int_equal(ibv_query_device(bench_info(b)->verbs, &limits), 0);
	int most = limits.max_mcast_qp_attach;
	assert_in_range(most, 1, 255);
	struct bsn_cq *cq = new_cq(b, .entries = 2048);
	on_own.cq = cq;
	for (int i = 0; i <= most; i++) {
		ok(bsn_qp_create(b->device, &on_own, &qps[i]));
		if (i < most)
			ok(bsn_mcast_attach(qps[i], &group));
	}
	fails(ENOMEM, "cannot attach", bsn_mcast_attach(qps[most], &group));
	ok(bsn_mcast_detach(qps[0], &group));
	ok(bsn_mcast_attach(qps[most], &group));
	for (int i = 0; i <= most; i++) {
		if (i)
			ok(bsn_mcast_detach(qps[i], &group));
		ok(bsn_qp_destroy(qps[i]));
	}
}

static void only_ud_has_multicast(struct bench *b)
{
	const struct bsn_mcast_group group = group_of(b, 7);
	struct bsn_ep *ep;

	fails(EINVAL, "RC has no multicast", bsn_mcast_attach(b->qp[0], &group));
	fails(EINVAL, "UD QP", bsn_ep_create_mcast(b->qp[0], &group, NULL, NULL, &ep));
}

/*
 * The kernel's rxe sends to groups by the host's network, which has to be a member by IGMP or MLD.
 */
#define UD                                                                                         \
	.qp = { .type = BSN_QP_UD }, .rxe_lacks = "a network in which the host has joined the "    \
						  "group"

static const struct bench_case cases[] = {
	{ CASE_OF(members_get_what_is_sent, "InfiniBand"), UD },
	{ CASE_OF(members_get_what_is_sent, "RoCE"), UD, ROCE },
	{ CASE(a_member_without_a_receive_loses_it), UD },
	{ CASE(another_qkey_is_not_heard), UD },
	{ CASE(what_is_no_group_is_refused), UD },
	{ CASE(a_member_is_not_destroyed), UD, OWN, MODEL },
	{ CASE(a_group_takes_so_many_members), UD, OWN, MODEL },
	{ CASE(only_ud_has_multicast), OWN },
};

BENCH_MAIN("multicast")
