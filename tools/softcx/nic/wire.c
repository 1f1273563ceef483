/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the queue pair that a message goes to, and adds the headers of the network. */
#include "wire.h"

#include <netinet/ip.h>
#include <string.h>

#include "bsn_syndrome.h"
#include "datasheet.h"
#include "error.h"
#include "events.h"
#include "fit.h"
#include "mcast.h"
#include "process.h"
#include "responder.h"
#include "tables.h"
#include "trace.h"

static bool is_own_gid(struct cx_hca *hca, const uint8_t raw[16])
{
	struct cx_gid own;

	for (unsigned i = 0; i < cx_gid_table_len(&hca->config); i++)
		if (!cx_gid_get(&hca->config, i, &own) && !memcmp(own.gid.raw, raw, 16))
			return true;
	return false;
}

static void put_gid(union ibv_gid *gid, uint64_t hi, uint64_t lo)
{
	bsn_store_be64(gid->raw, hi);
	bsn_store_be64(gid->raw + 8, lo);
}

static bool leads_here(struct cx_hca *hca, const struct ibv_ah_attr *path)
{
	if (hca->shared->port_down)
		return false;
	if (hca->config.link == CX_LINK_ROCE)
		return is_own_gid(hca, path->grh.dgid.raw);
	return path->dlid == CX_LID;
}

static bool can_receive(const struct cx_qp *peer)
{
	return peer->mod.qp_state >= IBV_QPS_RTR && peer->mod.qp_state <= IBV_QPS_SQE;
}

/*
 * A responder whose process was killed does not answer. This is checked only when something fails.
 */
static bool is_gone(struct cx_hca *hca, const struct cx_qp *peer)
{
	const unsigned owner = peer->head.owner;

	return !cx_is_local(hca, owner) && !cx_proc_alive(hca, owner);
}

/* -- connections ------------------------------------------------------------------------------- */

static enum ibv_qp_type type_of_peer(const struct cx_qp *qp)
{
	return qp->attr.type == IBV_QPT_XRC_SEND ? IBV_QPT_XRC_RECV : qp->attr.type;
}

static bool path_leads_here(struct cx_hca *hca, struct cx_qp *qp)
{
	if (!qp->run.path_known) {
		qp->run.path_known = true;
		qp->run.path_here = leads_here(hca, &qp->mod.ah_attr);
	}
	return qp->run.path_here && !hca->shared->port_down;
}

/* The peer of a connection; it must also name this queue pair. */
static struct cx_qp *find_connected(struct cx_hca *hca, struct cx_qp *qp)
{
	struct cx_qp *peer = cx_qp_find(hca, qp->mod.dest_qp_num);
	const char *why = NULL;

	if (!path_leads_here(hca, qp))
		why = "the address leads nowhere, or the port is down";
	else if (!peer || peer->attr.type != type_of_peer(qp))
		why = "there is no such queue pair";
	else if (!can_receive(peer))
		why = "it is not ready to receive, or in error";
	else if (peer->mod.dest_qp_num != qp->head.number)
		why = "it is connected to another one";
	if (!why)
		return peer;
	cx_trace(hca, "fit: qpn %#x to %#x: not delivered: %s", qp->head.number,
		 qp->mod.dest_qp_num, why);
	return NULL;
}

static uint32_t mtu_of(struct cx_hca *hca, const struct cx_qp *qp)
{
	return cx_mtu_bytes(qp->attr.type == IBV_QPT_UD ? cx_port_mtu(&hca->config)
							: qp->mod.path_mtu);
}

static void respond(struct cx_hca *hca, struct cx_qp *peer, const struct cx_message *message,
		    struct cx_outcome *out)
{
	cx_respond(hca, peer, message, out);
	if (out->verdict == CX_ACKED)
		cx_traffic_add(hca, message->len, mtu_of(hca, peer), false);
}

/* A responder whose process is gone cannot have answered: takes the answer back. */
static void silence_dead(struct cx_hca *hca, struct cx_qp *peer, struct cx_outcome *out)
{
	if (out->verdict != CX_NAKED || !is_gone(hca, peer))
		return;
	out->verdict = CX_SILENCE;
	out->fail_peer = 0;
	cx_sweep_dead(hca);
}

void cx_wire_send(struct cx_hca *hca, struct cx_qp *qp, const struct cx_message *message,
		  struct cx_outcome *out)
{
	struct cx_qp *peer = find_connected(hca, qp);

	out->verdict = cx_is_reliable(qp) ? CX_SILENCE : CX_ACKED;
	if (!peer)
		return;
	if (cx_fits(hca, qp, peer, message, out))
		respond(hca, peer, message, out);
	if (out->verdict == CX_ACKED)
		cx_fit_advance(qp, peer, message);
	silence_dead(hca, peer, out);
}

/* -- dynamic connections ----------------------------------------------------------------------- */

/* Whether an address vector leads to this port: by LID, or on RoCE by GID. */
static bool is_for_us(struct cx_hca *hca, uint32_t rlid, uint64_t rgid_hi, uint64_t rgid_lo)
{
	struct ibv_ah_attr path = { .dlid = (uint16_t)rlid };

	put_gid(&path.grh.dgid, rgid_hi, rgid_lo);
	return leads_here(hca, &path);
}

/*
 * A target that does not exist, or has another key, does not answer, and the initiator's retries
 * are used up (0x15/0x81: ucx#3679). No public source says what a ConnectX does about a wrong key.
 * IBTA requires that a wrong Q_Key is dropped and counted, and the model does the same here.
 */
static struct cx_qp *find_target(struct cx_hca *hca, const struct cx_qp *qp,
				 const struct bsn_av_dc_grh *to)
{
	struct cx_qp *peer = is_for_us(hca, to->rlid, to->rgid_hi, to->rgid_lo)
				     ? cx_qp_find(hca, to->dqpn)
				     : NULL;

	if (!peer || peer->attr.dc != CX_DC_TARGET || !can_receive(peer) || peer->run.is_drained)
		return NULL;
	if (to->dc_key == peer->attr.dc_key)
		return cx_shares_partition(hca, qp, peer) ? peer : NULL;
	cx_trace(hca, "dc: qpn %#x has another access key than DCT %#x", qp->head.number,
		 to->dqpn);
	cx_dc_count(hca, peer->head.owner, CX_DC_key_violation);
	peer->run.key_violations++;
	if (peer->key_armed)
		cx_event_firmware(hca, peer, BSN_EVENT_DCT_KEY_VIOLATION);
	peer->key_armed = false;
	return NULL;
}

void cx_wire_send_dc(struct cx_hca *hca, struct cx_qp *qp, const struct cx_message *message,
		     const struct bsn_av_dc_grh *to, struct cx_outcome *out)
{
	struct cx_qp *peer = find_target(hca, qp, to);

	out->verdict = CX_SILENCE;
	if (!peer)
		return;
	if (!cx_dc_has_room(hca, qp, message->stream, peer)) {
		cx_dc_refuse(hca, qp, out);
		return;
	}
	cx_dc_connect(hca, qp, message->stream, peer);
	respond(hca, peer, message, out);
	silence_dead(hca, peer, out);
}

/* -- datagrams --------------------------------------------------------------------------------- */

/* RoCEv2 over IPv4: the header is in the last 20 of the 40 bytes (IBTA annex 17). */
static void put_ipv4(struct cx_message *message, const struct bsn_av_ud_grh *av,
		     const union ibv_gid *sgid, const union ibv_gid *dgid)
{
	struct iphdr ip = {
		.version = 4,
		.ihl = 5,
		.tos = (uint8_t)av->tclass,
		.tot_len = htons((uint16_t)(message->len + sizeof(struct iphdr))),
		.ttl = (uint8_t)av->hop_limit,
		.protocol = IPPROTO_UDP,
	};

	memcpy(&ip.saddr, sgid->raw + 12, sizeof(ip.saddr));
	memcpy(&ip.daddr, dgid->raw + 12, sizeof(ip.daddr));
	memset(message->grh, 0, CX_GRH_BYTES);
	memcpy(message->grh + CX_GRH_BYTES - sizeof(ip), &ip, sizeof(ip));
	message->sl = 2;
}

static bool is_ipv4_mapped(const union ibv_gid *gid)
{
	static const uint8_t prefix[12] = { [10] = 0xff, 0xff };

	return !memcmp(gid->raw, prefix, sizeof(prefix));
}

/* The header before the data in the receiver's memory, and the fields of its CQE. */
static void put_header(struct cx_hca *hca, struct cx_message *message,
		       const struct bsn_av_ud_grh *av)
{
	const bool roce = hca->config.link == CX_LINK_ROCE;
	struct ibv_grh grh = { 0 };
	struct cx_gid sgid = { 0 };
	bool is_v2;

	memset(message->grh, 0, CX_GRH_BYTES);
	if (!roce && !(av->ext && av->grh))
		return;
	cx_gid_get(&hca->config, av->sgid_index, &sgid);
	is_v2 = roce && sgid.type == IBV_GID_TYPE_ROCE_V2;
	put_gid(&grh.dgid, av->rgid_hi, av->rgid_lo);
	grh.sgid = sgid.gid;
	grh.version_tclass_flow = htonl(6u << 28 | av->tclass << 20 | av->flow_label);
	grh.paylen = htons((uint16_t)message->len);
	grh.next_hdr = is_v2 ? IPPROTO_UDP : 0x1b;
	grh.hop_limit = (uint8_t)av->hop_limit;
	memcpy(message->grh, &grh, CX_GRH_BYTES);
	message->grh_kind = BSN_CQE_GRH_IN_DATA;
	message->sl = roce ? is_v2 : (uint8_t)av->sl;
	if (is_v2 && is_ipv4_mapped(&sgid.gid))
		put_ipv4(message, av, &sgid.gid, &grh.dgid);
}

static bool takes_datagram(struct cx_hca *hca, const struct cx_qp *peer,
			   const struct cx_message *message)
{
	const struct cx_qp *sender = cx_qp_find(hca, message->source_qpn);

	return peer->attr.type == IBV_QPT_UD && can_receive(peer) &&
	       message->qkey == peer->mod.qkey && sender &&
	       cx_shares_partition(hca, sender, peer);
}

/*
 * To each member of a group, also to the sender's queue pair unless that is blocked. Each member
 * uses its own receive; one that fails does not concern the others. A packet to a group has a GRH;
 * on RoCE the address vector does not say so.
 */
static void send_to_group(struct cx_hca *hca, struct cx_message *message,
			  const struct bsn_av_ud_grh *to, struct cx_outcome *out)
{
	struct cx_qp *peer;
	union ibv_gid gid;
	unsigned at = 0;

	put_gid(&gid, to->rgid_hi, to->rgid_lo);
	if (hca->shared->port_down || !cx_mcast_is_group(gid.raw) ||
	    (hca->config.link == CX_LINK_IB && !to->grh))
		return;
	put_header(hca, message, to);
	cx_traffic_add(hca, message->len, cx_mtu_bytes(cx_port_mtu(&hca->config)), true);
	while ((peer = cx_mcast_next(hca, gid.raw, &at))) {
		if (!takes_datagram(hca, peer, message) ||
		    (peer->attr.blocks_own_multicast && peer->head.number == message->source_qpn))
			continue;
		cx_respond(hca, peer, message, out);
		if (out->fail_peer)
			cx_qp_fail(hca, peer, BSN_VENDOR_FLUSHED_IN_ERROR);
		out->fail_peer = 0;
	}
	out->verdict = CX_ACKED;
}

void cx_wire_send_datagram(struct cx_hca *hca, struct cx_message *message,
			   const struct bsn_av_ud_grh *to, struct cx_outcome *out)
{
	struct cx_qp *peer;

	out->verdict = CX_ACKED;
	if (to->dqpn == BSN_QPN_MAX) {
		send_to_group(hca, message, to, out);
		return;
	}
	peer = is_for_us(hca, to->rlid, to->rgid_hi, to->rgid_lo)
		       ? cx_qp_find(hca, to->dqpn)
		       : NULL;
	if (!peer || !takes_datagram(hca, peer, message))
		return;
	put_header(hca, message, to);
	respond(hca, peer, message, out);
}
