/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * BSN_CHECK=1: each request is checked before it is posted. A checked queue shows the inline code
 * no room, so each request comes to a path that is put before the queue's own, in any program. A
 * queue that is not checked costs nothing more.
 */
#include "path.h"

#include <pthread.h>
#include <stdlib.h>

#include "bsn_ops.h"
#include "init.h"
#include "mem/keys.h"
#include "refuse.h"
#include "sq.h"

/* How many empty polls in a row lead to a search for requests that were never published. */
enum { SILENT_POLLS = 1 << 16 };

struct checked_sq {
	struct bsn_sq_path path;         /* first: what @sq->path points to */
	const struct bsn_sq_path *inner; /* NULL: mlx5 */
	struct bsn_sq *sq;
	struct bsn_qp *qp;
	uintptr_t poster;
	uint32_t appended; /* requests since the last that was published */
	bool was_told;     /* the program was told once; it is not told again */
};

struct checked_rq {
	struct bsn_rq_path path; /* first: what @rq->path points to */
	const struct bsn_rq_path *inner;
	struct bsn_rq *rq;
	struct bsn_pd *pd;
	uint32_t number; /* of the QP or SRQ */
	uintptr_t poster;
	const struct srq_object *srq; /* NULL: a QP's own */
	uint32_t *lkeys;              /* of each place of a receive, @rq->max_sge */
	uint32_t places;              /* a QP's last receives, or an SRQ's WQEs; 0: not kept */
	uint32_t posted;
};

int checks_open(struct bsn_device *device)
{
	const int err = switch_on("BSN_CHECK", &device->is_checked);

	if (device->is_checked)
		say(device, "BSN_CHECK=1: each request is looked at");
	return err;
}

/* -- the checks ------------------------------------------------------------------------------ */

/* The first thread that calls has the role until it is handed over. */
static int check_thread(uintptr_t *owner, const char *what, uint32_t number, const char *hand_over)
{
	const uintptr_t self = bsn_this_thread();

	if (!*owner)
		*owner = self;
	return *owner == self
		       ? 0
		       : fail(EPERM,
			      "%s 0x%x belongs to another thread: call %s() to change the thread",
			      what, number, hand_over);
}

static int check_key(const struct bsn_pd *pd, const struct bsn_sge *sge, bool is_written)
{
	struct known_key key;

	if (!keys_find(pd->device, sge->lkey, &key))
		return keys_was_removed(pd->device, sge->lkey)
			       ? fail(EINVAL, "lkey 0x%x was deregistered", sge->lkey)
			       : 0; /* not Bunsen's memory */
	if (key.pd && key.pd != pd)
		return fail(EINVAL, "lkey 0x%x is of another protection domain than the queue",
			    sge->lkey);
	if (key.mkey)
		return 0; /* requests change what it spans */
	if (sge->addr < key.addr || sge->length > key.length ||
	    sge->addr - key.addr > key.length - sge->length)
		return fail(EINVAL,
			    "%u bytes at 0x%llx are not in the memory of lkey 0x%x: 0x%llx bytes "
			    "at 0x%llx",
			    sge->length, (unsigned long long)sge->addr, sge->lkey,
			    (unsigned long long)key.length, (unsigned long long)key.addr);
	if (is_written && !(key.access & IBV_ACCESS_LOCAL_WRITE))
		return fail(EINVAL,
			    "lkey 0x%x does not allow the device to write: register the memory "
			    "with IBV_ACCESS_LOCAL_WRITE",
			    sge->lkey);
	return 0;
}

static int check_memory(const struct bsn_pd *pd, const struct bsn_sge *sge, unsigned count,
			bool is_written)
{
	int err = 0;

	for (unsigned i = 0; i < count && !err; i++)
		if (sge[i].length)
			err = check_key(pd, &sge[i], is_written);
	return err;
}

static int check_inline(const struct bsn_sge *sge, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (sge[i].length && !sge[i].addr)
			return fail(EINVAL, "%u bytes of inline data at NULL", sge[i].length);
	return 0;
}

static int check_poster(struct checked_sq *c)
{
	struct bsn_lane *const lane = c->sq->lane;

	if (lane && !dv_lane(lane)->lock &&
	    check_thread(&dv_lane(lane)->owner_thread, "the lane of QP", dv_sq(c->sq)->qpn,
			 "bsn_qp_hand_over"))
		return -EPERM;
	return check_thread(&c->poster, "QP", dv_sq(c->sq)->qpn, "bsn_qp_hand_over");
}

static int check_request(struct checked_sq *c, const struct bsn_request *r)
{
	const unsigned opcode = r->what & 0xff, count = r->what >> BSN_WHAT_COUNT_SHIFT;
	const struct bsn_wqe_op *op = bsn_wqe_op_find(opcode);
	int err = check_poster(c);

	if (!err && count && !r->sge)
		err = fail(EINVAL, "%u SGEs at NULL", count);
	if (!err)
		err = bsn_sq_judge(c->sq, r);
	if (err)
		return err;
	if (!r->remote && is_one_of(BSN_OPS_WITH_RADDR, opcode))
		return fail(EINVAL, "no remote address");
	if (r->operand && r->remote->addr % 8)
		return fail(EINVAL, "an atomic at 0x%llx, which is not a multiple of 8",
			    (unsigned long long)r->remote->addr);
	if (r->what & BSN_F_INLINE)
		return check_inline(r->sge, count);
	return check_memory(c->qp->pd, r->sge, count, op && op->data == BSN_DATA_SCATTER);
}

/* -- send queues ----------------------------------------------------------------------------- */

static struct checked_sq *checked_of(const struct bsn_sq *sq)
{
	return (struct checked_sq *)(uintptr_t)dv_sq(sq)->path;
}

/* Removes the checks until leave(). */
static struct checked_sq *enter(struct bsn_sq *sq)
{
	struct checked_sq *c = checked_of(sq);

	dv_sq(sq)->path = c->inner;
	return c;
}

static int leave(struct checked_sq *c, int result)
{
	dv_sq(c->sq)->path = &c->path;
	bsn_sq_set_room(c->sq, NULL);
	return result;
}

static int count_appended(struct checked_sq *c, uint32_t what, int result)
{
	if (!result && what & BSN_F_RING)
		c->appended = 0;
	else if (!result)
		__atomic_fetch_add(&c->appended, 1, __ATOMIC_RELAXED);
	return result;
}

/* Checks and posts a request. A body comes from the library, which has checked it. */
static int post(struct bsn_ep *ep, const struct bsn_request *r)
{
	const int err = r->body ? 0 : check_request(checked_of(ep->sq), r);
	struct checked_sq *c;

	if (err)
		return err;
	c = enter(ep->sq);
	return count_appended(c, r->what, leave(c, bsn_ep_post(ep, r)));
}

static int ring(struct bsn_sq *sq)
{
	struct checked_sq *c = checked_of(sq);
	const int err = check_poster(c);

	if (err)
		return err;
	enter(sq);
	return count_appended(c, BSN_F_RING, leave(c, bsn_sq_ring(sq)));
}

static int cancel(struct bsn_sq *sq)
{
	struct checked_sq *c = enter(sq);

	return count_appended(c, BSN_F_RING, leave(c, bsn_sq_cancel(sq)));
}

static uint32_t room(struct bsn_sq *sq)
{
	struct checked_sq *c = enter(sq);
	const uint32_t requests = dv_sq(sq)->path ? dv_sq(sq)->path->room(sq) : bsn_sq_room(sq);

	leave(c, 0);
	return requests;
}

/* -- receive queues -------------------------------------------------------------------------- */

static struct checked_rq *checked_recvs_of(const struct bsn_rq *rq)
{
	return (struct checked_rq *)(uintptr_t)dv_rq(rq)->path;
}

static int check_recvs(struct checked_rq *c, const struct bsn_sge *sge, unsigned count)
{
	const int err =
		check_thread(&c->poster, "the receive queue of", c->number, "bsn_qp_hand_over");

	if (err)
		return err;
	return check_memory(c->pd, sge, count, true);
}

/* Hides the room from inline code, so that each post is checked. */
static int leave_recvs(struct checked_rq *c, int result)
{
	c->rq->limit = NULL;
	return result;
}

/* Of the next receive. If an SRQ is full, there is none, and nothing is posted. */
static uint32_t next_place(const struct checked_rq *c)
{
	uint32_t slot = 0;

	if (!c->places)
		return 0;
	if (!c->srq)
		return c->posted % c->places;
	c->srq->path->srq_free_slots(c->srq, &slot, 1);
	return slot;
}

static void remember(struct checked_rq *c, uint32_t place, const struct bsn_sge *sge,
		     unsigned count)
{
	uint32_t *const lkeys = c->lkeys + (size_t)place * c->rq->max_sge;

	for (unsigned i = 0; i < c->rq->max_sge; i++)
		lkeys[i] = i < count && sge[i].length ? sge[i].lkey : 0;
	c->posted++;
}

static int post_recv(struct bsn_rq *rq, const struct bsn_sge *sge, unsigned count, uint64_t id)
{
	struct checked_rq *c = checked_recvs_of(rq);
	const uint32_t place = next_place(c);
	int err = bsn_rq_check_list(rq, sge, count);

	if (!err)
		err = check_recvs(c, sge, count);
	if (!err)
		err = c->inner->post(rq, sge, count, id);
	if (!err && c->places)
		remember(c, place, sge, count);
	return leave_recvs(c, err);
}

static struct checked_rq *front_rq(struct bsn_rq *rq, struct bsn_pd *pd, uint32_t number,
				   uint32_t places)
{
	struct checked_rq *c = calloc(1, sizeof(*c));
	uint32_t *lkeys = calloc((size_t)places * rq->max_sge + 1, sizeof(*lkeys));

	if (!c || !lkeys) {
		free(c);
		free(lkeys);
		return NULL;
	}
	*c = (struct checked_rq){ .path = { .post = post_recv, .post_many = bsn_rq_post_each },
				  .inner = dv_rq(rq)->path,
				  .rq = rq,
				  .pd = pd,
				  .number = number,
				  .lkeys = lkeys,
				  .places = places };
	dv_rq(rq)->path = &c->path;
	leave_recvs(c, 0);
	return c;
}

static void free_rq(struct checked_rq *c)
{
	if (c)
		free(c->lkeys);
	free(c);
}

/* -- memory that is to be freed --------------------------------------------------------------- */

static uint32_t count_lkey(const struct checked_rq *c, uint32_t place, uint32_t lkey)
{
	const uint32_t *const lkeys = c->lkeys + (size_t)place * c->rq->max_sge;
	uint32_t found = 0;

	for (unsigned i = 0; i < c->rq->max_sge; i++)
		found += lkeys[i] == lkey;
	return found;
}

/* Counts the QP's own receives that may still write to that memory. */
static uint32_t count_recvs(struct bsn_qp *qp, uint32_t lkey)
{
	const struct checked_rq *c = qp->checked_recvs;
	struct bsn_outstanding left = { 0 };
	uint32_t found = 0;

	if (!c || dv_sq(qp->sq)->route.has_failed)
		return 0;
	qp->path->qp_outstanding(qp, &left);
	for (uint32_t back = 1; back <= left.recvs && back <= c->places; back++)
		found += count_lkey(c, (c->posted - back) % c->places, lkey);
	return found;
}

/* Whether something takes receives of that SRQ: a failed QP does not. */
static bool is_received_from(const struct srq_object *srq)
{
	unsigned takers = (unsigned)atomic_load(&srq->uses.count);

	for (const struct bsn_qp *qp = srq->device->qps; qp; qp = qp->next)
		takers -= qp->srq == srq &&
			  (dv_sq(qp->sq)->route.has_failed || qp->verbs->state == IBV_QPS_ERR);
	return takers || srq->xrcd;
}

/* As count_recvs(), of an SRQ: each receive that was posted is in a WQE which is not free. */
static int count_shared_recvs(const struct srq_object *srq, uint32_t lkey, uint32_t *found)
{
	const struct checked_rq *const c = srq->checked;
	uint32_t *free_slots, free_count;

	*found = 0;
	if (!c || !c->places || !is_received_from(srq))
		return 0;
	free_slots = calloc(c->places, sizeof(*free_slots));
	if (!free_slots)
		return fail(ENOMEM, "no memory");
	free_count = srq->path->srq_free_slots(srq, free_slots, c->places);
	for (uint32_t i = 0; i < c->places; i++)
		*found += count_lkey(c, i, lkey);
	for (uint32_t i = 0; i < free_count; i++)
		*found -= count_lkey(c, free_slots[i], lkey);
	free(free_slots);
	return 0;
}

static int check_qps(const struct bsn_device *device, uint32_t lkey)
{
	for (struct bsn_qp *qp = device->qps; qp; qp = qp->next) {
		const uint32_t recvs = count_recvs(qp, lkey);

		if (recvs)
			return fail(
				EBUSY,
				"%u receives of QP 0x%x are posted into the memory of lkey 0x%x: "
				"bsn_qp_fail() and poll, or destroy the QP first",
				recvs, qp->info.number, lkey);
	}
	return 0;
}

static int check_srqs(const struct bsn_device *device, uint32_t lkey)
{
	uint32_t recvs;
	int err = 0;

	for (struct srq_object *srq = device->srqs; srq && !err; srq = srq->next) {
		err = count_shared_recvs(srq, lkey, &recvs);
		if (!err && recvs)
			err = fail(EBUSY,
				   "%u receives of an SRQ are posted into the memory of lkey 0x%x: "
				   "destroy the SRQ, or the QPs and targets that receive from it, "
				   "first",
				   recvs, lkey);
	}
	return err;
}

int checks_free(struct bsn_device *device, uint32_t lkey)
{
	int err;

	if (!device->is_checked)
		return 0;
	pthread_mutex_lock(&device->lock);
	err = check_qps(device, lkey);
	if (!err)
		err = check_srqs(device, lkey);
	pthread_mutex_unlock(&device->lock);
	return err;
}

/* -- from creation to the end ---------------------------------------------------------------- */

int checks_add_srq(struct srq_object *srq)
{
	if (!srq->device->is_checked)
		return 0;
	/* Of one on demand the library may post a receive once more, in another WQE. */
	srq->checked = front_rq(srq->rq, srq->pd, srq->number, srq->is_on_demand ? 0 : srq->slots);
	if (!srq->checked)
		return fail(ENOMEM, "no memory");
	srq->checked->srq = srq;
	return 0;
}

void checks_remove_srq(struct srq_object *srq)
{
	free_rq(srq->checked);
}

int checks_add_qp(struct bsn_qp *qp)
{
	struct checked_sq *c;

	if (!qp->device->is_checked)
		return 0;
	c = calloc(1, sizeof(*c));
	if (!qp->srq)
		qp->checked_recvs = front_rq(qp->rq, qp->pd, qp->info.number, qp->info.recv_depth);
	if (!c || (!qp->srq && !qp->checked_recvs)) {
		free(c);
		return fail(ENOMEM, "no memory");
	}
	*c = (struct checked_sq){
		.path = { .post = post, .ring = ring, .cancel = cancel, .room = room },
		.inner = dv_sq(qp->sq)->path,
		.sq = qp->sq,
		.qp = qp
	};
	qp->checked_sends = c;
	leave(c, 0);
	return 0;
}

void checks_remove_qp(struct bsn_qp *qp)
{
	free(qp->checked_sends);
	free_rq(qp->checked_recvs);
}

void checks_hand_over(struct bsn_qp *qp)
{
	if (qp->checked_sends)
		qp->checked_sends->poster = 0;
	if (qp->checked_recvs)
		qp->checked_recvs->poster = 0;
	if (qp->srq && qp->srq->checked)
		qp->srq->checked->poster = 0;
}

/* -- polls ----------------------------------------------------------------------------------- */

int checks_poller(struct cq_object *cq)
{
	return cq->is_shared
		       ? 0
		       : check_thread(&cq->poller, "CQ", dv_cq(cq->ring)->cqn, "bsn_cq_hand_over");
}

/* Tells once of each queue with requests that were not published. */
static void tell_of_appended(struct cq_object *cq)
{
	struct bsn_device *device = cq->device;

	pthread_mutex_lock(&device->lock);
	for (struct bsn_qp *qp = device->qps; qp; qp = qp->next) {
		struct checked_sq *c = qp->checked_sends;
		const uint32_t appended = c ? __atomic_load_n(&c->appended, __ATOMIC_RELAXED) : 0;

		if (qp->cq != cq || !appended || c->was_told)
			continue;
		c->was_told = true;
		say(device,
		    "QP 0x%x: %u requests were appended and not published: post the last one with "
		    "BSN_F_RING, or call bsn_ring()",
		    qp->info.number, appended);
	}
	pthread_mutex_unlock(&device->lock);
}

void checks_polled(struct cq_object *cq, int got)
{
	if (got)
		cq->silent_polls = 0;
	else if (++cq->silent_polls == SILENT_POLLS)
		tell_of_appended(cq);
}
