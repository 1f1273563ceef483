/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CQs that several threads poll, whose polls are checked, or that have timestamps. The inline poll of
 * the CQ that the user has never finds anything. It goes the cold way, which polls the real CQ; so
 * other CQs pay nothing for this.
 */
#include "path.h"

#include <stdlib.h>

#include "init.h"

static uint64_t in_ns(const struct cq_object *cq, uint64_t stamp)
{
	if (!stamp || cq->timestamps == BSN_TIMESTAMPS_RAW)
		return stamp;
	return cq->timestamps == BSN_TIMESTAMPS_REAL_TIME
		       ? provider_ns_of_real_time(stamp)
		       : provider_ns_of_ticks(cq->device->context, stamp);
}

static int poll_ring_stamped(const struct cq_object *cq, struct bsn_completion *c, int n)
{
	const int got = bsn_cq_poll_stamped(cq->ring, c, n);

	for (int i = 0; i < got; i++)
		c[i].timestamp = in_ns(cq, c[i].timestamp);
	return got;
}

static int poll_behind(struct cq_object *cq, struct bsn_completion *c, int n)
{
	if (cq->unlocked)
		return cq->unlocked->poll(cq->ring, c, n);
	return cq->timestamps ? poll_ring_stamped(cq, c, n) : bsn_cq_poll(cq->ring, c, n);
}

static int poll_stamped(struct bsn_cq *hot, struct bsn_completion *c, int n)
{
	return poll_behind(cq_of(hot), c, n);
}

static int poll_locked(struct bsn_cq *hot, struct bsn_completion *c, int n)
{
	struct cq_object *cq = cq_of(hot);
	int got;

	pthread_spin_lock(&cq->lock);
	got = poll_behind(cq, c, n);
	pthread_spin_unlock(&cq->lock);
	return got;
}

static int poll_checked(struct bsn_cq *hot, struct bsn_completion *c, int n)
{
	struct cq_object *cq = cq_of(hot);
	int got = checks_poller(cq);

	if (got)
		return got;
	cq_lock(cq);
	got = poll_behind(cq, c, n);
	cq_unlock(cq);
	checks_polled(cq, got);
	return got;
}

static const struct bsn_cq_path locked_path = { .poll = poll_locked };
static const struct bsn_cq_path checked_path = { .poll = poll_checked };
static const struct bsn_cq_path stamped_path = { .poll = poll_stamped };

static bool wants_stamps_of_ring(const struct cq_object *cq)
{
	return cq->timestamps && cq->path->shows_rings;
}

int cq_front(struct cq_object *cq, bool is_shared)
{
	cq->has_front = is_shared || cq->device->is_checked || wants_stamps_of_ring(cq);
	if (!cq->has_front)
		return 0;
	cq->is_shared = is_shared;
	pthread_spin_init(&cq->lock, PTHREAD_PROCESS_PRIVATE);
	if (!cq->path->shows_rings)
		return 0;
	cq->ring = bsn_hot_alloc(sizeof(*cq->ring));
	return cq->ring ? 0 : fail(ENOMEM, "no memory");
}

void cq_guard(struct cq_object *cq)
{
	const struct bsn_cq_path *front = cq->device->is_checked ? &checked_path :
					  cq->is_shared		 ? &locked_path :
								   &stamped_path;

	if (!cq->has_front)
		return;
	cq->unlocked = cq->ring->path;
	if (cq->ring == &cq->hot)
		cq->hot.path = front;
	else
		bsn_cq_init_path(&cq->hot, front);
}

void cq_unfront(struct cq_object *cq)
{
	if (!cq->has_front)
		return;
	if (cq->ring != &cq->hot)
		free(cq->ring);
	pthread_spin_destroy(&cq->lock);
}

void cq_lock(struct cq_object *cq)
{
	if (cq->is_shared)
		pthread_spin_lock(&cq->lock);
}

void cq_unlock(struct cq_object *cq)
{
	if (cq->is_shared)
		pthread_spin_unlock(&cq->lock);
}
