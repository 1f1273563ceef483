/* SPDX-License-Identifier: BSD-2-Clause */
#include "tell.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "../explain/explain.h"

int tell_open(struct tell *tell, struct sink *sink)
{
	*tell = (struct tell){ .sink = sink, .tie = tie_create() };
	return tell->tie ? 0 : -ENOMEM;
}

void tell_record(struct tell *tell, struct record *record)
{
	record->file = tell->file;
	if (!record->source)
		record->source = tell->source;
	explain_record(record);
	tie_record(tell->tie, record);
	tell->count++;
	tell->sink->record(tell->sink, record);
}

void tell_unread(struct tell *tell, unsigned long line, const char *format, ...)
{
	char why[256];
	va_list args;

	va_start(args, format);
	vsnprintf(why, sizeof(why), format, args);
	va_end(args);
	tell->unread++;
	tell->sink->unread(tell->sink, tell->file, line, why);
}

void tell_close(struct tell *tell)
{
	tie_destroy(tell->tie);
}
