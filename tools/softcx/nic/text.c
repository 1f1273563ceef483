/* SPDX-License-Identifier: BSD-2-Clause */
/* The formatter: stdio may not be used in a signal handler. */
#include "text.h"

#include <stdbool.h>
#include <stdint.h>

void cx_text_char(struct cx_text *text, char c)
{
	/* Room is kept for the newline. */
	if (text->len + 2 < sizeof(text->buf))
		text->buf[text->len++] = c;
}

void cx_text_string(struct cx_text *text, const char *string)
{
	while (*string)
		cx_text_char(text, *string++);
}

struct spec {
	unsigned width;
	unsigned longs; /* 'l' and 'z' seen */
	bool zero, alt;
};

static void put_number(struct cx_text *text, uint64_t value, unsigned base, const struct spec *spec,
		       bool negative)
{
	char digits[24];
	unsigned count = 0, total;

	do {
		digits[count++] = "0123456789abcdef"[value % base];
		value /= base;
	} while (value);
	total = count + negative + (spec->alt ? 2 : 0);
	for (; !spec->zero && total < spec->width; total++)
		cx_text_char(text, ' ');
	if (negative)
		cx_text_char(text, '-');
	if (spec->alt)
		cx_text_string(text, "0x");
	for (; total < spec->width; total++)
		cx_text_char(text, '0');
	while (count)
		cx_text_char(text, digits[--count]);
}

/* Flags, width and length modifiers of printf() that are used here. */
static const char *parse_spec(const char *c, struct spec *spec)
{
	*spec = (struct spec){ 0 };
	for (;; c++) {
		if (*c == '0' && !spec->width)
			spec->zero = true;
		else if (*c == '#')
			spec->alt = true;
		else if (*c >= '0' && *c <= '9')
			spec->width = spec->width * 10 + (unsigned)(*c - '0');
		else if (*c == 'l' || *c == 'z')
			spec->longs++;
		else if (*c != 'h')
			return c;
	}
}

static void put_argument(struct cx_text *text, char kind, const struct spec *spec, va_list *args)
{
	const char *string;
	int64_t number;

	switch (kind) {
	case 'd':
	case 'i':
		number = spec->longs ? va_arg(*args, long) : va_arg(*args, int);
		put_number(text, number < 0 ? 0 - (uint64_t)number : (uint64_t)number, 10, spec,
			   number < 0);
		break;
	case 'u':
	case 'x':
	case 'X':
		put_number(text,
			   spec->longs ? va_arg(*args, unsigned long) : va_arg(*args, unsigned),
			   kind == 'u' ? 10 : 16, spec, false);
		break;
	case 'p':
		put_number(text, (uintptr_t)va_arg(*args, void *), 16,
			   &(struct spec){ .alt = true }, false);
		break;
	case 'c':
		cx_text_char(text, (char)va_arg(*args, int));
		break;
	case 's':
		string = va_arg(*args, const char *);
		cx_text_string(text, string ? string : "(null)");
		break;
	default:
		cx_text_char(text, kind);
	}
}

void cx_text_vformat(struct cx_text *text, const char *format, va_list list)
{
	struct spec spec;
	va_list args;

	va_copy(args, list);
	for (const char *c = format; *c; c++) {
		if (*c != '%') {
			cx_text_char(text, *c);
			continue;
		}
		c = parse_spec(c + 1, &spec);
		if (!*c)
			break;
		put_argument(text, *c, &spec, &args);
	}
	va_end(args);
}

void cx_text_format(struct cx_text *text, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	cx_text_vformat(text, format, args);
	va_end(args);
}
