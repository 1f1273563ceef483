/* SPDX-License-Identifier: BSD-2-Clause */
/* A peer that does not keep to the protocol of messages, and a caller that gets something wrong. */
#include "messages_rig.h"

/* -- a peer that does not keep to it ----------------------------------------------------------- */

/* The line has failed for both directions, and is told of once. */
static void expect_failed(struct bench *b, struct bsn_msg_inbox *inbox, struct bsn_msg_line *line,
			  const char *why)
{
	struct bsn_msg msg = { .length = 0 };

	fails(EPROTO, why, poll_inbox(b, inbox, &msg));
	assert_ptr_equal(msg.line, line);
	expect_none(b, inbox);
	fails(EPROTO, why, bsn_msg_send(line, "x", 1, BSN_F_RING));
}

static void garbage_is_no_message(struct bench *b)
{
	struct ends *e = make_ends(b, PATIENCE_NS);
	const struct ring ring = ring_of(&e->address[1]);

	ok(send_one(b, e, 0, 30, 5));
	expect_message(b, e->inbox[1], 30, 5);
	memset(record_at(&ring, 1), 0xa5, BSN_MSG_RECORD);
	expect_failed(b, e->inbox[1], e->line[1], "garbage");
}

/* A message that came twice, or once more a lap later, is none. */
static void an_old_message_is_none(struct bench *b)
{
	struct ends *e = make_ends(b, PATIENCE_NS);
	const struct ring ring = ring_of(&e->address[1]);
	uint8_t old[BSN_MSG_RECORD];

	ok(send_one(b, e, 0, 8, 0));
	bench_settle(b);
	memcpy(old, record_at(&ring, 0), sizeof(old));
	for (uint32_t i = 0; i < DEPTH; i++) {
		expect_message(b, e->inbox[1], 8, i);
		if (i + 1 < DEPTH)
			ok(send_one(b, e, 0, 8, i + 1));
		make_room(b);
	}
	for (uint32_t i = 0; i < 3; i++)
		expect_none(b, e->inbox[1]);
	memcpy(record_at(&ring, DEPTH), old, sizeof(old));
	expect_failed(b, e->inbox[1], e->line[1], "garbage");
}

static void the_other_lines_go_on(struct bench *b)
{
	struct bsn_msg_address address;
	struct senders s;
	struct bsn_msg msg;

	make_senders(b, &s);
	ok(bsn_msg_line_address(s.line[1][2], &address));
	struct ring ring = ring_of(&address);
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
	struct ends *e = make_ends(b, 0);

	use_up_credits(b, e);
	fails(EAGAIN, "not read enough", send_one(b, e, 0, 8, 0));
	write_credit(e, credit_of(e, DEPTH + 1));
	fails(EPROTO, "more messages than were sent", send_one(b, e, 0, 8, 0));
	expect_failed(b, e->inbox[0], e->line[0], "more messages than were sent");
}

static void credits_that_are_taken_back_are_a_lie(struct bench *b)
{
	struct ends *e = make_ends(b, 0);

	use_up_credits(b, e);
	write_credit(e, credit_of(e, 2));
	ok(send_one(b, e, 0, 8, 0));
	ok(send_one(b, e, 0, 8, 0));
	write_credit(e, credit_of(e, 1));
	fails(EPROTO, "fewer", send_one(b, e, 0, 8, 0));
}

/* Half of a credit is one that is still on its way, for as long as the patience lasts. */
static void a_credit_that_is_garbage_is_a_failure(struct bench *b)
{
	struct ends *e = make_ends(b, PATIENCE_NS);
	int err = -EAGAIN;

	use_up_credits(b, e);
	write_credit(e, credit_of(e, 4) ^ 1);
	for (unsigned i = 0; i < TRIES && err == -EAGAIN; i++) {
		bench_settle(b);
		err = send_one(b, e, 0, 8, 0);
	}
	fails(EPROTO, "credit is garbage", err);
}

static void half_a_credit_is_waited_for(struct bench *b)
{
	struct ends *e = make_ends(b, 0);

	use_up_credits(b, e);
	write_credit(e, credit_of(e, 4) ^ 1);
	fails(EAGAIN, "not read enough", send_one(b, e, 0, 8, 0));
	write_credit(e, credit_of(e, 4));
	ok(send_one(b, e, 0, 8, 0));
}

/* Here the sender believes credits that the receiver never gave. */
static void who_overruns_is_found_out(struct bench *b)
{
	struct ends *e = make_ends(b, PATIENCE_NS);

	use_up_credits(b, e);
	write_credit(e, credit_of(e, DEPTH));
	ok(send_one(b, e, 0, 8, 99));
	expect_failed(b, e->inbox[1], e->line[1], "more than it had credits for");
}

/* A record that is whole and says what no inbox takes: only who has the key can write that. */
static void a_length_that_cannot_be_is_refused(struct bench *b)
{
	struct ends *e = make_ends(b, 0);
	struct ring ring = ring_of(&e->address[1]);
	struct bsn_msg_address larger;
	struct bsn_sge local = bench_sge(b, 0, 0, LONGEST + 1);

	fails(EMSGSIZE, "a quarter", bsn_msg_send_from(e->line[0], &local, 0, BSN_F_RING));
	ok(bsn_msg_line_destroy(e->line[0]));
	ok(bsn_msg_line_create(e->inbox[0], b->qp[0], NULL, &e->line[0]));
	ring.bytes *= 2;
	memset(&larger, 0, sizeof(larger));
	memcpy(&larger, &ring, sizeof(ring));
	ok(bsn_msg_line_connect(e->line[0], &larger));
	ok(bsn_msg_send_from(e->line[0], &local, 0, BSN_F_RING));
	expect_failed(b, e->inbox[1], e->line[1], "longer than any");
}

/* -- what a caller gets wrong ------------------------------------------------------------------ */

static void inboxes_that_cannot_be_are_refused(struct bench *b)
{
	static const struct {
		struct bsn_msg_inbox_attr attr;
		const char *why;
	} bad[] = {
		{ { .depth = 3 }, "3 messages" },   { { .depth = 2 }, "2 messages" },
		{ { .depth = 1 << 17 }, "131072" }, { { .bytes = 1000 }, "1000 bytes" },
		{ { .bytes = 128 }, "128 bytes" },  { { .senders = 65537 }, "65537 senders" },
	};
	struct bsn_msg_inbox *inbox = NULL;

	for (unsigned i = 0; i < COUNT(bad); i++)
		fails(EINVAL, bad[i].why, bsn_msg_inbox_create(b->device, &bad[i].attr, &inbox));
	fails(EINVAL, "no device", bsn_msg_inbox_create(NULL, NULL, &inbox));
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
	fails(EINVAL, "max_inline of 64", bsn_msg_line_create(inbox, qp, NULL, &line));
	ok(bsn_qp_destroy(qp));
	attr.max_inline = BSN_MSG_RECORD;
	attr.type = BSN_QP_UD;
	ok(bsn_qp_create(b->device, &attr, &qp));
	fails(EOPNOTSUPP, "RC", bsn_msg_line_create(inbox, qp, NULL, &line));
	ok(bsn_qp_destroy(qp));
	ok(bsn_pd_create(b->device, &pd));
	attr.type = BSN_QP_RC;
	attr.pd = pd;
	ok(bsn_qp_create(b->device, &attr, &qp));
	fails(EINVAL, "two protection domains", bsn_msg_line_create(inbox, qp, NULL, &line));
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
	if (bench_is_attached(b))
		fails(EOPNOTSUPP, "attached", bsn_msg_line_create(inbox, b->qp[0], NULL, &line));
	ok(bsn_msg_inbox_destroy(inbox));
}

static void what_is_in_use_stays(struct bench *b)
{
	struct ends e = open_ends(b, 0);

	fails(EBUSY, "1 lines", bsn_msg_inbox_destroy(e.inbox[0]));
	assert_int_equal(bsn_qp_destroy(b->qp[0]), -EBUSY);
	close_ends(&e);
	ok(bsn_msg_line_destroy(NULL));
	ok(bsn_msg_inbox_destroy(NULL));
}

static void sends_that_cannot_be_are_refused(struct bench *b)
{
	const struct bsn_sge small = bench_sge(b, 0, 0, BSN_MSG_SHORT);
	struct bsn_msg_address nonsense = { { 1 } };
	struct ends *e = make_ends(b, 0);
	uint8_t data[LONGEST] = { 0 };
	struct bsn_msg_line *alone;
	struct bsn_msg msg;

	fails(EINVAL, "flags", bsn_msg_send(e->line[0], data, 1, BSN_F_SIGNALED));
	fails(EMSGSIZE, "bsn_msg_send_from()", bsn_msg_send(e->line[0], data, sizeof(data), 0));
	fails(EINVAL, "no data", bsn_msg_send(e->line[0], NULL, 1, 0));
	fails(EINVAL, "no line", bsn_msg_send(NULL, data, 1, 0));
	fails(EINVAL, "bsn_msg_send()", bsn_msg_send_from(e->line[0], &small, 0, 0));
	fails(EINVAL, "no line", bsn_msg_ring(NULL));
	fails(EINVAL, "no place", bsn_msg_poll(e->inbox[0], NULL));
	fails(EINVAL, "no inbox", bsn_msg_poll(NULL, &msg));
	fails(EISCONN, "connected", bsn_msg_line_connect(e->line[0], &e->address[1]));
	ok(bsn_msg_line_destroy(e->line[0]));
	ok(bsn_msg_line_create(e->inbox[0], b->qp[0], NULL, &alone));
	e->line[0] = alone;
	fails(ENOTCONN, "bsn_msg_line_connect()", bsn_msg_send(alone, data, 1, 0));
	fails(EPROTO, "not the address of a line", bsn_msg_line_connect(alone, &nonsense));
	for (unsigned i = 0; i < 2; i++) { /* of a host of the other byte order */
		const uint8_t swapped = e->address[1].bytes[i];
		e->address[1].bytes[i] = e->address[1].bytes[3 - i];
		e->address[1].bytes[3 - i] = swapped;
	}
	fails(EPROTO, "byte order", bsn_msg_line_connect(alone, &e->address[1]));
}

/* The send queue is the line's: full, it refuses both halves of a message. */
static void a_full_send_queue_refuses_whole_messages(struct bench *b)
{
	struct ends *e = make_ends(b, 0);
	uint32_t sent = 0;
	int err = 0;

	fill(bench_at(b, 0, 0), INLINE, 1);
	for (; !err && sent < DEPTH; sent++)
		err = bsn_msg_send_from(e->line[0], SGE(b, 0, 0, INLINE), sent, BSN_F_SIGNALED);
	fails(EAGAIN, "send queue is full", err);
	ok(bsn_msg_ring(e->line[0]));
	for (uint32_t i = 0; i < sent - 1; i++) {
		expect_done(b, b->cq[0], i, BSN_OPCODE_RDMA_WRITE);
		expect_message(b, e->inbox[1], INLINE, 1);
	}
	make_room(b);
	ok(send_one(b, e, 0, INLINE, 7));
	expect_message(b, e->inbox[1], INLINE, 7);
}

static const struct bench_case cases[] = {
	{ CASE(garbage_is_no_message), LINES },
	{ CASE(an_old_message_is_none), LINES },
	{ CASE(the_other_lines_go_on), LINES },
	{ CASE(credits_for_what_was_not_sent_are_a_lie), LINES },
	{ CASE(credits_that_are_taken_back_are_a_lie), LINES },
	{ CASE(a_credit_that_is_garbage_is_a_failure), LINES },
	{ CASE(half_a_credit_is_waited_for), LINES },
	{ CASE(who_overruns_is_found_out), LINES },
	{ CASE(a_length_that_cannot_be_is_refused), LINES },
	{ CASE(inboxes_that_cannot_be_are_refused), LINES },
	{ CASE(qps_that_cannot_be_lines_are_refused), LINES },
	{ CASE(attached_qps_are_refused), .qp = { .max_inline = INLINE } },
	{ CASE(what_is_in_use_stays), LINES },
	{ CASE(sends_that_cannot_be_are_refused), LINES },
	{ CASE(a_full_send_queue_refuses_whole_messages),
	  .qp = { .max_inline = INLINE, .send_depth = 5, .signal_every = 1 }, OWN },
};

BENCH_MAIN("messages_bad")
