/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A part of bsn.h, which programs include.
 *
 * What a program fills in and reads: local and remote memory, requests with their opcodes and
 * flags, and completions.
 */
#ifndef BSN_TYPES_H
#define BSN_TYPES_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* -- requests ---------------------------------------------------------------------------------- */

/** struct bsn_sge - local memory; the layout of struct ibv_sge */
struct bsn_sge {
	uint64_t addr;
	uint32_t length; /* bytes */
	uint32_t lkey;
};

/** struct bsn_remote - remote memory */
struct bsn_remote {
	uint64_t addr;
	uint32_t rkey;
};

/**
 * enum bsn_flags - of a post
 *
 * A flag that the device reads is its bit of byte 11 of the control segment, shifted left by 8. No
 * flag shares a bit with enum ibv_send_flags.
 */
enum bsn_flags {
	BSN_F_SOLICITED = 1 << 9, /* solicited event at the receiver */
	BSN_F_SIGNALED = 1 << 11, /* a completion on success, too */
	BSN_F_FENCE = 1 << 15,    /* wait for earlier READs and atomics of this queue */
	BSN_F_RING = 1 << 16,     /* publish this and everything appended before */
	BSN_F_INLINE = 1 << 17,   /* the data are copied into the WQE now; lkeys are not read */
};

/**
 * enum bsn_wqe_opcode - what a request does; BSN_WQE_OPCODES (bsn_wqe.h) says it in words
 *
 * bsn_post() takes SEND, SEND_IMM, SEND_INVAL, RDMA_*, ATOMIC_CS, ATOMIC_FA and, on the direct
 * path, NOP. The others have calls of their own, or are for code that reads or builds WQEs.
 *
 * Source: mlx5dv.h MLX5_OPCODE_*, PRM "WQE opcodes"; 0x18, 0x21 to 0x23, 0x26, 0x27 and 0x2d:
 * device.h; 0x0f, 0x17 and 0x29: mlx5_prm.h; 0x16: libmlx5 of MLNX_OFED 4, which calls it
 * RECV_ENABLE.
 */
enum bsn_wqe_opcode {
	BSN_OPCODE_NOP = 0x00,
	BSN_OPCODE_SEND_INVAL = 0x01,
	BSN_OPCODE_RDMA_WRITE = 0x08,
	BSN_OPCODE_RDMA_WRITE_IMM = 0x09,
	BSN_OPCODE_SEND = 0x0a,
	BSN_OPCODE_SEND_IMM = 0x0b,
	BSN_OPCODE_TSO = 0x0e,
	BSN_OPCODE_WAIT = 0x0f,
	BSN_OPCODE_RDMA_READ = 0x10,
	BSN_OPCODE_ATOMIC_CS = 0x11,
	BSN_OPCODE_ATOMIC_FA = 0x12,
	BSN_OPCODE_ATOMIC_MASKED_CS = 0x14,
	BSN_OPCODE_ATOMIC_MASKED_FA = 0x15,
	BSN_OPCODE_RCV_EN = 0x16,
	BSN_OPCODE_SEND_EN = 0x17,
	BSN_OPCODE_BIND_MW = 0x18,
	BSN_OPCODE_FMR = 0x19,
	BSN_OPCODE_LOCAL_INVAL = 0x1b,
	BSN_OPCODE_CONFIG_CMD = 0x1f,
	BSN_OPCODE_SET_PSV = 0x20,
	BSN_OPCODE_GET_PSV = 0x21,
	BSN_OPCODE_CHECK_PSV = 0x22,
	BSN_OPCODE_DUMP = 0x23,
	BSN_OPCODE_UMR = 0x25,
	BSN_OPCODE_RGET_PSV = 0x26,
	BSN_OPCODE_RCHECK_PSV = 0x27,
	BSN_OPCODE_TAG_MATCHING = 0x28,
	BSN_OPCODE_ENHANCED_MPSW = 0x29,
	BSN_OPCODE_FLOW_TBL_ACCESS = 0x2c,
	BSN_OPCODE_ACCESS_ASO = 0x2d,
	BSN_OPCODE_MMO = 0x2f,
};

struct bsn_layout;
struct bsn_mkey;

/**
 * struct bsn_map - a layout, ready to be posted; bsn_layout_map() makes it
 * @sge: for bsn_write_sgl(), bsn_recv_sgl() and the like
 * @length: of the layout, bytes. If an mkey is longer than a message can be, the SGE covers its
 *	first 2^31 - 1 bytes
 * @mkey: the mkey of the one @sge; NULL: the SGEs are the layout's parts
 * @layout: the layout that was mapped
 */
struct bsn_map {
	const struct bsn_sge *sge;
	uint32_t sge_count;
	uint64_t length;
	const struct bsn_mkey *mkey;
	struct bsn_layout *layout;
};

/**
 * struct bsn_wr - any request, for bsn_post() and bsn_prepare()
 * @id: comes back in the completion
 * @opcode: enum bsn_wqe_opcode
 * @sge: local memory; with BSN_F_INLINE, plain pointers whose lkey is not read
 * @imm: immediate (host order), or the rkey to invalidate
 * @swap_add: value to swap in, or to add
 * @compare: value to compare with
 * @map: NULL, or a layout that takes the place of @sge
 */
struct bsn_wr {
	uint64_t id;
	const struct bsn_sge *sge;
	uint32_t sge_count;
	uint32_t flags;
	struct bsn_remote remote;
	uint32_t opcode;
	uint32_t imm;
	uint64_t swap_add;
	uint64_t compare;
	const struct bsn_map *map;
};

/* -- completions ------------------------------------------------------------------------------- */

/** enum bsn_completion_opcode - opcodes of receives; send completions have enum bsn_wqe_opcode */
enum bsn_completion_opcode {
	BSN_RECV_RDMA_WITH_IMM = 0x80, /* an RDMA WRITE with immediate arrived */
	BSN_RECV = 0x82,               /* a SEND arrived */
};

/** enum bsn_completion_flags */
enum bsn_completion_flags {
	BSN_C_IMM = 1 << 0,   /* @imm is valid */
	BSN_C_INVAL = 1 << 1, /* @imm is the rkey that was invalidated */
	BSN_C_GRH = 1 << 2,   /* UD: the first 40 bytes of the buffer hold the GRH */
	BSN_C_DATA = 1 << 3,  /* @data points to the received bytes, in the CQE or in memory */
	BSN_C_IN_CQE = 1 << 4, /* with BSN_C_DATA: in the CQE; memory was not written to */
};

/* In C++ an unnamed struct in a union is an extension, which all compilers have. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"

/**
 * struct bsn_completion - one completed request
 * @id: as posted
 * @user: the endpoint's or receive queue's user pointer
 * @byte_len: bytes received (UD: with the GRH), or read; undefined unless @status is success
 * @status: enum ibv_wc_status
 * @flags: enum bsn_completion_flags
 * @syndrome: on an error, CQE byte 55; 0 where unknown
 * @vendor_syndrome: on an error, CQE byte 54
 * @qpn: the QP
 * @opcode: enum bsn_wqe_opcode, enum bsn_completion_opcode
 * @imm: immediate in host order, or the invalidated rkey
 * @src_qpn: UD: the sender's QPN
 * @wqe_index: on an error, the ring index of the failed WQE's first block, modulo 2^16; on plain
 *	verbs the number of the request
 * @hw_syndrome: on an error, CQE byte 52
 * @data: see BSN_C_DATA; with BSN_C_IN_CQE valid until any thread polls this CQ, calls
 *	bsn_cq_request() for it, or creates a QP on it
 * @slid: UD: the sender's LID; @sl and @dlid_path_bits likewise
 * @timestamp: of a CQ with timestamps, when the device wrote the CQE: see enum bsn_timestamps
 *
 * @id, @user, @status, @qpn and @opcode are valid in every completion, failed ones included; those
 * marked "on an error" only in failed ones. On success the fields from @imm on are valid only in
 * some completions: @imm in receives with an immediate or an invalidated key, those marked UD in UD
 * receives, @data with BSN_C_DATA.
 */
struct bsn_completion {
	uint64_t id;
	void *user;
	uint32_t byte_len;
	uint8_t status;
	uint8_t flags;
	uint8_t syndrome;
	uint8_t vendor_syndrome;
	union {
		uint32_t who; /* qpn and opcode, as in a CQE */
		struct {
			uint32_t qpn : 24;
			uint32_t opcode : 8;
		};
	};
	uint32_t imm;
	uint32_t src_qpn;
	uint16_t wqe_index;
	uint8_t hw_syndrome;
	uint8_t sl;
	const void *data;
	uint16_t slid;
	uint8_t dlid_path_bits;
	uint8_t reserved[5];
	uint64_t timestamp;
};

#pragma GCC diagnostic pop

#ifdef __cplusplus
}
#endif
#endif
