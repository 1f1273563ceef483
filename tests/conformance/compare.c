/* SPDX-License-Identifier: BSD-2-Clause */
/* Comparing what was posted, and saying in words where it differs. */
#include "compare.h"

#define COMPLAIN(...) (print_error(__VA_ARGS__), 1)

/* -- taking ------------------------------------------------------------------------------------ */

void published_start(void)
{
	ok(softcx_record_stores(STORES));
}

/* Copies a WQE in one piece, also across the ring's end. */
static void copy_wqe(const struct party *p, uint16_t index, uint8_t *dst)
{
	for (unsigned bb = 0; bb < WQE_BYTES / BSN_BB_SIZE; bb++)
		memcpy(dst + bb * BSN_BB_SIZE,
		       p->ring + (size_t)((uint16_t)(index + bb) % p->count_bb) * BSN_BB_SIZE,
		       BSN_BB_SIZE);
}

static void take_stores(const struct party *p, struct published *out)
{
	out->has_stores = p->bench->is_model;
	out->store_count = softcx_stores(out->store, STORES);
	assert_in_range(out->store_count, 0, STORES);
	for (size_t i = 0; i < out->store_count; i++)
		out->store[i].offset -= p->reg;
}

void published_take(struct party *p, unsigned n, struct published *out)
{
	out->transport = (enum bsn_transport)p->bench->type;
	out->copies_bare = p->qp && !p->bench->is_doorbell_only;
	out->qpn = p->qpn;
	out->count = n;
	for (unsigned i = 0; i < n; i++) {
		struct bsn_ctrl ctrl;
		out->index[i] = p->pi;
		copy_wqe(p, p->pi, out->wqe[i]);
		bsn_ctrl_decode(&ctrl, out->wqe[i]);
		p->pi = (uint16_t)(p->pi + bsn_bb_of_ds(ctrl.ds));
	}
	memcpy(out->record, p->record, sizeof(out->record));
	take_stores(p, out);
}

/* -- one side ---------------------------------------------------------------------------------- */

static int complain_of(unsigned i, const char *what, const struct bsn_bad *bad)
{
	return COMPLAIN("WQE %u %s: byte %u, %s.%s: %s\n", i, what, bad->offset, bad->segment,
			bad->field ? bad->field : "-", bad->why);
}

static int decode(const struct published *got, unsigned i, struct bsn_wqe *wqe)
{
	struct bsn_bad bad;

	if (bsn_wqe_decode(got->wqe[i], WQE_BYTES, got->transport, wqe, &bad))
		return complain_of(i, "cannot be read", &bad);
	return 0;
}

static int check_wqe(const struct published *got, unsigned i)
{
	struct bsn_wqe wqe;
	struct bsn_bad bad;

	if (decode(got, i, &wqe))
		return 1;
	if (bsn_wqe_check(&wqe, &bad))
		return complain_of(i, "is wrong", &bad);
	if (wqe.ctrl.qpn != got->qpn)
		return COMPLAIN("WQE %u has QPN %#x, not %#x\n", i, wqe.ctrl.qpn, got->qpn);
	if (wqe.ctrl.wqe_index != got->index[i])
		return COMPLAIN("WQE %u has index %#x, not %#x\n", i, wqe.ctrl.wqe_index,
				got->index[i]);
	return 0;
}

/* All stores go to one of the register's two buffers, ascending and without a gap. */
static int check_stores(const struct published *got)
{
	uint32_t at = got->store[0].offset;

	if (!got->store_count)
		return COMPLAIN("nothing was stored into the register\n");
	if (at != 0 && at != 256)
		return COMPLAIN("the first store is at %#x of the register\n", at);
	for (size_t i = 0; i < got->store_count; i++) {
		if (got->store[i].offset != at || got->store[i].page != got->store[0].page)
			return COMPLAIN("store %zu is at %#x of the register, not at %#x\n", i,
					got->store[i].offset, at);
		at += got->store[i].size;
	}
	return 0;
}

int published_check(const struct published *got)
{
	struct bsn_sq_doorbell bell;

	for (unsigned i = 0; i < got->count; i++)
		if (check_wqe(got, i))
			return 1;
	if (!got->has_stores)
		return 0;
	if (check_stores(got))
		return 1;
	bsn_sq_doorbell_decode(&bell, got->store[0].data);
	return bell.qpn == got->qpn ? 0 : COMPLAIN("the doorbell names QPN %#x\n", bell.qpn);
}

/* -- both sides -------------------------------------------------------------------------------- */

static bool is_inside(uint32_t offset, const struct bsn_piece *piece)
{
	return offset >= piece->offset && offset < (uint32_t)piece->offset + piece->size_bytes;
}

static void print_rows(const struct bsn_piece *piece, const uint8_t *want, const uint8_t *got)
{
	struct bsn_row_iter left, right;
	struct bsn_row_view a, b;

	bsn_row_iter_init(&left, piece->desc, want, piece->offset);
	bsn_row_iter_init(&right, piece->desc, got, piece->offset);
	while (bsn_row_next(&left, &a) && bsn_row_next(&right, &b))
		print_error("  %c %3u %s.%-13s %#18llx %#18llx%s%s\n",
			    a.value == b.value               ? ' '
			    : a.row->kind == BSN_ROW_IGNORED ? '~'
							     : '!',
			    a.offset, a.segment, a.row->name ? a.row->name : "-",
			    (unsigned long long)a.value, (unsigned long long)b.value,
			    a.symbol ? " " : "", a.symbol ? a.symbol->name : "");
}

static void print_bytes(const struct bsn_piece *piece, const uint8_t *want, const uint8_t *got)
{
	static const char *const names[] = { "segment", "inline", "padding", "raw" };

	for (uint32_t at = piece->offset; is_inside(at, piece); at++)
		if (want[at] != got[at])
			print_error("  %c %3u %-20s %#18x %#18x\n",
				    piece->kind == BSN_PIECE_PADDING ? '~' : '!', at,
				    names[piece->kind], want[at], got[at]);
}

void published_print(const struct published *want, const struct published *got, unsigned i)
{
	struct bsn_piece_iter iter;
	struct bsn_piece piece;
	struct bsn_wqe wqe;

	print_error("WQE %u at index %#x, byte, field, libmlx5, the other one:\n", i,
		    want->index[i]);
	if (decode(want, i, &wqe))
		return;
	bsn_piece_iter_init(&iter, &wqe);
	while (bsn_piece_next(&iter, &piece)) {
		if (piece.kind == BSN_PIECE_SEGMENT)
			print_rows(&piece, want->wqe[i], got->wqe[i]);
		else
			print_bytes(&piece, want->wqe[i], got->wqe[i]);
	}
}

/* Replaces the QPN of a WQE, or of what begins as one does. */
static void set_qpn(uint8_t *bytes, uint32_t qpn)
{
	struct bsn_sq_doorbell head;

	bsn_sq_doorbell_decode(&head, bytes);
	head.qpn = qpn;
	bsn_sq_doorbell_encode(bytes, &head);
}

/* Selects the bits that must be equal: what the device reads of one WQE or the other. */
static int mask_of(const struct published *want, const struct published *got, unsigned i,
		   uint8_t mask[WQE_BYTES])
{
	uint8_t other[WQE_BYTES];
	struct bsn_wqe wqe;

	if (decode(want, i, &wqe))
		return 1;
	bsn_wqe_mask(&wqe, mask, WQE_BYTES);
	if (decode(got, i, &wqe))
		return 1;
	bsn_wqe_mask(&wqe, other, WQE_BYTES);
	for (unsigned n = 0; n < WQE_BYTES; n++)
		mask[n] |= other[n];
	return 0;
}

static bool same_bytes(const uint8_t *a, const uint8_t *b, const uint8_t *mask, size_t n)
{
	uint8_t differ = 0;

	for (size_t i = 0; i < n; i++)
		differ |= (uint8_t)((a[i] ^ b[i]) & mask[i]);
	return !differ;
}

static int compare_wqe(const struct published *want, const struct published *got, unsigned i)
{
	uint8_t mine[WQE_BYTES], mask[WQE_BYTES];

	if (mask_of(want, got, i, mask))
		return 1;
	memcpy(mine, want->wqe[i], WQE_BYTES);
	set_qpn(mine, got->qpn);
	if (same_bytes(mine, got->wqe[i], mask, WQE_BYTES))
		return 0;
	published_print(want, got, i);
	return 1;
}

/* Joins what the stores wrote into one piece; returns its size. */
static size_t image_of(const struct published *p, uint8_t image[WQE_BYTES])
{
	size_t at = 0;

	memset(image, 0, WQE_BYTES);
	for (size_t i = 0; i < p->store_count && at + p->store[i].size <= WQE_BYTES; i++) {
		memcpy(image + at, p->store[i].data, p->store[i].size);
		at += p->store[i].size;
	}
	return at;
}

/*
 * Only the bytes and their ascending order matter (image_of()), since the write-combining buffer
 * makes one block of stores of any width. libmlx5 stores 8 bytes at a time; Bunsen stores 16 bytes
 * that are in a vector register.
 */
static bool is_narrow(const struct published *p)
{
	for (size_t i = 0; i < p->store_count; i++)
		if (p->store[i].size != 8 && p->store[i].size != 16)
			return false;
	return true;
}

static void print_stores(const char *who, const struct published *p)
{
	print_error("  %s: %zu stores, at %#x of the register, the first of %u bytes\n", who,
		    p->store_count, p->store[0].offset, p->store[0].size);
}

/*
 * A WQE of a control segment alone: libmlx5 rings 8 bytes (post_send_db(), size > 1), and gives no
 * reason; Bunsen copies every lone WQE that fits. Devices take it: UCX copies its NOPs of that
 * length (uct_rc_mlx5_txqp_inline_post(), uct_ib_mlx5_post_send()).
 */
static bool is_bare(const struct published *p)
{
	struct bsn_ctrl ctrl;

	bsn_ctrl_decode(&ctrl, p->wqe[0]);
	return p->count == 1 && ctrl.ds == 1;
}

/* Compares the block that Bunsen copies with libmlx5's doorbell, which is the head of the block. */
static int compare_bare(const struct published *want, const struct published *got)
{
	uint8_t head[WQE_BYTES], image[WQE_BYTES];

	if (image_of(want, head) != BSN_SQ_DOORBELL_SIZE || image_of(got, image) != BSN_BB_SIZE ||
	    want->store[0].offset != got->store[0].offset)
		return COMPLAIN("a bare control segment is rung in another way\n");
	set_qpn(head, got->qpn);
	if (memcmp(image, head, BSN_SQ_DOORBELL_SIZE) || memcmp(image, got->wqe[0], BSN_CTRL_SIZE))
		return COMPLAIN("what was stored into the register is not the WQE\n");
	return 0;
}

/* An 8-byte doorbell is the head of the last WQE; a BlueFlame copy is the only WQE. */
static int compare_stores(const struct published *want, const struct published *got, bool any_size)
{
	const unsigned last = want->count - 1;
	uint8_t a[WQE_BYTES], b[WQE_BYTES], mask[WQE_BYTES];
	const size_t n = image_of(want, a);

	if (mask_of(want, got, last, mask))
		return 1;
	if (image_of(got, b) != n || (!any_size && !is_narrow(got)) ||
	    want->store[0].offset != got->store[0].offset) {
		print_stores("libmlx5", want);
		print_stores("the other one", got);
		return COMPLAIN("they ring differently\n");
	}
	set_qpn(a, got->qpn);
	if (!same_bytes(a, b, mask, n))
		return COMPLAIN("what was stored into the register differs\n");
	return 0;
}

int published_compare(const struct published *want, const struct published *got, bool any_size)
{
	for (unsigned i = 0; i < want->count; i++) {
		if (want->index[i] != got->index[i])
			return COMPLAIN("WQE %u is at %#x, libmlx5's at %#x\n", i, got->index[i],
					want->index[i]);
		if (compare_wqe(want, got, i))
			return 1;
	}
	if (memcmp(want->record, got->record, sizeof(want->record)))
		return COMPLAIN("the doorbell records differ\n");
	if (!want->has_stores)
		return 0;
	return got->copies_bare && is_bare(got) ? compare_bare(want, got)
						: compare_stores(want, got, any_size);
}
