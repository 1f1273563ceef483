/* SPDX-License-Identifier: BSD-2-Clause */
/* bsn_wait(): what ends it, what it refuses; and moderation, which makes events rarer. */
#include "harness.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>

#include "loop.h"

enum { PATIENT_NS = 1000000000, ASLEEP_AT_ONCE_NS = 1 };

static const struct bsn_wait_attr asleep = { .timeout_ns = 20ull * PATIENT_NS,
					     .busy_ns = ASLEEP_AT_ONCE_NS };

/*
 * The device works while a thread of the test waits; if asked to, another thread takes its events.
 */
struct device_at_work {
	struct bench *b;
	bool takes_events, is_over;
	pthread_t thread;
};

static void *work(void *arg)
{
	struct device_at_work *d = arg;
	struct bsn_event event;

	while (!__atomic_load_n(&d->is_over, __ATOMIC_ACQUIRE)) {
		if (d->b->is_model)
			softcx_step(0);
		if (d->takes_events)
			bsn_device_get_event(d->b->device, &event);
		sched_yield();
	}
	return NULL;
}

static void begin_work(struct bench *b, struct device_at_work *d, bool takes_events)
{
	*d = (struct device_at_work){ .b = b, .takes_events = takes_events };
	assert_int_equal(pthread_create(&d->thread, NULL, work, d), 0);
}

static void end_work(struct device_at_work *d)
{
	__atomic_store_n(&d->is_over, true, __ATOMIC_RELEASE);
	assert_int_equal(pthread_join(d->thread, NULL), 0);
}

/* -- what ends a wait -------------------------------------------------------------------------- */

static void what_is_there_is_given_at_once(struct bench *b)
{
	struct bsn_completion c[2];

	ok(bench_write(b, 0, 8, 7, NOW));
	bench_settle(b);
	assert_int_equal(bsn_wait(b->cq[0], c, 2, NULL), 1);
	assert_int_equal(c[0].id, 7);
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void time_runs_out(struct bench *b)
{
	const struct bsn_wait_attr ways[] = {
		{ .timeout_ns = 3000000 },
		{ .timeout_ns = 3000000, .busy_ns = ASLEEP_AT_ONCE_NS },
		{ .timeout_ns = 3000000, .busy_ns = 2000000 },
		{ .timeout_ns = 3000000, .never_sleeps = true },
	};
	struct loop l = bench_loop(b, (struct bsn_cq_attr){ .entries = 256 });
	struct bsn_completion c;

	for (size_t i = 0; i < COUNT(ways); i++) {
		const uint64_t began = now();
		assert_int_equal(bsn_wait(l.cq, &c, 1, &ways[i]), 0);
		assert_true(now() - began >= ways[i].timeout_ns);
	}
}

static void a_completion_ends_it(struct bench *b)
{
	struct loop l = bench_loop(b, (struct bsn_cq_attr){ .entries = 256 });
	struct device_at_work d;
	struct bsn_completion c;

	begin_work(b, &d, false);
	for (uint64_t id = 0; id < bench_rounds(b, 200); id++) {
		const struct bsn_wait_attr awake = { .timeout_ns = asleep.timeout_ns,
						     .never_sleeps = true };
		ok(loop_post(&l, id));
		assert_int_equal(bsn_wait(l.cq, &c, 1, id % 4 == 3 ? &awake : &asleep), 1);
		assert_int_equal(c.id, id);
	}
	end_work(&d);
}

static void ignore(int number)
{
	(void)number;
}

static void a_signal_ends_it(struct bench *b)
{
	struct loop l = bench_loop(b, (struct bsn_cq_attr){ .entries = 256 });
	struct bsn_completion c;
	struct itimerval often = { { 0, 2000 }, { 0, 2000 } }, never = { 0 };
	const struct sigaction act = { .sa_handler = ignore };

	sigaction(SIGALRM, &act, NULL); /* for good: a last signal may come late */
	setitimer(ITIMER_REAL, &often, NULL);
	assert_int_equal(bsn_wait(l.cq, &c, 1, &asleep), -EINTR);
	setitimer(ITIMER_REAL, &never, NULL);
}

/* The channel has no event for it: the thread that takes the device's events wakes the sleeper. */
static void the_death_of_the_cq_ends_it(struct bench *b)
{
	struct loop l = bench_loop(b, (struct bsn_cq_attr){ .entries = 256 });
	struct device_at_work d;
	struct bsn_completion c;

	begin_work(b, &d, true);
	ok(loop_post(&l, 1));
	assert_int_equal(bsn_wait(l.cq, &c, 1, &asleep), 1);
	ok(loop_post(&l, 2));
	assert_int_equal(bsn_wait(l.cq, &c, 1, &asleep), -EOVERFLOW);
	assert_int_equal(bsn_wait(l.cq, &c, 1, &asleep), -EOVERFLOW);
	end_work(&d);
}

static void the_end_of_the_device_ends_it(struct bench *b)
{
	struct loop l = bench_loop(b, (struct bsn_cq_attr){ .entries = 256 });
	struct device_at_work d;
	struct bsn_completion c;

	begin_work(b, &d, false);
	ok(loop_post(&l, 1));
	assert_int_equal(bsn_wait(l.cq, &c, 1, &asleep), 1);
	ok(loop_post(&l, 2));
	assert_int_equal(bsn_wait(l.cq, &c, 1, &asleep), -EIO);
	end_work(&d);
}

static void an_asynchronous_event_ends_it_if_asked(struct bench *b)
{
	struct bsn_wait_attr attr = asleep;
	struct loop l = bench_loop(b, (struct bsn_cq_attr){ .entries = 256 });
	struct device_at_work d;
	struct bsn_event event;
	struct bsn_completion c;

	attr.ends_at_event = true;
	begin_work(b, &d, false);
	ok(loop_post(&l, 1)); /* takes the port down, by the plan; fails sooner or later */
	int got = bsn_wait(l.cq, &c, 1, &attr);
	if (got == 1)
		got = bsn_wait(l.cq, &c, 1, &attr);
	assert_int_equal(got, -ECANCELED);
	end_work(&d);
	ok(bsn_device_get_event(b->device, &event));
	assert_int_equal(event.type, IBV_EVENT_PORT_ERR);
	assert_string_equal(event.name, "port error");
}

/* -- what is refused --------------------------------------------------------------------------- */

static void assert_refused(struct bsn_cq *cq, int error, const char *why)
{
	fails(error, why, bsn_wait(cq, &(struct bsn_completion){ 0 }, 1, NULL));
}

static void without_a_channel_there_is_no_sleep(struct bench *b)
{
	const bool is_attached = bench_is_attached(b);
	struct bsn_completion c;

	assert_refused(b->cq[0], is_attached ? EOPNOTSUPP : EINVAL,
		       is_attached ? "the application's" : "without a channel");
	assert_int_equal(bsn_wait(b->cq[0], &c, 1,
				  &(struct bsn_wait_attr){ .never_sleeps = true, .timeout_ns = 1 }),
			 0);
	assert_int_equal(bsn_wait(b->cq[0], &c, 0, NULL), -EINVAL);
}

static void a_channel_of_several_cqs_is_refused(struct bench *b)
{
	assert_refused(b->cq[0], EBUSY, "2 CQs");
}

/* -- moderation -------------------------------------------------------------------------------- */

static bool has_event(struct loop *l)
{
	struct bsn_cq *cq = NULL;
	const int err = bsn_channel_get(l->channel, &cq);

	if (err == -EAGAIN)
		return false;
	ok(err);
	assert_ptr_equal(cq, l->cq);
	return true;
}

static void drain(struct loop *l)
{
	struct bsn_completion c[16];

	while (bsn_poll(l->cq, c, 16) > 0)
		;
}

static void do_not_block(struct loop *l)
{
	assert_int_equal(fcntl(bsn_channel_fd(l->channel), F_SETFL, O_NONBLOCK), 0);
}

static void so_many_completions_are_one_event(struct bench *b)
{
	struct loop l = bench_loop(b, (struct bsn_cq_attr){ .entries = 256 });

	do_not_block(&l);
	ok(bsn_cq_moderate(l.cq, 4, 4000));
	for (uint64_t round = 0; round < 20; round++) {
		ok(bsn_cq_request(l.cq, false));
		for (uint64_t n = 0; n < 4; n++) {
			assert_false(has_event(&l));
			ok(loop_post(&l, n));
			softcx_step(0);
		}
		assert_true(has_event(&l));
		assert_false(has_event(&l));
		drain(&l);
	}
}

static void the_last_few_are_told_after_the_time_limit(struct bench *b)
{
	struct loop l = bench_loop(b, (struct bsn_cq_attr){ .entries = 256 });

	do_not_block(&l);
	ok(bsn_cq_moderate(l.cq, 4, 100));
	for (uint64_t round = 0; round < 20; round++) {
		ok(bsn_cq_request(l.cq, false));
		for (uint64_t n = 0; n < 1 + round % 3; n++) {
			ok(loop_post(&l, n));
			softcx_step(0);
			assert_false(has_event(&l));
		}
		bench_settle(b);
		assert_true(has_event(&l));
		drain(&l);
	}
	ok(bsn_cq_moderate(l.cq, 0, 0));
	ok(bsn_cq_request(l.cq, false));
	ok(loop_post(&l, 0));
	softcx_step(0);
	assert_true(has_event(&l));
}

static void an_event_that_would_never_come_is_refused(struct bench *b)
{
	fails(EINVAL, "never", bsn_cq_moderate(b->cq[0], 2, 0));
	assert_int_equal(bsn_cq_moderate(b->cq[0], 65536, 1), -EINVAL);
	assert_int_equal(bsn_cq_moderate(b->cq[0], 1, 65536), -EINVAL);
	assert_int_equal(bsn_cq_moderate(b->cq[0], 1, 4096), -EINVAL); /* the driver's limit */
	assert_int_equal(bsn_cq_moderate(NULL, 1, 1), -EINVAL);
}

#define FAULT(plan) BARE, .fault_plan = plan, MODEL

static const struct bench_case cases[] = {
	{ CASE(what_is_there_is_given_at_once) },
	{ CASE(time_runs_out), BARE },
	{ CASE(a_completion_ends_it), BARE },
	{ CASE(a_signal_ends_it), BARE },
	{ CASE(the_death_of_the_cq_ends_it), FAULT("nth=2 cq-overrun") },
	{ CASE(the_end_of_the_device_ends_it), FAULT("nth=2 remove-device") },
	{ CASE(an_asynchronous_event_ends_it_if_asked), FAULT("port-down") },
	{ CASE(without_a_channel_there_is_no_sleep) },
	{ CASE(a_channel_of_several_cqs_is_refused), .has_channel = true },
	{ CASE(so_many_completions_are_one_event), BARE, MODEL },
	{ CASE(the_last_few_are_told_after_the_time_limit), BARE, MODEL },
	{ CASE(an_event_that_would_never_come_is_refused), MODEL },
};

BENCH_MAIN("waits")
