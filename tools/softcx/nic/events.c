/* SPDX-License-Identifier: BSD-2-Clause */
/* How the HCA tells of events. */
#include "events.h"

#include <errno.h>

#include <rdma/ib_user_verbs.h>

#include "../os/raw.h"
#include "process.h"
#include "tables.h"

/*
 * Opens the channel's FIFO, once for each channel that the entry holds. It is open for reading,
 * too, since its owner may be killed, and SIGPIPE would then end this process.
 */
static int open_fifo(struct cx_hca *hca, const struct cx_channel *channel)
{
	struct cx_fifo *fifo = &hca->fifos[channel - hca->shared->channels];

	if (fifo->serial == channel->serial)
		return fifo->fd;
	if (fifo->serial)
		raw_close(fifo->fd);
	fifo->serial = 0;
	fifo->fd = raw_open(channel->path, O_RDWR | O_NONBLOCK | O_CLOEXEC, 0);
	if (fifo->fd < 0)
		return -1;
	fifo->serial = channel->serial;
	return fifo->fd;
}

/* A record is written whole or not at all: it is far shorter than PIPE_BUF. */
static void deliver(struct cx_hca *hca, const struct cx_channel *channel, const void *record,
		    size_t len)
{
	const int saved = errno;
	const int fd = open_fifo(hca, channel);

	if (fd < 0 || raw_write(fd, record, len) != (ssize_t)len)
		cx_trace(hca, "event: lost, channel %#x at %s does not take it",
			 channel->head.number, channel->path);
	errno = saved;
}

/* Of the events that the model gives. The preloaded library must not need libibverbs for names. */
static const char *name_event(enum ibv_event_type type)
{
	static const char *const names[] = {
		[IBV_EVENT_CQ_ERR] = "CQ error",
		[IBV_EVENT_QP_FATAL] = "QP fatal",
		[IBV_EVENT_QP_REQ_ERR] = "QP invalid request",
		[IBV_EVENT_QP_ACCESS_ERR] = "QP access violation",
		[IBV_EVENT_COMM_EST] = "communication established",
		[IBV_EVENT_SQ_DRAINED] = "SQ drained",
		[IBV_EVENT_DEVICE_FATAL] = "device fatal",
		[IBV_EVENT_PORT_ACTIVE] = "port active",
		[IBV_EVENT_PORT_ERR] = "port error",
		[IBV_EVENT_SRQ_LIMIT_REACHED] = "SRQ limit",
		[IBV_EVENT_QP_LAST_WQE_REACHED] = "last WQE reached",
	};

	return type < sizeof(names) / sizeof(names[0]) && names[type] ? names[type] : "unnamed";
}

void cx_event_completion(struct cx_hca *hca, const struct cx_cq *cq)
{
	const struct cx_channel *channel = cx_channel_find(hca, cq->attr.comp_channel);
	const struct ib_uverbs_comp_event_desc record = { .cq_handle = cq->attr.cookie };

	cx_trace(hca, "event: completion, cqn %#x", cq->head.number);
	if (channel)
		deliver(hca, channel, &record, sizeof(record));
}

void cx_event_async(struct cx_hca *hca, uint32_t number, uint64_t cookie, enum ibv_event_type type)
{
	const struct cx_channel *channel = cx_channel_find(hca, number);
	const struct ib_uverbs_async_event_desc record = { .element = cookie, .event_type = type };

	cx_trace(hca, "event: asynchronous, %s", name_event(type));
	if (channel)
		deliver(hca, channel, &record, sizeof(record));
}

/* What the firmware calls it; 0: it has no number of its own. */
static unsigned number_of(enum ibv_event_type type)
{
	switch (type) {
	case IBV_EVENT_COMM_EST:
		return BSN_EVENT_COMM_EST;
	case IBV_EVENT_SQ_DRAINED:
		return BSN_EVENT_SQ_DRAINED;
	case IBV_EVENT_QP_FATAL:
		return BSN_EVENT_WQ_CATAS_ERROR;
	case IBV_EVENT_QP_REQ_ERR:
		return BSN_EVENT_WQ_INVAL_REQ_ERROR;
	case IBV_EVENT_QP_ACCESS_ERR:
		return BSN_EVENT_WQ_ACCESS_ERROR;
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		return BSN_EVENT_SRQ_LAST_WQE;
	default:
		return 0;
	}
}

static void tell_subscribers(struct cx_hca *hca, const struct cx_qp *qp, unsigned event)
{
	for (unsigned i = 0; i < CX_SUBSCRIPTIONS; i++) {
		const struct cx_subscription *s = &qp->subscriptions[i];
		const struct cx_channel *channel = cx_channel_find(hca, s->channel);

		if (channel && s->event == event)
			deliver(hca, channel, &s->cookie, sizeof(s->cookie));
	}
}

void cx_event_qp(struct cx_hca *hca, const struct cx_qp *qp, enum ibv_event_type type)
{
	const unsigned number = number_of(type);

	cx_event_async(hca, qp->attr.async_channel, qp->attr.cookie, type);
	if (number)
		tell_subscribers(hca, qp, number);
}

void cx_event_firmware(struct cx_hca *hca, const struct cx_qp *qp, enum bsn_event_number event)
{
	cx_trace(hca, "event: %#x of qpn %#x", event, qp->head.number);
	tell_subscribers(hca, qp, event);
}

int cx_event_subscribe(struct cx_hca *hca, uint32_t qpn, uint32_t channel, uint16_t event,
		       uint64_t cookie)
{
	const struct cx_channel *entry;
	struct cx_qp *qp;
	int err = -EINVAL;

	cx_lock(hca);
	qp = cx_qp_find_own(hca, qpn);
	entry = cx_channel_find_own(hca, channel);
	if (qp && entry && entry->kind == CX_EVENT_DEVX)
		err = -ENOSPC;
	for (unsigned i = 0; err == -ENOSPC && i < CX_SUBSCRIPTIONS; i++) {
		if (qp->subscriptions[i].channel)
			continue;
		qp->subscriptions[i] = (struct cx_subscription){ channel, event, cookie };
		err = 0;
	}
	cx_unlock(hca);
	return err;
}

void cx_event_device(struct cx_hca *hca, enum ibv_event_type type)
{
	const struct ib_uverbs_async_event_desc record = { .element = 1, .event_type = type };

	cx_trace(hca, "event: asynchronous, %s", name_event(type));
	for (uint32_t i = 0; i < CX_CHANNELS; i++) {
		const struct cx_channel *channel = &hca->shared->channels[i];

		if (channel->head.number && channel->kind == CX_EVENT_ASYNC)
			deliver(hca, channel, &record, sizeof(record));
	}
}

void cx_event_end(struct cx_hca *hca)
{
	const struct ib_uverbs_comp_event_desc comp = { .cq_handle = CX_CHANNEL_END };
	const struct ib_uverbs_async_event_desc async = { .element = CX_CHANNEL_END };

	for (uint32_t i = 0; i < CX_CHANNELS; i++) {
		const struct cx_channel *channel = &hca->shared->channels[i];

		if (!channel->head.number)
			continue;
		if (channel->kind != CX_EVENT_ASYNC)
			deliver(hca, channel, &comp, sizeof(comp));
		else
			deliver(hca, channel, &async, sizeof(async));
	}
}
