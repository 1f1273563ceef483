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
	OWNED struct fake *f = fake_create(NULL);
	unsigned posted = 0;

	for (size_t i = 0; i < OPCODES; i++)
		posted += post_everything(f, NULL, opcodes[i], 0, EVERY);
	assert_true(posted > 100000 / EVERY / tests_share());
}

/* Where the device's index wraps, which is the poster's own. */
static void indices_wrap(void **state)
{
	OWNED struct fake *f = fake_create(NULL);

	post_everything(f, NULL, BSN_OPCODE_RDMA_WRITE, 0x10000 - RING_BB / 2, EVERY);
	post_everything(f, NULL, BSN_OPCODE_ATOMIC_FA, 0x10000 - RING_BB / 2, EVERY);
}

static void post_all(struct fake *f, unsigned mode)
{
	for (size_t i = 0; i < OPCODES; i++)
		if (has_op(f, opcodes[i]))
			post_everything(f, NULL, opcodes[i], 0, FEW);
}

static void every_mode_publishes_the_same(void **state)
{
	const struct fake_attr rc = { .transport = BSN_TRANSPORT_RC, .count_bb = RING_BB };
	const struct fake_attr uc = { .transport = BSN_TRANSPORT_UC, .count_bb = RING_BB };

	assert_true(in_each_mode(rc, post_all) >= 3 * 4);
	assert_true(in_each_mode(uc, post_all) >= 3 * 4);
}

static void post_in_turn(struct fake *f, unsigned mode)
{
	static const unsigned unsignaled[] = { 0, BSN_F_RING,
					       BSN_F_RING | BSN_F_SOLICITED | BSN_F_FENCE };

	for (size_t i = 0; i < OPCODES; i++)
		for (unsigned n = 0; n < 3 * mix_count; n++) {
			const struct mix *m = &mixes[n / 3];
			const struct bsn_wr wr = request(opcodes[i], m, unsignaled[n % 3]);

			if (goes_with(bsn_wqe_op_find(opcodes[i]), m))
				for (uint32_t pos = (n / 3 + n) % 3; pos < RING_BB; pos += 3)
					post_at(f, NULL, &wr, pos);
		}
	for (uint32_t length = MAX_INLINE; length <= FAR_INLINE; length += 16) {
		const struct bsn_wr wr = inline_request(BSN_OPCODE_RDMA_WRITE, length, BSN_F_RING);
		for (uint32_t pos = length / 16 % 3; pos < RING_BB; pos += 3)
			post_at(f, NULL, &wr, pos);
	}
}

/* What was posted as unsignaled is in the ring and in the register as a signaled request. */
static void the_librarys_turn_in_every_mode(void **state)
{
	struct fake_attr attr = { .count_bb = RING_BB,
				  .signal_every = 1,
				  .max_inline = FAR_INLINE,
				  .max_ds = 32,
				  .ce_quiet = BSN_CE_ON_ERROR };

	in_each_mode(attr, post_in_turn);
	attr.ce_quiet = BSN_CE_ON_FIRST_ERROR;
	in_each_mode(attr, post_in_turn);
}

/* -- lists of WQEs ----------------------------------------------------------------------------- */

static void append(struct fake *f, const struct bsn_wr *wr)
{
	ok(bsn_post(&f->ep, wr));
}

/* It chooses a store that this CPU has, and BlueFlame, whichever is the fastest. */
static void the_measurement_chooses_a_store(void **state)
{
	_Alignas(64) uint8_t target[64];

	for (unsigned i = 0; i < 20; i++) {
		const enum bsn_store store = bsn_store_choose(target);
		assert_true(store >= BSN_STORE_8 && store < BSN_STORE_DOORBELL);
		assert_true(bsn_store_supported(store));
		assert_true(store != BSN_STORE_MOVDIR64B && store != BSN_STORE_ST64B);
	}
}

/* One doorbell record for all, and the doorbell of the last, whatever the lengths are. */
static void several_are_published_by_a_doorbell(void **state)
{
	OWNED struct fake *f = fake_create(NULL);
	const struct bsn_wr two_blocks = request(BSN_OPCODE_RDMA_WRITE, &mixes[4], 0);
	const struct bsn_wr one_block = request(BSN_OPCODE_RDMA_READ, &mixes[1], 0);

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
					ok(bsn_ring(&f->sq->ep));
				assert_int_equal(fake_send_record(f), (uint16_t)f->sq->pi);
				assert_memory_equal(fake_buffer(f, buffer), block_at(f, last), 8);
				assert_poison(fake_buffer(f, buffer) + 8, FAKE_BF_BYTES - 8);
				assert_ptr_equal(f->lane.hot.reg, fake_buffer(f, !buffer));
			}
}

/* A single WQE that is appended first and rung later also goes by BlueFlame. */
static void a_single_one_rung_later_takes_blueflame(void **state)
{
	OWNED struct fake *f = fake_create(NULL);
	uint8_t bytes[RING_BB * BSN_BB_SIZE];

	for (unsigned m = 0; m < mix_count; m++)
		for (uint32_t pos = 0; pos < RING_BB; pos++) {
			const struct bsn_wr wr = request(BSN_OPCODE_RDMA_WRITE, &mixes[m], 0);
			const unsigned buffer = f->lane.hot.reg == fake_buffer(f, 1);

			fake_seek(f, pos);
			poison(f);
			append(f, &wr);
			ok(bsn_ring(&f->sq->ep));
			unwrap(f, pos, bytes);
			assert_register(f, buffer, bytes, ctrl_at(f, pos).ds);
			memset(f->page, FAKE_POISON, FAKE_PAGE);
			ok(bsn_ring(&f->sq->ep)); /* nothing new */
			assert_poison(f->page, FAKE_PAGE);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = { UNIT(every_request_at_every_position),
					    UNIT(indices_wrap),
					    UNIT(every_mode_publishes_the_same),
					    UNIT(the_librarys_turn_in_every_mode),
					    UNIT(the_measurement_chooses_a_store),
					    UNIT(several_are_published_by_a_doorbell),
					    UNIT(a_single_one_rung_later_takes_blueflame) };

#ifdef BSN_ORDER_TRACE
	cmocka_set_test_filter("every_*");
#endif
	return cmocka_run_group_tests(tests, requests_set_up, NULL);
}
