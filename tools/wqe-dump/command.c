/* SPDX-License-Identifier: BSD-2-Clause */
#include "command.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int command_finish(int status)
{
	if (!fflush(stdout) && !ferror(stdout))
		return status;
	if (errno == EPIPE)
		return status;
	fprintf(stderr, "wqe-dump: standard output: %s\n", strerror(errno));
	return WQE_DUMP_FAILED;
}
