/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory for hot structures, on cache lines of their own. */
#include <stdlib.h>
#include <string.h>

#include "init.h"

void *bsn_hot_alloc(size_t bytes)
{
	const size_t whole = (bytes + 63) / 64 * 64;
	void *hot = aligned_alloc(64, whole);

	if (hot)
		memset(hot, 0, whole);
	return hot;
}
