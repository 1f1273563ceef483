/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds errors, CQEs and WQEs in an input, and tells of them. */
#ifndef WQE_DUMP_SCAN_H
#define WQE_DUMP_SCAN_H

#include "../forms/form.h"
#include "input.h"

/** struct scan_attr - how to look */
struct scan_attr {
	const struct form *only; /* NULL: every form */
	struct raw_attr bytes;   /* stride_bytes 0: BSN_DATA_SIZE */
};

/** scan_create() - makes a scanner, which sets @tell's file and source */
struct scan *scan_create(const struct scan_attr *attr, struct tell *tell);

/** scan_input() - scans an input up to its end; 0, or -errno */
int scan_input(struct scan *scan, struct input *input);

void scan_destroy(struct scan *scan);

#endif
