/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rows of `bsn-perf cost`: what is posted or polled, on which queues, and what the compiler
 * knows of it. Each column makes its code from this table.
 */
#ifndef COST_ROWS_H
#define COST_ROWS_H

#include <stdbool.h>

/* X(NAME, doc): the queues of a row; a column makes each kind that a wanted row needs. */
#define COST_QUEUES(X)                                                                             \
	X(RC, "RC, one SGE, inline data of one block")                                             \
	X(LONG, "RC, four SGEs, 512 B of inline data, receives of two SGEs")                       \
	X(UD, "UD, two SGEs, 64 B of inline data")                                                 \
	X(SRQ, "RC, receives of a shared receive queue")                                           \
	X(MANY, "512 RC QPs on one CQ, or so many as are asked for, which take turns")              \
	X(APART, "256 RC QPs on one CQ, their numbers 16 apart, which take turns")                 \
	X(ATTACHED, "RC, made by libibverbs; Bunsen is attached to it")                            \
	X(INLINED_RECV, "RC, whose messages come inside their CQEs")                               \
	X(XRC, "XRC: an initiator, a target, a shared receive queue of its domain")                \
	X(STAMPED, "RC, whose completions have times")                                             \
	X(COMPRESSED, "RC, whose CQEs come in sessions, expanded by vectors")                      \
	X(COMPRESSED_PLAIN, "RC, whose CQEs come in sessions, expanded without vectors")

#define COST_ENUM_QUEUES(name, doc) COST_##name,
enum cost_queues { COST_QUEUES(COST_ENUM_QUEUES) COST_QUEUES_COUNT };
#undef COST_ENUM_QUEUES

/* What an operation is. */
enum cost_what {
	COST_WRITE,
	COST_WRITE_IMM,
	COST_READ,
	COST_SEND,
	COST_SEND_IMM,
	COST_FETCH_ADD,
	COST_CMP_SWAP,
	COST_RECV,         /* a receive is posted */
	COST_POLL,         /* a request's completion is polled: a WRITE's, on UD a SEND's */
	COST_WAIT,         /* the same is waited for, and is there */
	COST_POLL_NONE,    /* there is none */
	COST_POLL_RECV,    /* a received SEND is polled */
	COST_POLL_RECV_IMM, /* a received SEND with immediate */
	COST_POLL_RECV_DATA /* a received SEND of COST_DATA_BYTES, and its data are read */
};

/* What it consists of. */
enum cost_form {
	COST_SGES,     /* so many SGEs of COST_SGE_BYTES each */
	COST_INLINED,  /* so many bytes of inline data */
	COST_PREPARED, /* one SGE, encoded before */
};

/*
 * What the compiler knows. Lengths are unknown to it unless said otherwise, as they are in most
 * programs.
 */
enum cost_known {
	COST_KNOWN,  /* flags, and how many SGEs there are */
	COST_LENGTH, /* the length of inline data, too */
	COST_HIDDEN, /* neither flags nor the number of SGEs */
	COST_SYMBOL, /* Bunsen: nothing, since the library's symbol is called */
};

/* X(name, queues, what, form, so many, batch, known); a batch is rung, or polled, at once. */
#define COST_USUAL_ROWS(X)                                                                         \
	X(write_sge, RC, WRITE, SGES, 1, 1, KNOWN)                                                 \
	X(write_sge2, LONG, WRITE, SGES, 2, 1, KNOWN)                                              \
	X(write_sge3, LONG, WRITE, SGES, 3, 1, KNOWN)                                              \
	X(write_sge4, LONG, WRITE, SGES, 4, 1, KNOWN)                                              \
	X(write_inline, RC, WRITE, INLINED, 8, 1, KNOWN)                                           \
	X(write_inline12, RC, WRITE, INLINED, 12, 1, KNOWN)                                        \
	X(write_inline16, RC, WRITE, INLINED, 16, 1, KNOWN)                                        \
	X(write_inline28, RC, WRITE, INLINED, 28, 1, KNOWN)                                        \
	X(write_inline32, LONG, WRITE, INLINED, 32, 1, KNOWN)                                      \
	X(write_inline48, LONG, WRITE, INLINED, 48, 1, KNOWN)                                      \
	X(write_inline64, LONG, WRITE, INLINED, 64, 1, KNOWN)                                      \
	X(write_inline96, LONG, WRITE, INLINED, 96, 1, KNOWN)                                      \
	X(write_inline128, LONG, WRITE, INLINED, 128, 1, KNOWN)                                    \
	X(write_inline192, LONG, WRITE, INLINED, 192, 1, KNOWN)                                    \
	X(write_inline224, LONG, WRITE, INLINED, 224, 1, KNOWN)                                    \
	X(write_inline256, LONG, WRITE, INLINED, 256, 1, KNOWN)                                    \
	X(write_inline320, LONG, WRITE, INLINED, 320, 1, KNOWN)                                    \
	X(write_inline512, LONG, WRITE, INLINED, 512, 1, KNOWN)                                    \
	X(write_prepared, RC, WRITE, PREPARED, 1, 1, KNOWN)                                        \
	X(write_batch16_sge, RC, WRITE, SGES, 1, 16, KNOWN)                                        \
	X(write_batch16_sge2, LONG, WRITE, SGES, 2, 16, KNOWN)                                     \
	X(write_batch16_inline, RC, WRITE, INLINED, 8, 16, KNOWN)                                  \
	X(write_batch16_inline64, LONG, WRITE, INLINED, 64, 16, KNOWN)                             \
	X(write_imm, RC, WRITE_IMM, SGES, 1, 1, KNOWN)                                             \
	X(write_imm_inline, RC, WRITE_IMM, INLINED, 8, 1, KNOWN)                                   \
	X(read, RC, READ, SGES, 1, 1, KNOWN)                                                       \
	X(read_sge2, LONG, READ, SGES, 2, 1, KNOWN)                                                \
	X(read_sge3, LONG, READ, SGES, 3, 1, KNOWN)                                                \
	X(read_sge4, LONG, READ, SGES, 4, 1, KNOWN)                                                \
	X(send, RC, SEND, SGES, 1, 1, KNOWN)                                                       \
	X(send_sge2, LONG, SEND, SGES, 2, 1, KNOWN)                                                \
	X(send_sge3, LONG, SEND, SGES, 3, 1, KNOWN)                                                \
	X(send_sge4, LONG, SEND, SGES, 4, 1, KNOWN)                                                \
	X(send_inline, RC, SEND, INLINED, 8, 1, KNOWN)                                             \
	X(send_inline12, RC, SEND, INLINED, 12, 1, KNOWN)                                          \
	X(send_inline28, RC, SEND, INLINED, 28, 1, KNOWN)                                          \
	X(send_inline44, LONG, SEND, INLINED, 44, 1, KNOWN)                                        \
	X(send_inline64, LONG, SEND, INLINED, 64, 1, KNOWN)                                        \
	X(send_inline96, LONG, SEND, INLINED, 96, 1, KNOWN)                                        \
	X(send_inline128, LONG, SEND, INLINED, 128, 1, KNOWN)                                      \
	X(send_inline192, LONG, SEND, INLINED, 192, 1, KNOWN)                                      \
	X(send_inline224, LONG, SEND, INLINED, 224, 1, KNOWN)                                      \
	X(send_inline256, LONG, SEND, INLINED, 256, 1, KNOWN)                                      \
	X(send_inline320, LONG, SEND, INLINED, 320, 1, KNOWN)                                      \
	X(send_inline512, LONG, SEND, INLINED, 512, 1, KNOWN)                                      \
	X(send_imm, RC, SEND_IMM, SGES, 1, 1, KNOWN)                                               \
	X(send_imm_inline, RC, SEND_IMM, INLINED, 8, 1, KNOWN)                                     \
	X(fetch_add, RC, FETCH_ADD, SGES, 1, 1, KNOWN)                                             \
	X(cmp_swap, RC, CMP_SWAP, SGES, 1, 1, KNOWN)                                               \
	X(ud_send_sge, UD, SEND, SGES, 1, 1, KNOWN)                                                \
	X(ud_send_sge2, UD, SEND, SGES, 2, 1, KNOWN)                                               \
	X(ud_send_inline, UD, SEND, INLINED, 8, 1, KNOWN)                                          \
	X(ud_send_inline32, UD, SEND, INLINED, 32, 1, KNOWN)                                       \
	X(ud_send_inline64, UD, SEND, INLINED, 64, 1, KNOWN)                                       \
	X(ud_send_batch16_sge, UD, SEND, SGES, 1, 16, KNOWN)                                       \
	X(write_512_qps, MANY, WRITE, SGES, 1, 1, KNOWN)                                           \
	X(xrc_send, XRC, SEND, SGES, 1, 1, KNOWN)                                                  \
	X(attached_write_sge, ATTACHED, WRITE, SGES, 1, 1, KNOWN)                                  \
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
	X(poll_recv_srq, SRQ, POLL_RECV, SGES, 1, 1, KNOWN)                                        \
	X(poll_recv_data, RC, POLL_RECV_DATA, SGES, 1, 1, KNOWN)                                   \
	X(poll_recv_inline, INLINED_RECV, POLL_RECV_DATA, SGES, 1, 1, KNOWN)                             \
	X(poll_recv_inline_16, INLINED_RECV, POLL_RECV_DATA, SGES, 1, 16, KNOWN)                         \
	X(poll_ud_send, UD, POLL, SGES, 1, 1, KNOWN)                                               \
	X(poll_ud_recv, UD, POLL_RECV, SGES, 1, 1, KNOWN)                                          \
	X(poll_xrc_recv, XRC, POLL_RECV, SGES, 1, 1, KNOWN)                                        \
	X(poll_stamped, STAMPED, POLL, SGES, 1, 1, KNOWN)                                          \
	X(poll_stamped_recv, STAMPED, POLL_RECV, SGES, 1, 1, KNOWN)                                \
	X(poll_512_qps, MANY, POLL, SGES, 1, 1, KNOWN)                                             \
	X(poll_256_qps_apart, APART, POLL, SGES, 1, 1, KNOWN)                                      \
	X(attached_poll_1, ATTACHED, POLL, SGES, 1, 1, KNOWN)                                      \
	X(attached_poll_recv, ATTACHED, POLL_RECV, SGES, 1, 1, KNOWN)                              \
	X(write_inline_length, RC, WRITE, INLINED, 8, 1, LENGTH)                                   \
	X(write_inline64_length, LONG, WRITE, INLINED, 64, 1, LENGTH)                              \
	X(write_sge_hidden, RC, WRITE, SGES, 1, 1, HIDDEN)                                         \
	X(write_sge2_hidden, LONG, WRITE, SGES, 2, 1, HIDDEN)                                      \
	X(write_inline64_hidden, LONG, WRITE, INLINED, 64, 1, HIDDEN)                              \
	X(write_sge_symbol, RC, WRITE, SGES, 1, 1, SYMBOL)                                         \
	X(write_sge2_symbol, LONG, WRITE, SGES, 2, 1, SYMBOL)                                      \
	X(write_inline_symbol, RC, WRITE, INLINED, 8, 1, SYMBOL)                                   \
	X(write_inline64_symbol, LONG, WRITE, INLINED, 64, 1, SYMBOL)                              \
	X(post_recv_symbol, RC, RECV, SGES, 1, 1, SYMBOL)                                          \
	X(poll_1_symbol, RC, POLL, SGES, 1, 1, SYMBOL)                                             \
	X(poll_16_symbol, RC, POLL, SGES, 1, 16, SYMBOL)

/* The lengths between them, with which each number of 16 B units occurs: --sweep. */
#define COST_SWEEP_ROWS(X)                                                                         \
	X(write_inline1, RC, WRITE, INLINED, 1, 1, KNOWN)                                          \
	X(write_inline4, RC, WRITE, INLINED, 4, 1, KNOWN)                                          \
	X(write_inline60, LONG, WRITE, INLINED, 60, 1, KNOWN)                                      \
	X(write_inline76, LONG, WRITE, INLINED, 76, 1, KNOWN)                                      \
	X(write_inline92, LONG, WRITE, INLINED, 92, 1, KNOWN)                                      \
	X(write_inline124, LONG, WRITE, INLINED, 124, 1, KNOWN)                                    \
	X(write_inline140, LONG, WRITE, INLINED, 140, 1, KNOWN)                                    \
	X(write_inline156, LONG, WRITE, INLINED, 156, 1, KNOWN)                                    \
	X(write_inline172, LONG, WRITE, INLINED, 172, 1, KNOWN)                                    \
	X(write_inline188, LONG, WRITE, INLINED, 188, 1, KNOWN)                                    \
	X(write_inline204, LONG, WRITE, INLINED, 204, 1, KNOWN)                                    \
	X(write_inline220, LONG, WRITE, INLINED, 220, 1, KNOWN)                                    \
	X(write_inline236, LONG, WRITE, INLINED, 236, 1, KNOWN)                                    \
	X(write_inline252, LONG, WRITE, INLINED, 252, 1, KNOWN)                                    \
	X(send_inline1, RC, SEND, INLINED, 1, 1, KNOWN)                                            \
	X(send_inline4, RC, SEND, INLINED, 4, 1, KNOWN)                                            \
	X(send_inline60, LONG, SEND, INLINED, 60, 1, KNOWN)                                        \
	X(send_inline76, LONG, SEND, INLINED, 76, 1, KNOWN)                                        \
	X(send_inline92, LONG, SEND, INLINED, 92, 1, KNOWN)                                        \
	X(send_inline124, LONG, SEND, INLINED, 124, 1, KNOWN)                                      \
	X(send_inline140, LONG, SEND, INLINED, 140, 1, KNOWN)                                      \
	X(send_inline156, LONG, SEND, INLINED, 156, 1, KNOWN)                                      \
	X(send_inline172, LONG, SEND, INLINED, 172, 1, KNOWN)                                      \
	X(send_inline188, LONG, SEND, INLINED, 188, 1, KNOWN)                                      \
	X(send_inline204, LONG, SEND, INLINED, 204, 1, KNOWN)                                      \
	X(send_inline220, LONG, SEND, INLINED, 220, 1, KNOWN)                                      \
	X(send_inline236, LONG, SEND, INLINED, 236, 1, KNOWN)                                      \
	X(send_inline252, LONG, SEND, INLINED, 252, 1, KNOWN)

/* What `bsn-perf recv` has beside rows of the first kind; by name also `bsn-perf cost`. */
#define COST_RECV_ROWS(X)                                                                          \
	X(post_recv_16_qps, MANY, RECV, SGES, 1, 16, KNOWN)                                        \
	X(poll_16_sessions, COMPRESSED, POLL_RECV, SGES, 1, 16, KNOWN)                             \
	X(poll_16_sessions_plain, COMPRESSED_PLAIN, POLL_RECV, SGES, 1, 16, KNOWN)                 \
	X(poll_1_sessions, COMPRESSED, POLL_RECV, SGES, 1, 1, KNOWN)                               \
	X(poll_1_sessions_plain, COMPRESSED_PLAIN, POLL_RECV, SGES, 1, 1, KNOWN)                   \
	X(poll_1_hidden, RC, POLL, SGES, 1, 1, HIDDEN)                                             \
	X(wait_1, RC, WAIT, SGES, 1, 1, KNOWN)                                                     \
	X(wait_1_hidden, RC, WAIT, SGES, 1, 1, HIDDEN)

#define COST_ROWS(X) COST_USUAL_ROWS(X) COST_SWEEP_ROWS(X) COST_RECV_ROWS(X)

#define COST_ENUM_ROW(name, ...) COST_ROW_##name,
enum cost_row { COST_ROWS(COST_ENUM_ROW) COST_ROW_COUNT };
#undef COST_ENUM_ROW
#define COST_ONE(...) +1
enum {
	COST_USUAL_COUNT = 0 COST_USUAL_ROWS(COST_ONE),
	COST_SWEEP_COUNT = COST_USUAL_COUNT COST_SWEEP_ROWS(COST_ONE), /* with the usual ones */
};
#undef COST_ONE

struct cost_shape {
	const char *name;
	enum cost_queues queues;
	enum cost_what what;
	enum cost_form form;
	unsigned n, batch;
	enum cost_known known;
};

/* A row of the table as a shape; for use as X. */
#define COST_SHAPE(name, queues, what, form, n, batch, known)                                      \
	{ #name, COST_##queues, COST_##what, COST_##form, n, batch, COST_##known }

extern const struct cost_shape cost_shapes[COST_ROW_COUNT];

static inline bool cost_polls(enum cost_what what)
{
	return what >= COST_POLL;
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
		return shape->queues == COST_UD || shape->queues == COST_XRC ? COST_SEND : COST_WRITE;
	}
}

#endif
