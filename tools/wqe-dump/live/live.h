/* SPDX-License-Identifier: BSD-2-Clause */
/* The queues of a running process, or of one that left a core file. */
#ifndef WQE_DUMP_LIVE_H
#define WQE_DUMP_LIVE_H

#include "../record.h"

/** struct live_attr - @pid or @core, and which QP; @follows: goes on until the process ends */
struct live_attr {
	long pid;
	const char *core;
	struct number qp;
	bool follows;
};

/** live_run() - an exit status, everything said that is to be said on standard error */
int live_run(const struct live_attr *attr, struct sink *sink);

#endif
