/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Unmodified libmlx5 on the model. The model executes what it builds, each request has the right
 * completion, and the tables of wqe/ find nothing wrong in the WQEs.
 */
#include "loopback.h"

#include "datasheet.h"

enum { DEPTH = 32, BUF = 16384, QKEY = 0x11, GRH = 40, INLINE = 200 };

static struct {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq[2]; /* of sends, of receives */
	struct ibv_srq *srq;
	struct ibv_qp *qp[2];
	struct ibv_mr *mr;
	struct ibv_ah *ah;
	uint8_t buf[BUF] __attribute__((aligned(4096)));
} v;

/* -- set-up ------------------------------------------------------------------------------------ */

static void fill_ah(enum cx_link link, struct ibv_ah_attr *ah)
{
	*ah = (struct ibv_ah_attr){ .dlid = CX_LID, .port_num = 1 };
	if (link == CX_LINK_IB)
		return;
	ah->is_global = 1;
	ah->grh.sgid_index = 3;
	ah->grh.hop_limit = 64;
	assert_int_equal(ibv_query_gid(v.ctx, 1, 3, &ah->grh.dgid), 0);
}

static void connect_qp(struct ibv_qp *qp, struct ibv_qp *to, enum cx_link link)
{
	static const enum ibv_qp_state states[] = { IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS };
	struct ibv_qp_attr attr = { .port_num = 1,
				    .qkey = QKEY,
				    .qp_access_flags = IBV_ACCESS_REMOTE_WRITE |
						       IBV_ACCESS_REMOTE_READ |
						       IBV_ACCESS_REMOTE_ATOMIC,
				    .path_mtu = IBV_MTU_4096,
				    .dest_qp_num = to->qp_num,
				    .max_dest_rd_atomic = 16,
				    .max_rd_atomic = 16,
				    .min_rnr_timer = 1,
				    .timeout = 14,
				    .retry_cnt = 3,
				    .rnr_retry = 3 };

	fill_ah(link, &attr.ah_attr);
	for (unsigned i = 0; i < COUNT_OF(states); i++) {
		attr.qp_state = states[i];
		assert_int_equal(ibv_modify_qp(qp, &attr, loopback_mask(qp->qp_type, states[i])),
				 0);
	}
}

static void create_qp(struct ibv_qp **qp, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr_ex init = {
		.qp_type = type,
		.send_cq = v.cq[0],
		.recv_cq = v.cq[1],
		.srq = v.srq,
		.pd = v.pd,
		.cap = { .max_send_wr = DEPTH,
			 .max_recv_wr = DEPTH,
			 .max_send_sge = 4,
			 .max_recv_sge = 2,
			 .max_inline_data = INLINE },
		.comp_mask = IBV_QP_INIT_ATTR_PD,
	};

	*qp = ibv_create_qp_ex(v.ctx, &init);
	assert_non_null(*qp);
}

static void create_srq(void)
{
	v.srq = made(ibv_create_srq(
		v.pd, &(struct ibv_srq_init_attr){ .attr = { .max_wr = DEPTH, .max_sge = 2 } }));
}

static void start(enum cx_link link, const char *plan)
{
	struct cx_config config = loopback_config(link, true);

	memset(&v, 0, sizeof(v));
	config.fault_plan = plan;
	assert_int_equal(softcx_start(&config), 0);
	v.ctx = loopback_open_device();
	v.pd = ibv_alloc_pd(v.ctx);
	v.mr = made(ibv_reg_mr(v.pd, v.buf, BUF,
			       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				       IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC));
	for (unsigned i = 0; i < 2; i++)
		v.cq[i] = made(ibv_create_cq(v.ctx, 2 * DEPTH, NULL, NULL, 0));
}

/* What a pair is made of. */
static struct kind {
	enum cx_link link;
	enum ibv_qp_type type;
	bool shared;
	const char *plan;
} rc = { CX_LINK_IB, IBV_QPT_RC, false, NULL }, roce_rc = { CX_LINK_ROCE, IBV_QPT_RC, false, NULL },
  uc = { CX_LINK_IB, IBV_QPT_UC, false, NULL }, shared_rc = { CX_LINK_IB, IBV_QPT_RC, true, NULL },
  faulty_rc = { CX_LINK_IB, IBV_QPT_RC, true, "opcode=RECV every=2 fail 0x22 0x93" },
  ud = { CX_LINK_IB, IBV_QPT_UD, false, NULL }, roce_ud = { CX_LINK_ROCE, IBV_QPT_UD, false, NULL };

static int set_up(void **state)
{
	const struct kind *kind = *state;
	struct ibv_ah_attr ah;

	start(kind->link, kind->plan);
	if (kind->shared)
		create_srq();
	for (unsigned i = 0; i < 2; i++)
		create_qp(&v.qp[i], kind->type);
	for (unsigned i = 0; i < 2; i++)
		connect_qp(v.qp[i], v.qp[!i], kind->link);
	fill_ah(kind->link, &ah);
	v.ah = made(ibv_create_ah(v.pd, &ah));
	return 0;
}

static int tear_down(void **state)
{
	assert_int_equal(cx_lint_count(softcx_hca()), 0);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(ibv_destroy_qp(v.qp[i]), 0);
	if (v.srq)
		assert_int_equal(ibv_destroy_srq(v.srq), 0);
	assert_int_equal(ibv_destroy_ah(v.ah), 0);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(ibv_destroy_cq(v.cq[i]), 0);
	assert_int_equal(ibv_dereg_mr(v.mr), 0);
	assert_int_equal(ibv_dealloc_pd(v.pd), 0);
	assert_int_equal(ibv_close_device(v.ctx), 0);
	assert_int_equal(softcx_stop(), 0);
	return 0;
}

/* -- posting ----------------------------------------------------------------------------------- */

static void fill(size_t at, size_t len, unsigned seed)
{
	for (size_t i = 0; i < len; i++)
		v.buf[at + i] = (uint8_t)(i * 7 + seed * 31 + 1);
}

/* A request with `sges` pieces that together are `len` bytes from offset `from` on. */
struct request {
	struct ibv_sge sge[4];
	struct ibv_send_wr wr;
};

static void make(struct request *r, enum ibv_wr_opcode opcode, unsigned from, unsigned to,
		 unsigned len, int sges, unsigned flags)
{
	unsigned done = 0;

	memset(r, 0, sizeof(*r));
	for (int i = 0; i < sges; i++) {
		const unsigned part = i == sges - 1 ? len - done : len / (unsigned)sges;
		r->sge[i] = (struct ibv_sge){ (uintptr_t)v.buf + from + done, part, v.mr->lkey };
		done += part;
	}
	r->wr = (struct ibv_send_wr){ .wr_id = from * 1000ull + len,
				      .sg_list = r->sge,
				      .num_sge = sges,
				      .opcode = opcode,
				      .send_flags = IBV_SEND_SIGNALED | flags };
	r->wr.wr.rdma.remote_addr = (uintptr_t)v.buf + to;
	r->wr.wr.rdma.rkey = v.mr->rkey;
}

static void post(struct request *r)
{
	struct ibv_send_wr *bad;

	assert_int_equal(ibv_post_send(v.qp[0], &r->wr, &bad), 0);
}

static void post_recv(unsigned to, unsigned len)
{
	struct ibv_sge sge = { (uintptr_t)v.buf + to, len, v.mr->lkey };
	struct ibv_recv_wr *bad, wr = { .wr_id = to, .sg_list = &sge, .num_sge = 1 };

	if (v.srq)
		assert_int_equal(ibv_post_srq_recv(v.srq, &wr, &bad), 0);
	else
		assert_int_equal(ibv_post_recv(v.qp[1], &wr, &bad), 0);
}

static struct ibv_wc reap(unsigned which, enum ibv_wc_status status)
{
	struct ibv_wc wc;

	assert_int_equal(ibv_poll_cq(v.cq[which], 1, &wc), 1);
	assert_int_equal(wc.status, status);
	return wc;
}

static void run(const struct request *r)
{
	softcx_step(0);
	assert_int_equal(reap(0, IBV_WC_SUCCESS).wr_id, r->wr.wr_id);
}

static void expect_bytes(unsigned from, unsigned to, unsigned len)
{
	assert_memory_equal(v.buf + from, v.buf + to, len);
	assert_int_equal(v.buf[to + len], 0xee);
}

/* -- what is tested ---------------------------------------------------------------------------- */

static void move(enum ibv_wr_opcode opcode, unsigned len, int sges, unsigned flags)
{
	struct request r;
	struct ibv_wc wc;

	memset(v.buf, 0xee, BUF);
	fill(0, len, len);
	if (opcode == IBV_WR_RDMA_READ) {
		make(&r, opcode, 8192, 0, len, sges, flags);
	} else {
		make(&r, opcode, 0, 8192, len, sges, flags);
		r.wr.imm_data = htobe32(0x12345678);
	}
	if (opcode != IBV_WR_RDMA_READ && opcode != IBV_WR_RDMA_WRITE)
		post_recv(8192, 4096);
	post(&r);
	run(&r);
	if (opcode != IBV_WR_RDMA_READ && opcode != IBV_WR_RDMA_WRITE) {
		wc = reap(1, IBV_WC_SUCCESS);
		assert_int_equal(wc.byte_len, len);
		assert_int_equal(wc.qp_num, v.qp[1]->qp_num);
		if (opcode != IBV_WR_SEND)
			assert_int_equal(be32toh(wc.imm_data), 0x12345678);
	}
	expect_bytes(0, 8192, len);
}

static const enum ibv_wr_opcode connected[] = { IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM,
						IBV_WR_SEND, IBV_WR_SEND_WITH_IMM };
static const unsigned lengths[] = { 0, 1, 8, 31, 32, 33, 64, 65, 1000, 4096 };

/* All lengths, by pointers and inline, over several rounds of the ring. */
static void all_are_moved(void **state)
{
	for (unsigned round = 0; round < 3; round++) {
		for (unsigned l = 0; l < COUNT_OF(lengths); l++) {
			for (unsigned op = 0; op < 4; op++) {
				for (int sges = 1; sges <= 4; sges++)
					move(connected[op], lengths[l], sges, 0);
				if (lengths[l] <= INLINE)
					move(connected[op], lengths[l], 1, IBV_SEND_INLINE);
			}
			for (int sges = 1; sges <= 4 && v.qp[0]->qp_type == IBV_QPT_RC; sges++)
				move(IBV_WR_RDMA_READ, lengths[l], sges, IBV_SEND_FENCE);
		}
	}
}

static void send_seeded(unsigned seed)
{
	struct request r;

	fill(0, 8, seed);
	make(&r, IBV_WR_SEND, 0, 0, 8, 1, 0);
	post(&r);
}

static void receive_in_order(unsigned to)
{
	struct ibv_wc wc;

	for (unsigned i = 0; !ibv_poll_cq(v.cq[1], 1, &wc); i++) {
		assert_true(i < 10);
		softcx_step(0);
	}
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.wr_id, to);
	assert_memory_equal(v.buf + to, v.buf, 8);
	reap(0, IBV_WC_SUCCESS);
}

/*
 * libmlx5 posts the faulted receive again, after the others, and does not show it. If the fault had
 * not taken the receive, the device would now count one too many.
 */
static void a_page_fault_of_a_shared_queue_is_not_seen(void **state)
{
	struct ibv_wc wc;

	for (unsigned i = 0; i < 3 * DEPTH; i++) {
		post_recv(4096, 64);
		send_seeded(i);
		receive_in_order(4096);
	}
	send_seeded(0); /* to nobody, yet */
	for (unsigned i = 0; i < 2; i++) {
		softcx_step(0);
		assert_int_equal(ibv_poll_cq(v.cq[1], 1, &wc), 0);
	}
	post_recv(8192, 64);
	receive_in_order(8192);
}

static void datagrams_are_moved(void **state)
{
	const struct kind *kind = *state;
	struct request r;
	struct ibv_wc wc;

	for (unsigned l = 0; l < COUNT_OF(lengths); l++) {
		for (unsigned imm = 0; imm < 2; imm++) {
			memset(v.buf, 0xee, BUF);
			fill(0, lengths[l], l);
			make(&r, imm ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND, 0, 0, lengths[l], 2, 0);
			r.wr.imm_data = htobe32(7);
			r.wr.wr.ud.ah = v.ah;
			r.wr.wr.ud.remote_qpn = v.qp[1]->qp_num;
			r.wr.wr.ud.remote_qkey = QKEY;
			post_recv(8192, 4096 + GRH);
			post(&r);
			run(&r);
			wc = reap(1, IBV_WC_SUCCESS);
			assert_int_equal(wc.byte_len, lengths[l] + GRH);
			assert_int_equal(wc.src_qp, v.qp[0]->qp_num);
			assert_int_equal(!!(wc.wc_flags & IBV_WC_GRH), kind->link == CX_LINK_ROCE);
			expect_bytes(0, 8192 + GRH, lengths[l]);
		}
	}
}

static void atomics(void **state)
{
	uint64_t *target = (uint64_t *)(v.buf + 8192), *result = (uint64_t *)v.buf;
	struct request r;

	*target = 40;
	make(&r, IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 0, 8, 1, 0);
	r.wr.wr.atomic.remote_addr = (uintptr_t)target;
	r.wr.wr.atomic.rkey = v.mr->rkey;
	r.wr.wr.atomic.compare_add = 2;
	post(&r);
	run(&r);
	assert_int_equal(*result, 40);
	assert_int_equal(*target, 42);
	r.wr.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
	r.wr.wr.atomic.compare_add = 42;
	r.wr.wr.atomic.swap = 7;
	post(&r);
	run(&r);
	assert_int_equal(*result, 42);
	assert_int_equal(*target, 7);
}

/* A chain of requests is one doorbell; each completes in its turn. */
static void chains(void **state)
{
	struct request r[DEPTH];

	for (unsigned round = 0; round < 20; round++) {
		for (unsigned i = 0; i < DEPTH; i++) {
			make(&r[i], IBV_WR_RDMA_WRITE, 8 * i, 8192 + 8 * i, 8, 1, 0);
			r[i].wr.next = i + 1 < DEPTH ? &r[i + 1].wr : NULL;
		}
		fill(0, 8 * DEPTH, round);
		post(&r[0]);
		assert_int_equal(softcx_step(0), DEPTH);
		for (unsigned i = 0; i < DEPTH; i++)
			assert_int_equal(reap(0, IBV_WC_SUCCESS).wr_id, r[i].wr.wr_id);
		assert_memory_equal(v.buf, v.buf + 8192, 8 * DEPTH);
	}
}

static void a_bad_key_flushes_what_follows(void **state)
{
	struct request r;

	make(&r, IBV_WR_RDMA_WRITE, 0, 8192, 8, 1, 0);
	r.wr.wr.rdma.rkey ^= 0x5500;
	post(&r);
	make(&r, IBV_WR_RDMA_WRITE, 8, 8192, 8, 1, 0);
	post(&r);
	post_recv(8192, 64);
	softcx_step(0);
	assert_int_equal(reap(0, IBV_WC_REM_ACCESS_ERR).vendor_err, 0x88);
	assert_int_equal(reap(0, IBV_WC_WR_FLUSH_ERR).vendor_err, 0xf9);
	assert_int_equal(reap(1, IBV_WC_WR_FLUSH_ERR).vendor_err, 0xf9);
}

/* Completions in the old buffer are carried over, later ones come to the new one. */
static void a_queue_is_resized_under_way(void **state)
{
	struct request r;

	for (unsigned i = 0; i < 100; i++) {
		for (unsigned n = 0; n < 6; n++) {
			make(&r, IBV_WR_RDMA_WRITE, n, 8192, 8, 1, 0);
			post(&r);
			assert_int_equal(softcx_step(0), 1);
			if (n == 3)
				assert_int_equal(ibv_resize_cq(v.cq[0], i % 2 ? 64 : 200), 0);
		}
		for (unsigned n = 0; n < 6; n++)
			assert_int_equal(reap(0, IBV_WC_SUCCESS).wr_id, n * 1000 + 8);
	}
}

#define CASE(name, f, kind) NAMED(name, f, &(kind), set_up, tear_down)
#define ON_RC(f)            CASE(#f, f, rc)

UNIT_MAIN(NULL, CASE("reliable_connections", all_are_moved, rc),
	  CASE("reliable_connections_on_ethernet", all_are_moved, roce_rc),
	  CASE("unreliable_connections", all_are_moved, uc),
	  CASE("shared_receives", all_are_moved, shared_rc),
	  CASE("a_page_fault_of_a_shared_queue_is_not_seen",
	       a_page_fault_of_a_shared_queue_is_not_seen, faulty_rc),
	  CASE("datagrams_on_infiniband", datagrams_are_moved, ud),
	  CASE("datagrams_on_ethernet", datagrams_are_moved, roce_ud), ON_RC(atomics),
	  ON_RC(chains), ON_RC(a_bad_key_flushes_what_follows), ON_RC(a_queue_is_resized_under_way))
