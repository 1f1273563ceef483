/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A bench for tests of the engine. A case is written once, against bsn.h, and runs on each path, on
 * QPs of our own and on attached ones. It runs on the software ConnectX that is linked in, which is
 * passive, so that each run is the same. If BSN_TEST_DEVICE names a real verbs device, it runs
 * there, on the paths that this device has.
 *
 * The bench has two QPs of one device, end 0 and end 1, connected to each other.
 */
#ifndef TESTS_ENGINE_HARNESS_H
#define TESTS_ENGINE_HARNESS_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bsn.h"
#include "softcx.h"
#include "whole.h"

struct bench;

/** struct bench_case - what a case needs; all zero: two RC QPs with everything by default */
struct bench_case {
	const char *name;
	void (*run)(struct bench *b);
	struct bsn_qp_attr qp; /* of both ends; objects are the bench's, depths BENCH_DEPTH if 0 */
	struct bsn_connect_attr connect;
	uint32_t cq_entries;
	enum cx_link link;
	const char *fault_plan;  /* only on the model */
	bool no_atomics;         /* likewise: the device has none */
	bool big_endian_atomics; /* likewise: results of 8 bytes are so */
	bool no_stride_index;    /* likewise: CQEs are not compressed by that format */
	bool no_errored_streams; /* likewise: an initiator fails with its first stream */
	bool lag;                /* likewise: two ports are bonded */
	bool no_devx;            /* likewise: programs may send no commands */
	bool is_bare;            /* a device and its memory, no queues */
	bool is_model_only;
	bool is_active; /* likewise: its doorbells are trapped, and it is not stepped */
	bool is_verbs_only;
	bool is_direct_only;
	bool is_own_only;      /* not on QPs that the application made */
	bool has_channel;      /* of both CQs */
	bool has_srq;          /* for both ends */
	bool stays_idle;       /* the QPs are not connected */
	const void *of;        /* what a case that is a row of a table is about */
	const char *rxe_lacks; /* why the case is left out on the kernel's soft-RoCE */
	struct {
		enum ibv_wc_status wanted, said;
	} rxe_says[2]; /* statuses that soft-RoCE replaces by others; the case cites its source */
};

#define CASE(function)          .name = #function, .run = function
#define CASE_OF(function, what) .name = #function ", " what, .run = function
/* A case with these needs, and the same once more on RoCE. */
#define AND_ON_ROCE(function, ...)                                                                 \
	{ CASE(function), __VA_ARGS__ },                                                           \
	{                                                                                          \
		CASE_OF(function, "on RoCE"), ROCE, __VA_ARGS__                                    \
	}
#define BARE                    .is_bare = true
#define OWN                     .is_own_only = true
#define MODEL                   .is_model_only = true
#define DIRECT                  .is_direct_only = true
#define VERBS                   .is_verbs_only = true
#define ROCE                    .link = CX_LINK_ROCE

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { BENCH_BYTES = 1 << 16, BENCH_DEPTH = 32, NOW = BSN_F_SIGNALED | BSN_F_RING };

/** enum bench_kind - of the QPs on the bench; the attached ones are made by plain verbs */
enum bench_kind {
	BENCH_DIRECT,
	BENCH_VERBS,
	BENCH_ATTACHED_DIRECT,
	BENCH_ATTACHED_VERBS,
	BENCH_KINDS
};

struct bench {
	const struct bench_case *test;
	enum bench_kind kind;
	bool is_model;
	bool is_rxe; /* the kernel's soft-RoCE, which differs in some ways */
	struct bsn_device *device;
	struct bsn_channel *channel;
	struct bsn_rq *srq;
	struct bsn_mr *mem[2]; /* BENCH_BYTES each; end 0 has a pattern, end 1 zeros */
	struct bsn_cq *cq[2];
	struct bsn_qp *qp[2];
	struct bsn_ep *ep[2]; /* to the other end */
	struct bsn_sq *sq[2];
	struct bsn_rq *rq[2];
	struct {
		struct ibv_pd *pd;
		struct ibv_mr *mr[2];
		struct ibv_cq *cq[2];
		struct ibv_qp *qp[2];
		struct bsn_mr mem[2];
	} app;                   /* what the application made, if it did */
	struct bench_undo *undo; /* what the case made */
	size_t undo_count;
};

/* Runs each case on each path; what main() returns. */
int bench_run(const char *subject, const struct bench_case *cases, size_t count);

/* The program of a file that has nothing but its cases. */
#define BENCH_MAIN(subject)                                                                        \
	int main(void)                                                                             \
	{                                                                                          \
		return bench_run(subject, cases, COUNT(cases));                                    \
	}

/* -- objects ----------------------------------------------------------------------------------- */

/* Makes the end's QP as the case wants it; connects both after both were made. */
void bench_make_qp(struct bench *b, int end);
void bench_connect(struct bench *b);

/* Resets both QPs; connects them again, too. */
void bench_reset(struct bench *b);
void bench_start_again(struct bench *b);

/* Connects two QPs, or one with itself. */
void bench_join(struct bsn_qp *one, struct bsn_qp *other);

static inline const struct bsn_device_info *bench_info(const struct bench *b)
{
	return bsn_device_info(b->device);
}

static inline bool bench_is_attached(const struct bench *b)
{
	return b->kind == BENCH_ATTACHED_DIRECT || b->kind == BENCH_ATTACHED_VERBS;
}

/* Of the bench's QPs. */
static inline bool bench_is_direct(const struct bench *b)
{
	return b->kind == BENCH_DIRECT || b->kind == BENCH_ATTACHED_DIRECT;
}

struct bsn_outstanding bench_outstanding(struct bench *b, int end);
struct bsn_qp_error bench_error(struct bench *b, int end);

/* The address of this device's port, as a way to itself. */
struct ibv_ah_attr bench_way_to_self(struct bench *b);

/* The queue itself, to look inside. */
struct bsn_sq *bench_sq(struct bsn_qp *qp);

/* bsn_post() of a request whose local memory is a map. */
static inline int post_map(struct bsn_ep *ep, struct bsn_wr wr, const struct bsn_map *map)
{
	wr.map = map;
	return bsn_post(ep, &wr);
}

uint8_t *bench_at(struct bench *b, int end, size_t offset);
struct bsn_sge bench_sge(struct bench *b, int end, size_t offset, uint32_t length);
struct bsn_remote bench_remote(struct bench *b, int end, size_t offset);

/* The same in place, for a call that takes a pointer. */
#define SGE(...)    ((const struct bsn_sge[]){ bench_sge(__VA_ARGS__) })
#define REMOTE(...) ((const struct bsn_remote[]){ bench_remote(__VA_ARGS__) })

/*
 * The result of an atomic as it is in memory. On a QP that the application made with sq_sig_all it
 * comes in the CQE, big-endian (bsn_cqe.h), and libmlx5 copies it as it is: libfabric issue 10911.
 */
uint64_t bench_result(const struct bench *b, bool has_sig_all, uint64_t value);

/* -- what a case makes; the bench destroys it after the case, the last first ------------------- */

struct bsn_pd *bench_pd(struct bench *b);
struct bsn_channel *bench_channel(struct bench *b);
struct bsn_cq *bench_cq(struct bench *b, const struct bsn_cq_attr *attr);
struct bsn_rq *bench_srq(struct bench *b, const struct bsn_srq_attr *attr);
struct bsn_qp *bench_qp(struct bench *b, const struct bsn_qp_attr *attr);
struct bsn_mr *bench_mr(struct bench *b, void *memory, size_t length,
			const struct bsn_mr_attr *attr);
struct bsn_mr *bench_buf(struct bench *b, size_t length, const struct bsn_mr_attr *attr);
struct bsn_device *bench_device(struct bench *b); /* the same once more */

/* By attributes in place. */
#define new_cq(b, ...)  bench_cq(b, &(struct bsn_cq_attr){ __VA_ARGS__ })
#define new_srq(b, ...) bench_srq(b, &(struct bsn_srq_attr){ __VA_ARGS__ })
#define new_qp(b, ...)  bench_qp(b, &(struct bsn_qp_attr){ __VA_ARGS__ })

uint8_t *bench_pages(struct bench *b, size_t count);

/* Anything else: its function that destroys it returns 0. */
void bench_undo(struct bench *b, int (*undo)(void *object), void *object);
void bench_undo_all(struct bench *b);
#define undo_later(b, undo, object) bench_undo(b, (int (*)(void *))(undo), object)

/* -- requests ---------------------------------------------------------------------------------- */

/* A WRITE of end 0 to end 1, from and to the same place of their memories; a receive of an end. */
int bench_write(struct bench *b, size_t offset, uint32_t length, uint64_t id, unsigned flags);
int bench_recv(struct bench *b, int end, size_t offset, uint32_t length, uint64_t id);

/* -- time -------------------------------------------------------------------------------------- */

/*
 * Lets the device work and polls, until there are @n completions or nothing more happens. Returns
 * how many there are, or the error of bsn_poll() if there are none.
 */
int bench_reap(struct bench *b, struct bsn_cq *cq, struct bsn_completion *c, int n);

/* The next completion, which comes. */
struct bsn_completion bench_next(struct bench *b, struct bsn_cq *cq);

/* The same for one completion of a CQ that is not Bunsen's. */
int bench_reap_verbs(struct bench *b, struct ibv_cq *cq, struct ibv_wc *wc);

/*
 * How often to do what is done @n times on the model. On a real device each wait is long, so fewer
 * are enough; so is a share (share.h).
 */
unsigned bench_rounds(struct bench *b, unsigned n);

/* Lets the device work until it has nothing more to do; on a real one, for a while. */
void bench_settle(struct bench *b);

/* -- threads ----------------------------------------------------------------------------------- */

/* One thread for each of an array, to their ends. */
void bench_threads(void *(*work)(void *), void *args, size_t count, size_t bytes);
#define run_threads(work, array) bench_threads(work, array, COUNT(array), sizeof((array)[0]))

/* -- expectations ------------------------------------------------------------------------------ */

/* Expects one completion, as described, and returns it for a closer look. */
struct bsn_completion bench_expect(struct bench *b, struct bsn_cq *cq, uint64_t id, unsigned opcode,
				   enum ibv_wc_status status, const char *file, int line);
void bench_expect_nothing(struct bench *b, struct bsn_cq *cq, const char *file, int line);
void bench_assert_ok(int result, const char *what, const char *file, int line);
void bench_assert_fails(int result, int error, const char *word, const char *what, const char *file,
			int line);

#define expect_done(b, cq, id, opcode)                                                             \
	bench_expect(b, cq, id, opcode, IBV_WC_SUCCESS, __FILE__, __LINE__)
#define expect_status(b, cq, id, opcode, status)                                                   \
	bench_expect(b, cq, id, opcode, status, __FILE__, __LINE__)
#define expect_nothing(b, cq) bench_expect_nothing(b, cq, __FILE__, __LINE__)
#define ok(call)              bench_assert_ok(call, #call, __FILE__, __LINE__)
/* The call fails with this error, and its text has this word. */
#define fails(error, word, call) bench_assert_fails(call, error, word, #call, __FILE__, __LINE__)

#endif
