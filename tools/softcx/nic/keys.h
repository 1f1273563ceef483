/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keys: the memory that they open, and walks over it. Requester and responder do not know where
 * memory is; they name key, address, length and rights, and walk. A walk visits one contiguous span
 * after the other and stores none, so a key may have any number of spans. Under the lock.
 */
#ifndef SOFTCX_NIC_KEYS_H
#define SOFTCX_NIC_KEYS_H

#include "bsn_decode.h"
#include "state.h"

#define CX_TPT_OK 0 /* beside enum bsn_tpt_detail */

/* Who wants to access memory, and how. */
struct cx_claim {
	uint32_t pdn, qpn;
	int access; /* IBV_ACCESS_*; 0: a read for the key's own process */
};

/* The owner of memory that does not exist: of CX_NULL_KEY. */
enum { CX_NOBODY = UINT16_MAX };

struct cx_span {
	unsigned proc; /* the owner of the memory */
	uint64_t va, len;
};

/*
 * The first span of a range, at most `len` bytes, that the key opens to the claim. Returns
 * CX_TPT_OK, or an enum bsn_tpt_detail.
 */
unsigned cx_key_span(struct cx_hca *hca, uint32_t key, const struct cx_claim *claim, uint64_t addr,
		     uint64_t len, struct cx_span *span);
/* Whether the key has memory on demand in that range; rights are not checked. */
bool cx_key_is_on_demand(struct cx_hca *hca, uint32_t key, uint64_t addr, uint64_t len);
/* SEND with invalidate. False: a peer may not invalidate the key. */
bool cx_key_invalidate(struct cx_hca *hca, uint32_t key, const struct cx_claim *claim);

struct cx_walk {
	const struct bsn_wqe_data *segments; /* segments to come; NULL: `only` alone */
	unsigned count;
	struct bsn_wqe_data only;
	struct cx_claim claim;
	uint64_t left;       /* bytes after `here` */
	uint64_t done;       /* bytes of the first segment up to the end of `here` */
	struct cx_span here; /* what is left of the current span */
	bool is_new;         /* nothing of it has been copied yet */
};

/*
 * A walk over the first `len` bytes of a list of segments in a WQE of the queue pair, inline ones
 * too.
 */
struct cx_walk cx_walk_list(const struct bsn_wqe_data *segments, unsigned count,
			    const struct cx_qp *qp, int access, uint64_t len);
/* A walk over what one key opens to the queue pair. */
struct cx_walk cx_walk_key(uint32_t key, uint64_t addr, const struct cx_qp *qp, int access,
			   uint64_t len);
/* A walk over memory of the model. */
struct cx_walk cx_walk_bytes(const void *bytes, uint64_t len);

/*
 * Before the walk: checks all keys of it. Returns CX_TPT_OK, or why the first bad one is refused.
 * Makes the first span current.
 */
unsigned cx_walk_check(struct cx_hca *hca, struct cx_walk *walk);
/* How many bytes are left to copy. */
static inline uint64_t cx_walk_len(const struct cx_walk *walk)
{
	return walk->here.len + walk->left;
}

/* The result of a copy: which side's memory was missing. */
enum cx_copied { CX_COPIED, CX_FAULT_FROM, CX_FAULT_TO };
/* Copies up to the end of the shorter walk, and moves both on. */
enum cx_copied cx_walk_copy(struct cx_hca *hca, struct cx_walk *to, struct cx_walk *from);

#endif
