/* SPDX-License-Identifier: BSD-2-Clause */
/* Whom a DCI is connected to, and which of its streams have failed. */
#include "clock.h"
#include "process.h"

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

/* The stream of this name, else the one whose place it takes: the least recently used. */
static struct cx_dc_stream *find_stream(struct cx_qp *qp, uint16_t id)
{
	struct cx_dc_stream *const streams = qp->run.dc.streams, *oldest = streams;

	for (unsigned i = 0; i < 1u << qp->attr.log_streams; i++) {
		if (streams[i].dctn && streams[i].id == id)
			return &streams[i];
		if (streams[i].used_ns < oldest->used_ns)
			oldest = &streams[i];
	}
	return oldest;
}

static void disconnect(struct cx_hca *hca, const struct cx_qp *qp, const struct cx_dc_stream *stream,
		       bool was_idle)
{
	cx_dc_count(hca, qp->head.owner, was_idle ? CX_DC_idle_disconnect : CX_DC_disconnect);
	cx_trace(hca, "dc: qpn %#x stream %#x disconnected from DCT %#x%s", qp->head.number,
		 stream->id, stream->dctn, was_idle ? ", which was idle" : "");
}

void cx_dc_connect(struct cx_hca *hca, struct cx_qp *qp, uint16_t id, uint32_t dctn)
{
	struct cx_dc_stream *stream = find_stream(qp, qp->attr.has_streams ? id : 0);
	const uint64_t now = cx_now_ns(hca);
	const bool is_idle = stream->dctn && now - stream->used_ns > CX_DC_IDLE_NS;
	const bool again = stream->dctn == dctn;

	stream->used_ns = now;
	if (again && !is_idle)
		return;
	if (stream->dctn)
		disconnect(hca, qp, stream, is_idle);
	stream->id = qp->attr.has_streams ? id : 0;
	stream->dctn = dctn;
	cx_dc_count(hca, qp->head.owner, CX_DC_connect);
	if (again)
		cx_dc_count(hca, qp->head.owner, CX_DC_reconnect);
	cx_trace(hca, "dc: qpn %#x stream %#x %sconnected to DCT %#x", qp->head.number, stream->id,
		 again ? "re" : "", dctn);
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
