/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Polls that tell when the device wrote each CQE. Others pay nothing for it: such a CQ polls one
 * completion after the other, by the inline code, and looks at the CQE that it came of.
 */
#include "bsn_cqe.h"
#include "init.h"

/* The CQE that a poll was done with last. */
static const uint8_t *last_of(const struct bsn_cq *cq)
{
	return (cq->next == cq->ring ? cq->ring_end : cq->next) - cq->stride;
}

/*
 * A request that succeeds without a CQE, or fails, has no stamp: the CQE of an error has syndromes
 * in its place.
 */
static uint64_t stamp_of(const struct bsn_cq *cq, const uint8_t *before,
			 const struct bsn_completion *c)
{
	struct bsn_cqe_req cqe;

	if (c->status || cq->next == before)
		return 0;
	bsn_cqe_req_decode(&cqe, last_of(cq));
	return cqe.timestamp;
}

/* What is in a CQE is kept until the next poll: so this is the last one of this poll. */
static bool points_into_cqe(const struct bsn_completion *c)
{
	return !c->status && c->flags & BSN_C_IN_CQE;
}

int bsn_cq_poll_stamped(struct bsn_cq *cq, struct bsn_completion *c, int n)
{
	int got = 0, one = 0;

	while (got < n && !(got && points_into_cqe(&c[got - 1]))) {
		const uint8_t *const before = cq->next;

		one = bsn_cq_poll(cq, &c[got], 1);
		if (one <= 0)
			break;
		c[got].timestamp = stamp_of(cq, before, &c[got]);
		got++;
	}
	return got ? got : one;
}
