/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The completion queue's cold part: CQEs that the inline poll leaves to it, and moving round the
 * ring.
 */
#include "bsn_cq.h"

#include <stdlib.h>

#include "bsn_decode.h"
#include "bsn_syndrome.h"
#include "init.h"
#include "reap.h"
#include "refuse.h"
#include "srq.h"

/* -- which queue a CQE belongs to ------------------------------------------------------------- */

/*
 * The QPN that is written into CQEs of a destroyed queue. No queue has it: it is the subnet
 * manager's.
 */
#define QPN_NOBODY 0u

static enum bsn_recvs recvs_of(const struct bsn_route *route)
{
	const struct dv_route *const whole = dv_route(route);

	if (!route->rq || whole->transport == BSN_TRANSPORT_UD)
		return BSN_RECVS_ANY;
	if (!dv_rq(route->rq)->is_srq)
		return whole->gives_data ? BSN_RECVS_IN_PLACE : BSN_RECVS_COUNTED;
	return whole->gives_data || bsn_rq_has_lock(route->rq) ? BSN_RECVS_ANY : BSN_RECVS_LINKED;
}

int bsn_cq_add(struct bsn_cq *cq, uint32_t qpn, struct bsn_route *route)
{
	/* The inline poll reads a WQE of the route: it finds this one, which is too long for it. */
	static const uint8_t no_ring[BSN_CTRL_SIZE] = { [7] = UINT8_MAX };

	if (!route->ring)
		route->ring = no_ring;
	route->recvs = (uint8_t)recvs_of(route);
	return bsn_cq_add_route(cq, qpn, route);
}

static bool is_queues(const struct bsn_cq *cq, uint32_t qpn, uint32_t found, uint32_t cqe_opcode)
{
	if (qpn != BSN_CQ_XRC)
		return found == qpn;
	return is_receive(cqe_opcode) && !bsn_cq_find(cq, found);
}

static void count_stale(struct bsn_cq *cq, int change)
{
	__atomic_store_n(&dv_cq(cq)->stale, dv_cq(cq)->stale + (uint32_t)change, __ATOMIC_RELAXED);
}

/*
 * Makes the CQEs of a queue anonymous before it is destroyed: a later queue of the same number must
 * not get them. WQEs that it took from an SRQ are given back.
 */
static void disown_cqes(struct bsn_cq *cq, uint32_t qpn, struct bsn_rq *srq)
{
	const struct dv_cq *const whole = dv_cq(cq);
	const uint8_t *cqe = cq->next;
	uint8_t phase = cq->phase;

	for (uint32_t i = 0; i < whole->cqe_count; i++) {
		struct bsn_cqe_tail tail;
		struct bsn_cqe_req view;
		bsn_cqe_tail_decode(&tail, cqe + BSN_CQE_TAIL_OFFSET);
		if (tail.owner != phase || tail.opcode == BSN_CQE_INVALID)
			return;
		bsn_from_device(); /* O4 */
		if (tail.format == BSN_CQE_COMPRESSED && bsn_cq_expand(cq, cqe, phase))
			return;
		bsn_cqe_tail_decode(&tail, cqe + BSN_CQE_TAIL_OFFSET);
		bsn_cqe_req_decode(&view, cqe);
		if (is_queues(cq, qpn, view.qpn, tail.opcode)) {
			if (srq && is_receive(tail.opcode))
				bsn_rq_give_back(srq, view.wqe_counter);
			view.qpn = QPN_NOBODY;
			count_stale(cq, 1);
			bsn_store_be32((uint8_t *)(uintptr_t)cqe + BSN_CQE_QPN_OFFSET,
				       bsn_cqe_req_dword(&view, BSN_CQE_QPN_OFFSET / 4));
		}
		cqe += cq->stride;
		if (cqe == whole->ring_end) {
			cqe = whole->ring;
			phase ^= 1;
		}
	}
}

static void drop_cqes(struct bsn_cq *cq, uint32_t qpn, const struct bsn_route *route)
{
	if (!cq->path)
		disown_cqes(cq, qpn,
			    route && route->rq && dv_rq(route->rq)->is_srq ? route->rq : NULL);
}

void bsn_cq_drop(struct bsn_cq *cq, uint32_t qpn)
{
	drop_cqes(cq, qpn, bsn_cq_find(cq, qpn));
}

void bsn_cq_remove(struct bsn_cq *cq, uint32_t qpn)
{
	const struct bsn_route *route = bsn_cq_remove_route(cq, qpn);

	drop_cqes(cq, qpn, qpn == BSN_CQ_XRC ? NULL : route); /* BSN_CQ_XRC: the SRQ is destroyed */
}

/* -- moving on -------------------------------------------------------------------------------- */

static uint32_t cqes_to_chunk_end(const struct bsn_cq *cq, const uint8_t *next)
{
	return (uint32_t)((size_t)(cq->chunk_end - next) / cq->stride);
}

/* Gives all CQEs before number @ci back to the device. */
static void give_back(struct bsn_cq *cq, uint32_t ci)
{
	const struct bsn_dbr_cq_ci record = { .ci = ci };

	bsn_from_device(); /* O5 */
	bsn_store_record(dv_cq(cq)->record, bsn_dbr_cq_ci_dword(&record, 0));
}

static uint32_t consumer_index(const struct bsn_cq *cq)
{
	return dv_cq(cq)->chunk_ci - cqes_to_chunk_end(cq, cq->next);
}

/*
 * At the end of a chunk: gives back the CQEs that earlier polls consumed. Those of this poll are
 * kept, up to the number of spare ones.
 */
static void give_back_earlier(struct bsn_cq *cq)
{
	struct dv_cq *const whole = dv_cq(cq);

	/* Did this poll begin in the chunk that ends here? */
	if (cq->next < cq->chunk_end && cqes_to_chunk_end(cq, cq->next) <= whole->chunk) {
		if (!whole->ignores_overrun)
			give_back(cq, consumer_index(cq));
		whole->kept = cqes_to_chunk_end(cq, cq->next);
	} else {
		whole->kept += whole->chunk;
	}
	whole->is_full_poll = whole->kept + whole->chunk > whole->spare;
}

/*
 * CQEs to the end of the chunk that @next is in. A full poll used all spare CQEs, so the next poll
 * gives them back at its first CQE.
 */
static uint32_t cqes_of_chunk(const struct bsn_cq *cq, const uint8_t *next)
{
	const struct dv_cq *const whole = dv_cq(cq);
	const uint32_t at = (uint32_t)((size_t)(next - whole->ring) / cq->stride);

	return whole->is_full_poll ? 1 : whole->chunk - at % whole->chunk;
}

/*
 * Goes round the ring's end, where the owner bit's meaning inverts. A device that ignores overruns
 * needs the record only when the CQ is armed; it is written once a lap for tools that read the
 * queue from outside.
 */
static const uint8_t *go_round(struct bsn_cq *cq, const uint8_t *next)
{
	const struct dv_cq *const whole = dv_cq(cq);

	if (BSN_LIKELY(next != whole->ring_end))
		return next;
	if (whole->ignores_overrun)
		give_back(cq, whole->chunk_ci);
	cq->phase ^= 1;
	return whole->ring;
}

/* For a queue without spare CQEs: its chunks are one CQE, which is given back at once. */
static const uint8_t *give_back_one(struct bsn_cq *cq, const uint8_t *next)
{
	cq->next = next; /* first: the record is never ahead of it */
	give_back(cq, dv_cq(cq)->chunk_ci++);
	next = go_round(cq, next);
	cq->chunk_end = next + cq->stride;
	return next;
}

/*
 * The largest chunk that fits twice into the spare CQEs: once for the chunk that a poll leaves and
 * once for the one it enters. It is a power of two, since chunks tile the ring.
 */
static uint32_t chunk_of(uint32_t count, uint32_t spare)
{
	uint32_t chunk = 1;

	while (4 * chunk <= spare && 8 * chunk <= count)
		chunk *= 2;
	return chunk;
}

void bsn_cq_begin_chunks(struct bsn_cq *cq, uint32_t ci, uint32_t spare)
{
	struct dv_cq *const whole = dv_cq(cq);
	uint32_t count;

	whole->spare = spare;
	whole->chunk = chunk_of(whole->cqe_count, spare);
	whole->kept = 0;
	whole->is_full_poll = 0;
	count = cqes_of_chunk(cq, cq->next);
	cq->chunk_end = cq->next + count * cq->stride;
	whole->chunk_ci = ci + count;
}

void bsn_cq_set_spare(struct bsn_cq *cq, uint32_t spare)
{
	const uint32_t ci = consumer_index(cq);

	give_back(cq, ci);
	bsn_cq_begin_chunks(cq, ci, spare);
}

/*
 * At the end of a chunk. The CQEs of this poll are kept, since pointers into them are valid until
 * the next poll. So the device may count a chunk and one poll's CQEs as unread. The queue has that
 * many spare CQEs; @is_full_poll ends a poll that would keep more. Only an attached queue may have
 * no spare CQEs: it hands out no pointers and gives back each CQE.
 */
static const uint8_t *next_chunk(struct bsn_cq *cq, const uint8_t *next)
{
	if (!dv_cq(cq)->spare)
		return give_back_one(cq, next);
	give_back_earlier(cq);
	next = go_round(cq, next);
	cq->chunk_end = next + cqes_of_chunk(cq, next) * cq->stride;
	dv_cq(cq)->chunk_ci += cqes_of_chunk(cq, next);
	return next;
}

void bsn_cq_kill(struct bsn_cq *cq, int error)
{
	uint16_t alive = 0;

	__atomic_compare_exchange_n(&cq->dead, &alive, (uint16_t)error, false, __ATOMIC_RELEASE,
				    __ATOMIC_RELAXED);
}

void bsn_cq_arm(struct bsn_cq *cq, bool solicited_only)
{
	const struct dv_cq *const whole = dv_cq(cq);
	const struct bsn_cq_doorbell bell = {
		.sn = whole->arm_sn,
		.cmd = solicited_only ? BSN_CQ_ARM_SOLICITED : BSN_CQ_ARM_NEXT,
		.ci = consumer_index(cq),
		.cqn = whole->cqn,
	};

	give_back(cq, consumer_index(cq));
	bsn_store_record(whole->record + 1, bsn_cq_doorbell_dword(&bell, 0));
	bsn_wc_start(); /* O8 */
	bsn_store_mmio(whole->arm_reg, bsn_to_be64(bsn_cq_doorbell_word(&bell, 0)));
	bsn_wc_flush(); /* O8 */
}

/* -- polling ---------------------------------------------------------------------------------- */

/* NULL: the queue is gone. */
static struct bsn_route *route_of(const struct bsn_cq *cq, uint32_t qpn, unsigned opcode)
{
	struct bsn_route *const route = bsn_cq_find(cq, qpn);

	if (!route && is_receive(opcode) && qpn != QPN_NOBODY)
		return bsn_cq_find(cq, BSN_CQ_XRC);
	return route;
}

/* Counts a CQE that belongs to no queue. */
static __attribute__((cold)) void drop(struct bsn_cq *cq, uint32_t qpn)
{
	dv_cq(cq)->count_dropped++;
	if (qpn == QPN_NOBODY && dv_cq(cq)->stale)
		count_stale(cq, -1);
}

/* Completes the CQE of an error. -EPROTO: it is none, or of no queue of the route. */
static __attribute__((cold)) int reap_failed(struct bsn_route *route, const uint8_t *cqe,
					      unsigned opcode, struct bsn_completion *c)
{
	struct bsn_cqe_err view;

	if (opcode != BSN_CQE_REQ_ERR && opcode != BSN_CQE_RESP_ERR)
		return -EPROTO;
	bsn_cqe_err_decode(&view, cqe);
	*c = (struct bsn_completion){
		.user = route->user,
		.status = bsn_status_of_syndrome(view.syndrome),
		.opcode = (uint8_t)view.wqe_opcode,
		.syndrome = (uint8_t)view.syndrome,
		.vendor_syndrome = (uint8_t)view.vendor_syndrome,
		.hw_syndrome = (uint8_t)view.hw_syndrome,
		.wqe_index = (uint16_t)view.wqe_counter,
		.qpn = view.qpn,
	};
	return opcode == BSN_CQE_REQ_ERR ? bsn_reap_failed_send(route, &view, c)
					 : bsn_reap_failed_recv(route, &view, c);
}

enum { NOT_OURS = -ENOENT, UNREADABLE = -EPROTO };

/*
 * Completes a CQE that bsn_cq_poll_plain() left. Returns the number of completions, or why there is
 * none.
 * @is_done: false: the same CQE has to be read once more
 */
static int reap(struct bsn_cq *cq, const uint8_t *cqe, struct bsn_completion *c, bool *is_done)
{
	const unsigned kind = (bsn_cq_op_own(cqe) ^ cq->phase) & ~BSN_CQ_SOLICITED;
	struct bsn_route *route;
	uint32_t qpn;

	if (kind & BSN_CQ_NOT_OURS || kind >> 4 == BSN_CQE_INVALID)
		return NOT_OURS;
	bsn_from_device(); /* O4 */
	*is_done = false;
	if (is_compressed(kind))
		return bsn_cq_expand(cq, cqe, cq->phase);
	qpn = bsn_cq_who(cqe) & BSN_QPN_MAX;
	route = route_of(cq, qpn, kind >> 4);
	if (route && kind >> 4 == BSN_CQE_REQ_ERR && bsn_flush_before(route, cqe, c))
		return 1;
	*is_done = true;
	if (!route) {
		drop(cq, qpn);
		return 0;
	}
	bsn_cq_put_plain(c, cqe, bsn_cq_who(cqe), route->user);
	if (BSN_LIKELY(bsn_cq_reap(cq, route, cqe, kind, c)))
		return 1;
	if (kind >> 4 == BSN_CQE_REQ && bsn_skip_hidden(route, cqe))
		return 0;
	return reap_failed(route, cqe, kind >> 4, c);
}

static const char *death_of(int error)
{
	switch (error) {
	case EIO:
		return "the device is gone: nothing will complete any more";
	case EOVERFLOW:
		return "the CQ overran: make it with as many entries as all its queues may have "
		       "outstanding";
	case EPROTO:
		return "a CQE that nobody can read, or a compressed one of a CQ made without "
		       "compression";
	default:
		return "the CQ is dead";
	}
}

int bsn_cq_end_poll(const struct bsn_cq *cq)
{
	const int error = __atomic_load_n(&cq->dead, __ATOMIC_ACQUIRE);

	return BSN_UNLIKELY(error) ? refuse(error, death_of(error)) : 0;
}

/* The poll ends at a CQE that is not ours, or that is unreadable. */
static __attribute__((cold)) int end_poll(struct bsn_cq *cq, int got, int why)
{
	if (why == UNREADABLE)
		bsn_cq_kill(cq, EPROTO);
	return got ? got : bsn_cq_end_poll(cq);
}

/* Not inline: a poll that goes to the CQ's path saves no registers for it. */
static __attribute__((noinline)) int poll_ring(struct bsn_cq *cq, const uint8_t *next,
					       struct bsn_completion *c, int got, int n)
{
	struct dv_cq *const whole = dv_cq(cq);
	bool is_done;
	int one;

	whole->is_full_poll = false;
	do {
		if (next != cq->chunk_end) {
			one = reap(cq, next, &c[got], &is_done);
			if (one < 0) {
				cq->next = next;
				return end_poll(cq, got, one);
			}
			got += one;
			if (is_done)
				next += cq->stride;
		}
		if (next == cq->chunk_end)
			next = next_chunk(cq, next);
		if (whole->is_full_poll && !got) { /* all were dropped: no pointer is out */
			whole->is_full_poll = false;
			cq->next = next;
		}
	} while (!whole->is_full_poll && !bsn_cq_poll_plain(cq, &next, c, &got, n));
	cq->next = next;
	return got;
}

int bsn_cq_poll_rest(struct bsn_cq *cq, const uint8_t *next, struct bsn_completion *c, int got,
		     int n)
{
	return cq->path ? cq->path->poll(cq, c, n) : poll_ring(cq, next, c, got, n);
}

/* -- polls with timestamps -------------------------------------------------------------------- */

/* The last CQE that the poll consumed. */
static const uint8_t *last_of(const struct bsn_cq *cq)
{
	return (cq->next == dv_cq(cq)->ring ? dv_cq(cq)->ring_end : cq->next) - cq->stride;
}

/*
 * 0: there is none. A request without a CQE has no stamp, nor has a failed one: the CQE of an error
 * has syndromes in its place.
 */
static uint64_t stamp_of(const struct bsn_cq *cq, const uint8_t *before,
			 const struct bsn_completion *c)
{
	struct bsn_cqe_req cqe;

	if (c->status || cq->next == before)
		return 0;
	bsn_cqe_req_decode(&cqe, last_of(cq));
	return cqe.timestamp;
}

int bsn_cq_poll_stamped(struct bsn_cq *cq, struct bsn_completion *c, int n)
{
	for (int got = 0; got < n; got++) {
		const uint8_t *const before = cq->next;
		const int one = bsn_cq_poll(cq, &c[got], 1);

		if (one <= 0)
			return got ? got : one;
		c[got].timestamp = stamp_of(cq, before, &c[got]);
		if (!c[got].status && c[got].flags & BSN_C_IN_CQE)
			return got + 1; /* that CQE must stay until the next poll */
	}
	return n > 0 ? n : 0;
}
