/* SPDX-License-Identifier: BSD-2-Clause */
/* Completions of requests. */
#include "reap.h"

#include "bsn_syndrome.h"
#include "init.h"
#include "posted.h"

const char bsn_own_request;

/* -- a request is done ------------------------------------------------------------------------ */

static const uint8_t *wqe_of(const struct bsn_route *route, uint32_t wqe_index)
{
	return route->ring + (wqe_index * BSN_BB_SIZE & route->mask);
}

/* Takes the id and the user pointer that were kept for a request (struct bsn_sq). */
static void recall(const struct bsn_route *route, uint32_t wqe_index, struct bsn_completion *c)
{
	struct dv_route *const whole = dv_route(route);
	const uint32_t slot = (wqe_index * BSN_BB_SIZE & route->mask) / BSN_BB_SIZE;
	const uint8_t *const wqe = wqe_of(route, wqe_index);

	if (whole->has_peers) { /* two words a slot */
		c->id = whole->ids[2 * slot];
		memcpy(&c->user, &whole->ids[2 * slot + 1], sizeof(c->user));
		return;
	}
	c->user = route->user;
	if (bsn_wqe_is_near(wqe, BSN_NEAR_DS))
		memcpy(&c->id, wqe + BSN_NEAR_ID_AT, sizeof(c->id));
	else
		c->id = whole->ids[slot];
}

static uint8_t *hidden_of(const struct bsn_route *route, uint32_t wqe_index)
{
	return &dv_sq(dv_route(route)->sq)
			->hidden[(wqe_index * BSN_BB_SIZE & route->mask) / BSN_BB_SIZE];
}

static void set_hidden(const struct bsn_route *route, uint32_t wqe_index, enum bsn_hidden how)
{
	__atomic_store_n(hidden_of(route, wqe_index), (uint8_t)how, __ATOMIC_RELAXED);
}

/* Whether the success of the request with this @id is shown. Clears the mark of a shown failure. */
static bool take_shown(const struct bsn_route *route, uint32_t wqe_index, uint64_t id)
{
	uint8_t hidden;

	if (BSN_UNLIKELY(id == BSN_OWN_ID))
		return false;
	if (BSN_LIKELY(!__atomic_load_n(&dv_route(route)->has_hidden, __ATOMIC_RELAXED)))
		return true;
	hidden = __atomic_load_n(hidden_of(route, wqe_index), __ATOMIC_RELAXED);
	if (BSN_UNLIKELY(hidden == BSN_HIDDEN_FAILED))
		set_hidden(route, wqe_index, BSN_HIDDEN_NOT);
	return hidden == BSN_HIDDEN_NOT || hidden == BSN_HIDDEN_FAILED;
}

bool bsn_skip_hidden(struct bsn_route *route, const uint8_t *cqe)
{
	const uint32_t index = bsn_cq_wqe_index(cqe);
	struct bsn_completion kept;

	if (!dv_route(route)->sq)
		return true; /* no send side: a ConnectX writes no such CQE */
	recall(route, index, &kept);
	if (take_shown(route, index, kept.id))
		return false;
	set_hidden(route, index, BSN_HIDDEN_NOT);
	bsn_route_done(route, index);
	return true;
}

/* -- results ---------------------------------------------------------------------------------- */

/*
 * Copies the list of the memory that a request reads into, which may go round the ring's end. The
 * WQE is still in the ring: its blocks are free only after it is done. Returns the entries; 0: the
 * request reads nothing.
 */
static unsigned copy_list(const struct bsn_route *route, uint32_t wqe_index, uint8_t *list)
{
	const struct bsn_sq *sq = dv_route(route)->sq;
	const uint16_t index = (uint16_t)wqe_index;
	const struct bsn_wqe_op *op;
	unsigned entries = 0;
	struct bsn_ctrl ctrl;

	bsn_ctrl_decode(&ctrl, bsn_sq_slot_of(sq, index));
	op = bsn_wqe_op_find(ctrl.opcode);
	if (!op || op->data != BSN_DATA_SCATTER)
		return 0;
	for (unsigned ds = bsn_sq_data_at(sq, index, &ctrl); ds < ctrl.ds; ds++)
		memcpy(list + BSN_DS_SIZE * entries++, bsn_sq_ds_at(sq, index, ds), BSN_DS_SIZE);
	return entries;
}

/*
 * Converts the result of an atomic in the CQE, which is ours. It is big-endian there (bsn_cqe.h),
 * and has the device's order in memory.
 */
static void order_result(const struct bsn_route *route, uint32_t wqe_opcode, uint32_t length,
			 const uint8_t *result)
{
	const struct bsn_wqe_op *op = bsn_wqe_op_find(wqe_opcode);
	uint64_t value;

	if (!op || !op->has_atomic || length != sizeof(value) ||
	    dv_sq(dv_route(route)->sq)->has_big_endian_results)
		return;
	value = bsn_load_be64(result);
	memcpy((uint8_t *)(uintptr_t)result, &value, sizeof(value));
}

/* Hands out a result that is inside the CQE, or copies it to where the request says. */
static bool take_result(const struct bsn_cq *cq, const struct bsn_route *route, const uint8_t *cqe,
			unsigned kind, struct bsn_completion *c)
{
	const uint8_t *const src = data_inside(cq, cqe, kind);
	uint8_t list[BSN_WQE_MAX_DS * BSN_DS_SIZE];
	struct bsn_cqe_req view;

	if (!src)
		return false;
	bsn_cqe_req_decode(&view, cqe);
	order_result(route, view.wqe_opcode, view.byte_count, src);
	if (dv_sq(dv_route(route)->sq)->gives_results) {
		c->data = src;
		c->flags = BSN_C_DATA | BSN_C_IN_CQE;
	} else {
		bsn_scatter(src, view.byte_count, list, copy_list(route, view.wqe_counter, list));
	}
	return true;
}

/* Hands out a result that is not in the CQE, if the queue hands out results. */
static void give_result(const struct bsn_route *route, uint32_t wqe_index, struct bsn_completion *c)
{
	uint8_t list[BSN_WQE_MAX_DS * BSN_DS_SIZE];
	struct bsn_data first;

	if (c->flags & BSN_C_DATA || !copy_list(route, wqe_index, list))
		return;
	bsn_data_decode(&first, list);
	c->data = (const void *)(uintptr_t)first.addr;
	c->flags |= BSN_C_DATA;
}

/*
 * Completes a request of a queue with hidden completions or handed-out results, or whose result is
 * in the CQE.
 */
static __attribute__((noinline)) bool reap_result(const struct bsn_cq *cq, struct bsn_route *route,
						  const uint8_t *cqe, unsigned kind,
						  struct bsn_completion *c)
{
	const uint32_t index = bsn_cq_wqe_index(cqe);

	recall(route, index, c);
	if (is_compressed(kind) || !take_shown(route, index, c->id))
		return false;
	if (has_format(kind) && !take_result(cq, route, cqe, kind, c))
		return false;
	if (dv_sq(dv_route(route)->sq)->gives_results)
		give_result(route, index, c);
	bsn_route_done(route, index);
	return true;
}

bool bsn_reap_send(const struct bsn_cq *cq, struct bsn_route *route, const uint8_t *cqe,
		   unsigned kind, struct bsn_completion *c)
{
	struct dv_route *const whole = dv_route(route);
	const uint32_t index = bsn_cq_wqe_index(cqe);

	if (BSN_UNLIKELY(!whole->sq))
		return false;
	if (BSN_UNLIKELY(kind || __atomic_load_n(&whole->has_hidden, __ATOMIC_RELAXED) ||
			 dv_sq(whole->sq)->gives_results))
		return reap_result(cq, route, cqe, kind, c);
	recall(route, index, c);
	if (BSN_UNLIKELY(c->id == BSN_OWN_ID))
		return false;
	bsn_route_done(route, index);
	return true;
}

/* -- a request failed ------------------------------------------------------------------------- */

/*
 * Whether unsignaled requests after a failed one get no CQE. On such a queue all of them fail, so
 * @flushed is right at each CQE. It would be wrong if some still succeeded, as those of an
 * initiator's other streams do.
 */
static bool is_silent_after_failure(const struct bsn_route *route)
{
	const struct bsn_ctrl silent = { .ce = BSN_CE_ON_FIRST_ERROR };

	return dv_route(route)->has_failed &&
	       dv_route(route)->sq->ce_quiet & bsn_ctrl_word(&silent, 1) >> 32;
}

/* Whether a failed or flushed request is shown to the user. */
static bool shows_failure(struct bsn_route *route, struct bsn_completion *c)
{
	const bool is_own = c->id == BSN_OWN_ID;

	if (is_own && c->status == IBV_WC_WR_FLUSH_ERR)
		return false;
	if (is_own)
		c->id = 0;
	bsn_route_keep_error(route, c);
	return !is_own && bsn_sq_tell_owner(dv_route(route)->sq, c);
}

/*
 * Flushes requests that get no CQE, in order, until one is shown to the user, one has a CQE, or
 * @end is reached. Returns whether one is shown.
 */
static bool flush_silent(struct bsn_route *route, uint16_t end, struct bsn_completion *c)
{
	struct bsn_ctrl ctrl;

	if (!is_silent_after_failure(route))
		return false;
	for (uint16_t index; (index = dv_route(route)->flushed) != end;) {
		bsn_ctrl_decode(&ctrl, wqe_of(route, index));
		if (ctrl.ce != BSN_CE_ON_FIRST_ERROR)
			return false;
		*c = (struct bsn_completion){
			.status = IBV_WC_WR_FLUSH_ERR,
			.opcode = (uint8_t)ctrl.opcode,
			.syndrome = BSN_SYNDROME_FLUSHED,
			.wqe_index = index,
			.qpn = ctrl.qpn,
		};
		recall(route, index, c);
		dv_route(route)->flushed = (uint16_t)(index + bsn_bb_of_ds(ctrl.ds));
		bsn_route_done(route, index);
		if (shows_failure(route, c))
			return true;
	}
	return false;
}

bool bsn_flush_before(struct bsn_route *route, const uint8_t *cqe, struct bsn_completion *c)
{
	return flush_silent(route, (uint16_t)bsn_cq_wqe_index(cqe), c);
}

/*
 * Completes, as flushed, the requests of a failed queue that get no CQE. Requests that were only
 * appended did not fail: they can be cancelled.
 */
int bsn_sq_give_back(struct bsn_sq *sq, struct bsn_completion *c, int n)
{
	const uint16_t end = dv_sq(sq)->ring ? bsn_sq_first_unrung(sq) : 0;
	int got = 0;

	while (got < n && flush_silent(&dv_sq(sq)->route.hot, end, &c[got]))
		got++;
	return got;
}

/* The flush of a failed queue goes on after @index, the failed request, which is done. */
static void note_failed_request(struct bsn_route *route, uint16_t index)
{
	struct bsn_ctrl ctrl;

	bsn_ctrl_decode(&ctrl, wqe_of(route, index));
	dv_route(route)->flushed = (uint16_t)(index + bsn_bb_of_ds(ctrl.ds));
	dv_route(route)->has_failed = true;
}

int bsn_reap_failed_send(struct bsn_route *route, const struct bsn_cqe_err *cqe,
			 struct bsn_completion *c)
{
	const uint16_t index = (uint16_t)cqe->wqe_counter;
	uint8_t hidden;

	if (!dv_route(route)->sq)
		return -EPROTO;
	recall(route, index, c);
	note_failed_request(route, index);
	/* A user's request that the library signaled is shown. */
	hidden = __atomic_load_n(hidden_of(route, index), __ATOMIC_RELAXED);
	if (hidden != BSN_HIDDEN_NOT)
		set_hidden(route, index,
			   hidden == BSN_HIDDEN_SUCCESS ? BSN_HIDDEN_FAILED : BSN_HIDDEN_NOT);
	bsn_route_done(route, index);
	return hidden != BSN_HIDDEN_ALWAYS && shows_failure(route, c);
}
