/* SPDX-License-Identifier: BSD-2-Clause */
#include "raw.h"

#include <string.h>

#include "judge.h"
#include "teller.h"

unsigned long teller_line(const struct teller *teller, size_t offset)
{
	const struct raw *raw = teller->raw;
	size_t low = 0, high = raw->place_count;

	if (!raw->places || !high)
		return 0;
	while (high - low > 1) {
		const size_t middle = (low + high) / 2;

		if (raw->places[middle].offset <= offset)
			low = middle;
		else
			high = middle;
	}
	return raw->places[low].line;
}

void teller_begin(const struct teller *teller, size_t offset, struct record *record)
{
	*record = (struct record){ .line = teller_line(teller, offset) };
	if (teller->is_ring) {
		record->ring = &teller->ring;
		record->slot = (uint32_t)(offset / teller->ring.stride_bytes);
	}
}

/* Neighbours that cannot be read are told of once. */
void teller_refuse(struct teller *teller, size_t offset, const struct bsn_bad *bad)
{
	if (teller->unread_end != offset || !offset)
		scan_unread(teller->scan, teller_line(teller, offset), "byte %zu: %s%s%s: %s",
			    offset + bad->offset, bad->segment, bad->field ? "." : "",
			    bad->field ? bad->field : "", bad->why);
	teller->unread_end = offset + teller->ring.stride_bytes;
}

/* What is left of the last slot, or of a dump that was cut. */
void teller_rest(const struct teller *teller, size_t at, const char *what, size_t size)
{
	const size_t rest = teller->raw->size - at;

	if (rest && !is_zero(teller->raw->bytes + at, rest))
		scan_unread(teller->scan, teller_line(teller, at),
			    "%zu bytes at the end, and a %s has %zu", rest, what, size);
}

/* A few CQEs that somebody copied are none. */
bool teller_is_ring(uint32_t count)
{
	return count >= 4 && !(count & (count - 1));
}

static void tell_recvs(struct teller *teller, enum bsn_recv_head head)
{
	static struct bsn_recv_wqe recv;
	static struct record record;
	const size_t stride = teller->attr->stride_bytes;
	struct bsn_bad bad;
	size_t at;

	teller->ring.name = "receive queue";
	teller->ring.stride_bytes = (uint32_t)stride;
	teller->ring.count = (uint32_t)(teller->raw->size / stride);
	teller->is_ring = teller_is_ring(teller->ring.count);
	for (at = 0; at + stride <= teller->raw->size; at += stride) {
		const uint8_t *bytes = teller->raw->bytes + at;

		if (is_zero(bytes, stride))
			continue;
		if (bsn_recv_decode(bytes, stride, head, &recv, &bad)) {
			teller_refuse(teller, at, &bad);
			continue;
		}
		teller_begin(teller, at, &record);
		record_set_recv(&record, bytes, stride, &recv);
		scan_record(teller->scan, &record);
	}
	teller_rest(teller, at, "receive WQE", stride);
}

/* The transport of most of the WQEs that tell. */
static enum bsn_transport most_likely_transport(const struct raw *raw)
{
	unsigned votes[BSN_TRANSPORT_IPOIB + 1] = { 0 }, odd = 0;
	enum bsn_transport best = BSN_TRANSPORT_RC;
	struct bsn_ctrl ctrl;

	for (size_t at = 0; at < raw->size && at < UNITS_MAX * BSN_BB_SIZE; at += BSN_BB_SIZE) {
		int guess;

		if (!judge_ctrl(raw->bytes + at, raw->size - at, &ctrl) || !ctrl.qpn)
			continue;
		guess = judge_transport(raw->bytes + at, raw->size - at, &odd);
		if (guess >= 0)
			votes[guess]++;
	}
	for (unsigned t = 0; t <= BSN_TRANSPORT_IPOIB; t++)
		if (votes[t] > votes[best])
			best = (enum bsn_transport)t;
	return best;
}

static void set_transport(struct teller *teller)
{
	const struct number *of_bytes = &teller->raw->transport,
			    *of_user = &teller->attr->transport;
	const struct number *said = of_bytes->is_known ? of_bytes : of_user;

	teller->transport_is_guess = !said->is_known;
	teller->transport = said->is_known ? (enum bsn_transport)said->value
					   : most_likely_transport(teller->raw);
}

/*
 * The queue, and the producer behind the newest WQE: indices are of 16 bits, and no ring has more
 * than half as many slots.
 */
static void set_queue(struct teller *teller)
{
	const uint32_t count = teller->ring.count;
	struct number *next = &teller->ring.producer;
	struct bsn_ctrl ctrl;

	for (uint32_t slot = 0; slot < count; slot++) {
		const uint8_t *bytes = teller->raw->bytes + slot * BSN_BB_SIZE;
		uint16_t end;

		if (!judge_ctrl(bytes, BSN_WQE_MAX_DS * BSN_DS_SIZE, &ctrl) || !ctrl.qpn ||
		    ctrl.wqe_index % count != slot)
			continue;
		end = (uint16_t)(ctrl.wqe_index + ctrl_size_bb(&ctrl));
		if (!next->is_known || (int16_t)(end - next->value) > 0)
			*next = KNOWN(end);
		teller->ring.qpn = KNOWN(ctrl.qpn);
	}
}

/* A WQE as one piece, whether it goes round the end of the ring or not; how many bytes are there. */
static size_t unwrap(const struct teller *teller, size_t offset, uint8_t *copy)
{
	const struct raw *raw = teller->raw;
	const size_t most = BSN_WQE_MAX_DS * BSN_DS_SIZE;
	size_t there = raw->size - offset, more;

	if (there > most)
		there = most;
	memcpy(copy, raw->bytes + offset, there);
	if (!teller->is_ring)
		return there;
	more = most - there < offset ? most - there : offset;
	memcpy(copy + there, raw->bytes, more);
	return there + more;
}

/* Whether a WQE begins in a slot: of a known operation, or of the ring's QP. */
static bool begins_in(const struct teller *teller, const uint8_t *bytes, size_t size, size_t slot)
{
	struct bsn_ctrl ctrl = { 0 };
	const bool is_known = judge_ctrl(bytes, size, &ctrl) && ctrl.qpn;

	return ctrl.ds && ctrl.wqe_index % teller->ring.count == slot &&
	       (is_known || ctrl.qpn == teller->ring.qpn.value);
}

/* One WQE; returns how many basic blocks it has. */
static size_t tell_wqe(struct teller *teller, size_t offset)
{
	uint8_t copy[BSN_WQE_MAX_DS * BSN_DS_SIZE];
	const size_t size = unwrap(teller, offset, copy);
	static struct record record;
	static struct bsn_wqe wqe;
	struct bsn_bad bad;

	if (is_zero(copy, size < BSN_BB_SIZE ? size : BSN_BB_SIZE))
		return 1;
	if (teller->is_ring && !begins_in(teller, copy, size, offset / BSN_BB_SIZE))
		return 1; /* the end of one that goes round, or what an older one left */
	if (bsn_wqe_decode(copy, size, teller->transport, &wqe, &bad)) {
		teller_refuse(teller, offset, &bad);
		return 1;
	}
	teller_begin(teller, offset, &record);
	record_set_wqe(&record, &wqe);
	record.transport_is_guess = teller->transport_is_guess;
	scan_record(teller->scan, &record);
	return ctrl_size_bb(&wqe.ctrl);
}

static void tell_wqes(struct teller *teller)
{
	const struct raw *raw = teller->raw;
	size_t at = 0;

	teller->is_ring = judge_ring(raw->bytes, raw->size);
	set_transport(teller);
	teller->ring.name = "send queue";
	teller->ring.stride_bytes = BSN_BB_SIZE;
	if (teller->is_ring) {
		teller->ring.count = (uint32_t)(raw->size / BSN_BB_SIZE);
		set_queue(teller);
	}
	while (at + BSN_CTRL_SIZE <= raw->size)
		at += tell_wqe(teller, at) * BSN_BB_SIZE;
	if (at < raw->size)
		teller_rest(teller, at, "control segment", BSN_CTRL_SIZE);
}

bool raw_tell(struct scan *scan, struct raw *raw)
{
	struct teller teller = { .scan = scan, .raw = raw, .attr = scan_attr_of(scan) };
	enum raw_kind kind;

	if (raw->kind != RAW_GUESS)
		kind = raw->kind;
	else if (judge_bytes(teller.attr, raw->bytes, raw->size, &kind) <= 0 &&
		 teller.attr->raw_kind == RAW_GUESS) {
		scan_unread(
			scan, teller_line(&teller, 0),
			"%zu bytes that are neither CQEs nor WQEs (--format says what they are)",
			raw->size);
		return false;
	}
	raw->kind = kind;
	if (kind == RAW_CQE || kind == RAW_CQE128)
		tell_cqes(&teller, kind == RAW_CQE ? BSN_CQE_SIZE : BSN_CQE128_SIZE);
	else if (kind == RAW_WQE)
		tell_wqes(&teller);
	else
		tell_recvs(&teller, kind == RAW_RECV_SRQ      ? BSN_RECV_LINKED
				    : kind == RAW_RECV_SIGNED ? BSN_RECV_SIGNED
							      : BSN_RECV_PLAIN);
	return true;
}
