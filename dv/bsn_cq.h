/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The completion queue. The poller tests one byte a CQE, op_own (opcode 7:4, format 3:2,
 * solicited 1, owner 0; PRM "CQE"), against constants in the queue, so that rare cases cost the common
 * ones nothing:
 *
 *	op_own == plain                      a plain success of a send queue
 *	(op_own ^ phase) & empty_mask        not ours yet: the queue is empty; or @has_path
 *	(op_own ^ phase) & recv_far_mask     a receive that bsn_cq_take_far_recv() completes, or
 *	                                     bsn_cq_poll_cold(): errors, data of a READ, …
 *	else                                 a plain success of a receive queue
 *
 * Normally empty_mask = 1 and plain = phase: opcode, format and the solicited bit are 0 then. When a
 * device or CQ died, empty_mask is 0: then a poll that finds nothing takes the cold way, which reports
 * it. A queue that is not mlx5 (plain verbs) seems empty here, and each poll goes by its path.
 */
#ifndef BSN_CQ_H
#define BSN_CQ_H

#include <stddef.h>

#include <infiniband/verbs.h>

#include "bsn_cqe.h"
#include "bsn_db.h"
#include "bsn_rq.h"

BSN_HEADER_BEGIN

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
	int (*poll_one)(struct bsn_cq *cq, struct bsn_completion *c);
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
	uint8_t is_full_poll; /* a poll came to the end of the CQEs that may stay unpublished */
	uint8_t ignores_overrun; /* the device does not look at the consumer record */
	uint8_t has_path;     /* @path is not NULL */

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
	uint8_t mini_format;     /* 0: CQEs are never compressed; else compressed.c's */
	uint16_t dead; /* errno of a queue that died, else 0 */
	const struct bsn_cq_path *path;
	uint32_t slots_used;
	uint32_t is_changing; /* the table, by one thread at a time */
	uint64_t count_dropped; /* CQEs of queues that are gone */
	uint32_t stale;         /* those that were made anonymous, and not polled yet */
	const struct bsn_route *xrc; /* of receives whose number has no route; NULL: none */
};

/** bsn_cq_poll_cold - goes on with a poll at the CQE @next, whatever comes; see bsn_poll() */
BSN_API int bsn_cq_poll_cold(struct bsn_cq *cq, const uint8_t *next, struct bsn_completion *c, int n);

/**
 * bsn_cq_take_far - completes a send request whose id is not in its block: id, user pointer, credits
 * Return: how many completions that gives the user: none where the library had signaled the WQE.
 */
BSN_API int bsn_cq_take_far(struct bsn_route *route, uint32_t wqe_index, struct bsn_completion *c);

/** bsn_cq_finish_recv - completes a receive of an SRQ or of UD: gives the WQE back; tells the source */
BSN_API void bsn_cq_finish_recv(const struct bsn_route *route, const uint8_t *cqe,
				struct bsn_completion *c);

/**
 * bsn_cq_take_far_recv - completes any receive that succeeded, also with its data in the CQE
 * @kind: see BSN_RECV_KIND_OPCODE
 * @c: bsn_cq_put_recv_who() has filled in its part
 * Return: false: it is no such receive, or its data cannot be there; no queue was touched.
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

/** bsn_cq_stale - CQEs in the ring of queues that are gone. Context: any thread. */
static inline uint32_t bsn_cq_stale(const struct bsn_cq *cq)
{
	return __atomic_load_n(&cq->stale, __ATOMIC_RELAXED);
}

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
 * bsn_cq_next_chunk - at the end of a chunk of the ring: publishes what earlier polls gave
 * @next: chunk_end
 *
 * Stores the consumer record [O5], and goes round at the ring's end. What this poll itself gives stays
 * unpublished, since pointers into its CQEs hold until the next poll. So the device may take a chunk,
 * and what one poll gives, for unread: the queue has that many CQEs to spare, else @is_full_poll ends
 * the poll early. A queue without any to spare, which only an attached one may be, hands out no
 * pointers and publishes each CQE.
 * Return: where the poll goes on.
 */
BSN_API const uint8_t *bsn_cq_next_chunk(struct bsn_cq *cq, const uint8_t *next);

/* -- one CQE ------------------------------------------------------------------------------------ */

/* The device may write it at the same time: exactly one load. */
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

/* Of the WQE that a CQE completes. */
BSN_ALWAYS_INLINE uint32_t bsn_cq_wqe_index(const uint8_t *cqe)
{
	uint16_t raw; /* the high half of the tail's first dword */

	memcpy(&raw, cqe + BSN_CQE_TAIL_OFFSET, sizeof(raw));
	return bsn_wide_be16(raw);
}

/* Whether a byte in memory has one of these bits: gcc 12 makes two instructions of it. */
BSN_ALWAYS_INLINE bool bsn_has_any(const uint8_t *at, uint8_t bits)
{
#if defined(__x86_64__) && defined(__GCC_ASM_FLAG_OUTPUTS__) && !defined(__clang__)
	bool has;

	__asm__("testb %2, %1" : "=@ccnz"(has) : "m"(*at), "q"(bits));
	return has;
#else
	return *at & bits;
#endif
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
 * Id and user pointer of a plain success of a send queue; false: bsn_cq_take_far() has to find them.
 * @tail: dword 15, whose high half is the WQE's index.
 */
BSN_ALWAYS_INLINE bool bsn_cq_take_near(const struct bsn_route *route, uint32_t tail,
					struct bsn_completion *c)
{
	const uint8_t *const wqe =
		route->ring + (tail / (0x10000 / BSN_BB_SIZE) & route->mask); /* has no low bits */

	if (BSN_UNLIKELY(wqe[7] & __atomic_load_n(&route->far_mask, __ATOMIC_RELAXED)))
		return false;
	bsn_cq_put_whose(c, bsn_load_part(wqe + BSN_NEAR_ID_AT, 8), route->user);
	return true;
}

/* This WQE and all before it are done: the poller gives up their slots [O6]. */
BSN_ALWAYS_INLINE void bsn_route_done(struct bsn_route *route, uint32_t tail)
{
	__atomic_store_n(&route->done, (uint16_t)(tail >> 16), __ATOMIC_RELEASE);
}

/*
 * The kind of a receive, op_own ^ phase: opcode 7:4, format 3:2, solicited 1; bit 0: not ours, as a
 * dead queue has CQEs of an earlier lap. The inline poll knows opcodes 1 to 3, without data.
 */
#define BSN_RECV_KIND_SOLICITED 0x02
#define BSN_RECV_KIND_FORMAT    0x0c
#define BSN_RECV_KIND_DATA_32   (BSN_CQE_INLINE_32 << 2)
#define BSN_RECV_KIND_OPCODE    0x30
#define BSN_RECV_KIND_SEND      (BSN_CQE_RESP_SEND << 4)
#define BSN_RECV_KIND_IMM       0x10 /* a bit of RESP_WR_IMM and RESP_SEND_IMM */

/* The QPN and opcode of a receive; bsn_cq_put_recv() corrects the opcode of an RDMA WRITE. */
BSN_ALWAYS_INLINE void bsn_cq_put_recv_who(uint32_t key, struct bsn_completion *c)
{
	c->who = key >> 8 | (uint32_t)BSN_RECV << 24;
}

/* The other fields of a receive without data in its CQE; false: it is none. */
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

/* The beginning of the memory that a receive of a QP's own queue names. */
BSN_ALWAYS_INLINE const void *bsn_rq_first_piece(const struct bsn_rq *rq, uint32_t wqe_index)
{
	const size_t slot = wqe_index & rq->mask;
	struct bsn_data first;

	bsn_data_decode(&first, rq->ring + (slot << rq->stride_log2));
	return (const void *)(uintptr_t)first.addr;
}

/* The same, and gives the WQE back to its queue. */
BSN_ALWAYS_INLINE bool bsn_cq_take_recv(const struct bsn_route *route, const uint8_t *cqe,
					uint8_t kind, struct bsn_completion *c)
{
	if (BSN_UNLIKELY(!bsn_cq_put_recv(cqe, kind, c)))
		return false;
	c->user = route->user;
	if (BSN_UNLIKELY(route->recv_more)) {
		bsn_cq_finish_recv(route, cqe, c);
		return true;
	}
	c->id = bsn_rq_retire(route->rq, bsn_cq_wqe_index(cqe));
	return true;
}

/*
 * A message of a QP's own queue that hands out data where they are, @kind without the solicited bit;
 * false: bsn_cq_take_far_recv() has to look at it.
 */
BSN_ALWAYS_INLINE bool bsn_cq_give_recv(const struct bsn_cq *cq, const struct bsn_route *route,
					const uint8_t *cqe, uint32_t kind, struct bsn_completion *c)
{
	const uint64_t bytes = bsn_cq_byte_len(cqe);
	const uint32_t index = bsn_cq_wqe_index(cqe);

	if (BSN_LIKELY(kind == route->recv_more)) {
		if (BSN_UNLIKELY(2 * bytes > cq->stride))
			return false;
		bsn_cq_put_success(c, bytes, BSN_C_DATA | BSN_C_IN_CQE);
		c->data = bsn_cq_data(cq, cqe);
	} else {
		if (kind != BSN_RECV_KIND_SEND || !(route->recv_more & BSN_RECV_KIND_SEND))
			return false;
		bsn_cq_put_success(c, bytes, BSN_C_DATA);
		c->data = bsn_rq_first_piece(route->rq, index);
	}
	c->user = route->user;
	c->id = bsn_rq_retire(route->rq, index);
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
BSN_ALWAYS_INLINE bool bsn_cq_route(const struct bsn_cq *cq, uint8_t shift, uint32_t key,
				    struct bsn_route **route)
{
	const struct bsn_cq_slot *slot = bsn_cq_home(cq, shift, key);
	const uint32_t found = BSN_SHARED_LOAD(slot->key);

	*route = BSN_SHARED_LOAD(slot->route);
	return BSN_LIKELY(found == key);
}

/* A receive, or whatever else is not a plain send; false: the cold function has to look at it. */
BSN_ALWAYS_INLINE bool bsn_cq_reap_recv(const struct bsn_cq *cq, uint8_t shift, const uint8_t *next,
					uint8_t kind, struct bsn_completion *c)
{
	const uint32_t key = bsn_cq_key(bsn_cq_who(next));
	struct bsn_route *route;

	if (BSN_UNLIKELY(!bsn_cq_route(cq, shift, key, &route)))
		return false;
	bsn_cq_put_recv_who(key, c);
	if (BSN_UNLIKELY(bsn_has_any(&route->recv_far_mask, kind))) {
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
		if (BSN_UNLIKELY(!bsn_cq_route(cq, shift, bsn_cq_key(c->who), &route)))
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

		if (BSN_LIKELY(bsn_has_any(&cq->empty_mask, kind)))
			return BSN_UNLIKELY(cq->has_path) ? cq->path->poll_one(cq, c) : 0;
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

/* Requests of one queue that complete in a row: `done` is stored once for all. */
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
	/* Loads it again, so that no register is kept for this rarer case. */
	const uint32_t raw = *(const volatile uint32_t *)(const void *)(next + BSN_CQE_QPN_OFFSET);
	const uint32_t who = bsn_from_be32((struct bsn_be32){ raw });
	struct bsn_route *route;

	if (!run->route || bsn_cq_key(who) != bsn_cq_key(run->who)) {
		bsn_cq_end_run(run);
		run->route = NULL;
		if (BSN_UNLIKELY(!bsn_cq_route(cq, shift, bsn_cq_key(who), &route)))
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
 * The length of a plain send's CQE, and @who. Where one instruction reorders bytes, both are stored at
 * once, with zeros for status and immediate.
 */
BSN_ALWAYS_INLINE void bsn_cq_put_send(const uint8_t *cqe, uint32_t who, struct bsn_completion *c)
{
	bsn_cq_put_success(c, bsn_cq_byte_len(cqe), 0);
	c->who = who;
}

/* A plain send of the run's queue; false: bsn_cq_take_far() has the rest. */
BSN_ALWAYS_INLINE bool bsn_cq_reap_send(const uint8_t *next, struct bsn_cq_run *run,
					struct bsn_completion *c)
{
	run->tail = bsn_load_be32(next + BSN_CQE_TAIL_OFFSET);
	bsn_cq_put_send(next, run->who, c);
	return BSN_LIKELY(bsn_cq_take_near(run->route, run->tail, c));
}

/* Where a poll of so many CQEs that begins at @next has to stop. */
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
				if (BSN_LIKELY(bsn_cq_reap_send(next, &run, at)) ||
				    bsn_cq_take_far(run.route, run.tail >> 16, at))
					at++;
			} else {
				const uint8_t kind = own ^ cq->phase;

				if (BSN_LIKELY(bsn_has_any(&cq->empty_mask, kind))) {
					if (BSN_UNLIKELY(cq->has_path))
						goto cold;
					goto out;
				}
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

#ifdef BSN_POST_API
/* A function of its own, so that a poll of one does not save its registers. */
static __attribute__((noinline)) int bsn_cq_poll_several(struct bsn_cq *cq, struct bsn_completion *c, int n)
{
	return bsn_cq_poll_many(cq, c, n);
}
#endif

/** bsn_cq_poll - up to @n completions; see bsn_poll() */
BSN_ALWAYS_INLINE int bsn_cq_poll(struct bsn_cq *cq, struct bsn_completion *c, int n)
{
	if (__builtin_constant_p(n) && n == 1)
		return bsn_cq_poll_one(cq, c);
#ifdef BSN_POST_API /* the library's symbol: it is called for one, too */
	if (n == 1)
		return bsn_cq_poll_one(cq, c);
	return bsn_cq_poll_several(cq, c, n);
#else
	return bsn_cq_poll_many(cq, c, n);
#endif
}

BSN_HEADER_END

#endif
