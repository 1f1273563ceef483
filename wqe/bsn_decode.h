/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Readers of what the tables describe. They take a WQE or a CQE apart, judge it, and put it into
 * words. They never trust their input. Nothing here allocates, blocks or keeps state, so any thread
 * and any signal handler may call every function.
 */
#ifndef BSN_DECODE_H
#define BSN_DECODE_H

#include <errno.h>
#include <stdbool.h>

#include "bsn_cqe.h"
#include "bsn_db.h"
#include "bsn_ops.h"
#include "bsn_syndrome.h"

#ifdef __cplusplus
extern "C" {
#endif

/** struct bsn_bad - what is wrong with some bytes, and where */
struct bsn_bad {
	const char *segment;     /* name of the segment */
	const char *field;       /* of the field, or NULL where it is no single one */
	const char *why;         /* a sentence without a full stop */
	uint32_t offset;         /* in bytes from the start of what was given */
	uint8_t vendor_syndrome; /* what a ConnectX reports; 0: it would not notice */
};

/**
 * struct bsn_wqe_data - one data segment: a pointer, or bytes inside the WQE; of a UMR one
 * translation, or one entry of a repeat block
 */
struct bsn_wqe_data {
	uint64_t addr;        /* pointer: local virtual address */
	const uint8_t *bytes; /* inline: the data; NULL for a pointer */
	uint32_t lkey;        /* pointer: local key */
	uint32_t length_bytes;
	uint16_t offset;       /* of the segment in the WQE, bytes */
	uint16_t stride_bytes; /* entry of a repeat block */
};

/** struct bsn_wqe_atomic - the operands of any atomic */
struct bsn_wqe_atomic {
	uint8_t size_bytes;
	uint64_t swap_or_add;
	uint64_t compare;        /* compare and swap */
	uint64_t swap_mask;      /* compare and swap; all ones where the operation has none */
	uint64_t compare_mask;   /* the same */
	uint64_t field_boundary; /* fetch and add; 0 where the operation has none */
};

/** enum bsn_umr_form - where a UMR has its translations */
enum bsn_umr_form {
	BSN_UMR_NONE,    /* it has none */
	BSN_UMR_LIST,    /* in the WQE: data[] */
	BSN_UMR_REPEAT,  /* in the WQE: repeat, and its entries in data[] */
	BSN_UMR_POINTER, /* where data[0] points */
};

/** struct bsn_wqe_umr - a UMR */
struct bsn_wqe_umr {
	struct bsn_umr_ctrl ctrl;
	struct bsn_mkey_ctx mkey;
	enum bsn_umr_form form;
	struct bsn_repeat repeat;
	const uint8_t *bsf; /* the first BSF, or NULL */
	uint16_t bsf_bytes; /* of all that follow */
};

/** struct bsn_wqe_part - a segment of a WQE, and what follows it without a table */
struct bsn_wqe_part {
	const struct bsn_seg_desc *desc;
	uint16_t offset;       /* in the WQE, bytes */
	uint16_t inline_bytes; /* inline data after the segment; padding may follow */
};

#define BSN_WQE_MAX_PARTS BSN_WQE_MAX_DS       /* each begins in a DS of its own */
#define BSN_WQE_MAX_DATA  (BSN_WQE_MAX_DS - 1) /* data segments of a send WQE at most */
#define BSN_RECV_MAX_DATA 64                   /* data pointers of a receive WQE at most */

/** struct bsn_wqe - a send WQE, taken apart by bsn_wqe_decode() */
struct bsn_wqe {
	const uint8_t *bytes;
	uint16_t size_bytes; /* its DS, in bytes */
	uint16_t raw_offset; /* of what the operation does not use; size_bytes: there is none */
	enum bsn_transport transport;
	const struct bsn_wqe_op *op; /* NULL: unknown opcode; all after ctrl is raw */
	struct bsn_ctrl ctrl;
	union {
		struct bsn_av_ud_grh ud; /* UD and IPoIB; a compact vector leaves the extension 0 */
		struct bsn_av_dc_grh dc; /* DC; the same */
		struct bsn_xrc xrc;      /* XRC */
	} to;
	struct bsn_raddr raddr;       /* where op->has_raddr */
	struct bsn_wqe_atomic atomic; /* where op->has_atomic */
	struct bsn_eth eth;           /* packets */
	const uint8_t *eth_header;    /* packets: inline headers, eth.inline_size bytes, or NULL */
	union {
		struct bsn_wqe_umr umr;
		struct bsn_set_psv set_psv;
		struct bsn_get_psv get_psv;
		struct bsn_check_psv check_psv;
		struct bsn_fmr fmr;
		struct bsn_tm tm;
		struct bsn_wait_en wait_en;
		struct bsn_wait_mem wait_mem; /* WAIT with a modifier */
		struct bsn_mmo mmo;
		struct bsn_aso aso;
		struct bsn_flow flow;
	} as;                    /* the operation's own segment */
	const uint8_t *argument; /* ASO and FLOW: the data that follow, or NULL */
	uint64_t total_bytes;    /* of the message or packets; of a UMR what it maps */
	bool raw_is_read;        /* what is raw is not known, rather than not used */
	uint8_t part_count;
	uint16_t data_count;
	struct bsn_wqe_part parts[BSN_WQE_MAX_PARTS];
	struct bsn_wqe_data data[BSN_WQE_MAX_DATA];
};

/**
 * bsn_wqe_decode() - takes a send WQE apart
 * @bytes: the WQE as one piece of memory, even where the ring wraps; @wqe points into it
 * @size: bytes that may be read there; the WQE may be shorter
 * @transport: of the queue
 * @wqe: the result; undefined on failure
 * @bad: on failure where and why; may be NULL
 *
 * Only refuses what cannot be taken apart; bsn_wqe_check() judges the rest.
 * Return: 0, or -EBADMSG.
 */
BSN_API int bsn_wqe_decode(const void *bytes, size_t size, enum bsn_transport transport,
			   struct bsn_wqe *wqe, struct bsn_bad *bad);

/** enum bsn_piece_kind - what a stretch of a WQE is */
enum bsn_piece_kind {
	BSN_PIECE_SEGMENT, /* described by a table */
	BSN_PIECE_INLINE,  /* inline data */
	BSN_PIECE_PADDING, /* up to the next segment */
	BSN_PIECE_RAW,     /* not used by the operation, or not described */
};

/** struct bsn_piece - one stretch of a WQE; together they cover it without a gap */
struct bsn_piece {
	enum bsn_piece_kind kind;
	const struct bsn_seg_desc *desc; /* NULL unless BSN_PIECE_SEGMENT */
	uint16_t offset;                 /* bytes */
	uint16_t size_bytes;
};

/** struct bsn_piece_iter - a walk along the pieces; see bsn_piece_iter_init() */
struct bsn_piece_iter {
	const struct bsn_wqe *wqe;
	uint16_t offset;
	uint16_t index; /* of the next part */
};

/** bsn_piece_iter_init() - begins before the first piece of a decoded WQE */
BSN_API void bsn_piece_iter_init(struct bsn_piece_iter *iter, const struct bsn_wqe *wqe);

/**
 * bsn_piece_next() - the next piece, in the order of the bytes
 *
 * Return: false at the end.
 */
BSN_API bool bsn_piece_next(struct bsn_piece_iter *iter, struct bsn_piece *piece);

/**
 * bsn_wqe_findings() - everything that is wrong with a decoded WQE
 * @wqe: the WQE
 * @bad: room for @max findings, filled in the order of gravity: first what a ConnectX refuses, then
 *       what it would not notice (bits that must be zero, numbers without a meaning)
 * @max: how many are wanted; 0: only count
 *
 * Return: how many there are, which may be more than @max.
 */
BSN_API unsigned bsn_wqe_findings(const struct bsn_wqe *wqe, struct bsn_bad *bad, unsigned max);

/**
 * bsn_wqe_check() - whether a decoded WQE is right in every bit
 * @bad: on failure the gravest finding; may be NULL
 *
 * Return: 0, or -EBADMSG.
 */
BSN_API int bsn_wqe_check(const struct bsn_wqe *wqe, struct bsn_bad *bad);

/**
 * bsn_wqe_mask() - which bits of a WQE the device reads
 * @wqe: the decoded WQE
 * @mask: a 1 for every bit that is read or must be zero, a 0 for every bit that is ignored: rows of
 *        that kind, what the opcode or the transport does not use, inline padding, and what
 *        follows the WQE
 * @size: bytes of @mask; more than the WQE has are cleared, fewer cut it off
 */
BSN_API void bsn_wqe_mask(const struct bsn_wqe *wqe, void *mask, size_t size);

/** enum bsn_recv_head - what a receive WQE begins with */
enum bsn_recv_head {
	BSN_RECV_PLAIN,  /* nothing: a data pointer is first */
	BSN_RECV_LINKED, /* a link: of a shared receive queue, or a linked striding one */
	BSN_RECV_SIGNED, /* a signature: of a receive queue with WQE signatures */
};

/** struct bsn_recv_wqe - a receive WQE, taken apart by bsn_recv_decode() */
struct bsn_recv_wqe {
	enum bsn_recv_head head;
	struct bsn_srq_next next;      /* where BSN_RECV_LINKED */
	struct bsn_recv_sig signed_by; /* where BSN_RECV_SIGNED */
	uint64_t total_bytes;
	uint16_t data_count;
	struct bsn_wqe_data data[BSN_RECV_MAX_DATA];
};

/**
 * bsn_recv_decode() - takes a receive WQE apart
 * @bytes: the WQE
 * @size: its stride in the ring, bytes
 * @head: what it begins with, by the kind of its queue
 * @recv: the result; undefined on failure
 * @bad: on failure where and why; may be NULL
 *
 * The list ends with the stride, or at the first pointer of BSN_LKEY_TERMINATOR and no bytes.
 * Return: 0, or -EBADMSG.
 */
BSN_API int bsn_recv_decode(const void *bytes, size_t size, enum bsn_recv_head head,
			    struct bsn_recv_wqe *recv, struct bsn_bad *bad);

/** struct bsn_cqe - a CQE, taken apart by bsn_cqe_decode() */
struct bsn_cqe {
	struct bsn_cqe_tail tail;
	const struct bsn_seg_desc *view; /* which of the following holds; NULL: none of them */
	union {
		struct bsn_cqe_req req;
		struct bsn_cqe_resp resp;
		struct bsn_cqe_err err;
		struct bsn_cqe_no_packet no_packet;
		struct bsn_cqe_sig_err sig_err;
	} as;
	uint16_t offset;             /* of the CQE proper: 0, or 64 in 128 bytes */
	const uint8_t *inline_bytes; /* data that came inside, or NULL */
	uint32_t inline_len_bytes;
};

/**
 * bsn_cqe_decode() - takes a CQE apart
 * @bytes: the CQE, owned by software (the caller has seen the owner bit, and fenced)
 * @size: BSN_CQE_SIZE or BSN_CQE128_SIZE
 * @cqe: the result; undefined on failure
 * @bad: on failure where and why; may be NULL
 *
 * An opcode without a view (BSN_CQE_INVALID, a number without a name) and a compressed CQE are no
 * failure: @cqe has its tail and no view. bsn_cqe_expand() makes whole CQEs of the latter.
 * Return: 0, or -EBADMSG.
 */
BSN_API int bsn_cqe_decode(const void *bytes, size_t size, struct bsn_cqe *cqe,
			   struct bsn_bad *bad);

/**
 * struct bsn_cqe_block - what the CQEs have in common that a CQ's compression left out
 *
 * The title is a copy: expansion in place, and the device's next round, overwrite it in the ring.
 */
struct bsn_cqe_block {
	uint8_t title[BSN_CQE_SIZE];
	enum bsn_mini_format format;
	bool is_enhanced;      /* the CQ has the enhanced layout */
	bool is_striding;      /* the receive queue is a striding one */
	bool is_request;       /* CQEs of requests */
	uint16_t next_counter; /* of the next receive, where the mini CQEs do not say */
	uint32_t left;         /* basic: CQEs to come */
};

/**
 * bsn_cqe_block_begin() - takes the title of a block
 * @block: filled; the caller has set format, is_enhanced and is_striding, as the queues were
 * created
 * @title: the CQE proper. Basic layout: the compressed CQE, which takes the first slot of the
 *         block. Enhanced: the last CQE that was not compressed, a completion of its own.
 * @bad: on failure where and why; may be NULL
 *
 * Basic: arrays are in the slots 1, 8, 16, 24 ... after the title's slot 0.
 * Return: 0, or -EBADMSG where it cannot be a title.
 */
BSN_API int bsn_cqe_block_begin(struct bsn_cqe_block *block, const void *title,
				struct bsn_bad *bad);

/**
 * bsn_cqe_expand() - whole CQEs from one array of mini CQEs
 * @block: begun
 * @array: the array CQE, proper
 * @cqes: the result, BSN_CQE_SIZE bytes each; may be where @array is
 * @bad: on failure where and why; may be NULL
 *
 * The results are as if never compressed, but for what the mini CQEs do not carry: timestamp, and
 * those of RSS hash, checksum and flow tag that are not in their format are the title's, and the
 * hash is 0 where they carry a checksum (the kernel's en_rx.c does the same). The owner bit is the
 * title's.
 * Return: how many there are, or -EBADMSG.
 */
BSN_API int bsn_cqe_expand(struct bsn_cqe_block *block, const void *array,
			   uint8_t (*cqes)[BSN_CQE_SIZE], struct bsn_bad *bad);

/** struct bsn_row_view - one row of a segment, ready to be printed */
struct bsn_row_view {
	const char *segment;
	const struct bsn_row *row;
	uint32_t offset;                     /* of its first byte, from the start of the whole */
	uint64_t value;                      /* in host order */
	const struct bsn_enum_value *symbol; /* what the value stands for, or NULL */
};

/** struct bsn_row_iter - a walk along the rows of one segment */
struct bsn_row_iter {
	const struct bsn_seg_desc *desc;
	const uint8_t *bytes;
	uint32_t offset;
	uint16_t index;
};

/**
 * bsn_row_iter_init() - begins before the first row
 * @iter: the iterator
 * @desc: the segment's descriptor
 * @bytes: start of the whole WQE or CQE
 * @offset: of the segment in the whole, bytes
 */
BSN_API void bsn_row_iter_init(struct bsn_row_iter *iter, const struct bsn_seg_desc *desc,
			       const void *bytes, size_t offset);

/**
 * bsn_row_next() - the next row, in the order of the table
 *
 * Return: false at the end.
 */
BSN_API bool bsn_row_next(struct bsn_row_iter *iter, struct bsn_row_view *view);

#ifdef __cplusplus
}
#endif
#endif
