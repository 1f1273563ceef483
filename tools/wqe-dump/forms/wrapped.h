/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lines that a mailer, a terminal or a person broke. Only the reader of a line can tell whether it
 * is whole. So the line is read by itself first; if numbers are missing, it is read with the next
 * lines.
 */
#ifndef WQE_DUMP_WRAPPED_H
#define WQE_DUMP_WRAPPED_H

#include "form.h"

/** enum read_answer - what a line was to its reader */
enum read_answer {
	READ_OTHER, /* none of its kind */
	READ_FINE,  /* it tells of a success */
	READ_CUT,   /* of its kind, but something is missing */
	READ_WELL,
};

#define WRAPPED_BYTES 2048 /* of all parts; what is longer was not broken for its length */

/** struct wrapped - a line, joined with its parts in other lines */
struct wrapped {
	struct line line; /* its text is the caller's, or `text` */
	char text[WRAPPED_BYTES];
};

struct shape;

/** struct reader - how to read a line */
struct reader {
	enum read_answer (*read)(const struct line *line, const struct shape *shape,
				 struct record *record);
	const struct shape *shape;
	bool (*begins)(const struct line *line, const struct shape *shapes); /* another message */
	const struct shape *shapes;
	unsigned wanted; /* how many numbers a whole line has, with the status */
};

/**
 * wrapped_read() - if a line leaves something out, reads it with the next ones
 * @answer: what the line was by itself
 * @record: what it said by itself; what the next lines add is filled in
 * @whole: filled with the line and its parts; lines that are parts of it are not fed
 *
 * A line goes on in the next one if that has no prefix of a logger, and does not begin a message of
 * this kind.
 * Return: what the line was with all its parts.
 */
enum read_answer wrapped_read(struct feed *feed, const struct line *line,
			      const struct reader *reader, enum read_answer answer,
			      struct record *record, struct wrapped *whole);

#endif
