/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A pool of DC initiators, the library's own code, on a device that is a model of time alone: it
 * reads the send rings, counts connections, and says when a request is done. No device, no memory
 * of requests. And to compare with, on the same device: UCX's pools.
 */
#include "../play.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "dc/pool.h"
#include "posted.h"

enum { IDLE_NS = 1000000, MOST_WINDOW = 4096 };

/* -- the device -------------------------------------------------------------------------------- */

struct dc_initiator {
	uint64_t free_ns;  /* the next request begins then, at the earliest */
	uint64_t done_ns;  /* requests are reported in order */
};

struct dc_stream {
	uint32_t target;  /* 0: connected to nobody */
	uint64_t busy_ns; /* until all is answered that it has outstanding */
};

/* A request that was published, and is not reported yet. @tag: its name */
struct request {
	uint64_t done_ns;
	uint32_t tag;
	uint16_t initiator;
};

/**
 * struct device - initiators that have nothing but time
 * @streams: @streams_each of each initiator in turn, each connected to one target
 * @heap: requests, the first one to be done on top
 * @taken_early: see struct dc_figures
 */
struct device {
	uint32_t connect_ns;
	struct dc_initiator *initiators;
	struct dc_stream *streams;
	uint32_t streams_each;
	struct request *heap;
	uint32_t heap_count;
	uint64_t now_ns, connects, taken_early, random;
};

static void sift_up(struct device *d, struct request r)
{
	uint32_t at = d->heap_count++;

	for (; at && d->heap[(at - 1) / 2].done_ns > r.done_ns; at = (at - 1) / 2)
		d->heap[at] = d->heap[(at - 1) / 2];
	d->heap[at] = r;
}

static struct request take_first(struct device *d)
{
	const struct request first = d->heap[0], last = d->heap[--d->heap_count];
	uint32_t at = 0;

	for (;;) {
		uint32_t child = 2 * at + 1;
		if (child >= d->heap_count)
			break;
		if (child + 1 < d->heap_count &&
		    d->heap[child + 1].done_ns < d->heap[child].done_ns)
			child++;
		if (d->heap[child].done_ns >= last.done_ns)
			break;
		d->heap[at] = d->heap[child];
		at = child;
	}
	d->heap[at] = last;
	return first;
}

/* A request begins, to a target (1 and up). 0: it goes to nobody, so the stream stays connected. */
static void begin(struct device *d, uint16_t initiator, unsigned stream, uint32_t target,
		  uint32_t tag)
{
	struct dc_initiator *i = &d->initiators[initiator];
	struct dc_stream *s = &d->streams[initiator * d->streams_each + stream];
	uint64_t start = i->free_ns > d->now_ns ? i->free_ns : d->now_ns, done;

	if (target && s->target != target) {
		d->taken_early += s->target && s->busy_ns > d->now_ns;
		if (s->target && s->busy_ns > start)
			start = s->busy_ns;
		start += d->connect_ns;
		s->target = target;
		d->connects++;
	}
	i->free_ns = start + DC_ISSUE_NS;
	done = start + DC_ANSWER_NS + dc_roll_below(&d->random, DC_RANDOM_NS);
	s->busy_ns = s->busy_ns > done ? s->busy_ns : done;
	i->done_ns = i->done_ns >= done ? i->done_ns + 1 : done; /* one after the other */
	sift_up(d, (struct request){ i->done_ns, tag, initiator });
}

/* At the time of its end, what is done first. false: there is nothing, and time goes by. */
static bool end_first(struct device *d, struct request *done)
{
	if (!d->heap_count) {
		d->now_ns += IDLE_NS;
		return false;
	}
	*done = take_first(d);
	d->now_ns = done->done_ns > d->now_ns ? done->done_ns : d->now_ns;
	return true;
}

/* Of @count initiators; the requests of @plan may be outstanding, and two more of each. */
static int make_device(struct device *d, const struct dc_plan *plan, uint32_t count)
{
	d->connect_ns = plan->connect_ns;
	d->now_ns = 1;                 /* a program may take 0 for no time */
	d->random = ~plan->crowd.seed; /* not the pattern's own dice */
	d->streams_each = plan->streams;
	d->heap = calloc((size_t)plan->window + 2 * count, sizeof(*d->heap));
	d->initiators = calloc(count, sizeof(*d->initiators));
	d->streams = calloc((size_t)count * plan->streams, sizeof(*d->streams));
	return d->heap && d->initiators && d->streams ? 0 : -ENOMEM;
}

/* Of each stage whose argument begins with its device. */
static uint64_t device_now(void *arg)
{
	return ((const struct device *)arg)->now_ns;
}

static void add_counters(const struct device *d, struct dc_figures *figures)
{
	figures->counters.has_connects = true;
	figures->counters.connects = d->connects;
	figures->taken_early = d->taken_early;
}

static void free_device(struct device *d)
{
	free(d->streams);
	free(d->initiators);
	free(d->heap);
}

/* -- the library's own pool on it -------------------------------------------------------------- */

enum { LEAST_RING_BB = 64, MOST_RING_BB = 1 << 15, PAGE = 4096 };

struct dci {
	struct bsn_sq *sq;
	uint8_t *ring;
	struct bsn_be32 record[2];
	uint16_t seen; /* up to here the ring was read */
};

struct pool_model {
	struct device device; /* first */
	struct bsn_dc_pool *pool;
	struct bsn_ep **peers;
	struct bsn_sge local;
	struct dv_lane lane;
	uint8_t *page;
	struct dci *dcis;
	uint32_t ring_bb;
};

static uint32_t target_at(const struct pool_model *m, const struct dci *d, uint16_t index)
{
	struct bsn_av_dc av;

	bsn_av_dc_decode(&av, d->ring + (index % m->ring_bb) * (size_t)BSN_BB_SIZE + BSN_DS_SIZE);
	return av.dqpn;
}

static void read_rings(struct pool_model *m)
{
	for (uint16_t i = 0; i < m->pool->count; i++) {
		struct dci *d = &m->dcis[i];
		struct bsn_dbr_wq record;

		bsn_dbr_wq_decode(&record, &d->record[1]);
		while (d->seen != record.index) {
			const struct bsn_posted posted = bsn_sq_posted_at(d->sq, d->seen);
			const bool is_own = posted.opcode == BSN_OPCODE_NOP;

			begin(&m->device, i, posted.stream,
					is_own ? 0 : target_at(m, d, d->seen), d->seen);
			d->seen = (uint16_t)(d->seen + posted.count_bb);
		}
	}
}

/* The request that is done first, if it is one of the program's and not the pool's own. */
static int complete_one(struct pool_model *m, struct bsn_completion *c)
{
	struct request r;
	const uint64_t *kept;
	struct bsn_sq *sq;

	if (!end_first(&m->device, &r))
		return 0;
	sq = m->dcis[r.initiator].sq;
	kept = bsn_peer_ids(sq,
			    dv_sq(sq)->ring + (size_t)(r.tag & dv_sq(sq)->bb_mask) * BSN_BB_SIZE);
	__atomic_store_n(&dv_sq(sq)->route.hot.done, (uint16_t)r.tag, __ATOMIC_RELEASE);
	if (bsn_sq_posted_at(sq, (uint16_t)r.tag).opcode == BSN_OPCODE_NOP)
		return 0;
	idle_hear(m->pool, &m->pool->initiators[r.initiator]);
	*c = (struct bsn_completion){ .id = kept[0],
				      .user = (void *)(uintptr_t)kept[1],
				      .qpn = dv_sq(sq)->qpn };
	return 1;
}

static int make_peer(void *arg, uint32_t number, void *user)
{
	struct pool_model *m = arg;
	const struct bsn_av_dc av = { .dqpn = number + 1 };
	struct peer *peer = peer_new(m->pool);
	uint8_t head[BSN_AV_DC_SIZE];

	if (!peer)
		return -ENOMEM;
	bsn_av_dc_encode(head, &av);
	memcpy(&peer->hot.head, head, sizeof(head));
	peer->hot.prefix_ds = 1;
	peer->hot.user = user;
	m->peers[number] = &peer->hot.ep;
	return 0;
}

static int post_write(void *arg, uint32_t number, uint64_t id)
{
	static const struct bsn_remote remote = { 0x2000, 2 };
	const struct pool_model *m = arg;

	return bsn_write(m->peers[number], &m->local, &remote, id, BSN_F_SIGNALED | BSN_F_RING);
}

/* One request after the other, so that who polls sees each at its time. */
static int poll_model(void *arg, struct bsn_completion *c, int n)
{
	struct pool_model *m = arg;
	int got;

	read_rings(m);
	got = complete_one(m, c);
	return got + take_turns(m->pool, c + got, n - got, !got);
}

static void read_counters(void *arg, struct dc_figures *figures)
{
	const struct pool_model *m = arg;

	bsn_dc_pool_counters(m->pool, &figures->counters);
	add_counters(&m->device, figures);
}

static int make_dci(struct pool_model *m, uint32_t k)
{
	struct dci *d = &m->dcis[k];
	struct bsn_sq_init init = {
		.record = &d->record[1],
		.lane = &m->lane.hot,
		.count_bb = m->ring_bb,
		.capacity_bb = m->ring_bb,
		.max_sge = 1,
		.max_ds = 8,
		.qpn = 0x100 + k,
		.transport = BSN_TRANSPORT_DC,
		.store = BSN_STORE_DOORBELL,
		.signal_every = -1,
		.has_peers = true,
	};
	const size_t bytes = (size_t)m->ring_bb * BSN_BB_SIZE;

	d->ring = init.ring = aligned_alloc(PAGE, bytes);
	if (!d->ring)
		return -ENOMEM;
	memset(d->ring, 0, bytes);
	d->sq = m->pool->initiators[k].sq = bsn_sq_alloc(&init);
	return d->sq ? 0 : -ENOMEM;
}

/* A request has one block; beside it the ring has the NOPs that tell ends. Streams share it. */
static uint32_t ring_for(const struct dc_plan *plan)
{
	uint32_t ring_bb = LEAST_RING_BB;

	while (ring_bb < MOST_RING_BB && ring_bb < LEAST_RING_BB * plan->streams)
		ring_bb *= 2;
	while (ring_bb < 4 * plan->window)
		ring_bb *= 2;
	return ring_bb;
}

static int make(struct pool_model *m, const struct dc_plan *plan, enum dc_policy policy)
{
	const struct bsn_dc_pool_attr attr = { .initiators = plan->initiators,
					       .streams = plan->streams,
					       .policy = dc_policy_of_pool(policy) };
	int err;

	m->pool = pool_new(&attr);
	m->page = aligned_alloc(PAGE, PAGE);
	m->peers = calloc(plan->crowd.peers, sizeof(struct bsn_ep *));
	m->dcis = m->pool ? calloc(m->pool->count, sizeof(*m->dcis)) : NULL;
	if (!m->page || !m->peers || !m->dcis)
		return -ENOMEM;
	m->lane.hot.reg = m->page;
	m->local = (struct bsn_sge){ 0x1000, plan->bytes, 1 };
	err = make_device(&m->device, plan, m->pool->count);
	for (uint32_t k = 0; !err && k < m->pool->count; k++)
		err = make_dci(m, k);
	return err ? err : pool_begin(m->pool);
}

static void free_model(struct pool_model *m)
{
	for (uint32_t k = 0; m->dcis && k < m->pool->count; k++) {
		bsn_sq_free(m->dcis[k].sq);
		free(m->dcis[k].ring);
	}
	if (m->pool)
		pool_free(m->pool);
	free_device(&m->device);
	free(m->dcis);
	free(m->peers);
	free(m->page);
}

static int simulate_pool(const struct dc_plan *plan, enum dc_policy policy,
			 struct dc_figures *figures)
{
	struct pool_model m = { .ring_bb = ring_for(plan) };
	static const struct dc_stage stage = { make_peer, post_write, poll_model, device_now,
					       read_counters };
	int err = make(&m, plan, policy);

	if (!err)
		err = dc_play(plan, &stage, &m, figures);
	free_model(&m);
	return err;
}

/*
 * -- UCX's policies, to compare with (src/uct/ib/mlx5/dc/dc_mlx5.h, enum uct_dc_tx_policy): a peer
 * takes the initiator that was given up last, and gives it up when all its requests are done. By
 * dcs it keeps it as long as it goes on posting; by dcs_quota it waits in line, too, once it has
 * QUOTA requests outstanding and others wait. A stream counts as an initiator.
 */

enum { QUOTA = 32 };

#define NOBODY UINT32_MAX

struct dcs_slot {
	uint32_t peer;        /* NOBODY: it is free */
	uint32_t last;        /* peer */
	uint32_t outstanding; /* requests */
};

struct dcs_peer {
	void *user;
	uint32_t slot; /* NOBODY */
	bool waits;
	TAILQ_ENTRY(dcs_peer) next; /* in line */
};

/* @slot_of: of requests, by id, which is the device's tag */
struct dcs {
	struct device device; /* first */
	bool has_quota;
	uint32_t initiators, free_count;
	struct dcs_slot *slots;
	uint32_t *free; /* slots; the one that was given up last is the last one */
	struct dcs_peer *peers;
	TAILQ_HEAD(line, dcs_peer) line;
	uint32_t *slot_of;
	struct bsn_dc_counters counters;
};

static int wait_in_line(struct dcs *d, struct dcs_peer *peer)
{
	if (!peer->waits) {
		TAILQ_INSERT_TAIL(&d->line, peer, next);
		d->counters.waits++;
	}
	peer->waits = true;
	return -EAGAIN;
}

static void take_slot(struct dcs *d, uint32_t number)
{
	const uint32_t at = d->free[--d->free_count];
	struct dcs_slot *s = &d->slots[at];

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
	struct dcs_peer *peer, *next = TAILQ_FIRST(&d->line);
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

static int make_dcs_peer(void *arg, uint32_t number, void *user)
{
	((struct dcs *)arg)->peers[number] = (struct dcs_peer){ .user = user, .slot = NOBODY };
	return 0;
}

/* Slots are in the order of streams: the first peers have an initiator of their own. */
static int post_by_dcs(void *arg, uint32_t number, uint64_t id)
{
	struct dcs *d = arg;
	struct dcs_peer *peer = &d->peers[number];
	const bool others_wait = !TAILQ_EMPTY(&d->line);
	uint32_t at;

	if (peer->waits || (peer->slot == NOBODY && (others_wait || !d->free_count)))
		return wait_in_line(d, peer);
	if (peer->slot == NOBODY)
		take_slot(d, number);
	else if (d->has_quota && others_wait && d->slots[peer->slot].outstanding >= QUOTA)
		return wait_in_line(d, peer);
	at = d->slot_of[id] = peer->slot;
	d->slots[at].outstanding++;
	begin(&d->device, (uint16_t)(at % d->initiators), at / d->initiators, number + 1,
	      (uint32_t)id);
	return 0;
}

static int poll_dcs(void *arg, struct bsn_completion *c, int n)
{
	struct dcs *d = arg;
	struct request r;
	uint32_t at;

	if (!end_first(&d->device, &r))
		return 0;
	at = d->slot_of[r.tag];
	*c = (struct bsn_completion){ .id = r.tag, .user = d->peers[d->slots[at].peer].user };
	if (!--d->slots[at].outstanding)
		give_up(d, at);
	return 1 + give_turns(d, c + 1, n - 1);
}

static void read_dcs_counters(void *arg, struct dc_figures *figures)
{
	const struct dcs *d = arg;

	figures->counters = d->counters;
	add_counters(&d->device, figures);
}

static int make_dcs(struct dcs *d, const struct dc_plan *plan)
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
		d->slots[at] = (struct dcs_slot){ .peer = NOBODY, .last = NOBODY };
		d->free[d->free_count++] = at;
	}
	return make_device(&d->device, plan, plan->initiators);
}

static int simulate_dcs(const struct dc_plan *plan, enum dc_policy policy,
			struct dc_figures *figures)
{
	struct dcs d = { .has_quota = policy == DC_POLICY_dcs_quota };
	static const struct dc_stage stage = { make_dcs_peer, post_by_dcs, poll_dcs, device_now,
					       read_dcs_counters };
	int err = make_dcs(&d, plan);

	if (!err)
		err = dc_play(plan, &stage, &d, figures);
	free_device(&d.device);
	free(d.slots);
	free(d.free);
	free(d.peers);
	free(d.slot_of);
	return err;
}

static bool can_be(const struct dc_plan *plan)
{
	return plan->crowd.peers && plan->initiators && plan->streams && plan->operations &&
	       plan->window && plan->window <= MOST_WINDOW && plan->streams <= MOST_DC_STREAMS &&
	       (uint64_t)plan->initiators * plan->streams < MOST_SLOTS;
}

int dc_simulate(const struct dc_plan *plan, enum dc_policy policy, struct dc_figures *figures)
{
	if (!can_be(plan))
		return -EINVAL;
	return (policy >= DC_POLICY_dcs ? simulate_dcs : simulate_pool)(plan, policy, figures);
}
