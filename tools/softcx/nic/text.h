/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A line of the trace under construction, on the stack; cut off where it is full.
 * Async-signal-safe. Formats know %d %i %u %x %p %c %s with '0', '#', a width, 'l', 'z'.
 */
#ifndef SOFTCX_NIC_TEXT_H
#define SOFTCX_NIC_TEXT_H

#include <stdarg.h>
#include <stddef.h>

struct cx_text {
	size_t len;
	char buf[1024];
};

void cx_text_char(struct cx_text *text, char c);
void cx_text_string(struct cx_text *text, const char *string);
void cx_text_vformat(struct cx_text *text, const char *format, va_list args);
void cx_text_format(struct cx_text *text, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
