/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compression by bytes: which byte of a CQE each byte of a mini CQE is. The map comes from
 * bsn_cqe_expand(), so it repeats nothing of its tables. Only for the basic layout and queues that
 * are not striding. Private to the library and to softcx.
 */
#ifndef WQE_MINIS_H
#define WQE_MINIS_H

#include "bsn_decode.h"

enum {
	/* No byte of the mini CQE: of the counter, which goes up with each CQE. */
	BSN_MINI_COUNTER_LOW = BSN_MINI_SIZE,
	BSN_MINI_COUNTER_HIGH,
	BSN_MINI_NO_BYTE = 0x80, /* "pshufb" and "tbl" store 0 for it */
};

struct bsn_mini_map {
	uint8_t from[BSN_CQE_SIZE]; /* for each byte of the CQE */
	uint8_t keep[BSN_CQE_SIZE]; /* 0xff: it is the title's; else 0 */
	bool counts;
};

void bsn_mini_map_init(struct bsn_mini_map *map, enum bsn_mini_format format, bool is_request);

/* Takes out of a CQE the bytes that a mini CQE has of it. */
void bsn_mini_take(const struct bsn_mini_map *map, const uint8_t *cqe, uint8_t *mini);

/* Makes the whole CQE again. @title: a whole CQE; @counter: of this CQE, used if the map counts. */
void bsn_mini_put(const struct bsn_mini_map *map, const uint8_t *title, const uint8_t *mini,
		  uint16_t counter, uint8_t *cqe);

#endif
