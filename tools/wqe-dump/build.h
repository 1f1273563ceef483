/* SPDX-License-Identifier: BSD-2-Clause */
/* Builds a WQE from names of fields, as in the tables, and their values. */
#ifndef WQE_DUMP_BUILD_H
#define WQE_DUMP_BUILD_H

#include "bsn_decode.h"
#include "command.h"

#define BUILD_MAX_BYTES    (BSN_WQE_MAX_DS * BSN_DS_SIZE)
#define BUILD_MAX_SEGMENTS 16 /* the most segments with fields to set */

/** struct build - a WQE under construction. Functions return 0; or another value, and print why */
struct build {
	/* These select the segments. All else is zero before build_begin(). */
	enum bsn_transport transport;
	uint32_t opmod;
	bool is_extended; /* address vector of 48 bytes */

	const char *name;            /* of the operation */
	const struct bsn_wqe_op *op; /* NULL: it is a receive WQE */
	enum bsn_recv_head head;     /* of a receive WQE: its first segment */
	size_t size;
	size_t translations; /* of a UMR: where its translations begin and end; else 0 */
	size_t translations_end;
	bool is_counted;    /* UMR: klm_octowords was set */
	unsigned set_from;  /* the first segment in which build_set() looks for a field */
	unsigned set_count; /* of segments */
	struct {
		const struct bsn_seg_desc *desc;
		uint16_t offset;
	} segments[BUILD_MAX_SEGMENTS];
	uint8_t bytes[BUILD_MAX_BYTES];
};

/** build_refuse() - prints on standard error what is wrong */
#define build_refuse(...) complain("wqe-dump build: " __VA_ARGS__)

/** build_begin() - appends the segments of "write", "RDMA_WRITE", "recv-srq" …, without fields */
int build_begin(struct build *build, const char *operation);

/* Set a field: "rkey", or "raddr.rkey" if two segments have one; to a number, or to "ALWAYS" … */
int build_set(struct build *build, const char *field, const char *value);
int build_set_number(struct build *build, const char *field, uint64_t value);

/** build_pointer() - appends a data segment, or to a UMR a translation */
int build_pointer(struct build *build, uint64_t addr, uint64_t length_bytes, uint64_t key);

/** build_inline() - appends inline data */
int build_inline(struct build *build, const char *hex);

/** build_header() - appends inline headers to the Ethernet segment; call it before any data */
int build_header(struct build *build, const char *hex);

/** build_raw() - appends bytes that no table describes */
int build_raw(struct build *build, const char *hex);

/** build_segment() - appends a segment by name; build_set() then sets its fields */
int build_segment(struct build *build, const char *name);

/** build_end() - fills in the counts, and unless @is_forced refuses what a ConnectX would */
int build_end(struct build *build, bool is_forced);

#endif
