/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a device can do, each feature tried by a function: it asserts that the feature works, and
 * returns NULL, or why the path refused.
 */
#ifndef TESTS_ENGINE_FEATURES_TRIES_H
#define TESTS_ENGINE_FEATURES_TRIES_H

#include "harness.h"
#include "loop.h"
#include "bsn_dc.h"
#include "bsn_mcast.h"
#include "bsn_mkey.h"
#include "bsn_msg.h"
#include "bsn_xrc.h"

#include <fcntl.h>
#include <json-c/json.h>

#include "bsn_syndrome.h"

enum { LENGTH = 64, INTO = 8192, PIECES = 3 };

struct feature {
	const char *name;
	/* Tries the feature, and asserts that it works. Returns NULL, or why the path refused. */
	const char *(*try)(struct bench *b);
	const char *by_library; /* how the library does it where verbs cannot; else NULL */
	struct bench_case needs;
};

/* Attributes of the cases: what the bench has. */
#define NEEDS(...) .needs = { __VA_ARGS__ }
#define RC         .needs.qp.type = BSN_QP_RC
#define UC         .needs.qp.type = BSN_QP_UC
#define UD         .needs.qp.type = BSN_QP_UD
#define NO_QUEUES  .needs.is_bare = true

/* Why the path refused a call; NULL: the call succeeded. */
static inline const char *refusal(int err)
{
	if (err == -EOPNOTSUPP)
		return bsn_error_text();
	ok(err);
	return NULL;
}

/* features_requests.c */
void post_recv(struct bench *b, struct bsn_rq *rq, uint64_t id);
void post_write(struct bench *b, struct bsn_ep *ep, uint64_t id, unsigned flags);
void assert_arrived(struct bench *b, size_t offset);
struct bsn_completion expect_message(struct bench *b, unsigned opcode);
const char *try_send(struct bench *b);
__typeof__(try_send) try_send_imm, try_send_inval, try_write, try_write_imm, try_read,
	try_fetch_add, try_cmp_swap, try_masked_atomics, try_inline_recv, try_recv_many, try_copy,
	try_layout, try_mkey, try_window, try_sges, try_inline, try_prepared, try_batch, try_fence;

/* features_completions.c */
struct bsn_qp *make_loop(struct bench *b, const struct bsn_qp_attr *attr);
__typeof__(try_send) try_unsignaled, try_signal_all, try_two_cqs, try_channel, try_solicited,
	try_moderation, try_wait, try_async_events, try_cause, try_vendor_syndrome, try_drain,
	try_reset, try_attach, try_lane, try_stores;

/* features_transports.c */
__typeof__(try_send) try_xrc, try_dc_pool, try_dc_streams, try_full_handshake, try_ticks,
	try_real_time, try_multicast, try_messages, try_ignored_overruns, try_compression,
	try_resize;

#endif
