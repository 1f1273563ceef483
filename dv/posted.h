/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads requests from a send ring, done or not, until they are overwritten. So a post need not keep
 * anything else about them. Private to dv/ and engine/.
 */
#ifndef DV_POSTED_H
#define DV_POSTED_H

#include "sq.h"

/**
 * struct bsn_posted - a request
 * @opcode: its opcode
 * @count_bb: blocks; the next one begins after them
 * @stream: of a DCI, else 0
 */
struct bsn_posted {
	uint8_t opcode;
	uint16_t count_bb;
	uint16_t stream;
};

/* The request that begins at @index. */
BSN_ALWAYS_INLINE struct bsn_posted bsn_sq_posted_at(const struct bsn_sq *sq, uint32_t index)
{
	struct bsn_ctrl ctrl;

	bsn_ctrl_decode(&ctrl, bsn_sq_slot_of(sq, index));
	return (struct bsn_posted){ .opcode = (uint8_t)ctrl.opcode,
				    .count_bb = (uint16_t)bsn_bb_of_ds(ctrl.ds),
				    .stream = (uint16_t)ctrl.dci_stream };
}

/*
 * Posts the message at @index of another queue of the same sort once more, to the same peer. The
 * prefix of the new WQE comes from @peer; the id and the user pointer are those of the old one. A
 * request that only the library signaled becomes unsignaled. Returns as bsn_ep_post_body().
 */
int bsn_sq_post_again(const struct bsn_sq *from, uint16_t index, struct bsn_peer *peer);

/* DS number @ds of the request at @index, which may go round the ring's end. */
const uint8_t *bsn_sq_ds_at(const struct bsn_sq *sq, uint16_t index, unsigned ds);

/*
 * The DS at which the data of the request at @index begin. A request with an opmod ends with one
 * data pointer: an atomic's result, a copy's target.
 */
unsigned bsn_sq_data_at(const struct bsn_sq *sq, uint16_t index, const struct bsn_ctrl *ctrl);

/* Bytes of data that the request moves; an atomic moves 8. */
uint64_t bsn_sq_bytes_at(const struct bsn_sq *sq, uint16_t index);

#endif
