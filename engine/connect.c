/* SPDX-License-Identifier: BSD-2-Clause */
/* Connects QPs. */
#include "address.h"
#include "init.h"
#include "path.h"

#include <sys/random.h>

#define DEFAULT_TIMEOUT 14 /* 4.096 us << 14: 67 ms */
#define DEFAULT_RETRIES 7
#define DEFAULT_QKEY    0x11111111u
#define MAX_RD_ATOMIC   16 /* the default, if the device can */

int choose_mtu(const struct bsn_device *device, const struct wire_address *peer, uint32_t wanted,
	       enum ibv_mtu *mtu)
{
	const enum ibv_mtu mine = device->port.active_mtu;

	if (wanted)
		return mtu_of(wanted, mtu);
	*mtu = peer->mtu < (uint8_t)mine ? (enum ibv_mtu)peer->mtu : mine;
	return 0;
}

uint8_t rd_atomic(uint8_t wanted, uint32_t mine, uint32_t peers)
{
	uint32_t most = mine < peers ? mine : peers;

	if (wanted)
		return wanted;
	return (uint8_t)(most < MAX_RD_ATOMIC ? most : MAX_RD_ATOMIC);
}

/* A DCI receives nothing, so RTR needs only the MTU. */
static int dci_to_rtr(struct bsn_qp *qp, const struct bsn_connect_attr *attr)
{
	struct ibv_qp_attr verbs = { .qp_state = IBV_QPS_RTR,
				     .path_mtu = qp->device->port.active_mtu };
	const int err = attr->mtu ? mtu_of(attr->mtu, &verbs.path_mtu) : 0;

	return err ? err : qp_modify(qp, &verbs, IBV_QP_PATH_MTU, "RTR");
}

static int to_rtr(struct bsn_qp *qp, const struct wire_address *peer,
		  const struct bsn_connect_attr *attr)
{
	struct ibv_qp_attr verbs = { .qp_state = IBV_QPS_RTR };
	int mask = 0;

	if (qp->transport->is_initiator && !qp->transport->is_connected)
		return dci_to_rtr(qp, attr);
	if (qp->transport->is_connected) {
		const int err = choose_mtu(qp->device, peer, attr->mtu, &verbs.path_mtu);
		if (err)
			return err;
		verbs.dest_qp_num = bsn_from_be32(peer->qpn);
		verbs.rq_psn = bsn_from_be32(peer->psn);
		verbs.ah_attr = av_to(qp->device, bsn_from_be16(peer->lid), peer->gid, attr);
		mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	}
	if (qp->transport->is_reliable && !qp->transport->is_initiator) {
		verbs.max_dest_rd_atomic = rd_atomic(attr->max_dest_rd_atomic,
						     qp->device->info.max_rd_atomic, UINT8_MAX);
		verbs.min_rnr_timer = or_default(attr->min_rnr_timer, DEFAULT_MIN_RNR_TIMER);
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	}
	if (qp->transport->has_qkey) {
		verbs.qkey = qp->qkey;
		mask |= IBV_QP_QKEY;
	}
	return qp_modify(qp, &verbs, mask, "RTR");
}

static int to_rts(struct bsn_qp *qp, const struct bsn_connect_attr *attr)
{
	struct ibv_qp_attr verbs = { .qp_state = IBV_QPS_RTS, .sq_psn = qp->psn };
	int mask = IBV_QP_SQ_PSN;

	if (qp->transport->is_reliable) {
		verbs.timeout = or_default(attr->timeout, DEFAULT_TIMEOUT);
		verbs.retry_cnt = or_default(attr->retry_count, DEFAULT_RETRIES);
		verbs.rnr_retry = or_default(attr->rnr_retry, DEFAULT_RETRIES);
		verbs.max_rd_atomic = rd_atomic(attr->max_rd_atomic, qp->device->info.max_rd_atomic,
						qp->peer_rd_atomic);
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC;
	}
	return qp_modify(qp, &verbs, mask, "RTS");
}

/*
 * Refuses a port that has no link or no subnet manager: it reaches no other port, and without this
 * check a failed request would be the first sign. Queues of the same port need neither.
 */
int check_port(const struct bsn_device *device, const struct wire_address *peer)
{
	const struct bsn_device_info *info = &device->info;
	struct ibv_port_attr port;
	int err;

	if (bsn_from_be16(peer->lid) == info->lid &&
	    !memcmp(peer->gid, info->gid, sizeof(peer->gid)))
		return 0;
	err = provider_error_of_int(ibv_query_port(device->context, info->port, &port));
	if (err)
		return fail(-err, "%s does not tell the state of port %u: %s", info->name,
			    info->port, strerror(-err));
	if (port.state == IBV_PORT_ACTIVE)
		return 0;
	return fail(ENETDOWN,
		    "port %u of %s is %s, not active: check its cable, its interface (ip link) or "
		    "the subnet manager",
		    info->port, info->name, ibv_port_state_str(port.state));
}

int bsn_qp_ready_to_receive(struct bsn_qp *qp, const struct bsn_address *peer,
			    const struct bsn_connect_attr *given)
{
	const struct bsn_connect_attr attr = given ? *given : (struct bsn_connect_attr){ 0 };
	struct wire_address wire = { .rd_atomic = UINT8_MAX };
	int err = 0;

	if (!qp || (!peer && qp->transport->is_connected))
		return fail(EINVAL, "no QP, or no peer");
	if (qp->transport->is_connected)
		err = read_address(qp->device, qp->transport, qp->type == BSN_QP_XRC, peer, &wire);
	if (!err)
		err = check_connect(qp->device, &attr);
	if (!err && qp->transport->is_connected)
		err = check_port(qp->device, &wire);
	if (!err)
		err = bsn_qp_init(qp);
	if (err)
		return err;
	if (attr.qkey)
		qp->qkey = attr.qkey;
	qp->peer_rd_atomic = wire.rd_atomic;
	return to_rtr(qp, &wire, &attr);
}

int bsn_qp_ready_to_send(struct bsn_qp *qp, const struct bsn_connect_attr *given)
{
	const struct bsn_connect_attr attr = given ? *given : (struct bsn_connect_attr){ 0 };
	int err;

	if (!qp)
		return fail(EINVAL, "no QP");
	err = check_connect(qp->device, &attr);
	if (!err)
		err = to_rts(qp, &attr);
	if (!err)
		bsn_sq_open(qp->sq);
	return err;
}

int bsn_qp_connect(struct bsn_qp *qp, const struct bsn_address *peer,
		   const struct bsn_connect_attr *attr)
{
	const int err = bsn_qp_ready_to_receive(qp, peer, attr);

	return err ? err : bsn_qp_ready_to_send(qp, attr);
}

/* A random number, so that a delayed packet of an earlier connection does not fit. */
uint32_t new_psn(const void *object)
{
	uint32_t psn;

	if (getrandom(&psn, sizeof(psn), GRND_NONBLOCK) != sizeof(psn))
		psn = (uint32_t)(uintptr_t)object >> 4;
	return psn & 0xffffff;
}

void choose_psn(struct bsn_qp *qp)
{
	qp->psn = new_psn(qp);
	qp->qkey = DEFAULT_QKEY;
}
