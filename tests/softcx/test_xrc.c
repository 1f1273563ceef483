/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * XRC by unmodified libmlx5: who owns a domain, which shared receive queue a request reaches
 * through a target, and whose rights it has.
 */
#include "xrc.h"

#include <fcntl.h>

enum { BYTES = 64, RECVS = 8, ID = 77 };

/* One side of a domain: here two contexts, as two processes would have them. */
struct side {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_xrcd *xrcd;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_mr *mr;
	uint32_t srqn;
	uint8_t memory[4096] __attribute__((aligned(4096)));
};

static struct xrc {
	struct side a, b;
	struct ibv_qp *initiator, *target; /* both of a's */
	FILE *file;
} x;

static void open_side(struct side *s, int fd)
{
	s->ctx = loopback_open_device();
	s->pd = ibv_alloc_pd(s->ctx);
	s->cq = ibv_create_cq(s->ctx, 64, NULL, NULL, 0);
	s->xrcd = made(xrc_open_domain(s->ctx, fd, O_CREAT));
	s->srq = made(xrc_create_srq(s->pd, s->cq, s->xrcd, RECVS));
	assert_int_equal(ibv_get_srq_num(s->srq, &s->srqn), 0);
	s->mr = made(ibv_reg_mr(s->pd, s->memory, sizeof(s->memory),
				IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE));
}

static void close_side(struct side *s)
{
	assert_int_equal(ibv_destroy_srq(s->srq), 0);
	assert_int_equal(ibv_close_xrcd(s->xrcd), 0);
	assert_int_equal(ibv_destroy_cq(s->cq), 0);
	assert_int_equal(ibv_dereg_mr(s->mr), 0);
	assert_int_equal(ibv_dealloc_pd(s->pd), 0);
	assert_int_equal(ibv_close_device(s->ctx), 0);
}

static struct ibv_qp *create_initiator(struct side *s)
{
	struct ibv_qp_init_attr_ex init = { .qp_type = IBV_QPT_XRC_SEND,
					    .send_cq = s->cq,
					    .cap = { .max_send_wr = 8, .max_send_sge = 1 },
					    .comp_mask = IBV_QP_INIT_ATTR_PD,
					    .pd = s->pd };

	return ibv_create_qp_ex(s->ctx, &init);
}

enum {
	INITIATOR_RTR = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			IBV_QP_RQ_PSN,
	TARGET_RTS = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_SQ_PSN,
};

static void connect_both(void)
{
	struct ibv_qp *i = x.initiator, *t = x.target;

	assert_int_equal(loopback_modify_to(i, 0, IBV_QPS_INIT, LOOPBACK_INIT_MASK), 0);
	assert_int_equal(loopback_modify_to(t, 0, IBV_QPS_INIT, LOOPBACK_INIT_MASK), 0);
	assert_int_equal(loopback_modify_to(i, t->qp_num, IBV_QPS_RTR, INITIATOR_RTR), 0);
	assert_int_equal(loopback_modify_to(t, i->qp_num, IBV_QPS_RTR, LOOPBACK_RTR_MASK), 0);
	assert_int_equal(loopback_modify_to(i, t->qp_num, IBV_QPS_RTS, LOOPBACK_RTS_MASK), 0);
}

static int set_up(void **state)
{
	struct cx_config config = loopback_config(CX_LINK_IB, true);

	memset(&x, 0, sizeof(x));
	assert_int_equal(softcx_start(&config), 0);
	x.file = made(tmpfile());
	open_side(&x.a, fileno(x.file));
	open_side(&x.b, fileno(x.file));
	x.target = made(xrc_create_target(x.a.ctx, x.a.xrcd));
	x.initiator = made(create_initiator(&x.a));
	connect_both();
	return 0;
}

static int tear_down(void **state)
{
	assert_int_equal(cx_lint_count(softcx_hca()), 0);
	assert_int_equal(ibv_destroy_qp(x.initiator), 0);
	assert_int_equal(ibv_destroy_qp(x.target), 0);
	close_side(&x.a);
	close_side(&x.b);
	assert_int_equal(softcx_stop(), 0);
	fclose(x.file);
	return 0;
}

/* -- requests ---------------------------------------------------------------------------------- */

static void post(enum ibv_wr_opcode opcode, uint32_t srqn, const struct side *to, uint32_t rkey)
{
	struct ibv_send_wr *bad, wr = {
		.opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
		.sg_list = &(struct ibv_sge){ (uintptr_t)x.a.memory, BYTES, x.a.mr->lkey },
		.num_sge = 1,
		.wr.rdma = { (uintptr_t)to->memory + 2048, rkey },
		.qp_type.xrc.remote_srqn = srqn,
	};

	memset(x.a.memory, 0x5a, BYTES);
	assert_int_equal(ibv_post_send(x.initiator, &wr, &bad), 0);
}

static void post_recv(struct side *s)
{
	struct ibv_sge sge = { (uintptr_t)s->memory + 1024, BYTES, s->mr->lkey };
	struct ibv_recv_wr *bad, wr = { .wr_id = ID, .sg_list = &sge, .num_sge = 1 };

	assert_int_equal(ibv_post_srq_recv(s->srq, &wr, &bad), 0);
}

/* -- tests ------------------------------------------------------------------------------------- */

static void a_message_reaches_the_srq_that_it_names(void **state)
{
	struct ibv_wc wc;

	post_recv(&x.a);
	post_recv(&x.b);
	post(IBV_WR_SEND, x.b.srqn, &x.b, 0);
	wc = loopback_await(x.b.cq);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.wr_id, ID);
	assert_int_equal(wc.byte_len, BYTES);
	assert_int_equal(wc.qp_num, x.target->qp_num);
	assert_memory_equal(x.b.memory + 1024, x.a.memory, BYTES);
	assert_int_equal(loopback_await(x.a.cq).status, IBV_WC_SUCCESS);
	assert_int_equal(ibv_poll_cq(x.a.cq, 1, &wc), 0); /* a's receive is still there */
}

/* The protection domain is the SRQ's, also for a WRITE. */
static void a_write_has_the_rights_of_the_srq(void **state)
{
	struct ibv_wc wc;

	post(IBV_WR_RDMA_WRITE, x.b.srqn, &x.b, x.b.mr->rkey);
	assert_int_equal(loopback_await(x.a.cq).status, IBV_WC_SUCCESS);
	assert_memory_equal(x.b.memory + 2048, x.a.memory, BYTES);
	post(IBV_WR_RDMA_WRITE, x.a.srqn, &x.b, x.b.mr->rkey);
	wc = loopback_await(x.a.cq);
	assert_int_equal(wc.status, IBV_WC_REM_ACCESS_ERR);
}

static void an_srq_of_another_domain_is_refused(void **state)
{
	struct ibv_xrcd *own = made(xrc_open_domain(x.b.ctx, -1, 0));
	uint32_t srqn;
	struct ibv_srq *srq = made(xrc_create_srq(x.b.pd, x.b.cq, own, RECVS));

	assert_int_equal(ibv_get_srq_num(srq, &srqn), 0);
	post(IBV_WR_SEND, srqn, &x.b, 0);
	assert_int_equal(loopback_await(x.a.cq).status, IBV_WC_REM_INV_REQ_ERR);
	assert_int_equal(ibv_close_xrcd(own), EBUSY);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	assert_int_equal(ibv_close_xrcd(own), 0);
}

static void an_srq_that_is_none_is_refused(void **state)
{
	post(IBV_WR_SEND, 0xabcdef, &x.b, 0);
	assert_int_equal(loopback_await(x.a.cq).status, IBV_WC_REM_INV_REQ_ERR);
}

static void a_domain_is_opened_as_a_file_is(void **state)
{
	FILE *other = made(tmpfile());
	struct ibv_xrcd *again;

	not_made(xrc_open_domain(x.a.ctx, fileno(x.file), O_CREAT | O_EXCL), EINVAL);
	not_made(xrc_open_domain(x.a.ctx, fileno(other), 0), EAGAIN);
	again = made(xrc_open_domain(x.a.ctx, fileno(other), O_CREAT | O_EXCL));
	assert_int_equal(ibv_close_xrcd(again), 0);
	fclose(other);
	not_made(xrc_open_domain(x.a.ctx, 9999, O_CREAT), EBADF);
	again = made(xrc_open_domain(x.a.ctx, fileno(x.file), 0));
	assert_int_equal(ibv_close_xrcd(again), 0);
	assert_int_equal(ibv_close_xrcd(x.a.xrcd), EBUSY);
}

/* Attributes that one end does not use are ignored: uverbs_cmd.c modify_qp_mask(). */
static void each_end_has_its_transitions(void **state)
{
	struct ibv_qp *t = x.target, *i = x.initiator;

	assert_int_equal(loopback_modify_to(t, i->qp_num, IBV_QPS_RTS, LOOPBACK_RTS_MASK), 0);
	assert_int_equal(loopback_modify_to(i, 0, IBV_QPS_RESET, IBV_QP_STATE), 0);
	assert_int_equal(loopback_modify_to(i, 0, IBV_QPS_INIT, LOOPBACK_INIT_MASK), 0);
	assert_int_equal(loopback_modify_to(i, t->qp_num, IBV_QPS_RTR, LOOPBACK_RTR_MASK), 0);
	assert_int_equal(loopback_modify_to(i, t->qp_num, IBV_QPS_RTS, TARGET_RTS), EINVAL);
	assert_int_equal(loopback_modify_to(t, 0, IBV_QPS_RESET, IBV_QP_STATE), 0);
	assert_int_equal(loopback_modify_to(t, 0, IBV_QPS_INIT, LOOPBACK_INIT_MASK), 0);
	assert_int_equal(loopback_modify_to(t, i->qp_num, IBV_QPS_RTR, INITIATOR_RTR), EINVAL);
	assert_int_equal(loopback_modify_to(t, i->qp_num, IBV_QPS_RTR, LOOPBACK_RTR_MASK), 0);
	assert_int_equal(loopback_modify_to(t, i->qp_num, IBV_QPS_RTS, TARGET_RTS), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

UNIT_MAIN(NULL, TEST(a_message_reaches_the_srq_that_it_names),
	  TEST(a_write_has_the_rights_of_the_srq), TEST(an_srq_of_another_domain_is_refused),
	  TEST(an_srq_that_is_none_is_refused), TEST(a_domain_is_opened_as_a_file_is),
	  TEST(each_end_has_its_transitions))
