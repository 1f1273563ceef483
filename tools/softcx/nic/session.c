/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Basic layout (bsn_decode.h): the title at index 0, arrays at 1, 8, 16, ... after it. Which CQEs a
 * ConnectX compresses together is unknown. The model takes those that a session holds without a
 * loss, except for the timestamp, which is the first one's.
 */
#include "session.h"

#include <string.h>

#include "minis.h"
#include "plan.h"

enum { FORMATS = BSN_MINI_CSUM_STRIDX + 1 };

static struct bsn_mini_map maps[FORMATS][2];
static bool are_prepared;

void cx_session_prepare(void)
{
	if (are_prepared)
		return;
	for (int format = 0; format < FORMATS; format++)
		for (int is_request = 0; is_request < 2; is_request++)
			bsn_mini_map_init(&maps[format][is_request], (enum bsn_mini_format)format,
					  is_request);
	are_prepared = true;
}

static const struct bsn_mini_map *map_of(const struct cx_cq *cq, const uint8_t *cqe)
{
	struct bsn_cqe_tail tail;

	bsn_cqe_tail_decode(&tail, cqe + BSN_CQE_TAIL_OFFSET);
	if (tail.opcode > BSN_CQE_RESP_SEND_INV || tail.format != BSN_CQE_NO_INLINE)
		return NULL;
	return &maps[cq->attr.mini_format][tail.opcode == BSN_CQE_REQ];
}

static uint16_t counter_of(const uint8_t *cqe)
{
	struct bsn_cqe_tail tail;

	bsn_cqe_tail_decode(&tail, cqe + BSN_CQE_TAIL_OFFSET);
	return (uint16_t)tail.wqe_counter;
}

/* Compares all but the timestamp. */
static bool are_equal(const uint8_t *a, const uint8_t *b)
{
	const size_t stamp = bsn_row_offset(bsn_row_find(&bsn_cqe_req_desc, "timestamp"));

	return !memcmp(a, b, stamp) &&
	       !memcmp(a + stamp + 8, b + stamp + 8, BSN_CQE_SIZE - stamp - 8);
}

bool cx_session_join(struct cx_cq *cq, const uint8_t *cqe)
{
	struct cx_session *s = &cq->session;
	const struct bsn_mini_map *map = map_of(cq, cqe);
	uint8_t mini[BSN_MINI_SIZE], whole[BSN_CQE_SIZE];

	if (!s->count || s->count == s->limit || !map || map != map_of(cq, s->title))
		return false;
	bsn_mini_take(map, cqe, mini);
	bsn_mini_put(map, s->title, mini, (uint16_t)(counter_of(s->title) + s->count), whole);
	if (!are_equal(whole, cqe))
		return false;
	memcpy(s->minis[s->count++], mini, sizeof(mini));
	return true;
}

/* 1: none. */
static unsigned next_length(struct cx_fault_plan *plan)
{
	return plan && plan->length_count ? plan->lengths[plan->next_length++ % plan->length_count]
					  : 1;
}

bool cx_session_begin(struct cx_hca *hca, struct cx_cq *cq, const uint8_t *cqe)
{
	const unsigned limit = next_length(hca->faults);
	struct cx_session *s = &cq->session;

	if (limit < 2 || !map_of(cq, cqe))
		return false;
	s->count = 0;
	s->limit = (uint8_t)limit;
	memcpy(s->title, cqe, sizeof(s->title));
	s->count = 1;
	bsn_mini_take(map_of(cq, cqe), cqe, s->minis[0]);
	return true;
}

bool cx_session_next(const struct cx_cq *cq, unsigned *step, uint8_t *buf, unsigned *slot)
{
	const struct cx_session *s = &cq->session;
	const unsigned first = *step * BSN_MINI_BASIC_MOST;
	struct bsn_cqe_tail tail;

	if (s->count > 1 && first < s->count) {
		const unsigned left = s->count - first;

		memset(buf, 0, BSN_CQE_SIZE);
		memcpy(buf, s->minis[first],
		       (left < BSN_MINI_BASIC_MOST ? left : BSN_MINI_BASIC_MOST) * BSN_MINI_SIZE);
		*slot = first ? first : 1;
		++*step;
		return true;
	}
	memcpy(buf, s->title, BSN_CQE_SIZE);
	*slot = 0;
	if (s->count > 1) {
		bsn_row_put(bsn_row_find(&bsn_cqe_resp_desc, "byte_count"), buf, s->count);
		bsn_cqe_tail_decode(&tail, buf + BSN_CQE_TAIL_OFFSET);
		tail.format = BSN_CQE_COMPRESSED;
		bsn_cqe_tail_encode(buf + BSN_CQE_TAIL_OFFSET, &tail);
	}
	return false;
}
