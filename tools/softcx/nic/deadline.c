/* SPDX-License-Identifier: BSD-2-Clause */
/* Deadlines, and the alarms that wake up processes. */
#include "deadline.h"

#include "../os/raw.h"
#include "clock.h"

/* The object's owner keeps the deadline. It may sleep, and is woken up. */
void cx_set_deadline(struct cx_hca *hca, unsigned owner, uint64_t *deadline_ns, uint64_t ns)
{
	struct cx_proc *proc = &hca->shared->procs[owner];
	uint32_t *alarm = &hca->shared->alarms[owner].count;
	const bool own = cx_is_local(hca, owner);

	*deadline_ns = ns == CX_NEVER ? CX_NEVER : (own ? cx_now_ns(hca) : cx_clock_ns()) + ns;
	if (!proc->deadline_ns || *deadline_ns < proc->deadline_ns)
		__atomic_store_n(&proc->deadline_ns, *deadline_ns, __ATOMIC_RELEASE);
	if (!own) {
		__atomic_fetch_add(alarm, 1, __ATOMIC_SEQ_CST);
		raw_futex_wake(alarm);
	}
}

uint64_t cx_next_deadline_ns(struct cx_hca *hca)
{
	const unsigned self = __atomic_load_n(&hca->self, __ATOMIC_RELAXED); /* exit() ends it */
	uint64_t deadline;

	if (self >= CX_PROCS)
		return 0;
	deadline = __atomic_load_n(&hca->shared->procs[self].deadline_ns, __ATOMIC_ACQUIRE);
	return deadline == CX_NEVER ? 0 : deadline;
}

uint32_t *cx_alarm(struct cx_hca *hca)
{
	return &hca->shared->alarms[__atomic_load_n(&hca->self, __ATOMIC_RELAXED) % CX_PROCS].count;
}

bool cx_is_reachable(const struct cx_hca *hca)
{
	const unsigned self = __atomic_load_n(&hca->self, __ATOMIC_RELAXED);

	return self < CX_PROCS &&
	       __atomic_load_n(&hca->shared->alarms[self].reachable, __ATOMIC_ACQUIRE);
}
