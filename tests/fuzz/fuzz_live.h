/* SPDX-License-Identifier: BSD-2-Clause */
/* wqe-dump --core and --pid, without what they print. */
#ifndef FUZZ_LIVE_H
#define FUZZ_LIVE_H

#include <elf.h>
#include <stdio.h>

#include "fuzz.h"
#include "fuzz_sink.h"
#include "wqe-dump/command.h"

/* The QP of tests/tools/crafted.py. */
#define FUZZ_QPN 0x1234

static inline void fuzz_live(const struct live_attr *attr)
{
	struct tell tell = { .sink = &fuzz_sink };
	static FILE *nowhere;
	FILE *const standard_error = stderr;
	int status;

	if (!nowhere)
		MUST(nowhere = fopen("/dev/null", "we"));
	stderr = nowhere;
	status = live_run(attr, &tell);
	stderr = standard_error;
	MUST(status >= WQE_DUMP_FOUND && status <= WQE_DUMP_FAILED);
}

#endif
