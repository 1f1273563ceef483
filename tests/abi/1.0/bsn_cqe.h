/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A part of bsn_decode.h, which programs include.
 *
 * Completion-queue entries. A CQE proper has 64 bytes. Its last dword says who owns it and what
 * happened. That selects the view, the table of the rest: a request's, a receive's, an error's. A
 * CQE of 128 bytes has the CQE proper in its second half, and may have inline data in the first.
 *
 * Sources: PRM = ConnectX Programmer's Reference Manual, chapter "Completion Queues"; mlx5dv.h is
 * rdma-core's; device.h is the kernel's include/linux/mlx5/device.h; mlx5_prm.h is
 * DPDK's drivers/common/mlx5/; mlx5_rx.c is its drivers/net/mlx5/.
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

/*
 * Where the data of a CQE are: mlx5dv.h MLX5_INLINE_SCATTER_*, PRM "CQE format".
 *
 * The result of an atomic is big-endian if it comes in the CQE, whatever order it has in memory.
 * UCX swaps it (rc_mlx5_common.c, 88a10c820c of 2016). libfabric gets it big-endian from libmlx5,
 * which copies it without a swap (libfabric issue 10911, fi_verbs(7)). mlx5_ib lets results come in
 * CQEs only if the QP signals all requests (sq_sig_all), as libfabric's do, or if the program asks
 * for it (MLX5_QP_FLAG_ALLOW_SCATTER_CQE). Else they are in memory, in the host's order.
 */
#define BSN_CQE_FORMATS(X)                                                                         \
	X(NO_INLINE, 0, "the data are in memory")                                                  \
	X(INLINE_32, 1, "up to 32 bytes are at the start of the CQE proper")                       \
	X(INLINE_64, 2, "up to 64 bytes are in the first half of a 128 B CQE")                     \
	X(COMPRESSED, 3, "the CQE holds an array of mini CQEs")

/*
 * Where the L3 header of a datagram is: bits 29:28 of flags_rqpn. rdma-core's cq.c tests them
 * without a name; UCX's ib_mlx5.h calls them L3_IN_DATA and L3_IN_CQE.
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
 * The last dword is the same in every view. The device writes it last, and flips the owner bit with
 * every round of the ring. A poller first decodes the tail alone, from BSN_CQE_TAIL_OFFSET. Its
 * lowest eight bits are the last byte of the CQE, op_own.
 */
#define BSN_CQE_TAIL_SIZE     4
#define BSN_CQE_TAIL_OFFSET   60 /* from the start of the CQE proper */
#define BSN_CQE_OP_OWN_OFFSET 63
#define BSN_CQE_QPN_OFFSET    56 /* the dword before the tail, the same in every view */
#define BSN_CQE_BYTE_COUNT_OFFSET 44 /* of requests and receives */
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
 * the data replace the first eight dwords.
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

/* What tag matching did, if app is 1: rdma-core's cq.c MLX5_CQE_APP_OP_TM_* */
#define BSN_CQE_APP_TAG_MATCHING 1u
#define BSN_CQE_APP_OPS(X)                                                                         \
	X(NONE, 0x0, "nothing")                                                                    \
	X(CONSUMED, 0x1, "an entry was matched, the data come later")                              \
	X(EXPECTED, 0x2, "an entry was matched before, here are its data")                         \
	X(UNEXPECTED, 0x3, "a message that no entry matched")                                      \
	X(NO_TAG, 0x4, "a message without a tag")                                                  \
	X(APPEND, 0x5, "an entry was added")                                                       \
	X(REMOVE, 0x6, "an entry was removed")                                                     \
	X(NOOP, 0x7, "software's count was taken")                                                 \
	X(CONSUMED_SW_RNDV, 0x9, "matched, software does the rendezvous")                          \
	X(CONSUMED_MSG, 0xa, "matched, with its data")                                             \
	X(CONSUMED_MSG_SW_RNDV, 0xb, "matched with its data, software does the rendezvous")        \
	X(CANCELED, 0xc, "the rest of a message was canceled")

/* What a packet is: device.h CQE_L4_HDR_TYPE_*, mlx5_prm.h MLX5_CQE_RX_IPV*_PACKET, device.h
 * CQE_TLS_OFFLOAD_* */
#define BSN_CQE_L4_TYPES(X)                                                                        \
	X(NONE, 0, "neither TCP nor UDP")                                                          \
	X(TCP, 1, "TCP without acknowledgement")                                                   \
	X(UDP, 2, "UDP")                                                                           \
	X(TCP_EMPTY_ACK, 3, "TCP, an acknowledgement without data")                                \
	X(TCP_ACK, 4, "TCP, an acknowledgement with data")
#define BSN_CQE_L3_TYPES(X)                                                                        \
	X(NONE, 0, "no IP")                                                                        \
	X(IPV6, 1, "IPv6")                                                                         \
	X(IPV4, 2, "IPv4")
#define BSN_CQE_TLS(X)                                                                             \
	X(NOT_DECRYPTED, 0, "left as it was")                                                      \
	X(DECRYPTED, 1, "decrypted")                                                               \
	X(RESYNC, 2, "the device asks where a record begins")                                      \
	X(ERROR, 3, "authentication failed")

/*
 * What a mini CQE of a receive has beside the length, an attribute of the CQ: mlx5_prm.h
 * MLX5_CQE_RESP_FORMAT_*, device.h MLX5_CQE_FORMAT_CSUM*.
 */
#define BSN_MINI_FORMATS(X)                                                                        \
	X(HASH, 0, "the RSS hash")                                                                 \
	X(CSUM, 1, "the checksum")                                                                 \
	X(FTAG_STRIDX, 2, "flow tag and stride index")                                             \
	X(CSUM_STRIDX, 3, "checksum and stride index")                                             \
	X(L34H_STRIDX, 4, "header types and stride index")

#define BSN_ENUM_APP_OP(name, value, doc) BSN_CQE_APP_##name = value,
enum bsn_cqe_app_op { BSN_CQE_APP_OPS(BSN_ENUM_APP_OP) };
#undef BSN_ENUM_APP_OP
#define BSN_ENUM_L4(name, value, doc) BSN_CQE_L4_##name = value,
enum bsn_cqe_l4 { BSN_CQE_L4_TYPES(BSN_ENUM_L4) };
#undef BSN_ENUM_L4
#define BSN_ENUM_L3(name, value, doc) BSN_CQE_L3_##name = value,
enum bsn_cqe_l3 { BSN_CQE_L3_TYPES(BSN_ENUM_L3) };
#undef BSN_ENUM_L3
#define BSN_ENUM_TLS(name, value, doc) BSN_CQE_TLS_##name = value,
enum bsn_cqe_tls { BSN_CQE_TLS(BSN_ENUM_TLS) };
#undef BSN_ENUM_TLS
#define BSN_ENUM_MINI(name, value, doc) BSN_MINI_##name = value,
enum bsn_mini_format { BSN_MINI_FORMATS(BSN_ENUM_MINI) };
#undef BSN_ENUM_MINI

/*
 * A received packet: the view of a receive on a queue of raw packets. Only the queue tells which of
 * the two views a CQE has, nothing in the CQE does. Source: device.h struct mlx5_cqe64 and its
 * accessors, mlx5_prm.h struct mlx5_cqe, MLX5_CQE_RX_*.
 */
#define BSN_CQE_ETH_SIZE BSN_CQE_SIZE
#define BSN_TABLE_CQE_ETH(F, Q, Z, I)                                                              \
	I(0, 29, 3)                                                                                \
	F(tls, 0, 27, 2, "what TLS offload did")                                                   \
	I(0, 26, 1)                                                                                \
	F(outer_ipv6, 0, 25, 1, "tunnel: 1 the outer header is IPv6")                              \
	F(tunneled, 0, 24, 1, "1: the fields are of the inner packet")                             \
	I(0, 16, 8)                                                                                \
	F(wqe_id, 0, 0, 16, "striding receive queue: the WQE")                                     \
	I(1, 31, 1)                                                                                \
	F(lro_push, 1, 30, 1, "LRO: TCP PUSH")                                                     \
	I(1, 24, 6)                                                                                \
	F(lro_min_ttl, 1, 16, 8, "LRO: least time to live")                                        \
	F(lro_window, 1, 0, 16, "LRO: TCP window")                                                 \
	F(lro_ack, 2, 0, 32, "LRO: acknowledged sequence number")                                  \
	F(rss_hash, 3, 0, 32, "RSS hash")                                                          \
	F(rss_l4, 4, 30, 2, "hashed: 1 TCP, 2 UDP, 3 IPsec SPI")                                   \
	I(4, 28, 2)                                                                                \
	F(rss_l3, 4, 26, 2, "hashed: 1 IPv4, 2 IPv6")                                              \
	I(4, 0, 26)                                                                                \
	F(checksum, 5, 16, 16, "of the packet")                                                    \
	I(5, 0, 16)                                                                                \
	I(6, 0, 32)                                                                                \
	I(7, 27, 5)                                                                                \
	F(l4_ok, 7, 26, 1, "1: the L4 checksum is good")                                           \
	F(l3_ok, 7, 25, 1, "1: the L3 checksum is good")                                           \
	F(l2_ok, 7, 24, 1, "1: the L2 header is good")                                             \
	F(ip_fragment, 7, 23, 1, "1: a fragment")                                                  \
	F(l4_type, 7, 20, 3, "L4 header")                                                          \
	F(l3_type, 7, 18, 2, "L3 header")                                                          \
	F(ip_options, 7, 17, 1, "1: IPv4 options or IPv6 extensions")                              \
	F(vlan_stripped, 7, 16, 1, "1: vlan_info was cut out")                                     \
	F(vlan_info, 7, 0, 16, "VLAN tag")                                                         \
	F(lro_segments, 8, 24, 8, "LRO: packets joined")                                           \
	F(srqn_uidx, 8, 0, 24, "CQE version 0: SRQ, or 0; version 1: the queue's user index")      \
	F(metadata, 9, 0, 32, "from steering rules")                                               \
	I(10, 0, 32)                                                                               \
	F(byte_count, 11, 0, 32, "bytes received; striding: struct bsn_cqe_strides")               \
	Q(timestamp, 12, "when, in the device's clock")                                            \
	I(14, 24, 8)                                                                               \
	F(flow_tag, 14, 0, 24, "from steering rules")                                              \
	BSN_CQE_TAIL_ROWS(15, F)

BSN_SEG_DEFINE(cqe_eth, BSN_CQE_ETH_SIZE, BSN_TABLE_CQE_ETH)

/* byte_count of a striding receive queue: device.h struct mpwrq_cqe_bc */
#define BSN_CQE_STRIDES_SIZE   4
#define BSN_CQE_STRIDES_OFFSET 44 /* in the CQE proper */
#define BSN_TABLE_CQE_STRIDES(F, Q, Z, I)                                                          \
	F(filler, 0, 31, 1, "1: no data, strides are skipped")                                     \
	F(strides, 0, 16, 15, "strides consumed")                                                  \
	F(byte_count, 0, 0, 16, "bytes received")

BSN_SEG_DEFINE(cqe_strides, BSN_CQE_STRIDES_SIZE, BSN_TABLE_CQE_STRIDES)

/* Tag matching without a message: mlx5dv.h struct mlx5_tm_cqe, cq.c handle_tag_matching() */
#define BSN_CQE_NO_PACKET_SIZE BSN_CQE_SIZE
#define BSN_TABLE_CQE_NO_PACKET(F, Q, Z, I)                                                        \
	F(success, 0, 31, 1, "1: the list was changed")                                            \
	I(0, 0, 31)                                                                                \
	F(hw_phase_cnt, 1, 16, 16, "unexpected messages that the device has seen")                 \
	I(1, 0, 16)                                                                                \
	I(2, 0, 32)                                                                                \
	I(3, 0, 32)                                                                                \
	I(4, 0, 32)                                                                                \
	I(5, 0, 32)                                                                                \
	I(6, 0, 32)                                                                                \
	I(7, 0, 32)                                                                                \
	BSN_CQE_USER_ROWS(F, I)                                                                    \
	I(9, 0, 32)                                                                                \
	F(app, 10, 24, 8, "application, 1: tag matching")                                          \
	F(app_op, 10, 16, 8, "its operation")                                                      \
	F(app_info, 10, 0, 16, "entry of the list")                                                \
	I(11, 0, 32)                                                                               \
	Q(timestamp, 12, "when, in the device's clock")                                            \
	I(14, 24, 8)                                                                               \
	F(qpn, 14, 0, 24, "the queue's QP")                                                        \
	BSN_CQE_TAIL_ROWS(15, F)

BSN_SEG_DEFINE(cqe_no_packet, BSN_CQE_NO_PACKET_SIZE, BSN_TABLE_CQE_NO_PACKET)

/*
 * A signature that did not match: cq.c struct mlx5_sigerr_cqe, device.h struct mlx5_sig_err_cqe;
 * rdma-core's verbs.c MLX5_SIGERR_CQE_*
 */
#define BSN_CQE_SIG_ERR_SIZE BSN_CQE_SIZE
#define BSN_TABLE_CQE_SIG_ERR(F, Q, Z, I)                                                          \
	I(0, 0, 32)                                                                                \
	I(1, 0, 32)                                                                                \
	I(2, 0, 32)                                                                                \
	I(3, 0, 32)                                                                                \
	F(expected_signature, 4, 0, 32, "guard and application tag, or CRC")                       \
	F(actual_signature, 5, 0, 32, "guard and application tag, or CRC")                         \
	F(expected_ref_tag, 6, 0, 32, "reference tag, or low half of a CRC")                       \
	F(actual_ref_tag, 7, 0, 32, "reference tag, or low half of a CRC")                         \
	F(syndrome, 8, 16, 16, "what differs: bit 13 guard, 12 application tag, 11 reference tag") \
	I(8, 11, 5)                                                                                \
	F(sig_type, 8, 8, 3, "0: of a block, 1: of a transaction")                                 \
	I(8, 3, 5)                                                                                 \
	F(domain, 8, 0, 3, "0: wire, 1: memory")                                                   \
	F(mkey, 9, 0, 32, "key with the signature")                                                \
	Q(offset, 10, "of the block, bytes")                                                       \
	I(12, 0, 32)                                                                               \
	I(13, 0, 32)                                                                               \
	I(14, 24, 8)                                                                               \
	F(qpn, 14, 0, 24, "the queue's QP")                                                        \
	BSN_CQE_TAIL_ROWS(15, F)

BSN_SEG_DEFINE(cqe_sig_err, BSN_CQE_SIG_ERR_SIZE, BSN_TABLE_CQE_SIG_ERR)

/* The last CQE of a replaced buffer: cq.c mlx5_cq_resize_copy_cqes() reads its tail alone */
#define BSN_CQE_RESIZE_SIZE BSN_CQE_SIZE
#define BSN_TABLE_CQE_RESIZE(F, Q, Z, I)                                                           \
	BSN_CQE_INLINE_AREA(I)                                                                     \
	I(8, 0, 32)                                                                                \
	I(9, 0, 32)                                                                                \
	I(10, 0, 32)                                                                               \
	I(11, 0, 32)                                                                               \
	I(12, 0, 32)                                                                               \
	I(13, 0, 32)                                                                               \
	I(14, 0, 32)                                                                               \
	BSN_CQE_TAIL_ROWS(15, F)

BSN_SEG_DEFINE(cqe_resize, BSN_CQE_RESIZE_SIZE, BSN_TABLE_CQE_RESIZE)

/*
 * Mini CQEs, eight bytes each: device.h and mlx5_prm.h struct mlx5_mini_cqe8; mlx5_rx.c
 * rxq_cq_to_mbuf() joins the two halves of a flow tag. The title's opcode and the CQ's enum
 * bsn_mini_format select the table. In the basic layout an array CQE has eight mini CQEs. In the
 * enhanced layout it has up to seven and a tail, whose opcode is their count less one.
 */
#define BSN_MINI_SIZE          8
#define BSN_MINI_BASIC_MOST    8
#define BSN_MINI_ENHANCED_MOST 7
#define BSN_MINI_REQ_SIZE      BSN_MINI_SIZE
#define BSN_MINI_HASH_SIZE     BSN_MINI_SIZE
#define BSN_MINI_CSUM_SIZE     BSN_MINI_SIZE
#define BSN_MINI_FTAG_SIZE     BSN_MINI_SIZE
#define BSN_MINI_L34H_SIZE     BSN_MINI_SIZE
#define BSN_TABLE_MINI_REQ(F, Q, Z, I)                                                             \
	F(wqe_counter, 0, 16, 16, "index of the first BB of the WQE")                              \
	F(wqe_opcode, 0, 8, 8, "opcode of the WQE")                                                \
	I(0, 0, 8)                                                                                 \
	F(byte_count, 1, 0, 32, "bytes delivered")
#define BSN_TABLE_MINI_HASH(F, Q, Z, I)                                                            \
	F(rss_hash, 0, 0, 32, "RSS hash")                                                          \
	F(byte_count, 1, 0, 32, "bytes received")
#define BSN_TABLE_MINI_CSUM(F, Q, Z, I)                                                            \
	F(checksum, 0, 16, 16, "of the packet")                                                    \
	F(stride_index, 0, 0, 16, "CSUM_STRIDX: first stride")                                     \
	F(byte_count, 1, 0, 32, "bytes received")
#define BSN_TABLE_MINI_FTAG(F, Q, Z, I)                                                            \
	F(flow_tag_15_0, 0, 16, 16, "flow tag, low part")                                          \
	F(stride_index, 0, 0, 16, "first stride")                                                  \
	F(flow_tag_23_16, 1, 24, 8, "flow tag, high part")                                         \
	F(byte_count, 1, 0, 24, "bytes received")
#define BSN_TABLE_MINI_L34H(F, Q, Z, I)                                                            \
	I(0, 24, 8)                                                                                \
	F(header_types, 0, 16, 8, "fragment, L4, L3, options, VLAN, as in dword 7 of the CQE")     \
	F(stride_index, 0, 0, 16, "first stride")                                                  \
	F(byte_count, 1, 0, 32, "bytes received")

BSN_SEG_DEFINE(mini_req, BSN_MINI_REQ_SIZE, BSN_TABLE_MINI_REQ)
BSN_SEG_DEFINE(mini_hash, BSN_MINI_HASH_SIZE, BSN_TABLE_MINI_HASH)
BSN_SEG_DEFINE(mini_csum, BSN_MINI_CSUM_SIZE, BSN_TABLE_MINI_CSUM)
BSN_SEG_DEFINE(mini_ftag, BSN_MINI_FTAG_SIZE, BSN_TABLE_MINI_FTAG)
BSN_SEG_DEFINE(mini_l34h, BSN_MINI_L34H_SIZE, BSN_TABLE_MINI_L34H)

/** bsn_cqe_qpn() - the QPN of a CQE proper, whatever its view */
static inline uint32_t bsn_cqe_qpn(const void *cqe)
{
	struct bsn_cqe_req any; /* all views with a QPN have it in this place */

	bsn_cqe_req_decode(&any, cqe);
	return any.qpn;
}

/** bsn_cqe_inline_format() - the format of a CQE with inline data, by its size */
static inline enum bsn_cqe_format bsn_cqe_inline_format(size_t cqe_size)
{
	return cqe_size == BSN_CQE128_SIZE ? BSN_CQE_INLINE_64 : BSN_CQE_INLINE_32;
}

/** bsn_cqe_inline_room() - the bytes of inline data that a CQE of this format can have */
static inline uint32_t bsn_cqe_inline_room(uint32_t format)
{
	return format == BSN_CQE_INLINE_64 ? 64 : format == BSN_CQE_INLINE_32 ? 32 : 0;
}

/* Every segment above: X(seg, SEG, doc) */
#define BSN_CQE_SEGMENTS(X)                                                                        \
	X(cqe_req, CQE_REQ, "CQE of a request")                                                    \
	X(cqe_resp, CQE_RESP, "CQE of a receive")                                                  \
	X(cqe_err, CQE_ERR, "CQE of an error")                                                     \
	X(cqe_tail, CQE_TAIL, "last dword of every CQE")                                           \
	X(cqe_eth, CQE_ETH, "CQE of a received packet")                                            \
	X(cqe_strides, CQE_STRIDES, "length in a CQE of a striding receive queue")                 \
	X(cqe_no_packet, CQE_NO_PACKET, "CQE of tag matching without a message")                   \
	X(cqe_sig_err, CQE_SIG_ERR, "CQE of a signature that did not match")                       \
	X(cqe_resize, CQE_RESIZE, "CQE of a CQ that was resized")                                  \
	X(mini_req, MINI_REQ, "mini CQE of a request")                                             \
	X(mini_hash, MINI_HASH, "mini CQE of a receive, with the RSS hash")                        \
	X(mini_csum, MINI_CSUM, "mini CQE of a receive, with the checksum")                        \
	X(mini_ftag, MINI_FTAG, "mini CQE of a receive, with the flow tag")                        \
	X(mini_l34h, MINI_L34H, "mini CQE of a receive, with the header types")

#ifdef __cplusplus
}
#endif
#endif
