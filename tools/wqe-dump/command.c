/* SPDX-License-Identifier: BSD-2-Clause */
#include "command.h"

#include <stdarg.h>
#include <stdio.h>

int complain(const char *format, ...)
{
	char line[2048];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	make_printable(line);
	fprintf(stderr, "%s\n", line);
	return WQE_DUMP_FAILED;
}
