/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Patterns of requests to many peers that share few initiators, and what the best choice would
 * cost.
 */
#ifndef DC_PATTERN_H
#define DC_PATTERN_H

#include <stdint.h>

enum dc_pattern {
	DC_PATTERN_uniform,    /* any peer */
	DC_PATTERN_zipf,       /* few peers have most requests: exponent 0.99 */
	DC_PATTERN_bursts,     /* eight in a row to one peer, which is as of zipf */
	DC_PATTERN_moving,     /* a set of peers, of which one changes every 1000 requests */
	DC_PATTERN_all_to_all, /* one peer after the other */
	DC_PATTERN_incast,     /* all to one peer */
	DC_PATTERN_COUNT
};

extern const char *const dc_pattern_names[DC_PATTERN_COUNT];

/**
 * struct dc_crowd - the peers, and whom of them requests go to
 * @set: how many peers are in the set of "moving"
 * @listed, @listed_count: in place of a pattern these, over and over; NULL: none
 */
struct dc_crowd {
	enum dc_pattern pattern;
	uint32_t peers, set;
	uint64_t seed;
	const uint32_t *listed;
	uint32_t listed_count;
};

/* xorshift64*: Vigna, "An experimental exploration of Marsaglia's xorshift generators" */
static inline uint64_t dc_roll(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * UINT64_C(0x2545f4914f6cdd1d);
}

static inline uint32_t dc_roll_below(uint64_t *state, uint32_t n)
{
	return (uint32_t)((dc_roll(state) >> 32) * n >> 32);
}

/*
 * Draws one peer after the other: the same ones each time it begins. Nothing is kept of what was
 * drawn.
 */
struct dc_draws;

/* NULL: no memory. */
struct dc_draws *dc_draws_begin(const struct dc_crowd *crowd);
uint32_t dc_draw(struct dc_draws *draws);
void dc_draws_end(struct dc_draws *draws);

/**
 * dc_optimum - connections of a pool that knows all requests beforehand and is never busy: where no
 * slot is free, the peer that comes back last makes room (Belady)
 *
 * It draws all requests twice, and takes 4 bytes of memory for each.
 * Return: their number, or UINT64_MAX without memory.
 */
uint64_t dc_optimum(const struct dc_crowd *crowd, uint32_t count, uint32_t slots);

#endif
