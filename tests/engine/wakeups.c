/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Races between a completion and a thread that goes to sleep for it. Doorbells are trapped, so that
 * the device works in the poster's and in the sleeper's thread. If a sleeper misses a completion,
 * the test ends, since the poster posts no more before the completion was found. BSN_ROUNDS makes
 * the test so many times as long; BSN_SEED repeats a run.
 */
#define _GNU_SOURCE 1
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>

#include "../share.h"
#include "loop.h"
#include "softcx.h"

enum { ROUNDS = 2000, MOST_WAITERS = 3, PATIENCE_S = 30 };

struct race {
	struct loop loop;
	unsigned waiters, burst;
	unsigned found, working, gone; /* completions, waiters at work, waiters that ended */
	bool is_over;
	uint32_t seed;
	int error;
};

static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

/*
 * Lets the device work until another thread has found the next completion; the last of the waiters
 * does not.
 */
static void work(struct race *r, unsigned found)
{
	if (__atomic_fetch_add(&r->working, 1, __ATOMIC_ACQ_REL) + 1 < r->waiters)
		while (__atomic_load_n(&r->found, __ATOMIC_ACQUIRE) == found &&
		       !__atomic_load_n(&r->is_over, __ATOMIC_ACQUIRE) &&
		       !__atomic_load_n(&r->error, __ATOMIC_ACQUIRE))
			sched_yield();
	__atomic_fetch_sub(&r->working, 1, __ATOMIC_ACQ_REL);
}

/*
 * Waits in each way in turn: from asleep at once, to awake for about as long as the poster
 * hesitates.
 */
static void *keep_waiting(void *arg)
{
	static const uint32_t busy[] = { 1, 1, 2000, 20000 };
	struct race *r = arg;
	struct bsn_completion c[2];

	for (unsigned i = 0; !__atomic_load_n(&r->is_over, __ATOMIC_ACQUIRE); i++) {
		const struct bsn_wait_attr attr = { .busy_ns = busy[i % 4],
						    .timeout_ns = 1000000000ull * PATIENCE_S };
		const int got = bsn_wait(r->loop.cq, c, 1 + (int)i % 2, &attr);
		if (got <= 0) {
			__atomic_store_n(&r->error, got ? got : -ETIMEDOUT, __ATOMIC_RELEASE);
			break;
		}
		work(r, __atomic_add_fetch(&r->found, (unsigned)got, __ATOMIC_ACQ_REL));
	}
	__atomic_fetch_add(&r->gone, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void hesitate(struct race *r)
{
	const uint32_t pick = next_random(&r->seed);

	if (pick % 8 == 0)
		sched_yield();
	else if (pick % 512 == 1)
		nanosleep(&(struct timespec){ 0, 50000 }, NULL);
	for (volatile uint32_t i = pick / 64 % 5000; i; i--)
		;
}

static bool is_found(struct race *r, unsigned wanted)
{
	while (__atomic_load_n(&r->found, __ATOMIC_ACQUIRE) != wanted) {
		if (__atomic_load_n(&r->error, __ATOMIC_ACQUIRE))
			return false;
		sched_yield();
	}
	return true;
}

static void post_rounds(struct race *r, unsigned rounds)
{
	unsigned posted = 0;

	for (unsigned round = 0; round < rounds; round++) {
		hesitate(r);
		for (unsigned n = 1 + next_random(&r->seed) % r->burst; n; n--, posted++)
			assert_int_equal(loop_post(&r->loop, posted), 0);
		if (!is_found(r, posted))
			break;
	}
	int error = __atomic_load_n(&r->error, __ATOMIC_ACQUIRE);
	if (error)
		print_error("round with %u posted, %u found: %d\n", posted,
			    __atomic_load_n(&r->found, __ATOMIC_ACQUIRE), error);
	assert_int_equal(error, 0);
}

/* Ends each waiter with a completion. */
static void dismiss(struct race *r)
{
	unsigned posted = __atomic_load_n(&r->found, __ATOMIC_ACQUIRE);

	__atomic_store_n(&r->is_over, true, __ATOMIC_RELEASE);
	while (__atomic_load_n(&r->gone, __ATOMIC_ACQUIRE) < r->waiters) {
		if (__atomic_load_n(&r->found, __ATOMIC_ACQUIRE) == posted) {
			assert_int_equal(loop_post(&r->loop, 0), 0);
			posted++;
		}
		sched_yield();
	}
}

static unsigned rounds(void)
{
	const char *times = getenv("BSN_ROUNDS");

	return ROUNDS / tests_share() * (times ? (unsigned)strtoul(times, NULL, 0) : 1);
}

static void race(enum bsn_path path, unsigned waiters)
{
	const struct bsn_device_attr device_attr = { .path = path };
	const char *seed = getenv("BSN_SEED");
	struct race r = { .waiters = waiters, .burst = waiters,
			  .seed = seed ? (uint32_t)strtoul(seed, NULL, 0) : (uint32_t)time(NULL) };
	pthread_t thread[MOST_WAITERS];
	struct bsn_device *device;

	print_message("# BSN_SEED=%u\n", r.seed);
	assert_int_equal(softcx_start(&(struct cx_config){ .private_fabric = true }), 0);
	assert_int_equal(bsn_device_open(NULL, &device_attr, &device), 0);
	assert_int_equal(
		loop_make(&r.loop, device, (struct bsn_cq_attr){ .is_shared = waiters > 1 }), 0);
	for (unsigned i = 0; i < waiters; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, keep_waiting, &r), 0);
	post_rounds(&r, rounds());
	dismiss(&r);
	for (unsigned i = 0; i < waiters; i++)
		pthread_join(thread[i], NULL);
	assert_int_equal(loop_free(&r.loop), 0);
	assert_int_equal(bsn_device_close(device), 0);
	assert_int_equal(cx_lint_count(softcx_hca()), 0);
	assert_int_equal(softcx_stop(), 0);
}

static void one_thread_direct(void **state)
{
	(void)state;
	race(BSN_PATH_DIRECT, 1);
}

static void one_thread_verbs(void **state)
{
	(void)state;
	race(BSN_PATH_VERBS, 1);
}

static void threads_of_a_shared_cq_direct(void **state)
{
	(void)state;
	race(BSN_PATH_DIRECT, MOST_WAITERS);
}

static void threads_of_a_shared_cq_verbs(void **state)
{
	(void)state;
	race(BSN_PATH_VERBS, MOST_WAITERS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_thread_direct),
		cmocka_unit_test(one_thread_verbs),
		cmocka_unit_test(threads_of_a_shared_cq_direct),
		cmocka_unit_test(threads_of_a_shared_cq_verbs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
