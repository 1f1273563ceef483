/* SPDX-License-Identifier: BSD-2-Clause */
/* Layouts that are refused, with nothing half-configured. */
#include "datasheet.h"
#include "layouts_rig.h"

/* -- layouts ----------------------------------------------------------------------------------- */

static void bad_layouts_are_refused(struct bench *b)
{
	struct bsn_mkey_pool *pool = make_pool(b, 4, 16);
	const struct bsn_part good = column(b, 0);
	struct bsn_part parts[20], part = good;
	struct bsn_mr *other;
	struct bsn_mr_attr attr = { 0 };

	refused(b, pool, ENODATA, "empty", layout_of(&part, 0, 1));
	refused(b, pool, EINVAL, "part", layout_of(NULL, 1, 1));
	part.bytes = 0;
	refused(b, pool, ENODATA, "empty", layout_of(&part, 1, 4));
	part = good;
	part.stride = 7;
	refused(b, pool, ENOTUNIQ, "overlap", layout_of(&part, 1, 4));
	part.stride = UINT64_MAX / 2;
	refused(b, pool, EOVERFLOW, "64 bits", layout_of(&part, 1, 4));
	part = good;
	part.addr = UINT64_MAX - 2;
	refused(b, pool, EOVERFLOW, "64 bits", layout_of(&part, 1, 1));
	part = good;
	refused(b, pool, EFAULT, "outside", layout_of(&part, 1, 1 + BENCH_BYTES / 256));
	part.addr -= 1;
	refused(b, pool, EFAULT, "outside", layout_of(&part, 1, 1));
	part = good;
	part.reserved = 1;
	refused(b, pool, EINVAL, "initialized", layout_of(&part, 1, 1));
	/* Combs of two strides: some teeth meet, or none. */
	parts[0] = parts[1] = good;
	parts[1].addr += 128;
	parts[1].stride = 256 + 128;
	refused(b, pool, ENOTUNIQ, "overlap", layout_of(parts, 2, 3));
	parts[1].stride = 512;
	ok(bsn_layout_destroy(make_layout(pool, parts, 2, 3)));
	parts[0] = parts[1] = good;
	parts[1].addr += 7;
	refused(b, pool, ENOTUNIQ, "overlap", layout_of(parts, 2, 1));
	refused(b, pool, ENOTUNIQ, "overlap", layout_of(parts, 2, 4));
	parts[1].addr += 256 - 8;
	refused(b, pool, ENOTUNIQ, "overlap", layout_of(parts, 2, 4));
	for (uint32_t i = 0; i < 20; i++)
		parts[i] = column(b, i);
	refused(b, pool, EMSGSIZE, "max_translations", layout_of(parts, 20, 2));
	struct bsn_pd *pd = bench_pd(b);
	attr.pd = pd;
	ok(bsn_buf_alloc(b->device, 4096, &attr, &other));
	part = (struct bsn_part){ .addr = other->addr, .bytes = 8, .lkey = other->lkey };
	refused(b, pool, EACCES, "protection domain", layout_of(&part, 1, 1));
	ok(bsn_buf_free(other));
	refused(b, pool, ENOENT, "deregistered", layout_of(&part, 1, 1));
}

/* Of two keys in turn each key's parts have to be apart, whatever those of the other one are. */
static void neighbours_of_one_key_meet(struct bench *b)
{
	struct bsn_mkey_pool *pool = make_pool(b, 4, 16);
	const struct bsn_layout_attr attr = { .part_count = 8, .rounds = 1 };
	struct bsn_layout_attr layout = attr;
	struct bsn_part parts[8];
	struct bsn_mr *twin = bench_mr(b, bench_at(b, 0, 0), 4096, NULL);

	layout.parts = parts;
	for (uint32_t i = 0; i < 8; i++) {
		parts[i] = column(b, i / 2);
		parts[i].lkey = i % 2 ? twin->lkey : parts[i].lkey;
	}
	ok(bsn_layout_destroy(make_layout(pool, parts, 8, 1)));
	for (uint32_t i = 2; i < 8; i++) {
		const struct bsn_part good = parts[i];
		parts[i].addr = parts[i - 2].addr + 1;
		refused(b, pool, ENOTUNIQ, "overlap", layout);
		parts[i].addr = parts[(i + 4) % 8].addr;
		refused(b, pool, ENOTUNIQ, "overlap", layout);
		parts[i] = good;
	}
}

/* What can be wrong with one part of many. */
static const struct defect {
	int error;
	struct bsn_part change; /* added to the part */
} defects[] = {
	{ ENODATA, { .bytes = -16ull } },      /* empty */
	{ ENOTUNIQ, { .bytes = 1ull << 20 } }, /* over those behind it, or out of memory */
	{ ENOTUNIQ, { .addr = -64ull } },      /* where the one before is, or before the memory */
	{ EFAULT, { .addr = 1ull << 30 } },    { EFAULT, { .addr = 1ull << 63 } },
	{ EFAULT, { .addr = -(1ull << 40) } }, { EOVERFLOW, { .bytes = -17ull } },
	{ ENOENT, { .lkey = 0x12345600 } },    { EINVAL, { .reserved = 1 } },
};

/* Whether it is refused; errors of several kinds meet at the ends of the memory. */
static void expect_refusal(struct bsn_mkey_pool *pool, struct bsn_layout_attr attr, int error)
{
	struct bsn_layout *layout = NULL;
	const int err = bsn_layout_create(pool, &attr, &layout);

	if (err != -error && err != -ENOTUNIQ && err != -EFAULT && err != -EOVERFLOW)
		fail_msg("%d, not -%d: %u parts, %u rounds", err, error, attr.part_count,
			 attr.rounds);
	assert_null(layout);
}

static void break_each(struct bsn_mkey_pool *pool, struct bsn_layout_attr layout,
		       struct bsn_part *parts)
{
	for (uint32_t i = 0; i < layout.part_count; i++) {
		for (size_t d = 0; d < COUNT(defects); d++) {
			const struct bsn_part good = parts[i], *change = &defects[d].change;
			parts[i].addr += change->addr;
			parts[i].bytes += change->bytes;
			parts[i].lkey += change->lkey;
			parts[i].reserved += change->reserved;
			expect_refusal(pool, layout, defects[d].error);
			parts[i] = good;
		}
	}
}

/* No two of what can be wrong with a layout have one error. */
static void each_defect_has_an_error_of_its_own(struct bench *b)
{
	static const uint32_t longer = 20;
	struct bsn_mkey_pool *pool = make_pool(b, 1, 16);
	const struct bsn_part good = column(b, 0);
	struct bsn_part empty = good, overlapping = good, gone = good, far = good, wide = good,
			many[20];
	const struct bsn_layout_attr bad[] = {
		layout_of(&empty, 1, 4), layout_of(&overlapping, 1, 4), layout_of(&gone, 1, 4),
		layout_of(&far, 1, 4),   layout_of(&wide, 1, 4),        layout_of(many, longer, 4)
	};
	int errors[COUNT(bad) + 1];
	const struct bsn_map *map, *other;
	struct bsn_layout *layout;
	size_t count = 0;

	empty.bytes = 0;
	overlapping.stride = overlapping.bytes - 1;
	gone.lkey ^= 0x12345600;
	far.addr -= 1;
	wide.stride = UINT64_MAX / 2;
	for (uint32_t i = 0; i < longer; i++)
		many[i] = column(b, i);
	for (; count < COUNT(bad); count++)
		errors[count] = bsn_layout_create(pool, &bad[count], &layout);
	ok(try_map(b, pool, layout_of(&good, 1, 5), 0, &map));
	if (has_mkeys(b)) {
		struct bsn_part second = column(b, 1);
		errors[count++] = try_map(b, pool, layout_of(&second, 1, 5), 0, &other);
	}
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j <= i; j++)
			assert_true(errors[i] < 0 && (i == j || errors[i] != errors[j]));
	complete_all(b);
	drop(map);
}

/* Wherever it is, in layouts of every number of parts, of one round and of several. */
static void every_part_is_checked(struct bench *b)
{
	struct bsn_mkey_pool *pool = make_pool(b, 64, 64);
	const struct bsn_map *map;
	struct bsn_part parts[11];

	for (uint32_t count = 1; count <= 11; count++) {
		for (uint32_t rounds = 1; rounds <= 3; rounds += 2) {
			const struct bsn_layout_attr layout = layout_of(parts, count, rounds);
			for (uint32_t i = 0; i < count; i++)
				parts[i] = (struct bsn_part){ .addr = b->mem[0]->addr + 64 * i,
							      .bytes = 16,
							      .stride = 1024,
							      .lkey = b->mem[0]->lkey };
			break_each(pool, layout, parts);
			ok(try_map(b, pool, layout, 0, &map));
			assert_int_equal(map->length, 16 * count * rounds);
			drop(map);
			complete_all(b);
		}
	}
}

/* A layout over memory that went is refused, and so is a new one. */
static void memory_that_went_is_not_used(struct bench *b)
{
	struct bsn_mkey_pool *pool = make_pool(b, 4, 16);
	const struct bsn_map *map;
	struct bsn_mkey *mkey;
	struct bsn_mr *mr;

	ok(bsn_buf_alloc(b->device, 4096, NULL, &mr));
	struct bsn_part part = { mr->addr, 8, 64, mr->lkey, 0 };
	struct bsn_layout *layout = make_layout(pool, &part, 1, 16);
	ok(bsn_layout_map(layout, b->ep[0], 0, &map));
	complete_all(b);
	bsn_layout_unmap(map);
	ok(bsn_buf_free(mr));
	fails(ENOENT, "deregistered", bsn_layout_map(layout, b->ep[0], 0, &map));
	if (has_mkeys(b)) {
		ok(bsn_mkey_take(pool, &mkey));
		assert_int_equal(bsn_mkey_configure(b->ep[0], mkey, layout, 1, 0), -ENOENT);
		ok(bsn_mkey_give(mkey));
	}
	ok(bsn_layout_destroy(layout));
	refused(b, pool, ENOENT, "deregistered", layout_of(&part, 1, 16));
}

/* Other memory that has got the same key: what the layout reaches must be in there. */
static void a_key_that_came_again_is_looked_at(struct bench *b)
{
	struct bsn_mkey_pool *pool = make_pool(b, 4, 16);
	uint8_t *const memory = (uint8_t *)(uintptr_t)b->mem[0]->addr;
	const struct bsn_map *map;
	struct bsn_mr *mr;

	ok(bsn_mr_register(b->device, memory, 4096, NULL, &mr));
	uint32_t lkey = mr->lkey;
	struct bsn_part part = { mr->addr, 8, 64, lkey, 0 };
	struct bsn_layout *layout = keep_layout(b, pool, &part, 1, 16);
	ok(bsn_mr_deregister(mr));
	ok(bsn_mr_register(b->device, memory, 512, NULL, &mr));
	int err = bsn_layout_map(layout, b->ep[0], 0, &map);
	assert_int_equal(err, mr->lkey == lkey ? -EFAULT : -ENOENT);
	ok(bsn_mr_deregister(mr));
}

/* -- nothing half-configured ------------------------------------------------------------------- */

static void expect_no_change(struct bench *b, struct bsn_mkey *mkey, struct bsn_mkey_pool *pool,
			     struct bsn_layout_attr layout, int error)
{
	const uint32_t outstanding = bsn_sq_outstanding_bb(b->sq[0]);
	const struct bsn_mkey before = *mkey;
	const int err = configure_by(b, mkey, pool, layout, NOW);

	if (err != -error)
		fail_msg("%d, not -%d: %s", err, error, bsn_error_text());
	assert_true(strlen(bsn_error_text()) > 0);
	assert_memory_equal(mkey, &before, sizeof(before));
	assert_int_equal(bsn_mkey_state(mkey), BSN_MKEY_READY);
	assert_int_equal(bsn_sq_outstanding_bb(b->sq[0]), outstanding);
}

static void refusals_change_nothing(struct bench *b)
{
	struct bsn_mkey_pool *pool = make_pool(b, 2, 16);
	const struct bsn_part good = column(b, 0);
	struct bsn_part part[20];
	struct bsn_mkey *mkey = take_mkey(b, pool);

	configure(b, mkey, pool, layout_of(&good, 1, 4));
	for (uint32_t i = 0; i < 20; i++)
		part[i] = column(b, i);
	expect_no_change(b, mkey, pool, layout_of(part, 0, 1), ENODATA);
	expect_no_change(b, mkey, pool, layout_of(part, 20, 4), EMSGSIZE);
	part->bytes = 0;
	expect_no_change(b, mkey, pool, layout_of(part, 1, 4), ENODATA);
	part->bytes = 300;
	expect_no_change(b, mkey, pool, layout_of(part, 1, 4), ENOTUNIQ);
	*part = good;
	part->stride = UINT64_MAX / 2;
	expect_no_change(b, mkey, pool, layout_of(part, 1, 4), EOVERFLOW);
	*part = good;
	expect_no_change(b, mkey, pool, layout_of(part, 1, BENCH_BYTES / 256 + 1), EFAULT);
	part->lkey ^= 0x12345600;
	expect_no_change(b, mkey, pool, layout_of(part, 1, 4), ENOENT);
	*part = (struct bsn_part){ .bytes = 8, .lkey = mkey->lkey };
	expect_no_change(b, mkey, pool, layout_of(part, 1, 1), ELOOP);
	write_by_peer(b, mkey->rkey, 8, IBV_WC_SUCCESS);
	assert_memory_equal(bench_at(b, 0, 0), bench_at(b, 1, FLAT), 8);
	assert_int_equal(bsn_mkey_pool_destroy(pool), -EBUSY);
}

/*
 * Wherever it is among parts of the pool's own, in the order of memory or another, of one round or
 * two.
 */
static void another_domains_memory_is_refused(struct bench *b)
{
	struct bsn_mkey_pool *pool = make_pool(b, 2, 16);
	const struct bsn_part good = column(b, 0);
	struct bsn_mr_attr attr = { 0 };
	struct bsn_part part[12];

	attr.pd = bench_pd(b);
	struct bsn_mr *other = bench_buf(b, 4096, &attr);
	struct bsn_mkey *mkey = take_mkey(b, pool);
	configure(b, mkey, pool, layout_of(&good, 1, 2));
	for (uint32_t i = 0; i < 64; i++) {
		const uint32_t count = 1 + i % 12, which = i % 4, rounds = 1 + i / 32;
		for (uint32_t j = 0; j < count; j++) {
			part[j] = column(b, which % 2 ? j : count - j);
			if (j == i % count || (which > 1 && j % 2 == i % count % 2)) {
				part[j].lkey = other->lkey;
				part[j].addr = other->addr + 8 * j;
			}
		}
		expect_no_change(b, mkey, pool, layout_of(part, count, rounds), EACCES);
	}
}

/* The only mkey of a pool is there again after each refusal. */
static void a_refused_layout_gives_its_mkey_back(struct bench *b)
{
	struct bsn_mkey_pool *pool = make_pool(b, 1, 16);
	const struct bsn_part good = column(b, 0),
			      bad = { .addr = 1, .bytes = 8, .lkey = good.lkey };
	struct bsn_layout *layout = make_layout(pool, &good, 1, 16);
	const struct bsn_map *map, *other;
	struct bsn_mkey *mkey;

	for (unsigned i = 0; i < 16; i++)
		refused(b, pool, EFAULT, "outside", layout_of(&bad, 1, 1));
	ok(bsn_layout_map(layout, b->ep[0], 0, &map));
	if (has_mkeys(b)) {
		other = NULL;
		assert_int_equal(try_map(b, pool, layout_of(&good, 1, 15), 0, &other), -ENOBUFS);
		assert_null(other);
		assert_int_equal(bsn_mkey_take(pool, &mkey), -ENOBUFS);
	}
	complete_all(b);
	bsn_layout_unmap(map);
	if (has_mkeys(b)) {
		ok(bsn_mkey_take(pool, &mkey));
		fails(ENOBUFS, "in use", bsn_layout_map(layout, b->ep[0], 0, &map));
		ok(bsn_mkey_give(mkey));
	}
	ok(bsn_layout_map(layout, b->ep[0], 0, &map));
	complete_all(b);
	drop(map);
}

static void a_full_queue_changes_nothing(struct bench *b)
{
	struct bsn_mkey_pool *pool = make_pool(b, 2, 16);
	const struct bsn_part part[2] = { column(b, 0), column(b, 1) };
	int err = 0;
	struct bsn_mkey *mkey = take_mkey(b, pool);

	configure(b, mkey, pool, layout_of(part, 1, 16));
	while (!err)
		err = bsn_write(b->ep[0], SGE(b, 0, 0, 8), REMOTE(b, 1, 64), 1, 0);
	assert_int_equal(err, -EAGAIN);
	expect_no_change(b, mkey, pool, layout_of(part, 2, 16), EAGAIN);
	refused(b, pool, EAGAIN, "full", layout_of(part, 2, 16));
	ok(bsn_ring(b->ep[0]));
	bench_settle(b);
	assert_int_equal(bsn_poll(b->cq[0], &(struct bsn_completion){ 0 }, 1), 0);
	configure(b, mkey, pool, layout_of(part, 2, 16));
}

static const struct bench_case cases[] = {
	{ CASE(bad_layouts_are_refused), QUEUES },
	{ CASE(each_defect_has_an_error_of_its_own), QUEUES },
	{ CASE(every_part_is_checked), QUEUES },
	{ CASE(neighbours_of_one_key_meet), QUEUES },
	{ CASE(memory_that_went_is_not_used), QUEUES },
	{ CASE(a_key_that_came_again_is_looked_at), QUEUES },
	{ CASE(refusals_change_nothing), QUEUES, DIRECT },
	{ CASE(another_domains_memory_is_refused), QUEUES, DIRECT },
	{ CASE(a_refused_layout_gives_its_mkey_back), QUEUES },
	{ CASE(a_full_queue_changes_nothing), QUEUES, DIRECT },
};

BENCH_MAIN("layouts_bad")
