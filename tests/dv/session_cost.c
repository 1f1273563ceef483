/* SPDX-License-Identifier: BSD-2-Clause */
/* What the expansion of a session costs: tests/engine/more.py counts the instructions of each function here. */
#include "bed.h"

enum { TIMES = 16 };

/* Polls of each format are functions of their own, by whose names valgrind finds them. */
#define COUNTED __attribute__((noinline, visibility("default")))
#define FORMATS(X) X(basic, REQUESTS) X(hash, BSN_MINI_HASH) X(csum, BSN_MINI_CSUM) X(stridx, BSN_MINI_CSUM_STRIDX)
#define WAYS(X, name) X(name, whole) X(name, by_vectors) X(name, by_moves)

static int poll_many(struct bsn_cq *cq, struct bsn_completion *c)
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

#define DEFINE_POLLS(name, way)                                                                    \
	int poll_##way##_##name(struct bsn_cq *cq, struct bsn_completion *c);                      \
	int poll_ones_##way##_##name(struct bsn_cq *cq, struct bsn_completion *c);                 \
	COUNTED int poll_##way##_##name(struct bsn_cq *cq, struct bsn_completion *c)               \
	{                                                                                          \
		return poll_many(cq, c);                                                            \
	}                                                                                          \
	COUNTED int poll_ones_##way##_##name(struct bsn_cq *cq, struct bsn_completion *c)          \
	{                                                                                          \
		return poll_ones(cq, c);                                                           \
	}
#define DEFINE_FORMAT(name, format) WAYS(DEFINE_POLLS, name)

FORMATS(DEFINE_FORMAT)

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

struct polls {
	int (*all)(struct bsn_cq *cq, struct bsn_completion *c);
	int (*ones)(struct bsn_cq *cq, struct bsn_completion *c);
};

#define POLLS_OF(name, way) .way = { poll_##way##_##name, poll_ones_##way##_##name },
#define FORMAT_OF(name, number) { .format = number, WAYS(POLLS_OF, name) },

static const struct {
	int format;
	struct polls whole, by_vectors, by_moves;
} formats[] = { FORMATS(FORMAT_OF) };

static void run_both(int format, bool is_whole, const struct polls *polls)
{
	run(format, is_whole, polls->all);
	run(format, is_whole, polls->ones);
}

int main(void)
{
	for (unsigned i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
		run_both(formats[i].format, true, &formats[i].whole);
		if (!bsn_expand_by(BSN_EXPAND_AVX2) && !bsn_expand_by(BSN_EXPAND_NEON))
			return 77;
		run_both(formats[i].format, false, &formats[i].by_vectors);
		bsn_expand_by(BSN_EXPAND_PLAIN);
		run_both(formats[i].format, false, &formats[i].by_moves);
	}
	return 0;
}
