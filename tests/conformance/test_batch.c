/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Random batches of random requests, published by one doorbell each, in every setting that changes
 * how WQEs are marked or published.
 */
#include "exchange.h"

#include <stdio.h>

#include "../wqe/random.h"

#define ROUNDS 1500

static const uint32_t opcodes[] = {
#define OPCODE(name, value, doc) value,
	BSN_WQE_OPCODES(OPCODE)
#undef OPCODE
};

static const struct bsn_wqe_op *random_op(void)
{
	for (;;) {
		const struct bsn_wqe_op *op = bsn_wqe_op_find(
			opcodes[random_u64() % (sizeof(opcodes) / sizeof(opcodes[0]))]);

		if (exchange_can(op))
			return op;
	}
}

/* A random size, mostly a small one. */
static unsigned random_size(unsigned most)
{
	const uint64_t dice = random_u64();

	return (unsigned)((dice >> 8) % ((dice % 4 ? (most < 64 ? most / 8 : 64) : most) + 1));
}

static struct shape random_shape(const struct bsn_wqe_op *op)
{
	struct shape shape = { .sges = 1, .bytes = 8 };

	if (op->has_atomic)
		return shape;
	shape.sges = random_size(MAX_SGE);
	shape.is_inline = op->data == BSN_DATA_GATHER && random_u64() % 2;
	shape.has_gap = !shape.is_inline && random_u64() % 4 == 0;
	shape.bytes = shape.is_inline && shape.sges ? random_size(MAX_INLINE) : 0;
	return shape;
}

static void random_batch(void)
{
	const unsigned n = 1 + (unsigned)(random_u64() % MAX_BATCH);
	struct request r[MAX_BATCH];

	for (unsigned i = 0; i < n; i++) {
		const struct bsn_wqe_op *op = random_op();
		const struct shape shape = random_shape(op);
		const unsigned any =
			(unsigned)random_u64() & (BSN_F_SIGNALED | BSN_F_FENCE | BSN_F_SOLICITED);

		exchange_make(&r[i], i, op->opcode, &shape,
			      i + 1 == n ? any | BSN_F_SIGNALED : any);
	}
	exchange_poison();
	exchange_post(r, n);
}

static void run(void **state)
{
	const struct setting *setting = *state;

	exchange_start(setting);
	for (unsigned i = 0; i < ROUNDS; i++)
		random_batch();
	exchange_stop();
}

static const struct setting settings[] = {
#define RC      .type = BSN_QP_RC, .link = CX_LINK_ROCE
#define UD      .type = BSN_QP_UD, .link = CX_LINK_IB
#define BELLS   .is_doorbell_only = true
#define DEFAULT .store = BSN_STORE_8
	{ .name = "RC", RC, DEFAULT },
	{ .name = "UC", .type = BSN_QP_UC, .link = CX_LINK_IB, DEFAULT },
	{ .name = "UD", UD, DEFAULT },
	{ .name = "UD on Ethernet", .type = BSN_QP_UD, .link = CX_LINK_ROCE, DEFAULT },
	{ .name = "all signaled", RC, DEFAULT, .signal_all = true },
	{ .name = "UD, all signaled", UD, DEFAULT, .signal_all = true },
	{ .name = "stores of 16 bytes", RC, .store = BSN_STORE_16 },
	{ .name = "stores by AVX-512", RC, .store = BSN_STORE_AVX512 },
	{ .name = "stores by MOVDIR64B", RC, .store = BSN_STORE_MOVDIR64B },
	{ .name = "stores by ST64B", RC, .store = BSN_STORE_ST64B },
	{ .name = "8-byte doorbells", RC, .store = BSN_STORE_DOORBELL, BELLS },
	{ .name = "8-byte doorbells under a lock", RC, DEFAULT, .is_shared = true, BELLS },
#undef RC
#undef UD
#undef BELLS
#undef DEFAULT
};

enum { SETTINGS = sizeof(settings) / sizeof(settings[0]) };

int main(void)
{
	struct CMUnitTest tests[SETTINGS];
	unsigned n = 0;

	for (unsigned i = 0; i < SETTINGS; i++) {
		if (bsn_store_supported(settings[i].store))
			tests[n++] = UNIT_ROW(settings[i], run);
		else
			fprintf(stderr, "# not on this CPU: %s\n", settings[i].name);
	}
	random_start();
	return _cmocka_run_group_tests("batch", tests, n, NULL, NULL);
}
