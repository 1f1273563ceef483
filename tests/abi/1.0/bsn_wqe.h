/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A part of bsn_decode.h, which programs include.
 *
 * Send and receive work-queue entries: the table of each segment (bsn_seg.h says how to read one),
 * and the numbers that its fields have. A WQE is a control segment and the segments that its opcode
 * needs. Its length is counted in units of 16 bytes (DS), its place in the ring in basic blocks of
 * 64 bytes (BB).
 *
 * Sources: PRM = ConnectX Programmer's Reference Manual, chapter "Work Queues"; mlx5dv.h and wqe.h
 * are rdma-core's providers/mlx5/; qp.h and device.h are the kernel's include/linux/mlx5/;
 * mlx5_prm.h is DPDK's drivers/common/mlx5/.
 */
#ifndef BSN_WQE_H
#define BSN_WQE_H

#include "bsn_seg.h"
#include "bsn_types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define BSN_DS_SIZE         16 /* bytes in the unit of a WQE's length */
#define BSN_BB_SIZE         64 /* bytes in a basic block, the unit of a send ring */
#define BSN_BB_DS           (BSN_BB_SIZE / BSN_DS_SIZE)
#define BSN_WQE_MAX_DS      63          /* the DS field has 6 bits (PRM "Control Segment") */
#define BSN_DATA_MAX_BYTES  0x7fffffffu /* bit 31 of a byte count marks inline data */
#define BSN_WQE_MAX_BB      16          /* basic blocks of the longest WQE */
#define BSN_QPN_MAX         0xffffffu   /* numbers of QPs, CQs and SRQs have 24 bits */
#define BSN_LKEY_TERMINATOR 0x100u      /* ends a receive list shorter than the queue's maximum */

/** bsn_ds_of_bytes() - the DS that @bytes take */
static inline uint32_t bsn_ds_of_bytes(uint32_t bytes)
{
	return (bytes + BSN_DS_SIZE - 1) / BSN_DS_SIZE;
}

/** bsn_bb_of_ds() - the basic blocks that a WQE of @ds takes in the ring */
static inline uint32_t bsn_bb_of_ds(uint32_t ds)
{
	return (ds + BSN_BB_DS - 1) / BSN_BB_DS;
}

/** bsn_bytes_of_ds() - the bytes of bsn_bb_of_ds() */
static inline size_t bsn_bytes_of_ds(uint32_t ds)
{
	return (size_t)bsn_bb_of_ds(ds) * BSN_BB_DS * BSN_DS_SIZE;
}

/* Opcodes of send WQEs (bsn_types.h), in words: X(NAME, value, doc) */
#define BSN_WQE_OPCODES(X)                                                                         \
	X(NOP, BSN_OPCODE_NOP, "does nothing; completes if asked to")                              \
	X(SEND_INVAL, BSN_OPCODE_SEND_INVAL, "SEND that invalidates an rkey at the responder")     \
	X(RDMA_WRITE, BSN_OPCODE_RDMA_WRITE, "write to remote memory")                             \
	X(RDMA_WRITE_IMM, BSN_OPCODE_RDMA_WRITE_IMM,                                               \
	  "write, then consume a receive WQE and deliver an immediate")                            \
	X(SEND, BSN_OPCODE_SEND, "message into a receive WQE")                                     \
	X(SEND_IMM, BSN_OPCODE_SEND_IMM, "SEND with an immediate")                                 \
	X(TSO, BSN_OPCODE_TSO,                                                                     \
	  "packets cut from a long one (LSO); modifier 1: several packets (MPW)")                  \
	X(WAIT, BSN_OPCODE_WAIT, "waits for a CQ, for data, for a time, by modifier")              \
	X(RDMA_READ, BSN_OPCODE_RDMA_READ, "read remote memory")                                   \
	X(ATOMIC_CS, BSN_OPCODE_ATOMIC_CS, "64-bit compare and swap")                              \
	X(ATOMIC_FA, BSN_OPCODE_ATOMIC_FA, "64-bit fetch and add")                                 \
	X(ATOMIC_MASKED_CS, BSN_OPCODE_ATOMIC_MASKED_CS, "compare and swap under masks")           \
	X(ATOMIC_MASKED_FA, BSN_OPCODE_ATOMIC_MASKED_FA, "fetch and add with field boundaries")    \
	X(RCV_EN, BSN_OPCODE_RCV_EN, "lets a receive queue go on")                                 \
	X(SEND_EN, BSN_OPCODE_SEND_EN, "lets a send queue go on")                                  \
	X(BIND_MW, BSN_OPCODE_BIND_MW, "binds a window; drivers do it by UMR")                     \
	X(FMR, BSN_OPCODE_FMR, "fast registration; drivers do it by UMR")                          \
	X(LOCAL_INVAL, BSN_OPCODE_LOCAL_INVAL, "invalidates a key; drivers do it by UMR")          \
	X(CONFIG_CMD, BSN_OPCODE_CONFIG_CMD, "configuration command")                              \
	X(SET_PSV, BSN_OPCODE_SET_PSV,                                                             \
	  "sets a protection state; modifier 1 or 2: progress of TLS")                             \
	X(GET_PSV, BSN_OPCODE_GET_PSV, "reads protection states")                                  \
	X(CHECK_PSV, BSN_OPCODE_CHECK_PSV, "checks protection states")                             \
	X(DUMP, BSN_OPCODE_DUMP, "reads data without sending them, for TLS")                       \
	X(UMR, BSN_OPCODE_UMR, "changes an mkey; a modifier: parameters of TLS or IPsec")          \
	X(RGET_PSV, BSN_OPCODE_RGET_PSV, "reads protection states at the responder")               \
	X(RCHECK_PSV, BSN_OPCODE_RCHECK_PSV, "checks protection states at the responder")          \
	X(TAG_MATCHING, BSN_OPCODE_TAG_MATCHING, "changes the list of a matching SRQ")             \
	X(ENHANCED_MPSW, BSN_OPCODE_ENHANCED_MPSW, "several packets with one Ethernet segment")    \
	X(FLOW_TBL_ACCESS, BSN_OPCODE_FLOW_TBL_ACCESS, "writes a steering rule or argument")       \
	X(ACCESS_ASO, BSN_OPCODE_ACCESS_ASO, "reads or changes an object of advanced steering")    \
	X(MMO, BSN_OPCODE_MMO, "memory to memory: copy, compress, search, by modifier")

/*
 * Control segment, byte 11: when the WQE may start, and when it completes.
 * Source: PRM "Control Segment", fm and ce; mlx5dv.h MLX5_WQE_CTRL_*, which holds them shifted.
 */
#define BSN_FENCES(X)                                                                              \
	X(NONE, 0, "starts at once")                                                               \
	X(INITIATOR_SMALL, 1, "waits for local UMR, bind and invalidate")                          \
	X(FENCE, 2, "waits for earlier READs and atomics")                                         \
	X(STRONG_ORDERING, 3, "waits for all earlier work")                                        \
	X(SMALL_AND_FENCE, 4, "1 and 2 together: what IBV_SEND_FENCE becomes in libmlx5")

#define BSN_CES(X)                                                                                 \
	X(ON_ERROR, 0, "a CQE if this WQE fails or is flushed")                                    \
	X(ON_FIRST_ERROR, 1, "a CQE only for the first failure of the queue")                      \
	X(ALWAYS, 2, "a CQE")                                                                      \
	X(ALWAYS_AND_EQE, 3, "a CQE and an event")

#define BSN_ENUM_FENCE(name, value, doc) BSN_FENCE_##name = value,
enum bsn_fence { BSN_FENCES(BSN_ENUM_FENCE) };
#undef BSN_ENUM_FENCE
#define BSN_ENUM_CE(name, value, doc) BSN_CE_##name = value,
enum bsn_ce { BSN_CES(BSN_ENUM_CE) };
#undef BSN_ENUM_CE

/*
 * Control segment: PRM "Control Segment"; mlx5dv.h struct mlx5_wqe_ctrl_seg. Its first 8 bytes,
 * stored into a register, ring the send queue (bsn_db.h).
 */
#define BSN_CTRL_SIZE 16
#define BSN_CTRL_HEAD(F, Q, Z, I)                                                                  \
	F(opmod, 0, 24, 8, "opcode modifier")                                                      \
	F(wqe_index, 0, 8, 16, "ring index of the first BB, cumulative modulo 2^16")               \
	F(opcode, 0, 0, 8, "what the device is to do")                                             \
	F(qpn, 1, 8, 24, "number of the send queue's QP")                                          \
	Z(1, 6, 2)                                                                                 \
	F(ds, 1, 0, 6, "length of the WQE in units of 16 B, this segment included")

#define BSN_TABLE_CTRL(F, Q, Z, I)                                                                 \
	BSN_CTRL_HEAD(F, Q, Z, I)                                                                  \
	F(signature, 2, 24, 8, "checksum, read only where the QP has WQE signatures")              \
	F(dci_stream, 2, 8, 16, "stream channel of a DCI, else 0")                                 \
	F(fence, 2, 5, 3, "what the WQE waits for")                                                \
	Z(2, 4, 1)                                                                                 \
	F(ce, 2, 2, 2, "when to write a CQE")                                                      \
	F(solicited, 2, 1, 1, "solicited event at the responder")                                  \
	Z(2, 0, 1)                                                                                 \
	F(imm, 3, 0, 32, "immediate, rkey to invalidate or mkey, by opcode; else 0")

BSN_SEG_DEFINE(ctrl, BSN_CTRL_SIZE, BSN_TABLE_CTRL)

/*
 * Address vector of UD and DC requests, after the control segment: 48 bytes if the ext bit is set;
 * else 16, on InfiniBand without a GRH. Source: PRM "Address Vector", mlx5dv.h struct mlx5_wqe_av;
 * the values on either link: rdma-core's mlx5_create_ah() (verbs.c). UCX does not write the second
 * dword of a UD key (ud_mlx5.c) and the extension's first (ib_mlx5.inl
 * uct_ib_mlx5_set_dgram_seg_grh), so both are ignored.
 */
#define BSN_AV_UD_SIZE     16
#define BSN_AV_DC_SIZE     16
#define BSN_AV_UD_GRH_SIZE 48
#define BSN_AV_DC_GRH_SIZE 48
#define BSN_AV_DEST(F, Q, Z, I)                                                                    \
	F(ext, 2, 31, 1, "1: the vector has 48 bytes")                                             \
	Z(2, 24, 7)                                                                                \
	F(dqpn, 2, 0, 24, "destination QP, for DC the DCT's number")                               \
	F(stat_rate, 3, 28, 4, "static rate code")                                                 \
	F(sl, 3, 24, 4, "service level; on RoCE the priority in bits 3:1")                         \
	F(fl, 3, 23, 1, "forces loopback")                                                         \
	F(mlid, 3, 16, 7, "source path bits")                                                      \
	F(rlid, 3, 0, 16, "destination LID; for RoCEv2 the UDP source port")

#define BSN_AV_EXTENSION(F, Q, Z, I)                                                               \
	I(4, 0, 32)                                                                                \
	F(rmac_hi, 5, 0, 32, "destination MAC, first four bytes")                                  \
	F(rmac_lo, 6, 16, 16, "destination MAC, last two bytes")                                   \
	F(tclass, 6, 8, 8, "traffic class")                                                        \
	F(hop_limit, 6, 0, 8, "hop limit")                                                         \
	Z(7, 31, 1)                                                                                \
	F(grh, 7, 30, 1, "1: send a GRH; always 0 on RoCE, which always has one")                  \
	Z(7, 28, 2)                                                                                \
	F(sgid_index, 7, 20, 8, "index of the source GID")                                         \
	F(flow_label, 7, 0, 20, "flow label")                                                      \
	Q(rgid_hi, 8, "destination GID, subnet prefix")                                            \
	Q(rgid_lo, 10, "destination GID, interface")

#define BSN_AV_UD_KEY(F, Q, Z, I)                                                                  \
	F(qkey, 0, 0, 32, "Q_Key of the datagram")                                                 \
	I(1, 0, 32)
#define BSN_AV_DC_KEY(F, Q, Z, I) Q(dc_key, 0, "access key of the DCT")

#define BSN_TABLE_AV_UD(F, Q, Z, I)                                                                \
	BSN_AV_UD_KEY(F, Q, Z, I)                                                                  \
	BSN_AV_DEST(F, Q, Z, I)
#define BSN_TABLE_AV_DC(F, Q, Z, I)                                                                \
	BSN_AV_DC_KEY(F, Q, Z, I)                                                                  \
	BSN_AV_DEST(F, Q, Z, I)
#define BSN_TABLE_AV_UD_GRH(F, Q, Z, I)                                                            \
	BSN_TABLE_AV_UD(F, Q, Z, I)                                                                \
	BSN_AV_EXTENSION(F, Q, Z, I)
#define BSN_TABLE_AV_DC_GRH(F, Q, Z, I)                                                            \
	BSN_TABLE_AV_DC(F, Q, Z, I)                                                                \
	BSN_AV_EXTENSION(F, Q, Z, I)

BSN_SEG_DEFINE(av_ud, BSN_AV_UD_SIZE, BSN_TABLE_AV_UD)
BSN_SEG_DEFINE(av_dc, BSN_AV_DC_SIZE, BSN_TABLE_AV_DC)
BSN_SEG_DEFINE(av_ud_grh, BSN_AV_UD_GRH_SIZE, BSN_TABLE_AV_UD_GRH)
BSN_SEG_DEFINE(av_dc_grh, BSN_AV_DC_GRH_SIZE, BSN_TABLE_AV_DC_GRH)

/* XRC requests have this instead of an address vector: wqe.h struct mlx5_wqe_xrc_seg */
#define BSN_XRC_SIZE 16
#define BSN_TABLE_XRC(F, Q, Z, I)                                                                  \
	Z(0, 24, 8)                                                                                \
	F(srqn, 0, 0, 24, "number of the responder's shared receive queue")                        \
	I(1, 0, 32)                                                                                \
	I(2, 0, 32)                                                                                \
	I(3, 0, 32)

BSN_SEG_DEFINE(xrc, BSN_XRC_SIZE, BSN_TABLE_XRC)

/*
 * Remote address segment: PRM "Remote Address Segment"; struct mlx5_wqe_raddr_seg. libmlx5 clears
 * the last dword, UCX (uct_ib_mlx5_ep_set_rdma_seg) does not write it, so it is ignored.
 */
#define BSN_RADDR_SIZE 16
#define BSN_TABLE_RADDR(F, Q, Z, I)                                                                \
	Q(raddr, 0, "remote virtual address")                                                      \
	F(rkey, 2, 0, 32, "remote key")                                                            \
	I(3, 0, 32)

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

/*
 * Atomics of 8 bytes: PRM "Atomic Segment"; struct mlx5_wqe_atomic_seg. libmlx5 does not write the
 * compare dwords of a fetch and add (qp.c _set_atomic_seg), so they are ignored.
 */
#define BSN_ATOMIC_CS_SIZE 16
#define BSN_ATOMIC_FA_SIZE 16
#define BSN_TABLE_ATOMIC_CS(F, Q, Z, I)                                                            \
	Q(swap, 0, "value to swap in")                                                             \
	Q(compare, 2, "value to compare with")
#define BSN_TABLE_ATOMIC_FA(F, Q, Z, I)                                                            \
	Q(add, 0, "value to add")                                                                  \
	I(2, 0, 32)                                                                                \
	I(3, 0, 32)

BSN_SEG_DEFINE(atomic_cs, BSN_ATOMIC_CS_SIZE, BSN_TABLE_ATOMIC_CS)
BSN_SEG_DEFINE(atomic_fa, BSN_ATOMIC_FA_SIZE, BSN_TABLE_ATOMIC_FA)

/*
 * Masked atomics. The opcode modifier names the operand's size. Compare and swap compares the bits
 * of compare_mask and replaces those of swap_mask; fetch and add stops carries at each bit set in
 * field_boundary. Source: UCX src/uct/ib/mlx5/ib_mlx5.h uct_ib_mlx5_atomic_masked_cswap32_seg and
 * its siblings, UCT_IB_MLX5_OPMOD_EXT_ATOMIC; rdma-core's wqe.h struct mlx5_wqe_masked_atomic_seg.
 */
#define BSN_OPMOD_MASKED(size_bytes) ((size_bytes) == 8 ? 0x09u : 0x08u) /* 8 | log2(size) - 2 */
#define BSN_MASKED_CS_SIZE           32
#define BSN_MASKED_FA_SIZE           16
#define BSN_MASKED_CS32_SIZE         16
#define BSN_MASKED_FA32_SIZE         16
#define BSN_TABLE_MASKED_CS(F, Q, Z, I)                                                            \
	Q(swap, 0, "value to swap in")                                                             \
	Q(compare, 2, "value to compare with")                                                     \
	Q(swap_mask, 4, "bits to replace")                                                         \
	Q(compare_mask, 6, "bits to compare")
#define BSN_TABLE_MASKED_FA(F, Q, Z, I)                                                            \
	Q(add, 0, "value to add")                                                                  \
	Q(field_boundary, 2, "most significant bit of each field")
#define BSN_TABLE_MASKED_CS32(F, Q, Z, I)                                                          \
	F(swap, 0, 0, 32, "value to swap in")                                                      \
	F(compare, 1, 0, 32, "value to compare with")                                              \
	F(swap_mask, 2, 0, 32, "bits to replace")                                                  \
	F(compare_mask, 3, 0, 32, "bits to compare")
#define BSN_TABLE_MASKED_FA32(F, Q, Z, I)                                                          \
	F(add, 0, 0, 32, "value to add")                                                           \
	F(field_boundary, 1, 0, 32, "most significant bit of each field")                          \
	I(2, 0, 32)                                                                                \
	I(3, 0, 32)

BSN_SEG_DEFINE(masked_cs, BSN_MASKED_CS_SIZE, BSN_TABLE_MASKED_CS)
BSN_SEG_DEFINE(masked_fa, BSN_MASKED_FA_SIZE, BSN_TABLE_MASKED_FA)
BSN_SEG_DEFINE(masked_cs32, BSN_MASKED_CS32_SIZE, BSN_TABLE_MASKED_CS32)
BSN_SEG_DEFINE(masked_fa32, BSN_MASKED_FA32_SIZE, BSN_TABLE_MASKED_FA32)

/*
 * The first segment of a WQE of a shared receive queue; data pointers follow, as in a plain receive
 * WQE. Software may use the ignored bytes (UCX's uct_ib_mlx5_srq_seg_t does). Source: mlx5dv.h
 * struct mlx5_wqe_srq_next_seg.
 */
#define BSN_SRQ_NEXT_SIZE         16
#define BSN_SRQ_NEXT_INDEX_OFFSET 2 /* of next_wqe_index, which may change under a reader */
#define BSN_TABLE_SRQ_NEXT(F, Q, Z, I)                                                             \
	I(0, 16, 16)                                                                               \
	F(next_wqe_index, 0, 0, 16, "index of the next free WQE")                                  \
	F(signature, 1, 24, 8, "checksum, read only where the SRQ has WQE signatures")             \
	I(1, 0, 24)                                                                                \
	I(2, 0, 32)                                                                                \
	I(3, 0, 32)

BSN_SEG_DEFINE(srq_next, BSN_SRQ_NEXT_SIZE, BSN_TABLE_SRQ_NEXT)

/*
 * Ethernet segment: of raw packets after the control segment, of IPoIB after the address vector and
 * 16 bytes of padding. Inline headers begin in its last two bytes, continue after it, and are
 * padded to 16 B. Source: mlx5dv.h and qp.h struct mlx5_wqe_eth_seg, mlx5_prm.h struct
 * mlx5_wqe_eseg; qp.h MLX5_ETH_WQE_*.
 */
#define BSN_ETH_SIZE         16
#define BSN_ETH_START_OFFSET 14 /* of the inline headers, from the segment's start */
#define BSN_ETH_PAD_BYTES    16 /* before it on IPoIB: wqe.h struct mlx5_wqe_eth_pad */
#define BSN_TABLE_ETH(F, Q, Z, I)                                                                  \
	F(swp_outer_l4, 0, 24, 8, "software parsing: outer L4 header, in units of 2 B")            \
	F(swp_outer_l3, 0, 16, 8, "outer L3 header")                                               \
	F(swp_inner_l4, 0, 8, 8, "inner L4 header")                                                \
	F(swp_inner_l3, 0, 0, 8, "inner L3 header")                                                \
	F(l4_csum, 1, 31, 1, "1: fill in the (outer) L4 checksum")                                 \
	F(l3_csum, 1, 30, 1, "1: fill in the (outer) L3 checksum")                                 \
	F(l4_inner_csum, 1, 29, 1, "1: fill in the inner L4 checksum")                             \
	F(l3_inner_csum, 1, 28, 1, "1: fill in the inner L3 checksum")                             \
	Z(1, 25, 3)                                                                                \
	F(svlan, 1, 24, 1, "1: the VLAN tag to insert is a service tag")                           \
	Z(1, 22, 2)                                                                                \
	F(swp_outer_udp, 1, 21, 1, "software parsing: 1 outer UDP, 0 TCP")                         \
	F(swp_outer_ipv6, 1, 20, 1, "1 outer IPv6, 0 IPv4")                                        \
	Z(1, 18, 2)                                                                                \
	F(swp_inner_udp, 1, 17, 1, "1 inner UDP, 0 TCP")                                           \
	F(swp_inner_ipv6, 1, 16, 1, "1 inner IPv6, 0 IPv4")                                        \
	F(mss, 1, 0, 16, "TSO: payload of each packet; MPW: length of each packet")                \
	F(metadata, 2, 0, 32, "for steering rules")                                                \
	F(insert_vlan, 3, 31, 1, "1: start is a VLAN tag to insert; no inline headers")            \
	F(insert_trailer, 3, 30, 1, "1: a trailer follows the data (IPsec, PSP)")                  \
	Z(3, 29, 1)                                                                                \
	F(trailer_of, 3, 26, 3, "bits: inner L4, outer L4, outer L3 (with it: inner L3)")          \
	F(inline_size, 3, 16, 10, "bytes of inline headers")                                       \
	F(start, 3, 0, 16, "their first two bytes, or the VLAN tag")

BSN_SEG_DEFINE(eth, BSN_ETH_SIZE, BSN_TABLE_ETH)

/*
 * Tag matching, on the command QP of a matching SRQ; a data pointer follows an APPEND. Source:
 * mlx5dv.h struct mlx5_wqe_tm_seg, qp.c set_tm_seg(), mlx5.h MLX5_TM_OPCODE_*, MLX5_SRQ_FLAG_TM_*;
 * libmlx5 does not write the bytes that the operation does not use.
 */
#define BSN_TM_OPS(X)                                                                              \
	X(NOP, 0, "only tells how many unexpected messages software has seen")                     \
	X(APPEND, 1, "adds an entry")                                                              \
	X(REMOVE, 2, "removes one")
#define BSN_ENUM_TM_OP(name, value, doc) BSN_TM_OP_##name = value,
enum bsn_tm_op { BSN_TM_OPS(BSN_ENUM_TM_OP) };
#undef BSN_ENUM_TM_OP

#define BSN_TM_SIZE 32
#define BSN_TABLE_TM(F, Q, Z, I)                                                                   \
	F(op, 0, 28, 4, "what to do with the list")                                                \
	Z(0, 24, 4)                                                                                \
	F(wants_cqe, 0, 23, 1, "1: a CQE when done")                                               \
	F(has_sw_cnt, 0, 22, 1, "1: sw_cnt holds")                                                 \
	Z(0, 16, 6)                                                                                \
	F(index, 0, 0, 16, "of the entry")                                                         \
	I(1, 16, 16)                                                                               \
	F(sw_cnt, 1, 0, 16, "unexpected messages that software has seen")                          \
	I(2, 0, 32)                                                                                \
	I(3, 0, 32)                                                                                \
	Q(tag, 4, "tag to match")                                                                  \
	Q(mask, 6, "its bits that count")

BSN_SEG_DEFINE(tm, BSN_TM_SIZE, BSN_TABLE_TM)

/*
 * WAIT for a CQ, SEND_EN, RCV_EN: struct mlx5_wqe_wait_en_seg of MLNX_OFED 4's libmlx5, mlx5_prm.h
 * struct mlx5_wqe_qseg; both clear reserved bits.
 */
#define BSN_WAIT_CQ      0u /* modifiers of WAIT: mlx5_prm.h MLX5_OPC_MOD_WAIT_* */
#define BSN_WAIT_DATA    1u
#define BSN_WAIT_TIME    2u
#define BSN_WAIT_EN_SIZE 16
#define BSN_TABLE_WAIT_EN(F, Q, Z, I)                                                              \
	Z(0, 0, 32)                                                                                \
	Z(1, 0, 32)                                                                                \
	F(index, 2, 0, 32, "WAIT: CQEs written; else WQEs that may run, cumulative")               \
	Z(3, 24, 8)                                                                                \
	F(number, 3, 0, 24, "of the CQ or of the QP")

BSN_SEG_DEFINE(wait_en, BSN_WAIT_EN_SIZE, BSN_TABLE_WAIT_EN)

/* WAIT for data or for a time: mlx5_prm.h struct mlx5_wqe_wseg, MLX5_WAIT_COND_* */
#define BSN_WAIT_CONDITIONS(X)                                                                     \
	X(ALWAYS, 0, "true")                                                                       \
	X(EQUAL, 1, "equal to value")                                                              \
	X(BIGGER, 2, "bigger")                                                                     \
	X(SMALLER, 3, "smaller")                                                                   \
	X(CYCLIC_BIGGER, 4, "bigger, with wrap")                                                   \
	X(CYCLIC_SMALLER, 5, "smaller, with wrap")
#define BSN_ENUM_WAIT(name, value, doc) BSN_WAIT_IF_##name = value,
enum bsn_wait_condition { BSN_WAIT_CONDITIONS(BSN_ENUM_WAIT) };
#undef BSN_ENUM_WAIT

#define BSN_WAIT_MEM_SIZE 32
#define BSN_TABLE_WAIT_MEM(F, Q, Z, I)                                                             \
	Z(0, 5, 27)                                                                                \
	F(invert, 0, 4, 1, "1: until the condition is false")                                      \
	F(condition, 0, 0, 4, "of the data, or of the clock")                                      \
	F(lkey, 1, 0, 32, "data: key")                                                             \
	Q(va, 2, "data: address")                                                                  \
	Q(value, 4, "to compare with")                                                             \
	Q(mask, 6, "bits that count")

BSN_SEG_DEFINE(wait_mem, BSN_WAIT_MEM_SIZE, BSN_TABLE_WAIT_MEM)

/*
 * Memory to memory: wqe.h struct mlx5_mmo_metadata_seg, MLX5_OPC_MOD_MMO_DMA, mlx5_prm.h struct
 * mlx5_gga_wqe, MLX5_OPC_MOD_MMO_*. The high half of the parameters is imm of the control segment.
 * A copy ignores them. Two data pointers follow, from and to.
 */
#define BSN_MMO_DMA    1u
#define BSN_MMO_COMP   2u
#define BSN_MMO_DECOMP 3u
#define BSN_MMO_REGEX  4u
#define BSN_MMO_SIZE   16
#define BSN_TABLE_MMO(F, Q, Z, I)                                                                  \
	F(control, 0, 0, 32, "parameters, low half")                                               \
	F(lkey, 1, 0, 32, "key of the result's memory")                                            \
	Q(va, 2, "its address")

BSN_SEG_DEFINE(mmo, BSN_MMO_SIZE, BSN_TABLE_MMO)

/*
 * Access to an object of advanced steering: the kernel's drivers/net/ethernet/mellanox/mlx5/core/
 * lib/aso.h struct mlx5_wqe_aso_ctrl_seg; bytes 12 to 15: en_accel/macsec.c
 * macsec_aso_build_ctrl(). 64 bytes of data may follow.
 */
#define BSN_ASO_CONDITIONS(X)                                                                      \
	X(NEVER, 0, "false")                                                                       \
	X(ALWAYS, 1, "true")                                                                       \
	X(EQUAL, 2, "equal")                                                                       \
	X(NOT_EQUAL, 3, "not equal")                                                               \
	X(GREATER_OR_EQUAL, 4, "greater or equal")                                                 \
	X(LESSER_OR_EQUAL, 5, "lesser or equal")                                                   \
	X(LESSER, 6, "lesser")                                                                     \
	X(GREATER, 7, "greater")
#define BSN_ENUM_ASO(name, value, doc) BSN_ASO_IF_##name = value,
enum bsn_aso_condition { BSN_ASO_CONDITIONS(BSN_ENUM_ASO) };
#undef BSN_ENUM_ASO

#define BSN_ASO_SIZE       48
#define BSN_ASO_DATA_BYTES 64
#define BSN_TABLE_ASO(F, Q, Z, I)                                                                  \
	F(va_h, 0, 0, 32, "address that the old state is written to, high half")                   \
	F(va_l, 1, 1, 31, "its low half, without bit 0")                                           \
	F(read, 1, 0, 1, "1: write the old state")                                                 \
	F(lkey, 2, 0, 32, "key of that memory")                                                    \
	F(mask_mode, 3, 30, 2, "how data_mask is applied")                                         \
	Z(3, 24, 6)                                                                                \
	F(cond_0, 3, 20, 4, "first condition")                                                     \
	F(cond_1, 3, 16, 4, "second condition")                                                    \
	F(offset_0, 3, 12, 4, "what the first looks at")                                           \
	F(offset_1, 3, 8, 4, "what the second looks at")                                           \
	F(cond_or, 3, 6, 2, "0: both conditions, 1: one of them")                                  \
	F(data_offset, 3, 0, 6, "what is changed")                                                 \
	F(cond_0_data, 4, 0, 32, "first condition: compared with")                                 \
	F(cond_0_mask, 5, 0, 32, "first condition: bits that count")                               \
	F(cond_1_data, 6, 0, 32, "second condition: compared with")                                \
	F(cond_1_mask, 7, 0, 32, "second condition: bits that count")                              \
	Q(bitwise_data, 8, "new value")                                                            \
	Q(data_mask, 10, "bits, or bytes, that change")

BSN_SEG_DEFINE(aso, BSN_ASO_SIZE, BSN_TABLE_ASO)

/*
 * Write of a steering rule or argument; 64 bytes follow, the rule or the argument. Source: wqe.h
 * struct mlx5_wqe_flow_update_ctrl_seg; DPDK's drivers/net/mlx5/hws/mlx5dr_send.h struct
 * mlx5dr_wqe_gta_ctrl_seg.
 */
#define BSN_FLOW_SIZE       48
#define BSN_FLOW_DATA_BYTES 64
#define BSN_TABLE_FLOW(F, Q, Z, I)                                                                 \
	F(op, 0, 28, 4, "what to do")                                                              \
	F(index, 0, 0, 28, "of the rule or argument")                                              \
	F(stc_0, 1, 0, 32, "destination, or first action")                                         \
	F(stc_1, 2, 0, 32, "second action")                                                        \
	F(stc_2, 3, 0, 32, "third action")                                                         \
	F(stc_3, 4, 0, 32, "fourth action")                                                        \
	F(stc_4, 5, 0, 32, "fifth action")                                                         \
	I(6, 0, 32)                                                                                \
	I(7, 0, 32)                                                                                \
	I(8, 0, 32)                                                                                \
	I(9, 0, 32)                                                                                \
	I(10, 0, 32)                                                                               \
	I(11, 0, 32)

BSN_SEG_DEFINE(flow, BSN_FLOW_SIZE, BSN_TABLE_FLOW)

/* The first segment of a receive WQE if the queue has WQE signatures: wqe.h struct mlx5_rwqe_sig */
#define BSN_RECV_SIG_SIZE 16
#define BSN_TABLE_RECV_SIG(F, Q, Z, I)                                                             \
	I(0, 0, 32)                                                                                \
	F(signature, 1, 24, 8, "checksum")                                                         \
	I(1, 0, 24)                                                                                \
	I(2, 0, 32)                                                                                \
	I(3, 0, 32)

BSN_SEG_DEFINE(recv_sig, BSN_RECV_SIG_SIZE, BSN_TABLE_RECV_SIG)

/* Every segment above: X(seg, SEG, doc) */
#define BSN_WQE_SEGMENTS(X)                                                                        \
	X(ctrl, CTRL, "control")                                                                   \
	X(av_ud, AV_UD, "address vector of UD, compact")                                           \
	X(av_ud_grh, AV_UD_GRH, "address vector of UD, extended")                                  \
	X(av_dc, AV_DC, "address vector of DC, compact")                                           \
	X(av_dc_grh, AV_DC_GRH, "address vector of DC, extended")                                  \
	X(xrc, XRC, "shared receive queue of XRC")                                                 \
	X(raddr, RADDR, "remote address")                                                          \
	X(data, DATA, "data pointer")                                                              \
	X(inline_hdr, INLINE_HDR, "header of inline data")                                         \
	X(atomic_cs, ATOMIC_CS, "compare and swap")                                                \
	X(atomic_fa, ATOMIC_FA, "fetch and add")                                                   \
	X(masked_cs, MASKED_CS, "masked compare and swap, 8 bytes")                                \
	X(masked_fa, MASKED_FA, "masked fetch and add, 8 bytes")                                   \
	X(masked_cs32, MASKED_CS32, "masked compare and swap, 4 bytes")                            \
	X(masked_fa32, MASKED_FA32, "masked fetch and add, 4 bytes")                               \
	X(srq_next, SRQ_NEXT, "link of a shared receive queue")                                    \
	X(recv_sig, RECV_SIG, "signature of a receive WQE")                                        \
	X(eth, ETH, "Ethernet")                                                                    \
	X(tm, TM, "tag matching")                                                                  \
	X(wait_en, WAIT_EN, "CQ to wait for, queue to let go on")                                  \
	X(wait_mem, WAIT_MEM, "data or time to wait for")                                          \
	X(mmo, MMO, "memory to memory")                                                            \
	X(aso, ASO, "object of advanced steering")                                                 \
	X(flow, FLOW, "steering rule or argument")

#ifdef __cplusplus
}
#endif
#endif
