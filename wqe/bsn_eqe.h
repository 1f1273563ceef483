/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Event-queue entries: what the device tells the driver. 64 bytes; the type says which view the data
 * in dwords 8 to 14 have.
 *
 * Sources: PRM = ConnectX Programmer's Reference Manual, chapter "Events and Interrupts"; device.h is
 * the kernel's include/linux/mlx5/device.h (struct mlx5_eqe, enum mlx5_event), eq.c its
 * drivers/net/ethernet/mellanox/mlx5/core/eq.c.
 */
#ifndef BSN_EQE_H
#define BSN_EQE_H

#include "bsn_seg.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What happened: X(NAME, value, doc). Source: device.h MLX5_EVENT_TYPE_* */
#define BSN_EQE_TYPES(X)                                                                           \
	X(COMP, 0x00, "a CQ has completions")                                                      \
	X(PATH_MIG, 0x01, "a QP moved to its other path")                                          \
	X(COMM_EST, 0x02, "a first packet came before the QP was ready to send")                   \
	X(SQ_DRAINED, 0x03, "a send queue is drained")                                             \
	X(CQ_ERROR, 0x04, "a CQ is in error, overrun mostly")                                      \
	X(WQ_CATAS_ERROR, 0x05, "a work queue failed")                                             \
	X(PATH_MIG_FAILED, 0x07, "a QP could not move to its other path")                          \
	X(INTERNAL_ERROR, 0x08, "the device failed")                                               \
	X(PORT_CHANGE, 0x09, "a port came up, went down, changed")                                 \
	X(CMD, 0x0a, "commands completed")                                                         \
	X(PAGE_REQUEST, 0x0b, "the device wants pages, or gives some back")                        \
	X(PAGE_FAULT, 0x0c, "on-demand paging")                                                    \
	X(NIC_VPORT_CHANGE, 0x0d, "a virtual port changed")                                        \
	X(ESW_FUNCTIONS_CHANGED, 0x0e, "functions of the embedded switch changed")                 \
	X(VHCA_STATE_CHANGE, 0x0f, "a function changed its state")                                 \
	X(WQ_INVAL_REQ_ERROR, 0x10, "a request that the QP does not take")                         \
	X(WQ_ACCESS_ERROR, 0x11, "a request without the right")                                    \
	X(SRQ_CATAS_ERROR, 0x12, "a shared receive queue failed")                                  \
	X(SRQ_LAST_WQE, 0x13, "a QP took its last WQE from its SRQ")                               \
	X(SRQ_RQ_LIMIT, 0x14, "a shared receive queue fell to its limit")                          \
	X(GPIO_EVENT, 0x15, "general-purpose pins")                                                \
	X(PORT_MODULE_EVENT, 0x16, "a cable or module")                                            \
	X(TEMP_WARN_EVENT, 0x17, "temperature")                                                    \
	X(XRQ_ERROR, 0x18, "a matching SRQ failed")                                                \
	X(REMOTE_CONFIG, 0x19, "remote configuration")                                             \
	X(DB_BF_CONGESTION, 0x1a, "doorbells are congested")                                       \
	X(STALL_EVENT, 0x1b, "a virtual lane is stalled")                                          \
	X(DCT_DRAINED, 0x1c, "a DCT is drained")                                                   \
	X(DCT_KEY_VIOLATION, 0x1d, "a DCT was sent a wrong access key")                            \
	X(FPGA_ERROR, 0x20, "FPGA")                                                                \
	X(FPGA_QP_ERROR, 0x21, "FPGA: QP")                                                         \
	X(GENERAL_EVENT, 0x22, "see the subtype")                                                  \
	X(MONITOR_COUNTER, 0x24, "a watched counter changed")                                      \
	X(PPS_EVENT, 0x25, "pulse per second")                                                     \
	X(DEVICE_TRACER, 0x26, "firmware traces")                                                  \
	X(OBJECT_CHANGE, 0x27, "an object changed")

/* Subtypes of PORT_CHANGE. Source: device.h MLX5_PORT_CHANGE_SUBTYPE_* */
#define BSN_EQE_PORT_CHANGES(X)                                                                    \
	X(DOWN, 1, "down")                                                                         \
	X(ACTIVE, 4, "active")                                                                     \
	X(INITIALIZED, 5, "initialized")                                                           \
	X(LID, 6, "its LID changed")                                                               \
	X(PKEY, 7, "its P_Key table changed")                                                      \
	X(GUID, 8, "its GUID changed")                                                             \
	X(CLIENT_REREG, 9, "clients should register again")

#define BSN_ENUM_EQE(name, value, doc) BSN_EQE_##name = value,
enum bsn_eqe_type { BSN_EQE_TYPES(BSN_ENUM_EQE) };
#undef BSN_ENUM_EQE
#define BSN_ENUM_EQE_PORT(name, value, doc) BSN_EQE_PORT_##name = value,
enum bsn_eqe_port_change { BSN_EQE_PORT_CHANGES(BSN_ENUM_EQE_PORT) };
#undef BSN_ENUM_EQE_PORT

#define BSN_EQE_SIZE        64
#define BSN_EQE_COMP_SIZE   BSN_EQE_SIZE
#define BSN_EQE_QP_SIZE     BSN_EQE_SIZE
#define BSN_EQE_CQ_SIZE     BSN_EQE_SIZE
#define BSN_EQE_DCT_SIZE    BSN_EQE_SIZE
#define BSN_EQE_PORT_SIZE   BSN_EQE_SIZE
#define BSN_EQE_CMD_SIZE    BSN_EQE_SIZE
#define BSN_EQE_PAGES_SIZE  BSN_EQE_SIZE
#define BSN_EQE_OBJECT_SIZE BSN_EQE_SIZE

/* Dwords 0 to 7 and 15 of every view. */
#define BSN_EQE_HEAD(F, I)                                                                         \
	I(0, 24, 8)                                                                                \
	F(type, 0, 16, 8, "what happened")                                                         \
	I(0, 8, 8)                                                                                 \
	F(sub_type, 0, 0, 8, "in detail")                                                          \
	I(1, 0, 32)                                                                                \
	I(2, 0, 32)                                                                                \
	I(3, 0, 32)                                                                                \
	I(4, 0, 32)                                                                                \
	I(5, 0, 32)                                                                                \
	I(6, 0, 32)                                                                                \
	I(7, 0, 32)
#define BSN_EQE_TAIL(F, I)                                                                         \
	I(15, 16, 16)                                                                              \
	F(signature, 15, 8, 8, "checksum")                                                         \
	I(15, 1, 7)                                                                                \
	F(owner, 15, 0, 1, "parity of the round in which it was written")
#define BSN_EQE_UNUSED(I, a, b, c, d, e, f)                                                        \
	I(a, 0, 32)                                                                                \
	I(b, 0, 32)                                                                                \
	I(c, 0, 32)                                                                                \
	I(d, 0, 32)                                                                                \
	I(e, 0, 32)                                                                                \
	I(f, 0, 32)

/* Any other event: the data as they are */
#define BSN_TABLE_EQE(F, Q, Z, I)                                                                  \
	BSN_EQE_HEAD(F, I)                                                                         \
	F(data_0, 8, 0, 32, "by type")                                                             \
	F(data_1, 9, 0, 32, "by type")                                                             \
	F(data_2, 10, 0, 32, "by type")                                                            \
	F(data_3, 11, 0, 32, "by type")                                                            \
	F(data_4, 12, 0, 32, "by type")                                                            \
	F(data_5, 13, 0, 32, "by type")                                                            \
	F(data_6, 14, 0, 32, "by type")                                                            \
	BSN_EQE_TAIL(F, I)

/* Completions: struct mlx5_eqe_comp */
#define BSN_TABLE_EQE_COMP(F, Q, Z, I)                                                             \
	BSN_EQE_HEAD(F, I)                                                                         \
	BSN_EQE_UNUSED(I, 8, 9, 10, 11, 12, 13)                                                    \
	I(14, 24, 8)                                                                               \
	F(cqn, 14, 0, 24, "number of the CQ")                                                      \
	BSN_EQE_TAIL(F, I)

/* Of a QP or SRQ: struct mlx5_eqe_qp_srq; device.h MLX5_EVENT_QUEUE_TYPE_* */
#define BSN_TABLE_EQE_QP(F, Q, Z, I)                                                               \
	BSN_EQE_HEAD(F, I)                                                                         \
	I(8, 0, 32)                                                                                \
	I(9, 0, 32)                                                                                \
	I(10, 0, 32)                                                                               \
	I(11, 0, 32)                                                                               \
	I(12, 0, 32)                                                                               \
	F(queue_type, 13, 24, 8, "0 QP, 1 RQ, 2 SQ, 6 DCT")                                        \
	I(13, 0, 24)                                                                               \
	I(14, 24, 8)                                                                               \
	F(number, 14, 0, 24, "of the QP or SRQ")                                                   \
	BSN_EQE_TAIL(F, I)

/* Error of a CQ: struct mlx5_eqe_cq_err */
#define BSN_TABLE_EQE_CQ(F, Q, Z, I)                                                               \
	BSN_EQE_HEAD(F, I)                                                                         \
	I(8, 24, 8)                                                                                \
	F(cqn, 8, 0, 24, "number of the CQ")                                                       \
	I(9, 0, 32)                                                                                \
	I(10, 8, 24)                                                                               \
	F(syndrome, 10, 0, 8, "1: overrun, 2: its buffer")                                         \
	I(11, 0, 32)                                                                               \
	I(12, 0, 32)                                                                               \
	I(13, 0, 32)                                                                               \
	I(14, 0, 32)                                                                               \
	BSN_EQE_TAIL(F, I)

/* Of a DCT: struct mlx5_eqe_dct */
#define BSN_TABLE_EQE_DCT(F, Q, Z, I)                                                              \
	BSN_EQE_HEAD(F, I)                                                                         \
	BSN_EQE_UNUSED(I, 8, 9, 10, 11, 12, 13)                                                    \
	I(14, 24, 8)                                                                               \
	F(dctn, 14, 0, 24, "number of the DCT")                                                    \
	BSN_EQE_TAIL(F, I)

/* Of a port: struct mlx5_eqe_port_state, whose reader takes the upper four bits */
#define BSN_TABLE_EQE_PORT(F, Q, Z, I)                                                             \
	BSN_EQE_HEAD(F, I)                                                                         \
	I(8, 0, 32)                                                                                \
	I(9, 0, 32)                                                                                \
	F(port, 10, 28, 4, "number of the port")                                                   \
	I(10, 0, 28)                                                                               \
	I(11, 0, 32)                                                                               \
	I(12, 0, 32)                                                                               \
	I(13, 0, 32)                                                                               \
	I(14, 0, 32)                                                                               \
	BSN_EQE_TAIL(F, I)

/* Of the command queue: struct mlx5_eqe_cmd */
#define BSN_TABLE_EQE_CMD(F, Q, Z, I)                                                              \
	BSN_EQE_HEAD(F, I)                                                                         \
	F(vector, 8, 0, 32, "a bit for each command that completed")                               \
	BSN_EQE_UNUSED(I, 9, 10, 11, 12, 13, 14)                                                   \
	BSN_EQE_TAIL(F, I)

/* Pages: struct mlx5_eqe_page_req */
#define BSN_TABLE_EQE_PAGES(F, Q, Z, I)                                                            \
	BSN_EQE_HEAD(F, I)                                                                         \
	F(ec_function, 8, 16, 16, "bit 15: of the embedded CPU")                                   \
	F(function, 8, 0, 16, "that wants them")                                                   \
	F(num_pages, 9, 0, 32, "pages of 4096 bytes; negative: given back")                        \
	I(10, 0, 32)                                                                               \
	I(11, 0, 32)                                                                               \
	I(12, 0, 32)                                                                               \
	I(13, 0, 32)                                                                               \
	I(14, 0, 32)                                                                               \
	BSN_EQE_TAIL(F, I)

/* Of an object: struct mlx5_eqe_obj_change */
#define BSN_TABLE_EQE_OBJECT(F, Q, Z, I)                                                           \
	BSN_EQE_HEAD(F, I)                                                                         \
	I(8, 16, 16)                                                                               \
	F(obj_type, 8, 0, 16, "kind of the object")                                                \
	F(obj_id, 9, 0, 32, "its number")                                                          \
	I(10, 0, 32)                                                                               \
	I(11, 0, 32)                                                                               \
	I(12, 0, 32)                                                                               \
	I(13, 0, 32)                                                                               \
	I(14, 0, 32)                                                                               \
	BSN_EQE_TAIL(F, I)

BSN_SEG_DEFINE(eqe, BSN_EQE_SIZE, BSN_TABLE_EQE)
BSN_SEG_DEFINE(eqe_comp, BSN_EQE_COMP_SIZE, BSN_TABLE_EQE_COMP)
BSN_SEG_DEFINE(eqe_qp, BSN_EQE_QP_SIZE, BSN_TABLE_EQE_QP)
BSN_SEG_DEFINE(eqe_cq, BSN_EQE_CQ_SIZE, BSN_TABLE_EQE_CQ)
BSN_SEG_DEFINE(eqe_dct, BSN_EQE_DCT_SIZE, BSN_TABLE_EQE_DCT)
BSN_SEG_DEFINE(eqe_port, BSN_EQE_PORT_SIZE, BSN_TABLE_EQE_PORT)
BSN_SEG_DEFINE(eqe_cmd, BSN_EQE_CMD_SIZE, BSN_TABLE_EQE_CMD)
BSN_SEG_DEFINE(eqe_pages, BSN_EQE_PAGES_SIZE, BSN_TABLE_EQE_PAGES)
BSN_SEG_DEFINE(eqe_object, BSN_EQE_OBJECT_SIZE, BSN_TABLE_EQE_OBJECT)

/* Every segment above: X(seg, SEG, doc) */
#define BSN_EQE_SEGMENTS(X)                                                                        \
	X(eqe, EQE, "EQE of any event")                                                            \
	X(eqe_comp, EQE_COMP, "EQE of completions")                                                \
	X(eqe_qp, EQE_QP, "EQE of a QP or SRQ")                                                    \
	X(eqe_cq, EQE_CQ, "EQE of a CQ in error")                                                  \
	X(eqe_dct, EQE_DCT, "EQE of a DCT")                                                        \
	X(eqe_port, EQE_PORT, "EQE of a port")                                                     \
	X(eqe_cmd, EQE_CMD, "EQE of commands")                                                     \
	X(eqe_pages, EQE_PAGES, "EQE of pages")                                                    \
	X(eqe_object, EQE_OBJECT, "EQE of an object")

#ifdef __cplusplus
}
#endif
#endif
