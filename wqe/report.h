/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes a refusal or a finding into struct bsn_bad. */
#ifndef WQE_REPORT_H
#define WQE_REPORT_H

#include "bsn_decode.h"

/* `segment` is the segment's offset. If a field is named, its offset in the segment is added. */
static inline void report(struct bsn_bad *bad, const struct bsn_seg_desc *desc, const char *field,
			  size_t segment, enum bsn_vendor_syndrome vendor, const char *why)
{
	const struct bsn_row *row = field ? bsn_row_find(desc, field) : NULL;

	*bad = (struct bsn_bad){ .segment = desc->name,
				 .field = field,
				 .why = why,
				 .offset = (uint32_t)segment + (row ? bsn_row_offset(row) : 0),
				 .vendor_syndrome = (uint8_t)vendor };
}

static inline int refuse(struct bsn_bad *bad, const struct bsn_seg_desc *desc, const char *field,
			 size_t segment, enum bsn_vendor_syndrome vendor, const char *why)
{
	if (bad)
		report(bad, desc, field, segment, vendor, why);
	return -EBADMSG;
}

#endif
