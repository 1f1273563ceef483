/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A part of bsn_decode.h, which programs include.
 *
 * Why a request failed: the two numbers of an error CQE. The syndrome is the class of error, which
 * verbs reports as a status. The vendor syndrome names the cause. Neither the PRM nor any driver
 * lists vendor syndromes, so each meaning says how it is known (enum bsn_source).
 */
#ifndef BSN_SYNDROME_H
#define BSN_SYNDROME_H

#include "bsn_seg.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Syndromes: X(NAME, value, doc). Source: mlx5dv.h MLX5_CQE_SYNDROME_*; of those marked "libdpcp",
 * only its table of errors.
 */
#define BSN_SYNDROMES(X)                                                                           \
	X(SUCCESS, 0x00, "no error (libdpcp)")                                                     \
	X(LOCAL_LENGTH, 0x01, "message longer than the receive buffer, or malformed locally")      \
	X(LOCAL_QP_OPERATION, 0x02, "the QP cannot do what its WQE asks for")                      \
	X(LOCAL_EE_OPERATION, 0x03, "the EE context cannot do it (libdpcp)")                       \
	X(LOCAL_PROTECTION, 0x04, "a local key, its range, rights or PD")                          \
	X(FLUSHED, 0x05, "the QP was in error before this work was reached")                       \
	X(MW_BIND, 0x06, "binding a window or changing an mkey")                                   \
	X(BAD_RESPONSE, 0x10, "the responder answered with something else")                        \
	X(LOCAL_ACCESS, 0x11, "data received could not be written as the local key allows")        \
	X(REMOTE_INVALID_REQUEST, 0x12, "the responder does not take such a request")              \
	X(REMOTE_ACCESS, 0x13, "the responder's key, its range, rights or PD")                     \
	X(REMOTE_OPERATION, 0x14, "the responder failed by itself")                                \
	X(RETRY_EXCEEDED, 0x15, "no answer, retries used up")                                      \
	X(RNR_RETRY_EXCEEDED, 0x16, "the responder had no receive posted, retries used up")        \
	X(LOCAL_RDD_VIOLATION, 0x20, "reliable datagram domain (libdpcp)")                         \
	X(REMOTE_INVALID_RD_REQUEST, 0x21, "invalid reliable datagram request (libdpcp)")          \
	X(REMOTE_ABORTED, 0x22, "the responder aborted")                                           \
	X(INVALID_EEC_NUMBER, 0x23, "EE context number (libdpcp)")                                 \
	X(INVALID_EEC_STATE, 0x24, "EE context state (libdpcp)")

#define BSN_ENUM_SYNDROME(name, value, doc) BSN_SYNDROME_##name = value,
enum bsn_syndrome { BSN_SYNDROMES(BSN_ENUM_SYNDROME) };
#undef BSN_ENUM_SYNDROME

/* Statuses of verbs: X(NAME, value, doc). Source: libibverbs' verbs.h enum ibv_wc_status */
#define BSN_STATUSES(X)                                                                            \
	X(SUCCESS, 0, "no error")                                                                  \
	X(LOC_LEN_ERR, 1, "local length")                                                          \
	X(LOC_QP_OP_ERR, 2, "operation of the local QP")                                           \
	X(LOC_EEC_OP_ERR, 3, "reliable datagram: operation of the local EE context")               \
	X(LOC_PROT_ERR, 4, "local protection")                                                     \
	X(WR_FLUSH_ERR, 5, "flushed")                                                              \
	X(MW_BIND_ERR, 6, "memory window")                                                         \
	X(BAD_RESP_ERR, 7, "bad response")                                                         \
	X(LOC_ACCESS_ERR, 8, "local access")                                                       \
	X(REM_INV_REQ_ERR, 9, "remote: invalid request")                                           \
	X(REM_ACCESS_ERR, 10, "remote: access")                                                    \
	X(REM_OP_ERR, 11, "remote: operation")                                                     \
	X(RETRY_EXC_ERR, 12, "no answer, retries used up")                                         \
	X(RNR_RETRY_EXC_ERR, 13, "no receive at the responder, retries used up")                   \
	X(LOC_RDD_VIOL_ERR, 14, "reliable datagram: wrong domain")                                 \
	X(REM_INV_RD_REQ_ERR, 15, "reliable datagram: invalid request at the responder")           \
	X(REM_ABORT_ERR, 16, "remote: aborted")                                                    \
	X(INV_EECN_ERR, 17, "reliable datagram: number of the EE context")                         \
	X(INV_EEC_STATE_ERR, 18, "reliable datagram: state of the EE context")                     \
	X(FATAL_ERR, 19, "fatal")                                                                  \
	X(RESP_TIMEOUT_ERR, 20, "the answer came too late")                                        \
	X(GENERAL_ERR, 21, "any other error")                                                      \
	X(TM_ERR, 22, "tag matching")                                                              \
	X(TM_RNDV_INCOMPLETE, 23, "tag matching: the rendezvous is software's to finish")

#define BSN_ENUM_STATUS(name, value, doc) BSN_STATUS_##name = value,
enum bsn_status { BSN_STATUSES(BSN_ENUM_STATUS) };
#undef BSN_ENUM_STATUS

/*
 * The status of a syndrome: X(NAME of the syndrome, NAME of the status). All others become
 * GENERAL_ERR. Source: rdma-core providers/mlx5/cq.c mlx5_handle_error_cqe()
 */
#define BSN_SYNDROME_STATUSES(X)                                                                   \
	X(LOCAL_LENGTH, LOC_LEN_ERR)                                                               \
	X(LOCAL_QP_OPERATION, LOC_QP_OP_ERR)                                                       \
	X(LOCAL_PROTECTION, LOC_PROT_ERR)                                                          \
	X(FLUSHED, WR_FLUSH_ERR)                                                                   \
	X(MW_BIND, MW_BIND_ERR)                                                                    \
	X(BAD_RESPONSE, BAD_RESP_ERR)                                                              \
	X(LOCAL_ACCESS, LOC_ACCESS_ERR)                                                            \
	X(REMOTE_INVALID_REQUEST, REM_INV_REQ_ERR)                                                 \
	X(REMOTE_ACCESS, REM_ACCESS_ERR)                                                           \
	X(REMOTE_OPERATION, REM_OP_ERR)                                                            \
	X(RETRY_EXCEEDED, RETRY_EXC_ERR)                                                           \
	X(RNR_RETRY_EXCEEDED, RNR_RETRY_EXC_ERR)                                                   \
	X(REMOTE_ABORTED, REM_ABORT_ERR)

/** bsn_status_of_syndrome() - the enum bsn_status that verbs reports for a syndrome */
BSN_API uint8_t bsn_status_of_syndrome(uint32_t syndrome);

/**
 * bsn_syndrome_of_status() - the syndrome that becomes a status
 *
 * Return: enum bsn_syndrome; 0: no syndrome does, or several do.
 */
BSN_API uint8_t bsn_syndrome_of_status(uint32_t status);

/** bsn_status_name() - "IBV_WC_..." of a status, or NULL */
BSN_API const char *bsn_status_name(uint32_t status);

/* How a meaning is known: X(NAME, value, doc) */
#define BSN_SOURCES(X)                                                                             \
	X(UNKNOWN, 0, "nowhere stated")                                                            \
	X(LIBDPCP, 1, "table of NVIDIA libdpcp 1.1.59, src/dpcp/err_cqe.cpp")                      \
	X(MEASURED, 2, "libdpcp 1.1.59, and seen on ConnectX-5/6 under fault injection")           \
	X(RDMA_CORE, 3, "rdma-core mlx5dv.h, with syndrome 0x22 only")

#define BSN_ENUM_SOURCE(name, value, doc) BSN_SOURCE_##name = value,
enum bsn_source { BSN_SOURCES(BSN_ENUM_SOURCE) };
#undef BSN_ENUM_SOURCE

/*
 * What the check of a key found: the low 3 bits of a vendor syndrome whose base is marked T below
 */
#define BSN_TPT_DETAILS(X)                                                                         \
	X(UNKNOWN, 0, "not said")                                                                  \
	X(PCIE, 1, "the bus")                                                                      \
	X(PD, 2, "wrong protection domain")                                                        \
	X(RIGHTS, 3, "right missing, or length of the region passed")                              \
	X(LENGTH, 4, "length")                                                                     \
	X(ENCRYPTION, 5, "encryption")                                                             \
	X(PAGE_FAULT, 6, "master abort or page fault")                                             \
	X(INTERNAL, 7, "inside the translation unit")

#define BSN_ENUM_TPT(name, value, doc) BSN_TPT_##name = value,
enum bsn_tpt_detail { BSN_TPT_DETAILS(BSN_ENUM_TPT) };
#undef BSN_ENUM_TPT

/* 0xa0 to 0xbf: the responder had no receive; the low 5 bits are the RNR timer code. */
#define BSN_VENDOR_RNR_FIRST 0xa0
#define BSN_VENDOR_RNR_LAST  0xbf

/* The times of the 32 timer codes, in units of 10 us: IBTA "RNR NAK timer field values" */
#define BSN_RNR_TIMERS_10US                                                                        \
	65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024,   \
		1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152

/*
 * Vendor syndromes: X(NAME, value, doc). T(NAME, value, doc) is the first of eight, whose low bits
 * are an enum bsn_tpt_detail.
 */
#define BSN_VENDOR_SYNDROMES(X, T)                                                                 \
	X(NO_ERROR, 0x00, "no error was found")                                                    \
	T(TPT_WQE_FETCH, 0x10, "reading the WQE")                                                  \
	T(TPT_ATOMIC, 0x18, "memory of an atomic")                                                 \
	T(TPT_RDMA_READ, 0x20, "memory that a READ reads from")                                    \
	T(TPT_RECV, 0x28, "receive buffer")                                                        \
	T(TPT_DATA, 0x30, "data buffer: of a READ's result, or of data received")                  \
	T(TPT_RDMA_WRITE, 0x38, "memory that a WRITE writes to")                                   \
	X(CQ_INVALID, 0x40, "the CQ is not valid")                                                 \
	X(CQ_OVERFLOW, 0x41, "the CQ was full")                                                    \
	X(CQ_MEMORY, 0x42, "the CQ's buffer")                                                      \
	X(CQ_NETWORK, 0x43, "the CQ: network")                                                     \
	X(CQ_IN_ERROR, 0x44, "the CQ is in error")                                                 \
	X(CQ_LOCKED, 0x45, "the CQ is locked")                                                     \
	X(CQ_INVALID_FATAL, 0x48, "the CQ is not valid; QP to error")                              \
	X(CQ_OVERFLOW_FATAL, 0x49, "the CQ was full; QP to error")                                 \
	X(CQ_TPT_FATAL, 0x4a, "the CQ's buffer; QP to error")                                      \
	X(CQ_NETWORK_FATAL, 0x4b, "the CQ: network; QP to error")                                  \
	X(CQ_IN_ERROR_FATAL, 0x4c, "the CQ is in error; QP to error")                              \
	X(CQ_LOCKED_FATAL, 0x4d, "the CQ is locked; QP to error")                                  \
	T(TPT_GATHER, 0x50, "local memory to be sent, or window to be bound")                      \
	X(WAIT_FAILED, 0x58, "a wait operation")                                                   \
	X(PSV_INVALID, 0x59, "the protection state (PSV)")                                         \
	X(SIGNATURE, 0x5a, "a signature")                                                          \
	X(RESILIENCE, 0x5b, "connection resilience")                                               \
	T(TPT_RDB, 0x60, "reading the responder's work")                                           \
	X(WQE_FORMAT, 0x68, "the WQE is malformed")                                                \
	X(MESSAGE_TOO_LONG, 0x69, "message longer than the device sends")                          \
	X(LONGER_THAN_MTU, 0x6a, "datagram longer than the MTU")                                   \
	X(UD_PD, 0x6b, "datagram: protection domain of the address")                               \
	X(UD_PORT, 0x6c, "datagram: port of the address")                                          \
	X(OPCODE_TRANSPORT, 0x6d, "the transport lacks this operation")                            \
	X(DS_TOO_SHORT, 0x6e, "the WQE's length (DS) is less than its opcode needs")               \
	X(INLINE_PAST_END, 0x6f, "inline data pass the WQE's end")                                 \
	X(INLINE_IN_SCATTER, 0x70, "inline data where the device is to write")                     \
	X(RESERVED_OPCODE, 0x71, "reserved opcode")                                                \
	X(RDB_BUS, 0x72, "reading the work: bus error")                                            \
	X(GATHER_BUS, 0x73, "reading data to send: bus error")                                     \
	X(UD_RESERVED_GID, 0x74, "datagram: reserved GID")                                         \
	X(UD_LID_GID, 0x75, "datagram: LID and GID disagree")                                      \
	X(UD_RESERVED_KEY, 0x76, "datagram: reserved key")                                         \
	X(GLC_TOO_LONG, 0x77, "gather list longer than the WQE")                                   \
	T(TPT_FAST_REGISTER, 0x78, "fast memory registration")                                     \
	X(TIMEOUT, 0x80, "no answer")                                                              \
	X(TIMEOUT_EXCEEDED, 0x81, "no answer, retries used up")                                    \
	X(IMPLICIT_NAK, 0x82, "an answer was skipped")                                             \
	X(IMPLICIT_NAK_EXCEEDED, 0x83, "an answer was skipped, retries used up")                   \
	X(SEQUENCE_NAK, 0x84, "out of sequence")                                                   \
	X(SEQUENCE_NAK_EXCEEDED, 0x85, "out of sequence, retries used up")                         \
	X(REQUESTER_SEQUENCE, 0x86, "operations in an order that is not legal")                    \
	X(RNR_EXCEEDED, 0x87, "the responder had no receive posted, retries used up")              \
	X(REMOTE_ACCESS_NAK, 0x88, "the responder refused the key, its range, rights or PD")       \
	X(REMOTE_OPERATION_NAK, 0x89, "the responder failed by itself")                            \
	X(INVALID_REQUEST_NAK, 0x8a, "the responder does not take it: QP rights, too long")        \
	X(BAD_AETH, 0x8b, "malformed acknowledgement")                                             \
	X(OPCODE_INVALID, 0x8c, "packet opcode not valid")                                         \
	X(RESPONDER_SEQUENCE, 0x8d, "packets in an order that is not legal")                       \
	X(MTU_VIOLATION, 0x8e, "packet longer than the MTU")                                       \
	X(SRQ_UNAVAILABLE, 0x8f, "shared receive queue not available")                             \
	X(READ_NOT_PERMITTED, 0x90, "QP without remote read")                                      \
	X(ATOMIC_NOT_PERMITTED, 0x91, "QP without remote atomics")                                 \
	X(WRITE_NOT_PERMITTED, 0x92, "QP without remote write")                                    \
	X(ODP_PAGE_FAULT, 0x93, "on-demand paging fault")                                          \
	X(PSN, 0x94, "packet sequence number")                                                     \
	X(SUSPENDED, 0x95, "QP suspended")                                                         \
	X(SUSPENDED_NACK, 0x96, "QP suspended, NACK pending")                                      \
	X(RETRY_COUNTER, 0x97, "retries used up")                                                  \
	X(VIRTIO_FETCHER, 0x98, "virtio fetcher QP")                                               \
	X(REMOTE_ABORT, 0x99, "the peer aborted, message incomplete")                              \
	X(SRCD, 0x9a, "SRCD violation")                                                            \
	X(SRC_SRQ_SEQUENCE, 0x9b, "sequence of an SRC shared receive queue")                       \
	X(NVME_EMULATION, 0x9c, "NVMe emulation")                                                  \
	X(GGA, 0x9d, "GGA engine")                                                                 \
	X(ACE, 0x9e, "ACE engine")                                                                 \
	X(GTA, 0x9f, "GTA engine")                                                                 \
	T(TPT_WRITE_IMM, 0xc0, "memory that a WRITE with immediate writes to")                     \
	T(TPT_INVALIDATE, 0xc8, "key to invalidate")                                               \
	X(CREDITS_READ, 0xd0, "end-to-end credits could not be read")                              \
	X(ATOMIC_ALIGNMENT, 0xd1, "atomic on an address that is not aligned")                      \
	X(TOO_MANY_RD_ATOMIC, 0xd2, "more READs and atomics at once than agreed")                  \
	X(RD_ATOMIC_TOO_LONG, 0xd3, "READ or atomic longer than allowed")                          \
	X(SEND_TOO_LONG, 0xd4, "SEND or READ response longer than its buffers")                    \
	X(WRITE_TOO_LONG, 0xd5, "WRITE longer than allowed")                                       \
	X(WORK_QUEUE_EMPTY, 0xd6, "no work posted")                                                \
	X(WORK_QUEUE_EXHAUSTED, 0xd7, "work posted is used up")                                    \
	X(WQE_READ_BUS, 0xd8, "reading the WQE: bus error")                                        \
	X(ATOMIC_WRITE_FAILED, 0xd9, "atomic or WRITE failed")                                     \
	X(READ_RESPONSE_LENGTH, 0xda, "READ response of another length")                           \
	X(WRITE_IMM_TOO_LONG, 0xdb, "WRITE with immediate longer than allowed")                    \
	X(NEXT_WQE_BUS, 0xdc, "reading the next WQE's address: bus error")                         \
	X(ODP_HARDWARE, 0xdd, "on-demand paging hardware")                                         \
	X(DC_CLEANUP, 0xe0, "DC cleanup")                                                          \
	X(SL_DIFFERS, 0xe2, "packets differ in service level")                                     \
	X(OFFLOAD_WQE_EXHAUSTED, 0xe3, "offloaded QP: work used up")                               \
	X(OFFLOAD_TOO_LONG, 0xe4, "offloaded QP: too long")                                        \
	X(EXECUTION_RESPONSE, 0xe5, "execution response")                                          \
	X(PACKET_DISCARDED, 0xf0, "packet discarded")                                              \
	X(DC_RECONNECT, 0xf1, "DC reconnects")                                                     \
	X(DC_CNAK, 0xf2, "DC connection refused")                                                  \
	X(DC_RECONNECT_ACK, 0xf3, "DC reconnect acknowledged")                                     \
	X(PAIR_QP, 0xf4, "the paired QP")                                                          \
	X(TO_ERROR, 0xf5, "a command moved the QP to error")                                       \
	X(TO_RESET, 0xf6, "a command moved the QP from error to reset")                            \
	X(CONNECTION_ENDED, 0xf7, "the connection was ended")                                      \
	X(QP_DESTROYED, 0xf8, "a command destroyed the QP")                                        \
	X(FLUSHED_IN_ERROR, 0xf9, "the QP was in error already")                                   \
	X(ENDED_TO_ERROR, 0xfa, "ended; QP to error")                                              \
	X(DC_CACK, 0xfb, "DC connection acknowledged")                                             \
	X(DC_CNAK_EXCEEDED, 0xfc, "DC connection refused, retries used up")                        \
	X(RQ_DRAINED, 0xfd, "receive queue drained")                                               \
	X(ACCELERATOR, 0xfe, "inner accelerator")                                                  \
	X(URB, 0xff, "URB")

#define BSN_ENUM_VENDOR(name, value, doc) BSN_VENDOR_##name = value,
enum bsn_vendor_syndrome { BSN_VENDOR_SYNDROMES(BSN_ENUM_VENDOR, BSN_ENUM_VENDOR) };
#undef BSN_ENUM_VENDOR

/* Seen on ConnectX-5/6 over RoCE when a fault was injected (2026): X(value, the fault) */
#define BSN_VENDOR_MEASURED(X)                                                                     \
	X(0x33, "READ into a local region without the local write right")                          \
	X(0x52, "local key that does not exist")                                                   \
	X(0x53, "local buffer longer than its region")                                             \
	X(0x81, "peer QP in error, peer process killed or link down")                              \
	X(0x87, "SEND with no receive posted")                                                     \
	X(0x88, "remote key that does not exist or was deregistered, or address outside of it")    \
	X(0x8a, "WRITE to a QP that does not allow remote writes")                                 \
	X(0xf5, "flush after the program moved its QP to error")

/** struct bsn_vendor_meaning - what is known of a vendor syndrome */
struct bsn_vendor_meaning {
	const char *name;       /* NULL: no source explains the number */
	const char *doc;        /* the cause, or NULL */
	const char *detail;     /* what a key check found, or NULL */
	const char *measured;   /* the fault that gave it on a ConnectX, or NULL */
	enum bsn_source source; /* how this is known */
};

/**
 * bsn_vendor_explain() - the meaning of a vendor syndrome
 * @code: byte 54 of an error CQE, ibv_wc.vendor_err
 * @meaning: filled in all cases
 */
BSN_API void bsn_vendor_explain(uint32_t code, struct bsn_vendor_meaning *meaning);

/*
 * Two more kinds of numbers that logs call a syndrome or a status; no CQE has them.
 *
 * Health syndromes, of the device as a whole: X(NAME, value, doc). Source: the kernel's
 * mlx5_ifc.h MLX5_INITIAL_SEG_HEALTH_SYNDROME_*, printed by health.c.
 */
#define BSN_HEALTH_SYNDROMES(X)                                                                    \
	X(FW_INTERNAL, 0x01, "firmware failed an assertion")                                       \
	X(DEAD_IRISC, 0x07, "a processor inside does not answer")                                  \
	X(HW_FATAL, 0x08, "hardware, for good")                                                    \
	X(FW_CRC, 0x09, "checksum of the firmware image")                                          \
	X(ICM_FETCH_PCI, 0x0a, "reading its own host memory (ICM) failed on the bus")              \
	X(ICM_PAGE, 0x0b, "a page of its host memory (ICM)")                                       \
	X(ASYNC_EQ_OVERRUN, 0x0c, "the queue of asynchronous events was full")                     \
	X(EQ_IN_ERROR, 0x0d, "an event queue is in error")                                         \
	X(EQ_INVALID, 0x0e, "an event queue that does not exist")                                  \
	X(FFSER, 0x0f, "FFSER")                                                                    \
	X(HIGH_TEMPERATURE, 0x10, "too hot")                                                       \
	X(ICM_PCI_POISONED, 0x12, "its host memory (ICM) came poisoned from the bus")              \
	X(TRUST_LOCKDOWN, 0x13, "trust lockdown")

/*
 * Statuses of firmware commands: X(NAME, value, doc). Source: the kernel's device.h MLX5_CMD_STAT_*
 */
#define BSN_COMMAND_STATUSES(X)                                                                    \
	X(OK, 0x00, "done")                                                                        \
	X(INTERNAL, 0x01, "internal error")                                                        \
	X(BAD_OPERATION, 0x02, "no such command, or not for this function")                        \
	X(BAD_PARAMETER, 0x03, "bad parameter")                                                    \
	X(BAD_SYSTEM_STATE, 0x04, "not in this state of the device")                               \
	X(BAD_RESOURCE, 0x05, "no such object, or not of this kind")                               \
	X(RESOURCE_BUSY, 0x06, "object in use")                                                    \
	X(LIMIT, 0x08, "limits exceeded")                                                          \
	X(BAD_RESOURCE_STATE, 0x09, "not in this state of the object")                             \
	X(BAD_INDEX, 0x0a, "bad index")                                                            \
	X(NO_RESOURCES, 0x0f, "no resources left")                                                 \
	X(BAD_QP_STATE, 0x10, "not in this state of the QP")                                       \
	X(BAD_PACKET, 0x30, "bad management packet, dropped")                                      \
	X(BAD_SIZE_OUTSTANDING_CQES, 0x40, "more CQEs outstanding than the new size holds")        \
	X(BAD_INPUT_LENGTH, 0x50, "bad input length")                                              \
	X(BAD_OUTPUT_LENGTH, 0x51, "bad output length")

#define BSN_ENUM_HEALTH(name, value, doc) BSN_HEALTH_##name = value,
enum bsn_health_syndrome { BSN_HEALTH_SYNDROMES(BSN_ENUM_HEALTH) };
#undef BSN_ENUM_HEALTH
#define BSN_ENUM_COMMAND(name, value, doc) BSN_COMMAND_##name = value,
enum bsn_command_status { BSN_COMMAND_STATUSES(BSN_ENUM_COMMAND) };
#undef BSN_ENUM_COMMAND

#ifdef __cplusplus
}
#endif
#endif
