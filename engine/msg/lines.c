/* SPDX-License-Identifier: BSD-2-Clause */
/* The message channel: inboxes, lines, and how lines connect. */
#include "msg.h"

#include <stdlib.h>
#include <sys/random.h>

enum {
	DEFAULT_DEPTH = 64,
	MIN_DEPTH = 4,
	MAX_DEPTH = 65536,
	MIN_BYTES = 256,
	MAX_SENDERS = 65536,
	CREDIT_BYTES = 64, /* a cache line of its own */
	DEFAULT_PATIENCE_NS = 1000000000,
};

#define MAX_BYTES (1u << 31)

/* -- inboxes ----------------------------------------------------------------------------------- */

/* Each sender's place has the records, the bytes of longer messages, and the credit. */

static bool is_power_of_2(uint32_t n)
{
	return n && !(n & (n - 1));
}

static size_t bytes_of_place(const struct bsn_msg_inbox_attr *attr)
{
	return (size_t)attr->depth * BSN_MSG_RECORD + attr->bytes + CREDIT_BYTES;
}

static int check(const struct bsn_msg_inbox_attr *attr)
{
	if (attr->senders > MAX_SENDERS)
		return fail(EINVAL, "%u senders: an inbox has up to %d", attr->senders,
			    MAX_SENDERS);
	if (!is_power_of_2(attr->depth) || attr->depth < MIN_DEPTH || attr->depth > MAX_DEPTH)
		return fail(EINVAL, "a depth of %u messages: a power of two from %d to %d",
			    attr->depth, MIN_DEPTH, MAX_DEPTH);
	if (attr->bytes && (!is_power_of_2(attr->bytes) || attr->bytes < MIN_BYTES))
		return fail(
			EINVAL,
			"%u bytes: a power of two from %d to 2^31, or 0 where no message is longer "
			"than %d",
			attr->bytes, MIN_BYTES, BSN_MSG_SHORT);
	return 0;
}

int bsn_msg_inbox_create(struct bsn_device *device, const struct bsn_msg_inbox_attr *given,
			 struct bsn_msg_inbox **out)
{
	struct bsn_msg_inbox_attr attr = given ? *given : (struct bsn_msg_inbox_attr){ 0 };
	struct bsn_mr_attr memory = { .pd = attr.pd };
	struct bsn_msg_inbox *inbox;
	int err;

	if (!device || !out)
		return fail(EINVAL, "no device, or no place for the inbox");
	attr.senders = attr.senders ? attr.senders : 1;
	attr.depth = attr.depth ? attr.depth : DEFAULT_DEPTH;
	attr.patience_ns = attr.patience_ns ? attr.patience_ns : DEFAULT_PATIENCE_NS;
	err = check(&attr);
	if (err)
		return err;
	inbox = calloc(1, sizeof(*inbox) + attr.senders * sizeof(inbox->lines[0]));
	if (!inbox)
		return fail(ENOMEM, "no memory");
	err = bsn_buf_alloc(device, attr.senders * bytes_of_place(&attr), &memory, &inbox->mem);
	if (err) {
		free(inbox);
		return err;
	}
	inbox->device = device;
	inbox->pd = pd_of(device, attr.pd);
	inbox->attr = attr;
	*out = inbox;
	return 0;
}

int bsn_msg_inbox_destroy(struct bsn_msg_inbox *inbox)
{
	int err;

	if (!inbox)
		return 0;
	if (inbox->count)
		return fail(EBUSY, "the inbox has %u lines: destroy them first", inbox->count);
	err = bsn_buf_free(inbox->mem);
	if (!err)
		free(inbox);
	return err;
}

/* -- lines ------------------------------------------------------------------------------------- */

static int check_line(const struct bsn_msg_inbox *inbox, const struct bsn_qp *qp)
{
	if (inbox->count == inbox->attr.senders)
		return fail(ENOSPC, "the inbox has %u lines, as many as its senders", inbox->count);
	if (qp->device != inbox->device)
		return fail(EINVAL, "the QP is of another device");
	if (qp->type != BSN_QP_RC)
		return fail(EOPNOTSUPP, "a line needs an RC QP: others lose messages, or have no "
					"RDMA WRITE");
	if (!qp->owns_verbs)
		return fail(EOPNOTSUPP, "an attached QP is in a protection domain of the "
					"application: use bsn_qp_create()");
	if (qp->pd != inbox->pd)
		return fail(EINVAL, "the QP and the inbox are in two protection domains");
	if (qp->info.max_inline < BSN_MSG_RECORD)
		return fail(EINVAL,
			    "the QP takes %u bytes inline: create it with a max_inline of %d",
			    qp->info.max_inline, BSN_MSG_RECORD);
	return 0;
}

static uint64_t new_key(const void *object)
{
	uint64_t key;

	if (getrandom(&key, sizeof(key), GRND_NONBLOCK) != sizeof(key))
		key = (uint64_t)(uintptr_t)object * 0x9e3779b97f4a7c15;
	return key | 1; /* not 0, so a credit of zeros is none */
}

static uint8_t *at_place(const struct bsn_msg_inbox *inbox, uint32_t place)
{
	return (uint8_t *)(uintptr_t)inbox->mem->addr + place * bytes_of_place(&inbox->attr);
}

/* Begins a line: its ring is empty, and the peer has taken nothing. */
static void begin(struct bsn_msg_line *line)
{
	const struct bsn_msg_inbox_attr *attr = &line->inbox->attr;
	uint8_t *ring = at_place(line->inbox, line->place);
	uint8_t *data = ring + (size_t)attr->depth * BSN_MSG_RECORD, *credit = data + attr->bytes;
	const uint64_t key = new_key(line), none_taken = msg_credit(key, 0);

	memset(ring, 0, bytes_of_place(attr));
	memcpy(credit, &none_taken, sizeof(none_taken));
	line->in = (struct msg_in){
		.records = (struct msg_record *)(void *)ring,
		.mask = attr->depth - 1,
		.quarter = attr->depth / 4,
		.data = data,
		.credit = (const uint64_t *)(void *)credit,
		.key = key,
		.bytes = { .size = attr->bytes },
	};
}

int bsn_msg_line_create(struct bsn_msg_inbox *inbox, struct bsn_qp *qp, void *user,
			struct bsn_msg_line **out)
{
	struct bsn_msg_line *line;
	int err;

	if (!inbox || !qp || !out)
		return fail(EINVAL, "no inbox, no QP, or no place for the line");
	err = check_line(inbox, qp);
	if (err)
		return err;
	line = calloc(1, sizeof(*line));
	if (!line)
		return fail(ENOMEM, "no memory");
	line->inbox = inbox;
	line->qp = qp;
	line->ep = bsn_qp_ep(qp);
	line->user = user;
	while (inbox->lines[line->place])
		line->place++;
	begin(line);
	inbox->lines[line->place] = line;
	inbox->count++;
	use(&qp->uses);
	*out = line;
	return 0;
}

int bsn_msg_line_destroy(struct bsn_msg_line *line)
{
	struct bsn_msg_inbox *inbox;

	if (!line)
		return 0;
	inbox = line->inbox;
	if (inbox->given == line)
		inbox->given = NULL;
	inbox->lines[line->place] = NULL;
	inbox->count--;
	unuse(&line->qp->uses);
	free(line->out.filled_by);
	free(line);
	return 0;
}

/* -- addresses --------------------------------------------------------------------------------- */

/* A line's address, in the sender's byte order, as are its rings; the first word tells. */
struct wire_line {
	uint32_t magic;
	uint32_t rkey;
	uint64_t records, bytes_at, credit_at;
	uint64_t key;
	uint32_t depth, bytes;
};

#define WIRE_MAGIC 0x42736e32u /* of this layout of rings: "Bsn2" */

_Static_assert(sizeof(struct wire_line) <= sizeof(struct bsn_msg_address),
	       "an address has room for all");

int bsn_msg_line_address(const struct bsn_msg_line *line, struct bsn_msg_address *address)
{
	struct wire_line wire;

	if (!line || !address)
		return fail(EINVAL, "no line, or no place for its address");
	wire = (struct wire_line){
		.magic = WIRE_MAGIC,
		.rkey = line->inbox->mem->rkey,
		.records = (uintptr_t)line->in.records,
		.bytes_at = (uintptr_t)line->in.data,
		.credit_at = (uintptr_t)line->in.credit,
		.key = line->in.key,
		.depth = line->inbox->attr.depth,
		.bytes = line->inbox->attr.bytes,
	};
	memset(address, 0, sizeof(*address));
	memcpy(address, &wire, sizeof(wire));
	return 0;
}

static int check_wire(const struct wire_line *wire)
{
	if (wire->magic == __builtin_bswap32(WIRE_MAGIC))
		return fail(EPROTO, "the peer's host has another byte order");
	if (wire->magic != WIRE_MAGIC || !is_power_of_2(wire->depth) || wire->depth < MIN_DEPTH ||
	    wire->depth > MAX_DEPTH || (wire->bytes && !is_power_of_2(wire->bytes)))
		return fail(
			EPROTO,
			"this is not the address of a line, or that of another version of Bunsen");
	return 0;
}

int bsn_msg_line_connect(struct bsn_msg_line *line, const struct bsn_msg_address *peer)
{
	struct wire_line wire;
	int err;

	if (!line || !peer)
		return fail(EINVAL, "no line, or no address");
	if (line->out.depth)
		return fail(EISCONN, "the line is connected: create another one for another peer");
	memcpy(&wire, peer, sizeof(wire));
	err = check_wire(&wire);
	if (err)
		return err;
	line->out.filled_by = calloc(wire.depth, sizeof(*line->out.filled_by));
	if (!line->out.filled_by)
		return fail(ENOMEM, "no memory");
	line->out.records = wire.records;
	line->out.bytes_at = wire.bytes_at;
	line->out.credit_at = wire.credit_at;
	line->out.key = wire.key;
	line->out.rkey = wire.rkey;
	line->out.bytes.size = wire.bytes;
	line->out.depth = wire.depth;
	return 0;
}
