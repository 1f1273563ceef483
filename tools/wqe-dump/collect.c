/* SPDX-License-Identifier: BSD-2-Clause */
#include "collect.h"

#include <string.h>

#include "hex.h"

static void tell_cqe(struct scan *scan, struct collect *collect)
{
	struct bsn_bad bad;
	struct bsn_cqe cqe;

	if (bsn_cqe_walk(collect->bytes, collect->count, &cqe, &bad)) {
		scan_unread(scan, collect->record.line, "%s: %s", bad.segment, bad.why);
		return;
	}
	record_set_cqe(&collect->record, collect->bytes, collect->count, &cqe);
	scan_record(scan, &collect->record);
}

/* Adds the bytes of a line; false if it has none that could go on with the dump. */
static bool add_row(struct collect *collect, const struct line *line)
{
	struct hex_row row;
	uint8_t bytes[HEX_ROW_MAX];

	if (!hex_row_read(line->text, &row, bytes))
		return false;
	if (row.has_offset && row.offset % BSN_CQE_SIZE != collect->count % BSN_CQE_SIZE)
		return false;
	if (row.count < 4 || row.count > collect->wanted - collect->count)
		return false;
	memcpy(collect->bytes + collect->count, bytes, row.count);
	collect->count += row.count;
	return true;
}

enum form_answer collect_cqe(struct scan *scan, const struct line *line, struct collect *collect)
{
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
	tell_cqe(scan, collect);
	return FORM_TAKEN;
}

void collect_close(struct scan *scan, void *state)
{
	const struct collect *collect = state;

	scan_unread(scan, collect->record.line, "a dump of %u bytes, of which only %u are there",
		    collect->wanted, collect->count);
}
