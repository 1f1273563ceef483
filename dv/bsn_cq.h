/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The completion queue. The poller tests one byte a CQE, op_own (opcode 7:4, format 3:2,
 * solicited 1, owner 0; PRM "CQE"), and tells three cases apart with two compares, whose constants
 * stand in the queue so that whatever is rare costs the common cases nothing:
 *
 *	op_own == plain                      a plain successful completion of a send queue
 *	(op_own ^ phase) & empty_mask        not ours yet: the queue is empty
 *	else                                 bsn_cq_reap(): receives, errors, inline data, …
 *
 * Normally empty_mask = 1 and plain = phase: opcode, format and the solicited bit are 0 then. On plain
 * verbs, and as long as no QP was ever added, plain is BSN_CQ_NEVER_PLAIN. On plain verbs, and when a
 * device or CQ died, empty_mask is 0: then a poll that found no more takes the third way, which
 * reports it.
 */
#ifndef BSN_CQ_H
#define BSN_CQ_H

#include <infiniband/verbs.h>

#include "bsn_cqe.h"
#include "bsn_db.h"
#include "bsn_rq.h"

BSN_HEADER_BEGIN

/** enum bsn_completion_opcode - beside enum bsn_wqe_opcode, which send completions carry */
enum bsn_completion_opcode {
	BSN_RECV = 0x80,           /* a SEND arrived */
	BSN_RECV_RDMA_WITH_IMM = 0x81, /* an RDMA WRITE with immediate arrived */
};

/** enum bsn_completion_flags */
enum bsn_completion_flags {
	BSN_C_IMM = 1 << 0,   /* @imm is valid */
	BSN_C_INVAL = 1 << 1, /* @imm is the rkey that was invalidated */
	BSN_C_GRH = 1 << 2,   /* UD: the first 40 bytes of the buffer hold the GRH */
	BSN_C_DATA = 1 << 3,  /* @data points to @byte_len bytes in the CQE */
};

/**
 * struct bsn_completion - one completed request
 * @id: as posted
 * @user: the endpoint's or receive queue's user pointer
 * @byte_len: bytes received, or read; undefined where @status is not success
 * @status: enum ibv_wc_status
 * @opcode: enum bsn_wqe_opcode, enum bsn_completion_opcode
 * @flags: enum bsn_completion_flags
 * @syndrome: on an error, CQE byte 55; 0 where unknown
 * @imm: immediate in host order, or the invalidated rkey
 * @src_qpn: UD: the sender's QPN
 * @slid: UD: the sender's LID; @sl and @dlid_path_bits likewise
 * @qpn: the QP
 * @wqe_index: on an error, the ring index of the failed WQE's first block, modulo 2^16; on plain
 *	verbs the number of the request
 * @vendor_syndrome: on an error, CQE byte 54
 * @hw_syndrome: on an error, CQE byte 52
 * @data: see BSN_C_DATA; valid until the next poll of this CQ
 *
 * Where @status is success and @flags is 0, the fields from @imm on are not written.
 */
struct bsn_completion {
	uint64_t id;
	void *user;
	uint32_t byte_len;
	uint8_t status;
	uint8_t opcode;
	uint8_t flags;
	uint8_t syndrome;
	uint32_t imm;
	uint32_t src_qpn;
	uint32_t qpn;
	uint16_t wqe_index;
	uint8_t vendor_syndrome;
	uint8_t hw_syndrome;
	const void *data;
	uint16_t slid;
	uint8_t sl;
	uint8_t dlid_path_bits;
	uint8_t reserved[12]; /* to 64 bytes */
};

/** struct bsn_cq_slot - open-addressed table from QPN to queues; without one, @qpn is none */
struct bsn_cq_slot {
	uint32_t qpn;
	struct bsn_sq *sq; /* its ->rq is the receive queue */
};

#define BSN_CQ_NEVER_PLAIN 0xff /* what op_own never is: the opcode is BSN_CQE_INVALID */

struct bsn_cq;

/** struct bsn_cq_path - what a queue that is not mlx5 does; NULL: mlx5 */
struct bsn_cq_path {
	int (*poll)(struct bsn_cq *cq, struct bsn_completion *c, int n);
};

/** struct bsn_cq - hot state of a completion queue */
struct bsn_cq {
	const uint8_t *next;      /* the CQE proper (64 B) to be looked at next */
	const uint8_t *chunk_end; /* where bsn_cq_next_chunk() is due */
	struct bsn_cq_slot *slots;
	uint64_t stride; /* bytes: 64 or 128 */
	uint32_t slot_mask;
	uint8_t phase;   /* owner bit of a CQE that is ours */
	uint8_t empty_mask;
	uint8_t plain;   /* op_own of a plain CQE that is ours */

	/* rare */
	const uint8_t *ring __attribute__((aligned(64))); /* the first CQE proper */
	uint32_t cqe_count;
	uint32_t chunk;          /* CQEs between two stores of the consumer record */
	uint32_t chunk_ci;       /* consumer index at chunk_end */
	uint32_t cqn;
	struct bsn_be32 *record; /* consumer, arm */
	uint8_t *arm_reg;
	uint8_t arm_sn;
	uint16_t dead; /* errno of a queue that died, else 0 */
	const struct bsn_cq_path *path;
	uintptr_t owner_thread; /* the poller; see BSN_CHECK_OWNER() */
	uint32_t slots_used;
	uint64_t count_dropped; /* CQEs of queues that are gone */
};

/**
 * bsn_cq_reap - the poll's way out for everything but a plain successful send completion
 * Return: how many completions were stored; 0: a CQE was consumed that is none of the user's;
 * -ENOENT: the queue is empty; another -errno: it is empty and dead.
 */
BSN_API int bsn_cq_reap(struct bsn_cq *cq, struct bsn_completion *c, int n);

/**
 * bsn_cq_add - routes the CQEs of a QP to its queues
 * Context: control path, on the CQ's thread. Return: 0, -ENOMEM.
 */
int bsn_cq_add(struct bsn_cq *cq, uint32_t qpn, struct bsn_sq *sq);

/** bsn_cq_find - the queue that bsn_cq_add() named; NULL: there is none. Context: the poller's. */
struct bsn_sq *bsn_cq_find(const struct bsn_cq *cq, uint32_t qpn);

/** bsn_cq_remove - undoes bsn_cq_add(); CQEs not yet polled will be dropped, and counted */
void bsn_cq_remove(struct bsn_cq *cq, uint32_t qpn);

/** bsn_syndrome_of_status - the syndrome behind an enum ibv_wc_status, 0 where several could be */
uint8_t bsn_syndrome_of_status(unsigned status);

/**
 * bsn_cq_kill - a CQ or device died: poll reports @error once the CQEs that came are reaped
 * Context: any thread. The first cause stays.
 */
void bsn_cq_kill(struct bsn_cq *cq, int error);

/**
 * bsn_cq_arm - asks for an event at the next completion after those consumed; O8
 * Context: the CQ's thread. Poll once more afterwards, before waiting: what came in between raises
 * no event of its own if it came before the arm.
 */
BSN_API void bsn_cq_arm(struct bsn_cq *cq, bool solicited_only);

/**
 * bsn_cq_next_chunk - the consumer came to the end of a chunk of the ring
 *
 * The consumer record is stored here [O5], and where the ring ends it goes round. The device may
 * thus believe that up to a chunk of CQEs is still unread: the queue has that many to spare, or,
 * on a queue that was attached without any, the chunk is one CQE.
 * @next of the queue is behind then: in the poll's register. Return: the new one.
 */
BSN_API const uint8_t *bsn_cq_next_chunk(struct bsn_cq *cq);

/*
 * A send WQE, and with it everything before it, is done. Returns how many completions that gives
 * the user: none where the library had signaled the WQE by itself.
 */
BSN_ALWAYS_INLINE int bsn_sq_done(struct bsn_sq *sq, uint32_t wqe_index, uint64_t *id)
{
	const uint32_t slot = wqe_index & sq->poller_mask;
	int given = 1;

	*id = bsn_sq_ids(sq)[slot];
	if (BSN_UNLIKELY(__atomic_load_n(&sq->has_hidden, __ATOMIC_RELAXED) &&
			 sq->marks[slot] & BSN_MARK_HIDDEN)) {
		sq->marks[slot] &= ~(uint32_t)BSN_MARK_HIDDEN;
		given = 0;
	}
	__atomic_store_n(&sq->done, wqe_index, __ATOMIC_RELEASE); /* O6: the slot is not ours now */
	return given;
}

/* A plain successful completion of a send queue, whose home slot was found. */
BSN_ALWAYS_INLINE int bsn_cq_plain(struct bsn_sq *sq, const struct bsn_cqe_req *cqe,
				   struct bsn_completion *c)
{
	memset(&c->status, 0, sizeof(uint32_t)); /* with the three bytes after it, in one store */
	c->opcode = (uint8_t)cqe->wqe_opcode;
	c->byte_len = cqe->byte_count;
	c->user = sq->user;
	return bsn_sq_done(sq, cqe->wqe_counter, &c->id);
}

/** bsn_cq_poll - up to @n completions; see bsn_poll() */
BSN_ALWAYS_INLINE int bsn_cq_poll(struct bsn_cq *cq, struct bsn_completion *c, int n)
{
	struct bsn_completion *const end = c + n;
	struct bsn_completion *at = c;
	const uint8_t *next = cq->next;
	struct bsn_cqe_req cqe;
	int reaped;

	BSN_CHECK_OWNER(cq);
	if (BSN_UNLIKELY(n <= 0))
		return 0;
	do {
		const uint8_t own = next[BSN_CQE_OP_OWN_OFFSET];

		if (BSN_LIKELY(own == cq->plain)) {
			const struct bsn_cq_slot *slot;
			bsn_from_device(); /* O4 */
			bsn_cqe_req_decode(&cqe, next);
			slot = &cq->slots[cqe.qpn & cq->slot_mask];
			if (BSN_LIKELY(slot->qpn == cqe.qpn)) {
				at += bsn_cq_plain(slot->sq, &cqe, at);
				next += cq->stride;
				if (BSN_UNLIKELY(next == cq->chunk_end))
					next = bsn_cq_next_chunk(cq);
				continue;
			}
		} else if (BSN_LIKELY((own ^ cq->phase) & cq->empty_mask)) {
			break;
		}
		cq->next = next;
		reaped = bsn_cq_reap(cq, at, (int)(end - at)); /* has its own O4 */
		if (reaped < 0)
			return at == c && reaped != -ENOENT ? reaped : (int)(at - c);
		at += reaped;
		next = cq->next;
	} while (at < end);
	cq->next = next;
	return (int)(at - c);
}

BSN_HEADER_END

#endif
