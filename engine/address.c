/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Addresses of QPs, and the route through the network that an address and the connection's
 * attributes describe.
 */
#include "address.h"
#include "path.h"

#define DEFAULT_HOP_LIMIT 64

/* -- addresses --------------------------------------------------------------------------------- */

#define ADDRESS_MAGIC   0x42534e00u
#define ADDRESS_VERSION 1u

_Static_assert(sizeof(struct wire_address) <= sizeof(struct bsn_address), "an address fits");

struct wire_address address_of(const struct bsn_device *device, enum bsn_qp_type type,
			       uint32_t number)
{
	const struct bsn_device_info *info = &device->info;
	struct wire_address wire = {
		.magic = bsn_to_be32(ADDRESS_MAGIC | ADDRESS_VERSION),
		.qpn = bsn_to_be32(number),
		.lid = bsn_to_be16(info->lid),
		.type = (uint8_t)type,
		.link_layer = device->port.link_layer,
		.mtu = (uint8_t)device->port.active_mtu,
		.rd_atomic = (uint8_t)(info->max_rd_atomic < UINT8_MAX ? info->max_rd_atomic
								       : UINT8_MAX),
	};

	memcpy(wire.gid, info->gid, sizeof(wire.gid));
	return wire;
}

struct bsn_address address_from(const struct wire_address *wire)
{
	struct bsn_address address = { { 0 } };

	memcpy(address.bytes, wire, sizeof(*wire));
	return address;
}

struct wire_address address_of_qp(const struct bsn_qp *qp)
{
	struct wire_address wire = address_of(qp->device, qp->type, qp->info.number);

	wire.psn = bsn_to_be32(qp->psn);
	wire.qkey = bsn_to_be32(qp->qkey);
	return wire;
}

int bsn_qp_address(const struct bsn_qp *qp, struct bsn_address *address)
{
	struct wire_address wire;

	if (!qp || !address)
		return fail(EINVAL, "no QP, or no place for its address");
	if (!qp->transport->is_connected && qp->transport->is_initiator)
		return fail(EINVAL,
			    "a DCI has no address: peers want that of a DCT, bsn_dct_address()");
	wire = address_of_qp(qp);
	*address = address_from(&wire);
	return 0;
}

static const char *end_of(const struct wire_address *wire)
{
	if (wire->type != BSN_QP_XRC)
		return "";
	return wire->is_xrc_target ? " target" : " initiator";
}

/*
 * Refuses a peer in another InfiniBand subnet. Requests have no GRH here, and no router forwards a
 * packet without one (IBA volume 1, chapter 8): the LID would name a port of this subnet.
 */
static int check_fabric(const struct bsn_device *device, const struct wire_address *wire)
{
	uint64_t theirs, ours;

	if (wire->link_layer != device->port.link_layer)
		return fail(EPROTO, "one port is InfiniBand, the other Ethernet");
	theirs = bsn_load_be64(wire->gid);
	ours = bsn_load_be64(device->info.gid);
	if (wire->link_layer == IBV_LINK_LAYER_ETHERNET || theirs == ours)
		return 0;
	return fail(EPROTO,
		    "the peer's port is in another InfiniBand subnet (GID prefix %#llx, here "
		    "%#llx), which requests cannot reach",
		    (unsigned long long)theirs, (unsigned long long)ours);
}

int read_address(const struct bsn_device *device, const struct transport *transport,
		 bool wants_xrc_target, const struct bsn_address *address,
		 struct wire_address *wire)
{
	const struct transport *peers;
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
	peers = transport_of((enum bsn_qp_type)wire->type);
	if (peers != transport)
		return fail(EPROTO, "the peer's QP is %s, this one is %s",
			    peers ? peers->name : "of an unknown type", transport->name);
	if ((bool)wire->is_xrc_target != wants_xrc_target)
		return fail(EPROTO,
			    "the address is of an XRC%s: an initiator connects to a target, and a "
			    "target to an initiator",
			    end_of(wire));
	if (wire->type == BSN_QP_DC &&
	    (bool)wire->is_rc_target != (device->path->path == BSN_PATH_VERBS))
		return fail(EPROTO,
			    "the target is on %s, its peer's end is not: open both devices for one "
			    "path (BSN_PATH)",
			    wire->is_rc_target ? "plain verbs" : "the direct path");
	if (wire->mtu < IBV_MTU_256 || wire->mtu > IBV_MTU_4096 ||
	    bsn_from_be32(wire->qpn) > BSN_QPN_MAX)
		return fail(EPROTO, "the peer's address holds an impossible MTU or QPN");
	return check_fabric(device, wire);
}

/* -- attributes -------------------------------------------------------------------------------- */

int mtu_of(uint32_t bytes, enum ibv_mtu *mtu)
{
	for (enum ibv_mtu m = IBV_MTU_256; m <= IBV_MTU_4096; m++) {
		if (bytes == 128u << m) {
			*mtu = m;
			return 0;
		}
	}
	return fail(EINVAL, "an MTU is 256, 512, 1024, 2048 or 4096, not %u", bytes);
}

static uint8_t gid_index_of(const struct bsn_device *device, const struct bsn_connect_attr *attr)
{
	return attr->gid_index || attr->has_gid_index ? (uint8_t)attr->gid_index
						      : device->info.gid_index;
}

/* RoCE needs the GRH; InfiniBand within a subnet does not. */
struct ibv_ah_attr av_to(const struct bsn_device *device, uint16_t lid, const uint8_t gid[16],
			 const struct bsn_connect_attr *attr)
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

/* Checks the fields against their widths (InfiniBand specification, "Modify QP"). */
int check_connect(const struct bsn_device *device, const struct bsn_connect_attr *attr)
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
	if (attr->gid_index < 0 || attr->gid_index >= device->port.gid_tbl_len)
		return fail(EINVAL, "gid_index is %d: the port has %d entries, from 0 on",
			    attr->gid_index, device->port.gid_tbl_len);
	return attr->mtu ? mtu_of(attr->mtu, &mtu) : 0;
}
