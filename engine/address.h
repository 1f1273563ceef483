/* SPDX-License-Identifier: BSD-2-Clause */
/* A QP's address, and the way to it. Private to engine/. */
#ifndef ADDRESS_H
#define ADDRESS_H

#include "engine.h"

/* Big-endian, in a bsn_address; the rest of its 64 bytes is zero. */
struct wire_address {
	struct bsn_be32 magic; /* "BSN" and the version */
	struct bsn_be32 qpn;
	struct bsn_be32 psn; /* of a DCT: high half of its access key */
	struct bsn_be32 qkey; /* low half */
	struct bsn_be16 lid;
	uint8_t type;
	uint8_t link_layer;
	uint8_t mtu; /* enum ibv_mtu */
	uint8_t rd_atomic;
	uint8_t reserved[2];
	uint8_t gid[16];
};

/* What an address of ours says of the port, its MTU and what it can have outstanding. */
struct wire_address address_of(const struct bsn_device *device, enum bsn_qp_type type, uint32_t number);

static inline uint64_t dc_key_of(const struct wire_address *wire)
{
	return (uint64_t)bsn_from_be32(wire->psn) << 32 | bsn_from_be32(wire->qkey);
}

/* -EPROTO where these bytes are no address, or not that of a possible peer. */
int read_address(const struct bsn_qp *qp, const struct bsn_address *address,
		 struct wire_address *wire);

/* -EINVAL where an attribute is out of its range. */
int check_connect(const struct bsn_device *device, const struct bsn_connect_attr *attr);

#define DEFAULT_MIN_RNR_TIMER 12 /* 640 us */

/* What an attribute says that may be BSN_NO_RETRY. */
static inline uint8_t or_default(uint8_t value, uint8_t if_zero)
{
	return value == BSN_NO_RETRY ? 0 : value ? value : if_zero;
}

/* -EINVAL where no MTU has so many bytes. */
int mtu_of(uint32_t bytes, enum ibv_mtu *mtu);

struct ibv_ah_attr way_to(const struct bsn_device *device, uint16_t lid, const uint8_t gid[16],
			  const struct bsn_connect_attr *attr);

#endif
