/* SPDX-License-Identifier: BSD-2-Clause */
/* bsn-perf dc on a device: its targets, and a pool of each policy. */
#include "dc.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../examples/ranks.h"

/* From shorter rings than the model's a pool does not read which streams were used. */
enum { KEY = 0x5eed, STREAMS_DEPTH = 64 };

struct dc_bench {
	struct bsn_device *device;
	struct bsn_cq *cq;
	struct bsn_rq *srq;
	struct bsn_mr *memory;
	struct bsn_dct **targets;
	uint32_t target_count;
	struct place *places; /* of all peers, whosever targets they are */
	uint32_t count;
	uint32_t bytes;
	struct ranks *ranks; /* NULL: this process is alone */
	struct bsn_dc_pool *pool; /* of the policy that is played */
	struct bsn_ep **peers;
	struct bsn_sge local;
};

/* What those know of a target that write to it. */
struct place {
	struct bsn_address address;
	struct bsn_remote memory;
};

static bool is_on_verbs(const struct dc_bench *b)
{
	return bsn_device_info(b->device)->path == BSN_PATH_VERBS;
}

/* -- what is there ----------------------------------------------------------------------------- */

static int make_targets(struct dc_bench *b, uint32_t count)
{
	struct bsn_dct_attr target = { .access_key = KEY };
	int err = bsn_cq_create(b->device, &(struct bsn_cq_attr){ .entries = count }, &b->cq);

	if (!err)
		err = bsn_srq_create(b->device, &(struct bsn_srq_attr){ .recv_depth = 1 }, &b->srq);
	if (!err)
		err = bsn_buf_alloc(b->device, 2 * (size_t)b->bytes, NULL, &b->memory);
	target.cq = b->cq;
	target.srq = b->srq;
	for (; !err && b->target_count < count; b->target_count += !err)
		err = bsn_dct_create(b->device, &target, &b->targets[b->target_count]);
	return err;
}

static int tell_place(const struct dc_bench *b, uint32_t number, struct place *place)
{
	memset(place, 0, sizeof(*place));
	place->memory.addr = b->memory->addr + b->bytes;
	place->memory.rkey = b->memory->rkey;
	return bsn_dct_address(b->targets[number], &place->address);
}

/* Of many processes each has one target; the peers of one are the others, its neighbour first. */
static int find_places(struct dc_bench *b)
{
	const unsigned count = b->ranks ? b->ranks->count : 1;
	struct place mine, *all = calloc(count, sizeof(*all));
	int err = all ? 0 : -ENOMEM;

	for (uint32_t p = 0; !err && !b->ranks && p < b->count; p++)
		err = tell_place(b, p, &b->places[p]);
	if (!err && b->ranks)
		err = tell_place(b, 0, &mine);
	if (err)
		err = complain_of(NULL, err);
	else if (b->ranks && ranks_exchange(b->ranks, &mine, sizeof(mine), all))
		err = complain("%s", ranks_error());
	for (uint32_t p = 0; !err && b->ranks && p < b->count; p++)
		b->places[p] = all[(b->ranks->rank + 1 + p) % count];
	free(all);
	return err;
}

int dc_bench_open(const struct dc_plan *plan, struct ranks *ranks, struct dc_bench **bench)
{
	const struct bsn_device_attr attr = { .path = BSN_PATH_AUTO };
	const uint32_t targets = ranks ? 1 : plan->crowd.peers;
	struct dc_bench *b = calloc(1, sizeof(*b));
	int err;

	if (!b)
		return complain("no memory");
	*bench = b;
	b->bytes = plan->bytes;
	b->count = plan->crowd.peers;
	b->ranks = ranks;
	b->targets = calloc(targets, sizeof(struct bsn_dct *));
	b->places = calloc(b->count, sizeof(*b->places));
	b->peers = calloc(b->count, sizeof(struct bsn_ep *));
	if (!b->targets || !b->places || !b->peers)
		return complain("no memory");
	err = perf_open_device(&attr, &b->device);
	if (err)
		return err;
	if (ranks && is_on_verbs(b))
		return complain("--local and --pmix need a device with DC: on plain verbs a target "
				"that waits connects nobody");
	err = make_targets(b, targets);
	if (err)
		return complain_of(NULL, err);
	return find_places(b);
}

void dc_bench_close(struct dc_bench *b)
{
	if (!b)
		return;
	while (b->target_count)
		bsn_dct_destroy(b->targets[--b->target_count]);
	bsn_srq_destroy(b->srq);
	bsn_cq_destroy(b->cq);
	bsn_buf_free(b->memory);
	bsn_device_close(b->device);
	free(b->targets);
	free(b->places);
	free(b->peers);
	free(b);
}

const struct bsn_device_info *dc_bench_device(const struct dc_bench *b)
{
	return bsn_device_info(b->device);
}

/* -- the stage --------------------------------------------------------------------------------- */

static int make_peer(void *arg, uint32_t number, void *user)
{
	struct dc_bench *b = arg;

	return bsn_dc_peer_create(b->pool, &b->places[number].address, NULL, user,
				  &b->peers[number]);
}

static int post_write(void *arg, uint32_t number, uint64_t id)
{
	const struct dc_bench *b = arg;

	return bsn_write(b->peers[number], &b->local, &b->places[number].memory, id,
			 BSN_F_SIGNALED | BSN_F_RING);
}

/* On plain verbs targets connect initiators that ask for it. */
static int poll_pool(void *arg, struct bsn_completion *c, int n)
{
	const struct dc_bench *b = arg;

	step();
	for (uint32_t t = 0; is_on_verbs(b) && t < b->target_count; t++)
		bsn_dct_accept(b->targets[t]);
	return bsn_poll(bsn_dc_pool_cq(b->pool), c, n);
}

static uint64_t read_clock(void *unused)
{
	(void)unused;
	return now_ns();
}

static void read_counters(void *arg, struct dc_figures *figures)
{
	bsn_dc_pool_counters(((const struct dc_bench *)arg)->pool, &figures->counters);
}

/* -- a run ------------------------------------------------------------------------------------- */

/*
 * Of all processes: their operations until the last one is done, what each needs for one, and the
 * longest waits.
 */
static void add_rank(struct dc_figures *to, const struct dc_figures *f)
{
#define OF_ALL(name, head, decimals, of_all) of_all,
	static const enum { SUM, MOST, LEAST } of_all[] = { DC_FIGURES(OF_ALL) };

	for (unsigned i = 0; i < DC_FIGURE_COUNT; i++)
		to->of[i] = of_all[i] == SUM    ? to->of[i] + f->of[i]
			    : of_all[i] == MOST ? fmax(to->of[i], f->of[i])
						: fmin(to->of[i], f->of[i]);
	to->counters.evictions += f->counters.evictions;
	to->counters.revocations += f->counters.revocations;
	to->counters.markers += f->counters.markers;
}

static int gather(struct ranks *ranks, struct dc_figures *figures)
{
	struct dc_figures *all = calloc(ranks->count, sizeof(*all));
	int err = !all || ranks_exchange(ranks, figures, sizeof(*figures), all);

	for (unsigned r = 0; !err && r < ranks->count; r++)
		if (r != ranks->rank)
			add_rank(figures, &all[r]);
	figures->operations_per_s *= ranks->count;
	figures->connects_per_operation /= ranks->count;
	figures->waits_per_operation /= ranks->count;
	free(all);
	return err ? complain("%s", all ? ranks_error() : "no memory") : 0;
}

static int play_on(struct dc_bench *b, const struct dc_plan *plan, struct dc_figures *figures)
{
	static const struct dc_stage stage = { make_peer, post_write, poll_pool, read_clock,
					       read_counters };

	if (b->ranks && ranks_wait(b->ranks))
		return complain("%s", ranks_error());
	if (dc_play(plan, &stage, b, figures))
		return complain("%s", figures->why_not);
	return b->ranks ? gather(b->ranks, figures) : 0;
}

int dc_bench_run(struct dc_bench *b, const struct dc_plan *plan, enum dc_policy policy,
		 struct dc_figures *figures)
{
	const bool is_short = plan->streams > 1 && plan->window < STREAMS_DEPTH;
	const struct bsn_dc_pool_attr attr = {
		.initiators = plan->initiators,
		.streams = plan->streams,
		.full_handshake = plan->full_handshake,
		.policy = dc_policy_of_pool(policy),
		.send_depth = is_short ? STREAMS_DEPTH : plan->window
	};
	int err = bsn_dc_pool_create(b->device, &attr, &b->pool);

	if (err) {
		snprintf(figures->why_not, sizeof(figures->why_not), "%s",
			 *bsn_error_text() ? bsn_error_text() : strerror(-err));
		return 0;
	}
	b->local = (struct bsn_sge){ b->memory->addr, plan->bytes, b->memory->lkey };
	err = play_on(b, plan, figures);
	for (uint32_t i = 0; i < b->count; i++) {
		if (b->peers[i])
			bsn_dc_peer_destroy(b->peers[i]);
		b->peers[i] = NULL;
	}
	bsn_dc_pool_destroy(b->pool);
	return err;
}
