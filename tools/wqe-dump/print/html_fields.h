/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The fields of what a page shows: each record has its bytes and where the segments begin in them;
 * the tables are in the page once, and its script draws what is looked at. (All fields of all slots
 * of the largest ring are 70 MB of text.)
 */
#ifndef WQE_DUMP_HTML_FIELDS_H
#define WQE_DUMP_HTML_FIELDS_H

#include "../record.h"

/** html_fields_put() - the attributes of a record's element */
void html_fields_put(const struct record *record);

/** html_fields_end() - the tables of the segments that there were, and the script */
void html_fields_end(void);

#endif
