/* SPDX-License-Identifier: BSD-2-Clause */
/* What the program says when something is wrong. */
#include "perf.h"

#include <stdarg.h>
#include <string.h>

static void print_line(const char *format, va_list args)
{
	fflush(stdout);
	fputs("bsn-perf: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
}

int complain(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_line(format, args);
	va_end(args);
	return PERF_FAILED;
}

int complain_usage(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_line(format, args);
	va_end(args);
	return PERF_USAGE;
}

int complain_of(const char *what, int error)
{
	const char *text = bsn_error_text();

	if (!*text)
		text = strerror(-error);
	return what ? complain("%s: %s", what, text) : complain("%s", text);
}
