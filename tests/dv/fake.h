/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queues in plain memory, initialised like those of a device (dv/init.h), and a minimal device: it
 * writes CQEs where and how a ConnectX would, when a test says so.
 */
#ifndef TESTS_DV_FAKE_H
#define TESTS_DV_FAKE_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "../unit.h"
#include "../wqe/encode.h"
#include "bsn_post.h"
#include "init.h"
#include "refuse.h"
#include "srq.h"

#define ok(call) assert_int_equal(call, 0)

#define FAKE_QPN      0x123456u
#define FAKE_CQN      0x0654u
#define FAKE_BF_BYTES 256u
#define FAKE_PAGE     4096u
#define FAKE_POISON   0xa5

/* The attributes of a queue; 0 means the default in the comment. */
struct fake_attr {
	enum bsn_transport transport; /* RC */
	uint32_t count_bb;            /* 16 */
	uint32_t capacity_bb;         /* count_bb */
	uint32_t max_inline;          /* 220 */
	uint32_t max_sge;             /* 14 */
	uint32_t max_ds;              /* 16: four blocks */
	int signal_every;             /* never */
	enum bsn_ce ce_quiet;         /* ON_ERROR */
	enum bsn_store store;         /* BSN_STORE_8 */
	bool has_peers;
	bool no_atomics;
	bool locked;
	bool no_blueflame;
	uint32_t recv_count;    /* 16 */
	uint32_t recv_capacity; /* recv_count */
	uint32_t recv_stride;   /* 64 */
	bool is_srq; /* its list is recv_capacity long; recv_count - 1 */
	bool is_on_demand;
	bool no_recv;
	uint32_t cqe_count;  /* 64 */
	uint32_t cqe_stride; /* 64 */
	uint32_t spare;
};

struct fake {
	struct bsn_ep ep;
	struct dv_lane lane;
	pthread_spinlock_t lock;
	struct bsn_sq *sq;
	struct bsn_rq *rq;
	struct bsn_cq *cq;
	uint8_t *sq_ring, *rq_ring, *cq_ring;
	size_t sq_bytes, rq_bytes, cq_bytes;
	uint8_t *page;              /* the register page */
	struct bsn_be32 record[16]; /* QP: receive, send; the CQ's are from the ninth on */
	uint32_t cq_pi;             /* CQEs that the device wrote */
};

extern const struct bsn_remote remote;

struct fake *fake_create(const struct fake_attr *attr);
void fake_destroy(struct fake *f);
void fake_end(struct fake **f);

#define FAKE(...) fake_create(&(struct fake_attr){ __VA_ARGS__ })
#define OWNED     __attribute__((cleanup(fake_end))) /* destroyed where its block ends */

/* The two BlueFlame buffers. */
uint8_t *fake_buffer(const struct fake *f, unsigned which);

/* Words of the doorbell records, in host order. */
uint32_t fake_send_record(const struct fake *f);
uint32_t fake_recv_record(const struct fake *f);
uint32_t fake_cq_ci(const struct fake *f);

/* Moves an empty queue on, as if @pi blocks had been posted, rung and completed. */
void fake_seek(struct fake *f, uint32_t pi);

/* Where the device writes its next CQE proper; fake_produce() makes it one of ours. */
uint8_t *fake_next_cqe(const struct fake *f);
void fake_produce(struct fake *f, const struct bsn_cqe_tail *tail);

/* Whole CQEs: the owner bit is filled in. */
void fake_cqe_req(struct fake *f, struct bsn_cqe_req cqe);
void fake_cqe_resp(struct fake *f, struct bsn_cqe_resp cqe);
void fake_cqe_err(struct fake *f, struct bsn_cqe_err cqe);

/* The same, of the queue's own. */
#define fake_req(f, ...)  fake_cqe_req(f, (struct bsn_cqe_req){ .qpn = FAKE_QPN, __VA_ARGS__ })
#define fake_resp(f, ...) fake_cqe_resp(f, (struct bsn_cqe_resp){ .qpn = FAKE_QPN, __VA_ARGS__ })
#define fake_err(f, ...)  fake_cqe_err(f, (struct bsn_cqe_err){ .qpn = FAKE_QPN, __VA_ARGS__ })

/* A plain success of the WQE at @wqe_index. */
void fake_done(struct fake *f, uint32_t wqe_index, uint32_t wqe_opcode);

static inline struct bsn_wr write_of(const struct bsn_sge *sge, uint32_t count, unsigned flags)
{
	return (struct bsn_wr){
		0, sge, count, flags, remote, BSN_OPCODE_RDMA_WRITE, 0, 0, 0, NULL
	};
}

/* Where the @n-th CQE proper of the device is. */
static inline uint8_t *cqe_at(const struct fake *f, uint32_t n)
{
	const struct dv_cq *cq = dv_cq(f->cq);

	return (uint8_t *)(uintptr_t)cq->ring + (size_t)(n % cq->cqe_count) * cq->hot.stride;
}

/* The block at an index, and the control segment there. */
static inline uint8_t *block_at(const struct fake *f, uint32_t index)
{
	return f->sq_ring + (index & dv_sq(f->sq)->bb_mask) * BSN_BB_SIZE;
}

static inline struct bsn_ctrl ctrl_at(const struct fake *f, uint32_t index)
{
	struct bsn_ctrl ctrl;

	bsn_ctrl_decode(&ctrl, block_at(f, index));
	return ctrl;
}

/* Inline code polls one completion at once; the library polls several. */
static inline int fake_poll(struct fake *f, struct bsn_completion *c, int at_once)
{
	return at_once == 1 ? bsn_poll(f->cq, c, 1) : bsn_poll(f->cq, c, at_once);
}

/* Blocks that are shown as free, from the slot on. */
static inline uint32_t visible_bb(const struct bsn_sq *sq)
{
	return sq->room >= sq->slot ? (uint32_t)(sq->room - sq->slot) / BSN_BB_SIZE + 1 : 0;
}

/* Bytes that nothing has written. */
static inline void assert_poison(const uint8_t *at, size_t bytes)
{
	static uint8_t intact[FAKE_PAGE];

	if (!*intact)
		memset(intact, FAKE_POISON, sizeof(intact));
	assert_true(bytes <= sizeof(intact));
	assert_memory_equal(at, intact, bytes);
}

#endif
