/* SPDX-License-Identifier: BSD-2-Clause */
/* Layouts at random: mkeys configured by hand, nested layouts, failures, however many parts. */
#include "layouts_random_rig.h"

/* -- by hand ----------------------------------------------------------------------------------- */

static int compare_parts(const void *a, const void *b)
{
	const uint64_t x = ((const struct bsn_part *)a)->addr,
		       y = ((const struct bsn_part *)b)->addr;

	return x < y ? -1 : x > y;
}

/* Mostly in the order of memory; often of two keys, which name the same bytes. */
static void make_configured(struct model *m, const struct space *s, uint32_t twin)
{
	make_model(m, s);
	if (random_below(4)) {
		qsort(m->parts, m->layout.part_count, sizeof(*m->parts), compare_parts);
		resolve(m, s);
	}
	for (uint32_t i = 1; i < m->layout.part_count && twin; i += 2)
		m->parts[i].lkey = twin;
}

/* Something about a part, which mostly makes it wrong. */
static void change(struct bsn_part *part)
{
	const uint64_t by = 1ull << random_u64() % 64;

	switch (random_below(6)) {
	case 0:
		part->addr += by;
		break;
	case 1:
		part->addr -= 1 + random_below(64);
		break;
	case 2:
		part->bytes ^= by;
		break;
	case 3:
		part->bytes += 1 + random_below(64);
		break;
	case 4:
		part->lkey ^= (uint32_t)(1u << random_u64() % 32);
		break;
	default:
		part->reserved = 1;
	}
}

static void gather_by(struct bench *b, const struct model *m, const struct bsn_mkey *mkey)
{
	const struct bsn_sge sge = { .length = m->length, .lkey = mkey->lkey };

	gather(b, m,
	       &(struct bsn_map){ .sge = &sge, .sge_count = 1, .length = m->length, .mkey = mkey });
}

/* Whether a part lies in the memory that it names. */
static bool is_inside(const struct bsn_part *part, const struct bsn_mr *mr, uint32_t rounds)
{
	const uint64_t at = part->addr - mr->addr, others = (rounds - 1) * part->stride;

	return at < mr->length && part->bytes <= mr->length &&
	       at + others + part->bytes <= mr->length;
}

static bool is_right(const struct bsn_layout_attr *layout, const struct bsn_mr *const mr[2])
{
	for (uint32_t i = 0; i < layout->part_count; i++) {
		const struct bsn_part *const part = &layout->parts[i];
		if (!part->bytes || part->reserved ||
		    (layout->rounds > 1 && part->stride < part->bytes) ||
		    !is_inside(part, mr[part->lkey == mr[1]->lkey], layout->rounds))
			return false;
	}
	return !do_any_meet(layout);
}

/* A change may make a key that of an mkey. */
static bool has_other_key(const struct bsn_layout_attr *layout, const struct bsn_mr *const mr[2])
{
	for (uint32_t i = 0; i < layout->part_count; i++)
		if (layout->parts[i].lkey != mr[0]->lkey && layout->parts[i].lkey != mr[1]->lkey)
			return true;
	return false;
}

/* Layouts to one mkey, one after the other; what was made wrong, and only that, is refused. */
static void configured_layouts(struct bench *b)
{
	struct bsn_mkey_pool *pool = make_pool(b, 2, 2048);
	unsigned refusals = 0;
	const struct bsn_mr *mr[2] = { b->mem[0], NULL };
	static struct model m;
	struct bsn_mr *twin;

	if (!has_mkeys(b))
		return;
	mr[1] = twin = bench_mr(b, bench_at(b, 0, 0), AREA, NULL);
	struct bsn_mkey *mkey = take_mkey(b, pool);
	for (unsigned round = 0; round < rounds_of(b); round++) {
		const struct space s = memory_of(b, 0, AREA);
		struct bsn_layout *layout;
		start_round(round);
		make_configured(&m, &s, random_below(3) ? 0 : twin->lkey);
		ok(bsn_layout_create(pool, &m.layout, &layout));
		for (unsigned again = random_below(3); again; again--)
			ok(bsn_mkey_configure(b->ep[0], mkey, layout, 0, 0));
		ok(bsn_mkey_configure(b->ep[0], mkey, layout, 0, 0));
		ok(bsn_layout_destroy(layout));
		gather_by(b, &m, mkey);
		for (unsigned changes = 1 + random_below(2); changes; changes--)
			change(&m.parts[random_below(m.layout.part_count)]);
		int err = bsn_layout_create(pool, &m.layout, &layout);
		if (!has_other_key(&m.layout, mr) && !err != is_right(&m.layout, mr))
			fail_msg("%d (%s): %u parts, %u rounds", err, bsn_error_text(),
				 m.layout.part_count, m.layout.rounds);
		if (!err)
			ok(bsn_layout_destroy(layout));
		refusals += !!err;
		complete_all(b);
	}
	assert_in_range(refusals, rounds_of(b) / 4, rounds_of(b) - 1);
}

/* -- nested ------------------------------------------------------------------------------------ */

/* Layouts of layouts, each an mkey by hand. */
static void nested_layouts(struct bench *b)
{
	struct bsn_mkey_pool *pool = make_pool(b, 16, 64);
	static struct model m[MAX_DEPTH];
	struct bsn_mkey *none;

	if (!has_mkeys(b)) {
		assert_int_equal(bsn_mkey_take(pool, &none), -EOPNOTSUPP);
		return;
	}
	for (unsigned round = 0; round < rounds_of(b); round++) {
		struct space s = memory_of(b, 0, AREA / 8);
		struct bsn_layout *layout;
		struct bsn_mkey *mkey[MAX_DEPTH];
		const struct bsn_map *map;
		start_round(round);
		for (unsigned depth = 0; depth < MAX_DEPTH - 1; depth++) {
			make_model(&m[depth], &s);
			ok(bsn_mkey_take(pool, &mkey[depth]));
			ok(configure_by(b, mkey[depth], pool, m[depth].layout, 0));
			s = (struct space){ .lkey = mkey[depth]->lkey,
					    .at = m[depth].at,
					    .bytes = m[depth].length };
		}
		make_model(&m[MAX_DEPTH - 1], &s);
		ok(bsn_layout_create(pool, &m[MAX_DEPTH - 1].layout, &layout));
		ok(bsn_layout_map(layout, b->ep[0], BSN_MAP_KEY, &map));
		gather(b, &m[MAX_DEPTH - 1], map);
		scatter(b, &m[MAX_DEPTH - 1], map);
		reach(b, &m[MAX_DEPTH - 1], map);
		assert_int_equal(bsn_mkey_give(mkey[0]), -EBUSY);
		bsn_layout_unmap(map);
		assert_int_equal(bsn_mkey_give(mkey[1]), -EBUSY); /* the layout is there */
		ok(bsn_layout_destroy(layout));
		for (unsigned depth = MAX_DEPTH - 1; depth--;)
			ok(bsn_mkey_give(mkey[depth]));
	}
}

/* -- under failures ---------------------------------------------------------------------------- */

enum { LIFE = 8 }; /* requests of a queue until it is reset */

/* What was posted to a queue: the request that fails, or LIFE; which requests signal. */
struct life {
	unsigned fails_at, posted, due;
	bool is_signaled[LIFE];
	const struct bsn_map *maps[LIFE];
};

static void post_one(struct bench *b, struct bsn_mkey_pool *pool, struct life *life)
{
	const struct space s = memory_of(b, 0, 512);
	const unsigned id = life->posted;
	const bool is_last = id == LIFE - 1, signals = is_last || random_below(2);
	struct bsn_wr wr = request(b, BSN_OPCODE_RDMA_WRITE, 1, FLAT);
	static struct model m;

	wr.id = id;
	wr.flags = (signals ? BSN_F_SIGNALED : 0u) | (is_last || random_below(2) ? BSN_F_RING : 0u);
	if (id == life->fails_at)
		wr.remote = (struct bsn_remote){ 0, 0 };
	do {
		make_model(&m, &s);
	} while (!has_mkeys(b) && m.layout.part_count * m.layout.rounds > b->sq[0]->max_sge);
	ok(try_map(b, pool, m.layout, has_mkeys(b) && random_below(2) ? BSN_MAP_KEY : 0,
		   &life->maps[id]));
	ok(post_map(b->ep[0], wr, life->maps[id]));
	life->is_signaled[life->posted++] = signals;
}

/* In order, each once; what was skipped succeeded in silence. */
static void take_one(struct bench *b, struct life *life, const struct bsn_completion *c)
{
	const bool has_failed = c->id >= life->fails_at;

	assert_true(c->id >= life->due && c->id < life->posted);
	assert_int_equal(c->opcode, BSN_OPCODE_RDMA_WRITE);
	assert_int_equal(c->status, !has_failed               ? IBV_WC_SUCCESS
				    : c->id == life->fails_at ? IBV_WC_REM_ACCESS_ERR
							      : IBV_WC_WR_FLUSH_ERR);
	for (; life->due < c->id; life->due++)
		assert_true(life->due < life->fails_at && !life->is_signaled[life->due] &&
			    !b->test->qp.signal_all);
	life->due++;
}

/* What has come; the model is done then, a device may not be. */
static void take_what_came(struct bench *b, struct life *life)
{
	struct bsn_completion c;

	if (b->is_model)
		bench_settle(b);
	while (bsn_poll(b->cq[0], &c, 1) == 1 || bsn_qp_give_back(b->qp[0], &c, 1))
		take_one(b, life, &c);
}

/* To the last request, which signals. */
static void take_all(struct bench *b, struct life *life)
{
	struct bsn_completion c;

	take_what_came(b, life);
	while (life->due < LIFE) {
		c = bench_next(b, b->cq[0]);
		take_one(b, life, &c);
		take_what_came(b, life);
	}
}

/* Nothing comes back but what was posted, however UMRs lie around it. */
static void layouts_under_failures(struct bench *b)
{
	struct bsn_mkey_pool *pool = make_pool(b, 3 * LIFE, 520);

	for (unsigned round = 0; round < rounds_of(b) / 10; round++) {
		struct life life = { 0 };
		start_round(round);
		life.fails_at = random_below(LIFE + 1);
		while (life.posted < LIFE) {
			post_one(b, pool, &life);
			if (random_below(4) == 0)
				take_what_came(b, &life);
		}
		take_all(b, &life);
		assert_int_equal(bsn_sq_outstanding_bb(b->sq[0]), 0);
		for (unsigned i = 0; i < LIFE; i++)
			drop(life.maps[i]);
		if (life.fails_at < LIFE)
			connect_anew(b);
	}
}

/* -- however many ------------------------------------------------------------------------------ */

/*
 * Mkeys that were seen; how many are new is what is asked for. The low byte of their keys changes.
 */
static uint32_t count_key(uint32_t *keys, uint32_t count, uint32_t key)
{
	key >>= 8;
	for (uint32_t i = 0; i < count; i++)
		if (keys[i] == key)
			return count;
	assert_true(count < MANY_KEYS);
	keys[count] = key;
	return count + 1;
}

static void map_random(struct bench *b, struct bsn_mkey_pool *pool, const struct bsn_map **map)
{
	const struct space s = memory_of(b, 0, 256);
	static struct model m;

	make_model(&m, &s);
	ok(try_map(b, pool, m.layout, has_mkeys(b) ? BSN_MAP_KEY : 0, map));
	assert_int_equal((*map)->length, m.length);
}

/* Sixteen layouts, mapped and then let go. */
static uint32_t use_sixteen(struct bench *b, struct bsn_mkey_pool *pool, uint32_t *keys,
			    uint32_t count)
{
	const struct bsn_map *maps[16];

	for (unsigned i = 0; i < 16; i++) {
		map_random(b, pool, &maps[i]);
		if (maps[i]->mkey)
			count = count_key(keys, count, maps[i]->mkey->lkey);
		if (i % 4 == 3)
			complete_all(b);
	}
	for (unsigned i = 0; i < 16; i++)
		drop(maps[i]);
	return count;
}

/* However many layouts go through a pool, it keeps its mkeys and takes no more memory. */
static void many_layouts_leave_nothing(struct bench *b)
{
	struct bsn_mkey_pool *pool = make_pool(b, MANY_KEYS, 256);
	const unsigned turns = bench_rounds(b, MANY_LAYOUTS / 16);
	uint32_t keys[MANY_KEYS], count = 0;
	size_t before = 0;

	start_round(0);
	for (unsigned i = 0; i < turns; i++) {
		count = use_sixteen(b, pool, keys, count);
		if (i == turns / 100)
			before = mallinfo2().uordblks;
	}
	if (b->is_model) /* malloc() keeps some of what is given back, and counts it as in use */
		assert_in_range(mallinfo2().uordblks, 0, before + SLACK_BYTES);
}

#define LIVES(...)                                                                                 \
	.qp = { .max_send_sge = 4, .send_depth = 2 * BENCH_DEPTH, __VA_ARGS__ },                   \
	.cq_entries = 512, OWN

static const struct bench_case cases[] = {
	{ CASE(configured_layouts), QUEUES },
	{ CASE(nested_layouts), QUEUES },
	{ CASE(layouts_under_failures), LIVES(.signal_every = 0) },
	{ CASE_OF(layouts_under_failures, "all completing"), LIVES(.signal_all = true) },
	{ CASE_OF(layouts_under_failures, "signaled in turn"), LIVES(.signal_every = 2) },
	{ CASE_OF(layouts_under_failures, "silent after one"), LIVES(.ce_on_first_error = true) },
	{ CASE(many_layouts_leave_nothing), QUEUES },
};

int main(void)
{
	random_start();
	seed = random_state;
	return bench_run("layouts_random_mkeys", cases, COUNT(cases));
}
