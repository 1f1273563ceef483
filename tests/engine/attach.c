/* SPDX-License-Identifier: BSD-2-Clause */
/* Queues that another library made, driven by ours: data, errors, events. */
#include "attach_rig.h"

/* -- data -------------------------------------------------------------------------------------- */

static void a_short_message_is_scattered(struct app *a)
{
	const struct bsn_sge pieces[2] = { our_sge(a, 512, 5), our_sge(a, 517, 100) };

	ok(bsn_recv_sgl(bsn_qp_rq(a->attached), pieces, 2, 50));
	fill_peers(a, 512, 24);
	peer_post(a, IBV_WR_SEND, 512, 24);
	expect_done(a->b, our_cq(a), 50, BSN_RECV);
	assert_same(a, 512, 24);
}

static void send_to_peer(struct app *a, struct bsn_ep *ep)
{
	const struct bsn_sge local = our_sge(a, 1024, 100);

	peer_recv(a, 1024, 200);
	ok(bsn_send(ep, &local, 9, NOW));
	expect_done(a->b, our_cq(a), 9, BSN_OPCODE_SEND);
	assert_int_equal(peer_wc(a).byte_len, 100);
}

static void rc_moves_data_both_ways(struct bench *b)
{
	struct app *a = start_attached(b, IBV_QPT_RC, false);

	for (int lap = 0; lap < 20; lap++) {
		write_both_ways(a);
		messages_of_every_size_get_to_memory(a);
		a_short_message_is_scattered(a);
		send_to_peer(a, bsn_qp_ep(a->attached));
		assert_same(a, 1024, 100);
		peer_post(a, IBV_WR_RDMA_READ, 2048, 64);
		assert_same(a, 2048, 64);
	}
}

static void uc_moves_data_both_ways(struct bench *b)
{
	struct app *a = start_attached(b, IBV_QPT_UC, false);
	const struct bsn_sge local = our_sge(a, 0, 8);
	const struct bsn_remote remote = peers_bytes(a, 0);

	for (int lap = 0; lap < 20; lap++) {
		write_both_ways(a);
		messages_of_every_size_get_to_memory(a);
		send_to_peer(a, bsn_qp_ep(a->attached));
		assert_int_equal(bsn_read(bsn_qp_ep(a->attached), &local, &remote, 1, 0),
				 -EOPNOTSUPP);
	}
}

static void peer_sends_datagram(struct app *a, struct ibv_ah *ah)
{
	struct ibv_sge sge = { (uintptr_t)a->memory + PEERS, 32, a->mr->lkey };
	struct ibv_send_wr *bad, wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND };

	wr.send_flags = IBV_SEND_SIGNALED;
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = a->qp->qp_num;
	wr.wr.ud.remote_qkey = QKEY;
	assert_int_equal(ibv_post_send(a->peer, &wr, &bad), 0);
	peer_wc(a);
}

static void ud_answers_a_datagram(struct bench *b)
{
	const struct bsn_connect_attr connect = { .qkey = QKEY };
	struct ibv_ah_attr path = bench_way_to_self(b);
	struct app *a = start_attached(b, IBV_QPT_UD, false);
	struct ibv_ah *ah = ibv_create_ah(a->pd, &path);
	struct bsn_ep *ep;

	assert_non_null(ah);
	assert_int_equal(bsn_send_inline(bsn_qp_ep(a->attached), "", 1, 0, BSN_F_RING), -EINVAL);
	fill_peers(a, 0, 32);
	ok(post_recv(a, 256, 256, 60));
	peer_sends_datagram(a, ah);
	struct bsn_completion c = expect_done(b, our_cq(a), 60, BSN_RECV);
	assert_int_equal(c.src_qpn, a->peer->qp_num);
	assert_memory_equal(a->memory + 256 + BSN_GRH_SIZE, a->memory + PEERS, 32);
	ok(bsn_ep_create_reply(a->attached, &c, a->memory + 256, &connect, NULL, &ep));
	for (int lap = 0; lap < 20; lap++) {
		const struct bsn_sge local = our_sge(a, 1024, 100);
		peer_recv(a, 1024, 200);
		ok(bsn_send(ep, &local, 9, NOW));
		expect_done(b, our_cq(a), 9, BSN_OPCODE_SEND);
		assert_int_equal(peer_wc(a).byte_len, BSN_GRH_SIZE + 100);
		assert_memory_equal(a->memory + 1024, a->memory + PEERS + 1024 + BSN_GRH_SIZE, 100);
	}
	assert_int_equal(bsn_qp_destroy(a->attached), -EBUSY);
	ok(bsn_ep_destroy(ep));
	assert_int_equal(ibv_destroy_ah(ah), 0);
}

/*
 * If every request signals, the results of READs and atomics may be only in the CQE. Bunsen reads
 * from the QP whether all requests signal, whatever the application says.
 */
static void results_get_to_memory(struct bench *b)
{
	struct app *a = start_attached(b, IBV_QPT_RC, true);
	struct bsn_ep *ep = bsn_qp_ep(a->attached);

	for (uint32_t length = 1; length < 70; length += length < 4 ? 1 : 7) {
		const struct bsn_sge into = our_sge(a, 512, length);
		const struct bsn_remote from = peers_bytes(a, 512);
		fill_peers(a, 512, length);
		ok(bsn_read(ep, &into, &from, length, BSN_F_RING));
		expect_done(b, our_cq(a), length, BSN_OPCODE_RDMA_READ);
		assert_same(a, 512, length);
	}
	for (uint64_t i = 0; i < 20; i++) {
		const struct bsn_sge into = our_sge(a, 512, 8);
		const struct bsn_remote at = peers_bytes(a, 1024);
		const uint64_t result = bench_result(b, true, i);
		memcpy(a->memory + PEERS + 1024, &i, 8);
		ok(bsn_fetch_add(ep, &into, &at, 7, i, BSN_F_RING));
		expect_done(b, our_cq(a), i, BSN_OPCODE_ATOMIC_FA);
		assert_memory_equal(a->memory + 512, &result, 8);
		assert_int_equal(*(uint64_t *)(void *)(a->memory + PEERS + 1024), i + 7);
	}
}

/* -- errors, detaching ------------------------------------------------------------------------- */

static void an_error_brings_everything_back(struct bench *b)
{
	struct app *a = start_attached(b, IBV_QPT_RC, false);
	const struct bsn_sge local = our_sge(a, 0, 8);
	struct bsn_outstanding outstanding;
	struct bsn_qp_error error;

	ok(post_recv(a, 512, 64, 100));
	ok(bsn_write(bsn_qp_ep(a->attached), &local, &(struct bsn_remote){ 0, 0 }, 1, 0));
	ok(post_write(a, 0, 8, 2, 0));
	ok(post_write(a, 0, 8, 3, NOW));
	expect_status(b, our_cq(a), 1, BSN_OPCODE_RDMA_WRITE, IBV_WC_REM_ACCESS_ERR);
	for (uint64_t sends = 2, recvs = 100; sends < 4 || recvs < 101;) {
		const struct bsn_completion c = bench_next(b, our_cq(a));
		assert_int_equal(c.status, IBV_WC_WR_FLUSH_ERR);
		assert_int_equal(c.id, c.id < 100 ? sends++ : recvs++);
	}
	expect_nothing(b, our_cq(a));
	ok(bsn_qp_outstanding(a->attached, &outstanding));
	assert_int_equal(outstanding.sends + outstanding.recvs, 0);
	ok(bsn_qp_error(a->attached, &error));
	assert_int_equal(error.first.id, 1);
	ok(bsn_qp_reset(a->attached)); /* usable again, as one of Bunsen's own */
	ok(-ibv_modify_qp(a->peer, &(struct ibv_qp_attr){ .qp_state = IBV_QPS_RESET },
			  IBV_QP_STATE));
	connect_both(a);
	write_both_ways(a);
	messages_of_every_size_get_to_memory(a);
}

/* What the application made outlives the attachment: on plain verbs it simply goes on. */
static void a_detached_qp_is_the_applications_again(struct bench *b)
{
	struct app *a = start_attached(b, IBV_QPT_RC, false);
	struct ibv_qp_attr state;
	struct ibv_qp_init_attr init;

	write_both_ways(a);
	ok(post_recv(a, 512, 64, 100));
	detach(a);
	assert_int_equal(ibv_query_qp(a->qp, &state, IBV_QP_STATE, &init), 0);
	assert_int_equal(state.qp_state, IBV_QPS_RTS);
	reset_to_start(a->qp);
	reset_to_start(a->peer);
	connect_both(a);
	struct ibv_qp *qp = a->peer; /* the two change places, and the helpers with them */
	a->peer = a->qp;
	a->qp = qp;
	if (b->kind == BENCH_VERBS) {
		struct ibv_cq *cq = a->peer_cq;
		a->peer_cq = a->cq;
		peer_post(a, IBV_WR_RDMA_WRITE, 0, 64);
		assert_same(a, 0, 64);
		a->peer_cq = cq;
	}
}

/* -- events ------------------------------------------------------------------------------------ */

static bool is_readable(const struct ibv_comp_channel *channel)
{
	return poll(&(struct pollfd){ .fd = channel->fd, .events = POLLIN }, 1, 0) == 1;
}

static void take_event(struct app *a)
{
	struct ibv_cq *cq;
	void *context;

	assert_true(is_readable(a->channel));
	assert_int_equal(ibv_get_cq_event(a->channel, &cq, &context), 0);
	assert_ptr_equal(cq, a->cq);
	ibv_ack_cq_events(cq, 1);
	ok(bsn_cq_event_taken(our_cq(a)));
}

/* More rounds than the two bits of the sequence number count, by which the device arms the CQ. */
static void the_applications_channel_loses_no_event(struct bench *b)
{
	struct app *a = start_attached(b, IBV_QPT_RC, false);

	for (uint64_t i = 0; i < 40; i++) {
		struct bsn_completion c;
		ok(bsn_cq_request(our_cq(a), false));
		assert_int_equal(bsn_poll(our_cq(a), &c, 1), 0);
		assert_false(is_readable(a->channel));
		ok(post_write(a, 0, 8, i, NOW));
		bench_settle(b);
		take_event(a);
		if (i % 3) /* two of them for one event */
			ok(post_write(a, 0, 8, i, NOW));
		expect_done(b, our_cq(a), i, BSN_OPCODE_RDMA_WRITE);
		if (i % 3)
			expect_done(b, our_cq(a), i, BSN_OPCODE_RDMA_WRITE);
		assert_false(is_readable(a->channel));
	}
}

static const struct bench_case cases[] = {
	{ CASE(rc_moves_data_both_ways), BARE },
	{ CASE(uc_moves_data_both_ways), BARE },
	{ CASE(ud_answers_a_datagram), BARE },
	{ CASE(results_get_to_memory), BARE },
	{ CASE(an_error_brings_everything_back), BARE },
	{ CASE(a_detached_qp_is_the_applications_again), BARE },
	{ CASE(the_applications_channel_loses_no_event), BARE },
};

BENCH_MAIN("attach")
