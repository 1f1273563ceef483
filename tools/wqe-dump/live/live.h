/* SPDX-License-Identifier: BSD-2-Clause */
/* The queues of a running process, or of one that left a core file. */
#ifndef WQE_DUMP_LIVE_H
#define WQE_DUMP_LIVE_H

#include "../tell/tell.h"

/**
 * struct live_attr - @pid or @core, and maybe one QP
 * @trusts_core: see target_open_core()
 * @follows: until the process ends
 */
struct live_attr {
	long pid;
	const char *core;
	bool trusts_core;
	struct number qp;
	bool follows;
};

/** live_run() - tells of the queues, says on standard error what failed; returns an exit status */
int live_run(const struct live_attr *attr, struct tell *tell);

#endif
