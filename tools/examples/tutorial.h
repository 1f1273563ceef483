/* SPDX-License-Identifier: BSD-2-Clause */
/* The program of engine/doc/tutorial.md: its state before and after. */
#ifndef TUTORIAL_H
#define TUTORIAL_H

#include <infiniband/verbs.h>

#include "bsn.h"

enum { MESSAGES = 64, DEPTH = 128, BYTES = 8 };

/* With verbs: a queue pair that is connected to itself, and two words. */
struct old {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	uint64_t from, to;
};

/* The same by Bunsen. */
struct new_one {
	struct bsn_device *dev;
	struct bsn_mr *mr;
	struct bsn_cq *cq;
	struct bsn_qp *qp;
	struct bsn_ep *ep;
	struct bsn_sge local;
	struct bsn_remote remote;
	struct bsn_prepared prepared;
};

/* These functions end the program if they fail. */
void old_open(struct old *p);
void old_connect(struct old *p);
void old_close(struct old *p);

#endif
