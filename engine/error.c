/* SPDX-License-Identifier: BSD-2-Clause */
/* What went wrong, in words: of the last failure of each thread, and for the log. */
#include "engine.h"

#include <stdarg.h>
#include <stdio.h>
#include <sys/resource.h>

static _Thread_local char text[320];

int fail(int error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return -error;
}

const char *memlock_hint(int error)
{
	static _Thread_local char hint[128];
	struct rlimit limit;

	if (error != ENOMEM || getrlimit(RLIMIT_MEMLOCK, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return "";
	snprintf(hint, sizeof(hint),
		 " (RLIMIT_MEMLOCK is %llu bytes: raise it by ulimit -l, or LimitMEMLOCK= of the "
		 "service)",
		 (unsigned long long)limit.rlim_cur);
	return hint;
}

const char *bsn_error_text(void)
{
	return text;
}

void say(const struct bsn_device *device, const char *format, ...)
{
	char line[320];
	va_list args;

	if (!device->attr.log)
		return;
	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	device->attr.log(device->attr.log_arg, line);
}
