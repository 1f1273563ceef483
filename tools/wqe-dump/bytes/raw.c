/* SPDX-License-Identifier: BSD-2-Clause */
#include "raw.h"

#include <string.h>

static void tell_recvs(struct teller *teller)
{
	const size_t stride = teller->attr->stride_bytes;
	size_t at;

	teller->ring.name = "receive queue";
	teller->ring.stride_bytes = (uint32_t)stride;
	teller->ring.count = (uint32_t)(teller->raw->size / stride);
	teller->is_ring = teller_is_ring(teller->ring.count);
	for (at = 0; at + stride <= teller->raw->size; at += stride) {
		const uint8_t *bytes = teller->raw->bytes + at;
		struct record *record =
			is_zero(bytes, stride) ? NULL : teller_read(teller, at, bytes, stride);

		if (record)
			tell_record(teller->tell, record);
	}
	teller_rest(teller, at, "receive WQE", stride);
}

/* The transport with which most WQEs make sense. */
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

/* Sets the QPN, and the producer: after the newest WQE, by indices of 16 bits. */
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
		end = (uint16_t)(ctrl.wqe_index + bsn_bb_of_ds(ctrl.ds));
		if (!next->is_known || (int16_t)(end - next->value) > 0)
			*next = KNOWN(end);
		teller->ring.qpn = KNOWN(ctrl.qpn);
	}
}

/* Copies a WQE in one piece, even if the ring wraps. Returns how many bytes there are. */
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

/* Whether a WQE begins in a slot: its operation is known, or its QPN is the ring's. */
static bool begins_in(const struct teller *teller, const uint8_t *bytes, size_t size, size_t slot)
{
	struct bsn_ctrl ctrl = { 0 };
	const bool is_known = judge_ctrl(bytes, size, &ctrl) && ctrl.qpn;

	return ctrl.ds && ctrl.wqe_index % teller->ring.count == slot &&
	       (is_known || ctrl.qpn == teller->ring.qpn.value);
}

/* Reports a WQE. Returns how many basic blocks it has. */
static size_t tell_wqe(struct teller *teller, size_t offset)
{
	uint8_t copy[BSN_WQE_MAX_DS * BSN_DS_SIZE];
	const size_t size = unwrap(teller, offset, copy);
	struct record *record;

	if (is_zero(copy, size < BSN_BB_SIZE ? size : BSN_BB_SIZE))
		return 1;
	if (teller->is_ring && !begins_in(teller, copy, size, offset / BSN_BB_SIZE))
		return 1; /* the end of a WQE that wraps, or the rest of an older one */
	record = teller_read(teller, offset, copy, size);
	if (!record)
		return 1;
	tell_record(teller->tell, record);
	return bsn_bb_of_ds(record->wqe->ctrl.ds);
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

bool raw_tell(struct tell *tell, const struct raw_attr *attr, struct raw *raw)
{
	struct teller teller = { .tell = tell, .raw = raw, .attr = attr };
	enum raw_kind kind = raw->kind;

	if (kind == RAW_GUESS && judge_bytes(attr, raw->bytes, raw->size, &kind) <= 0 &&
	    attr->kind == RAW_GUESS) {
		tell_unread(
			tell, teller_line(&teller, 0),
			"%zu bytes that are neither CQEs nor WQEs (--format says what they are)",
			raw->size);
		return false;
	}
	raw->kind = kind;
	if (kind == RAW_CQE || kind == RAW_CQE128)
		raw_cqes_tell(&teller, kind == RAW_CQE ? BSN_CQE_SIZE : BSN_CQE128_SIZE);
	else if (kind == RAW_WQE)
		tell_wqes(&teller);
	else
		tell_recvs(&teller);
	return true;
}
