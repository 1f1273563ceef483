/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Commands to the firmware, as DevX hands them on: mailboxes, of which a segment describes at most 64
 * bytes, so that a long one has several, each with its offset. What is not described is reserved, or
 * no reader here wants it.
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
	X(CREATE_QP, 0x500, "a queue pair")                                                        \
	X(CREATE_PSV, 0x600, "protection states of signatures")                                    \
	X(CREATE_SRQ, 0x700, "a shared receive queue")                                             \
	X(CREATE_XRC_SRQ, 0x705, "a shared receive queue of XRC")                                  \
	X(CREATE_DCT, 0x710, "a target of dynamically connected transport")                        \
	X(CREATE_XRQ, 0x717, "an extended receive queue")                                          \
	X(QUERY_HCA_VPORT_CONTEXT, 0x762, "state of an InfiniBand port")                           \
	X(QUERY_HCA_VPORT_GID, 0x764, "GIDs of an InfiniBand port")                                \
	X(ALLOC_PD, 0x800, "a protection domain")                                                  \
	X(ACCESS_REG, 0x805, "a register of the device")                                           \
	X(NOP, 0x80d, "nothing")                                                                   \
	X(QUERY_LAG, 0x842, "how ports are bonded")                                                \
	X(CREATE_TIR, 0x900, "a target of received packets")                                       \
	X(CREATE_SQ, 0x904, "a send queue")                                                        \
	X(CREATE_RQ, 0x908, "a receive queue")                                                     \
	X(CREATE_RMP, 0x90c, "a memory pool of receives")                                          \
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

#define BSN_ENUM_CMD(name, value, doc) BSN_CMD_##name = value,
enum bsn_cmd_opcode { BSN_COMMANDS(BSN_ENUM_CMD) };
#undef BSN_ENUM_CMD
#define BSN_ENUM_CAP(name, value, doc) BSN_CAP_##name = value,
enum bsn_cap { BSN_CAPS(BSN_ENUM_CAP) };
#undef BSN_ENUM_CAP
#define BSN_ENUM_ATOMIC_OPERATION(name, value, doc) BSN_ATOMIC_CAN_##name = value,
enum bsn_atomic_operation { BSN_ATOMIC_OPERATIONS(BSN_ENUM_ATOMIC_OPERATION) };
#undef BSN_ENUM_ATOMIC_OPERATION

/* What every mailbox begins with: mlx5_ifc.h struct mlx5_ifc_mbox_in_bits, mlx5_ifc_mbox_out_bits */
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
 * CREATE_MKEY: after the head the mkey's context (struct bsn_mkey_ctx), what it translates by, and
 * the translations: mlx5_ifc.h struct mlx5_ifc_create_mkey_in_bits; where a umem is named,
 * ib_mlx5_ifc.h and mlx5_prm.h.
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

/* What CREATE_MKEY answers, and QUERY_MKEY and DESTROY_MKEY ask for: each in byte 8 */
#define BSN_CMD_MKEY_OFFSET 8
#define BSN_CMD_MKEY_SIZE   8
#define BSN_TABLE_CMD_MKEY(F, Q, Z, I)                                                             \
	I(0, 24, 8)                                                                                \
	F(index, 0, 0, 24, "the key without its variant")                                          \
	I(1, 0, 32)

BSN_SEG_DEFINE(cmd_mkey, BSN_CMD_MKEY_SIZE, BSN_TABLE_CMD_MKEY)

#define BSN_CREATE_MKEY_OUT_SIZE      16
#define BSN_DESTROY_MKEY_IN_SIZE      16
#define BSN_QUERY_MKEY_OUT_CTX_OFFSET 16 /* struct bsn_mkey_ctx */

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
 * QUERY_HCA_CAP: op_mod is the group << 1, and 1 for what is in force, 0 for what could be. The
 * answer is the head, 8 bytes, and the capabilities: those of the device are struct
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
	I(12, 0, 32)                                                                               \
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
	I(12, 8, 16)                                                                               \
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

/* Every segment above: X(seg, SEG, doc) */
#define BSN_CMD_SEGMENTS(X)                                                                        \
	X(cmd_in, CMD_IN, "head of a command")                                                     \
	X(cmd_out, CMD_OUT, "head of an answer")                                                   \
	X(create_mkey_flags, CREATE_MKEY_FLAGS, "CREATE_MKEY, from byte 8")                        \
	X(create_mkey_xlt, CREATE_MKEY_XLT, "CREATE_MKEY, from byte 96")                           \
	X(cmd_mkey, CMD_MKEY, "mkey of a command, from byte 8")                                    \
	X(lag, LAG, "answer of QUERY_LAG, from byte 8")                                            \
	X(cap_gen_0, CAP_GEN_0, "capabilities of the device, from byte 0")                         \
	X(cap_gen_1, CAP_GEN_1, "capabilities of the device, from byte 64")                        \
	X(cap_gen_2, CAP_GEN_2, "capabilities of the device, from byte 128")                       \
	X(cap_gen_3, CAP_GEN_3, "capabilities of the device, from byte 192")                       \
	X(cap_atomics, CAP_ATOMICS, "capabilities of atomics, from byte 0")

#ifdef __cplusplus
}
#endif
#endif
