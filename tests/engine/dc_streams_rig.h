/* SPDX-License-Identifier: BSD-2-Clause */
/* What tests of streams have in common. */
#ifndef TESTS_ENGINE_DC_STREAMS_RIG_H
#define TESTS_ENGINE_DC_STREAMS_RIG_H

#include "dc_rig.h"

#include "bsn_syndrome.h"
#include "nic/error.h"
#include "nic/process.h"
#include "nic/tables.h"

static inline struct bsn_ctrl ctrl_at(const struct bsn_sq *sq, uint16_t index)
{
	struct bsn_ctrl ctrl;

	bsn_ctrl_decode(&ctrl,
			dv_sq(sq)->ring + (size_t)(index & dv_sq(sq)->bb_mask) * BSN_BB_SIZE);
	return ctrl;
}

/* The last WRITE in the queue of a peer's initiator: of one block, or of two on RoCE. */
static inline struct bsn_ctrl last_of(struct rig *r, int p)
{
	const struct bsn_sq *sq = r->ep[p]->sq;

	return ctrl_at(sq, (uint16_t)(sq->pi - (r->b->test->link == CX_LINK_ROCE ? 2 : 1)));
}

static inline void expect_completion(struct rig *r, int p, uint64_t id, enum ibv_wc_status status)
{
	int found = -1;

	for (int k = 0; k < r->count; k++)
		if (r->done[k].user == &r->user[p] && r->done[k].id == id)
			found = k;
	assert_true(found >= 0);
	assert_int_equal(r->done[found].status, status);
}

/* -- at random --------------------------------------------------------------------------------- */

#define ON_DIRECT BARE, DIRECT, OWN, MODEL

#endif
