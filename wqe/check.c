/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks decoded WQEs: what a ConnectX refuses, what it does not notice, which bits it reads. */
#include "report.h"

/* -- what the device does not read ------------------------------------------------------------- */

static bool is_field(const struct bsn_seg_desc *desc, const struct bsn_row *row,
		     const struct bsn_seg_desc *wanted, const char *name)
{
	return desc == wanted && row->name && !strcmp(row->name, name);
}

/* Whether mkey_mask selects the field, so that a UMR changes it. */
static bool is_selected(const struct bsn_wqe *wqe, const struct bsn_row *row)
{
#define SELECTS(name, bit, doc, field) { #field, bit },
	static const struct {
		const char *field;
		unsigned bit;
	} selects[] = { BSN_MKEY_MASK_FIELDS(SELECTS) };
#undef SELECTS

	for (size_t i = 0; i < sizeof(selects) / sizeof(selects[0]); i++)
		if (!strcmp(selects[i].field, row->name))
			return wqe->as.umr.ctrl.mkey_mask >> selects[i].bit & 1;
	return false;
}

/* Whether the operation of tag matching uses the field. */
static bool is_tm_read(const struct bsn_tm *tm, const struct bsn_row *row)
{
	if (!strcmp(row->name, "sw_cnt"))
		return tm->has_sw_cnt;
	if (!strcmp(row->name, "index"))
		return tm->op != BSN_TM_OP_NOP;
	if (!strcmp(row->name, "tag") || !strcmp(row->name, "mask"))
		return tm->op == BSN_TM_OP_APPEND;
	return true;
}

/* Whether the WQE's operation and transport use the row. */
static bool is_read(const struct bsn_wqe *wqe, const struct bsn_seg_desc *desc,
		    const struct bsn_row *row)
{
	if (row->kind == BSN_ROW_IGNORED)
		return false;
	if (is_field(desc, row, &bsn_ctrl_desc, "signature"))
		return false;
	if (is_field(desc, row, &bsn_ctrl_desc, "dci_stream"))
		return wqe->transport == BSN_TRANSPORT_DC;
	if (is_field(desc, row, &bsn_ctrl_desc, "imm"))
		return !wqe->op || wqe->op->imm != BSN_IMM_NONE;
	if (row->name && desc == &bsn_mkey_ctx_desc)
		return is_selected(wqe, row);
	if (row->name && desc == &bsn_tm_desc)
		return is_tm_read(&wqe->as.tm, row);
	return true;
}

/* Sets those bytes that the mask has. */
static void set_bytes(uint8_t *mask, size_t size, size_t offset, size_t count)
{
	for (size_t i = offset; i < offset + count && i < size; i++)
		mask[i] = 0xff;
}

static void set_row(uint8_t *mask, size_t size, size_t segment, const struct bsn_row *row)
{
	const size_t offset = segment + 4u * row->dword;
	uint8_t dword[4];

	if (row->kind == BSN_ROW_FIELD64) {
		set_bytes(mask, size, offset, 8);
		return;
	}
	bsn_store_be32(dword, BSN_ROW_MASK(row->width) << row->lsb);
	for (size_t i = 0; i < sizeof(dword) && offset + i < size; i++)
		mask[offset + i] |= dword[i];
}

void bsn_wqe_mask(const struct bsn_wqe *wqe, void *mask, size_t size)
{
	struct bsn_piece_iter iter;
	struct bsn_piece piece;

	memset(mask, 0, size);
	bsn_piece_iter_init(&iter, wqe);
	while (bsn_piece_next(&iter, &piece)) {
		if (piece.kind == BSN_PIECE_INLINE ||
		    (piece.kind == BSN_PIECE_RAW && wqe->raw_is_read))
			set_bytes(mask, size, piece.offset, piece.size_bytes);
		if (piece.kind != BSN_PIECE_SEGMENT)
			continue;
		for (unsigned i = 0; i < piece.desc->row_count; i++)
			if (is_read(wqe, piece.desc, &piece.desc->rows[i]))
				set_row(mask, size, piece.offset, &piece.desc->rows[i]);
	}
}

/* -- findings ---------------------------------------------------------------------------------- */

struct findings {
	const struct bsn_wqe *wqe;
	struct bsn_bad *bad;
	unsigned max;
	unsigned count;
};

static void find(struct findings *f, const struct bsn_seg_desc *desc, const char *field,
		 size_t segment, enum bsn_vendor_syndrome vendor, const char *why)
{
	if (f->count < f->max)
		report(&f->bad[f->count], desc, field, segment, vendor, why);
	f->count++;
}

/* What a ConnectX refuses, with an error CQE. */
static void find_refused(struct findings *f)
{
	const struct bsn_wqe *wqe = f->wqe;
	const struct bsn_wqe_op *op = wqe->op;

	if (!op) {
		find(f, &bsn_ctrl_desc, "opcode", 0, BSN_VENDOR_RESERVED_OPCODE,
		     "no table describes this opcode");
		return;
	}
	if (!(op->transports & 1u << wqe->transport))
		find(f, &bsn_ctrl_desc, "opcode", 0, BSN_VENDOR_OPCODE_TRANSPORT,
		     "the transport lacks this operation");
	if (op->data == BSN_DATA_SCATTER)
		for (unsigned i = 0; i < wqe->data_count; i++)
			if (wqe->data[i].bytes)
				find(f, &bsn_inline_hdr_desc, "is_inline", wqe->data[i].offset,
				     BSN_VENDOR_INLINE_IN_SCATTER,
				     "inline data where the device is to write");
	if (op->has_atomic && !wqe->data_count)
		find(f, &bsn_ctrl_desc, "ds", 0, BSN_VENDOR_DS_TOO_SHORT,
		     "an atomic without a place for its result");
	if (op->is_message && wqe->total_bytes > BSN_DATA_MAX_BYTES + 1ull)
		find(f, &bsn_data_desc, "byte_count", wqe->data[0].offset,
		     BSN_VENDOR_MESSAGE_TOO_LONG, "the message is longer than 2^31 bytes");
}

/* Numbers without a meaning, which a ConnectX may not notice. */
static void find_odd_values(struct findings *f)
{
	const struct bsn_wqe *wqe = f->wqe;
	const struct bsn_wqe_op *op = wqe->op;

	if (wqe->ctrl.fence > BSN_FENCE_SMALL_AND_FENCE)
		find(f, &bsn_ctrl_desc, "fence", 0, BSN_VENDOR_NO_ERROR,
		     "a reserved fence mode");
	if (!op)
		return;
	if (wqe->ctrl.opmod > op->max_opmod)
		find(f, &bsn_ctrl_desc, "opmod", 0, BSN_VENDOR_NO_ERROR,
		     "the operation has no such opcode modifier");
	if (op->has_atomic && wqe->data_count &&
	    (wqe->data_count > 1 || wqe->data[0].length_bytes != wqe->atomic.size_bytes))
		find(f, &bsn_data_desc, "byte_count", wqe->data[0].offset, BSN_VENDOR_NO_ERROR,
		     "the result of an atomic needs one data segment of the operand's size");
}

static void find_nonzero(struct findings *f)
{
	struct bsn_piece_iter iter;
	struct bsn_piece piece;

	bsn_piece_iter_init(&iter, f->wqe);
	while (bsn_piece_next(&iter, &piece)) {
		if (piece.kind != BSN_PIECE_SEGMENT)
			continue;
		for (unsigned i = 0; i < piece.desc->row_count; i++) {
			const struct bsn_row *row = &piece.desc->rows[i];

			if (row->kind == BSN_ROW_ZERO &&
			    bsn_row_get(row, f->wqe->bytes + piece.offset))
				find(f, piece.desc, NULL, piece.offset + bsn_row_offset(row),
				     BSN_VENDOR_NO_ERROR, "reserved bits that are not zero");
		}
	}
}

unsigned bsn_wqe_findings(const struct bsn_wqe *wqe, struct bsn_bad *bad, unsigned max)
{
	struct findings f = { .wqe = wqe, .bad = bad, .max = max };

	find_refused(&f);
	find_odd_values(&f);
	find_nonzero(&f);
	return f.count;
}

int bsn_wqe_check(const struct bsn_wqe *wqe, struct bsn_bad *bad)
{
	struct bsn_bad first;

	if (!bsn_wqe_findings(wqe, &first, 1))
		return 0;
	if (bad)
		*bad = first;
	return -EBADMSG;
}
