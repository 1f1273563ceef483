/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The responder's checks, in IBTA's order (9.6, 9.7.4): is the packet for it, is it the next one,
 * is the operation allowed.
 */
#include "fit.h"

#include "bsn_syndrome.h"
#include "counters.h"

enum { PSN_BITS = 24, PSN_MASK = (1 << PSN_BITS) - 1 };

/* How far a PSN is after the expected one; negative: before it. */
static int32_t psn_distance(uint32_t psn, uint32_t expected)
{
	return (int32_t)((psn - expected) << (32 - PSN_BITS)) >> (32 - PSN_BITS);
}

static uint32_t mtu_of(const struct cx_qp *qp)
{
	return cx_mtu_bytes(qp->mod.path_mtu);
}

/* PSNs of a message: one for each packet; of a READ one for each packet of the response. */
static uint32_t count_packets(const struct cx_qp *qp, const struct cx_message *message)
{
	return (uint32_t)cx_packets(message->len, mtu_of(qp));
}

static bool is_read(const struct cx_message *message)
{
	return message->op->data == BSN_DATA_SCATTER && !message->op->has_atomic;
}

/* -- for it ------------------------------------------------------------------------------------ */

enum { PKEY_FULL = 0x8000 };

bool cx_shares_partition(struct cx_hca *hca, const struct cx_qp *qp, const struct cx_qp *peer)
{
	const uint16_t here = cx_pkey_get(&hca->config, qp->mod.pkey_index);
	const uint16_t there = cx_pkey_get(&hca->config, peer->mod.pkey_index);
	const uint16_t members = (here | there) & PKEY_FULL;

	if (members && here & ~PKEY_FULL && !((here ^ there) & ~PKEY_FULL))
		return true;
	cx_trace(hca, "fit: qpn %#x to %#x: P_Keys %#x and %#x do not match: not delivered",
		 qp->head.number, peer->head.number, here, there);
	return false;
}

static enum ibv_gid_type version_of(struct cx_hca *hca, uint8_t sgid_index)
{
	struct cx_gid gid = { 0 };

	cx_gid_get(&hca->config, sgid_index, &gid);
	return gid.type;
}

/* RoCE v1 and v2 are packets of two protocols: Mooncake pull request 113. */
static bool fits_version(struct cx_hca *hca, const struct cx_qp *qp, const struct cx_qp *peer)
{
	const uint8_t here = qp->mod.ah_attr.grh.sgid_index;
	const uint8_t there = peer->mod.ah_attr.grh.sgid_index;

	if (hca->config.link != CX_LINK_ROCE || here == there ||
	    version_of(hca, here) == version_of(hca, there))
		return true;
	cx_trace(hca, "fit: qpn %#x to %#x: one is of RoCE v1, the other of v2: not delivered",
		 qp->head.number, peer->head.number);
	return false;
}

/* -- its turn ---------------------------------------------------------------------------------- */

/*
 * A request whose PSN is before the expected one is a duplicate (IBTA 9.7.5): a SEND or WRITE is
 * acknowledged and not executed, a READ is answered, an atomic is dropped if nothing is known of
 * it. A message that is partly a duplicate continues in its middle, which is no valid sequence of
 * opcodes.
 */
static bool fits_as_duplicate(struct cx_hca *hca, const struct cx_qp *qp, const struct cx_qp *peer,
			      const struct cx_message *message, struct cx_outcome *out)
{
	const int32_t end = psn_distance(qp->mod.sq_psn, peer->mod.rq_psn) +
			    (int32_t)count_packets(qp, message);
	const char *effect = "acknowledged, not executed";

	cx_counter_add(hca, peer, CX_COUNTER_duplicate_request);
	if (is_read(message)) {
		effect = "answered again";
	} else if (message->op->has_atomic) {
		effect = "dropped";
		out->verdict = CX_SILENCE;
	} else if (end > 0) {
		effect = "refused, since it begins before that and ends after it";
		cx_outcome_refuse(out, peer, BSN_SYNDROME_REMOTE_INVALID_REQUEST);
	} else {
		out->verdict = CX_ACKED;
	}
	cx_trace(hca, "fit: qpn %#x to %#x: PSN %#x is before %#x, a duplicate: %s",
		 qp->head.number, peer->head.number, qp->mod.sq_psn, peer->mod.rq_psn, effect);
	return is_read(message);
}

/*
 * An unreliable responder accepts any PSN: a gap is a lost message (IBTA 9.8.2). A reliable one
 * answers a PSN ahead by one NAK, then by silence, since the requester has nothing earlier to send
 * (IBTA 9.7.4.1).
 */
static bool fits_psn(struct cx_hca *hca, const struct cx_qp *qp, const struct cx_qp *peer,
		     const struct cx_message *message, struct cx_outcome *out)
{
	const int32_t distance = psn_distance(qp->mod.sq_psn, peer->mod.rq_psn);

	if (!cx_is_reliable(peer) || !distance)
		return true;
	if (distance < 0)
		return fits_as_duplicate(hca, qp, peer, message, out);
	out->verdict = CX_SILENCE;
	cx_counter_add(hca, peer, CX_COUNTER_out_of_sequence);
	if (qp->run.wait != CX_WAIT_ACK)
		cx_counter_add(hca, qp, CX_COUNTER_packet_seq_err);
	cx_trace(hca, "fit: qpn %#x to %#x: PSN %#x is after %#x: one NAK, then silence",
		 qp->head.number, peer->head.number, qp->mod.sq_psn, peer->mod.rq_psn);
	return false;
}

/* -- taken ------------------------------------------------------------------------------------- */

/* The device has room for a power of two of them: hw/mlx5/qp.c __mlx5_ib_modify_qp(). */
static unsigned round_up(unsigned reads)
{
	unsigned room = 1;

	while (room < reads)
		room <<= 1;
	return room;
}

/*
 * READs and atomics that are outstanding at once: those that one doorbell has published, up to the
 * requester's limit. Responders differ in what they do with more than they have room for; one that
 * refuses was seen in a trace (SPDK 2261), as IBTA 9.7.4.1 says.
 */
static bool fits_reads(struct cx_hca *hca, const struct cx_qp *qp, const struct cx_qp *peer,
		       const struct cx_message *message, struct cx_outcome *out)
{
	const unsigned here = round_up(qp->mod.max_rd_atomic);
	const unsigned there = round_up(peer->mod.max_dest_rd_atomic);
	const unsigned outstanding = qp->run.reads < here ? qp->run.reads : here;

	if (message->op->data != BSN_DATA_SCATTER || outstanding <= there)
		return true;
	cx_trace(hca, "fit: qpn %#x to %#x: %u READs and atomics are outstanding, room for %u: "
		      "refused", qp->head.number, peer->head.number, outstanding, there);
	cx_outcome_refuse(out, peer, BSN_SYNDROME_REMOTE_INVALID_REQUEST);
	return false;
}

/*
 * Packets longer than the responder's MTU are refused. Its program gets an access violation, its
 * kernel a local length error with 0x8e (Mooncake 3299, NCCL 1524 and 1710).
 */
static bool fits_mtu(struct cx_hca *hca, const struct cx_qp *qp, const struct cx_qp *peer,
		     const struct cx_message *message, struct cx_outcome *out)
{
	const uint32_t here = mtu_of(qp), there = mtu_of(peer);
	const uint64_t longest = message->len < here ? message->len : here;

	if (here == there || message->len <= (here < there ? here : there))
		return true;
	if (is_read(message) || longest <= there) {
		cx_trace(hca, "fit: qpn %#x to %#x: MTU %u to %u, %s: the effect is unknown",
			 qp->head.number, peer->head.number, here, there, message->op->name);
		return true;
	}
	cx_trace(hca, "fit: qpn %#x to %#x: packets of %u bytes, MTU %u: refused, responder %#x",
		 qp->head.number, peer->head.number, here, there, BSN_VENDOR_MTU_VIOLATION);
	cx_outcome_refuse(out, peer, BSN_SYNDROME_REMOTE_INVALID_REQUEST);
	out->peer_event = IBV_EVENT_QP_ACCESS_ERR;
	return false;
}

bool cx_fits(struct cx_hca *hca, const struct cx_qp *qp, const struct cx_qp *peer,
	     const struct cx_message *message, struct cx_outcome *out)
{
	return cx_shares_partition(hca, qp, peer) && fits_version(hca, qp, peer) &&
	       fits_psn(hca, qp, peer, message, out) && fits_reads(hca, qp, peer, message, out) &&
	       fits_mtu(hca, qp, peer, message, out);
}

void cx_fit_advance(struct cx_qp *qp, struct cx_qp *peer, const struct cx_message *message)
{
	const uint32_t next = (qp->mod.sq_psn + count_packets(qp, message)) & PSN_MASK;

	if (!cx_is_reliable(peer) || qp->mod.sq_psn == peer->mod.rq_psn)
		peer->mod.rq_psn = next;
	qp->mod.sq_psn = next;
}
