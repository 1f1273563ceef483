/* SPDX-License-Identifier: BSD-2-Clause */
/* A CQE or WQE that a program prints as lines of hexadecimal digits behind a line of text. */
#ifndef WQE_DUMP_COLLECT_H
#define WQE_DUMP_COLLECT_H

#include "form.h"

/** struct collect - bytes so far; zero to begin with */
struct collect {
	struct record record; /* what the text said; its bytes come from the dump */
	unsigned count;       /* bytes so far */
	bool has_begun;       /* the line of text was seen */
	unsigned wanted;      /* bytes; 0: a CQE's */
	uint8_t bytes[BSN_WQE_MAX_DS * BSN_DS_SIZE];
};

/**
 * collect_cqe() - takes the line of text, then the lines of the CQE
 *
 * To be a form's feed(), or its end: whoever parses the line of text fills collect->record before.
 * The record is told of when the CQE is complete.
 */
enum form_answer collect_cqe(struct scan *scan, const struct line *line, struct collect *collect);

/** collect_close() - a form's close(): says that the dump is incomplete */
void collect_close(struct scan *scan, void *state);

#endif
