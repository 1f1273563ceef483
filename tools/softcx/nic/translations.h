/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Translations of mkeys of KLM and KSM: lists of parts of other keys, and repeat blocks. A
 * translation is found by its offset, so a walk need not remember any. Under the lock.
 */
#ifndef SOFTCX_NIC_TRANSLATIONS_H
#define SOFTCX_NIC_TRANSLATIONS_H

#include "state.h"

/* Reserves `count` empty ones. Returns 0, or -ENOMEM. */
int cx_xlt_alloc(struct cx_hca *hca, struct cx_mr *mr, uint32_t count);
void cx_xlt_free(struct cx_hca *hca, struct cx_mr *mr);
/* After a process died, maybe in between: only what existing keys have stays reserved. */
void cx_xlt_recount(struct cx_hca *hca);

/*
 * Writes `count` translations, which fit, from number `first` on; they take effect when they are
 * settled. False: a KLM has more than 2^31 bytes (the kernel's MLX5_MAX_KLM_BYTE_COUNT; rdma-core
 * qp.c set_bind_wr()).
 */
void cx_xlt_put(struct cx_hca *hca, struct cx_mr *mr, uint32_t first, const void *bytes,
		uint32_t count);
bool cx_xlt_settle(struct cx_hca *hca, struct cx_mr *mr);

/* Of an mkey of pages: whether a translation has a length. */
bool cx_xlt_has_lengths(struct cx_hca *hca, struct cx_mr *mr);

/* The memory of a byte of an mkey, and how many bytes from there on are contiguous. */
struct cx_piece {
	uint32_t key;
	uint64_t addr, len;
};

/* False: the translations end before it. */
bool cx_xlt_find(struct cx_hca *hca, const struct cx_mr *mr, uint64_t offset,
		 struct cx_piece *piece);

#endif
