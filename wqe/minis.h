/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compression as a map of bytes: which byte of a mini CQE each byte of a CQE is. The map is made by
 * calls of bsn_cqe_expand(), so no fact of the tables is repeated. It is right for the basic layout
 * and for queues that are not striding. Only the library and softcx use it.
 */
#ifndef WQE_MINIS_H
#define WQE_MINIS_H

#include "bsn_decode.h"

enum {
	/* Not in the mini CQE: bytes of the counter, which goes up with each CQE. */
	BSN_MINI_COUNTER_LOW = BSN_MINI_SIZE,
	BSN_MINI_COUNTER_HIGH,
	BSN_MINI_NO_BYTE = 0x80, /* "pshufb" and "tbl" store 0 for it */
};

struct bsn_mini_map {
	uint8_t from[BSN_CQE_SIZE]; /* for each byte of the CQE: its byte in the mini CQE */
	uint8_t keep[BSN_CQE_SIZE]; /* 0xff: the byte is the title's; else 0 */
	bool counts;                /* the counter is not in the mini CQE */
};

void bsn_mini_map_init(struct bsn_mini_map *map, enum bsn_mini_format format, bool is_request);

/* Makes a mini CQE of a CQE. */
void bsn_mini_take(const struct bsn_mini_map *map, const uint8_t *cqe, uint8_t *mini);

/* Makes a CQE of a mini CQE. @title: a whole CQE; @counter: of this CQE, used if the map counts. */
void bsn_mini_put(const struct bsn_mini_map *map, const uint8_t *title, const uint8_t *mini,
		  uint16_t counter, uint8_t *cqe);

#endif
