/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compression by bytes: which of a CQE each byte of a mini CQE is. bsn_cqe_expand() is asked, so nothing is
 * told here that its tables do not say. Basic layout, queues that are not striding. Private to the library
 * and to softcx.
 */
#ifndef WQE_MINIS_H
#define WQE_MINIS_H

#include "bsn_decode.h"

enum {
	BSN_MINI_COUNTER_LOW = BSN_MINI_SIZE, /* not of the mini CQE: of the counter that goes up with each */
	BSN_MINI_COUNTER_HIGH,
	BSN_MINI_NO_BYTE = 0x80, /* what "pshufb" and "tbl" make a zero */
};

struct bsn_mini_map {
	uint8_t from[BSN_CQE_SIZE]; /* for each byte of the CQE */
	uint8_t keep[BSN_CQE_SIZE]; /* 0xff: it is the title's; else 0 */
	bool counts;
};

void bsn_mini_map_init(struct bsn_mini_map *map, enum bsn_mini_format format, bool is_request);

/* What a CQE has that its title has not, for a session. */
void bsn_mini_take(const struct bsn_mini_map *map, const uint8_t *cqe, uint8_t *mini);

/* The whole CQE again. @title: a whole one, too; @counter: of this one, if the map counts. */
void bsn_mini_put(const struct bsn_mini_map *map, const uint8_t *title, const uint8_t *mini,
		  uint16_t counter, uint8_t *cqe);

#endif
