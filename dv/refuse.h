/* SPDX-License-Identifier: BSD-2-Clause */
/* How a post is refused. Private to the library. */
#ifndef DV_REFUSE_H
#define DV_REFUSE_H

#include "bsn_sq.h"

/* Return: -@error, for the caller to return. */
static inline int refuse(int error, const char *why)
{
	bsn_refusal = why;
	return -error;
}

#endif
