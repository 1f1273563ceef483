/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Mistakes of callers and of their environment. Each is an error of its own, whose text says what
 * to do, and afterwards everything is as it was.
 */
#ifndef TESTS_ENGINE_BAD_INPUT_RIG_H
#define TESTS_ENGINE_BAD_INPUT_RIG_H

#include "harness.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <linux/capability.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <infiniband/mlx5dv.h>

#include "bsn_mkey.h"
#include "refuse.h"

/* What a call that was refused must not have written. */
#define UNTOUCHED ((void *)0x55)

/* Checks a refused call that would create something; its out parameter is named "out". */
#define REFUSED(error, word, type, call)                                                           \
	do {                                                                                       \
		struct type *out_ = UNTOUCHED, **out = &out_;                                      \
		fails(error, word, call);                                                          \
		assert_ptr_equal(out_, UNTOUCHED);                                                 \
	} while (0)

/* Objects of the same device, opened once more. */
struct foreign {
	struct bsn_device *device;
	struct bsn_pd *pd;
	struct bsn_lane *lane;
	struct bsn_channel *channel;
	struct bsn_cq *cq;
	struct bsn_rq *srq;
	struct bsn_qp *qp;
};

static inline struct foreign open_foreign(struct bench *b)
{
	struct bsn_device *const own = b->device;
	struct foreign f = { .device = bench_device(b) };

	b->device = f.device;
	f.pd = bench_pd(b);
	ok(bsn_lane_create(f.device, NULL, &f.lane));
	undo_later(b, bsn_lane_destroy, f.lane);
	f.channel = bench_channel(b);
	f.cq = bench_cq(b, NULL);
	f.srq = bench_srq(b, NULL);
	f.qp = new_qp(b, .cq = f.cq);
	b->device = own;
	return f;
}

#endif
