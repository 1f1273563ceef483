/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What some bytes consist of, in words, to be compared with what a test expects: the segments of a
 * WQE by their names, in their order. Inline data are "+", what no table describes is "raw"; padding
 * is left out.
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
 * Return: @words; what is wrong where the bytes are no WQE of this transport.
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
