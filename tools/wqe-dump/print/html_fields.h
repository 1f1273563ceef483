/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The fields that a page shows. Each record has its bytes and the places of its segments; the
 * tables are in the page once, and its script draws what is looked at. (All fields of all slots of
 * the largest ring are 70 MB of text.)
 */
#ifndef WQE_DUMP_HTML_FIELDS_H
#define WQE_DUMP_HTML_FIELDS_H

#include "../record.h"

/** html_fields_put() - writes the attributes of a record's element */
void html_fields_put(const struct record *record);

/** html_fields_end() - writes the tables of the segments that were used, and the script */
void html_fields_end(void);

#endif
