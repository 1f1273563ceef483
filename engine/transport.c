/* SPDX-License-Identifier: BSD-2-Clause */
/* The transports, and libibverbs' names of operations. */
#include "transport.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* clang-format off */
static const struct transport transports[] = {
	[BSN_QP_RC] = { "RC", IBV_QPT_RC, BSN_TRANSPORT_RC, .least_bb = 1,
			.is_connected = true, .is_reliable = true, .has_inline_recv = true,
			.access = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
				  IBV_ACCESS_REMOTE_ATOMIC },
	[BSN_QP_UC] = { "UC", IBV_QPT_UC, BSN_TRANSPORT_UC, .least_bb = 1,
			.is_connected = true, .has_inline_recv = true,
			.access = IBV_ACCESS_REMOTE_WRITE },
	[BSN_QP_UD] = { "UD", IBV_QPT_UD, BSN_TRANSPORT_UD, .least_bb = 2,
			.has_peers = true, .has_qkey = true },
	[BSN_QP_DC] = { "DC", IBV_QPT_DRIVER, BSN_TRANSPORT_DC, .least_bb = 2,
			.has_peers = true, .is_reliable = true, .is_initiator = true },
	[BSN_QP_XRC] = { "XRC", IBV_QPT_XRC_SEND, BSN_TRANSPORT_XRC, .least_bb = 1,
			.is_connected = true, .has_peers = true, .is_reliable = true,
			.is_initiator = true },
};

#define VERB(name, verb, flag) [BSN_OPCODE_##name] = { true, IBV_WR_##verb, IBV_QP_EX_WITH_##flag }
const struct verb verbs_ops[64] = {
	VERB(SEND, SEND, SEND),
	VERB(SEND_IMM, SEND_WITH_IMM, SEND_WITH_IMM),
	VERB(SEND_INVAL, SEND_WITH_INV, SEND_WITH_INV),
	VERB(RDMA_WRITE, RDMA_WRITE, RDMA_WRITE),
	VERB(RDMA_WRITE_IMM, RDMA_WRITE_WITH_IMM, RDMA_WRITE_WITH_IMM),
	VERB(RDMA_READ, RDMA_READ, RDMA_READ),
	VERB(ATOMIC_CS, ATOMIC_CMP_AND_SWP, ATOMIC_CMP_AND_SWP),
	VERB(ATOMIC_FA, ATOMIC_FETCH_AND_ADD, ATOMIC_FETCH_AND_ADD),
};
#undef VERB
/* clang-format on */

const struct transport *transport_of(enum bsn_qp_type type)
{
	return (size_t)type < COUNT(transports) ? &transports[type] : NULL;
}

const struct transport *transport_of_verbs(enum ibv_qp_type of_verbs, enum bsn_qp_type *type)
{
	for (size_t i = 0; i < COUNT(transports); i++) {
		/* IBV_QPT_DRIVER tells nothing: it may be any type of the driver's own. */
		if (transports[i].verbs == of_verbs && of_verbs != IBV_QPT_DRIVER) {
			*type = (enum bsn_qp_type)i;
			return &transports[i];
		}
	}
	return NULL;
}

static uint32_t most_data_bytes(const struct transport *transport)
{
	return (BSN_SEND_MAX_DS - bsn_wqe_longest_head_ds(transport->wqe)) * BSN_DS_SIZE;
}

uint32_t transport_most_inline(const struct transport *transport)
{
	return most_data_bytes(transport) - BSN_INLINE_HDR_SIZE;
}

uint32_t transport_most_sge(const struct transport *transport)
{
	return most_data_bytes(transport) / BSN_DATA_SIZE;
}

uint64_t transport_send_ops(const struct transport *transport, bool has_atomics)
{
	uint64_t flags = 0;

	for (uint32_t opcode = 0; opcode < COUNT(verbs_ops); opcode++) {
		const struct bsn_wqe_op *op = bsn_wqe_op_find(opcode);
		if (verbs_ops[opcode].exists && op && op->transports & 1u << transport->wqe &&
		    (has_atomics || !op->has_atomic))
			flags |= verbs_ops[opcode].create_flag;
	}
	return flags;
}
