/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A CQ that several threads poll. The inline poll of what the user has never finds anything, and goes
 * the cold way, which polls under the lock; so CQs of one poller pay nothing for it.
 */
#include "path.h"

#include <stdlib.h>

#include "init.h"

static int poll_locked(struct bsn_cq *hot, struct bsn_completion *c, int n)
{
	struct cq_object *cq = cq_of(hot);
	int got;

	pthread_spin_lock(&cq->lock);
	got = cq->unlocked ? cq->unlocked->poll(cq->ring, c, n) : bsn_cq_poll_many(cq->ring, c, n);
	pthread_spin_unlock(&cq->lock);
	return got;
}

static const struct bsn_cq_path locked_path = { .poll = poll_locked };

int cq_share(struct cq_object *cq)
{
	cq->is_shared = true;
	pthread_spin_init(&cq->lock, PTHREAD_PROCESS_PRIVATE);
	if (!cq->path->shows_rings)
		return 0;
	cq->ring = bsn_hot_alloc(sizeof(*cq->ring));
	return cq->ring ? 0 : fail(ENOMEM, "no memory");
}

void cq_guard(struct cq_object *cq)
{
	cq->unlocked = cq->ring->path;
	if (cq->ring == &cq->hot)
		cq->hot.path = &locked_path;
	else
		bsn_cq_init_path(&cq->hot, &locked_path);
	cq->hot.owner_thread = BSN_OWNER_ANYBODY;
}

void cq_unshare(struct cq_object *cq)
{
	if (!cq->is_shared)
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
