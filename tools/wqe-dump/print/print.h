/* SPDX-License-Identifier: BSD-2-Clause */
/* The printers: each is a sink that writes to standard output. */
#ifndef WQE_DUMP_PRINT_H
#define WQE_DUMP_PRINT_H

#include "../record.h"

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

/** print_options - how to print; set before anything is printed */
extern struct print_options {
	bool raw; /* text: the bytes beside each field */
} print_options;

#endif
