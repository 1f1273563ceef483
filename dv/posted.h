/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the requests in a send ring, done or not, as long as they were not overwritten. So a post
 * need not count anything about them. Private to dv/ and engine/.
 */
#ifndef DV_POSTED_H
#define DV_POSTED_H

#include "sq.h"

/**
 * struct bsn_posted - a request
 * @opcode: of it
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
 * Posts the message that begins at @index of another queue of the kind once more, to the same peer,
 * whose part of the WQE is @peer's now, with the id and the user pointer that it had. A request
 * that the library alone had signaled is unsignaled again. Results as of bsn_ep_post_body().
 */
int bsn_sq_post_again(const struct bsn_sq *from, uint16_t index, struct bsn_peer *peer);

/* Bytes of data that it moves; an atomic moves 8. */
uint64_t bsn_sq_bytes_at(const struct bsn_sq *sq, uint16_t index);

#endif
