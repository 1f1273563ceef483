/* SPDX-License-Identifier: BSD-2-Clause */
/* A record in one line. */
#ifndef WQE_DUMP_SUMMARY_H
#define WQE_DUMP_SUMMARY_H

#include "../record.h"

#define SUMMARY_BYTES 512

/** summary_write() - what a record is, without its place; at most SUMMARY_BYTES - 1 characters */
void summary_write(const struct record *record, char *text);

/** summary_place() - where a record was: file and line, slot */
void summary_place(const struct record *record, char *text);

/**
 * summary_partner() - where the WQE of an error is, or the error of a WQE
 *
 * Return: false if that is not known.
 */
bool summary_partner(const struct record *record, char *text);

/**
 * summary_finding() - the nth thing that is wrong with a WQE, the gravest first
 *
 * Return: false if there is no @nth.
 */
bool summary_finding(const struct bsn_wqe *wqe, unsigned nth, char *text);

#endif
