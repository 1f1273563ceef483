/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Layouts: what is gathered and scattered through them is what a plain copy, byte by byte, gives; and what is
 * refused changes nothing.
 */
#include "harness.h"

#include <malloc.h>

#include "../wqe/random.h"
#include "bsn_mkey.h"

enum {
	AREA = 24576,    /* of end 0: what layouts are cut out of */
	FLAT = 30000,    /* of end 1: the bytes in order */
	MAX_PARTS = 24,
	MAX_DEPTH = 3,
	ROUNDS = 400,
	MANY_LAYOUTS = 100000,
	MANY_KEYS = 24,
};

/* A layout, and where each of its bytes is in end 0's memory. */
struct model {
	struct bsn_layout layout;
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

static uint32_t random_below(uint32_t n)
{
	return n ? (uint32_t)(random_u64() % n) : 0;
}

/* -- models ----------------------------------------------------------------------------------------- */

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
	if (kind == 1 && s->bytes >= 8 * count) { /* half of the bytes at most are blocks of their own */
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
	m->layout = (struct bsn_layout){ m->parts, count, rounds };
	resolve(m, s);
}

static struct space memory_of(struct bench *b, uint32_t first, uint32_t bytes)
{
	return (struct space){ .base = b->mem[0]->addr,
			       .lkey = b->mem[0]->lkey,
			       .first = first,
			       .bytes = bytes };
}

/* -- moving data -------------------------------------------------------------------------------------- */

static void fill(struct bench *b)
{
	random_bytes(bench_at(b, 0, 0), BENCH_BYTES);
	random_bytes(bench_at(b, 1, 0), BENCH_BYTES);
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
	ok(bsn_post_map(b->ep[0], &wr, map));
	expect_done(b, b->cq[0], 9, BSN_OPCODE_RDMA_WRITE);
	for (uint32_t i = 0; i < m->length; i++)
		assert_int_equal(*bench_at(b, 1, FLAT + i), *bench_at(b, 0, m->at[i]));
}

static void scatter(struct bench *b, const struct model *m, const struct bsn_map *map)
{
	static uint8_t wanted[BENCH_BYTES];
	const struct bsn_wr wr = request(b, BSN_OPCODE_RDMA_READ, 1, FLAT);

	fill(b);
	memcpy(wanted, bench_at(b, 0, 0), BENCH_BYTES);
	for (uint32_t i = 0; i < m->length; i++)
		wanted[m->at[i]] = *bench_at(b, 1, FLAT + i);
	ok(bsn_post_map(b->ep[0], &wr, map));
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
	for (uint32_t i = 0; i < bytes; i++)
		assert_int_equal(*bench_at(b, 1, FLAT + i), wanted[m->at[from + i]]);
}

static bool has_mkeys(const struct bench *b)
{
	return bsn_device_info(b->device)->path == BSN_PATH_DIRECT;
}

/* A pool, or the test is skipped: a device may have no UMR. */
static struct bsn_mkey_pool *make_pool(struct bench *b, uint32_t count, uint32_t translations)
{
	const struct bsn_mkey_pool_attr attr = { .count = count, .max_translations = translations };
	struct bsn_mkey_pool *pool;
	const int err = bsn_mkey_pool_create(b->device, &attr, &pool);

	if (err == -EOPNOTSUPP || err == -EPERM) {
		fprintf(stderr, "# %s\n", bsn_error_text());
		skip();
	}
	ok(err);
	return pool;
}

static void random_layouts(struct bench *b)
{
	struct bsn_mkey_pool *pool = make_pool(b, 16, 12288);
	static struct model m;

	random_start();
	for (unsigned round = 0; round < bench_rounds(b, ROUNDS); round++) {
		const struct space s = memory_of(b, 0, AREA);
		const struct bsn_map *map;
		int err;

		make_model(&m, &s);
		err = bsn_layout_map(pool, b->ep[0], &m.layout, 0, &map);
		ok(err);
		assert_int_equal(map->length, m.length);
		if (map->sge_count <= BENCH_DEPTH * b->sq[0]->max_sge) {
			gather(b, &m, map);
			scatter(b, &m, map);
		}
		bsn_layout_unmap(map);
		if (!has_mkeys(b))
			continue;
		ok(bsn_layout_map(pool, b->ep[0], &m.layout, BSN_MAP_KEY, &map));
		gather(b, &m, map);
		reach(b, &m, map);
		bsn_layout_unmap(map);
	}
	ok(bsn_mkey_pool_destroy(pool));
}

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
	random_start();
	for (unsigned round = 0; round < bench_rounds(b, ROUNDS); round++) {
		struct space s = memory_of(b, 0, AREA / 8);
		struct bsn_mkey *mkey[MAX_DEPTH];
		const struct bsn_map *map;

		for (unsigned depth = 0; depth < MAX_DEPTH - 1; depth++) {
			make_model(&m[depth], &s);
			ok(bsn_mkey_take(pool, &mkey[depth]));
			ok(bsn_mkey_configure(b->ep[0], mkey[depth], &m[depth].layout, 0, 0));
			s = (struct space){ .lkey = mkey[depth]->lkey,
					    .at = m[depth].at,
					    .bytes = m[depth].length };
		}
		make_model(&m[MAX_DEPTH - 1], &s);
		ok(bsn_layout_map(pool, b->ep[0], &m[MAX_DEPTH - 1].layout, BSN_MAP_KEY, &map));
		gather(b, &m[MAX_DEPTH - 1], map);
		scatter(b, &m[MAX_DEPTH - 1], map);
		reach(b, &m[MAX_DEPTH - 1], map);
		assert_int_equal(bsn_mkey_give(mkey[0]), -EBUSY);
		bsn_layout_unmap(map);
		assert_int_equal(bsn_mkey_give(mkey[1]), -EBUSY); /* remembered */
		ok(bsn_mkey_pool_forget(pool));
		for (unsigned depth = MAX_DEPTH - 1; depth--;)
			ok(bsn_mkey_give(mkey[depth]));
	}
	ok(bsn_mkey_pool_destroy(pool));
}

/* -- what is remembered ------------------------------------------------------------------------------- */

static struct bsn_part column(struct bench *b, uint32_t n)
{
	return (struct bsn_part){ .addr = b->mem[0]->addr + 8 * n,
				  .bytes = 8,
				  .stride = 256,
				  .lkey = b->mem[0]->lkey };
}

static void a_layout_is_found_again(struct bench *b)
{
	struct bsn_mkey_pool *pool = make_pool(b, 4, 16);
	const struct bsn_map *map[5], *again;
	struct bsn_part part[5];

	for (uint32_t i = 0; i < 4; i++) {
		const struct bsn_layout layout = { &part[i], 1, 16 };
		part[i] = column(b, i);
		ok(bsn_layout_map(pool, b->ep[0], &layout, 0, &map[i]));
		ok(bsn_layout_map(pool, b->ep[0], &layout, 0, &again));
		assert_ptr_equal(map[i], again);
		bsn_layout_unmap(again);
	}
	part[4] = column(b, 4);
	assert_int_equal(bsn_layout_map(pool, b->ep[0], &(struct bsn_layout){ &part[4], 1, 16 }, 0,
					&map[4]),
			 -ENOBUFS);
	assert_non_null(strstr(bsn_error_text(), "in use"));
	assert_int_equal(bsn_mkey_pool_destroy(pool), -EBUSY);
	bsn_layout_unmap(map[2]);
	bsn_layout_unmap(map[1]);
	/* The one that was used least recently makes way. */
	ok(bsn_layout_map(pool, b->ep[0], &(struct bsn_layout){ &part[4], 1, 16 }, 0, &map[4]));
	assert_ptr_equal(map[4], map[2]);
	ok(bsn_layout_map(pool, b->ep[0], &(struct bsn_layout){ &part[1], 1, 16 }, 0, &again));
	assert_ptr_equal(again, map[1]);
	for (uint32_t i = 0; i < 5; i++)
		if (i != 2)
			bsn_layout_unmap(map[i]);
	bsn_sq_ring(b->sq[0]);
	bench_settle(b);
	ok(bsn_mkey_pool_destroy(pool));
}

/* Keys that were seen; how many are new is what is asked for. */
static uint32_t count_key(uint32_t *keys, uint32_t count, uint32_t key)
{
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
	ok(bsn_layout_map(pool, b->ep[0], &m.layout, has_mkeys(b) ? BSN_MAP_KEY : 0, map));
	assert_int_equal((*map)->length, m.length);
}

/* All that was posted by end 0. */
static void complete_all(struct bench *b)
{
	const struct bsn_sge sge = bench_sge(b, 0, 0, 8);
	const struct bsn_remote remote = bench_remote(b, 1, 0);

	ok(bsn_write(b->ep[0], &sge, &remote, 9, BSN_F_SIGNALED | BSN_F_RING));
	expect_done(b, b->cq[0], 9, BSN_OPCODE_RDMA_WRITE);
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
		bsn_layout_unmap(maps[i]);
	return count;
}

/* However many layouts go through a pool, it keeps its mkeys and takes no more memory. */
static void many_layouts_leave_nothing(struct bench *b)
{
	struct bsn_mkey_pool *pool = make_pool(b, MANY_KEYS, 256);
	const unsigned turns = bench_rounds(b, MANY_LAYOUTS / 16);
	uint32_t keys[MANY_KEYS], count = 0;
	size_t before = 0;

	random_start();
	for (unsigned i = 0; i < turns; i++) {
		count = use_sixteen(b, pool, keys, count);
		if (i == turns / 100)
			before = mallinfo2().uordblks;
	}
	if (b->is_model)
		assert_int_equal(mallinfo2().uordblks, before);
	ok(bsn_mkey_pool_destroy(pool));
}

/* -- bad input ---------------------------------------------------------------------------------------- */

static void refused(struct bench *b, struct bsn_mkey_pool *pool, int error, const char *text,
		    struct bsn_layout layout)
{
	const struct bsn_map *map = NULL;

	assert_int_equal(bsn_layout_map(pool, b->ep[0], &layout, 0, &map), -error);
	if (!strstr(bsn_error_text(), text))
		fail_msg("\"%s\" is not in: %s", text, bsn_error_text());
	assert_null(map);
}

static void bad_layouts_are_refused(struct bench *b)
{
	struct bsn_mkey_pool *pool = make_pool(b, 4, 16);
	const struct bsn_part good = column(b, 0);
	struct bsn_part parts[20], part = good;
	struct bsn_mr *other;
	struct bsn_pd *pd;
	struct bsn_mr_attr attr = { 0 };

	refused(b, pool, EINVAL, "part", (struct bsn_layout){ &part, 0, 1 });
	refused(b, pool, EINVAL, "part", (struct bsn_layout){ NULL, 1, 1 });
	part.bytes = 0;
	refused(b, pool, EINVAL, "empty", (struct bsn_layout){ &part, 1, 4 });
	part = good;
	part.stride = 7;
	refused(b, pool, EINVAL, "overlap", (struct bsn_layout){ &part, 1, 4 });
	part.stride = UINT64_MAX / 2;
	refused(b, pool, EOVERFLOW, "64 bits", (struct bsn_layout){ &part, 1, 4 });
	part = good;
	part.addr = UINT64_MAX - 2;
	refused(b, pool, EOVERFLOW, "64 bits", (struct bsn_layout){ &part, 1, 1 });
	part = good;
	refused(b, pool, EFAULT, "outside", (struct bsn_layout){ &part, 1, 1 + BENCH_BYTES / 256 });
	part.addr -= 1;
	refused(b, pool, EFAULT, "outside", (struct bsn_layout){ &part, 1, 1 });
	part = good;
	part.reserved = 1;
	refused(b, pool, EINVAL, "initialized", (struct bsn_layout){ &part, 1, 1 });
	parts[0] = parts[1] = good;
	parts[1].addr += 7;
	refused(b, pool, EINVAL, "overlap", (struct bsn_layout){ parts, 2, 1 });
	refused(b, pool, EINVAL, "overlap", (struct bsn_layout){ parts, 2, 4 });
	parts[1].addr += 256 - 8;
	refused(b, pool, EINVAL, "overlap", (struct bsn_layout){ parts, 2, 4 });
	for (uint32_t i = 0; i < 20; i++)
		parts[i] = column(b, i);
	refused(b, pool, EMSGSIZE, "max_translations", (struct bsn_layout){ parts, 20, 2 });
	ok(bsn_pd_create(b->device, &pd));
	attr.pd = pd;
	ok(bsn_buf_alloc(b->device, 4096, &attr, &other));
	part = (struct bsn_part){ .addr = other->addr, .bytes = 8, .lkey = other->lkey };
	refused(b, pool, EACCES, "protection domain", (struct bsn_layout){ &part, 1, 1 });
	ok(bsn_buf_free(other));
	refused(b, pool, ENOENT, "deregistered", (struct bsn_layout){ &part, 1, 1 });
	ok(bsn_pd_destroy(pd));
	ok(bsn_mkey_pool_destroy(pool));
}

/* What can be wrong with one part of many. */
static const struct defect {
	int error;
	struct bsn_part change; /* added to the part */
} defects[] = {
	{ EINVAL, { .bytes = -16ull } },            /* empty */
	{ EINVAL, { .bytes = 1ull << 20 } },        /* over those behind it, or out of memory */
	{ EINVAL, { .addr = -64ull } },             /* where the one before is, or before the memory */
	{ EFAULT, { .addr = 1ull << 30 } },
	{ EFAULT, { .addr = 1ull << 63 } },
	{ EFAULT, { .addr = -(1ull << 40) } },
	{ EOVERFLOW, { .bytes = -17ull } },
	{ ENOENT, { .lkey = 0x12345600 } },
	{ EINVAL, { .reserved = 1 } },
};

/* Whether it is refused; errors of several kinds meet at the ends of the memory. */
static void expect_refusal(struct bench *b, struct bsn_mkey_pool *pool, struct bsn_layout layout,
			   int error)
{
	const struct bsn_map *map = NULL;
	const int err = bsn_layout_map(pool, b->ep[0], &layout, 0, &map);

	if (err != -error && err != -EINVAL && err != -EFAULT && err != -EOVERFLOW)
		fail_msg("%d, not -%d: %u parts, %u rounds", err, error, layout.part_count,
			 layout.rounds);
	assert_null(map);
}

static void break_each(struct bench *b, struct bsn_mkey_pool *pool, struct bsn_layout layout,
		       struct bsn_part *parts)
{
	for (uint32_t i = 0; i < layout.part_count; i++) {
		for (size_t d = 0; d < sizeof(defects) / sizeof(*defects); d++) {
			const struct bsn_part good = parts[i], *change = &defects[d].change;
			parts[i].addr += change->addr;
			parts[i].bytes += change->bytes;
			parts[i].lkey += change->lkey;
			parts[i].reserved += change->reserved;
			expect_refusal(b, pool, layout, defects[d].error);
			parts[i] = good;
		}
	}
}

/* Wherever it is, in layouts of every number of parts, of one round and of several. */
static void every_part_is_checked(struct bench *b)
{
	struct bsn_mkey_pool *pool = make_pool(b, 64, 64);
	const struct bsn_map *map;
	struct bsn_part parts[11];

	for (uint32_t count = 1; count <= 11; count++) {
		for (uint32_t rounds = 1; rounds <= 3; rounds += 2) {
			const struct bsn_layout layout = { parts, count, rounds };
			for (uint32_t i = 0; i < count; i++)
				parts[i] = (struct bsn_part){ .addr = b->mem[0]->addr + 64 * i,
							      .bytes = 16,
							      .stride = 1024,
							      .lkey = b->mem[0]->lkey };
			break_each(b, pool, layout, parts);
			ok(bsn_layout_map(pool, b->ep[0], &layout, 0, &map));
			assert_int_equal(map->length, 16 * count * rounds);
			bsn_layout_unmap(map);
			complete_all(b);
		}
	}
	ok(bsn_mkey_pool_destroy(pool));
}

/* A layout over memory that went is not found again. */
static void memory_that_went_is_forgotten(struct bench *b)
{
	struct bsn_mkey_pool *pool = make_pool(b, 4, 16);
	const struct bsn_map *map;
	struct bsn_part part;
	struct bsn_mr *mr;

	ok(bsn_buf_alloc(b->device, 4096, NULL, &mr));
	part = (struct bsn_part){ mr->addr, 8, 64, mr->lkey, 0 };
	ok(bsn_layout_map(pool, b->ep[0], &(struct bsn_layout){ &part, 1, 16 }, 0, &map));
	bsn_sq_ring(b->sq[0]);
	bench_settle(b);
	bsn_layout_unmap(map);
	ok(bsn_buf_free(mr));
	refused(b, pool, ENOENT, "deregistered", (struct bsn_layout){ &part, 1, 16 });
	ok(bsn_mkey_pool_destroy(pool));
}

static void lengths_are_told(struct bench *b)
{
	const struct bsn_part parts[2] = { { .addr = 0, .bytes = 3ull << 31, .stride = 1ull << 40 },
					   { .addr = 1ull << 33, .bytes = 1, .stride = 1ull << 40 } };
	uint64_t bytes;

	(void)b;
	ok(bsn_layout_length(&(struct bsn_layout){ parts, 2, 5 }, &bytes));
	assert_int_equal(bytes, 5 * ((3ull << 31) + 1));
	ok(bsn_layout_length(&(struct bsn_layout){ parts, 2, 0 }, &bytes));
	assert_int_equal(bytes, (3ull << 31) + 1);
	assert_int_equal(bsn_layout_length(NULL, &bytes), -EINVAL);
}

/* -- windows ------------------------------------------------------------------------------------------ */

static void write_through(struct bench *b, const struct bsn_window *window, enum ibv_wc_status status)
{
	const struct bsn_sge flat = bench_sge(b, 1, FLAT, 64);
	const struct bsn_remote remote = { window->addr, window->rkey };

	ok(bsn_write(b->ep[1], &flat, &remote, 3, BSN_F_SIGNALED | BSN_F_RING));
	expect_status(b, b->cq[1], 3, BSN_OPCODE_RDMA_WRITE, status);
}

static void windows_open_and_close(struct bench *b)
{
	const struct bsn_mr_attr attr = { .access = IBV_ACCESS_MW_BIND | IBV_ACCESS_LOCAL_WRITE |
						    IBV_ACCESS_REMOTE_WRITE };
	struct bsn_window *window;
	struct bsn_sge sge;
	struct bsn_mr *mr;
	uint32_t old;

	if (!has_mkeys(b)) {
		assert_int_equal(bsn_window_create(b->device, NULL, &window), -EOPNOTSUPP);
		return;
	}
	ok(bsn_buf_alloc(b->device, 4096, &attr, &mr));
	ok(bsn_window_create(b->device, NULL, &window));
	sge = (struct bsn_sge){ mr->addr + 128, 64, mr->lkey };
	assert_int_equal(bsn_window_bind(b->ep[0], window, &sge, IBV_ACCESS_LOCAL_WRITE, 5, 0),
			 -EINVAL);
	assert_int_equal(bsn_window_invalidate(b->ep[0], window, 5, 0), -EINVAL);
	for (int round = 0; round < 3; round++) {
		old = window->rkey;
		ok(bsn_window_bind(b->ep[0], window, &sge,
				   IBV_ACCESS_REMOTE_WRITE | (round == 2 ? IBV_ACCESS_ZERO_BASED : 0),
				   5, BSN_F_SIGNALED | BSN_F_RING));
		expect_done(b, b->cq[0], 5, BSN_OPCODE_UMR);
		assert_int_not_equal(window->rkey, old);
		assert_int_equal(bsn_window_bind(b->ep[0], window, &sge, IBV_ACCESS_REMOTE_WRITE, 5,
						 0),
				 -EBUSY);
		fill(b);
		write_through(b, window, IBV_WC_SUCCESS);
		assert_memory_equal((void *)(uintptr_t)sge.addr, bench_at(b, 1, FLAT), 64);
		ok(bsn_window_invalidate(b->ep[0], window, 6, BSN_F_SIGNALED | BSN_F_RING));
		expect_done(b, b->cq[0], 6, BSN_OPCODE_UMR);
	}
	write_through(b, window, IBV_WC_REM_ACCESS_ERR);
	ok(bsn_window_destroy(window));
	ok(bsn_buf_free(mr));
}

#define QUEUES .qp = { .max_send_sge = 4, .send_depth = BENCH_DEPTH }, .cq_entries = 512, .is_own_only = true

static const struct bench_case cases[] = {
	{ CASE("lengths_are_told", lengths_are_told), QUEUES },
	{ CASE("random_layouts", random_layouts), QUEUES },
	{ CASE("a_layout_is_found_again", a_layout_is_found_again), QUEUES },
	{ CASE("bad_layouts_are_refused", bad_layouts_are_refused), QUEUES },
	{ CASE("every_part_is_checked", every_part_is_checked), QUEUES },
	{ CASE("memory_that_went_is_forgotten", memory_that_went_is_forgotten), QUEUES },
	{ CASE("many_layouts_leave_nothing", many_layouts_leave_nothing), QUEUES },
	{ CASE("nested_layouts", nested_layouts), QUEUES },
	{ CASE("windows_open_and_close", windows_open_and_close), QUEUES },
};

int main(void)
{
	return bench_run("layouts", cases, sizeof(cases) / sizeof(*cases));
}
