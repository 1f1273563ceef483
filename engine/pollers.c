/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Polls CQs that several threads share, that are checked, or that have timestamps. The inline poll
 * of the user's CQ never finds a CQE. It calls the CQ's path, which polls the real CQ; so other CQs
 * pay nothing for this.
 *
 * Polls CQs with guests, too. While a guest wants to take part, the CQ has a path by which polls
 * come here; while none does, polls go straight to the ring. (Polls of checked CQs always come
 * here.)
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

static int poll_queue(struct cq_object *cq, struct bsn_completion *c, int n)
{
	if (cq->ring_path)
		return cq->ring_path->poll(cq->ring, c, n);
	return cq->timestamps ? poll_ring_stamped(cq, c, n) : bsn_cq_poll(cq->ring, c, n);
}

/* -- guests ----------------------------------------------------------------------------------- */

/* Polls until a completion is left that is not the guests' own, or none comes. */
static int poll_and_hear(struct cq_object *cq, struct bsn_completion *c, int n)
{
	int got, left;

	do {
		got = left = poll_queue(cq, c, n);
		for (struct cq_guest *guest = cq->guests; guest && got >= 0; guest = guest->next)
			left = guest->hear(guest, c, left);
	} while (got > 0 && !left);
	return left;
}

static int ask_guests(struct cq_object *cq, struct bsn_completion *c, int n, bool may_sleep)
{
	int got = 0;

	for (struct cq_guest *guest = cq->guests; guest; guest = guest->next)
		got += guest->add(guest, c + got, n - got, may_sleep);
	return got;
}

/*
 * If the last poll had no room for the guests' completions, this one asks the guests first. If it
 * did not ask them first, or found nothing, it asks them at its end.
 */
static int poll_with_guests(struct cq_object *cq, struct bsn_completion *c, int n)
{
	const bool asks_first = cq->asks_first;
	int got = asks_first ? ask_guests(cq, c, n, false) : 0, polled = 0;

	if (got < n)
		polled = poll_and_hear(cq, c + got, n - got);
	if (polled < 0)
		return got ? got : polled;
	got += polled;
	if (!asks_first || !got)
		got += ask_guests(cq, c + got, n - got, !got);
	cq->asks_first = !asks_first && got == n;
	return got;
}

static bool any_wants_polls(const struct cq_object *cq)
{
	for (const struct cq_guest *guest = cq->guests; guest; guest = guest->next)
		if (guest->wants_polls(guest))
			return true;
	return false;
}

static int poll_by_path(struct bsn_cq *hot, struct bsn_completion *c, int n)
{
	struct cq_object *cq = cq_of(hot);
	int got;

	hot->path = cq->without_guests;
	cq->is_asking = true;
	got = poll_with_guests(cq, c, n);
	cq->is_asking = false;
	if (any_wants_polls(cq))
		cq_request_guests(cq);
	return got;
}

void cq_request_guests(struct cq_object *cq)
{
	static const struct bsn_cq_path guests_path = { .poll = poll_by_path };

	if (!cq->device->is_checked && !cq->is_asking)
		cq->dv.hot.path = &guests_path;
}

void cq_add_guest(struct cq_object *cq, struct cq_guest *guest)
{
	if (!cq->guests)
		cq->without_guests = cq->dv.hot.path;
	if (!cq->has_front)
		cq->ring_path = cq->without_guests;
	guest->next = cq->guests;
	cq->guests = guest;
	if (guest->wants_polls(guest))
		cq_request_guests(cq);
}

void cq_remove_guest(struct cq_object *cq, struct cq_guest *guest)
{
	struct cq_guest **at = &cq->guests;

	while (*at != guest)
		at = &(*at)->next;
	*at = guest->next;
	if (!cq->guests)
		cq->dv.hot.path = cq->without_guests;
}

/* -- fronts ----------------------------------------------------------------------------------- */

static int poll_stamped(struct bsn_cq *hot, struct bsn_completion *c, int n)
{
	return poll_queue(cq_of(hot), c, n);
}

static int poll_locked(struct bsn_cq *hot, struct bsn_completion *c, int n)
{
	struct cq_object *cq = cq_of(hot);
	int got;

	pthread_spin_lock(&cq->lock);
	got = poll_queue(cq, c, n);
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
	got = cq->guests ? poll_with_guests(cq, c, n) : poll_queue(cq, c, n);
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
	cq->ring = bsn_hot_alloc(sizeof(struct dv_cq));
	return cq->ring ? 0 : fail(ENOMEM, "no memory");
}

void cq_guard(struct cq_object *cq)
{
	const struct bsn_cq_path *front = cq->device->is_checked ? &checked_path
					  : cq->is_shared        ? &locked_path
								 : &stamped_path;

	if (!cq->has_front)
		return;
	cq->ring_path = cq->ring->path;
	if (cq->ring == &cq->dv.hot)
		cq->dv.hot.path = front;
	else
		bsn_cq_init_path(&cq->dv.hot, front);
}

void cq_unfront(struct cq_object *cq)
{
	if (!cq->has_front)
		return;
	if (cq->ring != &cq->dv.hot)
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
