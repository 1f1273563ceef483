/* SPDX-License-Identifier: BSD-2-Clause */
/* Errors that are equal but for where they were: they are explained once. */
#ifndef WQE_DUMP_KINDS_H
#define WQE_DUMP_KINDS_H

#include "../explain/explain.h"
#include "summary.h"

/** struct kind - errors that have one explanation */
struct kind {
	struct error error;
	unsigned long count;
	unsigned long number;                           /* of the first record, from 1 */
	char first[SUMMARY_BYTES], last[SUMMARY_BYTES]; /* where these are */
};

/** kinds_begin() - forgets what was counted */
void kinds_begin(void);

/**
 * kinds_count() - counts a record
 *
 * Return: its kind; NULL where nothing is known of it, or there are too many kinds.
 */
const struct kind *kinds_count(const struct record *record);

/** kinds_get() - those there were, the first one first; NULL: there is no @nth */
const struct kind *kinds_get(unsigned nth);

#endif
