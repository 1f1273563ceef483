/* SPDX-License-Identifier: BSD-2-Clause */
/* What bytes look like, of which nobody said what they are: the tables make sense of them or not. */
#ifndef WQE_DUMP_JUDGE_H
#define WQE_DUMP_JUDGE_H

#include "../scan/scan.h"

#define UNITS_MAX 512 /* CQEs or basic blocks that are looked at to tell what they are */

static inline bool is_zero(const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (bytes[i])
			return false;
	return true;
}

static inline size_t ctrl_size_bb(const struct bsn_ctrl *ctrl)
{
	return (ctrl->ds + BSN_BB_DS - 1) / BSN_BB_DS;
}

/**
 * judge_bytes() - how much the bytes look like CQEs or WQEs
 * @attr: what is known about them
 * @kind: which they are taken for
 *
 * Return: points for each unit, in tenths; 0 or less: like neither.
 */
int judge_bytes(const struct scan_attr *attr, const uint8_t *bytes, size_t size,
		enum raw_kind *kind);

/**
 * judge_title() - whether a CQE is the title of a block of compressed ones, in the basic layout
 * @attr: what is known about the queue
 * @proper: the CQE
 *
 * Return: how many CQEs, and slots, the block has, UINT16_MAX at most; 0: it is no title.
 */
uint32_t judge_title(const struct scan_attr *attr, const uint8_t *proper);

/** judge_ctrl() - what the control segment at a place says, as far as it can be one */
bool judge_ctrl(const uint8_t *bytes, size_t size, struct bsn_ctrl *ctrl);

/** judge_ring() - whether slots and indices agree, so that the bytes are a whole send queue */
bool judge_ring(const uint8_t *bytes, size_t size);

/**
 * judge_transport() - the transport of which a WQE makes most sense
 * @oddities: how often it still says what nobody would have posted
 *
 * Return: enum bsn_transport, or -EBADMSG: it is a WQE of none.
 */
int judge_transport(const uint8_t *bytes, size_t size, unsigned *oddities);

#endif
