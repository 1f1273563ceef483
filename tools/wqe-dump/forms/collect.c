/* SPDX-License-Identifier: BSD-2-Clause */
#include "collect.h"

#include <stdlib.h>
#include <string.h>

#include "../bytes/hex.h"
#include "../bytes/judge.h"
#include "../bytes/raw.h"

static bool is_error_cqe(const struct collect *collect)
{
	const uint8_t opcode = collect->bytes[BSN_CQE_OP_OWN_OFFSET] >> 4;

	return opcode == BSN_CQE_REQ_ERR || opcode == BSN_CQE_RESP_ERR;
}

static void tell_cqe(struct feed *feed, struct collect *collect)
{
	struct number said;
	struct bsn_bad bad;
	struct bsn_cqe cqe;

	if (collect->may_be_swapped) {
		hex_swap(collect->bytes, collect->count, 4);
		if (!is_error_cqe(collect))
			hex_swap(collect->bytes, collect->count, 4);
	}
	if (bsn_cqe_decode(collect->bytes, collect->count, &cqe, &bad)) {
		tell_unread(feed->tell, collect->record.line, "%s: %s", bad.segment, bad.why);
		return;
	}
	said = collect->record.qpn;
	record_set_cqe(&collect->record, collect->bytes, collect->count, &cqe);
	if (said.is_known && !collect->record.qpn.value)
		collect->record.qpn = said; /* CQEs of plain receive queues have no QPN */
	tell_record(feed->tell, &collect->record);
}

/* Whether a row is the rest of one that was broken. */
static bool is_rest(const struct collect *collect, const struct hex_row *row)
{
	const unsigned there = collect->count % BSN_DS_SIZE;

	return there && !row->has_offset && row->is_pure && row->group == 1 &&
	       there + row->count <= BSN_DS_SIZE;
}

/* Adds the bytes of a line; false: they do not continue the dump. */
static bool add_row(struct collect *collect, const struct line *line)
{
	struct hex_row row;
	uint8_t bytes[HEX_ROW_MAX];

	if (!hex_row_read(line->text, &row, bytes))
		return false;
	if (!collect->count)
		collect->has_offset = row.has_offset;
	if (row.has_offset != collect->has_offset && !is_rest(collect, &row))
		return false;
	if (row.has_offset && row.offset && row.offset < collect->count)
		collect->count = (unsigned)row.offset; /* the row before had too many */
	if (row.has_offset && row.offset != collect->count)
		return false;
	if (row.count > collect->wanted - collect->count)
		row.count = collect->wanted - collect->count;
	if (row.count < 4 && !is_rest(collect, &row))
		return false;
	if (!row.is_pure && !row.has_offset && row.count < BSN_DS_SIZE)
		return false;
	memcpy(collect->bytes + collect->count, bytes, row.count);
	collect->count += row.count;
	return true;
}

enum form_answer collect_cqe(struct feed *feed, const struct line *line, void *state)
{
	struct collect *collect = state;

	if (!collect->has_begun) {
		collect->has_begun = true;
		collect->wanted = BSN_CQE_SIZE;
		collect->record.line = line->number;
		return FORM_MORE;
	}
	if (!add_row(collect, line))
		return FORM_PASS;
	if (collect->count < collect->wanted)
		return FORM_MORE;
	tell_cqe(feed, collect);
	return FORM_TAKEN;
}

static void begin_wqe(struct collect *collect, const struct line *line)
{
	const char *len = strstr(line->text, "len: ");
	const unsigned long wanted = len ? strtoul(len + strlen("len: "), NULL, 10) : 0;

	collect->has_begun = true;
	collect->record.line = line->number;
	collect->wanted = wanted && wanted <= COLLECT_MAX_BYTES ? (unsigned)wanted : BSN_CTRL_SIZE;
}

enum form_answer collect_wqe(struct feed *feed, const struct line *line, void *state)
{
	struct collect *collect = state;
	struct raw_place place = { .line = collect->record.line };
	struct bsn_ctrl ctrl;

	if (!collect->has_begun) {
		begin_wqe(collect, line);
		return FORM_MORE;
	}
	if (!add_row(collect, line))
		return FORM_PASS;
	if (collect->count == BSN_CTRL_SIZE && collect->wanted == BSN_CTRL_SIZE) {
		collect->is_swapped = collect->may_be_swapped &&
				      !judge_ctrl(collect->bytes, COLLECT_MAX_BYTES, &ctrl);
		if (collect->is_swapped)
			hex_swap(collect->bytes, collect->count, 4);
		bsn_ctrl_decode(&ctrl, collect->bytes);
		if (collect->is_swapped)
			hex_swap(collect->bytes, collect->count, 4);
		collect->wanted = ctrl.ds ? ctrl.ds * BSN_DS_SIZE : BSN_CTRL_SIZE;
	}
	if (collect->count < collect->wanted)
		return FORM_MORE;
	if (collect->is_swapped)
		hex_swap(collect->bytes, collect->count, 4);
	raw_tell(feed->tell, feed->bytes,
		 &(struct raw){ .bytes = collect->bytes,
				.size = collect->count,
				.places = &place,
				.place_count = 1,
				.kind = RAW_WQE,
				.transport = collect->transport });
	return FORM_TAKEN;
}

void collect_close(struct feed *feed, void *state)
{
	struct collect *collect = state;

	if (!collect->count && collect->record.syndrome.is_known)
		tell_record(feed->tell, &collect->record);
	else
		tell_unread(feed->tell, collect->record.line,
			    "a dump of %u bytes, of which only %u are there", collect->wanted,
			    collect->count);
}
