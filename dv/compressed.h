/* SPDX-License-Identifier: BSD-2-Clause */
/* Sessions of compressed CQEs, made whole in the ring. Private to the library. */
#ifndef DV_COMPRESSED_H
#define DV_COMPRESSED_H

#include "bsn_cq.h"

/** enum bsn_expander - the ways to do it */
enum bsn_expander { BSN_EXPAND_PLAIN, BSN_EXPAND_AVX2, BSN_EXPAND_NEON, BSN_EXPANDERS };

/* The CQ compresses by this format, of the basic layout: HASH, CSUM or CSUM_STRIDX. */
void bsn_cq_set_compression(struct bsn_cq *cq, enum bsn_mini_format format);

/*
 * Makes whole CQEs of the session whose title is the CQE at @title, of the lap @phase: in their places in the ring, with the
 * owner bits of their laps. They are the poller's by then, all of them.
 * Context: after O4 on the title. Return: 0; -EPROTO, and nothing was written: it can be none.
 */
int bsn_cq_expand(struct bsn_cq *cq, const uint8_t *title, uint8_t phase);

/* For tests: from here on by this way, if the CPU has it; whether it has. */
bool bsn_expand_by(enum bsn_expander how);

#endif
