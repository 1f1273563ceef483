/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests of every kind (requests.c), the ways to post them (ways.c), and what must be there then
 * (expect.c). Built with BSN_ORDER_TRACE, each post is traced.
 */
#ifndef TESTS_DV_REQUESTS_H
#define TESTS_DV_REQUESTS_H

#ifdef BSN_ORDER_TRACE
#include "trace.h"
#else
#include "fake.h"

static inline void trace_start(void)
{
}
#endif

#define RING_BB    16u
#define MAX_SGE    14u
#define MAX_INLINE 220u
#define FAR_INLINE 420u /* three rounds of the loop beyond BSN_INLINE_STRAIGHT */
#define MAX_MIXES  40
#define OPCODES    9
#define WAYS       8
#define LIST_WAYS  5 /* the first ways take any request that may be refused */
#define PEERS      3

/* Kinds of registers: each store, alone or shared, with BlueFlame or without. */
#define MODES (4 * BSN_STORE_COUNT)

/* One list of local memory: pointers, or inline data in pieces. */
struct mix {
	bool is_inline;
	uint32_t count;
	struct bsn_sge sge[MAX_SGE];
};

extern uint8_t payload[FAR_INLINE + 64];
extern struct mix mixes[MAX_MIXES];
extern unsigned mix_count;
extern const uint32_t opcodes[OPCODES];

/* A compact address vector, an extended one, and another that shares its second half with that. */
extern struct bsn_peer peers[PEERS];

extern bool sees_no_room; /* the inline code sees none, though there is some */

/* For cmocka: makes payload and mixes. */
int requests_set_up(void **state);

bool is_atomic(uint32_t opcode);
bool goes_with(const struct bsn_wqe_op *op, const struct mix *m);
bool has_op(const struct fake *f, uint32_t opcode);
struct bsn_wr request(uint32_t opcode, const struct mix *m, unsigned flags);
/* The next call ends it. */
struct bsn_wr inline_request(uint32_t opcode, uint32_t length, unsigned flags);

/* One bit of @some for each of four flags. */
unsigned flags_of(unsigned some);

/* Steps through 16 combinations of flags. */
#ifdef BSN_ORDER_TRACE
#define EVERY 15 /* the order depends on these flags: none, and all */
#else
#define EVERY 1
#endif
#define FEW 14 /* BSN_F_RING, and all */

/*
 * Post by each way that there is, and look at what is there then; @peer: one of many, or NULL. If
 * the queue signals every request, so is one that was posted as unsignaled, and it is hidden.
 */
unsigned post_at(struct fake *f, struct bsn_peer *peer, const struct bsn_wr *wr, uint32_t pi);
unsigned post_everything(struct fake *f, struct bsn_peer *peer, uint32_t opcode, uint32_t first,
			 unsigned flag_step);

/* Calls @test of a queue in each mode that this CPU has; returns how many these are. */
unsigned in_each_mode(struct fake_attr attr, void (*test)(struct fake *f, unsigned mode));

/* 16 blocks; room for the longest: control segment, prefix, remote address, 224 B inline. */
struct fake_attr many_peers(enum bsn_transport transport);
void make_peers(struct fake *f);

/* Calls @each of every request of a DC queue, to each kind of peer. */
typedef void each_request(struct fake *f, struct bsn_peer *peer, const struct bsn_wr *wr);
void each_to_one_of_many(struct fake *f, each_request *each);

/* -- ways.c ------------------------------------------------------------------------------------ */

#define NOT_THIS_WAY 1000

extern const struct way {
	const char *name;
	int (*post)(struct bsn_ep *ep, const struct bsn_wr *wr);
	uint32_t writes_bytes; /* at least so many, however short the WQE is */
} ways[WAYS];

int post_long(struct bsn_ep *ep, const struct bsn_wr *wr);
int post_short(struct bsn_ep *ep, const struct bsn_wr *wr);
int post_short_inline(struct bsn_ep *ep, const struct bsn_wr *wr, unsigned flags);
int post_known(struct bsn_ep *ep, const struct bsn_wr *wr);
int post_prepared(struct bsn_ep *ep, const struct bsn_wr *wr);
int post_prepared_long(struct bsn_ep *ep, const struct bsn_wr *wr);

/* -- expect.c ---------------------------------------------------------------------------------- */

void poison(struct fake *f);

/* The ring from block @pi on as one piece. */
void unwrap(const struct fake *f, uint32_t pi, uint8_t *out);

/* Doorbell or BlueFlame: the register of @buffer, and nothing else of the page. */
void assert_register(const struct fake *f, unsigned buffer, const uint8_t *wqe, uint32_t ds);

/* Everything after one post at @pi, with all before it published. */
void assert_posted(const struct fake *f, const struct bsn_wr *wr, const struct bsn_peer *peer,
		   uint32_t pi, unsigned buffer, uint32_t writes_bytes);

/* The stores since trace_start(), where they are traced. */
void assert_order(const struct fake *f, const struct bsn_wr *wr, uint32_t pi);

#endif
