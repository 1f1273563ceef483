/* SPDX-License-Identifier: BSD-2-Clause */
/* A position in a WQE, which advances segment by segment. */
#ifndef WQE_CURSOR_H
#define WQE_CURSOR_H

#include "report.h"

/* `offset` is where the next segment begins. */
struct cursor {
	struct bsn_wqe *wqe;
	size_t offset;
	struct bsn_bad *bad;
};

static inline size_t bytes_left(const struct cursor *at)
{
	return at->wqe->size_bytes - at->offset;
}

/* The caller has checked that there is room. */
static inline struct bsn_wqe_part *add_part(struct cursor *at, const struct bsn_seg_desc *desc)
{
	struct bsn_wqe_part *part = &at->wqe->parts[at->wqe->part_count++];

	*part = (struct bsn_wqe_part){ .desc = desc, .offset = (uint16_t)at->offset };
	return part;
}

static inline int take_segment(struct cursor *at, const struct bsn_seg_desc *desc,
			       const uint8_t **bytes)
{
	if (bytes_left(at) < desc->size_bytes)
		return refuse(at->bad, desc, NULL, at->offset, BSN_VENDOR_DS_TOO_SHORT,
			      "the WQE's DS ends before this segment does");
	*bytes = at->wqe->bytes + at->offset;
	add_part(at, desc);
	at->offset += desc->size_bytes;
	return 0;
}

/* Leaves the rest raw: no table describes it. */
static inline int leave_raw(struct cursor *at)
{
	at->wqe->raw_is_read = true;
	return 0;
}

/* Takes a segment and decodes it into `host`. Returns what take_segment() does. */
#define TAKE_INTO(at, kind, host)                                                                  \
	__extension__({                                                                            \
		const uint8_t *take_src;                                                           \
		int take_err = take_segment(at, &bsn_##kind##_desc, &take_src);                    \
		if (!take_err)                                                                     \
			bsn_##kind##_decode(host, take_src);                                       \
		take_err;                                                                          \
	})

/* umr.c: the translations of a UMR, and its BSFs. */
int take_translations(struct cursor *at);

#endif
