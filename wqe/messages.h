/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of messages, and sets of their opcodes, which are constants. Not installed. */
#ifndef BSN_MESSAGES_H
#define BSN_MESSAGES_H

#include "bsn_ops.h"

/*
 * The messages. ops.c defines the names without a prefix; the sets below do not use them. Segments
 * of a message are in this order: the transport's, its remote address if it has one, its data.
 */
/* clang-format off */
#define BSN_MESSAGES(MESSAGE, ATOMIC)                                                              \
	/*      opcode           transports          data     imm         has a remote address */ \
	MESSAGE(SEND,            ANY,                GATHER,  NONE,       0)                       \
	MESSAGE(SEND_IMM,        CONNECTED | ON(UD), GATHER,  IMMEDIATE,  0)                       \
	MESSAGE(SEND_INVAL,      CONNECTED,          GATHER,  INVALIDATE, 0)                       \
	MESSAGE(RDMA_WRITE,      CONNECTED,          GATHER,  NONE,       1)                       \
	MESSAGE(RDMA_WRITE_IMM,  CONNECTED,          GATHER,  IMMEDIATE,  1)                       \
	MESSAGE(RDMA_READ,       RELIABLE,           SCATTER, NONE,       1)                       \
                                                                                                   \
	/*     opcode            last modifier        the modifiers, and the operands */           \
	ATOMIC(ATOMIC_CS,        0,                   ALWAYS(OPERAND(ATOMIC_CS)))                  \
	ATOMIC(ATOMIC_FA,        0,                   ALWAYS(OPERAND(ATOMIC_FA)))                  \
	ATOMIC(ATOMIC_MASKED_CS, BSN_OPMOD_MASKED(8),                                              \
	       FORM(BSN_OPMOD_MASKED(4), BSN_OPMOD_MASKED(4), OPERAND(MASKED_CS32)),               \
	       FORM(BSN_OPMOD_MASKED(8), BSN_OPMOD_MASKED(8), OPERAND(MASKED_CS)))                 \
	ATOMIC(ATOMIC_MASKED_FA, BSN_OPMOD_MASKED(8),                                              \
	       FORM(BSN_OPMOD_MASKED(4), BSN_OPMOD_MASKED(4), OPERAND(MASKED_FA32)),               \
	       FORM(BSN_OPMOD_MASKED(8), BSN_OPMOD_MASKED(8), OPERAND(MASKED_FA)))
/* clang-format on */

#define BSN_OP_BIT(op) (1ull << BSN_OPCODE_##op)
#define BSN_OP_IN_NONE(...)
#define BSN_OP_IN_LIST(op, ...) | BSN_OP_BIT(op)
#define BSN_OP_IN_RADDR(op, on, what_data, what_imm, has_raddr) | ((has_raddr) ? BSN_OP_BIT(op) : 0)
#define BSN_OP_IN_IMM(op, on, what_data, what_imm, has_raddr)                                      \
	| (BSN_IMM_##what_imm != BSN_IMM_NONE ? BSN_OP_BIT(op) : 0)
#define BSN_OP_IN_GATHER(op, on, what_data, ...)                                                   \
	| (BSN_DATA_##what_data == BSN_DATA_GATHER ? BSN_OP_BIT(op) : 0)

/*
 * Sets, of a bit BSN_OP_BIT() for each opcode: with a remote address; with an immediate or a key in
 * the control segment; that send data, which may be inline; all but atomics; whose response has
 * data.
 */
#define BSN_OPS_WITH_RADDR  (0 BSN_MESSAGES(BSN_OP_IN_RADDR, BSN_OP_IN_LIST))
#define BSN_OPS_WITH_IMM    (0 BSN_MESSAGES(BSN_OP_IN_IMM, BSN_OP_IN_NONE))
#define BSN_OPS_WITH_GATHER (0 BSN_MESSAGES(BSN_OP_IN_GATHER, BSN_OP_IN_NONE))
#define BSN_OPS_WITH_LIST   (0 BSN_MESSAGES(BSN_OP_IN_LIST, BSN_OP_IN_NONE))
#define BSN_OPS_OF_READS    (BSN_OPS_WITH_RADDR & ~BSN_OPS_WITH_GATHER)

#endif
