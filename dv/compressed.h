/* SPDX-License-Identifier: BSD-2-Clause */
/* Expands sessions of compressed CQEs in the ring. Private to the library. */
#ifndef DV_COMPRESSED_H
#define DV_COMPRESSED_H

#include "whole.h"

/*
 * Sets the format by which the CQ compresses, one of the basic layout: HASH, CSUM or CSUM_STRIDX.
 */
void bsn_cq_set_compression(struct bsn_cq *cq, enum bsn_mini_format format);

/*
 * Expands the session whose title CQE, of the lap @phase, is at @title. It becomes whole CQEs in
 * the ring, with the owner bits of their laps. All of them are the poller's. Context: after O4 on
 * the title. Return: 0; -EPROTO it is no session, and nothing was written.
 */
int bsn_cq_expand(struct bsn_cq *cq, const uint8_t *title, uint8_t phase);

#endif
