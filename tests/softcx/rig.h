/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A bench for the model alone, without libibverbs: queues in plain memory, WQEs by the encoders of
 * wqe/, one private HCA in passive mode unless a test wants another.
 */
#ifndef TESTS_SOFTCX_RIG_H
#define TESTS_SOFTCX_RIG_H

#include "../wqe/encode.h"
#include "bsn_umr.h"
#include "nic/hca.h"

enum {
	RIG_SQ_BB = 8,
	RIG_RQ = 8,
	RIG_RQ_STRIDE = 64,
	RIG_CQES = 32,
	RIG_BUF = 4096,
};

#define RIG_ACCESS                                                                                 \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC)

struct rig_cq {
	uint32_t number, ci, cqe_size;
	uint32_t db[2];
	uint8_t buf[RIG_CQES * 128] __attribute__((aligned(64)));
};

struct rig_qp {
	uint32_t number;
	uint16_t pi, rq_pi;
	uint32_t db[2];
	uint8_t ring[RIG_RQ * RIG_RQ_STRIDE + RIG_SQ_BB * BSN_BB_SIZE] __attribute__((aligned(64)));
};

enum { RIG_SRQ = 8, RIG_SRQ_STRIDE = 32 };

struct rig_srq {
	uint32_t number;
	uint16_t posted;
	uint32_t db[1];
	uint8_t ring[RIG_SRQ * RIG_SRQ_STRIDE] __attribute__((aligned(64)));
};

struct rig {
	struct cx_hca *hca;
	uint32_t pd, key;       /* of `buf` */
	struct rig_cq cq[2];    /* send and receive completions of both */
	struct rig_qp qp[2];    /* connected to each other */
	struct cx_qp_attr attr; /* that rig_qp_create() starts from */
	struct ibv_qp_attr mod; /* that rig_qp_connect() applies, but for addresses */
	uint8_t buf[RIG_BUF] __attribute__((aligned(4096)));
};

/* A send WQE under construction. */
struct rig_wqe {
	uint8_t bytes[BSN_WQE_MAX_DS * BSN_DS_SIZE];
	size_t len;
	struct bsn_ctrl ctrl;
};

struct cx_config rig_config(void); /* private, passive, InfiniBand */
void rig_open(struct rig *rig, const struct cx_config *config);
/* Two queue pairs as rig->attr says, connected and ready to send. */
void rig_pair(struct rig *rig);
/* The same on a device of its own, of `type`. */
void rig_setup(struct rig *rig, enum ibv_qp_type type);
void rig_teardown(struct rig *rig);

/* The key of `length` bytes of the buffer. */
uint32_t rig_mr_create(struct rig *rig, uint32_t pd, uint64_t length, int access);
void rig_cq_create(struct rig *rig, struct rig_cq *cq, uint32_t cqe_size);
void rig_qp_create(struct rig *rig, struct rig_qp *qp);
void rig_qp_connect(struct rig *rig, struct rig_qp *qp, uint32_t dest_qpn);
void rig_qp_destroy(struct rig *rig, struct rig_qp *qp);
void rig_qp_modify(struct rig *rig, const struct rig_qp *qp, struct ibv_qp_attr attr, int mask);
void rig_qp_move(struct rig *rig, const struct rig_qp *qp, enum ibv_qp_state state);
enum ibv_qp_state rig_qp_state(struct rig *rig, const struct rig_qp *qp);

/* A shared receive queue of `count` places, by `attr` beside its memory; its chain begins at 0. */
void rig_srq_create(struct rig *rig, struct rig_srq *srq, struct cx_srq_attr attr);
/* Puts a receive into place `index`, which links to `next`. */
void rig_srq_post(struct rig *rig, struct rig_srq *srq, unsigned index, unsigned next, void *to,
		  uint32_t len);

/* An mkey over pieces, by a command, within the domain of the bench; `ctx` says what else it is. */
uint32_t rig_mkey_create(struct rig *rig, const struct bsn_mkey_ctx *ctx,
			 const struct bsn_klm *pieces, unsigned count);

void rig_begin(struct rig_wqe *wqe, uint32_t opcode, uint32_t ce);
void rig_raddr(struct rig_wqe *wqe, const void *addr, uint32_t rkey);
void rig_data(struct rig_wqe *wqe, const void *addr, uint32_t len, uint32_t lkey);
void rig_inline(struct rig_wqe *wqe, const void *data, uint32_t len);
void rig_ud(struct rig_wqe *wqe, uint32_t qpn, uint32_t qkey);
void rig_begin_write(const struct rig *rig, struct rig_wqe *wqe, const void *to, const void *from,
		     uint32_t len, uint32_t ce);
/* Puts it into the ring, wrapping, and publishes it in the record. */
void rig_post(struct rig_qp *qp, struct rig_wqe *wqe);
/* A signaled request of one SGE: SEND has no remote address. */
void rig_post_one(struct rig_qp *qp, uint32_t opcode, const void *remote, uint32_t rkey,
		  const void *local, uint32_t len, uint32_t lkey);
void rig_post_write(struct rig *rig, struct rig_qp *qp, const void *to, const void *from,
		    uint32_t len, uint32_t ce);
void rig_post_send(struct rig *rig, struct rig_qp *qp, const void *from, uint32_t len, uint32_t ce);
void rig_post_recv(struct rig *rig, struct rig_qp *qp, void *to, uint32_t len);

/* Does what hca.h asks of a handler that replaces the model's, as cmocka's does; once. */
void rig_handle_fault(int sig);

/* Executes until nothing is left to do or to wait for. */
void rig_run(struct rig *rig);

/* The next CQE, for those who give room for it; false: there is none. */
bool rig_poll(struct rig_cq *cq, struct bsn_cqe *cqe);
struct bsn_cqe rig_next(struct rig_cq *cq); /* which must be there */
void rig_expect_error(struct rig_cq *cq, uint8_t opcode, uint16_t index, uint8_t syndrome,
		      uint8_t vendor);
void rig_consume(struct rig_cq *cq); /* publishes the consumer index */

#endif
