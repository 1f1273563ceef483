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
	uint8_t is_xrc_target; /* of type BSN_QP_XRC, an initiator's else */
	uint8_t is_rc_target; /* of type BSN_QP_DC: on plain verbs; @qpn is of the UD QP there */
	uint8_t gid[16];
};

/*
 * Fills in what an address of ours says of the port, its MTU and the READs and atomics it can have
 * outstanding.
 */
struct wire_address address_of(const struct bsn_device *device, enum bsn_qp_type type,
			       uint32_t number);

/* Of a QP that has an address. */
struct wire_address address_of_qp(const struct bsn_qp *qp);

struct bsn_address address_from(const struct wire_address *wire);

static inline uint64_t dc_key_of(const struct wire_address *wire)
{
	return (uint64_t)bsn_from_be32(wire->psn) << 32 | bsn_from_be32(wire->qkey);
}

/* -EPROTO where these bytes are no address, or not that of a possible peer. */
int read_address(const struct bsn_device *device, const struct transport *transport,
		 bool wants_xrc_target, const struct bsn_address *address,
		 struct wire_address *wire);

/* The smaller MTU of both ports, or the wanted one; -EINVAL where that is no MTU. */
int choose_mtu(const struct bsn_device *device, const struct wire_address *peer, uint32_t wanted,
	       enum ibv_mtu *mtu);

/* READs and atomics: the wanted number, else what both ends can. */
uint8_t rd_atomic(uint8_t wanted, uint32_t mine, uint32_t peers);

/* connect.c: -ENETDOWN where the port is not active, and the peer's is another. */
int check_port(const struct bsn_device *device, const struct wire_address *peer);

/* connect.c: a packet number to start with. */
uint32_t new_psn(const void *object);

/* -EINVAL where an attribute is out of its range. */
int check_connect(const struct bsn_device *device, const struct bsn_connect_attr *attr);

#define DEFAULT_MIN_RNR_TIMER 12 /* 640 us */

/* The value of an attribute that may be BSN_NO_RETRY. */
static inline uint8_t or_default(uint8_t value, uint8_t if_zero)
{
	return value == BSN_NO_RETRY ? 0 : value ? value : if_zero;
}

/* -EINVAL where no MTU has so many bytes. */
int mtu_of(uint32_t bytes, enum ibv_mtu *mtu);

struct ibv_ah_attr way_to(const struct bsn_device *device, uint16_t lid, const uint8_t gid[16],
			  const struct bsn_connect_attr *attr);

#endif
