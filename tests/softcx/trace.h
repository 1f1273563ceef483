/* SPDX-License-Identifier: BSD-2-Clause */
/* The trace of a device, in a file of the case. */
#ifndef TESTS_SOFTCX_TRACE_H
#define TESTS_SOFTCX_TRACE_H

#include <fcntl.h>

#include "unit.h"

static char trace_path[] = "/tmp/softcx-trace.XXXXXX";

static inline const char *make_trace(void)
{
	int fd;

	strcpy(trace_path + strlen(trace_path) - 6, "XXXXXX");
	fd = mkstemp(trace_path);
	assert_true(fd >= 0);
	close(fd);
	return trace_path;
}

static inline const char *read_trace(void)
{
	static char all[1 << 16];
	int fd = open(trace_path, O_RDONLY);
	ssize_t len = read(fd, all, sizeof(all) - 1);

	close(fd);
	assert_true(len >= 0);
	all[len] = 0;
	return all;
}

#endif
