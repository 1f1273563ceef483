/* SPDX-License-Identifier: BSD-2-Clause */
/* As test_ring.c, of a queue that has many peers. */
#include "../share.h"
#include "requests.h"

static void post_all(struct fake *f, unsigned mode)
{
	unsigned posted = 0;

	for (size_t i = 0; i < OPCODES; i++)
		for (unsigned p = 0; p < PEERS; p++)
			if (has_op(f, opcodes[i]))
				posted += post_everything(f, &peers[p], opcodes[i], 0, FEW);
	assert_true(posted > 1000 / tests_share());
}

/* SENDs and, on DC, the rest, to each kind of peer, in every mode. */
static void every_request_to_one_of_many(void **state)
{
	assert_true(in_each_mode(many_peers(BSN_TRANSPORT_UD), post_all) >= 3 * 4);
	assert_true(in_each_mode(many_peers(BSN_TRANSPORT_DC), post_all) >= 3 * 4);
}

static void post_here_and_there(struct fake *f, struct bsn_peer *peer, const struct bsn_wr *wr)
{
	for (uint32_t pos = 0; pos < RING_BB; pos += 5)
		post_at(f, peer, wr, pos);
}

static void post_with_common_flags(struct fake *f, unsigned mode)
{
	each_to_one_of_many(f, post_here_and_there);
}

static void common_flags_to_one_of_many(void **state)
{
	in_each_mode(many_peers(BSN_TRANSPORT_DC), post_with_common_flags);
}

/* The library signals the request whose turn it is, and counts each other one once. */
static void post_in_turn(struct fake *f, struct bsn_peer *peer, const struct bsn_wr *wr)
{
	const bool is_signaled = wr->flags & BSN_F_SIGNALED;

	for (size_t w = 0; w < WAYS; w++)
		for (uint8_t quiet = 1; quiet < 4; quiet++) {
			int err;
			fake_seek(f, 0);
			f->sq->quiet = quiet;
			dv_sq(f->sq)->hidden[0] = 0;
			err = ways[w].post(&peer->ep, wr);
			if (err == NOT_THIS_WAY)
				continue;
			assert_int_equal(err, 0);
			if ((ctrl_at(f, 0).ce == BSN_CE_ALWAYS) != (is_signaled || quiet == 1))
				fail_msg("%s: opcode %u, %u SGEs, first of %u, flags %x, prefix "
					 "%u, %u",
					 ways[w].name, wr->opcode, wr->sge_count, wr->sge->length,
					 wr->flags, peer->prefix_ds, quiet);
			assert_int_equal(dv_sq(f->sq)->hidden[0] != 0, !is_signaled && quiet == 1);
			assert_int_equal(f->sq->quiet, is_signaled  ? quiet
						       : quiet == 1 ? dv_sq(f->sq)->signal_every
								    : quiet - 1);
		}
}

static void the_librarys_turn_to_one_of_many(void **state)
{
	struct fake_attr attr = many_peers(BSN_TRANSPORT_DC);
	struct fake *f;

	attr.signal_every = 1;
	f = fake_create(&attr);
	each_to_one_of_many(f, post_in_turn);
	fake_destroy(f);
}

/* Without the room, or the operation, nothing changes, and nothing is counted. */
static void post_in_vain(struct fake *f, struct bsn_peer *peer, const struct bsn_wr *wr)
{
	const uint64_t ops = f->sq->ops;

	for (size_t w = 0; w < WAYS; w++) {
		int err;
		if (ways[w].post == post_prepared || ways[w].post == post_prepared_long)
			continue; /* refused by bsn_prepare() */
		fake_seek(f, 0);
		poison(f);
		f->sq->quiet = 3;
		f->sq->ops = 0;
		err = ways[w].post(&peer->ep, wr);
		f->sq->ops = ops;
		if (err == NOT_THIS_WAY || !err)
			continue; /* what any queue takes */
		assert_int_equal(err, -EOPNOTSUPP);
		assert_int_equal(f->sq->quiet, 3);
		assert_int_equal(f->sq->pi, 0);
		assert_poison(f->page, FAKE_PAGE);
	}
}

static void post_into_one_block(struct fake *f, struct bsn_peer *peer, const struct bsn_wr *wr)
{
	dv_sq(f->sq)->capacity_bb = 1;
	for (size_t w = 0; w < WAYS; w++) {
		int err;
		fake_seek(f, 0);
		poison(f);
		f->sq->quiet = 3;
		err = ways[w].post(&peer->ep, wr);
		assert_true(err == NOT_THIS_WAY || err == 0 || err == -EAGAIN || err == -EMSGSIZE);
		assert_int_equal(f->sq->pi, err == 0);
		if (err)
			assert_int_equal(f->sq->quiet, 3);
		if (err)
			assert_poison(f->page, FAKE_PAGE);
	}
}

static void nothing_for_nothing_to_one_of_many(void **state)
{
	struct fake_attr attr = many_peers(BSN_TRANSPORT_DC);
	struct fake *f;

	attr.signal_every = 5;
	f = fake_create(&attr);
	each_to_one_of_many(f, post_in_vain);
	each_to_one_of_many(f, post_into_one_block);
	fake_destroy(f);
}

static void post_every_length(struct fake *f, unsigned mode)
{
	for (uint32_t length = 0; length <= FAR_INLINE; length++) {
		const struct bsn_wr wr = inline_request(BSN_OPCODE_SEND, length, BSN_F_RING);
		for (uint32_t pos = length % tests_share(); pos < RING_BB; pos += tests_share())
			post_at(f, &peers[(pos + length) / RING_BB % 2], &wr, pos);
	}
}

static void inline_data_of_every_length_to_one_of_many(void **state)
{
	struct fake_attr attr = many_peers(BSN_TRANSPORT_UD);

	attr.max_inline = FAR_INLINE;
	attr.max_ds = 32;
	in_each_mode(attr, post_every_length);
}

/* Then one of the rows of the queue's functions looks, and builds it. */
static void what_saw_no_room_is_as_any_other(void **state)
{
	OWNED struct fake *f = FAKE(.transport = BSN_TRANSPORT_DC, .has_peers = true, .max_ds = 20,
				    .count_bb = RING_BB);

	make_peers(f);
	sees_no_room = true;
	for (size_t i = 0; i < OPCODES; i++)
		for (unsigned p = 0; p < PEERS && has_op(f, opcodes[i]); p++)
			/* no flags, BSN_F_SIGNALED | BSN_F_RING, and others */
			post_everything(f, &peers[p], opcodes[i], 0, 3);
	sees_no_room = false;
}

/* Each control segment of a DCI has the stream, whatever call posts it. */
static void a_peers_stream_is_in_the_control_segment(void **state)
{
	OWNED struct fake *f = FAKE(.transport = BSN_TRANSPORT_DC, .has_peers = true, .max_ds = 20);
	const struct bsn_ctrl stream = { .dci_stream = 0x1234 };

	make_peers(f);
	peers[1].ctrl_bits |= (uint32_t)bsn_to_be64(bsn_ctrl_word(&stream, 1)).raw;
	peers[0].ctrl_bits = peers[1].ctrl_bits;
	assert_int_not_equal(peers[0].ctrl_bits, 0);
	post_everything(f, &peers[1], BSN_OPCODE_SEND, 0, FEW);
	post_everything(f, &peers[0], BSN_OPCODE_RDMA_WRITE, 0, FEW);
	post_everything(f, &peers[1], BSN_OPCODE_ATOMIC_CS, 0, FEW);
}

int main(void)
{
	const struct CMUnitTest tests[] = { UNIT(every_request_to_one_of_many),
					    UNIT(common_flags_to_one_of_many),
					    UNIT(the_librarys_turn_to_one_of_many),
					    UNIT(nothing_for_nothing_to_one_of_many),
					    UNIT(inline_data_of_every_length_to_one_of_many),
					    UNIT(what_saw_no_room_is_as_any_other),
					    UNIT(a_peers_stream_is_in_the_control_segment) };

#ifdef BSN_ORDER_TRACE
	cmocka_set_test_filter("every_*");
#endif
	return cmocka_run_group_tests(tests, requests_set_up, NULL);
}
