/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a post leaves for the device: WQEs, the doorbell record, the stores into the register. Two
 * posts are equal if all bits are equal, except for those that the tables of wqe/ call ignored. The
 * QPN, which differs between queues, is left out.
 */
#ifndef TESTS_CONFORMANCE_COMPARE_H
#define TESTS_CONFORMANCE_COMPARE_H

#include "party.h"

enum {
	WQE_BYTES = 1024, /* 64 DS, more than a WQE can have */
	STORES = 64,
};

struct published {
	enum bsn_transport transport;
	bool copies_bare; /* a control segment alone, if it is the only WQE */
	uint32_t qpn;
	unsigned count; /* WQEs */
	uint16_t index[DEPTH];
	uint8_t wqe[DEPTH][WQE_BYTES];
	uint8_t record[8];
	bool has_stores; /* a real device's registers are not watched */
	size_t store_count;
	struct softcx_store store[STORES]; /* offsets from the start of the register */
};

/* To be called before the post: from here on stores are recorded. */
void published_start(void);

/* Reads what the post of @n requests left, and moves on p->pi. */
void published_take(struct party *p, unsigned n, struct published *out);

/* Checks the bytes of one post as a device would: 0, or prints what is wrong. */
int published_check(const struct published *got);

/*
 * Returns 0, or prints the fields that differ. With @any_size the sizes of the stores may differ,
 * but not the bytes that they write, nor their order.
 */
int published_compare(const struct published *want, const struct published *got, bool any_size);

/* Prints the fields of a WQE, beside those of another. */
void published_print(const struct published *want, const struct published *got, unsigned wqe);

#endif
