/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The receive queue: a QP's own RQ, a shared receive queue (a linked list of WQEs), or plain verbs.
 * Posting stores a WQE and the doorbell record; there is no register.
 */
#ifndef BSN_RQ_H
#define BSN_RQ_H

#include "bsn_post_block.h"

BSN_HEADER_BEGIN

/* The next operation is done in memory by one instruction; gcc 12 would go on with the loaded value. */
#define BSN_IN_MEMORY() __asm__ volatile("" ::: "memory")

struct bsn_rq;

/**
 * struct bsn_rq_path - what a queue does where the inline code does not post by itself
 * @post1: one SGE, which passed bsn_are_plain()
 * @post_plain: several SGEs, which passed it, too; they may be more than the queue takes
 * @post: a list that bsn_rq_post() judged
 * @post_some: how many of these it posted, the first of which it has not looked at; 0: the first needs bsn_rq_post()
 * @post_many: see bsn_rq_post_many(); none of them was looked at
 */
struct bsn_rq_path {
	int (*post1)(struct bsn_rq *rq, const struct bsn_sge *sge, uint64_t id);
	int (*post_plain)(struct bsn_rq *rq, const struct bsn_sge *sge, unsigned sge_count,
			  uint64_t id);
	int (*post)(struct bsn_rq *rq, const struct bsn_sge *sge, unsigned sge_count, uint64_t id);
	int (*post_some)(struct bsn_rq *rq, const struct bsn_sge *sge, const uint64_t *ids,
			 unsigned count);
	int (*post_many)(struct bsn_rq *rq, const struct bsn_sge *sge, const uint64_t *ids,
			 unsigned count);
};

#define BSN_SRQ_NO_SLOT 0xffff /* an SRQ has at most 2^15 WQEs */

/** enum bsn_rq_kind - how a WQE is given back */
enum bsn_rq_kind {
	BSN_RQ_OWN,    /* a QP's */
	BSN_RQ_SHARED,
	BSN_RQ_OF_POLLERS, /* shared; more than one CQ gives back, or it has a lock */
};

struct bsn_srq_lock;

/**
 * struct bsn_rq - hot state of a receive queue: the poster's line, the poller's line
 *
 * As in struct bsn_sq, "no room" is the one way out of the hot path: an SRQ and plain verbs never
 * have room here. Counters count WQEs: those of the device modulo 2^16.
 *
 * A lone queue is a QP's own whose lists are one SGE. Its WQEs have 16 B, their ids 8 B, so where an id is
 * tells where its WQE is.
 *
 * The numbers of an SRQ's free WQEs are a ring, @free: pollers put numbers of completed WQEs at its
 * tail, the poster takes at @take, and the number that it takes becomes the link of the WQE before. An
 * entry that no poller has filled yet is BSN_SRQ_NO_SLOT, and so is the one after the last.
 *
 * Pollers post to an SRQ with a @lock, too: receives that met an on-demand page fault. Then @take is
 * NULL, so that nothing is posted without the lock.
 */
struct bsn_rq {
	/* the poster's line */
	union {
		uint8_t *slot;       /* where the next WQE begins; SRQ: where the ring does */
		uintptr_t lone_base; /* a lone queue: see bsn_rq_lone_wqe() */
	};
	uint8_t *limit;          /* room for it ends here; NULL: there is none, or it is a lone queue */
	uint64_t *lone_limit;    /* a lone queue: room for the next WQE's id ends here; else NULL */
	uint64_t *id_at;         /* where the next WQE's id goes; SRQ: where ids begin, one a slot */
	struct bsn_be32 *record;
	uint64_t stride;         /* bytes */
	uint16_t *take;          /* SRQ: where @free is taken from next; NULL: no SRQ, or one with a lock */
	uint16_t head;
	uint16_t srq_next;       /* SRQ: the WQE that is posted next; it is not in @free any more */
	uint8_t max_sge;
	uint8_t is_srq;
	uint8_t stride_log2;

	/* the poller's line */
	const uint64_t *poller_ids __attribute__((aligned(64)));
	const uint8_t *poller_ring;
	uint16_t *free;          /* SRQ */
	uint32_t tail;           /* WQEs given back; release-stored [O6]; SRQ: of @free */
	uint32_t poller_mask;
	uint32_t poller_stride;  /* bytes */
	uint8_t poller_max_sge;
	uint8_t poller_kind;     /* enum bsn_rq_kind */
	struct bsn_srq_lock *lock; /* NULL: the poster is one thread */

	/* rare */
	const struct bsn_rq_path *path __attribute__((aligned(64)));
	int (*post1)(struct bsn_rq *rq, const struct bsn_sge *sge, uint64_t id); /* @path's */
	uint8_t *ring;
	uint64_t *ids;           /* one a slot */
	uint32_t mask;           /* slots, less one */
	void *owner;
	uint32_t capacity;       /* WQEs that may be outstanding: what the CQ has room for */
	uint32_t count_full;     /* posts refused for want of room */
};

/**
 * bsn_rq_post - any list of SGEs into any kind of receive queue; see bsn_recv()
 * Return: 0; -EAGAIN the queue is full; -EMSGSIZE more SGEs than the queue takes; -EINVAL no queue.
 */
BSN_API int bsn_rq_post(struct bsn_rq *rq, const struct bsn_sge *sge, unsigned sge_count, uint64_t id);

/** bsn_rq_post_many - receives of one SGE each, into any kind of queue; see bsn_recv_many() */
BSN_API int bsn_rq_post_many(struct bsn_rq *rq, const struct bsn_sge *sge, const uint64_t *ids,
			     unsigned count);

/** bsn_rq_post_rest - the same, of which the first @put were posted */
BSN_API int bsn_rq_post_rest(struct bsn_rq *rq, const struct bsn_sge *sge, const uint64_t *ids,
			     unsigned count, unsigned put);

/*
 * One WQE more was given back [O6]. The poller alone counts: on x86 that is one instruction in memory,
 * which no store or load before it passes.
 */
BSN_ALWAYS_INLINE void bsn_rq_count_tail(struct bsn_rq *rq)
{
#if defined(__x86_64__) && !defined(BSN_THREADS_ARE_WATCHED)
	BSN_IN_MEMORY();
	rq->tail++;
#else
	__atomic_store_n(&rq->tail, rq->tail + 1, __ATOMIC_RELEASE);
#endif
}

/*
 * Gives the WQE of a completion back to a QP's own queue; returns its id. The device may consume out of
 * order, so the CQE says which WQE it was (rdma-core 7e8db6fbd); the CQEs come in order, so counting
 * them tells what is free.
 */
BSN_ALWAYS_INLINE uint64_t bsn_rq_retire(struct bsn_rq *rq, uint32_t wqe_index)
{
	const uint64_t id = rq->poller_ids[wqe_index & rq->poller_mask];

	bsn_rq_count_tail(rq);
	return id;
}

#define BSN_RECV_MAX_PLAIN_SGE 4

/* Ends a list that is shorter than the longest. */
BSN_ALWAYS_INLINE void bsn_rq_end_list(const struct bsn_rq *rq, uint8_t *list, unsigned count)
{
	static const struct bsn_data end = { .lkey = BSN_LKEY_TERMINATOR };

	if (count == rq->max_sge)
		return;
	bsn_store_wqe(list + BSN_DATA_SIZE * count, bsn_to_be64(bsn_data_word(&end, 0)));
	bsn_store_wqe(list + BSN_DATA_SIZE * count + 8, bsn_to_be64(bsn_data_word(&end, 1)));
}

BSN_ALWAYS_INLINE void bsn_rq_put_list(uint8_t *list, const struct bsn_sge *sge, unsigned count)
{
	BSN_UNROLL for (unsigned i = 0; i < count; i++)
		bsn_put_sge(list + BSN_DATA_SIZE * i, &sge[i]);
}

BSN_ALWAYS_INLINE bool bsn_rq_is_lone(const struct bsn_rq *rq)
{
	return rq->max_sge == 1 && !rq->is_srq;
}

/* The WQE of a lone queue whose id is there. */
BSN_ALWAYS_INLINE uint8_t *bsn_rq_lone_wqe(const struct bsn_rq *rq, const uint64_t *id_at)
{
	return (uint8_t *)(rq->lone_base + BSN_DATA_SIZE / sizeof(*id_at) * (uintptr_t)id_at);
}

/* Of a lone queue: puts receives up to the first that is not plain, and returns how many. */
BSN_ALWAYS_INLINE unsigned bsn_rq_put_many(struct bsn_rq *rq, const struct bsn_sge *sge,
					   const uint64_t *ids, unsigned count)
{
	uint8_t *wqe = bsn_rq_lone_wqe(rq, rq->id_at);
	unsigned i;

	for (i = 0; i < count && bsn_is_plain(&sge[i]); i++) {
		wqe = bsn_put_sge(wqe, &sge[i]);
		rq->id_at[i] = ids[i];
	}
	rq->id_at += i;
	return i;
}

/* Publishes several WQEs. */
BSN_ALWAYS_INLINE void bsn_rq_publish_many(struct bsn_rq *rq, unsigned count)
{
	rq->head = (uint16_t)(rq->head + count);
	bsn_to_device(); /* O7 */
	bsn_store_index(rq->record, rq->head);
}

/* Counted in memory, which costs one instruction less than to count in a register. */
BSN_ALWAYS_INLINE void bsn_rq_publish(struct bsn_rq *rq)
{
	rq->head++;
	bsn_to_device(); /* O7 */
	bsn_store_index(rq->record, rq->head);
}

/* Ends and publishes the next WQE of a QP's own queue, whose id goes there. The compiler knows @is_lone, most often. */
BSN_ALWAYS_INLINE void bsn_rq_end(struct bsn_rq *rq, uint64_t *id_at, uint64_t id, bool is_lone)
{
	*id_at = id;
	BSN_IN_MEMORY();
	rq->id_at++;
	if (!is_lone)
		rq->slot += rq->stride;
	bsn_rq_publish(rq);
}

/*
 * An SRQ is a linked list: each WQE names the next one, and the device follows the links. The last
 * posted WQE names the one that will be posted next, so one always stays unused. Returns the list of
 * the WQE to post, and in @next the WQE after it; NULL: none is free.
 */
BSN_ALWAYS_INLINE uint8_t *bsn_srq_begin(struct bsn_rq *rq, const uint16_t *take, uint16_t *next,
					 uint64_t id)
{
	const size_t slot = rq->srq_next;
	uint8_t *const wqe = rq->slot + slot * rq->stride;
	uint64_t *const ids = rq->id_at;
	struct bsn_srq_next link;

	*next = __atomic_load_n(take, __ATOMIC_ACQUIRE); /* O6 */
	if (BSN_UNLIKELY(*next == BSN_SRQ_NO_SLOT))
		return NULL;
	ids[slot] = id;
	link.signature = 0;
	link.next_wqe_index = *next;
	bsn_store_wqe(wqe, bsn_pair_to_be64(bsn_srq_next_word(&link, 0)));
	return wqe + BSN_SRQ_NEXT_SIZE;
}

/* Ends several that were begun, the last one before @next; their places in @free are marked as taken. */
BSN_ALWAYS_INLINE void bsn_srq_end_many(struct bsn_rq *rq, unsigned count, uint16_t next)
{
	bsn_rq_publish_many(rq, count);
	rq->srq_next = next;
}

BSN_ALWAYS_INLINE void bsn_srq_end(struct bsn_rq *rq, uint16_t *take, uint16_t next)
{
	bsn_rq_publish(rq);
	rq->srq_next = next; /* after the bytes: then a reader from outside takes the slot for posted */
	*take = BSN_SRQ_NO_SLOT;
}

BSN_ALWAYS_INLINE int bsn_srq_append(struct bsn_rq *rq, const struct bsn_sge *sge, uint64_t id)
{
	uint16_t next;
	uint8_t *const list = bsn_srq_begin(rq, rq->take, &next, id);

	if (BSN_UNLIKELY(!list))
		return rq->post1(rq, sge, id);
	bsn_rq_put_list(list, sge, 1);
	bsn_rq_end_list(rq, list, 1);
	bsn_srq_end(rq, rq->take, next);
	BSN_IN_MEMORY();
	rq->take++;
	return 0;
}

/* An SRQ of the inline code's. It is looked at in memory: gcc 12 would load @take before, for other queues, too. */
BSN_ALWAYS_INLINE bool bsn_rq_takes(const struct bsn_rq *rq)
{
#if defined(__x86_64__) && defined(__GCC_ASM_FLAG_OUTPUTS__) && !defined(__clang__)
	bool takes;

	__asm__("cmpq $0, %1" : "=@ccne"(takes) : "m"(rq->take));
	return takes;
#else
	return rq->take;
#endif
}

/* A few SGEs; everything else by bsn_rq_post(). */
BSN_ALWAYS_INLINE int bsn_rq_append(struct bsn_rq *rq, const struct bsn_sge *sge, unsigned count,
				    uint64_t id)
{
	uint64_t *id_at;
	uint8_t *wqe;

	if (BSN_IS_NULL(rq) || !__builtin_constant_p(count) || !count || count > BSN_RECV_MAX_PLAIN_SGE ||
	    !bsn_are_plain(sge, count))
		return bsn_rq_post(rq, sge, count, id);
	id_at = rq->id_at;
	if (count == 1 && BSN_LIKELY(id_at < rq->lone_limit)) {
		bsn_rq_put_list(bsn_rq_lone_wqe(rq, id_at), sge, 1);
		bsn_rq_end(rq, id_at, id, true);
		return 0;
	}
	if (count == 1 && bsn_rq_takes(rq))
		return bsn_srq_append(rq, sge, id);
	wqe = rq->slot;
	if (BSN_UNLIKELY(wqe >= rq->limit || (count > 1 && count > rq->max_sge)))
		return count == 1 ? rq->post1(rq, sge, id)
				  : rq->path->post_plain(rq, sge, count, id);
	bsn_rq_put_list(wqe, sge, count);
	bsn_rq_end_list(rq, wqe, count);
	bsn_rq_end(rq, rq->id_at, id, false);
	return 0;
}

/* As many as have room in one piece; everything else by bsn_rq_post_many(). */
BSN_ALWAYS_INLINE int bsn_rq_append_many(struct bsn_rq *rq, const struct bsn_sge *sge,
					 const uint64_t *ids, unsigned count)
{
	unsigned put;

	if (BSN_IS_NULL(rq) ||
	    BSN_UNLIKELY(rq->id_at + count > rq->lone_limit))
		return bsn_rq_post_many(rq, sge, ids, count);
	put = bsn_rq_put_many(rq, sge, ids, count);
	bsn_rq_publish_many(rq, put);
	if (BSN_LIKELY(put == count))
		return (int)count;
	return bsn_rq_post_rest(rq, sge, ids, count, put);
}

BSN_HEADER_END

#endif
