/* SPDX-License-Identifier: BSD-2-Clause */
/* What the expansion of a session costs: tests/engine/more.py counts the instructions of each function here. */
#include "bed.h"

enum { TIMES = 16 };

/* By these names valgrind finds them. */
#define COUNTED __attribute__((noinline, visibility("default")))
int poll_whole(struct bsn_cq *cq, struct bsn_completion *c);
int poll_by_vectors(struct bsn_cq *cq, struct bsn_completion *c);
int poll_by_moves(struct bsn_cq *cq, struct bsn_completion *c);
int poll_ones_whole(struct bsn_cq *cq, struct bsn_completion *c);
int poll_ones_by_vectors(struct bsn_cq *cq, struct bsn_completion *c);
int poll_ones_by_moves(struct bsn_cq *cq, struct bsn_completion *c);

COUNTED int poll_whole(struct bsn_cq *cq, struct bsn_completion *c)
{
	return bsn_poll(cq, c, MOST);
}

COUNTED int poll_by_vectors(struct bsn_cq *cq, struct bsn_completion *c)
{
	return bsn_poll(cq, c, MOST);
}

COUNTED int poll_by_moves(struct bsn_cq *cq, struct bsn_completion *c)
{
	return bsn_poll(cq, c, MOST);
}

static int poll_ones(struct bsn_cq *cq, struct bsn_completion *c)
{
	int got = 0;

	while (got < MOST && bsn_poll(cq, &c[got], 1) == 1)
		got++;
	return got;
}

COUNTED int poll_ones_whole(struct bsn_cq *cq, struct bsn_completion *c)
{
	return poll_ones(cq, c);
}

COUNTED int poll_ones_by_vectors(struct bsn_cq *cq, struct bsn_completion *c)
{
	return poll_ones(cq, c);
}

COUNTED int poll_ones_by_moves(struct bsn_cq *cq, struct bsn_completion *c)
{
	return poll_ones(cq, c);
}

/* The session begins where the last one has left off; so its end goes round the ring now and then. */
static void run(int format, bool is_whole, int (*poll)(struct bsn_cq *cq, struct bsn_completion *c))
{
	struct bed b = make_bed(format, 256, 64, 128);
	struct bsn_completion c[MOST];

	for (unsigned times = 0; times < TIMES; times++) {
		post_all(&b);
		for (unsigned i = 0; is_whole && i < MOST; i++)
			complete_plain(&b);
		if (!is_whole)
			complete_session(&b, MOST);
		if (poll(b.f->cq, c) != MOST)
			abort();
		for (unsigned i = 0; i < MOST; i++)
			check_one(&b, &c[i]);
	}
	fake_destroy(b.f);
}

int main(void)
{
	static const int formats[] = { REQUESTS, BSN_MINI_HASH, BSN_MINI_CSUM, BSN_MINI_CSUM_STRIDX };

	for (unsigned i = 0; i < 4; i++) {
		run(formats[i], true, poll_whole);
		run(formats[i], true, poll_ones_whole);
		if (!bsn_expand_by(BSN_EXPAND_AVX2) && !bsn_expand_by(BSN_EXPAND_NEON))
			return 77;
		run(formats[i], false, poll_by_vectors);
		run(formats[i], false, poll_ones_by_vectors);
		bsn_expand_by(BSN_EXPAND_PLAIN);
		run(formats[i], false, poll_by_moves);
		run(formats[i], false, poll_ones_by_moves);
	}
	return 0;
}
