/* SPDX-License-Identifier: BSD-2-Clause */
/* Guesses what bytes are: whether the tables make sense of them. */
#ifndef WQE_DUMP_JUDGE_H
#define WQE_DUMP_JUDGE_H

#include "raw.h"

#define UNITS_MAX 512 /* CQEs or basic blocks that are judged */

static inline bool is_zero(const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (bytes[i])
			return false;
	return true;
}

/**
 * judge_bytes() - how much the bytes look like CQEs or WQEs
 * @attr: what is known about them
 * @kind: filled with the likeliest kind
 *
 * Return: points a unit, in tenths; 0 or less: they are neither.
 */
int judge_bytes(const struct raw_attr *attr, const uint8_t *bytes, size_t size,
		enum raw_kind *kind);

/**
 * judge_title() - whether a CQE is the title of a block of compressed ones, in the basic layout
 * @attr: what is known about the queue
 * @proper: the CQE
 *
 * Return: CQEs, and slots, of the block, UINT16_MAX at most; 0: it is no title.
 */
uint32_t judge_title(const struct raw_attr *attr, const uint8_t *proper);

/** judge_ctrl() - decodes a control segment; false: it cannot be one */
bool judge_ctrl(const uint8_t *bytes, size_t size, struct bsn_ctrl *ctrl);

/** judge_ring() - whether bytes are a whole send queue: slots and indices agree */
bool judge_ring(const uint8_t *bytes, size_t size);

/**
 * judge_transport() - the transport with which a WQE makes most sense
 * @oddities: filled with how many things in it no program would post even so
 *
 * Return: enum bsn_transport, or -EBADMSG: it is no WQE with any.
 */
int judge_transport(const uint8_t *bytes, size_t size, unsigned *oddities);

#endif
