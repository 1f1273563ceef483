/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A form is how one program writes down errors, WQEs or CQEs. It names strings (its marks), and is
 * offered only lines that have one of them; so a log costs little more than a search for the marks
 * of all forms at once. To add a form, write it in forms_<family>.c and list it in forms.h.
 */
#ifndef WQE_DUMP_FORM_H
#define WQE_DUMP_FORM_H

#include "../bytes/bytes.h"
#include "../tell/tell.h"
#include "../text/line.h"

/** enum form_answer - what a form makes of a line */
enum form_answer {
	FORM_PASS,  /* not its own; other forms may look at it */
	FORM_OVER,  /* likewise, and the form stops waiting */
	FORM_TAKEN, /* its own, and nothing is missing */
	FORM_MORE,  /* its own, and the form waits for more: it gets all next lines */
};

/* A form that waits is closed after this many lines that it did not take. */
#define FORM_PATIENCE 32

/** struct feed - what the scanner gives a form with each line */
struct feed {
	struct tell *tell;            /* told of what the form finds */
	const struct raw_attr *bytes; /* what the user says of bytes without any text */
	size_t width;                 /* characters of the line, with its prefix */
	unsigned taken;               /* set by the form: how many next lines belong to this one */

	/*
	 * rest() - a next line that may continue this one
	 * @nth: 1 is the next one
	 *
	 * Return: the line without quote marks and blanks before it, valid until the next call; it
	 * may be empty. NULL: it has a prefix of its own, or is not there.
	 */
	char *(*rest)(struct feed *feed, unsigned nth);
};

/** struct form - one way to write it down */
struct form {
	const char *name;         /* "source" of the JSON, and for --format */
	const char *const *marks; /* up to a NULL: a line is offered if it has one */
	size_t state_bytes;       /* kept from line to line; zero at first */
	bool begins_anew;         /* each line with a mark closes the form if it waits */

	/* feed() - looks at a line, which has no logger's prefix */
	enum form_answer (*feed)(struct feed *feed, const struct line *line, void *state);

	/* close() - no more lines come while the form waits; NULL if it never waits */
	void (*close)(struct feed *feed, void *state);
};

/** forms - all of them, up to a NULL, in the order in which they are asked */
extern const struct form *const forms[];

/* At most this many, since each form has a bit of a word. */
#define FORMS_MAX 64

/** form_find() - by its name; NULL where there is none */
const struct form *form_find(const char *name);

#endif
