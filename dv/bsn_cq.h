/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A part of bsn.h, which programs include.
 *
 * The completion queue. A poll first compares one byte of the CQE, op_own (PRM "CQE"), with the
 * owner bit of this lap. Their XOR is the CQE's kind: the opcode in bits 7:4, the format in 3:2,
 * and bit 0 is set while the CQE is not ours.
 *
 * The inline poll knows plain successes: requests whose id is in their block, and messages that a
 * QP's own receive queue took without data in the CQE. Another completion of a queue that it finds
 * is one call, bsn_cq_reap(). All else ends the inline code in bsn_cq_poll_rest(), which goes on
 * with the poll: failures, the end of a chunk of the ring, a queue that died, or is not mlx5.
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
 * bsn_cq_reap - completes any request or receive that succeeded
 * @route: of the CQE @cqe, which is ours
 * @kind: of the CQE
 * @c: has what bsn_cq_put_plain() puts
 * Return: false: it is something else, or nothing that the user is told of; only @c was touched.
 */
BSN_API bool bsn_cq_reap(const struct bsn_cq *cq, struct bsn_route *route, const uint8_t *cqe,
			 unsigned kind, struct bsn_completion *c);

/**
 * bsn_cq_poll_rest - goes on with a poll that has @got of @n completions, at any CQE @next; see
 * bsn_poll()
 */
BSN_API int bsn_cq_poll_rest(struct bsn_cq *cq, const uint8_t *next, struct bsn_completion *c,
			     int got, int n);

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
 * Context: the CQ's thread. Poll once more after it, before waiting: a completion that came after
 * the last poll and before the arm need not raise an event.
 */
void bsn_cq_arm(struct bsn_cq *cq, bool solicited_only);

/* -- one CQE --------------------------------------------------------------------------------- */

/* Of the kind of a CQE, op_own ^ phase; the opcode is above, as in op_own. */
#define BSN_CQ_NOT_OURS  0x01
#define BSN_CQ_SOLICITED 0x02
#define BSN_CQ_FORMAT    0x0c
#define BSN_CQ_MESSAGE   (BSN_CQE_RESP_SEND << 4) /* a SEND arrived, and its data are in memory */
#define BSN_CQ_IMM       0x10                     /* with an immediate: BSN_CQE_RESP_SEND_IMM */

/* The device may write it at the same time: exactly one load. */
BSN_ALWAYS_INLINE uint8_t bsn_cq_op_own(const uint8_t *cqe)
{
	return __atomic_load_n(cqe + BSN_CQE_OP_OWN_OFFSET, BSN_FROM_DEVICE_ORDER);
}

/* The opcode of the WQE, and the QPN below it. */
BSN_ALWAYS_INLINE struct bsn_be32 bsn_cq_raw_who(const uint8_t *cqe)
{
	struct bsn_be32 raw_who;

	memcpy(&raw_who, cqe + BSN_CQE_QPN_OFFSET, sizeof(raw_who));
	return raw_who;
}

BSN_ALWAYS_INLINE uint32_t bsn_cq_who(const uint8_t *cqe)
{
	return bsn_from_be32(bsn_cq_raw_who(cqe));
}

/* Of the WQE that a CQE completes. */
BSN_ALWAYS_INLINE uint32_t bsn_cq_wqe_index(const uint8_t *cqe)
{
	return bsn_load_be32(cqe + BSN_CQE_TAIL_OFFSET) >> 16;
}

BSN_ALWAYS_INLINE uint32_t bsn_cq_byte_count(const uint8_t *cqe)
{
	return bsn_load_be32(cqe + BSN_CQE_BYTE_COUNT_OFFSET);
}

/* Length, status, flags and syndromes, in one store. */
BSN_ALWAYS_INLINE void bsn_cq_put_success(struct bsn_completion *c, uint64_t byte_len,
					  uint64_t flags)
{
	const uint64_t word = byte_len | flags << 40;

	memcpy((uint8_t *)c + offsetof(struct bsn_completion, byte_len), &word, sizeof(word));
}

/* Fills in what the completion of every success has. */
BSN_ALWAYS_INLINE void bsn_cq_put_plain(struct bsn_completion *c, const uint8_t *cqe, uint32_t who,
					void *user)
{
	c->user = user;
	c->who = who;
	bsn_cq_put_success(c, bsn_cq_byte_count(cqe), 0);
}

/* The same field of a receive: its opcode is no request's. */
BSN_ALWAYS_INLINE uint32_t bsn_cq_who_received(uint32_t who)
{
	return (who & BSN_QPN_MAX) | (uint32_t)BSN_RECV << 24;
}

/* -- whose it is ----------------------------------------------------------------------------- */

/* The QPN, eight bits up: the opcode above it falls out. */
BSN_ALWAYS_INLINE uint32_t bsn_cq_key(uint32_t who)
{
	return who << 8;
}

/* Fibonacci hashing: any stride spreads. */
BSN_ALWAYS_INLINE uint32_t bsn_cq_hash(uint32_t key, uint8_t shift)
{
	return key * BSN_CQ_HASH >> shift;
}

/* Loaded before the table, which may grow meanwhile (route.c): a newer one is never smaller. */
BSN_ALWAYS_INLINE uint8_t bsn_cq_shift(const struct bsn_cq *cq)
{
	return __atomic_load_n(&cq->hash_shift, __ATOMIC_ACQUIRE);
}

BSN_ALWAYS_INLINE struct bsn_cq_entry *bsn_cq_home(const struct bsn_cq *cq, uint8_t shift,
						   uint32_t key)
{
	return &BSN_SHARED_LOAD(cq->entries)[bsn_cq_hash(key, shift)];
}

/* The route, where it is in the entry that is looked at first. */
BSN_ALWAYS_INLINE bool bsn_cq_route(const struct bsn_cq *cq, uint8_t shift, uint32_t key,
				    struct bsn_route **route)
{
	const struct bsn_cq_entry *entry = bsn_cq_home(cq, shift, key);
	const uint32_t found = BSN_SHARED_LOAD(entry->key);

	*route = BSN_SHARED_LOAD(entry->route);
	return BSN_LIKELY(found == key);
}

/* -- polling --------------------------------------------------------------------------------- */

/* Whose the last CQE was: most often the next one is the same queue's. */
struct bsn_cq_look {
	uint64_t raw_who; /* as it lies in the CQE; more than any: there is none */
	struct bsn_route *route;
};

#define BSN_CQ_NO_LOOK ((struct bsn_cq_look){ UINT64_MAX, NULL })

BSN_ALWAYS_INLINE bool bsn_cq_find_route(const struct bsn_cq *cq, struct bsn_cq_look *look,
					 struct bsn_be32 raw_who)
{
	if (BSN_LIKELY(raw_who.raw == look->raw_who))
		return true;
	look->raw_who = raw_who.raw;
	return bsn_cq_route(cq, bsn_cq_shift(cq), bsn_cq_key(bsn_from_be32(raw_who)),
			    &look->route);
}

/* This WQE and all before it are done: the poller gives up their blocks. */
BSN_ALWAYS_INLINE void bsn_route_done(struct bsn_route *route, uint32_t wqe_index)
{
	__atomic_store_n(&route->done, (uint16_t)wqe_index, __ATOMIC_RELEASE); /* O6 */
}

/* Whether a WQE has up to so many DS. */
BSN_ALWAYS_INLINE bool bsn_wqe_is_near(const uint8_t *wqe, unsigned near_ds)
{
	return wqe[7] <= near_ds; /* the DS count: the last byte of the first word */
}

/* A request succeeded. False: its id is elsewhere, or there is more to do. */
BSN_ALWAYS_INLINE bool bsn_cq_take_send(struct bsn_route *route, const uint8_t *cqe,
					struct bsn_completion *c)
{
	const uint32_t index = bsn_cq_wqe_index(cqe);
	const uint8_t *const wqe = route->ring + (index * BSN_BB_SIZE & route->mask);
	const unsigned near_ds = __atomic_load_n(&route->near_ds, __ATOMIC_RELAXED);

	if (BSN_UNLIKELY(!bsn_wqe_is_near(wqe, near_ds)))
		return false;
	memcpy(&c->id, wqe + BSN_NEAR_ID_AT, sizeof(c->id));
	bsn_route_done(route, index);
	return true;
}

/* A message came. False: it is something else, or there is more to do. */
BSN_ALWAYS_INLINE bool bsn_cq_take_message(struct bsn_route *route, const uint8_t *cqe,
					   unsigned kind, struct bsn_completion *c)
{
	struct bsn_cqe_resp view;

	if (BSN_UNLIKELY((kind & ~(BSN_CQ_IMM | BSN_CQ_SOLICITED)) != BSN_CQ_MESSAGE ||
			 route->recvs != BSN_RECVS_COUNTED))
		return false;
	bsn_cqe_resp_decode(&view, cqe);
	c->imm = view.imm_inval_pkey; /* or anything */
	c->flags = kind & BSN_CQ_IMM ? BSN_C_IMM : 0;
	c->who = bsn_cq_who_received(bsn_cq_who(cqe));
	c->id = bsn_rq_retire(route->rq, bsn_cq_wqe_index(cqe));
	return true;
}

/* A CQE that is ours. False: bsn_cq_poll_rest() has to look at it. */
BSN_ALWAYS_INLINE bool bsn_cq_take(const struct bsn_cq *cq, struct bsn_cq_look *look,
				   const uint8_t *cqe, unsigned kind, struct bsn_completion *c)
{
	struct bsn_be32 raw_who;

	bsn_from_device(); /* O4 */
	raw_who = bsn_cq_raw_who(cqe);
	if (BSN_UNLIKELY(!bsn_cq_find_route(cq, look, raw_who)))
		return false;
	bsn_cq_put_plain(c, cqe, bsn_from_be32(raw_who), look->route->user);
	if (BSN_LIKELY(BSN_LIKELY(!kind) ? bsn_cq_take_send(look->route, cqe, c)
					 : bsn_cq_take_message(look->route, cqe, kind, c)))
		return true;
	if (!bsn_cq_reap(cq, look->route, cqe, kind & ~BSN_CQ_SOLICITED, c))
		return false;
	/* It is not kept over the call: that would make each poll in a program 40 bytes longer. */
	*look = BSN_CQ_NO_LOOK;
	return true;
}

/*
 * Polls from the CQE *@next on, until *@got is @n. Returns whether the poll is over; false:
 * bsn_cq_poll_rest() goes on.
 */
BSN_ALWAYS_INLINE bool bsn_cq_poll_plain(const struct bsn_cq *cq, const uint8_t **next,
					 struct bsn_completion *c, int *got, int n)
{
	struct bsn_cq_look look = BSN_CQ_NO_LOOK;

	for (; *got < n; ++*got) {
		const unsigned kind = bsn_cq_op_own(*next) ^ cq->phase;

		if (kind & BSN_CQ_NOT_OURS)
			return BSN_LIKELY(!BSN_SHARED_LOAD(cq->dead));
		if (BSN_UNLIKELY(!bsn_cq_take(cq, &look, *next, kind, &c[*got])))
			return false;
		*next += cq->stride;
		if (BSN_UNLIKELY(*next >= cq->chunk_end)) {
			++*got;
			return false;
		}
	}
	return true;
}

/** bsn_cq_poll - up to @n completions; see bsn_poll() */
BSN_ALWAYS_INLINE int bsn_cq_poll(struct bsn_cq *cq, struct bsn_completion *c, int n)
{
	const uint8_t *next = cq->next;
	int got = 0;

	if (BSN_UNLIKELY(cq->path || !bsn_cq_poll_plain(cq, &next, c, &got, n)))
		return bsn_cq_poll_rest(cq, next, c, got, n);
	cq->next = next;
	return got;
}

BSN_HEADER_END

#endif
