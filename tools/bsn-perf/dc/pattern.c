/* SPDX-License-Identifier: BSD-2-Clause */
#include "play.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BURST = 8, MOVES_EVERY = 1000, SET = 8 };
#define EXPONENT 0.99

const char *const dc_pattern_names[DC_PATTERN_COUNT] = {
	"uniform", "zipf", "bursts", "moving", "all_to_all", "incast"
};

struct dc_draws {
	struct dc_crowd of;
	uint64_t state;
	uint32_t drawn, last; /* how many; the last one */
	double *shares;       /* of peers by zipf, summed up; NULL: not wanted */
	uint32_t set[SET];    /* of "moving" */
};

static uint32_t any_below(struct dc_draws *d, uint32_t n)
{
	return dc_roll_below(&d->state, n);
}

static void share_out(struct dc_draws *d)
{
	double sum = 0;

	for (uint32_t p = 0; p < d->of.peers; p++)
		d->shares[p] = sum += pow(p + 1, -EXPONENT);
}

/* The first peer whose sum is beyond a point. */
static uint32_t by_zipf(struct dc_draws *d)
{
	const double at = (double)(dc_roll(&d->state) >> 11) * 0x1p-53 * d->shares[d->of.peers - 1];
	uint32_t low = 0, high = d->of.peers - 1;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (d->shares[middle] > at)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

struct dc_draws *dc_draws_begin(const struct dc_crowd *crowd)
{
	const bool has_shares = !crowd->listed && (crowd->pattern == DC_PATTERN_zipf ||
						   crowd->pattern == DC_PATTERN_bursts);
	struct dc_draws *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->of = *crowd;
	d->state = crowd->seed ? crowd->seed : 1;
	d->shares = has_shares ? malloc(crowd->peers * sizeof(*d->shares)) : NULL;
	if (has_shares && !d->shares) {
		free(d);
		return NULL;
	}
	if (d->shares)
		share_out(d);
	for (uint32_t i = 0; crowd->pattern == DC_PATTERN_moving && i < SET; i++)
		d->set[i] = any_below(d, crowd->peers);
	return d;
}

void dc_draws_end(struct dc_draws *d)
{
	if (!d)
		return;
	free(d->shares);
	free(d);
}

static uint32_t by_moving(struct dc_draws *d, uint32_t i)
{
	if (i % MOVES_EVERY == MOVES_EVERY - 1)
		d->set[any_below(d, SET)] = any_below(d, d->of.peers);
	return d->set[any_below(d, SET)];
}

static uint32_t draw_one(struct dc_draws *d, uint32_t i)
{
	if (d->of.listed)
		return d->of.listed[i % d->of.listed_count];
	switch (d->of.pattern) {
	case DC_PATTERN_zipf:
		return by_zipf(d);
	case DC_PATTERN_bursts:
		return i % BURST ? d->last : by_zipf(d);
	case DC_PATTERN_moving:
		return by_moving(d, i);
	case DC_PATTERN_all_to_all:
		return i % d->of.peers;
	case DC_PATTERN_incast:
		return 0;
	default:
		return any_below(d, d->of.peers);
	}
}

uint32_t dc_draw(struct dc_draws *d)
{
	return d->last = draw_one(d, d->drawn++);
}

#define NEVER UINT32_MAX

/* Of each request, the next one to its peer. @seen: of each peer, its last request so far */
static int find_returns(const struct dc_crowd *crowd, uint32_t count, uint32_t *later,
			uint32_t *seen)
{
	struct dc_draws *draws = dc_draws_begin(crowd);

	memset(seen, 0xff, crowd->peers * sizeof(*seen));
	for (uint32_t i = 0; draws && i < count; i++) {
		const uint32_t peer = dc_draw(draws);

		if (seen[peer] != NEVER)
			later[seen[peer]] = i;
		seen[peer] = i;
		later[i] = NEVER;
	}
	dc_draws_end(draws);
	return draws ? 0 : -1;
}

/*
 * A set of numbers, as a tree of words: each bit tells whether there is anything in its branch. The
 * branches of word w are 64 w + 1 to 64 w + 64; number n is leaf @leaves + n, which has no word.
 */
struct set {
	uint64_t *words;
	size_t leaves;
};

static void put_in(struct set *s, uint32_t number)
{
	for (size_t at = s->leaves + number; at--; at /= 64)
		s->words[at / 64] |= 1ull << at % 64;
}

/* Whether it was there. */
static bool take_out(struct set *s, uint32_t number)
{
	size_t at = s->leaves + number - 1;
	const bool was_there = s->words[at / 64] >> at % 64 & 1;

	while (!(s->words[at / 64] &= ~(1ull << at % 64)) && at >= 64)
		at = at / 64 - 1;
	return was_there;
}

static uint32_t greatest_of(const struct set *s)
{
	size_t at = 0;

	while (at < s->leaves)
		at = 64 * at + 64 - (size_t)__builtin_clzll(s->words[at]);
	return (uint32_t)(at - s->leaves);
}

/* @back: the requests with which the peers come back that have a slot; some never do */
static uint64_t count_connects(const uint32_t *later, uint32_t count, struct set *back,
			       uint32_t slots)
{
	uint64_t connects = 0;
	uint32_t gone = 0;

	for (uint32_t i = 0; i < count; i++) {
		if (!take_out(back, i) && connects++ >= slots) {
			if (gone)
				gone--;
			else
				take_out(back, greatest_of(back));
		}
		if (later[i] == NEVER)
			gone++;
		else
			put_in(back, later[i]);
	}
	return connects;
}

uint64_t dc_optimum(const struct dc_crowd *crowd, uint32_t count, uint32_t slots)
{
	uint32_t *later = malloc(((size_t)count + 1) * sizeof(*later));
	uint32_t *seen = malloc(crowd->peers * sizeof(*seen));
	struct set back = { .leaves = 1 };
	uint64_t connects = UINT64_MAX;

	for (size_t most = 64; most < count; most *= 64)
		back.leaves += most;
	back.words = calloc(back.leaves, sizeof(*back.words));
	if (back.words && later && seen && !find_returns(crowd, count, later, seen))
		connects = count_connects(later, count, &back, slots);
	free(back.words);
	free(later);
	free(seen);
	return connects;
}
