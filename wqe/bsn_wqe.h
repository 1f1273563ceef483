/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Send and receive work-queue entries: each segment once, as a table (bsn_seg.h says how to read
 * one), and the numbers that go into them. A WQE is a control segment and what its opcode calls
 * for, in units of 16 bytes (DS), in basic blocks of 64 bytes (BB).
 *
 * Sources: PRM = ConnectX Programmer's Reference Manual, chapter "Work Queues"; mlx5dv.h and wqe.h
 * are rdma-core's providers/mlx5/; qp.h is the kernel's include/linux/mlx5/qp.h.
 */
#ifndef BSN_WQE_H
#define BSN_WQE_H

#include "bsn_seg.h"

#ifdef __cplusplus
extern "C" {
#endif

#define BSN_DS_SIZE          16 /* bytes in the unit of a WQE's length */
#define BSN_BB_SIZE          64 /* bytes in a basic block, the unit of a send ring */
#define BSN_BB_DS            (BSN_BB_SIZE / BSN_DS_SIZE)
#define BSN_WQE_MAX_DS       63         /* the DS field has 6 bits (PRM "Control Segment") */
#define BSN_DATA_MAX_BYTES   0x7fffffffu /* bit 31 of a byte count marks inline data; 0 means 2^31 */
#define BSN_LKEY_TERMINATOR  0x100u      /* ends a receive list shorter than the queue's maximum */

/*
 * Opcodes of send WQEs: X(NAME, value, doc). Source: mlx5dv.h MLX5_OPCODE_*, PRM "WQE opcodes".
 */
#define BSN_WQE_OPCODES(X)                                                                         \
	X(NOP, 0x00, "does nothing; completes if asked to")                                        \
	X(SEND_INVAL, 0x01, "SEND that invalidates an rkey at the responder")                      \
	X(RDMA_WRITE, 0x08, "write to remote memory")                                              \
	X(RDMA_WRITE_IMM, 0x09, "write, then consume a receive WQE and deliver an immediate")      \
	X(SEND, 0x0a, "message into a receive WQE")                                                \
	X(SEND_IMM, 0x0b, "SEND with an immediate")                                                \
	X(RDMA_READ, 0x10, "read remote memory")                                                   \
	X(ATOMIC_CS, 0x11, "64-bit compare and swap")                                              \
	X(ATOMIC_FA, 0x12, "64-bit fetch and add")                                                 \
	X(ATOMIC_MASKED_CS, 0x14, "compare and swap under masks")                                  \
	X(ATOMIC_MASKED_FA, 0x15, "fetch and add with field boundaries")

#define BSN_ENUM_OPCODE(name, value, doc) BSN_OPCODE_##name = value,
enum bsn_wqe_opcode { BSN_WQE_OPCODES(BSN_ENUM_OPCODE) };
#undef BSN_ENUM_OPCODE

/* Control segment, byte 11: fence mode in bits 7:5, completion mode in 3:2, solicited in bit 1. */
enum bsn_fence { /* PRM "Control Segment", fm; mlx5dv.h MLX5_WQE_CTRL_*FENCE */
	BSN_FENCE_NONE = 0,
	BSN_FENCE_INITIATOR_SMALL = 1, /* waits for local UMR, bind and invalidate */
	BSN_FENCE_FENCE = 2,           /* waits for earlier READs and atomics */
	BSN_FENCE_STRONG_ORDERING = 3,
	BSN_FENCE_SMALL_AND_FENCE = 4, /* what IBV_SEND_FENCE becomes in libmlx5 */
};
enum bsn_ce { /* PRM "Control Segment", ce */
	BSN_CE_ON_ERROR = 0,       /* a CQE if this WQE fails or is flushed */
	BSN_CE_ON_FIRST_ERROR = 1, /* a CQE only for the first failure of the queue */
	BSN_CE_ALWAYS = 2,
	BSN_CE_ALWAYS_AND_EQE = 3,
};

/* Control segment: PRM "Control Segment"; mlx5dv.h struct mlx5_wqe_ctrl_seg */
#define BSN_CTRL_SIZE 16
#define BSN_TABLE_CTRL(F, Q, Z, I)                                                                 \
	F(opmod, 0, 24, 8, "opcode modifier")                                                      \
	F(wqe_index, 0, 8, 16, "ring index of the first BB, cumulative modulo 2^16")               \
	F(opcode, 0, 0, 8, "enum bsn_wqe_opcode")                                                  \
	F(qpn, 1, 8, 24, "number of the send queue's QP")                                          \
	Z(1, 6, 2)                                                                                 \
	F(ds, 1, 0, 6, "length of the WQE in units of 16 B, this segment included")                \
	F(signature, 2, 24, 8, "checksum, read only where the QP has WQE signatures")              \
	F(dci_stream, 2, 8, 16, "stream channel of a DCI, else 0")                                 \
	F(fence, 2, 5, 3, "enum bsn_fence")                                                        \
	Z(2, 4, 1)                                                                                 \
	F(ce, 2, 2, 2, "enum bsn_ce: when to write a CQE")                                         \
	F(solicited, 2, 1, 1, "solicited event at the responder")                                  \
	Z(2, 0, 1)                                                                                 \
	F(imm, 3, 0, 32, "immediate, rkey to invalidate or mkey, by opcode; else 0")

BSN_SEG_DEFINE(ctrl, BSN_CTRL_SIZE, BSN_TABLE_CTRL)

/* Remote address segment: PRM "Remote Address Segment"; struct mlx5_wqe_raddr_seg */
#define BSN_RADDR_SIZE 16
#define BSN_TABLE_RADDR(F, Q, Z, I)                                                                \
	Q(raddr, 0, "remote virtual address")                                                      \
	F(rkey, 2, 0, 32, "remote key")                                                            \
	Z(3, 0, 32)

BSN_SEG_DEFINE(raddr, BSN_RADDR_SIZE, BSN_TABLE_RADDR)

/* Data pointer: PRM "Data Segment - Memory Pointer"; struct mlx5_wqe_data_seg */
#define BSN_DATA_SIZE 16
#define BSN_TABLE_DATA(F, Q, Z, I)                                                                 \
	F(is_inline, 0, 31, 1, "0: this is a pointer")                                             \
	F(byte_count, 0, 0, 31, "bytes; 0 means 2^31")                                             \
	F(lkey, 1, 0, 32, "local key")                                                             \
	Q(addr, 2, "local virtual address")

BSN_SEG_DEFINE(data, BSN_DATA_SIZE, BSN_TABLE_DATA)

/* Header of inline data, which follows it and is padded to 16 B: struct mlx5_wqe_inl_data_seg */
#define BSN_INLINE_HDR_SIZE 4
#define BSN_TABLE_INLINE_HDR(F, Q, Z, I)                                                           \
	F(is_inline, 0, 31, 1, "1: the data follows")                                              \
	Z(0, 10, 21)                                                                               \
	F(byte_count, 0, 0, 10, "bytes of data, without this header")

BSN_SEG_DEFINE(inline_hdr, BSN_INLINE_HDR_SIZE, BSN_TABLE_INLINE_HDR)

/* Atomic segment: PRM "Atomic Segment"; struct mlx5_wqe_atomic_seg */
#define BSN_ATOMIC_SIZE 16
#define BSN_TABLE_ATOMIC(F, Q, Z, I)                                                               \
	Q(swap_add, 0, "value to swap in, or to add")                                              \
	Q(compare, 2, "value to compare with; ignored by fetch and add")

BSN_SEG_DEFINE(atomic, BSN_ATOMIC_SIZE, BSN_TABLE_ATOMIC)

#ifdef __cplusplus
}
#endif
#endif
