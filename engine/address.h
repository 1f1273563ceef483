/* SPDX-License-Identifier: BSD-2-Clause */
/* A QP's address, and the attributes of a connection to it. Private to engine/. */
#ifndef ADDRESS_H
#define ADDRESS_H

#include "engine.h"

/* The content of a bsn_address, big-endian; the rest of its 64 bytes is zero. */
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
	uint8_t is_xrc_target; /* of type BSN_QP_XRC; else an initiator */
	uint8_t is_rc_target; /* of type BSN_QP_DC: on plain verbs; @qpn is of the UD QP there */
	uint8_t gid[16];
};

/*
 * Makes an address of this device: its port, MTU, and the READs and atomics that may be
 * outstanding.
 */
struct wire_address address_of(const struct bsn_device *device, enum bsn_qp_type type,
			       uint32_t number);

/* The address of a QP that has one. */
struct wire_address address_of_qp(const struct bsn_qp *qp);

struct bsn_address address_from(const struct wire_address *wire);

static inline uint64_t dc_key_of(const struct wire_address *wire)
{
	return (uint64_t)bsn_from_be32(wire->psn) << 32 | bsn_from_be32(wire->qkey);
}

/* Reads an address. -EPROTO: these bytes are no address, or not one of a possible peer. */
int read_address(const struct bsn_device *device, const struct transport *transport,
		 bool wants_xrc_target, const struct bsn_address *address,
		 struct wire_address *wire);

/* Chooses the wanted MTU, or the smaller one of both ports; -EINVAL: the wanted one is no MTU. */
int choose_mtu(const struct bsn_device *device, const struct wire_address *peer, uint32_t wanted,
	       enum ibv_mtu *mtu);

/* How many READs and atomics may be outstanding: the wanted number, or what both ends can. */
uint8_t rd_atomic(uint8_t wanted, uint32_t mine, uint32_t peers);

/* connect.c: -ENETDOWN: the port is not active, and the peer is on another port. */
int check_port(const struct bsn_device *device, const struct wire_address *peer);

/* connect.c: a packet number to start with. */
uint32_t new_psn(const void *object);

/* -EINVAL: an attribute is out of its range. */
int check_connect(const struct bsn_device *device, const struct bsn_connect_attr *attr);

#define DEFAULT_MIN_RNR_TIMER 12 /* 640 us */

/* The value of an attribute that may be BSN_NO_RETRY. */
static inline uint8_t or_default(uint8_t value, uint8_t if_zero)
{
	return value == BSN_NO_RETRY ? 0 : value ? value : if_zero;
}

/* -EINVAL: no MTU has so many bytes. */
int mtu_of(uint32_t bytes, enum ibv_mtu *mtu);

struct ibv_ah_attr av_to(const struct bsn_device *device, uint16_t lid, const uint8_t gid[16],
			 const struct bsn_connect_attr *attr);

#endif
