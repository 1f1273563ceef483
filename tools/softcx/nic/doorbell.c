/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What sets the HCA in motion: a store into a UAR page, a step of passive mode, a deadline.
 */
#include "transport.h"

#include <string.h>

/* -- send doorbells ---------------------------------------------------------------------------- */

enum { BF_BUFFER_BYTES = 256 }; /* half of a register: CX_BF_REG_BYTES, log_bf_reg_size */

/*
 * The first eight bytes of a register's buffer name the queue; the record says how far it has come
 * (PRM "Doorbell Records"). They are checked against the record and the ring, which must agree.
 */
static struct cx_qp *ring_sq(struct cx_hca *hca, uint32_t page, const uint8_t *data, uint32_t size)
{
	struct bsn_sq_doorbell bell;
	struct cx_qp *qp;

	if (size < BSN_SQ_DOORBELL_SIZE) {
		cx_lint(hca, "doorbell: %u bytes into page %u", size, page);
		return NULL;
	}
	bsn_sq_doorbell_decode(&bell, data);
	qp = cx_qp_find(hca, bell.qpn);
	if (!qp || qp->head.owner != hca->self) {
		cx_lint(hca, "doorbell: page %u: there is no qpn %#x", page, bell.qpn);
		return NULL;
	}
	if (qp->attr.uar_page != page)
		cx_lint(hca, "doorbell: qpn %#x rings page %u, its own is %u", bell.qpn, page,
			qp->attr.uar_page);
	return qp;
}

/* The bytes of a BlueFlame copy are the ring's, as far as the WQE goes: the device reads no further. */
static void compare_with_ring(struct cx_hca *hca, struct cx_qp *qp, uint16_t index, uint32_t ds,
			      uint32_t offset, const uint8_t *data, uint32_t size)
{
	const uint32_t end = ds * BSN_DS_SIZE;
	uint8_t ring[BF_BUFFER_BYTES];

	if (!qp->attr.sq_count_bb || offset + size > BF_BUFFER_BYTES || offset >= end ||
	    cx_sq_fetch(hca, qp, index, ring, offset, size))
		return;
	if (memcmp(ring, data, size < end - offset ? size : end - offset))
		cx_lint(hca, "doorbell: qpn %#x wqe %#x: bytes %u to %u are not the ring's",
			qp->head.number, index, offset, offset + size - 1);
}

static uint16_t end_of(const struct bsn_sq_doorbell *bell)
{
	return (uint16_t)(bell->wqe_index + (bell->ds + BSN_BB_DS - 1) / BSN_BB_DS);
}

/*
 * What the record published last is what the doorbell must show. Only the last WQE ends at the
 * record's index, and the doorbell has that WQE's length. The model may have read the record before
 * its doorbell came: when it tried something else again, or when a peer failed the queue pair.
 */
static void lint_record(struct cx_hca *hca, struct cx_qp *qp, const struct bsn_sq_doorbell *bell)
{
	if (!cx_sq_publish(hca, qp))
		return;
	if (qp->run.sq_tail == qp->run.sq_rung)
		cx_lint(hca, "doorbell: qpn %#x: the record has not moved from %#x",
			qp->head.number, qp->run.sq_rung);
	else if (end_of(bell) != qp->run.sq_tail)
		cx_lint(hca, "doorbell: qpn %#x: WQE %#x ends at %#x, the record says %#x",
			qp->head.number, bell->wqe_index, end_of(bell), qp->run.sq_tail);
	qp->run.sq_rung = qp->run.sq_tail;
}

/*
 * A store that a register's write-combining buffer would merge with the one before: glibc's memcpy(),
 * with which UCX copies, stores overlapping vectors, so it writes 64 bytes twice. The WQE has been
 * rung then; where it has not, the queue was reset and has come to this index once more.
 */
static bool repeats(const struct cx_hca *hca, uint32_t page, unsigned buffer,
		    const struct cx_qp *qp, const struct bsn_sq_doorbell *bell, uint32_t size)
{
	return size > BSN_SQ_DOORBELL_SIZE && hca->blueflame[page][buffer].qpn == bell->qpn &&
	       hca->blueflame[page][buffer].index == bell->wqe_index &&
	       qp->run.sq_rung == end_of(bell);
}

static void start_buffer(struct cx_hca *hca, uint32_t page, unsigned buffer, const uint8_t *data,
			 uint32_t size)
{
	struct cx_qp *qp = ring_sq(hca, page, data, size);
	struct bsn_sq_doorbell bell;

	if (!qp) {
		hca->blueflame[page][buffer].qpn = 0;
		return;
	}
	bsn_sq_doorbell_decode(&bell, data);
	if (repeats(hca, page, buffer, qp, &bell, size)) {
		compare_with_ring(hca, qp, (uint16_t)bell.wqe_index, bell.ds, 0, data, size);
		return;
	}
	hca->blueflame[page][buffer].qpn = qp->head.number;
	hca->blueflame[page][buffer].index = (uint16_t)bell.wqe_index;
	hca->blueflame[page][buffer].ds = (uint8_t)bell.ds;
	lint_record(hca, qp, &bell);
	compare_with_ring(hca, qp, (uint16_t)bell.wqe_index, bell.ds, 0, data, size);
	if (!hca->config.passive)
		cx_sq_run(hca, qp, 0);
}

static void take_send_store(struct cx_hca *hca, uint32_t page, uint32_t offset, const uint8_t *data,
			    uint32_t size)
{
	const uint32_t at = offset - BSN_UAR_BF_OFFSET;
	const unsigned buffer = at / BF_BUFFER_BYTES;
	struct cx_qp *qp;

	if (buffer >= CX_BF_PER_UAR) {
		cx_lint(hca, "doorbell: offset %#x of page %u is no register", offset, page);
		return;
	}
	if (at % BF_BUFFER_BYTES == 0) {
		start_buffer(hca, page, buffer, data, size);
		return;
	}
	qp = cx_qp_find(hca, hca->blueflame[page][buffer].qpn);
	if (!qp)
		cx_lint(hca, "doorbell: offset %#x of page %u continues nothing", offset, page);
	else
		compare_with_ring(hca, qp, hca->blueflame[page][buffer].index,
				  hca->blueflame[page][buffer].ds, at % BF_BUFFER_BYTES, data,
				  size);
}

/* -- arming ------------------------------------------------------------------------------------ */

static void take_arm(struct cx_hca *hca, const uint8_t *data, uint32_t size)
{
	uint8_t record[BSN_DBR_CQ_ARM_SIZE];
	struct bsn_cq_doorbell bell;
	struct cx_cq *cq;

	if (size < BSN_CQ_DOORBELL_SIZE) {
		cx_lint(hca, "arm: a store of %u bytes", size);
		return;
	}
	bsn_cq_doorbell_decode(&bell, data);
	cq = cx_cq_find(hca, bell.cqn);
	if (!cq || cq->head.owner != hca->self) {
		cx_lint(hca, "arm: there is no cqn %#x", bell.cqn);
		return;
	}
	if (cx_mem_read(hca, cq->head.owner, cq->attr.db + BSN_DBR_CQ_ARM_OFFSET, record,
			sizeof(record)))
		return;
	if (memcmp(record, data, sizeof(record)))
		cx_lint(hca, "arm: cqn %#x: the record does not say what the doorbell does",
			bell.cqn);
	if (!hca->config.passive)
		cx_cq_arm(hca, cq, data);
}

static void trace_store(struct cx_hca *hca, uint32_t page, uint32_t offset, const uint8_t *data,
			uint32_t size)
{
	uint64_t head = 0;

	memcpy(&head, data, size < sizeof(head) ? size : sizeof(head));
	cx_trace(hca, "store: page %u offset %#x size %u begins %016lx", page, offset, size,
		 __builtin_bswap64(head));
}

void cx_doorbell(struct cx_hca *hca, uint32_t page, uint32_t offset, const void *data,
		 uint32_t size)
{
	if (cx_tracing(hca))
		trace_store(hca, page, offset, data, size);
	if (page >= CX_UAR_PAGES || hca->self >= CX_PROCS)
		return;
	cx_lock(hca);
	if (hca->shared->removed)
		cx_trace(hca, "store: the device is gone");
	else if (offset >= BSN_UAR_BF_OFFSET)
		take_send_store(hca, page, offset, data, size);
	else if (offset == BSN_UAR_CQ_ARM_OFFSET)
		take_arm(hca, data, size);
	else
		cx_lint(hca, "store: offset %#x of page %u is no register", offset, page);
	cx_unlock(hca);
}

/* -- deadlines --------------------------------------------------------------------------------- */

static uint64_t find_deadline(struct cx_hca *hca)
{
	uint64_t first = CX_NEVER;

	for (struct cx_head *head = cx_first(hca, CX_QP); head; head = cx_next(hca, CX_QP, head)) {
		const struct cx_qp *qp = (struct cx_qp *)head;

		if (qp->run.deadline_ns && qp->run.deadline_ns < first)
			first = qp->run.deadline_ns;
	}
	return first == CX_NEVER ? 0 : first;
}

static void set_deadline(struct cx_hca *hca, uint64_t deadline)
{
	__atomic_store_n(&hca->shared->procs[hca->self].deadline_ns, deadline, __ATOMIC_RELEASE);
}

static unsigned run_due(struct cx_hca *hca, uint64_t now, unsigned max_wqes)
{
	unsigned done = 0;

	for (struct cx_head *head = cx_first(hca, CX_QP); head; head = cx_next(hca, CX_QP, head)) {
		struct cx_qp *qp = (struct cx_qp *)head;

		if (!qp->run.deadline_ns || qp->run.deadline_ns > now)
			continue;
		qp->run.deadline_ns = 0;
		done += cx_sq_run(hca, qp, max_wqes);
	}
	return done;
}

uint64_t cx_next_deadline_ns(struct cx_hca *hca)
{
	const unsigned self = __atomic_load_n(&hca->self, __ATOMIC_RELAXED); /* exit() ends it */
	uint64_t deadline;

	if (self >= CX_PROCS)
		return 0;
	deadline = __atomic_load_n(&hca->shared->procs[self].deadline_ns, __ATOMIC_ACQUIRE);
	return deadline == CX_NEVER ? 0 : deadline;
}

uint32_t *cx_alarm(struct cx_hca *hca)
{
	return &hca->shared->alarms[__atomic_load_n(&hca->self, __ATOMIC_RELAXED) % CX_PROCS].count;
}

bool cx_is_reachable(const struct cx_hca *hca)
{
	const unsigned self = __atomic_load_n(&hca->self, __ATOMIC_RELAXED);

	return self < CX_PROCS &&
	       __atomic_load_n(&hca->shared->alarms[self].reachable, __ATOMIC_ACQUIRE);
}

void cx_run_timers(struct cx_hca *hca)
{
	if (hca->config.passive)
		return;
	cx_lock(hca);
	if (hca->self < CX_PROCS) {
		run_due(hca, cx_now_ns(hca), 0);
		set_deadline(hca, find_deadline(hca));
	}
	cx_unlock(hca);
}

/* -- stepping ---------------------------------------------------------------------------------- */

static unsigned run_published(struct cx_hca *hca, unsigned max_wqes)
{
	unsigned done = 0;

	for (struct cx_head *head = cx_first(hca, CX_QP); head && (!max_wqes || done < max_wqes);
	     head = cx_next(hca, CX_QP, head))
		done += cx_sq_run(hca, (struct cx_qp *)head, max_wqes ? max_wqes - done : 0);
	return done;
}

/*
 * Virtual time stands still while there is something to execute. Only a step that found nothing
 * moves it, to the next deadline, so a run is the same each time and never sleeps.
 */
static unsigned skip_to_deadline(struct cx_hca *hca, unsigned max_wqes)
{
	const uint64_t deadline = find_deadline(hca);
	unsigned done;

	if (!deadline)
		return 0;
	hca->virtual_ns = deadline;
	done = run_due(hca, deadline, max_wqes);
	set_deadline(hca, find_deadline(hca));
	return done;
}

static void poll_arms(struct cx_hca *hca)
{
	for (struct cx_head *head = cx_first(hca, CX_CQ); head; head = cx_next(hca, CX_CQ, head))
		cx_cq_poll_arm(hca, (struct cx_cq *)head);
}

unsigned cx_step(struct cx_hca *hca, unsigned max_wqes)
{
	bool waited;
	unsigned done;

	if (hca->self >= CX_PROCS)
		return 0;
	cx_lock(hca);
	waited = hca->shared->procs[hca->self].deadline_ns;
	if (hca->config.passive) {
		poll_arms(hca);
		hca->virtual_ns++;
	}
	done = run_published(hca, max_wqes);
	/* What began to wait just now has had its turn in this step. */
	if (!done && waited && hca->config.passive)
		done = skip_to_deadline(hca, max_wqes);
	cx_unlock(hca);
	return done;
}
