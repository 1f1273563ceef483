/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds what there is in an input, and tells a sink. */
#ifndef WQE_DUMP_SCAN_H
#define WQE_DUMP_SCAN_H

#include "form.h"

/** enum raw_kind - what bytes without any text are */
enum raw_kind { RAW_GUESS, RAW_CQE, RAW_CQE128, RAW_WQE, RAW_RECV, RAW_RECV_SRQ, RAW_RECV_SIGNED };

/** struct compression - what the compressed CQEs of a CQ are, as it was created */
struct compression {
	struct number format; /* enum bsn_mini_format of receives */
	bool is_enhanced;     /* layout */
	bool is_striding;     /* the receive queue */
};

/** struct scan_attr - how to look */
struct scan_attr {
	const struct form *only; /* NULL: every form */
	enum raw_kind raw_kind;
	struct number transport; /* of send WQEs, enum bsn_transport; unknown: guessed */
	size_t stride_bytes;     /* of receive WQEs; 0: BSN_DATA_SIZE */
	struct compression compression;
};

/**
 * scan_create() - makes a scanner
 *
 * Return: it, or NULL: out of memory.
 */
struct scan *scan_create(const struct scan_attr *attr, struct sink *sink);

/**
 * scan_input() - everything up to the input's end
 *
 * Return: 0, or -errno.
 */
int scan_input(struct scan *scan, struct input *input);

/** scan_count() - how many records there were so far */
unsigned long scan_count(const struct scan *scan);

/** scan_unread_count() - how many things that could not be read */
unsigned long scan_unread_count(const struct scan *scan);

/** scan_attr() - as given to scan_create() */
const struct scan_attr *scan_attr_of(const struct scan *scan);

void scan_destroy(struct scan *scan);

#endif
