/* SPDX-License-Identifier: BSD-2-Clause */
/* Masked atomics do what a loop over the bits does; copies by the NIC copy. */
#include "harness.h"
#include "../wqe/random.h"

enum {
	RESULT = 512,
	TARGET = 1024,
	STATUS = 4096,
	FROM = 8192,
	TO = 16384,
	MOST = 4000,
	ROUNDS = 300
};

static bool is_direct(const struct bench *b)
{
	return b->kind == BENCH_DIRECT || b->kind == BENCH_ATTACHED_DIRECT;
}

static uint64_t load(const void *at, unsigned bytes)
{
	uint64_t value = 0;

	memcpy(&value, at, bytes);
	return bytes == 4 ? (uint32_t)value : value;
}

static uint64_t cut(uint64_t value, unsigned bytes)
{
	return bytes == 4 ? (uint32_t)value : value;
}

/* Adds bit by bit: a carry does not leave its field. The boundary has the top bit of each field. */
static uint64_t add_fields(uint64_t a, uint64_t b, uint64_t boundary, unsigned bytes)
{
	uint64_t sum = 0, carry = 0;

	for (unsigned bit = 0; bit < 8 * bytes; bit++) {
		const uint64_t ones = (a >> bit & 1) + (b >> bit & 1) + carry;
		sum |= (ones & 1) << bit;
		carry = boundary >> bit & 1 ? 0 : ones >> 1;
	}
	return sum;
}

/* A result of 4 bytes is big-endian; one of 8 bytes is in the order that the device reports. */
static uint64_t result_of(struct bench *b, unsigned bytes)
{
	const uint8_t *at = bench_at(b, 0, RESULT);

	if (bytes == 4)
		return bsn_load_be32(at);
	return bench_info(b)->atomics_are_big_endian ? bsn_load_be64(at) : load(at, bytes);
}

static void expect(struct bench *b, unsigned opcode, uint64_t before, uint64_t after,
		   unsigned bytes)
{
	expect_done(b, b->cq[0], 7, opcode);
	assert_int_equal(result_of(b, bytes), cut(before, bytes));
	assert_int_equal(load(bench_at(b, 1, TARGET), bytes), cut(after, bytes));
}

static void swap_once(struct bench *b, unsigned bytes)
{
	const struct bsn_remote remote = bench_remote(b, 1, TARGET);
	struct bsn_masked_cs cs = { .swap = random_u64(),
				    .swap_mask = random_u64(),
				    .compare = random_u64(),
				    .compare_mask = random_u64() };
	const uint64_t before = random_u64();
	uint64_t after = before;

	if (random_u64() % 2)
		cs.compare = (before & cs.compare_mask) | (cs.compare & ~cs.compare_mask);
	if (!cut((before ^ cs.compare) & cs.compare_mask, bytes))
		after = (before & ~cs.swap_mask) | (cs.swap & cs.swap_mask);
	memcpy(bench_at(b, 1, TARGET), &before, bytes);
	ok(bsn_masked_cmp_swap(b->ep[0], SGE(b, 0, RESULT, bytes), &remote, &cs, bytes, 7, NOW));
	expect(b, BSN_OPCODE_ATOMIC_MASKED_CS, before, after, bytes);
}

static void add_once(struct bench *b, unsigned bytes)
{
	const struct bsn_remote remote = bench_remote(b, 1, TARGET);
	const struct bsn_masked_fa fa = { random_u64(),
					  random_u64() % 4 ? random_u64() & random_u64() : 0 };
	const uint64_t before = random_u64();
	const uint64_t after = add_fields(before, fa.add, fa.field_boundary, bytes);

	memcpy(bench_at(b, 1, TARGET), &before, bytes);
	ok(bsn_masked_fetch_add(b->ep[0], SGE(b, 0, RESULT, bytes), &remote, &fa, bytes, 7, NOW));
	expect(b, BSN_OPCODE_ATOMIC_MASKED_FA, before, after, bytes);
}

static void masked_atomics(struct bench *b)
{
	const struct bsn_sge result = bench_sge(b, 0, RESULT, 8);
	const struct bsn_remote remote = bench_remote(b, 1, TARGET),
				odd = bench_remote(b, 1, TARGET + 4);
	const struct bsn_masked_fa fa = { 1, 0 };

	if (!is_direct(b)) {
		assert_int_equal(bsn_masked_fetch_add(b->ep[0], &result, &remote, &fa, 8, 7, 0),
				 -EOPNOTSUPP);
		return;
	}
	random_start();
	for (unsigned round = 0; round < bench_rounds(b, ROUNDS); round++) {
		swap_once(b, round % 2 ? 4 : 8);
		add_once(b, round % 2 ? 4 : 8);
	}
	assert_int_equal(bsn_masked_fetch_add(b->ep[0], &result, &remote, &fa, 2, 7, 0), -EINVAL);
	fails(EINVAL, "multiple", bsn_masked_fetch_add(b->ep[0], &result, &odd, &fa, 8, 7, 0));
	expect_nothing(b, b->cq[0]);
}

/*
 * For such a device the kernel reports no atomics, and libmlx5 posts none; but it has masked
 * atomics.
 */
static void big_endian_atomics(struct bench *b)
{
	const struct bsn_sge result = bench_sge(b, 0, RESULT, 8);
	const struct bsn_remote remote = bench_remote(b, 1, TARGET);

	assert_int_equal(bench_info(b)->atomics_are_big_endian, b->kind != BENCH_VERBS);
	assert_int_equal(bsn_fetch_add(b->ep[0], &result, &remote, 1, 7, 0), -EOPNOTSUPP);
	masked_atomics(b);
}

static void host_order_atomics(struct bench *b)
{
	assert_false(bench_info(b)->atomics_are_big_endian);
	masked_atomics(b);
}

static void copies(struct bench *b)
{
	const struct bsn_sge status = bench_sge(b, 0, STATUS, 64);
	struct bsn_sge to = bench_sge(b, 0, TO, 16), from = bench_sge(b, 0, FROM, 16);

	if (!is_direct(b)) {
		assert_int_equal(bsn_memcpy(b->ep[0], &to, &from, &status, 7, 0), -EOPNOTSUPP);
		return;
	}
	random_start();
	for (unsigned round = 0; round < bench_rounds(b, ROUNDS); round++) {
		const uint32_t bytes = 1 + (uint32_t)(random_u64() % MOST);
		to = bench_sge(b, 0, TO + random_u64() % 64, bytes);
		from = bench_sge(b, 0, FROM + random_u64() % 64, bytes);
		random_bytes((void *)(uintptr_t)from.addr, bytes);
		ok(bsn_memcpy(b->ep[0], &to, &from, &status, 7, NOW));
		expect_done(b, b->cq[0], 7, BSN_OPCODE_MMO);
		assert_memory_equal((void *)(uintptr_t)to.addr, (void *)(uintptr_t)from.addr,
				    bytes);
	}
	to.length = 0;
	assert_int_equal(bsn_memcpy(b->ep[0], &to, &from, &status, 7, 0), -EMSGSIZE);
	to.length = from.length + 1;
	assert_int_equal(bsn_memcpy(b->ep[0], &to, &from, &status, 7, 0), -EMSGSIZE);
	to.length = from.length = dv_sq(b->sq[0])->max_copy;
	ok(bsn_memcpy(b->ep[0], &to, &from, &status, 7, 0));
	ok(bsn_cancel(b->ep[0]));
	to.length = ++from.length;
	assert_int_equal(bsn_memcpy(b->ep[0], &to, &from, &status, 7, 0), -EMSGSIZE);
	expect_nothing(b, b->cq[0]);
}

/* Many requests work across the ring's wrap, and when the queue is full. */
static void many_at_once(struct bench *b)
{
	const struct bsn_masked_cs cs = { 1, 0, 0, 0 };
	unsigned posted = 0, done = 0;
	struct bsn_completion c;

	if (!is_direct(b))
		return;
	for (unsigned round = 0; round < 200; round++) {
		while (!bsn_masked_cmp_swap(b->ep[0], SGE(b, 0, RESULT, 8), REMOTE(b, 1, TARGET),
					    &cs, 8, posted, BSN_F_SIGNALED))
			posted++;
		ok(bsn_ring(b->ep[0]));
		while (bench_reap(b, b->cq[0], &c, 1) == 1) {
			assert_int_equal(c.status, 0);
			assert_int_equal(c.id, done++);
		}
		assert_int_equal(done, posted);
	}
	assert_true(posted > 1000);
}

static const struct bench_case cases[] = {
	{ CASE(host_order_atomics), MODEL },
	{ CASE(big_endian_atomics), .big_endian_atomics = true, MODEL },
	{ CASE(copies), MODEL },
	{ CASE(many_at_once), MODEL },
};

BENCH_MAIN("extended")
