/* SPDX-License-Identifier: BSD-2-Clause */
/* Addresses, connecting, and the endpoints of datagram QPs. */
#include "engine.h"

#include <stdlib.h>
#include <sys/random.h>

#define DEFAULT_HOP_LIMIT     64
#define DEFAULT_TIMEOUT	      14 /* 4.096 us << 14: 67 ms */
#define DEFAULT_RETRIES	      7
#define DEFAULT_MIN_RNR_TIMER 12 /* 640 us */
#define DEFAULT_QKEY	      0x11111111u
#define MAX_RD_ATOMIC	      16 /* of what the device can, by default */

/* -- addresses ---------------------------------------------------------------------------------- */

/* Big-endian, in a bsn_address; the rest of its 64 bytes is zero. */
struct wire_address {
	struct bsn_be32 magic; /* "BSN" and the version */
	struct bsn_be32 qpn;
	struct bsn_be32 psn;
	struct bsn_be32 qkey;
	struct bsn_be16 lid;
	uint8_t type;
	uint8_t link_layer;
	uint8_t mtu; /* enum ibv_mtu */
	uint8_t rd_atomic;
	uint8_t reserved[2];
	uint8_t gid[16];
};

#define ADDRESS_MAGIC	0x42534e00u
#define ADDRESS_VERSION 1u

_Static_assert(sizeof(struct wire_address) <= sizeof(struct bsn_address), "an address fits");

int bsn_qp_address(const struct bsn_qp *handle, struct bsn_address *address)
{
	const struct qp_object *qp = (const struct qp_object *)(const void *)handle;
	const struct bsn_device_info *info;
	struct wire_address wire;

	if (!qp || !address)
		return fail(EINVAL, "no QP, or no place for its address");
	info = &qp->device->info;
	wire = (struct wire_address){
		.magic = bsn_to_be32(ADDRESS_MAGIC | ADDRESS_VERSION),
		.qpn = bsn_to_be32(qp->verbs->qp_num),
		.psn = bsn_to_be32(qp->psn),
		.qkey = bsn_to_be32(qp->qkey ? qp->qkey : DEFAULT_QKEY),
		.lid = bsn_to_be16(info->lid),
		.type = (uint8_t)qp->type,
		.link_layer = qp->device->port.link_layer,
		.mtu = (uint8_t)qp->device->port.active_mtu,
		.rd_atomic = (uint8_t)(info->max_rd_atomic < UINT8_MAX ? info->max_rd_atomic :
									 UINT8_MAX),
	};
	memcpy(wire.gid, info->gid, sizeof(wire.gid));
	memset(address, 0, sizeof(*address));
	memcpy(address->bytes, &wire, sizeof(wire));
	return 0;
}

static int read_address(const struct qp_object *qp, const struct bsn_address *address,
			struct wire_address *wire)
{
	static const char *const types[] = { "RC", "UC", "UD" };
	uint32_t magic;

	memcpy(wire, address->bytes, sizeof(*wire));
	magic = bsn_from_be32(wire->magic);
	if ((magic & ~0xffu) != ADDRESS_MAGIC)
		return fail(EPROTO, "these %zu bytes are not the address of a QP",
			    sizeof(address->bytes));
	if ((magic & 0xff) != ADDRESS_VERSION)
		return fail(EPROTO,
			    "the peer's address is of version %u, this library reads %u: "
			    "use one version of Bunsen at both ends",
			    magic & 0xff, ADDRESS_VERSION);
	if (wire->type > BSN_QP_UD || (enum bsn_qp_type)wire->type != qp->type)
		return fail(EPROTO, "the peer's QP is %s, this one is %s",
			    wire->type > BSN_QP_UD ? "of no known type" : types[wire->type],
			    types[qp->type]);
	if (wire->link_layer != qp->device->port.link_layer)
		return fail(EPROTO, "one port is InfiniBand, the other Ethernet");
	if (wire->mtu < IBV_MTU_256 || wire->mtu > IBV_MTU_4096 ||
	    bsn_from_be32(wire->qpn) > 0xffffff)
		return fail(EPROTO, "the peer's address holds an impossible MTU or QPN");
	return 0;
}

/* -- attributes --------------------------------------------------------------------------------- */

static uint8_t or_default(uint8_t value, uint8_t if_zero)
{
	return value == BSN_NO_RETRY ? 0 : value ? value : if_zero;
}

static int mtu_of(uint32_t bytes, enum ibv_mtu *mtu)
{
	for (enum ibv_mtu m = IBV_MTU_256; m <= IBV_MTU_4096; m++) {
		if (bytes == 128u << m) {
			*mtu = m;
			return 0;
		}
	}
	return fail(EINVAL, "an MTU is 256, 512, 1024, 2048 or 4096, not %u", bytes);
}

static int choose_mtu(const struct qp_object *qp, const struct wire_address *peer, uint32_t wanted,
		      enum ibv_mtu *mtu)
{
	const enum ibv_mtu mine = qp->device->port.active_mtu;

	if (wanted)
		return mtu_of(wanted, mtu);
	*mtu = peer->mtu < (uint8_t)mine ? (enum ibv_mtu)peer->mtu : mine;
	return 0;
}

static uint8_t gid_index_of(const struct bsn_device *device, const struct bsn_connect_attr *attr)
{
	return attr->gid_index ? (uint8_t)(attr->gid_index - 1) : device->info.gid_index;
}

/* RoCE needs the GRH; InfiniBand within a subnet does not. */
static struct ibv_ah_attr path_to(const struct bsn_device *device, uint16_t lid,
				  const uint8_t gid[16], const struct bsn_connect_attr *attr)
{
	struct ibv_ah_attr ah = {
		.dlid = lid,
		.sl = attr->sl,
		.port_num = device->info.port,
		.is_global = device->port.link_layer == IBV_LINK_LAYER_ETHERNET,
		.grh = { .sgid_index = gid_index_of(device, attr),
			 .hop_limit = or_default(attr->hop_limit, DEFAULT_HOP_LIMIT),
			 .traffic_class = attr->traffic_class },
	};

	memcpy(ah.grh.dgid.raw, gid, sizeof(ah.grh.dgid.raw));
	return ah;
}

static int modify(struct qp_object *qp, struct ibv_qp_attr *attr, int mask, const char *to)
{
	const int err = provider_error_of_int(ibv_modify_qp(qp->verbs, attr, mask));

	return err ? fail(-err, "cannot bring the QP to %s: %s", to, strerror(-err)) : 0;
}

/* -- connecting --------------------------------------------------------------------------------- */

static int to_init(struct qp_object *qp)
{
	const int all = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = qp->device->info.port,
		.qkey = qp->qkey,
	};
	int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;

	/* What a peer may do is the memory's to say. */
	if (qp->type == BSN_QP_RC)
		attr.qp_access_flags = qp->device->limits.atomic_cap == IBV_ATOMIC_NONE ?
					       all & ~IBV_ACCESS_REMOTE_ATOMIC :
					       all;
	if (qp->type == BSN_QP_UC)
		attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
	mask |= qp->type == BSN_QP_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
	return modify(qp, &attr, mask, "INIT, where a connected one only gets by bsn_qp_reset()");
}

static uint8_t rd_atomic(uint8_t wanted, uint32_t mine, uint32_t peers)
{
	uint32_t most = mine < peers ? mine : peers;

	if (wanted)
		return wanted;
	return (uint8_t)(most < MAX_RD_ATOMIC ? most : MAX_RD_ATOMIC);
}

static int to_rtr(struct qp_object *qp, const struct wire_address *peer,
		  const struct bsn_connect_attr *attr)
{
	struct ibv_qp_attr verbs = { .qp_state = IBV_QPS_RTR };
	int mask = IBV_QP_STATE;

	if (qp->type != BSN_QP_UD) {
		const int err = choose_mtu(qp, peer, attr->mtu, &verbs.path_mtu);
		if (err)
			return err;
		verbs.dest_qp_num = bsn_from_be32(peer->qpn);
		verbs.rq_psn = bsn_from_be32(peer->psn);
		verbs.ah_attr = path_to(qp->device, bsn_from_be16(peer->lid), peer->gid, attr);
		mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	}
	if (qp->type == BSN_QP_RC) {
		verbs.max_dest_rd_atomic = rd_atomic(attr->max_dest_rd_atomic,
						     qp->device->info.max_rd_atomic, UINT8_MAX);
		verbs.min_rnr_timer = or_default(attr->min_rnr_timer, DEFAULT_MIN_RNR_TIMER);
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	}
	return modify(qp, &verbs, mask, "RTR");
}

static int to_rts(struct qp_object *qp, const struct wire_address *peer,
		  const struct bsn_connect_attr *attr)
{
	struct ibv_qp_attr verbs = { .qp_state = IBV_QPS_RTS, .sq_psn = qp->psn };
	int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;

	if (qp->type == BSN_QP_RC) {
		verbs.timeout = or_default(attr->timeout, DEFAULT_TIMEOUT);
		verbs.retry_cnt = or_default(attr->retry_count, DEFAULT_RETRIES);
		verbs.rnr_retry = or_default(attr->rnr_retry, DEFAULT_RETRIES);
		verbs.max_rd_atomic = rd_atomic(attr->max_rd_atomic,
						qp->device->info.max_rd_atomic, peer->rd_atomic);
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC;
	}
	return modify(qp, &verbs, mask, "RTS");
}

/* The fields have so many bits (InfiniBand specification, "Modify QP"). */
static int check_connect(const struct bsn_device *device, const struct bsn_connect_attr *attr)
{
	enum ibv_mtu mtu;
	const struct {
		const char *name;
		unsigned value, most;
	} fields[] = {
		{ "sl", attr->sl, 15 },
		{ "timeout", attr->timeout, 31 },
		{ "retry_count", or_default(attr->retry_count, 0), 7 },
		{ "rnr_retry", or_default(attr->rnr_retry, 0), 7 },
		{ "min_rnr_timer", attr->min_rnr_timer, 31 },
		{ "max_rd_atomic", attr->max_rd_atomic, device->info.max_rd_atomic },
		{ "max_dest_rd_atomic", attr->max_dest_rd_atomic, device->info.max_rd_atomic },
	};

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (fields[i].value > fields[i].most)
			return fail(EINVAL, "%s is %u: at most %u", fields[i].name, fields[i].value,
				    fields[i].most);
	if (attr->gid_index < 0 || attr->gid_index > device->port.gid_tbl_len)
		return fail(EINVAL, "gid_index is %d: the port has %d entries; index + 1 is given",
			    attr->gid_index, device->port.gid_tbl_len);
	return attr->mtu ? mtu_of(attr->mtu, &mtu) : 0;
}

/*
 * Nothing reaches another port from one without a link, or without a subnet manager, and the first
 * word of that would be the failure of whatever is posted. Queues of one port need neither.
 */
static int check_port(const struct qp_object *qp, const struct wire_address *peer)
{
	const struct bsn_device_info *info = &qp->device->info;
	struct ibv_port_attr port;
	int err;

	if (bsn_from_be16(peer->lid) == info->lid &&
	    !memcmp(peer->gid, info->gid, sizeof(peer->gid)))
		return 0;
	err = provider_error_of_int(ibv_query_port(qp->device->context, info->port, &port));
	if (err)
		return fail(-err, "%s does not tell the state of port %u: %s", info->name,
			    info->port, strerror(-err));
	if (port.state == IBV_PORT_ACTIVE)
		return 0;
	return fail(ENETDOWN,
		    "port %u of %s is %s, not active: see to its cable, its interface "
		    "(ip link) or subnet manager",
		    info->port, info->name, ibv_port_state_str(port.state));
}

int bsn_qp_connect(struct bsn_qp *handle, const struct bsn_address *peer,
		   const struct bsn_connect_attr *given)
{
	const struct bsn_connect_attr attr = given ? *given : (struct bsn_connect_attr){ 0 };
	struct qp_object *qp = qp_of(handle);
	struct wire_address wire = { .rd_atomic = 0 };
	int err = 0;

	if (!qp || (!peer && qp->type != BSN_QP_UD))
		return fail(EINVAL, "no QP, or no peer");
	if (peer && qp->type != BSN_QP_UD)
		err = read_address(qp, peer, &wire);
	if (!err)
		err = check_connect(qp->device, &attr);
	if (!err && qp->type != BSN_QP_UD)
		err = check_port(qp, &wire);
	if (err)
		return err;
	if (attr.qkey)
		qp->qkey = attr.qkey;
	err = to_init(qp);
	if (!err)
		err = to_rtr(qp, &wire, &attr);
	if (!err)
		err = to_rts(qp, &wire, &attr);
	return err;
}

/* The packet numbers that a QP will start with: random, so that a late packet does not fit. */
void choose_psn(struct qp_object *qp)
{
	if (getrandom(&qp->psn, sizeof(qp->psn), GRND_NONBLOCK) != sizeof(qp->psn))
		qp->psn = (uint32_t)(uintptr_t)qp >> 4;
	qp->psn &= 0xffffff;
	qp->qkey = DEFAULT_QKEY;
}

/* -- endpoints ---------------------------------------------------------------------------------- */

struct ep_object {
	struct bsn_ep hot; /* first */
	struct ibv_ah *ah;
};

static int make_ep(struct qp_object *qp, struct ibv_ah_attr *path, uint32_t qpn, uint32_t qkey,
		   void *user, struct bsn_ep **out)
{
	struct ep_object *ep = calloc(1, sizeof(*ep));
	int err;

	if (!ep)
		return fail(ENOMEM, "no memory");
	errno = 0;
	ep->ah = ibv_create_ah(qp->verbs->pd, path); /* an attached QP has the application's */
	if (!ep->ah) {
		err = fail(errno ? errno : EIO, "no address handle for the peer: %s",
			   strerror(errno));
		goto free_ep;
	}
	ep->hot = (struct bsn_ep){ .sq = qp->sq, .bound = qp->sq, .user = user, .owner = qp };
	err = path_of(qp->direct)->ep_make(&ep->hot, ep->ah, qpn, qkey);
	if (err)
		goto destroy_ah;
	use(&qp->uses);
	*out = &ep->hot;
	return 0;

destroy_ah:
	ibv_destroy_ah(ep->ah);
free_ep:
	free(ep);
	return err;
}

int bsn_ep_create(struct bsn_qp *handle, const struct bsn_address *peer,
		  const struct bsn_connect_attr *given, void *user, struct bsn_ep **out)
{
	const struct bsn_connect_attr attr = given ? *given : (struct bsn_connect_attr){ 0 };
	struct qp_object *qp = qp_of(handle);
	struct wire_address wire;
	struct ibv_ah_attr path;
	int err;

	if (!qp || !peer || !out)
		return fail(EINVAL, "no QP, no peer, or no place for the endpoint");
	if (qp->type != BSN_QP_UD)
		return fail(EINVAL, "an RC or UC QP has the one endpoint bsn_qp_ep()");
	err = read_address(qp, peer, &wire);
	if (!err)
		err = check_connect(qp->device, &attr);
	if (err)
		return err;
	path = path_to(qp->device, bsn_from_be16(wire.lid), wire.gid, &attr);
	return make_ep(qp, &path, bsn_from_be32(wire.qpn),
		       attr.qkey ? attr.qkey : bsn_from_be32(wire.qkey), user, out);
}

int bsn_ep_create_reply(struct bsn_qp *handle, const struct bsn_completion *c, const void *grh,
			const struct bsn_connect_attr *given, void *user, struct bsn_ep **out)
{
	const struct bsn_connect_attr attr = given ? *given : (struct bsn_connect_attr){ 0 };
	struct qp_object *qp = qp_of(handle);
	struct ibv_ah_attr path;
	struct ibv_wc wc;
	int err;

	if (!qp || !c || !grh || !out || qp->type != BSN_QP_UD || c->status || c->opcode != BSN_RECV)
		return fail(EINVAL, "an endpoint comes from a successful receive of a UD QP");
	wc = (struct ibv_wc){
		.src_qp = c->src_qpn,
		.slid = c->slid,
		.sl = c->sl,
		.dlid_path_bits = c->dlid_path_bits,
		.wc_flags = (c->flags & BSN_C_GRH) ? IBV_WC_GRH : 0,
	};
	err = provider_error_of_int(ibv_init_ah_from_wc(qp->device->context, qp->device->info.port,
							&wc, (struct ibv_grh *)(uintptr_t)grh,
							&path));
	if (err)
		return fail(-err, "the message does not say where it came from: %s", strerror(-err));
	return make_ep(qp, &path, c->src_qpn, attr.qkey ? attr.qkey : qp->qkey, user, out);
}

int bsn_ep_destroy(struct bsn_ep *hot)
{
	struct ep_object *ep = (struct ep_object *)(void *)hot;
	struct qp_object *qp;
	int err;

	if (!ep)
		return 0;
	qp = hot->owner;
	if (hot == &qp->ep)
		return fail(EINVAL, "this endpoint is its QP's own");
	err = destroyed(qp->device, ibv_destroy_ah(ep->ah));
	if (err)
		return fail(-err, "cannot destroy the address handle: %s", strerror(-err));
	path_of(qp->direct)->ep_free(hot);
	unuse(&qp->uses);
	free(ep);
	return 0;
}
