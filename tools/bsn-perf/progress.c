/* SPDX-License-Identifier: BSD-2-Clause */
#include "progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

static bool is_shown;

bool progress_is_shown(void)
{
	static int known = -1;

	if (known < 0)
		known = isatty(STDERR_FILENO);
	return known;
}

void show_progress(const char *format, ...)
{
	va_list args;

	if (!progress_is_shown())
		return;
	fputs("\r\033[Kbsn-perf: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	is_shown = true;
}

void end_progress(void)
{
	if (is_shown)
		fputs("\r\033[K", stderr);
	is_shown = false;
}
