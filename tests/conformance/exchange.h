/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * All builders post the same requests in turn: each on a QP of its own, at the same index of a ring
 * of the same size. What they publish must be equal, the data must arrive, and the completions must
 * say what happened.
 */
#ifndef TESTS_CONFORMANCE_EXCHANGE_H
#define TESTS_CONFORMANCE_EXCHANGE_H

#include "../softcx/victim.h"
#include "compare.h"

enum {
	MAX_PARTIES = 8,
	MAX_BATCH = DEPTH - 1, /* libmlx5 leaves one place of a queue free */
};

/* How the bench is set up. */
struct setting {
	const char *name;
	enum bsn_qp_type type;
	enum cx_link link;
	enum bsn_store store;
	bool signal_all;
	bool is_shared;        /* Bunsen's lanes have a lock */
	bool is_doorbell_only; /* libmlx5 is told to use no BlueFlame */
};

/* The kinds of data that a request may have. */
struct shape {
	unsigned sges;
	unsigned bytes; /* inline: of all together; else of each, 0 for any number */
	bool is_inline;
	bool has_gap; /* one of the SGEs is empty */
};

extern struct exchange {
	const struct setting *setting;
	struct bench bench;
	unsigned count;
	struct party sender[MAX_PARTIES], receiver[MAX_PARTIES];
	struct party sink;                /* UD: one for all, since the WQE names it */
	struct victim victim[MAX_BATCH]; /* what SEND_INVALs invalidate */
	struct published want, got;
	uint64_t next_id;
} x;

void exchange_start(const struct setting *setting);
void exchange_stop(void);

/* Makes the @nth request of a batch. */
void exchange_make(struct request *r, unsigned nth, uint32_t opcode, const struct shape *shape,
		   unsigned flags);

/* All builders post the batch; if they differ, the test fails and says how. */
void exchange_post(const struct request *r, unsigned n);

/* Posts one signaled block, which retires all that is outstanding. */
void exchange_post_filler(void);

/* Random bytes, other ones for each party, in all rings; nothing may be outstanding. */
void exchange_poison(void);

/* Whether libmlx5 can build what the transport allows. */
bool exchange_can(const struct bsn_wqe_op *op);

#endif
