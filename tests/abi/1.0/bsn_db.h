/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A part of bsn_decode.h, which programs include.
 *
 * Doorbells: the records in memory that tell the device how far a queue has come, and the words
 * that are stored into its registers (a UAR page).
 *
 * Sources: PRM = ConnectX Programmer's Reference Manual, "Doorbell Records" and "UAR Page Format";
 * rdma-core's mlx5dv.h (MLX5_*_DBR, MLX5_CQ_DOORBELL) and providers/mlx5/{cq,qp}.c.
 */
#ifndef BSN_DB_H
#define BSN_DB_H

#include "bsn_wqe.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where things are, in bytes. */
#define BSN_DBR_RECV_OFFSET   0     /* in a QP's record, and in an SRQ's: struct bsn_dbr_wq */
#define BSN_DBR_SEND_OFFSET   4     /* in a QP's record: struct bsn_dbr_wq */
#define BSN_DBR_CQ_CI_OFFSET  0     /* in a CQ's record: struct bsn_dbr_cq_ci */
#define BSN_DBR_CQ_ARM_OFFSET 4     /* in a CQ's record: struct bsn_dbr_cq_arm */
#define BSN_UAR_CQ_ARM_OFFSET 0x20  /* in a UAR page: struct bsn_cq_doorbell */
#define BSN_UAR_BF_OFFSET     0x800 /* in a UAR page: the first BlueFlame register */

#define BSN_DBR_SIZE          8         /* bytes in the record of any queue */
#define BSN_CQ_INDEX_MASK     0xffffffu /* a CQ's indices count modulo 2^24 */
#define BSN_BF_REGISTER_BYTES 512       /* a BlueFlame register; log_bf_reg_size of every device */
#define BSN_BF_BUFFER_BYTES   (BSN_BF_REGISTER_BYTES / 2) /* each of its two, used in turn */

/* Which completions raise an event: mlx5dv.h MLX5_CQ_DB_REQ_NOT and _NOT_SOL */
#define BSN_CQ_ARMS(X)                                                                             \
	X(NEXT, 0, "the next completion")                                                          \
	X(SOLICITED, 1, "the next solicited or failed completion")

#define BSN_ENUM_CQ_ARM(name, value, doc) BSN_CQ_ARM_##name = value,
enum bsn_cq_arm { BSN_CQ_ARMS(BSN_ENUM_CQ_ARM) };
#undef BSN_ENUM_CQ_ARM

/* Record of a send, receive or shared receive queue */
#define BSN_DBR_WQ_SIZE 4
#define BSN_TABLE_DBR_WQ(F, Q, Z, I)                                                               \
	Z(0, 16, 16)                                                                               \
	F(index, 0, 0, 16, "of the next free BB, or receive WQE, cumulative modulo 2^16")

BSN_SEG_DEFINE(dbr_wq, BSN_DBR_WQ_SIZE, BSN_TABLE_DBR_WQ)

/* Record of a completion queue: what was polled */
#define BSN_DBR_CQ_CI_SIZE 4
#define BSN_TABLE_DBR_CQ_CI(F, Q, Z, I)                                                            \
	Z(0, 24, 8)                                                                                \
	F(ci, 0, 0, 24, "CQEs consumed, modulo 2^24")

BSN_SEG_DEFINE(dbr_cq_ci, BSN_DBR_CQ_CI_SIZE, BSN_TABLE_DBR_CQ_CI)

/* Record of a completion queue: what it is armed for; the doorbell that arms it says the same */
#define BSN_CQ_ARM_ROWS(F, Z)                                                                      \
	Z(0, 30, 2)                                                                                \
	F(sn, 0, 28, 2, "events seen, modulo 4: an arm with an old number is void")                \
	Z(0, 25, 3)                                                                                \
	F(cmd, 0, 24, 1, "which completions raise an event")                                       \
	F(ci, 0, 0, 24, "CQEs consumed, modulo 2^24")

#define BSN_DBR_CQ_ARM_SIZE                4
#define BSN_TABLE_DBR_CQ_ARM(F, Q, Z, I) BSN_CQ_ARM_ROWS(F, Z)

BSN_SEG_DEFINE(dbr_cq_arm, BSN_DBR_CQ_ARM_SIZE, BSN_TABLE_DBR_CQ_ARM)

/* One 8-byte store at BSN_UAR_CQ_ARM_OFFSET */
#define BSN_CQ_DOORBELL_SIZE 8
#define BSN_TABLE_CQ_DOORBELL(F, Q, Z, I)                                                          \
	BSN_CQ_ARM_ROWS(F, Z)                                                                      \
	Z(1, 24, 8)                                                                                \
	F(cqn, 1, 0, 24, "number of the CQ")

BSN_SEG_DEFINE(cq_doorbell, BSN_CQ_DOORBELL_SIZE, BSN_TABLE_CQ_DOORBELL)

/* One 8-byte store into a BlueFlame register: the head of the last WQE's control segment */
#define BSN_SQ_DOORBELL_SIZE                8
#define BSN_TABLE_SQ_DOORBELL(F, Q, Z, I) BSN_CTRL_HEAD(F, Q, Z, I)

BSN_SEG_DEFINE(sq_doorbell, BSN_SQ_DOORBELL_SIZE, BSN_TABLE_SQ_DOORBELL)

/* Every segment above: X(seg, SEG, doc) */
#define BSN_DB_SEGMENTS(X)                                                                         \
	X(dbr_wq, DBR_WQ, "doorbell record of a work queue")                                       \
	X(dbr_cq_ci, DBR_CQ_CI, "doorbell record of a CQ: consumer")                               \
	X(dbr_cq_arm, DBR_CQ_ARM, "doorbell record of a CQ: arm")                                  \
	X(cq_doorbell, CQ_DOORBELL, "register that arms a CQ")                                     \
	X(sq_doorbell, SQ_DOORBELL, "register that starts a send queue")

#ifdef __cplusplus
}
#endif
#endif
