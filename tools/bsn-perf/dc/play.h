/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program that bsn-perf dc plays: a window of requests, of which each goes to the peer that the
 * pattern draws. It knows a pool's peers and its polls, not whether they are on a device or on a
 * model of time.
 */
#ifndef DC_PLAY_H
#define DC_PLAY_H

#include <stdbool.h>

#include "bsn_dc.h"
#include "pattern.h"

/*
 * How initiators are chosen: the pool's own policies (enum bsn_dc_policy), and UCX's, which only
 * the model has.
 */
enum dc_policy {
	DC_POLICY_lru,
	DC_POLICY_hashed,
	DC_POLICY_dcs,
	DC_POLICY_dcs_quota,
	DC_POLICY_COUNT
};

extern const char *const dc_policy_names[DC_POLICY_COUNT];

/**
 * struct dc_plan - what is played, by each policy
 * @full_handshake: each connection is one, as in struct bsn_dc_pool_attr
 * @window: requests that are outstanding or wait, at any time
 * @operations: in all
 * @bytes: of each
 */
struct dc_plan {
	struct dc_crowd crowd;
	uint32_t initiators, streams, window, operations, bytes;
	bool full_handshake;
};

/**
 * struct dc_figures - what came of it
 * @connects: of each operation
 * @fairness: Jain's index of how long the peers' requests took on average, in requests that were
 *	done meanwhile, whoever's; 1: all alike
 * @wait_p99_operations, @wait_max_operations: that others got done meanwhile
 * @taken_early: connections to another target while a request to the one before was outstanding:
 *	never; known of the model alone
 * @device_counts: @connects are the device's, not what the pool bound
 * @why_not: what was refused, or went wrong
 */
struct dc_figures {
	bool is_wanted, is_there, device_counts;
	char why_not[256];
	double operations_per_s, connects, waits, fairness;
	double wait_p50_us, wait_p99_us, wait_max_us;
	double wait_p99_operations, wait_max_operations;
	double request_p50_us, request_p99_us;
	uint64_t taken_early;
	struct bsn_dc_counters counters;
};

/**
 * struct dc_stage - a pool, and what it runs on
 * @peer: makes a peer, whose completions have @user: 0 or a negative errno, and bsn_error_text()
 *	may say why
 * @post: a signaled WRITE to it, of plan->bytes, whose @id is below plan->window: 0, -EAGAIN: it
 *	waits, or a negative errno
 * @poll: as bsn_poll(), after what the device does by itself in a while
 * @counters: those of the pool, and @taken_early
 */
struct dc_stage {
	void *arg;
	int (*peer)(void *arg, uint32_t number, void *user);
	int (*post)(void *arg, uint32_t number, uint64_t id);
	int (*poll)(void *arg, struct bsn_completion *c, int n);
	uint64_t (*now_ns)(void *arg);
	void (*counters)(void *arg, struct dc_figures *figures);
};

/* Plays the plan: 0; or -EIO, -ETIMEDOUT or -ENOMEM, with why_not. */
int dc_play(const struct dc_plan *plan, const struct dc_stage *stage, struct dc_figures *figures);

#endif
