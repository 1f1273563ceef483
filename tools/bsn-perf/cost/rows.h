/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rows of `bsn-perf cost`, as data: what is posted or polled, on which queues, and what the
 * compiler knows of it.
 *
 * What the compiler knows makes code of its own, in each column: COST_CODES. All else of a row is
 * known at run time, and many rows share the code of another one (rows.c).
 */
#ifndef COST_ROWS_H
#define COST_ROWS_H

#include <stdbool.h>

#include "bsn_dc.h"

/* -- queues ------------------------------------------------------------------------------------ */

enum {
	COST_INLINE_BYTES = 28, /* unless said otherwise */
	COST_MANY_QPS = 512,
	COST_QPS_MAX = 4096, /* that are asked for */
	COST_APART_QPS = 256,
	COST_SHORT_DEPTH = 16, /* where posts are at the ring's end */
	COST_DC_PEERS = 1024,
	COST_DC_INITIATORS = 32,
	COST_DC_MOST_READS = 64,
	COST_LAYOUTS_MOST = 16,
	COST_MATRIX_ROWS = 1024,
};

/*
 * @max_sge, @max_recv_sge, @max_inline: 0: 1, 1, COST_INLINE_BYTES; the device may take less
 * @qps: that take turns; 0: as many as are asked for, usually one
 * @peers: that take turns, each with an endpoint of its own
 * @depth: of each queue; 0: as was asked for
 * @at_end, @left_bb: a request begins where so many blocks are left of the ring
 * @most: operations at a time; 0: as many as the queue holds
 * @subject: whose columns it has
 */
enum cost_subject { COST_OF_QPS, COST_OF_LAYOUTS, COST_OF_MEMORY, COST_SUBJECTS };

struct cost_kind {
	const char *doc;
	enum cost_subject subject;
	enum bsn_qp_type type;
	unsigned max_sge, max_recv_sge, max_inline, qps, peers, most, depth;
	bool at_end;
	unsigned left_bb;
	enum bsn_cqe_compression compression;
	struct bsn_dc_pool_attr pool;
};

#define COST_AT_END                                                                                \
	.type = BSN_QP_RC, .max_sge = 4, .max_inline = 64, .qps = 1, .most = 1,                    \
	.depth = COST_SHORT_DEPTH, .at_end = true
#define COST_MISSES(how)                                                                           \
	"DC, 32 initiators, each time a peer that has none: " how, .type = BSN_QP_DC,              \
	.max_sge = 4, .max_inline = 256, .qps = 1, .peers = COST_DC_PEERS,                         \
	.most = COST_DC_INITIATORS

/* A column makes each kind that a wanted row needs. Those of layouts and memory are no QPs. */
#define COST_KINDS(X)                                                                              \
	X(RC, "RC, one SGE, inline data of one block", .type = BSN_QP_RC)                          \
	X(LONG, "RC, four SGEs, 512 B of inline data, receives of two SGEs", .type = BSN_QP_RC,    \
	  .max_sge = 4, .max_recv_sge = 2, .max_inline = 512)                                      \
	X(UD, "UD, two SGEs, 64 B of inline data", .type = BSN_QP_UD, .max_sge = 2,                \
	  .max_inline = 64, .qps = 1)                                                              \
	X(SRQ, "RC, receives of a shared receive queue", .type = BSN_QP_RC)                        \
	X(MANY, "512 RC QPs on one CQ, or so many as are asked for, which take turns",             \
	  .type = BSN_QP_RC, .qps = COST_MANY_QPS)                                                 \
	X(APART, "256 RC QPs on one CQ, their numbers 16 apart, which take turns",                 \
	  .type = BSN_QP_RC, .qps = COST_APART_QPS)                                                \
	X(ATTACHED, "RC, made by libibverbs; Bunsen is attached to it", .type = BSN_QP_RC,         \
	  .qps = 1)                                                                                \
	X(INLINED_RECV, "RC, whose messages come inside their CQEs", .type = BSN_QP_RC)            \
	X(XRC, "XRC: an initiator, a target, a shared receive queue of its domain",                \
	  .type = BSN_QP_XRC, .qps = 1)                                                            \
	X(STAMPED, "RC, whose completions have times", .type = BSN_QP_RC)                          \
	X(COMPRESSED, "RC, whose CQEs come in sessions, with the hash", .type = BSN_QP_RC,         \
	  .compression = BSN_CQES_BY_HASH)                                                         \
	X(CHECKSUMS, "RC, whose CQEs come in sessions, with the checksum", .type = BSN_QP_RC,      \
	  .compression = BSN_CQES_BY_CHECKSUM)                                                     \
	X(LAST, "RC, the last block of a ring is next", COST_AT_END, .left_bb = 1)                 \
	X(FIRST, "RC, the last block of a ring was used", COST_AT_END)                             \
	X(DC, "DC, a peer that has its initiator", .type = BSN_QP_DC, .max_sge = 4,                \
	  .max_inline = 512, .qps = 1)                                                             \
	X(DC_READS, "DC, a peer that has its initiator, READs have a limit", .type = BSN_QP_DC,    \
	  .max_sge = 4, .max_inline = 64, .qps = 1, .most = COST_DC_MOST_READS,                    \
	  .pool = { .max_reads = COST_DC_MOST_READS })                                             \
	X(DC_MISS, COST_MISSES("lru"), .pool = { .initiators = COST_DC_INITIATORS })               \
	X(DC_HASHED, COST_MISSES("hashed"),                                                        \
	  .pool = { .initiators = COST_DC_INITIATORS, .policy = BSN_DC_HASHED })                   \
	X(DC_STREAMS, COST_MISSES("lru, of eight streams each"),                                   \
	  .pool = { .initiators = COST_DC_INITIATORS, .streams = 8 })                              \
	X(LAYOUTS, "layouts of parts of memory, and mkeys", .subject = COST_OF_LAYOUTS, .qps = 1,  \
	  .most = COST_LAYOUTS_MOST, .depth = 512)                                                 \
	X(PAGED, "mkeys of pages", .subject = COST_OF_LAYOUTS, .qps = 1,                           \
	  .most = COST_LAYOUTS_MOST, .depth = 512)                                                 \
	X(MATRIX, "a column of a matrix", .subject = COST_OF_LAYOUTS, .qps = 1, .most = 1,         \
	  .depth = COST_MATRIX_ROWS)                                                               \
	X(MATRIX_WIDE, "a column of a matrix, as many SGEs as there can be",                       \
	  .subject = COST_OF_LAYOUTS, .qps = 1, .most = 1, .depth = 64, .max_sge = UINT32_MAX)     \
	X(REGIONS, "10000 regions in the cache", .subject = COST_OF_MEMORY)                        \
	X(BUFFERS, "registrations, and a slab", .subject = COST_OF_MEMORY)
#define COST_KIND_ENUM(name, ...) COST_##name,
#define COST_KIND(name, ...)      [COST_##name] = { __VA_ARGS__ },

enum cost_queues { COST_KINDS(COST_KIND_ENUM) COST_QUEUES_COUNT };
static const struct cost_kind cost_kinds[COST_QUEUES_COUNT] = { COST_KINDS(COST_KIND) };

/* Whether endpoints take turns, however many QPs are asked for. */
static inline bool cost_has_turns(enum cost_queues kind)
{
	return cost_kinds[kind].qps > 1 || cost_kinds[kind].peers;
}

/* -- operations -------------------------------------------------------------------------------- */

/* What an operation is. */
enum cost_what {
	COST_WRITE, COST_WRITE_IMM, COST_READ, COST_SEND, COST_SEND_IMM, COST_FETCH_ADD,
	COST_CMP_SWAP,
	COST_RECV,         /* a receive is posted */
	COST_POLL,         /* a request's completion is polled: a WRITE's, on UD a SEND's */
	COST_WAIT,         /* the same is waited for, and is there */
	COST_POLL_NONE,    /* there is none */
	COST_POLL_RECV,    /* a received SEND is polled */
	COST_POLL_RECV_IMM, /* a received SEND with immediate */
	COST_POLL_RECV_DATA, /* a received SEND of COST_DATA_BYTES, and its data are read */
	/* Of layouts, of a column of a matrix, and of memory, as bsn-perf(1) says: */
	COST_CONFIGURE, COST_CHECK, COST_MAP_NEW, COST_MAP_KNOWN, COST_UNMAP,
	COST_SEND_NEW, COST_SEND_KNOWN, COST_SEND_PACKED, COST_SEND_SGES, COST_SEND_ROWS,
	COST_REGISTER, COST_GET, COST_FIND_SAME, COST_FIND_NEXT, COST_FIND_ANY, COST_BUFFER,
	COST_WHATS
};

/* What it consists of. */
enum cost_form {
	COST_SGES,     /* so many SGEs of COST_SGE_BYTES each */
	COST_INLINED,  /* so many bytes of inline data */
	COST_PREPARED, /* one SGE, encoded before */
	COST_LIST,     /* a layout of so many parts */
	COST_PAGES,
	COST_INTERLEAVED,
};

/* How the parts of a layout lie. */
enum cost_order { COST_ASCENDING, COST_SHUFFLED, COST_TWO_KEYS /* in turn */ };

/* What the compiler knows. Lengths are unknown to it unless said otherwise, as in most programs. */
enum cost_known {
	COST_KNOWN,  /* flags, and how many SGEs there are */
	COST_LENGTH, /* the length of inline data, too */
	COST_HIDDEN, /* neither flags nor the number of SGEs */
};

/*
 * X(name, queues, what, form, so many, batch, known); a batch is rung, or polled, at once. Each is
 * a row, too; with @queues that take turns, its code takes them.
 */
#define COST_USUAL_CODES(X)                                                                        \
	X(write_sge, RC, WRITE, SGES, 1, 1, KNOWN)                                                 \
	X(write_sge2, LONG, WRITE, SGES, 2, 1, KNOWN)                                              \
	X(write_sge3, LONG, WRITE, SGES, 3, 1, KNOWN)                                              \
	X(write_sge4, LONG, WRITE, SGES, 4, 1, KNOWN)                                              \
	X(write_inline, RC, WRITE, INLINED, 8, 1, KNOWN)                                           \
	X(write_inline8_length, RC, WRITE, INLINED, 8, 1, LENGTH)                                  \
	X(write_inline12_length, RC, WRITE, INLINED, 12, 1, LENGTH)                                \
	X(write_inline28_length, RC, WRITE, INLINED, 28, 1, LENGTH)                                \
	X(write_inline44_length, LONG, WRITE, INLINED, 44, 1, LENGTH)                              \
	X(write_inline64_length, LONG, WRITE, INLINED, 64, 1, LENGTH)                              \
	X(write_inline128_length, LONG, WRITE, INLINED, 128, 1, LENGTH)                            \
	X(write_inline192_length, LONG, WRITE, INLINED, 192, 1, LENGTH)                            \
	X(write_inline256_length, LONG, WRITE, INLINED, 256, 1, LENGTH)                            \
	X(write_prepared, RC, WRITE, PREPARED, 1, 1, KNOWN)                                        \
	X(write_batch16_sge, RC, WRITE, SGES, 1, 16, KNOWN)                                        \
	X(write_batch16_sge2, LONG, WRITE, SGES, 2, 16, KNOWN)                                     \
	X(write_batch16_inline, RC, WRITE, INLINED, 8, 16, KNOWN)                                  \
	X(write_batch16_inline64, LONG, WRITE, INLINED, 64, 16, KNOWN)                             \
	X(write_imm, RC, WRITE_IMM, SGES, 1, 1, KNOWN)                                             \
	X(write_imm_inline, RC, WRITE_IMM, INLINED, 8, 1, KNOWN)                                   \
	X(write_sge_hidden, RC, WRITE, SGES, 1, 1, HIDDEN)                                         \
	X(write_sge2_hidden, LONG, WRITE, SGES, 2, 1, HIDDEN)                                      \
	X(write_inline64_hidden, LONG, WRITE, INLINED, 64, 1, HIDDEN)                              \
	X(write_prepared_hidden, RC, WRITE, PREPARED, 1, 1, HIDDEN)                                \
	X(read, RC, READ, SGES, 1, 1, KNOWN)                                                       \
	X(read_sge2, LONG, READ, SGES, 2, 1, KNOWN)                                                \
	X(read_sge3, LONG, READ, SGES, 3, 1, KNOWN)                                                \
	X(read_sge4, LONG, READ, SGES, 4, 1, KNOWN)                                                \
	X(read_hidden, RC, READ, SGES, 1, 1, HIDDEN)                                               \
	X(send, RC, SEND, SGES, 1, 1, KNOWN)                                                       \
	X(send_sge2, LONG, SEND, SGES, 2, 1, KNOWN)                                                \
	X(send_sge3, LONG, SEND, SGES, 3, 1, KNOWN)                                                \
	X(send_sge4, LONG, SEND, SGES, 4, 1, KNOWN)                                                \
	X(send_inline, RC, SEND, INLINED, 8, 1, KNOWN)                                             \
	X(send_inline8_length, RC, SEND, INLINED, 8, 1, LENGTH)                                    \
	X(send_inline28_length, RC, SEND, INLINED, 28, 1, LENGTH)                                  \
	X(send_inline64_length, LONG, SEND, INLINED, 64, 1, LENGTH)                                \
	X(send_imm, RC, SEND_IMM, SGES, 1, 1, KNOWN)                                               \
	X(send_imm_inline, RC, SEND_IMM, INLINED, 8, 1, KNOWN)                                     \
	X(send_hidden, RC, SEND, SGES, 1, 1, HIDDEN)                                               \
	X(fetch_add, RC, FETCH_ADD, SGES, 1, 1, KNOWN)                                             \
	X(cmp_swap, RC, CMP_SWAP, SGES, 1, 1, KNOWN)                                               \
	X(ud_send_sge, UD, SEND, SGES, 1, 1, KNOWN)                                                \
	X(ud_send_sge2, UD, SEND, SGES, 2, 1, KNOWN)                                               \
	X(ud_send_inline, UD, SEND, INLINED, 8, 1, KNOWN)                                          \
	X(ud_send_inline32_length, UD, SEND, INLINED, 32, 1, LENGTH)                               \
	X(ud_send_batch16_sge, UD, SEND, SGES, 1, 16, KNOWN)                                       \
	X(xrc_send, XRC, SEND, SGES, 1, 1, KNOWN)                                                  \
	X(write_512_qps, MANY, WRITE, SGES, 1, 1, KNOWN)                                           \
	X(dc_miss_write_sge2, DC_MISS, WRITE, SGES, 2, 1, KNOWN)                                   \
	X(dc_miss_write_inline, DC_MISS, WRITE, INLINED, 8, 1, KNOWN)                              \
	X(dc_miss_write_prepared, DC_MISS, WRITE, PREPARED, 1, 1, KNOWN)                           \
	X(dc_miss_read, DC_MISS, READ, SGES, 1, 1, KNOWN)                                          \
	X(dc_miss_send, DC_MISS, SEND, SGES, 1, 1, KNOWN)                                          \
	X(dc_miss_fetch_add, DC_MISS, FETCH_ADD, SGES, 1, 1, KNOWN)                                \
	X(post_recv, RC, RECV, SGES, 1, 1, KNOWN)                                                  \
	X(post_recv_sge2, LONG, RECV, SGES, 2, 1, KNOWN)                                           \
	X(post_recv_srq, SRQ, RECV, SGES, 1, 1, KNOWN)                                             \
	X(post_recv_16, RC, RECV, SGES, 1, 16, KNOWN)                                              \
	X(post_recv_srq_16, SRQ, RECV, SGES, 1, 16, KNOWN)                                         \
	X(poll_1, RC, POLL, SGES, 1, 1, KNOWN)                                                     \
	X(poll_16, RC, POLL, SGES, 1, 16, KNOWN)                                                   \
	X(poll_empty, RC, POLL_NONE, SGES, 1, 1, KNOWN)                                            \
	X(poll_recv, RC, POLL_RECV, SGES, 1, 1, KNOWN)                                             \
	X(poll_recv_16, RC, POLL_RECV, SGES, 1, 16, KNOWN)                                         \
	X(poll_recv_imm, RC, POLL_RECV_IMM, SGES, 1, 1, KNOWN)                                     \
	X(poll_recv_data, RC, POLL_RECV_DATA, SGES, 1, 1, KNOWN)                                   \
	X(poll_recv_inline, INLINED_RECV, POLL_RECV_DATA, SGES, 1, 1, KNOWN)                       \
	X(poll_recv_inline_16, INLINED_RECV, POLL_RECV_DATA, SGES, 1, 16, KNOWN)                   \
	X(poll_ud_recv, UD, POLL_RECV, SGES, 1, 1, KNOWN)                                          \
	X(poll_stamped, STAMPED, POLL, SGES, 1, 1, KNOWN)                                          \
	X(poll_stamped_recv, STAMPED, POLL_RECV, SGES, 1, 1, KNOWN)                                \
	X(poll_dc, DC, POLL, SGES, 1, 1, KNOWN)                                                    \
	X(attached_poll_recv, ATTACHED, POLL_RECV, SGES, 1, 1, KNOWN)

/* By name only. */
#define COST_OTHER_CODES(X)                                                                        \
	X(post_recv_16_qps, MANY, RECV, SGES, 1, 16, KNOWN)                                        \
	X(poll_1_hidden, RC, POLL, SGES, 1, 1, HIDDEN)                                             \
	X(wait_1, RC, WAIT, SGES, 1, 1, KNOWN)                                                     \
	X(wait_1_hidden, RC, WAIT, SGES, 1, 1, HIDDEN)

#define COST_CODES(X) COST_USUAL_CODES(X) COST_OTHER_CODES(X)

#define COST_ENUM_CODE(name, ...) COST_CODE_##name,
enum cost_code { COST_CODES(COST_ENUM_CODE) COST_CODE_COUNT };

struct cost_shape {
	enum cost_queues queues;
	enum cost_what what;
	enum cost_form form;
	unsigned n, batch;
	enum cost_known known;
	enum cost_order order;
};

/* A row of the table as a shape; for use as X. */
#define COST_SHAPE(queues, what, form, n, batch, known)                                            \
	{ COST_##queues, COST_##what, COST_##form, n, batch, COST_##known, COST_ASCENDING }

/* -- rows -------------------------------------------------------------------------------------- */

enum { COST_NAME_BYTES = 48, COST_ROWS_MAX = 320 };

/* @shape: that of the code, but that queues, and how many bytes there are, may be others */
struct cost_row {
	char name[COST_NAME_BYTES];
	enum cost_code code;
	struct cost_shape shape;
};

/* The rows of "usual", "layouts", "memory" or "receives"; 0: there is none. To be called first. */
unsigned cost_group_rows(const char *group, struct cost_row rows[COST_ROWS_MAX]);

/* The row of such a name; false: there is none. */
bool cost_find_row(const char *name, struct cost_row *row);

static inline bool cost_polls(enum cost_what what)
{
	return what >= COST_POLL && what <= COST_POLL_RECV_DATA;
}

/* Whether the bus is asked for something by it, where receives and polls ask for nothing. */
static inline bool cost_asks_bus(enum cost_what what)
{
	return what < COST_RECV || what == COST_CONFIGURE ||
	       (what >= COST_SEND_NEW && what <= COST_SEND_ROWS);
}

/* Of the completion queue that requests have, not messages. */
static inline bool cost_polls_requests(enum cost_what what)
{
	return what == COST_POLL || what == COST_WAIT;
}

/* Whether a message arrives in a receive where this is posted. */
static inline bool cost_needs_recv(enum cost_what what)
{
	return what == COST_WRITE_IMM || what == COST_SEND || what == COST_SEND_IMM;
}

/* The request whose completion, or arrival, is polled. */
static inline enum cost_what cost_polled(const struct cost_shape *shape)
{
	switch (shape->what) {
	case COST_POLL_RECV:
	case COST_POLL_RECV_DATA:
		return COST_SEND;
	case COST_POLL_RECV_IMM:
		return COST_SEND_IMM;
	default:
		return shape->queues == COST_UD || shape->queues == COST_XRC ? COST_SEND
									      : COST_WRITE;
	}
}

#endif
