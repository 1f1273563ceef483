/* SPDX-License-Identifier: BSD-2-Clause */
/* Asynchronous events, and their effect on queues. */
#include "engine.h"

#include <poll.h>

static struct bsn_cq *find_cq(struct bsn_device *device, const struct ibv_cq *verbs)
{
	struct cq_object *cq = listed_cq(device, verbs);

	return cq ? &cq->dv.hot : NULL;
}

static struct bsn_rq *find_srq(struct bsn_device *device, const struct ibv_srq *verbs)
{
	struct srq_object *srq = listed_srq(device, verbs);

	return srq ? srq->rq : NULL;
}

static void name_object(struct bsn_device *device, const struct ibv_async_event *verbs,
			struct bsn_event *event)
{
	switch (verbs->event_type) {
	case IBV_EVENT_CQ_ERR:
		event->object = BSN_EVENT_CQ;
		event->cq = find_cq(device, verbs->element.cq);
		break;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		event->object = BSN_EVENT_QP;
		event->qp = listed_qp(device, verbs->element.qp);
		break;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		event->object = BSN_EVENT_SRQ;
		event->srq = find_srq(device, verbs->element.srq);
		break;
	case IBV_EVENT_PORT_ACTIVE:
	case IBV_EVENT_PORT_ERR:
	case IBV_EVENT_LID_CHANGE:
	case IBV_EVENT_PKEY_CHANGE:
	case IBV_EVENT_SM_CHANGE:
	case IBV_EVENT_CLIENT_REREGISTER:
	case IBV_EVENT_GID_CHANGE:
		event->object = BSN_EVENT_PORT;
		event->port = (uint8_t)verbs->element.port_num;
		break;
	default:
		event->object = BSN_EVENT_DEVICE;
		break;
	}
}

static void kill_cq(struct cq_object *cq, int error)
{
	bsn_cq_kill(cq->ring, error);
	cq_wake(cq);
}

static void kill_cqs(struct bsn_device *device)
{
	atomic_store(&device->is_gone, true);
	for (struct cq_object *cq = device->cqs; cq; cq = cq->next)
		kill_cq(cq, EIO);
}

/* Marks the queues that died by this event, so that polls say so. */
static void spread(struct bsn_device *device, const struct bsn_event *event)
{
	if (event->type == IBV_EVENT_CQ_ERR && event->cq)
		kill_cq(cq_of(event->cq), EOVERFLOW);
	if (event->type == IBV_EVENT_DEVICE_FATAL)
		kill_cqs(device);
}

/*
 * Asks by poll() whether the file has an event. The file may be of the application's context, so
 * its mode is not changed.
 */
static bool has_event(const struct bsn_device *device)
{
	struct pollfd file = { .fd = device->context->async_fd, .events = POLLIN };

	return poll(&file, 1, 0) == 1;
}

static int no_event(void)
{
	return fail(EAGAIN, "no event waits");
}

static int read_event(struct bsn_device *device, struct bsn_event *event)
{
	struct ibv_async_event verbs;

	errno = 0;
	if (ibv_get_async_event(device->context, &verbs)) {
		const int error = errno ? errno : EIO;
		if (error == EAGAIN || error == EINTR)
			return no_event();
		kill_cqs(device);
		return fail(error, "%s gives no more events: the device is gone: close it",
			    device->info.name);
	}
	*event = (struct bsn_event){
		.type = verbs.event_type,
		.name = ibv_event_type_str(verbs.event_type),
	};
	name_object(device, &verbs, event);
	spread(device, event);
	ibv_ack_async_event(&verbs);
	return 0;
}

int bsn_device_get_event(struct bsn_device *device, struct bsn_event *event)
{
	int err;

	if (!device || !event)
		return fail(EINVAL, "no device, or no place for the event");
	pthread_mutex_lock(&device->lock);
	err = has_event(device) ? read_event(device, event) : no_event();
	pthread_mutex_unlock(&device->lock);
	return err;
}
