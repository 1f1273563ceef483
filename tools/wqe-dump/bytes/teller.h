/* SPDX-License-Identifier: BSD-2-Clause */
/* What is the same when WQEs and when CQEs of a queue are reported. */
#ifndef WQE_DUMP_TELLER_H
#define WQE_DUMP_TELLER_H

#include "../tell/tell.h"
#include "raw.h"

/** struct teller - the queue that is told of */
struct teller {
	struct tell *tell;
	const struct raw *raw;
	const struct raw_attr *attr;
	struct ring ring;
	bool is_ring;      /* a whole queue; in a send queue, index modulo count is the slot */
	size_t unread_end; /* where the last slot ended that could not be read */
	enum bsn_transport transport;
	bool transport_is_guess;
};

/** teller_line() - the line that a byte is from; 0: the input has no lines */
unsigned long teller_line(const struct teller *teller, size_t offset);

/** teller_is_ring() - whether so many slots are a whole queue, and not a few copied CQEs */
bool teller_is_ring(uint32_t count);

/** teller_begin() - an empty record of what is at this offset */
void teller_begin(const struct teller *teller, size_t offset, struct record *record);

/** teller_refuse() - tells of a slot that cannot be read; once for several neighbours */
void teller_refuse(struct teller *teller, size_t offset, const struct bsn_bad *bad);

/** teller_rest() - tells of bytes after the last whole slot */
void teller_rest(const struct teller *teller, size_t at, const char *what, size_t size);

/** raw_cqes_tell() - tells of a completion queue's CQEs, `size` bytes each */
void raw_cqes_tell(struct teller *teller, size_t size);

#endif
