/* SPDX-License-Identifier: BSD-2-Clause */
/* The message channel: sending, reading, credits. A line is used by one thread at a time. */
#include "msg.h"

#include "refuse.h"

/* -- sums -------------------------------------------------------------------------------------- */

static uint64_t load(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED); /* the device may write it now */
}

__extension__ typedef unsigned __int128 wide;

/*
 * Mixes two words, so that each bit of either changes all bits of the result. A word of 0 would
 * erase the other; a key of 64 random bits is not 0.
 */
BSN_ALWAYS_INLINE uint64_t fold(uint64_t a, uint64_t b)
{
	const wide product = (wide)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Begins the sum of message @number. */
BSN_ALWAYS_INLINE uint64_t first_sum(uint64_t length, uint64_t key, uint32_t number)
{
	return fold((key + number) ^ (length << 32 | length >> 32), 0x9e3779b97f4a7c15);
}

/* Adds two of the message's words. */
BSN_ALWAYS_INLINE uint64_t next_sum(uint64_t sum, uint64_t key, uint64_t word, uint64_t next)
{
	return fold(sum ^ word, key ^ next);
}

/* Ends the sum, which is never 0. */
BSN_ALWAYS_INLINE uint64_t last_sum(uint64_t sum)
{
	return sum | 1;
}

BSN_ALWAYS_INLINE uint64_t add_words(uint64_t sum, uint64_t key, const uint64_t *words)
{
	return next_sum(sum, key, load(&words[0]), load(&words[1]));
}

/*
 * The sum of a record. It covers as many pairs of words as the message has; for a longer message
 * none.
 */
BSN_ALWAYS_INLINE uint64_t sum_of(const struct msg_record *record, uint64_t length, uint64_t key,
				  uint32_t number)
{
	uint64_t sum = first_sum(length, key, number);

	if (BSN_UNLIKELY(length - 1 >= BSN_MSG_SHORT))
		return last_sum(sum);
	sum = add_words(sum, key, record->words);
	if (length > 16)
		sum = add_words(sum, key, record->words + 2);
	if (length > 32)
		sum = add_words(sum, key, record->words + 4);
	return last_sum(sum);
}

/* -- failures ---------------------------------------------------------------------------------- */

static int line_fail(struct bsn_msg_line *line, const char *why)
{
	line->failed = why;
	return refuse(EPROTO, why);
}

/* Waits for a while before something wrong fails the line: its bytes may still be on their way. */
static __attribute__((noinline, cold)) int doubt(struct bsn_msg_line *line, struct msg_doubt *doubt,
						 const char *why)
{
	const uint64_t now = monotonic_ns();

	if (!doubt->since_ns)
		doubt->since_ns = now;
	return now - doubt->since_ns < line->inbox->attr.patience_ns ? 0 : line_fail(line, why);
}

/* -- credits, on the sender's side ------------------------------------------------------------- */

/* Reads how many messages the peer says it took. Return: 0; -EPROTO. */
static int look_at_credit(struct bsn_msg_line *line)
{
	const uint64_t word = load(line->in.credit);
	const uint32_t taken = (uint32_t)word;
	struct msg_out *out = &line->out;

	if (word != msg_credit(line->in.key, taken))
		return doubt(line, &out->doubt,
			     "the peer's credit is garbage: it writes where it must not");
	out->doubt.since_ns = 0;
	if (taken - out->taken > out->sent - out->taken)
		return line_fail(
			line, "the peer says that it took more messages than were sent, or fewer "
			      "than it said before");
	if (taken != out->taken)
		out->freed = out->filled_by[(taken - 1) & (out->depth - 1)];
	out->taken = taken;
	return 0;
}

/* @filled: of its ring of bytes, with the message to be sent */
static bool has_credit(const struct msg_out *out, uint64_t filled)
{
	return out->sent - out->taken < out->depth && filled - out->freed <= out->bytes.size;
}

/* Whether the peer's ring has room. Return: 0; -EAGAIN; -EPROTO. */
static int wait_for_credit(struct bsn_msg_line *line, uint64_t filled)
{
	int err;

	if (BSN_LIKELY(has_credit(&line->out, filled)))
		return 0;
	err = look_at_credit(line);
	if (err)
		return err;
	return has_credit(&line->out, filled)
		       ? 0
		       : refuse(EAGAIN, "the peer has not read enough of what was sent: poll, then "
					"send");
}

/* -- sending ----------------------------------------------------------------------------------- */

static __attribute__((noinline, cold)) int refuse_send(const struct bsn_msg_line *line)
{
	if (!line)
		return refuse(EINVAL, "no line");
	if (line->failed)
		return refuse(EPROTO, line->failed);
	if (!line->out.depth)
		return refuse(ENOTCONN, "the line is not connected: bsn_msg_line_connect()");
	return refuse(EINVAL,
		      "unknown flags: a message takes BSN_F_RING, and from registered memory "
		      "BSN_F_SIGNALED");
}

BSN_ALWAYS_INLINE int check(const struct bsn_msg_line *line, unsigned flags, unsigned allowed)
{
	if (BSN_UNLIKELY(!line || line->failed || !line->out.depth || (flags & ~allowed)))
		return refuse_send(line);
	return 0;
}

static uint64_t id_of(const struct bsn_msg_line *line)
{
	return (uintptr_t)line;
}

static struct bsn_remote remote(const struct bsn_msg_line *line, uint64_t addr)
{
	return (struct bsn_remote){ .addr = addr, .rkey = line->out.rkey };
}

/*
 * Sends the record, which comes after the bytes and tells the peer that the message is there.
 * @bytes: fastest if constant
 */
BSN_ALWAYS_INLINE int send_record(struct bsn_msg_line *line, const struct msg_record *record,
				  uint32_t bytes, uint64_t filled, unsigned flags)
{
	struct msg_out *out = &line->out;
	const uint32_t slot = out->sent & (out->depth - 1);
	const struct bsn_remote to = remote(line, out->records + (uint64_t)slot * BSN_MSG_RECORD);
	const int err = bsn_write_inline(line->ep, record, bytes, &to, id_of(line), flags);

	if (BSN_UNLIKELY(err))
		return err;
	out->filled_by[slot] = filled;
	out->bytes.filled = filled;
	out->sent++;
	return 0;
}

/* Copies and sums up to 16 bytes, padded with zeros. */
BSN_ALWAYS_INLINE uint64_t put_words(uint64_t sum, uint64_t key, const uint8_t *data,
				     uint32_t length, uint64_t *words)
{
	uint64_t pair[2] = { 0, 0 };

	if (BSN_LIKELY(length >= sizeof(pair)))
		memcpy(pair, data, sizeof(pair));
	else
		memcpy(pair, data, length);
	words[0] = pair[0];
	words[1] = pair[1];
	return next_sum(sum, key, pair[0], pair[1]);
}

BSN_ALWAYS_INLINE int send_short_now(struct bsn_msg_line *line, const uint8_t *data,
				     uint32_t length, unsigned flags)
{
	const struct msg_out *out = &line->out;
	const uint64_t key = out->key, filled = out->bytes.filled;
	uint64_t sum = first_sum(length, key, out->sent);
	struct msg_record record;

	record.length = length;
	if (!length) {
		record.sum = last_sum(sum);
		return send_record(line, &record, 16, filled, flags);
	}
	sum = put_words(sum, key, data, length, record.words);
	if (length <= 16) {
		record.sum = last_sum(sum);
		return send_record(line, &record, 32, filled, flags);
	}
	sum = put_words(sum, key, data + 16, length - 16, record.words + 2);
	if (length <= 32) {
		record.sum = last_sum(sum);
		return send_record(line, &record, 48, filled, flags);
	}
	record.sum = last_sum(put_words(sum, key, data + 32, length - 32, record.words + 4));
	return send_record(line, &record, 64, filled, flags);
}

static int send_short(struct bsn_msg_line *line, const void *data, uint32_t length, unsigned flags)
{
	if (BSN_UNLIKELY(line->out.sent - line->out.taken >= line->out.depth)) {
		const int err = wait_for_credit(line, line->out.bytes.filled);

		if (err)
			return err;
	}
	return flags == BSN_F_RING ? send_short_now(line, data, length, BSN_F_RING)
				   : send_short_now(line, data, length, 0);
}

/* Sends the record of a message whose bytes were written before it. */
static int send_longer_record(struct bsn_msg_line *line, uint32_t length, uint64_t filled,
			      unsigned flags)
{
	const struct msg_record record = {
		.sum = last_sum(first_sum(length, line->out.key, line->out.sent)), .length = length
	};

	return send_record(line, &record, 16, filled, flags);
}

/*
 * Refuses a message if the send queue has no room for two requests: no WRITE may go without its
 * record.
 */
static int wait_for_queue(const struct bsn_msg_line *line)
{
	return bsn_room(line->ep) >= 2 ? 0 : refuse(EAGAIN, "the send queue is full: poll its CQ");
}

/* Finds room for a longer message, and where it begins at the peer. */
static int place_longer(struct bsn_msg_line *line, uint32_t length, uint64_t *filled,
			struct bsn_remote *to)
{
	struct msg_bytes with = line->out.bytes;
	int err;

	if (length > line->out.bytes.size / 4)
		return refuse(EMSGSIZE, "the message is longer than a quarter of the peer's ring "
					"of bytes: create its inbox with more");
	*to = remote(line, line->out.bytes_at + msg_place(&with, length));
	*filled = with.filled;
	err = wait_for_credit(line, with.filled);
	return err ? err : wait_for_queue(line);
}

static int send_longer(struct bsn_msg_line *line, const void *data, uint32_t length, unsigned flags)
{
	struct bsn_remote to;
	uint64_t filled;
	int err;

	if (length > line->qp->info.max_inline)
		return refuse(EMSGSIZE,
			      "the message is longer than the QP's max_inline: send it from "
			      "registered memory, by bsn_msg_send_from()");
	err = place_longer(line, length, &filled, &to);
	if (!err)
		err = bsn_write_inline(line->ep, data, length, &to, id_of(line), 0);
	return err ? err : send_longer_record(line, length, filled, flags);
}

int bsn_msg_send(struct bsn_msg_line *line, const void *data, uint32_t length, unsigned flags)
{
	const int err = check(line, flags, BSN_F_RING);

	if (err)
		return err;
	if (!data && length)
		return refuse(EINVAL, "no data");
	if (BSN_LIKELY(length <= BSN_MSG_SHORT))
		return send_short(line, length ? data : "", length, flags);
	return send_longer(line, data, length, flags);
}

int bsn_msg_send_from(struct bsn_msg_line *line, const struct bsn_sge *local, uint64_t id,
		      unsigned flags)
{
	struct bsn_remote to;
	uint64_t filled;
	int err = check(line, flags, BSN_F_RING | BSN_F_SIGNALED);

	if (err)
		return err;
	if (!local || local->length <= BSN_MSG_SHORT)
		return refuse(EINVAL, "no memory, or a short message: use bsn_msg_send()");
	err = place_longer(line, local->length, &filled, &to);
	if (!err)
		err = bsn_write(line->ep, local, &to, id, flags & BSN_F_SIGNALED);
	return err ? err : send_longer_record(line, local->length, filled, flags & BSN_F_RING);
}

int bsn_msg_ring(struct bsn_msg_line *line)
{
	return line ? bsn_ring(line->ep) : refuse(EINVAL, "no line");
}

/* -- reading ----------------------------------------------------------------------------------- */

/* Sends the credit. If the send queue is full, the next poll does. */
static void tell(struct bsn_msg_line *line)
{
	const uint64_t word = msg_credit(line->out.key, line->in.taken);
	const struct bsn_remote to = remote(line, line->out.credit_at);

	line->in.owes = !line->out.depth || bsn_write_inline(line->ep, &word, sizeof(word), &to,
							     id_of(line), BSN_F_RING);
	if (line->in.owes)
		return;
	line->in.told = line->in.taken;
	line->in.told_filled = line->in.bytes.filled;
}

/*
 * Whether a credit is due: for a quarter of the records or of the bytes. With the other three
 * quarters the longest message finds room (msg_place()).
 */
static bool is_due(const struct bsn_msg_line *line)
{
	const struct msg_in *in = &line->in;
	const uint64_t bytes = in->bytes.filled - in->told_filled;

	return in->taken - in->told >= in->quarter || (bytes && bytes >= in->bytes.size / 4);
}

static struct msg_record *next_record(const struct bsn_msg_line *line)
{
	return &line->in.records[line->in.taken & line->in.mask];
}

/* Takes back the message that the caller has, at its next call. */
static void give_back(struct bsn_msg_inbox *inbox)
{
	struct bsn_msg_line *line = inbox->given;

	inbox->given = NULL;
	__atomic_store_n(&next_record(line)->sum, 0, __ATOMIC_RELAXED);
	line->in.taken++;
	if (is_due(line))
		tell(line);
}

/* Takes the message of a complete record. */
static int take(struct bsn_msg_line *line, const struct msg_record *record, uint64_t length,
		struct bsn_msg *msg)
{
	struct msg_in *in = &line->in;

	if (length > BSN_MSG_SHORT && length > in->bytes.size / 4)
		return line_fail(
			line,
			"the peer says that a message is longer than any that this inbox takes");
	bsn_from_device(); /* bytes written before the record are there */
	in->doubt.since_ns = 0;
	msg->data = length > BSN_MSG_SHORT ? in->data + msg_place(&in->bytes, (uint32_t)length)
					   : (const uint8_t *)record->words;
	msg->length = (uint32_t)length;
	msg->line = line;
	msg->user = line->user;
	line->inbox->given = line;
	return 1;
}

static int look(struct bsn_msg_line *line, struct bsn_msg *msg)
{
	const struct msg_record *record = next_record(line);
	const uint64_t sum = load(&record->sum);
	uint64_t length;

	if (!sum)
		return 0;
	length = load(&record->length);
	if (BSN_UNLIKELY(sum != sum_of(record, length, line->in.key, line->in.taken)))
		return doubt(line, &line->in.doubt,
			     "what lies in the ring is no message: the peer wrote "
			     "garbage, or more than it had credits for");
	return take(line, record, length, msg);
}

/* Reads the line's next record, or reports that the line failed. */
static int look_at(struct bsn_msg_line *line, struct bsn_msg *msg)
{
	int got = -EPROTO;

	if (!line->failed) {
		if (BSN_UNLIKELY(line->in.owes))
			tell(line);
		got = look(line, msg);
	}
	if (got < 0) {
		if (line->is_told)
			return 0;
		line->is_told = true;
		msg->line = line;
		msg->user = line->user;
		return refuse(EPROTO, line->failed);
	}
	return got;
}

int bsn_msg_poll(struct bsn_msg_inbox *inbox, struct bsn_msg *msg)
{
	int got = 0;

	if (!inbox || !msg)
		return refuse(EINVAL, "no inbox, or no place for the message");
	if (inbox->given)
		give_back(inbox);
	for (uint32_t left = inbox->attr.senders; left && !got; left--) {
		struct bsn_msg_line *line = inbox->lines[inbox->turn];

		inbox->turn = inbox->turn + 1 < inbox->attr.senders ? inbox->turn + 1 : 0;
		if (line)
			got = look_at(line, msg);
	}
	return got;
}
