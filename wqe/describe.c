/* SPDX-License-Identifier: BSD-2-Clause */
/* Walks along the pieces of a decoded WQE, and along the rows of a segment. */
#include "bsn_decode.h"

/* -- pieces ------------------------------------------------------------------------------------ */

void bsn_piece_iter_init(struct bsn_piece_iter *iter, const struct bsn_wqe *wqe)
{
	*iter = (struct bsn_piece_iter){ .wqe = wqe };
}

/* The piece at the iterator's offset: the next part's segment, or the bytes before it. */
static void set_piece(struct bsn_piece_iter *iter, struct bsn_piece *piece)
{
	const struct bsn_wqe *wqe = iter->wqe;
	const struct bsn_wqe_part *next = &wqe->parts[iter->index];
	const uint16_t described = iter->index < wqe->part_count ? next->offset : wqe->raw_offset;
	uint16_t end;

	if (iter->offset == described && iter->index < wqe->part_count) {
		*piece = (struct bsn_piece){ .kind = BSN_PIECE_SEGMENT,
					     .desc = next->desc,
					     .size_bytes = next->desc->size_bytes };
		iter->index++;
		return;
	}
	*piece = (struct bsn_piece){ .kind = BSN_PIECE_RAW };
	end = wqe->size_bytes;
	if (iter->offset < described) { /* bytes between the previous part and the next */
		const struct bsn_wqe_part *last = next - 1;
		const uint16_t data = (uint16_t)(last->offset + last->desc->size_bytes);

		end = (uint16_t)(data + last->inline_bytes);
		piece->kind = iter->offset < end ? BSN_PIECE_INLINE : BSN_PIECE_PADDING;
		if (iter->offset >= end)
			end = described;
	}
	piece->size_bytes = end - iter->offset;
}

bool bsn_piece_next(struct bsn_piece_iter *iter, struct bsn_piece *piece)
{
	if (iter->offset >= iter->wqe->size_bytes)
		return false;
	set_piece(iter, piece);
	piece->offset = iter->offset;
	iter->offset += piece->size_bytes;
	return true;
}

/* -- rows -------------------------------------------------------------------------------------- */

void bsn_row_iter_init(struct bsn_row_iter *iter, const struct bsn_seg_desc *desc,
		       const void *bytes, size_t offset)
{
	*iter = (struct bsn_row_iter){ .desc = desc, .bytes = bytes, .offset = (uint32_t)offset };
}

static const struct bsn_enum_value *find_symbol(const struct bsn_seg_desc *desc,
						const struct bsn_row *row, uint64_t value)
{
	const struct bsn_enum *list = row->name ? bsn_row_enum(desc, row) : NULL;

	return list ? bsn_enum_find(list, value) : NULL;
}

bool bsn_row_next(struct bsn_row_iter *iter, struct bsn_row_view *view)
{
	const struct bsn_row *row;

	if (iter->index >= iter->desc->row_count)
		return false;
	row = &iter->desc->rows[iter->index++];
	view->segment = iter->desc->name;
	view->row = row;
	view->offset = iter->offset + bsn_row_offset(row);
	view->value = bsn_row_get(row, iter->bytes + iter->offset);
	view->symbol = find_symbol(iter->desc, row, view->value);
	return true;
}
