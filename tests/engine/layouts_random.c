/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Random layouts, of memory and of other layouts: what is gathered and scattered through them, by
 * us and by the peer, is what a plain copy, byte by byte, gives.
 *
 * BSN_SEED repeats a run; BSN_ROUNDS is how often it is as long.
 */
#include "mkeys.h"
#include "sq.h"

#include <malloc.h>

#include "../wqe/random.h"

enum {
	AREA = 24576, /* of end 0: what layouts are cut out of */
	FLAT = 30000, /* of end 1: the bytes in order */
	MAX_PARTS = 24,
	MAX_DEPTH = 3,
	ROUNDS = 10000,
	MANY_LAYOUTS = 100000,
	MANY_KEYS = 24,
	SLACK_BYTES = 1 << 16,
};

static uint64_t seed;

/* A layout, and where each of its bytes is in end 0's memory. */
struct model {
	struct bsn_layout_attr layout;
	struct bsn_part parts[MAX_PARTS];
	uint32_t length;
	uint32_t at[AREA];
};

/* The space that a layout is cut out of: memory, or another layout. */
struct space {
	uint64_t base;
	uint32_t lkey;
	const uint32_t *at; /* NULL: one to one */
	uint32_t first, bytes;
};

/*
 * Each round has a seed of its own, so that its layouts are the same on every path, whatever else
 * was drawn before.
 */
static void start_round(unsigned round)
{
	random_state = (seed ^ (round + 1) * 0x9e3779b97f4a7c15ull) | 1;
	random_u64();
}

static unsigned rounds_of(struct bench *b)
{
	const char *wanted = getenv("BSN_ROUNDS");

	return bench_rounds(b, ROUNDS * (wanted ? (unsigned)strtoul(wanted, NULL, 0) : 1));
}

static uint32_t random_below(uint32_t n)
{
	return n ? (uint32_t)(random_u64() % n) : 0;
}

/* -- models ------------------------------------------------------------------------------------ */

/* What the parts say, byte by byte. */
static void resolve(struct model *m, const struct space *s)
{
	const uint32_t rounds = m->layout.rounds ? m->layout.rounds : 1;

	m->length = 0;
	for (uint32_t round = 0; round < rounds; round++) {
		for (uint32_t i = 0; i < m->layout.part_count; i++) {
			const struct bsn_part *part = &m->parts[i];
			for (uint64_t byte = 0; byte < part->bytes; byte++) {
				const uint64_t at =
					part->addr - s->base + round * part->stride + byte;
				assert_true(m->length < AREA);
				m->at[m->length++] = s->at ? s->at[at] : (uint32_t)at;
			}
		}
	}
}

/* Cuts @bytes from @first on into disjoint blocks with gaps, in random order. */
static uint32_t cut(struct bsn_part *parts, const struct space *s, uint32_t first, uint32_t bytes,
		    uint32_t count)
{
	const uint32_t room = bytes / count;

	for (uint32_t i = 0; i < count; i++) {
		const uint32_t length = 1 + random_below(room);
		const uint32_t gap = random_below(room - length + 1);
		parts[i] = (struct bsn_part){ .addr = s->base + first + i * room + gap,
					      .bytes = length,
					      .lkey = s->lkey };
	}
	for (uint32_t i = count - 1; i; i--) {
		const uint32_t other = random_below(i + 1);
		const struct bsn_part part = parts[i];
		parts[i] = parts[other];
		parts[other] = part;
	}
	return count;
}

/* A list; or combs of one stride, whose teeth interlock; or combs apart from each other. */
static void make_model(struct model *m, const struct space *s)
{
	const uint32_t kind = random_below(3);
	uint32_t count = 1 + random_below(MAX_PARTS), rounds = 1, stride = 0;

	if (count > s->bytes)
		count = s->bytes;
	if (kind == 1 &&
	    s->bytes >= 8 * count) { /* half of the bytes at most are blocks of their own */
		stride = 2 * count + random_below(s->bytes / 4 - 2 * count + 1);
		rounds = 1 + random_below(s->bytes / stride);
		cut(m->parts, s, s->first, stride, count);
	} else if (kind == 2 && s->bytes >= 8 * count) {
		const uint32_t each = s->bytes / count;
		rounds = 1 + random_below(each / 4);
		for (uint32_t i = 0; i < count; i++) {
			const uint32_t own = each / rounds;
			m->parts[i] = (struct bsn_part){ .addr = s->base + s->first + i * each,
							 .bytes = 1 + random_below(own),
							 .stride = own,
							 .lkey = s->lkey };
		}
	} else {
		cut(m->parts, s, s->first, s->bytes, count);
	}
	for (uint32_t i = 0; stride && i < count; i++)
		m->parts[i].stride = stride;
	m->layout = (struct bsn_layout_attr){ .parts = m->parts,
					      .part_count = count,
					      .rounds = rounds };
	resolve(m, s);
}

static struct space memory_of(struct bench *b, uint32_t first, uint32_t bytes)
{
	return (struct space){
		.base = b->mem[0]->addr, .lkey = b->mem[0]->lkey, .first = first, .bytes = bytes
	};
}

/* -- moving data ------------------------------------------------------------------------------- */

/* Noise, made once, from anywhere on. */
static void fill(struct bench *b)
{
	static uint8_t noise[2 * BENCH_BYTES];

	if (!noise[0] && !noise[1])
		random_bytes(noise, sizeof(noise));
	for (int end = 0; end < 2; end++)
		memcpy(bench_at(b, end, 0), noise + random_below(BENCH_BYTES), BENCH_BYTES);
}

static void expect_bytes(const uint8_t *got, const uint8_t *at_0, const struct model *m,
			 uint32_t from, uint32_t bytes)
{
	for (uint32_t i = 0; i < bytes; i++)
		if (got[i] != at_0[m->at[from + i]])
			fail_msg("byte %u of %u, %u parts, %u rounds", i, bytes,
				 m->layout.part_count, m->layout.rounds);
}

static struct bsn_wr request(struct bench *b, uint32_t opcode, int end, size_t offset)
{
	return (struct bsn_wr){ .id = 9,
				.opcode = opcode,
				.flags = BSN_F_SIGNALED | BSN_F_RING,
				.remote = bench_remote(b, end, offset) };
}

static void gather(struct bench *b, const struct model *m, const struct bsn_map *map)
{
	const struct bsn_wr wr = request(b, BSN_OPCODE_RDMA_WRITE, 1, FLAT);

	fill(b);
	ok(post_map(b->ep[0], wr, map));
	expect_done(b, b->cq[0], 9, BSN_OPCODE_RDMA_WRITE);
	expect_bytes(bench_at(b, 1, FLAT), bench_at(b, 0, 0), m, 0, m->length);
}

static void scatter(struct bench *b, const struct model *m, const struct bsn_map *map)
{
	static uint8_t wanted[BENCH_BYTES];
	const struct bsn_wr wr = request(b, BSN_OPCODE_RDMA_READ, 1, FLAT);

	fill(b);
	memcpy(wanted, bench_at(b, 0, 0), BENCH_BYTES);
	for (uint32_t i = 0; i < m->length; i++)
		wanted[m->at[i]] = *bench_at(b, 1, FLAT + i);
	ok(post_map(b->ep[0], wr, map));
	expect_done(b, b->cq[0], 9, BSN_OPCODE_RDMA_READ);
	assert_memory_equal(bench_at(b, 0, 0), wanted, BENCH_BYTES);
}

/* The peer reads and writes through the mkey, whole or from an offset on. */
static void reach(struct bench *b, const struct model *m, const struct bsn_map *map)
{
	static uint8_t wanted[BENCH_BYTES];
	const uint32_t from = random_below(m->length), bytes = 1 + random_below(m->length - from);
	const struct bsn_sge flat = bench_sge(b, 1, FLAT, bytes);
	const struct bsn_remote remote = { from, map->mkey->rkey };

	fill(b);
	memcpy(wanted, bench_at(b, 0, 0), BENCH_BYTES);
	for (uint32_t i = 0; i < bytes; i++)
		wanted[m->at[from + i]] = *bench_at(b, 1, FLAT + i);
	ok(bsn_write(b->ep[1], &flat, &remote, 3, BSN_F_SIGNALED | BSN_F_RING));
	expect_done(b, b->cq[1], 3, BSN_OPCODE_RDMA_WRITE);
	assert_memory_equal(bench_at(b, 0, 0), wanted, BENCH_BYTES);
	memset(bench_at(b, 1, FLAT), 0, bytes);
	ok(bsn_read(b->ep[1], &flat, &remote, 4, BSN_F_SIGNALED | BSN_F_RING));
	expect_done(b, b->cq[1], 4, BSN_OPCODE_RDMA_READ);
	expect_bytes(bench_at(b, 1, FLAT), wanted, m, from, bytes);
}

/* On plain verbs a layout may take more requests than the queue has places. */
static bool fits_queue(const struct bench *b, const struct bsn_map *map)
{
	return map->sge_count <= BENCH_DEPTH * b->sq[0]->max_sge;
}

static void refuse_too_many(struct bench *b, const struct bsn_map *map)
{
	const struct bsn_wr wr = request(b, BSN_OPCODE_RDMA_WRITE, 1, FLAT);

	assert_false(has_mkeys(b));
	assert_int_equal(post_map(b->ep[0], wr, map), -EMSGSIZE);
}

static void random_layouts(struct bench *b)
{
	struct bsn_mkey_pool *pool = make_pool(b, 16, 12288);
	unsigned too_many = 0;
	static struct model m;

	for (unsigned round = 0; round < rounds_of(b); round++) {
		const struct space s = memory_of(b, 0, AREA);
		struct bsn_layout *layout;
		const struct bsn_map *map;

		start_round(round);
		make_model(&m, &s);
		ok(bsn_layout_create(pool, &m.layout, &layout));
		ok(bsn_layout_map(layout, b->ep[0], 0, &map));
		assert_int_equal(map->length, m.length);
		if (fits_queue(b, map)) {
			gather(b, &m, map);
			scatter(b, &m, map);
		} else {
			refuse_too_many(b, map);
			too_many++;
		}
		bsn_layout_unmap(map);
		if (has_mkeys(b)) {
			ok(bsn_layout_map(layout, b->ep[0], BSN_MAP_KEY, &map));
			gather(b, &m, map);
			reach(b, &m, map);
			bsn_layout_unmap(map);
		}
		ok(bsn_layout_destroy(layout));
	}
	print_message("# %u layouts, of which %u have too many SGEs for the queue\n", rounds_of(b),
		      too_many);
	ok(bsn_mkey_pool_destroy(pool));
}

/* -- overlaps ---------------------------------------------------------------------------------- */

enum { BLOCKS = 70, CELL = 32 };

static bool do_blocks_meet(const struct bsn_part *a, const struct bsn_part *b, uint32_t rounds)
{
	for (uint32_t i = 0; i < rounds; i++) {
		for (uint32_t j = 0; j < rounds; j++) {
			const uint64_t at = a->addr + i * a->stride, bt = b->addr + j * b->stride;
			if (at < bt + b->bytes && bt < at + a->bytes)
				return true;
		}
	}
	return false;
}

static bool do_any_meet(const struct bsn_layout_attr *layout)
{
	const struct bsn_part *const parts = layout->parts;

	for (uint32_t i = 0; i < layout->part_count; i++)
		for (uint32_t j = 0; j < i; j++)
			if (parts[i].lkey == parts[j].lkey &&
			    do_blocks_meet(&parts[i], &parts[j], layout->rounds))
				return true;
	return false;
}

/*
 * Blocks in cells of their own, in any order, of one piece of memory or of several, of one stride
 * or of several; in some layouts a few are too long for their cells. Unknown memory may be far
 * apart, or all but one block may crowd.
 */
static void make_blocks(struct bench *b, struct bsn_layout_attr *layout, struct bsn_part *parts)
{
	const bool is_known = random_u64() % 2, is_sorted = random_u64() % 3 == 0;
	const uint64_t keys = 1 + random_u64() % 3;
	const bool has_many_strides = random_u64() % 3 == 0;
	const uint64_t apart = is_known || random_u64() % 2 ? CELL : 1ull << 33;
	const uint64_t at = is_known ? b->mem[0]->addr : random_u64() >> 8;
	const uint32_t too_long = random_u64() % 2 ? 8 : 0, count = layout->part_count;

	for (uint32_t i = 0; i < count; i++) {
		const uint32_t other = is_sorted ? i : (uint32_t)(random_u64() % (i + 1));
		parts[i] = parts[other];
		parts[other] = (struct bsn_part){
			.addr = at + i * apart + random_u64() % 4,
			.bytes = 1 + random_u64() % (CELL - 4) + (random_u64() % 16 ? 0 : too_long),
			.stride = count * apart + CELL,
			.lkey = is_known ? b->mem[0]->lkey : 0x7fff0000,
		};
		parts[other].stride += has_many_strides ? CELL * (random_u64() % 3) : 0;
		parts[other].lkey += is_known ? 0 : (uint32_t)(random_u64() % keys) << 8;
	}
	if (!is_known && random_u64() % 4 == 0)
		parts[random_u64() % count].addr += 1ull << 40;
}

static void overlaps_are_found_in_any_order(struct bench *b)
{
	const struct bsn_mkey_pool_attr attr = { .count = 1,
						 .max_translations = 256,
						 .takes_any_lkey = true };
	struct bsn_mkey_pool *pool = make_pool_of(b, &attr);
	unsigned refused = 0;

	for (unsigned round = 0; round < rounds_of(b); round++) {
		struct bsn_part parts[BLOCKS];
		struct bsn_layout_attr layout = { .parts = parts };
		struct bsn_layout *made;
		int err;

		start_round(round);
		layout.part_count = 1 + (uint32_t)(random_u64() % BLOCKS);
		layout.rounds = random_u64() % 2 ? 3 : 1;
		make_blocks(b, &layout, parts);
		err = bsn_layout_create(pool, &layout, &made);
		if (!err)
			ok(bsn_layout_destroy(made));
		if (err != (do_any_meet(&layout) ? -ENOTUNIQ : 0))
			fail_msg("%d: %u parts, %u rounds: %s", err, layout.part_count,
				 layout.rounds, bsn_error_text());
		refused += !!err;
	}
	assert_in_range(refused, 1, rounds_of(b) - 1);
	ok(bsn_mkey_pool_destroy(pool));
}

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
	const struct bsn_map map = {
		.sge = &sge, .sge_count = 1, .length = m->length, .mkey = mkey
	};

	gather(b, m, &map);
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
	struct bsn_mkey *mkey;
	static struct model m;
	struct bsn_mr *twin;

	if (!has_mkeys(b)) {
		ok(bsn_mkey_pool_destroy(pool));
		return;
	}
	ok(bsn_mr_register(b->device, (void *)(uintptr_t)b->mem[0]->addr, AREA, NULL, &twin));
	mr[1] = twin;
	ok(bsn_mkey_take(pool, &mkey));
	for (unsigned round = 0; round < rounds_of(b); round++) {
		const struct space s = memory_of(b, 0, AREA);
		struct bsn_layout *layout;
		int err;

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
		err = bsn_layout_create(pool, &m.layout, &layout);
		if (!has_other_key(&m.layout, mr) && !err != is_right(&m.layout, mr))
			fail_msg("%d (%s): %u parts, %u rounds", err, bsn_error_text(),
				 m.layout.part_count, m.layout.rounds);
		if (!err)
			ok(bsn_layout_destroy(layout));
		refusals += !!err;
		complete_all(b);
	}
	assert_in_range(refusals, rounds_of(b) / 4, rounds_of(b) - 1);
	ok(bsn_mkey_give(mkey));
	ok(bsn_mkey_pool_destroy(pool));
	ok(bsn_mr_deregister(twin));
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
		ok(bsn_mkey_pool_destroy(pool));
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
	ok(bsn_mkey_pool_destroy(pool));
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
		assert_int_equal(bench_reap(b, b->cq[0], &c, 1), 1);
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
	ok(bsn_mkey_pool_destroy(pool));
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
	ok(bsn_mkey_pool_destroy(pool));
}

#define QUEUES                                                                                     \
	.qp = { .max_send_sge = 4, .send_depth = BENCH_DEPTH }, .cq_entries = 512,                 \
	.is_own_only = true

#define LIVES(...)                                                                                 \
	.qp = { .max_send_sge = 4, .send_depth = 2 * BENCH_DEPTH, __VA_ARGS__ },                   \
	.cq_entries = 512, .is_own_only = true

static const struct bench_case cases[] = {
	{ CASE("random layouts", random_layouts), QUEUES },
	{ CASE("overlaps are found in any order", overlaps_are_found_in_any_order), QUEUES },
	{ CASE("configured layouts", configured_layouts), QUEUES },
	{ CASE("nested layouts", nested_layouts), QUEUES },
	{ CASE("layouts under failures", layouts_under_failures), LIVES(.signal_every = 0) },
	{ CASE("layouts under failures, all completing", layouts_under_failures),
	  LIVES(.signal_all = true) },
	{ CASE("layouts under failures, signaled in turn", layouts_under_failures),
	  LIVES(.signal_every = 2) },
	{ CASE("layouts under failures, silent after one", layouts_under_failures),
	  LIVES(.ce_on_first_error = true) },
	{ CASE("many layouts leave nothing", many_layouts_leave_nothing), QUEUES },
};

int main(void)
{
	random_start();
	seed = random_state;
	return bench_run("layouts_random", cases, sizeof(cases) / sizeof(*cases));
}
