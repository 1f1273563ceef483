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

/* loop_commit - a layout that is written more than once is checked once; its parts stay as they are */
void loop_commit(struct loop *loop, struct bsn_layout *layout);

/* loop_write - what @layout spans goes to @offset of the memory, in one request; returns how many bytes */
uint64_t loop_write(struct loop *loop, const struct bsn_layout *layout, uint64_t offset);

#endif
