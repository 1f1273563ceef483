/* SPDX-License-Identifier: BSD-2-Clause */
/* The model's clock, with a model that only counts. */
#define _GNU_SOURCE 1
#include <dirent.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "unit.h"

#include "kernel/rdmacm.h"
#include "shim/timer.h"

static _Atomic uint64_t deadline;
static uint32_t alarm_word;
static bool reachable;
static atomic_uint asked, ran;
static atomic_bool stuck, early, open_signal;
static sem_t woken;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

uint64_t cx_next_deadline_ns(struct cx_hca *hca)
{
	atomic_fetch_add(&asked, 1);
	return deadline;
}

/* There are no connections. */
uint64_t rdmacm_next_deadline_ns(struct cx_hca *hca)
{
	return 0;
}

void rdmacm_run_timers(struct cx_hca *hca)
{
}

uint32_t *cx_alarm(struct cx_hca *hca)
{
	return &alarm_word;
}

bool cx_is_reachable(const struct cx_hca *hca)
{
	return reachable;
}

void cx_run_timers(struct cx_hca *hca)
{
	sigset_t mask;

	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	if (!sigismember(&mask, SIGTERM) || !sigismember(&mask, SIGALRM) ||
	    sigismember(&mask, SIGSEGV))
		open_signal = true;
	if (now_ns() < deadline)
		early = true;
	if (!stuck)
		deadline = 0;
	atomic_fetch_add(&ran, 1);
	sem_post(&woken);
}

/* How many there are of its threads; a sanitizer may have some of its own. */
static unsigned threads(void)
{
	char path[300], name[32];
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *task;
	unsigned count = 0;
	FILE *f;

	assert_non_null(tasks);
	while ((task = readdir(tasks))) {
		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", task->d_name);
		f = task->d_name[0] == '.' ? NULL : fopen(path, "r");
		if (!f)
			continue;
		count += fgets(name, sizeof(name), f) && !strcmp(name, TIMER_THREAD_NAME "\n");
		fclose(f);
	}
	closedir(tasks);
	return count;
}

/* A thread that was joined may stay in the list for a moment. */
static bool no_thread_stays(void)
{
	const uint64_t end = now_ns() + 10000000000u;

	while (threads() && now_ns() < end)
		sched_yield();
	return !threads();
}

static void nothing_due_starts_no_thread(void **state)
{
	deadline = 0;
	assert_int_equal(timer_look(NULL), 0);
	assert_int_equal(threads(), 0);
	timer_stop();
}

static void waits_end_when_due(void **state)
{
	for (unsigned k = 0; k < 20; k++) {
		deadline = now_ns() + k * 100000;
		assert_int_equal(timer_look(NULL), 0);
		sem_wait(&woken);
		assert_int_equal(threads(), 1);
	}
	assert_false(early);
	assert_false(open_signal);
	timer_stop();
	assert_true(no_thread_stays());
}

static void earlier_wait_shortens_the_sleep(void **state)
{
	uint64_t begin = now_ns();

	deadline = begin + 3600000000000u;
	assert_int_equal(timer_look(NULL), 0);
	deadline = begin + 1000000;
	assert_int_equal(timer_look(NULL), 0);
	sem_wait(&woken);
	assert_true(now_ns() - begin < 1000000000);
	timer_stop();
}

/* A peer begins a wait: it sets the deadline and raises the alarm, while no thread here looks. */
static void a_peers_alarm_is_heard(void **state)
{
	deadline = 0;
	reachable = true;
	assert_int_equal(timer_look(NULL), 0);
	assert_int_equal(threads(), 1);
	for (unsigned k = 0; k < 1000; k++) {
		deadline = now_ns();
		__atomic_fetch_add(&alarm_word, 1, __ATOMIC_SEQ_CST);
		syscall(SYS_futex, &alarm_word, FUTEX_WAKE, 1);
		sem_wait(&woken);
	}
	timer_stop();
	reachable = false;
}

/* A deadline that stays due although the model ran must not make the thread spin. */
static void overdue_wait_does_not_spin(void **state)
{
	uint64_t begin = now_ns();

	stuck = true;
	ran = 0;
	deadline = 1;
	assert_int_equal(timer_look(NULL), 0);
	for (unsigned k = 0; k < 50; k++)
		sem_wait(&woken);
	assert_true(now_ns() - begin >= 49 * 20000);
	timer_stop();
	stuck = false;
	while (!sem_trywait(&woken))
		;
}

#ifndef __SANITIZE_THREAD__ /* TSan lets no thread start after a fork of several */
static void forked_child_starts_anew(void **state)
{
	int status;
	pid_t pid;

	deadline = now_ns() + 3600000000000u;
	assert_int_equal(timer_look(NULL), 0);
	pid = fork();
	if (!pid) {
		timer_after_fork_child();
		if (threads() != 0)
			_exit(1);
		deadline = now_ns();
		if (timer_look(NULL))
			_exit(2);
		sem_wait(&woken);
		timer_stop();
		_exit(no_thread_stays() ? 0 : 3);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	timer_stop();
	timer_stop();
	assert_true(no_thread_stays());
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		UNIT(nothing_due_starts_no_thread),    UNIT(waits_end_when_due),
		UNIT(earlier_wait_shortens_the_sleep), UNIT(a_peers_alarm_is_heard),
		UNIT(overdue_wait_does_not_spin),
#ifndef __SANITIZE_THREAD__
		UNIT(forked_child_starts_anew),
#endif
	};

	sem_init(&woken, 0, 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
