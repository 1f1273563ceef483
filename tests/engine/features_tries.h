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
#define RC                                                                                         \
	{                                                                                          \
		.qp.type = BSN_QP_RC                                                               \
	}
#define UC                                                                                         \
	{                                                                                          \
		.qp.type = BSN_QP_UC                                                               \
	}
#define UD                                                                                         \
	{                                                                                          \
		.qp.type = BSN_QP_UD                                                               \
	}

/* features_requests.c */
void post_recv(struct bench *b, struct bsn_rq *rq, uint64_t id);
void post_write(struct bench *b, struct bsn_ep *ep, uint64_t id, unsigned flags);
void assert_arrived(struct bench *b, size_t offset);
struct bsn_completion expect_message(struct bench *b, unsigned opcode);
const char *try_send(struct bench *b);
const char *try_send_imm(struct bench *b);
const char *try_send_inval(struct bench *b);
const char *try_write(struct bench *b);
const char *try_write_imm(struct bench *b);
const char *try_read(struct bench *b);
const char *try_fetch_add(struct bench *b);
const char *try_cmp_swap(struct bench *b);
const char *try_masked_atomics(struct bench *b);
const char *try_inline_recv(struct bench *b);
const char *try_recv_many(struct bench *b);
const char *try_copy(struct bench *b);
const char *try_layout(struct bench *b);
const char *try_mkey(struct bench *b);
const char *try_window(struct bench *b);
const char *try_sges(struct bench *b);
const char *try_inline(struct bench *b);
const char *try_prepared(struct bench *b);
const char *try_batch(struct bench *b);
const char *try_fence(struct bench *b);

/* features_completions.c */
const char *try_unsignaled(struct bench *b);
const char *try_signal_all(struct bench *b);
struct bsn_qp *make_loop(struct bench *b, const struct bsn_qp_attr *attr);
const char *try_two_cqs(struct bench *b);
const char *try_channel(struct bench *b);
const char *try_solicited(struct bench *b);
const char *try_moderation(struct bench *b);
const char *try_wait(struct bench *b);
const char *try_async_events(struct bench *b);
const char *try_cause(struct bench *b);
const char *try_vendor_syndrome(struct bench *b);
const char *try_drain(struct bench *b);
const char *try_reset(struct bench *b);
const char *try_attach(struct bench *b);
const char *try_lane(struct bench *b);
const char *try_stores(struct bench *b);

/* features_transports.c */
const char *try_xrc(struct bench *b);
const char *try_dc_pool(struct bench *b);
const char *try_dc_streams(struct bench *b);
const char *try_full_handshake(struct bench *b);
const char *try_ticks(struct bench *b);
const char *try_real_time(struct bench *b);
const char *try_multicast(struct bench *b);
const char *try_messages(struct bench *b);
const char *try_ignored_overruns(struct bench *b);
const char *try_compression(struct bench *b);
const char *try_resize(struct bench *b);

#endif
