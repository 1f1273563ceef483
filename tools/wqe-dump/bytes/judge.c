/* SPDX-License-Identifier: BSD-2-Clause */
#include "raw.h"

#define IMPLAUSIBLE  (-3)
#define TITLE_POINTS 3   /* points for the slots of the block, whatever is in them */
#define PASSING      5   /* in tenths, for each unit; any bytes may get fewer by chance */
#define PIECE_MAX    64  /* CQEs; a longer session is only accepted in a whole queue */
#define RING_POINTS  100 /* more than units get: indices do not match slots by chance */

/* -- plausible CQEs ---------------------------------------------------------------------------- */

static int judge_error(const struct bsn_cqe_err *err, const uint8_t *cqe)
{
	const struct bsn_enum *syndromes =
		bsn_row_enum(&bsn_cqe_err_desc, bsn_row_find(&bsn_cqe_err_desc, "syndrome"));

	if (!bsn_enum_find(syndromes, err->syndrome))
		return 1;
	return is_zero(cqe, BSN_CQE_SIZE / 2) ? 6 : 3;
}

uint32_t judge_title(const struct raw_attr *attr, const uint8_t *proper)
{
	struct bsn_cqe_resp resp;

	bsn_cqe_resp_decode(&resp, proper);
	if (attr->compression.is_enhanced || resp.format != BSN_CQE_COMPRESSED ||
	    resp.opcode > BSN_CQE_RESP_SEND_INV)
		return 0;
	if (!bsn_cqe_qpn(proper))
		return 0;
	return resp.byte_count <= UINT16_MAX ? resp.byte_count : 0;
}

/* Opcode 0 is NOP, which programs rarely post; other data often have a zero there. */
static int judge_request(const struct bsn_cqe_req *req, const uint8_t *cqe)
{
	const bool is_half_empty = is_zero(cqe, BSN_CQE_SIZE / 2);

	if (!bsn_wqe_op_find(req->wqe_opcode))
		return IMPLAUSIBLE + (is_half_empty ? 3 : 0);
	if (req->wqe_opcode == BSN_OPCODE_NOP)
		return is_half_empty ? 3 : -1;
	return 1 + (is_half_empty ? 3 : 0) + (req->timestamp ? 1 : 0);
}

/* Points of a CQE. */
static int judge_cqe(const uint8_t *bytes, size_t size)
{
	struct bsn_cqe cqe;

	if (bsn_cqe_decode(bytes, size, &cqe, NULL))
		return IMPLAUSIBLE;
	bytes += cqe.offset;
	if (cqe.tail.opcode == BSN_CQE_INVALID)
		return is_zero(bytes, BSN_CQE_TAIL_OFFSET) ? 1 : 0;
	if (!cqe.view)
		return cqe.tail.format == BSN_CQE_COMPRESSED ? 0 : IMPLAUSIBLE;
	if (cqe.view == &bsn_cqe_resize_desc)
		return is_zero(bytes, BSN_CQE_TAIL_OFFSET) ? 1 : 0;
	if (!bsn_cqe_qpn(bytes))
		return -1;
	if (cqe.view == &bsn_cqe_err_desc)
		return judge_error(&cqe.as.err, bytes);
	if (cqe.view == &bsn_cqe_req_desc)
		return judge_request(&cqe.as.req, bytes);
	if (cqe.view == &bsn_cqe_resp_desc)
		return 1 + (cqe.as.resp.timestamp ? 1 : 0) +
		       (cqe.as.resp.byte_count <= BSN_DATA_MAX_BYTES ? 1 : 0);
	return 1;
}

/* Whether the first half of a CQE of 128 B is no inline data, and so maybe another CQE. */
static bool has_odd_half(const uint8_t *bytes, size_t size)
{
	struct bsn_cqe_tail tail;

	if (size != BSN_CQE128_SIZE || is_zero(bytes, BSN_CQE_SIZE))
		return false;
	bsn_cqe_tail_decode(&tail, bytes + BSN_CQE_SIZE + BSN_CQE_TAIL_OFFSET);
	return tail.format != BSN_CQE_INLINE_64;
}

/* Points of a CQE of `cqe_size` bytes, in tenths. */
static int judge_cqes(const struct raw_attr *attr, const uint8_t *bytes, size_t size,
		      size_t cqe_size)
{
	int points = 0, units = 0;
	uint32_t title;

	if (size % cqe_size)
		return IMPLAUSIBLE;
	for (size_t at = 0; at < size && units < UNITS_MAX; at += (title ? title : 1) * cqe_size) {
		title = judge_title(attr, bytes + at + cqe_size - BSN_CQE_SIZE);
		if (title > PIECE_MAX && title > size / cqe_size)
			title = 0;
		if (is_zero(bytes + at, cqe_size))
			continue;
		units++;
		if (!has_odd_half(bytes + at, cqe_size))
			points += title ? TITLE_POINTS : judge_cqe(bytes + at, cqe_size);
	}
	return units ? points * 10 / units : 0;
}

/* Whether every second 64 B are empty: in a used CQ of 64 B CQEs they are not. */
static bool has_empty_halves(const uint8_t *bytes, size_t size)
{
	for (size_t at = 0; at + BSN_CQE128_SIZE <= size; at += BSN_CQE128_SIZE)
		if (!is_zero(bytes + at, BSN_CQE_SIZE))
			return false;
	return size >= BSN_CQE128_SIZE;
}

/* -- plausible WQEs ---------------------------------------------------------------------------- */

/* Whether a message has no destination; nor has one with a Q_Key of 0, maybe half a DC key. */
static bool lacks_address(const struct bsn_wqe *wqe)
{
	const enum bsn_transport is = wqe->transport;

	return wqe->data_count &&
	       ((is == BSN_TRANSPORT_UD && (!wqe->to.ud.dqpn || !wqe->to.ud.qkey)) ||
		(is == BSN_TRANSPORT_DC && !wqe->to.dc.dqpn) ||
		(is == BSN_TRANSPORT_XRC && !wqe->to.xrc.srqn));
}

/* Counts what no program would post in a WQE. */
static unsigned count_oddities(const struct bsn_wqe *wqe)
{
	unsigned odd = bsn_wqe_findings(wqe, NULL, 0);

	odd += lacks_address(wqe);
	if (wqe->op && wqe->op->has_raddr && !wqe->raddr.rkey)
		odd++;
	for (unsigned i = 0; i < wqe->data_count; i++) {
		const struct bsn_wqe_data *data = &wqe->data[i];
		const uint16_t high = (uint16_t)(data->addr >> 48);

		if (!data->bytes && (!data->lkey || (high && high != UINT16_MAX)))
			odd++;
	}
	return odd;
}

int judge_transport(const uint8_t *bytes, size_t size, unsigned *fewest)
{
	static struct bsn_wqe wqe;
	int best = -EBADMSG;

	for (int t = 0; t <= BSN_TRANSPORT_IPOIB && (best < 0 || *fewest); t++) {
		unsigned odd;

		if (bsn_wqe_decode(bytes, size, (enum bsn_transport)t, &wqe, NULL))
			continue;
		odd = count_oddities(&wqe);
		if (best >= 0 && odd >= *fewest)
			continue;
		best = t;
		*fewest = odd;
	}
	return best;
}

bool judge_ctrl(const uint8_t *bytes, size_t size, struct bsn_ctrl *ctrl)
{
	if (size < BSN_CTRL_SIZE)
		return false;
	bsn_ctrl_decode(ctrl, bytes);
	return ctrl->ds && ctrl->ds * BSN_DS_SIZE <= size && bsn_wqe_op_find(ctrl->opcode);
}

/* Points of a WQE, and how many basic blocks it has. */
static int judge_wqe(const uint8_t *bytes, size_t size, size_t *count_bb)
{
	struct bsn_ctrl ctrl;
	unsigned odd = 0;

	*count_bb = 1;
	if (!judge_ctrl(bytes, size, &ctrl) || judge_transport(bytes, size, &odd) < 0)
		return IMPLAUSIBLE;
	*count_bb = bsn_bb_of_ds(ctrl.ds);
	return (odd ? 1 : 4) + (ctrl.qpn ? 1 : -1);
}

bool judge_ring(const uint8_t *bytes, size_t size)
{
	const size_t count = size / BSN_BB_SIZE;
	unsigned agree = 0, differ = 0;
	struct bsn_ctrl ctrl;

	if (size % BSN_BB_SIZE || count < 2 || count & (count - 1))
		return false;
	for (size_t slot = 0; slot < count; slot++) {
		if (!judge_ctrl(bytes + slot * BSN_BB_SIZE, size, &ctrl) || !ctrl.qpn)
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

	if (judge_ring(bytes, size))
		return RING_POINTS;
	for (size_t at = 0; at + BSN_CTRL_SIZE <= size && units < UNITS_MAX;
	     at += count_bb * BSN_BB_SIZE) {
		const size_t left = size - at;

		count_bb = 1;
		if (is_zero(bytes + at, left < BSN_BB_SIZE ? left : BSN_BB_SIZE))
			continue;
		points += judge_wqe(bytes + at, left, &count_bb);
		units++;
	}
	return units ? points * 10 / units : 0;
}

/* Whether there are fewer zeros than in queues: one hash in fifty gets points by chance. */
static bool is_dense(const uint8_t *bytes, size_t size)
{
	size_t looked = size, zeros = 0;

	if (looked > UNITS_MAX * BSN_BB_SIZE)
		looked = UNITS_MAX * BSN_BB_SIZE;
	for (size_t i = 0; i < looked; i++)
		zeros += !bytes[i];
	return zeros * 10 < looked;
}

/* The points of the likeliest kind. */
static int judge_all(const struct raw_attr *attr, const uint8_t *bytes, size_t size,
		     enum raw_kind *kind)
{
	const int cqe = judge_cqes(attr, bytes, size, BSN_CQE_SIZE);
	const int cqe128 = judge_cqes(attr, bytes, size, BSN_CQE128_SIZE);
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

int judge_bytes(const struct raw_attr *attr, const uint8_t *bytes, size_t size, enum raw_kind *kind)
{
	int points;

	*kind = attr->kind;
	switch (attr->kind) {
	case RAW_GUESS:
		points = judge_all(attr, bytes, size, kind);
		if (points < PASSING || (points < RING_POINTS && is_dense(bytes, size)))
			return 0;
		return points;
	case RAW_CQE:
		return judge_cqes(attr, bytes, size, BSN_CQE_SIZE);
	case RAW_CQE128:
		return judge_cqes(attr, bytes, size, BSN_CQE128_SIZE);
	case RAW_WQE:
		return judge_wqes(bytes, size);
	default:
		return 1; /* receive WQEs are accepted only if the user says so */
	}
}
