/* SPDX-License-Identifier: BSD-2-Clause */
/* How a call is refused. Private to the library. */
#ifndef DV_REFUSE_H
#define DV_REFUSE_H

#include "bsn_sq.h"

/*
 * Why the last failed call of this thread failed, and what to do; NULL: none failed.
 * bsn_error_text() returns it; it is memory of this thread, or constant.
 */
extern __thread const char *bsn_refusal __attribute__((visibility("hidden")));

/* Called with each refusal but -EAGAIN, which loops meet all the time; NULL: not wanted. */
extern void (*bsn_refusal_log)(const char *why) __attribute__((visibility("hidden")));

/* Return: -@error, for the caller to return. */
int refuse(int error, const char *why) __attribute__((cold));

/* The same with numbers: in memory of this thread. */
int refuse_with(int error, const char *format, ...) __attribute__((cold, format(printf, 2, 3)));

/* A post to NULL: -EINVAL, with its words. */
int bsn_sq_no_endpoint(void);

/* The same to an endpoint without a queue, or whose queue is closed: why it is. */
int bsn_sq_no_queue(const struct bsn_ep *ep);

#endif
