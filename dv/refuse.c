/* SPDX-License-Identifier: BSD-2-Clause */
/* Refusals and their words. */
#include "refuse.h"

__thread const char *bsn_refusal;
void (*bsn_refusal_log)(const char *why);

int refuse(int error, const char *why)
{
	bsn_refusal = why;
	if (bsn_refusal_log)
		bsn_refusal_log(why);
	return -error;
}

int bsn_sq_no_endpoint(void)
{
	return refuse(EINVAL, "no endpoint: a QP with many peers has one for each (bsn_ep_create)");
}

int bsn_sq_no_queue(const struct bsn_ep *ep)
{
	return ep && ep->sq ? refuse(ep->sq->closed, ep->sq->closed_why) : bsn_sq_no_endpoint();
}
