/* SPDX-License-Identifier: BSD-2-Clause */
#include "dc_model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dc/pool.h"
#include "posted.h"

enum { LEAST_RING_BB = 64, MOST_RING_BB = 1 << 15, MOST_WINDOW = 4096, PAGE = 4096, IDLE_NS = 1000000 };

/* A request that was published, and is not reported yet. */
struct request {
	uint64_t done_ns;
	uint16_t index, initiator;
};

/* What an initiator of the model knows. */
struct dci {
	struct bsn_sq *sq;
	uint8_t *ring;
	struct bsn_be32 record[2];
	uint16_t seen;     /* up to here the ring was read */
	uint64_t free_ns;  /* the next request begins then, at the earliest */
	uint64_t done_ns;  /* requests are reported in order */
	uint32_t *dctn;    /* of each stream; 0: connected to nobody */
	uint64_t *busy_ns; /* until all is answered that a stream has outstanding */
};

struct dc_model {
	struct dc_times times;
	struct bsn_dc_pool *pool;
	struct bsn_lane lane;
	uint8_t *page;
	struct dci *dcis;
	uint32_t ring_bb;
	struct request *heap;
	uint32_t heap_count;
	uint64_t now_ns, connects, taken_early, random;
};

static uint64_t draw(struct dc_model *m)
{
	m->random ^= m->random >> 12;
	m->random ^= m->random << 25;
	m->random ^= m->random >> 27;
	return m->random * 0x2545f4914f6cdd1dull;
}

static uint32_t draw_below(struct dc_model *m, uint32_t n)
{
	return (uint32_t)((draw(m) >> 32) * n >> 32);
}

/* -- the device ---------------------------------------------------------------------------------- */

static void sift_up(struct dc_model *m, struct request r)
{
	uint32_t at = m->heap_count++;

	for (; at && m->heap[(at - 1) / 2].done_ns > r.done_ns; at = (at - 1) / 2)
		m->heap[at] = m->heap[(at - 1) / 2];
	m->heap[at] = r;
}

static struct request take_first(struct dc_model *m)
{
	const struct request first = m->heap[0], last = m->heap[--m->heap_count];
	uint32_t at = 0;

	for (;;) {
		uint32_t child = 2 * at + 1;
		if (child >= m->heap_count)
			break;
		if (child + 1 < m->heap_count &&
		    m->heap[child + 1].done_ns < m->heap[child].done_ns)
			child++;
		if (m->heap[child].done_ns >= last.done_ns)
			break;
		m->heap[at] = m->heap[child];
		at = child;
	}
	m->heap[at] = last;
	return first;
}

static uint32_t target_at(const struct dc_model *m, const struct dci *d, uint16_t index)
{
	struct bsn_av_dc av;

	bsn_av_dc_decode(&av, d->ring + (index % m->ring_bb) * (size_t)BSN_BB_SIZE + BSN_DS_SIZE);
	return av.dqpn;
}

static void begin(struct dc_model *m, uint16_t initiator, struct bsn_posted posted)
{
	struct dci *d = &m->dcis[initiator];
	const uint32_t dctn = target_at(m, d, d->seen);
	uint64_t *busy = &d->busy_ns[posted.stream];
	uint64_t start = d->free_ns > m->now_ns ? d->free_ns : m->now_ns, done;

	if (posted.opcode != BSN_OPCODE_NOP && d->dctn[posted.stream] != dctn) {
		m->taken_early += d->dctn[posted.stream] && *busy > m->now_ns;
		if (d->dctn[posted.stream] && *busy > start)
			start = *busy;
		start += m->times.connect_ns;
		d->dctn[posted.stream] = dctn;
		m->connects++;
	}
	d->free_ns = start + m->times.issue_ns;
	done = start + m->times.answer_ns + draw_below(m, m->times.random_ns);
	*busy = *busy > done ? *busy : done;
	d->done_ns = d->done_ns >= done ? d->done_ns + 1 : done; /* one after the other */
	sift_up(m, (struct request){ d->done_ns, d->seen, initiator });
}

/* What was published since. */
static void read_rings(struct dc_model *m)
{
	for (uint16_t i = 0; i < m->pool->count; i++) {
		struct dci *d = &m->dcis[i];
		struct bsn_dbr_wq record;

		bsn_dbr_wq_decode(&record, &d->record[1]);
		while (d->seen != record.index) {
			const struct bsn_posted posted = bsn_sq_posted_at(d->sq, d->seen);
			begin(m, i, posted);
			d->seen = (uint16_t)(d->seen + posted.count_bb);
		}
	}
}

/* The request that is done first, if it is one of the program's and not the pool's own. */
static int complete_one(struct dc_model *m, struct bsn_completion *c)
{
	const struct request r = take_first(m);
	struct bsn_sq *sq = m->dcis[r.initiator].sq;
	const uint64_t *kept = bsn_peer_ids(sq, sq->ring + (size_t)(r.index & sq->bb_mask) * BSN_BB_SIZE);
	const bool is_own = bsn_sq_posted_at(sq, r.index).opcode == BSN_OPCODE_NOP;

	m->now_ns = r.done_ns > m->now_ns ? r.done_ns : m->now_ns;
	__atomic_store_n(&sq->route.done, r.index, __ATOMIC_RELEASE);
	if (!is_own)
		*c = (struct bsn_completion){ .id = kept[0], .user = (void *)(uintptr_t)kept[1], .qpn = sq->qpn };
	return !is_own;
}

/* -- the stage ----------------------------------------------------------------------------------- */

static struct bsn_ep *make_peer(void *arg, uint32_t number, void *user, struct bsn_remote *remote)
{
	struct dc_model *m = arg;
	const struct bsn_av_dc av = { .dqpn = number + 1 };
	struct bsn_peer *peer = peer_new(m->pool);
	uint8_t head[BSN_AV_DC_SIZE];

	if (!peer)
		return NULL;
	bsn_av_dc_encode(head, &av);
	memcpy(&peer->head, head, sizeof(head));
	peer->prefix_ds = 1;
	peer->user = user;
	*remote = (struct bsn_remote){ 0x2000, 2 };
	return &peer->ep;
}

/* One request after the other, so that who polls sees each at its time. Time goes by where there is none. */
static int poll_model(void *arg, struct bsn_completion *c, int n)
{
	struct dc_model *m = arg;
	int got = 0;

	read_rings(m);
	if (m->heap_count)
		got = complete_one(m, c);
	else
		m->now_ns += IDLE_NS;
	if (got)
		pool_heard(m->pool, c, got);
	return got + take_turns(m->pool, c + got, n - got, got != 0);
}

static uint64_t read_clock(void *arg)
{
	return ((struct dc_model *)arg)->now_ns;
}

static int64_t read_connects(void *arg)
{
	return (int64_t)((struct dc_model *)arg)->connects;
}

static void read_counters(void *arg, struct dc_figures *figures)
{
	const struct dc_model *m = arg;

	bsn_dc_pool_counters(m->pool, &figures->counters);
	figures->taken_early = m->taken_early;
}

/* -- life ---------------------------------------------------------------------------------------- */

static int make_dci(struct dc_model *m, uint32_t k)
{
	struct dci *d = &m->dcis[k];
	struct bsn_sq_init init = {
		.record = &d->record[1],
		.lane = &m->lane,
		.count_bb = m->ring_bb,
		.capacity_bb = m->ring_bb,
		.max_sge = 1,
		.max_ds = 8,
		.qpn = 0x100 + 4 * k, /* as where others make QPs, too, so that several share a place */
		.transport = BSN_TRANSPORT_DC,
		.store = BSN_STORE_DOORBELL,
		.signal_every = -1,
		.has_peers = true,
	};
	const size_t bytes = (size_t)m->ring_bb * BSN_BB_SIZE;

	d->ring = init.ring = aligned_alloc(PAGE, bytes);
	d->dctn = calloc(m->pool->streams, sizeof(*d->dctn));
	d->busy_ns = calloc(m->pool->streams, sizeof(*d->busy_ns));
	if (!d->ring || !d->dctn || !d->busy_ns)
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

static int make(struct dc_model *m, const struct dc_plan *plan, enum bsn_dc_policy policy)
{
	const struct bsn_dc_pool_attr attr = { .initiators = plan->initiators,
					       .streams = plan->streams,
					       .policy = policy };
	int err = 0;

	m->pool = pool_new(&attr);
	m->page = aligned_alloc(PAGE, PAGE);
	m->ring_bb = ring_for(plan);
	m->heap = calloc((size_t)plan->window + 2 * plan->initiators + 2, sizeof(*m->heap));
	m->dcis = m->pool ? calloc(m->pool->count, sizeof(*m->dcis)) : NULL;
	if (!m->page || !m->heap || !m->dcis)
		return -ENOMEM;
	m->lane.reg = m->page;
	for (uint32_t k = 0; !err && k < m->pool->count; k++)
		err = make_dci(m, k);
	return err ? err : pool_begin(m->pool);
}

void dc_model_close(struct dc_model *m)
{
	if (!m)
		return;
	for (uint32_t k = 0; m->dcis && k < m->pool->count; k++) {
		bsn_sq_free(m->dcis[k].sq);
		free(m->dcis[k].ring);
		free(m->dcis[k].dctn);
		free(m->dcis[k].busy_ns);
	}
	if (m->pool)
		pool_free(m->pool);
	free(m->dcis);
	free(m->page);
	free(m->heap);
	free(m);
}

static bool can_be(const struct dc_plan *plan)
{
	return plan->crowd.peers && plan->initiators && plan->streams && plan->operations &&
	       plan->window && plan->window <= MOST_WINDOW &&
	       plan->streams <= MOST_DC_STREAMS &&
	       (uint64_t)plan->initiators * plan->streams < MOST_SLOTS;
}

int dc_model_open(const struct dc_plan *plan, const struct dc_times *times, enum bsn_dc_policy policy,
		  struct dc_model **model, struct dc_stage *stage)
{
	struct dc_model *m;
	int err;

	if (!can_be(plan))
		return -EINVAL;
	m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	m->times = *times;
	m->now_ns = 1; /* a program may take 0 for no time */
	m->random = ~plan->crowd.seed; /* not the pattern's own dice */
	err = make(m, plan, policy);
	if (err) {
		dc_model_close(m);
		return err;
	}
	*model = m;
	*stage = (struct dc_stage){
		.arg = m,
		.peer = make_peer,
		.poll = poll_model,
		.now_ns = read_clock,
		.connects = read_connects,
		.counters = read_counters,
		.local = { 0x1000, plan->bytes, 1 },
	};
	return 0;
}
