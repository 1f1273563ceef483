/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the fields are that inline code knows. An application keeps what it was compiled with, so
 * whoever moves one gives BSN_LAYOUT_VERSION a new number, and a golden file of that number.
 * usage: layout --check FOLDER | --write FOLDER
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bsn.h"

/* What a poster writes is in one cache line, what a poller writes in the next one. */
#define ASSERT_LINE(type, field, line)                                                             \
	_Static_assert(offsetof(struct type, field) / 64 == (line), #type "." #field)

ASSERT_LINE(bsn_sq, ring, 0);
ASSERT_LINE(bsn_sq, ring_slow, 0);
ASSERT_LINE(bsn_sq, marks, 1);
ASSERT_LINE(bsn_sq, has_hidden, 1);
ASSERT_LINE(bsn_sq, path, 2);
ASSERT_LINE(bsn_rq, ring, 0);
ASSERT_LINE(bsn_rq, max_sge, 0);
ASSERT_LINE(bsn_rq, poller_ring, 1);
ASSERT_LINE(bsn_rq, srq_free_tail, 1);
ASSERT_LINE(bsn_rq, path, 2);
ASSERT_LINE(bsn_cq, next, 0);
ASSERT_LINE(bsn_cq, plain, 0);
ASSERT_LINE(bsn_cq, ring, 1);
_Static_assert(offsetof(struct bsn_sq, marks) == 64, "one line of the poster's");
_Static_assert(offsetof(struct bsn_sq, path) == 128, "one line of the poller's");
_Static_assert(_Alignof(struct bsn_sq) == 64 && _Alignof(struct bsn_rq) == 64 &&
		       _Alignof(struct bsn_cq) == 64,
	       "on cache lines");
_Static_assert(sizeof(struct bsn_completion) == 64, "a cache line each");

/* Per WQE slot, on every transport: the id and the mark; test_credits.c sees that it is all. */
_Static_assert(sizeof(*bsn_sq_ids(NULL)) + sizeof(*((struct bsn_sq *)NULL)->marks) <= 12, "a slot");

/* clang-format off */
#define FIELDS(F) \
	F(bsn_sq, ring) F(bsn_sq, record) F(bsn_sq, lane) F(bsn_sq, ctrl_base) F(bsn_sq, pi) \
	F(bsn_sq, limit) F(bsn_sq, bb_mask) F(bsn_sq, last) \
	F(bsn_sq, quiet) F(bsn_sq, ce_quiet) F(bsn_sq, can) F(bsn_sq, ring_slow) \
	F(bsn_sq, marks) F(bsn_sq, user) F(bsn_sq, rq) F(bsn_sq, poller_mask) F(bsn_sq, done) \
	F(bsn_sq, has_hidden) F(bsn_sq, owner_thread) F(bsn_sq, count_slow_bb) \
	F(bsn_sq, count_blueflame) \
	F(bsn_ep, sq) F(bsn_ep, bound) F(bsn_ep, prefix) F(bsn_ep, user) F(bsn_ep, owner) \
	F(bsn_ep, dci_stream) F(bsn_ep, prefix_ds) F(bsn_ep, number) \
	F(bsn_rq, ring) F(bsn_rq, record) F(bsn_rq, head) F(bsn_rq, limit) F(bsn_rq, mask) \
	F(bsn_rq, stride_log2) F(bsn_rq, max_sge) F(bsn_rq, owner_thread) \
	F(bsn_cq, next) F(bsn_cq, chunk_end) F(bsn_cq, slots) F(bsn_cq, stride) \
	F(bsn_cq, slot_mask) F(bsn_cq, phase) F(bsn_cq, empty_mask) F(bsn_cq, plain) \
	F(bsn_cq, owner_thread) \
	F(bsn_cq_slot, qpn) F(bsn_cq_slot, sq) \
	F(bsn_lane, reg) F(bsn_lane, toggle) F(bsn_lane, owner_thread) \
	F(bsn_completion, id) F(bsn_completion, user) F(bsn_completion, byte_len) \
	F(bsn_completion, status) F(bsn_completion, opcode) F(bsn_completion, flags) \
	F(bsn_completion, syndrome) F(bsn_completion, imm) F(bsn_completion, src_qpn) \
	F(bsn_completion, qpn) F(bsn_completion, wqe_index) F(bsn_completion, vendor_syndrome) \
	F(bsn_completion, hw_syndrome) F(bsn_completion, data) F(bsn_completion, slid) \
	F(bsn_completion, sl) F(bsn_completion, dlid_path_bits) \
	F(bsn_sge, addr) F(bsn_sge, length) F(bsn_sge, lkey) \
	F(bsn_remote, addr) F(bsn_remote, rkey) \
	F(bsn_wr, id) F(bsn_wr, sge) F(bsn_wr, sge_count) F(bsn_wr, flags) F(bsn_wr, remote) \
	F(bsn_wr, opcode) F(bsn_wr, imm) F(bsn_wr, swap_add) F(bsn_wr, compare) \
	F(bsn_prepared, body) F(bsn_prepared, ctrl0) F(bsn_prepared, ctrl1) \
	F(bsn_prepared, imm) F(bsn_prepared, body_ds) F(bsn_prepared, wr) F(bsn_prepared, sge)
/* clang-format on */

/* Those that the application allocates, or that something follows. */
#define STRUCTS(S)                                                                                 \
	S(bsn_sq)                                                                                  \
	S(bsn_rq) S(bsn_cq_slot) S(bsn_completion) S(bsn_sge) S(bsn_remote) S(bsn_wr)              \
		S(bsn_prepared)

static char text[8192];

static void put_layout(void)
{
	size_t at = 0;

#define PUT_FIELD(type, field)                                                                     \
	at += (size_t)snprintf(text + at, sizeof(text) - at, "%s.%s %zu +%zu\n", #type, #field,    \
			       offsetof(struct type, field),                                       \
			       sizeof(((struct type *)NULL)->field));
#define PUT_STRUCT(type)                                                                           \
	at += (size_t)snprintf(text + at, sizeof(text) - at, "%s %zu\n", #type,                    \
			       sizeof(struct type));
	FIELDS(PUT_FIELD)
	STRUCTS(PUT_STRUCT)
}

/* The first line that differs is what to look for. */
static int compare(const char *path, FILE *golden)
{
	char line[128];
	const char *at = text;

	while (fgets(line, sizeof(line), golden)) {
		const size_t n = strlen(line);
		if (strncmp(at, line, n)) {
			fprintf(stderr,
				"%s says\n\t%snow it is\n\t%.*s\nA new layout needs a new "
				"BSN_LAYOUT_VERSION (engine/bsn.h) and `ninja layout-golden`\n",
				path, line, (int)strcspn(at, "\n"), at);
			return 1;
		}
		at += n;
	}
	if (*at)
		fprintf(stderr, "%s lacks\n\t%.*s\n", path, (int)strcspn(at, "\n"), at);
	return *at != 0;
}

int main(int argc, char **argv)
{
	const bool writes = argc == 3 && !strcmp(argv[1], "--write");
	char path[4096];
	FILE *golden;
	int differs;

	if (argc != 3 || (!writes && strcmp(argv[1], "--check"))) {
		fprintf(stderr, "usage: layout --check FOLDER | --write FOLDER\n");
		return 2;
	}
	snprintf(path, sizeof(path), "%s/layout-%d.txt", argv[2], BSN_LAYOUT_VERSION);
	put_layout();
	golden = fopen(path, writes ? "w" : "r");
	if (!golden) {
		perror(path);
		return 1;
	}
	differs = writes ? fputs(text, golden) < 0 : compare(path, golden);
	return fclose(golden) || differs;
}
