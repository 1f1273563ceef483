/* SPDX-License-Identifier: BSD-2-Clause */
/* A queue pair that is connected to itself, so that one process is both ends of a request. */
#ifndef LOOP_H
#define LOOP_H

#include "bsn_mkey.h"

struct loop {
	struct bsn_device *dev;
	struct bsn_mkey_pool *pool;
	struct bsn_mr *mem; /* zeros */
	struct bsn_cq *cq;
	struct bsn_qp *qp;
};

/*
 * Sets up a loop with so many bytes of memory. These functions end the program, with a message, if
 * they fail.
 */
void loop_open(struct loop *loop, size_t bytes);
void loop_close(struct loop *loop);

/* loop_layout - creates a layout of these parts; bsn_layout_destroy() destroys it */
struct bsn_layout *loop_layout(struct loop *loop, const struct bsn_part *parts, uint32_t part_count,
			       uint32_t rounds);

/* loop_write - writes what @layout spans to @offset of the memory, in one request; returns bytes */
uint64_t loop_write(struct loop *loop, struct bsn_layout *layout, uint64_t offset);

#endif
