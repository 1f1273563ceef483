/* SPDX-License-Identifier: BSD-2-Clause */
/* What each place of a WQE has, for code that decodes or builds WQEs place by place. */
#ifndef BSN_PLACES_H
#define BSN_PLACES_H

#include "bsn_ops.h"

/** struct bsn_place_info - what is in a place */
struct bsn_place_info {
	const struct bsn_seg_desc *desc; /* NULL: no table describes it */
	const char *doc;
	uint16_t size_bytes; /* 0: any number */
};

/** bsn_places - by enum bsn_place */
extern const struct bsn_place_info bsn_places[BSN_PLACE_COUNT];

#endif
