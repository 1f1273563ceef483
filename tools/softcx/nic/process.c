/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The processes of a fabric. Objects of a dead process are swept; a lock that it held is taken
 * over.
 */
#include "process.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../os/life.h"
#include "segment.h"
#include "tables.h"

/* -- processes --------------------------------------------------------------------------------- */

/* Without a lock the process is dead; one that cannot be checked may be alive. */
bool cx_proc_alive(struct cx_hca *hca, unsigned slot)
{
	const off_t byte = CX_LIFE_FIRST + slot;

	if (slot >= CX_PROCS || !hca->shared->procs[slot].pid)
		return false;
	if (!hca->segment_path || life_at(hca->segment_fd, byte, 1) == LIFE_HELD)
		return true;
	return life_at(cx_segment(hca), byte, 1) != LIFE_GONE;
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
	for (unsigned i = 0; i < CX_PROCS; i++)
		if (hca->shared->procs[i].pid && !cx_proc_alive(hca, i))
			sweep(hca, i);
}

static void fill_slot(struct cx_hca *hca, unsigned slot)
{
	struct cx_shared *shared = hca->shared;

	memset(&shared->procs[slot], 0, sizeof(shared->procs[slot]));
	shared->alarms[slot].keeps_time = !hca->config.passive;
	shared->alarms[slot].reachable = false;
	shared->alarms[slot].changes = 1;
	memset(&shared->bus[slot], 0, sizeof(shared->bus[slot]));
	memset(&shared->dc[slot], 0, sizeof(shared->dc[slot]));
	shared->cm.deadlines_ns[slot] = 0;
	shared->procs[slot].pid = getpid();
	__atomic_store_n(&hca->self, slot, __ATOMIC_RELAXED);
}

static int hold_life(struct cx_hca *hca, unsigned slot)
{
	if (!hca->segment_path)
		return 0;
	return life_hold(hca->segment_path, 0, CX_LIFE_FIRST + slot, &hca->life);
}

/* A process that was swept while it exits may still hold its byte. Then another slot is taken. */
int cx_proc_claim(struct cx_hca *hca)
{
	cx_sweep_dead(hca);
	for (unsigned i = 0; i < CX_PROCS; i++) {
		int err = hca->shared->procs[i].pid ? -EAGAIN : hold_life(hca, i);

		if (!err)
			fill_slot(hca, i);
		if (err != -EAGAIN)
			return err;
	}
	return -EUSERS;
}

void cx_proc_release(struct cx_hca *hca)
{
	if (hca->self >= CX_PROCS)
		return;
	cx_disown_all(hca);
	memset(&hca->shared->procs[hca->self], 0, sizeof(struct cx_proc));
	life_let_go(hca->life);
	hca->life = NULL;
}

/* -- the lock ---------------------------------------------------------------------------------- */

static void take_over(struct cx_hca *hca, int err)
{
	struct cx_shared *shared = hca->shared;

	if (err == EOWNERDEAD) {
		/*
		 * The holder of the lock died in the model. An entry exists only if it is complete
		 * (its number is written last), so sweeping the dead process makes the tables
		 * consistent. It may still be exiting, so it does not look dead yet.
		 */
		pthread_mutex_consistent(&shared->lock);
		hca->after_death(hca);
		if (shared->holder < CX_PROCS && shared->holder != hca->self)
			sweep(hca, shared->holder);
		cx_sweep_dead(hca);
	}
	shared->holder = hca->self;
	hca->asked = CX_PROCS;
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
		cx_proc_claim(hca); /* without a slot it cannot create anything */
}
