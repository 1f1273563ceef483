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

void cx_traffic_add(struct cx_hca *hca, uint64_t len, uint32_t mtu, bool is_multicast)
{
	struct cx_traffic *traffic = &hca->shared->traffic;
	const uint64_t packets = cx_packets(len, mtu);

	traffic->bytes += len;
	*(is_multicast ? &traffic->multicast : &traffic->unicast) += packets;
}

struct cx_traffic cx_traffic_read(struct cx_hca *hca)
{
	struct cx_traffic traffic;

	cx_lock(hca);
	traffic = hca->shared->traffic;
	cx_unlock(hca);
	return traffic;
}
