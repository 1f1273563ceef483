/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The same CQEs, byte for byte, read by libmlx5 (ibv_cq_ex) and by Bunsen: a device writes them for
 * a queue of libmlx5's, and each is copied into the ring of a queue of Bunsen's in plain memory, to
 * which the same requests were posted.
 */
#include "../softcx/loopback.h"

#include <arpa/inet.h>
#include <infiniband/mlx5dv.h>

#include "../dv/fake.h"
#include "../wqe/random.h"

enum { ROUNDS = 400, MOST = 6, BYTES = 100, CQES = 32, FAILS_EVERY = 7 };
enum {
	READ_ALL = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP,
	REMOTE = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
};

static struct sides {
	struct loopback *l;
	struct ibv_cq_ex *ex;
	struct ibv_qp *qp;
	struct ibv_mr *mr; /* the loopback's memory, for atomics, too */
	struct mlx5dv_cq map;
	struct fake *f;
	uint32_t count; /* of CQEs so far */
	uint8_t into[4096];
} s;

static uint32_t in_cqes; /* messages that came in CQEs */
static uint32_t results; /* what READs and atomics brought in them */

/* What each request is called, posted and completed. */
static const struct {
	enum ibv_wr_opcode verbs;
	enum ibv_wc_opcode completes;
	uint8_t opcode;
	bool is_received, has_length, is_atomic;
} kinds[] = {
	{ IBV_WR_RDMA_WRITE, IBV_WC_RDMA_WRITE, BSN_OPCODE_RDMA_WRITE, false, false, false },
	{ IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WC_RDMA_WRITE, BSN_OPCODE_RDMA_WRITE_IMM, true, false,
	  false },
	{ IBV_WR_RDMA_READ, IBV_WC_RDMA_READ, BSN_OPCODE_RDMA_READ, false, true, false },
	{ IBV_WR_SEND, IBV_WC_SEND, BSN_OPCODE_SEND, true, false, false },
	{ IBV_WR_SEND_WITH_IMM, IBV_WC_SEND, BSN_OPCODE_SEND_IMM, true, false, false },
	{ IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WC_FETCH_ADD, BSN_OPCODE_ATOMIC_FA, false, true, true },
	{ IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WC_COMP_SWAP, BSN_OPCODE_ATOMIC_CS, false, true, true },
};
/* The kinds that a wrong key makes fail. */
static const unsigned with_keys[] = { 0, 1, 2, 5, 6 };
enum { WITH_KEYS = sizeof(with_keys) / sizeof(with_keys[0]) };
/* In a CQE of 64 bytes, of 128, in none. */
static const uint32_t lengths[] = { 1, 8, 32, 33, 64, BYTES };
enum { LENGTHS = sizeof(lengths) / sizeof(lengths[0]) };
/* A queue that signals everything gets results in CQEs, too. */
static bool has_results;
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

/* -- both sides -------------------------------------------------------------------------------- */

static void start(struct loopback *l)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = CQES - 1, .wc_flags = READ_ALL };
	struct ibv_qp_attr atomics = { .qp_state = IBV_QPS_RTS, .qp_access_flags = REMOTE };
	struct mlx5dv_obj obj;

	s = (struct sides){ .l = l };
	s.ex = ibv_create_cq_ex(l->ctx, &attr);
	assert_non_null(s.ex);
	s.qp = loopback_create_signaling_qp(l->pd, ibv_cq_ex_to_cq(s.ex), NULL, IBV_QPT_RC,
					    has_results);
	assert_non_null(s.qp);
	loopback_connect(s.qp);
	ok(ibv_modify_qp(s.qp, &atomics, IBV_QP_STATE | IBV_QP_ACCESS_FLAGS));
	s.mr = ibv_reg_mr(l->pd, l->memory, sizeof(l->memory), IBV_ACCESS_LOCAL_WRITE | REMOTE);
	assert_non_null(s.mr);
	obj = (struct mlx5dv_obj){ .cq = { .in = ibv_cq_ex_to_cq(s.ex), .out = &s.map } };
	ok(mlx5dv_init_obj(&obj, MLX5DV_OBJ_CQ));
	s.f = FAKE(.count_bb = 16, .cqe_count = s.map.cqe_cnt, .spare = 8,
		   .cqe_stride = s.map.cqe_size);
	ok(bsn_cq_add(s.f->cq, s.qp->qp_num, &dv_sq(s.f->sq)->route.hot));
}

static void stop(void)
{
	fake_destroy(s.f);
	ok(ibv_destroy_qp(s.qp));
	ok(ibv_destroy_cq(ibv_cq_ex_to_cq(s.ex)));
	ok(ibv_dereg_mr(s.mr));
}

static void post_recv(uint64_t id)
{
	struct ibv_sge sge = { (uintptr_t)s.l->memory + 1024, BYTES, s.l->mr->lkey };
	struct ibv_recv_wr *bad, wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 };

	ok(ibv_post_recv(s.qp, &wr, &bad));
	ok(bsn_recv(s.f->rq, &(struct bsn_sge){ (uintptr_t)s.into, BYTES, 1 }, id));
}

/* Posts a request; with a wrong key it fails. */
static void post(unsigned kind, uint64_t id, uint32_t imm, bool solicited, bool fails)
{
	const uint32_t rkey = s.mr->rkey + fails;
	const uint64_t to = (uintptr_t)s.l->memory + 2048;
	const uint32_t bytes = kinds[kind].is_atomic ? 8 : lengths[id % LENGTHS];
	struct ibv_send_wr *bad, wr = {
		.wr_id = id,
		.sg_list = &(struct ibv_sge){ (uintptr_t)s.l->memory, bytes, s.mr->lkey },
		.num_sge = 1,
		.opcode = kinds[kind].verbs,
		.send_flags = IBV_SEND_SIGNALED | (solicited ? IBV_SEND_SOLICITED : 0),
		.imm_data = htonl(imm),
		.wr.rdma = { to, rkey },
	};
	const struct bsn_sge local = { (uintptr_t)s.into, bytes, 1 };
	const struct bsn_wr ours = { .id = id,
				     .sge = &local,
				     .sge_count = 1,
				     .opcode = kinds[kind].opcode,
				     .imm = imm,
				     .remote = { to, rkey },
				     .swap_add = id,
				     .compare = imm,
				     .flags = BSN_F_SIGNALED | BSN_F_RING };

	if (kinds[kind].is_atomic) {
		wr.wr.atomic.remote_addr = to;
		wr.wr.atomic.rkey = rkey;
		wr.wr.atomic.compare_add = imm;
	}

	ok(ibv_post_send(s.qp, &wr, &bad));
	ok(bsn_post(&s.f->ep, &ours));
}

/* -- what both say ----------------------------------------------------------------------------- */

static void copy_next(void)
{
	const uint32_t at = s.count++ % s.map.cqe_cnt;
	const uint8_t *cqe = (const uint8_t *)s.map.buf + (size_t)at * s.map.cqe_size;

	memcpy(fake_next_cqe(s.f) + BSN_CQE_SIZE - s.map.cqe_size, cqe, s.map.cqe_size);
	s.f->cq_pi++;
}

static unsigned kind_of(const struct bsn_completion *c)
{
	for (unsigned i = 0; i < KINDS; i++)
		if (kinds[i].opcode == c->opcode)
			return i;
	fail_msg("opcode %u", c->opcode);
	return 0;
}

/* libmlx5 leaves an atomic's result in the CQE's order; Bunsen gives it the host's (bsn_cqe.h). */
static void compare_result(const struct bsn_completion *c)
{
	uint64_t swapped = bsn_load_be64(s.l->memory);

	results++;
	if (kinds[kind_of(c)].is_atomic)
		assert_memory_equal(s.into, &swapped, sizeof(swapped));
	else
		assert_memory_equal(s.into, s.l->memory, c->byte_len);
}

/* Both sides have copied data that came in the CQE to the memory of the request or the receive. */
static void compare_data(const struct bsn_completion *c)
{
	struct bsn_cqe_tail tail;

	bsn_cqe_tail_decode(&tail,
			    (const uint8_t *)s.map.buf +
				    ((s.count - 1) % s.map.cqe_cnt + 1) * (size_t)s.map.cqe_size -
				    BSN_CQE_SIZE + BSN_CQE_TAIL_OFFSET);
	if (tail.format != BSN_CQE_INLINE_32 && tail.format != BSN_CQE_INLINE_64)
		return;
	if (c->opcode != BSN_RECV) {
		compare_result(c);
		return;
	}
	in_cqes++;
	assert_memory_equal(s.into, s.l->memory + 1024, c->byte_len);
}

static void compare_received(struct ibv_cq_ex *ex, const struct bsn_completion *c)
{
	const bool by_write = c->opcode == BSN_RECV_RDMA_WITH_IMM;

	assert_int_equal(ibv_wc_read_opcode(ex),
			 by_write ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV);
	assert_int_equal(ibv_wc_read_byte_len(ex), c->byte_len);
	assert_int_equal(!!(ibv_wc_read_wc_flags(ex) & IBV_WC_WITH_IMM), !!(c->flags & BSN_C_IMM));
	if (c->flags & BSN_C_IMM)
		assert_int_equal(ntohl(ibv_wc_read_imm_data(ex)), c->imm);
}

static void compare_one(struct ibv_cq_ex *ex, const struct bsn_completion *c)
{
	const bool is_received = c->opcode >= BSN_RECV_RDMA_WITH_IMM;

	assert_int_equal(ex->wr_id, c->id);
	assert_int_equal(ex->status, c->status);
	assert_int_equal(ibv_wc_read_qp_num(ex), c->qpn);
	if (c->status) { /* of a failure libmlx5 gives no opcode that is right */
		assert_int_equal(ibv_wc_read_vendor_err(ex), c->vendor_syndrome);
		assert_int_equal(c->timestamp, 0);
		return;
	}
	assert_int_equal(ibv_wc_read_completion_ts(ex), c->timestamp);
	if (is_received) {
		compare_received(ex, c);
		return;
	}
	assert_int_equal(ibv_wc_read_opcode(ex), kinds[kind_of(c)].completes);
	if (kinds[kind_of(c)].has_length)
		assert_int_equal(ibv_wc_read_byte_len(ex), c->byte_len);
}

static unsigned compare_all(void)
{
	struct ibv_poll_cq_attr attr = { 0 };
	struct bsn_completion c;
	unsigned failed = 0, count = 0;

	/* Copies each CQE before libmlx5 reads it. */
	for (int err = ibv_start_poll(s.ex, &attr); err != ENOENT; err = ibv_next_poll(s.ex)) {
		assert_int_equal(err, 0);
		copy_next();
		memset(&c, 0xee, sizeof(c));
		assert_int_equal(bsn_cq_poll_stamped(s.f->cq, &c, 1), 1);
		compare_one(s.ex, &c);
		if (!c.status)
			compare_data(&c);
		failed += c.status != IBV_WC_SUCCESS;
		count++;
	}
	if (count)
		ibv_end_poll(s.ex);
	assert_int_equal(bsn_poll(s.f->cq, &c, 1), 0);
	return failed;
}

static void are_read_alike(struct loopback *l)
{
	unsigned failed = 0, now;

	random_start();
	in_cqes = results = 0;
	start(l);
	random_bytes(l->memory, 1024);
	for (unsigned round = 1; round <= ROUNDS; round++) {
		const bool fails = round % FAILS_EVERY == 0;
		const unsigned count = 1 + (unsigned)(random_u64() % MOST);

		for (unsigned i = 0; i < count; i++) {
			const uint64_t dice = random_u64();
			const bool fails_now = fails && i == count / 2;
			const unsigned kind =
				fails_now ? with_keys[dice % WITH_KEYS] : (unsigned)(dice % KINDS);

			if (kinds[kind].is_received || fails)
				post_recv(random_u64());
			post(kind, random_u64(), (uint32_t)(dice >> 32), dice >> 8 & 1, fails_now);
		}
		softcx_step(0);
		now = compare_all();
		if (now) { /* the QP is in error */
			stop();
			start(l);
		}
		failed += now;
	}
	assert_true(failed > ROUNDS / FAILS_EVERY / 2); /* flushes among them */
	assert_true(in_cqes > ROUNDS / MOST);
	assert_true(has_results ? results > ROUNDS / MOST : !results);
	stop();
}

static void cqes_are_read_alike(void **state)
{
	are_read_alike(*state);
}

/* Of CQEs of 64 bytes: from those of 128 libmlx5 44 copies other bytes (cq.c 784, 801). */
static void results_are_read_alike(void **state)
{
	has_results = true;
	are_read_alike(*state);
	has_results = false;
}

/* libmlx5 takes the size of CQEs from the environment. */
static void cqes_of_128_bytes_are_read_alike(void **state)
{
	setenv("MLX5_CQE_SIZE", "128", 1);
	are_read_alike(*state);
	unsetenv("MLX5_CQE_SIZE");
}

#define UNIT_OF(function)                                                                          \
	cmocka_unit_test_setup_teardown(function, loopback_set_up, loopback_tear_down)

UNIT_MAIN(NULL, UNIT_OF(cqes_are_read_alike), UNIT_OF(results_are_read_alike),
	  UNIT_OF(cqes_of_128_bytes_are_read_alike))
