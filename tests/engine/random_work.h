/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Random work on two connected QPs, and what engine/doc/drain-and-flush.md promises about it:
 * requests of all shapes by all calls, invalid keys, QPs that are killed, drains and resets. A
 * plain model says what each request does. What comes back, and what is in memory then, has to
 * agree with it.
 *
 * BSN_SEED repeats a run; BSN_ROUNDS makes it so many times as long.
 */
#ifndef TESTS_ENGINE_RANDOM_WORK_H
#define TESTS_ENGINE_RANDOM_WORK_H

#include "harness.h"
#include "posts.h"
#include "sq.h"
#include "../softcx/victim.h"
#include "../wqe/random.h"

enum {
	LIVES = 12, /* of the QPs, from a connection to a reset */
	MAX_BYTES = 256,
	MAX_PIECES = 16,
	GUARD = 8, /* bytes before and after what a request may write */
	REGION = GUARD + MAX_BYTES + MAX_PIECES + GUARD,
	REGIONS = 64, /* a direction */
	RECV_BYTES = BSN_GRH_SIZE + MAX_BYTES,
	MAX_RECV_PIECES = 4,
	RECV_HEAD = 40, /* bytes of the pieces before the last, each */
	RECV = RECV_BYTES + MAX_RECV_PIECES * (RECV_HEAD + 1),
	RECVS = BENCH_DEPTH,
	SOURCE = 2048, /* bytes that are only read */
	MESSAGES = 256,
	VICTIMS = 32,
	FILL = 0xee,
	NO_KEY = 0x55000000, /* bits of a key that make it nobody's */
};

/*
 * A request of one direction that may not be over yet. It has a region of its own, at the same
 * offset at both ends. READs and the results of atomics arrive in the sender's region.
 */
struct sent {
	struct bsn_wr wr;
	struct bsn_sge sge[MAX_PIECES];
	uint8_t data[MAX_BYTES]; /* what is moved */
	uint32_t length;
	unsigned at; /* where in the peer's region */
	unsigned blocks;
	uint64_t old, new;          /* of an atomic */
	uint64_t result;            /* as it gets to memory */
	enum ibv_wc_status spoiled; /* the status of its bad key; success: its keys are good */
	bool is_lost;               /* it never arrives, and no completion says so */
};

struct message {
	unsigned opcode;
	uint32_t imm, length;
	uint8_t data[MAX_BYTES];
};

struct received {
	uint64_t id, number;
	struct bsn_sge sge[MAX_RECV_PIECES];
	unsigned count;
	bool is_used, is_spoiled;
};

struct end {
	struct sent sends[REGIONS];
	unsigned first, count; /* of those that may not be over */
	unsigned blocks;       /* of them */
	unsigned quiet;        /* blocks since one that was signaled */
	struct message messages[MESSAGES];
	unsigned first_message, message_count; /* not seen by the peer yet */
	struct received *recvs; /* RECVS; those of an SRQ are the same for both ends */
	struct bsn_qp_info limits;
	bool has_failed; /* a send came back without success */
	bool is_reset;   /* and not connected again */
	bool has_error;  /* @error is the first completion without success */
	struct bsn_completion error;
};

/* What the queues went through, in this life. */
enum trouble {
	NO_TROUBLE,
	LOCAL_KEY,
	REMOTE_KEY,
	RECEIVE_KEY,
	FAILED, /* bsn_qp_fail() */
	BROKEN, /* by libibverbs, without Bunsen */
	PEER_RESET,
	TROUBLES
};

struct world {
	struct bench *b;
	unsigned life, step;
	enum trouble trouble; /* what has happened */
	bool was_killed;
	uint64_t recv_number;
	struct received recvs[2][RECVS];
	struct end end[2];
	struct victim victims[VICTIMS]; /* of SENDs that invalidate a key */
	unsigned victim_count;
	unsigned refused, done, flushed; /* a run must have all three */
};

#define demand(w, is_true, ...)                                                                    \
	do {                                                                                       \
		if (!(is_true)) {                                                                  \
			print_error("life %u, step %u, trouble %u: ", (w)->life, (w)->step,        \
				    (w)->trouble);                                                 \
			print_error(__VA_ARGS__);                                                  \
			print_error("\n");                                                         \
			_fail(__FILE__, __LINE__);                                                 \
		}                                                                                  \
	} while (0)

#define LLU(id) ((unsigned long long)(id)) /* as %llx wants it */

static inline unsigned below(unsigned n)
{
	return (unsigned)(random_u64() >> 33) % n;
}

static inline bool one_in(unsigned n)
{
	return !below(n);
}

static inline enum bsn_qp_type type_of(const struct world *w)
{
	return w->b->test->qp.type;
}

static inline bool is_rc(const struct world *w)
{
	return type_of(w) == BSN_QP_RC;
}

/* Whether only the poster signals, so that the exact number of free blocks is known. */
static inline bool never_signals(const struct world *w)
{
	return w->b->test->qp.signal_every < 0 || w->b->test->qp.signal_all ||
	       bench_is_attached(w->b);
}

/* random_requests.c */
size_t recv_at(unsigned slot);
bool is_read(const struct sent *s);
bool is_atomic(const struct sent *s);
bool is_send(unsigned opcode);
bool has_imm(unsigned opcode);
void fill_regions(struct world *w, int e, const struct sent *s);
void check_data(struct world *w, int e, const struct sent *s);
unsigned blocks_of(const struct world *w, const struct sent *s);
bool may_scatter_to_cqe(const struct world *w, uint32_t length);
void note_sent(struct world *w, int e, struct sent *s);
struct bsn_outstanding outstanding(struct world *w, int e);
bool send_one(struct world *w, int e, enum trouble how);
void send_nonsense(struct world *w, int e);

/* random_completions.c */
void receive_one(struct world *w, int e, bool is_spoiled);
void pass_silent(struct world *w, int e);
void take(struct world *w, int e, const struct bsn_completion *c, int count);
int poll_some(struct world *w, int e);
void settle(struct world *w);

#endif
