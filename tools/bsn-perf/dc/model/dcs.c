/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * UCX's policies, to compare with (src/uct/ib/mlx5/dc/dc_mlx5.h, enum uct_dc_tx_policy). A peer
 * takes the initiator that was given up last, and gives it up when all its requests are done. By
 * dcs it keeps it as long as it goes on posting; by dcs_quota it waits in line, too, once it has
 * QUOTA requests outstanding and others wait. A stream counts as an initiator.
 */
#include "model.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/queue.h>

enum { QUOTA = 32 };

#define NOBODY UINT32_MAX

struct slot {
	uint32_t peer;        /* NOBODY: it is free */
	uint32_t last;        /* peer */
	uint32_t outstanding; /* requests */
};

struct peer {
	void *user;
	uint32_t slot; /* NOBODY */
	bool waits;
	TAILQ_ENTRY(peer) next; /* in line */
};

/* @slot_of: of requests, by id, which is the device's tag */
struct dcs {
	struct dc_device device; /* first */
	bool has_quota;
	uint32_t initiators, free_count;
	struct slot *slots;
	uint32_t *free; /* slots; the one that was given up last is the last one */
	struct peer *peers;
	TAILQ_HEAD(line, peer) line;
	uint32_t *slot_of;
	struct bsn_dc_counters counters;
};

static int wait_in_line(struct dcs *d, struct peer *peer)
{
	if (!peer->waits) {
		TAILQ_INSERT_TAIL(&d->line, peer, next);
		d->counters.waits++;
	}
	peer->waits = true;
	return -EAGAIN;
}

/* -- slots ------------------------------------------------------------------------------------- */

static void take_slot(struct dcs *d, uint32_t number)
{
	const uint32_t at = d->free[--d->free_count];
	struct slot *s = &d->slots[at];

	d->counters.bindings += s->last != number;
	s->peer = s->last = number;
	d->peers[number].slot = at;
}

static void give_up(struct dcs *d, uint32_t at)
{
	d->peers[d->slots[at].peer].slot = NOBODY;
	d->slots[at].peer = NOBODY;
	d->free[d->free_count++] = at;
}

/* The first in line that has none, since its requests are all done. */
static int give_turns(struct dcs *d, struct bsn_completion *c, int n)
{
	struct peer *peer, *next = TAILQ_FIRST(&d->line);
	int given = 0;

	while ((peer = next) && d->free_count && given < n) {
		next = TAILQ_NEXT(peer, next);
		if (peer->slot != NOBODY)
			continue;
		TAILQ_REMOVE(&d->line, peer, next);
		peer->waits = false;
		take_slot(d, (uint32_t)(peer - d->peers));
		c[given++] = (struct bsn_completion){ .user = peer->user, .opcode = BSN_DC_READY };
		d->counters.turns++;
	}
	return given;
}

/* -- the stage --------------------------------------------------------------------------------- */

static int make_peer(void *arg, uint32_t number, void *user)
{
	((struct dcs *)arg)->peers[number] = (struct peer){ .user = user, .slot = NOBODY };
	return 0;
}

/* Slots are in the order of streams: the first peers have an initiator of their own. */
static void begin(struct dcs *d, uint32_t number, uint64_t id)
{
	const uint32_t at = d->peers[number].slot;

	d->slot_of[id] = at;
	d->slots[at].outstanding++;
	dc_device_begin(&d->device, (uint16_t)(at % d->initiators), at / d->initiators,
			number + 1, (uint32_t)id);
}

static int post(void *arg, uint32_t number, uint64_t id)
{
	struct dcs *d = arg;
	struct peer *peer = &d->peers[number];
	const bool others_wait = !TAILQ_EMPTY(&d->line);

	if (peer->waits || (peer->slot == NOBODY && (others_wait || !d->free_count)))
		return wait_in_line(d, peer);
	if (peer->slot == NOBODY)
		take_slot(d, number);
	else if (d->has_quota && others_wait && d->slots[peer->slot].outstanding >= QUOTA)
		return wait_in_line(d, peer);
	begin(d, number, id);
	return 0;
}

static int poll_one(void *arg, struct bsn_completion *c, int n)
{
	struct dcs *d = arg;
	struct dc_request r;
	uint32_t at;

	if (!dc_device_end(&d->device, &r))
		return 0;
	at = d->slot_of[r.tag];
	*c = (struct bsn_completion){ .id = r.tag, .user = d->peers[d->slots[at].peer].user };
	if (!--d->slots[at].outstanding)
		give_up(d, at);
	return 1 + give_turns(d, c + 1, n - 1);
}

static void read_counters(void *arg, struct dc_figures *figures)
{
	const struct dcs *d = arg;

	figures->counters = d->counters;
	dc_device_counters(&d->device, figures);
}

/* -- life -------------------------------------------------------------------------------------- */

static int make(struct dcs *d, const struct dc_plan *plan)
{
	const uint32_t slots = plan->initiators * plan->streams;

	d->initiators = plan->initiators;
	TAILQ_INIT(&d->line);
	d->slots = calloc(slots, sizeof(*d->slots));
	d->free = calloc(slots, sizeof(*d->free));
	d->peers = calloc(plan->crowd.peers, sizeof(*d->peers));
	d->slot_of = calloc(plan->window, sizeof(*d->slot_of));
	if (!d->slots || !d->free || !d->peers || !d->slot_of)
		return -ENOMEM;
	for (uint32_t at = slots; at--;) {
		d->slots[at] = (struct slot){ .peer = NOBODY, .last = NOBODY };
		d->free[d->free_count++] = at;
	}
	return dc_device_make(&d->device, plan, plan->initiators);
}

int dc_simulate_dcs(const struct dc_plan *plan, enum dc_policy policy, struct dc_figures *figures)
{
	struct dcs d = { .has_quota = policy == DC_POLICY_dcs_quota };
	const struct dc_stage stage = {
		.arg = &d,
		.peer = make_peer,
		.post = post,
		.poll = poll_one,
		.now_ns = dc_device_now,
		.counters = read_counters,
	};
	int err = make(&d, plan);

	if (!err)
		err = dc_play(plan, &stage, figures);
	dc_device_free(&d.device);
	free(d.slots);
	free(d.free);
	free(d.peers);
	free(d.slot_of);
	return err;
}
