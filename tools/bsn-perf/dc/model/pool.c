/* SPDX-License-Identifier: BSD-2-Clause */
#include "model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dc/pool.h"
#include "posted.h"

enum { LEAST_RING_BB = 64, MOST_RING_BB = 1 << 15, MOST_WINDOW = 4096, PAGE = 4096 };

/* The queue of an initiator. */
struct dci {
	struct bsn_sq *sq;
	uint8_t *ring;
	struct bsn_be32 record[2];
	uint16_t seen; /* up to here the ring was read */
};

struct pool_model {
	struct dc_device device; /* first */
	struct bsn_dc_pool *pool;
	struct bsn_ep **peers;
	struct bsn_sge local;
	struct dv_lane lane;
	uint8_t *page;
	struct dci *dcis;
	uint32_t ring_bb;
};

/* -- what the device does ---------------------------------------------------------------------- */

static uint32_t target_at(const struct pool_model *m, const struct dci *d, uint16_t index)
{
	struct bsn_av_dc av;

	bsn_av_dc_decode(&av, d->ring + (index % m->ring_bb) * (size_t)BSN_BB_SIZE + BSN_DS_SIZE);
	return av.dqpn;
}

/* What was published since. */
static void read_rings(struct pool_model *m)
{
	for (uint16_t i = 0; i < m->pool->count; i++) {
		struct dci *d = &m->dcis[i];
		struct bsn_dbr_wq record;

		bsn_dbr_wq_decode(&record, &d->record[1]);
		while (d->seen != record.index) {
			const struct bsn_posted posted = bsn_sq_posted_at(d->sq, d->seen);
			const bool is_own = posted.opcode == BSN_OPCODE_NOP;

			dc_device_begin(&m->device, i, posted.stream,
					is_own ? 0 : target_at(m, d, d->seen), d->seen);
			d->seen = (uint16_t)(d->seen + posted.count_bb);
		}
	}
}

/* The request that is done first, if it is one of the program's and not the pool's own. */
static int complete_one(struct pool_model *m, struct bsn_completion *c)
{
	struct dc_request r;
	const uint64_t *kept;
	struct bsn_sq *sq;

	if (!dc_device_end(&m->device, &r))
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

/* -- the stage --------------------------------------------------------------------------------- */

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
	dc_device_counters(&m->device, figures);
}

/* -- life -------------------------------------------------------------------------------------- */

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
	err = dc_device_make(&m->device, plan, m->pool->count);
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
	dc_device_free(&m->device);
	free(m->dcis);
	free(m->peers);
	free(m->page);
}

static int simulate_pool(const struct dc_plan *plan, enum dc_policy policy,
			 struct dc_figures *figures)
{
	struct pool_model m = { .ring_bb = ring_for(plan) };
	const struct dc_stage stage = {
		.arg = &m,
		.peer = make_peer,
		.post = post_write,
		.poll = poll_model,
		.now_ns = dc_device_now,
		.counters = read_counters,
	};
	int err = make(&m, plan, policy);

	if (!err)
		err = dc_play(plan, &stage, figures);
	free_model(&m);
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
	return (policy >= DC_POLICY_dcs ? dc_simulate_dcs : simulate_pool)(plan, policy, figures);
}
