/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A session has as many places in the ring as it has CQEs: the title is in place 0, arrays of eight
 * mini CQEs are in places 1, 8, 16, … (bsn_decode.h). It is expanded there into whole CQEs, which
 * are polled like any other. An array is copied before its place is overwritten.
 *
 * wqe/expand.c says what each field comes from. Here a CQE is bytes of the title and, from the mini
 * CQE, the length, a counter (if its format has one) and bytes of one other dword.
 */
#include <pthread.h>

#include "init.h"
#include "minis.h"

enum { FORMATS = BSN_MINI_CSUM_STRIDX + 1, DWORD = sizeof(uint32_t) };

struct recipe {
	uint8_t keep[BSN_CQE_SIZE]; /* 0xff: the byte is the title's; else 0 */
	bool counts;        /* minis have no counter: each CQE counts one more */
	size_t length_from; /* offsets in a mini */
	size_t counter_from;
	size_t other_from, other_to;
	uint32_t other_mask; /* which bytes come from the mini */
};

static struct recipe recipes[FORMATS][2];

static bool is_of_mini(const struct bsn_mini_map *map, size_t at)
{
	return map->from[at] < BSN_MINI_SIZE;
}

static void make_recipe(struct recipe *r, enum bsn_mini_format format, bool is_request)
{
	struct bsn_mini_map map;

	bsn_mini_map_init(&map, format, is_request);
	memcpy(r->keep, map.keep, sizeof(r->keep));
	r->counts = map.counts;
	r->length_from = map.from[BSN_CQE_BYTE_COUNT_OFFSET];
	r->counter_from = map.from[BSN_CQE_TAIL_OFFSET];
	while (r->other_to == BSN_CQE_BYTE_COUNT_OFFSET || !is_of_mini(&map, r->other_to))
		r->other_to += DWORD;
	r->other_from = map.from[r->other_to];
	for (size_t i = 0; i < DWORD; i++)
		if (is_of_mini(&map, r->other_to + i))
			((uint8_t *)&r->other_mask)[i] = 0xff;
}

static void make_recipes(void)
{
	for (int format = 0; format < FORMATS; format++)
		for (int is_request = 0; is_request < 2; is_request++)
			make_recipe(&recipes[format][is_request], (enum bsn_mini_format)format,
				    is_request);
}

void bsn_cq_set_compression(struct bsn_cq *cq, enum bsn_mini_format format)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, make_recipes);
	dv_cq(cq)->mini_format = (uint8_t)(format + 1);
}

static uint32_t dword_at(const uint8_t *at)
{
	uint32_t raw;

	memcpy(&raw, at, sizeof(raw));
	return raw;
}

/* What all CQEs of a session have in common. */
struct session {
	uint8_t *cqe; /* the first one's place */
	uint32_t count;
	uint32_t counter; /* of the first one */
};

/* Writes the CQE of one mini. */
BSN_ALWAYS_INLINE void put_cqe(const struct recipe *r, const uint8_t *base, const uint8_t *mini,
			       bool counts, uint32_t counter, uint8_t *cqe)
{
	const uint32_t length = dword_at(mini + r->length_from);
	const uint32_t other =
		dword_at(base + r->other_to) | (dword_at(mini + r->other_from) & r->other_mask);
	const struct bsn_be16 counted = bsn_to_be16((uint16_t)counter);

	memcpy(cqe, base, BSN_CQE_SIZE);
	memcpy(cqe + BSN_CQE_BYTE_COUNT_OFFSET, &length, sizeof(length));
	memcpy(cqe + r->other_to, &other, sizeof(other));
	memcpy(cqe + BSN_CQE_TAIL_OFFSET, counts ? (const void *)&counted : mini + r->counter_from,
	       sizeof(counted));
}

/*
 * @base: the title, without the bytes that come from minis
 * @r: a copy, so that the compiler keeps it in registers
 */
BSN_ALWAYS_INLINE void put_session(const struct bsn_cq *cq, struct recipe r, bool counts,
				   struct session s, uint8_t *base)
{
	const struct dv_cq *const whole = dv_cq(cq);
	uint8_t minis[BSN_CQE_SIZE + DWORD]; /* the last mini's dword may reach beyond it */
	const uint8_t *const end = minis + BSN_CQE_SIZE, *mini = end;
	const uint8_t *array =
		s.cqe + cq->stride == whole->ring_end ? whole->ring : s.cqe + cq->stride;

	for (; s.count; s.count--) {
		if (mini == end)
			mini = memcpy(minis, array, BSN_CQE_SIZE);
		put_cqe(&r, base, mini, counts, s.counter++, s.cqe);
		mini += BSN_MINI_SIZE;
		s.cqe += cq->stride;
		if (s.cqe == whole->ring_end) {
			s.cqe = (uint8_t *)(uintptr_t)whole->ring;
			base[BSN_CQE_OP_OWN_OFFSET] ^= 1; /* the next lap */
		}
		array = s.cqe;
	}
}

int bsn_cq_expand(struct bsn_cq *cq, const uint8_t *title, uint8_t phase)
{
	const struct dv_cq *const whole = dv_cq(cq);
	uint8_t base[BSN_CQE_SIZE];
	struct bsn_cqe_resp resp;
	struct bsn_cqe_tail tail;
	const struct recipe *r;
	struct session s;

	bsn_cqe_resp_decode(&resp, title);
	/* The titles of the basic layout that bsn_cqe_block_begin() accepts, that fit the ring. */
	if (!whole->mini_format || resp.opcode > BSN_CQE_RESP_SEND_INV ||
	    resp.format != BSN_CQE_COMPRESSED || !resp.byte_count ||
	    resp.byte_count > whole->cqe_count)
		return -EPROTO;
	s = (struct session){ (uint8_t *)(uintptr_t)title, resp.byte_count, resp.wqe_counter };
	r = &recipes[whole->mini_format - 1][resp.opcode == BSN_CQE_REQ];
	bsn_cqe_tail_decode(&tail, title + BSN_CQE_TAIL_OFFSET);
	tail.format = BSN_CQE_NO_INLINE;
	tail.owner = phase;
	memcpy(base, title, BSN_CQE_TAIL_OFFSET);
	bsn_cqe_tail_encode(base + BSN_CQE_TAIL_OFFSET, &tail);
	for (size_t i = 0; i < BSN_CQE_SIZE; i++)
		base[i] &= r->keep[i];
	if (r->counts)
		put_session(cq, *r, true, s, base);
	else
		put_session(cq, *r, false, s, base);
	return 0;
}
