/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a receive costs that is posted to an SRQ with fifteen others, the call and the ring's end included:
 * tests/engine/more.py counts its instructions.
 */
#include "fake.h"
#include "init.h"

enum { SLOTS = 1024, EACH = 16, LAPS = 4 };

/* By these names valgrind finds them. */
#define COUNTED __attribute__((noinline, visibility("default")))
#define DEFINE_POST(name, body)                                                                    \
	int name(struct bsn_rq *rq, const struct bsn_sge *sge, const uint64_t *ids);               \
	COUNTED int name(struct bsn_rq *rq, const struct bsn_sge *sge, const uint64_t *ids)        \
	{                                                                                          \
		body;                                                                              \
	}

DEFINE_POST(nothing, (void)rq; (void)sge; (void)ids; return EACH)
DEFINE_POST(by_words, return bsn_recv_many(rq, sge, ids, EACH))
DEFINE_POST(by_16, return bsn_recv_many(rq, sge, ids, EACH))
DEFINE_POST(by_32, return bsn_recv_many(rq, sge, ids, EACH))

/* Whole laps; all come back in order. */
static void run(enum bsn_srq_way widest, int (*post)(struct bsn_rq *, const struct bsn_sge *, const uint64_t *))
{
	const struct fake_attr attr = { .is_srq = true, .recv_count = SLOTS, .recv_stride = 32 };
	struct bsn_sge sge[EACH];
	uint64_t ids[EACH], id;
	struct fake *f;

	bsn_srq_widest = widest;
	f = fake_create(&attr);
	for (unsigned i = 0; i < EACH; i++) {
		sge[i] = (struct bsn_sge){ 0x1000 * i, 8, i };
		ids[i] = i;
	}
	for (unsigned at = 0; at < LAPS * SLOTS; at += EACH) {
		if (post(f->rq, sge, ids) != EACH)
			abort();
		for (unsigned i = 0; i < EACH && post != nothing; i++)
			bsn_rq_give_back(f->rq, (at + i) % SLOTS, &id);
	}
	fake_destroy(f);
}

int main(void)
{
	run(BSN_SRQ_BY_WORDS, nothing);
	run(BSN_SRQ_BY_WORDS, by_words);
	run(BSN_SRQ_BY_16, by_16);
	run(BSN_SRQ_BY_32, by_32);
	return 0;
}
