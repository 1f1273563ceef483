/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is in the ring, the record and the register after a post: every operation with every mix of
 * data and flags at every position of the ring, by each way that leads there. Built with
 * BSN_ORDER_TRACE, also in which order it gets there: O1 to O3 of dv/ORDERING.md.
 */
#include "../share.h"
#include "requests.h"

static void every_request_at_every_position(void **state)
{
	struct fake *f = fake_create(NULL);
	unsigned posted = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(opcodes) / sizeof(*opcodes); i++)
		posted += post_everything(f, NULL, opcodes[i], 0, EVERY);
	assert_true(posted > 100000 / EVERY / tests_share());
	fake_destroy(f);
}

/* Where the device's index wraps, which is the poster's own. */
static void indices_wrap(void **state)
{
	struct fake *f = fake_create(NULL);

	(void)state;
	post_everything(f, NULL, BSN_OPCODE_RDMA_WRITE, 0x10000 - RING_BB / 2, EVERY);
	post_everything(f, NULL, BSN_OPCODE_ATOMIC_FA, 0x10000 - RING_BB / 2, EVERY);
	fake_destroy(f);
}

static void every_mode_publishes_the_same(void **state)
{
	static const enum bsn_transport with[] = { BSN_TRANSPORT_RC, BSN_TRANSPORT_UC };
	unsigned modes = 0;

	(void)state;
	for (unsigned mode = 0; mode < 2 * MODES; mode++) {
		const enum bsn_transport transport = with[mode % 2];
		struct fake *f = fake_of_mode(mode / 2, (struct fake_attr){ .transport = transport,
									    .count_bb = RING_BB });

		if (!f)
			continue;
		modes++;
		for (size_t i = 0; i < sizeof(opcodes) / sizeof(*opcodes); i++)
			if (has_op(transport, opcodes[i]))
				post_everything(f, NULL, opcodes[i], 0, FEW);
		fake_destroy(f);
	}
	assert_true(modes >= 2 * 3 * 4);
}

/*
 * The library's turn: what was posted as unsignaled is in the ring and in the register as a
 * signaled request, by each way and in each mode, and its completion is hidden.
 */
static void post_in_turn_at(struct fake *f, const struct bsn_wr *wr, uint32_t pi)
{
	struct bsn_wr signaled = *wr;
	unsigned posted = 0;

	signaled.flags |= BSN_F_SIGNALED;
	for (size_t w = 0; w < WAYS; w++) {
		const unsigned buffer = f->lane.hot.reg == fake_buffer(f, 1);
		int err;

		fake_seek(f, pi);
		poison(f);
		f->sq->quiet = 1;
		memset(dv_sq(f->sq)->hidden, 0, dv_sq(f->sq)->bb_mask + 1);
		trace_start();
		err = ways[w].post(&f->ep, wr);
		if (err == NOT_THIS_WAY)
			continue;
		assert_int_equal(err, 0);
		assert_order(f, wr, pi);
		assert_posted(f, &signaled, NULL, pi, buffer, ways[w].writes_bytes);
		for (uint32_t i = 0; i <= dv_sq(f->sq)->bb_mask; i++)
			assert_int_equal(dv_sq(f->sq)->hidden[i] != 0,
					 i == (pi & dv_sq(f->sq)->bb_mask));
		assert_int_equal(f->sq->quiet, dv_sq(f->sq)->signal_every);
		posted++;
	}
	assert_true(posted > 0);
}

static void the_librarys_turn_in_every_mode(void **state)
{
	static const unsigned unsignaled[] = { 0, BSN_F_RING,
					       BSN_F_RING | BSN_F_SOLICITED | BSN_F_FENCE };

	(void)state;
	for (unsigned mode = 0; mode < 2 * MODES; mode++) {
		struct fake *f = fake_of_mode(
			mode / 2, (struct fake_attr){ .count_bb = RING_BB,
						      .signal_every = 1,
						      .max_inline = FAR_INLINE,
						      .max_ds = 32,
						      .ce_quiet = mode % 2 ? BSN_CE_ON_FIRST_ERROR
									   : BSN_CE_ON_ERROR });

		for (size_t i = 0; f && i < sizeof(opcodes) / sizeof(*opcodes); i++)
			for (unsigned m = 0; m < mix_count; m++)
				for (unsigned k = 0;
				     k < 3 && goes_with(bsn_wqe_op_find(opcodes[i]), &mixes[m]);
				     k++) {
					const struct bsn_wr wr =
						request(opcodes[i], &mixes[m], unsignaled[k]);

					for (uint32_t pos = (m + k) % 3; pos < RING_BB; pos += 3)
						post_in_turn_at(f, &wr, pos);
				}
		for (uint32_t length = MAX_INLINE; f && length <= FAR_INLINE; length += 16) {
			const struct mix m = { true, 1, { { (uintptr_t)payload, length, 0 } } };
			const struct bsn_wr wr = request(BSN_OPCODE_RDMA_WRITE, &m, BSN_F_RING);

			for (uint32_t pos = length / 16 % 3; pos < RING_BB; pos += 3)
				post_in_turn_at(f, &wr, pos);
		}
		if (f)
			fake_destroy(f);
	}
}

/* -- lists of WQEs ----------------------------------------------------------------------------- */

static void append(struct fake *f, const struct bsn_wr *wr)
{
	assert_int_equal(bsn_post(&f->ep, wr), 0);
}

/*
 * The measurement chooses a store that this CPU has, and BlueFlame, whichever store is the fastest.
 */
static void the_measurement_chooses_a_store(void **state)
{
	_Alignas(64) uint8_t target[64];

	(void)state;
	for (unsigned i = 0; i < 20; i++) {
		const enum bsn_store store = bsn_store_choose(target);
		assert_true(store >= BSN_STORE_8 && store < BSN_STORE_DOORBELL);
		assert_true(bsn_store_supported(store));
		assert_true(store != BSN_STORE_MOVDIR64B && store != BSN_STORE_ST64B);
	}
}

/*
 * Several WQEs at once: one doorbell record for all, and the doorbell of the last, whatever the
 * lengths are.
 */
static void several_are_published_by_a_doorbell(void **state)
{
	struct fake *f = fake_create(NULL);
	const struct bsn_wr two_blocks = request(BSN_OPCODE_RDMA_WRITE, &mixes[4], 0);
	const struct bsn_wr one_block = request(BSN_OPCODE_RDMA_READ, &mixes[1], 0);

	(void)state;
	for (uint32_t pos = 0; pos < 2 * RING_BB; pos++)
		for (int last_is_long = 0; last_is_long < 2; last_is_long++)
			for (int rung_by_post = 0; rung_by_post < 2; rung_by_post++) {
				const unsigned buffer = f->lane.hot.reg == fake_buffer(f, 1);
				struct bsn_wr wr = last_is_long ? two_blocks : one_block;
				const uint32_t last = pos + 3;

				fake_seek(f, pos);
				poison(f);
				append(f, &one_block);
				append(f, &two_blocks);
				wr.flags |= rung_by_post ? BSN_F_RING : 0;
				assert_int_not_equal(wr.sge_count == 1 ? post_short(&f->ep, &wr)
								       : post_long(&f->ep, &wr),
						     NOT_THIS_WAY);
				if (!rung_by_post)
					assert_int_equal(bsn_ring(&f->sq->ep), 0);
				assert_int_equal(fake_send_record(f), (uint16_t)f->sq->pi);
				assert_memory_equal(
					fake_buffer(f, buffer),
					f->sq_ring + (last & dv_sq(f->sq)->bb_mask) * 64, 8);
				assert_poison(fake_buffer(f, buffer) + 8, FAKE_BF_BYTES - 8);
				assert_ptr_equal(f->lane.hot.reg, fake_buffer(f, !buffer));
			}
	fake_destroy(f);
}

/* A single WQE that is appended first and rung later also goes by BlueFlame. */
static void a_single_one_rung_later_takes_blueflame(void **state)
{
	struct fake *f = fake_create(NULL);
	uint8_t bytes[RING_BB * BSN_BB_SIZE];

	(void)state;
	for (unsigned m = 0; m < mix_count; m++)
		for (uint32_t pos = 0; pos < RING_BB; pos++) {
			const struct bsn_wr wr = request(BSN_OPCODE_RDMA_WRITE, &mixes[m], 0);
			const unsigned buffer = f->lane.hot.reg == fake_buffer(f, 1);
			struct bsn_ctrl ctrl;

			fake_seek(f, pos);
			poison(f);
			append(f, &wr);
			assert_int_equal(bsn_ring(&f->sq->ep), 0);
			unwrap(f, pos, bytes);
			bsn_ctrl_decode(&ctrl, bytes);
			assert_register(f, buffer, bytes, ctrl.ds);
			memset(f->page, FAKE_POISON, FAKE_PAGE);
			assert_int_equal(bsn_ring(&f->sq->ep), 0); /* nothing new */
			assert_poison(f->page, FAKE_PAGE);
		}
	fake_destroy(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_request_at_every_position),
		cmocka_unit_test(indices_wrap),
		cmocka_unit_test(every_mode_publishes_the_same),
		cmocka_unit_test(the_librarys_turn_in_every_mode),
		cmocka_unit_test(the_measurement_chooses_a_store),
		cmocka_unit_test(several_are_published_by_a_doorbell),
		cmocka_unit_test(a_single_one_rung_later_takes_blueflame),
	};

#ifdef BSN_ORDER_TRACE
	cmocka_set_test_filter("every_*");
#endif
	return cmocka_run_group_tests(tests, requests_set_up, NULL);
}
