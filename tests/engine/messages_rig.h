/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The message channel: what is sent arrives whole, once and in order, whoever writes what into the
 * ring.
 */
#ifndef TESTS_ENGINE_MESSAGES_RIG_H
#define TESTS_ENGINE_MESSAGES_RIG_H

#include "harness.h"
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

static inline struct ends open_ends_of(struct bench *b, const struct bsn_msg_inbox_attr *attr)
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

static inline struct bsn_msg_inbox_attr inbox_of(uint32_t senders, uint64_t patience_ns)
{
	return (struct bsn_msg_inbox_attr){
		.senders = senders, .depth = DEPTH, .bytes = BYTES, .patience_ns = patience_ns
	};
}

static inline struct ends open_ends(struct bench *b, uint64_t patience_ns)
{
	const struct bsn_msg_inbox_attr attr = inbox_of(1, patience_ns);

	return open_ends_of(b, &attr);
}

static inline void close_ends(struct ends *e)
{
	for (int end = 0; end < 2; end++) {
		ok(bsn_msg_line_destroy(e->line[end]));
		ok(bsn_msg_inbox_destroy(e->inbox[end]));
	}
}

static inline int free_ends(struct ends *e)
{
	close_ends(e);
	free(e);
	return 0;
}

/* Those that the bench closes. */
static inline struct ends *make_ends_of(struct bench *b, const struct bsn_msg_inbox_attr *attr)
{
	struct ends *e = malloc(sizeof(*e));

	assert_non_null(e);
	*e = open_ends_of(b, attr);
	undo_later(b, free_ends, e);
	return e;
}

static inline struct ends *make_ends(struct bench *b, uint64_t patience_ns)
{
	const struct bsn_msg_inbox_attr attr = inbox_of(1, patience_ns);

	return make_ends_of(b, &attr);
}

/* Room in send queues is the CQ's to find; none of the channel's own requests completes. */
static inline void make_room(struct bench *b)
{
	struct bsn_completion c;

	bench_settle(b);
	for (int end = 0; end < 2; end++)
		assert_int_equal(bsn_poll(b->cq[end], &c, 1), 0);
}

static inline int poll_inbox(struct bench *b, struct bsn_msg_inbox *inbox, struct bsn_msg *msg)
{
	int got = 0;

	for (unsigned i = 0; i < TRIES && !got; i++) {
		bench_settle(b);
		got = bsn_msg_poll(inbox, msg);
	}
	return got;
}

static inline void fill(uint8_t *data, uint32_t length, uint32_t seed)
{
	for (uint32_t i = 0; i < length; i++)
		data[i] = (uint8_t)(seed * 31 + i * 7 + (i >> 8));
}

static inline void expect_message(struct bench *b, struct bsn_msg_inbox *inbox, uint32_t length,
				  uint32_t seed)
{
	uint8_t wanted[LONGEST];
	struct bsn_msg msg;

	assert_int_equal(poll_inbox(b, inbox, &msg), 1);
	assert_int_equal(msg.length, length);
	assert_int_equal((uintptr_t)msg.data % 8, 0);
	fill(wanted, length, seed);
	assert_memory_equal(msg.data, wanted, length);
}

static inline void expect_none(struct bench *b, struct bsn_msg_inbox *inbox)
{
	struct bsn_msg msg;

	bench_settle(b);
	assert_int_equal(bsn_msg_poll(inbox, &msg), 0);
}

static inline int send_one(struct bench *b, const struct ends *e, int end, uint32_t length,
			   uint32_t seed)
{
	uint8_t data[INLINE];

	if (length <= INLINE) {
		fill(data, length, seed);
		return bsn_msg_send(e->line[end], data, length, BSN_F_RING);
	}
	fill(bench_at(b, end, 0), length, seed);
	return bsn_msg_send_from(e->line[end], SGE(b, end, 0, length), 0, BSN_F_RING);
}

/* -- what is right ----------------------------------------------------------------------------- */

struct senders {
	struct bsn_cq *cq;
	struct bsn_qp *qp[2][SENDERS];
	struct bsn_msg_inbox *inbox[2];
	struct bsn_msg_line *line[2][SENDERS];
};

static inline void connect_senders(struct senders *s)
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

static inline void make_senders(struct bench *b, struct senders *s)
{
	const struct bsn_qp_attr attr = { .send_depth = DEPTH,
					  .recv_depth = 1,
					  .max_inline = INLINE };
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

static inline void free_senders(struct senders *s)
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

/* -- in which order bytes come ----------------------------------------------------------------- */

/* What an address says, as peers of this version know it. */
struct ring {
	uint32_t magic, rkey;
	uint64_t records, bytes_at, credit_at, key;
	uint32_t depth, bytes;
};

static inline struct ring ring_of(const struct bsn_msg_address *address)
{
	struct ring ring;

	memcpy(&ring, address, sizeof(ring));
	return ring;
}

static inline uint8_t *record_at(const struct ring *ring, uint32_t number)
{
	return (uint8_t *)(uintptr_t)ring->records +
	       (size_t)(number % ring->depth) * BSN_MSG_RECORD;
}

#define LINES .qp = { .max_inline = INLINE }, OWN

#endif
