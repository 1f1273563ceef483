/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A form: how one program writes down errors, WQEs or CQEs. A form names the strings that its lines
 * have (its marks); it is offered those lines only, so that a log costs little more than to look
 * for the marks of all forms at once. To add one: write it in forms/forms_<family>.c, list it in forms.h.
 */
#ifndef WQE_DUMP_FORM_H
#define WQE_DUMP_FORM_H

#include "input.h"
#include "../record.h"

struct scan;

/** enum form_answer - what a form makes of a line */
enum form_answer {
	FORM_PASS,  /* nothing; others may look at it */
	FORM_OVER,  /* likewise, and what it is in the middle of is over */
	FORM_TAKEN, /* it was one of its own, and what it belongs to is over */
	FORM_MORE,  /* likewise, and the next lines are to be shown whatever they have */
};

/* A form that wants more is given up after as many lines of others. */
#define FORM_PATIENCE 32

/** struct form - one way to write it down */
struct form {
	const char *name;         /* "source" of the JSON, and for --format */
	const char *const *marks; /* up to a NULL; a line is offered if it has one of them */
	size_t state_bytes;       /* kept from line to line; zero when a new one is begun */
	bool begins_anew; /* with each line that has a mark, whatever it is in the middle of */

	/*
	 * feed() - looks at a line, without the prefix that a logger put before it
	 *
	 * It tells the scanner what it found by scan_record() and scan_unread().
	 */
	enum form_answer (*feed)(struct scan *scan, const struct line *line, void *state);

	/* close() - no more lines come though it wanted more; may be NULL where it never does */
	void (*close)(struct scan *scan, void *state);
};

/** forms - all of them, up to a NULL, in the order in which they are asked */
extern const struct form *const forms[];

/* No more than this many, for they are bits of a word. */
#define FORMS_MAX 64

/** form_find() - by its name; NULL where there is none */
const struct form *form_find(const char *name);

/** scan_record() - tells of something found; the record is not used afterwards */
void scan_record(struct scan *scan, struct record *record);

/**
 * scan_rest() - a line that may be the rest of the one that is being fed
 * @nth: 1 is the next one
 *
 * Return: it, without marks of quotes and blanks before it, valid until the next call; empty where
 * it has nothing but marks of a page; NULL: it begins anew, or is not there.
 */
char *scan_rest(struct scan *scan, unsigned nth);

/** scan_take() - the next @count lines belonged to this one: nobody is fed them */
void scan_take(struct scan *scan, unsigned count);

/** scan_width() - characters of the line that is being fed, with all that stands before it */
size_t scan_width(const struct scan *scan);

/**
 * scan_unread() - tells of something that looked like a dump and could not be read
 * @line: its line
 * @format: like printf: a sentence without a full stop
 */
void scan_unread(struct scan *scan, unsigned long line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
