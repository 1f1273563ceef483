/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Patterns of requests to many peers that share few initiators, and what the best choice would
 * cost.
 */
#ifndef DC_PATTERN_H
#define DC_PATTERN_H

#include <stdint.h>

/* Name on the command line, what it is. */
#define DC_PATTERNS(X)                                                                             \
	X(uniform, "any peer")                                                                     \
	X(zipf, "few peers have most requests: exponent 0.99")                                     \
	X(bursts, "eight in a row to one peer, which is as of zipf")                               \
	X(moving, "a set of peers, of which one changes every 1000 requests")                      \
	X(all_to_all, "one peer after the other")                                                  \
	X(incast, "all to one peer")

enum dc_pattern {
#define DC_PATTERN(name, doc) DC_PATTERN_##name,
	DC_PATTERNS(DC_PATTERN)
#undef DC_PATTERN
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
