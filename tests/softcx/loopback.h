/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A private device, passive or not, and on it a queue pair connected to itself, for tests of one
 * process.
 */
#ifndef TEST_SOFTCX_LOOPBACK_H
#define TEST_SOFTCX_LOOPBACK_H

#include <infiniband/verbs.h>

#include "unit.h"
#include "softcx.h"

enum {
	LOOPBACK_INIT_MASK = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
	LOOPBACK_RTR_MASK = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			    IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
	LOOPBACK_RTS_MASK = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			    IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC,
};

/* What a transition of a queue pair of this type names. */
static inline int loopback_mask(enum ibv_qp_type type, enum ibv_qp_state to)
{
	const bool answers = type == IBV_QPT_RC || type == IBV_QPT_XRC_RECV;
	const bool asks = type == IBV_QPT_RC || type == IBV_QPT_XRC_SEND;

	if (to == IBV_QPS_INIT)
		return IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
		       (type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS);
	if (to == IBV_QPS_RTS)
		return asks ? LOOPBACK_RTS_MASK
			    : IBV_QP_STATE | IBV_QP_SQ_PSN |
				       (type == IBV_QPT_XRC_RECV ? IBV_QP_TIMEOUT : 0);
	if (type == IBV_QPT_UD)
		return IBV_QP_STATE;
	return LOOPBACK_RTR_MASK &
	       ~(answers ? 0 : IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
}

static struct loopback {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	char memory[4096] __attribute__((aligned(4096)));
} lo;

static inline struct cx_config loopback_config(enum cx_link link, bool passive)
{
	return (struct cx_config){
		.generation = CX_GEN_CX6,
		.link = link,
		.passive = passive,
		.private_fabric = true,
	};
}

static inline int loopback_start(enum cx_link link)
{
	struct cx_config config = loopback_config(link, true);

	return softcx_start(&config);
}

static inline struct ibv_context *loopback_open_device(void)
{
	int count;
	struct ibv_device **list = made(ibv_get_device_list(&count));
	struct ibv_context *ctx;

	assert_int_equal(count, 1);
	ctx = made(ibv_open_device(list[0]));
	ibv_free_device_list(list);
	return ctx;
}

/*
 * Sets all attributes that the transitions of an RC queue pair need; the mask chooses among them.
 */
static inline int loopback_modify_to(struct ibv_qp *qp, uint32_t dest_qpn, enum ibv_qp_state state,
				     int mask)
{
	struct ibv_qp_attr attr = {
		.qp_state = state,
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = dest_qpn,
		.ah_attr = { .dlid = 1, .port_num = 1 },
		.max_dest_rd_atomic = 1,
		.max_rd_atomic = 1,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
	};

	return ibv_modify_qp(qp, &attr, mask);
}

static inline int loopback_modify(struct ibv_qp *qp, enum ibv_qp_state state, int mask)
{
	return loopback_modify_to(qp, qp->qp_num, state, mask);
}

static inline enum ibv_qp_state loopback_state(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	assert_int_equal(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init), 0);
	return attr.qp_state;
}

static inline struct ibv_qp *loopback_create_signaling_qp(struct ibv_pd *pd, struct ibv_cq *cq,
							  struct ibv_srq *srq,
							  enum ibv_qp_type type, bool signals_all)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq,
		.recv_cq = cq,
		.srq = srq,
		.cap = { .max_send_wr = 16,
			 .max_recv_wr = 16,
			 .max_send_sge = 2,
			 .max_recv_sge = 2,
			 .max_inline_data = 128 },
		.qp_type = type,
		.sq_sig_all = signals_all,
	};

	return ibv_create_qp(pd, &init);
}

static inline struct ibv_qp *loopback_create_qp(struct ibv_pd *pd, struct ibv_cq *cq,
						struct ibv_srq *srq, enum ibv_qp_type type)
{
	return loopback_create_signaling_qp(pd, cq, srq, type, false);
}

static inline void loopback_connect(struct ibv_qp *qp)
{
	assert_int_equal(loopback_modify(qp, IBV_QPS_INIT, LOOPBACK_INIT_MASK), 0);
	assert_int_equal(loopback_modify(qp, IBV_QPS_RTR, LOOPBACK_RTR_MASK), 0);
	assert_int_equal(loopback_modify(qp, IBV_QPS_RTS, LOOPBACK_RTS_MASK), 0);
}

static inline void loopback_reconnect(void)
{
	assert_int_equal(loopback_modify(lo.qp, IBV_QPS_RESET, IBV_QP_STATE), 0);
	loopback_connect(lo.qp);
}

/* A signaled request of one SGE; SEND has no remote address. */
static inline void loopback_post(enum ibv_wr_opcode opcode, uint64_t local, uint32_t lkey,
				 uint32_t length, uint64_t remote, uint32_t rkey)
{
	struct ibv_send_wr *bad, wr = {
		.wr_id = 7,
		.sg_list = &(struct ibv_sge){ local, length, lkey },
		.num_sge = 1,
		.opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { remote, rkey },
	};

	assert_int_equal(ibv_post_send(lo.qp, &wr, &bad), 0);
}

/* Writes the first bytes of the memory to its second half. */
static inline void loopback_post_write(void)
{
	loopback_post(IBV_WR_RDMA_WRITE, (uintptr_t)lo.memory, lo.mr->lkey, 64,
		      (uintptr_t)lo.memory + 2048, lo.mr->rkey);
}

static inline void loopback_post_receive(uint64_t id, void *to, uint32_t lkey, uint32_t length)
{
	struct ibv_sge sge = { (uintptr_t)to, length, lkey };
	struct ibv_recv_wr *bad, wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 };

	assert_int_equal(ibv_post_recv(lo.qp, &wr, &bad), 0);
}

/* The next completion, by looking at memory alone, as a busy poller does. */
static inline struct ibv_wc loopback_wait(void)
{
	struct ibv_wc wc;
	int n;

	while (!(n = ibv_poll_cq(lo.cq, 1, &wc)))
		;
	assert_int_equal(n, 1);
	return wc;
}

/* After an error the queue pair begins anew. */
static inline enum ibv_wc_status loopback_outcome(void)
{
	const enum ibv_wc_status status = loopback_wait().status;

	if (status)
		loopback_reconnect();
	return status;
}

/* The completion that is there already. */
static inline struct ibv_wc loopback_poll(void)
{
	struct ibv_wc wc;

	assert_int_equal(ibv_poll_cq(lo.cq, 1, &wc), 1);
	return wc;
}

/* The next completion of any CQ, after virtual time has passed as needed. */
static inline struct ibv_wc loopback_await(struct ibv_cq *cq)
{
	struct ibv_wc wc = { 0 };

	for (unsigned i = 0; i < 100; i++) {
		softcx_step(0);
		if (ibv_poll_cq(cq, 1, &wc) == 1)
			return wc;
	}
	fail_msg("nothing completed");
	return wc;
}

/* The queue whose event came; NULL: none, and errno says why. */
static inline struct ibv_cq *loopback_wait_for_event(void)
{
	struct ibv_cq *cq;
	void *context;

	if (ibv_get_cq_event(lo.channel, &cq, &context))
		return NULL;
	ibv_ack_cq_events(cq, 1);
	return cq;
}

static inline int loopback_set_up_config(void **state, const struct cx_config *config)
{
	memset(&lo, 0, sizeof(lo));
	assert_int_equal(softcx_start(config), 0);
	lo.ctx = loopback_open_device();
	lo.pd = made(ibv_alloc_pd(lo.ctx));
	lo.channel = made(ibv_create_comp_channel(lo.ctx));
	lo.cq = made(ibv_create_cq(lo.ctx, 16, NULL, lo.channel, 0));
	lo.qp = made(loopback_create_qp(lo.pd, lo.cq, NULL, IBV_QPT_RC));
	lo.mr = made(ibv_reg_mr(lo.pd, lo.memory, sizeof(lo.memory),
				IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
					IBV_ACCESS_REMOTE_READ));
	if (config->link == CX_LINK_IB)
		loopback_connect(lo.qp);
	*state = &lo;
	return 0;
}

static inline int loopback_set_up(void **state)
{
	const struct cx_config config = loopback_config(CX_LINK_IB, true);

	return loopback_set_up_config(state, &config);
}

static inline int loopback_set_up_active(void **state)
{
	const struct cx_config config = loopback_config(CX_LINK_IB, false);

	return loopback_set_up_config(state, &config);
}

static inline int loopback_tear_down(void **state)
{
	if (lo.qp)
		assert_int_equal(ibv_destroy_qp(lo.qp), 0);
	assert_int_equal(ibv_dereg_mr(lo.mr), 0);
	if (lo.cq)
		assert_int_equal(ibv_destroy_cq(lo.cq), 0);
	assert_int_equal(ibv_destroy_comp_channel(lo.channel), 0);
	assert_int_equal(ibv_dealloc_pd(lo.pd), 0);
	assert_int_equal(softcx_stop(), -EBUSY);
	assert_int_equal(ibv_close_device(lo.ctx), 0);
	assert_int_equal(softcx_stop(), 0);
	return 0;
}

#define ON_LOOPBACK(f) cmocka_unit_test_setup_teardown(f, loopback_set_up, loopback_tear_down)

/* The same where each doorbell is executed at once. */
#define ON_ACTIVE(f) cmocka_unit_test_setup_teardown(f, loopback_set_up_active, loopback_tear_down)

#endif
