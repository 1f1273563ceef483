/* SPDX-License-Identifier: BSD-2-Clause */
/* What the tests of completion queues share. */
#ifndef TESTS_DV_CQ_H
#define TESTS_DV_CQ_H

#include "fake.h"

static struct bsn_completion out[64];

static inline void post_write(struct fake *f, uint64_t id)
{
	ok(bsn_write(&f->ep, &(struct bsn_sge){ 0x2000, 8, 3 }, &remote, id,
		     BSN_F_SIGNALED | BSN_F_RING));
}

/* A request that is done at once. */
static inline void write_done(struct fake *f, uint64_t id)
{
	const uint32_t pi = f->sq->pi;

	post_write(f, id);
	fake_done(f, pi, BSN_OPCODE_RDMA_WRITE);
}

static inline int poll_by(struct fake *f, int at_once)
{
	return fake_poll(f, out, at_once);
}

/* There is one completion, of this id. */
static inline void poll_one(struct fake *f, int at_once, uint64_t id)
{
	assert_int_equal(poll_by(f, at_once), 1);
	assert_int_equal(out[0].id, id);
}

/* So many completions, of the ids from @first on. */
static inline void poll_several(struct fake *f, int at_once, uint64_t first, uint32_t count)
{
	for (uint32_t got = 0; got < count;) {
		const int n = poll_by(f, at_once);
		assert_in_range(n, 1, count - got);
		for (int i = 0; i < n; i++, got++)
			assert_int_equal(out[i].id, first + got);
	}
}

/* Whether polled CQEs may be kept from the device for a while; an attached CQ has none to spare. */
static inline bool has_spare(const struct fake *f)
{
	return dv_cq(f->cq)->spare > 0;
}

/*
 * Checks the consumer record after @polled CQEs, of which earlier polls took @began. The record is
 * never beyond @began, since the caller still reads what the last poll gave. It is never so far
 * behind that the device, which may not write the others, runs out of room.
 */
static inline void assert_record(const struct fake *f, uint32_t began, uint32_t polled)
{
	const uint32_t ci = fake_cq_ci(f);

	if (!has_spare(f)) {
		assert_int_equal(ci, polled & 0xffffff);
		return;
	}
	assert_true(((began - ci) & 0xffffff) <= began);
	assert_true(((polled - ci) & 0xffffff) <= dv_cq(f->cq)->spare);
}

/* The CQ looks at a route when it is added. */
static inline void add_again(struct fake *f)
{
	bsn_cq_remove(f->cq, FAKE_QPN);
	ok(bsn_cq_add(f->cq, FAKE_QPN, &dv_sq(f->sq)->route.hot));
}

/* Where the next receive goes. */
static inline uint16_t next_recv(const struct fake *f)
{
	return dv_rq(f->rq)->is_srq ? bsn_srq_of(f->rq)->next : f->rq->head;
}

static inline void post_recvs(struct fake *f, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		ok(bsn_recv(f->rq, &(struct bsn_sge){ 0x1000, 64, 1 }, 500 + i));
}

#endif
