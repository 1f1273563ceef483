/* SPDX-License-Identifier: BSD-2-Clause */
/* What tells of a queue's bytes: raw.c of WQEs, raw_cqes.c of CQEs. */
#ifndef WQE_DUMP_TELLER_H
#define WQE_DUMP_TELLER_H

#include "raw.h"

/** struct teller - what is being told of */
struct teller {
	struct scan *scan;
	const struct raw *raw;
	const struct scan_attr *attr;
	struct ring ring;
	bool is_ring;      /* a whole queue; of a send queue slot n has index n modulo its count */
	size_t unread_end; /* where the last thing ended that could not be read */
	enum bsn_transport transport;
	bool transport_is_guess;
};

/** teller_line() - the line in which a byte was written; 0: the input has no lines */
unsigned long teller_line(const struct teller *teller, size_t offset);

/** teller_is_ring() - whether so many slots are a queue, and not a few CQEs that somebody copied */
bool teller_is_ring(uint32_t count);

/** teller_begin() - a record of what is at this offset, with nothing in it so far */
void teller_begin(const struct teller *teller, size_t offset, struct record *record);

/** teller_refuse() - tells of a slot that cannot be read; of neighbours only once */
void teller_refuse(struct teller *teller, size_t offset, const struct bsn_bad *bad);

/** teller_rest() - tells of what is left of the last slot, or of a dump that was cut */
void teller_rest(const struct teller *teller, size_t at, const char *what, size_t size);

/** tell_cqes() - tells of a completion queue's CQEs, `size` bytes each */
void tell_cqes(struct teller *teller, size_t size);

#endif
