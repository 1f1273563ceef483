/* SPDX-License-Identifier: BSD-2-Clause */
/* Puts segments into words, row by row. */
#include "bsn_decode.h"

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
