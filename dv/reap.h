/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completes the request (sends.c) or the receive (recvs.c) of a CQE; bsn_cq_reap(), in recvs.c,
 * chooses. These functions are called after O4, with a CQE that is ours. Private to the library.
 */
#ifndef DV_REAP_H
#define DV_REAP_H

#include "bsn_cq.h"
#include "bsn_decode.h"
#include "whole.h"

/* Whether a CQE's opcode says that a receive succeeded. */
static inline bool is_received(unsigned opcode)
{
	return opcode >= BSN_CQE_RESP_WR_IMM && opcode <= BSN_CQE_RESP_SEND_INV;
}

static inline bool is_receive(unsigned opcode)
{
	return is_received(opcode) || opcode == BSN_CQE_RESP_ERR;
}

/* Whether the CQE has data inside, or is compressed. */
static inline bool has_format(unsigned kind)
{
	return kind & BSN_CQ_FORMAT;
}

static inline bool is_compressed(unsigned kind)
{
	return (kind & BSN_CQ_FORMAT) == BSN_CQE_COMPRESSED << 2;
}

/* The data inside the CQE; NULL: it cannot hold as much as it says. */
static inline const uint8_t *data_inside(const struct bsn_cq *cq, const uint8_t *cqe, unsigned kind)
{
	const unsigned format = (kind & BSN_CQ_FORMAT) >> 2;
	const uint32_t bytes = bsn_cq_byte_count(cqe);

	if (format == BSN_CQE_INLINE_32 && bytes <= bsn_cqe_inline_room(BSN_CQE_INLINE_32))
		return cqe;
	if (format == BSN_CQE_INLINE_64 && bytes <= bsn_cqe_inline_room(BSN_CQE_INLINE_64) &&
	    cq->stride == BSN_CQE128_SIZE)
		return cqe + BSN_CQE_SIZE - BSN_CQE128_SIZE;
	return NULL;
}

/* Copies data of a CQE into the memory that a list of data pointers names. */
void bsn_scatter(const uint8_t *src, size_t bytes, const uint8_t *list, unsigned entries);

/* bsn_cq_reap() for requests. */
bool bsn_reap_send(const struct bsn_cq *cq, struct bsn_route *route, const uint8_t *cqe,
		   unsigned kind, struct bsn_completion *c);

/* Skips the CQE of a request that succeeded, if it is hidden. False: it is not hidden. */
bool bsn_skip_hidden(struct bsn_route *route, const uint8_t *cqe);

/*
 * Complete a request, or a receive, that failed. Return: how many completions the user gets, 0 or
 * 1; -EPROTO: the route has no such queue.
 */
int bsn_reap_failed_send(struct bsn_route *route, const struct bsn_cqe_err *cqe,
			 struct bsn_completion *c);
int bsn_reap_failed_recv(struct bsn_route *route, const struct bsn_cqe_err *cqe,
			 struct bsn_completion *c);

/*
 * Completes requests before the CQE's failed one that get no CQE, as flushed, until one of them is
 * shown to the user. Returns whether one is: then the same CQE is read once more.
 */
bool bsn_flush_before(struct bsn_route *route, const uint8_t *cqe, struct bsn_completion *c);

/*
 * compressed.c: expands the session whose title CQE, of the lap @phase, is at @title. It becomes
 * whole CQEs in the ring, with the owner bits of their laps. All of them are the poller's. Return:
 * 0; -EPROTO it is no session, and nothing was written.
 */
int bsn_cq_expand(struct bsn_cq *cq, const uint8_t *title, uint8_t phase);

/* Keeps a queue's first failure. */
void bsn_route_keep_error(struct bsn_route *route, const struct bsn_completion *c);

/* Tells the queue's owner, if it has one. Returns whether the user is told, too. */
static inline bool bsn_sq_tell_owner(const struct bsn_sq *sq, struct bsn_completion *c)
{
	const struct dv_sq *const whole = dv_sq(sq);

	return !whole->owner || whole->owner->failed(whole->owner, c);
}

#endif
