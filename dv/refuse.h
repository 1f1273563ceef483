/* SPDX-License-Identifier: BSD-2-Clause */
/* Refuses a call. Private to the library. */
#ifndef DV_REFUSE_H
#define DV_REFUSE_H

#include "bsn_sq.h"

/*
 * Why this thread's last failed call failed, and what to do; NULL: none failed. bsn_error_text()
 * returns it. It is constant, or memory of this thread.
 */
extern __thread const char *bsn_refusal __attribute__((visibility("hidden")));

/* Called with each refusal except -EAGAIN, which is part of normal work; NULL: not wanted. */
extern void (*bsn_refusal_log)(const char *why) __attribute__((visibility("hidden")));

/* Return: -@error, for the caller to return. */
int refuse(int error, const char *why) __attribute__((cold));

/* The same with a formatted text, in memory of this thread. */
int refuse_with(int error, const char *format, ...) __attribute__((cold, format(printf, 2, 3)));

/* Refuses a post to NULL: -EINVAL. */
int bsn_sq_no_endpoint(void);

/* Refuses a post to an endpoint that has no queue, or whose queue is closed, with the reason. */
int bsn_sq_no_queue(const struct bsn_ep *ep);

#endif
