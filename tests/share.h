/* SPDX-License-Identifier: BSD-2-Clause */
/* How large a share of the exhaustive and random tests a run does. */
#ifndef TESTS_SHARE_H
#define TESTS_SHARE_H

#include <stdlib.h>

/** tests_share - N: an N-th of the cases is enough; tests/run sets TESTS_SHARE=N by its step */
static inline unsigned tests_share(void)
{
	const char *share = getenv("TESTS_SHARE");
	const unsigned long n = share ? strtoul(share, NULL, 10) : 1;

	return n ? (unsigned)n : 1;
}

#endif
