/* SPDX-License-Identifier: BSD-2-Clause */
/* The printers: each is a sink that writes to standard output. */
#ifndef WQE_DUMP_PRINT_H
#define WQE_DUMP_PRINT_H

#include <stdio.h>

#include "../explain/explain.h"

struct json_object;

/** print_json - {"records": […], "unread": […]}, one record a line */
extern struct sink print_json;

/** record_json() - makes one element of the list */
struct json_object *record_json(const struct record *record);

/** print_text - prints every field and what it means, in colour on a terminal */
extern struct sink print_text;

/** print_brief - one line a record */
extern struct sink print_brief;

/** print_html - a page with a picture of each ring */
extern struct sink print_html;

/** print_raw - text has the bytes beside each field; set before anything is printed */
extern bool print_raw;

/* -- what they have in common ------------------------------------------------------------------ */

#define SUMMARY_BYTES 512

/* A text of at most SUMMARY_BYTES - 1 characters, valid until the next one is asked for: */

/** summary_write() - what a record is, without its place */
const char *summary_write(const struct record *record);

/** summary_place() - where a record was: file and line, slot */
const char *summary_place(const struct record *record);

/** summary_partner() - where the WQE of an error is, or the error of a WQE; NULL: unknown */
const char *summary_partner(const struct record *record);

/** summary_finding() - the nth thing that is wrong with a WQE, the gravest first; NULL: none */
const char *summary_finding(const struct bsn_wqe *wqe, unsigned nth);

/** print_explanation() - a paragraph of short lines, each @indent columns from the left */
void print_explanation(FILE *to, const struct explanation *explanation, unsigned indent);

/** explanation_json() - what a record has as "explanation" */
struct json_object *explanation_json(const struct explanation *explanation);

/** struct error_kind - errors that differ only by their place, and are explained once */
struct error_kind {
	struct error error;
	unsigned long count;
	unsigned long number;                           /* of the first record, from 1 */
	char first[SUMMARY_BYTES], last[SUMMARY_BYTES]; /* where its first and its last error are */
};

/** kinds_begin() - forgets all kinds */
void kinds_begin(void);

/** kinds_count() - counts a record; its kind, or NULL: it is unknown, or one too many */
const struct error_kind *kinds_count(const struct record *record);

/** kinds_get() - the nth kind in order of appearance, or NULL */
const struct error_kind *kinds_get(unsigned nth);

#endif
