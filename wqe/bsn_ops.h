/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A part of bsn_decode.h, which programs include.
 *
 * Which segments a send WQE has: those of its operation, by opcode modifier, and those that its
 * transport adds. All WQEs have them in one order, BSN_WQE_ORDER. ops.c has the table.
 *
 * No function here allocates, blocks or keeps state.
 */
#ifndef BSN_OPS_H
#define BSN_OPS_H

#include <stdbool.h>

#include "bsn_umr.h"
#include "bsn_wqe.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The kind of queue that a WQE is posted to: X(NAME, value, doc) */
#define BSN_TRANSPORTS(X)                                                                          \
	X(RC, 0, "reliable connection")                                                            \
	X(UC, 1, "unreliable connection")                                                          \
	X(UD, 2, "unreliable datagram")                                                            \
	X(DC, 3, "dynamically connected, initiator")                                               \
	X(XRC, 4, "extended reliable connection, initiator")                                       \
	X(ETH, 5, "raw packets")                                                                   \
	X(IPOIB, 6, "datagrams of IPoIB with packet offloads")

#define BSN_ENUM_TRANSPORT(name, value, doc) BSN_TRANSPORT_##name = value,
enum bsn_transport { BSN_TRANSPORTS(BSN_ENUM_TRANSPORT) };
#undef BSN_ENUM_TRANSPORT

/*
 * The order. S(NAME, seg, SEG) is a segment that struct bsn_<seg> describes; B(NAME, bytes, doc) is
 * bytes that no table describes, 0: any number. The tail has the data, or what an operation has
 * instead; the head is all before it.
 */
#define BSN_WQE_ORDER_HEAD(S, B)                                                                   \
	S(CTRL, ctrl, CTRL)                                                                        \
	S(AV_UD, av_ud, AV_UD)                                                                     \
	S(AV_UD_GRH, av_ud_grh, AV_UD_GRH)                                                         \
	S(AV_DC, av_dc, AV_DC)                                                                     \
	S(AV_DC_GRH, av_dc_grh, AV_DC_GRH)                                                         \
	S(XRC, xrc, XRC)                                                                           \
	B(ETH_PAD, BSN_ETH_PAD_BYTES, "padding")                                                   \
	S(ETH, eth, ETH)                                                                           \
	S(RADDR, raddr, RADDR)                                                                     \
	S(ATOMIC_CS, atomic_cs, ATOMIC_CS)                                                         \
	S(ATOMIC_FA, atomic_fa, ATOMIC_FA)                                                         \
	S(MASKED_CS, masked_cs, MASKED_CS)                                                         \
	S(MASKED_FA, masked_fa, MASKED_FA)                                                         \
	S(MASKED_CS32, masked_cs32, MASKED_CS32)                                                   \
	S(MASKED_FA32, masked_fa32, MASKED_FA32)                                                   \
	S(UMR_CTRL, umr_ctrl, UMR_CTRL)                                                            \
	S(MKEY_CTX, mkey_ctx, MKEY_CTX)                                                            \
	S(SET_PSV, set_psv, SET_PSV)                                                               \
	S(GET_PSV, get_psv, GET_PSV)                                                               \
	S(CHECK_PSV, check_psv, CHECK_PSV)                                                         \
	S(FMR, fmr, FMR)                                                                           \
	S(TM, tm, TM)                                                                              \
	S(WAIT_EN, wait_en, WAIT_EN)                                                               \
	S(WAIT_MEM, wait_mem, WAIT_MEM)                                                            \
	S(MMO, mmo, MMO)                                                                           \
	S(ASO, aso, ASO)                                                                           \
	S(FLOW, flow, FLOW)
#define BSN_WQE_ORDER_TAIL(S, B)                                                                   \
	B(TRANSLATIONS, 0, "translations and BSF as umr_ctrl says")                               \
	B(ASO_DATA, BSN_ASO_DATA_BYTES, "the new state, or nothing")                    \
	B(FLOW_DATA, BSN_FLOW_DATA_BYTES, "the rule or the argument")                              \
	S(TM_BUFFER, data, DATA)                                                                   \
	S(MMO_FROM, data, DATA)                                                                    \
	S(MMO_TO, data, DATA)                                                                      \
	B(DATA, 0, "data pointers and inline data")                                                \
	B(RAW, 0, "bytes that are not described")
#define BSN_WQE_ORDER(S, B) BSN_WQE_ORDER_HEAD(S, B) BSN_WQE_ORDER_TAIL(S, B)

/* A number for each place in the order. Only an APPEND has TM_BUFFER. */
#define BSN_ENUM_PLACE(name, ...) BSN_PLACE_##name,
enum bsn_place { BSN_WQE_ORDER(BSN_ENUM_PLACE, BSN_ENUM_PLACE) BSN_PLACE_COUNT };
#undef BSN_ENUM_PLACE

#define BSN_PLACE(name)      (1ull << BSN_PLACE_##name)
#define BSN_PLACES_IN_A_HEAD (BSN_PLACE(TRANSLATIONS) - 1)

/** enum bsn_data_use - what an operation does with its data segments */
enum bsn_data_use {
	BSN_DATA_NONE,
	BSN_DATA_GATHER,  /* sends them; they may be inline */
	BSN_DATA_SCATTER, /* writes its result there */
};

/** enum bsn_imm_use - what an operation has in the last dword of its control segment */
enum bsn_imm_use {
	BSN_IMM_NONE,
	BSN_IMM_IMMEDIATE,
	BSN_IMM_INVALIDATE, /* the rkey to invalidate */
	BSN_IMM_MKEY,       /* the mkey to change */
	BSN_IMM_OBJECT,     /* number of an object, or parameters */
};

/** struct bsn_wqe_form - an operation's own segments, for a range of its opcode modifiers */
struct bsn_wqe_form {
	uint8_t first_opmod, last_opmod;
	uint64_t places; /* bits BSN_PLACE(), control included; 0: the form is not used */
};

#define BSN_WQE_MAX_FORMS 3

/** struct bsn_wqe_op - an operation */
struct bsn_wqe_op {
	const char *name;
	enum bsn_wqe_opcode opcode;
	uint8_t transports; /* bit n: legal on enum bsn_transport n */
	uint8_t max_opmod;  /* largest opcode modifier */
	bool is_message;    /* NOP, or what moves data between peers: messages, RDMA, atomics */
	bool is_addressed;  /* the transport's segments come after control */
	bool has_raddr;
	bool has_atomic;
	enum bsn_data_use data;
	enum bsn_imm_use imm;
	struct bsn_wqe_form forms[BSN_WQE_MAX_FORMS];
};

/**
 * bsn_wqe_op_find() - the operation of an opcode, by an index into a table
 *
 * Return: the operation, or NULL: the opcode is not in the table.
 */
BSN_API const struct bsn_wqe_op *bsn_wqe_op_find(uint32_t opcode);

/**
 * bsn_wqe_places() - which segments a WQE has
 * @op: the operation; it need not be legal on the transport
 * @transport: of the queue
 * @opmod: opcode modifier
 * @is_extended: whether an address vector has its extension
 *
 * Return: bits BSN_PLACE(), for bsn_place_next(); 0: the operation has no form for the modifier.
 */
BSN_API uint64_t bsn_wqe_places(const struct bsn_wqe_op *op, enum bsn_transport transport,
				uint32_t opmod, bool is_extended);

/**
 * bsn_place_next() - removes the first place from a set
 *
 * Return: false: the set was empty.
 */
static inline bool bsn_place_next(uint64_t *places, enum bsn_place *place)
{
	if (!*places)
		return false;
	*place = (enum bsn_place)__builtin_ctzll(*places);
	*places &= *places - 1;
	return true;
}

/**
 * bsn_wqe_head_ds() - the units of 16 B before the data
 *
 * Parameters as of bsn_wqe_places().
 * Return: their number, control included; 0: the operation has no form for the modifier.
 */
BSN_API uint32_t bsn_wqe_head_ds(const struct bsn_wqe_op *op, enum bsn_transport transport,
				 uint32_t opmod, bool is_extended);

/**
 * bsn_wqe_longest_ds() - the longest WQE of a message, for the depth of a ring
 * @transport: of the queue; address vectors have their extension
 * @max_sge: data pointers of a request
 * @max_inline: bytes of inline data of a request
 *
 * Looks at messages without a modifier, so not at masked atomics.
 * Return: units of 16 B, which may be more than a WQE can have.
 */
BSN_API uint32_t bsn_wqe_longest_ds(enum bsn_transport transport, uint32_t max_sge,
				    uint32_t max_inline);

/**
 * bsn_wqe_longest_head_ds() - the most units of 16 B that a message has before its data
 * @transport: of the queue; address vectors have their extension
 *
 * Looks at messages without a modifier that have a list of data segments, so not at atomics.
 */
BSN_API uint32_t bsn_wqe_longest_head_ds(enum bsn_transport transport);

#ifdef __cplusplus
}
#endif
#endif
