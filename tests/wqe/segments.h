/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The segments of a WQE as words, which a test can compare with what it expects: their names, in
 * order. Inline data are "+", bytes that no table describes are "raw"; padding is left out.
 */
#ifndef TESTS_WQE_SEGMENTS_H
#define TESTS_WQE_SEGMENTS_H

#include <stdio.h>

#include "bsn_decode.h"

#define SEGMENTS_BYTES 1024

/**
 * segments_of() - "ctrl raddr inline_hdr +" of a WQE
 * @words: room for SEGMENTS_BYTES
 *
 * Return: @words; if the bytes are no WQE of this transport, they say what is wrong.
 */
static inline const char *segments_of(const void *bytes, size_t size, enum bsn_transport transport,
				      char *words)
{
	static struct bsn_wqe wqe;
	struct bsn_piece_iter iter;
	struct bsn_piece piece;
	struct bsn_bad bad;
	size_t at = 0;

	words[0] = '\0';
	if (bsn_wqe_decode(bytes, size, transport, &wqe, &bad)) {
		snprintf(words, SEGMENTS_BYTES, "byte %u of %s: %s", bad.offset, bad.segment,
			 bad.why);
		return words;
	}
	bsn_piece_iter_init(&iter, &wqe);
	while (bsn_piece_next(&iter, &piece) && at < SEGMENTS_BYTES)
		if (piece.kind != BSN_PIECE_PADDING)
			at += (size_t)snprintf(words + at, SEGMENTS_BYTES - at, "%s%s",
					       at ? " " : "",
					       piece.kind == BSN_PIECE_INLINE ? "+"
					       : piece.kind == BSN_PIECE_RAW  ? "raw"
									      : piece.desc->name);
	return words;
}

#endif
