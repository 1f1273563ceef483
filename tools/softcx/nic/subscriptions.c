/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Subscriptions to events by DevX, by the rules of drivers/infiniband/hw/mlx5/devx.c: a
 * subscription lives as long as its object and its channel; what it has told can be read after the
 * object is gone. A channel without data has one record for each subscription, however often the
 * event came.
 */
#include "subscriptions.h"

#include <errno.h>
#include <string.h>

#include "../os/raw.h"
#include "channel.h"
#include "process.h"
#include "tables.h"

static struct cx_subscription *at(struct cx_hca *hca, uint32_t link)
{
	return link ? &hca->shared->subscriptions[link - 1] : NULL;
}

static uint32_t link_of(struct cx_hca *hca, const struct cx_subscription *s)
{
	return (uint32_t)(s - hca->shared->subscriptions) + 1;
}

/*
 * Where the list of an object of this process begins. NULL: there is no such object, or it is the
 * port.
 */
static uint32_t *list_of(struct cx_hca *hca, enum cx_event_source source, uint32_t number)
{
	struct cx_srq *srq;
	struct cx_qp *qp;
	struct cx_cq *cq;

	switch (source) {
	case CX_SOURCE_QP:
		qp = cx_qp_find_own(hca, number);
		return qp ? &qp->told : NULL;
	case CX_SOURCE_CQ:
		cq = cx_cq_find_own(hca, number);
		return cq ? &cq->told : NULL;
	case CX_SOURCE_SRQ:
		srq = cx_srq_find_own(hca, number);
		return srq ? &srq->told : NULL;
	default:
		return NULL;
	}
}

/* -- beginning and ending ---------------------------------------------------------------------- */

static void end(struct cx_hca *hca, struct cx_subscription *s)
{
	uint32_t *link = list_of(hca, s->source, s->number);

	while (link && *link && at(hca, *link) != s)
		link = &at(hca, *link)->next_of_object;
	if (link && *link)
		*link = s->next_of_object;
	cx_unpublish(hca, CX_SUBSCRIPTION, &s->head);
}

void cx_end_subscriptions(struct cx_hca *hca, uint32_t *told)
{
	for (struct cx_subscription *s; (s = at(hca, *told));) {
		*told = s->next_of_object;
		cx_unpublish(hca, CX_SUBSCRIPTION, &s->head);
	}
}

void cx_end_subscriptions_of_channel(struct cx_hca *hca, uint32_t channel)
{
	struct cx_head *head = cx_first(hca, CX_SUBSCRIPTION);

	while (head) {
		struct cx_subscription *s = (struct cx_subscription *)head;

		head = cx_next(hca, CX_SUBSCRIPTION, head);
		if (s->channel == channel)
			end(hca, s);
	}
}

static int begin(struct cx_hca *hca, const struct cx_subscription_attr *attr, uint16_t event,
		 struct cx_subscription **out)
{
	uint32_t *last = list_of(hca, attr->source, attr->number), number;
	struct cx_subscription *s;
	struct cx_head *head;
	int err = cx_create(hca, CX_SUBSCRIPTION, &head, &number);

	if (err)
		return err;
	s = (struct cx_subscription *)head;
	s->channel = attr->channel;
	s->number = attr->number;
	s->source = attr->source;
	s->event = event;
	s->eventfd = attr->eventfd;
	s->cookie = attr->cookie;
	cx_publish(hca, CX_SUBSCRIPTION, head, number);
	while (last && *last)
		last = &at(hca, *last)->next_of_object;
	if (last)
		*last = link_of(hca, s);
	*out = s;
	return 0;
}

static bool is_possible(struct cx_hca *hca, const struct cx_subscription_attr *attr)
{
	const struct cx_channel *channel = cx_channel_find_own(hca, attr->channel);

	return channel &&
	       (channel->kind == CX_EVENT_DEVX_COOKIE || channel->kind == CX_EVENT_DEVX_DATA) &&
	       (attr->source == CX_SOURCE_PORT || list_of(hca, attr->source, attr->number));
}

int cx_event_subscribe(struct cx_hca *hca, const struct cx_subscription_attr *attr,
		       const uint16_t *events, unsigned count)
{
	struct cx_subscription *begun[CX_MOST_EVENTS];
	unsigned done = 0;
	int err;

	cx_lock_to_create(hca);
	err = count <= CX_MOST_EVENTS && is_possible(hca, attr) ? 0 : -EINVAL;
	while (!err && done < count) {
		err = begin(hca, attr, events[done], &begun[done]);
		done += !err;
	}
	while (err && done)
		end(hca, begun[--done]);
	cx_unlock(hca);
	return err;
}

/* -- telling ----------------------------------------------------------------------------------- */

/*
 * If the process is alive after that, the descriptor is not another process's of the same number.
 */
static int open_peer(struct cx_hca *hca, unsigned proc)
{
	const int pidfd = raw_pidfd_open(hca->shared->procs[proc].pid);

	if (pidfd < 0 || cx_proc_alive(hca, proc))
		return pidfd;
	raw_close(pidfd);
	return -1;
}

/*
 * An eventfd has no path. Another process's is reached as its memory is: by the right to trace it.
 */
static void signal_eventfd(struct cx_hca *hca, const struct cx_subscription *s)
{
	const bool is_here = cx_is_local(hca, s->head.owner);
	const int pidfd = is_here ? -1 : open_peer(hca, s->head.owner);
	const int fd = is_here ? s->eventfd : raw_pidfd_getfd(pidfd, s->eventfd);
	const uint64_t one = 1;

	if (raw_write(fd, &one, sizeof(one)) < 0)
		cx_trace(hca, "event: lost, eventfd %d of process %d does not take it", s->eventfd,
			 (int)hca->shared->procs[s->head.owner].pid);
	if (!is_here) {
		raw_close(fd);
		raw_close(pidfd);
	}
}

static void write_record(struct cx_hca *hca, struct cx_subscription *s, const struct bsn_eqe *eqe)
{
	struct cx_channel *channel = cx_channel_find(hca, s->channel);
	struct cx_devx_record record = { .cookie = s->cookie, .subscription = s->head.number };

	if (!channel)
		return;
	if (channel->kind == CX_EVENT_DEVX_DATA) {
		bsn_eqe_encode(record.eqe, eqe);
		if (!cx_channel_write(hca, channel, &record, sizeof(record)))
			channel->overflowed = true;
	} else if (!s->is_pending) {
		s->is_pending = cx_channel_write(hca, channel, &record,
						 offsetof(struct cx_devx_record, eqe));
	}
}

static void tell(struct cx_hca *hca, struct cx_subscription *s, const struct bsn_eqe *eqe)
{
	const int saved = errno;

	if (s->event != eqe->type)
		return;
	if (s->eventfd >= 0)
		signal_eventfd(hca, s);
	else
		write_record(hca, s, eqe);
	errno = saved;
}

void cx_tell_subscribers(struct cx_hca *hca, uint32_t told, const struct bsn_eqe *eqe)
{
	for (struct cx_subscription *s = at(hca, told); s; s = at(hca, s->next_of_object))
		tell(hca, s, eqe);
}

void cx_tell_subscribers_of_port(struct cx_hca *hca, const struct bsn_eqe *eqe)
{
	struct cx_subscription *s;
	uint32_t index = 0;

	while (index < hca->shared->cursor[CX_SUBSCRIPTION] &&
	       (s = (struct cx_subscription *)cx_next_of_all(hca, CX_SUBSCRIPTION, &index)))
		if (s->source == CX_SOURCE_PORT)
			tell(hca, s, eqe);
}

/* -- reading ----------------------------------------------------------------------------------- */

void cx_event_was_read(struct cx_hca *hca, const struct cx_devx_record *record)
{
	struct cx_subscription *s;

	cx_lock(hca);
	s = (struct cx_subscription *)cx_find_own(hca, CX_SUBSCRIPTION, record->subscription);
	if (s)
		s->is_pending = false;
	cx_unlock(hca);
}

bool cx_channel_overflowed(struct cx_hca *hca, uint32_t number)
{
	struct cx_channel *channel;
	bool was_lost = false;

	cx_lock(hca);
	channel = cx_channel_find_own(hca, number);
	if (channel) {
		was_lost = channel->overflowed;
		channel->overflowed = false;
	}
	cx_unlock(hca);
	return was_lost;
}
