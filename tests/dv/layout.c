/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checks the offsets of fields that inline code knows. An application keeps the offsets that it was
 * compiled with. So if a field moves, BSN_LAYOUT_VERSION needs a new number, and that number a
 * golden file.
 * usage: layout --check FOLDER | --write FOLDER
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bsn.h"
#include "bsn_mkey.h"

/* What a poster writes is in one cache line, what a poller writes in the next one. */
#define ASSERT_LINE(type, field, line)                                                             \
	_Static_assert(offsetof(struct type, field) / 64 == (line), #type "." #field)

ASSERT_LINE(bsn_sq, ep, 0);
ASSERT_LINE(bsn_sq, slot, 0);
ASSERT_LINE(bsn_sq, publish, 0);
ASSERT_LINE(bsn_sq, ops, 1);
ASSERT_LINE(bsn_sq, max_sge, 1);
ASSERT_LINE(bsn_rq, slot, 0);
ASSERT_LINE(bsn_rq, max_sge, 0);
ASSERT_LINE(bsn_rq, ids, 1);
ASSERT_LINE(bsn_rq, has_many_pollers, 1);
ASSERT_LINE(bsn_rq, path, 2);
ASSERT_LINE(bsn_cq, next, 0);
ASSERT_LINE(bsn_cq, path, 0);
ASSERT_LINE(bsn_cq, ring, 1);
_Static_assert(sizeof(struct bsn_route) <= 64 && offsetof(struct bsn_sq, route) % 64 == 0,
	       "a line of the poller's");
_Static_assert(offsetof(struct bsn_sq, seen_done) >= offsetof(struct bsn_sq, route) + 64,
	       "and of nobody else's");
_Static_assert(_Alignof(struct bsn_sq) == 64 && _Alignof(struct bsn_rq) == 64 &&
		       _Alignof(struct bsn_cq) == 64,
	       "on cache lines");
_Static_assert(sizeof(struct bsn_completion) == 64, "a cache line each");
_Static_assert(offsetof(struct bsn_sq, ep) == 0 && offsetof(struct bsn_peer, ep) == 0,
	       "an endpoint is the beginning of what it belongs to");

/* clang-format off */
#define FIELDS(F) \
	F(bsn_ep, sq) \
	F(bsn_peer, ep) F(bsn_peer, user) F(bsn_peer, more) F(bsn_peer, ctrl_bits) \
	F(bsn_peer, prefix_ds) F(bsn_peer, head) \
	F(bsn_sq, ep) F(bsn_sq, slot) F(bsn_sq, limit) F(bsn_sq, room) F(bsn_sq, record) \
	F(bsn_sq, lane) F(bsn_sq, ctrl_next) F(bsn_sq, pi) F(bsn_sq, last) F(bsn_sq, quiet) \
	F(bsn_sq, ce_quiet) F(bsn_sq, publish) F(bsn_sq, ops) F(bsn_sq, ids) \
	F(bsn_sq, max_inline) F(bsn_sq, max_sge) F(bsn_sq, route) \
	F(bsn_route, ring) F(bsn_route, user) F(bsn_route, rq) F(bsn_route, mask) \
	F(bsn_route, done) F(bsn_route, near_ds) F(bsn_route, recvs) \
	F(bsn_rq, slot) F(bsn_rq, limit) F(bsn_rq, id_at) F(bsn_rq, record) \
	F(bsn_rq, stride) F(bsn_rq, head) F(bsn_rq, max_sge) \
	F(bsn_rq, ids) F(bsn_rq, mask) F(bsn_rq, tail) \
	F(bsn_cq, next) F(bsn_cq, chunk_end) F(bsn_cq, entries) F(bsn_cq, stride) \
	F(bsn_cq, hash_shift) F(bsn_cq, phase) F(bsn_cq, dead) \
	F(bsn_cq, path) F(bsn_cq_path, poll) \
	F(bsn_cq_entry, key) F(bsn_cq_entry, route) \
	F(bsn_lane, reg) F(bsn_lane, toggle) F(bsn_lane, lock) F(bsn_lane, owner_thread) \
	F(bsn_completion, id) F(bsn_completion, user) F(bsn_completion, byte_len) \
	F(bsn_completion, status) F(bsn_completion, flags) F(bsn_completion, syndrome) \
	F(bsn_completion, vendor_syndrome) F(bsn_completion, imm) F(bsn_completion, src_qpn) \
	F(bsn_completion, wqe_index) F(bsn_completion, hw_syndrome) F(bsn_completion, sl) \
	F(bsn_completion, data) F(bsn_completion, slid) F(bsn_completion, dlid_path_bits) \
	F(bsn_sge, addr) F(bsn_sge, length) F(bsn_sge, lkey) \
	F(bsn_remote, addr) F(bsn_remote, rkey) \
	F(bsn_wr, id) F(bsn_wr, sge) F(bsn_wr, sge_count) F(bsn_wr, flags) F(bsn_wr, remote) \
	F(bsn_wr, opcode) F(bsn_wr, imm) F(bsn_wr, swap_add) F(bsn_wr, compare) \
	F(bsn_prepared, ctrl) F(bsn_prepared, body) F(bsn_prepared, body_ds) F(bsn_prepared, wr) \
	F(bsn_prepared, sge) \
	F(bsn_part, addr) F(bsn_part, bytes) F(bsn_part, stride) F(bsn_part, lkey) \
	F(bsn_layout_attr, parts) F(bsn_layout_attr, part_count) F(bsn_layout_attr, rounds) \
	F(bsn_map, sge) F(bsn_map, sge_count) F(bsn_map, length) F(bsn_map, mkey) F(bsn_map, layout)
/* clang-format on */

/* Structures that the application allocates, or that other data follow. */
#define STRUCTS(S)                                                                                 \
	S(bsn_peer)                                                                                \
	S(bsn_sq)                                                                                  \
	S(bsn_route) S(bsn_rq) S(bsn_cq_entry) S(bsn_completion) S(bsn_sge) S(bsn_remote)          \
		S(bsn_wr) S(bsn_prepared) S(bsn_part) S(bsn_layout_attr)

/* Values that a program was compiled with, too. */
#define VALUES(V)                                                                                  \
	V(BSN_F_SOLICITED)                                                                         \
	V(BSN_F_SIGNALED) V(BSN_F_FENCE) V(BSN_F_RING) V(BSN_F_INLINE) V(BSN_WHAT_COUNT_SHIFT)     \
		V(BSN_PUBLISH_8) V(BSN_PUBLISH_16) V(BSN_PUBLISH_DOORBELL)                         \
			V(BSN_PUBLISH_APPENDED) V(BSN_NEAR_DS) V(BSN_NEAR_ID_AT)

static char text[8192];

/* A bit field has no address: the test sets its bits and looks where they are. */
static void put_bit_fields(size_t *at)
{
	const struct bsn_completion c = { .qpn = 0xffffff };
	const struct bsn_completion d = { .opcode = 0xff };

	for (size_t i = 0; i < sizeof(c); i++) {
		const char *name = ((const uint8_t *)&c)[i]   ? "qpn"
				   : ((const uint8_t *)&d)[i] ? "opcode"
							      : NULL;
		if (name)
			*at += (size_t)snprintf(text + *at, sizeof(text) - *at,
						"bsn_completion.%s byte %zu\n", name, i);
	}
}

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
#define PUT_VALUE(name)                                                                            \
	at += (size_t)snprintf(text + at, sizeof(text) - at, "%s = %#x\n", #name, (unsigned)(name));
	FIELDS(PUT_FIELD)
	STRUCTS(PUT_STRUCT)
	VALUES(PUT_VALUE)
	put_bit_fields(&at);
}

/* Shows the first line that differs. */
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
