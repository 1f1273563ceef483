/* SPDX-License-Identifier: BSD-2-Clause */
/* Raises events of the HCA. */
#include "events.h"

#include <errno.h>

#include <rdma/ib_user_verbs.h>

#include "channel.h"
#include "process.h"
#include "subscriptions.h"
#include "tables.h"

/*
 * Names of the events that the model raises; the preloaded library must not need libibverbs for
 * them.
 */
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

	const struct bsn_eqe eqe = { .type = BSN_EVENT_COMPLETION, .number = cq->head.number };

	cx_trace(hca, "event: completion, cqn %#x", cq->head.number);
	if (channel)
		cx_channel_write(hca, channel, &record, sizeof(record));
	cx_tell_subscribers(hca, cq->told, &eqe);
}

void cx_event_async(struct cx_hca *hca, uint32_t number, uint64_t cookie, enum ibv_event_type type)
{
	const struct cx_channel *channel = cx_channel_find(hca, number);
	const struct ib_uverbs_async_event_desc record = { .element = cookie, .event_type = type };

	cx_trace(hca, "event: asynchronous, %s", name_event(type));
	if (channel)
		cx_channel_write(hca, channel, &record, sizeof(record));
}

void cx_event_cq_error(struct cx_hca *hca, const struct cx_cq *cq)
{
	const struct bsn_eqe eqe = { .type = BSN_EVENT_CQ_ERROR,
				     .cq_err_cqn = cq->head.number,
				     .cq_err_syndrome = BSN_CQ_ERROR_OVERRUN };

	cx_event_async(hca, cq->attr.async_channel, cq->attr.cookie, IBV_EVENT_CQ_ERR);
	cx_tell_subscribers(hca, cq->told, &eqe);
}

void cx_event_srq_limit(struct cx_hca *hca, const struct cx_srq *srq)
{
	const struct bsn_eqe eqe = { .type = BSN_EVENT_SRQ_LIMIT, .number = srq->head.number };

	cx_event_async(hca, srq->attr.async_channel, srq->attr.cookie, IBV_EVENT_SRQ_LIMIT_REACHED);
	cx_tell_subscribers(hca, srq->told, &eqe);
}

/* The firmware's number of an event; 0: it has none. */
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

/*
 * device.h: the events of a target name the kind of queue, which devx.c get_legacy_obj_type() needs
 */
static void tell_subscribers(struct cx_hca *hca, const struct cx_qp *qp, unsigned event)
{
	const struct bsn_eqe eqe = { .type = event,
				     .queue_type = qp->attr.dc == CX_DC_TARGET ? BSN_EVENT_QUEUE_DCT
									       : BSN_EVENT_QUEUE_QP,
				     .number = qp->head.number };

	cx_tell_subscribers(hca, qp->told, &eqe);
}

/*
 * The kernel passes events of a target on only by DevX: mlx5 qpc.c dct_allowed_event_types(),
 * rsc_event_notifier()
 */
void cx_event_qp(struct cx_hca *hca, const struct cx_qp *qp, enum ibv_event_type type)
{
	const uint32_t channel = qp->attr.dc == CX_DC_TARGET ? 0 : qp->attr.async_channel;
	const unsigned number = number_of(type);

	cx_event_async(hca, channel, qp->attr.cookie, type);
	if (number)
		tell_subscribers(hca, qp, number);
}

void cx_event_firmware(struct cx_hca *hca, const struct cx_qp *qp, enum bsn_event_number event)
{
	cx_trace(hca, "event: %#x of qpn %#x", event, qp->head.number);
	tell_subscribers(hca, qp, event);
}

static void tell_of_port(struct cx_hca *hca, enum bsn_port_change change)
{
	const struct bsn_eqe eqe = { .type = BSN_EVENT_PORT_CHANGE, .sub_type = change, .port = 1 };

	cx_tell_subscribers_of_port(hca, &eqe);
}

void cx_event_device(struct cx_hca *hca, enum ibv_event_type type)
{
	const struct ib_uverbs_async_event_desc record = { .element = 1, .event_type = type };

	cx_trace(hca, "event: asynchronous, %s", name_event(type));
	for (uint32_t i = 0; i < CX_CHANNELS; i++) {
		const struct cx_channel *channel = &hca->shared->channels[i];

		if (channel->head.number && channel->kind == CX_EVENT_ASYNC)
			cx_channel_write(hca, channel, &record, sizeof(record));
	}
	if (type == IBV_EVENT_PORT_ERR || type == IBV_EVENT_PORT_ACTIVE)
		tell_of_port(hca, type == IBV_EVENT_PORT_ERR ? BSN_PORT_CHANGE_DOWN
							     : BSN_PORT_CHANGE_ACTIVE);
}

/* The record that ends a channel, by its kind. */
static void deliver_end(struct cx_hca *hca, const struct cx_channel *channel)
{
	const struct ib_uverbs_comp_event_desc comp = { .cq_handle = CX_CHANNEL_END };
	const struct ib_uverbs_async_event_desc async = { .element = CX_CHANNEL_END };
	const struct cx_devx_record devx = { 0 };

	switch (channel->kind) {
	case CX_EVENT_COMPLETION:
		cx_channel_write(hca, channel, &comp, sizeof(comp));
		break;
	case CX_EVENT_ASYNC:
		cx_channel_write(hca, channel, &async, sizeof(async));
		break;
	case CX_EVENT_DEVX_COOKIE:
		cx_channel_write(hca, channel, &devx, offsetof(struct cx_devx_record, eqe));
		break;
	case CX_EVENT_DEVX_DATA:
		cx_channel_write(hca, channel, &devx, sizeof(devx));
		break;
	}
}

void cx_event_end(struct cx_hca *hca)
{
	for (uint32_t i = 0; i < CX_CHANNELS; i++)
		if (hca->shared->channels[i].head.number)
			deliver_end(hca, &hca->shared->channels[i]);
}
