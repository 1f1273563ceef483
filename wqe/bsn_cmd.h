/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Mailboxes of commands to the firmware, which programs send by DevX. A segment describes at most 64
 * bytes, so a long mailbox has several, each with its offset. Bytes that no segment describes are
 * reserved, or are not used by code here.
 *
 * Sources: mlx5_ifc.h is the kernel's include/linux/mlx5/mlx5_ifc.h, to which rdma-core's
 * providers/mlx5/mlx5_ifc.h adds a few fields; ib_mlx5_ifc.h is UCX's src/uct/ib/mlx5/; mlx5_prm.h is
 * DPDK's drivers/common/mlx5/.
 */
#ifndef BSN_CMD_H
#define BSN_CMD_H

#include "bsn_seg.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Source: mlx5_ifc.h MLX5_CMD_OP_* */
#define BSN_COMMANDS(X)                                                                            \
	X(QUERY_HCA_CAP, 0x100, "what the device can do")                                          \
	X(QUERY_ADAPTER, 0x101, "what the device is")                                              \
	X(QUERY_ISSI, 0x10a, "version of the command interface")                                   \
	X(CREATE_MKEY, 0x200, "a memory key")                                                      \
	X(QUERY_MKEY, 0x201, "what a memory key is")                                               \
	X(DESTROY_MKEY, 0x202, "gives a memory key back")                                          \
	X(QUERY_SPECIAL_CONTEXTS, 0x203, "keys with a meaning of their own")                       \
	X(CREATE_EQ, 0x301, "an event queue")                                                      \
	X(CREATE_CQ, 0x400, "a completion queue")                                                  \
	X(DESTROY_CQ, 0x401, "gives a completion queue back")                                      \
	X(QUERY_CQ, 0x402, "what a completion queue is")                                           \
	X(MODIFY_CQ, 0x403, "changes a completion queue")                                          \
	X(CREATE_QP, 0x500, "a queue pair")                                                        \
	X(DESTROY_QP, 0x501, "gives a queue pair back")                                            \
	X(RST2INIT_QP, 0x502, "a queue pair from RESET to INIT")                                   \
	X(INIT2RTR_QP, 0x503, "a queue pair from INIT to RTR")                                     \
	X(RTR2RTS_QP, 0x504, "a queue pair from RTR to RTS")                                       \
	X(RTS2RTS_QP, 0x505, "a queue pair in RTS")                                                \
	X(2ERR_QP, 0x507, "a queue pair to ERR")                                                   \
	X(2RST_QP, 0x50a, "a queue pair to RESET")                                                 \
	X(QUERY_QP, 0x50b, "what a queue pair is")                                                 \
	X(CREATE_PSV, 0x600, "protection states of signatures")                                    \
	X(CREATE_SRQ, 0x700, "a shared receive queue")                                             \
	X(CREATE_XRC_SRQ, 0x705, "a shared receive queue of XRC")                                  \
	X(CREATE_DCT, 0x710, "a target of dynamically connected transport")                        \
	X(DRAIN_DCT, 0x712, "a target takes no more connections")                                  \
	X(QUERY_DCT, 0x713, "what a target is")                                                    \
	X(ARM_DCT, 0x714, "an event of a target at the next wrong access key")                     \
	X(CREATE_XRQ, 0x717, "an extended receive queue")                                          \
	X(QUERY_HCA_VPORT_CONTEXT, 0x762, "state of an InfiniBand port")                           \
	X(QUERY_HCA_VPORT_GID, 0x764, "GIDs of an InfiniBand port")                                \
	X(ALLOC_PD, 0x800, "a protection domain")                                                  \
	X(DEALLOC_PD, 0x801, "gives a protection domain back")                                     \
	X(ACCESS_REG, 0x805, "a register of the device")                                           \
	X(NOP, 0x80d, "nothing")                                                                   \
	X(QUERY_LAG, 0x842, "how ports are bonded")                                                \
	X(CREATE_TIR, 0x900, "a target of received packets")                                       \
	X(CREATE_SQ, 0x904, "a send queue")                                                        \
	X(CREATE_RQ, 0x908, "a receive queue")                                                     \
	X(CREATE_RMP, 0x90c, "a memory pool of receives")                                          \
	X(MODIFY_RMP, 0x90d, "changes a memory pool of receives")                                  \
	X(QUERY_RMP, 0x90f, "what a memory pool of receives is")                                   \
	X(CREATE_TIS, 0x912, "a source of sent packets")                                           \
	X(CREATE_FLOW_TABLE, 0x930, "a table of steering")                                         \
	X(CREATE_GENERAL_OBJECT, 0xa00, "an object of a kind that the mailbox names")

/* Groups of capabilities. Source: the kernel's device.h enum mlx5_cap_type */
#define BSN_CAPS(X)                                                                                \
	X(GENERAL, 0x00, "of the device")                                                          \
	X(ETHERNET, 0x01, "of Ethernet")                                                           \
	X(ODP, 0x02, "of on-demand paging")                                                        \
	X(ATOMIC, 0x03, "of atomics")                                                              \
	X(ROCE, 0x04, "of RoCE")                                                                   \
	X(FLOW_TABLE, 0x07, "of steering")                                                         \
	X(QOS, 0x0c, "of the quality of service")                                                  \
	X(DEVICE_MEMORY, 0x0f, "of memory on the device")                                          \
	X(CRYPTO, 0x1a, "of encryption")                                                           \
	X(GENERAL_2, 0x20, "of the device, continued")

/* Bits of atomic_operations: ib_mlx5_ifc.h UCT_IB_MLX5_ATOMIC_OPS_* */
#define BSN_ATOMIC_OPERATIONS(X)                                                                   \
	X(COMPARE_SWAP, 0, "compare and swap")                                                     \
	X(FETCH_ADD, 1, "fetch and add")                                                           \
	X(MASKED_COMPARE_SWAP, 2, "compare and swap under masks")                                  \
	X(MASKED_FETCH_ADD, 3, "fetch and add by fields")

/* Operations that may use memory on demand: mlx5_ifc.h struct mlx5_ifc_odp_per_transport_service_cap_bits */
#define BSN_ODP_OPERATIONS(X)                                                                      \
	X(SEND, 1 << 5, "gathers of messages")                                                     \
	X(RECEIVE, 1 << 4, "receives")                                                             \
	X(WRITE, 1 << 3, "RDMA WRITEs")                                                            \
	X(READ, 1 << 2, "RDMA READs")                                                              \
	X(ATOMIC, 1 << 1, "atomics")                                                               \
	X(SRQ_RECEIVE, 1 << 0, "receives of a shared receive queue")

/* Kinds of general objects. Source: rdma-core's mlx5_ifc.h MLX5_OBJ_TYPE_* */
#define BSN_OBJECTS(X) X(AV_QP_MAPPING, 0x3a, "an address that a queue pair leads to, too")

/* Events. Source: the kernel's device.h enum mlx5_event */
#define BSN_EVENTS(X)                                                                              \
	X(COMPLETION, 0x00, "an armed CQ has a completion")                                        \
	X(PATH_MIG, 0x01, "a queue pair sends by its other path")                                  \
	X(COMM_EST, 0x02, "a message came before RTR")                                             \
	X(SQ_DRAINED, 0x03, "the send queue is drained")                                           \
	X(CQ_ERROR, 0x04, "a CQ has failed")                                                       \
	X(WQ_CATAS_ERROR, 0x05, "a queue has failed")                                              \
	X(PATH_MIG_FAILED, 0x07, "the other path does not work")                                   \
	X(PORT_CHANGE, 0x09, "a port's state")                                                     \
	X(WQ_INVAL_REQ_ERROR, 0x10, "an invalid request came")                                     \
	X(WQ_ACCESS_ERROR, 0x11, "a request came that is not allowed")                             \
	X(SRQ_CATAS_ERROR, 0x12, "an SRQ has failed")                                              \
	X(SRQ_LAST_WQE, 0x13, "a queue in error takes no more receives of its SRQ")                \
	X(SRQ_LIMIT, 0x14, "an SRQ has fewer receives than its limit")                             \
	X(XRQ_ERROR, 0x18, "an extended receive queue has failed")                                 \
	X(DCT_DRAINED, 0x1c, "a target is drained")                                                \
	X(DCT_KEY_VIOLATION, 0x1d, "a request came with another access key")

/* Source: device.h MLX5_EVENT_QUEUE_TYPE_* */
#define BSN_EVENT_QUEUES(X)                                                                        \
	X(QP, 0, "a queue pair, or an SRQ")                                                        \
	X(RQ, 1, "a receive queue")                                                                \
	X(SQ, 2, "a send queue")                                                                   \
	X(DCT, 6, "a target")

/* Source: device.h MLX5_PORT_CHANGE_SUBTYPE_* */
#define BSN_PORT_CHANGES(X)                                                                        \
	X(DOWN, 1, "it is down")                                                                   \
	X(ACTIVE, 4, "it is active")

#define BSN_ENUM_EVENT_QUEUE(name, value, doc) BSN_EVENT_QUEUE_##name = value,
enum bsn_event_queue { BSN_EVENT_QUEUES(BSN_ENUM_EVENT_QUEUE) };
#undef BSN_ENUM_EVENT_QUEUE
#define BSN_ENUM_PORT_CHANGE(name, value, doc) BSN_PORT_CHANGE_##name = value,
enum bsn_port_change { BSN_PORT_CHANGES(BSN_ENUM_PORT_CHANGE) };
#undef BSN_ENUM_PORT_CHANGE
#define BSN_ENUM_EVENT(name, value, doc) BSN_EVENT_##name = value,
enum bsn_event_number { BSN_EVENTS(BSN_ENUM_EVENT) };
#undef BSN_ENUM_EVENT
#define BSN_ENUM_ODP_OPERATION(name, value, doc) BSN_ODP_##name = value,
enum bsn_odp_operation { BSN_ODP_OPERATIONS(BSN_ENUM_ODP_OPERATION) };
#undef BSN_ENUM_ODP_OPERATION
#define BSN_ENUM_OBJECT(name, value, doc) BSN_OBJECT_##name = value,
enum bsn_object { BSN_OBJECTS(BSN_ENUM_OBJECT) };
#undef BSN_ENUM_OBJECT
#define BSN_ENUM_CMD(name, value, doc) BSN_CMD_##name = value,
enum bsn_cmd_opcode { BSN_COMMANDS(BSN_ENUM_CMD) };
#undef BSN_ENUM_CMD
#define BSN_ENUM_CAP(name, value, doc) BSN_CAP_##name = value,
enum bsn_cap { BSN_CAPS(BSN_ENUM_CAP) };
#undef BSN_ENUM_CAP
#define BSN_ENUM_ATOMIC_OPERATION(name, value, doc) BSN_ATOMIC_CAN_##name = value,
enum bsn_atomic_operation { BSN_ATOMIC_OPERATIONS(BSN_ENUM_ATOMIC_OPERATION) };
#undef BSN_ENUM_ATOMIC_OPERATION

/* The head of every mailbox: mlx5_ifc.h struct mlx5_ifc_mbox_in_bits, mlx5_ifc_mbox_out_bits */
#define BSN_CMD_IN_SIZE 8
#define BSN_TABLE_CMD_IN(F, Q, Z, I)                                                               \
	F(opcode, 0, 16, 16, "the command")                                                        \
	F(uid, 0, 0, 16, "user context; the kernel sets it")                                       \
	I(1, 16, 16)                                                                               \
	F(op_mod, 1, 0, 16, "its modifier")

BSN_SEG_DEFINE(cmd_in, BSN_CMD_IN_SIZE, BSN_TABLE_CMD_IN)

#define BSN_CMD_OUT_SIZE 8
#define BSN_TABLE_CMD_OUT(F, Q, Z, I)                                                              \
	F(status, 0, 24, 8, "what became of the command")                                          \
	I(0, 0, 24)                                                                                \
	F(syndrome, 1, 0, 32, "why, in the firmware's numbers")

BSN_SEG_DEFINE(cmd_out, BSN_CMD_OUT_SIZE, BSN_TABLE_CMD_OUT)

/*
 * CREATE_MKEY: the head, the mkey's context (struct bsn_mkey_ctx), the size and place of its
 * translations, and these: mlx5_ifc.h struct mlx5_ifc_create_mkey_in_bits; the umem: ib_mlx5_ifc.h
 * and mlx5_prm.h.
 */
#define BSN_CREATE_MKEY_FLAGS_OFFSET 8
#define BSN_CREATE_MKEY_CTX_OFFSET   16
#define BSN_CREATE_MKEY_XLT_OFFSET   96
#define BSN_CREATE_MKEY_LIST_OFFSET  272 /* where translations are */

#define BSN_CREATE_MKEY_FLAGS_SIZE 8
#define BSN_TABLE_CREATE_MKEY_FLAGS(F, Q, Z, I)                                                    \
	I(0, 0, 32)                                                                                \
	F(pg_access, 1, 31, 1, "1: rights are those of each page")                                 \
	F(mkey_umem_valid, 1, 30, 1, "1: the translations are those of a umem")                    \
	I(1, 0, 30)

BSN_SEG_DEFINE(create_mkey_flags, BSN_CREATE_MKEY_FLAGS_SIZE, BSN_TABLE_CREATE_MKEY_FLAGS)

#define BSN_CREATE_MKEY_XLT_SIZE 16
#define BSN_TABLE_CREATE_MKEY_XLT(F, Q, Z, I)                                                      \
	F(octwords, 0, 0, 32, "translations_octword_actual_size: those that follow, / 16 B")       \
	F(mkey_umem_id, 1, 0, 32, "number of the umem")                                            \
	Q(mkey_umem_offset, 2, "where the mkey begins in it, bytes")

BSN_SEG_DEFINE(create_mkey_xlt, BSN_CREATE_MKEY_XLT_SIZE, BSN_TABLE_CREATE_MKEY_XLT)

/*
 * The object that a command creates or names. It is in byte 8 of the answer if the command creates
 * it; in byte 8 of the request if it queries, modifies or destroys it. Source: the kernel's hw/mlx5/devx.c
 * devx_get_created_obj_id()
 */
#define BSN_CMD_OBJECT_OFFSET 8
#define BSN_CMD_OBJECT_SIZE   8
#define BSN_TABLE_CMD_OBJECT(F, Q, Z, I)                                                           \
	F(qpc_ext, 0, 31, 1, "1: of a transition: the context of the QP has an extension")         \
	I(0, 24, 7)                                                                                \
	F(number, 0, 0, 24, "mkey without its variant, cqn, qpn, pdn")                             \
	I(1, 0, 32)

BSN_SEG_DEFINE(cmd_object, BSN_CMD_OBJECT_SIZE, BSN_TABLE_CMD_OBJECT)

#define BSN_CREATED_OUT_SIZE	      16 /* the head, and the object */
#define BSN_MEANING_IN_SIZE	      16 /* the same */
#define BSN_QUERY_MKEY_OUT_CTX_OFFSET 16 /* struct bsn_mkey_ctx */

/*
 * The rings of DevX's queues are in umems. CREATE_CQ has the CQ's context (mlx5_ifc.h struct
 * mlx5_ifc_cqc_bits), then the umem of its ring; CREATE_QP has the same for a QP. The kernel sets the
 * bits "valid" of each umem (hw/mlx5/devx.c devx_set_umem_valid()). Source of the numbers of umems:
 * rdma-core's tests/mlx5_prm_structs.py
 */
#define BSN_CREATE_CQ_CTX_OFFSET  16
#define BSN_CREATE_CQ_RING_OFFSET 80
#define BSN_CREATE_CQ_IN_SIZE     272
#define BSN_CREATE_QP_CTX_OFFSET  24
#define BSN_CREATE_QP_RING_OFFSET 256
#define BSN_CREATE_QP_IN_SIZE     272
#define BSN_MODIFY_QP_IN_SIZE     272
#define BSN_MODIFY_QP_OUT_SIZE    16
#define BSN_QUERY_QP_OUT_SIZE     272

#define BSN_CMD_RING_SIZE 16
#define BSN_TABLE_CMD_RING(F, Q, Z, I)                                                             \
	Q(umem_offset, 0, "where the ring begins in its umem, bytes")                              \
	F(umem_id, 2, 0, 32, "number of the umem")                                                 \
	F(umem_valid, 3, 31, 1, "1: the ring is in a umem")                                        \
	I(3, 0, 31)

BSN_SEG_DEFINE(cmd_ring, BSN_CMD_RING_SIZE, BSN_TABLE_CMD_RING)

#define BSN_CQC_SIZE 64
#define BSN_TABLE_CQC(F, Q, Z, I)                                                                  \
	F(status, 0, 28, 4, "0: it works; 9: overrun; 10: write failure")                          \
	I(0, 26, 2)                                                                                \
	F(dbr_umem_valid, 0, 25, 1, "1: the doorbell record is in a umem")                         \
	I(0, 24, 1)                                                                                \
	F(cqe_sz, 0, 21, 3, "0: CQEs of 64 bytes; 1: of 128; 2: of 64, 128 apart")                 \
	F(cc, 0, 20, 1, "1: all CQEs come to the first place")                                     \
	I(0, 18, 2)                                                                                \
	F(oi, 0, 17, 1, "1: overruns are ignored")                                                 \
	F(cq_period_mode, 0, 15, 2, "what the time of moderation counts from")                     \
	F(cqe_comp_en, 0, 14, 1, "1: CQEs may be compressed")                                      \
	F(mini_cqe_res_format, 0, 12, 2, "form of mini CQEs of receives")                          \
	F(st, 0, 8, 4, "state: 6 armed for solicited, 9 armed, 10 fired")                          \
	I(0, 2, 6)                                                                                 \
	F(cqe_compression_layout, 0, 0, 2, "0: basic; 1: enhanced")                                \
	F(dbr_umem_id, 1, 0, 32, "umem of the doorbell record")                                    \
	I(2, 12, 20)                                                                               \
	F(page_offset, 2, 6, 6, "where the ring begins in its first page, / 64 B")                 \
	I(2, 0, 6)                                                                                 \
	I(3, 29, 3)                                                                                \
	F(log_cq_size, 3, 24, 5, "CQEs, log2")                                                     \
	F(uar_page, 3, 0, 24, "UAR that it is armed through")                                      \
	I(4, 28, 4)                                                                                \
	F(cq_period, 4, 16, 12, "an event so long after the first CQE, us")                        \
	F(cq_max_count, 4, 0, 16, "an event for so many CQEs")                                     \
	F(c_eqn_or_apu_element, 5, 0, 32, "its event queue")                                       \
	I(6, 29, 3)                                                                                \
	F(log_page_size, 6, 24, 5, "pages of the ring, log2 of 4 KB")                              \
	I(6, 0, 24)                                                                                \
	I(7, 0, 32)                                                                                \
	I(8, 24, 8)                                                                                \
	F(last_notified_index, 8, 0, 24, "producer index of the last event")                       \
	I(9, 24, 8)                                                                                \
	F(last_solicit_index, 9, 0, 24, "producer index of the last solicited CQE")                \
	I(10, 24, 8)                                                                               \
	F(consumer_counter, 10, 0, 24, "consumer index")                                           \
	I(11, 24, 8)                                                                               \
	F(producer_counter, 11, 0, 24, "producer index")                                           \
	I(12, 0, 32)                                                                               \
	I(13, 0, 32)                                                                               \
	Q(dbr_addr, 14, "where the doorbell record begins in its umem, bytes")

BSN_SEG_DEFINE(cqc, BSN_CQC_SIZE, BSN_TABLE_CQC)

/* MODIFY_CQ has the context of CREATE_CQ. Byte 12 says which fields change: MLX5_CQ_MODIFY_* */
#define BSN_MODIFY_CQ_SELECT_OFFSET 12
#define BSN_QUERY_CQ_OUT_SIZE	    80
#define BSN_CQ_CHANGES(X)                                                                          \
	X(PERIOD, 1 << 0, "cq_period")                                                             \
	X(COUNT, 1 << 1, "cq_max_count")                                                           \
	X(OVERRUN, 1 << 2, "oi")

#define BSN_ENUM_CQ_CHANGE(name, value, doc) BSN_CQ_CHANGE_##name = value,
enum bsn_cq_change { BSN_CQ_CHANGES(BSN_ENUM_CQ_CHANGE) };
#undef BSN_ENUM_CQ_CHANGE

#define BSN_CMD_SELECT_SIZE 4
#define BSN_TABLE_CMD_SELECT(F, Q, Z, I)                                                           \
	F(modify_field_select, 0, 0, 32, "bits of enum bsn_cq_change")

BSN_SEG_DEFINE(cmd_select, BSN_CMD_SELECT_SIZE, BSN_TABLE_CMD_SELECT)

/*
 * CREATE_RMP: a shared receive queue. Its context is at byte 32 (mlx5_ifc.h struct
 * mlx5_ifc_rmpc_bits); at byte 48 of that is its ring (struct mlx5_ifc_wq_bits; umems:
 * ib_mlx5_ifc.h).
 */
#define BSN_CREATE_RMP_CTX_OFFSET 32
#define BSN_CREATE_RMP_IN_SIZE	  272
#define BSN_QUERY_RMP_OUT_SIZE	  272
#define BSN_RMPC_WQ_OFFSET	  48

#define BSN_RMPC_SIZE 8
#define BSN_TABLE_RMPC(F, Q, Z, I)                                                                 \
	I(0, 24, 8)                                                                                \
	F(state, 0, 20, 4, "0: reset; 1: ready; 3: in error")                                      \
	I(0, 0, 20)                                                                                \
	F(basic_cyclic_rcv_wqe, 1, 31, 1, "1: receives without a link, in a cyclic ring")          \
	I(1, 0, 31)

BSN_SEG_DEFINE(rmpc, BSN_RMPC_SIZE, BSN_TABLE_RMPC)

/*
 * MODIFY_RMP: from byte 8 what changes, then the context of CREATE_RMP: mlx5_ifc.h struct
 * mlx5_ifc_modify_rmp_in_bits, mlx5_ifc_rmp_bitmask_bits
 */
#define BSN_RMP_SELECT_SIZE 16
#define BSN_TABLE_RMP_SELECT(F, Q, Z, I)                                                           \
	F(rmp_state, 0, 28, 4, "the state that it is in")                                          \
	I(0, 24, 4)                                                                                \
	F(rmpn, 0, 0, 24, "the RMP")                                                               \
	I(1, 0, 32)                                                                                \
	I(2, 0, 32)                                                                                \
	I(3, 1, 31)                                                                                \
	F(lwm, 3, 0, 1, "1: its limit changes")

BSN_SEG_DEFINE(rmp_select, BSN_RMP_SELECT_SIZE, BSN_TABLE_RMP_SELECT)

/* wq_type: mlx5_ifc.h MLX5_WQ_TYPE_* */
#define BSN_WQ_TYPES(X)                                                                            \
	X(LINKED, 0, "each receive names the next")                                                \
	X(CYCLIC, 1, "a ring")                                                                     \
	X(LINKED_STRIDING, 2, "linked, of strides")                                                \
	X(CYCLIC_STRIDING, 3, "a ring, of strides")

#define BSN_ENUM_WQ_TYPE(name, value, doc) BSN_WQ_##name = value,
enum bsn_wq_type { BSN_WQ_TYPES(BSN_ENUM_WQ_TYPE) };
#undef BSN_ENUM_WQ_TYPE

#define BSN_CMD_WQ_SIZE 48
#define BSN_TABLE_CMD_WQ(F, Q, Z, I)                                                               \
	F(wq_type, 0, 28, 4, "of enum bsn_wq_type")                                                \
	F(wq_signature, 0, 27, 1, "1: WQEs are signed")                                            \
	F(end_padding_mode, 0, 25, 2, "1: the end of a write is padded to a cache line")           \
	F(cd_slave, 0, 24, 1, "1: receives are let go by another queue")                           \
	I(0, 0, 24)                                                                                \
	I(1, 21, 11)                                                                               \
	F(page_offset, 1, 16, 5, "where the ring begins in its first page, / 64 B")                \
	F(lwm, 1, 0, 16, "an event when fewer receives are left; 0: none")                         \
	I(2, 24, 8)                                                                                \
	F(pd, 2, 0, 24, "protection domain")                                                       \
	I(3, 24, 8)                                                                                \
	F(uar_page, 3, 0, 24, "UAR, of queues that are rung")                                      \
	Q(dbr_addr, 4, "where the doorbell record begins in its umem, bytes")                      \
	F(hw_counter, 6, 0, 32, "receives that the device has taken")                              \
	F(sw_counter, 7, 0, 32, "receives that were posted")                                       \
	I(8, 20, 12)                                                                               \
	F(log_wq_stride, 8, 16, 4, "bytes of a WQE, log2")                                         \
	I(8, 13, 3)                                                                                \
	F(log_wq_pg_sz, 8, 8, 5, "pages of the ring, log2 of 4 KB")                                \
	I(8, 5, 3)                                                                                 \
	F(log_wq_sz, 8, 0, 5, "WQEs, log2")                                                        \
	F(dbr_umem_valid, 9, 31, 1, "1: the doorbell record is in a umem")                         \
	F(wq_umem_valid, 9, 30, 1, "1: the ring is in a umem")                                     \
	I(9, 12, 18)                                                                               \
	F(log_wqe_num_of_strides, 9, 8, 4, "of striding: strides of a WQE, log2 of 512")           \
	I(9, 3, 5)                                                                                 \
	F(log_wqe_stride_size, 9, 0, 3, "of striding: bytes of one, log2 of 64")                   \
	F(dbr_umem_id, 10, 0, 32, "umem of the doorbell record")                                   \
	F(wq_umem_id, 11, 0, 32, "umem of the ring")

BSN_SEG_DEFINE(cmd_wq, BSN_CMD_WQ_SIZE, BSN_TABLE_CMD_WQ)

/*
 * CREATE_DCT, from byte 16, and the answer of QUERY_DCT: mlx5_ifc.h struct mlx5_ifc_dctc_bits, and
 * offload_type and force_full_handshake of ib_mlx5_ifc.h.
 */
#define BSN_CREATE_DCT_CTX_OFFSET 16
#define BSN_CREATE_DCT_IN_SIZE	  128
#define BSN_QUERY_DCT_OUT_SIZE	  80

#define BSN_DCTC_SIZE 64
#define BSN_TABLE_DCTC(F, Q, Z, I)                                                                 \
	I(0, 28, 4)                                                                                \
	F(state, 0, 24, 4, "0: it works; 1: it is drained")                                        \
	I(0, 8, 16)                                                                                \
	F(offload_type, 0, 4, 4, "what the device does for an upper protocol")                     \
	I(0, 0, 4)                                                                                 \
	I(1, 24, 8)                                                                                \
	F(user_index, 1, 0, 24, "what CQEs of version 1 carry")                                    \
	I(2, 24, 8)                                                                                \
	F(cqn, 2, 0, 24, "CQ of its receives")                                                     \
	F(counter_set_id, 3, 24, 8, "its set of counters")                                         \
	F(atomic_mode, 3, 20, 4, "0: no atomics; 1: as IBA has them")                              \
	F(rre, 3, 19, 1, "1: peers may read")                                                      \
	F(rwe, 3, 18, 1, "1: peers may write")                                                     \
	F(rae, 3, 17, 1, "1: peers may do atomics")                                                \
	F(atomic_like_write_en, 3, 16, 1, "1: writes of 8 bytes are atomic")                       \
	F(latency_sensitive, 3, 15, 1, "1: for short messages")                                    \
	F(rlky, 3, 14, 1, "1: the reserved lkey may be used")                                      \
	F(force_full_handshake, 3, 13, 1, "1: the connecting side does a full handshake")          \
	I(3, 0, 13)                                                                                \
	I(4, 24, 8)                                                                                \
	F(cs_res, 4, 16, 8, "messages inside CQEs: 2 of 128 bytes")                                \
	I(4, 13, 3)                                                                                \
	F(min_rnr_nak, 4, 8, 5, "how long a peer waits for a receive")                             \
	I(4, 0, 8)                                                                                 \
	I(5, 24, 8)                                                                                \
	F(srqn_xrqn, 5, 0, 24, "number of the SRQ")                                                \
	I(6, 24, 8)                                                                                \
	F(pd, 6, 0, 24, "protection domain")                                                       \
	F(tclass, 7, 24, 8, "traffic class")                                                       \
	I(7, 20, 4)                                                                                \
	F(flow_label, 7, 0, 20, "flow label")                                                      \
	Q(dc_access_key, 8, "access key")                                                          \
	I(10, 27, 5)                                                                               \
	F(mtu, 10, 24, 3, "of the path: 1 is 256 bytes, and each more doubles it")                 \
	F(port, 10, 16, 8, "its port, from 1")                                                     \
	F(pkey_index, 10, 0, 16, "place of the P_Key")                                             \
	I(11, 24, 8)                                                                               \
	F(my_addr_index, 11, 16, 8, "place of its own GID")                                        \
	I(11, 8, 8)                                                                                \
	F(hop_limit, 11, 0, 8, "hops; TTL")                                                        \
	F(dc_access_key_violation_count, 12, 0, 32, "requests with another key")                   \
	I(13, 12, 20)                                                                              \
	F(dei_cfi, 13, 11, 1, "drop eligible, in the VLAN's tag")                                  \
	F(eth_prio, 13, 8, 3, "priority, in the VLAN's tag")                                       \
	F(ecn, 13, 6, 2, "congestion notification")                                                \
	F(dscp, 13, 0, 6, "differentiated services")                                               \
	I(14, 0, 32)                                                                               \
	F(ece, 15, 0, 32, "enhanced connection establishment")

BSN_SEG_DEFINE(dctc, BSN_DCTC_SIZE, BSN_TABLE_DCTC)

/* Types of service in qpc.st that softcx knows: mlx5_ifc.h MLX5_QPC_ST_* */
#define BSN_QPC_SERVICES(X)                                                                        \
	X(RC, 0, "reliable connection")                                                            \
	X(DCI, 5, "DC initiator")

#define BSN_ENUM_QPC_SERVICE(name, value, doc) BSN_QPC_ST_##name = value,
enum bsn_qpc_service { BSN_QPC_SERVICES(BSN_ENUM_QPC_SERVICE) };
#undef BSN_ENUM_QPC_SERVICE

/* A QP's context by parts, without its alternate path: mlx5_ifc.h struct mlx5_ifc_qpc_bits */
#define BSN_QPC_SIZE	      232
#define BSN_QPC_ADS_OFFSET    24
#define BSN_QPC_WORK_OFFSET   112
#define BSN_QPC_RECORD_OFFSET 176

#define BSN_QPC_SHAPE_SIZE 24
#define BSN_TABLE_QPC_SHAPE(F, Q, Z, I)                                                            \
	F(state, 0, 28, 4, "of enum bsn_qpc_state")                                                \
	F(lag_tx_port_affinity, 0, 24, 4, "port of a bond that sends")                             \
	F(st, 0, 16, 8, "service: 0 RC, 1 UC, 2 UD, 5 DCI")                                        \
	I(0, 13, 3)                                                                                \
	F(pm_state, 0, 11, 2, "path migration: 3 migrated, 0 armed, 1 rearm")                      \
	F(rdma_wr_disabled, 0, 10, 1, "1: of a DCI: it sends no RDMA WRITEs")                      \
	F(req_e2e_credit_mode, 0, 8, 2, "end-to-end credits")                                      \
	F(offload_type, 0, 4, 4, "what the device does for an upper protocol")                     \
	F(end_padding_mode, 0, 2, 2, "1: the end of a write is padded to a cache line")            \
	I(0, 0, 2)                                                                                 \
	F(wq_signature, 1, 31, 1, "1: WQEs are signed")                                            \
	F(block_lb_mc, 1, 30, 1, "1: its own multicast does not come back")                        \
	F(atomic_like_write_en, 1, 29, 1, "1: writes of 8 bytes are atomic")                       \
	F(latency_sensitive, 1, 28, 1, "1: for short messages")                                    \
	I(1, 24, 4)                                                                                \
	F(pd, 1, 0, 24, "protection domain")                                                       \
	F(mtu, 2, 29, 3, "of the path: 1 is 256 bytes, and each more doubles it")                  \
	F(log_msg_max, 2, 24, 5, "bytes of a message, log2")                                       \
	I(2, 23, 1)                                                                                \
	F(log_rq_size, 2, 19, 4, "WQEs of the receive queue, log2")                                \
	F(log_rq_stride, 2, 16, 3, "bytes of each, log2 of 16 B")                                  \
	F(no_sq, 2, 15, 1, "1: there is no send queue")                                            \
	F(log_sq_size, 2, 11, 4, "basic blocks of the send queue, log2")                           \
	I(2, 8, 3)                                                                                 \
	F(ts_format, 2, 6, 2, "timestamps: 0 the clock, 1 the default, 2 real time")               \
	I(2, 5, 1)                                                                                 \
	F(rlky, 2, 4, 1, "1: the reserved lkey may be used")                                       \
	F(ulp_stateless_offload_mode, 2, 0, 4, "what the device does without state")               \
	F(counter_set_id, 3, 24, 8, "its set of counters")                                         \
	F(uar_page, 3, 0, 24, "UAR that it is rung through")                                       \
	I(4, 29, 3)                                                                                \
	F(full_handshake, 4, 28, 1, "1: a DCI connects by a full handshake")                       \
	F(cnak_reverse_sl, 4, 24, 4, "service level of refused connections")                       \
	F(user_index, 4, 0, 24, "what CQEs of version 1 carry")                                    \
	I(5, 29, 3)                                                                                \
	F(log_page_size, 5, 24, 5, "pages of the rings, log2 of 4 KB")                             \
	F(remote_qpn, 5, 0, 24, "the other end")

BSN_SEG_DEFINE(qpc_shape, BSN_QPC_SHAPE_SIZE, BSN_TABLE_QPC_SHAPE)

/* Address vector: mlx5_ifc.h struct mlx5_ifc_ads_bits */
#define BSN_ADS_SIZE 44
#define BSN_TABLE_ADS(F, Q, Z, I)                                                                  \
	F(fl, 0, 31, 1, "1: it loops back")                                                        \
	F(free_ar, 0, 30, 1, "1: packets may take any way")                                        \
	I(0, 16, 14)                                                                               \
	F(pkey_index, 0, 0, 16, "place of the P_Key")                                              \
	I(1, 24, 8)                                                                                \
	F(grh, 1, 23, 1, "1: with a global header; RoCE always has one")                           \
	F(mlid, 1, 16, 7, "low bits of its own LID")                                               \
	F(rlid, 1, 0, 16, "LID of the other end")                                                  \
	F(ack_timeout, 2, 27, 5, "4.096 us << this; 0: for ever")                                  \
	I(2, 24, 3)                                                                                \
	F(src_addr_index, 2, 16, 8, "place of its own GID")                                        \
	I(2, 12, 4)                                                                                \
	F(stat_rate, 2, 8, 4, "static rate")                                                       \
	F(hop_limit, 2, 0, 8, "hops; TTL")                                                         \
	I(3, 28, 4)                                                                                \
	F(tclass, 3, 20, 8, "traffic class")                                                       \
	F(flow_label, 3, 0, 20, "flow label")                                                      \
	Q(rgid_hi, 4, "GID of the other end, first half")                                          \
	Q(rgid_lo, 6, "GID of the other end, second half")                                         \
	I(8, 28, 4)                                                                                \
	F(f_dscp, 8, 27, 1, "1: dscp counts")                                                      \
	F(f_ecn, 8, 26, 1, "1: ecn counts")                                                        \
	I(8, 25, 1)                                                                                \
	F(f_eth_prio, 8, 24, 1, "1: eth_prio counts")                                              \
	F(ecn, 8, 22, 2, "congestion notification")                                                \
	F(dscp, 8, 16, 6, "differentiated services")                                               \
	F(udp_sport, 8, 0, 16, "UDP source port of RoCE v2")                                       \
	F(dei_cfi, 9, 31, 1, "drop eligible, in the VLAN's tag")                                   \
	F(eth_prio, 9, 28, 3, "priority, in the VLAN's tag")                                       \
	F(sl, 9, 24, 4, "service level")                                                           \
	F(vhca_port_num, 9, 16, 8, "its own port, from 1")                                         \
	F(rmac_47_32, 9, 0, 16, "MAC of the other end, first two bytes")                           \
	F(rmac_31_0, 10, 0, 32, "MAC of the other end, the rest")

BSN_SEG_DEFINE(ads, BSN_ADS_SIZE, BSN_TABLE_ADS)

#define BSN_QPC_WORK_SIZE 64
#define BSN_TABLE_QPC_WORK(F, Q, Z, I)                                                             \
	F(log_ack_req_freq, 0, 28, 4, "packets between requests for an acknowledge, log2")         \
	I(0, 24, 4)                                                                                \
	F(log_sra_max, 0, 21, 3, "READs and atomics that it has outstanding, log2")                \
	I(0, 19, 2)                                                                                \
	F(retry_count, 0, 16, 3, "retries when nobody answers")                                    \
	F(rnr_retry, 0, 13, 3, "retries when no receive is posted; 7: for ever")                   \
	I(0, 12, 1)                                                                                \
	F(fre, 0, 11, 1, "1: fast registration")                                                   \
	F(cur_rnr_retry, 0, 8, 3, "of rnr_retry, left")                                            \
	F(cur_retry_count, 0, 5, 3, "of retry_count, left")                                        \
	I(0, 0, 5)                                                                                 \
	I(1, 0, 32)                                                                                \
	I(2, 24, 8)                                                                                \
	F(next_send_psn, 2, 0, 24, "PSN of the next request")                                      \
	I(3, 29, 3)                                                                                \
	F(log_num_dci_stream_channels, 3, 24, 5, "streams of a DCI, log2")                         \
	F(cqn_snd, 3, 0, 24, "CQ of the send queue")                                               \
	I(4, 29, 3)                                                                                \
	F(log_num_dci_errored_streams, 4, 24, 5, "streams that may fail, log2")                    \
	F(deth_sqpn, 4, 0, 24, "QPN that its datagrams name")                                      \
	I(5, 0, 32)                                                                                \
	I(6, 24, 8)                                                                                \
	F(last_acked_psn, 6, 0, 24, "PSN of the last request that was acknowledged")               \
	I(7, 24, 8)                                                                                \
	F(ssn, 7, 0, 24, "sequence number of messages")                                            \
	I(8, 24, 8)                                                                                \
	F(log_rra_max, 8, 21, 3, "READs and atomics that it serves at once, log2")                 \
	I(8, 20, 1)                                                                                \
	F(atomic_mode, 8, 16, 4, "0: no atomics; 1: as IBA has them")                              \
	F(rre, 8, 15, 1, "1: peers may read")                                                      \
	F(rwe, 8, 14, 1, "1: peers may write")                                                     \
	F(rae, 8, 13, 1, "1: peers may do atomics")                                                \
	I(8, 12, 1)                                                                                \
	F(page_offset, 8, 6, 6, "where the rings begin in their first page, / 64 B")               \
	I(8, 3, 3)                                                                                 \
	F(cd_slave_receive, 8, 2, 1, "1: receives are let go by another queue")                    \
	F(cd_slave_send, 8, 1, 1, "1: requests are let go by another queue")                       \
	F(cd_master, 8, 0, 1, "1: it lets others go")                                              \
	I(9, 29, 3)                                                                                \
	F(min_rnr_nak, 9, 24, 5, "how long a peer waits for a receive")                            \
	F(next_rcv_psn, 9, 0, 24, "PSN of the next request that comes")                            \
	I(10, 24, 8)                                                                               \
	F(xrcd, 10, 0, 24, "XRC domain")                                                           \
	I(11, 24, 8)                                                                               \
	F(cqn_rcv, 11, 0, 24, "CQ of the receive queue")                                           \
	Q(dbr_addr, 12, "where the doorbell record begins in its umem, bytes")                     \
	F(q_key, 14, 0, 32, "Q_Key")                                                               \
	I(15, 27, 5)                                                                               \
	F(rq_type, 15, 24, 3, "receive queue: 0 its own, 1 an SRQ, 3 none")                        \
	F(srqn_rmpn_xrqn, 15, 0, 24, "number of the SRQ")

BSN_SEG_DEFINE(qpc_work, BSN_QPC_WORK_SIZE, BSN_TABLE_QPC_WORK)

#define BSN_QPC_RECORD_SIZE 56
#define BSN_TABLE_QPC_RECORD(F, Q, Z, I)                                                           \
	I(0, 24, 8)                                                                                \
	F(rmsn, 0, 0, 24, "sequence number of messages that came")                                 \
	F(hw_sq_wqebb_counter, 1, 16, 16, "basic blocks that the device has executed")             \
	F(sw_sq_wqebb_counter, 1, 0, 16, "basic blocks that were posted")                          \
	F(hw_rq_counter, 2, 0, 32, "receives that the device has taken")                           \
	F(sw_rq_counter, 3, 0, 32, "receives that were posted")                                    \
	I(4, 0, 32)                                                                                \
	I(5, 17, 15)                                                                               \
	F(cgs, 5, 16, 1, "1: with a scatter list of its own")                                      \
	F(cs_req, 5, 8, 8, "data of READs inside CQEs: 0x11 of 64 bytes, 0x22 of 128")             \
	F(cs_res, 5, 0, 8, "messages inside CQEs: 1 of 64 bytes, 2 of 128")                        \
	Q(dc_access_key, 6, "access key of a DC target")                                           \
	I(8, 29, 3)                                                                                \
	F(dbr_umem_valid, 8, 28, 1, "1: the doorbell record is in a umem")                         \
	I(8, 0, 28)                                                                                \
	I(9, 0, 32)                                                                                \
	I(10, 0, 32)                                                                               \
	I(11, 0, 32)                                                                               \
	I(12, 0, 32)                                                                               \
	F(dbr_umem_id, 13, 0, 32, "umem of the doorbell record")

BSN_SEG_DEFINE(qpc_record, BSN_QPC_RECORD_SIZE, BSN_TABLE_QPC_RECORD)

/* States of a QP's context: mlx5_ifc.h MLX5_QPC_STATE_*, MLX5_QP_STATE_* of qp.h */
#define BSN_QPC_STATES(X)                                                                          \
	X(RST, 0, "RESET")                                                                         \
	X(INIT, 1, "INIT")                                                                         \
	X(RTR, 2, "RTR")                                                                           \
	X(RTS, 3, "RTS")                                                                           \
	X(SQER, 4, "the send queue has failed")                                                    \
	X(SQD, 5, "the send queue is drained")                                                     \
	X(ERR, 6, "ERR")

/* Optional parameters of a transition: the kernel's qp.h enum mlx5_qp_optpar */
#define BSN_QP_OPTIONS(X)                                                                          \
	X(RRE, 1 << 1, "peers may read")                                                           \
	X(RAE, 1 << 2, "peers may do atomics")                                                     \
	X(RWE, 1 << 3, "peers may write")                                                          \
	X(PKEY_INDEX, 1 << 4, "place of the P_Key")                                                \
	X(RNR_TIMEOUT, 1 << 6, "how long a peer waits for a receive")                              \
	X(PM_STATE, 1 << 10, "path migration")                                                     \
	X(LAG_TX_AFFINITY, 1 << 15, "port of a bond that sends")

#define BSN_ENUM_QPC_STATE(name, value, doc) BSN_QPC_##name = value,
enum bsn_qpc_state { BSN_QPC_STATES(BSN_ENUM_QPC_STATE) };
#undef BSN_ENUM_QPC_STATE
#define BSN_ENUM_QP_OPTION(name, value, doc) BSN_QP_OPTION_##name = value,
enum bsn_qp_option { BSN_QP_OPTIONS(BSN_ENUM_QP_OPTION) };
#undef BSN_ENUM_QP_OPTION

/* A transition: the QP in byte 8, optional parameters in byte 16, then the context of CREATE_QP */
#define BSN_MODIFY_QP_OPTIONS_OFFSET 16
#define BSN_CMD_OPTIONS_SIZE         8
#define BSN_TABLE_CMD_OPTIONS(F, Q, Z, I)                                                          \
	F(opt_param_mask, 0, 0, 32, "bits of enum bsn_qp_option")                                  \
	F(ece, 1, 0, 32, "enhanced connection establishment")

BSN_SEG_DEFINE(cmd_options, BSN_CMD_OPTIONS_SIZE, BSN_TABLE_CMD_OPTIONS)

/*
 * The extension of a context, in a transition with qpc_ext: which fields change, and the fields.
 * Source: rdma-core's mlx5_ifc.h struct mlx5_ifc_qpc_ext_bits, enum mlx5_qpc_opt_mask_32
 */
#define BSN_MODIFY_QP_EXT_OFFSET  264
#define BSN_MODIFY_QP_EXT_IN_SIZE 464
#define BSN_QP_EXT_OPTIONS(X)                                                                      \
	X(DCI_STREAM_CHANNEL_ID, 1 << 0, "a stream that has failed works again")                   \
	X(QOS_QUEUE_GROUP_ID, 1 << 1, "groups of the quality of service")                          \
	X(UDP_SPORT, 1 << 2, "UDP source port")                                                    \
	X(MMO, 1 << 3, "whether it copies memory")

#define BSN_ENUM_QP_EXT_OPTION(name, value, doc) BSN_QP_EXT_OPTION_##name = value,
enum bsn_qp_ext_option { BSN_QP_EXT_OPTIONS(BSN_ENUM_QP_EXT_OPTION) };
#undef BSN_ENUM_QP_EXT_OPTION

#define BSN_QPC_EXT_SIZE 24
#define BSN_TABLE_QPC_EXT(F, Q, Z, I)                                                              \
	Q(opt_param_mask_95_32, 0, "bits of enum bsn_qp_ext_option")                               \
	I(2, 30, 2)                                                                                \
	F(mmo, 2, 29, 1, "1: it copies memory")                                                    \
	I(2, 16, 13)                                                                               \
	F(dci_stream_channel_id, 2, 0, 16, "stream of a DCI")                                      \
	F(qos_queue_group_id_requester, 3, 0, 32, "group of its requests")                         \
	F(qos_queue_group_id_responder, 4, 0, 32, "group of its answers")                          \
	I(5, 0, 32)

BSN_SEG_DEFINE(qpc_ext, BSN_QPC_EXT_SIZE, BSN_TABLE_QPC_EXT)

/*
 * QUERY_HCA_VPORT_CONTEXT: the port; the answer has the head, 8 bytes, and what the subnet knows of
 * it: mlx5_ifc.h struct mlx5_ifc_hca_vport_context_bits, of which the first 128 bytes are used
 */
#define BSN_QUERY_VPORT_CTX_OFFSET   16
#define BSN_QUERY_VPORT_OUT_SIZE     528
#define BSN_VPORT_ADDRESS_OFFSET     64

#define BSN_CMD_VPORT_SIZE 8
#define BSN_TABLE_CMD_VPORT(F, Q, Z, I)                                                            \
	F(other_vport, 0, 31, 1, "1: of another function")                                         \
	I(0, 20, 11)                                                                               \
	F(port_num, 0, 16, 4, "the port; 0 where there is one")                                    \
	F(vport_number, 0, 0, 16, "which function")                                                \
	I(1, 0, 32)

BSN_SEG_DEFINE(cmd_vport, BSN_CMD_VPORT_SIZE, BSN_TABLE_CMD_VPORT)

#define BSN_VPORT_STATE_SIZE 64
#define BSN_TABLE_VPORT_STATE(F, Q, Z, I)                                                          \
	F(field_select, 0, 0, 32, "what a command is to change")                                   \
	I(1, 0, 32)                                                                                \
	I(2, 0, 32)                                                                                \
	I(3, 0, 32)                                                                                \
	I(4, 0, 32)                                                                                \
	I(5, 0, 32)                                                                                \
	I(6, 0, 32)                                                                                \
	I(7, 0, 32)                                                                                \
	F(sm_virt_aware, 8, 31, 1, "1: the subnet manager knows of functions")                     \
	F(has_smi, 8, 30, 1, "1: it has the subnet management interface")                          \
	F(has_raw, 8, 29, 1, "1: it has raw queues")                                               \
	F(grh_required, 8, 28, 1, "1: packets need a global header")                               \
	I(8, 16, 12)                                                                               \
	F(port_physical_state, 8, 12, 4, "IBA PortInfo: 5 LinkUp, 3 Disabled")                     \
	F(vport_state_policy, 8, 8, 4, "0: the function's state follows its policy")               \
	F(port_state, 8, 4, 4, "IBA PortInfo: 1 down, 4 active")                                   \
	F(vport_state, 8, 0, 4, "the same of the function")                                        \
	I(9, 0, 32)                                                                                \
	Q(system_image_guid, 10, "GUID of the system")                                             \
	Q(port_guid, 12, "GUID of the port")                                                       \
	Q(node_guid, 14, "GUID of the node")

BSN_SEG_DEFINE(vport_state, BSN_VPORT_STATE_SIZE, BSN_TABLE_VPORT_STATE)

#define BSN_VPORT_ADDRESS_SIZE 48
#define BSN_TABLE_VPORT_ADDRESS(F, Q, Z, I)                                                        \
	F(cap_mask1, 0, 0, 32, "IBA PortInfo CapabilityMask")                                      \
	F(cap_mask1_field_select, 1, 0, 32, "which of its bits a command is to change")            \
	F(cap_mask2, 2, 0, 32, "IBA PortInfo CapabilityMask2")                                     \
	F(cap_mask2_field_select, 3, 0, 32, "which of its bits a command is to change")            \
	I(4, 0, 32)                                                                                \
	I(5, 0, 32)                                                                                \
	I(6, 0, 32)                                                                                \
	I(7, 0, 32)                                                                                \
	F(lid, 8, 16, 16, "LID")                                                                   \
	I(8, 12, 4)                                                                                \
	F(init_type_reply, 8, 8, 4, "IBA PortInfo InitTypeReply")                                  \
	F(lmc, 8, 5, 3, "low bits of LIDs that are its own")                                       \
	F(subnet_timeout, 8, 0, 5, "4.096 us << this")                                             \
	F(sm_lid, 9, 16, 16, "LID of the subnet manager")                                          \
	F(sm_sl, 9, 12, 4, "service level to it")                                                  \
	I(9, 0, 12)                                                                                \
	F(qkey_violation_counter, 10, 16, 16, "packets of a wrong Q_Key")                          \
	F(pkey_violation_counter, 10, 0, 16, "packets of a wrong P_Key")                           \
	I(11, 0, 32)

BSN_SEG_DEFINE(vport_address, BSN_VPORT_ADDRESS_SIZE, BSN_TABLE_VPORT_ADDRESS)

/* QUERY_LAG: struct mlx5_ifc_query_lag_out_bits, mlx5_ifc_lagc_bits */
#define BSN_QUERY_LAG_OUT_OFFSET 8
#define BSN_LAG_SIZE             8
#define BSN_TABLE_LAG(F, Q, Z, I)                                                                  \
	I(0, 3, 29)                                                                                \
	F(state, 0, 0, 3, "0: ports are not bonded")                                               \
	I(1, 12, 20)                                                                               \
	F(tx_remap_affinity_2, 1, 8, 4, "port that sends what is meant for the second")            \
	I(1, 4, 4)                                                                                 \
	F(tx_remap_affinity_1, 1, 0, 4, "port that sends what is meant for the first")

BSN_SEG_DEFINE(lag, BSN_LAG_SIZE, BSN_TABLE_LAG)

/*
 * QUERY_HCA_CAP: op_mod is group << 1, with bit 0: 1 what is in force, 0 what the device could do.
 * The answer is the head, 8 bytes, and the capabilities: of the device struct
 * mlx5_ifc_cmd_hca_cap_bits, by quarters.
 */
#define BSN_CAP_CURRENT        1
#define BSN_CAP_OFFSET         16
#define BSN_CAP_BYTES          4096
#define BSN_CAP_GEN_0_OFFSET   0
#define BSN_CAP_GEN_1_OFFSET   64
#define BSN_CAP_GEN_2_OFFSET   128
#define BSN_CAP_GEN_3_OFFSET   192
#define BSN_CAP_ATOMICS_OFFSET 0

#define BSN_CAP_GEN_0_SIZE 64
#define BSN_TABLE_CAP_GEN_0(F, Q, Z, I)                                                            \
	I(0, 0, 32)                                                                                \
	F(hca_cap_2, 1, 31, 1, "1: the group GENERAL_2 exists")                                    \
	I(1, 16, 15)                                                                               \
	F(vhca_id, 1, 0, 16, "number of this function of the device")                              \
	I(2, 0, 32)                                                                                \
	I(3, 30, 2)                                                                                \
	F(qp_data_in_order, 3, 29, 1, "1: data are written in their order")                        \
	I(3, 21, 8)                                                                                \
	F(log_dma_mmo_max_size, 3, 16, 5, "bytes that an MMO copies, log2; 0: 2^31")               \
	I(3, 0, 16)                                                                                \
	F(log_max_srq_sz, 4, 24, 8, "WQEs of an SRQ, log2")                                        \
	F(log_max_qp_sz, 4, 16, 8, "WQEs of a QP, log2")                                           \
	I(4, 5, 11)                                                                                \
	F(log_max_qp, 4, 0, 5, "QPs, log2")                                                        \
	I(5, 21, 11)                                                                               \
	F(log_max_srq, 5, 16, 5, "SRQs, log2")                                                     \
	I(5, 0, 16)                                                                                \
	I(6, 24, 8)                                                                                \
	F(log_max_cq_sz, 6, 16, 8, "CQEs of a CQ, log2")                                           \
	I(6, 5, 11)                                                                                \
	F(log_max_cq, 6, 0, 5, "CQs, log2")                                                        \
	F(log_max_eq_sz, 7, 24, 8, "events of an event queue, log2")                               \
	F(relaxed_ordering_write, 7, 23, 1, "1: mkeys may relax the order of writes")              \
	I(7, 22, 1)                                                                                \
	F(log_max_mkey, 7, 16, 6, "mkeys, log2")                                                   \
	I(7, 10, 6)                                                                                \
	F(terminate_scatter_list_mkey, 7, 9, 1, "1: a key ends a list of receive pointers")        \
	F(repeated_mkey, 7, 8, 1, "1: repeat blocks")                                              \
	F(dump_fill_mkey, 7, 7, 1, "1: a key that swallows writes and fills reads")                \
	I(7, 4, 3)                                                                                 \
	F(log_max_eq, 7, 0, 4, "event queues, log2")                                               \
	F(max_indirection, 8, 24, 8, "mkeys of KLM or KSM, one over the other")                    \
	F(fixed_buffer_size, 8, 23, 1, "1: mkeys of KSM")                                          \
	F(log_max_mrw_sz, 8, 16, 7, "bytes of an mkey, log2")                                      \
	I(8, 14, 2)                                                                                \
	F(log_max_bsf_list_size, 8, 8, 6, "BSF of an mkey, log2")                                  \
	F(umr_extended_translation_offset, 8, 7, 1, "1: UMR control has offset_47_16")             \
	F(null_mkey, 8, 6, 1, "1: a key of no memory")                                             \
	F(log_max_klm_list_size, 8, 0, 6, "translations of an mkey, log2")                         \
	I(9, 30, 2)                                                                                \
	F(qpc_extension, 9, 29, 1, "1: QPs have an extended context")                              \
	I(9, 22, 7)                                                                                \
	F(log_max_ra_req_dc, 9, 16, 6, "READs and atomics that a DCI has under way, log2")         \
	I(9, 6, 10)                                                                                \
	F(log_max_ra_res_dc, 9, 0, 6, "READs and atomics that a DCT serves at once, log2")         \
	I(10, 25, 7)                                                                               \
	F(sig_crc64_xp10, 10, 24, 1, "1: signatures by CRC64")                                     \
	F(sig_crc32c, 10, 23, 1, "1: signatures by CRC32C")                                        \
	I(10, 22, 1)                                                                               \
	F(log_max_ra_req_qp, 10, 16, 6, "READs and atomics that a QP has under way, log2")         \
	I(10, 15, 1)                                                                               \
	F(rts2rts_qp_udp_sport, 10, 14, 1, "1: the UDP port of a QP may change")                   \
	F(rts2rts_lag_tx_port_affinity, 10, 13, 1, "1: the port of a QP may change")               \
	F(dma_mmo_sq, 10, 12, 1, "1: a QP may copy memory (MMO)")                                  \
	I(10, 6, 6)                                                                                \
	F(log_max_ra_res_qp, 10, 0, 6, "READs and atomics that a QP serves at once, log2")         \
	I(11, 16, 16)                                                                              \
	F(gid_table_size, 11, 0, 16, "GIDs, by a code: 0 is 8, and each more doubles them")        \
	I(12, 16, 16)                                                                              \
	F(pkey_table_size, 12, 0, 16, "P_Keys, by a code: 0 is 128")                               \
	I(13, 21, 11)                                                                              \
	F(local_ca_ack_delay, 13, 16, 5, "as ibv_device_attr has it")                              \
	I(13, 10, 6)                                                                               \
	F(port_type, 13, 8, 2, "0: InfiniBand; 1: Ethernet")                                       \
	F(num_ports, 13, 0, 8, "ports")                                                            \
	I(14, 29, 3)                                                                               \
	F(log_max_msg, 14, 24, 5, "bytes of a message, log2")                                      \
	I(14, 0, 24)                                                                               \
	I(15, 16, 16)                                                                              \
	F(sig_block_4048, 15, 15, 1, "1: blocks of 4048 bytes")                                    \
	I(15, 4, 11)                                                                               \
	F(cqe_version, 15, 0, 4, "newest form of CQEs")

BSN_SEG_DEFINE(cap_gen_0, BSN_CAP_GEN_0_SIZE, BSN_TABLE_CAP_GEN_0)

#define BSN_CAP_GEN_1_SIZE 64
#define BSN_TABLE_CAP_GEN_1(F, Q, Z, I)                                                            \
	F(compact_address_vector, 0, 31, 1, "1: address vectors without the GRH")                  \
	I(0, 27, 4)                                                                                \
	F(ib_striding_wq, 0, 26, 1, "1: striding receive queues on InfiniBand")                    \
	F(repeated_block_disabled, 0, 25, 1, "1: no repeat blocks")                                \
	F(umr_modify_entity_size_disabled, 0, 24, 1, "1: UMR may not change page sizes")           \
	F(umr_modify_atomic_disabled, 0, 23, 1, "1: UMR may not give the right to atomics")        \
	F(umr_indirect_mkey_disabled, 0, 22, 1, "1: UMR may not change mkeys of KLM")              \
	F(umr_fence, 0, 20, 2, "fence for the next use: 0 strong, 1 small, 2 none")                \
	I(0, 11, 9)                                                                                \
	F(sctr_data_cqe, 0, 10, 1, "1: data may come inside the CQE")                              \
	I(0, 9, 1)                                                                                 \
	F(sho, 0, 8, 1, "1: signatures")                                                           \
	I(0, 6, 2)                                                                                 \
	F(dct, 0, 5, 1, "1: DC targets")                                                           \
	F(qos, 0, 4, 1, "1: the group QOS exists")                                                 \
	F(eth_net_offloads, 0, 3, 1, "1: the group ETHERNET exists")                               \
	F(roce, 0, 2, 1, "1: the group ROCE exists")                                               \
	F(atomic, 0, 1, 1, "1: the group ATOMIC exists")                                           \
	F(extended_retry_count, 0, 0, 1, "1: a retry count for each connection")                   \
	F(cq_oi, 1, 31, 1, "1: CQs may ignore overruns")                                           \
	F(cq_resize, 1, 30, 1, "1: CQs can be resized")                                            \
	F(cq_moderation, 1, 29, 1, "1: events of CQs can be moderated")                            \
	I(1, 5, 24)                                                                                \
	F(dc_v2, 1, 4, 1, "1: DC, with streams")                                                   \
	F(xrc, 1, 3, 1, "1: XRC")                                                                  \
	F(ud, 1, 2, 1, "1: UD")                                                                    \
	F(uc, 1, 1, 1, "1: UC")                                                                    \
	F(rc, 1, 0, 1, "1: RC")                                                                    \
	F(uar_4k, 2, 31, 1, "1: UAR pages of 4 KB")                                                \
	I(2, 22, 9)                                                                                \
	F(uar_sz, 2, 16, 6, "size of the UAR window, log2 of MB")                                  \
	I(2, 8, 8)                                                                                 \
	F(log_pg_sz, 2, 0, 8, "smallest page, log2")                                               \
	F(bf, 3, 31, 1, "1: BlueFlame")                                                            \
	I(3, 21, 10)                                                                               \
	F(log_bf_reg_size, 3, 16, 5, "bytes of a BlueFlame register, log2")                        \
	I(3, 8, 8)                                                                                 \
	F(lag_tx_port_affinity, 3, 7, 1, "1: a QP may choose its port")                            \
	I(3, 4, 3)                                                                                 \
	F(num_lag_ports, 3, 0, 4, "ports that are bonded")                                         \
	I(4, 16, 16)                                                                               \
	F(max_wqe_sz_sq, 4, 0, 16, "bytes of a send WQE")                                          \
	I(5, 16, 16)                                                                               \
	F(max_wqe_sz_rq, 5, 0, 16, "bytes of a receive WQE")                                       \
	I(6, 16, 16)                                                                               \
	F(max_wqe_sz_sq_dc, 6, 0, 16, "bytes of a send WQE of a DCI")                              \
	I(7, 0, 32)                                                                                \
	I(8, 0, 32)                                                                                \
	I(9, 21, 11)                                                                               \
	F(log_max_pd, 9, 16, 5, "protection domains, log2")                                        \
	I(9, 5, 11)                                                                                \
	F(log_max_xrcd, 9, 0, 5, "XRC domains, log2")                                              \
	I(10, 0, 32)                                                                               \
	I(11, 0, 32)                                                                               \
	F(basic_cyclic_rcv_wqe, 12, 31, 1, "1: receives of a cyclic SRQ without a link")           \
	I(12, 29, 2)                                                                               \
	F(log_max_rmp, 12, 24, 5, "memory pools of receives, log2")                                \
	I(12, 0, 24)                                                                               \
	I(13, 0, 32)                                                                               \
	I(14, 0, 32)                                                                               \
	I(15, 0, 32)

BSN_SEG_DEFINE(cap_gen_1, BSN_CAP_GEN_1_SIZE, BSN_TABLE_CAP_GEN_1)

#define BSN_CAP_GEN_2_SIZE 64
#define BSN_TABLE_CAP_GEN_2(F, Q, Z, I)                                                            \
	Q(general_obj_types, 0, "kinds of general objects, a bit each")                            \
	I(2, 0, 32)                                                                                \
	I(3, 23, 9)                                                                                \
	F(crypto, 3, 22, 1, "1: the group CRYPTO exists")                                          \
	I(3, 16, 6)                                                                                \
	F(max_num_eqs, 3, 0, 16, "event queues of this function; 0: log_max_eq says")              \
	F(sigerr_domain_and_sig_type, 4, 31, 1, "1: errors of signatures say where, and of what")  \
	I(4, 16, 15)                                                                               \
	F(log_uar_page_sz, 4, 0, 16, "bytes of a UAR page, log2 of 4 KB")                          \
	I(5, 0, 32)                                                                                \
	F(device_frequency_mhz, 6, 0, 32, "of the clock, MHz")                                     \
	F(device_frequency_khz, 7, 0, 32, "of the clock, kHz")                                     \
	I(8, 0, 32)                                                                                \
	F(num_of_uars_per_page, 9, 0, 32, "UARs in a page of the system")                          \
	I(10, 0, 32)                                                                               \
	I(11, 5, 27)                                                                               \
	F(log_max_dct_connections, 11, 0, 5, "connections that DC targets have, log2")             \
	F(log_max_atomic_size_qp, 12, 24, 8, "bytes of an atomic of a QP, log2")                   \
	I(12, 21, 3)                                                                               \
	F(log_max_dci_stream_channels, 12, 16, 5, "streams of a DCI, log2")                        \
	I(12, 13, 3)                                                                               \
	F(log_max_dci_errored_streams, 12, 8, 5, "streams of a DCI that may fail, log2")           \
	F(log_max_atomic_size_dc, 12, 0, 8, "bytes of an atomic of a DCI, log2")                   \
	I(13, 4, 28)                                                                               \
	F(mini_cqe_resp_stride_index, 13, 3, 1, "1: mini CQEs with the stride")                    \
	F(cqe_128_always, 13, 2, 1, "1: CQEs of 128 bytes")                                        \
	F(cqe_compression_128b, 13, 1, 1, "1: compression of those, too")                          \
	F(cqe_compression, 13, 0, 1, "1: compression of CQEs")                                     \
	I(14, 0, 32)                                                                               \
	I(15, 0, 32)

BSN_SEG_DEFINE(cap_gen_2, BSN_CAP_GEN_2_SIZE, BSN_TABLE_CAP_GEN_2)

#define BSN_CAP_GEN_3_SIZE 64
#define BSN_TABLE_CAP_GEN_3(F, Q, Z, I)                                                            \
	I(0, 0, 32)                                                                                \
	I(1, 0, 32)                                                                                \
	I(2, 0, 32)                                                                                \
	I(3, 0, 32)                                                                                \
	F(sf, 4, 31, 1, "1: subfunctions")                                                         \
	I(4, 0, 31)                                                                                \
	I(5, 0, 32)                                                                                \
	I(6, 0, 32)                                                                                \
	I(7, 0, 32)                                                                                \
	I(8, 0, 32)                                                                                \
	I(9, 0, 32)                                                                                \
	I(10, 24, 8)                                                                               \
	F(dma_mmo_qp, 10, 23, 1, "1: an MMO wants a QP that was told so")                          \
	I(10, 0, 23)                                                                               \
	I(11, 0, 32)                                                                               \
	I(12, 0, 32)                                                                               \
	I(13, 0, 32)                                                                               \
	I(14, 0, 32)                                                                               \
	I(15, 0, 32)

BSN_SEG_DEFINE(cap_gen_3, BSN_CAP_GEN_3_SIZE, BSN_TABLE_CAP_GEN_3)

/* Of atomics: mlx5_ifc.h struct mlx5_ifc_atomic_caps_bits */
#define BSN_CAP_ATOMICS_SIZE 32
#define BSN_TABLE_CAP_ATOMICS(F, Q, Z, I)                                                          \
	I(0, 0, 32)                                                                                \
	I(1, 0, 32)                                                                                \
	F(endianness_mode_8b, 2, 30, 2, "1: results of 8 bytes are in the host's order")           \
	I(2, 26, 4)                                                                                \
	F(endianness_mode_1_8b, 2, 25, 1, "1: that mode can be chosen")                            \
	I(2, 0, 25)                                                                                \
	I(3, 0, 32)                                                                                \
	I(4, 16, 16)                                                                               \
	F(operations, 4, 0, 16, "bits of enum bsn_atomic_operation")                               \
	I(5, 16, 16)                                                                               \
	F(size_qp, 5, 0, 16, "sizes of a QP's operands: the sum of their bytes")                   \
	I(6, 16, 16)                                                                               \
	F(size_dc, 6, 0, 16, "sizes of a DCI's operands: the sum of their bytes")                  \
	I(7, 0, 32)

BSN_SEG_DEFINE(cap_atomics, BSN_CAP_ATOMICS_SIZE, BSN_TABLE_CAP_ATOMICS)

/* Of memory on demand: mlx5_ifc.h struct mlx5_ifc_odp_cap_bits */
#define BSN_CAP_ODP_SIZE 40
#define BSN_TABLE_CAP_ODP(F, Q, Z, I)                                                              \
	I(0, 0, 32)                                                                                \
	I(1, 0, 32)                                                                                \
	F(sig, 2, 31, 1, "1: with signatures, too")                                                \
	I(2, 0, 31)                                                                                \
	I(3, 0, 32)                                                                                \
	F(rc, 4, 26, 6, "RC: bits of enum bsn_odp_operation")                                      \
	I(4, 0, 26)                                                                                \
	F(uc, 5, 26, 6, "UC")                                                                      \
	I(5, 0, 26)                                                                                \
	F(ud, 6, 26, 6, "UD")                                                                      \
	I(6, 0, 26)                                                                                \
	F(xrc, 7, 26, 6, "XRC")                                                                    \
	I(7, 0, 26)                                                                                \
	F(dc, 8, 26, 6, "DC")                                                                      \
	I(8, 0, 26)                                                                                \
	I(9, 0, 32)

BSN_SEG_DEFINE(cap_odp, BSN_CAP_ODP_SIZE, BSN_TABLE_CAP_ODP)

/*
 * CREATE_GENERAL_OBJECT: op_mod is the kind (enum bsn_object). After the head comes that of a mapping, then
 * an address vector of UD (struct bsn_av_ud_grh), of which sl, sgid_index and the GID are read: rdma-core's
 * mlx5_ifc.h struct mlx5_ifc_create_av_qp_mapping_in_bits
 */
#define BSN_CREATE_OBJECT_OFFSET   16
#define BSN_CREATE_MAPPING_IN_SIZE 80
#define BSN_CMD_MAPPING_SIZE	   16
#define BSN_TABLE_CMD_MAPPING(F, Q, Z, I)                                                          \
	Q(modify_field_select, 0, "what is modified")                                              \
	I(2, 0, 32)                                                                                \
	F(qpn, 3, 0, 32, "the queue pair")

BSN_SEG_DEFINE(cmd_mapping, BSN_CMD_MAPPING_SIZE, BSN_TABLE_CMD_MAPPING)

/*
 * An entry of an event queue; a program gets it by an event channel of DevX. Source: the kernel's device.h struct
 * mlx5_eqe, mlx5_eqe_qp_srq, mlx5_eqe_cq_err, mlx5_eqe_dct, mlx5_eqe_comp, mlx5_eqe_port_state.
 */
#define BSN_EQE_SIZE 64
#define BSN_TABLE_EQE(F, Q, Z, I)                                                                  \
	I(0, 24, 8)                                                                                \
	F(type, 0, 16, 8, "of enum bsn_event_number")                                              \
	I(0, 8, 8)                                                                                 \
	F(sub_type, 0, 0, 8, "of PORT_CHANGE: enum bsn_port_change")                               \
	I(1, 0, 32)                                                                                \
	I(2, 0, 32)                                                                                \
	I(3, 0, 32)                                                                                \
	I(4, 0, 32)                                                                                \
	I(5, 0, 32)                                                                                \
	I(6, 0, 32)                                                                                \
	I(7, 0, 32)                                                                                \
	I(8, 24, 8)                                                                                \
	F(cq_err_cqn, 8, 0, 24, "of CQ_ERROR: the CQ")                                             \
	I(9, 0, 32)                                                                                \
	F(port, 10, 28, 4, "of PORT_CHANGE: the port")                                             \
	I(10, 8, 20)                                                                               \
	F(cq_err_syndrome, 10, 0, 8, "of CQ_ERROR: 1: overrun")                                    \
	I(11, 0, 32)                                                                               \
	I(12, 0, 32)                                                                               \
	F(queue_type, 13, 24, 8, "of queues: enum bsn_event_queue")                                \
	I(13, 0, 24)                                                                               \
	I(14, 24, 8)                                                                               \
	F(number, 14, 0, 24, "qpn, srqn or dctn; of COMPLETION: the CQ")                           \
	I(15, 1, 31)                                                                               \
	F(owner, 15, 0, 1, "whose turn it is in the event queue")

BSN_SEG_DEFINE(eqe, BSN_EQE_SIZE, BSN_TABLE_EQE)

enum { BSN_CQ_ERROR_OVERRUN = 1 };

/* Every segment above: X(seg, SEG, doc) */
#define BSN_CMD_SEGMENTS(X)                                                                        \
	X(cmd_in, CMD_IN, "head of a command")                                                     \
	X(cmd_out, CMD_OUT, "head of an answer")                                                   \
	X(create_mkey_flags, CREATE_MKEY_FLAGS, "CREATE_MKEY, from byte 8")                        \
	X(create_mkey_xlt, CREATE_MKEY_XLT, "CREATE_MKEY, from byte 96")                           \
	X(cmd_object, CMD_OBJECT, "object of a command, from byte 8")                              \
	X(cmd_ring, CMD_RING, "ring of CREATE_CQ, from byte 80, and of CREATE_QP, from byte 256")  \
	X(cqc, CQC, "context of a CQ: CREATE_CQ, from byte 16")                                    \
	X(cmd_select, CMD_SELECT, "MODIFY_CQ, from byte 12")                                       \
	X(rmpc, RMPC, "CREATE_RMP, from byte 32")                                                  \
	X(rmp_select, RMP_SELECT, "MODIFY_RMP, from byte 8")                                       \
	X(cmd_wq, CMD_WQ, "ring of CREATE_RMP, from byte 80")                                      \
	X(dctc, DCTC, "CREATE_DCT, from byte 16")                                                  \
	X(qpc_shape, QPC_SHAPE, "context of a QP, from byte 0: CREATE_QP, from byte 24")           \
	X(ads, ADS, "path of a QP's context, from byte 24")                                        \
	X(qpc_work, QPC_WORK, "context of a QP, from byte 112")                                    \
	X(qpc_record, QPC_RECORD, "context of a QP, from byte 176")                                \
	X(cmd_options, CMD_OPTIONS, "transition of a QP, from byte 16")                            \
	X(qpc_ext, QPC_EXT, "transition of a QP with qpc_ext, from byte 264")                      \
	X(cmd_vport, CMD_VPORT, "QUERY_HCA_VPORT_CONTEXT, from byte 8")                            \
	X(vport_state, VPORT_STATE, "its answer, from byte 16")                                    \
	X(vport_address, VPORT_ADDRESS, "its answer, from byte 80")                                \
	X(lag, LAG, "answer of QUERY_LAG, from byte 8")                                            \
	X(cap_gen_0, CAP_GEN_0, "capabilities of the device, from byte 0")                         \
	X(cap_gen_1, CAP_GEN_1, "capabilities of the device, from byte 64")                        \
	X(cap_gen_2, CAP_GEN_2, "capabilities of the device, from byte 128")                       \
	X(cap_gen_3, CAP_GEN_3, "capabilities of the device, from byte 192")                       \
	X(cap_odp, CAP_ODP, "capabilities of memory on demand, from byte 0")                       \
	X(cmd_mapping, CMD_MAPPING, "CREATE_GENERAL_OBJECT of a mapping, from byte 16")            \
	X(cap_atomics, CAP_ATOMICS, "capabilities of atomics, from byte 0")                        \
	X(eqe, EQE, "entry of an event queue")

#ifdef __cplusplus
}
#endif
#endif
