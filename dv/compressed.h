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
 * Makes whole CQEs of the session whose title is the CQE at @title, of the lap @phase: in their places
 * in the ring, with the owner bits of their laps. All of them are the poller's. Context: after O4 on
 * the title. Return: 0; -EPROTO it is no session, and nothing was written.
 */
int bsn_cq_expand(struct bsn_cq *cq, const uint8_t *title, uint8_t phase);

/*
 * Completes receives of the session whose title is the CQE at @next, without whole CQEs: up to @n, and what
 * is left is a session of its own. They are plain ones of a QP's own queue. Context: as bsn_cq_expand().
 * Return: how many, with @next moved on; 0: bsn_cq_expand() has to look at it, and nothing was written.
 */
int bsn_cq_take_session(struct bsn_cq *cq, const struct bsn_route *route, const uint8_t **next,
			struct bsn_completion *c, int n);

/* This CQ by another way than usually: plain, avx2 or neon; false: there is none of the name here. */
bool bsn_cq_expand_by(struct bsn_cq *cq, const char *name);

/* For tests: expands by this way from here on. Returns whether the CPU has it. */
bool bsn_expand_by(enum bsn_expander how);

#endif
