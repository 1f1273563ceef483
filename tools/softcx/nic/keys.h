/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keys: what memory they open, and walks over it. Requester and responder never see where memory
 * is; they say (key, address, length, rights) and walk. A walk meets one contiguous span after the
 * other and stores none of them, so a key may span any number. Under the lock.
 */
#ifndef SOFTCX_NIC_KEYS_H
#define SOFTCX_NIC_KEYS_H

#include "bsn_decode.h"
#include "state.h"

#define CX_TPT_OK 0 /* beside enum bsn_tpt_detail */

/* Which process wants memory, and for what. */
struct cx_claim {
	uint32_t pdn, qpn;
	int access; /* IBV_ACCESS_*, 0: to read it for the key's own process */
};

/* Whose memory that is which is not there: of CX_NULL_KEY. */
enum { CX_NOBODY = UINT16_MAX };

struct cx_span {
	unsigned proc; /* whose memory it is */
	uint64_t va, len;
};

/*
 * The first span of the range that the key opens to the claim, at most `len` bytes: CX_TPT_OK, or
 * an enum bsn_tpt_detail.
 */
unsigned cx_key_span(struct cx_hca *hca, uint32_t key, const struct cx_claim *claim, uint64_t addr,
		     uint64_t len, struct cx_span *span);
/* Whether memory on demand is among what the key spans there, whoever asks. */
bool cx_key_is_on_demand(struct cx_hca *hca, uint32_t key, uint64_t addr, uint64_t len);
/* SEND with invalidate: false if a peer may not invalidate the key. */
bool cx_key_invalidate(struct cx_hca *hca, uint32_t key, const struct cx_claim *claim);

struct cx_walk {
	const struct bsn_wqe_data *segments; /* still to come; NULL: `only` alone */
	unsigned count;
	struct bsn_wqe_data only;
	struct cx_claim claim;
	uint64_t left;       /* bytes that lie beyond `here` */
	uint64_t done;       /* bytes of the first segment that do not */
	struct cx_span here; /* the span at hand, and what is left of it */
	bool is_new;         /* nothing of it has been copied */
};

/* Over the first `len` bytes of a list of segments: of a WQE of the queue pair, inline ones too. */
struct cx_walk cx_walk_list(const struct bsn_wqe_data *segments, unsigned count,
			    const struct cx_qp *qp, int access, uint64_t len);
/* Over what one key opens to the queue pair. */
struct cx_walk cx_walk_key(uint32_t key, uint64_t addr, const struct cx_qp *qp, int access,
			   uint64_t len);
/* Over memory of the model itself. */
struct cx_walk cx_walk_bytes(const void *bytes, uint64_t len);

/*
 * Before the walk: looks up every key on the way; CX_TPT_OK, or what the first that does not open
 * lacks. The first span is then at hand.
 */
unsigned cx_walk_check(struct cx_hca *hca, struct cx_walk *walk);
/* How many bytes are left to copy. */
static inline uint64_t cx_walk_len(const struct cx_walk *walk)
{
	return walk->here.len + walk->left;
}

/* How a copy ended: which side's memory was missing. */
enum cx_copied { CX_COPIED, CX_FAULT_FROM, CX_FAULT_TO };
/* Copies as far as both walks reach, and moves both on. */
enum cx_copied cx_walk_copy(struct cx_hca *hca, struct cx_walk *to, struct cx_walk *from);

#endif
