/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Arbitrary bytes through every reader of wqe/. Whatever they are, nothing is read or written out
 * of bounds (sanitizers tell), and what is decoded is consistent (otherwise this program aborts).
 *
 * The first byte of the input is the transport, the rest the WQE, receive WQE or CQE.
 */
#include "bsn_decode.h"
#include "fuzz.h"

static void must_be_explained(const struct bsn_bad *bad, size_t size)
{
	MUST(bad->segment && *bad->segment);
	MUST(bad->why && *bad->why);
	MUST(!bad->field || *bad->field);
	MUST(bad->offset <= size + BSN_WQE_MAX_DS * BSN_DS_SIZE);
}

static void describe(const struct bsn_seg_desc *desc, const uint8_t *bytes, size_t offset)
{
	struct bsn_row_iter rows;
	struct bsn_row_view view;

	bsn_row_iter_init(&rows, desc, bytes, offset);
	while (bsn_row_next(&rows, &view)) {
		MUST(view.offset >= offset && view.offset < offset + desc->size_bytes);
		MUST(!view.symbol || view.symbol->value == view.value);
	}
}

static void fuzz_send(const uint8_t *bytes, size_t size, enum bsn_transport transport)
{
	static struct bsn_wqe wqe;
	uint8_t mask[BSN_WQE_MAX_DS * BSN_DS_SIZE + 8];
	struct bsn_bad bad = { 0 }, all[4] = { { 0 } };
	struct bsn_piece_iter pieces;
	struct bsn_piece piece;
	size_t at = 0;
	unsigned count;

	if (bsn_wqe_decode(bytes, size, transport, &wqe, &bad)) {
		must_be_explained(&bad, size);
		return;
	}
	MUST(wqe.size_bytes <= size && wqe.raw_offset <= wqe.size_bytes);
	bsn_piece_iter_init(&pieces, &wqe);
	while (bsn_piece_next(&pieces, &piece)) {
		MUST(piece.offset == at && piece.size_bytes);
		MUST((piece.kind == BSN_PIECE_SEGMENT) == (piece.desc != NULL));
		at += piece.size_bytes;
		if (piece.desc)
			describe(piece.desc, bytes, piece.offset);
	}
	MUST(at == wqe.size_bytes);
	count = bsn_wqe_findings(&wqe, all, 4);
	for (unsigned i = 0; i < count && i < 4; i++)
		must_be_explained(&all[i], size);
	MUST((bsn_wqe_check(&wqe, &bad) != 0) == (count != 0));
	MUST(!count || bad.why == all[0].why);
	bsn_wqe_mask(&wqe, mask, sizeof(mask));
	for (size_t i = wqe.size_bytes; i < sizeof(mask); i++)
		MUST(!mask[i]);
	bsn_wqe_mask(&wqe, mask, size % 32);
}

static void fuzz_recv(const uint8_t *bytes, size_t size, enum bsn_recv_head head)
{
	static struct bsn_recv_wqe recv;
	struct bsn_bad bad = { 0 };
	uint64_t total = 0;

	if (bsn_recv_decode(bytes, size, head, &recv, &bad)) {
		must_be_explained(&bad, size);
		return;
	}
	MUST(recv.data_count <= BSN_RECV_MAX_DATA);
	for (unsigned i = 0; i < recv.data_count; i++) {
		MUST((size_t)recv.data[i].offset + BSN_DATA_SIZE <= size);
		total += recv.data[i].length_bytes;
	}
	MUST(total == recv.total_bytes);
}

static void fuzz_cqe(const uint8_t *bytes, size_t size)
{
	struct bsn_bad bad = { 0 };
	struct bsn_cqe cqe;

	if (bsn_cqe_decode(bytes, size, &cqe, &bad)) {
		must_be_explained(&bad, size);
		return;
	}
	MUST((size_t)cqe.offset + BSN_CQE_SIZE == size);
	if (cqe.view)
		describe(cqe.view, bytes, cqe.offset);
	MUST(!cqe.inline_bytes || (cqe.inline_bytes >= bytes &&
				   cqe.inline_bytes + cqe.inline_len_bytes <= bytes + size));
}

/* The first CQE as title, the second as array, in every layout and format. */
static void fuzz_expand(const uint8_t *bytes, size_t size, unsigned dice)
{
	struct bsn_cqe_block block = { .format = (enum bsn_mini_format)(dice % 8),
				       .is_enhanced = dice >> 3 & 1,
				       .is_striding = dice >> 4 & 1 };
	uint8_t cqes[BSN_MINI_BASIC_MOST][BSN_CQE_SIZE];
	struct bsn_bad bad = { 0 };
	int count;

	if (size < 2 * BSN_CQE_SIZE)
		return;
	if (bsn_cqe_block_begin(&block, bytes, &bad)) {
		must_be_explained(&bad, size);
		return;
	}
	for (unsigned i = 0; i < 3; i++) {
		count = bsn_cqe_expand(&block, bytes + BSN_CQE_SIZE, cqes, &bad);
		MUST(count <= BSN_MINI_BASIC_MOST && count != 0);
		if (count < 0)
			must_be_explained(&bad, size);
		for (int c = 0; c < count; c++)
			fuzz_cqe(cqes[c], BSN_CQE_SIZE);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *exact;

	if (!size)
		return 0;
	/* Exactly as long as the input, so that one byte too far is seen. */
	exact = malloc(size > 1 ? size - 1 : 1);
	MUST(exact);
	memcpy(exact, data + 1, size - 1);
	fuzz_send(exact, size - 1, (enum bsn_transport)(data[0] % (BSN_TRANSPORT_IPOIB + 1)));
	fuzz_recv(exact, size - 1, (enum bsn_recv_head)(data[0] % (BSN_RECV_SIGNED + 1)));
	fuzz_cqe(exact, size - 1);
	fuzz_expand(exact, size - 1, data[0] >> 2);
	free(exact);
	return 0;
}
