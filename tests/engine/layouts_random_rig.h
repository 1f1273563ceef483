/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Random layouts, of memory and of other layouts: what is gathered and scattered through them, by
 * us and by the peer, is what a plain copy, byte by byte, gives.
 *
 * BSN_SEED repeats a run; BSN_ROUNDS is how often it is as long.
 */
#ifndef TESTS_ENGINE_LAYOUTS_RANDOM_RIG_H
#define TESTS_ENGINE_LAYOUTS_RANDOM_RIG_H

#include "layouts_rig.h"

#include <malloc.h>

#include "../wqe/random.h"

enum {
	AREA = 24576, /* of end 0: what layouts are cut out of */
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
static inline void start_round(unsigned round)
{
	random_state = (seed ^ (round + 1) * 0x9e3779b97f4a7c15ull) | 1;
	random_u64();
}

static inline unsigned rounds_of(struct bench *b)
{
	const char *wanted = getenv("BSN_ROUNDS");

	return bench_rounds(b, ROUNDS * (wanted ? (unsigned)strtoul(wanted, NULL, 0) : 1));
}

static inline uint32_t random_below(uint32_t n)
{
	return n ? (uint32_t)(random_u64() % n) : 0;
}

/* -- models ------------------------------------------------------------------------------------ */

/* What the parts say, byte by byte. */
static inline void resolve(struct model *m, const struct space *s)
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
static inline uint32_t cut(struct bsn_part *parts, const struct space *s, uint32_t first,
			   uint32_t bytes, uint32_t count)
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
static inline void make_model(struct model *m, const struct space *s)
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
	m->layout = layout_of(m->parts, count, rounds);
	resolve(m, s);
}

static inline struct space memory_of(struct bench *b, uint32_t first, uint32_t bytes)
{
	return (struct space){
		.base = b->mem[0]->addr, .lkey = b->mem[0]->lkey, .first = first, .bytes = bytes
	};
}

/* -- moving data ------------------------------------------------------------------------------- */

/* Noise, made once, from anywhere on. */
static inline void fill(struct bench *b)
{
	static uint8_t noise[2 * BENCH_BYTES];

	if (!noise[0] && !noise[1])
		random_bytes(noise, sizeof(noise));
	for (int end = 0; end < 2; end++)
		memcpy(bench_at(b, end, 0), noise + random_below(BENCH_BYTES), BENCH_BYTES);
}

static inline void expect_bytes(const uint8_t *got, const uint8_t *at_0, const struct model *m,
				uint32_t from, uint32_t bytes)
{
	for (uint32_t i = 0; i < bytes; i++)
		if (got[i] != at_0[m->at[from + i]])
			fail_msg("byte %u of %u, %u parts, %u rounds", i, bytes,
				 m->layout.part_count, m->layout.rounds);
}

static inline struct bsn_wr request(struct bench *b, uint32_t opcode, int end, size_t offset)
{
	return (struct bsn_wr){
		.id = 9, .opcode = opcode, .flags = NOW, .remote = bench_remote(b, end, offset)
	};
}

static inline void gather(struct bench *b, const struct model *m, const struct bsn_map *map)
{
	const struct bsn_wr wr = request(b, BSN_OPCODE_RDMA_WRITE, 1, FLAT);

	fill(b);
	ok(post_map(b->ep[0], wr, map));
	expect_done(b, b->cq[0], 9, BSN_OPCODE_RDMA_WRITE);
	expect_bytes(bench_at(b, 1, FLAT), bench_at(b, 0, 0), m, 0, m->length);
}

static inline void scatter(struct bench *b, const struct model *m, const struct bsn_map *map)
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
static inline void reach(struct bench *b, const struct model *m, const struct bsn_map *map)
{
	static uint8_t wanted[BENCH_BYTES];
	const uint32_t from = random_below(m->length), bytes = 1 + random_below(m->length - from);
	const struct bsn_sge flat = bench_sge(b, 1, FLAT, bytes);
	const struct bsn_remote remote = { from, map->mkey->rkey };

	fill(b);
	memcpy(wanted, bench_at(b, 0, 0), BENCH_BYTES);
	for (uint32_t i = 0; i < bytes; i++)
		wanted[m->at[from + i]] = *bench_at(b, 1, FLAT + i);
	ok(bsn_write(b->ep[1], &flat, &remote, 3, NOW));
	expect_done(b, b->cq[1], 3, BSN_OPCODE_RDMA_WRITE);
	assert_memory_equal(bench_at(b, 0, 0), wanted, BENCH_BYTES);
	memset(bench_at(b, 1, FLAT), 0, bytes);
	ok(bsn_read(b->ep[1], &flat, &remote, 4, NOW));
	expect_done(b, b->cq[1], 4, BSN_OPCODE_RDMA_READ);
	expect_bytes(bench_at(b, 1, FLAT), wanted, m, from, bytes);
}

/* -- overlaps ---------------------------------------------------------------------------------- */

static inline bool do_blocks_meet(const struct bsn_part *a, const struct bsn_part *b,
				  uint32_t rounds)
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

static inline bool do_any_meet(const struct bsn_layout_attr *layout)
{
	const struct bsn_part *const parts = layout->parts;

	for (uint32_t i = 0; i < layout->part_count; i++) {
		if (layout->rounds > 1 && parts[i].stride < parts[i].bytes)
			return true;
		for (uint32_t j = 0; j < i; j++)
			if (parts[i].lkey == parts[j].lkey &&
			    do_blocks_meet(&parts[i], &parts[j], layout->rounds))
				return true;
	}
	return false;
}

#endif
