/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The message channel: what is sent arrives whole, once and in order, whoever writes what into the
 * ring.
 */
#include "harness.h"

#include <errno.h>

#include "bsn_msg.h"
#include "nic/bus.h"

enum {
	DEPTH = 16,
	BYTES = 4096,
	LONGEST = BYTES / 4,
	INLINE = 128,
	SENDERS = 5,
	PATIENCE_NS = 1000, /* of a test that wants to see it end */
	TRIES = 50,
};

struct ends {
	struct bsn_msg_inbox *inbox[2];
	struct bsn_msg_line *line[2];
	struct bsn_msg_address address[2];
};

static void assert_refused(int result, int error, const char *why)
{
	assert_int_equal(result, -error);
	if (!strstr(bsn_error_text(), why)) {
		print_error("'%s' lacks '%s'\n", bsn_error_text(), why);
		fail();
	}
}

static struct ends make_ends_of(struct bench *b, const struct bsn_msg_inbox_attr *attr)
{
	struct ends e;

	for (int end = 0; end < 2; end++) {
		ok(bsn_msg_inbox_create(b->device, attr, &e.inbox[end]));
		ok(bsn_msg_line_create(e.inbox[end], b->qp[end], b, &e.line[end]));
		ok(bsn_msg_line_address(e.line[end], &e.address[end]));
	}
	for (int end = 0; end < 2; end++)
		ok(bsn_msg_line_connect(e.line[end], &e.address[!end]));
	return e;
}

static struct bsn_msg_inbox_attr inbox_of(uint32_t senders, uint64_t patience_ns)
{
	return (struct bsn_msg_inbox_attr){
		.senders = senders, .depth = DEPTH, .bytes = BYTES, .patience_ns = patience_ns
	};
}

static struct ends make_ends(struct bench *b, uint64_t patience_ns)
{
	const struct bsn_msg_inbox_attr attr = inbox_of(1, patience_ns);

	return make_ends_of(b, &attr);
}

static void free_ends(struct ends *e)
{
	for (int end = 0; end < 2; end++) {
		ok(bsn_msg_line_destroy(e->line[end]));
		ok(bsn_msg_inbox_destroy(e->inbox[end]));
	}
}

/* Room in send queues is the CQ's to find; none of the channel's own requests completes. */
static void make_room(struct bench *b)
{
	struct bsn_completion c;

	bench_settle(b);
	for (int end = 0; end < 2; end++)
		assert_int_equal(bsn_poll(b->cq[end], &c, 1), 0);
}

static int poll_inbox(struct bench *b, struct bsn_msg_inbox *inbox, struct bsn_msg *msg)
{
	int got = 0;

	for (unsigned i = 0; i < TRIES && !got; i++) {
		bench_settle(b);
		got = bsn_msg_poll(inbox, msg);
	}
	return got;
}

static void fill(uint8_t *data, uint32_t length, uint32_t seed)
{
	for (uint32_t i = 0; i < length; i++)
		data[i] = (uint8_t)(seed * 31 + i * 7 + (i >> 8));
}

static void expect_message(struct bench *b, struct bsn_msg_inbox *inbox, uint32_t length, uint32_t seed)
{
	uint8_t wanted[LONGEST];
	struct bsn_msg msg;

	assert_int_equal(poll_inbox(b, inbox, &msg), 1);
	assert_int_equal(msg.length, length);
	assert_int_equal((uintptr_t)msg.data % 8, 0);
	fill(wanted, length, seed);
	assert_memory_equal(msg.data, wanted, length);
}

static void expect_none(struct bench *b, struct bsn_msg_inbox *inbox)
{
	struct bsn_msg msg;

	bench_settle(b);
	assert_int_equal(bsn_msg_poll(inbox, &msg), 0);
}

static int send_one(struct bench *b, const struct ends *e, int end, uint32_t length, uint32_t seed)
{
	uint8_t data[INLINE];
	const struct bsn_sge local = bench_sge(b, end, 0, length);

	if (length <= INLINE) {
		fill(data, length, seed);
		return bsn_msg_send(e->line[end], data, length, BSN_F_RING);
	}
	fill(bench_at(b, end, 0), length, seed);
	return bsn_msg_send_from(e->line[end], &local, 0, BSN_F_RING);
}

/* -- what is right ----------------------------------------------------------------------------- */

static void messages_of_any_length_arrive(struct bench *b)
{
	static const uint32_t lengths[] = { 0, 1, 7, 8, 9, 20, 47, 48, 49, 64, INLINE, INLINE + 1, LONGEST };
	struct ends e = make_ends(b, 0);

	for (uint32_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
		for (int end = 0; end < 2; end++) {
			ok(send_one(b, &e, end, lengths[i], i));
			expect_message(b, e.inbox[!end], lengths[i], i);
			expect_none(b, e.inbox[!end]);
			make_room(b);
		}
	free_ends(&e);
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
	struct ends e = make_ends(b, 0);

	for (unsigned i = 0; i < MESSAGES; i++) {
		ok(send_one(b, &e, 0, BSN_MSG_SHORT, i));
		expect_message(b, e.inbox[1], BSN_MSG_SHORT, i);
		make_room(b);
	}
	assert_int_equal(bus_requests(CX_BUS_recv_wqe_fetch), receives);
	assert_in_range(bus_requests(CX_BUS_cqe_write) - cqes, 0, MESSAGES / 4);
	free_ends(&e);
}

static void a_message_says_whose_it_is(struct bench *b)
{
	struct ends e = make_ends(b, 0);
	struct bsn_msg msg;

	ok(send_one(b, &e, 0, 8, 1));
	assert_int_equal(poll_inbox(b, e.inbox[1], &msg), 1);
	assert_ptr_equal(msg.line, e.line[1]);
	assert_ptr_equal(msg.user, b);
	free_ends(&e);
}

/* Without the ring nothing goes; registered memory is the sender's again by a completion. */
static void what_is_appended_goes_with_the_ring(struct bench *b)
{
	struct ends e = make_ends(b, 0);
	const struct bsn_sge local = bench_sge(b, 0, 0, 300);
	uint8_t data[8];

	fill(data, 8, 1);
	ok(bsn_msg_send(e.line[0], data, 8, 0));
	if (b->kind == BENCH_DIRECT)
		expect_none(b, e.inbox[1]);
	ok(bsn_msg_ring(e.line[0]));
	expect_message(b, e.inbox[1], 8, 1);
	fill(bench_at(b, 0, 0), 300, 2);
	ok(bsn_msg_send_from(e.line[0], &local, 77, BSN_F_RING | BSN_F_SIGNALED));
	expect_done(b, b->cq[0], 77, BSN_OPCODE_RDMA_WRITE);
	expect_message(b, e.inbox[1], 300, 2);
	free_ends(&e);
}

/*
 * A full ring refuses, and what was refused goes once there is room: many times round both rings.
 */
static void rings_come_round_in_order(struct bench *b)
{
	const uint32_t count = bench_rounds(b, 1000);
	struct ends e = make_ends(b, 0);
	uint32_t sent = 0, got = 0, full = 0, random = 1;

	while (got < count) {
		uint32_t length[2] = { 0, 0 };

		for (random = random * 1103515245 + 12345; sent < count; sent++) {
			const uint32_t size = (sent * 2654435761u >> 16) % (LONGEST + 1);
			const int err = send_one(b, &e, 0, sent % 3 ? size % 49 : size, sent);

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
			expect_message(b, e.inbox[1], got % 3 ? length[0] % 49 : length[0], got);
		}
		expect_none(b, e.inbox[0]);
		make_room(b);
		if (got == sent) /* what was given last is given back */
			expect_none(b, e.inbox[1]);
	}
	assert_true(full > 2);
	free_ends(&e);
}

/* Bytes alone are what runs out: wherever in the ring the longest would begin, room comes. */
static void the_longest_find_room(struct bench *b)
{
	const struct bsn_msg_inbox_attr attr = { .depth = 256, .bytes = BYTES };
	static const uint32_t lengths[] = { LONGEST, LONGEST - 8, LONGEST / 2 + 8, LONGEST, 49 };
	struct ends e = make_ends_of(b, &attr);
	uint32_t sent = 0, got = 0;

	for (uint32_t i = 0; i < bench_rounds(b, 200); i++) {
		while (!send_one(b, &e, 0, lengths[sent % 5], sent)) {
			make_room(b);
			sent++;
		}
		assert_true(sent > got);
		for (; got < sent; got++)
			expect_message(b, e.inbox[1], lengths[got % 5], got);
		expect_none(b, e.inbox[1]);
		make_room(b);
	}
	free_ends(&e);
}

struct senders {
	struct bsn_cq *cq;
	struct bsn_qp *qp[2][SENDERS];
	struct bsn_msg_inbox *inbox[2];
	struct bsn_msg_line *line[2][SENDERS];
};

static void connect_senders(struct senders *s)
{
	struct bsn_msg_address ring[2];
	struct bsn_address address[2];

	for (uint32_t i = 0; i < SENDERS; i++) {
		for (int end = 0; end < 2; end++) {
			ok(bsn_qp_address(s->qp[end][i], &address[end]));
			ok(bsn_msg_line_address(s->line[end][i], &ring[end]));
		}
		for (int end = 0; end < 2; end++) {
			ok(bsn_qp_connect(s->qp[end][i], &address[!end], NULL));
			ok(bsn_msg_line_connect(s->line[end][i], &ring[!end]));
		}
	}
}

static void make_senders(struct bench *b, struct senders *s)
{
	const struct bsn_qp_attr attr = { .send_depth = DEPTH, .recv_depth = 1, .max_inline = INLINE };
	const struct bsn_msg_inbox_attr inbox = inbox_of(SENDERS, PATIENCE_NS);
	struct bsn_qp_attr on_cq = attr;

	ok(bsn_cq_create(b->device, NULL, &s->cq));
	on_cq.cq = s->cq;
	for (int end = 0; end < 2; end++) {
		ok(bsn_msg_inbox_create(b->device, &inbox, &s->inbox[end]));
		for (uint32_t i = 0; i < SENDERS; i++) {
			ok(bsn_qp_create(b->device, &on_cq, &s->qp[end][i]));
			ok(bsn_msg_line_create(s->inbox[end], s->qp[end][i], &s->qp[end][i],
					       &s->line[end][i]));
		}
	}
	connect_senders(s);
}

static void free_senders(struct senders *s)
{
	for (int end = 0; end < 2; end++) {
		for (uint32_t i = 0; i < SENDERS; i++) {
			ok(bsn_msg_line_destroy(s->line[end][i]));
			ok(bsn_qp_destroy(s->qp[end][i]));
		}
		ok(bsn_msg_inbox_destroy(s->inbox[end]));
	}
	ok(bsn_cq_destroy(s->cq));
}

static void many_senders_have_their_turns(struct bench *b)
{
	struct bsn_msg_line *more;
	struct bsn_completion c;
	uint32_t got[SENDERS] = { 0 };
	struct senders s;
	struct bsn_msg msg;

	make_senders(b, &s);
	assert_refused(bsn_msg_line_create(s.inbox[1], s.qp[1][0], NULL, &more), ENOSPC, "5 senders");
	for (uint32_t i = 0; i < 4 * SENDERS; i++)
		ok(bsn_msg_send(s.line[0][i % SENDERS], &i, sizeof(i), BSN_F_RING));
	for (uint32_t i = 0; i < 4 * SENDERS; i++) {
		uint32_t number, from;

		assert_int_equal(poll_inbox(b, s.inbox[1], &msg), 1);
		from = (uint32_t)((struct bsn_qp **)msg.user - s.qp[1]);
		assert_in_range(from, 0, SENDERS - 1);
		memcpy(&number, msg.data, sizeof(number));
		assert_int_equal(number, from + SENDERS * got[from]++);
		for (uint32_t other = 0; b->is_model && other < SENDERS; other++) /* nobody waits for long */
			assert_in_range(got[other] + 1, got[from], got[from] + 1);
	}
	assert_int_equal(bsn_msg_poll(s.inbox[1], &msg), 0);
	assert_int_equal(bsn_poll(s.cq, &c, 1), 0);
	free_senders(&s);
}

/* -- in which order bytes come ----------------------------------------------------------------- */

/* What an address says, as peers of this version know it. */
struct ring {
	uint32_t magic, rkey;
	uint64_t records, bytes_at, credit_at, key;
	uint32_t depth, bytes;
};

static struct ring ring_of(const struct bsn_msg_address *address)
{
	struct ring ring;

	memcpy(&ring, address, sizeof(ring));
	return ring;
}

static uint8_t *record_at(const struct ring *ring, uint32_t number)
{
	return (uint8_t *)(uintptr_t)ring->records + (size_t)(number % ring->depth) * BSN_MSG_RECORD;
}

/* In which order bytes are written: an odd step comes to each. */
struct order {
	unsigned first, step;
};

/* The record as it came, byte by byte: whichever is last, before it there is no message. */
static void write_in_pieces(struct bench *b, struct ends *e, const uint8_t *record, struct order order,
			    uint32_t length)
{
	const struct ring ring = ring_of(&e->address[1]);
	uint8_t *at = record_at(&ring, 0);
	struct bsn_msg msg;

	memset(at, 0, BSN_MSG_RECORD);
	for (unsigned byte = order.first; memcmp(at, record, BSN_MSG_RECORD) != 0; byte += order.step) {
		assert_int_equal(bsn_msg_poll(e->inbox[1], &msg), 0);
		at[byte % BSN_MSG_RECORD] = record[byte % BSN_MSG_RECORD];
	}
	expect_message(b, e->inbox[1], length, order.step);
}

static void come_in_order(struct bench *b, uint32_t length, struct order order)
{
	struct ends e = make_ends(b, 0);
	const struct ring ring = ring_of(&e.address[1]);
	uint8_t record[BSN_MSG_RECORD];

	ok(send_one(b, &e, 0, length, order.step));
	make_room(b);
	memcpy(record, record_at(&ring, 0), sizeof(record));
	write_in_pieces(b, &e, record, order, length);
	free_ends(&e);
}

static void no_order_of_bytes_makes_a_message(struct bench *b)
{
	static const uint32_t lengths[] = { 1, 8, 13, 48, 200 };
	static const unsigned firsts[] = { 0, 8, 15, 16, 23, 40 };

	for (unsigned i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
		for (unsigned k = 0; k < sizeof(firsts) / sizeof(firsts[0]); k++)
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
	struct ends e = make_ends(b, 600ull * 1000000000);
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
	free_ends(&e);
}

static void every_bit_of_a_record_counts(struct bench *b)
{
	static const uint32_t lengths[] = { 1, 8, 16, 17, 32, 33, 48, 200 };

	for (unsigned i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
		records_that_differ(b, lengths[i]);
}

/* The same message with the same number, for another ring. */
static void exchange_records(struct bench *b, uint32_t length)
{
	struct ends e = make_ends(b, 600ull * 1000000000);
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
	free_ends(&e);
}

static void a_message_of_another_ring_is_none(struct bench *b)
{
	exchange_records(b, 0);
	exchange_records(b, 40);
	exchange_records(b, 200);
}

/* -- a peer that does not keep to it ----------------------------------------------------------- */

/* The line has failed for both directions, and is told of once. */
static void expect_failed(struct bench *b, struct bsn_msg_inbox *inbox, struct bsn_msg_line *line, const char *why)
{
	struct bsn_msg msg = { .length = 0 };

	assert_refused(poll_inbox(b, inbox, &msg), EPROTO, why);
	assert_ptr_equal(msg.line, line);
	expect_none(b, inbox);
	assert_refused(bsn_msg_send(line, "x", 1, BSN_F_RING), EPROTO, why);
}

static void garbage_is_no_message(struct bench *b)
{
	struct ends e = make_ends(b, PATIENCE_NS);
	const struct ring ring = ring_of(&e.address[1]);

	ok(send_one(b, &e, 0, 30, 5));
	expect_message(b, e.inbox[1], 30, 5);
	memset(record_at(&ring, 1), 0xa5, BSN_MSG_RECORD);
	expect_failed(b, e.inbox[1], e.line[1], "garbage");
	free_ends(&e);
}

/* A message that came twice, or once more a lap later, is none. */
static void an_old_message_is_none(struct bench *b)
{
	struct ends e = make_ends(b, PATIENCE_NS);
	const struct ring ring = ring_of(&e.address[1]);
	uint8_t old[BSN_MSG_RECORD];

	ok(send_one(b, &e, 0, 8, 0));
	bench_settle(b);
	memcpy(old, record_at(&ring, 0), sizeof(old));
	for (uint32_t i = 0; i < DEPTH; i++) {
		expect_message(b, e.inbox[1], 8, i);
		if (i + 1 < DEPTH)
			ok(send_one(b, &e, 0, 8, i + 1));
		make_room(b);
	}
	for (uint32_t i = 0; i < 3; i++)
		expect_none(b, e.inbox[1]);
	memcpy(record_at(&ring, DEPTH), old, sizeof(old));
	expect_failed(b, e.inbox[1], e.line[1], "garbage");
	free_ends(&e);
}

static void the_other_lines_go_on(struct bench *b)
{
	struct bsn_msg_address address;
	struct senders s;
	struct bsn_msg msg;
	struct ring ring;

	make_senders(b, &s);
	ok(bsn_msg_line_address(s.line[1][2], &address));
	ring = ring_of(&address);
	memset(record_at(&ring, 0), 1, 1);
	assert_int_equal(poll_inbox(b, s.inbox[1], &msg), -EPROTO);
	assert_ptr_equal(msg.line, s.line[1][2]);
	for (uint32_t i = 0; i < SENDERS; i++)
		ok(bsn_msg_send(s.line[0][i], &i, sizeof(i), BSN_F_RING));
	for (uint32_t i = 0; i < SENDERS - 1; i++) {
		assert_int_equal(poll_inbox(b, s.inbox[1], &msg), 1);
		assert_ptr_not_equal(msg.line, s.line[1][2]);
	}
	expect_none(b, s.inbox[1]);
	free_senders(&s);
}

/* Until a credit is needed nobody looks. */
static void use_up_credits(struct bench *b, struct ends *e)
{
	for (uint32_t i = 0; i < DEPTH; i++) {
		ok(send_one(b, e, 0, 8, i));
		make_room(b);
	}
}

static void write_credit(const struct ends *e, uint64_t word)
{
	const struct ring ring = ring_of(&e->address[0]);

	memcpy((void *)(uintptr_t)ring.credit_at, &word, sizeof(word));
}

static uint64_t credit_of(const struct ends *e, uint32_t taken)
{
	return (uint64_t)(taken ^ (uint32_t)ring_of(&e->address[0]).key) << 32 | taken;
}

static void credits_for_what_was_not_sent_are_a_lie(struct bench *b)
{
	struct ends e = make_ends(b, 0);

	use_up_credits(b, &e);
	assert_refused(send_one(b, &e, 0, 8, 0), EAGAIN, "not read enough");
	write_credit(&e, credit_of(&e, DEPTH + 1));
	assert_refused(send_one(b, &e, 0, 8, 0), EPROTO, "more messages than were sent");
	expect_failed(b, e.inbox[0], e.line[0], "more messages than were sent");
	free_ends(&e);
}

static void credits_that_are_taken_back_are_a_lie(struct bench *b)
{
	struct ends e = make_ends(b, 0);

	use_up_credits(b, &e);
	write_credit(&e, credit_of(&e, 2));
	ok(send_one(b, &e, 0, 8, 0));
	ok(send_one(b, &e, 0, 8, 0));
	write_credit(&e, credit_of(&e, 1));
	assert_refused(send_one(b, &e, 0, 8, 0), EPROTO, "fewer");
	free_ends(&e);
}

/* Half of a credit is one that is still on its way, for as long as the patience lasts. */
static void a_credit_that_is_garbage_is_a_failure(struct bench *b)
{
	struct ends e = make_ends(b, PATIENCE_NS);
	int err = -EAGAIN;

	use_up_credits(b, &e);
	write_credit(&e, credit_of(&e, 4) ^ 1);
	for (unsigned i = 0; i < TRIES && err == -EAGAIN; i++) {
		bench_settle(b);
		err = send_one(b, &e, 0, 8, 0);
	}
	assert_refused(err, EPROTO, "credit is garbage");
	free_ends(&e);
}

static void half_a_credit_is_waited_for(struct bench *b)
{
	struct ends e = make_ends(b, 0);

	use_up_credits(b, &e);
	write_credit(&e, credit_of(&e, 4) ^ 1);
	assert_refused(send_one(b, &e, 0, 8, 0), EAGAIN, "not read enough");
	write_credit(&e, credit_of(&e, 4));
	ok(send_one(b, &e, 0, 8, 0));
	free_ends(&e);
}

/* Here the sender believes credits that the receiver never gave. */
static void who_overruns_is_found_out(struct bench *b)
{
	struct ends e = make_ends(b, PATIENCE_NS);

	use_up_credits(b, &e);
	write_credit(&e, credit_of(&e, DEPTH));
	ok(send_one(b, &e, 0, 8, 99));
	expect_failed(b, e.inbox[1], e.line[1], "more than it had credits for");
	free_ends(&e);
}

/* A record that is whole and says what no inbox takes: only who has the key can write that. */
static void a_length_that_cannot_be_is_refused(struct bench *b)
{
	struct ends e = make_ends(b, 0);
	struct ring ring = ring_of(&e.address[1]);
	struct bsn_msg_address larger;
	struct bsn_sge local = bench_sge(b, 0, 0, LONGEST + 1);

	assert_refused(bsn_msg_send_from(e.line[0], &local, 0, BSN_F_RING), EMSGSIZE, "a quarter");
	ok(bsn_msg_line_destroy(e.line[0]));
	ok(bsn_msg_line_create(e.inbox[0], b->qp[0], NULL, &e.line[0]));
	ring.bytes *= 2;
	memset(&larger, 0, sizeof(larger));
	memcpy(&larger, &ring, sizeof(ring));
	ok(bsn_msg_line_connect(e.line[0], &larger));
	ok(bsn_msg_send_from(e.line[0], &local, 0, BSN_F_RING));
	expect_failed(b, e.inbox[1], e.line[1], "longer than any");
	free_ends(&e);
}

/* -- what a caller gets wrong ------------------------------------------------------------------ */

static void inboxes_that_cannot_be_are_refused(struct bench *b)
{
	static const struct {
		struct bsn_msg_inbox_attr attr;
		const char *why;
	} bad[] = {
		{ { .depth = 3 }, "3 messages" },	{ { .depth = 2 }, "2 messages" },
		{ { .depth = 1 << 17 }, "131072" },	{ { .bytes = 1000 }, "1000 bytes" },
		{ { .bytes = 128 }, "128 bytes" },	{ { .senders = 65537 }, "65537 senders" },
	};
	struct bsn_msg_inbox *inbox = NULL;

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_refused(bsn_msg_inbox_create(b->device, &bad[i].attr, &inbox), EINVAL, bad[i].why);
	assert_refused(bsn_msg_inbox_create(NULL, NULL, &inbox), EINVAL, "no device");
	assert_null(inbox);
	ok(bsn_msg_inbox_create(b->device, NULL, &inbox));
	ok(bsn_msg_inbox_destroy(inbox));
}

static void qps_that_cannot_be_lines_are_refused(struct bench *b)
{
	struct bsn_qp_attr attr = { .cq = b->cq[0], .send_depth = 1, .recv_depth = 1 };
	struct bsn_msg_inbox *inbox;
	struct bsn_msg_line *line = NULL;
	struct bsn_pd *pd;
	struct bsn_qp *qp;

	ok(bsn_msg_inbox_create(b->device, NULL, &inbox));
	ok(bsn_qp_create(b->device, &attr, &qp));
	assert_refused(bsn_msg_line_create(inbox, qp, NULL, &line), EINVAL, "max_inline of 64");
	ok(bsn_qp_destroy(qp));
	attr.max_inline = BSN_MSG_RECORD;
	attr.type = BSN_QP_UD;
	ok(bsn_qp_create(b->device, &attr, &qp));
	assert_refused(bsn_msg_line_create(inbox, qp, NULL, &line), EOPNOTSUPP, "RC");
	ok(bsn_qp_destroy(qp));
	ok(bsn_pd_create(b->device, &pd));
	attr.type = BSN_QP_RC;
	attr.pd = pd;
	ok(bsn_qp_create(b->device, &attr, &qp));
	assert_refused(bsn_msg_line_create(inbox, qp, NULL, &line), EINVAL, "two protection domains");
	ok(bsn_qp_destroy(qp));
	ok(bsn_pd_destroy(pd));
	ok(bsn_msg_inbox_destroy(inbox));
	assert_null(line);
}

static void attached_qps_are_refused(struct bench *b)
{
	struct bsn_msg_inbox *inbox;
	struct bsn_msg_line *line = NULL;

	ok(bsn_msg_inbox_create(b->device, NULL, &inbox));
	if (b->kind == BENCH_ATTACHED_DIRECT || b->kind == BENCH_ATTACHED_VERBS)
		assert_refused(bsn_msg_line_create(inbox, b->qp[0], NULL, &line), EOPNOTSUPP, "attached");
	ok(bsn_msg_inbox_destroy(inbox));
}

static void what_is_in_use_stays(struct bench *b)
{
	struct ends e = make_ends(b, 0);

	assert_refused(bsn_msg_inbox_destroy(e.inbox[0]), EBUSY, "1 lines");
	assert_int_equal(bsn_qp_destroy(b->qp[0]), -EBUSY);
	free_ends(&e);
	ok(bsn_msg_line_destroy(NULL));
	ok(bsn_msg_inbox_destroy(NULL));
}

static void sends_that_cannot_be_are_refused(struct bench *b)
{
	const struct bsn_sge small = bench_sge(b, 0, 0, BSN_MSG_SHORT);
	struct bsn_msg_address nonsense = { { 1 } };
	struct ends e = make_ends(b, 0);
	uint8_t data[LONGEST] = { 0 };
	struct bsn_msg_line *alone;
	struct bsn_msg msg;

	assert_refused(bsn_msg_send(e.line[0], data, 1, BSN_F_SIGNALED), EINVAL, "flags");
	assert_refused(bsn_msg_send(e.line[0], data, sizeof(data), 0), EMSGSIZE, "bsn_msg_send_from()");
	assert_refused(bsn_msg_send(e.line[0], NULL, 1, 0), EINVAL, "no data");
	assert_refused(bsn_msg_send(NULL, data, 1, 0), EINVAL, "no line");
	assert_refused(bsn_msg_send_from(e.line[0], &small, 0, 0), EINVAL, "bsn_msg_send()");
	assert_refused(bsn_msg_ring(NULL), EINVAL, "no line");
	assert_refused(bsn_msg_poll(e.inbox[0], NULL), EINVAL, "no place");
	assert_refused(bsn_msg_poll(NULL, &msg), EINVAL, "no inbox");
	assert_refused(bsn_msg_line_connect(e.line[0], &e.address[1]), EISCONN, "connected");
	ok(bsn_msg_line_destroy(e.line[0]));
	ok(bsn_msg_line_create(e.inbox[0], b->qp[0], NULL, &alone));
	e.line[0] = alone;
	assert_refused(bsn_msg_send(alone, data, 1, 0), ENOTCONN, "bsn_msg_line_connect()");
	assert_refused(bsn_msg_line_connect(alone, &nonsense), EPROTO, "no address of a line");
	for (unsigned i = 0; i < 2; i++) { /* of a host of the other byte order */
		const uint8_t swapped = e.address[1].bytes[i];
		e.address[1].bytes[i] = e.address[1].bytes[3 - i];
		e.address[1].bytes[3 - i] = swapped;
	}
	assert_refused(bsn_msg_line_connect(alone, &e.address[1]), EPROTO, "byte order");
	free_ends(&e);
}

/* The send queue is the line's: full, it refuses both halves of a message. */
static void a_full_send_queue_refuses_whole_messages(struct bench *b)
{
	const struct bsn_sge local = bench_sge(b, 0, 0, INLINE);
	struct ends e = make_ends(b, 0);
	uint32_t sent = 0;
	int err = 0;

	fill(bench_at(b, 0, 0), INLINE, 1);
	for (; !err && sent < DEPTH; sent++)
		err = bsn_msg_send_from(e.line[0], &local, sent, BSN_F_SIGNALED);
	assert_refused(err, EAGAIN, "send queue is full");
	ok(bsn_msg_ring(e.line[0]));
	for (uint32_t i = 0; i < sent - 1; i++) {
		expect_done(b, b->cq[0], i, BSN_OPCODE_RDMA_WRITE);
		expect_message(b, e.inbox[1], INLINE, 1);
	}
	make_room(b);
	ok(send_one(b, &e, 0, INLINE, 7));
	expect_message(b, e.inbox[1], INLINE, 7);
	free_ends(&e);
}

#define LINES .qp = { .max_inline = INLINE }, .is_own_only = true

static const struct bench_case cases[] = {
	{ CASE("messages of any length arrive", messages_of_any_length_arrive), LINES },
	{ CASE("messages of any length arrive, RoCE", messages_of_any_length_arrive), LINES,
	  .link = CX_LINK_ROCE },
	{ CASE("messages take no receive and few CQEs", messages_take_no_receive_and_few_cqes), LINES,
	  .is_model_only = true },
	{ CASE("a message says whose it is", a_message_says_whose_it_is), LINES },
	{ CASE("what is appended goes with the ring", what_is_appended_goes_with_the_ring), LINES },
	{ CASE("rings come round in order", rings_come_round_in_order), LINES },
	{ CASE("the longest find room", the_longest_find_room), LINES },
	{ CASE("many senders have their turns", many_senders_have_their_turns), LINES },
	{ CASE("no order of bytes makes a message", no_order_of_bytes_makes_a_message), LINES,
	  .is_model_only = true },
	{ CASE("every bit of a record counts", every_bit_of_a_record_counts), LINES, .is_model_only = true },
	{ CASE("a message of another ring is none", a_message_of_another_ring_is_none), LINES, .is_model_only = true },
	{ CASE("garbage is no message", garbage_is_no_message), LINES },
	{ CASE("an old message is none", an_old_message_is_none), LINES },
	{ CASE("the other lines go on", the_other_lines_go_on), LINES },
	{ CASE("credits for what was not sent are a lie", credits_for_what_was_not_sent_are_a_lie), LINES },
	{ CASE("credits that are taken back are a lie", credits_that_are_taken_back_are_a_lie), LINES },
	{ CASE("a credit that is garbage is a failure", a_credit_that_is_garbage_is_a_failure), LINES },
	{ CASE("half a credit is waited for", half_a_credit_is_waited_for), LINES },
	{ CASE("who overruns is found out", who_overruns_is_found_out), LINES },
	{ CASE("a length that cannot be is refused", a_length_that_cannot_be_is_refused), LINES },
	{ CASE("inboxes that cannot be are refused", inboxes_that_cannot_be_are_refused), LINES },
	{ CASE("QPs that cannot be lines are refused", qps_that_cannot_be_lines_are_refused), LINES },
	{ CASE("attached QPs are refused", attached_qps_are_refused), .qp = { .max_inline = INLINE } },
	{ CASE("what is in use stays", what_is_in_use_stays), LINES },
	{ CASE("sends that cannot be are refused", sends_that_cannot_be_are_refused), LINES },
	{ CASE("a full send queue refuses whole messages", a_full_send_queue_refuses_whole_messages),
	  .qp = { .max_inline = INLINE, .send_depth = 5, .signal_every = 1 }, .is_own_only = true },
};

int main(void)
{
	return bench_run("messages", cases, sizeof(cases) / sizeof(cases[0]));
}
