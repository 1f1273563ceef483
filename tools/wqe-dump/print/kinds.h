/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Kinds of errors. Errors that differ only by their place are of one kind, which is explained once.
 */
#ifndef WQE_DUMP_KINDS_H
#define WQE_DUMP_KINDS_H

#include "../explain/explain.h"
#include "summary.h"

/** struct error_kind - errors that have one explanation */
struct error_kind {
	struct error error;
	unsigned long count;
	unsigned long number;                           /* of the first record, from 1 */
	char first[SUMMARY_BYTES], last[SUMMARY_BYTES]; /* where its first and its last error are */
};

/** kinds_begin() - forgets what was counted */
void kinds_begin(void);

/**
 * kinds_count() - counts a record
 *
 * Return: its kind; NULL if nothing is known of it, or there are too many kinds.
 */
const struct error_kind *kinds_count(const struct record *record);

/** kinds_get() - the nth kind in order of appearance, or NULL */
const struct error_kind *kinds_get(unsigned nth);

#endif
