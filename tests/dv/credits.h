/* SPDX-License-Identifier: BSD-2-Clause */
/* What the tests of free blocks and of signals share. */
#ifndef TESTS_DV_CREDITS_H
#define TESTS_DV_CREDITS_H

#include "cq.h"
#include "sq.h"

static struct bsn_sge many[14];

/* Posts a WRITE of this many blocks, by the short way if there is one. */
static inline int post_blocks(struct fake *f, uint32_t blocks, uint64_t id, unsigned flags)
{
	struct bsn_wr wr = write_of(many, 4 * blocks - 2, flags);

	wr.id = id;
	for (uint32_t i = 0; i < 14; i++)
		many[i] = (struct bsn_sge){ 0x1000, 8, 1 };
	if (blocks == 1)
		return bsn_write(&f->ep, many, &remote, id, flags);
	return bsn_post(&f->ep, &wr);
}

static inline bool is_hidden(const struct fake *f, uint32_t index)
{
	return dv_sq(f->sq)->hidden[index & dv_sq(f->sq)->bb_mask] == BSN_HIDDEN_SUCCESS;
}

#endif
