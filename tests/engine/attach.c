/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * QPs that an application made by verbs and attached to Bunsen. If the application promises that
 * nobody else uses their register, they run on the direct path, otherwise on verbs. The peer is a
 * QP of plain libmlx5.
 */
#include "harness.h"

#include <fcntl.h>
#include <poll.h>

enum { DEPTH = 8, SGES = 2, QKEY = 0x2345, BYTES = 8192 };

/* What the application made, by libibverbs alone. */
struct app {
	struct bench *b;
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq, *peer_cq;
	struct ibv_qp *qp, *peer;
	struct bsn_device *device;
	struct bsn_qp *attached;
	uint8_t memory[BYTES] __attribute__((aligned(4096)));
};

/* Ours in the first half, the peer's in the second. */
enum { OURS = 0, PEERS = BYTES / 2 };

/* -- the application --------------------------------------------------------------------------- */

static struct ibv_qp *create_qp(struct app *a, struct ibv_cq *cq, enum ibv_qp_type type,
				bool signal_all)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq,
		.recv_cq = cq,
		.qp_type = type,
		.sq_sig_all = signal_all,
		.cap = { DEPTH, DEPTH, SGES, SGES, 32 },
	};
	struct ibv_qp *qp = ibv_create_qp(a->pd, &init);

	assert_non_null(qp);
	return qp;
}

static void modify(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	assert_int_equal(ibv_modify_qp(qp, attr, mask | IBV_QP_STATE), 0);
}

static void to_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY };
	const int rights = qp->qp_type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;

	attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
	if (qp->qp_type == IBV_QPT_RC)
		attr.qp_access_flags |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
	modify(qp, &attr, IBV_QP_PKEY_INDEX | IBV_QP_PORT | rights);
}

static void to_rts(struct app *a, struct ibv_qp *qp, const struct ibv_qp *peer)
{
	struct ibv_qp_attr rtr = { .qp_state = IBV_QPS_RTR,
				   .path_mtu = IBV_MTU_1024,
				   .dest_qp_num = peer->qp_num,
				   .ah_attr = bench_way_to_self(a->b),
				   .max_dest_rd_atomic = 4,
				   .min_rnr_timer = 12 };
	struct ibv_qp_attr rts = { .qp_state = IBV_QPS_RTS,
				   .timeout = 14,
				   .retry_cnt = 7,
				   .rnr_retry = 7,
				   .max_rd_atomic = 4 };
	const bool rc = qp->qp_type == IBV_QPT_RC, ud = qp->qp_type == IBV_QPT_UD;

	modify(qp, &rtr,
	       ud ? 0
		  : IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			       (rc ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0));
	modify(qp, &rts,
	       IBV_QP_SQ_PSN | (rc ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
						IBV_QP_MAX_QP_RD_ATOMIC
				   : 0));
}

static void connect_both(struct app *a)
{
	to_init(a->qp);
	to_init(a->peer);
	to_rts(a, a->qp, a->peer);
	to_rts(a, a->peer, a->qp);
}

/*
 * A CQ that has room for the QP's work, but not for one more request. An mlx5 CQ has one entry more
 * than it reports; soft-RoCE has as many as it reports.
 */
static struct ibv_cq *create_cq(struct app *a, struct ibv_comp_channel *channel)
{
	const int entries = a->b->is_rxe ? 2 * DEPTH : 2 * DEPTH - 1;
	struct ibv_cq *cq = ibv_create_cq(a->context, entries, NULL, channel, 0);

	assert_non_null(cq);
	if (a->b->is_model)
		assert_int_equal(cq->cqe, entries);
	return cq;
}

static struct app *start_app(struct bench *b, enum ibv_qp_type type, bool signal_all)
{
	const int rights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			   IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
	struct app *a = aligned_alloc(4096, sizeof(*a));

	assert_non_null(a);
	memset(a, 0, sizeof(*a));
	a->b = b;
	a->context = ibv_open_device(bsn_device_info(b->device)->verbs->device);
	assert_non_null(a->context);
	a->pd = ibv_alloc_pd(a->context);
	a->mr = ibv_reg_mr(a->pd, a->memory, BYTES, rights);
	a->channel = ibv_create_comp_channel(a->context);
	assert_non_null(a->mr);
	a->cq = create_cq(a, a->channel);
	a->peer_cq = create_cq(a, NULL);
	a->qp = create_qp(a, a->cq, type, signal_all);
	a->peer = create_qp(a, a->peer_cq, type, signal_all);
	for (int i = 0; i < PEERS; i++)
		a->memory[OURS + i] = (uint8_t)(3 * i + 1);
	ok(bsn_device_attach(a->context,
			     &(struct bsn_device_attr){ .path = bsn_device_info(b->device)->path },
			     &a->device));
	return a;
}

/* Nothing that was refused, and nothing that was detached, keeps the application's objects. */
static void stop_app(struct app *a)
{
	ok(bsn_qp_destroy(a->attached));
	ok(bsn_device_close(a->device));
	assert_int_equal(ibv_destroy_qp(a->qp), 0);
	assert_int_equal(ibv_destroy_qp(a->peer), 0);
	assert_int_equal(ibv_destroy_cq(a->cq), 0);
	assert_int_equal(ibv_destroy_cq(a->peer_cq), 0);
	assert_int_equal(ibv_destroy_comp_channel(a->channel), 0);
	assert_int_equal(ibv_dereg_mr(a->mr), 0);
	assert_int_equal(ibv_dealloc_pd(a->pd), 0);
	assert_int_equal(ibv_close_device(a->context), 0);
	free(a);
}

static struct bsn_attach_attr promise(const struct app *a)
{
	return (struct bsn_attach_attr){ .register_is_ours = a->b->kind == BENCH_DIRECT,
					 .user = (void *)(uintptr_t)a };
}

static void attach(struct app *a)
{
	const struct bsn_attach_attr attr = promise(a);

	ok(bsn_qp_attach(a->device, a->qp, &attr, &a->attached));
	assert_int_equal(!!bench_sq(a->attached)->ring, a->b->kind == BENCH_DIRECT);
	assert_ptr_equal(bsn_qp_info(a->attached)->verbs, a->qp);
}

static struct app *start_attached(struct bench *b, enum ibv_qp_type type, bool signal_all)
{
	struct app *a = start_app(b, type, signal_all);

	attach(a);
	connect_both(a);
	return a;
}

/* -- what the application's peer does ---------------------------------------------------------- */

static void peer_recv(struct app *a, size_t offset, uint32_t length)
{
	struct ibv_sge sge = { (uintptr_t)a->memory + PEERS + offset, length, a->mr->lkey };
	struct ibv_recv_wr *bad, wr = { .wr_id = 5, .sg_list = &sge, .num_sge = 1 };

	assert_int_equal(ibv_post_recv(a->peer, &wr, &bad), 0);
}

static struct ibv_wc peer_wc(struct app *a)
{
	struct ibv_wc wc;

	assert_int_equal(bench_reap_verbs(a->b, a->peer_cq, &wc), 1);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	return wc;
}

/*
 * Posts a request of the peer, with the peer's memory. A WRITE or READ uses our bytes at the same
 * place.
 */
static void peer_post(struct app *a, enum ibv_wr_opcode opcode, size_t offset, uint32_t length)
{
	struct ibv_sge sge = { (uintptr_t)a->memory + PEERS + offset, length, a->mr->lkey };
	struct ibv_send_wr *bad, wr = { .sg_list = &sge, .num_sge = 1, .opcode = opcode };

	wr.send_flags = IBV_SEND_SIGNALED;
	wr.imm_data = htobe32(0x1234);
	wr.wr.rdma.remote_addr = (uintptr_t)a->memory + OURS + offset;
	wr.wr.rdma.rkey = a->mr->rkey;
	assert_int_equal(ibv_post_send(a->peer, &wr, &bad), 0);
	peer_wc(a);
}

/* -- what we do -------------------------------------------------------------------------------- */

static struct bsn_sge our_sge(struct app *a, size_t offset, uint32_t length)
{
	return (struct bsn_sge){ (uintptr_t)a->memory + OURS + offset, length, a->mr->lkey };
}

static struct bsn_remote peers_bytes(struct app *a, size_t offset)
{
	return (struct bsn_remote){ (uintptr_t)a->memory + PEERS + offset, a->mr->rkey };
}

static struct bsn_cq *our_cq(struct app *a)
{
	return bsn_qp_info(a->attached)->cq;
}

static int post_write(struct app *a, size_t offset, uint32_t length, uint64_t id, unsigned flags)
{
	const struct bsn_sge local = our_sge(a, offset, length);
	const struct bsn_remote remote = peers_bytes(a, offset);

	return bsn_write(bsn_qp_ep(a->attached), &local, &remote, id, flags);
}

static int post_recv(struct app *a, size_t offset, uint32_t length, uint64_t id)
{
	const struct bsn_sge sge = our_sge(a, offset, length);

	return bsn_recv(bsn_qp_rq(a->attached), &sge, id);
}

static void assert_same(struct app *a, size_t offset, size_t length)
{
	assert_memory_equal(a->memory + OURS + offset, a->memory + PEERS + offset, length);
}

static void fill_peers(struct app *a, size_t offset, size_t length)
{
	for (size_t i = 0; i < length; i++)
		a->memory[PEERS + offset + i] = (uint8_t)(0xc0 ^ i ^ length);
}

/* -- data -------------------------------------------------------------------------------------- */

static void write_both_ways(struct app *a)
{
	const unsigned now = BSN_F_SIGNALED | BSN_F_RING;

	ok(post_write(a, 0, 64, 1, now));
	assert_ptr_equal(expect_done(a->b, our_cq(a), 1, BSN_OPCODE_RDMA_WRITE).user, a);
	assert_same(a, 0, 64);
	fill_peers(a, 128, 100);
	peer_post(a, IBV_WR_RDMA_WRITE, 128, 100);
	assert_same(a, 128, 100);
}

/* Up to 32 bytes arrive in the CQE, and nowhere else: they must be copied to memory. */
static void messages_of_every_size_get_to_memory(struct app *a)
{
	static const uint32_t sizes[] = { 1, 8, 31, 32, 33, 64, 200 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct bsn_completion c;
		ok(post_recv(a, 512, 256, 40 + i));
		fill_peers(a, 512, sizes[i]);
		peer_post(a, IBV_WR_SEND_WITH_IMM, 512, sizes[i]);
		c = expect_done(a->b, our_cq(a), 40 + i, BSN_RECV);
		assert_int_equal(c.byte_len, sizes[i]);
		assert_int_equal(c.imm, 0x1234);
		assert_same(a, 512, sizes[i]);
	}
}

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
	ok(bsn_send(ep, &local, 9, BSN_F_SIGNALED | BSN_F_RING));
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
	stop_app(a);
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
	stop_app(a);
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
	struct bsn_completion c;
	struct bsn_ep *ep;

	assert_non_null(ah);
	assert_int_equal(bsn_send_inline(bsn_qp_ep(a->attached), "", 1, 0, BSN_F_RING), -EINVAL);
	fill_peers(a, 0, 32);
	ok(post_recv(a, 256, 256, 60));
	peer_sends_datagram(a, ah);
	c = expect_done(b, our_cq(a), 60, BSN_RECV);
	assert_int_equal(c.src_qpn, a->peer->qp_num);
	assert_memory_equal(a->memory + 256 + BSN_GRH_SIZE, a->memory + PEERS, 32);
	ok(bsn_ep_create_reply(a->attached, &c, a->memory + 256, &connect, NULL, &ep));
	for (int lap = 0; lap < 20; lap++) {
		const struct bsn_sge local = our_sge(a, 1024, 100);
		peer_recv(a, 1024, 200);
		ok(bsn_send(ep, &local, 9, BSN_F_SIGNALED | BSN_F_RING));
		expect_done(b, our_cq(a), 9, BSN_OPCODE_SEND);
		assert_int_equal(peer_wc(a).byte_len, BSN_GRH_SIZE + 100);
		assert_memory_equal(a->memory + 1024, a->memory + PEERS + 1024 + BSN_GRH_SIZE, 100);
	}
	assert_int_equal(bsn_qp_destroy(a->attached), -EBUSY);
	ok(bsn_ep_destroy(ep));
	assert_int_equal(ibv_destroy_ah(ah), 0);
	stop_app(a);
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
	stop_app(a);
}

/* -- limits ------------------------------------------------------------------------------------ */

/* Every entry of the CQ is in use, and the poller gives each back as soon as it goes on. */
static void a_full_queue_never_overruns_its_cq(struct bench *b)
{
	struct app *a = start_attached(b, IBV_QPT_RC, false);
	uint64_t posted = 0, received = 1ull << 32, due[2] = { posted, received };
	struct bsn_event event;

	for (unsigned lap = 0; lap < bench_rounds(b, 300); lap++) {
		struct bsn_completion c[2 * DEPTH];
		while (!post_write(a, 0, 8, posted, BSN_F_SIGNALED | BSN_F_RING))
			posted++;
		for (; !post_recv(a, 512, 64, received); received++)
			peer_post(a, IBV_WR_SEND, 512, 8);
		bench_settle(b);
		const int got = bsn_poll(our_cq(a), c, 1 + (int)lap % (2 * DEPTH));
		assert_true(got > 0);
		for (int i = 0; i < got; i++) {
			assert_int_equal(c[i].status, IBV_WC_SUCCESS);
			assert_int_equal(c[i].id, due[c[i].opcode == BSN_RECV]++);
		}
	}
	assert_true(posted > bench_rounds(b, 1000));
	assert_true((uint32_t)received > bench_rounds(b, 1000));
	assert_int_equal(bsn_device_get_event(a->device, &event), -EAGAIN);
	stop_app(a);
}

/*
 * A CQ that the application made too small overruns. Only the event says so, and then each poll,
 * once the earlier completions were taken.
 */
static void a_cq_that_is_too_small_says_so(struct bench *b)
{
	struct app *a = start_app(b, IBV_QPT_RC, false);
	struct bsn_completion c[2 * DEPTH];
	struct bsn_event event;

	assert_int_equal(ibv_destroy_qp(a->qp), 0);
	assert_int_equal(ibv_destroy_cq(a->cq), 0);
	a->cq = ibv_create_cq(a->context, 3, NULL, a->channel, 0);
	assert_non_null(a->cq);
	a->qp = create_qp(a, a->cq, IBV_QPT_RC, false);
	attach(a);
	connect_both(a);
	for (uint64_t id = 0; id < DEPTH; id++)
		ok(post_write(a, 0, 8, id, BSN_F_SIGNALED | BSN_F_RING));
	bench_settle(b);
	ok(bsn_device_get_event(a->device, &event));
	assert_int_equal(event.object, BSN_EVENT_CQ);
	assert_int_equal(event.type, IBV_EVENT_CQ_ERR);
	assert_ptr_equal(event.cq, our_cq(a));
	assert_int_equal(bsn_poll(our_cq(a), c, 2 * DEPTH), a->cq->cqe + 1);
	for (int i = 0; i < 3; i++)
		assert_int_equal(bsn_poll(our_cq(a), c, 2 * DEPTH), -EOVERFLOW);
	stop_app(a);
}

/* Long requests take several blocks; one of them always fits. */
static void the_longest_request_fits(struct bench *b)
{
	struct app *a = start_app(b, IBV_QPT_RC, false);
	struct ibv_qp_init_attr init = { .send_cq = a->cq,
					 .recv_cq = a->cq,
					 .qp_type = IBV_QPT_RC,
					 .cap = { 1, 0, 16, 0, 200 } };
	struct bsn_qp_info limits;
	struct bsn_sge sge[16];
	struct bsn_wr wr = { .sge = sge,
			     .sge_count = 16,
			     .opcode = BSN_OPCODE_RDMA_WRITE,
			     .remote = peers_bytes(a, 0),
			     .flags = BSN_F_SIGNALED | BSN_F_RING };

	assert_int_equal(ibv_destroy_qp(a->qp), 0);
	a->qp = ibv_create_qp(a->pd, &init);
	assert_non_null(a->qp);
	attach(a);
	connect_both(a);
	limits = *bsn_qp_info(a->attached);
	assert_int_equal(limits.recv_depth, 0);
	assert_true(post_recv(a, 0, 8, 1) < 0);
	for (unsigned i = 0; i < 16; i++)
		sge[i] = our_sge(a, 8 * i, 8);
	for (int lap = 0; lap < 10; lap++) {
		ok(bsn_post(bsn_qp_ep(a->attached), &wr));
		expect_done(b, our_cq(a), 0, BSN_OPCODE_RDMA_WRITE);
		assert_same(a, 0, 128);
	}
	stop_app(a);
}

static struct bsn_ep *endpoint_to_itself(struct app *a)
{
	struct bsn_address self;
	struct bsn_ep *ep;

	ok(bsn_qp_address(a->attached, &self));
	ok(bsn_ep_create(a->attached, &self, &(struct bsn_connect_attr){ .qkey = QKEY }, NULL, &ep));
	return ep;
}

/* What libmlx5 grants may need 64 units of 16 B, but a WQE's length field counts only up to 63. */
static void the_limits_tell_what_a_wqe_holds(struct bench *b)
{
	struct app *a = start_app(b, IBV_QPT_UD, false);
	struct ibv_qp_init_attr init = { .send_cq = a->cq,
					 .recv_cq = a->cq,
					 .qp_type = IBV_QPT_UD,
					 .cap = { 1, 1, 1, 1, 956 } };
	struct bsn_qp_info limits;
	struct bsn_ep *ep;

	assert_int_equal(ibv_destroy_qp(a->qp), 0);
	a->qp = ibv_create_qp(a->pd, &init);
	assert_non_null(a->qp);
	attach(a);
	connect_both(a);
	limits = *bsn_qp_info(a->attached);
	assert_int_equal(limits.max_inline, 60 * 16 - 16 - 48 - 4);
	ep = endpoint_to_itself(a);
	ok(post_recv(a, 1024, 1024, 1));
	assert_int_equal(bsn_send_inline(ep, a->memory, limits.max_inline + 1, 2, BSN_F_RING),
			 -EMSGSIZE);
	ok(bsn_send_inline(ep, a->memory, limits.max_inline, 2, BSN_F_RING));
	expect_done(b, our_cq(a), 1, BSN_RECV);
	assert_memory_equal(a->memory + 1024 + BSN_GRH_SIZE, a->memory, limits.max_inline);
	ok(bsn_ep_destroy(ep));
	stop_app(a);
}

static void no_more_is_granted_beside_an_address(struct bench *b)
{
	struct app *a = start_app(b, IBV_QPT_RC, false);
	struct ibv_qp_init_attr_ex init = { .send_cq = a->cq,
					    .recv_cq = a->cq,
					    .qp_type = IBV_QPT_RC,
					    .cap = { 1, 1, 1, 1, 988 },
					    .comp_mask = IBV_QP_INIT_ATTR_PD |
							 IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
					    .pd = a->pd,
					    .send_ops_flags = IBV_QP_EX_WITH_SEND };
	struct bsn_qp_info limits;

	assert_int_equal(ibv_destroy_qp(a->qp), 0);
	a->qp = ibv_create_qp_ex(a->context, &init);
	assert_non_null(a->qp);
	attach(a);
	limits = *bsn_qp_info(a->attached);
	assert_int_equal(limits.max_inline, 60 * 16 - 16 - 16 - 4);
	stop_app(a);
}

/* As many of the longest requests as the limits say, and not one more. */
static void assert_takes_its_depth(struct app *a, uint32_t depth)
{
	struct bsn_qp_info limits;
	struct bsn_ep *ep;

	limits = *bsn_qp_info(a->attached);
	assert_int_equal(limits.send_depth, depth);
	ep = endpoint_to_itself(a);
	for (uint32_t i = 0; i < depth; i++)
		ok(bsn_send_inline(ep, a->memory, limits.max_inline, i, BSN_F_SIGNALED));
	assert_int_equal(bsn_send_inline(ep, a->memory, limits.max_inline, depth, BSN_F_SIGNALED),
			 -EAGAIN);
	ok(bsn_ep_destroy(ep));
}

/* Datagrams take several blocks each, and the application's CQ was made for a number of blocks. */
static void the_limits_tell_the_depth(struct bench *b)
{
	enum { LONGEST_BB = 2 };
	struct app *a = start_attached(b, IBV_QPT_UD, false);

	assert_takes_its_depth(a, b->kind == BENCH_DIRECT ? DEPTH / LONGEST_BB : DEPTH);
	stop_app(a);
}

static void a_cq_with_room_allows_the_whole_depth(struct bench *b)
{
	struct app *a = start_app(b, IBV_QPT_UD, false);
	struct bsn_attach_attr attr = promise(a);
	struct bsn_qp *none;

	attr.send_depth = DEPTH + 1;
	assert_int_equal(bsn_qp_attach(a->device, a->qp, &attr, &none), -EINVAL);
	assert_non_null(strstr(bsn_error_text(), "made for 8"));
	attr.send_depth = DEPTH;
	ok(bsn_qp_attach(a->device, a->qp, &attr, &a->attached));
	connect_both(a);
	assert_takes_its_depth(a, DEPTH);
	stop_app(a);
}

static void no_more_is_asked_for_than_the_cq_has(struct bench *b)
{
	struct app *a = start_app(b, IBV_QPT_UD, false);
	struct bsn_attach_attr attr = promise(a);
	struct bsn_qp *none;

	if (b->kind == BENCH_DIRECT) {
		assert_int_equal(ibv_destroy_qp(a->qp), 0);
		assert_int_equal(ibv_destroy_cq(a->cq), 0);
		a->cq = ibv_create_cq(a->context, DEPTH - 1, NULL, a->channel, 0);
		a->qp = create_qp(a, a->cq, IBV_QPT_UD, false);
		attr.send_depth = DEPTH;
		assert_int_equal(bsn_qp_attach(a->device, a->qp, &attr, &none), -EINVAL);
		assert_non_null(strstr(bsn_error_text(), "the CQ has 7 entries"));
	}
	stop_app(a);
}

/* What an attached QP may need of its CQ is not given to another. */
static void an_attached_qp_takes_its_share_of_the_cq(struct bench *b)
{
	struct app *a = start_attached(b, IBV_QPT_RC, false);
	struct bsn_qp_attr attr = { .cq = our_cq(a), .send_depth = 1, .recv_depth = 1 };
	struct bsn_qp *own;

	ok(bsn_lane_create(a->device, NULL, &attr.lane));
	assert_int_equal(bsn_qp_create(a->device, &attr, &own), -ENOSPC);
	assert_non_null(strstr(bsn_error_text(), "16 are taken"));
	ok(bsn_lane_destroy(attr.lane));
	stop_app(a);
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
	ok(post_write(a, 0, 8, 3, BSN_F_SIGNALED | BSN_F_RING));
	expect_status(b, our_cq(a), 1, BSN_OPCODE_RDMA_WRITE, IBV_WC_REM_ACCESS_ERR);
	for (uint64_t sends = 2, recvs = 100; sends < 4 || recvs < 101;) {
		struct bsn_completion c;
		assert_int_equal(bench_reap(b, our_cq(a), &c, 1), 1);
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
	stop_app(a);
}

static void reset_to_start(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };

	modify(qp, &attr, 0);
}

/* What the application made outlives the attachment: on plain verbs it simply goes on. */
static void a_detached_qp_is_the_applications_again(struct bench *b)
{
	struct app *a = start_attached(b, IBV_QPT_RC, false);
	struct ibv_qp_attr state;
	struct ibv_qp_init_attr init;
	struct ibv_qp *qp;

	write_both_ways(a);
	ok(post_recv(a, 512, 64, 100));
	ok(bsn_qp_destroy(a->attached));
	a->attached = NULL;
	assert_int_equal(ibv_query_qp(a->qp, &state, IBV_QP_STATE, &init), 0);
	assert_int_equal(state.qp_state, IBV_QPS_RTS);
	reset_to_start(a->qp);
	reset_to_start(a->peer);
	connect_both(a);
	qp = a->peer; /* the two change places, and the helpers with them */
	a->peer = a->qp;
	a->qp = qp;
	if (b->kind == BENCH_VERBS) {
		struct ibv_cq *cq = a->peer_cq;
		a->peer_cq = a->cq;
		peer_post(a, IBV_WR_RDMA_WRITE, 0, 64);
		assert_same(a, 0, 64);
		a->peer_cq = cq;
	}
	stop_app(a);
}

/* -- events ------------------------------------------------------------------------------------ */

static bool is_readable(const struct ibv_comp_channel *channel)
{
	struct pollfd file = { .fd = channel->fd, .events = POLLIN };

	return poll(&file, 1, 0) == 1;
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
		ok(post_write(a, 0, 8, i, BSN_F_SIGNALED | BSN_F_RING));
		bench_settle(b);
		take_event(a);
		if (i % 3) /* two of them for one event */
			ok(post_write(a, 0, 8, i, BSN_F_SIGNALED | BSN_F_RING));
		expect_done(b, our_cq(a), i, BSN_OPCODE_RDMA_WRITE);
		if (i % 3)
			expect_done(b, our_cq(a), i, BSN_OPCODE_RDMA_WRITE);
		assert_false(is_readable(a->channel));
	}
	stop_app(a);
}

/* -- refusals ---------------------------------------------------------------------------------- */

static void assert_refused(struct app *a, struct ibv_qp *qp, int error, const char *word)
{
	const struct bsn_attach_attr attr = promise(a);
	struct bsn_qp *out = (void *)a;

	assert_int_equal(bsn_qp_attach(a->device, qp, &attr, &out), -error);
	assert_ptr_equal(out, a);
	if (!strstr(bsn_error_text(), word))
		fail_msg("\"%s\" does not say \"%s\"", bsn_error_text(), word);
}

static void a_qp_that_was_posted_to_is_too_late(struct bench *b)
{
	struct app *a = start_app(b, IBV_QPT_RC, false);

	connect_both(a);
	peer_post(a, IBV_WR_RDMA_WRITE, 0, 8);
	assert_refused(a, a->peer, EBUSY, "before its first post");
	peer_recv(a, 0, 64);
	assert_refused(a, a->peer, EBUSY, "before its first post");
	stop_app(a);
}

/*
 * A completion shows that the CQ was used. Only the direct path reads the CQ itself, so only it
 * refuses.
 */
static void a_cq_that_was_used_is_too_late(struct bench *b)
{
	struct app *a = start_app(b, IBV_QPT_RC, false);
	struct ibv_qp *fresh = create_qp(a, a->peer_cq, IBV_QPT_RC, false);
	struct ibv_wc wc;

	connect_both(a);
	peer_post(a, IBV_WR_RDMA_WRITE, 0, 8);
	if (b->kind == BENCH_DIRECT)
		assert_refused(a, fresh, EBUSY, "polled");
	assert_int_equal(ibv_destroy_qp(fresh), 0);
	fresh = create_qp(a, a->cq, IBV_QPT_RC, false);
	peer_recv(a, 0, 64); /* the CQ of a->qp: unpolled, yet it has a completion */
	struct ibv_sge sge = { (uintptr_t)a->memory, 8, a->mr->lkey };
	struct ibv_send_wr *bad, wr = { .wr_id = 77, .sg_list = &sge, .num_sge = 1 };
	wr.opcode = IBV_WR_SEND;
	wr.send_flags = IBV_SEND_SIGNALED;
	assert_int_equal(ibv_post_send(a->qp, &wr, &bad), 0);
	bench_settle(b);
	if (b->kind == BENCH_DIRECT)
		assert_refused(a, fresh, EBUSY, "completions");
	assert_int_equal(ibv_poll_cq(a->cq, 1, &wc), 1); /* and still has it */
	assert_int_equal(wc.wr_id, 77);
	assert_int_equal(ibv_destroy_qp(fresh), 0);
	stop_app(a);
}

/* A server's CQ outlives its connections. The number of consumed CQEs is kept meanwhile. */
static void a_cq_outlives_its_qps(struct bench *b)
{
	struct app *a = start_attached(b, IBV_QPT_RC, false);

	for (int lap = 0; lap < 5; lap++) {
		write_both_ways(a);
		ok(bsn_qp_destroy(a->attached));
		a->attached = NULL;
		reset_to_start(a->qp);
		reset_to_start(a->peer);
		if (lap % 2) {
			assert_int_equal(ibv_destroy_qp(a->qp), 0);
			a->qp = create_qp(a, a->cq, IBV_QPT_RC, false);
		}
		attach(a);
		connect_both(a);
	}
	stop_app(a);
}

/* libibverbs may well give another CQ the same address. */
static void another_cq_is_not_taken_for_it(struct bench *b)
{
	struct app *a = start_attached(b, IBV_QPT_RC, false);

	for (int lap = 0; lap < 5; lap++) {
		write_both_ways(a);
		ok(bsn_qp_destroy(a->attached));
		a->attached = NULL;
		reset_to_start(a->peer);
		assert_int_equal(ibv_destroy_qp(a->qp), 0);
		assert_int_equal(ibv_destroy_cq(a->cq), 0);
		a->cq = create_cq(a, a->channel);
		a->qp = create_qp(a, a->cq, IBV_QPT_RC, false);
		attach(a);
		connect_both(a);
	}
	stop_app(a);
}

static void two_qps_may_share_a_cq_on_one_path(struct bench *b)
{
	struct app *a = start_attached(b, IBV_QPT_RC, false);
	struct ibv_qp *verbs = create_qp(a, a->cq, IBV_QPT_RC, false);
	const struct bsn_attach_attr other = { .register_is_ours = b->kind != BENCH_DIRECT };
	const struct bsn_attach_attr same = promise(a);
	struct bsn_qp *second;

	if (b->kind == BENCH_DIRECT) {
		assert_int_equal(bsn_qp_attach(a->device, verbs, &other, &second), -EMLINK);
		assert_non_null(strstr(bsn_error_text(), "same promise"));
	}
	ok(bsn_qp_attach(a->device, verbs, &same, &second));
	assert_ptr_equal(bsn_qp_info(second)->cq, our_cq(a));
	write_both_ways(a);
	ok(bsn_qp_destroy(second));
	write_both_ways(a);
	assert_int_equal(ibv_destroy_qp(verbs), 0);
	stop_app(a);
}

static void a_qp_with_an_srq_is_refused(struct bench *b)
{
	struct app *a = start_app(b, IBV_QPT_RC, false);
	struct ibv_srq_init_attr srq = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct ibv_qp_init_attr init = { .send_cq = a->cq,
					 .recv_cq = a->cq,
					 .srq = ibv_create_srq(a->pd, &srq),
					 .qp_type = IBV_QPT_RC,
					 .cap = { .max_send_wr = 1, .max_send_sge = 1 } };
	struct ibv_qp *qp = ibv_create_qp(a->pd, &init);

	assert_non_null(qp);
	assert_refused(a, qp, EOPNOTSUPP, "SRQ");
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_srq(init.srq), 0);
	stop_app(a);
}

static void a_qp_without_a_send_queue_is_refused(struct bench *b)
{
	struct app *a = start_app(b, IBV_QPT_RC, false);
	struct ibv_qp_init_attr init = { .send_cq = a->cq,
					 .recv_cq = a->cq,
					 .qp_type = IBV_QPT_RC,
					 .cap = { .max_recv_wr = 1, .max_recv_sge = 1 } };
	struct ibv_qp *qp = ibv_create_qp(a->pd, &init);

	assert_non_null(qp);
	assert_refused(a, qp, EOPNOTSUPP, "max_send_wr");
	assert_int_equal(ibv_destroy_qp(qp), 0);
	stop_app(a);
}

static void a_qp_is_attached_once_and_to_its_device(struct bench *b)
{
	struct app *a = start_attached(b, IBV_QPT_RC, false);
	struct bsn_qp *out;

	assert_refused(a, a->qp, EBUSY, "attached already");
	assert_int_equal(bsn_qp_attach(b->device, a->peer, NULL, &out), -EINVAL);
	assert_non_null(strstr(bsn_error_text(), "bsn_device_attach"));
	assert_int_equal(bsn_qp_attach(NULL, a->peer, NULL, &out), -EINVAL);
	assert_int_equal(bsn_qp_attach(a->device, NULL, NULL, &out), -EINVAL);
	assert_int_equal(bsn_qp_attach(a->device, a->peer, NULL, NULL), -EINVAL);
	assert_int_equal(bsn_device_close(a->device), -EBUSY);
	write_both_ways(a);
	stop_app(a);
}

/* The device is on the direct path, the QP is not: nobody promised anything about its register. */
static void without_a_promise_it_runs_on_verbs(struct bench *b)
{
	struct app *a = start_app(b, IBV_QPT_RC, false);

	ok(bsn_qp_attach(a->device, a->qp, &(struct bsn_attach_attr){ .user = a }, &a->attached));
	assert_non_null(bench_sq(a->attached)->path);
	connect_both(a);
	write_both_ways(a);
	messages_of_every_size_get_to_memory(a);
	stop_app(a);
}

/* The files of the application's context stay as it made them: its threads may wait there. */
static void an_attached_context_keeps_its_files(struct bench *b)
{
	struct app *a = start_app(b, IBV_QPT_RC, false);
	struct bsn_event event;

	assert_false(fcntl(a->context->async_fd, F_GETFL) & O_NONBLOCK);
	assert_int_equal(bsn_device_get_event(a->device, &event), -EAGAIN);
	assert_int_equal(bsn_device_info(a->device)->event_fd, a->context->async_fd);
	stop_app(a);
}

#define BARE .is_bare = true
#define RXE_QUEUES_ARE_LONGER .rxe_lacks = "soft-RoCE makes queues longer than asked for"

static const struct bench_case cases[] = {
	{ CASE("RC moves data both ways", rc_moves_data_both_ways), BARE },
	{ CASE("UC moves data both ways", uc_moves_data_both_ways), BARE },
	{ CASE("UD answers a datagram", ud_answers_a_datagram), BARE },
	{ CASE("results get to memory", results_get_to_memory), BARE },
	{ CASE("a full queue never overruns its CQ", a_full_queue_never_overruns_its_cq), BARE },
	{ CASE("a CQ that is too small says so", a_cq_that_is_too_small_says_so), BARE,
	  .is_model_only = true },
	{ CASE("the longest request fits", the_longest_request_fits), BARE },
	{ CASE("the limits tell what a WQE holds", the_limits_tell_what_a_wqe_holds), BARE,
	  .is_model_only = true },
	{ CASE("the limits tell what a WQE holds beside an address",
	       no_more_is_granted_beside_an_address),
	  BARE, .is_model_only = true },
	{ CASE("the limits tell the depth", the_limits_tell_the_depth), BARE,
	  RXE_QUEUES_ARE_LONGER },
	{ CASE("a CQ with room allows the whole depth", a_cq_with_room_allows_the_whole_depth),
	  BARE, RXE_QUEUES_ARE_LONGER },
	{ CASE("no more is asked for than the CQ has", no_more_is_asked_for_than_the_cq_has),
	  BARE },
	{ CASE("an attached QP takes its share of the CQ",
	       an_attached_qp_takes_its_share_of_the_cq),
	  BARE, RXE_QUEUES_ARE_LONGER },
	{ CASE("a CQ outlives its QPs", a_cq_outlives_its_qps), BARE },
	{ CASE("another CQ is not taken for it", another_cq_is_not_taken_for_it), BARE },
	{ CASE("an error brings everything back", an_error_brings_everything_back), BARE },
	{ CASE("a detached QP is the application's again", a_detached_qp_is_the_applications_again),
	  BARE },
	{ CASE("the application's channel loses no event", the_applications_channel_loses_no_event),
	  BARE },
	{ CASE("a QP that was posted to is too late", a_qp_that_was_posted_to_is_too_late), BARE,
	  .rxe_lacks = "only an mlx5 queue tells whether it was posted to" },
	{ CASE("a CQ that was used is too late", a_cq_that_was_used_is_too_late), BARE },
	{ CASE("two QPs may share a CQ on one path", two_qps_may_share_a_cq_on_one_path), BARE },
	{ CASE("a QP with an SRQ is refused", a_qp_with_an_srq_is_refused), BARE },
	{ CASE("a QP without a send queue is refused", a_qp_without_a_send_queue_is_refused),
	  BARE },
	{ CASE("a QP is attached once, and to its device", a_qp_is_attached_once_and_to_its_device),
	  BARE },
	{ CASE("without a promise it runs on verbs", without_a_promise_it_runs_on_verbs), BARE },
	{ CASE("an attached context keeps its files", an_attached_context_keeps_its_files), BARE },
};

int main(void)
{
	return bench_run("attach", cases, sizeof(cases) / sizeof(cases[0]));
}
