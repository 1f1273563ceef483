/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Instructions of posts and polls beside UCX's dc_mlx5, on the same device. Bursts of WRITEs go to
 * one peer after the other, each when nothing is outstanding: the first request of a burst takes an
 * initiator (a miss), the others find it (hits).
 */
#ifndef PERF_DC_BURSTS_H
#define PERF_DC_BURSTS_H

#include "callgrind.h"
#include "dc_play.h"

enum dc_side_name { DC_SIDE_BUNSEN, DC_SIDE_UCX, DC_SIDES };
enum dc_way { DC_WAY_SGE, DC_WAY_INLINE, DC_WAYS };
enum dc_part { DC_PART_MISS, DC_PART_HIT, DC_PART_POLL, DC_PARTS };

enum { DC_PEERS = 64, DC_BURST = 8, DC_BURSTS = 48, DC_INLINE_BYTES = 8 };

extern const char *const dc_part_names[DC_PARTS];

/**
 * struct dc_side - who posts
 * @ways: what it calls its requests, of one piece of memory and of inline data
 * @open: to DC_PEERS peers, in a process that ends after that. Returns why it cannot; NULL: it is
 *	done
 * @put: false: it was refused
 * @poll: returns how many requests are done
 */
struct dc_side {
	const char *name, *ways[DC_WAYS];
	const char *(*open)(const char *device, const struct dc_plan *plan);
	bool (*put)(unsigned peer, enum dc_way way);
	unsigned (*poll)(void);
};

extern const struct dc_side dc_side_bunsen, dc_side_ucx;
extern const struct dc_side *const dc_sides[DC_SIDES];

/* Instructions of each request. */
struct dc_bursts {
	char why_not[96];                       /* "": it was counted */
	double empty;                           /* of a pair of marks */
	double instructions[DC_WAYS][DC_PARTS]; /* < 0: not there */
};

/* Under callgrind: plays and dumps all of a side. Returns why it does not; NULL: it did. */
const char *dc_bursts_play(const struct dc_side *side, const char *device,
			   const struct dc_plan *plan);

/* A dump of that, as a callgrind_take. @arg: struct dc_bursts */
void dc_bursts_take(void *arg, const struct callgrind_dump *dump);

#endif
