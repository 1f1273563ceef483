/* SPDX-License-Identifier: BSD-2-Clause */
/* The target that a DCI is connected to, and its failed streams. */
#include "clock.h"
#include "message.h"
#include "plan.h"
#include "process.h"
#include "tables.h"

/* -- counters ---------------------------------------------------------------------------------- */

void cx_dc_count(struct cx_hca *hca, unsigned proc, enum cx_dc_kind kind)
{
	hca->shared->dc[proc].kinds[kind]++;
}

void cx_dc_read(struct cx_hca *hca, struct cx_dc_counts *counts)
{
	*counts = (struct cx_dc_counts){ { 0 } };
	cx_lock(hca);
	if (hca->self < CX_PROCS)
		*counts = hca->shared->dc[hca->self];
	cx_unlock(hca);
}

/* -- connections ------------------------------------------------------------------------------- */

/* The stream of this name; if there is none, the least recently used one, which it replaces. */
static unsigned find_stream(const struct cx_qp *qp, uint16_t id)
{
	const struct cx_dc_stream *const streams = qp->run.dc.streams;
	unsigned oldest = 0;

	for (unsigned i = 0; i < 1u << qp->attr.log_streams; i++) {
		if (streams[i].dctn && streams[i].id == id)
			return i;
		if (streams[i].used_ns < streams[oldest].used_ns)
			oldest = i;
	}
	return oldest;
}

static uint16_t name_of(const struct cx_qp *qp, uint16_t id)
{
	return qp->attr.has_streams ? id : 0;
}

static bool is_stale(const struct cx_dc_stream *stream, uint64_t now)
{
	return now - stream->used_ns > CX_DC_IDLE_NS;
}

static void disconnect(struct cx_hca *hca, const struct cx_qp *qp,
		       const struct cx_dc_stream *stream, bool was_idle)
{
	cx_dc_count(hca, qp->head.owner, was_idle ? CX_DC_idle_disconnect : CX_DC_disconnect);
	cx_trace(hca, "dc: qpn %#x stream %#x disconnected from DCT %#x%s", qp->head.number,
		 stream->id, stream->dctn, was_idle ? ", which was idle" : "");
}

static unsigned count_of_qp(struct cx_hca *hca, const struct cx_qp *qp, unsigned proc, uint64_t now)
{
	const struct cx_qp *dct;
	unsigned count = 0;

	for (unsigned i = 0; i < 1u << qp->attr.log_streams; i++) {
		dct = cx_qp_find(hca, qp->run.dc.streams[i].dctn);
		count += dct && dct->head.owner == proc && !is_stale(&qp->run.dc.streams[i], now);
	}
	return count;
}

/* Connections without those of `qp`, which the caller knows. */
static unsigned count_of_others(struct cx_hca *hca, const struct cx_qp *qp, unsigned proc,
				uint64_t now)
{
	const struct cx_head *head;
	unsigned count = 0;
	uint32_t index = 0;

	while ((head = cx_next_of_all(hca, CX_QP, &index))) {
		const struct cx_qp *other = (const struct cx_qp *)head;

		if (other != qp && other->attr.dc == CX_DC_INITIATOR)
			count += count_of_qp(hca, other, proc, now);
	}
	return count;
}

bool cx_dc_has_room(struct cx_hca *hca, const struct cx_qp *qp, uint16_t id,
		    const struct cx_qp *dct)
{
	const struct cx_dc_stream *stream = &qp->run.dc.streams[find_stream(qp, name_of(qp, id))];
	const unsigned proc = dct->head.owner;
	const uint64_t now = cx_now_ns(hca);
	const struct cx_qp *left;
	unsigned count;

	if (!hca->faults || !hca->faults->dc_connections)
		return true;
	count = count_of_others(hca, qp, proc, now) + count_of_qp(hca, qp, proc, now);
	left = is_stale(stream, now) ? NULL : cx_qp_find(hca, stream->dctn);
	if (left && left->head.owner == proc) /* this connection ends, or is the one that is used */
		count--;
	return count < hca->faults->dc_connections;
}

void cx_dc_refuse(struct cx_hca *hca, const struct cx_qp *qp, struct cx_outcome *out)
{
	cx_dc_count(hca, qp->head.owner, CX_DC_cnak);
	cx_trace(hca, "dc: qpn %#x: CNAK", qp->head.number);
	out->verdict = CX_CNAKED;
	out->wait_ns = CX_DC_CNAK_NS;
}

void cx_dc_connect(struct cx_hca *hca, struct cx_qp *qp, uint16_t id, const struct cx_qp *dct)
{
	const uint32_t dctn = dct->head.number;
	struct cx_dc_stream *stream = &qp->run.dc.streams[find_stream(qp, name_of(qp, id))];
	const uint64_t now = cx_now_ns(hca);
	const bool is_idle = stream->dctn && is_stale(stream, now);
	const bool is_same = stream->dctn == dctn;

	stream->used_ns = now;
	if (is_same && !is_idle)
		return;
	if (stream->dctn)
		disconnect(hca, qp, stream, is_idle);
	stream->id = name_of(qp, id);
	stream->dctn = dctn;
	cx_dc_count(hca, qp->head.owner, CX_DC_connect);
	cx_counter_add(hca, dct, CX_COUNTER_rx_dct_connect);
	if (is_same)
		cx_dc_count(hca, qp->head.owner, CX_DC_reconnect);
	if (qp->attr.full_handshake || dct->attr.full_handshake)
		cx_dc_count(hca, qp->head.owner, CX_DC_full_handshake);
	cx_trace(hca, "dc: qpn %#x stream %#x %sconnected to DCT %#x", qp->head.number, stream->id,
		 is_same ? "re" : "", dctn);
}

/* -- streams in error -------------------------------------------------------------------------- */

bool cx_dc_is_errored(const struct cx_qp *qp, uint16_t id)
{
	for (unsigned i = 0; i < qp->run.dc.errored_count; i++)
		if (qp->run.dc.errored[i] == id)
			return true;
	return false;
}

bool cx_dc_fail_stream(struct cx_hca *hca, struct cx_qp *qp, uint16_t id)
{
	struct cx_dc_link *link = &qp->run.dc;

	if (!qp->attr.has_streams)
		return false;
	if (!cx_dc_is_errored(qp, id))
		link->errored[link->errored_count++] = id;
	cx_trace(hca, "dc: qpn %#x stream %#x in error", qp->head.number, id);
	return link->errored_count < 1u << qp->attr.log_errored_streams;
}

bool cx_dc_reset_stream(struct cx_qp *qp, uint16_t id)
{
	struct cx_dc_link *link = &qp->run.dc;

	for (unsigned i = 0; i < link->errored_count; i++) {
		if (link->errored[i] == id) {
			link->errored[i] = link->errored[--link->errored_count];
			return true;
		}
	}
	return false;
}
