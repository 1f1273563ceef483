/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The port's counters, of queues that name its set: the kernel's queues are given it in the
 * transition to INIT. Queues of DevX name it themselves; those that name none are counted nowhere.
 * Source: the kernel's hw/mlx5/counters.c basic_q_cnts, out_of_seq_q_cnts and retrans_q_cnts,
 * without the implied NAK, which never happens here; hw/mlx5/qp.c __mlx5_ib_modify_qp() and
 * mlx5_ib_modify_dct().
 */
#ifndef SOFTCX_NIC_COUNTERS_H
#define SOFTCX_NIC_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

#define CX_COUNTERS(X)                                                                             \
	X(rx_write_requests, "WRITEs that came")                                                   \
	X(rx_read_requests, "READs that came")                                                     \
	X(rx_atomic_requests, "atomics that came")                                                 \
	X(rx_dct_connect, "connections that initiators made to a target")                          \
	X(out_of_buffer, "messages that came where no receive was posted")                         \
	X(out_of_sequence, "messages that came ahead of their turn")                               \
	X(duplicate_request, "messages that came a second time")                                   \
	X(rnr_nak_retry_err, "messages that are sent again since no receive was ready")            \
	X(packet_seq_err, "answers that a message came ahead of its turn")                         \
	X(local_ack_timeout_err, "messages that nobody answered in time")

enum cx_counter {
#define CX_COUNTER(name, doc) CX_COUNTER_##name,
	CX_COUNTERS(CX_COUNTER)
#undef CX_COUNTER
		CX_COUNTER_COUNT
};

enum { CX_NO_COUNTERS = 0, CX_PORT_COUNTERS = 1 }; /* the numbers of sets */

struct cx_hca;
struct cx_qp;

/*
 * What the port has carried, of all processes. It sends as much as it receives. Only payload is
 * counted: no public source says which headers a ConnectX counts, nor how many acknowledgements it
 * sends.
 */
struct cx_traffic {
	uint64_t bytes;
	uint64_t unicast, multicast; /* packets */
};

struct cx_traffic cx_traffic_read(struct cx_hca *hca);

/* Packets of a message of @len bytes, at least one. @mtu: bytes */
static inline uint64_t cx_packets(uint64_t len, uint32_t mtu)
{
	return len ? (len + mtu - 1) / mtu : 1;
}

/*
 * For the model, under the lock: a message of @len bytes arrived, in packets of up to @mtu bytes.
 */
void cx_traffic_add(struct cx_hca *hca, uint64_t len, uint32_t mtu, bool is_multicast);

uint32_t cx_counter_read(struct cx_hca *hca, enum cx_counter counter);

/* For the model, under the lock: counts something that arrived for this queue. */
void cx_counter_add(struct cx_hca *hca, const struct cx_qp *qp, enum cx_counter counter);

#endif
