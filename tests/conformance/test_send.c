/* SPDX-License-Identifier: BSD-2-Clause */
/* Every kind of send request, with every flag, at every position of the ring. */
#include "exchange.h"

#include <stdio.h>

#include "../share.h"
#include "../wqe/random.h"

#define POINTERS(sges_) { .sges = sges_ }
#define GAP(sges_) { .sges = sges_, .has_gap = true }
#define INLINE(sges_, bytes_) { .sges = sges_, .bytes = bytes_, .is_inline = true }

/* Lengths next to the ends of a unit, of a block and of the register's buffer; empty SGEs. */
static const struct shape shapes[] = {
	POINTERS(0),      POINTERS(1),      POINTERS(2),      POINTERS(3),      POINTERS(MAX_SGE),
	INLINE(1, 0),     INLINE(1, 1),     INLINE(1, 15),    INLINE(1, 16),    INLINE(1, 17),
	INLINE(1, 44),    INLINE(1, MAX_INLINE),
	GAP(1),           GAP(3),           INLINE(0, 0),     INLINE(1, 3),     INLINE(1, 4),
	INLINE(1, 7),     INLINE(1, 8),     INLINE(1, 12),    INLINE(1, 28),    INLINE(1, 29),
	INLINE(1, 45),    INLINE(3, 17),    INLINE(3, 44),    INLINE(1, 188),   INLINE(1, 189),
	INLINE(1, 220),   INLINE(1, 221),   INLINE(1, 236),   INLINE(1, 237),
	INLINE(MAX_SGE, MAX_INLINE),
};
enum { SHAPES = sizeof(shapes) / sizeof(shapes[0]), FLAG_SETS = 8 };
#undef POINTERS
#undef GAP
#undef INLINE

static const struct shape one_place = { .sges = 1, .bytes = 8 };

/*
 * The same request at each position, with one set of flags there, and each set somewhere: each
 * round moves on by the same odd number of blocks, so that as many rounds as the ring has blocks
 * begin once at each.
 */
static void at_every_position(uint32_t opcode, const struct shape *shape, unsigned first_set)
{
	bool seen[RING_BB] = { false };

	for (unsigned round = 0; round < RING_BB; round++) {
		const uint16_t first = x.sender[0].pi;
		const unsigned position = first % RING_BB;
		struct request r;

		assert_false(seen[position]);
		seen[position] = true;
		exchange_poison();
		exchange_make(&r, 0, opcode, shape, flags_of((first_set + position) % FLAG_SETS));
		exchange_post(&r, 1);
		do /* at least one, since the request may be unsignaled */
			exchange_post_filler();
		while (!((uint16_t)(x.sender[0].pi - first) % 2));
	}
}

/*
 * Each set of flags at each position. If a share is enough, there is one set at each position, and
 * each set at an eighth of them.
 */
static void with_every_flag(uint32_t opcode, const struct shape *shape)
{
	const unsigned sets = tests_share() > 1 ? 1 : FLAG_SETS;

	for (unsigned set = 0; set < sets; set++)
		at_every_position(opcode, shape, set);
}

static bool can_have(const struct bsn_wqe_op *op, const struct shape *shape)
{
	return shape->is_inline ? op->data == BSN_DATA_GATHER : !op->has_atomic;
}

static void every_shape(const struct bsn_wqe_op *op)
{
	if (op->has_atomic)
		with_every_flag(op->opcode, &one_place);
	for (unsigned i = 0; i < SHAPES; i++)
		if (can_have(op, &shapes[i]))
			with_every_flag(op->opcode, &shapes[i]);
}

static void every_request(const struct setting *setting, void (*post)(const struct bsn_wqe_op *op))
{
#define OPCODE(name, value, doc) value,
	static const uint32_t opcodes[] = { BSN_WQE_OPCODES(OPCODE) };
#undef OPCODE
	exchange_start(setting);
	for (unsigned i = 0; i < sizeof(opcodes) / sizeof(opcodes[0]); i++) {
		const struct bsn_wqe_op *op = bsn_wqe_op_find(opcodes[i]);
		if (exchange_can(op))
			post(op);
	}
	exchange_stop();
}

static void each_request(void **state)
{
	every_request(*state, every_shape);
}

/* Publishes each shape by each store, or, if a share is enough, by some of them. */
static void by_store(const struct bsn_wqe_op *op)
{
	const unsigned share = tests_share();
	unsigned n = (unsigned)x.setting->store + op->opcode;

	if (op->has_atomic)
		at_every_position(op->opcode, &one_place, 0);
	for (unsigned i = 0; i < SHAPES; i++)
		if (can_have(op, &shapes[i]) && n++ % share == 0)
			at_every_position(op->opcode, &shapes[i], 0);
}

static void by_every_store(void **state)
{
	static const struct setting transports[] = {
		{ .type = BSN_QP_RC, .link = CX_LINK_ROCE },
		{ .type = BSN_QP_UC, .link = CX_LINK_IB },
		{ .type = BSN_QP_UD, .link = CX_LINK_IB },
		{ .type = BSN_QP_UD, .link = CX_LINK_ROCE },
	};

	for (enum bsn_store store = BSN_STORE_16; store < BSN_STORE_COUNT; store++)
		for (unsigned i = 0; i < sizeof(transports) / sizeof(transports[0]); i++) {
			struct setting setting = transports[i];
			setting.store = store;
			setting.is_doorbell_only = store == BSN_STORE_DOORBELL;
			if (bsn_store_supported(store))
				every_request(&setting, by_store);
			else
				fprintf(stderr, "# not on this CPU: %s\n", bsn_store_name(store));
		}
}

static const struct setting settings[] = {
#define SETTING(name_, type_, link_)                                                               \
	{ .name = name_, .type = type_, .link = link_, .store = BSN_STORE_8 }
	SETTING("reliable", BSN_QP_RC, CX_LINK_IB),
	SETTING("unreliable", BSN_QP_UC, CX_LINK_ROCE),
	SETTING("datagrams_on_infiniband", BSN_QP_UD, CX_LINK_IB),
	SETTING("datagrams_on_ethernet", BSN_QP_UD, CX_LINK_ROCE),
#undef SETTING
};

enum { SETTINGS = sizeof(settings) / sizeof(settings[0]) };

int main(int argc, char **argv)
{
	struct CMUnitTest tests[SETTINGS + 1] = { [SETTINGS] = UNIT(by_every_store) };

	for (unsigned i = 0; i < SETTINGS; i++)
		tests[i] = UNIT_ROW(settings[i], each_request);
	random_start();
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
