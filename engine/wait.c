/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bsn_wait() polls for a while, then sleeps. No wake-up is lost:
 *
 *	before a thread sleeps   it counts itself as a sleeper, asks for an event, and polls once
 *	                         more
 *	a CQE after that poll    raises the event: it came after the request
 *	a CQE before it          was found
 *	an event                 stays in the channel until somebody takes it
 *	several sleepers         a thread that wakes, for whatever reason, wakes another as it
 *	                         leaves; that one asks for an event, too, so none sleeps on a
 *	                         request that another's event has used up
 *	a CQ that dies           is marked dead, then its sleepers are woken; they poll before they
 *	                         sleep
 */
#include "path.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "idle.h"

enum {
	DEFAULT_BUSY_NS = 20000,
	RESTS_A_LOOK = 16, /* at the clock, while awake */
	NS_PER_S = 1000000000,
};

struct wait {
	struct cq_object *cq;
	struct bsn_completion *c;
	int n;
	struct bsn_wait_attr attr;
	uint64_t began_ns;
};

static int look(const struct wait *w)
{
	return bsn_cq_poll(&w->cq->dv.hot, w->c, w->n);
}

/* -- awake ------------------------------------------------------------------------------------- */

static enum bsn_idle how_to_idle(void)
{
	static _Atomic int chosen; /* plus 1; all threads choose the same */
	int how = atomic_load_explicit(&chosen, memory_order_relaxed);

	if (!how) {
		how = (int)bsn_idle_choose() + 1;
		atomic_store_explicit(&chosen, how, memory_order_relaxed);
	}
	return (enum bsn_idle)(how - 1);
}

/* How long the wait, or its part without sleep, may take; UINT64_MAX: for ever. */
static uint64_t limit_ns(const struct wait *w)
{
	return w->attr.timeout_ns ? w->attr.timeout_ns : UINT64_MAX;
}

static uint64_t busy_ns(const struct wait *w)
{
	const uint64_t wanted = w->attr.busy_ns ? w->attr.busy_ns : DEFAULT_BUSY_NS;

	if (w->attr.never_sleeps || wanted > limit_ns(w))
		return limit_ns(w);
	return wanted;
}

/* Polls without sleeping. 0: the time for that is over. */
static int wait_awake(const struct wait *w)
{
	const enum bsn_idle how = how_to_idle();
	const uint64_t most = busy_ns(w);
	int got;

	do {
		for (unsigned i = 0; i < RESTS_A_LOOK; i++) {
			bsn_cq_idle(&w->cq->dv.hot, how);
			got = look(w);
			if (got)
				return got;
		}
	} while (monotonic_ns() - w->began_ns < most);
	return 0;
}

/* -- asleep ------------------------------------------------------------------------------------ */

/* Makes the file that wakes threads which sleep on the CQ. The first of them makes it. */
static int make_wake_file(struct cq_object *cq)
{
	int none = 0, fd;

	if (atomic_load(&cq->wake_file))
		return 0;
	fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (fd < 0)
		return fail(errno, "cannot make a file to be woken by: %s", strerror(errno));
	if (!atomic_compare_exchange_strong(&cq->wake_file, &none, fd + 1))
		close(fd);
	return 0;
}

static int wake_fd(const struct cq_object *cq)
{
	return atomic_load(&cq->wake_file) - 1;
}

/*
 * Wakes a sleeper. Both sides change the count of sleepers atomically, so either the waker sees a
 * thread that is about to sleep, or that thread sees the reason to wake.
 */
void cq_wake(struct cq_object *cq)
{
	const uint64_t one = 1;

	if (atomic_fetch_add(&cq->sleepers, 0) && write(wake_fd(cq), &one, sizeof(one)) < 0)
		return; /* it is full, so it is readable */
}

void cq_wake_never(struct cq_object *cq)
{
	if (wake_fd(cq) >= 0)
		close(wake_fd(cq));
}

static bool is_readable(int fd)
{
	struct pollfd file = { .fd = fd, .events = POLLIN };

	return poll(&file, 1, 0) == 1;
}

/* Takes an event, by one thread at a time: a read of the file would block if it were empty. */
static void take_event(struct cq_object *cq)
{
	struct bsn_channel *channel = cq->channel;
	struct bsn_cq *taken;
	int err = 0;

	pthread_mutex_lock(&channel->taking);
	if (is_readable(channel->verbs->fd))
		err = bsn_channel_get(channel, &taken);
	pthread_mutex_unlock(&channel->taking);
	if (err && err != -EAGAIN)
		bsn_cq_kill(cq->ring, -err); /* the device is gone: polls say so at the end */
}

static int time_left(const struct wait *w, struct timespec *left)
{
	const uint64_t gone = monotonic_ns() - w->began_ns;

	if (gone >= limit_ns(w))
		return -ETIMEDOUT;
	left->tv_sec = (time_t)((limit_ns(w) - gone) / NS_PER_S);
	left->tv_nsec = (long)((limit_ns(w) - gone) % NS_PER_S);
	return 0;
}

/* Sleeps. 0: something woke the thread. */
static int block(const struct wait *w)
{
	struct cq_object *cq = w->cq;
	struct pollfd files[] = {
		{ .fd = cq->channel->verbs->fd, .events = POLLIN },
		{ .fd = wake_fd(cq), .events = POLLIN },
		{ .fd = w->attr.ends_at_event ? cq->device->context->async_fd : -1,
		  .events = POLLIN },
	};
	struct timespec left;
	uint64_t times;
	int count = time_left(w, &left);

	if (count)
		return count;
	count = ppoll(files, 3, w->attr.timeout_ns ? &left : NULL, NULL);
	if (count < 0)
		return -errno;
	if (files[0].revents)
		take_event(cq);
	if (files[1].revents && read(files[1].fd, &times, sizeof(times)) < 0)
		return 0; /* another thread has read it */
	if (files[2].revents)
		return -ECANCELED;
	return count ? 0 : -ETIMEDOUT;
}

static int sleep_once(const struct wait *w)
{
	int err = bsn_cq_request(&w->cq->dv.hot, w->attr.solicited_only);
	int got;

	if (err)
		return err;
	got = look(w);
	if (got)
		return got;
	err = block(w);
	got = look(w);
	return got ? got : err;
}

static int wait_asleep(const struct wait *w)
{
	int got = make_wake_file(w->cq);

	if (got)
		return got;
	atomic_fetch_add(&w->cq->sleepers, 1);
	do {
		got = sleep_once(w);
	} while (!got);
	if (atomic_fetch_sub(&w->cq->sleepers, 1) > 1)
		cq_wake(w->cq);
	return got;
}

/* -- both -------------------------------------------------------------------------------------- */

static int check(const struct wait *w)
{
	const struct cq_object *cq = w->cq;

	if (!w->c || w->n <= 0)
		return fail(EINVAL, "no place for a completion");
	if (w->attr.never_sleeps)
		return 0;
	if (!cq->owns_verbs)
		return fail(EOPNOTSUPP,
			    "the channel of an attached CQ is the application's: sleep on that "
			    "after bsn_cq_request() and a poll, or wait with never_sleeps");
	if (!cq->channel)
		return fail(EINVAL,
			    "the CQ was created without a channel to sleep on: give it one, or "
			    "wait with never_sleeps");
	if (atomic_load(&cq->channel->uses.count) > 1)
		return fail(EBUSY,
			    "the channel wakes for %u CQs: give this one a channel of its own",
			    atomic_load(&cq->channel->uses.count));
	return 0;
}

static __attribute__((noinline, cold)) int wait_longer(struct bsn_cq *hot, struct bsn_completion *c,
						       int n, const struct bsn_wait_attr *attr)
{
	struct wait w = { .cq = cq_of(hot), .c = c, .n = n, .began_ns = monotonic_ns() };
	int got;

	if (attr)
		w.attr = *attr;
	got = check(&w);
	if (got)
		return got;
	got = wait_awake(&w);
	if (!got && !w.attr.never_sleeps)
		got = wait_asleep(&w);
	return got == -ETIMEDOUT ? 0 : got;
}

int bsn_wait(struct bsn_cq *hot, struct bsn_completion *c, int n, const struct bsn_wait_attr *attr)
{
	int got;

	if (!hot)
		return fail(EINVAL, "no CQ");
	got = bsn_cq_poll(hot, c, n);
	return BSN_LIKELY(got) ? got : wait_longer(hot, c, n, attr);
}
