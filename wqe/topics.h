/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What errors mean, why they happen and what to try: the sentences of wqe-dump and bsn_qp_error().
 * Several numbers share a topic; causes.h says which.
 */
#ifndef BSN_WQE_TOPICS_H
#define BSN_WQE_TOPICS_H

/* Sides: who detected it, whose completion it is: X(NAME, text) */
#define PARTIES(X)                                                                                 \
	X(NOBODY, NULL)                                                                            \
	X(REQUESTER, "requester")                                                                  \
	X(RESPONDER, "responder")                                                                  \
	X(EITHER, "either side")

/* The step at which the request failed: X(NAME, text) */
#define STEPS(X)                                                                                   \
	X(UNKNOWN, "not known")                                                                    \
	X(WQE_FETCH, "WQE fetch: the device reads the work queue")                                 \
	X(WQE_CHECK, "WQE check: the device judges what it read")                                  \
	X(GATHER, "local gather: the device reads the data to send")                               \
	X(SCATTER, "local scatter: the device writes the data that arrived")                       \
	X(LOCAL, "local memory")                                                                   \
	X(TRANSPORT, "transport: packets, answers and retries")                                    \
	X(REMOTE, "remote: the responder judges or executes the request")                          \
	X(RECEIVE, "receive: the responder takes a receive WQE")                                   \
	X(COMPLETION, "completion: the device writes the CQE")                                     \
	X(KEY, "memory key: bound, registered or invalidated by a WQE")                            \
	X(QP_STATE, "none: the QP was in error before")                                            \
	X(OFFLOAD, "an accelerator of the device")                                                 \
	X(FIRMWARE, "firmware, outside of any queue")                                              \
	X(COMMAND, "a command of the driver, outside of any queue")

/* How the causes are known: X(NAME, text) */
#define BASES(X)                                                                                   \
	X(INFERRED, "causes inferred from the meaning")                                            \
	X(SPECIFIED, "causes as specified")                                                        \
	X(FOUND, "causes as found")

/*
 * X(TOPIC, side that detects it, side whose CQE it is, step, basis, meaning, what to try, source of
 * the causes). Issues and pull requests are on GitHub.
 */
#define TOPICS(X)                                                                                  \
	X(NOTHING, NOBODY, NOBODY, UNKNOWN, SPECIFIED,                                             \
	  "No error. A log that prints it as one read a CQE that is none, or another field.",      \
	  "Give the whole dump to wqe-dump.", "")                                                  \
	X(UNKNOWN, NOBODY, NOBODY, UNKNOWN, INFERRED,                                              \
	  "Not mlx5, or not in this table: no public source says what this number means.",         \
	  "See which device the log is about; check that it was not printed in the other base.",   \
	  "")                                                                                      \
	X(PEER_SILENT, REQUESTER, REQUESTER, TRANSPORT, FOUND,                                     \
	  "No acknowledgement came within the timeout, and the retries (retry_cnt) are used up. "  \
	  "The request may or may not have been executed.",                                        \
	  "Look for the first error in the peer's log; try ib_write_bw or ibv_rc_pingpong "        \
	  "between the same two ports and GID indices; compare MTU, GID type and VLAN; raise "     \
	  "timeout and retry_cnt to see whether it is congestion.",                                \
	  "NCCL issues 426, 1405, 1664; UCX issues 2973, 5199, 7586")                              \
	X(PACKETS_LOST, REQUESTER, REQUESTER, TRANSPORT, INFERRED,                                 \
	  "Packets or answers were lost or overtook each other, more often than is retried.",      \
	  "Read out_of_sequence, packet_seq_err, implied_nak_seq_err and rx_discards under "       \
	  "hw_counters and ethtool -S on both ends; check PFC and ECN along the path.",            \
	  "")                                                                                      \
	X(NO_RECEIVE, RESPONDER, REQUESTER, RECEIVE, SPECIFIED,                                    \
	  "The responder had no receive WQE for a SEND or a WRITE with immediate: it said "        \
	  "\"receiver not ready\" (RNR NAK) until rnr_retry was used up.",                         \
	  "Post receives before the peer may send; count credits; rnr_retry 7 waits for ever, "    \
	  "min_rnr_timer of the responder says how long each time.",                               \
	  "ibv_modify_qp(3)")                                                                      \
	X(REMOTE_KEY, RESPONDER, REQUESTER, REMOTE, FOUND,                                         \
	  "The responder refused the rkey, or what was to be done under it: key, address range, "  \
	  "rights and protection domain all give this one code.",                                  \
	  "Print raddr, length and rkey of the WQE beside what the responder registered; keep "    \
	  "the region until the requester has stopped.",                                           \
	  "UCX pull requests 9143, 9771; SPDK issue 1387; libevpl pull request 89")                \
	X(REMOTE_FAILED, RESPONDER, REQUESTER, REMOTE, SPECIFIED,                                  \
	  "The responder could not serve the request by a fault of its own; the request was "      \
	  "right.",                                                                                \
	  "Explain the error on the responder: its own CQE says what it was.",                     \
	  "IBTA: remote operational error; UCX issue 5472")                                        \
	X(REMOTE_REFUSED, RESPONDER, REQUESTER, REMOTE, FOUND,                                     \
	  "The responder's QP does not take such a request.",                                      \
	  "Compare qp_access_flags, max_dest_rd_atomic and the sizes of the posted receives on "   \
	  "the responder with what is sent; look for an asynchronous event there.",                \
	  "UCX issue 1770; Charm++ issue 2532; IBTA: invalid request")                             \
	X(LKEY, REQUESTER, REQUESTER, LOCAL, FOUND,                                                \
	  "The lkey of a data segment is not valid here: there is no such key, or it belongs to "  \
	  "another protection domain.",                                                            \
	  "Print the lkeys of the WQE beside those that ibv_reg_mr gave on this very device and "  \
	  "protection domain.",                                                                    \
	  "SPDK issue 961")                                                                        \
	X(LKEY_RIGHTS, REQUESTER, REQUESTER, LOCAL, FOUND,                                         \
	  "The lkey is valid, but not for this: the data segment leaves its region, or the "       \
	  "region lacks a right.",                                                                 \
	  "Check addr + length of each data segment against its region; register what the device " \
	  "is to write with IBV_ACCESS_LOCAL_WRITE.",                                              \
	  "Warp17 issue 81")                                                                       \
	X(LKEY_RANGE, REQUESTER, REQUESTER, LOCAL, INFERRED,                                       \
	  "A data segment is longer than the region that its lkey names.",                         \
	  "Check addr + length of each data segment against its region.", "")                      \
	X(LOCAL_KEY, EITHER, REQUESTER, LOCAL, SPECIFIED,                                          \
	  "Local memory was refused to the device: the lkey of a data segment, its range, its "    \
	  "rights, or the memory behind it.",                                                      \
	  "The vendor syndrome tells which: give it too.", "ibv_poll_cq(3)")                       \
	X(RECEIVE_KEY, RESPONDER, RESPONDER, SCATTER, SPECIFIED,                                   \
	  "The buffer of a receive WQE is not the device's to write: lkey, range, rights or "      \
	  "protection domain. The requester is told remote operation error (0x14).",               \
	  "Print the data segments of the receive WQE beside the registered regions.",             \
	  "IBTA: local protection error of a receive")                                             \
	X(RESPONDER_MEMORY, RESPONDER, REQUESTER, REMOTE, INFERRED,                                \
	  "At the responder, the memory of a one-sided operation was refused: rkey, range, "       \
	  "rights or protection domain.",                                                          \
	  "Print raddr, length and rkey of the request beside what the responder registered.", "") \
	X(QUEUE_MEMORY, EITHER, EITHER, WQE_FETCH, INFERRED,                                       \
	  "The device may not read the memory of the queue itself.",                               \
	  "Check the life of the queue's buffer: fork, munmap, a umem that was freed first.", "")  \
	X(BUS, EITHER, EITHER, LOCAL, FOUND,                                                       \
	  "A PCIe transaction of the device failed: the key was right, the memory behind it "      \
	  "could not be reached.",                                                                 \
	  "With GPU memory: try without GPUDirect (NCCL_NET_GDR_LEVEL=0, UCX_IB_GPU_DIRECT_RDMA="  \
	  "no); switch ACS off on the bridges between (lspci -vvv), the IOMMU to passthrough; "    \
	  "look for AER and IOMMU faults in dmesg.",                                               \
	  "NCCL issues 214, 928, 1052; UCX issue 3564; perftest issue 173")                        \
	X(PAGE_FAULT, EITHER, EITHER, LOCAL, INFERRED,                                             \
	  "The memory behind the key is not there: an on-demand page could not be brought in, or " \
	  "the bus refused the address (master abort).",                                           \
	  "Keep the mapping while requests are under way; try without IBV_ACCESS_ON_DEMAND; read " \
	  "the ODP counters (rdma statistic, num_page_faults).",                                   \
	  "rdma-core mlx5: vendor syndrome 0x93 with syndrome 0x22 is an ODP page fault")          \
	X(TRANSLATION, EITHER, EITHER, LOCAL, INFERRED,                                            \
	  "The translation unit failed, and does not say why.",                                    \
	  "Update the firmware; look for health errors of mlx5_core in dmesg.", "")                \
	X(ENCRYPTION, EITHER, EITHER, LOCAL, INFERRED,                                             \
	  "Encryption or decryption of the memory behind a key failed.",                           \
	  "Check the data encryption key and the BSF of the mkey.", "")                            \
	X(BAD_WQE, REQUESTER, REQUESTER, WQE_CHECK, SPECIFIED,                                     \
	  "The device read a WQE that it cannot make sense of.",                                   \
	  "Give the ring to wqe-dump: it says which field is wrong. If libmlx5 wrote the WQE, "    \
	  "suspect memory that was overwritten or posts by two threads without a lock.",           \
	  "PRM: work queues")                                                                      \
	X(WRONG_OPERATION, REQUESTER, REQUESTER, WQE_CHECK, SPECIFIED,                             \
	  "The operation does not exist on this kind of QP, or the QP cannot do it.",              \
	  "Compare the opcode with the transport: no READ or atomic on UC, UD; no WRITE on UD.",   \
	  "IBTA: operation types by transport")                                                    \
	X(UD_ADDRESS, REQUESTER, REQUESTER, WQE_CHECK, SPECIFIED,                                  \
	  "The address vector of a datagram does not suit its QP.",                                \
	  "Make the address handle on the QP's own protection domain and port.", "IBTA: UD")       \
	X(TOO_LONG, REQUESTER, REQUESTER, WQE_CHECK, SPECIFIED,                                    \
	  "The message is longer than may be sent.",                                               \
	  "2^30 bytes at most on a connection (max_msg_sz of the port), one path MTU on UD, 8 "    \
	  "bytes for an atomic.",                                                                  \
	  "ibv_poll_cq(3)")                                                                        \
	X(RECEIVE_TOO_SHORT, RESPONDER, RESPONDER, RECEIVE, SPECIFIED,                             \
	  "A message was longer than the receive WQE that it met. The requester is told remote "   \
	  "invalid request (0x12).",                                                               \
	  "Post receives as long as the longest message; on UD, 40 bytes longer for the GRH.",     \
	  "IBTA: local length error of a receive")                                                 \
	X(LENGTH, EITHER, EITHER, WQE_CHECK, SPECIFIED,                                            \
	  "A message did not fit: too long to be sent, or longer than the receive WQE it met.",    \
	  "Compare the lengths of both sides; the vendor syndrome tells which it was.",            \
	  "ibv_poll_cq(3)")                                                                        \
	X(RECEIVE_EMPTY, RESPONDER, RESPONDER, RECEIVE, INFERRED,                                  \
	  "The receive queue, or the shared one, had nothing left.",                               \
	  "Post more receives, and earlier; arm the limit event of a shared receive queue.", "")   \
	X(LIMITS, RESPONDER, REQUESTER, REMOTE, INFERRED,                                          \
	  "The request passes a limit of the responder.",                                          \
	  "max_rd_atomic of the requester must not exceed max_dest_rd_atomic of the responder; "   \
	  "atomics must be aligned to their size.",                                                \
	  "")                                                                                      \
	X(BAD_ANSWER, REQUESTER, REQUESTER, TRANSPORT, INFERRED,                                   \
	  "The answer, or a packet, does not fit what was asked.",                                 \
	  "Check that no two connections share QP numbers and PSNs (a stale peer after a "         \
	  "restart), then the firmware on both ends.",                                             \
	  "")                                                                                      \
	X(MTU, EITHER, REQUESTER, TRANSPORT, INFERRED,                                             \
	  "A packet is longer than the path MTU that its receiver was told.",                      \
	  "Give both ends the same path_mtu, which the port's active_mtu allows.", "")             \
	X(LOCAL_WRITE, REQUESTER, EITHER, SCATTER, SPECIFIED,                                      \
	  "Data that arrived could not be written where the local key points.",                    \
	  "Register the destination with IBV_ACCESS_LOCAL_WRITE.", "IBTA: local access error")     \
	X(CQ_FULL, EITHER, EITHER, COMPLETION, SPECIFIED,                                          \
	  "The CQ was full when a completion was due; all its QPs are lost with it.",              \
	  "Make the CQ as large as all queues that share it; poll more.", "ibv_create_cq(3)")      \
	X(CQ_BROKEN, EITHER, EITHER, COMPLETION, INFERRED,                                         \
	  "The CQ could not take the completion.",                                                 \
	  "Look for the CQ's own error (IBV_EVENT_CQ_ERR); destroy CQs after their QPs.", "")      \
	X(FLUSHED, EITHER, EITHER, QP_STATE, FOUND,                                                \
	  "Not the cause: the QP was in error already, and whatever was posted comes back so.",    \
	  "Find the first completion of this QP that failed otherwise, here or at the peer.",      \
	  "Open MPI issue 95; NCCL issue 1353; IBTA: error state")                                 \
	X(FLUSHED_BY_COMMAND, EITHER, EITHER, QP_STATE, FOUND,                                     \
	  "Not a failure: a command moved the QP to error, reset it or destroyed it while work "   \
	  "was posted.",                                                                           \
	  "Nothing, at the end of a connection. Else find who calls ibv_modify_qp or "             \
	  "rdma_disconnect, and whether the peer did so first.",                                   \
	  "SPDK issue 298")                                                                        \
	X(DC_REFUSED, RESPONDER, REQUESTER, TRANSPORT, INFERRED,                                   \
	  "The DCT refused the connection (CNAK), or could not be kept connected.",                \
	  "Compare DCT number, access key and address of the target with the WQE's; see that the " \
	  "DCT is in RTR and its shared receive queue has receives.",                              \
	  "")                                                                                      \
	X(KEY_CHANGE, REQUESTER, REQUESTER, KEY, SPECIFIED,                                        \
	  "A WQE that binds, registers or invalidates a key was refused.",                         \
	  "Check the state of the mkey (free or not), its protection domain and the length of "    \
	  "its translations; invalidate before binding again.",                                    \
	  "IBTA: memory window bind error")                                                        \
	X(SIGNATURE, EITHER, EITHER, LOCAL, INFERRED,                                              \
	  "A signature does not match the data, or its protection state is not valid.",            \
	  "Read the SIG_ERR completion: it has the expected and the found value.", "")             \
	X(WAIT, REQUESTER, REQUESTER, WQE_CHECK, INFERRED, "A WAIT could not be carried out.",     \
	  "Check the CQ or the memory that it waits for, and its counter.", "")                    \
	X(PEER_ABORTED, RESPONDER, REQUESTER, REMOTE, SPECIFIED,                                   \
	  "The responder gave the request up while it was under way.",                             \
	  "With vendor syndrome 0x93 see on-demand paging; else look for the responder's own "     \
	  "error.",                                                                                \
	  "rdma-core mlx5: MLX5_CQE_SYNDROME_REMOTE_ABORTED_ERR")                                  \
	X(SUSPENDED, EITHER, EITHER, QP_STATE, INFERRED, "The QP is suspended.",                   \
	  "Resume or recreate it: migration and ODP suspend QPs.", "")                             \
	X(OFFLOAD, EITHER, EITHER, OFFLOAD, INFERRED,                                              \
	  "An accelerator of the device failed; no more is public.",                               \
	  "Check the parameters of the accelerated operation; update the firmware.", "")           \
	X(RELIABLE_DATAGRAM, NOBODY, NOBODY, UNKNOWN, SPECIFIED,                                   \
	  "Of the transport RD, which no ConnectX has.",                                           \
	  "The number is probably of another kind, or was printed in another base.", "IBTA: RD")   \
	X(DROPPED, EITHER, EITHER, TRANSPORT, INFERRED,                                            \
	  "A packet was dropped, or does not fit its connection.",                                 \
	  "Check service level, VLAN priority and PFC along the path.", "")                        \
	X(DRAINED, RESPONDER, RESPONDER, QP_STATE, INFERRED,                                       \
	  "The receive queue is drained: its receives are given back.", "Nothing.", "")            \
	X(GENERAL, EITHER, EITHER, UNKNOWN, SPECIFIED,                                             \
	  "A syndrome that has no verbs status of its own.",                                       \
	  "Take the vendor error, or the raw CQE: libmlx5 writes it to the file that "             \
	  "MLX5_DEBUG_FILE names.",                                                                \
	  "rdma-core mlx5: mlx5_handle_error_cqe")                                                 \
	X(NOT_OURS, NOBODY, NOBODY, UNKNOWN, SPECIFIED,                                            \
	  "A verbs status that libmlx5 never gives.", "See which device the log is about.",        \
	  "rdma-core mlx5: mlx5_handle_error_cqe")                                                 \
	X(TAG_MATCHING, RESPONDER, RESPONDER, RECEIVE, SPECIFIED,                                  \
	  "The device's tag matching needs software: it is out of step, or a rendezvous is "       \
	  "incomplete.",                                                                           \
	  "Synchronise the list (TM_OPS SYNC), or finish the rendezvous in software.",             \
	  "ibv_poll_cq(3)")                                                                        \
	X(FIRMWARE, NOBODY, NOBODY, FIRMWARE, SPECIFIED,                                           \
	  "The firmware failed; the device resets, and all its queues are lost.",                  \
	  "Keep the whole health buffer and the crash dump (devlink health dump show "             \
	  "pci/ADDRESS reporter fw_fatal) for the vendor; update the firmware; watch "             \
	  "devlink health.",                                                                       \
	  "Linux mlx5 health.c")                                                                   \
	X(HARDWARE, NOBODY, NOBODY, FIRMWARE, SPECIFIED,                                           \
	  "The hardware failed; the device is not usable before a reset, if then.",                \
	  "Power-cycle (not only reboot); reseat the card; replace it when it comes again.",       \
	  "Linux mlx5 health.c")                                                                   \
	X(CQ_MEMORY, EITHER, EITHER, COMPLETION, INFERRED,                                         \
	  "The device could not write to the CQ's own buffer; all its QPs are lost with it.",      \
	  "Check the life of the buffer: munmap, fork, a umem that was freed first.", "")          \
	X(SILENT, NOBODY, NOBODY, FIRMWARE, FOUND,                                                 \
	  "The device's health counter has stopped: its firmware does not run, or cannot be "      \
	  "read.",                                                                                 \
	  "Look for a health buffer behind it, for AER and pciehp messages before it, and for a "  \
	  "reset or an update at that time (mlxfwreset, a BlueField that reboots).",               \
	  "Linux mlx5 health.c poll_health(); NVIDIA BlueField troubleshooting, NIC mode")         \
	X(UNREACHABLE, NOBODY, NOBODY, FIRMWARE, FOUND,                                            \
	  "The driver cannot reach the device over PCIe: its registers read as all ones, or its "  \
	  "channel is offline. Everything that it had is lost.",                                   \
	  "Look at what the bridge above it says (pciehp, DPC, EEH, AER) before this line; "       \
	  "reseat "                                                                                \
	  "the card; look at its power.",                                                          \
	  "Linux mlx5 health.c check_fatal_sensors()")                                             \
	X(SWITCHED_OFF, NOBODY, NOBODY, FIRMWARE, SPECIFIED,                                       \
	  "The device's interface is disabled or being reset by software.",                        \
	  "Find who resets it: another function of the card, mlxfwreset, devlink; the driver "     \
	  "recovers by itself, applications open the device again.",                               \
	  "Linux mlx5 health.c check_fatal_sensors()")                                             \
	X(SEND_STALLED, NOBODY, NOBODY, UNKNOWN, FOUND,                                            \
	  "A send queue of the network interface had packets, and no completion came for "         \
	  "seconds.",                                                                              \
	  "Compare SQ Cons and SQ Prod of the line; read devlink health show pci/ADDRESS "         \
	  "reporter tx, the pause counters of ethtool -S, and dmesg for stalled CPUs.",            \
	  "Linux mlx5 en/reporter_tx.c; NVSentinel issue 1334")                                    \
	X(HOST_BUS, NOBODY, NOBODY, FIRMWARE, SPECIFIED,                                           \
	  "The device could not read its own pages in host memory over PCIe.",                     \
	  "Look for AER, IOMMU and machine-check messages before this one; reseat the card; "      \
	  "check memory and BIOS.",                                                                \
	  "Linux mlx5 health.c")                                                                   \
	X(EVENT_QUEUE, NOBODY, NOBODY, FIRMWARE, SPECIFIED,                                        \
	  "An event queue of the driver overran or is not valid.",                                 \
	  "Look for stalled CPUs and lost interrupts before it; update driver and firmware.",      \
	  "Linux mlx5 health.c")                                                                   \
	X(TEMPERATURE, NOBODY, NOBODY, FIRMWARE, SPECIFIED,                                        \
	  "The device is too hot and protects itself.",                                            \
	  "Check fans, airflow and the module's temperature (mget_temp, sensors).",                \
	  "Linux mlx5 health.c")                                                                   \
	X(COMMAND_REFUSED, NOBODY, NOBODY, COMMAND, SPECIFIED,                                     \
	  "The firmware refused a command of the driver; no queue failed by it yet.",              \
	  "See which command it was, and what asked for it: attributes that this device, its "     \
	  "firmware or this function (VF, SF) lacks. The 32-bit syndrome beside it is the "        \
	  "firmware's own: only the vendor can look it up.",                                       \
	  "Linux mlx5 cmd.c; Charm++ issue 2532")                                                  \
	X(COMMAND_STATE, NOBODY, NOBODY, COMMAND, SPECIFIED,                                       \
	  "The firmware refused a command because of the state that its object is in.",            \
	  "Look at the order: an object destroyed while others use it, a QP moved by a step that " \
	  "its state does not have, a device that is resetting.",                                  \
	  "Linux mlx5 cmd.c")                                                                      \
	X(COMMAND_LIMITS, NOBODY, NOBODY, COMMAND, SPECIFIED,                                      \
	  "The firmware has no more of what was asked for.",                                       \
	  "Count the objects (rdma resource show): QPs, CQs and memory keys may have leaked, or "  \
	  "belong to processes that were killed.",                                                 \
	  "UCX issue 6264; Mooncake pull request 1765")                                            \
	X(COMMAND_FAILED, NOBODY, NOBODY, COMMAND, SPECIFIED,                                      \
	  "The firmware failed while it executed a command.",                                      \
	  "Look for health errors beside it; update the firmware.", "Linux mlx5 cmd.c")            \
	X(QP_ACCESS, RESPONDER, RESPONDER, REMOTE, SPECIFIED,                                      \
	  "As the responder, this QP refused what its peer asked for: the key, its range, its "    \
	  "rights, or the address of an atomic.",                                                  \
	  "Look at the peer's completion: remote access error (0x13) or remote invalid request "   \
	  "(0x12); print its raddr, length and rkey beside what this side registered.",            \
	  "IBTA: local access violation work queue error")                                         \
	X(QP_REQUEST, RESPONDER, RESPONDER, REMOTE, SPECIFIED,                                     \
	  "As the responder, this QP got a request that it does not take.",                        \
	  "Look at the peer's completion: remote invalid request (0x12); compare access flags, "   \
	  "max_dest_rd_atomic and the sizes of the posted receives with what it sends.",           \
	  "IBTA: invalid request local work queue error")                                          \
	X(QP_LOST, EITHER, EITHER, UNKNOWN, SPECIFIED,                                             \
	  "The device cannot go on with this QP, nor say so in completions.",                      \
	  "Look in dmesg for \"QP n error\" and \"CQ error\", which name the syndrome.",           \
	  "IBTA: local work queue catastrophic error")                                             \
	X(CQ_LOST, EITHER, EITHER, COMPLETION, SPECIFIED,                                          \
	  "The CQ overran, or could not be written; all its QPs are lost with it.",                \
	  "Make the CQ as large as all queues that share it; dmesg has the CQ's syndrome.",        \
	  "IBTA: CQ error")                                                                        \
	X(DEVICE_LOST, NOBODY, NOBODY, FIRMWARE, SPECIFIED,                                        \
	  "The driver gave the device up; all its queues are lost.",                               \
	  "Look in dmesg for what mlx5_core says: a health buffer, a fatal error, PCIe.",          \
	  "ibv_get_async_event(3)")                                                                \
	X(PORT_DOWN, NOBODY, NOBODY, TRANSPORT, SPECIFIED,                                         \
	  "The port's link is down; requests through it are retried, and fail in the end.",        \
	  "Look at the cable, the switch and the port's counters (link_downed, ethtool -S).",      \
	  "ibv_get_async_event(3)")                                                                \
	X(PORT_CHANGED, NOBODY, NOBODY, TRANSPORT, SPECIFIED,                                      \
	  "No failure: the port came up, or its addresses, keys or subnet manager changed. "       \
	  "Connections made before may use what is gone.",                                         \
	  "Connect anew, with the addresses that show_gids lists.", "ibv_get_async_event(3)")      \
	X(RECEIVES_LOW, RESPONDER, RESPONDER, RECEIVE, SPECIFIED,                                  \
	  "No failure: the shared receive queue has fewer receives than its limit.",               \
	  "Post receives, then arm the limit again.", "ibv_get_async_event(3)")                    \
	X(LAST_RECEIVE, RESPONDER, RESPONDER, QP_STATE, SPECIFIED,                                 \
	  "Not the cause: the QP is in error, and takes no more from its shared receive queue.",   \
	  "Find why it is in error: its first failed completion, here or at the peer.",            \
	  "ibv_get_async_event(3)")                                                                \
	X(QP_STATE, NOBODY, NOBODY, QP_STATE, SPECIFIED,                                           \
	  "No failure: the QP got its first message, is drained, or moved to its other path.",     \
	  "Nothing.", "ibv_get_async_event(3)")                                                    \
	X(NO_PATH, NOBODY, NOBODY, TRANSPORT, SPECIFIED,                                           \
	  "The QP could not move to its alternate path.", "Check the alternate path's address.",   \
	  "ibv_get_async_event(3)")                                                                \
	X(COMMAND_SILENT, NOBODY, NOBODY, COMMAND, FOUND,                                          \
	  "The firmware does not answer: a command did not end in time. What waits for it hangs "  \
	  "or fails, and its slot is lost.",                                                       \
	  "Look for health and PCIe messages of the device at that time. If other commands time "  \
	  "out, too, reset it (mlxfwreset) or power-cycle; update the firmware.",                  \
	  "Linux mlx5 cmd.c wait_func()")                                                          \
	X(COMMAND_SLOTS, NOBODY, NOBODY, COMMAND, FOUND,                                           \
	  "The driver has no slot left to give the firmware a command.",                           \
	  "Find the first command that timed out; reset the device.",                              \
	  "Linux mlx5 cmd.c cmd_work_handler()")                                                   \
	X(COMMAND_LATE, NOBODY, NOBODY, COMMAND, FOUND,                                            \
	  "The firmware did execute the command, but the driver learned of it late.",              \
	  "Check where the device's interrupts go, above all in a virtual machine.",               \
	  "Linux mlx5 cmd.c wait_func_handle_exec_timeout()")                                      \
	X(NO_START, NOBODY, NOBODY, FIRMWARE, FOUND,                                               \
	  "The firmware does not come up, and the driver gives up.",                               \
	  "Take the power off for half a minute, standby power too: a reboot is not enough. Read " \
	  "the firmware (mstflint query); look for PCIe messages before.",                         \
	  "Linux mlx5 main.c wait_fw_init()")                                                      \
	X(POWER, NOBODY, NOBODY, FIRMWARE, FOUND,                                                  \
	  "The PCIe slot does not promise the power that the card may draw: often harmless; "      \
	  "else the card slows down or leaves modules off.",                                       \
	  "Compare the slot's limit (lspci -vv, SlotPowerLimit) with the card's manual; use "      \
	  "another slot or the card's power cable; update BIOS and firmware.",                     \
	  "Linux mlx5 events.c mlx5_pcie_event()")                                                 \
	X(MODULE, NOBODY, NOBODY, TRANSPORT, SPECIFIED,                                            \
	  "The cable or transceiver in the port reports an error; the link may go down.",          \
	  "Read the module (ethtool -m): temperature, power class; reseat or replace it.",         \
	  "Linux mlx5 events.c port_module()")

/* X(TOPIC, cause, how to tell it), the likeliest first within a topic */
#define CAUSES(X)                                                                                  \
	X(PEER_SILENT, "the peer's process ended, or its QP is in error",                          \
	  "the peer has an earlier error or is gone; all its connections fail at about one time")  \
	X(PEER_SILENT, "the link is down or the path drops packets",                               \
	  "link_downed, symbol_error, rx_discards and local_ack_timeout_err rise; others fail "    \
	  "between these ports, too")                                                              \
	X(PEER_SILENT,                                                                             \
	  "the address does not lead there: GID index, LID, VLAN, MTU, a firewall "                \
	  "(RoCEv2 is UDP port 4791), no route",                                                   \
	  "the very first message of a connection fails, each time")                               \
	X(PEER_SILENT, "the peer's QP is not in RTR yet, or connected to another QP or PSN",       \
	  "the first message fails, but ib_write_bw works between these ports")                    \
	X(PEER_SILENT, "congestion, or a peer that is paused, outlasts timeout and retry_cnt",     \
	  "only under load, and not with a longer timeout")                                        \
	X(PACKETS_LOST, "the fabric drops: no PFC or ECN where RoCE needs it, a bad cable",        \
	  "rx_discards or symbol_error rise on a switch or port")                                  \
	X(PACKETS_LOST, "packets take several paths and overtake each other",                      \
	  "out_of_sequence rises and nothing is discarded")                                        \
	X(NO_RECEIVE, "receives are posted too late", "the first messages of a connection fail")   \
	X(NO_RECEIVE, "too few receives for what is in flight, or nobody reposts them",            \
	  "it fails after as many messages as receives were posted")                               \
	X(NO_RECEIVE, "the responder's process stalls: no CPU, stopped, or dead-locked",           \
	  "under load only; rnr_nak_retry_err rises")                                              \
	X(NO_RECEIVE, "the shared receive queue is empty because another QP took its receives",    \
	  "QPs without traffic of their own fail, too")                                            \
	X(REMOTE_KEY,                                                                              \
	  "the rkey is not valid any more, or never was: deregistered, freed, of a "               \
	  "former run of the peer, in the wrong byte order",                                       \
	  "the responder has no region of that rkey; often while it shuts down")                   \
	X(REMOTE_KEY, "[raddr, raddr + length) leaves the region",                                 \
	  "the rkey is right, and small or first messages pass")                                   \
	X(REMOTE_KEY, "the region lacks the right: IBV_ACCESS_REMOTE_WRITE, _READ or _ATOMIC",     \
	  "one kind of operation fails always, others pass")                                       \
	X(REMOTE_KEY,                                                                              \
	  "the region belongs to another protection domain or device than the peer's "             \
	  "QP",                                                                                    \
	  "several NICs; it depends on which one is used")                                         \
	X(REMOTE_KEY, "the memory window is not bound, or was invalidated",                        \
	  "the key is of type 2, or SEND with invalidate is in use")                               \
	X(REMOTE_FAILED, "the receive WQE that the message met has a bad lkey or range",           \
	  "the responder has an error CQE of its own: local protection (0x04)")                    \
	X(REMOTE_FAILED, "the responder's memory could not be reached: page fault, PCIe, GPU",     \
	  "a READ or WRITE, no receive was consumed; dmesg of the responder")                      \
	X(REMOTE_FAILED, "the responder's CQ is full or broken",                                   \
	  "an event IBV_EVENT_CQ_ERR there")                                                       \
	X(REMOTE_REFUSED, "the responder's QP does not allow remote writes, reads or atomics",     \
	  "qp_access_flags of the QP or DCT; each operation of the kind fails, and an access "     \
	  "event is raised there")                                                                 \
	X(REMOTE_REFUSED, "a message longer than the receive WQE that it met",                     \
	  "the responder has a local length error (0x01)")                                         \
	X(REMOTE_REFUSED, "more READs and atomics at once than max_dest_rd_atomic",                \
	  "only READs or atomics, only several at a time")                                         \
	X(REMOTE_REFUSED, "an atomic at an address that is no multiple of 8",                      \
	  "only atomics; raddr of the WQE; BSN_CHECK=1 refuses it before it is posted")            \
	X(REMOTE_REFUSED, "the responder's QP was set up wrongly",                                 \
	  "a refused RTR2RTS_QP or INIT2RTR_QP in dmesg")                                          \
	X(LKEY,                                                                                    \
	  "the lkey in the SGE is wrong: 0, an rkey, in the wrong byte order, of a region "        \
	  "that was deregistered",                                                                 \
	  "no region of this process has that lkey")                                               \
	X(LKEY, "the region was registered on another device or protection domain",                \
	  "several NICs or several protection domains")                                            \
	X(LKEY, "the buffer was freed and its region with it, while the request was under way",    \
	  "it depends on timing; a registration cache is in use")                                  \
	X(LKEY_RIGHTS, "the SGE is longer than its region, or begins before it",                   \
	  "the operation sends (vendor syndromes 0x50 and on)")                                    \
	X(LKEY_RIGHTS, "the region lacks IBV_ACCESS_LOCAL_WRITE",                                  \
	  "the operation writes here: READ, atomic, receive (0x30 and on)")                        \
	X(LKEY_RANGE, "the SGE is longer than its region, or begins before it",                    \
	  "addr + length against the region")                                                      \
	X(LOCAL_KEY, "an lkey that is wrong, of another protection domain, or deregistered",       \
	  "vendor syndrome 0x52, in decimal 82")                                                   \
	X(LOCAL_KEY, "an SGE that leaves its region, or a region without the local write right",   \
	  "vendor syndromes 0x53 and 0x33")                                                        \
	X(LOCAL_KEY, "GPU or other device memory that PCIe does not let through",                  \
	  "vendor syndrome 0x51, in decimal 81")                                                   \
	X(RECEIVE_KEY, "the lkey of the receive's SGE is wrong or its region is gone",             \
	  "no region of that lkey")                                                                \
	X(RECEIVE_KEY, "the region lacks IBV_ACCESS_LOCAL_WRITE", "each receive into it fails")    \
	X(RESPONDER_MEMORY, "the rkey, its range or its rights do not suit the request",           \
	  "the requester has remote access error (0x13)")                                          \
	X(QUEUE_MEMORY, "the buffer of the queue was unmapped, or copied on write after fork",     \
	  "the process forks: see ibv_fork_init(3)")                                               \
	X(QUEUE_MEMORY, "the umem of a queue made by DevX is too short or was deregistered",       \
	  "queues made by mlx5dv_devx")                                                            \
	X(BUS, "GPU memory behind a bridge with ACS, an IOMMU, or on another socket",              \
	  "only with GPU memory; GPUs close to the NIC pass")                                      \
	X(BUS, "the driver for peer memory is missing or does not match (nvidia-peermem)",         \
	  "lsmod; fails with every GPU")                                                           \
	X(BUS, "the BIOS places GPU memory where the NIC cannot address it (MMIO base)",           \
	  "perftest with --use_cuda fails on this machine only")                                   \
	X(BUS, "a PCIe error", "AER messages in dmesg")                                            \
	X(PAGE_FAULT, "the memory was unmapped or truncated under an on-demand region",            \
	  "the region has IBV_ACCESS_ON_DEMAND")                                                   \
	X(PAGE_FAULT, "device memory that went away: a GPU context that ended, a dma-buf moved",   \
	  "the address is not host memory")                                                        \
	X(BAD_WQE, "a field of the WQE is wrong: DS, inline length, opcode, reserved bits",        \
	  "software that writes WQEs itself; each such WQE fails")                                 \
	X(BAD_WQE, "the doorbell ran ahead of the WQE's bytes, or two threads share the queue",    \
	  "rare, depends on timing and on the CPU")                                                \
	X(BAD_WQE, "the ring was overwritten", "the WQE in the ring is not what was posted")       \
	X(WRONG_OPERATION, "the opcode does not suit the QP's transport", "each one fails")        \
	X(WRONG_OPERATION, "the QP was not created for it (send_ops_flags, UMR, atomics)",         \
	  "the same opcode works on another QP of the transport")                                  \
	X(UD_ADDRESS, "an address handle of another protection domain or port", "several of them") \
	X(TOO_LONG, "a datagram longer than the MTU", "UD")                                        \
	X(TOO_LONG, "a message above max_msg_sz", "a length near or above 2^30")                   \
	X(RECEIVE_TOO_SHORT, "receives shorter than the messages", "every long message fails")     \
	X(RECEIVE_TOO_SHORT, "the 40 bytes of the GRH were forgotten", "UD")                       \
	X(LENGTH, "receives shorter than the messages", "a CQE of the responder")                  \
	X(LENGTH, "a message longer than the port or the MTU allows", "a CQE of the requester")    \
	X(RECEIVE_EMPTY, "receives are used up faster than posted", "under load")                  \
	X(LIMITS, "max_rd_atomic of one end above max_dest_rd_atomic of the other",                \
	  "READs and atomics, several at a time")                                                  \
	X(LIMITS, "an atomic on an address that is not aligned", "atomics, one at a time")         \
	X(LIMITS, "a message longer than the responder allows", "by length")                       \
	X(BAD_ANSWER, "a stale connection: the peer's QP number was reused",                       \
	  "after a restart of the peer")                                                           \
	X(BAD_ANSWER, "the ends disagree on PSN or MTU", "from the first message on")              \
	X(MTU, "path_mtu differs between the ends", "messages up to the shorter MTU pass")         \
	X(LOCAL_WRITE, "the region lacks IBV_ACCESS_LOCAL_WRITE", "each one fails")                \
	X(LOCAL_WRITE, "the region was deregistered under way", "depends on timing")               \
	X(CQ_FULL, "more completions outstanding than the CQ has entries",                         \
	  "entries against the sum of the queues' depths")                                         \
	X(CQ_FULL, "nobody polls", "the thread that polls is stuck or ended")                      \
	X(CQ_BROKEN, "the CQ was destroyed or overran before", "IBV_EVENT_CQ_ERR came first")      \
	X(FLUSHED, "another request of this QP failed before", "its completion came earlier")      \
	X(FLUSHED, "the peer's request failed and took this QP along",                             \
	  "no other error here: look at the peer")                                                 \
	X(FLUSHED, "the connection was ended", "rdma_disconnect, or the peer's process ended")     \
	X(FLUSHED_BY_COMMAND, "the program closes its connection", "at its end")                   \
	X(FLUSHED_BY_COMMAND, "a library gives the connection up after an error elsewhere",        \
	  "an error in its log before")                                                            \
	X(DC_REFUSED, "the DCT is gone: its process ended", "all initiators fail at once")         \
	X(DC_REFUSED, "wrong DCT number or access key", "from the first message on")               \
	X(DC_REFUSED, "the target has no resources for one more connection", "many initiators")    \
	X(KEY_CHANGE, "the mkey is not in the state that the WQE demands",                         \
	  "bound or invalidated twice")                                                            \
	X(KEY_CHANGE, "another protection domain, or no IBV_ACCESS_MW_BIND", "each one fails")     \
	X(SIGNATURE, "the data were changed, or written with another seed, block size or tag",     \
	  "SIG_ERR CQE: which part differs")                                                       \
	X(PEER_ABORTED, "an on-demand page could not be brought in", "vendor syndrome 0x93")       \
	X(SUSPENDED, "the QP waits for a page, or is being migrated", "ODP or a VM in use")        \
	X(FIRMWARE, "a defect of the firmware", "assert_exit_ptr is the same each time")           \
	X(FIRMWARE, "a device that overheated or lost power", "messages before it")                \
	X(HOST_BUS, "a PCIe or host memory error", "AER or machine-check messages before")         \
	X(HOST_BUS, "the IOMMU took a page away", "IOMMU faults in dmesg")                         \
	X(CQ_MEMORY, "the buffer was freed or remapped while the CQ lives",                        \
	  "IOMMU or AER messages, or none")                                                        \
	X(SILENT, "the firmware failed", "a health buffer with a syndrome follows")                \
	X(SILENT, "the PCIe link is gone", "registers read as all ones; AER or pciehp messages")   \
	X(SILENT, "the device is being reset or updated", "that was asked for just before")        \
	X(UNREACHABLE, "the link went down or the card lost power",                                \
	  "pciehp: Link Down, Card not present")                                                   \
	X(UNREACHABLE, "error handling switched the slot off",                                     \
	  "DPC, EEH or AER messages before it")                                                    \
	X(SWITCHED_OFF, "a reset by firmware tools or by another function",                        \
	  "the others say so, too")                                                                \
	X(SEND_STALLED, "interrupts were lost, or the CPU that serves them hangs",                 \
	  "soft lockups or RCU stalls near it; it recovers by itself")                             \
	X(SEND_STALLED, "the peer or the switch pauses the port",                                  \
	  "rx_pause or rx_prio*_pause rise")                                                       \
	X(SEND_STALLED, "the device or its firmware hangs",                                        \
	  "commands time out or the health is compromised, too")                                   \
	X(PAGE_FAULT, "the IOMMU refused the address",                                             \
	  "IO_PAGE_FAULT or DMAR messages at that time")                                           \
	X(QP_ACCESS, "an rkey that is not valid any more, or a range that leaves its region",      \
	  "the peer has remote access error (0x13)")                                               \
	X(QP_ACCESS, "the QP, the DCT or the region lacks the right for it",                       \
	  "each request of the kind fails")                                                        \
	X(QP_ACCESS, "an atomic at an address that is no multiple of 8", "atomics: raddr")         \
	X(QP_REQUEST, "a message longer than the receive that it met",                             \
	  "the QP's own completion is local length error (0x01)")                                  \
	X(QP_REQUEST, "an operation that the QP does not allow", "each request of the kind fails") \
	X(QP_LOST, "its CQ was full", "CQ error with syndrome 0x1; vendor syndrome 0x41")          \
	X(QP_LOST, "the queue's memory was unmapped, or copied on write after fork",               \
	  "the process forks or frees memory")                                                     \
	X(CQ_LOST, "more completions outstanding than the CQ has entries", "syndrome 0x1")         \
	X(COMMAND_SILENT, "the firmware hangs", "others time out, or a health buffer follows")     \
	X(COMMAND_SILENT, "the device is gone from PCIe", "registers read as ones; AER, DPC, EEH") \
	X(COMMAND_SLOTS, "commands that timed out before keep their slots",                        \
	  "\"Will cause a leak of a command resource\" came before")                               \
	X(COMMAND_LATE, "an interrupt was lost", "\"recovered after timeout\", and it goes on")    \
	X(NO_START, "the card protects itself after it was too hot", "high temperature before")    \
	X(NO_START, "the device is gone from PCIe", "firmware version 65535.65535.65535")          \
	X(COMMAND_REFUSED, "attributes the device or its firmware does not have",                  \
	  "fails each time; other firmware passes")                                                \
	X(COMMAND_REFUSED, "driver and firmware of different ages", "after an update of one")      \
	X(COMMAND_STATE, "objects used in the wrong order, or after the device was reset",         \
	  "messages before it")                                                                    \
	X(COMMAND_LIMITS, "memory keys or queues leaked, or simply too many",                      \
	  "rdma resource show; passes after a restart")

#define BSN_CAUSE_ENUM(NAME, detected, reported, step, basis, meaning, attempt, source)            \
	TOPIC_##NAME,
enum topic { TOPICS(BSN_CAUSE_ENUM) TOPIC_COUNT };
#undef BSN_CAUSE_ENUM

#endif
