/* SPDX-License-Identifier: BSD-2-Clause */
/* A queue pair that is connected to itself, so that one process shows both ends of a request. */
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

/* With so many bytes of memory. Each of these ends the program, with a sentence, where it fails. */
void loop_open(struct loop *loop, size_t bytes);
void loop_close(struct loop *loop);

/* loop_layout - a layout of these parts; bsn_layout_destroy() takes it back */
struct bsn_layout *loop_layout(struct loop *loop, const struct bsn_part *parts, uint32_t part_count,
			       uint32_t rounds);

/* loop_write - in one request what @layout spans goes to @offset of the memory; how many bytes */
uint64_t loop_write(struct loop *loop, struct bsn_layout *layout, uint64_t offset);

#endif
