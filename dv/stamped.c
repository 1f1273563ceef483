/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Polls that tell when the device wrote each CQE. Other polls cost nothing more: this one calls the
 * inline poll for one completion at a time, and reads the stamp from the CQE of that completion.
 */
#include "bsn_cqe.h"
#include "init.h"

/* The last CQE that the poll consumed. */
static const uint8_t *last_of(const struct bsn_cq *cq)
{
	return (cq->next == dv_cq(cq)->ring ? dv_cq(cq)->ring_end : cq->next) - cq->stride;
}

/*
 * 0: there is none. A request without a CQE has no stamp, nor has a failed one: the CQE of an error
 * has syndromes in its place.
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

/*
 * Such a CQE must stay until the caller's next poll, so this completion is the last one of this
 * poll.
 */
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
