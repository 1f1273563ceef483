/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decoders of WQEs and CQEs, by the tables of the other headers: they take one apart, check it, and
 * describe it. They never trust their input. No function here allocates, blocks or keeps state, so
 * any thread and any signal handler may call them.
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
	const char *field;       /* of the field; NULL: not one field alone */
	const char *why;         /* a sentence without a full stop */
	uint32_t offset;         /* bytes from the start of the WQE or CQE */
	uint8_t vendor_syndrome; /* that a ConnectX reports; 0: it does not notice */
};

/**
 * struct bsn_wqe_data - a data segment: a pointer, or inline data. Of a UMR: a translation, or an
 * entry of a repeat block
 */
struct bsn_wqe_data {
	uint64_t addr;        /* pointer: local virtual address */
	const uint8_t *bytes; /* inline: the data; NULL for a pointer */
	uint32_t lkey;        /* pointer: local key */
	uint32_t length_bytes;
	uint16_t offset;       /* of the segment in the WQE, bytes */
	uint16_t stride_bytes; /* of an entry of a repeat block */
};

/** struct bsn_wqe_atomic - the operands of any atomic */
struct bsn_wqe_atomic {
	uint8_t size_bytes;
	uint64_t swap_or_add;
	uint64_t compare;        /* compare and swap */
	uint64_t swap_mask;      /* compare and swap; all ones if the operation has none */
	uint64_t compare_mask;   /* the same */
	uint64_t field_boundary; /* fetch and add; 0 if the operation has none */
};

/** enum bsn_umr_form - where the translations of a UMR are */
enum bsn_umr_form {
	BSN_UMR_NONE,    /* it has none */
	BSN_UMR_LIST,    /* in the WQE: data[] */
	BSN_UMR_REPEAT,  /* in the WQE: a repeat block, whose entries are data[] */
	BSN_UMR_POINTER, /* in memory: data[0] points to them */
};

/** struct bsn_wqe_umr - a UMR */
struct bsn_wqe_umr {
	struct bsn_umr_ctrl ctrl;
	struct bsn_mkey_ctx mkey;
	enum bsn_umr_form form;
	struct bsn_repeat repeat;
	const uint8_t *bsf; /* the first BSF, or NULL */
	uint16_t bsf_bytes; /* of all BSFs together */
};

/** struct bsn_wqe_part - a segment of a WQE, and the data after it that have no table */
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
	uint16_t raw_offset; /* of the raw bytes, which no table describes; size_bytes: none */
	enum bsn_transport transport;
	const struct bsn_wqe_op *op; /* NULL: unknown opcode, all after ctrl is raw */
	struct bsn_ctrl ctrl;
	union {
		struct bsn_av_ud_grh ud; /* UD and IPoIB; of a compact vector the extension is 0 */
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
	uint64_t total_bytes;    /* of the message or packets; UMR: that it maps */
	bool raw_is_read;        /* the device may read the raw bytes; false: it ignores them */
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
 * It refuses only what cannot be taken apart; bsn_wqe_check() finds all else that is wrong.
 * Return: 0, or -EBADMSG.
 */
BSN_API int bsn_wqe_decode(const void *bytes, size_t size, enum bsn_transport transport,
			   struct bsn_wqe *wqe, struct bsn_bad *bad);

/** enum bsn_piece_kind - what the bytes of a piece are */
enum bsn_piece_kind {
	BSN_PIECE_SEGMENT, /* described by a table */
	BSN_PIECE_INLINE,  /* inline data */
	BSN_PIECE_PADDING, /* up to the next segment */
	BSN_PIECE_RAW,     /* not used by the operation, or not described */
};

/** struct bsn_piece - a range of a WQE's bytes; the pieces cover the WQE without a gap */
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
 * @bad: the first @max findings, the gravest first: what a ConnectX refuses, then what it does not
 *       notice (bits that must be zero, numbers without a meaning)
 * @max: room in @bad; 0: only count
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
 * @mask: 1: the bit is read, or must be zero. 0: it is ignored, that is in a row BSN_ROW_IGNORED,
 *        not used by the opcode or transport, padding of inline data, or after the WQE's end
 * @size: bytes of @mask
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
 * The list ends with the stride, or at a pointer of 0 bytes whose lkey is BSN_LKEY_TERMINATOR.
 * Return: 0, or -EBADMSG.
 */
BSN_API int bsn_recv_decode(const void *bytes, size_t size, enum bsn_recv_head head,
			    struct bsn_recv_wqe *recv, struct bsn_bad *bad);

/** struct bsn_cqe - a CQE, taken apart by bsn_cqe_decode() */
struct bsn_cqe {
	struct bsn_cqe_tail tail;
	const struct bsn_seg_desc *view; /* which member of @as is filled; NULL: none */
	union {
		struct bsn_cqe_req req;
		struct bsn_cqe_resp resp;
		struct bsn_cqe_err err;
		struct bsn_cqe_no_packet no_packet;
		struct bsn_cqe_sig_err sig_err;
	} as;
	uint16_t offset;             /* of the CQE proper: 64 in a CQE of 128 bytes, else 0 */
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
 * Of a compressed CQE, or one whose opcode has no view (BSN_CQE_INVALID, an unknown number), @cqe
 * has the tail and no view: that is no failure. bsn_cqe_expand() expands a compressed one.
 * Return: 0, or -EBADMSG.
 */
BSN_API int bsn_cqe_decode(const void *bytes, size_t size, struct bsn_cqe *cqe,
			   struct bsn_bad *bad);

/**
 * struct bsn_cqe_block - a session of compressed CQEs that is being expanded
 *
 * The title is a copy, since expansion in place and the device's next round overwrite it in the
 * ring.
 */
struct bsn_cqe_block {
	uint8_t title[BSN_CQE_SIZE];
	enum bsn_mini_format format;
	bool is_enhanced;      /* the CQ has the enhanced layout */
	bool is_striding;      /* the receive queue is a striding one */
	bool is_request;       /* CQEs of requests */
	uint16_t next_counter; /* of the next receive, if the mini CQEs have none */
	uint32_t left;         /* basic layout: CQEs still to be expanded */
};

/**
 * bsn_cqe_block_begin() - begins a session, by its title
 * @block: filled; the caller has set format, is_enhanced and is_striding, as the queues were
 * created
 * @title: the CQE proper. Basic layout: the session's first CQE, whose format is compressed.
 *         Enhanced layout: the last whole CQE before the session, which is a completion, too.
 * @bad: on failure where and why; may be NULL
 *
 * In the basic layout, with the title at index 0, arrays are at the indices 1, 8, 16, 24 and so on.
 * Return: 0, or -EBADMSG: it cannot be a title.
 */
BSN_API int bsn_cqe_block_begin(struct bsn_cqe_block *block, const void *title,
				struct bsn_bad *bad);

/**
 * bsn_cqe_expand() - whole CQEs from one array of mini CQEs
 * @block: of bsn_cqe_block_begin()
 * @array: the array CQE, proper
 * @cqes: the result, BSN_CQE_SIZE bytes each; may be where @array is
 * @bad: on failure where and why; may be NULL
 *
 * Each result is what the device would have written without compression, except for fields that
 * mini CQEs do not have. The owner bit and the timestamp are the title's, and so are RSS hash,
 * checksum and flow tag if the format lacks them. If it has a checksum, the hash is 0, as in the
 * kernel's en_rx.c.
 * Return: how many there are, or -EBADMSG.
 */
BSN_API int bsn_cqe_expand(struct bsn_cqe_block *block, const void *array,
			   uint8_t (*cqes)[BSN_CQE_SIZE], struct bsn_bad *bad);

/** struct bsn_row_view - one row of a segment, ready to be printed */
struct bsn_row_view {
	const char *segment;
	const struct bsn_row *row;
	uint32_t offset;                     /* of its first byte in the WQE or CQE */
	uint64_t value;                      /* in host order */
	const struct bsn_enum_value *symbol; /* the value's name, or NULL */
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
 * @bytes: the WQE or CQE
 * @offset: of the segment in it, bytes
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
