/* SPDX-License-Identifier: BSD-2-Clause */
/* The port's counters, of all processes. */
#include "counters.h"

#include "process.h"
#include "state.h"

void cx_counter_add(struct cx_hca *hca, const struct cx_qp *qp, enum cx_counter counter)
{
	if (qp->run.counter_set == CX_PORT_COUNTERS)
		hca->shared->counters[counter]++;
}

uint32_t cx_counter_read(struct cx_hca *hca, enum cx_counter counter)
{
	uint32_t value;

	cx_lock(hca);
	value = hca->shared->counters[counter];
	cx_unlock(hca);
	return value;
}
