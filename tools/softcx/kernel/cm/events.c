/* SPDX-License-Identifier: BSD-2-Clause */
/* The events of a file, in order of arrival. */
#include "cm.h"

#include <string.h>

static struct cx_cm_event *of_number(struct cx_cm *cm, uint32_t number)
{
	return number ? &cm->events[number - 1] : NULL;
}

static struct cx_cm_event *find_empty(struct cx_cm *cm)
{
	for (uint32_t i = 0; i < cm->events_used; i++)
		if (!cm->events[i].id)
			return &cm->events[i];
	return cm->events_used < CX_CM_EVENTS ? &cm->events[cm->events_used++] : NULL;
}

static void append(struct cx_cm *cm, struct cx_cm_file *file, struct cx_cm_event *event)
{
	struct cx_cm_event *last = of_number(cm, file->last);
	const uint32_t number = (uint32_t)(event - cm->events) + 1;

	event->next = 0;
	if (last)
		last->next = number;
	else
		file->first = number;
	file->last = number;
	if (!last)
		cm_file_show(file);
}

static const char *name_of(enum cm_event event)
{
	static const char *const names[] = {
		[CM_ADDR_RESOLVED] = "address resolved",
		[CM_ADDR_ERROR] = "address error",
		[CM_ROUTE_RESOLVED] = "route resolved",
		[CM_ROUTE_ERROR] = "route error",
		[CM_CONNECT_REQUEST] = "connect request",
		[CM_CONNECT_RESPONSE] = "connect response",
		[CM_CONNECT_ERROR] = "connect error",
		[CM_UNREACHABLE] = "unreachable",
		[CM_REJECTED] = "rejected",
		[CM_ESTABLISHED] = "established",
		[CM_DISCONNECTED] = "disconnected",
		[CM_DEVICE_REMOVAL] = "device removal",
		[CM_MULTICAST_JOIN] = "multicast join",
		[CM_MULTICAST_ERROR] = "multicast error",
		[CM_ADDR_CHANGE] = "address change",
		[CM_TIMEWAIT_EXIT] = "timewait exit",
	};

	return names[event];
}

static struct cx_cm_event *create(struct cx_hca *hca, struct cx_cm_id *id, enum cm_event event,
				  int status)
{
	struct cx_cm *cm = &hca->shared->cm;
	struct cx_cm_event *entry = find_empty(cm);

	cx_trace(hca, "rdma_cm: id %u: %s, status %d%s", cm_number(cm, id) - 1, name_of(event),
		 status, entry ? "" : " is lost: there are too many");
	if (!entry)
		return NULL;
	memset(entry, 0, sizeof(*entry));
	entry->id = cm_number(cm, id);
	entry->told.uid = id->uid;
	entry->told.id = entry->id - 1;
	entry->told.event = event;
	entry->told.status = (uint32_t)status;
	return entry;
}

void cm_report(struct cx_hca *hca, struct cx_cm_id *id, enum cm_event event, int status,
	       const struct rdma_ucm_conn_param *conn)
{
	struct cx_cm_event *entry = id->uid ? create(hca, id, event, status) : NULL;

	if (!entry)
		return;
	if (conn)
		entry->told.param.conn = *conn;
	if (event == CM_CONNECT_RESPONSE)
		entry->told.ece = id->ece;
	append(&hca->shared->cm, cm_file_of(&hca->shared->cm, id), entry);
}

void cm_report_datagram(struct cx_hca *hca, struct cx_cm_id *id, enum cm_event event, int status,
			const struct rdma_ucm_ud_param *ud)
{
	struct cx_cm_event *entry = id->uid ? create(hca, id, event, status) : NULL;

	if (!entry)
		return;
	if (ud)
		entry->told.param.ud = *ud;
	append(&hca->shared->cm, cm_file_of(&hca->shared->cm, id), entry);
}

void cm_report_group(struct cx_hca *hca, struct cx_cm_group *group, enum cm_event event, int status,
		     const struct rdma_ucm_ud_param *ud)
{
	struct cx_cm *cm = &hca->shared->cm;
	struct cx_cm_id *id = cm_of_number(cm, group->id);
	struct cx_cm_event *entry = id->uid ? create(hca, id, event, status) : NULL;

	if (!entry)
		return;
	entry->group = (uint32_t)(group - cm->groups) + 1;
	entry->told.uid = group->uid;
	entry->told.id = entry->group - 1;
	entry->told.param.ud = *ud;
	append(cm, cm_file_of(cm, id), entry);
}

/* Private data of a request have the length that the message has room for, as in the kernel. */
static void put_datagram_request(struct rdma_ucm_event_resp *told,
				 const struct rdma_ucm_conn_param *asked)
{
	told->param.ud.private_data_len = asked->private_data_len;
	memcpy(told->param.ud.private_data, asked->private_data, asked->private_data_len);
}

bool cm_report_request(struct cx_hca *hca, struct cx_cm_id *listener, struct cx_cm_id *made)
{
	struct cx_cm_event *entry = create(hca, listener, CM_CONNECT_REQUEST, 0);

	if (!entry)
		return false;
	entry->made = cm_number(&hca->shared->cm, made);
	entry->told.id = entry->made - 1;
	if (made->qp_type == IBV_QPT_UD)
		put_datagram_request(&entry->told, &made->asked);
	else
		entry->told.param.conn = made->asked;
	entry->told.ece = made->ece;
	append(&hca->shared->cm, cm_file_of(&hca->shared->cm, listener), entry);
	return true;
}

/* -- removal ----------------------------------------------------------------------------------- */

typedef bool chooser(const struct cx_cm_event *event, const void *context);

/* Unlinks the chosen events from a file's list; `next` links them. */
static uint32_t take_out(struct cx_cm *cm, struct cx_cm_file *file, chooser *is_chosen,
			 const void *context)
{
	uint32_t *link = &file->first, taken = 0, *end = &taken;

	file->last = 0;
	while (*link) {
		struct cx_cm_event *event = of_number(cm, *link);

		if (is_chosen(event, context)) {
			*end = *link;
			*link = event->next;
			event->next = 0;
			end = &event->next;
		} else {
			file->last = *link;
			link = &event->next;
		}
	}
	return taken;
}

/* The program has nothing left to read. */
static void quiet(struct cx_hca *hca, struct cx_cm_file *file, bool had_events)
{
	if (had_events && !file->first)
		cm_file_quiet(hca, file);
}

static bool is_of_id(const struct cx_cm_event *event, const void *context)
{
	return event->id == *(const uint32_t *)context;
}

static bool is_of_group(const struct cx_cm_event *event, const void *context)
{
	return event->group == *(const uint32_t *)context;
}

bool cm_forget_event(struct cx_hca *hca, const struct cx_cm_id *id, struct cx_cm_id **made)
{
	struct cx_cm *cm = &hca->shared->cm;
	const uint32_t number = cm_number(cm, id);
	struct cx_cm_file *file = cm_file_of(cm, id);
	uint32_t *link = &file->first, before = 0;
	struct cx_cm_event *event;

	while ((event = of_number(cm, *link)) && event->id != number) {
		before = *link;
		link = &event->next;
	}
	if (!event)
		return false;
	if (file->last == *link)
		file->last = before;
	*link = event->next;
	*made = cm_of_number(cm, event->made);
	memset(event, 0, sizeof(*event));
	quiet(hca, file, true);
	return true;
}

void cm_forget_group_events(struct cx_hca *hca, const struct cx_cm_group *group)
{
	struct cx_cm *cm = &hca->shared->cm;
	const uint32_t number = (uint32_t)(group - cm->groups) + 1;
	struct cx_cm_file *file = cm_file_of(cm, cm_of_number(cm, group->id));
	const bool had_events = file->first;
	uint32_t taken = take_out(cm, file, is_of_group, &number);

	while (taken) {
		struct cx_cm_event *event = of_number(cm, taken);

		taken = event->next;
		memset(event, 0, sizeof(*event));
	}
	quiet(hca, file, had_events);
}

void cm_move_events(struct cx_hca *hca, const struct cx_cm_id *id, struct cx_cm_file *from,
		    struct cx_cm_file *to)
{
	struct cx_cm *cm = &hca->shared->cm;
	const uint32_t number = cm_number(cm, id);
	const bool had_events = from->first;
	uint32_t taken = take_out(cm, from, is_of_id, &number);

	while (taken) {
		struct cx_cm_event *event = of_number(cm, taken);

		taken = event->next;
		append(cm, to, event);
	}
	quiet(hca, from, had_events);
}

static void count(struct cx_cm *cm, const struct cx_cm_event *event)
{
	struct cx_cm_id *id = cm_of_number(cm, event->id);

	id->reported++;
	if (event->made)
		id->backlog++;
	if (event->group)
		cm->groups[event->group - 1].reported++;
}

int cm_take_event(struct cx_hca *hca, struct cx_cm_file *file, struct rdma_ucm_event_resp *told)
{
	struct cx_cm *cm = &hca->shared->cm;
	struct cx_cm_event *event = of_number(cm, file->first);

	if (!event)
		return -EAGAIN;
	file->first = event->next;
	if (!file->first) {
		file->last = 0;
		cm_file_quiet(hca, file);
	}
	*told = event->told;
	count(cm, event);
	memset(event, 0, sizeof(*event));
	return 0;
}
