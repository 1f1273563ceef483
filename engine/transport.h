/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of transports, a row each. Private to engine/. */
#ifndef TRANSPORT_H
#define TRANSPORT_H

#include "bsn.h"
#include "bsn_decode.h"

/*
 * @name: as users know it
 * @verbs: as libibverbs knows it
 * @wqe: as the tables of wqe/ know it
 * @least_bb: blocks of the shortest request
 * @is_connected: to one peer, at connect
 * @has_peers: each request names its peer by an endpoint: a UD QP, a DCT, or an SRQ of XRC
 * @is_reliable: acknowledged, so that it has timeouts and retries, and READs that are outstanding
 * @access: what peers may do, IBV_ACCESS_REMOTE_*; the memory's rights decide in the end
 * @has_qkey: a Q_Key takes the place of such rights
 * @is_initiator: it sends, and receives nothing
 * @has_inline_recv: messages may come inside CQEs (kernel: configure_responder_scat_cqe())
 */
struct transport {
	const char *name;
	enum ibv_qp_type verbs;
	enum bsn_transport wqe;
	uint32_t least_bb;
	bool is_connected, has_peers, is_reliable, has_qkey, is_initiator, has_inline_recv;
	int access;
};

/* NULL: no such type, or Bunsen does not drive it. */
const struct transport *transport_of(enum bsn_qp_type type);
const struct transport *transport_of_verbs(enum ibv_qp_type verbs, enum bsn_qp_type *type);

/* The most that a request of a send queue can have: bytes of inline data, SGEs. */
uint32_t transport_most_inline(const struct transport *transport);
uint32_t transport_most_sge(const struct transport *transport);

/* libibverbs' opcode of an operation, and the flag that a QP's creation needs for it. */
struct verb {
	bool exists;
	enum ibv_wr_opcode opcode;
	uint64_t create_flag;
};
extern const struct verb verbs_ops[64]; /* by the opcode of the WQE */

/* IBV_QP_EX_WITH_* of all operations that the transport, the device and libibverbs have. */
uint64_t transport_send_ops(const struct transport *transport, bool has_atomics);

#endif
