/* SPDX-License-Identifier: BSD-2-Clause */
/* Which segments a WQE has, by operation and transport. */
#include "messages.h"
#include "places.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define ON(transport) (1u << BSN_TRANSPORT_##transport)
#define RELIABLE      (ON(RC) | ON(DC) | ON(XRC))
#define CONNECTED     (RELIABLE | ON(UC))
#define PACKETS       (ON(ETH) | ON(IPOIB))
#define ANY           (CONNECTED | ON(UD) | PACKETS)

#define P(name) BSN_PLACE(name)

/* clang-format off */
#define INFO_S(name, seg, SEG)    { &bsn_##seg##_desc, NULL, BSN_##SEG##_SIZE },
#define INFO_B(name, bytes, text) { NULL, text, bytes },
/* clang-format on */
const struct bsn_place_info bsn_places[BSN_PLACE_COUNT] = { BSN_WQE_ORDER(INFO_S, INFO_B) };

/* The transport's segments after the control segment, if the operation is addressed. */
static const struct {
	uint64_t compact, extended; /* of the address vector */
} addresses[] = {
	/* clang-format off */
	[BSN_TRANSPORT_RC]    = { 0, 0 },
	[BSN_TRANSPORT_UC]    = { 0, 0 },
	[BSN_TRANSPORT_UD]    = { P(AV_UD), P(AV_UD_GRH) },
	[BSN_TRANSPORT_DC]    = { P(AV_DC), P(AV_DC_GRH) },
	[BSN_TRANSPORT_XRC]   = { P(XRC), P(XRC) },
	[BSN_TRANSPORT_ETH]   = { P(ETH), P(ETH) },
	[BSN_TRANSPORT_IPOIB] = { P(AV_UD) | P(ETH_PAD) | P(ETH), P(AV_UD_GRH) | P(ETH_PAD) | P(ETH) },
	/* clang-format on */
};

/*
 * The transports of an operation: rdma-core's qp.c MLX5_SUPPORTED_SEND_OPS_FLAGS_*, IBTA "Operation
 * types"; the kernel and DPDK post UMR, TLS, steering and waiting also to queues of raw packets.
 * Its segments: the PRM's chapters on operations, and the sources that the segments' tables name.
 */
/* clang-format off */
#define FORM(first, last, own) { first, last, P(CTRL) | (own) }
#define ALWAYS(own)            FORM(0, UINT8_MAX, own)

#define COMMON(op, on, what_data, what_imm, opmod)                                                 \
	.name = #op, .opcode = BSN_OPCODE_##op, .transports = (on), .max_opmod = (opmod),          \
	.data = BSN_DATA_##what_data, .imm = BSN_IMM_##what_imm
/* Messages: the transport's segments come first, the data last. */
#define MESSAGE(op, on, what_data, what_imm, has)                                                  \
	[BSN_OPCODE_##op] = { COMMON(op, on, what_data, what_imm, 0), .is_message = true,          \
			      .is_addressed = true, .has_raddr = (has),                            \
			      .forms = { ALWAYS(P(DATA) | ((has) ? P(RADDR) : 0)) } },
#define ATOMIC(op, opmod, ...)                                                                     \
	[BSN_OPCODE_##op] = { COMMON(op, RELIABLE, SCATTER, NONE, opmod), .is_message = true,      \
			      .is_addressed = true, .has_raddr = true, .has_atomic = true,         \
			      .forms = { __VA_ARGS__ } },
#define OPERAND(seg) (P(RADDR) | P(seg) | P(DATA))
#define PACKET(op, on, opmod)                                                                      \
	[BSN_OPCODE_##op] = { COMMON(op, on, GATHER, NONE, opmod), .is_addressed = true,           \
			      .forms = { ALWAYS(P(DATA)) } },
/* Operations without a peer or an address */
#define OTHER(op, on, what_data, what_imm, opmod, ...)                                             \
	[BSN_OPCODE_##op] = { COMMON(op, on, what_data, what_imm, opmod), .forms = { __VA_ARGS__ } },

static const struct bsn_wqe_op ops[] = {
	[BSN_OPCODE_NOP] = { COMMON(NOP, ANY, NONE, NONE, 0), .is_message = true, .forms = { ALWAYS(0) } },
	BSN_MESSAGES(MESSAGE, ATOMIC)

	/*     opcode            transports, last modifier */
	PACKET(TSO,              PACKETS, 1)
	PACKET(ENHANCED_MPSW,    ON(ETH), 0)

	/*    opcode             transports           data    imm         last modifier, after control */
	OTHER(DUMP,              ON(ETH),             GATHER, OBJECT,     0, ALWAYS(P(DATA)))
	OTHER(WAIT,              ANY,                 NONE,   NONE,       BSN_WAIT_TIME,
	      FORM(BSN_WAIT_CQ, BSN_WAIT_CQ, P(WAIT_EN)),
	      FORM(BSN_WAIT_DATA, BSN_WAIT_TIME, P(WAIT_MEM)),
	      FORM(BSN_WAIT_TIME + 1, UINT8_MAX, P(RAW)))
	OTHER(RCV_EN,            ANY,                 NONE,   NONE,       0, ALWAYS(P(WAIT_EN)))
	OTHER(SEND_EN,           ANY,                 NONE,   NONE,       0, ALWAYS(P(WAIT_EN)))
	OTHER(BIND_MW,           CONNECTED,           NONE,   NONE,       0, ALWAYS(P(RAW)))
	OTHER(FMR,               CONNECTED,           NONE,   NONE,       0, ALWAYS(P(FMR)))
	OTHER(LOCAL_INVAL,       CONNECTED,           NONE,   INVALIDATE, 0, ALWAYS(P(RAW)))
	OTHER(CONFIG_CMD,        ANY,                 NONE,   NONE,       UINT8_MAX, ALWAYS(P(RAW)))
	OTHER(UMR,               CONNECTED | ON(ETH), NONE,   MKEY,       2, /* TLS, IPsec */
	      FORM(0, 0, P(UMR_CTRL) | P(MKEY_CTX) | P(TRANSLATIONS)),
	      FORM(1, UINT8_MAX, P(UMR_CTRL) | P(MKEY_CTX) | P(RAW)))
	OTHER(SET_PSV,           CONNECTED | ON(ETH), NONE,   OBJECT,     2, /* progress of TLS */
	      FORM(0, 0, P(SET_PSV)), FORM(1, UINT8_MAX, P(RAW)))
	OTHER(GET_PSV,           CONNECTED | ON(ETH), NONE,   OBJECT,     2, ALWAYS(P(GET_PSV)))
	OTHER(CHECK_PSV,         CONNECTED | ON(ETH), NONE,   OBJECT,     0, ALWAYS(P(CHECK_PSV)))
	OTHER(RGET_PSV,          RELIABLE,            NONE,   OBJECT,     0, ALWAYS(P(RAW)))
	OTHER(RCHECK_PSV,        RELIABLE,            NONE,   OBJECT,     0, ALWAYS(P(RAW)))
	OTHER(TAG_MATCHING,      ON(RC),              NONE,   NONE,       0, ALWAYS(P(TM) | P(TM_BUFFER)))
	OTHER(FLOW_TBL_ACCESS,   ON(RC) | ON(ETH),    NONE,   OBJECT,     UINT8_MAX,
	      ALWAYS(P(FLOW) | P(FLOW_DATA)))
	OTHER(ACCESS_ASO,        ON(RC) | ON(ETH),    NONE,   OBJECT,     UINT8_MAX,
	      ALWAYS(P(ASO) | P(ASO_DATA)))
	OTHER(MMO,               RELIABLE | ON(ETH),  NONE,   OBJECT,     BSN_MMO_REGEX,
	      ALWAYS(P(MMO) | P(MMO_FROM) | P(MMO_TO)))
};
/* clang-format on */

const struct bsn_wqe_op *bsn_wqe_op_find(uint32_t opcode)
{
	return opcode < COUNT(ops) && ops[opcode].name ? &ops[opcode] : NULL;
}

uint64_t bsn_wqe_places(const struct bsn_wqe_op *op, enum bsn_transport transport, uint32_t opmod,
			bool is_extended)
{
	const struct bsn_wqe_form *form = op->forms;

	while (opmod < form->first_opmod || opmod > form->last_opmod)
		if (++form == op->forms + BSN_WQE_MAX_FORMS)
			return 0;
	if (!form->places || !op->is_addressed)
		return form->places;
	return form->places |
	       (is_extended ? addresses[transport].extended : addresses[transport].compact);
}

/* -- lengths ----------------------------------------------------------------------------------- */

uint32_t bsn_wqe_head_ds(const struct bsn_wqe_op *op, enum bsn_transport transport, uint32_t opmod,
			 bool is_extended)
{
	uint64_t head = bsn_wqe_places(op, transport, opmod, is_extended) & BSN_PLACES_IN_A_HEAD;
	enum bsn_place place;
	uint32_t bytes = 0;

	while (bsn_place_next(&head, &place))
		bytes += bsn_places[place].size_bytes;
	return bytes / BSN_DS_SIZE;
}

/*
 * Finds the transport's next message without a modifier after @opcode, and its head. Returns 0
 * after the last one.
 */
static uint32_t next_message(enum bsn_transport transport, uint32_t opcode, uint32_t *head_ds)
{
	while (++opcode < COUNT(ops)) {
		const struct bsn_wqe_op *op = &ops[opcode];

		*head_ds = bsn_wqe_head_ds(op, transport, 0, true);
		if (op->is_message && op->transports & 1u << transport && *head_ds)
			return opcode;
	}
	return 0;
}

uint32_t bsn_wqe_longest_ds(enum bsn_transport transport, uint32_t max_sge, uint32_t max_inline)
{
	const uint32_t inline_ds = bsn_ds_of_bytes(BSN_INLINE_HDR_SIZE + max_inline);
	const uint32_t gather_ds = inline_ds > max_sge ? inline_ds : max_sge;
	uint32_t longest = 1, head_ds;

	for (uint32_t opcode = 0; (opcode = next_message(transport, opcode, &head_ds));) {
		const struct bsn_wqe_op *op = &ops[opcode];
		const uint32_t data_ds = op->has_atomic                ? 1
					 : op->data == BSN_DATA_GATHER ? gather_ds
								       : max_sge;

		if (head_ds + data_ds > longest)
			longest = head_ds + data_ds;
	}
	return longest;
}

uint32_t bsn_wqe_longest_head_ds(enum bsn_transport transport)
{
	uint32_t longest = 1, head_ds;

	for (uint32_t opcode = 0; (opcode = next_message(transport, opcode, &head_ds));)
		if (!ops[opcode].has_atomic && head_ds > longest)
			longest = head_ds;
	return longest;
}
