/* SPDX-License-Identifier: BSD-2-Clause */
/* What went wrong, in words: of the last failure of each thread, and for the log. */
#include "engine.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { TEXT_BYTES = 320 };

static _Thread_local char text[TEXT_BYTES];

/* -- BSN_LOG=1 ---------------------------------------------------------------------------------- */

static bool is_logging(void)
{
	static _Atomic int answer; /* 0: not asked yet */

	if (!answer) {
		const char *env = getenv("BSN_LOG");

		answer = env && *env && strcmp(env, "0") ? 1 : -1;
	}
	return answer > 0;
}

static void log_line(const char *line)
{
	fprintf(stderr, "bunsen: %s\n", line);
}

/* A refusal comes in a loop when a queue is full: it is written once. */
static void log_refusal(void)
{
	static _Thread_local char last[TEXT_BYTES];

	if (!*text || !strcmp(last, text))
		return;
	memcpy(last, text, sizeof(last));
	log_line(text);
}

int fail(int error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (is_logging())
		log_refusal();
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
	char line[TEXT_BYTES];
	va_list args;

	if (!device->attr.log && !is_logging())
		return;
	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (device->attr.log)
		device->attr.log(device->attr.log_arg, line);
	if (is_logging())
		log_line(line);
}
