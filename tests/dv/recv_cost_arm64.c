/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Posts receives, sixteen at a time, for so many laps of a ring of 64, or does nothing as often:
 * recv_cost_arm64.py counts the instructions of both.
 */
#include "fake.h"

enum { SLOTS = 64, EACH = 16 };

int main(int argc, char **argv)
{
	struct fake *f = fake_create(&(struct fake_attr){ .recv_count = SLOTS, .recv_stride = 16 });
	const unsigned laps = argc == 3 ? (unsigned)atoi(argv[2]) : 0;
	const bool posts = argc == 3 && !strcmp(argv[1], "post");
	struct bsn_sge sge[EACH];
	uint64_t ids[EACH];

	for (unsigned i = 0; i < EACH; i++) {
		sge[i] = (struct bsn_sge){ 0x1000 * i, 8, i };
		ids[i] = i;
	}
	for (unsigned n = 0; n < laps * (SLOTS / EACH); n++) {
		BSN_HIDE(f);
		if (posts && bsn_recv_many(f->rq, sge, ids, EACH) != EACH)
			abort();
		f->rq->tail += EACH; /* all are done */
	}
	fake_destroy(f);
	return 0;
}
