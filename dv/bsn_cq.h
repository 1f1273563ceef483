/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The completion queue. The poller tests one byte a CQE, op_own (opcode 7:4, format 3:2,
 * solicited 1, owner 0; PRM "CQE"), against constants that stand in the queue, so that whatever is
 * rare costs the common cases nothing:
 *
 *	op_own == plain                      a plain success of a send queue
 *	(op_own ^ phase) & empty_mask        not ours yet: the queue is empty
 *	(op_own ^ phase) & recv_far_mask     a receive that bsn_cq_take_far_recv() completes, or
 *	                                     bsn_cq_poll_cold(): errors, data of a READ, …
 *	else                                 a plain success of a receive queue
 *
 * Normally empty_mask = 1 and plain = phase: opcode, format and the solicited bit are 0 then. On plain
 * verbs plain is BSN_CQ_NEVER_PLAIN. On plain verbs, and when a device or CQ died, empty_mask is 0:
 * then a poll that found no more takes the cold way, which reports it.
 */
#ifndef BSN_CQ_H
#define BSN_CQ_H

#include <stddef.h>

#include <infiniband/verbs.h>

#include "bsn_cqe.h"
#include "bsn_db.h"
#include "bsn_rq.h"

BSN_HEADER_BEGIN

/** enum bsn_completion_opcode - beside enum bsn_wqe_opcode, which send completions carry */
enum bsn_completion_opcode {
	BSN_RECV_RDMA_WITH_IMM = 0x80, /* an RDMA WRITE with immediate arrived */
	BSN_RECV = 0x82,               /* a SEND arrived */
};

/** enum bsn_completion_flags */
enum bsn_completion_flags {
	BSN_C_IMM = 1 << 0,   /* @imm is valid */
	BSN_C_INVAL = 1 << 1, /* @imm is the rkey that was invalidated */
	BSN_C_GRH = 1 << 2,   /* UD: the first 40 bytes of the buffer hold the GRH */
	BSN_C_DATA = 1 << 3,  /* @data points to the bytes that came, in the CQE or in memory */
	BSN_C_IN_CQE = 1 << 4, /* with BSN_C_DATA: in the CQE; memory was not written to */
};

/**
 * struct bsn_completion - one completed request
 * @id: as posted
 * @user: the endpoint's or receive queue's user pointer
 * @byte_len: bytes received, or read; undefined where @status is not success
 * @status: enum ibv_wc_status
 * @flags: enum bsn_completion_flags
 * @syndrome: on an error, CQE byte 55; 0 where unknown
 * @vendor_syndrome: on an error, CQE byte 54
 * @qpn: the QP
 * @opcode: enum bsn_wqe_opcode, enum bsn_completion_opcode
 * @imm: immediate in host order, or the invalidated rkey
 * @src_qpn: UD: the sender's QPN
 * @wqe_index: on an error, the ring index of the failed WQE's first block, modulo 2^16; on plain
 *	verbs the number of the request
 * @hw_syndrome: on an error, CQE byte 52
 * @data: see BSN_C_DATA; with BSN_C_IN_CQE valid until the next poll of this CQ
 * @slid: UD: the sender's LID; @sl and @dlid_path_bits likewise
 *
 * Where @status is success, the fields from @imm on mean something only of receives with an immediate or an
 * invalidated key (@imm), of UD receives (what is said to be of UD) and with BSN_C_DATA; else @imm may be 0.
 */
struct bsn_completion {
	uint64_t id;
	void *user;
	uint32_t byte_len;
	uint8_t status;
	uint8_t flags;
	uint8_t syndrome;
	uint8_t vendor_syndrome;
	union {
		uint32_t who; /* both, as they stand in a CQE */
		struct {
			uint32_t qpn : 24;
			uint32_t opcode : 8;
		};
	};
	uint32_t imm;
	uint32_t src_qpn;
	uint16_t wqe_index;
	uint8_t hw_syndrome;
	uint8_t sl;
	const void *data;
	uint16_t slid;
	uint8_t dlid_path_bits;
	uint8_t reserved[13]; /* to 64 bytes */
};

/**
 * struct bsn_cq_slot - of an open-addressed table from numbers to routes
 * @key: the QPN, eight bits up; else none, whose low bits are not 0
 */
struct bsn_cq_slot {
	uint32_t key;
	uint32_t reserved;
	struct bsn_route *route;
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
	uint8_t hash_shift; /* 32 less the logarithm of the slots */
	uint8_t phase;   /* owner bit of a CQE that is ours */
	uint8_t empty_mask;
	uint8_t plain;   /* op_own of a plain send CQE that is ours */
	uint8_t is_full_poll; /* a poll came to the end of what may stay unpublished */

	/* rare */
	const uint8_t *ring __attribute__((aligned(64))); /* the first CQE proper */
	const uint8_t *ring_end;
	uint32_t cqe_count;
	uint32_t chunk;          /* CQEs between two stores of the consumer record */
	uint32_t chunk_ci;       /* consumer index at chunk_end */
	uint32_t spare;          /* CQEs of the ring that will never be needed */
	uint32_t unpublished;    /* CQEs of this poll, when it last left a chunk */
	uint32_t cqn;
	struct bsn_be32 *record; /* consumer, arm */
	uint8_t *arm_reg;
	uint8_t arm_sn;
	uint8_t mini_format;     /* enum bsn_mini_format plus 1; 0: CQEs are never compressed */
	uint16_t dead; /* errno of a queue that died, else 0 */
	const struct bsn_cq_path *path;
	uintptr_t owner_thread; /* the poller; see BSN_CHECK_OWNER() */
	uint32_t slots_used;
	uint32_t is_changing; /* the table, by one thread at a time */
	uint64_t count_dropped; /* CQEs of queues that are gone */
};

/** bsn_cq_poll_cold - goes on with a poll at the CQE @next, whatever comes; see bsn_poll() */
BSN_API int bsn_cq_poll_cold(struct bsn_cq *cq, const uint8_t *next, struct bsn_completion *c, int n);

/**
 * bsn_cq_take_far - completes a send request whose id is not in its block: id, user pointer, credits
 * Return: how many completions that gives the user: none where the library had signaled the WQE.
 */
BSN_API int bsn_cq_take_far(struct bsn_route *route, uint32_t wqe_index, struct bsn_completion *c);

/** bsn_cq_finish_recv - what a receive of an SRQ or of UD has besides: its WQE; where it came from */
BSN_API void bsn_cq_finish_recv(const struct bsn_route *route, const uint8_t *cqe,
				struct bsn_completion *c);

/**
 * bsn_cq_take_far_recv - completes any receive that succeeded, also with its data in the CQE
 * @kind: see BSN_RECV_KIND_OPCODE
 * @c: bsn_cq_put_recv_who() was here
 * Return: false: it is none, or its data cannot be there; no queue was touched.
 */
BSN_API bool bsn_cq_take_far_recv(const struct bsn_route *route, const uint8_t *cqe,
				  struct bsn_completion *c, uint32_t kind, const struct bsn_cq *cq);

/** bsn_cq_take_any_recv - the same of any route; bsn_cq_take_far_recv() is of one without @recv_more */
BSN_API bool bsn_cq_take_any_recv(const struct bsn_route *route, const uint8_t *cqe,
				  struct bsn_completion *c, uint32_t kind, const struct bsn_cq *cq);

/**
 * bsn_cq_add - routes the CQEs of a QP to its queues; a number has one route
 * Order: before the first CQE of that number can come.
 * Context: control path, any thread, while another polls. Return: 0, -ENOMEM.
 */
int bsn_cq_add(struct bsn_cq *cq, uint32_t qpn, struct bsn_route *route);

/**
 * bsn_cq_set_spare - so many CQEs of the ring are never needed: @spare of struct bsn_cq_init
 * Context: control path, on the CQ's thread. What was polled is given back to the device.
 */
void bsn_cq_set_spare(struct bsn_cq *cq, uint32_t spare);

/** bsn_cq_find - the route that bsn_cq_add() named; NULL: there is none. Context: the poller's. */
struct bsn_route *bsn_cq_find(const struct bsn_cq *cq, uint32_t qpn);

/**
 * bsn_cq_remove - undoes bsn_cq_add(); CQEs not yet polled will be dropped, and counted
 * Context: control path, the poller's thread, or while nobody polls.
 */
void bsn_cq_remove(struct bsn_cq *cq, uint32_t qpn);

/** bsn_cq_drop - the same of the CQEs alone: the route stays. Context: as bsn_cq_remove(). */
void bsn_cq_drop(struct bsn_cq *cq, uint32_t qpn);

/** bsn_cq_abandon - undoes bsn_cq_add() before any CQE came. Context: as bsn_cq_add(). */
void bsn_cq_abandon(struct bsn_cq *cq, uint32_t qpn);

/**
 * bsn_cq_kill - a CQ or device died: poll reports @error once the CQEs that came are reaped
 * Context: any thread. The first cause stays.
 */
void bsn_cq_kill(struct bsn_cq *cq, int error);

/**
 * bsn_cq_arm - asks for an event at the next completion after those consumed; O8
 *
 * What was polled is given back to the device, pointers into CQEs included.
 * Context: the CQ's thread. Poll once more afterwards, before waiting: what came in between raises
 * no event of its own if it came before the arm.
 */
BSN_API void bsn_cq_arm(struct bsn_cq *cq, bool solicited_only);

/**
 * bsn_cq_next_chunk - a poll came to the end of a chunk of the ring: what earlier polls gave is published
 * @next: chunk_end
 *
 * The consumer record is stored here [O5], and where the ring ends it goes round. What this poll
 * itself gives stays unpublished, since pointers into its CQEs hold until the next one. The device
 * may thus believe that a chunk and what one poll gives is still unread: the queue has that many
 * CQEs to spare, else @is_full_poll ends the poll early. A queue without any to spare, which only an
 * attached one may be, hands out no pointers and publishes each CQE.
 * Return: where the poll goes on.
 */
BSN_API const uint8_t *bsn_cq_next_chunk(struct bsn_cq *cq, const uint8_t *next);

/* -- one CQE ------------------------------------------------------------------------------------ */

BSN_ALWAYS_INLINE uint8_t bsn_cq_op_own(const uint8_t *cqe)
{
	return __atomic_load_n(cqe + BSN_CQE_OP_OWN_OFFSET, BSN_FROM_DEVICE_ORDER);
}

/* The opcode of the WQE, and the QPN below it. */
BSN_ALWAYS_INLINE uint32_t bsn_cq_who(const uint8_t *cqe)
{
	return bsn_load_be32(cqe + BSN_CQE_QPN_OFFSET);
}

BSN_ALWAYS_INLINE uint32_t bsn_cq_key(uint32_t who)
{
	return who << 8;
}

/* Fibonacci hashing, by the golden section of the 24 bits that a number has: any stride spreads. */
BSN_ALWAYS_INLINE uint32_t bsn_cq_hash(uint32_t key, uint8_t shift)
{
	return key * 0x9e3779u >> shift;
}

/*
 * @shift: hash_shift, loaded before a barrier [O4]. So the table is as new as its size or newer, and not
 * too small for it: it may grow now (route.c).
 */
BSN_ALWAYS_INLINE struct bsn_cq_slot *bsn_cq_home(const struct bsn_cq *cq, uint8_t shift, uint32_t key)
{
	return &BSN_SHARED_LOAD(cq->slots)[bsn_cq_hash(key, shift)];
}

/* Length, status, flags and syndromes, in one store. */
BSN_ALWAYS_INLINE void bsn_cq_put_success(struct bsn_completion *c, uint64_t byte_len,
					  uint32_t flags)
{
	const uint64_t word = byte_len | (uint64_t)flags << 40;

	memcpy((uint8_t *)c + offsetof(struct bsn_completion, byte_len), &word, sizeof(word));
}

/* Id and user pointer, in one store. */
BSN_ALWAYS_INLINE void bsn_cq_put_whose(struct bsn_completion *c, uint64_t id, const void *user)
{
	*(bsn_v2_unaligned *)(void *)c = (bsn_v2){ id, (uintptr_t)user };
}

BSN_ALWAYS_INLINE uint64_t bsn_cq_byte_len(const uint8_t *cqe)
{
	uint32_t raw;

	memcpy(&raw, cqe + BSN_CQE_BYTE_COUNT_OFFSET, sizeof(raw));
	return bsn_wide_be32(raw);
}

/*
 * Whose a plain success of a send queue is; false: that is to be had from bsn_cq_take_far(). @tail:
 * dword 15, whose high half is the WQE's index.
 */
BSN_ALWAYS_INLINE bool bsn_cq_take_near(const struct bsn_route *route, uint32_t tail,
					struct bsn_completion *c)
{
	const uint8_t *const wqe =
		route->ring + (tail / (0x10000 / BSN_BB_SIZE) & route->mask); /* has no low bits */

	if (BSN_UNLIKELY(wqe[7] & __atomic_load_n(&route->far_mask, __ATOMIC_RELAXED)))
		return false;
	bsn_cq_put_whose(c, bsn_load_8(wqe + BSN_NEAR_ID_AT), route->user);
	return true;
}

/* This WQE and all before it are done: their slots are not the poller's now [O6]. */
BSN_ALWAYS_INLINE void bsn_route_done(struct bsn_route *route, uint32_t tail)
{
	__atomic_store_n(&route->done, (uint16_t)(tail >> 16), __ATOMIC_RELEASE);
}

/*
 * What a receive is, as op_own ^ phase says: opcode 7:4, format 3:2, solicited 1; bit 0, not ours: a
 * queue that died has CQEs of an earlier lap. The inline poll knows opcodes 1 to 3, without data.
 */
#define BSN_RECV_KIND_SOLICITED 0x02
#define BSN_RECV_KIND_FORMAT    0x0c
#define BSN_RECV_KIND_DATA_32   (BSN_CQE_INLINE_32 << 2)
#define BSN_RECV_KIND_OPCODE    0x30
#define BSN_RECV_KIND_SEND      (BSN_CQE_RESP_SEND << 4)
#define BSN_RECV_KIND_IMM       0x10 /* a bit of RESP_WR_IMM and RESP_SEND_IMM */

/* Whose a receive is; of an RDMA WRITE bsn_cq_put_recv() says so. */
BSN_ALWAYS_INLINE void bsn_cq_put_recv_who(uint32_t who, struct bsn_completion *c)
{
	c->who = (who & 0xffffff) | (uint32_t)BSN_RECV << 24;
}

/* What else a receive without data in its CQE says; false: it is none. */
BSN_ALWAYS_INLINE bool bsn_cq_put_recv(const uint8_t *cqe, uint8_t kind, struct bsn_completion *c)
{
	struct bsn_cqe_resp resp;

	if (BSN_LIKELY((kind & BSN_RECV_KIND_OPCODE) == BSN_RECV_KIND_SEND)) {
		bsn_cq_put_success(c, bsn_cq_byte_len(cqe), 0);
		return true;
	}
	if (BSN_UNLIKELY(!(kind & BSN_RECV_KIND_IMM)))
		return false;
	bsn_cqe_resp_decode(&resp, cqe);
	bsn_cq_put_success(c, bsn_cq_byte_len(cqe), BSN_C_IMM);
	c->opcode = (uint8_t)(BSN_RECV_RDMA_WITH_IMM | (kind >> 4 & 2));
	c->imm = resp.imm_inval_pkey;
	return true;
}

/* Half of a CQE holds data: of 128 bytes the first half, of 64 the beginning. */
BSN_ALWAYS_INLINE const uint8_t *bsn_cq_data(const struct bsn_cq *cq, const uint8_t *cqe)
{
	return cqe + BSN_CQE_SIZE - cq->stride;
}

/* Where the memory begins that an own queue's receive names. */
BSN_ALWAYS_INLINE const void *bsn_rq_first_piece(const struct bsn_rq *rq, uint32_t wqe_index)
{
	const size_t slot = wqe_index & rq->poller_mask;
	struct bsn_data first;

	bsn_data_decode(&first, rq->poller_ring + slot * rq->poller_stride);
	return (const void *)(uintptr_t)first.addr;
}

/* The same with its queue's part. */
BSN_ALWAYS_INLINE bool bsn_cq_take_recv(const struct bsn_route *route, const uint8_t *cqe,
					uint8_t kind, struct bsn_completion *c)
{
	struct bsn_cqe_tail tail;

	if (BSN_UNLIKELY(!bsn_cq_put_recv(cqe, kind, c)))
		return false;
	c->user = route->user;
	if (BSN_UNLIKELY(route->recv_more)) {
		bsn_cq_finish_recv(route, cqe, c);
		return true;
	}
	bsn_cqe_tail_decode(&tail, cqe + BSN_CQE_TAIL_OFFSET);
	c->id = bsn_rq_retire(route->rq, tail.wqe_counter);
	return true;
}

/*
 * A message of an own queue that hands out data where they lie, @kind without the solicited bit;
 * false: bsn_cq_take_far_recv() has to look at it.
 */
BSN_ALWAYS_INLINE bool bsn_cq_give_recv(const struct bsn_cq *cq, const struct bsn_route *route,
					const uint8_t *cqe, uint32_t kind, struct bsn_completion *c)
{
	const uint64_t bytes = bsn_cq_byte_len(cqe);
	struct bsn_cqe_tail tail;

	bsn_cqe_tail_decode(&tail, cqe + BSN_CQE_TAIL_OFFSET);
	if (BSN_LIKELY(kind == route->recv_more)) {
		if (BSN_UNLIKELY(2 * bytes > cq->stride))
			return false;
		bsn_cq_put_success(c, bytes, BSN_C_DATA | BSN_C_IN_CQE);
		c->data = bsn_cq_data(cq, cqe);
	} else {
		if (kind != BSN_RECV_KIND_SEND || !(route->recv_more & BSN_RECV_KIND_SEND))
			return false;
		bsn_cq_put_success(c, bytes, BSN_C_DATA);
		c->data = bsn_rq_first_piece(route->rq, tail.wqe_counter);
	}
	c->user = route->user;
	c->id = bsn_rq_retire(route->rq, tail.wqe_counter);
	return true;
}

/* -- polling -------------------------------------------------------------------------------------- */

/* The CQE at @next is done with. */
BSN_ALWAYS_INLINE const uint8_t *bsn_cq_advance(struct bsn_cq *cq, const uint8_t *next)
{
	next += cq->stride;
	return BSN_UNLIKELY(next == cq->chunk_end) ? bsn_cq_next_chunk(cq, next) : next;
}

/* The route of a CQE that is ours; false: the cold function has to look for it. */
BSN_ALWAYS_INLINE bool bsn_cq_route(const struct bsn_cq *cq, uint8_t shift, uint32_t who,
				    struct bsn_route **route)
{
	const struct bsn_cq_slot *slot = bsn_cq_home(cq, shift, bsn_cq_key(who));
	const uint32_t key = BSN_SHARED_LOAD(slot->key);

	*route = BSN_SHARED_LOAD(slot->route);
	return BSN_LIKELY(key == bsn_cq_key(who));
}

/* A receive, or whatever else is not a plain send; false: the cold function has to look at it. */
BSN_ALWAYS_INLINE bool bsn_cq_reap_recv(const struct bsn_cq *cq, uint8_t shift, const uint8_t *next,
					uint8_t kind, struct bsn_completion *c)
{
	const uint32_t who = bsn_cq_who(next);
	struct bsn_route *route;

	if (BSN_UNLIKELY(!bsn_cq_route(cq, shift, who, &route)))
		return false;
	bsn_cq_put_recv_who(who, c);
	if (BSN_UNLIKELY(kind & route->recv_far_mask)) {
		if (BSN_LIKELY(!route->recv_more))
			return bsn_cq_take_far_recv(route, next, c, kind, cq);
		return BSN_LIKELY(bsn_cq_give_recv(cq, route, next,
						   kind & ~(uint32_t)BSN_RECV_KIND_SOLICITED, c)) ||
		       bsn_cq_take_any_recv(route, next, c, kind, cq);
	}
	return bsn_cq_take_recv(route, next, kind, c);
}

BSN_ALWAYS_INLINE int bsn_cq_poll_one(struct bsn_cq *cq, struct bsn_completion *c)
{
	const uint8_t *const next = cq->next;
	const uint8_t own = bsn_cq_op_own(next);
	int got = 1;

	if (BSN_LIKELY(own == cq->plain)) {
		const uint8_t shift = BSN_SHARED_LOAD(cq->hash_shift);
		struct bsn_route *route;
		uint32_t tail;

		bsn_from_device(); /* O4 */
		c->who = bsn_cq_who(next);
		if (BSN_UNLIKELY(!bsn_cq_route(cq, shift, c->who, &route)))
			return bsn_cq_poll_cold(cq, next, c, 1);
		tail = bsn_load_be32(next + BSN_CQE_TAIL_OFFSET);
		bsn_cq_put_success(c, bsn_cq_byte_len(next), 0);
		if (BSN_LIKELY(bsn_cq_take_near(route, tail, c)))
			bsn_route_done(route, tail);
		else
			got = bsn_cq_take_far(route, tail >> 16, c);
	} else {
		const uint8_t kind = own ^ cq->phase;
		uint8_t shift;

		if (BSN_LIKELY(kind & cq->empty_mask))
			return 0;
		shift = BSN_SHARED_LOAD(cq->hash_shift);
		bsn_from_device(); /* O4 */
		if (BSN_UNLIKELY(!bsn_cq_reap_recv(cq, shift, next, kind, c)))
			return bsn_cq_poll_cold(cq, next, c, 1);
	}
	cq->next = bsn_cq_advance(cq, next);
	return BSN_LIKELY(got) ? 1 : bsn_cq_poll_cold(cq, cq->next, c, 1);
}

BSN_ALWAYS_INLINE uint32_t bsn_cq_raw_who(const uint8_t *cqe)
{
	uint32_t raw;

	memcpy(&raw, cqe + BSN_CQE_QPN_OFFSET, sizeof(raw));
	return raw;
}

/* Requests of one queue that complete in a row: the queue is told once. */
struct bsn_cq_run {
	struct bsn_route *route; /* NULL: none */
	uint64_t raw_who;        /* opcode and QPN as they lie in the CQE, or more than any */
	uint32_t who;
	uint32_t tail;           /* of the last one */
};

BSN_ALWAYS_INLINE void bsn_cq_end_run(const struct bsn_cq_run *run)
{
	if (run->route)
		bsn_route_done(run->route, run->tail);
}

/* The run is of the queue of this CQE now; false: the cold function has to look for it. */
BSN_ALWAYS_INLINE bool bsn_cq_turn_to(const struct bsn_cq *cq, uint8_t shift, const uint8_t *next,
				      struct bsn_cq_run *run)
{
	/* Loaded anew: what only this rarer case needs is not kept. */
	const uint32_t raw = *(const volatile uint32_t *)(const void *)(next + BSN_CQE_QPN_OFFSET);
	const uint32_t who = bsn_from_be32((struct bsn_be32){ raw });
	struct bsn_route *route;

	if (!run->route || bsn_cq_key(who) != bsn_cq_key(run->who)) {
		bsn_cq_end_run(run);
		run->route = NULL;
		if (BSN_UNLIKELY(!bsn_cq_route(cq, shift, who, &route)))
			return false;
		run->route = route;
	}
	run->raw_who = bsn_cq_raw_who(next);
	run->who = who;
	return true;
}

BSN_ALWAYS_INLINE bool bsn_cq_is_of_run(const uint8_t *next, const struct bsn_cq_run *run)
{
	return bsn_cq_raw_who(next) == run->raw_who;
}

/*
 * What a plain send's CQE says beside which WQE it was: length, and @who. Where one instruction reorders
 * bytes, both are stored at once, with zeros for status and immediate.
 */
BSN_ALWAYS_INLINE void bsn_cq_put_send(const uint8_t *cqe, uint32_t who, struct bsn_completion *c)
{
#if BSN_HAS_SHUFFLE
	const bsn_v2 both = bsn_v2_load(cqe + BSN_CQE_BYTE_COUNT_OFFSET);
	const bsn_pattern pattern = { BSN_FROM_32(0), BSN_FROM_NONE,
				      BSN_FROM_32(BSN_CQE_QPN_OFFSET - BSN_CQE_BYTE_COUNT_OFFSET),
				      BSN_FROM_NONE };

	(void)who;
	*(bsn_v2_unaligned *)(void *)((uint8_t *)c + offsetof(struct bsn_completion, byte_len)) =
		bsn_shuffle(both, pattern).v;
#else
	bsn_cq_put_success(c, bsn_cq_byte_len(cqe), 0);
	c->who = who;
#endif
}

/* A plain send of the run's queue; false: bsn_cq_take_far() has the rest. */
BSN_ALWAYS_INLINE bool bsn_cq_reap_send(const uint8_t *next, struct bsn_cq_run *run,
					struct bsn_completion *c)
{
	run->tail = bsn_load_be32(next + BSN_CQE_TAIL_OFFSET);
	bsn_cq_put_send(next, run->who, c);
	return BSN_LIKELY(bsn_cq_take_near(run->route, run->tail, c));
}

/* Where a poll of so many CQEs that begins at @next has to look up. */
BSN_ALWAYS_INLINE const uint8_t *bsn_cq_stop(const struct bsn_cq *cq, const uint8_t *next, size_t n)
{
	const size_t room = (size_t)(cq->chunk_end - next), wanted = n * cq->stride;

	return next + (wanted < room ? wanted : room);
}

BSN_ALWAYS_INLINE int bsn_cq_poll_many(struct bsn_cq *cq, struct bsn_completion *c, int n)
{
	struct bsn_cq_run run = { .route = NULL, .raw_who = UINT64_MAX, .who = 0, .tail = 0 };
	struct bsn_completion *const end = c + n, *at = c;
	const uint8_t shift = BSN_SHARED_LOAD(cq->hash_shift);
	const uint8_t *next = cq->next, *stop;
	int got;

	if (BSN_UNLIKELY(n <= 0))
		return 0;
	do {
		stop = bsn_cq_stop(cq, next, (size_t)(end - at));
		do {
			const uint8_t own = bsn_cq_op_own(next);

			if (BSN_LIKELY(own == cq->plain)) {
				bsn_from_device(); /* O4 */
				if (BSN_UNLIKELY(!bsn_cq_is_of_run(next, &run)) &&
				    BSN_UNLIKELY(!bsn_cq_turn_to(cq, shift, next, &run)))
					goto cold;
				if (BSN_LIKELY(bsn_cq_reap_send(next, &run, at)))
					at++;
				else
					at += bsn_cq_take_far(run.route, run.tail >> 16, at);
			} else {
				const uint8_t kind = own ^ cq->phase;

				if (BSN_LIKELY(kind & cq->empty_mask))
					goto out;
				bsn_from_device(); /* O4 */
				if (BSN_UNLIKELY(!bsn_cq_reap_recv(cq, shift, next, kind, at)))
					goto cold;
				at++;
			}
			next += cq->stride;
		} while (next != stop);
		if (BSN_UNLIKELY(next == cq->chunk_end)) {
			next = bsn_cq_next_chunk(cq, next);
			if (cq->is_full_poll)
				goto out;
		}
	} while (at != end);
out:
	bsn_cq_end_run(&run);
	cq->next = next;
	return (int)(at - c);
cold:
	bsn_cq_end_run(&run);
	got = bsn_cq_poll_cold(cq, next, at, (int)(end - at));
	return at == c ? got : (int)(at - c) + (got > 0 ? got : 0);
}

/** bsn_cq_poll - up to @n completions; see bsn_poll() */
BSN_ALWAYS_INLINE int bsn_cq_poll(struct bsn_cq *cq, struct bsn_completion *c, int n)
{
	BSN_CHECK_OWNER(cq);
	if (__builtin_constant_p(n) && n == 1)
		return bsn_cq_poll_one(cq, c);
	return bsn_cq_poll_many(cq, c, n);
}

BSN_HEADER_END

#endif
