/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completion-queue entries. A CQE proper has 64 bytes; its last dword says whose it is and what it
 * is, and so which of three views the rest has: of a request, of a receive, of an error. A CQE of
 * 128 bytes has the CQE proper at its end, behind 64 bytes that inline data may fill.
 *
 * Sources: PRM = ConnectX Programmer's Reference Manual, chapter "Completion Queues"; mlx5dv.h is
 * rdma-core's; device.h is the kernel's include/linux/mlx5/device.h.
 */
#ifndef BSN_CQE_H
#define BSN_CQE_H

#include "bsn_seg.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What happened: X(NAME, value, doc). Source: mlx5dv.h MLX5_CQE_*, PRM "CQE opcodes". */
#define BSN_CQE_OPCODES(X)                                                                         \
	X(REQ, 0, "a request completed")                                                           \
	X(RESP_WR_IMM, 1, "a write with an immediate was received")                                \
	X(RESP_SEND, 2, "a SEND was received")                                                     \
	X(RESP_SEND_IMM, 3, "a SEND with an immediate was received")                               \
	X(RESP_SEND_INV, 4, "a SEND that invalidated an rkey was received")                        \
	X(RESIZE_CQ, 5, "the CQ goes on in its new buffer")                                        \
	X(NO_PACKET, 6, "tag matching: no message, see the app fields")                            \
	X(SIG_ERR, 12, "a signature did not match")                                                \
	X(REQ_ERR, 13, "a request failed or was flushed")                                          \
	X(RESP_ERR, 14, "a receive failed or was flushed")                                         \
	X(INVALID, 15, "software's mark: never written by the device")

/* Where data are that came inside the CQE: mlx5dv.h MLX5_INLINE_SCATTER_*, PRM "CQE format". */
#define BSN_CQE_FORMATS(X)                                                                         \
	X(NO_INLINE, 0, "the data are in memory")                                                  \
	X(INLINE_32, 1, "up to 32 bytes are at the start of the CQE proper")                       \
	X(INLINE_64, 2, "up to 64 bytes are in the first half of a 128 B CQE")                     \
	X(COMPRESSED, 3, "the CQE holds an array of mini CQEs")

/*
 * Where the L3 header of a datagram is: mlx5dv.h leaves it unnamed; rdma-core's cq.c tests bits
 * 29:28 of flags_rqpn, UCX's ib_mlx5.h names them L3_IN_DATA and L3_IN_CQE.
 */
#define BSN_CQE_GRHS(X)                                                                            \
	X(NONE, 0, "there was none")                                                               \
	X(IN_DATA, 1, "in the first 40 bytes of the data")                                         \
	X(IN_CQE, 2, "in the CQE")

#define BSN_ENUM_CQE(name, value, doc) BSN_CQE_##name = value,
enum bsn_cqe_opcode { BSN_CQE_OPCODES(BSN_ENUM_CQE) };
enum bsn_cqe_format { BSN_CQE_FORMATS(BSN_ENUM_CQE) };
#undef BSN_ENUM_CQE
#define BSN_ENUM_CQE_GRH(name, value, doc) BSN_CQE_GRH_##name = value,
enum bsn_cqe_grh { BSN_CQE_GRHS(BSN_ENUM_CQE_GRH) };
#undef BSN_ENUM_CQE_GRH

#define BSN_CQE_SIZE      64
#define BSN_CQE_REQ_SIZE  BSN_CQE_SIZE
#define BSN_CQE_RESP_SIZE BSN_CQE_SIZE
#define BSN_CQE_ERR_SIZE  BSN_CQE_SIZE
#define BSN_CQE128_SIZE   128

/*
 * The last dword, the same in every view. The device writes it last; the owner bit flips with every
 * round of the ring. A poller reads it alone, by bsn_cqe_tail_decode() at BSN_CQE_TAIL_OFFSET; the
 * lowest eight bits are the last byte of the CQE, known as op_own.
 */
#define BSN_CQE_TAIL_SIZE     4
#define BSN_CQE_TAIL_OFFSET   60 /* from the start of the CQE proper */
#define BSN_CQE_OP_OWN_OFFSET 63
#define BSN_CQE_QPN_OFFSET    56 /* the dword before the tail, the same in every view */
#define BSN_CQE_TAIL_ROWS(n, F)                                                                    \
	F(wqe_counter, n, 16, 16, "index of the first BB of the WQE, or of the receive WQE")       \
	F(signature, n, 8, 8, "checksum, or validity iteration count of enhanced compression")     \
	F(opcode, n, 4, 4, "what happened")                                                        \
	F(format, n, 2, 2, "where inline data are")                                                \
	F(solicited, n, 1, 1, "solicited event")                                                   \
	F(owner, n, 0, 1, "parity of the round in which it was written")
#define BSN_TABLE_CQE_TAIL(F, Q, Z, I) BSN_CQE_TAIL_ROWS(0, F)

BSN_SEG_DEFINE(cqe_tail, BSN_CQE_TAIL_SIZE, BSN_TABLE_CQE_TAIL)

/* Dwords 8 and 14 of every view. */
#define BSN_CQE_USER_ROWS(F, I)                                                                    \
	I(8, 24, 8)                                                                                \
	F(srqn_uidx, 8, 0, 24, "CQE version 0: SRQ, or 0; version 1: the queue's user index")
#define BSN_CQE_REQUEST_ROWS(F)                                                                    \
	F(wqe_opcode, 14, 24, 8, "opcode of the WQE")                                              \
	F(qpn, 14, 0, 24, "the queue's QP")
#define BSN_CQE_INLINE_AREA(I)                                                                     \
	I(0, 0, 32) I(1, 0, 32) I(2, 0, 32) I(3, 0, 32)                                            \
	I(4, 0, 32) I(5, 0, 32) I(6, 0, 32) I(7, 0, 32)

/* Requester: mlx5dv.h struct mlx5_cqe64, as cq.c handle_good_req() reads it */
#define BSN_TABLE_CQE_REQ(F, Q, Z, I)                                                              \
	BSN_CQE_INLINE_AREA(I)                                                                     \
	BSN_CQE_USER_ROWS(F, I)                                                                    \
	I(9, 0, 32)                                                                                \
	I(10, 0, 32)                                                                               \
	F(byte_count, 11, 0, 32, "bytes that a READ or an atomic delivered")                       \
	Q(timestamp, 12, "when, in the device's clock")                                            \
	BSN_CQE_REQUEST_ROWS(F)                                                                    \
	BSN_CQE_TAIL_ROWS(15, F)

BSN_SEG_DEFINE(cqe_req, BSN_CQE_REQ_SIZE, BSN_TABLE_CQE_REQ)

/*
 * Responder: mlx5dv.h struct mlx5_cqe64, as cq.c handle_responder() reads it. With format INLINE_32
 * the data lie over the first eight dwords, and what those say does not hold.
 */
#define BSN_TABLE_CQE_RESP(F, Q, Z, I)                                                             \
	I(0, 16, 16)                                                                               \
	F(wqe_id, 0, 0, 16, "striding receive queue: the WQE")                                     \
	I(1, 0, 32)                                                                                \
	I(2, 0, 32)                                                                                \
	F(rss_hash, 3, 0, 32, "RSS hash")                                                          \
	F(rss_hash_type, 4, 24, 8, "what was hashed")                                              \
	F(ml_path, 4, 16, 8, "bits 6:0: low bits of the destination LID")                          \
	I(4, 0, 16)                                                                                \
	F(checksum, 5, 16, 16, "of the packet")                                                    \
	F(slid, 5, 0, 16, "source LID")                                                            \
	I(6, 30, 2)                                                                                \
	F(grh, 6, 28, 2, "where the GRH is")                                                       \
	F(sl, 6, 24, 4, "service level; on RoCE bits 1:0: 0 GRH, 1 IPv6, 2 IPv4")                  \
	F(rqpn, 6, 0, 24, "source QP")                                                             \
	F(hds_ip_ext, 7, 24, 8, "checksums found good: bit 0 L2, 1 L3, 2 L4")                      \
	F(l4_l3_hdr_type, 7, 16, 8, "headers found")                                               \
	F(vlan_info, 7, 0, 16, "VLAN tag")                                                         \
	BSN_CQE_USER_ROWS(F, I)                                                                    \
	F(imm_inval_pkey, 9, 0, 32, "immediate, invalidated rkey or P_Key index, by opcode")       \
	F(app, 10, 24, 8, "application, 1: tag matching")                                          \
	F(app_op, 10, 16, 8, "its operation")                                                      \
	F(app_info, 10, 0, 16, "its information")                                                  \
	F(byte_count, 11, 0, 32, "bytes received; striding: strides 30:16, filler 31")             \
	Q(timestamp, 12, "when, in the device's clock")                                            \
	I(14, 24, 8)                                                                               \
	F(qpn, 14, 0, 24, "the queue's QP")                                                        \
	BSN_CQE_TAIL_ROWS(15, F)

BSN_SEG_DEFINE(cqe_resp, BSN_CQE_RESP_SIZE, BSN_TABLE_CQE_RESP)

/* Error, of either side: mlx5dv.h struct mlx5_err_cqe; device.h struct mlx5_err_cqe_ex */
#define BSN_TABLE_CQE_ERR(F, Q, Z, I)                                                              \
	BSN_CQE_INLINE_AREA(I)                                                                     \
	BSN_CQE_USER_ROWS(F, I)                                                                    \
	I(9, 0, 32)                                                                                \
	I(10, 0, 32)                                                                               \
	I(11, 0, 32)                                                                               \
	I(12, 0, 32)                                                                               \
	F(hw_syndrome, 13, 24, 8, "of the engine that found it; 0 for NAKs and timeouts")          \
	F(hw_syndrome_type, 13, 20, 4, "which engine")                                             \
	I(13, 16, 4)                                                                               \
	F(vendor_syndrome, 13, 8, 8, "the cause in detail")                                        \
	F(syndrome, 13, 0, 8, "the class of error")                                                \
	BSN_CQE_REQUEST_ROWS(F)                                                                    \
	BSN_CQE_TAIL_ROWS(15, F)

BSN_SEG_DEFINE(cqe_err, BSN_CQE_ERR_SIZE, BSN_TABLE_CQE_ERR)

/* Every segment above: X(seg, SEG, doc) */
#define BSN_CQE_SEGMENTS(X)                                                                        \
	X(cqe_req, CQE_REQ, "CQE of a request")                                                    \
	X(cqe_resp, CQE_RESP, "CQE of a receive")                                                  \
	X(cqe_err, CQE_ERR, "CQE of an error")                                                     \
	X(cqe_tail, CQE_TAIL, "last dword of every CQE")

#ifdef __cplusplus
}
#endif
#endif
