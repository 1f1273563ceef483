/* SPDX-License-Identifier: BSD-2-Clause */
/* Refusals and their words. */
#include "refuse.h"
#include "whole.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

__thread const char *bsn_refusal;
void (*bsn_refusal_log)(const char *why);

int refuse(int error, const char *why)
{
	bsn_refusal = why;
	if (bsn_refusal_log && error != EAGAIN)
		bsn_refusal_log(why);
	return -error;
}

int refuse_with(int error, const char *format, ...)
{
	static __thread char why[160];
	va_list args;

	va_start(args, format);
	vsnprintf(why, sizeof(why), format, args);
	va_end(args);
	return refuse(error, why);
}

int bsn_sq_no_endpoint(void)
{
	return refuse(EINVAL, "no endpoint: a QP with many peers has one for each (bsn_ep_create)");
}

int bsn_sq_no_queue(const struct bsn_ep *ep)
{
	return ep && ep->sq ? refuse(dv_sq(ep->sq)->closed, dv_sq(ep->sq)->closed_why)
			    : bsn_sq_no_endpoint();
}
