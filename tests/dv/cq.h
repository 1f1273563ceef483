/* SPDX-License-Identifier: BSD-2-Clause */
/* What the tests of completion queues share. */
#ifndef TESTS_DV_CQ_H
#define TESTS_DV_CQ_H

#include "fake.h"

static const struct bsn_remote remote = { 0x1000, 2 };
static struct bsn_completion out[64];

static inline void post_write(struct fake *f, uint64_t id)
{
	const struct bsn_sge sge = { 0x2000, 8, 3 };

	assert_int_equal(bsn_write(&f->ep, &sge, &remote, id, BSN_F_SIGNALED | BSN_F_RING), 0);
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

static inline void post_recvs(struct fake *f, uint32_t count)
{
	const struct bsn_sge sge = { 0x1000, 64, 1 };

	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(bsn_recv(f->rq, &sge, 500 + i), 0);
}

#endif
