/* SPDX-License-Identifier: BSD-2-Clause */
/* A CQE or WQE that a program prints as lines of hexadecimal digits after a line of text. */
#ifndef WQE_DUMP_COLLECT_H
#define WQE_DUMP_COLLECT_H

#include "form.h"

#define COLLECT_MAX_BYTES 1024 /* the longest WQE in whole basic blocks */

/** struct collect - bytes so far; zero to begin with */
struct collect {
	struct record record;    /* from the line of text; the dump adds the bytes */
	unsigned count;          /* bytes so far */
	bool has_begun;          /* the line of text was seen */
	unsigned wanted;         /* bytes */
	bool has_offset;         /* rows begin with an offset */
	struct number transport; /* of a WQE, enum bsn_transport */
	bool is_swapped;         /* and are */
	bool may_be_swapped;     /* its dwords may be printed as a little-endian host reads them */
	uint8_t bytes[COLLECT_MAX_BYTES];
};

/**
 * collect_cqe() - takes the line of text, then the lines of the CQE
 * @state: a struct collect
 *
 * It is a form's feed(), or called at its end. A form that parses the line of text fills the record
 * first. The record is told of when the CQE is complete.
 */
enum form_answer collect_cqe(struct feed *feed, const struct line *line, void *state);

/**
 * collect_wqe() - likewise a send WQE
 *
 * The line of text ("len: ") or the WQE itself says how long it is.
 */
enum form_answer collect_wqe(struct feed *feed, const struct line *line, void *state);

/**
 * collect_close() - a form's close(): tells of the line of text, or that the dump is incomplete
 */
void collect_close(struct feed *feed, void *state);

/* A form whose state is a struct collect: its variable, its name, its feed(), its marks. */
#define COLLECT_FORM(id, form_name, feed_line, ...)                                                \
	const struct form form_##id = { .name = form_name,                                         \
					.marks = MARKS(__VA_ARGS__),                               \
					.state_bytes = sizeof(struct collect),                     \
					.begins_anew = true,                                       \
					.feed = feed_line,                                         \
					.close = collect_close }

#endif
