/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the counters of ports. */
#include "counters.h"

#include <stdio.h>

#include "netlink.h"

#define SYSFS      "Linux, Documentation/ABI/stable/sysfs-class-infiniband"
#define QUEUES     "Linux 0ad17a8f7fa0 (IB/mlx5: Add port protocol stats)"
#define ERRORS     "Linux, drivers/infiniband/hw/mlx5/counters.c extended_err_cnts"
#define RETRIES    "Linux b339e0a39dc3 (RDMA/mlx5: Add Qcounters req_transport_retries_...)"
#define CONGESTION "Linux e1f24a79f424 (IB/mlx5: Support congestion related counters)"
#define ROCE       "Linux d7fab916374c (IB/mlx5: Expose RoCE accelerator counters)"
#define FLOW       "Linux, .../mellanox/mlx5/counters.rst rx_prio[p]_pause, tx_prio[p]_pause"
#define PAUSE      "Linux, .../mellanox/mlx5/counters.rst rx_global_pause, tx_global_pause"

#define DATA(name, file, scale) { name, "counters/" file, scale, false, NULL, NULL, NULL }
#define LINK(name, means, expected) \
	{ #name, "counters/" #name, 1, false, means, expected, SYSFS }
#define COUNT(name) { #name, "hw_counters/" #name, 1, true, NULL, NULL, NULL }
#define QUEUE(name, means, expected, source) \
	{ #name, "hw_counters/" #name, 1, true, means, expected, source }
#define WIDE(name, means, expected, source) \
	{ #name, "hw_counters/" #name, 1, false, means, expected, source }

/* Counters of the link stop at their maximum (IBA, PortCounters); those of queues have 32 bits. */
static const struct counter file_counters[FILE_COUNTERS] = {
	DATA("tx_bytes", "port_xmit_data", 4),
	DATA("rx_bytes", "port_rcv_data", 4),
	DATA("tx_packets", "port_xmit_packets", 1),
	DATA("rx_packets", "port_rcv_packets", 1),
	LINK(port_xmit_wait, "in so many ticks the port had data, but no credit or turn",
	     "0 while the fabric is not congested"),
	LINK(port_xmit_discards, "outgoing packets were dropped: the port is down or congested",
	     "0"),
	LINK(port_rcv_errors, "damaged packets arrived: cable, transceiver or switch", "0"),
	LINK(port_rcv_remote_physical_errors, "a switch had found packets damaged", "0"),
	LINK(symbol_error, "bits were damaged on a lane: cable or transceiver", "0"),
	LINK(link_error_recovery, "the link was trained again", "0"),
	LINK(link_downed, "the link went down", "0"),
	LINK(local_link_integrity_errors, "the link had more errors than are allowed", "0"),
	LINK(excessive_buffer_overrun_errors, "buffers overflowed: flow control is not right", "0"),
	LINK(VL15_dropped, "packets of subnet management found no buffer", "0"),
	COUNT(rx_write_requests),
	COUNT(rx_read_requests),
	COUNT(rx_atomic_requests),
	COUNT(rx_dct_connect),
	QUEUE(out_of_buffer, "messages found no receive: post more, or earlier", "0", QUEUES),
	QUEUE(out_of_sequence,
	      "packets arrived out of order or after a gap: the network drops some, or "
	      "sends them on several routes",
	      "0", QUEUES),
	QUEUE(duplicate_request,
	      "peers repeated requests that had arrived: their timeout is too short, or "
	      "answers are lost",
	      "0", QUEUES),
	QUEUE(rnr_nak_retry_err, "peers had no receive posted; messages are sent again later", "0",
	      QUEUES),
	QUEUE(packet_seq_err,
	      "peers say that packets are missing: the network drops what this host "
	      "sends",
	      "0", QUEUES),
	QUEUE(implied_nak_seq_err,
	      "the answer to a later request came first: packets are lost",
	      "0", QUEUES),
	QUEUE(local_ack_timeout_err,
	      "nobody answered in time: a peer is gone, its answers are lost, or "
	      "the timeout is too short",
	      "0", QUEUES),
	QUEUE(resp_local_length_error, "messages were longer than their receives", "0", ERRORS),
	QUEUE(resp_cqe_error, "receives completed with errors", "0", ERRORS),
	QUEUE(req_cqe_error, "requests completed with errors", "0", ERRORS),
	QUEUE(req_remote_invalid_request, "peers refused requests as invalid", "0", ERRORS),
	QUEUE(req_remote_access_errors, "peers refused an rkey, an address or a right", "0",
	      ERRORS),
	QUEUE(resp_remote_access_errors, "this host refused an rkey, an address or a right", "0",
	      ERRORS),
	QUEUE(resp_cqe_flush_error, "receives were flushed: their queues failed or were closed",
	      "0, except when queues are closed", ERRORS),
	QUEUE(req_cqe_flush_error, "requests were flushed: their queues failed or were closed",
	      "0, except when queues are closed", ERRORS),
	QUEUE(req_transport_retries_exceeded, "connections failed, since nobody answered",
	      "0", RETRIES),
	QUEUE(req_rnr_retries_exceeded, "connections failed, since no receive was posted",
	      "0", RETRIES),
	QUEUE(roce_adp_retrans,
	      "packets were sent again before the timeout: the network drops them", "0", ROCE),
	QUEUE(roce_adp_retrans_to, "adaptive retransmission waited for its timeout", "0", ROCE),
	QUEUE(roce_slow_restart, "flows restarted slowly after a loss", "0", ROCE),
	QUEUE(roce_slow_restart_cnps, "slow restarts sent notifications of congestion", "0",
	      ROCE),
	QUEUE(roce_slow_restart_trans, "flows changed to slow restart", "0", ROCE),
	WIDE(np_ecn_marked_roce_packets, "packets arrived that a congested switch had marked",
	     "0 while nothing is congested; np_cnp_sent follows it", CONGESTION),
	WIDE(np_cnp_sent, "peers were told to slow down: packets were marked",
	     "0 while nothing is congested", CONGESTION),
	WIDE(rp_cnp_handled, "peers told this host to slow down, and it did",
	     "0 while nothing is congested", CONGESTION),
	WIDE(rp_cnp_ignored,
	     "peers told this host to slow down, and it did not: is congestion "
	     "control on?",
	     "0", CONGESTION),
};

/* PFC by priority: sent, received; then pauses of all priorities. */
static const char *const flow_names[FLOW_COUNTERS] = {
	"pfc_sent_0",     "pfc_sent_1",     "pfc_sent_2",     "pfc_sent_3",     "pfc_sent_4",
	"pfc_sent_5",     "pfc_sent_6",     "pfc_sent_7",     "pfc_received_0", "pfc_received_1",
	"pfc_received_2", "pfc_received_3", "pfc_received_4", "pfc_received_5", "pfc_received_6",
	"pfc_received_7", "pause_sent",     "pause_received",
};
enum { PAUSE_SENT = 2 * PRIORITIES, PAUSE_RECEIVED };

static struct counter flow_counter(unsigned index)
{
	const bool is_sent = index < PRIORITIES || index == PAUSE_SENT;

	return (struct counter){
		.name = flow_names[index],
		.scale = 1,
		.means = is_sent ? "this host makes the switch wait: its bus or memory is slow"
				 : "the switch makes this host wait: the network is congested",
		.expected = "0 while nothing is congested",
		.source = index < PAUSE_SENT ? FLOW : PAUSE,
	};
}

const struct counter *counter_at(unsigned index)
{
	static struct counter flow[FLOW_COUNTERS];

	if (index < FILE_COUNTERS)
		return &file_counters[index];
	flow[index - FILE_COUNTERS] = flow_counter(index - FILE_COUNTERS);
	return &flow[index - FILE_COUNTERS];
}

static void put(struct reading *reading, unsigned index, uint64_t value)
{
	reading->is_there[index] = true;
	reading->values[index] = value;
}

static void read_flow(const char *root, const char *netdev, struct reading *reading)
{
	const unsigned first = FILE_COUNTERS;
	struct pause pause;
	struct pfc pfc;

	if (!netlink_pfc(root, netdev, &pfc))
		for (unsigned i = 0; i < PRIORITIES; i++) {
			put(reading, first + i, pfc.sent[i]);
			put(reading, first + PRIORITIES + i, pfc.received[i]);
		}
	if (!netlink_pause(root, netdev, &pause) && pause.has_frames) {
		put(reading, first + PAUSE_SENT, pause.tx_frames);
		put(reading, first + PAUSE_RECEIVED, pause.rx_frames);
	}
}

void counters_read(const char *root, const char *device, unsigned port, const char *netdev,
		   struct reading *reading)
{
	char folder[160];

	*reading = (struct reading){ 0 };
	if (port)
		snprintf(folder, sizeof(folder), "sys/class/infiniband/%.100s/ports/%u", device,
			 port);
	else
		snprintf(folder, sizeof(folder), "sys/class/infiniband/%.100s", device);
	for (unsigned i = 0; i < FILE_COUNTERS; i++)
		reading->is_there[i] = root_number(root, &reading->values[i], "%s/%s", folder,
						   file_counters[i].file);
	if (port && *netdev)
		read_flow(root, netdev, reading);
}

bool counter_rose(const struct reading *before, const struct reading *now, unsigned index,
		  uint64_t *by)
{
	const struct counter *counter = counter_at(index);
	const uint64_t old = before->values[index], new = now->values[index];

	if (!before->is_there[index] || !now->is_there[index])
		return false;
	*by = new - old;
	if (new < old && counter->wraps)
		*by = (uint32_t)*by;
	*by *= counter->scale;
	/* A reset looks like a very large step with a wrap. */
	return new >= old || (counter->wraps && *by < UINT32_MAX / 2);
}
