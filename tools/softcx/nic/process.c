/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The processes of a fabric. One that died is known by its pid and start time: what it owned is
 * swept, and a lock that it held is taken over.
 */
#include "process.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "../os/raw.h"
#include "tables.h"

/* -- processes --------------------------------------------------------------------------------- */

/* "/proc/PID/stat", without stdio. */
static void name_stat(char *path, pid_t pid)
{
	char digits[12];
	unsigned count = 0;

	do {
		digits[count++] = (char)('0' + pid % 10);
		pid /= 10;
	} while (pid);
	strcpy(path, "/proc/");
	path += strlen(path);
	while (count)
		*path++ = digits[--count];
	strcpy(path, "/stat");
}

#define UNKNOWN_TIME UINT64_MAX /* it may be alive: this process has no descriptor left to look */

/*
 * When a process started: field 22 of its stat file (proc(5)); 0 when there is none, or only what
 * its parent has not yet reaped, whose memory is gone. Async-signal-safe.
 */
static uint64_t read_start_time(pid_t pid)
{
	char path[32], buf[1024], *c;
	uint64_t value = 0;
	ssize_t len;
	int fd;

	name_stat(path, pid);
	fd = raw_open(path, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return errno == ENOENT || errno == ESRCH ? 0 : UNKNOWN_TIME;
	len = raw_read(fd, buf, sizeof(buf) - 1);
	raw_close(fd);
	if (len <= 0)
		return 0;
	buf[len] = 0;
	c = strrchr(buf, ')'); /* ends field 2, which may hold anything */
	if (!c || c[1] != ' ' || c[2] == 'Z' || c[2] == 'X')
		return 0;
	for (int field = 2; c && field < 22; field++)
		c = strchr(c + 1, ' ');
	for (c = c ? c + 1 : buf + len; *c >= '0' && *c <= '9'; c++)
		value = value * 10 + (uint64_t)(*c - '0');
	return value;
}

bool cx_proc_alive(const struct cx_proc *proc)
{
	const uint64_t time = proc->pid ? read_start_time(proc->pid) : 0;

	return time == UNKNOWN_TIME || (time && time == proc->start_time);
}

static void sweep(struct cx_hca *hca, unsigned slot)
{
	struct cx_proc *proc = &hca->shared->procs[slot];

	cx_trace(hca, "fabric: process %d is gone", (int)proc->pid);
	cx_sweep_process(hca, slot);
	memset(proc, 0, sizeof(*proc));
}

void cx_sweep_dead(struct cx_hca *hca)
{
	for (unsigned i = 0; i < CX_PROCS; i++) {
		const struct cx_proc *proc = &hca->shared->procs[i];

		if (proc->pid && !cx_proc_alive(proc))
			sweep(hca, i);
	}
}

int cx_proc_claim(struct cx_hca *hca)
{
	const uint64_t start_time = read_start_time(getpid());

	if (start_time == UNKNOWN_TIME)
		return -EMFILE;
	cx_sweep_dead(hca);
	for (unsigned i = 0; i < CX_PROCS; i++) {
		struct cx_proc *proc = &hca->shared->procs[i];

		if (proc->pid)
			continue;
		memset(proc, 0, sizeof(*proc));
		hca->shared->alarms[i].keeps_time = !hca->config.passive;
		hca->shared->alarms[i].reachable = false;
		hca->shared->alarms[i].changes = 1;
		memset(&hca->shared->bus[i], 0, sizeof(hca->shared->bus[i]));
		memset(&hca->shared->dc[i], 0, sizeof(hca->shared->dc[i]));
		proc->start_time = start_time;
		proc->pid = getpid();
		__atomic_store_n(&hca->self, i, __ATOMIC_RELAXED);
		return 0;
	}
	return -EUSERS;
}

void cx_proc_release(struct cx_hca *hca)
{
	if (hca->self >= CX_PROCS)
		return;
	cx_disown_all(hca);
	memset(&hca->shared->procs[hca->self], 0, sizeof(struct cx_proc));
}

/* -- the lock ---------------------------------------------------------------------------------- */

static void take_over(struct cx_hca *hca, int err)
{
	struct cx_shared *shared = hca->shared;

	if (err == EOWNERDEAD) {
		/*
		 * The holder died inside the model. An entry exists only once it is complete (its
		 * number comes last), so sweeping what the dead owned makes the tables whole. The
		 * holder may still be on its way out, so it does not look dead yet.
		 */
		pthread_mutex_consistent(&shared->lock);
		if (shared->holder < CX_PROCS && shared->holder != hca->self)
			sweep(hca, shared->holder);
		cx_sweep_dead(hca);
	}
	shared->holder = hca->self;
}

void cx_lock(struct cx_hca *hca)
{
	take_over(hca, pthread_mutex_lock(&hca->shared->lock));
}

bool cx_lock_within_a_second(struct cx_hca *hca)
{
	struct timespec deadline;
	int err;

	clock_gettime(CLOCK_REALTIME, &deadline);
	deadline.tv_sec++;
	err = pthread_mutex_timedlock(&hca->shared->lock, &deadline);
	if (err && err != EOWNERDEAD)
		return false;
	take_over(hca, err);
	return true;
}

void cx_unlock(struct cx_hca *hca)
{
	if (hca->before_unlock)
		hca->before_unlock(hca);
	hca->before_unlock = NULL;
	pthread_mutex_unlock(&hca->shared->lock);
}

void cx_lock_to_create(struct cx_hca *hca)
{
	cx_lock(hca);
	if (hca->self >= CX_PROCS)
		cx_proc_claim(hca); /* without a slot it will create nothing */
}
