/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A part of bsn.h, which programs include.
 *
 * Posting and polling. Inline code knows the usual shapes to one peer (bsn_post_block.h); all else,
 * as requests to one of many peers, is one call. The same functions are linkable symbols of the
 * library (post.c), for callers that want one copy, or that are not C: define BSN_NO_INLINE.
 *
 * The symbols refuse a post to NULL with -EINVAL. Inline code does so if the compiler knows that it
 * is NULL, or if the program is compiled with BSN_CHECK_NULL, which costs two instructions a
 * request; else such a post is undefined.
 *
 * Common to all posts:
 *
 *	@ep       where to: bsn_qp_ep(), or an endpoint of a UD, DC or XRC QP, or of a pool of DC
 *	@local    one SGE of local memory; for several use the sgl forms or bsn_post()
 *	@remote   remote address and key
 *	@id       comes back in the completion
 *	@flags    enum bsn_flags; best a constant, so that the code folds
 *
 *	Order:    O1 to O3 of dv/ORDERING.md where BSN_F_RING is set
 *	Context:  the queue's thread; no allocation, no system call, no lock but that of a shared
 *	          lane; on plain verbs also what the provider does
 *	Return:   0; -EAGAIN the queue is full: poll; -EMSGSIZE too many bytes or SGEs; -EOPNOTSUPP
 *	          the transport, device or path cannot; -ENOTCONN the QP is not connected, or the
 *	          peer of a pool has failed; -EINVAL no endpoint, bsn_qp_ep() of a QP with many
 *	          peers, or unknown flags; on plain verbs, where BSN_F_RING is set, also what the
 *	          provider says. Unless 0, nothing was posted; a post with BSN_F_RING that returns
 *	          -EAGAIN has published what was appended before.
 *
 * Without BSN_F_RING a request is appended only, and is counted as outstanding, until a later post
 * with it or bsn_ring() publishes all.
 */
#ifndef BSN_POST_H
#define BSN_POST_H

#include "bsn_cq.h"
#include "bsn_extended.h"
#include "bsn_post_block.h"

BSN_HEADER_BEGIN

#if defined(BSN_POST_API)
/* post.c: compiled as symbols */
#elif defined(BSN_NO_INLINE)
#define BSN_POST_API extern
#else
#define BSN_POST_API static inline __attribute__((always_inline, unused))
#endif

/** bsn_write - RDMA WRITE of local memory to remote memory */
BSN_POST_API int bsn_write(struct bsn_ep *ep, const struct bsn_sge *local,
			   const struct bsn_remote *remote, uint64_t id, unsigned flags);

/** bsn_write_inline - RDMA WRITE of @length bytes that are copied into the WQE now */
BSN_POST_API int bsn_write_inline(struct bsn_ep *ep, const void *data, uint32_t length,
				  const struct bsn_remote *remote, uint64_t id, unsigned flags);

/** bsn_write_imm - RDMA WRITE that also consumes a receive and delivers @imm (host order) */
BSN_POST_API int bsn_write_imm(struct bsn_ep *ep, const struct bsn_sge *local,
			       const struct bsn_remote *remote, uint32_t imm, uint64_t id,
			       unsigned flags);

/** bsn_write_sgl - RDMA WRITE of @count SGEs of local memory, in order */
BSN_POST_API int bsn_write_sgl(struct bsn_ep *ep, const struct bsn_sge *sge, unsigned count,
			       const struct bsn_remote *remote, uint64_t id, unsigned flags);

/** bsn_write_imm_inline - bsn_write_imm() of @length bytes that are copied into the WQE now */
BSN_POST_API int bsn_write_imm_inline(struct bsn_ep *ep, const void *data, uint32_t length,
				      const struct bsn_remote *remote, uint32_t imm, uint64_t id,
				      unsigned flags);

/** bsn_read - RDMA READ of remote memory into local memory; RC, DC, XRC */
BSN_POST_API int bsn_read(struct bsn_ep *ep, const struct bsn_sge *local,
			  const struct bsn_remote *remote, uint64_t id, unsigned flags);

/** bsn_read_sgl - RDMA READ into @count SGEs of local memory, in order; RC, DC, XRC */
BSN_POST_API int bsn_read_sgl(struct bsn_ep *ep, const struct bsn_sge *sge, unsigned count,
			      const struct bsn_remote *remote, uint64_t id, unsigned flags);

/** bsn_send - message into the peer's next receive */
BSN_POST_API int bsn_send(struct bsn_ep *ep, const struct bsn_sge *local, uint64_t id,
			  unsigned flags);

/** bsn_send_inline - message of @length bytes that are copied into the WQE now */
BSN_POST_API int bsn_send_inline(struct bsn_ep *ep, const void *data, uint32_t length, uint64_t id,
				 unsigned flags);

/** bsn_send_sgl - message of @count SGEs of local memory, in order */
BSN_POST_API int bsn_send_sgl(struct bsn_ep *ep, const struct bsn_sge *sge, unsigned count,
			      uint64_t id, unsigned flags);

/** bsn_send_imm_inline - bsn_send_imm() of @length bytes that are copied into the WQE now */
BSN_POST_API int bsn_send_imm_inline(struct bsn_ep *ep, const void *data, uint32_t length,
				     uint32_t imm, uint64_t id, unsigned flags);

/** bsn_send_imm - message with an immediate (host order) */
BSN_POST_API int bsn_send_imm(struct bsn_ep *ep, const struct bsn_sge *local, uint32_t imm,
			      uint64_t id, unsigned flags);

/** bsn_send_inval - message that invalidates @rkey at the peer; not UD */
BSN_POST_API int bsn_send_inval(struct bsn_ep *ep, const struct bsn_sge *local, uint32_t rkey,
				uint64_t id, unsigned flags);

/** bsn_post_prepared - a request made by bsn_prepare() */
BSN_POST_API int bsn_post_prepared(struct bsn_ep *ep, const struct bsn_prepared *p, uint64_t id,
				   unsigned flags);

/**
 * bsn_recv - posts memory for one incoming message; published at once
 * Order: O7.
 * Context: the queue's thread; no allocation, no system call; a lock only if it is an SRQ with
 * is_on_demand; on plain verbs also what the provider does.
 * Return: 0; -EAGAIN the queue is full; -EMSGSIZE more SGEs than the queue takes, or one of 2 GiB
 * or more; -EINVAL no queue; on plain verbs also what the provider says.
 */
BSN_POST_API int bsn_recv(struct bsn_rq *rq, const struct bsn_sge *sge, uint64_t id);

/**
 * bsn_recv_sgl - bsn_recv() of @count SGEs; 0 for messages without data
 */
BSN_POST_API int bsn_recv_sgl(struct bsn_rq *rq, const struct bsn_sge *sge, unsigned count,
			      uint64_t id);

/**
 * bsn_poll - reaps up to @n completions
 *
 * It also drives the pools of DC initiators that complete here (bsn_dc.h): BSN_DC_READY is a peer's
 * turn. It may return fewer than @n although more have come: it ends once it has used as many CQEs,
 * hidden ones included, as the ring can keep until the next poll, which are at least 64. So poll
 * until it returns 0. A request that failed is a completion with a status, not an error. The call
 * may overwrite what pointers of earlier completions point to.
 *
 * Order: O4, O5, O6.
 * Context: the CQ's thread; no allocation, and no system call unless a pool on plain verbs connects
 * a peer; a lock only if the CQ has is_shared, or the SRQ of a receive is_on_demand; on plain verbs
 * also what the provider does.
 * Return: how many, 0 if there is none, or if @n is 0 or less. A negative errno only if no
 * completion is left: -EIO the device is gone, -EOVERFLOW the CQ overran, -EPROTO a CQE that this
 * library cannot read (a compressed one of an attached CQ).
 */
BSN_POST_API int bsn_poll(struct bsn_cq *cq, struct bsn_completion *c, int n);

/**
 * struct bsn_wait_attr - how bsn_wait() waits
 * @timeout_ns: in all; 0: without end
 * @busy_ns: before it sleeps; 0: 20,000. If the CPU has UMWAIT, MONITORX or WFE, it rests by them
 *	until the next CQE is written
 * @solicited_only: only a solicited or failed completion ends the sleep; it comes with those before
 *	it
 * @never_sleeps: stays busy, and needs no channel
 * @ends_at_event: an asynchronous event of the device ends the sleep, too
 */
struct bsn_wait_attr {
	uint64_t timeout_ns;
	uint32_t busy_ns;
	bool solicited_only;
	bool never_sleeps;
	bool ends_at_event;
};

/**
 * bsn_wait - bsn_poll() that waits until there is a completion: busy for a while, then asleep
 * @attr: how; NULL: 20 us busy, then asleep without end
 *
 * It misses no completion, even one that comes just before it sleeps. It takes the events of the
 * CQ's channel, so the channel must have no other CQ, and no thread may call bsn_channel_get().
 * Several threads may wait on a CQ with is_shared.
 *
 * If the CQ overran or the device is gone, the wait ends after that event was taken: by
 * bsn_device_get_event() in another thread, or in this one after -ECANCELED (@ends_at_event).
 *
 * Order: O4, O5, O6; O8 before it sleeps.
 * Context: the CQ's thread; no allocation; system calls only to sleep; the first sleep opens a
 * file.
 * Return: as bsn_poll(), and 0 after @timeout_ns; -EINTR a signal handler ran during the sleep;
 * -ECANCELED an event waits. Only if a poll found no completion: -EINVAL a CQ without a channel, or
 * no place for completions; -EBUSY the channel has several CQs; -EOPNOTSUPP an attached CQ, whose
 * channel is the application's.
 */
BSN_API int bsn_wait(struct bsn_cq *cq, struct bsn_completion *c, int n,
		     const struct bsn_wait_attr *attr);

/* -- inline code ------------------------------------------------------------------------------- */

#ifndef BSN_NO_INLINE

BSN_POST_API int bsn_write(struct bsn_ep *ep, const struct bsn_sge *local,
			   const struct bsn_remote *remote, uint64_t id, unsigned flags)
{
	return bsn_post_sges(ep, BSN_OPCODE_RDMA_WRITE, local, 1, remote, 0, id, flags);
}

BSN_POST_API int bsn_write_inline(struct bsn_ep *ep, const void *data, uint32_t length,
				  const struct bsn_remote *remote, uint64_t id, unsigned flags)
{
	return bsn_post_bytes(ep, BSN_OPCODE_RDMA_WRITE, data, length, remote, 0, id, flags);
}

BSN_POST_API int bsn_write_imm(struct bsn_ep *ep, const struct bsn_sge *local,
			       const struct bsn_remote *remote, uint32_t imm, uint64_t id,
			       unsigned flags)
{
	return bsn_post_sges(ep, BSN_OPCODE_RDMA_WRITE_IMM, local, 1, remote, imm, id, flags);
}

BSN_POST_API int bsn_write_sgl(struct bsn_ep *ep, const struct bsn_sge *sge, unsigned count,
			       const struct bsn_remote *remote, uint64_t id, unsigned flags)
{
	return bsn_post_sges(ep, BSN_OPCODE_RDMA_WRITE, sge, count, remote, 0, id, flags);
}

BSN_POST_API int bsn_write_imm_inline(struct bsn_ep *ep, const void *data, uint32_t length,
				      const struct bsn_remote *remote, uint32_t imm, uint64_t id,
				      unsigned flags)
{
	return bsn_post_bytes(ep, BSN_OPCODE_RDMA_WRITE_IMM, data, length, remote, imm, id, flags);
}

BSN_POST_API int bsn_read(struct bsn_ep *ep, const struct bsn_sge *local,
			  const struct bsn_remote *remote, uint64_t id, unsigned flags)
{
	return bsn_post_sges(ep, BSN_OPCODE_RDMA_READ, local, 1, remote, 0, id, flags);
}

BSN_POST_API int bsn_read_sgl(struct bsn_ep *ep, const struct bsn_sge *sge, unsigned count,
			      const struct bsn_remote *remote, uint64_t id, unsigned flags)
{
	return bsn_post_sges(ep, BSN_OPCODE_RDMA_READ, sge, count, remote, 0, id, flags);
}

BSN_POST_API int bsn_send(struct bsn_ep *ep, const struct bsn_sge *local, uint64_t id,
			  unsigned flags)
{
	return bsn_post_sges(ep, BSN_OPCODE_SEND, local, 1, NULL, 0, id, flags);
}

BSN_POST_API int bsn_send_inline(struct bsn_ep *ep, const void *data, uint32_t length, uint64_t id,
				 unsigned flags)
{
	return bsn_post_bytes(ep, BSN_OPCODE_SEND, data, length, NULL, 0, id, flags);
}

BSN_POST_API int bsn_send_sgl(struct bsn_ep *ep, const struct bsn_sge *sge, unsigned count,
			      uint64_t id, unsigned flags)
{
	return bsn_post_sges(ep, BSN_OPCODE_SEND, sge, count, NULL, 0, id, flags);
}

BSN_POST_API int bsn_send_imm_inline(struct bsn_ep *ep, const void *data, uint32_t length,
				     uint32_t imm, uint64_t id, unsigned flags)
{
	return bsn_post_bytes(ep, BSN_OPCODE_SEND_IMM, data, length, NULL, imm, id, flags);
}

BSN_POST_API int bsn_send_imm(struct bsn_ep *ep, const struct bsn_sge *local, uint32_t imm,
			      uint64_t id, unsigned flags)
{
	return bsn_post_sges(ep, BSN_OPCODE_SEND_IMM, local, 1, NULL, imm, id, flags);
}

BSN_POST_API int bsn_send_inval(struct bsn_ep *ep, const struct bsn_sge *local, uint32_t rkey,
				uint64_t id, unsigned flags)
{
	return bsn_post_sges(ep, BSN_OPCODE_SEND_INVAL, local, 1, NULL, rkey, id, flags);
}

BSN_POST_API int bsn_post_prepared(struct bsn_ep *ep, const struct bsn_prepared *p, uint64_t id,
				   unsigned flags)
{
	return bsn_post_body(ep, p, id, flags);
}

BSN_POST_API int bsn_recv(struct bsn_rq *rq, const struct bsn_sge *sge, uint64_t id)
{
	return bsn_rq_append(rq, sge, 1, id);
}

BSN_POST_API int bsn_recv_sgl(struct bsn_rq *rq, const struct bsn_sge *sge, unsigned count,
			      uint64_t id)
{
	return bsn_rq_append(rq, sge, count, id);
}

BSN_POST_API int bsn_poll(struct bsn_cq *cq, struct bsn_completion *c, int n)
{
	return bsn_cq_poll(cq, c, n);
}

#endif

BSN_HEADER_END

#endif
