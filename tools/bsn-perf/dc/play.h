/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program that bsn-perf dc plays: a window of requests to many peers that share few initiators,
 * of which each goes to the peer that the pattern draws; and what the best choice would cost. It
 * knows a pool's peers and its polls, not whether they are on a device or on a model of time.
 */
#ifndef DC_PLAY_H
#define DC_PLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "bsn_dc.h"

/* -- whom requests go to (pattern.c) ----------------------------------------------------------- */

/* What they are, bsn-perf(1) says. */
enum dc_pattern {
	DC_PATTERN_uniform, DC_PATTERN_zipf, DC_PATTERN_bursts, DC_PATTERN_moving,
	DC_PATTERN_all_to_all, DC_PATTERN_incast, DC_PATTERN_COUNT
};

extern const char *const dc_pattern_names[DC_PATTERN_COUNT];

/**
 * struct dc_crowd - the peers, and whom of them requests go to
 * @listed, @listed_count: in place of a pattern these, over and over; NULL: none
 */
struct dc_crowd {
	enum dc_pattern pattern;
	uint32_t peers;
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

/* Draws one peer after the other: the same ones each time it begins. NULL: no memory. */
struct dc_draws *dc_draws_begin(const struct dc_crowd *crowd);
uint32_t dc_draw(struct dc_draws *draws);
void dc_draws_end(struct dc_draws *draws);

/**
 * dc_optimum - connections of a pool that knows all requests beforehand and is never busy: where no
 * slot is free, the peer that comes back last makes room (Belady)
 *
 * It takes 4 bytes of memory for each request.
 * Return: their number, or UINT64_MAX without memory.
 */
uint64_t dc_optimum(const struct dc_crowd *crowd, uint32_t count, uint32_t slots);

/* -- playing (play.c) -------------------------------------------------------------------------- */

/* How initiators are chosen: by the pool's own policies, and by UCX's, which only the model has. */
enum dc_policy {
	DC_POLICY_lru, DC_POLICY_hashed, DC_POLICY_dcs, DC_POLICY_dcs_quota, DC_POLICY_COUNT
};

extern const char *const dc_policy_names[DC_POLICY_COUNT];

static inline enum bsn_dc_policy dc_policy_of_pool(enum dc_policy policy)
{
	return policy == DC_POLICY_hashed ? BSN_DC_HASHED : BSN_DC_LRU;
}

/**
 * struct dc_plan - what is played, by each policy
 * @full_handshake: each connection is one, as in struct bsn_dc_pool_attr
 * @connect_ns: what the model takes to connect: a stream that goes to another target than before
 *	waits until all is answered that it has outstanding, and then so much longer. UCX adds 60 ns
 *	to a DC latency for the packet that connects and its completion
 *	(src/uct/ib/mlx5/dc/dc_mlx5.c), and 140 ns where a full handshake is on; a maintainer has
 *	measured 2.7 us for the latter
 * @window: requests that are outstanding or wait, at any time
 * @operations: in all
 * @bytes: of each
 */
struct dc_plan {
	struct dc_crowd crowd;
	uint32_t initiators, streams, window, operations, bytes, connect_ns;
	bool full_handshake;
};

/*
 * X(name, its head in the table, or NULL, and decimals there, what of many processes is theirs)
 * fairness: Jain's index of how long the peers' requests took on average, in requests that were
 *	done meanwhile, whoever's; 1: all alike
 * wait_..._operations: that others got done meanwhile
 */
#define DC_FIGURES(X)                                                                              \
	X(operations_per_s, "op/s", 0, LEAST)                                                      \
	X(connects_per_operation, "connects", 3, SUM)                                              \
	X(waits_per_operation, "waits", 3, SUM)                                                    \
	X(wait_p50_us, "p50 us", 1, MOST)                                                          \
	X(wait_p99_us, "p99 us", 1, MOST)                                                          \
	X(wait_max_us, "max us", 1, MOST)                                                          \
	X(wait_p99_operations, NULL, 0, MOST)                                                      \
	X(wait_max_operations, NULL, 0, MOST)                                                      \
	X(request_p50_us, NULL, 0, MOST)                                                           \
	X(request_p99_us, NULL, 0, MOST)                                                           \
	X(fairness, "fairness", 3, LEAST)
#define DC_FIGURE(name, ...)       double name;
#define DC_FIGURE_INDEX(name, ...) DC_FIGURE_##name,
enum { DC_FIGURES(DC_FIGURE_INDEX) DC_FIGURE_COUNT };

/**
 * struct dc_figures - what came of it
 * @taken_early: connections to another target while a request to the one before was outstanding:
 *	never; known of the model alone
 * @device_counts: connections are the device's, not what the pool bound
 * @why_not: what was refused, or went wrong
 */
struct dc_figures {
	bool is_wanted, is_there, device_counts;
	char why_not[256];
	union {
		double of[DC_FIGURE_COUNT];
		struct {
			DC_FIGURES(DC_FIGURE)
		};
	};
	uint64_t taken_early;
	struct bsn_dc_counters counters;
};

/**
 * struct dc_stage - a pool, and what it runs on: @arg of each
 * @peer: makes a peer, whose completions have @user: 0 or a negative errno, and bsn_error_text()
 *	may say why
 * @post: a signaled WRITE to it, of plan->bytes, whose @id is below plan->window: 0, -EAGAIN: it
 *	waits, or a negative errno
 * @poll: as bsn_poll(), after what the device does by itself in a while
 * @counters: those of the pool, and @taken_early
 */
struct dc_stage {
	int (*peer)(void *arg, uint32_t number, void *user);
	int (*post)(void *arg, uint32_t number, uint64_t id);
	int (*poll)(void *arg, struct bsn_completion *c, int n);
	uint64_t (*now_ns)(void *arg);
	void (*counters)(void *arg, struct dc_figures *figures);
};

/* Plays the plan: 0; or -EIO, -ETIMEDOUT or -ENOMEM, with why_not. */
int dc_play(const struct dc_plan *plan, const struct dc_stage *stage, void *arg,
	    struct dc_figures *figures);

/* -- on a model (model.c) ---------------------------------------------------------------------- */

/*
 * What the model takes beside plan->connect_ns: from the begin of a request to its answer, at the
 * least: twice the 600 ns that UCX takes for one way from EDR on (src/uct/ib/base/ib_iface.c);
 * beyond that, any time up to the next one, and from the begin of an initiator's request to that of
 * the next: both are assumed.
 */
enum { DC_CONNECT_NS = 60, DC_ANSWER_NS = 1200, DC_RANDOM_NS = 500, DC_ISSUE_NS = 50 };

/*
 * Plays the plan by one policy: as dc_play(), or -EINVAL: it cannot be. Random times are of the
 * plan's seed.
 */
int dc_simulate(const struct dc_plan *plan, enum dc_policy policy, struct dc_figures *figures);

#endif
