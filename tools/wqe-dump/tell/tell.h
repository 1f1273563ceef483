/* SPDX-License-Identifier: BSD-2-Clause */
/* Adds to what was found what it means and what belongs to it; then it is for the sink. */
#ifndef WQE_DUMP_TELL_H
#define WQE_DUMP_TELL_H

#include "../record.h"

/** struct tell - where records go to, and where they come from; @sink is set first */
struct tell {
	struct sink *sink;
	const char *file;            /* the input that is being read */
	const char *source;          /* of records that do not name theirs: a form */
	unsigned long count, unread; /* records so far, and dumps that could not be read */
};

/** tell_record() - reports what was found; the record is not used after the call */
void tell_record(struct tell *tell, struct record *record);

/* Tells why what looked like a dump could not be read, without a full stop; @line 0: no lines */
void tell_unread(struct tell *tell, unsigned long line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
