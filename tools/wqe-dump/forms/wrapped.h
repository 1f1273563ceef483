/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lines that a mailer, a terminal or a person broke. Only a reader knows whether its line is all
 * there, so that it is read first as it stands; where numbers are missing, with the lines behind it.
 */
#ifndef WQE_DUMP_WRAPPED_H
#define WQE_DUMP_WRAPPED_H

#include "keys.h"

#define WRAPPED_BYTES 2048 /* of all parts; longer lines were not broken for their length */

/** struct wrapped - a line, with the parts of it that stood in other lines */
struct wrapped {
	struct line line; /* its text is that of the caller's line, or `text` */
	char text[WRAPPED_BYTES];
};

/** struct reader - how to read a line */
struct reader {
	enum keys_answer (*read)(const struct line *line, const void *how, struct record *record);
	bool (*begins)(const struct line *line, const void *how); /* another one of its kind */
	const void *how;
	unsigned wanted; /* numbers and status of the record; with so many nothing is missing */
};

/**
 * wrapped_read() - reads a line, and where that leaves something out, the next ones with it
 * @record: filled
 * @whole: the line as it was read; the others that it has are fed to nobody
 *
 * A line goes on in the next one if that has no time, process or the like of its own, and begins
 * none of its kind.
 */
enum keys_answer wrapped_read(struct scan *scan, const struct line *line,
			      const struct reader *reader, struct record *record,
			      struct wrapped *whole);

#endif
