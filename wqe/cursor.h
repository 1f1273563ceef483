/* SPDX-License-Identifier: BSD-2-Clause */
/* How a WQE is taken apart: a place in it that moves on, segment by segment. */
#ifndef WQE_CURSOR_H
#define WQE_CURSOR_H

#include "report.h"

/* Where the next segment goes, as long as the WQE lasts. */
struct cursor {
	struct bsn_wqe *wqe;
	size_t offset;
	struct bsn_bad *bad;
};

static inline size_t bytes_left(const struct cursor *at)
{
	return at->wqe->size_bytes - at->offset;
}

/* There is room for it: the callers have looked. */
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

/* What is left is not described: kept as it is. */
static inline int leave_raw(struct cursor *at)
{
	at->wqe->raw_is_read = true;
	return 0;
}

/* Takes a segment of this kind into a structure; answers as take_segment() does. */
#define TAKE_INTO(at, kind, host)                                                                  \
	__extension__({                                                                            \
		const uint8_t *take_src;                                                           \
		int take_err = take_segment(at, &bsn_##kind##_desc, &take_src);                    \
		if (!take_err)                                                                     \
			bsn_##kind##_decode(host, take_src);                                       \
		take_err;                                                                          \
	})

/* decode.c: data segments up to the end, or one pointer. */
int take_data(struct cursor *at);
int take_pointer(struct cursor *at);

/* body.c: what lies behind the control segment of an operation that is no message. */
int take_body(struct cursor *at);

#endif
