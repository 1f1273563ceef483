/* SPDX-License-Identifier: BSD-2-Clause */
#include "raw.h"

#include <string.h>

#define UNIT        64  /* bytes: a CQE, a basic block */
#define UNITS_MAX   512 /* that are looked at to tell what they are */
#define IMPLAUSIBLE (-3)
#define RING_POINTS 100 /* more than any units have: no accident puts indices where they belong */

static bool is_zero(const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (bytes[i])
			return false;
	return true;
}

/* -- plausible CQEs ----------------------------------------------------------------------------- */

static int judge_error(const struct bsn_cqe_err *err, const uint8_t *cqe)
{
	static const struct bsn_enum_value known[] = {
#define SYNDROME(name, value, doc) { value, #name, doc },
		BSN_SYNDROMES(SYNDROME)
#undef SYNDROME
	};
	const struct bsn_enum syndromes = { "syndrome", known, sizeof(known) / sizeof(known[0]) };

	if (!bsn_enum_find(&syndromes, err->syndrome))
		return 1;
	return is_zero(cqe, UNIT / 2) ? 6 : 3;
}

/* Points for a CQE. */
static int judge_cqe(const uint8_t *bytes, size_t size)
{
	struct bsn_cqe cqe;

	if (bsn_cqe_walk(bytes, size, &cqe, NULL))
		return IMPLAUSIBLE;
	bytes += cqe.offset;
	if (cqe.tail.opcode == BSN_CQE_INVALID)
		return is_zero(bytes, BSN_CQE_TAIL_OFFSET) ? 1 : 0;
	if (!cqe.view)
		return cqe.tail.format == BSN_CQE_COMPRESSED ? 0 : IMPLAUSIBLE;
	if (cqe.view == &bsn_cqe_resize_desc)
		return is_zero(bytes, BSN_CQE_TAIL_OFFSET) ? 1 : 0;
	if (!(bsn_load_be32(bytes + BSN_CQE_QPN_OFFSET) & 0xffffff))
		return -1;
	if (cqe.view == &bsn_cqe_err_desc)
		return judge_error(&cqe.as.err, bytes);
	if (cqe.view == &bsn_cqe_req_desc)
		return (!bsn_wqe_op_find(cqe.as.req.wqe_opcode)   ? IMPLAUSIBLE
			: cqe.as.req.wqe_opcode == BSN_OPCODE_NOP ? 0
								  : 1) +
		       (is_zero(bytes, UNIT / 2) ? 3 : 0) + (cqe.as.req.timestamp ? 1 : 0);
	if (cqe.view == &bsn_cqe_resp_desc)
		return 1 + (cqe.as.resp.timestamp ? 1 : 0) +
		       (cqe.as.resp.byte_count <= BSN_DATA_MAX_BYTES ? 1 : 0);
	return 1;
}

/* Points a unit, in tenths, over CQEs of `size` bytes. */
static int judge_cqes(const uint8_t *bytes, size_t size, size_t cqe_size)
{
	int points = 0, units = 0;

	if (size % cqe_size)
		return IMPLAUSIBLE;
	for (size_t at = 0; at < size && units < UNITS_MAX; at += cqe_size) {
		if (is_zero(bytes + at, cqe_size))
			continue;
		points += judge_cqe(bytes + at, cqe_size);
		units++;
	}
	return units ? points * 10 / units : 0;
}

/* Whether every other unit is empty, as no CQ of 64 B is that has been used. */
static bool has_empty_halves(const uint8_t *bytes, size_t size)
{
	for (size_t at = 0; at + BSN_CQE128_SIZE <= size; at += BSN_CQE128_SIZE)
		if (!is_zero(bytes + at, UNIT))
			return false;
	return size >= BSN_CQE128_SIZE;
}

/* -- plausible WQEs ----------------------------------------------------------------------------- */

/* How often a WQE says what nobody would have posted. */
static unsigned count_oddities(const struct bsn_wqe *wqe)
{
	unsigned odd = bsn_wqe_findings(wqe, NULL, 0);

	if (wqe->transport == BSN_TRANSPORT_UD && wqe->data_count && !wqe->to.ud.dqpn)
		odd++;
	for (unsigned i = 0; i < wqe->data_count; i++) {
		const struct bsn_wqe_data *data = &wqe->data[i];
		const uint16_t high = (uint16_t)(data->addr >> 48);

		if (!data->bytes && (!data->lkey || (high && high != UINT16_MAX)))
			odd++;
	}
	return odd;
}

/* The transport that leaves a WQE the fewest oddities; -EBADMSG where it is a WQE of none. */
static int guess_transport(const uint8_t *bytes, size_t size, unsigned *fewest)
{
	static struct bsn_wqe wqe;
	int best = -EBADMSG;

	for (int t = 0; t <= BSN_TRANSPORT_IPOIB; t++) {
		unsigned odd;

		if (bsn_wqe_walk(bytes, size, (enum bsn_transport)t, &wqe, NULL))
			continue;
		odd = count_oddities(&wqe);
		if (best >= 0 && odd >= *fewest)
			continue;
		best = t;
		*fewest = odd;
	}
	return best;
}

/* What the control segment at a place says, as far as it can be one. */
static bool read_ctrl(const uint8_t *bytes, size_t size, struct bsn_ctrl *ctrl)
{
	if (size < BSN_CTRL_SIZE)
		return false;
	bsn_ctrl_decode(ctrl, bytes);
	return ctrl->ds && ctrl->ds * BSN_DS_SIZE <= size && bsn_wqe_op_find(ctrl->opcode);
}

static size_t ctrl_size_bb(const struct bsn_ctrl *ctrl)
{
	return (ctrl->ds + BSN_BB_DS - 1) / BSN_BB_DS;
}

/* Points for a WQE, and how many basic blocks it has. */
static int judge_wqe(const uint8_t *bytes, size_t size, size_t *count_bb)
{
	struct bsn_ctrl ctrl;
	unsigned odd = 0;

	*count_bb = 1;
	if (!read_ctrl(bytes, size, &ctrl) || guess_transport(bytes, size, &odd) < 0)
		return IMPLAUSIBLE;
	*count_bb = ctrl_size_bb(&ctrl);
	return (odd ? 1 : 4) + (ctrl.qpn ? 1 : -1);
}

/* Whether slots and indices agree, so that the bytes are a whole send queue. */
static bool looks_like_ring(const uint8_t *bytes, size_t size)
{
	const size_t count = size / UNIT;
	unsigned agree = 0, differ = 0;
	struct bsn_ctrl ctrl;

	if (size % UNIT || count < 2 || count & (count - 1))
		return false;
	for (size_t slot = 0; slot < count; slot++) {
		if (!read_ctrl(bytes + slot * UNIT, size, &ctrl) || !ctrl.qpn)
			continue;
		if (ctrl.wqe_index % count == slot)
			agree++;
		else
			differ++;
	}
	return agree > 1 && agree > 2 * differ;
}

static int judge_wqes(const uint8_t *bytes, size_t size)
{
	int points = 0, units = 0;
	size_t count_bb;

	if (looks_like_ring(bytes, size))
		return RING_POINTS;
	for (size_t at = 0; at + BSN_CTRL_SIZE <= size && units < UNITS_MAX;
	     at += count_bb * UNIT) {
		const size_t left = size - at;

		count_bb = 1;
		if (is_zero(bytes + at, left < UNIT ? left : UNIT))
			continue;
		points += judge_wqe(bytes + at, left, &count_bb);
		units++;
	}
	return units ? points * 10 / units : 0;
}

/* The points of the kind that has the most. */
static int judge(const uint8_t *bytes, size_t size, enum raw_kind *kind)
{
	const int cqe = judge_cqes(bytes, size, BSN_CQE_SIZE);
	const int cqe128 = judge_cqes(bytes, size, BSN_CQE128_SIZE);
	const int wqe = judge_wqes(bytes, size);
	int score = cqe;

	*kind = RAW_CQE;
	if (cqe128 > cqe || (cqe128 > 0 && has_empty_halves(bytes, size))) {
		score = cqe128;
		*kind = RAW_CQE128;
	}
	if (wqe <= score)
		return score;
	*kind = RAW_WQE;
	return wqe;
}

int raw_score(const struct scan_attr *attr, const uint8_t *bytes, size_t size, enum raw_kind *kind)
{
	*kind = attr->raw_kind;
	switch (attr->raw_kind) {
	case RAW_GUESS:
		return judge(bytes, size, kind);
	case RAW_CQE:
		return judge_cqes(bytes, size, BSN_CQE_SIZE);
	case RAW_CQE128:
		return judge_cqes(bytes, size, BSN_CQE128_SIZE);
	case RAW_WQE:
		return judge_wqes(bytes, size);
	default:
		return 0;
	}
}

/* -- telling ------------------------------------------------------------------------------------ */

/* What is being told of. */
struct teller {
	struct scan *scan;
	const struct raw *raw;
	const struct scan_attr *attr;
	struct ring ring;
	bool is_ring;      /* a whole queue; of a send queue slot n has index n modulo its count */
	size_t unread_end; /* where the last thing ended that could not be read */
	enum bsn_transport transport;
};

static unsigned long line_of(const struct raw *raw, size_t offset)
{
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

static void begin_record(const struct teller *teller, size_t offset, struct record *record)
{
	*record = (struct record){ .line = line_of(teller->raw, offset) };
	if (teller->is_ring) {
		record->ring = &teller->ring;
		record->slot = (uint32_t)(offset / teller->ring.stride_bytes);
	}
}

/* Neighbours that cannot be read are told of once. */
static void tell_unread(struct teller *teller, size_t offset, const struct bsn_bad *bad)
{
	if (teller->unread_end != offset || !offset)
		scan_unread(teller->scan, line_of(teller->raw, offset), "byte %zu: %s%s%s: %s",
			    offset + bad->offset, bad->segment, bad->field ? "." : "",
			    bad->field ? bad->field : "", bad->why);
	teller->unread_end = offset + UNIT;
}

static void tell_cqe(struct teller *teller, size_t offset)
{
	const size_t size = teller->ring.stride_bytes;
	const uint8_t *bytes = teller->raw->bytes + offset;
	static struct record record;
	struct bsn_bad bad;
	struct bsn_cqe cqe;

	if (is_zero(bytes, size) || bytes[size - 1] >> 4 == BSN_CQE_INVALID)
		return; /* not written yet */
	if (bsn_cqe_walk(bytes, size, &cqe, &bad)) {
		tell_unread(teller, offset, &bad);
		return;
	}
	begin_record(teller, offset, &record);
	record_set_cqe(&record, bytes, size, &cqe);
	scan_record(teller->scan, &record);
}

/* What is left of the last slot, or of a dump that was cut. */
static void tell_rest(const struct teller *teller, size_t at, const char *what, size_t size)
{
	const size_t rest = teller->raw->size - at;

	if (rest && !is_zero(teller->raw->bytes + at, rest))
		scan_unread(teller->scan, line_of(teller->raw, at),
			    "%zu bytes at the end, and a %s has %zu", rest, what, size);
}

/* A few CQEs that somebody copied are none. */
static bool is_ring_size(uint32_t count)
{
	return count >= 4 && !(count & (count - 1));
}

/* The first slot of the round before, or that was never written; the owner bit tells rounds apart. */
static uint32_t find_next_cqe(const struct teller *teller)
{
	const uint32_t stride = teller->ring.stride_bytes;
	const uint8_t *op_own = teller->raw->bytes + stride - 1, *first = op_own;

	for (uint32_t slot = 0; slot < teller->ring.count; slot++, op_own += stride)
		if ((*op_own ^ *first) & 1 || *op_own >> 4 == BSN_CQE_INVALID ||
		    is_zero(op_own + 1 - BSN_CQE_SIZE, BSN_CQE_SIZE))
			return slot;
	return 0;
}

static void tell_cqes(struct teller *teller, size_t size)
{
	size_t at;

	teller->ring.name = "completion queue";
	teller->ring.stride_bytes = (uint32_t)size;
	teller->ring.count = (uint32_t)(teller->raw->size / size);
	teller->is_ring = is_ring_size(teller->ring.count);
	teller->ring.producer = KNOWN(find_next_cqe(teller));
	for (at = 0; at + size <= teller->raw->size; at += size)
		tell_cqe(teller, at);
	tell_rest(teller, at, "CQE", size);
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
	teller->is_ring = is_ring_size(teller->ring.count);
	for (at = 0; at + stride <= teller->raw->size; at += stride) {
		const uint8_t *bytes = teller->raw->bytes + at;

		if (is_zero(bytes, stride))
			continue;
		if (bsn_recv_walk(bytes, stride, head, &recv, &bad)) {
			tell_unread(teller, at, &bad);
			continue;
		}
		begin_record(teller, at, &record);
		record_set_recv(&record, bytes, stride, &recv);
		scan_record(teller->scan, &record);
	}
	tell_rest(teller, at, "receive WQE", stride);
}

/* The transport of most of the WQEs that tell. */
static enum bsn_transport most_likely_transport(const struct raw *raw)
{
	unsigned votes[BSN_TRANSPORT_IPOIB + 1] = { 0 }, odd = 0;
	enum bsn_transport best = BSN_TRANSPORT_RC;
	struct bsn_ctrl ctrl;

	for (size_t at = 0; at < raw->size && at < UNITS_MAX * UNIT; at += UNIT) {
		int guess;

		if (!read_ctrl(raw->bytes + at, raw->size - at, &ctrl) || !ctrl.qpn)
			continue;
		guess = guess_transport(raw->bytes + at, raw->size - at, &odd);
		if (guess >= 0)
			votes[guess]++;
	}
	for (unsigned t = 0; t <= BSN_TRANSPORT_IPOIB; t++)
		if (votes[t] > votes[best])
			best = (enum bsn_transport)t;
	return best;
}

static enum bsn_transport pick_transport(const struct teller *teller)
{
	if (teller->raw->transport.is_known)
		return (enum bsn_transport)teller->raw->transport.value;
	if (teller->attr->transport.is_known)
		return (enum bsn_transport)teller->attr->transport.value;
	return most_likely_transport(teller->raw);
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
		const uint8_t *bytes = teller->raw->bytes + slot * UNIT;
		uint16_t end;

		if (!read_ctrl(bytes, BSN_WQE_MAX_DS * BSN_DS_SIZE, &ctrl) || !ctrl.qpn ||
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

/* Whether a WQE of the ring begins in a slot, of a known operation or not. */
static bool begins_in(const struct teller *teller, const uint8_t *bytes, size_t slot)
{
	struct bsn_ctrl ctrl;

	bsn_ctrl_decode(&ctrl, bytes);
	return ctrl.ds && ctrl.qpn == teller->ring.qpn.value &&
	       ctrl.wqe_index % teller->ring.count == slot;
}

/* One WQE; returns how many basic blocks it has. */
static size_t tell_wqe(struct teller *teller, size_t offset)
{
	uint8_t copy[BSN_WQE_MAX_DS * BSN_DS_SIZE];
	const size_t size = unwrap(teller, offset, copy);
	static struct record record;
	static struct bsn_wqe wqe;
	struct bsn_bad bad;

	if (is_zero(copy, size < UNIT ? size : UNIT))
		return 1;
	if (teller->is_ring && !begins_in(teller, copy, offset / UNIT))
		return 1; /* the end of one that goes round, or what an older one left */
	if (bsn_wqe_walk(copy, size, teller->transport, &wqe, &bad)) {
		tell_unread(teller, offset, &bad);
		return 1;
	}
	begin_record(teller, offset, &record);
	record_set_wqe(&record, &wqe);
	scan_record(teller->scan, &record);
	return ctrl_size_bb(&wqe.ctrl);
}

static void tell_wqes(struct teller *teller)
{
	const struct raw *raw = teller->raw;
	size_t at = 0;

	teller->is_ring = looks_like_ring(raw->bytes, raw->size);
	teller->transport = pick_transport(teller);
	teller->ring.name = "send queue";
	teller->ring.stride_bytes = UNIT;
	if (teller->is_ring) {
		teller->ring.count = (uint32_t)(raw->size / UNIT);
		set_queue(teller);
	}
	while (at + BSN_CTRL_SIZE <= raw->size)
		at += tell_wqe(teller, at) * UNIT;
	if (at < raw->size)
		tell_rest(teller, at, "control segment", BSN_CTRL_SIZE);
}

bool raw_tell(struct scan *scan, struct raw *raw)
{
	struct teller teller = { .scan = scan, .raw = raw, .attr = scan_attr_of(scan) };
	enum raw_kind kind;

	if (raw->kind != RAW_GUESS)
		kind = raw->kind;
	else if (raw_score(teller.attr, raw->bytes, raw->size, &kind) <= 0 &&
		 teller.attr->raw_kind == RAW_GUESS) {
		scan_unread(
			scan, line_of(raw, 0),
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
