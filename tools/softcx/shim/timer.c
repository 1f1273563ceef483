/* SPDX-License-Identifier: BSD-2-Clause */
/* The thread that wakes up the model when a wait is over. */
#define _GNU_SOURCE 1
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

#include "../kernel/rdmacm.h"
#include "../os/raw.h"
#include "timer.h"

enum { NS_PER_S = 1000000000, LEAST_NAP_NS = 20000 };

enum thread_state { NONE, STARTING, RUNNING };

static struct {
	_Atomic enum thread_state state;
	atomic_bool stop;
	uint32_t *alarm;           /* the model's: changes when there is something to look at */
	_Atomic uint64_t sleeping; /* until when the thread sleeps; 0: unknown */
	pthread_t thread;
} timer;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}

static uint64_t next_deadline(struct cx_hca *hca)
{
	const uint64_t model = cx_next_deadline_ns(hca), rdmacm = rdmacm_next_deadline_ns(hca);

	return !model || (rdmacm && rdmacm < model) ? rdmacm : model;
}

static void run(struct cx_hca *hca, uint64_t now)
{
	const uint64_t rdmacm = rdmacm_next_deadline_ns(hca);

	cx_run_timers(hca);
	if (rdmacm && rdmacm <= now)
		rdmacm_run_timers(hca);
}

/* Sleeps until then (0: for ever), or until the alarm has changed. */
static void sleep_until(uint64_t deadline, uint32_t seen)
{
	struct timespec t = { .tv_sec = deadline / NS_PER_S, .tv_nsec = deadline % NS_PER_S };

	raw_futex_wait(timer.alarm, seen, deadline ? &t : NULL);
}

static void wake(uint32_t *alarm)
{
	__atomic_fetch_add(alarm, 1, __ATOMIC_SEQ_CST);
	raw_futex_wake(alarm);
}

static void *serve(void *arg)
{
	struct cx_hca *hca = arg;

	while (!atomic_load(&timer.stop)) {
		uint32_t seen = __atomic_load_n(timer.alarm, __ATOMIC_SEQ_CST);
		uint64_t deadline = next_deadline(hca), now = now_ns();

		if (deadline && deadline <= now) {
			run(hca, now);
			deadline = next_deadline(hca);
			/* A missed deadline is no reason to spin. */
			if (deadline && deadline < now + LEAST_NAP_NS)
				deadline = now + LEAST_NAP_NS;
		}
		atomic_store(&timer.sleeping, deadline ? deadline : UINT64_MAX);
		if (!atomic_load(&timer.stop))
			sleep_until(deadline, seen);
		atomic_store(&timer.sleeping, 0);
	}
	return NULL;
}

/*
 * All signals of the program are blocked, except faults: the model copies from memory that may be
 * gone, and its handler recovers.
 */
static int start(struct cx_hca *hca)
{
	sigset_t all, before;
	int err;

	sigfillset(&all);
	sigdelset(&all, SIGSEGV);
	sigdelset(&all, SIGBUS);
	timer.alarm = cx_alarm(hca);
	atomic_store(&timer.stop, false);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	err = pthread_create(&timer.thread, NULL, serve, hca);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!err)
		pthread_setname_np(timer.thread, TIMER_THREAD_NAME);
	atomic_store(&timer.state, err ? NONE : RUNNING);
	return -err;
}

int timer_look(struct cx_hca *hca)
{
	enum thread_state none = NONE;
	uint64_t deadline = next_deadline(hca);

	if (!deadline && !cx_is_reachable(hca))
		return 0;
	if (atomic_compare_exchange_strong(&timer.state, &none, STARTING))
		return start(hca);
	if (deadline && (deadline < atomic_load(&timer.sleeping) || !atomic_load(&timer.sleeping)))
		wake(cx_alarm(hca));
	return 0;
}

void timer_stop(void)
{
	if (atomic_load(&timer.state) != RUNNING)
		return;
	atomic_store(&timer.stop, true);
	wake(timer.alarm);
	if (pthread_equal(pthread_self(),
			  timer.thread)) /* exit() in a handler that runs on this thread */
		return;
	pthread_join(timer.thread, NULL);
	atomic_store(&timer.state, NONE);
}

void timer_after_fork_child(void)
{
	atomic_store(&timer.state, NONE);
	atomic_store(&timer.sleeping, 0);
}
