/* SPDX-License-Identifier: BSD-2-Clause */
/* The tables of bsn_wqe.h as data, for whoever walks them. */
#include "bsn_wqe.h"

#define DESC_ROW_F(row, dword, lsb, width, doc)                                                    \
	{ #row, doc, BSN_ROW_FIELD, dword, lsb, width, offsetof(HOST, row) },
#define DESC_ROW_Q(row, dword, doc) { #row, doc, BSN_ROW_FIELD64, dword, 0, 64, offsetof(HOST, row) },
#define DESC_ROW_Z(dword, lsb, width) { NULL, NULL, BSN_ROW_ZERO, dword, lsb, width, 0 },
#define DESC_ROW_I(dword, lsb, width) { NULL, NULL, BSN_ROW_IGNORED, dword, lsb, width, 0 },

#define DESC(seg, size, TABLE, text)                                                               \
	static const struct bsn_row seg##_rows[] = { TABLE(DESC_ROW_F, DESC_ROW_Q, DESC_ROW_Z,     \
							   DESC_ROW_I) };                          \
	const struct bsn_seg_desc bsn_##seg##_desc = { #seg, text, seg##_rows,                     \
						       sizeof(seg##_rows) / sizeof(seg##_rows[0]), \
						       size };

#define HOST struct bsn_ctrl
DESC(ctrl, BSN_CTRL_SIZE, BSN_TABLE_CTRL, "control")
#undef HOST
#define HOST struct bsn_raddr
DESC(raddr, BSN_RADDR_SIZE, BSN_TABLE_RADDR, "remote address")
#undef HOST
#define HOST struct bsn_data
DESC(data, BSN_DATA_SIZE, BSN_TABLE_DATA, "data pointer")
#undef HOST
#define HOST struct bsn_inline_hdr
DESC(inline_hdr, BSN_INLINE_HDR_SIZE, BSN_TABLE_INLINE_HDR, "header of inline data")
#undef HOST
#define HOST struct bsn_atomic
DESC(atomic, BSN_ATOMIC_SIZE, BSN_TABLE_ATOMIC, "atomic")
#undef HOST
