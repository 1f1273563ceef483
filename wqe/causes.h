/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The topic in topics.h of each number, event and line of a driver. bsn_syndrome.h has the numbers
 * and what they mean.
 */
#ifndef BSN_WQE_CAUSES_H
#define BSN_WQE_CAUSES_H

#include <stdbool.h>
#include <stdint.h>

#include "bsn_syndrome.h"
#include "topics.h"

/* Vendor syndromes except the TPT bases: X(NAME, topic, its syndrome or ANY) */
#define VENDOR_TOPICS(X)                                                                           \
	X(NO_ERROR, NOTHING, ANY)                                                                  \
	X(CQ_INVALID, CQ_BROKEN, ANY)                                                              \
	X(CQ_OVERFLOW, CQ_FULL, ANY)                                                               \
	X(CQ_MEMORY, CQ_BROKEN, ANY)                                                               \
	X(CQ_NETWORK, CQ_BROKEN, ANY)                                                              \
	X(CQ_IN_ERROR, CQ_BROKEN, ANY)                                                             \
	X(CQ_LOCKED, CQ_BROKEN, ANY)                                                               \
	X(CQ_INVALID_FATAL, CQ_BROKEN, ANY)                                                        \
	X(CQ_OVERFLOW_FATAL, CQ_FULL, ANY)                                                         \
	X(CQ_TPT_FATAL, CQ_BROKEN, ANY)                                                            \
	X(CQ_NETWORK_FATAL, CQ_BROKEN, ANY)                                                        \
	X(CQ_IN_ERROR_FATAL, CQ_BROKEN, ANY)                                                       \
	X(CQ_LOCKED_FATAL, CQ_BROKEN, ANY)                                                         \
	X(WAIT_FAILED, WAIT, ANY)                                                                  \
	X(PSV_INVALID, SIGNATURE, ANY)                                                             \
	X(SIGNATURE, SIGNATURE, ANY)                                                               \
	X(RESILIENCE, OFFLOAD, ANY)                                                                \
	X(WQE_FORMAT, BAD_WQE, LOCAL_QP_OPERATION)                                                 \
	X(MESSAGE_TOO_LONG, TOO_LONG, ANY)                                                         \
	X(LONGER_THAN_MTU, TOO_LONG, ANY)                                                          \
	X(UD_PD, UD_ADDRESS, LOCAL_QP_OPERATION)                                                   \
	X(UD_PORT, UD_ADDRESS, LOCAL_QP_OPERATION)                                                 \
	X(OPCODE_TRANSPORT, WRONG_OPERATION, LOCAL_QP_OPERATION)                                   \
	X(DS_TOO_SHORT, BAD_WQE, LOCAL_QP_OPERATION)                                               \
	X(INLINE_PAST_END, BAD_WQE, LOCAL_QP_OPERATION)                                            \
	X(INLINE_IN_SCATTER, BAD_WQE, LOCAL_QP_OPERATION)                                          \
	X(RESERVED_OPCODE, BAD_WQE, LOCAL_QP_OPERATION)                                            \
	X(RDB_BUS, BUS, ANY)                                                                       \
	X(GATHER_BUS, BUS, ANY)                                                                    \
	X(UD_RESERVED_GID, UD_ADDRESS, LOCAL_QP_OPERATION)                                         \
	X(UD_LID_GID, UD_ADDRESS, LOCAL_QP_OPERATION)                                              \
	X(UD_RESERVED_KEY, UD_ADDRESS, LOCAL_QP_OPERATION)                                         \
	X(GLC_TOO_LONG, BAD_WQE, LOCAL_QP_OPERATION)                                               \
	X(TIMEOUT, PEER_SILENT, RETRY_EXCEEDED)                                                    \
	X(TIMEOUT_EXCEEDED, PEER_SILENT, RETRY_EXCEEDED)                                           \
	X(IMPLICIT_NAK, PACKETS_LOST, RETRY_EXCEEDED)                                              \
	X(IMPLICIT_NAK_EXCEEDED, PACKETS_LOST, RETRY_EXCEEDED)                                     \
	X(SEQUENCE_NAK, PACKETS_LOST, RETRY_EXCEEDED)                                              \
	X(SEQUENCE_NAK_EXCEEDED, PACKETS_LOST, RETRY_EXCEEDED)                                     \
	X(REQUESTER_SEQUENCE, BAD_ANSWER, ANY)                                                     \
	X(RNR_EXCEEDED, NO_RECEIVE, RNR_RETRY_EXCEEDED)                                            \
	X(REMOTE_ACCESS_NAK, REMOTE_KEY, REMOTE_ACCESS)                                            \
	X(REMOTE_OPERATION_NAK, REMOTE_FAILED, REMOTE_OPERATION)                                   \
	X(INVALID_REQUEST_NAK, REMOTE_REFUSED, REMOTE_INVALID_REQUEST)                             \
	X(BAD_AETH, BAD_ANSWER, ANY)                                                               \
	X(OPCODE_INVALID, BAD_ANSWER, ANY)                                                         \
	X(RESPONDER_SEQUENCE, BAD_ANSWER, ANY)                                                     \
	X(MTU_VIOLATION, MTU, ANY)                                                                 \
	X(SRQ_UNAVAILABLE, RECEIVE_EMPTY, ANY)                                                     \
	X(READ_NOT_PERMITTED, REMOTE_REFUSED, ANY)                                                 \
	X(ATOMIC_NOT_PERMITTED, REMOTE_REFUSED, ANY)                                               \
	X(WRITE_NOT_PERMITTED, REMOTE_REFUSED, ANY)                                                \
	X(ODP_PAGE_FAULT, PAGE_FAULT, REMOTE_ABORTED)                                              \
	X(PSN, PACKETS_LOST, ANY)                                                                  \
	X(SUSPENDED, SUSPENDED, ANY)                                                               \
	X(SUSPENDED_NACK, SUSPENDED, ANY)                                                          \
	X(RETRY_COUNTER, PEER_SILENT, RETRY_EXCEEDED)                                              \
	X(VIRTIO_FETCHER, OFFLOAD, ANY)                                                            \
	X(REMOTE_ABORT, PEER_ABORTED, ANY)                                                         \
	X(SRCD, BAD_ANSWER, ANY)                                                                   \
	X(SRC_SRQ_SEQUENCE, BAD_ANSWER, ANY)                                                       \
	X(NVME_EMULATION, OFFLOAD, ANY)                                                            \
	X(GGA, OFFLOAD, ANY)                                                                       \
	X(ACE, OFFLOAD, ANY)                                                                       \
	X(GTA, OFFLOAD, ANY)                                                                       \
	X(CREDITS_READ, QUEUE_MEMORY, ANY)                                                         \
	X(ATOMIC_ALIGNMENT, LIMITS, ANY)                                                           \
	X(TOO_MANY_RD_ATOMIC, LIMITS, ANY)                                                         \
	X(RD_ATOMIC_TOO_LONG, LIMITS, ANY)                                                         \
	X(SEND_TOO_LONG, RECEIVE_TOO_SHORT, LOCAL_LENGTH)                                          \
	X(WRITE_TOO_LONG, LIMITS, ANY)                                                             \
	X(WORK_QUEUE_EMPTY, RECEIVE_EMPTY, ANY)                                                    \
	X(WORK_QUEUE_EXHAUSTED, RECEIVE_EMPTY, ANY)                                                \
	X(WQE_READ_BUS, BUS, ANY)                                                                  \
	X(ATOMIC_WRITE_FAILED, RESPONDER_MEMORY, ANY)                                              \
	X(READ_RESPONSE_LENGTH, BAD_ANSWER, ANY)                                                   \
	X(WRITE_IMM_TOO_LONG, LIMITS, ANY)                                                         \
	X(NEXT_WQE_BUS, BUS, ANY)                                                                  \
	X(ODP_HARDWARE, PAGE_FAULT, ANY)                                                           \
	X(DC_CLEANUP, DC_REFUSED, ANY)                                                             \
	X(SL_DIFFERS, DROPPED, ANY)                                                                \
	X(OFFLOAD_WQE_EXHAUSTED, RECEIVE_EMPTY, ANY)                                               \
	X(OFFLOAD_TOO_LONG, RECEIVE_TOO_SHORT, ANY)                                                \
	X(EXECUTION_RESPONSE, OFFLOAD, ANY)                                                        \
	X(PACKET_DISCARDED, DROPPED, ANY)                                                          \
	X(DC_RECONNECT, DC_REFUSED, ANY)                                                           \
	X(DC_CNAK, DC_REFUSED, ANY)                                                                \
	X(DC_RECONNECT_ACK, DC_REFUSED, ANY)                                                       \
	X(PAIR_QP, FLUSHED, FLUSHED)                                                               \
	X(TO_ERROR, FLUSHED_BY_COMMAND, FLUSHED)                                                   \
	X(TO_RESET, FLUSHED_BY_COMMAND, FLUSHED)                                                   \
	X(CONNECTION_ENDED, FLUSHED, FLUSHED)                                                      \
	X(QP_DESTROYED, FLUSHED_BY_COMMAND, FLUSHED)                                               \
	X(FLUSHED_IN_ERROR, FLUSHED, FLUSHED)                                                      \
	X(ENDED_TO_ERROR, FLUSHED, FLUSHED)                                                        \
	X(DC_CACK, DC_REFUSED, ANY)                                                                \
	X(DC_CNAK_EXCEEDED, DC_REFUSED, ANY)                                                       \
	X(RQ_DRAINED, DRAINED, ANY)                                                                \
	X(ACCELERATOR, OFFLOAD, ANY)                                                               \
	X(URB, OFFLOAD, ANY)

/*
 * TPT bases: X(NAME, side that detects it, side whose CQE it is, step, its syndrome or ANY, topics
 * of the details PD, RIGHTS, LENGTH). The topics of other details do not depend on the base.
 */
#define TPT_TOPICS(X)                                                                              \
	X(TPT_WQE_FETCH, EITHER, EITHER, WQE_FETCH, LOCAL_QP_OPERATION, QUEUE_MEMORY,              \
	  QUEUE_MEMORY, QUEUE_MEMORY)                                                              \
	X(TPT_ATOMIC, RESPONDER, REQUESTER, REMOTE, ANY, RESPONDER_MEMORY, RESPONDER_MEMORY,       \
	  RESPONDER_MEMORY)                                                                        \
	X(TPT_RDMA_READ, RESPONDER, REQUESTER, REMOTE, ANY, RESPONDER_MEMORY, RESPONDER_MEMORY,    \
	  RESPONDER_MEMORY)                                                                        \
	X(TPT_RECV, RESPONDER, RESPONDER, SCATTER, LOCAL_PROTECTION, RECEIVE_KEY, RECEIVE_KEY,     \
	  RECEIVE_KEY)                                                                             \
	X(TPT_DATA, EITHER, EITHER, SCATTER, ANY, LKEY, LKEY_RIGHTS, LKEY_RANGE)                   \
	X(TPT_RDMA_WRITE, RESPONDER, REQUESTER, REMOTE, ANY, RESPONDER_MEMORY, RESPONDER_MEMORY,   \
	  RESPONDER_MEMORY)                                                                        \
	X(TPT_GATHER, REQUESTER, REQUESTER, GATHER, LOCAL_PROTECTION, LKEY, LKEY_RIGHTS,           \
	  LKEY_RANGE)                                                                              \
	X(TPT_RDB, RESPONDER, RESPONDER, WQE_FETCH, ANY, QUEUE_MEMORY, QUEUE_MEMORY, QUEUE_MEMORY) \
	X(TPT_FAST_REGISTER, REQUESTER, REQUESTER, KEY, ANY, KEY_CHANGE, KEY_CHANGE, KEY_CHANGE)   \
	X(TPT_WRITE_IMM, RESPONDER, REQUESTER, REMOTE, ANY, RESPONDER_MEMORY, RESPONDER_MEMORY,    \
	  RESPONDER_MEMORY)                                                                        \
	X(TPT_INVALIDATE, EITHER, EITHER, KEY, ANY, KEY_CHANGE, KEY_CHANGE, KEY_CHANGE)

/* The other details of TPT bases: X(NAME, topic) */
#define DETAIL_TOPICS(X)                                                                           \
	X(UNKNOWN, TRANSLATION)                                                                    \
	X(PCIE, BUS)                                                                               \
	X(ENCRYPTION, ENCRYPTION)                                                                  \
	X(PAGE_FAULT, PAGE_FAULT)                                                                  \
	X(INTERNAL, TRANSLATION)

/* Syndromes whose vendor syndrome is unknown: X(NAME, topic) */
#define SYNDROME_TOPICS(X)                                                                         \
	X(SUCCESS, NOTHING)                                                                        \
	X(LOCAL_LENGTH, LENGTH)                                                                    \
	X(LOCAL_QP_OPERATION, BAD_WQE)                                                             \
	X(LOCAL_EE_OPERATION, RELIABLE_DATAGRAM)                                                   \
	X(LOCAL_PROTECTION, LOCAL_KEY)                                                             \
	X(FLUSHED, FLUSHED)                                                                        \
	X(MW_BIND, KEY_CHANGE)                                                                     \
	X(BAD_RESPONSE, BAD_ANSWER)                                                                \
	X(LOCAL_ACCESS, LOCAL_WRITE)                                                               \
	X(REMOTE_INVALID_REQUEST, REMOTE_REFUSED)                                                  \
	X(REMOTE_ACCESS, REMOTE_KEY)                                                               \
	X(REMOTE_OPERATION, REMOTE_FAILED)                                                         \
	X(RETRY_EXCEEDED, PEER_SILENT)                                                             \
	X(RNR_RETRY_EXCEEDED, NO_RECEIVE)                                                          \
	X(LOCAL_RDD_VIOLATION, RELIABLE_DATAGRAM)                                                  \
	X(REMOTE_INVALID_RD_REQUEST, RELIABLE_DATAGRAM)                                            \
	X(REMOTE_ABORTED, PEER_ABORTED)                                                            \
	X(INVALID_EEC_NUMBER, RELIABLE_DATAGRAM)                                                   \
	X(INVALID_EEC_STATE, RELIABLE_DATAGRAM)

/* Topics that differ if this side has the completion: X(topic, side, topic of that side) */
#define SIDE_TOPICS(X)                                                                             \
	X(LENGTH, REQUESTER, TOO_LONG)                                                             \
	X(LENGTH, RESPONDER, RECEIVE_TOO_SHORT)                                                    \
	X(LOCAL_KEY, RESPONDER, RECEIVE_KEY)                                                       \
	X(LKEY, RESPONDER, RECEIVE_KEY)                                                            \
	X(LKEY_RIGHTS, RESPONDER, RECEIVE_KEY)                                                     \
	X(LKEY_RANGE, RESPONDER, RECEIVE_KEY)

/* A note for one operation: X(topic, WQE opcode, note) */
#define OPCODE_NOTES(X)                                                                            \
	X(REMOTE_KEY, RDMA_WRITE, "a WRITE needs IBV_ACCESS_REMOTE_WRITE of the region")           \
	X(REMOTE_KEY, RDMA_WRITE_IMM, "a WRITE needs IBV_ACCESS_REMOTE_WRITE of the region")       \
	X(REMOTE_KEY, RDMA_READ, "a READ needs IBV_ACCESS_REMOTE_READ of the region")              \
	X(REMOTE_KEY, ATOMIC_CS, "an atomic needs IBV_ACCESS_REMOTE_ATOMIC of the region")         \
	X(REMOTE_KEY, ATOMIC_FA, "an atomic needs IBV_ACCESS_REMOTE_ATOMIC of the region")         \
	X(REMOTE_KEY, SEND_INVAL, "the key may be the one that the message is to invalidate")      \
	X(REMOTE_REFUSED, RDMA_WRITE, "a WRITE needs IBV_ACCESS_REMOTE_WRITE of the QP")           \
	X(REMOTE_REFUSED, RDMA_READ, "a READ needs IBV_ACCESS_REMOTE_READ of the QP")              \
	X(REMOTE_REFUSED, ATOMIC_CS, "an atomic needs the QP's right, and raddr a multiple of 8")  \
	X(REMOTE_REFUSED, ATOMIC_FA, "an atomic needs the QP's right, and raddr a multiple of 8")  \
	X(REMOTE_REFUSED, SEND, "a SEND is refused where the receive it met is shorter")           \
	X(REMOTE_REFUSED, SEND_IMM, "a SEND is refused where the receive it met is shorter")       \
	X(NO_RECEIVE, RDMA_WRITE, "a WRITE without immediate takes no receive: see the WQE")       \
	X(NO_RECEIVE, RDMA_READ, "a READ takes no receive: see the WQE")                           \
	X(LKEY_RIGHTS, RDMA_READ, "a READ writes here: it needs IBV_ACCESS_LOCAL_WRITE")           \
	X(LKEY_RIGHTS, ATOMIC_CS, "an atomic writes here: it needs IBV_ACCESS_LOCAL_WRITE")        \
	X(LKEY_RIGHTS, ATOMIC_FA, "an atomic writes here: it needs IBV_ACCESS_LOCAL_WRITE")        \
	X(LKEY_RIGHTS, RDMA_WRITE, "a WRITE only reads here: then it is the length")               \
	X(LKEY_RIGHTS, SEND, "a SEND only reads here: then it is the length")

/*
 * Words by which people search for an error: X(number space, NAME, word that must be there, words
 * that may be there)
 */
#define NICKNAMES(X)                                                                               \
	X(SYNDROME, LOCAL_PROTECTION, "lkey", "wrong bad invalid")                                 \
	X(SYNDROME, LOCAL_LENGTH, "truncated", "message")                                          \
	X(SYNDROME, MW_BIND, "window", "memory")                                                   \
	X(SYNDROME, MW_BIND, "umr", "")                                                            \
	X(SYNDROME, REMOTE_ACCESS, "rkey", "wrong bad invalid")                                    \
	X(SYNDROME, RETRY_EXCEEDED, "response", "no")                                              \
	X(SYNDROME, RNR_RETRY_EXCEEDED, "ready", "receiver not")                                   \
	X(SYNDROME, RNR_RETRY_EXCEEDED, "posted", "no receive")                                    \
	X(VENDOR, WQE_FORMAT, "wqe", "bad wrong invalid")                                          \
	X(VENDOR, CQ_OVERFLOW, "overrun", "cq")                                                    \
	X(VENDOR, CQ_OVERFLOW, "full", "cq")                                                       \
	X(VENDOR, SRQ_UNAVAILABLE, "srq", "empty")                                                 \
	X(VENDOR, ODP_PAGE_FAULT, "odp", "")

/* Verbs statuses without a syndrome (BSN_SYNDROME_STATUSES has the others): X(NAME, topic) */
#define STATUS_TOPICS(X)                                                                           \
	X(SUCCESS, NOTHING)                                                                        \
	X(LOC_EEC_OP_ERR, RELIABLE_DATAGRAM)                                                       \
	X(LOC_RDD_VIOL_ERR, RELIABLE_DATAGRAM)                                                     \
	X(REM_INV_RD_REQ_ERR, RELIABLE_DATAGRAM)                                                   \
	X(INV_EECN_ERR, RELIABLE_DATAGRAM)                                                         \
	X(INV_EEC_STATE_ERR, RELIABLE_DATAGRAM)                                                    \
	X(FATAL_ERR, NOT_OURS)                                                                     \
	X(RESP_TIMEOUT_ERR, NOT_OURS)                                                              \
	X(GENERAL_ERR, GENERAL)                                                                    \
	X(TM_ERR, TAG_MATCHING)                                                                    \
	X(TM_RNDV_INCOMPLETE, TAG_MATCHING)

/* Health syndromes: X(NAME, topic) */
#define HEALTH_TOPICS(X)                                                                           \
	X(FW_INTERNAL, FIRMWARE)                                                                   \
	X(DEAD_IRISC, FIRMWARE)                                                                    \
	X(HW_FATAL, HARDWARE)                                                                      \
	X(FW_CRC, FIRMWARE)                                                                        \
	X(ICM_FETCH_PCI, HOST_BUS)                                                                 \
	X(ICM_PAGE, HOST_BUS)                                                                      \
	X(ASYNC_EQ_OVERRUN, EVENT_QUEUE)                                                           \
	X(EQ_IN_ERROR, EVENT_QUEUE)                                                                \
	X(EQ_INVALID, EVENT_QUEUE)                                                                 \
	X(FFSER, HARDWARE)                                                                         \
	X(HIGH_TEMPERATURE, TEMPERATURE)                                                           \
	X(ICM_PCI_POISONED, HOST_BUS)                                                              \
	X(TRUST_LOCKDOWN, FIRMWARE)

/* Command statuses: X(NAME, topic) */
#define COMMAND_TOPICS(X)                                                                          \
	X(OK, NOTHING)                                                                             \
	X(INTERNAL, COMMAND_FAILED)                                                                \
	X(BAD_OPERATION, COMMAND_REFUSED)                                                          \
	X(BAD_PARAMETER, COMMAND_REFUSED)                                                          \
	X(BAD_SYSTEM_STATE, COMMAND_STATE)                                                         \
	X(BAD_RESOURCE, COMMAND_STATE)                                                             \
	X(RESOURCE_BUSY, COMMAND_STATE)                                                            \
	X(LIMIT, COMMAND_LIMITS)                                                                   \
	X(BAD_RESOURCE_STATE, COMMAND_STATE)                                                       \
	X(BAD_INDEX, COMMAND_REFUSED)                                                              \
	X(NO_RESOURCES, COMMAND_LIMITS)                                                            \
	X(BAD_QP_STATE, COMMAND_STATE)                                                             \
	X(BAD_PACKET, COMMAND_REFUSED)                                                             \
	X(BAD_SIZE_OUTSTANDING_CQES, COMMAND_STATE)                                                \
	X(BAD_INPUT_LENGTH, COMMAND_REFUSED)                                                       \
	X(BAD_OUTPUT_LENGTH, COMMAND_REFUSED)

/*
 * Lines of drivers, by their words: X(status of the record, field that selects or NULL, its
 * value, topic, source). The first row that fits counts.
 */
#define DRIVER_EVENTS(X)                                                                           \
	X("CQ error", "event_syndrome", 1, CQ_FULL, "PRM: CQ error event")                         \
	X("CQ error", "event_syndrome", 2, CQ_MEMORY, "PRM: CQ error event")                       \
	X("TX timeout", NULL, 0, SEND_STALLED, "Linux mlx5 en/reporter_tx.c")                      \
	X("health compromised", NULL, 0, SILENT, "Linux mlx5 health.c poll_health()")              \
	X("fatal error", "sensor", 1, UNREACHABLE, "Linux mlx5 health.c")                          \
	X("fatal error", "sensor", 2, UNREACHABLE, "Linux mlx5 health.c")                          \
	X("fatal error", "sensor", 3, SWITCHED_OFF, "Linux mlx5 health.c")                         \
	X("fatal error", "sensor", 4, SWITCHED_OFF, "Linux mlx5 health.c")                         \
	X("fatal error", "sensor", 5, FIRMWARE, "Linux mlx5 health.c")                             \
	X("registers read as ones", NULL, 0, UNREACHABLE, "Linux mlx5 health.c")                   \
	X("recovery aborted", NULL, 0, UNREACHABLE, "Linux mlx5 health.c")                         \
	X("recovery failed", NULL, 0, FIRMWARE, "Linux mlx5 health.c")                             \
	X("high temperature", NULL, 0, TEMPERATURE, "Linux mlx5 events.c temp_warn()")             \
	X("insufficient power", NULL, 0, POWER, "Linux mlx5 events.c mlx5_pcie_event()")           \
	X("module error", NULL, 0, MODULE, "Linux mlx5 events.c port_module()")                    \
	X("firmware does not start", NULL, 0, NO_START, "Linux mlx5 main.c wait_fw_init()")        \
	X("timeout", NULL, 0, COMMAND_SILENT, "Linux mlx5 cmd.c wait_func()")                      \
	X("no slot", NULL, 0, COMMAND_SLOTS, "Linux mlx5 cmd.c cmd_work_handler()")                \
	X("late", NULL, 0, COMMAND_LATE, "Linux mlx5 cmd.c")

/*
 * Asynchronous events of verbs: X(NAME, words of ibv_event_type_str(3), whose event it is, topic).
 * Source: verbs.h enum ibv_event_type, which has them in this order
 */
#define ASYNC_EVENTS(X)                                                                            \
	X(CQ_ERR, "CQ error", UNKNOWN, CQ_LOST)                                                    \
	X(QP_FATAL, "local work queue catastrophic error", UNKNOWN, QP_LOST)                       \
	X(QP_REQ_ERR, "invalid request local work queue error", RESPONDER, QP_REQUEST)             \
	X(QP_ACCESS_ERR, "local access violation work queue error", RESPONDER, QP_ACCESS)          \
	X(COMM_EST, "communication established", RESPONDER, QP_STATE)                              \
	X(SQ_DRAINED, "send queue drained", REQUESTER, QP_STATE)                                   \
	X(PATH_MIG, "path migrated", UNKNOWN, QP_STATE)                                            \
	X(PATH_MIG_ERR, "path migration request error", UNKNOWN, NO_PATH)                          \
	X(DEVICE_FATAL, "local catastrophic error", UNKNOWN, DEVICE_LOST)                          \
	X(PORT_ACTIVE, "port active", UNKNOWN, PORT_CHANGED)                                       \
	X(PORT_ERR, "port error", UNKNOWN, PORT_DOWN)                                              \
	X(LID_CHANGE, "LID change", UNKNOWN, PORT_CHANGED)                                         \
	X(PKEY_CHANGE, "P_Key change", UNKNOWN, PORT_CHANGED)                                      \
	X(SM_CHANGE, "SM change", UNKNOWN, PORT_CHANGED)                                           \
	X(SRQ_ERR, "SRQ catastrophic error", RESPONDER, QUEUE_MEMORY)                              \
	X(SRQ_LIMIT_REACHED, "SRQ limit reached", RESPONDER, RECEIVES_LOW)                         \
	X(QP_LAST_WQE_REACHED, "last WQE reached", RESPONDER, LAST_RECEIVE)                        \
	X(CLIENT_REREGISTER, "client reregistration", UNKNOWN, PORT_CHANGED)                       \
	X(GID_CHANGE, "GID table change", UNKNOWN, PORT_CHANGED)                                   \
	X(WQ_FATAL, "WQ fatal", UNKNOWN, QP_LOST)

/*
 * Other words for these events: X(words, NAME). Source: the kernel's
 * drivers/infiniband/core/verbs.c ib_events; UCX's ib_device.c, for DCTs too
 */
#define EVENT_WORDS(X)                                                                             \
	X("QP fatal error", QP_FATAL)                                                              \
	X("QP request error", QP_REQ_ERR)                                                          \
	X("QP access error", QP_ACCESS_ERR)                                                        \
	X("DCT access error", QP_ACCESS_ERR)                                                       \
	X("DCT key violation", QP_ACCESS_ERR)                                                      \
	X("DCT requester error", QP_REQ_ERR)                                                       \
	X("was flushed", QP_LAST_WQE_REACHED)                                                      \
	X("device fatal error", DEVICE_FATAL)                                                      \
	X("path migration successful", PATH_MIG)                                                   \
	X("path migration error", PATH_MIG_ERR)                                                    \
	X("SRQ error", SRQ_ERR)                                                                    \
	X("client reregister", CLIENT_REREGISTER)                                                  \
	X("GID changed", GID_CHANGE)

/* The kernel's words for health syndromes: X(words, NAME). Source: health.c hsynd_str() */
#define HEALTH_WORDS(X)                                                                            \
	X("firmware internal error", FW_INTERNAL)                                                  \
	X("irisc not responding", DEAD_IRISC)                                                      \
	X("unrecoverable hardware error", HW_FATAL)                                                \
	X("firmware CRC error", FW_CRC)                                                            \
	X("ICM fetch PCI error", ICM_FETCH_PCI)                                                    \
	X("HW fatal error", ICM_PAGE)                                                              \
	X("async EQ buffer overrun", ASYNC_EQ_OVERRUN)                                             \
	X("EQ error", EQ_IN_ERROR)                                                                 \
	X("Invalid EQ referenced", EQ_INVALID)                                                     \
	X("FFSER error", FFSER)                                                                    \
	X("High temperature", HIGH_TEMPERATURE)                                                    \
	X("ICM fetch PCI data poisoned error", ICM_PCI_POISONED)                                   \
	X("Trust lockdown error", TRUST_LOCKDOWN)

#define BSN_SYNDROME_ANY -1

/** struct code - what is known of a number; topic 0 is TOPIC_NOTHING */
struct code {
	bool is_known;
	uint8_t topic;
	int16_t syndrome; /* that the vendor syndrome comes with, or BSN_SYNDROME_ANY */
};

/* Whose completion it is; equals enum record_side of wqe-dump. */
enum cause_side { SIDE_OF_NOBODY, SIDE_OF_REQUESTER, SIDE_OF_RESPONDER };

struct code bsn_cause_of_vendor(uint32_t vendor);
struct code bsn_cause_of_syndrome(uint32_t syndrome);
struct code bsn_cause_of_status(uint32_t status);

/* The topic if this side has the completion. */
enum topic bsn_cause_at(enum topic topic, enum cause_side side);

/* What the topic means; its likeliest cause, or NULL. */
const char *bsn_cause_meaning(enum topic topic);
const char *bsn_cause_likeliest(enum topic topic);

/* The note for an operation (enum bsn_wqe_opcode), or NULL. */
const char *bsn_cause_note(enum topic topic, uint64_t opcode);

#endif
