/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages: what is right, and in which order bytes come. */
#include "messages_rig.h"

/* -- what is right ----------------------------------------------------------------------------- */

static void messages_of_any_length_arrive(struct bench *b)
{
	static const uint32_t lengths[] = { 0,  1,  7,  8,      9,          20,     47,
					    48, 49, 64, INLINE, INLINE + 1, LONGEST };
	struct ends *e = make_ends(b, 0);

	for (uint32_t i = 0; i < COUNT(lengths); i++)
		for (int end = 0; end < 2; end++) {
			ok(send_one(b, e, end, lengths[i], i));
			expect_message(b, e->inbox[!end], lengths[i], i);
			expect_none(b, e->inbox[!end]);
			make_room(b);
		}
}

/* What the device was asked for, so far. */
static uint64_t bus_requests(enum cx_bus_kind kind)
{
	struct cx_bus bus;

	cx_bus_read(softcx_hca(), &bus);
	return bus.kinds[kind].requests;
}

/* CQEs are those by which the library finds room: of short queues one in eight, and of credits. */
static void messages_take_no_receive_and_few_cqes(struct bench *b)
{
	enum { MESSAGES = 256 };
	const uint64_t receives = bus_requests(CX_BUS_recv_wqe_fetch);
	const uint64_t cqes = bus_requests(CX_BUS_cqe_write);
	struct ends *e = make_ends(b, 0);

	for (unsigned i = 0; i < MESSAGES; i++) {
		ok(send_one(b, e, 0, BSN_MSG_SHORT, i));
		expect_message(b, e->inbox[1], BSN_MSG_SHORT, i);
		make_room(b);
	}
	assert_int_equal(bus_requests(CX_BUS_recv_wqe_fetch), receives);
	assert_in_range(bus_requests(CX_BUS_cqe_write) - cqes, 0, MESSAGES / 4);
}

static void a_message_says_whose_it_is(struct bench *b)
{
	struct ends *e = make_ends(b, 0);
	struct bsn_msg msg;

	ok(send_one(b, e, 0, 8, 1));
	assert_int_equal(poll_inbox(b, e->inbox[1], &msg), 1);
	assert_ptr_equal(msg.line, e->line[1]);
	assert_ptr_equal(msg.user, b);
}

/* Without the ring nothing goes; registered memory is the sender's again by a completion. */
static void what_is_appended_goes_with_the_ring(struct bench *b)
{
	struct ends *e = make_ends(b, 0);
	uint8_t data[8];

	fill(data, 8, 1);
	ok(bsn_msg_send(e->line[0], data, 8, 0));
	if (b->kind == BENCH_DIRECT)
		expect_none(b, e->inbox[1]);
	ok(bsn_msg_ring(e->line[0]));
	expect_message(b, e->inbox[1], 8, 1);
	fill(bench_at(b, 0, 0), 300, 2);
	ok(bsn_msg_send_from(e->line[0], SGE(b, 0, 0, 300), 77, BSN_F_RING | BSN_F_SIGNALED));
	expect_done(b, b->cq[0], 77, BSN_OPCODE_RDMA_WRITE);
	expect_message(b, e->inbox[1], 300, 2);
}

/*
 * A full ring refuses, and what was refused goes once there is room: many times round both rings.
 */
static void rings_come_round_in_order(struct bench *b)
{
	const uint32_t count = bench_rounds(b, 1000);
	struct ends *e = make_ends(b, 0);
	uint32_t sent = 0, got = 0, full = 0, random = 1;

	while (got < count) {
		uint32_t length[2] = { 0, 0 };
		for (random = random * 1103515245 + 12345; sent < count; sent++) {
			const uint32_t size = (sent * 2654435761u >> 16) % (LONGEST + 1);
			const int err = send_one(b, e, 0, sent % 3 ? size % 49 : size, sent);
			if (err) {
				assert_int_equal(err, -EAGAIN);
				full++;
				break;
			}
			bench_settle(b); /* before the memory is used again */
		}
		make_room(b);
		for (uint32_t n = 1 + (random >> 16) % DEPTH; n && got < sent; n--, got++) {
			length[0] = (got * 2654435761u >> 16) % (LONGEST + 1);
			expect_message(b, e->inbox[1], got % 3 ? length[0] % 49 : length[0], got);
		}
		expect_none(b, e->inbox[0]);
		make_room(b);
		if (got == sent) /* what was given last is given back */
			expect_none(b, e->inbox[1]);
	}
	assert_true(full > 2);
}

/* Bytes alone are what runs out: wherever in the ring the longest would begin, room comes. */
static void the_longest_find_room(struct bench *b)
{
	const struct bsn_msg_inbox_attr attr = { .depth = 256, .bytes = BYTES };
	static const uint32_t lengths[] = { LONGEST, LONGEST - 8, LONGEST / 2 + 8, LONGEST, 49 };
	struct ends *e = make_ends_of(b, &attr);
	uint32_t sent = 0, got = 0;

	for (uint32_t i = 0; i < bench_rounds(b, 200); i++) {
		while (!send_one(b, e, 0, lengths[sent % 5], sent)) {
			make_room(b);
			sent++;
		}
		assert_true(sent > got);
		for (; got < sent; got++)
			expect_message(b, e->inbox[1], lengths[got % 5], got);
		expect_none(b, e->inbox[1]);
		make_room(b);
	}
}

static void many_senders_have_their_turns(struct bench *b)
{
	struct bsn_msg_line *more;
	struct bsn_completion c;
	uint32_t got[SENDERS] = { 0 };
	struct senders s;
	struct bsn_msg msg;

	make_senders(b, &s);
	fails(ENOSPC, "5 lines", bsn_msg_line_create(s.inbox[1], s.qp[1][0], NULL, &more));
	for (uint32_t i = 0; i < 4 * SENDERS; i++)
		ok(bsn_msg_send(s.line[0][i % SENDERS], &i, sizeof(i), BSN_F_RING));
	for (uint32_t i = 0; i < 4 * SENDERS; i++) {
		uint32_t number, from;
		assert_int_equal(poll_inbox(b, s.inbox[1], &msg), 1);
		from = (uint32_t)((struct bsn_qp **)msg.user - s.qp[1]);
		assert_in_range(from, 0, SENDERS - 1);
		memcpy(&number, msg.data, sizeof(number));
		assert_int_equal(number, from + SENDERS * got[from]++);
		for (uint32_t other = 0; b->is_model && other < SENDERS;
		     other++) /* nobody waits for long */
			assert_in_range(got[other] + 1, got[from], got[from] + 1);
	}
	assert_int_equal(bsn_msg_poll(s.inbox[1], &msg), 0);
	assert_int_equal(bsn_poll(s.cq, &c, 1), 0);
	free_senders(&s);
}

/* -- in which order bytes come ----------------------------------------------------------------- */

/* In which order bytes are written: an odd step comes to each. */
struct order {
	unsigned first, step;
};

/* The record as it came, byte by byte: whichever is last, before it there is no message. */
static void write_in_pieces(struct bench *b, struct ends *e, const uint8_t *record,
			    struct order order, uint32_t length)
{
	const struct ring ring = ring_of(&e->address[1]);
	uint8_t *at = record_at(&ring, 0);
	struct bsn_msg msg;

	memset(at, 0, BSN_MSG_RECORD);
	for (unsigned byte = order.first; memcmp(at, record, BSN_MSG_RECORD) != 0;
	     byte += order.step) {
		assert_int_equal(bsn_msg_poll(e->inbox[1], &msg), 0);
		at[byte % BSN_MSG_RECORD] = record[byte % BSN_MSG_RECORD];
	}
	expect_message(b, e->inbox[1], length, order.step);
}

static void come_in_order(struct bench *b, uint32_t length, struct order order)
{
	struct ends e = open_ends(b, 0);
	const struct ring ring = ring_of(&e.address[1]);
	uint8_t record[BSN_MSG_RECORD];

	ok(send_one(b, &e, 0, length, order.step));
	make_room(b);
	memcpy(record, record_at(&ring, 0), sizeof(record));
	write_in_pieces(b, &e, record, order, length);
	close_ends(&e);
}

static void no_order_of_bytes_makes_a_message(struct bench *b)
{
	static const uint32_t lengths[] = { 1, 8, 13, 48, 200 };
	static const unsigned firsts[] = { 0, 8, 15, 16, 23, 40 };

	for (unsigned i = 0; i < COUNT(lengths); i++)
		for (unsigned k = 0; k < COUNT(firsts); k++)
			for (unsigned step = 1; step < BSN_MSG_RECORD; step += 62)
				come_in_order(b, lengths[i], (struct order){ firsts[k], step });
}

/*
 * What the record of a message has besides zeros that nobody reads: sum, length, and pairs of
 * words.
 */
static uint32_t bytes_of_record(uint32_t length)
{
	return length <= BSN_MSG_SHORT ? 16 + (length + 15) / 16 * 16 : 16;
}

static void expect_nothing_yet(struct ends *e, uint32_t length, unsigned what)
{
	struct bsn_msg msg;

	if (bsn_msg_poll(e->inbox[1], &msg))
		fail_msg("a record of %u bytes was taken that differs at %u", length, what);
}

/* A bit that differs, or words that changed places. */
static void records_that_differ(struct bench *b, uint32_t length)
{
	struct ends e = open_ends(b, 600ull * 1000000000);
	const struct ring ring = ring_of(&e.address[1]);
	uint8_t *const at = record_at(&ring, 0);
	uint8_t record[BSN_MSG_RECORD];

	ok(send_one(b, &e, 0, length, 3));
	make_room(b);
	memcpy(record, at, sizeof(record));
	for (unsigned bit = 0; bit < 8 * bytes_of_record(length); bit++) {
		at[bit / 8] ^= (uint8_t)(1 << bit % 8);
		expect_nothing_yet(&e, length, bit / 8);
		memcpy(at, record, sizeof(record));
	}
	for (unsigned one = 0; one < bytes_of_record(length); one += 8)
		for (unsigned other = 0; other < one; other += 8) {
			memcpy(at + one, record + other, 8);
			memcpy(at + other, record + one, 8);
			if (memcmp(at, record, sizeof(record)) != 0)
				expect_nothing_yet(&e, length, one);
			memcpy(at, record, sizeof(record));
		}
	expect_message(b, e.inbox[1], length, 3);
	close_ends(&e);
}

static void every_bit_of_a_record_counts(struct bench *b)
{
	static const uint32_t lengths[] = { 1, 8, 16, 17, 32, 33, 48, 200 };

	for (unsigned i = 0; i < COUNT(lengths); i++)
		records_that_differ(b, lengths[i]);
}

/* The same message with the same number, for another ring. */
static void exchange_records(struct bench *b, uint32_t length)
{
	struct ends e = open_ends(b, 600ull * 1000000000);
	const struct ring rings[2] = { ring_of(&e.address[0]), ring_of(&e.address[1]) };
	uint8_t records[2][BSN_MSG_RECORD];

	for (int end = 0; end < 2; end++)
		ok(send_one(b, &e, end, length, 3));
	make_room(b);
	for (int end = 0; end < 2; end++)
		memcpy(records[end], record_at(&rings[end], 0), BSN_MSG_RECORD);
	memcpy(record_at(&rings[1], 0), records[0], BSN_MSG_RECORD);
	expect_nothing_yet(&e, length, 0);
	memcpy(record_at(&rings[1], 0), records[1], BSN_MSG_RECORD);
	expect_message(b, e.inbox[1], length, 3);
	close_ends(&e);
}

static void a_message_of_another_ring_is_none(struct bench *b)
{
	exchange_records(b, 0);
	exchange_records(b, 40);
	exchange_records(b, 200);
}

static const struct bench_case cases[] = {
	{ CASE(messages_of_any_length_arrive), LINES },
	{ CASE_OF(messages_of_any_length_arrive, "RoCE"), LINES, ROCE },
	{ CASE(messages_take_no_receive_and_few_cqes), LINES, MODEL },
	{ CASE(a_message_says_whose_it_is), LINES },
	{ CASE(what_is_appended_goes_with_the_ring), LINES },
	{ CASE(rings_come_round_in_order), LINES },
	{ CASE(the_longest_find_room), LINES },
	{ CASE(many_senders_have_their_turns), LINES },
	{ CASE(no_order_of_bytes_makes_a_message), LINES, MODEL },
	{ CASE(every_bit_of_a_record_counts), LINES, MODEL },
	{ CASE(a_message_of_another_ring_is_none), LINES, MODEL },
};

BENCH_MAIN("messages")
