/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two queue pairs of unmodified libibverbs that are told different things, one request between
 * them, and what came of it.
 */
#ifndef TESTS_SOFTCX_FIT_H
#define TESTS_SOFTCX_FIT_H

#include "loopback.h"
#include "xrc.h"

#include <fcntl.h>

enum { FIT_HALF = 16384, FIT_MOST = 8192, FIT_PSN = 0xfffffe, FIT_QKEY = 7, FIT_GRH = 40 };

/* What one end is told; both ends of a connection begin with the same. */
struct told {
	enum ibv_mtu mtu;
	uint32_t dest_qpn, rq_psn, sq_psn, qkey;
	uint8_t max_rd_atomic, max_dest_rd_atomic;
	uint16_t pkey_index, dlid;
	uint8_t sgid_index, hop_limit;
	union ibv_gid dgid;
};

enum { A, B, ENDS };

static struct fit {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_cq *cq[ENDS];
	struct ibv_qp *qp[ENDS];
	struct told told[ENDS];
	struct ibv_xrcd *xrcd; /* of XRC, where A initiates and B is the target */
	struct ibv_srq *srq;
	bool srq_has_receive;
	struct ibv_ah *ah; /* of UD, of A */
	bool is_roce;
	int access;
	FILE *trace;
	uint8_t memory[2 * FIT_HALF] __attribute__((aligned(4096))); /* A's, then B's */
} f;

/* What came of a request of A. */
struct effect {
	enum ibv_wc_status status;
	uint8_t vendor;
	bool executed;       /* its data are where they should be */
	bool responder_fails;
	enum ibv_event_type event; /* of the responder */
};

#define FIT_NO_EVENT ((enum ibv_event_type)-1)

/* -- the bed ----------------------------------------------------------------------------------- */

static inline void fit_reset_told(void)
{
	for (unsigned i = 0; i < ENDS; i++) {
		f.told[i] = (struct told){ .mtu = IBV_MTU_1024,
					   .dest_qpn = f.qp[!i]->qp_num,
					   .rq_psn = FIT_PSN,
					   .sq_psn = FIT_PSN,
					   .qkey = FIT_QKEY,
					   .max_rd_atomic = 4,
					   .max_dest_rd_atomic = 4,
					   .dlid = 1,
					   .sgid_index = f.is_roce ? 3 : 0,
					   .hop_limit = 64 };
		assert_int_equal(ibv_query_gid(f.ctx, 1, f.told[i].sgid_index, &f.told[i].dgid), 0);
	}
}

static inline void fit_create_target(void)
{
	f.xrcd = made(xrc_open_domain(f.ctx, -1, O_CREAT));
	f.srq = made(xrc_create_srq(f.pd, f.cq[B], f.xrcd, 1));
	f.srq_has_receive = false;
	f.qp[B] = made(xrc_create_target(f.ctx, f.xrcd));
}

/* IBV_QPT_XRC_SEND: A initiates, and B is the target. */
static inline void fit_create_qps(enum ibv_qp_type type)
{
	for (unsigned i = 0; i < ENDS; i++) {
		f.cq[i] = made(ibv_create_cq(f.ctx, 32, NULL, NULL, 0));
		if (i == B && type == IBV_QPT_XRC_SEND)
			fit_create_target();
		else
			f.qp[i] = made(loopback_create_qp(f.pd, f.cq[i], NULL, type));
	}
	fit_reset_told();
}

static inline void fit_destroy_qps(void)
{
	for (unsigned i = 0; i < ENDS; i++)
		assert_int_equal(ibv_destroy_qp(f.qp[i]), 0);
	if (f.ah)
		assert_int_equal(ibv_destroy_ah(f.ah), 0);
	if (f.srq) {
		assert_int_equal(ibv_destroy_srq(f.srq), 0);
		assert_int_equal(ibv_close_xrcd(f.xrcd), 0);
	}
	for (unsigned i = 0; i < ENDS; i++)
		assert_int_equal(ibv_destroy_cq(f.cq[i]), 0);
	f.ah = NULL;
	f.srq = NULL;
}

static inline void fit_open(struct cx_config config)
{
	char trace[] = "/tmp/fit.XXXXXX";
	const int fd = mkstemp(trace);

	assert_true(fd >= 0);
	memset(&f, 0, sizeof(f));
	f.trace = fdopen(fd, "r");
	f.is_roce = config.link == CX_LINK_ROCE;
	config.trace_path = trace;
	assert_int_equal(softcx_start(&config), 0);
	unlink(trace);
	f.ctx = loopback_open_device();
	fcntl(f.ctx->async_fd, F_SETFL, O_NONBLOCK);
	f.pd = ibv_alloc_pd(f.ctx);
	f.access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
		   IBV_ACCESS_REMOTE_ATOMIC;
	f.mr = made(ibv_reg_mr(f.pd, f.memory, sizeof(f.memory), f.access));
}

static inline void fit_close(void)
{
	assert_int_equal(ibv_dereg_mr(f.mr), 0);
	assert_int_equal(ibv_dealloc_pd(f.pd), 0);
	assert_int_equal(ibv_close_device(f.ctx), 0);
	assert_int_equal(softcx_stop(), 0);
	fclose(f.trace);
}

/* Whether a line of the trace since the last call has this text. */
static inline bool fit_trace_says(const char *text)
{
	char line[4096];
	bool found = false;

	clearerr(f.trace);
	while (fgets(line, sizeof(line), f.trace))
		found = found || strstr(line, text);
	return found;
}

/* -- connecting -------------------------------------------------------------------------------- */

static inline int fit_init(unsigned end)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .port_num = 1,
				    .pkey_index = f.told[end].pkey_index,
				    .qkey = f.told[end].qkey,
				    .qp_access_flags = (unsigned)f.access };

	return ibv_modify_qp(f.qp[end], &attr, loopback_mask(f.qp[end]->qp_type, IBV_QPS_INIT));
}

static inline struct ibv_ah_attr fit_path(unsigned end)
{
	const struct told *t = &f.told[end];

	return (struct ibv_ah_attr){
		.dlid = t->dlid,
		.port_num = 1,
		.is_global = f.is_roce,
		.grh = { .dgid = t->dgid, .sgid_index = t->sgid_index, .hop_limit = t->hop_limit }
	};
}

/* 0, or the errno; of A's datagrams, that of their address handle. */
static inline int fit_rtr(unsigned end)
{
	const struct told *t = &f.told[end];
	const enum ibv_qp_type type = f.qp[end]->qp_type;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = t->mtu,
		.dest_qp_num = t->dest_qpn,
		.rq_psn = t->rq_psn,
		.max_dest_rd_atomic = t->max_dest_rd_atomic,
		.min_rnr_timer = 1,
		.ah_attr = fit_path(end),
	};
	const int err = ibv_modify_qp(f.qp[end], &attr, loopback_mask(type, IBV_QPS_RTR));

	if (err || type != IBV_QPT_UD || end != A)
		return err;
	if (f.ah)
		assert_int_equal(ibv_destroy_ah(f.ah), 0);
	f.ah = ibv_create_ah(f.pd, &attr.ah_attr);
	return f.ah ? 0 : errno;
}

static inline int fit_rts(unsigned end)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.sq_psn = f.told[end].sq_psn,
		.timeout = 10,
		.retry_cnt = 2,
		.rnr_retry = 2,
		.max_rd_atomic = f.told[end].max_rd_atomic,
	};

	return ibv_modify_qp(f.qp[end], &attr, loopback_mask(f.qp[end]->qp_type, IBV_QPS_RTS));
}

static inline void fit_begin_anew(void)
{
	for (unsigned end = 0; end < ENDS; end++) {
		assert_int_equal(loopback_modify(f.qp[end], IBV_QPS_RESET, IBV_QP_STATE), 0);
		assert_int_equal(fit_init(end), 0);
	}
}

/* Both ends as they are told. */
static inline void fit_connect(void)
{
	fit_begin_anew();
	for (unsigned end = 0; end < ENDS; end++)
		assert_int_equal(fit_rtr(end), 0);
	for (unsigned end = 0; end < ENDS; end++)
		assert_int_equal(fit_rts(end), 0);
}

/* -- a request --------------------------------------------------------------------------------- */

static inline void fit_post_recv(unsigned end)
{
	struct ibv_sge sge = { (uintptr_t)f.memory + end * FIT_HALF, FIT_MOST, f.mr->lkey };
	struct ibv_recv_wr *bad, wr = { .sg_list = &sge, .num_sge = 1 };

	if (!f.srq)
		assert_int_equal(ibv_post_recv(f.qp[end], &wr, &bad), 0);
	else if (!f.srq_has_receive) /* that of a message which was lost is still there */
		assert_int_equal(ibv_post_srq_recv(f.srq, &wr, &bad), 0);
	f.srq_has_receive = true;
}

/* What a request names beside its data. */
static inline void fit_address(struct ibv_send_wr *wr)
{
	const uint64_t raddr = (uintptr_t)f.memory + FIT_HALF;

	if (f.srq)
		assert_int_equal(ibv_get_srq_num(f.srq, &wr->qp_type.xrc.remote_srqn), 0);
	if (f.ah) {
		wr->wr.ud.ah = f.ah;
		wr->wr.ud.remote_qpn = f.told[A].dest_qpn;
		wr->wr.ud.remote_qkey = f.told[A].qkey;
	} else if (wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr->wr.atomic.remote_addr = raddr;
		wr->wr.atomic.rkey = f.mr->rkey;
		wr->wr.atomic.compare_add = 1;
	} else {
		wr->wr.rdma.remote_addr = raddr;
		wr->wr.rdma.rkey = f.mr->rkey;
	}
}

/* @count equal requests of A, the last one signaled, rung by one doorbell. */
static inline void fit_post(enum ibv_wr_opcode opcode, uint32_t len, unsigned count)
{
	struct ibv_sge sge = { (uintptr_t)f.memory, len, f.mr->lkey };
	struct ibv_send_wr wrs[16], *bad;

	for (unsigned i = 0; i < count; i++) {
		const bool is_last = i + 1 == count;
		wrs[i] = (struct ibv_send_wr){ .wr_id = i,
					       .next = is_last ? NULL : &wrs[i + 1],
					       .sg_list = &sge,
					       .num_sge = 1,
					       .opcode = opcode,
					       .send_flags = is_last ? IBV_SEND_SIGNALED : 0 };
		fit_address(&wrs[i]);
	}
	assert_int_equal(ibv_post_send(f.qp[A], wrs, &bad), 0);
}

static inline void fit_fill(bool is_read)
{
	memset(f.memory, is_read ? 0 : 0x5a, FIT_HALF);
	memset(f.memory + FIT_HALF, is_read ? 0x5a : 0, FIT_HALF);
}

static inline bool fit_is_executed(enum ibv_wr_opcode opcode, uint32_t len)
{
	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
		return f.memory[FIT_HALF] == 0x5b;
	return !memcmp(f.memory, f.memory + FIT_HALF + (f.ah ? FIT_GRH : 0), len);
}

static inline enum ibv_event_type fit_event(void)
{
	enum ibv_event_type type = FIT_NO_EVENT;
	struct ibv_async_event event;

	while (!ibv_get_async_event(f.ctx, &event)) {
		assert_ptr_equal(event.element.qp, f.qp[B]);
		type = event.event_type;
		ibv_ack_async_event(&event);
	}
	return type;
}

/* Few bytes come in the CQE, and into memory by the poll. */
static inline void fit_reap_receives(void)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(f.cq[B], 1, &wc) == 1)
		f.srq_has_receive = false;
}

static inline struct effect fit_run(enum ibv_wr_opcode opcode, uint32_t len, unsigned count)
{
	struct effect effect;
	struct ibv_wc wc;

	fit_fill(opcode == IBV_WR_RDMA_READ || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD);
	if (opcode == IBV_WR_SEND)
		fit_post_recv(B);
	fit_post(opcode, len, count);
	wc = loopback_await(f.cq[A]);
	effect.status = wc.status;
	effect.vendor = wc.status ? (uint8_t)wc.vendor_err : 0;
	fit_reap_receives();
	effect.executed = fit_is_executed(opcode, len);
	effect.responder_fails = loopback_state(f.qp[B]) == IBV_QPS_ERR;
	effect.event = fit_event();
	assert_int_equal(loopback_state(f.qp[A]), wc.status ? IBV_QPS_ERR : IBV_QPS_RTS);
	return effect;
}

#endif
