/* SPDX-License-Identifier: BSD-2-Clause */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../command.h"
#include "bsn_cq.h"
#include "look.h"

#define FOLLOW_MS 100 /* between two looks */
#define QPS_TOLD  8   /* the most QPs that are listed if the one asked for does not exist */
#define PARTS_MAX 64  /* queues of QPs with the same number, of several devices */

struct live {
	const struct live_attr *attr;
	struct tell *tell;
	struct target target;
	struct published_list list;
	const struct bsn_registry_queue *parts[PARTS_MAX]; /* of the QP that is asked for */
	unsigned part_count;
	struct look *watched, **last; /* queues of this look, and where the next one is added */
	struct look *old;             /* those of the previous look that are still to come */
	size_t looked_count;          /* of the last look */
};

static volatile sig_atomic_t is_interrupted;

/* -- records ----------------------------------------------------------------------------------- */

static void add_text(struct record *record, const char *name, const char *text)
{
	record_add_text(record, name, text, strlen(text));
}

static const char *state_of(const struct look *look, uint32_t index)
{
	const bool is_done = is_before(index, look->done_end);

	if (look->published.queue.kind == BSN_REGISTRY_COMPLETION)
		return is_done ? "polled" : "not polled";
	if (look->published.queue.kind != BSN_REGISTRY_SEND)
		return "posted";
	return is_done ? "done" : is_before(index, look->rung_end) ? "outstanding" : "not rung";
}

/* How many blocks the WQE of a send queue has. */
static uint32_t blocks_at(const struct look *look, uint32_t index)
{
	struct bsn_ctrl ctrl;

	bsn_ctrl_decode(&ctrl, look_at(look, index));
	return bsn_bb_of_ds(ctrl.ds);
}

/* Reads an entry. Receives of an SRQ have no QP. */
static int read_entry(const struct look *look, uint32_t index, struct record *record,
		      struct bsn_bad *bad)
{
	static const enum raw_kind kinds[] = { [BSN_REGISTRY_SEND] = RAW_WQE,
					       [BSN_REGISTRY_RECV] = RAW_RECV,
					       [BSN_REGISTRY_SHARED_RECV] = RAW_RECV_SRQ,
					       [BSN_REGISTRY_COMPLETION] = RAW_CQE };
	const struct bsn_registry_queue *q = &look->published.queue;
	const bool is_send = q->kind == BSN_REGISTRY_SEND;
	const size_t slots = is_send ? blocks_at(look, index) : 1;

	*record = (struct record){ .transport = (enum bsn_transport)q->transport };
	if (record_decode(record, kinds[q->kind], look_at(look, index),
			  slots * look->ring.stride_bytes, bad))
		return -EBADMSG;
	if (q->kind == BSN_REGISTRY_RECV)
		record->qpn = KNOWN(q->number);
	if (record->recv)
		record->wqe_index = KNOWN(index & UINT16_MAX);
	return 0;
}

/* Reports an entry of a ring: its place, and its state. */
static void tell_entry(struct live *live, struct look *look, uint32_t index)
{
	const struct number *qp = &live->attr->qp;
	const uint32_t slot = index & (look->ring.count - 1);
	struct record record;
	struct bsn_bad bad;

	if (read_entry(look, index, &record, &bad)) {
		tell_unread(live->tell, 0, "%s 0x%x, slot %u: %s, offset %u: %s", look->ring.name,
			    look->published.queue.number, slot, bad.segment, bad.offset, bad.why);
		return;
	}
	if (record.cqe && qp->is_known && record.qpn.is_known && record.qpn.value != qp->value)
		return;
	record.ring = &look->ring;
	record.slot = slot;
	record_add_number(&record, "ring_number", look->published.queue.number);
	if (look->ring.producer.is_known)
		record_add_number(&record, "producer", look->ring.producer.value);
	if (look->ring.consumer.is_known)
		record_add_number(&record, "consumer", look->ring.consumer.value);
	add_text(&record, "state", state_of(look, index));
	tell_record(live->tell, &record);
}

/* -- the first failure of a QP ----------------------------------------------------------------- */

static void set_failure(struct record *record, const struct bsn_completion *c)
{
	const bool is_receive = c->opcode == BSN_RECV || c->opcode == BSN_RECV_RDMA_WITH_IMM;
	const char *status = ibv_wc_status_str(c->status);

	record->kind = RECORD_STATUS;
	record->side = is_receive ? SIDE_RESPONDER : SIDE_REQUESTER;
	record->qpn = KNOWN(c->qpn);
	record_set_status(record, status, strlen(status));
	if (c->syndrome) {
		record->syndrome = KNOWN(c->syndrome);
		record->vendor_syndrome = KNOWN(c->vendor_syndrome);
		record->hw_syndrome = KNOWN(c->hw_syndrome);
	}
	if (!is_receive) {
		record->opcode = KNOWN(c->opcode);
		record->wqe_index = KNOWN(c->wqe_index);
	}
	record_add_number(record, "request_id", c->id);
	add_text(record, "state", "the QP's first failure");
}

/* Reads the failure twice, since the owner of the queue may be writing it. */
static void tell_failure(struct live *live, struct look *look)
{
	const uint64_t address = look->published.queue.first_error;
	struct bsn_completion c, second;
	struct record record = { 0 };

	if (!address || look->has_failed || target_read(&live->target, address, &c, sizeof(c)) ||
	    target_read(&live->target, address, &second, sizeof(second)) ||
	    memcmp(&c, &second, sizeof(c)) != 0 || !c.status ||
	    published_check(&live->target, &look->published))
		return;
	look->has_failed = true;
	set_failure(&record, &c);
	tell_record(live->tell, &record);
}

/* -- one queue --------------------------------------------------------------------------------- */

/* Whether an entry is shown. One that is done is shown only with --follow. */
static bool is_shown(const struct look *look, uint32_t index, bool goes_on)
{
	const uint32_t kind = look->published.queue.kind;

	if (kind == BSN_REGISTRY_SHARED_RECV)
		return !look->is_free[index] && look->was_free[index];
	return kind == BSN_REGISTRY_RECV || goes_on || !is_before(index, look->done_end);
}

/* Prints a trouble once for each queue. */
static void tell_trouble(struct live *live, struct look *look, const char *why)
{
	if (!*why || look->was_told_of)
		return;
	look->was_told_of = true;
	tell_unread(live->tell, 0, "%s", why);
}

/* -ESRCH and the like end the look. That a queue was destroyed meanwhile is no failure. */
static int show_queue(struct live *live, struct look *look)
{
	const bool goes_on = live->attr->follows && look->has_last;
	const bool is_send = look->published.queue.kind == BSN_REGISTRY_SEND;
	const int err = look_take(look, live->attr->follows);
	int check;

	if (live->target.has_ended || err == -EPERM || err == -EPROTO)
		return err;
	check = published_check(&live->target, &look->published);
	if (check)
		return live->target.has_ended ? -ESRCH : check == -EPROTO ? check : 0;
	if (err) {
		tell_trouble(live, look, err == -EAGAIN ? look->why : live->target.why);
		return 0;
	}
	if (look->missed)
		tell_unread(live->tell, 0,
			    "%s 0x%x: %u slots were used and reused between two looks",
			    look->ring.name, look->published.queue.number, look->missed);
	for (uint32_t at = look->first; at != look->end; at += is_send ? blocks_at(look, at) : 1)
		if (is_shown(look, at, goes_on))
			tell_entry(live, look, at);
	tell_trouble(live, look, look->why);
	tell_failure(live, look);
	return 0;
}

/* -- all of them ------------------------------------------------------------------------------- */

static bool is_qp(const struct bsn_registry_queue *q)
{
	return q->kind == BSN_REGISTRY_SEND || q->kind == BSN_REGISTRY_RECV;
}

/* Whether a QP's queue completes on this CQ, or uses this SRQ. */
static bool is_part_of(const struct bsn_registry_queue *q, const struct bsn_registry_queue *of)
{
	if (memcmp(q->device, of->device, sizeof(q->device)) != 0)
		return false;
	if (q->kind == BSN_REGISTRY_COMPLETION)
		return q->number == of->cqn;
	return q->kind == BSN_REGISTRY_SHARED_RECV && of->kind == BSN_REGISTRY_RECV && of->srqn &&
	       q->number == of->srqn;
}

static void find_parts(struct live *live)
{
	const struct number *qp = &live->attr->qp;

	live->part_count = 0;
	for (size_t i = 0; i < live->list.count && live->part_count < PARTS_MAX; i++) {
		const struct bsn_registry_queue *q = &live->list.queues[i].queue;

		if (qp->is_known && is_qp(q) && q->number == qp->value)
			live->parts[live->part_count++] = q;
	}
}

/* Whether a queue is shown: with --qp, the QP's queues and those that it shares. */
static bool is_wanted(const struct live *live, const struct bsn_registry_queue *q)
{
	const struct number *qp = &live->attr->qp;

	if (!qp->is_known)
		return true;
	if (is_qp(q))
		return q->number == qp->value;
	for (unsigned i = 0; i < live->part_count; i++)
		if (is_part_of(q, live->parts[i]))
			return true;
	return false;
}

static void forget(struct look *look)
{
	while (look) {
		struct look *next = look->next;

		look_free(look);
		free(look);
		look = next;
	}
}

/*
 * Finds what is kept of a queue, or begins to watch it. Both lists are in the order of creation, so
 * queues before it are gone. A queue that was created anew at the same address is another one.
 */
static struct look *watch(struct live *live, const struct published *published)
{
	struct look **gone = &live->old, *look;

	while (*gone && !published_is_same(&(*gone)->published, published))
		gone = &(*gone)->next;
	look = *gone;
	if (look) {
		*gone = NULL;
		forget(live->old);
		live->old = look->next;
	} else {
		look = need(calloc(1, sizeof(*look)));
		look->target = &live->target;
	}
	look->published = *published;
	look->next = NULL;
	*live->last = look;
	live->last = &look->next;
	return look;
}

static int look_at_queue(struct live *live, const struct published *published)
{
	struct look *look = watch(live, published);
	const int err = show_queue(live, look);

	look_rest(look);
	if (!live->attr->follows) { /* nothing is kept of a queue */
		forget(live->watched);
		live->watched = NULL;
		live->last = &live->watched;
	}
	return err;
}

static int look_around(struct live *live)
{
	int err;

	target_begin(&live->target);
	err = published_read(&live->target, &live->list);
	live->looked_count = 0;
	live->old = live->watched;
	live->watched = NULL;
	live->last = &live->watched;
	find_parts(live);
	for (size_t i = 0; i < live->list.count && !err; i++)
		if (is_wanted(live, &live->list.queues[i].queue)) {
			live->looked_count++;
			err = look_at_queue(live, &live->list.queues[i]);
		}
	forget(live->old);
	return err;
}

/* -- from the beginning to the end ------------------------------------------------------------- */

static void interrupt(int signal_number)
{
	(void)signal_number;
	is_interrupted = 1;
}

/* --follow completes its output even if it is interrupted. */
static int follow(struct live *live)
{
	const struct sigaction action = { .sa_handler = interrupt };
	int err = 0;

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	while (!err && !is_interrupted && !fflush(stdout) && !ferror(stdout) &&
	       target_wait(&live->target, FOLLOW_MS))
		err = look_around(live);
	return live->target.has_ended ? 0 : err;
}

/* There is no such QP: lists those that exist. */
static void tell_no_qp(const struct live *live)
{
	char others[QPS_TOLD * 16] = "";
	unsigned told = 0;
	int len = 0;

	for (size_t i = 0; i < live->list.count && told < QPS_TOLD; i++)
		if (live->list.queues[i].queue.kind == BSN_REGISTRY_SEND)
			len += sprintf(others + len, "%s0x%x", told++ ? ", " : ", but ",
				       live->list.queues[i].queue.number);
	complain("wqe-dump: %s lists no QP 0x%x%s%s", live->target.name, live->attr->qp.value,
		 others, told == QPS_TOLD ? " ..." : "");
}

static int tell_result(struct live *live, int err)
{
	if (err)
		complain("wqe-dump: %s", live->target.why);
	else if (live->attr->follows && live->target.has_ended)
		complain("wqe-dump: %s has ended", live->target.name);
	else if (live->attr->qp.is_known && !live->looked_count)
		tell_no_qp(live);
	else if (!live->list.count)
		complain("wqe-dump: %s has no queues at present", live->target.name);
	else if (!live->tell->count)
		complain("wqe-dump: nothing in the %zu queues of %s%s%s", live->looked_count,
			 live->target.name, *live->target.why ? "; " : "", live->target.why);
	if (err && err != -ENODATA)
		return WQE_DUMP_FAILED;
	return live->tell->count ? WQE_DUMP_FOUND : WQE_DUMP_NOTHING;
}

int live_run(const struct live_attr *attr, struct tell *tell)
{
	struct live live = { .attr = attr, .tell = tell };
	int err = attr->core ? target_open_core(&live.target, attr->core, attr->trusts_core)
			     : target_open_process(&live.target, attr->pid);
	int status;

	tell->file = live.target.name;
	tell->source = attr->core ? "core" : "process";
	tell->sink->begin();
	if (!err)
		err = look_around(&live);
	if (!err && attr->follows)
		err = follow(&live);
	tell->sink->end();
	status = tell_result(&live, err);
	forget(live.watched);
	published_free(&live.list);
	target_close(&live.target);
	return status;
}
